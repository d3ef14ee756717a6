//! FPCore back to text, such that reading it gives the same core.

use crate::ast::{Core, Expr, Let, While};
use std::fmt::{Display, Formatter, Result};

impl Display for Core {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str("(FPCore ")?;
        if let Some(symbol) = &self.symbol {
            write!(f, "{symbol} ")?;
        }
        let arguments = self.arguments.iter().map(|argument| match argument.precision == self.precision {
            true => argument.name.clone(),
            false => format!("(! :precision {} {})", argument.precision.name(), argument.name),
        });
        write!(f, "({})", arguments.collect::<Vec<_>>().join(" "))?;
        for (name, value) in &self.properties {
            write!(f, "\n :{name} {value}")?;
        }
        write!(f, "\n {})", self.body)
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Expr::Number(literal) => f.write_str(&literal.text),
            Expr::Constant(constant) => f.write_str(constant.name()),
            Expr::Truth(truth) => f.write_str(if *truth { "TRUE" } else { "FALSE" }),
            Expr::Variable(name) => f.write_str(name),
            Expr::Operation(operator, args) => form(f, operator.name(), args),
            Expr::Compare(comparison, args) => form(f, comparison.name(), args),
            Expr::Test(test, arg) => write!(f, "({} {arg})", test.name()),
            Expr::And(args) => form(f, "and", args),
            Expr::Or(args) => form(f, "or", args),
            Expr::Not(arg) => write!(f, "(not {arg})"),
            Expr::If(condition, yes, no) => write!(f, "(if {condition} {yes} {no})"),
            Expr::Let(Let { sequential, bindings, body }) => {
                let bindings: Vec<String> = bindings.iter().map(|(name, value)| format!("[{name} {value}]")).collect();
                write!(f, "(let{} ({}) {body})", star(*sequential), bindings.join(" "))
            }
            Expr::While(While { sequential, condition, bindings, body }) => {
                let bindings = bindings.iter().map(|b| format!("[{} {} {}]", b.name, b.initial, b.update));
                let bindings: Vec<String> = bindings.collect();
                write!(f, "(while{} {condition} ({}) {body})", star(*sequential), bindings.join(" "))
            }
            Expr::Context(precision, body) => write!(f, "(! :precision {} {body})", precision.name()),
        }
    }
}

fn star(sequential: bool) -> &'static str {
    if sequential { "*" } else { "" }
}

fn form(f: &mut Formatter, name: &str, args: &[Expr]) -> Result {
    write!(f, "({name}")?;
    args.iter().try_for_each(|arg| write!(f, " {arg}"))?;
    f.write_str(")")
}
