//! Judges an ELF file by what the kernel and the translator will need from it, reading only its headers.
//!
//! By hand rather than with an object-file library: the point is to say precisely what is wrong with a broken file, and the
//! rules are those of load_elf_binary in the kernel's fs/binfmt_elf.c, not those of a linker.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// What is wrong with a file.
#[derive(Debug)]
pub enum Defect {
    Empty,
    NotElf,
    Bits32,
    OtherMachine(String),
    /// A valid ELF file of another kind.
    NotAProgram(&'static str),
    Truncated,
    Corrupt(&'static str),
    Unreadable(io::Error),
}

// Offsets and numbers from elf(5), for ELFCLASS64.
const HEADER: usize = 64;
const CLASS: usize = 4;
const DATA: usize = 5;
const TYPE: usize = 16;
const MACHINE: usize = 18;
const ENTRY: usize = 24;
const PHOFF: usize = 32;
const PHENTSIZE: usize = 54;
const PHNUM: usize = 56;
const SEGMENT: usize = 56;

const X86_64: u16 = 62;
const LOAD: u32 = 1;
const INTERP: u32 = 3;
const EXECUTABLE: u32 = 1;

/// The kernel takes no more bytes of program headers than this (load_elf_phdrs).
const MAX_SEGMENT_BYTES: usize = 65536;

/// A program header, as far as it matters here.
struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    in_file: u64,
    in_memory: u64,
}

/// Is this file, whose first bytes are `head` and which has `length` bytes, a program that the kernel will load here?
pub fn check(file: &File, head: &[u8], length: u64) -> Result<(), Defect> {
    check_header(head)?;
    let segments = segments(file, head)?;
    let mut loads = 0;
    for segment in segments.iter().filter(|segment| segment.kind == LOAD) {
        loads += 1;
        if segment.in_file > segment.in_memory {
            return Err(Defect::Corrupt("a segment is larger in the file than in memory"));
        }
        if segment.address.checked_add(segment.in_memory).is_none_or(|end| end > 1 << 47) {
            return Err(Defect::Corrupt("a segment lies outside of the address space"));
        }
        if segment.offset.checked_add(segment.in_file).is_none_or(|end| end > length) {
            return Err(Defect::Truncated);
        }
        if segment.in_file > 0 && segment.offset % 4096 != segment.address % 4096 {
            return Err(Defect::Corrupt("a segment is not aligned and cannot be mapped"));
        }
    }
    if loads == 0 {
        return Err(Defect::Corrupt("it has nothing to load"));
    }
    let entry = u64_at(head, ENTRY).ok_or(Defect::Truncated)?;
    let holds_entry = |segment: &&Segment| {
        segment.kind == LOAD
            && segment.flags & EXECUTABLE != 0
            && (segment.address..segment.address + segment.in_memory).contains(&entry)
    };
    match segments.iter().find(holds_entry) {
        Some(_) => Ok(()),
        None if entry == 0 => Err(Defect::NotAProgram("a shared library")),
        None => Err(Defect::Corrupt("its entry point lies in no executable segment")),
    }
}

/// The path of the loader that the file asks for, if it does.
pub fn interpreter(file: &File, head: &[u8]) -> Result<Option<Vec<u8>>, Defect> {
    let segments = segments(file, head)?;
    let Some(segment) = segments.iter().find(|segment| segment.kind == INTERP) else { return Ok(None) };
    let length = usize::try_from(segment.in_file).ok().filter(|length| (2..=libc::PATH_MAX as usize).contains(length));
    let mut path = vec![0; length.ok_or(Defect::Corrupt("the name of its loader has no plausible length"))?];
    read_exact(file, &mut path, segment.offset)?;
    // The kernel insists on the final NUL and takes the string up to the first one.
    if path.last() != Some(&0) {
        return Err(Defect::Corrupt("the name of its loader does not end"));
    }
    path.truncate(path.iter().position(|byte| *byte == 0).unwrap_or(0));
    Ok(Some(path))
}

fn check_header(head: &[u8]) -> Result<(), Defect> {
    const MAGIC: &[u8] = b"\x7fELF";
    if head.is_empty() {
        return Err(Defect::Empty);
    }
    if !head.starts_with(MAGIC) {
        return Err(Defect::NotElf);
    }
    let class = *head.get(CLASS).ok_or(Defect::Truncated)?;
    let little_endian = match *head.get(DATA).ok_or(Defect::Truncated)? {
        1 => true,
        2 => false,
        _ => return Err(Defect::Corrupt("its byte order is unknown")),
    };
    let half = |at| {
        let bytes: [u8; 2] = head.get(at..at + 2)?.try_into().ok()?;
        Some(if little_endian { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let kind = half(TYPE).ok_or(Defect::Truncated)?;
    let machine = half(MACHINE).ok_or(Defect::Truncated)?;
    match (class, machine) {
        (1, 3 | X86_64) => return Err(Defect::Bits32),
        (2, X86_64) if !little_endian => return Err(Defect::Corrupt("its byte order is not that of x86-64")),
        (2, X86_64) => {}
        (1 | 2, other) => return Err(Defect::OtherMachine(machine_name(other))),
        _ => return Err(Defect::Corrupt("its class is neither 32-bit nor 64-bit")),
    }
    if head.len() < HEADER {
        return Err(Defect::Truncated);
    }
    match kind {
        2 | 3 => Ok(()),
        1 => Err(Defect::NotAProgram("an object file")),
        4 => Err(Defect::NotAProgram("a core dump")),
        _ => Err(Defect::Corrupt("its type is unknown")),
    }
}

fn segments(file: &File, head: &[u8]) -> Result<Vec<Segment>, Defect> {
    let offset = u64_at(head, PHOFF).ok_or(Defect::Truncated)?;
    let size = u16_at(head, PHENTSIZE).ok_or(Defect::Truncated)? as usize;
    let count = u16_at(head, PHNUM).ok_or(Defect::Truncated)? as usize;
    if size != SEGMENT {
        return Err(Defect::Corrupt("its program headers have the wrong size"));
    }
    if count == 0 || count * SEGMENT > MAX_SEGMENT_BYTES {
        return Err(Defect::Corrupt("it has no or too many program headers"));
    }
    let mut bytes = vec![0; count * SEGMENT];
    read_exact(file, &mut bytes, offset)?;
    let read = |header: &[u8]| {
        Some(Segment {
            kind: u32_at(header, 0)?,
            flags: u32_at(header, 4)?,
            offset: u64_at(header, 8)?,
            address: u64_at(header, 16)?,
            in_file: u64_at(header, 32)?,
            in_memory: u64_at(header, 40)?,
        })
    };
    bytes.chunks_exact(SEGMENT).map(|header| read(header).ok_or(Defect::Truncated)).collect()
}

fn read_exact(file: &File, bytes: &mut [u8], offset: u64) -> Result<(), Defect> {
    // An offset beyond what a file may have is EINVAL: as much a truncated file as an early end.
    file.read_exact_at(bytes, offset).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput => Defect::Truncated,
        _ => Defect::Unreadable(error),
    })
}

/// The machines that a user may come across, by e_machine.
fn machine_name(machine: u16) -> String {
    match machine {
        3 => "32-bit x86",
        8 => "MIPS",
        20 => "32-bit PowerPC",
        21 => "64-bit PowerPC",
        22 => "s390",
        40 => "32-bit ARM",
        43 => "SPARC",
        183 => "64-bit ARM",
        243 => "RISC-V",
        258 => "LoongArch",
        other => return format!("another machine (number {other} in ELF)"),
    }
    .into()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
