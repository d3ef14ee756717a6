//! A block's steps, as far as they are about floats that lie where most floats do, on single floats.
//!
//! The values of a block are registers and pieces of memory, with several floats in them, that are taken apart and put together again. What
//! goes where is known beforehand. So each float that an operation needs gets a *lane*, which is filled where the float comes
//! from; nothing is done for taking apart and putting together, and nothing for what nobody needs. Whatever is out of the ordinary stays
//! a step on whole values (`run.rs`): before it its arguments are put together in the frame, after it its result is taken apart.

use crate::calls::{self, Entry, Return};
use crate::influence::Influences;
use crate::location::LocationId;
use crate::offset::{Near, Offset};
use crate::program::{self, Index, Step};
use crate::registers::Registers;
use crate::shadow::{GRANULES, Part};
use crate::trace::Slot;
use fpgrind_ir::{BitOp, Block, Cond, GRANULE, Op, Operator, Type, Value};
use smallvec::SmallVec;

/// The lane with this number.
pub type Number = u16;

/// A lane of nothing.
const NOTHING: Number = 0;

/// The bytes from some granule of a value on, eight if it has as many, and what is known about the float that begins there.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Lane {
    /// Of a float without a history.
    pub own: Facts,
    pub bits: u64,
    pub part: Part,
    /// If it begins with a constant: so does the granule that follows.
    pub wide: bool,
    /// Is it a double or a single with nothing special about it, ready to be an argument? Then the rest is about it.
    pub is_plain: bool,
    /// How it is kept as an argument.
    pub slot: Slot,
    pub word: u64,
    /// What compiled code wants to know of it: its node, if that says so.
    pub facts: *const Facts,
}

/// How a node begins that is near to the native value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Facts {
    pub near: Near,
    pub influences: Influences,
}

impl Facts {
    /// Of a float without a history.
    pub const NONE: &'static Facts =
        &Facts { near: Near { native: 0.0, offset: Offset::NONE }, influences: Influences::NONE };
    /// Of one that is not for compiled code: whatever is made of it is not, either.
    pub const UNKNOWN: &'static Facts = &Facts {
        near: Near { native: f64::NAN, offset: Offset { by: f64::NAN, err: f64::NAN } },
        influences: Influences::NONE,
    };
}

impl Lane {
    pub const NOTHING: Lane = Lane {
        own: *Facts::NONE,
        bits: 0,
        part: Part::None,
        wide: false,
        is_plain: true,
        slot: Slot::NONE,
        word: 0,
        facts: Facts::NONE,
    };

    /// What it holds, field by field: a lane that is put together elsewhere and moved here makes the CPU wait.
    #[inline(always)]
    pub fn set(&mut self, bits: u64, part: Part, wide: bool) {
        self.bits = bits;
        self.part = part;
        self.wide = wide;
    }
}

/// Four bytes: those of a lane, or the next four.
#[derive(Clone, Copy)]
pub struct Granule {
    pub lane: Number,
    pub upper: bool,
    /// A float that begins here and is longer was torn apart.
    pub room: u8,
}

#[derive(Clone, Copy)]
pub enum Word {
    None,
    /// The eight or four bytes at a slot of the record.
    Logged(u16),
    LoggedShort(u16),
    Lane(Number),
    LaneShort(Number),
}

pub enum Address {
    /// The common case: eight bytes of the record, and a distance.
    Logged(u16, u64),
    Sum(Box<Sum>),
}

impl Address {
    /// The lanes that it is made of.
    fn lanes(&self) -> SmallVec<[Number; 3]> {
        let lane = |word: Word| match word {
            Word::Lane(lane) | Word::LaneShort(lane) => Some(lane),
            _ => None,
        };
        match self {
            Address::Logged(..) => SmallVec::new(),
            Address::Sum(sum) => [sum.segment, sum.base, sum.index].into_iter().filter_map(lane).collect(),
        }
    }

    fn further(mut self, by: u64) -> Address {
        let disp = match &mut self {
            Address::Logged(_, disp) => disp,
            Address::Sum(sum) => &mut sum.disp,
        };
        *disp = disp.wrapping_add(by);
        self
    }
}

pub struct Sum {
    pub segment: Word,
    pub base: Word,
    pub index: Word,
    /// The index has 32 bits and a sign.
    pub narrow: bool,
    pub scale: u64,
    pub disp: u64,
}

/// Where a value of the record comes from, and which of its granules are wanted in the lanes from `to` on.
#[derive(Clone, Copy)]
pub struct Input {
    pub slot: u16,
    pub bytes: u8,
    pub wanted: u8,
    pub to: Number,
}

/// A sum, product, quotient or root of doubles or singles.
pub struct Plain {
    pub operator: Operator,
    pub args: [Number; 3],
    pub to: Number,
    pub at: LocationId,
    pub site: usize,
}

/// A branch on two doubles or singles.
pub struct Compare {
    pub cond: Cond,
    pub ty: Type,
    pub args: [Number; 2],
    pub spot: usize,
}

/// Logic on eight bytes, which may change the sign of a double.
pub struct Logic {
    pub op: BitOp,
    pub args: [[Granule; 2]; 2],
    pub wanted: u8,
    pub to: Number,
    pub at: LocationId,
}

pub enum Instr {
    /// From registers, the first of which has this number.
    Live(usize, Input),
    Load(Address, Input),
    /// A double that is wanted as an argument.
    LoadDouble(Address, Input),
    LiveDouble(usize, Input),
    /// Makes the float that a lane begins with ready to be an argument.
    Double(Number),
    Single(Number),
    Fresh(Input),
    Const {
        bits: u64,
        wide: bool,
        to: Number,
    },
    /// For floats of two types that begin at the same place.
    Copy(Number, Number),
    /// Eight bytes out of two granules.
    Join([Granule; 2], Number),
    Doubles(Plain),
    Singles(Plain),
    Compare(Compare),
    Logic(Logic),
    Put {
        first: usize,
        from: SmallVec<[Number; GRANULES]>,
    },
    Drop {
        first: usize,
        count: usize,
    },
    Store {
        addr: Address,
        ty: Type,
        from: [Number; GRANULES],
    },
    /// The result of an operation on doubles.
    StoreDouble {
        addr: Address,
        from: Number,
    },
    /// Into the frame, as the value with this number.
    Assemble(Index, SmallVec<[Granule; GRANULES]>),
    Step(Index),
    /// All that there is to the entry and to a result of a common function.
    Enter(Box<Entry>),
    Leave(Box<Return>),
    /// Out of the frame.
    TakeApart {
        value: Index,
        wanted: u8,
        to: Number,
    },
}

pub struct Lanes {
    pub instrs: Vec<Instr>,
    pub count: usize,
    /// Lanes that are filled as arguments. Of those that are nodes compiled code leaves out the rest.
    pub are_lean: Vec<bool>,
}

impl Instr {
    pub fn is_operation(&self) -> bool {
        matches!(self, Instr::Doubles(_) | Instr::Singles(_))
    }

    /// Calls a function with each lane that it reads.
    pub fn each_read(&self, mut read: impl FnMut(Number)) {
        let mut all = |lanes: &[Number]| lanes.iter().for_each(|lane| read(*lane));
        let lane_of = |granule: &Granule| granule.lane;
        match self {
            Instr::Double(lane) | Instr::Single(lane) | Instr::Copy(lane, _) => all(&[*lane]),
            Instr::Doubles(plain) | Instr::Singles(plain) => all(&plain.args[..plain.operator.arity()]),
            Instr::Compare(compare) => all(&compare.args),
            Instr::Join(granules, _) => all(&granules.each_ref().map(lane_of)),
            Instr::Logic(logic) => logic.args.iter().for_each(|granules| all(&granules.each_ref().map(lane_of))),
            Instr::Put { from, .. } => all(from),
            Instr::Assemble(_, granules) => {
                all(&granules.iter().map(lane_of).collect::<SmallVec<[Number; GRANULES]>>())
            }
            Instr::Store { addr, from, .. } => {
                all(from);
                all(&addr.lanes());
            }
            Instr::StoreDouble { addr, from } => {
                all(&[*from]);
                all(&addr.lanes());
            }
            Instr::Load(addr, _) | Instr::LoadDouble(addr, _) => all(&addr.lanes()),
            Instr::Live(..) | Instr::LiveDouble(..) | Instr::Fresh(_) | Instr::Const { .. } | Instr::Drop { .. } => {}
            Instr::Step(_) | Instr::TakeApart { .. } | Instr::Enter(_) | Instr::Leave(_) => {}
        }
    }

    /// Does it no more than fill lanes, or make them ready?
    fn is_early(&self) -> bool {
        use Instr::*;
        matches!(
            self,
            Load(..) | LoadDouble(..) | Live(..) | LiveDouble(..) | Fresh(_) | Const { .. } | Double(_) | Single(_)
        )
    }

    /// The lane that it makes an argument of.
    fn argument(&self) -> Option<Number> {
        match self {
            Instr::Doubles(plain) | Instr::Singles(plain) => Some(plain.to),
            Instr::LoadDouble(_, input) | Instr::LiveDouble(_, input) => Some(input.to),
            _ => None,
        }
    }
}

/// How a statement is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It only says what is where.
    Alias,
    Input,
    Plain,
    Logic,
    Output,
    Step,
}

/// The granule of a value in which four bytes were defined.
#[derive(Clone, Copy)]
struct Source {
    value: Index,
    granule: u8,
    room: u8,
}

impl Lanes {
    /// The steps are those of the block's statements.
    pub fn new(block: &Block, steps: &[Step]) -> Lanes {
        if let Some(instrs) = calls::whole(steps) {
            return Lanes::of(instrs, NOTHING + 1);
        }
        // What a function returns changes a value that was there before; and so many lanes have no numbers.
        let is_odd = |step: &Step| matches!(step, Step::Enter { .. } | Step::Leave { .. });
        let all_odd = steps.iter().any(is_odd) || steps.len() * (GRANULES + 3) > Number::MAX as usize;
        let kind = |step: &Step| if all_odd { Kind::Step } else { kind(step) };
        let kinds: Vec<Kind> = steps.iter().map(kind).collect();
        let sources = sources(block, &kinds);
        let mut maker = Maker {
            block,
            steps,
            wanted: vec![0; steps.len()],
            in_frame: vec![false; steps.len()],
            as_doubles: vec![0; steps.len()],
            lanes: vec![NOTHING; steps.len()],
            ready: vec![None],
            is_assembled: vec![false; steps.len()],
            kinds,
            sources,
            next: NOTHING + 1,
            instrs: Vec::new(),
        };
        (0..steps.len()).rev().for_each(|index| maker.want(index));
        (0..steps.len()).for_each(|index| maker.emit(index));
        Lanes::of(maker.instrs, maker.next)
    }

    fn of(mut instrs: Vec<Instr>, count: Number) -> Lanes {
        hoist(&mut instrs);
        sink(&mut instrs);
        gather(&mut instrs);
        let count = count as usize;
        let mut are_lean = vec![false; count];
        instrs.iter().filter_map(Instr::argument).for_each(|lane| are_lean[lane as usize] = true);
        Lanes { instrs, count, are_lean }
    }
}

/// Moves what fills lanes to before the operations that it has nothing to do with: the CPU sees only so far ahead, and all of it can be fetched at once.
fn hoist(instrs: &mut [Instr]) {
    for number in 0..instrs.len() {
        if !instrs[number].is_early() {
            continue;
        }
        let passes = |other: &Instr| match other {
            Instr::Doubles(plain) | Instr::Singles(plain) => {
                let mut is_free = true;
                instrs[number].each_read(|lane| is_free &= lane != plain.to);
                is_free
            }
            _ => false,
        };
        let to = number - instrs[..number].iter().rev().take_while(|other| passes(other)).count();
        instrs[to..=number].rotate_right(1);
    }
}

/// Moves stores to behind the operations that follow, so that those which lie next to each other come one after the other.
fn sink(instrs: &mut [Instr]) {
    for number in (0..instrs.len()).rev() {
        if matches!(instrs[number], Instr::Store { .. } | Instr::StoreDouble { .. }) {
            let further = instrs[number + 1..].iter().take_while(|other| other.is_operation()).count();
            instrs[number..=number + further].rotate_left(1);
        }
    }
}

/// Of loads that come one after the other, those from the same base do.
fn gather(instrs: &mut [Instr]) {
    let base = |instr: &Instr| match instr {
        Instr::LoadDouble(Address::Logged(slot, _), _) => Some(*slot),
        _ => None,
    };
    let is_alike = |a: &Instr, b: &Instr| base(a).is_some() == base(b).is_some();
    instrs.chunk_by_mut(is_alike).for_each(|run| run.sort_by_key(base));
}

fn kind(step: &Step) -> Kind {
    let is_common = |ty: Type| matches!(ty, Type::F32 | Type::F64 | Type::B32 | Type::B64 | Type::B128);
    match step {
        Step::Extract { ty, .. } if is_common(*ty) => Kind::Alias,
        Step::Concat { parts } if parts.iter().all(|(_, ty)| is_common(*ty)) => Kind::Alias,
        Step::Live { place, ty, .. } if is_common(*ty) && Registers::fixed(*place, ty.bytes()).is_some() => Kind::Input,
        Step::Load { ty, .. } | Step::Fresh { ty, .. } | Step::Const { ty, .. } if is_common(*ty) => Kind::Input,
        Step::Apply { is_plain: true, site: Some(_), .. } => Kind::Plain,
        Step::Branch { ty: Type::F32 | Type::F64, .. } => Kind::Output,
        Step::Bitwise { ty: Type::B64 | Type::F64, .. } => Kind::Logic,
        Step::Put { place, ty, .. } if is_common(*ty) && Registers::fixed(*place, ty.bytes()).is_some() => Kind::Output,
        Step::Drop { place, bytes } if Registers::fixed(*place, *bytes).is_some() => Kind::Output,
        Step::Store { ty, .. } if is_common(*ty) => Kind::Output,
        _ => Kind::Step,
    }
}

/// Of each value, where its granules were defined.
fn sources(block: &Block, kinds: &[Kind]) -> Vec<SmallVec<[Source; GRANULES]>> {
    let mut all: Vec<SmallVec<[Source; GRANULES]>> = Vec::with_capacity(kinds.len());
    for (value, (stmt, kind)) in block.stmts.iter().zip(kinds).enumerate() {
        let take = |from: Value, granule: usize, ty: Type| {
            let taken: SmallVec<[Source; GRANULES]> = (0..ty.granules())
                .filter_map(|i| {
                    let source = all[from.index()].get(granule + i)?;
                    Some(Source { room: source.room.min((ty.bytes() - GRANULE * i) as u8), ..*source })
                })
                .collect();
            taken
        };
        let ty = stmt.ty.unwrap_or(Type::Flags);
        let mut sources = SmallVec::new();
        match &stmt.op {
            Op::Extract { from, granule } if *kind == Kind::Alias => sources = take(*from, *granule as usize, ty),
            Op::Concat { parts } if *kind == Kind::Alias => {
                for part in parts {
                    sources.extend(take(*part, 0, block.type_of(*part).unwrap_or(Type::Flags)));
                }
            }
            _ => sources.extend((0..ty.granules()).map(|granule| Source {
                value,
                granule: granule as u8,
                room: (ty.bytes() - GRANULE * granule) as u8,
            })),
        }
        all.push(sources);
    }
    all
}

struct Maker<'a> {
    block: &'a Block,
    steps: &'a [Step],
    kinds: Vec<Kind>,
    sources: Vec<SmallVec<[Source; GRANULES]>>,
    /// The granules of each value that are wanted in lanes; whether it is wanted in the frame.
    wanted: Vec<u8>,
    in_frame: Vec<bool>,
    /// The granules at which doubles are wanted.
    as_doubles: Vec<u8>,
    /// The first lane of each value.
    lanes: Vec<Number>,
    /// As what the float that a lane begins with is ready to be an argument.
    ready: Vec<Option<Type>>,
    is_assembled: Vec<bool>,
    next: Number,
    instrs: Vec<Instr>,
}

impl Maker<'_> {
    /// Says what a statement wants, if it is wanted itself. Those behind it have done so.
    fn want(&mut self, index: Index) {
        if !self.is_wanted(index) {
            return;
        }
        let steps = self.steps;
        match (&steps[index], self.kinds[index]) {
            (_, Kind::Alias) => self.want_granules(index),
            (Step::Load { addr, .. }, Kind::Input) => self.want_address(addr),
            (_, Kind::Input) => {}
            (Step::Apply { args, ty, .. }, Kind::Plain) => args.iter().for_each(|arg| self.want_float(*arg, *ty)),
            (Step::Bitwise { args, .. }, Kind::Logic) => args.iter().for_each(|arg| self.want_granules(*arg)),
            (Step::Branch { args, ty, .. }, Kind::Output) => args.iter().for_each(|arg| self.want_float(*arg, *ty)),
            (Step::Put { value, .. }, Kind::Output) => self.want_granules(*value),
            (Step::Store { addr, value, .. }, Kind::Output) => {
                self.want_address(addr);
                self.want_granules(*value);
            }
            _ => self.each_use(index, |maker, value| {
                maker.in_frame[value] = true;
                maker.want_granules(value);
            }),
        }
        // Who is put together in the frame needs all its lanes.
        if self.in_frame[index] && self.kinds[index] != Kind::Step {
            self.want_granules(index);
        }
    }

    /// An operation is looked at whether its result is used or not.
    fn is_wanted(&self, index: Index) -> bool {
        let op = &self.block.stmts[index].op;
        op.has_effect() || matches!(op, Op::Apply { .. }) || self.wanted[index] != 0 || self.in_frame[index]
    }

    /// The values that a step uses. (What a part of an address has moved by is in the address already.)
    fn each_use(&mut self, index: Index, mut with: impl FnMut(&mut Self, Index)) {
        let block = self.block;
        block.stmts[index].for_each_use(&mut |value| {
            with(self, value.index());
            if let Op::Advance { from, .. } = block.stmts[value.index()].op {
                with(self, from.index());
            }
        });
    }

    fn want_granules(&mut self, value: Index) {
        for source in &self.sources[value] {
            self.wanted[source.value] |= 1 << source.granule;
        }
    }

    fn want_float(&mut self, value: Index, ty: Type) {
        let Some(first) = self.sources[value].first().copied() else { return };
        self.wanted[first.value] |= 1 << first.granule;
        self.as_doubles[first.value] |= ((ty == Type::F64) as u8) << first.granule;
        if let Some(second) = self.sources[value].get(1).filter(|_| ty.bytes() > GRANULE)
            && !is_next(&first, second)
        {
            self.wanted[second.value] |= 1 << second.granule;
        }
    }

    fn want_address(&mut self, addr: &program::Address) {
        let parts = [addr.segment, addr.base, addr.index.as_ref().map(|scaled| scaled.index)];
        for value in parts.into_iter().flatten() {
            if self.logged(value).is_none() && !matches!(self.steps[value], Step::Const { .. }) {
                self.want_granules(value);
            }
        }
    }

    /// Where the record has the value as it is.
    fn logged(&self, value: Index) -> Option<Word> {
        match &self.steps[value] {
            Step::Live { ty, slot, .. } | Step::Fresh { ty, slot } | Step::Load { ty, slot, .. } => match ty.bytes() {
                8 => Some(Word::Logged(slot.0)),
                4 => Some(Word::LoggedShort(slot.0)),
                _ => None,
            },
            _ => None,
        }
    }

    fn emit(&mut self, index: Index) {
        let (wanted, steps) = (self.wanted[index], self.steps);
        if !self.is_wanted(index) {
            return;
        }
        match (&steps[index], self.kinds[index]) {
            (_, Kind::Alias) => {}
            (step, Kind::Input) => self.emit_input(index, step),
            (Step::Apply { operator, args, ty, at, site: Some(site), .. }, Kind::Plain) => {
                let mut lanes = [NOTHING; 3];
                for (lane, arg) in lanes.iter_mut().zip(args) {
                    *lane = self.argument(*arg, *ty);
                }
                let to = self.new_lanes(index, 1);
                self.ready[to as usize] = Some(*ty);
                let plain = Plain { operator: *operator, args: lanes, to, at: *at, site: *site };
                self.instrs.push(if *ty == Type::F64 { Instr::Doubles(plain) } else { Instr::Singles(plain) });
            }
            (Step::Bitwise { op, args, at, .. }, Kind::Logic) => {
                let args = args.map(|arg| [0, 1].map(|granule| self.granule(arg, granule)));
                let to = self.new_lanes(index, GRANULES);
                self.instrs.push(Instr::Logic(Logic { op: *op, args, wanted, to, at: *at }));
            }
            (Step::Branch { cond, ty, args, spot }, Kind::Output) => {
                let args = args.map(|arg| self.argument(arg, *ty));
                self.instrs.push(Instr::Compare(Compare { cond: *cond, ty: *ty, args, spot: *spot }));
            }
            (Step::Put { place, ty, value }, Kind::Output) => {
                let Some(places) = Registers::fixed(*place, ty.bytes()) else { return };
                let from = (0..places.len()).map(|granule| self.part(*value, granule)).collect();
                self.instrs.push(Instr::Put { first: places.start, from });
            }
            (Step::Drop { place, bytes }, Kind::Output) => {
                let Some(places) = Registers::fixed(*place, *bytes) else { return };
                self.instrs.push(Instr::Drop { first: places.start, count: places.len() });
            }
            (Step::Store { addr, ty, value }, Kind::Output) => {
                let from = std::array::from_fn(|granule| self.part(*value, granule));
                let addr = self.address(addr);
                let is_result =
                    ty.bytes() == 8 && self.ready[from[0] as usize] == Some(Type::F64) && self.is_result(*value);
                self.instrs.push(match is_result {
                    true => Instr::StoreDouble { addr, from: from[0] },
                    false => Instr::Store { addr, ty: *ty, from },
                });
            }
            (step, _) => {
                self.each_use(index, |maker, value| maker.assemble(value));
                if !matches!(step, Step::Nothing) {
                    self.instrs.push(Instr::Step(index));
                }
                if wanted != 0 {
                    let to = self.new_lanes(index, GRANULES);
                    self.instrs.push(Instr::TakeApart { value: index, wanted, to });
                }
            }
        }
    }

    fn emit_input(&mut self, index: Index, step: &Step) {
        let wanted = self.wanted[index];
        if wanted == 0 {
            return;
        }
        let to = self.new_lanes(index, GRANULES);
        let bytes = self.block.stmts[index].ty.map_or(0, Type::bytes);
        let input = |slot: u16| Input { slot, bytes: bytes as u8, wanted, to };
        // Nothing but doubles, each as an argument.
        let doubles = (0..bytes / 8).map(|number| 2 * number).filter(|granule| wanted >> granule & 1 == 1);
        let all_doubles = wanted & !0b101 == 0 && wanted & !self.as_doubles[index] == 0 && bytes >= 8;
        let all_doubles = all_doubles && matches!(step, Step::Live { .. } | Step::Load { .. });
        let double = |granule: usize, slot: u16| Input {
            slot: slot + (GRANULE * granule) as u16,
            bytes: 8,
            wanted: 1,
            to: to + granule as Number,
        };
        if all_doubles {
            doubles.clone().for_each(|granule| self.ready[to as usize + granule] = Some(Type::F64));
        }
        match step {
            Step::Live { place, ty, slot } => {
                let Some(places) = Registers::fixed(*place, ty.bytes()) else { return };
                if all_doubles {
                    let live = |granule| Instr::LiveDouble(places.start + granule, double(granule, slot.0));
                    self.instrs.extend(doubles.map(live));
                } else {
                    self.instrs.push(Instr::Live(places.start, input(slot.0)));
                }
            }
            Step::Load { addr, slot, .. } => {
                if all_doubles {
                    for granule in doubles {
                        let addr = self.address(addr).further((GRANULE * granule) as u64);
                        self.instrs.push(Instr::LoadDouble(addr, double(granule, slot.0)));
                    }
                } else {
                    let addr = self.address(addr);
                    self.instrs.push(Instr::Load(addr, input(slot.0)));
                }
            }
            Step::Fresh { slot, .. } => self.instrs.push(Instr::Fresh(input(slot.0))),
            Step::Const { bits, ty } => {
                for granule in (0..ty.granules()).filter(|granule| wanted >> granule & 1 == 1) {
                    let bits = (bits >> (8 * GRANULE * granule)) as u64;
                    let wide = granule + 1 < ty.granules();
                    let bits = if wide { bits } else { bits as u32 as u64 };
                    self.instrs.push(Instr::Const { bits, wide, to: to + granule as Number });
                }
            }
            _ => {}
        }
    }

    fn new_lanes(&mut self, value: Index, count: usize) -> Number {
        let first = self.next;
        self.next += count as Number;
        self.ready.resize(self.next as usize, None);
        self.lanes[value] = first;
        first
    }

    /// Puts a value together in the frame, if it is not there.
    fn assemble(&mut self, value: Index) {
        if self.kinds[value] != Kind::Step && !std::mem::replace(&mut self.is_assembled[value], true) {
            let granules = (0..self.sources[value].len()).map(|granule| self.granule(value, granule)).collect();
            self.instrs.push(Instr::Assemble(value, granules));
        }
    }

    fn granule(&self, value: Index, granule: usize) -> Granule {
        let Some(source) = self.sources[value].get(granule) else {
            return Granule { lane: NOTHING, upper: false, room: 0 };
        };
        let lane = self.lanes[source.value];
        match self.kinds[source.value] {
            // All of it is in one lane.
            Kind::Plain => Granule { lane, upper: source.granule == 1, room: source.room },
            _ => Granule { lane: lane + source.granule as Number, upper: false, room: source.room },
        }
    }

    /// The lane of the first eight bytes of a value.
    fn double(&mut self, value: Index) -> Number {
        let granules = [0, 1].map(|granule| self.granule(value, granule));
        match self.sources[value][..] {
            [first, second, ..] if is_next(&first, &second) && !granules[0].upper => granules[0].lane,
            _ => self.join(granules),
        }
    }

    /// A lane that begins with the first four bytes of a value.
    fn single(&mut self, value: Index) -> Number {
        let granule = self.granule(value, 0);
        if granule.upper {
            self.join([granule, Granule { lane: NOTHING, upper: false, room: 0 }])
        } else {
            granule.lane
        }
    }

    /// The lane of a value that an operation on floats of this type has as an argument.
    fn argument(&mut self, value: Index, ty: Type) -> Number {
        let is_double = ty == Type::F64;
        let mut lane = if is_double { self.double(value) } else { self.single(value) };
        if self.ready[lane as usize].is_some_and(|ready| ready != ty) {
            let copy = self.new_lane();
            self.instrs.push(Instr::Copy(lane, copy));
            lane = copy;
        }
        if self.ready[lane as usize].is_none() {
            self.ready[lane as usize] = Some(ty);
            self.instrs.push(if is_double { Instr::Double(lane) } else { Instr::Single(lane) });
        }
        lane
    }

    /// Is it the result of a plain operation, whole?
    fn is_result(&self, value: Index) -> bool {
        self.sources[value].first().is_some_and(|source| self.kinds[source.value] == Kind::Plain)
    }

    /// A lane that knows what is known about the float that begins at a granule, and no more.
    fn part(&mut self, value: Index, granule: usize) -> Number {
        let Some(source) = self.sources[value].get(granule).copied() else { return NOTHING };
        let bytes = self.block.stmts[source.value].ty.map_or(0, Type::bytes);
        let granule = self.granule(value, granule);
        match granule.upper {
            true => NOTHING,
            false if source.room as usize == bytes - GRANULE * source.granule as usize => granule.lane,
            false => self.join([granule, Granule { lane: NOTHING, upper: false, room: 0 }]),
        }
    }

    fn join(&mut self, granules: [Granule; 2]) -> Number {
        let to = self.new_lane();
        self.instrs.push(Instr::Join(granules, to));
        to
    }

    fn new_lane(&mut self) -> Number {
        self.ready.push(None);
        self.next += 1;
        self.next - 1
    }

    fn address(&mut self, addr: &program::Address) -> Address {
        let mut disp = addr.disp;
        let mut word = |value: Option<Index>, scale: u64, narrow: bool| match value {
            None => Word::None,
            Some(value) => match (self.logged(value), &self.steps[value]) {
                (Some(word), _) => word,
                (None, Step::Const { bits, .. }) => {
                    let bits = if narrow { *bits as i32 as u64 } else { *bits as u64 };
                    disp = disp.wrapping_add(bits.wrapping_mul(scale));
                    Word::None
                }
                _ if self.sources[value].len() > 1 => Word::Lane(self.double(value)),
                _ => Word::LaneShort(self.single(value)),
            },
        };
        let (segment, base) = (word(addr.segment, 1, false), word(addr.base, 1, false));
        let (scale, narrow) = addr.index.as_ref().map_or((0, false), |scaled| (scaled.scale, scaled.narrow));
        let index = word(addr.index.as_ref().map(|scaled| scaled.index), scale, narrow);
        match (segment, base, index) {
            (Word::None, Word::Logged(slot), Word::None) => Address::Logged(slot, disp),
            _ => Address::Sum(Box::new(Sum { segment, base, index, narrow, scale, disp })),
        }
    }
}

/// Does the lane of the one end with the other?
fn is_next(first: &Source, second: &Source) -> bool {
    first.value == second.value && first.granule + 1 == second.granule
}
