//! The causes as FPCore 2.0, for Herbie and its relatives: <https://fpbench.org/spec/fpcore-2.0.html>.

mod sharing;

use crate::Report;
use crate::loops;
use crate::names::{infix, names};
use crate::numbers::exact;
use crate::ranges::pieces;
use fpgrind_analysis::{Cause, CauseKind, Variable, is_in_fpcore, precision};

/// A longer line is broken.
const WIDTH: usize = 100;

pub fn render(report: &Report) -> String {
    let report = &*report.visible();
    let mut text = String::new();
    for cause in &report.findings.causes {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &entry(report, cause);
    }
    text
}

/// A cause's core, or a comment that says why there is none.
pub fn entry(report: &Report, cause: &Cause) -> String {
    let what = match cause.kind {
        CauseKind::Flushed => "flushes subnormal numbers to zero",
        CauseKind::Invalid | CauseKind::Domain => "gives NaN",
        _ if is_in_fpcore(cause.operator) => return core(report, cause),
        _ => "is a function that FPCore does not have",
    };
    let (expression, site) = (infix(cause), report.sites.instruction(cause.location).full());
    format!("; {} in {} {what}: there is nothing to rewrite\n", printable(&expression), printable(&site))
}

fn core(report: &Report, cause: &Cause) -> String {
    let names = names(cause);
    let site = report.sites.instruction(cause.location).full();
    let conditions: Vec<String> = cause.variables.iter().filter_map(condition).collect();
    let pre = match conditions.as_slice() {
        [] => String::new(),
        [condition] => format!(" :pre {condition}\n"),
        _ => {
            let line = format!(" :pre (and {})\n", conditions.join(" "));
            if line.len() <= WIDTH { line } else { format!(" :pre (and {})\n", conditions.join("\n           ")) }
        }
    };
    let ends = cause.variables.iter().filter_map(|variable| {
        let ended = printable(variable.stands_for.as_ref()?);
        Some(format!("; {} stands for {ended}, a function that FPCore does not have\n", variable.name))
    });
    let carried = cause.variables.iter().filter_map(|variable| loops::carried(report, variable));
    let ends: String = ends.chain(carried.map(|carried| format!("; {}\n", printable(&carried)))).collect();
    format!(
        "{ends}(FPCore ({})\n :name {}\n :precision {}\n{pre} :fpgrind-max-error {:.1}\n {})\n",
        names.join(" "),
        quoted(&site),
        precision(cause.ty),
        cause.max_bits,
        sharing::body(&cause.expr, &names, cause.ty),
    )
}

/// The values of a variable that hurt. Unlike the text's, the parts here are those observed, to the last bit of a double, and
/// zero stays apart: a tool that samples floats evenly would otherwise spend its samples on the numbers next to zero.
fn condition(variable: &Variable) -> Option<String> {
    let name = &variable.name;
    let parts: Vec<String> = pieces(&variable.erroneous)
        .into_iter()
        .map(|(low, high)| match low == high {
            true => format!("(== {name} {})", number(low)),
            false => format!("(<= {} {name} {})", number(low), number(high)),
        })
        .collect();
    match parts.as_slice() {
        [] => None,
        [part] => Some(part.clone()),
        _ => Some(format!("(or {})", parts.join(" "))),
    }
}

fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "INFINITY".to_string(),
        f64::NEG_INFINITY => "(- INFINITY)".to_string(),
        value if value.is_nan() => "NAN".to_string(),
        value => exact(value),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", printable(text).replace('\\', "\\\\").replace('"', "\\\""))
}

/// FPCore's strings are printable ASCII.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c == ' ' || c.is_ascii_graphic() { c } else { '?' }).collect()
}

#[cfg(test)]
#[path = "fpcore_tests.rs"]
mod tests;
