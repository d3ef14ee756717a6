//! What an instruction of the tables does, said through the builder.

mod arithmetic;
mod conversions;
mod general;
mod moves;
mod scattered;

use crate::LiftOptions;
use crate::builder::{Builder, Source, mask};
use crate::coverage::is_followed;
use crate::logic;
use crate::operands::{Form, Operand, address, at, operand, register, source};
use crate::registers::{Granule, QUARTER, WHOLE};
use crate::tables::{General, Lanes, Operation, lookup};
use fpgrind_ir::{Op, Place, Reg, Rule, Type, Value};
use iced_x86::{Code, Instruction, OpKind};
use std::sync::LazyLock;

/// An instruction that is being lowered.
struct Lowering<'a> {
    builder: &'a mut Builder,
    instr: &'a Instruction,
    form: Form,
    options: &'a LiftOptions<'a>,
}

/// Lowers an instruction; nothing if it is not lifted, or not in this form.
pub fn lower(builder: &mut Builder, instr: &Instruction, options: &LiftOptions) -> Option<()> {
    let operation = operation(instr.code())?;
    let form = Form::of(instr);
    Lowering { builder, instr, form, options }.lower(operation)
}

/// What an encoding means. Mnemonics are shared by instructions on MMX and segment registers, which are not followed, and two by strings.
pub fn operation(code: Code) -> Option<Operation> {
    static BY_CODE: LazyLock<Vec<Option<Operation>>> = LazyLock::new(|| {
        let operation = |code: Code| match code {
            Code::Movsd_m32_m32 => Some(Operation::General(General::MoveString { bytes: 4 })),
            Code::Cmpsd_m32_m32 => None,
            _ => lookup(code.mnemonic()).copied().filter(|_| is_followed(code)),
        };
        Code::values().map(operation).collect()
    });
    *BY_CODE.get(code as usize)?
}

impl Lowering<'_> {
    fn lower(&mut self, operation: Operation) -> Option<()> {
        match operation {
            Operation::Apply { operator, lanes } => self.apply(operator, lanes, false),
            Operation::ApplyLogged { operator, lanes } => self.apply(operator, lanes, true),
            Operation::Fused { operators, lanes, order } => self.fused(operators, lanes, order),
            Operation::Alternate { even, odd, ty } => self.alternate([even, odd], ty),
            Operation::Horizontal { operator, ty } => self.horizontal(operator, ty),
            Operation::DotProduct { ty } => self.dot_product(ty),
            Operation::DotProductOfHalves => self.dot_product_of_halves(),
            Operation::Complex { conjugate, accumulate, scalar } => self.complex(conjugate, accumulate, scalar),
            Operation::Round { lanes } => self.round(lanes),
            Operation::RoundScaled { lanes, remainder } => self.round_scaled(lanes, remainder),
            Operation::Mantissa { lanes } => self.mantissa(lanes),
            Operation::OneOf { lanes, arguments } => self.one_of(lanes, arguments),
            Operation::Cast { from, to, scalar } => self.cast(from, to, scalar),
            Operation::CastEverySecond { from, to, odd } => self.cast_every_second(from, to, odd),
            Operation::CastTwo { from, to } => self.cast_two(from, to),
            Operation::ToInt { lanes, bytes, rounding, signed } => self.integers(lanes, bytes, rounding, signed),
            Operation::Leaf { lanes, of, .. } => self.leaf(lanes, of),
            Operation::Exponents { ty } => self.exponents(ty),
            Operation::Mask { lanes } => self.mask(lanes),
            Operation::Compare { ty } => self.compare(ty),
            Operation::Signs { ty } => self.signs(ty),
            Operation::Logic { op, element } => {
                let Operand::Register(destination) = operand(self.builder, self.instr, 0)? else { return None };
                let args = self.arguments(2, element)?;
                let granules = self.form.granules();
                let results = logic::lower(self.builder, op, Some(destination), [args[0], args[1]], granules);
                let old = self.builder.peek(Source::Register(destination));
                let stays = results.map(|granule| granule.is_none());
                let results = std::array::from_fn::<_, WHOLE, _>(|at| results[at].unwrap_or(old[at]));
                self.write_granules(&results[..granules], element, &stays)
            }
            Operation::Ternary { element } => {
                let destination = Source::Register(register(self.instr.op0_register())?);
                let args = self.arguments(2, element)?;
                let granules = self.form.granules();
                let table = self.instr.immediate8();
                let result = logic::ternary(self.builder, table, [destination, args[0], args[1]], granules);
                let result = self.builder.granules(result, mask(0, granules));
                self.write_granules(&result[..granules], element, &[false; WHOLE])
            }
            Operation::Select { ty } => self.select(ty),
            Operation::Blend { ty } => self.blend(ty),
            Operation::Rearrange { pattern, element } => self.rearrange_by(pattern, element),
            Operation::MoveLow { ty } => self.move_low(ty),
            Operation::Permute { ty, by } => self.permute(ty, by),
            Operation::Halves(halves) => self.halves(halves),
            Operation::Compress { ty } => self.compress(ty),
            Operation::Expand { ty } => self.expand(ty),
            Operation::Gather { ty, index } => self.gather(ty, index),
            Operation::Scatter { ty, index } => self.scatter(ty, index),
            Operation::MaskedMove { ty } => self.masked_move(ty),
            Operation::General(general) => self.general(general),
            Operation::SetMxcsr => {
                let from = source(self.builder, self.instr, 0, self.options)?;
                let value = self.builder.read(from, 0, Type::B32);
                self.builder.effect(Op::SetMxcsr { value });
                Some(())
            }
            Operation::SaveState => {
                let addr = address(self.builder, self.instr)?;
                self.builder.leave_registers();
                self.builder.effect(Op::Save { addr });
                Some(())
            }
            Operation::RestoreState => {
                let addr = address(self.builder, self.instr)?;
                self.builder.effect(Op::Restore { addr });
                self.builder.registers_restored();
                let value = self.builder.fresh_after(Type::B32, Place::whole(Reg::Mxcsr));
                self.builder.effect(Op::SetMxcsr { value });
                Some(())
            }
            Operation::ZeroVectors { from } => {
                (0..16).for_each(|number| self.zero(number, from..WHOLE));
                Some(())
            }
        }
    }

    // Arguments.

    /// How many lanes of a width there are.
    fn count(&self, lanes: Lanes) -> usize {
        if lanes.scalar { 1 } else { self.form.bytes / lanes.ty.bytes() }
    }

    /// The last operands, as many as wanted, loaded where they lie in memory. Under a mask memory is read by elements.
    fn arguments(&mut self, count: u32, element: usize) -> Option<Vec<Source>> {
        let first = self.form.operands.checked_sub(count)?;
        (first..self.form.operands).map(|number| self.argument(number, element)).collect()
    }

    fn argument(&mut self, number: u32, element: usize) -> Option<Source> {
        let in_memory = self.instr.op_kind(number) == OpKind::Memory;
        if in_memory && self.form.mask.is_some() {
            return self.masked_operand(number, element);
        }
        source(self.builder, self.instr, number, self.options)
    }

    /// The operand in memory of an instruction under a mask, which must not be read where the mask leaves it out.
    fn masked_operand(&mut self, number: u32, element: usize) -> Option<Source> {
        let Operand::Memory { addr, bytes } = operand(self.builder, self.instr, number)? else { return None };
        let broadcast = self.instr.is_broadcast();
        let bytes = if broadcast { self.instr.op_code().memory_size().size() } else { bytes };
        let granules = (bytes / 4).max(1);
        let seen = self.builder.granules_after(Reg::Operand, granules.next_multiple_of(QUARTER));
        self.recalled(seen, element, bytes / element, |lane| if broadcast { addr } else { at(addr, element * lane) })
    }

    /// Lanes whose bits are known and which lie at these addresses, each where its bit of the mask is set.
    fn recalled(
        &mut self,
        bits: Source,
        element: usize,
        lanes: usize,
        addr: impl Fn(usize) -> fpgrind_ir::Addr,
    ) -> Option<Source> {
        let ty = Type::bits_of(element)?;
        let values: Vec<Option<Value>> = (0..lanes)
            .map(|lane| {
                let bits = self.builder.read_lane(bits, lane, ty);
                let guard = self.form.guard(self.builder, lane);
                let addr = addr(lane);
                Some(self.builder.guarded(guard, |builder| builder.value(ty, Op::Recall { addr, bits })))
            })
            .collect();
        let granules = self.granules_of_lanes(&values, element, None);
        Some(Source::Granules(crate::builder::padded(&granules)))
    }

    /// What the instruction leaves in its destination, if that is a vector register: so many lanes of a type.
    fn left(&mut self, ty: Type, lanes: usize) -> Option<Vec<Value>> {
        let reg = register(self.instr.op0_register()).filter(|reg| matches!(reg, Reg::Vec(_)))?;
        let after = self.builder.granules_after(reg, (lanes * ty.bytes()).div_ceil(16) * QUARTER);
        Some((0..lanes).map(|lane| self.builder.read_lane(after, lane, ty)).collect())
    }

    // Results.

    /// One value for each lane, made under the mask.
    fn lanewise(
        &mut self,
        args: &[Source],
        ty: Type,
        lanes: usize,
        mut lane_value: impl FnMut(&mut Builder, usize, Vec<Value>) -> Value,
    ) -> Vec<Option<Value>> {
        let args: Vec<Vec<Value>> = args.iter().map(|&arg| self.builder.read_lanes(arg, ty, lanes)).collect();
        (0..lanes)
            .map(|lane| {
                let args = args.iter().map(|arg| arg[lane]).collect();
                let guard = self.form.guard(self.builder, lane);
                Some(self.builder.guarded(guard, |builder| lane_value(builder, lane, args)))
            })
            .collect()
    }

    /// The destination takes these lanes of so many bytes each, lanes without a value being unknown; under the mask, if there is one.
    /// Above them it becomes zero, or what it was, or what another operand is there.
    fn write_lanes(&mut self, results: &[Option<Value>], element: usize, scalar: bool) -> Option<()> {
        match operand(self.builder, self.instr, 0)? {
            Operand::Register(Reg::Vec(number)) => {
                let results = self.merged(Source::Register(Reg::Vec(number)), results, element);
                // Of three operands the first source carries its upper part along, of fused ones the destination itself does, and of four none.
                let carried = match self.form.operands {
                    _ if !scalar => None,
                    _ if self.form.legacy => Some(Reg::Vec(number)),
                    3 => register(self.instr.op_register(if self.is_fused() { 0 } else { 1 })),
                    2 => Some(Reg::Vec(number)),
                    _ => None,
                };
                let granules = self.granules_of_lanes(&results, element, carried);
                for (at, granule) in granules.iter().enumerate() {
                    self.builder.write_vector(number, at, *granule);
                }
                self.write_rest(number, granules.len(), carried);
            }
            Operand::Register(reg) => self.builder.forget(reg),
            Operand::Memory { addr, .. } => {
                for (lane, value) in results.iter().enumerate() {
                    let guard = self.form.guard(self.builder, lane);
                    if let Some(value) = *value {
                        let addr = at(addr, element * lane);
                        self.builder.guarded(guard, |builder| builder.effect(Op::Store { addr, value }));
                    }
                }
            }
            Operand::Immediate(_) => return None,
        }
        Some(())
    }

    fn is_fused(&self) -> bool {
        matches!(operation(self.instr.code()), Some(Operation::Fused { .. }))
    }

    /// The lanes where the mask lets them, else what `otherwise` has there, or zero.
    fn merged(&mut self, otherwise: Source, results: &[Option<Value>], element: usize) -> Vec<Option<Value>> {
        let Some(mask) = self.form.mask else { return results.to_vec() };
        let control = self.builder.mask(mask);
        let mut merged = Vec::new();
        for (lane, value) in results.iter().enumerate() {
            // What is left alone of a lane that is not followed cannot be told from it.
            let Some(value) = *value else {
                merged.push(None);
                continue;
            };
            let ty = self.builder.type_of(value);
            let old = if self.form.zeroing {
                self.builder.constant(ty, 0)
            } else {
                debug_assert_eq!(ty.bytes(), element);
                self.builder.read_lane(otherwise, lane, ty)
            };
            let op = Op::Pick { control, rule: Rule::Bit(lane as u8), from: vec![old, value] };
            merged.push(Some(self.builder.value(ty, op)));
        }
        merged
    }

    /// Lanes as granules: those of two bytes in pairs, a single one with the other half of the granule that is carried along.
    fn granules_of_lanes(&mut self, lanes: &[Option<Value>], element: usize, carried: Option<Reg>) -> Vec<Granule> {
        let mut granules = Vec::new();
        if element != 2 {
            for value in lanes {
                granules.extend((0..element as u8 / 4).map(|index| match *value {
                    Some(value) => Granule::Part { value, index },
                    None => Granule::Unknown,
                }));
            }
            return granules;
        }
        for pair in lanes.chunks(2) {
            let upper = match (pair, carried) {
                (&[_, upper], _) => upper,
                (_, Some(reg)) => Some(self.builder.read_lane(Source::Register(reg), 1, Type::B16)),
                (_, None) => Some(self.builder.constant(Type::B16, 0)),
            };
            granules.push(match (pair[0], upper) {
                (Some(lower), Some(upper)) => {
                    let value = self.builder.value(Type::B32, Op::Concat { parts: vec![lower, upper] });
                    Granule::Part { value, index: 0 }
                }
                _ => Granule::Unknown,
            });
        }
        granules
    }

    /// The destination, a vector register, takes these granules, except those that stay; under the mask by elements.
    fn write_granules(&mut self, granules: &[Granule], element: usize, stays: &[bool; WHOLE]) -> Option<()> {
        let Operand::Register(Reg::Vec(number)) = operand(self.builder, self.instr, 0)? else { return None };
        if self.form.mask.is_some() {
            let lanes = self.elements(granules, element)?;
            return self.write_lanes(&lanes, element, false);
        }
        for (at, granule) in granules.iter().enumerate().filter(|(at, _)| !stays[*at]) {
            self.builder.write_vector(number, at, *granule);
        }
        self.write_rest(number, granules.len(), None);
        Some(())
    }

    /// Granules as elements of so many bytes, which a mask can choose from; none if it moves less than a granule.
    fn elements(&mut self, granules: &[Granule], element: usize) -> Option<Vec<Option<Value>>> {
        let ty = Type::bits_of(element).filter(|_| element >= 4)?;
        let unknown = |granule: &Granule| !matches!(granule, Granule::Part { .. });
        let mut lanes = Vec::new();
        for lane in granules.chunks(element / 4) {
            let known = !lane.iter().any(unknown);
            lanes.push(known.then(|| self.builder.assemble(lane, ty)));
        }
        Some(lanes)
    }

    /// What becomes of a vector register above the granules that were written.
    fn write_rest(&mut self, number: u8, reached: usize, carried: Option<Reg>) {
        if let Some(from) = carried.filter(|from| *from != Reg::Vec(number)) {
            // Compilers do not use what a scalar instruction carries along, so it is not worth logging.
            let granules = self.builder.peek(Source::Register(from));
            for (at, &granule) in granules.iter().enumerate().take(QUARTER).skip(reached) {
                let known = matches!(granule, Granule::Part { .. });
                self.builder.write_vector(number, at, if known { granule } else { Granule::Unknown });
            }
        }
        match (carried, self.form.legacy) {
            (Some(_), true) => {}
            (None, true) => self.zero(number, reached..QUARTER),
            (Some(_), false) => self.zero(number, QUARTER..WHOLE),
            (None, false) => self.zero(number, reached..WHOLE),
        }
    }

    fn zero(&mut self, number: u8, granules: std::ops::Range<usize>) {
        let zero = self.builder.zero();
        granules.for_each(|at| self.builder.write_vector(number, at, zero));
    }
}
