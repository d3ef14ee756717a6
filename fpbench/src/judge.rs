//! Is what fpgrind says true? One verdict a benchmark and variant.

use crate::ast::Core;
use crate::batch::{Outcome, Variant};
use crate::bench::{Bench, Language};
use crate::domains::Native;
use crate::findings::{Cause, Spot};
use crate::matching::occurs;
use crate::parse::parse;
use crate::sample;
use crate::truth::{bits_of_error, truth};
use serde::Serialize;

/// Bits of error from which fpgrind, by default, calls a result wrong.
pub const THRESHOLD: f64 = 5.0;
/// How far the reported maximum may be from the true one.
const TOLERANCE: f64 = 0.5;
/// Inputs on which a reported expression is tried, beside the worst one reported.
const TRIES: usize = 40;

#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    pub file: String,
    pub name: String,
    pub variant: &'static str,
    pub fortran: bool,
    pub samples: usize,
    pub true_bits: f64,
    pub reported_bits: Option<f64>,
    pub truly_wrong: bool,
    pub reported_wrong: bool,
    pub within_half_a_bit: bool,
    /// How many causes the report names for the output.
    pub causes: usize,
    /// The first of them, or the one that is the benchmark's.
    pub expression: Option<String>,
    /// Some cause's expression shows the error again. Nothing where there are none to try.
    pub reproduced: Option<bool>,
    /// Some cause that shows the error is the benchmark's expression or a part of it.
    pub expression_found: Option<bool>,
    pub true_wrong_decisions: u64,
    /// Those that the compiler may have removed, or put there itself.
    pub optional_wrong_decisions: u64,
    pub reported_wrong_decisions: u64,
    /// Conversions to integers that give another integer in the reals.
    pub reported_wrong_conversions: u64,
    /// Results that differ from those of our own evaluation in floats: the compiler rearranged something.
    pub rearranged: usize,
    /// What is wrong with the report, a sentence each.
    pub misses: Vec<String>,
}

impl Verdict {
    /// Where a rounding to an integer is inlined, the float ends in a conversion or a comparison, and with it what is known
    /// about it: an error that is told there is told.
    fn told_before_the_output(&self) -> bool {
        let inlined = self.true_wrong_decisions == 0 && self.optional_wrong_decisions > 0;
        self.reported_wrong_conversions > 0 || inlined && self.reported_wrong_decisions > 0
    }

    /// Decisions are judged by whether there are wrong ones; compilers merge and split branches.
    pub fn decisions_right(&self) -> bool {
        match self.reported_wrong_decisions {
            0 => self.true_wrong_decisions == 0,
            _ => self.true_wrong_decisions + self.optional_wrong_decisions > 0,
        }
    }
}

/// Judges one benchmark of a batch.
pub fn judge(bench: &Bench, number: usize, variant: Variant, outcome: &Outcome) -> Verdict {
    let report = &outcome.report;
    let printed = &outcome.printed[number];
    let mut verdict = Verdict {
        file: bench.file.clone(),
        name: bench.title.clone(),
        variant: variant.name(),
        fortran: bench.language == Language::Fortran,
        samples: bench.inputs.len(),
        true_bits: 0.0,
        reported_bits: None,
        truly_wrong: false,
        reported_wrong: false,
        within_half_a_bit: false,
        causes: 0,
        expression: None,
        reproduced: None,
        expression_found: None,
        true_wrong_decisions: bench.truths.iter().map(|truth| truth.wrong_decisions).sum(),
        optional_wrong_decisions: bench.truths.iter().map(|truth| truth.optional_decisions).sum(),
        reported_wrong_decisions: 0,
        reported_wrong_conversions: 0,
        rearranged: 0,
        misses: Vec::new(),
    };
    if printed.len() != bench.inputs.len() {
        verdict.misses.push(format!("it printed {} results for {} inputs", printed.len(), bench.inputs.len()));
        return verdict;
    }
    let mut worst = 0;
    for (place, (printed, truth)) in printed.iter().zip(&bench.truths).enumerate() {
        let bits = bits_of_error(*printed, truth.correct, bench.result);
        if bits > verdict.true_bits {
            (verdict.true_bits, worst) = (bits, place);
        }
        verdict.rearranged +=
            usize::from(bits_of_error(*printed, truth.native, bench.result) > 0.0 && !printed.is_nan());
    }
    verdict.truly_wrong = verdict.true_bits > THRESHOLD;
    let unsettled = bench.truths.iter().filter(|truth| truth.unsettled).count();
    if unsettled > 0 {
        verdict.misses.push(format!("the harness does not know the truth for {unsettled} inputs"));
    }

    let source = outcome.source.to_string_lossy();
    let at_line = |spot: &&Spot| {
        spot.kind == "output"
            && spot.site.line == Some(outcome.lines[number])
            && spot.site.file.as_deref() == Some(source.as_ref())
    };
    let in_function = |name: Option<&str>| name == Some(outcome.functions[number].as_str());
    let wrong_of = |kinds: &[&str]| -> u64 {
        let spots = report.spots.iter().filter(|spot| kinds.contains(&spot.kind.as_str()));
        spots.filter(|spot| in_function(spot.site.function.as_deref())).map(|spot| spot.wrong).sum()
    };
    verdict.reported_wrong_decisions = wrong_of(&["branch", "comparison"]);
    verdict.reported_wrong_conversions = wrong_of(&["to-integer"]);
    let Some(spot) = report.spots.iter().find(at_line) else {
        verdict.misses.push("the report has no spot at its printf".into());
        return verdict;
    };
    verdict.reported_bits = Some(spot.max_bits.0);
    verdict.reported_wrong = spot.wrong > 0;
    verdict.within_half_a_bit = (spot.max_bits.0 - verdict.true_bits).abs() <= TOLERANCE;
    if verdict.truly_wrong && verdict.told_before_the_output() {
        (verdict.reported_wrong, verdict.within_half_a_bit) = (true, true);
    }
    if spot.count != bench.inputs.len() as u64 {
        verdict.misses.push(format!("{} of {} outputs were seen", spot.count, bench.inputs.len()));
    }
    if verdict.reported_wrong != verdict.truly_wrong || !verdict.within_half_a_bit {
        let inputs: Vec<String> = bench.inputs[worst].iter().map(|input| format!("{:e}", input.value)).collect();
        verdict.misses.push(format!(
            "{} bits are true, {:.1} reported: at ({}) it prints {:e}, correct is {:e}; the report's worst is {:e}, correct {:e}",
            format_args!("{:.1}", verdict.true_bits),
            spot.max_bits.0,
            inputs.join(", "),
            printed[worst],
            bench.truths[worst].correct,
            spot.computed.0,
            spot.correct.0,
        ));
    }
    if !verdict.decisions_right() {
        verdict.misses.push(format!(
            "{} decisions go the other way in the reals, {} are reported",
            verdict.true_wrong_decisions, verdict.reported_wrong_decisions
        ));
    }
    if report.check_failures.iter().any(|failure| in_function(failure.site.function.as_deref())) {
        verdict.misses.push("fpgrind's own check of its shadow values failed here".into());
    }
    if spot.wrong > 0 && verdict.truly_wrong {
        judge_causes(&mut verdict, bench, number, spot, outcome);
    }
    verdict
}

fn judge_causes(verdict: &mut Verdict, bench: &Bench, number: usize, spot: &Spot, outcome: &Outcome) {
    let causes: Vec<(usize, &Cause)> =
        spot.causes.iter().filter_map(|number| Some((*number, outcome.report.causes.get(*number)?))).collect();
    verdict.causes = causes.len();
    verdict.expression = causes.first().map(|(_, cause)| cause.expression.clone());
    if causes.is_empty() {
        let wrong = outcome.printed[number].iter().zip(&bench.truths);
        let wrong = wrong.filter(|(printed, truth)| bits_of_error(**printed, truth.correct, bench.result) > THRESHOLD);
        let local = wrong.map(|(_, truth)| truth.worst_local).fold(0.0, f64::max);
        if local > THRESHOLD {
            verdict.misses.push(format!("an operation loses {local:.1} bits by itself, and no cause is named"));
        }
        if spot.accumulated_in.is_empty() {
            verdict.misses.push("neither causes nor places where the error accumulates are named".into());
        }
    }
    let expressions = match expressions(outcome) {
        Ok(expressions) => expressions,
        Err(problem) => return verdict.misses.push(problem),
    };
    // Where NaN arises there is nothing to evaluate: that it is named is all.
    let (mut tried, mut reproduced, mut found) = (false, false, false);
    let mut best: f64 = 0.0;
    for (number, cause) in &causes {
        let Some(Some(core)) = expressions.get(*number) else {
            continue;
        };
        tried = true;
        let bits = error_of(core, cause);
        best = best.max(bits);
        if bits > THRESHOLD {
            reproduced = true;
            if occurs(core, &bench.core) {
                verdict.expression = Some(cause.expression.clone());
                found = true;
                break;
            }
        }
    }
    if !tried {
        return;
    }
    verdict.reproduced = Some(reproduced);
    verdict.expression_found = Some(found);
    let shown: Vec<&str> = causes.iter().take(3).map(|(_, cause)| cause.expression.as_str()).collect();
    if !reproduced {
        let claimed = causes.iter().map(|(_, cause)| cause.reproduced_bits.0).fold(0.0, f64::max);
        verdict.misses.push(format!(
            "no cause shows the error again: {best:.1} bits over the reported ranges, the report claims {claimed:.1}: {}",
            shown.join("; ")
        ));
    } else if !found {
        verdict.misses.push(format!("no cause is a part of the benchmark: {}", shown.join("; ")));
    }
}

/// The causes' FPCores; nothing for those that have none.
fn expressions(outcome: &Outcome) -> Result<Vec<Option<Core>>, String> {
    let cores = parse(&outcome.causes).map_err(|error| {
        format!("causes.fpcore:{}:{}: {}", error.position.line, error.position.column, error.message)
    })?;
    let mut cores = cores.into_iter();
    let mut expressions = Vec::new();
    for cause in &outcome.report.causes {
        expressions.push(match cause.kind.as_str() {
            "inaccurate" | "overflow" | "underflow" | "division-by-zero" => match cores.next() {
                Some(Ok(core)) => Some(core),
                Some(Err(refused)) => {
                    let position = refused.error.position;
                    return Err(format!(
                        "causes.fpcore:{}:{}: {}",
                        position.line, position.column, refused.error.message
                    ));
                }
                None => return Err("causes.fpcore has fewer cores than the report has causes".into()),
            },
            _ => None,
        });
    }
    Ok(expressions)
}

/// Bits of error that an expression shows over the ranges reported for it, the worst inputs reported included.
fn error_of(core: &Core, cause: &Cause) -> f64 {
    let worst = core.arguments.iter().zip(&cause.variables);
    let worst = worst.map(|(argument, variable)| Native::input(variable.worst.0, argument.precision)).collect();
    let inputs = [worst].into_iter().chain(sample::inputs(core, TRIES));
    inputs.map(|input| error_on(core, &input)).fold(0.0, f64::max)
}

fn error_on(core: &Core, input: &[crate::domains::Native64]) -> f64 {
    let precision = core.precision;
    truth(core, input, precision, 10_000).map_or(0.0, |truth| bits_of_error(truth.native, truth.correct, precision))
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
