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
use crate::offset::{LEAST, Near, REPAIR, doubt_of_product};
use crate::operation::Operations;
use crate::pair::Pair;
use crate::plain::{Known, Operation, Plain, distance, is_sum};
use crate::real::Real;
use crate::site::{Sites, Verdict};
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

/// How an operation went, and what its result is under the influence of.
struct Judged {
    influences: Influences,
    verdict: Verdict,
}

/// The doubt of a result that is so much larger than what those of its arguments make: a part of it that pairs of doubles might not have.
pub const HARDLY_MORE: f64 = 1.5;

impl Known {
    /// Are distances as good as pairs?
    #[inline(always)]
    pub fn is_enough(&self, operator: Operator) -> bool {
        let [x, y, z] = self.args;
        let of_product = || {
            // What is smaller may have lost something below the least double.
            if (x.native * y.native).abs() > LEAST { doubt_of_product(x, y) } else { f64::NAN }
        };
        let of_args = match operator {
            Operator::Add | Operator::Sub => x.offset.err + y.offset.err,
            Operator::Mul => of_product(),
            Operator::Fma => of_product() + z.offset.err,
            _ => f64::NAN,
        };
        self.result.by.is_finite() && self.result.err <= of_args * HARDLY_MORE
    }
}

impl Float {
    #[inline(always)]
    fn of_lane<F: Plain, R: Real>(lane: &Lane, nodes: &Nodes<R>) -> Option<Float> {
        Float::new::<F, R>(lane.bits, lane.node(), nodes)
    }

    #[inline(always)]
    fn new<F: Plain, R: Real>(bits: u64, node: Option<Handle>, nodes: &Nodes<R>) -> Option<Float> {
        let native = F::value(bits);
        let Some(node) = node else {
            let real = Pair::double(native);
            return Some(Float { native, real, rounded: bits, ulps: 0, influences: Influences::NONE });
        };
        let known = nodes.of(node);
        let real = known.pair()?;
        let rounded = F::next_to(real);
        let ulps = known.beside.map_or_else(|| distance::<F>(bits, rounded), |beside| beside.ulps);
        Some(Float { native, real, rounded, ulps, influences: known.influences })
    }
}

impl<R: Real> Operations<R> {
    /// One whose result is known as a distance from what it natively is: for a loop that carries it, that is shorter than pairs are.
    #[inline(always)]
    pub fn lossy_but_near<F: Plain>(&mut self, operation: &Operation, known: &Known, mode: Mode) -> Option<Handle> {
        let Operation { operator, args: [a, b, c], native, at, site } = *operation;
        let judged = self.judge::<F>(operator, native, site, known, |_, _| true)?;
        self.count += 1;
        let node = self.nodes.make_near(Node {
            near: Near { native: F::value(native), offset: known.result },
            influences: judged.influences,
            at,
            args: [a.word, b.word, c.word],
            slots: [a.slot, b.slot, c.slot],
            ..Node::of_kind(operator, F::TARGET.ty)
        });
        if self.strays.wanted && self.is_error(self.nodes.of(node).ulps()) {
            self.strays.note(F::TARGET.ty, native as u128, node);
        }
        match judged.verdict {
            Verdict::Wrong(kind, local) => self.sites.observe_wrong(site, node, kind, local, mode, &self.nodes),
            Verdict::Fine(local) => {
                let [x, y, _] = known.args.map(|arg| arg.native);
                self.sites.observe_fine(site, node, [x, y], local, &self.nodes)
            }
        }
        Some(node)
    }

    /// The same for compiled code, which makes the node itself: the influences of the result, unless there is more to do for the execution than to count it.
    #[inline(always)]
    pub fn influences_of<F: Plain>(
        &mut self,
        operator: Operator,
        native: u64,
        site: usize,
        known: &Known,
    ) -> Option<Influences> {
        let is_counted = |sites: &Sites, wrong: Option<u64>| match wrong {
            Some(ulps) => !sites.looks_at_wrong(site, ulps),
            None => !sites.is_due(site),
        };
        let judged = self.judge::<F>(operator, native, site, known, is_counted)?;
        match judged.verdict {
            Verdict::Wrong(kind, local) => self.sites.count_wrong(site, kind, local),
            Verdict::Fine(_) => self.sites.count(site),
        }
        Some(judged.influences)
    }

    /// How one went whose result is known as a distance. Nothing, and nothing has been changed, if there is a doubt to settle, or if that is not wanted of an
    /// execution that went wrong by so many floats, or well.
    #[inline(always)]
    fn judge<F: Plain>(
        &mut self,
        operator: Operator,
        native: u64,
        site: usize,
        known: &Known,
        is_wanted: impl FnOnce(&Sites, Option<u64>) -> bool,
    ) -> Option<Judged> {
        let Known { args, influences: [from_a, from_b, from_c], nodes: [a, b, _], result } = *known;
        let [of_x, of_y, of_z] = args.map(|arg| arg.offset.pair(arg.native));
        let value = F::value(native);
        let real = result.pair(value);
        let (rounded, next_to) = (F::next_to(real), [of_x, of_y, of_z].map(F::next_to));
        let local = distance::<F>(F::apply(operator, next_to), rounded);
        let [mut is_wrong, mut is_shown] = [self.is_error(local), true];
        let is_doubtful = self.settles && self.is_doubtful::<F>(real, local);
        if is_doubtful {
            if self.has_time() || !self.sites.may_pass_over_doubt(site) {
                return None;
            }
            // Where nothing was ever wrong beyond doubt, a doubt that there is no time for is none.
            if !self.sites.is_candidate(site) {
                [is_wrong, is_shown] = [false, false];
            }
        }
        let bits = args.map(|arg| F::next_to(Pair::double(arg.native)));
        let is_other = |arg: Pair, number: usize| arg.hi == real.hi && next_to[number] != bits[number];
        let may_be_repaired = is_sum(operator) && (is_other(of_x, 0) || is_other(of_y, 1));
        let repaired = |operations: &Self| {
            let args = [(bits[0], a), (bits[1], b)];
            if may_be_repaired {
                operations.repaired::<F>(operator, args, distance::<F>(native, rounded))
            } else {
                None
            }
        };
        let mut repair = None;
        if is_wrong {
            repair = repaired(self);
            is_wrong = repair.is_none();
        }
        if !is_wanted(&self.sites, is_wrong.then_some(local)) {
            return None;
        }
        if is_doubtful {
            self.sites.passes_over_doubt(site);
        }
        let mut influences = self.sets.union(from_a, from_b);
        influences = self.sets.union(influences, from_c);
        if is_sum(operator) && !influences.is_empty() && !is_nothing_beside(real.hi, value) {
            // A repair is no cause of what it repairs.
            let from_a = self.unless_repair(a, from_a, args[0].native, of_x);
            let from_b = self.unless_repair(b, from_b, args[1].native, of_y);
            influences = self.sets.union(from_a, from_b);
        }
        if !is_wrong && !influences.is_empty() {
            repair = repair.or_else(|| repaired(self));
        }
        if let Some(repair) = repair {
            (influences, is_shown) = (repair, false);
        }
        if is_wrong {
            influences = self.sets.with(influences, site as u32);
            return Some(Judged { influences, verdict: Verdict::Wrong(CauseKind::Inaccurate, local) });
        }
        Some(Judged { influences, verdict: Verdict::Fine(is_shown.then_some(local)) })
    }

    /// What a term is under the influence of, none if it is a repair.
    #[inline(always)]
    fn unless_repair(&mut self, node: Option<Handle>, influences: Influences, native: f64, real: Pair) -> Influences {
        let native = native.abs();
        let may_repair = native == 0.0 || real.hi.abs() <= native * REPAIR;
        match node {
            Some(node) if may_repair && !influences.is_empty() && self.node_is_repair(node, native, real) => {
                Influences::NONE
            }
            _ => influences,
        }
    }

    /// What the argument is under the influence of that a sum is in the reals, if natively, where it is so many floats off, it is better than that: the other
    /// argument compensated an error.
    #[cold]
    #[inline(never)]
    fn repaired<F: Plain>(
        &self,
        operator: Operator,
        args: [(u64, Option<Handle>); 2],
        ulps: u64,
    ) -> Option<Influences> {
        let [x, y] = args.map(|(bits, node)| Float::new::<F, R>(bits, node, &self.nodes));
        let (x, y) = (x?, y?);
        // Of what is kept as a distance the last digits are others.
        let real = sum_of(operator, &x, &y)?;
        Some(repaired([&x, &y], real, ulps)?.influences)
    }

    /// Any sum or difference.
    #[inline(never)]
    pub fn sum_of_pairs<F: Plain>(&mut self, operation: &Operation, mode: Mode) -> Option<Handle> {
        let [a, b, _] = operation.args;
        let (x, y) = (Float::of_lane::<F, R>(a, &self.nodes)?, Float::of_lane::<F, R>(b, &self.nodes)?);
        self.book_lossy::<F>(operation, [&x, &y, &y], sum_of(operation.operator, &x, &y)?, mode)
    }

    /// Any other. (Not a function of its own: it would not be compiled for what the CPU has.)
    #[inline(always)]
    pub fn lossy<F: Plain>(&mut self, operation: &Operation, mode: Mode) -> Option<Handle> {
        let [a, b, c] = operation.args;
        let nodes = &self.nodes;
        let (x, y) = (Float::of_lane::<F, R>(a, nodes)?, Float::of_lane::<F, R>(b, nodes)?);
        match operation.operator {
            Operator::Sqrt => {
                let real = Pair::compute(Operator::Sqrt, &[x.real])?;
                self.book_lossy::<F>(operation, [&x, &x, &x], real, mode)
            }
            Operator::Fma => {
                let z = Float::of_lane::<F, R>(c, nodes)?;
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
        if self.settles && self.is_doubtful::<F>(real, local) {
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
            let from_a = self.unless_repair(a.node(), x.influences, x.native, x.real);
            let from_b = self.unless_repair(b.node(), y.influences, y.native, y.real);
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
        let enough = self.tolerated.saturating_sub(local);
        F::may_be_off(real, enough) && !F::is_settled(real)
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
