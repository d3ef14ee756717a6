//! What has changed between two runs: which causes and which results without one are new, gone, better or worse.
//!
//! They are matched by id ([`crate::ids`]). What is left over on both sides is matched by function, file and what is
//! said of it, so that an edit above a line does not make its cause new. Suppressed causes are left out.

use crate::numbers::{bits, count, counted};
use crate::{Report, Site, ids, names, words};
use fpgrind_analysis::{CauseKind, SpotKind};
use serde::Serialize;
use std::fmt::Write;
use std::io;

/// Raised when a field of the JSON changes its meaning or goes.
const VERSION: u32 = 1;

/// From the most to the least alarming.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    New,
    Worse,
    Better,
    Gone,
    Same,
}

#[derive(Serialize)]
pub struct Diff {
    version: u32,
    /// Bits by which an error must differ to be called better or worse.
    tolerance_bits: f64,
    /// Worst verdicts first.
    changes: Vec<Change>,
}

/// A cause, or a wrong result without one, in one of the two runs or both.
#[derive(Serialize)]
struct Change {
    verdict: Verdict,
    /// In the new run, unless it is gone.
    id: String,
    /// The expression of a cause; `printf %.3f` and the like for a result.
    what: String,
    site: String,
    old: Option<Damage>,
    new: Option<Damage>,
}

#[derive(Clone, Serialize)]
struct Damage {
    /// What is lost there.
    max_bits: f64,
    /// What is lost in the worst output that it reaches.
    output_bits: f64,
    /// In words.
    loses: String,
    reaches: Option<String>,
}

struct Item {
    id: String,
    /// What a change of lines does not change.
    likeness: (Option<String>, Option<String>, String),
    what: String,
    site: String,
    damage: Damage,
}

/// Compares two reports; errors that differ by no more than the tolerance are the same.
pub fn diff(old: &Report, new: &Report, tolerance: f64) -> Diff {
    let (mut old_items, mut new_items) = (items(old), items(new));
    let mut pairs = take_pairs(&mut old_items, &mut new_items, |old, new| old.id == new.id);
    pairs.extend(take_pairs(&mut old_items, &mut new_items, |old, new| old.likeness == new.likeness));
    let mut changes: Vec<Change> = pairs.into_iter().map(|(old, new)| compared(old, new, tolerance)).collect();
    for Item { id, what, site, damage, .. } in new_items {
        changes.push(Change { verdict: Verdict::New, id, what, site, old: None, new: Some(damage) });
    }
    for Item { id, what, site, damage, .. } in old_items {
        changes.push(Change { verdict: Verdict::Gone, id, what, site, old: Some(damage), new: None });
    }
    changes.sort_by_key(|change| change.verdict);
    Diff { version: VERSION, tolerance_bits: tolerance, changes }
}

fn compared(old: Item, new: Item, tolerance: f64) -> Change {
    let grown = |from: f64, to: f64| to > from + tolerance;
    let (before, after) = (old.damage, new.damage);
    let verdict = if grown(before.max_bits, after.max_bits) || grown(before.output_bits, after.output_bits) {
        Verdict::Worse
    } else if grown(after.max_bits, before.max_bits) || grown(after.output_bits, before.output_bits) {
        Verdict::Better
    } else {
        Verdict::Same
    };
    Change { verdict, id: new.id, what: new.what, site: new.site, old: Some(before), new: Some(after) }
}

fn take_pairs(old: &mut Vec<Item>, new: &mut Vec<Item>, alike: fn(&Item, &Item) -> bool) -> Vec<(Item, Item)> {
    let (mut pairs, mut left) = (Vec::new(), Vec::new());
    for item in old.drain(..) {
        match new.iter().position(|other| alike(&item, other)) {
            Some(at) => pairs.push((item, new.remove(at))),
            None => left.push(item),
        }
    }
    *old = left;
    pairs
}

fn items(report: &Report) -> Vec<Item> {
    let spots = &report.findings.spots;
    let causes = report.findings.causes.iter().zip(ids::causes(report)).enumerate();
    let causes = causes.filter(|(i, _)| !report.is_suppressed(*i)).map(|(_, (cause, id))| {
        let site = report.sites.instruction(cause.location);
        let what = names::infix(cause);
        let outputs = cause.reaches.iter().filter_map(|spot| spots.get(*spot));
        let outputs = outputs.filter(|spot| matches!(spot.kind, SpotKind::Output { .. }));
        let damage = Damage {
            max_bits: cause.max_bits,
            output_bits: outputs.map(|spot| spot.max_bits).fold(0.0, f64::max),
            loses: match cause.kind {
                CauseKind::Invalid | CauseKind::Domain => "gives NaN".into(),
                CauseKind::Flushed => "flushes subnormal numbers to zero".into(),
                _ => format!("loses up to {}", bits(cause.max_bits)),
            },
            reaches: words::reached(report, cause),
        };
        Item { id, likeness: likeness(&site, &what), what, site: site.full(), damage }
    });
    let results = spots.iter().zip(ids::spots(report)).filter(|(spot, _)| spot.wrong > 0 && spot.causes.is_empty());
    // A decision of little consequence is no news.
    let results = results.filter(|(spot, _)| spot.matters()).map(|(spot, id)| {
        let site = report.sites.spot(spot);
        let what = words::spot_noun(spot, "a ");
        let is_output = matches!(spot.kind, SpotKind::Output { .. });
        let damage = Damage {
            max_bits: spot.max_bits,
            output_bits: if is_output { spot.max_bits } else { 0.0 },
            loses: format!("is wrong without a single cause ({})", words::extent(spot)),
            reaches: None,
        };
        Item { id, likeness: likeness(&site, &what), what, site: site.full(), damage }
    });
    causes.chain(results).collect()
}

fn likeness(site: &Site, what: &str) -> (Option<String>, Option<String>, String) {
    let file = site.file.as_ref().or(site.module.as_ref());
    let file = file.and_then(|file| file.file_name()).map(|name| name.to_string_lossy().into_owned());
    (site.function.clone(), file, what.to_string())
}

impl Diff {
    /// Nothing is new or worse.
    pub fn is_good(&self) -> bool {
        self.changes.iter().all(|change| change.verdict > Verdict::Worse)
    }

    pub fn json(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    pub fn text(&self) -> String {
        let of = |verdict| self.changes.iter().filter(|change| change.verdict == verdict).count() as u64;
        let counts =
            [(Verdict::New, "new"), (Verdict::Worse, "worse"), (Verdict::Better, "better"), (Verdict::Gone, "gone")];
        let counts = counts.map(|(verdict, name)| format!("{} {name}", count(of(verdict))));
        let same = counted(of(Verdict::Same), "as before", "as before");
        let mut text = format!("fpgrind: {}, {same}\n", counts.join(", "));
        for change in self.changes.iter().filter(|change| change.verdict != Verdict::Same) {
            let name = match change.verdict {
                Verdict::New => "new",
                Verdict::Worse => "worse",
                Verdict::Better => "better",
                Verdict::Gone => "gone",
                Verdict::Same => "same",
            };
            let _ = write!(text, "\n  {name:<8}{}   {}\n", change.what, change.site);
            for line in change.details() {
                let _ = writeln!(text, "          {line}");
            }
        }
        text
    }
}

impl Change {
    fn details(&self) -> Vec<String> {
        let Some(now) = self.new.as_ref().or(self.old.as_ref()) else { return Vec::new() };
        let mut lines = vec![match (&self.old, &self.new) {
            (Some(old), Some(new)) if old.loses != new.loses => format!("{}; before: {}", new.loses, old.loses),
            (Some(old), None) => format!("before: {}", old.loses),
            _ => now.loses.clone(),
        }];
        if let Some(reaches) = &now.reaches {
            let verb = if self.new.is_some() { "reaches" } else { "reached" };
            lines.push(match (&self.old, &self.new) {
                (Some(old), Some(new)) if old.reaches != new.reaches => {
                    format!("reaches {reaches}; before: {}", old.reaches.as_deref().unwrap_or("nothing"))
                }
                _ => format!("{verb} {reaches}"),
            });
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::*;

    fn verdicts(old: &Report, new: &Report) -> Vec<Verdict> {
        diff(old, new, 1.0).changes.iter().map(|change| change.verdict).collect()
    }

    #[test]
    fn a_report_is_the_same_as_itself() {
        let diff = diff(&plotter(), &plotter(), 0.0);
        assert!(diff.is_good());
        assert_eq!(diff.text(), "fpgrind: 0 new, 0 worse, 0 better, 0 gone, 1 as before\n");
    }

    #[test]
    fn bits_make_better_and_worse_and_a_bit_is_tolerated() {
        let (old, mut new) = (plotter(), plotter());
        new.findings.causes[0].max_bits = 52.5;
        assert_eq!(verdicts(&old, &new), [Verdict::Same]);
        new.findings.causes[0].max_bits = 20.0;
        assert_eq!(verdicts(&old, &new), [Verdict::Better]);
        assert_eq!(verdicts(&new, &old), [Verdict::Worse]);
        assert!(diff(&old, &new, 1.0).is_good() && !diff(&new, &old, 1.0).is_good());
        // Less is lost there, but more of it arrives.
        new.findings.spots[0].max_bits = 64.0;
        assert_eq!(verdicts(&old, &new), [Verdict::Worse]);
        let text = diff(&old, &new, 1.0).text();
        assert!(text.contains("  worse   sqrt(x*x + y*y) - x   csqrt (plot.c:24)\n"), "{text}");
        assert!(text.contains("loses up to 20.0 bits; before: loses up to 53.0 bits\n"), "{text}");
        assert!(
            text.contains("reaches printf %f at plot.c:61 (64.0 bits: prints 1, correct 2) and a branch"),
            "{text}"
        );
    }

    #[test]
    fn what_was_not_there_is_new_and_what_is_not_there_is_gone() {
        let (some, mut none) = (plotter(), plotter());
        none.findings.causes.clear();
        none.findings.spots.clear();
        assert_eq!(verdicts(&none, &some), [Verdict::New]);
        assert_eq!(verdicts(&some, &none), [Verdict::Gone]);
        assert!(!diff(&none, &some, 1.0).is_good() && diff(&some, &none, 1.0).is_good());
    }

    #[test]
    fn a_cause_whose_line_moved_is_the_same_cause_and_another_expression_is_not() {
        let (old, mut new) = (plotter(), plotter());
        new.sites.instructions.get_mut(&at(CSQRT)).unwrap().line = Some(99);
        assert_eq!(verdicts(&old, &new), [Verdict::Same]);
        new.findings.causes[0].expr = fpgrind_analysis::Expr::Var(0);
        assert_eq!(verdicts(&old, &new), [Verdict::New, Verdict::Gone]);
    }

    #[test]
    fn a_decision_of_little_consequence_is_no_news() {
        let mut decision = branch(0x1000 + 12, 40, 3);
        assert_eq!(verdicts(&without_causes(vec![]), &without_causes(vec![decision.clone()])), [Verdict::New]);
        decision.effect = Some(fpgrind_analysis::Effect::NearlyEqual);
        assert!(verdicts(&without_causes(vec![]), &without_causes(vec![decision])).is_empty());
    }

    #[test]
    fn results_without_a_cause_are_compared_too() {
        let sum = |bits| without_causes(vec![printed(0x1000 + 12, 1, 1, bits)]);
        assert_eq!(verdicts(&sum(10.0), &sum(20.0)), [Verdict::Worse]);
        assert_eq!(verdicts(&without_causes(vec![]), &sum(20.0)), [Verdict::New]);
        let json: serde_json::Value = serde_json::from_str(&diff(&sum(10.0), &sum(20.0), 1.0).json().unwrap()).unwrap();
        assert_eq!(json["changes"][0]["verdict"], "worse");
        assert_eq!(
            (&json["changes"][0]["old"]["max_bits"], &json["changes"][0]["what"]),
            (&10.0.into(), &"printf %f".into())
        );
    }
}
