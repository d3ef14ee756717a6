//! Anti-unification: from the traces of many executions to the one expression that they are all instances of.
//!
//! The expression is a tree of positions, the first trace unrolled. Each further trace is laid over it: where the two
//! disagree the position becomes a variable and everything beneath it goes. Positions that had the same value in every
//! execution belong to one class; variables of one class are one variable.
//!
//! What a loop carries from one turn to the next is a variable, too, where the expression explains the error without what came
//! before: how many turns it took is no part of it.

#[path = "carried.rs"]
mod carried;

use crate::evaluate;
use crate::expr::{Expr, is_in_fpcore};
use crate::findings::{self, Ranges, Variable};
use crate::location::LocationId;
use crate::mode::Mode;
use crate::number::Number;
use crate::real::Real;
use crate::room::Room;
use crate::sampling::Reservoir;
use crate::trace::{Handle, Nodes, Term};
pub use carried::Carrier;
use fpgrind_ir::{Operator, Type};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// An expression larger than this helps nobody.
const MAX_POSITIONS: usize = 150;
/// Erroneous executions whose values are kept, to evaluate the expression on: those number 1, 2, 4, 8, and the worst.
const MAX_SAMPLES: usize = 16;

/// A position with its values in the present execution and in the worst.
const POSITION_BYTES: usize = size_of::<Position>() + 2 * size_of::<Number>() + size_of::<bool>();

/// An expression of more operations than this is long: it is shortened if it can be.
const LONG: usize = 8;
/// The part of the error that shortening may leave unexplained.
const TOLERABLE: f64 = 0.2;

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

struct Position {
    shape: Shape,
    children: SmallVec<[usize; 3]>,
    /// The first position that had the same value in every erroneous execution so far.
    class: usize,
    /// Where the operation is, if it is always the same one.
    place: Option<LocationId>,
    /// The result of an earlier turn of a loop.
    carried: bool,
    seen: Ranges,
    erroneous: Ranges,
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
    /// The values of the execution being looked at.
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
                    for arg in nodes.args(handle) {
                        let child = positions.len();
                        positions[at].children.push(child);
                        pending.push_back((child, nodes.shown(arg), depth + 1));
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
        self.meet_at(0, root, nodes);
        self.refine_classes();
        for (position, value) in self.positions.iter_mut().zip(&self.current) {
            if position.shape != Shape::Gone {
                let value = value.to_f64();
                position.seen.include(value);
                position.erroneous.include(value);
            }
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
        self.see_at(0, root, nodes);
        let Some(bits) = bits else { return };
        let can_grow = self.fine.can_grow() && self.has_room(size_of::<f64>());
        let mut fine = std::mem::replace(&mut self.fine, Reservoir::new());
        fine.offer(can_grow, || {
            let mut values = vec![f64::NAN; self.positions.len()];
            self.values_at(0, root, nodes, &mut values);
            (values, bits)
        });
        self.fine = fine;
    }

    fn values_at<R: Real>(&self, at: usize, term: Term, nodes: &Nodes<R>, values: &mut [f64]) {
        values[at] = nodes.value(term);
        let shown = self.operation_at(at, term, nodes);
        for (child, arg) in self.positions[at].children.iter().zip(shown.into_iter().flat_map(|node| nodes.args(node)))
        {
            self.values_at(*child, nodes.shown(arg), nodes, values);
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
        for (child, arg) in self.positions[at].children.clone().into_iter().zip(nodes.args(node)) {
            self.find_carried(child, nodes.shown(arg), root, nodes);
        }
    }

    fn make_variable(&mut self, at: usize) {
        self.positions[at].shape = Shape::Variable;
        for child in std::mem::take(&mut self.positions[at].children) {
            self.remove(child);
        }
    }

    fn meet_at<R: Real>(&mut self, at: usize, term: Term, nodes: &Nodes<R>) {
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
        for (i, arg) in shown.into_iter().flat_map(|node| nodes.args(node)).enumerate() {
            self.meet_at(self.positions[at].children[i], nodes.shown(arg), nodes);
        }
    }

    fn see_at<R: Real>(&mut self, at: usize, term: Term, nodes: &Nodes<R>) {
        self.positions[at].seen.include(nodes.value(term));
        let shown = self.operation_at(at, term, nodes);
        for (i, arg) in shown.into_iter().flat_map(|node| nodes.args(node)).enumerate() {
            self.see_at(self.positions[at].children[i], nodes.shown(arg), nodes);
        }
    }

    /// The term, if it is the operation that stands at a position.
    fn operation_at<R: Real>(&self, at: usize, term: Term, nodes: &Nodes<R>) -> Option<Handle> {
        let position = &self.positions[at];
        let (Shape::Operation(operator, ty), Term::Node(node)) = (position.shape, term) else { return None };
        let is_same = nodes[node].operator == operator && nodes[node].ty == ty;
        (is_same && nodes.arity(node) == position.children.len()).then_some(node)
    }

    fn remove(&mut self, at: usize) {
        self.positions[at].shape = Shape::Gone;
        for child in std::mem::take(&mut self.positions[at].children) {
            self.remove(child);
        }
    }

    /// Splits classes whose members differ in the current execution, or whose first member has gone.
    fn refine_classes(&mut self) {
        let stands = |position: &Position, value: &Number| {
            position.shape == Shape::Gone
                || value.is_same(&self.current[position.class]) && self.positions[position.class].shape != Shape::Gone
        };
        if self.positions.iter().zip(&self.current).all(|(position, value)| stands(position, value)) {
            return;
        }
        self.changes += 1;
        let old: Vec<usize> = self.positions.iter().map(|position| position.class).collect();
        for at in 0..self.positions.len() {
            let earlier = (0..at).find(|earlier| {
                self.positions[*earlier].shape != Shape::Gone
                    && old[*earlier] == old[at]
                    && self.current[*earlier].is_same(&self.current[at])
            });
            self.positions[at].class = earlier.unwrap_or(at);
        }
    }

    /// The expression, and the position that stands for each of its variables.
    fn expression(&self, cut: &[bool]) -> (Expr, Vec<usize>) {
        let mut variables = Vec::new();
        let expr = self.expression_at(0, cut, &mut variables);
        (expr, variables)
    }

    fn expression_at(&self, at: usize, cut: &[bool], variables: &mut Vec<usize>) -> Expr {
        let position = &self.positions[at];
        match position.shape {
            Shape::Operation(operator, ty) if self.is_shown(at, cut) => {
                let args = position.children.iter().map(|child| self.expression_at(*child, cut, variables)).collect();
                Expr::Op { operator, ty, args }
            }
            Shape::Number => Expr::Num(self.current[at]),
            Shape::Operation(..) | Shape::Variable | Shape::Gone => {
                let known = variables.iter().position(|other| self.positions[*other].class == position.class);
                Expr::Var(known.unwrap_or_else(|| {
                    variables.push(at);
                    variables.len() - 1
                }))
            }
        }
    }

    /// Is it an operation that the expression shows, if its place is reached?
    fn is_shown(&self, at: usize, cut: &[bool]) -> bool {
        let position = &self.positions[at];
        match position.shape {
            Shape::Operation(operator, _) => at == 0 || !cut[position.class] && is_in_fpcore(operator),
            _ => false,
        }
    }

    /// Leaves out what does not matter, as far as the rest, computed exactly, still gives the right result: where the inputs
    /// of `sqrt(x*x + y*y) - x` come from is not what is wrong with it. What loops carry goes first; then, of a long
    /// expression, all but the top levels.
    pub fn shorten<R: Real>(&mut self, precision: u32, mode: Mode) {
        let lost: f64 = self.samples().map(|sample| sample.bits).sum();
        let whole = self.lost_if_exact::<R>(&self.cut, precision, mode);
        let carried = self.carried();
        if whole > TOLERABLE * lost {
            // Even the whole does not explain the error: some of it came with the inputs. One turn is shown, unless more of them show more.
            let shown = |cut: &[bool]| self.reproduced_with::<R>(cut, precision, mode);
            if shown(&carried) >= (1.0 - TOLERABLE) * shown(&self.cut) {
                self.cut = carried;
            }
            return;
        }
        let explains = |general: &Generaliser, cut: &[bool]| {
            general.lost_if_exact::<R>(cut, precision, mode) <= whole + TOLERABLE * lost
        };
        if carried.contains(&true) && explains(self, &carried) {
            self.cut = carried;
        }
        if self.shown_operations() <= LONG {
            return;
        }
        for levels in 1.. {
            let mut cut = self.cut.clone();
            self.cut_below(0, levels, &mut cut);
            if cut == self.cut {
                return;
            }
            if explains(self, &cut) {
                self.cut = cut;
                return;
            }
        }
    }

    fn carried(&self) -> Vec<bool> {
        let mut carried = vec![false; self.positions.len()];
        for (_, position) in self.live_operations().filter(|(_, position)| position.carried) {
            carried[position.class] = true;
        }
        carried
    }

    /// Different operations that the expression shows.
    fn shown_operations(&self) -> usize {
        let mut classes = Vec::new();
        let mut pending = vec![0];
        while let Some(at) = pending.pop() {
            let position = &self.positions[at];
            if self.is_shown(at, &self.cut) {
                classes.push(position.class);
                pending.extend(&position.children);
            }
        }
        classes.sort_unstable();
        classes.dedup();
        classes.len()
    }

    fn samples(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().chain([&self.worst])
    }

    /// Bits of error that remain, over all samples, if the expression is computed exactly from the native values below.
    fn lost_if_exact<R: Real>(&self, cut: &[bool], precision: u32, mode: Mode) -> f64 {
        let (expr, variables) = self.expression(cut);
        let lost = |sample: &Sample| {
            let inputs: Vec<Number> = variables.iter().map(|at| sample.values[*at]).collect();
            evaluate::error_if_exact::<R>(&expr, &inputs, sample.correct, precision, mode)
        };
        self.samples().map(lost).sum()
    }

    fn live_operations(&self) -> impl Iterator<Item = (usize, &Position)> {
        self.positions.iter().enumerate().filter(|(_, position)| matches!(position.shape, Shape::Operation(..)))
    }

    /// Marks the operations that lie so many levels below a position. Where they are equal to others, so are those.
    fn cut_below(&self, at: usize, levels: usize, cut: &mut [bool]) {
        let position = &self.positions[at];
        match levels {
            0 if matches!(position.shape, Shape::Operation(..)) => cut[position.class] = true,
            0 => {}
            _ => position.children.iter().for_each(|child| self.cut_below(*child, levels - 1, cut)),
        }
    }

    /// One turn of whatever loop there is.
    pub fn one_turn(&self) -> Expr {
        self.expression(&self.carried()).0
    }

    /// The expression with what is known about its variables, and what loops make of them.
    pub fn generalisation(&self) -> (Expr, Vec<Variable>, Vec<Option<Carrier>>) {
        let (expr, positions) = self.expression(&self.cut);
        let mut named = positions.clone();
        let stands_for: Vec<Option<String>> = positions.iter().map(|at| self.stands_for(*at, &mut named)).collect();
        let carriers = positions.iter().map(|at| self.carrier(*at, &mut named)).collect();
        let variable = |(number, at): (usize, &usize)| Variable {
            stands_for: stands_for[number].clone(),
            carried: None,
            name: name(number),
            seen: self.positions[*at].seen,
            erroneous: self.positions[*at].erroneous,
            worst: self.worst.values[*at],
        };
        let variables = positions.iter().enumerate().map(variable).collect();
        (expr, variables, carriers)
    }

    /// What FPCore has no word for: the function on its arguments, which get names if they have none.
    fn stands_for(&self, at: usize, named: &mut Vec<usize>) -> Option<String> {
        let position = &self.positions[at];
        let Shape::Operation(operator, ty) = position.shape else { return None };
        if is_in_fpcore(operator) {
            return None;
        }
        let args = position.children.iter().map(|child| self.expression_at(*child, &self.cut, named)).collect();
        let names: Vec<String> = (0..named.len()).map(name).collect();
        Some(Expr::Op { operator, ty, args }.infix(&names))
    }

    /// Where the operations of the expression are, and nothing for its variables and numbers: arguments before what is made of them.
    pub fn places(&self) -> Vec<Option<LocationId>> {
        let mut places = Vec::new();
        self.places_at(0, &mut places);
        places
    }

    fn places_at(&self, at: usize, places: &mut Vec<Option<LocationId>>) {
        let position = &self.positions[at];
        let is_shown = self.is_shown(at, &self.cut);
        if is_shown {
            position.children.iter().for_each(|child| self.places_at(*child, places));
        }
        places.push(position.place.filter(|_| is_shown));
    }

    /// The executions that are kept, each once.
    pub fn observed(&self) -> Vec<findings::Sample> {
        let (_, variables) = self.expression(&self.cut);
        let mut observed: Vec<findings::Sample> = Vec::new();
        let mut add = |inputs: Vec<Number>, bits: f64| {
            let is_same = |other: &findings::Sample| inputs.iter().zip(&other.inputs).all(|(a, b)| a == b);
            // One whose trace ended early does not say what its inputs were.
            let is_whole = inputs.iter().all(|input| !input.is_nan());
            if is_whole && !observed.iter().any(is_same) {
                observed.push(findings::Sample { inputs, bits });
            }
        };
        for sample in self.samples() {
            add(variables.iter().map(|at| sample.values[*at]).collect(), sample.bits);
        }
        for (values, bits) in self.wrong.chosen.iter().chain(&self.fine.chosen) {
            add(variables.iter().map(|at| values[*at].into()).collect(), *bits);
        }
        observed
    }

    /// Bits of error that the expression shows on the recorded values, at worst.
    pub fn reproduced_bits<R: Real>(&self, precision: u32, mode: Mode) -> f64 {
        self.reproduced_with::<R>(&self.cut, precision, mode)
    }

    fn reproduced_with<R: Real>(&self, cut: &[bool], precision: u32, mode: Mode) -> f64 {
        let (expr, variables) = self.expression(cut);
        let shown = |sample: &Sample| {
            let inputs: Vec<Number> = variables.iter().map(|at| sample.values[*at]).collect();
            evaluate::error_bits::<R>(&expr, &inputs, precision, mode)
        };
        self.samples().map(shown).fold(0.0, f64::max)
    }
}

/// Is it the result of an earlier turn of a loop?
fn is_carried<R: Real>(node: Handle, root: Term, nodes: &Nodes<R>) -> bool {
    let what = |node: Handle| (nodes[node].at, nodes[node].operator);
    matches!(root, Term::Node(root) if what(root) == what(node)) || nodes.recurs(node)
}

impl Position {
    fn new() -> Position {
        Position {
            shape: Shape::Variable,
            children: SmallVec::new(),
            class: 0,
            place: None,
            carried: false,
            seen: Ranges::default(),
            erroneous: Ranges::default(),
        }
    }
}

/// x, y, z, a, b, ..., w, then x1, y1, ...
fn name(number: usize) -> String {
    const LETTERS: &[u8; 26] = b"xyzabcdefghijklmnopqrstuvw";
    let letter = LETTERS[number % LETTERS.len()] as char;
    match number / LETTERS.len() {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

#[cfg(test)]
#[path = "antiunify_tests.rs"]
mod tests;
