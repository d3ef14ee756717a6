//! What SIGPIPE did when we were started.
//!
//! Rust's runtime sets SIGPIPE to be ignored before main, and ignored signals stay ignored through exec: a guest in `fpgrind ./program | head`
//! would no longer die of it. So the disposition is read earlier, by a function that the C library calls first.

use std::sync::atomic::{AtomicUsize, Ordering};

static ORIGINAL: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);

extern "C" fn remember() {
    // SAFETY: sigaction with no new action only reads; it is allowed before main.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN {
            ORIGINAL.store(libc::SIG_IGN, Ordering::Relaxed);
        }
    }
}

#[used]
// SAFETY: the section holds pointers to functions without arguments that matter; this is one.
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = remember;

pub fn original() -> libc::sighandler_t {
    ORIGINAL.load(Ordering::Relaxed)
}
