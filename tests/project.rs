//! What surrounds running a program: the project's file, help, completions, the man page.

mod common;

use common::{FPGRIND, Outcome, guests, run, scratch};
use std::path::Path;
use std::process::Command;

fn fpgrind(folder: &Path, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(FPGRIND);
    command.args(arguments).current_dir(folder);
    run(command, b"")
}

#[test]
fn the_projects_file_holds_options() {
    let folder = scratch("project-file");
    let program = common::build("tests/guests/kahan.c", &["-O2", "-DPROJECT"]);
    let program = program.to_str().expect("UTF-8");
    std::fs::write(folder.join("fpgrind.toml"), "out = \"there\"\nlog = \"summary\"\nthreshold = 60\n")
        .expect("written");
    let outcome = fpgrind(&folder, &[program]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    assert!(folder.join("there/report.json").is_file() && folder.join("summary").is_file());
    let outcome = fpgrind(&folder, &["--out", "elsewhere", program]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    assert!(folder.join("elsewhere/report.json").is_file());
    let json = std::fs::read_to_string(folder.join("elsewhere/report.json")).expect("a report");
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["threshold_bits"], 60.0);
}

#[test]
fn a_mistake_in_the_projects_file_stops_before_the_program_runs() {
    let folder = scratch("project-mistake");
    std::fs::write(folder.join("fpgrind.toml"), "# mine\nprecison = 512\n").expect("written");
    let outcome = fpgrind(&folder, &["touch", "made"]);
    assert_eq!(outcome.status, 125);
    assert!(
        outcome.stderr.starts_with("fpgrind: fpgrind.toml:2: ") && outcome.stderr.lines().count() == 1,
        "{outcome:?}"
    );
    assert!(!folder.join("made").exists());
    // It is of no concern to what does not run a program.
    assert_eq!(fpgrind(&folder, &["help"]).status, 0);
}

#[test]
fn help_is_there_for_topics_and_options() {
    let folder = scratch("project-help");
    for words in [&["help"][..], &["help", "reading", "a", "report"], &["help", "limits"], &["help", "--only"]] {
        let outcome = fpgrind(&folder, words);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{words:?}");
        assert!(outcome.stdout.lines().count() > 5, "{words:?}: {}", outcome.stdout);
    }
    let outcome = fpgrind(&folder, &["help", "nonsense"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (125, ""));
}

#[test]
fn shells_accept_their_completions() {
    let folder = scratch("project-completions");
    for shell in ["bash", "zsh", "fish"] {
        let outcome = fpgrind(&folder, &["completions", shell]);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{shell}");
        assert!(outcome.stdout.contains("follow-children"), "{shell}");
        if guests::installed(shell) {
            let mut check = Command::new(shell);
            check.arg("-n");
            let checked = run(check, outcome.stdout.as_bytes());
            assert_eq!((checked.status, checked.stderr.as_str()), (0, ""), "{shell}");
        }
    }
    // What bash offers for a word.
    let script = format!(
        "{}\nCOMP_WORDS=(fpgrind --prec); COMP_CWORD=1; _fpgrind fpgrind --prec fpgrind; echo ${{COMPREPLY[@]}}",
        fpgrind(&folder, &["completions", "bash"]).stdout
    );
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(script);
    assert_eq!(run(bash, b"").stdout.trim(), "--precision");
}

#[test]
fn the_man_page_is_one() {
    let folder = scratch("project-man");
    let page = fpgrind(&folder, &["manpage"]).stdout;
    assert!(page.contains(".TH fpgrind"), "{page}");
    if guests::installed("groff") {
        let mut groff = Command::new("groff");
        groff.args(["-man", "-Tascii", "-ww", "-P-cbou"]);
        let shown = run(groff, page.as_bytes());
        assert_eq!((shown.status, shown.stderr.as_str()), (0, ""));
        for text in ["--precision", "--fail-on", "Reading a report", "Herbie"] {
            assert!(shown.stdout.contains(text), "{text} is not in {}", shown.stdout);
        }
    }
}
