use super::*;
use crate::fixtures::*;
use crate::schema;
use fpgrind_analysis::CauseKind;
use serde_json::{Value, json};

fn parsed(report: &Report) -> Value {
    serde_json::from_str(&render(report).expect("renders")).expect("is JSON")
}

#[test]
fn everything_in_the_findings_is_in_the_json() {
    let mut report = plotter();
    report.findings.spots[1].accumulated_in = vec![at(CSQRT)];
    report.findings.spots[1].accumulated = Some(accumulated(vec![contribution(CSQRT, 0.75)]));
    report.findings.spots[1].expr = Some(csqrt());
    report.findings.check_failures =
        vec![analysis::CheckFailure { location: at(MAIN), native: u128::MAX, predicted: 0 }];
    let value = parsed(&report);
    assert_eq!(value["version"], VERSION);
    assert_eq!(value["program"], "./plot");
    assert_eq!(value["args"], json!(["out.ppm"]));
    assert_eq!(value["totals"]["operations"], 61_204_118);
    assert_eq!((&value["totals"]["processes"], &value["totals"]["threads"]), (&json!(1), &json!(1)));
    let cause = &value["causes"][0];
    assert_eq!(
        cause["site"],
        json!({
            "text": "csqrt (plot.c:24)", "pc": "0x401136", "module": "/home/ada/plot", "address": "0x1136",
            "function": "csqrt", "function_offset": null, "file": "/home/ada/src/plot.c", "line": 24, "column": 9,
            "inlined_into": [], "inlines": []
        })
    );
    assert_eq!(cause["kind"], "inaccurate");
    assert_eq!(cause["operator"], "sub");
    assert_eq!(cause["precision"], "binary64");
    assert_eq!(cause["expression"], "sqrt(x*x + y*y) - x");
    assert_eq!(cause["fpcore"], "(- (sqrt (+ (* x x) (* y y))) x)");
    assert_eq!(
        cause["variables"][1]["erroneous"],
        json!({"negative": [-8.7e-9, -3.1e-12], "zero": true, "positive": [3.1e-12, 8.7e-9], "nan": false})
    );
    assert_eq!(cause["variables"][0]["erroneous"]["negative"], Value::Null);
    assert_eq!(cause["reaches"], json!([0, 1]));
    let output = &value["spots"][0];
    assert_eq!(
        (&output["kind"], &output["function"], &output["conversion"]),
        (&json!("output"), &json!("printf"), &json!("%f"))
    );
    assert_eq!(output["site"]["line"], 61);
    let branch = &value["spots"][1];
    assert_eq!((&branch["kind"], &branch["condition"], &branch["wrong"]), (&json!("branch"), &json!("a"), &json!(12)));
    assert_eq!(branch["accumulated_in"][0]["line"], 24);
    assert_eq!(branch["accumulated"]["explained"], 0.75);
    assert_eq!(branch["accumulated"]["contributions"][0]["operator"], "add");
    assert_eq!(branch["expression"], "sqrt(x*x + y*y) - x");
    assert_eq!(value["modules"][0]["bias"], "0x400000");
    assert_eq!(value["check_failures"][0]["native"], "0xffffffffffffffffffffffffffffffff");
}

#[test]
fn doubles_read_back_exactly_and_those_that_json_lacks_are_strings() {
    for value in [0.1, 5e-324, f64::MAX, 1.0f64.next_up(), -1.0 / 3.0, 9007199254740993.0] {
        let mut report = plotter();
        report.findings.causes[0].computed = value.into();
        let text = render(&report).unwrap();
        let line = text.lines().find(|line| line.contains("\"computed\"")).unwrap();
        let number = line.split(": ").nth(1).unwrap().trim_end_matches(',');
        assert_eq!(number.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{line}");
    }
    for (value, expected) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf")] {
        let mut report = plotter();
        report.findings.causes[0].correct = value.into();
        assert_eq!(parsed(&report)["causes"][0]["correct"], expected);
    }
}

#[test]
fn long_doubles_are_strings_unless_they_are_doubles() {
    let mut report = plotter();
    let third = analysis::Number::new(fpgrind_ir::Type::F80, 0x3ffd_aaaa_aaaa_aaaa_aaab);
    report.findings.causes[0].ty = fpgrind_ir::Type::F80;
    report.findings.causes[0].computed = third;
    report.findings.causes[0].correct = analysis::Number::from(0.25).to(fpgrind_ir::Type::F80);
    let value = parsed(&report);
    let cause = &value["causes"][0];
    assert_eq!((&cause["computed"], &cause["correct"]), (&json!("0.33333333333333333334"), &json!(0.25)));
    assert_eq!(cause["precision"], "binary80");
}

#[test]
fn an_unknown_place_is_null_and_not_invented() {
    let mut report = plotter();
    report.sites = Default::default();
    let site = &parsed(&report)["causes"][0]["site"];
    assert_eq!(site["text"], "0x401136");
    for field in ["module", "address", "function", "file", "line"] {
        assert_eq!(site[field], Value::Null, "{field}");
    }
}

#[test]
fn every_kind_of_spot_cause_and_number_is_as_the_schema_says() {
    let schema: Value = serde_json::from_str(include_str!("../../docs/report.schema.json")).expect("is JSON");
    let mut report = plotter();
    let third = analysis::Number::new(fpgrind_ir::Type::F80, 0x3ffd_aaaa_aaaa_aaaa_aaab);
    for (kind, number) in [(CauseKind::Invalid, f64::NAN.into()), (CauseKind::Flushed, third)] {
        report.findings.causes.push(analysis::Cause { kind, computed: number, ..cause() });
    }
    for kind in [SpotKind::Mask, SpotKind::ToInt, SpotKind::Escape] {
        let expr = Some(csqrt());
        let accumulated_in = vec![at(CSQRT), analysis::Location::outside_files(0x7000)];
        let accumulated = Some(accumulated(vec![contribution(CSQRT, 1.0), contribution(0x7000, f64::NAN)]));
        report.findings.spots.push(analysis::Spot { kind, expr, accumulated, accumulated_in, ..branch(MAIN, 1, 1) });
    }
    report.findings.causes[1].max_bits = f64::INFINITY;
    report.findings.check_failures =
        vec![analysis::CheckFailure { location: at(MAIN), native: u128::MAX, predicted: 0 }];
    for report in [report, Report::default(), without_causes(vec![printed(1, 2, 1, 3.0)])] {
        assert_eq!(schema::violations(&schema, &parsed(&report)), Vec::<String>::new());
    }
}
