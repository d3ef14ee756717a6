//! A block compiled for the analysis: values are indices into a frame, sites and spots are known, types are resolved.

use crate::compiled::Code;
use crate::findings::SpotKind;
use crate::lanes::Lanes;
use crate::location::LocationId;
use crate::plain;
use crate::site::{SiteKey, Sites};
use crate::spots::Spots;
use fpgrind_ir::{
    self as ir, BitOp, Block, Cond, MAX_ARITY, Op, Operator, Place, Relation, Rounding, Rule, Slot, Test, Type,
};
use smallvec::SmallVec;

/// The value of this number in the frame.
pub type Index = usize;

/// `segment + base + index * scale + disp`.
pub struct Address {
    pub segment: Option<Index>,
    pub base: Option<Index>,
    pub index: Option<Scaled>,
    pub disp: u64,
}

pub struct Scaled {
    pub index: Index,
    pub scale: u64,
    /// It has 32 bits and a sign.
    pub narrow: bool,
}

/// One for each statement; what a step yields becomes the value with the statement's number.
pub enum Step {
    /// A comparison: what depends on it looks at its arguments.
    Nothing,
    Live {
        place: Place,
        ty: Type,
        slot: Slot,
    },
    Fresh {
        ty: Type,
        slot: Slot,
    },
    Load {
        addr: Address,
        ty: Type,
        slot: Slot,
    },
    Const {
        bits: u128,
        ty: Type,
    },
    Image {
        turned: u8,
        slot: Slot,
    },
    St {
        image: Index,
        /// Where the register lies in the record.
        slot: Slot,
        index: u8,
        live: bool,
    },
    Recall {
        addr: Address,
        ty: Type,
        bits: Index,
    },
    Half {
        from: Index,
        granule: usize,
        upper: bool,
    },
    Among {
        bits: Index,
        ty: Type,
        of: Vec<Index>,
    },
    Rescale {
        bits: Index,
        of: Index,
        ty: Type,
        at: LocationId,
    },
    FromInt {
        value: Index,
        bytes: u8,
        ty: Type,
    },
    Advance {
        from: Index,
        by: u64,
    },
    Extract {
        from: Index,
        granule: usize,
        ty: Type,
    },
    Concat {
        parts: Vec<(Index, Type)>,
    },
    Bitwise {
        op: BitOp,
        ty: Type,
        args: [Index; 2],
        at: LocationId,
    },
    Pick {
        control: Index,
        rule: Rule,
        ty: Type,
        from: Vec<Index>,
    },
    Apply {
        operator: Operator,
        from: Type,
        ty: Type,
        args: SmallVec<[Index; 3]>,
        rounding: Rounding,
        result: Option<Index>,
        at: LocationId,
        site: Option<usize>,
        /// A sum or the like, see `plain.rs`.
        is_plain: bool,
    },
    Mask {
        relation: Relation,
        ty: Type,
        args: [Index; 2],
        spot: usize,
    },
    Branch {
        cond: Cond,
        ty: Type,
        args: [Index; 2],
        spot: usize,
    },
    ToInt {
        value: Index,
        ty: Type,
        rounding: Rounding,
        bytes: u8,
        signed: bool,
        spot: usize,
    },
    Lose {
        value: Index,
    },
    Escape {
        value: Index,
        spot: usize,
    },
    Put {
        place: Place,
        ty: Type,
        value: Index,
    },
    Drop {
        place: Place,
        bytes: usize,
    },
    Store {
        addr: Address,
        ty: Type,
        value: Index,
    },
    /// The step, if the test holds for the mask.
    Guarded {
        mask: Index,
        test: Test,
        step: Box<Step>,
    },
    SetMxcsr {
        value: Index,
    },
    SetX87Control {
        value: Index,
    },
    Turn {
        by: u8,
    },
    Save {
        addr: Address,
    },
    Restore {
        addr: Address,
    },
    Forget {
        dst: Index,
        len: Index,
        unit: u8,
    },
    Copy {
        dst: Index,
        src: Index,
        len: Index,
        unit: u8,
    },
    Allocate {
        at: Index,
        size: Index,
        count: Option<Index>,
        old: Option<Index>,
    },
    Enter {
        args: Vec<(Index, Type)>,
        caller: Index,
    },
    Leave {
        operator: Operator,
        /// The numbers of its arguments among those of the call.
        of: SmallVec<[u8; MAX_ARITY]>,
        result: Index,
        ty: Type,
        to: Destination,
        /// No other result of the call follows.
        last: bool,
    },
    Check {
        value: Index,
        ty: Type,
        slot: Slot,
        /// Of the x87, if the value is one of its registers; and which of them, from the top.
        image: Option<(Index, u8)>,
        at: LocationId,
    },
}

/// Where a wrapped function has put a result.
pub enum Destination {
    Register(Place),
    Memory(Address),
}

pub struct Program {
    pub steps: Vec<Step>,
    pub lanes: Lanes,
    /// Bytes of a record.
    pub record: usize,
    pub code: Code,
}

impl Program {
    /// May it change how SSE rounds?
    pub fn changes_mode(&self) -> bool {
        let changes = |step: &Step| match step {
            Step::Guarded { step, .. } => matches!(**step, Step::SetMxcsr { .. }),
            step => matches!(step, Step::SetMxcsr { .. }),
        };
        self.steps.iter().any(changes)
    }

    /// Nothing if the block makes no sense. `locate` says what code is at an address.
    pub fn new(
        block: &Block,
        mut locate: impl FnMut(u64) -> LocationId,
        sites: &mut Sites,
        spots: &mut Spots,
    ) -> Option<Program> {
        ir::verify(block).ok()?;
        let compile = |stmt: &ir::Stmt| {
            let step = step(block, stmt, locate(block.pc_of(stmt)), sites, spots)?;
            Some(match stmt.guard {
                Some(guard) => Step::Guarded { mask: guard.mask.index(), test: guard.test, step: Box::new(step) },
                None => step,
            })
        };
        let mut steps: Vec<Step> = block.stmts.iter().map(compile).collect::<Option<_>>()?;
        if let Some(Step::Leave { last, .. }) = steps.iter_mut().rfind(|step| matches!(step, Step::Leave { .. })) {
            *last = true;
        }
        let (record, code) = (block.record as usize, Code::default());
        Some(Program { lanes: Lanes::new(block, &steps), steps, record, code })
    }
}

fn step(block: &Block, stmt: &ir::Stmt, at: LocationId, sites: &mut Sites, spots: &mut Spots) -> Option<Step> {
    let type_of = |value: ir::Value| block.type_of(value);
    let pair = |args: &[ir::Value; 2]| args.map(ir::Value::index);
    let numbers = |values: &[ir::Value]| values.iter().map(|value| value.index()).collect::<Vec<Index>>();
    let address = |addr: &ir::Addr| {
        let mut disp = addr.disp as u64;
        // What a part of the address has moved by is known now.
        let mut part = |value: ir::Value, scale: u64| match block.stmts[value.index()].op {
            Op::Advance { from, by } => {
                disp = disp.wrapping_add(by.wrapping_mul(scale));
                from.index()
            }
            _ => value.index(),
        };
        let base = addr.base.map(|value| part(value, 1));
        let index = addr.index.map(|(value, scale)| Scaled {
            index: part(value, scale as u64),
            scale: scale as u64,
            narrow: type_of(value) == Some(Type::B32),
        });
        Address { segment: addr.segment.map(ir::Value::index), base, index, disp }
    };
    let st_slot = |image: ir::Value, index: u8| match block.stmts.get(image.index())?.op {
        Op::Image { slot, .. } => Some(Slot(slot.0.checked_add(IMAGE_ST + 16 * index as u16)?)),
        _ => None,
    };
    Some(match &stmt.op {
        Op::Live { place, slot } => Step::Live { place: *place, ty: stmt.ty?, slot: *slot },
        Op::Fresh { slot, .. } => Step::Fresh { ty: stmt.ty?, slot: *slot },
        Op::Load { addr, slot } => Step::Load { addr: address(addr), ty: stmt.ty?, slot: *slot },
        Op::Const { bits } => Step::Const { bits: *bits, ty: stmt.ty? },
        Op::Image { turned, slot } => Step::Image { turned: *turned, slot: *slot },
        Op::St { image, index, live } => {
            Step::St { image: image.index(), slot: st_slot(*image, *index)?, index: *index, live: *live }
        }
        Op::Recall { addr, bits } => Step::Recall { addr: address(addr), ty: stmt.ty?, bits: bits.index() },
        Op::Half { from, granule, upper } => {
            Step::Half { from: from.index(), granule: *granule as usize, upper: *upper }
        }
        Op::Among { bits, of } => Step::Among { bits: bits.index(), ty: stmt.ty?, of: numbers(of) },
        Op::Rescale { bits, of } => Step::Rescale { bits: bits.index(), of: of.index(), ty: stmt.ty?, at },
        Op::FromInt { value, bytes } => Step::FromInt { value: value.index(), bytes: *bytes, ty: stmt.ty? },
        Op::Advance { from, by } => Step::Advance { from: from.index(), by: *by },
        Op::Extract { from, granule } => Step::Extract { from: from.index(), granule: *granule as usize, ty: stmt.ty? },
        Op::Concat { parts } => {
            let parts = parts.iter().map(|part| Some((part.index(), type_of(*part)?)));
            Step::Concat { parts: parts.collect::<Option<_>>()? }
        }
        Op::Bitwise { op, args } => Step::Bitwise { op: *op, ty: stmt.ty?, args: pair(args), at },
        Op::Pick { control, rule, from } => {
            Step::Pick { control: control.index(), rule: *rule, ty: stmt.ty?, from: numbers(from) }
        }
        Op::Apply { operator, args, rounding, result } => {
            let (from, ty) = (type_of(*args.first()?)?, stmt.ty?);
            let site = !crate::operation::is_exact(*operator, from, ty);
            let is_plain = plain::is_plain(*operator, from, ty) && *rounding == Rounding::Current && result.is_none();
            Step::Apply {
                is_plain,
                operator: *operator,
                from,
                ty,
                args: args.iter().map(|arg| arg.index()).collect(),
                rounding: *rounding,
                result: result.map(ir::Value::index),
                at,
                site: site.then(|| sites.number(SiteKey { at, operator: operator.traced().0, ty })),
            }
        }
        Op::Compare { .. } => Step::Nothing,
        Op::Mask { relation, args } => Step::Mask {
            relation: *relation,
            ty: type_of(args[0])?,
            args: pair(args),
            spot: spots.number(at, SpotKind::Mask),
        },
        Op::Branch { flags, cond } => {
            let Op::Compare { args } = &block.stmts.get(flags.index())?.op else { return None };
            let spot = spots.number(at, SpotKind::Branch { cond: *cond });
            Step::Branch { cond: *cond, ty: type_of(args[0])?, args: pair(args), spot }
        }
        Op::ToInt { value, rounding, bytes, signed } => Step::ToInt {
            value: value.index(),
            ty: type_of(*value)?,
            rounding: *rounding,
            bytes: *bytes,
            signed: *signed,
            spot: spots.number(at, SpotKind::ToInt),
        },
        Op::Lose { value } => Step::Lose { value: value.index() },
        Op::Escape { value } => Step::Escape { value: value.index(), spot: spots.number(at, SpotKind::Escape) },
        Op::Put { place, value } => Step::Put { place: *place, ty: type_of(*value)?, value: value.index() },
        Op::Drop { place, bytes } => Step::Drop { place: *place, bytes: *bytes as usize },
        Op::Store { addr, value } => Step::Store { addr: address(addr), ty: type_of(*value)?, value: value.index() },
        Op::SetMxcsr { value } => Step::SetMxcsr { value: value.index() },
        Op::SetX87Control { value } => Step::SetX87Control { value: value.index() },
        Op::Turn { by } => Step::Turn { by: *by },
        Op::Save { addr } => Step::Save { addr: address(addr) },
        Op::Restore { addr } => Step::Restore { addr: address(addr) },
        Op::Forget { dst, len, unit } => Step::Forget { dst: dst.index(), len: len.index(), unit: *unit },
        Op::Copy { dst, src, len, unit } => {
            Step::Copy { dst: dst.index(), src: src.index(), len: len.index(), unit: *unit }
        }
        Op::Allocate { at, size, count, old } => Step::Allocate {
            at: at.index(),
            size: size.index(),
            count: count.map(|count| count.index()),
            old: old.map(|old| old.index()),
        },
        Op::Enter { args, caller } => Step::Enter {
            args: args.iter().map(|arg| Some((arg.index(), type_of(*arg)?))).collect::<Option<_>>()?,
            caller: caller.index(),
        },
        Op::Leave { operator, of, result, place } => {
            leave((*operator, of), *result, type_of(*result)?, Destination::Register(*place))
        }
        Op::LeaveInMemory { operator, of, result, addr } => {
            leave((*operator, of), *result, type_of(*result)?, Destination::Memory(address(addr)))
        }
        Op::Check { value, slot, .. } => {
            Step::Check { value: value.index(), ty: type_of(*value)?, slot: *slot, image: None, at }
        }
        Op::CheckSt { value, image, index } => {
            let (slot, image) = (st_slot(*image, *index)?, Some((image.index(), *index)));
            Step::Check { value: value.index(), ty: Type::F80, slot, image, at }
        }
    })
}

/// Where an image has st(0); the others follow in steps of 16 bytes (SDM, FXSAVE).
const IMAGE_ST: u16 = 32;

fn leave((operator, of): (Operator, &[u8]), result: ir::Value, ty: Type, to: Destination) -> Step {
    Step::Leave { operator, of: of.into(), result: result.index(), ty, to, last: false }
}
