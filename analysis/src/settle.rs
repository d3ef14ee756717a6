//! Where a real is in doubt, it is computed again in MPFR, from the operations behind it.

use crate::error;
use crate::mode::Target;
use crate::mpfr::Mpfr;
use crate::number::Number;
use crate::operation::{Operations, in_reals};
use crate::real::Real;
use crate::trace::{Args, Handle, Term};
use fpgrind_ir::{MAX_ARITY, Operator};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::VecDeque;

/// Operations that are done again, at most: those nearest to the result; and more if that was not enough and there is time. Further away, what is known of
/// a value is taken to be exact: its doubt is in the last of some hundred bits, and goes away where the same value is subtracted.
const MOST: [usize; 3] = [48, 400, 3000];

/// Done again without further ado; and for so many operations one more. To do one again takes a hundred times as long.
pub const FREE: u64 = 1 << 16;
pub const OPERATIONS: u64 = 512;
/// What it costs to ask at all, in operations that are done again.
const CALL: u64 = 8;

impl<R: Real> Operations<R> {
    /// Were so few operations done again that more of them do not count?
    #[inline(always)]
    pub fn has_time(&self) -> bool {
        self.done_again < FREE + self.count / OPERATIONS
    }

    /// The operation on its arguments beyond doubt, if doubts are to be settled. If no trace is long enough, what it seems to be.
    #[cold]
    pub fn settle(&mut self, operator: Operator, args: &[Term], target: Target) -> Option<R> {
        if !self.settles {
            return None;
        }
        let mut value = None;
        for most in MOST {
            let near = self.near(args, most);
            self.done_again += near.nodes.len() as u64 + CALL;
            let seems = self.again(operator, args, &near, |real, _, precision| real.to_mpfr(precision));
            let is_settled = near.is_whole || {
                // Each value to one side, the sides at random: doubts that are alike must not hide one another.
                let may_be = self.again(operator, args, &near, |real, node, precision| {
                    real.extreme(node.hash().count_ones() % 2 == 0, precision)
                });
                let [seems, may_be] = [&seems, &may_be].map(|again| again.result.rounded(target));
                error::ulps(target.ty, seems, may_be) <= 1
            };
            if is_settled || near.nodes.len() < most || most == MOST[MOST.len() - 1] || !self.has_time() {
                self.unsettled += !is_settled as u64;
                // What was found out is kept: the next doubt may be about something near.
                for (node, value) in near.nodes.into_iter().zip(seems.values) {
                    let real = R::settled(value);
                    let ulps = match (self.nodes.is_exact(node), self.nodes.of(node).target()) {
                        // As wrong as its argument, in another format perhaps.
                        (true, _) => self.nodes.of(node).ulps(),
                        (false, to) => error::ulps_of(to, self.nodes.of(node).bits(), real.rounded(to)),
                    };
                    self.nodes.set_real(node, real, ulps);
                }
                value = Some(R::settled(seems.result));
                break;
            }
        }
        value
    }

    /// The operations to do again, each after those that it rests on.
    fn near(&self, args: &[Term], most: usize) -> Near {
        let inexact = |term: Term| match term {
            Term::Node(node) => Some(node).filter(|node| !self.nodes.of(*node).is_exact()),
            Term::Leaf(_) => None,
        };
        let mut chosen: FxHashSet<Handle> = FxHashSet::default();
        let mut pending: VecDeque<Handle> = args.iter().filter_map(|arg| inexact(*arg)).collect();
        let mut is_whole = true;
        while let Some(node) = pending.pop_front() {
            if self.nodes.arity(node) == 0 || chosen.len() == most {
                is_whole = false;
            } else if chosen.insert(node) {
                pending.extend(self.nodes.args(node).filter_map(inexact));
            }
        }
        // In depth now: an operation is done when its arguments have been.
        let mut nodes = Vec::with_capacity(chosen.len());
        let mut stack: Vec<(Handle, bool)> = args.iter().filter_map(|arg| Some((inexact(*arg)?, false))).collect();
        while let Some((node, are_args_done)) = stack.pop() {
            if are_args_done {
                nodes.push(node);
            } else if chosen.remove(&node) {
                stack.push((node, true));
                stack.extend(self.nodes.args(node).filter_map(|arg| Some((inexact(arg)?, false))));
            }
        }
        let places = nodes.iter().enumerate().map(|(place, node)| (*node, place)).collect();
        Near { nodes, places, is_whole }
    }

    /// Does them again, with what `known` says of the values that they rest on.
    fn again(&self, operator: Operator, args: &[Term], near: &Near, known: fn(&R, Handle, u32) -> Mpfr) -> Again {
        let mut values: Vec<Mpfr> = Vec::with_capacity(near.nodes.len());
        let apply = |values: &[Mpfr], operator, args: &[Term]| {
            let value = |arg: &Term| match arg {
                Term::Leaf(leaf) => Cow::Owned(Mpfr::exactly(self.precision(), Number::new(leaf.ty, leaf.bits()))),
                Term::Node(node) => match near.places.get(node).and_then(|place| values.get(*place)) {
                    Some(value) => Cow::Borrowed(value),
                    None => Cow::Owned(known(&self.nodes.of(*node).real(), *node, self.precision())),
                },
            };
            let args: SmallVec<[Cow<Mpfr>; MAX_ARITY]> = args.iter().map(value).collect();
            Mpfr::apply(operator, &args.iter().map(|arg| &**arg).collect::<SmallVec<[&Mpfr; MAX_ARITY]>>())
        };
        for node in &near.nodes {
            let args: Args = self.nodes.args(*node).collect();
            let operation = in_reals(self.nodes[*node].operator, self.nodes.of(*node).target().direction);
            let value = apply(&values, operation, &args);
            values.push(value);
        }
        let result = apply(&values, operator, args);
        Again { values, result }
    }
}

struct Near {
    nodes: Vec<Handle>,
    /// Where they are among them.
    places: FxHashMap<Handle, usize>,
    /// All that they rest on is exact.
    is_whole: bool,
}

struct Again {
    /// Of all that were done again, in their order.
    values: Vec<Mpfr>,
    result: Mpfr,
}
