//! Ctrl-C and Ctrl-\\ go to all processes of the terminal's foreground group. They are the guest's to handle; the supervisor
//! outlives them, to report what was seen.

const SIGNALS: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];

/// Puts the handlers back when it goes.
pub struct Restore([libc::sighandler_t; 2]);

pub fn left_to_the_guest() -> Restore {
    // SAFETY: ignoring a signal touches no memory.
    Restore(SIGNALS.map(|signal| unsafe { libc::signal(signal, libc::SIG_IGN) }))
}

impl Drop for Restore {
    fn drop(&mut self) {
        for (signal, handler) in SIGNALS.into_iter().zip(self.0) {
            // SAFETY: puts back the handler that was there.
            unsafe { libc::signal(signal, handler) };
        }
    }
}
