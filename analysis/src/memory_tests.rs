use super::*;
use crate::influence::Influences;
use crate::location::LocationId;
use crate::mode::Target;
use crate::mpfr::Mpfr;
use crate::pages::RECENT;
use crate::real::Real;
use crate::trace::{Made, Term};
use fpgrind_ir::Operator;
use std::cell::RefCell;

thread_local! {
    /// Each test has a thread, and so nodes of its own.
    static NODES: RefCell<Nodes<Mpfr>> = RefCell::new(Nodes::new(10, 1 << 20));
}

fn shadowed(value: f64) -> Value {
    let (real, bits, ty) = (Mpfr::exactly(64, value), value.to_bits() as u128, Type::F64);
    let (at, influences, target) = (LocationId(0), Influences::NONE, Target::nearest(ty));
    let made = Made { operator: Operator::Add, at, influences, bits, real, target, ulps: 0 };
    NODES.with_borrow_mut(|nodes| Value::of_term(Term::Node(nodes.make(made, &[])), nodes))
}

fn store(memory: &mut Memory, address: u64, value: &Value) {
    NODES.with_borrow(|nodes| memory.store(address, Type::F64, value, nodes));
}

fn load(memory: &mut Memory, address: u64, bits: u128, stale: &mut u64) -> Value {
    NODES.with_borrow(|nodes| memory.load(address, Type::F64, bits, stale, nodes))
}

fn copy(memory: &mut Memory, to: u64, from: u64, length: u64) {
    NODES.with_borrow(|nodes| memory.copy(to, from, length, nodes));
}

fn has(memory: &mut Memory, address: u64, value: f64) -> bool {
    let loaded = load(memory, address, value.to_bits() as u128, &mut 0);
    matches!(NODES.with_borrow(|nodes| loaded.term_at(0, Type::F64, nodes)), Term::Node(_))
}

#[test]
fn a_float_is_found_where_it_was_stored_at_any_alignment_and_across_pages() {
    for address in [0x1000, 0x1004, 0x1001, 0x1ffa, 0x1ffc, 0x1ffe, u64::MAX - 3] {
        let mut memory = Memory::new(&Pages::new(1 << 30));
        store(&mut memory, address, &shadowed(1.5));
        assert!(has(&mut memory, address, 1.5), "{address:#x}");
        assert!(!has(&mut memory, address.wrapping_add(4), 1.5));
        assert!(!has(&mut memory, address ^ 1, 1.5));
    }
}

/// What compiled code is told of the page that an address is in: may it read, may it write, and the part there.
fn seen_by_code(memory: &Memory, address: u64) -> (bool, bool, Part) {
    let number = address / PAGE;
    // SAFETY: there are so many; and at `parts` are those of a page, or of nothing, if it was looked up.
    unsafe {
        let recent = &*memory.recent().add(number as usize % RECENT);
        let part = recent.parts.wrapping_add(address as usize / GRANULE * size_of::<Part>()) as *const Part;
        (recent.to_read == number, recent.to_write == number, *part)
    }
}

#[test]
fn compiled_code_is_shown_pages_unless_a_float_begins_between_slots() {
    let mut memory = Memory::new(&Pages::new(1 << 30));
    store(&mut memory, 0x1ff8, &shadowed(1.5));
    assert!(matches!(seen_by_code(&memory, 0x1ff8), (true, true, Part::Shadow(_))));
    assert!(matches!(seen_by_code(&memory, 0x1ff0), (true, true, Part::None)));
    let mut fork = memory.clone();
    assert!(has(&mut fork, 0x1ff8, 1.5));
    assert!(matches!(seen_by_code(&fork, 0x1ff8), (true, false, Part::Shadow(_))));
    copy(&mut memory, 0x2011, 0x1ff8, 8);
    assert!(has(&mut memory, 0x2011, 1.5) && has(&mut memory, 0x1ff8, 1.5));
    assert!(!seen_by_code(&memory, 0x2010).0 && seen_by_code(&memory, 0x1ff8).0);
    store(&mut memory, 0x1001, &shadowed(2.5));
    assert!(!seen_by_code(&memory, 0x1ff8).0 && !seen_by_code(&memory, 0x1ff8).1);
}

#[test]
fn pages_that_memories_share_are_told_once_where_nodes_have_gone() {
    let mut memory = Memory::new(&Pages::new(1 << 30));
    let (one, other) = (shadowed(1.5), shadowed(2.5));
    store(&mut memory, 0x1000, &one);
    let mut fork = memory.clone();
    store(&mut fork, 0x2000, &other);
    let (mut shared, mut told) = (Shared::default(), Vec::new());
    for memory in [&mut memory, &mut fork] {
        memory.each_root(
            &mut |handle| {
                told.push(*handle);
                *handle = handle.further(1);
            },
            &mut shared,
        );
    }
    assert_eq!(told.len(), 2);
    let moved = |memory: &Memory, address| {
        let part = memory.parts_within_page(address, 8).and_then(|parts| parts.first().copied());
        told.iter().position(|handle| matches!(part, Some(Part::Shadow(node)) if node == handle.further(1)))
    };
    assert_eq!([moved(&memory, 0x1000), moved(&fork, 0x1000)], [Some(0), Some(0)]);
    assert_eq!([moved(&memory, 0x2000), moved(&fork, 0x2000)], [None, Some(1)]);
}

#[test]
fn changed_bits_are_stale_once_and_then_forgotten() {
    let mut memory = Memory::new(&Pages::new(1 << 30));
    store(&mut memory, 0x1000, &shadowed(1.5));
    let mut stale = 0;
    load(&mut memory, 0x1000, 7, &mut stale);
    load(&mut memory, 0x1000, 7, &mut stale);
    assert_eq!(stale, 1);
    assert!(!has(&mut memory, 0x1000, 1.5));
}

#[test]
fn an_overlapping_store_removes_what_it_overwrites_and_nothing_else() {
    let mut memory = Memory::new(&Pages::new(1 << 30));
    store(&mut memory, 0x1002, &shadowed(1.5));
    store(&mut memory, 0x100a, &shadowed(2.5));
    store(&mut memory, 0x0ffa, &shadowed(0.5));
    store(&mut memory, 0x1002, &Value::plain(1.5f64.to_bits() as u128));
    assert!(has(&mut memory, 0x0ffa, 0.5));
    assert!(!has(&mut memory, 0x1002, 1.5));
    assert!(has(&mut memory, 0x100a, 2.5));
}

#[test]
fn a_copy_moves_shadows_even_onto_itself_and_to_another_alignment() {
    let mut memory = Memory::new(&Pages::new(1 << 30));
    for i in 0..1000u64 {
        store(&mut memory, 0x10000 + 8 * i, &shadowed(i as f64));
    }
    copy(&mut memory, 0x10000 + 8, 0x10000, 8000);
    assert!((0..1000).all(|i| has(&mut memory, 0x10008 + 8 * i, i as f64)));
    copy(&mut memory, 0x20003, 0x10008, 8000);
    assert!((0..1000).all(|i| has(&mut memory, 0x20003 + 8 * i, i as f64)));
    copy(&mut memory, 0x20003, 0x90000, 16);
    assert!(!has(&mut memory, 0x20003, 0.0) && !has(&mut memory, 0x2000b, 1.0) && has(&mut memory, 0x20013, 2.0));
}

#[test]
fn absurd_lengths_cost_nothing() {
    let mut memory = Memory::new(&Pages::new(1 << 30));
    store(&mut memory, 0x1000, &shadowed(1.5));
    copy(&mut memory, 0x7000_0000_0000, 0, u64::MAX);
    assert!(has(&mut memory, 0x7000_0000_1000, 1.5));
    copy(&mut memory, 0, u64::MAX - 100, u64::MAX);
    copy(&mut memory, 0, 0x5000, 0);
}

#[test]
fn a_copy_of_a_memory_and_the_original_go_their_own_ways() {
    let mut parent = Memory::new(&Pages::new(1 << 30));
    store(&mut parent, 0x1000, &shadowed(1.5));
    store(&mut parent, 0x1008, &shadowed(2.5));
    let mut child = parent.clone();
    store(&mut child, 0x1000, &shadowed(7.0));
    store(&mut parent, 0x1008, &Value::plain(8));
    store(&mut parent, 0x5000, &shadowed(9.0));
    assert!(has(&mut parent, 0x1000, 1.5) && has(&mut child, 0x1000, 7.0));
    assert!(has(&mut child, 0x1008, 2.5) && !has(&mut parent, 0x1008, 2.5));
    assert!(has(&mut parent, 0x5000, 9.0) && !has(&mut child, 0x5000, 9.0));
}

#[test]
fn only_what_a_copy_changes_is_copied_and_all_is_given_back() {
    let pages = Pages::new(1 << 30);
    let mut parent = Memory::new(&pages);
    for page in 0..100 {
        store(&mut parent, page * PAGE, &shadowed(1.5));
    }
    let mut child = parent.clone();
    assert!((0..100).all(|page| has(&mut child, page * PAGE, 1.5)));
    store(&mut child, 8, &Value::plain(1));
    copy(&mut child, 100 * PAGE, 50 * PAGE + 8, 100);
    assert_eq!(pages.count.get(), 100);
    store(&mut child, PAGE, &Value::plain(1));
    load(&mut child, 2 * PAGE, 7, &mut 0);
    copy(&mut child, 3 * PAGE + 8, 4 * PAGE, 8);
    assert_eq!(pages.count.get(), 103);
    drop(parent);
    assert_eq!(pages.count.get(), 100);
    drop(child);
    assert_eq!(pages.count.get(), 0);
}

#[test]
fn without_room_shadows_are_lost_and_never_wrong() {
    let pages = Pages::new(1 << 30);
    let mut parent = Memory::new(&pages);
    store(&mut parent, 0x1000, &shadowed(1.5));
    store(&mut parent, 0x1008, &shadowed(2.5));
    let mut child = parent.clone();
    pages.count.set(pages.most);
    store(&mut child, 0x1000, &shadowed(7.0));
    store(&mut child, 0x8000, &shadowed(7.0));
    assert!(!has(&mut child, 0x1000, 1.5) && !has(&mut child, 0x1008, 2.5) && !has(&mut child, 0x8000, 7.0));
    assert!(has(&mut parent, 0x1000, 1.5));
    store(&mut parent, 0x1000, &shadowed(3.0));
    assert!(has(&mut parent, 0x1000, 3.0));
    pages.count.set(1);
}
