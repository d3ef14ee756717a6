//! Masks, selections, and floats of two bytes.

use crate::support::Log;
use fpgrind_analysis::Number;
use fpgrind_ir::{Place, Type};

fn half(value: f64) -> u64 {
    Number::from(value).to(Type::F16).bits as u64
}

/// Makes two halves with shadows, joins them, and stores them.
const HALVES: &str = "
block 0x1000 record 32 {
  0x1000 4:
    v0: b64 = live rdi #8
    v1: b32 = fresh xmm0+0 #16
    v2: f16 = half.lower v1, 0
    v3: f16 = half.upper v1, 0
    v4: b32 = fresh xmm1+0 #24
    v5: f16 = half.lower v4, 0
    v6: f16 = half.upper v4, 0
    v7: f16 = add v2, v3 as v5
    v8: f16 = sub v7, v3 as v6
    v9: b32 = concat v7, v8
    store [v0], v9
    put xmm2+0, v9
    store [v0+0x10], v8
    store [v0+0x12], v7
    store [v0+0x22], v9
}";

const LOAD: &str = "
block 0x2000 record 32 {
  0x2000 4:
    v0: b64 = live rdi #8
    v1: f16 = load [v0] #16
    put xmm5+0, v1
    v2: b32 = load [v0+0x40] #20
    v3: f16 = half.upper v2, 0
    put xmm6+0, v3
}";

#[test]
fn halves_travel_in_granules_and_alone() {
    let mut log = Log::new();
    let (make, load) = (log.block(HALVES), log.block(LOAD));
    // 2048 + 1 is no half.
    let (a, b, sum, difference) = (half(1.0), half(2048.0), half(2048.0), half(0.0));
    let memory = 0x10000;
    log.run(make, &[(8, memory), (16, a | b << 16), (24, sum | difference << 16)]);
    let shadow = |log: &Log, register| log.analysis.register(0, Place::vec(register, 0), Type::F16);
    assert_eq!(shadow(&log, 2).expect("the lower half").native as u64, sum);
    let places = [(0, sum), (2, difference), (0x10, difference), (0x12, sum), (0x22, sum), (0x24, difference)];
    for (address, native) in places {
        let found = log.analysis.memory(0, memory + address, Type::F16).expect("a half in memory");
        assert_eq!(found.native as u64, native, "{address:#x}");
        log.run(load, &[(8, memory + address), (16, native)]);
        let loaded = shadow(&log, 5).expect("loaded");
        let wrong = if native == difference { 1.0 } else { 2048.0 };
        assert_eq!((loaded.native as u64, loaded.rounded as u64), (native, half(wrong)), "{address:#x}");
        // Other bits have no shadow.
        log.run(load, &[(8, memory + address), (16, 0x1234)]);
        assert!(shadow(&log, 5).is_none());
    }
    // As the upper half of a granule, aligned and between two.
    for address in [0, 0x22] {
        log.run(load, &[(8, memory + address - 0x40), (20, sum | difference << 16)]);
        assert_eq!(shadow(&log, 6).expect("the upper half").rounded as u64, half(1.0), "{address:#x}");
    }
    log.finish();
}

#[test]
fn a_copy_takes_halves_along_and_what_is_forgotten_is_gone() {
    let mut log = Log::new();
    let make = log.block(HALVES);
    let copy = log.block(
        "block 0x2000 record 48 {
  0x2000 4:
    v0: b64 = live rdi #8
    v1: b64 = live rsi #16
    v2: b64 = live rcx #24
    copy.2 v0, v1, v2
    v3: b64 = live rdx #32
    forget.8 v1, v3
}",
    );
    let memory = 0x10000;
    log.run(make, &[(8, memory), (16, half(1.0) | half(2048.0) << 16), (24, half(2048.0))]);
    log.run(copy, &[(8, memory + 0x106), (16, memory), (24, 2), (32, 1)]);
    let found = |log: &Log, address| log.analysis.memory(0, memory + address, Type::F16).is_some();
    assert!(found(&log, 0x106) && found(&log, 0x108) && !found(&log, 0) && !found(&log, 2) && found(&log, 0x10));
    log.run(copy, &[(8, 0), (16, 0), (24, 0), (32, u64::MAX)]);
    assert!(!found(&log, 0x106) && !found(&log, 0x10));
    log.finish();
}

#[test]
fn masked_lanes_compute_and_store_nothing_and_choices_take_the_shadow_of_what_was_chosen() {
    let mut log = Log::new();
    let block = log.block(&format!(
        "block 0x1000 record 64 {{
  0x1000 4:
    v0: b64 = live rdi #8
    v1: f64 = fresh xmm0+0 #16
    v2: b64 = live k1 #24
    v3: f64 = const {tiny:#x}
    v4: f64 = add v1, v3
    v5: f64 = sub v1, v4
    v6: f64 = mul v5, v5 if v2 bit 1
    store [v0], v5 if v2 bit 0
    store [v0+0x10], v5 if v2 more 1
    v7: f64 = pick.bit.0 v2, v4, v5
    put xmm1+0, v7
    v8: f64 = fresh xmm5+0 #32 after
    v9: f64 = among v8, v4, v5
    put xmm2+0, v9
    v10: b32 = live rcx #40
    v11: f64 = fresh xmm6+0 #48 after
    v12: f64 = recall [v0+v10*8+0x8], v11
    put xmm3+0, v12
}}",
        tiny = 1e-20f64.to_bits()
    ));
    let rounded = |log: &Log, register| {
        let shadow = log.analysis.register(0, Place::vec(register, 0), Type::F64);
        shadow.map(|shadow| f64::from_bits(shadow.rounded as u64))
    };
    let run = |log: &mut Log, mask: u64, memory: u64, chosen: f64, recalled: f64| {
        // The index is -1, in 32 bits.
        let fields = [
            (8, memory),
            (16, 3f64.to_bits()),
            (24, mask),
            (32, chosen.to_bits()),
            (40, 0xffff_ffff),
            (48, recalled.to_bits()),
        ];
        log.run(block, &fields);
    };
    run(&mut log, 0b00, 0x10000, 3.0, 0.0);
    assert!(log.analysis.memory(0, 0x10000, Type::F64).is_none());
    assert_eq!((rounded(&log, 1), rounded(&log, 2), rounded(&log, 3)), (Some(3.0), Some(3.0), None));
    run(&mut log, 0b01, 0x10000, 0.0, 0.0);
    assert!(log.analysis.memory(0, 0x10000, Type::F64).is_some());
    assert!(log.analysis.memory(0, 0x10010, Type::F64).is_none());
    assert_eq!((rounded(&log, 1), rounded(&log, 2), rounded(&log, 3)), (Some(-1e-20), Some(-1e-20), Some(-1e-20)));
    // Bits that memory does not hold have no shadow, and cost none: the lane may be masked out.
    run(&mut log, 0b10, 0x10000, 7.0, 5.0);
    assert_eq!((rounded(&log, 2), rounded(&log, 3)), (None, None));
    assert!(log.analysis.memory(0, 0x10000, Type::F64).is_some());
    run(&mut log, 0b11, 0x10000, 0.0, 0.0);
    assert!(log.analysis.memory(0, 0x10010, Type::F64).is_some());
    // Only the last mask and the one before have bit 1.
    assert_eq!(log.analysis.operations(), 4 * 2 + 2);
    log.finish();
}

#[test]
fn logic_on_halves_negates_them_and_other_logic_is_counted() {
    let mut log = Log::new();
    let make = log.block(HALVES);
    let negate = log.block(
        "block 0x2000 record 32 {
  0x2000 4:
    v0: b32 = live xmm2+0 #8
    v1: b32 = live xmm7+0 #16
    v2: b32 = bit.xor v0, v1
    put xmm3+0, v2
}",
    );
    log.run(make, &[(8, 0x10000), (16, half(1.0) | half(2048.0) << 16), (24, half(2048.0))]);
    let place = Place::vec(3, 0);
    log.run(negate, &[(8, half(2048.0)), (16, 0x8000_8000)]);
    assert_eq!(log.analysis.register(0, place, Type::F16).expect("negated").native as u64, half(-2048.0));
    log.run(negate, &[(8, half(2048.0)), (16, 0x0000_0001)]);
    assert!(log.analysis.register(0, place, Type::F16).is_none());
    assert_eq!(log.finish().totals.lost_shadows, 1);
}
