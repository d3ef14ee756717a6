//! `fpgrind diff OLD NEW`: what has changed between two reports, and whether it is for the worse.

use crate::options::Misuse;
use clap::{Parser, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

pub const NAME: &str = "diff";
/// Something is new or worse.
pub const WORSE: i32 = 1;

/// Tells which causes of inaccuracy are new, worse, better or gone since another run.
#[derive(Parser)]
#[command(
    name = "fpgrind diff",
    override_usage = "fpgrind diff [OPTIONS] OLD NEW",
    after_help = "Exit status: 0 if nothing is new or worse, 1 otherwise, 125 if a report cannot be read."
)]
struct Options {
    /// How to tell it
    #[arg(long, value_enum, default_value_t = Shown::Text)]
    format: Shown,

    /// Bits by which an error must differ to be called better or worse
    #[arg(long, value_name = "BITS", default_value_t = 1.0, value_parser = crate::options::bits_of_error)]
    tolerance: f64,

    /// The folder that fpgrind made, or its report.json
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The same of a later run
    #[arg(value_name = "NEW")]
    new: PathBuf,
}

#[derive(ValueEnum, Clone, Copy)]
enum Shown {
    Text,
    Json,
}

/// What to print and the exit status; `command` begins with the name.
pub fn tell(command: &[OsString]) -> Result<(String, i32), Misuse> {
    let options = Options::try_parse_from(command).map_err(|error| Misuse::of(error, "fpgrind diff"))?;
    let read = |path: &PathBuf| fpgrind_report::read(path).map_err(Misuse::Wrong);
    let diff = fpgrind_report::diff(&read(&options.old)?, &read(&options.new)?, options.tolerance);
    let text = match options.format {
        Shown::Text => diff.text(),
        Shown::Json => diff.json().map_err(|error| Misuse::Wrong(error.to_string()))?,
    };
    Ok((text, if diff.is_good() { 0 } else { WORSE }))
}
