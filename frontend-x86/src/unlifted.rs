//! Instructions that no table has: what they write is forgotten. If they decide on a comparison of floats, that is said.

use crate::builder::Builder;
use crate::escape;
use crate::operands::register;
use fpgrind_ir::{Cond, Op, Reg, Relation, Type};
use iced_x86::{
    ConditionCode, EncodingKind, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, RflagsBits,
};

pub fn run(builder: &mut Builder, info: &mut InstructionInfoFactory, instr: &Instruction) {
    let sets_flags = instr.rflags_modified() != RflagsBits::NONE;
    if sets_flags {
        builder.flags = None;
    } else {
        decide(builder, instr.condition_code());
    }
    let mut made = None;
    if !tests_sign(builder, instr) {
        lose(builder, info, instr);
        made = escape::follow(builder, info, instr);
    }
    forget_written(builder, info, instr);
    if let Some((number, derived)) = made {
        builder.derive(number, derived);
    }
}

fn forget_written(builder: &mut Builder, info: &mut InstructionInfoFactory, instr: &Instruction) {
    if let Some((number, by)) = advances(instr) {
        return builder.advance(number, by);
    }
    for used in info.info(instr).used_registers() {
        let written = matches!(
            used.access(),
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        );
        if let (true, Some(reg)) = (written, register(used.register())) {
            if instr.encoding() == EncodingKind::Legacy { builder.forget_low(reg) } else { builder.forget(reg) }
        }
    }
    match instr.mnemonic() {
        Mnemonic::Wrfsbase => builder.forget_fs_base(),
        // The kernel returns its result in rax, which the instruction itself does not write.
        Mnemonic::Syscall | Mnemonic::Sysenter | Mnemonic::Int => builder.forget(Reg::Gpr(0)),
        _ => {}
    }
}

/// The general register that the instruction adds a constant to, and the constant.
fn advances(instr: &Instruction) -> Option<(u8, u64)> {
    let register = instr.op0_register();
    let by = match instr.mnemonic() {
        _ if !register.is_gpr64() => return None,
        Mnemonic::Inc => 1,
        Mnemonic::Dec => u64::MAX,
        Mnemonic::Add if is_immediate(instr) => instr.immediate(1),
        Mnemonic::Sub if is_immediate(instr) => instr.immediate(1).wrapping_neg(),
        Mnemonic::Lea if instr.memory_base() == register && instr.memory_index() == Register::None => {
            instr.memory_displacement64()
        }
        _ => return None,
    };
    Some((register.number() as u8, by))
}

fn is_immediate(instr: &Instruction) -> bool {
    matches!(instr.op1_kind(), OpKind::Immediate8to64 | OpKind::Immediate32to64)
}

/// `test rax, rax` with a float's bits in rax asks for its sign: a decision, which what follows makes.
fn tests_sign(builder: &mut Builder, instr: &Instruction) -> bool {
    let (first, second) = (instr.op0_register(), instr.op1_register());
    let Some(Reg::Gpr(number)) = register(first) else { return false };
    if instr.mnemonic() != Mnemonic::Test || first != second || first.size() < 4 {
        return false;
    }
    let Some(value) = builder.float_in_general(number, first.size()) else { return false };
    let ty = builder.type_of(value);
    let zero = builder.constant(ty, 0);
    let mask = if ty == Type::F32 { Type::B32 } else { Type::B64 };
    builder.value(mask, Op::Mask { relation: Relation::Less, args: [value, zero] });
    true
}

/// Floats that an instruction computes with as if they were integers.
fn lose(builder: &mut Builder, info: &mut InstructionInfoFactory, instr: &Instruction) {
    let is_read = |access| matches!(access, OpAccess::Read | OpAccess::ReadWrite | OpAccess::ReadCondWrite);
    let read: Vec<Reg> = info
        .info(instr)
        .used_registers()
        .iter()
        .filter(|used| is_read(used.access()))
        .filter_map(|used| register(used.register()))
        .collect();
    let on_vectors = read.iter().any(|reg| matches!(reg, Reg::Vec(_)));
    let for_good = on_vectors && escape::is_integer_for_good(instr.mnemonic());
    read.into_iter().for_each(|reg| builder.lose(reg, for_good));
}

/// A decision by this condition on the flags.
pub fn decide(builder: &mut Builder, code: ConditionCode) {
    if let (Some(flags), Some(cond)) = (builder.flags, condition(code)) {
        builder.effect(Op::Branch { flags, cond });
    }
}

/// The condition as one on the flags of comiss and the like, which clear OF and SF (Intel SDM, COMISD): "less or equal"
/// comes down to ZF. Those that are then always true or always false decide nothing.
fn condition(code: ConditionCode) -> Option<Cond> {
    match code {
        ConditionCode::a => Some(Cond::Above),
        ConditionCode::ae => Some(Cond::AboveEqual),
        ConditionCode::b => Some(Cond::Below),
        ConditionCode::be => Some(Cond::BelowEqual),
        ConditionCode::e | ConditionCode::le => Some(Cond::Equal),
        ConditionCode::ne | ConditionCode::g => Some(Cond::NotEqual),
        ConditionCode::p => Some(Cond::Parity),
        ConditionCode::np => Some(Cond::NotParity),
        _ => None,
    }
}
