//! Ranges of observed values, split by sign.

use crate::findings::Ranges;

impl Ranges {
    #[inline]
    pub fn include(&mut self, value: f64) {
        let side = if value > 0.0 {
            &mut self.positive
        } else if value < 0.0 {
            &mut self.negative
        } else {
            self.zero |= value == 0.0;
            self.nan |= value.is_nan();
            return;
        };
        let (low, high) = side.get_or_insert((value, value));
        // Mostly it is within: nothing is written then.
        if value < *low {
            *low = value;
        }
        if value > *high {
            *high = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_does_not_contain_what_lies_between_its_signs() {
        let mut ranges = Ranges::default();
        [3.0, -2.0, 5.0, -7.0].into_iter().for_each(|value| ranges.include(value));
        assert_eq!(
            ranges,
            Ranges { negative: Some((-7.0, -2.0)), zero: false, positive: Some((3.0, 5.0)), nan: false }
        );
        ranges.include(-0.0);
        ranges.include(f64::NAN);
        assert!(ranges.zero && ranges.nan);
    }
}
