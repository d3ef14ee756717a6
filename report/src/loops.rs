//! Loops in expressions: an expression is made of traces, which have no loops, only turns of them, one in the other. For a reader one turn is
//! shown, with a capital letter for what the turns before it left; and of a variable that a loop carries it is said what it is.

use crate::Report;
use crate::names::{infix, names};
use crate::numbers::{count, counted};
use crate::shares::noun;
use fpgrind_analysis::{Cause, Expr, Location, Variable};
use fpgrind_ir::{Operator, Type};
use std::collections::BTreeSet;

/// So many turns are a loop: fewer are as easily read.
const MIN_TURNS: usize = 3;
/// No expression of ours has more parts than that, and searching more would take long.
const MAX_PARTS: usize = 1000;
/// For what earlier turns left. Variables are small letters.
const LETTERS: [&str; 8] = ["S", "T", "U", "V", "W", "R", "Q", "P"];

/// A cause's expression as a reader likes it.
pub struct Shown {
    pub expression: String,
    /// `S is the sum of 9 or more terms before (the addition at series.c:8)`
    pub letters: Vec<String>,
    /// The variables in it, by number.
    pub variables: Vec<usize>,
}

pub fn shown(report: &Report, cause: &Cause) -> Shown {
    let whole = infix(cause);
    let all = Shown { variables: (0..cause.variables.len()).collect(), expression: whole, letters: Vec::new() };
    if cause.steps.len() > MAX_PARTS {
        return all;
    }
    let Some((root, _)) = Node::of(&cause.expr, cause, 0) else { return all };
    let mut folding = Folding { cause, folded: Vec::new() };
    let expr = folding.fold(&root, None);
    if folding.folded.is_empty() {
        return all;
    }
    let mut named = names(cause);
    named.extend(&LETTERS[..folding.folded.len()]);
    let mut variables = BTreeSet::new();
    variables_of(&expr, &mut variables);
    let variables = variables.into_iter().filter(|number| *number < cause.variables.len()).collect();
    let letters = folding.folded.iter().zip(LETTERS).map(|(folded, letter)| folded.describe(report, letter)).collect();
    let expression = expr.infix(&named);
    if expression.chars().count() < all.expression.chars().count() {
        Shown { expression, letters, variables }
    } else {
        all
    }
}

/// `x is a sum of z*z that a loop carries on (the addition at var.c:11, executed 1,000 times)`
pub fn carried(report: &Report, variable: &Variable) -> Option<String> {
    let carried = variable.carried.as_ref()?;
    let what = match carried.operator {
        Operator::Add | Operator::Sub => "a sum",
        Operator::Mul => "a product",
        _ => "a value",
    };
    let of = carried.term.as_ref().map(|term| format!(" of {term}")).unwrap_or_default();
    let place = report.sites.instruction(carried.location).short();
    let executed = carried.executions.map(|known| format!(", executed {}", counted(known, "time", "times")));
    let executed = executed.unwrap_or_default();
    let noun = noun(carried.operator);
    Some(format!("{} is {what}{of} that a loop carries on (the {noun} at {place}{executed})", variable.name))
}

/// A part of the expression, with where it is if it is an operation.
struct Node<'a> {
    expr: &'a Expr,
    key: Option<(Operator, Type, Location)>,
    children: Vec<Node<'a>>,
}

impl<'a> Node<'a> {
    /// The part whose steps begin with this number, and the number behind them. Reports of earlier versions have no steps.
    fn of(expr: &'a Expr, cause: &Cause, mut number: usize) -> Option<(Node<'a>, usize)> {
        let mut children = Vec::new();
        if let Expr::Op { args, .. } = expr {
            for arg in args {
                let (child, next) = Node::of(arg, cause, number)?;
                children.push(child);
                number = next;
            }
        }
        let step = cause.steps.get(number)?;
        let key = match expr {
            Expr::Op { operator, ty, .. } => step.location.map(|location| (*operator, *ty, location)),
            _ => None,
        };
        Some((Node { expr, key, children }, number + 1))
    }

    /// The same operation in the turn before: nothing if there is none or there are several.
    fn before(&self) -> Option<&Node<'a>> {
        self.key?;
        let mut found: Vec<&Node> = Vec::new();
        let mut pending: Vec<&Node> = self.children.iter().collect();
        while let Some(node) = pending.pop() {
            match node.key == self.key {
                true => found.push(node),
                false => pending.extend(&node.children),
            }
        }
        let first = *found.first()?;
        found.iter().all(|other| other.expr == first.expr).then_some(first)
    }

    /// Turns of the loop that it is the last operation of.
    fn turns(&self) -> usize {
        1 + self.before().map_or(0, Node::turns)
    }
}

struct Folding<'a> {
    cause: &'a Cause,
    folded: Vec<Folded>,
}

/// What a letter stands for.
struct Folded {
    expr: Expr,
    key: (Operator, Type, Location),
    turns: usize,
    /// It is only added to, or multiplied, in each turn.
    is_direct: bool,
}

impl Folding<'_> {
    /// A part of the expression, in which a letter takes the place of the turn before. Where that has none yet, the part may be a loop itself.
    fn fold(&mut self, node: &Node, before: Option<(&Expr, usize)>) -> Expr {
        let Expr::Op { operator, ty, .. } = node.expr else { return node.expr.clone() };
        let before = before.filter(|(before, _)| contains(node.expr, before)).or_else(|| self.begin(node));
        let args = node.children.iter().map(|child| match before {
            Some((before, letter)) if child.expr == before => Expr::Var(letter),
            _ => self.fold(child, before),
        });
        Expr::Op { operator: *operator, ty: *ty, args: args.collect() }
    }

    /// The turn before, and the variable for it, if there are turns enough and letters left.
    fn begin<'a>(&mut self, node: &Node<'a>) -> Option<(&'a Expr, usize)> {
        let turns = node.turns();
        let before = node.before().filter(|_| turns >= MIN_TURNS)?.expr;
        let known = self.folded.iter().position(|folded| folded.expr == *before);
        if known.is_none() {
            let is_direct = node.children.iter().filter(|child| child.expr == before).count() == 1;
            let is_full = self.folded.len() == LETTERS.len();
            let key = node.key.filter(|_| !is_full)?;
            self.folded.push(Folded { expr: before.clone(), key, turns: turns - 1, is_direct });
        }
        Some((before, self.cause.variables.len() + known.unwrap_or(self.folded.len() - 1)))
    }
}

impl Folded {
    fn describe(&self, report: &Report, letter: &str) -> String {
        let (operator, _, location) = self.key;
        let (turns, noun) = (count(self.turns as u64), noun(operator));
        let place = report.sites.instruction(location).short();
        match operator {
            Operator::Add if self.is_direct => {
                format!("{letter} is the sum of the {turns} or more terms before (the addition at {place})")
            }
            Operator::Mul if self.is_direct => {
                format!("{letter} is the product of the {turns} or more factors before (the multiplication at {place})")
            }
            _ => format!("{letter} is what {turns} or more turns before left (the {noun} at {place})"),
        }
    }
}

fn contains(expr: &Expr, part: &Expr) -> bool {
    expr == part || matches!(expr, Expr::Op { args, .. } if args.iter().any(|arg| contains(arg, part)))
}

/// The variables of an expression, in order of their numbers.
fn variables_of(expr: &Expr, variables: &mut BTreeSet<usize>) {
    match expr {
        Expr::Var(number) => {
            variables.insert(*number);
        }
        Expr::Num(_) => {}
        Expr::Op { args, .. } => args.iter().for_each(|arg| variables_of(arg, variables)),
    }
}

#[cfg(test)]
#[path = "loops_tests.rs"]
mod tests;
