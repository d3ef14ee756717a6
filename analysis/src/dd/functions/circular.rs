//! Sine, cosine and tangent: of what is left of an angle after multiples of pi/256, and of the multiple.

use super::reduction::{nearest, rest};
use super::tables::{SINES, TABLES, Tables};
use super::twofold::Twofold;
use super::{Approximation, U2};

/// Angles are known well enough below that.
const FAR: f64 = (1 << 22) as f64;

/// sin(r) and cos(r) - 1 for |r| <= pi/512 = 2^-7.3, within 48u^2 of themselves.
///
/// Of sin(r)/r, the terms up to r^4/120 are pairs, and the first that is not, r^6/5040, is wrong by 3u of it, which is 2^-107; r^12/13! is left
/// out. Of (cos(r) - 1)/r^2, up to r^2/24; r^4/720 is wrong by 3u, which is 2^-90 of it, but 2^-105 of the cosine; r^10/12! is left out.
#[inline(always)]
fn of_rest(r: Twofold, tables: &Tables) -> (Twofold, Twofold) {
    let of = &tables.factorials;
    let square = r * r;
    let w = square.hi;
    let odd = w.mul_add(w.mul_add(-of[11].hi, of[9].hi), -of[7].hi);
    let even = w.mul_add(w.mul_add(-of[10].hi, of[8].hi), -of[6].hi);
    let p = (-of[3]).plus_product(square, of[5].plus_product(square, Twofold::double(odd)));
    let q = (-of[2]).plus_product(square, of[4].plus_product(square, Twofold::double(even)));
    (r * Twofold::ONE.plus_product(square, p), square * q)
}

/// Sine and cosine, each with a bound.
#[inline(always)]
fn sine_and_cosine(x: Twofold) -> Option<[Approximation; 2]> {
    if x.hi.abs() >= FAR {
        return None;
    }
    let tables = &*TABLES;
    let (count, number) = nearest(x.hi * (2.0 * SINES as f64 * std::f64::consts::FRAC_1_PI));
    let (r, doubt) = rest(x, count, &tables.step_of_sines);
    let (sine, cosine) = of_rest(r, tables);
    let within = number as usize % SINES;
    let (a, b) = (tables.sines[within], tables.sines[SINES - within]);
    let (a, b) = match number >> SINES.trailing_zeros() & 3 {
        0 => (a, b),
        1 => (b, -a),
        2 => (-a, -b),
        _ => (-b, a),
    };
    Some([turned(a, b, sine, cosine, doubt), turned(b, -a, sine, cosine, doubt)])
}

/// `a cos(r) + b sin(r)`, where a and b are sine and cosine of an angle and sum to one, squared. The second term is at most half of the first, or the
/// first is zero. Each product is within 56u^2 + 8u^2 of itself, where the cosine's is 2^-14 of the result; and the sums round.
#[inline(always)]
fn turned(a: Twofold, b: Twofold, sine: Twofold, cosine_less_one: Twofold, doubt: f64) -> Approximation {
    let by_sine = b * sine;
    let value = if a.hi == 0.0 { by_sine } else { a.plus_less(by_sine + a * cosine_less_one) };
    Approximation { value, err: U2 * (64.0 * by_sine.hi.abs() + 16.0 * a.hi.abs()) + doubt * 1.01 }
}

#[inline]
#[target_feature(enable = "fma")]
pub fn sin(x: Twofold) -> Option<Approximation> {
    sine_and_cosine(x).map(|[sine, _]| sine)
}

#[inline]
#[target_feature(enable = "fma")]
pub fn cos(x: Twofold) -> Option<Approximation> {
    sine_and_cosine(x).map(|[_, cosine]| cosine)
}

#[inline]
#[target_feature(enable = "fma")]
pub fn tan(x: Twofold) -> Option<Approximation> {
    let [sine, cosine] = sine_and_cosine(x)?;
    let value = sine.value / cosine.value;
    let parts = sine.err / sine.value.hi.abs() + cosine.err / cosine.value.hi.abs();
    Some(Approximation { value, err: value.hi.abs() * (1.01 * parts + 16.0 * U2) })
}
