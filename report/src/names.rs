//! The names that variables have in expressions.

use fpgrind_analysis::Cause;

/// For expressions whose variables are only numbered.
pub const UNNAMED: [&str; 8] = ["x", "y", "z", "a", "b", "c", "d", "e"];

pub fn names(cause: &Cause) -> Vec<&str> {
    cause.variables.iter().map(|variable| variable.name.as_str()).collect()
}

pub fn infix(cause: &Cause) -> String {
    cause.expr.infix(&names(cause))
}
