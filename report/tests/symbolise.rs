//! Addresses in programs that gcc makes become the names and lines that were compiled.

use fpgrind_analysis::{CheckFailure, Findings, Location, Spot, SpotKind};
use fpgrind_report::{RunInfo, Site, Sites};
use object::{Object, ObjectSymbol};
use std::path::{Path, PathBuf};
use std::process::Command;

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
const BIAS: u64 = 0x5555_5555_0000;

/// A compiled program in a folder of its own.
fn compile(test: &str, flags: &[&str]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("squares.c"), SOURCE).unwrap();
    run(Command::new("gcc").args(flags).args(["-pie", "-fPIE", "squares.c", "-o", "squares"]).current_dir(&dir));
    dir.join("squares")
}

fn run(command: &mut Command) {
    let output = command.output().expect("starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A function's first address and the one behind its last.
fn extent(program: &Path, name: &str) -> (u64, u64) {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbol = file.symbol_by_name(name).expect("has the symbol");
    (symbol.address(), symbol.address() + symbol.size())
}

fn at(address: u64) -> Location {
    Location { file: Some(0), address, pc: BIAS + address }
}

fn instruction(path: &Path, address: u64) -> Site {
    let findings = Findings {
        files: vec![path.into()],
        check_failures: vec![CheckFailure { location: at(address), native: 0, predicted: 0 }],
        ..Findings::default()
    };
    Sites::of(&findings).instruction(at(address))
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
fn separate_debug_information_is_found_by_its_link_and_that_of_another_build_is_not_used() {
    let program = compile("separate", &["-g", "-O0", "-Wl,--build-id"]);
    let (start, _) = extent(&program, "square");
    let dir = program.parent().unwrap();
    let tool = |name: &str, args: &[&str]| run(Command::new(name).args(args).current_dir(dir));
    tool("objcopy", &["--only-keep-debug", "squares", "squares.debug"]);
    tool("objcopy", &["--strip-all", "--add-gnu-debuglink=squares.debug", "squares"]);
    assert_eq!(instruction(&program, start).full(), "square (squares.c:1)");
    // The same code from edited source: its lines are not those of the program that ran.
    std::fs::write(dir.join("squares.c"), format!("\n{SOURCE}")).unwrap();
    tool("gcc", &["-g", "-O0", "-Wl,--build-id", "-pie", "-fPIE", "squares.c", "-o", "squares.debug"]);
    assert_eq!(instruction(&program, start).line, None);
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
