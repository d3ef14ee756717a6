//! `fpgrind isa` tells which instructions are understood.

mod common;

use common::{FPGRIND, run};
use std::process::Command;

fn isa(arguments: &[&str]) -> common::Outcome {
    let mut command = Command::new(FPGRIND);
    command.arg("isa").args(arguments);
    run(command, b"")
}

#[test]
fn no_instruction_on_floats_is_missing() {
    let told = isa(&[]).stdout;
    let all = told.lines().find(|line| line.starts_with("all ")).expect("a line for all");
    let counts: Vec<usize> = all.split_whitespace().skip(1).map(|count| count.parse().unwrap()).collect();
    let [lifted, leaves, dropped, missing] = counts[..] else { panic!("{all}") };
    assert!(lifted > 1800 && leaves > 100 && dropped > 1000, "{all}");
    assert_eq!(missing, 0);
}

#[test]
fn an_instruction_is_told_of_in_all_its_encodings() {
    let told = isa(&["vaddpd"]).stdout;
    assert!(told.lines().count() == 5 && told.lines().all(|line| line.ends_with("lifted")), "{told}");
    assert!(isa(&["RCPPS"]).stdout.contains("leaf: "));
    let unknown = isa(&["frobnicate"]);
    assert!(unknown.stderr.contains("there is no instruction frobnicate"), "{}", unknown.stderr);
}
