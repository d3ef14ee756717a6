use super::*;
use crate::fixtures::*;
use crate::{Frame, Report, render as render_as};
use fpgrind_analysis::Cause;

#[test]
fn a_cause_is_told_as_in_the_text_with_its_picture_and_its_core() {
    let html = render(&plotter());
    for expected in [
        "<h1>1 root cause behind 2 inaccurate results</h1>",
        "<code>./plot out.ppm</code>",
        "alttext=\"sqrt(x*x + y*y) - x\"",
        "csqrt (plot.c:24)",
        "Loses up to 53.0 bits, 31.4 on average, in 4,096 of 65,536 executions",
        "<td>[1.2e-4, 0.25]</td><td>[-1, 0.25]</td><td class=\"number\">0.2499</td>",
        "<dd class=\"computed\">0</dd><dt>correct</dt><dd class=\"correct\">1.9226e-23</dd>",
        "<strong>printf %f at plot.c:61</strong><span class=\"badge n5\">62.0 bits</span><span>prints 1, correct 2</span>",
        "<strong>a branch at plot.c:40</strong>",
        "(- (sqrt (+ (* x x) (* y y))) x))\n</code>",
        "Error over y, logarithmic",
        "<svg class=\"tree\"",
    ] {
        assert!(html.contains(expected), "{expected} is missing in {html}");
    }
}

#[test]
fn nothing_is_loaded_and_nothing_from_the_program_is_markup() {
    let evil = "</title></style></script><script>alert(1)</script><img src=x onerror=alert(2)>\" onclick='a'&";
    let mut report = plotter();
    report.run.program = evil.into();
    report.run.args = vec![evil.into()];
    report.run.notes = vec![evil.into()];
    report.findings.causes[0].variables[0].stands_for = Some(evil.into());
    report.findings.causes.push(Cause { location: at(MAIN), ..cause() });
    for site in report.sites.instructions.values_mut().chain(report.sites.returns.values_mut()) {
        site.function = Some(evil.into());
        site.file = Some(format!("/tmp/{evil}").into());
        site.module = Some(evil.into());
        site.inlined_into = vec![Frame { function: site.function.clone(), ..Frame::default() }];
    }
    report.findings.spots[0].kind = SpotKind::Output { function: evil.into(), argument: 0, conversion: evil.into() };
    let html = render(&report);
    assert_eq!(html.matches("<script").count(), 1, "{html}");
    assert_eq!((html.matches("<img").count(), html.matches("<style").count()), (0, 1), "{html}");
    assert!(html.contains("&lt;script&gt;alert(1)"), "{html}");
    // What every attribute ends with that should end: none is closed by the text in it.
    assert!(!html.contains("\" onclick='a'"), "{html}");
    for from_elsewhere in ["src=", "@import", "url(", "<link", "http://", "https://"] {
        let ours = html.replace("src=x onerror", "");
        assert!(!ours.contains(from_elsewhere), "{from_elsewhere}");
    }
}

#[test]
fn a_clean_run_says_what_was_looked_at() {
    let html = render(&without_causes(vec![printed(0x1005, 1_200, 0, 0.9)]));
    assert!(html.contains("<h1>Nothing inaccurate found</h1>"), "{html}");
    assert!(html.contains("Looked at 1,200 numbers printed, 0 decisions"), "{html}");
    assert!(!html.contains("id=\"causes\"") && !html.contains("<form"), "{html}");
    assert!(render(&Report::default()).contains("did no floating-point arithmetic"));
}

#[test]
fn suppressed_causes_are_counted_and_the_others_keep_their_ids() {
    let mut report = plotter();
    report.findings.causes = vec![Cause { location: at(MAIN + 0x40), ..cause() }, cause()];
    report.findings.spots.iter_mut().for_each(|spot| spot.causes = vec![0, 1]);
    report.suppressed = vec![Some("s:1".into()), None];
    let html = render(&report);
    assert!(html.contains("<h1>1 root cause behind 2 inaccurate results, 1 root cause suppressed</h1>"), "{html}");
    let id = &ids::causes(&report)[1];
    assert!(html.contains(&format!("id=\"cause-{id}\"")), "{html}");
    assert_eq!(html.matches("<li class=\"cause\"").count(), 1, "{html}");
}

#[test]
fn a_result_without_a_cause_is_listed_with_what_is_known() {
    let mut spot = printed(0x1000 + 12, 1, 1, 20.1);
    spot.accumulated_in = vec![at(0x1000 + 10)];
    let html = render(&without_causes(vec![spot]));
    assert!(html.contains("no single operation: rounding errors accumulate at sum.c:10"), "{html}");
}

#[test]
fn decisions_of_little_consequence_stand_last_among_the_results_with_the_reason() {
    let mut decision = branch(0x1000 + 8, 40, 3);
    decision.effect = Some(fpgrind_analysis::Effect::Compensation);
    let html = render(&without_causes(vec![decision, printed(0x1000 + 12, 1, 1, 20.1)]));
    let (decided, printed) = (html.find("it tests a compensating term"), html.find("no single operation: "));
    assert!(printed.is_some() && decided > printed, "{html}");
    assert!(
        html.contains("<h1>1 inaccurate result, no single operation to blame, 1 decision of little consequence</h1>")
    );
}

#[test]
fn a_report_of_an_earlier_version_has_no_pictures_and_is_shown() {
    let mut report = plotter();
    report.findings.causes[0].samples.clear();
    report.findings.causes[0].steps.clear();
    report.findings.causes[0].reaches.push(99);
    let html = render_as(&report, crate::Format::Html).expect("renders");
    assert!(html.contains("Loses up to 53.0 bits") && !html.contains("<svg"), "{html}");
}
