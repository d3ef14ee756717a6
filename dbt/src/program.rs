//! Finds the program that a command names and judges it before anything is launched.
//!
//! A failed execve tells an errno, and some programs that execve accepts cannot be run here (32-bit, setuid). Judging
//! the file first turns each of these into a sentence that says what to do, while nothing is running yet.

mod elf;

use elf::Defect;
use std::ffi::{CString, OsStr, OsString};
use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A program that can be launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The file to hand to execve; a script with `#!` stays the script.
    pub path: PathBuf,
    pub argv: Vec<OsString>,
}

/// Why a program cannot be launched, as one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramError {
    NotFound(String),
    NotExecutable(String),
}

impl ProgramError {
    /// The exit status by which shells, env and nohup tell the two apart.
    pub fn exit_status(&self) -> i32 {
        match self {
            ProgramError::NotFound(_) => 127,
            ProgramError::NotExecutable(_) => 126,
        }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramError::NotFound(sentence) | ProgramError::NotExecutable(sentence) => f.write_str(sentence),
        }
    }
}

impl std::error::Error for ProgramError {}

/// Where execvp looks if PATH is not set: confstr(_CS_PATH) of glibc.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The kernel reads this much of a file to find out what it is (BINPRM_BUF_SIZE in linux/binfmts.h).
const HEAD: usize = 256;

/// How many scripts may name one another as interpreters (exec_binprm in fs/exec.c).
const MAX_SCRIPTS: usize = 5;

/// The program that `argv` names: its first element is looked up as execvp does.
pub fn resolve(argv: Vec<OsString>) -> Result<Program, ProgramError> {
    let name = argv.first().cloned().unwrap_or_default();
    let search = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    let path = find(&name, &search)?;
    judge(&path)?;
    Ok(Program { path, argv })
}

/// The file that `name` means. With a slash it is a path; without, the first file in PATH that may be executed.
fn find(name: &OsStr, search: &OsStr) -> Result<PathBuf, ProgramError> {
    if name.is_empty() {
        return Err(ProgramError::NotFound("the name of the program is empty".into()));
    }
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let mut unusable = None;
    for directory in std::env::split_paths(search) {
        // An empty entry means the current directory.
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
        let candidate = directory.join(name);
        match std::fs::metadata(&candidate) {
            Ok(metadata) if metadata.is_file() && may_execute(&candidate) => return Ok(candidate),
            Ok(metadata) if metadata.is_file() => unusable = unusable.or(Some(candidate)),
            _ => {}
        }
    }
    // What is there and cannot be executed is judged after this, and named with the reason.
    unusable.ok_or_else(|| {
        let here = if Path::new(name).is_file() {
            format!("; to run the one here, write ./{}", shown(name))
        } else {
            String::new()
        };
        ProgramError::NotFound(format!("{}: there is no such program in PATH{here}", shown(name)))
    })
}

/// Says whether execve would start this file, and whether what it starts can be translated.
fn judge(path: &Path) -> Result<(), ProgramError> {
    let mut file = path.to_path_buf();
    for _ in 0..=MAX_SCRIPTS {
        let (opened, metadata) = open_executable(&file)?;
        let mut head = [0; HEAD];
        let length =
            read_up_to(&opened, &mut head).map_err(|error| refuse(&file, &format!("cannot be read: {error}")))?;
        let head = &head[..length];
        if head.starts_with(b"#!") {
            let interpreter = interpreter_of(head).ok_or_else(|| {
                refuse(&file, "begins with #! but names no interpreter in its first line; correct that line")
            })?;
            if !interpreter.exists() {
                let problem = format!("names the interpreter {}, which does not exist", shown(&interpreter));
                return Err(refuse(&file, &problem));
            }
            file = interpreter;
            continue;
        }
        elf::check(&opened, head, metadata.len()).map_err(|defect| refuse(&file, &sentence_part(&defect, &file)))?;
        refuse_privileged(&file, &metadata)?;
        return match elf::interpreter(&opened, head).map_err(|defect| refuse(&file, &sentence_part(&defect, &file)))? {
            Some(loader) => judge_loader(&file, &PathBuf::from(OsString::from_vec(loader))),
            None => Ok(()),
        };
    }
    Err(refuse(path, "is a script whose interpreters are scripts in turn, more than the kernel follows"))
}

/// The dynamic loader that an ELF file asks for must be there, and be a program for this machine too.
fn judge_loader(program: &Path, loader: &Path) -> Result<(), ProgramError> {
    if !loader.exists() {
        let problem =
            format!("needs the loader {}, which does not exist; install the libraries it was built for", shown(loader));
        return Err(refuse(program, &problem));
    }
    let (opened, metadata) = open_executable(loader)?;
    let mut head = [0; HEAD];
    let length = read_up_to(&opened, &mut head).map_err(|error| refuse(loader, &format!("cannot be read: {error}")))?;
    elf::check(&opened, &head[..length], metadata.len())
        .map_err(|defect| refuse(loader, &sentence_part(&defect, loader)))
}

/// Opens a file that may be executed and read.
fn open_executable(path: &Path) -> Result<(File, Metadata), ProgramError> {
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            ProgramError::NotFound(format!("{}: there is no such file", shown(path)))
        }
        _ => refuse(path, &format!("cannot be reached: {error}")),
    })?;
    if metadata.is_dir() {
        return Err(refuse(path, "is a directory; name the program in it"));
    }
    if !metadata.is_file() {
        return Err(refuse(path, "is not a regular file"));
    }
    if !may_execute(path) {
        return Err(refuse(
            path,
            if metadata.mode() & 0o111 == 0 {
                "has no execute permission; give it with chmod +x"
            } else {
                "may not be executed by this user, or lies on a file system mounted noexec"
            },
        ));
    }
    // A file that may be executed but not read also makes its process undumpable, which forbids ptrace.
    let file =
        File::open(path).map_err(|error| refuse(path, &format!("cannot be read, which fpgrind must: {error}")))?;
    Ok((file, metadata))
}

/// execve under ptrace does not grant what a setuid or setgid bit or file capabilities promise (ptrace(2), "execve
/// under ptrace"), so the program would run, and fail in ways of its own.
fn refuse_privileged(path: &Path, metadata: &Metadata) -> Result<(), ProgramError> {
    const SETUID: u32 = libc::S_ISUID;
    // The setgid bit counts only together with the group's execute bit; alone it once meant mandatory locking.
    const SETGID: u32 = libc::S_ISGID | libc::S_IXGRP;
    let what = if metadata.mode() & SETUID != 0 {
        "is setuid"
    } else if metadata.mode() & SETGID == SETGID {
        "is setgid"
    } else if has_capabilities(path) {
        "has file capabilities"
    } else {
        return Ok(());
    };
    Err(refuse(path, &format!("{what}, and a traced program is not given these privileges; run a copy without them")))
}

fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: both strings end in NUL, and with size 0 nothing is written.
    unsafe { libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

fn may_execute(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path ends in NUL.
    unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::X_OK, libc::AT_EACCESS) == 0 }
}

/// The interpreter in a script's first line. A line longer than the head must at least end the path within it.
fn interpreter_of(head: &[u8]) -> Option<PathBuf> {
    let line = head.get(2..)?;
    let (line, ended) = match line.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&line[..end], true),
        None => (line, head.len() < HEAD),
    };
    let start = line.iter().position(|byte| !matches!(byte, b' ' | b'\t'))?;
    let path = &line[start..];
    let end = path.iter().position(|byte| matches!(byte, b' ' | b'\t' | 0));
    if end.is_none() && !ended {
        return None;
    }
    let path = &path[..end.unwrap_or(path.len())];
    (!path.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// What to say about a defect, to follow the file's name.
fn sentence_part(defect: &Defect, path: &Path) -> String {
    match defect {
        Defect::Empty => "is empty".into(),
        Defect::NotElf => format!(
            "is neither an ELF program nor a script with #!; if it is a shell script, run it as: fpgrind sh {}",
            shown(path)
        ),
        Defect::Bits32 => "is a 32-bit program, and fpgrind runs 64-bit x86-64 programs; build it with -m64".into(),
        Defect::OtherMachine(machine) => {
            format!("is built for {machine}, and fpgrind runs x86-64 programs; build it for x86-64")
        }
        Defect::NotAProgram(what) => format!("is {what}, not a program; name the program that uses it"),
        Defect::Truncated => {
            "is truncated: its headers describe more than the file holds; build or copy it again".into()
        }
        Defect::Corrupt(what) => format!("is not a valid ELF program: {what}; build or copy it again"),
        Defect::Unreadable(error) => format!("cannot be read: {error}"),
    }
}

fn refuse(path: &Path, problem: &str) -> ProgramError {
    ProgramError::NotExecutable(format!("{} {problem}", shown(path)))
}

/// A name fit to be shown in one line, whatever bytes it has.
fn shown(name: impl AsRef<OsStr>) -> String {
    name.as_ref().to_string_lossy().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Fills as much of the buffer as the file has.
fn read_up_to(file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

#[cfg(test)]
mod tests;
