use super::told::name;
use super::*;
use crate::expr::Expr;
use crate::influence::Influences;
use crate::location::LocationId;
use crate::mode::{Mode, Target};
use crate::mpfr::Mpfr;
use crate::trace::{Leaf, Made};
use proptest::prelude::*;
use std::cell::RefCell;

type Tree = Term;

thread_local! {
    /// Each test has a thread, and so nodes of its own.
    static NODES: RefCell<Nodes<Mpfr>> = RefCell::new(Nodes::new(10, 1 << 20));
}

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
    let value = |arg: &&Tree| NODES.with_borrow(|nodes| Mpfr::exactly(256, nodes.value(**arg)));
    let inputs: Vec<Mpfr> = args.iter().map(value).collect();
    let real = Mpfr::apply(operator, &inputs.iter().collect::<Vec<_>>());
    let bits = real.rounded(Target::nearest(Type::F64));
    op_with(pc, operator, args, bits, real)
}

fn op_with(pc: u32, operator: Operator, args: &[&Tree], bits: u128, real: Mpfr) -> Tree {
    let args: Vec<Term> = args.iter().map(|arg| **arg).collect();
    let (ty, at, influences, ulps) = (Type::F64, LocationId(pc), Influences::NONE, 0);
    let made = Made { operator, at, influences, bits, real, target: Target::nearest(ty), ulps };
    Term::Node(NODES.with_borrow_mut(|nodes| nodes.make(made, &args)))
}

fn general(root: &Tree) -> Generaliser {
    general_in(root, &Room::new(1 << 20))
}

fn general_in(root: &Tree, room: &Room) -> Generaliser {
    NODES.with_borrow(|nodes| Generaliser::new(*root, nodes, room))
}

fn meet(general: &mut Generaliser, root: &Tree, bits: f64) {
    NODES.with_borrow(|nodes| general.meet(*root, bits, nodes));
}

fn see(general: &mut Generaliser, root: &Tree) {
    NODES.with_borrow(|nodes| general.see(*root, None, nodes));
}

fn set_max_depth(max_depth: usize) {
    NODES.with_borrow_mut(|nodes| *nodes = Nodes::new(max_depth, 1 << 20));
}

fn generalise(trees: &[Tree]) -> (Generaliser, String) {
    let mut general = general(&trees[0]);
    trees.iter().enumerate().for_each(|(i, tree)| meet(&mut general, tree, i as f64));
    let (expr, variables, _) = general.generalisation();
    let names: Vec<&str> = variables.iter().map(|variable| &variable.name[..]).collect();
    let text = expr.infix(&names);
    (general, text)
}

#[test]
fn data_is_a_variable_and_a_constant_is_a_number_even_after_one_execution() {
    let tree = op(Operator::Add, &[&data(3.7), &number(2.0)]);
    assert_eq!(generalise(&[tree]).1, "x + 2");
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
        let mut general = general(&difference_after(turns[0]));
        turns.iter().for_each(|turns| meet(&mut general, &difference_after(*turns), 40.0));
        general.shorten::<Mpfr>(256, Mode::default());
        assert_eq!(general.generalisation().0.infix(&["x"]), "sqrt(x + 1) - sqrt(x)", "{turns:?}");
    }
}

#[test]
fn what_a_loop_carries_is_kept_where_the_error_arose_there() {
    // x = (x + 2^60) - 2^60, three times over: each turn loses what the next does not.
    let big = number(2f64.powi(60));
    let mut x = data(3.0);
    for _ in 0..2 {
        let sum = op_at(1, Operator::Add, &[&x, &big]);
        x = op_at(2, Operator::Sub, &[&sum, &big]);
    }
    let sum = op_at(1, Operator::Add, &[&x, &big]);
    let bits = NODES.with_borrow(|nodes| nodes.bits(x));
    let root = op_with(2, Operator::Sub, &[&sum, &big], bits, Mpfr::exactly(256, 3.0));
    let mut general = general(&root);
    meet(&mut general, &root, 60.0);
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
    assert_eq!(generalise(&[sum]).0.one_turn().infix(&["x", "y"]), "x + y");
}

#[test]
fn a_constant_that_differs_is_a_variable() {
    let trees = [2.0, 3.0].map(|value| op(Operator::Add, &[&data(3.7), &number(value)]));
    assert_eq!(generalise(&trees).1, "x + y");
}

#[test]
fn variables_that_were_equal_by_chance_part_when_they_differ() {
    let tree = |x, y, z| op(Operator::Mul, &[&op(Operator::Add, &[&data(x), &data(y)]), &data(z)]);
    assert_eq!(generalise(&[tree(1.0, 1.0, 1.0)]).1, "(x + x)*x");
    assert_eq!(generalise(&[tree(1.0, 1.0, 1.0), tree(2.0, 3.0, 3.0)]).1, "(x + y)*y");
    let three = [tree(1.0, 1.0, 1.0), tree(2.0, 3.0, 3.0), tree(4.0, 5.0, 4.0)];
    assert_eq!(generalise(&three).1, "(x + y)*z");
}

#[test]
fn structure_that_differs_becomes_a_variable_with_all_its_values() {
    let deep = op(Operator::Sub, &[&op(Operator::Sqrt, &[&data(9.0)]), &data(1.0)]);
    let flat = op(Operator::Sub, &[&data(7.0), &data(2.0)]);
    let (general, text) = generalise(&[deep, flat]);
    assert_eq!(text, "x - y");
    let variables = general.generalisation().1;
    assert_eq!(variables[0].erroneous.positive, Some((3.0, 7.0)));
    assert!(variables[0].worst == 7.0 && variables[1].worst == 2.0);
}

#[test]
fn equal_operations_keep_their_structure() {
    let square = op(Operator::Mul, &[&data(3.0), &data(3.0)]);
    assert_eq!(generalise(&[op(Operator::Add, &[&square, &square])]).1, "x*x + x*x");
}

#[test]
fn good_executions_widen_only_what_was_seen() {
    let tree = |x| op(Operator::Sqrt, &[&op(Operator::Add, &[&data(x), &number(1.0)])]);
    let mut general = general(&tree(5.0));
    see(&mut general, &tree(100.0));
    meet(&mut general, &tree(5.0), 10.0);
    see(&mut general, &op(Operator::Sqrt, &[&data(7.0)]));
    let (_, variables, _) = general.generalisation();
    assert_eq!(variables[0].seen.positive, Some((5.0, 100.0)));
    assert_eq!(variables[0].erroneous.positive, Some((5.0, 5.0)));
}

#[test]
fn depth_and_size_are_bounded() {
    let tree = |max_depth| {
        set_max_depth(max_depth);
        (0..30).fold(data(1.0), |tree, _| op(Operator::Add, &[&tree, &tree]))
    };
    let (general, text) = generalise(&[tree(3)]);
    assert_eq!((general.positions.len(), text.matches('+').count()), (15, 7));
    assert!(generalise(&[tree(30)]).0.positions.len() <= MAX_POSITIONS);
}

#[test]
fn variables_never_run_out_of_names() {
    assert_eq!([0, 2, 3, 25, 26].map(name), ["x", "z", "a", "w", "x1"]);
}

#[test]
fn operations_have_a_place_while_all_executions_have_them_there() {
    let tree = |x: f64, sum: u32| {
        let sum = op_at(sum, Operator::Add, &[&data(x), &number(1.0)]);
        let root = op_at(3, Operator::Sqrt, &[&sum]);
        op_at(4, Operator::Sub, &[&root, &data(x)])
    };
    let places = |trees: &[Tree]| generalise(trees).0.places();
    let [sum, root, difference] = [1, 3, 4].map(|pc| Some(LocationId(pc)));
    // x, 1, x + 1, its root, x, the difference.
    assert_eq!(places(&[tree(2.0, 1), tree(3.0, 1)]), [None, None, sum, root, None, difference]);
    assert_eq!(places(&[tree(2.0, 1), tree(3.0, 2)]), [None, None, None, root, None, difference]);
    // What has become a variable is no operation any more.
    let other = op_at(4, Operator::Sub, &[&op_at(3, Operator::Sqrt, &[&data(5.0)]), &data(5.0)]);
    assert_eq!(places(&[tree(2.0, 1), other]), [None, root, None, difference]);
}

#[test]
fn executions_are_kept_with_the_values_of_the_variables() {
    let trees: Vec<Tree> = (1..=3).map(|x| op_at(4, Operator::Sub, &[&data(x as f64), &number(1.0)])).collect();
    let (general, _) = generalise(&trees);
    let observed: Vec<(f64, f64)> =
        general.observed().iter().map(|sample| (sample.inputs[0].to_f64(), sample.bits)).collect();
    // Number 1 and 2, and the worst.
    assert_eq!(observed, [(1.0, 0.0), (2.0, 1.0), (3.0, 2.0)]);
    let again: Vec<Tree> = (0..3).map(|_| trees[0]).collect();
    assert_eq!(generalise(&again).0.observed().len(), 1);
}

/// A trace before it is one. Few values, so that equal ones meet.
#[derive(Clone, Debug)]
enum Plan {
    Data(u8),
    Number(u8),
    Op(Operator, Vec<Plan>),
}

impl Plan {
    /// The trace, each operation at an address of its own.
    fn tree(&self) -> Tree {
        match self {
            Plan::Data(value) => data(f64::from(*value)),
            Plan::Number(value) => number(f64::from(*value)),
            Plan::Op(operator, args) => {
                let args: Vec<Tree> = args.iter().map(Plan::tree).collect();
                op(*operator, &args.iter().collect::<Vec<_>>())
            }
        }
    }
}

fn plan() -> impl Strategy<Value = Plan> {
    let leaf = prop_oneof![(1u8..4).prop_map(Plan::Data), (1u8..4).prop_map(Plan::Number)];
    leaf.prop_recursive(4, 30, 2, |arg| {
        let two = prop_oneof![Just(Operator::Add), Just(Operator::Mul)];
        prop_oneof![
            arg.clone().prop_map(|x| Plan::Op(Operator::Sqrt, vec![x])),
            (two, arg.clone(), arg).prop_map(|(operator, x, y)| Plan::Op(operator, vec![x, y])),
        ]
    })
}

/// Traces that have something in common: one, and others in which a part is another.
fn plans() -> impl Strategy<Value = Vec<Plan>> {
    (plan(), prop::collection::vec((plan(), any::<u32>()), 1..5)).prop_map(|(first, others)| {
        let other = |(part, path): (Plan, u32)| replaced(&first, part, path);
        let others: Vec<Plan> = others.into_iter().map(other).collect();
        [vec![first], others].concat()
    })
}

fn replaced(plan: &Plan, part: Plan, path: u32) -> Plan {
    match plan {
        Plan::Op(operator, args) if !path.is_multiple_of(4) => {
            let mut args = args.clone();
            let at = (path / 4) as usize % args.len();
            args[at] = replaced(&args[at], part, path / 8);
            Plan::Op(*operator, args)
        }
        _ => part,
    }
}

/// The most special expression, by what that means: an operation or a number where all have it, above the depth that is looked at, and one
/// variable for all places that have the same values.
fn most_special(terms: &[Tree], depth: usize, variables: &mut Vec<Vec<u128>>) -> Expr {
    NODES.with_borrow(|nodes| {
        let operation = |term: &Tree| match term {
            Term::Node(node) if depth > 0 => Some((nodes[*node].operator, nodes.args(*node).collect::<Vec<_>>())),
            _ => None,
        };
        let is_number = |term: &Tree| matches!(term, Term::Leaf(leaf) if leaf.constant);
        let operations: Vec<_> = terms.iter().filter_map(operation).collect();
        let values: Vec<u128> = terms.iter().map(|term| nodes.bits(*term)).collect();
        match operations.first() {
            Some((operator, args))
                if terms.len() == operations.iter().filter(|(other, _)| other == operator).count() =>
            {
                let column = |i: usize| operations.iter().map(|(_, args)| args[i]).collect::<Vec<Tree>>();
                let args = (0..args.len()).map(|i| most_special(&column(i), depth - 1, variables)).collect();
                Expr::Op { operator: *operator, ty: Type::F64, args }
            }
            _ if terms.iter().all(is_number) && values.iter().all(|value| *value == values[0]) => {
                Expr::Num(nodes.number(terms[0]))
            }
            _ => Expr::Var(variables.iter().position(|known| *known == values).unwrap_or_else(|| {
                variables.push(values);
                variables.len() - 1
            })),
        }
    })
}

/// The expression that two traces have in common as a trace: what had the same value in both has it, what had two has a value for these two.
fn as_tree(general: &Generaliser, at: usize, pairs: &mut Vec<(f64, f64)>) -> Tree {
    let value = |sample: &Sample| sample.values[at].to_f64();
    let (first, second) = (value(&general.samples[0]), value(&general.samples[1]));
    let pair = (first, second);
    let known = pairs.iter().position(|known| *known == pair).unwrap_or_else(|| {
        pairs.push(pair);
        pairs.len() - 1
    });
    // Larger than what the traces have, by far, and not to be reached from there.
    let value = if first == second { first } else { 1e200 * (known + 1) as f64 };
    match general.positions[at].shape {
        Shape::Operation(operator, _) => {
            let children = general.positions[at].children();
            let args: Vec<Tree> = children.map(|child| as_tree(general, child, pairs)).collect();
            op_with(1, operator, &args.iter().collect::<Vec<_>>(), value.to_bits().into(), Mpfr::exactly(256, value))
        }
        Shape::Number => number(value),
        _ => data(value),
    }
}

/// The values that a trace has at the positions of an expression, found from the root down.
fn values_below(general: &Generaliser, at: usize, term: Term, nodes: &Nodes<Mpfr>, values: &mut [Option<f64>]) {
    values[at] = Some(nodes.value(term));
    let (Shape::Operation(operator, _), Term::Node(node)) = (general.positions[at].shape, term) else { return };
    let args: Vec<Term> = nodes.args(node).collect();
    if nodes[node].operator == operator && args.len() == general.positions[at].children().len() {
        for (child, arg) in general.positions[at].children().zip(args) {
            values_below(general, child, arg, nodes, values);
        }
    }
}

fn expression(trees: &[Tree]) -> Expr {
    generalise(trees).0.generalisation().0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn the_expression_is_the_most_special_that_all_executions_have(plans in plans(), max_depth in 1usize..6) {
        set_max_depth(max_depth);
        let trees: Vec<Tree> = plans.iter().map(Plan::tree).collect();
        prop_assert_eq!(expression(&trees), most_special(&trees, max_depth, &mut Vec::new()));
    }

    #[test]
    fn one_pass_finds_what_a_trace_has_at_each_position(plans in plans(), max_depth in 1usize..6) {
        set_max_depth(max_depth);
        let trees: Vec<Tree> = plans.iter().map(Plan::tree).collect();
        let mut general = generalise(&trees[..2]).0;
        let mut seen = general.seen.clone();
        for tree in &trees {
            see(&mut general, tree);
            let mut values = vec![None; general.positions.len()];
            NODES.with_borrow(|nodes| values_below(&general, 0, *tree, nodes, &mut values));
            let found = |term: &Option<Term>| term.map(|term| NODES.with_borrow(|nodes| nodes.value(term)));
            prop_assert_eq!(general.terms.iter().map(found).collect::<Vec<_>>(), values.clone());
            for (seen, values) in seen.iter_mut().zip(&values) {
                values.iter().for_each(|value| _ = seen.include(*value));
            }
        }
        prop_assert_eq!(general.seen, seen);
    }

    #[test]
    fn neither_order_nor_repetition_matters(plans in plans(), max_depth in 1usize..6, order in any::<u64>()) {
        set_max_depth(max_depth);
        let trees: Vec<Tree> = plans.iter().map(Plan::tree).collect();
        let mut others: Vec<Tree> = trees.iter().chain(&trees).copied().collect();
        others.rotate_left(order as usize % trees.len());
        if order.is_multiple_of(2) {
            others.reverse();
        }
        prop_assert_eq!(expression(&trees), expression(&others));
        // Not even for the ranges: they are those of all executions.
        let ranges = |trees: &[Tree]| {
            let (_, variables, _) = generalise(trees).0.generalisation();
            variables.iter().map(|variable| (variable.seen, variable.erroneous)).collect::<Vec<_>>()
        };
        prop_assert_eq!(ranges(&trees), ranges(&others));
    }

    #[test]
    fn what_two_have_in_common_has_in_common_with_a_third_what_all_three_have(
        plans in plans().prop_filter("three", |plans| plans.len() >= 3),
        max_depth in 1usize..6,
    ) {
        set_max_depth(max_depth);
        let [a, b, c] = [0, 1, 2].map(|i| plans[i].tree());
        let together = |x: Tree, y: Tree| as_tree(&generalise(&[x, y]).0, 0, &mut Vec::new());
        let all = expression(&[a, b, c]);
        prop_assert_eq!(&expression(&[together(a, b), c]), &all);
        prop_assert_eq!(&expression(&[a, together(b, c)]), &all);
    }
}

/// What an expression takes in memory.
fn bytes(general: &Generaliser) -> usize {
    let numbers = |sample: &Sample| sample.values.capacity() * size_of::<Number>();
    let points = |reservoir: &Reservoir<(Vec<f64>, f64)>| {
        let values = reservoir.chosen.iter().map(|(values, _)| values.capacity() * size_of::<f64>());
        values.sum::<usize>() + reservoir.chosen.capacity() * size_of::<(Vec<f64>, f64)>()
    };
    size_of::<Generaliser>()
        + general.positions.capacity() * size_of::<Position>()
        + general.seen.capacity() * size_of::<Ranges>()
        + general.erroneous.capacity() * size_of::<Ranges>()
        + general.terms.capacity() * size_of::<Option<Term>>()
        + general.current.capacity() * size_of::<Number>()
        + general.samples().map(numbers).sum::<usize>()
        + general.samples.capacity() * size_of::<Sample>()
        + points(&general.wrong)
        + points(&general.fine)
        + general.cut.capacity()
}

/// Products of so many sums, minus another: 2 operations for each.
fn long(sums: usize, seed: f64) -> Tree {
    let mut product = data(seed);
    for i in 0..sums {
        let sum = op_at(2 * i as u32, Operator::Add, &[&product, &data(seed + i as f64)]);
        product = op_at(2 * i as u32 + 1, Operator::Mul, &[&sum, &data(seed)]);
    }
    op_at(1000, Operator::Sub, &[&product, &data(seed)])
}

#[test]
fn all_expressions_together_keep_to_their_room_and_each_keeps_its_operation() {
    const MOST: usize = 200_000;
    let room = Room::new(MOST);
    let mut generals = Vec::new();
    for _ in 0..100 {
        let mut general = general_in(&long(4, 1.0), &room);
        for i in 0..200 {
            let tree = long(4, 1.0 + i as f64);
            meet(&mut general, &tree, i as f64);
            NODES.with_borrow(|nodes| general.see(tree, Some(1.0), nodes));
        }
        generals.push(general);
    }
    // The root and its arguments are kept of any.
    let least = size_of::<Generaliser>() + 3 * POSITION_BYTES;
    assert!(room.used() <= MOST + generals.len() * least, "{}", room.used());
    let held: usize = generals.iter().map(bytes).sum();
    assert!(held <= 2 * room.used() && room.used() <= 2 * held, "{held} {}", room.used());
    let names: Vec<String> = (0..20).map(name).collect();
    let texts: Vec<String> = generals.iter().map(|general| general.generalisation().0.infix(&names)).collect();
    assert_eq!(texts[0].matches(" + ").count(), 4, "{}", texts[0]);
    assert_eq!(texts[99], "x - y");
    // The first have all their examples, then there are fewer, and then none but the worst.
    let examples = |general: &Generaliser| general.wrong.chosen.len() + general.fine.chosen.len();
    assert_eq!((examples(&generals[0]), examples(&generals[99])), (128, 0));
    assert_eq!(generals[99].worst.bits, 199.0);
    let whole = generals.iter().filter(|general| !general.is_short).count();
    assert!((1..50).contains(&whole), "{whole}");
    assert_eq!(room.short(), (generals.len() - whole) as u64);
}
