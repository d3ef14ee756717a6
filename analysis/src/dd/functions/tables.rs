//! Constants with more digits than a double has. MPFR computes them once, when the first function is called.

use super::twofold::Twofold;
use crate::mpfr::Mpfr;
use crate::real::Real;
use fpgrind_ir::Operator;
use std::sync::LazyLock;

/// Steps of exponentials in a factor of two, and fine ones in each of these; of sines in a quarter of the circle, of logarithms and of arc
/// tangents from 0 to 1.
pub const POWERS: usize = 128;
pub const SINES: usize = 1024;
pub const LOGARITHMS: usize = 512;
pub const ARCS: usize = 512;
/// Numbers from here on are halved before their logarithm is looked up: they are beyond the square root of two.
pub const FIRST_HALVED: usize = 213;
/// Digits of the first part of a step: multiples of it by integers below 2^24 are doubles.
const FEW_DIGITS: u32 = 29;

pub struct Tables {
    /// 2^(i / POWERS), and the same of a fine step.
    pub powers: [Twofold; POWERS],
    pub fine_powers: [Twofold; POWERS],
    /// sin(i * pi/2 / SINES).
    pub sines: [Twofold; SINES + 1],
    /// For numbers near 1 + i / LOGARITHMS: their reciprocals to thirteen digits, and minus the logarithms of these, or of their doubles for those
    /// that are halved.
    pub logarithms: [(f64, Twofold); LOGARITHMS + 1],
    /// atan(i / ARCS).
    pub arcs: [Twofold; ARCS + 1],
    /// 1 / i and 1 / i!.
    pub inverses: [Twofold; 14],
    pub factorials: [Twofold; 14],
    /// ln(2) / POWERS^2, and pi/2 / SINES: the first doubles have few digits, and are below them.
    pub step_of_powers: [f64; 3],
    pub step_of_sines: [f64; 3],
    /// Three full doubles.
    pub exact_step_of_sines: [f64; 3],
    pub ln_2: Twofold,
    pub ln_10: Twofold,
    pub log2_e: Twofold,
    pub log10_e: Twofold,
    pub pi: Twofold,
}

pub static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let number = |value: f64| Mpfr::exactly(PRECISION, value);
    let divide = |a: &Mpfr, b: f64| Mpfr::apply(Operator::Div, &[a, &number(b)]);
    let of = |operator, value: &Mpfr| Mpfr::apply(operator, &[value]);
    let [one, two] = [1.0, 2.0].map(number);
    let [ln_2, ln_10] = [two, number(10.0)].map(|base| of(Operator::Log, &base));
    let pi = of(Operator::Acos, &number(-1.0));
    let inverse = |value: &Mpfr| Mpfr::apply(Operator::Div, &[&one, value]);
    let step_of_sines = divide(&pi, 2.0 * SINES as f64);
    let times = |a: &Mpfr, b: usize| Mpfr::apply(Operator::Mul, &[a, &number(b as f64)]);
    Tables {
        powers: std::array::from_fn(|i| twofold(&of(Operator::Exp2, &number(i as f64 / POWERS as f64)))),
        fine_powers: std::array::from_fn(|i| {
            twofold(&of(Operator::Exp2, &number(i as f64 / (POWERS * POWERS) as f64)))
        }),
        sines: std::array::from_fn(|i| twofold(&of(Operator::Sin, &times(&step_of_sines, i)))),
        logarithms: std::array::from_fn(|i| {
            let near = 1.0 + i as f64 / LOGARITHMS as f64;
            let halved = if i < FIRST_HALVED { 1.0 } else { 0.5 };
            let reciprocal = (8192.0 / (near * halved)).round() / 8192.0;
            (reciprocal * halved, -twofold(&of(Operator::Log, &number(reciprocal))))
        }),
        arcs: std::array::from_fn(|i| twofold(&of(Operator::Atan, &number(i as f64 / ARCS as f64)))),
        inverses: std::array::from_fn(|i| twofold(&inverse(&number(i.max(1) as f64)))),
        factorials: std::array::from_fn(|i| twofold(&inverse(&number((1..=i).product::<usize>() as f64)))),
        step_of_powers: step(&divide(&ln_2, (POWERS * POWERS) as f64)),
        step_of_sines: step(&step_of_sines),
        exact_step_of_sines: parts(&step_of_sines),
        ln_2: twofold(&ln_2),
        ln_10: twofold(&ln_10),
        log2_e: twofold(&inverse(&ln_2)),
        log10_e: twofold(&inverse(&ln_10)),
        pi: twofold(&pi),
    }
});

/// Three doubles, and some to spare.
const PRECISION: u32 = 192;

/// A number as a sum of doubles.
fn parts<const N: usize>(value: &Mpfr) -> [f64; N] {
    let mut rest = value.clone();
    std::array::from_fn(|_| {
        let part = rest.to_f64();
        rest = Mpfr::apply(Operator::Sub, &[&rest, &Mpfr::exactly(PRECISION, part)]);
        part
    })
}

/// The same, the first of which has few digits, and no more than the number has.
fn step(value: &Mpfr) -> [f64; 3] {
    let few = f64::from_bits(value.to_f64().to_bits() >> (53 - FEW_DIGITS) << (53 - FEW_DIGITS));
    let rest = Mpfr::apply(Operator::Sub, &[value, &Mpfr::exactly(PRECISION, few)]);
    let [second, third] = parts(&rest);
    [few, second, third]
}

fn twofold(value: &Mpfr) -> Twofold {
    let [hi, lo] = parts(value);
    Twofold { hi, lo }
}
