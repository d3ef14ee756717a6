//! Anti-unification: from the traces of many executions to the one expression that they are all instances of.
//!
//! The expression is a tree of positions, the first trace unrolled, level by level. Each further trace is laid over it, in one pass from the
//! first position to the last: where the two disagree the position becomes a variable and everything beneath it goes. Positions that had the
//! same value in every execution belong to one class; variables of one class are one variable.
//!
//! What a loop carries from one turn to the next is a variable, too, where the expression explains the error without what came
//! before: how many turns it took is no part of it.

#[path = "carried.rs"]
mod carried;
#[path = "told.rs"]
mod told;

use crate::findings::Ranges;
use crate::location::LocationId;
use crate::node::Kept;
use crate::number::Number;
use crate::real::Real;
use crate::room::Room;
use crate::sampling::Reservoir;
use crate::trace::{Handle, Nodes, Term};
pub use carried::Carrier;
use fpgrind_ir::{Operator, Type};
use std::collections::VecDeque;
use std::ops::Range;

/// An expression larger than this helps nobody.
const MAX_POSITIONS: usize = 150;
/// Erroneous executions whose values are kept, to evaluate the expression on: those number 1, 2, 4, 8, and the worst.
const MAX_SAMPLES: usize = 16;

/// A position with its ranges, what stands there in the present execution, and its values in that and in the worst.
const POSITION_BYTES: usize = size_of::<Position>()
    + 2 * size_of::<Ranges>()
    + size_of::<Option<Term>>()
    + 2 * size_of::<Number>()
    + size_of::<bool>();
/// Executions that are searched for what a loop carries, apart from those number 1, 2, 4, 8: the search is not cheap.
const EARLY: u64 = 8;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    Operation(Operator, Type),
    /// A number written in the program.
    Number,
    Variable,
    /// Above it a variable has taken its place.
    Gone,
}

/// What a pass over all positions asks for, and no more: it should stay in a cache.
struct Position {
    shape: Shape,
    /// How many positions stand for its arguments, and the first of them. The others follow it.
    arity: u8,
    first: u16,
    /// The first position that had the same value in every erroneous execution so far.
    class: u16,
    /// Where the operation is, if it is always the same one.
    place: Option<LocationId>,
    /// The result of an earlier turn of a loop.
    carried: bool,
}

/// The values of all positions in one execution.
type Values = Vec<Number>;

/// An erroneous execution that is kept.
#[derive(Clone)]
struct Sample {
    values: Values,
    /// Its local error, and the result in the reals.
    bits: f64,
    correct: Number,
}

pub struct Generaliser {
    /// The root comes first, and each position before its children.
    positions: Vec<Position>,
    /// Values of each position in all executions that were looked at, and in the erroneous ones.
    seen: Vec<Ranges>,
    erroneous: Vec<Ranges>,
    executions: u64,
    /// How often it became another expression.
    changes: u64,
    worst: Sample,
    samples: Vec<Sample>,
    /// Values of all positions and bits of error, of erroneous executions and of others: to be looked at, not to be computed with.
    wrong: Reservoir<(Vec<f64>, f64)>,
    fine: Reservoir<(Vec<f64>, f64)>,
    /// Classes of operations that are shown as variables all the same, by the number of their first position.
    cut: Vec<bool>,
    /// The execution being looked at: what stands at each position, if the trace reaches there, and the values of the last erroneous one.
    terms: Vec<Option<Term>>,
    current: Values,
    room: Room,
    /// For want of room it is not all that it would have been.
    is_short: bool,
}

impl Generaliser {
    /// Starts from the structure of a trace, of as many levels as there is room for, but the root. Its values count only once it is met.
    pub fn new<R: Real>(root: Term, nodes: &Nodes<R>, room: &Room) -> Generaliser {
        let most = (room.left() / POSITION_BYTES).min(MAX_POSITIONS);
        let mut is_short = false;
        let mut positions = vec![Position::new()];
        let mut pending = VecDeque::from([(0, root, 0)]);
        while let Some((at, term, depth)) = pending.pop_front() {
            match term {
                Term::Leaf(leaf) if leaf.constant => positions[at].shape = Shape::Number,
                Term::Node(handle) if depth < nodes.max_depth() => {
                    let arity = nodes.arity(handle);
                    if arity == 0 || at != 0 && positions.len() + arity > most {
                        is_short |= arity > 0 && most < MAX_POSITIONS;
                        continue;
                    }
                    positions[at].shape = Shape::Operation(nodes[handle].operator, nodes[handle].ty);
                    positions[at].place = Some(nodes[handle].at);
                    positions[at].first = positions.len() as u16;
                    positions[at].arity = arity as u8;
                    for arg in nodes.args(handle) {
                        pending.push_back((positions.len(), nodes.shown(arg), depth + 1));
                        positions.push(Position::new());
                    }
                }
                _ => {}
            }
        }
        let zero = Number::from(0.0);
        let current = vec![zero; positions.len()];
        let worst = Sample { values: current.clone(), bits: 0.0, correct: zero };
        let cut = vec![false; positions.len()];
        room.take(size_of::<Generaliser>() + positions.len() * POSITION_BYTES);
        if is_short {
            room.is_short();
        }
        Generaliser {
            room: room.clone(),
            is_short,
            seen: vec![Ranges::default(); positions.len()],
            erroneous: vec![Ranges::default(); positions.len()],
            terms: vec![None; positions.len()],
            positions,
            executions: 0,
            changes: 0,
            worst,
            samples: Vec::new(),
            wrong: Reservoir::new(),
            fine: Reservoir::new(),
            cut,
            current,
        }
    }

    /// Generalises to an execution with so many bits of error. Is it another expression now?
    pub fn meet<R: Real>(&mut self, root: Term, bits: f64, nodes: &Nodes<R>) -> bool {
        let before = self.changes;
        self.executions += 1;
        if self.executions <= EARLY || self.executions.is_power_of_two() {
            self.find_carried(0, root, root, nodes);
        }
        self.terms[0] = Some(root);
        let (mut at, mut may_differ) = (0, false);
        loop {
            let (other, are_equal) = self.go_over::<R, true>(at, nodes);
            may_differ |= !are_equal || other < self.positions.len();
            let Some(term) = self.terms.get(other).copied() else { break };
            if let Some(term) = term {
                let shown = self.meet_at(other, self.shown_at(other, term, nodes), nodes);
                self.lay_below(other, shown, nodes);
            }
            at = other + 1;
        }
        if may_differ {
            self.refine_classes();
        }
        let can_grow = self.wrong.can_grow() && self.has_room(size_of::<f64>());
        self.wrong.offer(can_grow, || (self.current.iter().map(Number::to_f64).collect(), bits));
        let is_worst = bits > self.worst.bits || self.executions == 1;
        let is_sampled =
            self.executions.is_power_of_two() && self.samples.len() < MAX_SAMPLES && self.has_room(size_of::<Number>());
        if is_worst || is_sampled {
            let sample = Sample { values: self.current.clone(), bits, correct: nodes.correct(root) };
            if is_sampled {
                self.samples.push(sample.clone());
            }
            if is_worst {
                self.worst = sample;
            }
        }
        self.changes != before
    }

    /// Is there room for one more execution, with so many bytes for each position? If so it is taken.
    fn has_room(&mut self, bytes: usize) -> bool {
        let has_room = self.room.take_for_example(self.positions.len() * bytes + size_of::<Sample>());
        if !has_room && !self.is_short {
            self.is_short = true;
            self.room.is_short();
        }
        has_room
    }

    /// What looking at an execution costs.
    pub fn size(&self) -> usize {
        self.positions.len()
    }

    /// Takes note of the values of an execution that went well, as far as it looks like the erroneous ones.
    /// It had so many bits of error, if that is known.
    pub fn see<R: Real>(&mut self, root: Term, bits: Option<f64>, nodes: &Nodes<R>) {
        self.terms[0] = Some(root);
        let mut at = 0;
        loop {
            let (other, _) = self.go_over::<R, false>(at, nodes);
            let Some(term) = self.terms.get(other).copied() else { break };
            if let Some(term) = term {
                let term = self.shown_at(other, term, nodes);
                self.seen[other].include(nodes.value(term));
                let shown = self.operation_at(other, term, nodes);
                self.lay_below(other, shown, nodes);
            }
            at = other + 1;
        }
        let Some(bits) = bits else { return };
        let can_grow = self.fine.can_grow() && self.has_room(size_of::<f64>());
        let value = |term: &Option<Term>| term.map_or(f64::NAN, |term| nodes.value(term));
        self.fine.offer(can_grow, || (self.terms.iter().map(value).collect(), bits));
    }

    /// Goes over positions, from one on, while what stands there is as expected and simply kept, which it mostly is. Where it stops, and whether what was equal in all
    /// erroneous executions has been so again.
    fn go_over<R: Real, const IS_ERRONEOUS: bool>(&mut self, from: usize, nodes: &Nodes<R>) -> (usize, bool) {
        let Generaliser { positions, terms, current, seen, erroneous, .. } = self;
        let count = positions.len();
        let (terms, current) = (&mut terms[..count], &mut current[..count]);
        let (seen, erroneous) = (&mut seen[..count], &mut erroneous[..count]);
        let mut are_equal = true;
        for at in from..count {
            let position = &positions[at];
            let (number, value) = match terms[at] {
                Some(Term::Node(node)) => {
                    let node = &nodes[node];
                    if node.kept == Kept::Odd || node.operator == Operator::Cast {
                        return (at, are_equal);
                    }
                    if let Shape::Operation(operator, ty) = position.shape {
                        let is_it =
                            node.operator == operator && node.ty == ty && node.has_inline(position.arity as usize);
                        let is_there = position.place.is_none_or(|place| place == node.at);
                        if IS_ERRONEOUS && !(is_it && is_there) {
                            return (at, are_equal);
                        }
                        let args = node.slots.into_iter().zip(node.args);
                        for (term, (slot, word)) in terms[position.children()].iter_mut().zip(args) {
                            *term = if is_it { Term::of_arg(slot, word) } else { None };
                        }
                    } else if IS_ERRONEOUS && position.shape != Shape::Variable {
                        return (at, are_equal);
                    }
                    (Number::new(node.ty, node.near_bits() as u128), node.near.native)
                }
                Some(Term::Leaf(leaf)) if position.arity == 0 => {
                    let number = Number::new(leaf.ty, leaf.bits());
                    let is_known = leaf.constant && self.executions > 1 && number.is_same(&current[at]);
                    if IS_ERRONEOUS && position.shape != Shape::Variable && !is_known {
                        return (at, are_equal);
                    }
                    (number, number.to_f64())
                }
                Some(_) => return (at, are_equal),
                None => {
                    terms[position.children()].fill(None);
                    continue;
                }
            };
            if IS_ERRONEOUS {
                current[at] = number;
                are_equal &= number.is_same(&current[position.class as usize]);
            }
            // What is seen has the erroneous ones in it.
            if !IS_ERRONEOUS || !erroneous[at].include(value) {
                seen[at].include(value);
            }
        }
        (count, are_equal)
    }

    /// What stands at a position, as the expression shows it.
    fn shown_at<R: Real>(&self, at: usize, term: Term, nodes: &Nodes<R>) -> Term {
        if at == 0 { term } else { nodes.shown(term) }
    }

    /// The arguments of an operation take their positions; without one, nothing stands there.
    fn lay_below<R: Real>(&mut self, at: usize, operation: Option<Handle>, nodes: &Nodes<R>) {
        for (number, child) in self.positions[at].children().enumerate() {
            self.terms[child] = operation.and_then(|node| nodes.arg(node, number));
        }
    }

    /// A first turn of a loop does not show what the loop carries; later ones do.
    fn find_carried<R: Real>(&mut self, at: usize, term: Term, root: Term, nodes: &Nodes<R>) {
        let Term::Node(node) = term else { return };
        if at != 0 && is_carried(node, root, nodes) {
            self.changes += !self.positions[at].carried as u64;
            self.positions[at].carried = true;
            return;
        }
        for (child, arg) in self.positions[at].children().zip(nodes.args(node)) {
            self.find_carried(child, nodes.shown(arg), root, nodes);
        }
    }

    fn make_variable(&mut self, at: usize) {
        for child in self.positions[at].children() {
            self.remove(child);
        }
        (self.positions[at].shape, self.positions[at].arity) = (Shape::Variable, 0);
    }

    /// Generalises a position to a term, whose arguments are next if this is an operation there.
    fn meet_at<R: Real>(&mut self, at: usize, term: Term, nodes: &Nodes<R>) -> Option<Handle> {
        let value = nodes.number(term);
        let shown = self.operation_at(at, term, nodes);
        let matches = match (self.positions[at].shape, term) {
            (Shape::Operation(..), _) => shown.is_some(),
            (Shape::Number, Term::Leaf(leaf)) => {
                leaf.constant && (self.executions == 1 || value.is_same(&self.current[at]))
            }
            (Shape::Variable, _) => true,
            _ => false,
        };
        self.current[at] = value;
        if !matches {
            self.changes += 1;
            self.make_variable(at);
        }
        let place = shown.map(|node| nodes[node].at);
        if self.positions[at].place.is_some() && self.positions[at].place != place {
            self.changes += 1;
            self.positions[at].place = None;
        }
        let value = value.to_f64();
        self.seen[at].include(value);
        self.erroneous[at].include(value);
        shown
    }

    /// The term, if it is the operation that stands at a position.
    #[inline(always)]
    fn operation_at<R: Real>(&self, at: usize, term: Term, nodes: &Nodes<R>) -> Option<Handle> {
        let position = &self.positions[at];
        let (Shape::Operation(operator, ty), Term::Node(node)) = (position.shape, term) else { return None };
        let is_same = nodes[node].operator == operator && nodes[node].ty == ty;
        (is_same && nodes.arity(node) == position.arity as usize).then_some(node)
    }

    fn remove(&mut self, at: usize) {
        self.make_variable(at);
        (self.positions[at].shape, self.terms[at]) = (Shape::Gone, None);
    }

    /// Splits classes whose members differ in the current execution, or whose first member has gone.
    fn refine_classes(&mut self) {
        let stands = |(at, position): (usize, &Position)| {
            let class = position.class as usize;
            class == at
                || position.shape == Shape::Gone
                || self.current[at].is_same(&self.current[class]) && self.positions[class].shape != Shape::Gone
        };
        if self.positions.iter().enumerate().all(stands) {
            return;
        }
        self.changes += 1;
        let old: Vec<u16> = self.positions.iter().map(|position| position.class).collect();
        for at in 0..self.positions.len() {
            let earlier = (0..at).find(|earlier| {
                self.positions[*earlier].shape != Shape::Gone
                    && old[*earlier] == old[at]
                    && self.current[*earlier].is_same(&self.current[at])
            });
            self.positions[at].class = earlier.unwrap_or(at) as u16;
        }
    }
}

/// Is it the result of an earlier turn of a loop?
fn is_carried<R: Real>(node: Handle, root: Term, nodes: &Nodes<R>) -> bool {
    let what = |node: Handle| (nodes[node].at, nodes[node].operator);
    matches!(root, Term::Node(root) if what(root) == what(node)) || nodes.recurs(node)
}

impl Position {
    fn new() -> Position {
        Position { shape: Shape::Variable, arity: 0, first: 0, class: 0, place: None, carried: false }
    }

    #[inline(always)]
    fn children(&self) -> Range<usize> {
        let first = self.first as usize;
        first..first + self.arity as usize
    }
}

#[cfg(test)]
#[path = "antiunify_tests.rs"]
mod tests;
