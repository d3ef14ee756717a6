//! One line on the terminal while the program runs: how long, how much, how far behind, what was found.
//!
//! The terminal is the program's, too. So the line stands below the cursor, which stays where the program left it: what it has written is never
//! overwritten, not even half a line. Where it writes to this terminal the line waits until it has been silent for a while, and goes as soon as
//! it writes again; with its stdout elsewhere it hardly does. Without a terminal, in the background, or where the program has
//! taken the terminal into its own hands (no lines, no echo) there is no line.

use crate::terminal;
use fpgrind_analysis::Analysis;
use fpgrind_dbt::Gauge;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::io::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the line is drawn.
const TICK: Duration = Duration::from_millis(250);
/// What runs no longer needs no line; what has written less long ago may be about to write more.
const SILENCE: Duration = Duration::from_secs(1);

/// What the translator tells while it runs.
pub static GAUGE: Gauge = Gauge::new();

pub struct Progress {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    ended: Mutex<bool>,
    changed: Condvar,
    /// Somebody wants to know the numbers below.
    asked: AtomicBool,
    operations: AtomicU64,
    causes: AtomicU64,
    /// Bytes of log.
    consumed: AtomicU64,
}

impl Progress {
    /// Nothing if there is no terminal to show it on.
    pub fn start() -> Option<Progress> {
        if !terminal::is_terminal() {
            return None;
        }
        let shared = Arc::new(Shared::default());
        let (of_thread, began) = (shared.clone(), Instant::now());
        let thread = std::thread::spawn(move || of_thread.watch(&mut Line::new(began)));
        Some(Progress { shared, thread: Some(thread) })
    }

    /// So many bytes of log more have been analysed.
    pub fn analysed(&self, bytes: usize, analysis: &Analysis) {
        let shared = &self.shared;
        shared.consumed.fetch_add(bytes as u64, Relaxed);
        // Counting causes takes a moment, so it is done when somebody looks.
        if shared.asked.swap(false, Relaxed) {
            shared.operations.store(analysis.operations(), Relaxed);
            shared.causes.store(analysis.causes() as u64, Relaxed);
        }
    }
}

impl Drop for Progress {
    /// Takes the line away.
    fn drop(&mut self) {
        *self.shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn watch(&self, line: &mut Line) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        while !*ended {
            ended = self.changed.wait_timeout(ended, TICK).unwrap_or_else(PoisonError::into_inner).0;
            line.tick(self);
        }
        line.erase();
    }
}

struct Line {
    began: Instant,
    /// Bytes that the program has written so far, and when that last changed.
    written: u64,
    wrote: Instant,
    /// Operations and when there were so many, for the rate.
    before: (u64, Instant),
    rate: f64,
    shares_terminal: bool,
    is_drawn: bool,
}

impl Line {
    fn new(began: Instant) -> Line {
        Line {
            began,
            written: 0,
            wrote: began,
            before: (0, began),
            rate: 0.0,
            shares_terminal: is_same_terminal(),
            is_drawn: false,
        }
    }

    fn tick(&mut self, shared: &Shared) {
        let now = Instant::now();
        let written = written_by(GAUGE.pid.load(Relaxed)).unwrap_or(0);
        if written != self.written {
            (self.written, self.wrote) = (written, now);
            if self.shares_terminal {
                self.erase();
            }
        }
        let operations = shared.operations.load(Relaxed);
        let passed = now.duration_since(self.before.1);
        if passed >= SILENCE {
            self.rate = operations.saturating_sub(self.before.0) as f64 / passed.as_secs_f64();
            self.before = (operations, now);
        }
        shared.asked.store(true, Relaxed);
        let is_silent = !self.shares_terminal || now.duration_since(self.wrote) >= SILENCE;
        if is_silent && now.duration_since(self.began) >= SILENCE && is_ours_to_write() {
            let behind = GAUGE.logged.load(Relaxed).saturating_sub(shared.consumed.load(Relaxed));
            let seconds = now.duration_since(self.began).as_secs();
            let said = sentence(seconds, operations, self.rate, behind, shared.causes.load(Relaxed));
            self.draw(&said);
        }
    }

    fn draw(&mut self, said: &str) {
        self.erase();
        let said: String = said.chars().take(terminal::width().unwrap_or(80).saturating_sub(1)).collect();
        // ESC D makes room for a line below without leaving the column; then down, and back to where the cursor was.
        let _ = write_at_once(&format!("\x1bD\x1b[A\x1b7\x1b[B\r\x1b[2K{said}\x1b8"));
        self.is_drawn = true;
    }

    /// Clears what is right of the cursor and below it: the line, and what is left of it if the program has written over its beginning.
    fn erase(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            let _ = write_at_once("\x1b[J");
        }
    }
}

/// In one system call, so that it does not mix with what the program writes.
fn write_at_once(text: &str) -> std::io::Result<()> {
    std::io::stderr().lock().write_all(text.as_bytes())
}

/// `fpgrind: 12 s, 4.2 million operations (1.1 million a second), 0.8 MB of log behind, 2 causes so far`
fn sentence(seconds: u64, operations: u64, rate: f64, behind: u64, causes: u64) -> String {
    let causes = match causes {
        0 => "no causes".to_string(),
        1 => "1 cause".to_string(),
        many => format!("{many} causes"),
    };
    let elapsed = match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
    };
    let (operations, rate) = (rounded(operations as f64), rounded(rate));
    let behind = behind as f64 / 1e6;
    format!("fpgrind: {elapsed}, {operations} operations ({rate}/s), {behind:.1} MB of log behind, {causes} so far")
}

fn rounded(number: f64) -> String {
    match number {
        n if n >= 1e9 => format!("{:.1} billion", n / 1e9),
        n if n >= 1e6 => format!("{:.1} million", n / 1e6),
        n if n >= 1e4 => format!("{:.0} thousand", n / 1e3),
        n => format!("{n:.0}"),
    }
}

/// Bytes that a process has written, to wherever (proc(5), /proc/pid/io).
fn written_by(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
}

/// Is stdout the terminal that stderr is?
fn is_same_terminal() -> bool {
    let device = |fd: std::os::unix::io::BorrowedFd<'_>| {
        let file = std::fs::File::from(fd.try_clone_to_owned().ok()?);
        file.metadata().ok().map(|metadata| (metadata.rdev(), metadata.ino()))
    };
    let (out, err) = (device(std::io::stdout().as_fd()), device(std::io::stderr().as_fd()));
    out.is_some() && out == err
}

/// We are in the foreground, and the terminal is as shells leave it.
fn is_ours_to_write() -> bool {
    // SAFETY: plain system calls; the structure is filled or the call fails.
    unsafe {
        let mut settings: libc::termios = std::mem::zeroed();
        let is_known = libc::tcgetattr(libc::STDERR_FILENO, &mut settings) == 0;
        let is_usual = settings.c_lflag & libc::ICANON != 0 && settings.c_lflag & libc::ECHO != 0;
        is_known && is_usual && libc::tcgetpgrp(libc::STDERR_FILENO) == libc::getpgrp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_long_how_much_how_far_behind_and_what_was_found() {
        let said = sentence(12, 4_203_118, 1_100_000.0, 800_000, 2);
        let expected = "fpgrind: 12 s, 4.2 million operations (1.1 million/s), 0.8 MB of log behind, 2 causes so far";
        assert_eq!(said, expected);
        assert!(
            sentence(3_725, 999, 12_345.0, 0, 0)
                .starts_with("fpgrind: 1:02:05, 999 operations (12 thousand/s), 0.0 MB")
        );
        assert!(sentence(61, 0, 0.0, 0, 1).contains(" 1:01, 0 operations (0/s), 0.0 MB of log behind, 1 cause so far"));
    }
}
