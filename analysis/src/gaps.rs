//! Gaps in a log: code ran that was not logged, because the user did not select it.
//!
//! Such code moves floats unseen. What it left where it was has its shadow still, because the bits say so; but of a number like 0 or 1 the bits say
//! little, and a register that has held one is the likeliest place for another. And an inaccurate number that was moved and is
//! then printed is known by its bits again, if there are enough of them.

use crate::format::{Kind, decode};
use crate::trace::Handle;
use fpgrind_ir::Type;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Numbers with more digits than this, that are no integers, are not met twice by chance. (What cancellation leaves has few digits.)
const TELLING_BITS: u32 = 12;

/// Are these bits hardly those of another number by chance?
pub fn is_telling(ty: Type, bits: u128) -> bool {
    match decode(ty, bits).kind {
        Kind::Finite { significand, exponent } => {
            let digits = u128::BITS - significand.trailing_zeros();
            digits > TELLING_BITS && exponent < digits.into()
        }
        Kind::Nan | Kind::Infinite | Kind::Zero => false,
    }
}

/// The inaccurate numbers that were computed last, by their bits. Floats of few bits are not among them.
pub struct Strays {
    /// There are gaps.
    pub wanted: bool,
    most: usize,
    nodes: FxHashMap<(Type, u128), Handle>,
    order: VecDeque<(Type, u128)>,
}

/// So many are kept, at least and at most; each costs about so many bytes, with what is behind it.
const LEAST: usize = 1 << 8;
const MOST: usize = 1 << 16;
const EACH: usize = 1 << 9;

impl Strays {
    /// In about so many bytes.
    pub fn new(bytes: usize) -> Strays {
        let most = (bytes / EACH).clamp(LEAST, MOST);
        Strays { wanted: false, most, nodes: FxHashMap::default(), order: VecDeque::new() }
    }

    #[inline(always)]
    pub fn note(&mut self, ty: Type, bits: u128, node: Handle) {
        if self.wanted {
            self.keep(ty, bits, node);
        }
    }

    fn keep(&mut self, ty: Type, bits: u128, node: Handle) {
        if ty.bytes() < Type::F64.bytes() || !is_telling(ty, bits) {
            return;
        }
        if self.nodes.insert((ty, bits), node).is_none() {
            self.order.push_back((ty, bits));
        }
        if self.order.len() > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.nodes.remove(&oldest);
        }
    }

    pub fn find(&self, ty: Type, bits: u128) -> Option<Handle> {
        self.nodes.get(&(ty, bits)).copied()
    }

    pub fn each_root(&mut self, root: &mut dyn FnMut(&mut Handle)) {
        self.nodes.values_mut().for_each(root);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_numbers_tell_little() {
        for number in [0.0, -0.0, 1.0, 100.0, 0.375, 1e5, 123456789.0, 1e300, f64::INFINITY, f64::NAN] {
            assert!(!is_telling(Type::F64, number.to_bits().into()), "{number}");
        }
        for number in [0.1, 1.5f64 / 1e6 + 1e-11, 12345.6, -std::f64::consts::PI, 1.0 + f64::EPSILON] {
            assert!(is_telling(Type::F64, number.to_bits().into()), "{number}");
        }
        assert!(is_telling(Type::F32, 0.1f32.to_bits().into()) && !is_telling(Type::F32, 3f32.to_bits().into()));
    }
}
