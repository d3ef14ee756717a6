//! What is known of registers at a place in a sequence: enough to aim every memory operand at memory that is there.

use super::layout::{FS_BASE, STACK};
use iced_x86::{Instruction, InstructionInfoFactory, OpAccess, Register};

pub const RSP: usize = 4;

#[derive(Clone, Debug)]
pub struct Knowledge {
    /// By hardware number.
    pub values: [Option<u64>; 16],
    pub fs_base: u64,
}

impl Knowledge {
    pub fn new(values: [Option<u64>; 16]) -> Knowledge {
        Knowledge { values, fs_base: FS_BASE }
    }

    /// Only what is known on both ways to a place.
    pub fn meet(&mut self, other: &Knowledge) {
        for (mine, other) in self.values.iter_mut().zip(other.values) {
            if *mine != other {
                *mine = None;
            }
        }
    }

    /// Nothing but where the stack is.
    pub fn forget(&mut self) {
        let rsp = self.values[RSP];
        self.values = [None; 16];
        self.values[RSP] = rsp;
    }

    /// Takes an instruction into account. False if it cannot be let run: it loses the stack.
    pub fn execute(&mut self, instr: &Instruction, infos: &mut InstructionInfoFactory) -> bool {
        let increment = instr.stack_pointer_increment();
        let explicit = (0..instr.op_count()).filter(|op| {
            let written = matches!(
                infos.info(instr).op_access(*op),
                OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
            );
            written && instr.op_register(*op).full_register() == Register::RSP
        });
        if explicit.count() > 0 {
            return false;
        }
        let mut loses_stack = false;
        for used in infos.info(instr).used_registers() {
            let written =
                !matches!(used.access(), OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
            if !written || !used.register().is_gpr() {
                continue;
            }
            let number = used.register().full_register().number();
            if number != RSP {
                self.values[number] = None;
            } else if increment == 0 {
                loses_stack = true;
            }
        }
        self.move_stack(increment as i64) && !loses_stack
    }

    /// False if the stack does not reach so far.
    pub fn move_stack(&mut self, by: i64) -> bool {
        let Some(rsp) = self.values[RSP] else { return by == 0 };
        let moved = rsp.wrapping_add(by as u64);
        self.values[RSP] = Some(moved);
        by == 0 || (STACK + 0x400..=STACK + 0xe00).contains(&moved)
    }
}
