//! Whether a program's outputs are as accurate as somebody asks for.

use crate::numbers::{bits, counted};
use crate::{Report, words};
use fpgrind_analysis::{Spot, SpotKind};

/// `2 outputs lose more than 20 bits, the worst of them printf %f at plot.c:61 (62.0 bits)`; nothing if none does. NaN where it is
/// wrong has lost all bits. Outputs that are wrong for suppressed reasons only are not counted.
pub fn exceeding(report: &Report, limit: f64) -> Option<String> {
    let lost = |spot: &Spot| {
        let is_nan = spot.computed.is_nan() || spot.correct.is_nan();
        if is_nan && spot.wrong > 0 { f64::INFINITY } else { spot.max_bits }
    };
    let outputs = report.findings.spots.iter().filter(|spot| matches!(spot.kind, SpotKind::Output { .. }));
    let failed: Vec<&Spot> = outputs.filter(|spot| lost(spot) > limit && !report.is_excused(spot)).collect();
    let worst = failed.iter().max_by(|a, b| lost(a).total_cmp(&lost(b)))?;
    let outputs = counted(failed.len() as u64, "output loses", "outputs lose");
    let place = format!("{} at {}", words::spot_noun(worst, ""), report.sites.spot(worst).short());
    let extent = if lost(worst).is_infinite() { "NaN".into() } else { bits(worst.max_bits) };
    Some(format!("{outputs} more than {limit} bits, the worst of them {place} ({extent})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::*;

    #[test]
    fn only_outputs_count_and_only_beyond_the_limit() {
        let mut report = plotter();
        let expected = "1 output loses more than 20 bits, the worst of them printf %f at plot.c:61 (62.0 bits)";
        assert_eq!(exceeding(&report, 20.0).as_deref(), Some(expected));
        assert_eq!(exceeding(&report, 62.0), None);
        report.findings.spots[1].max_bits = 64.0;
        assert_eq!(exceeding(&report, 62.0), None, "a branch is no output");
        report.findings.spots[0].correct = f64::NAN.into();
        assert!(exceeding(&report, 64.0).is_some_and(|sentence| sentence.ends_with("(NaN)")));
        report.suppressed = vec![Some("s:1".into())];
        assert_eq!(exceeding(&report, 0.0), None);
    }
}
