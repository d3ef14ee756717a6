//! Arc tangents, and what is one: atan(n/d) = atan(c) + atan((n - c d) / (d + c n)), where c is a multiple of 1/128 near n/d.

use super::reduction::nearest;
use super::tables::{ARCS, TABLES, Tables};
use super::twofold::Twofold;
use super::{Approximation, U2};

/// atan(t) for |t| <= 2^-8, within 48u^2 of itself.
///
/// Of atan(t)/t, the terms up to t^4/5 are pairs, the first that is not, t^6/7, is wrong by 3u of it, which is 2^-102 = 16u^2; t^14/15 is left out.
#[inline(always)]
fn of_rest(t: Twofold, tables: &Tables) -> Twofold {
    let of = &tables.inverses;
    let square = t * t;
    let w = square.hi;
    let tail = w.mul_add(w.mul_add(w.mul_add(of[13].hi, -of[11].hi), of[9].hi), -of[7].hi);
    let p = (-of[3]).plus_product(square, of[5].plus_product(square, Twofold::double(tail)));
    t * Twofold::ONE.plus_product(square, p)
}

/// The angle of a point in the first half of the first quarter: 0 < n <= d.
///
/// n - c d loses 2u^2 c d and rounds by 4u^2 of itself, the denominator 6u^2; with the division t is within 26u^2 of itself and 2u^2 c. What
/// is next to zero has c = 0; elsewhere the rest is at most half of the result.
#[inline(always)]
fn of_ratio(n: Twofold, d: Twofold) -> Approximation {
    let tables = &*TABLES;
    let (count, number) = nearest(n.hi / d.hi * ARCS as f64);
    let c = Twofold::double(count / ARCS as f64);
    let t = (n - c * d) / (d + c * n);
    let small = of_rest(t, tables);
    let value = if number == 0 { small } else { tables.arcs[number as usize % (ARCS + 1)].plus_less(small) };
    Approximation { value, err: U2 * (80.0 * small.hi.abs() + 24.0 * value.hi.abs()) }
}

/// The angle of a point. Neither may be zero.
#[inline(always)]
fn of_point(y: Twofold, x: Twofold) -> Approximation {
    let (up, right) = (y.magnitude(), x.magnitude());
    let is_flat = up.hi < right.hi || up.hi == right.hi && up.lo <= right.lo;
    let Approximation { value, mut err } = if is_flat { of_ratio(up, right) } else { of_ratio(right, up) };
    let pi = TABLES.pi;
    let value = if is_flat { value } else { pi.scaled(0.5).plus_less(-value) };
    let value = if x.hi > 0.0 { value } else { pi.plus_less(-value) };
    if !is_flat || x.hi < 0.0 {
        err += 64.0 * U2;
    }
    Approximation { value: value.signed_as(y.hi), err }
}

#[inline]
#[target_feature(enable = "fma")]
pub fn atan(x: Twofold) -> Approximation {
    of_point(x, Twofold::ONE)
}

#[inline]
#[target_feature(enable = "fma")]
pub fn atan2(y: Twofold, x: Twofold) -> Approximation {
    of_point(y, x)
}

/// sqrt(1 - x^2), if |x| < 1: within 20u^2 of itself. So is a ratio with it, and the angle.
#[inline(always)]
fn other_leg(x: Twofold) -> Option<Twofold> {
    let square = (Twofold::ONE - x) * (Twofold::ONE + x);
    (x.hi.abs() <= 1.0 && square.hi > 0.0).then(|| square.sqrt())
}

#[inline]
#[target_feature(enable = "fma")]
pub fn asin(x: Twofold) -> Option<Approximation> {
    let Approximation { value, err } = of_point(x, other_leg(x)?);
    Some(Approximation { value, err: err + 24.0 * U2 * value.hi.abs() })
}

#[inline]
#[target_feature(enable = "fma")]
pub fn acos(x: Twofold) -> Option<Approximation> {
    let Approximation { value, err } = of_point(other_leg(x)?, x);
    Some(Approximation { value, err: err + 24.0 * U2 * value.hi.abs() })
}
