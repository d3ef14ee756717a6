use super::*;
use crate::influence::Influences;
use crate::location::LocationId;
use crate::mpfr::Mpfr;
use crate::real::Real;
use crate::trace::{Args, Bits, Term};
use fpgrind_ir::Operator;

fn shadowed(value: f64) -> Value<Mpfr> {
    Value::of_term(Term::Node(Rc::new(Node {
        operator: Operator::Add,
        ty: Type::F64,
        depth: 1,
        influences: Influences::NONE,
        at: LocationId(0),
        bits: Bits::new(value.to_bits() as u128),
        real: Mpfr::exactly(64, value),
        rounded: Bits::new(value.to_bits() as u128),
        ulps: 0,
        args: Args::none(),
    })))
}

fn has(memory: &mut Memory<Mpfr>, address: u64, value: f64) -> bool {
    let loaded = memory.load(address, Type::F64, value.to_bits() as u128, &mut 0);
    matches!(loaded.term_at(0, Type::F64), Term::Node(_))
}

#[test]
fn a_float_is_found_where_it_was_stored_at_any_alignment_and_across_pages() {
    for address in [0x1000, 0x1004, 0x1001, 0x1ffa, 0x1ffc, 0x1ffe, u64::MAX - 3] {
        let mut memory = Memory::new(&Pages::default());
        memory.store(address, Type::F64, &shadowed(1.5));
        assert!(has(&mut memory, address, 1.5), "{address:#x}");
        assert!(!has(&mut memory, address.wrapping_add(4), 1.5));
        assert!(!has(&mut memory, address ^ 1, 1.5));
    }
}

#[test]
fn changed_bits_are_stale_once_and_then_forgotten() {
    let mut memory = Memory::new(&Pages::default());
    memory.store(0x1000, Type::F64, &shadowed(1.5));
    let mut stale = 0;
    memory.load(0x1000, Type::F64, 7, &mut stale);
    memory.load(0x1000, Type::F64, 7, &mut stale);
    assert_eq!(stale, 1);
    assert!(!has(&mut memory, 0x1000, 1.5));
}

#[test]
fn an_overlapping_store_removes_what_it_overwrites_and_nothing_else() {
    let mut memory = Memory::new(&Pages::default());
    memory.store(0x1002, Type::F64, &shadowed(1.5));
    memory.store(0x100a, Type::F64, &shadowed(2.5));
    memory.store(0x0ffa, Type::F64, &shadowed(0.5));
    memory.store(0x1002, Type::F64, &Value::plain(1.5f64.to_bits() as u128));
    assert!(has(&mut memory, 0x0ffa, 0.5));
    assert!(!has(&mut memory, 0x1002, 1.5));
    assert!(has(&mut memory, 0x100a, 2.5));
}

#[test]
fn a_copy_moves_shadows_even_onto_itself_and_to_another_alignment() {
    let mut memory = Memory::new(&Pages::default());
    for i in 0..1000u64 {
        memory.store(0x10000 + 8 * i, Type::F64, &shadowed(i as f64));
    }
    memory.copy(0x10000 + 8, 0x10000, 8000);
    assert!((0..1000).all(|i| has(&mut memory, 0x10008 + 8 * i, i as f64)));
    memory.copy(0x20003, 0x10008, 8000);
    assert!((0..1000).all(|i| has(&mut memory, 0x20003 + 8 * i, i as f64)));
    memory.copy(0x20003, 0x90000, 16);
    assert!(!has(&mut memory, 0x20003, 0.0) && !has(&mut memory, 0x2000b, 1.0) && has(&mut memory, 0x20013, 2.0));
}

#[test]
fn absurd_lengths_cost_nothing() {
    let mut memory = Memory::new(&Pages::default());
    memory.store(0x1000, Type::F64, &shadowed(1.5));
    memory.copy(0x7000_0000_0000, 0, u64::MAX);
    assert!(has(&mut memory, 0x7000_0000_1000, 1.5));
    memory.copy(0, u64::MAX - 100, u64::MAX);
    memory.copy(0, 0x5000, 0);
}

#[test]
fn a_copy_of_a_memory_and_the_original_go_their_own_ways() {
    let mut parent = Memory::new(&Pages::default());
    parent.store(0x1000, Type::F64, &shadowed(1.5));
    parent.store(0x1008, Type::F64, &shadowed(2.5));
    let mut child = parent.clone();
    child.store(0x1000, Type::F64, &shadowed(7.0));
    parent.store(0x1008, Type::F64, &Value::plain(8));
    parent.store(0x5000, Type::F64, &shadowed(9.0));
    assert!(has(&mut parent, 0x1000, 1.5) && has(&mut child, 0x1000, 7.0));
    assert!(has(&mut child, 0x1008, 2.5) && !has(&mut parent, 0x1008, 2.5));
    assert!(has(&mut parent, 0x5000, 9.0) && !has(&mut child, 0x5000, 9.0));
}

#[test]
fn only_what_a_copy_changes_is_copied_and_all_is_given_back() {
    let pages = Pages::default();
    let mut parent = Memory::new(&pages);
    for page in 0..100 {
        parent.store(page * PAGE, Type::F64, &shadowed(1.5));
    }
    let mut child = parent.clone();
    assert!((0..100).all(|page| has(&mut child, page * PAGE, 1.5)));
    child.store(8, Type::F64, &Value::plain(1));
    child.copy(100 * PAGE, 50 * PAGE + 8, 100);
    assert_eq!(pages.0.get(), 100);
    child.store(PAGE, Type::F64, &Value::plain(1));
    child.load(2 * PAGE, Type::F64, 7, &mut 0);
    child.copy(3 * PAGE + 8, 4 * PAGE, 8);
    assert_eq!(pages.0.get(), 103);
    drop(parent);
    assert_eq!(pages.0.get(), 100);
    drop(child);
    assert_eq!(pages.0.get(), 0);
}

#[test]
fn without_room_shadows_are_lost_and_never_wrong() {
    let pages = Pages::default();
    let mut parent = Memory::new(&pages);
    parent.store(0x1000, Type::F64, &shadowed(1.5));
    parent.store(0x1008, Type::F64, &shadowed(2.5));
    let mut child = parent.clone();
    pages.0.set(MAX_PAGES);
    child.store(0x1000, Type::F64, &shadowed(7.0));
    child.store(0x8000, Type::F64, &shadowed(7.0));
    assert!(!has(&mut child, 0x1000, 1.5) && !has(&mut child, 0x1008, 2.5) && !has(&mut child, 0x8000, 7.0));
    assert!(has(&mut parent, 0x1000, 1.5));
    parent.store(0x1000, Type::F64, &shadowed(3.0));
    assert!(has(&mut parent, 0x1000, 3.0));
    pages.0.set(1);
}
