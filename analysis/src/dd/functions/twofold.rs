//! Two doubles as one number, without a bound: the bounds of functions are known beforehand. `u` is half the distance from 1 to the next double.
//!
//! All of this is inlined into functions that are compiled for FMA; elsewhere it would be right, too, but slow.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `hi + lo`, and `lo` is at most a few units in the last place of `hi`.
#[derive(Clone, Copy, Debug)]
pub struct Twofold {
    pub hi: f64,
    pub lo: f64,
}

#[inline(always)]
pub fn two_sum(a: f64, b: f64) -> Twofold {
    let hi = a + b;
    let of_b = hi - a;
    Twofold { hi, lo: (a - (hi - of_b)) + (b - of_b) }
}

/// The same where the first is known to be the larger.
#[inline(always)]
pub fn fast_two_sum(a: f64, b: f64) -> Twofold {
    let hi = a + b;
    Twofold { hi, lo: b - (hi - a) }
}

#[inline(always)]
pub fn two_product(a: f64, b: f64) -> Twofold {
    let hi = a * b;
    Twofold { hi, lo: a.mul_add(b, -hi) }
}

impl Twofold {
    pub const ONE: Twofold = Twofold::double(1.0);

    pub const fn double(value: f64) -> Twofold {
        Twofold { hi: value, lo: 0.0 }
    }

    /// The sum with what is smaller and does not cancel more than a digit: within 12u^2 of itself.
    #[inline(always)]
    pub fn plus_less(self, less: Twofold) -> Twofold {
        let sum = fast_two_sum(self.hi, less.hi);
        fast_two_sum(sum.hi, sum.lo + (self.lo + less.lo))
    }

    /// `self + x * p`, where that changes `self` by a small part only: within 16u^2 of itself. A step of a polynomial.
    #[inline(always)]
    pub fn plus_product(self, x: Twofold, p: Twofold) -> Twofold {
        let product = x.hi * p.hi;
        let rest = x.lo.mul_add(p.hi, x.hi.mul_add(p.lo, x.hi.mul_add(p.hi, -product)));
        let sum = fast_two_sum(self.hi, product);
        Twofold { hi: sum.hi, lo: sum.lo + (self.lo + rest) }
    }

    /// Within 10u^2 of itself.
    #[inline(always)]
    pub fn sqrt(self) -> Twofold {
        let root = self.hi.sqrt();
        let rest = root.mul_add(-root, self.hi) + self.lo;
        fast_two_sum(root, rest / (2.0 * root))
    }

    /// Times a power of two.
    #[inline(always)]
    pub fn scaled(self, power: f64) -> Twofold {
        Twofold { hi: self.hi * power, lo: self.lo * power }
    }

    #[inline(always)]
    pub fn magnitude(self) -> Twofold {
        if self.hi < 0.0 { -self } else { self }
    }

    /// With the sign of a double.
    #[inline(always)]
    pub fn signed_as(self, sign: f64) -> Twofold {
        if sign.is_sign_negative() { -self } else { self }
    }
}

impl Neg for Twofold {
    type Output = Twofold;
    #[inline(always)]
    fn neg(self) -> Twofold {
        Twofold { hi: -self.hi, lo: -self.lo }
    }
}

/// Within 4u^2 of itself, whatever cancels.
impl Add for Twofold {
    type Output = Twofold;
    #[inline(always)]
    fn add(self, other: Twofold) -> Twofold {
        let (high, low) = (two_sum(self.hi, other.hi), two_sum(self.lo, other.lo));
        let sum = fast_two_sum(high.hi, high.lo + low.hi);
        fast_two_sum(sum.hi, sum.lo + low.lo)
    }
}

impl Sub for Twofold {
    type Output = Twofold;
    #[inline(always)]
    fn sub(self, other: Twofold) -> Twofold {
        self + -other
    }
}

/// Within 8u^2 of itself.
impl Mul for Twofold {
    type Output = Twofold;
    #[inline(always)]
    fn mul(self, other: Twofold) -> Twofold {
        let product = two_product(self.hi, other.hi);
        fast_two_sum(product.hi, self.lo.mul_add(other.hi, self.hi.mul_add(other.lo, product.lo)))
    }
}

/// Within 16u^2 of itself.
impl Div for Twofold {
    type Output = Twofold;
    #[inline(always)]
    fn div(self, by: Twofold) -> Twofold {
        let quotient = self.hi / by.hi;
        let rest = quotient.mul_add(-by.hi, self.hi) + quotient.mul_add(-by.lo, self.lo);
        fast_two_sum(quotient, rest / by.hi)
    }
}
