//! The x87 and, as far as they disturb it, MMX instructions: what the [`table`] says of one, told through the [`stack`].
//!
//! Everything in a register is an `f80`. Narrower floats and integers in memory are converted when they are loaded, as the
//! CPU does it, and that is exact; narrowing happens in stores. An operand in memory whose address is not followed is an unknown value: the
//! stack turns all the same.

mod stack;
mod status;
mod table;

pub use stack::{Stack, finish};

use crate::builder::Builder;
use crate::operands::{self, address};
use crate::{LiftOptions, unlifted};
use fpgrind_ir::{Op, Operator, Place, Reg, Rounding, Rule, Slot, Type, Value};
use iced_x86::{Code, Instruction, MemorySize, Mnemonic, OpKind};
use stack::{push, read, result};
use table::{Operation, lookup};

/// The control word that finit leaves: nearest, 64 bits of precision (Intel SDM, FINIT).
const INITIAL_CONTROL: u128 = 0x37f;
/// Where the control word says how to round (Intel SDM volume 1, figure 8-6), in the order of [`Operation::Constant`].
const ROUNDING_CONTROL: u8 = 10;

/// Says what an instruction does, if it is one of the x87's. Of others it sees what they do to the x87's state, or with a status word that
/// they find in AX; whoever is asked next says the rest.
pub fn lower(builder: &mut Builder, instr: &Instruction, options: &LiftOptions) -> Option<()> {
    if status::follow(builder, instr) {
        return Some(());
    }
    if uses_mmx(instr) {
        // Whatever it writes, all registers count as full afterwards (Intel SDM volume 1, "MMX State").
        builder.x87.forget();
        builder.x87.top_is_first();
        return None;
    }
    let entry = lookup(instr.mnemonic())?;
    builder.x87.begin();
    perform(builder, instr, entry.operation, options);
    (0..entry.pops).for_each(|_| builder.x87.pop());
    if options.check {
        stack::check(builder);
    }
    (entry.operation != Operation::Restore).then_some(())
}

/// Is this encoding one of the x87's?
pub fn lifted(code: Code) -> bool {
    lookup(code.mnemonic()).is_some_and(|entry| !matches!(entry.operation, Operation::Restore | Operation::Overwrite))
}

fn perform(builder: &mut Builder, instr: &Instruction, operation: Operation, options: &LiftOptions) {
    match operation {
        Operation::Arithmetic(operator) | Operation::Reversed(operator) => {
            let destination = destination(instr);
            let left = read(builder, destination);
            let value = source(builder, instr, options).map(|right| {
                let args = if operation == Operation::Reversed(operator) { [right, left] } else { [left, right] };
                applied(builder, operator, &args)
            });
            builder.x87.write(destination, value);
        }
        Operation::Unary(operator) => {
            let argument = read(builder, 0);
            // Not even the sign of the NaN that stands for an empty register changes.
            let empty = builder.x87.is_empty(0);
            let value = if empty { argument } else { applied(builder, operator, &[argument]) };
            builder.x87.write(0, Some(value));
        }
        Operation::WithNext(operator) => {
            let args = [read(builder, 0), read(builder, 1)];
            let value = applied(builder, operator, &args);
            builder.x87.write(0, Some(value));
        }
        Operation::IntoNext(operator) => {
            let args = [read(builder, 1), read(builder, 0)];
            let value = applied(builder, operator, &args);
            builder.x87.write(1, Some(value));
        }
        // The bits are the CPU's, so that an argument out of range, of which the stack tells nothing here, leaves no wrong ones.
        Operation::Pair(first, second) => {
            let argument = read(builder, 0);
            push(builder, None);
            let results = [result(builder, 1), result(builder, 0)];
            let first = apply_giving(builder, first, argument, results[0]);
            let second = match second {
                Some(second) => apply_giving(builder, second, argument, results[1]),
                None => results[1],
            };
            builder.x87.write(1, Some(first));
            builder.x87.write(0, Some(second));
            builder.x87.status.compared = None;
        }
        Operation::Extract => {
            let argument = read(builder, 0);
            push(builder, None);
            let results = [result(builder, 1), result(builder, 0)];
            let exponent = apply_giving(builder, Operator::Logb, argument, results[0]);
            let significand = builder.value(Type::F80, Op::Rescale { bits: results[1], of: argument });
            builder.x87.write(1, Some(exponent));
            builder.x87.write(0, Some(significand));
        }
        Operation::Load => {
            let value = source(builder, instr, options);
            push(builder, value);
        }
        Operation::Constant(bits) => {
            let value = constant(builder, bits);
            push(builder, Some(value));
        }
        Operation::Opaque => push(builder, None),
        Operation::Store => store(builder, instr),
        Operation::Overwrite => builder.x87.write(last(instr), None),
        Operation::ToInt(rounding) => {
            let value = read(builder, 0);
            let bytes = instr.memory_size().size() as u8;
            builder.effect(Op::ToInt { value, rounding, bytes, signed: true });
        }
        Operation::Exchange => {
            let (index, values) = (last(instr), [read(builder, 0), read(builder, last(instr))]);
            builder.x87.write(0, Some(values[1]));
            builder.x87.write(index, Some(values[0]));
        }
        Operation::MoveIf(condition) => {
            unlifted::decide(builder, condition);
            status::decide(builder, condition);
            let of = vec![read(builder, 0), read(builder, last(instr))];
            let bits = result(builder, 0);
            let value = builder.value(Type::F80, Op::Among { bits, of });
            builder.x87.write(0, Some(value));
        }
        Operation::Compare => {
            let other = source(builder, instr, options);
            builder.x87.status.compared = compared(builder, other);
        }
        Operation::CompareNext => {
            let other = read(builder, 1);
            builder.x87.status.compared = compared(builder, Some(other));
        }
        Operation::CompareZero => {
            let zero = builder.constant(Type::F80, 0);
            builder.x87.status.compared = compared(builder, Some(zero));
        }
        Operation::CompareToFlags => {
            let other = source(builder, instr, options);
            builder.flags = compared(builder, other);
        }
        Operation::Examine => builder.x87.status.compared = None,
        Operation::TellStatus => {
            if instr.op0_kind() == OpKind::Register {
                builder.forget(Reg::Gpr(0));
                status::told(builder);
            }
        }
        Operation::Turn(by) => builder.x87.turn(by),
        Operation::Free => builder.x87.free(last(instr)),
        Operation::SetControl => match load(builder, instr, Type::B16, options) {
            Some(value) => set_control(builder, value),
            None => control_changes(builder),
        },
        Operation::Init => {
            builder.x87.empty();
            builder.x87.top_is_first();
            builder.x87.status.compared = None;
            let value = builder.constant(Type::B16, INITIAL_CONTROL);
            set_control(builder, value);
        }
        Operation::LoadEnvironment => {
            builder.x87.environment_changes();
            builder.x87.status.compared = None;
            control_changes(builder);
        }
        Operation::LoadState => {
            builder.x87.forget();
            builder.x87.status.compared = None;
            control_changes(builder);
        }
        Operation::Restore => {
            builder.x87.restore();
            builder.x87.status.compared = None;
            control_changes(builder);
        }
        Operation::Empty => builder.x87.empty(),
        Operation::Nothing => {}
    }
}

/// The operator as the control word says; what comes out can be computed again.
fn applied(builder: &mut Builder, operator: Operator, args: &[Value]) -> Value {
    if matches!(operator, Operator::Fmod | Operator::Remainder | Operator::Sin | Operator::Cos) {
        // They say in C2 whether they did what was asked.
        builder.x87.status.compared = None;
    }
    let op = Op::Apply { operator, args: args.to_vec(), rounding: Rounding::Current, result: None };
    builder.value(Type::F80, op)
}

/// The operator on an argument, whose result the CPU has told.
fn apply_giving(builder: &mut Builder, operator: Operator, argument: Value, result: Value) -> Value {
    let op = Op::Apply { operator, args: vec![argument], rounding: Rounding::Current, result: Some(result) };
    builder.value(Type::F80, op)
}

/// st0 compared with another value.
fn compared(builder: &mut Builder, other: Option<Value>) -> Option<Value> {
    let args = [read(builder, 0), other?];
    Some(builder.value(Type::Flags, Op::Compare { args }))
}

/// One of these, as the control word says how to round.
fn constant(builder: &mut Builder, bits: [u128; 4]) -> Value {
    if bits == [bits[0]; 4] {
        return builder.constant(Type::F80, bits[0]);
    }
    let control = match builder.x87.control {
        Some(control) => control,
        None => {
            let (place, slot) = (Place::whole(Reg::X87Control), Slot::UNASSIGNED);
            let control = builder.value(Type::B16, Op::Live { place, slot });
            *builder.x87.control.insert(control)
        }
    };
    let from = bits.map(|bits| builder.constant(Type::F80, bits)).to_vec();
    builder.value(Type::F80, Op::Pick { control, rule: Rule::Index(ROUNDING_CONTROL), from })
}

fn store(builder: &mut Builder, instr: &Instruction) {
    let OpKind::Memory = instr.op0_kind() else {
        let index = last(instr);
        // st0 stays what it is, and is not looked at: this is how compilers pop.
        if index != 0 {
            let value = read(builder, 0);
            builder.x87.write(index, Some(value));
        }
        return;
    };
    let value = read(builder, 0);
    let Some(addr) = address(builder, instr) else { return };
    let value = match instr.memory_size() {
        MemorySize::Float32 => cast(builder, value, Type::F32),
        MemorySize::Float64 => cast(builder, value, Type::F64),
        _ => value,
    };
    builder.effect(Op::Store { addr, value });
}

/// The last operand: what is in a register, or in memory as the register format has it.
fn source(builder: &mut Builder, instr: &Instruction, options: &LiftOptions) -> Option<Value> {
    if instr.op0_kind() == OpKind::Register {
        return Some(read(builder, last(instr)));
    }
    let (ty, is_integer) = match instr.memory_size() {
        MemorySize::Float32 => (Type::F32, false),
        MemorySize::Float64 => (Type::F64, false),
        MemorySize::Float80 => return load(builder, instr, Type::F80, options),
        MemorySize::Int16 => (Type::B16, true),
        MemorySize::Int32 => (Type::B32, true),
        MemorySize::Int64 => (Type::B64, true),
        _ => return None,
    };
    let value = load(builder, instr, ty, options)?;
    if is_integer {
        return Some(builder.value(Type::F80, Op::FromInt { value, bytes: ty.bytes() as u8 }));
    }
    Some(cast(builder, value, Type::F80))
}

fn cast(builder: &mut Builder, value: Value, to: Type) -> Value {
    let (operator, rounding) = (Operator::Cast, Rounding::Current);
    builder.value(to, Op::Apply { operator, args: vec![value], rounding, result: None })
}

/// The operand in memory.
fn load(builder: &mut Builder, instr: &Instruction, ty: Type, options: &LiftOptions) -> Option<Value> {
    let addr = address(builder, instr)?;
    Some(operands::load(builder, addr, ty, options))
}

fn set_control(builder: &mut Builder, value: Value) {
    builder.x87.control = Some(value);
    builder.effect(Op::SetX87Control { value });
}

/// The control word becomes what it is found to be.
fn control_changes(builder: &mut Builder) {
    let value = builder.fresh_after(Type::B16, Place::whole(Reg::X87Control));
    set_control(builder, value);
}

/// The number of the register that the first operand names: st0 if it names none.
fn destination(instr: &Instruction) -> u8 {
    match instr.op0_register() {
        register if register.is_st() => register.number() as u8,
        _ => 0,
    }
}

/// The number of the register that the last operand names.
fn last(instr: &Instruction) -> u8 {
    let register = instr.op_register(instr.op_count().saturating_sub(1));
    if register.is_st() { register.number() as u8 } else { 0 }
}

/// Does it turn the x87's registers into MMX's? All with such an operand do, and one that may have memory in its place.
fn uses_mmx(instr: &Instruction) -> bool {
    let is_mm = |operand: u32| instr.op_kind(operand) == OpKind::Register && instr.op_register(operand).is_mm();
    (0..instr.op_count()).any(is_mm) || instr.mnemonic() == Mnemonic::Cvtpi2ps
}
