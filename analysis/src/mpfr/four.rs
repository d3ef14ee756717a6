//! Sums and products of 256 bits, by hand: to call MPFR takes longer than the arithmetic does.
//!
//! The results are MPFR's to the last digit: rounded once, to nearest, and to even between two.

use super::{EXPONENT_OF_ZERO, MAX_EXPONENT};
use gmp_mpfr_sys::mpfr::exp_t;
use std::cmp::Ordering;
use std::ffi::c_int;

/// A number of at most 256 bits as MPFR has it: 0.digits * 2^exponent, the lowest limb first, and the first bit of the highest set. The exponent also
/// says whether it is NaN, an infinity or zero.
#[derive(Clone, Copy, Debug)]
pub struct Four {
    pub precision: u32,
    pub sign: c_int,
    pub exponent: exp_t,
    pub limbs: [u64; 4],
}

/// The precision of numbers that are computed with here.
pub const PRECISION: u32 = 256;
const FIRST: u64 = 1 << 63;
/// So far below another a number is less than a quarter of its last digit, and changes nothing.
const FAR: exp_t = 258;
/// So far from each other a product and a number are left to MPFR.
const FAR_FROM_PRODUCT: exp_t = 512;

impl Four {
    /// A double, of which there is so much to be known; what is not normal is not usual here.
    #[inline(always)]
    pub fn of_double(value: f64, precision: u32) -> Four {
        let bits = value.to_bits();
        let field = (bits >> 52 & 0x7ff) as exp_t;
        let is_normal = field != 0 && field != 0x7ff;
        Four {
            precision,
            sign: if value.is_sign_negative() { -1 } else { 1 },
            exponent: if is_normal { field - 1022 } else { EXPONENT_OF_ZERO },
            limbs: [0, 0, 0, FIRST | bits << 11],
        }
    }

    /// Can it be computed with here? It has so many digits, and is neither zero nor special.
    #[inline(always)]
    pub fn is_usual(&self) -> bool {
        self.precision == PRECISION && is_within_bounds(self.exponent)
    }

    /// How two of these compare.
    pub fn compare(&self, other: &Four) -> Ordering {
        let magnitude = |four: &Four| (four.exponent, four.limbs[3], four.limbs[2], four.limbs[1], four.limbs[0]);
        match self.sign.cmp(&other.sign) {
            Ordering::Equal if self.sign > 0 => magnitude(self).cmp(&magnitude(other)),
            Ordering::Equal => magnitude(other).cmp(&magnitude(self)),
            order => order,
        }
    }

    #[inline(never)]
    pub fn set_product(&mut self, a: &Four, b: &Four) {
        let (sign, exponent) = (a.sign * b.sign, a.exponent + b.exponent);
        match (is_short(&a.limbs), is_short(&b.limbs)) {
            (false, false) => self.set_doubled_if_small(sign, exponent, &of_long(&a.limbs, &b.limbs)),
            (false, true) => self.set_doubled_if_small(sign, exponent, &of_long_and_short(&a.limbs, b.limbs[3])),
            (true, false) => self.set_doubled_if_small(sign, exponent, &of_long_and_short(&b.limbs, a.limbs[3])),
            (true, true) => {
                let (low, high) = a.limbs[3].carrying_mul(b.limbs[3], 0);
                self.set_doubled_if_small(sign, exponent, &[0, 0, 0, low, high]);
            }
        }
    }

    /// The sum of the first and the second, whose sign is this.
    #[inline(always)]
    pub fn set_sum(&mut self, a: &Four, b: &Four, sign_of_b: c_int) {
        let (large, small, sign) = match a.exponent < b.exponent {
            true => (b, a, sign_of_b),
            false => (a, b, a.sign),
        };
        let distance = large.exponent - small.exponent;
        if distance >= FAR {
            *self = Four { sign, ..*large };
            return;
        }
        let [w, x, y, z] = large.limbs;
        let (small, rest) = shifted_right(&small.limbs, distance as u32);
        self.set_combined(sign, large.exponent, &[0, w, x, y, z], &small, rest, a.sign != sign_of_b);
    }

    /// The product and a third number, rounded once; unless they are far from each other, or cancel. Says whether that was done.
    #[inline(never)]
    pub fn set_product_and_sum(&mut self, a: &Four, b: &Four, third: &Four) -> bool {
        let mut product = of_long(&a.limbs, &b.limbs);
        let (sign, mut exponent) = (a.sign * b.sign, a.exponent + b.exponent);
        if product[7] & FIRST == 0 {
            (product, exponent) = (add(&product, &product, false).0, exponent - 1);
        }
        let (is_difference, distance) = (sign != third.sign, exponent - third.exponent);
        // A limb more below, for what is moved out of the others.
        let ([a, b, c, d, e, f, g, h], [w, x, y, z]) = (product, third.limbs);
        let (product, summand) = ([0, a, b, c, d, e, f, g, h], [0, 0, 0, 0, 0, w, x, y, z]);
        if distance.abs() >= FAR_FROM_PRODUCT {
            return false;
        }
        if distance >= 0 {
            let (small, rest) = moved_right(&summand, distance as usize);
            self.set_combined(sign, exponent, &product, &small, rest, is_difference);
        } else {
            let (small, rest) = moved_right(&product, -distance as usize);
            self.set_combined(third.sign, third.exponent, &summand, &small, rest, is_difference);
        }
        // The sign of a zero is MPFR's business.
        self.exponent != EXPONENT_OF_ZERO
    }

    /// A product, whose first bit may be missing.
    #[inline(always)]
    fn set_doubled_if_small<const N: usize>(&mut self, sign: c_int, exponent: exp_t, product: &[u64; N]) {
        // No branch: it would be taken as often as not. An addition, because CPUs shift several limbs slowly.
        let is_small = 1 - (product[N - 1] >> 63);
        let mut added = *product;
        for limb in &mut added {
            *limb &= is_small.wrapping_neg();
        }
        self.set_rounded(sign, exponent - is_small as exp_t, &add(product, &added, false).0, false);
    }

    /// The sum or the difference of a number that begins with a one, and one that was moved to it, and a rest of that.
    #[inline(always)]
    fn set_combined<const N: usize>(
        &mut self,
        sign: c_int,
        exponent: exp_t,
        large: &[u64; N],
        small: &[u64; N],
        rest: bool,
        is_difference: bool,
    ) {
        if is_difference {
            // What is not in the limbs is taken away as well.
            let (difference, is_below_zero) = subtract(large, small, rest);
            return match is_below_zero {
                // None was moved, so there is no rest.
                true => self.set_normal(-sign, exponent, &subtract(&[0; N], &difference, false).0, false),
                false => self.set_normal(sign, exponent, &difference, rest),
            };
        }
        let (sum, carry) = add(large, small, false);
        // Moved by one place or not at all. (No branch; and CPUs move by a number of places that they do not know beforehand slowly.)
        let mut moved = [if carry { FIRST | sum[N - 1] >> 1 } else { sum[N - 1] }; N];
        for number in 0..N - 1 {
            moved[number] = if carry { sum[number] >> 1 | sum[number + 1] << 63 } else { sum[number] };
        }
        self.set_rounded(sign, exponent + carry as exp_t, &moved, rest | (sum[0] & carry as u64 == 1));
    }

    /// A difference, moved left until it begins with a one. More than one place it moves only if there is no rest.
    #[inline(always)]
    fn set_normal<const N: usize>(&mut self, sign: c_int, exponent: exp_t, limbs: &[u64; N], rest: bool) {
        if limbs[N - 1] != 0 {
            let (limbs, bits) = begun_with_one(limbs);
            self.set_rounded(sign, exponent - bits as exp_t, &limbs, rest);
        } else {
            self.set_cancelled(sign, exponent, limbs);
        }
    }

    #[inline(never)]
    fn set_cancelled<const N: usize>(&mut self, sign: c_int, exponent: exp_t, limbs: &[u64; N]) {
        let zeros = limbs.iter().rev().take_while(|limb| **limb == 0).count();
        if zeros == N {
            *self = Four { precision: PRECISION, sign: 1, exponent: EXPONENT_OF_ZERO, limbs: [0; 4] };
            return;
        }
        let mut moved = [0; N];
        moved[zeros..].copy_from_slice(&limbs[..N - zeros]);
        let (moved, bits) = begun_with_one(&moved);
        self.set_rounded(sign, exponent - 64 * zeros as exp_t - bits as exp_t, &moved, false);
    }

    /// The nearest number of four limbs to one of more and a rest.
    #[inline(always)]
    pub(super) fn set_rounded<const N: usize>(&mut self, sign: c_int, exponent: exp_t, limbs: &[u64; N], rest: bool) {
        let below = limbs[N - 5];
        let mut lowest = 0;
        for limb in &limbs[..N - 5] {
            lowest |= limb;
        }
        let is_odd = limbs[N - 4] & 1 == 1;
        let mut carry = (below >> 63 == 1) & (below << 1 | lowest != 0 || rest || is_odd);
        for (rounded, limb) in self.limbs.iter_mut().zip(&limbs[N - 4..]) {
            (*rounded, carry) = limb.carrying_add(0, carry);
        }
        (self.precision, self.sign, self.exponent) = (PRECISION, sign, exponent);
        if carry {
            // All were ones, so all are zeros.
            (self.exponent, self.limbs[3]) = (exponent + 1, FIRST);
        }
    }
}

/// Is it the exponent of a number that is not beyond all formats, and neither zero nor special?
#[inline(always)]
pub fn is_within_bounds(exponent: exp_t) -> bool {
    (-MAX_EXPONENT..=MAX_EXPONENT).contains(&exponent)
}

/// Are all its digits in the highest limb, as those of a double are?
#[inline(always)]
pub(super) fn is_short(limbs: &[u64; 4]) -> bool {
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
pub(super) fn of_long_and_short(a: &[u64; 4], b: u64) -> [u64; 5] {
    let (mut product, mut carry) = ([0; 5], 0);
    for (product, a) in product.iter_mut().zip(a) {
        (*product, carry) = a.carrying_mul(b, carry);
    }
    product[4] = carry;
    product
}

/// Four limbs and one below them, moved right by less than 320 bits; and whether something was lost.
#[inline(always)]
fn shifted_right(limbs: &[u64; 4], by: u32) -> ([u64; 5], bool) {
    let [a, b, c, d] = *limbs;
    let (limbs, bits) = (by / 64, by % 64);
    if limbs == 0 {
        // The common case.
        return ([join(0, a, bits), join(a, b, bits), join(b, c, bits), join(c, d, bits), d >> bits], false);
    }
    let ([v, w, x, y, z], lost) = match limbs {
        1 => ([a, b, c, d, 0], 0),
        2 => ([b, c, d, 0, 0], a),
        3 => ([c, d, 0, 0, 0], a | b),
        _ => ([d, 0, 0, 0, 0], a | b | c),
    };
    let moved = [join(v, w, bits), join(w, x, bits), join(x, y, bits), join(y, z, bits), z >> bits];
    (moved, lost | v << 1 << (63 - bits) != 0)
}

/// The same of nine limbs, by less than 512 bits.
#[inline(always)]
fn moved_right(limbs: &[u64; 9], by: usize) -> ([u64; 9], bool) {
    let (skipped, bits) = (by / 64, (by % 64) as u32);
    // With zeros behind: that is simpler than to ask which limbs there are.
    let mut room = [0; 18];
    room[..9].copy_from_slice(limbs);
    let (lost, kept) = room.split_at(skipped);
    let kept = &kept[..10];
    let mut moved = [0; 9];
    for (number, moved) in moved.iter_mut().enumerate() {
        *moved = join(kept[number], kept[number + 1], bits);
    }
    (moved, lost.iter().any(|limb| *limb != 0) || kept[0] << 1 << (63 - bits) != 0)
}

/// 64 of the bits of two limbs, from one of those of the first on.
#[inline(always)]
pub(super) fn join(low: u64, high: u64, bits: u32) -> u64 {
    low >> bits | high << 1 << (63 - bits)
}

#[inline(always)]
pub(super) fn add<const N: usize>(a: &[u64; N], b: &[u64; N], mut carry: bool) -> ([u64; N], bool) {
    let mut sum = [0; N];
    for ((sum, a), b) in sum.iter_mut().zip(a).zip(b) {
        (*sum, carry) = a.carrying_add(*b, carry);
    }
    (sum, carry)
}

#[inline(always)]
pub(super) fn subtract<const N: usize>(a: &[u64; N], b: &[u64; N], mut borrow: bool) -> ([u64; N], bool) {
    let mut difference = [0; N];
    for ((difference, a), b) in difference.iter_mut().zip(a).zip(b) {
        (*difference, borrow) = a.borrowing_sub(*b, borrow);
    }
    (difference, borrow)
}

/// Moved left by the zeros that the highest limb begins with, and how many they are.
#[inline(always)]
fn begun_with_one<const N: usize>(limbs: &[u64; N]) -> ([u64; N], u32) {
    let bits = limbs[N - 1].leading_zeros() & 63;
    let mut moved = [limbs[0] << bits; N];
    for number in 1..N {
        moved[number] = limbs[number] << bits | limbs[number - 1] >> 1 >> (63 - bits);
    }
    (moved, bits)
}
