//! Symbolic expressions: what a cause looks like to the user.

use crate::number::Number;
use fpgrind_ir::{Operator, Type};

/// An expression over numbered variables.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Index into the variables that belong to the expression.
    Var(usize),
    /// A number, exactly.
    Num(Number),
    /// An operation whose result has this format.
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
            Expr::Num(value) if is_pi(value) => "PI".into(),
            Expr::Num(value) => number(*value, Type::F64),
            Expr::Op { operator, ty, args } => match (operator, &args[..]) {
                (Operator::Add, [a, b]) => infix_pair(names, a, " + ", b, Binding::Sum),
                (Operator::Sub, [a, b]) => infix_pair(names, a, " - ", b, Binding::Sum),
                (Operator::Mul, [a, b]) => infix_pair(names, a, "*", b, Binding::Product),
                (Operator::Div, [a, b]) => infix_pair(names, a, "/", b, Binding::Product),
                (Operator::Neg, [a]) => format!("-{}", a.infix_within(names, a.binding() > Binding::Sign)),
                (operator, args) => {
                    let function = match (operator, ty) {
                        (Operator::Cast, Type::F16) => "half",
                        (Operator::Cast, Type::Bf16) => "bfloat",
                        (Operator::Cast, Type::F32) => "float",
                        (Operator::Cast, Type::F80) => "long_double",
                        (Operator::Cast, Type::F128) => "float128",
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
            Expr::Num(value) if !value.is_finite() && value.is_negative() => "(- INFINITY)".into(),
            Expr::Num(value) => number(*value, context),
            Expr::Op { operator, ty, args } => {
                let args: Vec<String> = args.iter().map(|arg| arg.fpcore(names, *ty)).collect();
                let applied = fpcore_operation(*operator, &args);
                if *ty == context { applied } else { format!("(! :precision {} {applied})", precision(*ty)) }
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
            Expr::Num(value) if value.is_negative() && !value.is_nan() => Binding::Sign,
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

/// A format's name in FPCore 2.0. It has none for bfloat16, but a way to describe it: bits of exponent, bits in all.
pub fn precision(ty: Type) -> &'static str {
    match ty {
        Type::F16 => "binary16",
        Type::Bf16 => "(float 8 16)",
        Type::F32 => "binary32",
        Type::F80 => "binary80",
        Type::F128 => "binary128",
        _ => "binary64",
    }
}

/// An operation in FPCore; those that it has no name for are put together from others that lose no digits where they lose none.
fn fpcore_operation(operator: Operator, args: &[String]) -> String {
    let function = match (operator, args) {
        (Operator::Add, _) => "+",
        (Operator::Sub | Operator::Neg, _) => "-",
        (Operator::Mul, _) => "*",
        (Operator::Div, _) => "/",
        (Operator::RoundEven, _) => "nearbyint",
        (Operator::Exp10, [x]) => return format!("(pow 10 {x})"),
        (Operator::Exp2m1, [x]) => return format!("(expm1 (* {x} LN2))"),
        (Operator::Exp10m1, [x]) => return format!("(expm1 (* {x} LN10))"),
        (Operator::Log2p1, [x]) => return format!("(/ (log1p {x}) LN2)"),
        (Operator::Log10p1, [x]) => return format!("(/ (log1p {x}) LN10)"),
        (Operator::Rsqrt, [x]) => return format!("(/ 1 (sqrt {x}))"),
        (Operator::Fraction, [x]) => return format!("(- {x} (trunc {x}))"),
        (Operator::Ldexp, [a, b]) => return format!("(* {a} (exp2 {b}))"),
        (Operator::Maximum, _) => "fmax",
        (Operator::Minimum, _) => "fmin",
        (Operator::Powr, _) => "pow",
        (Operator::Logb, [x]) => return format!("(floor (log2 (fabs {x})))"),
        (Operator::Scalef, [a, b]) => return format!("(* {a} (exp2 (floor {b})))"),
        (Operator::Fscale, [a, b]) => return format!("(* {a} (exp2 (trunc {b})))"),
        (Operator::Yl2x, [y, x]) => return format!("(* {y} (log2 {x}))"),
        (Operator::Yl2xp1, [y, x]) => return format!("(* {y} (/ (log1p {x}) LN2))"),
        (Operator::Fms, [a, b, c]) => return format!("(fma {a} {b} (- {c}))"),
        (Operator::Fnma, [a, b, c]) => return format!("(fma (- {a}) {b} {c})"),
        (Operator::Fnms, [a, b, c]) => return format!("(fma (- {a}) {b} (- {c}))"),
        _ => operator.name(),
    };
    format!("({function} {})", args.join(" "))
}

/// Can FPCore say it, by a name or put together? Where it cannot, an expression ends.
pub fn is_in_fpcore(operator: Operator) -> bool {
    use Operator::*;
    match operator {
        MaxMag | MinMag | MaximumMag | MinimumMag | Rootn | Compound | J0 | J1 | Jn | Y0 | Y1 | Yn => false,
        Sinpi | Cospi | Tanpi | Asinpi | Acospi | Atanpi | Atan2pi | Opaque(_) => false,
        _ => operator.other_part().is_none(),
    }
}

/// The double next to pi, what fldpi loads, or the _Float128 next to it.
fn is_pi(number: &Number) -> bool {
    *number == std::f64::consts::PI
        || *number == Number::new(Type::F80, 0x4000_c90f_daa2_2168_c235)
        || *number == Number::new(Type::F128, 0x4000_921f_b544_42d1_8469_898c_c517_01b8)
}

/// The shortest decimal that reads back as the same number where numbers are of a format. Where that is narrower than a double it
/// reads back as a double, too.
fn number(value: Number, context: Type) -> String {
    if value.is_nan() {
        return "NAN".into();
    }
    if !value.is_finite() {
        return if value.is_negative() { "-INFINITY".into() } else { "INFINITY".into() };
    }
    let wide = [Type::F128, Type::F80].into_iter().find(|wide| value.ty == *wide || context == *wide);
    let wide = wide.unwrap_or(Type::F64);
    let magnitude = value.to_f64().abs();
    value.to(wide).decimal(None).written(magnitude == 0.0 || (1e-5..1e16).contains(&magnitude))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 3] = ["x", "y", "z"];

    fn op(operator: Operator, args: &[Expr]) -> Expr {
        Expr::Op { operator, ty: Type::F64, args: args.to_vec() }
    }

    fn num(value: f64) -> Expr {
        Expr::Num(value.into())
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
        assert_eq!(op(Sub, &[x(), num(-3.0)]).infix(&NAMES), "x - (-3)");
        assert_eq!(op(Pow, &[sum, num(0.5)]).infix(&NAMES), "pow(x + y, 0.5)");
        assert_eq!(op(Mul, &[num(std::f64::consts::PI), x()]).infix(&NAMES), "PI*x");
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
        assert_eq!(num(f64::NEG_INFINITY).fpcore(&NAMES, Type::F64), "(- INFINITY)");
    }

    #[test]
    fn fpcore_gets_by_without_the_x87s_functions_and_knows_its_format() {
        use Operator::*;
        let long = |operator, args: &[Expr]| Expr::Op { operator, ty: Type::F80, args: args.to_vec() };
        for (expr, expected) in [
            (long(Exp2m1, &[x()]), "(expm1 (* x LN2))"),
            (long(Yl2x, &[y(), x()]), "(* y (log2 x))"),
            (long(Yl2xp1, &[y(), x()]), "(* y (/ (log1p x) LN2))"),
            (long(Fscale, &[x(), y()]), "(* x (exp2 (trunc y)))"),
            (long(Scalef, &[x(), y()]), "(* x (exp2 (floor y)))"),
            (long(Logb, &[x()]), "(floor (log2 (fabs x)))"),
            // A double in a long double's place has a long double's digits.
            (long(Add, &[x(), num(0.1)]), "(+ x 0.10000000000000000555)"),
        ] {
            assert_eq!(expr.fpcore(&NAMES, Type::F80), expected);
        }
        assert_eq!(long(Neg, &[x()]).fpcore(&NAMES, Type::F64), "(! :precision binary80 (- x))");
        assert_eq!(long(Cast, &[x()]).infix(&NAMES), "long_double(x)");
    }

    #[test]
    fn fpcore_has_no_word_for_some_functions_and_a_composition_for_others() {
        use Operator::*;
        for (expr, expected) in [
            (op(Ldexp, &[x(), y()]), "(* x (exp2 y))"),
            (op(Fraction, &[x()]), "(- x (trunc x))"),
            (op(Rsqrt, &[x()]), "(/ 1 (sqrt x))"),
            (op(Log2p1, &[x()]), "(/ (log1p x) LN2)"),
            (op(Maximum, &[x(), y()]), "(fmax x y)"),
        ] {
            assert_eq!(expr.fpcore(&NAMES, Type::F64), expected);
        }
        for operator in [J0, Yn, Sinpi, ReSqrt, ImMul, MaxMag, Compound] {
            assert!(!is_in_fpcore(operator), "{}", operator.name());
        }
        for operator in [Sin, Tgamma, Lgamma, Remainder, Cast, Exp10, Add, Ldexp] {
            assert!(is_in_fpcore(operator), "{}", operator.name());
        }
    }

    proptest! {
        #[test]
        fn numbers_read_back_exactly(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(number(value.into(), Type::F64).parse::<f64>().unwrap().to_bits(), bits);
        }
    }
}
