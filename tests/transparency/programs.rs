//! Programs of every day, and how fpgrind itself behaves towards them.

use crate::common::report::analyse;
use crate::common::{BUILDS, FOLLOW, Outcome, build, fpgrind, native, run, scratch};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// Runs a command natively, in translation only and analysing, and asserts that nothing differs.
fn transparent<S: AsRef<OsStr>>(command: &[S], input: &[u8]) -> Outcome {
    let name = command[0].as_ref();
    let found = name.as_encoded_bytes().contains(&b'/')
        || std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(name).is_file()));
    let folder = scratch(&format!("transparency-{:?}", std::thread::current().id()));
    let log = folder.join("summary");
    let analysing = ["--check", "--log", log.to_str().expect("UTF-8"), "--out", folder.to_str().expect("UTF-8")];
    let shown: Vec<_> = command.iter().map(|part| part.as_ref().to_string_lossy()).collect();
    if !found {
        // Not everything here is on every machine; what is missing natively cannot be compared.
        return Outcome {
            status: 127,
            signal: None,
            stdout: String::new(),
            stderr: format!("{shown:?} is not installed"),
        };
    }
    let natively = run(native(command), input);
    assert_eq!(
        run(fpgrind(&[&["--mode", "none", "--quiet"], FOLLOW].concat(), command), input),
        natively,
        "{shown:?} in translation only"
    );
    assert_eq!(run(fpgrind(&[&analysing, FOLLOW].concat(), command), input), natively, "{shown:?} analysed");
    natively
}

/// The same for a line of shell.
fn shell(script: &str) -> Outcome {
    transparent(&["bash", "-c", script], b"")
}

#[test]
fn shells_with_loops_pipes_and_substitutions() {
    let sum = shell("s=0; for i in $(seq 1 300); do s=$((s + i)); done; echo $s");
    assert_eq!(sum.stdout, "45150\n");
    shell("printf '%s\\n' pear apple fig | sort | tr a-z A-Z | cat -n");
    shell("while read -r a b; do echo \"$b $a\"; done < <(printf '1 2\\n3 4\\n')");
    shell("f() { [ $1 -le 1 ] && echo 1 || echo $(( $1 * $(f $(( $1 - 1 ))) )); }; f 5");
    shell("echo to stderr >&2; false | true; echo ${PIPESTATUS[0]}");
    transparent(&["sh", "-c", "echo \"$0\" \"$@\"", "zero", "--quiet", "a  b", ""], b"");
}

#[test]
fn text_tools() {
    let text = b"the quick brown fox\njumps over\nthe lazy dog\n";
    transparent(&["sort", "-r"], text);
    transparent(&["sed", "-n", "s/o/0/gp"], text);
    transparent(&["grep", "-n", "o[vwx]"], text);
    transparent(&["wc"], text);
    transparent(&["awk", "{ n += NF } END { print n, n / 3, sin(n), exp(1), sqrt(2), int(7.9) }"], text);
    assert_eq!(transparent(&["grep", "absent"], text).status, 1);
}

#[test]
fn files_dates_and_compression() {
    transparent(&["ls", "-l", "/etc"], b"");
    transparent(&["date", "-u", "-d", "@0"], b"");
    transparent(&["sha256sum"], &[7; 100_000]);
    let round_trip = shell("seq 1 20000 | gzip -c | gzip -dc | tail -n 1");
    assert_eq!(round_trip.stdout, "20000\n");
    transparent(&["gzip", "-nc9"], &b"compress me ".repeat(5000));
}

#[test]
fn interpreters() {
    transparent(
        &[
            "perl",
            "-e",
            "my %h; $h{$_ % 7} += sqrt($_) for 1..2000; printf \"%s %.12f\\n\", $_, $h{$_} for sort keys %h",
        ],
        b"",
    );
    transparent(
        &["python3", "-c", "import math; print(sum(math.sin(i) for i in range(500)), [x * 0.1 for x in range(5)])"],
        b"",
    );
    transparent(&["python3", "-c", "import sys; sys.exit(3)"], b"");
}

#[test]
fn a_compiler() {
    let folder = scratch("transparency-compiler");
    std::fs::write(folder.join("x.c"), "int square(int x) { return x * x; }\n").expect("writing a C file");
    shell(&format!("cd {} && gcc -O1 -c x.c -o x.o && sha256sum x.o", folder.display()));
}

#[test]
fn large_output_and_input_arrive_whole() {
    assert!(transparent(&["seq", "1", "40000"], b"").stdout.len() > 200_000);
    let input: Vec<u8> = (0..300_000u32).map(|i| b'a' + (i % 26) as u8).collect();
    assert_eq!(transparent(&["cat"], &input).stdout.as_bytes(), input);
}

#[test]
fn system_errors_are_the_programs_to_report() {
    let outcome = transparent(&["cat", "/no/such/file"], b"");
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("/no/such/file"));
    transparent(&["ls", "/no/such/file"], b"");
}

#[test]
fn the_program_inherits_what_it_would_natively() {
    transparent(&["env"], b"");
    transparent(&["sh", "-c", "ls /proc/self/fd; pwd; umask; ulimit -a"], b"");
    transparent(&["ls", "/proc/self/fd"], b"");
    // Signals blocked, ignored and caught; fpgrind is a Rust program, and Rust ignores SIGPIPE.
    transparent(&["grep", "^Sig[A-Z][a-z]", "/proc/self/status"], b"");
    transparent(&["nohup", "grep", "^Sig[A-Z][a-z]", "/proc/self/status"], b"");
}

#[test]
fn signal_handlers_run_as_they_would_natively_and_see_the_programs_own_state() {
    for flags in BUILDS {
        let program = build("tests/guests/signals.c", flags);
        assert_eq!(transparent(&[program.as_os_str()], b"").signal, Some(libc::SIGUSR1));
    }
}

#[test]
fn exit_statuses_and_deaths_by_signal() {
    for status in [0, 1, 2, 77, 125, 126, 127, 128, 255] {
        assert_eq!(transparent(&["sh", "-c", &format!("exit {status}")], b"").status, status);
    }
    assert_eq!(shell("kill -SEGV $$").signal, Some(libc::SIGSEGV));
    assert_eq!(shell("kill -KILL $$").signal, Some(libc::SIGKILL));
    for flags in [BUILDS[1], BUILDS[3]] {
        let program = build("tests/guests/ends.c", flags);
        let end = |how: &str| transparent(&[program.as_os_str(), how.as_ref()], b"");
        let deaths = [
            ("abort", libc::SIGABRT),
            ("segv", libc::SIGSEGV),
            ("jump", libc::SIGSEGV),
            ("divide", libc::SIGFPE),
            ("illegal", libc::SIGILL),
            ("trap", libc::SIGTRAP),
            ("kill", libc::SIGKILL),
            ("term", libc::SIGTERM),
            ("realtime", libc::SIGRTMIN() + 3),
        ];
        for (how, signal) in deaths {
            assert_eq!(end(how).signal, Some(signal), "{how}");
        }
        assert_eq!((end("return").status, end("exit").status, end("_exit").status), (3, 255, 42));
    }
}

#[test]
fn signal_handlers_run() {
    let handled = shell("trap 'echo handled' USR1; kill -USR1 $$; echo after");
    assert_eq!(handled.stdout, "handled\nafter\n");
    shell("trap 'echo leaving' EXIT; exit 4");
}

#[test]
fn every_mode_computes_the_same_bits_and_files() {
    for flags in BUILDS {
        let analysed = analyse("examples/plotter.c", flags);
        let program = build("examples/plotter.c", flags);
        let picture = |name: &str, mut command: Command| {
            let folder = scratch(&format!("picture-{name}{}", flags.concat()));
            command.current_dir(&folder);
            let outcome = run(command, b"");
            (
                outcome.stdout,
                outcome.status,
                std::fs::read(folder.join("plotter.ppm")).expect("the plotter writes a picture"),
            )
        };
        let natively = picture("native", native(&[&program]));
        assert!(natively == picture("none", fpgrind(&["--mode", "none"], &[&program])), "--mode none, {flags:?}");
        assert!(
            natively == picture("log", fpgrind(&["--mode", "log", "--quiet"], &[&program])),
            "--mode log, {flags:?}"
        );
        let file =
            std::fs::read(Path::new(&analysed.folder).join("plotter.ppm")).expect("the plotter writes a picture");
        assert!(natively.2 == file, "analysing, {flags:?}");
    }
}

#[test]
fn an_interrupt_from_the_keyboard_ends_the_program_and_the_report_is_written() {
    let folder = scratch("interrupt");
    let mut command =
        fpgrind(&["--quiet", "--out", folder.to_str().expect("UTF-8")], &["sh", "-c", "echo ready; read line"]);
    // A process group of its own stands for the terminal's foreground job.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("fpgrind starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("stdout is a pipe"))
        .read_line(&mut line)
        .expect("reading the first line");
    assert_eq!(line, "ready\n");
    // SAFETY: the group is the child's, which has not been waited for.
    unsafe { libc::kill(-(child.id() as i32), libc::SIGINT) };
    assert_eq!(child.wait().expect("fpgrind ends").signal(), Some(libc::SIGINT));
    assert!(folder.join("report.json").is_file());
}

/// A shell that says what it does, under fpgrind, as the terminal's foreground job; its first line has been read.
fn foreground_job(script: &str) -> (Child, BufReader<ChildStdout>) {
    let mut command = fpgrind(&["--mode", "none", "--quiet"], &["sh", "-c", script]);
    let mut child = command.process_group(0).stdout(Stdio::piped()).spawn().expect("fpgrind starts");
    let mut output = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("reading the first line");
    assert_eq!(line, "ready\n");
    (child, output)
}

/// Sends a signal to all processes of a job.
fn signal_job(job: &Child, signal: i32) {
    // SAFETY: the group is the child's, which has not been waited for.
    unsafe { libc::kill(-(job.id() as i32), signal) };
}

#[test]
fn a_job_is_stopped_and_goes_on() {
    let (mut job, output) = foreground_job("echo ready; for i in 1 2 3 4 5; do sleep 0.1; echo $i; done; exit 3");
    for _ in 0..3 {
        signal_job(&job, libc::SIGTSTP);
        let mut status = 0;
        // SAFETY: a plain system call on our child.
        let stopped = unsafe { libc::waitpid(job.id() as i32, &mut status, libc::WUNTRACED) };
        assert!(stopped == job.id() as i32 && libc::WIFSTOPPED(status), "{status:#x}");
        signal_job(&job, libc::SIGCONT);
        std::thread::sleep(Duration::from_millis(50));
    }
    let lines: Vec<String> = output.lines().map(|line| line.expect("text")).collect();
    assert_eq!(lines, ["1", "2", "3", "4", "5"]);
    assert_eq!(job.wait().expect("fpgrind ends").code(), Some(3));
}

#[test]
fn nothing_is_left_when_fpgrind_is_killed() {
    // The shell, a child that it forked and one that executed another program.
    let (mut job, output) = foreground_job("(while :; do :; done) & sleep 1000 & echo ready; while :; do :; done");
    job.kill().expect("fpgrind runs");
    assert_eq!(job.wait().expect("fpgrind ends").signal(), Some(libc::SIGKILL));
    // All of them had the pipe open: it ends with the last.
    assert_eq!(output.lines().count(), 0);
}
