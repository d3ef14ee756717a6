//! Progress in a storm of signals.
//!
//! Delivering a signal takes some hundred microseconds. A fast timer has sent the next one by then, which would be delivered as soon as the handler
//! returns; the code that was interrupted would never get on, as it does natively. So a signal that comes again and again before the thread has
//! moved waits until the thread has had time of its own. Only what is sent from outside waits, because natively that may come a
//! little later as well; what a program sends itself is delivered at once.

use crate::thread::Thread;
use std::sync::atomic::Ordering;

/// How often a signal comes again at once before it is a storm. A delivery that was late is followed by the next one at once; if that waited, it
/// would be late as well, and so on.
const CHANCE: u32 = 4;
/// Nanoseconds of a processor that are the thread's own then. It is about what a delivery takes.
const OWN_TIME: u64 = 300_000;

/// What a thread has done since signals were delivered to it.
#[derive(Default)]
pub struct Progress {
    /// Those that were delivered where it stands, a bit each.
    delivered: u64,
    /// How many came there once more.
    again: u32,
    /// While one waits: the processor time that the thread is to reach first.
    runs_until: Option<u64>,
}

impl Progress {
    /// Is the signal to be delivered now? The thread may have moved since the last one, and has had so much processor time.
    pub fn admits(
        &mut self,
        number: i32,
        moved: bool,
        from_outside: impl FnOnce() -> bool,
        time: impl FnOnce() -> u64,
    ) -> bool {
        if let Some(until) = self.runs_until {
            if time() < until {
                return false;
            }
            *self = Progress::default();
        } else if moved {
            *self = Progress::default();
        } else if self.delivered & bit(number) != 0 && from_outside() {
            self.again += 1;
            if self.again > CHANCE {
                self.runs_until = Some(time().saturating_add(OWN_TIME));
                return false;
            }
        }
        self.delivered |= bit(number);
        true
    }

    /// The thread makes a system call: that is progress, and may take as long as it likes.
    pub fn makes_system_call(&mut self) {
        self.runs_until = None;
    }
}

fn bit(number: i32) -> u64 {
    1 << (number - 1)
}

/// Not if the thread stands where a handler has just returned to, or before the first instruction of one.
pub fn has_moved(thread: &Thread, pc: u64) -> bool {
    thread.returned_to.load(Ordering::SeqCst) != pc
        && thread.process.space().stubs(|stubs| stubs.request == pc).is_none()
}

/// Nanoseconds that a stopped thread has run (proc(5), schedstat): on a busy machine time passes without it. A kernel that does not count
/// them tells 0; then the thread has had enough when it is next looked at.
pub fn processor_time(tid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{tid}/schedstat")).unwrap_or_default();
    let time = text.split_whitespace().next().and_then(|time| time.parse().ok());
    time.filter(|time| *time != 0).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALARM: i32 = libc::SIGALRM;

    /// A signal from outside for a thread that has not moved.
    fn admits(progress: &mut Progress, number: i32, time: u64) -> bool {
        progress.admits(number, false, || true, || time)
    }

    fn in_a_storm() -> Progress {
        let mut progress = Progress::default();
        assert!((0..=CHANCE).all(|_| admits(&mut progress, ALARM, 7)));
        assert!(!admits(&mut progress, ALARM, 7));
        progress
    }

    #[test]
    fn in_a_storm_the_thread_gets_time() {
        let mut progress = in_a_storm();
        assert!(!admits(&mut progress, ALARM, 7 + OWN_TIME - 1));
        assert!(admits(&mut progress, ALARM, 7 + OWN_TIME));
        assert!(admits(&mut progress, ALARM, 7 + OWN_TIME));
    }

    #[test]
    fn a_thread_that_moves_or_makes_a_system_call_is_in_none() {
        let mut progress = Progress::default();
        assert!((0..100).all(|_| progress.admits(ALARM, true, || true, || 7)));
        let mut progress = in_a_storm();
        progress.makes_system_call();
        assert!(progress.admits(ALARM, true, || true, || 7));
    }

    #[test]
    fn signals_that_were_pending_together_and_those_of_the_program_itself_are_none() {
        let mut progress = Progress::default();
        assert!((1..=64).all(|number| admits(&mut progress, number, 7)));
        assert!((0..100).all(|_| progress.admits(ALARM, false, || false, || 7)));
    }

    #[test]
    fn a_kernel_that_does_not_count_time_lets_a_signal_wait_once() {
        let mut progress = Progress::default();
        let admitted = (0..CHANCE + 3).map(|_| admits(&mut progress, ALARM, u64::MAX)).filter(|admitted| *admitted);
        assert_eq!(admitted.count() as u32, CHANCE + 2);
    }

    #[test]
    fn processor_time_passes_and_does_not_run_backwards() {
        let before = processor_time(std::process::id() as i32);
        assert!(before > 0 && processor_time(std::process::id() as i32) >= before);
    }
}
