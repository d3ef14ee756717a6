//! Modules whose own code is not analysed.
//!
//! The C library, its mathematical part and the dynamic linker are full of deliberate cancellations, bit tricks and
//! table lookups that end in correct results. Reported as causes they would be noise: the user cannot change them,
//! and most are right. What their functions mean is said by the wrappers instead.

use std::path::Path;

/// Library names before `.so` or `-VERSION.so`: glibc's parts (those that were libraries of their own until 2.34
/// included), GCC's libm for _Float128, and musl's, whose C library and dynamic linker are one file.
const LIBRARIES: &[&str] = &[
    "libc",
    "libm",
    "libmvec",
    "libpthread",
    "libdl",
    "librt",
    "libresolv",
    "libutil",
    "libanl",
    "libcrypt",
    "libnsl",
    "libquadmath",
    "ld",
];

/// Is this module one whose own code is not looked at?
pub fn is_quiet_module(path: impl AsRef<Path>) -> bool {
    let Some(file) = path.as_ref().file_name().and_then(|name| name.to_str()) else { return false };
    is_shared_object(file, "ld-linux")
        || is_shared_object(file, "ld-musl")
        || is_shared_object(file, "libc.musl")
        || library(file).is_some_and(|name| LIBRARIES.contains(&name))
}

/// The libraries of languages: what they call an output function for is another's doing.
const RUNTIMES: &[&str] = &["libstdc++", "libc++", "libgfortran"];
/// The same of what moves data elsewhere. These are several libraries each: `libmpi_mpifh-gfortran`, `libhdf5_serial`.
const CARRIERS: &[&str] = &["libmpi", "libmpich", "libmpifort", "libhdf5"];

/// Does this module only do what the program's own code asks it to? Then who called it is of interest.
pub fn is_runtime_module(path: impl AsRef<Path>) -> bool {
    let file = path.as_ref().file_name().and_then(|name| name.to_str());
    let carries = |file: &str| {
        let of = |name: &&str| file.strip_prefix(*name).is_some_and(|rest| rest.starts_with(['.', '_', '-']));
        file.contains(".so") && CARRIERS.iter().any(of)
    };
    is_quiet_module(&path)
        || file.and_then(library).is_some_and(|name| RUNTIMES.contains(&name))
        || file.is_some_and(carries)
}

/// How the symbols of functions begin that are a language's, wherever they are: C++'s namespaces `std` and `__gnu_cxx`, whose templates
/// become part of the program, libgfortran's, and Rust's crates.
const RUNTIME_SYMBOLS: &[&str] =
    &["_ZSt", "_ZNSt", "_ZNKSt", "_ZNSo", "_ZN9__gnu_cxx", "_gfortran", "_ZN4core", "_ZN5alloc", "_ZN3std"];
/// The same crates as roots of paths, in Rust's newer way of mangling names (RFC 2603).
const RUNTIME_CRATES: &[&str] = &["4core", "5alloc", "3std"];

/// Is this a function of the C library that makes a system call which writes, or maps a file to be written? In a static executable it is; elsewhere it may be the
/// program's own.
pub fn is_static_writer(symbol: &str) -> bool {
    let name = symbol.trim_start_matches("__").trim_start_matches("libc_").trim_end_matches("64");
    ["write", "pwrite", "writev", "pwritev", "send", "sendto", "sendmsg", "mmap"].contains(&name)
}

/// The packages of Go that print, and those which they are made of.
const GO_PACKAGES: &[&str] = &[
    "bufio.",
    "bytes.",
    "encoding/",
    "fmt.",
    "html/",
    "io.",
    "log.",
    "log/",
    "os.",
    "reflect.",
    "runtime.",
    "strconv.",
    "strings.",
    "sync.",
    "text/",
];

/// The same of a program in Go.
pub fn is_go_runtime_function(symbol: &str) -> bool {
    GO_PACKAGES.iter().any(|package| symbol.starts_with(package))
}

/// Does this function only do what the program's own code asks it to?
pub fn is_runtime_function(symbol: &str) -> bool {
    let of_crate = |symbol: &str| {
        let (_, root) = symbol.strip_prefix("_R")?.split_once("Cs")?;
        let (_, name) = root.split_once('_')?;
        Some(RUNTIME_CRATES.iter().any(|known| name.starts_with(known)))
    };
    // `<alloc::vec::Vec<T> as core::fmt::Debug>::fmt` and, for any T, `<T as alloc::string::ToString>::to_string`.
    let of_implementation = |symbol: &str| {
        let (_, of) = symbol.strip_prefix("_ZN")?.split_once("_$LT$")?;
        let of = of.strip_prefix("$RF$").unwrap_or(of);
        Some(["T$u20$", "$u5b$T$u5d$", "core..", "alloc..", "std.."].iter().any(|known| of.starts_with(known)))
    };
    RUNTIME_SYMBOLS.iter().any(|beginning| symbol.starts_with(beginning))
        || of_crate(symbol) == Some(true)
        || of_implementation(symbol) == Some(true)
}

/// Is this module the C library's mathematical part?
pub fn is_math_module(path: impl AsRef<Path>) -> bool {
    let file = path.as_ref().file_name().and_then(|name| name.to_str());
    file.and_then(library).is_some_and(|name| ["libm", "libmvec", "libquadmath"].contains(&name))
}

/// The name of the library in a file: `libm` in `libm.so.6`, and in `libm-2.31.so`, as glibc called its files until 2.34.
fn library(file: &str) -> Option<&str> {
    let (name, _) = file.split_once(".so")?;
    let name = match name.split_once('-') {
        Some((name, version)) if version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') => name,
        Some(_) => return None,
        None => name,
    };
    is_shared_object(file, name).then_some(name)
}

/// `ld-linux-x86-64.so.2` is `ld-linux` with something behind it and the ending of a shared object.
fn is_shared_object(file: &str, beginning: &str) -> bool {
    let Some(rest) = file.strip_prefix(beginning) else { return false };
    let Some((middle, version)) = rest.split_once(".so") else { return false };
    (middle.is_empty() || middle.starts_with('-'))
        && (version.is_empty() || version.starts_with('.'))
        && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_and_its_relatives_are_quiet() {
        for path in [
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/usr/lib/libm.so.6",
            "/lib/x86_64-linux-gnu/libm-2.31.so",
            "libc-2.17.so",
            "/lib64/ld-linux-x86-64.so.2",
            "/lib/ld-2.31.so",
            "/lib/ld-musl-x86_64.so.1",
            "/lib/libc.musl-x86_64.so.1",
            "libmvec.so.1",
            "libpthread.so.0",
            "libdl.so.2",
        ] {
            assert!(is_quiet_module(path), "{path}");
        }
    }

    #[test]
    fn the_mathematical_part_is_told_from_the_rest() {
        for path in ["/usr/lib/libm.so.6", "/lib/x86_64-linux-gnu/libm-2.31.so", "libmvec.so.1"] {
            assert!(is_math_module(path), "{path}");
        }
        for path in ["/lib/x86_64-linux-gnu/libc.so.6", "libm-tricks.so", "libm.sound", "/usr/bin/libm", ""] {
            assert!(!is_math_module(path), "{path}");
        }
    }

    #[test]
    fn functions_of_languages_are_told_from_the_programs() {
        for symbol in [
            "_ZNSo9_M_insertIdEERSoT_",
            "_ZN9__gnu_cxx12__to_xstringI",
            "_RNvNtCsgEmfK2I1SDS_3std2io6_print",
            "_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
        ] {
            assert!(is_runtime_function(symbol), "{symbol}");
        }
        for symbol in [
            "main",
            "_ZL5wrongv",
            "_ZN5Point5printEv",
            "_RNvCs1234_7program4main",
            "_RNvXCs1234_3mineNtB_1P",
            "_ZN48_$LT$rs1..Point$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE",
        ] {
            assert!(!is_runtime_function(symbol), "{symbol}");
        }
        assert!(is_runtime_module("/usr/lib/libstdc++.so.6.0.30") && is_runtime_module("libgfortran.so.5"));
        assert!(
            is_runtime_module("libmpi_mpifh-gfortran.so.40.30.0") && is_runtime_module("libhdf5_serial.so.103.3.1")
        );
        assert!(!is_runtime_module("libmpire.so.1"));
        assert!(!is_runtime_module("/usr/bin/program") && !is_runtime_module("libstdcool.so"));
    }

    #[test]
    fn programs_and_other_libraries_are_not_quiet() {
        for path in [
            "/usr/bin/plotter",
            "/lib/libmpfr.so.6",
            "libmath.so",
            "libc++.so.1",
            "libcblas.so.3",
            "libm-tricks.so",
            "libm.sound",
            "ld",
            "libm",
            "",
            "/",
            "libopenblas.so.0",
        ] {
            assert!(!is_quiet_module(path), "{path}");
        }
    }
}
