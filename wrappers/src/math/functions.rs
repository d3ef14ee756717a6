//! What the functions of `<math.h>` and `<complex.h>`, and compilers' helpers, take and give.

use fpgrind_ir::Operator::{self, *};
use fpgrind_ir::Type;

/// What a function takes, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// A float of the function's own format.
    X,
    /// A complex number of it.
    Z,
    /// The same of another format.
    Of(Type),
    ComplexOf(Type),
    Int,
    Long,
    /// To a result. Where it points to no float it is nobody's.
    Pointer,
    /// Nothing: an operator is to have a zero here.
    Nothing,
}

/// What a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Give {
    /// Returns a float: the operator on all arguments.
    Float(Operator),
    /// The same, on the arguments with these numbers. A complex number is two arguments.
    On(Operator, &'static [u8]),
    /// Returns a complex number by its parts.
    Complex(Operator, Operator),
    /// Returns an integer of so many bytes.
    Integer(Operator, u8),
    /// Writes a float to where the pointer with this number points.
    Written(u8, Operator),
}

/// The name of the double form, what it takes and what it gives.
pub struct Row(pub &'static str, pub &'static [Take], pub &'static [Give]);

use Give::*;
use Take::{Int, Long, Nothing, Pointer, X, Z};

const fn one(name: &'static str, gives: &'static [Give]) -> Row {
    Row(name, &[X], gives)
}

const fn two(name: &'static str, gives: &'static [Give]) -> Row {
    Row(name, &[X, X], gives)
}

const fn complex(name: &'static str, gives: &'static [Give]) -> Row {
    Row(name, &[Z], gives)
}

/// Those that have a form for each format, told by what follows the name.
pub const FUNCTIONS: &[Row] = &[
    // C23 7.12.4 to 7.12.7.
    one("acos", &[Float(Acos)]),
    one("asin", &[Float(Asin)]),
    one("atan", &[Float(Atan)]),
    two("atan2", &[Float(Atan2)]),
    one("cos", &[Float(Cos)]),
    one("sin", &[Float(Sin)]),
    one("tan", &[Float(Tan)]),
    one("acospi", &[Float(Acospi)]),
    one("asinpi", &[Float(Asinpi)]),
    one("atanpi", &[Float(Atanpi)]),
    two("atan2pi", &[Float(Atan2pi)]),
    one("cospi", &[Float(Cospi)]),
    one("sinpi", &[Float(Sinpi)]),
    one("tanpi", &[Float(Tanpi)]),
    one("acosh", &[Float(Acosh)]),
    one("asinh", &[Float(Asinh)]),
    one("atanh", &[Float(Atanh)]),
    one("cosh", &[Float(Cosh)]),
    one("sinh", &[Float(Sinh)]),
    one("tanh", &[Float(Tanh)]),
    one("exp", &[Float(Exp)]),
    one("exp10", &[Float(Exp10)]),
    one("exp10m1", &[Float(Exp10m1)]),
    one("exp2", &[Float(Exp2)]),
    one("exp2m1", &[Float(Exp2m1)]),
    one("expm1", &[Float(Expm1)]),
    Row("frexp", &[X, Pointer], &[Float(Frexp)]),
    one("ilogb", &[Integer(Logb, 4)]),
    Row("ldexp", &[X, Int], &[Float(Ldexp)]),
    one("llogb", &[Integer(Logb, 8)]),
    one("log", &[Float(Log)]),
    one("log10", &[Float(Log10)]),
    one("log10p1", &[Float(Log10p1)]),
    one("log1p", &[Float(Log1p)]),
    one("logp1", &[Float(Log1p)]),
    one("log2", &[Float(Log2)]),
    one("log2p1", &[Float(Log2p1)]),
    one("logb", &[Float(Logb)]),
    Row("modf", &[X, Pointer], &[Float(Fraction), Written(0, Trunc)]),
    Row("scalbn", &[X, Int], &[Float(Ldexp)]),
    Row("scalbln", &[X, Long], &[Float(Ldexp)]),
    one("cbrt", &[Float(Cbrt)]),
    Row("compoundn", &[X, Long], &[Float(Compound)]),
    one("fabs", &[Float(Abs)]),
    two("hypot", &[Float(Hypot)]),
    two("pow", &[Float(Pow)]),
    Row("pown", &[X, Long], &[Float(Pow)]),
    two("powr", &[Float(Powr)]),
    Row("rootn", &[X, Long], &[Float(Rootn)]),
    one("rsqrt", &[Float(Rsqrt)]),
    one("sqrt", &[Float(Sqrt)]),
    // C23 7.12.8 to 7.12.13.
    one("erf", &[Float(Erf)]),
    one("erfc", &[Float(Erfc)]),
    one("lgamma", &[Float(Lgamma)]),
    one("tgamma", &[Float(Tgamma)]),
    one("ceil", &[Float(Ceil)]),
    one("floor", &[Float(Floor)]),
    one("nearbyint", &[Float(Nearbyint)]),
    one("rint", &[Float(Nearbyint)]),
    one("lrint", &[Integer(Nearbyint, 8)]),
    one("llrint", &[Integer(Nearbyint, 8)]),
    one("round", &[Float(Round)]),
    one("lround", &[Integer(Round, 8)]),
    one("llround", &[Integer(Round, 8)]),
    one("roundeven", &[Float(RoundEven)]),
    one("trunc", &[Float(Trunc)]),
    two("fmod", &[Float(Fmod)]),
    two("remainder", &[Float(Remainder)]),
    Row("remquo", &[X, X, Pointer], &[Float(Remainder)]),
    two("copysign", &[Float(Copysign)]),
    two("nextafter", &[Float(Nextafter)]),
    Row("nexttoward", &[X, Take::Of(Type::F80)], &[Float(Nextafter)]),
    one("nextup", &[On(Nextafter, &[0, 0])]),
    one("nextdown", &[On(Nextafter, &[0, 0])]),
    two("fdim", &[Float(Fdim)]),
    two("fmax", &[Float(Max)]),
    two("fmin", &[Float(Min)]),
    two("fmaximum", &[Float(Maximum)]),
    two("fminimum", &[Float(Minimum)]),
    two("fmaximum_num", &[Float(Max)]),
    two("fminimum_num", &[Float(Min)]),
    two("fmaximum_mag", &[Float(MaximumMag)]),
    two("fminimum_mag", &[Float(MinimumMag)]),
    two("fmaximum_mag_num", &[Float(MaxMag)]),
    two("fminimum_mag_num", &[Float(MinMag)]),
    Row("fma", &[X, X, X], &[Float(Fma)]),
    // C23 7.3.
    complex("cacos", &[Complex(ReAcos, ImAcos)]),
    complex("casin", &[Complex(ReAsin, ImAsin)]),
    complex("catan", &[Complex(ReAtan, ImAtan)]),
    complex("ccos", &[Complex(ReCos, ImCos)]),
    complex("csin", &[Complex(ReSin, ImSin)]),
    complex("ctan", &[Complex(ReTan, ImTan)]),
    complex("cacosh", &[Complex(ReAcosh, ImAcosh)]),
    complex("casinh", &[Complex(ReAsinh, ImAsinh)]),
    complex("catanh", &[Complex(ReAtanh, ImAtanh)]),
    complex("ccosh", &[Complex(ReCosh, ImCosh)]),
    complex("csinh", &[Complex(ReSinh, ImSinh)]),
    complex("ctanh", &[Complex(ReTanh, ImTanh)]),
    complex("cexp", &[Complex(ReExp, ImExp)]),
    complex("clog", &[Complex(ReLog, ImLog)]),
    complex("csqrt", &[Complex(ReSqrt, ImSqrt)]),
    Row("cpow", &[Z, Z], &[Complex(RePow, ImPow)]),
    complex("cabs", &[Float(Hypot)]),
    complex("carg", &[On(Atan2, &[1, 0])]),
    complex("creal", &[On(Cast, &[0])]),
    complex("cimag", &[On(Cast, &[1])]),
];

/// The same of functions that are in glibc and not in C. A program's own function may well have such a name.
pub const EXTENSIONS: &[Row] = &[
    // GCC makes a call of this one out of a sine and a cosine of the same number.
    Row("sincos", &[X, Pointer, Pointer], &[Written(0, Sin), Written(1, Cos)]),
    one("pow10", &[Float(Exp10)]),
    one("gamma", &[Float(Lgamma)]),
    Row("lgamma_r", &[X, Pointer], &[Float(Lgamma)]),
    two("drem", &[Float(Remainder)]),
    two("scalb", &[Float(Ldexp)]),
    one("significand", &[Float(Frexp)]),
    two("fmaxmag", &[Float(MaxMag)]),
    two("fminmag", &[Float(MinMag)]),
    one("j0", &[Float(J0)]),
    one("j1", &[Float(J1)]),
    Row("jn", &[Int, X], &[Float(Jn)]),
    one("y0", &[Float(Y0)]),
    one("y1", &[Float(Y1)]),
    Row("yn", &[Int, X], &[Float(Yn)]),
    complex("clog10", &[Complex(ReLog10, ImLog10)]),
];

/// Operations whose result is rounded once, to a narrower format than that of the arguments (C23 7.12.14).
pub const NARROWING: &[(&str, &[Take], Operator)] = &[
    ("add", &[X, X], Add),
    ("sub", &[X, X], Sub),
    ("mul", &[X, X], Mul),
    ("div", &[X, X], Div),
    ("sqrt", &[X], Sqrt),
    ("fma", &[X, X, X], Fma),
];

/// What compilers call by names of their own: in place of the `#` is the format.
pub const HELPERS: &[Row] = &[
    // libgcc (gccint, "Routines for floating point emulation").
    Row("__powi#f2", &[X, Int], &[Float(Pow)]),
    Row("__mul#c3", &[X, X, X, X], &[Complex(ReMul, ImMul)]),
    Row("__div#c3", &[X, X, X, X], &[Complex(ReDiv, ImDiv)]),
    // libgfortran, intrinsics/pow.m4 and its like: real and complex numbers to an integer power.
    Row("_gfortran_pow_r#_i4", &[X, Int], &[Float(Pow)]),
    Row("_gfortran_pow_r#_i8", &[X, Long], &[Float(Pow)]),
    Row("_gfortran_pow_c#_i4", &[Z, Int, Nothing], &[Complex(RePow, ImPow)]),
    Row("_gfortran_pow_c#_i8", &[Z, Long, Nothing], &[Complex(RePow, ImPow)]),
];

/// What compilers call where no instruction computes in a format (libgcc: gccint, "Routines for floating point emulation"): what it takes
/// and gives, of which format, and to which it rounds.
pub const EMULATION: &[(&str, &[Take], Give, Type, Type)] = &[
    ("__addtf3", &[X, X], Float(Add), Type::F128, Type::F128),
    ("__subtf3", &[X, X], Float(Sub), Type::F128, Type::F128),
    ("__multf3", &[X, X], Float(Mul), Type::F128, Type::F128),
    ("__divtf3", &[X, X], Float(Div), Type::F128, Type::F128),
    ("__negtf2", &[X], Float(Neg), Type::F128, Type::F128),
    ("__extendsftf2", &[X], Float(Cast), Type::F32, Type::F128),
    ("__extenddftf2", &[X], Float(Cast), Type::F64, Type::F128),
    ("__extendxftf2", &[X], Float(Cast), Type::F80, Type::F128),
    ("__trunctfsf2", &[X], Float(Cast), Type::F128, Type::F32),
    ("__trunctfdf2", &[X], Float(Cast), Type::F128, Type::F64),
    ("__trunctfxf2", &[X], Float(Cast), Type::F128, Type::F80),
    ("__fixtfsi", &[X], Integer(Trunc, 4), Type::F128, Type::F128),
    ("__fixtfdi", &[X], Integer(Trunc, 8), Type::F128, Type::F128),
];
