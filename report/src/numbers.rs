//! Numbers as people read them: short, but never so short that two different ones look alike.

use fpgrind_analysis::{MAX_DIGITS, Number};

/// Significant digits shown where nothing speaks for more.
const DIGITS: usize = 5;

/// The shortest decimal that reads back as exactly this number in its format.
pub fn exact(value: impl Into<Number>) -> String {
    let value = value.into();
    written(value, None)
}

/// The value rounded to a few digits.
pub fn short(value: impl Into<Number>) -> String {
    rounded(value.into(), DIGITS)
}

/// Two values, with as many digits as it takes to tell them apart.
pub fn short_pair(a: impl Into<Number>, b: impl Into<Number>) -> (String, String) {
    let (a, b) = (a.into(), b.into());
    let alike = a == b || (a.is_nan() && b.is_nan());
    (DIGITS..=MAX_DIGITS)
        .map(|digits| (rounded(a, digits), rounded(b, digits)))
        .find(|(a, b)| alike || a != b)
        .unwrap_or_else(|| (exact(a), exact(b)))
}

/// With no more digits than the number has.
fn rounded(value: Number, digits: usize) -> String {
    let (few, all) = (written(value, Some(digits)), exact(value));
    // Rounding up the largest doubles leaves the doubles.
    let beyond = value.as_f64().is_some() && few.parse::<f64>().is_ok_and(f64::is_infinite);
    if beyond || all.len() < few.len() { all } else { few }
}

fn written(value: Number, digits: Option<usize>) -> String {
    if value.is_nan() {
        return "NaN".to_string();
    }
    if !value.is_finite() {
        return if value.is_negative() { "-inf".to_string() } else { "inf".to_string() };
    }
    let decimal = value.decimal(digits);
    // 10^point is the next power of ten above the magnitude: plain are those from 0.01 up to a million.
    decimal.written(decimal.digits == "0" || (-1..=6).contains(&decimal.point))
}

/// 61,204,118
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 branch`, `2 branches`: the count with the noun in its number.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

pub fn bits(bits: f64) -> String {
    format!("{bits:.1} bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fpgrind_ir::Type;

    #[test]
    fn numbers_are_short_where_that_loses_nothing_that_matters() {
        assert_eq!(short(0.25), "0.25");
        assert_eq!(short(1.2e-4), "1.2e-4");
        assert_eq!(short(1e-3), "1e-3");
        assert_eq!(short(1.0 / 3.0), "0.33333");
        assert_eq!(short(1.9225896e-23), "1.9226e-23");
        assert_eq!(short(-65536.0), "-65536");
        assert_eq!(short(12_000_000.0), "1.2e7");
        assert_eq!(short(0.0), "0");
        assert_eq!(short(f64::NEG_INFINITY), "-inf");
        assert_eq!(short(f64::MAX), "1.7976931348623157e308");
    }

    #[test]
    fn a_pair_gets_the_digits_that_tell_its_numbers_apart() {
        assert_eq!(short_pair(112.9999996, 113.0000004), ("112.9999996".into(), "113.0000004".into()));
        assert_eq!(short_pair(1.0, 2.0), ("1".into(), "2".into()));
        assert_eq!(short_pair(1.0, 1.0f64.next_up()), ("1".into(), "1.0000000000000002".into()));
        assert_eq!(short_pair(f64::NAN, f64::NAN), ("NaN".into(), "NaN".into()));
    }

    #[test]
    fn exact_numbers_read_back_as_themselves() {
        for value in [0.1, 5e-324, f64::MAX, 1.0f64.next_up(), -2.5e-10, 1e22, 123456.75, -0.0] {
            assert_eq!(exact(value).parse::<f64>().unwrap().to_bits(), value.to_bits(), "{value:?}");
        }
    }

    #[test]
    fn numbers_have_the_digits_of_their_format() {
        let float = |value: f32| Number::new(Type::F32, value.to_bits() as u128);
        assert_eq!(exact(float(0.1)), "0.1");
        assert_eq!(exact(float(1e-10)), "1e-10");
        assert_eq!(exact(float(16777216.0)), "1.6777216e7");
        let third = Number::new(Type::F80, 0x3ffd_aaaa_aaaa_aaaa_aaab);
        assert_eq!(exact(third), "0.33333333333333333334");
        assert_eq!(short(third), "0.33333");
        let next = Number::new(Type::F80, third.bits + 1);
        assert_eq!(short_pair(third, next), ("0.3333333333333333333".into(), "0.3333333333333333334".into()));
        let huge = Number::new(Type::F80, 0x7ffe_ffff_ffff_ffff_ffff);
        assert_eq!(exact(huge), "1.1897314953572317650e4932".replace("0e", "e"));
        assert_eq!(short(huge), "1.1897e4932");
    }

    #[test]
    fn counts_have_their_thousands_apart() {
        assert_eq!(count(7), "7");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(61_204_118), "61,204,118");
        assert_eq!(counted(1, "branch", "branches"), "1 branch");
        assert_eq!(counted(1200, "branch", "branches"), "1,200 branches");
    }
}
