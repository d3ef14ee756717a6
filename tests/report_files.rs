//! What tools and CI act on: ids that stay, reports compared, SARIF, exit statuses, suppressions.

mod common;

use common::report::text;
use common::{FPGRIND, Outcome, build, fpgrind, run, schema, scratch};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Built once: a program that is replaced while it runs has no lines.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| build("tests/guests/report/cancel.c", &["-O0"]));

/// Runs the guest on these numbers, from a folder of the given name in which the report is left.
fn analyse(name: &str, options: &[&str], numbers: &[&str]) -> (PathBuf, Outcome) {
    let folder = scratch(&format!("report-files-{name}"));
    (folder.clone(), run(guest(&folder, options, numbers), b""))
}

fn guest(folder: &Path, options: &[&str], numbers: &[&str]) -> Command {
    let options: Vec<&str> = options.iter().copied().chain(["--out", folder.to_str().expect("UTF-8")]).collect();
    let command: Vec<&str> = std::iter::once(PROGRAM.to_str().expect("UTF-8")).chain(numbers.iter().copied()).collect();
    let mut guest = fpgrind(&options, &command);
    guest.current_dir(folder);
    guest
}

/// Runs a command of fpgrind's own.
fn tell(arguments: &[&str]) -> Outcome {
    let mut command = Command::new(FPGRIND);
    command.args(arguments);
    run(command, b"")
}

fn shown(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The ids of causes with the functions that they are in.
fn ids(folder: &Path) -> BTreeSet<(String, String)> {
    let report = json(&folder.join("report.json"));
    let causes = report["causes"].as_array().expect("causes");
    causes.iter().map(|cause| (text(&cause["site"]["function"]).into(), text(&cause["id"]).into())).collect()
}

#[test]
fn the_same_cause_has_the_same_id_whatever_the_inputs() {
    let (first, outcome) = analyse("ids-first", &[], &["1e16", "3"]);
    let (second, _) = analyse("ids-second", &[], &["5", "7e17", "1e18", "3e16"]);
    let found = ids(&first);
    let functions: Vec<&str> = found.iter().map(|(function, _)| function.as_str()).collect();
    assert_eq!(functions, ["near_zero", "one"], "{}", outcome.stderr);
    assert_eq!(found, ids(&second));
}

#[test]
fn two_reports_are_compared_and_what_is_new_or_worse_fails() {
    let (clean, _) = analyse("diff-clean", &[], &["3"]);
    let (bad, _) = analyse("diff-bad", &[], &["1e16"]);
    let (milder, _) = analyse("diff-milder", &[], &["1e12"]);
    let (clean, bad, milder) = (shown(&clean), shown(&bad), shown(&milder));

    let same = tell(&["diff", bad, bad]);
    assert_eq!((same.status, same.stdout.as_str()), (0, "fpgrind: 0 new, 0 worse, 0 better, 0 gone, 2 as before\n"));
    let gone = tell(&["diff", bad, clean]);
    assert_eq!(gone.status, 0, "{gone:?}");
    assert!(gone.stdout.starts_with("fpgrind: 0 new, 0 worse, 0 better, 2 gone"), "{}", gone.stdout);
    let new = tell(&["diff", clean, bad]);
    assert_eq!(new.status, 1, "{new:?}");
    assert!(new.stdout.contains("  new ") && new.stdout.contains(" - x   one (cancel.c:8)\n"), "{}", new.stdout);
    assert!(new.stdout.contains("reaches printf %.17g at cancel.c:20 ("), "{}", new.stdout);

    // At 1e12 the square roots lose fewer bits, and the sum none that matter.
    let better = tell(&["diff", bad, &format!("{milder}/report.json")]);
    assert_eq!(better.status, 0, "{better:?}");
    assert!(better.stdout.starts_with("fpgrind: 0 new, 0 worse, 1 better, 1 gone"), "{}", better.stdout);
    let worse = tell(&["diff", "--format", "json", milder, bad]);
    assert_eq!(worse.status, 1, "{worse:?}");
    let worse: Value = serde_json::from_str(&worse.stdout).expect("is JSON");
    let verdicts: Vec<&str> =
        worse["changes"].as_array().expect("changes").iter().map(|c| text(&c["verdict"])).collect();
    assert_eq!(verdicts, ["new", "worse"]);
    let tolerated = tell(&["diff", "--tolerance", "60", milder, bad]);
    assert!(tolerated.stdout.starts_with("fpgrind: 1 new, 0 worse, 0 better, 0 gone, 1 as before"), "{tolerated:?}");
}

#[test]
fn sarif_names_the_line_relative_to_where_the_program_ran() {
    let folder = scratch("report-files-sarif");
    std::fs::create_dir_all(folder.join("src")).expect("a scratch folder is writable");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guests/report/cancel.c");
    std::fs::copy(source, folder.join("src/cancel.c")).expect("copying a file");
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O0", "src/cancel.c", "-o", "cancel", "-lm"]).current_dir(&folder);
    assert!(gcc.status().expect("gcc is installed").success());
    let mut analysed = fpgrind(&["--out", "out"], &["./cancel", "1e16"]);
    analysed.current_dir(&folder);
    assert_eq!(run(analysed, b"").status, 0);
    let sarif = json(&folder.join("out/report.sarif"));
    let required = serde_json::from_str(include_str!("sarif.schema.json")).expect("is JSON");
    assert_eq!(schema::violations(&required, &sarif), Vec::<String>::new());
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let places: BTreeSet<(&str, u64)> = results
        .iter()
        .map(|result| {
            let place = &result["locations"][0]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uriBaseId"], "SRCROOT");
            (text(&place["artifactLocation"]["uri"]), place["region"]["startLine"].as_u64().unwrap_or(0))
        })
        .collect();
    assert_eq!(places, BTreeSet::from([("src/cancel.c", 8), ("src/cancel.c", 13)]), "{sarif:#}");
    assert!(results.iter().all(|result| result["level"] == "error" && result["codeFlows"][0].is_object()), "{sarif:#}");
    let fingerprints: BTreeSet<String> =
        results.iter().map(|result| text(&result["partialFingerprints"]["fpgrindId/v1"]).into()).collect();
    assert_eq!(fingerprints, ids(&folder.join("out")).into_iter().map(|(_, id)| id).collect());
}

#[test]
fn an_output_that_loses_more_than_allowed_fails_unless_the_program_failed_itself() {
    let folder = scratch("report-files-fail-on");
    let failed = run(guest(&folder, &["--fail-on", "20", "--quiet"], &["3", "1e16"]), b"");
    assert_eq!((failed.status, failed.stdout.lines().count()), (100, 4), "{failed:?}");
    assert_eq!(failed.stderr.lines().count(), 1, "{failed:?}");
    assert!(failed.stderr.contains("cancel.c:2") && failed.stderr.contains("--fail-on 20"), "{failed:?}");
    assert!(folder.join("report.sarif").is_file());
    let passed = run(guest(&folder, &["--fail-on", "20", "--quiet"], &["3", "1e3"]), b"");
    assert_eq!((passed.status, passed.stderr.as_str()), (0, ""));
    let lenient = run(guest(&folder, &["--fail-on", "64", "--quiet"], &["3", "1e16"]), b"");
    assert_eq!(lenient.status, 0, "{lenient:?}");
    let mut own = guest(&folder, &["--fail-on", "20"], &["1e16"]);
    own.env("STATUS", "3");
    let own = run(own, b"");
    assert_eq!(own.status, 3);
    assert!(own.stderr.contains("--fail-on 20"), "{own:?}");
}

#[test]
fn the_json_goes_to_stdout_too_behind_what_the_program_prints() {
    let folder = scratch("report-files-json");
    let piped = run(guest(&folder, &["--json", "-", "--quiet"], &["3"]), b"");
    let written = std::fs::read_to_string(folder.join("report.json")).expect("report.json is written");
    let printed = run(common::native(&[PROGRAM.as_path(), Path::new("3")]), b"").stdout;
    assert_eq!((piped.status, piped.stdout, piped.stderr.as_str()), (0, printed + &written, ""));
    let copy = folder.join("copy.json");
    assert_eq!(run(guest(&folder, &["--json", shown(&copy), "--quiet"], &["3"]), b"").status, 0);
    assert_eq!(json(&copy), json(&folder.join("report.json")));
}

#[test]
fn suppressed_causes_are_counted_and_fail_nothing() {
    let (folder, _) = analyse("suppressions", &[], &["1e16"]);
    let entries = tell(&["report", "--gen-suppressions", shown(&folder)]);
    assert_eq!((entries.status, entries.stdout.lines().count()), (0, 4), "{entries:?}");
    let known = folder.join("known.txt");
    std::fs::write(&known, format!("{}function:gone\n", entries.stdout)).expect("a scratch folder is writable");
    let options = ["--suppressions", shown(&known), "--fail-on", "20"];
    let (again, outcome) = analyse("suppressed", &options, &["1e17"]);
    assert_eq!(outcome.status, 0, "{outcome:?}");
    // Lines may be broken anywhere.
    let said = outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("nothing inaccurate found, 2 root causes suppressed"), "{}", outcome.stderr);
    assert!(said.contains("known.txt:5 suppresses nothing"), "{}", outcome.stderr);
    let report = json(&again.join("report.json"));
    assert_eq!((&report["suppressed"], &report["causes"].as_array().map(Vec::len)), (&2.into(), &Some(2)));
    assert_eq!(report["causes"][0]["suppressed_by"], format!("{}:2", shown(&known)), "{report:#}");
    assert_eq!(tell(&["diff", shown(&folder), shown(&again)]).status, 0);

    // One function alone, in a report that was written without.
    std::fs::write(&known, "function:one\n").expect("a scratch folder is writable");
    let text = tell(&["report", "--suppressions", shown(&known), shown(&folder)]).stdout;
    assert!(text.contains("fpgrind: 1 root cause behind 1 inaccurate result, 1 root cause suppressed"), "{text}");
    assert!(text.contains("near_zero") && !text.contains("in one") && !text.contains("one (cancel.c"), "{text}");
    let mut partly = guest(&again, &["--suppressions", shown(&known), "--fail-on", "20"], &["1e16"]);
    partly.env_remove("STATUS");
    assert_eq!(run(partly, b"").status, 100);
}
