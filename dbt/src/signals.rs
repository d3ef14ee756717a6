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
use crate::service::{context, lock};
use crate::stubs::Stubs;
use crate::tracer::{Tracer, wait};
use libc::user_regs_struct as Registers;
use std::sync::PoisonError;

/// A signal that is to be delivered.
struct Signal {
    number: i32,
    info: libc::siginfo_t,
}

/// Where the guest is interrupted.
enum Place {
    /// In its own code: it runs natively.
    Native,
    /// In common code or in the middle of something: run on.
    Between,
    /// Before a guest instruction, with these registers.
    At(Box<Registers>, Mode),
}

/// Steps after which a guest that still stands nowhere is let go on without its signal, which comes again.
const MANY_STEPS: usize = 100_000;

impl Tracer<'_> {
    /// The guest has stopped for a signal that is about to be delivered. The event that came meanwhile, if any.
    pub fn deliver(&mut self, number: i32) -> Option<(i32, i32)> {
        if !self.has(number, "SigCgt:") {
            self.resume(libc::PTRACE_CONT, number);
            return None;
        }
        let mut waiting = vec![Signal { number, info: self.signal_info() }];
        while let Some(signal) = waiting.pop() {
            let number = signal.number;
            // The handler just entered may block it: then it waits, as it would natively.
            if self.has(number, "SigBlk:") {
                self.send_again(number);
                continue;
            }
            if let Err(event) = self.deliver_to_handler(signal, &mut waiting) {
                // Something else comes first: a group stop, a child. The signals come again.
                if event.is_some_and(|(_, status)| libc::WIFSTOPPED(status)) {
                    self.send_again(number);
                }
                waiting.iter().for_each(|signal| self.send_again(signal.number));
                return event;
            }
        }
        self.resume(libc::PTRACE_CONT, 0);
        None
    }

    /// Leaves the guest stopped before the translation of the handler is asked for; or else has resumed it, and passes on what happened.
    fn deliver_to_handler(&mut self, mut signal: Signal, waiting: &mut Vec<Signal>) -> Result<(), Option<(i32, i32)>> {
        // A fault belongs to the instruction at which it stopped; a step may not lie between.
        let mut faulted = is_fault(&signal);
        for _ in 0..MANY_STEPS {
            let Ok(regs) = registers(self.pid) else { return Err(None) };
            match self.place(regs, faulted) {
                Place::Native => {
                    self.set_signal_info(&signal);
                    self.resume(libc::PTRACE_CONT, signal.number);
                    return Err(None);
                }
                Place::At(regs, mode) => {
                    if set_registers(self.pid, &regs).is_err() {
                        return Err(None);
                    }
                    if faulted && matches!(signal.number, libc::SIGILL | libc::SIGFPE) {
                        set_address(&mut signal.info, regs.rip);
                    }
                    return self.enter_handler(&signal, mode, waiting);
                }
                Place::Between => {
                    faulted = false;
                    self.step(0, waiting)?;
                }
            }
        }
        self.send_again(signal.number);
        self.resume(libc::PTRACE_CONT, 0);
        Err(None)
    }

    fn send_again(&self, number: i32) {
        // SAFETY: a plain system call.
        unsafe { libc::kill(self.pid, number) };
    }

    /// The kernel builds the frame; the guest stops at the handler's first instruction and is sent to its translation.
    fn enter_handler(
        &mut self,
        signal: &Signal,
        mode: Mode,
        waiting: &mut Vec<Signal>,
    ) -> Result<(), Option<(i32, i32)>> {
        self.set_signal_info(signal);
        self.step(signal.number, waiting)?;
        let Ok(mut regs) = registers(self.pid) else { return Err(None) };
        let request = self.stubs(|_| true).map_or(0, |stubs| stubs.request);
        {
            let mut translator = lock(self.translator);
            let context = context(&mut translator);
            context.exit = Exits::miss(mode) as u64;
            context.argument = regs.rip;
        }
        regs.rip = request;
        set_registers(self.pid, &regs).map_err(|_| None)
    }

    /// One step, with a signal to deliver or none. Signals that come meanwhile wait.
    fn step(&mut self, signal: i32, waiting: &mut Vec<Signal>) -> Result<(), Option<(i32, i32)>> {
        self.resume(libc::PTRACE_SINGLESTEP, signal);
        loop {
            let Some((who, status)) = wait(self.pid) else { return Err(None) };
            if !libc::WIFSTOPPED(status) || status >> 16 != 0 {
                return Err(Some((who, status)));
            }
            match libc::WSTOPSIG(status) {
                libc::SIGTRAP => return Ok(()),
                number if self.has(number, "SigCgt:") => {
                    waiting.push(Signal { number, info: self.signal_info() });
                    self.resume(libc::PTRACE_SINGLESTEP, 0);
                }
                number => self.resume(libc::PTRACE_SINGLESTEP, number),
            }
        }
    }

    fn place(&mut self, regs: Registers, faulted: bool) -> Place {
        if self.stubs(|stubs| (stubs.request..stubs.asked).contains(&regs.rip)).is_some() {
            return self.place_before_request(regs);
        }
        if self.stubs(|stubs| (stubs.asked..stubs.syscall).contains(&regs.rip)).is_some() {
            return self.place_in_request(regs, faulted);
        }
        if let Some(stubs) = self.stubs(|stubs| (stubs.syscall..stubs.syscall_end).contains(&regs.rip)) {
            return self.place_in_system_call(regs, stubs);
        }
        if self.stubs(|stubs| stubs.contains(regs.rip)).is_some() {
            return Place::Between;
        }
        let mut translator = lock(self.translator);
        if !translator.cache.zones.iter().any(|zone| zone.contains(regs.rip)) {
            return Place::Native;
        }
        let (pc, spilled, mode) = match translator.interrupted_at(regs.rip) {
            Some((Interrupted::At { pc, spilled }, mode)) => (pc, spilled, mode),
            Some((Interrupted::Faulting { pc, spilled }, mode)) if faulted => (pc, spilled, mode),
            _ => return Place::Between,
        };
        let spill = context(&mut translator).spill;
        let mut regs = Registers { rip: pc, ..regs };
        for (slot, register) in spilled.into_iter().enumerate() {
            if let Some(register) = register {
                *general(&mut regs, register) = spill[slot];
            }
        }
        Place::At(Box::new(regs), mode)
    }

    /// The guest is about to ask; its registers are still its own. What it will ask tells where it stands.
    fn place_before_request(&mut self, regs: Registers) -> Place {
        let mut translator = lock(self.translator);
        let Context { exit, argument, .. } = *context(&mut translator);
        let (pc, mode) = match translator.exits.get(exit) {
            Some(Exit::Miss(mode)) => (argument, *mode),
            Some(Exit::Link { target }) => *target,
            _ => return Place::Between,
        };
        Place::At(Box::new(Registers { rip: pc, ..regs }), mode)
    }

    /// The guest waits for an answer, or has it and is about to go on. Stepping it there takes long; with its registers, which
    /// are in the context, it can be put where the answer sends it.
    fn place_in_request(&mut self, regs: Registers, faulted: bool) -> Place {
        if !self.shared.wait_for_answer() {
            return Place::Between;
        }
        let mut regs = regs;
        {
            let mut translator = lock(self.translator);
            let context = context(&mut translator);
            if context.action != 0 {
                return Place::Between;
            }
            for number in (0..16).filter(|number| *number != 4) {
                *general(&mut regs, number) = context.gpr[number as usize];
            }
            regs.rip = context.resume;
        }
        // It may well go on where it cannot stay: then it is stepped on from there.
        regs.orig_rax = u64::MAX;
        if set_registers(self.pid, &regs).is_err() {
            return Place::Between;
        }
        self.place(regs, faulted)
    }

    /// Before the system call is made the guest stands before its `syscall`; behind it, behind that. A call that a signal interrupted is
    /// restarted by the kernel, which subtracts the two bytes of the instruction: from the guest's pc as well as from ours.
    fn place_in_system_call(&mut self, regs: Registers, stubs: Stubs) -> Place {
        let mut translator = lock(self.translator);
        let spilled = context(&mut translator).spill[0];
        // At its first instruction the continuation is still in r11.
        let continuation = if regs.rip == stubs.syscall { regs.r11 } else { spilled };
        let Some((next, mode)) = translator.continuation(continuation) else { return Place::Between };
        let regs = match regs.rip == stubs.behind_syscall {
            true => Registers { rip: next, rcx: next, ..regs },
            false => Registers { rip: next - 2, ..regs },
        };
        Place::At(Box::new(regs), mode)
    }

    fn stubs(&self, which: impl Fn(&Stubs) -> bool) -> Option<Stubs> {
        self.shared.stubs.read().unwrap_or_else(PoisonError::into_inner).iter().copied().find(which)
    }

    /// Is the signal in one of the guest's sets: those it catches, those it blocks (proc(5), status)?
    fn has(&self, number: i32, set: &str) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let set = status.lines().find_map(|line| line.strip_prefix(set));
        let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
        set & 1 << (number - 1) != 0
    }

    fn signal_info(&self) -> libc::siginfo_t {
        // SAFETY: the kernel fills the structure, of which any bits are valid.
        unsafe {
            let mut info = std::mem::zeroed();
            libc::ptrace(libc::PTRACE_GETSIGINFO, self.pid, 0, &raw mut info);
            info
        }
    }

    fn set_signal_info(&self, signal: &Signal) {
        // SAFETY: the kernel reads the structure.
        unsafe { libc::ptrace(libc::PTRACE_SETSIGINFO, self.pid, 0, &raw const signal.info) };
    }
}

/// Raised by the instruction at which the guest stands, not sent by somebody (sigaction(2): codes above 0 are the kernel's).
fn is_fault(signal: &Signal) -> bool {
    matches!(signal.number, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL) && signal.info.si_code > 0
}

/// The address in a fault's information: at offset 16 (Linux, asm-generic/siginfo.h).
fn set_address(info: &mut libc::siginfo_t, address: u64) {
    // SAFETY: the structure has 128 bytes and is aligned to 8.
    unsafe { (&raw mut *info).cast::<u64>().add(2).write(address) };
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
