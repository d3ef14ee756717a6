//! Floats of any format taken apart: how they compare and which integers they become. Written from the manual, and not shared
//! with the analysis, which it judges.

use fpgrind_ir::{Outcome, Type};
use std::cmp::Ordering;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    Nan,
    Infinite {
        negative: bool,
    },
    /// The significand times two to the exponent.
    Finite {
        negative: bool,
        significand: u64,
        exponent: i32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    Nearest,
    Down,
    Up,
    Zero,
}

impl Direction {
    /// As two bits of MXCSR, of the x87's control word or of an instruction say (Intel SDM volume 1, table 4-8).
    pub fn of(bits: u32) -> Direction {
        [Direction::Nearest, Direction::Down, Direction::Up, Direction::Zero][bits as usize & 3]
    }
}

impl Number {
    pub fn new(ty: Type, bits: u128, denormals_are_zeros: bool) -> Number {
        // Bits of the exponent, and of the significand without the leading one.
        let (exponent_bits, fraction_bits) = match ty {
            Type::F16 => (5, 10),
            Type::Bf16 => (8, 7),
            Type::F32 => (8, 23),
            Type::F64 => (11, 52),
            Type::F80 => return Number::extended(bits),
            _ => panic!("{ty} is no float"),
        };
        let negative = bits >> (exponent_bits + fraction_bits) & 1 == 1;
        let highest = (1u32 << exponent_bits) - 1;
        let biased = (bits >> fraction_bits) as u32 & highest;
        let fraction = bits as u64 & ((1 << fraction_bits) - 1);
        let bias = (highest >> 1) as i32 + fraction_bits;
        match biased {
            _ if biased == highest && fraction != 0 => Number::Nan,
            _ if biased == highest => Number::Infinite { negative },
            // There is no DAZ for halves (Intel SDM, AVX512-FP16 architecture specification, 3.4).
            0 if denormals_are_zeros && ty != Type::F16 => Number::Finite { negative, significand: 0, exponent: 0 },
            0 => Number::Finite { negative, significand: fraction, exponent: 1 - bias },
            _ => {
                Number::Finite { negative, significand: fraction | 1 << fraction_bits, exponent: biased as i32 - bias }
            }
        }
    }

    /// The x87's format, whose leading one is written. Where it is missing the number is one that the CPU refuses, like a NaN
    /// (Intel SDM volume 1, table 8-3).
    fn extended(bits: u128) -> Number {
        let (significand, sign_exponent) = (bits as u64, (bits >> 64) as u16);
        let negative = sign_exponent >> 15 == 1;
        match sign_exponent & 0x7fff {
            0 => Number::Finite { negative, significand, exponent: 1 - 16383 - 63 },
            _ if significand >> 63 == 0 => Number::Nan,
            0x7fff if significand << 1 != 0 => Number::Nan,
            0x7fff => Number::Infinite { negative },
            biased => Number::Finite { negative, significand, exponent: biased as i32 - 16383 - 63 },
        }
    }

    pub fn compare(self, other: Number) -> Outcome {
        match (self, other) {
            (Number::Nan, _) | (_, Number::Nan) => Outcome::Unordered,
            (a, b) => Outcome::from(Some(a.rank().cmp(&b.rank()))),
        }
    }

    /// Something that orders numbers which are no NaNs: sign, then exponent of the leading one, then significand.
    fn rank(self) -> impl Ord {
        let (negative, magnitude) = match self {
            Number::Finite { significand: 0, .. } | Number::Nan => (false, (i32::MIN, 0)),
            Number::Infinite { negative } => (negative, (i32::MAX, 0)),
            Number::Finite { negative, significand, exponent } => {
                let zeros = significand.leading_zeros();
                (negative, (exponent - zeros as i32, significand << zeros))
            }
        };
        let zero = magnitude.0 == i32::MIN;
        let sign = if zero { 0 } else { 1 - 2 * negative as i32 };
        Ranked { sign, magnitude }
    }

    /// The integer of so many bytes that a conversion gives. What does not fit becomes the smallest signed, or the largest
    /// unsigned one (Intel SDM volume 1, 4.8.3.7 and CVTTSD2USI).
    pub fn to_integer(self, direction: Direction, bytes: u8, signed: bool) -> u64 {
        let bits = 8 * bytes as u32;
        let all = u64::MAX >> (64 - bits);
        let indefinite = if signed { 1 << (bits - 1) } else { all };
        let Number::Finite { negative, significand, exponent } = self else { return indefinite };
        let Some(magnitude) = round(significand, exponent, negative, direction) else { return indefinite };
        let limit = match (signed, negative) {
            (true, true) => 1 << (bits - 1),
            (true, false) => (1 << (bits - 1)) - 1,
            (false, true) => 0,
            (false, false) => all as u128,
        };
        if magnitude > limit {
            return indefinite;
        }
        (if negative { (magnitude as u64).wrapping_neg() } else { magnitude as u64 }) & all
    }
}

#[derive(PartialEq, Eq)]
struct Ranked {
    sign: i32,
    magnitude: (i32, u64),
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        let same_sign = match self.sign {
            -1 => other.magnitude.cmp(&self.magnitude),
            _ => self.magnitude.cmp(&other.magnitude),
        };
        self.sign.cmp(&other.sign).then(same_sign)
    }
}

/// The magnitude as an integer; nothing if it has more than 128 bits.
fn round(significand: u64, exponent: i32, negative: bool, direction: Direction) -> Option<u128> {
    if significand == 0 {
        return Some(0);
    }
    if exponent >= 0 {
        return (exponent < 64).then(|| (significand as u128) << exponent);
    }
    // Below a quarter the distance no longer matters, only that there is one.
    let (wide, shift) = ((significand as u128) << 2, (2 - exponent).min(68) as u32);
    let whole = wide >> shift;
    let rest = wide & ((1 << shift) - 1);
    let half = 1u128 << (shift - 1);
    let up = match direction {
        Direction::Nearest => rest > half || rest == half && whole & 1 == 1,
        Direction::Down => negative && rest != 0,
        Direction::Up => !negative && rest != 0,
        Direction::Zero => false,
    };
    Some(whole + up as u128)
}

#[test]
fn floats_compare_and_become_integers_as_rust_has_it() {
    let numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e300, -1e300, 5e-324, 1e10, f64::INFINITY, f64::NAN];
    for a in numbers {
        let number = |x: f64| Number::new(Type::F64, x.to_bits() as u128, false);
        for b in numbers {
            assert_eq!(number(a).compare(number(b)), Outcome::from(a.partial_cmp(&b)), "{a} and {b}");
        }
        if a.abs() < 2e9 {
            assert_eq!(number(a).to_integer(Direction::Nearest, 4, true) as i32, a.round_ties_even() as i32, "{a}");
            assert_eq!(number(a).to_integer(Direction::Up, 8, true) as i64, a.ceil() as i64, "{a}");
            assert_eq!(number(a).to_integer(Direction::Down, 2, true) as i16, a.floor() as i16, "{a}");
        }
    }
    let one_half = (16382u128 << 64) | 1 << 63;
    assert_eq!(
        Number::new(Type::F80, one_half, false),
        Number::Finite { negative: false, significand: 1 << 63, exponent: -64 }
    );
    assert_eq!(
        Number::new(Type::F16, 0x3c00, false).compare(Number::new(Type::F32, 0x3f80_0000, false)),
        Outcome::Equal
    );
    assert_eq!(Number::new(Type::F64, 1e10f64.to_bits() as u128, false).to_integer(Direction::Zero, 4, true), 1 << 31);
    assert_eq!(
        Number::new(Type::F64, (-1f64).to_bits() as u128, false).to_integer(Direction::Zero, 4, false),
        u32::MAX as u64
    );
}
