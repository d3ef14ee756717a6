use super::*;
use crate::format;
use crate::mode::{CONTROL_DEFAULT, Direction, Target};
use crate::mpfr::Mpfr;
use crate::real::Real;
use proptest::prelude::*;

const DOUBLE: u16 = 0x27f;
const SINGLE: u16 = 0x7f;
const UP: u16 = CONTROL_DEFAULT | 2 << 10;

fn long(value: f64) -> u128 {
    format::convert(Type::F64, value.to_bits() as u128, Target::nearest(Type::F80))
}

fn run(operator: Operator, args: &[f64], control: u16) -> u128 {
    let args: Vec<u128> = args.iter().map(|arg| long(*arg)).collect();
    apply(operator, Type::F80, Type::F80, &args, control).unwrap()
}

#[test]
fn operands_are_in_their_order() {
    use Operator::*;
    for (operator, args, expected) in [
        (Add, &[5.0, 3.0][..], 8.0),
        (Sub, &[5.0, 3.0], 2.0),
        (Mul, &[5.0, 3.0], 15.0),
        (Div, &[6.0, 3.0], 2.0),
        (Sqrt, &[9.0], 3.0),
        (Neg, &[2.0], -2.0),
        (Abs, &[-2.0], 2.0),
        (Nearbyint, &[2.5], 2.0),
        (Floor, &[-2.5], -3.0),
        (Ceil, &[-2.5], -2.0),
        (Trunc, &[-2.5], -2.0),
        (Fmod, &[7.5, 2.0], 1.5),
        (Fmod, &[-7.5, 2.0], -1.5),
        (Remainder, &[7.5, 2.0], -0.5),
        (Logb, &[10.0], 3.0),
        (Fscale, &[3.0, -1.7], 1.5),
        (Exp2m1, &[1.0], 1.0),
        (Yl2x, &[3.0, 8.0], 9.0),
        (Yl2xp1, &[3.0, 0.0], 0.0),
        (Atan2, &[0.0, 1.0], 0.0),
        (Sin, &[0.0], 0.0),
        (Cos, &[0.0], 1.0),
        (Tan, &[0.0], 0.0),
        (Copysign, &[3.0, -1.0], -3.0),
    ] {
        assert_eq!(run(operator, args, CONTROL_DEFAULT), long(expected), "{operator:?} {args:?}");
    }
    // The angle of (0, -1): y comes first.
    assert_eq!(run(Atan2, &[0.0, -1.0], CONTROL_DEFAULT), 0x4000_c90f_daa2_2168_c235);
}

#[test]
fn precision_and_rounding_control_count_and_ours_is_put_back() {
    assert_eq!(run(Operator::Div, &[1.0, 3.0], CONTROL_DEFAULT), 0x3ffd_aaaa_aaaa_aaaa_aaab);
    assert_eq!(run(Operator::Div, &[1.0, 3.0], DOUBLE), 0x3ffd_aaaa_aaaa_aaaa_a800);
    assert_eq!(run(Operator::Div, &[1.0, 3.0], SINGLE), 0x3ffd_aaaa_ab00_0000_0000);
    assert_eq!(run(Operator::Div, &[1.0, 3.0], UP), 0x3ffd_aaaa_aaaa_aaaa_aaab);
    assert_eq!(run(Operator::Div, &[-1.0, 3.0], UP), 0xbffd_aaaa_aaaa_aaaa_aaaa);
    assert_eq!(run(Operator::Nearbyint, &[2.25], UP), long(3.0));
    let mut control: u16 = 0;
    // SAFETY: stores the control word.
    unsafe { asm!("fnstcw [{}]", in(reg) &mut control) };
    assert_eq!(control, CONTROL_DEFAULT);
}

#[test]
fn an_invalid_operand_makes_the_default_nan() {
    let unnormal = 0x3fff_0000_0000_0000_0001;
    let sum = apply(Operator::Add, Type::F80, Type::F80, &[unnormal, long(1.0)], CONTROL_DEFAULT);
    assert_eq!(sum, Some(0xffff_c000_0000_0000_0000));
    assert_eq!(run(Operator::Sqrt, &[-1.0], CONTROL_DEFAULT), 0xffff_c000_0000_0000_0000);
}

#[test]
fn what_is_left_undone_is_known() {
    assert!(is_complete(Operator::Fmod, &[long(1e10), long(3.0)]));
    assert!(!is_complete(Operator::Fmod, &[long(1e300), long(3.0)]));
    assert!(!is_complete(Operator::Remainder, &[long(1e300), long(3.0)]));
    assert!(is_complete(Operator::Sin, &[long(1e18)]) && !is_complete(Operator::Sin, &[long(1e19)]));
    assert_eq!(run(Operator::Sin, &[1e19], CONTROL_DEFAULT), long(1e19));
    assert_eq!(run(Operator::Tan, &[-1e19], CONTROL_DEFAULT), long(-1e19));
}

/// Long doubles of all kinds, most of them numbers of moderate size.
fn any_long() -> impl Strategy<Value = u128> {
    prop_oneof![
        (any::<u64>(), 0x3fc0u128..0x4040, any::<bool>())
            .prop_map(|(fraction, exponent, negative)| (negative as u128) << 79
                | exponent << 64
                | (fraction | 1 << 63) as u128),
        any::<u128>().prop_map(|bits| bits & (u128::MAX >> 48)),
        any::<u64>().prop_map(u128::from),
    ]
}

proptest! {
    #[test]
    fn arithmetic_is_the_reals_rounded_once(a in any_long(), b in any_long(), precision in 0u16..4, rounding in 0u16..4) {
        prop_assume!(precision != 1);
        let mode = Mode { control: 0x7f | precision << 8 | rounding << 10, ..Mode::default() };
        let [x, y] = [a, b].map(|bits| Mpfr::exactly(1024, crate::Number::new(Type::F80, bits)));
        for operator in [Operator::Add, Operator::Sub, Operator::Mul, Operator::Div] {
            let native = apply(operator, Type::F80, Type::F80, &[a, b], mode.control).unwrap();
            let target = mode.target(operator, Type::F80, Type::F80);
            let rounded = Mpfr::apply(operator, &[&x, &y]).rounded(target);
            // Sums of numbers that lie more than 1000 digits apart, and quotients, are not exact before they are rounded.
            let is_nan = |bits| format::decode(Type::F80, bits).kind == format::Kind::Nan;
            let close = target.direction != Direction::Nearest && crate::error::ulps_of(target, native, rounded) <= 1;
            let zeros = (native | rounded) << 49 == 0;
            prop_assert!(
                native == rounded || is_nan(native) && is_nan(rounded) || close || zeros,
                "{:?} {:#x} {:#x}: {:#x}, {:#x}", operator, a, b, native, rounded
            );
        }
    }

    #[test]
    fn casts_are_those_of_every_format(a in any_long(), rounding in 0u16..4) {
        let control = CONTROL_DEFAULT | rounding << 10;
        let mode = Mode { control, ..Mode::default() };
        for ty in [Type::F32, Type::F64] {
            let native = apply(Operator::Cast, Type::F80, ty, &[a], control).unwrap();
            let target = mode.target(Operator::Cast, Type::F80, ty);
            let is_nan = format::decode(ty, native).kind == format::Kind::Nan;
            let expected = format::convert(Type::F80, a, target);
            prop_assert!(native == expected || is_nan && format::decode(Type::F80, a).kind == format::Kind::Nan);
            let back = apply(Operator::Cast, ty, Type::F80, &[native], control).unwrap();
            prop_assert!(is_nan || back == format::convert(ty, native, Target::nearest(Type::F80)));
        }
    }
}
