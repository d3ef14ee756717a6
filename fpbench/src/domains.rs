//! The kinds of numbers that cores run on: floats as the program has them, reals, and both at once along the
//! program's own path.

use crate::ast::Precision;
use crate::evaluate::Domain;
use crate::libm;
use crate::number::Literal;
use crate::operators::{Comparison, Constant, Operator, Test};
use crate::truth::bits_of_error;
use rug::Float;
use rug::float::{Round, Special};
use rug::ops::Pow;

/// Floats, each operation rounding as the compiled program does.
pub struct Native;

/// A float, held in the double of the same value, and its format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Native64 {
    pub value: f64,
    pub precision: Precision,
}

/// Real numbers with so many bits, deciding by reals: what FPCore means without rounding.
pub struct Reals {
    pub bits: u32,
}

/// Floats that decide, and beside each the real that it stands for. Constants are those of the program.
pub struct Along {
    reals: Reals,
    /// Decisions that go the other way in the reals.
    pub wrong_decisions: u64,
    /// The same where a compiler is free to decide by itself or not at all: between constants, in roundings to integers,
    /// which it may inline, and before a root, whose argument's sign it may test to set errno.
    pub optional_decisions: u64,
}

#[derive(Clone, Debug)]
pub struct Pair {
    pub native: Native64,
    pub real: Float,
    /// The most bits that an operation behind it loses by itself: on its exact arguments, rounded.
    pub worst_local: f64,
    /// Does not depend on any input.
    constant: bool,
}

/// Numbers beyond two to this are infinite, those below two to minus this are zero: so that no sine takes forever.
const MAX_EXPONENT: i32 = 1 << 17;

impl Native {
    pub fn input(value: f64, precision: Precision) -> Native64 {
        Native64 { value: precision.round(value), precision }
    }
}

impl Along {
    pub fn new(bits: u32) -> Along {
        Along { reals: Reals { bits }, wrong_decisions: 0, optional_decisions: 0 }
    }

    /// An input of the program, taken as exact.
    pub fn exact(&self, native: Native64) -> Pair {
        Pair { native, real: Float::with_val(self.reals.bits, native.value), worst_local: 0.0, constant: false }
    }
}

fn local_error(operator: Operator, precision: Precision, args: &[Pair], real: &Float) -> f64 {
    let exact = |arg: &Pair| Native::input(rounded(&arg.real, arg.native.precision), arg.native.precision);
    let local = Native.operate(operator, precision, &args.iter().map(exact).collect::<Vec<_>>()).value;
    let correct = rounded(real, precision);
    // NaN has other causes than lost digits.
    if local.is_nan() || correct.is_nan() { 0.0 } else { bits_of_error(local, correct, precision) }
}

impl Domain for Native {
    type Number = Native64;

    fn literal(&mut self, literal: &Literal, precision: Precision) -> Native64 {
        let value = match precision {
            Precision::Binary32 => literal.single.into(),
            Precision::Binary64 => literal.double,
        };
        Native64 { value, precision }
    }

    fn constant(&mut self, constant: Constant, precision: Precision) -> Native64 {
        let real = Reals { bits: 256 }.constant(constant, precision);
        let value = match precision {
            Precision::Binary32 => real.to_f32().into(),
            Precision::Binary64 => real.to_f64(),
        };
        Native64 { value, precision }
    }

    fn operate(&mut self, operator: Operator, precision: Precision, args: &[Native64]) -> Native64 {
        let doubles: Vec<f64> = args.iter().map(|arg| arg.value).collect();
        // As in C: an operation on a double is one in doubles, and its result is rounded to single.
        let value = match args.iter().map(|arg| arg.precision).max().unwrap_or(precision).max(precision) {
            Precision::Binary32 => {
                let singles: Vec<f32> = doubles.iter().map(|arg| *arg as f32).collect();
                libm::apply32(operator, &singles).into()
            }
            Precision::Binary64 => precision.round(libm::apply64(operator, &doubles)),
        };
        Native64 { value, precision }
    }

    fn compare(&mut self, comparison: Comparison, a: &Native64, b: &Native64) -> bool {
        comparison.holds(&a.value, &b.value)
    }

    fn test(&mut self, test: Test, number: &Native64) -> bool {
        match test {
            Test::IsFinite => number.value.is_finite(),
            Test::IsInf => number.value.is_infinite(),
            Test::IsNan => number.value.is_nan(),
            Test::IsNormal if number.precision == Precision::Binary32 => (number.value as f32).is_normal(),
            Test::IsNormal => number.value.is_normal(),
            Test::Signbit => number.value.is_sign_negative(),
        }
    }
}

impl Domain for Reals {
    type Number = Float;

    fn literal(&mut self, literal: &Literal, _: Precision) -> Float {
        Float::with_val(self.bits, &literal.value)
    }

    fn constant(&mut self, constant: Constant, _: Precision) -> Float {
        let number = |value: f64| Float::with_val(self.bits, value);
        let pi = || Float::with_val(self.bits, rug::float::Constant::Pi);
        match constant {
            Constant::E => number(1.0).exp(),
            Constant::Log2E => number(2.0).ln().recip(),
            Constant::Log10E => number(10.0).ln().recip(),
            Constant::Ln2 => number(2.0).ln(),
            Constant::Ln10 => number(10.0).ln(),
            Constant::Pi => pi(),
            Constant::PiOver2 => pi() / 2u32,
            Constant::PiOver4 => pi() / 4u32,
            Constant::OneOverPi => pi().recip(),
            Constant::TwoOverPi => pi().recip() * 2u32,
            Constant::TwoOverSqrtPi => pi().sqrt().recip() * 2u32,
            Constant::Sqrt2 => number(2.0).sqrt(),
            Constant::SqrtHalf => number(0.5).sqrt(),
            Constant::Infinity => number(f64::INFINITY),
            Constant::Nan => number(f64::NAN),
        }
    }

    fn operate(&mut self, operator: Operator, _: Precision, args: &[Float]) -> Float {
        let mut result = real(operator, args, self.bits);
        match result.get_exp() {
            Some(exponent) if exponent > MAX_EXPONENT => {
                let special = if result.is_sign_negative() { Special::NegInfinity } else { Special::Infinity };
                result = Float::with_val(self.bits, special);
            }
            Some(exponent) if exponent < -MAX_EXPONENT => {
                let special = if result.is_sign_negative() { Special::NegZero } else { Special::Zero };
                result = Float::with_val(self.bits, special);
            }
            _ => {}
        }
        result
    }

    fn compare(&mut self, comparison: Comparison, a: &Float, b: &Float) -> bool {
        comparison.holds(a, b)
    }

    fn test(&mut self, test: Test, number: &Float) -> bool {
        match test {
            Test::IsFinite => number.is_finite(),
            Test::IsInf => number.is_infinite(),
            Test::IsNan => number.is_nan(),
            Test::IsNormal => number.is_finite() && !number.is_zero(),
            Test::Signbit => number.is_sign_negative(),
        }
    }
}

fn real(operator: Operator, args: &[Float], bits: u32) -> Float {
    macro_rules! make {
        ($value:expr) => {
            Float::with_val(bits, $value)
        };
    }
    match (operator, args) {
        (Operator::Add, [a, b]) => make!(a + b),
        (Operator::Sub, [a, b]) => make!(a - b),
        (Operator::Mul, [a, b]) => make!(a * b),
        (Operator::Div, [a, b]) => make!(a / b),
        (Operator::Neg, [a]) => make!(-a),
        (Operator::Fabs, [a]) => make!(a.abs_ref()),
        (Operator::Fma, [a, b, c]) => make!(a.mul_add_ref(b, c)),
        (Operator::Exp, [a]) => make!(a.exp_ref()),
        (Operator::Exp2, [a]) => make!(a.exp2_ref()),
        (Operator::Expm1, [a]) => make!(a.exp_m1_ref()),
        (Operator::Log, [a]) => make!(a.ln_ref()),
        (Operator::Log10, [a]) => make!(a.log10_ref()),
        (Operator::Log2, [a]) => make!(a.log2_ref()),
        (Operator::Log1p, [a]) => make!(a.ln_1p_ref()),
        (Operator::Pow, [a, b]) => make!(a.pow(b)),
        (Operator::Sqrt, [a]) => make!(a.sqrt_ref()),
        (Operator::Cbrt, [a]) => make!(a.cbrt_ref()),
        (Operator::Hypot, [a, b]) => make!(a.hypot_ref(b)),
        (Operator::Sin, [a]) => make!(a.sin_ref()),
        (Operator::Cos, [a]) => make!(a.cos_ref()),
        (Operator::Tan, [a]) => make!(a.tan_ref()),
        (Operator::Asin, [a]) => make!(a.asin_ref()),
        (Operator::Acos, [a]) => make!(a.acos_ref()),
        (Operator::Atan, [a]) => make!(a.atan_ref()),
        (Operator::Atan2, [a, b]) => make!(a.atan2_ref(b)),
        (Operator::Sinh, [a]) => make!(a.sinh_ref()),
        (Operator::Cosh, [a]) => make!(a.cosh_ref()),
        (Operator::Tanh, [a]) => make!(a.tanh_ref()),
        (Operator::Asinh, [a]) => make!(a.asinh_ref()),
        (Operator::Acosh, [a]) => make!(a.acosh_ref()),
        (Operator::Atanh, [a]) => make!(a.atanh_ref()),
        (Operator::Erf, [a]) => make!(a.erf_ref()),
        (Operator::Erfc, [a]) => make!(a.erfc_ref()),
        (Operator::Tgamma, [a]) => make!(a.gamma_ref()),
        (Operator::Lgamma, [a]) => a.clone().ln_abs_gamma().0,
        (Operator::Ceil, [a]) => make!(a.ceil_ref()),
        (Operator::Floor, [a]) => make!(a.floor_ref()),
        (Operator::Trunc, [a]) => make!(a.trunc_ref()),
        (Operator::Round, [a]) => make!(a.round_ref()),
        (Operator::Nearbyint, [a]) => make!(a.round_even_ref()),
        (Operator::Fmod, [a, b]) => make!(a % b),
        (Operator::Remainder, [a, b]) => make!(a.remainder_ref(b)),
        (Operator::Fmax, [a, b]) => make!(a.max_ref(b)),
        (Operator::Fmin, [a, b]) => make!(a.min_ref(b)),
        (Operator::Fdim, [a, b]) => make!(a.positive_diff_ref(b)),
        (Operator::Copysign, [a, b]) => make!(a.copysign_ref(b)),
        (Operator::Cast, [a]) => make!(a),
        _ => make!(Special::Nan),
    }
}

impl Domain for Along {
    type Number = Pair;

    fn literal(&mut self, literal: &Literal, precision: Precision) -> Pair {
        let native = Native.literal(literal, precision);
        Pair { constant: true, ..self.exact(native) }
    }

    fn constant(&mut self, constant: Constant, precision: Precision) -> Pair {
        let native = Native.constant(constant, precision);
        Pair { constant: true, ..self.exact(native) }
    }

    fn operate(&mut self, operator: Operator, precision: Precision, args: &[Pair]) -> Pair {
        let natives: Vec<Native64> = args.iter().map(|arg| arg.native).collect();
        let reals: Vec<Float> = args.iter().map(|arg| arg.real.clone()).collect();
        let native = Native.operate(operator, precision, &natives);
        if let (Operator::Sqrt, [native], [real]) = (operator, natives.as_slice(), reals.as_slice()) {
            self.optional_decisions += u64::from((native.value < 0.0) != (*real < 0.0));
        }
        let real = self.reals.operate(operator, precision, &reals);
        if matches!(operator, Operator::Floor | Operator::Ceil | Operator::Trunc | Operator::Round) {
            self.optional_decisions += u64::from(native.value != rounded(&real, precision));
        }
        let local = local_error(operator, precision, args, &real);
        let worst_local = args.iter().map(|arg| arg.worst_local).fold(local, f64::max);
        Pair { native, real, worst_local, constant: args.iter().all(|arg| arg.constant) }
    }

    fn compare(&mut self, comparison: Comparison, a: &Pair, b: &Pair) -> bool {
        let native = Native.compare(comparison, &a.native, &b.native);
        let real = self.reals.compare(comparison, &a.real, &b.real);
        let count = if a.constant && b.constant { &mut self.optional_decisions } else { &mut self.wrong_decisions };
        *count += u64::from(native != real);
        native
    }

    fn test(&mut self, test: Test, number: &Pair) -> bool {
        Native.test(test, &number.native)
    }
}

/// The real's nearest float in a format, ties to even, rounded once.
pub fn rounded(real: &Float, precision: Precision) -> f64 {
    match precision {
        Precision::Binary32 => real.to_f32_round(Round::Nearest).into(),
        Precision::Binary64 => real.to_f64_round(Round::Nearest),
    }
}
