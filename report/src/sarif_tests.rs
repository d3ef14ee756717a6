use super::*;
use crate::fixtures::*;
use crate::schema;

fn parsed(report: &Report) -> Value {
    let value = serde_json::from_str(&render(report).expect("renders")).expect("is JSON");
    let required = serde_json::from_str(include_str!("../../tests/sarif.schema.json")).expect("is JSON");
    assert_eq!(schema::violations(&required, &value), Vec::<String>::new());
    value
}

#[test]
fn a_cause_is_a_result_at_its_line_with_its_way_to_what_it_reaches() {
    let value = parsed(&plotter());
    let run = &value["runs"][0];
    let [result] = run["results"].as_array().unwrap().as_slice() else { panic!("{run:#}") };
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("lost-digits"), &json!("error")));
    assert_eq!(run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().unwrap() as usize]["id"], result["ruleId"]);
    assert_eq!(result["partialFingerprints"][FINGERPRINT], json!(ids::causes(&plotter())[0]));
    let at = &result["locations"][0]["physicalLocation"];
    assert_eq!(at["artifactLocation"], json!({"uri": "src/plot.c", "uriBaseId": "SRCROOT"}));
    assert_eq!(at["region"], json!({"startLine": 24, "startColumn": 9}));
    assert_eq!(run["originalUriBaseIds"]["SRCROOT"]["uri"], "file:///home/ada/");
    let flows = result["codeFlows"].as_array().unwrap();
    assert_eq!(flows.len(), 2);
    let steps = &flows[0]["threadFlows"][0]["locations"];
    assert_eq!(steps[0]["location"]["physicalLocation"]["region"]["startLine"], 24);
    assert_eq!(steps[1]["location"]["physicalLocation"]["region"]["startLine"], 61);
    let message = result["message"]["text"].as_str().unwrap();
    assert!(message.starts_with("sqrt(x*x + y*y) - x loses up to 53.0 bits"), "{message}");
}

#[test]
fn levels_follow_the_damage() {
    let mut report = plotter();
    let level = |report: &Report| parsed(report)["runs"][0]["results"][0]["level"].clone();
    report.findings.spots[0].max_bits = 26.4;
    assert_eq!(level(&report), "warning");
    report.findings.spots[0].correct = f64::NAN.into();
    assert_eq!(level(&report), "error");
    for spot in &mut report.findings.spots {
        spot.wrong = 0;
    }
    assert_eq!(level(&report), "note");
}

#[test]
fn a_wrong_result_without_a_cause_is_a_result_of_its_own() {
    let value = parsed(&without_causes(vec![printed(0x1000 + 12, 1, 1, 20.1), printed(0x1000 + 13, 1, 0, 0.0)]));
    let results = value["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!((&results[0]["ruleId"], &results[0]["level"]), (&json!("accumulated-error"), &json!("warning")));
    assert_eq!(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"], 12);
}

#[test]
fn a_decision_of_little_consequence_is_a_note_of_its_own_rule() {
    let mut report = without_causes(vec![branch(0x1000 + 12, 40, 3)]);
    let result = |report: &Report| parsed(report)["runs"][0]["results"][0].clone();
    assert_eq!(
        (&result(&report)["ruleId"], &result(&report)["level"]),
        (&json!("accumulated-error"), &json!("warning"))
    );
    report.findings.spots[0].effect = Some(fpgrind_analysis::Effect::Convergence);
    let result = result(&report);
    assert_eq!((&result["ruleId"], &result["level"]), (&json!("indifferent-decision"), &json!("note")));
    // Nor is a cause that reaches nothing else more than that.
    let mut report = plotter();
    report.findings.causes[0].reaches = vec![1];
    report.findings.spots[1].effect = Some(fpgrind_analysis::Effect::NearlyEqual);
    assert_eq!(parsed(&report)["runs"][0]["results"][0]["level"], "note");
}

#[test]
fn places_outside_the_directory_are_absolute_and_unknown_ones_have_no_file() {
    let mut report = plotter();
    let uri = |report: &Report| {
        parsed(report)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"].clone()
    };
    report.sites.instructions.get_mut(&at(CSQRT)).unwrap().file = Some("/opt/a b/./x/../ü.c".into());
    assert_eq!(uri(&report), json!({"uri": "file:///opt/a%20b/%C3%BC.c"}));
    report.sites.instructions.get_mut(&at(CSQRT)).unwrap().file = Some("src/./plot.c".into());
    assert_eq!(uri(&report), json!({"uri": "src/plot.c"}));
    report.sites.instructions.get_mut(&at(CSQRT)).unwrap().file = None;
    assert_eq!(uri(&report), json!({"uri": "plot", "uriBaseId": "SRCROOT"}));
    report.sites = Default::default();
    assert_eq!(uri(&report), Value::Null);
    report.run.directory = None;
    parsed(&report);
    parsed(&Report::default());
}

#[test]
fn where_an_operation_is_inlined_is_told_beside_its_place() {
    let mut report = plotter();
    assert_eq!(parsed(&report)["runs"][0]["results"][0]["relatedLocations"], Value::Null);
    report.sites.instructions.get_mut(&at(CSQRT)).unwrap().inlined_into = frames();
    let value = parsed(&report);
    let related = &value["runs"][0]["results"][0]["relatedLocations"];
    assert_eq!(related.as_array().unwrap().len(), 2);
    assert_eq!(related[0]["physicalLocation"]["region"], json!({"startLine": 31, "startColumn": 12}));
    assert_eq!(related[0]["physicalLocation"]["artifactLocation"]["uri"], "src/plot.c");
    assert_eq!(related[1]["message"]["text"], "inlined into main at plot.c:50");
    assert_eq!(related[1]["logicalLocations"][0]["fullyQualifiedName"], "main");
}
