use super::*;
use crate::bench::{Candidate, prepare};
use serde_json::json;

const ROOTS: &str = "(FPCore (x) :name \"roots\" :pre (<= 1e4 x 1e12) (- (sqrt (+ x 1)) (sqrt x)))";
const ACCURATE: &str = "(FPCore (x) :name \"sum\" :pre (<= 1 x 2) (+ x 1))";
const CAUSE: &str = "(FPCore (v) :name \"core_0\" :pre (<= 1e4 v 1e12) (- (sqrt (+ v 1)) (sqrt v)))";

fn bench(core: &str) -> Bench {
    let core = parse(core).expect("readable").remove(0).expect("a core");
    prepare(&Candidate { file: "test.fpcore".into(), core }, 20).expect("inputs")
}

/// The true maximum of a benchmark's errors.
fn true_bits(bench: &Bench) -> f64 {
    let errors = bench.truths.iter().map(|truth| bits_of_error(truth.native, truth.correct, bench.result));
    errors.fold(0.0, f64::max)
}

/// A report that says this about the output, with the cause given as FPCore if there is one.
fn outcome(bench: &Bench, wrong: u64, bits: f64, cause: Option<&str>) -> Outcome {
    let site = json!({ "text": "", "function": "core_0", "file": "/batch.c", "line": 10 });
    let causes: Vec<_> = cause
        .iter()
        .map(|_| {
            json!({
                "site": site, "kind": "inaccurate", "expression": "e", "max_bits": bits, "reproduced_bits": bits,
                "variables": [{ "worst": 1e12 }],
            })
        })
        .collect();
    let spot = json!({
        "site": site, "kind": "output", "count": bench.inputs.len(), "wrong": wrong, "max_bits": bits, "computed": "NaN",
        "correct": 1.0, "accumulated_in": [], "causes": (0..causes.len()).collect::<Vec<_>>(),
    });
    let report = json!({ "causes": causes, "spots": [spot], "check_failures": [] });
    Outcome {
        printed: vec![bench.truths.iter().map(|truth| truth.native).collect()],
        lines: vec![10],
        functions: vec!["core_0".into()],
        source: "/batch.c".into(),
        report: serde_json::from_value(report).expect("a report"),
        causes: cause.unwrap_or_default().into(),
    }
}

fn misses(core: &str, wrong: u64, shift: f64, cause: Option<&str>) -> Vec<String> {
    let bench = bench(core);
    let bits = true_bits(&bench) + shift;
    judge(&bench, 0, Variant::O2, &outcome(&bench, wrong, bits, cause)).misses
}

#[test]
fn a_true_report_has_no_misses() {
    assert_eq!(misses(ROOTS, 20, 0.0, Some(CAUSE)), [""; 0]);
    assert_eq!(misses(ACCURATE, 0, 0.0, None), [""; 0]);
}

#[test]
fn silence_about_an_error_and_alarm_about_none_are_misses() {
    let silent = misses(ROOTS, 0, -40.0, None);
    assert!(silent.iter().any(|miss| miss.contains("bits are true")), "{silent:?}");
    let alarmed = misses(ACCURATE, 3, 20.0, None);
    assert!(alarmed.iter().any(|miss| miss.contains("bits are true")), "{alarmed:?}");
}

#[test]
fn a_maximum_more_than_half_a_bit_off_is_a_miss() {
    assert_eq!(misses(ROOTS, 20, 0.4, Some(CAUSE)), [""; 0]);
    assert_eq!(misses(ROOTS, 20, 0.6, Some(CAUSE)).len(), 1);
    assert_eq!(misses(ROOTS, 20, -0.6, Some(CAUSE)).len(), 1);
}

#[test]
fn a_cause_must_show_the_error_and_be_the_benchmarks() {
    let harmless = "(FPCore (v) :name \"c\" :pre (<= 1e4 v 1e12) (- (sqrt v) 7))";
    assert!(misses(ROOTS, 20, 0.0, Some(harmless))[0].contains("shows the error again"));
    let foreign = "(FPCore (v) :name \"c\" :pre (<= 1e4 v 1e12) (- (cbrt (+ v 1)) (cbrt v)))";
    assert!(misses(ROOTS, 20, 0.0, Some(foreign))[0].contains("no cause is a part"));
}

#[test]
fn an_operation_that_loses_digits_must_be_named() {
    let unnamed = misses(ROOTS, 20, 0.0, None);
    assert!(unnamed[0].contains("loses") && unnamed[1].contains("accumulates"), "{unnamed:?}");
}

#[test]
fn decisions_that_go_the_other_way_must_be_reported() {
    let decision = "(FPCore (x) :name \"d\" :pre (<= 1e15 x 1e16) (if (== (+ x 0.1) x) 1 2))";
    let bench = bench(decision);
    let verdict = judge(&bench, 0, Variant::O0, &outcome(&bench, 0, true_bits(&bench), None));
    assert!(verdict.true_wrong_decisions > 0 && !verdict.decisions_right(), "{verdict:?}");
}
