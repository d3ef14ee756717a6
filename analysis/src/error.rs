//! Error in bits: how far a native float is from the float that the reals round to.

use crate::format::{self, Kind, layout};
use crate::mode::Target;
use fpgrind_ir::Type;

/// The distance that stands for "as wrong as can be". Distances between long doubles that take more than 64 bits are that as well.
pub fn maximal(ty: Type) -> u64 {
    match ty.bytes() {
        2 => u16::MAX as u64,
        4 => u32::MAX as u64,
        _ => u64::MAX,
    }
}

/// How many steps apart two floats of a format are in the order of its floats; both zeros are one place.
/// A NaN where a number should be is as wrong as can be, and a native NaN always is: whoever computes it wanted a number.
pub fn ulps(ty: Type, native: u128, correct: u128) -> u64 {
    if native == correct && !is_nan(ty, native) {
        return 0;
    }
    if ty == Type::F64 {
        return ulps_of_doubles(native as u64, correct as u64);
    }
    if is_nan(ty, native) || is_nan(ty, correct) {
        return maximal(ty);
    }
    let distance = place_in_order(ty, native).abs_diff(place_in_order(ty, correct));
    u64::try_from(distance).unwrap_or(u64::MAX)
}

/// The same of doubles, which is what most floats are.
#[inline(always)]
pub fn ulps_of_doubles(native: u64, correct: u64) -> u64 {
    if f64::from_bits(native).is_nan() || f64::from_bits(correct).is_nan() {
        return u64::MAX;
    }
    let place = |bits: u64| if bits >> 63 == 1 { -((bits & !(1 << 63)) as i64) } else { bits as i64 };
    place(native).abs_diff(place(correct))
}

/// And of singles.
#[inline(always)]
pub fn ulps_of_singles(native: u32, correct: u32) -> u64 {
    if f32::from_bits(native).is_nan() || f32::from_bits(correct).is_nan() {
        return u32::MAX as u64;
    }
    let place = |bits: u32| if bits >> 31 == 1 { -((bits & !(1 << 31)) as i64) } else { bits as i64 };
    place(native).abs_diff(place(correct))
}

/// The same in steps of what was rounded to: with fewer digits they are larger. A part of a step counts as one.
pub fn ulps_of(target: Target, native: u128, correct: u128) -> u64 {
    let ulps = ulps(target.ty, native, correct);
    if target.ty != Type::F80 {
        return ulps;
    }
    let unused = layout(target.ty).digits - target.digits as u32;
    if unused == 0 || ulps == maximal(target.ty) { ulps } else { ulps.div_ceil(1 << unused) }
}

/// How two floats compare; nothing if either is NaN.
pub fn compare(ty: Type, a: u128, b: u128) -> Option<std::cmp::Ordering> {
    let is_number = !is_nan(ty, a) && !is_nan(ty, b);
    is_number.then(|| place_in_order(ty, a).cmp(&place_in_order(ty, b)))
}

/// Bits of error for a distance in ulps.
pub fn bits(ulps: u64) -> f64 {
    (ulps as f64 + 1.0).log2()
}

/// Bits of error of a native float against the correct one, both given by their bits.
pub fn bits_of_error(ty: Type, native: u128, correct: u128) -> f64 {
    bits(ulps(ty, native, correct))
}

/// The greatest distance whose error in bits does not pass the threshold.
pub fn ulps_within(threshold: f64) -> u64 {
    // The conversion saturates: a negative or NaN threshold lets nothing pass, one over 64 everything.
    (threshold.exp2() - 1.0).floor() as u64
}

#[inline]
pub fn is_nan(ty: Type, bits: u128) -> bool {
    match ty {
        Type::F32 => f32::from_bits(bits as u32).is_nan(),
        Type::F64 => f64::from_bits(bits as u64).is_nan(),
        _ => format::decode(ty, bits).kind == Kind::Nan,
    }
}

/// The value of a float given by its bits. Only of a long double it is not exact: what lies beyond the doubles is told as the largest,
/// and what lies below them as the smallest, because neither is infinite or zero.
#[inline]
pub fn value(ty: Type, bits: u128) -> f64 {
    match ty {
        Type::F32 => f32::from_bits(bits as u32) as f64,
        Type::F64 => f64::from_bits(bits as u64),
        _ => converted(ty, bits),
    }
}

fn converted(ty: Type, bits: u128) -> f64 {
    let value = f64::from_bits(format::convert(ty, bits, Target::nearest(Type::F64)) as u64);
    match format::decode(ty, bits).kind {
        Kind::Finite { .. } if value == 0.0 => f64::from_bits(1).copysign(value),
        Kind::Finite { .. } if value.is_infinite() => f64::MAX.copysign(value),
        _ => value,
    }
}

fn place_in_order(ty: Type, bits: u128) -> i128 {
    let width = 8 * ty.bytes();
    let negative = bits >> (width - 1) & 1 == 1;
    let magnitude = bits & ((1 << (width - 1)) - 1);
    let place = match ty {
        // The significand's first bit is written out, so exponents are 2^63 steps apart; and a pseudo-denormal, whose exponent is 0
        // though its first bit is set, is the number with exponent 1.
        Type::F80 => ((magnitude >> 64).saturating_sub(1) << 63) + (magnitude & u64::MAX as u128),
        _ => magnitude,
    } as i128;
    if negative { -place } else { place }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(native: f64, correct: f64) -> f64 {
        bits_of_error(Type::F64, native.to_bits() as u128, correct.to_bits() as u128)
    }

    #[test]
    fn equal_values_have_no_error() {
        assert_eq!(error(1.5, 1.5), 0.0);
        assert_eq!(error(0.0, -0.0), 0.0);
        assert_eq!(error(f64::INFINITY, f64::INFINITY), 0.0);
    }

    #[test]
    fn one_ulp_is_one_bit() {
        assert_eq!(error(1.0, 1.0 + f64::EPSILON), 1.0);
        assert_eq!(error(f64::from_bits(1), -f64::from_bits(1)), 3f64.log2());
    }

    #[test]
    fn a_native_nan_is_maximal_even_where_the_reals_have_none_either() {
        assert_eq!(error(f64::NAN, f64::NAN), 64.0);
        assert_eq!(error(f64::NAN, 1.0), 64.0);
        assert_eq!(error(1.0, f64::NAN), 64.0);
        let nan = f32::NAN.to_bits() as u128;
        assert_eq!(bits_of_error(Type::F32, nan, nan), 32.0);
    }

    #[test]
    fn no_error_exceeds_the_width_of_the_format() {
        assert!(error(f64::NEG_INFINITY, f64::INFINITY) <= 64.0);
        let (a, b) = (f32::NEG_INFINITY.to_bits() as u128, f32::INFINITY.to_bits() as u128);
        assert!((31.0..=32.0).contains(&bits_of_error(Type::F32, a, b)));
    }

    #[test]
    fn long_doubles_are_ordered_by_value_across_exponents_and_odd_encodings() {
        let error = |a, b| ulps(Type::F80, a, b);
        assert_eq!(error(0x3fff_8000_0000_0000_0000, 0x3ffe_ffff_ffff_ffff_ffff), 1);
        assert_eq!(error(0x0001_8000_0000_0000_0000, 0x0000_7fff_ffff_ffff_ffff), 1);
        assert_eq!(error(0x0000_8000_0000_0000_0000, 0x0001_8000_0000_0000_0000), 0);
        assert_eq!(error(0x8000_0000_0000_0000_0000, 0), 0);
        assert_eq!(error(0x3fff_8000_0000_0000_0000, 0x3fff_0000_0000_0000_0000), u64::MAX);
        assert_eq!(error(0x3fff_8000_0000_0000_0000, 0xbfff_8000_0000_0000_0000), u64::MAX);
        let double = Target { digits: 53, ..Target::nearest(Type::F80) };
        assert_eq!(ulps_of(double, 0x3fff_8000_0000_0000_0000, 0x3fff_8000_0000_0000_0800), 1);
        assert_eq!(ulps(Type::F16, 0x3c00, 0x3c01), 1);
    }

    #[test]
    fn the_threshold_in_ulps_is_the_threshold_in_bits() {
        assert_eq!(ulps_within(5.0), 31);
        assert!(bits(31) <= 5.0 && bits(32) > 5.0);
        assert_eq!(ulps_within(-1.0), 0);
        assert_eq!(ulps_within(1000.0), u64::MAX);
    }
}
