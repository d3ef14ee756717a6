//! Delivering signals to handlers of the guest.
//!
//! A handler must find the guest's own state in its frame, not ours. So when a caught signal stops the guest in the cache, it is first
//! brought to where it stands before a guest instruction with nothing spilled: mostly it stands there already, or its
//! registers are known to be in the context; else it is stepped on, a few instructions. Then it gets the pc that it would have natively, the
//! kernel builds the frame, and the handler runs translated. The frame's pc is led back into the cache when the handler
//! returns (see the service, rt_sigreturn).

use crate::context::{Context, Mode};
use crate::emit::Interrupted;
use crate::exits::{Exit, Exits};
use crate::launch::{registers, set_registers};
use crate::storms::{has_moved, processor_time};
use crate::stubs::Stubs;
use crate::syscalls::SYSCALL_BYTES;
use crate::thread::Thread;
use crate::tracer::{Task, Tracer, is_busy, wait};
use libc::user_regs_struct as Registers;
use std::sync::{Arc, PoisonError};

/// A signal that is to be delivered.
#[derive(Clone, Copy)]
pub struct Signal {
    number: i32,
    info: libc::siginfo_t,
}

/// Where a thread is interrupted.
enum Place {
    /// In its own code: it runs natively.
    Native,
    /// In common code or in the middle of something: run on.
    Between,
    /// It waits for the supervisor: later.
    Busy,
    /// Before a guest instruction, with these registers.
    At(Box<Registers>, Mode),
}

/// What became of a delivery that did not lead into a handler.
enum Instead {
    /// The thread was resumed, or is gone.
    Resumed,
    /// It stands, and the signals left are to be delivered later.
    Postponed,
    /// This happened first.
    Event(i32, i32),
    /// The instruction stepped over raised a signal.
    Fault(Box<Signal>),
}

/// Steps after which a thread that still stands nowhere is let go on without its signal, which comes again.
const MANY_STEPS: usize = 100_000;

/// From here on signals queue; of others one waits at a time (signal(7)).
const FIRST_QUEUED: i32 = 32;
/// Signals that instructions raise. If blocked they would kill.
const RAISED: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

impl Tracer<'_, '_> {
    /// The task has stopped for a signal that is about to be delivered. The event that came meanwhile, if any.
    pub fn deliver(&mut self, tid: i32, number: i32) -> Option<(i32, i32)> {
        let mut signal = Signal { number, info: signal_info(tid) };
        let task = self.tasks.get_mut(&tid)?;
        let Some(thread) = task.thread.clone().filter(|_| is_in(tid, number, "SigCgt:")) else {
            self.resume(tid, libc::PTRACE_CONT, number);
            return None;
        };
        unblock(tid, task.blocked.take());
        take_up(task, &mut signal);
        if is_raised(&signal) {
            // It belongs to the instruction at which the thread stands.
            task.undelivered.push_front(signal);
        } else {
            task.undelivered.push_back(signal);
        }
        self.deliver_all(tid, &thread)
    }

    /// The task stands in a stop that is none for a signal, perhaps because signals wait.
    pub fn deliver_postponed(&mut self, tid: i32) -> Option<(i32, i32)> {
        let task = self.tasks.get_mut(&tid)?;
        let Some(thread) = task.thread.clone().filter(|_| !task.undelivered.is_empty()) else {
            self.resume(tid, libc::PTRACE_CONT, 0);
            return None;
        };
        let blocked = task.blocked.take();
        let stepped = self.step_aside(tid, &thread);
        unblock(tid, blocked);
        match stepped {
            Ok(()) => self.deliver_all(tid, &thread),
            Err(Instead::Event(who, status)) => Some((who, status)),
            Err(_) => None,
        }
    }

    /// The task, for which signals wait, is about to make a system call or has made one. Those of our own code it makes as it is; before one of its
    /// own it gets its mask back, and the kernel its signals.
    pub fn at_system_call(&mut self, tid: i32) {
        let Some(task) = self.tasks.get_mut(&tid) else { return };
        let pc = registers(tid).map_or(0, |regs| regs.rip);
        let asks = |thread: &Arc<Thread>| thread.process.space().stubs(|stubs| stubs.in_request(pc)).is_some();
        if !task.thread.as_ref().is_some_and(asks) {
            unblock(tid, task.blocked.take());
            task.progress.makes_system_call();
            for signal in std::mem::take(&mut task.undelivered) {
                self.send_again(tid, signal);
            }
        }
        self.resume(tid, libc::PTRACE_CONT, 0);
    }

    /// Brings a thread to a stop from which a signal can be handed to it, and leaves its registers, and the system call that it may
    /// be in, as they are.
    fn step_aside(&mut self, tid: i32, thread: &Thread) -> Result<(), Instead> {
        let stubs = thread.process.space().stubs(|_| true);
        let (Ok(regs), Some(stubs)) = (registers(tid), stubs) else { return Err(Instead::Resumed) };
        let aside = Registers { rip: stubs.start, orig_rax: u64::MAX, ..regs };
        set_registers(tid, &aside).map_err(|_| Instead::Resumed)?;
        let stepped = self.step(tid);
        // Also if something came between: it then stands where it stood.
        let _ = set_registers(tid, &regs);
        stepped
    }

    fn deliver_all(&mut self, tid: i32, thread: &Arc<Thread>) -> Option<(i32, i32)> {
        while let Some(signal) = self.tasks.get_mut(&tid)?.undelivered.pop_front() {
            // The handler just entered may block it: then it waits, as it would natively.
            if !is_raised(&signal) && is_in(tid, signal.number, "SigBlk:") {
                self.send_again(tid, signal);
                continue;
            }
            let outcome = match self.admits(tid, thread, &signal) {
                true => self.deliver_to_handler(tid, thread, signal),
                false => Err(Instead::Postponed),
            };
            let undelivered = &mut self.tasks.get_mut(&tid)?.undelivered;
            match outcome {
                Ok(()) if undelivered.is_empty() => {}
                // The stop in which it has entered the handler is none from which another signal can be handed to it.
                Ok(()) => match self.step_aside(tid, thread) {
                    Ok(()) => {}
                    Err(Instead::Event(who, status)) => return Some((who, status)),
                    Err(_) => return None,
                },
                Err(Instead::Resumed) => return None,
                Err(Instead::Fault(fault)) => {
                    undelivered.push_front(signal);
                    undelivered.push_front(*fault);
                }
                Err(Instead::Postponed) => {
                    undelivered.push_front(signal);
                    // Those that come after it stay behind it.
                    if let Some(task) = self.tasks.get_mut(&tid) {
                        task.blocked = task.blocked.or_else(|| block_others(tid));
                    }
                    self.resume(tid, libc::PTRACE_CONT, 0);
                    return None;
                }
                Err(Instead::Event(who, status)) => {
                    undelivered.push_front(signal);
                    return Some((who, status));
                }
            }
        }
        self.resume(tid, libc::PTRACE_CONT, 0);
        None
    }

    /// Is it time for the signal?
    fn admits(&mut self, tid: i32, thread: &Thread, signal: &Signal) -> bool {
        let (Some(task), Ok(regs)) = (self.tasks.get_mut(&tid), registers(tid)) else { return true };
        is_raised(signal)
            || task.progress.admits(
                signal.number,
                has_moved(thread, regs.rip),
                || is_from_outside(tid, signal),
                || processor_time(tid),
            )
    }

    /// Leaves the thread stopped before the translation of the handler is asked for.
    fn deliver_to_handler(&mut self, tid: i32, thread: &Thread, mut signal: Signal) -> Result<(), Instead> {
        // A fault belongs to the instruction at which it stopped; a step may not lie between.
        let mut raised = is_raised(&signal);
        let mut others = None;
        let mut outcome = Err(Instead::Postponed);
        for _ in 0..MANY_STEPS {
            let Ok(regs) = registers(tid) else {
                outcome = Err(Instead::Resumed);
                break;
            };
            match self.place(tid, thread, regs, raised) {
                Place::Native => {
                    unblock(tid, others.take());
                    set_signal_info(tid, &signal);
                    self.resume(tid, libc::PTRACE_CONT, signal.number);
                    return Err(Instead::Resumed);
                }
                Place::Busy => break,
                Place::At(regs, mode) => {
                    unblock(tid, others.take());
                    if set_registers(tid, &regs).is_err() {
                        return Err(Instead::Resumed);
                    }
                    if raised && matches!(signal.number, libc::SIGILL | libc::SIGFPE | libc::SIGSYS) {
                        set_address(&mut signal.info, regs.rip);
                    }
                    return self.enter_handler(tid, thread, &signal, mode);
                }
                Place::Between => {
                    raised = false;
                    // Others wait meanwhile, in the kernel's order.
                    others = others.or_else(|| block_others(tid));
                    if let Err(instead) = self.step(tid) {
                        outcome = Err(instead);
                        break;
                    }
                }
            }
        }
        unblock(tid, others);
        outcome
    }

    /// Gives a signal back to the kernel.
    fn send_again(&mut self, tid: i32, signal: Signal) {
        if let Some(task) = self.tasks.get_mut(&tid) {
            task.sent_again.push(signal);
        }
        // SAFETY: a plain system call.
        unsafe { libc::syscall(libc::SYS_tkill, tid, signal.number) };
    }

    /// The kernel builds the frame; the thread stops at the handler's first instruction and is sent to its translation. If another thread has
    /// had the signal ignored meanwhile there is no frame, and it is sent to the translation of where it stands.
    fn enter_handler(&mut self, tid: i32, thread: &Thread, signal: &Signal, mode: Mode) -> Result<(), Instead> {
        set_signal_info(tid, signal);
        // SAFETY: a ptrace call on a stopped task. It stops again before it runs any instruction: those here are the guest's own.
        unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0) };
        self.resume(tid, libc::PTRACE_CONT, signal.number);
        let Some((who, status)) = wait(tid) else { return Err(Instead::Resumed) };
        if !libc::WIFSTOPPED(status) {
            return Err(Instead::Event(who, status));
        }
        let (Ok(mut regs), Some(stubs)) = (registers(tid), thread.process.space().stubs(|_| true)) else {
            return Err(Instead::Resumed);
        };
        restart(&mut regs);
        let context = thread.memory.context();
        context.exit = Exits::miss(mode) as u64;
        context.argument = regs.rip;
        regs.rip = stubs.request;
        set_registers(tid, &regs).map_err(|_| Instead::Resumed)?;
        let interrupted = status >> 16 == libc::PTRACE_EVENT_STOP && libc::WSTOPSIG(status) == libc::SIGTRAP;
        if interrupted { Ok(()) } else { Err(Instead::Event(who, status)) }
    }

    fn step(&mut self, tid: i32) -> Result<(), Instead> {
        self.resume(tid, libc::PTRACE_SINGLESTEP, 0);
        loop {
            let Some((who, status)) = wait(tid) else { return Err(Instead::Resumed) };
            if !libc::WIFSTOPPED(status) {
                return Err(Instead::Event(who, status));
            }
            let number = libc::WSTOPSIG(status);
            match status >> 16 {
                0 => {}
                // Interrupted to be looked at, which it is.
                libc::PTRACE_EVENT_STOP if number == libc::SIGTRAP => {
                    self.resume(tid, libc::PTRACE_SINGLESTEP, 0);
                    continue;
                }
                _ => return Err(Instead::Event(who, status)),
            }
            let info = signal_info(tid);
            if number == libc::SIGTRAP && STEPPED.contains(&info.si_code) {
                return Ok(());
            }
            let mut stopped = Signal { number, info };
            if !is_in(tid, number, "SigCgt:") {
                self.resume(tid, libc::PTRACE_SINGLESTEP, number);
            } else if is_raised(&stopped) {
                return Err(Instead::Fault(Box::new(stopped)));
            } else if let Some(task) = self.tasks.get_mut(&tid) {
                take_up(task, &mut stopped);
                task.undelivered.push_back(stopped);
                self.resume(tid, libc::PTRACE_SINGLESTEP, 0);
            }
        }
    }

    fn place(&mut self, tid: i32, thread: &Thread, regs: Registers, raised: bool) -> Place {
        let space = thread.process.space();
        if space.stubs(|stubs| (stubs.request..stubs.asked).contains(&regs.rip)).is_some() {
            return self.place_before_request(thread, regs);
        }
        if space.stubs(|stubs| stubs.in_request(regs.rip)).is_some() {
            return self.place_in_request(tid, thread, regs, raised);
        }
        if let Some(stubs) = space.stubs(|stubs| (stubs.syscall..stubs.syscall_end).contains(&regs.rip)) {
            return self.place_in_system_call(thread, regs, stubs);
        }
        if space.stubs(|stubs| stubs.contains(regs.rip)).is_some() {
            return Place::Between;
        }
        let mut translator = space.lock();
        if translator.cache.zone_at(regs.rip).is_none() {
            return if regs.gs_base == thread.memory.address() && raised {
                // It was sent to an address where there is no code, or none that can be translated.
                Place::At(Box::new(regs), translator.first_mode())
            } else {
                Place::Native
            };
        }
        translator.guest.tid = tid;
        let (pc, spilled, mode) = match translator.interrupted_at(regs.rip) {
            Some((Interrupted::At { pc, spilled }, mode)) => (pc, spilled, mode),
            Some((Interrupted::Faulting { pc, spilled }, mode)) if raised => (pc, spilled, mode),
            _ => return Place::Between,
        };
        let spill = thread.memory.context().spill;
        let mut regs = Registers { rip: pc, ..regs };
        for (slot, register) in spilled.into_iter().enumerate() {
            if let Some(register) = register {
                *general(&mut regs, register) = spill[slot];
            }
        }
        Place::At(Box::new(regs), mode)
    }

    /// The thread is about to ask; its registers are still its own. What it will ask tells where it stands.
    fn place_before_request(&self, thread: &Thread, regs: Registers) -> Place {
        let space = thread.process.space();
        let Context { exit, argument, .. } = *thread.memory.context();
        let translator = space.lock();
        let (pc, mode) = match translator.exits.get(exit) {
            Some(Exit::Miss(mode)) => (argument, *mode),
            Some(Exit::Link { target: key } | Exit::Changed { key }) => *key,
            Some(Exit::Start) => thread.start,
            _ => return Place::Between,
        };
        Place::At(Box::new(Registers { rip: pc, ..regs }), mode)
    }

    /// The thread waits for an answer, or has it and is about to go on. Stepping it there takes long; with its registers, which
    /// are in the context, it can be put where the answer sends it.
    fn place_in_request(&mut self, tid: i32, thread: &Thread, regs: Registers, raised: bool) -> Place {
        if is_busy(thread) {
            return Place::Busy;
        }
        let mut regs = regs;
        let context = thread.memory.context();
        set_general(&mut regs, &context.gpr);
        regs.rip = context.resume;
        // It may well go on where it cannot stay: then it is stepped on from there.
        regs.orig_rax = u64::MAX;
        if set_registers(tid, &regs).is_err() {
            return Place::Between;
        }
        self.place(tid, thread, regs, raised)
    }

    /// Before the system call is made the thread stands before its `syscall`; behind it, behind that. A call that a signal interrupted is
    /// restarted by the kernel, which subtracts the two bytes of the instruction: from the guest's pc as well as from ours.
    fn place_in_system_call(&self, thread: &Thread, regs: Registers, stubs: Stubs) -> Place {
        let spilled = thread.memory.context().spill[0];
        // At its first instruction the continuation is still in r11.
        let continuation = if regs.rip == stubs.syscall { regs.r11 } else { spilled };
        let retired = *thread.behind_syscall.lock().unwrap_or_else(PoisonError::into_inner);
        let next = retired.or_else(|| thread.process.space().lock().continuation(continuation));
        let Some((next, mode)) = next else { return Place::Between };
        let regs = match (stubs.behind_syscall..stubs.syscall_left).contains(&regs.rip) {
            true => Registers { rip: next, rcx: next, ..regs },
            false => Registers { rip: next - 2, ..regs },
        };
        Place::At(Box::new(regs), mode)
    }
}

/// A signal that was given back to the kernel comes with what was known of it. One that queues comes before those that were sent after it.
fn take_up(task: &mut Task, signal: &mut Signal) {
    // SAFETY: the field is of the union's first members for signals that were sent.
    let from_us = signal.info.si_code == libc::SI_TKILL && unsafe { signal.info.si_pid() } == std::process::id() as i32;
    let known = task.sent_again.iter().position(|known| known.number == signal.number);
    if let Some(index) = known.filter(|_| from_us || signal.number >= FIRST_QUEUED) {
        let earlier = task.sent_again.remove(index);
        let later = std::mem::replace(signal, earlier);
        if !from_us {
            task.sent_again.push(later);
        }
    }
}

/// Is the signal in one of the thread's sets: those it catches, those it blocks (proc(5), status)?
fn is_in(tid: i32, number: i32, set: &str) -> bool {
    let set = status(tid, set).and_then(|set| u64::from_str_radix(&set, 16).ok()).unwrap_or(0);
    set & 1 << (number - 1) != 0
}

fn status(tid: i32, field: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(field)).map(|value| value.trim().to_owned())
}

/// Has the signal been sent anew since the last one of its number was delivered, and not by the thread's own process? (Those that queue may have been
/// waiting for long, but a timer has one at a time.)
fn is_from_outside(tid: i32, signal: &Signal) -> bool {
    let code = signal.info.si_code;
    let sent = code <= 0 && code != libc::SI_TIMER;
    // SAFETY: the field is of the union's first members for signals that were sent.
    let own = || status(tid, "Tgid:").is_some_and(|own| own == unsafe { signal.info.si_pid() }.to_string());
    if sent { signal.number < FIRST_QUEUED && !own() } else { true }
}

/// Blocks what may come while the thread is stepped. What was blocked before.
fn block_others(tid: i32) -> Option<u64> {
    let mut before = 0u64;
    let raised = RAISED.iter().fold(0u64, |set, number| set | 1 << (number - 1));
    let all = !raised;
    // SAFETY: the kernel fills and reads our words, of the size told.
    unsafe {
        let got = libc::ptrace(libc::PTRACE_GETSIGMASK, tid, 8, &raw mut before) == 0;
        let blocked = all | before;
        (got && libc::ptrace(libc::PTRACE_SETSIGMASK, tid, 8, &raw const blocked) == 0).then_some(before)
    }
}

pub fn unblock(tid: i32, before: Option<u64>) {
    if let Some(before) = before {
        // SAFETY: the kernel reads our word.
        unsafe { libc::ptrace(libc::PTRACE_SETSIGMASK, tid, 8, &raw const before) };
    }
}

fn signal_info(tid: i32) -> libc::siginfo_t {
    // SAFETY: the kernel fills the structure, of which any bits are valid.
    unsafe {
        let mut info = std::mem::zeroed();
        libc::ptrace(libc::PTRACE_GETSIGINFO, tid, 0, &raw mut info);
        info
    }
}

fn set_signal_info(tid: i32, signal: &Signal) {
    // SAFETY: the kernel reads the structure.
    unsafe { libc::ptrace(libc::PTRACE_SETSIGINFO, tid, 0, &raw const signal.info) };
}

/// Codes of a SIGTRAP that comes of stepping: behind a system call, behind any other instruction, behind a branch
/// (asm-generic/siginfo.h: TRAP_BRKPT, TRAP_TRACE, TRAP_BRANCH). The guest's own int3 has another.
const STEPPED: [i32; 3] = [1, 2, 3];

/// A system call that a signal interrupted is made again if no handler runs (Linux, asm/signal.c). The kernel would do it with the registers
/// that the thread has when it goes on, which are to lead into our code.
fn restart(regs: &mut Registers) {
    let call = match -(regs.rax as i64) {
        _ if (regs.orig_rax as i64) < 0 => None,
        ERESTARTSYS | ERESTARTNOINTR | ERESTARTNOHAND => Some(regs.orig_rax),
        ERESTART_RESTARTBLOCK => Some(libc::SYS_restart_syscall as u64),
        _ => None,
    };
    if let Some(call) = call {
        (regs.rax, regs.rip) = (call, regs.rip - SYSCALL_BYTES);
    }
    regs.orig_rax = u64::MAX;
}

/// linux/errno.h
const ERESTARTSYS: i64 = 512;
const ERESTARTNOINTR: i64 = 513;
const ERESTARTNOHAND: i64 = 514;
const ERESTART_RESTARTBLOCK: i64 = 516;

/// Raised by the instruction at which the thread stands, not sent by somebody (sigaction(2): codes above 0 are the kernel's).
fn is_raised(signal: &Signal) -> bool {
    RAISED.contains(&signal.number) && signal.info.si_code > 0
}

/// The address in a fault's information: at offset 16 (Linux, asm-generic/siginfo.h).
fn set_address(info: &mut libc::siginfo_t, address: u64) {
    // SAFETY: the structure has 128 bytes and is aligned to 8.
    unsafe { (&raw mut *info).cast::<u64>().add(2).write(address) };
}

/// Gives all general registers these values but the stack pointer, which is the thread's own wherever it stands.
pub fn set_general(regs: &mut Registers, values: &[u64; 16]) {
    for number in (0..16).filter(|number| *number != 4) {
        *general(regs, number) = values[number as usize];
    }
}

/// The register with this number in hardware's counting.
fn general(regs: &mut Registers, number: u8) -> &mut u64 {
    match number {
        0 => &mut regs.rax,
        1 => &mut regs.rcx,
        2 => &mut regs.rdx,
        3 => &mut regs.rbx,
        4 => &mut regs.rsp,
        5 => &mut regs.rbp,
        6 => &mut regs.rsi,
        7 => &mut regs.rdi,
        8 => &mut regs.r8,
        9 => &mut regs.r9,
        10 => &mut regs.r10,
        11 => &mut regs.r11,
        12 => &mut regs.r12,
        13 => &mut regs.r13,
        14 => &mut regs.r14,
        _ => &mut regs.r15,
    }
}
