//! One cause on the page: what it costs, where it is, how its error depends on its inputs, grows and arrives, and what to hand to Herbie.

use super::markup::{Element, Html, classed, element};
use super::source::{Place, Sources};
use super::{Page, math, plot, tree};
use crate::loops;
use crate::names::{infix, names};
use crate::numbers::{bits, count, counted, exact, short_pair};
use crate::{Report, fpcore, ranges, words};
use fpgrind_analysis::{Cause, CauseKind, Ranges, Spot};

/// A longer expression is no headline.
const MAX_TITLE: usize = 90;
/// Places in the source that an expression is shown in.
const MAX_EXCERPTS: usize = 4;
/// Results listed that a cause reaches.
const MAX_REACHED: usize = 12;

pub fn anchor(id: &str) -> String {
    format!("cause-{id}")
}

/// Where on the page is told what a cause reaches.
pub fn way_anchor(id: &str) -> String {
    format!("way-{id}")
}

pub fn card(page: &Page, sources: &mut Sources, number: usize, is_open: bool) -> Html {
    let Page { report, ids, .. } = page;
    let (cause, id) = (&report.findings.causes[number], &ids[number]);
    let site = report.sites.instruction(cause.location);
    let (expression, shown) = (infix(cause), loops::shown(report, cause));
    let title = match expression.chars().count() <= MAX_TITLE {
        true => math::math(&cause.expr, &names(cause), false),
        false => {
            let cut: String = shown.expression.chars().take(MAX_TITLE).collect();
            let more = if cut == shown.expression { "" } else { " …" };
            element("code").say(format!("{cut}{more}")).into()
        }
    };
    let letters = (!shown.letters.is_empty())
        .then(|| element("p").say(format!("In the title {}.", words::listed(&shown.letters))));
    let head = element("summary")
        .put(classed("span", "rank").say((number + 1).to_string()))
        .put(element("h2").put(title))
        .put(classed("span", "place").say(site.full()))
        .put(element("span").with("class", format!("badge n{}", tree::level(cause.max_bits))).say(badge(cause)));
    let is_cut = expression.chars().count() > MAX_TITLE;
    let whole = is_cut.then(|| {
        let scroll = classed("div", "scroll").with("tabindex", 0).with("role", "group");
        scroll.with("aria-label", "the whole expression").put(math::math(&cause.expr, &names(cause), true))
    });
    let source = source(page, sources, cause, &anchor(id));
    let plots: Vec<Html> =
        (0..cause.variables.len()).filter_map(|variable| plot::plot(cause, variable, report.run.threshold)).collect();
    let tree = tree::tree(cause, &names(cause), report.run.threshold);
    let body = classed("div", "body")
        .all(letters.filter(|_| is_cut))
        .all(whole)
        .all(site.inlining().map(|inlining| classed("p", "inlining").say(capitalised(&inlining))))
        .put(classed("p", "damage").say(capitalised(&words::damage(report, cause))))
        .put(facts(report, cause))
        .all(source)
        .put(way(page, sources, number))
        .all((!plots.is_empty()).then(|| {
            section("Error over the inputs")
                .put(classed("div", "plots").all(plots))
                .put(plot::legend(report.run.threshold))
        }))
        .all(tree.map(|tree| section("How the error grows, at the worst inputs").put(tree)))
        .put(core(page, cause));
    let details = element("details").set("open", is_open).put(head).put(body);
    classed("li", "cause")
        .with("id", anchor(id))
        .with("data-rank", number)
        .with("data-bits", cause.max_bits)
        .with("data-average", cause.average_bits)
        .with("data-erroneous", cause.erroneous)
        .with("data-place", format!("{} {:08}", site.file.unwrap_or_default().display(), site.line.unwrap_or(0)))
        .with("data-text", searchable(page, cause, &expression, id))
        .put(details)
        .into()
}

/// The operation in its source, with those of its expression that lie near; then the places of others.
fn source(page: &Page, sources: &mut Sources, cause: &Cause, own_link: &str) -> Option<Element> {
    let its = page.report.sites.instruction(cause.location);
    let steps = cause.steps.iter().rev().filter_map(|step| step.location);
    let sites = steps.map(|location| page.report.sites.instruction(location));
    let lines = [its.clone()].into_iter().chain(sites).filter_map(|site| Some((site.file?, site.line?, site.column)));
    let places = Place::together(lines);
    let excerpts: Vec<Html> = places
        .iter()
        .take(MAX_EXCERPTS)
        .filter_map(|place| {
            let line = place.marks.first()?.0;
            let is_its = its.file.as_ref() == Some(&place.file) && its.line == Some(line);
            let excerpt = sources.excerpt(place, is_its.then_some(line), own_link)?;
            let path = classed("p", "path").say(format!("{}:{line}", place.file.display()));
            Some([path.into(), excerpt].into_iter().collect())
        })
        .collect();
    (!excerpts.is_empty()).then(|| section("Source").all(excerpts))
}

fn badge(cause: &Cause) -> String {
    match cause.kind {
        CauseKind::Inaccurate => bits(cause.max_bits),
        CauseKind::Invalid | CauseKind::Domain => "NaN".into(),
        CauseKind::DivisionByZero => "by zero".into(),
        kind => kind.name().into(),
    }
}

/// What the filter looks at.
fn searchable(page: &Page, cause: &Cause, expression: &str, id: &str) -> String {
    let site = page.report.sites.instruction(cause.location);
    let file = site.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    let module = site.module.as_ref().map(|module| module.display().to_string()).unwrap_or_default();
    let reached: Vec<String> = reached(page, cause).take(MAX_REACHED).map(|(_, spot)| place(page, spot)).collect();
    [expression, &site.full(), &file, &module, id, &reached.join(" ")].join(" ").to_lowercase()
}

/// The variables with their values, and the result at the worst of them.
fn facts(report: &Report, cause: &Cause) -> Html {
    let head = ["input", "hurts", "seen", "worst"];
    let head = element("tr").all(head.into_iter().map(|name| element("th").with("scope", "col").say(name)));
    let rows = cause.variables.iter().map(|variable| {
        let name = match (&variable.stands_for, loops::carried(report, variable)) {
            (Some(call), _) => format!("{} = {call}", variable.name),
            (None, Some(carried)) => carried,
            (None, None) => variable.name.clone(),
        };
        classed("tr", "variable")
            .put(element("th").with("scope", "row").say(name))
            .put(element("td").say(values(&variable.erroneous)))
            .put(element("td").say(values(&variable.seen)))
            .put(classed("td", "number").say(exact(variable.worst)))
    });
    let table = element("table").put(element("thead").put(head)).put(element("tbody").all(rows));
    let (computed, correct) = short_pair(cause.computed, cause.correct);
    let numbers = classed("dl", "numbers")
        .put(element("dt").say("at the worst inputs computed"))
        .put(classed("dd", "computed").say(computed))
        .put(element("dt").say("correct"))
        .put(classed("dd", "correct").say(correct));
    let table = classed("div", "scroll").put(table);
    if cause.variables.is_empty() { numbers.into() } else { [table.into(), numbers.into()].into_iter().collect() }
}

fn values(ranges: &Ranges) -> String {
    let described = ranges::describe("", ranges).unwrap_or_else(|| "nothing".into());
    described.trim_start_matches(" in ").trim_start_matches(" = ").to_string()
}

/// From the operation to the results that it spoils.
fn way(page: &Page, sources: &mut Sources, number: usize) -> Html {
    let (cause, id) = (&page.report.findings.causes[number], way_anchor(&page.ids[number]));
    let all: Vec<(usize, &Spot)> = reached(page, cause).collect();
    let mut items: Vec<Element> = Vec::new();
    for (_, spot) in all.iter().take(MAX_REACHED) {
        let site = page.report.sites.spot(spot);
        let line = site.file.as_ref().zip(site.line).and_then(|(file, line)| sources.line(file, line));
        let shown = words::shown(spot).strip_prefix(": ").map(|shown| element("span").say(shown));
        let others = spot.causes.iter().filter(|other| **other != number);
        let others: Vec<Html> = others.take(5).map(|other| page.link_to(*other)).collect();
        let item = classed("li", "reached")
            .put(element("strong").say(place(page, spot)))
            .put(
                element("span")
                    .with("class", format!("badge n{}", tree::level(spot.max_bits)))
                    .say(words::extent(spot)),
            )
            .all(shown)
            .all((!others.is_empty()).then(|| classed("span", "others").say("also from ").put(listed(others))))
            .all(line.map(|line| element("code").say(line)));
        items.push(item);
    }
    if all.len() > MAX_REACHED {
        let more = (all.len() - MAX_REACHED) as u64;
        items.push(element("li").say(format!("and {}", counted(more, "other place", "other places"))));
    }
    if all.is_empty() {
        items.push(classed("li", "reached").say("no result that was seen"));
    }
    let origin = page.report.sites.instruction(cause.location).full();
    let origin =
        classed("li", "origin").put(element("strong").say(origin)).put(element("code").say(match infix(cause) {
            long if long.chars().count() > MAX_TITLE => long.chars().take(MAX_TITLE).chain(" …".chars()).collect(),
            short => short,
        }));
    section("From the cause to results").with("id", id).put(classed("ol", "way").put(origin).all(items)).into()
}

/// Several numbers of one call are one place; the worst of them comes first.
pub fn reached<'a>(page: &'a Page, cause: &'a Cause) -> impl Iterator<Item = (usize, &'a Spot)> {
    let mut places: Vec<String> = Vec::new();
    let spots = &page.report.findings.spots;
    cause.reaches.iter().filter_map(|number| Some((*number, spots.get(*number)?))).filter(move |(_, spot)| {
        let place = place(page, spot);
        let is_new = !places.contains(&place);
        places.push(place);
        is_new
    })
}

pub fn place(page: &Page, spot: &Spot) -> String {
    format!("{} at {}", words::spot_noun(spot, "a "), page.report.sites.spot(spot).short())
}

fn core(page: &Page, cause: &Cause) -> Html {
    let copy = classed("button", "copy").with("type", "button").say("Copy");
    let head = classed("div", "row").put(element("h3").say("FPCore, for Herbie")).put(copy);
    let core = classed("pre", "core scroll").with("tabindex", 0).with("aria-label", "FPCore");
    element("section").put(head).put(core.put(element("code").say(fpcore::entry(&page.report, cause)))).into()
}

pub fn section(title: &'static str) -> Element {
    element("section").put(element("h3").say(title))
}

pub fn listed(items: Vec<Html>) -> Html {
    let mut list: Vec<Html> = Vec::new();
    for item in items {
        if !list.is_empty() {
            list.push(Html::text(", "));
        }
        list.push(item);
    }
    list.into_iter().collect()
}

pub fn capitalised(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// `12 of 40`
pub fn share(wrong: u64, of: u64) -> String {
    format!("{} of {}", count(wrong), count(of))
}
