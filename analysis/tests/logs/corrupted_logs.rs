//! Logs that lie: the analysis must get through them without a panic, and say how much it could not read.

use crate::support::one_thread;
use fpgrind_analysis::log::{Bytes, Event, OUTPUT, Output};
use fpgrind_analysis::{Analysis, Config, Findings, RealKind, analyse};
use fpgrind_ir::{Block, parse_block};
use proptest::prelude::*;

/// A block that does a little of everything with what it finds in its record.
const EVERYTHING: &str = "
block 0x1000 record 112 {
  0x1000 4:
    v0: b64 = live rax #8
    v1: b64 = live rcx #16
    v2: b64 = live rdx #24
    v3: b128 = live xmm0+0 #32
    v4: b128 = load [v0+v1*8+0x10] #48
    v5: b128 = bit.xor v3, v4
    v6: f64 = extract v5, 1
    v7: f64 = extract v3, 0
    v8: f32 = extract v4, 3
    v9: f32 = fresh xmm3+0 #64
    v10: f64 = add v6, v7
    v11: f64 = div v10, v6
    v12: f64 = sub v11, v7
    v13: f32 = mul v8, v9
    v14: f64 = cast v13
    v15: f32 = cast v12
    v16: f64 = fmod v12, v14
    v17: b64 = extract v16, 0
    v18: b128 = concat v17, v2
    v19: flags = compare v16, v12
    branch.be v19
    v20: b32 = mask.lt v15, v9
    v21: f64 = sin v12
    v22: f64 = fma v21, v12, v7
    toint.4.current v22
    toint.8.truncate v15
    store [v0+v2*1], v18
    store [v1], v12
    v23: b32 = live mxcsr #72
    setmxcsr v23
    copy.1 v0, v1, v2
    enter v21, v22 from v2
    v24: f64 = load [v1] #80
    leave pow.0.1 v24, xmm1+0
    leave hypot.0.1 v24, [v1]
    drop xmm2+4, 8
    put xmm0+0, v22
    put xmm0+8, v16
    put xmm3+0, v13
    check v10, xmm4+0 #88
}";

/// The same of what the x87 and AVX-512 bring.
const WIDE: &str = "
block 0x2000 record 656 {
  0x2000 4:
    v0: b64 = live rax #8
    v1: b64 = live k1 #16
    v2: b128 = live xmm17+16 #32
    v3: image = image.3 #48
    v4: f80 = st.live v3, 0
    v5: f80 = st.fresh v3, 7
    v6: f80 = add v4, v5
    v7: f80 = fmod v6, v5
    v8: f80 = sin v7
    v9: f80 = fscale v8, v4
    v10: f80 = yl2xp1 v9, v4
    v11: f64 = cast v10
    v12: f80 = cast v11
    v13: f80 = rescale v5, v12
    v14: f80 = rescale v4, v6
    v15: f16 = half.lower v2, 0
    v16: f16 = half.upper v2, 3
    v17: f16 = mul v15, v16
    v18: f16 = div.down v17, v15 as v16
    v19: b32 = concat v17, v18
    v20: b16 = mask.nle v17, v16
    v21: f32 = cast v18
    v22: bf16 = cast v21
    v23: b32 = extract v2, 1
    store [v0+v23*4], v17
    v24: f16 = recall [v0+v23*4], v18
    store [v0+0x1], v19 if v1 bit 5
    v25: f80 = add.up v12, v13 if v1 more 3
    store [v0+0x6], v14
    store [v0+0x12], v19
    store [v0+0x30], v2
    v26: b128 = load [v0+0x2] #560
    v27: f80 = load [v0+0x6] #576
    v28: f16 = load [v0+0x14] #592
    v29: b128 = pick.nth.3 v1, v2, v26, v26, v2, v2
    v30: b128 = pick.rank.1 v1, v2, v26, v26
    v31: f80 = among v27, v14, v13, v6
    v32: f64 = fromint.2 v0
    v33: f80 = fromint.8 v1
    v34: f80 = exp2m1 v33
    v35: f64 = scalef v32, v11
    v36: f64 = logb v35
    v37: flags = compare v34, v31
    branch.noeq v37
    touint.2.current v34
    toint.2.up v28
    toint.8.nearest v31
    v38: b32 = load [v0+0x40] #600
    setmxcsr v38
    v39: b16 = load [v0+0x44] #608
    setx87control v39
    save [v0]
    put st5, v31
    drop st6, 12
    put xmm31+48, v29
    put xmm30+0, v19
    put xmm29+0, v28
    put xmm28+0, v30
    copy.8 v0, v1, v1
    forget.4 v1, v0
    allocate v0, v1 times v1 from v0
    turn.5
    restore [v0+0x40]
    checkst v34, v3, 2
}";

fn parsed(text: &str) -> Block {
    let block = parse_block(text).unwrap_or_else(|error| panic!("{error}"));
    fpgrind_ir::verify(&block).unwrap_or_else(|error| panic!("{error}"));
    block
}

fn everything() -> Block {
    parsed(EVERYTHING)
}

fn block(number: u32, block: Block) -> Event<'static> {
    Event::Block { process: 0, number, block }
}

fn records(bytes: &[u8]) -> Event<'_> {
    Event::Records { thread: 0, bytes }
}

/// An analysis of a program with one thread.
fn analysis(config: Config) -> Analysis {
    let mut analysis = Analysis::new(config);
    one_thread().into_iter().for_each(|event| analysis.event(event));
    analysis
}

fn run(chunks: &[Vec<u8>]) -> Findings {
    let events = [block(1, everything()), block(2, parsed(WIDE)), Event::OutputFunction(1, "printf".into())];
    let records = chunks.iter().map(|chunk| records(chunk));
    analyse(one_thread().into_iter().chain(events).chain(records), Config { max_depth: 3, ..Config::default() })
}

/// Findings as text: NaN is not equal to itself, its text is.
fn text(findings: &Findings) -> String {
    format!("{findings:?}")
}

/// Bits that matter: addresses that meet, and floats of all kinds.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0u64..64).prop_map(|address| 0x1000 + address),
        Just(u64::MAX),
        any::<f64>().prop_map(f64::to_bits),
        (-3i32..3).prop_map(|i| (i as f64).to_bits()),
    ]
}

fn record() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(word(), 13).prop_map(|words| {
        let mut bytes = 1u64.to_le_bytes().to_vec();
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes
    })
}

fn wide_record() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(word(), 81).prop_map(|words| {
        let mut bytes = 2u64.to_le_bytes().to_vec();
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes
    })
}

fn written() -> impl Strategy<Value = Vec<u8>> {
    (word(), 0u32..3, word(), word(), prop::collection::vec(any::<u8>(), 0..100), 0u32..40).prop_map(
        |(pc, function, address, offset, bytes, wrong)| {
            let mut record = Bytes { pc, function, address, offset, bytes }.encode();
            // Now and then one that is not as long as it says.
            record[20..24].iter_mut().next().into_iter().for_each(|byte| *byte ^= (wrong == 0) as u8);
            record
        },
    )
}

fn output() -> impl Strategy<Value = Vec<u8>> {
    (word(), 0u32..3, prop::collection::vec((word(), word(), 0u32..3, 0u32..300), 0..3)).prop_map(
        |(pc, function, args)| {
            let mut bytes = Output { pc, function, args: vec![] }.encode();
            bytes[4..8].copy_from_slice(&(32 + 48 * args.len() as u32).to_le_bytes());
            bytes[20..24].copy_from_slice(&(args.len() as u32).to_le_bytes());
            for (bits, place, kind, conversion) in args {
                let upper = if conversion % 2 == 0 { 0 } else { bits & 0xffff };
                bytes.extend(bits.to_le_bytes());
                bytes.extend(upper.to_le_bytes());
                bytes.extend((place % 20).to_le_bytes());
                bytes.extend(kind.to_le_bytes());
                bytes.extend((conversion % 4).to_le_bytes());
                bytes.extend([conversion; 4].map(u32::to_le_bytes).concat());
            }
            bytes
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let length = bytes.len() as u64;
        let findings = run(&[bytes]);
        prop_assert!(findings.totals.skipped_bytes <= length);
    }

    #[test]
    fn well_formed_nonsense_never_panics_and_gives_the_same_findings_again(
        chunks in prop::collection::vec(prop_oneof![4 => record(), 4 => wide_record(), 1 => output(), 1 => written()], 0..40),
    ) {
        prop_assert_eq!(text(&run(&chunks)), text(&run(&chunks)));
    }

    #[test]
    fn a_log_with_flipped_bytes_never_panics(
        chunks in prop::collection::vec(prop_oneof![4 => record(), 4 => wide_record(), 1 => output(), 1 => written()], 1..20),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = chunks.concat();
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()));
        run(&[bytes]);
    }
}

#[test]
fn an_unknown_number_and_a_cut_record_cost_the_rest_of_their_chunk() {
    let good = [1u64.to_le_bytes().to_vec(), vec![0; 104]].concat();
    let unknown = [7u64.to_le_bytes().to_vec(), vec![0; 104]].concat();
    let findings = run(&[[good.clone(), unknown, good.clone()].concat(), good.clone(), good[..40].to_vec()]);
    assert_eq!(findings.totals.blocks, 2);
    assert_eq!(findings.totals.corrupt_records, 2);
    assert_eq!(findings.totals.skipped_bytes, 2 * 112 + 40);
}

#[test]
fn a_block_that_makes_no_sense_is_refused_with_its_records() {
    let mut senseless = everything();
    senseless.record = 16;
    let mut analysis = analysis(Config::default());
    analysis.event(block(1, senseless));
    analysis.event(block(OUTPUT, everything()));
    analysis.event(records(&1u128.to_le_bytes()));
    let findings = analysis.finish();
    assert_eq!((findings.totals.corrupt_records, findings.totals.blocks), (3, 0));
}

#[test]
fn leaving_a_function_that_was_not_entered_is_counted() {
    let mut analysis = analysis(Config::default());
    let leave = "block 0x1000 record 16 {\n  0x1000 4:\n    v0: f64 = fresh xmm0+0 #8\n    leave sin.0 v0, xmm0+0\n}";
    analysis.event(block(1, parse_block(leave).unwrap()));
    analysis.event(records(&1u128.to_le_bytes()));
    assert_eq!(analysis.finish().totals.corrupt_records, 1);
}

#[test]
fn leaving_with_a_result_that_the_arguments_cannot_have_is_counted() {
    let mut log = crate::support::Log::new();
    let call = log.block(
        "block 0x1000 record 32 {
  0x1000 4:
    v0: f64 = fresh xmm0+0 #8
    v1: b64 = live rax #16
    enter v0 from v1
    leave pow.0.1 v0, xmm0+0
    leave sin.0 v0, [v1]
}",
    );
    log.run(call, &[(8, 0)]);
    let totals = log.analysis.finish().totals;
    assert_eq!((totals.corrupt_records, totals.operations), (1, 1));
}

#[test]
fn a_wrong_prediction_is_a_check_failure() {
    let mut log = crate::support::Log::new();
    let block = log.block(
        "block 0x1000 record 48 {
  0x1000 4:
    v0: f64 = fresh xmm0+0 #8
    v1: f64 = add v0, v0
    check v1, xmm0+0 #16 after
    check v1, xmm0+0 #24 after
}",
    );
    log.run(block, &[(8, 1f64.to_bits()), (16, 2f64.to_bits()), (24, 3f64.to_bits())]);
    let findings = log.analysis.finish();
    assert_eq!(findings.totals.checks, 2);
    assert_eq!(findings.check_failures.len(), 1);
    assert_eq!(findings.check_failures[0].native, 3f64.to_bits() as u128);
}

#[test]
fn absurd_settings_are_bounded() {
    for (precision, max_depth, threshold) in [(0, 0, f64::NAN), (u32::MAX, usize::MAX, -1.0), (1, 1, 1e9)] {
        for real in [RealKind::Mpfr, RealKind::DoubleDouble, RealKind::Auto] {
            let asked =
                Config { real, precision, max_depth, threshold, memory: 0, all_causes: true, ..Config::default() };
            let mut analysis = analysis(asked);
            analysis.event(block(1, everything()));
            analysis.event(records(&[1u64.to_le_bytes().to_vec(), vec![0x3f; 104]].concat()));
            assert_eq!(analysis.finish().totals.blocks, 1);
        }
    }
}
