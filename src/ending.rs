//! How fpgrind ends: as the program did, so that whoever started it sees no difference.

use fpgrind_dbt::End;

/// fpgrind itself failed: the convention of env, nohup and timeout.
pub const FPGRIND_FAILED: i32 = 125;

/// The program succeeded, but its outputs are less accurate than --fail-on allows.
pub const INACCURATE: i32 = 100;

/// Why fpgrind ends before the program could: one sentence, and the exit status.
#[derive(Debug)]
pub struct Failure {
    pub sentence: String,
    pub status: i32,
}

impl Failure {
    pub fn own(sentence: String) -> Failure {
        Failure { sentence, status: FPGRIND_FAILED }
    }
}

/// Ends this process the way the program ended.
pub fn end_like(end: &End) -> ! {
    match *end {
        End::Exited(status) => std::process::exit(status),
        End::Killed(signal) => die_by(signal),
    }
}

fn die_by(signal: i32) -> ! {
    // SAFETY: plain system calls on our own process; `set` is initialised by sigemptyset.
    unsafe {
        // If there is a core to look at it is the program's, not ours. RLIMIT_CORE would not do: a limit of 0 does not
        // stop a core that is piped to a handler (core(5)).
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        libc::signal(signal, libc::SIG_DFL);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
        libc::raise(signal);
    }
    // Not reached: the program just died of this signal, so its default is to kill. If it is not, the shell's number for it.
    std::process::exit(128 + signal)
}
