//! FPCore 2.0 from text: <https://fpbench.org/spec/fpcore-2.0.html>. Names, arities and sorts are checked on the way,
//! so that whoever gets a [`Core`] need not.
//!
//! Understood: everything that computes one number in binary32 or binary64. Not understood, and refused with its place:
//! tensors, `for`, other formats, other rounding directions than to nearest.

use crate::ast::{Argument, Core, Expr, Let, LoopVariable, Precision, Properties, While};
use crate::number::Literal;
use crate::operators::{Comparison, Constant, Operator, Test, named};
use crate::sexpr::{Error, Kind, Position, Sexpr, error, read};

/// The cores of a file. What is wrong with one does not keep the others from being read.
pub fn parse(text: &str) -> Result<Vec<Result<Core, Refused>>, Error> {
    let cores = read(text)?.into_iter().map(|form| core(&form).map_err(|error| Refused { title: title(&form), error }));
    Ok(cores.collect())
}

/// A core that was not understood, and what it calls itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    pub title: String,
    pub error: Error,
}

/// Number or truth value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    Number,
    Truth,
}

/// The names that can be used, the innermost last.
struct Scope(Vec<(String, Sort)>);

const TENSOR_WORDS: &[&str] = &["tensor", "tensor*", "array", "dim", "size", "ref", "for", "for*"];

fn title(form: &Sexpr) -> String {
    let Kind::List(items) = &form.kind else { return String::new() };
    let name = items.windows(2).find_map(|pair| match (&pair[0].kind, &pair[1].kind) {
        (Kind::Atom(key), Kind::Text(name)) if key == ":name" => Some(name.clone()),
        _ => None,
    });
    name.unwrap_or_else(|| format!("the core in line {}", form.position.line))
}

fn core(form: &Sexpr) -> Result<Core, Error> {
    let position = form.position;
    let mut items = list(form, "a core `(FPCore (x y) body)`")?;
    match items.first().map(|item| &item.kind) {
        Some(Kind::Atom(word)) if word == "FPCore" => items = &items[1..],
        _ => return error(position, "a core begins with `(FPCore`"),
    }
    let mut symbol = None;
    if let Some(Sexpr { kind: Kind::Atom(name), .. }) = items.first() {
        symbol = Some(name.clone());
        items = &items[1..];
    }
    let Some((parameters, rest)) = items.split_first() else {
        return error(position, "a core needs its arguments `(x y ...)`");
    };
    let (properties, rest) = properties(rest)?;
    let precision = precision_of(&properties)?.unwrap_or(Precision::Binary64);
    let arguments = list(parameters, "the arguments `(x y ...)`")?;
    let arguments = arguments.iter().map(|item| argument(item, precision)).collect::<Result<Vec<_>, _>>()?;
    let mut scope = Scope(arguments.iter().map(|argument| (argument.name.clone(), Sort::Number)).collect());
    for (number, argument) in arguments.iter().enumerate() {
        if arguments[..number].iter().any(|earlier| earlier.name == argument.name) {
            return error(parameters.position, format!("two arguments are called `{}`", argument.name));
        }
    }
    let pre = properties.iter().find(|(name, _)| name == "pre");
    let pre = pre.map(|(_, pre)| scope.expect(pre, Sort::Truth)).transpose()?;
    let [body] = rest else {
        return error(position, format!("a core has one body, this one {}", rest.len()));
    };
    let body = scope.expect(body, Sort::Number)?;
    Ok(Core { position, symbol, arguments, precision, pre, properties, body })
}

fn argument(item: &Sexpr, precision: Precision) -> Result<Argument, Error> {
    match &item.kind {
        Kind::Atom(_) => Ok(Argument { name: symbol(item)?, precision }),
        Kind::List(items) => {
            let annotated = items.first().is_some_and(|mark| mark.kind == Kind::Atom("!".into()));
            let (properties, rest) = properties(items.get(1..).unwrap_or_default())?;
            match (annotated, rest) {
                (true, [name @ Sexpr { kind: Kind::Atom(_), .. }]) => {
                    Ok(Argument { name: symbol(name)?, precision: precision_of(&properties)?.unwrap_or(precision) })
                }
                _ => error(
                    item.position,
                    "an argument is a name, perhaps `(! :precision binary32 x)`; tensors are not understood",
                ),
            }
        }
        Kind::Text(_) => error(item.position, "an argument is a name"),
    }
}

/// The properties at the beginning, and what follows them.
fn properties(items: &[Sexpr]) -> Result<(Properties, &[Sexpr]), Error> {
    let mut properties = Vec::new();
    let mut rest = items;
    while let [Sexpr { kind: Kind::Atom(key), position }, tail @ ..] = rest {
        let Some(key) = key.strip_prefix(':') else { break };
        let [value, after @ ..] = tail else {
            return error(*position, format!("property `:{key}` has no value"));
        };
        properties.push((key.to_string(), value.clone()));
        rest = after;
    }
    Ok((properties, rest))
}

/// The precision that the properties set.
fn precision_of(properties: &Properties) -> Result<Option<Precision>, Error> {
    let mut precision = None;
    for (name, value) in properties {
        let text = value.to_string();
        match name.as_str() {
            "precision" => match Precision::from_name(&text) {
                Some(known) => precision = Some(known),
                None => {
                    let message = format!("precision `{text}` is not understood; binary32 and binary64 are");
                    return error(value.position, message);
                }
            },
            "round" if text != "nearestEven" => {
                return error(value.position, format!("rounding `{text}` is not understood; nearestEven is"));
            }
            _ => {}
        }
    }
    Ok(precision)
}

fn list<'a>(item: &'a Sexpr, what: &str) -> Result<&'a [Sexpr], Error> {
    match &item.kind {
        Kind::List(items) => Ok(items),
        _ => error(item.position, format!("here must be {what}, not `{item}`")),
    }
}

fn symbol(item: &Sexpr) -> Result<String, Error> {
    match &item.kind {
        Kind::Atom(name) if Literal::parse(name).is_none() && !name.starts_with(':') && !is_reserved(name) => {
            Ok(name.clone())
        }
        _ => error(item.position, format!("here must be a name, not `{item}`")),
    }
}

fn is_reserved(name: &str) -> bool {
    named(Constant::ALL, name).is_some() || name == "TRUE" || name == "FALSE"
}

impl Scope {
    fn sort(&self, name: &str) -> Option<Sort> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, sort)| *sort)
    }

    fn expect(&mut self, item: &Sexpr, sort: Sort) -> Result<Expr, Error> {
        let (expr, found) = self.expr(item)?;
        match (found == sort, sort) {
            (true, _) => Ok(expr),
            (false, Sort::Number) => error(item.position, "here must be a number, not a truth value"),
            (false, Sort::Truth) => error(item.position, "here must be a condition, not a number"),
        }
    }

    fn each(&mut self, items: &[Sexpr], sort: Sort) -> Result<Vec<Expr>, Error> {
        items.iter().map(|item| self.expect(item, sort)).collect()
    }

    fn expr(&mut self, item: &Sexpr) -> Result<(Expr, Sort), Error> {
        match &item.kind {
            Kind::Atom(atom) => self.atom(item.position, atom),
            Kind::Text(_) => error(item.position, "a string computes nothing"),
            Kind::List(items) => match items.split_first() {
                Some((Sexpr { kind: Kind::Atom(word), .. }, args)) => self.form(item.position, word, args),
                _ => error(item.position, "an operation begins with its name"),
            },
        }
    }

    fn atom(&self, position: Position, atom: &str) -> Result<(Expr, Sort), Error> {
        if let Some(literal) = Literal::parse(atom) {
            return Ok((Expr::Number(literal), Sort::Number));
        }
        if let Some(sort) = self.sort(atom) {
            return Ok((Expr::Variable(atom.into()), sort));
        }
        match (atom, named(Constant::ALL, atom)) {
            ("TRUE", _) => Ok((Expr::Truth(true), Sort::Truth)),
            ("FALSE", _) => Ok((Expr::Truth(false), Sort::Truth)),
            (_, Some(constant)) => Ok((Expr::Constant(constant), Sort::Number)),
            _ => error(position, format!("nothing is called `{atom}` here")),
        }
    }

    fn form(&mut self, position: Position, word: &str, args: &[Sexpr]) -> Result<(Expr, Sort), Error> {
        let truth = |expr| Ok((expr, Sort::Truth));
        let count = |expected: usize| match args.len() == expected {
            true => Ok(()),
            false => error(position, format!("`{word}` takes {expected} arguments, not {}", args.len())),
        };
        match word {
            "let" | "let*" => return self.let_form(position, word == "let*", args),
            "while" | "while*" => return self.while_form(position, word == "while*", args),
            "if" => {
                count(3)?;
                let condition = self.expect(&args[0], Sort::Truth)?;
                let (yes, sort) = self.expr(&args[1])?;
                let no = self.expect(&args[2], sort)?;
                return Ok((Expr::If(condition.into(), yes.into(), no.into()), sort));
            }
            "!" => {
                let (properties, rest) = properties(args)?;
                let [body] = rest else { return error(position, "`!` takes properties and one expression") };
                let (body, sort) = self.expr(body)?;
                return Ok(match precision_of(&properties)? {
                    Some(precision) => (Expr::Context(precision, body.into()), sort),
                    None => (body, sort),
                });
            }
            "digits" => {
                count(3)?;
                let [m, e, b] = [0, 1, 2].map(|number: usize| args[number].to_string());
                let Some(literal) = Literal::digits(&m, &e, &b) else {
                    return error(
                        position,
                        "`digits` takes an integer, an exponent up to 20000 and a base from 2 to 1000",
                    );
                };
                return Ok((Expr::Number(literal), Sort::Number));
            }
            "and" => return truth(Expr::And(self.each(args, Sort::Truth)?)),
            "or" => return truth(Expr::Or(self.each(args, Sort::Truth)?)),
            "not" => {
                count(1)?;
                return truth(Expr::Not(self.expect(&args[0], Sort::Truth)?.into()));
            }
            _ => {}
        }
        if let Some(comparison) = named(Comparison::ALL, word) {
            return truth(Expr::Compare(comparison, self.each(args, Sort::Number)?));
        }
        if let Some(test) = named(Test::ALL, word) {
            count(1)?;
            return truth(Expr::Test(test, self.expect(&args[0], Sort::Number)?.into()));
        }
        if let Some(operator) = Operator::find(word, args.len()) {
            return Ok((Expr::Operation(operator, self.each(args, Sort::Number)?), Sort::Number));
        }
        match Operator::arities(word)[..] {
            [] if TENSOR_WORDS.contains(&word) => {
                error(position, format!("`{word}`: tensors and `for` are not understood"))
            }
            [] => error(position, format!("there is no operation `{word}`")),
            [arity] => error(position, format!("`{word}` takes {arity} arguments, not {}", args.len())),
            _ => error(position, format!("`{word}` takes 1 or 2 arguments, not {}", args.len())),
        }
    }

    fn let_form(&mut self, position: Position, sequential: bool, args: &[Sexpr]) -> Result<(Expr, Sort), Error> {
        let [bindings, body] = args else { return error(position, "`let` takes bindings and a body") };
        let outside = self.0.len();
        let (mut parsed, mut names) = (Vec::new(), Vec::new());
        for binding in list(bindings, "bindings `([x value] ...)`")? {
            let [name, value] = list(binding, "a binding `[x value]`")? else {
                return error(binding.position, "a binding is `[x value]`");
            };
            let name = symbol(name)?;
            let (value, sort) = self.expr(value)?;
            parsed.push((name.clone(), value));
            if sequential { &mut self.0 } else { &mut names }.push((name, sort));
        }
        self.0.extend(names);
        let body = self.expr(body);
        self.0.truncate(outside);
        let (body, sort) = body?;
        Ok((Expr::Let(Let { sequential, bindings: parsed, body: body.into() }), sort))
    }

    fn while_form(&mut self, position: Position, sequential: bool, args: &[Sexpr]) -> Result<(Expr, Sort), Error> {
        let [condition, bindings, body] = args else {
            return error(position, "`while` takes a condition, bindings and a body");
        };
        let outside = self.0.len();
        let (mut initials, mut names) = (Vec::new(), Vec::new());
        let bindings = list(bindings, "bindings `([x initial update] ...)`")?;
        for binding in bindings {
            let [name, initial, _] = list(binding, "a binding `[x initial update]`")? else {
                return error(binding.position, "a binding of a loop is `[x initial update]`");
            };
            let name = symbol(name)?;
            let (initial, sort) = self.expr(initial)?;
            initials.push((name.clone(), initial, sort));
            if sequential { &mut self.0 } else { &mut names }.push((name, sort));
        }
        self.0.extend(names);
        let inside = || {
            let condition = self.expect(condition, Sort::Truth)?;
            let mut variables = Vec::new();
            for (binding, (name, initial, sort)) in bindings.iter().zip(initials) {
                let update = self.expect(&list(binding, "a binding")?[2], sort)?;
                variables.push(LoopVariable { name, initial, update });
            }
            let (body, sort) = self.expr(body)?;
            let condition = condition.into();
            Ok((Expr::While(While { sequential, condition, bindings: variables, body: body.into() }), sort))
        };
        let parsed = inside();
        self.0.truncate(outside);
        parsed
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
