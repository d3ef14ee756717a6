//! The translator service: answers what the guest asks, while the guest waits.

use crate::cache::place_zone;
use crate::context::{Context, Mode};
use crate::exits::{Exit, Key};
use crate::launch::zone_call;
use crate::ring::Ring;
use crate::translate::Translator;
use fpgrind_analysis::log::{Event, Output};
use fpgrind_wrappers::{CallState, OUTPUT_NAMES, OutputFunction, output_call};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;

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
}

// SAFETY: the pointer is to an atomic in a mapping that outlives both threads.
unsafe impl Sync for Shared {}

const ANSWERED: u32 = 0;
const ASKED: u32 = 1;
const ENDED: u32 = 2;

impl Shared {
    pub fn new(pending: *const AtomicU32) -> Shared {
        Shared { pending, behind_clone: AtomicU64::new(0) }
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
        for _ in 0..2000 {
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

pub struct Service<'a> {
    pub translator: Translator,
    pub ring: Ring,
    pub entry: u64,
    pub shared: &'a Shared,
    pub consumer: SyncSender<Message>,
    pub went_native: Option<WentNative>,
}

impl Service<'_> {
    /// Answers requests until the guest has ended; then hands over what it logged last.
    pub fn serve(&mut self) {
        let _guard = KilledOnPanic(self.translator.guest.pid);
        self.translator.reset_tables();
        if self.logs() {
            for (number, name) in OUTPUT_NAMES.iter().enumerate() {
                self.send(Message::Event(Event::OutputFunction(number as u32, name.to_string())));
            }
        }
        while self.shared.wait() {
            self.handle();
            self.shared.answer();
        }
        self.hand_over();
    }

    fn logs(&self) -> bool {
        self.translator.first_mode() == Mode::Logged
    }

    fn context(&mut self) -> &mut Context {
        // SAFETY: the guest waits for us, so nobody else touches the context.
        unsafe { &mut *self.translator.context.get() }
    }

    fn handle(&mut self) {
        let number = self.context().exit;
        let argument = self.context().argument;
        let Some(exit) = self.translator.exits.get(number).cloned() else { return };
        match exit {
            Exit::Start => {
                let mode = self.translator.first_mode();
                self.resume_at((self.entry, mode));
            }
            Exit::Miss(mode) => {
                if let Some(zone) = self.resume_at((argument, mode)) {
                    self.translator.enter_in_table((argument, mode), zone);
                }
            }
            Exit::Link { target } => {
                self.resume_at(target);
            }
            Exit::RingFull { resume } => {
                self.hand_over();
                self.context().resume = resume;
            }
            Exit::Native { pc } => self.go_native(pc, WentNative::Instruction),
            Exit::Output { function, resume } => {
                self.output(function);
                self.context().resume = resume;
            }
            Exit::Resolved { function, resume } => {
                let implementation = self.context().gpr[0];
                let flushed = self.translator.resolved(implementation, function);
                self.context().resume = resume;
                if flushed {
                    self.context().resume = self.translator.return_thunk(0);
                }
            }
            Exit::Syscall => self.syscall(argument),
        }
    }

    /// The guest goes on at the translation of this place, or natively if there can be none. The zone it is in.
    fn resume_at(&mut self, key: Key) -> Option<usize> {
        let zone = self.zone_for(key.0);
        let entry = zone.and_then(|zone| {
            self.translator.make_room(zone);
            self.translator.translate(key, zone)
        });
        match entry {
            Some(entry) => self.context().resume = entry,
            None => {
                let reason = if zone.is_none() { WentNative::NoRoom } else { WentNative::GeneratedCode };
                self.go_native(key.0, reason);
            }
        }
        entry.and(zone)
    }

    fn zone_for(&mut self, pc: u64) -> Option<usize> {
        if let Some(zone) = self.translator.cache.zone_for(pc) {
            return Some(zone);
        }
        let offset = self.translator.cache.next_offset()?;
        self.translator.guest.forget_mappings();
        let start = place_zone(pc, self.translator.guest.mappings().iter().map(|m| (m.start, m.end)))?;
        let result = self.guest_syscall(zone_call(offset, start));
        (result == start).then(|| self.translator.cache.add_zone(start))
    }

    /// Has the guest make a system call of ours, and waits for its result.
    fn guest_syscall(&mut self, call: [u64; 7]) -> u64 {
        self.context().syscall = call;
        self.context().action = 1;
        self.shared.answer();
        let result = if self.shared.wait() { self.context().syscall_result } else { u64::MAX };
        self.context().action = 0;
        result
    }

    /// The guest jumps to its own code and is not translated any more. An address that is no code faults there, as it would natively.
    fn go_native(&mut self, pc: u64, reason: WentNative) {
        let exists = self.translator.guest.mapping_of(pc).is_some_and(|mapping| mapping.executable);
        if exists && (reason != WentNative::Instruction || !self.is_trap(pc)) {
            self.went_native.get_or_insert(reason);
        }
        self.context().resume = pc;
    }

    /// An instruction there to raise a signal: the guest is about to die of it, or to handle it.
    fn is_trap(&self, pc: u64) -> bool {
        let mut bytes = [0; 2];
        self.translator.guest.read(pc, &mut bytes);
        matches!(bytes, [0x0f, 0x0b] | [0xcc, _] | [0xf4, _])
    }

    fn syscall(&mut self, continuation: u64) {
        let gpr = self.context().gpr;
        let [rax, _, _, _, _, _, rsi, rdi, ..] = gpr;
        let Some((next, mode)) = self.translator.continuation(continuation) else { return };
        let mut flushed = false;
        match rax as u32 as i64 {
            libc::SYS_clone | libc::SYS_clone3 | libc::SYS_fork | libc::SYS_vfork => {
                self.shared.behind_clone.store(next, Ordering::SeqCst);
            }
            libc::SYS_arch_prctl => {
                const ARCH_SET_GS: u64 = 0x1001;
                const ARCH_GET_GS: u64 = 0x1004;
                if matches!(rdi, ARCH_SET_GS | ARCH_GET_GS) {
                    // `syscall` is two bytes long.
                    self.go_native(next - 2, WentNative::UsesGs);
                }
            }
            // Old and new place of mremap: where it moves to is free, or named by MREMAP_FIXED.
            libc::SYS_mremap => {
                let (new_len, new_start) = (gpr[2], gpr[8]);
                flushed |= self.translator.invalidate(rdi, rdi.saturating_add(rsi));
                flushed |= self.translator.invalidate(new_start, new_start.saturating_add(new_len));
            }
            // mmap, munmap, mprotect
            _ => flushed |= self.translator.invalidate(rdi, rdi.saturating_add(rsi)),
        }
        if flushed {
            self.context().spill[0] = self.translator.syscall_thunk((next, mode));
        }
    }

    fn output(&mut self, function: OutputFunction) {
        if self.ring.is_full(&self.translator.context) {
            self.hand_over();
        }
        let context = self.context();
        let mut call = CallState { gpr: context.gpr, xmm: [0; 8] };
        for (low, xmm) in call.xmm.iter_mut().zip(context.xmm) {
            *low = xmm[0];
        }
        let guest = &self.translator.guest;
        let (pc, args) = output_call(&function, &call, &|address, buffer| guest.read(address, buffer));
        if !args.is_empty() {
            let record = Output { pc, function: function.number, args }.encode();
            self.ring.append(&self.translator.context, &record);
        }
    }

    /// Sends what was logged, and before it what must be known to read it.
    fn hand_over(&mut self) {
        for event in std::mem::take(&mut self.translator.announcements) {
            self.send(Message::Event(event));
        }
        let records = self.ring.take(&self.translator.context);
        if !records.is_empty() {
            self.send(Message::Records(records));
        }
    }

    fn send(&self, message: Message) {
        // A consumer that has gone away wants no more; the guest runs on.
        let _ = self.consumer.send(message);
    }
}
