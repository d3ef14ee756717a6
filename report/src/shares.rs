//! What an error is made of, in words.

use crate::Report;
use crate::numbers::{count, counted};
use crate::words::listed;
use fpgrind_analysis::{Accumulation, Contribution};
use fpgrind_ir::Operator;

/// Shares that are told, and those that are not worth it.
const MAX_TOLD: usize = 3;
const LITTLE: f64 = 0.005;
/// The part of an error that may go unexplained without being spoken of.
const TOLERABLE: f64 = 0.01;

/// `of the error 97.1 % comes from the addition at sum.c:7 (executed 1,000,000 times) and 2.9 % from ...`
pub fn shares(report: &Report, accumulated: &Accumulation) -> Option<String> {
    let shares = told(report, accumulated, MAX_TOLD)?;
    let texts: Vec<String> = shares.into_iter().map(|(share, from)| format!("{} {from}", percent(share))).collect();
    Some(format!("of the error {}", listed(&texts).replacen(" % ", " % comes ", 1)))
}

/// Shares and where they come from: the largest, so many at most, and the rest.
pub fn told(report: &Report, accumulated: &Accumulation, most: usize) -> Option<Vec<(f64, String)>> {
    let mut shares: Vec<(f64, String)> = Vec::new();
    for group in grouped(report, accumulated) {
        group.tell(&mut shares);
    }
    shares.sort_by(|(a, _), (b, _)| b.abs().total_cmp(&a.abs()));
    shares.retain(|(share, _)| share.abs() >= LITTLE);
    shares.truncate(most);
    if shares.is_empty() {
        return None;
    }
    let told: f64 = shares.iter().map(|(share, _)| share).sum();
    let explained = accumulated.explained();
    if (explained - told).abs() >= LITTLE {
        shares.push((explained - told, "from other operations".into()));
    }
    if (1.0 - explained).abs() > TOLERABLE {
        shares.push((1.0 - explained, "from what is not known".into()));
    }
    Some(shares)
}

/// The instructions for one operation of the source: loops are unrolled.
struct Group {
    what: String,
    executions: u64,
    roundings: u64,
    share: f64,
    inherited: f64,
    carried: bool,
    /// Others that round in the same loop.
    beside: Vec<String>,
}

fn grouped(report: &Report, accumulated: &Accumulation) -> Vec<Group> {
    let what = |part: &Contribution| {
        format!("the {} at {}", noun(part.operator), report.sites.instruction(part.location).short())
    };
    let mut groups: Vec<Group> = Vec::new();
    for part in &accumulated.contributions {
        let what_it_is = what(part);
        let number = groups.iter().position(|group| group.what == what_it_is).unwrap_or_else(|| {
            let (executions, roundings, share, inherited) = (0, 0, 0.0, 0.0);
            let (carried, beside) = (true, Vec::new());
            groups.push(Group { what: what_it_is, executions, roundings, share, inherited, carried, beside });
            groups.len() - 1
        });
        let group = &mut groups[number];
        group.executions += part.executions;
        group.roundings += part.roundings;
        group.share += part.share;
        group.inherited += part.inherited;
        group.carried &= part.carried || part.inherited == 0.0;
        for other in part.beside.iter().filter_map(|other| accumulated.contributions.get(*other)).map(what) {
            if other != group.what && !group.beside.contains(&other) {
                group.beside.push(other);
            }
        }
    }
    groups
}

impl Group {
    /// A sentence's part for each share of it that comes from elsewhere.
    fn tell(&self, shares: &mut Vec<(f64, String)>) {
        let what = &self.what;
        let executed = format!("executed {}", counted(self.executions, "time", "times"));
        let seen = count(self.roundings);
        if self.inherited == 0.0 {
            shares.push((self.share, format!("from {what} ({executed})")));
        } else if self.carried && self.beside.is_empty() {
            let before = format!("{} before the last {seen}", percent(self.inherited));
            shares.push((self.share + self.inherited, format!("from {what} ({executed}; {before})")));
        } else {
            shares.push((self.share, format!("from {what} ({executed})")));
            let before = match self.carried {
                true => {
                    let others = listed(&self.beside);
                    format!("from earlier turns of the loop through {what} ({executed}), with {others}")
                }
                false => format!("with results of {what} whose histories are cut off"),
            };
            shares.push((self.inherited, before));
        }
    }
}

/// What an operation is called.
pub fn noun(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "addition",
        Operator::Sub => "subtraction",
        Operator::Mul => "multiplication",
        Operator::Div => "division",
        Operator::Sqrt => "square root",
        Operator::Cast => "conversion",
        Operator::Fma => "fused multiplication and addition",
        other => other.name(),
    }
}

/// `97.1 %`
pub fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
#[path = "shares_tests.rs"]
mod tests;
