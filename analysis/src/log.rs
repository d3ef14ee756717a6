//! The log: what the guest stream writes and the analysis reads.
//!
//! A log is a sequence of [`Event`]s: of all processes and threads of the guest, each by its number, in an order in which they
//! could have happened. Whatever an event speaks of was announced before. Blocks are announced before their first record.
//! Records come in chunks, each of one thread; a record never crosses a chunk's end. Each begins with its block's number in the low four bytes of an eight-byte header
//! and is as long as the block says. Numbers [`OUTPUT`] and [`BYTES`] mark records that have a length of their own:
//! the floats handed to an output function, and memory that is written out as it is. Number [`GAP`] marks places where code ran that was not logged.
//!
//! Records come out of memory that the guest can scribble over, so a reader trusts nothing in them.

use fpgrind_ir::{Block, Place, Reg, Type};
use std::path::PathBuf;
use std::sync::mpsc::Sender;

/// The record number of [`Output`] records; blocks count from 1.
pub const OUTPUT: u32 = 0;

/// The record number of [`Bytes`] records.
pub const BYTES: u32 = u32::MAX;

/// The record number where logging stops or goes on: what ran between was not to be analysed. Such a record is [`GAP_BYTES`] long.
pub const GAP: u32 = u32::MAX - 1;
pub const GAP_BYTES: usize = 16;

pub fn gap() -> [u8; GAP_BYTES] {
    let mut record = [0; GAP_BYTES];
    record[..4].copy_from_slice(&GAP.to_le_bytes());
    record
}

/// Processes and threads are numbered by whoever writes the log. A number is used again only after what bore it has ended.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A new address space: the first program's, a forked child's, or that of a program that a process turned into by exec (then
    /// the process gets a new number). A fork begins with what its maker's process has at this moment, so what the maker's threads
    /// wrote before they saw the fork comes first.
    Process {
        process: u32,
        forked_from: Option<u32>,
    },
    /// A thread begins. If another made it, by clone or fork, it begins with the registers that its maker has at this moment.
    Thread {
        thread: u32,
        process: u32,
        cloned_from: Option<u32>,
    },
    ThreadEnded(u32),
    /// Threads that it still has end with it.
    ProcessEnded(u32),
    /// Code is mapped from a file, in the place of what was there: what gives its addresses names.
    Module {
        process: u32,
        module: Module,
    },
    /// What is mapped in this range from now on came from no module that was announced, and is new: nothing is left of what was there.
    Unmapped {
        process: u32,
        start: u64,
        end: u64,
    },
    /// The kernel is about to write to this memory.
    Overwritten {
        process: u32,
        start: u64,
        end: u64,
    },
    /// The memory from `start` to `end` is at `to` from now on.
    Moved {
        process: u32,
        start: u64,
        end: u64,
        to: u64,
    },
    /// From now on records with this number belong to this block, in all processes: a fork uses its maker's blocks. The addresses
    /// in it are those of this process.
    Block {
        process: u32,
        number: u32,
        block: Block,
    },
    /// From now on [`Output`] records with this function number mean this function.
    OutputFunction(u32, String),
    /// How many bits of a float are wrong that the thread has at this moment? The thread waits for the answer.
    Asked {
        thread: u32,
        of: OutputArg,
        answer: Sender<f64>,
    },
    Records {
        thread: u32,
        bytes: &'a [u8],
    },
}

/// A mapping of code into a process. An address `a` in it is `a - bias` in the file's own addressing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    pub path: PathBuf,
    pub start: u64,
    pub end: u64,
    pub bias: u64,
}

/// The floats that a call of an output function prints.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The call's return address: the user's code, not the library's.
    pub pc: u64,
    pub function: u32,
    pub args: Vec<OutputArg>,
}

/// One printed float, and where its shadow may be found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutputArg {
    /// F32, F64, F80 or F128. A long double is in memory.
    pub ty: Type,
    pub bits: u128,
    pub origin: Origin,
    /// Which of the call's floats it is, from 0; an array's elements are one.
    pub argument: u32,
    pub conversion: Conversion,
}

/// How a float is printed, as the program says it: `%.3f`. Empty where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Conversion([u8; CONVERSION]);

const CONVERSION: usize = 12;

impl Conversion {
    pub const NONE: Conversion = Conversion([0; CONVERSION]);

    /// What does not fit is cut off.
    pub fn new(text: &str) -> Conversion {
        let mut bytes = [0; CONVERSION];
        for (byte, char) in bytes.iter_mut().zip(text.bytes().filter(u8::is_ascii_graphic)) {
            *byte = char;
        }
        Conversion(bytes)
    }

    pub fn text(&self) -> String {
        self.0.iter().filter(|byte| byte.is_ascii_graphic()).map(|byte| *byte as char).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    /// The low bytes of a vector register.
    Register(u8),
    Memory(u64),
}

const HEADER: usize = 32;
const ARG: usize = 48;
const TYPES: [Type; 4] = [Type::F32, Type::F64, Type::F80, Type::F128];

impl Output {
    /// Arguments that fit into a record of so many bytes.
    pub fn max_args(bytes: usize) -> usize {
        bytes.saturating_sub(HEADER) / ARG
    }

    /// The record: a header (number, length, pc, function, count) and 48 bytes an argument.
    pub fn encode(&self) -> Vec<u8> {
        let length = HEADER + ARG * self.args.len();
        let mut bytes = Vec::with_capacity(length);
        bytes.extend(OUTPUT.to_le_bytes());
        bytes.extend((length as u32).to_le_bytes());
        bytes.extend(self.pc.to_le_bytes());
        bytes.extend(self.function.to_le_bytes());
        bytes.extend((self.args.len() as u32).to_le_bytes());
        bytes.resize(HEADER, 0);
        for arg in &self.args {
            let (kind, where_) = match arg.origin {
                Origin::Register(number) => (0u32, number as u64),
                Origin::Memory(address) => (1, address),
            };
            let ty = TYPES.iter().position(|ty| *ty == arg.ty).unwrap_or(TYPES.len());
            bytes.extend(arg.bits.to_le_bytes());
            bytes.extend(where_.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend((ty as u32).to_le_bytes());
            bytes.extend(arg.argument.to_le_bytes());
            bytes.extend(arg.conversion.0);
        }
        bytes
    }

    /// Reads a record at the start of `bytes`; the record and its length, or nothing if it is malformed.
    pub fn decode(bytes: &[u8]) -> Option<(Output, usize)> {
        let length = u32_at(bytes, 4)? as usize;
        let count = u32_at(bytes, 20)? as usize;
        if length > bytes.len() || length != HEADER.checked_add(ARG.checked_mul(count)?)? {
            return None;
        }
        let mut args = Vec::with_capacity(count);
        for at in (HEADER..length).step_by(ARG) {
            let bits = u64_at(bytes, at)? as u128 | (u64_at(bytes, at + 8)? as u128) << 64;
            let where_ = u64_at(bytes, at + 16)?;
            let ty = *TYPES.get(u32_at(bytes, at + 28)? as usize)?;
            let origin = match u32_at(bytes, at + 24)? {
                0 if ty != Type::F80 => Origin::Register(u8::try_from(where_).ok().filter(|n| Reg::Vec(*n).exists())?),
                1 => Origin::Memory(where_),
                _ => return None,
            };
            if crate::shadow::mask(bits, ty.bytes()) != bits {
                return None;
            }
            let argument = u32_at(bytes, at + 32)?;
            let conversion = Conversion(*bytes.get(at + 36..at + ARG)?.first_chunk()?);
            args.push(OutputArg { ty, bits, origin, argument, conversion });
        }
        Some((Output { pc: u64_at(bytes, 8)?, function: u32_at(bytes, 16)?, args }, length))
    }
}

/// Memory that a program writes to a file or sends away: which floats there are in it, their shadows tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Bytes {
    /// As in [`Output`].
    pub pc: u64,
    pub function: u32,
    pub address: u64,
    /// How many bytes of the same call came before these.
    pub offset: u64,
    pub bytes: Vec<u8>,
}

const BYTES_HEADER: usize = 48;

impl Bytes {
    /// Bytes that fit into a record of so many.
    pub fn max(record: usize) -> usize {
        record.saturating_sub(BYTES_HEADER + 16)
    }

    /// The record: number, length, pc, function, how many bytes, address, offset; then the bytes, up to a multiple of 16.
    pub fn encode(&self) -> Vec<u8> {
        let length = (BYTES_HEADER + self.bytes.len()).next_multiple_of(16);
        let mut record = Vec::with_capacity(length);
        record.extend(BYTES.to_le_bytes());
        record.extend((length as u32).to_le_bytes());
        record.extend(self.pc.to_le_bytes());
        record.extend(self.function.to_le_bytes());
        record.extend((self.bytes.len() as u32).to_le_bytes());
        record.extend(self.address.to_le_bytes());
        record.extend(self.offset.to_le_bytes());
        record.resize(BYTES_HEADER, 0);
        record.extend(&self.bytes);
        record.resize(length, 0);
        record
    }

    /// Reads a record at the start of `bytes`; the record and its length, or nothing if it is malformed.
    pub fn decode(bytes: &[u8]) -> Option<(Bytes, usize)> {
        let (length, count) = (u32_at(bytes, 4)? as usize, u32_at(bytes, 20)? as usize);
        if length > bytes.len() || length != BYTES_HEADER.checked_add(count)?.checked_next_multiple_of(16)? {
            return None;
        }
        let (pc, function) = (u64_at(bytes, 8)?, u32_at(bytes, 16)?);
        let (address, offset) = (u64_at(bytes, 24)?, u64_at(bytes, 32)?);
        let bytes = bytes.get(BYTES_HEADER..BYTES_HEADER + count)?.to_vec();
        Some((Bytes { pc, function, address, offset, bytes }, length))
    }
}

impl Origin {
    /// The register place, if it is one.
    pub fn place(self) -> Option<Place> {
        match self {
            Origin::Register(number) => Some(Place::vec(number, 0)),
            Origin::Memory(_) => None,
        }
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
