//! The translator: from a guest address to code in the cache.
//!
//! A request is answered with a *batch*: the block asked for, what it falls through to, emitted right behind it, and some
//! of what direct branches lead to. Everything in a batch is linked when it is in place.

use crate::cache::CodeCache;
use crate::context::{ContextView, Lookup, Mode};
use crate::decode::{Decoded, End, decode};
use crate::emit::{Emitter, Interrupted, Record, WrapperRecords};
use crate::exits::{Exits, Key};
use crate::guest::Guest;
use crate::modules::Modules;
use crate::wrapping::wrapper_blocks;
use fpgrind_analysis::log::Event;
use fpgrind_frontend_x86::{LiftOptions, lift};
use fpgrind_ir::Block;
use fpgrind_wrappers::Wrapper;
use iced_x86::InstructionInfoFactory;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Blocks translated for one request. More ahead costs start-up time for code that never runs, fewer costs requests.
const BATCH_BLOCKS: usize = 48;
/// Room that a zone must have for a batch: more than any takes.
const BATCH_ROOM: u64 = 1 << 20;
/// Bytes that hold a block of the longest instructions.
const BLOCK_BYTES: usize = 1024;

/// What to log.
#[derive(Clone, Copy, Debug)]
pub struct Logging {
    /// Log native results as well, to be compared with the shadow program's.
    pub check: bool,
}

pub struct Translator {
    pub guest: Guest,
    pub context: ContextView,
    pub cache: CodeCache,
    pub exits: Exits,
    pub modules: Modules,
    logging: Option<Logging>,
    blocks: FxHashMap<Key, u64>,
    /// The same by address.
    places: BTreeMap<u64, Key>,
    /// Displacements that wait for a block to be translated.
    waiting: FxHashMap<Key, Vec<u64>>,
    /// Where translations of system calls go on, and what guest code that is.
    continuations: FxHashMap<u64, Key>,
    /// What the table of jumps has entries for.
    jump_entries: FxHashSet<Key>,
    /// Pages that translated code came from, to know when it changes.
    source_pages: BTreeSet<u64>,
    infos: InstructionInfoFactory,
    next_record: u32,
    /// What the consumer of the log must hear before the next records.
    pub announcements: Vec<Event<'static>>,
}

impl Translator {
    pub fn new(guest: Guest, context: ContextView, cache: CodeCache, logging: Option<Logging>) -> Translator {
        Translator {
            guest,
            context,
            cache,
            exits: Exits::new(),
            modules: Modules::default(),
            logging,
            blocks: FxHashMap::default(),
            places: BTreeMap::new(),
            waiting: FxHashMap::default(),
            continuations: FxHashMap::default(),
            jump_entries: FxHashSet::default(),
            source_pages: BTreeSet::new(),
            infos: InstructionInfoFactory::new(),
            next_record: 1,
            announcements: Vec::new(),
        }
    }

    /// The mode that the program starts in.
    pub fn first_mode(&self) -> Mode {
        if self.logging.is_some() { Mode::Logged } else { Mode::Quiet }
    }

    /// The guest code at which the translation of a system call goes on.
    pub fn continuation(&self, address: u64) -> Option<Key> {
        self.continuations.get(&address).copied()
    }

    pub fn entry(&self, key: Key) -> Option<u64> {
        self.blocks.get(&key).copied()
    }

    /// The cache address of the code for `key`, in this zone; nothing if there is no code that could be translated.
    pub fn translate(&mut self, key: Key, zone: usize) -> Option<u64> {
        if let Some(entry) = self.entry(key) {
            return Some(entry);
        }
        let mut emitter = self.begin(zone);
        let mut queue = VecDeque::from([key]);
        let mut budget = BATCH_BLOCKS;
        while let Some(key) = queue.pop_front() {
            if budget > 0 && self.is_new(&emitter, key) && self.is_code(key.0, zone) {
                self.emit_chain(&mut emitter, key, zone, &mut queue, &mut budget);
            }
        }
        self.complete(emitter, zone);
        self.entry(key)
    }

    /// Gives the table of jumps an entry that leads to the code for `key`, unless it has one.
    pub fn enter_in_table(&mut self, key: Key, zone: usize) {
        if !self.jump_entries.insert(key) {
            return;
        }
        let next = self.context.slot(key.1, Lookup::Jump, key.0);
        let entry = self.thunk(zone, |emitter| emitter.jump_entry(key, next));
        self.context.set_slot(key.1, Lookup::Jump, key.0, entry);
    }

    /// Where the guest stands when it is interrupted at this address in the cache, and in which mode it runs. The block's
    /// code is emitted once more for that: signals are rare, and remembering every instruction of every block is not cheap.
    pub fn interrupted_at(&mut self, address: u64) -> Option<(Interrupted, Mode)> {
        let (&entry, &key) = self.places.range(..=address).next_back()?;
        if key.1 == Mode::Logged && self.modules.function(key.0).is_some() {
            return Some((Interrupted::Between, key.1));
        }
        let zone = self.cache.zones.iter().find(|zone| zone.contains(entry))?;
        let mut emitter = Emitter::new(entry, zone.stubs, 0, self.logging.is_some());
        let decoded = self.decode(key.0, key.1);
        let block = self.describe(&decoded, key.1);
        emitter.body(&decoded, block.as_ref().map(|block| Record { number: 0, block }));
        emitter.end(&decoded, key.1, None);
        let mark = emitter.marks.iter().rev().find(|(from, _)| *from <= address)?;
        Some((mark.1, key.1))
    }

    /// Memory in this range may no longer be what was translated. Seldom true, and then everything is forgotten: no links to
    /// unpick. True if so: then the guest, which waits in a zone's common code, must not go back to what was translated before.
    pub fn invalidate(&mut self, start: u64, end: u64) -> bool {
        self.guest.forget_mappings();
        self.modules.forget(start, end);
        let translated = self.source_pages.range(start >> 12..end.div_ceil(4096)).next().is_some();
        if translated {
            self.guest.forget_code();
            self.flush();
        }
        translated
    }

    /// A resolver chose this implementation of a wrapped function. True if all was forgotten, as in `invalidate`, because the
    /// implementation was translated before its meaning was known.
    pub fn resolved(&mut self, pc: u64, wrapper: Wrapper) -> bool {
        let late = self.modules.function(pc).is_none() && self.blocks.contains_key(&(pc, Mode::Logged));
        self.modules.resolved(pc, wrapper);
        if late {
            self.flush();
        }
        late
    }

    /// Code that returns from a guest function in logged mode.
    pub fn return_thunk(&mut self, zone: usize) -> u64 {
        self.thunk(zone, |emitter| emitter.guest_return(0, Mode::Logged, 0))
    }

    /// Code that goes on behind a system call.
    pub fn syscall_thunk(&mut self, next: Key) -> u64 {
        let zone = self.cache.zone_for(next.0).unwrap_or(0);
        self.thunk(zone, |emitter| emitter.behind_syscall(next))
    }

    fn thunk(&mut self, zone: usize, emit: impl FnOnce(&mut Emitter)) -> u64 {
        let mut emitter = self.begin(zone);
        let start = emitter.asm.here();
        emit(&mut emitter);
        self.complete(emitter, zone);
        start
    }

    /// Makes sure that a batch fits into the zone, if need be by forgetting all translations: for requests after which the
    /// guest goes on at a translation made anew.
    pub fn make_room(&mut self, zone: usize) {
        if self.cache.zones[zone].room() < BATCH_ROOM {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.blocks.clear();
        self.places.clear();
        self.waiting.clear();
        self.jump_entries.clear();
        self.source_pages.clear();
        self.cache.clear();
        self.reset_tables();
    }

    /// Makes all indirect branches ask.
    pub fn reset_tables(&self) {
        let Some(zone) = self.cache.zones.first() else { return };
        let modes: &[Mode] = if self.logging.is_some() { &[Mode::Quiet, Mode::Logged] } else { &[Mode::Quiet] };
        for mode in modes {
            for lookup in [Lookup::Jump, Lookup::Return] {
                self.context.fill_table(*mode, lookup, zone.stubs.miss(*mode, lookup));
            }
        }
    }

    fn begin(&mut self, zone: usize) -> Emitter {
        let zone = &self.cache.zones[zone];
        Emitter::new(zone.next_free(), zone.stubs, self.exits.next(), self.logging.is_some())
    }

    /// Puts a batch into its zone and links it with what is there.
    fn complete(&mut self, mut emitter: Emitter, zone: usize) {
        emitter.finish_cold();
        self.exits.extend(emitter.exits);
        self.cache.append(zone, &emitter.asm.finish());
        self.continuations.extend(emitter.continuations);
        for (key, entry) in emitter.returns {
            self.context.set_slot(key.1, Lookup::Return, key.0, entry);
        }
        for (key, entry) in emitter.entries {
            self.blocks.insert(key, entry);
            self.places.insert(entry, key);
            for site in self.waiting.remove(&key).unwrap_or_default() {
                self.link(site, entry);
            }
        }
        for link in emitter.links {
            self.cache.patch_branch(link.site, link.stub);
            match self.entry(link.target) {
                Some(entry) => self.link(link.site, entry),
                None => self.waiting.entry(link.target).or_default().push(link.site),
            }
        }
    }

    /// Branches between zones may be too far; such a one goes on asking.
    fn link(&self, site: u64, entry: u64) {
        if i32::try_from(entry.wrapping_sub(site + 4) as i64).is_ok() {
            self.cache.patch_branch(site, entry);
        }
    }

    fn is_new(&self, emitter: &Emitter, key: Key) -> bool {
        !self.blocks.contains_key(&key) && emitter.entries.iter().all(|(known, _)| *known != key)
    }

    /// Is there code at this address that can be translated into this zone? Learns of modules on the way.
    fn is_code(&mut self, pc: u64, zone: usize) -> bool {
        if !self.cache.zones[zone].reaches(pc) {
            return false;
        }
        if self.modules.knows(pc) {
            return true;
        }
        let Some(mapping) = self.guest.mapping_of(pc).filter(|mapping| mapping.is_stable_code()) else { return false };
        let mapping = mapping.clone();
        let module = self.modules.load(&mapping, self.logging.is_some());
        self.announcements.push(Event::Module(module));
        true
    }

    /// Emits the block for `key` and those it falls through to.
    fn emit_chain(
        &mut self,
        emitter: &mut Emitter,
        key: Key,
        zone: usize,
        queue: &mut VecDeque<Key>,
        budget: &mut usize,
    ) {
        let (mut pc, mode) = key;
        loop {
            *budget = budget.saturating_sub(1);
            if mode == Mode::Logged
                && let Some(function) = self.modules.function(pc)
            {
                let [enter, leave] = wrapper_blocks(pc, function).map(|block| block.map(|block| self.announce(block)));
                emitter.wrapped(pc, function, &WrapperRecords { enter, leave });
                queue.push_back((pc, Mode::Quiet));
                return;
            }
            emitter.entry((pc, mode));
            let decoded = self.decode(pc, mode);
            let described = self.describe(&decoded, mode).map(|block| self.announce(block));
            emitter.body(&decoded, described.as_ref().map(|(number, block)| Record { number: *number, block }));
            let (next, other) = decoded.end.successors();
            let next =
                next.filter(|next| *budget > 0 && self.is_new(emitter, (*next, mode)) && self.is_code(*next, zone));
            emitter.end(&decoded, mode, next);
            queue.extend(other.into_iter().flatten().map(|target| (target, mode)));
            match next {
                Some(next) => pc = next,
                None => return,
            }
        }
    }

    fn decode(&mut self, pc: u64, mode: Mode) -> Decoded {
        let mut bytes = [0; BLOCK_BYTES];
        let read = self.guest.read_code(pc, &mut bytes);
        let decoded = decode(pc, &bytes[..read], mode, &mut self.infos);
        let end = pc + decoded.bytes.len() as u64;
        self.source_pages.extend(pc >> 12..=end >> 12);
        decoded
    }

    /// What a block does to floats, if it is to leave a record.
    fn describe(&mut self, decoded: &Decoded, mode: Mode) -> Option<Block> {
        let logging = self.logging?;
        if mode == Mode::Quiet || decoded.instrs.is_empty() || self.modules.is_quiet(decoded.instrs[0].ip()) {
            return None;
        }
        let guest = std::cell::RefCell::new(&mut self.guest);
        let constants = |address: u64, buffer: &mut [u8]| {
            let mut guest = guest.borrow_mut();
            guest.is_constant(address, buffer.len()) && guest.read(address, buffer)
        };
        let block = lift(&decoded.instrs, &LiftOptions { check: logging.check, constants: &constants });
        (block.record != 0).then_some(block)
    }

    /// Numbers a block and tells the log's consumer of it.
    fn announce(&mut self, block: Block) -> (u32, Block) {
        let number = self.next_record;
        self.next_record += 1;
        self.announcements.push(Event::Block(number, block.clone()));
        (number, block)
    }
}

impl End {
    /// Where control goes without a branch of ours, if it can, and where else direct branches lead.
    fn successors(&self) -> (Option<u64>, [Option<u64>; 2]) {
        match *self {
            End::Next(next) | End::Syscall { next } | End::IndirectCall { next } => (Some(next), [None, None]),
            End::Jump(target) => (Some(target), [None, None]),
            End::Branch { taken, next } => (Some(next), [Some(taken), None]),
            End::TwoBranches { first, taken, next } => (Some(next), [Some(taken), Some(first)]),
            End::Call { target, next } => (Some(next), [Some(target), None]),
            End::IndirectJump | End::Return { .. } | End::Native(_) => (None, [None, None]),
        }
    }
}
