//! Sums and products of 256 bits, by hand: to call MPFR takes longer than the arithmetic does.
//!
//! The results are MPFR's to the last digit: rounded once, to nearest, and to even between two.

use std::cmp::Ordering;

/// A number that is neither zero nor special: 0.digits * 2^exponent, the lowest limb first; the first bit of the highest is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Four {
    pub negative: bool,
    pub exponent: i64,
    pub limbs: [u64; 4],
}

const FIRST: u64 = 1 << 63;
/// So far below another a number is less than a quarter of its last digit, and changes nothing.
const FAR: i64 = 258;

impl Four {
    pub fn compare(&self, other: &Four) -> Ordering {
        let magnitude = |four: &Four| (four.exponent, four.limbs[3], four.limbs[2], four.limbs[1], four.limbs[0]);
        match (self.negative, other.negative) {
            (false, false) => magnitude(self).cmp(&magnitude(other)),
            (true, true) => magnitude(other).cmp(&magnitude(self)),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }

    #[inline(always)]
    pub fn product(&self, other: &Four) -> Four {
        let (product, rest) = match (is_short(&self.limbs), is_short(&other.limbs)) {
            (false, false) => of_long(&self.limbs, &other.limbs),
            (false, true) => of_long_and_short(&self.limbs, other.limbs[3]),
            (true, false) => of_long_and_short(&other.limbs, self.limbs[3]),
            (true, true) => {
                let (low, high) = self.limbs[3].carrying_mul(other.limbs[3], 0);
                ([0, 0, 0, low, high], false)
            }
        };
        let exponent = self.exponent + other.exponent;
        let (product, exponent) = match product[4] & FIRST {
            // (By an addition, because CPUs shift several limbs slowly. The bit that comes from below is one of the rest.)
            0 => (add(&product, &product, false).0, exponent - 1),
            _ => (product, exponent),
        };
        rounded(self.negative != other.negative, exponent, product, rest)
    }

    /// The sum, unless it is zero; of the other with its sign changed, if that is said.
    #[inline(always)]
    pub fn sum(&self, other: &Four, negated: bool) -> Option<Four> {
        let other_is_negative = other.negative != negated;
        let (large, small, negative) = match self.exponent < other.exponent {
            true => (other, self, other_is_negative),
            false => (self, other, self.negative),
        };
        let distance = large.exponent - small.exponent;
        if distance >= FAR {
            return Some(Four { negative, ..*large });
        }
        let [a, b, c, d] = large.limbs;
        let large_limbs = [0, a, b, c, d];
        let (small_limbs, rest) = shifted_right(&small.limbs, distance as usize);
        let exponent = large.exponent;
        if self.negative == other_is_negative {
            let (sum, carry) = add(&large_limbs, &small_limbs, false);
            if carry {
                let half = |number: usize| sum[number] >> 1 | sum[number + 1] << 63;
                let halves = [half(0), half(1), half(2), half(3), sum[4] >> 1 | FIRST];
                return Some(rounded(negative, exponent + 1, halves, rest || sum[0] & 1 == 1));
            }
            return Some(rounded(negative, exponent, sum, rest));
        }
        // What is not in the limbs is taken away as well.
        let (difference, is_below_zero) = subtract(&large_limbs, &small_limbs, rest);
        match is_below_zero {
            // Both exponents are the same, so there is no rest.
            true => normal(!negative, exponent, subtract(&[0; 5], &difference, false).0, false),
            false => normal(negative, exponent, difference, rest),
        }
    }
}

/// Are all its digits in the highest limb, as those of a double are?
#[inline(always)]
fn is_short(limbs: &[u64; 4]) -> bool {
    limbs[0] | limbs[1] | limbs[2] == 0
}

/// The higher limbs of a product, and whether there is anything in the others.
#[inline(always)]
fn of_long(a: &[u64; 4], b: &[u64; 4]) -> ([u64; 5], bool) {
    let mut product = [0; 8];
    for (j, b) in b.iter().enumerate() {
        let mut carry = 0;
        for (i, a) in a.iter().enumerate() {
            (product[i + j], carry) = a.carrying_mul_add(*b, product[i + j], carry);
        }
        product[j + 4] = carry;
    }
    let [x, y, z, high @ ..] = product;
    (high, x | y | z != 0)
}

#[inline(always)]
fn of_long_and_short(a: &[u64; 4], b: u64) -> ([u64; 5], bool) {
    let (mut product, mut carry) = ([0; 5], 0);
    for (product, a) in product.iter_mut().zip(a) {
        (*product, carry) = a.carrying_mul(b, carry);
    }
    product[4] = carry;
    (product, false)
}

/// Four limbs and one below them, moved right by less than 320 bits; and whether something was lost.
#[inline(always)]
fn shifted_right(limbs: &[u64; 4], by: usize) -> ([u64; 5], bool) {
    let [a, b, c, d] = *limbs;
    let (limbs, bits) = (by / 64, by % 64);
    let ([v, w, x, y, z], lost) = match limbs {
        0 => ([0, a, b, c, d], 0),
        1 => ([a, b, c, d, 0], 0),
        2 => ([b, c, d, 0, 0], a),
        3 => ([c, d, 0, 0, 0], a | b),
        _ => ([d, 0, 0, 0, 0], a | b | c),
    };
    let join = |low: u64, high: u64| low >> bits | high << 1 << (63 - bits);
    let moved = [join(v, w), join(w, x), join(x, y), join(y, z), z >> bits];
    (moved, lost | v << 1 << (63 - bits) != 0)
}

#[inline(always)]
fn add(a: &[u64; 5], b: &[u64; 5], mut carry: bool) -> ([u64; 5], bool) {
    let mut sum = [0; 5];
    for ((sum, a), b) in sum.iter_mut().zip(a).zip(b) {
        (*sum, carry) = a.carrying_add(*b, carry);
    }
    (sum, carry)
}

#[inline(always)]
fn subtract(a: &[u64; 5], b: &[u64; 5], mut borrow: bool) -> ([u64; 5], bool) {
    let mut difference = [0; 5];
    for ((difference, a), b) in difference.iter_mut().zip(a).zip(b) {
        (*difference, borrow) = a.borrowing_sub(*b, borrow);
    }
    (difference, borrow)
}

/// A difference, moved left until it begins with a one. More than one place it moves only if there is no rest.
#[inline(always)]
fn normal(negative: bool, mut exponent: i64, mut limbs: [u64; 5], rest: bool) -> Option<Four> {
    if limbs[4] & FIRST == 0 {
        if limbs[4] == 0 {
            let zeros = limbs.iter().rev().take_while(|limb| **limb == 0).count();
            if zeros == 5 {
                return None;
            }
            limbs = std::array::from_fn(|number| if number < zeros { 0 } else { limbs[number - zeros] });
            exponent -= 64 * zeros as i64;
        }
        let bits = limbs[4].leading_zeros();
        let join = |number: usize| limbs[number] << bits | limbs[number - 1] >> 1 >> (63 - bits);
        limbs = [limbs[0] << bits, join(1), join(2), join(3), join(4)];
        exponent -= bits as i64;
    }
    Some(rounded(negative, exponent, limbs, rest))
}

/// The nearest number of four limbs to one of five and a rest.
#[inline(always)]
fn rounded(negative: bool, exponent: i64, [below, limbs @ ..]: [u64; 5], rest: bool) -> Four {
    let mut carry = below > FIRST || below == FIRST && (rest || limbs[0] & 1 == 1);
    let mut sum = limbs.map(|limb| {
        let sum;
        (sum, carry) = limb.carrying_add(0, carry);
        sum
    });
    // All were ones, so all are zeros.
    sum[3] |= (carry as u64) << 63;
    Four { negative, exponent: exponent + carry as i64, limbs: sum }
}
