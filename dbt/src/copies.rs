//! Where guest code has been copied to, instruction by instruction.
//!
//! A block without a record is its guest code byte for byte up to the branch that ends it, and nothing is spilled in it. So every
//! instruction in it is an entry, as far from the copy's start as it is from the block's. A branch into a block, as every loop
//! has one, leads there and needs no translation of its own. This saves more than work: a call that is translated once has one place
//! that returns enter at, and that is the one which the CPU's return predictor expects.

use crate::context::Mode;
use crate::decode::{Decoded, End};
use crate::exits::Key;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Of the block.
    pub start: u64,
    /// The last instruction that is an entry: the branch that ends the block, if it is translated there.
    last: u64,
    /// In the cache.
    address: u64,
    /// Where instructions begin, a bit for each of its first bytes.
    begins: u64,
}

impl Copy {
    /// None of a block that was cut: what follows it in the cache need not be what follows it in the guest.
    pub fn new(decoded: &Decoded, address: u64, ends_elsewhere: bool) -> Option<Copy> {
        let start = decoded.instrs.first()?.ip();
        let body = decoded.body_len();
        let last = match decoded.end {
            End::Next(_) => return None,
            _ if ends_elsewhere || body == decoded.instrs.len() => decoded.instrs.get(body.checked_sub(1)?)?,
            _ => &decoded.instrs[body],
        };
        let near = decoded.instrs.iter().map(|instr| instr.ip() - start).take_while(|offset| *offset < 64);
        Some(Copy { start, last: last.ip(), address, begins: near.fold(0, |begins, offset| begins | 1 << offset) })
    }

    /// Does an instruction begin there? Not known far from the start.
    pub fn begins_instruction(&self, pc: u64) -> Option<bool> {
        let offset = pc - self.start;
        (offset < 64).then(|| self.begins >> offset & 1 == 1)
    }

    /// Where an instruction in it lies in the cache.
    pub fn entry(&self, pc: u64) -> u64 {
        self.address + (pc - self.start)
    }
}

/// By mode and start.
#[derive(Clone, Default)]
pub struct Copies([BTreeMap<u64, Copy>; Mode::ALL.len()]);

impl Copies {
    pub fn insert(&mut self, mode: Mode, copy: Copy) {
        self.0[mode as usize].insert(copy.start, copy);
    }

    /// The copy that has an entry for `key`, if an instruction begins there, which is not known here.
    pub fn around(&self, (pc, mode): Key) -> Option<Copy> {
        let (_, copy) = self.0[mode as usize].range(..=pc).next_back()?;
        (pc <= copy.last).then_some(*copy)
    }

    pub fn forget(&mut self, (pc, mode): Key, address: u64) {
        let copies = &mut self.0[mode as usize];
        if copies.get(&pc).is_some_and(|copy| copy.address == address) {
            copies.remove(&pc);
        }
    }

    pub fn clear(&mut self) {
        *self = Copies::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Writes, decode};
    use iced_x86::InstructionInfoFactory;

    fn copy_of(bytes: &[u8], ends_elsewhere: bool) -> Option<Copy> {
        let decoded = decode(0x1000, bytes, Mode::Quiet, Writes::AreNothing, &mut InstructionInfoFactory::new());
        Copy::new(&decoded, 0x70_1000, ends_elsewhere)
    }

    #[test]
    fn a_block_is_entered_anywhere_up_to_the_branch_that_ends_it() {
        // mov eax, ecx; inc eax; jne
        let copy = copy_of(&[0x89, 0xc8, 0xff, 0xc0, 0x75, 0xfc], false).unwrap();
        let mut copies = Copies::default();
        copies.insert(Mode::Quiet, copy);
        for pc in [0x1000, 0x1002, 0x1004] {
            assert_eq!(copies.around((pc, Mode::Quiet)).map(|copy| copy.entry(pc)), Some(0x70_0000 + pc));
        }
        let starts: Vec<u64> = (0x1000..0x1006).filter(|pc| copy.begins_instruction(*pc) == Some(true)).collect();
        assert_eq!((starts, copy.begins_instruction(0x1040)), (vec![0x1000, 0x1002, 0x1004], None));
        assert_eq!(copies.around((0x1005, Mode::Quiet)), None);
        assert_eq!(copies.around((0xfff, Mode::Quiet)), None);
        assert_eq!(copies.around((0x1002, Mode::Logged)), None);
        copies.forget((0x1000, Mode::Quiet), 0x70_1000);
        assert_eq!(copies.around((0x1002, Mode::Quiet)), None);
    }

    #[test]
    fn a_branch_that_is_translated_elsewhere_is_not_entered_here() {
        // nop; call
        let call = [0x90, 0xe8, 0, 0, 0, 0];
        assert_eq!(copy_of(&call, false).unwrap().last, 0x1001);
        assert_eq!(copy_of(&call, true).unwrap().last, 0x1000);
        assert_eq!(copy_of(&call[1..], true), None);
        // int 0x80 is not translated.
        assert_eq!(copy_of(&[0x90, 0xcd, 0x80], false).unwrap().last, 0x1000);
    }

    #[test]
    fn a_block_that_was_cut_is_entered_at_its_start_only() {
        assert_eq!(copy_of(&[0x90, 0x90], false), None);
    }
}
