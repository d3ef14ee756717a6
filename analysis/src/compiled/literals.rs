//! Numbers that compiled code asks for. They lie beside the routines, where all code finds them.

use super::*;
use crate::offset::{DISTANCE, DOUBT, DOUBT_OF_SINGLES, LEAST, LEAST_SINGLE, REPAIR, SLACK, TERM, TERM_BESIDE_PRODUCT};
use crate::pair;

#[derive(Clone, Copy)]
pub enum Literal {
    /// Masks: all but the sign, and the sign.
    Magnitude,
    Sign,
    Term,
    TermBesideProduct,
    Distance,
    Doubt,
    DoubtOfSingles,
    Least,
    LeastSingle,
    Slack,
    Repair,
    Two,
    U,
    TwoU,
    TwoUAndSlack,
    FourU,
}

/// By number, each twice: for two doubles at once.
pub type Literals = [[u64; 2]; 16];

pub fn literals() -> Literals {
    use Literal::*;
    let all = [
        (Magnitude, f64::from_bits(!(1 << 63))),
        (Sign, -0.0),
        (Term, TERM),
        (TermBesideProduct, TERM_BESIDE_PRODUCT),
        (Distance, DISTANCE),
        (Doubt, DOUBT),
        (DoubtOfSingles, DOUBT_OF_SINGLES),
        (Least, LEAST),
        (LeastSingle, LEAST_SINGLE),
        (Slack, SLACK),
        (Repair, REPAIR),
        (Two, 2.0),
        (U, pair::U),
        (TwoU, 2.0 * pair::U),
        (TwoUAndSlack, 2.0 * pair::U * SLACK),
        (FourU, 4.0 * pair::U),
    ];
    let mut literals = Literals::default();
    for (literal, number) in all {
        literals[literal as usize] = [number.to_bits(); 2];
    }
    literals
}

/// Where it is, from rbx.
pub fn literal<R: Real>(literal: Literal) -> i32 {
    (offset_of!(Operations<R>, routines.literals) + literal as usize * size_of::<[u64; 2]>()) as i32
}
