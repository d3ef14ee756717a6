//! Quotients of 256 bits, by hand, as sums and products are (`four.rs`): digit by digit, the digits being limbs.

use super::four::{Four, add, is_short, join, of_long_and_short, subtract};
use std::arch::asm;

/// Those of a result, and one below them to round by.
const DIGITS: usize = 5;

impl Four {
    #[inline(never)]
    pub fn set_quotient(&mut self, a: &Four, b: &Four) {
        // Half of the first if it is not less: then the quotient is less than one, and begins with a one.
        let is_halved = !subtract(&a.limbs, &b.limbs, false).1;
        let [w, x, y, z] = a.limbs;
        let bits = is_halved as u32;
        let first = [join(w, x, bits), join(x, y, bits), join(y, z, bits), z >> bits];
        let below = join(0, w, bits) & (is_halved as u64).wrapping_neg();
        let (quotient, rest) = match is_short(&b.limbs) {
            true => by_short(&first, below, b.limbs[3]),
            false => by_long(&first, below, &b.limbs),
        };
        self.set_rounded(a.sign * b.sign, a.exponent - b.exponent + bits as i64, &quotient, rest);
    }
}

/// The quotient of a number, with a limb below it, that is less than the other; and whether there is a rest.
fn by_short(&[w, x, y, z]: &[u64; 4], below: u64, by: u64) -> ([u64; DIGITS], bool) {
    let (mut quotient, mut rest) = ([0; DIGITS], z);
    for (digit, next) in quotient.iter_mut().rev().zip([y, x, w, below, 0]) {
        (*digit, rest) = divide(rest, next, by);
    }
    (quotient, rest != 0)
}

/// The same (Knuth, The Art of Computer Programming, 4.3.1, algorithm D).
fn by_long(first: &[u64; 4], below: u64, by: &[u64; 4]) -> ([u64; DIGITS], bool) {
    let (mut quotient, mut rest) = ([0; DIGITS], *first);
    for (digit, next) in quotient.iter_mut().rev().zip([below, 0, 0, 0, 0]) {
        let [w, x, y, z] = rest;
        let [_, _, c, d] = *by;
        // The digit is this or less: two limbs of the rest by one, and then one limb more of each. (The rest is less than the divisor.)
        let (mut tried, mut left) = if z < d { divide(z, y, d) } else { (u64::MAX, y.wrapping_add(d)) };
        let mut is_left = z < d || y.checked_add(d).is_some();
        while is_left && tried as u128 * c as u128 > (left as u128) << 64 | x as u128 {
            tried -= 1;
            (left, is_left) = (left.wrapping_add(d), left.checked_add(d).is_some());
        }
        let product = of_long_and_short(by, tried);
        let ([p, q, r, s, _], is_below_zero) = subtract(&[next, w, x, y, z], &product, false);
        rest = [p, q, r, s];
        if is_below_zero {
            // Once in 2^63.
            tried -= 1;
            rest = add(&rest, by, false).0;
        }
        *digit = tried;
    }
    (quotient, rest != [0; 4])
}

/// Two limbs by one that is greater than the higher of them: the quotient and the rest.
#[inline(always)]
fn divide(high: u64, low: u64, by: u64) -> (u64, u64) {
    assert!(high < by);
    let (quotient, rest);
    // SAFETY: it changes nothing but two registers, and the quotient fits into one of them.
    unsafe {
        asm!("div {}", in(reg) by, inout("rax") low => quotient, inout("rdx") high => rest, options(pure, nomem, nostack));
    }
    (quotient, rest)
}
