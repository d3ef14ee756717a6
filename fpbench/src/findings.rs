//! fpgrind's report.json, as far as it is judged. The schema is in report/src/json.rs; this reads it like any other tool.

use serde::{Deserialize, Deserializer};

#[derive(Debug, Deserialize)]
pub struct Report {
    pub causes: Vec<Cause>,
    pub spots: Vec<Spot>,
    pub check_failures: Vec<CheckFailure>,
}

#[derive(Debug, Deserialize)]
pub struct Cause {
    pub site: Location,
    pub kind: String,
    pub expression: String,
    pub variables: Vec<Variable>,
    pub max_bits: Number,
    pub reproduced_bits: Number,
}

#[derive(Debug, Deserialize)]
pub struct Variable {
    /// At the worst execution.
    pub worst: Number,
}

#[derive(Debug, Deserialize)]
pub struct Spot {
    pub site: Location,
    pub kind: String,
    pub count: u64,
    pub wrong: u64,
    pub max_bits: Number,
    pub computed: Number,
    pub correct: Number,
    /// Where errors without a cause add up.
    pub accumulated_in: Vec<Location>,
    /// Indices into the causes.
    pub causes: Vec<usize>,
}

#[derive(Debug, Deserialize)]
pub struct Location {
    pub text: String,
    pub function: Option<String>,
    pub file: Option<String>,
    pub line: Option<u32>,
}

#[derive(Debug, Deserialize)]
pub struct CheckFailure {
    pub site: Location,
}

/// A double; those that JSON has no numbers for are written as text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(value) => Ok(Number(value)),
            Written::Text(text) => text.parse().map(Number).map_err(serde::de::Error::custom),
        }
    }
}
