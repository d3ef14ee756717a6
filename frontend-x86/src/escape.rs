//! Floats whose bits integer code computes with: hashes, checksums, digits that a program takes apart by itself.
//!
//! Most integer instructions on a float's bits are float operations in disguise: they look at its sign or its exponent, or change them, and move the result
//! back to a vector register. So what is made of a float's bits is followed within the block, and an escape is said only where its digits are mixed with
//! something else, multiplied, or separated from their exponent, and do not come back.

use crate::builder::Builder;
use crate::operands::register;
use fpgrind_ir::{Op, Reg, Relation, Type, Value};
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use std::collections::BTreeSet;

/// Where a block may find floats that only their bits say are some.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Left {
    /// General registers, a bit each.
    pub registers: u16,
    pub cells: Vec<Cell>,
}

impl Left {
    /// Those of two blocks that lead to the same one.
    pub fn add(&mut self, other: &Left) {
        self.registers |= other.registers;
        for cell in &other.cells {
            if self.cells.len() < MAX_CELLS && !self.cells.contains(cell) {
                self.cells.push(*cell);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Left::default()
    }
}

/// What is looked at as bits is looked at soon.
const MAX_CELLS: usize = 8;

/// What a general register holds that was made of floats' bits.
#[derive(Clone, Default)]
pub struct Derived {
    /// Whose digits are in it and have not escaped yet.
    pub floats: BTreeSet<Value>,
    /// How many of the register's lowest bits are their digits.
    pub digits: u32,
    /// Nothing was done to it but moving.
    pub whole: bool,
    /// Escapes that are none if the register's contents become a float again.
    pub escapes: BTreeSet<Value>,
}

/// What an instruction does with a float's bits.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Use {
    /// It looks at the sign or the exponent, or compares with a number: no digit is in what it makes.
    Look,
    /// What it makes may be a float, still or again: so many digits are in it.
    Change { digits: u32 },
    /// The same, but hardly a float unless it is moved back to where floats are.
    Mix,
    /// An integer.
    Integer,
}

/// Says what escapes in an instruction that is not lifted; what it leaves in its destination is known behind it.
pub fn follow(builder: &mut Builder, infos: &mut InstructionInfoFactory, instr: &Instruction) -> Option<(u8, Derived)> {
    let read = generals_read(infos, instr);
    let mut all = Derived::default();
    let mut entered = Vec::new();
    for &number in &read {
        let Some(derived) = builder.bits_of_floats(number) else { continue };
        all.digits = all.digits.max(derived.digits);
        if derived.floats.is_empty() && derived.escapes.is_empty() {
            entered.push(number);
        }
        all.floats.extend(derived.floats);
        all.escapes.extend(derived.escapes);
    }
    if all.digits == 0 {
        return None;
    }
    let several = all.floats.len() + entered.len() > 1;
    let used = match use_of(builder, instr, all.digits) {
        Use::Change { .. } if several || instr.op0_kind() == OpKind::Memory => Use::Mix,
        used => used,
    };
    if used == Use::Look {
        if several && instr.mnemonic() == Mnemonic::Cmp {
            compare(builder, instr);
        }
        return None;
    }
    // What came in from another block is logged only where it matters.
    entered.into_iter().for_each(|number| all.floats.extend(builder.entered_floats(number)));
    all.whole = false;
    if let Use::Change { digits } = used {
        all.digits = digits;
    } else {
        let escapes = std::mem::take(&mut all.floats).into_iter().map(|value| builder.escape(value));
        all.escapes.extend(escapes.collect::<Vec<_>>());
    }
    if used == Use::Integer {
        builder.confirm(&all.escapes);
    }
    let Some(Reg::Gpr(destination)) = register(instr.op0_register()) else { return None };
    (used != Use::Integer).then_some((destination, all))
}

/// Bits that are compared are in the order that their floats have, or nearly so: a decision, which what follows makes.
fn compare(builder: &mut Builder, instr: &Instruction) -> Option<()> {
    let [left, right] = [instr.op0_register(), instr.op1_register()].map(register);
    let (Reg::Gpr(left), Reg::Gpr(right)) = (left?, right?) else { return None };
    let bytes = instr.op0_register().size();
    let ty = if bytes == 4 { Type::F32 } else { Type::F64 };
    let args = [builder.only_float(left, ty)?, builder.only_float(right, ty)?];
    builder.value(Type::bits_of(bytes)?, Op::Mask { relation: Relation::Less, args });
    Some(())
}

/// The general registers that an instruction computes with, but not those that only address memory.
fn generals_read(infos: &mut InstructionInfoFactory, instr: &Instruction) -> BTreeSet<u8> {
    let info = infos.info(instr);
    let is_read =
        |number: u32| matches!(info.op_access(number), OpAccess::Read | OpAccess::ReadWrite | OpAccess::ReadCondWrite);
    let explicit = (0..instr.op_count())
        .filter(|&number| instr.op_kind(number) == OpKind::Register && is_read(number))
        .map(|number| instr.op_register(number));
    let implicit = match instr.mnemonic() {
        Mnemonic::Lea => [instr.memory_base(), instr.memory_index()],
        Mnemonic::Imul if instr.op_count() > 1 => [Register::None; 2],
        Mnemonic::Mul | Mnemonic::Imul | Mnemonic::Div | Mnemonic::Idiv => [Register::RAX, Register::None],
        Mnemonic::Mulx => [Register::RDX, Register::None],
        _ => [Register::None; 2],
    };
    let general = |register: Register| register.is_gpr().then(|| register.full_register().number() as u8);
    explicit.chain(implicit).filter_map(general).collect()
}

fn use_of(builder: &Builder, instr: &Instruction, digits: u32) -> Use {
    let same = Use::Change { digits };
    let size = 8 * instr.op0_register().size().max(1) as u32;
    let constant = (0..instr.op_count()).find_map(|number| constant(builder, instr, number));
    match instr.mnemonic() {
        Mnemonic::And => match constant {
            Some(mask) => masked(mask, digits),
            None => same,
        },
        Mnemonic::Shr | Mnemonic::Sar => match constant {
            Some(by) if by as u32 % size >= digits => Use::Look,
            Some(by) => Use::Change { digits: digits - by as u32 % size },
            None => same,
        },
        Mnemonic::Shl => match constant {
            Some(by) if by as u32 % size + digits >= size => Use::Mix,
            Some(by) => Use::Change { digits: by as u32 % size + digits },
            None => Use::Mix,
        },
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::Adc | Mnemonic::Sbb
            if constant.is_none() && instr.op0_register() != instr.op1_register() =>
        {
            Use::Mix
        }
        Mnemonic::Lea if instr.memory_base() != Register::None && instr.memory_index() != Register::None => Use::Mix,
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::Adc | Mnemonic::Sbb | Mnemonic::Lea => same,
        Mnemonic::Inc | Mnemonic::Dec | Mnemonic::Neg | Mnemonic::Not => same,
        Mnemonic::Or | Mnemonic::Xor | Mnemonic::Andn | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc => same,
        Mnemonic::Rol | Mnemonic::Ror | Mnemonic::Rorx | Mnemonic::Shrx | Mnemonic::Sarx | Mnemonic::Shlx => same,
        Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd | Mnemonic::Bextr | Mnemonic::Bzhi => same,
        Mnemonic::Mul | Mnemonic::Mulx | Mnemonic::Imul | Mnemonic::Div | Mnemonic::Idiv => Use::Integer,
        // A float whose bytes are turned about goes to another machine or into a file for one.
        Mnemonic::Crc32 | Mnemonic::Bswap => Use::Integer,
        _ => Use::Look,
    }
}

fn masked(mask: u64, digits: u32) -> Use {
    let significand = (1u64 << digits.min(63)) - 1;
    if mask & significand == 0 {
        Use::Look
    } else if mask & !significand == 0 && 2 * mask.count_ones() > digits {
        // Most digits, and neither sign nor exponent: a significand, or the integer that the digits are.
        Use::Mix
    } else {
        Use::Change { digits }
    }
}

/// An operand that the program has written down.
fn constant(builder: &Builder, instr: &Instruction, number: u32) -> Option<u64> {
    match instr.op_kind(number) {
        OpKind::Register => match register(instr.op_register(number))? {
            reg @ Reg::Gpr(_) => {
                let granules = builder.peek(crate::builder::Source::Register(reg));
                builder.constant_bits(&granules[..2]).map(|bits| bits as u64)
            }
            _ => None,
        },
        OpKind::Memory => None,
        _ => instr.try_immediate(number).ok(),
    }
}

/// Integer instructions on vectors that no float operation is made of.
pub fn is_integer_for_good(mnemonic: Mnemonic) -> bool {
    let name = format!("{mnemonic:?}");
    let name = name.strip_prefix('V').map_or(name.to_lowercase(), str::to_lowercase);
    ["pmul", "pclmul", "pmadd", "psadbw", "aes", "sha", "prol", "pror"].iter().any(|begin| name.starts_with(begin))
}

/// Those of these places that others will know, the latest first.
pub fn left_in(cells: impl DoubleEndedIterator<Item = Cell>) -> Vec<Cell> {
    cells.rev().filter(Cell::is_local).take(MAX_CELLS).collect()
}

/// Takes note of a lifted instruction that moves bits between registers of different kinds, or between a register and memory.
pub fn note_move(builder: &mut Builder, instr: &Instruction) {
    let moves_bits = matches!(
        instr.mnemonic(),
        Mnemonic::Mov
            | Mnemonic::Movd
            | Mnemonic::Movq
            | Mnemonic::Vmovd
            | Mnemonic::Vmovq
            | Mnemonic::Movss
            | Mnemonic::Movsd
            | Mnemonic::Vmovss
            | Mnemonic::Vmovsd
            | Mnemonic::Pinsrd
            | Mnemonic::Pinsrq
            | Mnemonic::Vpinsrd
            | Mnemonic::Vpinsrq
            | Mnemonic::Vpbroadcastd
            | Mnemonic::Vpbroadcastq
    );
    let last = instr.op_count().saturating_sub(1);
    let from = (0..=last).rev().find(|&number| matches!(instr.op_kind(number), OpKind::Register | OpKind::Memory));
    let is_vector = |register: Register| register.is_vector_register();
    match (instr.op0_kind(), from.map(|number| (instr.op_kind(number), instr.op_register(number)))) {
        _ if instr.mnemonic() == Mnemonic::Fld => builder.spill_becomes_float(Cell::of(instr)),
        (OpKind::Memory, Some((OpKind::Memory, _))) => builder.overwrite(Cell::of(instr)),
        (OpKind::Register, Some((OpKind::Register, from))) if is_vector(instr.op0_register()) && moves_bits => {
            if let Some(Reg::Gpr(number)) = register(from) {
                builder.becomes_float(number);
            }
        }
        (OpKind::Register, Some((OpKind::Memory, _))) if is_vector(instr.op0_register()) => {
            builder.spill_becomes_float(Cell::of(instr));
        }
        (OpKind::Register, Some((OpKind::Memory, _))) if instr.mnemonic() == Mnemonic::Mov => {
            if let Some(Reg::Gpr(number)) = register(instr.op0_register()).filter(|_| instr.op0_register().size() >= 4)
            {
                builder.reload(number, Cell::of(instr));
            }
        }
        (OpKind::Memory, Some((OpKind::Register, from))) if moves_bits && from.size() >= 4 => match register(from) {
            Some(reg) => builder.spill(Cell::of(instr), reg),
            None => builder.overwrite(Cell::of(instr)),
        },
        _ => {}
    }
}

/// A place in memory, by the words of the instruction that names it. That its registers may have changed since costs an escape at most: what lies there is
/// known by its bits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cell {
    base: Register,
    index: Register,
    scale: u32,
    displacement: u64,
}

impl Cell {
    /// A variable of the function's own, by the name that it has in other blocks, too.
    fn is_local(&self) -> bool {
        matches!(self.base, Register::RSP | Register::RBP) && self.index == Register::None
    }

    fn of(instr: &Instruction) -> Cell {
        Cell {
            base: instr.memory_base(),
            index: instr.memory_index(),
            scale: instr.memory_index_scale(),
            displacement: instr.memory_displacement64(),
        }
    }
}
