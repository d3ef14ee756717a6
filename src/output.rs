//! Where fpgrind's own words go. None of this fails: a closed stderr or a full disk must not change how the program ends.

use crate::terminal::{self, Colour};
use fpgrind_report::Look;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A sentence on stderr, marked as ours.
pub fn say(sentence: &str) {
    let _ = writeln!(std::io::stderr(), "fpgrind: {sentence}");
}

/// What was asked for, on stdout.
pub fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Where the summary goes.
pub enum Summary {
    Nowhere,
    Stderr,
    File(File),
}

impl Summary {
    pub fn open(log: Option<&Path>, quiet: bool) -> Result<Summary, String> {
        match log {
            Some(path) => File::create(path).map(Summary::File).map_err(|error| {
                format!("cannot write the summary to {}: {error}; give --log another file", path.display())
            }),
            None if quiet => Ok(Summary::Nowhere),
            None => Ok(Summary::Stderr),
        }
    }

    pub fn look(&self, colour: Colour) -> Look {
        terminal::look(colour, matches!(self, Summary::Stderr))
    }

    pub fn write(&mut self, text: &str) {
        let written = match self {
            Summary::Nowhere => Ok(()),
            Summary::Stderr => std::io::stderr().write_all(text.as_bytes()),
            Summary::File(file) => file.write_all(text.as_bytes()),
        };
        if let Err(error) = written {
            say(&format!("the summary could not be written: {error}"));
        }
    }
}

/// Where report.json goes a second time.
pub enum Copy {
    Stdout,
    File(File),
}

impl Copy {
    /// `-` is stdout.
    pub fn open(path: &Path) -> Result<Copy, String> {
        if path == Path::new("-") {
            return Ok(Copy::Stdout);
        }
        File::create(path)
            .map(Copy::File)
            .map_err(|error| format!("cannot write JSON to {}: {error}; give --json another file", path.display()))
    }

    pub fn write(&mut self, text: std::io::Result<String>) {
        let written = text.and_then(|text| match self {
            Copy::Stdout => std::io::stdout().write_all(text.as_bytes()),
            Copy::File(file) => file.write_all(text.as_bytes()),
        });
        if let Err(error) = written {
            say(&format!("the JSON could not be written: {error}"));
        }
    }
}

/// Makes the folder that the user named, and tries that files can be made in it: better now than after hours.
pub fn prepare_folder(folder: &Path) -> Result<(), String> {
    let probe = folder.join(format!(".fpgrind-{}", std::process::id()));
    std::fs::create_dir_all(folder)
        .and_then(|()| File::create(&probe))
        .and_then(|_| std::fs::remove_file(&probe))
        .map_err(|error| format!("cannot write into {}: {error}; give --out another folder", folder.display()))
}

/// The folder where a report goes if the user named none.
pub fn default_folder(program: &OsStr) -> PathBuf {
    let name = Path::new(program).file_name().unwrap_or(program);
    let mut folder = OsStr::new("fpgrind-").to_os_string();
    folder.push(name);
    folder.push(format!(".{}", std::process::id()));
    PathBuf::from(folder)
}
