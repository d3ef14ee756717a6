//! `fpgrind report DIR|FILE`: a report's formats, made again from its report.json.

use crate::options::Misuse;
use clap::{Parser, ValueEnum};
use fpgrind_report::{Format, Suppressions};
use std::ffi::OsString;
use std::path::PathBuf;

pub const NAME: &str = "report";

/// Shows a report in one of its formats, made again from its report.json.
#[derive(Parser)]
#[command(name = "fpgrind report", override_usage = "fpgrind report [OPTIONS] DIR|FILE")]
struct Options {
    /// How to show it
    #[arg(long, value_enum, default_value_t = Shown::Text)]
    format: Shown,

    /// Leave out and count the causes that a file suppresses, in place of those suppressed when the program ran
    #[arg(long, value_name = "FILE")]
    suppressions: Option<PathBuf>,

    /// Write entries for such a file that suppress what the report tells
    #[arg(long)]
    gen_suppressions: bool,

    /// The folder that fpgrind made, or its report.json
    #[arg(value_name = "DIR|FILE")]
    report: PathBuf,
}

#[derive(ValueEnum, Clone, Copy)]
enum Shown {
    Text,
    Json,
    Fpcore,
    Sarif,
    Html,
}

impl From<Shown> for Format {
    fn from(shown: Shown) -> Format {
        match shown {
            Shown::Text => Format::Text,
            Shown::Json => Format::Json,
            Shown::Fpcore => Format::Fpcore,
            Shown::Sarif => Format::Sarif,
            Shown::Html => Format::Html,
        }
    }
}

/// `command` begins with the name.
pub fn tell(command: &[OsString]) -> Result<String, Misuse> {
    let options = Options::try_parse_from(command).map_err(|error| Misuse::of(error, "fpgrind report"))?;
    let mut report = fpgrind_report::read(&options.report).map_err(Misuse::Wrong)?;
    if let Some(file) = &options.suppressions {
        Suppressions::load(file).map_err(Misuse::Wrong)?.apply(&mut report);
    }
    if options.gen_suppressions {
        return Ok(fpgrind_report::entries_for(&report));
    }
    fpgrind_report::render(&report, options.format.into()).map_err(|error| Misuse::Wrong(error.to_string()))
}
