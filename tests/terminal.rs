//! What fpgrind says on a terminal and elsewhere, and that it says it however the program ends.

mod common;

use common::{FPGRIND, Outcome, build, fpgrind, run, scratch};
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

static GUEST: LazyLock<PathBuf> = LazyLock::new(|| build("tests/guests/report/endings.c", &["-O1"]));

/// Longer than what is waited for takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with a program on it.
struct Terminal {
    master: File,
    program: Child,
    pieces: Receiver<Vec<u8>>,
    shown: String,
}

impl Terminal {
    /// Runs a command in a session of its own on a terminal of so many columns. Its stdout is the terminal unless given.
    fn start(mut command: Command, columns: u16, stdout: Option<Stdio>) -> Terminal {
        let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let (mut master, mut slave) = (-1, -1);
        // SAFETY: openpty fills in the descriptors, which are ours from then on.
        let (master, slave) = unsafe {
            let opened = libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size);
            assert_eq!(opened, 0, "there are terminals to be had");
            (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
        };
        let slave = || Stdio::from(slave.try_clone().expect("descriptors can be copied"));
        command.stdin(slave()).stderr(slave()).stdout(stdout.unwrap_or_else(slave));
        command.env("TERM", "xterm").env_remove("NO_COLOR").env_remove("CLICOLOR").env_remove("CLICOLOR_FORCE");
        // SAFETY: system calls that are safe between fork and exec; stdin is the terminal by then.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                // As a shell in a terminal has it: what runs in the background may be told to ignore keys.
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        let program = command.spawn().expect("it can be run");
        drop(command);
        let (sender, pieces) = channel();
        let mut reader = master.try_clone().expect("descriptors can be copied");
        // Reading ends with an error when nobody has the terminal open any more.
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Terminal { master, program, pieces, shown: String::new() }
    }

    /// Waits until the terminal has been sent this.
    fn wait_for(&mut self, text: &str) {
        let began = Instant::now();
        while !self.shown.contains(text) {
            assert!(began.elapsed() < PATIENCE, "{text} does not come: {:?}", self.shown);
            if let Ok(piece) = self.pieces.recv_timeout(Duration::from_millis(100)) {
                self.shown += &String::from_utf8_lossy(&piece);
            }
        }
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("a terminal takes keys");
    }

    /// The status, as a shell has it, and all that was sent.
    fn end(mut self) -> (i32, String) {
        let status = self.program.wait().expect("it is ours");
        while let Ok(piece) = self.pieces.recv_timeout(Duration::from_secs(1)) {
            self.shown += &String::from_utf8_lossy(&piece);
        }
        (status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)), self.shown)
    }
}

/// What a terminal shows after it was sent this: lines without the blanks at their ends. It knows what fpgrind uses.
fn screen(sent: &str, columns: usize) -> String {
    let mut lines: Vec<Vec<char>> = vec![vec![]];
    let (mut row, mut column, mut saved) = (0usize, 0usize, (0, 0));
    let mut chars = sent.chars();
    while let Some(c) = chars.next() {
        match c {
            '\r' => column = 0,
            '\n' => row += 1,
            '\x1b' => match chars.next() {
                Some('7') => saved = (row, column),
                Some('8') => (row, column) = saved,
                Some('D') => row += 1,
                Some('[') => {
                    let mut parameters = String::new();
                    let last = loop {
                        match chars.next().expect("a sequence ends") {
                            c if c.is_ascii_digit() || c == ';' => parameters.push(c),
                            c => break c,
                        }
                    };
                    match (last, parameters.as_str()) {
                        ('A', "") => row -= 1,
                        ('B', "") => row += 1,
                        ('m', _) => {}
                        ('K', "2") => lines[row].clear(),
                        ('J', "") => {
                            lines[row].truncate(column);
                            lines.truncate(row + 1);
                        }
                        other => panic!("an unknown sequence: {other:?}"),
                    }
                }
                other => panic!("an unknown sequence: {other:?}"),
            },
            c => {
                assert!(column < columns, "a line is too long in {sent:?}");
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = c;
                column += 1;
            }
        }
        while lines.len() <= row {
            lines.push(vec![]);
        }
    }
    let text: Vec<String> = lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_string()).collect();
    text.join("\n")
}

fn guest(name: &str, options: &[&str], arguments: &[&str]) -> (Command, PathBuf) {
    let folder = scratch(&format!("terminal-{name}"));
    let out = folder.join("out");
    let options: Vec<&str> = options.iter().copied().chain(["--out", out.to_str().expect("UTF-8")]).collect();
    let words: Vec<&str> = [GUEST.to_str().expect("UTF-8")].into_iter().chain(arguments.iter().copied()).collect();
    let mut command = fpgrind(&options, &words);
    command.current_dir(&folder);
    (command, out)
}

fn causes(out: &Path) -> usize {
    let text = std::fs::read_to_string(out.join("report.json")).expect("report.json is written");
    let report: Value = serde_json::from_str(&text).expect("is JSON");
    report["causes"].as_array().map_or(0, Vec::len)
}

#[test]
fn whatever_kills_the_program_what_was_seen_is_told() {
    for (how, status) in [("segv", 139), ("abort", 134), ("kill", 137), ("", 0)] {
        let (command, out) = guest(&format!("dies-{how}"), &[], &[how]);
        let Outcome { status: ended, stderr, stdout, .. } = run(command, b"");
        assert_eq!((ended, stdout.as_str()), (status, "0\n0\n1\n"), "{how}: {stderr}");
        assert!(stderr.contains("fpgrind: 1 root cause behind 1 inaccurate result"), "{how}: {stderr}");
        assert!(stderr.contains("(x + 1) - x") && stderr.contains("report.html"), "{how}: {stderr}");
        assert_eq!(causes(&out), 1, "{how}");
    }
}

#[test]
fn control_c_ends_the_program_and_what_was_seen_is_told() {
    let (command, out) = guest("control-c", &[], &["wait"]);
    let mut terminal = Terminal::start(command, 80, None);
    terminal.wait_for("1\r\n");
    terminal.press("\x03");
    let (status, shown) = terminal.end();
    assert_eq!(status, 130, "{shown}");
    assert!(screen(&shown, 80).contains("1 root cause behind 1 inaccurate result"), "{shown:?}");
    assert_eq!(causes(&out), 1);
}

#[test]
fn a_kill_from_outside_is_told_as_well() {
    let (command, out) = guest("killed", &[], &["wait"]);
    let mut terminal = Terminal::start(command, 80, None);
    terminal.wait_for("1\r\n");
    let own = std::fs::read_dir(format!("/proc/{}/task", terminal.program.id())).expect("it runs");
    let tasks = own.flatten().map(|task| task.path().join("children"));
    let child = tasks.filter_map(|path| std::fs::read_to_string(path).ok()).find(|text| !text.is_empty());
    let child = child.expect("the guest is a child of one of its threads");
    let child: i32 = child.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("a number");
    // SAFETY: it is the guest of the fpgrind that we started, which waits for it.
    unsafe { libc::kill(child, libc::SIGKILL) };
    let (status, shown) = terminal.end();
    assert_eq!(status, 137, "{shown}");
    assert!(screen(&shown, 80).contains("1 root cause behind 1 inaccurate result"), "{shown:?}");
    assert_eq!(causes(&out), 1);
}

#[test]
fn a_long_run_has_a_line_below_the_cursor_which_goes_without_a_trace() {
    let (command, _) = guest("silent", &["--color", "never"], &["silent", "3"]);
    let (status, shown) = Terminal::start(command, 70, None).end();
    assert_eq!(status, 0, "{shown}");
    let lines: Vec<&str> =
        shown.split("\x1b[2K").skip(1).map(|rest| rest.split("\x1b8").next().unwrap_or(rest)).collect();
    assert!(lines.len() >= 2, "{shown:?}");
    for line in &lines {
        // Cut where the terminal ends.
        assert!(line.starts_with("fpgrind: ") && line.chars().count() < 70, "{line}");
        assert!(line.contains(" s, ") && line.contains(" operations ("), "{line}");
    }
    let screen = screen(&shown, 70);
    assert!(screen.starts_with("1\nfpgrind: nothing inaccurate found"), "{screen}");
    assert!(!screen.contains("/s)") && !screen.contains("behind"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 70), "{screen}");
}

#[test]
fn what_the_program_writes_stays_as_it_wrote_it() {
    let (command, _) = guest("prompt", &["--color", "never"], &["prompt", "3"]);
    let (status, shown) = Terminal::start(command, 100, None).end();
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("MB of log behind, no causes so far\x1b8"), "the line was shown: {shown:?}");
    // The half line stands before the line was drawn, and goes on where it stopped.
    let screen = screen(&shown, 100);
    let first: Vec<&str> = screen.lines().take(4).collect();
    assert_eq!(first[0], "value? 1", "{screen}");
    for (number, line) in first[1..].iter().enumerate() {
        assert!(line.starts_with(&format!("line {number}")), "{screen}");
    }
}

#[test]
fn with_its_output_elsewhere_the_line_is_shown_too() {
    let (command, out) = guest("elsewhere", &[], &["silent", "3"]);
    let file = File::create(out.with_extension("txt")).expect("a scratch folder is writable");
    let (status, shown) = Terminal::start(command, 80, Some(file.into())).end();
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("operations ("), "{shown:?}");
    assert_eq!(std::fs::read_to_string(out.with_extension("txt")).ok().as_deref(), Some("1\n"));
    assert!(screen(&shown, 80).starts_with("fpgrind: nothing inaccurate found"), "{shown:?}");
}

#[test]
fn without_a_terminal_or_when_quiet_there_is_no_line() {
    let (command, _) = guest("pipe", &[], &["silent", "2.5"]);
    let outcome = run(command, b"");
    assert!(outcome.stderr.starts_with("fpgrind: nothing inaccurate found"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains('\x1b'), "{}", outcome.stderr);
    let (command, _) = guest("quiet", &["--quiet"], &["silent", "2.5"]);
    assert_eq!(Terminal::start(command, 80, None).end(), (0, "1\r\n".into()));
    let (command, _) = guest("logged", &["--log", "summary.txt"], &["silent", "2.5"]);
    let folder = command.get_current_dir().expect("was set").to_path_buf();
    assert_eq!(Terminal::start(command, 80, None).end(), (0, "1\r\n".into()));
    let summary = std::fs::read_to_string(folder.join("summary.txt")).expect("is written");
    assert!(summary.starts_with("fpgrind: nothing inaccurate found   ("), "{summary}");
}

#[test]
fn colour_is_where_it_is_wanted() {
    let coloured = |options: &[&str], variables: &[(&str, &str)]| {
        let (mut command, _) = guest("colour", options, &[""]);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").envs(variables.iter().copied());
        run(command, b"").stderr.contains("\x1b[1;31m")
    };
    assert!(!coloured(&[], &[]));
    assert!(coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(coloured(&["--color=always"], &[("NO_COLOR", "1")]));
    assert!(!coloured(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    let (command, _) = guest("colour-terminal", &[], &[""]);
    assert!(Terminal::start(command, 80, None).end().1.contains("\x1b[1;31m1 root cause"));
    let refused = run(fpgrind(&["--color", "sometimes"], &["true"]), b"");
    assert_eq!((refused.status, refused.stderr.lines().count()), (125, 1), "{}", refused.stderr);
}

#[test]
fn lines_are_as_wide_as_the_terminal_and_80_elsewhere() {
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let paths = |text: &str| -> String {
        text.lines().filter(|line| !line.contains("/terminal-")).map(|line| format!("{line}\n")).collect()
    };
    let (command, _) = guest("width-pipe", &[], &[""]);
    let piped = paths(&run(command, b"").stderr);
    assert!((60..=80).contains(&widest(&piped)), "{piped}");
    let (command, _) = guest("width-wide", &["--color", "never"], &[""]);
    let wide = paths(&screen(&Terminal::start(command, 300, None).end().1, 300));
    let (command, _) = guest("width-60", &["--color", "never"], &[""]);
    let sixty = Terminal::start(command, 60, None).end().1;
    assert!(paths(&sixty).lines().all(|line| line.trim_end().chars().count() <= 60), "{sixty}");
    assert!(widest(&wide) > 60 && wide.lines().count() < sixty.lines().count(), "{wide}");
}

#[test]
fn a_verbose_summary_says_what_was_done() {
    let (command, _) = guest("verbose", &["--verbose"], &[""]);
    let verbose = run(command, b"").stderr;
    assert!(verbose.contains("  analysed ") && verbose.contains("blocks of code"), "{verbose}");
    let mut both = Command::new(FPGRIND);
    both.args(["--verbose", "--quiet", "true"]);
    assert_eq!(run(both, b"").status, 125);
}
