//! The common case of logic on bits: it changes the sign of a double that is nearly right. This does what `bitwise.rs` does.

use crate::bitwise::{self, Effect};
use crate::engine::granule_of;
use crate::lanes::{Lane, Logic};
use crate::location::LocationId;
use crate::node::{Kept, Node, Slot, is_special};
use crate::operation::Operations;
use crate::real::Real;
use crate::run::Running;
use crate::shadow::Part;
use crate::trace::Handle;
use fpgrind_ir::{Operator, Type};

impl<R: Real> Running<'_, R> {
    /// Does the logic, if it is that: says whether it was.
    #[inline(always)]
    pub fn sign_of_double(&mut self, logic: &Logic, lanes: &mut [Lane]) -> bool {
        let operations = &mut self.books.operations;
        let [a, b] = logic.args.each_ref().map(|granules| {
            let [(low, part), (high, _)] =
                granules.each_ref().map(|granule| granule_of(granule, lanes, &operations.nodes));
            (low as u64 | (high as u64) << 32, part)
        });
        let (of, bits, effect) = match (a, b) {
            ((bits, Part::Shadow(of)), (mask, _)) => (of, bits, bitwise::effect(logic.op, 0, mask.into(), Type::F64)),
            ((mask, _), (bits, Part::Shadow(of))) => (of, bits, bitwise::effect(logic.op, 1, mask.into(), Type::F64)),
            _ => return false,
        };
        let operator = match effect {
            Effect::Negate => Operator::Neg,
            Effect::Magnitude => Operator::Abs,
            _ => return false,
        };
        if !self.thread.mode.is_plain() || !operations.nodes.of(of).is_double(bits) {
            return false;
        }
        let Some(node) = operations.sign_of_near(operator, of, logic.at) else { return false };
        let bits = operations.nodes.of(node).bits() as u64;
        let to = &mut lanes[logic.to as usize..];
        to[0].set(bits, Part::Shadow(node), false);
        if logic.wanted & 2 != 0 {
            to[1].set(bits >> 32, Part::None, false);
        }
        true
    }
}

impl<R: Real> Operations<R> {
    /// The negation of a double that is nearly right, or its magnitude, if it is so far from zero that the real has its sign.
    #[inline(always)]
    fn sign_of_near(&mut self, operator: Operator, of: Handle, at: LocationId) -> Option<Handle> {
        let node = &self.nodes[of];
        let near = node.near;
        let has_sign = near.offset.by.abs() + near.offset.err < near.native.abs();
        // (What was settled is an argument like others: what is near has digits enough.)
        if !node.is_plain() || operator == Operator::Abs && !has_sign {
            return None;
        }
        self.count += 1;
        let near = if operator == Operator::Neg || near.native < 0.0 { near.negated() } else { near };
        let (slot, word) = of.as_arg();
        let made = self.nodes.make_near(Node {
            near,
            influences: node.influences,
            at,
            args: [word, 0, 0],
            slots: [slot, Slot::NONE, Slot::NONE],
            kept: if is_special(operator, || near.native) { Kept::Near } else { Kept::Plain },
            ..Node::of_kind(operator, Type::F64)
        });
        if self.strays.wanted && self.is_error(self.nodes.of(made).ulps()) {
            self.strays.note(Type::F64, near.native.to_bits().into(), made);
        }
        Some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::dd::DoubleDouble;
    use crate::mode::Mode;
    use crate::operation::Request;
    use crate::room::Room;
    use crate::trace::{Args, Leaf, Term};
    use proptest::prelude::*;

    const AT: LocationId = LocationId(0);

    fn operate(operations: &mut Operations<DoubleDouble>, operator: Operator, args: [Term; 2], native: f64) -> Term {
        let (ty, args, native) = (Type::F64, Args::from_iter(args), native.to_bits().into());
        let mode = Mode::default();
        operations.operate(Request { operator, ty, args, native, at: AT, site: None, mode, called: false })
    }

    proptest! {
        /// Of numbers that are nearly right, of some that are not, and of such that may be magic.
        #[test]
        fn a_short_change_of_sign_is_the_long_one(a in -1e9..1e9f64, b in -1.0..1.0f64, cancels in any::<bool>()) {
            let operations = &mut Operations::<DoubleDouble>::new(&Config::default(), Room::new(1 << 20));
            let [x, y] = [a, b].map(|value| Term::Leaf(Leaf::new(Type::F64, value.to_bits().into(), false)));
            let mut term = operate(operations, Operator::Div, [x, y], a / b);
            if cancels {
                let product = operate(operations, Operator::Mul, [term, y], a / b * b);
                term = operate(operations, Operator::Sub, [product, x], a / b * b - a);
            }
            let Term::Node(of) = term else { return Ok(()) };
            for operator in [Operator::Neg, Operator::Abs] {
                let Some(short) = operations.sign_of_near(operator, of, AT) else {
                    prop_assert!(cancels);
                    continue;
                };
                let Term::Node(long) = operations.change_sign(operator, term, AT, Mode::default()) else { continue };
                let [short, long] = [short, long].map(|node| operations.nodes.of(node));
                prop_assert_eq!(short.bits(), long.bits());
                prop_assert_eq!(short.ulps(), long.ulps());
                prop_assert_eq!(short.kept, long.kept);
                prop_assert_eq!((short.operator, short.slots, short.args), (long.operator, long.slots, long.args));
                prop_assert_eq!(short.near.offset.by, long.near.offset.by);
                prop_assert!(short.near.offset.err <= long.near.offset.err);
            }
        }
    }
}
