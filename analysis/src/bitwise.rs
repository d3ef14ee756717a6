//! Logic on bits, and what it means for the floats inside: a mask may negate, take the magnitude, keep or clear.
//! Whether it does is seen when it runs. Anything else loses the shadow, never the bits.

use crate::location::LocationId;
use crate::mode::Mode;
use crate::operation::Operations;
use crate::real::Real;
use crate::shadow::{Part, Value, mask};
use crate::trace::Term;
use fpgrind_ir::{BitOp, Operator, Type};

/// What a mask does to a float.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Effect {
    Keep,
    Negate,
    Magnitude,
    NegativeMagnitude,
    Lose,
}

/// Where a change of sign that is part of an instruction happens.
pub struct Changes<'a, R> {
    pub operations: &'a mut Operations<R>,
    pub at: LocationId,
    pub mode: Mode,
    /// Counts what loses its shadow.
    pub lost: &'a mut u64,
}

/// The result of a logic operation. What negates or takes the magnitude becomes an operation.
pub fn apply<R: Real>(op: BitOp, ty: Type, args: [&Value; 2], changes: &mut Changes<R>) -> Value {
    let mut result = Value::plain(op.apply(args[0].bits, args[1].bits) & all_ones(ty));
    let mut granule = 0;
    while granule < ty.granules() {
        let (lane, part) = lane(op, ty, args, granule, changes);
        match part {
            Part::Constant(_) => result.parts[granule] = Part::Constant(result.bits_at(granule) as u32),
            part => result.parts[granule] = part,
        }
        granule += lane;
    }
    result
}

/// What becomes of the float that begins at a granule, and how many granules it has.
fn lane<R: Real>(op: BitOp, ty: Type, args: [&Value; 2], granule: usize, changes: &mut Changes<R>) -> (usize, Part) {
    let parts = args.map(|arg| arg.parts[granule]);
    if let [Part::Constant(_), Part::Constant(_)] = parts {
        return (1, Part::Constant(0));
    }
    for float in [0, 1] {
        if parts[float].is_of_halves() {
            let mut half = |upper: bool| {
                let node = parts[float].halves()[upper as usize]?;
                let other = mask(args[1 - float].bits_at(granule) >> if upper { 16 } else { 0 }, 2);
                let effect = effect(op, float, other, changes.operations.nodes[node].ty);
                match changes.change(effect, Term::Node(node)) {
                    Some(Term::Node(node)) => Some(node),
                    _ => None,
                }
            };
            let (lower, upper) = (half(false), half(true));
            return (1, Part::of_halves(lower, upper));
        }
    }
    // A float with a shadow, against whatever the other side is.
    for float in [0, 1] {
        if let Part::Shadow(node) = parts[float] {
            let lane = changes.operations.nodes[node].ty;
            if granule + lane.granules() <= ty.granules() {
                let other = mask(args[1 - float].bits_at(granule), lane.bytes());
                return (lane.granules(), changes.part(effect(op, float, other, lane), args[float], granule, lane));
            }
        }
    }
    // A float without one, against a mask whose shape says how wide the float is. The mask stands second in most code.
    for lane in [Type::F64, Type::F32] {
        let aligned = granule.is_multiple_of(lane.granules()) && granule + lane.granules() <= ty.granules();
        for float in [0, 1].into_iter().filter(|_| aligned) {
            let other = mask(args[1 - float].bits_at(granule), lane.bytes());
            let effect = effect(op, float, other, lane);
            if !matches!(effect, Effect::Keep | Effect::Lose) {
                return (lane.granules(), changes.part(effect, args[float], granule, lane));
            }
        }
    }
    // A constant that is kept stays one.
    for float in [0, 1] {
        let other = mask(args[1 - float].bits_at(granule), Type::F32.bytes());
        if effect(op, float, other, Type::F32) == Effect::Keep {
            return (1, parts[float]);
        }
    }
    (1, Part::None)
}

impl<R: Real> Changes<'_, R> {
    /// What becomes of a float of a value.
    fn part(&mut self, effect: Effect, of: &Value, granule: usize, ty: Type) -> Part {
        let term = of.term_at(granule, ty, &self.operations.nodes);
        match self.change(effect, term) {
            Some(Term::Node(node)) => Part::of_node(node, &self.operations.nodes),
            _ => Part::None,
        }
    }

    fn change(&mut self, effect: Effect, term: Term) -> Option<Term> {
        Some(match effect {
            Effect::Keep => term,
            Effect::Negate => self.operate(Operator::Neg, term),
            Effect::Magnitude => self.operate(Operator::Abs, term),
            Effect::NegativeMagnitude => {
                let magnitude = self.operate(Operator::Abs, term);
                self.operate(Operator::Neg, magnitude)
            }
            Effect::Lose => {
                *self.lost += matches!(term, Term::Node(_)) as u64;
                return None;
            }
        })
    }

    fn operate(&mut self, operator: Operator, term: Term) -> Term {
        self.operations.change_sign(operator, term, self.at, self.mode)
    }
}

/// What the operation does to the float that is its argument number `float`, the other being `other`.
#[inline(always)]
pub fn effect(op: BitOp, float: usize, other: u128, ty: Type) -> Effect {
    let ones = all_ones(ty);
    let sign = ones ^ ones >> 1;
    // andnot complements its first argument: a float there is lost, a mask there is an `and` mask complemented.
    let and_mask = match (op, float) {
        (BitOp::And, _) => other,
        (BitOp::AndNot, 1) => other ^ ones,
        (BitOp::AndNot, _) => return Effect::Lose,
        (BitOp::Xor, _) if other == 0 => return Effect::Keep,
        (BitOp::Xor, _) if other == sign => return Effect::Negate,
        (BitOp::Or, _) if other == 0 => return Effect::Keep,
        (BitOp::Or, _) if other == sign => return Effect::NegativeMagnitude,
        (BitOp::Xor | BitOp::Or, _) => return Effect::Lose,
    };
    if and_mask == ones {
        Effect::Keep
    } else if and_mask == ones ^ sign {
        Effect::Magnitude
    } else {
        Effect::Lose
    }
}

#[inline(always)]
fn all_ones(ty: Type) -> u128 {
    mask(u128::MAX, ty.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGN: u128 = 1 << 63;
    const ONES: u128 = u64::MAX as u128;

    #[test]
    fn sign_masks_negate_and_take_magnitudes() {
        for (op, float, other, expected) in [
            (BitOp::Xor, 0, SIGN, Effect::Negate),
            (BitOp::Xor, 1, SIGN, Effect::Negate),
            (BitOp::Xor, 0, 0, Effect::Keep),
            (BitOp::And, 0, ONES ^ SIGN, Effect::Magnitude),
            (BitOp::And, 1, ONES, Effect::Keep),
            (BitOp::And, 0, 0, Effect::Lose),
            (BitOp::And, 0, SIGN, Effect::Lose),
            (BitOp::AndNot, 1, SIGN, Effect::Magnitude),
            (BitOp::AndNot, 1, 0, Effect::Keep),
            (BitOp::AndNot, 0, ONES ^ SIGN, Effect::Lose),
            (BitOp::Or, 0, 0, Effect::Keep),
            (BitOp::Or, 1, SIGN, Effect::NegativeMagnitude),
            (BitOp::Xor, 0, 1, Effect::Lose),
        ] {
            assert_eq!(effect(op, float, other, Type::F64), expected, "{op:?} {float} {other:#x}");
        }
        assert_eq!(effect(BitOp::Xor, 0, 0x8000_0000, Type::F32), Effect::Negate);
        assert_eq!(effect(BitOp::Xor, 0, 0x8000_0000, Type::F64), Effect::Lose);
    }

    #[test]
    fn every_width_has_its_ones() {
        assert_eq!(all_ones(Type::B32), u32::MAX as u128);
        assert_eq!(all_ones(Type::B64), u64::MAX as u128);
        assert_eq!(all_ones(Type::B128), u128::MAX);
        assert_eq!(all_ones(Type::F80), u128::MAX >> 48);
    }
}
