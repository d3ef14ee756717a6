//! A program that does the same again is said the same of again.

mod common;

use common::build;
use common::report::analyse_command;
use serde_json::Value;

/// Source, flags and arguments.
type Program = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Cancellation and loops, many zeros in doubt, functions.
const PROGRAMS: &[Program] = &[
    ("fpbench/programs/gram_schmidt.c", &["-O2"], &["12", "3"]),
    ("fpbench/programs/fft.c", &["-O3"], &["256", "3"]),
    ("fpbench/programs/quadratic.c", &["-O2"], &["200", "5"]),
    ("tests/guests/bit_tricks.c", &["-O1", "-static"], &[]),
    ("tests/guests/sqrt_difference.c", &["-O0"], &[]),
];

/// Three of four operations lose digits or are under suspicion each time, far more often than is looked at.
const LOSSY: &[Program] = &[
    ("fpbench/programs/kahan_sum.c", &["-O2"], &["5000", "12"]),
    ("fpbench/programs/kahan_sum.c", &["-O2", "-DREAL=float"], &["5000", "12"]),
];

#[test]
fn two_runs_of_a_program_have_the_same_findings() {
    for options in [&[][..], &["--real", "mpfr"], &["--memory", "2M"]] {
        assert_same(PROGRAMS, options, options);
    }
    // Compiled or not.
    for options in [&[][..], &["--real", "dd"], &["--real", "mpfr"], &["--threshold", "1"]] {
        assert_same(PROGRAMS, options, &[options, &["--no-compile"]].concat());
    }
}

#[test]
fn what_loses_digits_each_time_has_the_same_findings_compiled_or_not() {
    assert_same(LOSSY, &["--all-causes"], &["--all-causes", "--no-compile"]);
}

fn assert_same(programs: &[Program], options: &[&str], others: &[&str]) {
    for (source, flags, arguments) in programs {
        let program = build(source, flags);
        let command: Vec<&str> =
            [program.to_str().expect("UTF-8")].into_iter().chain(arguments.iter().copied()).collect();
        let [first, second] = [options, others].map(|options| {
            let mut report = analyse_command(&command, options).json;
            forget_what_may_differ(&mut report);
            report
        });
        assert!(first["spots"].as_array().is_some_and(|spots| !spots.is_empty()), "{source}: nothing to compare");
        assert_eq!(first, second, "{source} {flags:?} {options:?} {others:?}");
    }
}

/// How long it took, where the kernel put the program, and how much code ran: the C library's string functions take
/// another way where a string comes near the end of a page, and pass over other remains of floats on the stack.
fn forget_what_may_differ(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            ["seconds", "pc", "start", "end", "bias", "blocks", "checks", "stale_shadows"]
                .iter()
                .for_each(|name| drop(fields.remove(*name)));
            fields.values_mut().for_each(forget_what_may_differ);
        }
        Value::Array(values) => values.iter_mut().for_each(forget_what_may_differ),
        _ => {}
    }
}
