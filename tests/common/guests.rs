//! Guests of the transparency suite: programs made of cases (`tests/guests/guest.h`), each of which is run natively and under fpgrind.

use super::{FOLLOW, Outcome, fpgrind, native, note, run, run_within, scratch};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A case takes a second natively, if so much; under fpgrind and on a busy machine it may take longer.
const PATIENCE: Duration = Duration::from_secs(45);

pub const C: &[&str] = &["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-pthread"];
pub const CPP: &[&str] = &["g++", "-std=c++17", "-g", "-pthread"];

/// Whether a program of this name can be run; a test of what cannot says so and passes.
pub fn installed(program: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()));
    if !found {
        note(&format!("{program} is not installed (scripts/install-tools installs it): not tested"));
    }
    found
}

/// The path of a file of `tests/guests`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests").join(name)
}

/// Compiles a guest; the program's path. Its name tells the source and what was asked of the compiler.
pub fn compile(compiler: &[&str], name: &str, flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    std::fs::create_dir_all(&folder).expect("cargo's directory for tests is writable");
    let mut called = format!("{name}{}", flags.concat()).replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    called.truncate(100);
    let program = folder.join(called);
    let fresh = program.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
    let output = Command::new(compiler[0])
        .args(&compiler[1..])
        .arg(source(name))
        .arg("-o")
        .arg(&fresh)
        .args(flags)
        // Fortran's modules are written where the compiler runs.
        .current_dir(&folder)
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", compiler[0]));
    assert!(output.status.success(), "{compiler:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&fresh, &program).expect("renaming within a directory");
    program
}

/// Compiles a guest in C and runs all its cases.
pub fn every_case_of(name: &str, flags: &[&str]) {
    let flags: Vec<&str> = flags.iter().copied().chain(["-lm", "-ldl"]).collect();
    every_case(&compile(C, name, &flags));
}

/// Runs every case of a guest natively and under fpgrind; fails with the list of all that differ.
pub fn every_case(program: &Path) {
    let names = run(native(&[program]), b"").stdout;
    assert!(!names.is_empty(), "{} names no cases", program.display());
    let differences: Vec<String> =
        names.lines().flat_map(|case| differences(&[program.as_os_str(), case.as_ref()])).collect();
    assert!(differences.is_empty(), "{}\n{}", program.display(), differences.join("\n"));
}

/// Runs a command that must succeed natively; what fpgrind changes, by mode.
pub fn differences<S: AsRef<OsStr>>(command: &[S]) -> Vec<String> {
    let shown = command[command.len() - 1].as_ref().to_string_lossy().into_owned();
    let folder = scratch(&format!("case-{}-{:?}", std::process::id(), std::thread::current().id()));
    let log = folder.join("summary");
    let analysing = ["--check", "--log", log.to_str().expect("UTF-8"), "--out", folder.to_str().expect("UTF-8")];
    let natively =
        run_within(PATIENCE, native(command), b"").unwrap_or_else(|| panic!("{shown} does not end, natively"));
    assert!(natively.status == 0 && !natively.stdout.contains("NO: "), "{shown} fails natively: {natively:?}");
    let modes = [("translated", ["--mode", "none", "--quiet"].as_slice()), ("analysed", &analysing)];
    modes
        .into_iter()
        .filter_map(|(mode, options)| {
            let outcome = run_within(PATIENCE, fpgrind(&[options, FOLLOW].concat(), command), b"");
            let what = match &outcome {
                Some(outcome) => difference(&natively, outcome)?,
                None => format!("did not end in {PATIENCE:?}"),
            };
            Some(format!("{shown}, {mode}: {what}"))
        })
        .collect()
}

/// What differs, in a line: the first line of each stream.
pub fn difference(natively: &Outcome, outcome: &Outcome) -> Option<String> {
    if outcome == natively {
        return None;
    }
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let first = |native: &str, ours: &str| {
        let (native, ours) = (lines(native), lines(ours));
        let at = (0..native.len().max(ours.len())).find(|&i| native.get(i) != ours.get(i))?;
        Some(format!("line {}: natively {:?}, here {:?}", at + 1, native.get(at), ours.get(at)))
    };
    let parts = [
        (outcome.status != natively.status)
            .then(|| format!("status {} instead of {}", outcome.status, natively.status)),
        first(&natively.stdout, &outcome.stdout).map(|what| format!("stdout {what}")),
        first(&natively.stderr, &outcome.stderr).map(|what| format!("stderr {what}")),
    ];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
}
