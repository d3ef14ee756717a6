//! The guest's address space as the supervisor sees it: its memory, its mappings, the files behind them.

use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

/// A line of /proc/PID/maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub writable: bool,
    pub executable: bool,
    /// Other mappings of the same memory see what is written to it.
    pub shared: bool,
    pub offset: u64,
    /// The file's path, `[vdso]` and the like, or empty for anonymous memory.
    pub name: PathBuf,
}

impl Mapping {
    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }

    pub fn is_file(&self) -> bool {
        self.name.is_absolute()
    }

    /// Code that stays as it is unless the guest says otherwise by a system call.
    pub fn is_stable_code(&self) -> bool {
        self.executable && !self.writable && !self.shared
    }
}

#[derive(Clone)]
pub struct Guest {
    /// A thread of the process.
    pub tid: i32,
    mappings: Vec<Mapping>,
    /// Pages of code as they were read: blocks are many and short, and reading another process costs a system call.
    code: FxHashMap<u64, Box<[u8; PAGE]>>,
}

const PAGE: usize = 4096;

impl Guest {
    pub fn new(tid: i32) -> Guest {
        Guest { tid, mappings: Vec::new(), code: FxHashMap::default() }
    }

    /// The mappings may have changed: read them again when next asked.
    pub fn forget_mappings(&mut self) {
        self.mappings.clear();
    }

    /// The code in this memory may have changed as well.
    pub fn forget_code(&mut self, memory: &Range<u64>) {
        let pages = memory.start / PAGE as u64..memory.end.div_ceil(PAGE as u64);
        self.code.retain(|page, _| !pages.contains(page));
    }

    /// Is a mapping that was read executable, or taken for constant, in this range?
    pub fn relies_on(&self, memory: &Range<u64>) -> bool {
        self.mappings
            .iter()
            .any(|m| (m.executable || m.is_file() && !m.writable) && m.start < memory.end && memory.start < m.end)
    }

    /// Reads what may change at any time, as many bytes as are there.
    pub fn read_volatile_code(&self, address: u64, buffer: &mut [u8]) -> usize {
        let mut done = 0;
        while done < buffer.len() {
            let at = address.wrapping_add(done as u64);
            let len = (PAGE - at as usize % PAGE).min(buffer.len() - done);
            if !self.read(at, &mut buffer[done..done + len]) {
                break;
            }
            done += len;
        }
        done
    }

    /// The code at an address, up to the end of its page. Empty if there is none.
    pub fn code_on_page(&mut self, address: u64) -> &[u8] {
        let (page, offset) = (address / PAGE as u64, address as usize % PAGE);
        match self.code.entry(page) {
            Entry::Occupied(known) => &known.into_mut()[offset..],
            Entry::Vacant(unknown) => {
                let mut bytes = Box::new([0; PAGE]);
                if !read(self.tid, page * PAGE as u64, &mut bytes[..]) {
                    return &[];
                }
                &unknown.insert(bytes)[offset..]
            }
        }
    }

    /// Reads code, as many bytes as are there.
    pub fn read_code(&mut self, address: u64, buffer: &mut [u8]) -> usize {
        let mut done = 0;
        while done < buffer.len() {
            let code = self.code_on_page(address.wrapping_add(done as u64));
            if code.is_empty() {
                break;
            }
            let len = code.len().min(buffer.len() - done);
            buffer[done..done + len].copy_from_slice(&code[..len]);
            done += len;
        }
        done
    }

    /// In ascending order.
    pub fn mappings(&mut self) -> &[Mapping] {
        if self.mappings.is_empty() {
            self.mappings = read_mappings(self.tid).unwrap_or_default();
        }
        &self.mappings
    }

    pub fn mapping_of(&mut self, address: u64) -> Option<&Mapping> {
        let mappings = self.mappings();
        let index = mappings.partition_point(|mapping| mapping.end <= address);
        mappings.get(index).filter(|mapping| mapping.contains(address))
    }

    /// Is the address range mapped from a file, and not writable: a literal pool, say?
    pub fn is_constant(&mut self, address: u64, len: usize) -> bool {
        self.mapping_of(address).is_some_and(|mapping| {
            mapping.is_file()
                && !mapping.writable
                && address.checked_add(len as u64).is_some_and(|end| end <= mapping.end)
        })
    }

    /// Reads the whole buffer, or says that it cannot.
    pub fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        read(self.tid, address, buffer)
    }

    pub fn read_u64(&self, address: u64) -> Option<u64> {
        let mut word = [0; 8];
        self.read(address, &mut word).then(|| u64::from_le_bytes(word))
    }

    /// Writes the whole buffer, or as much of it as can be written.
    pub fn write(&self, address: u64, bytes: &[u8]) {
        let local = libc::iovec { iov_base: bytes.as_ptr() as *mut _, iov_len: bytes.len() };
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
        // SAFETY: the local vector describes `bytes`, which is only read; the guest is stopped or waits.
        unsafe { libc::process_vm_writev(self.tid, &local, 1, &remote, 1, 0) };
    }
}

fn read(tid: i32, address: u64, buffer: &mut [u8]) -> bool {
    let local = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: buffer.len() };
    // SAFETY: the local vector describes `buffer`; the remote one is only ever read, in the other process.
    let read = unsafe { libc::process_vm_readv(tid, &local, 1, &remote, 1, 0) };
    usize::try_from(read) == Ok(buffer.len())
}

fn read_mappings(pid: i32) -> io::Result<Vec<Mapping>> {
    // The file names in it are whatever the guest's files are called: bytes, not text.
    let text = fs::read(format!("/proc/{pid}/maps"))?;
    Ok(text.split(|byte| *byte == b'\n').filter_map(parse_mapping).collect())
}

fn parse_mapping(line: &[u8]) -> Option<Mapping> {
    use std::os::unix::ffi::OsStringExt;
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut field = || std::str::from_utf8(fields.next()?).ok();
    let (start, end) = field()?.split_once('-')?;
    let permissions = field()?.as_bytes();
    let offset = field()?;
    let (_device, _inode) = (field()?, field()?);
    let name = fields.next().unwrap_or_default().trim_ascii_start();
    Some(Mapping {
        start: u64::from_str_radix(start, 16).ok()?,
        end: u64::from_str_radix(end, 16).ok()?,
        writable: permissions.get(1) == Some(&b'w'),
        executable: permissions.get(2) == Some(&b'x'),
        shared: permissions.get(3) == Some(&b's'),
        offset: u64::from_str_radix(offset, 16).ok()?,
        name: PathBuf::from(std::ffi::OsString::from_vec(name.to_vec())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_maps_are_understood() {
        let line = b"7f12-7f34 r-xp 00026000 fe:00 1234                       /usr/lib/a library.so";
        let mapping = parse_mapping(line).unwrap();
        assert_eq!((mapping.start, mapping.end, mapping.offset), (0x7f12, 0x7f34, 0x26000));
        assert!(mapping.is_stable_code());
        assert_eq!(mapping.name, PathBuf::from("/usr/lib/a library.so"));
        assert!(parse_mapping(b"1000-2000 rw-p 00000000 00:00 0 ").unwrap().name.as_os_str().is_empty());
        assert_eq!(parse_mapping(b"nonsense"), None);
    }

    #[test]
    fn memory_is_read_or_said_to_be_unreadable() {
        let guest = Guest::new(std::process::id() as i32);
        let text = b"some bytes".to_vec();
        let mut buffer = [0; 10];
        assert!(guest.read(text.as_ptr() as u64, &mut buffer));
        assert_eq!(&buffer[..], &text[..]);
        assert!(!guest.read(8, &mut buffer));
    }
}
