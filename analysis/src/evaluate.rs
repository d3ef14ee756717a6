//! Evaluation of expressions, in floats and in reals: what shows that a reported expression has the error it is
//! reported for.

use crate::error;
use crate::expr::Expr;
use crate::native::{self, MXCSR_DEFAULT};
use crate::real::Real;
use fpgrind_ir::{Operator, Type};

impl Expr {
    /// The precision of the result; that of a bare variable or number is taken to be double.
    pub fn ty(&self) -> Type {
        match self {
            Expr::Op { ty, .. } => *ty,
            _ => Type::F64,
        }
    }

    /// The value in the reals. A variable that is given no value is NaN.
    pub fn evaluate_real<R: Real>(&self, inputs: &[f64], precision: u32) -> R {
        match self {
            Expr::Var(number) => R::exactly(precision, inputs.get(*number).copied().unwrap_or(f64::NAN)),
            Expr::Num(value) => R::exactly(precision, *value),
            Expr::Op { operator, args, .. } => {
                let args: Vec<R> = args.iter().map(|arg| arg.evaluate_real(inputs, precision)).collect();
                R::apply(*operator, &args.iter().collect::<Vec<_>>())
            }
        }
    }

    /// The value in floats, each operation rounding to its own precision; library functions as exact as can be.
    pub fn evaluate_float<R: Real>(&self, inputs: &[f64], precision: u32) -> f64 {
        match self {
            Expr::Var(number) => inputs.get(*number).copied().unwrap_or(f64::NAN),
            Expr::Num(value) => *value,
            Expr::Op { operator, ty, args } => {
                // Only a cast takes another format than it gives: a widening one is not shown in expressions.
                let from = if *operator == Operator::Cast { Type::F64 } else { *ty };
                let args: Vec<f64> = args.iter().map(|arg| arg.evaluate_float::<R>(inputs, precision)).collect();
                let bits: Vec<u64> = args.iter().map(|arg| bits_of(from, *arg)).collect();
                let result = native::apply(*operator, from, *ty, &bits, MXCSR_DEFAULT).unwrap_or_else(|| {
                    let args: Vec<R> = args.iter().map(|arg| R::exactly(precision, *arg)).collect();
                    R::apply(*operator, &args.iter().collect::<Vec<_>>()).rounded(*ty)
                });
                error::value(*ty, result)
            }
        }
    }
}

/// Bits of error of the expression on these inputs.
pub fn error_bits<R: Real>(expr: &Expr, inputs: &[f64], precision: u32) -> f64 {
    let ty = expr.ty();
    let computed = bits_of(ty, expr.evaluate_float::<R>(inputs, precision));
    let correct = expr.evaluate_real::<R>(inputs, precision).rounded(ty);
    error::bits_of_error(ty, computed, correct)
}

/// Bits of error that remain if the expression is computed exactly on these inputs, against the correct result.
pub fn error_if_exact<R: Real>(expr: &Expr, inputs: &[f64], correct: f64, precision: u32) -> f64 {
    let ty = expr.ty();
    let exact = expr.evaluate_real::<R>(inputs, precision).rounded(ty);
    error::bits_of_error(ty, exact, bits_of(ty, correct))
}

fn bits_of(ty: Type, value: f64) -> u64 {
    match ty {
        Type::F32 => (value as f32).to_bits() as u64,
        _ => value.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpfr::Mpfr;

    /// x + 1 - x in a precision.
    fn lost_one(ty: Type) -> Expr {
        let op = |operator, args| Expr::Op { operator, ty, args };
        let sum = op(Operator::Add, vec![Expr::Var(0), Expr::Num(1.0)]);
        op(Operator::Sub, vec![sum, Expr::Var(0)])
    }

    #[test]
    fn each_operation_rounds_to_its_own_precision() {
        assert_eq!(lost_one(Type::F32).evaluate_float::<Mpfr>(&[1e9], 256), 0.0);
        assert_eq!(lost_one(Type::F64).evaluate_float::<Mpfr>(&[1e9], 256), 1.0);
        assert_eq!(lost_one(Type::F32).evaluate_real::<Mpfr>(&[1e9], 256).to_f64(), 1.0);
        let narrowed = Expr::Op { operator: Operator::Cast, ty: Type::F32, args: vec![Expr::Num(0.1)] };
        assert_eq!(narrowed.evaluate_float::<Mpfr>(&[], 256), 0.1f32 as f64);
    }

    #[test]
    fn the_error_of_an_expression_is_that_of_its_precision() {
        assert_eq!(error_bits::<Mpfr>(&lost_one(Type::F64), &[1e9], 256), 0.0);
        assert!(error_bits::<Mpfr>(&lost_one(Type::F64), &[1e17], 256) > 60.0);
        assert!((25.0..32.0).contains(&error_bits::<Mpfr>(&lost_one(Type::F32), &[1e9], 256)));
    }
}
