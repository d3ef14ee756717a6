//! The common case: sums, products, quotients and roots of doubles and singles, to nearest, of which nothing has gone wrong.
//!
//! This does what [`Operations::operate`] does, without asking what cannot be. Where anything is out of the ordinary it
//! gives up before it has changed anything.

use crate::error;
use crate::influence::Influences;
use crate::location::LocationId;
use crate::mode::{MXCSR_MATTERS, Mode, Target};
use crate::operation::Operations;
use crate::real::Real;
use crate::shadow::{Part, Value};
use crate::trace::{Handle, Leaf, Made, Nodes, Term};
use fpgrind_ir::{Operator, Type};

/// An argument: its bits and what is known about it.
#[derive(Clone, Copy)]
pub struct Operand {
    bits: u64,
    node: Option<Handle>,
    constant: bool,
}

/// Formats of the common case.
pub trait Plain {
    const TARGET: Target;
    fn apply(operator: Operator, args: [u64; 3]) -> u64;
    fn is_nan(bits: u64) -> bool;
    fn value(bits: u64) -> f64;
}

macro_rules! plain {
    ($float:ident, $bits:ident, $ty:expr) => {
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
        }
    };
}

plain!(f64, u64, Type::F64);
plain!(f32, u32, Type::F32);

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

impl Operand {
    /// The float that begins at a granule of a value.
    #[inline(always)]
    pub fn of<R>(value: &Value, granule: usize, ty: Type, nodes: &Nodes<R>) -> Operand {
        let bits = (value.bits >> (32 * granule)) as u64;
        let bits = if ty == Type::F32 { bits as u32 as u64 } else { bits };
        let node = match value.parts[granule] {
            Part::Shadow(node) if nodes[node].ty == ty && nodes[node].bits() == bits as u128 => Some(node),
            _ => None,
        };
        let is_constant = |granule: usize| matches!(value.parts.get(granule), Some(Part::Constant(_)));
        let constant = is_constant(granule) && (ty == Type::F32 || is_constant(granule + 1));
        Operand { bits, node, constant }
    }

    #[inline(always)]
    fn term(self, ty: Type) -> Term {
        match self.node {
            Some(node) => Term::Node(node),
            None => Term::Leaf(Leaf::new(ty, self.bits as u128, self.constant)),
        }
    }
}

impl<R: Real> Operations<R> {
    /// The operation's result, if that is the common case.
    #[inline(always)]
    pub fn plain<F: Plain, const N: usize>(
        &mut self,
        operator: Operator,
        operands: [Operand; N],
        at: LocationId,
        site: usize,
    ) -> Option<Handle> {
        let mut bits = [0; 3];
        let mut correct = [0; 3];
        for (i, operand) in operands.iter().enumerate() {
            bits[i] = operand.bits;
            correct[i] = match operand.node {
                Some(node) => {
                    let node = &self.nodes[node];
                    // A cast may have been a loss that counts only now; a rounding in disguise has constants behind it.
                    if !node.influences.is_empty() || matches!(node.operator, Operator::Cast | Operator::Neg) {
                        return None;
                    }
                    node.real.rounded(F::TARGET) as u64
                }
                None if operand.constant && F::value(operand.bits).abs() >= 4e6 => return None,
                None => operand.bits,
            };
        }
        let native = F::apply(operator, bits);
        if F::is_nan(native) {
            return None;
        }
        let (ty, influences, target) = (F::TARGET.ty, Influences::NONE, F::TARGET);
        let terms = operands.map(|operand| operand.term(ty));
        let real = self.real(operator, &terms);
        let rounded = real.rounded(F::TARGET) as u64;
        let ulps = distance::<F>(native, rounded);
        let local = if bits == correct { ulps } else { distance::<F>(F::apply(operator, correct), rounded) };
        if self.is_error(local.saturating_add(real.doubt(F::TARGET))) || F::is_nan(rounded) {
            return None;
        }
        self.count += 1;
        let made = Made { operator, ty, at, influences, bits: native as u128, real, target, ulps };
        let node = self.nodes.make(made, &terms);
        if self.is_error(ulps) {
            self.strays.note(ty, native as u128, node);
        }
        self.sites.observe_fine(site, node, &operands.map(|operand| F::value(operand.bits)), Some(local), &self.nodes);
        Some(node)
    }
}

#[inline(always)]
fn distance<F: Plain>(a: u64, b: u64) -> u64 {
    match F::TARGET.ty {
        _ if a == b => 0,
        Type::F64 => error::ulps_of_doubles(a, b),
        ty => error::ulps(ty, a as u128, b as u128),
    }
}
