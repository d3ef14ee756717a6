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

mod asm;
mod cache;
mod context;
mod decode;
mod dispositions;
mod emit;
mod exits;
mod guest;
mod keyboard;
mod launch;
mod modules;
pub mod program;
mod ring;
mod service;
mod shared;
mod signals;
mod stubs;
mod tracer;
mod translate;
mod wrapping;

pub use launch::LaunchError as Error;
pub use program::Program;
pub use tracer::End;
pub use translate::Logging;

use fpgrind_analysis::log::Event;
use service::{Message, Service, Shared, WentNative};
use std::sync::Mutex;
use std::sync::mpsc::{SyncSender, sync_channel};
use tracer::Tracer;
use translate::Translator;

/// How to run a program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Nothing is logged without it: translation only.
    pub logging: Option<Logging>,
}

/// How it ran.
#[derive(Clone, Debug)]
pub struct Run {
    pub end: End,
    /// What the user should know of what was not analysed: a sentence each.
    pub remarks: Vec<String>,
}

/// Chunks of log that may wait for the consumer before the guest has to.
const CHUNKS_IN_FLIGHT: usize = 16;

/// Runs a program to its end. The consumer gets the log, on the calling thread, while the program runs.
pub fn run(program: &Program, options: &Options, mut consumer: impl FnMut(Event<'_>)) -> Result<Run, Error> {
    let (sender, receiver) = sync_channel(CHUNKS_IN_FLIGHT);
    std::thread::scope(|scope| {
        let supervisor = scope.spawn(|| supervise(program, options, sender));
        for message in receiver {
            match message {
                Message::Event(event) => consumer(event),
                Message::Records(records) => consumer(Event::Records(&records)),
            }
        }
        supervisor.join().unwrap_or(Err(Error::Internal))
    })
}

/// Launches the program, answers what it asks and traces it, until it ends. Launching and tracing are one thread's: ptrace
/// wants that.
fn supervise(program: &Program, options: &Options, consumer: SyncSender<Message>) -> Result<Run, Error> {
    let launched = launch::launch(program)?;
    let pid = launched.guest.pid;
    let _keyboard = keyboard::left_to_the_guest();
    // SAFETY: the context is mapped until the translator is dropped, after both threads have ended.
    let pending = unsafe { &raw const (*launched.context.get()).pending };
    let shared = Shared::new(pending, launched.cache.zones.iter().map(|zone| zone.stubs).collect());
    let translator = Mutex::new(Translator::new(launched.guest, launched.context, launched.cache, options.logging));
    let mut service = Service {
        pid,
        translator: &translator,
        ring: launched.ring,
        entry: launched.entry,
        shared: &shared,
        consumer,
        went_native: None,
    };
    std::thread::scope(|scope| {
        let answering = scope.spawn(|| service.serve());
        let (end, seen) = Tracer::new(pid, &shared, &translator).trace();
        answering.join().map_err(|_| Error::Internal)?;
        Ok((end, seen))
    })
    .map(|(end, seen)| Run { end, remarks: remarks(&seen, service.went_native) })
}

fn remarks(seen: &tracer::Seen, went_native: Option<WentNative>) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut count = |n: u64, one: &str, many: &str| match n {
        0 => {}
        1 => remarks.push(format!("1 {one} ran natively, unanalysed")),
        n => remarks.push(format!("{n} {many} ran natively, unanalysed")),
    };
    count(seen.processes, "child process", "child processes");
    count(seen.threads, "further thread", "further threads");
    count(seen.execs, "program that the process turned into by exec", "programs that the process turned into by exec");
    if let Some(reason) = went_native {
        let reason = match reason {
            WentNative::GeneratedCode => "the program ran code that it had made at run time",
            WentNative::Instruction => "the program ran an instruction that cannot be translated",
            WentNative::UsesGs => "the program uses the GS segment, which fpgrind needs",
            WentNative::NoRoom => "there was no room for translated code near the program's",
        };
        remarks.push(format!("{reason}: from there on it ran natively, unanalysed"));
    }
    remarks
}
