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

fn bits_of(ty: Type, value: f64) -> u64 {
    match ty {
        Type::F32 => (value as f32).to_bits() as u64,
        _ => value.to_bits(),
    }
}
