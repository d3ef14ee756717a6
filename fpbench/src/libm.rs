//! The C library's mathematical functions, by the names by which the compiled benchmarks call them: what is computed
//! here is bit for bit what they compute. (But for cbrt: Rust's own runtime brings one, which may differ in the last bit.)

use crate::operators::Operator;

macro_rules! functions {
    (1: $($one:ident $one32:ident,)* 2: $($two:ident $two32:ident,)* 3: $($three:ident $three32:ident,)*) => {
        // SAFETY: functions of C's standard library (C17, 7.12): pure but for errno, total, declared with these types.
        #[link(name = "m")]
        unsafe extern "C" {
            $(safe fn $one(x: f64) -> f64; safe fn $one32(x: f32) -> f32;)*
            $(safe fn $two(x: f64, y: f64) -> f64; safe fn $two32(x: f32, y: f32) -> f32;)*
            $(safe fn $three(x: f64, y: f64, z: f64) -> f64; safe fn $three32(x: f32, y: f32, z: f32) -> f32;)*
        }

        fn double(name: &str, args: &[f64]) -> Option<f64> {
            Some(match (name, args) {
                $((stringify!($one), [x]) => $one(*x),)*
                $((stringify!($two), [x, y]) => $two(*x, *y),)*
                $((stringify!($three), [x, y, z]) => $three(*x, *y, *z),)*
                _ => return None,
            })
        }

        fn single(name: &str, args: &[f32]) -> Option<f32> {
            Some(match (name, args) {
                $((stringify!($one), [x]) => $one32(*x),)*
                $((stringify!($two), [x, y]) => $two32(*x, *y),)*
                $((stringify!($three), [x, y, z]) => $three32(*x, *y, *z),)*
                _ => return None,
            })
        }
    };
}

functions! {
    1: exp expf, exp2 exp2f, expm1 expm1f, log logf, log10 log10f, log2 log2f, log1p log1pf, cbrt cbrtf,
       sin sinf, cos cosf, tan tanf, asin asinf, acos acosf, atan atanf, sinh sinhf, cosh coshf, tanh tanhf,
       asinh asinhf, acosh acoshf, atanh atanhf, erf erff, erfc erfcf, tgamma tgammaf, lgamma lgammaf,
       ceil ceilf, floor floorf, trunc truncf, round roundf, nearbyint nearbyintf,
    2: pow powf, hypot hypotf, atan2 atan2f, fmod fmodf, remainder remainderf, fmax fmaxf, fmin fminf,
       fdim fdimf, copysign copysignf,
    3: fma fmaf,
}

macro_rules! apply {
    ($operator:expr, $args:expr, $library:ident, $nan:expr) => {
        match ($operator, $args) {
            (Operator::Add, [a, b]) => a + b,
            (Operator::Sub, [a, b]) => a - b,
            (Operator::Mul, [a, b]) => a * b,
            (Operator::Div, [a, b]) => a / b,
            (Operator::Neg, [a]) => -a,
            (Operator::Fabs, [a]) => a.abs(),
            (Operator::Sqrt, [a]) => a.sqrt(),
            (Operator::Cast, [a]) => *a,
            (operator, args) => $library(operator.c_name(), args).unwrap_or($nan),
        }
    };
}

/// An operation in doubles; NaN if the number of arguments is wrong.
pub fn apply64(operator: Operator, args: &[f64]) -> f64 {
    apply!(operator, args, double, f64::NAN)
}

/// An operation in singles; NaN if the number of arguments is wrong.
pub fn apply32(operator: Operator, args: &[f32]) -> f32 {
    apply!(operator, args, single, f32::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_is_known_in_both_formats() {
        for operator in Operator::ALL {
            // 1.25 lies in the domain of all but those that take [-1, 1].
            let inside = match operator {
                Operator::Asin | Operator::Acos | Operator::Atanh => 0.25,
                _ => 1.25,
            };
            let args = vec![inside; operator.arity()];
            let singles: Vec<f32> = args.iter().map(|arg| *arg as f32).collect();
            let (double, single) = (apply64(*operator, &args), apply32(*operator, &singles));
            assert!((double - single as f64).abs() < 1e-5, "{operator:?}: {double} and {single}");
        }
    }
}
