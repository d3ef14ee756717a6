//! Powers and roots.

use super::twofold::{Twofold, two_product};
use super::{Approximation, U2, exponential, logarithm};

/// The power of a double by a small integer, if a pair holds it exactly.
#[inline]
pub fn exactly(x: f64, n: f64) -> Option<Twofold> {
    if !(0.0..=64.0).contains(&n) || n.fract() != 0.0 {
        return None;
    }
    let n = n as i32;
    let bits = x.to_bits();
    let digits = bits & ((1 << 52) - 1) | 1 << 52;
    let odd = digits >> digits.trailing_zeros();
    if n as u32 * (u64::BITS - odd.leading_zeros()) > 106 {
        return None;
    }
    let exponent = ((bits >> 52 & 0x7ff) as i32 - 1075 + digits.trailing_zeros() as i32) * n;
    let power = (odd as i128).pow(n as u32);
    let hi = power as f64;
    let lo = (power - hi as i128) as f64;
    let scale = (-800..800).contains(&exponent).then(|| f64::from_bits(((1023 + exponent) as u64) << 52))?;
    Some(Twofold { hi, lo }.scaled(if x < 0.0 && n % 2 == 1 { -scale } else { scale }))
}

/// e^(y ln(x)): what the exponent is wrong by is the part of the result that that is wrong by.
#[inline]
#[target_feature(enable = "fma")]
pub fn pow(x: Twofold, y: Twofold) -> Option<Approximation> {
    // Of a negative number there are powers at the integers only.
    let is_integer = y.lo == 0.0 && y.hi.fract() == 0.0 && y.hi.abs() < (1u64 << 53) as f64;
    if x.hi < 0.0 && !is_integer {
        return None;
    }
    let logarithm = logarithm::log(x.magnitude());
    let exponent = logarithm.value * y;
    let doubt = logarithm.err * y.hi.abs() * 1.01 + 8.0 * U2 * exponent.hi.abs();
    let Approximation { value, err } = exponential::exp(exponent)?;
    let is_negative = x.hi < 0.0 && y.hi % 2.0 != 0.0;
    Some(Approximation { value: if is_negative { -value } else { value }, err: err + value.hi * doubt * 1.01 })
}

/// The cube root of a positive double that is far from the ends, within 2^-44 of itself or so: that is looked at later.
///
/// A third of the exponent, as the bits have it, makes it right within 4 %, and each step of Halley's has the third power of what was wrong.
#[inline(always)]
fn about_cbrt(x: f64) -> f64 {
    // Two thirds of the exponent's bias, less what is best on the whole.
    const BIAS: u64 = 0x2a9f_7893_782d_a1ce;
    let mut root = f64::from_bits(x.to_bits() / 3 + BIAS);
    for _ in 0..2 {
        let cube = root * root * root;
        root = root * (cube + 2.0 * x) / (2.0 * cube + x);
    }
    root
}

/// Twice Newton's step from a root that is right in all but the last digits: what remains is its third power.
/// The rest x - root^3 is wrong by 4u^2 x from the cube and by 4u^2 of itself.
#[inline]
#[target_feature(enable = "fma")]
pub fn cbrt(x: Twofold) -> Option<Approximation> {
    let root = about_cbrt(x.hi.abs()).copysign(x.hi);
    let square = two_product(root, root);
    let rest = x - square * Twofold::double(root);
    let step = rest.hi / (3.0 * square.hi);
    // 2^-40 of it: the third power is beyond all digits.
    if step.abs() > root.abs() * f64::from_bits((1023 - 40) << 52) {
        return None;
    }
    let step = step - step * step / root;
    let value = super::twofold::fast_two_sum(root, step);
    Some(Approximation { value, err: 16.0 * U2 * root.abs() + 4.0 * f64::EPSILON * step.abs() })
}

/// Squares below all others do not count beside the greater one.
#[inline]
#[target_feature(enable = "fma")]
pub fn hypot(x: Twofold, y: Twofold) -> Option<Approximation> {
    let square = x * x + y * y;
    let value = square.sqrt();
    super::is_safe(square.hi).then_some(Approximation { value, err: 24.0 * U2 * value.hi })
}
