//! What the analysis found: plain data, addressed by file and address in it. Turning addresses into names and lines is the report's work.

use crate::expr::Expr;
use crate::location::Location;
use crate::log::Module;
use crate::number::Number;
use fpgrind_ir::{Cond, Operator, Type};
use std::path::PathBuf;

/// The result of analysing a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Candidate root causes that reach an erroneous spot, worst damage to outputs first; then, if they are asked for, the others.
    pub causes: Vec<Cause>,
    /// All spots, in order of first execution.
    pub spots: Vec<Spot>,
    pub totals: Totals,
    /// What [`Location::file`] counts.
    pub files: Vec<PathBuf>,
    /// What was mapped as code, each piece of a file once: where it lay first, in whichever process.
    pub modules: Vec<Module>,
    /// Disagreements between native results and what the shadow program predicted. Each is a bug of ours.
    pub check_failures: Vec<CheckFailure>,
}

/// An operation whose local error passed the threshold, generalised over its erroneous executions.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    pub location: Location,
    pub operator: Operator,
    /// Format of the operation's result.
    pub ty: Type,
    pub expr: Expr,
    /// One for each variable in `expr`, in the order of [`Expr::Var`]'s numbers.
    pub variables: Vec<Variable>,
    pub kind: CauseKind,
    pub executions: u64,
    pub erroneous: u64,
    /// Local error in bits over the erroneous executions.
    pub max_bits: f64,
    pub average_bits: f64,
    /// At the worst execution: what the operation yielded, and what it yields in the reals.
    pub computed: Number,
    pub correct: Number,
    /// Bits of error that `expr` shows when evaluated in floats and in reals at the recorded inputs, at worst.
    pub reproduced_bits: f64,
    /// Indices into [`Findings::spots`], those with most error first.
    pub reaches: Vec<usize>,
    /// Executions with their error, of all that there were.
    pub samples: Vec<Sample>,
    /// How the error comes about at the worst inputs: one for each variable, number and operation in `expr`, arguments before
    /// what is made of them.
    pub steps: Vec<Step>,
}

/// An execution of a cause's operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// One for each variable.
    pub inputs: Vec<Number>,
    /// Its local error.
    pub bits: f64,
}

/// A part of an expression, evaluated in floats and in reals on the same inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Of an operation, if all executions have it in one place.
    pub location: Option<Location>,
    pub computed: Number,
    /// The real, rounded to the format of the other.
    pub correct: Number,
    /// The error of `computed`, and how much of it there would be if the arguments were right.
    pub bits: f64,
    pub local_bits: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CauseKind {
    /// Digits are lost: cancellation and its relatives.
    Inaccurate,
    /// A number is too large for its format, here or in an argument, and became infinite.
    Overflow,
    /// A number is too small for its format, here or in an argument, and became zero.
    Underflow,
    /// Division by a zero that is none in the reals.
    DivisionByZero,
    /// Every erroneous execution makes a NaN of arguments that are none: 0/0, inf-inf.
    Invalid,
    /// A function of an argument that it is not defined for: sqrt(-1), log(-1).
    Domain,
    /// A subnormal number was replaced by zero, because MXCSR (or the instruction) says so, and that is all that is wrong.
    Flushed,
}

impl CauseKind {
    pub const ALL: [CauseKind; 7] = {
        use CauseKind::*;
        [Inaccurate, Overflow, Underflow, DivisionByZero, Invalid, Domain, Flushed]
    };

    /// As it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            CauseKind::Inaccurate => "inaccurate",
            CauseKind::Overflow => "overflow",
            CauseKind::Underflow => "underflow",
            CauseKind::DivisionByZero => "division-by-zero",
            CauseKind::Invalid => "invalid",
            CauseKind::Domain => "domain",
            CauseKind::Flushed => "flushed",
        }
    }

    /// Is NaN what comes out?
    pub fn gives_nan(self) -> bool {
        matches!(self, CauseKind::Invalid | CauseKind::Domain)
    }
}

/// The values that a variable of a cause's expression took.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    pub name: String,
    /// Over all executions that were looked at, and over the erroneous ones.
    pub seen: Ranges,
    pub erroneous: Ranges,
    /// At the worst execution.
    pub worst: Number,
    /// What it is the result of, if the expression ends here because FPCore has no such function.
    pub stands_for: Option<String>,
    /// What makes it, if it is what earlier turns of a loop left.
    pub carried: Option<Carried>,
}

/// An operation whose result goes into its next execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    pub location: Location,
    pub operator: Operator,
    /// In the whole run, unless it is one of several instructions that the compiler may have made of one operation.
    pub executions: Option<u64>,
    /// What is added or multiplied each time, if that is all that is done; variables that the cause's expression does not have are
    /// named here alone.
    pub term: Option<String>,
}

/// The range of a set of values, split by sign so that a range does not pretend to contain
/// what lies between its negative and its positive part. Its ends are doubles: a long double beyond all doubles counts as the largest,
/// one below them as the smallest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ranges {
    pub negative: Option<(f64, f64)>,
    pub zero: bool,
    pub positive: Option<(f64, f64)>,
    pub nan: bool,
}

/// A place where floats leave the world of floats: where an error becomes visible.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    pub location: Location,
    pub kind: SpotKind,
    pub count: u64,
    /// Executions with an error over the threshold; for decisions, those that go the other way in the reals.
    pub wrong: u64,
    pub max_bits: f64,
    pub average_bits: f64,
    /// At the worst execution: the value (a decision's left operand) and what it is in the reals.
    pub computed: Number,
    pub correct: Number,
    /// Where in the bytes that were written out that number lies, if it was written so.
    pub offset: Option<u64>,
    /// How the wrong values came about, generalised over them; shown where no single cause is to blame.
    pub expr: Option<Expr>,
    /// What the error of the worst value without a cause is made of, and the operations that this names, in the same order.
    pub accumulated: Option<Accumulation>,
    pub accumulated_in: Vec<Location>,
    /// Indices into [`Findings::causes`].
    pub causes: Vec<usize>,
    /// Of a decision that goes the other way in the reals.
    pub effect: Option<Effect>,
}

impl Spot {
    /// Is it a result, or a decision that may change one? The other decisions that go another way are of little consequence.
    pub fn matters(&self) -> bool {
        matches!(self.effect, None | Some(Effect::Results))
    }
}

/// What can be said of a decision that goes the other way in the reals. The worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It may change results.
    Results,
    /// Both sides do the same with the two values compared, in each other's place.
    NearlyEqual,
    /// An iteration whose turns hardly change anything any more ends a turn sooner or later, or takes a side in vain.
    Convergence,
    /// What is tested is a compensating term: the rounding error that it is to repair, which the reals do not have.
    Compensation,
}

impl Effect {
    pub const ALL: [Effect; 4] = [Effect::Results, Effect::NearlyEqual, Effect::Convergence, Effect::Compensation];

    /// As it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Results => "results",
            Effect::NearlyEqual => "nearly-equal",
            Effect::Convergence => "convergence",
            Effect::Compensation => "compensation",
        }
    }
}

/// What an error is made of that no single operation is to blame for. All shares together are 1, the whole error, but for what was lost in
/// computing them.
#[derive(Clone, Debug, PartialEq)]
pub struct Accumulation {
    /// The error.
    pub bits: f64,
    /// Largest first.
    pub contributions: Vec<Contribution>,
    /// The share of all operations that contribute less.
    pub others: f64,
}

impl Accumulation {
    /// How much of the error it explains.
    pub fn explained(&self) -> f64 {
        self.contributions.iter().map(Contribution::total).sum::<f64>() + self.others
    }
}

/// What an operation at one place of the program contributes to an error.
#[derive(Clone, Debug, PartialEq)]
pub struct Contribution {
    pub location: Location,
    pub operator: Operator,
    pub ty: Type,
    /// In the whole run, whatever became of the results.
    pub executions: u64,
    /// Of them those that were seen to round on the way to the value, and their share of the error. It is negative if they make it smaller.
    pub roundings: u64,
    pub share: f64,
    /// The share that the oldest of its results already had, whose histories are cut off.
    pub inherited: f64,
    /// Are those results of its own earlier executions, which a loop carries on?
    pub carried: bool,
    /// The other contributions that round on the way to its results, and so have a part in what it inherited: indices into
    /// [`Accumulation::contributions`].
    pub beside: Vec<usize>,
}

impl Contribution {
    pub fn total(&self) -> f64 {
        self.share + self.inherited
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SpotKind {
    /// An argument of an output function: its name, the argument's place among the floats printed (from 0), how it is printed if that is
    /// said (`%.3f`).
    Output {
        function: String,
        argument: u32,
        conversion: String,
    },
    Branch {
        cond: Cond,
    },
    /// A comparison that leaves a mask.
    Mask,
    ToInt,
    /// Integer code that computes with a float's bits.
    Escape,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Address spaces and threads that were followed.
    pub processes: u64,
    pub threads: u64,
    /// Operations on floats that were shadowed.
    pub operations: u64,
    pub blocks: u64,
    /// Shadows not used because the native bits had changed underneath.
    pub stale_shadows: u64,
    /// Floats whose history ended in logic on their bits that no operation on floats is known for.
    pub lost_shadows: u64,
    /// Calls of library functions whose results were far from what the name promises: taken as they are.
    pub misnamed_calls: u64,
    /// Decisions about errors that even the longest trace could not settle: see `--real`.
    pub undecided: u64,
    /// How often histories or floats in memory were given up for want of memory.
    pub given_up: u64,
    /// Expressions that have fewer examples, or fewer operations, for want of memory.
    pub short_expressions: u64,
    /// Records that could not be read, whereupon the rest of their chunk is skipped, and announcements that made no sense.
    pub corrupt_records: u64,
    /// Bytes of log skipped for that reason.
    pub skipped_bytes: u64,
    pub checks: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckFailure {
    pub location: Location,
    pub native: u128,
    pub predicted: u128,
}
