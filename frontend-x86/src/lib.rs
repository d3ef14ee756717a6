//! The x86-64 frontend: decoded guest instructions in, a [`Block`] of the IR out.
//!
//! An instruction is lifted if one of the [`tables`] has an entry for it. Then [`lower`] says what it does, through the
//! [`builder`], which knows what every register holds inside the block. Everything else runs unlifted, and
//! [`unlifted`] forgets what it writes. The [`x87`] has a table and a stack of its own, and is asked first. Nothing in here can fail: what is not understood costs a shadow.

mod builder;
mod coverage;
mod kernel;
mod logic;
mod lower;
mod operands;
mod registers;
mod tables;
mod unlifted;
mod x87;

pub use coverage::{Coverage, coverage};
pub use kernel::filled_by_kernel;

use builder::Builder;
use fpgrind_ir::{Block, GuestInstr, Op};
use iced_x86::{Code, Instruction, InstructionInfoFactory};

#[derive(Clone, Copy)]
pub struct LiftOptions<'a> {
    /// Log the result of every lifted instruction too, to be compared with what the analysis predicts.
    pub check: bool,
    /// Fills the buffer with the memory at an address and returns true if that memory is mapped read-only from a file:
    /// literals, which need not be logged.
    pub constants: &'a dyn Fn(u64, &mut [u8]) -> bool,
}

/// Describes a straight line of 64-bit instructions, of which only the last may leave it.
pub fn lift(instrs: &[Instruction], options: &LiftOptions) -> Block {
    // Statements name their instruction in 16 bits. Translated blocks are far shorter.
    let instrs = &instrs[..instrs.len().min(u16::MAX as usize)];
    let guest = instrs.iter().map(|instr| GuestInstr { pc: instr.ip(), len: instr.len() as u8 }).collect();
    let mut builder = Builder::new(guest);
    let mut info = InstructionInfoFactory::new();
    for (index, instr) in instrs.iter().enumerate() {
        builder.begin(index as u16);
        if let Some((dst, len)) = filled_by_kernel(&instrs[..=index]) {
            let [dst, len] = [dst, len].map(|number| builder.address_part(number));
            builder.effect(Op::Forget { dst, len, unit: 1 });
        }
        if x87::lower(&mut builder, instr, options).is_some() {
            continue;
        }
        if lower::lower(&mut builder, instr, options).is_none() {
            unlifted::run(&mut builder, &mut info, instr);
        } else if options.check {
            builder.check_changes();
        }
    }
    fpgrind_ir::assign_slots(fpgrind_ir::eliminate_dead(builder.finish()))
}

/// Is this encoding lifted? (Some of its forms may not be: GS-relative and 32-bit addresses, shifts by odd bytes.)
pub fn lifted(code: Code) -> bool {
    matches!(coverage(code), Coverage::Lifted | Coverage::Leaf(_))
}
