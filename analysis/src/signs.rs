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
    /// The negation or the magnitude of a double, if it is nearly right, and so far from zero that the real has its sign.
    #[inline(always)]
    fn sign_of_near(&mut self, operator: Operator, of: Handle, at: LocationId) -> Option<Handle> {
        let node = &self.nodes[of];
        let near = node.near;
        let has_sign = near.offset.by.abs() + near.offset.err < near.native.abs();
        if !node.is_plain() || node.is_settled || !has_sign {
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
