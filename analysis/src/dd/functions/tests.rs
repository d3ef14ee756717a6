use super::super::DoubleDouble;
use super::super::tests::{exact, is_within_bound};
use super::*;
use crate::error;
use crate::mode::Target;
use crate::mpfr::Mpfr;
use crate::number::Number;
use crate::real::Real;
use fpgrind_ir::Type;
use proptest::prelude::*;

const PRECISION: u32 = 2400;

/// Each function, between which arguments its bound is at most 2^-90 of the result, and where it is at home.
const UNARY: [(Operator, f64, f64); 21] = [
    (Operator::Exp, -600.0, 600.0),
    (Operator::Exp2, -800.0, 800.0),
    (Operator::Expm1, -30.0, 600.0),
    (Operator::Sinh, -600.0, 600.0),
    (Operator::Cosh, -600.0, 600.0),
    (Operator::Tanh, -15.0, 15.0),
    (Operator::Log, 1e-200, 1e200),
    (Operator::Log2, 1e-200, 1e200),
    (Operator::Log10, 1e-200, 1e200),
    (Operator::Log1p, -0.999, 1e200),
    (Operator::Sin, -1e3, 1e3),
    (Operator::Cos, -1e3, 1e3),
    (Operator::Tan, -1e3, 1e3),
    (Operator::Asin, -1.0, 1.0),
    (Operator::Acos, -1.0, 1.0),
    (Operator::Atan, -1e100, 1e100),
    (Operator::Cbrt, -1e200, 1e200),
    (Operator::Exp10, -250.0, 250.0),
    (Operator::Asinh, -1e90, 1e90),
    (Operator::Acosh, 1.0, 1e90),
    (Operator::Atanh, -1.0, 1.0),
];

const BINARY: [Operator; 3] = [Operator::Pow, Operator::Atan2, Operator::Hypot];

/// Arguments of all kinds: anywhere in reach, near the special points of some function, singles, and anything at all.
fn arguments() -> impl Strategy<Value = f64> {
    let exponent = |range: std::ops::Range<f64>| range.prop_map(f64::exp2);
    let signed = |value: f64, negative: bool| if negative { -value } else { value };
    let special = prop::sample::select(vec![
        1.0,
        2.0,
        0.5,
        10.0,
        std::f64::consts::FRAC_PI_4,
        std::f64::consts::FRAC_PI_2,
        std::f64::consts::PI,
        std::f64::consts::LN_2,
        std::f64::consts::SQRT_2,
        3e5 * std::f64::consts::PI,
    ]);
    let near = (special, exponent(-60.0..0.0), any::<bool>(), -40i32..40)
        .prop_map(move |(value, by, below, times)| value * times.max(1) as f64 * (1.0 + signed(by, below)));
    prop_oneof![
        3 => -10.0..10.0f64,
        2 => -700.0..700.0f64,
        2 => (exponent(-60.0..60.0), any::<bool>()).prop_map(move |(value, negative)| signed(value, negative)),
        1 => (exponent(-1000.0..1000.0), any::<bool>()).prop_map(move |(value, negative)| signed(value, negative)),
        3 => (near, any::<bool>()).prop_map(move |(value, negative)| signed(value, negative)),
        1 => (-64i64..64).prop_map(|value| value as f64 / 8.0),
        1 => (-64i64..64).prop_map(|value| value as f64 * std::f64::consts::PI / 512.0),
        1 => any::<f32>().prop_map(|value| value as f64),
        1 => (-5.0..5.0f32).prop_map(|value| value as f64),
        1 => any::<f64>(),
    ]
}

/// A double, and what makes it a double-double: how far the rest and the bound are below it, and on which side the truth is.
type Made = (f64, Option<(f64, f64)>, Option<(f64, f64)>);

fn doubles_and_pairs() -> impl Strategy<Value = Made> {
    let rest = prop::option::of((-0.5..0.5f64, 52.0..70.0f64));
    let doubt = prop::option::of((-1.0..1.0f64, 50.0..110.0f64));
    (arguments(), rest, doubt)
}

/// The double-double, and a number that it may stand for.
fn make((hi, rest, doubt): Made) -> (DoubleDouble, Mpfr) {
    if !is_safe(hi) {
        return (DoubleDouble::double(hi), Mpfr::exactly(PRECISION, hi));
    }
    let lo = rest.map_or(0.0, |(part, bits)| hi * part * f64::exp2(-bits));
    let sum = twofold::two_sum(hi, lo);
    let (side, err) = doubt.map_or((0.0, 0.0), |(side, bits)| (side, hi.abs() * f64::exp2(-bits)));
    let value = DoubleDouble::new(sum.hi, sum.lo, err);
    let truth = Mpfr::apply(Operator::Add, &[&exact(&value), &Mpfr::exactly(PRECISION, side * err)]);
    (value, truth)
}

fn pairs(of: &[DoubleDouble]) -> Vec<Pair> {
    of.iter().map(|real| real.doubles()).collect()
}

fn check(operator: Operator, args: &[Made]) -> Result<Option<DoubleDouble>, TestCaseError> {
    let (ours, truths): (Vec<DoubleDouble>, Vec<Mpfr>) = args.iter().map(|arg| make(*arg)).unzip();
    let Some(Function { value, sway }) = apply(operator, &pairs(&ours)) else { return Ok(None) };
    let result = DoubleDouble::from(value);
    let truth = Mpfr::apply(operator, &truths.iter().collect::<Vec<_>>());
    let rounded: Vec<Mpfr> = ours.iter().map(|arg| Mpfr::exactly(PRECISION, arg.hi)).collect();
    let of_rounded = Mpfr::apply(operator, &rounded.iter().collect::<Vec<_>>());
    prop_assert!(
        is_within_bound(&DoubleDouble::new(value.hi, value.lo, value.err + sway), &of_rounded),
        "{} of {ours:?}: {sway}",
        operator.name()
    );
    prop_assert!(
        is_within_bound(&result, &truth),
        "{} of {ours:?} is {result:?}, not {} + {}",
        operator.name(),
        truth.to_f64(),
        Mpfr::apply(Operator::Sub, &[&truth, &Mpfr::exactly(PRECISION, truth.to_f64())]).to_f64(),
    );
    prop_assert_eq!(result.hi + result.lo, result.hi);
    if result.err.is_finite() {
        // Zeros have the sign that MPFR gives them.
        prop_assert_eq!(result.hi.is_sign_negative(), truth.to_f64().is_sign_negative());
    }
    if ours.iter().all(|arg| arg.err == 0.0) {
        // MPFR is asked where that is not sure.
        for target in FORMATS.map(Target::nearest) {
            prop_assert_eq!(result.rounded(target), truth.rounded(target), "{} of {:?}", operator.name(), ours);
        }
    }
    Ok(Some(result))
}

/// Rounded to a format, the arguments move the result by no more than is said.
fn check_sway(operator: Operator, args: &[Made], ty: Type) -> Result<(), TestCaseError> {
    let target = Target::nearest(ty);
    let (ours, truths): (Vec<DoubleDouble>, Vec<Mpfr>) = args.iter().map(|arg| make(*arg)).unzip();
    let others: Vec<Number> = ours.iter().map(|arg| Number::new(ty, arg.rounded(target))).collect();
    let ours = pairs(&ours);
    let Some(Function { value: result, .. }) = apply(operator, &ours) else { return Ok(()) };
    let values: Vec<f64> = others.iter().map(|other| other.to_f64()).collect();
    let Some(sway) = sway(operator, &ours, &values, result, target) else { return Ok(()) };
    let others: Vec<Mpfr> = others.iter().map(|other| Mpfr::exactly(PRECISION, *other)).collect();
    let [truth, other] =
        [&truths, &others].map(|args| Mpfr::apply(operator, &args.iter().collect::<Vec<_>>()).rounded(target));
    prop_assert!(error::ulps(ty, other, truth) <= sway, "{} of {ours:?}: {sway}", operator.name());
    Ok(())
}

const FORMATS: [Type; 3] = [Type::F64, Type::F32, Type::F80];

fn cases(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    // As many as are asked for.
    if std::env::var_os("PROPTEST_CASES").is_some() { default } else { ProptestConfig { cases, ..default } }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn functions_are_within_their_bounds_of_the_truth(arg in doubles_and_pairs()) {
        for (operator, ..) in UNARY {
            check(operator, &[arg])?;
        }
    }

    #[test]
    fn functions_of_two_are_within_their_bounds_of_the_truth(a in doubles_and_pairs(), b in doubles_and_pairs()) {
        for operator in BINARY {
            check(operator, &[a, b])?;
        }
    }

    #[test]
    fn rounded_arguments_move_results_by_no_more_than_is_said(a in doubles_and_pairs(), b in doubles_and_pairs()) {
        for ty in [Type::F64, Type::F32] {
            for (operator, ..) in UNARY {
                check_sway(operator, &[a], ty)?;
            }
            for operator in BINARY {
                check_sway(operator, &[a, b], ty)?;
            }
        }
    }

    #[test]
    fn powers_of_moderate_size_are_within_their_bounds(x in 0.0..50.0f64, y in -30.0..30.0f64, n in -30i32..30) {
        check(Operator::Pow, &[(x, None, None), (y, None, None)])?;
        check(Operator::Pow, &[(x, None, None), (n as f64 / 2.0, None, None)])?;
        check(Operator::Pow, &[(-x.ceil(), None, None), (n as f64, None, None)])?;
    }

    /// A hypotenuse of 54 digits is between two doubles, one of 25 between two singles.
    #[test]
    fn what_is_in_the_middle_between_two_floats_is_known_exactly(half in 1u64 << 50..(1 << 53) / 6, short in 1u64 << 21..3 << 20) {
        for k in [2 * half + 1, 2 * short + 1] {
            let legs = [3 * k, 4 * k].map(|leg| DoubleDouble::double(leg as f64));
            let result = DoubleDouble::compute(Operator::Hypot, &[&legs[0], &legs[1]], 256);
            let truth = Mpfr::apply(Operator::Mul, &[&Mpfr::exactly(PRECISION, 5.0), &Mpfr::exactly(PRECISION, k as f64)]);
            for target in FORMATS.map(Target::nearest) {
                prop_assert_eq!(result.rounded(target), truth.rounded(target), "{} {:?}", k, result);
            }
        }
    }

    /// The bound is of use, and MPFR is seldom needed.
    #[test]
    fn ordinary_arguments_need_no_mpfr(part in 0.0..1.0f64, log in any::<bool>(), single in any::<bool>()) {
        for (operator, least, greatest) in UNARY {
            let x = if log && least > 0.0 { (least.ln() * (1.0 - part) + greatest.ln() * part).exp() } else { least + (greatest - least) * part };
            let x = if single && (1e-30..1e30).contains(&x.abs()) { x as f32 as f64 } else { x };
// Near these arguments some results are next to 1, or exact.
            if least < 0.0 && x.abs() < 1e-10 || (x.abs() - 1.0).abs() < 1e-10 {
                continue;
            }
            // One result in millions looks like the middle between two floats; that of the next argument then does not.
            let result = check(operator, &[(x, None, None)])?.or(check(operator, &[(x.next_up(), None, None)])?);
            let Some(result) = result else { return Err(TestCaseError::fail(format!("{} {x:?}", operator.name()))) };
            prop_assert!(result.err <= result.hi.abs() * f64::exp2(-90.0), "{} {x:?} {result:?}", operator.name());
        }
    }
}

/// How long each function takes: for who makes them faster.
#[test]
#[ignore = "a measurement"]
fn time_of_each_function() {
    const COUNT: usize = 2000;
    for operator in UNARY.map(|(operator, ..)| operator).into_iter().chain(BINARY) {
        let times = (0..20).map(|round| {
            let start = std::time::Instant::now();
            for number in 0..COUNT {
                let x = 1e-4 + (number as f64 + round as f64 / 20.0) * (0.999 / COUNT as f64);
                let x = if operator == Operator::Acosh { 1.0 + x } else { x };
                let args = [Pair::new(x, x * 1e-17, x * 1e-30), Pair::double(0.3)];
                let count = if BINARY.contains(&operator) { 2 } else { 1 };
                std::hint::black_box(apply(operator, std::hint::black_box(&args[..count])));
            }
            start.elapsed().as_nanos() as f64 / COUNT as f64
        });
        println!("{:8} {:6.1} ns", operator.name(), times.fold(f64::INFINITY, f64::min));
    }
}
