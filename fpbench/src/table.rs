//! The harness's output: a table, the misses with their reasons, totals.

use crate::bench::Skipped;
use crate::judge::Verdict;
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub struct Totals {
    pub judged: usize,
    pub truly_wrong: usize,
    pub reported_wrong: usize,
    pub rightly_reported: usize,
    pub within_half_a_bit: usize,
    /// Rightly reported outputs with causes, those whose causes show the error again, and those whose cause is the
    /// benchmark's expression or a part of it.
    pub with_causes: usize,
    pub reproduced: usize,
    pub expression_found: usize,
    pub with_wrong_decisions: usize,
    pub decisions_right: usize,
}

impl Totals {
    pub fn of(verdicts: &[Verdict]) -> Totals {
        let count = |is_so: &dyn Fn(&Verdict) -> bool| verdicts.iter().filter(|verdict| is_so(verdict)).count();
        Totals {
            judged: verdicts.len(),
            truly_wrong: count(&|v| v.truly_wrong),
            reported_wrong: count(&|v| v.reported_wrong),
            rightly_reported: count(&|v| v.truly_wrong && v.reported_wrong),
            within_half_a_bit: count(&|v| v.within_half_a_bit),
            with_causes: count(&|v| v.expression_found.is_some()),
            reproduced: count(&|v| v.reproduced == Some(true)),
            expression_found: count(&|v| v.expression_found == Some(true)),
            with_wrong_decisions: count(&|v| v.true_wrong_decisions > 0),
            decisions_right: count(&|v| v.decisions_right()),
        }
    }

    /// The line by which runs are compared.
    pub fn line(&self) -> String {
        format!(
            "precision {} recall {} max-within-half-a-bit {} expression {} over {}",
            percent(self.rightly_reported, self.reported_wrong),
            percent(self.rightly_reported, self.truly_wrong),
            percent(self.within_half_a_bit, self.judged),
            percent(self.expression_found, self.with_causes),
            self.judged
        )
    }
}

/// Never rounded up to 100.
fn percent(part: usize, whole: usize) -> String {
    if part == whole {
        return "100%".into();
    }
    format!("{:.1}%", (1000.0 * part as f64 / whole as f64).floor() / 10.0)
}

pub fn render(verdicts: &[Verdict], skipped: &[Skipped], variants: &[&str]) -> String {
    let mut text = format!(
        "{:<44} {:<9} {:>5} {:>8} {:>6} {:>10} {:>10} {:>9}  verdict\n",
        "benchmark", "variant", "true", "reported", "causes", "reproduced", "expression", "decisions"
    );
    for verdict in verdicts {
        let yes = |known: Option<bool>| known.map_or("-", |known| if known { "yes" } else { "NO" });
        let reported = verdict.reported_bits.map_or("none".into(), |bits| format!("{bits:.1}"));
        let decisions = match (verdict.true_wrong_decisions, verdict.reported_wrong_decisions) {
            (0, 0) => "-".into(),
            (known, reported) => format!("{known}/{reported}"),
        };
        let variant = if verdict.fortran { format!("{} f90", verdict.variant) } else { verdict.variant.into() };
        text += &format!(
            "{:<44} {variant:<9} {:>5.1} {reported:>8} {:>6} {:>10} {:>10} {decisions:>9}  {}\n",
            clipped(&verdict.name, 44),
            verdict.true_bits,
            verdict.causes,
            yes(verdict.reproduced),
            yes(verdict.expression_found),
            if verdict.misses.is_empty() { "ok" } else { "MISS" },
        );
    }
    let missed: Vec<&Verdict> = verdicts.iter().filter(|verdict| !verdict.misses.is_empty()).collect();
    if !missed.is_empty() {
        text += "\nWrong:\n";
    }
    for verdict in missed {
        for miss in &verdict.misses {
            text += &format!("  {} [{}] {}: {miss}\n", verdict.file, verdict.variant, verdict.name);
        }
    }
    if !skipped.is_empty() {
        text += "\nNot run:\n";
    }
    for Skipped { file, line, column, title, reason } in skipped {
        text += &format!("  {file}:{line}:{column} {title}: {reason}\n");
    }
    let totals = Totals::of(verdicts);
    let uncaused = verdicts.iter().filter(|v| v.truly_wrong && v.reported_wrong && v.causes == 0).count();
    text += &format!(
        "\nvariants {}; wrong outputs: {} true, {} reported, {uncaused} of them without a single cause; causes that show their error again: {}; wrong decisions found: {} of {} judged rightly, {} have some\n",
        variants.join(" "),
        totals.truly_wrong,
        totals.reported_wrong,
        percent(totals.reproduced, totals.with_causes),
        totals.decisions_right,
        totals.judged,
        totals.with_wrong_decisions,
    );
    text + &totals.line() + "\n"
}

fn clipped(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
        Some(_) => text.chars().take(width - 1).chain(['~']).collect(),
        None => text.into(),
    }
}
