//! One operation, in floats and in reals: its result's shadow, its total and local error, and who is to blame.

use crate::compensation::{self, Compensations};
use crate::compiled::Routines;
use crate::error;
use crate::findings::CauseKind;
use crate::format::{self, Decoded, Kind, is_within};
use crate::gaps::Strays;
use crate::guests::Guests;
use crate::influence::{Influences, Sets};
use crate::location::LocationId;
use crate::magic;
use crate::mode::{Direction, Mode, Target};
use crate::mpfr::Mpfr;
use crate::native;
use crate::number::Number;
use crate::real::Real;
use crate::room::Room;
use crate::site::{SiteKey, Sites, Verdict};
use crate::spots::Doubts;
use crate::trace::{Args, Handle, Leaf, Made, Nodes, Term};
use crate::{Config, RealKind};
use fpgrind_ir::{MAX_ARITY, Operator, Outcome, Type};
use smallvec::SmallVec;
use std::borrow::Cow;

/// What all operations share.
pub struct Operations<R> {
    precision: u32,
    /// Below this part of what they are made of, reals tell nothing.
    pub noise: f64,
    /// Doubts of the reals are settled by MPFR.
    pub settles: bool,
    /// Errors of at most this many ulps are none.
    pub(crate) tolerated: u64,
    /// For compiled blocks.
    pub routines: Routines,
    pub sets: Sets,
    pub sites: Sites,
    pub nodes: Nodes<R>,
    /// Reals for arguments that have none of their own.
    scratch: [R; MAX_ARITY],
    pub count: u64,
    /// Of use where there are gaps in the log.
    pub strays: Strays,
    /// Operations that were done again to settle doubts.
    pub done_again: u64,
    /// How often no trace was long enough for that.
    pub unsettled: u64,
    pub compensations: Compensations,
}

/// An operation about to be done.
pub struct Request {
    pub operator: Operator,
    pub ty: Type,
    pub args: Args,
    /// What the guest computed.
    pub native: u128,
    pub at: LocationId,
    /// Where to book it. Operations that cannot go wrong have none.
    pub site: Option<usize>,
    pub mode: Mode,
    /// A library function did it, not an instruction.
    pub called: bool,
}

/// An operation done: what came out natively, and what should have.
struct Done<'a> {
    operator: Operator,
    ty: Type,
    args: &'a [Term],
    native: u128,
    rounded: u128,
    ulps: u64,
    target: Target,
    mode: Mode,
    called: bool,
}

impl<R: Real> Operations<R> {
    pub fn new(config: &Config, room: Room) -> Operations<R> {
        let scratch = || R::zero(config.precision);
        let (tolerated, settles) = (error::ulps_within(config.threshold), config.real == RealKind::Auto);
        Operations {
            precision: config.precision,
            noise: noise(config),
            settles,
            tolerated,
            routines: Routines::new::<R>(tolerated, settles),
            sets: Sets::new(config.memory / 16),
            sites: Sites::new(room),
            nodes: Nodes::new(config.max_depth, config.memory / 2),
            scratch: std::array::from_fn(|_| scratch()),
            count: 0,
            strays: Strays::new(config.memory / 16),
            done_again: 0,
            unsettled: 0,
            compensations: Compensations::default(),
        }
    }

    /// Makes room for new values. No value may be held but by the guests and the sites.
    pub fn collect(&mut self, guests: &mut Guests) {
        let (sites, strays) = (&mut self.sites, &mut self.strays);
        let roots = |root: &mut dyn FnMut(&mut Handle)| {
            guests.each_root(root);
            strays.each_root(root);
        };
        self.nodes.collect(roots, |root| sites.each_root(root));
    }

    pub fn precision(&self) -> u32 {
        self.precision
    }

    #[inline(always)]
    pub fn is_error(&self, ulps: u64) -> bool {
        ulps > self.tolerated
    }

    /// What an instruction computes on these floats, all of one format.
    pub fn native(&mut self, operator: Operator, from: Type, ty: Type, args: &[u128], mode: Mode) -> u128 {
        native::apply(operator, from, ty, args, mode).unwrap_or_else(|| {
            let args: SmallVec<[Number; MAX_ARITY]> = args.iter().map(|bits| Number::new(from, *bits)).collect();
            self.rounded_once(operator, &args, mode.target(operator, from, ty))
        })
    }

    /// What the best library there could be computes on these floats, of any formats.
    pub fn library(&mut self, operator: Operator, ty: Type, args: &[Number], mode: Mode) -> u128 {
        let from = args.first().map_or(ty, |arg| arg.ty);
        // The x87's own functions are less exact than a library's, and instructions for the lesser and the greater see NaN otherwise.
        let differs = ty == Type::F80 || matches!(operator, Operator::Min | Operator::Max);
        if !differs && args.iter().all(|arg| arg.ty == ty) {
            let bits: SmallVec<[u128; MAX_ARITY]> = args.iter().map(|arg| arg.bits).collect();
            return self.native(operator, from, ty, &bits, mode);
        }
        self.rounded_once(operator, args, mode.target(operator, from, ty))
    }

    /// The operation on these floats, rounded.
    fn rounded_once(&mut self, operator: Operator, args: &[Number], to: Target) -> u128 {
        // Not all reals have the digits of this format.
        if to.ty == Type::F128 || args.iter().any(|arg| arg.ty == Type::F128) {
            let args: Vec<Mpfr> = args.iter().map(|arg| Mpfr::exactly(self.precision, *arg)).collect();
            return Mpfr::apply(operator, &args.iter().collect::<Vec<_>>()).rounded(to);
        }
        for (scratch, arg) in self.scratch.iter_mut().zip(args) {
            scratch.assign(arg.ty, arg.bits);
        }
        R::compute(operator, &self.scratch.each_ref()[..args.len().min(MAX_ARITY)], self.precision).rounded(to)
    }

    /// Does the operation in the reals and books what happened.
    pub fn operate(&mut self, request: Request) -> Term {
        self.operate_with(request, None)
    }

    /// The same, if the real may be known already.
    pub fn operate_with(&mut self, mut request: Request, mut known: Option<R>) -> Term {
        if let Some(found) = magic::find(&request, &self.nodes) {
            self.see_rounding(found, &mut request);
            known = None;
        }
        let Request { operator, ty, ref args, native, at, site, mode, called } = request;
        self.count += 1;
        let from = args.first().map_or(ty, |arg| self.nodes.ty(*arg));
        let target = mode.target(operator, from, ty);
        let in_reals = in_reals(operator, target.direction);
        let mut real = known.unwrap_or_else(|| self.real(in_reals, args));
        let mut done = Done { operator, ty, args, native, rounded: 0, ulps: 0, target, mode, called };
        // What only changes the sign or widens is as wrong as its argument, in the format in which that was rounded.
        let is_exact = is_exact(operator, from, ty);
        let mut verdict = self.look(&mut done, &real, is_exact, site.is_some(), real.doubt(target));
        // A double-double has fewer digits than the longest floats.
        let is_long = ty == Type::F128;
        if (!verdict.is_fine() || is_long) && real.doubt(target) > 0 {
            let (has_time, unsettled) = (self.has_time(), self.unsettled);
            let is_settled = is_long || site.is_some_and(|site| has_time || self.sites.settles(site));
            if is_settled {
                real = self.settle(in_reals, args, target).unwrap_or(real);
            }
            if let Some(site) = site.filter(|_| !has_time && self.unsettled > unsettled) {
                self.sites.could_not_settle(site);
            }
            verdict = self.look(&mut done, &real, is_exact, site.is_some(), 0);
            // Where nothing was ever wrong beyond doubt, a doubt that there is no time for is none.
            if !is_settled && site.is_some_and(|site| !self.sites.is_candidate(site)) {
                verdict = Verdict::Fine(None);
            }
        }
        let (mut influences, verdict) = self.blame(&done, &real, site, verdict);
        if !is_exact && ty.bytes() > Type::F32.bytes() {
            for arg in args {
                influences = self.blame_narrow(*arg, ty, influences, mode);
            }
        }
        let ulps = done.ulps;
        let node = self.nodes.make(Made { operator, at, influences, bits: native, real, target, ulps }, args);
        if self.is_error(ulps) {
            self.strays.note(ty, native, node);
        }
        if let Some(site) = site {
            self.sites.observe(site, node, verdict, mode, &self.nodes);
        }
        Term::Node(node)
    }

    /// If the operation that looks like the end of a rounding by a magic number is that, it becomes a rounding.
    fn see_rounding(&mut self, found: magic::Found, request: &mut Request) {
        let Request { ty, native, at, mode, .. } = *request;
        let exactly = |term: &Term| R::exactly(self.precision, self.nodes.number(*term));
        let factors: Vec<R> = found.factors.iter().map(exactly).collect();
        let compute = |operator, args: &[&R]| R::compute(operator, args, self.precision);
        let exact = match &factors[..] {
            [x] => compute(found.rounding, &[x]),
            [x, y] => compute(found.rounding, &[&compute(Operator::Mul, &[x, y])]),
            _ => return,
        };
        if error::ulps(ty, native, exact.rounded(Target::nearest(ty))) != 0 {
            return;
        }
        let x = if let [x] = &found.factors[..] {
            *x
        } else {
            let bits = each(&found.factors, |factor| self.nodes.bits(factor));
            let native = self.native(Operator::Mul, ty, ty, &bits[..2], mode);
            let args = found.factors;
            self.operate(Request { operator: Operator::Mul, ty, args, native, at, site: None, mode, called: false })
        };
        request.operator = found.rounding;
        request.args = Args::from_iter([x]);
        if request.site.is_some() {
            request.site = Some(self.sites.number(SiteKey { at, operator: found.rounding, ty }));
        }
    }

    /// A float that was made of another by changing its exponent, and perhaps its sign: the other times a power of two.
    pub fn rescale(&mut self, of: Term, bits: u128, at: LocationId, mode: Mode) -> Term {
        let ty = self.nodes.ty(of);
        if self.nodes.bits(of) == bits {
            return of;
        }
        let plain = Term::Leaf(Leaf::new(ty, bits, false));
        let [new, old] = [bits, self.nodes.bits(of)].map(|bits| format::decode(ty, bits));
        let (Kind::Finite { exponent, significand }, Kind::Finite { exponent: from, significand: other }) =
            (new.kind, old.kind)
        else {
            return plain;
        };
        let (negative, power) = (new.negative != old.negative, exponent - from + 1);
        let factor = format::encode(Target::nearest(ty), negative, power, 1 << 127, false);
        let is_exact = format::decode(ty, factor)
            == Decoded { negative, kind: Kind::Finite { exponent: power, significand: 1 << 127 } };
        if significand != other || !is_exact {
            return plain;
        }
        let args = Args::from_iter([of, Term::Leaf(Leaf::new(ty, factor, true))]);
        self.operate(Request { operator: Operator::Mul, ty, args, native: bits, at, site: None, mode, called: false })
    }

    /// A float next to another, or some floats away: the other and the distance.
    pub fn step(&mut self, of: Term, bits: u128, at: LocationId, mode: Mode) -> Term {
        let ty = self.nodes.ty(of);
        let numbers = [bits, self.nodes.bits(of)].map(|bits| Number::new(ty, bits));
        let distance = self.rounded_once(Operator::Sub, &numbers, Target::nearest(ty));
        if self.nodes.bits(of) == bits {
            return of;
        }
        if !Number::new(ty, distance).is_finite() {
            return Term::Leaf(Leaf::new(ty, bits, false));
        }
        let args = Args::from_iter([of, Term::Leaf(Leaf::new(ty, distance, true))]);
        self.operate(Request { operator: Operator::Add, ty, args, native: bits, at, site: None, mode, called: false })
    }

    /// What a function computed that nobody here can compute: it is right, whatever its arguments are.
    pub fn opaque(&mut self, operator: Operator, ty: Type, args: Args, native: u128, at: LocationId) -> Term {
        self.count += 1;
        let real = R::exactly(self.precision, Number::new(ty, native));
        let (influences, target) = (Influences::NONE, Target::nearest(ty));
        Term::Node(self.nodes.make(Made { operator, at, influences, bits: native, real, target, ulps: 0 }, &args))
    }

    /// A double operation on what was rounded to a single: that rounding is no error among singles, but it is one here. So it is
    /// with other formats. What is rounded to the narrow format again lacks nothing.
    fn blame_narrow(&mut self, arg: Term, to: Type, influences: Influences, mode: Mode) -> Influences {
        let Term::Node(handle) = arg else { return influences };
        let node = self.nodes.of(handle);
        if node.operator != Operator::Cast || !self.nodes.is_widening(handle) {
            return influences;
        }
        let (at, operator, ty, rounded) = (node.at, node.operator, node.ty, node.rounded());
        let Some(narrow) = self.nodes.first_arg(handle) else { return influences };
        if is_within(to, self.nodes.ty(narrow)) {
            return influences;
        }
        let lost = error::ulps(ty, self.nodes.correct(narrow).to(ty).bits, rounded);
        if !self.is_error(lost) || error::is_nan(ty, rounded) {
            return influences;
        }
        let site = self.sites.number(SiteKey { at, operator, ty });
        self.sites.observe(site, handle, Verdict::Wrong(CauseKind::Inaccurate, lost), mode, &self.nodes);
        self.sets.with(influences, site as u32)
    }

    /// A negation or a magnitude that is part of an instruction: it cannot go wrong, so it is booked nowhere.
    pub fn change_sign(&mut self, operator: Operator, term: Term, at: LocationId, mode: Mode) -> Term {
        let ty = self.nodes.ty(term);
        let native = self.native(operator, ty, ty, &[self.nodes.bits(term)], mode);
        let args = Args::from_iter([term]);
        self.operate(Request { operator, ty, args, native, at, site: None, mode, called: false })
    }

    /// The operation on the reals of its arguments.
    #[inline(always)]
    pub fn real(&mut self, operator: Operator, args: &[Term]) -> R {
        let precision = self.precision;
        R::compute(operator, &self.reals(args)[..args.len()], precision)
    }

    /// The operation on the reals of its arguments, if its result is an integer that a machine has.
    pub fn integer(&mut self, operator: Operator, args: &[Term], mode: Mode) -> Option<i128> {
        let ty = self.nodes.ty(*args.first()?);
        let operator = in_reals(operator, mode.direction(ty, ty));
        let mut real = self.real(operator, args);
        if !real.integer_is_settled(Direction::Zero) {
            real = self.settle(operator, args, Target::nearest(Type::F64)).unwrap_or(real);
        }
        real.to_integer(Direction::Zero)
    }

    /// The float as it can best be known: an output deserves that.
    pub fn look_again(&mut self, term: Term) {
        let Term::Node(handle) = term else { return };
        let node = self.nodes.of(handle);
        let (target, doubt) = (node.target(), node.real().doubt(node.target()));
        if doubt == 0 || !self.is_error(node.ulps().saturating_add(doubt)) {
            return;
        }
        if let Some(real) = self.settle(Operator::Cast, &[term], target)
            && !self.nodes.is_exact(handle)
        {
            let ulps = error::ulps_of(target, self.nodes.of(handle).bits(), real.rounded(target));
            self.nodes.set_real(handle, real, ulps);
        }
    }

    /// The integer next to the real of a float in a direction, if there is one.
    pub fn integer_next_to(&mut self, term: Term, direction: Direction) -> Option<i128> {
        let [real, ..] = self.reals(&[term]);
        if !real.integer_is_settled(direction)
            && let Some(settled) = self.settle(Operator::Cast, &[term], Target::nearest(Type::F64))
        {
            return settled.to_integer(direction);
        }
        self.reals(&[term])[0].to_integer(direction)
    }

    /// How two floats compare in the reals; how they seem to, if that is in doubt and there is no time to settle it.
    pub fn compare(&mut self, a: Term, b: Term, doubts: &mut Doubts) -> Outcome {
        let [left, right, ..] = self.reals(&[a, b]);
        let (is_sure, outcome) = (left.differs_for_sure(right), left.compare(right));
        if !is_sure
            && (self.has_time() || doubts.is_due())
            && let Some(difference) = self.settle(Operator::Sub, &[a, b], Target::nearest(Type::F64))
        {
            return difference.compare(&R::zero(self.precision)).into();
        }
        outcome.into()
    }

    /// The reals of as many floats as an operation can have, and something where there are fewer.
    #[inline(always)]
    pub fn reals(&mut self, terms: &[Term]) -> [&R; MAX_ARITY] {
        let mut kept = [None; MAX_ARITY];
        for ((scratch, kept), term) in self.scratch.iter_mut().zip(&mut kept).zip(terms) {
            match term {
                Term::Leaf(leaf) => scratch.assign(leaf.ty, leaf.bits()),
                Term::Node(node) => match self.nodes.of(*node).real() {
                    Cow::Borrowed(real) => *kept = Some(real),
                    Cow::Owned(real) => *scratch = real,
                },
            }
        }
        let mut reals = self.scratch.each_ref();
        for (real, kept) in reals.iter_mut().zip(kept) {
            *real = kept.unwrap_or(real);
        }
        reals
    }

    /// How wrong the result is, and whether that is the operation's doing; if it is in doubt by so many floats, the worst is assumed.
    fn look(&mut self, done: &mut Done, real: &R, is_exact: bool, may_be_wrong: bool, doubt: u64) -> Verdict {
        done.rounded = real.rounded(done.target);
        done.ulps = match done.args.first() {
            Some(arg) if is_exact => self.nodes.ulps(*arg),
            _ => error::ulps_of(done.target, done.native, done.rounded),
        };
        if may_be_wrong { self.verdict(done, doubt) } else { Verdict::Fine(None) }
    }

    /// Local error: what the operation gets wrong on arguments that are right.
    fn verdict(&mut self, done: &Done, doubt: u64) -> Verdict {
        let Done { ty, args, native, rounded, ulps, target, mode, .. } = *done;
        let Some(from) = args.first().map(|arg| self.nodes.ty(*arg)) else { return Verdict::Fine(None) };
        let bits = each(args, |arg| self.nodes.bits(arg));
        let correct = each(args, |arg| self.nodes.rounded(arg));
        let any_nan = |of: &[u128]| args.iter().zip(of).any(|(arg, bits)| error::is_nan(self.nodes.ty(*arg), *bits));
        if error::is_nan(ty, native) && !any_nan(&bits) {
            let is_function = done.called || done.operator == Operator::Sqrt;
            let undefined = if is_function { CauseKind::Domain } else { CauseKind::Invalid };
            let kind = self.beyond_format(args).unwrap_or(undefined);
            return Verdict::Wrong(kind, error::maximal(ty));
        }
        let correct_is_nan = any_nan(&correct);
        let exactly = if bits == correct { native } else { self.on_exact(done, from, &correct, mode) };
        let local = if bits == correct { ulps } else { error::ulps_of(target, exactly, rounded) };
        // A NaN that was one before, or that only the reals have, is not this operation's doing.
        if correct_is_nan || error::is_nan(ty, rounded) {
            return Verdict::Fine(None);
        }
        if !self.is_error(local.saturating_add(doubt)) {
            return Verdict::Fine(Some(local));
        }
        if mode.flushes() || ty == Type::Bf16 {
            let kept = self.on_exact(done, from, &correct, mode.without_flushing());
            if !self.is_error(error::ulps_of(target, kept, rounded)) {
                return Verdict::Wrong(CauseKind::Flushed, local);
            }
        }
        let is_infinite = |bits: u128| Number::new(ty, bits).is_infinite();
        let by_zero = |args: &[Term]| match args {
            [_, divisor] => done.operator == Operator::Div && self.nodes.correct(*divisor) == 0.0,
            _ => false,
        };
        let kind = match self.beyond_format(args) {
            _ if by_zero(args) => CauseKind::DivisionByZero,
            Some(kind) => kind,
            None if is_infinite(exactly) && !is_infinite(rounded) => CauseKind::Overflow,
            None => CauseKind::Inaccurate,
        };
        Verdict::Wrong(kind, local)
    }

    /// Is the right value of an argument infinite or zero only because its format has no such number?
    fn beyond_format(&self, args: &[Term]) -> Option<CauseKind> {
        args.iter().find_map(|arg| {
            let Term::Node(node) = arg else { return None };
            let (real, correct) = (self.nodes.of(*node).real(), self.nodes.correct(*arg));
            let is_exactly = || real.compare(&R::exactly(self.precision, correct)).is_some_and(|order| order.is_eq());
            match () {
                () if correct.is_infinite() && !is_exactly() => Some(CauseKind::Overflow),
                () if correct == 0.0 && !is_exactly() => Some(CauseKind::Underflow),
                () => None,
            }
        })
    }

    /// What comes out natively if the arguments are right.
    fn on_exact(&mut self, done: &Done, from: Type, correct: &[u128; MAX_ARITY], mode: Mode) -> u128 {
        let Done { operator, ty, args, .. } = *done;
        if done.called {
            let exact: SmallVec<[Number; MAX_ARITY]> = args.iter().map(|arg| self.nodes.correct(*arg)).collect();
            return self.library(operator, ty, &exact, mode);
        }
        self.native(operator, from, ty, &correct[..args.len()], mode)
    }

    /// Whose influence the result is under, and the verdict if it stands.
    fn blame(&mut self, done: &Done, real: &R, site: Option<usize>, verdict: Verdict) -> (Influences, Verdict) {
        let Done { operator, ty, args, ulps, .. } = *done;
        let mut all = Influences::NONE;
        // A repair is no cause of what it repairs. A sum of repairs is another, and repairs nothing.
        let is_repaired = matches!(operator, Operator::Add | Operator::Sub)
            && !compensation::is_nothing_beside(real.to_f64(), error::value(ty, done.native));
        for arg in args {
            let influences = self.nodes.influences(*arg);
            if influences.is_empty() || is_repaired && self.is_repair(*arg) {
                continue;
            }
            all = self.sets.union(all, influences);
        }
        if all.is_empty() && verdict.is_fine() {
            return (all, verdict);
        }
        // A compensating term: in the reals the result is one of the arguments, and natively it is better than that.
        // What made the other argument is a repair, not a cause.
        if matches!(operator, Operator::Add | Operator::Sub) {
            let repaired = args.iter().find(|arg| match arg {
                Term::Node(node) => {
                    let node = self.nodes.of(*node);
                    ulps < node.ulps() && node.ty == ty && node.real().compare(real).is_some_and(|o| o.is_eq())
                }
                Term::Leaf(_) => false,
            });
            if let Some(repaired) = repaired {
                return (self.nodes.influences(*repaired), Verdict::Fine(None));
            }
        }
        if let Some(site) = site.filter(|_| !verdict.is_fine()) {
            all = self.sets.with(all, site as u32);
        }
        (all, verdict)
    }
}

/// The last digits of a real are as rounded as those of a float.
fn noise(config: &Config) -> f64 {
    const ROUNDED: i32 = 40;
    let digits = match config.real {
        RealKind::DoubleDouble => 128,
        RealKind::Auto | RealKind::Mpfr => config.precision.clamp(128, 1000) as i32,
    };
    f64::exp2((ROUNDED - digits).into())
}

/// Something about each argument, and zeros where there are fewer than there can be.
pub fn each(args: &[Term], of: impl Fn(Term) -> u128) -> [u128; MAX_ARITY] {
    let mut bits = [0; MAX_ARITY];
    for (bits, arg) in bits.iter_mut().zip(args) {
        *bits = of(*arg);
    }
    bits
}

/// Operations that never round.
pub fn is_exact(operator: Operator, from: Type, ty: Type) -> bool {
    matches!(operator, Operator::Neg | Operator::Abs) || operator == Operator::Cast && is_within(from, ty)
}

/// Rounding to an integer follows the mode in the reals as well.
pub fn in_reals(operator: Operator, direction: Direction) -> Operator {
    match (operator, direction) {
        (Operator::Nearbyint, Direction::Down) => Operator::Floor,
        (Operator::Nearbyint, Direction::Up) => Operator::Ceil,
        (Operator::Nearbyint, Direction::Zero) => Operator::Trunc,
        _ => operator,
    }
}
