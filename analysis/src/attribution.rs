//! Attribution: where no single operation is to blame for an error, which operations' roundings make it up.
//!
//! The error of a result is what its operation rounded away on the floats that it was given, and what the errors of its arguments come to:
//! each of these times a slope. Going back from a value through its trace, every rounding so counts times the slopes on its way, and what was
//! rounded at one place of the program adds up. The slopes are not derivatives but those of secants, from the native arguments to the real
//! ones, which are known; so the parts add up to the whole error, however curved the operations are.
//!
//! Where a trace ends early the error of its last value is known, but not what that is made of. In a loop it is what earlier turns left.

use crate::findings::{Accumulation, Contribution};
use crate::location::Locations;
use crate::mpfr::Mpfr;
use crate::number::Number;
use crate::operation::in_reals;
use crate::real::Real;
use crate::site::{SiteKey, Sites};
use crate::trace::{Args, Handle, Nodes, Term};
use fpgrind_ir::{MAX_ARITY, Operator};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;

/// Operations looked at, at most: those nearest to the value.
pub const MOST: usize = 10_000;
/// Places that are told apart; the least of them are only counted.
const MAX_PARTS: usize = 16;
/// Where the parts of an operation's error come to so many times the error, they cancel: what is left is the noise that the reals have, too.
const TOO_MUCH: f64 = 1e9;
/// Bits enough to tell what a rounding of any float lost.
const PRECISION: u32 = 256;

/// What the error of a value is made of, largest part first. Parts are told as shares of the error.
pub struct Attribution {
    parts: Vec<Part>,
    others: f64,
}

#[derive(Clone)]
struct Part {
    key: SiteKey,
    /// What its roundings come to, and how many of them there are.
    share: f64,
    roundings: u64,
    /// What its results already had in them whose traces end with them.
    inherited: f64,
    /// Are they results of earlier turns of a loop? Then which other parts round in that loop.
    carried: bool,
    beside: Vec<usize>,
}

/// Attributes the error of a value. Nothing if it has none, or one that no number tells.
pub fn attribute<R: Real>(root: Handle, nodes: &Nodes<R>) -> Option<Attribution> {
    let view = View { nodes };
    let error = view.error(Term::Node(root));
    if error == 0.0 || !error.is_finite() {
        return None;
    }
    let order = view.order(root);
    let mut parts = Parts { parts: Vec::new(), numbers: FxHashMap::default() };
    let mut slopes = FxHashMap::from_iter([(root, 1.0)]);
    let known: FxHashSet<Handle> = order.iter().copied().collect();
    for node in &order {
        let slope: f64 = slopes.get(node).copied().unwrap_or(0.0);
        if slope == 0.0 {
            continue;
        }
        let Some(split) = view.split(*node) else {
            parts.of(*node, nodes).inherited += slope * view.error(Term::Node(*node));
            continue;
        };
        if split.rounding != 0.0 {
            let part = parts.of(*node, nodes);
            part.share += slope * split.rounding;
            part.roundings += 1;
        }
        for (arg, (of_arg, error)) in nodes.args(*node).zip(split.args) {
            match arg {
                Term::Node(arg) if known.contains(&arg) => *slopes.entry(arg).or_default() += slope * of_arg,
                Term::Node(arg) if error != 0.0 => parts.of(arg, nodes).inherited += slope * of_arg * error,
                _ => {}
            }
        }
    }
    parts.finish(error, &order, nodes)
}

/// An operation's error, taken apart.
struct Split {
    rounding: f64,
    /// The slope for each argument, and that argument's error.
    args: SmallVec<[(f64, f64); MAX_ARITY]>,
}

struct View<'a, R> {
    nodes: &'a Nodes<R>,
}

impl<R: Real> View<'_, R> {
    fn native(&self, term: Term) -> Mpfr {
        Mpfr::exactly(PRECISION, self.nodes.number(term))
    }

    fn real(&self, term: Term) -> Mpfr {
        match term {
            Term::Leaf(leaf) => Mpfr::exactly(PRECISION, Number::new(leaf.ty, leaf.bits())),
            Term::Node(node) => self.nodes.of(node).real().to_mpfr(PRECISION),
        }
    }

    fn error(&self, term: Term) -> f64 {
        match term {
            Term::Leaf(_) => 0.0,
            Term::Node(_) => minus(&self.native(term), &self.real(term)),
        }
    }

    /// The operations to look at, each before those that it rests on. What has no error is of no interest.
    fn order(&self, root: Handle) -> Vec<Handle> {
        let behind = |node: Handle| {
            self.nodes.args(node).filter_map(|arg| match arg {
                Term::Node(arg) if self.error(Term::Node(arg)) != 0.0 => Some(arg),
                _ => None,
            })
        };
        let mut chosen: FxHashMap<Handle, SmallVec<[Handle; 2]>> = FxHashMap::default();
        let mut pending = VecDeque::from([root]);
        while let Some(node) = pending.pop_front()
            && chosen.len() < MOST
        {
            if let Entry::Vacant(place) = chosen.entry(node) {
                pending.extend(place.insert(behind(node).collect()).iter());
            }
        }
        let mut order = Vec::with_capacity(chosen.len());
        let mut stack = vec![(root, false)];
        while let Some((node, are_args_done)) = stack.pop() {
            if are_args_done {
                order.push(node);
            } else if let Some(args) = chosen.remove(&node) {
                stack.push((node, true));
                stack.extend(args.into_iter().map(|arg| (arg, false)));
            }
        }
        order.reverse();
        order
    }

    /// Takes an error apart, if the trace goes on and all that matters is a number. What each argument's error comes to depends on whether the
    /// others are taken with theirs or without: it is the mean of both.
    fn split(&self, node: Handle) -> Option<Split> {
        let args: Args = self.nodes.args(node).collect();
        let at = self.nodes.of(node);
        if args.is_empty() || matches!(at.operator, Operator::Opaque(_)) {
            return None;
        }
        let operator = in_reals(at.operator, at.target().direction);
        let natives: SmallVec<[Mpfr; 2]> = args.iter().map(|arg| self.native(*arg)).collect();
        let reals: SmallVec<[Mpfr; 2]> = args.iter().map(|arg| self.real(*arg)).collect();
        // The operation on some arguments as they are and the others as they should be.
        let apply = |is_native: &dyn Fn(usize) -> bool| {
            let mixed = (0..args.len()).map(|i| if is_native(i) { &natives[i] } else { &reals[i] });
            Mpfr::apply(operator, &mixed.collect::<SmallVec<[&Mpfr; MAX_ARITY]>>())
        };
        let exact = apply(&|_| true);
        let rounding = minus(&self.native(Term::Node(node)), &exact);
        let mut split = Split { rounding, args: SmallVec::new() };
        for (i, (native, real)) in natives.iter().zip(&reals).enumerate() {
            let error = minus(native, real);
            let slope = match operator {
                _ if error == 0.0 => 0.0,
                Operator::Add | Operator::Cast => 1.0,
                Operator::Sub => [1.0, -1.0][i],
                _ => {
                    let before = minus(&apply(&|other| other <= i), &apply(&|other| other < i));
                    let behind = minus(&apply(&|other| other >= i), &apply(&|other| other > i));
                    (before + behind) / 2.0 / error
                }
            };
            split.args.push((slope, error));
        }
        let parts = split.args.iter().map(|(slope, error)| (slope * error).abs()).sum::<f64>() + rounding.abs();
        match parts > TOO_MUCH * self.error(Term::Node(node)).abs() {
            _ if !parts.is_finite() => None,
            true => Some(Split { rounding: 0.0, args: SmallVec::new() }),
            false => Some(split),
        }
    }
}

fn minus(a: &Mpfr, b: &Mpfr) -> f64 {
    Mpfr::apply(Operator::Sub, &[a, b]).to_f64()
}

struct Parts {
    parts: Vec<Part>,
    numbers: FxHashMap<SiteKey, usize>,
}

impl Parts {
    fn of<R: Real>(&mut self, node: Handle, nodes: &Nodes<R>) -> &mut Part {
        let key = key(node, nodes);
        let number = *self.numbers.entry(key).or_insert_with(|| {
            self.parts.push(Part { key, share: 0.0, roundings: 0, inherited: 0.0, carried: false, beside: Vec::new() });
            self.parts.len() - 1
        });
        &mut self.parts[number]
    }

    /// Ranks them, and finds out about those that have inherited something.
    fn finish<R: Real>(self, error: f64, order: &[Handle], nodes: &Nodes<R>) -> Option<Attribution> {
        let mut parts = self.parts;
        for part in &mut parts {
            part.share = rounded(part.share / error);
            part.inherited = rounded(part.inherited / error);
        }
        let size = |part: &Part| part.share.abs() + part.inherited.abs();
        if parts.is_empty() || parts.iter().any(|part| !size(part).is_finite()) {
            return None;
        }
        parts.sort_by(|a, b| {
            size(b).total_cmp(&size(a)).then((a.key.at, a.key.operator).cmp(&(b.key.at, b.key.operator)))
        });
        let others = rounded(parts.iter().skip(MAX_PARTS).map(|part| part.share + part.inherited).sum());
        parts.truncate(MAX_PARTS);
        let numbers: FxHashMap<SiteKey, usize> = parts.iter().enumerate().map(|(i, part)| (part.key, i)).collect();
        for (number, part) in parts.iter_mut().enumerate().filter(|(_, part)| part.inherited != 0.0) {
            let mut beside = sites_below(part.key, order, nodes);
            part.carried = beside.remove(&part.key);
            part.beside = beside.iter().filter_map(|key| numbers.get(key).copied()).collect();
            part.beside.sort_unstable();
            debug_assert!(!part.beside.contains(&number));
        }
        Some(Attribution { parts, others })
    }
}

/// A share in units of a billionth: digits beyond are those of how reals are approximated.
fn rounded(share: f64) -> f64 {
    // Zero has no sign.
    (share * 1e9).round() / 1e9 + 0.0
}

fn key<R: Real>(node: Handle, nodes: &Nodes<R>) -> SiteKey {
    SiteKey { at: nodes[node].at, operator: nodes[node].operator, ty: nodes[node].ty }
}

/// The operations behind the results of one, of those looked at.
fn sites_below<R: Real>(site: SiteKey, order: &[Handle], nodes: &Nodes<R>) -> FxHashSet<SiteKey> {
    let mut below: FxHashSet<Handle> = FxHashSet::default();
    let mut sites = FxHashSet::default();
    // Those that a node rests on come after it.
    for node in order {
        if below.contains(node) || key(*node, nodes) == site {
            for arg in nodes.args(*node) {
                if let Term::Node(arg) = arg
                    && below.insert(arg)
                {
                    sites.insert(key(arg, nodes));
                }
            }
        }
    }
    sites
}

impl Attribution {
    /// As it is told, of a value with so many bits of error.
    pub fn accumulation(&self, bits: f64, sites: &Sites, locations: &Locations) -> Accumulation {
        let contribution = |part: &Part| Contribution {
            location: locations.get(part.key.at),
            operator: part.key.operator,
            ty: part.key.ty,
            executions: sites.executions(part.key),
            roundings: part.roundings,
            share: part.share,
            inherited: part.inherited,
            carried: part.carried,
            beside: part.beside.clone(),
        };
        Accumulation { bits, contributions: self.parts.iter().map(contribution).collect(), others: self.others }
    }
}

#[cfg(test)]
#[path = "attribution_tests.rs"]
mod tests;
