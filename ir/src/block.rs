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

/// A memory address: `segment + base + index * scale + disp`, modulo 2^64. The parts are `b64` values; an index may be a
/// `b32`, which is signed (gathers have such).
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
    // What is left for code that looks at bits of the x87's status word: false, or true, for a NaN.
    OrderedLess,
    NotOrderedLess,
    OrderedLessEqual,
    NotOrderedLessEqual,
    OrderedEqual,
    NotOrderedEqual,
}

impl Cond {
    /// With these, any set of outcomes that leaves something to decide is a condition.
    pub const ALL: [Cond; 14] = [
        Cond::Above,
        Cond::AboveEqual,
        Cond::Below,
        Cond::BelowEqual,
        Cond::Equal,
        Cond::NotEqual,
        Cond::Parity,
        Cond::NotParity,
        Cond::OrderedLess,
        Cond::NotOrderedLess,
        Cond::OrderedLessEqual,
        Cond::NotOrderedLessEqual,
        Cond::OrderedEqual,
        Cond::NotOrderedEqual,
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
            Cond::OrderedLess => "olt",
            Cond::NotOrderedLess => "nolt",
            Cond::OrderedLessEqual => "ole",
            Cond::NotOrderedLessEqual => "nole",
            Cond::OrderedEqual => "oeq",
            Cond::NotOrderedEqual => "noeq",
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
            Cond::OrderedLess => outcome == Less,
            Cond::NotOrderedLess => outcome != Less,
            Cond::OrderedLessEqual => matches!(outcome, Less | Equal),
            Cond::NotOrderedLessEqual => !matches!(outcome, Less | Equal),
            Cond::OrderedEqual => outcome == Equal,
            Cond::NotOrderedEqual => outcome != Equal,
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

/// How an operation rounds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Rounding {
    /// As MXCSR says, or the x87's control word, whichever governs the format of the arguments (or else of the result).
    #[default]
    Current,
    /// To nearest, ties to even, and so on: the instruction says so itself.
    Nearest,
    Down,
    Up,
    Truncate,
}

impl Rounding {
    pub const ALL: [Rounding; 5] =
        [Rounding::Current, Rounding::Nearest, Rounding::Down, Rounding::Up, Rounding::Truncate];

    pub fn name(self) -> &'static str {
        match self {
            Rounding::Current => "current",
            Rounding::Nearest => "nearest",
            Rounding::Down => "down",
            Rounding::Up => "up",
            Rounding::Truncate => "truncate",
        }
    }
}

/// Which of several values a control, an integer of up to 8 bytes, picks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// One of two: the second if this bit of the control is set.
    Bit(u8),
    /// The one whose number stands in the control from this bit on. There are 2^n of them, and n bits count.
    Index(u8),
    /// The one whose number is that of the n-th bit that is set, counted from 0; the last one if there are not so many (vcompress). The
    /// last one has no bit.
    Nth(u8),
    /// If bit n is set, the one whose number is how many bits below it are set; else the last one (vexpand).
    Rank(u8),
}

impl Rule {
    /// The number of the value that is picked out of so many.
    pub fn pick(self, control: u64, values: usize) -> usize {
        let last = values.saturating_sub(1);
        match self {
            Rule::Bit(bit) => (control >> bit & 1) as usize,
            Rule::Index(bit) => (control >> bit) as usize & last,
            Rule::Nth(n) => (0..last.min(64)).filter(|bit| control >> bit & 1 == 1).nth(n as usize).unwrap_or(last),
            Rule::Rank(bit) if control >> bit & 1 == 1 => (control & ((1 << bit) - 1)).count_ones() as usize,
            Rule::Rank(_) => last,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Rule::Bit(_) => "bit",
            Rule::Index(_) => "index",
            Rule::Nth(_) => "nth",
            Rule::Rank(_) => "rank",
        }
    }

    pub fn number(self) -> u8 {
        match self {
            Rule::Bit(n) | Rule::Index(n) | Rule::Nth(n) | Rule::Rank(n) => n,
        }
    }
}

/// What a guard looks for in its mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Test {
    /// If this bit of the mask is set.
    Bit(u8),
    /// If more than so many bits of the mask are set.
    MoreThan(u8),
}

impl Test {
    pub fn holds(self, mask: u64) -> bool {
        match self {
            Test::Bit(bit) => mask >> bit & 1 == 1,
            Test::MoreThan(count) => mask.count_ones() > count as u32,
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

    /// The x87 unit's state, as fxsave writes it: 512 bytes are logged. The top of the stack is then `turned` registers above where
    /// it was when the block was entered (modulo 8: a push makes it 7).
    Image {
        turned: u8,
        slot: Slot,
    },
    /// The register that was st(index) when the image was taken. Its shadow counts if it is `live` (not just written by an
    /// instruction that is not described) and the bits agree.
    St {
        image: Value,
        index: u8,
        live: bool,
    },
    /// What memory holds, if its bits are these (of a gather, or of a load under a mask): they, and the shadow found there.
    Recall {
        addr: Addr,
        bits: Value,
    },

    // Moving bits.
    /// The bits of `from` beginning at a granule, as many as the result's type has.
    Extract {
        from: Value,
        granule: u8,
    },
    /// The lower or the upper two bytes of a granule of `from`: a `B16`, `F16` or `Bf16`.
    Half {
        from: Value,
        granule: u8,
        upper: bool,
    },
    /// A `B64` that is another and a constant: a pointer or an index that has moved on since it was logged.
    Advance {
        from: Value,
        by: u64,
    },
    /// The parts one after the other, the first lowest. Two values of two bytes make a granule.
    Concat {
        parts: Vec<Value>,
    },
    /// Logic on bits. Where one side is a mask that negates, takes the magnitude, selects or keeps a float, the shadow follows.
    Bitwise {
        op: BitOp,
        args: [Value; 2],
    },
    /// One of the values, which are all of the result's type.
    Pick {
        control: Value,
        rule: Rule,
        from: Vec<Value>,
    },
    /// These bits, with the shadow of the first of these floats or opaque values that has the same bits: for instructions that choose in ways which
    /// are not described (cmov, vfixupimm).
    Among {
        bits: Value,
        of: Vec<Value>,
    },

    // Computing.
    /// The operator on the arguments. Where `result` is given it is what the guest computed, else that is computed again.
    Apply {
        operator: Operator,
        args: Vec<Value>,
        rounding: Rounding,
        result: Option<Value>,
    },
    /// The float `bits`, which the guest made of `of` by changing its exponent (fxtract, vgetmant, integer arithmetic on the exponent). If they differ by a
    /// power of two, or a sign besides, so do the reals; else there is no shadow.
    Rescale {
        bits: Value,
        of: Value,
    },
    /// The float nearest to a signed integer of so many bytes in `value`'s lowest bits: a leaf.
    FromInt {
        value: Value,
        bytes: u8,
    },
    /// Leaves [`Type::Flags`].
    Compare {
        args: [Value; 2],
    },
    /// All ones or all zeros in a result as wide as the arguments, which is opaque. A decision: a spot.
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
    /// The float becomes an integer of 2, 4 or 8 bytes: a spot. The integer itself is not followed.
    ToInt {
        value: Value,
        rounding: Rounding,
        bytes: u8,
        signed: bool,
    },
    /// An instruction that is not described computes with these bits: what they stand for is lost, and counted.
    Lose {
        value: Value,
    },
    /// Integer code computes with these bits, which came from the world of floats, and what it makes of them does not go back there: a spot.
    Escape {
        value: Value,
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
    /// The x87's control word becomes this `B16`.
    SetX87Control {
        value: Value,
    },
    /// The top of the x87's stack is now so many registers above where it was when the block was entered, modulo 8. After all
    /// that names x87 registers by where they were then.
    Turn {
        by: u8,
    },
    /// All vector and x87 registers are saved to memory at this address (fxsave, xsave), in whatever layout.
    Save {
        addr: Addr,
    },
    /// All vector and x87 registers are loaded from where they were saved. Which of them are, their bits will tell.
    Restore {
        addr: Addr,
    },
    /// `len` times `unit` bytes of memory are copied, as by memmove.
    Copy {
        dst: Value,
        src: Value,
        len: Value,
        unit: u8,
    },
    /// `len` times `unit` bytes of memory were written by something not described here.
    Forget {
        dst: Value,
        len: Value,
        unit: u8,
    },
    /// `size` bytes of memory, or `count` times as many, are handed out at `at`. They hold what was handed out at `old` before, as
    /// far as both reach, and else nothing.
    Allocate {
        at: Value,
        size: Value,
        count: Option<Value>,
        old: Option<Value>,
    },
    /// A wrapped library function is called on these arguments, floats of any format, and will return to the address `caller`, which tells
    /// one call from another. What runs until it returns is not logged.
    Enter {
        args: Vec<Value>,
        caller: Value,
    },
    /// The wrapped function has returned, and `result`, whose bits are the function's own, lies in `place`: it is what the
    /// operator gives on those arguments of the call that have the numbers in `of`. If it is an integer it is not followed: a spot.
    /// A function with several results leaves several times in one block.
    Leave {
        operator: Operator,
        of: Vec<u8>,
        result: Value,
        place: Place,
    },
    /// The same of a result that the function has written to memory.
    LeaveInMemory {
        operator: Operator,
        of: Vec<u8>,
        result: Value,
        addr: Addr,
    },
    /// The place holds, natively, the bits at `slot`; they must be those of the value. Only when checking.
    Check {
        value: Value,
        place: Place,
        slot: Slot,
    },
    /// The register that was st(index) when the image was taken holds, natively, bits which must be those of the value. Only
    /// when checking.
    CheckSt {
        value: Value,
        image: Value,
        index: u8,
    },
}

/// A statement takes place only if the test holds for the mask, an integer of up to 8 bytes: lanes that an instruction leaves out
/// compute, decide and store nothing. What a statement that does not take place defines must not be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guard {
    pub mask: Value,
    pub test: Test,
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
    pub guard: Option<Guard>,
    pub op: Op,
}

impl Stmt {
    /// Calls `f` on every value that the statement uses.
    pub fn for_each_use(&self, f: &mut dyn FnMut(Value)) {
        self.guard.into_iter().for_each(|guard| f(guard.mask));
        self.op.for_each_use(f);
    }

    /// Calls `f` on every value that the statement uses, to rename it.
    pub fn for_each_use_mut(&mut self, f: &mut dyn FnMut(&mut Value)) {
        self.guard.iter_mut().for_each(|guard| f(&mut guard.mask));
        self.op.for_each_use_mut(f);
    }
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
        self.stmts.push(Stmt { instr, when, ty, guard: None, op });
        Value(self.stmts.len() as u32 - 1)
    }
}

impl Op {
    /// The slot of an operation that logs, to read or to assign.
    pub fn slot_mut(&mut self) -> Option<&mut Slot> {
        match self {
            Op::Live { slot, .. }
            | Op::Fresh { slot, .. }
            | Op::Load { slot, .. }
            | Op::Image { slot, .. }
            | Op::Check { slot, .. } => Some(slot),
            _ => None,
        }
    }

    pub fn slot(&self) -> Option<Slot> {
        match self {
            Op::Live { slot, .. }
            | Op::Fresh { slot, .. }
            | Op::Load { slot, .. }
            | Op::Image { slot, .. }
            | Op::Check { slot, .. } => Some(*slot),
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
            Op::Live { .. }
            | Op::Fresh { .. }
            | Op::Const { .. }
            | Op::Image { .. }
            | Op::Drop { .. }
            | Op::Turn { .. } => {}
            Op::Load { addr, .. } | Op::Save { addr } | Op::Restore { addr } => addr.values_mut().for_each(f),
            Op::St { image: value, .. }
            | Op::Extract { from: value, .. }
            | Op::Half { from: value, .. }
            | Op::Advance { from: value, .. }
            | Op::FromInt { value, .. }
            | Op::Branch { flags: value, .. }
            | Op::ToInt { value, .. }
            | Op::Lose { value }
            | Op::Escape { value }
            | Op::Put { value, .. }
            | Op::SetMxcsr { value }
            | Op::SetX87Control { value }
            | Op::Leave { result: value, .. }
            | Op::Check { value, .. } => f(value),
            Op::Concat { parts } => parts.iter_mut().for_each(f),
            Op::Apply { args, result, .. } => args.iter_mut().chain(result).for_each(f),
            Op::Enter { args, caller } => args.iter_mut().chain([caller]).for_each(f),
            Op::Pick { control: value, from, .. } | Op::Among { bits: value, of: from } => {
                from.iter_mut().chain([value]).for_each(f);
            }
            Op::Rescale { bits: a, of: b } | Op::CheckSt { value: a, image: b, .. } => [a, b].into_iter().for_each(f),
            Op::Bitwise { args, .. } | Op::Compare { args } | Op::Mask { args, .. } => args.iter_mut().for_each(f),
            Op::Store { addr, value }
            | Op::Recall { addr, bits: value }
            | Op::LeaveInMemory { addr, result: value, .. } => {
                addr.values_mut().for_each(&mut *f);
                f(value);
            }
            Op::Copy { dst, src, len, .. } => [dst, src, len].into_iter().for_each(f),
            Op::Forget { dst, len, .. } => [dst, len].into_iter().for_each(f),
            Op::Allocate { at, size, count, old } => [at, size].into_iter().chain(count).chain(old).for_each(f),
        }
    }

    /// An operation without a value is there for its effect; `Mask` is a spot as well.
    pub fn has_effect(&self) -> bool {
        matches!(
            self,
            Op::Branch { .. }
                | Op::ToInt { .. }
                | Op::Lose { .. }
                | Op::Escape { .. }
                | Op::Put { .. }
                | Op::Drop { .. }
                | Op::Store { .. }
                | Op::SetMxcsr { .. }
                | Op::SetX87Control { .. }
                | Op::Turn { .. }
                | Op::Save { .. }
                | Op::Restore { .. }
                | Op::Copy { .. }
                | Op::Forget { .. }
                | Op::Allocate { .. }
                | Op::Enter { .. }
                | Op::Leave { .. }
                | Op::LeaveInMemory { .. }
                | Op::Check { .. }
                | Op::CheckSt { .. }
                | Op::Mask { .. }
        )
    }
}
