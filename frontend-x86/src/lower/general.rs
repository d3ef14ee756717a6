//! Floats in general registers: pushed and popped, exchanged, chosen and copied by string instructions.

use super::Lowering;
use crate::builder::Source;
use crate::operands::{Operand, operand, register, source};
use crate::registers::Granule;
use crate::tables::{General, Pick};
use crate::unlifted;
use fpgrind_ir::{Addr, Op, Place, Reg, Slot, Type};
use iced_x86::{OpKind, Register};

const RCX: u8 = 1;
const RSP: u8 = 4;
const RSI: u8 = 6;
const RDI: u8 = 7;

impl Lowering<'_> {
    pub(super) fn general(&mut self, general: General) -> Option<()> {
        match general {
            General::Move => {
                // An immediate is an argument here.
                self.form.operands = 2;
                self.rearrange(&[Pick::A(0), Pick::A(1)], 1, 8)
            }
            General::Push => self.push(),
            General::Pop => self.pop(),
            General::Exchange => self.exchange(),
            General::ConditionalMove => self.conditional_move(),
            General::MoveString { bytes } => self.move_string(bytes),
            General::StoreString { bytes } => self.store_string(bytes),
        }
    }

    /// Memory that a general register points to.
    fn at_register(&mut self, number: u8, disp: i64) -> Addr {
        Addr { base: Some(self.builder.address_part(number)), disp, ..Addr::default() }
    }

    /// Is there a float in a general register, for all that the block knows?
    fn carries_float(&self, granules: &[Granule]) -> bool {
        granules.iter().any(|&granule| self.builder.likely_carries_float(granule))
    }

    fn push(&mut self) -> Option<()> {
        let eight = match self.instr.op0_kind() {
            OpKind::Register => self.instr.op0_register().is_gpr64(),
            OpKind::Memory => self.instr.memory_size().size() == 8,
            _ => false,
        };
        if !eight {
            return None;
        }
        let from = source(self.builder, self.instr, 0, self.options)?;
        let granules = self.builder.peek(from);
        if self.carries_float(&granules[..2]) {
            let addr = self.at_register(RSP, -8);
            self.builder.store(addr, &granules[..2]);
        }
        self.builder.forget(Reg::Gpr(RSP));
        Some(())
    }

    /// What is popped is known only where the block looks at it: otherwise nothing is logged.
    fn pop(&mut self) -> Option<()> {
        let number = self.instr.op0_register();
        if !number.is_gpr64() || number == Register::RSP {
            return None;
        }
        let addr = self.at_register(RSP, 0);
        let value = self.builder.value(Type::B64, Op::Load { addr, slot: Slot::UNASSIGNED });
        let from = Source::value(value);
        let granules = self.builder.peek(from);
        self.builder.forget(Reg::Gpr(RSP));
        self.builder.write_general(number.number() as u8, [granules[0], granules[1]], from);
        Some(())
    }

    fn exchange(&mut self) -> Option<()> {
        let size = self.instr.op1_register().size();
        let Operand::Register(Reg::Gpr(b)) = operand(self.builder, self.instr, 1)? else { return None };
        let from_b = self.builder.peek(Source::Register(Reg::Gpr(b)));
        match operand(self.builder, self.instr, 0)? {
            Operand::Register(Reg::Gpr(a)) if size == 8 => {
                self.builder.exchange_generals(a, b);
                Some(())
            }
            Operand::Memory { addr, .. } if size >= 4 => {
                // A lock: what comes back is what another thread has put there.
                if self.carries_float(&from_b[..size / 4]) {
                    self.builder.store(addr, &from_b[..size / 4]);
                }
                self.builder.forget(Reg::Gpr(b));
                Some(())
            }
            _ => None,
        }
    }

    /// One of two, and which is told by the bits.
    fn conditional_move(&mut self) -> Option<()> {
        let reg = self.instr.op0_register();
        let Some(Reg::Gpr(number)) = register(reg).filter(|_| reg.size() == 8) else { return None };
        let (old, new) = (Source::Register(Reg::Gpr(number)), source(self.builder, self.instr, 1, self.options)?);
        let floats = [old, new].map(|source| self.builder.peek(source));
        if !floats.iter().any(|granules| self.carries_float(&granules[..2])) {
            return None;
        }
        unlifted::decide(self.builder, self.instr.condition_code());
        let of = [old, new].map(|source| self.builder.read(source, 0, Type::B64)).to_vec();
        let bits = self.builder.fresh_after(Type::B64, Place::gpr(number));
        let value = self.builder.value(Type::B64, Op::Among { bits, of });
        let granules = self.builder.peek(Source::value(value));
        self.builder.write_general(number, [granules[0], granules[1]], new);
        Some(())
    }

    fn move_string(&mut self, bytes: u8) -> Option<()> {
        let plain = self.instr.op0_kind() == OpKind::MemoryESRDI
            && self.instr.op1_kind() == OpKind::MemorySegRSI
            && self.instr.memory_segment() == Register::DS;
        if !plain {
            return None;
        }
        let repeated = self.instr.has_rep_prefix() || self.instr.has_repne_prefix();
        if repeated {
            // With the direction flag set it goes down from there; then shadows are looked for in vain.
            let [dst, src, len] = [RDI, RSI, RCX].map(|number| self.builder.address_part(number));
            self.builder.effect(Op::Copy { dst, src, len, unit: bytes });
        } else {
            let ty = Type::bits_of(bytes as usize).filter(|ty| ty.bytes() >= 4)?;
            let addr = self.at_register(RSI, 0);
            let value = self.builder.value(ty, Op::Load { addr, slot: Slot::UNASSIGNED });
            let addr = self.at_register(RDI, 0);
            self.builder.effect(Op::Store { addr, value });
        }
        let changed = if repeated { &[RDI, RSI, RCX][..] } else { &[RDI, RSI] };
        changed.iter().for_each(|&number| self.builder.forget(Reg::Gpr(number)));
        Some(())
    }

    fn store_string(&mut self, bytes: u8) -> Option<()> {
        if self.instr.op0_kind() != OpKind::MemoryESRDI {
            return None;
        }
        let repeated = self.instr.has_rep_prefix() || self.instr.has_repne_prefix();
        let dst = self.builder.address_part(RDI);
        let len = if repeated { self.builder.address_part(RCX) } else { self.builder.constant(Type::B64, 1) };
        self.builder.effect(Op::Forget { dst, len, unit: bytes });
        self.builder.forget(Reg::Gpr(RDI));
        if repeated {
            self.builder.forget(Reg::Gpr(RCX));
        }
        Some(())
    }
}
