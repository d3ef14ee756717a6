use super::*;
use crate::fixtures::*;
use fpgrind_analysis::Ranges;
use fpgrind_ir::Type;

#[test]
fn the_plotters_cause_is_the_core_that_the_design_shows() {
    let mut report = plotter();
    report.findings.causes[0].variables[1].erroneous = positive(3.1e-12, 8.7e-9);
    assert_eq!(
        render(&report),
        "\
(FPCore (x y)
 :name \"csqrt (plot.c:24)\"
 :precision binary64
 :pre (and (<= 1.2e-4 x 0.25) (<= 3.1e-12 y 8.7e-9))
 :fpgrind-max-error 53.0
 (- (sqrt (+ (* x x) (* y y))) x))
"
    );
}

#[test]
fn what_fpcore_has_no_word_for_is_said() {
    let mut report = plotter();
    report.findings.causes[0].variables[1].stands_for = Some("j0(x)".into());
    let text = render(&report);
    assert!(text.starts_with("; y stands for j0(x), a function that FPCore does not have\n(FPCore (x y)\n"), "{text}");
    report.findings.causes[0].operator = fpgrind_ir::Operator::Y1;
    let text = render(&report);
    assert!(text.contains("in csqrt (plot.c:24) is a function that FPCore does not have: there is nothing"), "{text}");
    assert!(!text.contains("(FPCore"), "{text}");
}

fn condition_of(erroneous: Ranges) -> Option<String> {
    condition(&Variable {
        name: "x".into(),
        seen: erroneous,
        erroneous,
        worst: 1.0.into(),
        stands_for: None,
        carried: None,
    })
}

#[test]
fn values_of_both_signs_are_alternatives() {
    assert_eq!(
        condition_of(both(-8.7e-9, 8.7e-9, 3.1e-12)).unwrap(),
        "(or (<= -8.7e-9 x -3.1e-12) (== x 0) (<= 3.1e-12 x 8.7e-9))"
    );
    assert_eq!(condition_of(positive(113.0, 113.0)).unwrap(), "(== x 113)");
    assert_eq!(condition_of(positive(1.0, f64::INFINITY)).unwrap(), "(<= 1 x INFINITY)");
    assert_eq!(condition_of(Ranges { nan: true, ..Ranges::default() }), None);
}

#[test]
fn numbers_in_preconditions_read_back_exactly() {
    for (low, high) in [(0.1, 0.1f64.next_up()), (5e-324, 2.2250738585072014e-308), (1e15 + 1.0, f64::MAX)] {
        let condition = condition_of(positive(low, high)).unwrap();
        let numbers: Vec<f64> =
            condition.trim_matches(['(', ')']).split(' ').filter_map(|word| word.parse().ok()).collect();
        assert_eq!(numbers, [low, high], "{condition}");
    }
}

#[test]
fn a_cause_without_conditions_has_no_precondition() {
    let mut report = plotter();
    for variable in &mut report.findings.causes[0].variables {
        variable.erroneous = Ranges::default();
    }
    assert!(!render(&report).contains(":pre "));
}

#[test]
fn parentheses_balance_and_names_are_quoted_whatever_the_symbols_contain() {
    let mut report = plotter();
    report.sites.instructions.get_mut(&at(CSQRT)).unwrap().function = Some("operator\"\"_km(\\ü(".into());
    report.findings.causes.push(cause());
    let text = render(&report);
    assert!(text.contains(":name \"operator\\\"\\\"_km(\\\\?( (plot.c:24)\""), "{text}");
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '(' if !in_string => depth += 1,
            ')' if !in_string => depth -= 1,
            _ => {}
        }
        assert!(depth >= 0);
    }
    assert!(depth == 0 && !in_string);
}

#[test]
fn what_gives_nan_is_only_a_comment() {
    let mut report = plotter();
    report.findings.causes[0].kind = CauseKind::Invalid;
    assert_eq!(render(&report), "; sqrt(x*x + y*y) - x in csqrt (plot.c:24) gives NaN: there is nothing to rewrite\n");
}

#[test]
fn floats_are_binary32() {
    let mut report = plotter();
    report.findings.causes[0].ty = Type::F32;
    assert!(render(&report).contains(" :precision binary32\n"));
    report.findings.causes[0].ty = Type::F80;
    assert!(render(&report).contains(" :precision binary80\n"));
}
