use super::*;
use crate::mpfr::Mpfr;

fn make(nodes: &mut Nodes<Mpfr>, args: &[Term], value: u64) -> Term {
    let (ty, influences, bits, ulps) = (Type::F64, Influences::NONE, value as u128, 0);
    let (at, real, target) = (LocationId(value as u32), Mpfr::exactly(128, value as f64), Target::nearest(ty));
    Term::Node(nodes.make(Made { operator: Operator::Add, at, influences, bits, real, target, ulps }, args))
}

fn leaf() -> Term {
    Term::Leaf(Leaf::new(Type::F64, 0, false))
}

/// Makes room while only these values are held.
fn collect(nodes: &mut Nodes<Mpfr>, held: &mut [Term]) {
    let roots = |root: &mut dyn FnMut(&mut Handle)| {
        for term in &mut *held {
            if let Term::Node(node) = term {
                root(node);
            }
        }
    };
    nodes.collect(roots, |_: &mut dyn FnMut(&mut Handle)| {});
}

/// Follows the first arguments down to the end of the trace; the values on the way.
fn spine(nodes: &Nodes<Mpfr>, term: Term) -> Vec<u64> {
    match term {
        Term::Leaf(_) => vec![],
        Term::Node(node) => {
            let below = nodes.first_arg(node).map_or(vec![], |arg| spine(nodes, arg));
            [vec![nodes.of(node).bits() as u64], below].concat()
        }
    }
}

#[test]
fn a_long_chain_keeps_at_least_the_depth_asked_for_of_the_latest_operations() {
    let mut nodes = Nodes::new(4, 1 << 24);
    let mut value = leaf();
    let mut collections = 0;
    for number in 1..=100_000u64 {
        value = make(&mut nodes, &[value, leaf()], number);
        if nodes.is_full() {
            let mut held = [value];
            collect(&mut nodes, &mut held);
            [value] = held;
            collections += 1;
            let kept = spine(&nodes, value);
            assert!((4..=4 * LONG + 1).contains(&kept.len()), "{kept:?}");
            assert!(kept.iter().enumerate().all(|(i, at)| *at == number - i as u64));
        }
    }
    assert!(collections > 3 && nodes.nodes.len() <= 2 * FEW, "{collections}");
}

#[test]
fn what_is_held_stays_as_it_is_and_what_is_not_is_used_again() {
    let mut nodes = Nodes::new(3, 1 << 24);
    let mut held: Vec<Term> = (0..1000).map(|number| make(&mut nodes, &[leaf()], number)).collect();
    for number in 0..200_000 {
        make(&mut nodes, &[held[number as usize % 1000]], number);
        if nodes.is_full() {
            collect(&mut nodes, &mut held);
        }
    }
    for (number, term) in held.iter().enumerate() {
        assert_eq!(spine(&nodes, *term), [number as u64]);
    }
    assert!(nodes.nodes.len() <= 2 * FEW);
}

#[test]
fn without_memory_traces_become_shorter_and_values_stay() {
    let mut nodes: Nodes<Mpfr> = Nodes::new(50, 0);
    let most = nodes.most;
    let mut row = vec![leaf(); most / 16];
    for number in 1..=100 {
        row = row.iter().map(|value| make(&mut nodes, &[*value], number)).collect();
        if nodes.is_full() {
            collect(&mut nodes, &mut row);
            assert!(row.iter().all(|value| spine(&nodes, *value)[0] == number));
        }
    }
    assert!(nodes.shortened > 0);
    assert!(nodes.nodes.len() <= 2 * most, "{}", nodes.nodes.len());
}

#[test]
fn long_leaves_are_told_apart_from_operations() {
    let mut nodes: Nodes<Mpfr> = Nodes::new(3, 1 << 20);
    let tenth = Leaf::new(Type::F80, 0x3ffb_cccc_cccc_cccc_cccd, true);
    let short = Leaf::new(Type::F32, 0x3f80_0000, false);
    let Term::Node(sum) = make(&mut nodes, &[Term::Leaf(tenth), Term::Leaf(short)], 1) else { panic!() };
    assert!(nodes.args(sum).eq([Term::Leaf(tenth), Term::Leaf(short)]));
}

#[test]
fn terms_and_nodes_are_small() {
    assert_eq!(size_of::<Term>(), 24);
    assert_eq!(size_of::<Node>(), 64);
}
