//! General registers that carry floats from block to block.
//!
//! Integers are stored all the time, and logging them would cost every program. But where one block has left a float in a register
//! that calls preserve, what others nearby store from it is likely that float. So may be what is loaded into such a register, kept there over a
//! call and then stored first of all: compilers copy a float so that nobody computes with.
//!
//! Where a block that leaves a float in any register, or among a function's variables, leads straight on to another, that one may compute with its bits.

use crate::exits::Key;
use fpgrind_frontend_x86::{Left, floats_left};
use fpgrind_ir::Block;
use iced_x86::{Code, Instruction, InstructionInfoFactory, OpKind, Register};
use rustc_hash::FxHashMap;

#[derive(Clone, Default)]
pub struct Carriers {
    /// By neighbourhood of code, a bit for each register.
    left: FxHashMap<u64, u16>,
    /// What was left right before blocks.
    entering: FxHashMap<Key, Left>,
    /// What blocks were described with, if that was anything: they may have to be described again, the same way.
    used: FxHashMap<Key, Carried>,
}

/// What may carry floats into a block.
#[derive(Clone, PartialEq, Default)]
pub struct Carried {
    /// Registers, a bit each: what is stored from them may be one.
    pub around: u16,
    /// What is computed with this may be done to one.
    pub entering: Left,
}

/// Most functions are shorter.
const NEIGHBOURHOOD: u64 = 4096;

impl Carriers {
    /// Floats were left in some registers by these blocks, which begin here.
    pub fn note(&mut self, pc: u64, blocks: &[Block]) {
        let carriers = left_by(blocks) & PRESERVED;
        if carriers != 0 {
            *self.left.entry(pc / NEIGHBOURHOOD).or_default() |= carriers;
        }
    }

    /// What a block has left is there when those are entered that it leads to.
    pub fn pass_on(&mut self, left: &Left, to: impl Iterator<Item = Key>) {
        if !left.is_empty() {
            to.for_each(|key| self.entering.entry(key).or_default().add(left));
        }
    }

    /// The registers that may carry floats into a block that is about to be described.
    pub fn entering(&mut self, key: Key) -> Carried {
        let here = key.0 / NEIGHBOURHOOD;
        let near = [here.wrapping_sub(1), here, here + 1];
        let carriers = near.iter().filter_map(|place| self.left.get(place)).fold(0, |all, left| all | left);
        let carried = Carried { around: carriers, entering: self.entering.get(&key).cloned().unwrap_or_default() };
        match carried == Carried::default() {
            true => self.used.remove(&key),
            false => self.used.insert(key, carried.clone()),
        };
        carried
    }

    /// Those that the block was described with.
    pub fn of_block(&self, key: Key) -> Carried {
        self.used.get(&key).cloned().unwrap_or_default()
    }
}

fn left_by(blocks: &[Block]) -> u16 {
    blocks.iter().fold(0, |left, block| left | floats_left(block))
}

/// Registers that calls preserve, a bit each (System V ABI, figure 3.4): rbx, rbp, r12 to r15. Compilers keep floats there over calls, because calls
/// preserve no vector register.
const PRESERVED: u16 = 1 << 3 | 1 << 5 | 0b1111 << 12;

/// The registers among those that a block loads eight bytes into, and does nothing else with.
pub fn loaded_for_later(instrs: &[Instruction], infos: &mut InstructionInfoFactory) -> u16 {
    let mut loaded = 0;
    for instr in instrs {
        let used = used(instr, infos);
        let is_load = matches!(instr.code(), Code::Mov_r64_rm64) && instr.op1_kind() == OpKind::Memory;
        loaded &= !used;
        if is_load && !matches!(instr.memory_base(), Register::RSP | Register::RIP) {
            loaded |= bit(instr.op0_register()) & PRESERVED;
        }
    }
    loaded
}

/// Those of these registers that the first instruction which has anything to do with them stores.
pub fn stored_first(instrs: &[Instruction], mut among: u16, infos: &mut InstructionInfoFactory) -> u16 {
    let mut stored = 0;
    for instr in instrs {
        let used = used(instr, infos);
        if instr.code() == Code::Mov_rm64_r64 && instr.op0_kind() == OpKind::Memory {
            let register = bit(instr.op1_register());
            let is_address = bit(instr.memory_base()) | bit(instr.memory_index());
            stored |= among & register & !is_address;
        }
        among &= !used;
    }
    stored
}

fn bit(register: Register) -> u16 {
    if register.is_gpr() { 1 << register.full_register().number() } else { 0 }
}

fn used(instr: &Instruction, infos: &mut InstructionInfoFactory) -> u16 {
    infos.info(instr).used_registers().iter().fold(0, |all, used| all | bit(used.register()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn decoded(bytes: &[u8]) -> Vec<Instruction> {
        Decoder::new(64, bytes, DecoderOptions::NONE).into_iter().collect()
    }

    #[test]
    fn what_is_loaded_kept_and_stored_may_be_a_float() {
        let mut infos = InstructionInfoFactory::new();
        // mov rbp, [rsi + 16]; mov rbx, [rdi]; mov rax, [rbx]; mov r12, [rsp + 8]
        let before =
            decoded(&[0x48, 0x8b, 0x6e, 0x10, 0x48, 0x8b, 0x1f, 0x48, 0x8b, 0x03, 0x4c, 0x8b, 0x64, 0x24, 0x08]);
        let loaded = loaded_for_later(&before, &mut infos);
        assert_eq!(loaded, 1 << 5, "rbx is an address, and what is on the stack was saved there");
        // mov [rsp + 8], rbp
        assert_eq!(stored_first(&decoded(&[0x48, 0x89, 0x6c, 0x24, 0x08]), loaded, &mut infos), 1 << 5);
        // mov rax, [rbp]; mov [rsp + 8], rbp
        let used = decoded(&[0x48, 0x8b, 0x45, 0x00, 0x48, 0x89, 0x6c, 0x24, 0x08]);
        assert_eq!(stored_first(&used, loaded, &mut infos), 0);
    }
}
