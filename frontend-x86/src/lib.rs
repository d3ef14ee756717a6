//! The x86-64 frontend: decoded guest instructions in, a [`Block`] of the IR out.
//!
//! An instruction is lifted if one of the [`tables`] has an entry for it. Then [`lower`] says what it does, through the
//! [`builder`], which knows what every register holds inside the block. Everything else runs unlifted, and
//! [`unlifted`] forgets what it writes. The [`x87`] has a table and a stack of its own, and is asked first. Nothing in here can fail: what is not understood costs a shadow.

mod builder;
mod coverage;
mod escape;
mod kernel;
mod logic;
mod lower;
mod operands;
mod registers;
mod tables;
mod unlifted;
mod x87;

pub use coverage::{Coverage, coverage};
pub use escape::Left;
pub use kernel::{Direction, Memory, Transfer, filled_by_kernel, transfer};

use builder::Builder;
use fpgrind_ir::{Block, GuestInstr, Op, Place, Reg};
use iced_x86::{Code, Instruction, InstructionInfoFactory};

#[derive(Clone, Copy)]
pub struct LiftOptions<'a> {
    /// Log the result of every lifted instruction too, to be compared with what the analysis predicts.
    pub check: bool,
    /// Fills the buffer with the memory at an address and returns true if that memory is mapped read-only from a file:
    /// literals, which need not be logged.
    pub constants: &'a dyn Fn(u64, &mut [u8]) -> bool,
    /// General registers, a bit each, in which code around this one has left floats: what is stored from them may be one.
    pub carriers: u16,
    /// General registers, a bit each: what is loaded into them may be stored by another block.
    pub loads: u16,
    /// What blocks that lead right to this one have left: integer code may compute with the bits of floats there.
    pub entering: &'a Left,
}

/// The general registers in which a block leaves floats for others.
pub fn floats_left(block: &Block) -> u16 {
    let left = block.stmts.iter().filter_map(|stmt| match stmt.op {
        Op::Put { place: Place { reg: Reg::Gpr(number), .. }, .. } => Some(1u16 << (number & 15)),
        _ => None,
    });
    left.fold(0, |carriers, carrier| carriers | carrier)
}

/// Describes a straight line of 64-bit instructions, of which only the last may leave it.
pub fn lift(instrs: &[Instruction], options: &LiftOptions) -> Block {
    lift_for_others(instrs, options).0
}

/// The same, and what it leaves for blocks that it leads to.
pub fn lift_for_others(instrs: &[Instruction], options: &LiftOptions) -> (Block, Left) {
    // Statements name their instruction in 16 bits. Translated blocks are far shorter.
    let instrs = &instrs[..instrs.len().min(u16::MAX as usize)];
    let mut lifter = Lifter::new(instrs, options);
    (0..instrs.len()).for_each(|index| lifter.lift(index));
    let left = lifter.builder.floats_left();
    (fpgrind_ir::assign_slots(fpgrind_ir::eliminate_dead(lifter.builder.finish())), left)
}

/// Describes a loop that is run through `times` times: `instrs` are those of one time after the other, and the last of each branches back.
/// A block for each number of times after which the loop may be left; see [`share_record`](fpgrind_ir::share_record).
pub fn lift_loop(instrs: &[Instruction], times: usize, options: &LiftOptions) -> Option<Vec<Block>> {
    let mut lifter = Lifter::new(instrs, options);
    let length = instrs.len() / times;
    let (mut blocks, mut common) = (Vec::new(), Vec::new());
    for end in (1..=times).map(|time| time * length) {
        lifter.builder.begin_turn();
        (end - length..end).for_each(|index| lifter.lift(index));
        common.push(lifter.builder.len());
        let mut block = lifter.builder.clone().finish();
        block.instrs.truncate(end);
        blocks.push(block);
    }
    fpgrind_ir::share_record(blocks, &common)
}

struct Lifter<'a> {
    instrs: &'a [Instruction],
    options: &'a LiftOptions<'a>,
    builder: Builder,
    infos: InstructionInfoFactory,
}

impl<'a> Lifter<'a> {
    fn new(instrs: &'a [Instruction], options: &'a LiftOptions) -> Lifter<'a> {
        let guest = instrs.iter().map(|instr| GuestInstr { pc: instr.ip(), len: instr.len() as u8 }).collect();
        let mut builder = Builder::new(guest);
        builder.loads = options.loads;
        builder.enter_floats(options.entering);
        Lifter { instrs, options, builder, infos: InstructionInfoFactory::new() }
    }

    fn lift(&mut self, index: usize) {
        let Lifter { builder, options, .. } = self;
        let instr = &self.instrs[index];
        builder.begin(index as u16);
        if let Some((dst, len)) = filled_by_kernel(&self.instrs[..=index]) {
            let [dst, len] = [dst, len].map(|number| builder.address_part(number));
            builder.effect(Op::Forget { dst, len, unit: 1 });
        }
        if x87::lower(builder, instr, options).is_some() {
            return escape::note_move(builder, instr);
        }
        if lower::lower(builder, instr, options).is_none() {
            return unlifted::run(builder, &mut self.infos, instr);
        }
        escape::note_move(builder, instr);
        if options.check {
            builder.check_changes();
        }
    }
}

/// Is this encoding lifted? (Some of its forms may not be: GS-relative and 32-bit addresses, shifts by odd bytes.)
pub fn lifted(code: Code) -> bool {
    matches!(coverage(code), Coverage::Lifted | Coverage::Leaf(_))
}
