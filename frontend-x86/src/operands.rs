//! The operands of a decoded instruction in the IR's terms.

use crate::LiftOptions;
use crate::builder::{Builder, Source, opaque};
use crate::registers::HALF;
use fpgrind_ir::{Addr, Op, Reg, Slot, Type, Value};
use iced_x86::{Instruction, OpKind, Register};

/// An operand that is not followed (a GS-relative address, a mask register) has none of these.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    Register(Reg),
    /// 1, 2, 4 or 8 granules at an address.
    Memory {
        addr: Addr,
        granules: usize,
    },
    Immediate(u64),
}

/// The register as the IR knows it: the whole one around a part.
pub fn register(register: Register) -> Option<Reg> {
    let reg = match register {
        _ if register.is_vector_register() => Reg::Vec(register.number() as u8),
        _ if register.is_gpr() => Reg::Gpr(register.full_register().number() as u8),
        _ => return None,
    };
    Some(reg).filter(|reg| reg.exists())
}

pub fn operand(builder: &mut Builder, instr: &Instruction, number: u32) -> Option<Operand> {
    match instr.op_kind(number) {
        OpKind::Register => Some(Operand::Register(register(instr.op_register(number))?)),
        OpKind::Memory => {
            let granules = match instr.memory_size().size() {
                4 => 1,
                8 => 2,
                16 => 4,
                32 => 8,
                _ => return None,
            };
            Some(Operand::Memory { addr: address(builder, instr)?, granules })
        }
        OpKind::Immediate8 | OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64 => {
            Some(Operand::Immediate(instr.immediate(number)))
        }
        _ => None,
    }
}

/// An operand's contents. Memory is loaded, or is a constant if it cannot change.
pub fn source(builder: &mut Builder, operand: Operand, options: &LiftOptions) -> Source {
    match operand {
        Operand::Register(reg) => Source::Register(reg),
        Operand::Immediate(bits) => Source::Value(builder.constant(Type::B64, bits as u128)),
        Operand::Memory { addr, granules } if granules > HALF => {
            let upper = Addr { disp: addr.disp.wrapping_add(4 * HALF as i64), ..addr };
            Source::Wide([addr, upper].map(|addr| load(builder, addr, HALF, options)))
        }
        Operand::Memory { addr, granules } => Source::Value(load(builder, addr, granules, options)),
    }
}

/// So many granules of memory, at most 16 bytes.
fn load(builder: &mut Builder, addr: Addr, granules: usize, options: &LiftOptions) -> Value {
    let ty = opaque(granules);
    let mut bytes = [0; 16];
    if addr.values().next().is_none() && (options.constants)(addr.disp as u64, &mut bytes[..4 * granules]) {
        return builder.constant(ty, u128::from_le_bytes(bytes));
    }
    builder.value(ty, Op::Load { addr, slot: Slot::UNASSIGNED })
}

pub fn address(builder: &mut Builder, instr: &Instruction) -> Option<Addr> {
    // In 64-bit mode the other segments begin at 0 (Intel SDM volume 1, "Segmentation in 64-Bit Mode").
    let segment = match instr.memory_segment() {
        Register::GS => return None,
        Register::FS => Some(builder.fs_base()),
        _ => None,
    };
    if matches!(instr.memory_base(), Register::RIP) {
        return Some(Addr { segment, ..Addr::constant(instr.ip_rel_memory_address()) });
    }
    let base = address_register(builder, instr.memory_base())?;
    let index = address_register(builder, instr.memory_index())?;
    let disp = instr.memory_displacement64() as i64;
    Some(Addr { segment, base, index: index.map(|value| (value, instr.memory_index_scale() as u8)), disp })
}

/// No register, or its value; nothing for a register that makes the address 32 bits wide.
fn address_register(builder: &mut Builder, register: Register) -> Option<Option<Value>> {
    match register {
        Register::None => Some(None),
        _ if register.is_gpr64() => Some(Some(builder.address_part(register.number() as u8))),
        _ => None,
    }
}
