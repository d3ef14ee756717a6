//! Reals: the numbers that floats stand for. An interface, because there is more than one way to approximate them;
//! everything derived from reals is written once, on top of this interface.

use crate::mode::{Direction, Target};
use crate::mpfr::Mpfr;
use crate::number::Number;
use crate::offset::Near;
use crate::pair::Pair;
use fpgrind_ir::{Operator, Type};
use std::borrow::Cow;
use std::cmp::Ordering;

/// See [`Real::become_result`].
pub const STEADY: u64 = 24;

/// An argument, as it is at hand.
pub enum Operand<'a, R> {
    Real(&'a R),
    Double(f64),
}

impl<R> Clone for Operand<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Operand<'_, R> {}

impl<'a, R: Real> Operand<'a, R> {
    pub fn real(self, precision: u32) -> Cow<'a, R> {
        match self {
            Operand::Real(real) => Cow::Borrowed(real),
            Operand::Double(value) => Cow::Owned(R::exactly(precision, value)),
        }
    }
}

/// What a function of pairs comes to.
pub struct Function {
    pub value: Pair,
    /// How far it moves, at most, if the arguments are the doubles next to them instead: without end, if that is not known.
    pub sway: f64,
}

pub trait Real: Clone + 'static {
    /// Zero, with so many bits of significand where that is a choice.
    fn zero(precision: u32) -> Self;
    /// Becomes exactly this float; NaN and the infinities included.
    fn assign(&mut self, ty: Type, bits: u128);
    /// The operation in the reals. `args` has the operator's arity; otherwise the result is NaN.
    /// So many bits of significand are enough where that is a choice.
    fn compute(operator: Operator, args: &[&Self], precision: u32) -> Self;
    /// The same, where the result is to stay. Says whether it is wrong by at most [`STEADY`] floats of this type, beyond doubt, if the operation is done on
    /// the floats next to its arguments, and both are rounded to nearest; nothing is said of those that are not.
    #[inline(always)]
    fn become_result(&mut self, operator: Operator, args: [Operand<Self>; 3], precision: u32, _ty: Type) -> bool {
        let [a, b, c] = args.map(|arg| arg.real(precision));
        *self = Self::compute(operator, &[&*a, &*b, &*c][..operator.arity()], precision);
        false
    }
    /// Nothing if either is NaN.
    fn compare(&self, other: &Self) -> Option<Ordering>;
    /// Are they the same number?
    #[inline(always)]
    fn is(&self, other: &Self) -> bool {
        self.compare(other).is_some_and(|order| order.is_eq())
    }
    fn is_nan(&self) -> bool;
    /// The bits of the float next to it, rounded once.
    fn rounded(&self, to: Target) -> u128;
    /// The integer next to it in that direction, if it is one of 64 bits, signed or not.
    fn to_integer(&self, direction: Direction) -> Option<i128>;

    /// Is it known to the last digit?
    fn is_exact(&self) -> bool {
        true
    }
    /// Is there no doubt what it rounds to?
    fn is_settled(&self, _to: Target) -> bool {
        true
    }
    /// How many floats away from what it seems to round to the truth may be, at most.
    fn doubt(&self, _to: Target) -> u64 {
        0
    }
    /// How many floats the result of an operation is moved, at most, if its arguments are these instead, which are near to them; where that
    /// is known without doing the operation again.
    fn sway(_operator: Operator, _args: &[&Self], _others: &[f64], _result: &Self, _to: Target) -> Option<u64> {
        None
    }
    /// A function that libraries have, of numbers that are two doubles each, if there is a short way to it.
    fn function(_operator: Operator, _args: &[Pair]) -> Option<Function> {
        None
    }
    /// Is there no doubt how the two compare?
    fn differs_for_sure(&self, _other: &Self) -> bool {
        true
    }
    /// Is there no doubt which integer is next to it?
    fn integer_is_settled(&self, _direction: Direction) -> bool {
        true
    }
    /// The number as MPFR knows it: what it seems to be, and the least or the most that it may be.
    fn to_mpfr(&self, precision: u32) -> Mpfr;
    fn extreme(&self, _most: bool, precision: u32) -> Mpfr {
        self.to_mpfr(precision)
    }
    /// A number that is known beyond doubt, to the digits that it has.
    fn settled(value: Mpfr) -> Self;
    /// Is all that is known of most numbers two doubles and a bound?
    const HAS_PAIRS: bool = false;
    /// The number as two doubles, if it is within their reach.
    fn as_pair(&self) -> Option<Pair>;
    fn is_within_pairs(&self) -> bool {
        self.as_pair().is_some()
    }
    /// What two doubles stand for.
    fn of_pair(pair: Pair, precision: u32) -> Self;

    /// The number as a native value that it is near to and the distance from there, if it is well kept so.
    fn near(&self, _native: f64) -> Option<Near> {
        None
    }
    fn of_near(near: Near) -> Self {
        Self::exactly(0, near.native)
    }
    /// Has it memory beside itself, so that it must not be written over?
    fn has_more(&self) -> bool {
        false
    }
    /// Gives that away.
    fn clear(&mut self) {}

    fn exactly(precision: u32, value: impl Into<Number>) -> Self {
        let (mut real, number) = (Self::zero(precision), value.into());
        real.assign(number.ty, number.bits);
        real
    }

    /// The nearest double.
    fn to_f64(&self) -> f64 {
        f64::from_bits(self.rounded(Target::nearest(Type::F64)) as u64)
    }
}
