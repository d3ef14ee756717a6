//! What moves floats and computes nothing: granules change places, or an element is chosen when the instruction runs.

use super::Lowering;
use crate::builder::{Source, mask};
use crate::operands::{Operand, at, operand, register, source};
use crate::registers::{Granule, QUARTER, WHOLE};
use crate::tables::{Control, Halves, Pattern, Pick, shuffles::permutation};
use fpgrind_ir::{Op, Reg, Rule, Type, Value};
use iced_x86::{OpKind, Register};

const TO_LOW: &[Pick] = &[Pick::B(0), Pick::B(1), Pick::A(2), Pick::A(3)];
const TO_HIGH: &[Pick] = &[Pick::A(0), Pick::A(1), Pick::B(0), Pick::B(1)];
const FROM_LOW: &[Pick] = &[Pick::A(0), Pick::A(1)];
const FROM_HIGH: &[Pick] = &[Pick::A(2), Pick::A(3)];

impl Lowering<'_> {
    /// May these granules of a general register be a float that another block has left in it?
    fn is_carried(&self, from: Source, granules: usize) -> bool {
        let Source::Register(Reg::Gpr(number)) = from else { return false };
        let held = self.builder.peek(from);
        self.options.carriers >> number & 1 == 1 && held[..granules].iter().all(|held| self.builder.is_entered(*held))
    }

    pub(super) fn rearrange_by(&mut self, pattern: Pattern, element: usize) -> Option<()> {
        let to_memory = self.instr.op0_kind() == OpKind::Memory;
        match pattern {
            Pattern::Fixed(picks) => {
                let arguments = if picks.iter().any(|pick| matches!(pick, Pick::B(_))) { 2 } else { 1 };
                self.rearrange(picks, arguments, element)
            }
            Pattern::Part { upper } => match (to_memory, upper) {
                (true, false) => self.rearrange(FROM_LOW, 1, element),
                (true, true) => self.rearrange(FROM_HIGH, 1, element),
                (false, false) => self.rearrange(TO_LOW, 2, element),
                (false, true) => self.rearrange(TO_HIGH, 2, element),
            },
            Pattern::ByImmediate { picks, arguments } => {
                let immediate = if self.has_immediate() { self.instr.immediate8() } else { 0 };
                let picks = picks(immediate, self.form.granules())?;
                self.rearrange(&picks, arguments, element)
            }
            Pattern::ByBytes => {
                let picks = self.bytes_pattern()?;
                // The argument is the operand before the control.
                let from = source(self.builder, self.instr, self.form.operands - 2, self.options)?;
                let granules = self.form.granules();
                let needed = picks[..granules].iter().fold(0, |needed, pick| match pick {
                    Pick::A(granule) => needed | mask(*granule as usize, 1),
                    _ => needed,
                });
                let from = self.builder.granules(from, needed);
                let zero = self.builder.zero();
                let moved = picks.map(|pick| match pick {
                    Pick::A(granule) => from[granule as usize],
                    _ => zero,
                });
                // Under a mask single bytes are left out.
                (self.form.mask.is_none()).then(|| self.write_granules(&moved[..granules], element, &[false; WHOLE]))?
            }
        }
    }

    fn has_immediate(&self) -> bool {
        self.form.operands < self.instr.op_count()
    }

    /// The pattern of pshufb, if its control is constant and moves whole granules within their quarters.
    fn bytes_pattern(&mut self) -> Option<[Pick; WHOLE]> {
        let control = self.constants(self.form.operands - 1)?;
        let mut picks = [Pick::Zero; WHOLE];
        for (at, control) in control.iter().enumerate().take(self.form.granules()) {
            let bytes = control.to_le_bytes();
            let first = bytes[0] & 15;
            let whole = first % 4 == 0 && (0..4).all(|n| bytes[n as usize] & 0x8f == first + n);
            picks[at] = match whole {
                true => Pick::A((at as u8 & 12) + first / 4),
                false if bytes.iter().all(|byte| byte & 0x80 != 0) => Pick::Zero,
                false => return None,
            };
        }
        Some(picks)
    }

    /// The contents of an operand, if they are constant.
    fn constants(&mut self, number: u32) -> Option<[u32; WHOLE]> {
        let control = source(self.builder, self.instr, number, self.options)?;
        let granules = self.builder.peek(control);
        let mut bits = [0; WHOLE];
        for at in 0..self.form.granules() {
            bits[at] = self.builder.constant_bits(&granules[at..at + 1])? as u32;
        }
        Some(bits)
    }

    /// Moves granules. Nothing is computed, and nothing is logged but what was not known.
    pub(super) fn rearrange(&mut self, picks: &[Pick], arguments: u32, element: usize) -> Option<()> {
        let first = self.form.operands.checked_sub(arguments)?;
        let from_memory = self.instr.op_kind(self.form.operands - 1) == OpKind::Memory;
        if self.form.mask.is_some() && arguments == 1 && from_memory {
            return self.load_under_mask(picks, element);
        }
        let destination = operand(self.builder, self.instr, 0)?;
        let picks = match destination {
            Operand::Register(Reg::Gpr(_)) => match self.instr.op0_register().size() {
                4 => &[picks[0], Pick::Zero],
                8 => &picks[..2],
                _ => return None,
            },
            Operand::Memory { bytes, .. } if bytes >= 4 => &picks[..picks.len().min(bytes / 4)],
            Operand::Memory { .. } => return None,
            _ => &picks[..picks.len().min(self.instr.op0_register().size() / 4)],
        };
        // What stays where it is is not read, and neither is an argument of which nothing else is taken.
        let in_place = |argument: u32| {
            matches!(destination, Operand::Register(reg @ Reg::Vec(_))
                if argument < arguments
                    && self.form.mask.is_none()
                    && self.instr.op_kind(first + argument) == OpKind::Register
                    && register(self.instr.op_register(first + argument)) == Some(reg))
        };
        let in_place = [in_place(0), in_place(1)];
        let stays: [bool; WHOLE] = std::array::from_fn(|at| match picks.get(at) {
            Some(Pick::A(granule)) => in_place[0] && *granule as usize == at,
            Some(Pick::B(granule)) => in_place[1] && *granule as usize == at,
            _ => false,
        });
        let mut needed = [0u16; 2];
        for (_, pick) in picks.iter().enumerate().filter(|&(at, _)| !stays[at]) {
            match *pick {
                Pick::A(granule) => needed[0] |= mask(granule as usize, 1),
                Pick::B(granule) => needed[1] |= mask(granule as usize, 1),
                Pick::Zero => {}
            }
        }
        let mut args = [[Granule::Unknown; WHOLE]; 2];
        let mut last = None;
        for argument in 0..arguments as usize {
            if needed[argument] == 0 {
                continue;
            }
            let number = first + argument as u32;
            let from = source(self.builder, self.instr, number, self.options)?;
            last = Some(from);
            args[argument] = match (destination, from) {
                // What is stored, or chosen by a mask, must be known.
                (Operand::Memory { .. }, Source::Register(Reg::Vec(_))) => {
                    self.builder.known_granules(from, needed[argument])
                }
                _ if self.form.mask.is_some() => self.builder.known_granules(from, needed[argument]),
                // Integers are stored all the time: only what may be a float and is known is followed.
                (Operand::Memory { .. }, _) => {
                    let is_carried = self.is_carried(from, picks.len());
                    let granules = match is_carried {
                        true => self.builder.granules(from, needed[argument]),
                        false => self.builder.peek(from),
                    };
                    let follow = match self.instr.op_kind(number) {
                        OpKind::Register if is_carried => true,
                        OpKind::Register => {
                            granules[..picks.len()].iter().any(|&granule| self.builder.likely_carries_float(granule))
                        }
                        OpKind::Memory => return None,
                        _ => is_float_constant(self.instr.immediate(number), picks.len()),
                    };
                    if !follow {
                        return Some(());
                    }
                    granules
                }
                _ => self.builder.granules(from, needed[argument]),
            };
            // Of a granule in memory there is only one, whichever insertps names (Intel SDM, INSERTPS).
            if let Operand::Memory { bytes: 4, .. } = operand(self.builder, self.instr, number)? {
                args[argument] = [args[argument][0]; WHOLE];
            }
        }
        let mut granules = Vec::new();
        for pick in picks {
            granules.push(match *pick {
                Pick::A(granule) => args[0][granule as usize],
                Pick::B(granule) => args[1][granule as usize],
                Pick::Zero => self.builder.zero(),
            });
        }
        match destination {
            Operand::Register(Reg::Vec(_)) => self.write_granules(&granules, element, &stays),
            Operand::Register(Reg::Gpr(number)) => {
                self.builder.write_general(number, [granules[0], granules[1]], last?);
                Some(())
            }
            Operand::Memory { addr, .. } if self.form.mask.is_some() => {
                for (lane, value) in self.elements(&granules, element)?.into_iter().enumerate() {
                    let guard = self.form.guard(self.builder, lane);
                    let (addr, value) = (at(addr, element * lane), value?);
                    self.builder.guarded(guard, |builder| builder.effect(Op::Store { addr, value }));
                }
                Some(())
            }
            Operand::Memory { addr, .. } => {
                self.builder.store(addr, &granules);
                Some(())
            }
            _ => None,
        }
    }

    /// A load under a mask, perhaps with a broadcast: what arrived tells the bits, and where it came from the shadows.
    fn load_under_mask(&mut self, picks: &[Pick], element: usize) -> Option<()> {
        let ty = Type::bits_of(element).filter(|_| element >= 4)?;
        let Operand::Memory { addr, bytes } = operand(self.builder, self.instr, 1)? else { return None };
        let elements = self.form.bytes / element;
        let left = self.left(ty, elements)?;
        let mut results = Vec::new();
        for (lane, &bits) in left.iter().enumerate() {
            let guard = self.form.guard(self.builder, lane);
            let granule = match picks.get(lane * element / 4) {
                Some(Pick::A(granule)) if self.instr.is_broadcast() => *granule as usize % (bytes / 4),
                Some(Pick::A(granule)) => *granule as usize,
                _ => return None,
            };
            let addr = at(addr, 4 * granule);
            results.push(Some(self.builder.guarded(guard, |builder| builder.value(ty, Op::Recall { addr, bits }))));
        }
        self.write_lanes(&results, element, false)
    }

    pub(super) fn move_low(&mut self, ty: Type) -> Option<()> {
        let last = self.form.operands - 1;
        let moves_granules = self.form.mask.is_none() && ty != Type::B16;
        match (operand(self.builder, self.instr, 0)?, self.instr.op_kind(last)) {
            (Operand::Memory { .. }, _) if moves_granules => {
                self.rearrange(&[Pick::A(0), Pick::A(1)][..ty.granules()], 1, ty.bytes())
            }
            (Operand::Register(Reg::Vec(_)), OpKind::Memory) if moves_granules => {
                let zeros = [Pick::A(0), if ty == Type::B64 { Pick::A(1) } else { Pick::Zero }, Pick::Zero, Pick::Zero];
                self.rearrange(&zeros, 1, ty.bytes())
            }
            (Operand::Memory { .. }, _) => {
                let from = source(self.builder, self.instr, last, self.options)?;
                let value = self.builder.read_lane(from, 0, ty);
                self.write_lanes(&[Some(value)], ty.bytes(), true)
            }
            (Operand::Register(Reg::Vec(_)), OpKind::Memory) => {
                let from = self.argument(last, ty.bytes())?;
                let value = self.builder.read_lane(from, 0, ty);
                // The rest becomes zero.
                self.write_lanes(&[Some(value)], ty.bytes(), false)
            }
            (Operand::Register(Reg::Vec(_)), OpKind::Register) if moves_granules => {
                let picks: [Pick; QUARTER] = std::array::from_fn(|granule| match granule as u8 {
                    moved if (moved as usize) < ty.granules() => Pick::B(moved),
                    kept => Pick::A(kept),
                });
                self.rearrange(&picks, 2, ty.bytes())
            }
            (Operand::Register(Reg::Vec(_)), OpKind::Register) => {
                let from = source(self.builder, self.instr, last, self.options)?;
                let value = self.builder.read_lane(from, 0, ty);
                self.write_lanes(&[Some(value)], ty.bytes(), true)
            }
            _ => None,
        }
    }

    /// The second argument's lane where the mask's bit is set, else the first's or zero.
    pub(super) fn blend(&mut self, ty: Type) -> Option<()> {
        let args = self.arguments(2, ty.bytes())?;
        let count = self.form.bytes / ty.bytes();
        let lanes: Vec<Option<Value>> = self.builder.read_lanes(args[1], ty, count).into_iter().map(Some).collect();
        let merged = self.merged(args[0], &lanes, ty.bytes());
        self.form.mask = None;
        self.write_lanes(&merged, ty.bytes(), false)
    }

    pub(super) fn permute(&mut self, ty: Type, by: Control) -> Option<()> {
        if self.has_immediate() {
            let picks = permutation(ty, by, self.instr.immediate8())?;
            return self.rearrange(&picks, 1, ty.bytes());
        }
        let (control, tables): (u32, &[u32]) = match by {
            Control::Second => (1, &[2]),
            Control::ThirdInQuarters(_) => (2, &[1]),
            Control::SecondOfTwo => (1, &[0, 2]),
            Control::FirstOfTwo => (0, &[1, 2]),
        };
        let count = self.form.bytes / ty.bytes();
        // Which lanes one can be chosen from, and from which bit of its control on.
        let choice = |lane: usize| match by {
            Control::ThirdInQuarters(bit) => {
                let in_quarter = 16 / ty.bytes();
                (lane / in_quarter * in_quarter..(lane / in_quarter + 1) * in_quarter, bit)
            }
            _ => (0..tables.len() * count, 0),
        };
        let constants = self.constants(control);
        let control = source(self.builder, self.instr, control, self.options)?;
        let tables: Vec<Source> = tables
            .iter()
            .map(|&number| source(self.builder, self.instr, number, self.options))
            .collect::<Option<_>>()?;
        if let Some(constants) = constants {
            let mut granules = Vec::new();
            for lane in 0..count {
                let (range, bit) = choice(lane);
                let index = range.start + (constants[lane * ty.granules()] >> bit) as usize % range.len();
                let first = index % count * ty.granules();
                let from = tables[index / count];
                let known = self.builder.known_granules(from, mask(first, ty.granules()));
                granules.extend_from_slice(&known[first..first + ty.granules()]);
            }
            return self.write_granules(&granules, ty.bytes(), &[false; WHOLE]);
        }
        let controls = self.builder.read_lanes(control, ty, count);
        let lanes: Vec<Value> = tables.iter().flat_map(|&table| self.builder.read_lanes(table, ty, count)).collect();
        let mut results = Vec::new();
        for (lane, &control) in controls.iter().enumerate() {
            let (range, bit) = choice(lane);
            let from = lanes[range].to_vec();
            results.push(Some(self.builder.value(ty, Op::Pick { control, rule: Rule::Index(bit), from })));
        }
        self.write_lanes(&results, ty.bytes(), false)
    }

    /// Two bytes at a time.
    pub(super) fn halves(&mut self, halves: Halves) -> Option<()> {
        let last = self.form.operands - 1;
        let destination = operand(self.builder, self.instr, 0)?;
        let from = source(self.builder, self.instr, last, self.options)?;
        let lanes = self.form.bytes / 2;
        let immediate = if self.has_immediate() { self.instr.immediate8() as usize % 8 } else { 0 };
        match (halves, destination) {
            (Halves::Move | Halves::Extract, Operand::Register(reg @ Reg::Gpr(_))) => {
                self.builder.forget(reg);
                Some(())
            }
            (Halves::Move | Halves::Extract, _) => {
                let value = self.builder.read_lane(from, immediate, Type::B16);
                self.write_lanes(&[Some(value)], 2, false)
            }
            (Halves::Broadcast, _) => {
                // From memory under a mask: an integer's move, for all that is known.
                let masked_load = self.form.mask.is_some() && self.instr.op_kind(last) == OpKind::Memory;
                if masked_load {
                    return None;
                }
                let value = self.builder.read_lane(from, 0, Type::B16);
                self.write_lanes(&vec![Some(value); lanes], 2, false)
            }
            (Halves::Insert, _) => {
                let value = self.builder.read_lane(from, 0, Type::B16);
                // The operand before the last: the destination itself in the legacy form.
                let into = source(self.builder, self.instr, last - 1, self.options)?;
                let mut results: Vec<Option<Value>> =
                    self.builder.read_lanes(into, Type::B16, 8).into_iter().map(Some).collect();
                results[immediate] = Some(value);
                self.write_lanes(&results, 2, false)
            }
        }
    }
}

/// Could a program mean a float by storing this immediate? Compilers store 0.0, 0.0f and other floats of four bytes so. If
/// it went unnoticed, a shadow of a computed zero would outlive the zero that is written over it: the bits are the same.
fn is_float_constant(bits: u64, granules: usize) -> bool {
    let magnitude = f32::from_bits(bits as u32).abs();
    bits == 0 || granules == 1 && (1e-6..1e9).contains(&magnitude)
}

/// The register that holds the index of a gather.
pub(super) fn index_register(register: Register) -> Option<Source> {
    register.is_vector_register().then(|| Source::Register(Reg::Vec(register.number() as u8)))
}
