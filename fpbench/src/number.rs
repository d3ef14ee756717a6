//! Numbers as FPCore writes them: decimals, rationals, hexadecimal floats and `(digits m e b)`, each held exactly.

use rug::ops::Pow;
use rug::{Float, Integer, Rational};

/// A number and how it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Literal {
    pub text: String,
    pub value: Rational,
    /// The nearest floats: loops ask for them often.
    pub double: f64,
    pub single: f32,
}

/// Powers of ten or two beyond this are refused: no float comes near, and their digits would fill the memory.
const MAX_EXPONENT: i64 = 20_000;
/// Nor does anybody write numbers longer than this.
const MAX_LENGTH: usize = 4_000;

impl Literal {
    /// Nothing if it is no number.
    pub fn parse(text: &str) -> Option<Literal> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let (negative, magnitude) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let value = if let Some(hex) = magnitude.strip_prefix("0x") {
            positional(hex, 16, 'p', 2)?
        } else if let Some((above, below)) = magnitude.split_once('/') {
            let below = natural(below, 10)?;
            if below == 0 {
                return None;
            }
            Rational::from((natural(above, 10)?, below))
        } else {
            positional(magnitude, 10, 'e', 10)?
        };
        Some(Literal::new(text.into(), if negative { -value } else { value }))
    }

    /// `(digits m e b)`: m times b to the e.
    pub fn digits(m: &str, e: &str, b: &str) -> Option<Literal> {
        let base = natural(b, 10).filter(|base| *base >= 2)?;
        let base = base.to_i64().filter(|base| *base <= 1_000)?;
        let value = Literal::parse(m).filter(|m| m.value.is_integer())?.value * power(base, e.parse().ok()?)?;
        Some(Literal::new(format!("(digits {m} {e} {b})"), value))
    }

    /// A float, exactly; nothing for NaN and the infinities.
    pub fn of_float(value: f64) -> Option<Literal> {
        Literal::parse(&hexadecimal(value)?)
    }

    fn new(text: String, value: Rational) -> Literal {
        // The sign of a zero is not in its value.
        let zero = if text.starts_with('-') { -0.0 } else { 0.0 };
        // Enough bits that rounding twice cannot differ from rounding once, but for numbers written to mislead.
        let real = Float::with_val(2048, &value);
        let (double, single) = if value == 0 { (zero, zero as f32) } else { (real.to_f64(), real.to_f32()) };
        Literal { text, value, double, single }
    }
}

/// A finite float as C, Fortran's neighbours and FPCore read it back exactly.
pub fn hexadecimal(value: f64) -> Option<String> {
    if !value.is_finite() {
        return None;
    }
    let bits = value.to_bits();
    let (sign, fraction) = (if bits >> 63 == 1 { "-" } else { "" }, bits & ((1 << 52) - 1));
    let (lead, exponent) = match (bits >> 52 & 0x7ff) as i32 {
        0 if fraction == 0 => (0, 0),
        0 => (0, -1022),
        biased => (1, biased - 1023),
    };
    Some(match fraction {
        0 => format!("{sign}0x{lead}p{exponent}"),
        _ => format!("{sign}0x{lead}.{}p{exponent}", format!("{fraction:013x}").trim_end_matches('0')),
    })
}

/// Digits, perhaps with a point and a scale: 12.5e3.
fn positional(text: &str, base: i32, mark: char, scale: i64) -> Option<Rational> {
    let (mantissa, exponent) = match text.split_once(|c: char| c.eq_ignore_ascii_case(&mark)) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = natural(&format!("{whole}{fraction}"), base)?;
    Some(Rational::from(digits) * power(base.into(), -(fraction.len() as i64))? * power(scale, exponent)?)
}

fn natural(digits: &str, base: i32) -> Option<Integer> {
    match !digits.is_empty() && digits.chars().all(|c| c.is_digit(base as u32)) {
        true => Integer::from_str_radix(digits, base).ok(),
        false => None,
    }
}

fn power(base: i64, exponent: i64) -> Option<Rational> {
    if exponent.abs() > MAX_EXPONENT {
        return None;
    }
    let power: Integer = Integer::from(base).pow(exponent.unsigned_abs() as u32);
    Some(if exponent < 0 { Rational::from((1, power)) } else { power.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Rational {
        Literal::parse(text).unwrap_or_else(|| panic!("{text} is a number")).value
    }

    #[test]
    fn every_way_to_write_a_number_is_exact() {
        assert_eq!(value("0.1"), Rational::from((1, 10)));
        assert_eq!(value("-.5e1"), -5);
        assert_eq!(value("1/3"), Rational::from((1, 3)));
        assert_eq!(value("+2."), 2);
        assert_eq!(value("0x1.8p-1"), Rational::from((3, 4)));
        assert_eq!(Literal::digits("3", "-2", "10").map(|l| l.value), Some(Rational::from((3, 100))));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-", "x", "1/0", "1e", "1e99999999999", ".", "0x", "1/2/3", "1_0", "--1", "inf"] {
            assert_eq!(Literal::parse(text), None, "{text}");
        }
        assert_eq!(Literal::digits("1", "1", "1"), None);
    }

    proptest! {
        #[test]
        fn a_float_in_hexadecimal_is_that_float(bits in any::<u64>()) {
            let float = f64::from_bits(bits);
            prop_assume!(float.is_finite());
            prop_assert_eq!(Literal::of_float(float).unwrap().value, Rational::from_f64(float).unwrap());
        }

        #[test]
        fn parsing_never_panics(text in "[-+0-9a-fx./ep]{0,12}") {
            let _ = Literal::parse(&text);
        }
    }
}
