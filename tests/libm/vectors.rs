//! Vector functions: a generated program calls every function of libmvec that the CPU can run.

use crate::common::{native, run, scratch};
use crate::functions::{FUNCTIONS, Meaning};
use crate::guest::{Format, address_of, analyse, libm, ordinary, symbols};
use crate::random::Random;
use crate::{big::Big, is_same};
use fpgrind_analysis::{Findings, Shadow};
use fpgrind_ir::Type;
use std::fmt::Write;
use std::process::Command;

/// A function of libmvec, by what its name says (x86 Vector Function ABI).
struct Vector {
    symbol: String,
    /// Of which it computes several: its number.
    scalar: usize,
    format: Format,
    lanes: usize,
    /// Bytes of a register of floats, and of pointers.
    width: usize,
    pointers: usize,
    takes: usize,
}

fn parse(symbol: &str) -> Option<Vector> {
    let rest = symbol.strip_prefix("_ZGV")?;
    let (width, pointers) = match rest.get(..1)? {
        "b" => (16, 16),
        "c" if is_x86_feature_detected!("avx") => (32, 16),
        "d" if is_x86_feature_detected!("avx2") => (32, 32),
        "e" if is_x86_feature_detected!("avx512f") => (64, 64),
        _ => return None,
    };
    let (shape, name) = rest.get(2..)?.split_once('_')?;
    let lanes: usize = shape.trim_end_matches('v').parse().ok()?;
    let format = if lanes * 8 == width { Format::DOUBLE } else { Format::FLOAT };
    let scalar = FUNCTIONS.iter().position(|function| format.name(function.0) == name)?;
    let takes = shape.matches('v').count();
    // The last of its pointers come on the stack, where they are not looked for.
    let is_odd = symbol == "_ZGVcN8vvv_sincosf";
    (!is_odd).then(|| Vector { symbol: symbol.to_owned(), scalar, format, lanes, width, pointers, takes })
}

impl Vector {
    fn is_sincos(&self) -> bool {
        FUNCTIONS[self.scalar].0 == "sincos"
    }

    fn floats(&self) -> usize {
        if self.is_sincos() { 1 } else { self.takes }
    }

    fn results(&self) -> usize {
        if self.is_sincos() { 2 } else { 1 }
    }

    /// C that calls it on the vectors at `in` and leaves the results at `out`; both go on.
    fn call(&self, number: usize) -> String {
        let real = if self.format.ty == Type::F64 { "double" } else { "float" };
        let (width, pointers, lanes) = (self.width, self.pointers, self.lanes);
        let (mut types, mut args, mut before) = (vec!["v"; self.floats()], Vec::new(), String::new());
        for at in 0..self.floats() {
            args.push(format!("((v *)in)[{at}]"));
        }
        if self.is_sincos() {
            let vectors = 8 * lanes / pointers;
            let _ = write!(before, "union {{ {real} *p[{lanes}]; p v[{vectors}]; }} a, b;\n    ");
            let _ = write!(
                before,
                "for (int i = 0; i < {lanes}; i++) {{ a.p[i] = ({real} *)out + i; b.p[i] = ({real} *)out + {lanes} + i; }}\n    "
            );
            for of in ["a", "b"] {
                types.extend(vec!["p"; vectors]);
                args.extend((0..vectors).map(|at| format!("{of}.v[{at}]")));
            }
        }
        let (ty, keep) = if self.is_sincos() { ("void", "") } else { ("v", "*(v *)out = ") };
        let (types, args, symbol) = (types.join(", "), args.join(", "), &self.symbol);
        let (used, left) = (width * self.floats(), width * self.results());
        format!(
            "static void f{number}(void) {{
    typedef {real} v __attribute__((vector_size({width})));
    typedef long p __attribute__((vector_size({pointers})));
    {ty} (*f)({types}) = dlsym(lib, \"{symbol}\");
    {before}{keep}f({args});
    in += {used}; out += {left};
}}
"
        )
    }
}

const TIMES: usize = 4;

pub struct Outcome {
    pub lanes: usize,
    pub wrong: Vec<String>,
    pub findings: Findings,
    pub shadows: usize,
}

pub fn check() -> Outcome {
    let folder = scratch("libmvec");
    let functions: Vec<Vector> =
        symbols(&libm().with_file_name("libmvec.so.1")).iter().filter_map(|symbol| parse(symbol)).collect();
    // Arguments, and where their results are.
    let mut random = Random::new(7);
    let (mut input, mut text, mut calls, mut size) = (Vec::<u8>::new(), String::new(), String::new(), 0);
    let mut expected: Vec<(u64, &Vector, usize, Vec<u128>)> = Vec::new();
    for (number, vector) in functions.iter().enumerate() {
        text += &vector.call(number);
        for _ in 0..TIMES {
            let bytes = vector.format.ty.bytes();
            let args: Vec<u128> =
                (0..vector.lanes * vector.floats()).map(|_| ordinary(vector.format, &mut random)).collect();
            args.iter().for_each(|bits| input.extend(&bits.to_le_bytes()[..bytes]));
            for part in 0..vector.results() {
                for lane in 0..vector.lanes {
                    let of = (0..vector.floats()).map(|arg| args[arg * vector.lanes + lane]).collect();
                    expected.push((size, vector, part, of));
                    size += bytes as u64;
                }
            }
            let _ = writeln!(calls, "    f{number}();");
        }
    }
    let text = format!(
        "#include <dlfcn.h>
#include <stdio.h>
char arguments[{}] __attribute__((aligned(64))), results[{size}] __attribute__((aligned(64)));
static char *in = arguments, *out = results;
static void *lib;
{text}
int main(int argc, char **argv) {{
    FILE *file = fopen(argv[1], \"rb\");
    if (fread(arguments, 1, sizeof arguments, file) != sizeof arguments) return 2;
    lib = dlopen(\"libmvec.so.1\", RTLD_NOW);
{calls}
    file = fopen(argv[2], \"wb\");
    fwrite(results, 1, sizeof results, file);
    return fclose(file);
}}
",
        input.len()
    );
    let [source, program, arguments] = ["guest.c", "guest", "arguments"].map(|name| folder.join(name));
    std::fs::write(&source, text).expect("the folder is writable");
    std::fs::write(&arguments, &input).expect("the folder is writable");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-g", "-no-pie", "-w", "-march=native"]).arg(&source).arg("-o").arg(&program).arg("-ldl");
    let built = run(gcc, b"");
    assert_eq!(built.status, 0, "{}", built.stderr);
    let command = |results: &str| [program.clone(), arguments.clone(), folder.join(results)];
    assert_eq!(run(native(&command("natively")), b"").status, 0);
    let start = address_of(&program, "results");
    let places: Vec<(u64, Type)> = expected.iter().map(|(at, vector, ..)| (start + at, vector.format.ty)).collect();
    let (shadows, findings) = analyse(&command("here"), &places);
    let [natively, here] = ["natively", "here"].map(|name| std::fs::read(folder.join(name)).expect("it was written"));
    assert!(natively == here, "the program sees a difference");
    let wrong = expected
        .iter()
        .zip(&shadows)
        .filter_map(|((_, vector, part, args), shadow)| wrong(vector, *part, args, shadow.as_ref()));
    let wrong = wrong.collect();
    Outcome { lanes: expected.len(), wrong, findings, shadows: shadows.iter().flatten().count() }
}

fn wrong(vector: &Vector, part: usize, args: &[u128], shadow: Option<&Shadow>) -> Option<String> {
    let Vector { format, symbol, .. } = vector;
    let numbers: Vec<Big> = args.iter().map(|bits| Big::from_bits(format.ty, *bits)).collect();
    let Meaning::Is(truth) = &FUNCTIONS[vector.scalar].2 else { return Some(format!("{symbol} has no meaning")) };
    let expected = truth(&numbers)[part].to_bits(format.ty)?;
    match shadow {
        Some(shadow) if is_same(*format, shadow.rounded, expected) => None,
        Some(shadow) => Some(format!("{symbol}({args:x?}): {:#x}, not {expected:#x}", shadow.rounded)),
        None => Some(format!("{symbol}({args:x?}): no shadow")),
    }
}
