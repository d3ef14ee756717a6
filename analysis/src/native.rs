//! What the guest's CPU computes, bit for bit, on floats given by their bits: by SSE under the guest's MXCSR, by the x87 under its
//! control word. `sse` and `x87` run the very instructions; `narrow` has the formats of two bytes.

mod narrow;
mod sse;
mod x87;

pub use crate::mode::{CONTROL_DEFAULT, Direction, MXCSR_DEFAULT, Mode};
pub use x87::is_complete;

use crate::error;
use crate::format;
use crate::mode::is_x87;
use fpgrind_ir::{Operator, Outcome, Type};

/// The result of an instruction, or nothing if no instruction performs the operation. `from` is the arguments' type: it
/// differs from the result's in a cast only.
pub fn apply(operator: Operator, from: Type, ty: Type, args: &[u128], mode: Mode) -> Option<u128> {
    match (from, ty) {
        (Type::F32 | Type::F64, Type::F32 | Type::F64) => {
            // No operator has more than three arguments.
            let mut words = [0; 3];
            for (word, arg) in words.iter_mut().zip(args) {
                *word = *arg as u64;
            }
            let words = &words[..args.len().min(3)];
            sse::apply(operator, from, ty, words, mode.mxcsr).map(u128::from)
        }
        _ if is_x87(from, ty) => x87::apply(operator, from, ty, args, mode.control),
        _ => narrow::apply(operator, from, ty, args, mode),
    }
}

/// How ucomiss, ucomisd, fucomi and their like compare.
pub fn compare(ty: Type, a: u128, b: u128, mxcsr: u32) -> Outcome {
    match ty {
        Type::F32 | Type::F64 => {
            let of = |bits: u128| error::value(ty, sse::flush_input(ty, bits as u64, mxcsr) as u128);
            of(a).partial_cmp(&of(b)).into()
        }
        _ => error::compare(ty, a, b).into(),
    }
}

/// What a conversion to an integer of so many bytes yields. What does not fit becomes the "integer indefinite", the most negative number,
/// or the greatest if it is to have no sign (SDM, CVTTSD2SI, FIST and VCVTTSD2USI).
pub fn to_integer(ty: Type, bits: u128, direction: Direction, bytes: u8, signed: bool, mxcsr: u32) -> i128 {
    let bits = match ty {
        Type::F32 | Type::F64 => sse::flush_input(ty, bits as u64, mxcsr) as u128,
        _ => bits,
    };
    fit(format::to_integer(ty, bits, direction), bytes, signed)
}

/// An integer as a conversion leaves it in so many bytes.
pub fn fit(integer: Option<i128>, bytes: u8, signed: bool) -> i128 {
    let bits = 8 * bytes.min(8) as u32;
    let (least, greatest) = if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let indefinite = if signed { least } else { greatest };
    integer.filter(|integer| (least..=greatest).contains(integer)).unwrap_or(indefinite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_to_integers_give_the_indefinite_when_out_of_range() {
        let convert = |value: f64, direction, bytes, signed| {
            to_integer(Type::F64, value.to_bits() as u128, direction, bytes, signed, MXCSR_DEFAULT)
        };
        assert_eq!(convert(-2.7, Direction::Zero, 4, true), -2);
        assert_eq!(convert(2.5, Direction::Nearest, 8, true), 2);
        assert_eq!(convert(3e9, Direction::Zero, 4, true), i32::MIN as i128);
        assert_eq!(convert(3e9, Direction::Zero, 8, true), 3_000_000_000);
        assert_eq!(convert(f64::NAN, Direction::Zero, 8, true), i64::MIN as i128);
        assert_eq!(convert(2f64.powi(63), Direction::Zero, 8, true), i64::MIN as i128);
        assert_eq!(convert(40000.0, Direction::Zero, 2, true), i16::MIN as i128);
        assert_eq!(convert(2f64.powi(63), Direction::Zero, 8, false), 1 << 63);
        assert_eq!(convert(-0.7, Direction::Zero, 8, false), 0);
        assert_eq!(convert(-1.0, Direction::Zero, 4, false), u32::MAX as i128);
    }
}
