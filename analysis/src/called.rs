//! What library functions did, each as one operation.
//!
//! The common case is a function of doubles or singles of which nothing has gone wrong: for it, this does what [`Operations::operate`] does,
//! without asking what cannot be.

use crate::error;
use crate::format;
use crate::influence::Influences;
use crate::location::LocationId;
use crate::mode::{Mode, Target};
use crate::node::{INLINE, Node};
use crate::number::Number;
use crate::offset::{Near, Offset};
use crate::operation::{Operations, Request, each, in_reals, is_exact};
use crate::pair::{Pair, SLACK, U, two_sum};
use crate::real::{Function, Real};
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

    /// The same of doubles, kept so, rounded to nearest, if all are near to the native values, and the call is fine.
    #[inline(always)]
    pub fn call_of_doubles<const N: usize>(
        &mut self,
        operator: Operator,
        args: [(Slot, u64); N],
        native: u64,
        (at, site): (LocationId, usize),
    ) -> Option<Handle> {
        let (mut slots, mut words) = ([Slot::NONE; INLINE], [0; INLINE]);
        let (mut values, mut pairs) = ([0.0; 2], [Pair::double(0.0); N]);
        let mut influences = Influences::NONE;
        for (number, (slot, word)) in args.into_iter().enumerate().take(2) {
            let near = match Handle::of_arg(slot, word) {
                Some(handle) => {
                    let node = &self.nodes[handle];
                    if node.ty != Type::F64 || !node.is_plain() {
                        return None;
                    }
                    influences = self.sets.union(influences, node.influences);
                    node.near.piecewise()
                }
                None if slot == Slot::NONE => return None,
                None => Near { native: f64::from_bits(word), offset: Offset::NONE },
            };
            (values[number], pairs[number]) = (near.native, near.offset.pair(near.native));
            (slots[number], words[number]) = (slot, word);
        }
        let Function { value, sway } = R::function(operator, &pairs)?;
        let native_value = f64::from_bits(native);
        let distance = distance(value, native_value)?;
        // Which of the two counts, hangs on whether the arguments are right: the CPU could not foresee that, and mostly both are little.
        let most = value.hi.abs() * self.little();
        let (is_near, is_steady) = (distance.by.abs() + distance.err <= most, sway + distance.err <= most);
        if !(is_near && is_steady) {
            let is_fine = if are_right(&values, &pairs) { is_near } else { is_steady };
            let is_plausible = distance.by.abs() <= value.hi.abs() * (FAR as f64 * U / 2.0);
            if !is_fine || !is_plausible {
                return None;
            }
        }
        // Of one that goes wrong at times, it is told now and then how wrong it was when it was not.
        let is_told = self.sites.is_due(site) && self.sites.is_candidate(site);
        let local = if is_told { Some(local_error::<R>(operator, &values, &pairs, native, value)?) } else { None };
        self.count += 1;
        let node = self.nodes.make_near(Node {
            near: Near { native: native_value, offset: distance },
            influences,
            at,
            args: words,
            slots,
            ..Node::of_kind(operator, Type::F64)
        });
        if !is_near && self.is_error(error::ulps_of_doubles(native, value.hi.to_bits())) {
            self.strays.note(Type::F64, native as u128, node);
        }
        self.sites.observe_fine(site, node, values, local, &self.nodes);
        Some(node)
    }

    /// The part of a result that it may be wrong by, or in doubt, and be fine: fewer floats than are tolerated, because each of a distance, a doubt and
    /// what a result moves may be rounded to one more, or two.
    #[inline(always)]
    fn little(&self) -> f64 {
        self.tolerated.saturating_sub(6).min(FAR / 2) as f64 * U
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

/// How far the real is from the native value, if it is well kept so.
#[inline(always)]
fn distance(real: Pair, native: f64) -> Option<Offset> {
    let (above, lost) = two_sum(real.hi, -native);
    let (by, lost_too) = two_sum(above, real.lo);
    let lost = lost.abs() + lost_too.abs();
    // What is exact stays exact, and a zero has a sign.
    let is_kept = lost <= real.err || real.err > 0.0;
    let is_other_zero = native == 0.0 && native.to_bits() != real.hi.to_bits();
    (is_kept && !is_other_zero).then_some(Offset { by, err: (real.err + lost) * SLACK })
}

/// Are the native arguments the doubles next to the real ones?
fn are_right(values: &[f64; 2], pairs: &[Pair]) -> bool {
    values.iter().zip(pairs).all(|(value, pair)| *value == pair.hi)
}

/// How many floats a function of doubles is wrong by if its arguments are right.
#[cold]
fn local_error<R: Real>(operator: Operator, values: &[f64; 2], pairs: &[Pair], native: u64, real: Pair) -> Option<u64> {
    let mut exactly = native;
    if !are_right(values, pairs) {
        let rounded: SmallVec<[Pair; 2]> = pairs.iter().map(|pair| Pair::double(pair.hi)).collect();
        exactly = R::function(operator, &rounded)?.value.hi.to_bits();
    }
    Some(error::ulps_of_doubles(exactly, real.hi.to_bits()))
}
