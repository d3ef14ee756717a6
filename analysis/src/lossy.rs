//! Sums, products, quotients and roots that lose digits, or whose arguments are far from right: on pairs of doubles.
//!
//! A program that loses digits may do so each time, and one that makes up for that is under suspicion with each operation. So this way is nearly as
//! straight as that of operations that are fine: what is known of an instruction is not found out again, and what is not to be looked at is
//! only counted. Where there is a doubt to settle, or anything is out of the ordinary, it gives up before it has changed anything.

use crate::compensation::is_nothing_beside;
use crate::findings::CauseKind;
use crate::influence::Influences;
use crate::lanes::Lane;
use crate::mode::Mode;
use crate::offset::{Near, REPAIR};
use crate::operation::Operations;
use crate::pair::Pair;
use crate::plain::{Known, Operation, Plain, distance, is_sum};
use crate::real::Real;
use crate::trace::{Handle, Made, Node, Nodes, Slot};
use fpgrind_ir::Operator;

/// An argument, and what is known of it.
#[derive(Clone, Copy)]
struct Float {
    native: f64,
    real: Pair,
    /// The float next to the real, and how far the native one is from that.
    rounded: u64,
    ulps: u64,
    influences: Influences,
}

/// The doubt of a sum that is so much larger than those of its terms: a part of it that pairs of doubles might not have.
const HARDLY_MORE: f64 = 1.5;

impl Known {
    /// Are distances as good as pairs?
    #[inline(always)]
    pub fn is_enough(&self) -> bool {
        let [x, y] = self.args;
        self.result.by.is_finite() && self.result.err <= (x.offset.err + y.offset.err) * HARDLY_MORE
    }
}

impl Float {
    #[inline(always)]
    fn new<F: Plain, R: Real>(lane: &Lane, nodes: &Nodes<R>) -> Option<Float> {
        let native = F::value(lane.bits);
        let Some(node) = lane.node() else {
            let real = Pair::double(native);
            return Some(Float { native, real, rounded: lane.bits, ulps: 0, influences: Influences::NONE });
        };
        let known = nodes.of(node);
        let real = known.pair()?;
        let rounded = F::next_to(real);
        let ulps = known.beside.map_or_else(|| distance::<F>(lane.bits, rounded), |beside| beside.ulps);
        Some(Float { native, real, rounded, ulps, influences: known.influences })
    }
}

impl<R: Real> Operations<R> {
    /// A sum that is known as a distance from the native result: for a loop that carries it, that is shorter than pairs are.
    #[inline(always)]
    pub fn near_sum<F: Plain>(&mut self, operation: &Operation, known: &Known, mode: Mode) -> Option<Handle> {
        let Operation { operator, args: [a, b, _], native, at, site } = *operation;
        let Known { args: [x, y], influences: [from_a, from_b], result } = *known;
        let (of_x, of_y) = (x.offset.pair(x.native), y.offset.pair(y.native));
        let value = F::value(native);
        let real = result.pair(value);
        let (rounded, [next_to_x, next_to_y]) = (F::next_to(real), [F::next_to(of_x), F::next_to(of_y)]);
        let local = distance::<F>(F::apply(operator, [next_to_x, next_to_y, 0]), rounded);
        let [mut is_wrong, mut shown] = [self.is_error(local), true];
        if self.settles && !real.is_settled_double() && self.is_doubtful::<F>(real, local) {
            if self.has_time() || !self.sites.passes_over_doubt(site) {
                return None;
            }
            // Where nothing was ever wrong beyond doubt, a doubt that there is no time for is none.
            if !self.sites.is_candidate(site) {
                [is_wrong, shown] = [false, false];
            }
        }
        let mut influences = self.sets.union(from_a, from_b);
        if !influences.is_empty() && !is_nothing_beside(real.hi, value) {
            // A repair is no cause of what it repairs.
            let from_a = self.unless_repair(a, from_a, x.native, of_x);
            let from_b = self.unless_repair(b, from_b, y.native, of_y);
            influences = self.sets.union(from_a, from_b);
        }
        let may_be_repaired =
            of_x.hi == real.hi && next_to_x != F::bits(a.bits) || of_y.hi == real.hi && next_to_y != F::bits(b.bits);
        if may_be_repaired
            && (is_wrong || !influences.is_empty())
            && let Some(repaired) = self.repaired::<F>(operation, rounded)
        {
            (influences, [is_wrong, shown]) = (repaired, [false, false]);
        }
        if is_wrong {
            influences = self.sets.with(influences, site as u32);
        }
        self.count += 1;
        let node = self.nodes.make_near(Node {
            near: Near { native: value, offset: result },
            influences,
            at,
            args: [a.word, b.word, 0],
            slots: [a.slot, b.slot, Slot::NONE],
            ..Node::of_kind(operator, F::TARGET.ty)
        });
        if self.strays.wanted && self.is_error(self.nodes.of(node).ulps()) {
            self.strays.note(F::TARGET.ty, native as u128, node);
        }
        if is_wrong {
            self.sites.observe_wrong(site, node, CauseKind::Inaccurate, local, mode, &self.nodes);
        } else {
            let local = if shown { Some(local) } else { None };
            self.sites.observe_fine(site, node, [x.native, y.native], local, &self.nodes);
        }
        Some(node)
    }

    /// What a term is under the influence of, none if it is a repair.
    #[inline(always)]
    fn unless_repair(&mut self, lane: &Lane, influences: Influences, native: f64, real: Pair) -> Influences {
        let native = native.abs();
        let may_repair = native == 0.0 || real.hi.abs() <= native * REPAIR;
        match lane.node() {
            Some(node) if may_repair && !influences.is_empty() && self.node_is_repair(node, native, real) => {
                Influences::NONE
            }
            _ => influences,
        }
    }

    /// What the argument is under the influence of that a sum is in the reals, if natively it is better than that: the other argument compensated
    /// an error.
    #[cold]
    #[inline(never)]
    fn repaired<F: Plain>(&self, operation: &Operation, rounded: u64) -> Option<Influences> {
        let Operation { operator, args: [a, b, _], native, .. } = *operation;
        let (x, y) = (Float::new::<F, R>(a, &self.nodes)?, Float::new::<F, R>(b, &self.nodes)?);
        // Of what is kept as a distance the last digits are others.
        let real = sum_of(operator, &x, &y)?;
        Some(repaired([&x, &y], real, distance::<F>(native, rounded))?.influences)
    }

    /// Any sum or difference.
    #[inline(never)]
    pub fn sum_of_pairs<F: Plain>(&mut self, operation: &Operation, mode: Mode) -> Option<Handle> {
        let [a, b, _] = operation.args;
        let (x, y) = (Float::new::<F, R>(a, &self.nodes)?, Float::new::<F, R>(b, &self.nodes)?);
        self.book_lossy::<F>(operation, [&x, &y, &y], sum_of(operation.operator, &x, &y)?, mode)
    }

    /// Any other. (Not a function of its own: it would not be compiled for what the CPU has.)
    #[inline(always)]
    pub fn lossy<F: Plain>(&mut self, operation: &Operation, mode: Mode) -> Option<Handle> {
        let [a, b, c] = operation.args;
        let nodes = &self.nodes;
        let (x, y) = (Float::new::<F, R>(a, nodes)?, Float::new::<F, R>(b, nodes)?);
        match operation.operator {
            Operator::Sqrt => {
                let real = Pair::compute(Operator::Sqrt, &[x.real])?;
                self.book_lossy::<F>(operation, [&x, &x, &x], real, mode)
            }
            Operator::Fma => {
                let z = Float::new::<F, R>(c, nodes)?;
                let real = Pair::compute(Operator::Fma, &[x.real, y.real, z.real])?;
                self.book_lossy::<F>(operation, [&x, &y, &z], real, mode)
            }
            operator => {
                let real = Pair::compute(operator, &[x.real, y.real])?;
                self.book_lossy::<F>(operation, [&x, &y, &y], real, mode)
            }
        }
    }

    /// The operation on its arguments, the last of them as often as there are too few, came to this in the reals.
    #[inline(always)]
    fn book_lossy<F: Plain>(
        &mut self,
        operation: &Operation,
        [x, y, z]: [&Float; 3],
        real: Pair,
        mode: Mode,
    ) -> Option<Handle> {
        let Operation { operator, args: [a, b, c], native, at, site } = *operation;
        let is_sum = is_sum(operator);
        let rounded = F::next_to(real);
        if F::is_nan(native) {
            return None;
        }
        let ulps = distance::<F>(native, rounded);
        let mut local = ulps;
        if x.ulps | y.ulps | z.ulps != 0 {
            local = distance::<F>(F::apply(operator, [x.rounded, y.rounded, z.rounded]), rounded);
        }
        let mut is_wrong = self.is_error(local);
        let mut shown = Some(local);
        if self.settles && !real.is_settled_double() && self.is_doubtful::<F>(real, local) {
            if self.has_time() || !self.sites.passes_over_doubt(site) {
                return None;
            }
            // Where nothing was ever wrong beyond doubt, a doubt that there is no time for is none.
            if !self.sites.is_candidate(site) {
                (is_wrong, shown) = (false, None);
            }
        }
        let mut influences = x.influences;
        for other in [y, z] {
            influences = self.sets.union(influences, other.influences);
        }
        if is_sum && !influences.is_empty() && !is_nothing_beside(real.hi, F::value(native)) {
            // A repair is no cause of what it repairs.
            let from_a = self.unless_repair(a, x.influences, x.native, x.real);
            let from_b = self.unless_repair(b, y.influences, y.native, y.real);
            influences = self.sets.union(from_a, from_b);
        }
        if is_sum
            && (is_wrong || !influences.is_empty())
            && let Some(repaired) = repaired([x, y], real, ulps)
        {
            (influences, is_wrong, shown) = (repaired.influences, false, None);
        }
        if is_wrong {
            influences = self.sets.with(influences, site as u32);
        }
        self.count += 1;
        let (ty, target) = (F::TARGET.ty, F::TARGET);
        let kept = R::of_pair(real, self.precision());
        let made = Made { operator, at, influences, bits: native as u128, real: kept, target, ulps };
        let node = self.nodes.make_of(made, [a.slot, b.slot, c.slot, Slot::NONE], [a.word, b.word, c.word, 0]);
        if self.is_error(ulps) {
            self.strays.note(ty, native as u128, node);
        }
        if is_wrong {
            self.sites.observe_wrong(site, node, CauseKind::Inaccurate, local, mode, &self.nodes);
        } else {
            self.sites.observe_fine(site, node, [x.native, y.native], shown, &self.nodes);
        }
        Some(node)
    }

    /// Could the operation be wrong, as far as is known?
    #[inline(always)]
    fn is_doubtful<F: Plain>(&self, real: Pair, local: u64) -> bool {
        let doubt = F::doubt(real);
        doubt > 0 && self.is_error(local.saturating_add(doubt))
    }
}

#[inline(always)]
fn sum_of(operator: Operator, x: &Float, y: &Float) -> Option<Pair> {
    Pair::add(x.real, if operator == Operator::Sub { y.real.negated() } else { y.real })
}

/// The argument that a sum is in the reals, if natively it is better than that.
#[inline(always)]
fn repaired(args: [&Float; 2], real: Pair, ulps: u64) -> Option<&Float> {
    args.into_iter().find(|arg| ulps < arg.ulps && arg.real.hi == real.hi && arg.real.lo == real.lo)
}
