//! Logarithms: x = 2^n * m and m = (1 + z) / c, where c has few digits and a logarithm in a table, and |z| is little more than 2^-10.

use super::tables::{FIRST_HALVED, LOGARITHMS, TABLES, Tables};
use super::twofold::{Twofold, fast_two_sum, two_product};
use super::{Approximation, U, U2};

/// ln(1 + z) for |z| <= 2^-8.8, within 2^-96 of itself.
///
/// The terms up to z^5 are pairs. The others, from z^6/6, are a double: 3u * z^5/6 of the result, which is 2^-98. The first
/// that is left out is z^12/13 = 2^-109 of it; the roundings of the pairs are 48u^2 = 2^-100.4.
#[inline(always)]
fn of_one_and(z: Twofold, tables: &Tables) -> Twofold {
    let of = &tables.inverses;
    let x = z.hi;
    // The signs alternate, from minus on.
    let tail = (6..=12).rev().fold(0.0, |sum, k: usize| x.mul_add(-sum, of[k].hi));
    let p = of[5].plus_product(z, Twofold::double(-tail));
    let p = (-of[4]).plus_product(z, p);
    let p = of[3].plus_product(z, p);
    let p = (-of[2]).plus_product(z, p);
    let p = Twofold::ONE.plus_product(z, p);
    z * p
}

/// 2^-96.
const OF_ONE_AND: f64 = f64::from_bits((1023 - 96) << 52);

/// ln(1 + z) for |z| <= 2^-9.8, z.lo of at most 4u, as a sum of an upper double and a rest of at most 2^-50; within 6u |z|^5 + 64u^2 |z| + 2u^2.
///
/// z - z^2/2 is kept exactly but for z.lo^2/2, which is 2u^2. z^3 is two doubles, within 4u^2 of itself, and so is what it is times, 1/3 - z/4 + ..., but
/// for the terms from z^2/5 on, which round by 3u of theirs, and with the rest, of z^5/5 and 8u z, five times. z^12/12 and z^5 z.lo
/// are left out.
#[inline(always)]
fn of_one_and_quickly(z: Twofold, tables: &Tables) -> (f64, f64) {
    let of = &tables.inverses;
    let x = z.hi;
    let square = two_product(x, x);
    let cube = two_product(square.hi, x);
    // 3 z^2 z.lo, and what the square has lost.
    let of_cube = x.mul_add(square.lo, (3.0 * square.hi).mul_add(z.lo, cube.lo));
    let w = square.hi;
    // z^2/5 - z^3/6 + z^4/7 - ... + z^8/11.
    let pairs = [5, 7, 9].map(|k: usize| (-x).mul_add(of[k + 1].hi, of[k].hi));
    let tail = w * w.mul_add(w.mul_add(w.mul_add(of[11].hi, pairs[2]), pairs[1]), pairs[0]);
    let first = fast_two_sum(of[3].hi, -0.25 * x);
    let low = (first.lo + of[3].lo) + (-0.25f64).mul_add(z.lo, tail);
    let third = two_product(cube.hi, first.hi);
    let of_third = cube.hi.mul_add(low, of_cube.mul_add(first.hi, third.lo));
    let upper = fast_two_sum(x, -0.5 * square.hi);
    let sum = fast_two_sum(upper.hi, third.hi);
    // With what the cube has of it, z.lo / (1 + z).
    let of_square = z.lo.mul_add(x - w * w, 0.5 * square.lo);
    (sum.hi, ((upper.lo + sum.lo) + (z.lo - of_square)) + of_third)
}

/// The natural logarithm of a positive number.
#[inline]
#[target_feature(enable = "fma")]
pub fn log(x: Twofold) -> Approximation {
    let tables = &*TABLES;
    let bits = x.hi.to_bits();
    let (n, digits) = ((bits >> 52) as i32 - 1023, bits & ((1 << 52) - 1));
    let number = ((digits + (1 << 42)) >> 43) as usize % (LOGARITHMS + 1);
    let (reciprocal, logarithm) = tables.logarithms[number];
    let m = x.scaled(f64::from_bits(((1023 - n) as u64) << 52));
    let product = two_product(m.hi, reciprocal);
    // The upper double is one, or further away from it than the lower one is large.
    let z = fast_two_sum(product.hi - 1.0, product.lo);
    let n = (n + (number >= FIRST_HALVED) as i32) as f64;
    if n == 0.0 && logarithm.hi == 0.0 {
        // All of that was exact, because the reciprocal is a power of two.
        let value = of_one_and(fast_two_sum(z.hi, m.lo * reciprocal), tables);
        return Approximation { value, err: value.hi.abs() * OF_ONE_AND };
    }
    // The lower double is below 4u, and rounds by that of u.
    let z = Twofold { hi: z.hi, lo: m.lo.mul_add(reciprocal, z.lo) };
    let (small, rest) = of_one_and_quickly(z, tables);
    let times_ln_2 = two_product(n, tables.ln_2.hi);
    // A logarithm is at most half of ln(2): nothing cancels but a digit.
    let large = if n == 0.0 { Twofold::double(logarithm.hi) } else { fast_two_sum(times_ln_2.hi, logarithm.hi) };
    let low = (large.lo + rest) + (n.mul_add(tables.ln_2.lo, times_ln_2.lo) + logarithm.lo);
    let sum = fast_two_sum(large.hi, small);
    let value = fast_two_sum(sum.hi, sum.lo + low);
    // The lower doubles are at most 4u of what they are added to, except for the rest. They take four sums, of 4u^2 of that and 8u^2 of
    // the rest each, the constants are within u^2 of themselves, and z is within 4u^2.
    let size = large.hi.abs() + value.hi.abs();
    let (square, small) = (small * small, small.abs());
    Approximation { value, err: U2 * (40.0 * size + 48.0) + small * (6.1 * U * square * square + 64.0 * U2) }
}

/// ln(1 + x). The sum is within 4u^2 of itself; where that is too much, it need not be known.
#[inline]
#[target_feature(enable = "fma")]
pub fn log1p(x: Twofold) -> Option<Approximation> {
    const NEAR: f64 = 1.0 / 448.0;
    if x.hi.abs() <= NEAR {
        let value = of_one_and(x, &TABLES);
        return Some(Approximation { value, err: value.hi.abs() * OF_ONE_AND });
    }
    let sum = Twofold::ONE + x;
    if sum.hi <= 0.0 || !super::is_safe(sum.hi) {
        return None;
    }
    let Approximation { value, err } = log(sum);
    Some(Approximation { value, err: err + 4.0 * U2 })
}

/// The logarithm to another base: times a constant, within 8u^2 of itself.
#[inline]
#[target_feature(enable = "fma")]
pub fn log_times(x: Twofold, constant: Twofold) -> Approximation {
    let Approximation { value, err } = log(x);
    let value = value * constant;
    Approximation { value, err: err * constant.hi * 1.01 + 12.0 * U2 * value.hi.abs() }
}

/// ln(1 + t) of a t that is within so many u^2 of itself: the result is at most that, too.
#[inline]
#[target_feature(enable = "fma")]
fn of_one_and_about(t: Twofold, doubt: f64) -> Option<Approximation> {
    let Approximation { value, err } = log1p(t)?;
    Some(Approximation { value, err: err + doubt * U2 * value.hi.abs() * 1.01 })
}

/// With y = |x|: ln(1 + y + y^2 / (1 + sqrt(1 + y^2))), without a difference.
#[inline]
#[target_feature(enable = "fma")]
pub fn asinh(x: Twofold) -> Option<Approximation> {
    // Squares are within the doubles.
    if x.hi.abs() > 1e100 {
        return None;
    }
    let (y, square) = (x.magnitude(), x * x);
    let t = y + square / (Twofold::ONE + (Twofold::ONE + square).sqrt());
    let Approximation { value, err } = of_one_and_about(t, 64.0)?;
    Some(Approximation { value: value.signed_as(x.hi), err })
}

/// With t = x - 1: ln(1 + t + sqrt(t (t + 2))).
#[inline]
#[target_feature(enable = "fma")]
pub fn acosh(x: Twofold) -> Option<Approximation> {
    let t = x - Twofold::ONE;
    if t.hi <= 0.0 || x.hi > 1e100 {
        return None;
    }
    of_one_and_about(t + (t * (t + Twofold::double(2.0))).sqrt(), 48.0)
}

/// With y = |x|: ln(1 + 2y / (1 - y)) / 2.
#[inline]
#[target_feature(enable = "fma")]
pub fn atanh(x: Twofold) -> Option<Approximation> {
    let y = x.magnitude();
    let room = Twofold::ONE - y;
    if room.hi <= 0.0 {
        return None;
    }
    let Approximation { value, err } = of_one_and_about(y.scaled(2.0) / room, 32.0)?;
    Some(Approximation { value: value.scaled(0.5).signed_as(x.hi), err: 0.5 * err })
}
