use super::*;
use crate::influence::Influences;
use crate::location::LocationId;
use crate::mode::{Mode, Target};
use crate::native;
use crate::trace::{Leaf, Made};
use fpgrind_ir::Type;
use proptest::prelude::*;

/// Computes in doubles and in reals.
struct Computer {
    nodes: Nodes<Mpfr>,
}

impl Computer {
    fn new(max_depth: usize) -> Computer {
        Computer { nodes: Nodes::new(max_depth, 1 << 24) }
    }

    fn apply(&mut self, at: u32, operator: Operator, args: &[Term]) -> Term {
        let view = View { nodes: &self.nodes };
        let reals: Vec<Mpfr> = args.iter().map(|arg| view.real(*arg)).collect();
        let real = Mpfr::apply(operator, &reals.iter().collect::<Vec<_>>());
        let bits: Vec<u128> = args.iter().map(|arg| self.nodes.bits(*arg)).collect();
        let (ty, target) = (Type::F64, Target::nearest(Type::F64));
        let native = native::apply(operator, ty, ty, &bits, Mode::default()).unwrap_or_else(|| {
            let natives: Vec<Mpfr> = args.iter().map(|arg| view.native(*arg)).collect();
            Mpfr::apply(operator, &natives.iter().collect::<Vec<_>>()).rounded(target)
        });
        let (at, influences) = (LocationId(at), Influences::NONE);
        Term::Node(self.nodes.make(Made { operator, at, influences, bits: native, real, target, ulps: 0 }, args))
    }

    fn error(&self, term: Term) -> f64 {
        View { nodes: &self.nodes }.error(term)
    }

    fn attribute(&self, term: Term) -> Option<Attribution> {
        let Term::Node(node) = term else { return None };
        attribute(node, &self.nodes)
    }

    /// Cuts all traces but the first levels of this one, which may get another number.
    fn collect(&mut self, held: &mut Term) {
        let Term::Node(held) = held else { return };
        self.nodes.collect(|root: &mut dyn FnMut(&mut Handle)| root(held), |_: &mut dyn FnMut(&mut Handle)| {});
    }
}

fn leaf(value: f64) -> Term {
    Term::Leaf(Leaf::new(Type::F64, value.to_bits() as u128, false))
}

fn explained(attribution: &Attribution) -> f64 {
    attribution.parts.iter().map(|part| part.share + part.inherited).sum::<f64>() + attribution.others
}

#[test]
fn a_value_without_an_error_has_nothing_to_attribute() {
    let mut computer = Computer::new(10);
    let sum = computer.apply(1, Operator::Add, &[leaf(1.0), leaf(2.0)]);
    assert!(computer.attribute(sum).is_none());
    let quotient = computer.apply(1, Operator::Div, &[leaf(1.0), leaf(0.0)]);
    let product = computer.apply(2, Operator::Mul, &[quotient, leaf(0.0)]);
    assert!(computer.attribute(product).is_none(), "NaN is no sum of anything");
}

#[test]
fn roundings_that_cancel_leave_nothing_to_attribute() {
    let mut computer = Computer::new(10);
    let quotient = computer.apply(1, Operator::Div, &[leaf(0.7), leaf(1.3)]);
    let product = computer.apply(2, Operator::Mul, &[quotient, leaf(1.3)]);
    assert!(computer.error(product).abs() < 1e-70 && computer.error(product) != 0.0, "the reals have noise");
    assert!(computer.attribute(product).is_none());
    let sum = computer.apply(3, Operator::Add, &[quotient, leaf(1.3)]);
    let difference = computer.apply(4, Operator::Sub, &[quotient, sum]);
    let twice = computer.apply(5, Operator::Add, &[difference, difference]);
    assert!(computer.error(difference).abs() > 1e-20 || computer.attribute(twice).is_none());
}

#[test]
fn each_of_two_sums_has_the_share_that_is_its_own_error() {
    let mut computer = Computer::new(10);
    let (mut a, mut b) = (leaf(0.0), leaf(1e6));
    for _ in 0..1000 {
        a = computer.apply(1, Operator::Add, &[a, leaf(0.1)]);
        b = computer.apply(2, Operator::Sub, &[b, leaf(0.7)]);
    }
    let total = computer.apply(3, Operator::Sub, &[a, b]);
    let whole = computer.error(total);
    let [a, b] = [computer.error(a) / whole, -computer.error(b) / whole];
    let attribution = computer.attribute(total).expect("has an error");
    let share = |at| attribution.parts.iter().find(|part| part.key.at == LocationId(at)).map_or(0.0, |part| part.share);
    assert!((share(1) - a).abs() < 1e-7 && (share(2) - b).abs() < 1e-7, "{} {a}, {} {b}", share(1), share(2));
    assert!((share(3) - (1.0 - a - b)).abs() < 1e-7);
    assert!(attribution.parts.iter().all(|part| part.inherited == 0.0 && part.roundings <= 1000));
}

#[test]
fn slopes_multiply_on_the_way() {
    let mut computer = Computer::new(10);
    let tenth = computer.apply(1, Operator::Div, &[leaf(1.0), leaf(10.0)]);
    let square = computer.apply(2, Operator::Mul, &[tenth, tenth]);
    let scaled = computer.apply(3, Operator::Mul, &[square, leaf(1024.0)]);
    let view = View { nodes: &computer.nodes };
    let rounding = |term: Term| match term {
        Term::Node(node) => view.split(node).expect("is a number").rounding,
        Term::Leaf(_) => 0.0,
    };
    // d(1024 x^2) = 2048 x dx, at x = 0.1.
    let expected = [204.8 * rounding(tenth), 1024.0 * rounding(square)];
    let whole = computer.error(scaled);
    let attribution = computer.attribute(scaled).expect("has an error");
    for (at, expected) in [1, 2].into_iter().zip(expected) {
        let part = attribution.parts.iter().find(|part| part.key.at == LocationId(at)).expect("has a part");
        assert!((part.share * whole / expected - 1.0).abs() < 1e-7, "{} {expected}", part.share * whole);
    }
    assert_eq!(attribution.parts.len(), 2, "a multiplication by 1024 does not round");
}

#[test]
fn what_lies_below_the_end_of_a_trace_is_inherited_by_the_operation_there() {
    let mut computer = Computer::new(10);
    let mut sum = leaf(0.0);
    for _ in 0..2000 {
        sum = computer.apply(1, Operator::Add, &[sum, leaf(0.1)]);
    }
    computer.collect(&mut sum);
    for _ in 0..30 {
        sum = computer.apply(1, Operator::Add, &[sum, leaf(0.1)]);
    }
    let scaled = computer.apply(2, Operator::Mul, &[sum, leaf(0.3)]);
    let attribution = computer.attribute(scaled).expect("has an error");
    let [part, ..] = &attribution.parts[..] else { panic!("has parts") };
    assert_eq!((part.key.at, part.carried, &part.beside[..]), (LocationId(1), true, &[][..]));
    assert!(part.roundings <= 200 && part.inherited > 0.5, "{} {}", part.roundings, part.inherited);
    assert!((explained(&attribution) - 1.0).abs() < 1e-7);
}

#[test]
fn a_loop_in_which_others_round_is_told_from_one_in_which_nothing_else_does() {
    let mut computer = Computer::new(10);
    let mut sum = leaf(0.0);
    let turn = |computer: &mut Computer, sum: Term, i: u32| {
        let product = computer.apply(7, Operator::Mul, &[leaf(0.1), leaf(0.3 + i as f64)]);
        computer.apply(1, Operator::Add, &[sum, product])
    };
    (0..2000).for_each(|i| sum = turn(&mut computer, sum, i));
    computer.collect(&mut sum);
    (0..30).for_each(|i| sum = turn(&mut computer, sum, i));
    let attribution = computer.attribute(sum).expect("has an error");
    let [sum, product] = [1, 7].map(|at| attribution.parts.iter().position(|part| part.key.at == LocationId(at)));
    let part = &attribution.parts[sum.expect("the sum has a part")];
    assert_eq!((part.carried, &part.beside[..]), (true, &[product.expect("the product has one")][..]));
    assert!((explained(&attribution) - 1.0).abs() < 1e-7);
}

#[test]
fn a_value_of_unknown_history_is_no_loop() {
    let mut computer = Computer::new(1);
    let mut value = computer.apply(9, Operator::Div, &[leaf(1.0), leaf(3.0)]);
    for at in 1..=20 {
        value = computer.apply(at, Operator::Mul, &[value, leaf(1.1)]);
    }
    computer.collect(&mut value);
    let attribution = computer.attribute(value).expect("has an error");
    let oldest = attribution.parts.iter().find(|part| part.inherited != 0.0).expect("the trace is cut");
    assert!(!oldest.carried && oldest.key.at == LocationId(4), "{:?}", oldest.key.at);
    assert!((explained(&attribution) - 1.0).abs() < 1e-7);
}

#[test]
fn a_long_trace_is_looked_at_in_part() {
    let mut computer = Computer::new(10);
    let mut sum = leaf(0.0);
    for _ in 0..3 * MOST {
        sum = computer.apply(1, Operator::Add, &[sum, leaf(0.1)]);
    }
    let attribution = computer.attribute(sum).expect("has an error");
    let [part] = &attribution.parts[..] else { panic!("one operation") };
    assert!(part.roundings <= MOST as u64 && part.carried && part.inherited != 0.0);
    assert!((explained(&attribution) - 1.0).abs() < 1e-7);
}

proptest! {
    #[test]
    fn the_parts_of_an_error_add_up_to_it(
        steps in prop::collection::vec((0..12usize, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..60)
    ) {
        use Operator::*;
        let operators = [Add, Sub, Mul, Div, Sqrt, Fma, Hypot, Exp, Sin, Atan2, Pow, Max];
        let mut computer = Computer::new(10);
        let mut values: Vec<Term> = [0.1, 0.7, 1.3, 2.9].map(leaf).to_vec();
        for (at, (operator, a, b)) in steps.iter().enumerate() {
            let args = [*a.get(&values), *b.get(&values), *a.get(&values)];
            let result = computer.apply(at as u32, operators[*operator], &args[..operators[*operator].arity()]);
            // Curved or not, as long as it is a number that a double can tell the error of.
            if (1e-100..1e100).contains(&computer.nodes.value(result).abs()) {
                values.push(result);
            }
        }
        for value in values {
            if let Some(attribution) = computer.attribute(value) {
                prop_assert!((explained(&attribution) - 1.0).abs() < 1e-6, "{}", explained(&attribution));
            }
        }
    }
}
