//! Sites: the operations of the program, each with what its executions had in common when they went wrong.

use crate::antiunify::Generaliser;
use crate::error;
use crate::findings::CauseKind;
use crate::location::LocationId;
use crate::mode::Mode;
use crate::number::Number;
use crate::real::Real;
use crate::trace::{Node, Term};
use fpgrind_ir::{Operator, Type};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// How an execution went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Fine,
    /// Local error in ulps, over the threshold.
    Inaccurate(u64),
    /// A NaN out of arguments that are none.
    Invalid,
    /// So far off only because a subnormal number was flushed to zero.
    Flushed(u64),
}

/// All lanes of an instruction are one site; so are all its translations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SiteKey {
    pub at: LocationId,
    pub operator: Operator,
    pub ty: Type,
}

pub struct Site<R> {
    pub key: SiteKey,
    pub executions: u64,
    pub state: State<R>,
}

pub enum State<R> {
    /// Nothing went wrong so far. Some traces are kept, to know what good executions looked like if one ever does.
    Good(Early<R>),
    Candidate(Box<Candidate>),
}

/// Traces of good executions: those number 1, 2, 4, 8, and those with the least and the greatest first and second argument.
pub struct Early<R> {
    sampled: Vec<Rc<Node<R>>>,
    extremes: [Option<Extremes<R>>; 2],
}

struct Extremes<R> {
    least: (f64, Rc<Node<R>>),
    greatest: (f64, Rc<Node<R>>),
}

const MAX_SAMPLED: usize = 16;

pub struct Candidate {
    pub kind: CauseKind,
    pub erroneous: u64,
    pub max_bits: f64,
    pub sum_bits: f64,
    pub computed: Number,
    pub correct: Number,
    /// How the CPU rounded when it first went wrong.
    pub mode: Mode,
    pub general: Generaliser,
}

pub struct Sites<R> {
    sites: Vec<Site<R>>,
    numbers: FxHashMap<SiteKey, usize>,
}

impl<R: Real> Sites<R> {
    pub fn new() -> Sites<R> {
        Sites { sites: Vec::new(), numbers: FxHashMap::default() }
    }

    pub fn number(&mut self, key: SiteKey) -> usize {
        *self.numbers.entry(key).or_insert_with(|| {
            let early = Early { sampled: Vec::new(), extremes: [None, None] };
            self.sites.push(Site { key, executions: 0, state: State::Good(early) });
            self.sites.len() - 1
        })
    }

    pub fn get_mut(&mut self, number: usize) -> Option<&mut Site<R>> {
        self.sites.get_mut(number)
    }

    pub fn observe(&mut self, number: usize, node: &Rc<Node<R>>, verdict: Verdict, mode: Mode, max_depth: usize) {
        let site = &mut self.sites[number];
        site.executions += 1;
        match (&mut site.state, verdict) {
            (State::Good(early), Verdict::Fine) => early.keep(site.executions, node),
            (State::Candidate(candidate), Verdict::Fine) => candidate.general.see(&Term::Node(node.clone())),
            (State::Candidate(candidate), _) => candidate.observe(node, verdict),
            (State::Good(early), _) => {
                let root = Term::Node(node.clone());
                let mut candidate = Box::new(Candidate {
                    kind: CauseKind::Inaccurate,
                    erroneous: 0,
                    max_bits: 0.0,
                    sum_bits: 0.0,
                    computed: Number::from(0.0),
                    correct: Number::from(0.0),
                    mode,
                    general: Generaliser::new(&root, max_depth),
                });
                let extremes = early.extremes.iter().flatten().flat_map(|e| [&e.least.1, &e.greatest.1]);
                for good in early.sampled.iter().chain(extremes) {
                    candidate.general.see(&Term::Node(good.clone()));
                }
                candidate.observe(node, verdict);
                site.state = State::Candidate(candidate);
            }
        }
    }
}

impl<R> Early<R> {
    fn keep(&mut self, executions: u64, node: &Rc<Node<R>>) {
        if executions.is_power_of_two() && self.sampled.len() < MAX_SAMPLED {
            self.sampled.push(node.clone());
        }
        for (arg, extremes) in node.args.iter().zip(&mut self.extremes) {
            let value = arg.value();
            let this = || (value, node.clone());
            match extremes {
                None => *extremes = Some(Extremes { least: this(), greatest: this() }),
                Some(extremes) if value < extremes.least.0 => extremes.least = this(),
                Some(extremes) if value > extremes.greatest.0 => extremes.greatest = this(),
                Some(_) => {}
            }
        }
    }
}

impl Candidate {
    fn observe<R: Real>(&mut self, node: &Rc<Node<R>>, verdict: Verdict) {
        let (ulps, kind) = match verdict {
            Verdict::Inaccurate(ulps) => (ulps, CauseKind::Inaccurate),
            Verdict::Flushed(ulps) => (ulps, CauseKind::Flushed),
            _ => (error::maximal(node.ty), CauseKind::Invalid),
        };
        // An operation that gives NaN now and then, or flushes, and loses digits besides, is spoken of as one that loses digits.
        if self.erroneous == 0 || kind == CauseKind::Inaccurate {
            self.kind = kind;
        }
        let bits = error::bits(ulps);
        self.erroneous += 1;
        self.sum_bits += bits;
        if bits > self.max_bits {
            self.max_bits = bits;
            self.computed = Number::new(node.ty, node.bits.get());
            self.correct = Number::new(node.ty, node.rounded.get());
        }
        self.general.meet(&Term::Node(node.clone()), bits);
    }
}
