//! Axes: where a value lies on a line, and which values are written beside it.

use crate::numbers::short;

/// Values of more different magnitudes than that go on a logarithmic axis.
const WIDE: f64 = 1000.0;
const HUGE: f64 = 1e300;
/// Values written beside an axis, at most about.
const TICKS: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Scale {
    Linear,
    /// By order of magnitude in both directions from zero, which is one step from the least magnitude there is, 10 to this.
    Logarithmic(f64),
}

pub struct Axis {
    scale: Scale,
    /// The ends, as the scale has them.
    low: f64,
    high: f64,
}

impl Axis {
    /// An axis on which all finite ones of these values lie. Nothing if there is none.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Option<Axis> {
        let finite = values.filter(|value| value.is_finite());
        let magnitudes = finite.clone().map(f64::abs).filter(|magnitude| *magnitude > 0.0);
        let (least, most) = ends(magnitudes).unwrap_or((1.0, 1.0));
        // Neither quotients nor differences may overflow.
        let is_wide = most.log10() - least.log10() > WIDE.log10() || most > HUGE;
        let scale = if is_wide { Scale::Logarithmic(least.log10()) } else { Scale::Linear };
        let (low, high) = ends(finite.map(|value| scale.place(value)))?;
        let room = match (high - low, scale) {
            (0.0, Scale::Linear) => (low.abs() / 2.0).max(f64::MIN_POSITIVE),
            (extent, _) => extent * 0.04,
        };
        Some(Axis { scale, low: low - room, high: high + room })
    }

    pub fn from_zero(high: f64) -> Axis {
        Axis { scale: Scale::Linear, low: 0.0, high }
    }

    pub fn is_logarithmic(&self) -> bool {
        self.scale != Scale::Linear
    }

    /// From 0 to 1; nothing if it is not a number that can lie there.
    pub fn place(&self, value: f64) -> Option<f64> {
        let place = self.scale.place(value);
        (value.is_finite() && self.low <= place && place <= self.high)
            .then(|| place / (self.high - self.low) - self.low / (self.high - self.low))
    }

    /// Values with what is written there, in ascending order.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let ticks: Vec<(f64, String)> = match self.scale {
            Scale::Linear => self.round_values(),
            Scale::Logarithmic(least) => self.powers(least).into_iter().map(|power| (power, short(power))).collect(),
        };
        ticks.into_iter().filter(|(value, _)| self.place(*value).is_some()).collect()
    }

    /// 1, 2 or 5 times a power of ten apart.
    fn round_values(&self) -> Vec<(f64, String)> {
        let raw = (self.high - self.low) / TICKS;
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= raw / 1.5);
        let Some(step) = step.filter(|step| step.is_normal()) else { return Vec::new() };
        let first = (self.low / step).ceil();
        let values = (0..=(2.0 * TICKS) as usize).map(|i| (first + i as f64) * step);
        let values: Vec<f64> = values.filter(|value| *value <= self.high).collect();
        // As many digits as it takes to tell neighbours apart.
        let greatest = values.iter().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
        let digits = (greatest.log10().floor() - step.log10().floor()).clamp(0.0, 17.0) as usize;
        let decimals = (-step.log10().floor()).max(0.0) as usize;
        let plain = greatest < 1e6 && decimals <= 9 || greatest == 0.0;
        let written = |value: f64| match (value, plain) {
            (0.0, _) => "0".to_string(),
            (_, true) => format!("{value:.decimals$}"),
            (_, false) => format!("{value:.digits$e}"),
        };
        values.into_iter().map(|value| (value, written(value))).collect()
    }

    /// Powers of ten on both sides, and zero.
    fn powers(&self, least: f64) -> Vec<f64> {
        let steps = (self.high - self.low) / TICKS;
        let every = steps.ceil().max(1.0) as i32;
        let first = least.floor() as i32;
        let last = (least + self.high.abs().max(self.low.abs())).ceil() as i32;
        let side = (first..=last).filter(|exponent| exponent % every == 0).map(|exponent| 10f64.powi(exponent));
        let positive: Vec<f64> = side.filter(|power| *power > 0.0 && power.is_finite()).collect();
        let negative = positive.iter().rev().map(|power| -power);
        negative.chain([0.0]).chain(positive.iter().copied()).collect()
    }
}

impl Scale {
    fn place(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Logarithmic(_) if value == 0.0 => 0.0,
            Scale::Logarithmic(least) => (value.abs().log10() - least + 1.0).copysign(value),
        }
    }
}

fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64]) -> Axis {
        Axis::of(values.iter().copied()).expect("has values")
    }

    fn ticks(values: &[f64]) -> Vec<String> {
        axis(values).ticks().into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn values_of_one_magnitude_are_on_a_linear_axis_and_others_on_a_logarithmic_one() {
        assert!(!axis(&[1.0, 200.0]).is_logarithmic());
        assert!(!axis(&[-1.0, 0.0, 1.0]).is_logarithmic());
        assert!(axis(&[1e-9, 1.0]).is_logarithmic());
        assert!(axis(&[-1e-9, 0.0, 1.0]).is_logarithmic());
        assert!(axis(&[5e-324, f64::MAX]).is_logarithmic());
        assert!(Axis::of([f64::NAN, f64::INFINITY].into_iter()).is_none());
    }

    #[test]
    fn places_keep_the_order_of_values_and_are_within_the_axis() {
        for values in [
            vec![-1e300, -1e-300, 0.0, 1e-5, 1e300],
            vec![-f64::MAX, 0.0, f64::MAX],
            vec![112.9999996, 113.0, 113.0000004],
            vec![5e-324],
            vec![0.0],
            vec![-5e-324, 5e-324, f64::MAX],
        ] {
            let axis = axis(&values);
            let places: Vec<f64> = values.iter().map(|value| axis.place(*value).expect("lies on it")).collect();
            assert!(places.is_sorted() && places.iter().all(|place| (0.0..=1.0).contains(place)), "{places:?}");
            assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{values:?}: {places:?}");
            let ticks: Vec<f64> = axis.ticks().iter().map(|(value, _)| *value).collect();
            assert!(ticks.len() <= 10 && ticks.is_sorted(), "{values:?}: {ticks:?}");
        }
        assert_eq!(axis(&[1.0, 2.0]).place(f64::NAN), None);
    }

    #[test]
    fn ticks_are_round_and_differ() {
        assert_eq!(ticks(&[0.0, 1.0]), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(
            ticks(&[112.9999996, 113.0000004]),
            ["112.9999996", "112.9999998", "113.0000000", "113.0000002", "113.0000004"]
        );
        assert_eq!(ticks(&[1e-9, 1.0]), ["1e-9", "1e-6", "1e-3", "1"]);
        assert_eq!(ticks(&[-1e-6, 1e-6, 1.0]).first().map(String::as_str), Some("-1e-6"));
        assert_eq!(ticks(&[1e20, 2e20]), ["1.0e20", "1.2e20", "1.4e20", "1.6e20", "1.8e20", "2.0e20"]);
        assert_eq!(Axis::from_zero(64.0).ticks().len(), 4);
    }
}
