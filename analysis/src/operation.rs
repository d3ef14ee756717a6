//! One operation, in floats and in reals: its result's shadow, its total and local error, and who is to blame.

use crate::Config;
use crate::error;
use crate::influence::{Influences, Sets};
use crate::location::LocationId;
use crate::native::{self, MXCSR_DEFAULT};
use crate::real::Real;
use crate::site::{SiteKey, Sites, Verdict};
use crate::trace::{Args, Node, Pruner, Term, is_widening};
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
    pub native: u64,
    pub at: LocationId,
    /// Where to book it. Operations that cannot go wrong have none.
    pub site: Option<usize>,
    pub mxcsr: u32,
}

/// An operation done: what came out natively, and what should have.
struct Done<'a, R> {
    operator: Operator,
    ty: Type,
    args: &'a [Term<R>],
    native: u64,
    rounded: u64,
    ulps: u64,
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
    pub fn native(&mut self, operator: Operator, from: Type, ty: Type, args: &[u64], mxcsr: u32) -> u64 {
        native::apply(operator, from, ty, args, mxcsr).unwrap_or_else(|| {
            for (scratch, bits) in self.scratch.iter_mut().zip(args) {
                scratch.assign(error::value(from, *bits));
            }
            let [a, b, c] = &self.scratch;
            R::apply(operator, &[a, b, c][..args.len().min(3)]).rounded(ty)
        })
    }

    /// Could a library function that means this operation have returned this? The best are within an ulp and the worst within
    /// hundreds; a program's own function of the same name is not.
    pub fn is_plausible(&mut self, operator: Operator, ty: Type, args: &[Term<R>], native: u64) -> bool {
        const FAR: u64 = 1 << 16;
        let expected = self.native(operator, ty, ty, &each(args, Term::bits)[..args.len()], MXCSR_DEFAULT);
        let both_nan = error::is_nan(ty, expected) && error::is_nan(ty, native);
        both_nan || error::ulps(ty, native, expected) < FAR
    }

    /// Does the operation in the reals and books what happened.
    pub fn operate(&mut self, request: Request<R>) -> Term<R> {
        let Request { operator, ty, mut args, native, at, site, mxcsr } = request;
        self.count += 1;
        let real = self.real(operator, &args);
        let rounded = real.rounded(ty);
        // What only changes the sign or widens is as wrong as its argument, in the format in which that was rounded.
        let ulps = match args.first() {
            Some(arg) if is_exact(operator, ty) => arg.ulps(),
            _ => error::ulps(ty, native, rounded),
        };
        let done = Done { operator, ty, args: &args, native, rounded, ulps };
        let verdict = if site.is_some() { self.verdict(&done, mxcsr) } else { Verdict::Fine };
        let (mut influences, verdict) = self.blame(&done, &real, site, verdict);
        if ty == Type::F64 && !is_exact(operator, ty) {
            for arg in args.iter() {
                influences = self.blame_single(arg, influences);
            }
        }
        let depth = self.pruner.depth_over(&mut args);
        let node = Rc::new(Node { operator, ty, depth, influences, at, bits: native, real, rounded, ulps, args });
        if let Some(site) = site {
            self.sites.observe(site, &node, verdict, self.pruner.max_depth());
        }
        Term::Node(node)
    }

    /// A double operation on what was rounded to a single: that rounding is no error among singles, but it is one here.
    fn blame_single(&mut self, arg: &Term<R>, influences: Influences) -> Influences {
        let Term::Node(node) = arg else { return influences };
        let Some(single) = node.args.first().filter(|_| is_widening(node)) else { return influences };
        let lost = error::ulps(Type::F64, error::value(Type::F32, single.rounded()).to_bits(), node.rounded);
        if !self.is_error(lost) || error::is_nan(Type::F64, node.rounded) {
            return influences;
        }
        let site = self.sites.number(SiteKey { at: node.at, operator: node.operator, ty: node.ty });
        self.sites.observe(site, node, Verdict::Inaccurate(lost), self.pruner.max_depth());
        self.sets.with(influences, site as u32)
    }

    /// A negation or a magnitude that is part of an instruction: it cannot go wrong, so it is booked nowhere.
    pub fn change_sign(&mut self, operator: Operator, term: Term<R>, at: LocationId, mxcsr: u32) -> Term<R> {
        let ty = term.ty();
        let native = self.native(operator, ty, ty, &[term.bits()], mxcsr);
        self.operate(Request { operator, ty, args: Args::from_iter([term]), native, at, site: None, mxcsr })
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
            if let Term::Leaf(_) = term {
                scratch.assign(term.value());
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
    fn verdict(&mut self, done: &Done<R>, mxcsr: u32) -> Verdict {
        let Done { operator, ty, args, native, rounded, ulps } = *done;
        let Some(from) = args.first().map(Term::ty) else { return Verdict::Fine };
        let any_nan = |of: fn(&Term<R>) -> u64| args.iter().any(|arg| error::is_nan(arg.ty(), of(arg)));
        if error::is_nan(ty, native) && !any_nan(Term::bits) {
            return Verdict::Invalid;
        }
        let local = if args.iter().all(|arg| arg.rounded() == arg.bits()) {
            ulps
        } else {
            let result = self.native(operator, from, ty, &each(args, Term::rounded)[..args.len()], mxcsr);
            error::ulps(ty, result, rounded)
        };
        // A NaN that was one before, or that only the reals have, is not this operation's doing.
        if !self.is_error(local) || any_nan(Term::rounded) || error::is_nan(ty, rounded) {
            return Verdict::Fine;
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
pub fn each<R>(args: &[Term<R>], of: impl Fn(&Term<R>) -> u64) -> [u64; 3] {
    let mut bits = [0; 3];
    for (bits, arg) in bits.iter_mut().zip(args) {
        *bits = of(arg);
    }
    bits
}

/// Operations that never round.
pub fn is_exact(operator: Operator, ty: Type) -> bool {
    matches!(operator, Operator::Neg | Operator::Abs) || operator == Operator::Cast && ty == Type::F64
}
