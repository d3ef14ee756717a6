//! Straight-line cores as Fortran functions that C can call: another compiler front end, other habits.

use crate::ast::{Core, Expr, Let, Precision};
use crate::operators::Operator;

struct Writer {
    declarations: Vec<String>,
    statements: Vec<String>,
    names: usize,
    scope: Vec<(String, String)>,
}

/// The function `name`, or nothing if the core uses what Fortran has no intrinsic for, branches, or loops.
pub fn function(core: &Core, name: &str) -> Option<String> {
    // Conversions between formats follow other rules in Fortran: one format throughout.
    if core.arguments.iter().any(|argument| argument.precision != core.precision) {
        return None;
    }
    let kind = kind(core.precision);
    let mut writer = Writer { declarations: Vec::new(), statements: Vec::new(), names: 0, scope: Vec::new() };
    let mut parameters = Vec::new();
    for argument in &core.arguments {
        let local = writer.name(&argument.name);
        writer.declarations.push(format!("  real({kind}), value :: {local}"));
        parameters.push(local.clone());
        writer.scope.push((argument.name.clone(), local));
    }
    let value = writer.expr(&core.body, core.precision)?;
    let Writer { declarations, statements, .. } = writer;
    Some(format!(
        "function {name}({}) bind(C) result(answer)\n  use iso_c_binding\n  implicit none\n{}\n  real({kind}) :: answer\n{}\n  answer = {value}\nend function\n",
        parameters.join(", "),
        declarations.join("\n"),
        statements.join("\n"),
    ))
}

fn kind(precision: Precision) -> &'static str {
    match precision {
        Precision::Binary32 => "c_float",
        Precision::Binary64 => "c_double",
    }
}

impl Writer {
    fn name(&mut self, hint: &str) -> String {
        self.names += 1;
        let hint: String = hint.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        format!("v_{hint}_{}", self.names)
    }

    fn expr(&mut self, expr: &Expr, precision: Precision) -> Option<String> {
        match expr {
            Expr::Number(literal) => {
                let text = match precision {
                    Precision::Binary32 => format!("{:e}", literal.single),
                    Precision::Binary64 => format!("{:e}", literal.double).replace('e', "d"),
                };
                Some(if text.starts_with('-') { format!("({text})") } else { text })
            }
            Expr::Variable(name) => {
                self.scope.iter().rev().find(|(known, _)| known == name).map(|(_, local)| local.clone())
            }
            Expr::Operation(operator, args) => {
                // What could not be folded has no value, and gfortran refuses to compile it.
                if args.iter().all(|arg| matches!(arg, Expr::Context(..) | Expr::Number(_) | Expr::Constant(_))) {
                    return None;
                }
                let args = args.iter().map(|arg| self.expr(arg, precision)).collect::<Option<Vec<_>>>()?;
                operation(*operator, &args)
            }
            Expr::Let(Let { sequential, bindings, body }) => {
                let outside = self.scope.len();
                let mut together = Vec::new();
                for (name, value) in bindings {
                    let value = self.expr(value, precision)?;
                    let local = self.name(name);
                    self.declarations.push(format!("  real({}) :: {local}", kind(precision)));
                    self.statements.push(format!("  {local} = {value}"));
                    if *sequential { &mut self.scope } else { &mut together }.push((name.clone(), local));
                }
                self.scope.extend(together);
                let body = self.expr(body, precision);
                self.scope.truncate(outside);
                body
            }
            Expr::Context(inner, body) if *inner == precision => self.expr(body, precision),
            _ => None,
        }
    }
}

fn operation(operator: Operator, args: &[String]) -> Option<String> {
    let function = match (operator, args) {
        (Operator::Add | Operator::Sub | Operator::Mul | Operator::Div, [a, b]) => {
            return Some(format!("({a} {} {b})", operator.c_name()));
        }
        (Operator::Neg, [a]) => return Some(format!("(-{a})")),
        (Operator::Pow, [a, b]) => return Some(format!("({a} ** {b})")),
        (Operator::Fabs, _) => "abs",
        (Operator::Fmax, _) => "max",
        (Operator::Fmin, _) => "min",
        (
            Operator::Sqrt
            | Operator::Exp
            | Operator::Log
            | Operator::Log10
            | Operator::Sin
            | Operator::Cos
            | Operator::Tan,
            _,
        ) => operator.c_name(),
        (Operator::Asin | Operator::Acos | Operator::Atan | Operator::Atan2 | Operator::Hypot, _) => operator.c_name(),
        (Operator::Sinh | Operator::Cosh | Operator::Tanh, _) => operator.c_name(),
        _ => return None,
    };
    Some(format!("{function}({})", args.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    fn text(core: &str) -> Option<String> {
        function(&parse(core).expect("readable").remove(0).expect("a core"), "f")
    }

    #[test]
    fn straight_lines_are_written_and_the_rest_is_left_alone() {
        let squares = text("(FPCore (x) (let ([y (* x x)]) (sqrt (+ y 0.5))))").expect("straight");
        assert!(squares.contains("v_y_2 = (v_x_1 * v_x_1)") && squares.contains("answer = sqrt((v_y_2 + 5d-1))"));
        assert_eq!(text("(FPCore (x) (if (< x 1) x 2))"), None);
        assert_eq!(text("(FPCore (x) (log1p x))"), None);
    }
}
