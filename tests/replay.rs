//! The replay check over code that other people wrote: what fpgrind computes must be, bit for bit, what the program computed, in the
//! kernels of numerical libraries for every generation of the vector units, in libm's own instructions, and in what compilers make of loops.

mod common;

use common::guests::{compile, difference, installed, source};
use common::{Outcome, fpgrind, native, note, run_within, scratch};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// For the longest of the long ones, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(3600);

const C: &[&str] = &["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-g"];

/// A program to replay: its command, what fpgrind is told beside `--check`, and what its environment says.
#[derive(Clone, Copy, Default)]
struct Replay<'a> {
    options: &'a [&'a str],
    environment: &'a [(&'a str, &'a str)],
}

impl Replay<'_> {
    /// Runs a command natively and under fpgrind. It must print and end the same, no result may differ from what was predicted, and
    /// at least `results` must have been compared: a check that sees nothing is none.
    fn check<S: AsRef<std::ffi::OsStr>>(self, name: &str, command: &[S], results: u64) -> Outcome {
        let folder = scratch(&format!("replay-{name}"));
        let out = folder.to_str().expect("UTF-8");
        let log = folder.join("summary");
        let fixed = ["--check", "--out", out, "--log", log.to_str().expect("UTF-8")];
        let run = |mut command: Command| {
            command.current_dir(&folder).envs(self.environment.iter().copied()).env("LC_ALL", "C.UTF-8");
            run_within(PATIENCE, command, b"").unwrap_or_else(|| panic!("{name} did not end in {PATIENCE:?}"))
        };
        let natively = run(native(command));
        assert_eq!(natively.status, 0, "{name} fails natively: {natively:?}");
        let replayed = run(fpgrind(&[&fixed, self.options].concat(), command));
        let text = std::fs::read_to_string(folder.join("report.json"))
            .unwrap_or_else(|error| panic!("{name} left no report: {error}; {replayed:?}"));
        let report: Value = serde_json::from_str(&text).expect("report.json is JSON");
        assert_eq!(report["check_failures"], Value::Array(vec![]), "{name}");
        assert_eq!(report["totals"]["corrupt_records"], 0, "{name}");
        if let Some(what) = difference(&natively, &replayed) {
            panic!("{name}: {what}");
        }
        let checks = report["totals"]["checks"].as_u64().unwrap_or_default();
        assert!(checks >= results, "{name}: only {checks} results were compared");
        natively
    }
}

/// Can the compiler find this library, and a program that is linked with it run?
fn has_library(flag: &str) -> bool {
    let program = scratch(&format!("has{flag}")).join("program");
    let mut compiler = Command::new("gcc");
    compiler.args(["-x", "c", "-", "-o"]).arg(&program).arg(flag);
    let found =
        run_within(PATIENCE, compiler, b"int main(void) { return 0; }").is_some_and(|outcome| outcome.status == 0);
    if !found {
        note(&format!("gcc finds no {flag} (scripts/install-tools installs it): not tested"));
    }
    found
}

// libm's own instructions.

/// By the type, with the suffix that the functions then have: x87 code is in the last.
const PRECISIONS: [(&str, &str); 3] = [("float", "f"), ("double", ""), ("long double", "l")];

/// What libm's resolvers are told that the CPU does not have.
const WITHOUT: [&str; 3] =
    ["", "glibc.cpu.hwcaps=-AVX2,-FMA", "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX,-SSE4_1,-FMA4,-AVX512F"];

fn libm(name: &str, arguments: &str) {
    for (real, suffix) in PRECISIONS {
        let defines = [format!("-DREAL={real}"), format!("-DSUFFIX={suffix}")];
        let flags = ["-O1", "-fno-builtin", &defines[0], &defines[1], "-lm"];
        let program = compile(C, "replay/libm.c", &flags);
        let command = [program.to_str().expect("UTF-8"), arguments];
        for (number, tunables) in WITHOUT.into_iter().enumerate() {
            let environment = [("GLIBC_TUNABLES", tunables)];
            let replay = Replay { options: &["--no-wrap"], environment: &environment };
            replay.check(&format!("{name}{suffix}-{number}"), &command, 200_000);
        }
        Replay::default().check(&format!("{name}{suffix}-wrapped"), &command, 5_000);
    }
}

#[test]
fn libms_own_instructions() {
    libm("libm", "60");
}

#[test]
#[ignore = "a minute; make soak runs it"]
fn libms_own_instructions_at_many_arguments() {
    libm("libm-long", "900");
}

// OpenBLAS has kernels for every generation of processors, and uses those that it is told to.

fn openblas(cores: &[&str], threads: &str, sizes: &[&str]) {
    if !has_library("-lopenblas") {
        return;
    }
    let program = compile(C, "replay/blas.c", &["-O1", "-lopenblas", "-lm"]);
    let command: Vec<&str> = [program.to_str().expect("UTF-8")].into_iter().chain(sizes.iter().copied()).collect();
    for core in cores {
        let environment = [("OPENBLAS_CORETYPE", *core), ("OPENBLAS_NUM_THREADS", threads)];
        let name = format!("openblas-{core}-{threads}-{}", sizes.concat());
        Replay { options: &[], environment: &environment }.check(&name, &command, 100_000);
    }
}

/// Those of OpenBLAS's kernels that this CPU can run.
fn cores() -> Vec<&'static str> {
    let mut cores = vec!["Prescott", "Nehalem"];
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        cores.extend(["Sandybridge", "Haswell"]);
    }
    if is_x86_feature_detected!("avx512vl") {
        cores.push("SkylakeX");
    }
    cores
}

#[test]
fn openblas_with_the_kernels_of_every_generation() {
    openblas(&cores(), "1", &["5", "17"]);
}

#[test]
fn openblas_on_two_threads() {
    openblas(&cores()[cores().len() - 1..], "2", &["19"]);
}

#[test]
#[ignore = "minutes; make soak runs it"]
fn openblas_on_larger_matrices() {
    for threads in ["1", "2"] {
        openblas(&cores(), threads, &["33"]);
    }
}

// FFTW.

fn fftw(sizes: &[&str]) {
    for (real, prefix, library) in
        [("float", "fftwf_", "-lfftw3f"), ("double", "fftw_", "-lfftw3"), ("long double", "fftwl_", "-lfftw3l")]
    {
        if has_library(library) {
            let defines = [format!("-DREAL={real}"), format!("-DPREFIX={prefix}")];
            let program = compile(C, "replay/fftw.c", &["-O1", &defines[0], &defines[1], library, "-lm"]);
            let command: Vec<&str> =
                [program.to_str().expect("UTF-8")].into_iter().chain(sizes.iter().copied()).collect();
            Replay::default().check(&format!("{prefix}{}", sizes.len()), &command, 100_000);
        }
    }
}

#[test]
fn fourier_transforms() {
    fftw(&["8", "9", "10", "11", "13", "14", "16", "25", "32", "60", "64", "128", "210", "256", "512", "1024"]);
}

#[test]
#[ignore = "a minute; make soak runs it"]
fn fourier_transforms_of_every_small_size() {
    let sizes: Vec<String> = (2..=130).map(|size| size.to_string()).collect();
    fftw(&sizes.iter().map(String::as_str).collect::<Vec<_>>());
}

// What compilers make of loops.

#[test]
fn loops_as_gcc_vectorises_them() {
    for flags in [
        &["-O3"][..],
        &["-O3", "-ffast-math", "-mfpmath=387"],
        &["-O3", "-march=native"],
        &["-O3", "-march=native", "-ffast-math"],
        &["-O3", "-march=native", "-ffast-math", "-mprefer-vector-width=512"],
        &["-O2", "-march=native", "-mtune-ctrl=use_gather"],
    ] {
        let program = compile(C, "replay/loops.c", &[flags, &["-lm"]].concat());
        Replay::default().check(&format!("loops{}", flags.concat()), &[program], 100_000);
    }
}

#[test]
fn half_precision() {
    if !is_x86_feature_detected!("avx512fp16") || !is_x86_feature_detected!("avx512bf16") {
        return note("this CPU has no AVX512-FP16 or no AVX512-BF16: not tested");
    }
    for flags in [&["-O0"][..], &["-O3"], &["-O3", "-ffast-math"]] {
        let native = ["-march=native", "-mavx512fp16", "-mavx512vl", "-mavx512bf16", "-mf16c", "-lm"];
        let program = compile(C, "replay/halves.c", &[flags, &native].concat());
        Replay::default().check(&format!("halves{}", flags.concat()), &[program], 10_000);
    }
}

#[test]
fn fortrans_intrinsics_in_every_kind() {
    if !installed("gfortran") {
        return;
    }
    for flags in [&["-O0"][..], &["-O3", "-march=native", "-ffast-math"], &["-O2"]] {
        let program = compile(&["gfortran", "-g"], "replay/kinds.f90", flags);
        Replay::default().check(&format!("kinds{}", flags.concat()), &[program], 10_000);
    }
}

#[test]
fn gsl() {
    if has_library("-lgsl") {
        let program = compile(C, "replay/gsl.c", &["-O1", "-lgsl", "-lgslcblas", "-lm"]);
        Replay::default().check("gsl", &[program], 100_000);
    }
}

// numpy's own tests.

fn numpy(name: &str, arguments: &[&str]) {
    let python = "/usr/bin/python3";
    if !Command::new(python).args(["-c", "import numpy, pytest, hypothesis"]).output().is_ok_and(|o| o.status.success())
    {
        return note("numpy or pytest is not installed (scripts/install-tools installs them): not tested");
    }
    let script = source("replay/numpy_tests.py");
    let command: Vec<&str> =
        [python, "-B", script.to_str().expect("UTF-8")].into_iter().chain(arguments.iter().copied()).collect();
    for core in &cores()[cores().len() - 1..] {
        let environment = [("OPENBLAS_CORETYPE", *core), ("OPENBLAS_NUM_THREADS", "1")];
        let outcome = Replay { options: &[], environment: &environment }.check(name, &command, 1_000);
        assert!(outcome.stdout.contains(" passed"), "{name}: {outcome:?}");
    }
}

#[test]
fn numpys_halves() {
    numpy("numpy-half", &["core/tests/test_half:special or arithmetic or spacing"]);
}

macro_rules! long_numpy_tests {
    ($($name:ident: $module:literal),* $(,)?) => {$(
        #[test]
        #[ignore = "minutes; make soak runs it"]
        fn $name() {
            numpy(stringify!($name), &[$module]);
        }
    )*};
}

long_numpy_tests! {
    numpy_half: "core/tests/test_half",
    numpy_umath: "core/tests/test_umath",
    numpy_numeric: "core/tests/test_numeric",
    numpy_scalarmath: "core/tests/test_scalarmath",
    numpy_getlimits: "core/tests/test_getlimits",
    numpy_longdouble: "core/tests/test_longdouble",
    numpy_ufunc: "core/tests/test_ufunc",
    numpy_simd: "core/tests/test_simd",
    numpy_einsum: "core/tests/test_einsum",
    numpy_linalg: "linalg/tests/test_linalg",
    numpy_fft: "fft/tests/test_pocketfft",
    numpy_polynomial: "polynomial/tests/test_polynomial",
    numpy_chebyshev: "polynomial/tests/test_chebyshev",
    numpy_random: "random/tests/test_generator_mt19937",
}
