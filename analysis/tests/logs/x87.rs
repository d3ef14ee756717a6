//! Long doubles: the x87's registers, its arithmetic under its control word, and long doubles in memory.

use crate::support::{Log, causes};
use fpgrind_analysis::{CauseKind, Number};
use fpgrind_ir::{Place, Reg, Type};
use std::arch::asm;

/// Where an image has the control word, the status word, and st(0), in words of eight bytes from its beginning.
const CONTROL: usize = 0;
const ST: usize = 32;

fn long(value: f64) -> u128 {
    Number::from(value).to(Type::F80).bits
}

/// The fields of an image at a slot: the control word, the top of the stack, and registers.
fn image(slot: usize, control: u16, top: u8, registers: &[u128]) -> Vec<(usize, u64)> {
    // All registers are tagged as in use.
    let words = control as u64 | (top as u64) << (16 + 11) | 0xff << 32;
    let mut fields = vec![(slot + CONTROL, words)];
    for (index, bits) in registers.iter().enumerate() {
        let at = slot + ST + 16 * index;
        fields.extend([(at, *bits as u64), (at + 8, (bits >> 64) as u64)]);
    }
    fields
}

/// (a + 1) - a on the x87 under a control word.
fn lost_one(a: u128, control: u16) -> u128 {
    let one = [long(1.0)];
    let (a, mut result, mut ours) = ([a], [0u128], 0u16);
    // SAFETY: the stack is left empty, the control word is put back.
    unsafe {
        asm!(
            "fnstcw [{ours}]", "fldcw [{control}]",
            "fld tbyte ptr [{a}]", "fld tbyte ptr [{one}]", "faddp", "fld tbyte ptr [{a}]", "fsubp", "fstp tbyte ptr [{r}]",
            "fldcw [{ours}]",
            ours = in(reg) &mut ours, control = in(reg) &control, a = in(reg) &a, one = in(reg) &one, r = in(reg) &mut result,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
        );
    }
    result[0]
}

/// st(0) = (st(0) + 1) - st(0), stored as a long double.
const LOST_ONE: &str = "
block 0x1000 record 544 {
  0x1000 4:
    v0: b64 = live rdi #8
    v1: image = image.0 #16
    v2: f80 = st.fresh v1, 0
    v3: f80 = const 0x3fff8000000000000000
    v4: f80 = add v2, v3
  0x1004 4:
    v5: f80 = sub v4, v2
    store [v0], v5
    put st0, v5
}";

fn run_lost_one(log: &mut Log, block: u32, a: f64, control: u16) -> u128 {
    let mut fields = image(16, control, 0, &[long(a)]);
    fields.push((8, 0x10000));
    log.run(block, &fields);
    let native = lost_one(long(a), control);
    log.print_long(0x10000, native);
    native
}

#[test]
fn long_doubles_cancel_and_are_shown_with_all_their_digits() {
    let mut log = Log::new();
    let block = log.block(LOST_ONE);
    for a in [1.0, 1e10, 1e17, 1e18, 3.3e19, 1e21] {
        let native = run_lost_one(&mut log, block, a, 0x37f);
        let shadow = log.analysis.register(0, Place::whole(Reg::X87(0)), Type::F80).expect("a shadow");
        assert_eq!((shadow.native, shadow.rounded), (native, long(1.0)), "{a}");
    }
    let findings = log.finish();
    assert_eq!(causes(&findings), ["(x + 1) - x"]);
    let cause = &findings.causes[0];
    assert_eq!(
        (cause.ty, cause.kind, cause.computed == 0.0, cause.correct == 1.0),
        (Type::F80, CauseKind::Inaccurate, true, true)
    );
    // Up to 2^64 nothing is lost: a double would have lost it from 2^53 on.
    assert!(cause.variables[0].erroneous.positive.unwrap().0 > 1e19);
    assert!((cause.reproduced_bits - cause.max_bits).abs() < 1e-9);
    assert_eq!((findings.spots[0].wrong, findings.spots[0].correct == 1.0), (cause.erroneous, true));
    assert_eq!(cause.variables[0].worst.ty, Type::F80);
}

#[test]
fn precision_control_makes_steps_larger_and_its_rounding_is_no_error() {
    // 53 digits: a third is off by 2^10 steps of a long double, and correct.
    let mut log = Log::new();
    let block = log.block(
        "block 0x1000 record 544 {
  0x1000 4:
    v0: b64 = live rdi #8
    v1: image = image.0 #16
    v2: f80 = st.live v1, 0
    v3: f80 = const 0x4000c000000000000000
    v4: f80 = div v2, v3
    store [v0], v4
}",
    );
    let mut fields = image(16, 0x27f, 0, &[long(1.0)]);
    fields.push((8, 0x10000));
    log.run(block, &fields);
    let third = 0x3ffd_aaaa_aaaa_aaaa_a800;
    log.print_long(0x10000, third);
    let findings = log.finish();
    assert_eq!((findings.spots[0].wrong, findings.spots[0].max_bits), (0, 0.0));
    assert!(findings.spots[0].computed == Number::new(Type::F80, third));
    // And with 53 digits 1 is lost where 64 would keep it.
    let mut log = Log::new();
    let block = log.block(LOST_ONE);
    run_lost_one(&mut log, block, 1e17, 0x27f);
    let findings = log.finish();
    assert_eq!(causes(&findings), ["(x + 1) - x"]);
    assert!(findings.causes[0].reproduced_bits > 5.0);
}

#[test]
fn shadows_follow_the_stack_when_it_turns() {
    let mut log = Log::new();
    // Pushes a - (a + tiny): the top is one register lower when the block ends.
    let push = log.block(
        "block 0x1000 record 544 {
  0x1000 4:
    v0: image = image.0 #16
    v1: f80 = st.fresh v0, 0
    v2: f80 = const 0x3f9b8000000000000000
    v3: f80 = add v1, v2
    v4: f80 = sub v1, v3
    put st7, v4
    turn.7
}",
    );
    let read = log.block(
        "block 0x2000 record 544 {
  0x2000 4:
    v0: image = image.0 #16
    v1: f80 = st.live v0, 0
    v2: f80 = st.live v0, 1
    v3: f80 = neg v1
    put st1, v3
    turn.1
}",
    );
    let top = Place::whole(Reg::X87(0));
    log.run(push, &image(16, 0x37f, 0, &[long(3.0)]));
    let shadow = log.analysis.register(0, top, Type::F80).expect("pushed");
    let tiny = long(-(2f64.powi(-100)));
    assert_eq!((shadow.native, shadow.rounded), (0, tiny));
    log.run(read, &image(16, 0x37f, 7, &[0, long(3.0)]));
    let shadow = log.analysis.register(0, top, Type::F80).expect("popped");
    assert_eq!((shadow.native, shadow.rounded), (1 << 79, long(2f64.powi(-100))));
    // An image taken after a push tells where the top was before it.
    let later = log.block(
        "block 0x3000 record 544 {
  0x3000 4:
    v0: image = image.7 #16
    v1: f80 = st.live v0, 1
    put st3, v1
}",
    );
    log.run(later, &image(16, 0x37f, 7, &[long(9.0), 1 << 79]));
    assert!(log.analysis.register(0, Place::whole(Reg::X87(3)), Type::F80).is_some());
    log.finish();
}

#[test]
fn a_long_double_copied_in_pieces_keeps_its_shadow_and_a_changed_one_does_not() {
    let mut log = Log::new();
    let make = log.block(LOST_ONE);
    run_lost_one(&mut log, make, 1e21, 0x37f);
    let copy = log.block(
        "block 0x2000 record 48 {
  0x2000 4:
    v0: b64 = live rdi #8
    v1: b64 = load [v0] #16
    v2: b64 = load [v0+0x8] #24
    store [v0+0x20], v1
    store [v0+0x28], v2
    v3: b64 = live rsi #32
    store [v0+0x40], v1
    store [v0+0x48], v3
}",
    );
    log.run(copy, &[(8, 0x10000), (16, 0), (24, 0), (32, 0x4000)]);
    let load = log.block(
        "block 0x3000 record 48 {
  0x3000 4:
    v0: b64 = live rdi #8
    v1: f80 = load [v0] #16
    put st0, v1
}",
    );
    let top = Place::whole(Reg::X87(0));
    log.run(load, &[(8, 0x10020)]);
    assert_eq!(log.analysis.register(0, top, Type::F80).expect("copied").rounded, long(1.0));
    log.run(load, &[(8, 0x10040), (24, 0x4000)]);
    assert!(log.analysis.register(0, top, Type::F80).is_none());
    log.finish();
}

#[test]
fn an_unfinished_remainder_has_no_shadow() {
    let mut log = Log::new();
    let block = log.block(
        "block 0x1000 record 544 {
  0x1000 4:
    v0: image = image.0 #16
    v1: f80 = st.live v0, 0
    v2: f80 = st.live v0, 1
    v3: f80 = fmod v1, v2
    put st0, v3
}",
    );
    let top = Place::whole(Reg::X87(0));
    log.run(block, &image(16, 0x37f, 0, &[long(7.5), long(2.0)]));
    assert_eq!(log.analysis.register(0, top, Type::F80).expect("done").native, long(1.5));
    log.run(block, &image(16, 0x37f, 0, &[long(1e300), long(3.0)]));
    assert!(log.analysis.register(0, top, Type::F80).is_none());
    log.finish();
}

#[test]
fn saved_registers_come_back_with_their_shadows() {
    let mut log = Log::new();
    let make = log.block(LOST_ONE);
    run_lost_one(&mut log, make, 1e21, 0x37f);
    let save = log
        .block("block 0x2000 record 16 {\n  0x2000 4:\n    v0: b64 = live rdi #8\n    save [v0]\n    drop st0, 12\n}");
    let restore = log.block("block 0x3000 record 16 {\n  0x3000 4:\n    v0: b64 = live rdi #8\n    restore [v0]\n}");
    let top = Place::whole(Reg::X87(0));
    log.run(save, &[(8, 0x5000)]);
    assert!(log.analysis.register(0, top, Type::F80).is_none());
    log.run(restore, &[(8, 0x6000)]);
    assert!(log.analysis.register(0, top, Type::F80).is_none());
    log.run(restore, &[(8, 0x5000)]);
    assert!(log.analysis.register(0, top, Type::F80).is_some());
    // Only the newest are remembered.
    for i in 0..64 {
        log.run(save, &[(8, 0x10_0000 + 0x1000 * i)]);
    }
    log.run(restore, &[(8, 0x5000)]);
    assert!(log.analysis.register(0, top, Type::F80).is_none());
    log.finish();
}

#[test]
fn a_changed_exponent_is_a_multiplication_and_an_integer_a_leaf() {
    let mut log = Log::new();
    let block = log.block(
        "block 0x1000 record 560 {
  0x1000 4:
    v0: image = image.0 #16
    v1: f80 = st.fresh v0, 0
    v2: f80 = const 0x3f9b8000000000000000
    v3: f80 = add v1, v2
    v4: f80 = st.fresh v0, 1
    v5: f80 = rescale v4, v3
    put st0, v5
    v6: f80 = st.fresh v0, 2
    v7: f80 = rescale v6, v3
    put st1, v7
    v8: b64 = live rax #8
    v9: f80 = fromint.4 v8
    v10: f80 = const 0x3fff8000000000000000
    v11: f80 = add v9, v10
    put st2, v11
}",
    );
    let mut fields = image(16, 0x37f, 0, &[long(3.0), long(-0.75), long(0.7)]);
    fields.push((8, 0xffff_fffe));
    log.run(block, &fields);
    let st = |n| log.analysis.register(0, Place::whole(Reg::X87(n)), Type::F80);
    assert_eq!(st(0).expect("rescaled").native, long(-0.75));
    assert!(st(1).is_none());
    assert_eq!(st(2).expect("a sum").native, long(-1.0));
    log.finish();
}
