//! Which signals were ignored when we were started.
//!
//! Ignored signals stay ignored through exec, so the guest must find them as we did. But Rust's runtime ignores SIGPIPE before
//! main (a guest in `fpgrind ./program | head` would no longer die of it), and the C library takes signals 32 and 33 for itself with
//! the first thread. So the dispositions are read earlier, by a function that the C library calls first, and put back before the guest's exec.
//! System calls are made directly: the C library's sigaction does not speak of 32 and 33.

use std::sync::atomic::{AtomicU64, Ordering};

/// One bit a signal.
static IGNORED: AtomicU64 = AtomicU64::new(0);

/// The kernel's sigaction: handler, flags, restorer, mask.
type KernelAction = [u64; 4];

fn action(signal: i32) -> KernelAction {
    let mut action: KernelAction = [0; 4];
    // SAFETY: the kernel fills our four words. The call is allowed before main, and between fork and exec.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, std::ptr::null::<u8>(), &raw mut action, 8) };
    action
}

fn set_handler(signal: i32, handler: usize) {
    let action: KernelAction = [handler as u64, 0, 0, 0];
    // SAFETY: the kernel reads our four words; the handler is to ignore or to take the default.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, &raw const action, std::ptr::null::<u8>(), 8) };
}

fn ignored(signal: i32) -> bool {
    action(signal)[0] == libc::SIG_IGN as u64
}

extern "C" fn remember() {
    let set = (1..=64).filter(|signal| ignored(*signal)).fold(0, |set, signal| set | 1 << (signal - 1));
    IGNORED.store(set, Ordering::Relaxed);
}

#[used]
// SAFETY: the section holds pointers to functions without arguments that matter; this is one.
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = remember;

/// Ignores what was ignored and nothing else; handlers go with the exec. To be called between fork and exec.
pub fn restore() {
    let before = IGNORED.load(Ordering::Relaxed);
    for signal in 1..=64 {
        match (before & 1 << (signal - 1) != 0, ignored(signal)) {
            (true, false) => set_handler(signal, libc::SIG_IGN),
            (false, true) => set_handler(signal, libc::SIG_DFL),
            _ => {}
        }
    }
}
