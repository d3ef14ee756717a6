//! Shadows go where the bytes go that they belong to, and end when these are overwritten or freed, whoever does it.

mod common;

use common::report::{Report, analyse, number};

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
