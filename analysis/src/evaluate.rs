//! Evaluation of expressions, in floats and in reals: what shows that a reported expression has the error it is
//! reported for.

use crate::error;
use crate::expr::Expr;
use crate::format::is_within;
use crate::mode::{Mode, Target};
use crate::native;
use crate::number::Number;
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
    pub fn evaluate_real<R: Real>(&self, inputs: &[Number], precision: u32) -> R {
        match self {
            Expr::Var(number) => R::exactly(precision, input(inputs, *number)),
            Expr::Num(value) => R::exactly(precision, *value),
            Expr::Op { operator, args, .. } => {
                let args: Vec<R> = args.iter().map(|arg| arg.evaluate_real(inputs, precision)).collect();
                R::compute(*operator, &args.iter().collect::<Vec<_>>(), precision)
            }
        }
    }

    /// The value in floats, each operation rounding to its own format; library functions as exact as can be.
    pub fn evaluate_float<R: Real>(&self, inputs: &[Number], precision: u32, mode: Mode) -> Number {
        match self {
            Expr::Var(number) => input(inputs, *number),
            Expr::Num(value) => *value,
            Expr::Op { operator, ty, args } => {
                let mut args: Vec<Number> =
                    args.iter().map(|arg| arg.evaluate_float::<R>(inputs, precision, mode)).collect();
                // A cast that widens is not shown in expressions. Of instructions only a cast takes another format than it gives.
                if *operator != Operator::Cast {
                    let narrow = args.iter_mut().filter(|arg| is_within(arg.ty, *ty));
                    narrow.for_each(|arg| *arg = arg.to(*ty));
                }
                let from = args.first().map_or(*ty, |arg| arg.ty);
                let is_instruction = *operator == Operator::Cast || args.iter().all(|arg| arg.ty == *ty);
                let bits: Vec<u128> = args.iter().map(|arg| arg.bits).collect();
                let native = is_instruction.then(|| native::apply(*operator, from, *ty, &bits, mode)).flatten();
                let result = native.unwrap_or_else(|| {
                    let args: Vec<R> = args.iter().map(|arg| R::exactly(precision, *arg)).collect();
                    let real = R::compute(*operator, &args.iter().collect::<Vec<_>>(), precision);
                    real.rounded(mode.target(*operator, from, *ty))
                });
                Number::new(*ty, result)
            }
        }
    }

    /// How the result is rounded.
    fn target(&self, mode: Mode) -> Target {
        match self {
            Expr::Op { operator, ty, .. } => mode.target(*operator, *ty, *ty),
            _ => Target::nearest(self.ty()),
        }
    }
}

fn input(inputs: &[Number], number: usize) -> Number {
    inputs.get(number).copied().unwrap_or(Number::from(f64::NAN))
}

/// Bits of error of the expression on these inputs, on a CPU in this mode.
pub fn error_bits<R: Real>(expr: &Expr, inputs: &[Number], precision: u32, mode: Mode) -> f64 {
    let target = expr.target(mode);
    let computed = expr.evaluate_float::<R>(inputs, precision, mode).to(target.ty);
    let correct = expr.evaluate_real::<R>(inputs, precision).rounded(target);
    error::bits(error::ulps_of(target, computed.bits, correct))
}

/// Bits of error that remain if the expression is computed exactly on these inputs, against the correct result.
pub fn error_if_exact<R: Real>(expr: &Expr, inputs: &[Number], correct: Number, precision: u32, mode: Mode) -> f64 {
    let target = expr.target(mode);
    let exact = expr.evaluate_real::<R>(inputs, precision).rounded(target);
    error::bits(error::ulps_of(target, exact, correct.to(target.ty).bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpfr::Mpfr;

    /// x + 1 - x in a precision.
    fn lost_one(ty: Type) -> Expr {
        let op = |operator, args| Expr::Op { operator, ty, args };
        let sum = op(Operator::Add, vec![Expr::Var(0), Expr::Num(1.0.into())]);
        op(Operator::Sub, vec![sum, Expr::Var(0)])
    }

    #[test]
    fn each_operation_rounds_to_its_own_precision() {
        assert_eq!(lost_one(Type::F32).evaluate_float::<Mpfr>(&[1e9.into()], 256, Mode::default()), 0.0);
        assert_eq!(lost_one(Type::F64).evaluate_float::<Mpfr>(&[1e9.into()], 256, Mode::default()), 1.0);
        assert_eq!(lost_one(Type::F32).evaluate_real::<Mpfr>(&[1e9.into()], 256).to_f64(), 1.0);
        let narrowed = Expr::Op { operator: Operator::Cast, ty: Type::F32, args: vec![Expr::Num(0.1.into())] };
        assert_eq!(narrowed.evaluate_float::<Mpfr>(&[], 256, Mode::default()), 0.1f32 as f64);
    }

    #[test]
    fn the_error_of_an_expression_is_that_of_its_precision() {
        assert_eq!(error_bits::<Mpfr>(&lost_one(Type::F64), &[1e9.into()], 256, Mode::default()), 0.0);
        assert!(error_bits::<Mpfr>(&lost_one(Type::F64), &[1e17.into()], 256, Mode::default()) > 60.0);
        assert!((25.0..32.0).contains(&error_bits::<Mpfr>(&lost_one(Type::F32), &[1e9.into()], 256, Mode::default())));
    }
}
