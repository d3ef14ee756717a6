//! Blocks, statements and operations.

use crate::{Operator, Place, Type};

/// A value: the index of the statement that defines it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Value(pub u32);

impl Value {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A byte offset in the block's record. The record's header lies at offset 0, so 0 means: not yet assigned.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Slot(pub u16);

impl Slot {
    pub const UNASSIGNED: Slot = Slot(0);
}

/// A guest instruction of the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestInstr {
    pub pc: u64,
    pub len: u8,
}

/// Whether a logged value is taken before or after the guest instruction runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    Before,
    After,
}

/// A memory address: `segment + base + index * scale + disp`, modulo 2^64. The parts are `b64` values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Addr {
    pub segment: Option<Value>,
    pub base: Option<Value>,
    pub index: Option<(Value, u8)>,
    pub disp: i64,
}

impl Addr {
    pub fn constant(address: u64) -> Addr {
        Addr { disp: address as i64, ..Addr::default() }
    }

    pub fn values(&self) -> impl Iterator<Item = Value> {
        self.segment.into_iter().chain(self.base).chain(self.index.map(|(v, _)| v))
    }

    /// The parts, to be renamed by a pass.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.segment.iter_mut().chain(self.base.iter_mut()).chain(self.index.iter_mut().map(|(v, _)| v))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BitOp {
    And,
    /// `!a & b`, as andnps does it.
    AndNot,
    Or,
    Xor,
}

impl BitOp {
    pub const ALL: [BitOp; 4] = [BitOp::And, BitOp::AndNot, BitOp::Or, BitOp::Xor];

    pub fn name(self) -> &'static str {
        match self {
            BitOp::And => "and",
            BitOp::AndNot => "andnot",
            BitOp::Or => "or",
            BitOp::Xor => "xor",
        }
    }

    pub fn apply(self, a: u128, b: u128) -> u128 {
        match self {
            BitOp::And => a & b,
            BitOp::AndNot => !a & b,
            BitOp::Or => a | b,
            BitOp::Xor => a ^ b,
        }
    }
}

/// How two floats compare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    Less,
    Equal,
    Greater,
    Unordered,
}

impl From<Option<std::cmp::Ordering>> for Outcome {
    fn from(ordering: Option<std::cmp::Ordering>) -> Outcome {
        match ordering {
            Some(std::cmp::Ordering::Less) => Outcome::Less,
            Some(std::cmp::Ordering::Equal) => Outcome::Equal,
            Some(std::cmp::Ordering::Greater) => Outcome::Greater,
            None => Outcome::Unordered,
        }
    }
}

/// A condition on the flags as comiss, ucomisd and the like leave them. Those that such a
/// comparison decides always the same way (sign, overflow) are not here: they are no decision.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Cond {
    Above,
    AboveEqual,
    Below,
    BelowEqual,
    Equal,
    NotEqual,
    Parity,
    NotParity,
}

impl Cond {
    pub const ALL: [Cond; 8] = [
        Cond::Above,
        Cond::AboveEqual,
        Cond::Below,
        Cond::BelowEqual,
        Cond::Equal,
        Cond::NotEqual,
        Cond::Parity,
        Cond::NotParity,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Cond::Above => "a",
            Cond::AboveEqual => "ae",
            Cond::Below => "b",
            Cond::BelowEqual => "be",
            Cond::Equal => "e",
            Cond::NotEqual => "ne",
            Cond::Parity => "p",
            Cond::NotParity => "np",
        }
    }

    /// Does the condition hold after a comparison with this outcome? (ZF, PF, CF are 111 for unordered, 000 for
    /// greater, 001 for less, 100 for equal: Intel SDM, UCOMISD.)
    pub fn holds(self, outcome: Outcome) -> bool {
        use Outcome::*;
        match self {
            Cond::Above => outcome == Greater,
            Cond::AboveEqual => matches!(outcome, Greater | Equal),
            Cond::Below => matches!(outcome, Less | Unordered),
            Cond::BelowEqual => outcome != Greater,
            Cond::Equal => matches!(outcome, Equal | Unordered),
            Cond::NotEqual => matches!(outcome, Less | Greater),
            Cond::Parity => outcome == Unordered,
            Cond::NotParity => outcome != Unordered,
        }
    }
}

/// The relation tested by a comparison that leaves a mask: the eight of SSE's cmpps, and the eight that AVX adds. (AVX has
/// each twice: they differ in which NaNs raise an exception.)
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    Equal,
    Less,
    LessEqual,
    Unordered,
    NotEqual,
    NotLess,
    NotLessEqual,
    Ordered,
    EqualOrUnordered,
    NotGreaterEqual,
    NotGreater,
    False,
    LessOrGreater,
    GreaterEqual,
    Greater,
    True,
}

impl Relation {
    /// In the order of the instruction's immediate (Intel SDM, CMPPD, table 3-1).
    pub const ALL: [Relation; 16] = [
        Relation::Equal,
        Relation::Less,
        Relation::LessEqual,
        Relation::Unordered,
        Relation::NotEqual,
        Relation::NotLess,
        Relation::NotLessEqual,
        Relation::Ordered,
        Relation::EqualOrUnordered,
        Relation::NotGreaterEqual,
        Relation::NotGreater,
        Relation::False,
        Relation::LessOrGreater,
        Relation::GreaterEqual,
        Relation::Greater,
        Relation::True,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Relation::Equal => "eq",
            Relation::Less => "lt",
            Relation::LessEqual => "le",
            Relation::Unordered => "unord",
            Relation::NotEqual => "neq",
            Relation::NotLess => "nlt",
            Relation::NotLessEqual => "nle",
            Relation::Ordered => "ord",
            Relation::EqualOrUnordered => "ueq",
            Relation::NotGreaterEqual => "nge",
            Relation::NotGreater => "ngt",
            Relation::False => "false",
            Relation::LessOrGreater => "ltgt",
            Relation::GreaterEqual => "ge",
            Relation::Greater => "gt",
            Relation::True => "true",
        }
    }

    pub fn holds(self, outcome: Outcome) -> bool {
        use Outcome::*;
        match self {
            Relation::Equal => outcome == Equal,
            Relation::Less => outcome == Less,
            Relation::LessEqual => matches!(outcome, Less | Equal),
            Relation::Unordered => outcome == Unordered,
            Relation::NotEqual => outcome != Equal,
            Relation::NotLess => outcome != Less,
            Relation::NotLessEqual => !matches!(outcome, Less | Equal),
            Relation::Ordered => outcome != Unordered,
            Relation::EqualOrUnordered => matches!(outcome, Equal | Unordered),
            Relation::NotGreaterEqual => !matches!(outcome, Greater | Equal),
            Relation::NotGreater => outcome != Greater,
            Relation::False => false,
            Relation::LessOrGreater => matches!(outcome, Less | Greater),
            Relation::GreaterEqual => matches!(outcome, Greater | Equal),
            Relation::Greater => outcome == Greater,
            Relation::True => true,
        }
    }
}

/// How a conversion to an integer rounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rounding {
    Truncate,
    /// As MXCSR says.
    Current,
}

impl Rounding {
    pub const ALL: [Rounding; 2] = [Rounding::Truncate, Rounding::Current];

    pub fn name(self) -> &'static str {
        match self {
            Rounding::Truncate => "truncate",
            Rounding::Current => "current",
        }
    }
}

/// What a statement does.
#[derive(Clone, PartialEq, Debug)]
pub enum Op {
    // Inputs. The native bits are logged at `slot`, except for constants.
    /// The contents of a place that this block has not written. Its shadow counts if the bits agree.
    Live {
        place: Place,
        slot: Slot,
    },
    /// The contents of a place that an instruction not described here has written: no shadow.
    Fresh {
        place: Place,
        slot: Slot,
    },
    /// The contents of memory. Its shadow counts if the bits agree.
    Load {
        addr: Addr,
        slot: Slot,
    },
    /// An immediate or a load from memory that cannot change.
    Const {
        bits: u128,
    },

    // Moving bits.
    /// The bits of `from` beginning at a granule, as many as the result's type has.
    Extract {
        from: Value,
        granule: u8,
    },
    /// The parts one after the other, the first lowest.
    Concat {
        parts: Vec<Value>,
    },
    /// Logic on bits. Where one side is a mask that negates, takes the magnitude, selects or keeps a float, the shadow follows.
    Bitwise {
        op: BitOp,
        args: [Value; 2],
    },
    /// The second argument where the highest bit of `mask` is set, else the first. All are of one type, `B32` or `B64`.
    Select {
        mask: Value,
        args: [Value; 2],
    },

    // Computing.
    Apply {
        operator: Operator,
        args: Vec<Value>,
    },
    /// Leaves [`Type::Flags`].
    Compare {
        args: [Value; 2],
    },
    /// All ones or all zeros in a result as wide as the arguments, of type `B32` or `B64`. A decision: a spot.
    Mask {
        relation: Relation,
        args: [Value; 2],
    },

    // Effects.
    /// A decision is made on a comparison: a spot.
    Branch {
        flags: Value,
        cond: Cond,
    },
    /// The float becomes an integer of 4 or 8 bytes: a spot. The integer itself is not followed.
    ToInt {
        value: Value,
        rounding: Rounding,
        bytes: u8,
    },
    /// The place holds the value when the block ends.
    Put {
        place: Place,
        value: Value,
    },
    /// So many bytes from the place on were written by something not described here.
    Drop {
        place: Place,
        bytes: u8,
    },
    Store {
        addr: Addr,
        value: Value,
    },
    /// MXCSR becomes this `B32`.
    SetMxcsr {
        value: Value,
    },
    /// `len` bytes of memory are copied, as by memmove.
    Copy {
        dst: Value,
        src: Value,
        len: Value,
    },
    /// A wrapped library function is called on these arguments, and will return to the address `caller`, which tells
    /// one call from another. What runs until it returns is not logged.
    Enter {
        args: Vec<Value>,
        caller: Value,
    },
    /// The wrapped function has returned, and `result`, whose bits are the function's own, lies in `place`: it is what the
    /// operator gives on the arguments of the call. A function with several results leaves several times in one block.
    Leave {
        operator: Operator,
        result: Value,
        place: Place,
    },
    /// The same of a result that the function has written to memory.
    LeaveInMemory {
        operator: Operator,
        result: Value,
        addr: Addr,
    },
    /// The place holds, natively, the bits at `slot`; they must be those of the value. Only when checking.
    Check {
        value: Value,
        place: Place,
        slot: Slot,
    },
}

/// A statement, and the guest instruction that it belongs to.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// Index into [`Block::instrs`].
    pub instr: u16,
    /// When the logged value is taken. `Before` for statements that log nothing.
    pub when: When,
    /// The type of the value that the statement defines, if it defines one.
    pub ty: Option<Type>,
    pub op: Op,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    pub instrs: Vec<GuestInstr>,
    pub stmts: Vec<Stmt>,
    /// Bytes of the record, header included; a multiple of 16. 0 if the block writes none.
    pub record: u16,
}

impl Block {
    pub fn start(&self) -> u64 {
        self.instrs.first().map_or(0, |instr| instr.pc)
    }

    pub fn type_of(&self, value: Value) -> Option<Type> {
        self.stmts.get(value.index())?.ty
    }

    /// The address of the guest instruction that a statement belongs to.
    pub fn pc_of(&self, stmt: &Stmt) -> u64 {
        self.instrs.get(stmt.instr as usize).map_or(0, |instr| instr.pc)
    }

    pub fn push(&mut self, instr: u16, when: When, ty: Option<Type>, op: Op) -> Value {
        self.stmts.push(Stmt { instr, when, ty, op });
        Value(self.stmts.len() as u32 - 1)
    }
}

impl Op {
    /// The slot of an operation that logs, to read or to assign.
    pub fn slot_mut(&mut self) -> Option<&mut Slot> {
        match self {
            Op::Live { slot, .. } | Op::Fresh { slot, .. } | Op::Load { slot, .. } | Op::Check { slot, .. } => {
                Some(slot)
            }
            _ => None,
        }
    }

    pub fn slot(&self) -> Option<Slot> {
        match self {
            Op::Live { slot, .. } | Op::Fresh { slot, .. } | Op::Load { slot, .. } | Op::Check { slot, .. } => {
                Some(*slot)
            }
            _ => None,
        }
    }

    /// Calls `f` on every value that the operation uses.
    pub fn for_each_use(&self, f: &mut dyn FnMut(Value)) {
        self.clone().for_each_use_mut(&mut |value| f(*value));
    }

    /// Calls `f` on every value that the operation uses, to rename it.
    pub fn for_each_use_mut(&mut self, f: &mut dyn FnMut(&mut Value)) {
        match self {
            Op::Live { .. } | Op::Fresh { .. } | Op::Const { .. } | Op::Drop { .. } => {}
            Op::Load { addr, .. } => addr.values_mut().for_each(f),
            Op::Extract { from, .. } => f(from),
            Op::Concat { parts: args } | Op::Apply { args, .. } => args.iter_mut().for_each(f),
            Op::Enter { args, caller } => args.iter_mut().chain([caller]).for_each(f),
            Op::Select { mask, args } => args.iter_mut().chain([mask]).for_each(f),
            Op::Bitwise { args, .. } | Op::Compare { args } | Op::Mask { args, .. } => args.iter_mut().for_each(f),
            Op::Branch { flags: value, .. }
            | Op::ToInt { value, .. }
            | Op::Put { value, .. }
            | Op::SetMxcsr { value }
            | Op::Leave { result: value, .. }
            | Op::Check { value, .. } => f(value),
            Op::Store { addr, value } | Op::LeaveInMemory { addr, result: value, .. } => {
                addr.values_mut().for_each(&mut *f);
                f(value);
            }
            Op::Copy { dst, src, len } => [dst, src, len].into_iter().for_each(f),
        }
    }

    /// An operation without a value is there for its effect; `Mask` is a spot as well.
    pub fn has_effect(&self) -> bool {
        matches!(
            self,
            Op::Branch { .. }
                | Op::ToInt { .. }
                | Op::Put { .. }
                | Op::Drop { .. }
                | Op::Store { .. }
                | Op::SetMxcsr { .. }
                | Op::Copy { .. }
                | Op::Enter { .. }
                | Op::Leave { .. }
                | Op::LeaveInMemory { .. }
                | Op::Check { .. }
                | Op::Mask { .. }
        )
    }
}
