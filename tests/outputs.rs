//! An output is an output whichever library prints it: what each language has for it is reported at the user's line, once, with the
//! value and the bits that it lacks.

mod common;

use common::guests::{CPP, compile, installed, source};
use common::report::{Report, analyse_command, number, text};
use std::path::Path;
use std::process::Command;

/// What every guest here prints: sqrt(1e12 + 1) - sqrt(1e12), of whose 53 bits 35 are wrong.
const COMPUTED: f64 = 5.00003807246685e-7;
const CORRECT: f64 = 4.99999999999875e-7;
const BITS: f64 = 35.07;
/// As much as is left of these in a single.
const BITS_OF_SINGLE: f64 = 6.07;

/// A line of a guest's source that prints an inaccurate number: `function`, then perhaps a conversion, `single` if that is its type.
struct Expected<'a> {
    line: u64,
    function: &'a str,
    conversion: &'a str,
    single: bool,
    /// Where it lies in the bytes that are written as they are.
    offset: Option<u64>,
}

fn expected<'a>(source: &'a str, comment: &str) -> Vec<Expected<'a>> {
    let lines =
        source.lines().enumerate().skip(3).filter_map(|(index, line)| Some((index, line.rsplit_once(comment)?.1)));
    lines
        .map(|(index, said)| {
            let words: Vec<&str> = said.trim_end_matches("*/").split_whitespace().collect();
            Expected {
                line: index as u64 + 1,
                function: words[0],
                conversion: words.get(1).copied().filter(|word| word.starts_with('%')).unwrap_or(""),
                single: words.contains(&"single"),
                offset: words.get(1).and_then(|word| word.parse().ok()),
            }
        })
        .collect()
}

/// Every line that says so is an inaccurate output, and no other.
fn judge(report: &Report, name: &str, comment: &str) {
    let code = std::fs::read_to_string(source(name)).expect("a guest's source");
    let expected = expected(&code, comment);
    let wrong: Vec<_> = report.spots("output").filter(|spot| spot["wrong"] != 0).collect();
    for Expected { line, function, conversion, single, offset } in &expected {
        let of_line: Vec<_> = wrong.iter().filter(|spot| spot["site"]["line"] == *line).collect();
        let [spot] = of_line.as_slice() else { panic!("{}: line {line} prints {of_line:#?}", report.of) };
        assert!(text(&spot["site"]["file"]).ends_with(name), "{}: {spot:#}", report.of);
        assert_eq!(
            (text(&spot["function"]), text(&spot["conversion"])),
            (*function, *conversion),
            "{}: {spot:#}",
            report.of
        );
        assert_eq!(spot["offset"].as_u64(), *offset, "{}: {spot:#}", report.of);
        assert_eq!(spot["wrong"], 1, "{}: {spot:#}", report.of);
        judge_numbers(report, spot, *single);
    }
    assert_eq!(wrong.len(), expected.len(), "{}: {wrong:#?}", report.of);
}

fn judge_numbers(report: &Report, spot: &serde_json::Value, single: bool) {
    let near = |value: &serde_json::Value, wanted: f64| {
        let value = number(value);
        // std::to_string shows so few digits that it was given a million times as much.
        (value / wanted - 1.0).abs() < 1e-6 || (value / wanted / 1e6 - 1.0).abs() < 1e-6
    };
    assert!(near(&spot["computed"], COMPUTED) && near(&spot["correct"], CORRECT), "{}: {spot:#}", report.of);
    let bits = if single { BITS_OF_SINGLE } else { BITS };
    assert!((number(&spot["max_bits"]) - bits).abs() < 0.6, "{}: {spot:#}", report.of);
}

fn run(program: &Path) -> Report {
    analyse_command(&[program.as_os_str()], &[])
}

#[test]
fn what_the_c_library_prints() {
    let c = &["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-g"];
    for flags in [&["-O0"][..], &["-O2"], &["-O2", "-D_FORTIFY_SOURCE=2"], &["-O1", "-static"]] {
        let flags: Vec<&str> = flags.iter().copied().chain(["-lm"]).collect();
        judge(&run(&compile(c, "outputs/outputs.c", &flags)), "outputs/outputs.c", "; /* ");
    }
}

#[test]
fn what_the_c_library_calls_back_is_analysed() {
    for flags in [&["-O0", "-lm"][..], &["-O2", "-lm"], &["-O1", "-static", "-lm"]] {
        let report = run(&compile(&["gcc", "-g"], "outputs/callback.c", flags));
        let wrong: u64 = report.spots("branch").map(|spot| spot["wrong"].as_u64().unwrap_or(0)).sum();
        assert_eq!((report.outcome.stdout.trim(), wrong), ("3", 3), "{}", report.of);
    }
}

#[test]
fn what_is_written_as_it_is() {
    let c = &["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-g"];
    for flags in [&["-O0"][..], &["-O2"], &["-O1", "-static"]] {
        let flags: Vec<&str> = flags.iter().copied().chain(["-lm"]).collect();
        judge(&run(&compile(c, "outputs/raw.c", &flags)), "outputs/raw.c", "; /* ");
    }
}

#[test]
fn what_is_sent_by_mpi() {
    let header = Path::new("/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h");
    if !installed("mpicc") || !header.exists() {
        return;
    }
    for flags in [&["-O0", "-lm"][..], &["-O2", "-lm"]] {
        let program = compile(&["mpicc", "-g"], "outputs/messages.c", flags);
        judge(&analyse_command(&[program.as_os_str()], &[]), "outputs/messages.c", "; /* ");
    }
}

#[test]
fn what_is_written_by_hdf5() {
    let library = "/usr/lib/x86_64-linux-gnu/libhdf5_serial.so.103";
    if !Path::new(library).exists() {
        return;
    }
    let program = compile(&["gcc", "-g"], "outputs/hdf5.c", &["-O1", library, "-lm"]);
    let file = common::scratch("outputs-hdf5").join("written.h5");
    judge(&analyse_command(&[program.as_os_str(), file.as_os_str()], &[]), "outputs/hdf5.c", "; /* ");
}

#[test]
fn what_streams_and_their_like_print() {
    if !installed("g++") {
        return;
    }
    for flags in [&["-O0"][..], &["-O2"], &["-O2", "-static"]] {
        judge(&run(&compile(CPP, "outputs/outputs.cpp", flags)), "outputs/outputs.cpp", " // ");
    }
    if installed("clang++") && Path::new("/usr/lib/x86_64-linux-gnu/libc++.so").exists() {
        let clang = &["clang++", "-std=c++17", "-stdlib=libc++", "-g"];
        let report = run(&compile(clang, "outputs/outputs.cpp", &["-O1"]));
        let wrong = report.spots("output").filter(|spot| spot["wrong"] != 0);
        assert_eq!(wrong.filter(|spot| spot["function"] == "operator<<").count(), 8, "{}", report.outcome.stderr);
    }
}

#[test]
fn what_fortran_writes() {
    if !installed("gfortran") {
        return;
    }
    let gfortran = &["gfortran", "-g"];
    for flags in [&["-O0"][..], &["-O2"], &["-O1", "-static"]] {
        judge(&run(&compile(gfortran, "outputs/outputs.f90", flags)), "outputs/outputs.f90", " ! ");
    }
    judge(&run(&compile(gfortran, "outputs/namelist.f90", &["-O1"])), "outputs/namelist.f90", " ! ");
}

/// No instruction computes in quadruple precision, and libraries that do are followed as if one did.
#[test]
fn what_is_computed_in_quadruple_precision() {
    if !installed("gfortran") {
        return;
    }
    for flags in [&["-O0"][..], &["-O2"], &["-O1", "-static"]] {
        let of_c: Vec<&str> = flags.iter().copied().chain(["-lquadmath", "-lm"]).collect();
        let c = &["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-g"];
        judge(&run(&compile(c, "outputs/quad.c", &of_c)), "outputs/quad.c", "; /* ");
        judge(&run(&compile(&["gfortran", "-g"], "outputs/quad.f90", flags)), "outputs/quad.f90", " ! ");
    }
}

#[test]
fn what_rust_formats() {
    if !installed("rustc") {
        return;
    }
    for level in ["-Copt-level=0", "-Copt-level=2"] {
        let program = compile(&["rustc", "--edition=2021", "-g"], "outputs/outputs.rs", &[level]);
        judge(&run(&program), "outputs/outputs.rs", "; // ");
    }
}

#[test]
fn what_go_formats() {
    if !installed("go") {
        return;
    }
    let (source, folder) = (source("outputs/outputs.go"), common::scratch("outputs-go"));
    let program = folder.join("outputs");
    let mut build = Command::new("go");
    build
        .args(["build", "-o"])
        .arg(&program)
        .arg(&source)
        .env("GOCACHE", folder.join("cache"))
        .env("GOFLAGS", "-mod=mod");
    let built = common::run(build, b"");
    assert_eq!(built.status, 0, "{}", built.stderr);
    // Where the machine is busy, Go interrupts what has run for long by signals, and what they interrupt may lose a shadow; this is about
    // formatting.
    let command = ["env".as_ref(), "GODEBUG=asyncpreemptoff=1".as_ref(), program.as_os_str()];
    judge(&analyse_command(&command, &["--follow-children", "all"]), "outputs/outputs.go", " // ");
}

#[test]
fn what_v8_prints() {
    if !installed("node") {
        return;
    }
    let text = "const x = parseFloat('1e12'); const d = Math.sqrt(x + 1) - Math.sqrt(x);\n\
                console.log(d); console.log(d.toFixed(12)); console.log(d.toPrecision(3));";
    let report = analyse_command(&["node", "-e", text], &[]);
    let wrong: Vec<_> = report.spots("output").filter(|spot| spot["wrong"] != 0).collect();
    assert_eq!(wrong.len(), 3, "{}", report.outcome.stderr);
    for spot in wrong {
        assert_eq!(spot["function"], "toString", "{spot:#}");
        judge_numbers(&report, spot, false);
    }
}

/// Interpreters, each with a program that prints the difference of square roots and then (1e16 + 1) - 1e16 (1e22 in Perl, which adds integers as integers), in several ways: how many
/// numbers that is, and what prints them.
const INTERPRETED: &[(&[&str], u64, &[&str])] = &[
    (
        &[
            "/usr/bin/python3",
            "-S",
            "-c",
            "from math import sqrt\nx = 1e12\nd = sqrt(x + 1) - sqrt(x)\ny = 1e16\nz = (y + 1) - y\n\
             print(d)\nprint(f'{d:.3f} {d!r}')\nprint('%g' % d, [d], str(complex(1, d)))\nprint(z)",
        ],
        6,
        &["str"],
    ),
    (
        &[
            "/usr/bin/python3",
            "-c",
            "import numpy\nx = numpy.array([1e12])\nd = numpy.sqrt(x + 1) - numpy.sqrt(x)\ny = numpy.array([1e16])\n\
             print(d)\nprint((y + 1) - y)\nprint(repr(d[0]))",
        ],
        2,
        &["str"],
    ),
    (
        &[
            "perl",
            "-e",
            "$x = 1e12; $d = sqrt($x + 1) - sqrt($x); $y = 1e22; $z = ($y + 1) - $y; print $d, \"\\n\"; printf \"%.3f %g\\n\", $d, $d; printf \"%f\\n\", $z;",
        ],
        3,
        &["sprintf", "gcvt", "snprintf"],
    ),
    (
        &[
            "mawk",
            "BEGIN { x = 1e12; d = sqrt(x + 1) - sqrt(x); y = 1e16; z = (y + 1) - y; print d; printf \"%.3f\\n\", d; s = d \"\"; print s; printf \"%f\\n\", z }",
        ],
        3,
        &["printf", "fprintf", "sprintf"],
    ),
    (
        &[
            "gawk",
            "BEGIN { x = 1e12; d = sqrt(x + 1) - sqrt(x); y = 1e16; z = (y + 1) - y; print d; printf \"%.3f\\n\", d; s = d \"\"; print s; printf \"%f\\n\", z }",
        ],
        2,
        &["snprintf", "sprintf"],
    ),
    (
        &[
            "octave-cli",
            "--no-init-file",
            "--no-history",
            "--eval",
            "x = 1e12; d = sqrt(x + 1) - sqrt(x), disp(d); printf('%g\\n', d); [1 d], v = [d; d]; printf('%g\\n', v(2)); y = 1e16; printf('%f\\n', (y + 1) - y);",
        ],
        5,
        &["operator<<", "vasprintf"],
    ),
    (
        &[
            "Rscript",
            "--vanilla",
            "-e",
            "x <- 1e12; d <- sqrt(x + 1) - sqrt(x); y <- 1e16; z <- (y + 1) - y; print(d); cat(d, '\\n'); print(c(1, d)); print(paste(d)); cat(sprintf('%.3f\\n', d)); print(z)",
        ],
        5,
        &["print", "snprintf"],
    ),
];

#[test]
fn what_interpreters_print() {
    for (command, count, functions) in INTERPRETED {
        if !installed(command[0].trim_start_matches("/usr/bin/")) {
            continue;
        }
        let report = analyse_command(command, &["--follow-children", "all"]);
        let wrong: Vec<_> = report.spots("output").filter(|spot| spot["wrong"] != 0).collect();
        for spot in &wrong {
            assert!(functions.contains(&text(&spot["function"])), "{}: {spot:#}", report.of);
        }
        let [mut roots, mut sum] = [0, 0];
        for spot in &wrong {
            let times = spot["wrong"].as_u64().unwrap_or(0);
            // A place that prints both shows the worse.
            if number(&spot["computed"]) == 0.0 {
                assert_eq!(number(&spot["correct"]), 1.0, "{}: {spot:#}", report.of);
                assert!(number(&spot["max_bits"]) > 60.0, "{}: {spot:#}", report.of);
                sum += 1;
                roots += times - 1;
            } else {
                judge_numbers(&report, spot, false);
                roots += times;
            }
        }
        assert_eq!((roots, sum), (*count, 1), "{}: {wrong:#?}", report.of);
        // A double that was a long double meanwhile lacks nothing.
        let widened = report.causes().iter().filter(|cause| text(&cause["expression"]).starts_with("long_double("));
        assert_eq!(widened.count(), 0, "{}", report.outcome.stderr);
    }
}
