//! The commands in README.md and docs/ do what is shown there.
//!
//! Blocks marked `console` are run, in the order of the page, in a folder with the examples: what follows `$ ` is a command for a shell, what
//! follows that is what it prints. Times and process numbers may differ, and how much an interpreter computes besides, which hangs on its version; `...` stands for any lines. With FPGRIND_BLESS set
//! what is printed is put into the page instead. (Blocks marked otherwise are not run: those that build or install fpgrind.)

mod common;

use common::{guests::installed, note, run, scratch};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[derive(Debug)]
struct Step {
    /// The line of the page that has the command, counted from 0, and the lines of what it prints.
    line: usize,
    command: String,
    printed: Vec<String>,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut inside, mut printing) = (false, false);
    for (line, text) in page.lines().enumerate() {
        if text.starts_with("```") {
            inside = text == "```console";
            printing = false;
        } else if let (true, Some(command)) = (inside, text.strip_prefix("$ ")) {
            steps.push(Step { line, command: command.into(), printed: Vec::new() });
            printing = true;
        } else if printing {
            steps.last_mut().expect("one has begun").printed.push(text.into());
        }
    }
    steps
}

/// What may differ from run to run, or from one interpreter to the next, is made the same.
fn usual(line: &str, interpreted: bool) -> String {
    let mut usual = String::new();
    let mut rest = line.trim_end();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let end = number.find(|c: char| !c.is_ascii_hexdigit() && !".,x".contains(c)).unwrap_or(number.len());
        let (number, behind) = number.split_at(end);
        let varies = before.ends_with('(') && behind.starts_with(" s")
            || before.ends_with("0x")
            || before.ends_with('+') && number.starts_with("0x")
            || line.starts_with("details: ") && before.ends_with('.')
            || before.ends_with("python")
            || interpreted && [" operations", " decisions", " conversions"].iter().any(|what| behind.starts_with(what));
        usual.push_str(before);
        usual.push_str(if varies { "N" } else { number });
        rest = behind;
    }
    usual + rest
}

/// Whether lines are those that were expected of a program, or of one that is interpreted; `...` stands for any.
fn fits(expected: &[String], lines: &[String], interpreted: bool) -> bool {
    match expected.split_first() {
        None => lines.is_empty(),
        Some((any, rest)) if any.trim() == "..." => {
            (0..=lines.len()).any(|skipped| fits(rest, &lines[skipped..], interpreted))
        }
        Some((first, rest)) => {
            let is_same = |line: &String| usual(first, interpreted) == usual(line, interpreted);
            lines.first().is_some_and(is_same) && fits(rest, &lines[1..], interpreted)
        }
    }
}

fn run_page(name: &str) {
    let page = root().join(name);
    let text = std::fs::read_to_string(&page).expect("the page is there");
    let folder = scratch(&format!("docs-{}", name.replace('/', "-")));
    for example in std::fs::read_dir(root().join("examples")).expect("examples").flatten() {
        std::fs::copy(example.path(), folder.join(example.file_name())).expect("copied");
    }
    let fpgrind = PathBuf::from(common::FPGRIND);
    let tools = fpgrind.parent().expect("it is in a folder").display().to_string();
    let steps = steps(&text);
    assert!(!steps.is_empty(), "{name} shows no commands");
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let mut problems = Vec::new();
    for step in &steps {
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("{{ {}\n}} 2>&1", step.command)).current_dir(&folder);
        shell.env("PATH", format!("{tools}:/usr/bin:/bin")).env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
        let printed: Vec<String> = run(shell, b"").stdout.lines().map(String::from).collect();
        if !fits(&step.printed, &printed, step.command.contains("python3 ")) {
            problems.push((step, printed));
        }
    }
    if std::env::var_os("FPGRIND_BLESS").is_some() {
        for (step, printed) in problems.into_iter().rev() {
            lines.splice(step.line + 1..step.line + 1 + step.printed.len(), printed);
        }
        std::fs::write(&page, lines.join("\n") + "\n").expect("the page can be written");
        return;
    }
    for (step, printed) in &problems {
        note(&format!("{name}:{}: $ {}\n{}", step.line + 1, step.command, printed.join("\n")));
    }
    assert!(problems.is_empty(), "{name}: {} commands print something else than is shown", problems.len());
}

#[test]
fn the_readme_shows_what_happens() {
    run_page("README.md");
}

#[test]
fn the_tutorial_shows_what_happens() {
    if installed("gfortran") && Path::new("/usr/bin/python3").exists() {
        run_page("docs/TUTORIAL.md");
    }
}

#[test]
fn what_is_shown_is_compared() {
    let lines = |text: &str| text.lines().map(String::from).collect::<Vec<_>>();
    let shown = lines("a (1.8 s, 12 operations)\n...\ndetails: fpgrind-x.4711/report.txt\nf+0x12 (python3.11)");
    let fits = |printed: &str, interpreted| fits(&shown, &lines(printed), interpreted);
    let same = "a (0.2 s, 12 operations)\nb\nc\ndetails: fpgrind-x.9/report.txt\nf+0x9 (python3.13)";
    let other = "a (0.2 s, 13 operations)\ndetails: fpgrind-x.9/report.txt\nf+0x9 (python3.11)";
    assert!(fits(same, false) && !fits(other, false) && fits(other, true));
    assert!(!fits("a (0.2 s, 12 operations)\nb", true));
    let page = "text\n```console\n$ one\nprinted\n\n$ two\n```\n$ three\n```sh\n$ four\n```\n";
    let commands: Vec<_> = steps(page).into_iter().map(|step| (step.line, step.command, step.printed)).collect();
    assert_eq!(commands, [(2, "one".into(), lines("printed\n\n")), (5, "two".into(), vec![])]);
}
