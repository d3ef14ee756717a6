//! Logarithms: x = 2^n * m and m = (1 + z) / c, where c has few digits and a logarithm in a table, and |z| is little more than 2^-9.

use super::tables::{FIRST_HALVED, LOGARITHMS, TABLES, Tables};
use super::twofold::{Twofold, two_product, two_sum};
use super::{Approximation, U2};

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

/// The natural logarithm of a positive number.
#[inline]
#[target_feature(enable = "fma")]
pub fn log(x: Twofold) -> Approximation {
    let tables = &*TABLES;
    let bits = x.hi.to_bits();
    let (n, digits) = ((bits >> 52) as i32 - 1023, bits & ((1 << 52) - 1));
    let number = ((digits + (1 << 43)) >> 44) as usize % (LOGARITHMS + 1);
    let (reciprocal, logarithm) = tables.logarithms[number];
    let m = x.scaled(f64::from_bits(((1023 - n) as u64) << 52));
    // Exact where the reciprocal is a power of two, as it is near 1; u^3 elsewhere.
    let (high, low) = (two_product(m.hi, reciprocal), two_product(m.lo, reciprocal));
    let rest = two_sum(high.lo, low.hi);
    let z = two_sum(high.hi - 1.0, rest.hi);
    let z = Twofold { hi: z.hi, lo: z.lo + (rest.lo + low.lo) };
    let small = of_one_and(z, tables);
    let n = (n + (number >= FIRST_HALVED) as i32) as f64;
    if n == 0.0 && logarithm.hi == 0.0 {
        return Approximation { value: small, err: small.hi.abs() * OF_ONE_AND };
    }
    let times_ln_2 = two_product(n, tables.ln_2.hi);
    let large = Twofold { hi: times_ln_2.hi, lo: n.mul_add(tables.ln_2.lo, times_ln_2.lo) } + logarithm;
    let value = large.plus_less(small);
    Approximation { value, err: value.hi.abs() * 48.0 * U2 + small.hi.abs() * OF_ONE_AND }
}

/// ln(1 + x). The sum is within 4u^2 of itself; where that is too much, it need not be known.
#[inline]
#[target_feature(enable = "fma")]
pub fn log1p(x: Twofold) -> Option<Approximation> {
    const NEAR: f64 = 1.0 / 512.0;
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
