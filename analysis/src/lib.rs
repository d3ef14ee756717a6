//! The analysis: a pure function from a log to findings.
//!
//! [`log`] is what comes in, [`Findings`] is what goes out. In between: `consume` reads the log, `program` turns each announced
//! block into a shadow program and `run` runs it on the block's records; `guests` are the threads and processes that they come from,
//! `location` tells what code is at an address of theirs; `shadow`, `registers` and `memory` hold which place shadows which value;
//! `operation` computes one operation in floats (`native`, under a `mode`, in a `format`) and in reals and finds its local error, `called`
//! those that library functions did (`calls` in the common case, `callers` knows from where); `magic` sees through roundings in disguise,
//! `compensation` through repairs; `trace` and `node` remember how
//! values came about; `site` and `antiunify` generalise what went wrong where; `spots` watch where floats leave the world of floats,
//! `decision` and `choice` what becomes of those decisions that would go another way, and `attribution` takes errors apart that no
//! single operation is to blame for.
//! Nothing here starts a process, opens a file or knows a symbol.

mod antiunify;
mod attribution;
mod beside;
mod bitwise;
mod called;
mod callers;
mod calls;
mod choice;
mod compensation;
mod compiled;
mod consume;
mod dd;
mod decision;
mod engine;
mod error;
mod evaluate;
mod expr;
mod findings;
mod finish;
mod format;
mod gaps;
mod guests;
mod heap;
mod influence;
mod lanes;
mod leaf;
mod location;
pub mod log;
mod lossy;
mod magic;
mod memory;
mod mode;
mod mpfr;
pub mod native;
mod node;
mod number;
mod offset;
mod operation;
mod pages;
mod pair;
mod plain;
mod program;
mod ranges;
mod real;
mod registers;
mod room;
mod run;
mod sampling;
mod settle;
mod shadow;
mod signs;
mod site;
mod space;
mod spots;
mod trace;

pub use consume::{Analysis, Shadow};
pub use error::bits_of_error;
pub use expr::{Expr, is_in_fpcore, precision};
pub use findings::{
    Accumulation, Carried, Cause, CauseKind, CheckFailure, Contribution, Effect, Findings, Ranges, Sample, Spot,
    SpotKind, Step, Totals, Variable,
};
pub use location::Location;
pub use number::{Decimal, MAX_DIGITS, Number};

use log::Event;

/// How reals are approximated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealKind {
    /// Double-double, and MPFR where that leaves a doubt.
    Auto,
    /// Double-double.
    DoubleDouble,
    Mpfr,
}

/// What a user may choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    pub real: RealKind,
    /// Bits of MPFR's significands; at least 128.
    pub precision: u32,
    /// Bits of error from which an operation is a candidate cause and an output is wrong.
    pub threshold: f64,
    /// Levels of operations kept behind each value, and shown in expressions.
    pub max_depth: usize,
    /// Bytes that the analysis may take, more or less.
    pub memory: usize,
    /// Report also operations that lose digits and reach no wrong spot.
    pub all_causes: bool,
    /// Runs of a block after which it is compiled, if ever. What is found is the same.
    pub compile_after: Option<u32>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            real: RealKind::Auto,
            precision: 256,
            threshold: 5.0,
            max_depth: 10,
            memory: 2 << 30,
            all_causes: false,
            compile_after: Some(64),
        }
    }
}

/// Analyses a whole log.
pub fn analyse<'a>(events: impl IntoIterator<Item = Event<'a>>, config: Config) -> Findings {
    let mut analysis = Analysis::new(config);
    for event in events {
        analysis.event(event);
    }
    analysis.finish()
}
