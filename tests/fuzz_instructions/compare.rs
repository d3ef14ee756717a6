//! Runs a program natively and translated, and says what differs, with as little code as shows it.

use super::machine::XsaveArea;
use super::program::{Case, Memory, Output, ROUNDS, program};
use iced_x86::{Decoder, DecoderOptions, Formatter, NasmFormatter};
use std::fs::File;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than any program takes on a slow machine: what runs so long hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A way to run a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Natively,
    Translated,
    Logged,
    /// With every result logged, and compared with what the analysis computes.
    Analysed,
}

/// How a program ended, and what it wrote.
pub struct Ended {
    pub status: String,
    pub errors: String,
    pub output: Output,
}

pub struct Runner {
    pub area: XsaveArea,
    pub folder: PathBuf,
    /// Of each run; if more than one, with signals.
    pub repetitions: usize,
    pub fpgrind: &'static str,
}

impl Runner {
    pub fn run(&self, file: &[u8], way: Way) -> Ended {
        let [program, output, errors] = ["program", "output", "errors"].map(|name| self.folder.join(name));
        write_program(&program, file);
        let report = self.folder.join("report");
        let report = report.to_str().expect("test paths are UTF-8");
        let options: &[&str] = match way {
            Way::Natively => &[],
            Way::Translated => &["--mode", "none", "--quiet"],
            Way::Logged => &["--mode", "log", "--quiet"],
            Way::Analysed => &["--check", "--out", report],
        };
        let mut command = if way == Way::Natively {
            Command::new(&program)
        } else {
            let mut command = Command::new(self.fpgrind);
            command.args(options).arg("--").arg(&program);
            command
        };
        let created = |path: &Path| File::create(path).expect("cargo's directory for tests is writable");
        command.stdin(Stdio::null()).stdout(created(&output)).stderr(created(&errors));
        let mut child = command.spawn().expect("the program starts");
        let start = Instant::now();
        let status = loop {
            match child.try_wait().expect("waiting for a child") {
                Some(status) => break format!("{:?} {:?}", status.code(), status.signal()),
                None if start.elapsed() > PATIENCE => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break "hangs".to_string();
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let read = |path: &Path| std::fs::read(path).expect("what was written can be read");
        let errors = String::from_utf8_lossy(&read(&errors)).into_owned();
        Ended { status, errors, output: Output::new(read(&output), &self.area) }
    }

    /// The first case that differs, if any: its number and what is different.
    pub fn difference(&self, cases: &[Case], memory: &Memory, way: Way) -> Option<(usize, String)> {
        let program = program(cases, self.repetitions, memory, &self.area)?;
        let native = self.run(&program.file, Way::Natively);
        let other = self.run(&program.file, way);
        for number in 0..cases.len() * ROUNDS {
            let case = number % cases.len();
            let what = match (native.output.run(number), other.output.run(number)) {
                (Some(a), Some(b)) if a == b => continue,
                (Some(a), Some(b)) => a.differences(&b).join("\n"),
                (None, None) => break,
                _ => format!("ended early: {} natively, {}: {}", native.status, other.status, other.errors),
            };
            return Some((case, what));
        }
        // The comparison would say nothing of what ran natively.
        let same = native.status == other.status && !other.errors.contains("natively");
        (!same).then(|| (cases.len(), format!("{} natively, {}: {}", native.status, other.status, other.errors)))
    }

    /// Asserts that the cases come out the same; else shows the smallest sequence that does not.
    pub fn assert_same(&self, cases: &[Case], memory: &Memory, way: Way, what: &str) {
        let Some((number, mut difference)) = self.difference(cases, memory, way) else { return };
        let mut least: Vec<Case> = cases[..(number + 1).min(cases.len())].to_vec();
        // Alone, if it is wrong alone.
        if let Some(case) = cases.get(number)
            && let Some((_, alone)) = self.difference(std::slice::from_ref(case), memory, way)
        {
            least = vec![case.clone()];
            difference = alone;
        }
        if let [case] = &mut least[..] {
            difference = self.shorten(case, memory, way).unwrap_or(difference);
        }
        let shown = least.last().map(|case| self.show(case, memory)).unwrap_or_default();
        let kept = self.folder.join("differs");
        if let Some(program) = program(&least, self.repetitions, memory, &self.area) {
            write_program(&kept, &program.file);
        }
        panic!(
            "{what}, {way:?}: {} of {} sequences show a difference; the program is {}\n{shown}{difference}",
            least.len(),
            cases.len(),
            kept.display()
        );
    }

    /// Leaves out what is not needed for a difference to show. It must be as without faults as before.
    fn shorten(&self, case: &mut Case, memory: &Memory, way: Way) -> Option<String> {
        let signals = |case: &Case| {
            let program = program(std::slice::from_ref(case), self.repetitions, memory, &self.area)?;
            let native = self.run(&program.file, Way::Natively);
            Some((0..ROUNDS).map(|round| native.output.run(round).map(|run| run.signal())).collect::<Vec<_>>())
        };
        let wanted = signals(case)?;
        let mut difference = None;
        let mut at = case.sequence.items.len();
        while at > 0 {
            at -= 1;
            let mut shorter = case.clone();
            shorter.sequence.items.remove(at);
            if signals(&shorter).as_ref() == Some(&wanted)
                && let Some((_, what)) = self.difference(std::slice::from_ref(&shorter), memory, way)
            {
                *case = shorter;
                difference = Some(what);
            }
        }
        difference
    }

    /// The sequence's instructions, one a line.
    fn show(&self, case: &Case, memory: &Memory) -> String {
        let Some(program) = program(std::slice::from_ref(case), self.repetitions, memory, &self.area) else {
            return String::new();
        };
        let (at, bytes) = &program.placed[0];
        let mut formatter = NasmFormatter::new();
        let mut text = String::new();
        for instr in &mut Decoder::with_ip(64, bytes, *at, DecoderOptions::NONE) {
            let mut line = String::new();
            formatter.format(&instr, &mut line);
            let from = (instr.ip() - at) as usize;
            let hex: Vec<String> = bytes[from..from + instr.len()].iter().map(|byte| format!("{byte:02x}")).collect();
            text += &format!("{:#x} {:<36} {line}\n", instr.ip(), hex.join(" "));
        }
        text
    }
}

fn write_program(path: &Path, file: &[u8]) {
    use std::io::Write;
    let _ = std::fs::remove_file(path);
    let mut program = File::options().write(true).create_new(true).mode(0o755).open(path).expect("a new file");
    program.write_all(file).expect("the program fits on the disk");
    program.set_permissions(std::fs::Permissions::from_mode(0o755)).expect("our own file");
}
