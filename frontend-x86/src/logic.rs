//! Logic on bits, by lanes that leave floats whole, and without computing what a constant mask decides.

use crate::builder::{Builder, Source, mask, opaque};
use crate::registers::{Granule, QUARTER, WHOLE};
use fpgrind_ir::{BitOp, Op, Reg, Value};

/// `op(a, b)` in the low granules. None is where the result is what `destination`, which may be `a` or `b`, holds already.
pub fn lower(
    builder: &mut Builder,
    op: BitOp,
    destination: Option<Reg>,
    [a, b]: [Source; 2],
    granules: usize,
) -> [Option<Granule>; WHOLE] {
    let cancels = matches!(op, BitOp::Xor | BitOp::AndNot) && a == b;
    let mut results: [Option<Granule>; WHOLE] = [None; WHOLE];
    let mut first = 0;
    while first < granules {
        let double = first % 2 == 0 && [a, b].into_iter().all(|source| is_whole(builder, source, first));
        let count = match double {
            true if changes_last_sign(builder, op, [a, b], first, granules) => QUARTER,
            true => 2,
            false => 1,
        };
        if cancels {
            results[first..first + count].fill(Some(builder.zero()));
        } else {
            lane(builder, op, destination, [a, b], first, &mut results[first..first + count]);
        }
        first += count;
    }
    results
}

/// The same of three arguments, by a table with a bit for each combination of their bits, the first argument's the highest.
pub fn ternary(builder: &mut Builder, table: u8, [a, b, c]: [Source; 3], granules: usize) -> Source {
    let [clear, set] = [table & 15, table >> 4].map(Two);
    let mut logic = Logic { builder, granules, b, c };
    match (clear, set) {
        (clear, set) if clear == set => logic.two(set),
        (Two::ZERO, set) => {
            let set = logic.two(set);
            logic.apply(BitOp::And, a, set)
        }
        (clear, Two::ZERO) => {
            let clear = logic.two(clear);
            logic.apply(BitOp::AndNot, a, clear)
        }
        (clear, Two::ONES) => {
            let clear = logic.two(clear);
            logic.apply(BitOp::Or, a, clear)
        }
        (clear, set) if clear.0 == set.0 ^ 15 => {
            let clear = logic.two(clear);
            logic.apply(BitOp::Xor, a, clear)
        }
        (clear, set) => {
            let [clear, set] = [clear, set].map(|half| logic.two(half));
            let set = logic.apply(BitOp::And, a, set);
            let clear = logic.apply(BitOp::AndNot, a, clear);
            logic.apply(BitOp::Or, set, clear)
        }
    }
}

/// A function of two bits: a bit of the table for each combination.
#[derive(Clone, Copy, PartialEq)]
struct Two(u8);

impl Two {
    const ZERO: Two = Two(0);
    const ONES: Two = Two(15);
}

struct Logic<'a> {
    builder: &'a mut Builder,
    granules: usize,
    b: Source,
    c: Source,
}

impl Logic<'_> {
    fn apply(&mut self, op: BitOp, a: Source, b: Source) -> Source {
        let results = lower(self.builder, op, None, [a, b], self.granules);
        Source::Granules(results.map(|granule| granule.unwrap_or(Granule::Unknown)))
    }

    fn constant(&mut self, bits: u32) -> Source {
        let value = self.builder.constant(fpgrind_ir::Type::B32, bits as u128);
        Source::Granules([Granule::Part { value, index: 0 }; WHOLE])
    }

    fn two(&mut self, Two(table): Two) -> Source {
        let (b, c) = (self.b, self.c);
        match table {
            0b0000 => self.constant(0),
            0b1111 => self.constant(u32::MAX),
            0b1100 => b,
            0b1010 => c,
            0b1000 => self.apply(BitOp::And, b, c),
            0b1110 => self.apply(BitOp::Or, b, c),
            0b0110 => self.apply(BitOp::Xor, b, c),
            0b0100 => self.apply(BitOp::AndNot, c, b),
            0b0010 => self.apply(BitOp::AndNot, b, c),
            _ => {
                let (complement, ones) = (self.two(Two(table ^ 15)), self.constant(u32::MAX));
                self.apply(BitOp::Xor, complement, ones)
            }
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

/// Does a constant change nothing but the last bit of a quarter? That is the sign of a _Float128, or of the second of two doubles: which it
/// is will be seen when it runs.
fn changes_last_sign(builder: &Builder, op: BitOp, args: [Source; 2], first: usize, granules: usize) -> bool {
    const SIGN: u128 = 1 << 127;
    let is_mask = |arg: usize| {
        let bits = builder.constant_bits(&builder.peek(args[arg])[first..first + QUARTER]);
        match (op, arg) {
            (BitOp::And, _) => bits == Some(!SIGN),
            (BitOp::AndNot, 1) => false,
            _ => bits == Some(SIGN),
        }
    };
    first.is_multiple_of(QUARTER) && first + QUARTER <= granules && (is_mask(0) || is_mask(1))
}

/// One lane of the result. A granule stays `None` if it keeps what the destination holds there.
fn lane(
    builder: &mut Builder,
    op: BitOp,
    destination: Option<Reg>,
    args: [Source; 2],
    first: usize,
    results: &mut [Option<Granule>],
) {
    let count = results.len();
    let lane_of = |builder: &Builder, source| builder.peek(source)[first..first + count].to_vec();
    let lanes = args.map(|source| lane_of(builder, source));
    let bits = [0, 1].map(|arg| builder.constant_bits(&lanes[arg]));
    match decided(op, bits, u128::MAX >> (128 - 32 * count)) {
        Some(Decided::Bits(bits)) => {
            let value = builder.constant(opaque(count), bits);
            fill(results, value);
        }
        Some(Decided::Argument(arg)) => {
            if destination.is_none_or(|reg| args[arg] != Source::Register(reg)) {
                let granules = builder.granules(args[arg], mask(first, count));
                for (result, granule) in results.iter_mut().zip(&granules[first..]) {
                    *result = Some(*granule);
                }
            }
        }
        // Integers: nothing is followed, so nothing needs to be logged. What is itself the result of logic on integers cannot be.
        None if !lanes.iter().flatten().any(|&granule| builder.may_carry_float(granule))
            || [0, 1].into_iter().any(|arg| is_lost(args[arg], &lanes[arg])) =>
        {
            results.fill(Some(Granule::Unknown));
        }
        None => {
            if count == 1 {
                // The other granules of the quarter come next: one piece logs them all.
                for source in args {
                    builder.granules(source, mask(first / QUARTER * QUARTER, QUARTER));
                }
            }
            let args = args.map(|source| builder.read(source, first, opaque(count)));
            let value = builder.value(opaque(count), Op::Bitwise { op, args });
            fill(results, value);
        }
    }
}

/// Is it unknown, and in no register that it could be read from?
fn is_lost(source: Source, lane: &[Granule]) -> bool {
    matches!(source, Source::Granules(_)) && lane.contains(&Granule::Unknown)
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
