//! Instructions that no table has: what they write is forgotten. If they decide on a comparison of floats, that is said.

use crate::builder::Builder;
use crate::operands::register;
use fpgrind_ir::{Cond, Op, Reg};
use iced_x86::{ConditionCode, EncodingKind, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, RflagsBits};

pub fn run(builder: &mut Builder, info: &mut InstructionInfoFactory, instr: &Instruction) {
    let sets_flags = instr.rflags_modified() != RflagsBits::NONE;
    if sets_flags {
        builder.flags = None;
    } else {
        decide(builder, instr.condition_code());
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
