//! The common case: sums, products, quotients and roots of doubles and singles, to nearest, whose reals are pairs of doubles.
//!
//! This does what [`Operations::operate`] does, without asking what cannot be. Where anything is out of the ordinary, or there is a doubt
//! to settle, it gives up before it has changed anything.

mod digits;

use crate::dd::{DoubleDouble, is_near_tie};
use crate::error;
use crate::influence::Influences;
use crate::lanes::{self, Facts, Lane, Number};
use crate::location::LocationId;
use crate::magic;
use crate::mode::{MXCSR_MATTERS, Mode, Target};
use crate::node::{Kept, Node, View};
use crate::offset::{self, Arithmetic, Near, Offset, REPAIR};
use crate::operation::Operations;
use crate::pair::Pair;
use crate::real::Real;
use crate::shadow::Part;
use crate::trace::{Handle, Leaf, Nodes, Slot, Term};
use fpgrind_ir::{Operator, Type};

/// Formats of the common case.
pub trait Plain {
    const TARGET: Target;
    fn apply(operator: Operator, args: [u64; 3]) -> u64;
    fn is_nan(bits: u64) -> bool;
    fn value(bits: u64) -> f64;
    /// Those of a lane that begin with it.
    fn bits(lane: u64) -> u64;
    /// The bits of the float next to a number, if they are easily had.
    fn rounded(real: Pair) -> Option<u64>;
    /// The same in any case.
    fn next_to(real: Pair) -> u64;
    /// May the truth be more than so many floats away from that, as far as the bound goes?
    #[inline(always)]
    fn may_be_off(real: Pair, floats: u64) -> bool {
        // The distance of floats at the number's size, or a little less. (A bound that is no number is none.)
        let ulp = real.hi.abs() * const { f64::from_bits((1023 - Self::TARGET.digits as u64) << 52) };
        let is_near = real.err < floats as f64 * ulp;
        !is_near
    }
    /// Is it that beyond doubt?
    #[inline(always)]
    fn is_settled(real: Pair) -> bool {
        real.is_settled_double() || Self::TARGET.ty != Type::F64 && DoubleDouble::from(real).is_settled(Self::TARGET)
    }
}

macro_rules! plain {
    ($float:ident, $bits:ident, $ty:expr, $rounded:expr, $next_to:expr) => {
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
            fn bits(lane: u64) -> u64 {
                lane as $bits as u64
            }

            #[inline(always)]
            fn rounded(real: Pair) -> Option<u64> {
                $rounded(real.hi)
            }

            #[inline(always)]
            fn next_to(real: Pair) -> u64 {
                $next_to(real)
            }
        }
    };
}

plain!(f64, u64, Type::F64, |hi: f64| Some(hi.to_bits()), |real: Pair| real.hi.to_bits());
plain!(f32, u32, Type::F32, |hi: f64| (!is_near_tie(hi)).then(|| (hi as f32).to_bits() as u64), |real: Pair| {
    (real.rounded_to_odd() as f32).to_bits() as u64
});

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
        Part::Shadow(node) if nodes[node].ty == ty && nodes.of(node).is(bits) => Term::Node(node),
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
            Part::Shadow(handle) if nodes[handle].ty == ty && nodes.of(handle).is(bits) => {
                return self.prepare_node(handle, nodes);
            }
            Part::Constant(_) => constant = is_single || self.wide,
            _ => {}
        }
        self.is_plain = !(constant && magic::may_be(F::value(bits)));
        self.own.near.native = F::value(bits);
        self.facts = if self.is_plain { &self.own } else { Facts::UNKNOWN };
        (self.slot, self.word) = (Slot::leaf(ty, constant), bits);
    }

    #[inline(always)]
    pub fn prepare_node<R: Real>(&mut self, handle: Handle, nodes: &Nodes<R>) {
        self.is_plain = is_usable(nodes.of(handle));
        self.point_to(handle, nodes);
        (self.slot, self.word) = handle.as_arg();
    }

    /// Nodes have been moved. The lane may be one that an earlier block has left, whose node is gone.
    pub fn point_again<R: Real>(&mut self, nodes: &Nodes<R>) {
        if let Some(handle) = self.node().filter(|handle| nodes.has(*handle)) {
            self.point_to(handle, nodes);
        }
    }

    /// What compiled code leaves out of a lane with a node. All else that it fills, it fills whole.
    pub fn unfold<R: Real>(&mut self, nodes: &Nodes<R>) {
        if let Some(handle) = self.node() {
            self.set(nodes.of(handle).bits() as u64, Part::Shadow(handle), false);
            self.prepare_node(handle, nodes);
        }
    }

    #[inline(always)]
    fn point_to<R: Real>(&mut self, handle: Handle, nodes: &Nodes<R>) {
        self.facts =
            if R::HAS_PAIRS && nodes[handle].is_plain() { (&raw const nodes[handle]).cast() } else { Facts::UNKNOWN };
    }

    /// The argument that it is ready to be, if it is a node.
    #[inline(always)]
    pub fn node(&self) -> Option<Handle> {
        Handle::of_arg(self.slot, self.word)
    }

    /// The argument that it is ready to be, if it is kept as an offset, and what it is under the influence of.
    #[inline(always)]
    fn near<F: Plain, R: Real>(&self, nodes: &Nodes<R>) -> Option<(Near, Influences)> {
        let native = F::value(self.bits);
        let Some(node) = self.node() else { return Some((Near { native, offset: Offset::NONE }, Influences::NONE)) };
        let node = &nodes[node];
        node.is_plain().then_some((node.near, node.influences))
    }

    /// It becomes what an operation came to that is kept as an offset.
    #[inline(always)]
    fn become_near<R: Real>(&mut self, native: u64, handle: Handle, nodes: &Nodes<R>) {
        self.become_result(native, handle);
        self.facts = (&raw const nodes[handle]).cast();
    }

    /// It becomes what an operation came to that can be handed on.
    #[inline(always)]
    fn become_result(&mut self, native: u64, handle: Handle) {
        self.set(native, Part::Shadow(handle), false);
        (self.is_plain, self.facts) = (true, Facts::UNKNOWN);
        (self.slot, self.word) = handle.as_arg();
    }
}

/// Is it an argument that this way knows?
#[inline(always)]
fn is_usable<R: Real>(node: View<'_, R>) -> bool {
    let is_common = matches!(node.kept, Kept::Plain | Kept::Real);
    is_common || node.kept == Kept::Odd && is_usable_though_odd(node)
}

#[cold]
fn is_usable_though_odd<R: Real>(node: View<'_, R>) -> bool {
    !node.is_special() && node.is_within_pairs()
}

/// An operation that may be the common case.
pub struct Operation<'a> {
    pub operator: Operator,
    pub args: [&'a Lane; 3],
    pub native: u64,
    pub at: LocationId,
    pub site: usize,
}

/// What is known of arguments that are nearly right, and of the result.
pub struct Known {
    pub args: [Near; 3],
    pub influences: [Influences; 3],
    pub nodes: [Option<Handle>; 3],
    pub result: Offset,
}

impl<R: Real> Operations<R> {
    /// Does the operation, if that is the common case: says whether it was.
    #[inline(always)]
    pub fn plain<F: Plain>(
        &mut self,
        operator: Operator,
        lanes: &mut [Lane],
        [a, b, c]: [Option<Number>; 3],
        does: &lanes::Plain,
        mode: Mode,
    ) -> bool {
        let args = [a, b, c].map(|number| number.map_or(&Lane::NOTHING, |number| &lanes[number as usize]));
        if !(args[0].is_plain && args[1].is_plain && args[2].is_plain) {
            return false;
        }
        let (at, site, to) = (does.at, does.site, does.to);
        let native = F::apply(operator, args.map(|lane| lane.bits));
        // (No closure: it would not be compiled for what the CPU has.)
        if !R::HAS_PAIRS {
            let Some(node) = self.with_digits::<F>(args, native, does, mode) else { return false };
            lanes[to as usize].become_result(native, node);
            return true;
        }
        let operation = Operation { operator, args, native, at, site };
        let mut known = None;
        let mut near = self.nearly_right::<F>(&operation, &mut known);
        if near.is_none()
            && let Some(known) = known
            && known.is_enough(operator)
        {
            near = self.lossy_but_near::<F>(&operation, &known, mode);
            if near.is_none() {
                return false;
            }
        }
        if let Some(node) = near {
            lanes[to as usize].become_near(native, node, &self.nodes);
            return true;
        }
        let node = match operator {
            Operator::Add | Operator::Sub => self.sum_of_pairs::<F>(&operation, mode),
            _ => self.lossy::<F>(&operation, mode),
        };
        let Some(node) = node else { return false };
        lanes[to as usize].set(native, Part::Shadow(node), false);
        lanes[to as usize].prepare_node(node, &self.nodes);
        true
    }

    /// If all are nearly right, and the operation is fine beyond doubt, or the doubt one that passes. Compiled code does the same. If it is
    /// not, what was found out is of use all the same.
    #[inline(always)]
    fn nearly_right<F: Plain>(&mut self, operation: &Operation, known: &mut Option<Known>) -> Option<Handle> {
        let Operation { operator, args: [a, b, c], native, at, site } = *operation;
        if !R::HAS_PAIRS || self.tolerated < offset::LOCAL {
            return None;
        }
        let nodes = &self.nodes;
        let ((x, of_x), (y, of_y), (z, of_z)) =
            (a.near::<F, R>(nodes)?, b.near::<F, R>(nodes)?, c.near::<F, R>(nodes)?);
        let args = [x, y, z];
        let arithmetic = Arithmetic { native: F::value(native), is_single: F::TARGET.ty == Type::F32 };
        let done = arithmetic.apply(operator, args);
        *known = Some(Known {
            args,
            influences: [of_x, of_y, of_z],
            nodes: [a, b, c].map(|lane| lane.node()),
            result: done.offset,
        });
        let is_doubtful = !done.is_fine();
        if is_doubtful
            && !(done.seems_fine() && (!self.settles || !self.has_time() && self.sites.may_pass_over_doubt(site)))
        {
            return None;
        }
        let influences = self.sets.union(of_x, of_y);
        let influences = self.sets.union(influences, of_z);
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
        let node = self.nodes.make_near(Node {
            near: Near { native: arithmetic.native, offset: done.offset },
            influences,
            at,
            args: [a.word, b.word, c.word],
            slots: [a.slot, b.slot, c.slot],
            ..Node::of_kind(operator, F::TARGET.ty)
        });
        if self.strays.wanted && self.is_error(self.nodes.of(node).ulps()) {
            self.strays.note(F::TARGET.ty, native as u128, node);
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
}

#[inline(always)]
pub fn is_sum(operator: Operator) -> bool {
    matches!(operator, Operator::Add | Operator::Sub)
}

#[inline(always)]
pub fn distance<F: Plain>(a: u64, b: u64) -> u64 {
    match F::TARGET.ty {
        _ if a == b => 0,
        Type::F64 => error::ulps_of_doubles(a, b),
        _ => error::ulps_of_singles(a as u32, b as u32),
    }
}
