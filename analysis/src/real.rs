//! Reals: the numbers that floats stand for. An interface, because there is more than one way to approximate them;
//! everything derived from reals is written once, on top of this interface.

use crate::native::Direction;
use fpgrind_ir::{Operator, Type};
use std::cmp::Ordering;

pub trait Real: Clone {
    /// Zero, with so many bits of significand where that is a choice.
    fn zero(precision: u32) -> Self;
    /// Becomes exactly this float; NaN and the infinities included.
    fn assign(&mut self, value: f64);
    /// The operation in the reals. `args` has the operator's arity; otherwise the result is NaN.
    fn apply(operator: Operator, args: &[&Self]) -> Self;
    /// Nothing if either is NaN.
    fn compare(&self, other: &Self) -> Option<Ordering>;
    fn is_nan(&self) -> bool;
    /// The nearest double, ties to even, rounded once.
    fn to_f64(&self) -> f64;
    /// The nearest single, ties to even, rounded once.
    fn to_f32(&self) -> f32;
    /// The integer next to it in that direction, if it fits.
    fn to_i64(&self, direction: Direction) -> Option<i64>;

    fn exactly(precision: u32, value: f64) -> Self {
        let mut real = Self::zero(precision);
        real.assign(value);
        real
    }

    /// The bits of the nearest float of a format.
    fn rounded(&self, ty: Type) -> u64 {
        match ty {
            Type::F32 => self.to_f32().to_bits() as u64,
            _ => self.to_f64().to_bits(),
        }
    }
}
