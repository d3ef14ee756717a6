//! `fpbench run`: compiles the benchmarks, runs them under fpgrind and judges what it says.

use clap::{Parser, Subcommand};
use fpbench::batch::{self, Fpgrind, Variant};
use fpbench::bench::{self, Bench, Candidate, Language, Skipped};
use fpbench::judge::{Verdict, judge};
use fpbench::table::{Totals, render};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Judges fpgrind by benchmarks whose errors are known.
#[derive(Parser)]
#[command(version)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compile, run under fpgrind and judge; exits with 0 however the judgement comes out
    Run(Run),
}

#[derive(clap::Args)]
struct Run {
    /// FPCore files [default: our suite]
    files: Vec<PathBuf>,
    /// A fixed slice that takes seconds
    #[arg(long)]
    quick: bool,
    /// Only benchmarks with this in their name or their file's name
    #[arg(long, value_name = "SUBSTRING")]
    filter: Option<String>,
    /// How to compile
    #[arg(long, value_delimiter = ',', default_values = ["O0", "O2", "O3-native"])]
    variants: Vec<Variant>,
    /// Inputs a benchmark
    #[arg(long, default_value_t = 40)]
    samples: usize,
    /// Folder for sources, programs and reports [default: fpbench-out in the temporary folder]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the verdicts to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Bits of fpgrind's reals. Inputs come from the whole range of doubles, and the sum of the largest and the smallest of them has
    /// 2,098 bits: with fewer, the reals themselves are wrong where inputs are extreme
    #[arg(long, value_name = "BITS", default_value_t = 2400)]
    precision: u32,
    /// What stands for fpgrind's reals: auto, dd or mpfr
    #[arg(long, value_name = "KIND", default_value = "auto")]
    real: String,
    /// The fpgrind to judge [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    fpgrind: Option<PathBuf>,
}

/// In the fast slice: every so-manieth benchmark, at -O2.
const QUICK_STEP: usize = 4;
/// In Fortran, too: every so-manieth straight-line benchmark.
const FORTRAN_STEP: usize = 5;

fn main() -> ExitCode {
    let Command::Run(options) = Options::parse().command;
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("fpbench: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut options: Run) -> Result<(), String> {
    let path = match options.fpgrind.take() {
        Some(path) => path,
        None => std::env::current_exe().map_err(|error| error.to_string())?.with_file_name("fpgrind"),
    };
    if !path.is_file() {
        return Err(format!("there is no fpgrind at {}; build it or name it with --fpgrind.", path.display()));
    }
    let fpgrind = Fpgrind { path, precision: options.precision, real: options.real.clone() };
    let files = if options.files.is_empty() { suite()? } else { options.files };
    let (mut candidates, mut skipped) = bench::read(&files)?;
    if let Some(filter) = &options.filter {
        candidates.retain(|candidate| candidate.core.title().contains(filter) || candidate.file.contains(filter));
        skipped.retain(|skipped| skipped.title.contains(filter) || skipped.file.contains(filter));
    }
    if options.quick {
        candidates = candidates.into_iter().step_by(QUICK_STEP).collect();
        options.variants = vec![Variant::O2];
    }
    if candidates.is_empty() {
        return Err("no benchmark is left to run.".into());
    }
    let (mut benches, unfit) = prepare(&candidates, options.samples);
    skipped.extend(unfit);
    let has_fortran =
        std::process::Command::new("gfortran").arg("--version").output().is_ok_and(|o| o.status.success());
    if has_fortran {
        let straight = benches.iter().filter_map(Bench::in_fortran).collect::<Vec<_>>();
        benches.extend(straight.into_iter().step_by(FORTRAN_STEP));
    }
    let out = options.out.unwrap_or_else(|| std::env::temp_dir().join("fpbench-out"));
    let (verdicts, failures) = judge_all(&benches, &options.variants, &out, &fpgrind);
    let variants: Vec<&str> = options.variants.iter().map(|variant| variant.name()).collect();
    print!("{}", render(&verdicts, &skipped, &variants));
    if !has_fortran {
        println!("gfortran is not installed: nothing was judged in Fortran");
    }
    if let Some(path) = &options.json {
        let document =
            serde_json::json!({ "variants": variants, "totals": Totals::of(&verdicts), "verdicts": verdicts });
        std::fs::write(path, format!("{document:#}\n")).map_err(|error| format!("{}: {error}.", path.display()))?;
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("\nfpbench: ")),
    }
}

/// The files of the suite that lies beside this program's source.
fn suite() -> Result<Vec<PathBuf>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("suite");
    let entries = std::fs::read_dir(&folder).map_err(|error| {
        format!("the suite is not at {} ({error}); name the FPCore files to run.", folder.display())
    })?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "fpcore"));
    files.sort();
    Ok(files)
}

fn prepare(candidates: &[Candidate], samples: usize) -> (Vec<Bench>, Vec<Skipped>) {
    let prepared = in_parallel(candidates, |candidate| bench::prepare(candidate, samples));
    let (mut benches, mut skipped) = (Vec::new(), Vec::new());
    for result in prepared {
        match result {
            Ok(bench) => benches.push(bench),
            Err(unfit) => skipped.push(unfit),
        }
    }
    (benches, skipped)
}

/// Verdicts in the benchmarks' order, the variants of one beside each other; and what kept batches from being judged.
fn judge_all(benches: &[Bench], variants: &[Variant], out: &Path, fpgrind: &Fpgrind) -> (Vec<Verdict>, Vec<String>) {
    let batches = batch::batches(benches);
    let jobs: Vec<(usize, &[Bench], Variant)> = batches
        .iter()
        .enumerate()
        .flat_map(|(number, batch)| variants.iter().map(move |variant| (number, *batch, *variant)))
        .collect();
    let outcomes = in_parallel(&jobs, |(number, batch, variant)| {
        let language = if batch[0].language == Language::Fortran { "fortran" } else { "c" };
        let folder = out.join(format!("{language}-{number:02}-{}", variant.name()));
        let outcome = batch::run(batch, *variant, &folder, fpgrind)?;
        Ok(batch.iter().enumerate().map(|(place, bench)| judge(bench, place, *variant, &outcome)).collect::<Vec<_>>())
    });
    let (mut verdicts, mut failures) = (Vec::new(), Vec::new());
    for results in outcomes.chunks(variants.len()) {
        let judged: Vec<&Vec<Verdict>> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
        failures.extend(results.iter().filter_map(|result: &Result<_, String>| result.as_ref().err().cloned()));
        let longest = judged.iter().map(|verdicts| verdicts.len()).max().unwrap_or(0);
        for place in 0..longest {
            verdicts.extend(judged.iter().filter_map(|verdicts| verdicts.get(place).cloned()));
        }
    }
    (verdicts, failures)
}

/// Does the work on all cores; results in order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |count| count.get()) {
            scope.spawn(|| {
                while let Some((number, item)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, items.get(n)?)))
                {
                    let result = work(item);
                    results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((number, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
