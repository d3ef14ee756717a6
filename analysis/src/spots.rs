//! Spots: where floats leave the world of floats, as output, as a decision or as an integer. An error that never reaches
//! one of them harmed nobody.

use crate::antiunify::Generaliser;
use crate::attribution::{self, Attribution};
use crate::choice::Choice;
use crate::error;
use crate::findings::{Effect, SpotKind};
use crate::influence::{Influences, Sets};
use crate::location::LocationId;
use crate::number::Number;
use crate::real::Real;
use crate::room::Room;
use crate::sampling::{Budget, Sampling};
use crate::trace::{Nodes, Term};
use rustc_hash::FxHashMap;

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
    /// What the error of one of them is made of, the worst or nearly so, and how large that is.
    pub attribution: Option<(f64, Attribution)>,
    /// Of a decision that goes the other way in the reals: the worst that was found.
    pub effect: Option<Effect>,
    pub choice: Choice,
    /// Which of its doubts are settled when there is no time for all.
    pub doubts: Doubts,
}

/// Of a decision.
pub type Doubts = Sampling<256, 64>;

pub struct Spots {
    #[expect(clippy::vec_box, reason = "each stays where it is: compiled code knows the address")]
    pub spots: Vec<Box<SpotState>>,
    numbers: FxHashMap<(LocationId, SpotKind), usize>,
    executed: u64,
    /// Wrong executions without a cause, and what taking their errors apart has cost.
    uncaused: u64,
    attributing: Budget,
    room: Room,
}

/// Operations behind errors that may be looked at: so many, and so many for each wrong execution.
const FREE: u64 = 1 << 18;
const EACH: u64 = 4;

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
    pub fn new(room: Room) -> Spots {
        Spots {
            spots: Vec::new(),
            numbers: FxHashMap::default(),
            executed: 0,
            uncaused: 0,
            attributing: Budget::default(),
            room,
        }
    }

    pub fn number(&mut self, at: LocationId, kind: SpotKind) -> usize {
        *self.numbers.entry((at, kind.clone())).or_insert_with(|| {
            self.spots.push(Box::new(SpotState {
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
                attribution: None,
                effect: None,
                choice: Choice::new(),
                doubts: Doubts::default(),
            }));
            self.spots.len() - 1
        })
    }

    /// The memory for its expressions, and those of causes.
    pub fn room(&self) -> &Room {
        &self.room
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
            self.uncaused += 1;
            let culprit = nodes.shown(culprit);
            let general = spot.general.get_or_insert_with(|| Generaliser::new(culprit, nodes, &self.room));
            general.meet(culprit, bits, nodes);
            // An error that grows from one execution to the next is taken apart each time that it has doubled, if not more often.
            let known = spot.attribution.as_ref().map(|(bits, _)| *bits);
            if let Term::Node(node) = culprit
                && known.is_none_or(|known| bits > known)
                && (known.is_none_or(|known| bits > known + 1.0)
                    || self.attributing.spend(attribution::MOST, FREE, EACH * self.uncaused))
                && let Some(attribution) = attribution::attribute(node, nodes)
            {
                spot.attribution = Some((bits, attribution));
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
}
