//! A request is answered with a *batch*: the block asked for, what it falls through to, emitted right behind it, and some
//! of what direct branches lead to. Everything in a batch is linked when it is put in place.

use super::Translator;
use crate::blocks::{Chain, Link, PAGE_SHIFT};
use crate::context::Mode;
use crate::copies::Copy;
use crate::decode::{Decoded, End};
use crate::emit::{Emitter, Record, TableEntry, WrapperRecords};
use crate::exits::Key;
use crate::marks::Mark;
use crate::wrapping::wrapper_blocks;
use std::collections::VecDeque;

/// Blocks translated for one request. More ahead costs start-up time for code that never runs, fewer costs requests.
const BATCH_BLOCKS: usize = 16;
/// Bytes of code after which a batch ends: one more block is the last.
const BATCH_BYTES: u64 = 64 << 10;

const FAR_JUMP_BYTES: u64 = 16;

impl Translator {
    /// The cache address of the code for `key`, in this zone; nothing if there is no code that could be translated.
    pub fn translate(&mut self, key: Key, zone: usize) -> Option<u64> {
        if let Some(entry) = self.entry(key) {
            return Some(entry);
        }
        let mut batch = self.begin(zone);
        let mut queue = VecDeque::from([key]);
        let mut budget = BATCH_BLOCKS;
        while let Some(key) = queue.pop_front() {
            if budget > 0 && self.is_new(&mut batch, key) && self.is_code(key.0, zone) {
                self.emit_chain(&mut batch, key, zone, &mut queue, &mut budget);
            }
        }
        for target in std::mem::take(&mut batch.expected) {
            if self.entry(target).is_some() || batch.has(target) {
                self.emit_table_entry(&mut batch, target);
            }
        }
        self.complete(batch, zone);
        self.entry(key)
    }

    /// Gives the table of jumps an entry that leads to the code for `key`, unless it has one.
    pub fn enter_in_table(&mut self, key: Key, zone: usize) {
        if !self.jump_entries.contains(&key) {
            let mut batch = self.begin(zone);
            self.emit_table_entry(&mut batch, key);
            self.complete(batch, zone);
        }
    }

    fn emit_table_entry(&mut self, batch: &mut Batch, key: Key) {
        if self.jump_entries.insert(key) {
            batch.emitter.jump_entry(key);
        }
    }

    pub(super) fn thunk(&mut self, zone: usize, emit: impl FnOnce(&mut Emitter)) -> u64 {
        let mut batch = self.begin(zone);
        let start = batch.emitter.asm.here();
        emit(&mut batch.emitter);
        self.complete(batch, zone);
        start
    }

    fn begin(&mut self, zone: usize) -> Batch {
        self.marked = None;
        let zone = &self.cache.zones[zone];
        let (start, first_exit) = (zone.next_free(), self.exits.next());
        let emitter = match self.spare.take() {
            Some(spare) => spare.restart(start, zone.stubs, first_exit),
            None => Emitter::new(start, zone.stubs, first_exit, self.logging.is_some()),
        };
        Batch { start, emitter, chains: Vec::new(), inner: Vec::new(), expected: Vec::new(), waiting: Vec::new() }
    }

    /// Puts a batch into its zone and links it with what is there.
    fn complete(&mut self, batch: Batch, zone: usize) {
        let Batch { start, mut emitter, chains, mut waiting, .. } = batch;
        emitter.finish_cold();
        let mut code = emitter.asm.finish();
        for (chain, pages) in chains {
            self.blocks.insert(zone, chain, &pages, |link, entry| waiting.push((link, entry)));
        }
        for (target, link) in emitter.links.drain(..) {
            let Link { site, stub } = link;
            let entry = self.blocks.add_link(target, link);
            let near = entry.and_then(|entry| displacement(site, entry));
            let at = (site - start) as usize;
            code[at..at + 4].copy_from_slice(&near.or(displacement(site, stub)).unwrap_or(0).to_le_bytes());
            waiting.extend(entry.filter(|_| near.is_none()).map(|entry| (link, entry)));
        }
        self.cache.append(zone, &code);
        self.exits.extend(emitter.exits.drain(..));
        self.continuations.extend(emitter.continuations.drain(..));
        self.leaves.extend(emitter.leaves.drain(..));
        // Nothing may lead to the code before it is in place.
        for (link, entry) in waiting {
            self.connect(link, entry);
        }
        for TableEntry { target: (pc, mode), lookup, entry, otherwise } in emitter.table_entries.drain(..) {
            self.cache.write_u64(otherwise, self.tables.get(mode, lookup, pc));
            self.tables.set(mode, lookup, pc, entry);
        }
        self.spare = Some(emitter);
    }

    /// Branches between zones may be too far for a displacement. Such a one leads to a jump through a pointer in its own zone; if there
    /// is no room for that, it goes on asking.
    fn connect(&mut self, link: Link, entry: u64) {
        let near = displacement(link.site, entry).map(|_| entry);
        if let Some(target) = near.or_else(|| self.far_jump(link.site, entry)) {
            self.cache.patch_branch(link.site, target);
        }
    }

    /// A jump to this entry in the zone of `site`.
    fn far_jump(&mut self, site: u64, entry: u64) -> Option<u64> {
        let zone = self.cache.index_of_zone_at(site)?;
        if let Some(jump) = self.far_jumps.get(&(zone, entry)) {
            return Some(*jump);
        }
        let jump = self.cache.next_free_in(zone, FAR_JUMP_BYTES)?;
        // jmp [rip + 2], and the pointer behind it, aligned.
        let mut code = vec![0xff, 0x25, 2, 0, 0, 0, 0, 0];
        code.extend(entry.to_le_bytes());
        self.cache.append(zone, &code);
        self.far_jumps.insert((zone, entry), jump);
        Some(jump)
    }

    /// Must code for `key` be emitted? Not if there is some. If it is part of a copied block, it gets its entry there.
    fn is_new(&mut self, batch: &mut Batch, key: Key) -> bool {
        if self.entry(key).is_some() || batch.has(key) {
            return false;
        }
        let (pc, mode) = key;
        let wrapped = self.is_of_ours(key);
        let Some(copy) = self.copies.around(key).filter(|_| !wrapped) else { return true };
        if !copy.begins_instruction(pc).unwrap_or_else(|| self.begins_instruction(copy.start, pc)) {
            return true;
        }
        let (of, entry) = ((copy.start, mode), copy.entry(pc));
        match batch.inner_of(of) {
            Some(inner) => inner.push((key, entry)),
            None => self.blocks.add_entry(of, key, entry, |link, entry| batch.waiting.push((link, entry))),
        }
        false
    }

    /// Emits the block for `key` and those it falls through to.
    fn emit_chain(&mut self, batch: &mut Batch, key: Key, zone: usize, queue: &mut VecDeque<Key>, budget: &mut usize) {
        let (mut pc, mode) = key;
        let volatile = self.is_volatile(pc);
        let mut pages = Vec::new();
        let mut source = None;
        loop {
            let full = batch.emitter.asm.here() - batch.start > BATCH_BYTES;
            *budget = if full { 0 } else { budget.saturating_sub(1) };
            if let Some(there) = self.crossing((pc, mode)) {
                batch.emitter.cross((pc, mode), &Record::of_gap(pc), there);
                pages.push(pc >> PAGE_SHIFT);
                queue.push_back(there);
                break;
            }
            if let Some(function) = self.wrapped((pc, mode)) {
                let [enter, leave] =
                    wrapper_blocks(pc, function).map(|block| self.announce(block.into_iter().collect()));
                batch.emitter.wrapped((pc, mode), function, &WrapperRecords { enter, leave });
                pages.push(pc >> PAGE_SHIFT);
                queue.push_back((pc, Mode::Quiet));
                break;
            }
            let (mut decoded, read_pages) = self.decode((pc, mode), volatile);
            pages.extend(read_pages);
            let carried = self.carriers.entering((pc, mode));
            let (blocks, left) = self.describe(&mut decoded, mode, carried);
            self.carriers.note(pc, &blocks);
            self.carriers.pass_on(&left, decoded.end.leads_straight_to().map(|pc| (pc, mode)));
            let record = self.announce(blocks);
            // A call that is translated already is not translated again: returns can enter behind one only.
            let called = decoded.call().filter(|call| !volatile && *call != pc && !self.is_new(batch, (*call, mode)));
            batch.emitter.align(&decoded, pc, pc == key.0);
            batch.emitter.entry((pc, mode));
            if volatile {
                batch.emitter.verify(&decoded, (pc, mode));
                source = Some(decoded.bytes.clone().into_boxed_slice());
            } else if record.is_none()
                && let Some(copy) = Copy::new(&decoded, batch.emitter.asm.here(), called.is_some())
            {
                self.copies.insert(mode, copy);
            }
            batch.emitter.body(&decoded, record.as_ref());
            if let Some(call) = called {
                batch.emitter.go_on_at((call, mode));
                break;
            }
            let (next, other) = decoded.end.successors();
            let falls_to = next
                .filter(|next| !volatile && *budget > 0 && self.is_new(batch, (*next, mode)))
                .filter(|next| self.is_code(*next, zone) && !self.is_volatile(*next));
            batch.emitter.end(&decoded, mode, falls_to);
            queue.extend(other.into_iter().flatten().map(|target| (target, mode)));
            queue.extend(next.filter(|_| volatile).map(|next| (next, mode)));
            if let Some(target) = self.expected_target(&decoded) {
                batch.expected.push((target, mode));
                queue.push_back((target, mode));
            }
            match falls_to {
                Some(next) => pc = next,
                None => break,
            }
        }
        let chain = Chain {
            blocks: std::mem::take(&mut batch.emitter.entries),
            inner: std::mem::take(&mut batch.inner),
            returns: std::mem::take(&mut batch.emitter.returns),
            end: batch.emitter.asm.here(),
            source,
        };
        batch.chains.push((chain, pages));
    }

    /// Where a branch through a pointer at a fixed address will go if the pointer stays as it is: those of the linkage table do. What
    /// comes of it is a table entry, which checks; so it need not be right.
    fn expected_target(&self, decoded: &Decoded) -> Option<u64> {
        let target = self.guest.read_u64(decoded.pointer_branched_through()?)?;
        self.modules.at(target).is_some_and(|module| !module.volatile).then_some(target)
    }
}

/// Code on its way into the cache.
struct Batch {
    start: u64,
    emitter: Emitter,
    /// With the pages that they were translated from.
    chains: Vec<(Chain, Vec<u64>)>,
    /// Entries into the midst of the chain that is being emitted.
    inner: Vec<(Key, u64)>,
    /// Where indirect branches will go.
    expected: Vec<Key>,
    /// Branches to be connected with entries when the code is in place.
    waiting: Vec<(Link, u64)>,
}

impl Batch {
    fn has(&self, key: Key) -> bool {
        let is = |(known, _): (Key, u64)| known == key;
        self.emitter.entries.iter().chain(&self.inner).copied().any(is)
            || self.chains.iter().any(|(chain, _)| chain.entries().any(is))
    }

    /// The entries into the midst of the chain that has this block.
    fn inner_of(&mut self, block: Key) -> Option<&mut Vec<(Key, u64)>> {
        let has = |blocks: &[(Key, u64)]| blocks.iter().any(|(known, _)| *known == block);
        if has(&self.emitter.entries) {
            return Some(&mut self.inner);
        }
        self.chains.iter_mut().find(|(chain, _)| has(&chain.blocks)).map(|(chain, _)| &mut chain.inner)
    }
}

/// What a branch whose displacement lies at `site` needs to lead to `target`, if it is within reach.
fn displacement(site: u64, target: u64) -> Option<i32> {
    i32::try_from(target.wrapping_sub(site + 4) as i64).ok()
}

impl End {
    /// Where it goes on without a call or the kernel in between.
    fn leads_straight_to(&self) -> impl Iterator<Item = u64> + use<> {
        let (next, others) = match self {
            End::Next(_) | End::Jump(_) | End::Branch { .. } | End::TwoBranches { .. } => self.successors(),
            _ => (None, [None, None]),
        };
        next.into_iter().chain(others.into_iter().flatten())
    }

    /// Where control goes without a branch of ours, if it can, and where else direct branches lead.
    fn successors(&self) -> (Option<u64>, [Option<u64>; 2]) {
        match *self {
            End::Next(next) | End::Syscall { next } | End::IndirectCall { next } => (Some(next), [None, None]),
            End::Mark { mark: Mark::Begin | Mark::End, .. } => (None, [None, None]),
            End::Mark { next, .. } => (Some(next), [None, None]),
            End::Jump(target) => (Some(target), [None, None]),
            End::Branch { taken, next } => (Some(next), [Some(taken), None]),
            End::TwoBranches { first, taken, next } => (Some(next), [Some(taken), Some(first)]),
            End::Call { target, next } => (Some(next), [Some(target), None]),
            End::IndirectJump | End::Return { .. } | End::Native(_) => (None, [None, None]),
        }
    }
}
