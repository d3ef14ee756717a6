//! S-expressions with positions: the letters of FPCore, before they mean anything.
//! <https://fpbench.org/spec/fpcore-2.0.html>, "Syntax".

use std::fmt;

/// Where something stands in its file, counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sexpr {
    pub position: Position,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Numbers, symbols and properties: what they are depends on where they stand.
    Atom(String),
    Text(String),
    List(Vec<Sexpr>),
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    pub position: Position,
    pub message: String,
}

/// Deeper nesting is refused, so that whoever walks an expression may recurse.
const MAX_DEPTH: usize = 256;

pub fn error<T>(position: Position, message: impl Into<String>) -> Result<T, Error> {
    Err(Error { position, message: message.into() })
}

/// Reads a whole file.
pub fn read(text: &str) -> Result<Vec<Sexpr>, Error> {
    let mut reader = Reader { rest: text.chars().peekable(), here: Position { line: 1, column: 1 } };
    let mut open: Vec<(Position, char, Vec<Sexpr>)> = Vec::new();
    let mut top = Vec::new();
    while let Some(c) = reader.skip_blanks() {
        let position = reader.here;
        let done = match c {
            '(' | '[' => {
                reader.next();
                if open.len() >= MAX_DEPTH {
                    return error(position, format!("more than {MAX_DEPTH} levels of parentheses"));
                }
                open.push((position, if c == '(' { ')' } else { ']' }, Vec::new()));
                continue;
            }
            ')' | ']' => {
                reader.next();
                match open.pop() {
                    Some((position, closing, items)) if closing == c => Sexpr { position, kind: Kind::List(items) },
                    Some((opened, closing, _)) => {
                        let Position { line, column } = opened;
                        let message = format!("`{c}` where `{closing}` must close what opened at {line}:{column}");
                        return error(position, message);
                    }
                    None => return error(position, format!("`{c}` closes nothing")),
                }
            }
            '"' => Sexpr { position, kind: Kind::Text(reader.text()?) },
            _ => Sexpr { position, kind: Kind::Atom(reader.atom()) },
        };
        open.last_mut().map_or(&mut top, |(_, _, items)| items).push(done);
    }
    match open.last() {
        Some((position, closing, _)) => error(*position, format!("no `{closing}` closes this")),
        None => Ok(top),
    }
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    here: Position,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.here = Position { line: self.here.line + 1, column: 1 };
        } else {
            self.here.column += 1;
        }
        Some(c)
    }

    /// The next character that means something.
    fn skip_blanks(&mut self) -> Option<char> {
        loop {
            match *self.rest.peek()? {
                ';' => while self.next().is_some_and(|c| c != '\n') {},
                c if c.is_whitespace() => drop(self.next()),
                c => return Some(c),
            }
        }
    }

    fn atom(&mut self) -> String {
        let mut atom = String::new();
        while let Some(c) = self.rest.next_if(|c| !c.is_whitespace() && !"()[]\";".contains(*c)) {
            self.here.column += 1;
            atom.push(c);
        }
        atom
    }

    fn text(&mut self) -> Result<String, Error> {
        let opened = self.here;
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(text),
                Some('\\') => match self.next() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(c) => text.push(c),
                    None => return error(opened, "this string has no end"),
                },
                Some(c) => text.push(c),
                None => return error(opened, "this string has no end"),
            }
        }
    }
}

impl fmt::Display for Sexpr {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.kind {
            Kind::Atom(atom) => f.write_str(atom),
            Kind::Text(text) => write!(f, "\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            Kind::List(items) => {
                f.write_str("(")?;
                for (number, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if number > 0 { " " } else { "" })?;
                }
                f.write_str(")")
            }
        }
    }
}
