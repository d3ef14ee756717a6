//! The common case's reals: how far they are from the native value, and how wrong that may be.
//!
//! Of a number that is nearly right the native value is known to the last digit. What is to be found out is the distance of the real from it,
//! to which each operation adds its own rounding, known exactly, and hands on those of its arguments: a few sums and products, where the
//! digits of a double-double take thirty. A distance has 53 digits, so that the number has the more the less it is wrong: a double that is
//! wrong by an ulp has 106. Numbers that are far from right, and operations whose verdict needs care, are for double-doubles (`pair.rs`).
//!
//! Bounds are written so that little is left to do once the distance is known: an operation is over when its bound is, and that is what it takes longest to.
//!
//! Compiled code does the same, in the same order (`compiled/arithmetic.rs`).

use crate::pair::{Pair, U, two_sum};
use fpgrind_ir::Operator;

/// The real is the native value plus `by`, to within `err`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Offset {
    pub by: f64,
    pub err: f64,
}

/// More than what the roundings of a bound, and what is left out of it because it is small of a higher order, can make of it.
pub const SLACK: f64 = 1.0 + f64::EPSILON * 128.0;
/// An operation is fine beyond doubt if the first term of a sum is at most eight times the result, or four times if the other is a product (so the
/// other is at most nine or five times, and what is rounded of both makes no more than [`LOCAL`] floats), if the distance is less than such a part
/// of the native result, and so less than a 256th of the real one, and the doubt less than four floats.
pub const TERM: f64 = 1.0 / 8.0;
pub const TERM_BESIDE_PRODUCT: f64 = 1.0 / 4.0;
pub const DISTANCE: f64 = 257.0;
pub const DOUBT: f64 = 1.0 / (4.0 * U);
pub const DOUBT_OF_SINGLES: f64 = 1.0 / (2.0 * f32::EPSILON as f64);
/// Floats that the local error and the doubt of an operation that passes here may make up together, at most.
pub const LOCAL: u64 = 24;
/// Products, quotients and roots that are smaller may have lost something below the least double, or single.
pub const LEAST: f64 = f64::from_bits((1023 - 350) << 52);
pub const LEAST_SINGLE: f64 = f64::from_bits((1023 - 120) << 52);
/// A term that is less than that of what it natively is may repair it.
pub const REPAIR: f64 = 1.0 / 256.0;

/// An argument: the native value, and what is known of it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Near {
    pub native: f64,
    pub offset: Offset,
}

/// The operation on such arguments.
pub struct Done {
    pub offset: Offset,
    /// The double next to the real; what the operation's local error weighs beside it; and how much doubt the native result outweighs besides that and the
    /// distance.
    pub real: f64,
    local: f64,
    margin: f64,
    doubt: f64,
    /// It is zero beyond doubt, and nothing was lost below the least float.
    is_zero: bool,
}

impl Done {
    /// Is it fine beyond doubt?
    #[inline(always)]
    pub fn is_fine(&self) -> bool {
        self.margin > self.offset.err || self.is_zero
    }

    /// Or as far as can be known, if there is a doubt? Double-doubles know no better then, even of what is far away.
    #[inline(always)]
    pub fn seems_fine(&self) -> bool {
        // A doubt that is no number is one.
        let is_sure = self.real.abs() > self.doubt;
        self.real.abs() > self.local && !is_sure
    }
}

impl Offset {
    pub const NONE: Offset = Offset { by: 0.0, err: 0.0 };

    /// The number, beside the native value.
    #[inline(always)]
    pub fn pair(self, native: f64) -> Pair {
        let (hi, lo) = if self.by == 0.0 { (native, self.by) } else { two_sum(native, self.by) };
        Pair::new(hi, lo, self.err)
    }

    #[inline(always)]
    fn is_nothing(&self) -> bool {
        self.by == 0.0 && self.err == 0.0
    }
}

impl Near {
    /// Field by field, as compiled code may just have written it: else the CPU waits.
    #[inline(always)]
    pub fn piecewise(&self) -> Near {
        let read = |field: &f64| {
            // SAFETY: it is a field of ours.
            unsafe { (field as *const f64).read_volatile() }
        };
        let Offset { by, err } = &self.offset;
        Near { native: read(&self.native), offset: Offset { by: read(by), err: read(err) } }
    }

    /// The double next to the real.
    #[inline(always)]
    pub fn real(&self) -> f64 {
        self.native + self.offset.by
    }

    #[inline(always)]
    fn is_zero(&self) -> bool {
        self.native == 0.0 && self.offset.is_nothing()
    }

    #[inline(always)]
    pub fn negated(self) -> Near {
        Near { native: -self.native, offset: Offset { by: -self.offset.by, err: self.offset.err } }
    }
}

/// What the doubts of two factors make of each other.
#[inline(always)]
pub fn doubt_of_product(a: Near, b: Near) -> f64 {
    f64::mul_add(a.real().abs(), b.offset.err, (b.real().abs() + b.offset.err) * a.offset.err)
}

/// As the CPU has it: the second if they do not compare.
#[inline(always)]
fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// An operation on doubles or singles, by the native result.
pub struct Arithmetic {
    pub native: f64,
    pub is_single: bool,
}

impl Arithmetic {
    #[inline(always)]
    fn done(&self, by: f64, err: f64, local: f64) -> Done {
        let doubt = if self.is_single { DOUBT_OF_SINGLES } else { DOUBT };
        Done {
            offset: Offset { by, err },
            real: self.native + by,
            local,
            margin: f64::mul_add(by.abs(), -DISTANCE, self.native.abs() - local) * doubt.recip(),
            doubt: err * doubt,
            is_zero: false,
        }
    }

    #[inline(always)]
    fn least(&self) -> f64 {
        if self.is_single { LEAST_SINGLE } else { LEAST }
    }

    #[inline(always)]
    pub fn add(&self, a: Near, b: Near) -> Done {
        let (sum, mut rest) = two_sum(a.native, b.native);
        let mut lost = 0.0;
        if self.is_single {
            // A double nearly always has all of the sum of two singles.
            let (above, below) = (sum - self.native, rest);
            rest = above + below;
            lost = (below - (rest - above)).abs();
        }
        // What is exact stays exact: bounds of values that go round in a loop would grow with each turn.
        let (handed_on, below) = two_sum(a.offset.by, b.offset.by);
        let (by, below_too) = two_sum(handed_on, rest);
        let known_before = a.offset.err + b.offset.err;
        let known_before = if self.is_single { known_before + lost } else { known_before };
        let err = f64::mul_add(below.abs() + below_too.abs(), SLACK, known_before * SLACK);
        let done = self.done(by, err, a.real().abs() * TERM);
        Done { is_zero: self.native == 0.0 && done.offset.is_nothing(), ..done }
    }

    #[inline(always)]
    pub fn mul(&self, a: Near, b: Near) -> Done {
        let rest = match self.is_single {
            // A double has all of the product of two singles.
            true => a.native * b.native - self.native,
            false => f64::mul_add(a.native, b.native, -self.native),
        };
        let y = b.real();
        let cross = a.native * b.offset.by;
        let crossed = f64::mul_add(a.offset.by, y, cross);
        let by = rest + crossed;
        let from_args = doubt_of_product(a, b);
        let size = crossed.abs();
        let known_before = f64::mul_add(cross.abs() + size, 2.0 * U, from_args);
        let err = f64::mul_add(least(by.abs() * U, size), SLACK, known_before * SLACK);
        let done = self.done(by, err, self.least());
        // A zero times anything is one, however little is known of the other.
        let is_zero = self.native == 0.0 && (a.is_zero() || b.is_zero());
        if is_zero { Done { offset: Offset::NONE, real: self.native, is_zero, ..done } } else { done }
    }

    #[inline(always)]
    pub fn div(&self, a: Near, b: Near) -> Done {
        let rest = f64::mul_add(-self.native, b.native, a.native);
        let crossed = f64::mul_add(-self.native, b.offset.by, a.offset.by);
        let numerator = rest + crossed;
        let divisor = b.real();
        let by = numerator / divisor;
        let from_args = f64::mul_add((self.native + by).abs(), b.offset.err, a.offset.err);
        let rounded = f64::mul_add(crossed.abs() + numerator.abs(), U, from_args);
        let err = f64::mul_add(by.abs(), 4.0 * U, rounded / divisor.abs()) * SLACK;
        let is_safe = a.native.abs() > LEAST;
        self.done(by, err, if is_safe { self.least() } else { f64::INFINITY })
    }

    #[inline(always)]
    pub fn sqrt(&self, a: Near) -> Done {
        let rest = f64::mul_add(-self.native, self.native, a.native);
        let numerator = rest + a.offset.by;
        let twice = self.native + self.native;
        let nearly = numerator / twice;
        let divisor = twice + nearly;
        let by = numerator / divisor;
        let part = nearly / twice;
        let rounded = f64::mul_add(part * part, 2.0, 4.0 * U);
        let err = f64::mul_add(by.abs(), rounded, a.offset.err / divisor.abs()) * SLACK;
        self.done(by, err, self.least())
    }

    #[inline(always)]
    pub fn fma(&self, a: Near, b: Near, c: Near) -> Done {
        let product = a.native * b.native;
        let below = f64::mul_add(a.native, b.native, -product);
        let (sum, beside) = two_sum(product, c.native);
        let below = below + beside;
        let rest = (sum - self.native) + below;
        let y = b.real();
        let cross = a.native * b.offset.by;
        let crossed = f64::mul_add(a.offset.by, y, cross);
        let handed_on = crossed + c.offset.by;
        let by = handed_on + rest;
        let from_args = doubt_of_product(a, b) + c.offset.err;
        let rounded = (cross.abs() + crossed.abs()) + (below.abs() + rest.abs());
        let known_before = f64::mul_add(rounded + handed_on.abs(), 2.0 * U * SLACK, from_args * SLACK);
        let err = f64::mul_add(by.abs(), 2.0 * U * SLACK, known_before);
        self.done(by, err, f64::mul_add(c.real().abs(), TERM_BESIDE_PRODUCT, self.least()))
    }

    /// A sum, product, quotient or root.
    #[inline(always)]
    pub fn apply(&self, operator: Operator, [a, b, c]: [Near; 3]) -> Done {
        match operator {
            Operator::Add => self.add(a, b),
            Operator::Sub => self.add(a, b.negated()),
            Operator::Mul => self.mul(a, b),
            Operator::Div => self.div(a, b),
            Operator::Fma => self.fma(a, b, c),
            _ => self.sqrt(a),
        }
    }
}

#[cfg(test)]
#[path = "offset_tests.rs"]
mod tests;
