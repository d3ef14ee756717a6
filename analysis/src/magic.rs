//! Rounding to an integer by a magic number: `(x + C) - C`, where C is so large that the sum has no digits behind the point. Whoever
//! writes that wants an integer; the digits that it loses are no error.

use crate::mode::Direction;
use crate::operation::Request;
use crate::trace::{Args, Node, Term};
use fpgrind_ir::{Operator, Type};

/// What looks like the second half of such a rounding. Whether it is one shows in its result, which must be the integer.
pub struct Found<R> {
    /// What is rounded: a float, or the product of two.
    pub factors: Args<R>,
    /// To the nearest integer, or as the direction says.
    pub rounding: Operator,
}

pub fn find<R>(request: &Request<R>) -> Option<Found<R>> {
    let Request { operator, ty, args, mode, .. } = request;
    let (sum, subtracted) = plus_constant(*operator, args)?;
    let Term::Node(sum) = sum else { return None };
    let (factors, magic) = magic_sum(sum, *ty)?;
    let target = mode.target(*operator, *ty, *ty);
    let ulp_is_one = 2f64.powi(target.digits as i32 - 1);
    if magic != -subtracted || ![ulp_is_one, 1.5 * ulp_is_one].contains(&magic.abs()) {
        return None;
    }
    // What is rounded is the sum, whose sign is that of the magic number.
    let rounding = match target.direction {
        Direction::Nearest => Operator::Nearbyint,
        Direction::Down => Operator::Floor,
        Direction::Up => Operator::Ceil,
        Direction::Zero if magic > 0.0 => Operator::Floor,
        Direction::Zero => Operator::Ceil,
    };
    Some(Found { factors, rounding })
}

/// The sum with the magic number: what is added to it, and it.
fn magic_sum<R>(sum: &Node<R>, ty: Type) -> Option<(Args<R>, f64)> {
    if sum.ty != ty {
        return None;
    }
    if let (Operator::Fma, [a, b, c]) = (sum.operator, &sum.args[..]) {
        return Some((Args::from_iter([a.clone(), b.clone()]), constant(c)?));
    }
    let (x, magic) = plus_constant(sum.operator, &sum.args)?;
    Some((Args::from_iter([x.clone()]), magic))
}

/// A sum or a difference as something and a constant that is added to it.
fn plus_constant<R>(operator: Operator, args: &[Term<R>]) -> Option<(&Term<R>, f64)> {
    match (operator, args) {
        (Operator::Add, [x, c]) => match constant(c) {
            Some(c) => Some((x, c)),
            None => Some((c, constant(x)?)),
        },
        (Operator::Sub, [x, c]) => Some((x, -constant(c)?)),
        _ => None,
    }
}

/// The value of a number that is written in the program, perhaps as a narrower one, perhaps negated.
fn constant<R>(term: &Term<R>) -> Option<f64> {
    match term.shown() {
        Term::Leaf(leaf) if leaf.constant => Some(term.shown().value()),
        Term::Node(node) if node.operator == Operator::Neg => match node.args.first()?.shown() {
            leaf @ Term::Leaf(of) if of.constant => Some(-leaf.value()),
            _ => None,
        },
        _ => None,
    }
}
