//! What AVX and FMA bring: fused operations, selections, and the upper halves of registers.

use crate::support::{Log, causes};
use fpgrind_ir::{Place, Type};

/// x*x - y where y is x*x rounded: all of the product's digits cancel but those that the fused operation keeps.
#[test]
fn a_fused_subtraction_is_shown_as_fma_of_a_negated_argument() {
    let mut log = Log::new();
    let block = log.block(
        "block 0x1000 record 16 {
  0x1000 4:
    v0: f64 = fresh xmm1+0 #8 after
  0x1004 4:
    v1: f64 = mul v0, v0
  0x1008 4:
    v2: f64 = fms v0, v0, v1
    put xmm0+0, v2
}",
    );
    for n in 1..20 {
        let x = n as f64 + 0.1;
        log.run(block, &[(8, x.to_bits())]);
        log.print(x.mul_add(x, -(x * x)));
    }
    let findings = log.finish();
    assert_eq!(causes(&findings), ["fma(x, x, -(x*x))"]);
    assert!((findings.causes[0].reproduced_bits - findings.causes[0].max_bits).abs() < 1e-9);
}

#[test]
fn a_selection_takes_the_shadow_of_the_side_that_the_masks_highest_bit_names() {
    let mut log = Log::new();
    let block = log.block(&format!(
        "block 0x1000 record 32 {{
  0x1000 4:
    v0: f64 = fresh xmm0+0 #8 after
    v1: b64 = fresh xmm1+0 #16 after
    v2: f64 = const {tiny:#x}
    v3: f64 = add v0, v2
    v4: f64 = sub v0, v3
    v5: b64 = extract v3, 0
    v6: b64 = extract v4, 0
    v7: b64 = pick.bit.63 v1, v5, v6
    put xmm2+24, v7
}}",
        tiny = 1e-20f64.to_bits()
    ));
    let upper = Place::vec(2, 24);
    for (mask, native, rounded) in
        [(0x7fff_ffff_ffff_ffff, 3.0, 3.0), (0x8000_0000_0000_0000, 0.0, -1e-20), (u64::MAX, 0.0, -1e-20)]
    {
        log.run(block, &[(8, 3f64.to_bits()), (16, mask)]);
        let shadow = log.analysis.register(0, upper, Type::F64).expect("the selected value has a shadow");
        assert_eq!(
            (f64::from_bits(shadow.native as u64), f64::from_bits(shadow.rounded as u64)),
            (native, rounded),
            "{mask:#x}"
        );
        assert!(log.analysis.register(0, Place::vec(2, 8), Type::F64).is_none());
    }
    log.finish();
}
