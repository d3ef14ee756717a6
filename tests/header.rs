//! include/fpgrind.h: results that a program marks, regions, and the error that it asks for.

mod common;

use common::guests::{installed, source};
use common::report::text;
use common::{Outcome, run, scratch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const STRICT: &[&str] = &["-Wall", "-Wextra", "-Werror", "-pedantic", "-g"];

/// The compilers, and what makes each take the guest for its language.
const COMPILERS: [(&str, &[&str]); 6] = [
    ("gcc", &["-std=c89"]),
    ("gcc", &["-std=c17", "-masm=intel"]),
    ("g++", &["-std=c++98", "-xc++", "-Wno-long-long"]),
    ("g++", &["-std=c++20", "-xc++"]),
    ("clang", &["-std=c99"]),
    ("clang", &["-std=c++17", "-xc++"]),
];

fn compile(folder: &Path, (compiler, language): (&str, &[&str]), flags: &[&str]) -> PathBuf {
    let program = folder.join(format!("{compiler}{}{}", language.concat(), flags.concat()).replace('+', "p"));
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut command = Command::new(compiler);
    command.args(language).args(STRICT).args(flags).arg("-I").arg(include).arg(source("header/marks.c"));
    command.arg("-o").arg(&program);
    let outcome = run(command, b"");
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{compiler} {language:?} {flags:?}");
    program
}

fn builds(name: &str, flags: &[&str]) -> Vec<PathBuf> {
    let folder = scratch(name);
    let there = COMPILERS.into_iter().filter(|(compiler, _)| installed(compiler));
    let both = there.flat_map(|compiler| [(compiler, "-O0"), (compiler, "-O2")]);
    both.map(|(compiler, level)| compile(&folder, compiler, &[&[level], flags].concat())).collect()
}

fn analysed(program: &Path) -> (Outcome, Value) {
    let out = program.with_extension("report");
    let outcome = run(common::fpgrind(&["--check", "--out", out.to_str().expect("UTF-8")], &[program]), b"");
    assert_eq!(outcome.status, 0, "{}: {}", program.display(), outcome.stderr);
    let json = std::fs::read_to_string(out.join("report.json")).expect("a report");
    (outcome, serde_json::from_str(&json).expect("JSON"))
}

fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().map(|word| word.parse().expect("a number")).collect()
}

#[test]
fn outside_of_fpgrind_nothing_is_wrong() {
    for program in builds("header-natively", &["-DREGION"]) {
        let outcome = run(common::native(&[&program]), b"");
        assert_eq!(outcome.stdout, "0.0 0.0 0.0 0.0\n0.0 1\n0.0 0.0\n", "{}", program.display());
        let translated = run(common::fpgrind(&["--mode", "none"], &[&program]), b"");
        assert_eq!(translated, outcome, "{}", program.display());
        let discarded = run(common::fpgrind(&["--mode", "log", "--quiet"], &[&program]), b"");
        assert_eq!(discarded, outcome, "{}", program.display());
    }
}

#[test]
fn a_program_can_ask_how_wrong_a_number_is_and_mark_results() {
    for program in builds("header-marks", &[]) {
        let (outcome, json) = analysed(&program);
        let shown = program.display();
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        let [f, d, l, right] = numbers(lines[0])[..] else { panic!("{shown}: {lines:?}") };
        // Of 24, 53 and 64 bits so many are left as 0.1 has behind the last place of a million.
        assert!(
            (19.0..24.0).contains(&f) && (18.0..30.0).contains(&d) && (18.0..30.0).contains(&l),
            "{shown}: {lines:?}"
        );
        assert_eq!((right, lines[1]), (0.0, "0.0 1"), "{shown}");
        let spots: Vec<&Value> = json["spots"].as_array().into_iter().flatten().collect();
        let marked: Vec<&&Value> = spots.iter().filter(|spot| text(&spot["function"]) == "FPGRIND_OUTPUT").collect();
        let lines: Vec<u64> = marked.iter().map(|spot| spot["site"]["line"].as_u64().unwrap_or(0)).collect();
        assert_eq!(lines, [31, 32, 33, 34], "{shown}: {spots:#?}");
        assert_eq!(marked.iter().filter(|spot| spot["wrong"] == 1).count(), 3, "{shown}");
    }
}

#[test]
fn only_regions_are_analysed_in_a_program_that_has_them() {
    for program in builds("header-regions", &["-DREGION"]) {
        let (outcome, json) = analysed(&program);
        let shown = program.display();
        let lines: Vec<&str> = outcome.stdout.lines().collect();
        let [_, d, ..] = numbers(lines[0])[..] else { panic!("{shown}: {lines:?}") };
        assert!(d > 18.0, "{shown}: {lines:?}");
        assert_eq!(lines[2], "0.0 0.0", "{shown}: what is outside is taken for right");
        let causes = json["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
        let functions: Vec<&str> = causes.iter().map(|cause| text(&cause["site"]["function"])).collect();
        assert!(
            !functions.is_empty() && !functions.iter().any(|function| function.contains("outside")),
            "{functions:?}"
        );
    }
}

#[test]
fn signals_between_marks_do_no_harm() {
    let folder = scratch("header-storm");
    let program = folder.join("storm");
    let mut gcc = Command::new("gcc");
    gcc.arg("-O1").arg("-g").arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
    assert_eq!(
        run(
            {
                gcc.arg(source("header/storm.c")).arg("-o").arg(&program);
                gcc
            },
            b""
        )
        .status,
        0
    );
    let natively = run(common::native(&[&program]), b"");
    for _ in 0..5 {
        let (outcome, json) = analysed(&program);
        assert_eq!(outcome.stdout, natively.stdout);
        assert_eq!(json["check_failures"], Value::Array(vec![]));
        assert_eq!(json["totals"]["corrupt_records"], 0);
    }
}
