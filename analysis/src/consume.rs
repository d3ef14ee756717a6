//! The shadow program: each announced block becomes a list of steps once, and every record of it runs them.
//!
//! The records come from memory that a broken guest may have scribbled over. Nothing in them is trusted: a record that
//! cannot be is counted, and the rest of its chunk is skipped.

use crate::compiled;
use crate::dd::DoubleDouble;
use crate::engine;
use crate::findings::{CheckFailure, Findings, Totals};
use crate::guests::{Guests, Unknown};
use crate::lanes::Lane;
use crate::location::Locations;
use crate::log::{self, Bytes, Event, Output, OutputArg};
use crate::mpfr::Mpfr;
use crate::operation::Operations;
use crate::program::Program;
use crate::real::Real;
use crate::room::Room;
use crate::run::{Frame, Running};
use crate::shadow::Value;
use crate::spots::Spots;
use crate::trace::{Handle, Nodes};
use crate::{Config, RealKind, error, finish};
use fpgrind_ir::{Block, Place, Type};
use rustc_hash::FxHashMap;
use std::sync::mpsc::Sender;

/// A running analysis: feed it the log's events in order, then ask it to finish.
pub struct Analysis(Box<dyn Consume>);

/// What does not depend on how reals are approximated.
trait Consume {
    fn event(&mut self, event: Event<'_>);
    fn operations(&self) -> u64;
    fn causes(&self) -> usize;
    fn register(&self, thread: u32, place: Place, ty: Type) -> Option<Shadow>;
    fn memory(&self, process: u32, address: u64, ty: Type) -> Option<Shadow>;
    fn finish(self: Box<Self>) -> Findings;
}

impl Analysis {
    pub fn new(config: Config) -> Analysis {
        Analysis(match config.real {
            RealKind::Mpfr => Box::new(Consumer::<Mpfr>::new(config)),
            RealKind::Auto | RealKind::DoubleDouble => Box::new(Consumer::<DoubleDouble>::new(config)),
        })
    }

    pub fn event(&mut self, event: Event<'_>) {
        self.0.event(event);
    }

    /// Operations on floats shadowed so far.
    pub fn operations(&self) -> u64 {
        self.0.operations()
    }

    /// Causes of wrong results so far.
    pub fn causes(&self) -> usize {
        self.0.causes()
    }

    /// The shadow of the float in a place of a thread, if it has one.
    pub fn register(&self, thread: u32, place: Place, ty: Type) -> Option<Shadow> {
        self.0.register(thread, place, ty)
    }

    /// The shadow of the float at an address in a process, if it has one.
    pub fn memory(&self, process: u32, address: u64, ty: Type) -> Option<Shadow> {
        self.0.memory(process, address, ty)
    }

    pub fn finish(self) -> Findings {
        self.0.finish()
    }
}

pub(crate) struct Consumer<R> {
    pub(crate) guests: Guests,
    programs: FxHashMap<u32, Box<Program>>,
    pub(crate) books: Books<R>,
}

/// What all threads write into.
pub(crate) struct Books<R> {
    pub operations: Operations<R>,
    pub spots: Spots,
    pub locations: Locations,
    pub output_functions: FxHashMap<u32, String>,
    pub totals: Totals,
    pub check_failures: Vec<CheckFailure>,
    pub all_causes: bool,
    pub compile_after: Option<u32>,
    /// Of the blocks that are compiled.
    pub code: compiled::Arena,
    /// The values of the block being run. No thread needs them longer than that.
    pub frame: Frame,
    pub lanes: Vec<Lane>,
    /// The CPU multiplies and adds at once.
    pub has_fma: bool,
}

/// A shadow as it stands, for tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadow {
    /// What the guest computed.
    pub native: u128,
    /// The float next to the real, rounded as the operation rounds.
    pub rounded: u128,
    /// Total error.
    pub bits: f64,
}

impl<R> Books<R> {
    /// For the values of a program.
    pub fn make_room(&mut self, program: &Program) {
        let (values, lanes) = (&mut self.frame.values, &mut self.lanes);
        if values.len() < program.steps.len() {
            values.resize(program.steps.len(), Value::plain(0));
        }
        if lanes.len() < program.lanes.count {
            lanes.resize(program.lanes.count, Lane::NOTHING);
        }
    }
}

impl<R: Real> Consumer<R> {
    fn new(config: Config) -> Consumer<R> {
        let room = Room::new(config.memory / 8);
        Consumer {
            guests: Guests::new(config.memory / 4),
            programs: FxHashMap::default(),
            books: Books {
                operations: Operations::new(&config, room.clone()),
                spots: Spots::new(room),
                locations: Locations::default(),
                output_functions: FxHashMap::default(),
                totals: Totals::default(),
                check_failures: Vec::new(),
                all_causes: config.all_causes,
                compile_after: config.compile_after,
                code: compiled::Arena::new(),
                frame: Frame::new(),
                lanes: Vec::new(),
                has_fma: engine::has_fma(),
            },
        }
    }
}

impl<R: Real> Consume for Consumer<R> {
    fn event(&mut self, event: Event<'_>) {
        let Consumer { guests, books, .. } = self;
        let done = match event {
            Event::Process { process, forked_from } => guests.begin_process(process, forked_from),
            Event::Thread { thread, process, cloned_from } => guests.begin_thread(thread, process, cloned_from),
            Event::ThreadEnded(thread) => guests.end_thread(thread),
            Event::ProcessEnded(process) => guests.end_process(process),
            Event::Module { process, module } => guests.map(process, &module, &mut books.locations),
            Event::Unmapped { process, start, end } => guests.unmap(process, start, end),
            Event::Overwritten { process, start, end } => guests.overwrite(process, start, end),
            Event::Moved { process, start, end, to } => guests.remap(process, start..end, to, &books.operations.nodes),
            Event::Block { process, number, block } => self.block(process, number, &block),
            Event::OutputFunction(number, name) => {
                books.output_functions.insert(number, name);
                Ok(())
            }
            Event::Asked { thread, of, answer } => {
                self.asked(thread, &of, answer);
                Ok(())
            }
            Event::Records { thread, bytes } => {
                self.records(thread, bytes);
                Ok(())
            }
        };
        if done.is_err() {
            self.books.totals.corrupt_records += 1;
        }
    }

    fn operations(&self) -> u64 {
        self.books.operations.count
    }

    fn causes(&self) -> usize {
        finish::candidates(&self.books).len()
    }

    fn register(&self, thread: u32, place: Place, ty: Type) -> Option<Shadow> {
        let nodes = &self.books.operations.nodes;
        self.guests.thread(thread)?.registers.shadow(place, ty, nodes).map(|node| shadow(node, nodes))
    }

    fn memory(&self, process: u32, address: u64, ty: Type) -> Option<Shadow> {
        let nodes = &self.books.operations.nodes;
        self.guests.process(process)?.memory.shadow(address, ty, nodes).map(|node| shadow(node, nodes))
    }

    fn finish(self: Box<Self>) -> Findings {
        finish::findings(*self)
    }
}

impl<R: Real> Consumer<R> {
    /// A block that makes no sense is refused, and its records are then unknown.
    fn block(&mut self, process: u32, number: u32, block: &Block) -> Result<(), Unknown> {
        self.programs.remove(&number);
        self.books.code.forget(number);
        let mappings = &self.guests.process(process).ok_or(Unknown)?.mappings;
        let Books { operations, spots, locations, .. } = &mut self.books;
        let locate = |pc| locations.number(mappings.instruction(pc));
        match Program::new(block, locate, &mut operations.sites, spots) {
            Some(program) if ![log::OUTPUT, log::BYTES, log::GAP].contains(&number) => {
                self.programs.insert(number, Box::new(program));
                Ok(())
            }
            _ => Err(Unknown),
        }
    }

    fn asked(&mut self, thread: u32, of: &OutputArg, answer: Sender<f64>) {
        let Some((thread, process)) = self.guests.running(thread) else { return };
        let mut running = Running { thread, process, books: &mut self.books };
        let term = running.shown(of);
        // Whoever asked may be gone.
        let _ = answer.send(error::bits(self.books.operations.nodes.ulps(term)));
    }

    fn records(&mut self, thread: u32, mut bytes: &[u8]) {
        while let Some((thread, process)) = self.guests.running(thread) {
            let mut running = Running { thread, process, books: &mut self.books };
            while !running.books.operations.nodes.is_full()
                && let Some(length) = record(&self.programs, &mut running, bytes)
            {
                bytes = &bytes[length..];
            }
            if !running.books.operations.nodes.is_full() {
                break;
            }
            self.books.operations.collect(&mut self.guests);
        }
        if !bytes.is_empty() {
            self.books.totals.corrupt_records += 1;
            self.books.totals.skipped_bytes += bytes.len() as u64;
        }
    }
}

/// Runs the record at the start of `bytes`, or some of them; their length, or nothing if it cannot be one.
fn record<R: Real>(programs: &FxHashMap<u32, Box<Program>>, running: &mut Running<R>, bytes: &[u8]) -> Option<usize> {
    let done = compiled::run(running, bytes);
    if done > 0 {
        return Some(done);
    }
    let number = log::u32_at(bytes, 0)?;
    if number == log::OUTPUT {
        let (output, length) = Output::decode(bytes)?;
        running.output(output);
        return Some(length);
    }
    if number == log::BYTES {
        let (bytes, length) = Bytes::decode(bytes)?;
        running.bytes(&bytes);
        return Some(length);
    }
    if number == log::GAP {
        bytes.get(..log::GAP_BYTES)?;
        running.thread.registers.distrust(&running.books.operations.nodes);
        running.books.operations.strays.wanted = true;
        return Some(log::GAP_BYTES);
    }
    let program = programs.get(&number)?;
    let record = bytes.get(..program.record)?;
    if record.is_empty() {
        return None;
    }
    running.books.totals.blocks += 1;
    compiled::prepare(running, number, program);
    running.run(program, record);
    Some(record.len())
}

fn shadow<R: Real>(node: Handle, nodes: &Nodes<R>) -> Shadow {
    let node = nodes.of(node);
    Shadow { native: node.bits(), rounded: node.rounded(), bits: error::bits(node.ulps()) }
}
