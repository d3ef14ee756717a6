//! Floats without a history. There are more of them than of anything else, so they have no room for a format that few programs use: the
//! bits of a `_Float128` are kept once for all leaves that have them, and the leaf has their number.

use fpgrind_ir::Type;
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// A float without a history: it is taken to be exactly what it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    low: u64,
    high: u16,
    pub ty: Type,
    /// A number written in the program, not data that it works on.
    pub constant: bool,
}

impl Leaf {
    #[inline]
    pub fn new(ty: Type, bits: u128, constant: bool) -> Leaf {
        let bits = if ty == Type::F128 { LONG.with_borrow_mut(|long| long.number(bits)) } else { bits };
        Leaf { low: bits as u64, high: (bits >> 64) as u16, ty, constant }
    }

    /// Do eight bytes hold it?
    #[inline]
    pub fn is_short(&self) -> bool {
        self.high == 0 && self.ty != Type::F128
    }

    #[inline]
    pub fn bits(&self) -> u128 {
        let bits = self.low as u128 | (self.high as u128) << 64;
        if self.ty == Type::F128 { LONG.with_borrow(|long| long.bits(bits)) } else { bits }
    }
}

thread_local! {
    /// Leaves stay on the thread that made them, as all terms do.
    static LONG: RefCell<Long> = RefCell::default();
}

#[derive(Default)]
struct Long {
    bits: Vec<u128>,
    numbers: FxHashMap<u128, usize>,
}

impl Long {
    fn number(&mut self, bits: u128) -> u128 {
        let number = *self.numbers.entry(bits).or_insert_with(|| {
            self.bits.push(bits);
            self.bits.len() - 1
        });
        number as u128
    }

    fn bits(&self, number: u128) -> u128 {
        self.bits.get(number as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_of_every_format_keep_all_their_bits() {
        for (ty, bits) in [(Type::F64, u64::MAX.into()), (Type::F80, u128::MAX >> 48), (Type::F128, u128::MAX - 1)] {
            let leaf = Leaf::new(ty, bits, true);
            assert_eq!((leaf.bits(), leaf.ty, leaf.constant), (bits, ty, true));
            assert!(leaf == Leaf::new(ty, bits, true) && leaf != Leaf::new(ty, bits - 1, true));
        }
    }
}
