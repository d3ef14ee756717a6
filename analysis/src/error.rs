//! Error in bits: how far a native float is from the float that the reals round to.

use fpgrind_ir::Type;

/// The distance that stands for "as wrong as can be".
pub fn maximal(ty: Type) -> u64 {
    match ty {
        Type::F32 => u32::MAX as u64,
        _ => u64::MAX,
    }
}

/// How many steps apart two floats of a format are in the order of its floats; both zeros are one place.
/// A NaN where a number should be is as wrong as can be, and a native NaN always is: whoever computes it wanted a number.
pub fn ulps(ty: Type, native: u64, correct: u64) -> u64 {
    if native == correct && !is_nan(ty, native) {
        return 0;
    }
    if is_nan(ty, native) || is_nan(ty, correct) {
        return maximal(ty);
    }
    place_in_order(ty, native).abs_diff(place_in_order(ty, correct))
}

/// Bits of error for a distance in ulps.
pub fn bits(ulps: u64) -> f64 {
    (ulps as f64 + 1.0).log2()
}

/// Bits of error of a native float against the correct one, both given by their bits.
pub fn bits_of_error(ty: Type, native: u64, correct: u64) -> f64 {
    bits(ulps(ty, native, correct))
}

/// The greatest distance whose error in bits does not pass the threshold.
pub fn ulps_within(threshold: f64) -> u64 {
    // The conversion saturates: a negative or NaN threshold lets nothing pass, one over 64 everything.
    (threshold.exp2() - 1.0).floor() as u64
}

pub fn is_nan(ty: Type, bits: u64) -> bool {
    match ty {
        Type::F32 => f32::from_bits(bits as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    }
}

/// The value of a float given by its bits.
pub fn value(ty: Type, bits: u64) -> f64 {
    match ty {
        Type::F32 => f32::from_bits(bits as u32) as f64,
        _ => f64::from_bits(bits),
    }
}

fn place_in_order(ty: Type, bits: u64) -> i64 {
    let (negative, magnitude) = match ty {
        Type::F32 => (bits >> 31 & 1 == 1, bits & 0x7fff_ffff),
        _ => (bits >> 63 == 1, bits & !(1 << 63)),
    };
    if negative { -(magnitude as i64) } else { magnitude as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(native: f64, correct: f64) -> f64 {
        bits_of_error(Type::F64, native.to_bits(), correct.to_bits())
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
        let nan = f32::NAN.to_bits() as u64;
        assert_eq!(bits_of_error(Type::F32, nan, nan), 32.0);
    }

    #[test]
    fn no_error_exceeds_the_width_of_the_format() {
        assert!(error(f64::NEG_INFINITY, f64::INFINITY) <= 64.0);
        let (a, b) = (f32::NEG_INFINITY.to_bits() as u64, f32::INFINITY.to_bits() as u64);
        assert!((31.0..=32.0).contains(&bits_of_error(Type::F32, a, b)));
    }

    #[test]
    fn the_threshold_in_ulps_is_the_threshold_in_bits() {
        assert_eq!(ulps_within(5.0), 31);
        assert!(bits(31) <= 5.0 && bits(32) > 5.0);
        assert_eq!(ulps_within(-1.0), 0);
        assert_eq!(ulps_within(1000.0), u64::MAX);
    }
}
