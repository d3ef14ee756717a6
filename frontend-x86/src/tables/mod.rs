//! What the lifted instructions do, as data: one table a family, one line an encoding.
//!
//! An [`Entry`] says three things apart from each other: what is done to each lane ([`Operation`]), which operands the
//! arguments are and what becomes of the part of the destination above the result ([`Rest`]). The VEX form
//! of a legacy instruction is the same operation with other sources and another rest.

mod arithmetic;
mod compares;
mod conversions;
mod fma;
mod logic;
mod moves;
mod shuffles;
mod state;

use fpgrind_ir::{BitOp, Operator, Rounding, Type};
use iced_x86::Code;
use std::sync::LazyLock;

/// One encoding of an instruction. Its destination, where it has one, is operand 0.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub code: Code,
    /// The operands that are the arguments, in their order.
    pub sources: &'static [u32],
    pub rest: Rest,
    pub operation: Operation,
}

/// What becomes of the destination above the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// It stays: legacy instructions.
    Keep,
    /// It becomes zero up to 16 bytes, and stays above them: some legacy instructions.
    ZeroLow,
    /// It becomes zero: VEX.
    Zero,
    /// Up to 16 bytes it becomes what this operand has there, and zero above them: scalar VEX.
    From(u32),
}

/// What an instruction does to its arguments' lanes. Lane 0 is the lowest.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// The operator on each lane.
    Apply {
        operator: Operator,
        ty: Type,
        lanes: usize,
    },
    /// The operator on neighbouring lanes: first the pairs of one argument, then those of the other.
    Horizontal {
        operator: Operator,
        ty: Type,
    },
    /// One operator in even lanes, another in odd ones.
    Alternate {
        even: Operator,
        odd: Operator,
        ty: Type,
    },
    /// To integers that stay floats, as the immediate says.
    Round {
        ty: Type,
        lanes: usize,
    },
    Cast {
        from: Type,
        to: Type,
        lanes: usize,
    },
    /// Ones or zeros in each lane, by the relation that the immediate names.
    Mask {
        ty: Type,
        lanes: usize,
    },
    /// Sets the flags and no register.
    Compare {
        ty: Type,
    },
    ToInt {
        ty: Type,
        lanes: usize,
        bytes: u8,
        rounding: Rounding,
    },
    /// So many low granules become something that is not followed.
    Opaque {
        granules: usize,
    },
    Logic(BitOp),
    /// In each lane the second argument where the third's highest bit is set, else the first. A third argument that is not an
    /// operand is xmm0.
    Select {
        ty: Type,
    },
    /// Granules change places.
    Rearrange(Pattern),
    /// So many low granules are moved; a register's others stay, unless the source is memory: then they become zero.
    MoveLow {
        granules: usize,
    },
    /// MXCSR is loaded from the operand.
    SetMxcsr,
    /// Vector registers and MXCSR are loaded from an image in memory.
    RestoreState,
    /// All vector registers become zero from this granule on.
    ZeroVectors {
        from: usize,
    },
}

/// Where each granule of the destination comes from, the lowest first. A destination shorter than the pattern
/// takes its beginning.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    Fixed(&'static [Pick]),
    /// As the immediate says; none if the move is not by whole granules.
    ByImmediate(fn(u8) -> Option<[Pick; 8]>),
    /// As this operand says, if its contents are constant.
    ByControl {
        control: u32,
        /// The pick for a granule, given the operand's granules.
        pick: fn(u8, [u32; 8]) -> Pick,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// This granule of the first argument.
    A(u8),
    /// This granule of the second argument.
    B(u8),
    Zero,
}

/// The entry of an encoding, if it is lifted.
pub fn lookup(code: Code) -> Option<&'static Entry> {
    static BY_CODE: LazyLock<Vec<Option<&'static Entry>>> = LazyLock::new(|| {
        let mut by_code = vec![None; Code::values().len()];
        for entry in TABLES.iter().copied().flatten() {
            by_code[entry.code as usize] = Some(entry);
        }
        by_code
    });
    *BY_CODE.get(code as usize)?
}

const TABLES: [&[Entry]; 8] = [
    arithmetic::TABLE,
    fma::TABLE,
    moves::TABLE,
    shuffles::TABLE,
    logic::TABLE,
    compares::TABLE,
    conversions::TABLE,
    state::TABLE,
];

/// A legacy SSE instruction with one argument.
const fn legacy1(code: Code, operation: Operation) -> Entry {
    Entry { code, sources: &[1], rest: Rest::Keep, operation }
}

/// A legacy SSE instruction whose destination is its first argument too.
const fn legacy2(code: Code, operation: Operation) -> Entry {
    Entry { code, sources: &[0, 1], rest: Rest::Keep, operation }
}

/// A legacy SSE instruction with one argument that zeroes what lies above its result.
const fn legacy1_zeroing(code: Code, operation: Operation) -> Entry {
    Entry { code, sources: &[1], rest: Rest::ZeroLow, operation }
}

/// A VEX instruction with one argument.
const fn vex1(code: Code, operation: Operation) -> Entry {
    Entry { code, sources: &[1], rest: Rest::Zero, operation }
}

/// A VEX instruction with two arguments.
const fn vex2(code: Code, operation: Operation) -> Entry {
    Entry { code, sources: &[1, 2], rest: Rest::Zero, operation }
}

/// A VEX instruction on the lowest lane of one argument, with another operand for what lies above.
const fn vex1_scalar(code: Code, operation: Operation) -> Entry {
    Entry { code, sources: &[2], rest: Rest::From(1), operation }
}

/// A VEX instruction on the lowest lanes of two arguments.
const fn vex2_scalar(code: Code, operation: Operation) -> Entry {
    Entry { code, sources: &[1, 2], rest: Rest::From(1), operation }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_encoding_has_two_entries() {
        let mut codes: Vec<usize> = TABLES.iter().copied().flatten().map(|entry| entry.code as usize).collect();
        let entries = codes.len();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), entries);
    }

    #[test]
    fn patterns_pick_granules_that_exist() {
        let patterns = TABLES.iter().copied().flatten().filter_map(|entry| match entry.operation {
            Operation::Rearrange(pattern) => Some((entry, pattern)),
            _ => None,
        });
        for (entry, pattern) in patterns {
            let instances: Vec<Vec<Pick>> = match pattern {
                Pattern::Fixed(picks) => vec![picks.to_vec()],
                Pattern::ByImmediate(picks) => (0..=255).filter_map(picks).map(|picks| picks.to_vec()).collect(),
                Pattern::ByControl { pick, .. } => {
                    (0..=255).map(|control| (0..8).map(|at| pick(at, [control; 8])).collect()).collect()
                }
            };
            let arguments = entry.sources.len();
            for pick in instances.iter().flatten() {
                let exists = match pick {
                    Pick::A(granule) => *granule < 8,
                    Pick::B(granule) => *granule < 8 && arguments == 2,
                    Pick::Zero => true,
                };
                assert!(exists, "{:?} has {pick:?}", entry.code);
            }
        }
    }
}
