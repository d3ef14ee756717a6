//! Symbolic expressions: what a cause looks like to the user.

use fpgrind_ir::{Operator, Type};

/// An expression over numbered variables.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Index into the variables that belong to the expression.
    Var(usize),
    /// A number, exactly; an `F32` constant is held in the double of the same value.
    Num(f64),
    /// An operation whose result has this precision, `F32` or `F64`.
    Op { operator: Operator, ty: Type, args: Vec<Expr> },
}

/// How tightly an expression holds together in infix notation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Sum,
    Product,
    Sign,
    Atom,
}

impl Expr {
    /// As people write it: `sqrt(x*x + y*y) - x`. Parentheses are the fewest that keep the order of operations, which
    /// matters in floats: `a + (b + c)` is not `a + b + c`.
    pub fn infix(&self, names: &[impl AsRef<str>]) -> String {
        match self {
            Expr::Var(number) => name(names, *number),
            Expr::Num(value) if *value == std::f64::consts::PI => "PI".into(),
            Expr::Num(value) => number(*value),
            Expr::Op { operator, ty, args } => match (operator, &args[..]) {
                (Operator::Add, [a, b]) => infix_pair(names, a, " + ", b, Binding::Sum),
                (Operator::Sub, [a, b]) => infix_pair(names, a, " - ", b, Binding::Sum),
                (Operator::Mul, [a, b]) => infix_pair(names, a, "*", b, Binding::Product),
                (Operator::Div, [a, b]) => infix_pair(names, a, "/", b, Binding::Product),
                (Operator::Neg, [a]) => format!("-{}", a.infix_within(names, a.binding() > Binding::Sign)),
                (operator, args) => {
                    let function = match (operator, ty) {
                        (Operator::Cast, Type::F32) => "float",
                        (Operator::Cast, _) => "double",
                        _ => operator.name(),
                    };
                    let args: Vec<String> = args.iter().map(|arg| arg.infix(names)).collect();
                    format!("{function}({})", args.join(", "))
                }
            },
        }
    }

    /// As FPCore: `(- (sqrt (+ (* x x) (* y y))) x)`, to stand where precision `context` holds.
    pub fn fpcore(&self, names: &[impl AsRef<str>], context: Type) -> String {
        match self {
            Expr::Var(number) => name(names, *number),
            Expr::Num(value) if value.is_nan() => "NAN".into(),
            Expr::Num(value) if value.is_infinite() && *value < 0.0 => "(- INFINITY)".into(),
            Expr::Num(value) if value.is_infinite() => "INFINITY".into(),
            Expr::Num(value) => number(*value),
            Expr::Op { operator, ty, args } => {
                let function = match operator {
                    Operator::Add => "+",
                    Operator::Sub | Operator::Neg => "-",
                    Operator::Mul => "*",
                    Operator::Div => "/",
                    _ => operator.name(),
                };
                let args: String = args.iter().map(|arg| format!(" {}", arg.fpcore(names, *ty))).collect();
                // FPCore has no name for this one.
                let (function, args) = match operator {
                    Operator::Exp10 => ("pow", format!(" 10{args}")),
                    _ => (function, args),
                };
                match ty {
                    ty if *ty == context => format!("({function}{args})"),
                    Type::F32 => format!("(! :precision binary32 ({function}{args}))"),
                    _ => format!("(! :precision binary64 ({function}{args}))"),
                }
            }
        }
    }

    fn infix_within(&self, names: &[impl AsRef<str>], bare: bool) -> String {
        let text = self.infix(names);
        if bare { text } else { format!("({text})") }
    }

    fn binding(&self) -> Binding {
        match self {
            Expr::Var(_) => Binding::Atom,
            Expr::Num(value) if value.is_sign_negative() && !value.is_nan() => Binding::Sign,
            Expr::Num(_) => Binding::Atom,
            Expr::Op { operator, .. } => match operator {
                Operator::Add | Operator::Sub => Binding::Sum,
                Operator::Mul | Operator::Div => Binding::Product,
                Operator::Neg => Binding::Sign,
                _ => Binding::Atom,
            },
        }
    }
}

fn infix_pair(names: &[impl AsRef<str>], a: &Expr, operator: &str, b: &Expr, binding: Binding) -> String {
    // `(x + 1) - x` needs no parentheses to be read rightly, but they show what cancels.
    let mixed = matches!(
        (a, operator),
        (Expr::Op { operator: Operator::Add, .. }, " - ") | (Expr::Op { operator: Operator::Sub, .. }, " + ")
    );
    let left = a.infix_within(names, a.binding() >= binding && !mixed);
    // A sign in the middle, as in `x - -y`, is correct and unreadable.
    let right = b.infix_within(names, b.binding() > binding && b.binding() != Binding::Sign);
    format!("{left}{operator}{right}")
}

fn name(names: &[impl AsRef<str>], number: usize) -> String {
    names.get(number).map_or_else(|| format!("v{number}"), |name| name.as_ref().to_owned())
}

/// The shortest decimal that reads back as the same double.
fn number(value: f64) -> String {
    let magnitude = value.abs();
    if value.is_nan() {
        "NAN".into()
    } else if value.is_infinite() {
        if value > 0.0 { "INFINITY".into() } else { "-INFINITY".into() }
    } else if value == 0.0 || (1e-5..1e16).contains(&magnitude) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 3] = ["x", "y", "z"];

    fn op(operator: Operator, args: &[Expr]) -> Expr {
        Expr::Op { operator, ty: Type::F64, args: args.to_vec() }
    }

    fn x() -> Expr {
        Expr::Var(0)
    }

    fn y() -> Expr {
        Expr::Var(1)
    }

    #[test]
    fn the_complex_root_looks_as_in_a_textbook() {
        use Operator::*;
        let squares = op(Add, &[op(Mul, &[x(), x()]), op(Mul, &[y(), y()])]);
        let expr = op(Sub, &[op(Sqrt, &[squares]), x()]);
        assert_eq!(expr.infix(&NAMES), "sqrt(x*x + y*y) - x");
        assert_eq!(expr.fpcore(&NAMES, Type::F64), "(- (sqrt (+ (* x x) (* y y))) x)");
    }

    #[test]
    fn parentheses_keep_the_order_of_operations() {
        use Operator::*;
        let sum = op(Add, &[x(), y()]);
        assert_eq!(op(Add, &[x(), sum.clone()]).infix(&NAMES), "x + (x + y)");
        assert_eq!(op(Add, &[sum.clone(), x()]).infix(&NAMES), "x + y + x");
        assert_eq!(op(Sub, &[sum.clone(), x()]).infix(&NAMES), "(x + y) - x");
        assert_eq!(op(Div, &[x(), op(Mul, &[x(), y()])]).infix(&NAMES), "x/(x*y)");
        assert_eq!(op(Mul, &[sum.clone(), op(Neg, &[x()])]).infix(&NAMES), "(x + y)*(-x)");
        assert_eq!(op(Add, &[op(Neg, &[y()]), op(Sqrt, &[x()])]).infix(&NAMES), "-y + sqrt(x)");
        assert_eq!(op(Neg, &[op(Neg, &[x()])]).infix(&NAMES), "-(-x)");
        assert_eq!(op(Sub, &[x(), Expr::Num(-3.0)]).infix(&NAMES), "x - (-3)");
        assert_eq!(op(Pow, &[sum, Expr::Num(0.5)]).infix(&NAMES), "pow(x + y, 0.5)");
        assert_eq!(op(Mul, &[Expr::Num(std::f64::consts::PI), x()]).infix(&NAMES), "PI*x");
    }

    #[test]
    fn fpcore_names_a_precision_where_it_changes() {
        use Operator::*;
        let single = |operator, args: &[Expr]| Expr::Op { operator, ty: Type::F32, args: args.to_vec() };
        let expr = single(Cast, &[op(Add, &[single(Mul, &[x(), x()]), y()])]);
        assert_eq!(
            expr.fpcore(&NAMES, Type::F32),
            "(cast (! :precision binary64 (+ (! :precision binary32 (* x x)) y)))"
        );
        assert_eq!(op(Neg, &[x()]).fpcore(&NAMES, Type::F64), "(- x)");
        assert_eq!(op(Neg, &[x()]).fpcore(&NAMES, Type::F32), "(! :precision binary64 (- x))");
        assert_eq!(op(Exp10, &[op(Neg, &[x()])]).fpcore(&NAMES, Type::F64), "(pow 10 (- x))");
        assert_eq!(Expr::Num(f64::NEG_INFINITY).fpcore(&NAMES, Type::F64), "(- INFINITY)");
    }

    proptest! {
        #[test]
        fn numbers_read_back_exactly(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(number(value).parse::<f64>().unwrap().to_bits(), bits);
        }
    }
}
