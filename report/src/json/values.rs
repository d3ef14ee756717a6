//! Numbers in JSON.
//!
//! They are written so that reading them back as doubles gives the same doubles; NaN and the infinities, which JSON lacks, are
//! the strings `"NaN"`, `"inf"` and `"-inf"`. A long double that is no double is a string with the digits that read back as it.
//! Addresses and bit patterns are strings in hexadecimal, because readers of JSON may hold numbers in doubles.

use crate::numbers::exact;
use fpgrind_analysis as analysis;
use fpgrind_ir::Type;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A double, exactly.
#[derive(Clone, Copy)]
pub struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            value if value.is_nan() => serializer.serialize_str("NaN"),
            f64::INFINITY => serializer.serialize_str("inf"),
            f64::NEG_INFINITY => serializer.serialize_str("-inf"),
            value => serializer.serialize_f64(value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        match Float::deserialize(deserializer)? {
            Float::Double(number) => Ok(number),
            Float::Digits(text) => Err(D::Error::custom(format!("\"{text}\" where a number is expected"))),
        }
    }
}

/// A float of any format, exactly.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Float {
    Double(Number),
    Digits(String),
}

impl Float {
    pub fn of(number: analysis::Number) -> Float {
        number.as_f64().map_or_else(|| Float::Digits(exact(number)), |value| Float::Double(Number(value)))
    }

    pub fn typed(&self, ty: Type) -> Result<analysis::Number, String> {
        match self {
            Float::Double(Number(value)) => Ok(analysis::Number::from(*value).to(ty)),
            Float::Digits(text) => {
                analysis::Number::read(text, ty).ok_or_else(|| format!("\"{text}\" where a number is expected"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Float, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a number, or \"NaN\", \"inf\" or \"-inf\", is expected")]
        enum Written {
            Number(f64),
            Text(String),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Number(value) => Float::Double(Number(value)),
            Written::Text(text) => match text.as_str() {
                "NaN" => Float::Double(Number(f64::NAN)),
                "inf" => Float::Double(Number(f64::INFINITY)),
                "-inf" => Float::Double(Number(f64::NEG_INFINITY)),
                _ => Float::Digits(text),
            },
        })
    }
}

pub struct Hex(pub u128);

impl Hex {
    pub fn address(&self) -> Result<u64, String> {
        u64::try_from(self.0).map_err(|_| format!("{:#x} is no address", self.0))
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:#x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hex, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let number = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
        number.map(Hex).ok_or_else(|| D::Error::custom(format!("\"{text}\" where a hexadecimal number is expected")))
    }
}
