//! What governs how the CPU rounds: MXCSR for SSE arithmetic, the control word for the x87's, and what an instruction says itself.

use fpgrind_ir::{Operator, Rounding, Type};

/// MXCSR at process start: everything masked, to nearest (SDM volume 1, 10.2.3).
pub const MXCSR_DEFAULT: u32 = 0x1f80;
/// The x87's control word at process start on Linux: everything masked, to nearest, 64 digits.
pub const CONTROL_DEFAULT: u16 = 0x37f;
/// Denormals are zeros.
pub const DAZ: u32 = 1 << 6;
/// Flush to zero.
pub const FTZ: u32 = 1 << 15;
pub const MXCSR_ROUNDING: u32 = 13;
/// The bits of MXCSR that change results; the others are exception flags and masks.
pub const MXCSR_MATTERS: u32 = DAZ | FTZ | 3 << MXCSR_ROUNDING;
const CONTROL_ROUNDING: u32 = 10;
const CONTROL_PRECISION: u32 = 8;

/// Where to round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Nearest,
    Down,
    Up,
    Zero,
}

impl Direction {
    /// Rounding control, in both units (SDM volume 1, table 4-8).
    fn from_control(bits: u32) -> Direction {
        match bits & 3 {
            0 => Direction::Nearest,
            1 => Direction::Down,
            2 => Direction::Up,
            _ => Direction::Zero,
        }
    }
}

/// A format to round to, the direction, and how many digits: fewer than the format has if the x87's precision control says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    pub ty: Type,
    pub direction: Direction,
    pub digits: u8,
}

impl Target {
    pub const fn nearest(ty: Type) -> Target {
        Target { ty, direction: Direction::Nearest, digits: crate::format::layout(ty).digits as u8 }
    }
}

/// The state of both units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    pub mxcsr: u32,
    pub control: u16,
}

impl Default for Mode {
    fn default() -> Mode {
        Mode { mxcsr: MXCSR_DEFAULT, control: CONTROL_DEFAULT }
    }
}

impl Mode {
    pub fn of_mxcsr(mxcsr: u32) -> Mode {
        Mode { mxcsr, ..Mode::default() }
    }

    /// With the rounding that an instruction asks for itself.
    pub fn with(self, rounding: Rounding) -> Mode {
        let bits = match rounding {
            Rounding::Current => return self,
            Rounding::Nearest => 0,
            Rounding::Down => 1,
            Rounding::Up => 2,
            Rounding::Truncate => 3,
        };
        Mode {
            mxcsr: self.mxcsr & !(3 << MXCSR_ROUNDING) | bits << MXCSR_ROUNDING,
            control: self.control & !(3 << CONTROL_ROUNDING) | (bits as u16) << CONTROL_ROUNDING,
        }
    }

    pub fn flushes(self) -> bool {
        self.mxcsr & (FTZ | DAZ) != 0
    }

    pub fn without_flushing(self) -> Mode {
        Mode { mxcsr: self.mxcsr & !(FTZ | DAZ), ..self }
    }

    /// How an operation on floats of one format rounds to another: as the x87 does if it is its format on either side.
    pub fn direction(self, from: Type, ty: Type) -> Direction {
        Direction::from_control(match is_x87(from, ty) {
            true => self.control as u32 >> CONTROL_ROUNDING,
            false => self.mxcsr >> MXCSR_ROUNDING,
        })
    }

    /// What the result of an operation is rounded to.
    pub fn target(self, operator: Operator, from: Type, ty: Type) -> Target {
        if self.mxcsr >> MXCSR_ROUNDING & 3 == 0 && from == Type::F64 && ty == Type::F64 {
            return const { Target::nearest(Type::F64) };
        }
        let target = Target { direction: self.direction(from, ty), ..Target::nearest(ty) };
        // Only these obey precision control (SDM volume 1, 8.1.5.2).
        let obeys = matches!(operator, Operator::Add | Operator::Sub | Operator::Mul | Operator::Div | Operator::Sqrt);
        match self.control >> CONTROL_PRECISION & 3 {
            0 if ty == Type::F80 && obeys => Target { digits: 24, ..target },
            2 if ty == Type::F80 && obeys => Target { digits: 53, ..target },
            _ => target,
        }
    }
}

pub fn is_x87(from: Type, ty: Type) -> bool {
    from == Type::F80 || ty == Type::F80
}
