//! report.json: everything that was found, for programs to read.
//!
//! The schema is the types below, field for field, and docs/report.schema.json for others; [`VERSION`] is raised when a field
//! changes its meaning or goes, while new fields may come without that. How numbers are written is told in [`values`]. All
//! that the other formats show is here, so that they can be made again ([`read`]).

mod accumulation;
mod observed;
pub mod postfix;
mod read;
mod values;

use crate::names::{UNNAMED, infix, names};
use crate::{Report, Site, ids};
use accumulation::Accumulation;
use fpgrind_analysis as analysis;
use fpgrind_analysis::{SpotKind, precision};
use observed::{Sample, Step};
pub use read::read;
use serde::{Deserialize, Serialize};
use std::io;
use values::{Float, Hex, Number};

pub const VERSION: u32 = 3;

pub fn render(report: &Report) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(&Document::of(report))? + "\n")
}

#[derive(Serialize, Deserialize)]
struct Document {
    version: u32,
    program: String,
    args: Vec<String>,
    /// The working directory.
    directory: Option<String>,
    /// Wall-clock time of the run.
    seconds: Number,
    /// Bits of error from which the analysis speaks of an error.
    threshold_bits: Number,
    /// Sentences about the run.
    notes: Vec<String>,
    /// Native results were compared with predicted ones.
    check: bool,
    totals: Totals,
    /// How many of the causes are.
    suppressed: u64,
    /// Suppressions that fit no cause, as `FILE:LINE`.
    unused_suppressions: Vec<String>,
    /// Worst damage to outputs first.
    causes: Vec<Cause>,
    /// Every place where floats are printed, compared or converted to integers, wrong or not.
    spots: Vec<Spot>,
    modules: Vec<Module>,
    /// Bugs of fpgrind, found by itself.
    check_failures: Vec<CheckFailure>,
}

#[derive(Serialize, Deserialize)]
struct Totals {
    /// Address spaces and threads analysed.
    processes: u64,
    threads: u64,
    /// Floating-point operations analysed.
    operations: u64,
    blocks: u64,
    /// Shadows that were not used because the native bits had changed.
    stale_shadows: u64,
    /// Floats whose history ended in logic on their bits.
    lost_shadows: u64,
    /// Calls of functions named like a library's that computed something else: their results count as exact.
    misnamed_calls: u64,
    /// Decisions about errors that double-doubles left in doubt, and for which traces were too short.
    #[serde(default)]
    undecided: u64,
    /// How often histories or floats in memory were given up for want of memory.
    #[serde(default)]
    given_up: u64,
    /// Expressions that have fewer samples or fewer operations for want of memory.
    #[serde(default)]
    short_expressions: u64,
    /// Parts of the log that could not be read.
    corrupt_records: u64,
    skipped_bytes: u64,
    checks: u64,
}

/// An operation to which errors in results go back.
#[derive(Serialize, Deserialize)]
struct Cause {
    /// The same in every run of the program: see `ids.rs`.
    id: String,
    /// The suppression that fits it, as `FILE:LINE`.
    suppressed_by: Option<String>,
    site: Location,
    /// `inaccurate`: digits are lost. `overflow`, `underflow`: a number, here or in an argument, is beyond its format. `division-by-zero`: by a zero
    /// that is none in the reals. `invalid`: NaN arises from numbers. `domain`: NaN from a function that is not defined there. `flushed`: a subnormal number was replaced by zero, as MXCSR
    /// asks for.
    kind: String,
    operator: String,
    /// Of the result, as in FPCore: `binary16`, `(float 8 16)`, `binary32`, `binary64`, `binary80` or `binary128`.
    precision: String,
    /// As in the text.
    expression: String,
    /// The same as the body of an FPCore.
    fpcore: String,
    /// The same, exactly: see `json/postfix.rs`.
    postfix: String,
    variables: Vec<Variable>,
    executions: u64,
    erroneous: u64,
    /// Bits lost by this operation itself, over the erroneous executions.
    max_bits: Number,
    average_bits: Number,
    /// At the worst execution: the operation's result, and what it is in the reals.
    computed: Float,
    correct: Float,
    /// Bits of error that the expression alone shows at the recorded inputs.
    reproduced_bits: Number,
    /// Indices into `spots`, most error first.
    reaches: Vec<usize>,
    /// Executions, of all that there were.
    #[serde(default)]
    samples: Vec<Sample>,
    /// At the worst inputs: one for each word of `postfix`.
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Serialize, Deserialize)]
struct Variable {
    name: String,
    precision: String,
    seen: Ranges,
    erroneous: Ranges,
    /// At the worst execution.
    worst: Float,
    /// The function call whose result it is, if the expression ends there because FPCore has no such function.
    stands_for: Option<String>,
    #[serde(default)]
    carried: Option<Carried>,
}

/// The operation whose earlier results a variable is, which a loop carries on.
#[derive(Serialize, Deserialize)]
struct Carried {
    site: Location,
    operator: String,
    /// In the whole run, unless it is one of several instructions that may be one operation.
    executions: Option<u64>,
    /// What is added or multiplied in each turn, if that is all that is done.
    term: Option<String>,
}

/// `null` where no such value occurred; otherwise the least and the greatest.
#[derive(Serialize, Deserialize)]
struct Ranges {
    negative: Option<[Number; 2]>,
    zero: bool,
    positive: Option<[Number; 2]>,
    nan: bool,
}

#[derive(Serialize, Deserialize)]
struct Spot {
    /// The same in every run of the program.
    id: String,
    site: Location,
    #[serde(flatten)]
    kind: Kind,
    count: u64,
    /// Executions that print too much error, or take the bits of a float that has it; for decisions, those that go the other way in the reals; for conversions,
    /// those that give another integer.
    wrong: u64,
    max_bits: Number,
    average_bits: Number,
    /// Of the value that is printed, compared or converted.
    precision: String,
    computed: Float,
    correct: Float,
    /// Where that number lies in the bytes written, if the program writes them as they are.
    offset: Option<u64>,
    /// How wrong values came about, where no single cause is to blame.
    expression: Option<String>,
    postfix: Option<String>,
    /// What the error is made of then, and where, in the same order.
    #[serde(default)]
    accumulated: Option<Accumulation>,
    accumulated_in: Vec<Location>,
    /// Indices into `causes`.
    causes: Vec<usize>,
    /// Of a decision that goes the other way in the reals. `results`: it may change them. `nearly-equal`: both sides do the same with the two
    /// values compared, in each other's place. `convergence`: an iteration has come to rest. `compensation`: a compensating term is tested.
    #[serde(default)]
    effect: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Kind {
    /// `argument` counts the floats of the call from 0.
    Output {
        function: String,
        argument: u32,
        /// How it is printed, as the program says it: `%.3f`. Empty if it does not say so.
        conversion: String,
    },
    /// `condition` as in the instruction's name: `a` for ja.
    Branch {
        condition: String,
    },
    Comparison,
    ToInteger,
    /// Integer code computes with a float's bits.
    Escape,
}

/// Where in the program; what is not known is `null`.
#[derive(Serialize, Deserialize)]
struct Location {
    /// As in the text.
    text: String,
    /// Where it lay in memory when it was first met.
    pc: Hex,
    module: Option<String>,
    /// The address in the module's own addressing, as `objdump` shows it.
    address: Option<Hex>,
    function: Option<String>,
    /// Bytes from the function's symbol, where only symbols tell of the function.
    function_offset: Option<Hex>,
    /// The full path.
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    /// The functions that the code is inlined into, and where, from the inside out.
    #[serde(default)]
    inlined_into: Vec<Frame>,
    /// The toolchain's functions that are inlined there, from the inside out.
    #[serde(default)]
    inlines: Vec<Frame>,
}

#[derive(Serialize, Deserialize)]
struct Frame {
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
}

/// A piece of a file that was mapped as code, where it lay first.
#[derive(Serialize, Deserialize)]
struct Module {
    path: String,
    start: Hex,
    end: Hex,
    bias: Hex,
}

#[derive(Serialize, Deserialize)]
struct CheckFailure {
    site: Location,
    native: Hex,
    predicted: Hex,
}

impl Document {
    fn of(report: &Report) -> Document {
        let Report { run, findings, sites, suppressed, unused_suppressions } = report;
        let totals = &findings.totals;
        Document {
            version: VERSION,
            program: run.program.clone(),
            args: run.args.clone(),
            directory: run.directory.as_ref().map(|path| path.to_string_lossy().into_owned()),
            seconds: Number(run.seconds),
            threshold_bits: Number(run.threshold),
            notes: run.notes.clone(),
            check: run.check,
            totals: Totals {
                processes: totals.processes,
                threads: totals.threads,
                operations: totals.operations,
                blocks: totals.blocks,
                stale_shadows: totals.stale_shadows,
                lost_shadows: totals.lost_shadows,
                misnamed_calls: totals.misnamed_calls,
                undecided: totals.undecided,
                given_up: totals.given_up,
                short_expressions: totals.short_expressions,
                corrupt_records: totals.corrupt_records,
                skipped_bytes: totals.skipped_bytes,
                checks: totals.checks,
            },
            suppressed: suppressed.iter().flatten().count() as u64,
            unused_suppressions: unused_suppressions.clone(),
            causes: findings
                .causes
                .iter()
                .zip(ids::causes(report))
                .enumerate()
                .map(|(i, (cause, id))| Cause::of(report, cause, id, suppressed.get(i).cloned().flatten()))
                .collect(),
            spots: findings.spots.iter().zip(ids::spots(report)).map(|(spot, id)| Spot::of(report, spot, id)).collect(),
            modules: findings
                .modules
                .iter()
                .map(|module| Module {
                    path: module.path.to_string_lossy().into_owned(),
                    start: Hex(module.start.into()),
                    end: Hex(module.end.into()),
                    bias: Hex(module.bias.into()),
                })
                .collect(),
            check_failures: findings
                .check_failures
                .iter()
                .map(|failure| CheckFailure {
                    site: Location::of(&sites.instruction(failure.location)),
                    native: Hex(failure.native),
                    predicted: Hex(failure.predicted),
                })
                .collect(),
        }
    }
}

impl Cause {
    fn of(report: &Report, cause: &analysis::Cause, id: String, suppressed_by: Option<String>) -> Cause {
        Cause {
            id,
            suppressed_by,
            site: Location::of(&report.sites.instruction(cause.location)),
            kind: cause.kind.name().into(),
            operator: cause.operator.name().into(),
            precision: precision(cause.ty).into(),
            expression: infix(cause),
            fpcore: cause.expr.fpcore(&names(cause), cause.ty),
            postfix: postfix::write(&cause.expr),
            variables: cause
                .variables
                .iter()
                .map(|variable| Variable {
                    name: variable.name.clone(),
                    precision: precision(variable.worst.ty).into(),
                    seen: Ranges::of(&variable.seen),
                    erroneous: Ranges::of(&variable.erroneous),
                    worst: Float::of(variable.worst),
                    stands_for: variable.stands_for.clone(),
                    carried: variable.carried.as_ref().map(|carried| Carried {
                        site: Location::of(&report.sites.instruction(carried.location)),
                        operator: carried.operator.name().into(),
                        executions: carried.executions,
                        term: carried.term.clone(),
                    }),
                })
                .collect(),
            executions: cause.executions,
            erroneous: cause.erroneous,
            max_bits: Number(cause.max_bits),
            average_bits: Number(cause.average_bits),
            computed: Float::of(cause.computed),
            correct: Float::of(cause.correct),
            reproduced_bits: Number(cause.reproduced_bits),
            reaches: cause.reaches.clone(),
            samples: cause.samples.iter().map(Sample::of).collect(),
            steps: cause.steps.iter().map(|step| Step::of(report, step)).collect(),
        }
    }
}

impl Ranges {
    fn of(ranges: &analysis::Ranges) -> Ranges {
        let ends = |(low, high)| [Number(low), Number(high)];
        Ranges {
            negative: ranges.negative.map(ends),
            zero: ranges.zero,
            positive: ranges.positive.map(ends),
            nan: ranges.nan,
        }
    }
}

impl Spot {
    fn of(report: &Report, spot: &analysis::Spot, id: String) -> Spot {
        Spot {
            id,
            site: Location::of(&report.sites.spot(spot)),
            kind: match &spot.kind {
                SpotKind::Output { function, argument, conversion } => {
                    Kind::Output { function: function.clone(), argument: *argument, conversion: conversion.clone() }
                }
                SpotKind::Branch { cond } => Kind::Branch { condition: cond.name().into() },
                SpotKind::Mask => Kind::Comparison,
                SpotKind::ToInt => Kind::ToInteger,
                SpotKind::Escape => Kind::Escape,
            },
            count: spot.count,
            wrong: spot.wrong,
            max_bits: Number(spot.max_bits),
            average_bits: Number(spot.average_bits),
            precision: precision(spot.computed.ty).into(),
            computed: Float::of(spot.computed),
            correct: Float::of(spot.correct),
            offset: spot.offset,
            expression: spot.expr.as_ref().map(|expr| expr.infix(&UNNAMED)),
            postfix: spot.expr.as_ref().map(postfix::write),
            accumulated: spot.accumulated.as_ref().map(|accumulated| Accumulation::of(report, accumulated)),
            accumulated_in: spot.accumulated_in.iter().map(|at| Location::of(&report.sites.instruction(*at))).collect(),
            causes: spot.causes.clone(),
            effect: spot.effect.map(|effect| effect.name().into()),
        }
    }
}

impl Location {
    fn of(site: &Site) -> Location {
        let text = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
        Location {
            text: site.full(),
            pc: Hex(site.pc.into()),
            module: site.module.as_ref().map(text),
            address: site.module.as_ref().map(|_| Hex(site.address.into())),
            function: site.function.clone(),
            function_offset: site.function_offset.map(|offset| Hex(offset.into())),
            file: site.file.as_ref().map(text),
            line: site.line,
            column: site.column,
            inlined_into: site.inlined_into.iter().map(Frame::of).collect(),
            inlines: site.inlines.iter().map(Frame::of).collect(),
        }
    }
}

impl Frame {
    fn of(frame: &crate::Frame) -> Frame {
        Frame {
            function: frame.function.clone(),
            file: frame.file.as_ref().map(|file| file.to_string_lossy().into_owned()),
            line: frame.line,
            column: frame.column,
        }
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "json/round_trip_tests.rs"]
mod round_trip_tests;
