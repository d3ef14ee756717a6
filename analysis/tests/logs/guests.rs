//! Several threads, several processes, and code that is not where it was.

use crate::support::{Log, causes};
use fpgrind_analysis::log::{Event, Module};
use fpgrind_analysis::{Analysis, Config, Findings};
use fpgrind_ir::{Place, Type, parse_block};

/// Loses the digits of what is stored at an address.
const LOSE: &str = "block 0x1000 record 32 {
  0x1000 4:
    v0: b64 = live rdi #8
    v1: f64 = load [v0] #16
    v2: f64 = const 0x4415af1d78b58c40
    v3: f64 = add v1, v2
  0x1004 4:
    v4: f64 = sub v3, v2
    store [v0], v4
    put xmm0+0, v4
}";

const LOAD: &str = "block 0x2000 record 32 {
  0x2000 4:
    v0: b64 = live rdi #8
    v1: f64 = load [v0] #16
    put xmm0+0, v1
}";

const A: u64 = 0x10000;

fn lose(value: f64) -> f64 {
    (value + 1e20) - 1e20
}

fn begin_process(log: &mut Log, process: u32, forked_from: Option<u32>) {
    log.analysis.event(Event::Process { process, forked_from });
}

fn begin_thread(log: &mut Log, thread: u32, process: u32, cloned_from: Option<u32>) {
    log.analysis.event(Event::Thread { thread, process, cloned_from });
}

fn map(log: &mut Log, path: &str, start: u64, bias: u64) {
    let module = Module { path: path.into(), start, end: start + 0x1000, bias };
    log.analysis.event(Event::Module { process: log.process, module });
}

/// What the real behind a double in memory rounds to, if it has a shadow.
fn in_memory(log: &Log, process: u32, address: u64) -> Option<f64> {
    log.analysis.memory(process, address, Type::F64).map(|shadow| f64::from_bits(shadow.rounded as u64))
}

fn in_register(log: &Log, thread: u32) -> Option<f64> {
    log.analysis.register(thread, Place::vec(0, 0), Type::F64).map(|shadow| f64::from_bits(shadow.rounded as u64))
}

/// The files and addresses of the causes, in order.
fn sites(findings: &Findings) -> Vec<(String, u64)> {
    let file = |file: u32| findings.files[file as usize].display().to_string();
    let site = |location: fpgrind_analysis::Location| (location.file.map_or("".into(), file), location.address);
    let mut sites: Vec<_> = findings.causes.iter().map(|cause| site(cause.location)).collect();
    sites.sort();
    sites
}

#[test]
fn what_one_thread_stores_another_loads_with_its_shadow() {
    let mut log = Log::new();
    let (lose_block, load) = (log.block(LOSE), log.block(LOAD));
    begin_thread(&mut log, 1, 0, Some(0));
    log.run(lose_block, &[(8, A), (16, 3f64.to_bits())]);
    log.thread = 1;
    log.run(load, &[(8, A), (16, lose(3.0).to_bits())]);
    assert_eq!(in_register(&log, 1), Some(3.0));
    log.print(lose(3.0));
    let findings = log.finish();
    assert_eq!(causes(&findings), ["(x + 1e20) - 1e20"]);
    assert_eq!((findings.totals.processes, findings.totals.threads), (1, 2));
}

#[test]
fn registers_are_each_threads_own_and_begin_as_the_makers() {
    let mut log = Log::new();
    let (lose_block, load) = (log.block(LOSE), log.block(LOAD));
    log.run(lose_block, &[(8, A), (16, 3f64.to_bits())]);
    begin_thread(&mut log, 1, 0, Some(0));
    begin_thread(&mut log, 2, 0, None);
    log.run(lose_block, &[(8, A + 8), (16, 4f64.to_bits())]);
    assert_eq!([0, 1, 2].map(|thread| in_register(&log, thread)), [Some(4.0), Some(3.0), None]);
    log.thread = 1;
    log.run(load, &[(8, A + 64), (16, 0)]);
    assert_eq!([0, 1].map(|thread| in_register(&log, thread)), [Some(4.0), None]);
    log.analysis.event(Event::ThreadEnded(0));
    assert_eq!(in_register(&log, 0), None);
    log.finish();
}

#[test]
fn a_wrapped_call_of_one_thread_does_not_disturb_another() {
    let mut log = Log::new();
    let call = |operation: &str| {
        format!(
            "block 0x1000 record 32 {{\n  0x1000 4:\n    v0: f64 = fresh xmm0+0 #8\n    v1: b64 = fresh rax #16\n    {operation}\n}}"
        )
    };
    let enter = log.block(&call("enter v0 from v1"));
    let leave = log.block(&call("leave sin.0 v0, xmm0+0"));
    begin_thread(&mut log, 1, 0, None);
    for (thread, block, value) in [(0, enter, 1.0), (1, enter, 2.0), (0, leave, 1f64.sin()), (1, leave, 2f64.sin())] {
        log.thread = thread;
        log.run(block, &[(8, f64::to_bits(value)), (16, 0x4000)]);
    }
    assert_eq!([0, 1].map(|thread| in_register(&log, thread)), [Some(1f64.sin()), Some(2f64.sin())]);
    assert_eq!(log.finish().totals.operations, 2);
}

#[test]
fn a_fork_begins_as_its_maker_and_goes_its_own_way() {
    let mut log = Log::new();
    let (lose_block, load) = (log.block(LOSE), log.block(LOAD));
    log.run(lose_block, &[(8, A), (16, 3f64.to_bits())]);
    begin_process(&mut log, 1, Some(0));
    begin_thread(&mut log, 1, 1, Some(0));
    assert_eq!(in_register(&log, 1), Some(3.0));
    // The child goes on with its parent's blocks.
    log.thread = 1;
    log.run(load, &[(8, A), (16, lose(3.0).to_bits())]);
    log.run(lose_block, &[(8, A), (16, 7f64.to_bits())]);
    log.run(lose_block, &[(8, A + 8), (16, 8f64.to_bits())]);
    log.thread = 0;
    log.run(lose_block, &[(8, A + 16), (16, 9f64.to_bits())]);
    assert_eq!([A, A + 8, A + 16].map(|at| in_memory(&log, 0, at)), [Some(3.0), None, Some(9.0)]);
    assert_eq!([A, A + 8, A + 16].map(|at| in_memory(&log, 1, at)), [Some(7.0), Some(8.0), None]);
    log.analysis.event(Event::ProcessEnded(0));
    assert_eq!((in_memory(&log, 0, A), in_memory(&log, 1, A)), (None, Some(7.0)));
    assert_eq!(in_register(&log, 0), None);
    let findings = log.finish();
    assert_eq!((findings.totals.processes, findings.totals.threads), (2, 2));
}

#[test]
fn one_address_in_two_modules_one_after_the_other_is_two_sites() {
    let mut log = Log::new();
    for path in ["first.so", "second.so"] {
        map(&mut log, path, 0x1000, 0x1000);
        let block = log.block(LOSE);
        log.run(block, &[(8, A), (16, 3f64.to_bits())]);
        log.print(lose(3.0));
    }
    log.analysis.event(Event::Unmapped { process: 0, start: 0x1000, end: 0x2000 });
    let block = log.block(LOSE);
    log.run(block, &[(8, A), (16, 3f64.to_bits())]);
    log.print(lose(3.0));
    let findings = log.finish();
    assert_eq!(sites(&findings), [("".into(), 0x1004), ("first.so".into(), 4), ("second.so".into(), 4)]);
    assert!(findings.causes.iter().all(|cause| cause.executions == 1));
}

#[test]
fn one_file_at_two_addresses_is_one_site() {
    let mut log = Log::new();
    for (process, start) in [(0, 0x1000), (1, 0x7000)] {
        if process != 0 {
            begin_process(&mut log, process, None);
            begin_thread(&mut log, process, process, None);
        }
        (log.process, log.thread) = (process, process);
        map(&mut log, "lib.so", start, start - 0x200);
        map(&mut log, "main", 0x50_0000 + start, start);
        let block =
            log.block(&LOSE.replace("0x1000", &format!("{start:#x}")).replace("0x1004", &format!("{:#x}", start + 4)));
        log.run(block, &[(8, A), (16, 3f64.to_bits())]);
        log.print_at(0x50_0020 + start, lose(3.0));
    }
    let findings = log.finish();
    assert_eq!(sites(&findings), [("lib.so".into(), 0x204)]);
    assert_eq!((findings.causes[0].executions, findings.causes[0].location.pc), (2, 0x1004));
    assert_eq!(findings.spots.len(), 1);
    assert_eq!((findings.spots[0].count, findings.spots[0].location.address), (2, 0x50_0020));
    let paths: Vec<_> = findings.modules.iter().map(|module| (module.path.to_str().unwrap(), module.start)).collect();
    assert_eq!(paths, [("lib.so", 0x1000), ("main", 0x50_1000)]);
}

#[test]
fn callers_of_a_wrapped_function_are_told_apart_by_file() {
    let mut log = Log::new();
    let call = log.block(
        "block 0x9000 record 48 {
  0x9000 4:
    v0: f64 = fresh xmm0+0 #8
    v1: b64 = fresh rax #16
    v2: f64 = fresh xmm0+0 #24
    enter v0 from v1
    leave sqrt.0 v2, xmm0+0
}",
    );
    for (path, start) in [("first.so", 0x1000), ("first.so", 0x3000), ("second.so", 0x3000)] {
        map(&mut log, path, start, start);
        let values = [(8, f64::to_bits(-1.0)), (16, start + 0x20), (24, f64::NAN.to_bits())];
        log.run(call, &values);
        log.print(f64::NAN);
    }
    let findings = log.finish();
    assert_eq!(sites(&findings), [("first.so".into(), 0x1f), ("second.so".into(), 0x1f)]);
}

#[test]
fn a_fork_knows_what_its_maker_had_mapped_and_not_what_it_maps_later() {
    let mut log = Log::new();
    map(&mut log, "lib.so", 0x1000, 0x1000);
    begin_process(&mut log, 1, Some(0));
    begin_thread(&mut log, 1, 1, Some(0));
    map(&mut log, "other.so", 0x1000, 0x1000);
    (log.process, log.thread) = (1, 1);
    let block = log.block(LOSE);
    log.run(block, &[(8, A), (16, 3f64.to_bits())]);
    log.print(lose(3.0));
    assert_eq!(sites(&log.finish()), [("lib.so".into(), 4)]);
}

#[test]
fn numbers_that_nobody_bears_are_counted_and_skipped() {
    let mut analysis = Analysis::new(Config::default());
    let block = || parse_block(LOSE).unwrap();
    let module = Module { path: "lib.so".into(), start: 0x1000, end: 0x2000, bias: 0 };
    analysis.event(Event::Process { process: 0, forked_from: None });
    for event in [
        Event::Thread { thread: 7, process: 5, cloned_from: None },
        Event::ThreadEnded(7),
        Event::ProcessEnded(5),
        Event::Module { process: 5, module },
        Event::Unmapped { process: 5, start: 0, end: 1 },
        Event::Block { process: 5, number: 1, block: block() },
        Event::Records { thread: 7, bytes: &[1; 48] },
        Event::Process { process: 0, forked_from: None },
    ] {
        analysis.event(event);
    }
    let totals = analysis.finish().totals;
    assert_eq!((totals.corrupt_records, totals.skipped_bytes), (8, 48));
    assert_eq!((totals.processes, totals.threads), (1, 0));
}

#[test]
fn those_whose_maker_nobody_knows_begin_with_nothing() {
    let mut log = Log::new();
    begin_process(&mut log, 1, Some(9));
    begin_thread(&mut log, 1, 1, Some(9));
    (log.process, log.thread) = (1, 1);
    let block = log.block(LOSE);
    log.run(block, &[(8, A), (16, 3f64.to_bits())]);
    assert_eq!(in_memory(&log, 1, A), Some(3.0));
    assert_eq!(log.analysis.finish().totals.corrupt_records, 2);
}
