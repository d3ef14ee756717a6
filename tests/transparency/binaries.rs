//! The ways in which programs are linked, loaded and written.

use crate::common::guests::{C, CPP, compile, differences, every_case, installed, source};
use crate::common::scratch;
use std::path::Path;
use std::process::Command;

#[test]
fn every_way_of_linking() {
    let shapes: [&[&str]; 8] = [
        &["-O2"],
        &["-O2", "-no-pie"],
        &["-O2", "-static"],
        &["-O2", "-static-pie"],
        &["-O2", "-s"],
        &["-O0", "-static", "-s"],
        &["-O3", "-march=native", "-Wl,-z,now"],
        &["-O2", "-fcf-protection=full", "-mcmodel=large"],
    ];
    for shape in shapes {
        let flags: Vec<&str> = shape.iter().copied().chain(["-lm"]).collect();
        every_case(&compile(C, "binaries/shapes.c", &flags));
    }
}

#[test]
fn musl() {
    if installed("musl-gcc") {
        for shape in [["-O2", "-static"], ["-O2", "-static-pie"], ["-O2", "-g"]] {
            every_case(&compile(&["musl-gcc", "-std=gnu11", "-D_GNU_SOURCE"], "binaries/shapes.c", &shape));
        }
    }
}

/// A path as a C string for a compiler's command line.
fn defined(name: &str, path: &Path) -> String {
    format!("-D{name}=\"{}\"", path.display())
}

#[test]
fn libraries_that_come_and_go() {
    let first = compile(C, "binaries/plugin.c", &["-O2", "-fPIC", "-shared", "-DNUMBER=1"]);
    let second = compile(C, "binaries/plugin.c", &["-O2", "-fPIC", "-shared", "-DNUMBER=2"]);
    let (first, second) = (defined("FIRST", &first), defined("SECOND", &second));
    let lazy = ["-O2", "-fno-builtin", "-Wl,-z,lazy", "-lm", "-ldl", &first, &second];
    every_case(&compile(C, "binaries/loading.c", &lazy));
}

#[test]
fn exceptions_of_cpp() {
    let throwing = compile(CPP, "binaries/throwing.cpp", &["-O2", "-fPIC", "-shared"]);
    every_case(&compile(CPP, "binaries/exceptions.cpp", &["-O2", "-ldl", &defined("THROWING", &throwing)]));
}

#[test]
fn a_preloaded_library() {
    let library = compile(C, "binaries/preload.c", &["-O2", "-fPIC", "-shared", "-ldl"]);
    let program = compile(C, "binaries/shapes.c", &["-O2", "-lm"]);
    // Through env: in fpgrind's own environment the library would be loaded into fpgrind as well.
    let preload = format!("LD_PRELOAD={}", library.display());
    let found = differences(&["env".as_ref(), preload.as_ref(), program.as_os_str(), "everything".as_ref()]);
    assert!(found.is_empty(), "{found:?}");
}

/// A program without cases: it is its own.
fn same(program: &Path) {
    let found = differences(&[program]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn fortran() {
    if installed("gfortran") {
        let modules = scratch("fortran-modules");
        let modules = modules.to_str().expect("UTF-8");
        for shape in ["-O2", "-O0", "-static"] {
            same(&compile(&["gfortran", "-g", "-J", modules], "binaries/numbers.f90", &[shape]));
        }
    }
}

#[test]
fn rust() {
    if installed("rustc") {
        same(&compile(&["rustc", "--edition", "2024", "-g"], "binaries/collections.rs", &["-O"]));
    }
}

#[test]
fn go() {
    if !installed("go") {
        return;
    }
    let folder = scratch("go");
    let program = folder.join("channels");
    let output = Command::new("go")
        .arg("build")
        .arg("-o")
        .arg(&program)
        .arg(source("binaries/channels.go"))
        .env("GOCACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache"))
        .env("GO111MODULE", "off")
        .output()
        .expect("go is installed");
    assert!(output.status.success(), "go failed: {}", String::from_utf8_lossy(&output.stderr));
    same(&program);
}
