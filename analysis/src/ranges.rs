//! Ranges of observed values, split by sign.

use crate::findings::Ranges;

/// Ranges that grow with each value, without a branch: signs change too often to foresee them. What has no value yet is empty: its ends are zero
/// and as far away as can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growing {
    negative: (f64, f64),
    positive: (f64, f64),
    zero: bool,
    nan: bool,
}

impl Growing {
    pub const NOTHING: Growing =
        Growing { negative: (0.0, f64::NEG_INFINITY), positive: (f64::INFINITY, 0.0), zero: false, nan: false };

    #[inline(always)]
    pub fn include(&mut self, value: f64) {
        // As the CPU has it: the second if they do not compare.
        let least = |a: f64, b: f64| if a < b { a } else { b };
        let greatest = |a: f64, b: f64| if a > b { a } else { b };
        let (negative, positive) = (value < 0.0, value > 0.0);
        self.negative.0 = least(value, self.negative.0);
        self.negative.1 = greatest(if negative { value } else { f64::NEG_INFINITY }, self.negative.1);
        self.positive.0 = least(if positive { value } else { f64::INFINITY }, self.positive.0);
        self.positive.1 = greatest(value, self.positive.1);
        self.zero |= value == 0.0;
        self.nan |= value.is_nan();
    }

    pub fn ranges(&self) -> Ranges {
        Ranges {
            negative: (self.negative.0 < 0.0).then_some(self.negative),
            zero: self.zero,
            positive: (self.positive.1 > 0.0).then_some(self.positive),
            nan: self.nan,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_does_not_contain_what_lies_between_its_signs() {
        let mut growing = Growing::NOTHING;
        assert_eq!(growing.ranges(), Ranges::default());
        [3.0, -2.0, 5.0, -7.0].into_iter().for_each(|value| growing.include(value));
        assert_eq!(
            growing.ranges(),
            Ranges { negative: Some((-7.0, -2.0)), zero: false, positive: Some((3.0, 5.0)), nan: false }
        );
        growing.include(-0.0);
        growing.include(f64::NAN);
        let ranges = growing.ranges();
        assert!(ranges.zero && ranges.nan && ranges.positive == Some((3.0, 5.0)));
    }

    #[test]
    fn infinities_are_values() {
        let mut growing = Growing::NOTHING;
        [f64::INFINITY, f64::NEG_INFINITY].into_iter().for_each(|value| growing.include(value));
        let ranges = growing.ranges();
        assert_eq!(ranges.positive, Some((f64::INFINITY, f64::INFINITY)));
        assert_eq!(ranges.negative, Some((f64::NEG_INFINITY, f64::NEG_INFINITY)));
    }
}
