//! A node of a trace, in one line of a cache.
//!
//! Most results are doubles or singles that are nearly right, of operations with up to three arguments. What is to be known of them is sixty-four bytes,
//! which compiled code writes, too. What has no place there lies beside: reals that are no distances (`Beside`), and of few nodes more (`Odd`): long floats, a fourth argument.

use crate::error;
use crate::influence::Influences;
use crate::location::LocationId;
use crate::magic;
use crate::mode::Target;
use crate::number::Number;
use crate::offset::{Near, Offset};
use crate::pair::Pair;
use crate::real::Real;
use fpgrind_ir::{MAX_ARITY, Operator, Type};
use std::borrow::Cow;

/// How an argument is kept in a node: not at all, as a node, or as a float of at most eight bytes, which may be a number written in the
/// program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(transparent)]
pub struct Slot(pub(crate) u8);

impl Slot {
    pub const NONE: Slot = Slot(0);
    pub const NODE: Slot = Slot(1);
    const LEAVES: u8 = 2;

    #[inline(always)]
    pub const fn leaf(ty: Type, constant: bool) -> Slot {
        Slot(Slot::LEAVES + 2 * ty as u8 + constant as u8)
    }

    /// The type of a leaf, and whether it is a number written in the program.
    #[inline(always)]
    pub fn as_leaf(self) -> Option<(Type, bool)> {
        let code = self.0.checked_sub(Slot::LEAVES)?;
        Some((*Type::ALL.get(code as usize / 2)?, code % 2 == 1))
    }
}

/// Where to find what a node stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kept {
    /// It is near to the native value, and an argument like others.
    Plain,
    /// It is near to the native value, but there is something special about it.
    Near,
    /// The native value is here, and what it stands for beside. It is an argument like others, too.
    Real,
    /// All is beside.
    Odd,
}

/// Arguments that have a place in a node.
pub const INLINE: usize = 3;

/// The result of an operation, and how it came about. What is the same in all results of an instruction is `at` and, but for the slots, the
/// eight bytes from `operator` on.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Node {
    /// The native value, and how far from there what it stands for is (`offset.rs`).
    pub(crate) near: Near,
    pub influences: Influences,
    pub at: LocationId,
    /// Bits of leaves, numbers of nodes.
    pub(crate) args: [u64; INLINE],
    pub operator: Operator,
    pub ty: Type,
    pub(crate) kept: Kept,
    pub(crate) slots: [Slot; INLINE],
    /// There is more beside than what is near tells.
    pub(crate) is_settled: bool,
}

const _: () = assert!(size_of::<Node>() == 64);
// SAFETY: whether all bits zero are a node, as memory has them that was never used, is found out when this is compiled.
const _: Node = unsafe { std::mem::zeroed() };

/// The total error of a node that nobody has asked for.
pub const ULPS_UNASKED: u64 = u64::MAX - 1;

/// What has no place in a node: MPFR's, in one more line of a cache.
#[repr(align(64))]
pub struct Beside<R> {
    pub(crate) real: R,
    /// Total error, in the format in which the value was last rounded: that of a cast is its argument's.
    pub(crate) ulps: u64,
}

impl<R: Real> Default for Beside<R> {
    #[inline(always)]
    fn default() -> Beside<R> {
        Beside { real: R::zero(0), ulps: 0 }
    }
}

/// What few nodes have.
pub struct Odd {
    /// As the operation rounded. All others round to nearest.
    pub(crate) target: Target,
    pub(crate) bits: u128,
    pub(crate) fourth: u64,
    pub(crate) fourth_slot: Slot,
    /// A leaf that is too long for a slot; and whether it is a number written in the program.
    pub(crate) leaf: Option<bool>,
}

impl Default for Odd {
    fn default() -> Odd {
        Odd { target: Target::nearest(Type::F64), bits: 0, fourth: 0, fourth_slot: Slot::NONE, leaf: None }
    }
}

impl Node {
    /// One of an operation that rounds to nearest.
    pub(crate) const fn of_kind(operator: Operator, ty: Type) -> Node {
        Node {
            near: Near { native: 0.0, offset: Offset::NONE },
            influences: Influences::NONE,
            at: LocationId(0),
            args: [0; INLINE],
            operator,
            ty,
            kept: Kept::Plain,
            slots: [Slot::NONE; INLINE],
            is_settled: false,
        }
    }

    #[inline(always)]
    pub fn has_beside(&self) -> bool {
        matches!(self.kept, Kept::Real | Kept::Odd) || self.is_settled
    }

    /// Has it so many arguments, none of which is beside?
    #[inline(always)]
    pub fn has_inline(&self, arity: usize) -> bool {
        let has = |number: usize| self.slots.get(number).is_some_and(|slot| *slot != Slot::NONE);
        self.kept != Kept::Odd && has(arity.wrapping_sub(1)) && !has(arity)
    }

    /// Is it near to the native value, and an argument like others?
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.kept == Kept::Plain
    }

    /// Bits of the native value, if that is not beside.
    #[inline(always)]
    pub fn near_bits(&self) -> u64 {
        match self.ty {
            Type::F32 => (self.near.native as f32).to_bits() as u64,
            _ => self.near.native.to_bits(),
        }
    }
}

/// A node, and what lies beside it.
#[derive(Clone, Copy)]
pub struct View<'a, R> {
    pub node: &'a Node,
    pub beside: Option<&'a Beside<R>>,
    pub odd: Option<&'a Odd>,
}

impl<R> std::ops::Deref for View<'_, R> {
    type Target = Node;

    #[inline(always)]
    fn deref(&self) -> &Node {
        self.node
    }
}

impl<'a, R> View<'a, R> {
    /// What the guest computed.
    #[inline(always)]
    pub fn bits(&self) -> u128 {
        self.odd.map_or_else(|| self.node.near_bits() as u128, |odd| odd.bits)
    }

    /// As the operation rounded.
    #[inline]
    pub fn target(&self) -> Target {
        self.odd.map_or_else(|| Target::nearest(self.node.ty), |odd| odd.target)
    }

    /// Is that this float, of at most eight bytes?
    #[inline(always)]
    pub fn is(&self, bits: u64) -> bool {
        self.bits() as u64 == bits
    }

    #[inline(always)]
    pub fn is_double(&self, bits: u64) -> bool {
        self.node.ty == Type::F64 && self.is(bits)
    }

    /// Are these its first bytes, as many of them as there are in eight?
    #[inline(always)]
    pub fn begins_with(&self, bits: u64, bytes: usize) -> bool {
        match bytes {
            8.. => self.is(bits),
            _ => (self.bits() as u64 ^ bits) << (64 - 8 * bytes) == 0,
        }
    }

    pub fn number(&self) -> Number {
        Number::new(self.node.ty, self.bits())
    }

    /// A cast may have been a loss that counts only now, and a magic number may have been negated.
    #[inline(always)]
    pub fn is_special(&self) -> bool {
        is_special(self.node.operator, || self.number().to_f64())
    }
}

#[inline(always)]
pub fn is_special(operator: Operator, value: impl Fn() -> f64) -> bool {
    match operator {
        Operator::Cast => true,
        Operator::Neg => magic::may_be(value()),
        _ => false,
    }
}

impl<'a, R: Real> View<'a, R> {
    /// What it stands for.
    #[inline(always)]
    pub fn real(&self) -> Cow<'a, R> {
        match self.beside {
            Some(beside) => Cow::Borrowed(&beside.real),
            None => Cow::Owned(R::of_near(self.node.near)),
        }
    }

    /// Is that known to the last digit?
    pub fn is_exact(&self) -> bool {
        self.beside.map_or_else(|| self.node.near.offset.err == 0.0, |beside| beside.real.is_exact())
    }

    /// The number as two doubles, if it is within their reach. If it was found out later, what is near has digits enough.
    #[inline(always)]
    pub fn pair(&self) -> Option<Pair> {
        match (self.node.kept, self.beside) {
            (Kept::Real | Kept::Odd, Some(beside)) => beside.real.as_pair(),
            _ => Some(self.node.near.offset.pair(self.node.near.native)),
        }
    }

    /// Can doubles stand for it?
    #[inline(always)]
    pub fn is_within_pairs(&self) -> bool {
        self.beside.is_none_or(|beside| beside.real.is_within_pairs())
    }

    /// The float next to the real, rounded as the operation rounds.
    #[inline]
    pub fn rounded(&self) -> u128 {
        self.real().rounded(self.target())
    }

    /// Total error, in the format in which the value was last rounded.
    #[inline]
    pub fn ulps(&self) -> u64 {
        match self.beside {
            Some(beside) if beside.ulps != ULPS_UNASKED => beside.ulps,
            _ => error::ulps_of(self.target(), self.bits(), self.rounded()),
        }
    }

    /// An argument, as it is kept.
    #[inline]
    pub fn kept_arg(&self, number: usize) -> (Slot, u64) {
        match (number, self.odd) {
            (..INLINE, _) => (self.node.slots[number], self.node.args[number]),
            (INLINE, Some(odd)) if self.node.slots[0] != Slot::NONE => (odd.fourth_slot, odd.fourth),
            _ => (Slot::NONE, 0),
        }
    }
}

const _: () = assert!(MAX_ARITY == INLINE + 1);
