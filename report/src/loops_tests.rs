use super::*;
use crate::fixtures::*;
use Operator::{Add, Div, Mul};
use fpgrind_analysis::{Carried, Step};

/// An expression of which each operation is in the line of its operator.
fn cause_of(expr: Expr, variables: usize) -> Cause {
    fn steps(expr: &Expr, into: &mut Vec<Step>) {
        let location = match expr {
            Expr::Op { operator, args, .. } => {
                args.iter().for_each(|arg| steps(arg, into));
                Some(at(line(*operator)))
            }
            _ => None,
        };
        let number = 1.0.into();
        into.push(Step { location, computed: number, correct: number, bits: 0.0, local_bits: 0.0 });
    }
    let mut known = Vec::new();
    steps(&expr, &mut known);
    let variable = cause().variables[0].clone();
    let variables = (0..variables).map(|i| Variable { name: ["x", "y", "z", "a", "b"][i].into(), ..variable.clone() });
    Cause { expr, steps: known, variables: variables.collect(), ..cause() }
}

fn line(operator: Operator) -> u64 {
    0x1000 + if operator == Add { 7 } else { 8 }
}

fn report() -> Report {
    let mut spot = printed(0x1000 + 12, 1, 1, 20.1);
    spot.accumulated_in = vec![at(line(Add)), at(line(Mul))];
    without_causes(vec![spot])
}

fn var(number: usize) -> Expr {
    Expr::Var(number)
}

#[test]
fn a_sum_of_many_terms_is_shown_as_its_last_turn() {
    let sum = (1..5).fold(var(0), |sum, i| op(Add, vec![sum, op(Mul, vec![var(i), var(i)])]));
    let shown = shown(&report(), &cause_of(sum, 5));
    assert_eq!(shown.expression, "S + b*b");
    assert_eq!(shown.letters, ["S is the sum of the 3 or more terms before (the addition at sum.c:7)"]);
    assert_eq!(shown.variables, [4]);
}

#[test]
fn a_recurrence_is_shown_as_its_last_turn() {
    let value = (2..5).fold(var(0), |value, i| op(Add, vec![op(Mul, vec![value, var(1)]), var(i)]));
    let shown = shown(&report(), &cause_of(value, 5));
    assert_eq!(shown.expression, "S*y + b");
    assert_eq!(shown.letters, ["S is what 2 or more turns before left (the addition at sum.c:7)"]);
    assert_eq!(shown.variables, [1, 4]);
}

#[test]
fn a_loop_in_the_terms_of_another_has_a_letter_of_its_own() {
    // term = term / x; sum = sum + term.
    let term = |turns: usize| (0..turns).fold(var(1), |term, _| op(Div, vec![term, var(0)]));
    let sum = (1..5).fold(var(2), |sum, turns| op(Add, vec![sum, term(turns)]));
    let shown = shown(&report(), &cause_of(sum, 3));
    assert_eq!((shown.expression.as_str(), shown.letters.len()), ("S + T/x", 2));
    assert_eq!(shown.letters[1], "T is what 3 or more turns before left (the division at sum.c:8)");
}

#[test]
fn two_turns_are_no_loop_and_neither_are_places_that_differ() {
    let two = op(Add, vec![op(Add, vec![var(0), var(1)]), var(2)]);
    assert_eq!(shown(&report(), &cause_of(two, 3)).expression, "x + y + z");
    let sum = (1..5).fold(var(0), |sum, i| op(Add, vec![sum, var(i)]));
    let mut cause = cause_of(sum, 5);
    for (i, step) in cause.steps.iter_mut().enumerate() {
        step.location = step.location.map(|_| at(0x2000 + i as u64));
    }
    let shown = shown(&report(), &cause);
    assert_eq!((shown.expression.as_str(), shown.variables), ("x + y + z + a + b", vec![0, 1, 2, 3, 4]));
}

#[test]
fn a_tree_of_sums_is_no_loop() {
    let pair = |a, b| op(Add, vec![a, b]);
    let tree = pair(pair(pair(var(0), var(1)), pair(var(2), var(3))), pair(pair(var(1), var(0)), pair(var(3), var(2))));
    assert!(shown(&report(), &cause_of(tree, 4)).letters.is_empty());
}

#[test]
fn a_report_without_steps_is_shown_as_it_is() {
    let sum = (1..5).fold(var(0), |sum, i| op(Add, vec![sum, var(i)]));
    let cause = Cause { steps: vec![], ..cause_of(sum, 5) };
    assert_eq!(shown(&report(), &cause).expression, "x + y + z + a + b");
}

#[test]
fn what_a_loop_carries_is_told() {
    let of = |operator, term: Option<&str>| {
        let carried = Carried {
            location: at(line(operator)),
            operator,
            executions: term.map(|_| 1000),
            term: term.map(Into::into),
        };
        carried_words(Variable { carried: Some(carried), ..cause().variables[0].clone() })
    };
    assert_eq!(
        of(Add, Some("z*z")),
        "x is a sum of z*z that a loop carries on (the addition at sum.c:7, executed 1,000 times)"
    );
    assert_eq!(of(Mul, None), "x is a product that a loop carries on (the multiplication at sum.c:8)");
    assert_eq!(of(Div, None), "x is a value that a loop carries on (the division at sum.c:8)");
    assert_eq!(carried(&report(), &cause().variables[0]), None);
}

fn carried_words(variable: Variable) -> String {
    carried(&report(), &variable).expect("a loop carries it")
}
