//! The common case of reals that are no pairs, but have digits of their own: these are computed where the result's node will be.

use super::{Operation, Plain, distance, is_sum};
use crate::compensation::is_nothing_beside;
use crate::findings::CauseKind;
use crate::influence::Influences;
use crate::lanes::{self, Lane};
use crate::location::LocationId;
use crate::mode::Mode;
use crate::offset::{Near, Offset, REPAIR};
use crate::operation::Operations;
use crate::pair::Pair;
use crate::real::{Operand, Real, STEADY};
use crate::site::Verdict;
use crate::trace::{Handle, Node, Term};
use fpgrind_ir::Operator;

/// What is known of an argument.
#[derive(Clone, Copy)]
struct Known {
    node: Option<Handle>,
    /// What it should be, and how far from there it is.
    correct: u64,
    ulps: u64,
    influences: Influences,
}

/// Code of its own for each of these operations on two arguments.
macro_rules! of_two {
    ($($name:ident $operator:ident),*) => {$(
        #[inline(never)]
        fn $name<F: Plain>(&mut self, a: &Lane, b: &Lane, native: u64, does: &lanes::Plain, mode: Mode) -> Option<Handle> {
            self.compute::<F>(Operator::$operator, [a, b, &Lane::NOTHING], native, does, mode)
        }
    )*};
}

impl<R: Real> Operations<R> {
    /// If the operation is fine, or merely inaccurate. Else nothing has changed. Each of those that are frequent has code of its own, which is no
    /// part of the engine: that is large enough.
    #[inline(always)]
    pub(super) fn with_digits<F: Plain>(
        &mut self,
        [a, b, c]: [&Lane; 3],
        native: u64,
        does: &lanes::Plain,
        mode: Mode,
    ) -> Option<Handle> {
        match does.operator {
            Operator::Add => self.sum::<F>(a, b, native, does, mode),
            Operator::Sub => self.difference::<F>(a, b, native, does, mode),
            Operator::Mul => self.product::<F>(a, b, native, does, mode),
            Operator::Div => self.quotient::<F>(a, b, native, does, mode),
            Operator::Fma => self.fused::<F>([a, b, c], native, does, mode),
            _ => self.other::<F>([a, b, c], native, does, mode),
        }
    }

    of_two!(sum Add, difference Sub, product Mul, quotient Div);

    #[inline(never)]
    fn fused<F: Plain>(&mut self, args: [&Lane; 3], native: u64, does: &lanes::Plain, mode: Mode) -> Option<Handle> {
        self.compute::<F>(Operator::Fma, args, native, does, mode)
    }

    #[inline(never)]
    fn other<F: Plain>(&mut self, args: [&Lane; 3], native: u64, does: &lanes::Plain, mode: Mode) -> Option<Handle> {
        self.compute::<F>(does.operator, args, native, does, mode)
    }

    #[inline(always)]
    fn compute<F: Plain>(
        &mut self,
        operator: Operator,
        args: [&Lane; 3],
        native: u64,
        does: &lanes::Plain,
        mode: Mode,
    ) -> Option<Handle> {
        if F::is_nan(native) {
            return None;
        }
        let ([a, b, c], precision, site) = (args, self.precision(), does.site);
        let (result, [x, y, z]) = self.nodes.next_and(args.map(|lane| (lane.slot, lane.word)));
        let operands = [operand::<F, R>(a, x), operand::<F, R>(b, y), operand::<F, R>(c, z)];
        let is_steady = result.become_result(operator, operands, precision, F::TARGET.ty) && self.tolerated >= STEADY;
        let [of_a, of_b, of_c] = args.map(|lane| self.nodes.influences_of((lane.slot, lane.word)));
        let influences = self.sets.union(of_a, of_b);
        let influences = self.sets.union(influences, of_c);
        // Then how wrong it is is asked when somebody wants to know.
        let is_plainly_fine = is_steady && (influences.is_empty() || !is_sum(operator) || self.hands_on::<F>([a, b]));
        if is_plainly_fine && !self.strays.wanted && !self.sites.is_due(site) {
            self.sites.count(site);
            return Some(self.make_with_digits::<F>(operator, args, native, does.at, influences));
        }
        let operation = Operation { operator, args, native, at: does.at, site };
        self.with_care::<F>(&operation, influences, mode)
    }

    /// Is the sum that comes next under all influences of these arguments, beyond doubt? Not if it may repair one, or one may be a repair.
    #[inline(always)]
    fn hands_on<F: Plain>(&self, [a, b]: [&Lane; 2]) -> bool {
        let Some(sum) = self.nodes.next_real() else { return false };
        self.is_no_repair::<F>(a, sum) && self.is_no_repair::<F>(b, sum)
    }

    #[inline(always)]
    fn is_no_repair<F: Plain>(&self, lane: &Lane, sum: &R) -> bool {
        let Some(real) = self.nodes.real_of((lane.slot, lane.word)) else { return true };
        let native = F::value(lane.bits).abs();
        native != 0.0 && real.to_f64().abs() > native * REPAIR && !sum.is(real)
    }

    /// The same, if more has to be looked at. The real has been computed.
    #[inline(never)]
    fn with_care<F: Plain>(&mut self, operation: &Operation, mut influences: Influences, mode: Mode) -> Option<Handle> {
        let Operation { operator, args: [a, b, c], native, at, site } = *operation;
        let [x, y, z] = [self.known::<F>(a)?, self.known::<F>(b)?, self.known::<F>(c)?];
        let real = self.nodes.next_real()?.to_f64();
        if !real.is_finite() {
            return None;
        }
        let rounded = F::rounded(Pair::double(real))?;
        let ulps = distance::<F>(native, rounded);
        let mut local = ulps;
        if x.ulps | y.ulps | z.ulps != 0 {
            local = distance::<F>(F::apply(operator, [x.correct, y.correct, z.correct]), rounded);
        }
        let mut verdict = Verdict::Fine(Some(local));
        if self.is_error(local) {
            if operator == Operator::Div || !self.is_merely_inaccurate::<F>(operator, [x, y, z]) {
                return None;
            }
            verdict = Verdict::Wrong(CauseKind::Inaccurate, local);
        }
        if !influences.is_empty() || !verdict.is_fine() {
            let values = [real, F::value(native)];
            (influences, verdict) = self.blamed::<F>(operator, [x, y], influences, values, (ulps, site, verdict));
        }
        self.nodes.next_beside().ulps = ulps;
        let node = self.make_with_digits::<F>(operator, [a, b, c], native, at, influences);
        if self.is_error(ulps) {
            self.strays.note(F::TARGET.ty, native as u128, node);
        }
        match verdict {
            Verdict::Fine(shown) => {
                self.sites.observe_fine(site, node, [F::value(a.bits), F::value(b.bits)], shown, &self.nodes);
            }
            Verdict::Wrong(..) => self.sites.observe(site, node, verdict, mode, &self.nodes),
        }
        Some(node)
    }

    #[inline(always)]
    fn make_with_digits<F: Plain>(
        &mut self,
        operator: Operator,
        [a, b, c]: [&Lane; 3],
        native: u64,
        at: LocationId,
        influences: Influences,
    ) -> Handle {
        self.count += 1;
        self.nodes.make_next(Node {
            near: Near { native: F::value(native), offset: Offset::NONE },
            influences,
            at,
            args: [a.word, b.word, c.word],
            slots: [a.slot, b.slot, c.slot],
            ..Node::of_kind(operator, F::TARGET.ty)
        })
    }

    /// Nothing if what it should be is not easily had.
    #[inline(always)]
    fn known<F: Plain>(&self, lane: &Lane) -> Option<Known> {
        let native = F::bits(lane.bits);
        let Some(handle) = lane.node() else {
            return Some(Known { node: None, correct: native, ulps: 0, influences: Influences::NONE });
        };
        let node = self.nodes.of(handle);
        let correct = F::rounded(Pair::double(node.beside?.real.to_f64()))?;
        let ulps = distance::<F>(native, correct);
        Some(Known { node: Some(handle), correct, ulps, influences: node.influences })
    }

    /// Is a wrong operation so for no other reason than that it lost digits? Not if an argument, or what comes out of what they should be, is
    /// beyond the format.
    #[cold]
    fn is_merely_inaccurate<F: Plain>(&self, operator: Operator, args: [Known; 3]) -> bool {
        for arg in args {
            let is_beyond = |node: Handle| {
                let value = F::value(arg.correct);
                let is_zero =
                    || self.nodes.of(node).real().compare(&R::zero(self.precision())).is_some_and(|o| o.is_eq());
                !value.is_finite() || value == 0.0 && !is_zero()
            };
            if arg.node.is_some_and(is_beyond) {
                return false;
            }
        }
        F::value(F::apply(operator, args.map(|arg| arg.correct))).is_finite()
    }

    /// Whose influence the result is under, that of its arguments being this, and the verdict if it stands.
    fn blamed<F: Plain>(
        &mut self,
        operator: Operator,
        args: [Known; 2],
        mut influences: Influences,
        [real, native]: [f64; 2],
        (ulps, site, verdict): (u64, usize, Verdict),
    ) -> (Influences, Verdict) {
        if is_sum(operator) {
            if !influences.is_empty() && !is_nothing_beside(real, native) {
                influences = Influences::NONE;
                for arg in args {
                    influences = self.add_unless_repair::<F>(influences, arg);
                }
            }
            if influences.is_empty() && verdict.is_fine() {
                return (influences, verdict);
            }
            for arg in args {
                // It repairs the argument that it is in the reals.
                if ulps < arg.ulps
                    && let Some(node) = arg.node
                    && let Some(real) = self.nodes.next_real()
                    && self.nodes.of(node).real().compare(real).is_some_and(|order| order.is_eq())
                {
                    return (arg.influences, Verdict::Fine(None));
                }
            }
        }
        if !verdict.is_fine() {
            influences = self.sets.with(influences, site as u32);
        }
        (influences, verdict)
    }

    /// A repair is no cause of what it repairs.
    fn add_unless_repair<F: Plain>(&mut self, influences: Influences, arg: Known) -> Influences {
        let Some(node) = arg.node.filter(|_| !arg.influences.is_empty()) else { return influences };
        let native = F::value(self.nodes.of(node).bits() as u64).abs();
        let may_repair = native == 0.0 || self.nodes.of(node).real().to_f64().abs() <= native * REPAIR;
        match may_repair && self.is_repair(Term::Node(node)) {
            true => influences,
            false => self.sets.union(influences, arg.influences),
        }
    }
}

#[inline(always)]
fn operand<'a, F: Plain, R>(lane: &Lane, kept: Option<&'a R>) -> Operand<'a, R> {
    match kept {
        Some(real) => Operand::Real(real),
        None => Operand::Double(F::value(lane.bits)),
    }
}
