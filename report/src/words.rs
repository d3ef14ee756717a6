//! What is to be said of findings, in sentences and parts of them: the same in every format.

use crate::Report;
use crate::names::UNNAMED;
use crate::numbers::{bits, count, counted, short_pair};
use crate::shares::shares;
use fpgrind_analysis::{Cause, CauseKind, Effect, Spot, SpotKind};
use std::fmt::Write;

/// Places named after `reaches`.
const MAX_REACHED: usize = 4;

pub fn headline(report: &Report) -> String {
    let findings = &report.findings;
    let results = |number: usize| counted(number as u64, "inaccurate result", "inaccurate results");
    let (wrong, minor): (Vec<&Spot>, Vec<&Spot>) =
        findings.spots.iter().filter(|spot| spot.wrong > 0).partition(|spot| spot.matters());
    let (explained, unexplained): (Vec<&Spot>, Vec<&Spot>) =
        wrong.into_iter().partition(|spot| !spot.causes.is_empty());
    let mut text = if !explained.is_empty() {
        let behind: Vec<&Cause> = findings.causes.iter().filter(|cause| matters(report, cause)).collect();
        let causes = counted(behind.len() as u64, "root cause", "root causes");
        let others = match unexplained.len() {
            0 => String::new(),
            others => format!(", and {} without one", count(others as u64)),
        };
        format!("{causes} behind {}{others}", results(explained.len()))
    } else if !unexplained.is_empty() {
        format!("{}, no single operation to blame", results(unexplained.len()))
    } else if findings.totals.operations > 0 {
        "nothing inaccurate found".to_string()
    } else {
        "the program did no floating-point arithmetic".to_string()
    };
    if !minor.is_empty() {
        let minor = counted(minor.len() as u64, "decision", "decisions");
        let _ = write!(text, ", {minor} of little consequence");
    }
    let idle = findings.causes.iter().filter(|cause| cause.reaches.is_empty()).count();
    if idle > 0 {
        let idle = counted(idle as u64, "operation that reaches", "operations that reach");
        let _ = write!(text, ", {idle} no result");
    }
    text
}

/// Does a cause reach a result, or a decision that may change one?
pub fn matters(report: &Report, cause: &Cause) -> bool {
    cause.reaches.iter().filter_map(|spot| report.findings.spots.get(*spot)).any(|spot| spot.matters())
}

pub fn effort(report: &Report) -> String {
    let totals = &report.findings.totals;
    let mut text = format!("{:.1} s, {}", report.run.seconds, counted(totals.operations, "operation", "operations"));
    if totals.processes > 1 {
        let _ = write!(text, ", {} processes", count(totals.processes));
    }
    // Every process has one thread at least.
    if totals.threads > totals.processes {
        let _ = write!(text, ", {}", counted(totals.threads, "thread", "threads"));
    }
    text
}

/// `loses up to 53.0 bits, 31.4 on average, in 4,096 of 65,536 executions`
pub fn damage(report: &Report, cause: &Cause) -> String {
    let how_often = match cause.executions {
        1 => "in its only execution".to_string(),
        executions => format!("in {} of {} executions", count(cause.erroneous), count(executions)),
    };
    match cause.kind {
        CauseKind::Invalid | CauseKind::Domain => format!("gives NaN {how_often}"),
        CauseKind::Flushed => format!("flushes subnormal numbers to zero {how_often}"),
        CauseKind::Inaccurate | CauseKind::Overflow | CauseKind::Underflow | CauseKind::DivisionByZero => {
            let mut text = format!("loses up to {}", bits(cause.max_bits));
            if cause.erroneous > 1 {
                let _ = write!(text, ", {:.1} on average,", cause.average_bits);
            }
            let by = match cause.kind {
                CauseKind::Overflow => " by overflow",
                CauseKind::Underflow => " by underflow",
                CauseKind::DivisionByZero => " by dividing by zero",
                _ => "",
            };
            let _ = write!(text, "{by} {how_often}");
            if cause.reproduced_bits < report.run.threshold {
                let _ = write!(
                    text,
                    "; its inputs already carry the error, the expression alone shows {}",
                    bits(cause.reproduced_bits)
                );
            }
            text
        }
    }
}

/// `printf %.3f at plot.c:61 (62.0 bits: prints 0, correct 2) and a branch at plot.c:40 (12 of 65,536 go the other way)`
pub fn reached(report: &Report, cause: &Cause) -> Option<String> {
    if cause.reaches.is_empty() {
        return Some("no result that was seen".into());
    }
    let mut places: Vec<(String, String)> = Vec::new();
    for spot in cause.reaches.iter().filter_map(|index| report.findings.spots.get(*index)) {
        let place = format!("{} at {}", spot_noun(spot, "a "), report.sites.spot(spot).short());
        // Several numbers of one call are one place; the worst of them comes first.
        if places.iter().all(|(known, _)| *known != place) {
            let shown = if places.is_empty() { shown(spot) } else { String::new() };
            places.push((place, extent(spot) + &shown));
        }
    }
    let more = places.len().saturating_sub(MAX_REACHED);
    let mut texts: Vec<String> =
        places.into_iter().take(MAX_REACHED).map(|(place, extent)| format!("{place} ({extent})")).collect();
    if more > 0 {
        texts.push(counted(more as u64, "other place", "other places"));
    }
    (!texts.is_empty()).then(|| listed(&texts))
}

pub fn spot_noun(spot: &Spot, article: &str) -> String {
    match &spot.kind {
        SpotKind::Output { function, conversion, .. } if conversion.is_empty() => function.clone(),
        SpotKind::Output { function, conversion, .. } => format!("{function} {conversion}"),
        SpotKind::Branch { .. } => format!("{article}branch"),
        SpotKind::Mask => format!("{article}comparison"),
        SpotKind::ToInt => format!("{article}conversion to an integer"),
        SpotKind::Escape => format!("{article}use of a float's bits as an integer"),
    }
}

/// `: prints 0, correct 2`, of what is printed.
pub fn shown(spot: &Spot) -> String {
    let is_number = !spot.computed.is_nan() && !spot.correct.is_nan();
    match spot.kind {
        SpotKind::Output { .. } if is_number => {
            let (computed, correct) = short_pair(spot.computed, spot.correct);
            format!(": prints {computed}, correct {correct}")
        }
        SpotKind::Escape if is_number => {
            let (computed, correct) = short_pair(spot.computed, spot.correct);
            format!(": those of {computed}, correct {correct}")
        }
        _ => String::new(),
    }
}

/// How decisions that go the other way are told in a few words, and why they may not matter.
fn reason(effect: Effect) -> Option<(&'static str, &'static str)> {
    match effect {
        Effect::Results => None,
        Effect::NearlyEqual => Some((
            ", between nearly equal values",
            "it chooses between two values that differ by less than their errors, and does the same with either",
        )),
        Effect::Convergence => Some((
            ", where an iteration has come to rest",
            "it is part of an iteration that has come to rest, so that a turn more or less changes little",
        )),
        Effect::Compensation => Some((
            ", on a compensating term",
            "it tests a compensating term, zero in the reals and natively the rounding error that it repairs: nothing is to mend",
        )),
    }
}

/// Where in a list of what is wrong a spot stands: decisions that hardly matter come last.
pub fn rank(spot: &Spot) -> Effect {
    spot.effect.unwrap_or(Effect::Results)
}

pub fn extent(spot: &Spot) -> String {
    let (wrong, count) = (count(spot.wrong), count(spot.count));
    let one = spot.wrong == 1;
    match spot.kind {
        SpotKind::Branch { .. } | SpotKind::Mask => {
            let aside = spot.effect.and_then(reason).map_or("", |(aside, _)| aside);
            format!("{wrong} of {count} {} the other way{aside}", if one { "goes" } else { "go" })
        }
        SpotKind::ToInt => format!("{wrong} of {count} {} another integer", if one { "gives" } else { "give" }),
        _ if spot.computed.is_nan() || spot.correct.is_nan() => "NaN".to_string(),
        SpotKind::Output { .. } | SpotKind::Escape => match spot.offset {
            Some(offset) => format!("{} at byte {}", bits(spot.max_bits), crate::numbers::count(offset)),
            None => bits(spot.max_bits),
        },
    }
}

/// A wrong result that no candidate cause reaches: small errors that add up, or a decision between near equals.
pub fn describe_accumulation(report: &Report, spot: &Spot) -> String {
    let what = format!("{} at {}", spot_noun(spot, "the "), report.sites.spot(spot).short());
    let how_often = format!("in {} of {}", count(spot.wrong), counted(spot.count, "execution", "executions"));
    let (computed, correct) = short_pair(spot.computed, spot.correct);
    let claim = match spot.kind {
        SpotKind::Branch { .. } | SpotKind::Mask => format!("{what} goes the other way in the reals {how_often}"),
        SpotKind::ToInt => {
            format!("{what} gives another integer in the reals {how_often} (it takes {computed}, correct {correct})")
        }
        SpotKind::Escape => format!("{what} takes those of {computed}, correct {correct} ({})", extent(spot)),
        SpotKind::Output { .. } => format!("{what} prints {computed}, correct {correct} ({})", extent(spot)),
    };
    format!("{claim}: {}", blame(report, spot))
}

/// Why a result without a cause is wrong, or why a decision is no matter.
pub fn blame(report: &Report, spot: &Spot) -> String {
    match spot.effect.and_then(reason) {
        Some((_, reason)) => reason.to_string(),
        None => format!("no single operation is to blame; {}", accumulation(report, spot)),
    }
}

/// `rounding errors accumulate in x + y at sum.c:10`
pub fn accumulation(report: &Report, spot: &Spot) -> String {
    /// A longer expression says less than its place.
    const MAX_SHOWN: usize = 60;
    let mut text = "rounding errors accumulate".to_string();
    let expression =
        spot.expr.as_ref().map(|expr| expr.infix(&UNNAMED)).filter(|infix| infix.chars().count() <= MAX_SHOWN);
    if let Some(expression) = expression {
        let _ = write!(text, " in {expression}");
    }
    let mut places: Vec<String> = Vec::new();
    for location in &spot.accumulated_in {
        let place = report.sites.instruction(*location).short();
        if places.len() < 3 && !places.contains(&place) {
            places.push(place);
        }
    }
    if !places.is_empty() {
        let _ = write!(text, " at {}", listed(&places));
    }
    if let Some(shares) = spot.accumulated.as_ref().and_then(|accumulated| shares(report, accumulated)) {
        let _ = write!(text, "; {shares}");
    }
    text
}

/// What a clean run was clean of.
pub fn looked_at(report: &Report) -> String {
    let spots = &report.findings.spots;
    let total =
        |wanted: fn(&SpotKind) -> bool| spots.iter().filter(|spot| wanted(&spot.kind)).map(|spot| spot.count).sum();
    let outputs: u64 = total(|kind| matches!(kind, SpotKind::Output { .. }));
    let decisions: u64 = total(|kind| matches!(kind, SpotKind::Branch { .. } | SpotKind::Mask));
    let conversions: u64 = total(|kind| matches!(kind, SpotKind::ToInt));
    let escapes: u64 = total(|kind| matches!(kind, SpotKind::Escape));
    let mut places = vec![
        counted(outputs, "number printed", "numbers printed"),
        counted(decisions, "decision", "decisions"),
        counted(conversions, "conversion to an integer", "conversions to integers"),
    ];
    if escapes > 0 {
        places.push(counted(escapes, "use of a float's bits as an integer", "uses of floats' bits as integers"));
    }
    let mut text = format!("looked at {}", listed(&places));
    // How far off the operands of decisions and conversions are matters only when they come out otherwise.
    let printed = spots.iter().filter(|spot| matches!(spot.kind, SpotKind::Output { .. }));
    match printed.max_by(|a, b| a.max_bits.total_cmp(&b.max_bits)) {
        Some(worst) if worst.max_bits > 0.0 => {
            let place = format!("{} at {}", spot_noun(worst, "a "), report.sites.spot(worst).short());
            let _ = write!(text, "; the worst error is {}, in {place}", bits(worst.max_bits));
        }
        Some(_) => text += "; every number printed is as exact as it can be",
        None if decisions + conversions + escapes == 0 => text += ": an error had nowhere to show",
        None => {}
    }
    text
}

pub fn notes(report: &Report) -> Vec<String> {
    let totals = &report.findings.totals;
    let mut notes: Vec<String> = report.run.notes.iter().map(|note| format!("note: {note}")).collect();
    notes.extend(report.unused_suppressions.iter().map(|entry| format!("note: {entry} suppresses nothing")));
    if totals.corrupt_records > 0 {
        notes.push(format!(
            "note: {} of the log could not be read, {} skipped: what happened there is missing above",
            counted(totals.corrupt_records, "record", "records"),
            counted(totals.skipped_bytes, "byte", "bytes"),
        ));
    }
    if totals.given_up > 0 {
        notes.push(format!(
            "note: memory was short {}: some histories are cut, and causes may be missing; --memory allows for more",
            counted(totals.given_up, "time", "times"),
        ));
    }
    if totals.short_expressions > 0 {
        notes.push(format!(
            "note: for want of memory {} examples or inner operations; --memory allows for more",
            counted(totals.short_expressions, "expression lacks", "expressions lack"),
        ));
    }
    let failures = &report.findings.check_failures;
    if !failures.is_empty() {
        notes.push(format!(
            "check: {} of {} differ from what fpgrind predicted: a bug in fpgrind, please report it",
            count(failures.len() as u64),
            counted(totals.checks, "result", "results"),
        ));
        for failure in failures.iter().take(5) {
            let place = report.sites.instruction(failure.location).full();
            notes.push(format!("       {place}: native {:#x}, predicted {:#x}", failure.native, failure.predicted));
        }
    } else if report.run.check {
        notes.push(format!("check: {} as predicted", counted(totals.checks, "result", "results")));
    }
    notes
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [item] => item.clone(),
        [items @ .., last] => format!("{} and {last}", items.join(", ")),
    }
}
