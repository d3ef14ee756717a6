//! The translator service: answers what the guest asks, while the guest waits.

use crate::cache::place_zone;
use crate::context::{Context, Mode};
use crate::exits::{Exit, Key};
use crate::launch::zone_call;
use crate::ring::Ring;
use crate::stubs::Stubs;
use crate::translate::Translator;
use fpgrind_analysis::log::{Event, Output};
use fpgrind_wrappers::{CallState, OUTPUT_NAMES, OutputFunction, output_call};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

/// What the consumer of the log is sent.
pub enum Message {
    Event(Event<'static>),
    Records(Vec<u8>),
}

/// What the tracer and the service know of each other.
pub struct Shared {
    /// The context's futex. The mapping outlives both threads.
    pending: *const AtomicU32,
    /// The guest pc behind the system call that makes a process or a thread, once one is about to be made.
    pub behind_clone: AtomicU64,
    /// The zones' common code. Known without the translator, which may be waiting for the guest.
    pub stubs: RwLock<Vec<Stubs>>,
}

// SAFETY: the pointer is to an atomic in a mapping that outlives both threads.
unsafe impl Sync for Shared {}

const ANSWERED: u32 = 0;
const ASKED: u32 = 1;
const ENDED: u32 = 2;

impl Shared {
    pub fn new(pending: *const AtomicU32, stubs: Vec<Stubs>) -> Shared {
        Shared { pending, behind_clone: AtomicU64::new(0), stubs: RwLock::new(stubs) }
    }

    fn pending(&self) -> &AtomicU32 {
        // SAFETY: see the field.
        unsafe { &*self.pending }
    }

    /// The guest is gone: whoever waits for it, wakes.
    pub fn guest_ended(&self) {
        self.pending().store(ENDED, Ordering::SeqCst);
        self.futex(libc::FUTEX_WAKE, u32::MAX >> 1);
    }

    /// True when the guest asks, false when it has ended.
    fn wait(&self) -> bool {
        // Requests come in bursts; sleeping and being woken costs more than a short look.
        for _ in 0..4000 {
            match self.pending().load(Ordering::Acquire) {
                ASKED => return true,
                ENDED => return false,
                _ => std::hint::spin_loop(),
            }
        }
        loop {
            match self.pending().load(Ordering::Acquire) {
                ASKED => return true,
                ENDED => return false,
                value => self.futex(libc::FUTEX_WAIT, value),
            }
        }
    }

    /// The tracer holds the guest stopped in a request: waits for the service. False if the guest has ended.
    pub fn wait_for_answer(&self) -> bool {
        // It may have stopped between asking and waking the service.
        self.futex(libc::FUTEX_WAKE, u32::MAX >> 1);
        loop {
            match self.pending().load(Ordering::Acquire) {
                ANSWERED => return true,
                ENDED => return false,
                asked => self.futex(libc::FUTEX_WAIT, asked),
            }
        }
    }

    /// Lets the guest go on. If it has ended meanwhile, that stays.
    fn answer(&self) {
        let _ = self.pending().compare_exchange(ASKED, ANSWERED, Ordering::SeqCst, Ordering::SeqCst);
        self.futex(libc::FUTEX_WAKE, u32::MAX >> 1);
    }

    fn futex(&self, operation: i32, value: u32) {
        let no_timeout: *const libc::timespec = std::ptr::null();
        // SAFETY: the futex is a live, aligned word.
        unsafe { libc::syscall(libc::SYS_futex, self.pending, operation, value, no_timeout) };
    }
}

/// Why the guest went on natively.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WentNative {
    GeneratedCode,
    Instruction,
    UsesGs,
    NoRoom,
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

/// The translator, for the service or the tracer. If the other has panicked the guest is being killed, and nothing matters any more.
pub fn lock(translator: &Mutex<Translator>) -> MutexGuard<'_, Translator> {
    translator.lock().unwrap_or_else(PoisonError::into_inner)
}

pub struct Service<'a> {
    pub pid: i32,
    pub translator: &'a Mutex<Translator>,
    pub ring: Ring,
    pub entry: u64,
    pub shared: &'a Shared,
    pub consumer: SyncSender<Message>,
    pub went_native: Option<WentNative>,
}

impl Service<'_> {
    /// Answers requests until the guest has ended; then hands over what it logged last.
    pub fn serve(&mut self) {
        let _guard = KilledOnPanic(self.pid);
        let translator = lock(self.translator);
        translator.reset_tables();
        if translator.first_mode() == Mode::Logged {
            for (number, name) in OUTPUT_NAMES.iter().enumerate() {
                self.send(Message::Event(Event::OutputFunction(number as u32, name.to_string())));
            }
        }
        drop(translator);
        while self.shared.wait() {
            self.handle(&mut lock(self.translator));
            self.shared.answer();
        }
        self.hand_over(&mut lock(self.translator));
    }

    fn handle(&mut self, t: &mut Translator) {
        let number = context(t).exit;
        let argument = context(t).argument;
        let Some(exit) = t.exits.get(number).cloned() else { return };
        match exit {
            Exit::Start => {
                let mode = t.first_mode();
                self.resume_at(t, (self.entry, mode));
            }
            Exit::Miss(mode) => {
                if let Some(zone) = self.resume_at(t, (argument, mode)) {
                    t.enter_in_table((argument, mode), zone);
                }
            }
            Exit::Link { target } => {
                self.resume_at(t, target);
            }
            Exit::RingFull { resume } => {
                self.hand_over(t);
                context(t).resume = resume;
            }
            Exit::Native { pc } => self.go_native(t, pc, WentNative::Instruction),
            Exit::Output { function, resume } => {
                self.output(t, function);
                context(t).resume = resume;
            }
            Exit::Resolved { function, resume } => {
                let implementation = context(t).gpr[0];
                let flushed = t.resolved(implementation, function);
                context(t).resume = resume;
                if flushed {
                    context(t).resume = t.return_thunk(0);
                }
            }
            Exit::Syscall => self.syscall(t, argument),
        }
    }

    /// The guest goes on at the translation of this place, or natively if there can be none. The zone it is in.
    fn resume_at(&mut self, t: &mut Translator, key: Key) -> Option<usize> {
        let zone = self.zone_for(t, key.0);
        let entry = zone.and_then(|zone| {
            t.make_room(zone);
            t.translate(key, zone)
        });
        match entry {
            Some(entry) => context(t).resume = entry,
            None => {
                let reason = if zone.is_none() { WentNative::NoRoom } else { WentNative::GeneratedCode };
                self.go_native(t, key.0, reason);
            }
        }
        entry.and(zone)
    }

    fn zone_for(&mut self, t: &mut Translator, pc: u64) -> Option<usize> {
        if let Some(zone) = t.cache.zone_for(pc) {
            return Some(zone);
        }
        let offset = t.cache.next_offset()?;
        t.guest.forget_mappings();
        let start = place_zone(pc, t.guest.mappings().iter().map(|m| (m.start, m.end)))?;
        let result = self.guest_syscall(t, zone_call(offset, start));
        if result != start {
            return None;
        }
        let zone = t.cache.add_zone(start);
        let stubs = t.cache.zones[zone].stubs;
        self.shared.stubs.write().unwrap_or_else(PoisonError::into_inner).push(stubs);
        Some(zone)
    }

    /// Has the guest make a system call of ours, and waits for its result.
    fn guest_syscall(&mut self, t: &mut Translator, call: [u64; 7]) -> u64 {
        context(t).syscall = call;
        context(t).action = 1;
        self.shared.answer();
        let result = if self.shared.wait() { context(t).syscall_result } else { u64::MAX };
        context(t).action = 0;
        result
    }

    /// The guest jumps to its own code and is not translated any more. An address that is no code faults there, as it would natively.
    fn go_native(&mut self, t: &mut Translator, pc: u64, reason: WentNative) {
        let exists = t.guest.mapping_of(pc).is_some_and(|mapping| mapping.executable);
        if exists && (reason != WentNative::Instruction || !self.is_trap(t, pc)) {
            self.went_native.get_or_insert(reason);
        }
        context(t).resume = pc;
    }

    /// An instruction there to raise a signal: the guest is about to die of it, or to handle it.
    fn is_trap(&self, t: &Translator, pc: u64) -> bool {
        let mut bytes = [0; 2];
        t.guest.read(pc, &mut bytes);
        matches!(bytes, [0x0f, 0x0b] | [0xcc, _] | [0xf4, _])
    }

    fn syscall(&mut self, t: &mut Translator, continuation: u64) {
        let gpr = context(t).gpr;
        let [rax, _, _, _, _, _, rsi, rdi, ..] = gpr;
        let Some((next, mode)) = t.continuation(continuation) else { return };
        let mut flushed = false;
        match rax as u32 as i64 {
            libc::SYS_clone | libc::SYS_clone3 | libc::SYS_fork | libc::SYS_vfork => {
                self.shared.behind_clone.store(next, Ordering::SeqCst);
            }
            libc::SYS_rt_sigreturn => self.return_from_handler(t, gpr[RSP], mode),
            libc::SYS_arch_prctl => {
                const ARCH_SET_GS: u64 = 0x1001;
                const ARCH_GET_GS: u64 = 0x1004;
                if matches!(rdi, ARCH_SET_GS | ARCH_GET_GS) {
                    // `syscall` is two bytes long.
                    self.go_native(t, next - 2, WentNative::UsesGs);
                }
            }
            // Old and new place of mremap: where it moves to is free, or named by MREMAP_FIXED.
            libc::SYS_mremap => {
                let (new_len, new_start) = (gpr[2], gpr[8]);
                flushed |= t.invalidate(rdi, rdi.saturating_add(rsi));
                flushed |= t.invalidate(new_start, new_start.saturating_add(new_len));
            }
            // mmap, munmap, mprotect
            _ => flushed |= t.invalidate(rdi, rdi.saturating_add(rsi)),
        }
        if flushed {
            context(t).spill[0] = t.syscall_thunk((next, mode));
        }
    }

    /// The kernel is about to restore the registers in a signal frame, at the guest's own pc. The frame gets the address of its translation
    /// instead, unless a second signal came between and it has it already.
    fn return_from_handler(&mut self, t: &mut Translator, frame: u64, mode: Mode) {
        let mut rip = [0; 8];
        let place = frame.wrapping_add(FRAME_RIP);
        if !t.guest.read(place, &mut rip) {
            return;
        }
        let pc = u64::from_le_bytes(rip);
        if t.cache.zones.iter().any(|zone| zone.contains(pc)) {
            return;
        }
        let resume = context(t).resume;
        if self.resume_at(t, (pc, mode)).is_some() {
            let translated = context(t).resume;
            t.guest.write(place, &translated.to_le_bytes());
        }
        context(t).resume = resume;
    }

    fn output(&mut self, t: &mut Translator, function: OutputFunction) {
        if self.ring.is_full(&t.context) {
            self.hand_over(t);
        }
        let context = context(t);
        let mut call = CallState { gpr: context.gpr, xmm: [0; 8] };
        for (low, xmm) in call.xmm.iter_mut().zip(context.xmm) {
            *low = xmm[0];
        }
        let guest = &t.guest;
        let (pc, args) = output_call(&function, &call, &|address, buffer| guest.read(address, buffer));
        if !args.is_empty() {
            let record = Output { pc, function: function.number, args }.encode();
            self.ring.append(&t.context, &record);
        }
    }

    /// Sends what was logged, and before it what must be known to read it.
    fn hand_over(&mut self, t: &mut Translator) {
        for event in std::mem::take(&mut t.announcements) {
            self.send(Message::Event(event));
        }
        let records = self.ring.take(&t.context);
        if !records.is_empty() {
            self.send(Message::Records(records));
        }
    }

    fn send(&self, message: Message) {
        // A consumer that has gone away wants no more; the guest runs on.
        let _ = self.consumer.send(message);
    }
}

const RSP: usize = 4;
/// The saved rip in the frame that rt_sigreturn finds on the stack: a ucontext, whose registers r8 to r15, rdi, rsi, rbp, rbx,
/// rdx, rax, rcx, rsp, rip begin at 40 (Linux, asm/sigcontext.h).
const FRAME_RIP: u64 = 40 + 16 * 8;

/// The context, while the guest waits for us or is stopped, so that nobody else touches it.
pub fn context(translator: &mut Translator) -> &mut Context {
    // SAFETY: the mapping lives as long as the translator, which is borrowed for as long as the context.
    unsafe { &mut *translator.context.get() }
}
