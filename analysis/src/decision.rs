//! Decisions that go the other way in the reals: which of them may change results, and which hardly can.
//!
//! The program took one side only, so what the other would have led to is not known. Three things show all the same: that what is tested is
//! a compensating term ([`crate::compensation`]); that an iteration has come to rest, so that a turn more or less changes little; and that
//! both sides do the same with the two values compared, in each other's place ([`crate::choice`]). Of everything else the worst is assumed.

use crate::findings::Effect;
use crate::influence::Influences;
use crate::operation::Operations;
use crate::real::Real;
use crate::spots::{Spots, Visit};
use crate::trace::{Handle, Nodes, Term};
use fpgrind_ir::{Operator, Outcome};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::collections::VecDeque;

/// So many are looked at, of each spot; then one in some.
const LOOKED_AT: u64 = 256;
const ONE_IN: u64 = 64;

/// Operations behind what is compared that may be what an iteration computes, and that lie between two turns.
const NEAR: usize = 32;
const TURN: usize = 64;
/// A turn that changes less of a value than this changes little.
const LITTLE: f64 = 1.0 / 1024.0;
/// Each turn of an iteration that comes to rest changes less than this part of what the one before did.
const SHRINKS: f64 = 0.75;
/// Roundings do not shrink: what they change of a value, at most.
const ROUNDINGS: f64 = 8.0 * f64::EPSILON;
/// Turns that have to shrink.
const TURNS: usize = 4;

impl Spots {
    /// Books a decision that went this way natively and goes the other in the reals.
    #[cold]
    pub fn differ<R: Real>(
        &mut self,
        spot: usize,
        compared: [Term; 2],
        native: bool,
        holds: impl Fn(Outcome) -> bool,
        operations: &mut Operations<R>,
    ) {
        if operations.agrees(compared, |term, operations| operations.is_noise(term), native, &holds) {
            return;
        }
        let state = &mut self.spots[spot];
        // The worst that can be is not looked for again.
        let is_due =
            state.effect != Some(Effect::Results) && (state.wrong < LOOKED_AT || state.wrong.is_multiple_of(ONE_IN));
        if state.wrong == 0 {
            state.choice.watch_on();
        }
        if is_due {
            let effect = operations.effect(compared, native, &holds);
            state.effect = Some(state.effect.map_or(effect, |before| before.min(effect)));
        }
        let is_repair = state.effect == Some(Effect::Compensation);
        let Operations { nodes, sets, .. } = operations;
        let [a, b] = compared;
        let culprit = if nodes.ulps(b) > nodes.ulps(a) { b } else { a };
        let influences = match is_repair {
            true => Influences::NONE,
            false => sets.union(nodes.influences(a), nodes.influences(b)),
        };
        self.visit(spot, Visit { wrong: true, culprit, shown: a, influences }, sets, nodes);
    }
}

impl<R: Real> Operations<R> {
    fn effect(&mut self, compared: [Term; 2], native: bool, holds: impl Fn(Outcome) -> bool) -> Effect {
        match () {
            () if self.agrees(compared, |term, operations| operations.is_repair(term), native, holds) => {
                Effect::Compensation
            }
            () if self.nodes.is_at_rest(compared) => Effect::Convergence,
            () => Effect::Results,
        }
    }

    /// Does a decision go the way that it went, if such terms are taken as they were computed?
    fn agrees(
        &mut self,
        compared: [Term; 2],
        is_such: impl Fn(Term, &mut Self) -> bool,
        native: bool,
        holds: impl Fn(Outcome) -> bool,
    ) -> bool {
        let such = compared.map(|term| is_such(term, self));
        let side = |number: usize| match compared[number] {
            Term::Node(node) if !such[number] => self.nodes.of(node).real().into_owned(),
            term => R::exactly(self.precision(), self.nodes.number(term)),
        };
        such.contains(&true) && holds(side(0).compare(&side(1)).into()) == native
    }
}

impl<R: Real> Nodes<R> {
    /// Is what is compared made of a value that a loop carries, and hardly changes any more?
    fn is_at_rest(&self, compared: [Term; 2]) -> bool {
        let compared = || compared.into_iter().filter_map(node_of);
        self.magnitudes(compared()).into_iter().any(|node| self.is_small_change(node))
            || self.behind(compared(), NEAR).into_iter().any(|node| self.has_come_to_rest(node))
    }

    /// What these are the size of: sums of squares and the like are of the size of what is in them.
    fn magnitudes(&self, of: impl Iterator<Item = Handle>) -> Vec<Handle> {
        use Operator::{Abs, Add, Cast, Div, Max, Min, Mul, Neg, Sqrt};
        let mut magnitudes: Vec<Handle> = of.collect();
        let mut next = 0;
        while let Some(node) = magnitudes.get(next).copied() {
            next += 1;
            let args = || self.args(node).filter_map(node_of);
            let is_size = |arg: Handle| matches!(self[arg].operator, Abs | Add | Mul);
            let leads_on = match self[node].operator {
                Abs | Cast | Div | Max | Min | Mul | Neg | Sqrt => true,
                Add => args().all(is_size),
                _ => false,
            };
            if leads_on && magnitudes.len() < NEAR {
                magnitudes.extend(args());
            }
        }
        magnitudes
    }

    /// A difference of what one turn and the next have made of a value, small beside it.
    fn is_small_change(&self, node: Handle) -> bool {
        if self[node].operator != Operator::Sub {
            return false;
        }
        let args: Vec<Handle> = self.args(node).filter_map(node_of).collect();
        let [a, b] = args[..] else { return false };
        let value = |node| self.value(Term::Node(node));
        let scale = value(a).abs().max(value(b).abs());
        let what = |node: Handle| (self[node].at, self[node].operator);
        let are_turns = what(a) == what(b) && !(self.previous(a).is_empty() && self.previous(b).is_empty());
        value(node).abs() <= LITTLE * scale && are_turns && !self.counts(a) && !self.counts(b)
    }

    /// A value whose last turns changed it less and less, and at last hardly.
    fn has_come_to_rest(&self, node: Handle) -> bool {
        let turns = self.turns(node, TURNS);
        let values: Vec<f64> = turns.iter().map(|turn| self.value(Term::Node(*turn))).collect();
        let changes: Vec<f64> = values.windows(2).map(|pair| (pair[0] - pair[1]).abs()).collect();
        let (Some(last), Some(first)) = (changes.first(), changes.last()) else { return false };
        let scale = values[0].abs();
        let rests = |change: &f64| *change <= ROUNDINGS * scale;
        let shrink = changes.windows(2).all(|pair| pair[0] <= SHRINKS * pair[1] || rests(&pair[0]));
        // A sum to which nothing much is added rests as well, but does not come to rest.
        let is_sum = turns.get(1).is_some_and(|turn| self.is_sum_of(node, *turn));
        changes.len() > 1 && *last <= LITTLE * scale && shrink && !(is_sum && (rests(first) || changes.len() < TURNS))
    }

    /// Does each turn add the same to it?
    fn counts(&self, node: Handle) -> bool {
        let added = |sum: Handle, to: Handle| self.args(sum).find(|arg| *arg != Term::Node(to));
        self.previous(node).into_iter().filter(|before| self.is_sum_of(node, *before)).any(|before| {
            let mut earlier = self.previous(before).into_iter().filter(|earlier| self.is_sum_of(before, *earlier));
            earlier.any(|earlier| match (added(node, before), added(before, earlier)) {
                (Some(now), Some(then)) => self.number(now) == self.number(then),
                _ => false,
            })
        })
    }

    fn is_sum_of(&self, node: Handle, part: Handle) -> bool {
        matches!(self[node].operator, Operator::Add | Operator::Sub)
            && self.args(node).any(|arg| arg == Term::Node(part))
    }

    /// An operation and what it was in the turns before, as many as are known up to a number.
    fn turns(&self, node: Handle, most: usize) -> Vec<Handle> {
        let earlier = if most == 0 { SmallVec::new() } else { self.previous(node) };
        let earlier = earlier.into_iter().rev().map(|before| self.turns(before, most - 1));
        let mut turns = vec![node];
        // The longest, and of those the nearest: an end of an interval may be as old as the loop.
        turns.extend(earlier.max_by_key(Vec::len).unwrap_or_default());
        turns
    }

    /// The same operation, a turn before: the nearest ones.
    fn previous(&self, node: Handle) -> SmallVec<[Handle; 2]> {
        let what = |node: Handle| (self[node].at, self[node].operator);
        let behind = self.behind(self.args(node).filter_map(node_of), TURN);
        behind.into_iter().filter(|before| what(*before) == what(node)).take(2).collect()
    }

    /// These operations and the nearest behind them.
    fn behind(&self, from: impl Iterator<Item = Handle>, most: usize) -> Vec<Handle> {
        let mut seen = FxHashSet::default();
        let mut pending: VecDeque<Handle> = from.collect();
        let mut behind = Vec::new();
        while let Some(node) = pending.pop_front()
            && behind.len() < most
        {
            if seen.insert(node) {
                behind.push(node);
                pending.extend(self.args(node).filter_map(node_of));
            }
        }
        behind
    }
}

fn node_of(term: Term) -> Option<Handle> {
    match term {
        Term::Node(node) => Some(node),
        Term::Leaf(_) => None,
    }
}
