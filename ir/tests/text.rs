//! The text form: what is printed is read back as the same block, and bad text is refused with its position.

mod common;

use fpgrind_ir::{Block, assign_slots, parse_block};
use proptest::prelude::*;

/// Every operation and every form of an operand, as printed.
const EVERY_FORM: &str = "\
block 0x1000 record 720 {
  0x1000 4:
    v0: b64 = live rbp #8
    v1: b64 = live fsbase #96
    v2: b32 = live mxcsr #128
    v3: f64 = load [0x601040] #104
    v4: f64 = load [-0x8] #112
    v5: f64 = load [seg v1+v0+v0*8+0x10] #120
    v6: b128 = load [v0*4] #16
    v7: f32 = load [seg v1-0x4] #132
    v8: f64 = fresh xmm15+8 #136 after
    v9: b32 = const 0xffffffff
    v10: b64 = const 0x0
    v11: f64 = extract v6, 2
    v12: b128 = concat v3, v4
    v13: b128 = bit.xor v6, v12
    v14: b128 = bit.and v6, v12
    v15: b128 = bit.andnot v6, v12
    v16: b128 = bit.or v6, v12
  0x1004 15:
  0x1013 1:
    v17: f64 = fma v3, v4, v5
    v18: f32 = cast v17
    v19: flags = compare v3, v4
    v20: b64 = mask.nle v3, v4
    v21: b64 = live out1 #152
    v22: image = image.7 #176
    v23: f80 = st.live v22, 1
    v24: f64 = recall [v0+v2*8], v3
    v25: f16 = half.upper v6, 3
    v26: b32 = concat v25, v25
    v27: f64 = pick.index.4 v2, v3, v4
    v28: f64 = pick.bit.63 v0, v3, v4
    v29: f64 = pick.nth.1 v0, v3, v4, v5
    v30: f64 = pick.rank.1 v0, v3, v4, v5
    v31: f64 = among v3, v4, v5
    v32: f64 = add.up v3, v4 as v5
    v33: f64 = rescale v3, v4
    v34: f80 = fromint.4 v2
    v35: b64 = live k7 #688
    v36: b128 = fresh operand+48 #704 after
    v37: f80 = st.fresh v22, 0
    v38: b16 = const 0x37f
    v39: b64 = advance v0, 0xfffffffffffffff8
    branch.ae v19
    branch.oeq v19
    toint.4.truncate v3
    toint.8.current v7
    touint.2.down v7
    lose v7
    store [v0-0x10], v17
    setmxcsr v2
    setx87control v38
    turn.7
    save [v0]
    restore [v0+0x40]
    copy.1 v0, v1, v10
    forget.8 v0, v10
    enter v3, v4 from v0
    leave pow.0.1 v17, xmm0+0
    leave hypot.1.0 v17, [v0+0x8]
    check v17, xmm0+0 #144 after
    put xmm0+0, v17
    put xmm0+12, v18
    put r15, v10
    drop xmm1+0, 16
    drop rax+4, 4
    put st3, v23 if v0 bit 63
    store [v0], v17 if v2 more 2
    checkst v23, v22, 7
}
";

fn parsed(text: &str) -> Block {
    parse_block(text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

#[test]
fn the_example_in_the_description_is_what_is_printed() {
    let description = include_str!("../src/lib.rs");
    let lines = description.lines().map(|line| line.strip_prefix("//! ").unwrap_or_default());
    let example: Vec<&str> =
        lines.skip_while(|line| *line != "```text").skip(1).take_while(|line| *line != "```").collect();
    assert!(!example.is_empty());
    let block = parsed(&example.join("\n"));
    assert_eq!(fpgrind_ir::verify(&block), Ok(()));
    assert_eq!(block.to_string(), example.join("\n") + "\n");
}

#[test]
fn every_form_is_printed_as_it_was_read() {
    let block = parsed(EVERY_FORM);
    assert_eq!(fpgrind_ir::verify(&block), Ok(()));
    assert_eq!(block.to_string(), EVERY_FORM);
}

#[test]
fn an_empty_block_has_a_text() {
    let block = Block::default();
    assert_eq!(block.to_string(), "block 0x0 record 0 {\n}\n");
    assert_eq!(parsed(&block.to_string()), block);
}

#[test]
fn values_are_renumbered_and_comments_and_spacing_do_not_matter() {
    let text = "; a comment\n\n block 0x10 record 0{ ; another\n0x10 3:\nv70:f64=const 0x1;\n\n drop xmm0+0,8\n v9: f64 = add v70,v70\nput xmm2+8 , v9\n}\n; end";
    let expected = "block 0x10 record 0 {\n  0x10 3:\n    v0: f64 = const 0x1\n    drop xmm0+0, 8\n    v2: f64 = add v0, v0\n    put xmm2+8, v2\n}\n";
    assert_eq!(parsed(text).to_string(), expected);
}

#[test]
fn an_error_says_where_and_what_was_expected() {
    let block = |line: &str| format!("block 0x1 record 0 {{\n  0x1 1:\n    v0: f64 = const 0x1\n{line}\n}}\n");
    for (text, expected) in [
        (String::new(), "line 1, column 1: expected `block`, found the end of the line"),
        ("block 0x1 record 65536 {".into(), "line 1, column 18: expected the bytes of the record, found `65536`"),
        (
            "block 0x1 record 0 {\n".into(),
            "line 2, column 1: expected an instruction such as `0x401136 5:` before its statements, or `}`, found the end of the line",
        ),
        (
            "block 0x1 record 0 {\n}".into(),
            "line 1, column 7: expected 0x0, the address of the first instruction, found `0x1`",
        ),
        (block("  v1: f64 = add v0, v1"), "line 4, column 21: v1 is not defined above"),
        (block("  v0: f64 = neg v0"), "line 4, column 3: v0 is already defined"),
        (block("  v1: f65 = neg v0"), "line 4, column 7: expected a type such as f64, found `f65`"),
        (
            block("  v1: f64 = frob v0"),
            "line 4, column 13: expected an operation such as `add`, `load` or `put`, found `frob`",
        ),
        (block("  v1: f64 = neg v0 #8"), "line 4, column 20: expected the end of the line, found `#`"),
        (
            block("  put xmm32+0, v0"),
            "line 4, column 7: expected a register such as rbp, xmm0, fsbase or mxcsr, found `xmm32`",
        ),
        (block("  put rbp v0"), "line 4, column 11: expected `,`, found `v0`"),
        (block("\u{a0} é v0"), "line 4, column 3: expected an operation such as `add`, `load` or `put`, found `é`"),
        (
            block("  store [v0+v0], v0"),
            "line 4, column 13: expected the parts of an address in the order segment, base, index, displacement, found `v0`",
        ),
        (
            block("  store [v0*2+seg v0], v0"),
            "line 4, column 15: expected the parts of an address in the order segment, base, index, displacement, found `seg`",
        ),
        (block("  store [v0+0x1+v0*2], v0"), "line 4, column 16: expected `]`, found `+`"),
        (block("}\nx"), "line 5, column 1: expected nothing after the closing brace, found `x`"),
    ] {
        let error = parse_block(&text).expect_err(&text);
        assert_eq!(error.to_string(), expected, "in\n{text}");
    }
}

#[test]
fn a_block_with_too_many_instructions_is_refused() {
    let text = "block 0x1 record 0 {\n".to_string() + &"0x1 1:\n".repeat(65537) + "drop xmm0+0, 4\n}";
    assert_eq!(
        parse_block(&text).unwrap_err().to_string(),
        "line 65539, column 1: a block has at most 65536 instructions"
    );
}

/// Pieces that make sense somewhere, to be put where they do not.
fn fragments() -> impl Strategy<Value = String> {
    let pieces =
        ["v0", "v4294967295", "[", "]", "+", "-0x", "0x", "#", "*", ":", "=", "{", "}", "\n", ";", "é", "\u{2028}"];
    let words = [
        "after",
        "seg",
        "toint.",
        "bit.",
        "mask.lt",
        "xmm",
        "99999999999999999999",
        "0xfffffffffffffffffffffffffffffffff",
    ];
    prop_oneof![prop::sample::select([&pieces[..], &words[..]].concat()).prop_map(String::from), ".{0,3}"]
}

proptest! {
    #[test]
    fn every_block_is_read_back_as_it_was(block in common::blocks(), with_slots: bool) {
        let block = if with_slots { assign_slots(block) } else { block };
        prop_assert_eq!(&parsed(&block.to_string()), &block);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "(?s).{0,200}") {
        let _ = parse_block(&text);
    }

    #[test]
    fn no_change_to_a_good_text_makes_the_parser_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..6usize, fragments()), 1..4),
    ) {
        let mut text: Vec<char> = EVERY_FORM.chars().collect();
        for (index, removed, inserted) in changes {
            let start = index.index(text.len());
            let end = (start + removed).min(text.len());
            text.splice(start..end, inserted.chars());
        }
        if let Ok(block) = parse_block(&text.iter().collect::<String>()) {
            // It may be wrong, and then verifying must say so; but it has a text, and that is the same block.
            let _ = fpgrind_ir::verify(&block);
            prop_assert_eq!(parsed(&block.to_string()), block);
        }
    }
}
