//! Mathematical functions: each result is one operation of the analysis.
//!
//! What a function takes and gives is a row of a table (`functions.rs`); in which registers that is, follows from the calling convention
//! (`convention.rs`); under which names the function is known, from how libraries name the formats and the lanes (`names.rs`).

pub(crate) mod convention;
mod functions;
mod names;
#[cfg(test)]
mod tests;

pub(crate) use convention::Lanes;
pub(crate) use functions::{Give, Take};
pub use names::{is_extension, is_reserved, math};

use fpgrind_ir::{Operator, Place, Type};

/// A mathematical function as a call of it looks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Math {
    /// What its operators work on. A vector function has arguments for each lane.
    pub args: Vec<Argument>,
    pub results: Vec<Outcome>,
    /// Where the pointers to results are when it is called: so many bytes of registers, one behind the other.
    pub pointers: Vec<(Place, u8)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    pub kind: Kind,
    pub at: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Float(Type),
    /// Signed, of so many bytes.
    Integer(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    Register(Place),
    /// So many bytes above the stack pointer, which points at the return address.
    Stack(u8),
    /// Nowhere: it is always zero.
    Zero,
}

/// A result: the operator on these of the arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub operator: Operator,
    pub of: Vec<u8>,
    /// Of a float, or of an integer's bits.
    pub ty: Type,
    /// A register, or what one of the pointers points to and so many bytes further.
    pub at: Place,
}
