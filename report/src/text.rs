//! The report as text: the summary on the terminal, and report.txt.

use crate::Report;
use crate::look::{Look, Part};
use crate::names::{UNNAMED, infix};
use crate::numbers::{bits, count, counted, exact, short_pair};
use crate::ranges;
use fpgrind_analysis::{Cause, CauseKind, Spot, SpotKind, Variable};
use std::fmt::Write;

/// Entries on the terminal; the rest is in report.txt.
const SUMMARY_ENTRIES: usize = 10;
/// Where the function's name stands beside an expression, and how far in the lines below begin.
const SITE_COLUMN: usize = 59;
const INDENT: &str = "     ";
/// An expression on the terminal is cut here.
const MAX_EXPRESSION: usize = 240;
/// Places named after `reaches`.
const MAX_REACHED: usize = 4;

/// What the terminal shows; all of it if it is to be verbose.
pub fn summary(report: &Report, look: Look, verbose: bool) -> String {
    let limit = if verbose { usize::MAX } else { SUMMARY_ENTRIES };
    let mut text = render(report, look, limit);
    if verbose {
        let _ = writeln!(text, "\n  {}", analysed(report));
    }
    look.wrap(&(text + &pointer(report, look)))
}

pub fn full(report: &Report) -> String {
    let command = std::iter::once(&report.run.program).chain(&report.run.args).cloned().collect::<Vec<_>>().join(" ");
    format!("{command}\n\n{}", Look::PLAIN.wrap(&render(report, Look::PLAIN, usize::MAX)))
}

fn render(report: &Report, look: Look, limit: usize) -> String {
    let suppressed = report.suppressed_count().map(|count| format!(", {count}")).unwrap_or_default();
    let report = &*report.visible();
    let findings = &report.findings;
    let accumulated: Vec<&Spot> =
        findings.spots.iter().filter(|spot| spot.wrong > 0 && spot.causes.is_empty()).collect();
    let is_clean = findings.causes.is_empty() && accumulated.is_empty();
    let headline = look.paint(if is_clean { Part::Good } else { Part::Bad }, &headline(report));
    let mut text = format!("fpgrind: {headline}{suppressed}   ({})\n", effort(report));
    for (i, cause) in findings.causes.iter().take(limit).enumerate() {
        text += "\n";
        text += &describe_cause(report, look, i + 1, cause, limit == usize::MAX);
    }
    let shown = findings.causes.len().min(limit);
    if shown > 0 && !accumulated.is_empty() {
        text += "\n  also inaccurate:\n";
    } else if !accumulated.is_empty() {
        text += "\n";
    }
    let room = limit.saturating_sub(shown).max(1);
    for spot in accumulated.iter().take(room) {
        let _ = writeln!(text, "  {}", describe_accumulation(report, spot));
    }
    let left = (findings.causes.len() - shown) + accumulated.len().saturating_sub(room);
    if left > 0 {
        let _ = writeln!(text, "\n  and {} more in report.txt", count(left as u64));
    }
    if is_clean && findings.totals.operations > 0 {
        let _ = writeln!(text, "  {}", looked_at(report));
    }
    let notes = notes(report);
    if !notes.is_empty() {
        text += "\n";
    }
    for note in notes {
        let painted = note.strip_prefix("note:").map(|said| format!("{}{said}", look.paint(Part::Note, "note:")));
        let _ = writeln!(text, "  {}", painted.unwrap_or(note));
    }
    text
}

/// Where the summary says that there is more.
fn pointer(report: &Report, look: Look) -> String {
    let file = |name: &str| {
        let out = report.run.out.as_ref()?;
        Some(look.paint(Part::Place, &out.join(name).display().to_string()))
    };
    let has_causes = !report.visible().findings.causes.is_empty();
    match (file("report.html"), file("causes.fpcore").filter(|_| has_causes)) {
        (Some(page), Some(cores)) => {
            let line = format!("details: {page}    for Herbie: {cores}");
            let line = if look.fits(&line) { line } else { format!("details: {page}\nfor Herbie: {cores}") };
            format!("\n{line}\n")
        }
        (Some(page), None) => format!("\ndetails: {page}\n"),
        (None, _) => String::new(),
    }
}

/// What was done, for those who want to know all of it.
fn analysed(report: &Report) -> String {
    let totals = &report.findings.totals;
    let places = counted(report.findings.spots.len() as u64, "place", "places");
    format!(
        "analysed {} in {} of code, and {places} where floats are printed, compared or converted; \
         the history ended of {} that changed unseen and of {} that became bits; {} taken as computed",
        counted(totals.operations, "operation", "operations"),
        counted(totals.blocks, "block", "blocks"),
        counted(totals.stale_shadows, "float", "floats"),
        count(totals.lost_shadows),
        counted(totals.misnamed_calls, "misnamed call was", "misnamed calls were"),
    )
}

pub fn headline(report: &Report) -> String {
    let findings = &report.findings;
    let results = |number: usize| counted(number as u64, "inaccurate result", "inaccurate results");
    let (explained, unexplained): (Vec<&Spot>, Vec<&Spot>) =
        findings.spots.iter().filter(|spot| spot.wrong > 0).partition(|spot| !spot.causes.is_empty());
    if !findings.causes.is_empty() {
        let causes = counted(findings.causes.len() as u64, "root cause", "root causes");
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
    }
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

fn describe_cause(report: &Report, look: Look, number: usize, cause: &Cause, whole: bool) -> String {
    let mut expression = infix(cause);
    if !whole {
        expression = cut(expression);
    }
    let site = report.sites.instruction(cause.location).full();
    let mut lines = Vec::new();
    let head = format!("{number:>3}  {expression}");
    let length = head.chars().count();
    let number = head.trim_start();
    let head = format!("{}{}", &head[..head.len() - number.len()], look.paint(Part::Main, number));
    let place = look.paint(Part::Place, &site);
    if length + 2 <= SITE_COLUMN && SITE_COLUMN + site.chars().count() <= look.width {
        lines.push(format!("{head}{}{place}", " ".repeat(SITE_COLUMN - length)));
    } else {
        lines.push(head);
        lines.push(format!("{INDENT}in {place}"));
    }
    let most = bits(cause.max_bits);
    lines.push(format!("{INDENT}{}", damage(report, cause).replacen(&most, &look.paint(Part::Bad, &most), 1)));
    lines.extend(stands_for(&cause.variables));
    lines.extend(when(&cause.variables, look));
    lines.push(format!("{INDENT}{}", worst(cause)));
    if let Some(reached) = reached(report, cause) {
        lines.push(format!("{INDENT}reaches {reached}"));
    }
    lines.join("\n") + "\n"
}

fn cut(expression: String) -> String {
    match expression.char_indices().nth(MAX_EXPRESSION) {
        Some((at, _)) => format!("{} ...", &expression[..at]),
        None => expression,
    }
}

/// `loses up to 53.0 bits, 31.4 on average, in 4,096 of 65,536 executions`
pub fn damage(report: &Report, cause: &Cause) -> String {
    let how_often = match cause.executions {
        1 => "in its only execution".to_string(),
        executions => format!("in {} of {} executions", count(cause.erroneous), count(executions)),
    };
    match cause.kind {
        CauseKind::Invalid => format!("gives NaN {how_often}"),
        CauseKind::Flushed => format!("flushes subnormal numbers to zero {how_often}"),
        CauseKind::Inaccurate => {
            let mut text = format!("loses up to {}", bits(cause.max_bits));
            if cause.erroneous > 1 {
                let _ = write!(text, ", {:.1} on average,", cause.average_bits);
            }
            let _ = write!(text, " {how_often}");
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

/// `where x = j0(y)`: what the expression ends in, because FPCore has no such function.
fn stands_for(variables: &[Variable]) -> Option<String> {
    let known = variables.iter().filter_map(|v| Some(format!("{} = {}", v.name, cut(v.stands_for.clone()?))));
    let known: Vec<String> = known.collect();
    (!known.is_empty()).then(|| format!("{INDENT}where {}", listed(&known)))
}

/// `when x in [1.2e-4, 0.25] and y in [-8.7e-9, 8.7e-9]     (seen: x in [-1, 0.25], y in [-2, 2])`
fn when(variables: &[Variable], look: Look) -> Vec<String> {
    let erroneous: Vec<String> = variables.iter().filter_map(|v| ranges::describe(&v.name, &v.erroneous)).collect();
    if erroneous.is_empty() {
        return Vec::new();
    }
    let when = format!("{INDENT}when {}", listed(&erroneous));
    let seen: Vec<String> = variables.iter().filter_map(|v| ranges::describe(&v.name, &v.seen)).collect();
    if seen.is_empty() || seen == erroneous {
        return vec![when];
    }
    let seen = look.paint(Part::Aside, &format!("(seen: {})", seen.join(", ")));
    let together = format!("{when}     {seen}");
    if look.fits(&together) { vec![together] } else { vec![when, format!("{INDENT}{seen}")] }
}

/// `worst at x = 0.2499, y = 3.1e-12: computed 0, correct 1.9226e-23`. The inputs are exact: they can be tried.
fn worst(cause: &Cause) -> String {
    let inputs: Vec<String> = cause.variables.iter().map(|v| format!("{} = {}", v.name, exact(v.worst))).collect();
    let (computed, correct) = short_pair(cause.computed, cause.correct);
    let at = if inputs.is_empty() { String::new() } else { format!(" at {}", inputs.join(", ")) };
    match cause.kind {
        CauseKind::Inaccurate | CauseKind::Flushed => format!("worst{at}: computed {computed}, correct {correct}"),
        CauseKind::Invalid => format!("for example{at}: computed {computed}"),
    }
}

/// `printf %.3f at plot.c:61 (62.0 bits: prints 0, correct 2) and a branch at plot.c:40 (12 of 65,536 go the other way)`
pub fn reached(report: &Report, cause: &Cause) -> Option<String> {
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
        _ => String::new(),
    }
}

pub fn extent(spot: &Spot) -> String {
    let (wrong, count) = (count(spot.wrong), count(spot.count));
    let one = spot.wrong == 1;
    match spot.kind {
        SpotKind::Branch { .. } | SpotKind::Mask => {
            format!("{wrong} of {count} {} the other way", if one { "goes" } else { "go" })
        }
        SpotKind::ToInt => format!("{wrong} of {count} {} another integer", if one { "gives" } else { "give" }),
        SpotKind::Output { .. } if spot.computed.is_nan() || spot.correct.is_nan() => "NaN".to_string(),
        SpotKind::Output { .. } => match spot.offset {
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
        SpotKind::Output { .. } => format!("{what} prints {computed}, correct {correct} ({})", extent(spot)),
    };
    format!("{claim}: no single operation is to blame; {}", accumulation(report, spot))
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
    let mut text = format!(
        "looked at {}, {} and {}",
        counted(outputs, "number printed", "numbers printed"),
        counted(decisions, "decision", "decisions"),
        counted(conversions, "conversion to an integer", "conversions to integers"),
    );
    // How far off the operands of decisions and conversions are matters only when they come out otherwise.
    let printed = spots.iter().filter(|spot| matches!(spot.kind, SpotKind::Output { .. }));
    match printed.max_by(|a, b| a.max_bits.total_cmp(&b.max_bits)) {
        Some(worst) if worst.max_bits > 0.0 => {
            let place = format!("{} at {}", spot_noun(worst, "a "), report.sites.spot(worst).short());
            let _ = write!(text, "; the worst error is {}, in {place}", bits(worst.max_bits));
        }
        Some(_) => text += "; every number printed is as exact as it can be",
        None if decisions == 0 && conversions == 0 => text += ": an error had nowhere to show",
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
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [item] => item.clone(),
        [items @ .., last] => format!("{} and {last}", items.join(", ")),
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
