//! The stores that write a block's record, woven between its instructions.

use super::fields::{Field, What, coalesce};
use super::{Cold, Emitter, Interrupted};
use crate::context::{Mode, at};
use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use fpgrind_analysis::log::{GAP, GAP_BYTES};
use fpgrind_ir::{Block, GuestInstr, Op, Place, Reg, Stmt, When};
use iced_x86::{Code, EncodingKind, Instruction, MemoryOperand, Register};

/// The record that a block writes.
pub struct Record {
    pub number: u32,
    pub block: Block,
    /// If it is a loop, run through several times: what it writes instead if it is left after once, twice and so on.
    pub shorter: Vec<ShorterRecord>,
}

/// A record that begins like another.
#[derive(Clone, Copy)]
pub struct ShorterRecord {
    pub number: u32,
    pub length: u16,
}

impl Record {
    /// Of blocks that begin alike, or of one.
    pub fn new(mut blocks: Vec<Block>, mut number: impl FnMut(&Block) -> u32) -> Option<Record> {
        let block = blocks.pop()?;
        let shorter =
            blocks.iter().map(|block| ShorterRecord { number: number(block), length: block.record }).collect();
        Some(Record { number: number(&block), block, shorter })
    }
}

impl Record {
    /// Says that logging stops or goes on here.
    pub fn of_gap(pc: u64) -> Record {
        let block = Block { instrs: vec![GuestInstr { pc, len: 0 }], record: GAP_BYTES as u16, ..Block::default() };
        Record { number: GAP, block, shorter: Vec::new() }
    }
}

/// Two registers that hold the ring's cursor and what is on its way into the ring.
#[derive(Clone, Copy)]
pub(super) struct Scratch {
    pub(super) cursor: u8,
    pub(super) value: u8,
    /// Vector registers are stored by instructions of AVX, because the block has such. Others must not meet them: the CPU may have no
    /// AVX, and changing from one kind to the other can cost more than the block.
    pub(super) vex: bool,
    needs_value: bool,
}

impl Scratch {
    /// The registers that are spilled while a block's record is written, by slot.
    pub(super) fn spilled(&self) -> [Option<u8>; 2] {
        [Some(self.cursor), self.needs_value.then_some(self.value)]
    }

    /// The memory of the record at an offset.
    pub(super) fn slot(&self, slot: i32) -> MemoryOperand {
        let base = GPR64[self.cursor as usize];
        MemoryOperand::new(base, Register::None, 1, slot as i64, 1, false, Register::GS)
    }
}

const RCX: u8 = 1;
const RSP: u8 = 4;
pub(super) const GPR64: [Register; 16] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RBX,
    Register::RSP,
    Register::RBP,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

impl Emitter {
    /// A record on its own, not woven into a block: it tells of the moment before `instr`.
    pub(super) fn record(&mut self, record: &Record, instr: Instruction) {
        let scratch = self.begin_record(record, 0, &[], None);
        for when in [When::Before, When::After] {
            self.log(&record.block, 0, when, scratch, &[instr]);
        }
        self.end_record(record.block.record, scratch, None);
    }

    /// Room is looked up by the cursor: see the context. Meanwhile the guest stands
    /// before the instruction at `pc`, if that is given; a record that was begun and not ended is none.
    pub(super) fn begin_record(
        &mut self,
        record: &Record,
        used: u16,
        instrs: &[Instruction],
        pc: Option<u64>,
    ) -> Scratch {
        let [resume, full] = [(); 2].map(|()| self.asm.ops.new_dynamic_label());
        dynasm!(self.asm.ops; .arch x64; =>resume);
        let mut unused = (0..16u8).filter(|n| *n != RSP && used & (1 << n) == 0).collect::<Vec<_>>();
        unused.sort_by_key(|n| *n != RCX);
        let vex =
            instrs.iter().any(|instr| instr.encoding() != EncodingKind::Legacy) || logs_upper_parts(&record.block);
        let needs_value = needs_value_register(&record.block, instrs);
        let scratch = Scratch { cursor: unused[0], value: unused[1], vex, needs_value };
        self.mark_before(pc, [None, None]);
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(0)], rcx; gs movzx ecx, WORD [at::CURSOR + 2]);
        self.mark_before(pc, [Some(RCX), None]);
        dynasm!(self.asm.ops; .arch x64; gs movzx ecx, BYTE [rcx + at::FULL]; jrcxz >room; jmp =>full; room:);
        if scratch.cursor != RCX {
            dynasm!(self.asm.ops; .arch x64; gs mov rcx, [at::spill(0)]);
            self.mark_before(pc, [None, None]);
            dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(0)], Rq(scratch.cursor));
        }
        dynasm!(self.asm.ops; .arch x64; gs mov Rq(scratch.cursor), [at::CURSOR]);
        self.mark_before(pc, [Some(scratch.cursor), None]);
        if scratch.needs_value {
            dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(1)], Rq(scratch.value));
        }
        dynasm!(self.asm.ops; .arch x64; gs mov QWORD [Rq(scratch.cursor)], record.number as i32);
        self.cold.push(Cold::RingFull { label: full, resume });
        scratch
    }

    /// The guest stands before the instruction at `pc`, as above.
    pub(super) fn end_record(&mut self, length: u16, scratch: Scratch, pc: Option<u64>) {
        self.mark_before(pc, scratch.spilled());
        if scratch.needs_value {
            dynasm!(self.asm.ops; .arch x64; gs mov Rq(scratch.value), [at::spill(1)]);
        }
        dynasm!(self.asm.ops
            ; .arch x64
            ; lea Rq(scratch.cursor), [Rq(scratch.cursor) + length as i32]
            ; gs mov [at::CURSOR], Rq(scratch.cursor)
            ; gs mov Rq(scratch.cursor), [at::spill(0)]
        );
    }

    /// A loop goes on behind this branch if that is taken, and ends the record here if not.
    pub(super) fn go_round(&mut self, branch: &Instruction, record: ShorterRecord, scratch: Scratch) {
        let label = self.asm.ops.new_dynamic_label();
        let mut out = *branch;
        out.negate_condition_code();
        self.asm.branch(out.condition_code(), label);
        self.cold.push(Cold::LeaveLoop { label, record, scratch, target: (branch.next_ip(), Mode::Logged) });
    }

    fn mark_before(&mut self, pc: Option<u64>, spilled: [Option<u8>; 2]) {
        self.mark(pc.map_or(Interrupted::Between, |pc| Interrupted::At { pc, spilled }));
    }

    /// Writes what is to be known of one moment: before the instruction, or after it.
    pub(super) fn log(&mut self, block: &Block, index: usize, when: When, scratch: Scratch, instrs: &[Instruction]) {
        let instr = &instrs[index];
        let of_instr = block.stmts.iter().filter(|stmt| stmt.instr as usize == index);
        let due = |stmt: &Stmt| Field::of(block, stmt).map(|field| field.taken(stmt.when, instr));
        let of_moment = |(taken, field): (When, Field)| (taken == when).then_some(field);
        let mut fields = of_instr.filter_map(due).filter_map(of_moment).collect::<Vec<_>>();
        coalesce(&mut fields);
        let is_operand = |field: &Field| matches!(field.what, What::Place(Place { reg: Reg::Operand, .. }));
        let (operand, others): (Vec<Field>, Vec<Field>) = fields.into_iter().partition(is_operand);
        for field in others {
            match field.what {
                What::Place(place) => self.log_place(place, field, scratch),
                What::Memory(addr) => self.log_memory(block, &addr, field, scratch, instr),
                What::Image => self.asm.emit(Instruction::with1(Code::Fxsave64_m512byte, scratch.slot(field.slot))),
            }
        }
        if !operand.is_empty() {
            self.log_operand(&operand, scratch, instr);
        }
    }
}

/// Does it log what only AVX's registers have? Then a function is called that uses them.
fn logs_upper_parts(block: &Block) -> bool {
    let is_upper = |place: &Place| matches!(place, Place { reg: Reg::Vec(_), offset: 16.. });
    block.stmts.iter().any(|stmt| match &stmt.op {
        Op::Live { place, .. } | Op::Fresh { place, .. } => is_upper(place),
        _ => false,
    })
}

fn needs_value_register(block: &Block, instrs: &[Instruction]) -> bool {
    block.stmts.iter().any(|stmt| {
        let Some(field) = Field::of(block, stmt) else { return false };
        let taken = instrs.get(stmt.instr as usize).map_or(field, |instr| field.taken(stmt.when, instr).1);
        match taken.what {
            What::Memory(_) => true,
            What::Place(place) => {
                matches!(place.reg, Reg::FsBase | Reg::Out(_) | Reg::Mask(_) | Reg::Operand | Reg::Sum { .. })
            }
            What::Image => false,
        }
    })
}
