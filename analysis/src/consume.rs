//! The shadow program: each announced block becomes a list of steps once, and every record of it runs them.
//!
//! The records come from memory that a broken guest may have scribbled over. Nothing in them is trusted: a record that
//! cannot be is counted, and the rest of its chunk is skipped.

use crate::Config;
use crate::findings::{CheckFailure, Findings, SpotKind, Totals};
use crate::log::{self, Event, Module, Origin, Output};
use crate::mpfr::Mpfr;
use crate::operation::Operations;
use crate::program::Program;
use crate::real::Real;
use crate::run::Thread;
use crate::shadow::Value;
use crate::spots::{Spots, Visit};
use crate::trace::Node;
use crate::{error, finish};
use fpgrind_ir::{Block, Place, Type};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A running analysis: feed it the log's events in order, then ask it to finish.
pub struct Analysis<R: Real = Mpfr> {
    pub(crate) operations: Operations<R>,
    pub(crate) spots: Spots,
    pub(crate) thread: Thread<R>,
    programs: FxHashMap<u32, Rc<Program>>,
    output_functions: FxHashMap<u32, String>,
    pub(crate) modules: Vec<Module>,
    pub(crate) totals: Totals,
    pub(crate) check_failures: Vec<CheckFailure>,
}

/// A shadow as it stands, for tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shadow {
    /// What the guest computed.
    pub native: u64,
    /// The float nearest to the real.
    pub rounded: u64,
    /// Total error.
    pub bits: f64,
}

impl Analysis<Mpfr> {
    /// With MPFR reals.
    pub fn new(config: Config) -> Analysis<Mpfr> {
        Analysis::with_reals(config)
    }
}

impl<R: Real> Analysis<R> {
    pub fn with_reals(config: Config) -> Analysis<R> {
        let operations = Operations::new(&config);
        let max_depth = operations.pruner.max_depth();
        Analysis {
            operations,
            spots: Spots::new(max_depth),
            thread: Thread::new(),
            programs: FxHashMap::default(),
            output_functions: FxHashMap::default(),
            modules: Vec::new(),
            totals: Totals::default(),
            check_failures: Vec::new(),
        }
    }

    pub fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Module(module) => self.modules.push(module),
            Event::Block(number, block) => self.block(number, &block),
            Event::OutputFunction(number, name) => {
                self.output_functions.insert(number, name);
            }
            Event::Records(bytes) => self.records(bytes),
        }
    }

    /// Operations on floats shadowed so far.
    pub fn operations(&self) -> u64 {
        self.operations.count
    }

    /// The shadow of the float in a place, if it has one.
    pub fn register(&self, place: Place, ty: Type) -> Option<Shadow> {
        self.thread.registers.shadow(place, ty).map(|node| shadow(node))
    }

    /// The shadow of the float at an address, if it has one.
    pub fn memory(&self, address: u64, ty: Type) -> Option<Shadow> {
        self.thread.memory.shadow(address, ty).map(|node| shadow(node))
    }

    pub fn finish(self) -> Findings {
        finish::findings(self)
    }

    /// A block that makes no sense is refused, and its records are then unknown.
    fn block(&mut self, number: u32, block: &Block) {
        match Program::new(block, &mut self.operations.sites, &mut self.spots) {
            Some(program) if number != log::OUTPUT => {
                self.programs.insert(number, Rc::new(program));
            }
            _ => {
                self.programs.remove(&number);
                self.totals.corrupt_records += 1;
            }
        }
    }

    fn records(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.record(bytes) {
                Some(length) => bytes = &bytes[length..],
                None => {
                    self.totals.corrupt_records += 1;
                    self.totals.skipped_bytes += bytes.len() as u64;
                    return;
                }
            }
        }
    }

    /// Runs the record at the start of `bytes`; its length, or nothing if it cannot be one.
    fn record(&mut self, bytes: &[u8]) -> Option<usize> {
        let number = log::u32_at(bytes, 0)?;
        if number == log::OUTPUT {
            let (output, length) = Output::decode(bytes)?;
            self.output(output);
            return Some(length);
        }
        let program = self.programs.get(&number)?.clone();
        let record = bytes.get(..program.record)?;
        if record.is_empty() {
            return None;
        }
        self.totals.blocks += 1;
        self.run(&program, record);
        Some(record.len())
    }

    fn output(&mut self, output: Output) {
        let function = self.output_functions.get(&output.function).cloned();
        let function = function.unwrap_or_else(|| "an output function".into());
        for (argument, arg) in output.args.iter().enumerate() {
            let kind = SpotKind::Output {
                function: function.clone(),
                argument: argument as u32,
                conversion: arg.conversion as char,
            };
            let stale = &mut self.totals.stale_shadows;
            let value = match (arg.origin, arg.origin.place()) {
                (Origin::Memory(address), _) => self.thread.memory.load(address, Type::F64, arg.bits as u128, stale),
                (_, Some(place)) => self.thread.registers.live(place, Type::F64, arg.bits as u128, stale),
                (_, None) => Value::plain(arg.bits as u128),
            };
            let term = value.term_at(0, Type::F64);
            let spot = self.spots.number(output.pc, kind);
            self.spots.execute(spot);
            let visit = Visit {
                wrong: self.operations.is_error(term.ulps()),
                culprit: &term,
                shown: &term,
                influences: term.influences(),
            };
            self.spots.visit(spot, visit, &mut self.operations.sets);
        }
    }
}

fn shadow<R>(node: &Node<R>) -> Shadow {
    Shadow { native: node.bits, rounded: node.rounded, bits: error::bits(node.ulps) }
}
