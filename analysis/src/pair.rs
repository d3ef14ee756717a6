//! Double-doubles in the stricter sense: the unevaluated sum of two doubles, and a bound of how far it is from what it stands for.
//!
//! The bound is made of what the roundings really were, as far as they can be had exactly: a sum of doubles that fits is known to be
//! exact. Sums and products of two doubles without error are Knuth's and Dekker's; how they make double-doubles is found in Joldes,
//! Muller and Popescu, "Tight and rigorous error bounds for basic building blocks of double-word arithmetic" (2017).

use fpgrind_ir::Operator;

/// Half the distance from 1 to the next double.
pub const U: f64 = f64::EPSILON / 2.0;
/// More than what the roundings of a bound itself can lose.
pub const SLACK: f64 = 1.0 + 8.0 * f64::EPSILON;
/// A doubt that is a larger part of a number than this is none to reckon with.
pub const LITTLE: f64 = 1.0 / (1 << 20) as f64;

#[inline(always)]
pub fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// The same where the first is known to be the larger.
#[inline(always)]
fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// Far enough from the ends of the doubles that products, their roundings and quotients are doubles, too.
#[inline(always)]
pub const fn is_safe(value: f64) -> bool {
    const LEAST: u64 = 1023 - 900;
    const COUNT: u64 = 1900;
    (value.to_bits() >> 52 & 0x7ff).wrapping_sub(LEAST) < COUNT
}

/// What products of lower doubles and of bounds may lose below the least double.
#[inline(always)]
fn underflow(of_doubles: bool) -> f64 {
    f64::from_bits(8 * !of_doubles as u64)
}

/// Two doubles and the bound: a double-double that is one.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Pair {
    /// The double next to the sum, and the rest.
    pub hi: f64,
    pub lo: f64,
    /// The number is within that distance.
    pub err: f64,
}

impl Pair {
    /// No pair, and whatever is made of it is none.
    pub const UNKNOWN: Pair = Pair { hi: f64::NAN, lo: f64::NAN, err: f64::NAN };

    #[inline(always)]
    pub fn new(hi: f64, lo: f64, err: f64) -> Pair {
        Pair { hi, lo, err }
    }

    #[inline(always)]
    pub fn double(value: f64) -> Pair {
        Pair::new(value, 0.0, 0.0)
    }

    #[inline(always)]
    pub fn is_double(self) -> bool {
        self.lo == 0.0 && self.err == 0.0
    }

    /// The double next to it, if it is beyond doubt.
    #[inline(always)]
    pub fn is_settled_double(self) -> bool {
        // In the middle between two doubles the least doubt counts.
        let far = self.lo.abs() * SLACK + 2.0 * self.err;
        self.err == 0.0 || self.hi + far == self.hi && self.hi - far == self.hi
    }

    #[inline(always)]
    pub fn negated(self) -> Pair {
        Pair::new(-self.hi, -self.lo, self.err)
    }

    /// Is it not zero, beyond doubt?
    #[inline(always)]
    pub fn differs_from_zero(self) -> bool {
        self.err == 0.0 || (self.hi + self.lo).abs() > 2.0 * self.err + 4.0 * U * self.lo.abs()
    }

    /// The first double, or the one on the other side of the number if that is odd and the first is not: rounded to fewer digits, it is what the number is.
    #[inline(always)]
    pub fn rounded_to_odd(self) -> f64 {
        let bits = self.hi.to_bits();
        let is_below = self.lo.is_sign_negative() != self.hi.is_sign_negative();
        let other = if is_below { bits.wrapping_sub(1) } else { bits | 1 };
        let is_it = bits & 1 == 1 || self.lo == 0.0 || self.hi == 0.0;
        if is_it { self.hi } else { f64::from_bits(other) }
    }

    #[inline(always)]
    pub fn add(a: Pair, b: Pair) -> Option<Pair> {
        let (sum, rest) = two_sum(a.hi, b.hi);
        let (low, lowest) = two_sum(a.lo, b.lo);
        let (middle, lost) = two_sum(rest, low);
        // The upper is the larger, or zero and exact.
        let (hi, below) = fast_two_sum(sum, middle);
        let (below, lost_too) = two_sum(lowest, below);
        let (hi, lo) = fast_two_sum(hi, below);
        let err = (a.err + b.err + lost.abs() + lost_too.abs()) * SLACK;
        if hi == 0.0 && err == 0.0 {
            // The doubles know the sign of a zero.
            return Some(Pair::double(if sum == 0.0 { sum } else { hi }));
        }
        // Infinite on the way, or NaN.
        hi.is_finite().then(|| Pair::new(hi, lo, err))
    }

    #[inline(always)]
    fn mul(a: Pair, b: Pair) -> Option<Pair> {
        let product = a.hi * b.hi;
        if !is_safe(product) {
            // The zeros among them have the right sign; and if they are in doubt, so is the product.
            let is_zero = (a.hi == 0.0 || b.hi == 0.0) && product == 0.0 && a.err + b.err < f64::INFINITY;
            let most = |real: Pair| real.hi.abs() + real.lo.abs();
            let err = (most(a) * b.err + most(b) * a.err + a.err * b.err) * SLACK;
            let is_exact = a.hi == 0.0 && a.err == 0.0 || b.hi == 0.0 && b.err == 0.0;
            return is_zero.then(|| Pair::new(product, 0.0, if is_exact { 0.0 } else { err + underflow(false) }));
        }
        let rest = f64::mul_add(a.hi, b.hi, -product);
        let cross = a.hi * b.lo;
        let crossed = f64::mul_add(a.lo, b.hi, cross);
        let (rest, lost) = two_sum(rest, crossed);
        let (hi, lo) = fast_two_sum(product, rest);
        let from_args = a.hi.abs() * b.err + b.hi.abs() * a.err + a.err * b.err;
        let err = from_args + (a.lo * b.lo).abs() * SLACK + 2.0 * U * (cross.abs() + crossed.abs()) + lost.abs();
        Some(Pair::new(hi, lo, err * SLACK + underflow(a.is_double() && b.is_double())))
    }

    #[inline(always)]
    fn div(a: Pair, b: Pair) -> Option<Pair> {
        let quotient = a.hi / b.hi;
        if a.hi == 0.0 && is_safe(b.hi) && a.err > 0.0 && b.err < b.hi.abs() * LITTLE {
            // A zero in doubt.
            let err = a.err / b.hi.abs() * (1.0 + 4.0 * LITTLE) * SLACK + underflow(false);
            return Some(Pair::new(quotient, 0.0, err));
        }
        if !is_safe(quotient) || !is_safe(a.hi) || b.err >= b.hi.abs() * LITTLE {
            return None;
        }
        let rest = f64::mul_add(-quotient, b.hi, a.hi);
        let crossed = quotient * b.lo;
        let correction = (rest + (a.lo - crossed)) / b.hi;
        let (hi, lo) = fast_two_sum(quotient, correction);
        let rounded = 8.0 * U * (correction.abs() + (a.lo.abs() + crossed.abs()) / b.hi.abs());
        let from_args = (a.err + quotient.abs() * b.err) / b.hi.abs() * (1.0 + 4.0 * LITTLE);
        let lost = underflow(a.is_double() && b.is_double());
        Some(Pair::new(hi, lo, (rounded + from_args) * SLACK + lost))
    }

    #[inline(always)]
    fn sqrt(a: Pair) -> Option<Pair> {
        if a.hi == 0.0 && a.err == 0.0 {
            return Some(Pair::double(a.hi));
        }
        let root = a.hi.sqrt();
        if !is_safe(a.hi) || a.hi < 0.0 || a.err >= a.hi * LITTLE {
            return None;
        }
        let rest = f64::mul_add(-root, root, a.hi) + a.lo;
        let correction = rest / (2.0 * root);
        let (hi, lo) = fast_two_sum(root, correction);
        let rounded = 8.0 * U * (correction.abs() + a.lo.abs() / root) + correction * correction / root;
        Some(Pair::new(hi, lo, (rounded + a.err / (2.0 * root) * (1.0 + LITTLE)) * SLACK + underflow(a.is_double())))
    }

    /// One of the operations that doubles have; nothing if what it gives is not within their reach.
    #[inline(always)]
    pub fn compute(operator: Operator, args: &[Pair]) -> Option<Pair> {
        match (operator, args) {
            (Operator::Add, [a, b]) => Pair::add(*a, *b),
            (Operator::Sub, [a, b]) => Pair::add(*a, b.negated()),
            (Operator::Mul, [a, b]) => Pair::mul(*a, *b),
            (Operator::Div, [a, b]) => Pair::div(*a, *b),
            (Operator::Sqrt, [a]) => Pair::sqrt(*a),
            (Operator::Fma, [a, b, c]) => Pair::add(Pair::mul(*a, *b)?, *c),
            _ => None,
        }
    }
}
