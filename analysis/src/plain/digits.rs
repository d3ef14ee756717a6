//! The common case of reals that are no pairs, but have digits of their own: these are computed where the result's node will be.

use super::{Operation, Plain, distance, is_sum};
use crate::compensation::is_nothing_beside;
use crate::influence::Influences;
use crate::lanes::Lane;
use crate::offset::REPAIR;
use crate::operation::Operations;
use crate::pair::Pair;
use crate::real::Real;
use crate::trace::{Handle, Made, Slot, Term};
use fpgrind_ir::Type;

impl<R: Real> Operations<R> {
    /// If the operation is fine. Else nothing has changed.
    #[inline(always)]
    pub(super) fn with_digits<F: Plain>(&mut self, operation: &Operation) -> Option<Handle> {
        let Operation { operator, args, native, at, site } = *operation;
        if F::is_nan(native) {
            return None;
        }
        let (arity, precision) = (operator.arity(), self.precision());
        let nodes = args.map(Lane::node);
        for (number, scratch) in self.scratch.iter_mut().enumerate().take(arity) {
            if nodes[number].is_none() {
                scratch.assign(Type::F64, F::value(args[number].bits).to_bits() as u128);
            }
        }
        let scratch = &self.scratch;
        let real = self.nodes.compute_next(nodes, |result, kept| {
            let reals = [0, 1, 2].map(|number| kept[number].unwrap_or(&scratch[number]));
            result.become_result(operator, &reals[..arity], precision);
            result.to_f64()
        });
        let rounded = F::rounded(Pair::double(real)).filter(|_| real.is_finite())?;
        let ulps = distance::<F>(native, rounded);
        let wrong_by = nodes.map(|node| node.map_or(0, |node| self.nodes[node].ulps()));
        let mut local = ulps;
        if wrong_by != [0; 3] {
            let mut correct = args.map(|lane| lane.bits);
            for (number, node) in nodes.iter().enumerate() {
                if let Some(node) = node.filter(|_| wrong_by[number] != 0) {
                    correct[number] = F::rounded(Pair::double(self.nodes[node].kept.to_f64()))?;
                }
            }
            local = distance::<F>(F::apply(operator, correct), rounded);
        }
        if self.is_error(local) {
            return None;
        }
        let of = nodes.map(|node| node.map_or(Influences::NONE, |node| self.nodes[node].influences));
        let mut influences = of[0];
        for other in &of[1..] {
            influences = self.sets.union(influences, *other);
        }
        let mut shown = Some(local);
        if !influences.is_empty() && is_sum(operator) {
            let is_repair = !is_nothing_beside(real, F::value(native));
            if is_repair {
                // A repair is no cause of what it repairs.
                influences = Influences::NONE;
                for node in nodes.into_iter().flatten() {
                    influences = self.add_unless_repair::<F>(influences, node);
                }
            }
            // Nor is what is better than the argument that it is in the reals.
            let is_repaired = |node: &Handle| {
                ulps < self.nodes[*node].ulps()
                    && self.nodes[*node].kept.compare(self.nodes.next_real()).is_some_and(|order| order.is_eq())
            };
            if !influences.is_empty()
                && let Some(repaired) = nodes.into_iter().flatten().find(is_repaired)
            {
                (influences, shown) = (self.nodes[repaired].influences, None);
            }
        }
        self.count += 1;
        let target = F::TARGET;
        let made = Made { operator, at, influences, bits: native as u128, real: (), target, ulps };
        let [a, b, c] = args;
        let node = self.nodes.make_next(made, [a.slot, b.slot, c.slot, Slot::None], [a.word, b.word, c.word, 0]);
        if self.is_error(ulps) {
            self.strays.note(target.ty, native as u128, node);
        }
        self.sites.observe_fine(site, node, [a, b].map(|lane| F::value(lane.bits)), shown, &self.nodes);
        Some(node)
    }

    /// What a term is under the influence of is added, unless the term is a repair.
    fn add_unless_repair<F: Plain>(&mut self, influences: Influences, node: Handle) -> Influences {
        let of = self.nodes[node].influences;
        let native = F::value(self.nodes[node].low).abs();
        let may_repair = || native == 0.0 || self.nodes[node].kept.to_f64().abs() <= native * REPAIR;
        if of.is_empty() || may_repair() && self.is_repair(Term::Node(node)) {
            return influences;
        }
        self.sets.union(influences, of)
    }
}
