//! Rounding modes, flushing to zero, and roundings to integers in disguise: what is not an error, and what is one of its own kind.

use crate::support::{Log, causes};
use fpgrind_analysis::{CauseKind, Findings};
use fpgrind_ir::{Place, Type};

const UP: u64 = 0x1f80 | 2 << 13;
const FTZ: u64 = 0x1f80 | 1 << 15;
const DAZ: u64 = 1 << 6;
/// 2^-511.
const TINY: f64 = f64::from_bits(512 << 52);

const SET: &str = "
block 0x100 record 16 {
  0x100 4:
    v0: b32 = live mxcsr #8
    setmxcsr v0
}";

/// One instruction under another MXCSR.
fn divided(a: f64, b: f64, mxcsr: u64) -> f64 {
    let (ours, guest, mut a) = (0x1f80u32, mxcsr as u32, a);
    // SAFETY: MXCSR is put back.
    unsafe {
        std::arch::asm!("ldmxcsr [{g}]", "divsd {a}, {b}", "ldmxcsr [{o}]",
            g = in(reg) &guest, o = in(reg) &ours, a = inout(xmm_reg) a, b = in(xmm_reg) b);
    }
    a
}

#[test]
fn directed_rounding_is_no_error() {
    let mut log = Log::new();
    let set = log.block(SET);
    let divide = log.block(
        "block 0x1000 record 32 {
  0x1000 4:
    v0: f64 = fresh xmm1+0 #8 after
    v1: f64 = fresh xmm2+0 #16 after
    v2: f64 = div v0, v1
    v3: f64 = nearbyint v2
    put xmm0+0, v2
    put xmm3+0, v3
}",
    );
    let embedded = log.block(
        "block 0x2000 record 32 {
  0x2000 4:
    v0: f64 = fresh xmm1+0 #8 after
    v1: f64 = fresh xmm2+0 #16 after
    v2: f64 = div.up v0, v1
    put xmm0+0, v2
}",
    );
    log.run(set, &[(8, UP)]);
    for i in 1..50 {
        let (a, b) = (1f64, i as f64);
        log.run(divide, &[(8, a.to_bits()), (16, b.to_bits())]);
        log.print(divided(a, b, UP));
        let shadow = log.analysis.register(0, Place::vec(3, 0), Type::F64).unwrap();
        assert_eq!((shadow.native, shadow.bits), (1f64.to_bits() as u128, 0.0));
    }
    log.run(set, &[(8, 0x1f80)]);
    log.run(embedded, &[(8, 1f64.to_bits()), (16, 3f64.to_bits())]);
    log.print(divided(1.0, 3.0, UP));
    let findings = log.finish();
    assert_eq!(causes(&findings), [""; 0]);
    assert_eq!((findings.spots[0].wrong, findings.spots[0].max_bits), (0, 0.0));
    assert_eq!(findings.totals.stale_shadows, 0);
}

/// A product that may be subnormal, divided again.
fn flushed(mxcsr: u64) -> Findings {
    let mut log = Log::new();
    let set = log.block(SET);
    let block = log.block(
        "block 0x1000 record 32 {
  0x1000 4:
    v0: f64 = fresh xmm1+0 #8 after
    v1: f64 = fresh xmm2+0 #16 after
    v2: f64 = mul v0, v1
  0x1004 4:
    v3: f64 = div v2, v1
    put xmm0+0, v3
}",
    );
    log.run(set, &[(8, mxcsr)]);
    // A subnormal number that has all its digits.
    for (a, b) in [(1.0f64, 1.0f64), (TINY, TINY / 2.0), (1e-10, 1e-100)] {
        log.run(block, &[(8, a.to_bits()), (16, b.to_bits())]);
        log.print(if a == TINY { 0.0 } else { a * b / b });
    }
    log.finish()
}

#[test]
fn subnormals_flushed_to_zero_are_a_cause_of_their_own_kind() {
    // What takes denormals for zeros is a second one.
    let findings = flushed(FTZ | DAZ);
    assert_eq!(causes(&findings), ["x*y/y", "x*y"]);
    assert!(findings.causes.iter().all(|cause| cause.kind == CauseKind::Flushed));
    let findings = flushed(FTZ);
    assert_eq!(causes(&findings), ["x*y"]);
    let cause = &findings.causes[0];
    assert_eq!((cause.kind, cause.executions, cause.erroneous), (CauseKind::Flushed, 3, 1));
    assert!(cause.computed == 0.0 && cause.correct == TINY * TINY / 2.0 && cause.reproduced_bits > 40.0);
}

/// Rounds x by a magic number, in the precision of a type.
fn rounding(ty: &str, magic: u64, signs: [&str; 2]) -> String {
    let negative = if ty == "f32" { magic ^ 1 << 31 } else { magic ^ 1 << 63 };
    let constant = |sign: &str| if sign == "add" { magic } else { negative };
    // `x - (-C)` and `y + (-C)` are other ways to write it.
    let (first, second) = (constant(signs[0]), if signs[1] == "sub" { magic } else { negative });
    format!(
        "block 0x1000 record 32 {{
  0x1000 4:
    v0: {ty} = fresh xmm1+0 #8 after
    v1: {ty} = const 0x{third:x}
    v2: {ty} = mul v0, v1
    v3: {ty} = const {first:#x}
    v4: {ty} = {} v2, v3
    v5: {ty} = const {second:#x}
    v6: {ty} = {} v4, v5
    v7: {ty} = sub v2, v6
    put xmm0+0, v7
    put xmm1+0, v6
    toint.4.truncate v6
}}",
        signs[0],
        signs[1],
        third = if ty == "f32" { (1f32 / 3.0).to_bits() as u64 } else { (1f64 / 3.0).to_bits() },
    )
}

#[test]
fn rounding_by_a_magic_number_is_rounding() {
    for (power, signs) in [(1.5, ["add", "sub"]), (1.0, ["add", "sub"]), (1.5, ["sub", "sub"]), (1.5, ["add", "add"])] {
        let mut log = Log::new();
        let magic = power * 2f64.powi(52);
        let block = log.block(&rounding("f64", magic.to_bits(), signs));
        for i in 1..200 {
            // No ties: where the product is one, its rounding decides, and the reals go the other way.
            let x = i as f64 * 1.9003;
            log.run(block, &[(8, x.to_bits())]);
            let third = x * (1.0 / 3.0);
            let shadow = log.analysis.register(0, Place::vec(1, 0), Type::F64).unwrap();
            let integer = (third.round_ties_even()).to_bits() as u128;
            assert_eq!((shadow.native, shadow.rounded), (integer, integer), "{x}");
            log.print(third - third.round_ties_even());
        }
        let findings = log.finish();
        // The fraction that is left carries the error of the product, magnified: that is true, and all there is.
        assert!(causes(&findings).iter().all(|cause| cause.contains("nearbyint")), "{:?}", causes(&findings));
        assert!(findings.spots.iter().all(|spot| spot.wrong == 0 || spot.causes.len() == 1), "{signs:?}");
        assert_eq!(
            findings.spots.iter().filter(|spot| spot.location.address == 0x1000).map(|spot| spot.wrong).sum::<u64>(),
            0
        );
    }
}

#[test]
fn singles_are_rounded_by_their_own_magic_number_and_other_numbers_lose_digits() {
    let mut log = Log::new();
    let block = log.block(&rounding("f32", (1.5 * 2f32.powi(23)).to_bits() as u64, ["add", "sub"]));
    log.run(block, &[(8, 10f32.to_bits() as u64)]);
    let shadow = log.analysis.register(0, Place::vec(1, 0), Type::F32).unwrap();
    assert_eq!((shadow.native, shadow.rounded), (3f32.to_bits() as u128, 3f32.to_bits() as u128));
    // Too large for the trick: a loss like any other.
    let mut log = Log::new();
    let block = log.block(&rounding("f64", (1.5 * 2f64.powi(40)).to_bits(), ["add", "sub"]));
    log.run(block, &[(8, 10f64.to_bits())]);
    let shadow = log.analysis.register(0, Place::vec(1, 0), Type::F64).unwrap();
    assert!(shadow.bits > 5.0);
}
