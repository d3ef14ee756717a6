//! What is true about a core on given inputs: computed by MPFR from the FPCore, sharing no code with what is judged.

use crate::ast::{Core, Precision};
use crate::domains::{Along, Native, Native64, rounded};
use crate::evaluate::{Stopped, run};
use crate::sample::place;

/// One execution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// What the program should compute, going by our own evaluation in floats.
    pub native: f64,
    /// What it would be in the reals along the same path, rounded once.
    pub correct: f64,
    /// Decisions that go the other way in the reals.
    pub wrong_decisions: u64,
    /// The same where the compiler may have left no decision, or put one of its own.
    pub optional_decisions: u64,
    /// The most bits that an operation behind the result loses by itself.
    pub worst_local: f64,
    /// The real did not settle within the bits allowed.
    pub unsettled: bool,
}

/// The least double is 2^-1074: with fewer bits, a term like 1 + x loses the x that a later subtraction brings back.
const FIRST_BITS: u32 = 1280;
const MAX_BITS: u32 = 10240;

/// Evaluates with more and more bits until the rounded result no longer changes.
pub fn truth(core: &Core, inputs: &[Native64], precision: Precision, max_operations: u64) -> Result<Truth, Stopped> {
    let at = |bits: u32| {
        let mut domain = Along::new(bits);
        let inputs: Vec<_> = inputs.iter().map(|input| domain.exact(*input)).collect();
        let (pair, _) = run(&mut domain, core, &inputs, max_operations)?;
        let correct = rounded(&pair.real, precision);
        let Along { wrong_decisions, optional_decisions, .. } = domain;
        let (native, worst_local) = (pair.native.value, pair.worst_local);
        Ok(Truth { native, correct, wrong_decisions, optional_decisions, worst_local, unsettled: false })
    };
    let mut bits = FIRST_BITS;
    let mut last = at(bits)?;
    loop {
        bits *= 2;
        let next = at(bits)?;
        let same_value = next.correct == last.correct || next.correct.is_nan() && last.correct.is_nan();
        let same = same_value && next.wrong_decisions == last.wrong_decisions;
        // A zero may be what is left of too few bits.
        if same && (next.correct != 0.0 || bits >= MAX_BITS) {
            return Ok(next);
        }
        if bits >= MAX_BITS {
            return Ok(Truth { unsettled: true, ..next });
        }
        last = next;
    }
}

/// The operations that a run takes in floats.
pub fn operations(core: &Core, inputs: &[Native64], max_operations: u64) -> Result<u64, Stopped> {
    run(&mut Native, core, inputs, max_operations).map(|(_, operations)| operations)
}

/// Bits of error: log2 of one more than the floats between the two. A NaN is as wrong as can be, even where the reals have
/// none either: whoever computes wanted a number.
pub fn bits_of_error(computed: f64, correct: f64, precision: Precision) -> f64 {
    if computed.is_nan() || correct.is_nan() {
        return match precision {
            Precision::Binary32 => 32.0,
            Precision::Binary64 => 64.0,
        };
    }
    let between = place(computed, precision).abs_diff(place(correct, precision));
    (between as f64 + 1.0).log2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    #[test]
    fn the_truth_has_enough_bits_for_the_smallest_numbers() {
        let core = parse("(FPCore (x) (- (exp x) 1))").expect("readable").remove(0).expect("a core");
        let tiny = f64::from_bits(3);
        let truth =
            truth(&core, &[Native::input(tiny, Precision::Binary64)], Precision::Binary64, 100).expect("a value");
        assert_eq!((truth.native, truth.correct, truth.unsettled), (0.0, tiny, false));
    }

    #[test]
    fn errors_count_floats_of_the_format() {
        assert_eq!(bits_of_error(1.0, 1.0 + f64::EPSILON, Precision::Binary64), 1.0);
        assert_eq!(bits_of_error(1.0, 1.0 + f32::EPSILON as f64, Precision::Binary32), 1.0);
        assert_eq!(bits_of_error(0.0, -0.0, Precision::Binary64), 0.0);
        assert_eq!(bits_of_error(f64::NAN, f64::NAN, Precision::Binary64), 64.0);
        assert_eq!(bits_of_error(f64::NAN, 1.0, Precision::Binary32), 32.0);
    }
}
