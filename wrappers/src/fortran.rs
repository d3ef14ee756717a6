//! What a Fortran program hands to libgfortran to be written, list-directed, formatted or unformatted. (What it names as a namelist's is
//! first looked at when the namelist is written: there the library's own call of snprintf tells.)
//!
//! The interface is that of libgfortran 5, the library of GCC 8 and later (libgfortran/io/transfer.c, libgfortran.h).

use crate::call::{read_u64, read_u128};
use crate::{CallState, Memory};
use fpgrind_analysis::log::{Conversion, Origin, OutputArg};
use fpgrind_ir::Type;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    Real,
    Complex,
    /// An array or a section of one, of any type.
    Array,
}

/// Elements of an array that are looked at in one call: the first ones.
const MAX_ELEMENTS: usize = 1 << 14;
const MAX_RANK: usize = 15;

// What the descriptor of an array says of its elements' type.
const REAL: u8 = 3;
const COMPLEX: u8 = 4;

// An array's descriptor: the address of its first element, an offset, its type (the length of an element, a version, rank, type,
// attribute), a span, and three words for each dimension: stride, lower and upper bound.
const ELEMENT_BYTES: u64 = 16;
const RANK_AND_TYPE: u64 = 24;
const DIMENSIONS: u64 = 40;
const DIMENSION: u64 = 24;

pub fn shown(item: Item, call: &CallState, memory: &Memory) -> Vec<OutputArg> {
    floats(item, call, memory).unwrap_or_default()
}

fn floats(item: Item, call: &CallState, memory: &Memory) -> Option<Vec<OutputArg>> {
    let (variable, kind) = (call.integer(1, memory)?, call.integer(2, memory)? as u32);
    let mut found = Vec::new();
    match item {
        Item::Real | Item::Complex => {
            let parts = if item == Item::Real { 1 } else { 2 };
            element(variable, kind, parts, memory, &mut found);
        }
        Item::Array => array(variable, kind, memory, &mut found)?,
    }
    Some(found)
}

/// The type of a real of this kind, and the bytes that it takes.
fn real(kind: u32) -> Option<(Type, u64)> {
    match kind {
        4 => Some((Type::F32, 4)),
        8 => Some((Type::F64, 8)),
        10 => Some((Type::F80, 16)),
        16 => Some((Type::F128, 16)),
        _ => None,
    }
}

fn parts_of(ty: u8) -> Option<u32> {
    match ty {
        REAL => Some(1),
        COMPLEX => Some(2),
        _ => None,
    }
}

fn rank_and_type(word: u64) -> (usize, u8) {
    ((word >> 32) as u8 as usize, (word >> 40) as u8)
}

/// The real or complex number at an address.
fn element(address: u64, kind: u32, parts: u32, memory: &Memory, found: &mut Vec<OutputArg>) {
    let Some((ty, bytes)) = real(kind) else { return };
    for argument in 0..parts {
        let address = address.wrapping_add(bytes * u64::from(argument));
        let Some(bits) = read_u128(memory, address, ty.bytes()) else { return };
        let (origin, conversion) = (Origin::Memory(address), Conversion::default());
        found.push(OutputArg { ty, bits, origin, argument, conversion });
    }
}

fn array(descriptor: u64, kind: u32, memory: &Memory, found: &mut Vec<OutputArg>) -> Option<()> {
    let word = |offset: u64| read_u64(memory, descriptor.wrapping_add(offset));
    let (base, bytes) = (word(0)?, word(ELEMENT_BYTES)?);
    let (rank, ty) = rank_and_type(word(RANK_AND_TYPE)?);
    let parts = parts_of(ty)?;
    let mut dimensions = Vec::new();
    for dimension in 0..rank.min(MAX_RANK) as u64 {
        let at = DIMENSIONS + DIMENSION * dimension;
        let (stride, lower, upper) = (word(at)?, word(at + 8)? as i64, word(at + 16)? as i64);
        let extent = upper.checked_sub(lower)?.checked_add(1)?;
        if extent <= 0 {
            return None;
        }
        dimensions.push((stride.wrapping_mul(bytes), extent));
    }
    let mut index = vec![0i64; dimensions.len()];
    for _ in 0..MAX_ELEMENTS {
        let steps = index.iter().zip(&dimensions).map(|(index, (stride, _))| (*index as u64).wrapping_mul(*stride));
        let before = found.len();
        element(steps.fold(base, u64::wrapping_add), kind, parts, memory, found);
        // Memory that cannot be read, or a kind that is not shadowed.
        if found.len() == before {
            break;
        }
        // The first dimension runs fastest.
        let next = index.iter_mut().zip(&dimensions).find_map(|(index, (_, extent))| {
            *index += 1;
            if *index < *extent {
                return Some(());
            }
            *index = 0;
            None
        });
        if next.is_none() {
            break;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RDX: usize = 2;
    const RSI: usize = 6;

    /// Memory that begins at an address, as words.
    fn memory_of(start: u64, words: Vec<u64>) -> impl Fn(u64, &mut [u8]) -> bool {
        let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        move |address, buffer| {
            let at = address.wrapping_sub(start) as usize;
            match at.checked_add(buffer.len()).and_then(|end| bytes.get(at..end)) {
                Some(found) => {
                    buffer.copy_from_slice(found);
                    true
                }
                None => false,
            }
        }
    }

    fn call(kind: u64) -> CallState {
        let mut call = CallState::default();
        (call.gpr[RSI], call.gpr[RDX]) = (0x1000, kind);
        call
    }

    #[test]
    fn every_second_row_of_a_section_is_walked_by_its_strides() {
        // b(1:3:2, 1:2) of a matrix with 3 rows: its first element, then strides of 2 and 3.
        let mut words = vec![0x1000 + 8 * 11, 0, 8, (2u64 << 32) | (u64::from(REAL) << 40), 8];
        words.extend([2, 1, 2, 3, 1, 2]);
        assert_eq!(words.len(), 11);
        words.extend((0..6).map(|n| f64::from(n).to_bits()));
        let memory = memory_of(0x1000, words);
        let values: Vec<f64> =
            shown(Item::Array, &call(8), &memory).iter().map(|arg| f64::from_bits(arg.bits as u64)).collect();
        assert_eq!(values, [0.0, 2.0, 3.0, 5.0]);
    }

    #[test]
    fn arrays_of_integers_and_empty_ones_show_nothing_and_wild_descriptors_end() {
        let descriptor = |ty: u8, upper: u64| vec![0x1000, 0, 8, (1u64 << 32) | (u64::from(ty) << 40), 8, 1, 1, upper];
        for (ty, upper, count) in [(1, 2, 0), (REAL, 0, 0), (REAL, u64::MAX, 0), (REAL, 1 << 40, 8)] {
            let memory = memory_of(0x1000, descriptor(ty, upper));
            assert_eq!(shown(Item::Array, &call(8), &memory).len(), count, "{ty} {upper}");
        }
        let memory = memory_of(0x1000, descriptor(REAL, i64::MAX as u64));
        assert!(shown(Item::Array, &call(3), &memory).is_empty(), "there is no real(3)");
    }

    #[test]
    fn a_complex_number_is_two_and_single_precision_is_half_as_wide() {
        let single = |value: f32| u64::from(value.to_bits());
        let memory = memory_of(0x1000, vec![single(1.5) | single(2.5) << 32]);
        let parts = shown(Item::Complex, &call(4), &memory);
        assert_eq!(
            parts.iter().map(|arg| (arg.ty, arg.argument)).collect::<Vec<_>>(),
            [(Type::F32, 0), (Type::F32, 1)]
        );
        assert_eq!(parts[1].bits as u64, single(2.5));
        assert_eq!(parts[1].origin, Origin::Memory(0x1004));
    }
}
