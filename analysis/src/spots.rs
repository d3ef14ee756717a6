//! Spots: where floats leave the world of floats, as output, as a decision or as an integer. An error that never reaches
//! one of them harmed nobody.

use crate::antiunify::Generaliser;
use crate::error;
use crate::findings::SpotKind;
use crate::influence::{Influences, Sets};
use crate::location::{Location, LocationId, Locations};
use crate::number::Number;
use crate::trace::{Node, Term};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::rc::Rc;

pub struct SpotState {
    pub at: LocationId,
    pub kind: SpotKind,
    /// Spots are reported in the order in which they were first executed.
    pub order: u64,
    pub count: u64,
    pub wrong: u64,
    pub max_bits: f64,
    /// Over the wrong executions.
    pub sum_bits: f64,
    pub computed: Number,
    pub correct: Number,
    /// Where in the bytes that were written out that number lies, if it was written so.
    pub offset: Option<u64>,
    /// Over the wrong executions.
    pub influences: Influences,
    /// What wrong executions without a cause have in common.
    pub general: Option<Generaliser>,
    pub uncaused: u64,
    /// How often operations occur behind them.
    pub operations: FxHashMap<LocationId, u64>,
}

pub struct Spots {
    pub spots: Vec<SpotState>,
    numbers: FxHashMap<(LocationId, SpotKind), usize>,
    executed: u64,
    max_depth: usize,
}

/// Nodes of a trace that are counted.
const MAX_COUNTED: usize = 1024;

/// What happened at a spot.
pub struct Visit<'a, R> {
    pub wrong: bool,
    /// The value with the most error in it.
    pub culprit: &'a Term<R>,
    /// The value shown: a decision's left operand.
    pub shown: &'a Term<R>,
    pub influences: Influences,
}

impl Spots {
    pub fn new(max_depth: usize) -> Spots {
        Spots { spots: Vec::new(), numbers: FxHashMap::default(), executed: 0, max_depth }
    }

    pub fn number(&mut self, at: LocationId, kind: SpotKind) -> usize {
        *self.numbers.entry((at, kind.clone())).or_insert_with(|| {
            self.spots.push(SpotState {
                at,
                kind,
                order: 0,
                count: 0,
                wrong: 0,
                max_bits: 0.0,
                sum_bits: 0.0,
                computed: Number::from(0.0),
                correct: Number::from(0.0),
                offset: None,
                influences: Influences::NONE,
                general: None,
                uncaused: 0,
                operations: FxHashMap::default(),
            });
            self.spots.len() - 1
        })
    }

    /// Counts an execution.
    pub fn execute(&mut self, number: usize) {
        let spot = &mut self.spots[number];
        if spot.count == 0 {
            self.executed += 1;
            spot.order = self.executed;
        }
        spot.count += 1;
    }

    /// Books what an execution that was counted came to. Is it the one that is shown?
    pub fn visit<R>(&mut self, number: usize, visit: Visit<'_, R>, sets: &mut Sets) -> bool {
        let Visit { wrong, culprit, shown, influences } = visit;
        let spot = &mut self.spots[number];
        let bits = error::bits(culprit.ulps());
        let is_output = matches!(spot.kind, SpotKind::Output { .. });
        let is_shown = (wrong || is_output) && (bits > spot.max_bits || spot.count == 1 || wrong && spot.wrong == 0);
        if is_shown {
            spot.max_bits = spot.max_bits.max(bits);
            spot.computed = shown.number();
            spot.correct = shown.correct();
        }
        if !wrong {
            return is_shown;
        }
        spot.wrong += 1;
        spot.sum_bits += bits;
        spot.influences = sets.union(spot.influences, influences);
        if influences.is_empty() {
            spot.uncaused += 1;
            let culprit = culprit.shown();
            let general = spot.general.get_or_insert_with(|| Generaliser::new(culprit, self.max_depth));
            general.meet(culprit, bits);
            // Traces of neighbouring executions hold the same operations: a few are enough.
            if let Term::Node(node) = culprit
                && spot.uncaused.is_power_of_two()
            {
                count_operations(node, &mut spot.operations);
            }
        }
        is_shown
    }
}

impl SpotState {
    /// The operations behind wrong values without a cause, most frequent first.
    pub fn accumulated_in(&self, locations: &Locations) -> Vec<Location> {
        let counted = self.operations.iter().map(|(at, count)| (Reverse(*count), locations.get(*at)));
        let mut counted: Vec<(Reverse<u64>, Location)> = counted.collect();
        counted.sort_unstable();
        counted.into_iter().map(|(_, location)| location).collect()
    }
}

fn count_operations<R>(root: &Rc<Node<R>>, counts: &mut FxHashMap<LocationId, u64>) {
    let mut visited = FxHashSet::default();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        if visited.len() >= MAX_COUNTED || !visited.insert(Rc::as_ptr(node)) {
            continue;
        }
        if !node.is_exact() {
            *counts.entry(node.at).or_default() += 1;
        }
        pending.extend(node.args.iter().filter_map(|arg| match arg {
            Term::Node(node) => Some(node),
            Term::Leaf(_) => None,
        }));
    }
}
