//! Arc tangents, and what is one: atan(n/d) = atan(c) + atan((n - c d) / (d + c n)), where c is a multiple of 1/512 near n/d.

use super::reduction::nearest;
use super::tables::{ARCS, TABLES, Tables};
use super::twofold::{Twofold, fast_two_sum, two_product, two_sum};
use super::{Approximation, U2};

/// atan(t) for |t| <= 2^-9.9, as an upper double and a rest, within 2^11 u^2 of itself.
///
/// t^3/3 is two doubles. t^5/5, which is 2^-41.9 of the result, and what follows are not: they are rounded with the rest six times, by 1440u^2 each at most.
#[inline(always)]
fn of_rest(t: Twofold, tables: &Tables) -> Twofold {
    let (x, of) = (t.hi, &tables.inverses);
    let square = two_product(x, x);
    let cube = two_product(square.hi, x);
    // What the cube has lost, and 3 t^2 t.lo.
    let of_cube = x.mul_add(square.lo, (3.0 * square.hi).mul_add(t.lo, cube.lo));
    let third = two_product(cube.hi, -of[3].hi);
    let of_third = of_cube.mul_add(-of[3].hi, cube.hi.mul_add(-of[3].lo, third.lo));
    let w = square.hi;
    let tail = (cube.hi * w) * w.mul_add(w.mul_add(w.mul_add(-of[11].hi, of[9].hi), -of[7].hi), of[5].hi);
    let sum = fast_two_sum(x, third.hi);
    // With what the cube has of it, t.lo / (1 + t^2).
    Twofold { hi: sum.hi, lo: (sum.lo + (w * w).mul_add(t.lo, t.lo)) + (of_third + tail) }
}

/// The angle of a point in the first half of the first quarter: 0 < n <= d.
///
/// The products with c are exact but for those of the lower doubles. n - c d is, in its upper double, and rounds by 8u^2 n in the lower one, the
/// denominator by 8u^2 of itself; with the division t is within 32u^2 of itself and 8u^2 n/d. What is next to zero has c = 0, and there t is n/d.
#[inline(always)]
fn of_ratio(n: Twofold, d: Twofold) -> Approximation {
    let tables = &*TABLES;
    let (count, number) = nearest(n.hi / d.hi * ARCS as f64);
    if number == 0 {
        let small = of_rest(n / d, tables);
        let value = fast_two_sum(small.hi, small.lo);
        return Approximation { value, err: OF_REST * value.hi.abs() };
    }
    let c = count / ARCS as f64;
    let (of_d, of_n) = (two_product(c, d.hi), two_product(c, n.hi));
    let above = two_sum(n.hi, -of_d.hi);
    let above = Twofold { hi: above.hi, lo: above.lo + ((n.lo - of_d.lo) - c * d.lo) };
    let below = fast_two_sum(d.hi, of_n.hi);
    let below = Twofold { hi: below.hi, lo: below.lo + (d.lo + c.mul_add(n.lo, of_n.lo)) };
    let small = of_rest(above / below, tables);
    let arc = tables.arcs[number as usize % (ARCS + 1)];
    let sum = fast_two_sum(arc.hi, small.hi);
    let value = fast_two_sum(sum.hi, sum.lo + (arc.lo + small.lo));
    Approximation { value, err: OF_REST * small.hi.abs() + 32.0 * U2 * value.hi.abs() }
}

/// Of what is left, with the division.
const OF_REST: f64 = 10240.0 * U2;

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
