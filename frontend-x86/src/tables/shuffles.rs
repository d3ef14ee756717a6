//! Shuffles, unpacks, blends and byte shifts of whole registers: granules change places. Patterns are those of 64 bytes; an
//! instruction on fewer takes their beginning.

use super::{
    Control, Entry, Operation, Pattern,
    Pick::{self, *},
    Picks, row,
};
use fpgrind_ir::Type::{B32, B64};
use iced_x86::Mnemonic::{self, *};

pub const TABLE: &[Entry] = &[
    shuffle(&[Unpcklps, Vunpcklps, Punpckldq, Vpunpckldq], 4, |_, _| Some(unpack_singles(0))),
    shuffle(&[Unpckhps, Vunpckhps, Punpckhdq, Vpunpckhdq], 4, |_, _| Some(unpack_singles(2))),
    shuffle(&[Unpcklpd, Vunpcklpd, Punpcklqdq, Vpunpcklqdq], 8, |_, _| Some(unpack_doubles(0))),
    shuffle(&[Unpckhpd, Vunpckhpd, Punpckhqdq, Vpunpckhqdq], 8, |_, _| Some(unpack_doubles(2))),
    shuffle(&[Shufps, Vshufps], 4, shufps),
    shuffle(&[Shufpd, Vshufpd], 8, shufpd),
    shuffle_one(&[Pshufd, Vpshufd], 4, pshufd),
    shuffle_one(&[Pslldq, Vpslldq], 4, pslldq),
    shuffle_one(&[Psrldq, Vpsrldq], 4, psrldq),
    shuffle(&[Palignr, Vpalignr], 1, palignr),
    shuffle(&[Valignd], 4, |immediate, granules| Some(align(immediate as usize % granules, granules))),
    shuffle(&[Valignq], 8, |immediate, granules| Some(align(2 * (immediate as usize % (granules / 2)), granules))),
    shuffle(&[Blendps, Vblendps, Vpblendd], 4, blendps),
    shuffle(&[Blendpd, Vblendpd], 8, blendpd),
    shuffle(&[Pblendw, Vpblendw], 2, pblendw),
    shuffle(&[Insertps, Vinsertps], 4, insertps),
    shuffle(&[Pinsrd, Vpinsrd], 4, pinsrd),
    shuffle(&[Pinsrq, Vpinsrq], 8, pinsrq),
    shuffle_one(&[Pextrd, Vpextrd, Extractps, Vextractps], 4, pextrd),
    shuffle_one(&[Pextrq, Vpextrq], 8, pextrq),
    shuffle(&[Vinsertf128, Vinserti128, Vinsertf64x2, Vinserti64x2], 8, insert_quarter),
    shuffle(&[Vinsertf32x4, Vinserti32x4], 4, insert_quarter),
    shuffle(&[Vinsertf64x4, Vinserti64x4], 8, insert_half),
    shuffle(&[Vinsertf32x8, Vinserti32x8], 4, insert_half),
    shuffle_one(&[Vextractf128, Vextracti128, Vextractf64x2, Vextracti64x2], 8, extract_quarter),
    shuffle_one(&[Vextractf32x4, Vextracti32x4], 4, extract_quarter),
    shuffle_one(&[Vextractf64x4, Vextracti64x4], 8, extract_half),
    shuffle_one(&[Vextractf32x8, Vextracti32x8], 4, extract_half),
    shuffle(&[Vperm2f128, Vperm2i128], 8, permute_quarters),
    shuffle(&[Vshuff32x4, Vshufi32x4], 4, shuffle_quarters),
    shuffle(&[Vshuff64x2, Vshufi64x2], 8, shuffle_quarters),
    row(&[Pshufb, Vpshufb], Operation::Rearrange { pattern: Pattern::ByBytes, element: 1 }),
    permute(&[Vpermps, Vpermd], B32, Control::Second),
    permute(&[Vpermpd, Vpermq], B64, Control::Second),
    permute(&[Vpermilps], B32, Control::ThirdInQuarters(0)),
    // The second bit of each double's control counts (Intel SDM, VPERMILPD).
    permute(&[Vpermilpd], B64, Control::ThirdInQuarters(1)),
    permute(&[Vpermt2ps, Vpermt2d], B32, Control::SecondOfTwo),
    permute(&[Vpermt2pd, Vpermt2q], B64, Control::SecondOfTwo),
    permute(&[Vpermi2ps, Vpermi2d], B32, Control::FirstOfTwo),
    permute(&[Vpermi2pd, Vpermi2q], B64, Control::FirstOfTwo),
];

/// Of two arguments.
const fn shuffle(mnemonics: &'static [Mnemonic], element: usize, picks: fn(u8, usize) -> Option<Picks>) -> Entry {
    row(mnemonics, Operation::Rearrange { pattern: Pattern::ByImmediate { picks, arguments: 2 }, element })
}

const fn shuffle_one(mnemonics: &'static [Mnemonic], element: usize, picks: fn(u8, usize) -> Option<Picks>) -> Entry {
    row(mnemonics, Operation::Rearrange { pattern: Pattern::ByImmediate { picks, arguments: 1 }, element })
}

/// By a register, or by an immediate: see [`permutation`].
const fn permute(mnemonics: &'static [Mnemonic], ty: fpgrind_ir::Type, by: Control) -> Entry {
    row(mnemonics, Operation::Permute { ty, by })
}

/// What a permutation does in its form with an immediate.
pub fn permutation(ty: fpgrind_ir::Type, by: Control, immediate: u8) -> Option<Picks> {
    match (ty, by) {
        (B32, Control::ThirdInQuarters(_)) => pshufd(immediate, 0),
        (B64, Control::ThirdInQuarters(_)) => {
            Some(each(|at| A(quarter(at) + 2 * (immediate >> (at / 2) & 1) + at % 2)))
        }
        // Within each 32 bytes.
        (B64, Control::Second) => Some(each(|at| A((at & 8) + 2 * (immediate >> (at / 2 % 4 * 2) & 3) + at % 2))),
        _ => None,
    }
}

/// The first granule of the quarter that a granule lies in.
fn quarter(at: u8) -> u8 {
    at & 12
}

fn each(pick: impl Fn(u8) -> Pick) -> Picks {
    std::array::from_fn(|at| pick(at as u8))
}

fn unpack_singles(first: u8) -> Picks {
    each(|at| {
        let from = quarter(at) + first + at % 4 / 2;
        if at % 2 == 0 { A(from) } else { B(from) }
    })
}

fn unpack_doubles(first: u8) -> Picks {
    each(|at| {
        let from = quarter(at) + first + at % 2;
        if at % 4 < 2 { A(from) } else { B(from) }
    })
}

/// Two bits of the immediate for each granule.
fn pshufd(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| A(quarter(at) + (immediate >> (2 * (at % 4)) & 3))))
}

fn shufps(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| {
        let from = quarter(at) + (immediate >> (2 * (at % 4)) & 3);
        if at % 4 < 2 { A(from) } else { B(from) }
    }))
}

/// A bit of the immediate for each double.
fn shufpd(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| {
        let from = quarter(at) + 2 * (immediate >> (at / 2) & 1) + at % 2;
        if at % 4 < 2 { A(from) } else { B(from) }
    }))
}

/// Four bits of the immediate for each quarter: which quarter of which argument, or zero.
fn permute_quarters(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| {
        let control = immediate >> (at & 4);
        let from = 4 * (control & 1) + at % 4;
        match control & 0b1010 {
            0b0000 => A(from),
            0b0010 => B(from),
            _ => Zero,
        }
    }))
}

/// The lower half from the first argument's quarters, the upper from the second's: a bit, or two, for each.
fn shuffle_quarters(immediate: u8, granules: usize) -> Option<Picks> {
    let bits = if granules == 16 { 2 } else { 1 };
    Some(each(|at| {
        let from = 4 * (immediate >> (at / 4 * bits) & ((1 << bits) - 1)) + at % 4;
        if (at as usize) < granules / 2 { A(from) } else { B(from) }
    }))
}

fn insert_quarter(immediate: u8, granules: usize) -> Option<Picks> {
    let place = 4 * (immediate % (granules / 4) as u8);
    Some(each(|at| if quarter(at) == place { B(at % 4) } else { A(at) }))
}

fn insert_half(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| if at & 8 == 8 * (immediate & 1) { B(at % 8) } else { A(at) }))
}

/// `granules` are those of the vector that it is taken from.
fn extract_quarter(immediate: u8, granules: usize) -> Option<Picks> {
    let place = 4 * (immediate % (granules / 4) as u8);
    Some(each(|at| if at < 4 { A(place + at) } else { Zero }))
}

fn extract_half(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| if at < 8 { A(8 * (immediate & 1) + at) } else { Zero }))
}

fn blendps(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| if immediate >> (at % 8) & 1 == 1 { B(at) } else { A(at) }))
}

fn blendpd(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| if immediate >> (at / 2) & 1 == 1 { B(at) } else { A(at) }))
}

/// A bit for each two bytes, the same for all quarters: none if it tears a granule.
fn pblendw(immediate: u8, _: usize) -> Option<Picks> {
    let torn = (immediate ^ immediate >> 1) & 0b0101_0101 != 0;
    (!torn).then(|| each(|at| if immediate >> (2 * (at % 4)) & 1 == 1 { B(at) } else { A(at) }))
}

/// Which granule of the second argument goes where, and which granules become zero.
fn insertps(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| match at {
        _ if at < 4 && immediate >> at & 1 == 1 => Zero,
        _ if at == immediate >> 4 & 3 => B(immediate >> 6),
        _ => A(at),
    }))
}

fn pinsrd(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| if at == immediate & 3 { B(0) } else { A(at) }))
}

fn pinsrq(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| if at / 2 == immediate & 1 { B(at % 2) } else { A(at) }))
}

/// To a general register or memory; the register's upper half becomes zero.
fn pextrd(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| if at == 0 { A(immediate & 3) } else { Zero }))
}

fn pextrq(immediate: u8, _: usize) -> Option<Picks> {
    Some(each(|at| if at < 2 { A(2 * (immediate & 1) + at) } else { Zero }))
}

fn pslldq(bytes: u8, _: usize) -> Option<Picks> {
    let granules = whole_granules(bytes)?;
    Some(each(|at| if at % 4 < granules { Zero } else { A(at - granules) }))
}

fn psrldq(bytes: u8, _: usize) -> Option<Picks> {
    let granules = whole_granules(bytes)?;
    Some(each(|at| if at % 4 + granules > 3 { Zero } else { A(at + granules) }))
}

/// The first argument above the second, shifted down, quarter by quarter.
fn palignr(bytes: u8, _: usize) -> Option<Picks> {
    let granules = if bytes < 32 { bytes.is_multiple_of(4).then_some(bytes / 4)? } else { 8 };
    Some(each(|at| match at % 4 + granules {
        from @ 0..4 => B(quarter(at) + from),
        from @ 4..8 => A(quarter(at) + from - 4),
        _ => Zero,
    }))
}

/// The same of whole vectors.
fn align(by: usize, granules: usize) -> Picks {
    each(|at| {
        let from = at as usize % granules + by;
        if from < granules { B(from as u8) } else { A((from - granules) as u8) }
    })
}

/// Shifts by more than 15 bytes leave zero (Intel SDM, PSLLDQ).
fn whole_granules(bytes: u8) -> Option<u8> {
    (bytes.is_multiple_of(4) || bytes > 15).then_some(bytes.min(16) / 4)
}
