//! Builds a block: tracks which value each granule of each register holds, and logs what must be known when it is read.
//!
//! Moving granules about is free: only reading one as part of a typed value makes statements. What is read of a
//! register that the block has not written is `live`, what an unlifted instruction has written is `fresh`; either is
//! logged before the instruction that reads it, and remembered, so that it is logged once.

mod pieces;

use crate::registers::{General, Granule, HALF, Vector, WHOLE};
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
    pub x87: crate::x87::Stack,
}

/// Where an argument's granules are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Source {
    Register(Reg),
    /// A loaded or immediate value of so many granules; nothing above them is ever asked for.
    Value(Value),
    /// Two of 16 bytes, the lower one first.
    Wide([Value; 2]),
}

impl Builder {
    pub fn new(instrs: Vec<GuestInstr>) -> Builder {
        Builder {
            x87: crate::x87::Stack::new(instrs.len()),
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

    /// A value that is logged after the instruction.
    pub fn value_after(&mut self, ty: Type, op: Op) -> Value {
        self.block.push(self.instr, When::After, Some(ty), op)
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
        self.value_after(ty, Op::Fresh { place: Place { reg, offset: 0 }, slot: Slot::UNASSIGNED })
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
    pub fn peek(&self, source: Source) -> [Granule; WHOLE] {
        match source {
            Source::Register(Reg::Vec(number)) => self.vectors[number as usize].granules,
            Source::Register(Reg::Gpr(number)) => padded(&self.generals[number as usize].granules),
            Source::Register(_) => padded(&[]),
            Source::Value(value) => padded(&Granule::parts_of(value)),
            Source::Wide(values) => padded(values.map(Granule::parts_of).as_flattened()),
        }
    }

    /// A source's granules, of which those in `mask` that are untouched are logged now. They can be put elsewhere.
    pub fn granules(&mut self, source: Source, mask: u8) -> [Granule; WHOLE] {
        if let Source::Register(reg) = source {
            self.log(reg, mask, Granule::Untouched);
        }
        self.peek(source)
    }

    /// The same, but unknown granules are logged as well: those in `mask` are all parts of values.
    pub fn known_granules(&mut self, source: Source, mask: u8) -> [Granule; WHOLE] {
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

    /// Logs the granules in `mask` that are in this state, in one piece for each half of a vector register.
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
                let in_state = (0..WHOLE).filter(|&g| granules[g] == state).fold(0, |set, g| set | 1 << g);
                let wanted: u8 = mask & in_state;
                match wanted & 0b1111 {
                    0 => {}
                    0b0001 => self.log_piece(number, 0, 1, state),
                    0b0010 | 0b0011 => self.log_piece(number, 0, 2, state),
                    0b0100 | 0b1000 | 0b1100 => self.log_piece(number, 2, 2, state),
                    _ => self.log_piece(number, 0, HALF, state),
                }
                // No store but one reaches the upper half.
                if wanted >> HALF != 0 {
                    self.log_piece(number, HALF, HALF, state);
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

    /// Can there be a shadow in this granule of a vector register? Not in a constant, or in what is newly made. What comes from a
    /// general register may be a float that was kept there over a call.
    pub fn may_carry_float(&self, granule: Granule) -> bool {
        match granule {
            Granule::Untouched => true,
            Granule::Unknown => false,
            Granule::Part { value, .. } => self.value_may_carry_float(value, true),
        }
    }

    /// Is there likely one in this granule of a general register? Only if the block itself put it there: most are integers.
    pub fn likely_carries_float(&self, granule: Granule) -> bool {
        matches!(granule, Granule::Part { value, .. } if self.value_may_carry_float(value, false))
    }

    pub fn type_of(&self, value: Value) -> Type {
        self.block.type_of(value).unwrap_or(Type::B32)
    }

    fn value_may_carry_float(&self, value: Value, from_general: bool) -> bool {
        match &self.block.stmts[value.index()].op {
            Op::Const { .. } | Op::Fresh { .. } => false,
            Op::Live { place, .. } => from_general || matches!(place.reg, Reg::Vec(_)),
            Op::Extract { from, .. } => self.value_may_carry_float(*from, from_general),
            Op::Concat { parts } => parts.iter().any(|&part| self.value_may_carry_float(part, from_general)),
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
                self.vectors[number as usize] = Vector { granules: [Granule::Unknown; WHOLE], written: [true; WHOLE] };
            }
            _ => {}
        }
    }

    /// The same, of a legacy instruction: it leaves the upper half of a vector register alone.
    pub fn forget_low(&mut self, reg: Reg) {
        match reg {
            Reg::Vec(number) => (0..HALF).for_each(|at| self.write_vector(number, at, Granule::Unknown)),
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

    /// Claims, to be checked, that the vector registers hold what the present instruction is said to have put there.
    pub fn check_changes(&mut self) {
        for number in 0..16u8 {
            let granules = self.vectors[number as usize].granules;
            let known =
                |mask: u8| (0..WHOLE).all(|g| mask & 1 << g == 0 || matches!(granules[g], Granule::Part { .. }));
            let changed = self.changed[number as usize];
            // Halves are checked as the doubles that they mostly are; singles that no store can log alone, together.
            let mut one_value = |range: std::ops::Range<usize>| self.pieces(&granules[range]).len() == 1;
            let mut shapes = Vec::new();
            if changed & 0b1111 == 0b1111 && known(0b1111) && (one_value(0..4) || !one_value(0..2) || !one_value(2..4))
            {
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
            if changed >> HALF != 0 && known(0b1111 << HALF) {
                shapes.push((HALF, HALF));
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
            // A newly made float has no shadow: dropping the old one says the same as logging it would. Neither has an upper
            // half that is zero, as most instructions of AVX leave it and vzeroupper all at once.
            let zeroed = self.constant_bits(&granules[HALF..]) == Some(0);
            let fresh: [bool; WHOLE] =
                std::array::from_fn(|g| written[g] && (g >= HALF && zeroed || self.is_fresh(granules[g])));
            let kept: [Granule; WHOLE] =
                std::array::from_fn(|g| if written[g] && !fresh[g] { granules[g] } else { Granule::Unknown });
            for (at, value) in self.pieces(&kept) {
                self.effect(Op::Put { place: Place::vec(number, 4 * at as u8), value });
            }
            let mut at = 0;
            while at < WHOLE {
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
        crate::x87::finish(&mut self);
        self.block
    }
}

/// The granules of a source, and what is never asked for above them.
fn padded(granules: &[Granule]) -> [Granule; WHOLE] {
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
pub fn mask(first: usize, count: usize) -> u8 {
    (((1u16 << count) - 1) << first) as u8
}
