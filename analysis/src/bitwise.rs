//! Logic on bits, and what it means for the floats inside: a mask may negate, take the magnitude, keep or clear.
//! Whether it does is seen when it runs. Anything else loses the shadow, never the bits.

use crate::shadow::{Part, Value, mask};
use crate::trace::Term;
use fpgrind_ir::{BitOp, Operator, Type};

/// What a mask does to a float.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Effect {
    Keep,
    Negate,
    Magnitude,
    NegativeMagnitude,
    Lose,
}

/// The result of a logic operation. `negate` and `magnitude` become operations through `operate`; what loses its shadow is counted.
pub fn apply<R>(
    op: BitOp,
    ty: Type,
    args: [&Value<R>; 2],
    lost: &mut u64,
    mut operate: impl FnMut(Operator, Term<R>) -> Term<R>,
) -> Value<R> {
    let mut result = Value::plain(op.apply(args[0].bits, args[1].bits) & all_ones(ty));
    let mut granule = 0;
    while granule < ty.granules() {
        let (lane, part) = lane(op, ty, args, granule, lost, &mut operate);
        match part {
            Part::Constant(_) => result.parts[granule] = Part::Constant(result.bits_at(granule) as u32),
            part => result.parts[granule] = part,
        }
        granule += lane;
    }
    result
}

/// What becomes of the float that begins at a granule, and how many granules it has.
fn lane<R>(
    op: BitOp,
    ty: Type,
    args: [&Value<R>; 2],
    granule: usize,
    lost: &mut u64,
    operate: &mut impl FnMut(Operator, Term<R>) -> Term<R>,
) -> (usize, Part<R>) {
    let parts = args.map(|arg| &arg.parts[granule]);
    if let [Part::Constant(_), Part::Constant(_)] = parts {
        return (1, Part::Constant(0));
    }
    for float in [0, 1] {
        if parts[float].is_of_halves() {
            let mut half = |upper: bool| {
                let node = parts[float].halves()[upper as usize]?;
                let other = mask(args[1 - float].bits_at(granule) >> if upper { 16 } else { 0 }, 2);
                let effect = effect(op, float, other, node.ty);
                *lost += (effect == Effect::Lose) as u64;
                match change(effect, Term::Node(node.clone()), operate) {
                    Part::Shadow(node) => Some(node),
                    _ => None,
                }
            };
            let (lower, upper) = (half(false), half(true));
            return (1, Part::of_halves(lower, upper));
        }
    }
    // A float with a shadow, against whatever the other side is.
    for float in [0, 1] {
        if let Part::Shadow(node) = parts[float]
            && granule + node.ty.granules() <= ty.granules()
        {
            let lane = node.ty;
            let other = mask(args[1 - float].bits_at(granule), lane.bytes());
            let effect = effect(op, float, other, lane);
            *lost += (effect == Effect::Lose) as u64;
            return (lane.granules(), change(effect, args[float].term_at(granule, lane), operate));
        }
    }
    // A float without one, against a mask whose shape says how wide the float is. The mask stands second in most code.
    for lane in [Type::F64, Type::F32] {
        let aligned = granule.is_multiple_of(lane.granules()) && granule + lane.granules() <= ty.granules();
        for float in [0, 1].into_iter().filter(|_| aligned) {
            let other = mask(args[1 - float].bits_at(granule), lane.bytes());
            let effect = effect(op, float, other, lane);
            if !matches!(effect, Effect::Keep | Effect::Lose) {
                return (lane.granules(), change(effect, args[float].term_at(granule, lane), operate));
            }
        }
    }
    // A constant that is kept stays one.
    for float in [0, 1] {
        let other = mask(args[1 - float].bits_at(granule), Type::F32.bytes());
        if effect(op, float, other, Type::F32) == Effect::Keep {
            return (1, parts[float].clone());
        }
    }
    (1, Part::None)
}

/// What the operation does to the float that is its argument number `float`, the other being `other`.
fn effect(op: BitOp, float: usize, other: u128, ty: Type) -> Effect {
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

fn change<R>(effect: Effect, term: Term<R>, operate: &mut impl FnMut(Operator, Term<R>) -> Term<R>) -> Part<R> {
    let changed = match effect {
        Effect::Keep => term,
        Effect::Negate => operate(Operator::Neg, term),
        Effect::Magnitude => operate(Operator::Abs, term),
        Effect::NegativeMagnitude => {
            let magnitude = operate(Operator::Abs, term);
            operate(Operator::Neg, magnitude)
        }
        Effect::Lose => return Part::None,
    };
    match changed {
        Term::Node(node) => Part::Shadow(node),
        Term::Leaf(_) => Part::None,
    }
}

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
