//! Cores as C functions, as a person would write them: expressions stay expressions, `let` makes locals, loops are loops.

use crate::ast::{Core, Expr, Let, Precision, While};
use crate::number::hexadecimal;
use crate::operators::{Comparison, Constant, Operator};

/// A core as a C function.
#[derive(Debug)]
pub struct Function {
    pub text: String,
    /// The format of the result.
    pub result: Precision,
}

/// How C sees a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Number(Precision),
    Truth,
}

struct Writer {
    lines: Vec<String>,
    indent: usize,
    names: usize,
    /// FPCore's name, C's name and type; the innermost last.
    scope: Vec<(String, String, Type)>,
}

/// The function `name` that computes the core's body.
pub fn function(core: &Core, name: &str) -> Function {
    let mut writer = Writer { lines: Vec::new(), indent: 1, names: 0, scope: Vec::new() };
    let mut parameters = Vec::new();
    for argument in &core.arguments {
        let ty = Type::Number(argument.precision);
        let local = writer.name(&argument.name);
        parameters.push(format!("{} {local}", ty.name()));
        writer.scope.push((argument.name.clone(), local, ty));
    }
    let (value, ty) = writer.expr(&core.body, core.precision);
    let result = match ty {
        Type::Number(precision) => precision,
        Type::Truth => core.precision,
    };
    writer.line(format!("return {value};"));
    let parameters = if parameters.is_empty() { "void".into() } else { parameters.join(", ") };
    // Optimised as a function by itself, never merged with another or specialised for the call.
    let head = format!("__attribute__((noipa)) {} {name}({parameters})", c_type(result));
    Function { text: format!("{head} {{\n{}\n}}\n", writer.lines.join("\n")), result }
}

pub fn c_type(precision: Precision) -> &'static str {
    match precision {
        Precision::Binary32 => "float",
        Precision::Binary64 => "double",
    }
}

/// A number as C reads it back exactly.
pub fn c_number(value: f64, precision: Precision) -> String {
    let suffix = if precision == Precision::Binary32 { "f" } else { "" };
    match hexadecimal(value) {
        Some(text) if text.starts_with('-') => format!("({text}{suffix})"),
        Some(text) => format!("{text}{suffix}"),
        None if value.is_nan() => format!("(({})NAN)", c_type(precision)),
        None => format!("({}({})INFINITY)", if value < 0.0 { "-" } else { "" }, c_type(precision)),
    }
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Type::Number(precision) => c_type(precision),
            Type::Truth => "int",
        }
    }

    /// What holds the values of both.
    fn join(self, other: Type) -> Type {
        match (self, other) {
            (Type::Number(a), Type::Number(b)) => Type::Number(a.max(b)),
            _ => self,
        }
    }
}

impl Writer {
    fn line(&mut self, text: String) {
        self.lines.push(format!("{}{text}", "    ".repeat(self.indent)));
    }

    /// A C name that nothing else has.
    fn name(&mut self, hint: &str) -> String {
        self.names += 1;
        let hint: String = hint.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        format!("v_{hint}_{}", self.names)
    }

    fn each(&mut self, exprs: &[Expr], precision: Precision) -> Vec<(String, Type)> {
        exprs.iter().map(|expr| self.expr(expr, precision)).collect()
    }

    fn expr(&mut self, expr: &Expr, precision: Precision) -> (String, Type) {
        let truth = |text: String| (text, Type::Truth);
        match expr {
            Expr::Number(literal) => {
                let value = match precision {
                    Precision::Binary32 => literal.single.into(),
                    Precision::Binary64 => literal.double,
                };
                (c_number(value, precision), Type::Number(precision))
            }
            Expr::Constant(constant) => (c_constant(*constant, precision), Type::Number(precision)),
            Expr::Truth(value) => truth(if *value { "1" } else { "0" }.into()),
            Expr::Variable(name) => match self.scope.iter().rev().find(|(known, ..)| known == name) {
                Some((_, local, ty)) => (local.clone(), *ty),
                None => (c_number(f64::NAN, precision), Type::Number(precision)),
            },
            Expr::Operation(operator, args) => {
                let args = self.each(args, precision);
                (operation(*operator, precision, &args), Type::Number(precision))
            }
            Expr::Compare(comparison, args) => truth(self.compare(*comparison, args, precision)),
            Expr::Test(test, arg) => {
                let (arg, _) = self.expr(arg, precision);
                truth(format!("({}({arg}) != 0)", test.name()))
            }
            Expr::And(args) => truth(joined(self.each(args, precision), " && ", "1")),
            Expr::Or(args) => truth(joined(self.each(args, precision), " || ", "0")),
            Expr::Not(arg) => truth(format!("(!{})", self.expr(arg, precision).0)),
            Expr::If(condition, yes, no) => self.choice(condition, yes, no, precision),
            Expr::Let(binding) => self.binding(binding, precision),
            Expr::While(repeat) => self.repeat(repeat, precision),
            Expr::Context(inner, body) => self.expr(body, *inner),
        }
    }

    fn compare(&mut self, comparison: Comparison, args: &[Expr], precision: Precision) -> String {
        let mut args = self.each(args, precision);
        if args.len() > 2 {
            for arg in &mut args {
                arg.0 = self.local("c", arg.1, &arg.0);
            }
        }
        let pairs = (0..args.len()).flat_map(|a| (a + 1..args.len()).map(move |b| (a, b)));
        let pairs = pairs.filter(|(a, b)| comparison == Comparison::Unequal || a + 1 == *b);
        let tests = pairs.map(|(a, b)| (format!("{} {} {}", args[a].0, comparison.name(), args[b].0), Type::Truth));
        joined(tests.collect(), " && ", "1")
    }

    fn local(&mut self, hint: &str, ty: Type, value: &str) -> String {
        let name = self.name(hint);
        self.line(format!("{} {name} = {value};", ty.name()));
        name
    }

    fn choice(&mut self, condition: &Expr, yes: &Expr, no: &Expr, precision: Precision) -> (String, Type) {
        let (condition, _) = self.expr(condition, precision);
        let chosen = self.name("if");
        let declared = self.lines.len();
        let indent = self.indent;
        let mut branch = |head: &str, expr: &Expr| {
            self.line(head.into());
            self.indent += 1;
            let (value, ty) = self.expr(expr, precision);
            self.line(format!("{chosen} = {value};"));
            self.indent = indent;
            ty
        };
        let ty = branch(&format!("if ({condition}) {{"), yes).join(branch("} else {", no));
        self.line("}".into());
        self.lines.insert(declared, format!("{}{} {chosen};", "    ".repeat(indent), ty.name()));
        (chosen, ty)
    }

    fn binding(&mut self, binding: &Let, precision: Precision) -> (String, Type) {
        let outside = self.scope.len();
        let mut together = Vec::new();
        for (name, value) in &binding.bindings {
            let (value, ty) = self.expr(value, precision);
            let local = self.local(name, ty, &value);
            if binding.sequential { &mut self.scope } else { &mut together }.push((name.clone(), local, ty));
        }
        self.scope.extend(together);
        let body = self.expr(&binding.body, precision);
        self.scope.truncate(outside);
        body
    }

    fn repeat(&mut self, repeat: &While, precision: Precision) -> (String, Type) {
        let outside = self.scope.len();
        let mut together = Vec::new();
        for variable in &repeat.bindings {
            let (initial, mut ty) = self.expr(&variable.initial, precision);
            // An update may be wider than the initial value; wide enough for both is wide enough.
            if variable.initial.any(&|expr| matches!(expr, Expr::Context(..)))
                && ty == Type::Number(Precision::Binary32)
            {
                ty = ty.join(Type::Number(precision));
            }
            let local = self.local(&variable.name, ty, &initial);
            if repeat.sequential { &mut self.scope } else { &mut together }.push((variable.name.clone(), local, ty));
        }
        self.scope.extend(together);
        self.line("for (;;) {".into());
        self.indent += 1;
        let (condition, _) = self.expr(&repeat.condition, precision);
        self.line(format!("if (!{condition}) break;"));
        let mut assignments = Vec::new();
        for (number, variable) in repeat.bindings.iter().enumerate() {
            let (update, ty) = self.expr(&variable.update, precision);
            let local = self.scope[outside + number].1.clone();
            match repeat.sequential {
                true => self.line(format!("{local} = {update};")),
                false => {
                    let next = self.local(&variable.name, ty, &update);
                    assignments.push(format!("{local} = {next};"));
                }
            }
        }
        assignments.into_iter().for_each(|assignment| self.line(assignment));
        self.indent -= 1;
        self.line("}".into());
        let body = self.expr(&repeat.body, precision);
        self.scope.truncate(outside);
        body
    }
}

fn joined(tests: Vec<(String, Type)>, between: &str, empty: &str) -> String {
    match tests.is_empty() {
        true => empty.into(),
        false => format!("({})", tests.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join(between)),
    }
}

fn operation(operator: Operator, precision: Precision, args: &[(String, Type)]) -> String {
    let in_double =
        precision == Precision::Binary64 || args.iter().any(|(_, ty)| *ty == Type::Number(Precision::Binary64));
    let args: Vec<String> = args
        .iter()
        .map(|(text, ty)| match in_double && *ty == Type::Number(Precision::Binary32) {
            true => format!("(double){text}"),
            false => text.clone(),
        })
        .collect();
    let text = match (operator, args.as_slice()) {
        (Operator::Add | Operator::Sub | Operator::Mul | Operator::Div, [a, b]) => {
            format!("({a} {} {b})", operator.c_name())
        }
        (Operator::Neg, [a]) => format!("(-{a})"),
        (Operator::Cast, [a]) => a.clone(),
        (_, args) => format!("{}{}({})", operator.c_name(), if in_double { "" } else { "f" }, args.join(", ")),
    };
    match in_double && precision == Precision::Binary32 {
        true => format!("(float){text}"),
        false => text,
    }
}

fn c_constant(constant: Constant, precision: Precision) -> String {
    let value = crate::evaluate::Domain::constant(&mut crate::domains::Native, constant, precision).value;
    c_number(value, precision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse;

    fn text(core: &str) -> String {
        function(&parse(core).expect("readable").remove(0).expect("a core"), "f").text
    }

    #[test]
    fn expressions_stay_expressions() {
        assert!(
            text("(FPCore (x) (- (sqrt (+ x 1)) (sqrt x)))").contains("return (sqrt((v_x_1 + 0x1p0)) - sqrt(v_x_1));")
        );
    }

    #[test]
    fn singles_are_computed_in_singles_and_widened_where_doubles_are_asked_for() {
        let single = text("(FPCore (x) :precision binary32 (sin (* 0.5 x)))");
        assert!(single.contains("float f(float v_x_1)") && single.contains("sinf((0x1p-1f * v_x_1))"), "{single}");
        let mixed = text("(FPCore ((! :precision binary32 x)) (* x x))");
        assert!(mixed.contains("return ((double)v_x_1 * (double)v_x_1);"), "{mixed}");
        let narrowed = text("(FPCore (x) (! :precision binary32 (+ x 1)))");
        assert!(narrowed.contains("(float)(v_x_1 + (double)0x1p0f)"), "{narrowed}");
    }

    #[test]
    fn parallel_updates_are_assigned_at_the_end() {
        let swap = text("(FPCore (x) (while (< a x) ([a 1 b] [b 2 a]) a))");
        let (first, last) = (swap.find("= v_b_3;").expect("computed"), swap.find("v_a_2 = ").expect("assigned"));
        assert!(
            first > swap.find("break").expect("a loop")
                && first < swap.rfind("v_a_2 = ").expect("assigned")
                && last > 0
        );
    }
}
