use super::*;
use crate::error;
use proptest::prelude::*;

const PRECISION: u32 = 2400;

pub fn exact(value: &DoubleDouble) -> Mpfr {
    value.to_mpfr(PRECISION)
}

/// How far a double-double is from the number that it stands for, in multiples of its bound.
pub fn is_within_bound(value: &DoubleDouble, truth: &Mpfr) -> bool {
    // It says of itself that it does not know.
    if !value.err.is_finite() {
        return true;
    }
    if value.is_nan() || truth.is_nan() {
        return value.is_nan() == truth.is_nan();
    }
    let distance = Mpfr::apply(Operator::Sub, &[&exact(value), truth]);
    let distance = Mpfr::apply(Operator::Abs, &[&distance]);
    // What is no double-double is exact to the digits that MPFR had.
    let bound = match value.big {
        Some(_) => Mpfr::apply(Operator::Mul, &[truth, &Mpfr::exactly(PRECISION, f64::exp2(-200.0))]),
        None => Mpfr::exactly(PRECISION, value.err),
    };
    let bound = Mpfr::apply(Operator::Abs, &[&bound]);
    distance.is_nan() || distance.compare(&bound) != Some(Ordering::Greater)
}

/// Doubles of all kinds, many of them near to one another.
fn doubles() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1.0e3..1.0e3f64,
        2 => (-64i64..64).prop_map(|value| value as f64 / 8.0),
        1 => any::<f64>(),
        1 => (-30.0..30.0f64).prop_map(f64::exp2),
        1 => Just(0.0),
    ]
}

const OPERATORS: [Operator; 13] = [
    Operator::Add,
    Operator::Sub,
    Operator::Mul,
    Operator::Div,
    Operator::Sqrt,
    Operator::Fma,
    Operator::Neg,
    Operator::Abs,
    Operator::Exp,
    Operator::Sin,
    Operator::Log,
    Operator::Atan2,
    Operator::Pow,
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]
    #[test]
    fn a_double_double_is_within_its_bound_of_the_truth(
        inputs in prop::collection::vec(doubles(), 4),
        steps in prop::collection::vec((0..OPERATORS.len(), 0..100usize, 0..100usize, 0..100usize), 1..12),
    ) {
        let mut values: Vec<(DoubleDouble, Mpfr)> =
            inputs.iter().map(|input| (DoubleDouble::double(*input), Mpfr::exactly(PRECISION, *input))).collect();
        for (operator, a, b, c) in steps {
            let operator = OPERATORS[operator];
            let args: Vec<usize> = [a, b, c][..operator.arity()].iter().map(|arg| arg % values.len()).collect();
            let (ours, truths): (Vec<&DoubleDouble>, Vec<&Mpfr>) =
                args.iter().map(|arg| (&values[*arg].0, &values[*arg].1)).unzip();
            // Functions of huge numbers take MPFR long.
            if operator.arity() == 1 && truths[0].to_f64().abs() > 1e6 && operator != Operator::Neg {
                continue;
            }
            let (ours, truth) = (DoubleDouble::compute(operator, &ours, 256), Mpfr::apply(operator, &truths));
            prop_assert!(is_within_bound(&ours, &truth), "{} {:?} {}", operator.name(), ours, truth.to_f64());
            for target in [Type::F64, Type::F32, Type::F80].map(Target::nearest) {
                if ours.is_settled(target) && ours.big.is_none() && !truth.is_nan() {
                    // The sign of a zero may be that of a number which is in doubt.
                    let distance = error::ulps(target.ty, ours.rounded(target), truth.rounded(target));
                    prop_assert_eq!(distance, 0, "{} {:?}", operator.name(), ours);
                }
            }
            // What is no double-double has as many digits as MPFR was given, not as many as the truth.
            if ours.big.is_none() {
                values.push((ours, truth));
            }
        }
    }

    /// Where the doubles say which integer is next to a number, it is that of all that the number may be.
    #[test]
    fn integers_are_those_of_the_truth(whole in -40i64..40, part in prop_oneof![Just(0.0f64), Just(0.5), -1.0..1.0],
        rest in prop_oneof![Just(0.0f64), -0.5..0.5], doubt in prop_oneof![Just(0.0f64), 0.0..1.0], scale in 0i32..110) {
        let hi = whole as f64 + part;
        let err = doubt * f64::exp2(-(scale as f64));
        let (hi, lo) = two_sum(hi, rest * f64::EPSILON * hi);
        let value = DoubleDouble::new(hi, lo, err);
        for direction in [Direction::Nearest, Direction::Down, Direction::Up, Direction::Zero] {
            if let Some(integer) = value.plain_integer(direction) {
                for by in [-err, 0.0, err] {
                    let truth = Mpfr::apply(Operator::Add, &[&exact(&value), &Mpfr::exactly(PRECISION, by)]);
                    prop_assert_eq!(truth.to_integer(direction), Some(integer), "{:?} {:?}", value, direction);
                }
            }
        }
    }

    #[test]
    fn what_is_said_to_differ_compares_as_the_truth(a in doubles(), b in doubles(), c in doubles()) {
        prop_assume!(a.is_finite() && b.is_finite() && c.is_finite());
        let [a, b, c] = [a, b, c].map(DoubleDouble::double);
        let product = DoubleDouble::compute(Operator::Mul, &[&a, &b], 256);
        let sum = DoubleDouble::compute(Operator::Add, &[&product, &c], 256);
        let truth = Mpfr::apply(Operator::Fma, &[&exact(&a), &exact(&b), &exact(&c)]);
        for other in [&a, &b, &c, &product] {
            if sum.differs_for_sure(other) && sum.big.is_none() && product.big.is_none() {
                prop_assert_eq!(sum.compare(other), truth.compare(&exact(other)));
            }
        }
    }
}

#[test]
fn a_sum_that_fits_is_exact() {
    let mut sum = DoubleDouble::double(0.0);
    for i in 1..1000 {
        sum = DoubleDouble::compute(Operator::Add, &[&sum, &DoubleDouble::double(1.0 / i as f64)], 256);
    }
    assert!(sum.is_exact() && sum.lo != 0.0);
}

#[test]
fn beyond_the_doubles_numbers_go_on_and_come_back() {
    let huge = DoubleDouble::double(1e300);
    let square = DoubleDouble::compute(Operator::Mul, &[&huge, &huge], 256);
    assert!(square.big.is_some() && square.rounded(Target::nearest(Type::F64)) == f64::INFINITY.to_bits() as u128);
    let root = DoubleDouble::compute(Operator::Sqrt, &[&square], 256);
    assert_eq!((root.hi, root.big.is_none()), (1e300, true));
    let tiny = DoubleDouble::double(1e-200);
    let gone = DoubleDouble::compute(Operator::Mul, &[&tiny, &tiny], 256);
    assert!(gone.big.is_some() && gone.compare(&DoubleDouble::double(0.0)) == Some(Ordering::Greater));
}

#[test]
fn singles_are_rounded_once() {
    // A little above the middle of two singles, by less than a double shows.
    let above = DoubleDouble::new(1.0 + f64::exp2(-24.0), f64::exp2(-80.0), 0.0);
    let below = DoubleDouble::new(1.0 + f64::exp2(-24.0), -f64::exp2(-80.0), 0.0);
    let single = |value: &DoubleDouble| f32::from_bits(value.rounded(Target::nearest(Type::F32)) as u32);
    assert_eq!((single(&above), single(&below)), (1.0 + f32::EPSILON, 1.0));
}
