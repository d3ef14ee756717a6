//! Several benchmarks as one program: compiling and starting a program costs more than running one benchmark.
//! Each has a function and a line that prints of its own, by which findings are told apart.

use crate::bench::{Bench, Language};
use crate::emit_c::{c_number, c_type};
use crate::emit_fortran;
use crate::findings::Report;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a program is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Variant {
    #[value(name = "O0")]
    O0,
    #[value(name = "O2")]
    O2,
    /// -O3 -march=native
    #[value(name = "O3-native")]
    O3Native,
}

/// The tool to judge, and how to call it.
pub struct Fpgrind {
    pub path: PathBuf,
    /// Bits of its reals, if not its own choice.
    pub precision: u32,
    /// What stands for its reals.
    pub real: String,
}

/// What running a batch under fpgrind gave.
pub struct Outcome {
    /// For each benchmark of the batch, what it printed.
    pub printed: Vec<Vec<f64>>,
    /// For each benchmark, the line of its printf.
    pub lines: Vec<u32>,
    /// For each benchmark, the name of its function.
    pub functions: Vec<String>,
    pub source: PathBuf,
    pub report: Report,
    /// causes.fpcore, as written.
    pub causes: String,
}

/// Longer than any batch takes, short enough to notice a hang.
const TIMEOUT: Duration = Duration::from_secs(240);
const MAX_BENCHES: usize = 16;
const MAX_OPERATIONS: u64 = 1_000_000;

impl Variant {
    pub fn name(self) -> &'static str {
        match self {
            Variant::O0 => "O0",
            Variant::O2 => "O2",
            Variant::O3Native => "O3-native",
        }
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Variant::O0 => &["-O0"],
            Variant::O2 => &["-O2"],
            Variant::O3Native => &["-O3", "-march=native"],
        }
    }
}

/// Groups benchmarks of one language into programs of bounded length.
pub fn batches(benches: &[Bench]) -> Vec<&[Bench]> {
    let mut batches = Vec::new();
    let mut rest = benches;
    while let Some(first) = rest.first() {
        let mut operations = 0;
        let fits = |bench: &&Bench| {
            operations += bench.operations;
            bench.language == first.language && operations <= MAX_OPERATIONS
        };
        let count = rest.iter().take(MAX_BENCHES).take_while(fits).count().max(1);
        let (batch, others) = rest.split_at(count);
        batches.push(batch);
        rest = others;
    }
    batches
}

/// Compiles a batch into a folder, runs it natively and under fpgrind, and reads what that found.
pub fn run(batch: &[Bench], variant: Variant, folder: &Path, fpgrind: &Fpgrind) -> Result<Outcome, String> {
    let describe = |error: std::io::Error| format!("{}: {error}.", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(describe)?;
    }
    std::fs::create_dir_all(folder).map_err(describe)?;
    let folder = folder.canonicalize().map_err(describe)?;
    let (source, program, report) = (folder.join("batch.c"), folder.join("program"), folder.join("report"));
    let (text, lines, functions) = driver(batch);
    std::fs::write(&source, text).map_err(describe)?;
    let mut objects = Vec::new();
    if batch.iter().any(|bench| bench.language == Language::Fortran) {
        let (source, object) = (folder.join("batch.f90"), folder.join("batch.o"));
        let functions =
            batch.iter().zip(&functions).filter_map(|(bench, name)| emit_fortran::function(&bench.core, name));
        std::fs::write(&source, functions.collect::<String>()).map_err(describe)?;
        let mut fortran = Command::new("gfortran");
        fortran.args(["-g", "-w", "-ffree-line-length-none", "-c"]).args(variant.flags());
        checked(fortran.arg(&source).arg("-o").arg(&object), "gfortran")?;
        objects.push(object);
    }
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-w"]).args(variant.flags()).arg(&source).args(&objects);
    if !objects.is_empty() {
        gcc.arg("-lgfortran");
    }
    checked(gcc.arg("-lm").arg("-o").arg(&program), "gcc")?;
    let native = checked(&mut Command::new(&program), "a benchmark, natively,")?;
    let mut observed = Command::new(&fpgrind.path);
    observed.arg("--precision").arg(fpgrind.precision.to_string()).arg("--real").arg(&fpgrind.real);
    observed.args(["--quiet", "--check", "--out"]).arg(&report).arg("--").arg(&program);
    let output = checked(&mut observed, "fpgrind")?;
    if output != native {
        return Err(format!("under fpgrind {} prints other than natively.", program.display()));
    }
    let text = std::fs::read_to_string(report.join("report.json")).map_err(describe)?;
    let causes = std::fs::read_to_string(report.join("causes.fpcore")).map_err(describe)?;
    let report = serde_json::from_str(&text).map_err(|error| format!("{}/report.json: {error}.", report.display()))?;
    let mut numbers = output.lines().map(|line| line.trim().parse::<f64>().unwrap_or(f64::NAN));
    let printed = batch.iter().map(|bench| numbers.by_ref().take(bench.inputs.len()).collect()).collect();
    Ok(Outcome { printed, lines, functions, source, report, causes })
}

/// The C source of a batch, and for each benchmark the line that prints and the function that computes.
fn driver(batch: &[Bench]) -> (String, Vec<u32>, Vec<String>) {
    let mut text = String::from("#include <math.h>\n#include <stdio.h>\n");
    let (mut lines, mut functions) = (Vec::new(), Vec::new());
    for (number, bench) in batch.iter().enumerate() {
        let name = format!("core_{number}");
        let types = bench.core.arguments.iter().map(|argument| c_type(argument.precision));
        match bench.language {
            Language::C => {
                text += &format!("\n// {}\n{}", bench.title.replace(['\n', '\\'], " "), bench.function(&name).text)
            }
            Language::Fortran => {
                text +=
                    &format!("\n{} {name}({});\n", c_type(bench.result), types.clone().collect::<Vec<_>>().join(", "));
            }
        }
        let mut values = Vec::new();
        for (place, argument) in bench.core.arguments.iter().enumerate() {
            let inputs = bench.inputs.iter().map(|input| c_number(input[place].value, argument.precision));
            let array = format!("in_{number}_{place}");
            let count = bench.inputs.len();
            // Volatile: the compiler must not know what it computes on.
            text += &format!(
                "static const volatile {} {array}[{count}] = {{{}}};\n",
                c_type(argument.precision),
                inputs.collect::<Vec<_>>().join(", ")
            );
            values.push(format!("{array}[i]"));
        }
        text += &format!("__attribute__((noipa)) static void run_{number}(void) {{\n");
        text += &format!("    for (int i = 0; i < {}; i++)\n", bench.inputs.len());
        text += &format!("        printf(\"%.17g\\n\", (double){name}({}));\n", values.join(", "));
        lines.push(text.lines().count() as u32);
        // Without something behind it, the last call could be a jump, whose return address is the caller's.
        text += "    __asm__ volatile(\"\");\n}\n";
        functions.push(name);
    }
    text += "\nint main(void) {\n";
    for number in 0..batch.len() {
        text += &format!("    run_{number}();\n");
    }
    text += "    return 0;\n}\n";
    (text, lines, functions)
}

/// Runs a command to its end and returns its output, or says in a sentence why there is none.
fn checked(command: &mut Command, what: &str) -> Result<String, String> {
    let shown = format!("{command:?}");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("{what} could not be started ({shown}): {error}."))?;
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let drain = |pipe: &mut Option<std::process::ChildStdout>| {
        let mut text = Vec::new();
        pipe.as_mut().map(|pipe| pipe.read_to_end(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    };
    std::thread::scope(|scope| {
        let output = scope.spawn(|| drain(&mut stdout));
        let errors = scope.spawn(|| {
            let mut text = Vec::new();
            stderr.as_mut().map(|pipe| pipe.read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        });
        let started = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if started.elapsed() > TIMEOUT => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break Err(format!("{what} took more than {} s and was stopped ({shown}).", TIMEOUT.as_secs()));
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Err(error) => break Err(format!("{what} was lost ({shown}): {error}.")),
            }
        };
        let output = output.join().unwrap_or_default();
        let errors = errors.join().unwrap_or_default();
        match status? {
            status if status.success() => Ok(output),
            status => {
                let first = errors.lines().next().unwrap_or("it said nothing");
                Err(format!("{what} failed with {status} ({shown}): {first}"))
            }
        }
    })
}
