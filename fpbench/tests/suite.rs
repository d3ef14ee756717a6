//! What the suite promises: that all of it is understood, runs, and says where it comes from.

use fpbench::bench::{self, Candidate};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

fn suite() -> Vec<Candidate> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("suite");
    let mut files: Vec<PathBuf> =
        folder.read_dir().expect("the suite").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "fpcore"));
    let (candidates, skipped) = bench::read(&files).expect("readable");
    assert!(skipped.is_empty(), "{skipped:?}");
    candidates
}

#[test]
fn every_core_has_a_name_of_its_own_a_source_and_ranges() {
    let mut names = HashSet::new();
    for candidate in suite() {
        let title = candidate.core.title();
        assert!(candidate.core.property("name").is_some(), "{title}");
        assert!(candidate.core.property("cite").is_some(), "{title} has no source");
        assert!(candidate.core.pre.is_some(), "{title} has no ranges");
        assert!(names.insert(title.clone()), "{title} twice");
    }
    assert!(names.len() >= 120, "{} cores", names.len());
}

#[test]
fn loops_and_singles_are_among_them() {
    let suite = suite();
    assert!(suite.iter().filter(|candidate| candidate.core.body.has_loop()).count() >= 20);
    assert!(suite.iter().any(|candidate| candidate.core.precision == fpbench::ast::Precision::Binary32));
}

#[test]
fn every_core_runs_on_enough_inputs_and_its_truth_is_known() {
    for candidate in suite() {
        let bench = bench::prepare(&candidate, 12).unwrap_or_else(|skipped| panic!("{skipped:?}"));
        assert!(bench.inputs.len() >= 8, "{}: {} inputs", bench.title, bench.inputs.len());
        assert!(bench.truths.iter().all(|truth| !truth.unsettled), "{}", bench.title);
    }
}
