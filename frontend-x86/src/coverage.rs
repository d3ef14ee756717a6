//! How much of the instruction set is understood: computed from the tables, not claimed.

use crate::lower::operation;
use crate::tables::{Operation, why_dropped};
use iced_x86::{Code, CpuidFeature, OpCodeOperandKind};

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
    if crate::x87::lifted(code) {
        return Coverage::Lifted;
    }
    if names_mmx(code) {
        return Coverage::Dropped("works on MMX registers, which hold integers");
    }
    let relevant = code.op_code().mode64() && (is_x87(code) || operand_kinds(code).any(holds_floats));
    if !relevant {
        return Coverage::Irrelevant;
    }
    why_dropped(code.mnemonic()).map_or(Coverage::Missing, Coverage::Dropped)
}

fn operand_kinds(code: Code) -> impl Iterator<Item = OpCodeOperandKind> {
    (0..code.op_code().op_count()).map(move |number| code.op_code().op_kind(number))
}

fn is_x87(code: Code) -> bool {
    code.cpuid_features().iter().any(|feature| {
        matches!(feature, CpuidFeature::FPU | CpuidFeature::FPU287 | CpuidFeature::FPU387 | CpuidFeature::FPU387SL_ONLY)
    })
}

/// A vector, mask, x87 or tile register, or memory that a vector of indices addresses.
fn holds_floats(kind: OpCodeOperandKind) -> bool {
    let name = format!("{kind:?}");
    ["xmm", "ymm", "zmm", "k_", "kp1", "st0", "sti", "vsib", "tmm"].iter().any(|part| name.contains(part))
}

pub fn names_mmx(code: Code) -> bool {
    operand_kinds(code)
        .any(|kind| matches!(kind, OpCodeOperandKind::mm_reg | OpCodeOperandKind::mm_or_mem | OpCodeOperandKind::mm_rm))
        && !operand_kinds(code).any(|kind| format!("{kind:?}").starts_with("xmm"))
}
