//! Programs that people use, as Debian has them: what they print, how they end and the files that they make are the same under fpgrind.

mod common;

use common::guests::{difference, installed, source};
use common::{FOLLOW, Outcome, fpgrind, native, note, run_within, scratch};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// For the longest of them, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(900);

/// What a program left behind: its outcome and the files in its folder.
struct Traces {
    outcome: Outcome,
    files: BTreeMap<String, Vec<u8>>,
}

fn traces(mut command: Command, folder: &Path, input: &[u8]) -> Traces {
    let shown = format!("{command:?}");
    command.current_dir(folder).env("LC_ALL", "C.UTF-8").env("SOURCE_DATE_EPOCH", "0");
    let outcome = run_within(PATIENCE, command, input).unwrap_or_else(|| panic!("{shown} did not end in {PATIENCE:?}"));
    let files = std::fs::read_dir(folder)
        .expect("the folder is ours")
        .map(|entry| entry.expect("the folder is ours").path())
        .filter(|path| path.is_file())
        .map(|path| {
            (path.file_name().expect("a file").to_string_lossy().into_owned(), std::fs::read(&path).expect("our file"))
        })
        .collect();
    Traces { outcome, files }
}

/// Runs a command in a folder prepared twice in the same way, natively and translated, and compares all that is left.
fn same_with(name: &str, command: &[&str], input: &[u8], prepare: impl Fn(&Path)) -> Outcome {
    let options = [["--mode", "none", "--quiet"].as_slice(), FOLLOW].concat();
    // One folder for both: its path may be in what they write.
    let run_in_folder = |command: Command| {
        let folder = scratch(&format!("real-{name}"));
        prepare(&folder);
        traces(command, &folder, input)
    };
    let natively = run_in_folder(native(command));
    let translated = run_in_folder(fpgrind(&options, command));
    if let Some(what) = difference(&natively.outcome, &translated.outcome) {
        panic!("{command:?}: {what}");
    }
    let names = |traces: &Traces| traces.files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&translated), names(&natively), "{command:?}");
    for (name, bytes) in &natively.files {
        assert!(&translated.files[name] == bytes, "{command:?} writes another {name}");
    }
    natively.outcome
}

fn same(name: &str, command: &[&str]) -> Outcome {
    same_with(name, command, b"", |_| ())
}

fn shell(name: &str, script: &str) -> Outcome {
    let outcome = same(name, &["bash", "-c", script]);
    assert_eq!(outcome.status, 0, "{script}: {outcome:?}");
    outcome
}

/// A file of `tests/guests/real`, for a command line.
fn script(name: &str) -> String {
    source("real").join(name).to_str().expect("UTF-8").to_owned()
}

#[test]
fn shells() {
    let text = "f() { local n=$1; [ $n -lt 2 ] && echo $n && return; echo $(( $(f $((n-1))) + $(f $((n-2))) )); }; f 9; \
                a=1; while [ $a -lt 200 ]; do a=$((a + a / 3 + 1)); done; echo $a; (exit 3) || echo $?; \
                cat <<END | sort -r\nb\na\nEND\ntrap 'echo bye' EXIT; sleep 0.01 & wait; kill -0 $$ && echo alive";
    for shell in ["bash", "dash"] {
        assert!(same(&format!("shell-{shell}"), &[shell, "-c", &text.replace("local n=$1", "n=$1")]).status == 0);
    }
    shell(
        "bash",
        "declare -A m; for i in {1..300}; do m[$((i % 7))]+=$i; done; echo ${#m[@]} ${m[3]}; mapfile -t l < <(seq 5); \
                   echo ${l[@]/3/x}; coproc cat; echo hi >&${COPROC[1]}; read -u ${COPROC[0]} x; echo $x; printf '%.10f\\n' 1e-3",
    );
}

#[test]
fn text_pipelines() {
    let text = "seq 1 20000 | awk '{ printf \"%d %.6f %s\\n\", $1 % 97, sin($1), $1 * 7919 % 10007 }' > data; \
                sort -k1,1n -k3,3nr data | sed -E 's/^([0-9]+) (-?)0/\\1:\\2/' | grep -v '5$' | uniq -c -w2 | head -n 50; \
                cut -d' ' -f2 data | paste -sd+ | tr + '\\n' | sort -g | tail -n 3; wc data; split -l 5000 data part-; \
                comm -12 <(sort part-aa) <(sort data) | wc -l; tac data | md5sum; join <(sort data) <(sort part-ab) | cksum; \
                diff part-aa part-ab | tail -n 2; find . -type f | sort | xargs -n2 echo; dd if=data bs=1000 count=3 status=none | base64 | tail -n1";
    shell("text", text);
}

#[test]
fn perl() {
    let text = "my %h; $h{$_ % 11} += sqrt $_ for 1..5000; printf \"%s %.15g\\n\", $_, $h{$_} for sort { $a <=> $b } keys %h; \
                my $t = join ',', map { sprintf '%x', $_ * $_ } 1..200; $t =~ s/(\\d)([a-f])/$2$1/g; print length $t, \"\\n\"; \
                $SIG{ALRM} = sub { die \"alarm\\n\" }; eval { alarm 1; select undef, undef, undef, 5; }; print $@; \
                my $pid = fork // die; if (!$pid) { print \"child\\n\"; exit 7 } waitpid $pid, 0; print $? >> 8, \"\\n\"; \
                print `echo from a shell`; open my $p, '|-', 'sort -n' or die; print $p \"$_\\n\" for 3, 1, 2; close $p; exit 4";
    assert_eq!(same("perl", &["perl", "-e", text]).status, 4);
}

#[test]
fn compilers() {
    let prepare = |folder: &Path| {
        let c = "#include <stdio.h>\n#include <math.h>\n#include <stdlib.h>\n\
                 static double f(double x, int n) { double s = 0; for (int i = 1; i <= n; i++) s += sin(x * i) / i; return s; }\n\
                 int main(void) { printf(\"%.17g %.17g\\n\", f(0.5, 100), f(1.5, 77)); return 0; }\n";
        let cpp = "#include <map>\n#include <regex>\n#include <string>\n#include <iostream>\n#include <algorithm>\n\
                   int main() { std::map<std::string, double> m; for (int i = 0; i < 100; i++) m[std::to_string(i % 7)] += i * 0.1; \
                   std::regex r(\"[0-9]+\"); for (auto &[k, v] : m) if (std::regex_match(k, r)) std::cout << k << ' ' << v << '\\n'; }\n";
        let fortran = "program p\nreal(8) :: s\ninteger :: i\ns = 0\ndo i = 1, 1000\ns = s + 1d0 / i**2\nend do\nprint *, s\nend program\n";
        for (name, text) in [("a.c", c), ("b.cpp", cpp), ("c.f90", fortran)] {
            std::fs::write(folder.join(name), text).expect("our folder");
        }
    };
    let line = "gcc -O2 -g -c a.c && gcc -O3 -march=native -S a.c -o a.s && g++ -O2 -c b.cpp && g++ b.o -o b && ./b && \
                gfortran -O2 c.f90 -o c && ./c && gcc a.o -o a -lm && ./a && objdump -d a.o | sha256sum && nm b | wc -l && ar rcsD l.a a.o b.o";
    assert_eq!(same_with("compilers", &["bash", "-c", line], b"", prepare).status, 0);
    // The driver's children run in it; this is the compiler itself.
    let direct = Command::new("gcc").arg("-print-prog-name=cc1").output().expect("gcc is installed").stdout;
    let cc1 = String::from_utf8(direct).expect("a path");
    let outcome = same_with(
        "cc1",
        &[cc1.trim(), "-quiet", "-imultiarch", "x86_64-linux-gnu", "-O2", "a.c", "-o", "a.s"],
        b"",
        prepare,
    );
    assert_eq!(outcome.status, 0, "{outcome:?}");
}

#[test]
fn compression() {
    let text = "seq 1 60000 > data; for c in 'gzip -9n' 'xz -6 -T2' 'zstd -q -10' 'bzip2'; do command -v ${c%% *} >/dev/null || continue; \
                $c < data > packed-${c%% *}; ${c%% *} -dc < packed-${c%% *} | cmp - data && sha256sum packed-${c%% *}; done; \
                tar -cf t.tar --mtime=@0 --owner=0 --group=0 data && tar -tf t.tar && sha256sum t.tar";
    shell("compression", text);
}

#[test]
fn sqlite() {
    if installed("sqlite3") {
        let query = "create table t(n integer primary key, x real); \
                     with recursive c(n) as (select 1 union all select n + 1 from c where n < 5000) insert into t select n, n * 0.1 + sin(n) from c; \
                     create index i on t(x); select count(*), sum(x), avg(x * x), max(x) from t where x > 17.5; \
                     select n % 10 as k, total(x), group_concat(n % 3, '') from t where n < 60 group by k order by 2 desc; \
                     select round(x, 3), printf('%.17g', x / 3) from t order by x desc limit 5; pragma integrity_check;";
        assert_eq!(same("sqlite", &["sqlite3", "data.db", query]).status, 0);
    }
}

#[test]
fn openssl() {
    if installed("openssl") {
        let text = "seq 1 50000 > data; for d in sha256 sha512 md5 sha3-256 blake2b512; do openssl dgst -$d data; done; \
                    for c in aes-256-cbc aes-128-gcm chacha20 camellia-128-cbc; do openssl enc -$c -K $(printf '%064d' 7 | cut -c1-64) -iv $(printf '%032d' 9) \
                    -in data 2>/dev/null | sha256sum; done; for n in 1000003 1000005 170141183460469231731687303715884105727; do openssl prime $n; done; \
                    openssl enc -aes-256-cbc -pbkdf2 -iter 2000 -S 0102030405060708 -pass pass:secret -in data | openssl enc -d -aes-256-cbc -pbkdf2 -iter 2000 \
                    -S 0102030405060708 -pass pass:secret | cmp - data; openssl genrsa 1024 2>/dev/null > k && openssl dgst -sha256 -sign k -out s data && \
                    openssl rsa -in k -pubout -out p 2>/dev/null && openssl dgst -sha256 -verify p -signature s data; rm k s p";
        shell("openssl", text);
    }
}

#[test]
fn numpy() {
    let python = "/usr/bin/python3";
    if !Command::new(python).args(["-c", "import numpy"]).output().is_ok_and(|output| output.status.success()) {
        return note("numpy is not installed (scripts/install-tools installs it): not tested");
    }
    assert_eq!(same("numpy", &[python, &script("arrays.py")]).status, 0);
}

#[test]
fn just_in_time_compilers() {
    if installed("luajit") {
        assert_eq!(same("luajit", &["luajit", &script("spiral.lua")]).status, 0);
        assert_eq!(same("luajit-hot", &["luajit", "-Ohotloop=2,hotexit=2", &script("spiral.lua")]).status, 0);
    }
    if installed("node") {
        assert_eq!(same("node", &["node", &script("spiral.js")]).status, 3);
    }
    if installed("pypy3") {
        let text = "s = 0.0\nfor i in range(200000):\n    s += (i % 7) * 0.5 - s * 1e-6\nprint(s)\nprint(sorted({i * i % 31 for i in range(99)}))";
        assert_eq!(same("pypy", &["pypy3", "-c", text]).status, 0);
    }
}

#[test]
fn java() {
    if installed("java") && installed("javac") {
        let classes = scratch("java-classes");
        let compiled =
            Command::new("javac").arg("-d").arg(&classes).arg(script("Spiral.java")).output().expect("javac");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let classes = classes.to_str().expect("UTF-8");
        for collector in ["-XX:+UseSerialGC", "-XX:+UseG1GC"] {
            assert_eq!(same("java", &["java", collector, "-cp", classes, "Spiral"]).status, 5);
        }
    }
}

/// Modules of CPython's test package, each test's outcome.
fn cpython(name: &str, modules: &[&str]) {
    let python = "/usr/bin/python3";
    if !Command::new(python).args(["-c", "import test.test_math"]).output().is_ok_and(|output| output.status.success())
    {
        return note("CPython's test package is not installed (scripts/install-tools installs it): not tested");
    }
    let runner = script("cpython_tests.py");
    let command: Vec<&str> = [python, "-B", &runner].into_iter().chain(modules.iter().copied()).collect();
    let outcome = same(name, &command);
    assert!(outcome.status == 0 && outcome.stdout.lines().count() > 3, "{outcome:?}");
}

#[test]
fn cpython_computes() {
    cpython(
        "cpython-computes",
        &["test_math", "test_cmath", "test_float", "test_complex", "test_struct", "test_fractions", "test_strtod"],
    );
}

#[test]
fn cpython_handles_text() {
    cpython("cpython-text", &["test_re", "test_generators", "test_random", "test_json"]);
}

#[test]
fn cpython_asks_the_system() {
    cpython("cpython-system", &["test_thread", "test_mmap", "test_ctypes", "test_select", "test_fork1"]);
}

macro_rules! long_cpython_tests {
    ($($name:ident),*) => {$(
        #[test]
        #[ignore = "a minute or more; make soak runs it"]
        fn $name() {
            cpython(stringify!($name), &[stringify!($name)]);
        }
    )*};
}

long_cpython_tests!(
    test_signal,
    test_threading,
    test_subprocess,
    test_faulthandler,
    test_statistics,
    test_decimal,
    test_os,
    test_posix,
    test_threadsignals,
    test_wait3,
    test_exceptions,
    test_poll,
    test_array
);
