//! Spots: where floats leave the world of floats, as output, as a decision or as an integer. An error that never reaches
//! one of them harmed nobody.

use crate::antiunify::Generaliser;
use crate::choice::Choice;
use crate::error;
use crate::findings::{Effect, SpotKind};
use crate::influence::{Influences, Sets};
use crate::location::{Location, LocationId, Locations};
use crate::number::Number;
use crate::real::Real;
use crate::trace::{Handle, Nodes, Term};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

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
    /// Of a decision that goes the other way in the reals: the worst that was found.
    pub effect: Option<Effect>,
    pub choice: Choice,
}

pub struct Spots {
    pub spots: Vec<SpotState>,
    numbers: FxHashMap<(LocationId, SpotKind), usize>,
    executed: u64,
}

/// Nodes of a trace that are counted.
const MAX_COUNTED: usize = 1024;

/// What happened at a spot.
pub struct Visit {
    pub wrong: bool,
    /// The value with the most error in it.
    pub culprit: Term,
    /// The value shown: a decision's left operand.
    pub shown: Term,
    pub influences: Influences,
}

impl Spots {
    pub fn new() -> Spots {
        Spots { spots: Vec::new(), numbers: FxHashMap::default(), executed: 0 }
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
                effect: None,
                choice: Choice::new(),
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
    pub fn visit<R: Real>(&mut self, number: usize, visit: Visit, sets: &mut Sets, nodes: &Nodes<R>) -> bool {
        let Visit { wrong, culprit, shown, influences } = visit;
        let spot = &mut self.spots[number];
        let bits = error::bits(nodes.ulps(culprit));
        let is_output = matches!(spot.kind, SpotKind::Output { .. });
        let is_shown = (wrong || is_output) && (bits > spot.max_bits || spot.count == 1 || wrong && spot.wrong == 0);
        if is_shown {
            spot.max_bits = spot.max_bits.max(bits);
            spot.computed = nodes.number(shown);
            spot.correct = nodes.correct(shown);
        }
        if !wrong {
            return is_shown;
        }
        spot.wrong += 1;
        spot.sum_bits += bits;
        spot.influences = sets.union(spot.influences, influences);
        if influences.is_empty() && spot.effect != Some(Effect::Compensation) {
            spot.uncaused += 1;
            let culprit = nodes.shown(culprit);
            let general = spot.general.get_or_insert_with(|| Generaliser::new(culprit, nodes));
            general.meet(culprit, bits, nodes);
            // Traces of neighbouring executions hold the same operations: a few are enough.
            if let Term::Node(node) = culprit
                && spot.uncaused.is_power_of_two()
            {
                count_operations(node, &mut spot.operations, nodes);
            }
        }
        is_shown
    }
}

impl SpotState {
    /// What can be said of a decision that goes the other way in the reals.
    pub fn effect(&self) -> Option<Effect> {
        match self.effect {
            Some(Effect::Results) if self.choice.is_between_equals() => Some(Effect::NearlyEqual),
            effect => effect,
        }
    }

    /// The operations behind wrong values without a cause, most frequent first.
    pub fn accumulated_in(&self, locations: &Locations) -> Vec<Location> {
        let counted = self.operations.iter().map(|(at, count)| (Reverse(*count), locations.get(*at)));
        let mut counted: Vec<(Reverse<u64>, Location)> = counted.collect();
        counted.sort_unstable();
        counted.into_iter().map(|(_, location)| location).collect()
    }
}

fn count_operations<R: Real>(root: Handle, counts: &mut FxHashMap<LocationId, u64>, nodes: &Nodes<R>) {
    let mut visited = FxHashSet::default();
    let mut pending = vec![root];
    while let Some(node) = pending.pop() {
        if visited.len() >= MAX_COUNTED || !visited.insert(node) {
            continue;
        }
        if !nodes.is_exact(node) {
            *counts.entry(nodes[node].at).or_default() += 1;
        }
        pending.extend(nodes.args(node).filter_map(|arg| match arg {
            Term::Node(node) => Some(node),
            Term::Leaf(_) => None,
        }));
    }
}
