//! What an accumulated error is made of, as bars: one for each operation whose roundings have a share in it.

use super::markup::{Element, Html, classed, element};
use super::plot::svg;
use crate::shares::{percent, told};
use crate::{Report, words};
use fpgrind_analysis::Spot;

/// More bars are not looked at.
const MAX_BARS: usize = 8;
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 14.0;

/// Nothing if it is not known.
pub fn parts(report: &Report, spot: &Spot) -> Option<Html> {
    let parts = told(report, spot.accumulated.as_ref()?, MAX_BARS)?;
    let of = format!("{} at {}", words::spot_noun(spot, "the "), report.sites.spot(spot).short());
    // The whole error is always in view. A share below zero makes it smaller, and then others are larger than the whole.
    let (least, most) =
        parts.iter().fold((0.0, 1.0), |(low, high): (f64, f64), (part, _)| (low.min(*part), high.max(*part)));
    let x = |share: f64| (share - least) / (most - least) * WIDTH;
    let rows = parts.iter().map(|(share, from)| {
        let bar = bar(x(0.0), x(*share), &format!("{} {from}", percent(*share)));
        classed("tr", "part")
            .put(classed("td", "number").say(percent(*share)))
            .put(element("td").put(bar))
            .put(element("th").with("scope", "row").say(from))
    });
    let caption = element("figcaption").say(format!("What the error of {of} is made of"));
    let table = classed("div", "scroll")
        .with("tabindex", 0)
        .with("role", "group")
        .with("aria-label", "shares of the error")
        .put(element("table").put(element("tbody").all(rows)));
    Some(classed("figure", "parts").put(caption).put(table).into())
}

/// From zero to where a share ends.
fn bar(zero: f64, end: f64, label: &str) -> Element {
    let class = if end < zero { "seen" } else { "erroneous" };
    let (left, width) = (zero.min(end), (end - zero).abs());
    let rect = classed("rect", class).with("x", format!("{left:.1}")).with("y", 2);
    let axis = classed("path", "axis").with("d", format!("M{zero:.1} 0V{HEIGHT:.0}"));
    svg(WIDTH, HEIGHT, "plot", label)
        .put(rect.with("width", format!("{width:.1}")).with("height", HEIGHT - 4.0))
        .put(axis)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::*;

    fn drawn(shares: &[f64]) -> String {
        let mut spot = printed(0x1000 + 12, 1, 1, 20.1);
        let contributions: Vec<_> =
            shares.iter().zip(1..).map(|(share, line)| contribution(0x1000 + line, *share)).collect();
        spot.accumulated_in = contributions.iter().map(|contribution| contribution.location).collect();
        spot.accumulated = Some(accumulated(contributions));
        let report = without_causes(vec![spot.clone()]);
        parts(&report, &spot).map(Html::into_string).unwrap_or_default()
    }

    #[test]
    fn bars_are_as_long_as_their_shares_and_begin_at_zero() {
        let html = drawn(&[0.75, 0.25]);
        assert_eq!(html.matches("<tr").count(), 2, "{html}");
        for expected in [
            "What the error of printf %f at sum.c:12 is made of",
            "<td class=\"number\">75 %</td>",
            "from the addition at sum.c:1 (executed 1,000,000 times)",
            "<rect class=\"erroneous\" x=\"0.0\" y=\"2\" width=\"180.0\"",
            "<rect class=\"erroneous\" x=\"0.0\" y=\"2\" width=\"60.0\"",
        ] {
            assert!(html.contains(expected), "{expected} is missing in {html}");
        }
    }

    #[test]
    fn what_makes_an_error_smaller_goes_the_other_way() {
        let html = drawn(&[1.25, -0.25]);
        assert!(html.contains("<rect class=\"erroneous\" x=\"40.0\" y=\"2\" width=\"200.0\""), "{html}");
        assert!(html.contains("<rect class=\"seen\" x=\"0.0\" y=\"2\" width=\"40.0\""), "{html}");
        assert_eq!(html.matches("M40.0 0V14").count(), 2, "{html}");
    }

    #[test]
    fn few_of_many_are_drawn_and_the_rest_together() {
        let html = drawn(&[0.0625; 16]);
        assert_eq!(html.matches("<tr").count(), MAX_BARS + 1, "{html}");
        assert!(html.contains("50 %</td>") && html.contains("from other operations"), "{html}");
        assert_eq!(drawn(&[]), "");
    }
}
