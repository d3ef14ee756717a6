//! Floats whose bits integer code computes with, and those whose bits it only looks at, changes or moves.

mod common;

use common::report::{Report, analyse, analyse_command, number};
use common::{BUILDS, build};
use serde_json::Value;

/// The one escape of a program, at this line.
fn only_escape(report: &Report, line: u64) -> &Value {
    let spots: Vec<&Value> = report.spots("escape").collect();
    let [spot] = spots[..] else { panic!("{}: {spots:#?}", report.of) };
    assert_eq!(spot["site"]["line"], line, "{}: {spot:#}", report.of);
    spot
}

#[test]
fn a_hash_of_wrong_numbers_is_wrong_because_of_what_made_them_so() {
    for flags in BUILDS {
        let report = analyse("tests/guests/escapes/hash.c", flags);
        let spot = only_escape(&report, 11);
        assert_eq!((&spot["count"], &spot["wrong"]), (&100.into(), &100.into()), "{}: {spot:#}", report.of);
        assert!(number(&spot["max_bits"]) > 50.0, "{}: {spot:#}", report.of);
        let [cause] = report.causes() else { panic!("{}: {}", report.of, report.outcome.stderr) };
        assert_eq!(spot["causes"], serde_json::json!([0]), "{}: {cause:#}", report.of);
        assert_eq!(cause["operator"], "sub", "{}: {cause:#}", report.of);
        let said = report.outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = "reaches a use of a float's bits as an integer at hash.c:11 (62.0 bits: those of 0, correct ";
        assert!(said.contains(expected), "{}: {said}", report.of);
    }
}

#[test]
fn a_hash_of_right_numbers_is_nothing_to_speak_of() {
    let program = build("tests/guests/escapes/hash.c", &["-O2"]);
    let report = analyse_command(&[program.as_os_str(), "right".as_ref()], &[]);
    report.assert_clean();
    assert_eq!(only_escape(&report, 11)["count"], 100);
    let said = report.outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("and 100 uses of floats' bits as integers"), "{said}");
}

#[test]
fn numbers_that_a_program_prints_by_itself_escape_where_it_takes_their_digits() {
    for flags in BUILDS {
        let report = analyse("tests/guests/escapes/digits.c", flags);
        let spot = only_escape(&report, 17);
        assert_eq!((&spot["count"], &spot["wrong"]), (&20.into(), &20.into()), "{}: {spot:#}", report.of);
        assert_eq!(spot["causes"], serde_json::json!([0]), "{}: {}", report.of, report.outcome.stderr);
        assert_eq!(report.causes()[0]["operator"], "sub", "{}: {}", report.of, report.outcome.stderr);
    }
}

#[test]
fn bits_that_are_compared_are_a_comparison_of_their_floats() {
    let report = analyse("tests/guests/escapes/order.c", &["-O2"]);
    let comparisons: Vec<&Value> = report.spots("comparison").filter(|spot| spot["site"]["line"] == 15).collect();
    let [spot] = comparisons[..] else { panic!("{comparisons:#?}") };
    assert_eq!((&spot["count"], &spot["wrong"]), (&2.into(), &1.into()), "{spot:#}");
    assert_eq!(report.spots("escape").count(), 0);
}

#[test]
fn what_is_done_to_floats_by_way_of_their_bits_is_no_escape() {
    for flags in BUILDS.iter().copied().chain([&["-O3", "-march=native"][..], &["-O2", "-mno-sse4.1", "-fno-inline"]]) {
        let report = analyse("tests/guests/escapes/innocent.c", flags);
        assert_eq!(report.spots("escape").count(), 0, "{}: {}", report.of, report.outcome.stderr);
        report.assert_clean();
    }
}
