//! What the registers hold at a point inside a block, granule by granule.

use fpgrind_ir::Value;

/// Granules of a vector register, and of its lowest quarter, which legacy instructions see.
pub const WHOLE: usize = 16;
pub const QUARTER: usize = 4;

/// What is known of four bytes of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granule {
    /// What it held when the block was entered.
    Untouched,
    /// Whatever an instruction that is not followed has written.
    Unknown,
    /// Granule `index` of a value.
    Part { value: Value, index: u8 },
}

impl Granule {
    /// The granules of a value of 16 bytes or less.
    pub fn parts_of(value: Value) -> [Granule; QUARTER] {
        std::array::from_fn(|index| Granule::Part { value, index: index as u8 })
    }
}

/// A vector register.
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    pub granules: [Granule; WHOLE],
    /// Written by this block: to be put or dropped at its end.
    pub written: [bool; WHOLE],
}

impl Vector {
    pub const UNTOUCHED: Vector = Vector { granules: [Granule::Untouched; WHOLE], written: [false; WHOLE] };
}

/// A general register.
#[derive(Clone, Copy, Debug)]
pub struct General {
    pub granules: [Granule; 2],
    /// The present contents as logged, if they were: what addresses are made of.
    pub logged: Option<Value>,
    /// The contents may well be a float, as what came from a vector register: to be put at the block's end.
    pub may_be_float: bool,
    /// What the contents were made of, if that was floats' bits: a number in the builder's list.
    pub derived: Option<u16>,
}

impl General {
    pub const UNTOUCHED: General =
        General { granules: [Granule::Untouched; 2], logged: None, may_be_float: false, derived: None };

    pub const UNKNOWN: General =
        General { granules: [Granule::Unknown; 2], logged: None, may_be_float: false, derived: None };
}
