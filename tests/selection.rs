//! What the user selects is analysed, and nothing else is: not what runs beside it, not what only moves its results.

mod common;

use common::report::{Report, analyse_command, text};
use common::{build, guests};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Built once: a program that is replaced while it runs has no file any more to read its names from.
static PARTS: LazyLock<Vec<(&[&str], PathBuf)>> = LazyLock::new(|| {
    common::BUILDS.iter().map(|flags| (*flags, build("tests/guests/selection/parts.c", flags))).collect()
});

fn select(flags: &[&str], options: &[&str]) -> Report {
    let (_, program) = PARTS.iter().find(|(built, _)| *built == flags).expect("it is built so");
    // The program looks at its first argument only; what else is there gives each report a folder of its own.
    analyse_command(&[program.to_str().expect("UTF-8"), "1e6", &options.concat()], options)
}

/// The functions that causes are found in.
fn found(report: &Report) -> BTreeSet<&str> {
    report.causes().iter().map(|cause| text(&cause["site"]["function"])).collect()
}

fn operations(report: &Report) -> u64 {
    report.json["totals"]["operations"].as_u64().expect("a number")
}

fn set<'a>(functions: &[&'a str]) -> BTreeSet<&'a str> {
    functions.iter().copied().collect()
}

#[test]
fn only_what_is_selected_is_analysed() {
    for flags in common::BUILDS {
        let only = |options: &[&str]| select(flags, options);
        let report = only(&["--only", "difference"]);
        assert_eq!((found(&report), operations(&report)), (set(&["difference"]), 2), "{flags:?}");
        let report = only(&["--only", "function:r??t", "--only", "diff*"]);
        assert_eq!(found(&report), set(&["difference", "root"]), "{flags:?}");
        // Its square root is an operation, and the sines that others take are none.
        assert_eq!(operations(&report), 2 + 4, "{flags:?}");
    }
}

#[test]
fn what_is_excluded_is_not() {
    for flags in [&["-O0"][..], &["-O2"]] {
        let everything = select(flags, &[]);
        assert_eq!(found(&everything), set(&["difference", "root", "nothing", "inlined"]), "{flags:?}");
        let report = select(flags, &["--exclude", "root", "--exclude", "function:many"]);
        assert_eq!(found(&report), set(&["difference", "nothing", "inlined"]), "{flags:?}");
        assert!(operations(&report) < 20 && operations(&everything) > 3000, "{flags:?}");
        let report = select(flags, &["--only", "file:parts.c", "--exclude", "m*"]);
        // What is inlined into main is main's too; and that a 0 is `nothing`'s cannot be seen when main has moved it.
        assert_eq!(found(&report), set(&["difference", "root"]), "{flags:?}");
    }
}

#[test]
fn files_and_modules_are_selected_by_patterns_too() {
    let everything = operations(&select(&["-O2"], &[]));
    for (option, pattern) in [
        ("--only", "parts.c"),
        ("--only", "file:guests/selection/*.c"),
        ("--only", "module:parts-O2"),
        ("--only", "*/guests/parts*"),
        ("--exclude", "module:libm.so*"),
        ("--exclude", "file:parts.f90"),
    ] {
        assert_eq!(operations(&select(&["-O2"], &[option, pattern])), everything, "{option} {pattern}");
    }
    for (option, pattern) in [("--exclude", "parts.c"), ("--exclude", "module:parts*"), ("--only", "module:libz.so*")] {
        assert_eq!(operations(&select(&["-O2"], &[option, pattern])), 0, "{option} {pattern}");
    }
}

#[test]
fn inlined_code_is_selected_by_its_own_name() {
    let report = select(&["-O2"], &["--only", "inlined"]);
    assert_eq!(found(&report), set(&["inlined"]));
    assert_eq!(operations(&report), 2);
}

#[test]
fn the_analysis_starts_and_stops_where_functions_are_entered() {
    for flags in common::BUILDS {
        let report = select(flags, &["--start-at", "root"]);
        assert_eq!(found(&report), set(&["root", "nothing", "inlined"]), "{flags:?}");
        let report = select(flags, &["--stop-at", "root"]);
        assert_eq!(found(&report), set(&["difference"]), "{flags:?}");
        let report = select(flags, &["--start-at", "root", "--stop-at", "noth*"]);
        assert_eq!(found(&report), set(&["root"]), "{flags:?}");
        let report = select(flags, &["--start-at", "root", "--only", "nothing", "--only", "difference"]);
        assert_eq!(operations(&report), 2, "{flags:?}");
    }
}

#[test]
fn what_other_code_has_moved_is_known_again_where_it_is_printed() {
    for flags in common::BUILDS {
        let report = select(flags, &["--only", "difference"]);
        let wrong = report.wrong_spots();
        let [spot] = wrong[..] else { panic!("{flags:?}: one wrong output: {wrong:#?}") };
        assert_eq!(text(&spot["kind"]), "output", "{flags:?}");
        assert_eq!(report.causes()[0]["reaches"].as_array().map(Vec::len), Some(1), "{flags:?}");
    }
}

#[test]
fn a_zero_is_not_taken_for_another() {
    // `nothing` leaves a wrong 0 in the register in which `zero` leaves a right one, and which is printed first.
    for flags in common::BUILDS {
        let report = select(flags, &["--only", "nothing"]);
        assert!(report.wrong_spots().is_empty(), "{flags:?}: {:#?}", report.wrong_spots());
    }
}

#[test]
fn what_fits_nothing_is_said_in_a_sentence() {
    let report = select(&["-O2"], &["--only", "difference", "--exclude", "diference", "--start-at", "main"]);
    let notes: Vec<&str> = report.json["notes"].as_array().into_iter().flatten().map(text).collect();
    let said: Vec<&&str> = notes.iter().filter(|note| note.contains("fits")).collect();
    let [note] = said[..] else { panic!("one note: {notes:?}") };
    assert!(note.contains("--exclude diference") && !note.contains("main"), "{note}");
    let report = select(&["-O2"], &["--only", "difference"]);
    assert!(!report.outcome.stderr.contains("fits"), "{}", report.outcome.stderr);
}

#[test]
fn threads_and_children_keep_to_the_selection() {
    let program = guests::compile(guests::C, "selection/threads.c", &["-O2"]);
    let program = program.to_str().expect("UTF-8");
    let run = |options: &[&str]| operations(&analyse_command(&[program, &options.concat()], options));
    let all = run(&[]);
    assert!(all >= 600, "{all}");
    assert_eq!(run(&["--only", "computed"]), 600);
    assert_eq!(run(&["--start-at", "main"]), all);
    assert_eq!(run(&["--exclude", "threads.c"]), 0);
}

#[test]
fn programs_run_as_they_do_natively_whatever_is_selected() {
    let ways: [&[&str]; 3] =
        [&["--exclude", "*a*"], &["--start-at", "*e*", "--stop-at", "*a*"], &["--only", "function:*n*"]];
    for source in ["signals/delivery.c", "signals/jumps.c", "threads/pthreads.c", "binaries/shapes.c"] {
        let program = guests::compile(guests::C, source, &["-O2", "-DSELECTED", "-lm"]);
        let program = program.to_str().expect("UTF-8");
        let out = common::scratch(&format!("selected-{}", source.replace('/', "-")));
        let out = out.to_str().expect("UTF-8");
        for case in common::run(common::native(&[program]), b"").stdout.lines() {
            let natively = common::run(common::native(&[program, case]), b"");
            for way in ways {
                let options = [&["--quiet", "--check", "--out", out][..], way].concat();
                let outcome = common::run(common::fpgrind(&options, &[program, case]), b"");
                assert_eq!(guests::difference(&natively, &outcome), None, "{source}, {case}, {way:?}");
            }
        }
    }
}
