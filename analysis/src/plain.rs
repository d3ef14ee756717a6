//! The common case: sums, products, quotients and roots of doubles and singles, to nearest, whose reals are pairs of doubles.
//!
//! This does what [`Operations::operate`] does, without asking what cannot be. Where anything is out of the ordinary, or there is a doubt
//! to settle, it gives up before it has changed anything.

mod digits;

use crate::compensation::is_nothing_beside;
use crate::dd::{DoubleDouble, is_near_tie};
use crate::error;
use crate::findings::CauseKind;
use crate::influence::Influences;
use crate::lanes::{Facts, Lane, Number};
use crate::location::LocationId;
use crate::magic;
use crate::mode::{MXCSR_MATTERS, Mode, Target};
use crate::offset::{self, Arithmetic, Near, Offset, REPAIR};
use crate::operation::Operations;
use crate::pair::Pair;
use crate::real::Real;
use crate::shadow::Part;
use crate::site::Verdict;
use crate::trace::{Handle, Leaf, Made, Nodes, Slot, Term, ULPS_UNASKED};
use fpgrind_ir::{Operator, Type};

/// Formats of the common case.
pub trait Plain {
    const TARGET: Target;
    fn apply(operator: Operator, args: [u64; 3]) -> u64;
    fn is_nan(bits: u64) -> bool;
    fn value(bits: u64) -> f64;
    /// The bits of the float next to a number, if they are easily had.
    fn rounded(real: Pair) -> Option<u64>;
    /// How many floats away from that the truth may be, at most.
    fn doubt(real: Pair) -> u64 {
        DoubleDouble::from(real).doubt(Self::TARGET)
    }
}

macro_rules! plain {
    ($float:ident, $bits:ident, $ty:expr, $rounded:expr) => {
        impl Plain for $float {
            const TARGET: Target = Target::nearest($ty);

            #[inline(always)]
            fn apply(operator: Operator, args: [u64; 3]) -> u64 {
                let [a, b, c] = args.map(|bits| $float::from_bits(bits as $bits));
                let result = match operator {
                    Operator::Add => a + b,
                    Operator::Sub => a - b,
                    Operator::Mul => a * b,
                    Operator::Div => a / b,
                    Operator::Fma => a.mul_add(b, c),
                    _ => a.sqrt(),
                };
                result.to_bits() as u64
            }

            #[inline(always)]
            fn is_nan(bits: u64) -> bool {
                $float::from_bits(bits as $bits).is_nan()
            }

            #[inline(always)]
            fn value(bits: u64) -> f64 {
                $float::from_bits(bits as $bits) as f64
            }

            #[inline(always)]
            fn rounded(real: Pair) -> Option<u64> {
                $rounded(real.hi)
            }
        }
    };
}

plain!(f64, u64, Type::F64, |hi: f64| Some(hi.to_bits()));
plain!(f32, u32, Type::F32, |hi: f64| (!is_near_tie(hi)).then(|| (hi as f32).to_bits() as u64));

/// Is it one of these operations?
pub fn is_plain(operator: Operator, from: Type, ty: Type) -> bool {
    use Operator::*;
    from == ty && matches!(ty, Type::F64 | Type::F32) && matches!(operator, Add | Sub | Mul | Div | Sqrt | Fma)
}

impl Mode {
    /// SSE rounds to nearest and keeps subnormal numbers.
    #[inline(always)]
    pub fn is_plain(self) -> bool {
        self.mxcsr & MXCSR_MATTERS == 0
    }
}

/// The float that a lane begins with.
#[inline]
pub fn term<R>(lane: &Lane, ty: Type, nodes: &Nodes<R>) -> Term {
    let is_single = ty == Type::F32;
    let bits = if is_single { lane.bits as u32 as u64 } else { lane.bits };
    match lane.part {
        Part::Shadow(node) if nodes[node].ty == ty && nodes[node].is(bits) => Term::Node(node),
        part => {
            let constant = matches!(part, Part::Constant(_)) && (is_single || lane.wide);
            Term::Leaf(Leaf::new(ty, bits as u128, constant))
        }
    }
}

impl Lane {
    /// Makes the float that it begins with ready to be an argument, if there is nothing special about it.
    #[inline(always)]
    pub fn prepare<F: Plain, R: Real>(&mut self, nodes: &Nodes<R>) {
        let (ty, is_single) = (F::TARGET.ty, F::TARGET.ty == Type::F32);
        let bits = if is_single { self.bits as u32 as u64 } else { self.bits };
        let mut constant = false;
        match self.part {
            Part::Shadow(handle) if nodes[handle].ty == ty && nodes[handle].is(bits) => {
                return self.prepare_node(handle, nodes);
            }
            Part::Constant(_) => constant = is_single || self.wide,
            _ => {}
        }
        self.is_plain = !(constant && magic::may_be(F::value(bits)));
        self.facts = if self.is_plain { Facts::NONE } else { Facts::UNKNOWN };
        (self.slot, self.word) = Slot::leaf(ty, bits, constant);
    }

    #[inline(always)]
    pub fn prepare_node<R: Real>(&mut self, handle: Handle, nodes: &Nodes<R>) {
        self.is_plain = !nodes[handle].is_special() && nodes[handle].kept.is_within_pairs();
        self.point_to(handle, nodes);
        (self.slot, self.word) = Slot::node(handle);
    }

    /// Nodes have been moved. The lane may be one that an earlier block has left, whose node is gone.
    pub fn point_again<R: Real>(&mut self, nodes: &Nodes<R>) {
        if let Some(handle) = self.node().filter(|handle| nodes.has(*handle)) {
            self.point_to(handle, nodes);
        }
    }

    #[inline(always)]
    fn point_to<R: Real>(&mut self, handle: Handle, nodes: &Nodes<R>) {
        self.facts = match nodes[handle].plain {
            Some(_) => (&raw const nodes[handle]).cast(),
            None => Facts::UNKNOWN,
        };
    }

    /// The argument that it is ready to be, if it is a node.
    #[inline(always)]
    fn node(&self) -> Option<Handle> {
        match (self.slot, self.part) {
            (Slot::Node, Part::Shadow(node)) => Some(node),
            _ => None,
        }
    }

    /// The argument that it is ready to be, if it is kept as an offset.
    #[inline(always)]
    fn near<F: Plain, R: Real>(&self, nodes: &Nodes<R>) -> Option<Near> {
        let native = F::value(self.bits);
        match self.node() {
            None => Some(Near { native, offset: Offset::NONE }),
            Some(node) if nodes[node].plain.is_some() => Some(Near { native, offset: nodes[node].kept.offset() }),
            Some(_) => None,
        }
    }

    /// The argument that it is ready to be.
    #[inline(always)]
    fn float<F: Plain, R: Real>(&self, nodes: &Nodes<R>) -> Float {
        let Lane { slot, word, .. } = *self;
        match self.node() {
            None => {
                let real = Pair::double(F::value(self.bits));
                Float { real, ulps: 0, influences: Influences::NONE, slot, word }
            }
            Some(node) => {
                let node = &nodes[node];
                let real = node.real().as_pair().unwrap_or(Pair::UNKNOWN);
                Float { real, ulps: node.ulps(), influences: node.influences, slot, word }
            }
        }
    }
}

/// An argument, and what is known of it.
struct Float {
    real: Pair,
    ulps: u64,
    influences: Influences,
    slot: Slot,
    word: u64,
}

/// An operation that may be the common case.
struct Operation<'a> {
    operator: Operator,
    args: [&'a Lane; 3],
    native: u64,
    at: LocationId,
    site: usize,
}

impl<R: Real> Operations<R> {
    /// What a term is under the influence of, none if it is a repair.
    fn influences_unless_repair<F: Plain>(&mut self, lane: &Lane, float: &Float) -> Influences {
        let native = F::value(lane.bits).abs();
        let may_repair = native == 0.0 || float.real.hi.abs() <= native * REPAIR;
        match lane.part {
            Part::Shadow(node) if may_repair && !float.influences.is_empty() && self.is_repair(Term::Node(node)) => {
                Influences::NONE
            }
            _ => float.influences,
        }
    }

    /// Does the operation, if that is the common case: says whether it was.
    #[inline(always)]
    pub fn plain<F: Plain>(
        &mut self,
        operator: Operator,
        lanes: &mut [Lane],
        [a, b, c]: [Option<Number>; 3],
        to: Number,
        (at, site): (LocationId, usize),
        mode: Mode,
    ) -> bool {
        let args = [a, b, c].map(|number| number.map_or(&Lane::NOTHING, |number| &lanes[number as usize]));
        if !args.iter().all(|lane| lane.is_plain) {
            return false;
        }
        let native = F::apply(operator, args.map(|lane| lane.bits));
        let operation = Operation { operator, args, native, at, site };
        // (No closure: it would not be compiled for what the CPU has.)
        let mut node = match operator {
            _ if R::HAS_PAIRS => self.nearly_right::<F>(&operation),
            Operator::Sqrt => self.with_digits::<F, 1>(&operation, mode),
            Operator::Fma => self.with_digits::<F, 3>(&operation, mode),
            _ => self.with_digits::<F, 2>(&operation, mode),
        };
        if node.is_none() && R::HAS_PAIRS {
            node = self.as_pairs::<F>(&operation, mode);
        }
        let Some(node) = node else { return false };
        let lane = &mut lanes[to as usize];
        lane.set(native, Part::Shadow(node), false);
        if R::HAS_PAIRS {
            lane.prepare_node(node, &self.nodes);
        } else {
            // All that was passed on here can be passed on again.
            (lane.is_plain, lane.facts) = (true, Facts::UNKNOWN);
            (lane.slot, lane.word) = Slot::node(node);
        }
        true
    }

    /// If all are nearly right, and the operation is fine beyond doubt, or the doubt one that passes. Compiled code does the same.
    #[inline(always)]
    fn nearly_right<F: Plain>(&mut self, operation: &Operation) -> Option<Handle> {
        let Operation { operator, args: [a, b, c], native, at, site } = *operation;
        if !R::HAS_PAIRS || self.tolerated < offset::LOCAL {
            return None;
        }
        let nodes = &self.nodes;
        let args = [a.near::<F, R>(nodes)?, b.near::<F, R>(nodes)?, c.near::<F, R>(nodes)?];
        let arithmetic = Arithmetic { native: F::value(native), is_single: F::TARGET.ty == Type::F32 };
        let done = arithmetic.apply(operator, args);
        let is_doubtful = !done.is_fine();
        let passes = || !self.settles || !self.has_time() && self.sites.may_pass_over_doubt(site);
        if is_doubtful && !(done.seems_fine() && passes()) {
            return None;
        }
        let of = |lane: &Lane| lane.node().map_or(Influences::NONE, |node| self.nodes[node].influences);
        let mut influences = of(a);
        for other in [of(b), of(c)] {
            influences = self.sets.union(influences, other);
        }
        let may_repair = |arg: &Near| {
            let real = arg.real();
            real == done.real || arg.native == 0.0 || real.abs() <= arg.native.abs() * REPAIR
        };
        if !influences.is_empty() && is_sum(operator) && args[..2].iter().any(may_repair) {
            return None;
        }
        if is_doubtful && self.settles {
            self.sites.passes_over_doubt(site);
        }
        self.count += 1;
        let (target, ulps) = (F::TARGET, ULPS_UNASKED);
        let real = R::of_offset(arithmetic.native, done.offset)?;
        let made = Made { operator, at, influences, bits: native as u128, real, target, ulps };
        let node = self.nodes.make_of(made, [a.slot, b.slot, c.slot, Slot::None], [a.word, b.word, c.word, 0]);
        if self.strays.wanted && self.is_error(self.nodes[node].ulps()) {
            self.strays.note(target.ty, native as u128, node);
        }
        if self.sites.is_due(site) {
            // Of one that goes wrong at times, it is told how wrong it was when it was not.
            let rounded = |real: f64| F::rounded(Pair::double(real));
            let local = || {
                let [x, y, z] = args.map(|arg| rounded(arg.real()));
                Some(distance::<F>(F::apply(operator, [x?, y?, z?]), rounded(done.real)?))
            };
            self.sites.observe_fine(site, node, [args[0].native, args[1].native], local(), &self.nodes);
        } else {
            self.sites.count(site);
        }
        Some(node)
    }

    /// If all are pairs of doubles, and no doubt is to be settled.
    #[inline(always)]
    fn as_pairs<F: Plain>(&mut self, operation: &Operation, mode: Mode) -> Option<Handle> {
        let Operation { operator, args: [a, b, c], native, at, site } = *operation;
        let [x, y, z] = [a, b, c].map(|lane| lane.float::<F, R>(&self.nodes));
        let (real, shadow) = match operator {
            Operator::Sqrt => pair_and_real(Pair::compute(operator, &[x.real]), self.precision()),
            Operator::Fma => pair_and_real(Pair::compute(operator, &[x.real, y.real, z.real]), self.precision()),
            _ => pair_and_real(Pair::compute(operator, &[x.real, y.real]), self.precision()),
        }?;
        let rounded = F::rounded(real)?;
        if F::is_nan(native) {
            return None;
        }
        let ulps = distance::<F>(native, rounded);
        let mut local = ulps;
        if x.ulps | y.ulps | z.ulps != 0 {
            let [x, y, z] = [F::rounded(x.real)?, F::rounded(y.real)?, F::rounded(z.real)?];
            local = distance::<F>(F::apply(operator, [x, y, z]), rounded);
        }
        let mut is_wrong = self.is_error(local);
        let mut shown = Some(local);
        if !real.is_settled_double() && self.settles && self.is_error(local.saturating_add(F::doubt(real))) {
            if self.has_time() || !self.sites.passes_over_doubt(site) {
                return None;
            }
            // Where nothing was ever wrong beyond doubt, a doubt that there is no time for is none.
            if !self.sites.is_candidate(site) {
                (is_wrong, shown) = (false, None);
            }
        }
        let mut influences = x.influences;
        if y.influences != influences || z.influences != influences {
            influences = self.sets.union(influences, y.influences);
            influences = self.sets.union(influences, z.influences);
        }
        if !influences.is_empty() && is_sum(operator) && !is_nothing_beside(real.hi, F::value(native)) {
            // A repair is no cause of what it repairs.
            let [of_a, of_b] = [(a, &x), (b, &y)].map(|(lane, float)| self.influences_unless_repair::<F>(lane, float));
            influences = self.sets.union(of_a, of_b);
        }
        if is_wrong || !influences.is_empty() {
            match repaired(operator, [&x, &y], &real, ulps) {
                Some(repaired) => (influences, is_wrong, shown) = (repaired.influences, false, None),
                None if is_wrong => influences = self.sets.with(influences, site as u32),
                None => {}
            }
        }
        self.count += 1;
        let (ty, target) = (F::TARGET.ty, F::TARGET);
        let made = Made { operator, at, influences, bits: native as u128, real: shadow, target, ulps };
        let node = self.nodes.make_of(made, [x.slot, y.slot, z.slot, Slot::None], [x.word, y.word, z.word, 0]);
        if self.is_error(ulps) {
            self.strays.note(ty, native as u128, node);
        }
        if is_wrong {
            let verdict = Verdict::Wrong(CauseKind::Inaccurate, local);
            self.sites.observe(site, node, verdict, mode, &self.nodes);
        } else {
            let args = [F::value(a.bits), F::value(b.bits)];
            self.sites.observe_fine(site, node, args, shown, &self.nodes);
        }
        Some(node)
    }
}

#[inline(always)]
fn pair_and_real<R: Real>(pair: Option<Pair>, precision: u32) -> Option<(Pair, R)> {
    pair.map(|pair| (pair, R::of_pair(pair, precision)))
}

/// The argument that a sum is in the reals, if natively it is better than that: the other argument compensated an error.
#[inline(always)]
fn repaired<'a>(operator: Operator, args: [&'a Float; 2], real: &Pair, ulps: u64) -> Option<&'a Float> {
    let is_repaired = |arg: &&Float| ulps < arg.ulps && arg.real.hi == real.hi && arg.real.lo == real.lo;
    args.into_iter().find(is_repaired).filter(|_| is_sum(operator))
}

#[inline(always)]
fn is_sum(operator: Operator) -> bool {
    matches!(operator, Operator::Add | Operator::Sub)
}

#[inline(always)]
fn distance<F: Plain>(a: u64, b: u64) -> u64 {
    match F::TARGET.ty {
        _ if a == b => 0,
        Type::F64 => error::ulps_of_doubles(a, b),
        ty => error::ulps(ty, a as u128, b as u128),
    }
}
