//! `fpgrind dump-ir` shows what fpgrind reads in a file, in the IR's own notation.

mod common;

use common::{BUILDS, FPGRIND, build, run, scratch};
use std::path::Path;
use std::process::Command;

fn dump_ir(arguments: &[&str]) -> common::Outcome {
    let mut command = Command::new(FPGRIND);
    command.arg("dump-ir").args(arguments);
    run(command, b"")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

#[test]
fn a_function_is_shown_with_its_operations_and_literals() {
    let program = build("examples/plotter.c", BUILDS[1]);
    let dumped = dump_ir(&[text(&program), "complex_sqrt"]);
    assert_eq!((dumped.status, dumped.stderr.as_str()), (0, ""));
    assert!(dumped.stdout.starts_with("; complex_sqrt, "), "{}", dumped.stdout);
    for part in [": f64 = sqrt v", ": f64 = mul v", "branch.", "const 0x3fe0000000000000"] {
        assert!(dumped.stdout.contains(part), "{part} is not in {}", dumped.stdout);
    }
}

#[test]
fn everything_shown_reads_back_as_the_same_blocks() {
    let dumped = dump_ir(&[text(&build("examples/plotter.c", BUILDS[0]))]).stdout;
    let without_headings: String =
        dumped.lines().filter(|line| !line.starts_with(';')).map(|line| format!("{line}\n")).collect();
    let blocks: Vec<&str> = without_headings.split("\n\n").filter(|text| !text.trim().is_empty()).collect();
    assert!(blocks.len() > 30, "{} blocks", blocks.len());
    for text in blocks {
        let block = fpgrind_ir::parse_block(text).unwrap_or_else(|error| panic!("{error} in {text}"));
        assert_eq!(block.to_string().trim(), text.trim());
    }
}

#[test]
fn what_cannot_be_shown_is_said_in_one_sentence() {
    let program = build("examples/plotter.c", BUILDS[1]);
    let wrong: [&[&str]; 5] = [
        &[],
        &["/no/such/file"],
        &["/etc/passwd"],
        &[text(&program), "no_such_function"],
        &[text(&program), "main", "more"],
    ];
    for arguments in wrong {
        let outcome = dump_ir(arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (125, ""), "{arguments:?}");
        assert!(outcome.stderr.starts_with("fpgrind: ") && outcome.stderr.lines().count() == 1, "{}", outcome.stderr);
    }
}

#[test]
fn a_program_of_that_name_can_still_be_run() {
    let folder = scratch("named-dump-ir");
    std::fs::copy("/bin/echo", folder.join("dump-ir")).expect("copying a program");
    let mut command = common::fpgrind(&["--mode", "none"], &["./dump-ir", "hello"]);
    command.current_dir(&folder);
    assert_eq!(run(command, b"").stdout, "hello\n");
}
