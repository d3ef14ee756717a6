//! Sites: the operations of the program, each with what its executions had in common when they went wrong.

use crate::antiunify::Generaliser;
use crate::error;
use crate::findings::CauseKind;
use crate::location::LocationId;
use crate::mode::Mode;
use crate::number::Number;
use crate::real::Real;
use crate::room::Room;
use crate::sampling::{Logarithms, Looks, Random, Sampling};
use crate::trace::{Handle, Nodes, Term};
use fpgrind_ir::{Operator, Type};
use rustc_hash::FxHashMap;

/// How an execution went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Local error in ulps, where that means anything.
    Fine(Option<u64>),
    /// Local error in ulps, over the threshold, and what it comes from.
    Wrong(CauseKind, u64),
}

impl Verdict {
    pub fn is_fine(self) -> bool {
        matches!(self, Verdict::Fine(_))
    }
}

/// All lanes of an instruction are one site; so are all its translations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SiteKey {
    pub at: LocationId,
    pub operator: Operator,
    pub ty: Type,
}

pub struct Site {
    pub key: SiteKey,
    /// It stays where it is: compiled code knows the address.
    pub tally: Box<Tally>,
    pub state: State,
}

/// What changes with each execution. Compiled code writes it, too.
pub struct Tally {
    /// The execution to look at next: those before need only be counted. And how far away it is, which may be behind.
    next: u64,
    pub left: i64,
    /// Of the first and the second argument, while nothing went wrong.
    extremes: [Extremes; 2],
    random: Random,
    /// Which of its doubts are settled.
    pub doubts: Sampling<16, 4096>,
    pub wrong: Wrong,
}

/// Executions that went wrong, and what the first of them came from.
pub struct Wrong {
    pub kind: CauseKind,
    pub executions: u64,
    /// The most floats that it was wrong by.
    pub most: u64,
    /// Of all of them.
    pub bits: Logarithms,
    /// Which are looked at.
    pub looks: Looks,
}

#[derive(Clone, Copy)]
struct Extremes {
    least: f64,
    greatest: f64,
    least_node: Option<Handle>,
    greatest_node: Option<Handle>,
}

pub enum State {
    /// Nothing went wrong so far. The traces of executions number 1, 2, 4, 8, or thereabouts, are kept, and those with the least and the greatest
    /// arguments, to know what good executions looked like if one ever does. All are looked at at first, then some.
    Good(Vec<Handle>),
    Candidate(Box<Candidate>),
}

const MAX_SAMPLED: usize = 16;
/// So many executions are looked at, and then one of so many.
const ALL: u64 = 1 << 10;
const OF: u64 = 512;

pub struct Candidate {
    pub max_bits: f64,
    pub computed: Number,
    pub correct: Number,
    /// How the CPU rounded when it first went wrong.
    pub mode: Mode,
    pub general: Generaliser,
    /// Which executions that went well are looked at.
    fine: Looks,
}

pub struct Sites {
    sites: Vec<Site>,
    numbers: FxHashMap<SiteKey, usize>,
    room: Room,
}

/// Positions of a candidate's expression that may be looked at: so many of executions that went wrong and of those that went well. Then a position for so
/// many that went wrong, or one execution of so many if that is less; and of those that went well a position for so many, or one execution of so many if that is more.
const FREE: u64 = 1 << 20;
const WRONG_EXECUTIONS: u64 = 4;
const ONE_WRONG_IN: u64 = 64;
const EXECUTIONS: u64 = 32;
const ONE_FINE_IN: u64 = 1024;
/// After so many looks that told nothing new there are half as many. Those at executions that went well tell of ranges only: so many positions are
/// enough, or so many looks.
const QUIET: u64 = 1 << 15;
const QUIET_POSITIONS: u64 = 1 << 18;
const QUIET_FINE: u64 = 1 << 12;

/// So many times as many doubts are passed over after one that could not be settled.
const IN_VAIN: u64 = 16;

impl Sites {
    pub fn new(room: Room) -> Sites {
        Sites { sites: Vec::new(), numbers: FxHashMap::default(), room }
    }

    pub fn number(&mut self, key: SiteKey) -> usize {
        *self.numbers.entry(key).or_insert_with(|| {
            self.sites.push(Site {
                key,
                tally: Box::new(Tally {
                    next: 1,
                    left: 1,
                    extremes: [Extremes::NONE; 2],
                    random: Random::default(),
                    doubts: Sampling::default(),
                    wrong: Wrong {
                        kind: CauseKind::Inaccurate,
                        executions: 0,
                        most: 0,
                        bits: Logarithms::default(),
                        looks: Looks::new(QUIET),
                    },
                }),
                state: State::Good(Vec::new()),
            });
            self.sites.len() - 1
        })
    }

    /// How often an operation was executed.
    pub fn executions(&self, key: SiteKey) -> u64 {
        self.numbers.get(&key).map_or(0, |number| self.sites[*number].tally.executions())
    }

    /// Is a doubt about a result of this site to be settled? That takes long.
    pub fn settles(&mut self, number: usize) -> bool {
        self.sites[number].tally.doubts.is_due()
    }

    /// It could not be settled, and most that follow will be no better: there are fewer attempts.
    pub fn could_not_settle(&mut self, number: usize) {
        self.sites[number].tally.doubts.postpone(IN_VAIN);
    }

    /// The same, if it is not: then this one has passed.
    #[inline(always)]
    pub fn passes_over_doubt(&mut self, number: usize) -> bool {
        self.sites[number].tally.doubts.passes()
    }

    #[inline(always)]
    pub fn may_pass_over_doubt(&self, number: usize) -> bool {
        self.sites[number].tally.doubts.skip > 0
    }

    #[inline(always)]
    pub fn is_candidate(&self, number: usize) -> bool {
        matches!(self.sites[number].state, State::Candidate(_))
    }

    /// Calls a function with each node that is kept.
    pub fn each_root(&mut self, root: &mut dyn FnMut(&mut Handle)) {
        for site in &mut self.sites {
            if let State::Good(sampled) = &mut site.state {
                sampled.iter_mut().for_each(&mut *root);
                site.tally.extremes.iter_mut().flat_map(Extremes::nodes).for_each(&mut *root);
            }
        }
    }

    /// The operations that have gone wrong.
    pub fn candidates(&self) -> Vec<u32> {
        let wrong = |(number, site): (usize, &Site)| matches!(site.state, State::Candidate(_)).then_some(number as u32);
        self.sites.iter().enumerate().filter_map(wrong).collect()
    }

    pub fn tally(&self, number: usize) -> &Tally {
        &self.sites[number].tally
    }

    pub fn get_mut(&mut self, number: usize) -> Option<&mut Site> {
        self.sites.get_mut(number)
    }

    /// Is more to be done for an execution that went well than to count it?
    #[inline(always)]
    pub fn is_due(&self, number: usize) -> bool {
        self.sites[number].tally.left <= 1
    }

    #[inline(always)]
    pub fn count(&mut self, number: usize) {
        self.sites[number].tally.left -= 1;
    }

    /// An execution that went well, with these arguments and so much local error.
    #[inline(always)]
    pub fn observe_fine<R: Real>(
        &mut self,
        number: usize,
        node: Handle,
        args: [f64; 2],
        ulps: Option<u64>,
        nodes: &Nodes<R>,
    ) {
        let site = &mut self.sites[number];
        site.tally.left -= 1;
        match &mut site.state {
            _ if site.tally.left > 0 => {}
            State::Good(sampled) => site.tally.keep(node, args, sampled),
            State::Candidate(_) => self.see_fine(number, node, ulps, nodes),
        }
    }

    fn see_fine<R: Real>(&mut self, number: usize, node: Handle, ulps: Option<u64>, nodes: &Nodes<R>) {
        let site = &mut self.sites[number];
        if let State::Candidate(candidate) = &mut site.state {
            candidate.general.see(Term::Node(node), ulps.map(error::bits), nodes);
            let cost = candidate.general.size();
            let one_in = (EXECUTIONS * cost as u64).min(ONE_FINE_IN);
            site.tally.look_after(1 + candidate.fine.looked(cost, false, FREE, one_in));
        }
    }

    pub fn observe<R: Real>(&mut self, number: usize, node: Handle, verdict: Verdict, mode: Mode, nodes: &Nodes<R>) {
        match verdict {
            Verdict::Fine(local) => {
                let args = [0, 1].map(|number| nodes.arg(node, number).map_or(0.0, |arg| nodes.value(arg)));
                self.observe_fine(number, node, args, local, nodes);
            }
            Verdict::Wrong(kind, ulps) => self.observe_wrong(number, node, kind, ulps, mode, nodes),
        }
    }

    /// An execution that went wrong by so many floats.
    #[inline(always)]
    pub fn observe_wrong<R: Real>(
        &mut self,
        number: usize,
        node: Handle,
        kind: CauseKind,
        ulps: u64,
        mode: Mode,
        nodes: &Nodes<R>,
    ) {
        if let State::Good(_) = &self.sites[number].state {
            self.suspect(number, node, kind, mode, nodes);
        }
        let site = &mut self.sites[number];
        site.tally.left -= 1;
        site.tally.wrong.count(kind, ulps);
        // One that is worse than all before is looked at in any case.
        if (site.tally.wrong.looks.is_due() || ulps > site.tally.wrong.most)
            && let State::Candidate(candidate) = &mut site.state
        {
            candidate.look(node, ulps, &mut site.tally.wrong, nodes);
        }
    }

    /// Is more to be done for an execution that went wrong by so many floats than to count it?
    #[inline(always)]
    pub fn looks_at_wrong(&self, number: usize, ulps: u64) -> bool {
        let wrong = &self.sites[number].tally.wrong;
        wrong.looks.would_be_due() || ulps > wrong.most
    }

    /// One that is not looked at.
    #[inline(always)]
    pub fn count_wrong(&mut self, number: usize, kind: CauseKind, ulps: u64) {
        self.count(number);
        let wrong = &mut self.sites[number].tally.wrong;
        wrong.count(kind, ulps);
        wrong.looks.is_due();
    }

    /// It becomes a candidate.
    #[cold]
    fn suspect<R: Real>(&mut self, number: usize, node: Handle, kind: CauseKind, mode: Mode, nodes: &Nodes<R>) {
        let site = &mut self.sites[number];
        let State::Good(sampled) = &site.state else { return };
        let mut general = Generaliser::new(Term::Node(node), nodes, &self.room);
        for good in site.tally.kept(sampled) {
            general.see(Term::Node(good), None, nodes);
        }
        site.tally.wrong.kind = kind;
        site.state = State::Candidate(Box::new(Candidate {
            max_bits: 0.0,
            computed: Number::from(0.0),
            correct: Number::from(0.0),
            mode,
            fine: Looks::new((QUIET_POSITIONS / general.size() as u64).clamp(QUIET_FINE, QUIET)),
            general,
        }));
        site.tally.look_after(0);
    }
}

impl Tally {
    pub fn executions(&self) -> u64 {
        self.next.wrapping_add_signed(-self.left)
    }

    /// The next look is at the execution that is so many further.
    fn look_after(&mut self, executions: u64) {
        self.next = self.executions() + executions;
        self.left = executions as i64;
    }

    fn kept(&self, sampled: &[Handle]) -> impl Iterator<Item = Handle> {
        let extremes = self.extremes.iter().flat_map(|extremes| [extremes.least_node, extremes.greatest_node]);
        sampled.iter().copied().chain(extremes.flatten())
    }

    fn keep(&mut self, node: Handle, args: [f64; 2], sampled: &mut Vec<Handle>) {
        let executions = self.executions();
        let further = if executions < ALL { 1 } else { 1 + self.random.below(2 * OF) };
        self.look_after(further);
        if sampled.len() < MAX_SAMPLED && executions >> sampled.len() > 0 {
            sampled.push(node);
        }
        for (value, extremes) in args.into_iter().zip(&mut self.extremes) {
            if value < extremes.least {
                (extremes.least, extremes.least_node) = (value, Some(node));
            }
            if value > extremes.greatest {
                (extremes.greatest, extremes.greatest_node) = (value, Some(node));
            }
        }
    }
}

impl Extremes {
    const NONE: Extremes =
        Extremes { least: f64::INFINITY, greatest: f64::NEG_INFINITY, least_node: None, greatest_node: None };

    fn nodes(&mut self) -> impl Iterator<Item = &mut Handle> {
        [&mut self.least_node, &mut self.greatest_node].into_iter().flatten()
    }
}

impl Wrong {
    #[inline(always)]
    fn count(&mut self, kind: CauseKind, ulps: u64) {
        // An operation that gives NaN now and then, or flushes, and loses digits besides, is spoken of as one that loses digits.
        if kind == CauseKind::Inaccurate {
            self.kind = kind;
        }
        self.executions += 1;
        self.bits.add(ulps as f64 + 1.0);
    }
}

impl Candidate {
    #[cold]
    #[inline(never)]
    fn look<R: Real>(&mut self, handle: Handle, ulps: u64, wrong: &mut Wrong, nodes: &Nodes<R>) {
        let (node, bits) = (nodes.of(handle), error::bits(ulps));
        wrong.most = wrong.most.max(ulps);
        if bits > self.max_bits {
            self.max_bits = bits;
            self.computed = node.number();
            self.correct = Number::new(node.ty, node.rounded());
        }
        let is_new = self.general.meet(Term::Node(handle), bits, nodes);
        if is_new {
            self.fine.start_again();
        }
        let cost = self.general.size();
        let one_in = (WRONG_EXECUTIONS * cost as u64).max(ONE_WRONG_IN);
        wrong.looks.looked(cost, is_new, FREE, one_in);
    }
}
