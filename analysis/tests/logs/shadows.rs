//! Where shadows come from, how they travel, and when they are dropped.

use crate::support::{Log, causes};

#[test]
fn a_wrapped_function_is_one_operation_and_its_calls_are_told_apart() {
    let mut log = Log::new();
    let enter = log.block(
        "block 0x7000 record 32 {
  0x7000 4:
    v0: f64 = live xmm0+0 #8
    v1: b64 = live rax #16
    enter v0 from v1
}",
    );
    let leave = log.block(
        "block 0x1000 record 16 {
  0x1000 4:
    v0: f64 = fresh xmm0+0 #8
    leave sin.0 v0, xmm0+0
}",
    );
    let subtract = log.block(
        "block 0x1004 record 32 {
  0x1004 4:
    v0: f64 = live xmm0+0 #8
    v1: f64 = fresh xmm1+0 #16 after
    v2: f64 = sub v0, v1
    put xmm0+0, v2
}",
    );
    for x in [1e-9f64, 1e-3, 0.5] {
        log.run(enter, &[(8, x.to_bits()), (16, 0x1000)]);
        log.run(leave, &[(8, x.sin().to_bits())]);
        log.run(subtract, &[(8, x.sin().to_bits()), (16, x.to_bits())]);
        log.print(x.sin() - x);
    }
    // Two other calls, whose results are off by a thousand ulps: a poor library.
    for caller in [0x2000, 0x3000] {
        let poor = f64::from_bits(1f64.sin().to_bits() + 1000);
        log.run(enter, &[(8, 1f64.to_bits()), (16, caller)]);
        log.run(leave, &[(8, poor.to_bits())]);
        log.print(poor);
    }
    // And one that is no sine at all: a function of the program's own that is called so.
    log.run(enter, &[(8, 1f64.to_bits()), (16, 0x4000)]);
    log.run(leave, &[(8, 42f64.to_bits())]);
    log.print(42.0);
    let findings = log.finish();
    assert_eq!(findings.totals.misnamed_calls, 1);
    let mut causes = causes(&findings);
    causes.sort();
    assert_eq!(causes, ["sin(x)", "sin(x)", "sin(x) - x"]);
    let [a, b] =
        [0x2000, 0x3000].map(|pc| findings.causes.iter().find(|cause| cause.location.address == pc - 1).unwrap());
    assert_eq!((a.executions, b.executions), (1, 1));
}

#[test]
fn each_result_that_a_function_writes_to_memory_is_an_operation() {
    let mut log = Log::new();
    let enter = log.block(
        "block 0x7000 record 32 {
  0x7000 0:
    v0: f64 = live xmm0+0 #8
    v1: b64 = live rax #16
    enter v0 from v1
}",
    );
    let leave = log.block(
        "block 0x7000 record 48 {
  0x7000 0:
    v0: b64 = live out0 #8
    v1: f64 = load [v0] #16
    leave sin.0 v1, [v0]
    v3: b64 = live out1 #24
    v4: f64 = load [v3] #32
    leave cos.0 v4, [v3]
}",
    );
    let subtract = log.block(&format!(
        "block 0x1000 record 32 {{
  0x1000 4:
    v0: b64 = live rsp #8
    v1: f64 = load [v0+0x8] #16
    v2: f64 = const {:#x}
    v3: f64 = sub v2, v1
    put xmm0+0, v3
  0x1004 4:
    v4: f64 = load [v0] #24
    put xmm1+0, v4
}}",
        1f64.to_bits()
    ));
    let stack = 0x7fff_0000;
    for x in [1e-6f64, 1e-3, 0.5] {
        let (sine, cosine) = x.sin_cos();
        log.run(enter, &[(8, x.to_bits()), (16, 0x1000)]);
        log.run(leave, &[(8, stack), (16, sine.to_bits()), (24, stack + 8), (32, cosine.to_bits())]);
        log.run(subtract, &[(8, stack), (16, cosine.to_bits()), (24, sine.to_bits())]);
        log.print(1.0 - cosine);
    }
    // A call has as many results as one return tells of.
    log.run(leave, &[(8, stack), (16, 0), (24, stack + 8), (32, 0)]);
    let findings = log.analysis.finish();
    assert_eq!(findings.totals.corrupt_records, 2);
    assert_eq!(causes(&findings), ["1 - cos(x)"]);
    // Sine, cosine and difference, three times.
    assert_eq!(findings.totals.operations, 9);
}

#[test]
fn masks_negate_take_magnitudes_and_select_without_losing_the_shadow() {
    let mut log = Log::new();
    // Two lanes of x + 1e-20: shadows that differ from the native value.
    let block = log.block(&format!(
        "block 0x1000 record 32 {{
  0x1000 4:
    v0: f64 = fresh xmm0+0 #8 after
    v1: f64 = fresh xmm1+0 #16 after
    v2: f64 = const {tiny:#x}
    v3: f64 = add v0, v2
    v4: f64 = add v1, v2
    v5: b128 = concat v3, v4
    v6: b128 = const 0x80000000000000008000000000000000
    v7: b128 = bit.xor v5, v6
    v8: b128 = bit.andnot v6, v7
    v9: b128 = bit.or v8, v6
    put xmm2+0, v7
    put xmm3+0, v8
    put xmm4+0, v9
  0x1004 4:
    v10: f64 = extract v7, 0
    v11: f64 = extract v8, 0
    v12: b64 = mask.lt v10, v11
    v13: b64 = extract v10, 0
    v14: b64 = bit.and v12, v13
    v15: b64 = extract v11, 0
    v16: b64 = bit.andnot v12, v15
    v17: b64 = bit.or v14, v16
    put xmm5+0, v17
    v18: b64 = const 0xff
    v19: b64 = bit.and v13, v18
    put xmm6+0, v19
}}",
        tiny = 1e-20f64.to_bits()
    ));
    log.run(block, &[(8, 3f64.to_bits()), (16, (-4f64).to_bits())]);
    let place = fpgrind_ir::Place::vec;
    let native = |number, offset| {
        let shadow = log.analysis.register(0, place(number, offset), fpgrind_ir::Type::F64)?;
        assert_eq!(shadow.native, shadow.rounded);
        Some(f64::from_bits(shadow.native as u64))
    };
    assert_eq!([native(2, 0), native(2, 8)], [Some(-3.0), Some(4.0)]);
    assert_eq!([native(3, 0), native(3, 8)], [Some(3.0), Some(4.0)]);
    assert_eq!([native(4, 0), native(4, 8)], [Some(-3.0), Some(-4.0)]);
    assert_eq!(native(5, 0), Some(-3.0));
    assert_eq!(native(6, 0), None);
    assert_eq!(log.finish().spots[0].wrong, 0);
}

#[test]
fn a_shadow_whose_bits_changed_is_not_used() {
    let mut log = Log::new();
    let block = log.block(
        "block 0x1000 record 32 {
  0x1000 4:
    v0: f64 = live xmm0+0 #8
    v1: f64 = fresh xmm1+0 #16 after
    v2: f64 = add v0, v1
    put xmm0+0, v2
}",
    );
    log.run(block, &[(8, 1e16f64.to_bits()), (16, 1f64.to_bits())]);
    log.run(block, &[(8, 5f64.to_bits()), (16, (-1e16f64).to_bits())]);
    log.run(block, &[(8, (5.0 - 1e16f64).to_bits()), (16, 1e16f64.to_bits())]);
    log.print((5.0 - 1e16) + 1e16);
    let findings = log.finish();
    assert_eq!(findings.totals.stale_shadows, 1);
    assert_eq!((findings.spots[0].computed, findings.spots[0].correct), (4.0.into(), 5.0.into()));
}
