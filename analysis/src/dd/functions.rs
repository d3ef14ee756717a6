//! Elementary functions of double-doubles, within a known part of their results: all within 2^-88 where that is not small beside
//! what it is made of, most within 2^-95, powers within what their exponents are large.
//!
//! What is not within easy reach is left to MPFR: the ends of the doubles, large angles, arguments without a result, results that seem to be a
//! float or the middle between two, because digits of a double-double do not tell whether they are. Machines without FMA have MPFR do it all.
//!
//! A function is computed in two steps: something in a table, and a polynomial of what is left, which is so little that its first two or three terms
//! have the digits of a double-double, while doubles do for the others. What is below the upper doubles is summed up once, at the end: a polynomial of
//! pairs has the CPU wait for each. The bounds are what is stated with each, and rounded up.

mod arc;
mod circular;
mod exponential;
mod logarithm;
mod power;
mod reduction;
mod spread;
mod tables;
mod twofold;

use crate::pair::{Pair, SLACK, U, is_safe};
use crate::real::Function;
use fpgrind_ir::Operator;
use spread::Spread;
pub use spread::{grown, sway};
use tables::TABLES;
use twofold::Twofold;

const U2: f64 = U * U;

/// A number and how far from it the truth is, at most, if the arguments are right.
struct Approximation {
    value: Twofold,
    err: f64,
}

/// The function, if it is one of these and the arguments are within reach.
#[inline(always)]
pub fn apply(operator: Operator, args: &[Pair]) -> Option<Function> {
    if !is_x86_feature_detected!("fma") {
        return None;
    }
    // SAFETY: the machine has FMA.
    unsafe {
        match *args {
            [x] => apply_to_one(operator, x),
            [x, y] => apply_to_two(operator, x, y),
            _ => None,
        }
    }
}

/// Each function has code of its own: which it is, is asked once.
macro_rules! each {
    ($operator:expr, $args:expr, $($known:ident)*) => {
        match $operator {
            $(Operator::$known => apply_known(Operator::$known, $args),)*
            _ => None,
        }
    };
}

#[target_feature(enable = "fma")]
fn apply_to_one(operator: Operator, x: Pair) -> Option<Function> {
    each!(operator, &[x], Exp Exp2 Expm1 Sinh Cosh Tanh Log Log2 Log10 Log1p Exp10 Asinh Acosh Atanh Sin Cos Tan Atan Asin Acos Cbrt)
}

#[target_feature(enable = "fma")]
fn apply_to_two(operator: Operator, x: Pair, y: Pair) -> Option<Function> {
    each!(operator, &[x, y], Pow Atan2 Hypot)
}

#[inline(always)]
fn apply_known(operator: Operator, args: &[Pair]) -> Option<Function> {
    if let Some(value) = exactly(operator, args) {
        return Some(Function { value, sway: 0.0 });
    }
    // NaN, infinities, zeros and numbers near the ends of the doubles are none of ours.
    if !args.iter().all(|arg| is_safe(arg.hi)) {
        return None;
    }
    // By value: two doubles that were just written to memory cannot be read as one piece.
    let of = |arg: Pair| Twofold { hi: arg.hi, lo: arg.lo };
    // SAFETY: whoever calls it is compiled for FMA.
    let Approximation { value, err } = unsafe {
        match *args {
            [x] => of_one(operator, of(x)),
            [x, y] => of_two(operator, of(x), of(y)),
            _ => None,
        }
    }?;
    let is_near = err <= value.hi.abs() * TOO_FAR;
    if !is_safe(value.hi) || !is_near || may_be_short(value, err) {
        return None;
    }
    let Spread { doubt, sway } = spread::of_args(operator, args, value.hi);
    Some(Function { value: Pair::new(value.hi, value.lo, (err * SLACK + doubt) * SLACK), sway })
}

/// MPFR does better than that: 2^-80.
const TOO_FAR: f64 = f64::from_bits((1023 - 80) << 52);

/// May it have so few digits that it is a float, or the middle between two floats, of any format that double-doubles serve? The longest has
/// 64, and so a middle 65.
#[inline(always)]
fn may_be_short(value: Twofold, err: f64) -> bool {
    const EXPONENT: u64 = 0x7ff << 52;
    // Added to the lower double, this rounds it to what the 66th digit of the number counts.
    let round = f64::from_bits(value.hi.to_bits() & EXPONENT) * (1.5 / (1 << 13) as f64);
    (value.lo - ((value.lo + round) - round)).abs() <= err
}

/// Results that are exact, without further ado.
#[inline(always)]
fn exactly(operator: Operator, args: &[Pair]) -> Option<Pair> {
    use Operator::*;
    let value = match (operator, args) {
        (Pow, [x, y]) if x.is_double() && y.is_double() => {
            let exact = power::exactly(x.hi, y.hi).filter(|_| is_safe(x.hi))?;
            return is_safe(exact.hi).then(|| Pair::new(exact.hi, exact.lo, 0.0));
        }
        (_, [x]) if x.is_double() && x.hi == 0.0 => match operator {
            Sin | Tan | Asin | Atan | Sinh | Tanh | Asinh | Atanh | Expm1 | Log1p | Cbrt => x.hi,
            Cos | Cosh | Exp | Exp2 | Exp10 => 1.0,
            _ => return None,
        },
        (Log | Log10 | Acos | Acosh, [x]) if x.is_double() && x.hi == 1.0 => 0.0,
        (Log2, [x]) if x.is_double() && x.hi > 0.0 && x.hi.to_bits() << 12 == 0 && is_safe(x.hi) => {
            (x.hi.to_bits() >> 52) as f64 - 1023.0
        }
        (Exp2, [x]) if x.is_double() && x.hi.fract() == 0.0 && x.hi.abs() < 900.0 => {
            f64::from_bits(((1023 + x.hi as i64) as u64) << 52)
        }
        _ => return None,
    };
    Some(Pair::double(value))
}

/// # Safety
/// The machine has FMA.
#[inline(always)]
unsafe fn of_one(operator: Operator, x: Twofold) -> Option<Approximation> {
    // SAFETY: as said.
    unsafe {
        match operator {
            Operator::Exp => exponential::exp(x),
            Operator::Exp2 => exponential::exp2(x),
            Operator::Expm1 => exponential::expm1(x),
            Operator::Sinh => exponential::sinh(x),
            Operator::Cosh => exponential::cosh(x),
            Operator::Tanh => exponential::tanh(x),
            Operator::Log if x.hi > 0.0 => Some(logarithm::log(x)),
            Operator::Log2 if x.hi > 0.0 => Some(logarithm::log_times(x, TABLES.log2_e)),
            Operator::Log10 if x.hi > 0.0 => Some(logarithm::log_times(x, TABLES.log10_e)),
            Operator::Log1p => logarithm::log1p(x),
            Operator::Exp10 => exponential::exp10(x),
            Operator::Asinh => logarithm::asinh(x),
            Operator::Acosh => logarithm::acosh(x),
            Operator::Atanh => logarithm::atanh(x),
            Operator::Sin => circular::sin(x),
            Operator::Cos => circular::cos(x),
            Operator::Tan => circular::tan(x),
            Operator::Atan => Some(arc::atan(x)),
            Operator::Asin => arc::asin(x),
            Operator::Acos => arc::acos(x),
            Operator::Cbrt => power::cbrt(x),
            _ => None,
        }
    }
}

/// # Safety
/// As above.
#[inline(always)]
unsafe fn of_two(operator: Operator, x: Twofold, y: Twofold) -> Option<Approximation> {
    // SAFETY: as said.
    unsafe {
        match operator {
            Operator::Pow => power::pow(x, y),
            Operator::Atan2 => Some(arc::atan2(x, y)),
            Operator::Hypot => power::hypot(x, y),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "functions/tests.rs"]
mod tests;
