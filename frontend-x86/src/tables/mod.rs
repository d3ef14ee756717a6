//! What the lifted instructions do, as data: one table a family, one row a meaning.
//!
//! An [`Entry`] lists the mnemonics that mean the same: `addpd` and `vaddpd`, in all their encodings. What the encodings differ
//! in is read off the instruction, once for all ([`Form`](crate::operands::Form)): the length of the vectors, which operands are the
//! arguments, what becomes of the destination above the result, masks, embedded broadcast and rounding.

mod arithmetic;
mod compares;
mod conversions;
mod dropped;
mod fused;
mod general;
mod logic;
mod moves;
pub mod shuffles;
mod special;
mod state;

pub use dropped::why_dropped;

use crate::registers::WHOLE;
use fpgrind_ir::{BitOp, Operator, Rounding, Type};
use iced_x86::Mnemonic;
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub mnemonics: &'static [Mnemonic],
    pub operation: Operation,
}

const fn row(mnemonics: &'static [Mnemonic], operation: Operation) -> Entry {
    Entry { mnemonics, operation }
}

/// The lanes that an instruction works on: all of its vectors', or the lowest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes {
    pub ty: Type,
    pub scalar: bool,
}

const fn packed(ty: Type) -> Lanes {
    Lanes { ty, scalar: false }
}

const fn scalar(ty: Type) -> Lanes {
    Lanes { ty, scalar: true }
}

/// What an instruction does to its arguments' lanes. Lane 0 is the lowest. The arguments are the last operands, as many as the
/// operation takes; the first operand is the destination, and an argument too where there are not enough others.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// The operator on each lane.
    Apply {
        operator: Operator,
        lanes: Lanes,
    },
    /// The same of an operator whose results are logged, because nothing else is sure to compute the same.
    ApplyLogged {
        operator: Operator,
        lanes: Lanes,
    },
    /// Multiplies and adds with one rounding: by the first operator in even lanes, the second in odd ones.
    Fused {
        operators: [Operator; 2],
        lanes: Lanes,
        order: Order,
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
    /// Products of lanes that the immediate names, summed; the sum goes to lanes that it names.
    DotProduct {
        ty: Type,
    },
    /// Pairs of lanes of the arguments multiplied and added to the destination, each step rounded.
    DotProductOfHalves,
    /// Complex numbers in pairs of lanes: multiplied, perhaps after conjugation of the second argument, perhaps added to the destination.
    Complex {
        conjugate: bool,
        accumulate: bool,
        scalar: bool,
    },
    /// To integers that stay floats, as the immediate says.
    Round {
        lanes: Lanes,
    },
    /// To multiples of a power of two, as the immediate says; or what that leaves.
    RoundScaled {
        lanes: Lanes,
        remainder: bool,
    },
    /// The number scaled by a power of two into an interval.
    Mantissa {
        lanes: Lanes,
    },
    /// One of the arguments or its negative, or something else altogether: their bits tell.
    OneOf {
        lanes: Lanes,
        arguments: u32,
    },
    Cast {
        from: Type,
        to: Type,
        scalar: bool,
    },
    /// Every second lane, even or odd ones, of a type half as wide.
    CastEverySecond {
        from: Type,
        to: Type,
        odd: bool,
    },
    /// The lanes of the second argument, and above them those of the first.
    CastTwo {
        from: Type,
        to: Type,
    },
    /// Ones or zeros in each lane, by the relation that the immediate names.
    Mask {
        lanes: Lanes,
    },
    /// Sets the flags and no register.
    Compare {
        ty: Type,
    },
    /// The signs of all lanes: decisions.
    Signs {
        ty: Type,
    },
    ToInt {
        lanes: Lanes,
        bytes: u8,
        rounding: Rounding,
        signed: bool,
    },
    /// The lanes become something that is taken as it comes, for this reason. `of` is the argument's width in bytes.
    Leaf {
        lanes: Lanes,
        of: usize,
        why: &'static str,
    },
    /// Integers added to lanes or subtracted from them: so exponents are changed.
    Exponents {
        ty: Type,
    },
    /// Logic on bits; under a mask by elements of so many bytes.
    Logic {
        op: BitOp,
        element: usize,
    },
    /// Logic on three arguments by a truth table.
    Ternary {
        element: usize,
    },
    /// In each lane the second argument where the third's highest bit is set, else the first. A third argument that is not an
    /// operand is xmm0.
    Select {
        ty: Type,
    },
    /// In each lane the second argument where the mask's bit is set, else the first or zero.
    Blend {
        ty: Type,
    },
    /// Granules change places, by elements of so many bytes under a mask.
    Rearrange {
        pattern: Pattern,
        element: usize,
    },
    /// A lane is moved; a register's others stay, or are the other argument's. If the source is memory they become zero.
    MoveLow {
        ty: Type,
    },
    /// Lanes of the tables, each chosen by a lane of the control.
    Permute {
        ty: Type,
        by: Control,
    },
    Compress {
        ty: Type,
    },
    Expand {
        ty: Type,
    },
    /// Lanes are loaded from addresses that lanes of an index make.
    Gather {
        ty: Type,
        index: Type,
    },
    Scatter {
        ty: Type,
        index: Type,
    },
    /// Lanes are loaded or stored where the first source's highest bit is set.
    MaskedMove {
        ty: Type,
    },
    /// Two bytes are put into a lane, taken from one, or into all lanes.
    Halves(Halves),
    /// What general registers do.
    General(General),
    /// MXCSR is loaded from the operand.
    SetMxcsr,
    /// All registers are saved to an image in memory, or loaded from one.
    SaveState,
    RestoreState,
    /// The vector registers that legacy and VEX instructions know become zero from this granule on.
    ZeroVectors {
        from: usize,
    },
}

/// The operands of a fused multiplication and addition: two factors, and what is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order(pub [u32; 3]);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// The second operand chooses among the third's lanes.
    Second,
    /// The third operand chooses among the second's lanes, within each quarter, from this bit of the lane on.
    ThirdInQuarters(u8),
    /// The second operand chooses among the lanes of the first and the third.
    SecondOfTwo,
    /// The first operand, which is written over, chooses among the lanes of the second and the third.
    FirstOfTwo,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halves {
    /// The lowest half of a register or memory, zero above it; or a half that goes to memory or a general register.
    Move,
    Broadcast,
    Insert,
    Extract,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum General {
    Move,
    Push,
    Pop,
    Exchange,
    ConditionalMove,
    /// String instructions: so many bytes from [rsi] to [rdi], or all over [rdi].
    MoveString {
        bytes: u8,
    },
    StoreString {
        bytes: u8,
    },
}

/// Where each granule of the destination comes from, the lowest first. A destination shorter than the pattern
/// takes its beginning.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    Fixed(&'static [Pick]),
    /// Eight bytes: into the lower or the upper half of 16 bytes, whose rest is the other argument's; or out of it to memory.
    Part {
        upper: bool,
    },
    /// As the immediate says, for vectors of so many granules; none if the move is not by whole granules. Of so many arguments.
    ByImmediate {
        picks: fn(u8, usize) -> Option<Picks>,
        arguments: u32,
    },
    /// As the last operand's bytes say, if its contents are constant.
    ByBytes,
}

pub type Picks = [Pick; WHOLE];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// This granule of the first argument.
    A(u8),
    /// This granule of the second argument.
    B(u8),
    Zero,
}

/// What a mnemonic means, if it is lifted.
pub fn lookup(mnemonic: Mnemonic) -> Option<&'static Operation> {
    static BY_MNEMONIC: LazyLock<Vec<Option<&'static Operation>>> = LazyLock::new(|| {
        let mut by_mnemonic = vec![None; Mnemonic::values().len()];
        for entry in TABLES.iter().copied().flatten() {
            for &mnemonic in entry.mnemonics {
                by_mnemonic[mnemonic as usize] = Some(&entry.operation);
            }
        }
        by_mnemonic
    });
    *BY_MNEMONIC.get(mnemonic as usize)?
}

const TABLES: [&[Entry]; 10] = [
    arithmetic::TABLE,
    special::TABLE,
    fused::TABLE,
    moves::TABLE,
    general::TABLE,
    shuffles::TABLE,
    logic::TABLE,
    compares::TABLE,
    conversions::TABLE,
    state::TABLE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mnemonic_has_two_entries() {
        let mut mnemonics: Vec<usize> =
            TABLES.iter().copied().flatten().flat_map(|entry| entry.mnemonics).map(|&it| it as usize).collect();
        let entries = mnemonics.len();
        mnemonics.sort_unstable();
        mnemonics.dedup();
        assert_eq!(mnemonics.len(), entries);
    }

    #[test]
    fn patterns_pick_granules_that_exist() {
        for entry in TABLES.iter().copied().flatten() {
            let Operation::Rearrange { pattern, .. } = entry.operation else { continue };
            let instances: Vec<Vec<Pick>> = match pattern {
                Pattern::Fixed(picks) => vec![picks.to_vec()],
                Pattern::ByImmediate { picks, .. } => [4, 8, 16]
                    .into_iter()
                    .flat_map(|granules| {
                        (0..=255).filter_map(move |immediate| Some(picks(immediate, granules)?.to_vec()))
                    })
                    .collect(),
                Pattern::ByBytes | Pattern::Part { .. } => continue,
            };
            for pick in instances.iter().flatten() {
                let exists = !matches!(pick, Pick::A(granule) | Pick::B(granule) if *granule as usize >= WHOLE);
                assert!(exists, "{:?} has {pick:?}", entry.mnemonics);
            }
        }
    }
}
