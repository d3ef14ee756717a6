//! Formats of floats: what their bits say, and which bits are next to a number. One description for all six, so that
//! reading, rounding and comparing are written once.

use crate::mode::{Direction, Target};
use fpgrind_ir::Type;

/// How a format lays out its numbers. Exponents are of a significand in [1/2, 1), as MPFR has them.
pub struct Layout {
    /// Bits of the significand, with the first.
    pub digits: u32,
    /// Of the least normal number, and of the greatest.
    pub least: i64,
    pub greatest: i64,
}

pub const fn layout(ty: Type) -> Layout {
    match ty {
        Type::F16 => Layout { digits: 11, least: -13, greatest: 16 },
        Type::Bf16 => Layout { digits: 8, least: -125, greatest: 128 },
        Type::F32 => Layout { digits: 24, least: -125, greatest: 128 },
        Type::F80 => Layout { digits: 64, least: -16381, greatest: 16384 },
        Type::F128 => Layout { digits: 113, least: -16381, greatest: 16384 },
        _ => Layout { digits: 53, least: -1021, greatest: 1024 },
    }
}

/// Do the numbers of the first format all occur in the second?
pub fn is_within(inner: Type, outer: Type) -> bool {
    let (a, b) = (layout(inner), layout(outer));
    a.digits <= b.digits && a.greatest <= b.greatest
}

/// A float taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decoded {
    pub negative: bool,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Also what the x87 refuses as an operand: numbers without their first bit (Intel SDM, volume 1, table 8-3).
    Nan,
    Infinite,
    Zero,
    /// `significand / 2^128 * 2^exponent`; the significand's highest bit is set.
    Finite {
        exponent: i64,
        significand: u128,
    },
}

pub fn decode(ty: Type, bits: u128) -> Decoded {
    let Layout { digits, least, .. } = layout(ty);
    let width = 8 * ty.bytes() as u32;
    let negative = bits >> (width - 1) & 1 == 1;
    // The x87's significand has its first bit written out; elsewhere it follows from the exponent.
    let (stored, field) = if ty == Type::F80 { (64, 15) } else { (digits - 1, width - digits) };
    let exponent = (bits >> stored) as u64 & ((1 << field) - 1);
    let fraction = bits & (u128::MAX >> (128 - stored));
    let is_special = exponent == (1 << field) - 1;
    let (first_is_missing, significand) = match ty {
        Type::F80 => (exponent != 0 && fraction >> 63 == 0, fraction),
        _ => (false, fraction | ((exponent != 0) as u128) << stored),
    };
    let kind = if first_is_missing {
        Kind::Nan
    } else if is_special {
        let is_infinite = if ty == Type::F80 { fraction == 1 << 63 } else { fraction == 0 };
        if is_infinite { Kind::Infinite } else { Kind::Nan }
    } else if significand == 0 {
        Kind::Zero
    } else {
        let shift = significand.leading_zeros();
        let of_subnormals = least + 128 - digits as i64;
        let exponent = of_subnormals + exponent.max(1) as i64 - 1 - shift as i64;
        Kind::Finite { exponent, significand: significand << shift }
    };
    Decoded { negative, kind }
}

/// The first `keep` bits of a fraction as an integer, rounded. `more` says that digits follow those in `fraction`. A negative
/// `keep` stands for zeros in front.
pub fn round_at(fraction: u128, keep: i64, more: bool, negative: bool, direction: Direction) -> u128 {
    let (kept, lost) = match keep {
        ..0 => (0, (fraction != 0) as u128),
        0 => (0, fraction),
        1..128 => (fraction >> (128 - keep), fraction << keep),
        _ => (fraction, 0),
    };
    const TIE: u128 = 1 << 127;
    let up = match direction {
        Direction::Nearest => lost > TIE || lost == TIE && (more || kept & 1 == 1),
        Direction::Zero => false,
        Direction::Down => negative && (lost != 0 || more),
        Direction::Up => !negative && (lost != 0 || more),
    };
    kept + up as u128
}

/// The float next to `fraction / 2^128 * 2^exponent`, rounded once. The fraction's highest bit is set, and `more` says that digits
/// follow it.
pub fn encode(to: Target, negative: bool, exponent: i64, fraction: u128, more: bool) -> u128 {
    let Layout { digits, least, greatest } = layout(to.ty);
    let wanted = (to.digits as i64).min(digits as i64);
    // Below the least normal number each step down costs a digit. (Of those that precision control leaves, too: the x87 clears the same
    // bits of a subnormal significand as of a normal one.)
    let keep = wanted - (least - exponent).max(0);
    let rounded = round_at(fraction, keep, more, negative, to.direction);
    // The significand in units of the format's last digit, and the exponent that a carry may have raised.
    let (significand, exponent) = match rounded << (digits as i64 - wanted) {
        carried if carried >> digits != 0 => (carried >> 1, exponent + 1),
        significand => (significand, exponent.max(least)),
    };
    if exponent > greatest {
        let away = match to.direction {
            Direction::Nearest => true,
            Direction::Zero => false,
            Direction::Down => negative,
            Direction::Up => !negative,
        };
        return if away { infinity(to.ty, negative) } else { largest(to, negative) };
    }
    let is_normal = significand >> (digits - 1) != 0;
    let field = if is_normal { (exponent - least + 1) as u128 } else { 0 };
    signed(to.ty, negative, pack(to.ty, field, significand))
}

fn largest(to: Target, negative: bool) -> u128 {
    let Layout { digits, least, greatest } = layout(to.ty);
    let unused = digits - (to.digits as u32).min(digits);
    let significand = ((1u128 << digits) - 1) >> unused << unused;
    signed(to.ty, negative, pack(to.ty, (greatest - least + 1) as u128, significand))
}

fn pack(ty: Type, field: u128, significand: u128) -> u128 {
    match ty {
        Type::F80 => field << 64 | significand,
        _ => {
            let stored = layout(ty).digits - 1;
            field << stored | significand & ((1 << stored) - 1)
        }
    }
}

fn signed(ty: Type, negative: bool, magnitude: u128) -> u128 {
    magnitude | (negative as u128) << (8 * ty.bytes() - 1)
}

pub fn zero(ty: Type, negative: bool) -> u128 {
    signed(ty, negative, 0)
}

pub fn infinity(ty: Type, negative: bool) -> u128 {
    let Layout { least, greatest, .. } = layout(ty);
    signed(ty, negative, pack(ty, (greatest - least + 2) as u128, (ty == Type::F80) as u128 * (1 << 63)))
}

/// A quiet NaN.
pub fn nan(ty: Type) -> u128 {
    infinity(ty, false) | 1 << (layout(ty).digits - 2)
}

/// The nearest float of another format; NaNs lose their payload.
pub fn convert(from: Type, bits: u128, to: Target) -> u128 {
    let Decoded { negative, kind } = decode(from, bits);
    match kind {
        Kind::Nan => nan(to.ty),
        Kind::Infinite => infinity(to.ty, negative),
        Kind::Zero => zero(to.ty, negative),
        Kind::Finite { exponent, significand } => encode(to, negative, exponent, significand, false),
    }
}

/// The float next to an integer.
pub fn from_integer(value: i64, to: Target) -> u128 {
    if value == 0 {
        return zero(to.ty, false);
    }
    let shift = value.unsigned_abs().leading_zeros();
    let fraction = (value.unsigned_abs() as u128) << (64 + shift);
    encode(to, value < 0, 64 - shift as i64, fraction, false)
}

/// The integer next to a float, if it has no more than 65 bits.
pub fn to_integer(ty: Type, bits: u128, direction: Direction) -> Option<i128> {
    let Decoded { negative, kind } = decode(ty, bits);
    match kind {
        Kind::Zero => Some(0),
        Kind::Finite { exponent, significand } if exponent <= 64 => {
            let magnitude = round_at(significand, exponent, false, negative, direction) as i128;
            Some(if negative { -magnitude } else { magnitude })
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
