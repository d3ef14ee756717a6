//! One operation, in floats and in reals: its result's shadow, its total and local error, and who is to blame.

use crate::Config;
use crate::error;
use crate::format::{self, Decoded, Kind, is_within};
use crate::influence::{Influences, Sets};
use crate::location::LocationId;
use crate::magic;
use crate::mode::{Direction, Mode, Target};
use crate::native;
use crate::real::Real;
use crate::site::{SiteKey, Sites, Verdict};
use crate::trace::{Args, Bits, Leaf, Node, Pruner, Term, is_widening};
use fpgrind_ir::{Operator, Outcome, Type};
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
    scratch: [R; 3],
    pub count: u64,
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
            scratch: [scratch(), scratch(), scratch()],
            count: 0,
        }
    }

    pub fn precision(&self) -> u32 {
        self.precision
    }

    pub fn is_error(&self, ulps: u64) -> bool {
        ulps > self.tolerated
    }

    /// What the guest computes on these floats: by an instruction, or else by the best library there could be.
    pub fn native(
        &mut self,
        operator: Operator,
        from: Type,
        ty: Type,
        args: &[u128],
        (mode, called): (Mode, bool),
    ) -> u128 {
        // The x87's own functions are less exact than a library's.
        let instruction = match called && ty == Type::F80 {
            true => None,
            false => native::apply(operator, from, ty, args, mode),
        };
        instruction.unwrap_or_else(|| {
            for (scratch, bits) in self.scratch.iter_mut().zip(args) {
                scratch.assign(from, *bits);
            }
            let [a, b, c] = &self.scratch;
            R::apply(operator, &[a, b, c][..args.len().min(3)]).rounded(mode.target(operator, from, ty))
        })
    }

    /// Could a library function that means this operation have returned this? The best are within an ulp and the worst within
    /// hundreds; a program's own function of the same name is not.
    pub fn is_plausible(&mut self, operator: Operator, ty: Type, args: &[Term<R>], native: u128) -> bool {
        const FAR: u64 = 1 << 16;
        let bits = each(args, Term::bits);
        let expected = self.native(operator, ty, ty, &bits[..args.len().min(3)], (Mode::default(), true));
        let both_nan = error::is_nan(ty, expected) && error::is_nan(ty, native);
        both_nan || error::ulps(ty, native, expected) < FAR
    }

    /// Does the operation in the reals and books what happened.
    pub fn operate(&mut self, mut request: Request<R>) -> Term<R> {
        if let Some(found) = magic::find(&request) {
            self.see_rounding(found, &mut request);
        }
        let Request { operator, ty, mut args, native, at, site, mode, called } = request;
        self.count += 1;
        let from = args.first().map_or(ty, Term::ty);
        let target = mode.target(operator, from, ty);
        let real = self.real(in_reals(operator, target.direction), &args);
        let rounded = real.rounded(target);
        // What only changes the sign or widens is as wrong as its argument, in the format in which that was rounded.
        let is_exact = is_exact(operator, from, ty);
        let ulps = match args.first() {
            Some(arg) if is_exact => arg.ulps(),
            _ => error::ulps_of(target, native, rounded),
        };
        let done = Done { operator, ty, args: &args, native, rounded, ulps, target, mode, called };
        let verdict = if site.is_some() { self.verdict(&done) } else { Verdict::Fine };
        let (mut influences, verdict) = self.blame(&done, &real, site, verdict);
        if !is_exact && ty.bytes() > Type::F32.bytes() {
            for arg in args.iter() {
                influences = self.blame_narrow(arg, influences, mode);
            }
        }
        let depth = self.pruner.depth_over(&mut args);
        let (bits, rounded) = (Bits::new(native), Bits::new(rounded));
        let node = Rc::new(Node { operator, ty, depth, influences, at, bits, real, rounded, ulps, args });
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
            let native = self.native(Operator::Mul, ty, ty, &bits[..2], (mode, false));
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

    /// A double operation on what was rounded to a single: that rounding is no error among singles, but it is one here. So it is
    /// with other formats.
    fn blame_narrow(&mut self, arg: &Term<R>, influences: Influences, mode: Mode) -> Influences {
        let Term::Node(node) = arg else { return influences };
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
        let native = self.native(operator, ty, ty, &[term.bits()], (mode, false));
        let args = Args::from_iter([term]);
        self.operate(Request { operator, ty, args, native, at, site: None, mode, called: false })
    }

    /// The operation on the reals of its arguments.
    fn real(&mut self, operator: Operator, args: &[Term<R>]) -> R {
        R::apply(operator, &self.reals(args)[..args.len().min(3)])
    }

    /// How two floats compare in the reals.
    pub fn compare(&mut self, a: &Term<R>, b: &Term<R>) -> Outcome {
        let terms = [a.clone(), b.clone()];
        let [a, b, _] = self.reals(&terms);
        a.compare(b).into()
    }

    /// The reals of up to three floats, and something where there are fewer.
    fn reals<'a>(&'a mut self, terms: &'a [Term<R>]) -> [&'a R; 3] {
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
        let Done { operator, ty, args, native, rounded, ulps, target, mode, called } = *done;
        let Some(from) = args.first().map(Term::ty) else { return Verdict::Fine };
        let any_nan = |of: fn(&Term<R>) -> u128| args.iter().any(|arg| error::is_nan(arg.ty(), of(arg)));
        if error::is_nan(ty, native) && !any_nan(Term::bits) {
            return Verdict::Invalid;
        }
        let exact = each(args, Term::rounded);
        let exact = &exact[..args.len().min(3)];
        let local = if args.iter().all(|arg| arg.rounded() == arg.bits()) {
            ulps
        } else {
            let result = self.native(operator, from, ty, exact, (mode, called));
            error::ulps_of(target, result, rounded)
        };
        // A NaN that was one before, or that only the reals have, is not this operation's doing.
        if !self.is_error(local) || any_nan(Term::rounded) || error::is_nan(ty, rounded) {
            return Verdict::Fine;
        }
        if mode.flushes() || ty == Type::Bf16 {
            let kept = self.native(operator, from, ty, exact, (mode.without_flushing(), called));
            if !self.is_error(error::ulps_of(target, kept, rounded)) {
                return Verdict::Flushed(local);
            }
        }
        Verdict::Inaccurate(local)
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

/// Something about each argument, and zeros where there are fewer than three.
pub fn each<R>(args: &[Term<R>], of: impl Fn(&Term<R>) -> u128) -> [u128; 3] {
    let mut bits = [0; 3];
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
