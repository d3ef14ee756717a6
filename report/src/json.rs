//! report.json: everything that was found, for programs to read.
//!
//! The schema is the types below, field for field, and [`VERSION`] is raised when a field changes its meaning or
//! goes; new fields may come without that. Numbers are written so that reading them back as doubles gives the same
//! doubles; NaN and the infinities, which JSON lacks, are the strings `"NaN"`, `"inf"` and `"-inf"`. A long double that is no double is a
//! string with the digits that read back as it. Addresses and
//! bit patterns are strings in hexadecimal, because readers of JSON may hold numbers in doubles.

use crate::names::{UNNAMED, infix, names};
use crate::numbers::exact;
use crate::{Report, Site};
use fpgrind_analysis as analysis;
use fpgrind_analysis::{CauseKind, SpotKind, precision};
use serde::{Serialize, Serializer};
use std::io;

pub const VERSION: u32 = 2;

pub fn render(report: &Report) -> io::Result<String> {
    Ok(serde_json::to_string_pretty(&Document::of(report))? + "\n")
}

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    program: &'a str,
    args: &'a [String],
    /// Wall-clock time of the run.
    seconds: Number,
    /// Bits of error from which the analysis speaks of an error.
    threshold_bits: Number,
    /// Sentences about the run.
    notes: &'a [String],
    /// Native results were compared with predicted ones.
    check: bool,
    totals: Totals,
    /// Worst damage to outputs first.
    causes: Vec<Cause<'a>>,
    /// Every place where floats are printed, compared or converted to integers, wrong or not.
    spots: Vec<Spot<'a>>,
    modules: Vec<Module>,
    /// Bugs of fpgrind, found by itself.
    check_failures: Vec<CheckFailure>,
}

#[derive(Serialize)]
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
    /// Parts of the log that could not be read.
    corrupt_records: u64,
    skipped_bytes: u64,
    checks: u64,
}

/// An operation to which errors in results go back.
#[derive(Serialize)]
struct Cause<'a> {
    site: Location,
    /// `inaccurate`: digits are lost. `invalid`: NaN arises from numbers. `flushed`: a subnormal number was replaced by zero, as MXCSR
    /// asks for.
    kind: &'static str,
    operator: &'static str,
    /// Of the result, as in FPCore: `binary16`, `(float 8 16)`, `binary32`, `binary64` or `binary80`.
    precision: &'static str,
    /// As in the text.
    expression: String,
    /// The same as the body of an FPCore.
    fpcore: String,
    variables: Vec<Variable<'a>>,
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
    reaches: &'a [usize],
}

#[derive(Serialize)]
struct Variable<'a> {
    name: &'a str,
    seen: Ranges,
    erroneous: Ranges,
    /// At the worst execution.
    worst: Float,
    /// The function call whose result it is, if the expression ends there because FPCore has no such function.
    stands_for: Option<&'a str>,
}

/// `null` where no such value occurred; otherwise the least and the greatest.
#[derive(Serialize)]
struct Ranges {
    negative: Option<[Number; 2]>,
    zero: bool,
    positive: Option<[Number; 2]>,
    nan: bool,
}

#[derive(Serialize)]
struct Spot<'a> {
    site: Location,
    #[serde(flatten)]
    kind: Kind<'a>,
    count: u64,
    /// Executions that print too much error; for decisions, those that go the other way in the reals; for conversions,
    /// those that give another integer.
    wrong: u64,
    max_bits: Number,
    average_bits: Number,
    computed: Float,
    correct: Float,
    /// Where that number lies in the bytes written, if the program writes them as they are.
    offset: Option<u64>,
    /// How wrong values came about, where no single cause is to blame.
    expression: Option<String>,
    accumulated_in: Vec<Location>,
    /// Indices into `causes`.
    causes: &'a [usize],
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Kind<'a> {
    /// `argument` counts the floats of the call from 0.
    Output {
        function: &'a str,
        argument: u32,
        /// How it is printed, as the program says it: `%.3f`. Empty if it does not say so.
        conversion: &'a str,
    },
    /// `condition` as in the instruction's name: `a` for ja.
    Branch {
        condition: &'static str,
    },
    Comparison,
    ToInteger,
}

/// Where in the program; what is not known is `null`.
#[derive(Serialize)]
struct Location {
    /// As in the text.
    text: String,
    /// Where it lay in memory when it was first met.
    pc: Hex,
    module: Option<String>,
    /// The address in the module's own addressing, as `objdump` shows it.
    address: Option<Hex>,
    function: Option<String>,
    /// The full path.
    file: Option<String>,
    line: Option<u32>,
}

/// A piece of a file that was mapped as code, where it lay first.
#[derive(Serialize)]
struct Module {
    path: String,
    start: Hex,
    end: Hex,
    bias: Hex,
}

#[derive(Serialize)]
struct CheckFailure {
    site: Location,
    native: Hex,
    predicted: Hex,
}

/// A double, exactly.
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            value if value.is_nan() => serializer.serialize_str("NaN"),
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            value => serializer.serialize_f64(value),
        }
    }
}

/// A float of any format, exactly.
struct Float(analysis::Number);

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_f64() {
            Some(value) => Number(value).serialize(serializer),
            None => serializer.serialize_str(&exact(self.0)),
        }
    }
}

struct Hex(u128);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

impl<'a> Document<'a> {
    fn of(report: &'a Report) -> Document<'a> {
        let Report { run, findings, sites } = report;
        let totals = &findings.totals;
        Document {
            version: VERSION,
            program: &run.program,
            args: &run.args,
            seconds: Number(run.seconds),
            threshold_bits: Number(run.threshold),
            notes: &run.notes,
            check: run.check,
            totals: Totals {
                processes: totals.processes,
                threads: totals.threads,
                operations: totals.operations,
                blocks: totals.blocks,
                stale_shadows: totals.stale_shadows,
                lost_shadows: totals.lost_shadows,
                misnamed_calls: totals.misnamed_calls,
                corrupt_records: totals.corrupt_records,
                skipped_bytes: totals.skipped_bytes,
                checks: totals.checks,
            },
            causes: findings.causes.iter().map(|cause| Cause::of(report, cause)).collect(),
            spots: findings.spots.iter().map(|spot| Spot::of(report, spot)).collect(),
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

impl<'a> Cause<'a> {
    fn of(report: &Report, cause: &'a analysis::Cause) -> Cause<'a> {
        Cause {
            site: Location::of(&report.sites.instruction(cause.location)),
            kind: match cause.kind {
                CauseKind::Inaccurate => "inaccurate",
                CauseKind::Invalid => "invalid",
                CauseKind::Flushed => "flushed",
            },
            operator: cause.operator.name(),
            precision: precision(cause.ty),
            expression: infix(cause),
            fpcore: cause.expr.fpcore(&names(cause), cause.ty),
            variables: cause
                .variables
                .iter()
                .map(|variable| Variable {
                    name: &variable.name,
                    seen: Ranges::of(&variable.seen),
                    erroneous: Ranges::of(&variable.erroneous),
                    worst: Float(variable.worst),
                    stands_for: variable.stands_for.as_deref(),
                })
                .collect(),
            executions: cause.executions,
            erroneous: cause.erroneous,
            max_bits: Number(cause.max_bits),
            average_bits: Number(cause.average_bits),
            computed: Float(cause.computed),
            correct: Float(cause.correct),
            reproduced_bits: Number(cause.reproduced_bits),
            reaches: &cause.reaches,
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

impl<'a> Spot<'a> {
    fn of(report: &Report, spot: &'a analysis::Spot) -> Spot<'a> {
        Spot {
            site: Location::of(&report.sites.spot(spot)),
            kind: match &spot.kind {
                SpotKind::Output { function, argument, conversion } => {
                    Kind::Output { function, argument: *argument, conversion }
                }
                SpotKind::Branch { cond } => Kind::Branch { condition: cond.name() },
                SpotKind::Mask => Kind::Comparison,
                SpotKind::ToInt => Kind::ToInteger,
            },
            count: spot.count,
            wrong: spot.wrong,
            max_bits: Number(spot.max_bits),
            average_bits: Number(spot.average_bits),
            computed: Float(spot.computed),
            correct: Float(spot.correct),
            offset: spot.offset,
            expression: spot.expr.as_ref().map(|expr| expr.infix(&UNNAMED)),
            accumulated_in: spot.accumulated_in.iter().map(|at| Location::of(&report.sites.instruction(*at))).collect(),
            causes: &spot.causes,
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
            file: site.file.as_ref().map(text),
            line: site.line,
        }
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
