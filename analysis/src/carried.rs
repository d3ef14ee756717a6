//! What a loop carries from turn to turn, where an expression shows it as a variable: a sum, and of what.

use super::{Generaliser, Position, Shape};
use crate::site::SiteKey;
use fpgrind_ir::Operator;

/// A longer term says less than none.
const MAX_TERM: usize = 40;

/// The operation that makes a variable's values anew in each turn.
pub struct Carrier {
    pub key: SiteKey,
    /// There is one of its kind in a turn: a loop that the compiler has unrolled has several.
    pub is_alone: bool,
    /// What is added or multiplied in each turn, if that is all that is done.
    pub term: Option<String>,
}

impl Generaliser {
    /// What makes the values of a position, if a loop carries them. New variables get names.
    pub(super) fn carrier(&self, of: usize, named: &mut Vec<usize>) -> Option<Carrier> {
        let class = self.positions[of].class;
        let same = self.live_operations().map(|(_, position)| position);
        let position = same.into_iter().find(|position| position.class == class && position.carried)?;
        let Shape::Operation(operator, ty) = position.shape else { return None };
        let key = SiteKey { at: position.place?, operator, ty };
        let is_before = |at: &usize| {
            let child = &self.positions[*at];
            child.place == position.place && child.shape == position.shape
        };
        let (before, terms): (Vec<usize>, Vec<usize>) = position.children().partition(is_before);
        let term = match (operator, &before[..], &terms[..]) {
            (Operator::Add | Operator::Mul, [_], [term]) => self.term(*term, named),
            _ => None,
        };
        let is_alone = before.len() == 1 || self.recurs_alone(position);
        Some(Carrier { key, is_alone, term })
    }

    /// Does the operation come again below, and no other of its kind before that?
    fn recurs_alone(&self, position: &Position) -> bool {
        let mut recurs = false;
        let mut pending: Vec<usize> = position.children().collect();
        while let Some(at) = pending.pop() {
            let below = &self.positions[at];
            match below.shape == position.shape {
                true if below.place == position.place => recurs = true,
                true => return false,
                false => pending.extend(below.children()),
            }
        }
        recurs
    }

    /// An expression in words' reach: with as many levels as fit.
    fn term(&self, at: usize, named: &mut Vec<usize>) -> Option<String> {
        [usize::MAX, 2, 1].into_iter().find_map(|levels| {
            let (mut cut, mut known) = (self.carried(), named.clone());
            self.cut_below(at, levels, &mut cut);
            let expr = self.expression_at(at, &cut, &mut known);
            let names: Vec<String> = (0..known.len()).map(super::told::name).collect();
            let text = expr.infix(&names);
            let fits = text.chars().count() <= MAX_TERM;
            if fits {
                *named = known;
            }
            fits.then_some(text)
        })
    }
}
