//! Exits: the places where emitted code asks the supervisor, and what each wants to know.

use crate::context::Mode;
use fpgrind_wrappers::{OutputFunction, Wrapper};

/// A place that code was or will be translated for.
pub type Key = (u64, Mode);

#[derive(Clone, Debug)]
pub enum Exit {
    /// The guest is about to run its first instruction.
    Start,
    /// A system call that must be known of; the argument is where its translation goes on.
    Syscall,
    /// An indirect branch whose target, the argument, is not in the table.
    Miss(Mode),
    /// A direct branch that is not linked yet. Translating its target links it.
    Link { target: Key },
    /// No room for a record; the block begins again at `resume`.
    RingFull { resume: u64 },
    /// An instruction that cannot be translated.
    Native { pc: u64 },
    /// An output function is entered: its arguments are to be written into the ring.
    Output { function: OutputFunction, resume: u64 },
    /// An IFUNC resolver is about to return rax, the implementation of the function.
    Resolved { function: Wrapper, resume: u64 },
}

/// All exits; the guest names one by its number.
pub struct Exits(Vec<Exit>);

impl Exits {
    pub const START: i32 = 0;
    pub const SYSCALL: i32 = 1;

    pub fn miss(mode: Mode) -> i32 {
        2 + mode as i32
    }

    pub fn new() -> Exits {
        Exits(vec![Exit::Start, Exit::Syscall, Exit::Miss(Mode::Quiet), Exit::Miss(Mode::Logged)])
    }

    /// The number that the next exit will get, as an immediate operand.
    pub fn next(&self) -> i32 {
        i32::try_from(self.0.len()).expect("fewer than 2^31 exits: the cache is full long before")
    }

    pub fn extend(&mut self, exits: Vec<Exit>) {
        self.0.extend(exits);
    }

    /// The number comes from the guest's memory.
    pub fn get(&self, number: u64) -> Option<&Exit> {
        self.0.get(usize::try_from(number).ok()?)
    }
}
