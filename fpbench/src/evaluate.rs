//! Running a core. What a number is, is left to a [`Domain`]: floats, reals, or both at once.

use crate::ast::{Core, Expr, Let, Precision, While};
use crate::number::Literal;
use crate::operators::{Comparison, Constant, Operator, Test};

/// Numbers of some kind, and what can be done with them.
pub trait Domain {
    type Number: Clone;
    fn literal(&mut self, literal: &Literal, precision: Precision) -> Self::Number;
    fn constant(&mut self, constant: Constant, precision: Precision) -> Self::Number;
    fn operate(&mut self, operator: Operator, precision: Precision, args: &[Self::Number]) -> Self::Number;
    fn compare(&mut self, comparison: Comparison, a: &Self::Number, b: &Self::Number) -> bool;
    fn test(&mut self, test: Test, number: &Self::Number) -> bool;
}

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// More operations than allowed: a loop that does not end, or not soon.
    TooLong,
    /// A name without a value, or of another sort; the parser lets none pass.
    Unbound,
}

/// The value of a core's body on these inputs, and the operations that it took.
pub fn run<D: Domain>(
    domain: &mut D,
    core: &Core,
    inputs: &[D::Number],
    max_operations: u64,
) -> Result<(D::Number, u64), Stopped> {
    let mut machine = Machine::new(domain, core, inputs, max_operations);
    let result = machine.number(&core.body, core.precision)?;
    Ok((result, machine.operations))
}

/// Whether a condition over a core's arguments holds.
pub fn holds<D: Domain>(domain: &mut D, core: &Core, condition: &Expr, inputs: &[D::Number]) -> Result<bool, Stopped> {
    Machine::new(domain, core, inputs, 10_000).truth(condition, core.precision)
}

#[derive(Clone)]
enum Value<N> {
    Number(N),
    Truth(bool),
}

struct Machine<'a, D: Domain> {
    domain: &'a mut D,
    /// The innermost last.
    bound: Vec<(&'a str, Value<D::Number>)>,
    operations: u64,
    max_operations: u64,
}

impl<'a, D: Domain> Machine<'a, D> {
    fn new(domain: &'a mut D, core: &'a Core, inputs: &[D::Number], max_operations: u64) -> Machine<'a, D> {
        let names = core.arguments.iter().map(|argument| argument.name.as_str());
        let bound = names.zip(inputs.iter().map(|input| Value::Number(input.clone()))).collect();
        Machine { domain, bound, operations: 0, max_operations }
    }

    fn number(&mut self, expr: &'a Expr, precision: Precision) -> Result<D::Number, Stopped> {
        match self.value(expr, precision)? {
            Value::Number(number) => Ok(number),
            Value::Truth(_) => Err(Stopped::Unbound),
        }
    }

    fn truth(&mut self, expr: &'a Expr, precision: Precision) -> Result<bool, Stopped> {
        match self.value(expr, precision)? {
            Value::Truth(truth) => Ok(truth),
            Value::Number(_) => Err(Stopped::Unbound),
        }
    }

    fn count(&mut self) -> Result<(), Stopped> {
        self.operations += 1;
        if self.operations > self.max_operations { Err(Stopped::TooLong) } else { Ok(()) }
    }

    fn value(&mut self, expr: &'a Expr, precision: Precision) -> Result<Value<D::Number>, Stopped> {
        Ok(match expr {
            Expr::Number(literal) => Value::Number(self.domain.literal(literal, precision)),
            Expr::Constant(constant) => Value::Number(self.domain.constant(*constant, precision)),
            Expr::Truth(truth) => Value::Truth(*truth),
            Expr::Variable(name) => {
                let bound = self.bound.iter().rev().find(|(known, _)| known == name);
                bound.ok_or(Stopped::Unbound)?.1.clone()
            }
            Expr::Operation(operator, args) => {
                self.count()?;
                let args = args.iter().map(|arg| self.number(arg, precision)).collect::<Result<Vec<_>, _>>()?;
                Value::Number(self.domain.operate(*operator, precision, &args))
            }
            Expr::Compare(comparison, args) => Value::Truth(self.chain(*comparison, args, precision)?),
            Expr::Test(test, arg) => {
                let arg = self.number(arg, precision)?;
                Value::Truth(self.domain.test(*test, &arg))
            }
            Expr::And(args) => {
                for arg in args {
                    if !self.truth(arg, precision)? {
                        return Ok(Value::Truth(false));
                    }
                }
                Value::Truth(true)
            }
            Expr::Or(args) => {
                for arg in args {
                    if self.truth(arg, precision)? {
                        return Ok(Value::Truth(true));
                    }
                }
                Value::Truth(false)
            }
            Expr::Not(arg) => Value::Truth(!self.truth(arg, precision)?),
            Expr::If(condition, yes, no) => {
                let branch = if self.truth(condition, precision)? { yes } else { no };
                self.value(branch, precision)?
            }
            Expr::Let(Let { sequential, bindings, body }) => {
                let outside = self.bound.len();
                let mut together = Vec::new();
                for (name, value) in bindings {
                    let value = self.value(value, precision)?;
                    if *sequential { &mut self.bound } else { &mut together }.push((name.as_str(), value));
                }
                self.bound.extend(together);
                let result = self.value(body, precision)?;
                self.bound.truncate(outside);
                result
            }
            Expr::While(repeat) => self.repeat(repeat, precision)?,
            Expr::Context(precision, body) => self.value(body, *precision)?,
        })
    }

    fn chain(&mut self, comparison: Comparison, args: &'a [Expr], precision: Precision) -> Result<bool, Stopped> {
        self.count()?;
        let args = args.iter().map(|arg| self.number(arg, precision)).collect::<Result<Vec<_>, _>>()?;
        for (number, a) in args.iter().enumerate() {
            // Only inequality does not carry over from neighbours to all pairs.
            let others = if comparison == Comparison::Unequal { args.len() } else { (number + 2).min(args.len()) };
            for b in &args[(number + 1).min(others)..others] {
                if !self.domain.compare(comparison, a, b) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn repeat(&mut self, repeat: &'a While, precision: Precision) -> Result<Value<D::Number>, Stopped> {
        let While { sequential, condition, bindings, body } = repeat;
        let outside = self.bound.len();
        let mut together = Vec::new();
        for variable in bindings {
            let initial = self.value(&variable.initial, precision)?;
            if *sequential { &mut self.bound } else { &mut together }.push((variable.name.as_str(), initial));
        }
        self.bound.extend(together);
        while self.truth(condition, precision)? {
            self.count()?;
            let mut together = Vec::new();
            for (number, variable) in bindings.iter().enumerate() {
                let value = self.value(&variable.update, precision)?;
                match sequential {
                    true => self.bound[outside + number].1 = value,
                    false => together.push(value),
                }
            }
            for (number, value) in together.into_iter().enumerate() {
                self.bound[outside + number].1 = value;
            }
        }
        let result = self.value(body, precision)?;
        self.bound.truncate(outside);
        Ok(result)
    }
}

#[cfg(test)]
#[path = "evaluate_tests.rs"]
mod tests;
