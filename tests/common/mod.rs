//! What the end-to-end tests share: guest programs are built once, run natively and under fpgrind, and never hang the tests.

// Each test file is a program of its own and uses its own part of this.
#![allow(dead_code)]

pub mod browser;
pub mod expression;
pub mod guests;
pub mod report;
pub mod schema;

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

pub const FPGRIND: &str = env!("CARGO_BIN_EXE_fpgrind");

/// Longer than any test takes on a slow machine: what runs so long hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// What transparency is tested with beside the mode: children are to be translated too.
pub const FOLLOW: &[&str] = &["--follow-children", "all"];

/// The ways in which every guest program is built.
pub const BUILDS: [&[&str]; 4] = [&["-O0"], &["-O2"], &["-O0", "-static"], &["-O2", "-static"]];

/// How a program ended and what it printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// As a shell shows it: a signal is 128 and its number.
    pub status: i32,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Outcome {
        let signal = output.status.signal();
        Outcome {
            status: output.status.code().unwrap_or_else(|| 128 + signal.unwrap_or(0)),
            signal,
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A directory of this test's own, empty at the start.
pub fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("cargo's directory for tests is writable");
    path
}

/// Compiles a C file of this repository; the program's path.
pub fn build(source: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let name = source.file_stem().expect("a C file has a name").to_string_lossy();
    let bin = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    std::fs::create_dir_all(&bin).expect("cargo's directory for tests is writable");
    let program = bin.join(format!("{name}{}", flags.concat()));
    // Tests run at the same time: each compiles under a name of its own, and the rename is atomic.
    let fresh = program.with_extension(format!("{:?}", std::thread::current().id()));
    let output = Command::new("gcc")
        .args(["-std=c99", "-D_GNU_SOURCE", "-g"])
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&fresh)
        .arg("-lm")
        .output()
        .expect("gcc is installed");
    assert!(output.status.success(), "gcc failed: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&fresh, &program).expect("renaming within a directory");
    program
}

pub fn native<S: AsRef<OsStr>>(command: &[S]) -> Command {
    let mut native = Command::new(command[0].as_ref());
    native.args(&command[1..]);
    native
}

pub fn fpgrind<S: AsRef<OsStr>>(options: &[&str], command: &[S]) -> Command {
    let mut fpgrind = Command::new(FPGRIND);
    fpgrind.args(options).arg("--").args(command);
    fpgrind
}

/// A note that cargo does not swallow, for what a test leaves out.
pub fn note(text: &str) {
    let _ = std::io::stderr().write_all(format!("note: {text}\n").as_bytes());
}

/// Runs a command to its end with this standard input; fails the test if it does not end.
pub fn run(command: Command, input: &[u8]) -> Outcome {
    let shown = format!("{command:?}");
    run_within(PATIENCE, command, input).unwrap_or_else(|| panic!("{shown} did not end in {PATIENCE:?}"))
}

/// Runs a command to its end; nothing if it took longer than this and was killed with all that it started.
pub fn run_within(patience: Duration, mut command: Command, input: &[u8]) -> Option<Outcome> {
    let shown = format!("{command:?}");
    let mut child = command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{shown}: {error}"));
    let pid = child.id();
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let input = input.to_vec();
    // A program need not read its input, so writing may fail.
    std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let (ended, watch) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let hangs = watch.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout);
        if hangs {
            // SAFETY: the process has not been waited for, so the number is still its own and its group's.
            unsafe { libc::kill(-(pid as i32), libc::SIGKILL) };
        }
        hangs
    });
    let output = child.wait_with_output().expect("waiting for a child");
    drop(ended);
    let hung = watchdog.join().expect("the watchdog does not panic");
    (!hung).then(|| output.into())
}
