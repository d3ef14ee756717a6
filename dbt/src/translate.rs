//! The translator: from a guest address to code in the cache, and from code in the cache to where the guest stands.

mod batch;
mod chosen;

use crate::blocks::{Blocks, Chain, Link, PAGE_SHIFT};
use crate::cache::{CodeCache, Room};
use crate::carriers::{Carried, Carriers, loaded_for_later, stored_first};
use crate::context::Mode;
use crate::copies::Copies;
use crate::decode::{Decoded, End, Writes, decode, instruction_starts};
use crate::emit::{Emitter, Interrupted, Record};
use crate::exits::{Exits, Key};
use crate::guest::Guest;
use crate::log::Publisher;
use crate::marks::has_regions;
use crate::modules::{Loaded, Modules};
use crate::selection::Selection;
use crate::tables::{Lookup, Tables};
use crate::thread::Thread;
use chosen::Choice;
use fpgrind_analysis::log::Event;
use fpgrind_frontend_x86::{Left, LiftOptions, filled_by_kernel, lift_for_others, lift_loop};
use fpgrind_ir::{Block, keep_settings};
use fpgrind_wrappers::{Named, Wrapper};
use iced_x86::{Instruction, InstructionInfoFactory};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that hold a block of the longest instructions.
const BLOCK_BYTES: usize = 2048;
const INSTRUCTION_BYTES: usize = 15;
/// Code that may change without notice is compared at every entry, so its blocks are short.
const VOLATILE_BLOCK_BYTES: usize = 64;

/// What to log.
#[derive(Clone, Copy, Debug)]
pub struct Logging {
    /// Log native results as well, to be compared with the shadow program's.
    pub check: bool,
    /// Nobody reads the log.
    pub discard: bool,
    /// Mathematical functions are code like any other, and not single operations.
    pub inside_math: bool,
    /// What the user says of functions.
    pub named: Option<&'static Named>,
    /// Which code the user wants analysed; without it, all.
    pub selection: Option<&'static dyn Selection>,
}

pub struct Translator {
    pub guest: Guest,
    pub tables: Tables,
    pub cache: CodeCache,
    pub exits: Exits,
    pub modules: Modules,
    pub publisher: Publisher,
    /// The threads that run code of this space.
    pub residents: Vec<Arc<Thread>>,
    logging: Option<Logging>,
    /// The program bounds what is to be analysed.
    has_regions: bool,
    blocks: Blocks,
    copies: Copies,
    /// Where translations of system calls go on, and what guest code that is.
    continuations: FxHashMap<u64, Key>,
    /// Where quiet mode ends, and for which wrapped function, called in which mode.
    leaves: FxHashMap<u64, Key>,
    /// What the user's selection says of code.
    choices: FxHashMap<u64, Choice>,
    /// The modes whose tables are in use.
    modes: Vec<Mode>,
    carriers: Carriers,
    /// What the table of jumps has entries for.
    jump_entries: FxHashSet<Key>,
    /// Jumps to entries out of reach, by the zone that they lie in and the entry.
    far_jumps: FxHashMap<(usize, u64), u64>,
    /// The generation of the exits from a number on.
    exits_from: VecDeque<(u64, i32)>,
    infos: InstructionInfoFactory,
    /// The marks of the block last asked for, by its entry: a thread that is stepped on is asked about again and again.
    marked: Option<(u64, Vec<(u64, Interrupted)>)>,
    /// Of the batch before, whose memory the next one uses.
    spare: Option<Emitter>,
}

impl Translator {
    pub fn new(
        guest: Guest,
        tables: Tables,
        cache: CodeCache,
        logging: Option<Logging>,
        publisher: Publisher,
    ) -> Translator {
        let has_regions = logging.is_some() && has_regions(guest.tid);
        let mut translator = Translator {
            guest,
            tables,
            cache,
            exits: Exits::default(),
            modules: Modules::default(),
            publisher,
            residents: Vec::new(),
            logging,
            has_regions,
            blocks: Blocks::default(),
            copies: Copies::default(),
            continuations: FxHashMap::default(),
            leaves: FxHashMap::default(),
            choices: FxHashMap::default(),
            modes: vec![Mode::Quiet],
            carriers: Carriers::default(),
            jump_entries: FxHashSet::default(),
            far_jumps: FxHashMap::default(),
            exits_from: VecDeque::new(),
            infos: InstructionInfoFactory::new(),
            marked: None,
            spare: None,
        };
        translator.modes.extend(Some(translator.first_mode()).filter(|mode| *mode != Mode::Quiet));
        translator.reset_tables();
        translator
    }

    /// The same in other memory, for a process that moves out with its threads. Nothing if there is no memory.
    pub fn split(&mut self, process: u32) -> Option<Translator> {
        let (tables, cache) = (self.tables.copy()?, self.cache.copy()?);
        let moves = |thread: &mut Arc<Thread>| thread.process.number == process;
        let residents = self.residents.extract_if(.., moves).collect();
        Some(Translator {
            guest: self.guest.clone(),
            tables,
            cache,
            exits: self.exits.clone(),
            modules: self.modules.clone(),
            publisher: self.publisher.clone(),
            residents,
            logging: self.logging,
            has_regions: self.has_regions,
            blocks: self.blocks.clone(),
            copies: self.copies.clone(),
            continuations: self.continuations.clone(),
            leaves: self.leaves.clone(),
            choices: self.choices.clone(),
            modes: self.modes.clone(),
            carriers: self.carriers.clone(),
            jump_entries: self.jump_entries.clone(),
            far_jumps: self.far_jumps.clone(),
            exits_from: self.exits_from.clone(),
            infos: InstructionInfoFactory::new(),
            marked: None,
            spare: None,
        })
    }

    /// Does another process run in this space?
    pub fn is_shared(&self, process: u32) -> bool {
        self.residents.iter().any(|thread| thread.process.number != process)
    }

    /// The mode that the program starts in.
    pub fn first_mode(&self) -> Mode {
        match self.logging {
            None => Mode::Quiet,
            Some(_) if self.has_regions => Mode::Outside,
            Some(Logging { selection: Some(selection), .. }) if selection.begins_outside() => Mode::Outside,
            Some(_) => Mode::Logged,
        }
    }

    /// Is there code that is not to be analysed?
    pub fn is_partial(&self) -> bool {
        self.has_regions || self.logging.is_some_and(|logging| logging.selection.is_some())
    }

    pub fn is_logging(&self) -> bool {
        self.logging.is_some()
    }

    /// The guest code at which the translation of a system call goes on.
    pub fn continuation(&self, address: u64) -> Option<Key> {
        self.continuations.get(&address).copied()
    }

    /// The wrapped function whose quiet mode ends at this code of ours.
    pub fn function_left_at(&self, address: u64) -> Option<Key> {
        self.leaves.get(&address).copied()
    }

    /// Where quiet mode ends for a wrapped function.
    pub fn leave_of(&self, function: Key) -> Option<u64> {
        let generation = self.cache.generation;
        let current = |address: &u64| self.cache.zone_at(*address).is_some_and(|zone| zone.generation == generation);
        self.leaves.iter().find(|(address, of)| **of == function && current(address)).map(|(address, _)| *address)
    }

    pub fn entry(&self, key: Key) -> Option<u64> {
        self.blocks.entry(key)
    }

    /// Where there is room for the translation of this code. A full cache begins a new generation.
    pub fn room_for(&mut self, pc: u64) -> Option<usize> {
        loop {
            match self.cache.room_for(pc, |generation| self.left(generation)) {
                Room::In(zone) => return Some(zone),
                Room::InRetired(zone) => {
                    let range = self.cache.zones[zone].translations();
                    self.blocks.forget_places(zone);
                    self.continuations.retain(|address, _| !range.contains(address));
                    self.leaves.retain(|address, _| !range.contains(address));
                    self.cache.renew(zone);
                    return Some(zone);
                }
                Room::Full => self.retire(),
                Room::InNew => return None,
            }
        }
    }

    /// Can no thread be in code of this generation any more?
    fn left(&self, generation: u64) -> bool {
        self.residents.iter().all(|thread| thread.generation() > generation || self.waits_in_kernel(thread))
    }

    /// Is the thread in a system call of its own? If so it asks when it comes out.
    fn waits_in_kernel(&self, thread: &Thread) -> bool {
        if thread.behind_syscall.lock().is_ok_and(|key| key.is_some()) {
            return true;
        }
        let context = thread.memory.context_pointer();
        // SAFETY: the guest only reads it. It is set before the look, so that a thread seen to wait meets it.
        unsafe { (&raw mut (*context).ask_behind_syscall).write_volatile(1) };
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        let behind = |pc: u64| self.cache.zones.iter().any(|zone| zone.stubs.behind_syscall == pc);
        // SAFETY: while the thread waits in its system call it does not write.
        let continuation = waits_at(thread.tid)
            .filter(|pc| behind(*pc))
            .and_then(|_| self.continuation(unsafe { (&raw const (*context).spill).read_volatile()[0] }));
        // SAFETY: as above.
        unsafe { (&raw mut (*context).ask_behind_syscall).write_volatile(u32::from(continuation.is_some())) };
        if let Ok(mut key) = thread.behind_syscall.lock() {
            *key = continuation;
        }
        continuation.is_some()
    }

    /// A new generation begins: nothing leads to the old translations any more, and who is in them leaves at the next branch.
    fn retire(&mut self) {
        for link in self.blocks.retire() {
            self.cache.patch_branch(link.site, link.stub);
        }
        self.copies.clear();
        self.jump_entries.clear();
        self.far_jumps.clear();
        self.reset_tables();
        self.cache.generation += 1;
        self.exits_from.push_back((self.cache.generation, self.exits.next()));
        while let Some((generation, number)) = self.exits_from.front().copied()
            && self.left(generation - 1)
        {
            self.exits.forget_before(number);
            self.exits_from.pop_front();
        }
    }

    /// Where the guest stands when it is interrupted at this address in the cache, and in which mode it runs.
    pub fn interrupted_at(&mut self, address: u64) -> Option<(Interrupted, Mode)> {
        let zone = self.cache.index_of_zone_at(address)?;
        let (key, entry, _) = self.blocks.at(zone, address)?;
        if self.is_of_ours(key) {
            return Some((Interrupted::Between, key.1));
        }
        if self.marked.as_ref().is_none_or(|(known, _)| *known != entry) {
            self.marked = Some((entry, self.marks(zone, address)?));
        }
        let (_, marks) = self.marked.as_ref()?;
        marks.iter().rev().find(|(from, _)| *from <= address).map(|(_, mark)| (*mark, key.1))
    }

    /// The marks of the block at an address. Its code is emitted once more for that: signals are rare, and remembering every
    /// instruction of every block is not cheap.
    fn marks(&mut self, zone: usize, address: u64) -> Option<Vec<(u64, Interrupted)>> {
        let (key, entry, source) = self.blocks.at(zone, address)?;
        let source = source.map(<[u8]>::to_vec);
        let mut emitter = Emitter::new(entry, self.cache.zones[zone].stubs, 0, self.logging.is_some());
        emitter.marks = Some(Vec::new());
        let mut decoded = match &source {
            Some(bytes) => decode(key.0, bytes, key.1, Writes::EndBlocks, &mut self.infos),
            None => self.decode(key, false).0,
        };
        let (blocks, _) = self.describe(&mut decoded, key.1, self.carriers.of_block(key));
        let record = Record::new(blocks, |_| 0);
        if source.is_some() {
            emitter.verify(&decoded, key);
        }
        emitter.body(&decoded, record.as_ref());
        emitter.end(&decoded, key.1, None);
        emitter.marks
    }

    /// Would a change of this memory change what is known of code?
    pub fn relies_on(&self, memory: &Range<u64>) -> bool {
        self.modules.touches(memory) || self.guest.relies_on(memory) || self.blocks.touches(memory.clone())
    }

    /// Memory in this range may no longer be what was translated.
    pub fn invalidate(&mut self, memory: Range<u64>) {
        self.guest.forget_code(&memory);
        self.modules.forget(&memory);
        self.choices.retain(|pc, _| !memory.contains(pc));
        self.marked = None;
        let forgotten = self.blocks.forget(memory);
        self.unlink(forgotten);
    }

    /// The source of this block has changed.
    pub fn invalidate_block(&mut self, key: Key) {
        let forgotten = self.blocks.forget_block(key);
        self.unlink(forgotten);
    }

    fn unlink(&mut self, (chains, links): (Vec<Chain>, Vec<Link>)) {
        for link in links {
            self.cache.patch_branch(link.site, link.stub);
        }
        let Some(stubs) = self.cache.zones.first().map(|zone| zone.stubs) else { return };
        for (key, entry) in chains.iter().flat_map(|chain| &chain.blocks) {
            self.copies.forget(*key, *entry);
        }
        // Whichever entry has the slot now may lead on to this one. Without it the rest of the slot's are found in the table of jumps.
        for (pc, mode) in chains.into_iter().flat_map(|chain| chain.returns) {
            self.tables.set(mode, Lookup::Return, pc, stubs.miss(mode, Lookup::Return));
        }
    }

    /// A resolver chose this implementation of a wrapped function. If it was translated before its meaning was known, it is forgotten.
    pub fn resolved(&mut self, pc: u64, wrapper: Wrapper) {
        if self.modules.function(pc).is_none() {
            self.invalidate_block((pc, Mode::Logged));
        }
        self.modules.resolved(pc, wrapper);
    }

    /// Code that goes on behind a system call.
    pub fn syscall_thunk(&mut self, next: Key, zone: usize) -> u64 {
        self.thunk(zone, |emitter| emitter.behind_syscall(next))
    }

    /// Code that gives up GS and goes to the guest's own code with these registers.
    pub fn native_thunk(&mut self, registers: &[u64; 16], pc: u64, zone: usize) -> u64 {
        self.thunk(zone, |emitter| emitter.go_native(registers, pc))
    }

    /// Makes all indirect branches ask.
    fn reset_tables(&self) {
        self.modes.iter().for_each(|mode| self.reset_tables_of(*mode));
    }

    fn reset_tables_of(&self, mode: Mode) {
        let Some(zone) = self.cache.zones.first() else { return };
        for lookup in [Lookup::Jump, Lookup::Return] {
            self.tables.fill(mode, lookup, zone.stubs.miss(mode, lookup));
        }
    }

    /// Does an instruction begin at `pc`, when they are decoded from `start` on?
    fn begins_instruction(&mut self, start: u64, pc: u64) -> bool {
        let mut bytes = [0; BLOCK_BYTES];
        let read = self.guest.read_code(start, &mut bytes[..(pc - start) as usize + INSTRUCTION_BYTES]);
        instruction_starts(start, &bytes[..read]).find(|at| *at >= pc) == Some(pc)
    }

    /// Is there code at this address that can be translated into this zone?
    fn is_code(&mut self, pc: u64, zone: usize) -> bool {
        self.cache.zones[zone].reaches(pc) && self.learn(pc).is_some()
    }

    /// The code at this address may change without notice, or the rest of the instruction there may.
    fn is_volatile(&mut self, pc: u64) -> bool {
        [pc, pc + INSTRUCTION_BYTES as u64 - 1]
            .into_iter()
            .any(|pc| self.learn(pc).is_some_and(|module| module.volatile))
    }

    /// What is known of the mapping at this address, if it is one of code.
    fn learn(&mut self, pc: u64) -> Option<Loaded> {
        if let Some(known) = self.modules.at(pc) {
            return Some(known);
        }
        let mapping = self.guest.mapping_of(pc).filter(|mapping| mapping.executable)?.clone();
        let module = self.modules.load(&mapping, self.logging);
        if mapping.is_file() {
            let mut processes: Vec<u32> = self.residents.iter().map(|thread| thread.process.number).collect();
            processes.sort_unstable();
            processes.dedup();
            for process in processes {
                self.publisher.send(Event::Module { process, module: module.clone() });
            }
        }
        self.modules.at(pc)
    }

    /// The block at a place, and the pages that it lies on.
    fn decode(&mut self, (pc, mode): Key, volatile: bool) -> (Decoded, Range<u64>) {
        let mut decoded = if volatile {
            let mut bytes = [0; VOLATILE_BLOCK_BYTES];
            let read = self.guest.read_volatile_code(pc, &mut bytes);
            decode(pc, &bytes[..read], mode, Writes::EndBlocks, &mut self.infos)
        } else {
            self.decode_stable(pc, mode)
        };
        self.cut(&mut decoded, mode);
        let end = pc + decoded.bytes.len() as u64;
        (decoded, pc >> PAGE_SHIFT..(end >> PAGE_SHIFT) + 1)
    }

    fn decode_stable(&mut self, pc: u64, mode: Mode) -> Decoded {
        // Up to the mapping's end; what begins before it and ends behind is a block of its own.
        let left = self.modules.at(pc).map_or(u64::MAX, |module| module.end - pc);
        let len = if left < INSTRUCTION_BYTES as u64 { BLOCK_BYTES } else { BLOCK_BYTES.min(left as usize) };
        let on_page = self.guest.code_on_page(pc);
        let on_page = &on_page[..on_page.len().min(len)];
        if on_page.len() > INSTRUCTION_BYTES {
            let decoded = decode(pc, on_page, mode, Writes::AreNothing, &mut self.infos);
            // Most blocks end well before their page does, and then what follows it does not matter.
            if decoded.bytes.len() + INSTRUCTION_BYTES < on_page.len() {
                return decoded;
            }
        }
        let mut bytes = [0; BLOCK_BYTES];
        let read = self.guest.read_code(pc, &mut bytes[..len]);
        decode(pc, &bytes[..read], mode, Writes::AreNothing, &mut self.infos)
    }

    /// The general registers in which a block that ends in a call keeps over it what is stored behind it.
    fn kept_over_call(&mut self, decoded: &Decoded) -> u16 {
        let (End::Call { next, .. } | End::IndirectCall { next }) = decoded.end else { return 0 };
        let loaded = loaded_for_later(&decoded.instrs, &mut self.infos);
        if loaded == 0 || self.is_volatile(next) || self.learn(next).is_none() {
            return 0;
        }
        let behind = self.decode_stable(next, Mode::Quiet);
        stored_first(&behind.instrs, loaded, &mut self.infos)
    }

    /// What a block does to floats, if it is to leave a record, and what it leaves for others. If it is a loop it may be unrolled; then it is one of several.
    fn describe(&mut self, decoded: &mut Decoded, mode: Mode, carried: Carried) -> (Vec<Block>, Left) {
        let (Some(logging), Some(first)) = (self.logging, decoded.instrs.first().map(Instruction::ip)) else {
            return (Vec::new(), Left::default());
        };
        // How a program computes is set by functions of the C library: fesetround and the like. And most system calls are made there.
        let counts = || decoded.sets_rounding() || filled_by_kernel(&decoded.instrs).is_some();
        let quiet = mode != Mode::Logged || self.modules.at(first).is_some_and(|module| module.quiet);
        let moves = mode == Mode::Logged && self.modules.is_moving(first);
        if mode == Mode::Quiet || quiet && !moves && !counts() {
            return (Vec::new(), Left::default());
        }
        let (carriers, loads) =
            if moves { (u16::MAX, u16::MAX) } else { (carried.around, self.kept_over_call(decoded)) };
        let guest = std::cell::RefCell::new(&mut self.guest);
        let constants = |address: u64, buffer: &mut [u8]| {
            let mut guest = guest.borrow_mut();
            guest.is_constant(address, buffer.len()) && guest.read(address, buffer)
        };
        let options =
            LiftOptions { check: logging.check, constants: &constants, carriers, loads, entering: &carried.entering };
        let (block, left) = lift_for_others(&decoded.instrs, &options);
        if mode != Mode::Logged {
            let settings = keep_settings(block);
            return (if settings.record == 0 { Vec::new() } else { vec![settings] }, Left::default());
        }
        if block.record == 0 {
            return (Vec::new(), left);
        }
        let once = decoded.instrs.len();
        let times = decoded.unroll();
        if times > 1
            && let Some(blocks) = lift_loop(&decoded.instrs, times, &options)
        {
            return (blocks, left);
        }
        decoded.instrs.truncate(once);
        (vec![block], left)
    }

    /// Numbers blocks that write one record, and tells the log's consumer of them.
    fn announce(&mut self, blocks: Vec<Block>) -> Option<Record> {
        let process = self.residents.first().map_or(0, |thread| thread.process.number);
        Record::new(blocks, |block| {
            let number = self.publisher.next_block();
            self.publisher.send(Event::Block { process, number, block: block.clone() });
            number
        })
    }
}

/// The address at which a thread will go on that waits in the kernel (proc(5), /proc/PID/syscall).
fn waits_at(tid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{tid}/syscall")).ok()?;
    let pc = text.split_whitespace().nth(8)?;
    u64::from_str_radix(pc.strip_prefix("0x")?, 16).ok()
}
