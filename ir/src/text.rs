//! The text form of a block, as the crate's description shows it: what tests and debugging output are written in.
//! [`parse_block`](crate::parse_block) reads it back.

use crate::types::GPR_NAMES;
use crate::{Addr, Block, Guard, GuestInstr, Op, Place, Reg, Rounding, Slot, Stmt, Test, Type, Value, When};
use std::fmt::{Display, Formatter, Result};

impl Display for Block {
    fn fmt(&self, f: &mut Formatter) -> Result {
        writeln!(f, "block {:#x} record {} {{", self.start(), self.record)?;
        let mut labels = self.instrs.iter();
        let mut labelled = 0;
        for (index, stmt) in self.stmts.iter().enumerate() {
            for instr in labels.by_ref().take((stmt.instr as usize + 1).saturating_sub(labelled)) {
                writeln!(f, "  {instr}")?;
                labelled += 1;
            }
            writeln!(f, "    {}", self.stmt_text(index, stmt))?;
        }
        for instr in labels {
            writeln!(f, "  {instr}")?;
        }
        writeln!(f, "}}")
    }
}

impl Block {
    /// A statement as a line of the block: unlike the operation alone, with the name of the value that it defines.
    pub(crate) fn stmt_text(&self, index: usize, stmt: &Stmt) -> String {
        let after = if stmt.when == When::After { " after" } else { "" };
        let guard = stmt.guard.map_or(String::new(), |Guard { mask, test }| match test {
            Test::Bit(bit) => format!(" if {mask} bit {bit}"),
            Test::MoreThan(count) => format!(" if {mask} more {count}"),
        });
        match stmt.ty {
            Some(ty) => format!("v{index}: {ty} = {}{after}{guard}", stmt.op),
            None => format!("{}{after}{guard}", stmt.op),
        }
    }
}

impl Display for GuestInstr {
    fn fmt(&self, f: &mut Formatter) -> Result {
        write!(f, "{:#x} {}:", self.pc, self.len)
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Op::Live { place, slot } => write!(f, "live {place}{}", Logged(*slot)),
            Op::Fresh { place, slot } => write!(f, "fresh {place}{}", Logged(*slot)),
            Op::Load { addr, slot } => write!(f, "load {addr}{}", Logged(*slot)),
            Op::Const { bits } => write!(f, "const {bits:#x}"),
            Op::Image { turned, slot } => write!(f, "image.{turned}{}", Logged(*slot)),
            Op::St { image, index, live } => write!(f, "st.{} {image}, {index}", if *live { "live" } else { "fresh" }),
            Op::Recall { addr, bits } => write!(f, "recall {addr}, {bits}"),
            Op::Half { from, granule, upper } => {
                write!(f, "half.{} {from}, {granule}", if *upper { "upper" } else { "lower" })
            }
            Op::Advance { from, by } => write!(f, "advance {from}, {by:#x}"),
            Op::Extract { from, granule } => write!(f, "extract {from}, {granule}"),
            Op::Concat { parts } => write!(f, "concat {}", List(parts)),
            Op::Bitwise { op, args } => write!(f, "bit.{} {}", op.name(), List(args)),
            Op::Pick { control, rule, from } => {
                write!(f, "pick.{}.{} {control}, {}", rule.name(), rule.number(), List(from))
            }
            Op::Among { bits, of } => write!(f, "among {bits}, {}", List(of)),
            Op::Apply { operator, args, rounding, result } => {
                f.write_str(operator.name())?;
                if *rounding != Rounding::Current {
                    write!(f, ".{}", rounding.name())?;
                }
                write!(f, " {}", List(args))?;
                result.map_or(Ok(()), |result| write!(f, " as {result}"))
            }
            Op::Rescale { bits, of } => write!(f, "rescale {bits}, {of}"),
            Op::FromInt { value, bytes } => write!(f, "fromint.{bytes} {value}"),
            Op::Compare { args } => write!(f, "compare {}", List(args)),
            Op::Mask { relation, args } => write!(f, "mask.{} {}", relation.name(), List(args)),
            Op::Branch { flags, cond } => write!(f, "branch.{} {flags}", cond.name()),
            Op::ToInt { value, rounding, bytes, signed } => {
                write!(f, "{}.{bytes}.{} {value}", if *signed { "toint" } else { "touint" }, rounding.name())
            }
            Op::Lose { value } => write!(f, "lose {value}"),
            Op::Escape { value } => write!(f, "escape {value}"),
            Op::Put { place, value } => write!(f, "put {place}, {value}"),
            Op::Drop { place, bytes } => write!(f, "drop {place}, {bytes}"),
            Op::Store { addr, value } => write!(f, "store {addr}, {value}"),
            Op::SetMxcsr { value } => write!(f, "setmxcsr {value}"),
            Op::SetX87Control { value } => write!(f, "setx87control {value}"),
            Op::Turn { by } => write!(f, "turn.{by}"),
            Op::Save { addr } => write!(f, "save {addr}"),
            Op::Restore { addr } => write!(f, "restore {addr}"),
            Op::Copy { dst, src, len, unit } => write!(f, "copy.{unit} {dst}, {src}, {len}"),
            Op::Forget { dst, len, unit } => write!(f, "forget.{unit} {dst}, {len}"),
            Op::Allocate { at, size, count, old } => {
                write!(f, "allocate {at}, {size}")?;
                count.iter().try_for_each(|count| write!(f, " times {count}"))?;
                old.iter().try_for_each(|old| write!(f, " from {old}"))
            }
            Op::Enter { args, caller } => write!(f, "enter {} from {caller}", List(args)),
            Op::Leave { operator, of, result, place } => {
                write!(f, "leave {}{} {result}, {place}", operator.name(), Numbers(of))
            }
            Op::LeaveInMemory { operator, of, result, addr } => {
                write!(f, "leave {}{} {result}, {addr}", operator.name(), Numbers(of))
            }
            Op::CheckSt { value, image, index } => write!(f, "checkst {value}, {image}, {index}"),
            Op::Check { value, place, slot } => write!(f, "check {value}, {place}{}", Logged(*slot)),
        }
    }
}

/// Values separated by commas.
struct List<'a>(&'a [Value]);

impl Display for List<'_> {
    fn fmt(&self, f: &mut Formatter) -> Result {
        for (index, value) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{value}")?;
        }
        Ok(())
    }
}

/// The numbers of a call's arguments: `.0.1`.
struct Numbers<'a>(&'a [u8]);

impl Display for Numbers<'_> {
    fn fmt(&self, f: &mut Formatter) -> Result {
        self.0.iter().try_for_each(|number| write!(f, ".{number}"))
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter) -> Result {
        write!(f, "v{}", self.0)
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(self.name())
    }
}

/// Where a value is logged, after the operand that it belongs to; nothing while that is not decided.
struct Logged(Slot);

impl Display for Logged {
    fn fmt(&self, f: &mut Formatter) -> Result {
        if self.0 == Slot::UNASSIGNED { Ok(()) } else { write!(f, " #{}", self.0.0) }
    }
}

impl Display for Reg {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match *self {
            Reg::Gpr(number) => match GPR_NAMES.get(number as usize) {
                Some(name) => f.write_str(name),
                None => write!(f, "gpr{number}"),
            },
            Reg::Vec(number) => write!(f, "xmm{number}"),
            Reg::Mask(number) => write!(f, "k{number}"),
            Reg::X87(number) => write!(f, "st{number}"),
            Reg::X87Control => f.write_str("x87control"),
            Reg::Operand => f.write_str("operand"),
            Reg::Sum { base, index, scale } => write!(f, "sum.{}.{}.{scale}", Reg::Gpr(base), Reg::Gpr(index)),
            Reg::FsBase => f.write_str("fsbase"),
            Reg::Mxcsr => f.write_str("mxcsr"),
            Reg::Out(number) => write!(f, "out{number}"),
        }
    }
}

/// Vector registers always show the offset, because their lanes are what one looks for.
impl Display for Place {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match (self.reg, self.offset) {
            (Reg::Vec(_) | Reg::Operand, offset) | (_, offset @ 1..) => write!(f, "{}+{offset}", self.reg),
            (reg, 0) => write!(f, "{reg}"),
        }
    }
}

/// `[seg v0+v1+v2*8-0x10]`: segment base, base, index and displacement, each only if it is there. An index always
/// shows its scale, which tells it from a base.
impl Display for Addr {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.segment.map(|value| format!("seg {value}")));
        parts.extend(self.base.map(|value| value.to_string()));
        parts.extend(self.index.map(|(value, scale)| format!("{value}*{scale}")));
        let magnitude = self.disp.unsigned_abs();
        let disp = match (self.disp, parts.is_empty()) {
            (0, false) => String::new(),
            (..0, _) => format!("-{magnitude:#x}"),
            (_, true) => format!("{magnitude:#x}"),
            (_, false) => format!("+{magnitude:#x}"),
        };
        write!(f, "[{}{disp}]", parts.join("+"))
    }
}
