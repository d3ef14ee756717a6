//! What an instruction of the tables does, said through the builder.

use crate::LiftOptions;
use crate::builder::{Builder, Source, mask};
use crate::logic;
use crate::operands::{Operand, operand, source};
use crate::registers::Granule;
use crate::tables::{Entry, Operation, Pattern, Pick, Rest, lookup};
use fpgrind_ir::{Op, Operator, Reg, Relation, Type, Value};
use iced_x86::{Instruction, OpKind};

/// Lowers an instruction; nothing if it is not lifted, or not in this form.
pub fn lower(builder: &mut Builder, instr: &Instruction, options: &LiftOptions) -> Option<()> {
    let entry = lookup(instr.code())?;
    match entry.operation {
        Operation::HighBitsOnly => {}
        Operation::RestoreState => {
            (0..16).for_each(|number| builder.forget(Reg::Vec(number)));
            let value = builder.fresh_after(Type::B32, Reg::Mxcsr);
            builder.effect(Op::SetMxcsr { value });
        }
        Operation::SetMxcsr => {
            let args = arguments(builder, instr, entry, options)?;
            let value = builder.read(*args.first()?, 0, Type::B32);
            builder.effect(Op::SetMxcsr { value });
        }
        Operation::Compare { ty } => {
            let args = arguments(builder, instr, entry, options)?;
            let args = [builder.read(*args.first()?, 0, ty), builder.read(*args.get(1)?, 0, ty)];
            builder.flags = Some(builder.value(Type::Flags, Op::Compare { args }));
        }
        Operation::Opaque { granules } => {
            let destination = operand(builder, instr, 0)?;
            write(builder, destination, entry.rest, &vec![Granule::Unknown; granules])?;
        }
        Operation::Rearrange(pattern) => {
            let picks = match pattern {
                Pattern::Fixed(picks) => picks,
                Pattern::ByImmediate(picks) => &picks(instr.immediate8())?,
            };
            rearrange(builder, instr, entry, picks, options)?;
        }
        Operation::MoveLow { granules } => {
            let from_memory = matches!(instr.op_kind(1), OpKind::Memory);
            let picks: [Pick; 4] = std::array::from_fn(|granule| match granule as u8 {
                moved if (moved as usize) < granules => Pick::B(moved),
                _ if from_memory => Pick::Zero,
                kept => Pick::A(kept),
            });
            rearrange(builder, instr, entry, &picks, options)?;
        }
        Operation::Logic(op) => {
            let Operand::Register(destination) = operand(builder, instr, 0)? else { return None };
            let args = arguments(builder, instr, entry, options)?;
            logic::lower(builder, op, destination, *args.first()?, *args.get(1)?);
        }
        Operation::Apply { .. }
        | Operation::Horizontal { .. }
        | Operation::AddSub { .. }
        | Operation::Cast { .. }
        | Operation::Mask { .. }
        | Operation::ToInt { .. } => {
            let args = arguments(builder, instr, entry, options)?;
            let results = compute(builder, instr, entry.operation, &args);
            let destination = operand(builder, instr, 0)?;
            write(builder, destination, entry.rest, &results)?;
        }
    }
    Some(())
}

/// The arguments, loaded where they lie in memory.
fn arguments(builder: &mut Builder, instr: &Instruction, entry: &Entry, options: &LiftOptions) -> Option<Vec<Source>> {
    let mut args = Vec::new();
    for &number in entry.sources.operands() {
        let operand = operand(builder, instr, number)?;
        args.push(source(builder, operand, options));
    }
    Some(args)
}

/// The granules of the result of an operation on typed lanes.
fn compute(builder: &mut Builder, instr: &Instruction, operation: Operation, args: &[Source]) -> Vec<Granule> {
    match operation {
        Operation::Apply { operator, ty, lanes } => {
            lanewise(builder, args, ty, lanes, |builder, _, args| builder.value(ty, Op::Apply { operator, args }))
        }
        Operation::AddSub { ty } => lanewise(builder, args, ty, 16 / ty.bytes(), |builder, lane, args| {
            let operator = if lane % 2 == 0 { Operator::Sub } else { Operator::Add };
            builder.value(ty, Op::Apply { operator, args })
        }),
        Operation::Cast { from, to, lanes } => lanewise(builder, args, from, lanes, |builder, _, args| {
            builder.value(to, Op::Apply { operator: Operator::Cast, args })
        }),
        Operation::Mask { ty, lanes } => {
            // Legacy encodings look at three bits of the immediate (Intel SDM, CMPPS).
            let relation = Relation::ALL[instr.immediate8() as usize & 7];
            let mask_type = Type::bits_of(ty.bytes()).unwrap_or(Type::B64);
            lanewise(builder, args, ty, lanes, |builder, _, args| {
                builder.value(mask_type, Op::Mask { relation, args: [args[0], args[1]] })
            })
        }
        Operation::Horizontal { operator, ty } => {
            let mut results = Vec::new();
            for &arg in args {
                for pair in builder.read_lanes(arg, ty, 16 / ty.bytes()).chunks(2) {
                    let value = builder.value(ty, Op::Apply { operator, args: pair.to_vec() });
                    results.extend(granules_of(ty, value));
                }
            }
            results
        }
        Operation::ToInt { ty, lanes, bytes, rounding } => {
            for &arg in args {
                for value in builder.read_lanes(arg, ty, lanes) {
                    builder.effect(Op::ToInt { value, rounding, bytes });
                }
            }
            vec![Granule::Unknown; lanes * bytes as usize / 4]
        }
        _ => Vec::new(),
    }
}

/// One value for each lane of the arguments.
fn lanewise(
    builder: &mut Builder,
    args: &[Source],
    ty: Type,
    lanes: usize,
    lane_value: impl Fn(&mut Builder, usize, Vec<Value>) -> Value,
) -> Vec<Granule> {
    let args: Vec<Vec<Value>> = args.iter().map(|&arg| builder.read_lanes(arg, ty, lanes)).collect();
    let mut results = Vec::new();
    for lane in 0..lanes {
        let value = lane_value(builder, lane, args.iter().map(|arg| arg[lane]).collect());
        results.extend(granules_of(builder.type_of(value), value));
    }
    results
}

fn granules_of(ty: Type, value: Value) -> impl Iterator<Item = Granule> {
    (0..ty.granules() as u8).map(move |index| Granule::Part { value, index })
}

/// The destination's low granules become these.
fn write(builder: &mut Builder, destination: Operand, rest: Rest, granules: &[Granule]) -> Option<()> {
    match destination {
        Operand::Register(Reg::Vec(number)) => {
            for (at, granule) in granules.iter().enumerate() {
                builder.write_vector(number, at, *granule);
            }
            if rest == Rest::Zero {
                for at in granules.len()..4 {
                    let zero = builder.zero();
                    builder.write_vector(number, at, zero);
                }
            }
        }
        Operand::Register(reg) => builder.forget(reg),
        Operand::Memory { .. } | Operand::Immediate(_) => return None,
    }
    Some(())
}

/// Moves granules. Nothing is computed, and nothing is logged but what was not known.
fn rearrange(
    builder: &mut Builder,
    instr: &Instruction,
    entry: &Entry,
    picks: &[Pick],
    options: &LiftOptions,
) -> Option<()> {
    let destination = operand(builder, instr, 0)?;
    let picks = match destination {
        Operand::Register(Reg::Gpr(_)) => &picks[..2],
        Operand::Memory { granules, .. } => &picks[..picks.len().min(granules)],
        _ => picks,
    };
    // What stays where it is is not read, and neither is an argument of which nothing else is taken.
    let keeps = entry.sources.operands()[0] == 0 && matches!(destination, Operand::Register(_));
    let stays = |at: usize, pick: Pick| keeps && pick == Pick::A(at as u8);
    let mut needed = [0u8; 2];
    for (_, pick) in picks.iter().enumerate().filter(|&(at, &pick)| !stays(at, pick)) {
        match *pick {
            Pick::A(granule) => needed[0] |= mask(granule as usize, 1),
            Pick::B(granule) => needed[1] |= mask(granule as usize, 1),
            Pick::Zero => {}
        }
    }
    let mut args = [[Granule::Unknown; 4]; 2];
    let mut last = None;
    for (argument, &number) in entry.sources.operands().iter().enumerate() {
        if needed[argument] == 0 {
            continue;
        }
        let operand = operand(builder, instr, number)?;
        let from = source(builder, operand, options);
        last = Some(from);
        args[argument] = match (destination, from) {
            (Operand::Memory { .. }, Source::Register(Reg::Vec(_))) => builder.known_granules(from, needed[argument]),
            // Integers are stored all the time: only what may be a float and is known is followed.
            (Operand::Memory { .. }, _) => {
                let granules = builder.peek(from);
                let follow = match operand {
                    Operand::Immediate(bits) => is_float_constant(bits, picks.len()),
                    _ => granules[..picks.len()].iter().any(|&granule| builder.may_carry_known_float(granule)),
                };
                if !follow {
                    return Some(());
                }
                granules
            }
            _ => builder.granules(from, needed[argument]),
        };
    }
    let mut granules = Vec::new();
    for pick in picks {
        granules.push(match *pick {
            Pick::A(granule) => args[0][granule as usize],
            Pick::B(granule) => args[1][granule as usize],
            Pick::Zero => builder.zero(),
        });
    }
    match destination {
        Operand::Register(Reg::Vec(number)) => {
            for (at, granule) in granules.into_iter().enumerate().filter(|&(at, _)| !stays(at, picks[at])) {
                builder.write_vector(number, at, granule);
            }
        }
        Operand::Register(Reg::Gpr(number)) => builder.write_general(number, [granules[0], granules[1]], last?),
        Operand::Memory { addr, .. } => builder.store(addr, &granules),
        _ => return None,
    }
    Some(())
}

/// Could a program mean a float by storing this immediate? Compilers store 0.0, 0.0f and other floats of four bytes so. If
/// it went unnoticed, a shadow of a computed zero would outlive the zero that is written over it: the bits are the same.
fn is_float_constant(bits: u64, granules: usize) -> bool {
    let magnitude = f32::from_bits(bits as u32).abs();
    bits == 0 || granules == 1 && (1e-6..1e9).contains(&magnitude)
}
