//! The place of a cause is the user's own line, with the functions that it is inlined into, wherever the debug information lies; without any it
//! is what is left to say.

mod common;

use common::{fpgrind, run, scratch};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the guest in a folder of its own.
fn compile(name: &str, compiler: &[&str], flags: &[&str]) -> PathBuf {
    let program = scratch(&format!("sites-{name}")).join("inlined");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/report/inlined.c");
    tool(Command::new(compiler[0]).args(&compiler[1..]).args(flags).arg(source).arg("-o").arg(&program).arg("-lm"));
    program
}

fn tool(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The one cause of the guest, as report.json and the summary tell it, with the debug information of this folder.
fn cause(program: &Path, debug: &Path) -> (Value, String) {
    let out = program.with_file_name("report");
    let mut command = fpgrind(&["--check", "--out", out.to_str().expect("UTF-8")], &[program]);
    command.env("FPGRIND_DEBUG_DIRS", debug);
    let outcome = run(command, b"");
    let text = std::fs::read_to_string(out.join("report.json")).expect("report.json is written");
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!(report["causes"].as_array().map(Vec::len), Some(1), "{}", outcome.stderr);
    (report["causes"][0].clone(), outcome.stderr)
}

fn assert_told(cause: &Value, said: &str) {
    let site = &cause["site"];
    assert!([json!("gap"), json!("gap(double)")].contains(&site["function"]), "{site}");
    assert_eq!((&site["line"], &site["inlines"]), (&json!(9), &json!([])), "{site}");
    let lines: Vec<&Value> =
        site["inlined_into"].as_array().expect("a list").iter().map(|frame| &frame["line"]).collect();
    assert_eq!(lines, [14, 19], "{site}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ").replace("(double)", "");
    assert!(
        said.contains("gap (inlined.c:9) inlined into scaled at inlined.c:14, into outer at inlined.c:19"),
        "{said}"
    );
}

#[test]
fn an_inlined_operation_is_at_its_own_line_in_c_and_cpp() {
    for (name, compiler) in [("c", &["gcc"][..]), ("cpp", &["g++", "-x", "c++"])] {
        let (cause, said) = cause(&compile(name, compiler, &["-g", "-O2"]), Path::new(""));
        assert_told(&cause, &said);
    }
}

#[test]
fn debug_information_is_found_in_a_folder_that_the_environment_names() {
    let program = compile("elsewhere", &["gcc"], &["-g", "-O2", "-Wl,--build-id=0x0123456789abcdef"]);
    let whole = cause(&program, Path::new("")).0;
    let root = program.with_file_name("debug");
    let debug = root.join(".build-id/01/23456789abcdef.debug");
    std::fs::create_dir_all(debug.parent().expect("has one")).expect("is writable");
    tool(Command::new("objcopy").arg("--only-keep-debug").args([&program, &debug]));
    tool(Command::new("objcopy").arg("--strip-all").arg(&program));
    let (found, said) = cause(&program, &root);
    assert_told(&found, &said);
    assert_eq!(found["id"], whole["id"]);
    let nothing = cause(&program, Path::new("")).0;
    assert!(common::report::text(&nothing["site"]["text"]).starts_with("inlined+0x"), "{}", nothing["site"]);
}

#[test]
fn symbols_alone_tell_the_function_and_the_offset_in_it() {
    let (cause, said) = cause(&compile("symbols", &["gcc"], &["-O2"]), Path::new(""));
    let site = common::report::text(&cause["site"]["text"]);
    assert!(site.starts_with("outer+0x") && site.ends_with("(inlined)"), "{site} {said}");
}
