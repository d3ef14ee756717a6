//! How each kind of field gets into a record.

use super::record::{GPR64, Scratch};
use super::{Emitter, vectors};
use crate::asm::operand_of;
use crate::context::at;
use dynasmrt::{DynasmApi, dynasm};
use fpgrind_ir::{Addr, Block, Op, Place, Reg, Stmt, When};
use iced_x86::{Code, Instruction, MemoryOperand, Mnemonic, OpKind, Register};

/// Bytes of the record that are written at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Field {
    pub what: What,
    pub bytes: usize,
    pub slot: i32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    Place(Place),
    Memory(Addr),
    Image,
}

impl Field {
    /// What a statement logs, if it does.
    pub fn of(block: &Block, stmt: &Stmt) -> Option<Field> {
        let what = match &stmt.op {
            Op::Live { place, .. } | Op::Fresh { place, .. } | Op::Check { place, .. } => What::Place(*place),
            Op::Load { addr, .. } => What::Memory(*addr),
            Op::Image { .. } => What::Image,
            _ => return None,
        };
        Some(Field { what, bytes: block.logged_bytes(stmt)?, slot: stmt.op.slot()?.0.into() })
    }

    /// When it is taken, and from where: what an instruction does nothing with but load it is taken from the register that it is then in.
    pub fn taken(self, when: When, instr: &Instruction) -> (When, Field) {
        let from_register = || {
            let What::Memory(addr) = self.what else { return None };
            let offset = u8::try_from(addr.disp.wrapping_sub(instr.memory_displacement64() as i64)).ok()?;
            let within = offset as usize + self.bytes <= instr.memory_size().size();
            let place = Place { reg: loaded_register(instr)?, offset };
            let storable = match (place.reg, offset) {
                (_, 0) => matches!(self.bytes, 2 | 4 | 8 | 16),
                (Reg::Vec(_), 8) => self.bytes == 8,
                (Reg::Vec(_), 16 | 32 | 48) => self.bytes == 16,
                _ => false,
            };
            (within && storable).then_some(Field { what: What::Place(place), ..self })
        };
        from_register().map_or((when, self), |field| (When::After, field))
    }

    /// One field in place of two quarters or halves of a vector register that lie in the record as in the register.
    fn joined(&self, next: &Field) -> Option<Field> {
        let (What::Place(first), What::Place(second)) = (self.what, next.what) else { return None };
        let aligned = self.bytes == next.bytes && (first.offset as usize).is_multiple_of(2 * self.bytes);
        let follows = second == Place { offset: first.offset + self.bytes as u8, ..first }
            && next.slot == self.slot + self.bytes as i32;
        let quarters = matches!(first.reg, Reg::Vec(_) | Reg::Operand) && matches!(self.bytes, 16 | 32);
        (aligned && follows && quarters).then_some(Field { bytes: 2 * self.bytes, ..*self })
    }
}

/// Makes one store out of two where a wider one writes both. (Stores of sixteen bytes and more need no alignment, whatever the guest
/// has set EFLAGS.AC to: Intel SDM volume 3, "Alignment Check Exception".)
pub(super) fn coalesce(fields: &mut Vec<Field>) {
    for bytes in [16, 32] {
        let mut index = 0;
        while index < fields.len() {
            let first = fields[index];
            let next = fields.iter().position(|next| first.bytes == bytes && first.joined(next).is_some());
            if let Some(next) = next {
                fields[index] = first.joined(&fields[next]).unwrap_or(first);
                fields.remove(next);
                index -= usize::from(next < index);
            }
            index += 1;
        }
    }
}

impl Emitter {
    pub(super) fn log_place(&mut self, place: Place, field: Field, scratch: Scratch) {
        let (slot, cursor, value) = (field.slot, scratch.cursor, scratch.value);
        let ops = &mut self.asm.ops;
        match (place.reg, field.bytes) {
            (Reg::Gpr(n), 8) => dynasm!(ops; .arch x64; gs mov [Rq(cursor) + slot], Rq(n)),
            (Reg::Gpr(n), 2) => dynasm!(ops; .arch x64; gs mov [Rq(cursor) + slot], Rw(n)),
            (Reg::Gpr(n), _) => dynasm!(ops; .arch x64; gs mov [Rq(cursor) + slot], Rd(n)),
            (Reg::Vec(n), bytes) => {
                let store = vectors::store(n, place.offset, bytes, scratch.slot(slot), scratch.vex);
                self.asm.encode(&store);
            }
            (Reg::Mask(n), _) => {
                self.asm.encode(&vectors::mask_to_general(n, value));
                dynasm!(self.asm.ops; .arch x64; gs mov [Rq(cursor) + slot], Rq(value));
            }
            (Reg::Sum { base, index, scale }, _) => {
                let [base, index] = [base, index].map(|number| GPR64[number as usize]);
                let sum = MemoryOperand::with_base_index_scale(base, index, scale.into());
                self.asm.emit(Instruction::with2(Code::Lea_r64_m, GPR64[value as usize], sum));
                dynasm!(self.asm.ops; .arch x64; gs mov [Rq(cursor) + slot], Rq(value));
            }
            (Reg::Mxcsr, _) => dynasm!(ops; .arch x64; gs stmxcsr [Rq(cursor) + slot]),
            (Reg::X87Control, _) => dynasm!(ops; .arch x64; gs fnstcw WORD [Rq(cursor) + slot]),
            (Reg::FsBase, _) => dynasm!(ops; .arch x64; rdfsbase Rq(value); gs mov [Rq(cursor) + slot], Rq(value)),
            (Reg::Out(n), _) => dynasm!(ops
                ; .arch x64
                ; gs mov Rq(value), [at::out(n as usize)]
                ; gs mov [Rq(cursor) + slot], Rq(value)
            ),
            // An image has the x87's registers; operands are another matter.
            (Reg::X87(_) | Reg::Operand, _) => {}
        }
    }

    /// Up to eight bytes at a time pass through the value register.
    pub(super) fn log_memory(
        &mut self,
        block: &Block,
        addr: &Addr,
        field: Field,
        scratch: Scratch,
        instr: &Instruction,
    ) {
        let (cursor, value) = (scratch.cursor, scratch.value);
        let register = GPR64[value as usize];
        // What a wrapped function has just written through a pointer can be read.
        let pointer = out_pointer(block, addr);
        let whole = match pointer {
            Some(_) => Some(MemoryOperand::with_base_displ_size(register, addr.disp, 1)),
            None => memory_of(addr, instr),
        };
        debug_assert!(whole.is_some(), "{instr} does not tell where it reads");
        let Some(whole) = whole else { return };
        for offset in (0..field.bytes as i32).step_by(8) {
            if let Some(pointer) = pointer {
                dynasm!(self.asm.ops; .arch x64; gs mov Rq(value), [at::out(pointer as usize)]);
            }
            let part = MemoryOperand { displacement: whole.displacement + offset as i64, ..whole };
            let slot = field.slot + offset;
            match field.bytes as i32 - offset {
                2 => {
                    self.asm.load_word(register, part);
                    // The ten bytes of the x87 have sixteen in the record.
                    if offset == 0 {
                        dynasm!(self.asm.ops; .arch x64; gs mov [Rq(cursor) + slot], Rw(value));
                    } else {
                        dynasm!(self.asm.ops; .arch x64; gs mov [Rq(cursor) + slot], Rq(value));
                    }
                }
                4 => {
                    self.asm.load(register.full_register32(), part);
                    dynasm!(self.asm.ops; .arch x64; gs mov [Rq(cursor) + slot], Rd(value));
                }
                _ => {
                    self.asm.load(register, part);
                    dynasm!(self.asm.ops; .arch x64; gs mov [Rq(cursor) + slot], Rq(value));
                }
            }
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

/// The register that the instruction loads from memory, if it does no more.
fn loaded_register(instr: &Instruction) -> Option<Reg> {
    let register = instr.op0_register();
    let number = register.number() as u8;
    let loads = instr.op_count() == 2
        && instr.op0_kind() == OpKind::Register
        && instr.op1_kind() == OpKind::Memory
        && !instr.has_op_mask()
        && !instr.is_broadcast();
    match instr.mnemonic() {
        _ if !loads => None,
        Mnemonic::Mov if register.is_gpr32() || register.is_gpr64() => Some(Reg::Gpr(number)),
        Mnemonic::Movss
        | Mnemonic::Movsd
        | Mnemonic::Movaps
        | Mnemonic::Movapd
        | Mnemonic::Movups
        | Mnemonic::Movupd
        | Mnemonic::Movdqa
        | Mnemonic::Movdqu
        | Mnemonic::Movq
        | Mnemonic::Movd
        | Mnemonic::Vmovss
        | Mnemonic::Vmovsd
        | Mnemonic::Vmovaps
        | Mnemonic::Vmovapd
        | Mnemonic::Vmovups
        | Mnemonic::Vmovupd
        | Mnemonic::Vmovdqa
        | Mnemonic::Vmovdqu
        | Mnemonic::Vmovdqa32
        | Mnemonic::Vmovdqa64
        | Mnemonic::Vmovdqu32
        | Mnemonic::Vmovdqu64
        | Mnemonic::Vmovq
        | Mnemonic::Vmovd
            if register.is_vector_register() =>
        {
            Some(Reg::Vec(number))
        }
        _ => None,
    }
}

/// Where an instruction reads, by its own word: of the registers that the address was put together from some may hold something else
/// by now, where it went through a copy. An operand of many pieces is logged piece by piece, so an address can begin some bytes further on.
fn memory_of(addr: &Addr, instr: &Instruction) -> Option<MemoryOperand> {
    let kinds = || (0..instr.op_count()).map(|op| instr.op_kind(op));
    let implied = match instr.mnemonic() {
        // The memory that it names, if it does, is written.
        Mnemonic::Pop => Some(Register::RSP),
        _ => kinds().any(|kind| kind == OpKind::MemorySegRSI).then_some(Register::RSI),
    };
    if let Some(base) = implied {
        return Some(MemoryOperand::new(base, Register::None, 1, addr.disp, 1, false, instr.segment_prefix()));
    }
    let named = kinds().any(|kind| kind == OpKind::Memory) && !instr.is_vsib();
    // A displacement relative to RIP is an absolute address to both.
    named.then(|| operand_of(instr, addr.disp.wrapping_sub(instr.memory_displacement64() as i64)))
}
