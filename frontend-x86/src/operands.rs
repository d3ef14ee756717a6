//! The operands of a decoded instruction in the IR's terms.

use crate::LiftOptions;
use crate::builder::{Builder, Source, opaque, padded};
use crate::registers::{Granule, QUARTER, WHOLE};
use fpgrind_ir::{Addr, Guard, Op, Reg, Rounding, Slot, Test, Type, Value};
use iced_x86::{EncodingKind, Instruction, OpKind, Register, RoundingControl};

/// An operand that is not followed (a GS-relative address, a segment register) has none of these.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    Register(Reg),
    /// So many bytes at an address: 2, or whole granules.
    Memory {
        addr: Addr,
        bytes: usize,
    },
    Immediate(u64),
}

/// What an instruction says about itself beside its operands.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    pub legacy: bool,
    /// Of the vectors that it works on.
    pub bytes: usize,
    /// How many operands it has that are no immediates.
    pub operands: u32,
    pub mask: Option<u8>,
    /// What the mask leaves out becomes zero, instead of staying.
    pub zeroing: bool,
    pub rounding: Rounding,
}

impl Form {
    pub fn of(instr: &Instruction) -> Form {
        let legacy = instr.encoding() == EncodingKind::Legacy;
        let immediates =
            (0..instr.op_count()).filter(|&number| !matches!(instr.op_kind(number), OpKind::Register | OpKind::Memory));
        Form {
            legacy,
            bytes: if legacy { 16 } else { 16 << instr.op_code().l().min(2) },
            operands: instr.op_count() - immediates.count() as u32,
            mask: (instr.op_mask() != Register::None).then(|| instr.op_mask().number() as u8),
            zeroing: instr.zeroing_masking(),
            rounding: match instr.rounding_control() {
                RoundingControl::None => Rounding::Current,
                RoundingControl::RoundToNearest => Rounding::Nearest,
                RoundingControl::RoundDown => Rounding::Down,
                RoundingControl::RoundUp => Rounding::Up,
                RoundingControl::RoundTowardZero => Rounding::Truncate,
            },
        }
    }

    pub fn granules(&self) -> usize {
        self.bytes / 4
    }

    /// What happens in a lane happens only under this condition.
    pub fn guard(&self, builder: &mut Builder, lane: usize) -> Option<Guard> {
        self.mask.map(|number| Guard { mask: builder.mask(number), test: Test::Bit(lane as u8) })
    }
}

/// The register as the IR knows it: the whole one around a part.
pub fn register(register: Register) -> Option<Reg> {
    let reg = match register {
        _ if register.is_vector_register() => Reg::Vec(register.number() as u8),
        _ if register.is_gpr() => Reg::Gpr(register.full_register().number() as u8),
        _ if register.is_k() => Reg::Mask(register.number() as u8),
        _ => return None,
    };
    Some(reg).filter(|reg| reg.exists())
}

pub fn operand(builder: &mut Builder, instr: &Instruction, number: u32) -> Option<Operand> {
    match instr.op_kind(number) {
        OpKind::Register => Some(Operand::Register(register(instr.op_register(number))?)),
        OpKind::Memory => {
            let bytes = instr.memory_size().size();
            let followed = matches!(bytes, 2 | 4 | 8 | 16 | 32 | 64);
            followed.then(|| Some(Operand::Memory { addr: address(builder, instr)?, bytes }))?
        }
        OpKind::Immediate8 | OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64 => {
            Some(Operand::Immediate(instr.immediate(number)))
        }
        _ => None,
    }
}

/// An operand's contents. Memory is loaded, or is a constant if it cannot change.
pub fn source(builder: &mut Builder, instr: &Instruction, number: u32, options: &LiftOptions) -> Option<Source> {
    Some(match operand(builder, instr, number)? {
        Operand::Register(reg) => Source::Register(reg),
        Operand::Immediate(bits) => Source::value(builder.constant(Type::B64, bits as u128)),
        Operand::Memory { addr, bytes } if instr.is_broadcast() => {
            let granules = element(builder, addr, bytes, options);
            Source::Granules(std::array::from_fn(|at| granules[at % granules.len()]))
        }
        Operand::Memory { addr, bytes: 2 } => Source::Granules(padded(&element(builder, addr, 2, options))),
        Operand::Memory { addr, bytes } => {
            let mut granules = [Granule::Unknown; WHOLE];
            for first in (0..bytes / 4).step_by(QUARTER) {
                let count = (bytes / 4 - first).min(QUARTER);
                let value = load(builder, at(addr, 4 * first), opaque(count), options);
                granules[first..first + count].copy_from_slice(&Granule::parts_of(value)[..count]);
            }
            Source::Granules(granules)
        }
    })
}

/// The granules of an element that is broadcast: one of two bytes stands in both halves of its granule.
fn element(builder: &mut Builder, addr: Addr, bytes: usize, options: &LiftOptions) -> Vec<Granule> {
    let ty = Type::bits_of(bytes).unwrap_or(Type::B32);
    let mut value = load(builder, addr, ty, options);
    if bytes == 2 {
        value = builder.value(Type::B32, Op::Concat { parts: vec![value; 2] });
    }
    Granule::parts_of(value)[..ty.granules()].to_vec()
}

/// An address so many bytes further on.
pub fn at(addr: Addr, bytes: usize) -> Addr {
    Addr { disp: addr.disp.wrapping_add(bytes as i64), ..addr }
}

pub fn load(builder: &mut Builder, addr: Addr, ty: Type, options: &LiftOptions) -> Value {
    let mut bytes = [0; 16];
    if addr.values().next().is_none() && (options.constants)(addr.disp as u64, &mut bytes[..ty.bytes()]) {
        return builder.constant(ty, u128::from_le_bytes(bytes));
    }
    builder.value(ty, Op::Load { addr, slot: Slot::UNASSIGNED })
}

pub fn address(builder: &mut Builder, instr: &Instruction) -> Option<Addr> {
    if matches!(instr.memory_base(), Register::RIP) {
        let segment = segment(builder, instr)?;
        return Some(Addr { segment, ..Addr::constant(instr.ip_rel_memory_address()) });
    }
    let (base, index, scale) = (instr.memory_base(), instr.memory_index(), instr.memory_index_scale() as u8);
    if base.is_gpr64() && index.is_gpr64() {
        let segment = segment(builder, instr)?;
        let (base, index) = builder.address_parts(base.number() as u8, index.number() as u8, scale);
        return Some(Addr { segment, base: Some(base), index, disp: instr.memory_displacement64() as i64 });
    }
    let addr = address_without_index(builder, instr)?;
    let index = address_register(builder, index)?;
    Some(Addr { index: index.map(|value| (value, scale)), ..addr })
}

/// The part of an address that all lanes of a gather share.
pub fn address_without_index(builder: &mut Builder, instr: &Instruction) -> Option<Addr> {
    let segment = segment(builder, instr)?;
    let base = address_register(builder, instr.memory_base())?;
    Some(Addr { segment, base, index: None, disp: instr.memory_displacement64() as i64 })
}

/// In 64-bit mode the other segments begin at 0 (Intel SDM volume 1, "Segmentation in 64-Bit Mode").
fn segment(builder: &mut Builder, instr: &Instruction) -> Option<Option<Value>> {
    match instr.memory_segment() {
        Register::GS => None,
        Register::FS => Some(Some(builder.fs_base())),
        _ => Some(None),
    }
}

/// No register, or its value; nothing for a register that makes the address 32 bits wide.
fn address_register(builder: &mut Builder, register: Register) -> Option<Option<Value>> {
    match register {
        Register::None => Some(None),
        _ if register.is_gpr64() => Some(Some(builder.address_part(register.number() as u8))),
        _ => None,
    }
}
