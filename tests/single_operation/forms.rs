//! Every form of an encoding that the test runs: which registers, which kind of address, which mask, which rounding.

use iced_x86::{Code, EncodingKind, OpCodeOperandKind as Kind, RoundingControl};

/// The register of each operand, if it has one.
pub type Registers = [u32; 4];

/// Where the operand that can be either is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Registers,
    /// The destination is the first source too, or the second one. On the x87: st(0) or st(7) is the other operand.
    FirstInPlace,
    SecondInPlace,
    OneRegister,
    HighRegisters,
    Based,
    /// With high registers besides.
    Indexed,
    /// At an absolute address, in memory that counts as constant.
    Literal,
}

impl Shape {
    const ALL: [Shape; 8] = [
        Shape::Registers,
        Shape::FirstInPlace,
        Shape::SecondInPlace,
        Shape::OneRegister,
        Shape::HighRegisters,
        Shape::Based,
        Shape::Indexed,
        Shape::Literal,
    ];
    const IN_MEMORY: [Shape; 3] = [Shape::Based, Shape::Indexed, Shape::Literal];

    pub fn in_memory(self) -> bool {
        Shape::IN_MEMORY.contains(&self)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Masking {
    None,
    Merge,
    Zero,
}

/// What else an encoding may say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extra {
    None,
    Broadcast,
    Rounding(RoundingControl),
    SuppressExceptions,
    Repeat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    pub shape: Shape,
    pub masking: Masking,
    pub extra: Extra,
}

impl Form {
    pub fn plain(shape: Shape) -> Form {
        Form { shape, masking: Masking::None, extra: Extra::None }
    }

    pub fn is_literal(self) -> bool {
        self.shape == Shape::Literal
    }

    /// The registers that the operands use. Numbers that a kind of register does not have are cut to its own.
    pub fn registers(self, code: Code) -> Registers {
        let evex = code.op_code().encoding() == EncodingKind::EVEX;
        match self.shape {
            Shape::OneRegister => [3, 3, 3, 3],
            Shape::HighRegisters if evex => [25, 28, 26, 29],
            Shape::HighRegisters => [9, 12, 10, 13],
            Shape::FirstInPlace => [2, 2, 1, 3],
            Shape::SecondInPlace => [2, 1, 2, 2],
            Shape::Indexed if evex => [26, 17, 19, 24],
            Shape::Indexed => [10, 9, 11, 12],
            _ => [2, 1, 3, 8],
        }
    }

    /// The mask register, if there is one. In some forms it is an operand as well.
    pub fn mask(self) -> u32 {
        match self.shape {
            Shape::Registers => 1,
            Shape::FirstInPlace => 2,
            Shape::SecondInPlace | Shape::OneRegister => 3,
            Shape::HighRegisters => 7,
            Shape::Based => 4,
            Shape::Indexed => 5,
            Shape::Literal => 6,
        }
    }
}

/// The forms that an encoding may have. Some do not exist after all: `instruction` says so.
pub fn forms(code: Code) -> Vec<Form> {
    let info = code.op_code();
    let mut maskings = Vec::new();
    if !info.require_op_mask_register() {
        maskings.push(Masking::None);
    }
    if info.can_use_op_mask_register() {
        maskings.push(Masking::Merge);
    }
    if info.can_use_zeroing_masking() {
        maskings.push(Masking::Zero);
    }
    let mut kinds: Vec<(Extra, &[Shape])> = vec![(Extra::None, &Shape::ALL)];
    if info.can_broadcast() {
        kinds.push((Extra::Broadcast, &Shape::IN_MEMORY));
    }
    if info.can_use_rounding_control() {
        use RoundingControl::{RoundDown, RoundToNearest, RoundTowardZero, RoundUp};
        for control in [RoundToNearest, RoundDown, RoundUp, RoundTowardZero] {
            kinds.push((Extra::Rounding(control), &[Shape::Registers, Shape::HighRegisters]));
        }
    } else if info.can_suppress_all_exceptions() {
        kinds.push((Extra::SuppressExceptions, &[Shape::Registers, Shape::HighRegisters]));
    }
    if info.can_use_rep_prefix() && info.op_kinds().contains(&Kind::es_rDI) {
        kinds.push((Extra::Repeat, &[Shape::Registers]));
    }
    let mut forms = Vec::new();
    for (extra, shapes) in kinds {
        for &masking in &maskings {
            forms.extend(shapes.iter().map(|&shape| Form { shape, masking, extra }));
        }
    }
    forms
}

/// The name of an encoding without the way in which it is encoded.
pub fn name(code: Code) -> String {
    format!("{code:?}").trim_start_matches("VEX_").trim_start_matches("EVEX_").to_lowercase()
}

/// Immediates worth trying: all that there are, if they are few.
pub fn immediates(code: Code) -> Vec<u64> {
    let name = name(code);
    match () {
        _ if name.starts_with("cmp") => (0..8).collect(),
        _ if name.starts_with("vcmp") => (0..32).collect(),
        _ if name.contains("round") => (0..16).collect(),
        _ if code.op_code().op_kinds().contains(&Kind::imm8) => (0..256).collect(),
        _ => vec![0x3ff0_0000_8000_0001],
    }
}
