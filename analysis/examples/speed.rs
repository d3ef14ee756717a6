//! How long an operation takes: `cargo run --release -p fpgrind-analysis --example speed [RUNS]`.

use fpgrind_analysis::log::Event;
use fpgrind_analysis::{Analysis, Config};
use fpgrind_ir::parse_block;
use std::time::Instant;

/// A multiplication and an addition on data, accumulated through a register.
const DOT: &str = "
block 0x1000 record 48 {
  0x1000 4:
    v0: b64 = live rdi #8
    v1: f64 = load [v0] #16
    v2: f64 = load [v0+0x8] #24
    v3: f64 = mul v1, v2
    v4: f64 = live xmm0+0 #32
    v5: f64 = add v4, v3
    put xmm0+0, v5
}";

/// The same, on values that lose their digits each time.
const CANCEL: &str = "
block 0x2000 record 48 {
  0x2000 4:
    v0: b64 = live rdi #8
    v1: f64 = load [v0] #16
    v2: f64 = load [v0+0x8] #24
    v3: f64 = add v1, v2
  0x2004 4:
    v4: f64 = sub v3, v2
    v5: f64 = mul v4, v4
    store [v0+0x10], v5
}";

fn main() {
    let runs = std::env::args().nth(1).and_then(|runs| runs.parse().ok()).unwrap_or(1_000_000);
    measure("dot product", DOT, runs, |i, sum| {
        let (a, b) = (1.0 + i as f64 * 1e-6, 0.7 + (i % 97) as f64 * 1e-3);
        let fields = [0x10000 + i % 1000 * 16, a.to_bits(), b.to_bits(), sum.to_bits()];
        *sum += a * b;
        fields
    });
    measure("cancellation", CANCEL, runs, |i, _| {
        let (a, b) = (1.0 + i as f64 * 1e-6, 1e12 + i as f64);
        [0x10000 + i % 1000 * 32, a.to_bits(), b.to_bits(), 0]
    });
}

fn measure(what: &str, text: &str, runs: u64, mut fields: impl FnMut(u64, &mut f64) -> [u64; 4]) {
    let mut analysis = Analysis::new(Config::default());
    analysis.event(Event::Process { process: 0, forked_from: None });
    analysis.event(Event::Thread { thread: 0, process: 0, cloned_from: None });
    analysis.event(Event::Block { process: 0, number: 1, block: parse_block(text).expect("a block") });
    let mut sum = 0.0;
    let mut bytes = Vec::new();
    for i in 0..runs {
        bytes.extend(1u64.to_le_bytes());
        fields(i, &mut sum).iter().for_each(|field| bytes.extend(field.to_le_bytes()));
        bytes.extend([0; 8]);
    }
    let start = Instant::now();
    analysis.event(Event::Records { thread: 0, bytes: &bytes });
    let operations = analysis.operations();
    let each = start.elapsed().as_nanos() as f64 / operations as f64;
    println!("{what}: {each:.0} ns an operation, {operations} operations");
    println!("    {:?}", analysis.finish().totals);
}
