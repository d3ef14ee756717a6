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
/// So far from each other a product and a number are left to MPFR.
const FAR_FROM_PRODUCT: i64 = 512;

impl Four {
    /// A normal double.
    #[inline(always)]
    pub fn of_double(value: f64) -> Option<Four> {
        let bits = value.to_bits();
        let field = (bits >> 52 & 0x7ff) as i64;
        let is_normal = field != 0 && field != 0x7ff;
        let limbs = [0, 0, 0, FIRST | bits << 11];
        is_normal.then_some(Four { negative: value.is_sign_negative(), exponent: field - 1022, limbs })
    }

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
        let (negative, exponent) = (self.negative != other.negative, self.exponent + other.exponent);
        match (is_short(&self.limbs), is_short(&other.limbs)) {
            (false, false) => doubled_if_small(negative, exponent, &of_long(&self.limbs, &other.limbs)),
            (false, true) => doubled_if_small(negative, exponent, &of_long_and_short(&self.limbs, other.limbs[3])),
            (true, false) => doubled_if_small(negative, exponent, &of_long_and_short(&other.limbs, self.limbs[3])),
            (true, true) => {
                let (low, high) = self.limbs[3].carrying_mul(other.limbs[3], 0);
                doubled_if_small(negative, exponent, &[0, 0, 0, low, high])
            }
        }
    }

    /// The sum, unless it is zero; of the other with its sign changed, if that is said.
    #[inline(always)]
    pub fn sum(&self, other: &Four, negated: bool) -> Option<Four> {
        let other_is_negative = other.negative != negated;
        let is_difference = self.negative != other_is_negative;
        let (large, small, negative) = match self.exponent < other.exponent {
            true => (other, self, other_is_negative),
            false => (self, other, self.negative),
        };
        let distance = large.exponent - small.exponent;
        if distance >= FAR {
            return Some(Four { negative, ..*large });
        }
        let [a, b, c, d] = large.limbs;
        let (small, rest) = shifted_right(&small.limbs, distance as u32);
        combine(negative, large.exponent, &[0, a, b, c, d], &small, rest, is_difference)
    }

    /// The product and a third number, rounded once; unless that is zero, or they are far from each other.
    #[inline(always)]
    pub fn product_and_sum(&self, other: &Four, third: &Four) -> Option<Four> {
        let mut product = of_long(&self.limbs, &other.limbs);
        let (negative, mut exponent) = (self.negative != other.negative, self.exponent + other.exponent);
        if product[7] & FIRST == 0 {
            (product, exponent) = (add(&product, &product, false).0, exponent - 1);
        }
        let is_difference = negative != third.negative;
        // A limb more below, for what is moved out of the others.
        let ([a, b, c, d, e, f, g, h], [w, x, y, z]) = (product, third.limbs);
        let (product, summand) = ([0, a, b, c, d, e, f, g, h], [0, 0, 0, 0, 0, w, x, y, z]);
        let distance = exponent - third.exponent;
        if distance.abs() >= FAR_FROM_PRODUCT {
            return None;
        }
        if distance >= 0 {
            let (small, rest) = moved_right(&summand, distance as usize);
            combine(negative, exponent, &product, &small, rest, is_difference)
        } else {
            let (small, rest) = moved_right(&product, -distance as usize);
            combine(third.negative, third.exponent, &summand, &small, rest, is_difference)
        }
    }
}

/// Are all its digits in the highest limb, as those of a double are?
#[inline(always)]
fn is_short(limbs: &[u64; 4]) -> bool {
    limbs[0] | limbs[1] | limbs[2] == 0
}

#[inline(always)]
fn of_long(a: &[u64; 4], b: &[u64; 4]) -> [u64; 8] {
    let mut product = [0; 8];
    for (j, b) in b.iter().enumerate() {
        let mut carry = 0;
        for (i, a) in a.iter().enumerate() {
            (product[i + j], carry) = a.carrying_mul_add(*b, product[i + j], carry);
        }
        product[j + 4] = carry;
    }
    product
}

#[inline(always)]
fn of_long_and_short(a: &[u64; 4], b: u64) -> [u64; 5] {
    let (mut product, mut carry) = ([0; 5], 0);
    for (product, a) in product.iter_mut().zip(a) {
        (*product, carry) = a.carrying_mul(b, carry);
    }
    product[4] = carry;
    product
}

/// A product, whose first bit may be missing.
#[inline(always)]
fn doubled_if_small<const N: usize>(negative: bool, exponent: i64, product: &[u64; N]) -> Four {
    match product[N - 1] & FIRST {
        // (By an addition, because CPUs shift several limbs slowly.)
        0 => rounded(negative, exponent - 1, &add(product, product, false).0, false),
        _ => rounded(negative, exponent, product, false),
    }
}

/// Four limbs and one below them, moved right by less than 320 bits; and whether something was lost.
#[inline(always)]
fn shifted_right(limbs: &[u64; 4], by: u32) -> ([u64; 5], bool) {
    let [a, b, c, d] = *limbs;
    let (limbs, bits) = (by / 64, by % 64);
    let ([v, w, x, y, z], lost) = match limbs {
        0 => ([0, a, b, c, d], 0),
        1 => ([a, b, c, d, 0], 0),
        2 => ([b, c, d, 0, 0], a),
        3 => ([c, d, 0, 0, 0], a | b),
        _ => ([d, 0, 0, 0, 0], a | b | c),
    };
    let moved = [join(v, w, bits), join(w, x, bits), join(x, y, bits), join(y, z, bits), z >> bits];
    (moved, lost | v << 1 << (63 - bits) != 0)
}

/// The same of any number of limbs.
#[inline(always)]
fn moved_right<const N: usize>(limbs: &[u64; N], by: usize) -> ([u64; N], bool) {
    let (skipped, bits) = (by / 64, (by % 64) as u32);
    let (lost, kept) = limbs.split_at(skipped);
    let mut moved = [0; N];
    for (number, moved) in moved.iter_mut().enumerate().take(kept.len()) {
        *moved = join(kept[number], kept.get(number + 1).copied().unwrap_or(0), bits);
    }
    let is_lost = lost.iter().any(|limb| *limb != 0) || kept.first().is_some_and(|limb| limb << 1 << (63 - bits) != 0);
    (moved, is_lost)
}

/// 64 of the bits of two limbs, from one of those of the first on.
#[inline(always)]
fn join(low: u64, high: u64, bits: u32) -> u64 {
    low >> bits | high << 1 << (63 - bits)
}

#[inline(always)]
fn add<const N: usize>(a: &[u64; N], b: &[u64; N], mut carry: bool) -> ([u64; N], bool) {
    let mut sum = [0; N];
    for ((sum, a), b) in sum.iter_mut().zip(a).zip(b) {
        (*sum, carry) = a.carrying_add(*b, carry);
    }
    (sum, carry)
}

#[inline(always)]
fn subtract<const N: usize>(a: &[u64; N], b: &[u64; N], mut borrow: bool) -> ([u64; N], bool) {
    let mut difference = [0; N];
    for ((difference, a), b) in difference.iter_mut().zip(a).zip(b) {
        (*difference, borrow) = a.borrowing_sub(*b, borrow);
    }
    (difference, borrow)
}

/// The sum or the difference of a number that begins with a one, and one that was moved to it, and a rest of that.
#[inline(always)]
fn combine<const N: usize>(
    negative: bool,
    exponent: i64,
    large: &[u64; N],
    small: &[u64; N],
    rest: bool,
    is_difference: bool,
) -> Option<Four> {
    if is_difference {
        // What is not in the limbs is taken away as well.
        let (difference, is_below_zero) = subtract(large, small, rest);
        return match is_below_zero {
            // None was moved, so there is no rest.
            true => normal(!negative, exponent, subtract(&[0; N], &difference, false).0, false),
            false => normal(negative, exponent, difference, rest),
        };
    }
    let (sum, carry) = add(large, small, false);
    if !carry {
        return Some(rounded(negative, exponent, &sum, rest));
    }
    let mut half = [FIRST | sum[N - 1] >> 1; N];
    for number in 0..N - 1 {
        half[number] = sum[number] >> 1 | sum[number + 1] << 63;
    }
    Some(rounded(negative, exponent + 1, &half, rest || sum[0] & 1 == 1))
}

/// A difference, moved left until it begins with a one. More than one place it moves only if there is no rest.
#[inline(always)]
fn normal<const N: usize>(negative: bool, exponent: i64, limbs: [u64; N], rest: bool) -> Option<Four> {
    if limbs[N - 1] & FIRST != 0 {
        return Some(rounded(negative, exponent, &limbs, rest));
    }
    if limbs[N - 1] == 0 {
        return after_cancellation(negative, exponent, limbs);
    }
    let (limbs, bits) = begun_with_one(limbs);
    Some(rounded(negative, exponent - bits as i64, &limbs, rest))
}

fn after_cancellation<const N: usize>(negative: bool, exponent: i64, limbs: [u64; N]) -> Option<Four> {
    let zeros = limbs.iter().rev().take_while(|limb| **limb == 0).count();
    let mut moved = [0; N];
    moved[zeros..].copy_from_slice(&limbs[..N - zeros]);
    let (moved, bits) = begun_with_one(moved);
    (zeros < N).then(|| rounded(negative, exponent - 64 * zeros as i64 - bits as i64, &moved, false))
}

/// Moved left by the zeros that the highest limb begins with, and how many they are.
#[inline(always)]
fn begun_with_one<const N: usize>(limbs: [u64; N]) -> ([u64; N], u32) {
    let bits = limbs[N - 1].leading_zeros() & 63;
    let mut moved = [limbs[0] << bits; N];
    for number in 1..N {
        moved[number] = limbs[number] << bits | limbs[number - 1] >> 1 >> (63 - bits);
    }
    (moved, bits)
}

/// The nearest number of four limbs to one of more and a rest.
#[inline(always)]
fn rounded<const N: usize>(negative: bool, exponent: i64, limbs: &[u64; N], rest: bool) -> Four {
    let below = limbs[N - 5];
    let mut lowest = 0;
    for limb in &limbs[..N - 5] {
        lowest |= limb;
    }
    let is_odd = limbs[N - 4] & 1 == 1;
    let mut carry = below > FIRST || below == FIRST && (rest || lowest != 0 || is_odd);
    let mut sum = [0; 4];
    for (sum, limb) in sum.iter_mut().zip(&limbs[N - 4..]) {
        (*sum, carry) = limb.carrying_add(0, carry);
    }
    // All were ones, so all are zeros.
    sum[3] |= (carry as u64) << 63;
    Four { negative, exponent: exponent + carry as i64, limbs: sum }
}
