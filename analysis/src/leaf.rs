//! Floats without a history.

use fpgrind_ir::Type;

/// A float without a history: it is taken to be exactly what it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leaf {
    low: u64,
    high: u64,
    pub ty: Type,
    /// A number written in the program, not data that it works on.
    pub constant: bool,
}

impl Leaf {
    #[inline]
    pub fn new(ty: Type, bits: u128, constant: bool) -> Leaf {
        Leaf { low: bits as u64, high: (bits >> 64) as u64, ty, constant }
    }

    /// Do eight bytes hold it?
    #[inline]
    pub fn is_short(&self) -> bool {
        self.high == 0
    }

    #[inline]
    pub fn bits(&self) -> u128 {
        self.low as u128 | (self.high as u128) << 64
    }
}
