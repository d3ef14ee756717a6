//! Where a real is in doubt, it is computed again in MPFR, from the operations behind it.

use crate::mpfr::Mpfr;
use crate::operation::{Operations, in_reals};
use crate::real::Real;
use crate::trace::{Handle, Nodes, Term};
use fpgrind_ir::Operator;
use rustc_hash::FxHashMap;

/// Operations that are done again, at most: those nearest to the result. Further away, what is known of a value is taken to be exact: its
/// doubt is in the last of some hundred bits, and goes away where the same value is subtracted.
const MOST: usize = 64;

impl<R: Real> Operations<R> {
    /// The operation on its arguments beyond doubt. Nothing if doubts stay.
    #[cold]
    pub fn settle(&mut self, operator: Operator, args: &[Term]) -> Option<R> {
        if !self.settles() {
            return None;
        }
        self.settled += 1;
        let mut again = Again { nodes: &self.nodes, precision: self.precision(), values: FxHashMap::default() };
        let near = again.near(args);
        // Those further away come later in it, so that arguments are known before they are needed.
        for node in near.into_iter().rev() {
            let args: Vec<Term> = self.nodes.args(node).collect();
            let operation = in_reals(self.nodes[node].operator, self.nodes[node].target().direction);
            let value = again.apply(operation, &args);
            again.values.insert(node, value);
        }
        Some(R::settled(&again.apply(operator, args)))
    }
}

struct Again<'a, R> {
    nodes: &'a Nodes<R>,
    precision: u32,
    values: FxHashMap<Handle, Mpfr>,
}

impl<R: Real> Again<'_, R> {
    /// The operations to do again, each before those that it rests on.
    fn near(&self, args: &[Term]) -> Vec<Handle> {
        let mut near: Vec<Handle> = Vec::new();
        let mut last: FxHashMap<Handle, usize> = FxHashMap::default();
        let mut add = |near: &mut Vec<Handle>, term: Term| {
            if let Term::Node(node) = term
                && !self.nodes[node].real.is_exact()
                && self.nodes.arity(node) > 0
            {
                near.push(node);
                last.insert(node, near.len() - 1);
            }
        };
        args.iter().for_each(|arg| add(&mut near, *arg));
        let mut at = 0;
        while at < near.len() && near.len() < MOST {
            for arg in self.nodes.args(near[at]) {
                add(&mut near, arg);
            }
            at += 1;
        }
        // A value that is used twice is computed where it is met last.
        let mut at = 0;
        near.retain(|node| {
            at += 1;
            last.get(node) == Some(&(at - 1))
        });
        near
    }

    fn apply(&self, operator: Operator, args: &[Term]) -> Mpfr {
        let args: Vec<Mpfr> = args.iter().map(|arg| self.value(*arg)).collect();
        Mpfr::apply(operator, &args.iter().collect::<Vec<_>>())
    }

    fn value(&self, term: Term) -> Mpfr {
        match term {
            Term::Leaf(leaf) => Mpfr::exactly(self.precision, crate::Number::new(leaf.ty, leaf.bits())),
            Term::Node(node) => match self.values.get(&node) {
                Some(value) => value.clone(),
                None => self.nodes[node].real.to_mpfr(self.precision),
            },
        }
    }
}
