//! The stores that write a block's record, woven between its instructions.

use super::{Cold, Emitter, Interrupted};
use crate::context::at;
use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use fpgrind_ir::{Addr, Block, Op, Place, Reg, Stmt, Type, When};
use iced_x86::{Instruction, Register};

/// The record that a block writes.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    pub number: u32,
    pub block: &'a Block,
}

/// Two registers that hold the ring's cursor and what is on its way into the ring.
#[derive(Clone, Copy)]
pub(super) struct Scratch {
    cursor: u8,
    value: u8,
}

impl Scratch {
    /// The registers that are spilled while a block's record is written, by slot.
    pub(super) fn spilled(&self, block: &Block) -> [Option<u8>; 2] {
        [Some(self.cursor), needs_value_register(block).then_some(self.value)]
    }
}

const RCX: u8 = 1;
const RSP: u8 = 4;
const GPR64: [Register; 16] = [
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
    pub(super) fn record(&mut self, record: Record, instr: Instruction) {
        let scratch = self.begin_record(record, 0, None);
        for when in [When::Before, When::After] {
            self.log(record.block, 0, when, scratch, &[instr]);
        }
        self.end_record(record, scratch, None);
    }

    /// Room is checked by one byte of the cursor, which is 0 as long as there is some: see the context. Meanwhile the guest stands
    /// before the instruction at `pc`, if that is given; a record that was begun and not ended is none.
    pub(super) fn begin_record(&mut self, record: Record, used: u16, pc: Option<u64>) -> Scratch {
        let resume = self.asm.here();
        let full = self.asm.ops.new_dynamic_label();
        let mut unused = (0..16u8).filter(|n| *n != RSP && used & (1 << n) == 0).collect::<Vec<_>>();
        unused.sort_by_key(|n| *n != RCX);
        let scratch = Scratch { cursor: unused[0], value: unused[1] };
        self.mark_before(pc, [None, None]);
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(0)], rcx; gs movzx ecx, BYTE [at::CURSOR + 3]);
        self.mark_before(pc, [Some(RCX), None]);
        dynasm!(self.asm.ops; .arch x64; jrcxz >room; jmp =>full; room:);
        if scratch.cursor != RCX {
            dynasm!(self.asm.ops; .arch x64; gs mov rcx, [at::spill(0)]);
            self.mark_before(pc, [None, None]);
            dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(0)], Rq(scratch.cursor));
        }
        dynasm!(self.asm.ops; .arch x64; gs mov Rq(scratch.cursor), [at::CURSOR]);
        self.mark_before(pc, [Some(scratch.cursor), None]);
        if needs_value_register(record.block) {
            dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(1)], Rq(scratch.value));
        }
        dynasm!(self.asm.ops; .arch x64; gs mov QWORD [Rq(scratch.cursor)], record.number as i32);
        self.cold.push(Cold::RingFull { label: full, resume });
        scratch
    }

    /// The guest stands before the instruction at `pc`, as above.
    pub(super) fn end_record(&mut self, record: Record, scratch: Scratch, pc: Option<u64>) {
        self.mark_before(pc, scratch.spilled(record.block));
        if needs_value_register(record.block) {
            dynasm!(self.asm.ops; .arch x64; gs mov Rq(scratch.value), [at::spill(1)]);
        }
        dynasm!(self.asm.ops
            ; .arch x64
            ; lea Rq(scratch.cursor), [Rq(scratch.cursor) + record.block.record as i32]
            ; gs mov [at::CURSOR], Rq(scratch.cursor)
            ; gs mov Rq(scratch.cursor), [at::spill(0)]
        );
    }

    fn mark_before(&mut self, pc: Option<u64>, spilled: [Option<u8>; 2]) {
        self.mark(pc.map_or(Interrupted::Between, |pc| Interrupted::At { pc, spilled }));
    }

    pub(super) fn log(&mut self, block: &Block, index: usize, when: When, scratch: Scratch, instrs: &[Instruction]) {
        let due = |stmt: &&Stmt| stmt.instr as usize == index && stmt.when == when;
        for stmt in block.stmts.iter().filter(due) {
            self.log_value(block, stmt, scratch, &instrs[index]);
        }
    }

    fn log_value(&mut self, block: &Block, stmt: &Stmt, scratch: Scratch, instr: &Instruction) {
        let Some(slot) = stmt.op.slot() else { return };
        let (slot, cursor, value) = (slot.0 as i32, scratch.cursor, scratch.value);
        let ops = &mut self.asm.ops;
        let (place, ty) = match &stmt.op {
            Op::Live { place, .. } | Op::Fresh { place, .. } => (*place, stmt.ty),
            Op::Check { place, value, .. } => (*place, block.type_of(*value)),
            Op::Load { addr, .. } => {
                if let Some(number) = out_pointer(block, addr) {
                    return self.log_result(stmt.ty, number, slot, scratch);
                }
                // A wide operand is loaded in parts. (A displacement relative to RIP is an absolute address to both.)
                let part = addr.disp.wrapping_sub(instr.memory_displacement64() as i64);
                return self.log_memory(stmt.ty, part, slot, scratch, instr);
            }
            _ => return,
        };
        match (place.reg, place.offset, ty.map_or(0, Type::bytes)) {
            (Reg::Gpr(n), _, 8) => dynasm!(ops; .arch x64; gs mov [Rq(cursor) + slot], Rq(n)),
            (Reg::Gpr(n), _, _) => dynasm!(ops; .arch x64; gs mov [Rq(cursor) + slot], Rd(n)),
            (Reg::Vec(n), 0, 16) => dynasm!(ops; .arch x64; gs movups [Rq(cursor) + slot], Rx(n)),
            (Reg::Vec(n), 0, 8) => dynasm!(ops; .arch x64; gs movlps [Rq(cursor) + slot], Rx(n)),
            (Reg::Vec(n), 0, _) => dynasm!(ops; .arch x64; gs movss [Rq(cursor) + slot], Rx(n)),
            (Reg::Vec(n), 8, _) => dynasm!(ops; .arch x64; gs movhps [Rq(cursor) + slot], Rx(n)),
            // Only blocks that contain AVX know of upper halves.
            (Reg::Vec(n), _, _) => dynasm!(ops; .arch x64; gs vextractf128 [Rq(cursor) + slot], Ry(n), 1),
            (Reg::Mxcsr, ..) => dynasm!(ops; .arch x64; gs stmxcsr [Rq(cursor) + slot]),
            (Reg::FsBase, ..) => dynasm!(ops; .arch x64; rdfsbase Rq(value); gs mov [Rq(cursor) + slot], Rq(value)),
            (Reg::Mask(_) | Reg::X87(_) | Reg::X87Control | Reg::Operand, ..) => {}
            (Reg::Out(n), ..) => dynasm!(ops
                ; .arch x64
                ; gs mov Rq(value), [at::out(n as usize)]
                ; gs mov [Rq(cursor) + slot], Rq(value)
            ),
        }
    }

    /// What a wrapped function has just written through a pointer: so it can be read.
    fn log_result(&mut self, ty: Option<Type>, pointer: u8, slot: i32, scratch: Scratch) {
        let (cursor, value) = (scratch.cursor, scratch.value);
        dynasm!(self.asm.ops; .arch x64; gs mov Rq(value), [at::out(pointer as usize)]);
        match ty.map_or(0, Type::bytes) {
            4 => dynasm!(self.asm.ops; .arch x64; mov Rd(value), [Rq(value)]; gs mov [Rq(cursor) + slot], Rd(value)),
            _ => dynasm!(self.asm.ops; .arch x64; mov Rq(value), [Rq(value)]; gs mov [Rq(cursor) + slot], Rq(value)),
        }
    }

    /// So much of the memory operand as the type has, from the byte `part` on.
    fn log_memory(&mut self, ty: Option<Type>, part: i64, slot: i32, scratch: Scratch, instr: &Instruction) {
        let (cursor, value) = (scratch.cursor, scratch.value);
        let bytes = ty.map_or(0, Type::bytes);
        if bytes == 4 {
            self.asm.load_operand(GPR64[value as usize].full_register32(), instr, part);
            dynasm!(self.asm.ops; .arch x64; gs mov [Rq(cursor) + slot], Rd(value));
        }
        for offset in (0..bytes as i32 / 8).map(|n| 8 * n) {
            self.asm.load_operand(GPR64[value as usize], instr, part + offset as i64);
            dynasm!(self.asm.ops; .arch x64; gs mov [Rq(cursor) + slot + offset], Rq(value));
        }
    }
}

/// The number of the pointer to a wrapped function's result, if that is the address.
fn out_pointer(block: &Block, addr: &Addr) -> Option<u8> {
    match block.stmts.get(addr.base?.index())?.op {
        Op::Live { place: Place { reg: Reg::Out(number), .. }, .. } => Some(number),
        _ => None,
    }
}

fn needs_value_register(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.op {
        Op::Load { .. } => true,
        Op::Live { place, .. } | Op::Fresh { place, .. } => matches!(place.reg, Reg::FsBase | Reg::Out(_)),
        _ => false,
    })
}
