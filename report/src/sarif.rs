//! report.sarif: the causes for code scanning, as SARIF 2.1.0 (OASIS Standard, 27 March 2020).
//!
//! A cause is a result at its source line, with the way to the places that it reaches as code flows. A wrong output without a
//! single cause is a result at the output. What fpgrind calls an id is the fingerprint by which a result is known again.

use crate::{Frame, Report, Site, ids, names, words};
use fpgrind_analysis::{Cause, CauseKind, Spot, SpotKind};
use fpgrind_ir::Type;
use serde_json::{Value, json};
use std::io;
use std::path::{Component, Path, PathBuf};

/// What relative locations are relative to: the directory in which the program was started.
const BASE: &str = "SRCROOT";
const FINGERPRINT: &str = "fpgrindId/v1";

struct Rule {
    id: &'static str,
    short: &'static str,
    full: &'static str,
    help: &'static str,
}

const RULES: [Rule; 5] = [
    Rule {
        id: "lost-digits",
        short: "An operation loses digits of results",
        full: "The operation yields far fewer right digits than its format has, and a result of the program shows it.",
        help: "Rewrite the expression so that nothing cancels; causes.fpcore has it in the form that Herbie takes.",
    },
    Rule {
        id: "nan",
        short: "An operation makes NaN of numbers",
        full: "The operation has no result for these arguments, such as 0/0, and a result of the program shows it.",
        help: "Treat the arguments for which the operation has no result apart.",
    },
    Rule {
        id: "flushed-subnormal",
        short: "A subnormal number is flushed to zero",
        full: "The processor was told to replace subnormal numbers by zero, and a result of the program shows it.",
        help: "Compile without -ffast-math, or scale the numbers.",
    },
    Rule {
        id: "accumulated-error",
        short: "Rounding errors accumulate in a result",
        full: "The result is wrong, and no single operation is to blame.",
        help: "Sum with compensation, or in a wider format.",
    },
    Rule {
        id: "indifferent-decision",
        short: "A decision goes the other way in the reals, of little consequence",
        full: "The decision is between nearly equal values, ends an iteration that has come to rest, or tests a compensating term.",
        help: "Nothing needs to be done unless the program must take the very same decisions everywhere.",
    },
];

pub fn render(report: &Report) -> io::Result<String> {
    let findings = &report.findings;
    let causes = findings.causes.iter().zip(ids::causes(report)).enumerate().map(|(i, (cause, id))| {
        let mut result = of_cause(report, cause, &id);
        if let Some(Some(entry)) = report.suppressed.get(i) {
            result["suppressions"] = json!([{"kind": "external", "justification": entry}]);
        }
        result
    });
    let results = findings.spots.iter().zip(ids::spots(report));
    let results = results
        .filter(|(spot, _)| spot.wrong > 0 && spot.causes.is_empty())
        .map(|(spot, id)| of_accumulation(report, spot, &id));
    let rules = RULES.iter().map(|rule| {
        json!({
            "id": rule.id,
            "shortDescription": {"text": rule.short},
            "fullDescription": {"text": rule.full},
            "help": {"text": rule.help},
            "defaultConfiguration": {"level": "warning"},
        })
    });
    let mut run = json!({
        "tool": {"driver": {
            "name": "fpgrind",
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": rules.collect::<Vec<_>>(),
        }},
        "invocations": [{
            "executionSuccessful": findings.check_failures.is_empty(),
            "arguments": std::iter::once(&report.run.program).chain(&report.run.args).collect::<Vec<_>>(),
        }],
        "results": causes.chain(results).collect::<Vec<_>>(),
    });
    if let Some(directory) = &report.run.directory {
        let base = json!({"uri": format!("{}/", file_uri(directory).trim_end_matches('/'))});
        run["invocations"][0]["workingDirectory"] = base.clone();
        run["originalUriBaseIds"] = json!({BASE: base});
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

fn of_cause(report: &Report, cause: &Cause, id: &str) -> Value {
    let rule = match cause.kind {
        CauseKind::Inaccurate | CauseKind::Overflow | CauseKind::Underflow | CauseKind::DivisionByZero => 0,
        CauseKind::Invalid | CauseKind::Domain => 1,
        CauseKind::Flushed => 2,
    };
    let mut message = format!("{} {}", names::infix(cause), words::damage(report, cause));
    if let Some(reached) = words::reached(report, cause) {
        message += &format!("; it reaches {reached}");
    }
    let spots: Vec<&Spot> = cause.reaches.iter().filter_map(|spot| report.findings.spots.get(*spot)).collect();
    let from = location(report, &report.sites.instruction(cause.location), None);
    let flows: Vec<Value> = spots
        .iter()
        .map(|spot| {
            let arrives = format!("{} ({})", words::spot_noun(spot, "a "), words::extent(spot));
            let to = location(report, &report.sites.spot(spot), Some(&arrives));
            let steps = [location(report, &report.sites.instruction(cause.location), Some("the error arises")), to];
            json!({"threadFlows": [{"locations": steps.map(|step| json!({"location": step}))}]})
        })
        .collect();
    let mut result = result(rule, level(&spots), &message, from, id);
    let callers: Vec<Value> = report
        .sites
        .instruction(cause.location)
        .inlined_into
        .iter()
        .map(|frame| {
            let Frame { function, file, line, column } = frame.clone();
            let site = Site { function, file, line, column, ..Site::default() };
            location(report, &site, Some(&format!("inlined into {}", frame.short())))
        })
        .collect();
    if !callers.is_empty() {
        result["relatedLocations"] = callers.into();
    }
    if !flows.is_empty() {
        result["codeFlows"] = flows.into();
    }
    result
}

fn of_accumulation(report: &Report, spot: &Spot, id: &str) -> Value {
    let at = location(report, &report.sites.spot(spot), None);
    let rule = if spot.matters() { 3 } else { 4 };
    result(rule, level(&[spot]), &words::describe_accumulation(report, spot), at, id)
}

fn result(rule: usize, level: &str, message: &str, location: Value, id: &str) -> Value {
    json!({
        "ruleId": RULES[rule].id,
        "ruleIndex": rule,
        "level": level,
        "message": {"text": message},
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: id},
    })
}

/// By the damage to what the user sees: an error if an output loses half of its digits or is NaN, a note if nothing is
/// wrong that could be seen.
fn level(reached: &[&Spot]) -> &'static str {
    let is_severe = |spot: &&Spot| {
        let is_nan = spot.computed.is_nan() || spot.correct.is_nan();
        let digits = match spot.computed.ty {
            Type::F16 => 11.0,
            Type::Bf16 => 8.0,
            Type::F32 => 24.0,
            Type::F80 => 64.0,
            Type::F128 => 113.0,
            _ => 53.0,
        };
        matches!(spot.kind, SpotKind::Output { .. }) && spot.wrong > 0 && (is_nan || spot.max_bits >= digits / 2.0)
    };
    match reached.iter().any(is_severe) {
        true => "error",
        false if reached.iter().any(|spot| spot.wrong > 0 && spot.matters()) => "warning",
        false => "note",
    }
}

fn location(report: &Report, site: &Site, message: Option<&str>) -> Value {
    let mut location = json!({});
    if let Some(file) = site.file.as_ref().or(site.module.as_ref()) {
        location["physicalLocation"] = json!({"artifactLocation": artifact(report, file)});
    }
    if let (Some(_), Some(line)) = (&site.file, site.line) {
        let mut region = json!({"startLine": line});
        if let Some(column) = site.column {
            region["startColumn"] = column.into();
        }
        location["physicalLocation"]["region"] = region;
    }
    location["logicalLocations"] = match &site.function {
        Some(function) => json!([{"fullyQualifiedName": function, "kind": "function"}]),
        None => json!([{"fullyQualifiedName": site.full()}]),
    };
    if let Some(message) = message {
        location["message"] = json!({"text": message});
    }
    location
}

fn artifact(report: &Report, file: &Path) -> Value {
    let file = normalised(file);
    let below = report.run.directory.as_ref().and_then(|directory| file.strip_prefix(directory).ok());
    match below {
        Some(below) => json!({"uri": escaped(below), "uriBaseId": BASE}),
        None if file.is_absolute() => json!({"uri": file_uri(&file)}),
        None => json!({"uri": escaped(&file)}),
    }
}

/// Without `.` and, where that can be told without looking, `..`: compilers record paths as they were given.
fn normalised(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(result.components().next_back(), Some(Component::Normal(_))) => {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
}

fn file_uri(path: &Path) -> String {
    format!("file://{}", escaped(path))
}

/// A path in a URI (RFC 3986): what is neither unreserved nor a slash is escaped.
fn escaped(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let escape = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(*byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    path.as_os_str().as_bytes().iter().map(escape).collect()
}

#[cfg(test)]
#[path = "sarif_tests.rs"]
mod tests;
