//! Results of correctly rounded operations: the real, rounded, is what the CPU has.

use super::check::{direction, is_result, load, place_after};
use super::floats::{Direction, Number};
use super::record::{Evaluation, truncate};
use super::run::Run;
use fpgrind_analysis::{Analysis, Shadow};
use fpgrind_ir::{Block, Op, Operator, Place, Reg, Rounding, Type, Value};

/// Flush to zero and denormals are zeros: reals know neither.
const FLUSHING: u32 = 1 << 15 | 1 << 6;
const PRECISION_CONTROL: u16 = 0b11 << 8;

/// How many reals were compared.
pub fn check_reals(run: &Run, block: &Block, evaluation: &Evaluation, analysis: &Analysis, what: &str) -> usize {
    let mut checked = 0;
    for (stmt, happens) in block.stmts.iter().zip(&evaluation.happens) {
        if !is_result(stmt) || *happens != Some(true) {
            continue;
        }
        let (Op::Put { value, .. } | Op::Store { value, .. }) = stmt.op else { continue };
        for (offset, value) in computed(block, evaluation, value) {
            let Op::Apply { operator, ref args, rounding, result } = block.stmts[value.index()].op else { continue };
            let ty = block.type_of(value).unwrap();
            let (native, shadow) = match &stmt.op {
                Op::Put { place, .. } => {
                    (place_after(run, *place) >> (8 * offset), register(analysis, run, *place, offset, ty))
                }
                Op::Store { addr, .. } => {
                    let address = evaluation.address(block, addr) + offset as u64;
                    (load(run.after(), address, ty.bytes()), memory(analysis, address, ty))
                }
                _ => continue,
            };
            let native = truncate(native, ty.bytes());
            let Found::Here(shadow) = shadow else {
                let excused = shadow_is_unasked(&shadow) || ty == Type::F80 && refused(run);
                assert!(excused, "{what}: no shadow at {:?} + {offset}", stmt.op);
                continue;
            };
            assert_eq!(shadow.native, native, "{what}: native bits of {:?} + {offset}", stmt.op);
            let governing = block.type_of(args[0]).unwrap();
            // Where the CPU is asked for its result, that is not simply the operation's: `dpps` adds zeros, `vdpbf16ps` flushes.
            let once = result.is_none() && args.iter().all(|arg| is_exact(block, *arg));
            if rounds(operator) && once && to_nearest(run, governing, ty, rounding) {
                let is_nan = |bits: u128| Number::new(ty, bits, false) == Number::Nan;
                let rounded = shadow.rounded;
                // An infinite scale makes an infinity or a zero even of a NaN (Intel SDM, VSCALEFPS).
                let scaled = operator == Operator::Scalef && is_nan(rounded);
                let agree = rounded == native || is_nan(rounded) && is_nan(native) || scaled;
                assert!(agree, "{what}: {operator:?} into {:?}: real {rounded:#x}, native {native:#x}", stmt.op);
                checked += 1;
            }
        }
    }
    checked
}

/// The applications behind a value that is put or stored, and at which byte of it each is.
fn computed(block: &Block, evaluation: &Evaluation, value: Value) -> Vec<(usize, Value)> {
    match &block.stmts[value.index()].op {
        Op::Apply { .. } if evaluation.happens[value.index()] == Some(true) => vec![(0, value)],
        Op::Pick { control, rule, from } => match evaluation.values[control.index()] {
            Some(control) => computed(block, evaluation, from[rule.pick(control as u64, from.len())]),
            None => Vec::new(),
        },
        Op::Concat { parts } => {
            let (mut found, mut offset) = (Vec::new(), 0);
            for part in parts {
                found.extend(computed(block, evaluation, *part).into_iter().map(|(at, value)| (offset + at, value)));
                offset += block.type_of(*part).unwrap().bytes();
            }
            found
        }
        _ => Vec::new(),
    }
}

/// Is a value what it says: is nothing computed in it, but that a number is put into a wider format?
fn is_exact(block: &Block, value: Value) -> bool {
    let stmt = &block.stmts[value.index()];
    match &stmt.op {
        Op::Apply { operator: Operator::Cast, args, .. } => {
            let widens = block.type_of(args[0]).unwrap().bytes() < stmt.ty.unwrap().bytes();
            widens && is_exact(block, args[0])
        }
        Op::Apply { .. } | Op::Rescale { .. } => false,
        op => {
            let mut exact = true;
            op.for_each_use(&mut |value| exact &= block.type_of(value) == Some(Type::Image) || is_exact(block, value));
            exact
        }
    }
}

/// A shadow, or why there is none to be asked for.
enum Found {
    Here(Shadow),
    Missing,
    /// The analysis has no name for this place yet.
    Unasked,
}

/// Does the x87 say in C2 that it has not done all that was asked: an argument out of range, a remainder that is not yet one (Intel
/// SDM, FSIN and FPREM)?
fn refused(run: &Run) -> bool {
    run.after().state.fpu.status >> 10 & 1 == 1
}

fn shadow_is_unasked(found: &Found) -> bool {
    matches!(found, Found::Unasked)
}

/// Halves in the upper part of a granule have no place of their own. The x87's registers are now counted from the top as it is after
/// the run.
fn register(analysis: &Analysis, run: &Run, place: Place, offset: usize, ty: Type) -> Found {
    if !offset.is_multiple_of(4) {
        return Found::Unasked;
    }
    let reg = match place.reg {
        Reg::X87(number) => {
            let [before, after] = [run.before(), run.after()].map(|moment| moment.state.fpu.top());
            Reg::X87((number + before + 8 - after) % 8)
        }
        reg => reg,
    };
    analysis.register(0, Place { reg, offset: place.offset + offset as u8 }, ty).map_or(Found::Missing, Found::Here)
}

fn memory(analysis: &Analysis, address: u64, ty: Type) -> Found {
    if !address.is_multiple_of(4) {
        return Found::Unasked;
    }
    analysis.memory(0, address, ty).map_or(Found::Missing, Found::Here)
}

/// Is this the operation of the reals, rounded once?
fn rounds(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Add
            | Operator::Sub
            | Operator::Mul
            | Operator::Div
            | Operator::Sqrt
            | Operator::Cast
            | Operator::Fma
            | Operator::Fms
            | Operator::Fnma
            | Operator::Fnms
            | Operator::Floor
            | Operator::Ceil
            | Operator::Trunc
            | Operator::Nearbyint
            | Operator::RoundEven
            | Operator::Scalef
            | Operator::Fscale
            | Operator::Logb
    )
}

/// Did the CPU round as the reals are rounded: to the nearest number of the result's format, without flushing?
fn to_nearest(run: &Run, from: Type, to: Type, rounding: Rounding) -> bool {
    let state = &run.before().state;
    let x87 = from == Type::F80 || to == Type::F80;
    let exact =
        if x87 { state.fpu.control & PRECISION_CONTROL == PRECISION_CONTROL } else { state.mxcsr & FLUSHING == 0 };
    let governing = if x87 { Type::F80 } else { from };
    exact && direction(run, governing, rounding) == Direction::Nearest
}
