//! Expressions as one line that reads back exactly, which neither infix notation nor FPCore does: those leave out formats and
//! spell some operations as others.
//!
//! Words, each after its arguments: `$0` is the first variable, `f64:0x3ff0000000000000` a number's format and bits,
//! `sub:f64` an operation and the format of its result, `k0/1:f64` a function that the user named, with the number of its
//! arguments. `sqrt(x + 1) - x` is
//! `$0 f64:0x3ff0000000000000 add:f64 sqrt:f64 $0 sub:f64`.

use fpgrind_analysis::{Expr, Number};
use fpgrind_ir::{BlackBox, Operator, Type};

/// Deeper than what the analysis makes, and harmless to recursive functions.
const MAX_DEPTH: usize = 500;

pub fn write(expr: &Expr) -> String {
    match expr {
        Expr::Var(number) => format!("${number}"),
        Expr::Num(number) => format!("{}:{:#x}", number.ty.name(), number.bits),
        Expr::Op { operator, ty, args } => {
            let mut words: Vec<String> = args.iter().map(write).collect();
            words.push(match operator {
                Operator::Opaque(_) => format!("{}/{}:{}", operator.name(), args.len(), ty.name()),
                _ => format!("{}:{}", operator.name(), ty.name()),
            });
            words.join(" ")
        }
    }
}

/// An expression over so many variables.
pub fn read(text: &str, variables: usize) -> Result<Expr, String> {
    let mut stack: Vec<(Expr, usize)> = Vec::new();
    for word in text.split_whitespace() {
        let unknown = || format!("\"{word}\" in a postfix expression means nothing to this fpgrind");
        let (expr, depth) = match (word.strip_prefix('$'), word.split_once(':')) {
            (Some(number), _) => {
                let number = number.parse().ok().filter(|number| *number < variables).ok_or_else(unknown)?;
                (Expr::Var(number), 0)
            }
            (None, Some((ty, bits))) if bits.starts_with("0x") => {
                let bits = u128::from_str_radix(&bits[2..], 16).ok();
                let (ty, bits) = format(ty).zip(bits).ok_or_else(unknown)?;
                (Expr::Num(Number::new(ty, bits)), 0)
            }
            (None, Some((operator, ty))) => {
                let (operator, ty) = operation(operator).zip(format(ty)).ok_or_else(unknown)?;
                let first = stack.len().checked_sub(operator.arity());
                let arguments = stack.split_off(first.ok_or_else(|| format!("{word} lacks arguments"))?);
                let depth = arguments.iter().map(|(_, depth)| depth + 1).max().unwrap_or(0);
                (Expr::Op { operator, ty, args: arguments.into_iter().map(|(expr, _)| expr).collect() }, depth)
            }
            (None, None) => return Err(unknown()),
        };
        if depth > MAX_DEPTH {
            return Err(format!("an expression is more than {MAX_DEPTH} levels deep"));
        }
        stack.push((expr, depth));
    }
    match (stack.pop(), stack.is_empty()) {
        (Some((expr, _)), true) => Ok(expr),
        _ => Err(format!("\"{text}\" is not one expression")),
    }
}

fn operation(name: &str) -> Option<Operator> {
    match name.split_once('/') {
        Some((name, arity)) => BlackBox::new(name, arity.parse().ok()?).map(Operator::Opaque),
        None => Operator::ALL.iter().copied().find(|operator| operator.name() == name),
    }
}

fn format(name: &str) -> Option<Type> {
    Type::ALL.into_iter().find(|ty| ty.is_float() && ty.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::csqrt;

    #[test]
    fn an_expression_reads_back_with_its_formats_and_every_bit_of_its_numbers() {
        let long = Expr::Num(Number::new(Type::F80, 0x3ffd_aaaa_aaaa_aaaa_aaab));
        let cast = Expr::Op { operator: Operator::Cast, ty: Type::F32, args: vec![long] };
        let expr = Expr::Op { operator: Operator::Fma, ty: Type::F32, args: vec![csqrt(), cast, Expr::Var(0)] };
        let named = Operator::Opaque(BlackBox::new("k0", 1).expect("there are few"));
        let expr = Expr::Op { operator: named, ty: Type::F64, args: vec![expr] };
        let text = write(&expr);
        assert!(text.ends_with("$0 sub:f64 f80:0x3ffdaaaaaaaaaaaaaaab cast:f32 $0 fma:f32 k0/1:f64"), "{text}");
        assert_eq!(format!("{:?}", read(&text, 2)), format!("{:?}", Ok::<_, String>(expr)));
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for wrong in [
            "",
            "$2",
            "$-1",
            "$0 $1",
            "sub:f64",
            "$0 sub:f64",
            "$0 $0 sub:b64",
            "f64:0xg",
            "f64:0x",
            "x",
            "é:0x1",
            "k0/1:f64",
            "k0/x:f64",
        ] {
            assert!(read(wrong, 2).is_err(), "{wrong}");
        }
        let deep = format!("$0{}", " sqrt:f64".repeat(100_000));
        assert!(read(&deep, 1).is_err_and(|error| error.contains("levels deep")));
    }
}
