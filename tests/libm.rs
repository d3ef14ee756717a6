//! Mathematical functions mean what they mean: every function of libm, in every format, on ordinary and special arguments. Each result has one
//! operation as its shadow, whose real is what MPFR computes with far more digits; and the program gets the results, the errno and the
//! exception flags that it gets natively.

#[path = "libm/big.rs"]
mod big;
mod common;
#[path = "libm/functions.rs"]
mod functions;
#[path = "libm/guest.rs"]
mod guest;
#[path = "common/random.rs"]
mod random;
#[path = "libm/vectors.rs"]
mod vectors;

use big::Big;
use functions::{FUNCTIONS, Meaning};
use guest::{Case, Format, Guest, Reached};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// By what follows the functions' names.
const FORMATS: [Format; 4] = [Format::DOUBLE, Format::FLOAT, Format::LONG_DOUBLE, Format::FLOAT128];

/// Are the floats the same, but for the sign of zeros and what is in a NaN?
fn is_same(format: Format, a: u128, b: u128) -> bool {
    let [x, y] = [a, b].map(|bits| Big::from_bits(format.ty, bits));
    // SAFETY: valid numbers.
    unsafe {
        use gmp_mpfr_sys::mpfr::{equal_p, nan_p};
        equal_p(x.raw(), y.raw()) != 0 || nan_p(x.raw()) != 0 && nan_p(y.raw()) != 0
    }
}

/// What is wrong with a case, if anything is.
fn judge(guest: &Guest, case: &Case, shown: &str) -> Vec<String> {
    let (name, signature, meaning) = &FUNCTIONS[case.function];
    let format = guest.format;
    if signature.starts_with(['i', 'l']) {
        return vec![];
    }
    let truths: Option<Vec<Big>> = match meaning {
        Meaning::Is(truth) => Some(truth(&case.numbers())),
        Meaning::Ordinarily(truth) => case.is_ordinary.then(|| truth(&case.numbers())),
        Meaning::Moved | Meaning::NoFloat => None,
    };
    let mut wrong = Vec::new();
    for (part, slot) in case.slots.clone().enumerate() {
        let native = guest.native(slot);
        let shadow = guest.shadows[slot];
        let expected = match (&truths, meaning) {
            (Some(truths), _) => truths[part].to_bits(format.ty),
            (None, Meaning::Moved) => Some(native),
            (None, _) => None,
        };
        let Some(expected) = expected else { continue };
        let Some(shadow) = shadow else {
            // What was not moved has no shadow, because it had none; and there is no way from infinity, or from the smallest numbers.
            let is_normal = |bits: u128| format.is_normal(bits);
            let is_moved = matches!(meaning, Meaning::Moved) && case.args[0].1 != native;
            if !matches!(meaning, Meaning::Moved) || is_moved && is_normal(native) && is_normal(case.args[0].1) {
                wrong.push(format!("{name}{} {shown}: no shadow, part {part} is {native:#x}", format.suffix));
            }
            continue;
        };
        if shadow.native != native || !is_same(format, shadow.rounded, expected) {
            let real = shadow.rounded;
            wrong.push(format!("{name}{} {shown}: part {part} is {real:#x}, not {expected:#x}", format.suffix));
        }
    }
    wrong
}

fn check(format: Format, reached: Reached, flags: &[&str]) {
    let guest = Guest::run(format, reached, flags);
    let libm = guest::symbols(&guest::libm());
    let missing: Vec<String> = guest.missing.iter().map(|number| format.name(FUNCTIONS[*number].0)).collect();
    let is_there = |name: &&String| libm.contains(*name) && !name.starts_with("pow10") || name.starts_with("__");
    assert_eq!(missing.iter().filter(is_there).collect::<Vec<_>>(), [] as [&String; 0]);
    let mut wrong: Vec<String> = Vec::new();
    for case in guest.cases.iter().filter(|case| !guest.missing.contains(&case.function)) {
        wrong.extend(judge(&guest, case, &case.shown()));
    }
    let shown = wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {} cases\n{shown}", wrong.len(), guest.cases.len());
    // One operation each, and none besides.
    let shadows = guest.shadows.iter().flatten().count();
    assert!(shadows > 1000, "{shadows}");
    assert_eq!(guest.findings.totals.operations, shadows as u64);
    assert_eq!(guest.findings.check_failures, []);
    assert_eq!((guest.findings.totals.corrupt_records, guest.findings.totals.lost_shadows), (0, 0));
}

#[test]
fn every_function_of_doubles() {
    check(Format::DOUBLE, Reached::Pointer, &[]);
}

#[test]
fn every_function_of_floats() {
    check(Format::FLOAT, Reached::Pointer, &[]);
}

#[test]
fn every_function_of_long_doubles() {
    check(Format::LONG_DOUBLE, Reached::Pointer, &[]);
}

#[test]
fn every_function_of_quadruple_precision() {
    check(Format::FLOAT128, Reached::Pointer, &[]);
}

#[test]
fn every_function_called_by_name() {
    check(Format::DOUBLE, Reached::Linked, &[]);
}

#[test]
fn every_function_in_a_static_program() {
    for format in FORMATS {
        check(format, Reached::Linked, &["-static", "-DSTATICALLY"]);
    }
}

#[test]
fn every_lane_of_every_vector_function() {
    let outcome = vectors::check();
    let shown = outcome.wrong.iter().take(40).cloned().collect::<Vec<_>>().join("\n");
    assert!(outcome.wrong.is_empty(), "{} of {} lanes\n{shown}", outcome.wrong.len(), outcome.lanes);
    assert!(outcome.shadows > 1000 && outcome.shadows == outcome.lanes, "{}", outcome.shadows);
    assert_eq!(outcome.findings.totals.operations, outcome.shadows as u64);
    assert_eq!(outcome.findings.check_failures, []);
    assert_eq!(outcome.findings.totals.corrupt_records, 0);
}

/// What the user says of a program's functions: in one that has symbols, and in one that has none.
#[test]
fn functions_that_the_user_names() {
    for flags in [&["-O1", "-no-pie"][..], &["-O1", "-static", "-no-pie"]] {
        let program = common::build("tests/guests/named.c", flags);
        let folder = common::scratch(&format!("named{}", flags.concat()));
        let stripped = folder.join("stripped");
        let strip = Command::new("strip").arg(&program).arg("-o").arg(&stripped).status();
        assert!(strip.expect("strip is installed").success());
        let [series, length, wave] = ["series", "length", "wave"].map(|name| guest::address_of(&program, name));
        let named = "series(double, int) -> double = black box\nlength(float, float) -> float = hypot\nwave = sin\n";
        let by_address = format!(
            "stripped+{series:#x}(double, int) -> double = black box\nstripped+{length:#x} = hypotf\nstripped+{wave:#x} = sin\n"
        );
        // A dynamic program's printf is libc's.
        let printf = if flags.contains(&"-static") { guest::address_of(&program, "printf") } else { 0 };
        let by_address = if printf == 0 { by_address } else { format!("{by_address}stripped+{printf:#x} = printf\n") };
        for (program, text, called) in [(&program, named, "series"), (&stripped, &by_address, "stripped_")] {
            let wrap = folder.join("functions");
            std::fs::write(&wrap, text).expect("the folder is writable");
            let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
            let options = ["--check", "--wrap", &path(&wrap), "--out", &path(&folder)];
            let outcome = common::run(common::fpgrind(&options, &[program]), b"");
            assert_eq!(outcome.stdout, common::run(common::native(&[program]), b"").stdout);
            let report = std::fs::read_to_string(folder.join("report.json")).expect("a report");
            let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
            assert_eq!((&report["check_failures"], &report["notes"]), (&json!([]), &json!([])), "{}", outcome.stderr);
            let causes = report["causes"].as_array().expect("causes");
            let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            let is_wave = |cause: &&serde_json::Value| text(&cause["expression"]).contains("sin(");
            assert_eq!(causes.iter().filter(is_wave).count(), 1, "{}", outcome.stderr);
            let boxed = causes.iter().flat_map(|cause| cause["variables"].as_array().expect("variables"));
            let boxed: Vec<String> = boxed.map(|variable| text(&variable["stands_for"])).collect();
            assert!(boxed.iter().any(|call| call.starts_with(called)), "{}", outcome.stderr);
            // What is inside of the functions is not looked at.
            assert!(causes.iter().all(|cause| text(&cause["site"]["function"]) != "series"), "{}", outcome.stderr);
            let fpcore = std::fs::read_to_string(folder.join("causes.fpcore")).expect("causes.fpcore");
            assert!(fpcore.contains("a function that FPCore does not have"), "{fpcore}");
        }
    }
}

/// gfortran's powers are libgcc's and libgfortran's functions, and its intrinsics libm's.
#[test]
fn powers_and_functions_of_fortran() {
    if !common::guests::installed("gfortran") {
        return;
    }
    let program = common::guests::compile(&["gfortran", "-O1", "-g"], "powers.f90", &[]);
    let folder = common::scratch("powers");
    let out = folder.to_str().expect("UTF-8");
    let command = [program.as_os_str(), "3".as_ref()];
    let outcome = common::run(common::fpgrind(&["--check", "--out", out], &command), b"");
    assert_eq!(outcome.stdout, common::run(common::native(&command), b"").stdout);
    let report = std::fs::read_to_string(folder.join("report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!((&report["check_failures"], &report["totals"]["misnamed_calls"]), (&json!([]), &json!(0)));
    let causes = report["causes"].as_array().expect("causes");
    for (line, expression, stands_for) in
        [(14, "pow(", ""), (15, "pow(", ""), (17, " + 1e17)", "re_cpow("), (18, " + 1e16)", "jn(")]
    {
        let cause = causes.iter().find(|cause| cause["site"]["line"] == line);
        let cause = cause.unwrap_or_else(|| panic!("none in line {line}: {}", outcome.stderr));
        let shown = cause["expression"].as_str().expect("an expression");
        let boxed: Vec<&str> =
            cause["variables"].as_array().expect("variables").iter().filter_map(|v| v["stands_for"].as_str()).collect();
        let is_told = stands_for.is_empty() || boxed.iter().any(|call| call.starts_with(stands_for));
        assert!(shown.contains(expression) && is_told, "{line}: {shown} {boxed:?}");
    }
}

/// What is wrapped in the libm that is installed is in the table above, in each of its formats.
#[test]
fn no_function_is_left_out() {
    let libm = guest::symbols(&guest::libm());
    let tested: BTreeSet<String> =
        FORMATS.iter().flat_map(|format| FUNCTIONS.iter().map(|function| format.name(function.0))).collect();
    let narrowing = |name: &str| ["add", "sub", "mul", "div", "sqrt", "fma"].iter().any(|op| name.contains(op));
    let is_alias =
        |name: &str| name.contains(|c: char| c.is_ascii_digit()) && name.contains("f32") || name.contains("f64");
    let untested: Vec<&String> = libm
        .iter()
        .filter(|name| fpgrind_wrappers::math(name).is_some())
        .filter(|name| !tested.contains(*name) && !name.starts_with("__") && !is_alias(name) && !narrowing(name))
        .collect();
    assert!(untested.is_empty(), "{untested:?}");
    let wrapped = libm.iter().filter(|name| fpgrind_wrappers::math(name).is_some()).count();
    assert!(wrapped > 500, "{wrapped}");
}
