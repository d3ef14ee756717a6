//! Floats of two bytes. What instructions compute on them is told by the log; here are conversions, what changes only the sign, and
//! selections. All else is rounded from the reals.

use super::sse::flush_input;
use crate::error;
use crate::format::{self, Kind};
use crate::mode::{Mode, Target};
use fpgrind_ir::{Operator, Type};

pub fn apply(operator: Operator, from: Type, ty: Type, args: &[u128], mode: Mode) -> Option<u128> {
    let sign = 1 << (8 * ty.bytes() - 1);
    match (operator, args) {
        (Operator::Cast, [a]) => Some(cast(from, ty, *a, mode)),
        _ if from != ty => None,
        (Operator::Neg, [a]) => Some(a ^ sign),
        (Operator::Abs, [a]) => Some(a & !sign),
        (Operator::Copysign, [a, b]) => Some(a & !sign | b & sign),
        // The second operand in doubt, as in the wider formats.
        (Operator::Min, [a, b]) => Some(if error::compare(ty, *a, *b).is_some_and(|o| o.is_lt()) { *a } else { *b }),
        (Operator::Max, [a, b]) => Some(if error::compare(ty, *a, *b).is_some_and(|o| o.is_gt()) { *a } else { *b }),
        _ => None,
    }
}

/// Two-byte numbers are never flushed to zero, but singles and doubles on the way to them are (SDM, VCVTPS2PH).
fn cast(from: Type, ty: Type, bits: u128, mode: Mode) -> u128 {
    let bits = match from {
        Type::F32 | Type::F64 => flush_input(from, bits as u64, mode.mxcsr) as u128,
        _ => bits,
    };
    if format::decode(from, bits).kind == Kind::Nan {
        return nan(from, ty, bits);
    }
    format::convert(from, bits, Target { direction: mode.direction(from, ty), ..Target::nearest(ty) })
}

/// A NaN keeps its sign and the upper bits of its payload, and becomes quiet.
fn nan(from: Type, ty: Type, bits: u128) -> u128 {
    let [stored, wanted] = [from, ty].map(|ty| format::layout(ty).digits - 1);
    let negative = bits >> (8 * from.bytes() - 1) & 1;
    let payload = (bits & ((1 << stored) - 1)) << 64 >> stored << wanted >> 64;
    format::nan(ty) | payload | negative << (8 * ty.bytes() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast(from: Type, ty: Type, bits: u32) -> u128 {
        apply(Operator::Cast, from, ty, &[bits as u128], Mode::default()).unwrap()
    }

    #[test]
    fn halves_become_singles_and_back() {
        if !is_x86_feature_detected!("f16c") {
            return;
        }
        for half in 0..=u16::MAX {
            let expected = unsafe { widened(half) };
            assert_eq!(cast(Type::F16, Type::F32, half as u32) as u32, expected, "{half:#x}");
            for single in [expected, expected.wrapping_add(0x1000), expected.wrapping_add(0x1001), expected ^ 0x7f] {
                let expected = unsafe { narrowed(single) };
                assert_eq!(cast(Type::F32, Type::F16, single) as u16, expected, "{single:#x}");
            }
        }
    }

    #[target_feature(enable = "f16c")]
    unsafe fn widened(half: u16) -> u32 {
        let result = std::arch::x86_64::_mm_cvtph_ps(std::arch::x86_64::_mm_cvtsi32_si128(half as i32));
        std::arch::x86_64::_mm_cvtsi128_si32(std::arch::x86_64::_mm_castps_si128(result)) as u32
    }

    #[target_feature(enable = "f16c")]
    unsafe fn narrowed(single: u32) -> u16 {
        let value = std::arch::x86_64::_mm_castsi128_ps(std::arch::x86_64::_mm_cvtsi32_si128(single as i32));
        std::arch::x86_64::_mm_cvtsi128_si32(std::arch::x86_64::_mm_cvtps_ph::<4>(value)) as u16
    }

    #[test]
    fn brain_floats_are_the_upper_halves_of_singles() {
        assert_eq!(cast(Type::Bf16, Type::F32, 0x3f80), 0x3f80_0000);
        assert_eq!(cast(Type::F32, Type::Bf16, 0x3f80_8000), 0x3f80);
        assert_eq!(cast(Type::F32, Type::Bf16, 0x3f81_8000), 0x3f82);
        assert_eq!(cast(Type::F32, Type::Bf16, 0xffa0_0000), 0xffe0);
    }
}
