//! Choices between the two values that are compared: the greater of two, the smaller over the larger, a scan for the least.
//!
//! Both sides of such a decision do the same with the two values, in each other's place, so that near equality they lead to nearly the same. What
//! is done with them is seen in the operations that follow, of a few executions of each side.

use crate::real::Real;
use crate::trace::{Handle, Moment, Nodes, Term};
use fpgrind_ir::Operator;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Executions that are watched: the first ones, and those from the first on that goes the other way in the reals.
const WATCHED: u16 = 64;
/// Operations looked at behind each.
const FOLLOWING: usize = 24;
/// Ways to use the values that are kept apart.
const MAX_USES: usize = 64;

pub struct Choice {
    left: u16,
    watched: Option<Box<Watched>>,
}

#[derive(Default)]
struct Watched {
    last: Option<Decided>,
    /// How often it did not hold, and did; and how often the values were then used so.
    seen: [u64; 2],
    uses: FxHashMap<Use, [u64; 2]>,
}

struct Decided {
    compared: [Term; 2],
    holds: bool,
    since: Moment,
}

/// An operation on one of the values or both.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Use {
    /// Nothing: the same comparison again.
    operator: Option<Operator>,
    /// As which arguments each is used: a bit for each.
    places: [u8; 2],
    /// What the program says itself of the others.
    number: Option<u128>,
}

impl Choice {
    /// Where compiled code finds how many executions are still to be watched.
    pub const LEFT: usize = std::mem::offset_of!(Choice, left);

    pub fn new() -> Choice {
        Choice { left: WATCHED, watched: None }
    }

    #[inline]
    pub fn is_watched(&self) -> bool {
        self.left > 0
    }

    /// Looks at some more.
    pub fn watch_on(&mut self) {
        self.left = WATCHED;
    }

    /// Looks at what has been done since the last execution, and will look from this one on.
    #[cold]
    pub fn watch<R: Real>(&mut self, compared: [Term; 2], holds: bool, nodes: &Nodes<R>) {
        self.left -= 1;
        let watched = self.watched.get_or_insert_default();
        if let Some(last) = watched.last.take()
            && let Some(made) = nodes.made_since(last.since)
        {
            watched.note(&last, made.take(FOLLOWING), compared, nodes);
        }
        watched.last = Some(Decided { compared: compared.map(|term| bare(term, nodes)), holds, since: nodes.moment() });
    }

    /// Do the two sides treat the two values alike, but in each other's place?
    pub fn is_between_equals(&self) -> bool {
        let Some(watched) = &self.watched else { return false };
        let often = |side: usize, count: u64| count > 0 && 2 * count >= watched.seen[side];
        watched.uses.iter().any(|(used, [if_not, if_so])| {
            let [a, b] = used.places;
            let other = watched.uses.get(&Use { places: [b, a], ..*used });
            a != b && *if_not == 0 && often(1, *if_so) && other.is_some_and(|[not, so]| often(0, *not) && *so == 0)
        })
    }
}

impl Watched {
    fn note<R: Real>(
        &mut self,
        last: &Decided,
        made: impl Iterator<Item = Handle>,
        compared_again: [Term; 2],
        nodes: &Nodes<R>,
    ) {
        let [a, b] = last.compared.map(|term| nodes.number(term));
        if a == b {
            return;
        }
        let mut uses: SmallVec<[Use; 8]> = SmallVec::new();
        let mut add = |operator, args: &[Term]| {
            let place = |of: Term| {
                let is_it = |arg: &Term| same(bare(*arg, nodes), of, nodes);
                args.iter().enumerate().filter(|(_, arg)| is_it(arg)).fold(0, |bits, (place, _)| bits | 1 << place)
            };
            let places = last.compared.map(place);
            let number = args.iter().find_map(|arg| match arg {
                Term::Leaf(leaf) if leaf.constant && !last.compared.contains(arg) => Some(leaf.bits()),
                _ => None,
            });
            let used = Use { operator, places, number };
            if places != [0, 0] && !uses.contains(&used) {
                uses.push(used);
            }
        };
        for node in made.filter(|node| !matches!(nodes[*node].operator, Operator::Abs | Operator::Neg)) {
            add(Some(nodes[node].operator), &nodes.args(node).collect::<SmallVec<[Term; 4]>>());
        }
        add(None, &compared_again);
        self.seen[last.holds as usize] += 1;
        for used in uses {
            if self.uses.len() < MAX_USES || self.uses.contains_key(&used) {
                self.uses.entry(used).or_default()[last.holds as usize] += 1;
            }
        }
    }
}

/// A value without its sign: magnitudes are compared to choose between what they are the magnitudes of.
fn bare<R: Real>(mut term: Term, nodes: &Nodes<R>) -> Term {
    while let Term::Node(node) = term
        && matches!(nodes[node].operator, Operator::Abs | Operator::Neg)
        && let Some(arg) = nodes.first_arg(node)
    {
        term = arg;
    }
    term
}

/// Are they one value? Of those that no operation has made, only the bits are known.
fn same<R: Real>(a: Term, b: Term, nodes: &Nodes<R>) -> bool {
    match (a, b) {
        (Term::Leaf(_), Term::Leaf(_)) => nodes.number(a).is_same(&nodes.number(b)),
        _ => a == b,
    }
}
