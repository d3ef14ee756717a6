//! What MPFR's numbers must do.

use super::*;
use proptest::prelude::*;

fn real(value: f64) -> Mpfr {
    Mpfr::exactly(256, value)
}

fn single(real: &Mpfr) -> f32 {
    f32::from_bits(real.rounded(Target::nearest(Type::F32)) as u32)
}

fn add(a: &Mpfr, b: &Mpfr) -> Mpfr {
    Mpfr::apply(Operator::Add, &[a, b])
}

fn power_of_two(exponent: f64) -> Mpfr {
    Mpfr::apply(Operator::Exp2, &[&real(exponent)])
}

#[test]
fn more_bits_than_fit_inline_keep_their_digits() {
    for precision in [128, 192, 256, 257, 1000] {
        let [one, tiny] =
            [0.0, 1.0 - precision as f64].map(|e| Mpfr::apply(Operator::Exp2, &[&Mpfr::exactly(precision, e)]));
        let back = Mpfr::apply(Operator::Sub, &[&add(&one, &tiny), &one]);
        assert_eq!(back.compare(&tiny), Some(Ordering::Equal), "{precision}");
        let lost = Mpfr::apply(Operator::Mul, &[&tiny, &Mpfr::exactly(precision, 0.25)]);
        assert_eq!(add(&one, &lost).compare(&one), Some(Ordering::Equal), "{precision}");
    }
}

#[test]
fn rounding_to_single_does_not_go_through_double() {
    // Just above the tie between 1 and the next single; the double nearest to it is the tie itself.
    let above_tie = add(&add(&real(1.0), &power_of_two(-24.0)), &power_of_two(-100.0));
    assert_eq!(single(&above_tie), 1.0 + f32::EPSILON);
}

#[test]
fn rounding_to_subnormals_rounds_once_and_to_even() {
    let tiny = power_of_two(-1300.0);
    let tie = add(&power_of_two(-1074.0), &power_of_two(-1075.0));
    assert_eq!(tie.to_f64().to_bits(), 2);
    assert_eq!(Mpfr::apply(Operator::Sub, &[&tie, &tiny]).to_f64().to_bits(), 1);
    let half = power_of_two(-1075.0);
    assert_eq!(half.to_f64().to_bits(), 0);
    assert_eq!(add(&half, &tiny).to_f64().to_bits(), 1);
    let half_single = power_of_two(-150.0);
    assert_eq!(single(&half_single).to_bits(), 0);
    assert_eq!(single(&add(&half_single, &power_of_two(-400.0))).to_bits(), 1);
}

#[test]
fn every_operator_is_implemented() {
    for operator in Operator::ALL {
        let one = real(1.0);
        let args = vec![&one; operator.arity()];
        assert!(!Mpfr::apply(*operator, &args).is_nan(), "{}", operator.name());
    }
}

#[test]
fn operators_are_the_c_librarys_functions_of_their_names() {
    use Operator::*;
    for (operator, args, expected) in [
        (Asinh, &[1.0][..], 0.881373587019543),
        (Acosh, &[2.0], 1.3169578969248168),
        (Atanh, &[0.5], 0.5493061443340549),
        (Erf, &[1.0], 0.8427007929497149),
        (Erfc, &[1.0], 0.15729920705028513),
        (Tgamma, &[5.0], 24.0),
        // The gamma function is negative here.
        (Lgamma, &[-0.5], 1.2655121234846454),
        (Exp10, &[3.0], 1000.0),
        (Round, &[-2.5], -3.0),
        (Nearbyint, &[-2.5], -2.0),
        (Trunc, &[-2.5], -2.0),
        (Fmod, &[5.0, 3.0], 2.0),
        (Remainder, &[5.0, 3.0], -1.0),
        (Fdim, &[3.0, 1.0], 2.0),
        (Fdim, &[1.0, 3.0], 0.0),
        (Copysign, &[3.0, -0.0], -3.0),
        (Logb, &[-0.75], -1.0),
        (Scalef, &[3.0, -1.5], 0.75),
        (Fscale, &[3.0, -1.5], 1.5),
        (Fscale, &[3.0, f64::NEG_INFINITY], 0.0),
        (Exp2m1, &[1e-30], 6.931471805599453e-31),
        (Yl2x, &[3.0, 8.0], 9.0),
        (Yl2xp1, &[2.0, 1.0], 2.0),
    ] {
        let reals: Vec<Mpfr> = args.iter().map(|arg| real(*arg)).collect();
        let result = Mpfr::apply(operator, &reals.iter().collect::<Vec<_>>()).to_f64();
        assert!((result - expected).abs() < 1e-15, "{} of {args:?} is {result}", operator.name());
    }
}

#[test]
fn numbers_beyond_all_formats_become_infinite_or_zero() {
    let mut huge = real(1e300);
    let mut tiny = real(-1e-300);
    for _ in 0..40 {
        huge = Mpfr::apply(Operator::Mul, &[&huge, &huge]);
        tiny = Mpfr::apply(Operator::Mul, &[&tiny, &tiny]);
    }
    assert_eq!(huge.to_f64(), f64::INFINITY);
    assert!(Mpfr::apply(Operator::Sin, &[&huge]).is_nan());
    assert_eq!(tiny.compare(&real(0.0)), Some(Ordering::Equal));
}

#[test]
fn conversion_to_integer_follows_the_direction_and_refuses_what_does_not_fit() {
    let value = real(-2.5);
    assert_eq!(value.to_integer(Direction::Nearest), Some(-2));
    assert_eq!(value.to_integer(Direction::Down), Some(-3));
    assert_eq!(value.to_integer(Direction::Up), Some(-2));
    assert_eq!(real(9.3e18).to_integer(Direction::Zero), Some(9_300_000_000_000_000_000));
    assert_eq!(real(1.9e19).to_integer(Direction::Zero), None);
    assert_eq!(real(f64::NAN).to_integer(Direction::Zero), None);
    assert_eq!(real(f64::INFINITY).to_integer(Direction::Zero), None);
}

/// A real between doubles: the first, a little of the second, and less of the third.
fn between() -> impl Strategy<Value = Mpfr> {
    let bits = || prop_oneof![any::<u64>(), Just(0), Just(1 << 63), Just(1 << 52), Just(0x7fef_ffff_ffff_ffff)];
    (bits(), -60f64..0.0, any::<bool>(), -120f64..-60.0, prop::sample::select(vec![128, 129, 200, 256, 300])).prop_map(
        |(bits, fine, exact, finer, precision)| {
            let value = Mpfr::exactly(precision, f64::from_bits(bits));
            let scaled = |by: f64| {
                let scale = Mpfr::apply(Operator::Exp2, &[&Mpfr::exactly(precision, by.floor())]);
                Mpfr::apply(Operator::Mul, &[&value, &scale])
            };
            let sum = add(&value, &scaled(fine));
            if exact { sum } else { add(&sum, &scaled(finer)) }
        },
    )
}

/// Rounding the way that MPFR's manual tells for a format with subnormals.
fn by_subnormalizing(real: &Mpfr, ty: Type, rnd: rnd_t) -> Mpfr {
    let format::Layout { digits, least, greatest } = format::layout(ty);
    let mut rounded = Mpfr::zero(MIN_PRECISION);
    rounded.four.precision = digits;
    // SAFETY: valid numbers; the exponents that MPFR allows are this thread's, and put back.
    unsafe {
        let (emin, emax) = (mpfr::get_emin(), mpfr::get_emax());
        mpfr::set_emin((least - digits as i64 + 1) as mpfr::exp_t);
        mpfr::set_emax(greatest as mpfr::exp_t);
        rounded.set(|r| {
            let mut inexact = mpfr::set(r, &real.raw(), rnd);
            inexact = mpfr::check_range(r, inexact, rnd);
            mpfr::subnormalize(r, inexact, rnd);
        });
        mpfr::set_emin(emin);
        mpfr::set_emax(emax);
    }
    rounded
}

proptest! {
    #[test]
    fn rounding_to_double_by_hand_is_mpfrs(real in between()) {
        // SAFETY: a valid number, read.
        let expected = unsafe { mpfr::get_d(&real.raw(), RND) };
        prop_assert!(real.to_f64().to_bits() == expected.to_bits() || expected.is_nan() && real.to_f64().is_nan());
    }

    #[test]
    fn rounding_to_every_format_is_mpfrs(
        real in between(),
        ty in prop::sample::select(vec![Type::F16, Type::Bf16, Type::F32, Type::F64, Type::F80]),
        direction in prop::sample::select(vec![
            (Direction::Nearest, rnd_t::RNDN),
            (Direction::Down, rnd_t::RNDD),
            (Direction::Up, rnd_t::RNDU),
            (Direction::Zero, rnd_t::RNDZ),
        ]),
        shift in -17000i64..17000,
    ) {
        // Near the ends of the narrow formats as well.
        let mut near = real.clone();
        near.four.exponent = if real.four.exponent.abs() < 1100 { real.four.exponent % 30 - 12 } else { real.four.exponent };
        let mut far = real.clone();
        far.four.exponent = if real.four.exponent.abs() < 1100 { real.four.exponent + shift as mpfr::exp_t } else { real.four.exponent };
        for real in [real, near, far] {
            let bits = real.rounded(Target { direction: direction.0, ..Target::nearest(ty) });
            let mut ours = Mpfr::zero(128);
            ours.assign(ty, bits);
            let expected = by_subnormalizing(&real, ty, direction.1);
            // SAFETY: valid numbers, read.
            let equal = unsafe { mpfr::equal_p(&ours.raw(), &expected.raw()) != 0 };
            prop_assert!(equal || ours.is_nan() && expected.is_nan(), "{real:?} {ty:?} {direction:?}: {bits:#x}");
        }
    }

    #[test]
    fn every_double_is_taken_over_exactly(bits in any::<u64>(), before in any::<f64>()) {
        let value = f64::from_bits(bits);
        let mut real = Mpfr::exactly(300, before);
        real.assign(Type::F64, bits as u128);
        let mut expected = Mpfr::zero(300);
        // SAFETY: a valid number, written.
        expected.set(|this| unsafe {
            mpfr::set_d(this, value, RND);
        });
        prop_assert_eq!(real.compare(&expected), (!value.is_nan()).then_some(Ordering::Equal));
        prop_assert!(real.to_f64().to_bits() == bits || value.is_nan());
    }

    #[test]
    fn correctly_rounded_operations_agree_with_the_hardware(a in any::<f64>(), b in any::<f64>()) {
        for (operator, native) in [
            (Operator::Add, a + b),
            (Operator::Sub, a - b),
            (Operator::Mul, a * b),
            (Operator::Div, a / b),
            (Operator::Fmod, a % b),
        ] {
            let exact = Mpfr::apply(operator, &[&real(a), &real(b)]).to_f64();
            // Division, and fmod of far exponents, round twice; at 256 bits the first rounding cannot
            // hit a tie of the second unless the quotient is exact.
            prop_assert!(exact == native || (exact.is_nan() && native.is_nan()), "{operator:?} {a:e} {b:e}");
        }
        let root = Mpfr::apply(Operator::Sqrt, &[&real(a.abs())]).to_f64();
        prop_assert_eq!(root, a.abs().sqrt());
    }

    #[test]
    fn singles_round_like_the_hardware(a in any::<f32>(), b in any::<f32>()) {
        let product = single(&Mpfr::apply(Operator::Mul, &[&real(a as f64), &real(b as f64)]));
        let native = a * b;
        prop_assert!(product == native || (product.is_nan() && native.is_nan()));
    }
}
