//! Loops in the expressions of causes: one turn is shown, and what a loop carries is told, while the FPCore stays what can be evaluated.

mod common;

use common::report::{Report, analyse, number, text};

/// A program with one cause, built in two ways.
fn for_each_build(guest: &str, check: impl Fn(&Report, &str)) {
    for flags in [&["-O0"], &["-O2"]] {
        // The FPCore is evaluated there, and shows the error.
        let report = analyse(&format!("tests/guests/loops/{guest}"), flags);
        assert_eq!(report.causes().len(), 1, "{}: {}", report.of, report.outcome.stderr);
        // The terminal breaks lines.
        let said = report.outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        check(&report, &said);
    }
}

#[test]
fn sums_that_loops_carry_are_told_with_their_terms() {
    for_each_build("variance.c", |report, said| {
        let cause = report.only_cause("(- (/ x 1000) (* (/ y 1000) (/ y 1000)))");
        let [squares, sum] = [&cause["variables"][0]["carried"], &cause["variables"][1]["carried"]];
        assert_eq!((text(&squares["operator"]), text(&squares["term"])), ("add", "z*z"), "{said}");
        assert_eq!((text(&sum["operator"]), text(&sum["term"])), ("add", "z"), "{said}");
        assert_eq!((&squares["site"]["line"], &sum["site"]["line"]), (&12.into(), &11.into()));
        assert_eq!((number(&squares["executions"]), number(&sum["executions"])), (1000.0, 1000.0));
        let told = "x is a sum of z*z that a loop carries on (the addition at variance.c:12, executed 1,000 times)";
        assert!(said.contains(told), "{said}");
        let core = std::fs::read_to_string(report.folder.join("causes.fpcore")).expect("is written");
        assert!(core.starts_with(&format!("; {told}\n; y is a sum of z that")), "{core}");
    });
}

#[test]
fn horners_rule_is_shown_as_a_turn_of_its_loop() {
    for_each_build("horner.c", |report, said| {
        assert!(
            said.contains(" where S is what 4 or more turns before left (the addition at horner.c:12) when "),
            "{said}"
        );
        // The operands of the last addition come in either order.
        assert!(said.contains(" 1 S*(") || said.contains(" 1 x + S*("), "{said}");
        // For other programs it is unrolled.
        let fpcore = text(&report.causes()[0]["fpcore"]);
        assert_eq!(fpcore.matches("(+ ").count(), 9, "five turns and the argument in four of them: {fpcore}");
    });
}

#[test]
fn a_series_is_shown_as_its_last_term() {
    for_each_build("series.c", |report, said| {
        assert!(said.contains(" 1 S + T*c/r main (series.c:11) loses"), "{said}");
        let words = "where S is the sum of the 9 or more terms before (the addition at series.c:11) and \
                     T is what 4 or more turns before left (the division at series.c:10) when c in";
        assert!(said.contains(words), "{said}");
        assert!(said.contains(", and 19 other inputs in report.json: computed"), "{said}");
        assert_eq!(report.causes()[0]["variables"].as_array().map(Vec::len), Some(21));
        let page = std::fs::read_to_string(report.folder.join("report.html")).expect("is written");
        assert!(page.contains("<code>S + T*c/r</code>"), "the page's title");
        assert!(page.contains("In the title S is the sum of the 9 or more terms before"), "and what it means");
    });
}
