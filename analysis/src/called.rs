//! What library functions did, each as one operation.
//!
//! The common case is a function of doubles or singles of which nothing has gone wrong: for it, this does what [`Operations::operate`] does,
//! without asking what cannot be.

use crate::dd::DoubleDouble;
use crate::error;
use crate::format;
use crate::influence::Influences;
use crate::location::LocationId;
use crate::mode::{Mode, Target};
use crate::number::Number;
use crate::offset::Near;
use crate::operation::{Operations, Request, each, in_reals, is_exact};
use crate::pair::Pair;
use crate::real::Real;
use crate::site::SiteKey;
use crate::trace::{Handle, Made, Slot, Term};
use fpgrind_ir::{MAX_ARITY, Operator, Type};
use smallvec::SmallVec;

/// The best libraries are within an ulp and the worst within hundreds; a program's own function of the same name is not.
const FAR: u64 = 1 << 16;

impl<R: Real> Operations<R> {
    /// What a library function did, if it can have been that.
    pub fn call(&mut self, mut request: Request) -> Option<Term> {
        let Request { operator, ty, ref args, native, at, mode, .. } = request;
        let from = args.first().map_or(ty, |arg| self.nodes.ty(*arg));
        let mut real = self.real(in_reals(operator, mode.direction(from, ty)), args);
        if self.is_ordinary(&request) {
            match self.book_fine(&request, real) {
                Ok(result) => return Some(result),
                Err(back) => real = back,
            }
        }
        if !self.is_plausible(operator, ty, args, native, &real) {
            return None;
        }
        request.site = (!is_exact(operator, from, ty)).then(|| self.sites.number(SiteKey { at, operator, ty }));
        Some(self.operate_with(request, Some(real)))
    }

    /// Is nothing known beforehand that sets the call apart?
    fn is_ordinary(&self, request: &Request) -> bool {
        use Operator::*;
        let Request { operator, ty, args, mode, .. } = request;
        // A cast may have been a loss that counts only now; a rounding in disguise is a sum.
        let is_clean = |arg: &Term| match arg {
            Term::Leaf(leaf) => leaf.ty == *ty,
            Term::Node(node) => self.nodes[*node].ty == *ty && self.nodes[*node].operator != Cast,
        };
        let is_float = matches!(ty, Type::F64 | Type::F32);
        let is_function = !matches!(operator, Add | Sub | Neg | Abs | Cast);
        mode.is_plain() && is_float && is_function && args.iter().all(is_clean)
    }

    /// The result, if it is fine; otherwise the real is given back.
    fn book_fine(&mut self, request: &Request, real: R) -> Result<Term, R> {
        let Request { operator, ty, ref args, native, at, .. } = *request;
        let target = Target::nearest(ty);
        let rounded = real.rounded(target);
        let (ulps, doubt) = (error::ulps(ty, native, rounded), real.doubt(target));
        if ulps >= FAR {
            return Err(real);
        }
        let bits = each(args, |arg| self.nodes.bits(arg));
        let correct = each(args, |arg| self.nodes.rounded(arg));
        let site = self.sites.number(SiteKey { at, operator, ty });
        // Of one that goes wrong at times, it is told how wrong it was when it was not.
        let (is_fine, local) = match bits == correct {
            true => (!self.is_error(ulps.saturating_add(doubt)), Some(ulps)),
            false if self.sites.is_candidate(site) => (false, None),
            false => (self.sways_little(operator, args, &correct, &real, doubt), None),
        };
        if !is_fine {
            return Err(real);
        }
        self.count += 1;
        let mut influences = Influences::NONE;
        for arg in args {
            influences = self.sets.union(influences, self.nodes.influences(*arg));
        }
        let made = Made { operator, at, influences, bits: native, real, target, ulps };
        let node = self.nodes.make(made, args);
        if self.is_error(ulps) {
            self.strays.note(ty, native, node);
        }
        let values = [0, 1].map(|number| args.get(number).map_or(0.0, |_| error::value(ty, bits[number])));
        self.sites.observe_fine(site, node, values, local, &self.nodes);
        Ok(Term::Node(node))
    }

    /// The same of doubles, rounded to nearest, if all are two doubles beside the native value, and the call is fine.
    pub fn call_of_doubles(
        &mut self,
        operator: Operator,
        args: &[Term],
        native: u64,
        (at, site): (LocationId, usize),
    ) -> Option<Handle> {
        let target = const { Target::nearest(Type::F64) };
        let (mut slots, mut words) = ([Slot::NONE; MAX_ARITY], [0; MAX_ARITY]);
        let (mut values, mut pairs, mut rounded) = ([0.0; 2], [Pair::double(0.0); 2], [0.0; 2]);
        let mut influences = Influences::NONE;
        for (number, arg) in args.iter().enumerate().take(2) {
            let pair;
            (values[number], pair, (slots[number], words[number])) = match arg {
                Term::Leaf(leaf) if leaf.ty == Type::F64 => {
                    let bits = leaf.bits() as u64;
                    let value = f64::from_bits(bits);
                    (value, Pair::double(value), (Slot::leaf(Type::F64, leaf.constant), bits))
                }
                Term::Node(handle) if self.nodes[*handle].ty == Type::F64 && self.nodes[*handle].is_plain() => {
                    let node = &self.nodes[*handle];
                    let Near { native: value, offset } = node.near;
                    influences = self.sets.union(influences, node.influences);
                    (value, offset.pair(value), handle.as_arg())
                }
                _ => return None,
            };
            (pairs[number], rounded[number]) = (pair, pair.hi);
        }
        let pairs = &pairs[..args.len()];
        let pair = R::function(operator, pairs)?;
        let ulps = error::ulps_of_doubles(native, pair.hi.to_bits());
        let doubt = DoubleDouble::from(pair).doubt(target);
        let (most, local) = match values == rounded {
            true => (ulps, Some(ulps)),
            false => {
                let sway = R::sway_of_pairs(operator, pairs, &rounded[..args.len()], pair, target)?;
                // Of one that goes wrong at times, it is told now and then how wrong it was when it was not.
                let is_told = self.sites.is_due(site) && self.sites.is_candidate(site);
                let right = rounded.map(Pair::double);
                let exactly = if is_told { Some(R::function(operator, &right[..args.len()])?) } else { None };
                let local = |exactly: Pair| error::ulps_of_doubles(exactly.hi.to_bits(), pair.hi.to_bits());
                (sway, exactly.map(local))
            }
        };
        if ulps >= FAR || self.is_error(most.saturating_add(doubt)) {
            return None;
        }
        self.count += 1;
        let real = R::of_pair(pair, self.precision());
        let made = Made { operator, at, influences, bits: native as u128, real, target, ulps };
        let node = self.nodes.make_of(made, slots, words);
        if self.is_error(ulps) {
            self.strays.note(Type::F64, native as u128, node);
        }
        self.sites.observe_fine(site, node, values, local, &self.nodes);
        Some(node)
    }

    /// Could a library function that means this operation have returned this?
    fn is_plausible(&mut self, operator: Operator, ty: Type, args: &[Term], native: u128, real: &R) -> bool {
        // Near what it should be, whatever its arguments are, it is no other function.
        if error::ulps(ty, native, real.rounded(Target::nearest(ty))) < FAR {
            return true;
        }
        let args: SmallVec<[Number; MAX_ARITY]> = args.iter().map(|arg| self.nodes.number(*arg)).collect();
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

    /// Can it be told without computing the function again that it makes no error of the rounding of its arguments, all of one format?
    fn sways_little(
        &mut self,
        operator: Operator,
        args: &[Term],
        correct: &[u128; MAX_ARITY],
        real: &R,
        doubt: u64,
    ) -> bool {
        let Some(ty) = args.first().map(|arg| self.nodes.ty(*arg)) else { return false };
        let rounded = correct.map(|bits| error::value(ty, bits));
        let target = Target::nearest(ty);
        let sway = R::sway(operator, &self.reals(args)[..args.len()], &rounded[..args.len()], real, target);
        sway.is_some_and(|ulps| !self.is_error(ulps.saturating_add(doubt)))
    }
}
