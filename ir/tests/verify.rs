//! The verifier accepts what makes sense, and refuses one example of everything that does not.

mod common;

use fpgrind_ir::{Block, GuestInstr, Op, Place, Slot, Type, Value, When, parse_block, verify};
use proptest::prelude::*;

/// Values of every type, for the statements under test. They are statements 0 to 6; what follows begins at 7.
const VALUES: &str = "
    v0: f32 = const 0x1
    v1: f64 = const 0x1
    v2: b32 = const 0x1
    v3: b64 = const 0x1
    v4: b128 = const 0x1
    v5: flags = compare v1, v1
    drop rax, 8
";

fn block(record: u16, stmts: &str) -> Block {
    let text = format!("block 0x10 record {record} {{\n0x10 4:\n{VALUES}\n{stmts}\n}}");
    parse_block(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

fn problem(block: &Block) -> String {
    match verify(block) {
        Ok(()) => format!("nothing is wrong with\n{block}"),
        Err(error) => error.problem,
    }
}

#[test]
fn an_error_names_the_statement_and_shows_it() {
    let error = verify(&block(0, "v7: f64 = add v1, v0")).unwrap_err();
    assert_eq!(error.to_string(), "statement 7 (`v7: f64 = add v1, v0`): v0 is f32 and must be f64");
}

#[test]
fn each_operation_is_refused_with_the_wrong_types_or_places() {
    for (stmt, expected) in [
        // Definitions.
        ("live xmm0+0", "must define a value"),
        ("mask.lt v1, v1", "must define a value"),
        ("v7: f64 = put xmm0+0, v1", "is an effect and defines no value"),
        ("v7: f64 = sqrt v1 after", "only fresh, image and check can be taken after"),
        ("v7: f64 = live xmm0+0 after", "only fresh, image and check can be taken after"),
        ("v7: f64 = load [0x0] after", "only fresh, image and check can be taken after"),
        // Operators.
        ("v7: f64 = add v1", "add takes 2, but the arguments are 1"),
        ("v7: f64 = sqrt v1, v1", "sqrt takes 1, but the arguments are 2"),
        ("v7: b64 = neg v3", "an operator gives a float, not b64"),
        ("v7: f64 = neg v3", "v3 is b64 and must be a float"),
        ("v7: f64 = neg v0", "v0 is f32 and must be f64"),
        ("v7: f64 = add v0, v1", "v1 is f64 and must be f32"),
        ("v7: f64 = cast v1", "a cast from f64 to f64 is none"),
        ("v7: f64 = cast v2", "v2 is b32 and must be a float"),
        ("v7: b32 = cast v1", "an operator gives a float, not b32"),
        // Comparisons.
        ("v7: b64 = compare v1, v1", "a comparison gives flags, not b64"),
        ("v7: flags = compare v1, v0", "v0 is f32 and must be f64"),
        ("v7: flags = compare v3, v3", "v3 is b64 and must be a float"),
        ("v7: b32 = mask.lt v1, v1", "a mask has the width of its arguments, not b32"),
        ("v7: f64 = mask.lt v1, v1", "a mask has the width of its arguments, not f64"),
        ("v7: b64 = mask.lt v1, v0", "v0 is f32 and must be f64"),
        ("v7: b64 = mask.lt v3, v3", "v3 is b64 and must be a float"),
        ("branch.a v3", "v3 is b64 and must be flags"),
        ("toint.4.truncate v3", "v3 is b64 and must be a float"),
        ("toint.3.truncate v1", "an integer has 2, 4 or 8 bytes, not 3"),
        // Moving bits.
        ("v7: f64 = extract v4, 3", "v4 is b128 and has no f64 at granule 3"),
        ("v7: b64 = extract v2, 0", "v2 is b32 and has no b64 at granule 0"),
        ("v7: b32 = extract v5, 0", "flags has no bits to move"),
        ("v7: flags = extract v4, 0", "flags has no bits to move"),
        ("v7: b128 = concat v1, v0", "the parts have 12 bytes, not those of b128"),
        ("v7: b128 = concat v1, v1, v5", "flags has no bits to move"),
        ("v7: flags = concat v1", "flags has no bits to move"),
        ("v7: b64 = bit.xor v3, v2", "v2 is b32 and must be b64"),
        ("v7: b64 = bit.xor v1, v1", "v1 is f64 and must be b64"),
        ("v7: f64 = bit.xor v1, v1", "logic on bits cannot give f64"),
        ("v7: f64 = pick.bit.63 v3, v1, v0", "v0 is f32 and must be f64"),
        ("v7: f64 = pick.bit.63 v4, v1, v1", "v4 is b128 and must be an integer of up to eight bytes"),
        ("v7: f64 = pick.bit.0 v3, v1, v1, v1", "cannot pick out of 3 by Bit(0)"),
        ("v7: f64 = pick.index.0 v3, v1, v1, v1", "cannot pick out of 3 by Index(0)"),
        ("v7: f64 = pick.rank.2 v3, v1, v1, v1", "cannot pick out of 3 by Rank(2)"),
        ("v7: f64 = among v1, v0", "v0 is f32 and must be f64"),
        ("v7: f16 = extract v4, 0", "v4 is b128 and has no f16 at granule 0"),
        ("v7: f32 = half.upper v4, 0", "f32 is not half a granule"),
        ("v7: f16 = half.upper v4, 4", "v4 is b128 and has no whole granule 4"),
        ("v7: b64 = advance v1, 0x8", "v1 is f64 and must be b64"),
        ("v7: b32 = advance v3, 0x8", "an address is b64, not b32"),
        ("v7: f64 = add v1, v1 as v0", "v0 is f32 and must be f64"),
        ("v7: f64 = rescale v1, v0", "v0 is f32 and must be f64"),
        ("v7: f80 = fromint.3 v3", "an integer has 2, 4 or 8 bytes, not 3"),
        ("v7: f80 = st.live v3, 0", "v3 is b64 and must be image"),
        ("v7: f64 = image.0", "an image is no f64"),
        ("v7: f80 = live st0", "no single store writes 10 bytes from st0"),
        ("turn.8", "the x87's stack has eight registers and cannot turn by 8"),
        ("v7: f64 = add v1, v1 if v1 bit 3", "v1 is f64 and must be an integer of up to eight bytes"),
        ("v7: f64 = add v1, v1 if v3 bit 64", "a mask has no bit 64"),
        ("v7: f64 = load [v3] if v3 bit 0", "logs, and cannot depend on a mask"),
        ("v7: f32 = const 0x100000000", "the constant is wider than f32"),
        ("v7: flags = const 0x0", "flags has no bits to move"),
        // Memory.
        ("v7: f64 = load [v2]", "v2 is b32 and must be b64"),
        ("v7: f64 = load [v1*8]", "v1 is f64 and must be b64"),
        ("v7: f64 = load [seg v1+v3]", "v1 is f64 and must be b64"),
        ("v7: f64 = load [v3*3]", "the scale 3 does not exist"),
        ("v7: flags = load [v3]", "flags has no bits to move"),
        ("store [v2], v1", "v2 is b32 and must be b64"),
        ("store [v3], v5", "flags has no bits to move"),
        ("copy.1 v3, v3, v2", "v2 is b32 and must be b64"),
        ("copy.1 v3, v2, v3", "v2 is b32 and must be b64"),
        ("copy.1 v2, v3, v3", "v2 is b32 and must be b64"),
        // Registers.
        ("v7: f64 = live xmm0+60", "8 bytes at xmm0+60 reach beyond the register's 64"),
        ("v7: b128 = fresh rax", "16 bytes at rax reach beyond the register's 8"),
        ("v7: f32 = live xmm0+2", "4 bytes at xmm0+2 are not whole granules of 4 bytes"),
        ("v7: f32 = live xmm0+4", "no single store writes 4 bytes from xmm0+4"),
        ("v7: f32 = live xmm0+8", "no single store writes 4 bytes from xmm0+8"),
        ("v7: b128 = live xmm0+8", "no single store writes 16 bytes from xmm0+8"),
        ("v7: f64 = live xmm0+16", "no single store writes 8 bytes from xmm0+16"),
        ("v7: f64 = fresh xmm0+4", "no single store writes 8 bytes from xmm0+4"),
        ("v7: b32 = live rax+4", "no single store writes 4 bytes from rax+4"),
        ("v7: flags = live rax", "flags has no bits to move"),
        ("check v0, xmm0+4", "no single store writes 4 bytes from xmm0+4"),
        ("check v5, xmm0+0", "flags has no bits to move"),
        ("put xmm0+60, v1", "8 bytes at xmm0+60 reach beyond the register's 64"),
        ("put xmm0+1, v1", "8 bytes at xmm0+1 are not whole granules of 4 bytes"),
        ("put mxcsr, v3", "8 bytes at mxcsr reach beyond the register's 4"),
        ("put xmm0+0, v5", "flags has no bits to move"),
        ("drop xmm0+52, 16", "16 bytes at xmm0+52 reach beyond the register's 64"),
        ("drop rax, 1", "1 bytes at rax are not whole granules of 4 bytes"),
        ("drop rax, 0", "0 bytes at rax are not whole granules of 4 bytes"),
        ("setmxcsr v3", "v3 is b64 and must be b32"),
        // Calls.
        ("enter v3 from v3", "v3 is b64 and must be a float"),
        ("enter v1, v2 from v3", "v2 is b32 and must be a float"),
        ("enter v1 from v2", "v2 is b32 and must be b64"),
        ("leave sin.0 v4, xmm0+0", "v4 is b128 and must be a float or an integer"),
        ("leave pow.0 v1, xmm0+0", "pow takes 2, but the arguments are 1"),
        ("leave sin.0 v3, [v3]", "v3 is b64 and must be a float"),
        ("leave sin.0 v1, [v2]", "v2 is b32 and must be b64"),
        ("v7: b128 = live out1", "16 bytes at out1 reach beyond the register's 8"),
        ("leave sin.0 v1, xmm0+60", "8 bytes at xmm0+60 reach beyond the register's 64"),
    ] {
        assert_eq!(problem(&block(0, stmt)), expected, "for `{stmt}`");
    }
}

#[test]
fn a_use_must_name_a_value_that_was_defined_before() {
    for (value, expected) in [
        (7, "v7 is not defined before it is used"),
        (8, "v8 is not defined before it is used"),
        (u32::MAX, "v4294967295 is not defined before it is used"),
        (6, "v6 names a statement that defines no value"),
    ] {
        let mut block = block(0, "");
        block.push(0, When::Before, None, Op::Put { place: Place::vec(0, 0), value: Value(value) });
        block.push(0, When::Before, Some(Type::F64), Op::Const { bits: 0 });
        assert_eq!(problem(&block), expected);
    }
}

#[test]
fn a_register_must_exist() {
    for (place, expected) in
        [(Place::gpr(16), "there is no register gpr16"), (Place::vec(32, 0), "there is no register xmm32")]
    {
        let mut block = block(0, "");
        block.push(0, When::Before, None, Op::Drop { place, bytes: 8 });
        assert_eq!(problem(&block), expected);
    }
}

#[test]
fn statements_belong_to_instructions_of_the_block_in_order() {
    let mut block = block(0, "");
    block.instrs.push(GuestInstr { pc: 0x14, len: 1 });
    let op = Op::Drop { place: Place::gpr(0), bytes: 8 };
    block.push(1, When::Before, None, op.clone());
    assert_eq!(verify(&block), Ok(()));
    block.push(0, When::Before, None, op.clone());
    assert_eq!(problem(&block), "belongs to instruction 0, but the statement before to 1");
    block.stmts.pop();
    block.push(2, When::Before, None, op);
    assert_eq!(problem(&block), "belongs to instruction 2, but the block has 2");
}

#[test]
fn slots_lie_aligned_and_apart_between_header_and_end_of_the_record() {
    for (record, stmts, expected) in [
        (24, "", "the record of 24 bytes is no multiple of 16"),
        (0, "v7: f64 = live xmm0+0 #8", "has a slot in a block that writes no record"),
        (16, "v7: f64 = live xmm0+0", "has no slot in the record"),
        (16, "v7: f32 = live xmm0+0 #4", "lies in the record's header"),
        (32, "v7: f64 = load [v3] #12", "is not aligned to its 8 bytes"),
        (32, "v7: b128 = load [v3] #8", "is not aligned to its 16 bytes"),
        (16, "v7: f64 = fresh xmm0+0 #16", "reaches beyond the record's 16 bytes"),
        (16, "check v4, xmm0+0 #16", "reaches beyond the record's 16 bytes"),
        (32, "v7: f64 = live xmm0+0 #8\nv8: f64 = live xmm1+0 #8", "its slot overlaps that of statement 7"),
        (32, "v7: f32 = live xmm0+0 #20\nv8: b128 = live xmm1+0 #16", "its slot overlaps that of statement 8"),
    ] {
        assert_eq!(problem(&block(record, stmts)), expected, "for record {record} with\n{stmts}");
    }
    let good =
        "v7: f32 = live xmm0+0 #12\nv8: b128 = live xmm1+0 #16\nv9: f32 = load [v3] #8\ncheck v1, xmm0+8 #32 after";
    assert_eq!(verify(&block(48, good)), Ok(()));
}

#[test]
fn a_place_that_one_store_can_write_may_be_logged() {
    for stmt in [
        "v7: f32 = live xmm0+0",
        "v7: f64 = live xmm0+8",
        "v7: b128 = live xmm0+0",
        "v7: b128 = live xmm0+16",
        "v7: b32 = live rax",
        "v7: b64 = live rax",
        "v7: b64 = live fsbase",
        "v7: b32 = live mxcsr",
        "v7: f64 = fresh xmm0+0 after",
    ] {
        assert_eq!(verify(&block(0, stmt)), Ok(()), "for `{stmt}`");
    }
}

#[test]
fn flags_are_not_logged_even_when_a_block_is_made_by_hand() {
    let mut block = block(32, "");
    block.push(0, When::Before, Some(Type::Flags), Op::Live { place: Place::gpr(0), slot: Slot(8) });
    assert_eq!(problem(&block), "flags has no bits to move");
}

proptest! {
    #[test]
    fn every_block_made_by_the_rules_is_accepted(block in common::blocks()) {
        prop_assert_eq!(verify(&block), Ok(()));
    }
}
