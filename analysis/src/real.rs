//! Reals: the numbers that floats stand for. An interface, because there is more than one way to approximate them;
//! everything derived from reals is written once, on top of this interface.

use crate::native::Direction;
use fpgrind_ir::{Operator, Type};
use rug::Float;
use rug::float::Round;
use rug::ops::Pow;
use std::cmp::Ordering;

pub trait Real: Clone {
    /// Zero, with so many bits of significand where that is a choice.
    fn zero(precision: u32) -> Self;
    /// Becomes exactly this float; NaN and the infinities included.
    fn assign(&mut self, value: f64);
    /// The operation in the reals. `args` has the operator's arity; otherwise the result is NaN.
    fn apply(operator: Operator, args: &[&Self]) -> Self;
    /// Nothing if either is NaN.
    fn compare(&self, other: &Self) -> Option<Ordering>;
    fn is_nan(&self) -> bool;
    /// The nearest double, ties to even, rounded once.
    fn to_f64(&self) -> f64;
    /// The nearest single, ties to even, rounded once.
    fn to_f32(&self) -> f32;
    /// The integer next to it in that direction, if it fits.
    fn to_i64(&self, direction: Direction) -> Option<i64>;

    fn exactly(precision: u32, value: f64) -> Self {
        let mut real = Self::zero(precision);
        real.assign(value);
        real
    }

    /// The bits of the nearest float of a format.
    fn rounded(&self, ty: Type) -> u64 {
        match ty {
            Type::F32 => self.to_f32().to_bits() as u64,
            _ => self.to_f64().to_bits(),
        }
    }
}

/// A real as an MPFR number.
#[derive(Clone, Debug)]
pub struct Mpfr(Float);

/// Numbers beyond 2^32768 count as infinite, those below 2^-32768 as zero. No float format comes near, and without a
/// bound a loop that squares its value leads to numbers whose sine takes MPFR forever.
const MAX_EXPONENT: i32 = 32768;
/// A double's 53 bits must fit, with room to spare.
const MIN_PRECISION: u32 = 64;
/// More than anybody needs, and what memory allows.
const MAX_PRECISION: u32 = 1 << 20;

impl Real for Mpfr {
    fn zero(precision: u32) -> Mpfr {
        Mpfr(Float::new(precision.clamp(MIN_PRECISION, MAX_PRECISION)))
    }

    fn assign(&mut self, value: f64) {
        rug::Assign::assign(&mut self.0, value);
    }

    fn apply(operator: Operator, args: &[&Mpfr]) -> Mpfr {
        let precision = args.first().map_or(MIN_PRECISION, |arg| arg.0.prec());
        macro_rules! make {
            ($value:expr) => {
                Float::with_val(precision, $value)
            };
        }
        let result = match (operator, args) {
            (Operator::Add, [a, b]) => make!(&a.0 + &b.0),
            (Operator::Sub, [a, b]) => make!(&a.0 - &b.0),
            (Operator::Mul, [a, b]) => make!(&a.0 * &b.0),
            (Operator::Div, [a, b]) => make!(&a.0 / &b.0),
            (Operator::Neg, [a]) => make!(-&a.0),
            (Operator::Abs, [a]) => make!(a.0.abs_ref()),
            (Operator::Min, [a, b]) => make!(a.0.min_ref(&b.0)),
            (Operator::Max, [a, b]) => make!(a.0.max_ref(&b.0)),
            (Operator::Sqrt, [a]) => make!(a.0.sqrt_ref()),
            (Operator::Cast, [a]) => make!(&a.0),
            (Operator::Fma, [a, b, c]) => make!(a.0.mul_add_ref(&b.0, &c.0)),
            (Operator::Cbrt, [a]) => make!(a.0.cbrt_ref()),
            (Operator::Hypot, [a, b]) => make!(a.0.hypot_ref(&b.0)),
            (Operator::Exp, [a]) => make!(a.0.exp_ref()),
            (Operator::Exp2, [a]) => make!(a.0.exp2_ref()),
            (Operator::Expm1, [a]) => make!(a.0.exp_m1_ref()),
            (Operator::Log, [a]) => make!(a.0.ln_ref()),
            (Operator::Log2, [a]) => make!(a.0.log2_ref()),
            (Operator::Log10, [a]) => make!(a.0.log10_ref()),
            (Operator::Log1p, [a]) => make!(a.0.ln_1p_ref()),
            (Operator::Pow, [a, b]) => make!((&a.0).pow(&b.0)),
            (Operator::Sin, [a]) => make!(a.0.sin_ref()),
            (Operator::Cos, [a]) => make!(a.0.cos_ref()),
            (Operator::Tan, [a]) => make!(a.0.tan_ref()),
            (Operator::Asin, [a]) => make!(a.0.asin_ref()),
            (Operator::Acos, [a]) => make!(a.0.acos_ref()),
            (Operator::Atan, [a]) => make!(a.0.atan_ref()),
            (Operator::Atan2, [a, b]) => make!(a.0.atan2_ref(&b.0)),
            (Operator::Sinh, [a]) => make!(a.0.sinh_ref()),
            (Operator::Cosh, [a]) => make!(a.0.cosh_ref()),
            (Operator::Tanh, [a]) => make!(a.0.tanh_ref()),
            (Operator::Floor, [a]) => make!(a.0.floor_ref()),
            (Operator::Ceil, [a]) => make!(a.0.ceil_ref()),
            (Operator::Fmod, [a, b]) => make!(&a.0 % &b.0),
            _ => make!(rug::float::Special::Nan),
        };
        Mpfr(bounded(result))
    }

    fn compare(&self, other: &Mpfr) -> Option<Ordering> {
        self.0.partial_cmp(&other.0)
    }

    fn is_nan(&self) -> bool {
        self.0.is_nan()
    }

    fn to_f64(&self) -> f64 {
        self.0.to_f64()
    }

    fn to_f32(&self) -> f32 {
        self.0.to_f32()
    }

    fn to_i64(&self, direction: Direction) -> Option<i64> {
        // Beyond 2^64 nothing fits, and the integer need not be written out to know it.
        if self.0.get_exp().is_some_and(|exponent| exponent > 64) {
            return None;
        }
        let round = match direction {
            // MPFR's nearest rounds ties to even here too.
            Direction::Nearest => Round::Nearest,
            Direction::Down => Round::Down,
            Direction::Up => Round::Up,
            Direction::Zero => Round::Zero,
        };
        self.0.to_integer_round(round)?.0.to_i64()
    }
}

fn bounded(value: Float) -> Float {
    match value.get_exp() {
        Some(exponent) if exponent > MAX_EXPONENT => {
            let infinity = if value.is_sign_negative() { f64::NEG_INFINITY } else { f64::INFINITY };
            Float::with_val(value.prec(), infinity)
        }
        Some(exponent) if exponent < -MAX_EXPONENT => {
            let zero = if value.is_sign_negative() { -0.0 } else { 0.0 };
            Float::with_val(value.prec(), zero)
        }
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn real(value: f64) -> Mpfr {
        Mpfr::exactly(256, value)
    }

    #[test]
    fn every_operator_is_implemented() {
        for operator in Operator::ALL {
            let half = real(0.5);
            let args = vec![&half; operator.arity()];
            assert!(!Mpfr::apply(*operator, &args).is_nan(), "{}", operator.name());
        }
    }

    #[test]
    fn rounding_to_single_does_not_go_through_double() {
        // Just above the tie between 1 and the next single; the double nearest to it is the tie itself.
        let above_tie = Float::with_val(256, 1)
            + Float::with_val(256, Float::u_exp(1, -24))
            + Float::with_val(256, Float::u_exp(1, -100));
        assert_eq!(Mpfr(above_tie).to_f32(), 1.0 + f32::EPSILON);
    }

    #[test]
    fn rounding_to_subnormals_rounds_once_and_to_even() {
        let smallest = f64::from_bits(1);
        let tie = Float::with_val(256, smallest) * 1.5f64;
        assert_eq!(Mpfr(tie.clone()).to_f64().to_bits(), 2);
        let below = tie - Float::with_val(256, Float::u_exp(1, -1300));
        assert_eq!(Mpfr(below).to_f64().to_bits(), 1);
        let half = Float::with_val(256, smallest) / 2u32;
        assert_eq!(Mpfr(half.clone()).to_f64().to_bits(), 0);
        assert_eq!(Mpfr(half + Float::with_val(256, Float::u_exp(1, -1300))).to_f64().to_bits(), 1);
        let half_single = Float::with_val(256, f32::from_bits(1)) / 2u32;
        assert_eq!(Mpfr(half_single.clone()).to_f32().to_bits(), 0);
        assert_eq!(Mpfr(half_single + Float::with_val(256, Float::u_exp(1, -400))).to_f32().to_bits(), 1);
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
        assert_eq!(value.to_i64(Direction::Nearest), Some(-2));
        assert_eq!(value.to_i64(Direction::Down), Some(-3));
        assert_eq!(value.to_i64(Direction::Up), Some(-2));
        assert_eq!(real(9.3e18).to_i64(Direction::Zero), None);
        assert_eq!(real(f64::NAN).to_i64(Direction::Zero), None);
        assert_eq!(real(f64::INFINITY).to_i64(Direction::Zero), None);
    }

    proptest! {
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
            let product = Mpfr::apply(Operator::Mul, &[&real(a as f64), &real(b as f64)]).to_f32();
            let native = a * b;
            prop_assert!(product == native || (product.is_nan() && native.is_nan()));
        }
    }
}
