use super::*;
use crate::error;
use crate::mpfr::Mpfr;
use crate::plain::Plain;
use crate::real::Real;
use proptest::prelude::*;

/// Enough for sums of numbers as far apart as those below to be exact.
const PRECISION: u32 = 1000;

/// An argument, and a number that it may stand for.
#[derive(Clone, Copy, Debug)]
struct Arg {
    near: Near,
    truth: [f64; 3],
}

impl Arg {
    fn truth(&self) -> Mpfr {
        self.truth.iter().fold(Mpfr::exactly(PRECISION, 0.0), |sum, term| {
            Mpfr::apply(Operator::Add, &[&sum, &Mpfr::exactly(PRECISION, *term)])
        })
    }
}

/// Near each other, so that sums cancel now and then; off by nothing, a little or much, in more or less doubt.
fn argument(is_single: bool) -> impl Strategy<Value = Arg> {
    let significand = prop_oneof![1.0..2.0f64, Just(1.0), (0u32..64).prop_map(|steps| 1.0 + steps as f64 / 64.0)];
    let power = prop_oneof![-3..3i32, -40..40i32];
    let small = |from: i32, to: i32| {
        prop_oneof![Just(0.0), (from..to, -1.0..1.0f64).prop_map(|(p, s)| s * f64::exp2(p as f64))]
    };
    (significand, power, any::<bool>(), small(-60, -3), small(-110, -40), -1.0..1.0f64).prop_map(
        move |(significand, power, is_negative, by, err, place)| {
            let size = if is_negative { -significand } else { significand } * f64::exp2(power as f64);
            let native = if is_single { size as f32 as f64 } else { size };
            let offset = Offset { by: native * by, err: (native * err).abs() };
            // Within the bound, whatever the product rounds to.
            let truth = [native, offset.by, offset.err * place * 0.999];
            Arg { near: Near { native, offset }, truth }
        },
    )
}

fn operator() -> impl Strategy<Value = Operator> {
    use Operator::*;
    prop::sample::select(vec![Add, Sub, Mul, Div, Sqrt, Fma])
}

/// The bounds hold, and what passes for fine is.
fn check<F: Plain>(operator: Operator, mut args: [Arg; 3], is_single: bool) -> Result<(), TestCaseError> {
    let bits = |value: f64| if is_single { (value as f32).to_bits() as u64 } else { value.to_bits() };
    if operator == Operator::Sqrt {
        let Arg { near, truth } = args[0];
        if near.native < 0.0 {
            args[0] = Arg { near: near.negated(), truth: truth.map(|term| -term) };
        }
    }
    let native = F::value(F::apply(operator, args.map(|arg| bits(arg.near.native))));
    let done = Arithmetic { native, is_single }.apply(operator, args.map(|arg| arg.near));
    let truths = args.map(|arg| arg.truth());
    let truth = Mpfr::apply(operator, &truths.each_ref()[..operator.arity()]);
    prop_assume!(!truth.is_nan());
    let seems = [native, done.offset.by].map(|part| Mpfr::exactly(PRECISION, part));
    let seems = Mpfr::apply(Operator::Add, &seems.each_ref());
    let distance = Mpfr::apply(Operator::Abs, &[&Mpfr::apply(Operator::Sub, &[&truth, &seems])]);
    if done.is_fine() {
        let is_within = distance.compare(&Mpfr::exactly(PRECISION, done.offset.err)).is_some_and(|order| order.is_le());
        prop_assert!(is_within, "{} from {:?}, which is {:e} off", done.offset.err, done.offset.by, distance.to_f64());
        let rounded = |real: &Mpfr| real.rounded(F::TARGET) as u64;
        let local = F::apply(operator, truths.each_ref().map(rounded));
        let local = error::ulps(F::TARGET.ty, local as u128, rounded(&truth) as u128);
        prop_assert!(local <= LOCAL, "{local} ulps");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_truth_about_doubles_is_within_the_bound_and_what_passes_is_fine(
        operator in operator(),
        args in [argument(false), argument(false), argument(false)],
    ) {
        check::<f64>(operator, args, false)?;
    }

    #[test]
    fn the_truth_about_singles_is_within_the_bound_and_what_passes_is_fine(
        operator in operator(),
        args in [argument(true), argument(true), argument(true)],
    ) {
        check::<f32>(operator, args, true)?;
    }
}

#[test]
fn what_is_exact_stays_exact() {
    let exactly = |native: f64| Near { native, offset: Offset::NONE };
    let [tenth, third] = [0.1, 1.0 / 3.0];
    for (operator, native) in
        [(Operator::Add, tenth + third), (Operator::Sub, tenth - third), (Operator::Mul, tenth * third)]
    {
        let done = Arithmetic { native, is_single: false }.apply(operator, [tenth, third, 0.0].map(exactly));
        assert!(done.is_fine() && done.offset.err == 0.0, "{operator:?}");
    }
    let done = Arithmetic { native: 0.75, is_single: false }.div(exactly(3.0), exactly(4.0));
    assert!(done.offset.by == 0.0 && done.offset.err == 0.0);
}

/// What is lost below the least double is not nothing.
#[test]
fn a_product_or_quotient_that_underflows_does_not_pass() {
    let exactly = |native: f64| Near { native, offset: Offset::NONE };
    let [tiny, huge] = [1e-200, 1e200].map(exactly);
    assert!(!Arithmetic { native: 0.0, is_single: false }.mul(tiny, tiny).is_fine());
    assert!(!Arithmetic { native: 0.0, is_single: false }.div(tiny, huge).is_fine());
    assert!(Arithmetic { native: 0.0, is_single: false }.mul(tiny, exactly(0.0)).is_fine());
    assert!(Arithmetic { native: 0.0, is_single: false }.add(tiny, tiny.negated()).is_fine());
}
