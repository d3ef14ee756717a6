//! Results of correctly rounded operations: the real, rounded, is what the CPU has.

use super::check::{direction, is_result, load, place_after};
use super::floats::{Direction, Number};
use super::record::{Evaluation, truncate};
use super::run::Run;
use fpgrind_analysis::{Analysis, Shadow};
use fpgrind_ir::{Block, Op, Operator, Place, Rounding, Type, Value};

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
            let Op::Apply { operator, ref args, rounding, .. } = block.stmts[value.index()].op else { continue };
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
                assert!(shadow_is_unasked(&shadow), "{what}: no shadow at {:?} + {offset}", stmt.op);
                continue;
            };
            assert_eq!(shadow.native as u128, native, "{what}: native bits of {:?} + {offset}", stmt.op);
            let governing = block.type_of(args[0]).unwrap();
            if rounds(operator) && to_nearest(run, governing, ty, rounding) {
                let is_nan = |bits: u128| Number::new(ty, bits, false) == Number::Nan;
                let rounded = shadow.rounded as u128;
                let agree = rounded == native || is_nan(rounded) && is_nan(native);
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

/// A shadow, or why there is none to be asked for.
enum Found {
    Here(Shadow),
    Missing,
    /// The analysis has no name for this place yet.
    Unasked,
}

fn shadow_is_unasked(found: &Found) -> bool {
    matches!(found, Found::Unasked)
}

/// Halves in the upper part of a granule have no place of their own, and the x87's formats no shadow that could be asked for.
fn register(analysis: &Analysis, _run: &Run, place: Place, offset: usize, ty: Type) -> Found {
    if !matches!(ty, Type::F32 | Type::F64) {
        return Found::Unasked;
    }
    let place = Place { offset: place.offset + offset as u8, ..place };
    analysis.register(0, place, ty).map_or(Found::Missing, Found::Here)
}

fn memory(analysis: &Analysis, address: u64, ty: Type) -> Found {
    if !matches!(ty, Type::F32 | Type::F64) {
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
