//! What is told of an expression in the end: shortened to what explains the error, with its variables, its places and the executions
//! that are kept.

use super::{Carrier, Generaliser, Position, Sample, Shape};
use crate::evaluate;
use crate::expr::{Expr, is_in_fpcore};
use crate::findings::{self, Variable};
use crate::location::LocationId;
use crate::mode::Mode;
use crate::number::Number;
use crate::real::Real;

/// An expression of more operations than this is long: it is shortened if it can be.
const LONG: usize = 8;
/// The part of the error that shortening may leave unexplained.
const TOLERABLE: f64 = 0.2;

impl Generaliser {
    /// The expression, and the position that stands for each of its variables.
    fn expression(&self, cut: &[bool]) -> (Expr, Vec<usize>) {
        let mut variables = Vec::new();
        let expr = self.expression_at(0, cut, &mut variables);
        (expr, variables)
    }

    pub(super) fn expression_at(&self, at: usize, cut: &[bool], variables: &mut Vec<usize>) -> Expr {
        let position = &self.positions[at];
        match position.shape {
            Shape::Operation(operator, ty) if self.is_shown(at, cut) => {
                let args = position.children().map(|child| self.expression_at(child, cut, variables)).collect();
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
            Shape::Operation(operator, _) => at == 0 || !cut[position.class as usize] && is_in_fpcore(operator),
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

    pub(super) fn carried(&self) -> Vec<bool> {
        let mut carried = vec![false; self.positions.len()];
        for (_, position) in self.live_operations().filter(|(_, position)| position.carried) {
            carried[position.class as usize] = true;
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
                pending.extend(position.children());
            }
        }
        classes.sort_unstable();
        classes.dedup();
        classes.len()
    }

    pub(super) fn samples(&self) -> impl Iterator<Item = &Sample> {
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

    pub(super) fn live_operations(&self) -> impl Iterator<Item = (usize, &Position)> {
        self.positions.iter().enumerate().filter(|(_, position)| matches!(position.shape, Shape::Operation(..)))
    }

    /// Marks the operations that lie so many levels below a position. Where they are equal to others, so are those.
    pub(super) fn cut_below(&self, at: usize, levels: usize, cut: &mut [bool]) {
        let position = &self.positions[at];
        match levels {
            0 if matches!(position.shape, Shape::Operation(..)) => cut[position.class as usize] = true,
            0 => {}
            _ => position.children().for_each(|child| self.cut_below(child, levels - 1, cut)),
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
            seen: self.seen[*at],
            erroneous: self.erroneous[*at],
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
        let args = position.children().map(|child| self.expression_at(child, &self.cut, named)).collect();
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
            position.children().for_each(|child| self.places_at(child, places));
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

/// x, y, z, a, b, ..., w, then x1, y1, ...
pub(super) fn name(number: usize) -> String {
    const LETTERS: &[u8; 26] = b"xyzabcdefghijklmnopqrstuvw";
    let letter = LETTERS[number % LETTERS.len()] as char;
    match number / LETTERS.len() {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}
