//! The same over and over: nothing is lost and nothing leaks. The guest stops at half time and at the end, and there its memory and
//! fpgrind's own are measured: the second half may not need more than the first.

mod common;

use common::guests::{C, compile};
use common::{FOLLOW, fpgrind};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// What the second half may add to the resident memory of either process, in KiB: allocators round up.
const SLACK: u64 = 4096;

/// What a process holds.
#[derive(Clone, Copy, Debug)]
struct Holding {
    resident: u64,
    descriptors: usize,
}

fn holding(pid: u32) -> Holding {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the kernel tells VmRSS");
    Holding {
        resident: resident.trim().trim_end_matches(" kB").parse().expect("a number of KiB"),
        descriptors: std::fs::read_dir(format!("/proc/{pid}/fd")).expect("the process lives").count(),
    }
}

/// The process that fpgrind started; it has been waiting in the guest's read, so it is there.
fn guest_of(supervisor: u32) -> u32 {
    let tasks = std::fs::read_dir(format!("/proc/{supervisor}/task")).expect("fpgrind lives");
    tasks
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok())
        .find_map(|children| children.split_whitespace().next()?.parse().ok())
        .expect("fpgrind has a guest")
}

fn soaks(mode: &[&str], kind: &str, count: u32, libraries: &[PathBuf]) {
    let program = compile(C, "soak/soak.c", &["-O2", "-ldl"]);
    let count = count.to_string();
    let mut command = vec![program.as_os_str(), kind.as_ref(), count.as_ref()];
    command.extend(libraries.iter().map(|library| library.as_os_str()));
    let started = Instant::now();
    let mut child = fpgrind(&[mode, FOLLOW].concat(), &command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("fpgrind starts");
    let supervisor = child.id();
    // A hanging guest is killed by name of its supervisor, and the reads below then see the end.
    let (ended, watch) = std::sync::mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if watch.recv_timeout(Duration::from_secs(300)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            // SAFETY: the process has not been waited for, so the number is still its own.
            unsafe { libc::kill(supervisor as i32, libc::SIGKILL) };
        }
    });
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
    let mut holdings = Vec::new();
    for when in ["half\n", "end\n"] {
        let mut line = String::new();
        stdout.read_line(&mut line).expect("reading what the guest says");
        assert_eq!(line, when, "{kind}");
        holdings.push((holding(supervisor), holding(guest_of(supervisor))));
        stdin.write_all(b"x").expect("the guest waits for a byte");
    }
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("reading what the guest says");
    let status = child.wait().expect("fpgrind ends");
    drop(ended);
    watchdog.join().expect("the watchdog does not panic");
    assert!(status.success() && rest.contains("yes: ") && !rest.contains("NO: "), "{kind}: {status}, {rest}");
    println!("{kind} {count} in {:?}: {holdings:?}", started.elapsed());
    for (who, half, end) in [("fpgrind", holdings[0].0, holdings[1].0), ("guest", holdings[0].1, holdings[1].1)] {
        assert!(end.resident <= half.resident + SLACK, "{kind}, {who}: {half:?} at half time, {end:?} at the end");
        assert!(end.descriptors <= half.descriptors + 1, "{kind}, {who}: {half:?} at half time, {end:?} at the end");
    }
}

fn plugins() -> [PathBuf; 2] {
    ["-DNUMBER=1", "-DNUMBER=2"].map(|number| compile(C, "binaries/plugin.c", &["-O2", "-fPIC", "-shared", number]))
}

const TRANSLATED: &[&str] = &["--mode", "none", "--quiet"];

#[test]
fn ten_thousand_signals_to_threads_that_compute() {
    soaks(TRANSLATED, "signals", 10_000, &[]);
}

#[test]
fn a_thousand_forks() {
    soaks(TRANSLATED, "forks", 1000, &[]);
}

#[test]
fn five_hundred_threads() {
    soaks(TRANSLATED, "threads", 500, &[]);
}

#[test]
fn two_hundred_libraries_loaded_and_unloaded() {
    soaks(TRANSLATED, "loads", 200, &plugins());
}

/// Ten times as much, and a slice of each analysed.
#[test]
#[ignore = "minutes; make soak runs it"]
fn long_soak() {
    let plugins = plugins();
    for (kind, count) in [("signals", 100_000), ("forks", 10_000), ("threads", 5000), ("loads", 2000)] {
        soaks(TRANSLATED, kind, count, &plugins);
    }
    let folder = common::scratch("soak-analysed");
    let folder = folder.to_str().expect("UTF-8");
    // Half of each is more than the analysis needs to have met all that it keeps: every place where threads are interrupted, and samples.
    for (kind, count) in [("signals", 20_000), ("forks", 4000), ("threads", 2000), ("loads", 100)] {
        soaks(&["--quiet", "--out", folder], kind, count, &plugins);
    }
}

/// Needs an idle machine.
#[test]
#[ignore = "measures time; make soak runs it"]
fn two_threads_have_two_cores() {
    let program = compile(C, "threads/parallel.c", &["-O2"]);
    let tenths = |command| common::run(command, b"").stdout.trim().parse::<u32>().expect("a number");
    let natively = tenths(common::native(&[&program]));
    let translated = tenths(fpgrind(&[TRANSLATED, FOLLOW].concat(), &[&program]));
    // Starting up is in it, which one thread does.
    assert!(translated * 10 >= natively * 8, "cores in tenths: {natively} natively, {translated} translated");
}
