//! System calls that the supervisor hears of before they are made.

use crate::exits::Key;
use crate::service::{Service, WentNative};
use crate::thread::{Making, Space};
use fpgrind_analysis::log::Event;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

const RAX: usize = 0;
const RDX: usize = 2;
const RSP: usize = 4;
const RSI: usize = 6;
const RDI: usize = 7;
const R8: usize = 8;
const R9: usize = 9;
const R10: usize = 10;
const R11: usize = 11;

/// The saved rip in the frame that rt_sigreturn finds on the stack: a ucontext, whose registers r8 to r15, rdi, rsi, rbp, rbx,
/// rdx, rax, rcx, rsp, rip begin at 40 (Linux, asm/sigcontext.h).
const FRAME_RIP: u64 = 40 + 16 * 8;

const ARCH_SET_GS: u64 = 0x1001;
const ARCH_GET_GS: u64 = 0x1004;
/// `syscall` is two bytes long.
pub const SYSCALL_BYTES: u64 = 2;

impl Service {
    /// The guest is about to make a system call. Unless told otherwise it makes it, and goes on at the continuation.
    pub(crate) fn syscall(&self, continuation: u64) {
        let Some(next) = self.space().lock().continuation(continuation) else { return };
        let gpr = self.context().gpr;
        let [rdi, rsi, rdx] = [gpr[RDI], gpr[RSI], gpr[RDX]];
        let executable = rdx & libc::PROT_EXEC as u64 != 0;
        match gpr[RAX] as u32 as i64 {
            libc::SYS_clone => self.clone(rdi, rsi, next),
            libc::SYS_clone3 => self.clone3(rdi, next),
            libc::SYS_fork => self.clone(0, 0, next),
            libc::SYS_vfork => self.clone((libc::CLONE_VM | libc::CLONE_VFORK) as u64, 0, next),
            libc::SYS_rt_sigreturn => self.return_from_handler(gpr[RSP], next),
            libc::SYS_arch_prctl if matches!(rdi, ARCH_SET_GS | ARCH_GET_GS) => {
                self.go_native(next.0 - SYSCALL_BYTES, WentNative::UsesGs);
            }
            libc::SYS_mmap => {
                if gpr[R10] & libc::MAP_FIXED as u64 != 0 {
                    self.unmap_files(range(rdi, rsi));
                    self.renewed(range(rdi, rsi));
                }
                self.change_memory(&[range(rdi, rsi)], executable);
                self.share_file(rsi, rdx, next.0);
            }
            libc::SYS_mprotect | libc::SYS_pkey_mprotect => self.change_memory(&[range(rdi, rsi)], executable),
            libc::SYS_munmap => {
                self.unmap_files(range(rdi, rsi));
                self.renewed(range(rdi, rsi));
                self.change_memory(&[range(rdi, rsi)], false);
            }
            // What is given back is zeros when it is asked for again.
            libc::SYS_brk if rdi != 0 => {
                let end = self.thread.process.heap_end.swap(rdi, Ordering::Relaxed);
                if rdi < end {
                    self.renewed(rdi.next_multiple_of(PAGE)..end);
                }
            }
            // Where it moves to is free, or named by MREMAP_FIXED.
            libc::SYS_mremap => {
                self.change_memory(&[range(rdi, rsi), range(gpr[R8], rdx)], false);
                self.move_memory(range(rdi, rsi.min(rdx)));
            }
            libc::SYS_msync => self.show_mapped(range(rdi, rsi)),
            libc::SYS_exit_group => self.show_mapped(0..u64::MAX),
            libc::SYS_shmat => self.change_memory(&[], rdx & SHM_EXEC != 0),
            libc::SYS_seccomp if rdi != SECCOMP_GET_ACTION_AVAIL => self.restrict(rsi & SECCOMP_FILTER_FLAG_TSYNC != 0),
            libc::SYS_prctl if rdi == libc::PR_SET_SECCOMP as u64 => self.restrict(false),
            libc::SYS_mlockall => {
                // All our memory, sparse as it is, would be made at once.
                let flags = rdi | libc::MCL_ONFAULT as u64;
                self.make([libc::SYS_mlockall as u64, flags, 0, 0, 0, 0, 0]);
            }
            libc::SYS_setrlimit if rdi == libc::RLIMIT_AS as u64 => self.limit_memory(0, rsi, 0),
            libc::SYS_getrlimit if rdi == libc::RLIMIT_AS as u64 => self.limit_memory(0, 0, rsi),
            libc::SYS_prlimit64 if rsi == libc::RLIMIT_AS as u64 => self.limit_memory(rdi, rdx, gpr[R10]),
            _ => {}
        }
    }

    /// The guest makes this call instead of its own, and goes on behind it with the result.
    fn make(&self, call: [u64; 7]) {
        let result = self.guest_syscall(call);
        let context = self.context();
        context.gpr[RAX] = result;
        context.gpr[R11] = context.syscall_flags;
        context.resume = context.spill[0];
    }

    /// The guest's own call.
    fn own_call(&self) -> [u64; 7] {
        let gpr = self.context().gpr;
        [gpr[RAX], gpr[RDI], gpr[RSI], gpr[RDX], gpr[R10], gpr[R8], gpr[R9]]
    }

    /// Makes a process or a thread. What was logged so far is the maker's, and comes before what the new one logs.
    fn clone(&self, flags: u64, stack: u64, next: Key) {
        self.hand_over();
        let shares_memory = flags & libc::CLONE_VM as u64 != 0;
        let making = Making { shares_memory, keeps_stack: stack == 0, next };
        *self.thread.making.lock().unwrap_or_else(PoisonError::into_inner) = Some(making);
        let mut call = self.own_call();
        if call[0] as i64 == libc::SYS_clone {
            // Untraced it would run our code with its maker's context.
            call[1] &= !(libc::CLONE_UNTRACED as u64);
        }
        // No code changes between the new process coming into being and its being known. (After vfork the maker sleeps, and its
        // other threads should not have to wait.)
        let vfork = shares_memory && (flags & libc::CLONE_VFORK as u64 != 0);
        let changes = &self.thread.process.code_changes;
        let no_change = (!vfork).then(|| changes.read().unwrap_or_else(PoisonError::into_inner));
        self.make(call);
        drop(no_change);
    }

    fn clone3(&self, arguments: u64, next: Key) {
        let guest = crate::guest::Guest::new(self.thread.tid);
        let read = |offset| guest.read_u64(arguments.wrapping_add(offset)).unwrap_or(0);
        // struct clone_args (clone(2)): flags, pidfd, child_tid, parent_tid, exit_signal, stack.
        let (flags, stack) = (read(0), read(40));
        if flags & libc::CLONE_UNTRACED as u64 != 0 {
            guest.write(arguments, &(flags & !(libc::CLONE_UNTRACED as u64)).to_le_bytes());
        }
        self.clone(flags, stack, next);
    }

    /// Mappings are about to change. If code is among them nobody translates until it is done, and a process that shares its
    /// translations with others moves out first.
    fn change_memory(&self, memory: &[Range<u64>], executable: bool) {
        let concerns_code = || {
            let space = self.space();
            let translator = space.lock();
            executable || memory.iter().any(|memory| translator.relies_on(memory))
        };
        if !concerns_code() {
            return;
        }
        let process = &self.thread.process;
        let _nobody_translates = process.code_changes.write().unwrap_or_else(PoisonError::into_inner);
        if self.space().lock().is_shared(process.number) {
            self.move_out();
        }
        self.invalidate(memory);
        let call = self.own_call();
        self.make(call);
        self.invalidate(memory);
        // mmap and mremap say where the new mapping is.
        let result = self.context().gpr[RAX];
        if matches!(call[0] as i64, libc::SYS_mmap | libc::SYS_mremap) && (result as i64) > 0 {
            let len = if call[0] as i64 == libc::SYS_mmap { call[2] } else { call[3] };
            self.invalidate(&[range(result, len)]);
        }
    }

    /// What is in this memory is about to go, and what is known of it.
    fn renewed(&self, Range { start, end }: Range<u64>) {
        // The kernel refuses what does not begin with a page.
        if self.space().lock().is_logging() && start.is_multiple_of(PAGE) {
            self.hand_over();
            self.publisher.send(Event::Unmapped { process: self.thread.process.number, start, end });
        }
    }

    /// If mmap is about to map a file that is written to by storing there, that is to be known of; and where it is, when it has been made.
    fn share_file(&self, len: u64, protection: u64, next: u64) {
        let [flags, file, offset] = [R10, R8, R9].map(|register| self.context().gpr[register]);
        let shared = [libc::MAP_SHARED, libc::MAP_SHARED_VALIDATE].contains(&(flags as i32 & libc::MAP_TYPE));
        let is_written = shared && protection & libc::PROT_WRITE as u64 != 0 && flags & libc::MAP_ANONYMOUS as u64 == 0;
        if !is_written || (file as i32) < 0 || !self.space().lock().is_logging() {
            return;
        }
        if self.context().resume != self.context().spill[0] {
            self.make(self.own_call());
        }
        let at = self.context().gpr[RAX];
        if (at as i64) > 0 {
            self.map_file(range(at, len), offset, next);
        }
    }

    /// Memory is about to be moved by mremap, unless that has been done. What is known of it goes along. (What realloc moves, the log
    /// knows from realloc.)
    fn move_memory(&self, Range { start, end }: Range<u64>) {
        if !self.space().lock().is_logging() || self.context().quiet_end != 0 {
            return;
        }
        if self.context().resume != self.context().spill[0] {
            self.make(self.own_call());
        }
        let to = self.context().gpr[RAX];
        if (to as i64) > 0 && to != start {
            self.hand_over();
            self.publisher.send(Event::Moved { process: self.thread.process.number, start, end, to });
        }
    }

    fn invalidate(&self, memory: &[Range<u64>]) {
        let space = self.space();
        let mut translator = space.lock();
        translator.guest.forget_mappings();
        for memory in memory {
            translator.invalidate(memory.clone());
        }
    }

    /// The process gets a space of its own: a copy of the one that it shared, at the same addresses.
    fn move_out(&self) {
        let process = &self.thread.process;
        let old = self.space();
        let mut old = old.lock();
        let Some(translator) = old.split(process.number) else { return };
        let zones: Vec<_> = translator.cache.zones.iter().map(|zone| zone.mapping()).collect();
        let contexts: Vec<_> = translator.residents.iter().map(|thread| thread.memory.address()).collect();
        let tables: Vec<_> = contexts.iter().map(|context| translator.tables.map_behind(*context)).collect();
        process.set_space(Arc::new(Space::new(translator)));
        drop(old);
        for call in zones.into_iter().chain(tables) {
            self.guest_syscall(call);
        }
    }

    /// The kernel is about to restore the registers in a signal frame, at the guest's own pc. The frame gets the address of its translation
    /// instead, unless a second signal came between and it has it already.
    fn return_from_handler(&self, frame: u64, next: Key) {
        let guest = crate::guest::Guest::new(self.thread.tid);
        let place = frame.wrapping_add(FRAME_RIP);
        let Some(pc) = guest.read_u64(place) else { return };
        if self.space().lock().cache.zone_at(pc).is_some() {
            return;
        }
        if let Ok(translated) = self.translated((pc, next.1), false) {
            guest.write(place, &translated.to_le_bytes());
            self.thread.returned_to.store(translated, Ordering::SeqCst);
        }
    }

    /// The thread comes out of a system call; the code where it would go on was retired meanwhile.
    pub(crate) fn behind_syscall(&self) {
        let key = self.thread.behind_syscall.lock().unwrap_or_else(PoisonError::into_inner).take();
        let key = key.or_else(|| self.space().lock().continuation(self.context().spill[0]));
        self.context().ask_behind_syscall = 0;
        let Some(key) = key else { return };
        match self.in_zone_for(key.0, |translator, zone| translator.syscall_thunk(key, zone)) {
            Ok(thunk) => self.context().resume = thunk,
            Err(reason) => self.go_native(key.0, reason),
        }
    }

    /// The guest forbids itself system calls; ours may be among them.
    fn restrict(&self, all_threads: bool) {
        let space = self.space();
        let translator = space.lock();
        let process = self.thread.process.number;
        let affected = translator
            .residents
            .iter()
            .filter(|thread| thread.tid == self.thread.tid || all_threads && thread.process.number == process);
        for thread in affected {
            // SAFETY: the guest only reads it.
            unsafe { (&raw mut (*thread.memory.context_pointer()).restricted).write_volatile(1) };
        }
    }

    /// The limit on the address space is told and set without what we use of it.
    fn limit_memory(&self, pid: u64, new: u64, old: u64) {
        let itself = [0, self.thread.tid as u64].contains(&pid);
        let guest = crate::guest::Guest::new(self.thread.tid);
        let mut limits = [0; 16];
        if !itself || new != 0 && !guest.read(new, &mut limits) {
            return;
        }
        let overhead = self.thread.process.overhead.load(Ordering::Relaxed);
        let infinite = libc::RLIM_INFINITY;
        let context = self.context();
        for (index, half) in limits.chunks_exact(8).enumerate() {
            let limit = u64::from_le_bytes(half.try_into().expect("chunks of eight"));
            context.scratch[index] = if limit == infinite { limit } else { limit.saturating_add(overhead) };
        }
        let scratch = context.address + crate::context::at::SCRATCH as u64;
        let new_scratch = if new == 0 { 0 } else { scratch };
        self.make([libc::SYS_prlimit64 as u64, 0, libc::RLIMIT_AS as u64, new_scratch, scratch + 16, 0, 0]);
        let context = self.context();
        if context.gpr[RAX] == 0 && old != 0 {
            let told = [context.scratch[2], context.scratch[3]]
                .map(|limit| if limit == infinite { limit } else { limit.saturating_sub(overhead) });
            guest.write(old, &told.map(u64::to_le_bytes).concat());
        }
    }

    /// More of the address space is ours. If the guest's is limited, it gets as much more.
    pub(crate) fn account(&self, bytes: u64) {
        self.thread.process.overhead.fetch_add(bytes, Ordering::Relaxed);
        crate::launch::raise_memory_limit(self.thread.tid, bytes);
    }
}

const PAGE: u64 = 4096;
const SHM_EXEC: u64 = 0o100000;
const SECCOMP_GET_ACTION_AVAIL: u64 = 2;
const SECCOMP_FILTER_FLAG_TSYNC: u64 = 1;

fn range(start: u64, len: u64) -> Range<u64> {
    start..start.saturating_add(len)
}
