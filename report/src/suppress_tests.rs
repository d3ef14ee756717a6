use super::*;
use crate::fixtures::*;
use crate::{Format, render, summary};

fn suppressed(entries: &str) -> Report {
    let mut report = plotter();
    Suppressions::parse("known.txt", entries).expect("valid").apply(&mut report);
    report
}

#[test]
fn a_cause_is_suppressed_where_all_fields_of_an_entry_fit() {
    let id = ids::causes(&plotter()).remove(0);
    for fits in [
        "function:csqrt",
        "function:c*t file:plot.c line:24",
        "line:20-30 module:plot # why",
        "file:src/*.c",
        "file:/home/ada/src/plot.c",
        "  function:\"csqrt\"\t",
        "id:????????????????",
        &format!("# first\n\nid:{id}"),
    ] {
        assert!(suppressed(fits).is_suppressed(0), "{fits}");
    }
    for other in
        ["function:sqrt", "function:csqrt line:25", "file:lot.c", "file:rc/plot.c", "module:*.so", "id:0", "# x"]
    {
        assert!(!suppressed(other).is_suppressed(0), "{other}");
    }
}

#[test]
fn functions_fit_with_and_without_their_parameters() {
    let mut report = plotter();
    report.sites.instructions.get_mut(&at(CSQRT)).unwrap().function = Some("ns::f<int>(double, char const*)".into());
    for entry in ["function:ns::f<int>", "function:\"ns::f<int>(double, *\"", "function:*::f*"] {
        Suppressions::parse("s", entry).unwrap().apply(&mut report);
        assert!(report.is_suppressed(0), "{entry}");
    }
}

#[test]
fn a_bad_line_is_named_with_what_is_wrong_with_it() {
    for (line, problem) in [
        ("csqrt", "FIELD:PATTERN"),
        ("func:csqrt", "no field \"func\""),
        ("function:", "no pattern"),
        ("function:\"csqrt", "quote"),
        ("line:many", "no line"),
        ("line:1-2-3", "no line"),
    ] {
        let error = Suppressions::parse("known.txt", &format!("# fine\n{line}\n")).err().expect(line);
        assert!(error.starts_with("known.txt:2: ") && error.contains(problem) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn patterns_fit_as_in_a_shell() {
    for (pattern, text, fits) in [
        ("", "", true),
        ("*", "", true),
        ("a*b*c", "aXbXbc", true),
        ("a*b", "ac", false),
        ("?", "", false),
        ("?é", "xé", true),
        ("**", "x", true),
        ("a", "ab", false),
    ] {
        assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
    }
    // Backtracks over the last star only.
    assert!(!glob(&"*a".repeat(50), &"a".repeat(40)) && !glob(&("*a".repeat(50) + "b"), &"a".repeat(5000)));
}

#[test]
fn what_is_suppressed_is_counted_and_not_told() {
    let report = suppressed("function:csqrt\nfunction:nowhere");
    let text = summary(&report, crate::Look::PLAIN, false);
    assert!(text.starts_with("fpgrind: nothing inaccurate found, 1 root cause suppressed   ("), "{text}");
    assert!(!text.contains("csqrt") && text.contains("note: known.txt:2 suppresses nothing"), "{text}");
    assert_eq!(render(&report, Format::Fpcore).unwrap(), "");
    let json = render(&report, Format::Json).unwrap();
    assert!(json.contains("\"suppressed\": 1") && json.contains("\"suppressed_by\": \"known.txt:1\""), "{json}");
    let sarif: serde_json::Value = serde_json::from_str(&render(&report, Format::Sarif).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["suppressions"][0]["justification"], "known.txt:1");
    assert!(json.contains("\"known.txt:2\""), "{json}");
    let again = crate::json::read(&json).unwrap();
    assert_eq!(render(&again, Format::Text).unwrap(), render(&report, Format::Text).unwrap());
}

#[test]
fn what_has_another_cause_too_is_still_told() {
    let mut report = plotter();
    let mut other = cause();
    other.location = at(CSQRT + 8);
    other.reaches = vec![1];
    report.sites.instructions.insert(other.location, site(other.location, "other", "plot.c", 25));
    report.findings.causes.push(other);
    report.findings.spots[1].causes = vec![0, 1];
    Suppressions::parse("s", "function:csqrt").unwrap().apply(&mut report);
    let visible = report.visible();
    assert_eq!((visible.findings.causes.len(), visible.findings.spots.len()), (1, 1));
    assert_eq!((&visible.findings.causes[0].reaches[..], &visible.findings.spots[0].causes[..]), (&[0][..], &[0][..]));
    assert!(report.is_excused(&report.findings.spots[0]) && !report.is_excused(&report.findings.spots[1]));
}

#[test]
fn entries_made_for_a_report_suppress_all_of_it() {
    let entries = entries_for(&plotter());
    assert!(entries.starts_with("# sqrt(x*x + y*y) - x in csqrt (plot.c:24)\nid:"), "{entries}");
    let report = suppressed(&entries);
    assert!(report.is_suppressed(0) && report.unused_suppressions.is_empty());
    assert_eq!(entries_for(&report), "");
}
