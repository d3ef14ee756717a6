use super::*;
use crate::influence::Influences;
use crate::location::LocationId;
use crate::mode::Target;
use crate::mpfr::Mpfr;
use crate::trace::{Bits, Leaf};
use std::rc::Rc;

type Tree = Term<Mpfr>;

fn data(value: f64) -> Tree {
    Term::Leaf(Leaf::new(Type::F64, value.to_bits() as u128, false))
}

fn number(value: f64) -> Tree {
    Term::Leaf(Leaf::new(Type::F64, value.to_bits() as u128, true))
}

/// An operation at an address of its own: straight-line code.
fn op(operator: Operator, args: &[&Tree]) -> Tree {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT_PC: AtomicU32 = AtomicU32::new(0x1000);
    op_at(NEXT_PC.fetch_add(1, Ordering::Relaxed), operator, args)
}

fn op_at(pc: u32, operator: Operator, args: &[&Tree]) -> Tree {
    let inputs: Vec<Mpfr> = args.iter().map(|arg| Mpfr::exactly(256, arg.value())).collect();
    let real = Mpfr::apply(operator, &inputs.iter().collect::<Vec<_>>());
    let bits = Bits::new(real.rounded(Target::nearest(Type::F64)));
    Term::Node(Rc::new(Node {
        operator,
        ty: Type::F64,
        depth: 1 + args.iter().map(|arg| arg.depth()).max().unwrap_or(0),
        influences: Influences::NONE,
        at: LocationId(pc),
        bits,
        real,
        rounded: bits,
        ulps: 0,
        args: args.iter().map(|arg| (*arg).clone()).collect(),
    }))
}

fn generalise(trees: &[Tree], max_depth: usize) -> (Generaliser, String) {
    let mut general = Generaliser::new(&trees[0], max_depth);
    trees.iter().enumerate().for_each(|(i, tree)| general.meet(tree, i as f64));
    let (expr, variables) = general.generalisation();
    let names: Vec<&str> = variables.iter().map(|variable| &variable.name[..]).collect();
    let text = expr.infix(&names);
    (general, text)
}

#[test]
fn data_is_a_variable_and_a_constant_is_a_number_even_after_one_execution() {
    let tree = op(Operator::Add, &[&data(3.7), &number(2.0)]);
    assert_eq!(generalise(&[tree], 10).1, "x + 2");
}

/// sqrt(x + 1) - sqrt(x) after so many turns of a loop with x *= 10.
fn difference_after(turns: usize) -> Tree {
    let mut x = data(1.0);
    for _ in 0..turns {
        x = op_at(1, Operator::Mul, &[&x, &number(10.0)]);
    }
    let next = op_at(2, Operator::Add, &[&x, &number(1.0)]);
    let roots = [op_at(3, Operator::Sqrt, &[&next]), op_at(4, Operator::Sqrt, &[&x])];
    op_at(5, Operator::Sub, &[&roots[0], &roots[1]])
}

#[test]
fn what_a_loop_carries_is_a_variable_however_many_turns_it_took() {
    for turns in [vec![2], vec![1, 2, 3], vec![5, 6], vec![0, 1, 2]] {
        let mut general = Generaliser::new(&difference_after(turns[0]), 10);
        turns.iter().for_each(|turns| general.meet(&difference_after(*turns), 40.0));
        general.shorten::<Mpfr>(256, Mode::default());
        assert_eq!(general.generalisation().0.infix(&["x"]), "sqrt(x + 1) - sqrt(x)", "{turns:?}");
    }
}

#[test]
fn what_a_loop_carries_is_kept_where_the_error_arose_there() {
    // x = (x + 2^60) - 2^60, three times over: each turn loses what the next does not.
    let big = number(2f64.powi(60));
    let mut x = data(3.0);
    for _ in 0..3 {
        let sum = op_at(1, Operator::Add, &[&x, &big]);
        x = op_at(2, Operator::Sub, &[&sum, &big]);
    }
    let Term::Node(node) = &x else { panic!("an operation") };
    let correct = Mpfr::exactly(256, 3.0);
    let wrong = Node {
        rounded: Bits::new(correct.rounded(Target::nearest(Type::F64))),
        real: correct,
        args: node.args.iter().cloned().collect(),
        ..**node
    };
    let root = Term::Node(Rc::new(wrong));
    let mut general = Generaliser::new(&root, 10);
    general.meet(&root, 60.0);
    general.shorten::<Mpfr>(256, Mode::default());
    let text = general.generalisation().0.infix(&["x"]);
    assert_eq!(text.matches(" - ").count(), 3, "{text}");
}

#[test]
fn an_accumulation_shows_one_step() {
    let mut sum = data(0.0);
    for term in 1..=5 {
        sum = op_at(1, Operator::Add, &[&sum, &data(term as f64)]);
    }
    assert_eq!(generalise(&[sum], 10).0.one_turn().infix(&["x", "y"]), "x + y");
}

#[test]
fn a_constant_that_differs_is_a_variable() {
    let trees = [2.0, 3.0].map(|value| op(Operator::Add, &[&data(3.7), &number(value)]));
    assert_eq!(generalise(&trees, 10).1, "x + y");
}

#[test]
fn variables_that_were_equal_by_chance_part_when_they_differ() {
    let tree = |x, y, z| op(Operator::Mul, &[&op(Operator::Add, &[&data(x), &data(y)]), &data(z)]);
    assert_eq!(generalise(&[tree(1.0, 1.0, 1.0)], 10).1, "(x + x)*x");
    assert_eq!(generalise(&[tree(1.0, 1.0, 1.0), tree(2.0, 3.0, 3.0)], 10).1, "(x + y)*y");
    let three = [tree(1.0, 1.0, 1.0), tree(2.0, 3.0, 3.0), tree(4.0, 5.0, 4.0)];
    assert_eq!(generalise(&three, 10).1, "(x + y)*z");
}

#[test]
fn structure_that_differs_becomes_a_variable_with_all_its_values() {
    let deep = op(Operator::Sub, &[&op(Operator::Sqrt, &[&data(9.0)]), &data(1.0)]);
    let flat = op(Operator::Sub, &[&data(7.0), &data(2.0)]);
    let (general, text) = generalise(&[deep, flat], 10);
    assert_eq!(text, "x - y");
    let variables = general.generalisation().1;
    assert_eq!(variables[0].erroneous.positive, Some((3.0, 7.0)));
    assert!(variables[0].worst == 7.0 && variables[1].worst == 2.0);
}

#[test]
fn equal_operations_keep_their_structure() {
    let square = op(Operator::Mul, &[&data(3.0), &data(3.0)]);
    assert_eq!(generalise(&[op(Operator::Add, &[&square, &square])], 10).1, "x*x + x*x");
}

#[test]
fn good_executions_widen_only_what_was_seen() {
    let tree = |x| op(Operator::Sqrt, &[&op(Operator::Add, &[&data(x), &number(1.0)])]);
    let mut general = Generaliser::new(&tree(5.0), 10);
    general.see(&tree(100.0));
    general.meet(&tree(5.0), 10.0);
    general.see(&op(Operator::Sqrt, &[&data(7.0)]));
    let (_, variables) = general.generalisation();
    assert_eq!(variables[0].seen.positive, Some((5.0, 100.0)));
    assert_eq!(variables[0].erroneous.positive, Some((5.0, 5.0)));
}

#[test]
fn depth_and_size_are_bounded() {
    let mut tree = data(1.0);
    for _ in 0..30 {
        tree = op(Operator::Add, &[&tree, &tree]);
    }
    let (general, text) = generalise(&[tree.clone()], 3);
    assert_eq!((general.positions.len(), text.matches('+').count()), (15, 7));
    assert!(generalise(&[tree], 30).0.positions.len() <= MAX_POSITIONS);
}

#[test]
fn variables_never_run_out_of_names() {
    assert_eq!([0, 2, 3, 25, 26].map(name), ["x", "z", "a", "w", "x1"]);
}
