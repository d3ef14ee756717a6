//! What the functions must be that only libraries have: by identities, at twice the digits and to as many as the reals have.

use super::*;
use Operator::*;

const PRECISION: u32 = 256;

fn real(value: f64) -> Mpfr {
    Mpfr::exactly(2 * PRECISION, value)
}

fn of(operator: Operator, args: &[&Mpfr]) -> Mpfr {
    Mpfr::apply(operator, args)
}

/// Do they agree in as many digits as the reals have?
fn agree(a: &Mpfr, b: &Mpfr) -> bool {
    let [difference, size] = [of(Sub, &[a, b]), of(Add, &[a, b])].map(|real| of(Abs, &[&real]));
    let tiny = of(Mul, &[&size, &of(Exp2, &[&real(-(PRECISION as f64))])]);
    difference.compare(&tiny).is_some_and(|order| order.is_le())
}

fn assert_agree(operator: Operator, a: Mpfr, b: Mpfr) {
    assert!(agree(&a, &b), "{}: {} and {}", operator.name(), a.to_f64(), b.to_f64());
}

/// Ordinary numbers, with digits that no short number has.
fn samples() -> Vec<Mpfr> {
    let seventh = of(Div, &[&real(1.0), &real(7.0)]);
    [0.031, 0.4, 0.77, -0.3, -0.81].iter().map(|value| of(Mul, &[&real(*value), &seventh])).collect()
}

#[test]
fn bessel_functions_obey_their_recurrence_and_their_wronskian() {
    for x in samples().iter().map(|x| of(Add, &[&of(Abs, &[x]), &real(2.0)])) {
        for (first, second, any) in [(J0, J1, Jn), (Y0, Y1, Yn)] {
            // f0 + f2 = 2 f1 / x
            let sum = of(Add, &[&of(first, &[&x]), &of(any, &[&real(2.0), &x])]);
            assert_agree(any, sum, of(Div, &[&of(Mul, &[&real(2.0), &of(second, &[&x])]), &x]));
            assert_agree(first, of(first, &[&x]), of(any, &[&real(0.0), &x]));
            assert_agree(second, of(second, &[&x]), of(any, &[&real(1.0), &x]));
            // The same from -1 on: f-2 + f0 = -2 f-1 / x; also where the series would take hours.
            for x in [&x, &of(Mul, &[&real(1e6), &x])] {
                let [below, at] = [-2.0, -1.0].map(|order| of(any, &[&real(order), x]));
                let sum = of(Add, &[&below, &of(first, &[x])]);
                assert_agree(any, sum, of(Div, &[&of(Mul, &[&real(-2.0), &at]), x]));
            }
        }
        // j1 y0 - j0 y1 = 2 / (pi x)
        let product = |a, b| of(Mul, &[&of(a, &[&x]), &of(b, &[&x])]);
        let pi = of(Acos, &[&real(-1.0)]);
        let wronskian = of(Sub, &[&product(J1, Y0), &product(J0, Y1)]);
        assert_agree(J1, wronskian, of(Div, &[&real(2.0), &of(Mul, &[&pi, &x])]));
    }
    // What would take hours has no real.
    assert!(of(Jn, &[&real(5e4), &real(1e10)]).is_nan() && of(Yn, &[&real(2.0), &real(1e300)]).is_nan());
    assert!(of(Jn, &[&real(-1e19), &real(1.0)]).is_nan() && of(Jn, &[&real(1.5), &real(1.0)]).is_nan());
}

#[test]
fn functions_in_half_turns_are_those_of_pi_times_the_argument() {
    let pi = of(Acos, &[&real(-1.0)]);
    for x in &samples() {
        let turned = of(Mul, &[&pi, x]);
        for (half_turns, plain) in [(Sinpi, Sin), (Cospi, Cos), (Tanpi, Tan)] {
            assert_agree(half_turns, of(half_turns, &[x]), of(plain, &[&turned]));
        }
        for (half_turns, plain) in [(Asinpi, Asin), (Acospi, Acos), (Atanpi, Atan)] {
            assert_agree(half_turns, of(half_turns, &[x]), of(Div, &[&of(plain, &[x]), &pi]));
        }
        let one = real(1.0);
        assert_agree(Atan2pi, of(Atan2pi, &[x, &one]), of(Div, &[&of(Atan2, &[x, &one]), &pi]));
    }
}

#[test]
fn powers_and_logarithms_are_put_together_as_their_names_say() {
    let (one, ten, three) = (real(1.0), real(10.0), real(3.0));
    for x in &samples() {
        let more = of(Add, &[x, &one]);
        assert_agree(Exp10m1, of(Exp10m1, &[x]), of(Sub, &[&of(Exp10, &[x]), &one]));
        assert_agree(Log2p1, of(Log2p1, &[x]), of(Log2, &[&more]));
        assert_agree(Log10p1, of(Log10p1, &[x]), of(Div, &[&of(Log, &[&more]), &of(Log, &[&ten])]));
        assert_agree(Compound, of(Compound, &[x, &three]), of(Pow, &[&more, &three]));
        assert_agree(Rootn, of(Rootn, &[x, &three]), of(Cbrt, &[x]));
        assert_agree(Rsqrt, of(Rsqrt, &[&more]), of(Div, &[&one, &of(Sqrt, &[&more])]));
        assert_agree(Powr, of(Powr, &[&more, x]), of(Pow, &[&more, x]));
        assert_agree(Ldexp, of(Ldexp, &[x, &three]), of(Mul, &[x, &real(8.0)]));
        assert_agree(Ldexp, of(Ldexp, &[&three, x]), of(Mul, &[&three, &of(Exp2, &[x])]));
        let parts = of(Add, &[&of(Fraction, &[&of(Mul, &[&ten, x])]), &of(Trunc, &[&of(Mul, &[&ten, x])])]);
        assert_agree(Fraction, parts, of(Mul, &[&ten, x]));
        let significand = of(Abs, &[&of(Frexp, &[x])]).to_f64();
        assert!((0.5..1.0).contains(&significand), "{significand}");
    }
}

#[test]
fn the_greater_and_the_lesser_see_nan_as_c_says() {
    let (nan, two, three) = (real(f64::NAN), real(2.0), real(-3.0));
    for (operator, numbers, with_nan) in [
        (Max, 2.0, 2.0),
        (Min, -3.0, 2.0),
        (Maximum, 2.0, f64::NAN),
        (Minimum, -3.0, f64::NAN),
        (MaxMag, -3.0, 2.0),
        (MinMag, 2.0, 2.0),
        (MaximumMag, -3.0, f64::NAN),
        (MinimumMag, 2.0, f64::NAN),
    ] {
        let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
        assert!(same(of(operator, &[&two, &three]).to_f64(), numbers), "{}", operator.name());
        assert!(same(of(operator, &[&three, &two]).to_f64(), numbers), "{}", operator.name());
        assert!(same(of(operator, &[&nan, &two]).to_f64(), with_nan), "{}", operator.name());
        assert!(same(of(operator, &[&two, &nan]).to_f64(), with_nan), "{}", operator.name());
    }
    // Of the same magnitude, the greater.
    assert_eq!(of(MaxMag, &[&two, &real(-2.0)]).to_f64(), 2.0);
    assert_eq!(of(MinMag, &[&two, &real(-2.0)]).to_f64(), -2.0);
}

/// A complex number by its parts.
type Pair = [Mpfr; 2];

fn pair(re: Operator, args: &[&Mpfr]) -> Pair {
    [of(re, args), of(re.other_part().expect("it has one"), args)]
}

fn applied(re: Operator, [a, b]: &Pair) -> Pair {
    pair(re, &[a, b])
}

fn joined(re: Operator, [a, b]: &Pair, [c, d]: &Pair) -> Pair {
    pair(re, &[a, b, c, d])
}

fn assert_pairs(operator: Operator, a: &Pair, b: &Pair) {
    for (a, b) in a.iter().zip(b) {
        assert_agree(operator, a.clone(), b.clone());
    }
}

#[test]
fn the_parts_of_complex_functions_are_told_apart_and_belong_together() {
    assert_eq!((ReSin.other_part(), ImSin.other_part()), (Some(ImSin), Some(ReSin)));
    assert_eq!((Sin.other_part(), Remainder.other_part()), (None, None));
    for x in &samples() {
        let z = [x.clone(), of(Add, &[x, &real(0.5)])];
        let [a, b] = &z;
        // (a + bi)^2, by hand.
        let square = [of(Sub, &[&of(Mul, &[a, a]), &of(Mul, &[b, b])]), of(Mul, &[&real(2.0), &of(Mul, &[a, b])])];
        assert_pairs(ReMul, &joined(ReMul, &z, &z), &square);
        assert_pairs(ReDiv, &joined(ReDiv, &square, &z), &z);
        let two = [real(2.0), real(0.0)];
        assert_pairs(RePow, &joined(RePow, &z, &two), &square);
        let root = applied(ReSqrt, &z);
        assert_pairs(ReSqrt, &joined(ReMul, &root, &root), &z);
        // sin(a + bi) = sin a cosh b + i cos a sinh b, and its like.
        let product = |f, g| of(Mul, &[&of(f, &[a]), &of(g, &[b])]);
        assert_pairs(ReSin, &applied(ReSin, &z), &[product(Sin, Cosh), product(Cos, Sinh)]);
        assert_pairs(ReCos, &applied(ReCos, &z), &[product(Cos, Cosh), of(Neg, &[&product(Sin, Sinh)])]);
        assert_pairs(ReSinh, &applied(ReSinh, &z), &[product(Sinh, Cos), product(Cosh, Sin)]);
        assert_pairs(ReCosh, &applied(ReCosh, &z), &[product(Cosh, Cos), product(Sinh, Sin)]);
        assert_pairs(ReExp, &applied(ReExp, &z), &[product(Exp, Cos), product(Exp, Sin)]);
        let logarithm = [of(Log, &[&of(Hypot, &[a, b])]), of(Atan2, &[b, a])];
        assert_pairs(ReLog, &applied(ReLog, &z), &logarithm);
        let ten = of(Log, &[&real(10.0)]);
        let common = logarithm.map(|part| of(Div, &[&part, &ten]));
        assert_pairs(ReLog10, &applied(ReLog10, &z), &common);
        for (quotient, above, below) in [(ReTan, ReSin, ReCos), (ReTanh, ReSinh, ReCosh)] {
            let parts = joined(ReDiv, &applied(above, &z), &applied(below, &z));
            assert_pairs(quotient, &applied(quotient, &z), &parts);
        }
        for (inverse, function) in
            [(ReAsin, ReSin), (ReAcos, ReCos), (ReAtan, ReTan), (ReAsinh, ReSinh), (ReAcosh, ReCosh), (ReAtanh, ReTanh)]
        {
            assert_pairs(inverse, &applied(function, &applied(inverse, &z)), &z);
        }
    }
}

#[test]
fn extreme_powers_of_complex_numbers_take_no_time() {
    let z = [real(1e-300), real(2e-300)];
    for exponent in [[real(1e300), real(1.0)], [real(1e-300), real(1e-280)], [real(1e17), real(-3.0)]] {
        let _ = joined(RePow, &z, &exponent);
    }
    // Where both ways are open they lead to the same.
    let (small, one) = (of(Exp2, &[&real(-41.0)]), real(1.0));
    let near = [of(Add, &[&one, &small]), small];
    let power = joined(RePow, &near, &[real(0.5), real(0.0)]);
    assert_pairs(RePow, &power, &applied(ReSqrt, &near));
}
