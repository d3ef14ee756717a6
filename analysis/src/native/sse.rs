//! SSE arithmetic on floats given by their bits, under the guest's MXCSR.
//!
//! NaN results follow the Intel SDM, volume 1, table 4-7: the first operand that is a NaN, made quiet, else the second;
//! and the default NaN if no operand is one. Rust leaves NaN bits open, so they are decided here by hand.

use crate::mode::{DAZ, Direction, MXCSR_DEFAULT, MXCSR_MATTERS, Mode};
use fpgrind_ir::{Operator, Type};
use std::arch::asm;

/// Runs one instruction under another MXCSR. The exceptions stay masked whatever the guest says: a trap would be ours.
///
/// Sound because MXCSR is put back before the block ends, so compiled code never sees another rounding mode.
macro_rules! under_mxcsr {
    ($mxcsr:expr, $instruction:literal, $($operand:tt)*) => {{
        let guest: u32 = ($mxcsr & MXCSR_MATTERS) | MXCSR_DEFAULT;
        let mut ours: u32 = 0;
        // SAFETY: the instruction works on registers alone; MXCSR is saved before and restored after it.
        unsafe {
            asm!(
                "stmxcsr [{ours}]",
                "ldmxcsr [{guest}]",
                $instruction,
                "ldmxcsr [{ours}]",
                ours = in(reg) &mut ours,
                guest = in(reg) &guest,
                $($operand)*,
                options(nostack),
            );
        }
    }};
}

/// The result of an instruction, or nothing if no instruction performs the operation.
pub fn apply(operator: Operator, from: Type, ty: Type, args: &[u64], mxcsr: u32) -> Option<u64> {
    match (from, ty) {
        (Type::F32, Type::F32) => f32::apply(operator, args, mxcsr),
        (Type::F64, Type::F64) => f64::apply(operator, args, mxcsr),
        (Type::F32, Type::F64) if operator == Operator::Cast => Some(widen(*args.first()? as u32, mxcsr)),
        (Type::F64, Type::F32) if operator == Operator::Cast => Some(narrow(*args.first()?, mxcsr) as u64),
        _ => None,
    }
}

/// An input as the instruction sees it.
pub fn flush_input(ty: Type, bits: u64, mxcsr: u32) -> u64 {
    if mxcsr & DAZ == 0 {
        return bits;
    }
    let (exponent, sign) = match ty {
        Type::F32 => (0x7f80_0000, 0x8000_0000),
        _ => (0x7ff0_0000_0000_0000, 1 << 63),
    };
    if bits & exponent == 0 { bits & sign } else { bits }
}

/// Conversions of NaNs keep the sign and the upper bits of the payload, and make them quiet (SDM volume 1, 4.8.3.4 and
/// CVTSD2SS).
fn widen(bits: u32, mxcsr: u32) -> u64 {
    let value = f32::from_bits(flush_input(Type::F32, bits as u64, mxcsr) as u32);
    if value.is_nan() {
        let sign = (bits as u64 >> 31) << 63;
        return sign | 0x7ff8_0000_0000_0000 | (bits as u64 & 0x7f_ffff) << 29;
    }
    (value as f64).to_bits()
}

fn narrow(bits: u64, mxcsr: u32) -> u32 {
    let value = f64::from_bits(bits);
    if value.is_nan() {
        let sign = (bits >> 63) << 31;
        return (sign | 0x7fc0_0000 | bits >> 29 & 0x3f_ffff) as u32;
    }
    if mxcsr & MXCSR_MATTERS == 0 {
        return (value as f32).to_bits();
    }
    let result: f32;
    under_mxcsr!(mxcsr, "cvtsd2ss {result}, {value}", result = out(xmm_reg) result, value = in(xmm_reg) value);
    result.to_bits()
}

macro_rules! implement {
    ($float:ident, $bits:ident, $ty:expr, $quiet:literal, $default_nan:literal, $add:literal, $sub:literal, $mul:literal,
     $div:literal, $sqrt:literal, $fma:literal) => {
        impl Format for $float {
            fn apply(operator: Operator, args: &[u64], mxcsr: u32) -> Option<u64> {
                let nan = args.iter().map(|arg| *arg as $bits).find(|arg| $float::from_bits(*arg).is_nan());
                let flush = |bits: &u64| $float::from_bits(flush_input($ty, *bits, mxcsr) as $bits);
                let plain = mxcsr & MXCSR_MATTERS == 0;
                let result: $float = match (operator, args) {
                    // These touch the sign alone, even of NaNs: they are done by logic instructions.
                    (Operator::Neg, [a]) => return Some((*a as $bits ^ 1 << ($bits::BITS - 1)) as u64),
                    (Operator::Abs, [a]) => return Some((*a as $bits & !(1 << ($bits::BITS - 1))) as u64),
                    (Operator::Copysign, [a, b]) => {
                        let sign = 1 << ($bits::BITS - 1);
                        return Some((*a as $bits & !sign | *b as $bits & sign) as u64);
                    }
                    // The second operand if either is NaN or both are zeros (SDM, MINSD and MAXSD).
                    (Operator::Min, [a, b]) => {
                        return Some(if flush(a) < flush(b) { flush(a).to_bits() as u64 } else { flush_input($ty, *b, mxcsr) });
                    }
                    (Operator::Max, [a, b]) => {
                        return Some(if flush(a) > flush(b) { flush(a).to_bits() as u64 } else { flush_input($ty, *b, mxcsr) });
                    }
                    (
                        Operator::Add | Operator::Sub | Operator::Mul | Operator::Div | Operator::Sqrt | Operator::Fma
                        | Operator::Fms | Operator::Fnma | Operator::Fnms | Operator::Floor | Operator::Ceil
                        | Operator::Trunc | Operator::Round | Operator::Nearbyint | Operator::RoundEven,
                        _,
                    ) if args.len() == operator.arity() && nan.is_some() => {
                        return nan.map(|nan| (nan | $quiet) as u64);
                    }
                    (Operator::Cast, [a]) => return Some(*a),
                    (Operator::Floor, [a]) => flush(a).floor(),
                    (Operator::Ceil, [a]) => flush(a).ceil(),
                    (Operator::Trunc, [a]) => flush(a).trunc(),
                    (Operator::Round, [a]) => flush(a).round(),
                    (Operator::RoundEven, [a]) => flush(a).round_ties_even(),
                    (Operator::Nearbyint, [a]) => match Mode::of_mxcsr(mxcsr).direction($ty, $ty) {
                        Direction::Nearest => flush(a).round_ties_even(),
                        Direction::Down => flush(a).floor(),
                        Direction::Up => flush(a).ceil(),
                        Direction::Zero => flush(a).trunc(),
                    },
                    (_, [a]) => {
                        let a = $float::from_bits(*a as $bits);
                        match operator {
                            Operator::Sqrt if plain => a.sqrt(),
                            Operator::Sqrt => {
                                let result: $float;
                                under_mxcsr!(mxcsr, $sqrt, result = out(xmm_reg) result, a = in(xmm_reg) a);
                                result
                            }
                            _ => return None,
                        }
                    }
                    (_, [a, b]) => {
                        let (mut a, b) = ($float::from_bits(*a as $bits), $float::from_bits(*b as $bits));
                        match operator {
                            Operator::Add if plain => a + b,
                            Operator::Sub if plain => a - b,
                            Operator::Mul if plain => a * b,
                            Operator::Div if plain => a / b,
                            Operator::Add => {
                                under_mxcsr!(mxcsr, $add, a = inout(xmm_reg) a, b = in(xmm_reg) b);
                                a
                            }
                            Operator::Sub => {
                                under_mxcsr!(mxcsr, $sub, a = inout(xmm_reg) a, b = in(xmm_reg) b);
                                a
                            }
                            Operator::Mul => {
                                under_mxcsr!(mxcsr, $mul, a = inout(xmm_reg) a, b = in(xmm_reg) b);
                                a
                            }
                            Operator::Div => {
                                under_mxcsr!(mxcsr, $div, a = inout(xmm_reg) a, b = in(xmm_reg) b);
                                a
                            }
                            _ => return None,
                        }
                    }
                    (Operator::Fma | Operator::Fms | Operator::Fnma | Operator::Fnms, [a, b, c]) => {
                        // NaNs, which keep their sign, are dealt with above.
                        let negated = operator.traced().1;
                        let signed = |index: usize, bits: &u64| {
                            let value = $float::from_bits(*bits as $bits);
                            if negated[index] { -value } else { value }
                        };
                        let (mut a, b, c) = (signed(0, a), signed(1, b), signed(2, c));
                        // A machine without FMA has no guest that asks for it under a strange MXCSR.
                        if plain || !is_x86_feature_detected!("fma") {
                            a.mul_add(b, c)
                        } else {
                            under_mxcsr!(mxcsr, $fma, a = inout(xmm_reg) a, b = in(xmm_reg) b, c = in(xmm_reg) c);
                            a
                        }
                    }
                    _ => return None,
                };
                Some(if result.is_nan() { $default_nan } else { result.to_bits() as u64 })
            }
        }
    };
}

trait Format {
    fn apply(operator: Operator, args: &[u64], mxcsr: u32) -> Option<u64>;
}

implement!(
    f32,
    u32,
    Type::F32,
    0x0040_0000,
    0xffc0_0000,
    "addss {a}, {b}",
    "subss {a}, {b}",
    "mulss {a}, {b}",
    "divss {a}, {b}",
    "sqrtss {result}, {a}",
    "vfmadd213ss {a}, {b}, {c}"
);
implement!(
    f64,
    u64,
    Type::F64,
    0x0008_0000_0000_0000,
    0xfff8_0000_0000_0000,
    "addsd {a}, {b}",
    "subsd {a}, {b}",
    "mulsd {a}, {b}",
    "divsd {a}, {b}",
    "sqrtsd {result}, {a}",
    "vfmadd213sd {a}, {b}, {c}"
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::{FTZ, MXCSR_ROUNDING};
    use proptest::prelude::*;

    const DOWN: u32 = MXCSR_DEFAULT | 1 << MXCSR_ROUNDING;
    const UP: u32 = MXCSR_DEFAULT | 2 << MXCSR_ROUNDING;

    fn double(operator: Operator, args: &[f64], mxcsr: u32) -> u64 {
        let bits: Vec<u64> = args.iter().map(|arg| arg.to_bits()).collect();
        apply(operator, Type::F64, Type::F64, &bits, mxcsr).unwrap()
    }

    #[test]
    fn an_invalid_operation_yields_the_default_nan() {
        assert_eq!(double(Operator::Div, &[0.0, 0.0], MXCSR_DEFAULT), 0xfff8_0000_0000_0000);
        assert_eq!(double(Operator::Sqrt, &[-1.0], UP), 0xfff8_0000_0000_0000);
        let zero = [0, 0];
        assert_eq!(apply(Operator::Div, Type::F32, Type::F32, &zero, MXCSR_DEFAULT), Some(0xffc0_0000));
    }

    #[test]
    fn minimum_and_maximum_prefer_the_second_operand_in_doubt() {
        assert_eq!(double(Operator::Min, &[f64::NAN, 1.0], MXCSR_DEFAULT), 1f64.to_bits());
        assert!(f64::from_bits(double(Operator::Min, &[1.0, f64::NAN], MXCSR_DEFAULT)).is_nan());
        assert_eq!(double(Operator::Max, &[0.0, -0.0], MXCSR_DEFAULT), (-0f64).to_bits());
    }

    #[test]
    fn halves_go_away_from_zero_or_to_even_and_signs_are_copied_even_to_nans() {
        assert_eq!(double(Operator::Round, &[-2.5], UP), (-3f64).to_bits());
        assert_eq!(double(Operator::Nearbyint, &[-2.5], MXCSR_DEFAULT), (-2f64).to_bits());
        assert_eq!(double(Operator::Copysign, &[3.0, -0.0], MXCSR_DEFAULT), (-3f64).to_bits());
        let [nan, minus] = [0x7fa0_0001, 0x8000_0000];
        assert_eq!(apply(Operator::Copysign, Type::F32, Type::F32, &[nan, minus], UP), Some(nan | minus));
    }

    #[test]
    fn the_rounding_mode_and_flushing_count() {
        let third_down = f64::from_bits(double(Operator::Div, &[1.0, 3.0], DOWN));
        let third_up = f64::from_bits(double(Operator::Div, &[1.0, 3.0], UP));
        assert_eq!(third_up.to_bits(), third_down.to_bits() + 1);
        let tiny = f64::MIN_POSITIVE;
        assert_eq!(double(Operator::Mul, &[tiny, -0.5], MXCSR_DEFAULT | FTZ), (-0f64).to_bits());
        assert_eq!(double(Operator::Add, &[tiny / 2.0, 0.0], MXCSR_DEFAULT | DAZ), 0);
        assert_eq!(double(Operator::Fma, &[1.0, 1.0, 1e-30], UP), (1.0 + f64::EPSILON).to_bits());
        assert_eq!(
            apply(Operator::Cast, Type::F64, Type::F32, &[(1.0 + f64::EPSILON).to_bits()], UP),
            Some((1.0 + f32::EPSILON).to_bits() as u64)
        );
        // Ours is as it was.
        assert_eq!(std::hint::black_box(1.0) / std::hint::black_box(3.0), 1.0 / 3.0);
    }

    #[test]
    fn fused_operations_negate_numbers_and_not_nans() {
        let [a, b, c] = [3.0, 5.0, 7.0];
        let fused = [(Operator::Fma, 22.0), (Operator::Fms, 8.0), (Operator::Fnma, -8.0), (Operator::Fnms, -22.0)];
        for (operator, expected) in fused {
            for mxcsr in [MXCSR_DEFAULT, DOWN] {
                assert_eq!(double(operator, &[a, b, c], mxcsr), f64::to_bits(expected));
                assert_eq!(double(operator, &[a, b, f64::NAN], mxcsr), f64::NAN.to_bits());
            }
        }
    }

    #[test]
    fn only_one_of_two_roundings_to_an_integer_follows_mxcsr() {
        assert_eq!(double(Operator::Nearbyint, &[2.5], MXCSR_DEFAULT), 2f64.to_bits());
        assert_eq!(double(Operator::Nearbyint, &[2.5], UP), 3f64.to_bits());
        assert_eq!(double(Operator::RoundEven, &[2.5], UP), 2f64.to_bits());
        assert_eq!(double(Operator::Trunc, &[-2.5], DOWN), (-2f64).to_bits());
    }

    #[test]
    fn nan_payloads_survive_casts_quietly() {
        assert_eq!(
            apply(Operator::Cast, Type::F32, Type::F64, &[0xff80_0001], MXCSR_DEFAULT),
            Some(0xfff8_0000_2000_0000)
        );
        assert_eq!(
            apply(Operator::Cast, Type::F64, Type::F32, &[0x7ff0_0000_2000_0001], MXCSR_DEFAULT),
            Some(0x7fc0_0001)
        );
    }

    /// The instruction itself, as the truth.
    fn addsd(a: u64, b: u64) -> u64 {
        let mut a = f64::from_bits(a);
        // SAFETY: an addition of registers.
        unsafe { asm!("addsd {a}, {b}", a = inout(xmm_reg) a, b = in(xmm_reg) f64::from_bits(b)) };
        a.to_bits()
    }

    fn cvtsd2ss(a: u64) -> u32 {
        let result: f32;
        // SAFETY: a conversion between registers.
        unsafe { asm!("cvtsd2ss {r}, {a}", r = out(xmm_reg) result, a = in(xmm_reg) f64::from_bits(a)) };
        result.to_bits()
    }

    fn special() -> impl Strategy<Value = u64> {
        prop_oneof![
            any::<u64>(),
            Just(0x7ff0_0000_0000_0001),
            Just(0xfff8_0000_0000_0007),
            Just(0x7ff0_0000_0000_0000),
            Just(1)
        ]
    }

    proptest! {
        #[test]
        fn additions_and_narrowings_match_the_instruction_bit_for_bit(a in special(), b in special()) {
            prop_assert_eq!(apply(Operator::Add, Type::F64, Type::F64, &[a, b], MXCSR_DEFAULT), Some(addsd(a, b)));
            prop_assert_eq!(apply(Operator::Cast, Type::F64, Type::F32, &[a], MXCSR_DEFAULT), Some(cvtsd2ss(a) as u64));
        }
    }
}
