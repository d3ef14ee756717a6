//! The tracer: hears of the guest's signals, children and end through ptrace.
//!
//! It runs on the thread that launched the guest, because ptrace wants that. Translation does not pass through here.

use crate::launch::{registers, set_registers};
use crate::service::Shared;
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
    pub handled_signals: u64,
}

/// Waits until the guest ends.
pub fn trace(pid: i32, shared: &Shared) -> (End, Seen) {
    let mut seen = Seen::default();
    let end = loop {
        let mut status = 0;
        // SAFETY: plain system calls on our children.
        let who = unsafe { libc::waitpid(-1, &mut status, libc::__WALL) };
        if who < 0 {
            if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) {
                continue;
            }
            break End::Killed(libc::SIGKILL);
        }
        if libc::WIFSTOPPED(status) {
            if who == pid { stopped(pid, status, &mut seen) } else { let_go(who, shared) }
        } else if who == pid {
            break if libc::WIFSIGNALED(status) {
                End::Killed(libc::WTERMSIG(status))
            } else {
                End::Exited(libc::WEXITSTATUS(status))
            };
        }
    };
    shared.guest_ended();
    (end, seen)
}

fn stopped(pid: i32, status: i32, seen: &mut Seen) {
    let signal = libc::WSTOPSIG(status);
    let resume = |request, signal: i32| {
        // SAFETY: a ptrace call on a stopped child. If it is gone meanwhile, the next wait tells.
        unsafe { libc::ptrace(request, pid, 0, signal) };
    };
    match status >> 16 {
        0 => resume(libc::PTRACE_CONT, signal),
        // A group stop: the guest stays stopped, and we go on listening (ptrace(2), group-stop).
        libc::PTRACE_EVENT_STOP if matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) => {
            resume(libc::PTRACE_LISTEN, 0)
        }
        event => {
            match event {
                libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => seen.processes += 1,
                libc::PTRACE_EVENT_CLONE => seen.threads += 1,
                libc::PTRACE_EVENT_EXEC => seen.execs += 1,
                _ => {}
            }
            resume(libc::PTRACE_CONT, 0)
        }
    }
}

/// A new process or thread of the guest stands behind the system call that made it. It has no context of its own, so it goes on
/// natively: its memory is that of a native process, return addresses included.
fn let_go(who: i32, shared: &Shared) {
    if let Ok(mut regs) = registers(who) {
        let next = shared.behind_clone.load(Ordering::SeqCst);
        if regs.gs_base != 0 && next != 0 {
            regs.rip = next;
            regs.rcx = next;
            regs.gs_base = 0;
            let _ = set_registers(who, &regs);
        }
    }
    // SAFETY: a ptrace call on a stopped child.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, who, 0, 0) };
}
