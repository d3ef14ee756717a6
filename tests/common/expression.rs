//! Expressions in FPCore's notation, compared up to the names of variables and what compilers are free to change: the order of
//! the arguments of + and *, and whether b is subtracted or -b added.

use std::collections::HashMap;

#[derive(Clone, Debug, PartialEq)]
enum Expr {
    Number(f64),
    Variable(String),
    Apply(String, Vec<Expr>),
}

/// Is `actual` the expression `expected`, up to renaming?
pub fn same(expected: &str, actual: &str) -> bool {
    let (expected, actual) = (parse(expected), parse(actual));
    unify(&expected, &actual, &HashMap::new())
        .into_iter()
        .any(|names| names.values().collect::<std::collections::HashSet<_>>().len() == names.len())
}

/// All ways to rename the variables of `expected` that make it `actual`.
fn unify(expected: &Expr, actual: &Expr, names: &HashMap<String, String>) -> Vec<HashMap<String, String>> {
    match (expected, actual) {
        (Expr::Number(a), Expr::Number(b)) if a == b => vec![names.clone()],
        (Expr::Variable(a), Expr::Variable(b)) => match names.get(a) {
            Some(known) if known == b => vec![names.clone()],
            Some(_) => vec![],
            None => {
                let mut names = names.clone();
                names.insert(a.clone(), b.clone());
                vec![names]
            }
        },
        (Expr::Apply(f, a), Expr::Apply(g, b)) if f == g && a.len() == b.len() => {
            let mut found = unify_all(a, b, names);
            if (f == "+" || f == "*") && b.len() == 2 {
                found.extend(unify_all(a, &[b[1].clone(), b[0].clone()], names));
            }
            found
        }
        _ => vec![],
    }
}

fn unify_all(expected: &[Expr], actual: &[Expr], names: &HashMap<String, String>) -> Vec<HashMap<String, String>> {
    expected.iter().zip(actual).fold(vec![names.clone()], |ways, (expected, actual)| {
        ways.iter().flat_map(|names| unify(expected, actual, names)).collect()
    })
}

fn parse(text: &str) -> Expr {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let mut tokens = spaced.split_whitespace();
    let expr = parse_tokens(&mut tokens).unwrap_or_else(|| panic!("not an expression: {text}"));
    assert_eq!(tokens.next(), None, "more than one expression: {text}");
    expr
}

fn parse_tokens<'a>(tokens: &mut impl Iterator<Item = &'a str>) -> Option<Expr> {
    let token = tokens.next()?;
    if token == ")" {
        return None;
    }
    if token != "(" {
        return Some(token.parse().map_or_else(|_| Expr::Variable(token.to_owned()), Expr::Number));
    }
    let operator = tokens.next()?.to_owned();
    let mut arguments = vec![];
    while let Some(argument) = parse_tokens(tokens) {
        arguments.push(argument);
    }
    Some(without_negated_summands(operator, arguments))
}

fn without_negated_summands(operator: String, arguments: Vec<Expr>) -> Expr {
    let negated = |expr: &Expr| match expr {
        Expr::Apply(operator, arguments) if operator == "-" && arguments.len() == 1 => Some(arguments[0].clone()),
        _ => None,
    };
    if let ("+", [a, b]) = (operator.as_str(), arguments.as_slice()) {
        if let Some(a) = negated(a) {
            return Expr::Apply("-".into(), vec![b.clone(), a]);
        }
        if let Some(b) = negated(b) {
            return Expr::Apply("-".into(), vec![a.clone(), b]);
        }
    }
    Expr::Apply(operator, arguments)
}
