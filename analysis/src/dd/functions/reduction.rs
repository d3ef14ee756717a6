//! What is left of a number when multiples of another are taken away.

use super::twofold::{Twofold, fast_two_sum, two_product, two_sum};

/// A double added to this is rounded to an integer, which is in the sum's last bits.
const MAGIC: f64 = 1.5 * (1u64 << 52) as f64;

/// The integer next to a double of less than 2^30.
#[inline(always)]
pub fn nearest(value: f64) -> (f64, i32) {
    let sum = value + MAGIC;
    (sum - MAGIC, sum.to_bits() as i32)
}

/// `x - count * step`, if that is at most some half a step, and the bound of its error. The step has three doubles.
///
/// The products with the first two are exact, and what is left of the first difference is. Where the number, its multiple and the rest
/// have magnitudes x, x and r: the third product and the sum of what the others left, each below 5u^2 x, round by 20u^3 x in all, the
/// step itself is wrong by u^3 x of it, and the result rounds by 2u^2 r.
#[inline(always)]
pub fn rest(x: Twofold, count: f64, step: &[f64; 3]) -> (Twofold, f64) {
    const U: f64 = f64::EPSILON / 2.0;
    let (first, second, third) = (two_product(count, step[0]), two_product(count, step[1]), count * step[2]);
    let high = x.hi - first.hi;
    let low = two_sum(x.lo, -first.lo);
    let sum = two_sum(high, low.hi);
    let less = two_sum(sum.hi, -second.hi);
    let middle = two_sum(sum.lo, less.lo);
    let lowest = ((low.lo - second.lo) + middle.lo) - third;
    let all = two_sum(less.hi, middle.hi);
    let rest = fast_two_sum(all.hi, all.lo + lowest);
    (rest, 4.0 * U * U * rest.hi.abs() + 32.0 * U * U * U * x.hi.abs())
}
