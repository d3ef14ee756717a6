//! Arbitrary logs: whatever a log says, the analysis gets through it without a panic, in memory and time that are in proportion.
//!
//! PROPTEST_CASES asks for more of them than `cargo test` runs.

#[path = "../../../ir/tests/common/mod.rs"]
mod blocks;
mod functions;
mod logs;
mod measure;

use fpgrind_analysis::{Analysis, Config, Findings, RealKind};
use logs::{Log, log};
use measure::Measured;
use proptest::prelude::*;

/// What an analysis has before it begins: the smallest arena, and tables.
const FLOOR: usize = 16 << 20;
/// What is known of one operation, or one place that shows floats, at most.
const EACH: usize = 1 << 18;

fn config() -> impl Strategy<Value = Config> {
    let real = prop_oneof![Just(RealKind::Auto), Just(RealKind::Mpfr), Just(RealKind::DoubleDouble)];
    (real, 1usize..12, prop_oneof![Just(0), Just(1 << 16), Just(1 << 22)])
        .prop_map(|(real, max_depth, memory)| Config { real, max_depth, memory, ..Config::default() })
}

fn analyse(log: &Log, rounds: u64, config: Config) -> (Findings, Measured) {
    measure::of(|| {
        let mut analysis = Analysis::new(config);
        for round in 0..rounds {
            log.feed(&mut analysis, round);
        }
        analysis.finish()
    })
}

fn cases(default: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(default), failure_persistence: None, ..ProptestConfig::default() }
}

/// Memory that the log may take: what was asked for, and what is known of each place in the program.
fn allowed(log: &Log, config: Config) -> usize {
    FLOOR + 2 * config.memory + log.places() * EACH
}

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn a_log_is_analysed_in_proportion_whatever_it_says(log in log(60), config in config()) {
        let (findings, measured) = analyse(&log, 1, config);
        prop_assert!(findings.totals.skipped_bytes <= log.bytes());
        prop_assert!(measured.peak <= allowed(&log, config), "{} bytes of {}", measured.peak, allowed(&log, config));
        prop_assert!(measured.seconds < 2.0 + 1e-3 * log.steps() as f64, "{} s for {} steps", measured.seconds, log.steps());
    }

    #[test]
    fn a_log_is_said_the_same_of_again(log in log(40), config in config()) {
        let text = |(findings, _): (Findings, Measured)| format!("{findings:?}");
        prop_assert_eq!(text(analyse(&log, 1, config)), text(analyse(&log, 1, config)));
    }

    #[test]
    fn compiled_or_not_the_same_is_found(log in log(40), config in config()) {
        let found = |compile_after| format!("{:?}", analyse(&log, 3, Config { compile_after, ..config }).0);
        prop_assert_eq!(found(Some(0)), found(None));
    }
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn memory_does_not_grow_with_time(log in log(30), config in config()) {
        let (_, once) = analyse(&log, 1, config);
        prop_assume!(once.seconds < 0.1);
        let rounds = ((0.2 / once.seconds) as u64).clamp(10, 100);
        let (_, short) = analyse(&log, rounds, config);
        let (_, long) = analyse(&log, 4 * rounds, config);
        // Four times as long, and no more than what a longer look at the same places takes.
        let peak = FLOOR + 2 * config.memory + 2 * short.peak;
        prop_assert!(long.peak <= peak, "{} bytes, a quarter of it took {}", long.peak, short.peak);
        let seconds = 5.0 + 8.0 * short.seconds;
        prop_assert!(long.seconds < seconds, "{} s, a quarter of it took {}", long.seconds, short.seconds);
    }
}
