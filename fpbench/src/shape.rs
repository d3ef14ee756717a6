//! Whether a reported expression is the benchmark's, or a part of it. Compilers rename, commute, reassociate, turn division
//! by 2 into multiplication and pow(x, 2) into x*x; reports generalise what varied into variables. So both sides are brought
//! into sums of products, and the report is matched as a pattern, its variables standing for anything.

use crate::ast::{Core, Expr, Let, Precision, While};
use crate::domains::Native;
use crate::evaluate::Domain;
use crate::operators::Operator;
use std::rc::Rc;

/// An expression modulo what compilers do.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
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

/// Steps that a comparison may take; expressions that need more count as different.
const FUEL: u64 = 300_000;
/// Integer powers up to this are products.
const MAX_POWER: f64 = 8.0;

/// Whether `reported` occurs in `benchmark`, or is it.
pub fn occurs(reported: &Core, benchmark: &Core) -> bool {
    let pattern = Builder::default().build(&reported.body, reported.precision);
    let mut builder = Builder::default();
    let root = builder.build(&benchmark.body, benchmark.precision);
    builder.parts.push(root);
    let mut parts: Vec<Rc<Shape>> = Vec::new();
    let mut pending = builder.parts;
    while let Some(part) = pending.pop() {
        if parts.len() > 20_000 {
            break;
        }
        if parts.iter().any(|known| Rc::ptr_eq(known, &part)) {
            continue;
        }
        pending.extend(part.children());
        parts.push(part);
    }
    parts.iter().any(|part| Matcher { bound: Vec::new(), fuel: FUEL }.root(&pattern, part))
}

impl Shape {
    fn children(&self) -> Vec<Rc<Shape>> {
        match self {
            Shape::Variable(_) | Shape::Free(_) | Shape::Number(_) => Vec::new(),
            Shape::Sum(terms) => terms.iter().map(|(_, term)| term.clone()).collect(),
            Shape::Product(_, factors) => factors.iter().map(|(_, factor)| factor.clone()).collect(),
            Shape::Apply(_, args) => args.clone(),
            Shape::Choice(options) => options.clone(),
        }
    }
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
        _ => Shape::Apply(operator, args),
    };
    Rc::new(shape)
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

/// What remains to be shown, the nearest first: shared lists, so that going back costs nothing.
type Goals = Option<Rc<Goal>>;

struct Goal {
    task: Task,
    then: Goals,
}

enum Task {
    Is(Rc<Shape>, Rc<Shape>),
    Assign(Assignment),
}

/// Each item of a pattern is to get one of the subject. What is left over must be in a variable, or belong to a longer
/// sum or product of which this is a part.
#[derive(Clone)]
struct Assignment {
    pattern: Vec<Item>,
    subject: Vec<Item>,
    /// Of the subject's items.
    used: Vec<bool>,
    leftover: bool,
    /// What sizes are multiplied by: the negation of a sum is a sum.
    sign: f64,
}

/// A term and its coefficient; or a factor and 1, or -1 if it divides.
type Item = (f64, Rc<Shape>);

struct Matcher {
    bound: Vec<(String, Rc<Shape>)>,
    fuel: u64,
}

impl Matcher {
    /// A pattern that is itself a sum or product may be a part of a longer one.
    fn root(&mut self, pattern: &Rc<Shape>, subject: &Rc<Shape>) -> bool {
        match (&**pattern, &**subject) {
            // A variable alone says nothing.
            (Shape::Variable(_) | Shape::Number(_), _) | (_, Shape::Free(_)) => false,
            (Shape::Sum(p), Shape::Sum(s)) => self.sums(p, s, true, &None),
            (Shape::Product(_, p), Shape::Product(_, s)) => self.assign(&items(p), &items(s), true, 1.0, &None),
            // A negated or scaled part.
            (Shape::Product(_, p), _) if p.len() == 1 && !p[0].0 => self.root(&p[0].1, subject),
            _ => self.is(pattern, subject, &None),
        }
    }

    fn solve(&mut self, goals: &Goals) -> bool {
        let Some(goal) = goals else { return true };
        match &goal.task {
            Task::Is(pattern, subject) => self.is(pattern, subject, &goal.then),
            Task::Assign(assignment) => self.assign_next(assignment, &goal.then),
        }
    }

    /// Whether the subject is what the pattern says, and all that must hold beside it holds too.
    fn is(&mut self, pattern: &Rc<Shape>, subject: &Rc<Shape>, then: &Goals) -> bool {
        if self.fuel == 0 {
            return false;
        }
        self.fuel -= 1;
        match (&**pattern, &**subject) {
            (_, Shape::Free(_)) => self.solve(then),
            (Shape::Variable(name), _) => {
                let bound = self.bound.iter().find(|(known, _)| known == name);
                if let Some((_, shape)) = bound {
                    return alike(shape, subject) && self.solve(then);
                }
                self.bound.push((name.clone(), subject.clone()));
                let matched = self.solve(then);
                self.bound.pop();
                matched
            }
            (_, Shape::Choice(options)) => options.iter().any(|option| self.is(pattern, option, then)),
            (Shape::Number(a), Shape::Number(b)) => close(*a, *b) && self.solve(then),
            // An input that had one value only.
            (Shape::Number(_), Shape::Variable(_)) => self.solve(then),
            (Shape::Sum(p), Shape::Sum(s)) => self.sums(p, s, false, then),
            (Shape::Product(a, p), Shape::Product(b, s)) => {
                let absorbs = p.iter().any(|(_, factor)| matches!(**factor, Shape::Variable(_)));
                (absorbs || close(a.abs(), b.abs())) && self.assign(&items(p), &items(s), false, 1.0, then)
            }
            // Without SSE4.1 compilers round to integers by conversions and corrections.
            (Shape::Sum(p), Shape::Apply(Operator::Floor | Operator::Ceil | Operator::Trunc | Operator::Round, _)) => {
                p.iter().all(|(_, term)| matches!(**term, Shape::Variable(_) | Shape::Number(_))) && self.solve(then)
            }
            // 1*x and x.
            (Shape::Product(_, p), _) if p.len() == 1 && !p[0].0 => self.is(&p[0].1, subject, then),
            (_, Shape::Product(_, s)) if s.len() == 1 && !s[0].0 => self.is(pattern, &s[0].1, then),
            (Shape::Apply(f, p), Shape::Apply(g, s)) if f == g && p.len() == s.len() => {
                let pairs = p.iter().cloned().zip(s.iter().cloned());
                let crossed = p.iter().rev().cloned().zip(s.iter().cloned());
                let commutes = matches!(f, Operator::Hypot | Operator::Fmax | Operator::Fmin);
                self.solve(&all(pairs, then)) || commutes && self.solve(&all(crossed, then))
            }
            _ => false,
        }
    }

    fn sums(&mut self, pattern: &[Item], subject: &[Item], part: bool, then: &Goals) -> bool {
        [1.0, -1.0].into_iter().any(|sign| self.assign(pattern, subject, part, sign, then))
    }

    fn assign(&mut self, pattern: &[Item], subject: &[Item], part: bool, sign: f64, then: &Goals) -> bool {
        let takes_rest = |items: &[Item]| items.iter().any(|(_, shape)| matches!(**shape, Shape::Variable(_)));
        let vague = |(_, shape): &Item| matches!(**shape, Shape::Free(_) | Shape::Choice(_));
        let leftover = part || takes_rest(pattern) || subject.iter().any(vague);
        let mut pattern = pattern.to_vec();
        // From the end, the most particular first; variables take what is left.
        pattern.sort_by_key(|(_, shape)| match **shape {
            Shape::Variable(_) => 0,
            Shape::Number(_) => 1,
            _ => 2,
        });
        let (subject, used) = (subject.to_vec(), vec![false; subject.len()]);
        self.assign_next(&Assignment { pattern, subject, used, leftover, sign }, then)
    }

    fn assign_next(&mut self, assignment: &Assignment, then: &Goals) -> bool {
        let Some((first, rest)) = assignment.pattern.split_last() else {
            return (assignment.leftover || assignment.used.iter().all(|used| *used)) && self.solve(then);
        };
        (0..assignment.subject.len()).any(|number| {
            let item = &assignment.subject[number];
            // What is free stands for as many items as it takes.
            let reusable = matches!(*item.1, Shape::Free(_) | Shape::Choice(_));
            if self.fuel == 0 || assignment.used[number] && !reusable || !fits(first, item, assignment.sign) {
                return false;
            }
            let mut next = Assignment { pattern: rest.to_vec(), ..assignment.clone() };
            next.used[number] = true;
            let then = Some(Rc::new(Goal { task: Task::Assign(next), then: then.clone() }));
            self.is(&first.1, &item.1, &then)
        })
    }
}

fn items(factors: &[(bool, Rc<Shape>)]) -> Vec<Item> {
    factors.iter().map(|(divides, factor)| (if *divides { -1.0 } else { 1.0 }, factor.clone())).collect()
}

fn all(pairs: impl DoubleEndedIterator<Item = (Rc<Shape>, Rc<Shape>)>, then: &Goals) -> Goals {
    pairs.rev().fold(then.clone(), |then, (p, s)| Some(Rc::new(Goal { task: Task::Is(p, s), then })))
}

/// Whether sign and size agree; what a variable stands for brings its own.
fn fits(pattern: &Item, subject: &Item, sign: f64) -> bool {
    match (&*pattern.1, &*subject.1) {
        (Shape::Variable(_), _) | (_, Shape::Free(_) | Shape::Choice(_)) | (Shape::Number(_), Shape::Variable(_)) => {
            true
        }
        _ => close(pattern.0, sign * subject.0),
    }
}

/// Two things that one variable stands for. What is free or chosen may well be the same.
fn alike(a: &Rc<Shape>, b: &Rc<Shape>) -> bool {
    let vague = |shape: &Rc<Shape>| matches!(**shape, Shape::Free(_) | Shape::Choice(_));
    Rc::ptr_eq(a, b) || a == b || vague(a) || vague(b)
}

/// Equal up to the rounding of a single.
fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    fn found(reported: &str, benchmark: &str) -> bool {
        let core = |body: &str| {
            let text = format!("(FPCore (a b c v w x y z) {body})");
            parse(&text).expect("readable").remove(0).expect("a core")
        };
        occurs(&core(reported), &core(benchmark))
    }

    #[test]
    fn renaming_commuting_and_reassociating_do_not_matter() {
        assert!(found("(- (sqrt (+ 1 v)) (sqrt v))", "(- (sqrt (+ x 1)) (sqrt x))"));
        assert!(found("(+ (- v w) c)", "(- (+ x y) z)"));
        assert!(found("(* 0.5 (+ v v))", "(/ (+ x x) 2)"));
        assert!(found(
            "(sqrt (/ (+ (+ v w) (+ v w)) (+ v (+ v w))))",
            "(let ([r (+ x y)]) (sqrt (/ (* 2 r) (+ x r))))"
        ));
        assert!(found("(- (* v v) w)", "(- (pow x 2) y)"));
        assert!(found("(- v (exp w))", "(* -1 (- (exp x) y))"));
    }

    #[test]
    fn parts_are_found_and_variables_stand_for_anything() {
        assert!(found("(- 1 (cos v))", "(/ (- 1 (cos (* x y))) (* x x))"));
        assert!(found("(- v (sqrt w))", "(let ([d (- (* b b) (* 4 (* a c)))]) (/ (- (- b) (sqrt d)) (* 2 a)))"));
    }

    #[test]
    fn other_expressions_are_not_found() {
        assert!(!found("(- (exp v) 1)", "(- (sqrt (+ x 1)) (sqrt x))"));
        assert!(!found("(- (sqrt v) (sqrt v))", "(- (sqrt (+ x 1)) (sqrt x))"));
        assert!(!found("(- (cos v) 2)", "(- (cos x) 1)"));
        assert!(!found("v", "(- (cos x) 1)"));
    }

    #[test]
    fn rounds_of_a_loop_are_found_unrolled() {
        let sum = "(while (< k 10) ([k 0 (+ k 1)] [s 0 (+ s (* x k))]) (- s y))";
        assert!(found("(- (+ v (* w 3)) z)", sum));
        assert!(found("(+ (+ (+ v (* x 1)) (* x 2)) (* x 3))", sum));
    }

    #[test]
    fn either_branch_is_part_of_the_benchmark() {
        assert!(found("(- v (sqrt w))", "(if (< x 1) (- x (sqrt y)) (+ x 2))"));
    }
}
