//! A program under fpgrind prints, reads, writes and ends as it does without.
//!
//! The guests are in `tests/guests`, a folder a theme; here is how each is built. They run natively, translated only and analysed.

#[path = "../common/mod.rs"]
mod common;

mod binaries;
mod programs;

use common::guests::{C, CPP, compile, every_case, every_case_of, installed};
use common::{fpgrind, native, run};
use std::ffi::OsStr;

/// Inline assembly that calls or pushes is not to write over what the compiler keeps below the stack pointer.
const OWN_STACK: &str = "-mno-red-zone";

#[test]
fn signal_frames() {
    every_case_of("signals/frames.c", &["-O2"]);
    every_case_of("signals/frames.c", &["-O1", "-static"]);
}

#[test]
fn signal_flags_and_masks() {
    every_case_of("signals/flags.c", &["-O2"]);
}

#[test]
fn signals_on_their_way() {
    every_case_of("signals/delivery.c", &["-O2"]);
}

#[test]
fn faults_that_are_handled() {
    every_case_of("signals/faults.c", &["-O2"]);
    every_case_of("signals/faults.c", &["-O0", "-static"]);
}

#[test]
fn ways_out_of_handlers() {
    every_case_of("signals/jumps.c", &["-O2"]);
    every_case(&compile(CPP, "signals/unwinding.cpp", &["-O2", "-fnon-call-exceptions"]));
}

#[test]
fn tiles_masks_and_transactions() {
    every_case_of("instructions/state.c", &["-O2"]);
}

#[test]
fn posix_threads() {
    every_case_of("threads/pthreads.c", &["-O2"]);
}

#[test]
fn cancelled_threads_and_lost_owners() {
    every_case_of("threads/cancel.c", &["-O2"]);
}

#[test]
fn threads_without_a_library() {
    every_case_of("threads/raw.c", &["-O2"]);
    every_case_of("threads/raw.c", &["-O2", "-static"]);
}

#[test]
fn threads_of_languages() {
    every_case_of("threads/openmp.c", &["-O2", "-fopenmp"]);
    every_case(&compile(CPP, "threads/standard.cpp", &["-O2"]));
}

#[test]
fn forked_processes() {
    every_case_of("processes/forks.c", &["-O2"]);
}

#[test]
fn other_programs() {
    every_case_of("processes/programs.c", &["-O2"]);
}

#[test]
fn generated_code() {
    every_case_of("code/generated.c", &["-O2"]);
    every_case_of("code/generated.c", &["-O2", "-static"]);
}

#[test]
fn own_code_changed() {
    every_case_of("code/own_text.c", &["-O2", "-lffi"]);
}

#[test]
fn resource_limits() {
    every_case_of("limits/resources.c", &["-O2"]);
}

#[test]
fn sandboxes() {
    every_case_of("limits/sandbox.c", &["-O2"]);
}

#[test]
fn what_a_program_reads_about_itself() {
    every_case_of("limits/proc.c", &["-O2"]);
}

#[test]
fn odd_branches() {
    every_case_of("instructions/branches.c", &["-O2", OWN_STACK]);
    every_case_of("instructions/branches.c", &["-O0", "-static", OWN_STACK]);
}

#[test]
fn odd_instructions() {
    every_case_of("instructions/odd.c", &["-O2", OWN_STACK]);
}

#[test]
fn musl_threads_and_signals() {
    if installed("musl-gcc") {
        let musl: &[&str] = &["musl-gcc", "-std=gnu11", "-D_GNU_SOURCE", "-g"];
        every_case(&compile(musl, "threads/cancel.c", &["-O2", "-static"]));
        every_case(&compile(
            musl,
            "signals/delivery.c",
            &["-O2", "-static", "-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"],
        ));
    }
}

/// A cache of 1 MiB is full again and again, while threads run in it: old translations make room, and nobody is in them.
#[test]
fn a_small_code_cache() {
    const SMALL: [&str; 5] = ["--mode", "none", "--quiet", "--cache-size", "1M"];
    let program = compile(C, "threads/pthreads.c", &["-O2", "-lm"]);
    let cases = run(native(&[&program]), b"").stdout;
    let perl = "my %h; $h{$_ % 7} .= chr(65 + $_ % 26) for 1..3000; my $t = join ',', map { \"$_$h{$_}\" } sort keys %h; \
                $t =~ s/([A-Z])([A-Z])/lc($1).$2/ge; use POSIX; printf \"%s %.3f %s\\n\", length $t, floor(2.5) + sin(1), strftime('%Y', gmtime 0)";
    let threads = "import threading, json, re, decimal, random, textwrap; r = {}\n\
                   def f(i): r[i] = (re.sub('(a|b)+', str(i), 'abcab' * 9), str(decimal.Decimal(i + 2).sqrt()), textwrap.fill('x y ' * 30, 20 + i))\n\
                   t = [threading.Thread(target=f, args=(i,)) for i in range(6)]\n[x.start() for x in t]; [x.join() for x in t]; print(json.dumps(r, sort_keys=True))";
    let mut commands = vec![vec![OsStr::new("perl"), OsStr::new("-e"), OsStr::new(perl)]];
    if installed("/usr/bin/python3") {
        commands.push(vec![OsStr::new("/usr/bin/python3"), OsStr::new("-c"), OsStr::new(threads)]);
    }
    commands.extend(cases.lines().map(|case| vec![program.as_os_str(), OsStr::new(case)]));
    for command in commands {
        assert_eq!(run(fpgrind(&SMALL, &command), b""), run(native(&command), b""), "{command:?}");
    }
}
