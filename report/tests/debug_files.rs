//! Lines and inlined functions come from debug information of every kind, wherever it lies.

mod common;

use common::{compile, extent, folder, instruction, instruction_with, run};
use fpgrind_report::{DebugFolders, Frame, Site};
use object::{Object, ObjectSection};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An operation in a function that is inlined into a second, and this into a third.
const CHAIN: &str = "\
#define INLINE static inline __attribute__((always_inline))
INLINE double inner(double x) {
    return x * x;
}
INLINE double middle(double x) {
    return inner(x);
}
#ifdef __cplusplus
extern \"C\"
#endif
double outer(double x) {
    return middle(x) - 1;
}
int main() { return outer(3) > 2; }
";

/// The same with a function of the C++ library inside.
const LIBRARY: &str = "\
#include <complex>
static inline __attribute__((always_inline)) double length(std::complex<double> z) {
    return std::norm(z) + z.imag();
}
extern \"C\" double outer(double x) {
    return length(std::complex<double>(x, x));
}
int main() { return outer(3) > 2; }
";

const NO_ID: &str = "-Wl,--build-id=none";
const WITH_ID: &str = "-Wl,--build-id";

fn chain(test: &str, flags: &[&str]) -> PathBuf {
    compile(test, "gcc", ("chain.c", CHAIN), &[&["-O1"], flags].concat())
}

/// What is said about the addresses of `outer` in a program, each thing once.
fn sites(program: &Path, extent: (u64, u64), folders: &[PathBuf]) -> Vec<Site> {
    let mut sites: Vec<Site> = Vec::new();
    for address in extent.0..extent.1 {
        let found = instruction_with(program, address, DebugFolders::new(folders.to_vec()));
        let site = Site { pc: 0, address: 0, ..found };
        if !sites.contains(&site) {
            sites.push(site);
        }
    }
    sites
}

fn told(frames: &[Frame]) -> Vec<String> {
    frames.iter().map(Frame::short).collect()
}

/// The whole chain is known, and where the subtraction is, which is not inlined.
fn assert_chain(sites: &[Site], file: &str) {
    let site = sites.iter().find(|site| site.line == Some(3)).unwrap_or_else(|| panic!("{sites:#?}"));
    let names = |name: &str| name == "inner" || name == "inner(double)";
    assert!(site.function.as_deref().is_some_and(names), "{site:?}");
    assert_eq!(site.short(), format!("{file}:3"));
    let into = told(&site.inlined_into).join(", ").replace("(double)", "");
    assert_eq!(into, format!("middle at {file}:6, outer at {file}:12"));
    assert_eq!(site.inlines, []);
    let own = sites.iter().find(|site| site.line == Some(12)).unwrap_or_else(|| panic!("{sites:#?}"));
    assert_eq!((own.full(), own.inlining()), (format!("outer ({file}:12)"), None));
}

fn section<'a>(file: &object::File<'a>, name: &str) -> Option<&'a [u8]> {
    file.section_by_name(name)?.data().ok()
}

#[test]
fn every_version_of_dwarf_tells_the_chain_of_inlined_functions() {
    for version in 2u16..=5 {
        for (compiler, file) in [("gcc", "chain.c"), ("g++", "chain.cc")] {
            let flag = format!("-gdwarf-{version}");
            let program = compile(&format!("dwarf-{version}-{compiler}"), compiler, (file, CHAIN), &["-O1", &flag]);
            let bytes = std::fs::read(&program).unwrap();
            let info = section(&object::File::parse(&*bytes).unwrap(), ".debug_info").expect("has it");
            assert_eq!(u16::from_le_bytes([info[4], info[5]]), version);
            assert_chain(&sites(&program, extent(&program, "outer"), &[]), file);
        }
    }
}

#[test]
fn what_the_librarys_headers_do_is_at_the_users_line_and_told_beside_it() {
    let program = compile("library", "g++", ("length.cc", LIBRARY), &["-O1", "-g"]);
    let sites = sites(&program, extent(&program, "outer"), &[]);
    assert!(sites.iter().all(|site| site.short().starts_with("length.cc:")), "{sites:#?}");
    let site = sites.iter().find(|site| !site.inlines.is_empty()).unwrap_or_else(|| panic!("{sites:#?}"));
    assert_eq!(
        (site.short().as_str(), told(&site.inlined_into).join(", ").as_str()),
        ("length.cc:3", "outer at length.cc:6")
    );
    assert!(site.inlines.iter().all(|frame| frame.file.as_ref().unwrap().starts_with("/usr/include")), "{site:#?}");
}

/// Moves a program's debug information into a file, relative to the program's folder, to which the program has a link.
fn split(program: &Path, debug: &str) {
    let dir = program.parent().unwrap();
    let debug = dir.join(debug);
    std::fs::create_dir_all(debug.parent().unwrap()).unwrap();
    run(Command::new("objcopy").arg("--only-keep-debug").args([program, &debug]));
    let link = format!("--add-gnu-debuglink={}", debug.display());
    run(Command::new("objcopy").args(["--strip-all", &link]).arg(program));
}

#[test]
fn a_link_leads_to_a_file_beside_the_program_or_in_a_folder_for_such() {
    // In .debug the file may have the program's own name, which is then also that of the program.
    for (number, place) in ["chain.debug", ".debug/chain.debug", ".debug/chain"].into_iter().enumerate() {
        for id in [NO_ID, WITH_ID] {
            let program = chain(&format!("linked-{number}{id}"), &["-g", id]);
            let extent = extent(&program, "outer");
            split(&program, place);
            assert_chain(&sites(&program, extent, &[]), "chain.c");
            std::fs::remove_file(program.with_file_name(place)).unwrap();
            assert_eq!(instruction(&program, extent.0).full(), format!("chain+{:#x}", extent.0));
        }
    }
}

#[test]
fn a_link_leads_to_where_the_programs_folder_is_mirrored() {
    let program = chain("mirrored", &["-g", NO_ID]);
    let extent = extent(&program, "outer");
    split(&program, "chain.debug");
    let root = folder("mirror");
    let mirror = root.join(program.parent().unwrap().strip_prefix("/").unwrap());
    std::fs::create_dir_all(&mirror).unwrap();
    std::fs::rename(program.with_file_name("chain.debug"), mirror.join("chain.debug")).unwrap();
    assert_chain(&sites(&program, extent, &["/nowhere".into(), root]), "chain.c");
    assert_eq!(instruction(&program, extent.0).line, None);
}

#[test]
fn a_build_id_leads_below_the_folders_for_debug_information() {
    let program = chain("by-id", &["-g", WITH_ID]);
    let extent = extent(&program, "outer");
    let bytes = std::fs::read(&program).unwrap();
    let id = object::File::parse(&*bytes).unwrap().build_id().unwrap().expect("has one").to_vec();
    let hex: Vec<String> = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let root = folder("ids");
    let place = root.join(format!(".build-id/{}/{}.debug", hex[0], hex[1..].concat()));
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    run(Command::new("objcopy").arg("--only-keep-debug").args([&program, &place]));
    run(Command::new("objcopy").arg("--strip-all").arg(&program));
    assert_chain(&sites(&program, extent, &[root]), "chain.c");
    assert_eq!(instruction(&program, extent.0).line, None);
}

#[test]
fn debug_information_of_another_build_is_not_used() {
    for id in [WITH_ID, NO_ID] {
        let program = chain(&format!("other-build{id}"), &["-g", id]);
        let extent = extent(&program, "outer");
        split(&program, "chain.debug");
        assert_chain(&sites(&program, extent, &[]), "chain.c");
        // The same code from edited source: its lines are not those of the program that ran.
        let source = program.with_file_name("chain.c");
        std::fs::write(&source, format!("\n{CHAIN}")).unwrap();
        let debug = program.with_file_name("chain.debug");
        run(Command::new("gcc").args(["-O1", "-g", id, "-pie", "-fPIE"]).arg(&source).arg("-o").arg(debug));
        assert_eq!(instruction(&program, extent.0).full(), format!("chain+{:#x}", extent.0), "{id}");
    }
}

#[test]
fn split_dwarf_is_read_from_objects_and_packages_and_lines_are_known_without() {
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let program = chain(&format!("split{version}"), &["-gsplit-dwarf", version]);
        let extent = extent(&program, "outer");
        assert_chain(&sites(&program, extent, &[]), "chain.c");
        let dir = program.parent().unwrap();
        let is_dwo = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "dwo");
        let objects: Vec<PathBuf> = dir.read_dir().unwrap().map(|entry| entry.unwrap().path()).filter(is_dwo).collect();
        assert!(!objects.is_empty());
        // Binutils' dwp knows nothing of DWARF 5.
        if version == "-gdwarf-4" {
            run(Command::new("dwp").args(["-e", "chain", "-o", "chain.dwp"]).current_dir(dir));
        }
        objects.iter().for_each(|object| std::fs::remove_file(object).unwrap());
        if version == "-gdwarf-4" {
            assert_chain(&sites(&program, extent, &[]), "chain.c");
            std::fs::remove_file(program.with_extension("dwp")).unwrap();
        }
        let found: Vec<String> = sites(&program, extent, &[]).iter().map(Site::full).collect();
        assert!(
            found.contains(&"outer (chain.c:12)".into()) && found.contains(&"outer (chain.c:3)".into()),
            "{found:?}"
        );
    }
}

#[test]
fn what_dwz_lets_files_share_is_read_and_lines_are_known_without() {
    let programs = ["shares-1", "shares-2"].map(|test| chain(test, &["-g", WITH_ID]));
    let extent = extent(&programs[0], "outer");
    let shared = programs[0].with_file_name("shared.debug");
    let mut dwz = Command::new("dwz");
    // For long files there is a mode that shares nothing.
    dwz.args(["-L", "none", "-m"]).arg(&shared).args(&programs);
    match dwz.output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => return eprintln!("dwz is not installed: files that share debug information are not tested"),
    }
    let bytes = std::fs::read(&programs[0]).unwrap();
    assert!(section(&object::File::parse(&*bytes).unwrap(), ".gnu_debugaltlink").is_some());
    assert_chain(&sites(&programs[0], extent, &[]), "chain.c");
    // A distribution has the program elsewhere than its debug information, which then has the link.
    split(&programs[0], ".debug/chain");
    assert_chain(&sites(&programs[0], extent, &[]), "chain.c");
    std::fs::remove_file(&shared).unwrap();
    assert_eq!(instruction(&programs[0], extent.0).short().split(':').next(), Some("chain.c"));
}
