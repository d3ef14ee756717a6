//! Reals as double-doubles: the unevaluated sum of two doubles, some 106 bits, and a bound of how far it is from what it stands for.
//!
//! What doubles cannot hold (numbers beyond their range) is an MPFR number, until a result fits again; and so is computed what has no
//! short way in doubles (`pair.rs`, and `functions` for the elementary ones).

mod functions;

use crate::format::{self, Kind};
use crate::mode::{Direction, Target};
use crate::mpfr::Mpfr;
use crate::number::Number;
use crate::offset::{DISTANCE, Near, Offset};
use crate::pair::{LITTLE, Pair, SLACK, U, is_safe, two_sum};
use crate::real::{Function, Real};
use fpgrind_ir::{MAX_ARITY, Operator, Type};
use smallvec::SmallVec;
use std::cmp::Ordering;

#[derive(Clone, Debug)]
#[repr(C)]
pub struct DoubleDouble {
    /// The double next to the sum, and the rest.
    hi: f64,
    lo: f64,
    /// The number is within that distance.
    err: f64,
    /// The number, if it is not within reach of doubles, or if it was found out later.
    big: Option<Box<Mpfr>>,
}

/// Functions that MPFR computes for a double-double: its digits, and some to spare.
const FUNCTION_PRECISION: u32 = 128;

impl DoubleDouble {
    #[inline(always)]
    fn new(hi: f64, lo: f64, err: f64) -> DoubleDouble {
        DoubleDouble { hi, lo, err, big: None }
    }

    #[inline(always)]
    fn double(value: f64) -> DoubleDouble {
        DoubleDouble::new(value, 0.0, 0.0)
    }

    /// Do the doubles stand for it?
    #[inline(always)]
    fn is_within_doubles(&self) -> bool {
        self.big.is_none() || is_safe(self.hi)
    }

    /// Without regard to a number that was found out later.
    #[inline(always)]
    fn doubles(&self) -> Pair {
        Pair::new(self.hi, self.lo, self.err)
    }

    #[inline(always)]
    fn is_double(&self) -> bool {
        self.lo == 0.0 && self.err == 0.0 && self.big.is_none()
    }

    fn negated(&self) -> DoubleDouble {
        let big = self.big.as_ref().map(|big| Box::new(Mpfr::apply(Operator::Neg, &[big])));
        DoubleDouble { hi: -self.hi, lo: -self.lo, err: self.err, big }
    }

    /// The integer next to it in that direction, if the first double tells which that is, because the number is nearer to it than to where another
    /// integer begins.
    fn plain_integer(&self, direction: Direction) -> Option<i128> {
        const MANY: f64 = (1u64 << 50) as f64;
        let nearest = self.hi.round_ties_even();
        let (away, far) = ((self.hi - nearest).abs(), (self.lo.abs() + self.err) * SLACK);
        let room = if direction == Direction::Nearest { (0.5 - away) * (1.0 - LITTLE) } else { away };
        let is_sure = self.big.is_none() && self.hi.abs() < MANY && far < room;
        let integer = match direction {
            Direction::Nearest => nearest,
            Direction::Down => self.hi.floor(),
            Direction::Up => self.hi.ceil(),
            Direction::Zero => self.hi.trunc(),
        };
        is_sure.then_some(integer as i128)
    }

    /// A function that libraries have, if it is within reach. (Not where it is asked for: it is long.)
    #[inline(never)]
    fn function_of(operator: Operator, args: &[&DoubleDouble]) -> Option<DoubleDouble> {
        Some(functions::apply(operator, &pairs(args))?.value.into())
    }

    /// By MPFR: exactly on what is known of the arguments; that they may be wrong is seen from what comes out when they are.
    #[cold]
    fn apply_big(operator: Operator, args: &[&DoubleDouble], precision: u32) -> DoubleDouble {
        let is_elementary =
            matches!(operator, Operator::Add | Operator::Sub | Operator::Mul | Operator::Div | Operator::Fma);
        let has_big = args.iter().any(|arg| !arg.is_within_doubles());
        if !is_elementary && !has_big && precision > FUNCTION_PRECISION {
            // The digits of a double-double are enough for one.
            let short = DoubleDouble::apply_big(operator, args, FUNCTION_PRECISION);
            if short.is_within_doubles() {
                return short;
            }
        }
        let exact: Vec<Mpfr> = args.iter().map(|arg| arg.to_mpfr(precision)).collect();
        let refs: Vec<&Mpfr> = exact.iter().collect();
        let result = Mpfr::apply(operator, &refs);
        let mut value = DoubleDouble::from_mpfr(&result, f64::exp2(2.0 - precision as f64));
        if operator == Operator::Pow && args[0].hi < 0.0 && !args[1].is_double() {
            // Of a negative number there are powers at the integers only.
            value.err = f64::INFINITY;
            return value;
        }
        if !value.is_within_doubles() || has_big {
            // How wrong that is no double can say.
            if args.iter().any(|arg| !arg.is_exact()) {
                value.err = f64::INFINITY;
            }
            return value;
        }
        if !args.iter().all(|arg| arg.err.is_finite() && arg.err <= arg.hi.abs() * LITTLE) {
            // What a function does between here and there is not known.
            value.err = f64::INFINITY;
            return value;
        }
        for (number, arg) in args.iter().enumerate().filter(|(_, arg)| !arg.is_double()) {
            // The two doubles may be too far apart for one number of these digits.
            let err = arg.err + arg.hi.abs() * f64::exp2(1.0 - precision as f64);
            if let Some(grown) = functions::grown(operator, &pairs(args), number, value.hi, err) {
                let grown = grown * (1.0 + 1e-3) + f64::from_bits(8);
                // A change that is not small may do anything.
                let is_small = grown <= value.hi.abs() * LITTLE;
                value.err = if is_small { (value.err + grown) * SLACK } else { f64::INFINITY };
                continue;
            }
            let mut moved = exact.clone();
            let err = Mpfr::exactly(precision, err);
            moved[number] = Mpfr::apply(Operator::Add, &[&exact[number], &err]);
            let moved = Mpfr::apply(operator, &moved.iter().collect::<Vec<_>>());
            let moved = Mpfr::apply(Operator::Sub, &[&moved, &result]).to_f64().abs();
            let is_small = moved <= value.hi.abs() * LITTLE;
            value.err = if is_small { (value.err + moved * (1.0 + 1e-3)) * SLACK } else { f64::INFINITY };
        }
        value
    }

    /// What it is in MPFR's digits, without regard to the bound.
    fn to_mpfr(&self, precision: u32) -> Mpfr {
        if let Some(big) = &self.big {
            let has_enough = big.precision() >= precision;
            // A sum has the digits of its first term.
            return if has_enough {
                (**big).clone()
            } else {
                Mpfr::apply(Operator::Add, &[&Mpfr::zero(precision), big])
            };
        }
        let hi = Mpfr::exactly(precision, self.hi);
        if self.lo == 0.0 { hi } else { Mpfr::apply(Operator::Add, &[&hi, &Mpfr::exactly(precision, self.lo)]) }
    }

    /// The double-double next to a number that is known to within a part of itself.
    pub fn from_mpfr(value: &Mpfr, doubt: f64) -> DoubleDouble {
        let hi = value.to_f64();
        let doubt = if doubt == 0.0 { 0.0 } else { doubt * hi.abs() + f64::from_bits(1) };
        let minus = |a: &Mpfr, b: f64| Mpfr::apply(Operator::Sub, &[a, &Mpfr::exactly(value.precision(), b)]);
        if hi.is_nan() || value.compare(&Mpfr::exactly(value.precision(), hi)) == Some(Ordering::Equal) {
            return DoubleDouble::new(hi, 0.0, if hi.is_finite() { doubt } else { 0.0 });
        }
        if !is_safe(hi) {
            return DoubleDouble { hi, lo: 0.0, err: 0.0, big: Some(Box::new(value.clone())) };
        }
        let rest = minus(value, hi);
        let lo = rest.to_f64();
        DoubleDouble::new(hi, lo, (minus(&rest, lo).to_f64().abs() + doubt) * SLACK)
    }
}

#[inline(always)]
fn pairs(of: &[&DoubleDouble]) -> SmallVec<[Pair; MAX_ARITY]> {
    of.iter().map(|real| real.doubles()).collect()
}

impl From<Pair> for DoubleDouble {
    #[inline(always)]
    fn from(Pair { hi, lo, err }: Pair) -> DoubleDouble {
        DoubleDouble::new(hi, lo, err)
    }
}

impl Real for DoubleDouble {
    fn zero(_: u32) -> DoubleDouble {
        DoubleDouble::double(0.0)
    }

    #[inline(always)]
    fn assign(&mut self, ty: Type, bits: u128) {
        *self = match ty {
            Type::F64 => DoubleDouble::double(f64::from_bits(bits as u64)),
            Type::F32 => DoubleDouble::double(f32::from_bits(bits as u32) as f64),
            _ => exactly(ty, bits),
        }
    }

    #[inline(always)]
    fn compute(operator: Operator, args: &[&DoubleDouble], precision: u32) -> DoubleDouble {
        if args.iter().all(|arg| arg.is_within_doubles()) {
            let done = match (operator, args) {
                (Operator::Neg, [a]) => Some(a.negated()),
                (Operator::Abs, [a]) if a.err < a.hi.abs() || a.is_exact() => {
                    Some(if a.hi.is_sign_negative() { a.negated() } else { (*a).clone() })
                }
                (Operator::Cast, [a]) => Some((*a).clone()),
                (Operator::Add | Operator::Sub | Operator::Mul | Operator::Div | Operator::Sqrt | Operator::Fma, _) => {
                    Pair::compute(operator, &pairs(args)).map(DoubleDouble::from)
                }
                _ => DoubleDouble::function_of(operator, args),
            };
            // The rest is MPFR's affair: NaN, the infinities, what is near the ends of the doubles.
            if let Some(done) = done {
                return done;
            }
        }
        DoubleDouble::apply_big(operator, args, precision)
    }

    fn compare(&self, other: &DoubleDouble) -> Option<Ordering> {
        let is_known = |real: &DoubleDouble| real.err == 0.0 || real.big.is_none();
        if self.is_within_doubles() && other.is_within_doubles() && is_known(self) && is_known(other) {
            return Some(self.hi.partial_cmp(&other.hi)?.then(self.lo.partial_cmp(&other.lo)?));
        }
        let precision = self.big.as_ref().or(other.big.as_ref()).map_or(FUNCTION_PRECISION, |big| big.precision());
        self.to_mpfr(precision).compare(&other.to_mpfr(precision))
    }

    fn is_nan(&self) -> bool {
        self.hi.is_nan()
    }

    #[inline(always)]
    fn rounded(&self, to: Target) -> u128 {
        if to == const { Target::nearest(Type::F64) } && self.is_within_doubles() {
            return self.hi.to_bits() as u128;
        }
        if to == const { Target::nearest(Type::F32) } && !is_near_tie(self.hi) && self.is_within_doubles() {
            return (self.hi as f32).to_bits() as u128;
        }
        self.rounded_otherwise(to)
    }

    fn to_integer(&self, direction: Direction) -> Option<i128> {
        self.plain_integer(direction).or_else(|| self.to_mpfr(FUNCTION_PRECISION).to_integer(direction))
    }

    #[inline]
    fn is_exact(&self) -> bool {
        self.err == 0.0 || self.big.is_some() && self.err < f64::INFINITY
    }

    #[inline(always)]
    fn is_settled(&self, to: Target) -> bool {
        if self.err == 0.0 || self.big.is_some() && self.is_exact() {
            return true;
        }
        if to == const { Target::nearest(Type::F64) } {
            return self.doubles().is_settled_double();
        }
        if to == const { Target::nearest(Type::F32) } {
            // Singles are far apart: the ends tell nearly always.
            let far = (self.lo.abs() + self.err) * SLACK;
            let ends = [self.hi - far, self.hi + far];
            if far <= self.hi.abs() && !ends.into_iter().any(is_near_tie) {
                return ends[0] as f32 == ends[1] as f32;
            }
            // Its sign is in doubt.
            if self.err > 2.0 * self.hi.abs() {
                return false;
            }
        }
        self.is_settled_otherwise(to)
    }

    #[inline(always)]
    fn doubt(&self, to: Target) -> u64 {
        if self.is_settled(to) {
            return 0;
        }
        let digits = to.digits as i32;
        // The distance of floats at the number's size, or a little less.
        let ulp = self.hi.abs() * f64::from_bits(((1023 - digits) as u64) << 52);
        // A conversion saturates, and NaN has no bound.
        let doubt = self.err / ulp;
        if doubt < 1e15 { doubt as u64 + 1 } else { u64::MAX }
    }

    fn sway(operator: Operator, args: &[&Self], others: &[f64], result: &Self, to: Target) -> Option<u64> {
        let is_known = result.is_within_doubles() && args.iter().all(|arg| arg.is_within_doubles());
        if is_known { functions::sway(operator, &pairs(args), others, result.doubles(), to) } else { None }
    }

    #[inline(always)]
    fn function(operator: Operator, args: &[Pair]) -> Option<Function> {
        functions::apply(operator, args)
    }

    fn differs_for_sure(&self, other: &DoubleDouble) -> bool {
        if self.is_exact() && other.is_exact() || self.is_nan() || other.is_nan() {
            return true;
        }
        let (distance, rest) = (self.hi - other.hi, self.lo - other.lo);
        (distance + rest).abs() > 2.0 * (self.err + other.err) + 4.0 * U * (self.lo.abs() + other.lo.abs())
    }

    fn integer_is_settled(&self, direction: Direction) -> bool {
        let is_between = || {
            let [least, greatest] = self.ends().map(|end| end.to_integer(direction));
            self.err < f64::INFINITY && least == greatest
        };
        self.is_exact() || self.plain_integer(direction).is_some() || is_between()
    }

    fn extreme(&self, most: bool, precision: u32) -> Mpfr {
        let seems = self.to_mpfr(precision);
        let by = if most { self.err } else { -self.err };
        if self.is_exact() { seems } else { Mpfr::apply(Operator::Add, &[&seems, &Mpfr::exactly(precision, by)]) }
    }

    fn settled(value: Mpfr) -> DoubleDouble {
        let near = DoubleDouble::from_mpfr(&value, 0.0);
        if near.err == 0.0 { near } else { DoubleDouble { big: Some(Box::new(value)), ..near } }
    }

    fn to_mpfr(&self, precision: u32) -> Mpfr {
        DoubleDouble::to_mpfr(self, precision)
    }

    const HAS_PAIRS: bool = true;

    #[inline(always)]
    fn near(&self, native: f64) -> Option<Near> {
        if !self.is_within_doubles() {
            return None;
        }
        if self.hi.to_bits() == native.to_bits() {
            return Some(Near { native, offset: Offset { by: self.lo, err: self.err } });
        }
        let (above, lost) = two_sum(self.hi, -native);
        let (by, lost_too) = two_sum(above, self.lo);
        let lost = lost.abs() + lost_too.abs();
        // Not if the doubles know much better what is far away, or know it exactly. A bound may be no number.
        let is_near = self.err > 0.0 && by.abs() * DISTANCE <= self.hi.abs();
        let is_better = lost > self.err && !is_near;
        // A zero has a sign.
        if is_better || !by.is_finite() || self.hi == native {
            return None;
        }
        Some(Near { native, offset: Offset { by, err: (self.err + lost) * SLACK } })
    }

    #[inline(always)]
    fn of_near(near: Near) -> DoubleDouble {
        let Near { native, offset: Offset { by, err } } = near;
        if native + by == native || by == 0.0 {
            return DoubleDouble::new(native, by, err);
        }
        let (hi, lo) = two_sum(native, by);
        DoubleDouble::new(hi, lo, err)
    }

    #[inline(always)]
    fn has_more(&self) -> bool {
        self.big.is_some()
    }

    fn clear(&mut self) {
        self.big = None;
    }

    #[inline(always)]
    fn as_pair(&self) -> Option<Pair> {
        self.is_within_doubles().then(|| self.doubles())
    }

    #[inline(always)]
    fn is_within_pairs(&self) -> bool {
        self.is_within_doubles()
    }

    #[inline(always)]
    fn of_pair(pair: Pair, _: u32) -> DoubleDouble {
        pair.into()
    }
}

impl DoubleDouble {
    #[cold]
    fn rounded_otherwise(&self, to: Target) -> u128 {
        self.to_mpfr(FUNCTION_PRECISION).rounded(to)
    }

    #[cold]
    fn is_settled_otherwise(&self, to: Target) -> bool {
        let [least, greatest] = self.ends().map(|end| end.rounded(to));
        self.err < f64::INFINITY && least == greatest
    }

    /// The least and the greatest that it may be, and a little beyond: a double-double does not hold every bound.
    fn ends(&self) -> [DoubleDouble; 2] {
        let err = self.err + 4.0 * U * self.lo.abs();
        [-err, err]
            .map(|by| Pair::add(self.doubles(), Pair::double(by)).map_or_else(|| self.clone(), DoubleDouble::from))
    }
}

/// Is a double so near to the middle between two singles, or to a place where that is elsewhere, that it does not tell alone which is nearer?
#[inline(always)]
pub fn is_near_tie(value: f64) -> bool {
    const BELOW: u64 = (1 << 29) - 1;
    const MIDDLE: u64 = 1 << 28;
    const LEAST_SINGLES_IN_ONE: f64 = f64::from_bits((1023 + 149) << 52);
    let bits = value.to_bits();
    let is_common = (bits >> 52 & 0x7ff).wrapping_sub(1023 - 126) < 253;
    if !is_common && value.abs() < 1.0 {
        // Subnormal singles are as far from each other as the least is from zero.
        let steps = value.abs() * LEAST_SINGLES_IN_ONE;
        return ((steps - steps.floor()) - 0.5).abs() <= steps * (4.0 * f64::EPSILON);
    }
    (bits & BELOW).abs_diff(MIDDLE) <= 2 || !is_common && value.is_finite()
}

/// A float of any other format.
fn exactly(ty: Type, bits: u128) -> DoubleDouble {
    match format::decode(ty, bits).kind {
        Kind::Finite { .. } => DoubleDouble::settled(Mpfr::exactly(FUNCTION_PRECISION, Number::new(ty, bits))),
        _ => DoubleDouble::double(Number::new(ty, bits).to_f64()),
    }
}

#[cfg(test)]
#[path = "dd_tests.rs"]
mod tests;
