//! Concrete traces: the operations behind a value, as a DAG. Moves, loads, stores and calls leave no node in it.
//!
//! Nodes lie in one arena and are spoken of by number. Nobody counts who holds them: when the arena is full, [`Nodes::collect`] looks from
//! the places that shadow something how far traces are still wanted, cuts them there, and moves what stays together, in the order in which it was made. So a
//! new value costs a write to the next place, passing it on costs a number, and memory has a bound however long the program runs. What lives
//! long comes to lie below all that does not, and is not moved again.

#[path = "collect.rs"]
mod collect;

use crate::beside::{PAGE, Sparse};
use crate::error;
use crate::format::is_within;
use crate::influence::Influences;
use crate::lanes::Facts;
pub use crate::leaf::Leaf;
use crate::location::LocationId;
use crate::mode::Target;
use crate::node::{Beside, INLINE, Kept, Odd, ULPS_UNASKED, is_special};
pub use crate::node::{Node, Slot, View};
use crate::number::Number;
use crate::offset::Near;
use crate::real::Real;
use crate::space::Space;
use collect::{LONG, Used};
use fpgrind_ir::{MAX_ARITY, Operator, Type};
use smallvec::SmallVec;
use std::num::NonZeroU32;
use std::ops::Index;

/// A node, by number. It is good until the arena is collected; roots are told the new one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Handle(NonZeroU32);

impl Handle {
    fn new(index: usize) -> Handle {
        Handle(NonZeroU32::MIN.saturating_add(index as u32))
    }

    #[inline]
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// How it is kept as an argument.
    #[inline(always)]
    pub fn as_arg(self) -> (Slot, u64) {
        (Slot::NODE, self.0.get() as u64)
    }

    /// The node that is kept so.
    #[inline(always)]
    pub fn of_arg(slot: Slot, word: u64) -> Option<Handle> {
        NonZeroU32::new(word as u32).filter(|_| slot == Slot::NODE).map(Handle)
    }

    /// The node that lies so many further.
    pub fn further(self, by: usize) -> Handle {
        Handle::new(self.index() + by)
    }

    /// Bits that say nothing about anything.
    pub fn hash(self) -> u32 {
        self.0.get().wrapping_mul(0x9e37_79b1)
    }
}

/// A float as an operation sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    Leaf(Leaf),
    Node(Handle),
}

impl Term {
    /// What is kept so, and is no leaf that is too long for that.
    pub fn of_arg(slot: Slot, word: u64) -> Option<Term> {
        match slot.as_leaf() {
            Some((ty, constant)) => Some(Term::Leaf(Leaf::new(ty, word as u128, constant))),
            None => Handle::of_arg(slot, word).map(Term::Node),
        }
    }
}

/// The arguments of an operation.
pub type Args = SmallVec<[Term; MAX_ARITY]>;

/// What a new node is made of.
pub struct Made<R> {
    pub operator: Operator,
    pub at: LocationId,
    pub influences: Influences,
    pub bits: u128,
    pub real: R,
    pub target: Target,
    pub ulps: u64,
}

/// Between the making of two nodes.
#[derive(Clone, Copy)]
pub struct Moment {
    collections: u64,
    next: usize,
}

/// The arena.
pub struct Nodes<R> {
    nodes: Space<Node>,
    /// Where they are, for compiled code.
    pub(crate) base: *mut Node,
    /// What some have beside themselves, and what few of those have.
    beside: Sparse<Beside<R>>,
    odd: Sparse<Odd>,
    /// What the last collection found in use.
    used: Used,
    /// Those whose reals have memory beside themselves.
    heavy: Vec<usize>,
    /// The next node, and where there is no more room.
    pub(crate) cursor: usize,
    pub(crate) end: usize,
    /// Nodes to have before the next collection.
    pub(crate) enough: usize,
    most: usize,
    max_depth: usize,
    /// Levels that were kept last.
    levels: usize,
    /// Collections that left shorter traces than were asked for, for want of memory.
    pub shortened: u64,
    collections: u64,
}

/// They fit into a second-level cache: more are worth their misses only if they are in use.
const FEW: usize = 1 << 13;
/// New ones come in such numbers.
const MORE: usize = PAGE;
/// How far ahead of itself a collection has the memory fetched that it will look at.
const AHEAD: usize = 16;
/// Depth costs memory for every live value.
const MAX_DEPTH: usize = 1000;

impl<R> Nodes<R> {
    /// A node, and what lies beside it.
    #[inline(always)]
    pub fn of(&self, handle: Handle) -> View<'_, R> {
        let (index, node) = (handle.index(), &self[handle]);
        View {
            node,
            beside: if node.has_beside() { self.beside.get(index) } else { None },
            odd: if node.kept == Kept::Odd { self.odd.get(index) } else { None },
        }
    }
}

impl<R: Real> Nodes<R> {
    /// Traces of so many levels, in so many bytes.
    pub fn new(max_depth: usize, bytes: usize) -> Nodes<R> {
        let most = (bytes / (size_of::<Node>() + size_of::<Beside<R>>())).clamp(FEW, u32::MAX as usize - 1);
        let max_depth = max_depth.clamp(1, MAX_DEPTH);
        Nodes {
            nodes: Space::new(most, true),
            base: std::ptr::null_mut(),
            beside: Sparse::new(most, !R::HAS_PAIRS),
            odd: Sparse::new(most, false),
            used: Used::default(),
            heavy: Vec::new(),
            cursor: 0,
            end: 0,
            enough: FEW,
            most,
            max_depth,
            levels: LONG * max_depth,
            shortened: 0,
            collections: 0,
        }
    }

    pub fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// Makes a node.
    pub fn make(&mut self, made: Made<R>, args: &[Term]) -> Handle {
        let (mut slots, mut words) = ([Slot::NONE; MAX_ARITY], [0; MAX_ARITY]);
        for (i, arg) in args.iter().enumerate().take(MAX_ARITY) {
            (slots[i], words[i]) = match arg {
                Term::Node(handle) => handle.as_arg(),
                Term::Leaf(leaf) if leaf.is_short() => (Slot::leaf(leaf.ty, leaf.constant), leaf.bits() as u64),
                Term::Leaf(leaf) => self.long_leaf(*leaf).as_arg(),
            };
        }
        self.make_of(made, slots, words)
    }

    fn long_leaf(&mut self, leaf: Leaf) -> Handle {
        let (real, influences) = (R::exactly(0, Number::new(leaf.ty, leaf.bits())), Influences::NONE);
        let (operator, at, target) = (Operator::Cast, LocationId(0), Target::nearest(leaf.ty));
        let made = Made { operator, at, influences, bits: leaf.bits(), real, target, ulps: 0 };
        let handle = self.make_of(made, [Slot::NONE; MAX_ARITY], [0; MAX_ARITY]);
        self.odd.get_or_make(handle.index()).leaf = Some(leaf.constant);
        handle
    }

    /// Makes a node.
    #[inline(always)]
    pub fn make_of(&mut self, made: Made<R>, slots: [Slot; MAX_ARITY], words: [u64; MAX_ARITY]) -> Handle {
        let Made { operator, at, influences, bits, real, target, ulps } = made;
        let index = self.next_free();
        let node = &mut self.nodes[index];
        (node.operator, node.ty) = (operator, target.ty);
        (node.at, node.influences) = (at, influences);
        node.slots.copy_from_slice(&slots[..INLINE]);
        node.args.copy_from_slice(&words[..INLINE]);
        let (fourth, fourth_slot) = (words[INLINE], slots[INLINE]);
        self.keep(index, Beside { real, ulps }, Odd { target, bits, fourth, fourth_slot, leaf: None });
        Handle::new(index)
    }

    /// Makes the node whose real was computed where it stays. It is an argument like others.
    #[inline(always)]
    pub fn make_next(&mut self, node: Node) -> Handle {
        let index = self.cursor;
        self.cursor += 1;
        let next = &mut self.nodes[index];
        prefetch((&raw const *next).wrapping_add(AHEAD));
        *next = Node { kept: Kept::Real, ..node };
        Handle::new(index)
    }

    /// What will lie beside the node that is made next, where its real is to be computed, its total error being unasked; and the reals of these
    /// arguments, if they are nodes, all of which are kept beside.
    #[inline(always)]
    pub fn next_and(&mut self, of: [(Slot, u64); 3]) -> (&mut R, [Option<&R>; 3]) {
        self.make_room(1);
        let (before, next) = self.beside.before_and(self.cursor);
        prefetch((&raw const *next).wrapping_add(AHEAD));
        next.ulps = ULPS_UNASKED;
        (&mut next.real, of.map(|arg| before.get(place_of(arg)).map(|beside| &beside.real)))
    }

    /// What is kept beside an argument, if it is a node.
    #[inline(always)]
    pub fn real_of(&self, arg: (Slot, u64)) -> Option<&R> {
        self.beside.get(place_of(arg)).map(|beside| &beside.real)
    }

    /// What an argument is under the influence of.
    #[inline(always)]
    pub fn influences_of(&self, arg: (Slot, u64)) -> Influences {
        self.nodes.get(place_of(arg)).map_or(Influences::NONE, |node| node.influences)
    }

    /// The real that was computed there.
    pub fn next_real(&self) -> Option<&R> {
        Some(&self.beside.get(self.cursor)?.real)
    }

    /// What lies there since.
    pub fn next_beside(&mut self) -> &mut Beside<R> {
        self.beside.get_or_make(self.cursor)
    }

    /// Keeps what a node stands for, in the node if it has a place there, and beside if there is more to know.
    #[inline(always)]
    fn keep(&mut self, index: usize, beside: Beside<R>, odd: Odd) {
        let node = &mut self.nodes[index];
        let has_place = odd.fourth_slot == Slot::NONE && odd.target == Target::nearest(node.ty);
        let native = value(node.ty, odd.bits).filter(|_| has_place && node.operator != Operator::Cast);
        let near = native.and_then(|native| beside.real.near(native));
        node.is_settled = near.is_some() && beside.real.has_more();
        // Compiled code may look without asking: then it finds a distance that it cannot use.
        let unknown = Facts::UNKNOWN.near;
        node.near = near.unwrap_or(native.map_or(unknown, |native| Near { native, ..unknown }));
        node.kept = match (near, native) {
            (Some(near), _) if is_special(node.operator, || near.native) => Kept::Near,
            (Some(_), _) => Kept::Plain,
            (None, Some(native)) if !is_special(node.operator, || native) && beside.real.is_within_pairs() => {
                Kept::Real
            }
            _ => Kept::Odd,
        };
        if node.kept == Kept::Odd {
            *self.odd.get_or_make(index) = odd;
        }
        if node.has_beside() {
            let before = self.beside.get_or_make(index);
            if beside.real.has_more() && !before.real.has_more() {
                self.heavy.push(index);
            }
            *before = beside;
        }
    }

    /// Makes a node of a result that is near to the native value, of an operation that rounds to nearest.
    #[inline(always)]
    pub fn make_near(&mut self, node: Node) -> Handle {
        let index = self.next_free();
        self.nodes[index] = node;
        Handle::new(index)
    }

    #[inline(always)]
    fn next_free(&mut self) -> usize {
        self.make_room(1);
        self.cursor += 1;
        // What is written over is looked at first, and is in no cache.
        if let Some(later) = self.nodes.get(self.cursor + AHEAD) {
            prefetch(&raw const *later);
        }
        self.cursor - 1
    }

    /// Sees to it that there is room for so many.
    #[inline(always)]
    pub fn make_room(&mut self, count: usize) {
        if self.cursor + count > self.end {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        // SAFETY: all bits zero are a node.
        unsafe { self.nodes.extend(self.nodes.len() + MORE) };
        (self.base, self.end) = (self.nodes.as_mut_ptr(), self.nodes.len());
    }

    /// The node that will be made next.
    pub fn next(&self) -> Handle {
        Handle::new(self.cursor)
    }

    /// The node of which this is what is known; nothing if it is of no node.
    pub fn node_at(&self, facts: *const Facts) -> Option<Handle> {
        let bytes = (facts as usize).checked_sub(self.base as usize)?;
        let index = bytes / size_of::<Node>();
        (index < self.nodes.len()).then(|| Handle::new(index))
    }

    /// Is there memory for this node?
    pub fn has(&self, handle: Handle) -> bool {
        handle.index() < self.nodes.len()
    }

    /// What a value stands for was found out.
    pub fn set_real(&mut self, handle: Handle, real: R, ulps: u64) {
        let view = self.of(handle);
        let (target, bits, (fourth_slot, fourth)) = (view.target(), view.bits(), view.kept_arg(INLINE));
        self.keep(handle.index(), Beside { real, ulps }, Odd { target, bits, fourth, fourth_slot, leaf: None });
    }

    /// Is it time to collect? Not in the middle of a block: its values are nobody's roots.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.cursor >= self.enough
    }

    pub fn moment(&self) -> Moment {
        Moment { collections: self.collections, next: self.cursor }
    }

    /// What was made since then, in order; nothing is known of that after a collection.
    pub fn made_since(&self, moment: Moment) -> Option<impl Iterator<Item = Handle>> {
        (moment.collections == self.collections).then(|| (moment.next..self.cursor).map(Handle::new))
    }

    /// The arguments of an operation; none where the trace is cut off.
    pub fn args(&self, handle: Handle) -> impl Iterator<Item = Term> {
        (0..MAX_ARITY).map_while(move |number| self.arg(handle, number))
    }

    /// How many arguments are known.
    #[inline]
    pub fn arity(&self, handle: Handle) -> usize {
        let node = &self[handle];
        match node.slots.iter().position(|slot| *slot == Slot::NONE) {
            Some(arity) => arity,
            None => INLINE + (self.of(handle).kept_arg(INLINE).0 != Slot::NONE) as usize,
        }
    }

    #[inline]
    pub fn arg(&self, handle: Handle, number: usize) -> Option<Term> {
        let (slot, arg) = self.of(handle).kept_arg(number);
        match slot {
            Slot::NONE => None,
            Slot::NODE => Handle::of_arg(slot, arg).map(|handle| self.leaf_or_node(handle)),
            leaf => leaf.as_leaf().map(|(ty, constant)| Term::Leaf(Leaf::new(ty, arg as u128, constant))),
        }
    }

    /// What is kept as a node may be a leaf that is too long for an argument.
    fn leaf_or_node(&self, handle: Handle) -> Term {
        let node = self.of(handle);
        match node.odd.and_then(|odd| odd.leaf) {
            Some(constant) => Term::Leaf(Leaf::new(node.ty, node.bits(), constant)),
            None => Term::Node(handle),
        }
    }

    pub fn first_arg(&self, handle: Handle) -> Option<Term> {
        self.arg(handle, 0)
    }

    /// Did it not round? Where the trace is cut off, a cast to a wide format is taken to widen.
    pub fn is_exact(&self, handle: Handle) -> bool {
        let from = self.first_arg(handle).map_or(Type::F32, |arg| self.ty(arg));
        crate::operation::is_exact(self[handle].operator, from, self[handle].ty)
    }

    /// A single taken as a double, or the like: exact, and no operation to speak of.
    #[inline]
    pub fn is_widening(&self, handle: Handle) -> bool {
        self[handle].operator == Operator::Cast
            && self.first_arg(handle).is_some_and(|arg| is_within(self.ty(arg), self[handle].ty))
    }

    /// Does the same operation occur among those behind the value? Then the value is one that a loop carries from turn to turn.
    pub fn recurs(&self, handle: Handle) -> bool {
        /// Nodes looked at: a loop's body is not larger, or its traces are cut before they show a second turn.
        const ENOUGH: usize = 200;
        let what = |handle: Handle| (self[handle].at, self[handle].operator);
        let mut pending = vec![handle];
        let mut looked_at = 0;
        while let Some(node) = pending.pop() {
            for arg in self.args(node) {
                if let Term::Node(arg) = arg {
                    looked_at += 1;
                    if what(arg) == what(handle) {
                        return true;
                    }
                    if looked_at < ENOUGH {
                        pending.push(arg);
                    }
                }
            }
        }
        false
    }

    #[inline]
    pub fn bits(&self, term: Term) -> u128 {
        match term {
            Term::Leaf(leaf) => leaf.bits(),
            Term::Node(node) => self.of(node).bits(),
        }
    }

    #[inline]
    pub fn ty(&self, term: Term) -> Type {
        match term {
            Term::Leaf(leaf) => leaf.ty,
            Term::Node(node) => self[node].ty,
        }
    }

    /// The native value, for ranges: a long double's is not exact.
    #[inline(always)]
    pub fn value(&self, term: Term) -> f64 {
        match term {
            Term::Node(node) if self[node].kept != Kept::Odd => self[node].near.native,
            _ => error::value(self.ty(term), self.bits(term)),
        }
    }

    /// The native value.
    pub fn number(&self, term: Term) -> Number {
        Number::new(self.ty(term), self.bits(term))
    }

    /// The float next to the real.
    #[inline]
    pub fn rounded(&self, term: Term) -> u128 {
        match term {
            Term::Leaf(leaf) => leaf.bits(),
            Term::Node(node) => self.of(node).rounded(),
        }
    }

    /// What the native value should be.
    pub fn correct(&self, term: Term) -> Number {
        Number::new(self.ty(term), self.rounded(term))
    }

    #[inline]
    pub fn ulps(&self, term: Term) -> u64 {
        match term {
            Term::Leaf(_) => 0,
            Term::Node(node) => self.of(node).ulps(),
        }
    }

    #[inline]
    pub fn influences(&self, term: Term) -> Influences {
        match term {
            Term::Leaf(_) => Influences::NONE,
            Term::Node(node) => self[node].influences,
        }
    }

    /// The term that an expression shows for this one: widening a single is exact and leaves no mark.
    #[inline]
    pub fn shown(&self, mut term: Term) -> Term {
        if let Term::Node(node) = term {
            term = self.leaf_or_node(node);
        }
        while let Term::Node(node) = term
            && self.is_widening(node)
            && let Some(arg) = self.first_arg(node)
        {
            term = arg;
        }
        term
    }
}

/// Where the node lies that is kept so; beyond all if it is none.
#[inline(always)]
fn place_of((slot, word): (Slot, u64)) -> usize {
    if slot == Slot::NODE { (word as u32 as usize).wrapping_sub(1) } else { usize::MAX }
}

/// The native value of what may be kept as a distance from there. (A NaN's bits are more than that it is one.)
#[inline(always)]
fn value(ty: Type, bits: u128) -> Option<f64> {
    let value = match ty {
        Type::F64 => f64::from_bits(bits as u64),
        Type::F32 => f32::from_bits(bits as u32) as f64,
        _ => return None,
    };
    if value.is_nan() { None } else { Some(value) }
}

#[inline(always)]
fn prefetch<T>(what: *const T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: it changes nothing, wherever that is.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(what.cast()) };
}

impl<R> Index<Handle> for Nodes<R> {
    type Output = Node;

    #[inline]
    fn index(&self, handle: Handle) -> &Node {
        &self.nodes[handle.index()]
    }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
