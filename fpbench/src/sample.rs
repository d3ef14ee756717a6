//! Inputs for a core: half of them even over the floats of the ranges that `:pre` allows, half even in value, the same
//! in every run.

use crate::ast::{Argument, Core, Expr, Precision};
use crate::domains::{Native, Native64};
use crate::evaluate::{Domain, holds};
use crate::number::Literal;
use crate::operators::Comparison;
use crate::sexpr::Kind;

/// Where a variable must lie, as far as simple comparisons in `:pre` tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

/// How far samples that are even in value go where nothing bounds them: over all doubles, all would be huge.
const UNBOUNDED: f64 = 1000.0;
/// Draws per sample before a precondition counts as one that random inputs do not meet.
const MAX_DRAWS: usize = 2000;

/// Up to `count` inputs that satisfy the precondition; the core's example comes first. Fewer where they are hard to find.
pub fn inputs(core: &Core, count: usize) -> Vec<Vec<Native64>> {
    let ranges = ranges(core);
    let mut random = Random::seeded(&core.title());
    let mut samples: Vec<Vec<Native64>> = example(core, &ranges, &mut random).into_iter().collect();
    for draw in 0..count * MAX_DRAWS {
        if samples.len() >= count {
            break;
        }
        // Alternating by draw, not by sample, so that a condition which one way never meets does not end it all.
        let sample = draw_sample(core, &ranges, draw % 2 == 0, &mut random);
        if allowed(core, &sample) {
            samples.push(sample);
        }
    }
    samples
}

fn allowed(core: &Core, sample: &[Native64]) -> bool {
    core.pre.as_ref().is_none_or(|pre| holds(&mut Native, core, pre, sample) == Ok(true))
}

fn draw_sample(core: &Core, ranges: &[Range], by_bits: bool, random: &mut Random) -> Vec<Native64> {
    let draw = |(argument, range): (&Argument, &Range)| {
        let precision = argument.precision;
        let value = if by_bits { random.among_floats(*range, precision) } else { random.by_value(*range) };
        Native::input(value.clamp(range.low, range.high), precision)
    };
    core.arguments.iter().zip(ranges).map(draw).collect()
}

/// `:example ([x 1] ...)`, with the rest drawn.
fn example(core: &Core, ranges: &[Range], random: &mut Random) -> Option<Vec<Native64>> {
    let Kind::List(given) = &core.property("example")?.kind else { return None };
    let mut sample = draw_sample(core, ranges, false, random);
    for pair in given {
        let Kind::List(pair) = &pair.kind else { return None };
        let [name, value] = pair.as_slice() else { return None };
        let value = Literal::parse(&value.to_string())?.double;
        let place = core.arguments.iter().position(|argument| argument.name == name.to_string())?;
        sample[place] = Native::input(value, core.arguments[place].precision);
    }
    allowed(core, &sample).then_some(sample)
}

/// The ranges of the arguments, in their order.
pub fn ranges(core: &Core) -> Vec<Range> {
    core.arguments.iter().map(|argument| range_of(core, argument)).collect()
}

fn range_of(core: &Core, argument: &Argument) -> Range {
    let most = match argument.precision {
        Precision::Binary32 => f32::MAX as f64,
        Precision::Binary64 => f64::MAX,
    };
    let everything = Range { low: -most, high: most };
    let range = core.pre.as_ref().map_or(everything, |pre| bound(core, &argument.name, pre, everything));
    if range.low <= range.high { range } else { everything }
}

fn bound(core: &Core, name: &str, condition: &Expr, range: Range) -> Range {
    match condition {
        Expr::And(all) => all.iter().fold(range, |range, one| bound(core, name, one, range)),
        Expr::Or(some) => {
            let ranges = some.iter().map(|one| bound(core, name, one, range)).filter(|range| range.low <= range.high);
            let hull = |a: Range, b: Range| Range { low: a.low.min(b.low), high: a.high.max(b.high) };
            ranges.reduce(hull).unwrap_or(range)
        }
        Expr::Compare(comparison, args) => {
            args.windows(2).fold(range, |range, pair| match (*comparison, &pair[0], &pair[1]) {
                (Comparison::Less | Comparison::AtMost, a, b) => ordered(core, name, a, b, range),
                (Comparison::Greater | Comparison::AtLeast, a, b) => ordered(core, name, b, a, range),
                (Comparison::Equal, a, b) => ordered(core, name, a, b, ordered(core, name, b, a, range)),
                (Comparison::Unequal, ..) => range,
            })
        }
        _ => range,
    }
}

/// What `low <= high` says about a variable.
fn ordered(core: &Core, name: &str, low: &Expr, high: &Expr, range: Range) -> Range {
    let is_it = |expr: &Expr| matches!(expr, Expr::Variable(variable) if variable == name);
    match (is_it(low), is_it(high)) {
        (true, false) => constant(core, high).map_or(range, |most| Range { high: range.high.min(most), ..range }),
        (false, true) => constant(core, low).map_or(range, |least| Range { low: range.low.max(least), ..range }),
        _ => match (low, high) {
            // Bounds on the magnitude.
            (Expr::Operation(crate::operators::Operator::Fabs, args), bound) if is_it(&args[0]) => {
                constant(core, bound)
                    .map_or(range, |most| Range { low: range.low.max(-most), high: range.high.min(most) })
            }
            _ => range,
        },
    }
}

/// The value of an expression without variables.
fn constant(core: &Core, expr: &Expr) -> Option<f64> {
    let body = crate::fold::fold(&Core { body: expr.clone(), ..core.clone() }).body;
    match body {
        Expr::Context(precision, number) => match *number {
            Expr::Number(literal) => Some(Native.literal(&literal, precision).value),
            _ => None,
        },
        Expr::Constant(constant) => Some(Native.constant(constant, core.precision).value),
        _ => None,
    }
}

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
pub struct Random(u64);

impl Random {
    /// Seeded by a name, so that a benchmark's inputs do not depend on its neighbours.
    pub fn seeded(name: &str) -> Random {
        Random(
            name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ byte as u64).wrapping_mul(0x100_0000_01b3)),
        )
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / ((1u64 << 53) - 1) as f64
    }

    fn by_value(&mut self, range: Range) -> f64 {
        let Range { low, high } = range;
        // The greatest float of a format bounds nothing.
        let is_bound = |end: f64| end.abs() != f64::MAX && end.abs() != f32::MAX as f64;
        let (low, high) = match (is_bound(low), is_bound(high)) {
            (true, true) => (low, high),
            (true, false) => (low, low + low.abs().max(UNBOUNDED)),
            (false, true) => (high - high.abs().max(UNBOUNDED), high),
            (false, false) => (-UNBOUNDED, UNBOUNDED),
        };
        let fraction = self.fraction();
        low * (1.0 - fraction) + high * fraction
    }

    /// Every float of the range is as likely as every other.
    fn among_floats(&mut self, range: Range, precision: Precision) -> f64 {
        let (low, high) = (place(range.low, precision), place(range.high, precision));
        let span = high.saturating_sub(low).max(0) as u128 + 1;
        let place = low + ((self.bits() as u128 * span) >> 64) as i128;
        float_at(place, precision)
    }
}

/// The place of a float in the order of its format's floats; both zeros are 0.
pub fn place(value: f64, precision: Precision) -> i128 {
    let magnitude = match precision {
        Precision::Binary32 => ((value as f32).to_bits() & 0x7fff_ffff) as i128,
        Precision::Binary64 => (value.to_bits() & !(1 << 63)) as i128,
    };
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

fn float_at(place: i128, precision: Precision) -> f64 {
    let magnitude = match precision {
        Precision::Binary32 => f32::from_bits(place.unsigned_abs() as u32) as f64,
        Precision::Binary64 => f64::from_bits(place.unsigned_abs() as u64),
    };
    if place < 0 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    fn core(text: &str) -> Core {
        parse(text).expect("readable").remove(0).expect("a core")
    }

    #[test]
    fn ranges_come_from_comparisons_with_constants() {
        let core =
            core("(FPCore (x y z) :pre (and (<= 1 x (* 2 4)) (or (< 3 y 4) (< 5 y 6)) (< (fabs z) 7) (< x y)) x)");
        let expected = [(1.0, 8.0), (3.0, 6.0), (-7.0, 7.0)];
        assert_eq!(ranges(&core), expected.map(|(low, high)| Range { low, high }));
    }

    #[test]
    fn samples_obey_the_precondition_and_repeat() {
        let core = core("(FPCore (x y) :precision binary32 :pre (and (<= 1 x 8) (< 0 y x)) (+ x y))");
        let samples = inputs(&core, 40);
        assert_eq!(samples.len(), 40);
        assert_eq!(samples, inputs(&core, 40));
        for sample in &samples {
            let [x, y] = [sample[0].value, sample[1].value];
            assert!((1.0..=8.0).contains(&x) && 0.0 < y && y < x && x == x as f32 as f64, "{x} {y}");
        }
        // Half of them spread over the magnitudes.
        assert!(samples.iter().filter(|sample| sample[1].value < 1e-3).count() >= 8);
    }

    #[test]
    fn the_example_comes_first() {
        let core = core("(FPCore (a b) :example ([a 77617] [b 33096]) (+ a b))");
        assert_eq!(inputs(&core, 3)[0].iter().map(|input| input.value).collect::<Vec<_>>(), [77617.0, 33096.0]);
    }

    #[test]
    fn a_condition_that_cannot_be_met_gives_no_samples() {
        assert!(inputs(&core("(FPCore (x) :pre (< x 1 x) x)"), 2).is_empty());
    }
}
