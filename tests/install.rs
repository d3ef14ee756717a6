//! What `make install` and `make deb` put where.

mod common;

use common::{FPGRIND, guests::installed, run, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;

fn script(name: &str) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name));
    command.arg(FPGRIND);
    command
}

fn files(folder: &Path) -> Vec<String> {
    fn add(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            if entry.path().is_dir() { add(&entry.path(), found) } else { found.push(entry.path()) }
        }
    }
    let mut found = Vec::new();
    add(folder, &mut found);
    let mut names: Vec<String> = found
        .iter()
        .map(|path| path.strip_prefix(folder).expect("it is in there").to_str().expect("UTF-8").to_string())
        .collect();
    names.sort();
    names
}

#[test]
fn everything_is_installed_below_destdir_and_prefix() {
    let folder = scratch("install");
    // What `make install` runs when all is built.
    let mut command = script("install");
    command.env("DESTDIR", &folder).env("PREFIX", "/opt/fp");
    let outcome = run(command, b"");
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "", ""));
    let expected = [
        "opt/fp/bin/fpgrind",
        "opt/fp/include/fpgrind.h",
        "opt/fp/share/bash-completion/completions/fpgrind",
        "opt/fp/share/doc/fpgrind/CHANGELOG.md",
        "opt/fp/share/doc/fpgrind/LICENSE",
        "opt/fp/share/doc/fpgrind/README.md",
        "opt/fp/share/doc/fpgrind/TUTORIAL.md",
        "opt/fp/share/doc/fpgrind/report.schema.json",
        "opt/fp/share/fish/vendor_completions.d/fpgrind.fish",
        "opt/fp/share/man/man1/fpgrind.1",
        "opt/fp/share/zsh/site-functions/_fpgrind",
    ];
    assert_eq!(files(&folder), expected);
    let installed = folder.join("opt/fp");
    let header = std::fs::read(installed.join("include/fpgrind.h")).expect("the header");
    assert_eq!(header, include_bytes!("../include/fpgrind.h"));
    let page = std::fs::read_to_string(installed.join("share/man/man1/fpgrind.1")).expect("the page");
    assert!(page.contains(".TH fpgrind"));
    let version = run(common::native(&[installed.join("bin/fpgrind").to_str().expect("UTF-8"), "--version"]), b"");
    assert_eq!(version.stdout, concat!("fpgrind ", env!("CARGO_PKG_VERSION"), "\n"));
    // A program is built against what is installed, and run by it.
    let source = folder.join("marked.c");
    std::fs::write(&source, "#include <fpgrind.h>\nint main(void) { FPGRIND_OUTPUT(1.0); return 0; }\n")
        .expect("written");
    let mut gcc = Command::new("gcc");
    gcc.arg("-I").arg(installed.join("include")).arg(&source).arg("-o").arg(folder.join("marked"));
    assert_eq!(run(gcc, b"").status, 0);
    let mut marked = Command::new(installed.join("bin/fpgrind"));
    marked.current_dir(&folder).args(["--out", "report", "./marked"]);
    let outcome = run(marked, b"");
    assert!(outcome.status == 0 && outcome.stderr.contains("fpgrind: "), "{outcome:?}");
}

#[test]
fn makefile_and_script_agree() {
    let mut make = Command::new("make");
    make.args(["-n", "install", "DESTDIR=/there", "PREFIX=/usr"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let shown = run(make, b"").stdout;
    assert!(shown.contains("DESTDIR=\"/there\" PREFIX=\"/usr\" scripts/install target/release/fpgrind"), "{shown}");
}

#[test]
fn a_debian_package_is_made_and_unpacks() {
    if !installed("dpkg-deb") || !installed("objdump") {
        return;
    }
    let folder = scratch("package");
    let mut command = script("make-deb");
    command.arg(&folder);
    let outcome = run(command, b"");
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let package = folder.join(concat!("fpgrind_", env!("CARGO_PKG_VERSION"), "_amd64.deb"));
    let root = folder.join("root");
    let words = ["dpkg-deb", "-x", package.to_str().expect("UTF-8"), root.to_str().expect("UTF-8")];
    assert_eq!(run(common::native(&words), b"").status, 0);
    let expected = [
        "usr/bin/fpgrind",
        "usr/include/fpgrind.h",
        "usr/share/bash-completion/completions/fpgrind",
        "usr/share/doc/fpgrind/README.md",
        "usr/share/doc/fpgrind/TUTORIAL.md",
        "usr/share/doc/fpgrind/changelog.gz",
        "usr/share/doc/fpgrind/copyright",
        "usr/share/doc/fpgrind/report.schema.json",
        "usr/share/fish/vendor_completions.d/fpgrind.fish",
        "usr/share/man/man1/fpgrind.1.gz",
        "usr/share/zsh/vendor-completions/_fpgrind",
    ];
    assert_eq!(files(&root), expected);
    let fields = run(common::native(&["dpkg-deb", "-f", package.to_str().expect("UTF-8")]), b"").stdout;
    assert!(fields.contains("Package: fpgrind\n") && fields.contains("Depends: libc6 (>= 2."), "{fields}");
}
