//! Where things are in a generated program, and what it writes after each run of a sequence.
//!
//! What instructions may touch lies on pages of its own with nothing mapped around them, below 2 GiB, so that every form of
//! address reaches it.

use super::machine::XsaveArea;

pub const PAGE: usize = 4096;
/// Memory operands.
pub const ARENA: u64 = 0x1000_0000;
/// The stack that sequences run on; it begins in the middle.
pub const STACK: u64 = 0x1010_0000;
pub const STACK_TOP: u64 = STACK + 0xc00;
/// Where nothing is mapped.
pub const NOWHERE: u64 = 0x1008_0000;
/// The driver's own data.
pub const CONTROL: u64 = 0x1020_0000;
pub const CONTROL_SIZE: usize = 0x1_8000;
/// What sequences start from: the contents of the pages, the table of runs, states.
pub const INPUT: u64 = 0x1100_0000;
/// FS points into the arena.
pub const FS_BASE: u64 = ARENA + 0x800;
/// Memory operands relative to RIP lie so far before the code.
pub const NEAR_BEFORE_CODE: u64 = 0x10_0000;

/// Code lies in two places, as executables and libraries do, out of reach of each other. In the second, return addresses do not fit into
/// 31 bits. The driver is in the first.
pub const CODES: [u64; 2] = [0x2000_0000, 0x5555_5500_0000];

/// The pages that are set before each run and written after it.
pub const PAGES: [u64; 4] = [ARENA, STACK, CODES[0] - NEAR_BEFORE_CODE, CODES[1] - NEAR_BEFORE_CODE];

/// In the input: the pages' contents, then the table.
pub const TABLE: u64 = INPUT + (PAGES.len() * PAGE) as u64;

/// A state to start from, in memory: general registers in hardware order, flags, and from here on an XSAVE area.
pub const STATE_XSAVE: usize = 192;
pub const STATE_FLAGS: usize = 128;

/// The driver's data, relative to CONTROL.
pub mod control {
    pub const INDEX: i32 = 0;
    pub const TARGET: i32 = 8;
    /// Where sequences go when they end, for those that are far from there.
    pub const SAVE: i32 = 16;
    /// Which repetition of the run this is.
    pub const REPETITION: i32 = 24;
    pub const REGISTERS: i32 = 64;
    pub const ACTION: i32 = 256;
    pub const ALTERNATE: i32 = 320;
    pub const VECTOR: i32 = 384;
    pub const TIMER: i32 = 512;
    pub const STACK_TOP: i32 = 0x3000;
    pub const HANDLER_STACK: i32 = 0x4000;
    pub const HANDLER_STACK_SIZE: i32 = 0x6000;
    /// The record.
    pub const RECORD: i32 = 0xa000;
    /// What the first repetition of a run left: record and pages.
    pub const FIRST: i32 = 0x1_0000;
}

/// The record that is written after a run: this, then the pages.
#[derive(Clone, Copy)]
pub struct Record {
    pub area: usize,
}

impl Record {
    /// Relative to the record: registers and flags as after the run.
    pub const GENERAL: usize = 0;
    pub const FLAGS: usize = 128;
    /// What a handler saw, if one did: number, code and address; registers in the order of the ucontext.
    pub const SIGNAL: usize = 136;
    pub const CODE: usize = 144;
    pub const ADDRESS: usize = 152;
    pub const CONTEXT: usize = 160;
    pub const CONTEXT_SIZE: usize = 23 * 8;
    pub const XSAVE: usize = 384;

    pub fn new(area: &XsaveArea) -> Record {
        Record { area: area.size.next_multiple_of(64) }
    }

    /// The handler's XSAVE area.
    pub fn context_xsave(&self) -> usize {
        Record::XSAVE + self.area
    }

    pub fn size(&self) -> usize {
        Record::XSAVE + 2 * self.area
    }

    /// With the pages.
    pub fn written(&self) -> usize {
        self.size() + PAGES.len() * PAGE
    }
}
