//! Collections: what registers, memory and sites still lead to stays, as far as traces are wanted, and is moved together.

use super::{AHEAD, FEW, Handle, Kept, Nodes, Slot, prefetch};
use crate::node::INLINE;
use crate::real::Real;

/// How many times the nodes in use there are room for: each collection looks at all in use. And so many times as much again while that is not
/// much, because memory that was never used takes long, too; less where what lies beside nodes takes as much. (There four times took the same time, in short
/// runs and in long ones; but traces are then cut earlier, and what a loop carries is seen less.)
const ROOM: usize = 4;
const AGAIN: usize = 3;
const AGAIN_WITH_BESIDE: usize = 1;
const MUCH: usize = 1 << 18;
/// How many times the levels asked for are kept while memory is not short. An expression shows so many levels, but whether a loop carries a
/// value shows only further below.
const GENEROUS: usize = 1;
/// And how many times while that is little: doubts are settled, and errors taken apart, with what is known of a value's past.
pub const LONG: usize = 16;
const MANY: usize = 1 << 11;

/// Calls a function with each root, which may get another number.
pub trait EachRoot: FnMut(&mut dyn FnMut(&mut Handle)) {}

impl<F: FnMut(&mut dyn FnMut(&mut Handle))> EachRoot for F {}

/// What a collection finds in use, and where it goes.
#[derive(Default)]
pub struct Used {
    /// A bit for each node.
    bits: Vec<u64>,
    /// Those before the first that is not in use stay where they are; of the others there is where they go.
    stay: usize,
    moved: Vec<u32>,
}

impl Used {
    fn clear(&mut self, nodes: usize) {
        self.bits.clear();
        self.bits.resize(nodes.div_ceil(64), 0);
    }

    /// Says whether it is new.
    #[inline(always)]
    fn insert(&mut self, handle: Handle) -> bool {
        let bit = 1 << (handle.index() % 64);
        let Some(word) = self.bits.get_mut(handle.index() / 64) else { return false };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn has(&self, at: usize) -> bool {
        self.bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Finds out where all go that do not stay where they are.
    fn count(&mut self) {
        let full = self.bits.iter().take_while(|word| **word == u64::MAX).count();
        let rest = self.bits.get(full).map_or(0, |word| word.trailing_ones() as usize);
        self.stay = 64 * full + rest;
        // (What is not written now nobody asks for.)
        let behind = (64 * self.bits.len()).saturating_sub(self.stay);
        self.moved.resize(self.moved.len().max(behind), 0);
        for (to, at) in (self.stay as u32..).zip(ones(&self.bits, self.stay)) {
            self.moved[at - self.stay] = to;
        }
    }

    /// Where a node goes.
    #[inline(always)]
    fn moved(&self, handle: Handle) -> Handle {
        let to = handle.index().checked_sub(self.stay).and_then(|at| self.moved.get(at));
        to.map_or(handle, |to| Handle::new(*to as usize))
    }
}

/// The bits that are set, from one on.
fn ones(bits: &[u64], from: usize) -> impl Iterator<Item = usize> {
    bits.iter().enumerate().skip(from / 64).flat_map(move |(number, word)| {
        let mut word = if number == from / 64 { word & (u64::MAX << (from % 64)) } else { *word };
        std::iter::from_fn(move || {
            let bit = word.trailing_zeros() as usize;
            word &= word.wrapping_sub(1);
            (bit < 64).then_some(64 * number + bit)
        })
    })
}

impl<R: Real> Nodes<R> {
    /// Gives away what no root leads to in so many steps as traces are kept. `roots` calls its argument with each; so does `examples` with
    /// those of which no more is wanted than an expression shows.
    pub fn collect(&mut self, mut roots: impl EachRoot, mut examples: impl EachRoot) {
        let asked = GENEROUS * self.max_depth;
        let mut live;
        loop {
            live = self.mark(self.levels, &mut roots, &mut examples);
            // The nodes in use may take half of the memory, so that collections are seldom; and what is kept beyond what was asked for, little.
            let is_little = 2 * live <= self.most && (live <= MANY || self.levels <= asked);
            if is_little || self.levels == 0 {
                break;
            }
            self.levels /= 2;
            self.shortened += (self.levels < self.max_depth) as u64;
        }
        self.levels = self.levels.max(asked);
        self.used.count();
        self.clear_unused();
        self.move_together();
        let mut tell = |handle: &mut Handle| *handle = self.used.moved(*handle);
        roots(&mut tell);
        examples(&mut tell);
        self.cursor = live;
        let room = ROOM * live;
        let again = if R::HAS_PAIRS { AGAIN } else { AGAIN_WITH_BESIDE };
        self.enough = (room + (again * room).min(MUCH)).clamp(FEW, self.most.max(live + FEW));
        // What is in use changes from one collection to the next: little memory is not given back to be asked for again.
        if self.nodes.len() > 2 * self.enough.max(MUCH) {
            self.nodes.truncate(self.enough);
            self.end = self.nodes.len();
            self.beside.truncate(self.nodes.len());
            self.odd.truncate(self.nodes.len());
        }
        self.collections += 1;
    }

    /// Reals of nodes that are gone give their memory back. (Compiled code writes over what is free.)
    fn clear_unused(&mut self) {
        let mut heavy = std::mem::take(&mut self.heavy);
        heavy.retain_mut(|at| {
            let stays = self.used.has(*at);
            let beside = self.beside.get_or_make(*at);
            if !stays {
                beside.real.clear();
            }
            let is_heavy = stays && beside.real.has_more();
            *at = self.used.moved(Handle::new(*at)).index();
            is_heavy
        });
        self.heavy = heavy;
    }

    fn move_together(&mut self) {
        let used = std::mem::take(&mut self.used);
        // None goes where one still is that comes later; and arguments are older than what is made of them.
        for (to, at) in (used.stay..).zip(ones(&used.bits, used.stay)) {
            let mut node = self.nodes[at];
            for (slot, arg) in node.slots.iter().zip(&mut node.args) {
                if let Some(handle) = Handle::of_arg(*slot, *arg) {
                    *arg = used.moved(handle).as_arg().1;
                }
            }
            self.nodes[to] = node;
            if node.has_beside() {
                self.beside.move_to(at, to);
            }
            if node.kept == Kept::Odd {
                self.odd.move_to(at, to);
                let odd = self.odd.get_or_make(to);
                if let Some(handle) = Handle::of_arg(odd.fourth_slot, odd.fourth) {
                    odd.fourth = used.moved(handle).as_arg().1;
                }
            }
        }
        self.used = used;
    }

    /// Marks what is in use, level by level, and cuts traces below the last. How many nodes that are.
    fn mark(&mut self, levels: usize, roots: &mut impl EachRoot, examples: &mut impl EachRoot) -> usize {
        let mut used = std::mem::take(&mut self.used);
        used.clear(self.cursor);
        let (mut level, mut below) = (Vec::new(), Vec::new());
        let mut live = 0;
        roots(&mut |handle| {
            if used.insert(*handle) {
                level.push(*handle);
            }
        });
        for number in 0..=levels {
            if number == levels.saturating_sub(self.max_depth) {
                examples(&mut |handle| {
                    if used.insert(*handle) {
                        level.push(*handle);
                    }
                });
            }
            live += level.len();
            if number == levels {
                break;
            }
            for (number, handle) in level.iter().enumerate() {
                // Most are in no cache.
                if let Some(later) = level.get(number + AHEAD) {
                    prefetch(&raw const self.nodes[later.index()]);
                }
                let mut reach = |slot: Slot, arg: u64| {
                    if let Some(arg) = Handle::of_arg(slot, arg)
                        && used.insert(arg)
                    {
                        below.push(arg);
                    }
                };
                let view = self.of(*handle);
                view.slots.iter().zip(&view.args).for_each(|(slot, arg)| reach(*slot, *arg));
                if view.beside.is_some() {
                    let (slot, arg) = view.kept_arg(INLINE);
                    reach(slot, arg);
                }
            }
            level.clear();
            std::mem::swap(&mut level, &mut below);
        }
        self.used = used;
        for handle in level {
            self.nodes[handle.index()].slots = [Slot::NONE; INLINE];
        }
        live
    }
}
