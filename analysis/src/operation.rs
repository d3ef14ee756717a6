//! One operation, in floats and in reals: its result's shadow, its total and local error, and who is to blame.

use crate::Config;
use crate::error;
use crate::format::{self, Decoded, Kind, is_within};
use crate::gaps::Strays;
use crate::influence::{Influences, Sets};
use crate::location::LocationId;
use crate::magic;
use crate::mode::{Direction, Mode, Target};
use crate::native;
use crate::number::Number;
use crate::real::Real;
use crate::site::{SiteKey, Sites, Verdict};
use crate::trace::{Args, Bits, Leaf, Node, Pruner, Term, is_widening};
use fpgrind_ir::{MAX_ARITY, Operator, Outcome, Type};
use smallvec::SmallVec;
use std::rc::Rc;

/// What all operations share.
pub struct Operations<R> {
    precision: u32,
    /// Errors of at most this many ulps are none.
    tolerated: u64,
    pub sets: Sets,
    pub sites: Sites<R>,
    pub pruner: Pruner<R>,
    /// Reals for arguments that have none of their own.
    scratch: [R; MAX_ARITY],
    pub count: u64,
    /// Of use where there are gaps in the log.
    pub strays: Strays<R>,
}

/// An operation about to be done.
pub struct Request<R> {
    pub operator: Operator,
    pub ty: Type,
    pub args: Args<R>,
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
struct Done<'a, R> {
    operator: Operator,
    ty: Type,
    args: &'a [Term<R>],
    native: u128,
    rounded: u128,
    ulps: u64,
    target: Target,
    mode: Mode,
    called: bool,
}

impl<R: Real> Operations<R> {
    pub fn new(config: &Config) -> Operations<R> {
        let scratch = || R::zero(config.precision);
        Operations {
            precision: config.precision,
            tolerated: error::ulps_within(config.threshold),
            sets: Sets::new(),
            sites: Sites::new(),
            pruner: Pruner::new(config.max_depth),
            scratch: std::array::from_fn(|_| scratch()),
            count: 0,
            strays: Strays::new(),
        }
    }

    pub fn precision(&self) -> u32 {
        self.precision
    }

    pub fn is_error(&self, ulps: u64) -> bool {
        ulps > self.tolerated
    }

    /// What an instruction computes on these floats, all of one format.
    pub fn native(&mut self, operator: Operator, from: Type, ty: Type, args: &[u128], mode: Mode) -> u128 {
        native::apply(operator, from, ty, args, mode).unwrap_or_else(|| {
            self.assign(args.iter().map(|bits| Number::new(from, *bits)));
            self.apply_scratch(operator, args.len()).rounded(mode.target(operator, from, ty))
        })
    }

    /// What the best library there could be computes on these floats, of any formats.
    fn library(&mut self, operator: Operator, ty: Type, args: &[Number], mode: Mode) -> u128 {
        let from = args.first().map_or(ty, |arg| arg.ty);
        // The x87's own functions are less exact than a library's, and instructions for the lesser and the greater see NaN otherwise.
        let differs = ty == Type::F80 || matches!(operator, Operator::Min | Operator::Max);
        if !differs && args.iter().all(|arg| arg.ty == ty) {
            let bits: SmallVec<[u128; MAX_ARITY]> = args.iter().map(|arg| arg.bits).collect();
            return self.native(operator, from, ty, &bits, mode);
        }
        self.assign(args.iter().copied());
        self.apply_scratch(operator, args.len()).rounded(mode.target(operator, from, ty))
    }

    fn assign(&mut self, args: impl Iterator<Item = Number>) {
        for (scratch, arg) in self.scratch.iter_mut().zip(args) {
            scratch.assign(arg.ty, arg.bits);
        }
    }

    fn apply_scratch(&self, operator: Operator, arity: usize) -> R {
        R::apply(operator, &self.scratch.each_ref()[..arity.min(MAX_ARITY)])
    }

    /// Could a library function that means this operation have returned this? The best are within an ulp and the worst within
    /// hundreds; a program's own function of the same name is not.
    pub fn is_plausible(&mut self, operator: Operator, ty: Type, args: &[Term<R>], native: u128) -> bool {
        const FAR: u64 = 1 << 16;
        let args: SmallVec<[Number; MAX_ARITY]> = args.iter().map(Term::number).collect();
        let expected = self.library(operator, ty, &args, Mode::default());
        let both_nan = error::is_nan(ty, expected) && error::is_nan(ty, native);
        if both_nan || error::ulps(ty, native, expected) < FAR {
            return true;
        }
        // A part of a complex number is as good as can be expected if it is so beside the other part.
        let Some(other) = operator.other_part() else { return false };
        let other = self.library(other, ty, &args, Mode::default());
        let [native, expected, other] = [native, expected, other].map(|bits| error::value(ty, bits));
        let far = FAR as f64 * f64::exp2(-(format::layout(ty).digits as f64));
        let is_special = [native, expected, other].iter().any(|value| !value.is_finite());
        is_special || (native - expected).abs() <= far * expected.abs().max(other.abs())
    }

    /// Does the operation in the reals and books what happened.
    pub fn operate(&mut self, mut request: Request<R>) -> Term<R> {
        if let Some(found) = magic::find(&request) {
            self.see_rounding(found, &mut request);
        }
        // The arguments stay where they are: moving them about costs.
        let Request { operator, ty, native, at, site, mode, called, .. } = request;
        let args = &mut request.args;
        self.count += 1;
        let from = args.first().map_or(ty, Term::ty);
        let target = mode.target(operator, from, ty);
        let real = self.real(in_reals(operator, target.direction), args);
        let rounded = real.rounded(target);
        // What only changes the sign or widens is as wrong as its argument, in the format in which that was rounded.
        let is_exact = is_exact(operator, from, ty);
        let ulps = match args.first() {
            Some(arg) if is_exact => arg.ulps(),
            _ => error::ulps_of(target, native, rounded),
        };
        let done = Done { operator, ty, args, native, rounded, ulps, target, mode, called };
        let verdict = if site.is_some() { self.verdict(&done) } else { Verdict::Fine };
        let (mut influences, verdict) = self.blame(&done, &real, site, verdict);
        if !is_exact && ty.bytes() > Type::F32.bytes() {
            for arg in args.iter() {
                influences = self.blame_narrow(arg, influences, mode);
            }
        }
        let depth = self.pruner.depth_over(args);
        let (bits, rounded) = (Bits::new(native), Bits::new(rounded));
        let node = Rc::new(Node { operator, ty, depth, influences, at, bits, real, rounded, ulps, args: request.args });
        if self.is_error(ulps) {
            self.strays.note(&node);
        }
        if let Some(site) = site {
            self.sites.observe(site, &node, verdict, mode, self.pruner.max_depth());
        }
        Term::Node(node)
    }

    /// If the operation that looks like the end of a rounding by a magic number is that, it becomes a rounding.
    fn see_rounding(&mut self, found: magic::Found<R>, request: &mut Request<R>) {
        let Request { ty, native, at, mode, .. } = *request;
        let exactly = |term: &Term<R>| R::exactly(self.precision, term.number());
        let factors: Vec<R> = found.factors.iter().map(exactly).collect();
        let exact = match &factors[..] {
            [x] => R::apply(found.rounding, &[x]),
            [x, y] => R::apply(found.rounding, &[&R::apply(Operator::Mul, &[x, y])]),
            _ => return,
        };
        if error::ulps(ty, native, exact.rounded(Target::nearest(ty))) != 0 {
            return;
        }
        let x = if let [x] = &found.factors[..] {
            x.clone()
        } else {
            let bits = each(&found.factors, Term::bits);
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
    pub fn rescale(&mut self, of: Term<R>, bits: u128, at: LocationId, mode: Mode) -> Term<R> {
        let ty = of.ty();
        if of.bits() == bits {
            return of;
        }
        let plain = Term::Leaf(Leaf::new(ty, bits, false));
        let [new, old] = [bits, of.bits()].map(|bits| format::decode(ty, bits));
        let (Kind::Finite { exponent, significand }, Kind::Finite { exponent: from, significand: other }) =
            (new.kind, old.kind)
        else {
            return plain;
        };
        let (negative, power) = (new.negative != old.negative, exponent - from + 1);
        let factor = format::encode(Target::nearest(ty), negative, power, 1 << 127, false);
        let is_exact = format::decode(ty, factor)
            == Decoded { negative, kind: Kind::Finite { exponent: power, significand: 1 << 63 } };
        if significand != other || !is_exact {
            return plain;
        }
        let args = Args::from_iter([of, Term::Leaf(Leaf::new(ty, factor, true))]);
        self.operate(Request { operator: Operator::Mul, ty, args, native: bits, at, site: None, mode, called: false })
    }

    /// A float next to another, or some floats away: the other and the distance.
    pub fn step(&mut self, of: Term<R>, bits: u128, at: LocationId, mode: Mode) -> Term<R> {
        let ty = of.ty();
        let [new, old] = [bits, of.bits()].map(|bits| R::exactly(self.precision, Number::new(ty, bits)));
        let distance = R::apply(Operator::Sub, &[&new, &old]).rounded(Target::nearest(ty));
        if of.bits() == bits {
            return of;
        }
        if !Number::new(ty, distance).is_finite() {
            return Term::Leaf(Leaf::new(ty, bits, false));
        }
        let args = Args::from_iter([of, Term::Leaf(Leaf::new(ty, distance, true))]);
        self.operate(Request { operator: Operator::Add, ty, args, native: bits, at, site: None, mode, called: false })
    }

    /// What a function computed that nobody here can compute: it is right, whatever its arguments are.
    pub fn opaque(&mut self, operator: Operator, ty: Type, mut args: Args<R>, native: u128, at: LocationId) -> Term<R> {
        self.count += 1;
        let depth = self.pruner.depth_over(&mut args);
        let (bits, real) = (Bits::new(native), R::exactly(self.precision, Number::new(ty, native)));
        let influences = Influences::NONE;
        Term::Node(Rc::new(Node { operator, ty, depth, influences, at, bits, real, rounded: bits, ulps: 0, args }))
    }

    /// A double operation on what was rounded to a single: that rounding is no error among singles, but it is one here. So it is
    /// with other formats.
    fn blame_narrow(&mut self, arg: &Term<R>, influences: Influences, mode: Mode) -> Influences {
        let Term::Node(node) = arg else { return influences };
        if node.operator != Operator::Cast {
            return influences;
        }
        let Some(narrow) = node.args.first().filter(|_| is_widening(node)) else { return influences };
        let widened = narrow.correct().to(node.ty).bits;
        let lost = error::ulps(node.ty, widened, node.rounded.get());
        if !self.is_error(lost) || error::is_nan(node.ty, node.rounded.get()) {
            return influences;
        }
        let site = self.sites.number(SiteKey { at: node.at, operator: node.operator, ty: node.ty });
        self.sites.observe(site, node, Verdict::Inaccurate(lost), mode, self.pruner.max_depth());
        self.sets.with(influences, site as u32)
    }

    /// A negation or a magnitude that is part of an instruction: it cannot go wrong, so it is booked nowhere.
    pub fn change_sign(&mut self, operator: Operator, term: Term<R>, at: LocationId, mode: Mode) -> Term<R> {
        let ty = term.ty();
        let native = self.native(operator, ty, ty, &[term.bits()], mode);
        let args = Args::from_iter([term]);
        self.operate(Request { operator, ty, args, native, at, site: None, mode, called: false })
    }

    /// The operation on the reals of its arguments.
    fn real(&mut self, operator: Operator, args: &[Term<R>]) -> R {
        R::apply(operator, &self.reals(args)[..args.len()])
    }

    /// The operation on the reals of its arguments, if its result is an integer that a machine has.
    pub fn integer(&mut self, operator: Operator, args: &[Term<R>], mode: Mode) -> Option<i128> {
        let ty = args.first()?.ty();
        let direction = mode.direction(ty, ty);
        self.real(in_reals(operator, direction), args).to_integer(Direction::Zero)
    }

    /// How two floats compare in the reals.
    pub fn compare(&mut self, a: &Term<R>, b: &Term<R>) -> Outcome {
        let terms = [a.clone(), b.clone()];
        let [a, b, ..] = self.reals(&terms);
        a.compare(b).into()
    }

    /// The reals of as many floats as an operation can have, and something where there are fewer.
    fn reals<'a>(&'a mut self, terms: &'a [Term<R>]) -> [&'a R; MAX_ARITY] {
        for (scratch, term) in self.scratch.iter_mut().zip(terms) {
            if let Term::Leaf(leaf) = term {
                scratch.assign(leaf.ty, leaf.bits());
            }
        }
        let mut reals = self.scratch.each_ref();
        for (real, term) in reals.iter_mut().zip(terms) {
            if let Term::Node(node) = term {
                *real = &node.real;
            }
        }
        reals
    }

    /// Local error: what the operation gets wrong on arguments that are right.
    fn verdict(&mut self, done: &Done<R>) -> Verdict {
        let Done { ty, args, native, rounded, ulps, target, mode, .. } = *done;
        let Some(from) = args.first().map(Term::ty) else { return Verdict::Fine };
        let any_nan = |of: fn(&Term<R>) -> u128| args.iter().any(|arg| error::is_nan(arg.ty(), of(arg)));
        if error::is_nan(ty, native) && !any_nan(Term::bits) {
            return Verdict::Invalid;
        }
        let local = if args.iter().all(Term::is_right) {
            ulps
        } else {
            error::ulps_of(target, self.on_exact(done, from, mode), rounded)
        };
        // A NaN that was one before, or that only the reals have, is not this operation's doing.
        if !self.is_error(local) || any_nan(Term::rounded) || error::is_nan(ty, rounded) {
            return Verdict::Fine;
        }
        if mode.flushes() || ty == Type::Bf16 {
            let kept = self.on_exact(done, from, mode.without_flushing());
            if !self.is_error(error::ulps_of(target, kept, rounded)) {
                return Verdict::Flushed(local);
            }
        }
        Verdict::Inaccurate(local)
    }

    /// What comes out natively if the arguments are right.
    fn on_exact(&mut self, done: &Done<R>, from: Type, mode: Mode) -> u128 {
        let Done { operator, ty, args, .. } = *done;
        if done.called {
            let exact: SmallVec<[Number; MAX_ARITY]> = args.iter().map(Term::correct).collect();
            return self.library(operator, ty, &exact, mode);
        }
        self.native(operator, from, ty, &each(args, Term::rounded)[..args.len()], mode)
    }

    /// Whose influence the result is under, and the verdict if it stands.
    fn blame(&mut self, done: &Done<R>, real: &R, site: Option<usize>, verdict: Verdict) -> (Influences, Verdict) {
        let Done { operator, ty, args, ulps, .. } = *done;
        let mut all = Influences::NONE;
        for arg in args {
            all = self.sets.union(all, arg.influences());
        }
        if all.is_empty() && verdict == Verdict::Fine {
            return (all, verdict);
        }
        // A compensating term: in the reals the result is one of the arguments, and natively it is better than that.
        // What made the other argument is a repair, not a cause.
        if matches!(operator, Operator::Add | Operator::Sub) {
            let repaired = args.iter().find(|arg| match arg {
                Term::Node(node) => {
                    ulps < node.ulps && node.ty == ty && node.real.compare(real).is_some_and(|o| o.is_eq())
                }
                Term::Leaf(_) => false,
            });
            if let Some(repaired) = repaired {
                return (repaired.influences(), Verdict::Fine);
            }
        }
        if let Some(site) = site.filter(|_| verdict != Verdict::Fine) {
            all = self.sets.with(all, site as u32);
        }
        (all, verdict)
    }
}

/// Something about each argument, and zeros where there are fewer than there can be.
pub fn each<R>(args: &[Term<R>], of: impl Fn(&Term<R>) -> u128) -> [u128; MAX_ARITY] {
    let mut bits = [0; MAX_ARITY];
    for (bits, arg) in bits.iter_mut().zip(args) {
        *bits = of(arg);
    }
    bits
}

/// Operations that never round.
pub fn is_exact(operator: Operator, from: Type, ty: Type) -> bool {
    matches!(operator, Operator::Neg | Operator::Abs) || operator == Operator::Cast && is_within(from, ty)
}

/// Rounding to an integer follows the mode in the reals as well.
fn in_reals(operator: Operator, direction: Direction) -> Operator {
    match (operator, direction) {
        (Operator::Nearbyint, Direction::Down) => Operator::Floor,
        (Operator::Nearbyint, Direction::Up) => Operator::Ceil,
        (Operator::Nearbyint, Direction::Zero) => Operator::Trunc,
        _ => operator,
    }
}
