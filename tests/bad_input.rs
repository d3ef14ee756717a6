//! What cannot be run is refused in one sentence, with the exit status that wrapper commands use, and nothing is left running.

mod common;

use common::{FPGRIND, Outcome, run, scratch};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs fpgrind and asserts that it refuses: this status, one sentence, nothing on stdout, nothing left behind.
fn refused(status: i32, mut command: Command) -> String {
    let shown = format!("{command:?}");
    // Whatever fpgrind starts inherits this, and can be found by it.
    let mark = format!("FPGRIND_TEST_MARK={}-{:?}", std::process::id(), std::thread::current().id());
    let (name, value) = mark.split_once('=').expect("it has one");
    command.env(name, value);
    let Outcome { status: actual, signal, stdout, stderr } = run(command, b"");
    assert_eq!((actual, signal), (status, None), "{shown}: {stderr}");
    assert_eq!(stdout, "", "{shown}");
    assert!(
        stderr.starts_with("fpgrind: ") && !stderr.ends_with(".\n") && stderr.lines().count() == 1,
        "{shown}: {stderr:?}"
    );
    assert_eq!(processes_with(mark.as_bytes()), Vec::<PathBuf>::new(), "{shown} left processes");
    stderr
}

/// The processes in whose environment this occurs.
fn processes_with(mark: &[u8]) -> Vec<PathBuf> {
    let processes = std::fs::read_dir("/proc").expect("/proc is mounted").flatten().map(|entry| entry.path());
    let marked = |process: &PathBuf| {
        std::fs::read(process.join("environ"))
            .is_ok_and(|environment| environment.split(|byte| *byte == 0).any(|e| e == mark))
    };
    processes.filter(marked).collect()
}

fn fpgrind(arguments: &[&str]) -> Command {
    let mut command = Command::new(FPGRIND);
    command.args(arguments);
    command
}

fn file(folder: &Path, name: &str, contents: &[u8], mode: u32) -> String {
    let path = folder.join(name);
    std::fs::write(&path, contents).expect("writing a test file");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("chmod of a test file");
    path.to_str().expect("test paths are UTF-8").to_owned()
}

#[test]
fn a_missing_program_is_127() {
    assert!(refused(127, fpgrind(&["/no/such/program"])).contains("/no/such/program"));
    assert!(refused(127, fpgrind(&["no-such-program", "with", "arguments"])).contains("PATH"));
    refused(127, fpgrind(&[""]));
}

#[test]
fn a_bad_line_of_a_file_of_functions_is_named() {
    let folder = scratch("bad-wrap");
    let wrap = file(&folder, "functions", b"# ours\nf(double) -> double = sin\ng(quad) -> double = cos\n", 0o644);
    let sentence = refused(125, fpgrind(&["--wrap", &wrap, "/bin/true"]));
    assert!(sentence.contains("functions, line 3: `quad` is no type"), "{sentence}");
    assert!(refused(125, fpgrind(&["--wrap", "/no/such/file", "/bin/true"])).contains("/no/such/file"));
    let binary = file(&folder, "binary", b"\xff\xfe", 0o644);
    refused(125, fpgrind(&["--wrap", &binary, "/bin/true"]));
}

#[test]
fn what_is_not_a_program_is_126() {
    let folder = scratch("bad-files");
    let mut of_true = std::fs::read("/bin/true").expect("/bin/true is readable");
    assert!(refused(126, fpgrind(&[folder.to_str().expect("UTF-8")])).contains("directory"));
    assert!(refused(126, fpgrind(&[&file(&folder, "script", b"echo hello\n", 0o755)])).contains("#!"));
    assert!(refused(126, fpgrind(&[&file(&folder, "empty", b"", 0o755)])).contains("empty"));
    assert!(refused(126, fpgrind(&[&file(&folder, "no-permission", &of_true, 0o644)])).contains("chmod +x"));
    assert!(refused(126, fpgrind(&[&file(&folder, "setuid", &of_true, 0o4755)])).contains("setuid"));
    assert!(refused(126, fpgrind(&[&file(&folder, "truncated", &of_true[..1000], 0o755)])).contains("truncated"));
    // Where elf(5) puts the machine, the class and the program headers' size.
    of_true[18] = 183;
    assert!(refused(126, fpgrind(&[&file(&folder, "arm", &of_true, 0o755)])).contains("64-bit ARM"));
    (of_true[4], of_true[18]) = (1, 3);
    assert!(refused(126, fpgrind(&[&file(&folder, "32-bit", &of_true, 0o755)])).contains("32-bit"));
    (of_true[4], of_true[18], of_true[54]) = (2, 62, 0);
    assert!(refused(126, fpgrind(&[&file(&folder, "corrupt", &of_true, 0o755)])).contains("not a valid ELF"));
}

#[test]
fn misused_options_are_125() {
    assert!(refused(125, fpgrind(&["--frobnicate", "/bin/true"])).contains("--frobnicate"));
    assert!(refused(125, fpgrind(&["--precision", "0", "/bin/true"])).contains("64..=100000"));
    assert!(refused(125, fpgrind(&["--precision", "1000000000", "/bin/true"])).contains("64..=100000"));
    assert!(refused(125, fpgrind(&["--threshold", "much", "/bin/true"])).contains("0 to 64"));
    assert!(refused(125, fpgrind(&["--mode", "fast", "/bin/true"])).contains("--mode"));
    assert!(refused(125, fpgrind(&[])).contains("--help"));
}

#[test]
fn what_is_no_report_is_refused() {
    let folder = scratch("bad-reports");
    let (name, text) = (folder.to_str().expect("UTF-8"), file(&folder, "text", b"{\"version\": 1}", 0o644));
    let binary = file(&folder, "binary", &[0xff, 0xfe, 0], 0o644);
    assert!(refused(125, fpgrind(&["report", name])).contains("report.json"));
    assert!(refused(125, fpgrind(&["report", "/no/such/folder"])).contains("/no/such/folder"));
    assert!(refused(125, fpgrind(&["report", &text])).contains("version 1"));
    assert!(refused(125, fpgrind(&["report", &binary])).contains("UTF-8"));
    assert!(refused(125, fpgrind(&["report", "--format", "pdf", name])).contains("fpgrind report --help"));
    assert!(refused(125, fpgrind(&["report"])).contains("fpgrind report --help"));
    assert!(refused(125, fpgrind(&["diff", &text, &binary])).contains("version 1"));
    assert!(refused(125, fpgrind(&["diff", name])).contains("fpgrind diff --help"));
    assert!(refused(125, fpgrind(&["diff", "--tolerance", "-1", name, name])).contains("fpgrind diff --help"));
}

#[test]
fn suppressions_that_make_no_sense_are_refused_with_their_line_before_the_program_starts() {
    let folder = scratch("bad-suppressions");
    let mark = folder.join("the-program-ran");
    let mark = mark.to_str().expect("UTF-8");
    let wrong = file(&folder, "known.txt", b"# known\nfunction:main\ncsqrt\n", 0o644);
    assert!(refused(125, fpgrind(&["--suppressions", &wrong, "touch", mark])).contains("known.txt:3: \"csqrt\""));
    assert!(refused(125, fpgrind(&["--suppressions", "/no/such/file", "touch", mark])).contains("/no/such/file"));
    assert!(refused(125, fpgrind(&["--mode", "none", "--fail-on", "5", "touch", mark])).contains("--fail-on"));
    assert!(refused(125, fpgrind(&["--fail-on", "-5", "touch", mark])).contains("0 to 64"));
    assert!(!Path::new(mark).exists());
}

#[test]
fn a_report_that_could_not_be_written_is_refused_before_the_program_starts() {
    let folder = scratch("bad-out");
    let mark = folder.join("the-program-ran");
    let mark = mark.to_str().expect("UTF-8");
    // Below a file nobody can make a folder, not even root.
    assert!(refused(125, fpgrind(&["--out", "/dev/null/report", "touch", mark])).contains("--out"));
    assert!(refused(125, fpgrind(&["--json", "/no/such/folder/json", "touch", mark])).contains("--json"));
    assert!(refused(125, fpgrind(&["--log", "/no/such/folder/log", "touch", mark])).contains("--log"));
    assert!(!Path::new(mark).exists());
}

#[test]
fn where_the_default_folder_cannot_be_made_the_summary_is_shown_and_the_status_is_the_programs() {
    // Not even root can make folders in /proc.
    let mut command = fpgrind(&["sh", "-c", "echo out; exit 5"]);
    command.current_dir("/proc");
    let outcome = run(command, b"");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (5, "out\n"));
    assert!(outcome.stderr.contains("--out") && outcome.stderr.lines().count() > 1, "{}", outcome.stderr);
}

#[test]
fn where_ptrace_is_forbidden_fpgrind_says_so() {
    let mut command = fpgrind(&["--quiet", "/bin/true"]);
    // SAFETY: between fork and exec only prctl is called.
    unsafe { command.pre_exec(forbid_ptrace) };
    assert!(refused(125, command).contains("ptrace"));
}

#[test]
fn where_there_is_no_proc_fpgrind_says_so() {
    // Only the privileged can take /proc away.
    let mut allowed = std::process::Command::new("/bin/true");
    let mut command = fpgrind(&["--quiet", "/bin/true"]);
    // SAFETY: between fork and exec only system calls are made.
    unsafe { allowed.pre_exec(hide_proc) };
    // SAFETY: as above.
    unsafe { command.pre_exec(hide_proc) };
    if allowed.status().is_ok() {
        assert!(refused(125, command).contains("/proc"));
    } else {
        eprintln!("/proc cannot be taken away here: not tested");
    }
}

/// In a mount namespace of the process's own.
fn hide_proc() -> std::io::Result<()> {
    let nothing = std::ptr::null();
    // SAFETY: plain system calls; the strings are constants.
    let hidden = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(nothing, c"/".as_ptr(), nothing, libc::MS_REC | libc::MS_PRIVATE, nothing.cast()) == 0
            && libc::umount2(c"/proc".as_ptr(), libc::MNT_DETACH) == 0
    };
    if hidden { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// As containers and hardened systems do it: ptrace fails with EPERM from here on.
fn forbid_ptrace() -> std::io::Result<()> {
    let filter = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let program = [
        // The number of the system call is the first field of seccomp_data.
        filter(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        filter(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_ptrace as u32),
        filter(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        filter(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: the program outlives the call, which copies it.
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    };
    if set { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
