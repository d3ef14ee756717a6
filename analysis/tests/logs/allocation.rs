//! Memory that is handed out, moved, overwritten and written out.

use crate::support::{Log, PRINT};
use fpgrind_analysis::SpotKind;
use fpgrind_analysis::log::{Bytes, Event};
use fpgrind_ir::Type;

const HEAP: u64 = 0x10_0000;

/// A log in which an inaccurate number can be stored: 1e16 + 1 - 1e16 is 0, and should be 1.
struct Heap {
    log: Log,
    store: u32,
    malloc: u32,
    realloc: u32,
    calloc: u32,
}

impl Heap {
    fn new() -> Heap {
        let mut log = Log::new();
        let store = log.block(
            "block 0x1000 record 16 {
  0x1000 4:
    v0: b64 = live rax #8
    v1: f64 = const 0x4341c37937e08000
    v2: f64 = const 0x3ff0000000000000
    v3: f64 = add v1, v2
    v4: f64 = sub v3, v1
    store [v0], v4
}",
        );
        let malloc = log.block(
            "block 0x7000 record 32 {
  0x7000 0:
    v0: b64 = fresh rax #8
    v1: b64 = live out0 #16
    allocate v0, v1
}",
        );
        let realloc = log.block(
            "block 0x7100 record 32 {
  0x7100 0:
    v0: b64 = fresh rax #8
    v1: b64 = live out1 #16
    v2: b64 = live out0 #24
    allocate v0, v1 from v2
}",
        );
        let calloc = log.block(
            "block 0x7200 record 32 {
  0x7200 0:
    v0: b64 = fresh rax #8
    v1: b64 = live out1 #16
    v2: b64 = live out0 #24
    allocate v0, v1 times v2
}",
        );
        Heap { log, store, malloc, realloc, calloc }
    }

    fn store(&mut self, address: u64) {
        self.log.run(self.store, &[(8, address)]);
    }

    fn malloc(&mut self, at: u64, size: u64) {
        self.log.run(self.malloc, &[(8, at), (16, size)]);
    }

    fn realloc(&mut self, at: u64, size: u64, old: u64) {
        self.log.run(self.realloc, &[(8, at), (16, size), (24, old)]);
    }

    fn calloc(&mut self, at: u64, size: u64, count: u64) {
        self.log.run(self.calloc, &[(8, at), (16, size), (24, count)]);
    }

    fn is_known(&self, address: u64) -> bool {
        self.log.analysis.memory(0, address, Type::F64).is_some()
    }
}

#[test]
fn memory_that_is_handed_out_again_has_forgotten_what_was_in_it() {
    let mut heap = Heap::new();
    heap.malloc(HEAP, 64);
    [0, 56, 64].into_iter().for_each(|at| heap.store(HEAP + at));
    heap.malloc(HEAP, 64);
    assert!(!heap.is_known(HEAP) && !heap.is_known(HEAP + 56) && heap.is_known(HEAP + 64));
    heap.store(HEAP + 8 * 99);
    heap.calloc(HEAP, 8, 100);
    assert!(!heap.is_known(HEAP + 8 * 99));
    // There was no memory.
    heap.store(HEAP);
    heap.malloc(0, u64::MAX);
    assert!(heap.is_known(HEAP));
    heap.log.finish();
}

#[test]
fn what_grows_or_moves_keeps_what_it_had_and_no_more() {
    let mut heap = Heap::new();
    heap.malloc(HEAP, 32);
    heap.store(HEAP + 24);
    // The neighbour's.
    heap.store(HEAP + 40);
    heap.realloc(HEAP, 64, HEAP);
    assert!(heap.is_known(HEAP + 24) && !heap.is_known(HEAP + 40));
    heap.store(HEAP + 64);
    let elsewhere = HEAP + 0x5000;
    heap.store(elsewhere);
    heap.realloc(elsewhere, 128, HEAP);
    assert!(heap.is_known(elsewhere + 24) && !heap.is_known(elsewhere) && !heap.is_known(elsewhere + 64));
    heap.store(elsewhere + 8);
    heap.realloc(HEAP, 16, elsewhere);
    assert!(heap.is_known(HEAP + 8) && !heap.is_known(HEAP));
    heap.log.finish();
}

#[test]
fn what_the_kernel_writes_unmaps_or_moves_is_forgotten_or_goes_along() {
    let mut heap = Heap::new();
    let (process, start, end) = (0, HEAP, HEAP + 8);
    let to = HEAP + 0x9000;
    heap.store(start);
    heap.log.analysis.event(Event::Moved { process, start, end, to });
    assert!(!heap.is_known(start) && heap.is_known(to));
    heap.log.analysis.event(Event::Overwritten { process, start: to, end: to + 1 });
    assert!(!heap.is_known(to));
    heap.store(start);
    heap.log.analysis.event(Event::Unmapped { process, start, end: start + 0x1000 });
    assert!(!heap.is_known(start));
    heap.log.finish();
}

#[test]
fn of_bytes_written_out_those_count_that_still_are_what_was_computed() {
    let mut heap = Heap::new();
    heap.store(HEAP + 8);
    heap.store(HEAP + 24);
    // The second was overwritten, and nobody said so.
    let mut bytes = vec![0; 32];
    bytes[24] = 7;
    let written = Bytes { pc: PRINT, function: 1, address: HEAP, offset: 1000, bytes };
    heap.log.records(&written.encode());
    // One that lies only half in what is written is not.
    let half = Bytes { pc: PRINT, function: 1, address: HEAP + 12, offset: 0, bytes: vec![0; 4] };
    heap.log.records(&half.encode());
    let findings = heap.log.finish();
    let outputs: Vec<_> = findings.spots.iter().filter(|spot| matches!(spot.kind, SpotKind::Output { .. })).collect();
    let [output] = outputs.as_slice() else { panic!("{outputs:?}") };
    assert_eq!((output.count, output.wrong, output.offset), (1, 1, Some(1008)));
    assert_eq!((output.computed.to_f64(), output.correct.to_f64()), (0.0, 1.0));
}
