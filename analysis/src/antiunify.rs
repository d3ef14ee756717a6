//! Anti-unification: from the traces of many executions to the one expression that they are all instances of.
//!
//! The expression is a tree of positions, the first trace unrolled. Each further trace is laid over it: where the two
//! disagree the position becomes a variable and everything beneath it goes. Positions that had the same value in every
//! execution belong to one class; variables of one class are one variable.

use crate::evaluate;
use crate::expr::Expr;
use crate::findings::{Ranges, Variable};
use crate::real::Real;
use crate::trace::Term;
use fpgrind_ir::{Operator, Type};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// An expression larger than this helps nobody.
const MAX_POSITIONS: usize = 150;
/// Erroneous executions whose values are kept, to evaluate the expression on: those number 1, 2, 4, 8, and the worst.
const MAX_SAMPLES: usize = 16;

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
    seen: Ranges,
    erroneous: Ranges,
}

/// The values of all positions in one execution.
type Values = Vec<f64>;

pub struct Generaliser {
    /// The root comes first, and each position before its children.
    positions: Vec<Position>,
    executions: u64,
    worst: Values,
    samples: Vec<Values>,
    /// The values of the execution being looked at.
    current: Values,
}

impl Generaliser {
    /// Starts from the structure of a trace. Its values count only once it is met.
    pub fn new<R>(root: &Term<R>, max_depth: usize) -> Generaliser {
        let mut positions = vec![Position::new()];
        let mut pending = VecDeque::from([(0, root.shown(), 0)]);
        while let Some((at, term, depth)) = pending.pop_front() {
            match term {
                Term::Leaf(leaf) if leaf.constant => positions[at].shape = Shape::Number,
                Term::Node(node)
                    if !node.args.is_empty()
                        && depth < max_depth
                        && positions.len() + node.args.len() <= MAX_POSITIONS =>
                {
                    positions[at].shape = Shape::Operation(node.operator, node.ty);
                    for arg in node.args.iter() {
                        let child = positions.len();
                        positions[at].children.push(child);
                        pending.push_back((child, arg.shown(), depth + 1));
                        positions.push(Position::new());
                    }
                }
                _ => {}
            }
        }
        let values = vec![0.0; positions.len()];
        Generaliser { positions, executions: 0, worst: values.clone(), samples: Vec::new(), current: values }
    }

    /// Generalises to an erroneous execution.
    pub fn meet<R>(&mut self, root: &Term<R>, is_worst: bool) {
        self.executions += 1;
        self.meet_at(0, root.shown());
        self.refine_classes();
        for (position, value) in self.positions.iter_mut().zip(&self.current) {
            if position.shape != Shape::Gone {
                position.seen.include(*value);
                position.erroneous.include(*value);
            }
        }
        if self.executions.is_power_of_two() && self.samples.len() < MAX_SAMPLES {
            self.samples.push(self.current.clone());
        }
        if is_worst {
            self.worst.clone_from(&self.current);
        }
    }

    /// Takes note of the values of an execution that went well, as far as it looks like the erroneous ones.
    pub fn see<R>(&mut self, root: &Term<R>) {
        self.see_at(0, root.shown());
    }

    fn meet_at<R>(&mut self, at: usize, term: &Term<R>) {
        let value = term.value();
        let shape = self.positions[at].shape;
        let matches = match (shape, term) {
            (Shape::Operation(operator, ty), Term::Node(node)) => {
                node.operator == operator && node.ty == ty && node.args.len() == self.positions[at].children.len()
            }
            (Shape::Number, Term::Leaf(leaf)) => {
                leaf.constant && (self.executions == 1 || value.to_bits() == self.current[at].to_bits())
            }
            (Shape::Variable, _) => true,
            _ => false,
        };
        self.current[at] = value;
        if !matches {
            self.positions[at].shape = Shape::Variable;
            for child in std::mem::take(&mut self.positions[at].children) {
                self.remove(child);
            }
        } else if let (Shape::Operation(..), Term::Node(node)) = (shape, term) {
            for (i, arg) in node.args.iter().enumerate() {
                self.meet_at(self.positions[at].children[i], arg.shown());
            }
        }
    }

    fn see_at<R>(&mut self, at: usize, term: &Term<R>) {
        self.positions[at].seen.include(term.value());
        if let (Shape::Operation(operator, ty), Term::Node(node)) = (self.positions[at].shape, term)
            && node.operator == operator
            && node.ty == ty
            && node.args.len() == self.positions[at].children.len()
        {
            for (i, arg) in node.args.iter().enumerate() {
                self.see_at(self.positions[at].children[i], arg.shown());
            }
        }
    }

    fn remove(&mut self, at: usize) {
        self.positions[at].shape = Shape::Gone;
        for child in std::mem::take(&mut self.positions[at].children) {
            self.remove(child);
        }
    }

    /// Splits classes whose members differ in the current execution, or whose first member has gone.
    fn refine_classes(&mut self) {
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
        let stands = |position: &Position, value: &f64| {
            position.shape == Shape::Gone
                || same(*value, self.current[position.class]) && self.positions[position.class].shape != Shape::Gone
        };
        if self.positions.iter().zip(&self.current).all(|(position, value)| stands(position, value)) {
            return;
        }
        let old: Vec<usize> = self.positions.iter().map(|position| position.class).collect();
        for at in 0..self.positions.len() {
            let earlier = (0..at).find(|earlier| {
                self.positions[*earlier].shape != Shape::Gone
                    && old[*earlier] == old[at]
                    && same(self.current[*earlier], self.current[at])
            });
            self.positions[at].class = earlier.unwrap_or(at);
        }
    }

    /// The expression, and the position that stands for each of its variables.
    fn expression(&self) -> (Expr, Vec<usize>) {
        let mut variables = Vec::new();
        let expr = self.expression_at(0, &mut variables);
        (expr, variables)
    }

    fn expression_at(&self, at: usize, variables: &mut Vec<usize>) -> Expr {
        let position = &self.positions[at];
        match position.shape {
            Shape::Operation(operator, ty) => {
                let args = position.children.iter().map(|child| self.expression_at(*child, variables)).collect();
                Expr::Op { operator, ty, args }
            }
            Shape::Number => Expr::Num(self.current[at]),
            Shape::Variable | Shape::Gone => {
                let known = variables.iter().position(|other| self.positions[*other].class == position.class);
                Expr::Var(known.unwrap_or_else(|| {
                    variables.push(at);
                    variables.len() - 1
                }))
            }
        }
    }

    /// The expression with what is known about its variables.
    pub fn generalisation(&self) -> (Expr, Vec<Variable>) {
        let (expr, positions) = self.expression();
        let variable = |(number, at): (usize, &usize)| Variable {
            name: name(number),
            seen: self.positions[*at].seen,
            erroneous: self.positions[*at].erroneous,
            worst: self.worst[*at],
        };
        let variables = positions.iter().enumerate().map(variable).collect();
        (expr, variables)
    }

    /// Bits of error that the expression shows on the recorded values, at worst.
    pub fn reproduced_bits<R: Real>(&self, precision: u32) -> f64 {
        let (expr, positions) = self.expression();
        let on = |values: &Values| {
            let inputs: Vec<f64> = positions.iter().map(|at| values[*at]).collect();
            evaluate::error_bits::<R>(&expr, &inputs, precision)
        };
        self.samples.iter().chain([&self.worst]).map(on).fold(0.0, f64::max)
    }
}

impl Position {
    fn new() -> Position {
        Position {
            shape: Shape::Variable,
            children: SmallVec::new(),
            class: 0,
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
