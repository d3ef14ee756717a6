//! Ranges of observed values, split by sign.

use crate::findings::Ranges;

impl Ranges {
    pub fn include(&mut self, value: f64) {
        let side = if value.is_nan() {
            self.nan = true;
            return;
        } else if value == 0.0 {
            self.zero = true;
            return;
        } else if value < 0.0 {
            &mut self.negative
        } else {
            &mut self.positive
        };
        *side = Some(match *side {
            None => (value, value),
            Some((low, high)) => (low.min(value), high.max(value)),
        });
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
