//! Programs that gcc makes, and what is said about their addresses.

use fpgrind_analysis::{CheckFailure, Findings, Location};
use fpgrind_report::{DebugFolders, Site, Sites};
use object::{Object, ObjectSymbol};
use std::path::{Path, PathBuf};
use std::process::Command;

const BIAS: u64 = 0x5555_5555_0000;

/// An empty folder.
pub fn folder(test: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// A compiled program in a folder of its own, where its source is, too.
pub fn compile(test: &str, compiler: &str, source: (&str, &str), flags: &[&str]) -> PathBuf {
    let (dir, (name, text)) = (folder(test), source);
    std::fs::write(dir.join(name), text).unwrap();
    let program = Path::new(name).with_extension("");
    run(Command::new(compiler).args(flags).args(["-pie", "-fPIE", name, "-o"]).arg(&program).current_dir(&dir));
    dir.join(program)
}

pub fn run(command: &mut Command) {
    let output = command.output().expect("starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A function's first address and the one behind its last.
pub fn extent(program: &Path, name: &str) -> (u64, u64) {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbol = file.symbol_by_name(name).expect("has the symbol");
    (symbol.address(), symbol.address() + symbol.size())
}

pub fn at(address: u64) -> Location {
    Location { file: Some(0), address, pc: BIAS + address }
}

pub fn instruction(path: &Path, address: u64) -> Site {
    instruction_with(path, address, DebugFolders::new([]))
}

pub fn instruction_with(path: &Path, address: u64, folders: DebugFolders) -> Site {
    let findings = Findings {
        files: vec![path.into()],
        check_failures: vec![CheckFailure { location: at(address), native: 0, predicted: 0 }],
        ..Findings::default()
    };
    Sites::with(&findings, folders).instruction(at(address))
}
