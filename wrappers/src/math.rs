//! Mathematical functions: each is one operation of the analysis.

use crate::unversioned;
use fpgrind_ir::{Operator, Type};

/// A mathematical function: the operations that it performs, in the precision of its arguments and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Math {
    pub results: Results,
    /// `F32` or `F64`.
    pub ty: Type,
}

/// What a function computes from its arguments, and where the results go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    Returned(Operator),
    /// Written where the first two integer arguments point.
    Written([Operator; 2]),
}

impl Math {
    /// How many floats the function takes.
    pub fn arity(&self) -> usize {
        match self.results {
            Results::Returned(operator) | Results::Written([operator, _]) => operator.arity(),
        }
    }
}

/// The functions by the name of their double form. The float form has the same name with an `f` behind. Under the usual
/// rounding, rint, nearbyint and roundeven are one.
const FUNCTIONS: &[(&str, Operator)] = &[
    ("sin", Operator::Sin),
    ("cos", Operator::Cos),
    ("tan", Operator::Tan),
    ("asin", Operator::Asin),
    ("acos", Operator::Acos),
    ("atan", Operator::Atan),
    ("atan2", Operator::Atan2),
    ("sinh", Operator::Sinh),
    ("cosh", Operator::Cosh),
    ("tanh", Operator::Tanh),
    ("asinh", Operator::Asinh),
    ("acosh", Operator::Acosh),
    ("atanh", Operator::Atanh),
    ("exp", Operator::Exp),
    ("exp2", Operator::Exp2),
    ("exp10", Operator::Exp10),
    ("expm1", Operator::Expm1),
    ("log", Operator::Log),
    ("log2", Operator::Log2),
    ("log10", Operator::Log10),
    ("log1p", Operator::Log1p),
    ("pow", Operator::Pow),
    ("sqrt", Operator::Sqrt),
    ("cbrt", Operator::Cbrt),
    ("hypot", Operator::Hypot),
    ("erf", Operator::Erf),
    ("erfc", Operator::Erfc),
    ("tgamma", Operator::Tgamma),
    ("lgamma", Operator::Lgamma),
    ("fma", Operator::Fma),
    ("fabs", Operator::Abs),
    ("floor", Operator::Floor),
    ("ceil", Operator::Ceil),
    ("trunc", Operator::Trunc),
    ("round", Operator::Round),
    ("rint", Operator::Nearbyint),
    ("nearbyint", Operator::Nearbyint),
    ("roundeven", Operator::Nearbyint),
    ("fmod", Operator::Fmod),
    ("remainder", Operator::Remainder),
    ("fdim", Operator::Fdim),
    ("copysign", Operator::Copysign),
    ("fmin", Operator::Min),
    ("fmax", Operator::Max),
];

/// Those that write two results. GCC makes a call of this one out of a sine and a cosine of the same number.
const WRITING: &[(&str, [Operator; 2])] = &[("sincos", [Operator::Sin, Operator::Cos])];

/// What follows a function's name and says its precision. `f32`, `f64` and `f32x` are glibc's aliases for the types of
/// TS 18661-3; on x86-64 `_Float32x` is double. `f64x` and `f128` are wider and not here.
const PRECISIONS: &[(&str, Type)] =
    &[("", Type::F64), ("f", Type::F32), ("f32", Type::F32), ("f64", Type::F64), ("f32x", Type::F64)];

/// How glibc's symbol tables prefix a function's inner names: `__sin`, `__ieee754_exp`, `__w_log1p`.
const PREFIXES: &[&str] = &["__ieee754_", "__w_", "__"];

/// What those inner names end in: `-ffinite-math-only` entry points (until glibc 2.31) and the variants among which
/// an IFUNC resolver chooses (glibc, sysdeps/x86_64/fpu/multiarch). The resolvers themselves, `_ifunc`, are not
/// functions of floats.
const SUFFIXES: &[&str] = &["_finite", "_fma", "_fma3", "_fma4", "_avx", "_avx2", "_sse2", "_sse41", "_c"];

/// The mathematical function with this symbol.
pub fn math(symbol: &str) -> Option<Math> {
    let symbol = unversioned(symbol);
    plain(symbol).or_else(|| plain(inner(symbol)?))
}

/// The public name inside one of glibc's inner names.
fn inner(symbol: &str) -> Option<&str> {
    let name = PREFIXES.iter().find_map(|prefix| symbol.strip_prefix(prefix))?;
    Some(SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name))
}

fn plain(name: &str) -> Option<Math> {
    let returning = FUNCTIONS.iter().map(|(function, operator)| (function, Results::Returned(*operator)));
    let writing = WRITING.iter().map(|(function, operators)| (function, Results::Written(*operators)));
    returning.chain(writing).find_map(|(function, results)| {
        let rest = name.strip_prefix(function)?;
        let (_, ty) = PRECISIONS.iter().find(|(suffix, _)| *suffix == rest)?;
        Some(Math { results, ty: *ty })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn double(operator: Operator) -> Option<Math> {
        Some(Math { results: Results::Returned(operator), ty: Type::F64 })
    }

    const fn float(operator: Operator) -> Option<Math> {
        Some(Math { results: Results::Returned(operator), ty: Type::F32 })
    }

    #[test]
    fn each_function_has_a_double_and_a_float_form() {
        for (name, operator) in FUNCTIONS {
            assert_eq!(math(name), double(*operator), "{name}");
            assert_eq!(math(&format!("{name}f")), float(*operator), "{name}f");
        }
        assert_eq!(FUNCTIONS.len(), 44);
    }

    #[test]
    fn sincos_writes_a_sine_and_a_cosine() {
        let results = Results::Written([Operator::Sin, Operator::Cos]);
        for (name, ty) in [("sincos", Type::F64), ("sincosf", Type::F32), ("__sincos_fma", Type::F64)] {
            let found = math(name).unwrap_or_else(|| panic!("{name} is known"));
            assert_eq!((found, found.arity()), (Math { results, ty }, 1), "{name}");
        }
    }

    #[test]
    fn a_name_that_begins_like_another_is_told_apart() {
        assert_eq!(math("exp2f"), float(Operator::Exp2));
        assert_eq!(math("expm1"), double(Operator::Expm1));
        assert_eq!(math("atan2"), double(Operator::Atan2));
        assert_eq!(math("log1pf"), float(Operator::Log1p));
        assert_eq!(math("fmaf"), float(Operator::Fma));
        assert_eq!(math("fmaxf"), float(Operator::Max));
        assert_eq!(math("erff"), float(Operator::Erf));
        assert_eq!(math("erfcf"), float(Operator::Erfc));
        assert_eq!(math("acosh"), double(Operator::Acosh));
        assert_eq!(math("roundf"), float(Operator::Round));
        assert_eq!(math("__roundeven_sse41"), double(Operator::Nearbyint));
        assert_eq!(math("rintf"), float(Operator::Nearbyint));
    }

    #[test]
    fn versions_and_standard_aliases_are_seen_through() {
        assert_eq!(math("exp@@GLIBC_2.29"), double(Operator::Exp));
        assert_eq!(math("pow@GLIBC_2.2.5"), double(Operator::Pow));
        assert_eq!(math("sinf64"), double(Operator::Sin));
        assert_eq!(math("sinf32x"), double(Operator::Sin));
        assert_eq!(math("sinf32"), float(Operator::Sin));
        assert_eq!(math("log2f32@@GLIBC_2.27"), float(Operator::Log2));
    }

    #[test]
    fn inner_names_of_a_static_glibc_are_seen_through() {
        assert_eq!(math("__exp_finite"), double(Operator::Exp));
        assert_eq!(math("__powf_finite@GLIBC_2.15"), float(Operator::Pow));
        assert_eq!(math("__sin_fma"), double(Operator::Sin));
        assert_eq!(math("__cosf_sse2"), float(Operator::Cos));
        assert_eq!(math("__ieee754_exp_fma4"), double(Operator::Exp));
        assert_eq!(math("__ieee754_atan2_fma"), double(Operator::Atan2));
        assert_eq!(math("__fma_fma3"), double(Operator::Fma));
        assert_eq!(math("__floor_c"), double(Operator::Floor));
        assert_eq!(math("__floorf_sse41"), float(Operator::Floor));
        assert_eq!(math("__w_log1p"), double(Operator::Log1p));
        assert_eq!(math("__sqrt"), double(Operator::Sqrt));
    }

    #[test]
    fn other_functions_are_left_alone() {
        // Long double forms, complex forms, resolvers, two-result functions and helpers of libm.
        for name in [
            "sinl",
            "sinf128",
            "sinf64x",
            "csqrt",
            "__sin_ifunc",
            "sincosl",
            "modf",
            "lgamma_r",
            "lround",
            "llrint",
            "__exp1",
            "exponent",
            "logb",
            "sin_fma",
        ] {
            assert_eq!(math(name), None, "{name}");
        }
    }
}
