//! Expressions modulo what compilers do to them: they commute, reassociate, turn division by 2 into multiplication and
//! pow(x, 2) into x*x. So expressions are brought into sums of products, without the cancellations that are looked for.

use crate::ast::{Core, Expr, Let, Precision, While};
use crate::domains::Native;
use crate::evaluate::Domain;
use crate::operators::Operator;
use std::rc::Rc;

/// An expression modulo what compilers do.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Variable(String),
    /// What a loop carries from one round to the next: anything, but under one name the same.
    Free(String),
    Number(f64),
    /// Terms with their coefficients.
    Sum(Vec<(f64, Rc<Shape>)>),
    /// A coefficient, and factors; those with `true` divide.
    Product(f64, Vec<(bool, Rc<Shape>)>),
    Apply(Operator, Vec<Rc<Shape>>),
    /// One of these, depending on a condition or the round.
    Choice(Vec<Rc<Shape>>),
}

/// Integer powers up to this are products.
const MAX_POWER: f64 = 8.0;

impl Shape {
    pub fn children(&self) -> Vec<Rc<Shape>> {
        match self {
            Shape::Variable(_) | Shape::Free(_) | Shape::Number(_) => Vec::new(),
            Shape::Sum(terms) => terms.iter().map(|(_, term)| term.clone()).collect(),
            Shape::Product(_, factors) => factors.iter().map(|(_, factor)| factor.clone()).collect(),
            Shape::Apply(_, args) => args.clone(),
            Shape::Choice(options) => options.clone(),
        }
    }
}

/// The shapes of an expression: of its value first, then of whatever else it computes on the way.
pub fn shapes(core: &Core) -> Vec<Rc<Shape>> {
    let mut builder = Builder::default();
    let mut shapes = vec![builder.build(&core.body, core.precision)];
    shapes.append(&mut builder.parts);
    shapes
}

#[derive(Default)]
struct Builder {
    bound: Vec<(String, Rc<Shape>)>,
    /// Roots beside the result: what loops compute and conditions compare.
    parts: Vec<Rc<Shape>>,
}

impl Builder {
    fn build(&mut self, expr: &Expr, precision: Precision) -> Rc<Shape> {
        match expr {
            Expr::Number(literal) => Rc::new(Shape::Number(Native.literal(literal, precision).value)),
            Expr::Constant(constant) => Rc::new(Shape::Number(Native.constant(*constant, precision).value)),
            Expr::Variable(name) => {
                let bound = self.bound.iter().rev().find(|(known, _)| known == name);
                bound.map_or_else(|| Rc::new(Shape::Variable(name.clone())), |(_, shape)| shape.clone())
            }
            Expr::Operation(operator, args) => {
                let args = args.iter().map(|arg| self.build(arg, precision)).collect();
                operation(*operator, args)
            }
            Expr::Truth(_) => Rc::new(Shape::Free(String::new())),
            Expr::Compare(_, args) | Expr::And(args) | Expr::Or(args) => {
                for arg in args {
                    let part = self.build(arg, precision);
                    self.parts.push(part);
                }
                Rc::new(Shape::Free(String::new()))
            }
            Expr::Test(_, arg) | Expr::Not(arg) => {
                let part = self.build(arg, precision);
                self.parts.push(part);
                Rc::new(Shape::Free(String::new()))
            }
            Expr::If(condition, yes, no) => {
                self.build(condition, precision);
                Rc::new(Shape::Choice(vec![self.build(yes, precision), self.build(no, precision)]))
            }
            Expr::Let(Let { sequential, bindings, body }) => {
                let outside = self.bound.len();
                let mut together = Vec::new();
                for (name, value) in bindings {
                    let value = self.build(value, precision);
                    if *sequential { &mut self.bound } else { &mut together }.push((name.clone(), value));
                }
                self.bound.extend(together);
                let body = self.build(body, precision);
                self.bound.truncate(outside);
                body
            }
            Expr::While(repeat) => self.repeat(repeat, precision),
            Expr::Context(inner, body) => self.build(body, *inner),
        }
    }

    fn repeat(&mut self, repeat: &While, precision: Precision) -> Rc<Shape> {
        let outside = self.bound.len();
        let mut initials = Vec::new();
        for variable in &repeat.bindings {
            initials.push(self.build(&variable.initial, precision));
        }
        self.parts.extend(initials.iter().cloned());
        let names = repeat.bindings.iter().map(|variable| variable.name.clone());
        self.bound.extend(names.map(|name| (name.clone(), Rc::new(Shape::Free(name)))));
        self.build(&repeat.condition, precision);
        let mut updates = Vec::new();
        for (number, variable) in repeat.bindings.iter().enumerate() {
            let update = self.build(&variable.update, precision);
            if repeat.sequential {
                // Later updates see this round's value.
                self.bound[outside + number].1 = update.clone();
            }
            updates.push(update);
        }
        self.parts.extend(updates.iter().cloned());
        for (number, (initial, update)) in initials.into_iter().zip(updates).enumerate() {
            self.bound[outside + number].1 = Rc::new(Shape::Choice(vec![initial, update]));
        }
        let body = self.build(&repeat.body, precision);
        self.bound.truncate(outside);
        body
    }
}

fn operation(operator: Operator, args: Vec<Rc<Shape>>) -> Rc<Shape> {
    let shape = match (operator, args.as_slice()) {
        (Operator::Add, [a, b]) => sum(&[(1.0, a), (1.0, b)]),
        (Operator::Sub, [a, b]) => sum(&[(1.0, a), (-1.0, b)]),
        (Operator::Neg, [a]) => product(-1.0, &[(false, a)]),
        (Operator::Mul, [a, b]) => product(1.0, &[(false, a), (false, b)]),
        (Operator::Div, [a, b]) => product(1.0, &[(false, a), (true, b)]),
        (Operator::Fma, [a, b, c]) => sum(&[(1.0, &Rc::new(product(1.0, &[(false, a), (false, b)]))), (1.0, c)]),
        (Operator::Cast, [a]) => return a.clone(),
        (Operator::Pow, [a, b]) => match **b {
            Shape::Number(power) if power.fract() == 0.0 && power != 0.0 && power.abs() <= MAX_POWER => {
                product(1.0, &vec![(power < 0.0, a); power.abs() as usize])
            }
            _ => Shape::Apply(operator, args),
        },
        // Even functions: compilers drop signs before them.
        (Operator::Cos | Operator::Cosh | Operator::Hypot, _) => {
            Shape::Apply(operator, args.iter().map(without_sign).collect())
        }
        _ => Shape::Apply(operator, args),
    };
    Rc::new(shape)
}

fn without_sign(shape: &Rc<Shape>) -> Rc<Shape> {
    match &**shape {
        Shape::Apply(Operator::Fabs, args) => without_sign(&args[0]),
        Shape::Product(coefficient, factors) => {
            let bare: Vec<_> = factors.iter().map(|(divides, factor)| (*divides, without_sign(factor))).collect();
            let factors: Vec<_> = bare.iter().map(|(divides, factor)| (*divides, factor)).collect();
            Rc::new(product(coefficient.abs(), &factors))
        }
        _ => shape.clone(),
    }
}

/// Flattens; equal terms of equal sign become one. Terms that cancel stay: they are the error looked for.
fn sum(parts: &[(f64, &Rc<Shape>)]) -> Shape {
    let mut terms: Vec<(f64, Rc<Shape>)> = Vec::new();
    let mut add = |coefficient: f64, shape: &Rc<Shape>| {
        let (coefficient, shape) = match &**shape {
            Shape::Number(value) => {
                let value = value * coefficient;
                (value.signum(), Rc::new(Shape::Number(value.abs())))
            }
            Shape::Product(inner, factors) => {
                let factors: Vec<_> = factors.iter().map(|(divides, factor)| (*divides, factor)).collect();
                match factors.as_slice() {
                    [(false, only)] => (coefficient * inner, (*only).clone()),
                    _ => (coefficient * inner, Rc::new(product(1.0, &factors))),
                }
            }
            _ => (coefficient, shape.clone()),
        };
        let same = terms.iter_mut().find(|(known, term)| *term == shape && known.signum() == coefficient.signum());
        match same {
            Some((known, _)) => *known += coefficient,
            None => terms.push((coefficient, shape)),
        }
    };
    for (coefficient, part) in parts {
        match &***part {
            Shape::Sum(inner) => inner.iter().for_each(|(factor, term)| add(coefficient * factor, term)),
            // The negation of a sum is a sum.
            Shape::Product(outer, factors) => match factors.as_slice() {
                [(false, only)] if matches!(**only, Shape::Sum(_)) => {
                    let Shape::Sum(inner) = &**only else { continue };
                    inner.iter().for_each(|(factor, term)| add(coefficient * outer * factor, term));
                }
                _ => add(*coefficient, part),
            },
            _ => add(*coefficient, part),
        }
    }
    if let [(coefficient, only)] = terms.as_slice() {
        return product(*coefficient, &[(false, only)]);
    }
    // 2x + 2y is 2(x + y).
    let common = terms[0].0.abs();
    if common != 1.0 && terms.iter().all(|(coefficient, _)| coefficient.abs() == common) {
        terms.iter_mut().for_each(|(coefficient, _)| *coefficient /= common);
        return Shape::Product(common, vec![(false, Rc::new(Shape::Sum(terms)))]);
    }
    Shape::Sum(terms)
}

fn product(coefficient: f64, parts: &[(bool, &Rc<Shape>)]) -> Shape {
    let mut whole = coefficient;
    let mut factors = Vec::new();
    for (divides, part) in parts {
        let mut scale = |value: f64| if *divides { whole /= value } else { whole *= value };
        match &***part {
            Shape::Number(value) => scale(*value),
            Shape::Product(inner, nested) => {
                scale(*inner);
                factors.extend(nested.iter().map(|(inverted, factor)| (inverted ^ divides, factor.clone())));
            }
            _ => factors.push((*divides, (*part).clone())),
        }
    }
    match factors.is_empty() {
        true => Shape::Number(whole),
        false => Shape::Product(whole, factors),
    }
}
