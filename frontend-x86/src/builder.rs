//! Builds a block: tracks which value each granule of each register holds, and logs what must be known when it is read.
//!
//! Moving granules about is free: only reading one as part of a typed value makes statements. What is read of a
//! register that the block has not written is `live`, what an unlifted instruction has written is `fresh`; either is
//! logged before the instruction that reads it, and remembered, so that it is logged once.

mod pieces;

use crate::registers::{General, Granule, Vector};
use fpgrind_ir::{Addr, Block, GuestInstr, Op, Place, Reg, Slot, Type, Value, When};
use std::collections::{HashMap, HashSet};

pub struct Builder {
    block: Block,
    /// The instruction that statements belong to now.
    instr: u16,
    generals: [General; 16],
    vectors: [Vector; 16],
    fs_base: Option<Value>,
    /// The last comparison of floats, while the flags are still its.
    pub flags: Option<Value>,
    constants: HashMap<(Type, u128), Value>,
    extracts: HashMap<(Value, u8, Type), Value>,
    /// Opaque values that must stay so, because something uses them as bits.
    pinned: HashSet<Value>,
    /// The granules of vector registers that the present instruction has written, a bit each.
    changed: [u8; 16],
}

/// Where an argument's granules are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Source {
    Register(Reg),
    /// A loaded or immediate value of so many granules; nothing above them is ever asked for.
    Value(Value),
}

impl Builder {
    pub fn new(instrs: Vec<GuestInstr>) -> Builder {
        Builder {
            block: Block { instrs, ..Block::default() },
            instr: 0,
            generals: [General::UNTOUCHED; 16],
            vectors: [Vector::UNTOUCHED; 16],
            fs_base: None,
            flags: None,
            constants: HashMap::new(),
            extracts: HashMap::new(),
            pinned: HashSet::new(),
            changed: [0; 16],
        }
    }

    /// What follows belongs to this instruction.
    pub fn begin(&mut self, instr: u16) {
        self.instr = instr;
        self.changed = [0; 16];
    }

    pub fn value(&mut self, ty: Type, op: Op) -> Value {
        self.block.push(self.instr, When::Before, Some(ty), op)
    }

    pub fn effect(&mut self, op: Op) {
        self.block.push(self.instr, When::Before, None, op);
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
    pub fn fresh_after(&mut self, ty: Type, reg: Reg) -> Value {
        let op = Op::Fresh { place: Place { reg, offset: 0 }, slot: Slot::UNASSIGNED };
        self.block.push(self.instr, When::After, Some(ty), op)
    }

    // Addresses.

    /// The contents of a general register as part of an address.
    pub fn address_part(&mut self, number: u8) -> Value {
        let general = self.generals[number as usize];
        if let Some(value) = general.logged {
            return value;
        }
        let (place, slot) = (Place::gpr(number), Slot::UNASSIGNED);
        let untouched = general.granules == [Granule::Untouched; 2];
        let value = self.value(Type::B64, if untouched { Op::Live { place, slot } } else { Op::Fresh { place, slot } });
        self.generals[number as usize].logged = Some(value);
        value
    }

    pub fn fs_base(&mut self) -> Value {
        if let Some(value) = self.fs_base {
            return value;
        }
        let place = Place { reg: Reg::FsBase, offset: 0 };
        let value = self.value(Type::B64, Op::Live { place, slot: Slot::UNASSIGNED });
        self.fs_base = Some(value);
        value
    }

    pub fn forget_fs_base(&mut self) {
        self.fs_base = None;
    }

    // Reading.

    /// What is known of a source's granules, without logging anything.
    pub fn peek(&self, source: Source) -> [Granule; 4] {
        match source {
            Source::Register(Reg::Vec(number)) => self.vectors[number as usize].granules,
            Source::Register(Reg::Gpr(number)) => {
                let [low, high] = self.generals[number as usize].granules;
                [low, high, Granule::Unknown, Granule::Unknown]
            }
            Source::Register(Reg::FsBase | Reg::Mxcsr) => [Granule::Unknown; 4],
            Source::Value(value) => Granule::parts_of(value),
        }
    }

    /// A source's granules, of which those in `mask` that are untouched are logged now. They can be put elsewhere.
    pub fn granules(&mut self, source: Source, mask: u8) -> [Granule; 4] {
        if let Source::Register(reg) = source {
            self.log(reg, mask, Granule::Untouched);
        }
        self.peek(source)
    }

    /// The same, but unknown granules are logged as well: those in `mask` are all parts of values.
    pub fn known_granules(&mut self, source: Source, mask: u8) -> [Granule; 4] {
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
        if ty.granules() == 1 {
            // One wide store logs all lanes; singles above the lowest cannot be logged alone anyway.
            self.known_granules(source, mask(0, lanes));
        }
        (0..lanes).map(|lane| self.read(source, lane * ty.granules(), ty)).collect()
    }

    /// Logs the granules in `mask` that are in this state, in one piece.
    fn log(&mut self, reg: Reg, mask: u8, state: Granule) {
        match reg {
            Reg::Gpr(number) => {
                if self.generals[number as usize].granules.contains(&state) {
                    let value = self.address_part(number);
                    for (index, granule) in self.generals[number as usize].granules.iter_mut().enumerate() {
                        if *granule == state {
                            *granule = Granule::Part { value, index: index as u8 };
                        }
                    }
                }
            }
            Reg::Vec(number) => {
                let granules = self.vectors[number as usize].granules;
                let wanted =
                    (0..4).filter(|&g| mask & 1 << g != 0 && granules[g] == state).fold(0, |set, g| set | 1 << g);
                let (first, count) = match wanted {
                    0 => return,
                    0b0001 => (0, 1),
                    0b0010 | 0b0011 => (0, 2),
                    0b0100 | 0b1000 | 0b1100 => (2, 2),
                    _ => (0, 4),
                };
                let (place, slot) = (Place::vec(number, 4 * first as u8), Slot::UNASSIGNED);
                let op = match state {
                    Granule::Untouched => Op::Live { place, slot },
                    _ => Op::Fresh { place, slot },
                };
                let value = self.value(opaque(count), op);
                // The piece may reach over granules in another state; theirs is the better knowledge.
                for (index, granule) in
                    self.vectors[number as usize].granules[first..first + count].iter_mut().enumerate()
                {
                    if *granule == state {
                        *granule = Granule::Part { value, index: index as u8 };
                    }
                }
            }
            Reg::FsBase | Reg::Mxcsr => {}
        }
    }

    /// Can there be a shadow in this granule? Not in what is known to be an integer, a constant or newly made.
    pub fn may_carry_float(&self, granule: Granule) -> bool {
        match granule {
            Granule::Untouched => true,
            Granule::Unknown => false,
            Granule::Part { value, .. } => self.value_may_carry_float(value),
        }
    }

    /// The same of a granule whose contents are known here, without logging it.
    pub fn may_carry_known_float(&self, granule: Granule) -> bool {
        granule != Granule::Untouched && self.may_carry_float(granule)
    }

    pub fn type_of(&self, value: Value) -> Type {
        self.block.type_of(value).unwrap_or(Type::B32)
    }

    fn value_may_carry_float(&self, value: Value) -> bool {
        match &self.block.stmts[value.index()].op {
            Op::Const { .. } | Op::Fresh { .. } => false,
            Op::Live { place, .. } => matches!(place.reg, Reg::Vec(_)),
            Op::Extract { from, .. } => self.value_may_carry_float(*from),
            Op::Concat { parts } => parts.iter().any(|&part| self.value_may_carry_float(part)),
            _ => true,
        }
    }

    fn is_fresh(&self, granule: Granule) -> bool {
        let Granule::Part { mut value, .. } = granule else { return granule == Granule::Unknown };
        while let Op::Extract { from, .. } = self.block.stmts[value.index()].op {
            value = from;
        }
        matches!(self.block.stmts[value.index()].op, Op::Fresh { .. })
    }

    // Writing.

    pub fn write_vector(&mut self, number: u8, granule: usize, contents: Granule) {
        let vector = &mut self.vectors[number as usize];
        vector.granules[granule] = contents;
        vector.written[granule] = true;
        self.changed[number as usize] |= 1 << granule;
    }

    /// A general register takes these contents, which came from `source`.
    pub fn write_general(&mut self, number: u8, granules: [Granule; 2], source: Source) {
        let (logged, from_vector) = match source {
            Source::Register(Reg::Vec(_)) => (None, true),
            Source::Register(Reg::Gpr(from)) => {
                let from = self.generals[from as usize];
                let whole_copy = granules == from.granules;
                (from.logged.filter(|_| whole_copy), from.from_vector)
            }
            _ => (None, false),
        };
        self.generals[number as usize] = General { granules, logged, from_vector };
    }

    /// Something that is not followed has written the register.
    pub fn forget(&mut self, reg: Reg) {
        match reg {
            Reg::Gpr(number) => self.generals[number as usize] = General::UNKNOWN,
            Reg::Vec(number) => {
                self.vectors[number as usize] = Vector { granules: [Granule::Unknown; 4], written: [true; 4] };
            }
            Reg::FsBase | Reg::Mxcsr => {}
        }
    }

    /// Memory takes the known ones of these granules, float by float.
    pub fn store(&mut self, addr: Addr, granules: &[Granule]) {
        for (at, value) in self.pieces(granules) {
            let addr = Addr { disp: addr.disp.wrapping_add(4 * at as i64), ..addr };
            self.effect(Op::Store { addr, value });
        }
    }

    /// Claims, to be checked, that the vector registers hold what the present instruction is said to have put there.
    pub fn check_changes(&mut self) {
        for number in 0..16u8 {
            let granules = self.vectors[number as usize].granules;
            let known = |mask: u8| (0..4).all(|g| mask & 1 << g == 0 || matches!(granules[g], Granule::Part { .. }));
            let changed = self.changed[number as usize];
            // Halves are checked as the doubles that they mostly are; singles that no store can log alone, together.
            let mut one_value = |range: std::ops::Range<usize>| self.pieces(&granules[range]).len() == 1;
            let mut shapes = Vec::new();
            if changed == 0b1111 && known(0b1111) && (one_value(0..4) || !one_value(0..2) || !one_value(2..4)) {
                shapes.push((0, 4));
            } else {
                if changed & 0b0011 != 0 && changed & 0b0011 != 0b0001 && known(0b0011) {
                    shapes.push((0, 2));
                } else if changed & 0b0001 != 0 && known(0b0001) {
                    shapes.push((0, 1));
                }
                if changed & 0b1100 != 0 && known(0b1100) {
                    shapes.push((2, 2));
                }
            }
            for (first, count) in shapes {
                let value = match self.pieces(&granules[first..first + count])[..] {
                    [(_, value)] => value,
                    _ => self.assemble(&granules[first..first + count], opaque(count)),
                };
                let op = Op::Check { value, place: Place::vec(number, 4 * first as u8), slot: Slot::UNASSIGNED };
                self.block.push(self.instr, When::After, None, op);
            }
        }
    }

    /// Leaves behind what the registers hold for the blocks that follow.
    pub fn finish(mut self) -> Block {
        for number in 0..16u8 {
            let Vector { granules, written } = self.vectors[number as usize];
            // A newly made float has no shadow: dropping the old one says the same as logging it would.
            let fresh: [bool; 4] = std::array::from_fn(|g| written[g] && self.is_fresh(granules[g]));
            let kept: [Granule; 4] =
                std::array::from_fn(|g| if written[g] && !fresh[g] { granules[g] } else { Granule::Unknown });
            for (at, value) in self.pieces(&kept) {
                self.effect(Op::Put { place: Place::vec(number, 4 * at as u8), value });
            }
            let mut at = 0;
            while at < 4 {
                let run = fresh[at..].iter().take_while(|fresh| **fresh).count();
                if run > 0 {
                    self.effect(Op::Drop { place: Place::vec(number, 4 * at as u8), bytes: 4 * run as u8 });
                }
                at += run.max(1);
            }
        }
        for number in 0..16u8 {
            let General { granules, from_vector, .. } = self.generals[number as usize];
            if from_vector {
                for (at, value) in self.pieces(&granules) {
                    self.effect(Op::Put { place: Place { reg: Reg::Gpr(number), offset: 4 * at as u8 }, value });
                }
            }
        }
        self.block
    }
}

pub fn opaque(granules: usize) -> Type {
    match granules {
        1 => Type::B32,
        2 => Type::B64,
        _ => Type::B128,
    }
}

/// The bits of so many granules.
pub fn mask(first: usize, count: usize) -> u8 {
    (((1u16 << count) - 1) << first) as u8
}
