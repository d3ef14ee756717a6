//! Decisions that go the other way in the reals: which may change results, and which cannot or hardly. And that what repairs roundings is
//! no cause of anything.

mod common;

use common::BUILDS;
use common::report::{Report, analyse, analyse_command, text};
use serde_json::Value;

const FMA: &[&str] = &["-O3", "-march=x86-64-v3"];

fn for_each_build(source: &str, judge: impl Fn(&Report)) {
    for flags in &BUILDS[..2] {
        judge(&analyse(source, flags));
    }
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        judge(&analyse(source, FMA));
    }
}

/// What is said of the decisions of a function that go the other way.
fn effects<'a>(report: &'a Report, function: &str) -> Vec<&'a str> {
    let decisions = report.wrong_spots().into_iter().filter(|spot| spot["effect"] != Value::Null);
    decisions.filter(|spot| spot["site"]["function"] == function).map(|spot| text(&spot["effect"])).collect()
}

/// No cause, and nothing wrong but decisions on compensating terms, of which there are some.
fn assert_compensated(report: &Report) {
    assert!(report.causes().is_empty(), "{}: {}", report.of, report.outcome.stderr);
    let wrong = report.wrong_spots();
    assert!(!wrong.is_empty(), "{}: no term was looked at", report.of);
    for spot in wrong {
        assert_eq!(spot["effect"], "compensation", "{}: {spot:#}", report.of);
    }
    let said = &report.outcome.stderr;
    assert!(said.starts_with("fpgrind: nothing inaccurate found") && said.contains("compensating term"), "{said}");
}

#[test]
fn compensated_sums_that_look_at_their_terms_are_right() {
    for_each_build("tests/guests/compensation/sums.c", |report| {
        assert_compensated(report);
        for function in ["kahan", "neumaier", "klein"] {
            assert!(!effects(report, function).is_empty(), "{}: {function}", report.of);
        }
    });
}

#[test]
fn error_free_transformations_are_right() {
    for_each_build("tests/guests/compensation/transformations.c", assert_compensated);
}

#[test]
fn numbers_of_two_doubles_are_right() {
    for_each_build("tests/guests/compensation/double_double.c", assert_compensated);
}

#[test]
fn expansions_are_right() {
    for_each_build("tests/guests/compensation/expansion.c", assert_compensated);
}

#[test]
fn a_repair_is_no_cause_of_an_error_elsewhere() {
    for_each_build("tests/guests/compensation/beside.c", |report| {
        report.only_cause("(- (sqrt (+ x 1)) (sqrt x))");
    });
}

#[test]
fn what_ought_to_be_zero_and_is_not_is_no_repair() {
    for_each_build("tests/guests/compensation/residues.c", |report| {
        for function in ["is_root", "is_singular", "is_identity"] {
            assert_eq!(effects(report, function), ["results"], "{}: {function}", report.of);
        }
    });
}

#[test]
fn pythons_fsum_is_right() {
    let python = "/usr/bin/python3";
    if !std::path::Path::new(python).exists() {
        return common::note("there is no /usr/bin/python3: not tested");
    }
    let numbers = "import math; x = [(-1)**n * (n % 7 + 1) / n**(n % 4) for n in range(1, 1000)]; ";
    let run = |print: &str| analyse_command(&[python, "-I", "-S", "-c", &format!("{numbers}print({print})")], &[]);
    let (summed, plain) = (run("math.fsum(x)"), run("x[7]"));
    let alarms = |report: &Report| -> Vec<String> {
        let wrong =
            report.wrong_spots().into_iter().filter(|spot| [Value::Null, "results".into()].contains(&spot["effect"]));
        wrong.map(|spot| text(&spot["id"]).to_string()).collect()
    };
    let before = alarms(&plain);
    let new: Vec<String> = alarms(&summed).into_iter().filter(|id| !before.contains(id)).collect();
    assert!(new.is_empty(), "{new:?} in {}", summed.outcome.stderr);
    assert_eq!(summed.causes().len(), plain.causes().len(), "{}", summed.outcome.stderr);
    assert!(summed.wrong_spots().iter().any(|spot| spot["effect"] == "compensation"), "{}", summed.outcome.stderr);
}

#[test]
fn choices_between_equals_and_ends_of_iterations_are_told_from_decisions_that_change_results() {
    for_each_build("tests/guests/decisions/decisions.c", |report| {
        let said = |function: &str, effect: &str| {
            let effects = effects(report, function);
            assert!(effects.iter().all(|said| *said == effect), "{}: {function}: {effects:?}", report.of);
            !effects.is_empty()
        };
        // Where there are instructions for the greater and the lesser, nothing is decided.
        assert!(said("greatest", "nearly-equal") | said("least", "nearly-equal"), "{}", report.of);
        for function in ["ratio", "larger_part"] {
            assert!(said(function, "nearly-equal"), "{}: {function}", report.of);
        }
        for function in ["newton", "until_small", "bisection"] {
            assert!(said(function, "convergence"), "{}: {function}", report.of);
        }
        for function in ["up", "down", "inside", "is_singular"] {
            assert!(said(function, "results"), "{}: {function}", report.of);
        }
        // What may change results is said first, and only that is called inaccurate.
        let said = std::fs::read_to_string(report.folder.join("report.txt")).expect("report.txt is written");
        let (first, last) = said.split_once("of little consequence:").expect("some are of little consequence");
        let line = |function: &str| {
            let spot = report.wrong_spots().into_iter().find(|spot| spot["site"]["function"] == function);
            format!("decisions.c:{}", spot.expect("there is one")["site"]["line"])
        };
        for function in ["up", "down", "inside", "is_singular", "whole"] {
            assert!(first.contains(&line(function)), "{}: {function}: {said}", report.of);
        }
        for function in ["newton", "ratio"] {
            assert!(last.contains(&line(function)) && !first.contains(&line(function)), "{}: {said}", report.of);
        }
        assert!(first.contains("fpgrind: 5 inaccurate results"), "{}: {said}", report.of);
        let sarif = std::fs::read_to_string(report.folder.join("report.sarif")).expect("report.sarif is written");
        let sarif: Value = serde_json::from_str(&sarif).expect("SARIF is JSON");
        let levels = sarif["runs"][0]["results"]
            .as_array()
            .expect("results")
            .iter()
            .map(|result| (text(&result["ruleId"]) == "indifferent-decision", text(&result["level"])));
        for (is_indifferent, level) in levels.collect::<Vec<_>>() {
            assert!(!is_indifferent || level == "note", "{}", report.of);
        }
    });
}

#[test]
fn operations_that_reach_no_result_are_told_when_asked_for() {
    let program = common::build("tests/guests/decisions/idle.c", &["-O2"]);
    let silent = analyse_command(&[&program], &[]);
    silent.assert_clean();
    let report = analyse_command(&[&program], &["--all-causes"]);
    let cause = report.only_cause("(- (+ x 1) x)");
    assert_eq!(cause["reaches"], Value::Array(vec![]), "{cause:#}");
    let said = &report.outcome.stderr;
    assert!(said.contains("nothing inaccurate found, 1 operation that reaches no result"), "{said}");
    assert!(said.contains("reaches no result that was seen"), "{said}");
    for file in ["report.txt", "report.html", "report.sarif"] {
        let text = std::fs::read_to_string(report.folder.join(file)).expect("all files are written");
        assert!(text.contains("no result that was seen"), "{file}: {text}");
    }
    let sarif = std::fs::read_to_string(report.folder.join("report.sarif")).expect("report.sarif is written");
    assert!(sarif.contains("\"level\": \"note\"") && !sarif.contains("\"level\": \"error\""), "{sarif}");
}
