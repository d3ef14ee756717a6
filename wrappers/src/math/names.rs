//! Under which symbols the functions are found.

use super::Math;
use super::convention::{self, Lanes};
use super::functions::{EMULATION, EXTENSIONS, FUNCTIONS, Give, HELPERS, NARROWING, Row, Take};
use crate::unversioned;
use fpgrind_ir::Type;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{LazyLock, Mutex, PoisonError};

/// What follows a function's name and says its format. `f32` to `f64x` are the types of TS 18661-3 (now C23, annex H): on x86-64
/// `_Float32x` is double and `_Float64x` is long double. `q` is libquadmath's.
const FORMATS: &[(&str, Type)] = &[
    ("", Type::F64),
    ("f", Type::F32),
    ("l", Type::F80),
    ("f32", Type::F32),
    ("f64", Type::F64),
    ("f32x", Type::F64),
    ("f64x", Type::F80),
    ("f128", Type::F128),
    ("q", Type::F128),
];

/// What a narrowing function's name has before and behind the operation: `fadd`, `faddl`, `f32addf64`.
const NARROW_FORMATS: &[(&str, Type, &str, Type)] = &[
    ("f", Type::F32, "", Type::F64),
    ("f", Type::F32, "l", Type::F80),
    ("d", Type::F64, "l", Type::F80),
    ("f32", Type::F32, "f32x", Type::F64),
    ("f32", Type::F32, "f64", Type::F64),
    ("f32", Type::F32, "f64x", Type::F80),
    ("f32x", Type::F64, "f64", Type::F64),
    ("f32x", Type::F64, "f64x", Type::F80),
    ("f64", Type::F64, "f64x", Type::F80),
    ("f32", Type::F32, "f128", Type::F128),
    ("f32x", Type::F64, "f128", Type::F128),
    ("f64", Type::F64, "f128", Type::F128),
    ("f64x", Type::F80, "f128", Type::F128),
];

/// A format's name in those of GCC's helpers: by its machine mode, or by its bytes.
const HELPER_FORMATS: &[(&str, &str, Type)] =
    &[("s", "4", Type::F32), ("d", "8", Type::F64), ("x", "10", Type::F80), ("t", "16", Type::F128)];

/// All scalar functions by name.
static SCALARS: LazyLock<FxHashMap<String, &'static Math>> = LazyLock::new(|| {
    let mut known = FxHashMap::default();
    let mut add = |name: String, math: Option<Math>| {
        if let Some(math) = math {
            known.insert(name, &*Box::leak(Box::new(math)));
        }
    };
    for Row(name, takes, gives) in FUNCTIONS.iter().chain(EXTENSIONS) {
        for (name, ty) in names(name) {
            add(name, convention::math(takes, gives, ty, ty, Lanes::SCALAR));
        }
    }
    for (name, takes, operator) in NARROWING {
        for (before, to, behind, from) in NARROW_FORMATS {
            let gives = [Give::Float(*operator)];
            add(format!("{before}{name}{behind}"), convention::math(takes, &gives, *from, *to, Lanes::SCALAR));
        }
    }
    for Row(name, takes, gives) in HELPERS {
        for (mode, bytes, ty) in HELPER_FORMATS {
            let format = if name.starts_with("__") { mode } else { bytes };
            add(name.replace('#', format), convention::math(takes, gives, *ty, *ty, Lanes::SCALAR));
        }
    }
    for (name, takes, give, from, to) in EMULATION {
        add((*name).to_owned(), convention::math(takes, &[*give], *from, *to, Lanes::SCALAR));
    }
    known
});

/// How glibc's symbol tables prefix a function's inner names (`__sin`, `__ieee754_exp`, `__w_log1p`), and Intel's the scalar
/// functions that its compilers call.
const PREFIXES: &[&str] = &["__ieee754_", "__w_", "__libm_sse2_", "__"];

/// What those inner names end in: `-ffinite-math-only` entry points (until glibc 2.31) and the variants among which
/// an IFUNC resolver chooses (glibc, sysdeps/x86_64/fpu/multiarch). The resolvers themselves, `_ifunc`, are not
/// functions of floats.
const SUFFIXES: &[&str] =
    &["_finite", "_fma", "_fma3", "_fma4", "_avx", "_avx2", "_avx512", "_evex512", "_sse2", "_sse4", "_sse41", "_c"];

/// The mathematical function with this symbol.
pub fn math(symbol: &str) -> Option<&'static Math> {
    let symbol = unversioned(symbol);
    SCALARS.get(symbol).or_else(|| SCALARS.get(inner(symbol)?)).copied().or_else(|| vector(symbol))
}

/// Is this a name that a compiler or its libraries have for themselves? A program's own functions are called otherwise, so such a
/// function is what its name says, in whatever file it is.
pub fn is_reserved(symbol: &str) -> bool {
    ["_ZGV", "__svml_", "__libm_sse2_", "_gfortran_pow_", "__powi", "__mul", "__div"]
        .iter()
        .any(|prefix| symbol.starts_with(prefix))
        || EMULATION.iter().any(|(name, ..)| *name == unversioned(symbol))
}

/// Is this function not of C? A program's own may well be called `gamma`, or `y1`, and in a static program that is where the library's
/// would be. glibc's are weak symbols, for that very reason.
pub fn is_extension(symbol: &str) -> bool {
    static NAMES: LazyLock<FxHashSet<String>> = LazyLock::new(|| {
        let extensions = EXTENSIONS.iter().flat_map(|row| names(row.0));
        let narrowing = NARROWING.iter().flat_map(|(name, ..)| {
            NARROW_FORMATS.iter().map(move |(before, _, behind, _)| format!("{before}{name}{behind}"))
        });
        extensions.map(|(name, _)| name).chain(narrowing).collect()
    });
    NAMES.contains(unversioned(symbol))
}

/// What a function is called in each format.
fn names(function: &'static str) -> impl Iterator<Item = (String, Type)> {
    let (stem, end) = function.strip_suffix("_r").map_or((function, ""), |stem| (stem, "_r"));
    FORMATS.iter().map(move |(format, ty)| (format!("{stem}{format}{end}"), *ty))
}

/// The public name inside an inner name.
fn inner(symbol: &str) -> Option<&str> {
    let name = PREFIXES.iter().find_map(|prefix| symbol.strip_prefix(prefix))?;
    // Intel's returns both results in registers.
    let is_odd = symbol.starts_with("__libm_sse2_sincos");
    (!is_odd).then(|| SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name))
}

/// Vector functions are many and each program has few of them: they are made when they are met.
static VECTORS: LazyLock<Mutex<FxHashMap<String, &'static Math>>> = LazyLock::new(Mutex::default);

fn vector(symbol: &str) -> Option<&'static Math> {
    if !is_reserved(symbol) {
        return None;
    }
    let mut known = VECTORS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(math) = known.get(symbol) {
        return Some(math);
    }
    let math = &*Box::leak(Box::new(vector_function(symbol)?));
    known.insert(symbol.to_owned(), math);
    Some(math)
}

fn vector_function(symbol: &str) -> Option<Math> {
    let (name, takes, lanes) = libmvec(symbol).or_else(|| svml(symbol))?;
    let rows = || FUNCTIONS.iter().chain(EXTENSIONS);
    let (row, ty) = FORMATS[..2].iter().find_map(|(format, ty)| {
        let stem = name.strip_suffix(format)?;
        Some((rows().find(|row| row.0 == stem)?, *ty))
    })?;
    let bytes = u32::from(lanes.count) * ty.bytes() as u32;
    let fits = bytes.is_multiple_of(lanes.width.into()) && bytes <= 256;
    let is_plain = row.1.iter().all(|take| matches!(take, Take::X | Take::Pointer))
        && row.2.iter().all(|give| matches!(give, Give::Float(_) | Give::Written(..)))
        && takes.is_none_or(|takes| takes == row.1.len());
    if !fits || !is_plain {
        return None;
    }
    convention::math(row.1, row.2, ty, ty, lanes)
}

/// `_ZGVdN4vv_pow`: the instruction set (b SSE, c AVX, d AVX2, e AVX-512), whether there is a mask, the lanes, and what the arguments are
/// (x86 Vector Function ABI, "Vector Function Name Mangling"). A mask comes behind the other arguments; what a lane holds that it
/// leaves out is nobody's.
fn libmvec(symbol: &str) -> Option<(&str, Option<usize>, Lanes)> {
    let (set, rest) = symbol.strip_prefix("_ZGV")?.split_at_checked(1)?;
    let rest = rest.strip_prefix(['N', 'M'])?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let count = rest[..digits].parse().ok().filter(|count| (1..=16).contains(count))?;
    let (arguments, name) = rest[digits..].split_once('_')?;
    // Vectors of integers have halves of AVX's registers until AVX2.
    let (width, integers) = match set {
        "b" => (16, 16),
        "c" => (32, 16),
        "d" => (32, 32),
        "e" => (64, 64),
        _ => return None,
    };
    let pointers = match arguments {
        "v" | "vv" | "vvv" => Some(integers),
        // Pointers that advance from lane to lane by a float.
        "vl8l8" | "vl4l4" => None,
        _ => return None,
    };
    let takes = arguments.chars().filter(char::is_ascii_alphabetic).count();
    Some((name, Some(takes), Lanes { count, width, pointers }))
}

/// `__svml_sin4`, `__svml_powf16_l9`: the lanes, and perhaps a variant. Arguments and results are where libmvec's are; those with a mask or
/// two results are not.
fn svml(symbol: &str) -> Option<(&str, Option<usize>, Lanes)> {
    let name = symbol.strip_prefix("__svml_")?;
    let (name, variant) = name.split_once('_').unwrap_or((name, ""));
    if variant.contains("mask") || name.starts_with("sincos") {
        return None;
    }
    [16u8, 8, 4, 2].into_iter().find_map(|count| {
        let name = name.strip_suffix(&count.to_string())?;
        let bytes = if name.ends_with('f') && name != "erf" { 4 } else { 8 };
        let width = u8::try_from(u32::from(count) * bytes).ok().filter(|width| matches!(width, 16 | 32 | 64))?;
        Some((name, None, Lanes { count, width, pointers: None }))
    })
}
