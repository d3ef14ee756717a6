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
use crate::offset::{Offset, REPAIR};
use crate::operation::Operations;
use crate::pair::Pair;
use crate::plain::{Operation, Plain, distance, is_sum};
use crate::real::Real;
use crate::site::Verdict;
use crate::trace::{Handle, Made, Nodes, Slot, ULPS_UNASKED};
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
    node: Option<Handle>,
}

impl Float {
    #[inline(always)]
    fn new<F: Plain, R: Real>(lane: &Lane, nodes: &Nodes<R>) -> Option<Float> {
        let (native, node) = (F::value(lane.bits), lane.node());
        let Some(handle) = node else {
            let real = Pair::double(native);
            return Some(Float { native, real, rounded: lane.bits, ulps: 0, influences: Influences::NONE, node });
        };
        let known = &nodes[handle];
        let real = known.kept.pair()?;
        let rounded = F::next_to(real);
        let ulps = if known.ulps == ULPS_UNASKED { distance::<F>(lane.bits, rounded) } else { known.ulps };
        Some(Float { native, real, rounded, ulps, influences: known.influences, node })
    }
}

impl<R: Real> Operations<R> {
    /// A sum or a difference, of which the distance from the native result may be known: then that is shorter than pairs are, for a loop that carries it.
    #[inline(never)]
    pub fn lossy_sum<F: Plain>(&mut self, operation: &Operation, near: Option<Offset>, mode: Mode) -> Option<Handle> {
        let [a, b, _] = operation.args;
        let (x, y) = (Float::new::<F, R>(a, &self.nodes)?, Float::new::<F, R>(b, &self.nodes)?);
        let native = F::value(operation.native);
        if let Some(offset) = near
            && let real = offset.pair(native)
            && real.hi.is_finite()
            && let Some(kept) = R::of_offset(native, offset)
        {
            return self.book_lossy::<F>(operation, [&x, &y, &y], (real, kept), mode);
        }
        let real = sum_of(operation.operator, &x, &y)?;
        self.book_lossy::<F>(operation, [&x, &y, &y], (real, R::of_pair(real, self.precision())), mode)
    }

    /// Any other. (Not a function of its own: it would not be compiled for what the CPU has.)
    #[inline(always)]
    pub fn lossy<F: Plain>(&mut self, operation: &Operation, mode: Mode) -> Option<Handle> {
        let [a, b, c] = operation.args;
        let (nodes, precision) = (&self.nodes, self.precision());
        let (x, y) = (Float::new::<F, R>(a, nodes)?, Float::new::<F, R>(b, nodes)?);
        match operation.operator {
            Operator::Sqrt => {
                let real = Pair::compute(Operator::Sqrt, &[x.real])?;
                self.book_lossy::<F>(operation, [&x, &x, &x], (real, R::of_pair(real, precision)), mode)
            }
            Operator::Fma => {
                let z = Float::new::<F, R>(c, nodes)?;
                let real = Pair::compute(Operator::Fma, &[x.real, y.real, z.real])?;
                self.book_lossy::<F>(operation, [&x, &y, &z], (real, R::of_pair(real, precision)), mode)
            }
            operator => {
                let real = Pair::compute(operator, &[x.real, y.real])?;
                self.book_lossy::<F>(operation, [&x, &y, &y], (real, R::of_pair(real, precision)), mode)
            }
        }
    }

    /// The operation on its arguments, the last of them as often as there are too few, came to this in the reals, which is kept so.
    #[inline(always)]
    fn book_lossy<F: Plain>(
        &mut self,
        operation: &Operation,
        [x, y, z]: [&Float; 3],
        (real, kept): (Pair, R),
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
        if is_sum && !influences.is_empty() {
            if !is_nothing_beside(real.hi, F::value(native)) {
                // A repair is no cause of what it repairs.
                let (of_x, of_y) = (self.of_all_but_repairs(x), self.of_all_but_repairs(y));
                influences = self.sets.union(of_x, of_y);
            }
        }
        if is_sum
            && (is_wrong || !influences.is_empty())
            && (ulps < x.ulps || ulps < y.ulps)
            && let Some(repaired) = repaired(operator, [x, y], ulps)
        {
            (influences, is_wrong, shown) = (repaired.influences, false, None);
        }
        if is_wrong {
            influences = self.sets.with(influences, site as u32);
        }
        self.count += 1;
        let (ty, target) = (F::TARGET.ty, F::TARGET);
        let made = Made { operator, at, influences, bits: native as u128, real: kept, target, ulps };
        let node = self.nodes.make_of(made, [a.slot, b.slot, c.slot, Slot::None], [a.word, b.word, c.word, 0]);
        if self.is_error(ulps) {
            self.strays.note(ty, native as u128, node);
        }
        if is_wrong {
            self.sites.observe(site, node, Verdict::Wrong(CauseKind::Inaccurate, local), mode, &self.nodes);
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

    /// What a term is under the influence of, none if it is a repair.
    #[inline(always)]
    fn of_all_but_repairs(&mut self, term: &Float) -> Influences {
        let native = term.native.abs();
        let may_repair = native == 0.0 || term.real.hi.abs() <= native * REPAIR;
        match term.node {
            Some(node) if may_repair && !term.influences.is_empty() && self.node_is_repair(node, native, term.real) => {
                Influences::NONE
            }
            _ => term.influences,
        }
    }
}

#[inline(always)]
fn sum_of(operator: Operator, x: &Float, y: &Float) -> Option<Pair> {
    Pair::add(x.real, if operator == Operator::Sub { y.real.negated() } else { y.real })
}

/// The argument that a sum is in the reals, if natively it is better than that: the other argument compensated an error.
fn repaired<'a>(operator: Operator, [x, y]: [&'a Float; 2], ulps: u64) -> Option<&'a Float> {
    // Of what was kept as a distance the last digits are others.
    let real = sum_of(operator, x, y)?;
    [x, y].into_iter().find(|arg| ulps < arg.ulps && arg.real.hi == real.hi && arg.real.lo == real.lo)
}
