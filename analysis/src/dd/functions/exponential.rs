//! Exponentials: 2^n * 2^(i/128) * 2^(j/16384) * (1 + q), where q is a polynomial of what is left, at most ln(2)/32768.

use super::reduction::{nearest, rest_quickly};
use super::tables::{POWERS, TABLES, Tables};
use super::twofold::{Twofold, fast_two_sum, two_product, two_sum};
use super::{Approximation, U2};

/// e^r - 1 for |r| <= 2^-7.5, within 2^-95 of itself.
///
/// The terms up to r^5 are pairs. The others, from r^6/720, are a double: 3u * r^5/720 of the result, which is 2^-98.4. The
/// first that is left out is r^10/11! = 2^-100 of it; the roundings of the pairs are 48u^2 = 2^-100.4.
#[inline(always)]
fn less_one(r: Twofold, tables: &Tables) -> Twofold {
    let of = &tables.factorials;
    let x = r.hi;
    let tail = x.mul_add(x.mul_add(x.mul_add(x.mul_add(of[10].hi, of[9].hi), of[8].hi), of[7].hi), of[6].hi);
    let p = of[5].plus_product(r, Twofold::double(tail));
    let p = of[4].plus_product(r, p);
    let p = of[3].plus_product(r, p);
    let p = of[2].plus_product(r, p);
    let p = Twofold::ONE.plus_product(r, p);
    r * p
}

/// An exponential as a sum: a power of two, the upper double of its product with q, and all the rest.
struct Parts {
    power: f64,
    product: f64,
    rest: f64,
    /// Of the argument, after reduction.
    doubt: f64,
}

/// What the sum of these is wrong by, beside the argument's doubt, as a part of the power.
///
/// In units of u^2, with h and l the doubles of r: q = h + h^2/2 + h^3/6 + ... + l e^h. Of that, h and h^2/2 are kept exactly. The third term, at most
/// 2^-49.1, and those that follow it round by 5u of it (75), h^6/720 is left out (12), and the lower double, of that size, takes two sums (34). The
/// power is the product of two that are within u^2 each (10). Its products with q's lower double, and the sums of what is below u or 2^-49, are five
/// more roundings of that size (85): 216 in all.
const OF_POWER: f64 = 240.0 * U2;

impl Parts {
    /// Of e^x, for |x| < 2^10. Nothing if the reduction is not that simple.
    #[inline(always)]
    fn new(x: Twofold, tables: &Tables) -> Option<Parts> {
        let (count, number) = nearest(x.hi * ((POWERS * POWERS) as f64 * std::f64::consts::LOG2_E));
        if number == 0 {
            return Some(Parts::of_rest(x, 0.0, 0, tables));
        }
        let (r, doubt) = rest_quickly(x, count, &tables.step_of_powers)?;
        Some(Parts::of_rest(r, doubt, number, tables))
    }

    #[inline(always)]
    fn of_rest(r: Twofold, doubt: f64, number: i32, tables: &Tables) -> Parts {
        const BITS: u32 = POWERS.trailing_zeros();
        let (coarse, fine) = ((number >> BITS) as usize % POWERS, number as usize % POWERS);
        let power = (tables.powers[coarse] * tables.fine_powers[fine]).scaled(power_of_two(number >> (2 * BITS)));
        let (h, of) = (r.hi, &tables.factorials);
        let square = two_product(h, h);
        let third = h.mul_add(h.mul_add(of[5].hi, of[4].hi), of[3].hi) * (square.hi * h);
        let q = fast_two_sum(h, 0.5 * square.hi);
        let low = r.lo.mul_add(q.hi, 0.5f64.mul_add(square.lo, third)) + (r.lo + q.lo);
        let product = two_product(power.hi, q.hi);
        let rest = power.lo.mul_add(q.hi, power.hi.mul_add(low, power.lo)) + product.lo;
        Parts { power: power.hi, product: product.hi, rest, doubt }
    }

    #[inline(always)]
    fn whole(self) -> Approximation {
        let sum = fast_two_sum(self.power, self.product);
        let value = fast_two_sum(sum.hi, sum.lo + self.rest);
        Approximation { value, err: value.hi * (OF_POWER + self.doubt) * 1.01 }
    }

    /// The same less one. Where the power is not one it is further away from that than the product is large. The sums of what is below u of that
    /// difference take 4u^2 of it, and once more of 2^-49 of the power.
    #[inline(always)]
    fn less_one(self) -> Approximation {
        let less = two_sum(self.power, -1.0);
        let sum = fast_two_sum(less.hi, self.product);
        let value = fast_two_sum(sum.hi, (less.lo + sum.lo) + self.rest);
        let err = self.power * (OF_POWER + 40.0 * U2 + self.doubt) * 1.01;
        Approximation { value, err: err + 8.0 * U2 * value.hi.abs() }
    }
}

/// 2^-95.
const LESS_ONE: f64 = f64::from_bits((1023 - 95) << 52);

/// 2^n for n within the doubles.
#[inline(always)]
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// Arguments of the series alone: 2^-7.5, or less.
const NEAR: f64 = 1.0 / 192.0;
/// Exponentials beyond that are not of doubles, or nearly so.
const FAR: f64 = 620.0;

#[inline]
#[target_feature(enable = "fma")]
pub fn exp(x: Twofold) -> Option<Approximation> {
    if x.hi.abs() < FAR { Some(Parts::new(x, &TABLES)?.whole()) } else { None }
}

/// What is not a multiple of 1/16384 is times ln(2): 10u^2 of it.
#[inline]
#[target_feature(enable = "fma")]
pub fn exp2(x: Twofold) -> Option<Approximation> {
    if x.hi.abs() >= 890.0 {
        return None;
    }
    let tables = &*TABLES;
    const STEPS: f64 = (POWERS * POWERS) as f64;
    let (count, number) = nearest(x.hi * STEPS);
    // Exact: the two are next to each other.
    let r = (Twofold::double(x.hi - count / STEPS) + Twofold::double(x.lo)) * tables.ln_2;
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
    let tables = &*TABLES;
    if x.hi.abs() < NEAR {
        let value = less_one(x, tables);
        return Some(Approximation { value, err: value.hi.abs() * LESS_ONE });
    }
    if x.hi.abs() < FAR { Some(Parts::new(x, tables)?.less_one()) } else { None }
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
