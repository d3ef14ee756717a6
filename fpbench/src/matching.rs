//! Whether a reported expression is the benchmark's, or a part of it. Reports generalise what varied into variables, so the
//! report is matched as a pattern against the benchmark's parts, its variables standing for anything; for the same thing
//! wherever they occur.

use crate::ast::Core;
use crate::operators::Operator;
use crate::shape::{Shape, shapes};
use std::rc::Rc;

/// Steps that a comparison may take; expressions that need more count as different.
const FUEL: u64 = 300_000;
/// Parts of a benchmark that are looked at.
const MAX_PARTS: usize = 20_000;

/// Whether `reported` occurs in `benchmark`, or is it.
pub fn occurs(reported: &Core, benchmark: &Core) -> bool {
    let pattern = &shapes(reported)[0];
    let mut parts: Vec<Rc<Shape>> = Vec::new();
    let mut pending = shapes(benchmark);
    while let Some(part) = pending.pop() {
        if parts.len() > MAX_PARTS {
            break;
        }
        if parts.iter().any(|known| Rc::ptr_eq(known, &part)) {
            continue;
        }
        pending.extend(part.children());
        parts.push(part);
    }
    parts.iter().any(|part| Matcher { bound: Vec::new(), fuel: FUEL }.root(pattern, part))
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
            (Shape::Sum(p), Shape::Apply(..)) if is_rounding(subject) => {
                p.iter().all(|(_, term)| is_leaf(term)) && self.solve(then)
            }
            (Shape::Number(_), _) if is_rounding(subject) => self.solve(then),
            // They leave large numbers as they are.
            (_, Shape::Apply(_, args)) if is_rounding(subject) && self.is(pattern, &args[0], then) => true,
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
        let leftover = part || takes_rest(pattern) || subject.iter().any(|(_, shape)| is_vague(shape));
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
            // What is free stands for as many items as it takes, and so does what was inlined.
            let reusable = is_vague(&item.1) || is_rounding(&item.1) && is_leaf(&first.1);
            if self.fuel == 0 || assignment.used[number] && !reusable || !fits(first, item, assignment.sign) {
                return false;
            }
            let mut next = Assignment { pattern: rest.to_vec(), ..assignment.clone() };
            next.used[number] = true;
            let then = Some(Rc::new(Goal { task: Task::Assign(next), then: then.clone() }));
            options(&item.1).iter().any(|option| self.is(&first.1, option, &then))
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
    let brings_its_own = match &*pattern.1 {
        Shape::Variable(_) => true,
        Shape::Number(_) => matches!(*subject.1, Shape::Variable(_)) || is_rounding(&subject.1),
        _ => false,
    };
    brings_its_own || is_vague(&subject.1) || close(pattern.0, sign * subject.0)
}

/// Two things that one variable stands for. What is free or chosen may well be the same.
fn alike(a: &Rc<Shape>, b: &Rc<Shape>) -> bool {
    Rc::ptr_eq(a, b) || a == b || is_vague(a) || is_vague(b)
}

fn is_vague(shape: &Rc<Shape>) -> bool {
    matches!(**shape, Shape::Free(_) | Shape::Choice(_))
}

fn is_leaf(shape: &Rc<Shape>) -> bool {
    matches!(**shape, Shape::Variable(_) | Shape::Number(_))
}

fn is_rounding(shape: &Rc<Shape>) -> bool {
    matches!(**shape, Shape::Apply(Operator::Floor | Operator::Ceil | Operator::Trunc | Operator::Round, _))
}

/// What an item of a sum or product may be. A choice between sums is, inside a sum, any of their terms.
fn options(shape: &Rc<Shape>) -> Vec<Rc<Shape>> {
    let mut options = vec![shape.clone()];
    if let Shape::Choice(choices) = &**shape {
        let parts = choices.iter().filter(|choice| matches!(***choice, Shape::Sum(_) | Shape::Product(..)));
        options.extend(parts.flat_map(|choice| choice.children()));
    }
    options
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
        assert!(found("(- (+ 0.5 v) (cosh w))", "(- (if (< x 1) (+ x 0.5) (exp x)) (cosh y))"));
    }

    #[test]
    fn what_compilers_inline_and_drop_is_recognised() {
        assert!(found("(- v (+ 1 w))", "(- x (ceil x))"));
        assert!(found("(log1p (- (exp v) (- (+ 1 w) v)))", "(log1p (- (exp x) (- (ceil x) x)))"));
        assert!(found("(cos (* 100 (/ v w)))", "(cos (fabs (* 100 (fabs (/ x y)))))"));
    }
}
