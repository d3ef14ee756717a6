//! Arithmetic by hand must be MPFR's to the last digit.

use super::*;
use proptest::prelude::*;

/// Limbs that are likely to meet: carries go through ones, ties end in a one and zeros.
fn limb() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => any::<u64>(),
        3 => Just(0),
        2 => Just(u64::MAX),
        1 => Just(1),
        1 => Just(1 << 63),
        1 => Just((1 << 63) - 1),
        1 => (0..64u32).prop_map(|bit| 1 << bit),
        1 => (0..64u32).prop_map(|bit| u64::MAX << bit),
    ]
}

fn number() -> impl Strategy<Value = Mpfr> {
    let near = -6..6i64;
    let exponent = prop_oneof![
        4 => near,
        4 => -330..330i64,
        1 => -MAX_EXPONENT..=MAX_EXPONENT,
        1 => prop::sample::select(vec![-MAX_EXPONENT, 1 - MAX_EXPONENT, MAX_EXPONENT - 1, MAX_EXPONENT]),
    ];
    let finite =
        (any::<bool>(), exponent, prop::array::uniform4(limb())).prop_map(|(negative, exponent, mut limbs)| {
            limbs[3] |= 1 << 63;
            let mut real = Mpfr::zero(FOUR);
            real.four = Four { precision: FOUR, sign: if negative { -1 } else { 1 }, exponent, limbs };
            real
        });
    let special = prop::sample::select(vec![0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    prop_oneof![12 => finite, 1 => special.prop_map(|value| Mpfr::exactly(FOUR, value))]
}

/// A number and another like it: with another exponent, other digits, another sign.
fn like((a, by, limbs, flips): (Mpfr, i64, [u64; 4], bool)) -> (Mpfr, Mpfr) {
    let mut b = a.clone();
    let four = &mut b.four;
    if four.is_usual() {
        four.exponent = (four.exponent + by).clamp(-MAX_EXPONENT, MAX_EXPONENT);
        four.sign *= if flips { -1 } else { 1 };
        for (limb, change) in four.limbs.iter_mut().zip(limbs) {
            *limb ^= change;
        }
        four.limbs[3] |= 1 << 63;
    }
    (a, b)
}

/// Another number, often one that differs from the first in the last digits, or is as far away as a digit more or less matters.
fn pair() -> impl Strategy<Value = (Mpfr, Mpfr)> {
    let by = prop_oneof![Just(0), Just(1), -2..3i64, 60..70i64, 124..132i64, 188..196i64, 250..262i64, 315..325i64];
    let by = (by, any::<bool>()).prop_map(|(by, down)| if down { -by } else { by });
    let change = prop_oneof![Just([0; 4]), (0..256usize).prop_map(one_bit), prop::array::uniform4(limb())];
    prop_oneof![(number(), number()), (number(), by, change, any::<bool>()).prop_map(like)]
}

fn one_bit(number: usize) -> [u64; 4] {
    std::array::from_fn(|limb| if limb == number / 64 { 1 << (number % 64) } else { 0 })
}

fn by_mpfr(operator: Operator, args: &[&Mpfr]) -> Mpfr {
    let mut result = Mpfr::zero(FOUR);
    result.becomes(operator, args);
    result
}

/// To the sign of zero and the precision; NaN is NaN.
fn is_same(a: &Mpfr, b: &Mpfr) -> bool {
    // SAFETY: valid numbers, read.
    let is_equal = unsafe { mpfr::equal_p(&a.raw(), &b.raw()) != 0 };
    a.precision() == b.precision() && (is_equal && a.four.sign == b.four.sign || a.is_nan() && b.is_nan())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn sums_products_and_quotients_by_hand_are_mpfrs((a, b) in pair(), before in number()) {
        for operator in [Operator::Add, Operator::Sub, Operator::Mul, Operator::Div] {
            let expected = by_mpfr(operator, &[&a, &b]);
            let result = Mpfr::apply(operator, &[&a, &b]);
            prop_assert!(is_same(&result, &expected), "{operator:?}: {a:?} {b:?}: {result:?}, {expected:?}");
            for mut place in [before.clone(), Mpfr::exactly(300, 1.0), Mpfr::zero(0)] {
                let args = [Operand::Real(&a), Operand::Real(&b), Operand::Double(0.0)];
                place.become_result(operator, args, FOUR, Type::F64);
                prop_assert!(is_same(&place, &expected));
            }
        }
    }

    /// Of numbers that are products, and of those next to them: nothing is left, or hardly anything.
    #[test]
    fn quotients_that_are_nearly_exact_are_mpfrs((a, b) in pair(), change in prop_oneof![Just([0; 4]), (0..256usize).prop_map(one_bit)]) {
        let (product, near) = like((by_mpfr(Operator::Mul, &[&a, &b]), 0, change, false));
        for (a, b) in [(&product, &b), (&near, &b), (&near, &a), (&product, &near)] {
            let (expected, result) = (by_mpfr(Operator::Div, &[a, b]), Mpfr::apply(Operator::Div, &[a, b]));
            prop_assert!(is_same(&result, &expected), "{a:?} {b:?}: {result:?}, {expected:?}");
        }
    }

    #[test]
    fn comparisons_by_hand_are_mpfrs((a, b) in pair()) {
        // SAFETY: valid numbers, read.
        let expected = unsafe { mpfr::cmp(&a.raw(), &b.raw()) }.cmp(&0);
        prop_assert_eq!(a.compare(&b), (!a.is_nan() && !b.is_nan()).then_some(expected));
        prop_assert_eq!(a.is(&b), a.compare(&b) == Some(Ordering::Equal));
    }

    #[test]
    fn products_and_sums_by_hand_are_mpfrs(
        (a, b) in pair(),
        c in number(),
        by in prop_oneof![Just(0), -2..3i64, -70..70i64, 250..262i64, -262..-250i64, 505..520i64, -520..-505i64],
        change in prop_oneof![Just([0; 4]), (0..256usize).prop_map(one_bit), prop::array::uniform4(limb())],
        flips in any::<bool>(),
    ) {
        // One that may cancel the product, or come near to that.
        let (_, near) = like((by_mpfr(Operator::Mul, &[&a, &b]), by, change, flips));
        for c in [&c, &near] {
            let (expected, result) = (by_mpfr(Operator::Fma, &[&a, &b, c]), Mpfr::apply(Operator::Fma, &[&a, &b, c]));
            prop_assert!(is_same(&result, &expected), "{a:?} {b:?} {c:?}: {result:?}, {expected:?}");
        }
    }

    #[test]
    fn operations_are_the_same_where_they_stay(
        (a, b) in pair(),
        before in number(),
        value in any::<f64>(),
        precision in prop::sample::select(vec![128, FOUR, 300]),
    ) {
        let double = Mpfr::exactly(precision, value);
        use Operand::{Double, Real};
        for operator in [Operator::Add, Operator::Sub, Operator::Mul, Operator::Div, Operator::Sqrt, Operator::Fma] {
            for (args, reals) in [
                ([Real(&a), Real(&b), Real(&before)], [&a, &b, &before]),
                ([Double(value), Real(&b), Real(&a)], [&double, &b, &a]),
                ([Real(&a), Double(value), Double(value)], [&a, &double, &double]),
                ([Double(value); 3], [&double; 3]),
            ] {
                let mut place = before.clone();
                place.become_result(operator, args, precision, Type::F64);
                let reals = &reals[..operator.arity()];
                let mut expected = Mpfr::zero(reals[0].precision());
                expected.becomes(operator, reals);
                prop_assert!(is_same(&place, &expected), "{operator:?}: {reals:?}");
            }
        }
    }
}

/// Numbers whose sums are neither far from them nor always near, and the floats next to them.
fn ordinary() -> impl Strategy<Value = Mpfr> {
    let exponent =
        prop_oneof![8 => -8..8i64, 2 => -200..200i64, 2 => -1080..1030i64, 1 => -160..-110i64, 1 => 110..135i64];
    (any::<bool>(), exponent, prop::array::uniform4(limb())).prop_map(|(negative, exponent, mut limbs)| {
        limbs[3] |= 1 << 63;
        let mut real = Mpfr::zero(FOUR);
        real.four = Four { precision: FOUR, sign: if negative { -1 } else { 1 }, exponent, limbs };
        real
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn what_is_steady_is_right_on_rounded_arguments(
        (a, b, c) in (ordinary(), ordinary(), ordinary()),
        by in -4..5i64,
        leaves in any::<[bool; 3]>(),
        single in any::<bool>(),
    ) {
        let ty = if single { Type::F32 } else { Type::F64 };
        let mode = crate::mode::Mode { mxcsr: crate::mode::MXCSR_DEFAULT, control: crate::mode::CONTROL_DEFAULT };
        // Some that nearly cancel as well.
        let (_, near) = like((a.clone(), 0, [!0 >> by.unsigned_abs(), 0, 0, 1 << (30 + 6 * by)], by % 2 == 0));
        for [a, b, c] in [[&a, &b, &c], [&a, &near, &c]] {
            let reals = [a, b, c].map(|real| real.rounded(Target::nearest(ty)));
            let values = reals.map(|bits| crate::error::value(ty, bits));
            let args: [_; 3] = std::array::from_fn(|number| match leaves[number] {
                true => Operand::Double(values[number]),
                false => Operand::Real([a, b, c][number]),
            });
            for operator in [Operator::Add, Operator::Sub, Operator::Mul, Operator::Div, Operator::Sqrt, Operator::Fma] {
                let arity = operator.arity();
                let mut result = Mpfr::zero(FOUR);
                if result.become_result(operator, args, FOUR, ty) {
                    let native = crate::native::apply(operator, ty, ty, &reals[..arity], mode).unwrap();
                    let wrong_by = crate::error::ulps(ty, native, result.rounded(Target::nearest(ty)));
                    prop_assert!(wrong_by <= crate::real::STEADY, "{operator:?} {a:?} {b:?} {c:?}: {wrong_by}");
                }
            }
        }
    }
}
