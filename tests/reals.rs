//! Double-doubles, settled by MPFR where they leave a doubt, find what MPFR finds with a thousand bits, on every program of the benchmarks,
//! and on one that calls all elementary functions.

mod common;

use common::build;
use common::report::{Report, analyse_command, number, text};
use serde_json::Value;

/// Source, flags, size and repeats.
const PROGRAMS: &[(&str, &[&str], &str, &str)] = &[
    ("sum.c", &["-O2", "-DREAL=float"], "5000", "2"),
    ("sum.c", &["-O2"], "5000", "2"),
    ("kahan_sum.c", &["-O2", "-DREAL=float"], "2000", "2"),
    ("kahan_sum.c", &["-O2"], "2000", "2"),
    ("dot.c", &["-O2"], "5000", "2"),
    ("daxpy.c", &["-O3"], "2000", "2"),
    ("matmul.c", &["-O2"], "16", "2"),
    ("matmul.c", &["-O3", "-mavx2", "-mfma"], "16", "2"),
    ("nbody.c", &["-O2"], "50", "10"),
    ("lu.c", &["-O2"], "24", "2"),
    ("fft.c", &["-O2"], "256", "2"),
    ("stencil.c", &["-O2"], "32", "3"),
    ("relaxation.c", &["-O2"], "24", "3"),
    ("cholesky.c", &["-O2"], "24", "2"),
    ("rank_two.c", &["-O2"], "24", "3"),
    ("spectral_norm.c", &["-O2"], "24", "2"),
    ("quadratic.c", &["-O2"], "500", "2"),
    ("libm.c", &["-O2"], "200", "2"),
    ("gram_schmidt.c", &["-O2"], "12", "3"),
    ("../../tests/guests/elementary.c", &["-O2", "-fno-builtin"], "300", "1"),
    ("../../tests/guests/elementary.c", &["-O2", "-fno-builtin", "-DSINGLE"], "300", "1"),
];

#[test]
fn double_doubles_find_what_a_thousand_bits_find() {
    for (source, flags, size, repeats) in PROGRAMS {
        if flags.contains(&"-mfma") && !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
            continue;
        }
        let program = build(&format!("fpbench/programs/{source}"), flags);
        let command = [program.to_str().expect("UTF-8"), size, repeats];
        let with = |options: &[&str]| analyse_command(&command, options);
        let auto = with(&["--real", "auto"]);
        let [short, long] = ["256", "1000"].map(|bits| with(&["--real", "mpfr", "--precision", bits]));
        for list in ["causes", "spots"] {
            let [auto, short, long] = [&auto, &short, &long].map(|report| found(report, list));
            assert_eq!(names(&auto), names(&long), "{source} {flags:?}");
            for ((auto, short), long) in auto.iter().zip(&short).zip(&long) {
                // What is zero in the reals is noise in any number of digits, and so is how far a float is from it.
                let is_noise = (short.1 - long.1).abs() > 0.01;
                assert!(is_noise || (auto.1 - long.1).abs() < 0.01, "{source} {flags:?}: {auto:?} {long:?}");
            }
        }
    }
}

/// What makes a finding, and its bits.
fn found(report: &Report, list: &str) -> Vec<(String, f64)> {
    let describe = |found: &Value| {
        let what = if list == "causes" { text(&found["expression"]) } else { text(&found["id"]) };
        let count = if list == "causes" { &found["erroneous"] } else { &found["wrong"] };
        (format!("{} {what} {count}", text(&found["site"]["text"])), number(&found["max_bits"]))
    };
    let mut found: Vec<(String, f64)> = report.json[list].as_array().expect("a list").iter().map(describe).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn names(found: &[(String, f64)]) -> Vec<&str> {
    found.iter().map(|(name, _)| name.as_str()).collect()
}
