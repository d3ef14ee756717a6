//! Causes that the user knows of and does not want to hear of again.
//!
//! A file has an entry a line: one or more `FIELD:PATTERN`, all of which must fit. The fields are `function`, `file`, `module`,
//! `line` and `id`. Quotes hold a pattern's blanks together. A line is a number or two (`10-20`). What follows `#` is a comment.
//!
//! Suppressed causes stay in report.json and report.sarif, marked. The texts leave them out and count them, together with
//! the results that are wrong for no other reason.

use crate::numbers::counted;
use crate::patterns::{function_fits, glob, path_fits};
use crate::{Report, Site, ids, names};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

pub struct Suppressions {
    /// As the user named it.
    file: String,
    entries: Vec<Entry>,
}

struct Entry {
    line: usize,
    tests: Vec<Test>,
}

enum Test {
    Function(String),
    File(String),
    Module(String),
    /// The first and the last.
    Line(u32, u32),
    Id(String),
}

impl Suppressions {
    /// Reads a file; what is wrong is said in a sentence.
    pub fn load(path: &Path) -> Result<Suppressions, String> {
        let file = path.display().to_string();
        let text = std::fs::read(path).map_err(|error| {
            format!("cannot read the suppressions in {file}: {error}; give --suppressions another file")
        })?;
        Suppressions::parse(&file, &String::from_utf8_lossy(&text))
    }

    fn parse(file: &str, text: &str) -> Result<Suppressions, String> {
        let mut entries = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let tests = tests(line).map_err(|problem| format!("{file}:{}: {problem}", number + 1))?;
            if !tests.is_empty() {
                entries.push(Entry { line: number + 1, tests });
            }
        }
        Ok(Suppressions { file: file.into(), entries })
    }

    /// Marks the causes that fit an entry, in place of those that were marked before, and remembers the entries that fit none.
    pub fn apply(&self, report: &mut Report) {
        let mut used = vec![false; self.entries.len()];
        let marks = report.findings.causes.iter().zip(ids::causes(report)).map(|(cause, id)| {
            let site = report.sites.instruction(cause.location);
            let mut by = None;
            for (entry, used) in self.entries.iter().zip(&mut used) {
                if entry.tests.iter().all(|test| test.fits(&site, &id)) {
                    *used = true;
                    by = by.or(Some(format!("{}:{}", self.file, entry.line)));
                }
            }
            by
        });
        report.suppressed = marks.collect();
        let unused = self.entries.iter().zip(used).filter(|(_, used)| !used);
        report.unused_suppressions = unused.map(|(entry, _)| format!("{}:{}", self.file, entry.line)).collect();
    }
}

fn tests(line: &str) -> Result<Vec<Test>, String> {
    let mut tests = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && !rest.starts_with('#') {
        let end = rest.find([':', ' ', '\t', '#']).unwrap_or(rest.len());
        let (field, behind) = rest.split_at(end);
        let Some(behind) = behind.strip_prefix(':') else {
            return Err(format!("\"{field}\" is not of the form FIELD:PATTERN, such as function:main"));
        };
        let (pattern, behind) = pattern(behind)?;
        if pattern.is_empty() {
            return Err(format!("{field}: has no pattern"));
        }
        tests.push(match field {
            "function" => Test::Function(pattern),
            "file" => Test::File(pattern),
            "module" => Test::Module(pattern),
            "id" => Test::Id(pattern),
            "line" => {
                let (first, last) = pattern.split_once('-').unwrap_or((&pattern, &pattern));
                match (first.parse(), last.parse()) {
                    (Ok(first), Ok(last)) => Test::Line(first, last),
                    _ => return Err(format!("\"{pattern}\" is no line, such as 10, nor lines, such as 10-20")),
                }
            }
            _ => return Err(format!("there is no field \"{field}\", only function, file, module, line and id")),
        });
        rest = behind.trim_start();
    }
    Ok(tests)
}

/// A pattern, and what follows it.
fn pattern(text: &str) -> Result<(String, &str), String> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t']).unwrap_or(text.len());
        return Ok((text[..end].into(), &text[end..]));
    };
    let mut pattern = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Ok((pattern, &quoted[at + 1..])),
            '\\' => pattern.extend(characters.next().map(|(_, escaped)| escaped)),
            other => pattern.push(other),
        }
    }
    Err("a quote is not closed".into())
}

impl Test {
    fn fits(&self, site: &Site, id: &str) -> bool {
        match self {
            Test::Function(pattern) => site.function.as_ref().is_some_and(|function| function_fits(pattern, function)),
            Test::File(pattern) => site.file.as_ref().is_some_and(|file| path_fits(pattern, file)),
            Test::Module(pattern) => site.module.as_ref().is_some_and(|module| path_fits(pattern, module)),
            Test::Line(first, last) => site.line.is_some_and(|line| (*first..=*last).contains(&line)),
            Test::Id(pattern) => glob(pattern, id),
        }
    }
}

/// Entries for all causes that are not suppressed yet, to be put into a file.
pub fn entries_for(report: &Report) -> String {
    let mut text = String::new();
    for (i, (cause, id)) in report.findings.causes.iter().zip(ids::causes(report)).enumerate() {
        if !report.is_suppressed(i) {
            let site = report.sites.instruction(cause.location).full();
            let _ = writeln!(text, "# {} in {site}\nid:{id}", names::infix(cause));
        }
    }
    text
}

impl Report {
    /// Whether the user does not want to hear of a cause.
    pub fn is_suppressed(&self, cause: usize) -> bool {
        self.suppressed.get(cause).is_some_and(Option::is_some)
    }

    /// Whether a result is wrong for suppressed reasons only.
    pub fn is_excused(&self, spot: &fpgrind_analysis::Spot) -> bool {
        !spot.causes.is_empty() && spot.causes.iter().all(|cause| self.is_suppressed(*cause))
    }

    /// `2 root causes suppressed`, if there are such.
    pub(crate) fn suppressed_count(&self) -> Option<String> {
        let number = self.suppressed.iter().flatten().count() as u64;
        (number > 0).then(|| format!("{} suppressed", counted(number, "root cause", "root causes")))
    }

    /// The report without what is suppressed.
    pub(crate) fn visible(&self) -> Cow<'_, Report> {
        if self.suppressed.iter().all(Option::is_none) {
            return Cow::Borrowed(self);
        }
        let mut report = self.clone();
        report.suppressed.clear();
        let causes = renumber(self.findings.causes.len(), |cause| !self.is_suppressed(cause));
        let spots = renumber(self.findings.spots.len(), |spot| !self.is_excused(&self.findings.spots[spot]));
        retain(&mut report.findings.causes, &causes);
        retain(&mut report.findings.spots, &spots);
        for cause in &mut report.findings.causes {
            cause.reaches = cause.reaches.iter().filter_map(|spot| *spots.get(*spot)?).collect();
        }
        for spot in &mut report.findings.spots {
            spot.causes = spot.causes.iter().filter_map(|cause| *causes.get(*cause)?).collect();
        }
        Cow::Owned(report)
    }
}

/// The new number of each that is kept.
fn renumber(count: usize, keep: impl Fn(usize) -> bool) -> Vec<Option<usize>> {
    let mut next = 0..;
    (0..count).map(|old| keep(old).then(|| next.next()).flatten()).collect()
}

fn retain<T>(items: &mut Vec<T>, numbers: &[Option<usize>]) {
    let mut numbers = numbers.iter();
    items.retain(|_| numbers.next().is_some_and(Option::is_some));
}

#[cfg(test)]
#[path = "suppress_tests.rs"]
mod tests;
