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

/// `x - count * step`, if that is at most some half a step, and the bound of its error, which is not a part of it. The step has three doubles, of
/// which the first has so few digits that its product with the count, below 2^24, is exact; so is the difference, because x is at
/// least half of that, and at most twice.
///
/// With m = |x| and the rest r: the second product is below 2^-28 m, and what it rounds by is kept. The four terms of the lower double are at most u r,
/// 2^-81 m, x.lo and 2^-81 m. Each is rounded in two sums: by 2u^2 r + 2u x.lo + 2^-131 m in all. The step itself is wrong by 2^-134 m, and the result
/// rounds by u^2 r. Nothing if the rest is so small that the lower double may be larger.
#[inline(always)]
pub fn rest_quickly(x: Twofold, count: f64, step: &[f64; 3]) -> Option<(Twofold, f64)> {
    const U: f64 = f64::EPSILON / 2.0;
    const TINY: f64 = 1.0 / (1u64 << 40) as f64;
    const FAR_BELOW: f64 = f64::from_bits((1023 - 130) << 52);
    let (second, third) = (two_product(count, step[1]), count * step[2]);
    let high = x.hi - count * step[0];
    let sum = two_sum(high, -second.hi);
    let low = (sum.lo - second.lo) + (x.lo - third);
    let is_known = sum.hi.abs() >= x.hi.abs() * TINY && count.abs() < (1 << 24) as f64;
    let doubt = (4.0 * U * U) * sum.hi.abs() + (3.0 * U) * x.lo.abs() + FAR_BELOW * x.hi.abs();
    is_known.then(|| (fast_two_sum(sum.hi, low), doubt))
}

/// The same to the last digits of what is left, however small. The step has three full doubles.
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
