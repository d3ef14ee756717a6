//! Copies of one expression become one cause.
//!
//! A compiler that unrolls, inlines or vectorises makes several operations of one line of source. The analysis tells
//! them apart, as it should; to the user they are one place to mend.

use crate::symbolise::{Frame, Sites};
use fpgrind_analysis::{Cause, Findings, Ranges, Variable};
use std::path::PathBuf;

/// Merges causes of the same expression on the same source line. Places without a line stay apart.
pub fn merge_copies(findings: &mut Findings, sites: &mut Sites) {
    let mut merged: Vec<Cause> = Vec::new();
    let mut lines: Vec<Option<(PathBuf, u32)>> = Vec::new();
    let mut new_index = Vec::new();
    for cause in std::mem::take(&mut findings.causes) {
        let site = sites.instruction(cause.location);
        let line = site.file.clone().zip(site.line);
        let twin = merged.iter().zip(&lines).position(|(other, other_line)| {
            line.is_some()
                && *other_line == line
                && (other.operator, other.ty, other.kind) == (cause.operator, cause.ty, cause.kind)
                && other.expr == cause.expr
        });
        match twin {
            Some(twin) => {
                let inlined_into = common(&sites.instruction(merged[twin].location).inlined_into, &site.inlined_into);
                absorb(&mut merged[twin], cause);
                if let Some(site) = sites.instructions.get_mut(&merged[twin].location) {
                    site.inlined_into = inlined_into;
                }
            }
            None => {
                merged.push(cause);
                lines.push(line);
            }
        }
        new_index.push(twin.unwrap_or(merged.len() - 1));
    }
    findings.causes = merged;
    for spot in &mut findings.spots {
        let mut causes: Vec<usize> = Vec::new();
        for new in spot.causes.iter().filter_map(|old| new_index.get(*old)) {
            if !causes.contains(new) {
                causes.push(*new);
            }
        }
        spot.causes = causes;
    }
    let spots = &findings.spots;
    for cause in &mut findings.causes {
        let severity = |spot: &usize| spots.get(*spot).map_or((false, 0.0), |spot| (spot.matters(), spot.max_bits));
        cause.reaches.sort_by(|a, b| {
            let ((a_matters, a_bits), (b_matters, b_bits)) = (severity(a), severity(b));
            b_matters.cmp(&a_matters).then(b_bits.total_cmp(&a_bits)).then(a.cmp(b))
        });
        cause.reaches.dedup();
    }
}

/// What is true of both copies of an operation that was inlined: into the same up to where they part.
fn common(a: &[Frame], b: &[Frame]) -> Vec<Frame> {
    a.iter().zip(b).take_while(|(a, b)| a == b).map(|(frame, _)| frame.clone()).collect()
}

fn absorb(into: &mut Cause, other: Cause) {
    let (weight, other_weight) = (into.erroneous as f64, other.erroneous as f64);
    into.average_bits =
        (into.average_bits * weight + other.average_bits * other_weight) / (weight + other_weight).max(1.0);
    // Of the copies one speaks for all, the same in every run.
    into.location = into.location.min(other.location);
    into.executions += other.executions;
    into.erroneous += other.erroneous;
    into.reproduced_bits = into.reproduced_bits.max(other.reproduced_bits);
    into.reaches.extend(other.reaches);
    into.samples.extend(other.samples);
    let is_worse = other.max_bits > into.max_bits;
    if is_worse {
        (into.max_bits, into.computed, into.correct) = (other.max_bits, other.computed, other.correct);
        into.steps = other.steps;
    }
    for (variable, other) in into.variables.iter_mut().zip(other.variables) {
        absorb_variable(variable, other, is_worse);
    }
}

fn absorb_variable(into: &mut Variable, other: Variable, is_worse: bool) {
    into.seen = union(into.seen, other.seen);
    into.erroneous = union(into.erroneous, other.erroneous);
    if is_worse {
        into.worst = other.worst;
    }
}

fn union(a: Ranges, b: Ranges) -> Ranges {
    let side = |a: Option<(f64, f64)>, b: Option<(f64, f64)>| match (a, b) {
        (Some((low, high)), Some((other_low, other_high))) => Some((low.min(other_low), high.max(other_high))),
        (a, b) => a.or(b),
    };
    Ranges {
        negative: side(a.negative, b.negative),
        zero: a.zero || b.zero,
        positive: side(a.positive, b.positive),
        nan: a.nan || b.nan,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    fn two_copies(second_line: u32) -> (Findings, Sites) {
        let mut findings = fixtures::plotter().findings;
        let mut copy = findings.causes[0].clone();
        copy.location = fixtures::at(copy.location.pc + 0x40);
        copy.max_bits += 1.0;
        copy.computed = 42.0.into();
        copy.executions = 10;
        copy.erroneous = 5;
        copy.variables[0].erroneous.include(7.0);
        findings.causes.push(copy);
        findings.spots[0].causes = vec![0, 1];
        let mut sites = Sites::default();
        for (cause, line) in findings.causes.iter().zip([24, second_line]) {
            sites.instructions.insert(cause.location, fixtures::site(cause.location, "csqrt", "/src/plot.c", line));
        }
        (findings, sites)
    }

    #[test]
    fn copies_on_one_line_are_one_cause_with_the_sum_of_their_executions() {
        let (mut findings, mut sites) = two_copies(24);
        let before = findings.causes.clone();
        merge_copies(&mut findings, &mut sites);
        assert_eq!(findings.causes.len(), 1);
        let cause = &findings.causes[0];
        assert_eq!(cause.executions, before[0].executions + 10);
        assert_eq!(cause.erroneous, before[0].erroneous + 5);
        assert_eq!((cause.max_bits, cause.computed), (before[1].max_bits, 42.0.into()));
        assert_eq!(cause.variables[0].erroneous.positive.unwrap().1, 7.0);
        assert_eq!(findings.spots[0].causes, [0]);
    }

    #[test]
    fn what_copies_are_inlined_into_is_told_as_far_as_it_is_the_same() {
        let (mut findings, mut sites) = two_copies(24);
        let [first, second] = [0, 1].map(|cause| findings.causes[cause].location);
        let frames = fixtures::frames();
        sites.instructions.get_mut(&first).unwrap().inlined_into = frames.clone();
        sites.instructions.get_mut(&second).unwrap().inlined_into = vec![frames[0].clone(), frames[0].clone()];
        merge_copies(&mut findings, &mut sites);
        assert_eq!(sites.instruction(findings.causes[0].location).inlined_into, frames[..1]);
    }

    #[test]
    fn expressions_on_different_lines_stay_apart() {
        let (mut findings, mut sites) = two_copies(25);
        merge_copies(&mut findings, &mut sites);
        assert_eq!(findings.causes.len(), 2);
        assert_eq!(findings.spots[0].causes, [0, 1]);
    }
}
