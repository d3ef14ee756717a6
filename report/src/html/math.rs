//! Expressions as MathML, with the fewest parentheses that keep the order of operations: as in [`Expr::infix`], but fractions, roots and
//! powers need none.

use super::markup::{Element, Html, element};
use fpgrind_analysis::Expr;
use fpgrind_ir::{Operator, Type};

/// How tightly a typeset expression holds together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Sum,
    Product,
    Sign,
    /// What has a line or a height of its own, but would be misread under an exponent.
    Tall,
    Atom,
}

pub fn math(expr: &Expr, names: &[&str], display: bool) -> Html {
    let display = if display { "block" } else { "inline" };
    element("math").with("display", display).with("alttext", expr.infix(names)).put(typeset(expr, names)).into()
}

/// The name of an operation on a node of a tree: as it is written in mathematics if that is one character.
pub fn symbol(operator: Operator, ty: Type) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Sub | Operator::Neg => "−",
        Operator::Mul => "×",
        Operator::Div => "÷",
        Operator::Sqrt => "√",
        _ => function(operator, ty),
    }
}

fn function(operator: Operator, ty: Type) -> &'static str {
    match (operator, ty) {
        (Operator::Cast, Type::F16) => "half",
        (Operator::Cast, Type::Bf16) => "bfloat",
        (Operator::Cast, Type::F32) => "float",
        (Operator::Cast, Type::F80) => "long_double",
        (Operator::Cast, _) => "double",
        _ => operator.name(),
    }
}

fn typeset(expr: &Expr, names: &[&str]) -> Html {
    let Expr::Op { operator, ty, args } = expr else { return leaf(&expr.infix(names)) };
    let at = |arg: &Expr, least: Binding| within(arg, names, binding(arg) >= least);
    match (operator, &args[..]) {
        (Operator::Add, [a, b]) => {
            // `(x - 1) + x` needs no parentheses to be read rightly, but they show what cancels.
            let is_mixed = matches!(a, Expr::Op { operator: Operator::Sub, .. });
            row([within(a, names, !is_mixed), sign("+"), right_of_sum(b, names)])
        }
        (Operator::Sub, [a, b]) => {
            let is_mixed = matches!(a, Expr::Op { operator: Operator::Add, .. });
            row([within(a, names, !is_mixed), sign("−"), right_of_sum(b, names)])
        }
        (Operator::Mul, [a, b]) if a == b => power(at(a, Binding::Atom), leaf("2")),
        (Operator::Mul, [a, b]) => row([at(a, Binding::Product), sign("⋅"), at(b, Binding::Tall)]),
        (Operator::Div, [a, b]) => element("mfrac").put(typeset(a, names)).put(typeset(b, names)).into(),
        (Operator::Neg, [a]) => {
            let minus = element("mo").with("form", "prefix").say("−");
            row([minus.into(), at(a, Binding::Tall)])
        }
        (Operator::Sqrt, [a]) => element("msqrt").put(typeset(a, names)).into(),
        (Operator::Cbrt, [a]) => element("mroot").put(typeset(a, names)).put(leaf("3")).into(),
        (Operator::Pow, [a, b]) => power(at(a, Binding::Atom), typeset(b, names)),
        (Operator::Exp2, [a]) => power(leaf("2"), typeset(a, names)),
        (Operator::Exp10, [a]) => power(leaf("10"), typeset(a, names)),
        (Operator::Abs, [a]) => fenced("|", typeset(a, names), "|"),
        (Operator::Floor, [a]) => fenced("⌊", typeset(a, names), "⌋"),
        (Operator::Ceil, [a]) => fenced("⌈", typeset(a, names), "⌉"),
        (_, args) => {
            let mut inside: Vec<Html> = Vec::new();
            for arg in args {
                if !inside.is_empty() {
                    inside.push(element("mo").with("separator", "true").say(",").into());
                }
                inside.push(typeset(arg, names));
            }
            row([identifier(function(*operator, *ty)).into(), fenced("(", row(inside), ")")])
        }
    }
}

/// A sign in the middle, as in `x - -y`, is correct and unreadable.
fn right_of_sum(expr: &Expr, names: &[&str]) -> Html {
    let binding = binding(expr);
    within(expr, names, binding > Binding::Sum && binding != Binding::Sign)
}

fn within(expr: &Expr, names: &[&str], bare: bool) -> Html {
    let html = typeset(expr, names);
    if bare { html } else { fenced("(", html, ")") }
}

fn binding(expr: &Expr) -> Binding {
    match expr {
        Expr::Var(_) => Binding::Atom,
        Expr::Num(value) if value.is_negative() && !value.is_nan() => Binding::Sign,
        Expr::Num(_) if expr.infix(&[""]).contains('e') => Binding::Product,
        Expr::Num(_) => Binding::Atom,
        Expr::Op { operator, args, .. } => match operator {
            Operator::Add | Operator::Sub => Binding::Sum,
            Operator::Mul if matches!(&args[..], [a, b] if a == b) => Binding::Tall,
            Operator::Mul => Binding::Product,
            Operator::Neg => Binding::Sign,
            Operator::Div | Operator::Pow | Operator::Exp2 | Operator::Exp10 | Operator::Sqrt | Operator::Cbrt => {
                Binding::Tall
            }
            _ => Binding::Atom,
        },
    }
}

/// A variable (`x`, `y1`) or a number, as infix notation has it.
fn leaf(text: &str) -> Html {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (true, magnitude),
        None => (false, text),
    };
    let is_number = magnitude.starts_with(|c: char| c.is_ascii_digit());
    let html = match magnitude.split_once('e') {
        Some(("1", exponent)) if is_number => power(leaf("10"), leaf(exponent)),
        Some((digits, exponent)) if is_number => row([leaf(digits), sign("×"), power(leaf("10"), leaf(exponent))]),
        _ if is_number => element("mn").say(magnitude).into(),
        _ => variable(magnitude),
    };
    if negative { row([element("mo").with("form", "prefix").say("−").into(), html]) } else { html }
}

fn variable(name: &str) -> Html {
    match name {
        "PI" => return identifier("π").into(),
        "INFINITY" => return identifier("∞").into(),
        "NAN" => return identifier("NaN").into(),
        _ => {}
    }
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match name.strip_prefix(letters).filter(|digits| !digits.is_empty()) {
        Some(digits) => element("msub").put(identifier(letters)).put(leaf(digits)).into(),
        None => identifier(name).into(),
    }
}

fn identifier(name: &str) -> Element {
    element("mi").say(name)
}

fn sign(sign: &str) -> Html {
    element("mo").say(sign).into()
}

fn power(base: Html, exponent: Html) -> Html {
    element("msup").put(base).put(exponent).into()
}

fn row(parts: impl IntoIterator<Item = Html>) -> Html {
    element("mrow").all(parts).into()
}

fn fenced(open: &str, inside: Html, close: &str) -> Html {
    // Around what is no taller than a line they need not grow, which not all fonts do well.
    let stretchy = inside.contains("<mfrac") || inside.contains("<msqrt") || inside.contains("<mroot");
    let fence = |fence: &str, form: &str| {
        element("mo").with("fence", "true").with("form", form).with("stretchy", stretchy).say(fence).into()
    };
    row([fence(open, "prefix"), inside, fence(close, "postfix")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{csqrt, op};
    use fpgrind_analysis::Number;

    fn num(value: f64) -> Expr {
        Expr::Num(value.into())
    }

    /// What is left of MathML when everything but its text is taken away, with roots, fractions and powers as words.
    fn read(expr: &Expr) -> String {
        let html = typeset(expr, &["x", "y"]).into_string();
        let mut text = html.replace("<msqrt>", "√[").replace("</msqrt>", "]");
        text = text.replace("<mfrac>", "frac[").replace("</mfrac>", "]");
        text = text.replace("<msup>", "sup[").replace("</msup>", "]");
        let mut shown = String::new();
        let mut inside = false;
        for c in text.chars() {
            match c {
                '<' => inside = true,
                '>' => inside = false,
                c if !inside => shown.push(c),
                _ => {}
            }
        }
        shown
    }

    #[test]
    fn the_complex_root_looks_as_in_a_textbook() {
        assert_eq!(read(&csqrt()), "√[sup[x2]+sup[y2]]−x");
        let html = math(&csqrt(), &["x", "y"], true).into_string();
        assert!(html.starts_with("<math display=\"block\" alttext=\"sqrt(x*x + y*y) - x\"><mrow><msqrt>"), "{html}");
    }

    #[test]
    fn parentheses_keep_the_order_of_operations() {
        use Operator::*;
        let (x, y) = (|| Expr::Var(0), || Expr::Var(1));
        let sum = || op(Add, vec![x(), y()]);
        for (expr, expected) in [
            (op(Add, vec![x(), sum()]), "x+(x+y)"),
            (op(Add, vec![sum(), x()]), "x+y+x"),
            (op(Sub, vec![sum(), x()]), "(x+y)−x"),
            (op(Div, vec![x(), sum()]), "frac[xx+y]"),
            (op(Mul, vec![sum(), sum()]), "sup[(x+y)2]"),
            (op(Mul, vec![sum(), op(Mul, vec![x(), y()])]), "(x+y)⋅(x⋅y)"),
            (op(Pow, vec![op(Div, vec![x(), y()]), sum()]), "sup[(frac[xy])x+y]"),
            (op(Mul, vec![x(), op(Neg, vec![y()])]), "x⋅(−y)"),
            (op(Sub, vec![x(), num(-3.0)]), "x−(−3)"),
            (op(Mul, vec![x(), num(1.5e-9)]), "x⋅(1.5×sup[10−9])"),
            (op(Sub, vec![x(), num(1e-9)]), "x−sup[10−9]"),
            (op(Abs, vec![sum()]), "|x+y|"),
            (op(Hypot, vec![x(), y()]), "hypot(x,y)"),
            (op(Mul, vec![num(std::f64::consts::PI), x()]), "π⋅x"),
        ] {
            assert_eq!(read(&expr), expected, "{}", expr.infix(&["x", "y"]));
        }
        let infinity = Expr::Num(Number::from(f64::NEG_INFINITY));
        assert_eq!(read(&infinity), "−∞");
        assert_eq!(variable("x12").into_string(), "<msub><mi>x</mi><mn>12</mn></msub>");
    }
}
