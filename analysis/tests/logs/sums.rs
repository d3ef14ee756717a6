//! Sums, naive and compensated, as logs written by hand.

use crate::support::{Log, causes};
use fpgrind_analysis::Location;

/// Values whose naive sum is bad.
fn summands() -> impl Iterator<Item = f64> {
    (0..20_000).map(|i| 0.1 + (i % 17) as f64 * 1e-7 + if i % 1000 == 0 { 12345.678 } else { 0.0 })
}

#[test]
fn a_kahan_sum_is_clean() {
    let mut log = Log::new();
    let block = log.block(
        "block 0x1000 record 32 {
  0x1000 4:
    v0: f64 = fresh xmm3+0 #8 after
    v1: f64 = live xmm0+0 #16
    v2: f64 = live xmm1+0 #24
    v3: f64 = sub v0, v2
  0x1004 4:
    v4: f64 = add v1, v3
  0x1008 4:
    v5: f64 = sub v4, v1
  0x100c 4:
    v6: f64 = sub v5, v3
    put xmm0+0, v4
    put xmm1+0, v6
}",
    );
    let (mut sum, mut carry) = (0.0f64, 0.0f64);
    for x in summands() {
        log.run(block, &[(8, x.to_bits()), (16, sum.to_bits()), (24, carry.to_bits())]);
        let y = x - carry;
        let t = sum + y;
        carry = (t - sum) - y;
        sum = t;
    }
    assert!(carry != 0.0, "the test must compensate something");
    log.print(sum);
    let findings = log.finish();
    assert_eq!(causes(&findings), [""; 0]);
    assert_eq!(findings.spots[0].wrong, 0);
    assert!(findings.totals.operations > 0 && findings.totals.stale_shadows == 0);
}

/// The log of a Neumaier sum, printed, and the sum.
fn neumaier() -> (Log, f64) {
    let mut log = Log::new();
    let compare = log.block(
        "block 0x1000 record 48 {
  0x1000 4:
    v0: f64 = fresh xmm3+0 #8 after
    v1: f64 = live xmm0+0 #16
    v2: f64 = add v1, v0
  0x1004 4:
    v3: b64 = const 0x7fffffffffffffff
    v4: b64 = extract v1, 0
    v5: b64 = bit.and v4, v3
    v6: f64 = extract v5, 0
    v7: b64 = extract v0, 0
    v8: b64 = bit.and v7, v3
    v9: f64 = extract v8, 0
    v10: flags = compare v6, v9
    branch.ae v10
    put xmm2+0, v2
}",
    );
    let adjust = |first: &str, second: &str, pc: u64| {
        format!(
            "block {pc:#x} record 48 {{
  {pc:#x} 4:
    v0: f64 = fresh xmm3+0 #8 after
    v1: f64 = live xmm0+0 #16
    v2: f64 = live xmm1+0 #24
    v3: f64 = live xmm2+0 #32
    v4: f64 = sub {first}, v3
    v5: f64 = add v4, {second}
    v6: f64 = add v2, v5
    put xmm1+0, v6
    put xmm0+0, v3
}}"
        )
    };
    let sum_larger = log.block(&adjust("v1", "v0", 0x2000));
    let term_larger = log.block(&adjust("v0", "v1", 0x3000));
    let last = log.block(
        "block 0x4000 record 32 {
  0x4000 4:
    v0: f64 = live xmm0+0 #8
    v1: f64 = live xmm1+0 #16
    v2: f64 = add v0, v1
    put xmm0+0, v2
}",
    );
    let (mut sum, mut carry) = (0.0f64, 0.0f64);
    let mut both = [false; 2];
    // The plain sum inside stays good to a few digits: were it to cancel altogether, its comparisons would really go
    // the other way in the reals.
    for x in [1.1, 3e9, 1.7, -2.9e9].into_iter().cycle().take(400).chain(summands()) {
        log.run(compare, &[(8, x.to_bits()), (16, sum.to_bits())]);
        let t = sum + x;
        let larger = sum.abs() >= x.abs();
        both[larger as usize] = true;
        let block = if larger { sum_larger } else { term_larger };
        log.run(block, &[(8, x.to_bits()), (16, sum.to_bits()), (24, carry.to_bits()), (32, t.to_bits())]);
        carry += if larger { (sum - t) + x } else { (x - t) + sum };
        sum = t;
    }
    assert_eq!(both, [true, true]);
    log.run(last, &[(8, sum.to_bits()), (16, carry.to_bits())]);
    log.print(sum + carry);
    (log, sum + carry)
}

#[test]
fn a_neumaier_sum_is_clean_and_decides_rightly() {
    let (log, _) = neumaier();
    let findings = log.finish();
    assert!(findings.spots.iter().all(|spot| spot.wrong == 0), "{:?}", findings.spots);
    assert_eq!(causes(&findings), [""; 0]);
    assert_eq!(findings.spots.len(), 2);
}

#[test]
fn what_goes_wrong_after_a_compensated_sum_is_not_blamed_on_the_compensation() {
    let (mut log, sum) = neumaier();
    let spoil = log.block(&format!(
        "block 0x5000 record 16 {{
  0x5000 4:
    v0: f64 = live xmm0+0 #8
    v1: f64 = const {:#x}
    v2: f64 = add v0, v1
  0x5004 4:
    v3: f64 = sub v2, v1
    put xmm0+0, v3
}}",
        1e30f64.to_bits()
    ));
    log.run(spoil, &[(8, sum.to_bits())]);
    log.print(sum + 1e30 - 1e30);
    let findings = log.finish();
    assert_eq!(findings.causes.iter().map(|cause| cause.location.address).collect::<Vec<_>>(), [0x5004]);
}

#[test]
fn a_naive_single_sum_is_wrong_without_a_cause_and_says_where_it_accumulated() {
    let mut log = Log::new();
    let block = log.block(
        "block 0x1000 record 32 {
  0x1000 4:
    v0: f32 = fresh xmm3+0 #8 after
    v1: f32 = live xmm0+0 #12
    v2: f32 = add v1, v0
    put xmm0+0, v2
}",
    );
    let widen = log.block(
        "block 0x2000 record 16 {
  0x2000 4:
    v0: f32 = live xmm0+0 #8
    v1: f64 = cast v0
    put xmm0+0, v1
}",
    );
    let mut sum = 0f32;
    for i in 0..100_000 {
        let x = 0.1f32 + (i % 3) as f32;
        log.run(block, &[(8, x.to_bits() as u64), (12, sum.to_bits() as u64)]);
        sum += x;
    }
    log.run(widen, &[(8, sum.to_bits() as u64)]);
    log.print(sum as f64);
    let findings = log.finish();
    assert_eq!(causes(&findings), [""; 0]);
    let spot = &findings.spots[0];
    assert_eq!(spot.wrong, 1);
    assert!(spot.max_bits > 5.0 && spot.max_bits <= 32.0, "{}", spot.max_bits);
    assert_eq!(spot.accumulated_in, [Location::outside_files(0x1000)]);
    assert!(spot.expr.is_some());
}
