//! The values that a variable took, in words.

use crate::numbers::{short, short_pair};
use fpgrind_analysis::Ranges;

/// A part of the set of values: all between two ends, the ends included.
type Piece = (f64, f64);

/// The parts in ascending order: negative, zero, positive.
pub fn pieces(ranges: &Ranges) -> Vec<Piece> {
    let zero = ranges.zero.then_some((0.0, 0.0));
    ranges.negative.into_iter().chain(zero).chain(ranges.positive).collect()
}

/// `x in [-2, -1e-3] or [1e-3, 2]`; nothing if no value was seen.
pub fn describe(name: &str, ranges: &Ranges) -> Option<String> {
    let mut parts: Vec<String> = joined(pieces(ranges)).into_iter().map(describe_piece).collect();
    if ranges.nan {
        parts.push("NaN".to_string());
    }
    match parts.as_slice() {
        [] => None,
        [value] if !value.starts_with('[') => Some(format!("{name} = {value}")),
        _ => Some(format!("{name} in {}", parts.join(" or "))),
    }
}

/// Values that pass through zero are one range: all three parts are there, and the outer ones come within a
/// thousandth of their extent to zero.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    const NEAR: f64 = 1e-3;
    match pieces.as_slice() {
        [(low, below), _, (above, high)] if *below >= NEAR * low && *above <= NEAR * high => vec![(*low, *high)],
        _ => pieces,
    }
}

fn describe_piece((low, high): Piece) -> String {
    if low == high {
        return short(low);
    }
    let (low, high) = short_pair(low, high);
    format!("[{low}, {high}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(negative: Option<Piece>, zero: bool, positive: Option<Piece>) -> Ranges {
        Ranges { negative, zero, positive, nan: false }
    }

    fn text(ranges: Ranges) -> String {
        describe("x", &ranges).unwrap_or_default()
    }

    #[test]
    fn a_range_does_not_pretend_to_contain_what_lies_between_its_parts() {
        assert_eq!(text(ranges(Some((-2.0, -1e-3)), false, Some((1e-3, 2.0)))), "x in [-2, -1e-3] or [1e-3, 2]");
        assert_eq!(text(ranges(None, true, Some((1e10, 1e16)))), "x in 0 or [1e10, 1e16]");
        assert_eq!(text(ranges(Some((-2.0, -1.0)), true, None)), "x in [-2, -1] or 0");
    }

    #[test]
    fn values_that_pass_through_zero_are_one_range() {
        assert_eq!(text(ranges(Some((-8.7e-9, -1e-12)), true, Some((3.1e-12, 8.7e-9)))), "x in [-8.7e-9, 8.7e-9]");
        assert_eq!(text(ranges(Some((-2.0, -1e-9)), true, Some((1.0, 2.0)))), "x in [-2, -1e-9] or 0 or [1, 2]");
        assert_eq!(text(ranges(Some((-2.0, -1.0)), true, Some((1e-9, 2.0)))), "x in [-2, -1] or 0 or [1e-9, 2]");
    }

    #[test]
    fn single_values_and_nan_are_said_plainly() {
        assert_eq!(text(ranges(None, true, None)), "x = 0");
        assert_eq!(text(ranges(None, false, Some((113.0, 113.0)))), "x = 113");
        assert_eq!(text(Ranges { nan: true, ..Ranges::default() }), "x = NaN");
        assert_eq!(text(Ranges { nan: true, positive: Some((1.0, 2.0)), ..Ranges::default() }), "x in [1, 2] or NaN");
        assert_eq!(describe("x", &Ranges::default()), None);
    }

    #[test]
    fn a_narrow_range_shows_both_of_its_ends() {
        assert_eq!(text(ranges(None, false, Some((112.9999996, 113.0000004)))), "x in [112.9999996, 113.0000004]");
    }
}
