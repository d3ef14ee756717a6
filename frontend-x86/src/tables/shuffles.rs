//! Shuffles, unpacks and byte shifts of whole registers: granules change places.

use super::{
    Entry, Operation, Pattern,
    Pick::{self, *},
    Rest, Sources, legacy1, legacy2,
};
use iced_x86::Code::{self, *};

const LOW_SINGLES: &[Pick] = &[A(0), B(0), A(1), B(1)];
const HIGH_SINGLES: &[Pick] = &[A(2), B(2), A(3), B(3)];
const LOW_DOUBLES: &[Pick] = &[A(0), A(1), B(0), B(1)];
const HIGH_DOUBLES: &[Pick] = &[A(2), A(3), B(2), B(3)];

pub const TABLE: &[Entry] = &[
    unpack(Unpcklps_xmm_xmmm128, LOW_SINGLES),
    unpack(Unpckhps_xmm_xmmm128, HIGH_SINGLES),
    unpack(Unpcklpd_xmm_xmmm128, LOW_DOUBLES),
    unpack(Unpckhpd_xmm_xmmm128, HIGH_DOUBLES),
    unpack(Punpckldq_xmm_xmmm128, LOW_SINGLES),
    unpack(Punpckhdq_xmm_xmmm128, HIGH_SINGLES),
    unpack(Punpcklqdq_xmm_xmmm128, LOW_DOUBLES),
    unpack(Punpckhqdq_xmm_xmmm128, HIGH_DOUBLES),
    legacy2(Shufps_xmm_xmmm128_imm8, by_immediate(shufps)),
    legacy2(Shufpd_xmm_xmmm128_imm8, by_immediate(shufpd)),
    legacy1(Pshufd_xmm_xmmm128_imm8, by_immediate(pshufd)),
    shift(Pslldq_xmm_imm8, pslldq),
    shift(Psrldq_xmm_imm8, psrldq),
];

const fn unpack(code: Code, picks: &'static [Pick]) -> Entry {
    legacy2(code, Operation::Rearrange(Pattern::Fixed(picks)))
}

const fn shift(code: Code, picks: fn(u8) -> Option<[Pick; 4]>) -> Entry {
    Entry { code, sources: Sources::Destination, rest: Rest::Keep, operation: by_immediate(picks) }
}

const fn by_immediate(picks: fn(u8) -> Option<[Pick; 4]>) -> Operation {
    Operation::Rearrange(Pattern::ByImmediate(picks))
}

/// Two bits of the immediate for each granule.
fn pshufd(immediate: u8) -> Option<[Pick; 4]> {
    Some([0, 2, 4, 6].map(|shift| A(immediate >> shift & 3)))
}

fn shufps(immediate: u8) -> Option<[Pick; 4]> {
    Some([A(immediate & 3), A(immediate >> 2 & 3), B(immediate >> 4 & 3), B(immediate >> 6)])
}

fn shufpd(immediate: u8) -> Option<[Pick; 4]> {
    let low = 2 * (immediate & 1);
    let high = immediate & 2;
    Some([A(low), A(low + 1), B(high), B(high + 1)])
}

fn pslldq(bytes: u8) -> Option<[Pick; 4]> {
    let granules = whole_granules(bytes)?;
    Some([0, 1, 2, 3].map(|to| if to < granules { Zero } else { A(to - granules) }))
}

fn psrldq(bytes: u8) -> Option<[Pick; 4]> {
    let granules = whole_granules(bytes)?;
    Some([0, 1, 2, 3].map(|to| if to + granules > 3 { Zero } else { A(to + granules) }))
}

/// Shifts by more than 15 bytes leave zero (Intel SDM, PSLLDQ).
fn whole_granules(bytes: u8) -> Option<u8> {
    (bytes.is_multiple_of(4) || bytes > 15).then_some(bytes.min(16) / 4)
}
