use super::*;
use crate::ast::Core;
use crate::domains::{Along, Native, Native64, Reals, rounded};
use crate::parse::parse;
use rug::Float;

fn core(text: &str) -> Core {
    parse(text).expect("readable").remove(0).expect("a core")
}

fn native(text: &str, inputs: &[f64]) -> Native64 {
    let core = core(text);
    let inputs: Vec<_> = core.arguments.iter().zip(inputs).map(|(a, x)| Native::input(*x, a.precision)).collect();
    run(&mut Native, &core, &inputs, 100_000).expect("it ends").0
}

fn real(text: &str, inputs: &[f64]) -> f64 {
    let inputs: Vec<_> = inputs.iter().map(|x| Float::with_val(512, *x)).collect();
    run(&mut Reals { bits: 512 }, &core(text), &inputs, 100_000).expect("it ends").0.to_f64()
}

/// The rounded real along the native path, and how many decisions the reals would take differently.
fn along(text: &str, inputs: &[f64]) -> (f64, u64) {
    let core = core(text);
    let mut domain = Along::new(512);
    let inputs: Vec<_> =
        core.arguments.iter().zip(inputs).map(|(a, x)| domain.exact(Native::input(*x, a.precision))).collect();
    let (pair, _) = run(&mut domain, &core, &inputs, 100_000).expect("it ends");
    (rounded(&pair.real, core.precision), domain.wrong_decisions)
}

#[test]
fn floats_round_at_every_operation_and_reals_do_not() {
    let cancel = "(FPCore (x) (- (+ x 1) x))";
    assert_eq!(native(cancel, &[1e17]).value, 0.0);
    assert_eq!(real(cancel, &[1e17]), 1.0);
    assert_eq!(along(cancel, &[1e17]), (1.0, 0));
}

#[test]
fn a_context_sets_the_format_of_what_is_inside() {
    assert_eq!(native("(FPCore (x) (! :precision binary32 (+ x 1e-9)))", &[1.0]).value, 1.0);
    assert_eq!(native("(FPCore (x) :precision binary32 (/ x 3))", &[1.0]).value, (1f32 / 3.0) as f64);
    assert_eq!(native("(FPCore (x) :precision binary32 (sin x))", &[1.0]).value, 1f32.sin() as f64);
    assert_eq!(native("(FPCore (x) 0.1)", &[1.0]).value, 0.1);
}

#[test]
fn parallel_bindings_see_the_old_values() {
    assert_eq!(native("(FPCore (x) (while (< i 1) ([i 0 (+ i 1)] [a 1 b] [b 2 a]) (- a b)))", &[0.0]).value, 1.0);
    assert_eq!(native("(FPCore (x) (while* (< i 1) ([i 0 (+ i 1)] [a 1 b] [b 2 a]) (- a b)))", &[0.0]).value, 0.0);
    assert_eq!(native("(FPCore (x) (let ([x 5] [y x]) (- x y)))", &[1.0]).value, 4.0);
    assert_eq!(native("(FPCore (x) (let* ([x 5] [y x]) (- x y)))", &[1.0]).value, 0.0);
}

#[test]
fn decisions_along_the_path_are_those_of_the_floats() {
    // Ten times a tenth is less than one in doubles, and more in the reals, where the constant stays the double.
    let sum = "(FPCore (x) (if (< (+ (+ (+ (+ (+ (+ (+ (+ (+ x x) x) x) x) x) x) x) x) x) 1) 10 20))";
    assert_eq!(native(sum, &[0.1]).value, 10.0);
    assert_eq!(real(sum, &[0.1]), 20.0);
    assert_eq!(along(sum, &[0.1]), (10.0, 1));
}

#[test]
fn constants_along_the_path_are_those_of_the_program() {
    assert_eq!(along("(FPCore (x) (- (* 3 0.1) x))", &[0.3]), (3f64.mul_add(0.1, -0.3), 0));
    let exactly = real("(FPCore (x) (- (* 3 0.1) x))", &[0.3]);
    assert!(exactly > 0.0 && exactly < 2e-17);
}

#[test]
fn chains_compare_neighbours_and_inequality_all_pairs() {
    let chosen = |condition: &str| native(&format!("(FPCore (x) (if {condition} 1 0))"), &[2.0]).value == 1.0;
    assert!(chosen("(< 1 x 3)") && !chosen("(< 1 x 2)") && chosen("(<= 1 x 2)") && chosen("(== 2 x)"));
    assert!(!chosen("(!= 1 x 1)") && chosen("(!= 1 x 3)") && chosen("(<)") && chosen("(not (isnan x))"));
}

#[test]
fn a_loop_without_end_stops() {
    let endless = core("(FPCore (x) (while TRUE ([k 0 (+ k 1)]) k))");
    let inputs = [Native::input(1.0, endless.precision)];
    assert_eq!(run(&mut Native, &endless, &inputs, 1000), Err(Stopped::TooLong));
}
