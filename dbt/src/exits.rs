//! Exits: the places where emitted code asks the supervisor, and what each wants to know.

use crate::context::Mode;
use crate::marks::Mark;
use fpgrind_frontend_x86::Transfer;
use fpgrind_wrappers::{OutputFunction, Wrapper};
use std::collections::VecDeque;

/// A place that code was or will be translated for.
pub type Key = (u64, Mode);

#[derive(Clone, Debug)]
pub enum Exit {
    /// A thread is about to run its first instruction.
    Start,
    /// A system call that must be known of; the argument is where its translation goes on.
    Syscall,
    /// The thread comes out of a system call, and is to be told where it goes on.
    BehindSyscall,
    /// An indirect branch whose target, the argument, is not in the table.
    Miss(Mode),
    /// A direct branch that is not linked yet. Translating its target links it.
    Link { target: Key },
    /// The ring is full. The guest itself says where it goes on.
    RingFull,
    /// The code that this was translated from is no longer the same.
    Changed { key: Key },
    /// An instruction that cannot be translated.
    Native { pc: u64 },
    /// An output function is entered: its arguments are to be written into the ring.
    Output { function: OutputFunction, resume: u64 },
    /// A mark of fpgrind.h that tells or asks something; `next` is the address behind it.
    Marked { mark: Mark, next: u64, resume: u64 },
    /// A system call that reads or writes memory is about to be made; `next` is the address behind it.
    Transfer { transfer: Transfer, next: u64, resume: u64 },
    /// An IFUNC resolver is about to return rax, the implementation of the function.
    Resolved { function: Wrapper, resume: u64 },
}

/// The exits that every space has; the others count from their number on.
const COMMON: [Exit; 8] = [
    Exit::Start,
    Exit::Syscall,
    Exit::BehindSyscall,
    Exit::RingFull,
    Exit::Miss(Mode::Quiet),
    Exit::Miss(Mode::Logged),
    Exit::Miss(Mode::Skipped),
    Exit::Miss(Mode::Outside),
];

/// All exits; the guest names one by its number. Numbers are not used again, so exits of code that is gone can be forgotten.
#[derive(Clone, Default)]
pub struct Exits {
    first: u64,
    exits: VecDeque<Exit>,
}

impl Exits {
    pub const START: i32 = 0;
    pub const SYSCALL: i32 = 1;
    pub const BEHIND_SYSCALL: i32 = 2;
    pub const RING_FULL: i32 = 3;

    pub fn miss(mode: Mode) -> i32 {
        4 + mode as i32
    }

    /// The number that the next exit will get, as an immediate operand.
    pub fn next(&self) -> i32 {
        let next = COMMON.len() as u64 + self.first + self.exits.len() as u64;
        i32::try_from(next).expect("fewer than 2^31 exits in the life of a process")
    }

    pub fn extend(&mut self, exits: impl IntoIterator<Item = Exit>) {
        self.exits.extend(exits);
    }

    /// Forgets the exits with lower numbers.
    pub fn forget_before(&mut self, number: i32) {
        let gone = (number as u64).saturating_sub(COMMON.len() as u64).saturating_sub(self.first);
        let gone = gone.min(self.exits.len() as u64);
        self.exits.drain(..gone as usize);
        self.first += gone;
    }

    /// The number comes from the guest's memory.
    pub fn get(&self, number: u64) -> Option<&Exit> {
        let number = usize::try_from(number).ok()?;
        if let Some(common) = COMMON.get(number) {
            return Some(common);
        }
        self.exits.get(usize::try_from((number - COMMON.len()) as u64).ok()?.checked_sub(self.first as usize)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_when_older_exits_are_forgotten() {
        let mut exits = Exits::default();
        let first = exits.next();
        exits.extend((0..10).map(|pc| Exit::Native { pc }));
        exits.forget_before(first + 4);
        assert!(exits.get(first as u64 + 3).is_none());
        assert!(matches!(exits.get(first as u64 + 4), Some(Exit::Native { pc: 4 })));
        assert!(matches!(exits.get(Exits::miss(Mode::Logged) as u64), Some(Exit::Miss(Mode::Logged))));
        assert_eq!(exits.next(), first + 10);
        assert!(exits.get(u64::MAX).is_none());
    }
}
