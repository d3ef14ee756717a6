use super::*;
use crate::fixtures::*;
use fpgrind_analysis::CauseKind;
use fpgrind_analysis::{CheckFailure, Effect, Expr, SpotKind};
use fpgrind_ir::Operator;

/// On one line what would be broken.
const WIDE: Look = Look { width: usize::MAX, colour: false };

fn summary(report: &Report) -> String {
    super::summary(report, WIDE, false)
}

#[test]
fn the_plotter_is_reported_as_the_design_shows_it() {
    assert_eq!(
        summary(&plotter()),
        "\
fpgrind: 1 root cause behind 2 inaccurate results   (4.1 s, 61,204,118 operations)

  1  sqrt(x*x + y*y) - x                                   csqrt (plot.c:24)
     loses up to 53.0 bits, 31.4 on average, in 4,096 of 65,536 executions
     when x in [1.2e-4, 0.25] and y in [-8.7e-9, 8.7e-9]     (seen: x in [-1, 0.25], y in [-2, 2])
     worst at x = 0.2499, y = 3.1e-12: computed 0, correct 1.9226e-23
     reaches printf %f at plot.c:61 (62.0 bits: prints 1, correct 2) and a branch at plot.c:40 (12 of 65,536 go the other way)

details: fpgrind-plot.4711/report.html    for Herbie: fpgrind-plot.4711/causes.fpcore
"
    );
}

#[test]
fn an_inlined_operation_is_told_with_where_it_is_inlined() {
    let mut report = plotter();
    report.sites.instructions.get_mut(&at(CSQRT)).unwrap().inlined_into = frames();
    let text = summary(&report);
    let expected = "csqrt (plot.c:24)\n     inlined into root at plot.c:31, into main at plot.c:50\n     loses up to";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_narrow_terminal_gets_short_lines_with_all_that_a_wide_one_gets() {
    let mut report = plotter();
    report.run.notes = vec!["2 child processes ran natively, unanalysed, and that is all that is known of them".into()];
    let words = |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_string).collect() };
    let narrow = super::summary(&report, Look { width: 60, colour: false }, false);
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    assert_eq!(words(&narrow), words(&summary(&report).replace("csqrt (plot", "in csqrt (plot")));
    assert!(narrow.contains("\ndetails: fpgrind-plot.4711/report.html\nfor Herbie: fpgrind"), "{narrow}");
    let usual = super::summary(&report, Look { width: 80, colour: false }, false);
    assert!(usual.lines().all(|line| line.chars().count() <= 80), "{usual}");
    assert!(usual.contains("- x                                   csqrt (plot.c:24)\n"), "{usual}");
    assert!(usual.contains("(62.0 bits: prints 1, correct 2) and a\n       branch at"), "{usual}");
}

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = super::summary(&plotter(), Look { width: 80, colour: true }, false);
    let mut plain = String::new();
    for (i, part) in coloured.split('\x1b').enumerate() {
        plain += if i == 0 { part } else { part.split_once('m').expect("ends").1 };
    }
    assert_eq!(plain, super::summary(&plotter(), Look { width: 80, colour: false }, false));
    assert!(coloured.starts_with("fpgrind: \x1b[1;31m1 root cause behind"), "{coloured}");
    assert!(coloured.contains("loses up to \x1b[1;31m53.0 bits\x1b[0m, 31.4"), "{coloured}");
    let clean = super::summary(&without_causes(vec![]), Look { width: 80, colour: true }, false);
    assert!(clean.starts_with("fpgrind: \x1b[1;32mnothing inaccurate found\x1b[0m "), "{clean}");
}

#[test]
fn a_verbose_summary_has_all_causes_and_what_was_done() {
    let mut report = plotter();
    report.findings.causes = vec![cause(); 23];
    report.findings.totals.stale_shadows = 1;
    let text = super::summary(&report, WIDE, true);
    assert!(text.contains(" 23  sqrt") && !text.contains("more in report.txt"), "{text}");
    assert!(text.contains("analysed 61,204,118 operations in 1,000,000 blocks of code, and 2 places"), "{text}");
    assert!(text.contains("the history ended of 1 float that changed unseen and of 0 that"), "{text}");
}

#[test]
fn the_full_text_says_what_was_run() {
    let text = full(&plotter());
    assert!(text.starts_with("./plot out.ppm\n\nfpgrind: 1 root cause"), "{text}");
}

#[test]
fn processes_and_threads_are_counted_where_there_are_more_than_one() {
    let mut report = plotter();
    for (processes, threads, expected) in [
        (1, 8, "61,204,118 operations, 8 threads)\n"),
        (3, 3, "61,204,118 operations, 3 processes)\n"),
        (3, 1_008, "61,204,118 operations, 3 processes, 1,008 threads)\n"),
    ] {
        (report.findings.totals.processes, report.findings.totals.threads) = (processes, threads);
        let text = summary(&report);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn flushing_has_a_sentence_of_its_own() {
    let mut report = plotter();
    report.findings.causes[0].kind = CauseKind::Flushed;
    let text = summary(&report);
    assert!(text.contains("     flushes subnormal numbers to zero in 4,096 of 65,536 executions\n"), "{text}");
    assert!(text.contains("computed 0, correct 1.9226e-23"), "{text}");
}

#[test]
fn a_nan_is_not_told_as_lost_bits() {
    let mut report = plotter();
    let cause = &mut report.findings.causes[0];
    cause.expr = op(Operator::Div, vec![Expr::Var(0), Expr::Var(1)]);
    cause.kind = CauseKind::Invalid;
    (cause.executions, cause.erroneous) = (9, 2);
    (cause.computed, cause.correct) = (f64::NAN.into(), f64::NAN.into());
    for variable in &mut cause.variables {
        variable.erroneous = both(0.0, 0.0, 0.0);
        (variable.erroneous.negative, variable.erroneous.positive) = (None, None);
        variable.worst = 0.0.into();
    }
    report.findings.spots[0].correct = f64::NAN.into();
    let text = summary(&report);
    assert!(text.contains("     gives NaN in 2 of 9 executions\n"), "{text}");
    assert!(text.contains("     when x = 0 and y = 0     (seen: "), "{text}");
    assert!(text.contains("     for example at x = 0, y = 0: computed NaN\n"), "{text}");
    assert!(text.contains("reaches printf %f at plot.c:61 (NaN) and"), "{text}");
    assert!(!text.contains("loses"), "{text}");
}

#[test]
fn a_result_without_a_cause_names_where_errors_accumulate() {
    let mut spot = printed(0x1000 + 12, 1, 1, 20.1);
    (spot.computed, spot.correct) = (1.2e7.into(), 1.3e7.into());
    spot.accumulated_in = vec![at(0x1000 + 10)];
    spot.accumulated = Some(accumulated(vec![contribution(0x1000 + 10, 1.0)]));
    spot.expr = Some(op(Operator::Add, vec![Expr::Var(0), Expr::Var(1)]));
    assert_eq!(
        summary(&without_causes(vec![spot])),
        "\
fpgrind: 1 inaccurate result, no single operation to blame   (0.3 s, 1,000,000 operations)

  printf %f at sum.c:12 prints 1.2e7, correct 1.3e7 (20.1 bits): no single operation is to blame; rounding errors accumulate in x + y at sum.c:10; of the error 100 % comes from the addition at sum.c:10 (executed 1,000,000 times)
"
    );
}

#[test]
fn results_with_and_without_a_cause_are_counted_apart() {
    let mut report = plotter();
    report.findings.spots.push(printed(0x1000 + 12, 1, 1, 20.1));
    let text = summary(&report);
    assert!(text.starts_with("fpgrind: 1 root cause behind 2 inaccurate results, and 1 without one   ("), "{text}");
    assert!(
        text.contains("go the other way)\n\n  also inaccurate:\n  printf %f at 0x100c prints 1, correct 2 (20.1 bits)"),
        "{text}"
    );
}

#[test]
fn a_branch_without_a_cause_is_told_with_how_often_it_errs() {
    let text = summary(&without_causes(vec![branch(0x1000 + 12, 51, 1)]));
    assert!(text.contains("  the branch at sum.c:12 goes the other way in the reals in 1 of 51 executions"), "{text}");
}

#[test]
fn bits_that_integer_code_takes_are_those_of_a_wrong_number() {
    let mut spot = Spot { kind: SpotKind::Escape, ..printed(0x1000 + 12, 51, 2, 20.0) };
    (spot.computed, spot.correct) = (1.5.into(), 1.25.into());
    let text = summary(&without_causes(vec![spot.clone()]));
    let expected = "the use of a float's bits as an integer at sum.c:12 takes those of 1.5, correct 1.25 (20.0 bits): ";
    assert!(text.contains(expected), "{text}");
    let mut report = plotter();
    report.findings.spots[0] = spot;
    let text = summary(&report);
    let expected =
        "reaches a use of a float's bits as an integer at 0x100c (20.0 bits: those of 1.5, correct 1.25) and ";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_conversion_is_wrong_by_its_integer() {
    let mut spot = Spot { kind: SpotKind::ToInt, ..printed(0x1000 + 12, 51, 2, 1.0) };
    (spot.computed, spot.correct) = (2.9999999999999996.into(), 3.0.into());
    let text = summary(&without_causes(vec![spot.clone()]));
    let expected = "the conversion to an integer at sum.c:12 gives another integer in the reals in 2 of 51 executions \
                    (it takes 2.9999999999999996, correct 3): ";
    assert!(text.contains(expected), "{text}");
    let mut report = plotter();
    report.findings.spots[0] = spot;
    let text = summary(&report);
    assert!(
        text.contains("reaches a conversion to an integer at 0x100c (2 of 51 give another integer) and "),
        "{text}"
    );
}

#[test]
fn a_clean_run_says_what_was_looked_at() {
    assert_eq!(
        summary(&without_causes(vec![printed(0x1005, 1_200, 0, 0.9), printed(0x1006, 1, 0, 3.25), branch(0x1007, 51, 0)])),
        "\
fpgrind: nothing inaccurate found   (0.3 s, 1,000,000 operations)
  looked at 1,201 numbers printed, 51 decisions and 0 conversions to integers; the worst error is 3.2 bits, in printf %f at sum.c:6
"
    );
    let text = summary(&without_causes(vec![]));
    assert!(text.contains("0 decisions and 0 conversions to integers: an error had nowhere to show"), "{text}");
    let text = summary(&without_causes(vec![printed(0x1005, 1, 0, 0.0)]));
    assert!(text.contains("1 number printed, 0 decisions"), "{text}");
    assert!(text.contains("as exact as it can be"), "{text}");
}

#[test]
fn a_program_without_floats_is_told_so() {
    let mut report = without_causes(vec![]);
    report.findings.totals.operations = 0;
    assert_eq!(summary(&report), "fpgrind: the program did no floating-point arithmetic   (0.3 s, 0 operations)\n");
}

#[test]
fn an_expression_that_does_not_show_the_error_says_so() {
    let mut report = plotter();
    report.findings.causes[0].reproduced_bits = 1.25;
    let text = summary(&report);
    assert!(
        text.contains("65,536 executions; its inputs already carry the error, the expression alone shows 1.2 bits\n"),
        "{text}"
    );
}

#[test]
fn a_cause_that_ran_once_has_no_average() {
    let mut report = plotter();
    let cause = &mut report.findings.causes[0];
    (cause.executions, cause.erroneous) = (1, 1);
    let text = summary(&report);
    assert!(text.contains("     loses up to 53.0 bits in its only execution\n"), "{text}");
}

#[test]
fn many_causes_are_cut_on_the_terminal_and_whole_in_the_file() {
    let mut report = plotter();
    report.findings.causes = vec![cause(); 23];
    let short = summary(&report);
    assert!(short.contains(" 10  sqrt") && !short.contains(" 11  sqrt"), "{short}");
    assert!(short.contains("\n  and 13 more in report.txt\n"), "{short}");
    let full = full(&report);
    assert!(full.contains(" 23  sqrt") && !full.contains("more in report.txt"), "{full}");
}

#[test]
fn a_long_expression_has_its_place_on_the_next_line() {
    let mut report = plotter();
    let long = (0..9).fold(csqrt(), |expr, _| op(Operator::Add, vec![expr, csqrt()]));
    report.findings.causes[0].expr = long;
    let text = summary(&report);
    assert!(text.contains("\n     in csqrt (plot.c:24)\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 260), "{text}");
}

#[test]
fn what_an_expression_ends_in_is_told() {
    let mut report = plotter();
    report.findings.causes[0].variables[1].stands_for = Some("j0(x + 1)".into());
    let text = summary(&report);
    assert!(text.contains("executions\n     where y = j0(x + 1)\n     when x in"), "{text}");
}

#[test]
fn ranges_that_do_not_fit_beside_each_other_go_below_each_other() {
    let mut report = plotter();
    let third = fpgrind_analysis::Variable { name: "z".into(), ..report.findings.causes[0].variables[1].clone() };
    report.findings.causes[0].variables.push(third);
    let text = super::summary(&report, Look::PLAIN, false);
    assert!(
        text.contains("y in [-8.7e-9, 8.7e-9] and z in [-8.7e-9, 8.7e-9]\n     (seen: x in [-1, 0.25], y"),
        "{text}"
    );
}

#[test]
fn numbers_of_one_call_are_one_place_and_many_places_are_counted() {
    let mut report = plotter();
    let spots = &mut report.findings.spots;
    spots.push(spots[0].clone());
    spots.extend((0..4).map(|i| branch(MAIN + 0x80 + i, 10, 1)));
    report.findings.causes[0].reaches = vec![0, 2, 1, 3, 4, 5, 6];
    let text = summary(&report);
    assert_eq!(text.matches("printf %f at plot.c:61").count(), 1, "{text}");
    assert!(text.contains("and 2 other places\n"), "{text}");
    assert!(text.contains("(1 of 10 goes the other way)"), "{text}");
}

#[test]
fn notes_lost_records_and_failed_checks_are_said() {
    let mut report = without_causes(vec![]);
    report.run.notes = vec!["2 child processes ran natively, unanalysed".into()];
    report.run.check = true;
    report.findings.totals.corrupt_records = 3;
    report.findings.totals.skipped_bytes = 4096;
    report.findings.totals.checks = 5000;
    let text = summary(&report);
    assert!(text.contains("\n\n  note: 2 child processes ran natively, unanalysed\n"), "{text}");
    assert!(text.contains("  note: 3 records of the log could not be read, 4,096 bytes skipped"), "{text}");
    assert!(text.contains("  check: 5,000 results as predicted\n"), "{text}");
    report.findings.check_failures = vec![CheckFailure { location: at(0x1234), native: 0x10, predicted: 0x20 }];
    let text = summary(&report);
    assert!(text.contains("  check: 1 of 5,000 results differ from what fpgrind predicted"), "{text}");
    assert!(text.contains("0x1234: native 0x10, predicted 0x20\n"), "{text}");
    assert!(!text.contains("as predicted"), "{text}");
}

#[test]
fn indices_out_of_range_are_no_trouble() {
    let mut report = plotter();
    report.findings.causes[0].reaches = vec![99];
    assert!(!summary(&report).contains("reaches"));
}

#[test]
fn decisions_of_little_consequence_come_last_and_are_no_inaccurate_results() {
    let mut report = without_causes(vec![branch(0x1000 + 8, 40, 3), printed(0x1000 + 12, 1, 1, 20.0)]);
    report.findings.totals.operations = 7;
    assert!(summary(&report).starts_with("fpgrind: 2 inaccurate results, no single operation to blame   ("));
    for (effect, reason) in [
        (Effect::NearlyEqual, "it chooses between two values"),
        (Effect::Convergence, "it is part of an iteration"),
        (Effect::Compensation, "it tests a compensating term"),
    ] {
        report.findings.spots[0].effect = Some(effect);
        let text = full(&report).replace("\n    ", " ");
        let headline = "fpgrind: 1 inaccurate result, no single operation to blame, 1 decision of little consequence";
        assert!(text.contains(headline), "{text}");
        let (before, after) = text.split_once("  of little consequence:\n").expect("they have a part of their own");
        assert!(before.contains("printf %f") && !before.contains("the branch"), "{text}");
        assert!(after.contains("in 3 of 40 executions") && after.contains(reason), "{text}");
        assert!(!after.contains("no single operation"), "{text}");
    }
    report.findings.spots.pop();
    let text = full(&report);
    assert!(text.contains("fpgrind: nothing inaccurate found, 1 decision of little consequence"), "{text}");
    assert!(text.contains("looked at"), "{text}");
}

#[test]
fn a_cause_of_indifferent_decisions_alone_comes_behind_what_is_inaccurate() {
    let mut report = plotter();
    report.findings.causes[0].reaches = vec![1];
    report.findings.spots[0].causes = vec![];
    report.findings.spots[1].effect = Some(Effect::Convergence);
    let text = summary(&report);
    let (before, after) = text.split_once("of little consequence:\n").expect("they have a part of their own");
    assert!(before.contains("printf %f") && !before.contains("sqrt"), "{text}");
    assert!(after.contains("  1  sqrt(x*x + y*y) - x"), "{text}");
    report.findings.causes[0].reaches = vec![];
    let text = summary(&report);
    assert!(text.contains(", 1 operation that reaches no result"), "{text}");
    let (_, after) = text.split_once("  reaching no result:\n").expect("they have a part of their own");
    assert!(after.contains("reaches no result that was seen"), "{text}");
}
