//! A float as it is told to people: its format and its bits, so that no digit is lost on the way to a report.

use crate::error;
use crate::format::{self, Kind};
use crate::mode::Target;
use crate::mpfr;
use fpgrind_ir::Type;

/// A float of some format, exactly.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    pub ty: Type,
    pub bits: u128,
}

/// Numbers are equal if their values are, whatever their formats; NaN is equal to nothing.
impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        let [a, b] = [self, other].map(|number| format::decode(number.ty, number.bits));
        match (a.kind, b.kind) {
            (Kind::Nan, _) => false,
            (Kind::Zero, Kind::Zero) => true,
            _ => a == b,
        }
    }
}

impl PartialEq<f64> for Number {
    fn eq(&self, other: &f64) -> bool {
        *self == Number::from(*other)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Number {
        Number { ty: Type::F64, bits: value.to_bits() as u128 }
    }
}

impl Number {
    pub fn new(ty: Type, bits: u128) -> Number {
        Number { ty, bits }
    }

    /// The same in every bit, which equality of values is not.
    pub fn is_same(&self, other: &Number) -> bool {
        self.ty == other.ty && self.bits == other.bits
    }

    /// The nearest double. What lies beyond the doubles is the largest, and what lies below them the smallest: not infinite, and
    /// not zero.
    pub fn to_f64(&self) -> f64 {
        error::value(self.ty, self.bits)
    }

    /// The double with the same value, if there is one.
    pub fn as_f64(&self) -> Option<f64> {
        let value = self.to_f64();
        (value.is_nan() && self.is_nan() || *self == value).then_some(value)
    }

    pub fn is_nan(&self) -> bool {
        error::is_nan(self.ty, self.bits)
    }

    pub fn is_finite(&self) -> bool {
        matches!(format::decode(self.ty, self.bits).kind, Kind::Zero | Kind::Finite { .. })
    }

    pub fn is_infinite(&self) -> bool {
        format::decode(self.ty, self.bits).kind == Kind::Infinite
    }

    pub fn is_negative(&self) -> bool {
        format::decode(self.ty, self.bits).negative
    }

    /// The nearest number of another format.
    pub fn to(&self, ty: Type) -> Number {
        if self.ty == ty {
            *self
        } else {
            Number { ty, bits: format::convert(self.ty, self.bits, Target::nearest(ty)) }
        }
    }

    /// The number of a format that is next to a decimal: what [`Number::decimal`] wrote reads back as itself. Nothing if the
    /// text is no finite number.
    pub fn read(text: &str, ty: Type) -> Option<Number> {
        let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.e".contains(&byte));
        (is_decimal && text.parse::<f64>().is_ok()).then(|| mpfr::read(&Decimal::read(text), ty))
    }

    /// The fewest decimal digits that read back as this number in its format, or so many; and where the point is.
    pub fn decimal(&self, digits: Option<usize>) -> Decimal {
        match (self.ty, digits) {
            (Type::F64, None) => Decimal::read(&format!("{:e}", f64::from_bits(self.bits as u64))),
            (Type::F32, None) => Decimal::read(&format!("{:e}", f32::from_bits(self.bits as u32))),
            (Type::F32 | Type::F64, Some(digits)) => {
                Decimal::read(&format!("{:.*e}", digits.saturating_sub(1), self.to_f64()))
            }
            (_, Some(digits)) => mpfr::decimal(*self, digits),
            (_, None) => {
                let decimals = (1..MAX_DIGITS).map(|digits| mpfr::decimal(*self, digits));
                let mut exact = decimals.filter(|decimal| mpfr::read(decimal, self.ty) == *self);
                exact.next().unwrap_or_else(|| mpfr::decimal(*self, MAX_DIGITS))
            }
        }
    }
}

/// Enough for every float of the longest format to read back as itself: `1 + ceil(113 * log10(2))`.
pub const MAX_DIGITS: usize = 36;

/// A finite number in decimal: `0.digits * 10^point`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    pub negative: bool,
    pub digits: String,
    pub point: i64,
}

impl Decimal {
    /// Reads `-1.25e-7` or `123.45`.
    fn read(text: &str) -> Decimal {
        let (negative, magnitude) = match text.strip_prefix('-') {
            Some(magnitude) => (true, magnitude),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (significand, exponent) = magnitude.split_once('e').unwrap_or((magnitude, "0"));
        let before_point = significand.split('.').next().unwrap_or_default().len() as i64;
        let digits = significand.chars().filter(char::is_ascii_digit).collect();
        Decimal::new(negative, digits, exponent.parse::<i64>().unwrap_or(0).saturating_add(before_point))
    }

    /// Without zeros at the end.
    pub fn new(negative: bool, digits: String, point: i64) -> Decimal {
        match digits.trim_end_matches('0') {
            "" => Decimal { negative, digits: "0".into(), point: 1 },
            digits => Decimal { negative, digits: digits.into(), point },
        }
    }

    /// `123.45`, or `1.2345e2` if it is not to be plain.
    pub fn written(&self, plain: bool) -> String {
        let Decimal { digits, point, .. } = self;
        let sign = if self.negative { "-" } else { "" };
        if !plain {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            return format!("{sign}{first}{dot}{rest}e{}", point - 1);
        }
        match usize::try_from(*point) {
            Ok(0) | Err(_) => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
            Ok(point) if point < digits.len() => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
            Ok(point) => format!("{sign}{digits}{}", "0".repeat(point - digits.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_doubles_have_the_digits_that_tell_them_apart() {
        let tenth = Number::new(Type::F80, 0x3ffb_cccc_cccc_cccc_cccd);
        assert_eq!(tenth.decimal(None).written(true), "0.1");
        let tenth_as_double = Number::from(0.1).to(Type::F80);
        assert_eq!(tenth_as_double.decimal(None).written(true), "0.10000000000000000555");
        assert_eq!(tenth_as_double, 0.1);
        assert!(tenth != 0.1);
        let least = Number::new(Type::F80, 1);
        assert_eq!(least.decimal(None).written(false), "4e-4951");
        assert_eq!(least.to_f64(), 5e-324);
        assert_eq!(least.as_f64(), None);
        assert_eq!(Number::new(Type::F16, 0x3555).decimal(None).written(true), "0.3333");
        assert_eq!(Number::from(-0.0).decimal(None).written(true), "-0");
    }

    #[test]
    fn decimals_are_read_wherever_their_point_is() {
        let tenth = Number::new(Type::F80, 0x3ffb_cccc_cccc_cccc_cccd);
        for text in ["0.1", "1e-1", "0.01e1", ".1", "+0.1"] {
            assert!(Number::read(text, Type::F80).is_some_and(|number| number.is_same(&tenth)), "{text}");
        }
        assert!(Number::read("-123.45", Type::F64).is_some_and(|number| number == -123.45));
        for text in ["", "inf", "NaN", "1e", "0x1", "1 2", "--1", "1e5e5", "é"] {
            assert!(Number::read(text, Type::F80).is_none(), "{text}");
        }
        assert!(Number::read("1e99999999999999999999", Type::F80).is_some());
    }

    proptest! {
        #[test]
        fn doubles_are_written_as_rust_writes_them(value in any::<f64>()) {
            prop_assume!(value.is_finite());
            let decimal = Number::from(value).decimal(None);
            prop_assert_eq!(decimal.written(false), format!("{value:e}"));
            if (1e-5..1e16).contains(&value.abs()) {
                prop_assert_eq!(decimal.written(true), format!("{value}"));
            }
        }

        #[test]
        fn decimals_of_long_doubles_read_back(bits in any::<u128>()) {
            let number = Number::new(Type::F80, bits & (u128::MAX >> 48) | 1 << 63);
            prop_assume!(number.is_finite());
            prop_assert_eq!(mpfr::read(&number.decimal(None), Type::F80), number);
        }
    }
}
