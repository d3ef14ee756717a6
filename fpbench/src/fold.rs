//! Constants are computed before the program is written down. A C compiler does so at some levels of optimisation and not
//! at others; a program that leaves it nothing to fold means the same at all of them, and so does the truth about it.

use crate::ast::{Core, Expr, Let, LoopVariable, Precision, While};
use crate::domains::Native;
use crate::evaluate::Domain;
use crate::number::Literal;

/// The core with every operation on constants replaced by its result in floats.
pub fn fold(core: &Core) -> Core {
    let body = Known(Vec::new()).fold(&core.body, core.precision);
    Core { body, ..core.clone() }
}

/// What the bound names stand for, if that is a constant; the innermost last.
struct Known(Vec<(String, Option<Expr>)>);

impl Known {
    fn each(&mut self, exprs: &[Expr], precision: Precision) -> Vec<Expr> {
        exprs.iter().map(|expr| self.fold(expr, precision)).collect()
    }

    fn fold(&mut self, expr: &Expr, precision: Precision) -> Expr {
        match expr {
            Expr::Number(_) | Expr::Constant(_) => constant(expr, precision),
            Expr::Truth(_) => expr.clone(),
            Expr::Variable(name) => {
                let known = self.0.iter().rev().find(|(known, _)| known == name);
                known.and_then(|(_, value)| value.clone()).unwrap_or_else(|| expr.clone())
            }
            Expr::Operation(operator, args) => {
                constant(&Expr::Operation(*operator, self.each(args, precision)), precision)
            }
            Expr::Compare(comparison, args) => Expr::Compare(*comparison, self.each(args, precision)),
            Expr::Test(test, arg) => Expr::Test(*test, self.fold(arg, precision).into()),
            Expr::And(args) => Expr::And(self.each(args, precision)),
            Expr::Or(args) => Expr::Or(self.each(args, precision)),
            Expr::Not(arg) => Expr::Not(self.fold(arg, precision).into()),
            Expr::If(condition, yes, no) => Expr::If(
                self.fold(condition, precision).into(),
                self.fold(yes, precision).into(),
                self.fold(no, precision).into(),
            ),
            Expr::Let(Let { sequential, bindings, body }) => {
                let outside = self.0.len();
                let (mut kept, mut together) = (Vec::new(), Vec::new());
                for (name, value) in bindings {
                    let value = self.fold(value, precision);
                    let known = is_constant(&value).then(|| value.clone());
                    if known.is_none() {
                        kept.push((name.clone(), value));
                    }
                    if *sequential { &mut self.0 } else { &mut together }.push((name.clone(), known));
                }
                self.0.extend(together);
                let body = self.fold(body, precision);
                self.0.truncate(outside);
                match kept.is_empty() {
                    true => body,
                    false => Expr::Let(Let { sequential: *sequential, bindings: kept, body: body.into() }),
                }
            }
            Expr::While(While { sequential, condition, bindings, body }) => {
                let outside = self.0.len();
                let (mut initials, mut together) = (Vec::new(), Vec::new());
                for variable in bindings {
                    initials.push(self.fold(&variable.initial, precision));
                    if *sequential { &mut self.0 } else { &mut together }.push((variable.name.clone(), None));
                }
                self.0.extend(together);
                let variables = bindings.iter().zip(initials).map(|(variable, initial)| LoopVariable {
                    name: variable.name.clone(),
                    initial,
                    update: self.fold(&variable.update, precision),
                });
                let bindings = variables.collect();
                let condition = self.fold(condition, precision).into();
                let body = self.fold(body, precision).into();
                self.0.truncate(outside);
                Expr::While(While { sequential: *sequential, condition, bindings, body })
            }
            Expr::Context(inner, body) => match self.fold(body, *inner) {
                folded if is_constant(&folded) => folded,
                folded => Expr::Context(*inner, folded.into()),
            },
        }
    }
}

/// A number in the context that it was rounded for, so that it can stand elsewhere.
fn is_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Context(_, body) if matches!(**body, Expr::Number(_)))
}

/// The value of an expression whose parts are constants; otherwise the expression.
fn constant(expr: &Expr, precision: Precision) -> Expr {
    let value = match expr {
        Expr::Number(literal) => Some(Native.literal(literal, precision)),
        Expr::Constant(constant) => Some(Native.constant(*constant, precision)),
        Expr::Operation(operator, args) => {
            let args = args.iter().map(|arg| match arg {
                Expr::Context(inner, body) => match &**body {
                    Expr::Number(literal) => Some(Native.literal(literal, *inner)),
                    _ => None,
                },
                _ => None,
            });
            args.collect::<Option<Vec<_>>>().map(|args| Native.operate(*operator, precision, &args))
        }
        _ => None,
    };
    match value.and_then(|value| Literal::of_float(value.value)) {
        Some(literal) => Expr::Context(precision, Expr::Number(literal).into()),
        None => expr.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    fn folded(body: &str) -> String {
        let core = parse(&format!("(FPCore (x) {body})")).expect("readable").remove(0).expect("a core");
        fold(&core).body.to_string().replace("(! :precision binary64 0x", "(0x")
    }

    #[test]
    fn operations_on_constants_become_numbers() {
        assert_eq!(folded("(* x (/ 1 (+ 1 1)))"), "(* x (0x1p-1))");
        assert_eq!(folded("(let ([c 0.5]) (let ([d (* c c)]) (+ d x)))"), "(+ (0x1p-2) x)");
        assert_eq!(folded("(+ x (! :precision binary32 0.1))"), "(+ x (! :precision binary32 0x1.99999ap-4))");
    }

    #[test]
    fn loop_variables_are_no_constants() {
        assert_eq!(
            folded("(let ([c 1]) (while (< c x) ([c 0 (+ c 1)]) c))"),
            "(while (< c x) ([c (0x0p0) (+ c (0x1p0))]) c)"
        );
    }

    #[test]
    fn a_name_that_hides_a_constant_is_not_it() {
        assert_eq!(folded("(let ([c 1]) (let ([c x]) (+ c 1)))"), "(let ([c x]) (+ c (0x1p0)))");
    }
}
