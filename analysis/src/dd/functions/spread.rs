//! What it does to a function's result that its arguments are others.

use crate::mode::Target;
use crate::pair::{LITTLE, Pair, SLACK};
use fpgrind_ir::Operator;

/// A little more than the derivative says, if the change is small.
const MORE: f64 = 1.0 + 1e-3;

/// What a small change of an argument does to the result, at most; nothing if that is not known.
#[inline(always)]
pub fn grown(operator: Operator, args: &[Pair], number: usize, result: f64, change: f64) -> Option<f64> {
    let x = args[number].hi;
    let part = change / x.abs();
    Some(match (operator, number) {
        (Operator::Sin | Operator::Cos | Operator::Tanh | Operator::Asinh, 0) => change,
        (Operator::Erf, 0) => 1.2 * change,
        (Operator::Exp | Operator::Exp2 | Operator::Cosh, 0) => result.abs() * change,
        (Operator::Expm1 | Operator::Sinh, 0) => (result.abs() + 1.0) * change,
        (Operator::Log, 0) => part,
        (Operator::Log2, 0) => 1.5 * part,
        (Operator::Log10, 0) => 0.5 * part,
        (Operator::Log1p, 0) => change / ((1.0 + x) + args[0].lo).abs(),
        (Operator::Tan, 0) => (1.0 + result * result) * change,
        (Operator::Atan, 0) => change / (1.0 + x * x),
        (Operator::Asin | Operator::Acos, 0) => {
            // Near the ends the derivative is anything.
            let room = (1.0 - x.abs()) + if x < 0.0 { args[0].lo } else { -args[0].lo };
            if change < room * LITTLE { change / (room * (1.0 + x.abs())).sqrt() } else { f64::INFINITY }
        }
        (Operator::Acosh, 0) => {
            let room = (x - 1.0) + args[0].lo;
            if change < room * LITTLE { change / (room * (1.0 + x)).sqrt() } else { f64::INFINITY }
        }
        (Operator::Atanh, 0) => {
            let room = (1.0 - x.abs()) + if x < 0.0 { args[0].lo } else { -args[0].lo };
            if change < room * LITTLE { change / (room * (1.0 + x.abs())) } else { f64::INFINITY }
        }
        (Operator::Exp10, 0) => 2.31 * result.abs() * change,
        (Operator::Atan2, _) => {
            // The other, over what is at most the square of the distance.
            let (other, most) = (args[1 - number].hi.abs(), args[0].hi.abs().max(args[1].hi.abs()));
            change / most * (other / most)
        }
        (Operator::Cbrt, 0) => 0.34 * result.abs() * part,
        (Operator::Pow, 0) => (args[1].hi * result).abs() * part,
        (Operator::Pow, 1) => ((args[0].hi.abs().ln().abs() + (args[0].lo / args[0].hi).abs()) * result).abs() * change,
        (Operator::Hypot, _) => change,
        _ => return None,
    })
}

/// How far a result may move, at most: without end, if that is not known.
pub struct Spread {
    /// By the doubts of the arguments.
    pub doubt: f64,
    /// If the arguments are the doubles next to them instead.
    pub sway: f64,
}

/// By how much that is for each argument is found once, for both: small changes do as much as they are large.
#[inline(always)]
pub fn of_args(operator: Operator, args: &[Pair], result: f64) -> Spread {
    let (mut doubt, mut sway) = (0.0, 0.0);
    for (number, arg) in args.iter().enumerate() {
        let change = (arg.lo.abs() + arg.err) * SLACK;
        if change == 0.0 {
            continue;
        }
        let moved = moved(operator, args, number, result, change);
        sway += moved.unwrap_or(f64::INFINITY);
        if arg.err != 0.0 {
            doubt += match moved {
                Some(moved) => moved * (arg.err / change) + f64::from_bits(8),
                None => self::moved(operator, args, number, result, arg.err).unwrap_or(f64::INFINITY),
            };
        }
    }
    Spread { doubt, sway }
}

/// What a change of an argument does to the result, at most; nothing if that is not known, as for changes that are not small.
#[inline(always)]
fn moved(operator: Operator, args: &[Pair], number: usize, result: f64, change: f64) -> Option<f64> {
    let grown = grown(operator, args, number, result, change)? * MORE + f64::from_bits(8);
    let is_small = change <= args[number].hi.abs() * LITTLE && grown <= result.abs() * LITTLE;
    // Of a negative number there are powers at the integers only.
    let is_known = is_small && !(operator == Operator::Pow && number == 1 && args[0].hi < 0.0);
    is_known.then_some(grown)
}

/// How many floats the result may move, at most, if these are its arguments instead.
pub fn sway(operator: Operator, args: &[Pair], others: &[f64], result: Pair, to: Target) -> Option<u64> {
    if result.hi == 0.0 {
        return None;
    }
    let mut sum = 0.0;
    for (number, (arg, other)) in args.iter().zip(others).enumerate() {
        let change = (((arg.hi - other) + arg.lo).abs() + arg.err) * SLACK;
        if change != 0.0 {
            sum += moved(operator, args, number, result.hi, change)?;
        }
    }
    // The distance of floats at the number's size, or a little less.
    let ulp = result.hi.abs() * f64::from_bits(((1023 - to.digits as i32) as u64) << 52);
    // Either may be rounded away from the other.
    Some((sum / ulp) as u64 + 2)
}
