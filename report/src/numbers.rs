//! Numbers as people read them: short, but never so short that two different ones look alike.

/// Significant digits shown where nothing speaks for more.
const DIGITS: usize = 5;
/// Enough for every double to read back as itself.
const MAX_DIGITS: usize = 17;

/// The shortest decimal that reads back as exactly this double.
pub fn exact(value: f64) -> String {
    let magnitude = value.abs();
    if value.is_nan() {
        "NaN".to_string()
    } else if value == 0.0 || magnitude.is_infinite() || (0.01..1e6).contains(&magnitude) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// The shortest decimal that reads back as this value, read as a float if it is one.
pub fn exact_float(value: f64) -> String {
    let float = value as f32;
    if f64::from(float) == value && float.is_finite() {
        // A float's own digits, in the layout of `exact`: 0.1 and not 0.10000000149011612.
        format!("{float:e}").parse().map_or_else(|_| exact(value), exact)
    } else {
        exact(value)
    }
}

/// The value rounded to a few digits.
pub fn short(value: f64) -> String {
    rounded(value, DIGITS)
}

/// Two values, with as many digits as it takes to tell them apart.
pub fn short_pair(a: f64, b: f64) -> (String, String) {
    let alike = a == b || (a.is_nan() && b.is_nan());
    (DIGITS..=MAX_DIGITS)
        .map(|digits| (rounded(a, digits), rounded(b, digits)))
        .find(|(a, b)| alike || a != b)
        .unwrap_or_else(|| (exact(a), exact(b)))
}

fn rounded(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return exact(value);
    }
    match format!("{value:.*e}", digits - 1).parse::<f64>() {
        // Rounding up the largest doubles leaves the doubles.
        Ok(rounded) if rounded.is_finite() => exact(rounded),
        _ => exact(value),
    }
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
    fn floats_have_the_digits_of_floats() {
        assert_eq!(exact_float(f64::from(0.1f32)), "0.1");
        assert_eq!(exact_float(f64::from(1e-10f32)), "1e-10");
        assert_eq!(exact_float(0.1), "0.1");
        assert_eq!(exact_float(1e300), "1e300");
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
