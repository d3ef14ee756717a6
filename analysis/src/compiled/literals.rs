//! Numbers that compiled code asks for, and where it finds them, and all else that belongs to operations.

use super::encode::{At, Gpr};
use super::*;
use crate::compensation::NOTHING;
use crate::lossy::HARDLY_MORE;
use crate::offset::{DISTANCE, DOUBT, DOUBT_OF_SINGLES, LEAST, LEAST_SINGLE, REPAIR, SLACK, TERM, TERM_BESIDE_PRODUCT};
use crate::pair;

#[derive(Clone, Copy)]
pub enum Literal {
    /// What is weighed beside the native result, in units of the doubt that is tolerated; and that unit's share of a number.
    Margin,
    MarginOfSingles,
    Distance,
    DistanceOfSingles,
    Term,
    TermOfSingles,
    TermBesideProduct,
    TermBesideProductOfSingles,
    Least,
    LeastSingle,
    LeastDividend,
    Slack,
    Repair,
    Two,
    U,
    TwoU,
    TwoUAndSlack,
    FourU,
    /// Masks, for two doubles at once: the sign, and all but that.
    Sign,
    SignToo,
    Magnitude,
    MagnitudeToo,
    Doubt,
    DoubtOfSingles,
    HardlyMore,
    Nothing,
    SlackOfPairs,
    One,
    UOfSingles,
}

/// By number.
pub type Literals = [u64; 29];

pub fn literals() -> Literals {
    use Literal::*;
    // Powers of two: nothing is rounded by them.
    let (of_doubles, of_singles) = (DOUBT.recip(), DOUBT_OF_SINGLES.recip());
    let all = [
        (Margin, of_doubles),
        (MarginOfSingles, of_singles),
        (Distance, DISTANCE * of_doubles),
        (DistanceOfSingles, DISTANCE * of_singles),
        (Term, TERM * of_doubles),
        (TermOfSingles, TERM * of_singles),
        (TermBesideProduct, TERM_BESIDE_PRODUCT * of_doubles),
        (TermBesideProductOfSingles, TERM_BESIDE_PRODUCT * of_singles),
        (Least, LEAST * of_doubles),
        (LeastSingle, LEAST_SINGLE * of_singles),
        (LeastDividend, LEAST),
        (Slack, SLACK),
        (Repair, REPAIR),
        (Two, 2.0),
        (U, pair::U),
        (TwoU, 2.0 * pair::U),
        (TwoUAndSlack, 2.0 * pair::U * SLACK),
        (FourU, 4.0 * pair::U),
        (Sign, -0.0),
        (SignToo, -0.0),
        (Magnitude, f64::from_bits(!(1 << 63))),
        (MagnitudeToo, f64::from_bits(!(1 << 63))),
        (Doubt, DOUBT),
        (DoubtOfSingles, DOUBT_OF_SINGLES),
        (HardlyMore, HARDLY_MORE),
        (Nothing, NOTHING),
        (SlackOfPairs, pair::SLACK),
        (One, 1.0),
        (UOfSingles, f32::EPSILON as f64 / 2.0),
    ];
    let mut literals = Literals::default();
    for (literal, number) in all {
        literals[literal as usize] = number.to_bits();
    }
    literals
}

/// Where it is.
pub fn number<R: Real>(literal: Literal) -> At {
    let at = offset_of!(Operations<R>, routines.literals) + literal as usize * size_of::<u64>();
    At { register: OPERATIONS, distance: field::<R>(at) }
}

/// rbx.
const OPERATIONS: Gpr = 3;

/// Where a field of the operations is, from rbx. That points to where what is asked for most can be told in a byte.
pub const fn field<R>(offset: usize) -> i32 {
    offset as i32 - offset_of!(Operations<R>, routines.literals) as i32
}
