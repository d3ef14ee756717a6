//! Builds a block: tracks which value each granule of each register holds, and logs what must be known when it is read.
//!
//! Moving granules about is free: only reading one as part of a typed value makes statements. What is read of a
//! register that the block has not written is `live`, what an unlifted instruction has written is `fresh`; either is
//! logged before the instruction that reads it, and remembered, so that it is logged once.

mod derived;
mod general;
mod knowledge;
mod leaving;
mod pieces;

use crate::escape::{Cell, Derived};
use crate::registers::{General, Granule, QUARTER, Vector, WHOLE};
use fpgrind_ir::{Addr, Block, Guard, GuestInstr, Op, Place, Reg, Slot, Type, Value, When};
use std::collections::{HashMap, HashSet};

#[derive(Clone)]
pub struct Builder {
    block: Block,
    /// The instruction that statements belong to now.
    instr: u16,
    generals: [General; 16],
    /// General registers, a bit each: what is loaded into them may well be a float.
    pub loads: u16,
    /// What was made of floats' bits, and where in memory such things lie that the block has stored; floats themselves have no number.
    derived: Vec<Derived>,
    spills: Vec<(Cell, Option<u16>)>,
    escapes: Vec<derived::Escape>,
    vectors: [Vector; VECTORS],
    /// The mask registers that have been logged, and those that the block has written.
    masks: [Option<Value>; 8],
    masks_written: [bool; 8],
    /// Registers added up as addresses do it, logged while they were what they are now.
    sums: Vec<(Reg, Value)>,
    fs_base: Option<Value>,
    /// The last comparison of floats, while the flags are still its.
    pub flags: Option<Value>,
    constants: HashMap<(Type, u128), Value>,
    extracts: HashMap<(Value, u8, Type), Value>,
    /// Opaque values that must stay so, because something uses them as bits.
    pinned: HashSet<Value>,
    /// The granules of vector registers that the present instruction has written, a bit each.
    changed: [u16; VECTORS],
    /// Under which mask statements stand that are made now.
    guard: Option<Guard>,
    pub x87: crate::x87::Stack,
}

pub const VECTORS: usize = 32;

/// Where an argument's granules are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Source {
    Register(Reg),
    /// Loaded or immediate; unknown above what there is, which is never asked for.
    Granules([Granule; WHOLE]),
}

impl Source {
    /// One value of 16 bytes or less.
    pub fn value(value: Value) -> Source {
        Source::Granules(padded(&Granule::parts_of(value)))
    }
}

impl Builder {
    pub fn new(instrs: Vec<GuestInstr>) -> Builder {
        Builder {
            x87: crate::x87::Stack::new(instrs.len()),
            block: Block { instrs, ..Block::default() },
            instr: 0,
            generals: [General::UNTOUCHED; 16],
            loads: 0,
            derived: Vec::new(),
            spills: Vec::new(),
            escapes: Vec::new(),
            vectors: [Vector::UNTOUCHED; VECTORS],
            masks: [None; 8],
            masks_written: [false; 8],
            sums: Vec::new(),
            fs_base: None,
            flags: None,
            constants: HashMap::new(),
            extracts: HashMap::new(),
            pinned: HashSet::new(),
            changed: [0; VECTORS],
            guard: None,
        }
    }

    /// How many statements there are.
    pub fn len(&self) -> usize {
        self.block.stmts.len()
    }

    /// What follows belongs to this instruction.
    pub fn begin(&mut self, instr: u16) {
        self.instr = instr;
        self.changed = [0; VECTORS];
    }

    pub fn value(&mut self, ty: Type, op: Op) -> Value {
        self.push(When::Before, Some(ty), op)
    }

    /// A value that is logged after the instruction.
    pub fn value_after(&mut self, ty: Type, op: Op) -> Value {
        self.push(When::After, Some(ty), op)
    }

    pub fn effect(&mut self, op: Op) {
        self.push(When::Before, None, op);
    }

    fn push(&mut self, when: When, ty: Option<Type>, op: Op) -> Value {
        let value = self.block.push(self.instr, when, ty, op);
        let stmt = &mut self.block.stmts[value.index()];
        // What is logged or only moved about is there for all; what it is made of may be looked at by others.
        let guarded = matches!(
            stmt.op,
            Op::Apply { .. }
                | Op::Mask { .. }
                | Op::ToInt { .. }
                | Op::Recall { .. }
                | Op::Store { .. }
                | Op::Rescale { .. }
        );
        stmt.guard = self.guard.filter(|_| guarded);
        value
    }

    /// What `make` says is so only where the guard lets it, if there is one.
    pub fn guarded<T>(&mut self, guard: Option<Guard>, make: impl FnOnce(&mut Builder) -> T) -> T {
        let outer = std::mem::replace(&mut self.guard, guard);
        let made = make(self);
        self.guard = outer;
        made
    }

    pub fn constant(&mut self, ty: Type, bits: u128) -> Value {
        if let Some(value) = self.constants.get(&(ty, bits)) {
            return *value;
        }
        let value = self.value(ty, Op::Const { bits });
        self.constants.insert((ty, bits), value);
        value
    }

    pub fn zero(&mut self) -> Granule {
        Granule::Part { value: self.constant(Type::B32, 0), index: 0 }
    }

    /// What the instruction leaves in a register, taken after it.
    pub fn fresh_after(&mut self, ty: Type, place: Place) -> Value {
        self.value_after(ty, Op::Fresh { place, slot: Slot::UNASSIGNED })
    }

    /// So many granules of what the instruction leaves in a vector register, or sees in its memory operand.
    pub fn granules_after(&mut self, reg: Reg, granules: usize) -> Source {
        let mut after = [Granule::Unknown; WHOLE];
        for first in (0..granules).step_by(QUARTER) {
            let value = self.fresh_after(Type::B128, Place { reg, offset: 4 * first as u8 });
            after[first..first + QUARTER].copy_from_slice(&Granule::parts_of(value));
        }
        Source::Granules(after)
    }

    /// The contents of a mask register.
    pub fn mask(&mut self, number: u8) -> Value {
        if let Some(value) = self.masks[number as usize] {
            return value;
        }
        let (place, slot) = (Place::whole(Reg::Mask(number)), Slot::UNASSIGNED);
        let written = self.masks_written[number as usize];
        let value = self.value(Type::B64, if written { Op::Fresh { place, slot } } else { Op::Live { place, slot } });
        self.masks[number as usize] = Some(value);
        value
    }

    // Reading.

    /// What is known of a source's granules, without logging anything.
    pub fn peek(&self, source: Source) -> [Granule; WHOLE] {
        match source {
            Source::Register(Reg::Vec(number)) => self.vectors[number as usize].granules,
            Source::Register(Reg::Gpr(number)) => padded(&self.generals[number as usize].granules),
            Source::Register(_) => padded(&[]),
            Source::Granules(granules) => granules,
        }
    }

    /// A source's granules, of which those in `mask` that are untouched are logged now. They can be put elsewhere.
    pub fn granules(&mut self, source: Source, mask: u16) -> [Granule; WHOLE] {
        if let Source::Register(reg) = source {
            self.log(reg, mask, Granule::Untouched);
        }
        self.peek(source)
    }

    /// The same, but unknown granules are logged as well: those in `mask` are all parts of values.
    pub fn known_granules(&mut self, source: Source, mask: u16) -> [Granule; WHOLE] {
        if let Source::Register(reg) = source {
            self.log(reg, mask, Granule::Untouched);
            self.log(reg, mask, Granule::Unknown);
        }
        self.peek(source)
    }

    /// A source's granules from `first` on, as a value of this type.
    pub fn read(&mut self, source: Source, first: usize, ty: Type) -> Value {
        let mask = mask(first, ty.granules());
        let granules = self.known_granules(source, mask);
        self.assemble(&granules[first..first + ty.granules()], ty)
    }

    /// The low lanes of a source.
    pub fn read_lanes(&mut self, source: Source, ty: Type, lanes: usize) -> Vec<Value> {
        if lanes > 1 {
            // One wide store logs all lanes.
            self.known_granules(source, mask(0, (lanes * ty.bytes()).div_ceil(4)));
        }
        (0..lanes).map(|lane| self.read_lane(source, lane, ty)).collect()
    }

    /// A lane of a source; lanes of two bytes are halves of granules.
    pub fn read_lane(&mut self, source: Source, lane: usize, ty: Type) -> Value {
        if ty.bytes() != 2 {
            return self.read(source, lane * ty.granules(), ty);
        }
        let (at, upper) = (lane / 2, lane % 2 == 1);
        let granules = self.known_granules(source, mask(at, 1));
        let Granule::Part { value, index } = granules[at] else { return self.constant(ty, 0) };
        match &self.block.stmts[value.index()] {
            fpgrind_ir::Stmt { op: Op::Concat { parts }, .. }
                if parts.len() == 2 && self.type_of(parts[upper as usize]) == ty =>
            {
                parts[upper as usize]
            }
            fpgrind_ir::Stmt { ty: Some(found), .. } if *found == ty => value,
            _ => {
                self.pinned.insert(value);
                self.value(ty, Op::Half { from: value, granule: index, upper })
            }
        }
    }

    /// Logs the granules in `mask` that are in this state, in one piece for each quarter of a vector register.
    fn log(&mut self, reg: Reg, mask: u16, state: Granule) {
        match reg {
            Reg::Gpr(number) if self.generals[number as usize].granules.contains(&state) => {
                let value = self.address_part(number);
                for (index, granule) in self.generals[number as usize].granules.iter_mut().enumerate() {
                    if *granule == state {
                        *granule = Granule::Part { value, index: index as u8 };
                    }
                }
            }
            Reg::Vec(number) => {
                let granules = self.vectors[number as usize].granules;
                let in_state = (0..WHOLE).filter(|&g| granules[g] == state).fold(0, |set, g| set | 1 << g);
                let wanted: u16 = mask & in_state;
                match wanted & 0b1111 {
                    0 => {}
                    0b0001 => self.log_piece(number, 0, 1, state),
                    0b0010 | 0b0011 => self.log_piece(number, 0, 2, state),
                    0b0100 | 0b1000 | 0b1100 => self.log_piece(number, 2, 2, state),
                    _ => self.log_piece(number, 0, QUARTER, state),
                }
                // No store but one reaches each of the others.
                for first in [4, 8, 12].into_iter().filter(|first| wanted >> first & 0b1111 != 0) {
                    self.log_piece(number, first, QUARTER, state);
                }
            }
            _ => {}
        }
    }

    fn log_piece(&mut self, number: u8, first: usize, count: usize, state: Granule) {
        let (place, slot) = (Place::vec(number, 4 * first as u8), Slot::UNASSIGNED);
        let op = match state {
            Granule::Untouched => Op::Live { place, slot },
            _ => Op::Fresh { place, slot },
        };
        let value = self.value(opaque(count), op);
        // The piece may reach over granules in another state; theirs is the better knowledge.
        for (index, granule) in self.vectors[number as usize].granules[first..first + count].iter_mut().enumerate() {
            if *granule == state {
                *granule = Granule::Part { value, index: index as u8 };
            }
        }
    }

    pub fn type_of(&self, value: Value) -> Type {
        self.block.type_of(value).unwrap_or(Type::B32)
    }

    // Writing.

    pub fn write_vector(&mut self, number: u8, granule: usize, contents: Granule) {
        let vector = &mut self.vectors[number as usize];
        vector.granules[granule] = contents;
        vector.written[granule] = true;
        self.changed[number as usize] |= 1 << granule;
    }

    /// Something that is not followed has written the register.
    pub fn forget(&mut self, reg: Reg) {
        match reg {
            Reg::Gpr(number) => self.set_general(number, General::UNKNOWN),
            Reg::Vec(number) => {
                self.vectors[number as usize] = Vector { granules: [Granule::Unknown; WHOLE], written: [true; WHOLE] };
            }
            Reg::Mask(number) => {
                self.masks[number as usize] = None;
                self.masks_written[number as usize] = true;
            }
            _ => {}
        }
    }

    /// The same, of a legacy instruction: it leaves all but the lowest quarter of a vector register alone.
    pub fn forget_low(&mut self, reg: Reg) {
        match reg {
            Reg::Vec(number) => (0..QUARTER).for_each(|at| self.write_vector(number, at, Granule::Unknown)),
            _ => self.forget(reg),
        }
    }

    /// Memory takes the known ones of these granules, float by float.
    pub fn store(&mut self, addr: Addr, granules: &[Granule]) {
        for (at, value) in self.pieces(granules) {
            let addr = Addr { disp: addr.disp.wrapping_add(4 * at as i64), ..addr };
            self.effect(Op::Store { addr, value });
        }
    }
}

/// The granules of a source, and what is never asked for above them.
pub fn padded(granules: &[Granule]) -> [Granule; WHOLE] {
    std::array::from_fn(|at| granules.get(at).copied().unwrap_or(Granule::Unknown))
}

pub fn opaque(granules: usize) -> Type {
    match granules {
        1 => Type::B32,
        2 => Type::B64,
        _ => Type::B128,
    }
}

/// The bits of so many granules.
pub fn mask(first: usize, count: usize) -> u16 {
    (((1u32 << count) - 1) << first) as u16
}
