//! The dynamic binary translator: runs a program under supervision and logs what it does to floats.
//!
//! The guest is launched under ptrace, and before its first instruction gets a code cache, a context and an event ring
//! mapped, which the supervisor maps too. From then on it runs translated code only: its own instructions, copied, with the branches
//! between them led from block to block in the cache, and stores that write the log woven in. What the guest needs of the supervisor it
//! asks for through a futex; there is no code of ours in the guest but what is emitted.
//!
//! Guest state lives where it lives natively: registers in registers, return addresses on the stack, FS untouched. So the guest can be
//! let go at any block's start, and then simply runs on natively. That is the way out whenever something cannot be translated.

// dynasm's macros convert register numbers that are u8 already.
#![allow(clippy::useless_conversion)]

mod arena;
mod asm;
mod blocks;
mod cache;
mod carriers;
mod context;
mod copies;
mod decode;
mod dispositions;
mod emit;
mod exits;
mod guest;
mod keyboard;
mod launch;
mod log;
mod mapped;
mod marks;
mod modules;
mod movers;
mod outputs;
pub mod program;
mod ring;
mod selection;
mod service;
mod signals;
mod storms;
mod stubs;
mod syscalls;
mod tables;
mod thread;
mod tracer;
mod translate;
mod unwind;
mod wrapping;

pub use launch::LaunchError as Error;
pub use program::Program;
pub use selection::Selection;
pub use tracer::End;
pub use translate::Logging;

use arena::Arena;
use fpgrind_analysis::log::Event;
use fpgrind_wrappers::OUTPUT_NAMES;
use log::Publisher;
use service::{Statistics, WentNative};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tracer::Tracer;

/// Which of the processes that come of the program are translated as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follow {
    None,
    /// Those that it forks, until they execute another program.
    #[default]
    Fork,
    /// Also the programs that they execute.
    All,
}

/// How to run a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Nothing is logged without it: translation only.
    pub logging: Option<Logging>,
    pub follow: Follow,
    /// Bytes of translated code to keep for a neighbourhood of code: for tests.
    pub cache_bytes: Option<u64>,
    /// Where to tell how it goes.
    pub gauge: Option<&'static Gauge>,
}

/// What can be known while the program runs.
#[derive(Debug, Default)]
pub struct Gauge {
    /// The program's process, once there is one.
    pub pid: AtomicI32,
    /// Bytes of log that were handed over to be consumed.
    pub logged: AtomicU64,
}

impl Gauge {
    pub const fn new() -> Gauge {
        Gauge { pid: AtomicI32::new(0), logged: AtomicU64::new(0) }
    }
}

/// How it ran.
#[derive(Clone, Debug)]
pub struct Run {
    pub end: End,
    /// What the user should know of what was not analysed: a sentence each.
    pub remarks: Vec<String>,
    /// How often the program had to ask for translations and the like, and how long that took in all.
    pub requests: u64,
    pub asking: Duration,
    /// Bytes of log.
    pub logged: u64,
}

/// Runs a program to its end. The consumer gets the log, on the calling thread, while the program runs.
pub fn run(program: &Program, options: &Options, consumer: impl FnMut(Event<'_>)) -> Result<Run, Error> {
    keep_heap_together();
    let (publisher, subscription) =
        log::channel_of_log(options.logging.is_some_and(|logging| logging.discard), options.gauge);
    std::thread::scope(|scope| {
        let supervisor = scope.spawn(|| {
            let _ending = publisher.ending();
            supervise(program, options, publisher)
        });
        subscription.consume(consumer);
        supervisor.join().unwrap_or(Err(Error::Internal))
    })
}

/// Guests wait while memory is allocated for what is known of their translations. The C library gives threads heaps of their own,
/// which grow by a page and a system call at a time; the main heap grows in steps that can be chosen, and is not shrunk.
fn keep_heap_together() {
    // SAFETY: these only set parameters.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TOP_PAD, 4 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 256 << 20);
    }
}

/// Launches the program and traces it and what comes of it, until all have ended. Launching and tracing are one thread's: ptrace
/// wants that. Each guest thread gets a thread of ours that answers it.
fn supervise(program: &Program, options: &Options, publisher: Publisher) -> Result<Run, Error> {
    let arena = Arena::new().map_err(|error| Error::Os("make shared memory", error))?;
    let launched = launch::launch(program, &arena, options, &publisher)?;
    let main = launched.tid;
    if let Some(gauge) = options.gauge {
        gauge.pid.store(main, Ordering::Relaxed);
    }
    let _keyboard = keyboard::left_to_the_guest();
    if options.logging.is_some() {
        for (number, name) in OUTPUT_NAMES.iter().enumerate() {
            publisher.send(Event::OutputFunction(number as u32, name.to_string()));
        }
    }
    let statistics = Arc::new(Statistics::default());
    let (end, seen) = std::thread::scope(|scope| {
        let mut tracer = Tracer::new(scope, options, arena, publisher, statistics.clone());
        tracer.launched(launched);
        tracer.trace(main)
    });
    let went_native = *statistics.went_native.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Run {
        end,
        remarks: remarks(&seen, went_native),
        requests: statistics.requests.load(Ordering::Relaxed),
        asking: Duration::from_nanos(statistics.nanoseconds.load(Ordering::Relaxed)),
        logged: statistics.logged_bytes.load(Ordering::Relaxed),
    })
}

fn remarks(seen: &tracer::Seen, went_native: Option<WentNative>) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut count = |n: u64, one: &str, many: &str| match n {
        0 => {}
        1 => remarks.push(format!("1 {one} ran natively, unanalysed")),
        n => remarks.push(format!("{n} {many} ran natively, unanalysed")),
    };
    count(seen.processes, "child process", "child processes");
    count(seen.threads, "thread", "threads");
    count(seen.execs, "program that it executed", "programs that it executed");
    if let Some(reason) = went_native {
        let reason = match reason {
            WentNative::Instruction => "the program ran an instruction that cannot be translated",
            WentNative::UsesGs => "the program uses the GS segment, which fpgrind needs",
            WentNative::NoRoom => "there was no room for translated code near the program's",
        };
        remarks.push(format!("{reason}: from there on it ran natively, unanalysed"));
    }
    remarks
}
