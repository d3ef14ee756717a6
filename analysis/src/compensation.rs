//! Compensating terms: what error-free transformations make of a result and its arguments, to repair the result with it.
//!
//! In the reals such a term is nothing. Natively it is what the rounding of an operation has left over, computed with care: from that
//! operation's result and arguments alone, and so that it is right for the rounded result. That tells it from what merely ought to be zero and
//! is not: `x*x - 2` for a rounded root of 2 rounds again, and the determinant of a singular matrix is not made of one operation.

use crate::location::LocationId;
use crate::operation::Operations;
use crate::pair::Pair;
use crate::real::Real;
use crate::trace::{Args, Handle, Term};
use fpgrind_ir::{MAX_ARITY, Operator};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Beside the native value this much of a real is nothing.
pub const NOTHING: f64 = 1.0 / (1u64 << 30) as f64;
/// Beside what it is made of, if the native value is zero.
const NOTHING_AT_ZERO: f64 = 1e-27;
/// How far a careful computation may be from what it computes: a fraction of it.
const CARE: f64 = 1.0 / 1024.0;
/// Operations that are looked for behind a term, and those looked at for each.
const NEAR: usize = 64;
const EACH: usize = 120;
/// Operations looked at in all.
const ALL: usize = 1500;
/// Terms made of terms made of terms.
const LEVELS: usize = 6;

/// What was found of the operations at each place. After so many looks, each of which takes long, one that made compensating terms now and
/// then is taken to make them where its result is nothing; a few are looked at still.
pub struct Compensations {
    /// By the last digits of the places' numbers: of the operation that was the first there, which mostly is the only one. Compiled code looks there, too.
    pub first: Box<[First; PLACES]>,
    others: FxHashMap<(LocationId, Operator), Found>,
}

pub const PLACES: usize = 1 << 10;

#[derive(Clone, Copy)]
#[repr(C)]
pub struct First {
    pub at: LocationId,
    pub found: Found,
    pub operator: Option<Operator>,
}

impl Default for Compensations {
    fn default() -> Compensations {
        let none = First { at: LocationId(0), found: Found::default(), operator: None };
        Compensations { first: Box::new([none; PLACES]), others: FxHashMap::default() }
    }
}

impl Compensations {
    #[inline(always)]
    fn at(&mut self, at: LocationId, operator: Operator) -> &mut Found {
        let first = &mut self.first[at.0 as usize % PLACES];
        if first.operator.is_none() {
            (first.at, first.operator) = (at, Some(operator));
        }
        let is_it = first.at == at && first.operator == Some(operator);
        if is_it { &mut first.found } else { self.others.entry((at, operator)).or_default() }
    }

    /// Is a compensating term to be expected at such a place? Nothing if that takes a look.
    #[inline]
    pub fn foresee(&mut self, at: LocationId, operator: Operator) -> Option<bool> {
        let found = self.at(at, operator);
        let asked = Found { asked: found.asked.wrapping_add(1), ..*found };
        let is_one = asked.is_sure()?;
        *found = asked;
        Some(is_one)
    }
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Found {
    pub asked: u32,
    pub looked_at: u32,
    pub compensating: u32,
}

pub const SURE: u32 = 16;
pub const ONE_IN: u32 = 1 << 17;
pub const NOW_AND_THEN: u32 = 8;

impl Found {
    /// What is to be expected without a look, if it has been looked at so often.
    fn is_sure(&self) -> Option<bool> {
        let is_due = self.looked_at < SURE || self.asked.is_multiple_of(ONE_IN);
        (!is_due).then_some(self.compensating.saturating_mul(NOW_AND_THEN) >= self.looked_at)
    }
}

impl<R: Real> Operations<R> {
    /// Does it repair a rounding?
    pub fn is_compensation(&mut self, term: Term) -> bool {
        let Term::Node(node) = term else { return false };
        if self.nodes.value(term) == 0.0 || !self.is_nothing(term) {
            return false;
        }
        self.compensates(node)
    }

    /// Does one that is nothing in the reals, but not natively, repair a rounding?
    #[inline]
    fn compensates(&mut self, node: Handle) -> bool {
        let foreseen = self.compensations.foresee(self.nodes[node].at, self.nodes[node].operator);
        foreseen.unwrap_or_else(|| self.look_for_compensation(node))
    }

    #[cold]
    fn look_for_compensation(&mut self, node: Handle) -> bool {
        let is_one = Search { operations: self, left: ALL }.compensates(Term::Node(node), LEVELS);
        let found = self.compensations.at(self.nodes[node].at, self.nodes[node].operator);
        found.asked = found.asked.wrapping_add(1);
        found.looked_at = found.looked_at.saturating_add(1);
        found.compensating = found.compensating.saturating_add(is_one as u32);
        is_one
    }

    /// Does it make no difference whether a node is added that is this in the reals?
    #[inline]
    pub fn node_is_repair(&mut self, node: Handle, native: f64, real: Pair) -> bool {
        if native == 0.0 || self.nodes[node].has_beside() {
            return self.is_repair(Term::Node(node));
        }
        let is_nothing = is_nothing_beside(real.hi, native) || !real.differs_from_zero();
        is_nothing && self.compensates(node)
    }

    /// Does it make no difference in the reals whether it is added?
    pub fn is_repair(&mut self, term: Term) -> bool {
        self.is_nothing(term) && (self.nodes.value(term) == 0.0 || self.is_compensation(term))
    }

    /// Is it zero, and in the reals too, as far as they can tell?
    pub fn is_noise(&self, term: Term) -> bool {
        self.nodes.value(term) == 0.0 && self.is_below(term, self.noise)
    }

    fn is_below(&self, term: Term, part: f64) -> bool {
        let Term::Node(node) = term else { return true };
        let largest = self.nodes.args(node).map(|arg| self.nodes.value(arg).abs()).fold(0.0, f64::max);
        self.nodes.of(node).real().to_f64().abs() <= part * largest
    }

    /// Is it zero in the reals, more or less, or as far as is known?
    fn is_nothing(&self, term: Term) -> bool {
        let native = self.nodes.value(term).abs();
        let Term::Node(node) = term else { return native == 0.0 };
        let real = self.nodes.of(node).real();
        let is_small = match native == 0.0 {
            true => self.is_below(term, NOTHING_AT_ZERO),
            false => is_nothing_beside(real.to_f64(), native),
        };
        is_small || !real.differs_for_sure(&R::zero(self.precision()))
    }
}

/// Is the native value all that there is?
pub fn is_nothing_beside(real: f64, native: f64) -> bool {
    real.abs() <= NOTHING * native.abs()
}

struct Search<'a, R> {
    operations: &'a Operations<R>,
    left: usize,
}

/// An operation, in native numbers, whose rounding a term may be about.
struct Around<R> {
    stops: SmallVec<[Term; MAX_ARITY + 1]>,
    known: SmallVec<[(Handle, Option<R>); 16]>,
    left: usize,
}

impl<R: Real> Search<'_, R> {
    fn compensates(&mut self, term: Term, levels: usize) -> bool {
        let Term::Node(node) = term else { return false };
        let nodes = &self.operations.nodes;
        if levels == 0 || self.left == 0 || nodes.value(term) == 0.0 || !self.operations.is_nothing(term) {
            return false;
        }
        let args: SmallVec<[Term; MAX_ARITY]> = nodes.args(node).collect();
        let nothing = |arg: &Term| self.operations.is_nothing(*arg);
        match (nodes[node].operator, &args[..]) {
            (Operator::Neg | Operator::Abs | Operator::Cast | Operator::Div, [arg, ..]) => {
                self.compensates(*arg, levels - 1)
            }
            (Operator::Mul, args) => args.iter().any(|arg| self.compensates(*arg, levels - 1)),
            (Operator::Add | Operator::Sub, args) if args.iter().all(nothing) => {
                self.one_compensates(args, levels) || self.is_residual(node, levels)
            }
            (Operator::Fma, [x, y, z]) if (nothing(x) || nothing(y)) && nothing(z) => {
                self.one_compensates(&args, levels) || self.is_residual(node, levels)
            }
            (Operator::Add | Operator::Sub | Operator::Fma, _) => self.is_residual(node, levels),
            _ => false,
        }
    }

    /// New ones before sums of those of other turns, which go on and on.
    fn one_compensates(&mut self, args: &[Term], levels: usize) -> bool {
        let is_sum = |arg: &Term| match arg {
            Term::Node(node) => self.operations.nodes.args(*node).all(|arg| self.operations.is_nothing(arg)),
            Term::Leaf(_) => false,
        };
        let (sums, new): (Args, Args) = args.iter().copied().partition(is_sum);
        new.into_iter().chain(sums).any(|arg| self.compensates(arg, levels - 1))
    }

    /// Is it what an operation behind it has left over? Mostly it is made of that operation's result and arguments; else of these and of terms
    /// that repair the arguments.
    fn is_residual(&mut self, root: Handle, levels: usize) -> bool {
        // None may use up what others need.
        let kept = self.left - self.left / 4;
        self.left /= 4;
        let is_one = [false, true].into_iter().any(|with_terms| self.is_left_over(root, with_terms, levels));
        self.left += kept;
        is_one
    }

    fn is_left_over(&mut self, root: Handle, with_terms: bool, levels: usize) -> bool {
        use Operator::{Add, Div, Fma, Mul, Sqrt, Sub};
        let nodes = &self.operations.nodes;
        let native = nodes.value(Term::Node(root));
        let mut met: SmallVec<[Handle; NEAR]> = SmallVec::from_slice(&[root]);
        let mut next = 0;
        while let Some(node) = met.get(next).copied() {
            next += 1;
            self.left = match self.left {
                0 => return false,
                left => left - 1,
            };
            for arg in nodes.args(node) {
                if let Term::Node(arg) = arg
                    && met.len() < NEAR
                    && !met.contains(&arg)
                {
                    met.push(arg);
                }
            }
            if node == root || !matches!(nodes[node].operator, Add | Sub | Mul | Div | Sqrt | Fma) || !self.rounds(node)
            {
                continue;
            }
            let stops = std::iter::once(Term::Node(node)).chain(nodes.args(node)).collect();
            let mut around = Around { stops, known: SmallVec::new(), left: EACH };
            if let Some(right) = self.value(Term::Node(root), root, &mut around, with_terms, levels)
                && (right.to_f64() - native).abs() <= CARE * native.abs()
            {
                return true;
            }
        }
        false
    }

    fn rounds(&self, node: Handle) -> bool {
        let Operations { nodes, .. } = self.operations;
        let args: SmallVec<[R; MAX_ARITY]> = nodes.args(node).map(|arg| self.native(arg)).collect();
        if args.is_empty() {
            return false;
        }
        let right = self.compute(nodes[node].operator, &args);
        right.compare(&self.native(Term::Node(node))).is_some_and(|order| order.is_ne())
    }

    fn native(&self, term: Term) -> R {
        R::exactly(self.operations.precision(), self.operations.nodes.number(term))
    }

    fn compute(&self, operator: Operator, args: &[R]) -> R {
        let args: SmallVec<[&R; MAX_ARITY]> = args.iter().collect();
        R::compute(operator, &args, self.operations.precision())
    }

    /// A term computed without rounding from an operation's native result and arguments, if it is made of nothing else.
    fn value(
        &mut self,
        term: Term,
        root: Handle,
        around: &mut Around<R>,
        with_terms: bool,
        levels: usize,
    ) -> Option<R> {
        let nodes = &self.operations.nodes;
        let same =
            |stop: &Term| *stop == term || matches!(term, Term::Leaf(_)) && nodes.number(*stop) == nodes.number(term);
        if around.stops.iter().any(same) {
            return Some(self.native(term));
        }
        let node = match term {
            Term::Leaf(leaf) => return (leaf.constant || nodes.value(term) == 0.0).then(|| self.native(term)),
            Term::Node(node) => node,
        };
        if let Some((_, known)) = around.known.iter().find(|(known, _)| *known == node) {
            return known.clone();
        }
        around.left = around.left.checked_sub(1)?;
        self.left = self.left.checked_sub(1)?;
        let operator = nodes[node].operator;
        let terms: SmallVec<[Term; MAX_ARITY]> = nodes.args(node).collect();
        let mut args: SmallVec<[R; MAX_ARITY]> = SmallVec::new();
        for arg in &terms {
            let Some(arg) = self.value(*arg, root, around, with_terms, levels) else { break };
            args.push(arg);
        }
        let is_whole = !terms.is_empty() && args.len() == terms.len();
        let value = match is_whole {
            true => Some(self.compute(operator, &args)),
            false if with_terms && node != root && self.compensates(term, levels - 1) => Some(self.native(term)),
            false => None,
        };
        around.known.push((node, value.clone()));
        value
    }
}
