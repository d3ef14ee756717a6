//! What an instruction of the tables does, said through the builder.

use crate::LiftOptions;
use crate::builder::{Builder, Source, mask};
use crate::logic;
use crate::operands::{Operand, operand, register, source};
use crate::registers::{Granule, HALF, WHOLE};
use crate::tables::{Entry, Operation, Pattern, Pick, Rest, lookup};
use fpgrind_ir::{Op, Operator, Reg, Relation, Rounding, Rule, Type, Value};
use iced_x86::{EncodingKind, Instruction, OpKind};

/// Lowers an instruction; nothing if it is not lifted, or not in this form.
pub fn lower(builder: &mut Builder, instr: &Instruction, options: &LiftOptions) -> Option<()> {
    let entry = lookup(instr.code())?;
    match entry.operation {
        Operation::ZeroVectors { from } => (0..16).for_each(|number| zero(builder, number, from..WHOLE)),
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
            write(builder, instr, destination, entry.rest, &vec![Granule::Unknown; granules])?;
        }
        Operation::Rearrange(pattern) => {
            let picks = match pattern {
                Pattern::Fixed(picks) => picks,
                Pattern::ByImmediate(picks) => &picks(instr.immediate8())?,
                Pattern::ByControl { control, pick } => {
                    let control = constants(builder, instr, control, options)?;
                    &[0, 1, 2, 3, 4, 5, 6, 7].map(|at| pick(at, control))
                }
            };
            rearrange(builder, instr, entry, picks, options)?;
        }
        Operation::MoveLow { granules } => {
            let from_memory = matches!(instr.op_kind(1), OpKind::Memory);
            let picks: [Pick; HALF] = std::array::from_fn(|granule| match granule as u8 {
                moved if (moved as usize) < granules => Pick::B(moved),
                _ if from_memory => Pick::Zero,
                kept => Pick::A(kept),
            });
            rearrange(builder, instr, entry, &picks, options)?;
        }
        Operation::Logic(op) => {
            let Operand::Register(destination) = operand(builder, instr, 0)? else { return None };
            let args = arguments(builder, instr, entry, options)?;
            logic::lower(builder, op, destination, [*args.first()?, *args.get(1)?], vector_granules(instr));
            if let Reg::Vec(number) = destination {
                write_rest(builder, instr, number, entry.rest, vector_granules(instr));
            }
        }
        Operation::Apply { .. }
        | Operation::Horizontal { .. }
        | Operation::Alternate { .. }
        | Operation::Round { .. }
        | Operation::Select { .. }
        | Operation::Cast { .. }
        | Operation::Mask { .. }
        | Operation::ToInt { .. } => {
            let args = arguments(builder, instr, entry, options)?;
            let results = compute(builder, instr, entry.operation, &args);
            let destination = operand(builder, instr, 0)?;
            write(builder, instr, destination, entry.rest, &results)?;
        }
    }
    Some(())
}

/// The arguments, loaded where they lie in memory.
fn arguments(builder: &mut Builder, instr: &Instruction, entry: &Entry, options: &LiftOptions) -> Option<Vec<Source>> {
    let mut args = Vec::new();
    for &number in entry.sources {
        let operand = operand(builder, instr, number)?;
        args.push(source(builder, operand, options));
    }
    Some(args)
}

/// The granules of the result of an operation on typed lanes.
fn compute(builder: &mut Builder, instr: &Instruction, operation: Operation, args: &[Source]) -> Vec<Granule> {
    match operation {
        Operation::Apply { operator, ty, lanes } => {
            lanewise(builder, args, ty, lanes, |builder, _, args| builder.value(ty, applied(operator, args)))
        }
        Operation::Alternate { even, odd, ty } => {
            lanewise(builder, args, ty, vector_granules(instr) / ty.granules(), |builder, lane, args| {
                let operator = if lane % 2 == 0 { even } else { odd };
                builder.value(ty, applied(operator, args))
            })
        }
        Operation::Round { ty, lanes } => {
            // Bit 2 says that MXCSR decides, else bits 0 and 1 do (Intel SDM, ROUNDPD).
            let operator = match instr.immediate8() & 7 {
                0 => Operator::RoundEven,
                1 => Operator::Floor,
                2 => Operator::Ceil,
                3 => Operator::Trunc,
                _ => Operator::Nearbyint,
            };
            lanewise(builder, args, ty, lanes, |builder, _, args| builder.value(ty, applied(operator, args)))
        }
        Operation::Select { ty } => {
            let mask = args.get(2).copied().unwrap_or(Source::Register(Reg::Vec(0)));
            let args: Vec<Source> = args.iter().take(2).copied().chain([mask]).collect();
            lanewise(builder, &args, ty, vector_granules(instr) / ty.granules(), |builder, _, args| {
                builder.value(
                    ty,
                    Op::Pick { control: args[2], rule: Rule::Bit(8 * ty.bytes() as u8 - 1), from: args[..2].to_vec() },
                )
            })
        }
        Operation::Cast { from, to, lanes } => {
            lanewise(builder, args, from, lanes, |builder, _, args| builder.value(to, applied(Operator::Cast, args)))
        }
        Operation::Mask { ty, lanes } => {
            // Legacy encodings look at three bits of the immediate, VEX at five, of which the fifth changes only which NaNs
            // raise an exception (Intel SDM, CMPPS).
            let bits = if instr.encoding() == EncodingKind::Legacy { 7 } else { 15 };
            let relation = Relation::ALL[instr.immediate8() as usize & bits];
            let mask_type = Type::bits_of(ty.bytes()).unwrap_or(Type::B64);
            lanewise(builder, args, ty, lanes, |builder, _, args| {
                builder.value(mask_type, Op::Mask { relation, args: [args[0], args[1]] })
            })
        }
        Operation::Horizontal { operator, ty } => {
            // Halves do not mix: each takes the pairs of one argument, then those of the other.
            let (lanes, lanes_of_half) = (vector_granules(instr) / ty.granules(), HALF / ty.granules());
            let args: Vec<Vec<Value>> = args.iter().map(|&arg| builder.read_lanes(arg, ty, lanes)).collect();
            let mut results = Vec::new();
            for half in (0..lanes).step_by(lanes_of_half) {
                for pair in args.iter().flat_map(|arg| arg[half..half + lanes_of_half].chunks(2)) {
                    let value = builder.value(ty, applied(operator, pair.to_vec()));
                    results.extend(granules_of(ty, value));
                }
            }
            results
        }
        Operation::ToInt { ty, lanes, bytes, rounding } => {
            for &arg in args {
                for value in builder.read_lanes(arg, ty, lanes) {
                    builder.effect(Op::ToInt { value, rounding, bytes, signed: true });
                }
            }
            vec![Granule::Unknown; lanes * bytes as usize / 4]
        }
        _ => Vec::new(),
    }
}

/// The operator as MXCSR says; what comes out can be computed again.
fn applied(operator: Operator, args: Vec<Value>) -> Op {
    Op::Apply { operator, args, rounding: Rounding::Current, result: None }
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

/// Granules of the vectors that an instruction works on.
fn vector_granules(instr: &Instruction) -> usize {
    if instr.op0_register().is_ymm() { WHOLE } else { HALF }
}

fn zero(builder: &mut Builder, number: u8, granules: std::ops::Range<usize>) {
    let zero = builder.zero();
    granules.for_each(|at| builder.write_vector(number, at, zero));
}

/// The destination's low granules become these, and the others what the instruction makes of them.
fn write(
    builder: &mut Builder,
    instr: &Instruction,
    destination: Operand,
    rest: Rest,
    granules: &[Granule],
) -> Option<()> {
    match destination {
        Operand::Register(Reg::Vec(number)) => {
            for (at, granule) in granules.iter().enumerate() {
                builder.write_vector(number, at, *granule);
            }
            write_rest(builder, instr, number, rest, granules.len());
        }
        Operand::Register(reg) => builder.forget(reg),
        Operand::Memory { .. } | Operand::Immediate(_) => return None,
    }
    Some(())
}

fn write_rest(builder: &mut Builder, instr: &Instruction, number: u8, rest: Rest, reached: usize) {
    match rest {
        Rest::Keep => {}
        Rest::ZeroLow => zero(builder, number, reached..HALF),
        Rest::Zero => zero(builder, number, reached..WHOLE),
        Rest::From(operand) => {
            // Compilers do not use what a scalar instruction carries along, so it is not worth logging.
            if let Some(from) = register(instr.op_register(operand)).filter(|from| *from != Reg::Vec(number)) {
                let granules = builder.peek(Source::Register(from));
                for (at, &granule) in granules.iter().enumerate().take(HALF).skip(reached) {
                    let known = matches!(granule, Granule::Part { .. });
                    builder.write_vector(number, at, if known { granule } else { Granule::Unknown });
                }
            }
            zero(builder, number, HALF..WHOLE);
        }
    }
}

/// The contents of an operand, if they are constant.
fn constants(builder: &mut Builder, instr: &Instruction, number: u32, options: &LiftOptions) -> Option<[u32; WHOLE]> {
    let operand = operand(builder, instr, number)?;
    let control = source(builder, operand, options);
    let granules = builder.peek(control);
    let mut bits = [0; WHOLE];
    for at in 0..vector_granules(instr) {
        bits[at] = builder.constant_bits(&granules[at..at + 1])? as u32;
    }
    Some(bits)
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
        _ => &picks[..picks.len().min(vector_granules(instr))],
    };
    // What stays where it is is not read, and neither is an argument of which nothing else is taken.
    let in_place = |argument: usize| match (destination, entry.sources.get(argument)) {
        (Operand::Register(reg @ Reg::Vec(_)), Some(&number)) => {
            instr.op_kind(number) == OpKind::Register && register(instr.op_register(number)) == Some(reg)
        }
        _ => false,
    };
    let in_place = [in_place(0), in_place(1)];
    let stays = |at: usize, pick: Pick| match pick {
        Pick::A(granule) => in_place[0] && granule as usize == at,
        Pick::B(granule) => in_place[1] && granule as usize == at,
        Pick::Zero => false,
    };
    let mut needed = [0u8; 2];
    for (_, pick) in picks.iter().enumerate().filter(|&(at, &pick)| !stays(at, pick)) {
        match *pick {
            Pick::A(granule) => needed[0] |= mask(granule as usize, 1),
            Pick::B(granule) => needed[1] |= mask(granule as usize, 1),
            Pick::Zero => {}
        }
    }
    let mut args = [[Granule::Unknown; WHOLE]; 2];
    let mut last = None;
    for (argument, &number) in entry.sources.iter().enumerate() {
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
                    _ => granules[..picks.len()].iter().any(|&granule| builder.likely_carries_float(granule)),
                };
                if !follow {
                    return Some(());
                }
                granules
            }
            _ => builder.granules(from, needed[argument]),
        };
        // Of a granule in memory there is only one, whichever insertps names (Intel SDM, INSERTPS).
        if let Operand::Memory { granules: 1, .. } = operand {
            args[argument] = [args[argument][0]; WHOLE];
        }
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
            write_rest(builder, instr, number, entry.rest, picks.len());
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
