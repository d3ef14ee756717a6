//! Ranges of observed values, split by sign.

use crate::findings::Ranges;

impl Ranges {
    /// Says whether it was in there.
    #[inline(always)]
    pub fn include(&mut self, value: f64) -> bool {
        let side = if value > 0.0 {
            &mut self.positive
        } else if value < 0.0 {
            &mut self.negative
        } else {
            let is_known = if value == 0.0 { &mut self.zero } else { &mut self.nan };
            return std::mem::replace(is_known, true);
        };
        let Some((low, high)) = side else {
            *side = Some((value, value));
            return false;
        };
        // Mostly it is within: nothing is written then.
        let is_within = value >= *low && value <= *high;
        if !is_within {
            (*low, *high) = (low.min(value), high.max(value));
        }
        is_within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_does_not_contain_what_lies_between_its_signs() {
        let mut ranges = Ranges::default();
        assert!([3.0, -2.0, 5.0, -7.0].into_iter().all(|value| !ranges.include(value)));
        assert!([3.0, -2.0, 4.0].into_iter().all(|value| ranges.include(value)));
        assert_eq!(
            ranges,
            Ranges { negative: Some((-7.0, -2.0)), zero: false, positive: Some((3.0, 5.0)), nan: false }
        );
        assert!(![-0.0, f64::NAN].map(|value| ranges.include(value)).contains(&true));
        assert!(ranges.zero && ranges.nan && ranges.include(0.0) && ranges.include(f64::NAN));
    }
}
