//! A block compiled for the analysis: values are indices into a frame, sites and spots are known, types are resolved.

use crate::findings::SpotKind;
use crate::location::LocationId;
use crate::real::Real;
use crate::site::{SiteKey, Sites};
use crate::spots::Spots;
use fpgrind_ir::{self as ir, Addr, BitOp, Block, Cond, Op, Operator, Place, Relation, Rounding, Rule, Slot, Type};
use smallvec::SmallVec;

/// The value of this number in the frame.
pub type Index = usize;

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
        addr: Addr,
        ty: Type,
        slot: Slot,
    },
    Const {
        bits: u128,
        ty: Type,
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
        at: LocationId,
        site: Option<usize>,
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
        addr: Addr,
        ty: Type,
        value: Index,
    },
    SetMxcsr {
        value: Index,
    },
    Copy {
        dst: Index,
        src: Index,
        len: Index,
        unit: u8,
    },
    Enter {
        ty: Type,
        args: SmallVec<[Index; 3]>,
        caller: Index,
    },
    Leave {
        operator: Operator,
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
        at: LocationId,
    },
}

/// Where a wrapped function has put a result.
pub enum Destination {
    Register(Place),
    Memory(Addr),
}

pub struct Program {
    pub steps: Vec<Step>,
    /// Bytes of a record.
    pub record: usize,
}

impl Program {
    /// Nothing if the block makes no sense. `locate` says what code is at an address.
    pub fn new<R: Real>(
        block: &Block,
        mut locate: impl FnMut(u64) -> LocationId,
        sites: &mut Sites<R>,
        spots: &mut Spots,
    ) -> Option<Program> {
        ir::verify(block).ok()?;
        let compile = |stmt| step(block, stmt, locate(block.pc_of(stmt)), sites, spots);
        let mut steps: Vec<Step> = block.stmts.iter().map(compile).collect::<Option<_>>()?;
        if let Some(Step::Leave { last, .. }) = steps.iter_mut().rfind(|step| matches!(step, Step::Leave { .. })) {
            *last = true;
        }
        Some(Program { steps, record: block.record as usize })
    }
}

fn step<R: Real>(
    block: &Block,
    stmt: &ir::Stmt,
    at: LocationId,
    sites: &mut Sites<R>,
    spots: &mut Spots,
) -> Option<Step> {
    let type_of = |value: ir::Value| block.type_of(value);
    let pair = |args: &[ir::Value; 2]| args.map(ir::Value::index);
    Some(match &stmt.op {
        Op::Live { place, slot } => Step::Live { place: *place, ty: stmt.ty?, slot: *slot },
        Op::Fresh { slot, .. } => Step::Fresh { ty: stmt.ty?, slot: *slot },
        Op::Load { addr, slot } => Step::Load { addr: *addr, ty: stmt.ty?, slot: *slot },
        Op::Const { bits } => Step::Const { bits: *bits, ty: stmt.ty? },
        Op::Extract { from, granule } => Step::Extract { from: from.index(), granule: *granule as usize, ty: stmt.ty? },
        Op::Concat { parts } => {
            let parts = parts.iter().map(|part| Some((part.index(), type_of(*part)?)));
            Step::Concat { parts: parts.collect::<Option<_>>()? }
        }
        Op::Bitwise { op, args } => Step::Bitwise { op: *op, ty: stmt.ty?, args: pair(args), at },
        Op::Pick { control, rule, from } => {
            let from = from.iter().map(|value| value.index()).collect();
            Step::Pick { control: control.index(), rule: *rule, ty: stmt.ty?, from }
        }
        Op::Apply { operator, args, .. } => {
            let ty = stmt.ty?;
            let site = !crate::operation::is_exact(*operator, ty);
            Step::Apply {
                operator: *operator,
                from: type_of(*args.first()?)?,
                ty,
                args: args.iter().map(|arg| arg.index()).collect(),
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
        Op::ToInt { value, rounding, bytes, .. } => Step::ToInt {
            value: value.index(),
            ty: type_of(*value)?,
            rounding: *rounding,
            bytes: *bytes,
            spot: spots.number(at, SpotKind::ToInt),
        },
        Op::Put { place, value } => Step::Put { place: *place, ty: type_of(*value)?, value: value.index() },
        Op::Drop { place, bytes } => Step::Drop { place: *place, bytes: *bytes as usize },
        Op::Store { addr, value } => Step::Store { addr: *addr, ty: type_of(*value)?, value: value.index() },
        Op::SetMxcsr { value } => Step::SetMxcsr { value: value.index() },
        Op::Copy { dst, src, len, unit } => {
            Step::Copy { dst: dst.index(), src: src.index(), len: len.index(), unit: *unit }
        }
        Op::Enter { args, caller } => Step::Enter {
            ty: type_of(*args.first()?)?,
            args: args.iter().map(|arg| arg.index()).collect(),
            caller: caller.index(),
        },
        Op::Leave { operator, result, place } => {
            leave(*operator, *result, type_of(*result)?, Destination::Register(*place))
        }
        Op::LeaveInMemory { operator, result, addr } => {
            leave(*operator, *result, type_of(*result)?, Destination::Memory(*addr))
        }
        Op::Check { value, slot, .. } => Step::Check { value: value.index(), ty: type_of(*value)?, slot: *slot, at },
        _ => return None,
    })
}

fn leave(operator: Operator, result: ir::Value, ty: Type, to: Destination) -> Step {
    Step::Leave { operator, result: result.index(), ty, to, last: false }
}
