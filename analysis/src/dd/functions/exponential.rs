//! Exponentials: 2^n * 2^(i/256) * (1 + q), where q is a polynomial of what is left, at most ln(2)/512.

use super::reduction::{nearest, rest};
use super::tables::{POWERS, TABLES, Tables};
use super::twofold::Twofold;
use super::{Approximation, U2};

/// e^r - 1 for |r| <= 2^-9.5, within 2^-95 of itself.
///
/// The terms up to r^4 are pairs. The others, from r^5/120, are a double: 3u * r^4/120 of the result, which is 2^-96.3. The
/// first that is left out is r^9/10! = 2^-107 of it; the roundings of the pairs are 40u^2 = 2^-100.6.
#[inline(always)]
fn less_one(r: Twofold, tables: &Tables) -> Twofold {
    let of = &tables.factorials;
    let x = r.hi;
    let tail = x.mul_add(x.mul_add(x.mul_add(x.mul_add(of[9].hi, of[8].hi), of[7].hi), of[6].hi), of[5].hi);
    let p = of[4].plus_product(r, Twofold::double(tail));
    let p = of[3].plus_product(r, p);
    let p = of[2].plus_product(r, p);
    let p = Twofold::ONE.plus_product(r, p);
    r * p
}

/// An exponential in parts: `power * (1 + q)`, with q of the rest.
struct Parts {
    power: Twofold,
    q: Twofold,
    is_near_one: bool,
    /// Of the argument, after reduction.
    doubt: f64,
}

impl Parts {
    /// Of e^x, for |x| < 2^10.
    #[inline(always)]
    fn new(x: Twofold, tables: &Tables) -> Parts {
        let (count, number) = nearest(x.hi * (POWERS as f64 * std::f64::consts::LOG2_E));
        let (r, doubt) = rest(x, count, &tables.step_of_powers);
        Parts::of_rest(r, doubt, number, tables)
    }

    #[inline(always)]
    fn of_rest(r: Twofold, doubt: f64, number: i32, tables: &Tables) -> Parts {
        let power = tables.powers[number as usize % POWERS].scaled(power_of_two(number.div_euclid(POWERS as i32)));
        Parts { power, q: less_one(r, tables), is_near_one: number == 0, doubt }
    }

    /// `power` has an error of u^2, its product with q, of at most 2^-9.5, one of 2^-95 + 8u^2 of that, and the sum 12u^2.
    #[inline(always)]
    fn whole(self) -> Approximation {
        let value = self.power.plus_less(self.power * self.q);
        Approximation { value, err: value.hi.abs() * (24.0 * U2 + self.doubt * 1.01) }
    }

    /// The same less one: what `power` loses is a larger part of that.
    #[inline(always)]
    fn less_one(self) -> Approximation {
        if self.is_near_one {
            return Approximation { value: self.q, err: self.q.hi.abs() * LESS_ONE + self.doubt * 1.01 };
        }
        let of_rest = self.power * self.q;
        let value = (self.power - Twofold::ONE) + of_rest;
        let err = self.power.hi * (2.0 * U2 + self.doubt * 1.01) + of_rest.hi.abs() * 2.0 * LESS_ONE;
        Approximation { value, err: err + 16.0 * U2 * value.hi.abs() }
    }
}

/// 2^-95.
const LESS_ONE: f64 = f64::from_bits((1023 - 95) << 52);

/// 2^n for n within the doubles.
#[inline(always)]
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// Exponentials beyond that are not of doubles, or nearly so.
const FAR: f64 = 620.0;

#[inline]
#[target_feature(enable = "fma")]
pub fn exp(x: Twofold) -> Option<Approximation> {
    (x.hi.abs() < FAR).then(|| Parts::new(x, &TABLES).whole())
}

/// What is not a multiple of 1/256 is times ln(2): 10u^2 of it.
#[inline]
#[target_feature(enable = "fma")]
pub fn exp2(x: Twofold) -> Option<Approximation> {
    if x.hi.abs() >= 890.0 {
        return None;
    }
    let tables = &*TABLES;
    let (count, number) = nearest(x.hi * POWERS as f64);
    // Exact: the two are next to each other.
    let r = (Twofold::double(x.hi - count / POWERS as f64) + Twofold::double(x.lo)) * tables.ln_2;
    Some(Parts::of_rest(r, 10.0 * U2 * r.hi.abs(), number, tables).whole())
}

/// The product with ln(10) is within 12u^2 of itself.
#[inline]
#[target_feature(enable = "fma")]
pub fn exp10(x: Twofold) -> Option<Approximation> {
    let product = x * TABLES.ln_10;
    let Approximation { value, err } = exp(product)?;
    Some(Approximation { value, err: err + value.hi * (12.0 * U2 * 1.01) * product.hi.abs() })
}

#[inline]
#[target_feature(enable = "fma")]
pub fn expm1(x: Twofold) -> Option<Approximation> {
    (x.hi.abs() < FAR).then(|| Parts::new(x, &TABLES).less_one())
}

/// With e = e^|x| - 1: (e + e/(e + 1)) / 2. The derivative by e is at most 1, and that of the logarithms at most 1, too.
#[inline]
#[target_feature(enable = "fma")]
pub fn sinh(x: Twofold) -> Option<Approximation> {
    let Approximation { value: e, err } = expm1(x.magnitude())?;
    let value = (e + e / (e + Twofold::ONE)).scaled(0.5);
    Some(Approximation { value: value.signed_as(x.hi), err: err + 32.0 * U2 * value.hi })
}

/// (e^|x| + e^-|x|) / 2.
#[inline]
#[target_feature(enable = "fma")]
pub fn cosh(x: Twofold) -> Option<Approximation> {
    let Approximation { value: e, err } = exp(x.magnitude())?;
    let value = (e + Twofold::ONE / e).scaled(0.5);
    Some(Approximation { value, err: err + 32.0 * U2 * value.hi })
}

/// With e = e^2|x| - 1: e / (e + 2). The error of e counts as a part of it, at most once.
#[inline]
#[target_feature(enable = "fma")]
pub fn tanh(x: Twofold) -> Option<Approximation> {
    let Approximation { value: e, err } = expm1(x.magnitude().scaled(2.0))?;
    let value = e / (e + Twofold::double(2.0));
    Some(Approximation { value: value.signed_as(x.hi), err: value.hi * (1.01 * err / e.hi + 32.0 * U2) })
}
