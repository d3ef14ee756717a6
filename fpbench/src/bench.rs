//! A benchmark made ready: its inputs chosen, what is true about it computed, its source written.

use crate::ast::{Core, Precision};
use crate::domains::Native64;
use crate::emit_c::{self, Function};
use crate::emit_fortran;
use crate::fold::fold;
use crate::parse::parse;
use crate::sample;
use crate::truth::{Truth, operations, truth};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    Fortran,
}

#[derive(Debug)]
pub struct Bench {
    /// The name of the file it comes from.
    pub file: String,
    pub title: String,
    pub language: Language,
    /// With its constants folded: what the program computes.
    pub core: Core,
    pub result: Precision,
    pub inputs: Vec<Vec<Native64>>,
    /// One for each input.
    pub truths: Vec<Truth>,
    /// Over all inputs.
    pub operations: u64,
}

/// A core that is not run, and why.
#[derive(Clone, Debug)]
pub struct Skipped {
    pub file: String,
    pub line: u32,
    pub column: u32,
    pub title: String,
    pub reason: String,
}

/// A core as read, before the work.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub file: String,
    pub core: Core,
}

/// Operations of one execution beyond which a loop counts as endless.
const MAX_OPERATIONS: u64 = 100_000;
/// Operations of all executions of a benchmark; long loops get fewer samples.
const MAX_TOTAL: u64 = 400_000;
const MIN_SAMPLES: usize = 3;

/// Reads files. A file that cannot be read at all is an error; a core that is not understood is skipped.
pub fn read(paths: &[impl AsRef<Path>]) -> Result<(Vec<Candidate>, Vec<Skipped>), String> {
    let (mut candidates, mut skipped) = (Vec::new(), Vec::new());
    for path in paths {
        let path = path.as_ref();
        let file = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
        let text =
            std::fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}.", path.display()))?;
        let cores = parse(&text).map_err(|error| {
            format!("{}:{}:{}: {}.", path.display(), error.position.line, error.position.column, error.message)
        })?;
        for core in cores {
            match core {
                Ok(core) => candidates.push(Candidate { file: file.clone(), core }),
                Err(refused) => {
                    let position = refused.error.position;
                    let (line, column) = (position.line, position.column);
                    skipped.push(Skipped {
                        file: file.clone(),
                        line,
                        column,
                        title: refused.title,
                        reason: refused.error.message,
                    });
                }
            }
        }
    }
    Ok((candidates, skipped))
}

/// Chooses inputs and computes the truth: the slow part.
pub fn prepare(candidate: &Candidate, samples: usize) -> Result<Bench, Skipped> {
    let Candidate { file, core } = candidate;
    let skip = |reason: &str| Skipped {
        file: file.clone(),
        line: core.position.line,
        column: core.position.column,
        title: core.title(),
        reason: reason.into(),
    };
    let folded = fold(core);
    let result = emit_c::function(&folded, "f").result;
    let drawn = sample::inputs(core, samples);
    if drawn.is_empty() {
        return Err(skip("no random inputs satisfy its precondition"));
    }
    let (mut inputs, mut truths, mut total) = (Vec::new(), Vec::new(), 0);
    for input in drawn {
        let Ok(count) = operations(&folded, &input, MAX_OPERATIONS) else { continue };
        if total + count > MAX_TOTAL && inputs.len() >= MIN_SAMPLES {
            break;
        }
        let Ok(truth) = truth(&folded, &input, result, MAX_OPERATIONS) else { continue };
        total += count;
        inputs.push(input);
        truths.push(truth);
    }
    if inputs.is_empty() {
        return Err(skip("its loop does not end soon on any input tried"));
    }
    let (file, title, language) = (file.clone(), core.title(), Language::C);
    Ok(Bench { file, title, language, core: folded, result, inputs, truths, operations: total })
}

impl Bench {
    /// The same in Fortran, if it can be written so.
    pub fn in_fortran(&self) -> Option<Bench> {
        emit_fortran::function(&self.core, "f")?;
        Some(Bench {
            file: self.file.clone(),
            title: self.title.clone(),
            language: Language::Fortran,
            core: self.core.clone(),
            result: self.result,
            inputs: self.inputs.clone(),
            truths: self.truths.clone(),
            operations: self.operations,
        })
    }

    pub fn function(&self, name: &str) -> Function {
        emit_c::function(&self.core, name)
    }
}
