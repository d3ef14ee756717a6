//! Code ran that was not logged: what is still believed behind it. And what is answered to a thread that asks.

use crate::support::{Log, causes};
use fpgrind_analysis::log::{Conversion, Event, GAP, Origin, OutputArg, gap};
use fpgrind_ir::Type;
use std::sync::mpsc::channel;

/// xmm0 = (x + y) - x.
const DIFFERENCE: &str = "block 0x1000 record 32 {
  0x1000 4:
    v0: f64 = live xmm1+0 #8
    v1: f64 = live xmm2+0 #16
    v2: f64 = add v0, v1
    v3: f64 = sub v2, v0
    put xmm0+0, v3
}";

/// A log in which that has been computed, with gaps before and behind it.
fn log_of(x: f64, y: f64) -> Log {
    let mut log = Log::new();
    let block = log.block(DIFFERENCE);
    log.records(&gap());
    log.run(block, &[(8, x.to_bits()), (16, y.to_bits())]);
    log.records(&gap());
    log
}

fn in_memory(value: f64) -> OutputArg {
    let (bits, origin) = (value.to_bits().into(), Origin::Memory(0x4000));
    OutputArg { ty: Type::F64, bits, origin, argument: 0, conversion: Conversion::NONE }
}

#[test]
fn a_zero_behind_a_gap_may_be_another() {
    let mut log = log_of(1e17, 0.1);
    log.print(0.0);
    let findings = log.finish();
    assert_eq!((causes(&findings), findings.spots[0].wrong), (Vec::new(), 0));
}

#[test]
fn a_number_with_many_digits_is_the_same_wherever_it_was_moved() {
    let (x, y) = (1e5, 0.1);
    let mut log = log_of(x, y);
    // It is no longer in a register, and in memory nobody has seen it come.
    log.records(
        &fpgrind_analysis::log::Output { pc: 0x500000, function: 1, args: vec![in_memory((x + y) - x)] }.encode(),
    );
    assert_eq!(causes(&log.finish()), ["(x + y) - x"]);
}

#[test]
fn who_asks_is_told_how_wrong_a_number_is() {
    let (x, y) = (1e5, 0.1);
    let mut log = log_of(x, y);
    let mut ask = |value: f64| {
        let (answer, answers) = channel();
        log.analysis.event(Event::Asked { thread: log.thread, of: in_memory(value), answer });
        answers.iter().collect::<Vec<f64>>()
    };
    // All answer.
    let wrong = ask((x + y) - x);
    assert!(wrong.len() == 4 && wrong.iter().all(|bits| (15.0..25.0).contains(bits)), "{wrong:?}");
    assert_eq!(ask(0.7), [0.0; 4]);
    // Of a thread that there is not nothing is known, and nobody waits for ever.
    let (answer, answers) = channel();
    log.analysis.event(Event::Asked { thread: 99, of: in_memory(0.7), answer });
    assert_eq!(answers.iter().count(), 0);
}

#[test]
fn a_gap_that_is_cut_off_is_corrupt() {
    let mut log = Log::new();
    log.records(&gap()[..8]);
    log.records(&GAP.to_le_bytes());
    assert_eq!(log.analysis.finish().totals.corrupt_records, 2);
}
