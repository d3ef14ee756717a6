//! The translator service: answers what a guest thread asks, while the thread waits. Each guest thread has its own, on a thread of
//! the supervisor.

use crate::cache::place_zone;
use crate::context::Context;
use crate::exits::{Exit, Key};
use crate::log::Publisher;
use crate::thread::{Space, Thread};
use crate::translate::Translator;
use crate::unwind::Unwinder;
use fpgrind_analysis::log::{Event, gap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Why a guest thread went on natively.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WentNative {
    Instruction,
    UsesGs,
    NoRoom,
}

/// What all services have seen.
#[derive(Default)]
pub struct Statistics {
    pub requests: AtomicU64,
    pub nanoseconds: AtomicU64,
    pub logged_bytes: AtomicU64,
    pub went_native: Mutex<Option<WentNative>>,
}

/// A guest whose requests nobody answers any more would wait forever.
struct KilledOnPanic(i32);

impl Drop for KilledOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // SAFETY: a plain system call.
            unsafe { libc::kill(self.0, libc::SIGKILL) };
        }
    }
}

pub struct Service {
    pub thread: Arc<Thread>,
    pub publisher: Publisher,
    pub statistics: Arc<Statistics>,
    pub unwinder: Mutex<Unwinder>,
}

impl Service {
    /// Answers requests until the thread has ended; then hands over what it logged last.
    pub fn serve(&self) {
        let _guard = KilledOnPanic(self.thread.tid);
        let mut soon = true;
        while self.thread.memory.wait(soon, || self.hand_over_full()) {
            let asked = Instant::now();
            soon = self.handle();
            self.thread.memory.answer();
            self.statistics.requests.fetch_add(1, Ordering::Relaxed);
            self.statistics.nanoseconds.fetch_add(asked.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
        self.hand_over();
        self.publisher.send(Event::ThreadEnded(self.thread.number));
        let process = &self.thread.process;
        if process.remove_resident(&self.thread) {
            self.publisher.send(Event::ProcessEnded(process.number));
        }
    }

    pub(crate) fn context(&self) -> &mut Context {
        self.thread.memory.context()
    }

    pub(crate) fn space(&self) -> Arc<Space> {
        self.thread.process.space()
    }

    /// Answers the request. May the next one come soon?
    fn handle(&self) -> bool {
        let Context { exit, argument, .. } = *self.context();
        let Some(exit) = self.space().lock().exits.get(exit).cloned() else { return true };
        // It takes a while to fill a chunk.
        let soon = !matches!(exit, Exit::RingFull);
        if !matches!(exit, Exit::BehindSyscall) && self.context().ask_behind_syscall != 0 {
            // A handler took it out of the system call that it was found in.
            self.context().ask_behind_syscall = 0;
            *self.thread.behind_syscall.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        match exit {
            Exit::Start => self.start(),
            Exit::Miss(mode) => {
                self.go_on_at((argument, mode), true);
            }
            Exit::Link { target } => self.go_on_at(target, false),
            Exit::Changed { key } => {
                self.space().lock().invalidate_block(key);
                self.go_on_at(key, false);
            }
            Exit::RingFull => {
                self.hand_over_full();
                self.thread.memory.ring.make_room();
            }
            Exit::Native { pc } => self.go_native(pc, WentNative::Instruction),
            Exit::Output { function, resume } => {
                self.output(function);
                self.context().resume = resume;
            }
            Exit::Marked { mark, next, resume } => {
                self.marked(mark, next);
                self.context().resume = resume;
            }
            Exit::Transfer { transfer, next, resume } => {
                self.transfer(transfer, next);
                self.context().resume = resume;
            }
            Exit::Resolved { function, resume } => {
                let implementation = self.context().gpr[0];
                self.space().lock().resolved(implementation, function);
                self.context().resume = resume;
            }
            Exit::Syscall => self.syscall(argument),
            Exit::BehindSyscall => self.behind_syscall(),
        }
        soon
    }

    /// The thread's first instruction.
    fn start(&self) {
        let tables = self.space().lock().tables.map_behind(self.thread.memory.address());
        self.guest_syscall(tables);
        // They lie where part of the arena was mapped, which is accounted for.
        if self.space().lock().is_partial() {
            // What comes may have to be known again behind gaps.
            self.append(&gap());
        }
        self.go_on_at(self.thread.start, false);
    }

    /// The thread goes on at the translation of this place, or natively if there can be none. If an indirect branch led there, the
    /// next one finds it in the table.
    fn go_on_at(&self, key: Key, from_table: bool) {
        match self.translated(key, from_table) {
            Ok(entry) => self.context().resume = entry,
            Err(reason) => self.go_native(key.0, reason),
        }
    }

    /// The translation of a place.
    pub(crate) fn translated(&self, key: Key, from_table: bool) -> Result<u64, WentNative> {
        let _no_change = self.thread.process.code_changes.read().unwrap_or_else(PoisonError::into_inner);
        self.in_zone_for(key.0, |translator, zone| {
            let entry = translator.translate(key, zone).ok_or(WentNative::Instruction)?;
            if from_table {
                translator.enter_in_table(key, zone);
            }
            Ok(entry)
        })?
    }

    /// Does something in the zone that serves code at `pc`; makes the zone if there is none.
    pub(crate) fn in_zone_for<T>(
        &self,
        pc: u64,
        action: impl FnOnce(&mut Translator, usize) -> T,
    ) -> Result<T, WentNative> {
        let space = self.space();
        loop {
            let (piece, start) = {
                let mut translator = space.lock();
                translator.guest.tid = self.thread.tid;
                if let Some(zone) = translator.room_for(pc) {
                    return Ok(self.run_in(&mut translator, zone, action));
                }
                translator.guest.forget_mappings();
                let mappings = translator.guest.mappings();
                if mappings.iter().all(|mapping| !(mapping.executable && mapping.contains(pc))) {
                    // No code: it is to fault where it would natively.
                    return Err(WentNative::Instruction);
                }
                let start = place_zone(pc, mappings.iter().map(|m| (m.start, m.end))).ok_or(WentNative::NoRoom)?;
                (translator.cache.piece().ok_or(WentNative::NoRoom)?, start)
            };
            if self.context().restricted != 0 {
                return Err(WentNative::NoRoom);
            }
            // The translator is free meanwhile: nobody else is kept waiting for this guest. So another thread, of the guest or of ours,
            // may take the gap.
            match self.guest_syscall(reserve(start, crate::cache::ZONE_BYTES)) {
                reserved if reserved == start => {}
                TAKEN => continue,
                _ => return Err(WentNative::NoRoom),
            }
            if self.guest_syscall(piece.map_at(start)) != start {
                return Err(WentNative::NoRoom);
            }
            self.account(crate::cache::ZONE_BYTES);
            let mut translator = space.lock();
            let zone = translator.cache.add_zone(start, piece);
            space.add_stubs(translator.cache.zones[zone].stubs);
            return Ok(self.run_in(&mut translator, zone, action));
        }
    }

    /// What is done here decides where the thread goes on: from there it is in code of this generation.
    fn run_in<T>(&self, t: &mut Translator, zone: usize, action: impl FnOnce(&mut Translator, usize) -> T) -> T {
        let result = action(t, zone);
        self.renew_leave(t, zone);
        self.thread.enters(t.cache.generation);
        result
    }

    /// A thread in quiet mode keeps the address of the code that ends it, which may be of an old generation.
    fn renew_leave(&self, t: &mut Translator, zone: usize) {
        let context = self.context();
        if context.quiet_end == 0
            || t.cache.zone_at(context.leave).is_none_or(|zone| zone.generation == t.cache.generation)
        {
            return;
        }
        let Some(function) = t.function_left_at(context.leave) else { return };
        t.translate(function, zone);
        if let Some(leave) = t.leave_of(function) {
            context.leave = leave;
        }
    }

    /// Has the guest make a system call of ours, and waits for its result.
    pub(crate) fn guest_syscall(&self, call: [u64; 7]) -> u64 {
        self.context().syscall = call;
        self.context().action = 1;
        self.thread.memory.answer();
        let result = if self.thread.memory.wait(true, || {}) { self.context().syscall_result } else { u64::MAX };
        self.context().action = 0;
        result
    }

    /// The guest jumps to its own code and is not translated any more. An address that is no code faults there, as it would natively.
    pub(crate) fn go_native(&self, pc: u64, reason: WentNative) {
        let space = self.space();
        let mut translator = space.lock();
        translator.guest.tid = self.thread.tid;
        let exists = translator.guest.mapping_of(pc).is_some_and(|mapping| mapping.executable);
        if !exists {
            self.context().resume = pc;
            return;
        }
        self.statistics.went_native.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        let registers = self.context().gpr;
        let zone = translator.cache.zones.len() - 1;
        self.context().resume = translator.native_thunk(&registers, pc, zone);
        // It leaves the cache for good after that.
        self.thread.enters(u64::MAX);
    }

    /// Sends what was logged.
    pub(crate) fn hand_over(&self) {
        self.hand_over_full();
        let ring = &self.thread.memory.ring;
        if ring.has_rest() {
            let mut records = self.publisher.buffer();
            ring.take_rest(&mut records);
            self.count_log(records.len());
            self.publisher.send_records(self.thread.number, records);
        }
    }

    /// Sends the chunks that are full.
    pub(crate) fn hand_over_full(&self) {
        while let Some(chunk) = self.thread.memory.ring.take() {
            self.count_log(chunk.len);
            self.publisher.send_chunk(self.thread.number, chunk);
        }
    }

    fn count_log(&self, bytes: usize) {
        self.statistics.logged_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// The system call that takes a range of addresses if nothing is there.
fn reserve(start: u64, bytes: u64) -> [u64; 7] {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    [libc::SYS_mmap as u64, start, bytes, libc::PROT_NONE as u64, flags as u64, u64::MAX, 0]
}

/// What it returns if something is.
const TAKEN: u64 = -(libc::EEXIST as i64) as u64;
