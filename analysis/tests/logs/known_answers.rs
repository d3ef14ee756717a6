//! Programs whose errors are known, as logs written by hand, and what the analysis must say about them.

use crate::support::{Log, PRINT, causes, one_thread};
use fpgrind_analysis::log::Event;
use fpgrind_analysis::{CauseKind, Config, Location, SpotKind, analyse};
use std::f64::consts::PI;

const ROOTS: &str = "
block 0x1000 record 16 {
  0x1000 4:
    v0: f64 = fresh xmm1+0 #8 after
  0x1004 4:
    v1: f64 = const 0x3ff0000000000000
    v2: f64 = add v0, v1
  0x1008 4:
    v3: f64 = sqrt v2
  0x100c 4:
    v4: f64 = sqrt v0
  0x1010 4:
    v5: f64 = sub v3, v4
    put xmm0+0, v5
}";

#[test]
fn roots_of_neighbours_cancel_when_they_are_large() {
    let mut log = Log::new();
    let block = log.block(ROOTS);
    let mut x = 1.0f64;
    while x <= 1e15 {
        log.run(block, &[(8, x.to_bits())]);
        log.print((x + 1.0).sqrt() - x.sqrt());
        x *= 1.5;
    }
    let findings = log.finish();
    assert_eq!(causes(&findings), ["sqrt(x + 1) - sqrt(x)"]);
    let cause = &findings.causes[0];
    assert_eq!((cause.location.address, cause.kind), (0x1010, CauseKind::Inaccurate));
    assert_eq!(cause.variables.len(), 1);
    let variable = &cause.variables[0];
    assert_eq!(variable.seen.positive.unwrap().0, 1.0);
    let (low, high) = variable.erroneous.positive.unwrap();
    assert!(low > 10.0 && high > 1e14, "{low} {high}");
    assert!(cause.erroneous < cause.executions);
    assert!((cause.reproduced_bits - cause.max_bits).abs() < 1e-9, "{} {}", cause.reproduced_bits, cause.max_bits);
    assert_eq!(findings.spots.len(), 1);
    let spot = &findings.spots[0];
    assert_eq!((spot.location.address, spot.wrong), (PRINT, cause.erroneous));
    assert_eq!(spot.causes, [0]);
    assert!(spot.accumulated_in.is_empty());
    assert!(
        matches!(&spot.kind, SpotKind::Output { function, argument: 0, conversion } if function == "printf" && conversion == "%f")
    );
}

#[test]
fn one_is_lost_beside_a_large_number_and_the_trace_crosses_blocks_and_memory() {
    let mut log = Log::new();
    let add = log.block(
        "block 0x1000 record 32 {
  0x1000 4:
    v0: b64 = live rsp #8
    v1: f64 = fresh xmm1+0 #16 after
    v2: f64 = const 0x3ff0000000000000
    v3: f64 = add v1, v2
    store [v0-0x8], v3
}",
    );
    let copy = log.block(
        "block 0x2000 record 32 {
  0x2000 4:
    v0: b64 = live rdi #8
    v1: b64 = live rsi #16
    v2: b64 = const 0x40
    copy.1 v0, v1, v2
}",
    );
    let subtract = log.block(
        "block 0x3000 record 48 {
  0x3000 4:
    v0: b64 = live rdi #8
    v1: b64 = load [v0+0x38] #16
    v2: f64 = extract v1, 0
    v3: f64 = live xmm1+0 #24
    v4: f64 = sub v2, v3
    put xmm0+0, v4
}",
    );
    for exponent in 0..=16 {
        let x = 10f64.powi(exponent);
        log.run(add, &[(8, 0x8000), (16, x.to_bits())]);
        log.run(copy, &[(8, 0x9000), (16, 0x8000 - 0x40)]);
        log.run(subtract, &[(8, 0x9000), (16, (x + 1.0).to_bits()), (24, x.to_bits())]);
        log.print((x + 1.0) - x);
    }
    let findings = log.finish();
    assert_eq!(causes(&findings), ["(x + 1) - x"]);
    assert_eq!(findings.causes[0].erroneous, 1);
    assert_eq!(findings.causes[0].computed, 0.0);
    assert_eq!(findings.causes[0].correct, 1.0);
}

#[test]
fn only_values_near_the_pole_are_problematic() {
    let mut log = Log::new();
    let baz = log.block(&format!(
        "block 0x1000 record 16 {{
  0x1000 4:
    v0: f64 = fresh xmm1+0 #8 after
    v1: f64 = const {:#x}
    v2: f64 = const {:#x}
    v3: f64 = const {:#x}
    v4: f64 = sub v0, v1
  0x1004 4:
    v5: f64 = div v2, v4
  0x1008 4:
    v6: f64 = add v5, v3
  0x100c 4:
    v7: f64 = sub v6, v5
    put xmm0+0, v7
}}",
        113f64.to_bits(),
        1f64.to_bits(),
        PI.to_bits()
    ));
    for step in -600..=600 {
        let x = 113.0 + if step % 10 == 0 { step as f64 * 1e-10 } else { step as f64 * 0.1 } + 1e-13;
        let z = 1.0 / (x - 113.0);
        log.run(baz, &[(8, x.to_bits())]);
        log.print((z + PI) - z);
    }
    let findings = log.finish();
    assert_eq!(causes(&findings), ["(1/(x - 113) + PI) - 1/(x - 113)"]);
    let cause = &findings.causes[0];
    assert_eq!(cause.variables.len(), 1);
    let erroneous = cause.variables[0].erroneous.positive.unwrap();
    let seen = cause.variables[0].seen.positive.unwrap();
    assert!(erroneous.0 > 112.99 && erroneous.1 < 113.01, "{erroneous:?}");
    assert!(seen.0 < 60.0 && seen.1 > 170.0, "{seen:?}");
    assert_eq!(cause.erroneous, findings.spots[0].wrong);
}

#[test]
fn the_quadratic_formula_shows_its_negation() {
    let mut log = Log::new();
    // -b by xorps with a sign mask, as compilers do it.
    let block = log.block(&format!(
        "block 0x1000 record 48 {{
  0x1000 4:
    v0: f64 = fresh xmm1+0 #8 after
    v1: f64 = fresh xmm2+0 #16 after
    v2: f64 = fresh xmm3+0 #24 after
    v3: f64 = const {:#x}
    v4: f64 = mul v1, v1
    v5: f64 = mul v3, v0
    v6: f64 = mul v5, v2
    v7: f64 = sub v4, v6
    v8: f64 = sqrt v7
    v9: b64 = const 0x8000000000000000
    v10: b64 = extract v1, 0
    v11: b64 = bit.xor v10, v9
    v12: f64 = extract v11, 0
  0x1004 4:
    v13: f64 = add v12, v8
    v14: f64 = add v0, v0
    v15: f64 = div v13, v14
    put xmm0+0, v15
}}",
        4f64.to_bits()
    ));
    for i in 0..100 {
        let (a, b, c) = (1.0 + i as f64 / 7.0, 10f64.powf(i as f64 / 12.0) + 5.0, 0.3 + i as f64 / 90.0);
        log.run(block, &[(8, a.to_bits()), (16, b.to_bits()), (24, c.to_bits())]);
        log.print((-b + (b * b - 4.0 * a * c).sqrt()) / (a + a));
    }
    let findings = log.finish();
    assert_eq!(causes(&findings), ["-x + sqrt(x*x - 4*y*z)"]);
}

#[test]
fn a_long_expression_is_shortened_to_the_part_that_shows_the_error() {
    let mut log = Log::new();
    // The plotter: the root of a + i exp(-20 (a + ib)), where a and b come from a grid.
    let block = log.block(&format!(
        "block 0x1000 record 32 {{
  0x1000 4:
    v0: f64 = fresh xmm1+0 #8 after
    v1: f64 = fresh xmm2+0 #16 after
    v2: f64 = const {scale:#x}
    v3: f64 = const {low:#x}
    v4: f64 = const {twenty:#x}
    v5: f64 = mul v0, v2
    v6: f64 = mul v1, v2
    v7: f64 = add v6, v3
    v8: f64 = mul v4, v5
    v9: f64 = exp v8
    v10: f64 = mul v4, v7
    v11: f64 = sin v10
    v12: f64 = cos v10
    v13: f64 = mul v9, v11
    v14: f64 = sub v5, v13
    v15: f64 = mul v9, v12
    v16: f64 = mul v14, v14
    v17: f64 = mul v15, v15
    v18: f64 = add v16, v17
    v19: f64 = sqrt v18
  0x1004 4:
    v20: f64 = sub v19, v14
    put xmm0+0, v20
}}",
        scale = (1.0 / 512.0f64).to_bits(),
        low = (-3f64).to_bits(),
        twenty = (-20f64).to_bits()
    ));
    for i in 0..512 {
        let (a, b) = (i as f64, (i * 37 % 512) as f64);
        log.run(block, &[(8, a.to_bits()), (16, b.to_bits())]);
        // The native result, of a libm as good as can be.
        let shadow = log.analysis.register(0, fpgrind_ir::Place::vec(0, 0), fpgrind_ir::Type::F64).unwrap();
        log.print(f64::from_bits(shadow.native as u64));
    }
    let findings = log.finish();
    assert_eq!(causes(&findings), ["sqrt(x*x + y*y) - x"]);
    let cause = &findings.causes[0];
    assert!(cause.reproduced_bits > 0.8 * cause.max_bits, "{} {}", cause.reproduced_bits, cause.max_bits);
    assert!(cause.variables[0].erroneous.positive.is_some() && cause.variables[1].worst.to_f64().abs() < 1.0);
}

#[test]
fn zero_over_zero_is_named_where_it_arises_and_not_where_it_flows() {
    let mut log = Log::new();
    let block = log.block(
        "block 0x1000 record 32 {
  0x1000 4:
    v0: f64 = fresh xmm1+0 #8 after
    v1: f64 = fresh xmm2+0 #16 after
    v2: f64 = div v0, v1
  0x1004 4:
    v3: f64 = mul v2, v2
    put xmm0+0, v3
}",
    );
    for (a, b) in [(1.0f64, 2.0f64), (0.0, 0.0), (3.0, 4.0)] {
        log.run(block, &[(8, a.to_bits()), (16, b.to_bits())]);
        // The NaN that the CPU makes.
        let quotient = if b == 0.0 { f64::from_bits(0xfff8_0000_0000_0000) } else { a / b * (a / b) };
        log.print(quotient);
    }
    let findings = log.finish();
    assert_eq!(causes(&findings), ["x/x"]);
    let cause = &findings.causes[0];
    assert_eq!((cause.kind, cause.erroneous, cause.max_bits), (CauseKind::Invalid, 1, 64.0));
    assert!(cause.variables[0].erroneous.zero && cause.computed.is_nan());
    assert_eq!((findings.spots[0].wrong, findings.spots[0].max_bits), (1, 64.0));
}

#[test]
fn a_widened_single_is_judged_as_a_single() {
    let mut log = Log::new();
    let block = log.block(
        "block 0x1000 record 16 {
  0x1000 4:
    v0: f32 = fresh xmm3+0 #8 after
    v1: f32 = mul v0, v0
    v2: f64 = cast v1
    put xmm0+0, v2
}",
    );
    let x = 0.1f32;
    log.run(block, &[(8, x.to_bits() as u64)]);
    log.print((x * x) as f64);
    let findings = log.finish();
    assert_eq!(findings.spots[0].wrong, 0);
    assert!(findings.spots[0].max_bits <= 1.0);
}

#[test]
fn singles_cancel_like_doubles() {
    let mut log = Log::new();
    let block = log.block(&format!(
        "block 0x1000 record 16 {{
  0x1000 4:
    v0: f32 = fresh xmm3+0 #8 after
    v1: f32 = const {:#x}
    v2: f32 = add v0, v1
    v3: f32 = sub v2, v0
    v4: f64 = cast v3
    put xmm0+0, v4
}}",
        1f32.to_bits()
    ));
    for x in [1f32, 1e3, 1e6, 3e7, 1e8] {
        log.run(block, &[(8, x.to_bits() as u64)]);
        log.print(((x + 1.0) - x) as f64);
    }
    let findings = log.finish();
    assert_eq!(causes(&findings), ["(x + 1) - x"]);
    assert_eq!(findings.causes[0].ty, fpgrind_ir::Type::F32);
    assert!(findings.causes[0].max_bits <= 32.0);
}

#[test]
fn a_loop_that_counts_in_tenths_decides_wrongly_at_its_end() {
    let mut log = Log::new();
    let block = log.block(&format!(
        "block 0x1000 record 16 {{
  0x1000 4:
    v0: f64 = live xmm0+0 #8
    v1: f64 = const {:#x}
    v2: f64 = add v0, v1
    v3: f64 = const {:#x}
    v4: flags = compare v3, v2
  0x1004 2:
    branch.a v4
    put xmm0+0, v2
}}",
        0.2f64.to_bits(),
        10f64.to_bits()
    ));
    let mut t = 0.0f64;
    while t < 10.0 {
        log.run(block, &[(8, t.to_bits())]);
        t += 0.2;
    }
    let findings = log.finish();
    let spot = &findings.spots[0];
    assert_eq!((spot.location.address, spot.wrong), (0x1004, 1));
    assert_eq!((spot.computed, spot.correct), (10.0.into(), 10.0.into()));
    assert_eq!(spot.accumulated_in, [Location::outside_files(0x1000)]);
    assert_eq!(causes(&findings), [""; 0]);
}

#[test]
fn conversions_to_integers_are_wrong_when_the_integers_differ() {
    let mut log = Log::new();
    let block = log.block(&format!(
        "block 0x1000 record 16 {{
  0x1000 4:
    v0: f64 = fresh xmm0+0 #8 after
    v1: f64 = const {:#x}
    v2: f64 = add v0, v1
    v3: f64 = sub v2, v1
    toint.4.truncate v3
}}",
        2f64.powi(53).to_bits()
    ));
    for x in [2.0f64, 3.0, 4.0] {
        log.run(block, &[(8, x.to_bits())]);
    }
    let findings = log.finish();
    let spot = &findings.spots[0];
    // 2^53 + 3 is no double.
    assert_eq!((spot.count, spot.wrong, spot.computed, spot.correct), (3, 1, 4.0.into(), 3.0.into()));
    assert_eq!(causes(&findings), ["(x + 9007199254740992) - 9007199254740992"]);
}

#[test]
fn findings_do_not_depend_on_how_records_are_cut_into_chunks() {
    let block = fpgrind_ir::parse_block(ROOTS).unwrap();
    let mut bytes = Vec::new();
    for i in 0..100u64 {
        bytes.extend(1u64.to_le_bytes());
        bytes.extend(((i * i * i * i * i) as f64).to_bits().to_le_bytes());
    }
    let run = |size| {
        let announce = Event::Block { process: 0, number: 1, block: block.clone() };
        let records = bytes.chunks(size).map(|bytes| Event::Records { thread: 0, bytes });
        analyse(one_thread().into_iter().chain([announce]).chain(records), Config::default())
    };
    assert_eq!(run(16), run(1600));
    assert_eq!(run(16).totals.operations, 400);
}
