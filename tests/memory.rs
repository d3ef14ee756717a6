//! Shadows go where the bytes go that they belong to, and end when these are overwritten or freed, whoever does it.

mod common;

use common::report::{Report, analyse, analyse_command, number, text};
use serde_json::Value;

/// Whether each line that the program printed was found wrong, by its first word.
fn lines(report: &Report) -> Vec<(&str, bool)> {
    let mut outputs: Vec<_> = report.spots("output").collect();
    outputs.sort_by_key(|spot| spot["site"]["line"].as_u64());
    let printed: Vec<&str> = report.outcome.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(outputs.len(), printed.len(), "{}: {outputs:#?}", report.of);
    printed.into_iter().zip(outputs.iter().map(|spot| spot["wrong"] != 0)).collect()
}

const BUILDS: [&[&str]; 3] = [&["-O0"], &["-O1"], &["-O1", "-static"]];

#[test]
fn what_is_copied_or_moved_takes_its_errors_along() {
    for flags in BUILDS {
        let report = analyse("tests/guests/memory/follow.c", flags);
        for (way, wrong) in lines(&report) {
            assert!(wrong, "{}: {way} lost the shadow", report.of);
        }
        for spot in report.spots("output") {
            assert_eq!((number(&spot["computed"]), number(&spot["correct"])), (0.0, 1.0), "{}: {spot:#}", report.of);
        }
    }
}

#[test]
fn what_is_overwritten_or_freed_does_not_come_back() {
    for flags in BUILDS {
        let report = analyse("tests/guests/memory/renew.c", flags);
        let lines = lines(&report);
        assert_eq!(lines[0], ("wrong", true), "{}", report.of);
        for (way, wrong) in &lines[1..] {
            assert!(!wrong, "{}: {way} brought an old number back", report.of);
        }
    }
}

/// In the C library and in a static program, as elements of every size.
#[test]
fn what_is_sorted_takes_its_errors_along() {
    for flags in BUILDS {
        let report = analyse("tests/guests/memory/sorted.c", flags);
        let outputs: Vec<_> = report.spots("output").collect();
        assert_eq!(outputs.len(), 6, "{}: {outputs:#?}", report.of);
        for spot in outputs {
            assert!(spot["count"].as_u64() >= Some(40), "{}: {spot:#}", report.of);
            assert_eq!(spot["wrong"], spot["count"], "{}: {spot:#}", report.of);
        }
        // Comparisons see the numbers wherever they have got to meanwhile: each two of the same bits are not the same.
        let decided: u64 = report.spots("branch").map(|spot| spot["wrong"].as_u64().unwrap_or(0)).sum();
        assert!(decided > 1000, "{}: {decided}", report.of);
    }
}

#[test]
fn expressions_of_very_many_causes_keep_to_the_memory_that_they_may_take() {
    let program = common::build("tests/guests/memory/many_causes.c", &["-O1"]);
    let run = |memory| analyse_command(&[&program], &["--memory", memory]);
    let said = |report: &Report| report.outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let ample = run("2G");
    assert_eq!(ample.json["totals"]["short_expressions"], 0, "{}", ample.outcome.stderr);
    assert!(!said(&ample).contains("for want of memory"), "{}", ample.outcome.stderr);
    let short = run("64M");
    assert!(short.json["totals"]["short_expressions"].as_u64() >= Some(900), "{}", short.outcome.stderr);
    let note = "expressions lack examples or inner operations; --memory allows for more";
    assert!(said(&short).contains(note), "{}", short.outcome.stderr);
    // As much goes wrong, in as many executions; there is less to show for it.
    assert_eq!(short.outcome.stdout, ample.outcome.stdout);
    let total = |report: &Report, what: &str| report.causes().iter().map(|cause| number(&cause[what])).sum::<f64>();
    for what in ["erroneous", "executions"] {
        assert_eq!(total(&short, what), total(&ample, what), "{}", short.outcome.stderr);
    }
    let [worst, samples] = [
        |cause: &Value| number(&cause["max_bits"]),
        |cause: &Value| cause["samples"].as_array().map_or(0.0, |samples| samples.len() as f64),
    ]
    .map(|of| [&short, &ample].map(|report| report.causes().iter().map(of).fold(0.0, f64::max)));
    assert_eq!(worst[0], worst[1], "{}", short.outcome.stderr);
    assert!(samples[0] < samples[1], "{samples:?}");
    for cause in short.causes() {
        assert_eq!(cause["operator"], "sub", "{cause:#}");
        assert!(text(&cause["expression"]).contains('-'), "{cause:#}");
    }
}
