//! How much of the instruction set is understood: computed from the tables, not claimed.

use crate::lower::operation;
use crate::tables::{Operation, why_dropped};
use iced_x86::{Code, CpuidFeature, EncodingKind, OpCodeOperandKind as Kind};

/// What becomes of floats in an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    Lifted,
    /// Lifted, but the result begins a history, for this reason.
    Leaf(&'static str),
    /// Runs as it stands; what it writes is forgotten, for this reason.
    Dropped(&'static str),
    /// Touches neither floats nor vector registers.
    Irrelevant,
    Missing,
}

pub fn coverage(code: Code) -> Coverage {
    match operation(code) {
        Some(Operation::Leaf { why, .. }) => return Coverage::Leaf(why),
        Some(_) => return Coverage::Lifted,
        None => {}
    }
    if exists(code) && crate::x87::lifted(code) {
        return Coverage::Lifted;
    }
    if names_mmx(code) {
        return Coverage::Dropped("works on MMX registers, which hold integers");
    }
    if !exists(code) || !(is_x87(code) || operand_kinds(code).any(holds_floats)) {
        return Coverage::Irrelevant;
    }
    why_dropped(code.mnemonic()).map_or(Coverage::Missing, Coverage::Dropped)
}

fn operand_kinds(code: Code) -> impl Iterator<Item = Kind> {
    (0..code.op_code().op_count()).map(move |number| code.op_code().op_kind(number))
}

fn is_x87(code: Code) -> bool {
    code.cpuid_features().iter().any(|feature| {
        matches!(feature, CpuidFeature::FPU | CpuidFeature::FPU287 | CpuidFeature::FPU387 | CpuidFeature::FPU387SL_ONLY)
    })
}

/// A vector, mask, x87 or tile register, or memory that a vector of indices addresses.
fn holds_floats(kind: Kind) -> bool {
    names_vector(kind)
        || matches!(
            kind,
            Kind::mem_vsib32x
                | Kind::mem_vsib64x
                | Kind::mem_vsib32y
                | Kind::mem_vsib64y
                | Kind::mem_vsib32z
                | Kind::mem_vsib64z
                | Kind::k_or_mem
                | Kind::k_reg
                | Kind::kp1_reg
                | Kind::k_rm
                | Kind::k_vvvv
                | Kind::st0
                | Kind::sti_opcode
                | Kind::tmm_reg
                | Kind::tmm_rm
                | Kind::tmm_vvvv
        )
}

fn names_vector(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::xmm_or_mem
            | Kind::xmm_reg
            | Kind::xmm_rm
            | Kind::xmm_vvvv
            | Kind::xmmp3_vvvv
            | Kind::xmm_is4
            | Kind::xmm_is5
            | Kind::ymm_or_mem
            | Kind::ymm_reg
            | Kind::ymm_rm
            | Kind::ymm_vvvv
            | Kind::ymm_is4
            | Kind::ymm_is5
            | Kind::zmm_or_mem
            | Kind::zmm_reg
            | Kind::zmm_rm
            | Kind::zmm_vvvv
            | Kind::zmmp3_vvvv
    )
}

/// Is there such an instruction in 64-bit mode, on a processor that programs are made for? (Knights Corner's are not.)
fn exists(code: Code) -> bool {
    code.op_code().mode64() && code.encoding() != EncodingKind::MVEX
}

/// Are its operands of the kinds that tables speak of? Those on bytes, words, segment and MMX registers are not.
pub fn is_followed(code: Code) -> bool {
    let moves_less = |kind: Kind| {
        matches!(
            kind,
            Kind::mem_offs
                | Kind::r8_or_mem
                | Kind::r8_reg
                | Kind::r8_opcode
                | Kind::r16_or_mem
                | Kind::r16_reg
                | Kind::r16_opcode
                | Kind::imm8sex16
                | Kind::imm16
                | Kind::seg_reg
                | Kind::es
                | Kind::cs
                | Kind::ss
                | Kind::ds
                | Kind::fs
                | Kind::gs
                | Kind::cr_reg
                | Kind::dr_reg
                | Kind::tr_reg
        )
    };
    exists(code) && !names_mmx(code) && !operand_kinds(code).any(moves_less)
}

fn names_mmx(code: Code) -> bool {
    let is_mmx = |kind: Kind| matches!(kind, Kind::mm_reg | Kind::mm_or_mem | Kind::mm_rm);
    operand_kinds(code).any(is_mmx) && !operand_kinds(code).any(names_vector)
}
