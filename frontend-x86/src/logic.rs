//! Logic on bits, by lanes that leave floats whole, and without computing what a constant mask decides.

use crate::builder::{Builder, Source, mask, opaque};
use crate::registers::{Granule, HALF, WHOLE};
use fpgrind_ir::{BitOp, Op, Reg, Value};

/// `destination = op(a, b)` in the low granules, where `a` or `b` may be the destination.
pub fn lower(builder: &mut Builder, op: BitOp, destination: Reg, [a, b]: [Source; 2], granules: usize) {
    let Reg::Vec(number) = destination else { return builder.forget(destination) };
    let cancels = matches!(op, BitOp::Xor | BitOp::AndNot) && a == b;
    let mut results: [Option<Granule>; WHOLE] = [None; WHOLE];
    let mut first = 0;
    while first < granules {
        let double = first % 2 == 0 && [a, b].into_iter().all(|source| is_whole(builder, source, first));
        let count = if double { 2 } else { 1 };
        if cancels {
            results[first..first + count].fill(Some(builder.zero()));
        } else {
            lane(builder, op, destination, [a, b], first, &mut results[first..first + count]);
        }
        first += count;
    }
    for (at, granule) in results.into_iter().enumerate() {
        if let Some(granule) = granule {
            builder.write_vector(number, at, granule);
        }
    }
}

/// Are the two granules from `first` on of one kind, so that they may be a double?
fn is_whole(builder: &Builder, source: Source, first: usize) -> bool {
    let granules = builder.peek(source);
    match (granules[first], granules[first + 1]) {
        (Granule::Part { value, index }, Granule::Part { value: next_value, index: next }) => {
            (value == next_value && index + 1 == next) || builder.constant_bits(&granules[first..first + 2]).is_some()
        }
        (low, high) => low == high,
    }
}

/// One lane of the result. A granule stays `None` if it keeps what the destination holds there.
fn lane(
    builder: &mut Builder,
    op: BitOp,
    destination: Reg,
    args: [Source; 2],
    first: usize,
    results: &mut [Option<Granule>],
) {
    let count = results.len();
    let lane_of = |builder: &Builder, source| builder.peek(source)[first..first + count].to_vec();
    let lanes = args.map(|source| lane_of(builder, source));
    let bits = [0, 1].map(|arg| builder.constant_bits(&lanes[arg]));
    match decided(op, bits, (1 << (32 * count)) - 1) {
        Some(Decided::Bits(bits)) => {
            let value = builder.constant(opaque(count), bits);
            fill(results, value);
        }
        Some(Decided::Argument(arg)) => {
            if args[arg] != Source::Register(destination) {
                let granules = builder.granules(args[arg], mask(first, count));
                for (result, granule) in results.iter_mut().zip(&granules[first..]) {
                    *result = Some(*granule);
                }
            }
        }
        // Integers: nothing is followed, so nothing needs to be logged.
        None if !lanes.iter().flatten().any(|&granule| builder.may_carry_float(granule)) => {
            results.fill(Some(Granule::Unknown));
        }
        None => {
            if count == 1 {
                // The other granules of the half come next: one piece logs them all.
                for source in args {
                    builder.granules(source, mask(first / HALF * HALF, HALF));
                }
            }
            let args = args.map(|source| builder.read(source, first, opaque(count)));
            let value = builder.value(opaque(count), Op::Bitwise { op, args });
            fill(results, value);
        }
    }
}

fn fill(results: &mut [Option<Granule>], value: Value) {
    for (index, result) in results.iter_mut().enumerate() {
        *result = Some(Granule::Part { value, index: index as u8 });
    }
}

/// What a constant argument alone decides.
#[derive(PartialEq, Debug)]
enum Decided {
    Bits(u128),
    /// The result is this argument.
    Argument(usize),
}

fn decided(op: BitOp, bits: [Option<u128>; 2], ones: u128) -> Option<Decided> {
    if let [Some(a), Some(b)] = bits {
        return Some(Decided::Bits(op.apply(a, b) & ones));
    }
    let (arg, bits) = match bits {
        [Some(bits), None] => (0, bits),
        [None, Some(bits)] => (1, bits),
        _ => return None,
    };
    let other = Some(Decided::Argument(1 - arg));
    match (op, arg) {
        (BitOp::And, _) | (BitOp::AndNot, 1) if bits == 0 => Some(Decided::Bits(0)),
        (BitOp::AndNot, 0) if bits == ones => Some(Decided::Bits(0)),
        (BitOp::Or, _) if bits == ones => Some(Decided::Bits(ones)),
        (BitOp::And, _) if bits == ones => other,
        (BitOp::Or | BitOp::Xor, _) | (BitOp::AndNot, 0) if bits == 0 => other,
        _ => None,
    }
}
