//! The tracer: hears of the guest's signals, children and end through ptrace.
//!
//! It runs on the thread that launched the guest, because ptrace wants that. Translation does not pass through here.

use crate::launch::{registers, set_registers};
use crate::service::Shared;
use crate::translate::Translator;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// How the guest ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Killed(i32),
}

/// What happened beside the guest's own execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub processes: u64,
    pub threads: u64,
    pub execs: u64,
}

pub struct Tracer<'a> {
    pub pid: i32,
    pub shared: &'a Shared,
    pub translator: &'a Mutex<Translator>,
    seen: Seen,
}

impl<'a> Tracer<'a> {
    pub fn new(pid: i32, shared: &'a Shared, translator: &'a Mutex<Translator>) -> Tracer<'a> {
        Tracer { pid, shared, translator, seen: Seen::default() }
    }

    /// Waits until the guest ends.
    pub fn trace(mut self) -> (End, Seen) {
        let end = loop {
            let Some((who, status)) = wait(-1) else { break End::Killed(libc::SIGKILL) };
            let mut event = Some((who, status));
            // Handling one stop may meet another.
            while let Some((who, status)) = event.take() {
                if let Some(end) = ended(status).filter(|_| who == self.pid) {
                    self.shared.guest_ended();
                    return (end, self.seen);
                }
                if libc::WIFSTOPPED(status) {
                    event = if who == self.pid { self.stopped(status) } else { self.let_go(who) };
                }
            }
        };
        self.shared.guest_ended();
        (end, self.seen)
    }

    /// The guest stands in a ptrace stop. The next event, if one came while it was handled.
    fn stopped(&mut self, status: i32) -> Option<(i32, i32)> {
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            0 => return self.deliver(signal),
            // A group stop: the guest stays stopped, and we go on listening (ptrace(2), group-stop).
            libc::PTRACE_EVENT_STOP
                if matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) =>
            {
                self.resume(libc::PTRACE_LISTEN, 0)
            }
            event => {
                match event {
                    libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => self.seen.processes += 1,
                    libc::PTRACE_EVENT_CLONE => self.seen.threads += 1,
                    libc::PTRACE_EVENT_EXEC => self.seen.execs += 1,
                    _ => {}
                }
                self.resume(libc::PTRACE_CONT, 0)
            }
        }
        None
    }

    /// If the guest is gone meanwhile, the next wait tells.
    pub fn resume(&self, request: libc::c_uint, signal: i32) {
        // SAFETY: a ptrace call on a stopped child.
        unsafe { libc::ptrace(request, self.pid, 0, signal) };
    }

    /// A new process or thread of the guest stands behind the system call that made it. It has no context of its own, so
    /// it goes on natively: its memory is that of a native process, return addresses included.
    fn let_go(&mut self, who: i32) -> Option<(i32, i32)> {
        if let Ok(mut regs) = registers(who) {
            let next = self.shared.behind_clone.load(Ordering::SeqCst);
            if regs.gs_base != 0 && next != 0 {
                regs.rip = next;
                regs.rcx = next;
                regs.gs_base = 0;
                let _ = set_registers(who, &regs);
            }
        }
        // SAFETY: a ptrace call on a stopped child.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, who, 0, 0) };
        None
    }
}

/// The next event of a child, or of any.
pub fn wait(pid: i32) -> Option<(i32, i32)> {
    loop {
        let mut status = 0;
        // SAFETY: a plain system call.
        let who = unsafe { libc::waitpid(pid, &mut status, libc::__WALL) };
        if who > 0 {
            return Some((who, status));
        }
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return None;
        }
    }
}

fn ended(status: i32) -> Option<End> {
    if libc::WIFSIGNALED(status) {
        Some(End::Killed(libc::WTERMSIG(status)))
    } else {
        libc::WIFEXITED(status).then(|| End::Exited(libc::WEXITSTATUS(status)))
    }
}
