//! From findings to what the user reads.
//!
//! A [`Report`] is what the analysis found, where in the program's source that is, and how the run went. From it come
//! the summary on the terminal ([`summary`]) and the files in the output folder ([`write`]), one for each [`Format`]. The
//! JSON holds all of it, so a report can be [`read`] again. Nothing here computes: an error that the report names was measured
//! by the analysis.

mod debug_files;
mod diff;
mod fpcore;
mod html;
mod ids;
mod json;
mod limit;
mod look;
mod loops;
mod merge;
mod names;
mod numbers;
mod patterns;
mod ranges;
mod sarif;
mod select;
mod shares;
mod suppress;
mod symbolise;
mod text;
mod words;

pub use debug_files::DebugFolders;
pub use diff::{Diff, diff};
pub use json::VERSION as JSON_VERSION;
pub use limit::exceeding;
pub use look::Look;
pub use select::Selection;
pub use suppress::{Suppressions, entries_for};
pub use symbolise::{Frame, Site, Sites};

use fpgrind_analysis::Findings;
use std::io;
use std::path::{Path, PathBuf};

/// How the run went, as far as the analysis does not know it.
#[derive(Clone, Debug, Default)]
pub struct RunInfo {
    pub program: String,
    pub args: Vec<String>,
    /// Where the program was started.
    pub directory: Option<PathBuf>,
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
    /// For each cause the suppression, as `FILE:LINE`, that fits it; empty if there are none.
    pub suppressed: Vec<Option<String>>,
    /// Those that fit none, as `FILE:LINE`.
    pub unused_suppressions: Vec<String>,
}

impl Report {
    /// Looks up the source of all places in the findings.
    pub fn new(mut findings: Findings, run: RunInfo) -> Report {
        let mut sites = Sites::of(&findings);
        merge::merge_copies(&mut findings, &mut sites);
        Report { run, findings, sites, ..Report::default() }
    }
}

/// What is shown when the program has ended; everything if it is to be verbose.
pub fn summary(report: &Report, look: Look, verbose: bool) -> String {
    text::summary(report, look, verbose)
}

/// What a report can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
    Fpcore,
    Sarif,
    Html,
}

impl Format {
    pub const ALL: [Format; 5] = [Format::Text, Format::Json, Format::Fpcore, Format::Sarif, Format::Html];

    /// In the report's folder.
    pub fn file_name(self) -> &'static str {
        match self {
            Format::Text => "report.txt",
            Format::Json => "report.json",
            Format::Fpcore => "causes.fpcore",
            Format::Sarif => "report.sarif",
            Format::Html => "report.html",
        }
    }
}

pub fn render(report: &Report, format: Format) -> io::Result<String> {
    match format {
        Format::Text => Ok(text::full(report)),
        Format::Json => json::render(report),
        Format::Fpcore => Ok(fpcore::render(report)),
        Format::Sarif => sarif::render(report),
        Format::Html => Ok(html::render(report)),
    }
}

/// Writes all formats into a folder, which is made if it does not exist.
pub fn write(dir: &Path, report: &Report) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    Format::ALL.into_iter().try_for_each(|format| std::fs::write(dir.join(format.file_name()), render(report, format)?))
}

/// Reads a report.json, or the one in a folder. What is wrong is said in a sentence.
pub fn read(path: &Path) -> Result<Report, String> {
    let file = if path.is_dir() { path.join(Format::Json.file_name()) } else { path.to_path_buf() };
    let bytes = std::fs::read(&file).map_err(|error| {
        format!("cannot read {}: {error}; name a folder that fpgrind made, or a report.json", file.display())
    })?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_string());
    text.and_then(|text| json::read(&text))
        .map_err(|problem| format!("{} is not a report that this fpgrind can read: {problem}", file.display()))
}

#[cfg(test)]
mod fixtures;
#[cfg(test)]
#[path = "../../tests/common/schema.rs"]
mod schema;
