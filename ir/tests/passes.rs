//! What the passes do to a block, as text in and text out, and what holds for all blocks.

mod common;

use fpgrind_ir::{
    Block, GuestInstr, MAX_RECORD, Op, Place, Slot, Type, When, assign_slots, eliminate_dead, parse_block,
    share_record, verify,
};
use proptest::prelude::*;

/// A block of one instruction with these statements, one a line.
fn block(record: u16, stmts: &str) -> String {
    let lines: String = stmts.lines().map(|line| format!("    {}\n", line.trim())).collect();
    format!("block 0x10 record {record} {{\n  0x10 4:\n{lines}}}\n")
}

fn parsed(text: &str) -> Block {
    parse_block(text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

#[track_caller]
fn check(pass: fn(Block) -> Block, input: &str, record: u16, expected: &str) {
    assert_eq!(pass(parsed(&block(0, input))).to_string(), block(record, expected));
}

#[test]
fn a_value_that_reaches_no_effect_is_removed_with_all_it_needed() {
    check(
        eliminate_dead,
        "v0: f64 = live xmm0+0
         v1: f64 = live xmm1+0
         v2: f64 = add v0, v1
         v3: f64 = mul v0, v0
         put xmm0+0, v3
         v5: f64 = sqrt v2",
        0,
        "v0: f64 = live xmm0+0
         v1: f64 = mul v0, v0
         put xmm0+0, v1",
    );
}

#[test]
fn the_parts_of_an_address_that_is_stored_to_are_needed() {
    check(
        eliminate_dead,
        "v0: b64 = live rax
         v1: b64 = live rbx
         v2: b64 = live fsbase
         v3: b64 = live rcx
         v4: f64 = const 0x0
         store [seg v2+v1+v3*8], v4",
        0,
        "v0: b64 = live rbx
         v1: b64 = live fsbase
         v2: b64 = live rcx
         v3: f64 = const 0x0
         store [seg v1+v0+v2*8], v3",
    );
}

#[test]
fn a_mask_stays_though_nothing_uses_it_because_it_is_a_decision() {
    let stmts = "v0: f64 = live xmm0+0\nv1: b64 = mask.lt v0, v0";
    check(eliminate_dead, stmts, 0, stmts);
}

#[test]
fn fields_are_laid_out_widest_first_and_the_hole_behind_the_header_is_filled() {
    check(
        assign_slots,
        "v0: f32 = live xmm0+0
         v1: b128 = live xmm1+0
         v2: f64 = live xmm2+8
         v3: b128 = live xmm3+0
         v4: f64 = live xmm4+0
         v5: b32 = live mxcsr
         put xmm0+0, v1",
        64,
        "v0: f32 = live xmm0+0 #56
         v1: b128 = live xmm1+0 #16
         v2: f64 = live xmm2+8 #8
         v3: b128 = live xmm3+0 #32
         v4: f64 = live xmm4+0 #48
         v5: b32 = live mxcsr #60
         put xmm0+0, v1",
    );
}

#[test]
fn two_short_fields_share_the_hole_before_a_wide_one() {
    check(
        assign_slots,
        "v0: b128 = live xmm1+0
         v1: f32 = live xmm2+0
         v2: f32 = live xmm3+0
         check v1, xmm2+0
         put xmm0+0, v0",
        48,
        "v0: b128 = live xmm1+0 #16
         v1: f32 = live xmm2+0 #8
         v2: f32 = live xmm3+0 #12
         check v1, xmm2+0 #32
         put xmm0+0, v0",
    );
}

#[test]
fn a_block_that_logs_nothing_but_has_an_effect_writes_a_bare_header() {
    let stmts = "v0: f64 = const 0x0\nput xmm0+0, v0";
    check(assign_slots, stmts, 16, stmts);
}

#[test]
fn a_block_that_only_drops_writes_no_record() {
    let stmts = "v0: f64 = live xmm0+0\ndrop xmm0+0, 16";
    check(assign_slots, stmts, 0, stmts);
    let stale = block(16, "v0: f64 = live xmm0+0 #8\ndrop xmm0+0, 16");
    assert_eq!(assign_slots(parsed(&stale)).to_string(), block(0, stmts));
}

/// A block that logs so many 8-byte values.
fn logging(fields: usize) -> Block {
    let mut block = Block { instrs: vec![GuestInstr { pc: 0x10, len: 4 }], ..Block::default() };
    for _ in 0..fields {
        let op = Op::Live { place: Place::gpr(0), slot: Slot::UNASSIGNED };
        let value = block.push(0, When::Before, Some(Type::B64), op);
        block.push(0, When::Before, None, Op::Put { place: Place::gpr(1), value });
    }
    block
}

#[test]
fn a_block_whose_record_would_be_too_long_loses_its_statements() {
    assert_eq!(assign_slots(logging(MAX_RECORD / 8 - 1)).record as usize, MAX_RECORD);
    let degraded = assign_slots(logging(MAX_RECORD / 8));
    assert_eq!((degraded.record, degraded.stmts.len(), degraded.instrs.len()), (0, 0, 1));
}

fn is_needed(block: &Block, index: usize) -> bool {
    let mut used = block.stmts[index].op.has_effect();
    for stmt in &block.stmts {
        stmt.for_each_use(&mut |value| used |= value.index() == index);
    }
    used
}

proptest! {
    #[test]
    fn after_dead_code_elimination_every_value_is_used_and_every_effect_is_there(block in common::blocks()) {
        let effects = |block: &Block| block.stmts.iter().filter(|stmt| stmt.op.has_effect()).count();
        let result = eliminate_dead(block.clone());
        prop_assert_eq!(verify(&result), Ok(()));
        prop_assert_eq!(effects(&result), effects(&block));
        for index in 0..result.stmts.len() {
            prop_assert!(is_needed(&result, index), "statement {} of\n{}", index, result);
        }
        prop_assert_eq!(&eliminate_dead(result.clone()), &result);
    }

    #[test]
    fn a_record_is_as_short_as_its_fields_allow(block in common::blocks()) {
        let bytes: usize = block.stmts.iter().filter_map(|stmt| block.logged_bytes(stmt)).sum();
        let result = assign_slots(block);
        // That fields are aligned, apart and inside is what the verifier says.
        prop_assert_eq!(verify(&result), Ok(()));
        let writes = result.stmts.iter().any(|stmt| stmt.op.has_effect() && !matches!(stmt.op, Op::Drop { .. }));
        prop_assert_eq!(result.record as usize, if writes { (8 + bytes).next_multiple_of(16) } else { 0 });
    }
}

/// Two times through a loop: the second time uses what the first has logged, and overwrites what it has computed.
#[test]
fn a_loop_writes_one_record_whenever_it_is_left() {
    let first = "v0: b64 = live rax
                 v1: f64 = load [v0]
                 v2: f64 = live xmm0+0
                 v3: f64 = live xmm1+0
                 v4: f64 = mul v1, v3
                 v5: f64 = add v2, v1";
    let second = "v6: b64 = advance v0, 0x8
                  v7: f64 = load [v6]
                  v8: f64 = add v5, v7";
    let once = parsed(&block(0, &format!("{first}\nput xmm0+0, v5\nput xmm2+0, v4")));
    let twice = parsed(&block(0, &format!("{first}\n{second}\nput xmm0+0, v8")));
    let blocks = share_record(vec![once, twice], &[6, 9]).expect("it can be logged").into_iter();
    let texts: Vec<String> = blocks.map(|block| block.to_string()).collect();
    let logged = "v0: b64 = live rax #8
                  v1: f64 = load [v0] #16
                  v2: f64 = live xmm0+0 #24
                  v3: f64 = live xmm1+0 #32";
    let once = format!("{logged}\nv4: f64 = mul v1, v3\nv5: f64 = add v2, v1\nput xmm0+0, v5\nput xmm2+0, v4");
    // The product is not needed any more, but what it is made of is logged for the case that the loop ends before.
    let twice = format!(
        "{logged}\nv4: f64 = add v2, v1\nv5: b64 = advance v0, 0x8\nv6: f64 = load [v5] #48\nv7: f64 = add v4, v6\nput xmm0+0, v7"
    );
    assert_eq!(texts, [block(48, &once), block(64, &twice)]);
}

#[test]
fn a_loop_that_logs_when_it_is_left_is_not_shared() {
    let first = "v0: f64 = live xmm0+0";
    let once = parsed(&block(0, &format!("{first}\nv1: f64 = live xmm1+0\nput xmm2+0, v1")));
    let twice = parsed(&block(0, &format!("{first}\nput xmm2+0, v0")));
    assert!(share_record(vec![once, twice.clone()], &[1, 1]).is_none());
    assert!(share_record(vec![twice.clone(), twice], &[1, 1]).is_some());
}
