//! report.html: the report as one page that needs nothing but a browser. It opens from disk, loads nothing, and shows all without its script,
//! which filters, sorts and copies.
//!
//! Names, paths and source come from the program and may hold anything; [`markup`] lets none of it become markup. With 500 causes the
//! page stays fluid because the browser lays out only those in view (`content-visibility`), and closed ones not at all.

mod axis;
mod cause;
mod markup;
mod math;
mod parts;
mod plot;
mod source;
mod tree;

use crate::{Report, ids, words};
use cause::{anchor, capitalised, way_anchor};
use fpgrind_analysis::{Spot, SpotKind};
use markup::{Element, Html, classed, element};
use source::{Place, Remark, Sources};
use std::borrow::Cow;

/// Causes that are open at first.
const OPEN: usize = 1;
/// Nothing is loaded, whatever gets into the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// The report without what is suppressed, with an id for each of its causes.
struct Page<'a> {
    report: Cow<'a, Report>,
    ids: Vec<String>,
}

impl Page<'_> {
    fn link_to(&self, cause: usize) -> Html {
        let link = element("a").with("href", format!("#{}", anchor(&self.ids[cause])));
        link.say(format!("cause {}", cause + 1)).into()
    }
}

pub fn render(report: &Report) -> String {
    let ids = ids::causes(report).into_iter().enumerate();
    let ids = ids.filter(|(number, _)| !report.is_suppressed(*number)).map(|(_, id)| id).collect();
    let page = Page { report: report.visible(), ids };
    let mut sources = Sources::default();
    remark(&page, &mut sources);
    let program = std::path::Path::new(&report.run.program);
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    let head = element("head")
        .put(element("meta").with("charset", "utf-8"))
        .put(element("meta").with("http-equiv", "Content-Security-Policy").with("content", POLICY))
        .put(element("meta").with("name", "viewport").with("content", "width=device-width, initial-scale=1"))
        .put(element("meta").with("name", "color-scheme").with("content", "light dark"))
        .put(element("title").say(format!("{name}: fpgrind")))
        .put(element("style").put(Html::ours(include_str!("html/page.css"))));
    let causes = &page.report.findings.causes;
    let cards: Vec<Html> =
        (0..causes.len()).map(|number| cause::card(&page, &mut sources, number, number < OPEN)).collect();
    let list = classed("ol", "causes").with("id", "causes").all(cards);
    let main = element("main")
        .all((causes.len() > 1).then(tools))
        .all((!causes.is_empty()).then_some(list))
        .all(results(&page, &mut sources))
        .all(accumulations(&page, &mut sources))
        .all(notes(&page));
    let body = element("body")
        .put(header(&page, report))
        .put(main)
        .put(element("script").put(Html::ours(include_str!("html/page.js"))));
    let html = element("html").with("lang", "en").put(head).put(body);
    format!("<!DOCTYPE html>\n{}\n", Html::from(html).into_string())
}

/// What the source's lines have to do with: causes and the results that they spoil.
fn remark(page: &Page, sources: &mut Sources) {
    let report = &page.report;
    for (number, (found, id)) in report.findings.causes.iter().zip(&page.ids).enumerate() {
        let site = report.sites.instruction(found.location);
        if let (Some(file), Some(line)) = (&site.file, site.line) {
            let text = format!("cause {}", number + 1);
            sources.remark(file, line, Remark { column: site.column, text, link: anchor(id) });
        }
        for (_, spot) in cause::reached(page, found) {
            let site = report.sites.spot(spot);
            if let (Some(file), Some(line)) = (&site.file, site.line) {
                let text = format!("{}: {}", words::spot_noun(spot, ""), words::extent(spot));
                sources.remark(file, line, Remark { column: None, text, link: way_anchor(id) });
            }
        }
    }
}

fn header(page: &Page, whole: &Report) -> Element {
    let run = &whole.run;
    let command = std::iter::once(&run.program).chain(&run.args).cloned().collect::<Vec<_>>().join(" ");
    let suppressed = whole.suppressed_count().map(|count| format!(", {count}")).unwrap_or_default();
    let headline = format!("{}{suppressed}", capitalised(&words::headline(&page.report)));
    let is_clean = page.report.findings.causes.is_empty() && !has_wrong(page);
    element("header")
        .put(classed("p", "tool").say("fpgrind"))
        .put(element("h1").say(headline))
        .put(classed("p", "command").put(element("code").say(command)))
        .put(classed("p", "effort").say(words::effort(&page.report)))
        .all(is_clean.then(|| classed("p", "looked").say(capitalised(&words::looked_at(&page.report)))))
}

fn has_wrong(page: &Page) -> bool {
    page.report.findings.spots.iter().any(|spot| spot.wrong > 0 && spot.matters())
}

fn tools() -> Element {
    let option = |(value, name): (&'static str, &'static str)| element("option").with("value", value).say(name);
    let orders = [
        ("damage", "damage to results"),
        ("bits", "most bits lost"),
        ("average", "most bits lost on average"),
        ("erroneous", "most often erroneous"),
        ("place", "place in the source"),
    ];
    let search = element("input").with("type", "search").with("id", "filter").with("autocomplete", "off");
    let least = element("input").with("type", "number").with("id", "least").with("min", 0).with("max", 64);
    let field = |id: &'static str, label: &'static str| element("label").with("for", id).say(label);
    let button = |id: &'static str, label| element("button").with("type", "button").with("id", id).say(label);
    classed("form", "tools")
        .with("role", "search")
        .with("aria-label", "causes")
        .put(field("filter", "Filter").put(search.with("placeholder", "function, file, expression, output")))
        .put(field("least", "At least (bits)").put(least.with("value", 0)))
        .put(field("sort", "Sort by").put(element("select").with("id", "sort").all(orders.map(option))))
        .put(button("open-all", "Open all"))
        .put(button("close-all", "Close all"))
        .put(element("output").with("id", "shown").with("for", "filter least").with("aria-live", "polite"))
}

/// Everything that comes out wrong, with what is to blame.
fn results(page: &Page, sources: &mut Sources) -> Option<Element> {
    /// More than this many numbers are not read.
    const MAX_RESULTS: usize = 500;
    let mut wrong: Vec<&Spot> = page.report.findings.spots.iter().filter(|spot| spot.wrong > 0).collect();
    wrong.sort_by_key(|spot| words::rank(spot));
    let head = ["result", "error", "wrong", "computed", "correct", "to blame"];
    let head = element("tr").all(head.into_iter().map(|name| element("th").with("scope", "col").say(name)));
    let rows = wrong.iter().take(MAX_RESULTS).map(|spot| {
        let site = page.report.sites.spot(spot);
        let line = site.file.as_ref().zip(site.line).and_then(|(file, line)| sources.line(file, line));
        let (computed, correct) = crate::numbers::short_pair(spot.computed, spot.correct);
        let error = match spot.kind {
            SpotKind::Output { .. } | SpotKind::Escape => words::extent(spot),
            _ => crate::numbers::bits(spot.max_bits),
        };
        let blame = match spot.causes.is_empty() {
            true if spot.matters() => {
                Html::text(&format!("no single operation: {}", words::accumulation(&page.report, spot)))
            }
            true => Html::text(&words::blame(&page.report, spot)),
            false => cause::listed(spot.causes.iter().map(|number| page.link_to(*number)).collect()),
        };
        let place = element("th").with("scope", "row").say(cause::place(page, spot));
        classed("tr", "result")
            .put(place.all(line.map(|line| element("code").say(line))))
            .put(element("td").say(error))
            .put(element("td").say(cause::share(spot.wrong, spot.count)))
            .put(classed("td", "number").say(computed))
            .put(classed("td", "number").say(correct))
            .put(element("td").put(blame))
    });
    let table = element("table").put(element("thead").put(head)).put(element("tbody").all(rows));
    let left = wrong.len().saturating_sub(MAX_RESULTS);
    let left = (left > 0).then(|| element("p").say(format!("and {left} more in report.json")));
    let table =
        classed("div", "scroll").with("tabindex", 0).with("role", "group").with("aria-label", "results").put(table);
    let section = classed("section", "results").put(element("h2").say("Results that come out wrong"));
    (!wrong.is_empty()).then(|| section.put(table).all(left))
}

/// The operations in which rounding errors add up to results that nothing else is to blame for: their shares, and their source.
fn accumulations(page: &Page, sources: &mut Sources) -> Option<Element> {
    const MAX_PARTS: usize = 10;
    const MAX_EXCERPTS: usize = 10;
    let spots =
        page.report.findings.spots.iter().filter(|spot| spot.wrong > 0 && spot.causes.is_empty() && spot.matters());
    let parts: Vec<Html> = spots.clone().filter_map(|spot| parts::parts(&page.report, spot)).take(MAX_PARTS).collect();
    let sites = spots.flat_map(|spot| &spot.accumulated_in).map(|location| page.report.sites.instruction(*location));
    let places = Place::together(sites.filter_map(|site| Some((site.file?, site.line?, site.column))));
    let excerpts: Vec<Html> = places
        .iter()
        .take(MAX_EXCERPTS)
        .filter_map(|place| {
            let path = classed("p", "path").say(format!("{}:{}", place.file.display(), place.marks.first()?.0));
            Some([path.into(), sources.excerpt(place, None, "")?].into_iter().collect())
        })
        .collect();
    let title = element("h2").say("Where rounding errors accumulate");
    let is_empty = parts.is_empty() && excerpts.is_empty();
    (!is_empty).then(|| classed("section", "results").put(title).all(parts).all(excerpts))
}

fn notes(page: &Page) -> Option<Element> {
    let notes = words::notes(&page.report);
    let list = element("ul").all(notes.iter().map(|note| element("li").say(note)));
    (!notes.is_empty()).then(|| classed("section", "notes").put(element("h2").say("Notes")).put(list))
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
