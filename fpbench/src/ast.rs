//! FPCore as a tree: what a benchmark computes, and on which inputs.

use crate::number::Literal;
use crate::operators::{Comparison, Constant, Operator, Test};
use crate::sexpr::{Position, Sexpr};

/// A benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Core {
    pub position: Position,
    pub symbol: Option<String>,
    pub arguments: Vec<Argument>,
    pub precision: Precision,
    pub pre: Option<Expr>,
    /// All of them, `:pre` and `:precision` included, as they stand in the file.
    pub properties: Properties,
    pub body: Expr,
}

pub type Properties = Vec<(String, Sexpr)>;

#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    pub name: String,
    pub precision: Precision,
}

/// The formats that results are rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    Binary32,
    Binary64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    Number(Literal),
    Constant(Constant),
    Truth(bool),
    Variable(String),
    Operation(Operator, Vec<Expr>),
    /// A chain: each of two neighbours is compared. `!=` compares all pairs.
    Compare(Comparison, Vec<Expr>),
    Test(Test, Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    Let(Let),
    While(While),
    /// `!`: another precision holds inside.
    Context(Precision, Box<Expr>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// `let*`: each binding sees those before it.
    pub sequential: bool,
    pub bindings: Vec<(String, Expr)>,
    pub body: Box<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct While {
    /// `while*`: each initial value and each update sees those before it.
    pub sequential: bool,
    pub condition: Box<Expr>,
    pub bindings: Vec<LoopVariable>,
    pub body: Box<Expr>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LoopVariable {
    pub name: String,
    pub initial: Expr,
    pub update: Expr,
}

impl Precision {
    pub fn name(self) -> &'static str {
        match self {
            Precision::Binary32 => "binary32",
            Precision::Binary64 => "binary64",
        }
    }

    pub fn from_name(name: &str) -> Option<Precision> {
        [Precision::Binary32, Precision::Binary64].into_iter().find(|precision| precision.name() == name)
    }

    /// Rounds a double to the format; what it already holds stays as it is.
    pub fn round(self, value: f64) -> f64 {
        match self {
            Precision::Binary32 => value as f32 as f64,
            Precision::Binary64 => value,
        }
    }
}

impl Core {
    /// What to call it in tables: its `:name`, its symbol, or where it stands.
    pub fn title(&self) -> String {
        let named = self.property("name").and_then(|value| match &value.kind {
            crate::sexpr::Kind::Text(text) => Some(text.clone()),
            _ => None,
        });
        named.or_else(|| self.symbol.clone()).unwrap_or_else(|| format!("the core in line {}", self.position.line))
    }

    pub fn property(&self, name: &str) -> Option<&Sexpr> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl Expr {
    /// The expressions directly inside.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Number(_) | Expr::Constant(_) | Expr::Truth(_) | Expr::Variable(_) => Vec::new(),
            Expr::Operation(_, args) | Expr::Compare(_, args) | Expr::And(args) | Expr::Or(args) => {
                args.iter().collect()
            }
            Expr::Test(_, arg) | Expr::Not(arg) | Expr::Context(_, arg) => vec![arg],
            Expr::If(condition, yes, no) => vec![condition, yes, no],
            Expr::Let(Let { bindings, body, .. }) => bindings.iter().map(|(_, value)| value).chain([&**body]).collect(),
            Expr::While(While { condition, bindings, body, .. }) => {
                let variables = bindings.iter().flat_map(|variable| [&variable.initial, &variable.update]);
                [&**condition].into_iter().chain(variables).chain([&**body]).collect()
            }
        }
    }

    /// Whether something in it, or it itself, is so.
    pub fn any(&self, is_so: &impl Fn(&Expr) -> bool) -> bool {
        is_so(self) || self.children().into_iter().any(|child| child.any(is_so))
    }

    pub fn has_loop(&self) -> bool {
        self.any(&|expr| matches!(expr, Expr::While(_)))
    }
}
