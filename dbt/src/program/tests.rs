//! What is said about files that cannot be run, and that those which can are let through.

use super::*;
use std::os::unix::fs::PermissionsExt;

/// A directory for one test, gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("fpgrind-program-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary directory is writable");
        Scratch(path)
    }

    fn file(&self, name: &str, contents: &[u8], mode: u32) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, contents).expect("writing a test file");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("chmod of a test file");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn true_bytes() -> Vec<u8> {
    std::fs::read("/bin/true").expect("/bin/true is readable")
}

/// The sentence that refuses the file; asserts that it is one line.
fn refusal(path: &Path) -> String {
    let error = resolve(vec![path.into()]).expect_err("the file must be refused");
    assert_eq!(error.exit_status(), 126, "{error}");
    let sentence = error.to_string();
    assert!(!sentence.contains('\n') && !sentence.ends_with('.'), "{sentence}");
    sentence
}

#[test]
fn a_program_is_looked_up_in_path_and_keeps_its_arguments() {
    let program = resolve(vec!["sh".into(), "-c".into(), "--".into()]).expect("sh is in PATH");
    assert!(program.path.is_absolute() && program.path.ends_with("sh"), "{program:?}");
    assert_eq!(program.argv, ["sh", "-c", "--"]);
}

#[test]
fn path_is_searched_as_execvp_does_skipping_what_cannot_be_executed() {
    let scratch = Scratch::new("path");
    let first = scratch.0.join("first");
    let second = scratch.0.join("second");
    std::fs::create_dir_all(first.join("directory-of-that-name")).expect("mkdir");
    std::fs::create_dir_all(&second).expect("mkdir");
    scratch.file("first/tool", b"", 0o644);
    let good = scratch.file("second/tool", b"", 0o755);
    let search = std::env::join_paths([&first, &second]).expect("joining two paths");
    assert_eq!(find("tool".as_ref(), &search), Ok(good));
    assert!(matches!(find("directory-of-that-name".as_ref(), &search), Err(ProgramError::NotFound(_))));
    // Found, but never executable: judged rather than not found.
    assert_eq!(find("tool".as_ref(), first.as_os_str()), Ok(first.join("tool")));
}

#[test]
fn what_does_not_exist_is_not_found() {
    for name in ["/no/such/file", "no-such-program-anywhere", "", "/bin/true/below-a-file"] {
        let error = resolve(vec![name.into()]).expect_err("nothing is there");
        assert_eq!(error.exit_status(), 127, "{error}");
    }
}

#[test]
fn a_directory_an_empty_file_and_a_file_without_permission_are_refused_with_the_reason() {
    let scratch = Scratch::new("plain");
    assert!(refusal(&scratch.0).contains("is a directory"));
    assert!(refusal(&scratch.file("empty", b"", 0o755)).contains("is empty"));
    assert!(refusal(&scratch.file("plain", &true_bytes(), 0o644)).contains("chmod +x"));
    assert!(refusal(Path::new("/dev/null")).contains("not a regular file"));
}

#[test]
fn scripts_run_if_their_interpreter_does() {
    let scratch = Scratch::new("scripts");
    let good = scratch.file("good", b"#! /bin/sh -e\ntrue\n", 0o755);
    assert_eq!(resolve(vec![good.clone().into()]).expect("sh runs it").path, good);
    assert!(refusal(&scratch.file("bare", b"echo hello\n", 0o755)).contains("fpgrind sh "));
    assert!(refusal(&scratch.file("unnamed", b"#! \n", 0o755)).contains("names no interpreter"));
    assert!(refusal(&scratch.file("missing", b"#!/no/such/shell\n", 0o755)).contains("/no/such/shell"));
    let endless = [b"#!/".as_slice(), &[b'x'; 400]].concat();
    assert!(refusal(&scratch.file("endless", &endless, 0o755)).contains("names no interpreter"));
}

#[test]
fn interpreters_are_followed_as_far_as_the_kernel_follows_them() {
    let scratch = Scratch::new("depth");
    let mut last = scratch.file("1", b"#!/bin/sh\n", 0o755);
    for depth in 2..=6 {
        assert!(resolve(vec![last.clone().into()]).is_ok(), "{} scripts are allowed", depth - 1);
        last = scratch.file(&depth.to_string(), format!("#!{}\n", last.display()).as_bytes(), 0o755);
    }
    assert!(refusal(&last).contains("interpreters"));
}

#[test]
fn setuid_and_setgid_programs_are_refused() {
    let scratch = Scratch::new("setuid");
    assert!(refusal(&scratch.file("setuid", &true_bytes(), 0o4755)).contains("is setuid"));
    assert!(refusal(&scratch.file("setgid", &true_bytes(), 0o2755)).contains("is setgid"));
    // Linux ignores the bit on scripts.
    assert!(resolve(vec![scratch.file("script", b"#!/bin/sh\n", 0o4755).into()]).is_ok());
}

#[test]
fn programs_for_other_machines_are_named() {
    let scratch = Scratch::new("machines");
    let with = |changes: &[(usize, u8)]| {
        let mut bytes = true_bytes();
        changes.iter().for_each(|(at, byte)| bytes[*at] = *byte);
        refusal(&scratch.file("program", &bytes, 0o755))
    };
    assert!(with(&[(4, 1), (18, 3)]).contains("32-bit program"));
    assert!(with(&[(4, 1)]).contains("32-bit program"));
    assert!(with(&[(18, 183)]).contains("64-bit ARM"));
    assert!(with(&[(5, 2), (18, 0), (19, 22)]).contains("s390"));
    assert!(with(&[(16, 1)]).contains("an object file"));
    assert!(with(&[(5, 9)]).contains("byte order"));
}

#[test]
fn a_program_cut_off_anywhere_is_refused() {
    let scratch = Scratch::new("truncated");
    let bytes = true_bytes();
    // Up to the end of the last loaded segment; what follows are sections, which nobody needs to run it.
    let text_ends = bytes.len() / 2;
    for length in (4..600).chain((600..text_ends).step_by(997)) {
        assert!(refusal(&scratch.file("cut", &bytes[..length], 0o755)).contains("truncated"), "at {length}");
    }
}

#[test]
fn no_damage_to_the_headers_makes_the_judgement_panic() {
    let scratch = Scratch::new("damage");
    let original = true_bytes();
    let headers = 64 + 56 * original[56] as usize;
    for at in 0..headers {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = original.clone();
            bytes[at] = value;
            let path = scratch.file("damaged", &bytes, 0o755);
            if let Err(error) = resolve(vec![path.into()]) {
                assert_eq!(error.exit_status(), 126, "{error}");
            }
        }
    }
}

#[test]
fn a_program_whose_entry_or_loader_is_nonsense_is_refused() {
    let scratch = Scratch::new("nonsense");
    let mut bytes = true_bytes();
    bytes[24..32].copy_from_slice(&0x7000_0000_u64.to_le_bytes());
    assert!(refusal(&scratch.file("entry", &bytes, 0o755)).contains("entry point"));
    let mut bytes = true_bytes();
    let at = bytes.windows(9).position(|window| window == b"/lib64/ld").expect("/bin/true names its loader");
    bytes[at + 5] = b'X';
    assert!(refusal(&scratch.file("loader", &bytes, 0o755)).contains("needs the loader /lib6X"));
}
