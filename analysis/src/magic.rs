//! Rounding to an integer by a magic number: `(x + C) - C`, where C is so large that the sum has no digits behind the point. Whoever
//! writes that wants an integer; the digits that it loses are no error.

use crate::mode::Direction;
use crate::operation::Request;
use crate::real::Real;
use crate::trace::{Args, Handle, Nodes, Term};
use fpgrind_ir::{Operator, Type};

/// Lesser numbers are no such C in any format that is rounded to here.
pub const LEAST: f64 = 4e6;

#[inline(always)]
pub fn may_be(number: f64) -> bool {
    number.abs() >= LEAST
}

/// What looks like the second half of such a rounding. Whether it is one shows in its result, which must be the integer.
pub struct Found {
    /// What is rounded: a float, or the product of two.
    pub factors: Args,
    /// To the nearest integer, or as the direction says.
    pub rounding: Operator,
}

pub fn find<R: Real>(request: &Request, nodes: &Nodes<R>) -> Option<Found> {
    // Most operations are none of this.
    let may_be = |arg: &Term| match arg {
        Term::Leaf(leaf) => leaf.constant,
        Term::Node(node) => matches!(nodes[*node].operator, Operator::Cast | Operator::Neg),
    };
    if !matches!(request.operator, Operator::Add | Operator::Sub) || !request.args.iter().any(may_be) {
        return None;
    }
    Search(nodes).find_sum(request)
}

struct Search<'a, R>(&'a Nodes<R>);

impl<R: Real> Search<'_, R> {
    fn find_sum(&self, request: &Request) -> Option<Found> {
        let Request { operator, ty, args, mode, .. } = request;
        let (sum, subtracted) = self.plus_constant(*operator, args)?;
        let Term::Node(sum) = sum else { return None };
        let (factors, magic) = self.magic_sum(sum, *ty)?;
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
    fn magic_sum(&self, sum: Handle, ty: Type) -> Option<(Args, f64)> {
        let node = &self.0[sum];
        if node.ty != ty {
            return None;
        }
        let args: Args = self.0.args(sum).collect();
        if let (Operator::Fma, [a, b, c]) = (node.operator, &args[..]) {
            return Some((Args::from_iter([*a, *b]), self.constant(*c)?));
        }
        let (x, magic) = self.plus_constant(node.operator, &args)?;
        Some((Args::from_iter([x]), magic))
    }

    /// A sum or a difference as something and a constant that is added to it.
    fn plus_constant(&self, operator: Operator, args: &[Term]) -> Option<(Term, f64)> {
        match (operator, args) {
            (Operator::Add, [x, c]) => match self.constant(*c) {
                Some(c) => Some((*x, c)),
                None => Some((*c, self.constant(*x)?)),
            },
            (Operator::Sub, [x, c]) => Some((*x, -self.constant(*c)?)),
            _ => None,
        }
    }

    /// The value of a number that is written in the program, perhaps as a narrower one, perhaps negated.
    fn constant(&self, term: Term) -> Option<f64> {
        match self.0.shown(term) {
            leaf @ Term::Leaf(of) => of.constant.then(|| self.0.value(leaf)),
            Term::Node(node) if self.0[node].operator == Operator::Neg => match self.0.shown(self.0.first_arg(node)?) {
                leaf @ Term::Leaf(of) if of.constant => Some(-self.0.value(leaf)),
                _ => None,
            },
            Term::Node(_) => None,
        }
    }
}
