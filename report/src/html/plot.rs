//! A cause's error over the values of one of its variables, as SVG: a point for every execution that was kept.

use super::axis::Axis;
use super::markup::{Element, Html, classed, element};
use crate::numbers::{counted, exact, short};
use crate::ranges::{describe, pieces};
use fpgrind_analysis::{Cause, Ranges, Variable};
use fpgrind_ir::Type;

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 216.0;
/// The corner points of the plane.
const LEFT: f64 = 38.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = HEIGHT - 52.0;
/// Below it the ranges: of what was seen, and of what hurts.
const SEEN: f64 = HEIGHT - 22.0;
const ERRONEOUS: f64 = HEIGHT - 14.0;

/// Nothing if no execution was kept, or none with a finite value.
pub fn plot(cause: &Cause, number: usize, threshold: f64) -> Option<Html> {
    let variable = cause.variables.get(number)?;
    let points: Vec<(f64, f64)> =
        cause.samples.iter().filter_map(|sample| Some((sample.inputs.get(number)?.to_f64(), sample.bits))).collect();
    let ranges = pieces(&variable.seen).into_iter().chain(pieces(&variable.erroneous));
    let values = points.iter().map(|(value, _)| *value).chain(ranges.flat_map(|(low, high)| [low, high]));
    if !points.iter().any(|(value, _)| value.is_finite()) {
        return None;
    }
    let across = Axis::of(values)?;
    let up = Axis::from_zero(most_bits(cause.ty));
    let (hurt, fine): (Vec<_>, Vec<_>) = points.iter().partition(|(_, bits)| *bits > threshold);
    let drawn = |points: &[(f64, f64)]| -> String {
        let at = |(value, bits): &(f64, f64)| Some((x(&across, *value)?, y(&up, *bits)?));
        let mut d = String::new();
        for (x, y) in points.iter().filter_map(at) {
            // There are many, and a fraction in decimal is dear.
            let [x, y] = [x, y].map(|place| (place * 10.0).round() as u32);
            d += &format!("M{}.{} {}.{}h0", x / 10, x % 10, y / 10, y % 10);
        }
        d
    };
    let worst = x(&across, variable.worst.to_f64()).zip(y(&up, cause.max_bits));
    let svg = svg(WIDTH, HEIGHT, "plot", &label(variable, &points, &across))
        .put(vertical_axis(&up))
        .put(horizontal_axis(&across, &variable.name))
        .all(y(&up, threshold).map(|y| line("threshold", (LEFT, y), (RIGHT, y))))
        .put(range(&across, &variable.seen, SEEN, "seen"))
        .put(range(&across, &variable.erroneous, ERRONEOUS, "erroneous"))
        .put(classed("path", "fine").with("d", drawn(&fine)))
        .put(classed("path", "hurt").with("d", drawn(&hurt)))
        .all(worst.map(|(x, y)| {
            let told = format!("worst at {} = {}", variable.name, exact(variable.worst));
            circle("worst", x, y, 5.5).put(element("title").say(told))
        }));
    let caption = element("figcaption").say(caption(variable, &points, &across));
    Some(classed("figure", "over").put(svg).put(caption).into())
}

/// The frame of a picture that has its meaning in words as well.
pub fn svg(width: f64, height: f64, class: &'static str, label: &str) -> Element {
    classed("svg", class)
        .with("viewBox", format!("0 0 {width:.0} {height:.0}"))
        .with("width", format!("{width:.0}"))
        .with("height", format!("{height:.0}"))
        .with("role", "img")
        .with("aria-label", label)
}

/// As wrong as a number of a format can be.
fn most_bits(ty: Type) -> f64 {
    match ty.bytes() {
        2 => 16.0,
        4 => 32.0,
        _ => 64.0,
    }
}

fn x(axis: &Axis, value: f64) -> Option<f64> {
    axis.place(value).map(|place| LEFT + place * (RIGHT - LEFT))
}

fn y(axis: &Axis, bits: f64) -> Option<f64> {
    axis.place(bits).map(|place| BOTTOM - place * (BOTTOM - TOP))
}

fn vertical_axis(axis: &Axis) -> Html {
    let ticks = [0.0, 16.0, 32.0, 48.0, 64.0].into_iter().filter_map(|bits| Some((y(axis, bits)?, bits)));
    let marks = ticks.flat_map(|(y, bits)| {
        let label = text("end", LEFT - 6.0, y + 4.0, &format!("{bits:.0}"));
        [line("grid", (LEFT, y), (RIGHT, y)), label]
    });
    let name =
        classed("text", "name").with("transform", format!("translate(10 {:.1}) rotate(-90)", (TOP + BOTTOM) / 2.0));
    element("g").all(marks).put(name.with("text-anchor", "middle").say("bits of error")).into()
}

fn horizontal_axis(axis: &Axis, name: &str) -> Html {
    let mut marks: Vec<Html> = Vec::new();
    let mut free = 0.0;
    for (value, label) in axis.ticks() {
        let Some(x) = x(axis, value) else { continue };
        marks.push(line("tick", (x, BOTTOM), (x, BOTTOM + 4.0)));
        // Labels must not run into each other.
        let half = 3.2 * label.chars().count() as f64;
        if x - half >= free {
            marks.push(text("middle", x.min(WIDTH - half), BOTTOM + 17.0, &label));
            free = x + half + 6.0;
        }
    }
    let name = classed("text", "name").with("x", 4).with("y", SEEN + 7.0).say(name);
    element("g").put(line("axis", (LEFT, BOTTOM), (RIGHT, BOTTOM))).all(marks).put(name).into()
}

fn range(axis: &Axis, ranges: &Ranges, y: f64, class: &'static str) -> Html {
    // What lies beyond the finite numbers is at the end.
    let clamp = |value: f64| value.clamp(-f64::MAX, f64::MAX);
    let bars = pieces(ranges).into_iter().filter_map(|(low, high)| Some((x(axis, clamp(low))?, x(axis, clamp(high))?)));
    let bars = bars.map(|(low, high)| {
        let bar = classed("rect", class).with("x", format!("{:.1}", low - 1.0)).with("y", y);
        bar.with("width", format!("{:.1}", high - low + 2.0)).with("height", 5)
    });
    element("g").all(bars).into()
}

/// What is what in all plots.
pub fn legend(threshold: f64) -> Html {
    let entries = [
        ("dot hurt", format!("execution that loses more than {threshold} bits (dashed line)")),
        ("dot fine", "other execution".to_string()),
        ("dot worst", "the worst".to_string()),
        ("bar seen", "values seen".to_string()),
        ("bar erroneous", "values that hurt".to_string()),
    ];
    let entries = entries
        .map(|(class, said)| element("span").put(element("i").with("class", format!("swatch {class}"))).say(said));
    classed("p", "legend").with("aria-hidden", "true").all(entries).into()
}

fn caption(variable: &Variable, points: &[(f64, f64)], axis: &Axis) -> String {
    let scale = if axis.is_logarithmic() { ", logarithmic" } else { "" };
    let outside = points.iter().filter(|(value, _)| !value.is_finite()).count();
    let outside = match outside {
        0 => String::new(),
        count => format!(", {} at NaN or infinity not shown", count),
    };
    let executions = counted(points.len() as u64, "execution", "executions");
    format!("Error over {}{scale}: {executions} sampled{outside}", variable.name)
}

/// What the picture shows, in words.
fn label(variable: &Variable, points: &[(f64, f64)], axis: &Axis) -> String {
    let hurts = describe(&variable.name, &variable.erroneous).map(|hurts| format!("; erroneous for {hurts}"));
    let seen = describe(&variable.name, &variable.seen).map(|seen| format!("; seen {seen}"));
    let worst = points.iter().fold(0.0, |worst: f64, (_, bits)| worst.max(*bits));
    let caption = caption(variable, points, axis);
    format!("{caption}, up to {} bits{}{}", short(worst), hurts.unwrap_or_default(), seen.unwrap_or_default())
}

fn line(class: &'static str, from: (f64, f64), to: (f64, f64)) -> Html {
    let d = format!("M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, to.0, to.1);
    classed("path", class).with("d", d).into()
}

fn text(anchor: &'static str, x: f64, y: f64, said: &str) -> Html {
    let text = element("text").with("text-anchor", anchor).with("x", format!("{x:.1}")).with("y", format!("{y:.1}"));
    text.say(said).into()
}

fn circle(class: &'static str, x: f64, y: f64, radius: f64) -> Element {
    classed("circle", class).with("cx", format!("{x:.1}")).with("cy", format!("{y:.1}")).with("r", radius)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn every_sample_is_a_point_and_the_worst_is_marked() {
        let cause = fixtures::cause();
        for number in 0..2 {
            let html = plot(&cause, number, 5.0).expect("has samples").into_string();
            assert_eq!(html.matches("h0").count(), cause.samples.len(), "{html}");
            let hurt = html.split("class=\"hurt\"").nth(1).and_then(|rest| rest.split("</path>").next());
            assert_eq!(hurt.map(|path| path.matches("h0").count()), Some(2), "{html}");
            assert!(html.contains("<title>worst at "), "{html}");
            assert!(!html.contains("NaN") && !html.contains("inf\""), "{html}");
        }
        assert!(plot(&cause, 1, 5.0).expect("has samples").into_string().contains("Error over y, logarithmic: 3 exec"));
    }

    #[test]
    fn what_is_no_finite_number_is_counted_and_a_cause_without_samples_has_no_plot() {
        let mut cause = fixtures::cause();
        cause.samples[0].inputs[0] = f64::NAN.into();
        cause.samples[1].inputs[0] = f64::INFINITY.into();
        let html = plot(&cause, 0, 5.0).expect("has one left").into_string();
        assert!(html.matches("h0").count() == 1 && html.contains("2 at NaN or infinity not shown"), "{html}");
        cause.samples.truncate(2);
        assert_eq!(plot(&cause, 0, 5.0), None);
        cause.samples.clear();
        assert_eq!(plot(&cause, 0, 5.0), None);
        assert_eq!(plot(&cause, 9, 5.0), None);
    }
}
