//! From findings to what the user reads.
//!
//! A [`Report`] is what the analysis found, where in the program's source that is, and how the run went. From it come
//! the summary on the terminal ([`summary`]) and the files in the output folder ([`write`]): the full text, the JSON
//! and the FPCore expressions. Nothing here computes: an error that the report names was measured by the analysis.

mod fpcore;
mod json;
mod merge;
mod names;
mod numbers;
mod ranges;
mod symbolise;
mod text;

pub use json::VERSION as JSON_VERSION;
pub use symbolise::{Site, Sites};

use fpgrind_analysis::Findings;
use std::io;
use std::path::{Path, PathBuf};

/// How the run went, as far as the analysis does not know it.
#[derive(Clone, Debug, Default)]
pub struct RunInfo {
    pub program: String,
    pub args: Vec<String>,
    pub seconds: f64,
    /// What the user should know beside the findings, a sentence each: `2 child processes ran natively, unanalysed`.
    pub notes: Vec<String>,
    /// Native results were compared with predicted ones.
    pub check: bool,
    /// Bits of error from which the analysis speaks of an error.
    pub threshold: f64,
    /// The folder that [`write`] is given, to be named in the summary.
    pub out: Option<PathBuf>,
}

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub run: RunInfo,
    pub findings: Findings,
    pub sites: Sites,
}

impl Report {
    /// Looks up the source of all places in the findings.
    pub fn new(mut findings: Findings, run: RunInfo) -> Report {
        let sites = Sites::of(&findings);
        merge::merge_copies(&mut findings, &sites);
        Report { run, findings, sites }
    }
}

/// What the terminal shows when the program has ended.
pub fn summary(report: &Report) -> String {
    text::summary(report)
}

/// Writes report.txt, report.json and causes.fpcore into a folder, which is made if it does not exist.
pub fn write(dir: &Path, report: &Report) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    std::fs::write(dir.join("report.txt"), text::full(report))?;
    std::fs::write(dir.join("report.json"), json::render(report)?)?;
    std::fs::write(dir.join("causes.fpcore"), fpcore::render(report))
}

#[cfg(test)]
mod fixtures;
