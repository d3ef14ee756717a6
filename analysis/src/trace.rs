//! Concrete traces: the operations behind a value, as a DAG. Moves, loads, stores and calls leave no node in it.
//!
//! Nodes lie in one arena and are spoken of by number. Nobody counts who holds them: when the arena is full, [`Nodes::collect`] looks from
//! the places that shadow something how far traces are still wanted, cuts them there and gives the rest away again. So a
//! new value costs a write, passing it on costs a number, and memory has a bound however long the program runs.

use crate::error;
use crate::format::is_within;
use crate::influence::Influences;
pub use crate::leaf::Leaf;
use crate::location::LocationId;
use crate::magic;
use crate::mode::{Direction, Target};
use crate::number::Number;
use crate::real::Real;
use fpgrind_ir::{MAX_ARITY, Operator, Type};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::num::NonZeroU32;
use std::ops::Index;

/// A node, by number. It is good until the arena is collected without a root that leads to it.
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

/// The arguments of an operation.
pub type Args = SmallVec<[Term; MAX_ARITY]>;

/// How an argument is kept in a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Slot {
    None,
    Node,
    Data(Type),
    Number(Type),
}

impl Slot {
    /// How a node is kept, and what is kept of it.
    #[inline(always)]
    pub fn node(handle: Handle) -> (Slot, u64) {
        (Slot::Node, handle.0.get() as u64)
    }

    /// The same of a float of at most eight bytes.
    #[inline(always)]
    pub fn leaf(ty: Type, bits: u64, constant: bool) -> (Slot, u64) {
        (if constant { Slot::Number(ty) } else { Slot::Data(ty) }, bits)
    }
}

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

/// The result of an operation, and how it came about. Compiled code writes them, too; what is the same in all results of an instruction
/// is `at` and the eight bytes from `operator` on. What is asked of an argument is in one line of a cache.
#[repr(C)]
pub struct Node<R> {
    /// What it stands for, as it is best kept beside the native value (`offset.rs`).
    pub(crate) kept: R,
    pub influences: Influences,
    pub at: LocationId,
    pub(crate) low: u64,
    pub operator: Operator,
    pub ty: Type,
    digits: u8,
    direction: Direction,
    /// A leaf that is too long for a slot; and whether it is a number written in the program.
    leaf: Option<bool>,
    /// Its type, if it is an argument like others, and kept as an offset.
    pub(crate) plain: Option<Type>,
    /// Total error, in the format in which the value was last rounded; or that it is to be had from the rest.
    pub(crate) ulps: u64,
    /// Bits of leaves, numbers of nodes.
    pub(crate) args: [u64; MAX_ARITY],
    pub(crate) slots: [Slot; MAX_ARITY],
    /// Of floats of more than eight bytes.
    high: u64,
}

/// The total error of a node that nobody has asked for.
pub const ULPS_UNASKED: u64 = u64::MAX - 1;

impl<R> Node<R> {
    /// What the guest computed.
    #[inline]
    pub fn bits(&self) -> u128 {
        match self.ty.bytes() {
            ..=8 => self.low as u128,
            _ => self.low as u128 | (self.high as u128) << 64,
        }
    }

    /// Is that this float, of at most eight bytes?
    #[inline(always)]
    pub fn is(&self, bits: u64) -> bool {
        self.low == bits
    }

    #[inline(always)]
    pub fn is_double(&self, bits: u64) -> bool {
        self.ty == Type::F64 && self.low == bits
    }

    /// A cast may have been a loss that counts only now, and a magic number may have been negated.
    #[inline(always)]
    pub fn is_special(&self) -> bool {
        match self.operator {
            Operator::Cast => true,
            Operator::Neg => magic::may_be(self.number().to_f64()),
            _ => false,
        }
    }

    /// Are these its first bytes, as many of them as there are in eight?
    #[inline(always)]
    pub fn begins_with(&self, bits: u64, bytes: usize) -> bool {
        match bytes {
            8.. => self.low == bits,
            _ => (self.low ^ bits) << (64 - 8 * bytes) == 0,
        }
    }

    pub fn number(&self) -> Number {
        Number::new(self.ty, self.bits())
    }

    /// As the operation rounded.
    #[inline]
    pub fn target(&self) -> Target {
        Target { ty: self.ty, direction: self.direction, digits: self.digits }
    }
}

impl<R: Real> Node<R> {
    fn empty() -> Node<R> {
        Node {
            kept: R::zero(0),
            influences: Influences::NONE,
            at: LocationId(0),
            low: 0,
            operator: Operator::Cast,
            ty: Type::F64,
            digits: 0,
            direction: Direction::Nearest,
            leaf: None,
            plain: None,
            ulps: 0,
            args: [0; MAX_ARITY],
            slots: [Slot::None; MAX_ARITY],
            high: 0,
        }
    }

    /// One like all that an operation rounds to nearest.
    pub(crate) fn example(operator: Operator, ty: Type) -> Node<R> {
        let mut node = Node::empty();
        node.set_kind(operator, Target::nearest(ty));
        node.keep(R::zero(0));
        node
    }

    #[inline(always)]
    fn set_kind(&mut self, operator: Operator, target: Target) {
        (self.operator, self.ty) = (operator, target.ty);
        (self.digits, self.direction) = (target.digits, target.direction);
        self.leaf = None;
    }

    /// What it stands for, when all else is set.
    #[inline(always)]
    fn keep(&mut self, real: R) {
        let native = match self.ty {
            Type::F64 => f64::from_bits(self.low),
            Type::F32 => f32::from_bits(self.low as u32) as f64,
            _ => {
                (self.kept, self.plain) = (real, None);
                return;
            }
        };
        self.kept = real.offset_from(native);
        self.plain = Some(self.ty).filter(|_| self.kept.is_offset_from(native) && !self.is_special());
    }

    /// What it stands for.
    #[inline(always)]
    pub fn real(&self) -> Cow<'_, R> {
        self.kept.normal().map_or(Cow::Borrowed(&self.kept), Cow::Owned)
    }

    /// The float next to the real, rounded as the operation rounds.
    #[inline]
    pub fn rounded(&self) -> u128 {
        self.real().rounded(self.target())
    }

    /// Total error, in the format in which the value was last rounded.
    #[inline]
    pub fn ulps(&self) -> u64 {
        match self.ulps {
            ULPS_UNASKED => error::ulps_of(self.target(), self.bits(), self.rounded()),
            known => known,
        }
    }
}

/// Between the making of two nodes.
#[derive(Clone, Copy)]
pub struct Moment {
    collections: u64,
    next: usize,
}

/// The arena.
pub struct Nodes<R> {
    nodes: Vec<Node<R>>,
    /// Where they are, for compiled code.
    pub(crate) base: *mut Node<R>,
    /// A bit for each node that the last collection found in use.
    used: Vec<u64>,
    /// Those whose reals have memory beside themselves.
    heavy: Vec<usize>,
    /// The next that is not, or where to look for it; up to the end all are free.
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
const FEW: usize = 1 << 14;
/// New ones come in such numbers.
const MORE: usize = 256;
/// How many times the nodes in use there are room for. Each collection looks at all in use.
const ROOM: usize = 4;
/// How many times the levels asked for are kept while memory is not short. An expression shows so many levels, but whether a loop carries a
/// value shows only further below.
const GENEROUS: usize = 1;
/// And how many times while that is little: doubts are settled, and errors taken apart, with what is known of a value's past.
const LONG: usize = 16;
const MANY: usize = 1 << 11;
/// How far ahead of itself a collection has the memory fetched that it will look at.
const AHEAD: usize = 16;
/// Depth costs memory for every live value.
const MAX_DEPTH: usize = 1000;

impl<R: Real> Nodes<R> {
    /// Traces of so many levels, in so many bytes.
    pub fn new(max_depth: usize, bytes: usize) -> Nodes<R> {
        let most = (bytes / size_of::<Node<R>>()).clamp(FEW, u32::MAX as usize - 1);
        let max_depth = max_depth.clamp(1, MAX_DEPTH);
        Nodes {
            nodes: Vec::new(),
            base: std::ptr::null_mut(),
            used: Vec::new(),
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
        let (mut slots, mut words) = ([Slot::None; MAX_ARITY], [0; MAX_ARITY]);
        for (i, arg) in args.iter().enumerate().take(MAX_ARITY) {
            (slots[i], words[i]) = match arg {
                Term::Node(handle) => Slot::node(*handle),
                Term::Leaf(leaf) if leaf.is_short() => Slot::leaf(leaf.ty, leaf.bits() as u64, leaf.constant),
                Term::Leaf(leaf) => Slot::node(self.long_leaf(*leaf)),
            };
        }
        self.make_of(made, slots, words)
    }

    fn long_leaf(&mut self, leaf: Leaf) -> Handle {
        let (real, influences) = (R::exactly(0, Number::new(leaf.ty, leaf.bits())), Influences::NONE);
        let (operator, at, target) = (Operator::Cast, LocationId(0), Target::nearest(leaf.ty));
        let made = Made { operator, at, influences, bits: leaf.bits(), real, target, ulps: 0 };
        let handle = self.make_of(made, [Slot::None; MAX_ARITY], [0; MAX_ARITY]);
        self.nodes[handle.index()].leaf = Some(leaf.constant);
        handle
    }

    /// Makes a node. Each field is written where it stays: nodes are large.
    #[inline(always)]
    pub fn make_of(&mut self, made: Made<R>, slots: [Slot; MAX_ARITY], words: [u64; MAX_ARITY]) -> Handle {
        self.make_with(made, slots, words, Node::keep)
    }

    /// Makes the node whose real was computed where it stays.
    #[inline(always)]
    pub fn make_next(&mut self, made: Made<()>, slots: [Slot; MAX_ARITY], words: [u64; MAX_ARITY]) -> Handle {
        self.make_with(made, slots, words, |node, ()| node.plain = None)
    }

    /// Where the real of the node that is made next is to be computed, and those of these nodes.
    #[inline(always)]
    pub fn next_and<const N: usize>(&mut self, of: [Option<Handle>; N]) -> (&mut R, [Option<&R>; N]) {
        self.make_room();
        let (nodes, next) = (self.nodes.as_mut_ptr(), self.cursor);
        let mut known = [None; N];
        for (known, handle) in known.iter_mut().zip(of) {
            if let Some(handle) = handle {
                assert!(handle.index() < self.nodes.len() && handle.index() != next);
                // SAFETY: it is one of the nodes, and not the next, which alone is written to.
                *known = Some(unsafe { &(*nodes.add(handle.index())).kept });
            }
        }
        assert!(next < self.nodes.len());
        // SAFETY: it is one of the nodes, and none of those above.
        (unsafe { &mut (*nodes.add(next)).kept }, known)
    }

    /// That real.
    pub fn next_real(&self) -> &R {
        &self.nodes[self.cursor].kept
    }

    #[inline(always)]
    fn make_with<K>(
        &mut self,
        made: Made<K>,
        slots: [Slot; MAX_ARITY],
        words: [u64; MAX_ARITY],
        keep: impl FnOnce(&mut Node<R>, K),
    ) -> Handle {
        let Made { operator, at, influences, bits, real, target, ulps } = made;
        let index = self.next_free();
        let node = &mut self.nodes[index];
        node.args = words;
        node.slots = slots;
        node.ulps = ulps;
        (node.low, node.high) = (bits as u64, (bits >> 64) as u64);
        (node.at, node.influences) = (at, influences);
        node.set_kind(operator, target);
        keep(node, real);
        if node.kept.has_more() {
            self.heavy.push(index);
        }
        Handle::new(index)
    }

    /// The next place that was not in use at the last collection, or a new one.
    #[inline(always)]
    fn next_free(&mut self) -> usize {
        self.make_room();
        self.cursor += 1;
        // What is written over is looked at first, and is in no cache.
        if let Some(later) = self.nodes.get(self.cursor + AHEAD) {
            prefetch(&later.kept);
            prefetch(&later.high);
        }
        self.cursor - 1
    }

    /// Sees to it that the next node is a free one.
    #[inline(always)]
    pub fn make_room(&mut self) {
        if self.cursor == self.end {
            self.search_free();
        }
    }

    #[cold]
    fn search_free(&mut self) {
        let used = |at: usize| self.used.get(at / 64).map_or(0, |word| word >> (at % 64));
        let left = |at: usize| 64 - at % 64;
        let mut at = self.cursor;
        while used(at) & 1 == 1 {
            at += (used(at).trailing_ones() as usize).min(left(at));
        }
        let mut end = at;
        // Not too far: those that are asked for between two collections are all looked at once.
        while end < at + MORE && used(end) & 1 == 0 {
            end += (used(end).trailing_zeros() as usize).min(left(end));
        }
        if at >= self.nodes.len() {
            self.nodes.extend((0..MORE).map(|_| Node::empty()));
            self.base = self.nodes.as_mut_ptr();
        }
        (self.cursor, self.end) = (at, end.min(self.nodes.len()));
    }

    /// Did the last collection find it in use?
    fn was_used(&self, at: usize) -> bool {
        self.used.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Is there memory for this node?
    pub fn has(&self, handle: Handle) -> bool {
        handle.index() < self.nodes.len()
    }

    /// What a value stands for was found out.
    pub fn set_real(&mut self, handle: Handle, real: R, ulps: u64) {
        let node = &mut self.nodes[handle.index()];
        node.keep(real);
        node.ulps = ulps;
        if node.kept.has_more() {
            self.heavy.push(handle.index());
        }
    }

    /// Is it time to collect? Not in the middle of a block: its values are nobody's roots.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.cursor >= self.enough
    }

    /// Gives away what no root leads to in so many steps as traces are kept. `roots` calls its argument with each; so does `examples` with
    /// those of which no more is wanted than an expression shows.
    pub fn collect(&mut self, roots: impl Fn(&mut dyn FnMut(Handle)), examples: impl Fn(&mut dyn FnMut(Handle))) {
        let asked = GENEROUS * self.max_depth;
        let mut live;
        loop {
            live = self.mark(self.levels, &roots, &examples);
            // The nodes in use may take half of the memory, so that collections are seldom; and what is kept beyond what was asked for, little.
            let is_little = 2 * live <= self.most && (live <= MANY || self.levels <= asked);
            if is_little || self.levels == 0 {
                break;
            }
            self.levels /= 2;
            self.shortened += (self.levels < self.max_depth) as u64;
        }
        self.levels = self.levels.max(asked);
        // Compiled code writes over what is free.
        let mut heavy = std::mem::take(&mut self.heavy);
        heavy.retain(|at| {
            let stays = self.was_used(*at);
            if !stays {
                self.nodes[*at].kept.clear();
            }
            stays && self.nodes[*at].kept.has_more()
        });
        heavy.sort_unstable();
        heavy.dedup();
        self.heavy = heavy;
        self.enough = (ROOM * live).clamp(FEW, self.most.max(live + FEW));
        if self.nodes.len() > 2 * self.enough {
            self.nodes.truncate(self.enough.max(self.last_used() + 1));
        }
        (self.cursor, self.end) = (0, 0);
        self.collections += 1;
    }

    pub fn moment(&self) -> Moment {
        Moment { collections: self.collections, next: self.cursor }
    }

    /// What was made since then, in order; nothing is known of that after a collection.
    pub fn made_since(&self, moment: Moment) -> Option<impl Iterator<Item = Handle>> {
        let made = (moment.next..self.cursor.min(self.nodes.len())).filter(|at| !self.was_used(*at));
        (moment.collections == self.collections).then(|| made.map(Handle::new))
    }

    fn last_used(&self) -> usize {
        let word = self.used.iter().rposition(|word| *word != 0).unwrap_or(0);
        64 * word + 63usize.saturating_sub(self.used.get(word).map_or(64, |word| word.leading_zeros()) as usize)
    }

    /// Marks what is in use, level by level, and cuts traces below the last. How many nodes that are.
    fn mark(
        &mut self,
        levels: usize,
        roots: &impl Fn(&mut dyn FnMut(Handle)),
        examples: &impl Fn(&mut dyn FnMut(Handle)),
    ) -> usize {
        self.used.clear();
        self.used.resize(self.nodes.len().div_ceil(64), 0);
        let used = &mut self.used;
        let mut insert = |handle: Handle| {
            let (word, bit) = (handle.index() / 64, 1 << (handle.index() % 64));
            let is_new = used.get(word).is_some_and(|word| word & bit == 0);
            if is_new {
                used[word] |= bit;
            }
            is_new
        };
        let (mut level, mut below) = (Vec::new(), Vec::new());
        roots(&mut |handle| {
            if insert(handle) {
                level.push(handle);
            }
        });
        let mut live = level.len();
        for number in 0..=levels {
            if number == levels.saturating_sub(self.max_depth) {
                let before = level.len();
                examples(&mut |handle| {
                    if insert(handle) {
                        level.push(handle);
                    }
                });
                live += level.len() - before;
            }
            if number == levels {
                break;
            }
            for (number, handle) in level.iter().enumerate() {
                // Most are in no cache.
                if let Some(later) = level.get(number + AHEAD) {
                    prefetch(&self.nodes[later.index()].args);
                }
                let node = &self.nodes[handle.index()];
                for (slot, arg) in node.slots.iter().zip(&node.args) {
                    if let (Slot::Node, Some(arg)) = (slot, NonZeroU32::new(*arg as u32))
                        && insert(Handle(arg))
                    {
                        below.push(Handle(arg));
                    }
                }
            }
            live += below.len();
            level.clear();
            std::mem::swap(&mut level, &mut below);
        }
        for handle in level {
            self.nodes[handle.index()].slots = [Slot::None; MAX_ARITY];
        }
        live
    }

    /// The arguments of an operation; none where the trace is cut off.
    pub fn args(&self, handle: Handle) -> impl Iterator<Item = Term> {
        (0..MAX_ARITY).map_while(move |number| self.arg(handle, number))
    }

    /// How many arguments are known.
    #[inline]
    pub fn arity(&self, handle: Handle) -> usize {
        self[handle].slots.iter().take_while(|slot| **slot != Slot::None).count()
    }

    #[inline]
    pub fn arg(&self, handle: Handle, number: usize) -> Option<Term> {
        let node = &self[handle];
        self.arg_in(*node.slots.get(number)?, node.args[number])
    }

    pub fn first_arg(&self, handle: Handle) -> Option<Term> {
        self.arg(handle, 0)
    }

    #[inline]
    fn arg_in(&self, slot: Slot, arg: u64) -> Option<Term> {
        match slot {
            Slot::None => None,
            Slot::Data(ty) => Some(Term::Leaf(Leaf::new(ty, arg as u128, false))),
            Slot::Number(ty) => Some(Term::Leaf(Leaf::new(ty, arg as u128, true))),
            Slot::Node => {
                let handle = Handle(NonZeroU32::new(arg as u32)?);
                let node = &self[handle];
                Some(match node.leaf {
                    Some(constant) => Term::Leaf(Leaf::new(node.ty, node.bits(), constant)),
                    None => Term::Node(handle),
                })
            }
        }
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
            Term::Node(node) => self[node].bits(),
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
    #[inline]
    pub fn value(&self, term: Term) -> f64 {
        error::value(self.ty(term), self.bits(term))
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
            Term::Node(node) => self[node].rounded(),
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
            Term::Node(node) => self[node].ulps(),
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
        while let Term::Node(node) = term
            && self.is_widening(node)
            && let Some(arg) = self.first_arg(node)
        {
            term = arg;
        }
        term
    }
}

#[inline(always)]
fn prefetch<T>(what: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: it changes nothing.
    unsafe { _mm_prefetch::<_MM_HINT_T0>((&raw const *what).cast()) };
}

impl<R> Index<Handle> for Nodes<R> {
    type Output = Node<R>;

    #[inline]
    fn index(&self, handle: Handle) -> &Node<R> {
        &self.nodes[handle.index()]
    }
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod tests;
