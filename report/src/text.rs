//! The report as text: the summary on the terminal, and report.txt.

use crate::Report;
use crate::look::{Look, Part};
use crate::loops;
use crate::numbers::{bits, count, counted, exact, short_pair};
use crate::ranges;
use crate::words::{damage, describe_accumulation, effort, headline, listed, looked_at, matters, notes, rank, reached};
use fpgrind_analysis::{Cause, Spot, Variable};
use std::fmt::Write;

/// Entries on the terminal; the rest is in report.txt.
const SUMMARY_ENTRIES: usize = 10;
/// Where the function's name stands beside an expression, and how far in the lines below begin.
const SITE_COLUMN: usize = 59;
const INDENT: &str = "     ";
/// An expression on the terminal is cut here.
const MAX_EXPRESSION: usize = 240;

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
    let uncaused = findings.spots.iter().filter(|spot| spot.wrong > 0 && spot.causes.is_empty());
    let (accumulated, mut minor): (Vec<&Spot>, Vec<&Spot>) = uncaused.partition(|spot| spot.matters());
    minor.sort_by_key(|spot| rank(spot));
    let (main, aside): (Vec<&Cause>, Vec<&Cause>) = findings.causes.iter().partition(|cause| matters(report, cause));
    let (aside, idle): (Vec<&Cause>, Vec<&Cause>) = aside.into_iter().partition(|cause| !cause.reaches.is_empty());
    let is_clean = main.is_empty() && accumulated.is_empty();
    let headline = look.paint(if is_clean { Part::Good } else { Part::Bad }, &headline(report));
    let mut text = format!("fpgrind: {headline}{suppressed}   ({})\n", effort(report));
    // Of each kind of entries one is shown at least.
    let mut shown = 0;
    let mut left = 0;
    let mut some = |entries: usize| {
        let room = limit.saturating_sub(shown).max(1).min(entries);
        shown += room;
        left += entries - room;
        room
    };
    let mut number = 0;
    let mut tell = |text: &mut String, causes: &[&Cause]| {
        for cause in causes {
            number += 1;
            *text += "\n";
            *text += &describe_cause(report, look, number, cause, limit == usize::MAX);
        }
    };
    tell(&mut text, &main[..some(main.len())]);
    if !accumulated.is_empty() {
        text += if main.is_empty() { "\n" } else { "\n  also inaccurate:\n" };
    }
    for spot in &accumulated[..some(accumulated.len())] {
        let _ = writeln!(text, "  {}", describe_accumulation(report, spot));
    }
    if !aside.is_empty() || !minor.is_empty() {
        text += "\n  of little consequence:\n";
    }
    tell(&mut text, &aside[..some(aside.len())]);
    for spot in &minor[..some(minor.len())] {
        let _ = writeln!(text, "  {}", describe_accumulation(report, spot));
    }
    if !idle.is_empty() {
        text += "\n  reaching no result:\n";
    }
    tell(&mut text, &idle[..some(idle.len())]);
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
         the history ended of {} that changed unseen and of {} that became bits; {} taken as computed; \
         {} that --real mpfr settles",
        counted(totals.operations, "operation", "operations"),
        counted(totals.blocks, "block", "blocks"),
        counted(totals.stale_shadows, "float", "floats"),
        count(totals.lost_shadows),
        counted(totals.misnamed_calls, "misnamed call was", "misnamed calls were"),
        counted(totals.undecided, "doubt about an error stayed", "doubts about errors stayed"),
    )
}

fn describe_cause(report: &Report, look: Look, number: usize, cause: &Cause, whole: bool) -> String {
    let shown = loops::shown(report, cause);
    let variables: Vec<&Variable> = shown.variables.iter().filter_map(|number| cause.variables.get(*number)).collect();
    let mut expression = shown.expression;
    if !whole {
        expression = cut(expression);
    }
    let its = report.sites.instruction(cause.location);
    let site = its.full();
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
    lines.extend(its.inlining().map(|inlining| format!("{INDENT}{inlining}")));
    let most = bits(cause.max_bits);
    lines.push(format!("{INDENT}{}", damage(report, cause).replacen(&most, &look.paint(Part::Bad, &most), 1)));
    lines.extend(stands_for(report, &variables, shown.letters));
    lines.extend(when(&variables, look));
    lines.push(format!("{INDENT}{}", worst(cause, &variables)));
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

/// `where x = j0(y)`: what the expression ends in, because FPCore has no such function, or because loops are not unrolled.
fn stands_for(report: &Report, variables: &[&Variable], letters: Vec<String>) -> Option<String> {
    let ends = variables.iter().filter_map(|v| Some(format!("{} = {}", v.name, cut(v.stands_for.clone()?))));
    let carried = variables.iter().filter_map(|variable| loops::carried(report, variable));
    let known: Vec<String> = letters.into_iter().chain(ends).chain(carried).collect();
    (!known.is_empty()).then(|| format!("{INDENT}where {}", listed(&known)))
}

/// `when x in [1.2e-4, 0.25] and y in [-8.7e-9, 8.7e-9]     (seen: x in [-1, 0.25], y in [-2, 2])`
fn when(variables: &[&Variable], look: Look) -> Vec<String> {
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
fn worst(cause: &Cause, variables: &[&Variable]) -> String {
    let mut inputs: Vec<String> = variables.iter().map(|v| format!("{} = {}", v.name, exact(v.worst))).collect();
    let hidden = cause.variables.len() - variables.len();
    if hidden > 0 {
        inputs.push(format!("and {} in report.json", counted(hidden as u64, "other input", "other inputs")));
    }
    let (computed, correct) = short_pair(cause.computed, cause.correct);
    let at = if inputs.is_empty() { String::new() } else { format!(" at {}", inputs.join(", ")) };
    match cause.kind {
        kind if kind.gives_nan() => format!("for example{at}: computed {computed}"),
        _ => format!("worst{at}: computed {computed}, correct {correct}"),
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
