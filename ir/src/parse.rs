//! Reads the text form of a block, so that a test can be a few lines of text instead of a page of constructors.
//!
//! The parser accepts what has the form of a block; whether it makes sense is for [`verify`](crate::verify) to say.
//! That way the verifier can be tested on text as well. A `;` starts a comment that goes to the end of the line.

use crate::types::GPR_NAMES;
use crate::{
    Addr, BitOp, Block, Cond, Guard, GuestInstr, Op, Operator, Place, Reg, Relation, Rounding, Rule, Slot, Stmt, Test,
    Type, Value, When,
};
use std::collections::HashMap;
use std::fmt;

/// Where a text is not the text of a block, and what was expected there. Lines and columns count from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

type Result<T> = std::result::Result<T, ParseError>;

/// Reads one block. Values may have any numbers in the text, as long as each is defined once and before it is used;
/// in the block they are numbered by statement.
pub fn parse_block(text: &str) -> Result<Block> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| Cursor::new(index + 1, line))
        .filter(|line| !line.rest.trim_start().is_empty());
    let end = || Cursor::new(text.lines().count() + 1, "");

    let mut header = lines.next().unwrap_or_else(end);
    header.keyword("block")?;
    let at_start = header.clone();
    let start = header.hex("the block's address, such as 0x401136")?;
    header.keyword("record")?;
    let record = header.decimal("the bytes of the record")?;
    header.expect("{")?;
    header.finish()?;

    let mut parser = Parser { block: Block { record, ..Block::default() }, names: HashMap::new() };
    loop {
        let mut line = lines.next().unwrap_or_else(end);
        if line.eat("}") {
            line.finish()?;
            break;
        }
        parser.line(&mut line)?;
    }
    if let Some(line) = lines.next() {
        return Err(line.expected("nothing after the closing brace"));
    }
    if parser.block.start() != start {
        let start = parser.block.start();
        return Err(at_start.expected(&format!("{start:#x}, the address of the first instruction")));
    }
    Ok(parser.block)
}

struct Parser {
    block: Block,
    /// The value that a number in the text stands for.
    names: HashMap<u32, Value>,
}

impl Parser {
    fn line(&mut self, line: &mut Cursor) -> Result<()> {
        if line.peek().is_some_and(|c| c.is_ascii_digit()) {
            let pc = line.hex("an instruction's address, such as 0x401136")?;
            let len = line.decimal("the instruction's length in bytes")?;
            line.expect(":")?;
            self.block.instrs.push(GuestInstr { pc, len });
        } else {
            self.statement(line)?;
        }
        line.finish()
    }

    fn statement(&mut self, line: &mut Cursor) -> Result<()> {
        let instr = match self.block.instrs.len() {
            0 => return Err(line.expected("an instruction such as `0x401136 5:` before its statements, or `}`")),
            count => u16::try_from(count - 1).map_err(|_| line.error("a block has at most 65536 instructions"))?,
        };
        let number = u32::try_from(self.block.stmts.len()).map_err(|_| line.error("too many statements"))?;

        let at_name = line.clone();
        let name = at_name.clone().value_number();
        let ty = match name {
            Some(_) => {
                line.word();
                line.expect(":")?;
                let ty = line.named("a type such as f64", |word| Type::ALL.into_iter().find(|ty| ty.name() == word))?;
                line.expect("=")?;
                Some(ty)
            }
            None => None,
        };
        let op = self.op(line)?;
        let when = if line.eat_word("after") { When::After } else { When::Before };
        let guard = if line.eat_word("if") { Some(self.guard(line)?) } else { None };
        self.block.stmts.push(Stmt { instr, when, ty, guard, op });
        // Only now, so that a statement cannot use itself.
        if let Some(name) = name
            && self.names.insert(name, Value(number)).is_some()
        {
            return Err(at_name.error(format!("v{name} is already defined")));
        }
        Ok(())
    }

    fn guard(&self, line: &mut Cursor) -> Result<Guard> {
        let mask = self.value(line)?;
        let test: fn(u8) -> Test = line.named("`bit` or `more`", |word| match word {
            "bit" => Some(Test::Bit as fn(u8) -> Test),
            "more" => Some(Test::MoreThan as fn(u8) -> Test),
            _ => None,
        })?;
        Ok(Guard { mask, test: test(line.decimal("the number of a bit, or of bits")?) })
    }

    fn op(&self, line: &mut Cursor) -> Result<Op> {
        let at_word = line.clone();
        let unknown = || at_word.expected("an operation such as `add`, `load` or `put`");
        let word = line.word();
        let (kind, detail) = word.split_once('.').unwrap_or((word, ""));
        Ok(match (kind, detail) {
            ("live", "") => Op::Live { place: line.place()?, slot: line.slot()? },
            ("fresh", "") => Op::Fresh { place: line.place()?, slot: line.slot()? },
            ("load", "") => Op::Load { addr: self.addr(line)?, slot: line.slot()? },
            ("const", "") => Op::Const { bits: line.hex("bits such as 0x3ff0000000000000")? },
            ("extract", "") => {
                let from = self.value(line)?;
                line.expect(",")?;
                Op::Extract { from, granule: line.decimal("the number of a granule")? }
            }
            ("image", turned) => Op::Image { turned: number(turned).ok_or_else(unknown)?, slot: line.slot()? },
            ("st", kind @ ("live" | "fresh")) => {
                let image = self.value(line)?;
                line.expect(",")?;
                Op::St { image, index: line.decimal("the number of an x87 register")?, live: kind == "live" }
            }
            ("recall", "") => {
                let addr = self.addr(line)?;
                line.expect(",")?;
                Op::Recall { addr, bits: self.value(line)? }
            }
            ("half", which @ ("lower" | "upper")) => {
                let from = self.value(line)?;
                line.expect(",")?;
                Op::Half { from, granule: line.decimal("the number of a granule")?, upper: which == "upper" }
            }
            ("advance", "") => {
                let from = self.value(line)?;
                line.expect(",")?;
                Op::Advance { from, by: line.hex("a number such as 0x8")? }
            }
            ("concat", "") => Op::Concat { parts: self.values(line)? },
            ("bit", name) => {
                let op = BitOp::ALL.into_iter().find(|op| op.name() == name).ok_or_else(unknown)?;
                Op::Bitwise { op, args: self.pair(line)? }
            }
            ("pick", detail) => {
                let rule = numbered(detail).and_then(|(name, n)| match name {
                    "bit" => Some(Rule::Bit(n)),
                    "index" => Some(Rule::Index(n)),
                    "nth" => Some(Rule::Nth(n)),
                    "rank" => Some(Rule::Rank(n)),
                    _ => None,
                });
                let control = self.value(line)?;
                line.expect(",")?;
                Op::Pick { control, rule: rule.ok_or_else(unknown)?, from: self.values(line)? }
            }
            ("among", "") => {
                let bits = self.value(line)?;
                line.expect(",")?;
                Op::Among { bits, of: self.values(line)? }
            }
            ("rescale", "") => {
                let [bits, of] = self.pair(line)?;
                Op::Rescale { bits, of }
            }
            ("fromint", bytes) => Op::FromInt { bytes: number(bytes).ok_or_else(unknown)?, value: self.value(line)? },
            ("compare", "") => Op::Compare { args: self.pair(line)? },
            ("mask", name) => {
                let relation = Relation::ALL.into_iter().find(|it| it.name() == name).ok_or_else(unknown)?;
                Op::Mask { relation, args: self.pair(line)? }
            }
            ("branch", name) => {
                let cond = Cond::ALL.into_iter().find(|cond| cond.name() == name).ok_or_else(unknown)?;
                Op::Branch { cond, flags: self.value(line)? }
            }
            ("toint" | "touint", detail) => {
                let (bytes, name) = detail.split_once('.').ok_or_else(unknown)?;
                let (bytes, rounding) = (number(bytes).ok_or_else(unknown)?, rounding(name).ok_or_else(unknown)?);
                Op::ToInt { value: self.value(line)?, rounding, bytes, signed: kind == "toint" }
            }
            ("lose", "") => Op::Lose { value: self.value(line)? },
            ("escape", "") => Op::Escape { value: self.value(line)? },
            ("put", "") => {
                let place = line.place()?;
                line.expect(",")?;
                Op::Put { place, value: self.value(line)? }
            }
            ("drop", "") => {
                let place = line.place()?;
                line.expect(",")?;
                Op::Drop { place, bytes: line.decimal("a number of bytes")? }
            }
            ("store", "") => {
                let addr = self.addr(line)?;
                line.expect(",")?;
                Op::Store { addr, value: self.value(line)? }
            }
            ("setmxcsr", "") => Op::SetMxcsr { value: self.value(line)? },
            ("setx87control", "") => Op::SetX87Control { value: self.value(line)? },
            ("turn", by) => Op::Turn { by: number(by).ok_or_else(unknown)? },
            ("save", "") => Op::Save { addr: self.addr(line)? },
            ("restore", "") => Op::Restore { addr: self.addr(line)? },
            ("copy", unit) => {
                let dst = self.value(line)?;
                line.expect(",")?;
                let [src, len] = self.pair(line)?;
                Op::Copy { dst, src, len, unit: number(unit).ok_or_else(unknown)? }
            }
            ("forget", unit) => {
                let [dst, len] = self.pair(line)?;
                Op::Forget { dst, len, unit: number(unit).ok_or_else(unknown)? }
            }
            ("allocate", "") => {
                let [at, size] = self.pair(line)?;
                let count = if line.eat("times") { Some(self.value(line)?) } else { None };
                let old = if line.eat("from") { Some(self.value(line)?) } else { None };
                Op::Allocate { at, size, count, old }
            }
            ("enter", "") => {
                let args = self.values(line)?;
                line.expect("from")?;
                Op::Enter { args, caller: self.value(line)? }
            }
            ("leave", "") => {
                let (operator, of) = line.named("an operator and numbers of arguments such as sin.0", applied)?;
                let result = self.value(line)?;
                line.expect(",")?;
                match line.peek() {
                    Some('[') => Op::LeaveInMemory { operator, of, result, addr: self.addr(line)? },
                    _ => Op::Leave { operator, of, result, place: line.place()? },
                }
            }
            ("checkst", "") => {
                let [value, image] = self.pair(line)?;
                line.expect(",")?;
                Op::CheckSt { value, image, index: line.decimal("the number of an x87 register")? }
            }
            ("check", "") => {
                let value = self.value(line)?;
                line.expect(",")?;
                Op::Check { value, place: line.place()?, slot: line.slot()? }
            }
            (name, detail) => {
                let operator = Operator::from_name(name).ok_or_else(unknown)?;
                let rounding = if detail.is_empty() { Some(Rounding::Current) } else { rounding(detail) };
                let rounding = rounding.ok_or_else(unknown)?;
                let args = self.values(line)?;
                let result = if line.eat_word("as") { Some(self.value(line)?) } else { None };
                Op::Apply { operator, args, rounding, result }
            }
        })
    }

    fn value(&self, line: &mut Cursor) -> Result<Value> {
        let at_value = line.clone();
        let number = line.value_number().ok_or_else(|| at_value.expected("a value such as v3"))?;
        self.names.get(&number).copied().ok_or_else(|| at_value.error(format!("v{number} is not defined above")))
    }

    fn values(&self, line: &mut Cursor) -> Result<Vec<Value>> {
        let mut values = vec![self.value(line)?];
        while line.eat(",") {
            values.push(self.value(line)?);
        }
        Ok(values)
    }

    fn pair(&self, line: &mut Cursor) -> Result<[Value; 2]> {
        let first = self.value(line)?;
        line.expect(",")?;
        Ok([first, self.value(line)?])
    }

    /// The parts come in the order in which they are printed, each at most once.
    fn addr(&self, line: &mut Cursor) -> Result<Addr> {
        let mut addr = Addr::default();
        line.expect("[")?;
        let mut first = true;
        loop {
            let negative = line.eat("-");
            if !negative && !first {
                line.expect("+")?;
            }
            first = false;
            if negative || line.peek().is_some_and(|c| c.is_ascii_digit()) {
                let magnitude: u64 = line.hex("a displacement such as 0x18")?;
                addr.disp = if negative { magnitude.wrapping_neg() } else { magnitude } as i64;
                line.expect("]")?;
                return Ok(addr);
            }
            let at_part = line.clone();
            let repeated =
                || at_part.expected("the parts of an address in the order segment, base, index, displacement");
            let later_part = addr.base.is_some() || addr.index.is_some();
            if line.eat_word("seg") {
                if addr.segment.is_some() || later_part {
                    return Err(repeated());
                }
                addr.segment = Some(self.value(line)?);
            } else {
                let value = self.value(line)?;
                if line.eat("*") {
                    if addr.index.is_some() {
                        return Err(repeated());
                    }
                    addr.index = Some((value, line.decimal("a scale")?));
                } else if later_part {
                    return Err(repeated());
                } else {
                    addr.base = Some(value);
                }
            }
            if line.eat("]") {
                return Ok(addr);
            }
        }
    }
}

/// What is left of a line. The methods skip the spaces before what they look for.
#[derive(Clone)]
struct Cursor<'a> {
    number: usize,
    line: &'a str,
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn new(number: usize, line: &'a str) -> Cursor<'a> {
        let line = line.split(';').next().unwrap_or_default().trim_end();
        Cursor { number, line, rest: line }
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        let consumed = self.line.len() - self.rest.trim_start().len();
        let column = self.line[..consumed].chars().count() + 1;
        ParseError { line: self.number, column, message: message.into() }
    }

    fn expected(&self, what: &str) -> ParseError {
        let rest = self.rest.trim_start();
        let found = match (self.clone().word(), rest.chars().next()) {
            ("", Some(c)) => format!("`{}`", c.escape_debug()),
            ("", None) => "the end of the line".to_string(),
            (word, _) => format!("`{word}`"),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    fn peek(&self) -> Option<char> {
        self.rest.trim_start().chars().next()
    }

    fn eat(&mut self, punctuation: &str) -> bool {
        match self.rest.trim_start().strip_prefix(punctuation) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, punctuation: &str) -> Result<()> {
        if self.eat(punctuation) { Ok(()) } else { Err(self.expected(&format!("`{punctuation}`"))) }
    }

    /// The letters, digits, underscores and dots that come next; empty if there are none.
    fn word(&mut self) -> &'a str {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_')).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        word
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let mut ahead = self.clone();
        let found = ahead.word() == word;
        if found {
            *self = ahead;
        }
        found
    }

    fn keyword(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// A word that means something.
    fn named<T>(&mut self, what: &str, meaning: impl Fn(&str) -> Option<T>) -> Result<T> {
        let at_word = self.clone();
        meaning(self.word()).ok_or_else(|| at_word.expected(what))
    }

    fn hex<T: TryFrom<u128>>(&mut self, what: &str) -> Result<T> {
        self.named(what, |word| u128::from_str_radix(word.strip_prefix("0x")?, 16).ok()?.try_into().ok())
    }

    fn decimal<T: std::str::FromStr>(&mut self, what: &str) -> Result<T> {
        self.named(what, |word| word.parse().ok())
    }

    fn value_number(&mut self) -> Option<u32> {
        self.word().strip_prefix('v')?.parse().ok()
    }

    fn slot(&mut self) -> Result<Slot> {
        if self.eat("#") { Ok(Slot(self.decimal("an offset in the record")?)) } else { Ok(Slot::UNASSIGNED) }
    }

    fn place(&mut self) -> Result<Place> {
        let reg = self.named("a register such as rbp, xmm0, fsbase or mxcsr", register)?;
        let offset = if self.eat("+") { self.decimal("a byte offset in the register")? } else { 0 };
        Ok(Place { reg, offset })
    }

    fn finish(&self) -> Result<()> {
        if self.rest.trim_start().is_empty() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }
}

fn register(name: &str) -> Option<Reg> {
    match name {
        "fsbase" => return Some(Reg::FsBase),
        "mxcsr" => return Some(Reg::Mxcsr),
        "x87control" => return Some(Reg::X87Control),
        "operand" => return Some(Reg::Operand),
        _ => {}
    }
    let general = |name: &str| GPR_NAMES.iter().position(|gpr| *gpr == name).map(|number| number as u8);
    if let Some(gpr) = general(name) {
        return Some(Reg::Gpr(gpr));
    }
    if let Some(parts) = name.strip_prefix("sum.") {
        let mut parts = parts.split('.');
        let (base, index) = (general(parts.next()?)?, general(parts.next()?)?);
        return Some(Reg::Sum { base, index, scale: number(parts.next()?)? }).filter(|reg| reg.exists());
    }
    let letters = name.find(|c: char| c.is_ascii_digit())?;
    let (family, digits) = name.split_at(letters);
    let number = number(digits)?;
    let reg = match family {
        "xmm" => Reg::Vec(number),
        "k" => Reg::Mask(number),
        "st" => Reg::X87(number),
        "out" => Reg::Out(number),
        _ => return None,
    };
    Some(reg).filter(|reg| reg.exists())
}

fn number(digits: &str) -> Option<u8> {
    digits.parse().ok()
}

/// `pow.0.1`.
fn applied(word: &str) -> Option<(Operator, Vec<u8>)> {
    let mut parts = word.split('.');
    Some((Operator::from_name(parts.next()?)?, parts.map(number).collect::<Option<_>>()?))
}

/// `name.number`.
fn numbered(detail: &str) -> Option<(&str, u8)> {
    let (name, digits) = detail.split_once('.')?;
    Some((name, number(digits)?))
}

fn rounding(name: &str) -> Option<Rounding> {
    Rounding::ALL.into_iter().find(|it| it.name() == name)
}
