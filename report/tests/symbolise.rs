//! Addresses in programs that gcc makes become the names and lines that were compiled.

mod common;

use common::{at, extent, instruction};
use fpgrind_analysis::{CheckFailure, Findings, Location, Spot, SpotKind};
use fpgrind_report::{RunInfo, Site, Sites};
use std::path::{Path, PathBuf};

const SOURCE: &str = "\
double square(double x) {
    return x * x - 1;
}
static inline __attribute__((always_inline)) double twice(double x) { return x + x; }
double mangled(double x) __asm__(\"_ZN4plot7mangledEd\");
double mangled(double x) { return
    twice(x); }
int main(void) { return square(3) > mangled(2); }
";
fn compile(test: &str, flags: &[&str]) -> PathBuf {
    common::compile(test, "gcc", ("squares.c", SOURCE), flags)
}

fn call_returning_to(path: &Path, address: u64) -> Site {
    let spot = Spot {
        location: at(address),
        kind: SpotKind::Output { function: "printf".into(), argument: 0, conversion: "%f".into() },
        count: 1,
        wrong: 0,
        max_bits: 0.0,
        average_bits: 0.0,
        computed: 0.0.into(),
        correct: 0.0.into(),
        offset: None,
        expr: None,
        accumulated: None,
        accumulated_in: vec![],
        causes: vec![],
        effect: None,
    };
    let findings = Findings { files: vec![path.into()], spots: vec![spot.clone()], ..Findings::default() };
    Sites::of(&findings).spot(&spot)
}

#[test]
fn debug_information_gives_function_and_line() {
    let program = compile("with_lines", &["-g", "-O0"]);
    let (start, _) = extent(&program, "square");
    let site = instruction(&program, start);
    assert_eq!((site.full().as_str(), site.short().as_str()), ("square (squares.c:1)", "squares.c:1"));
    assert!(site.file.as_ref().unwrap().is_absolute(), "{site:?}");
    assert_eq!(site.module.as_deref(), Some(program.as_path()));
}

#[test]
fn an_inlined_operation_is_where_its_source_is() {
    let program = compile("inlined", &["-g", "-O1"]);
    let (start, _) = extent(&program, "_ZN4plot7mangledEd");
    let found = (start..start + 8).map(|address| instruction(&program, address).full()).collect::<Vec<_>>();
    assert!(found.contains(&"twice (squares.c:4)".to_string()), "{found:?}");
}

#[test]
fn a_return_address_belongs_to_the_call_before_it() {
    let program = compile("returns", &["-g", "-O0"]);
    let (_, end) = extent(&program, "square");
    assert_eq!(call_returning_to(&program, end).full(), "square (squares.c:3)");
    assert_ne!(instruction(&program, end).line, Some(3));
}

#[test]
fn without_debug_information_symbols_are_demangled_and_offset() {
    let program = compile("symbols_only", &["-O0"]);
    let (start, _) = extent(&program, "_ZN4plot7mangledEd");
    let site = instruction(&program, start + 4);
    assert_eq!(site.full(), "plot::mangled(double)+0x4 (squares)");
    assert_eq!(site.short(), "plot::mangled(double)+0x4");
}

#[test]
fn without_symbols_the_module_and_offset_remain() {
    let program = compile("stripped", &["-s"]);
    assert_eq!(instruction(&program, 0xf_1139).short().split('+').next(), Some("squares"));
    let missing = program.with_file_name("gone.so");
    assert_eq!(instruction(&missing, 0x1139).full(), "gone.so+0x1139");
    let garbage = program.with_file_name("garbage.so");
    std::fs::write(&garbage, b"\x7fELF\x02\x01\x01 not really").unwrap();
    assert_eq!(instruction(&garbage, 0x1139).full(), "garbage.so+0x1139");
}

#[test]
fn an_address_outside_all_files_stays_an_address() {
    let location = Location::outside_files(0x5555_5575_0000);
    let failure = CheckFailure { location, native: 0, predicted: 0 };
    let findings = Findings { files: vec!["x.so".into()], check_failures: vec![failure], ..Findings::default() };
    assert_eq!(Sites::of(&findings).instruction(location).full(), "0x555555750000");
}

#[test]
fn the_files_of_a_report_are_written_into_a_new_folder() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("written/deep");
    let _ = std::fs::remove_dir_all(&dir);
    let report = fpgrind_report::Report::new(Findings::default(), RunInfo::default());
    fpgrind_report::write(&dir, &report).unwrap();
    for file in ["report.txt", "report.json", "causes.fpcore", "report.sarif", "report.html"] {
        assert!(dir.join(file).is_file(), "{file}");
    }
    assert!(std::fs::read_to_string(dir.join("report.txt")).unwrap().contains(&fpgrind_report::summary(
        &report,
        fpgrind_report::Look::PLAIN,
        false
    )));
}
