//! Says whether a block makes sense. It runs between passes in debug builds: a wrong block is far easier to understand
//! where it is made than where it is run.

use crate::{Addr, Block, GRANULE, Guard, Op, Operator, Place, Reg, Rule, Slot, Stmt, Test, Type, Value, When};
use std::fmt;

/// The first thing found wrong in a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyError {
    /// The statement, by index and as text; none if the block as a whole is wrong.
    pub stmt: Option<(usize, String)>,
    pub problem: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.stmt {
            Some((index, text)) => write!(f, "statement {index} (`{text}`): {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl std::error::Error for VerifyError {}

/// What is wrong with one statement.
type Check<T = ()> = Result<T, String>;

/// Checks types, definitions, places, instruction order and the layout of the record.
pub fn verify(block: &Block) -> Result<(), VerifyError> {
    if !block.record.is_multiple_of(16) {
        return Err(VerifyError {
            stmt: None,
            problem: format!("the record of {} bytes is no multiple of 16", block.record),
        });
    }
    let mut previous_instr = 0;
    for (index, stmt) in block.stmts.iter().enumerate() {
        let checked = check_position(block, stmt, previous_instr)
            .and_then(|()| check_definition(stmt))
            .and_then(|()| Context { block, index }.check_guard(stmt))
            .and_then(|()| Context { block, index }.check_op(stmt));
        checked.map_err(|problem| at(block, index, problem))?;
        previous_instr = stmt.instr;
    }
    check_slots(block)
}

fn at(block: &Block, index: usize, problem: String) -> VerifyError {
    VerifyError { stmt: Some((index, block.stmt_text(index, &block.stmts[index]))), problem }
}

fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(problem()) }
}

fn check_position(block: &Block, stmt: &Stmt, previous_instr: u16) -> Check {
    ensure((stmt.instr as usize) < block.instrs.len(), || {
        format!("belongs to instruction {}, but the block has {}", stmt.instr, block.instrs.len())
    })?;
    ensure(stmt.instr >= previous_instr, || {
        format!("belongs to instruction {}, but the statement before to {previous_instr}", stmt.instr)
    })?;
    let reads_register_after = matches!(stmt.op, Op::Fresh { .. } | Op::Image { .. } | Op::Check { .. });
    ensure(stmt.when == When::Before || reads_register_after, || {
        "only fresh, image and check can be taken after".into()
    })
}

fn check_definition(stmt: &Stmt) -> Check {
    let defines = !stmt.op.has_effect() || matches!(stmt.op, Op::Mask { .. });
    match (defines, stmt.ty) {
        (true, None) => Err("must define a value".into()),
        (false, Some(_)) => Err("is an effect and defines no value".into()),
        _ => Ok(()),
    }
}

/// A statement's surroundings: the values defined before it.
struct Context<'a> {
    block: &'a Block,
    index: usize,
}

impl Context<'_> {
    fn type_of(&self, value: Value) -> Check<Type> {
        ensure(value.index() < self.index, || format!("{value} is not defined before it is used"))?;
        self.block.type_of(value).ok_or_else(|| format!("{value} names a statement that defines no value"))
    }

    fn typed(&self, value: Value, wanted: Type) -> Check {
        let ty = self.type_of(value)?;
        ensure(ty == wanted, || format!("{value} is {ty} and must be {wanted}"))
    }

    fn float(&self, value: Value) -> Check<Type> {
        let ty = self.type_of(value)?;
        ensure(ty.is_float(), || format!("{value} is {ty} and must be a float"))?;
        Ok(ty)
    }

    fn with_bits(&self, value: Value) -> Check<Type> {
        let ty = self.type_of(value)?;
        check_has_bits(ty)?;
        Ok(ty)
    }

    /// An integer of up to eight bytes.
    fn integer(&self, value: Value) -> Check {
        let ty = self.type_of(value)?;
        let integer = matches!(ty, Type::B16 | Type::B32 | Type::B64);
        ensure(integer, || format!("{value} is {ty} and must be an integer of up to eight bytes"))
    }

    fn floats_of_one_type(&self, args: &[Value]) -> Check<Option<Type>> {
        let Some(&first) = args.first() else { return Ok(None) };
        let ty = self.float(first)?;
        args.iter().try_for_each(|&arg| self.typed(arg, ty))?;
        Ok(Some(ty))
    }

    fn addr(&self, addr: &Addr) -> Check {
        addr.segment.iter().chain(&addr.base).try_for_each(|&value| self.typed(value, Type::B64))?;
        let Some((index, scale)) = addr.index else { return Ok(()) };
        if self.type_of(index)? != Type::B32 {
            self.typed(index, Type::B64)?;
        }
        ensure(matches!(scale, 1 | 2 | 4 | 8), || format!("the scale {scale} does not exist"))
    }

    /// What is logged is logged always.
    fn check_guard(&self, stmt: &Stmt) -> Check {
        let Some(Guard { mask, test: Test::Bit(number) | Test::MoreThan(number) }) = stmt.guard else { return Ok(()) };
        ensure(stmt.op.slot().is_none(), || "logs, and cannot depend on a mask".into())?;
        ensure(number < 64, || format!("a mask has no bit {number}"))?;
        self.integer(mask)
    }

    fn check_op(&self, stmt: &Stmt) -> Check {
        // `check_definition` has made sure that an operation which looks at its result has one.
        let result = stmt.ty.unwrap_or(Type::Flags);
        match &stmt.op {
            Op::Live { place, .. } | Op::Fresh { place, .. } => check_logged_place(*place, result),
            Op::Load { addr, .. } => {
                check_has_bits(result)?;
                self.addr(addr)
            }
            Op::Const { bits } => {
                check_has_bits(result)?;
                let fits = bits.checked_shr(8 * result.bytes() as u32).unwrap_or(0) == 0;
                ensure(fits, || format!("the constant is wider than {result}"))
            }
            Op::Image { turned, .. } => {
                ensure(result == Type::Image, || format!("an image is no {result}"))?;
                check_turn(*turned)
            }
            Op::St { image, index, .. } => {
                self.typed(*image, Type::Image)?;
                ensure(result == Type::F80, || format!("an x87 register holds f80, not {result}"))?;
                ensure(*index < 8, || format!("there is no st({index})"))
            }
            Op::Recall { addr, bits } => {
                check_has_bits(result)?;
                self.typed(*bits, result)?;
                self.addr(addr)
            }
            Op::Extract { from, granule } => {
                check_has_bits(result)?;
                let from_ty = self.with_bits(*from)?;
                let fits = *granule as usize + result.granules() <= from_ty.granules() && result.bytes() >= GRANULE;
                ensure(fits, || format!("{from} is {from_ty} and has no {result} at granule {granule}"))
            }
            Op::Half { from, granule, .. } => {
                ensure(result.bytes() == 2, || format!("{result} is not half a granule"))?;
                let from_ty = self.with_bits(*from)?;
                let fits = (*granule as usize) < from_ty.granules() && from_ty.bytes().is_multiple_of(GRANULE);
                ensure(fits, || format!("{from} is {from_ty} and has no whole granule {granule}"))
            }
            Op::Advance { from, .. } => {
                ensure(result == Type::B64, || format!("an address is b64, not {result}"))?;
                self.typed(*from, Type::B64)
            }
            Op::Concat { parts } => {
                check_has_bits(result)?;
                let mut bytes = 0;
                for &part in parts {
                    let part_bytes = self.with_bits(part)?.bytes();
                    let whole = part_bytes == 2 || bytes % GRANULE == 0 && part_bytes.is_multiple_of(GRANULE);
                    ensure(whole, || format!("{part} does not lie on whole granules"))?;
                    bytes += part_bytes;
                }
                ensure(bytes == result.bytes(), || format!("the parts have {bytes} bytes, not those of {result}"))
            }
            Op::Bitwise { args, .. } => {
                let opaque = matches!(result, Type::B32 | Type::B64 | Type::B128);
                ensure(opaque, || format!("logic on bits cannot give {result}"))?;
                args.iter().try_for_each(|&arg| self.typed(arg, result))
            }
            Op::Pick { control, rule, from } => {
                self.integer(*control)?;
                check_has_bits(result)?;
                let enough = match rule {
                    Rule::Bit(_) => from.len() == 2,
                    Rule::Index(_) => from.len().is_power_of_two(),
                    Rule::Nth(_) => !from.is_empty(),
                    Rule::Rank(bit) => from.len() > *bit as usize + 1,
                };
                ensure(enough && rule.number() < 64, || format!("cannot pick out of {} by {rule:?}", from.len()))?;
                from.iter().try_for_each(|&value| self.typed(value, result))
            }
            Op::Among { bits, of } => {
                check_has_bits(result)?;
                of.iter().chain([bits]).try_for_each(|&value| self.typed(value, result))
            }
            Op::Apply { operator, args, result: given, .. } => {
                given.iter().try_for_each(|&given| self.typed(given, result))?;
                self.check_apply(*operator, args, result)
            }
            Op::Rescale { bits, of } => {
                ensure(result.is_float(), || format!("only floats have an exponent, not {result}"))?;
                [bits, of].into_iter().try_for_each(|&value| self.typed(value, result))
            }
            Op::FromInt { value, bytes } => {
                ensure(result.is_float(), || format!("an integer becomes a float, not {result}"))?;
                self.integer(*value)?;
                check_integer(*bytes)
            }
            Op::Compare { args } => {
                ensure(result == Type::Flags, || format!("a comparison gives flags, not {result}"))?;
                self.floats_of_one_type(args).map(drop)
            }
            Op::Mask { args, .. } => {
                let ty = self.floats_of_one_type(args)?;
                let mask = ty.and_then(|ty| Type::bits_of(ty.bytes()));
                ensure(mask == Some(result), || format!("a mask has the width of its arguments, not {result}"))
            }
            Op::Branch { flags, .. } => self.typed(*flags, Type::Flags),
            Op::ToInt { value, bytes, .. } => {
                self.float(*value)?;
                check_integer(*bytes)
            }
            Op::Lose { value } | Op::Escape { value } => self.with_bits(*value).map(drop),
            Op::Put { place, value } => check_place(*place, in_granules(self.with_bits(*value)?)),
            Op::Drop { place, bytes } => check_place(*place, *bytes as usize),
            Op::Store { addr, value } => {
                self.with_bits(*value)?;
                self.addr(addr)
            }
            Op::SetMxcsr { value } => self.typed(*value, Type::B32),
            Op::SetX87Control { value } => self.typed(*value, Type::B16),
            Op::Turn { by } => check_turn(*by),
            Op::Save { addr } | Op::Restore { addr } => self.addr(addr),
            Op::Copy { dst, src, len, unit } => {
                check_unit(*unit)?;
                [dst, src, len].into_iter().try_for_each(|&part| self.typed(part, Type::B64))
            }
            Op::Forget { dst, len, unit } => {
                check_unit(*unit)?;
                [dst, len].into_iter().try_for_each(|&part| self.typed(part, Type::B64))
            }
            Op::Allocate { at, size, count, old } => {
                [at, size].into_iter().chain(count).chain(old).try_for_each(|&part| self.typed(part, Type::B64))
            }
            Op::Enter { args, caller } => {
                self.typed(*caller, Type::B64)?;
                args.iter().try_for_each(|&arg| self.float(arg).map(drop))
            }
            Op::Leave { operator, of, result, place } => {
                check_arity(*operator, of.len())?;
                let ty = self.type_of(*result)?;
                let is_known = ty.is_float() || matches!(ty, Type::B32 | Type::B64);
                ensure(is_known, || format!("{result} is {ty} and must be a float or an integer"))?;
                check_place(*place, in_granules(ty))
            }
            Op::LeaveInMemory { operator, of, result, addr } => {
                check_arity(*operator, of.len())?;
                self.float(*result)?;
                self.addr(addr)
            }
            Op::CheckSt { value, image, index } => {
                self.typed(*value, Type::F80)?;
                self.typed(*image, Type::Image)?;
                ensure(*index < 8, || format!("there is no st({index})"))
            }
            Op::Check { value, place, .. } => check_logged_place(*place, self.with_bits(*value)?),
        }
    }

    fn check_apply(&self, operator: Operator, args: &[Value], result: Type) -> Check {
        check_arity(operator, args.len())?;
        ensure(result.is_float(), || format!("an operator gives a float, not {result}"))?;
        let ty = self.floats_of_one_type(args)?;
        match operator {
            Operator::Cast => ensure(ty != Some(result), || format!("a cast from {result} to {result} is none")),
            _ => args.iter().try_for_each(|&arg| self.typed(arg, result)),
        }
    }
}

fn check_arity(operator: Operator, args: usize) -> Check {
    ensure(args == operator.arity(), || {
        format!("{} takes {}, but the arguments are {args}", operator.name(), operator.arity())
    })
}

fn check_turn(by: u8) -> Check {
    ensure(by < 8, || format!("the x87's stack has eight registers and cannot turn by {by}"))
}

fn check_unit(unit: u8) -> Check {
    ensure(matches!(unit, 1 | 2 | 4 | 8), || format!("no instruction moves units of {unit} bytes"))
}

fn check_integer(bytes: u8) -> Check {
    ensure(matches!(bytes, 2 | 4 | 8), || format!("an integer has 2, 4 or 8 bytes, not {bytes}"))
}

/// The bytes that a value takes in a register: a place is made of whole granules.
fn in_granules(ty: Type) -> usize {
    ty.granules() * GRANULE
}

fn check_has_bits(ty: Type) -> Check {
    ensure(ty.bytes() != 0, || format!("{ty} has no bits to move"))
}

/// The bytes are whole granules of a register that exists.
fn check_place(place: Place, bytes: usize) -> Check {
    ensure(place.reg.exists(), || format!("there is no register {}", place.reg))?;
    let in_granules = (place.offset as usize).is_multiple_of(GRANULE) && bytes.is_multiple_of(GRANULE) && bytes != 0;
    ensure(in_granules, || format!("{bytes} bytes at {place} are not whole granules of {GRANULE} bytes"))?;
    ensure(place.offset as usize + bytes <= place.reg.bytes(), || {
        format!("{bytes} bytes at {place} reach beyond the register's {}", place.reg.bytes())
    })
}

/// What is logged is written by one store: of 2, 4, 8 or 16 bytes from the beginning of a register, of 8 more above those of a
/// vector register, and of 16 from each of its quarters.
fn check_logged_place(place: Place, ty: Type) -> Check {
    check_has_bits(ty)?;
    check_place(place, in_granules(ty))?;
    let storable = match (place.reg, place.offset) {
        (Reg::X87(_), _) => false,
        (Reg::Operand, _) => ty == Type::B128 && place.offset.is_multiple_of(16),
        (_, 0) => true,
        (Reg::Vec(_), 8) => ty.bytes() == 8,
        (Reg::Vec(_), 16 | 32 | 48) => ty.bytes() == 16,
        _ => false,
    };
    ensure(storable, || format!("no single store writes {} bytes from {place}", ty.bytes()))
}

fn check_slots(block: &Block) -> Result<(), VerifyError> {
    let mut fields: Vec<(usize, usize, usize)> = Vec::new();
    for (index, stmt) in block.stmts.iter().enumerate() {
        let (Some(Slot(slot)), Some(bytes)) = (stmt.op.slot(), block.slot_bytes(stmt)) else { continue };
        let (slot, record) = (slot as usize, block.record as usize);
        let checked = if record == 0 {
            ensure(slot == 0, || "has a slot in a block that writes no record".into())
        } else {
            ensure(slot != 0, || "has no slot in the record".into())
                .and_then(|()| ensure(slot >= 8, || "lies in the record's header".into()))
                .and_then(|()| {
                    ensure(slot.is_multiple_of(bytes.min(16)), || format!("is not aligned to its {bytes} bytes"))
                })
                .and_then(|()| ensure(slot + bytes <= record, || format!("reaches beyond the record's {record} bytes")))
        };
        checked.map_err(|problem| at(block, index, problem))?;
        fields.push((slot, bytes, index));
    }
    if block.record == 0 {
        return Ok(());
    }
    fields.sort_unstable();
    for pair in fields.windows(2) {
        let ((first, bytes, other), (second, _, index)) = (pair[0], pair[1]);
        ensure(first + bytes <= second, || format!("its slot overlaps that of statement {other}"))
            .map_err(|problem| at(block, index, problem))?;
    }
    Ok(())
}
