//! Shuffles, unpacks, blends and byte shifts of whole registers: granules change places. Patterns are those of 32 bytes; an
//! instruction on 16 takes their lower half.

use super::{
    Entry, Operation, Pattern,
    Pick::{self, *},
    Rest, legacy1, legacy2, vex1, vex2,
};
use iced_x86::Code::{self, *};

const LOW_SINGLES: &[Pick] = &[A(0), B(0), A(1), B(1), A(4), B(4), A(5), B(5)];
const HIGH_SINGLES: &[Pick] = &[A(2), B(2), A(3), B(3), A(6), B(6), A(7), B(7)];
const LOW_DOUBLES: &[Pick] = &[A(0), A(1), B(0), B(1), A(4), A(5), B(4), B(5)];
const HIGH_DOUBLES: &[Pick] = &[A(2), A(3), B(2), B(3), A(6), A(7), B(6), B(7)];

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
    legacy2(Palignr_xmm_xmmm128_imm8, by_immediate(palignr)),
    legacy2(Blendps_xmm_xmmm128_imm8, by_immediate(blendps)),
    legacy2(Blendpd_xmm_xmmm128_imm8, by_immediate(blendpd)),
    legacy2(Pblendw_xmm_xmmm128_imm8, by_immediate(pblendw)),
    legacy2(Insertps_xmm_xmmm32_imm8, by_immediate(insertps)),
    legacy2(Pinsrd_xmm_rm32_imm8, by_immediate(pinsrd)),
    legacy2(Pinsrq_xmm_rm64_imm8, by_immediate(pinsrq)),
    legacy1(Pextrd_rm32_xmm_imm8, by_immediate(pextrd)),
    legacy1(Pextrq_rm64_xmm_imm8, by_immediate(pextrq)),
    legacy1(Extractps_rm32_xmm_imm8, by_immediate(pextrd)),
    legacy1(Extractps_r64m32_xmm_imm8, by_immediate(pextrd)),
    vex_unpack(VEX_Vunpcklps_xmm_xmm_xmmm128, LOW_SINGLES),
    vex_unpack(VEX_Vunpcklps_ymm_ymm_ymmm256, LOW_SINGLES),
    vex_unpack(VEX_Vunpckhps_xmm_xmm_xmmm128, HIGH_SINGLES),
    vex_unpack(VEX_Vunpckhps_ymm_ymm_ymmm256, HIGH_SINGLES),
    vex_unpack(VEX_Vunpcklpd_xmm_xmm_xmmm128, LOW_DOUBLES),
    vex_unpack(VEX_Vunpcklpd_ymm_ymm_ymmm256, LOW_DOUBLES),
    vex_unpack(VEX_Vunpckhpd_xmm_xmm_xmmm128, HIGH_DOUBLES),
    vex_unpack(VEX_Vunpckhpd_ymm_ymm_ymmm256, HIGH_DOUBLES),
    vex_unpack(VEX_Vpunpckldq_xmm_xmm_xmmm128, LOW_SINGLES),
    vex_unpack(VEX_Vpunpckldq_ymm_ymm_ymmm256, LOW_SINGLES),
    vex_unpack(VEX_Vpunpckhdq_xmm_xmm_xmmm128, HIGH_SINGLES),
    vex_unpack(VEX_Vpunpckhdq_ymm_ymm_ymmm256, HIGH_SINGLES),
    vex_unpack(VEX_Vpunpcklqdq_xmm_xmm_xmmm128, LOW_DOUBLES),
    vex_unpack(VEX_Vpunpcklqdq_ymm_ymm_ymmm256, LOW_DOUBLES),
    vex_unpack(VEX_Vpunpckhqdq_xmm_xmm_xmmm128, HIGH_DOUBLES),
    vex_unpack(VEX_Vpunpckhqdq_ymm_ymm_ymmm256, HIGH_DOUBLES),
    vex2(VEX_Vshufps_xmm_xmm_xmmm128_imm8, by_immediate(shufps)),
    vex2(VEX_Vshufps_ymm_ymm_ymmm256_imm8, by_immediate(shufps)),
    vex2(VEX_Vshufpd_xmm_xmm_xmmm128_imm8, by_immediate(shufpd)),
    vex2(VEX_Vshufpd_ymm_ymm_ymmm256_imm8, by_immediate(shufpd)),
    vex2(VEX_Vpalignr_xmm_xmm_xmmm128_imm8, by_immediate(palignr)),
    vex2(VEX_Vpalignr_ymm_ymm_ymmm256_imm8, by_immediate(palignr)),
    vex2(VEX_Vblendps_xmm_xmm_xmmm128_imm8, by_immediate(blendps)),
    vex2(VEX_Vblendps_ymm_ymm_ymmm256_imm8, by_immediate(blendps)),
    vex2(VEX_Vblendpd_xmm_xmm_xmmm128_imm8, by_immediate(blendpd)),
    vex2(VEX_Vblendpd_ymm_ymm_ymmm256_imm8, by_immediate(blendpd)),
    vex2(VEX_Vpblendd_xmm_xmm_xmmm128_imm8, by_immediate(blendps)),
    vex2(VEX_Vpblendd_ymm_ymm_ymmm256_imm8, by_immediate(blendps)),
    vex2(VEX_Vpblendw_xmm_xmm_xmmm128_imm8, by_immediate(pblendw)),
    vex2(VEX_Vpblendw_ymm_ymm_ymmm256_imm8, by_immediate(pblendw)),
    vex1(VEX_Vpshufd_xmm_xmmm128_imm8, by_immediate(pshufd)),
    vex1(VEX_Vpshufd_ymm_ymmm256_imm8, by_immediate(pshufd)),
    vex1(VEX_Vpermilps_xmm_xmmm128_imm8, by_immediate(pshufd)),
    vex1(VEX_Vpermilps_ymm_ymmm256_imm8, by_immediate(pshufd)),
    vex1(VEX_Vpermilpd_xmm_xmmm128_imm8, by_immediate(permilpd)),
    vex1(VEX_Vpermilpd_ymm_ymmm256_imm8, by_immediate(permilpd)),
    vex1(VEX_Vpslldq_xmm_xmm_imm8, by_immediate(pslldq)),
    vex1(VEX_Vpslldq_ymm_ymm_imm8, by_immediate(pslldq)),
    vex1(VEX_Vpsrldq_xmm_xmm_imm8, by_immediate(psrldq)),
    vex1(VEX_Vpsrldq_ymm_ymm_imm8, by_immediate(psrldq)),
    vex2(VEX_Vinsertps_xmm_xmm_xmmm32_imm8, by_immediate(insertps)),
    vex2(VEX_Vpinsrd_xmm_xmm_rm32_imm8, by_immediate(pinsrd)),
    vex2(VEX_Vpinsrq_xmm_xmm_rm64_imm8, by_immediate(pinsrq)),
    vex1(VEX_Vpextrd_rm32_xmm_imm8, by_immediate(pextrd)),
    vex1(VEX_Vpextrq_rm64_xmm_imm8, by_immediate(pextrq)),
    vex1(VEX_Vextractps_rm32_xmm_imm8, by_immediate(pextrd)),
    vex1(VEX_Vextractps_r64m32_xmm_imm8, by_immediate(pextrd)),
    vex2(VEX_Vinsertf128_ymm_ymm_xmmm128_imm8, by_immediate(insert_half)),
    vex1(VEX_Vextractf128_xmmm128_ymm_imm8, by_immediate(extract_half)),
    vex2(VEX_Vperm2f128_ymm_ymm_ymmm256_imm8, by_immediate(permute_halves)),
    vex2(VEX_Vinserti128_ymm_ymm_xmmm128_imm8, by_immediate(insert_half)),
    vex1(VEX_Vextracti128_xmmm128_ymm_imm8, by_immediate(extract_half)),
    vex2(VEX_Vperm2i128_ymm_ymm_ymmm256_imm8, by_immediate(permute_halves)),
    vex1(VEX_Vpermpd_ymm_ymmm256_imm8, by_immediate(permute_doubles)),
    vex1(VEX_Vpermq_ymm_ymmm256_imm8, by_immediate(permute_doubles)),
    permute(VEX_Vpermps_ymm_ymm_ymmm256, &[2], 1, permute_singles),
    permute(VEX_Vpermd_ymm_ymm_ymmm256, &[2], 1, permute_singles),
    permute(VEX_Vpermilps_xmm_xmm_xmmm128, &[1], 2, permute_singles_in_half),
    permute(VEX_Vpermilpd_xmm_xmm_xmmm128, &[1], 2, permute_doubles_in_half),
    permute(VEX_Vpermilps_ymm_ymm_ymmm256, &[1], 2, permute_singles_in_half),
    permute(VEX_Vpermilpd_ymm_ymm_ymmm256, &[1], 2, permute_doubles_in_half),
];

const fn unpack(code: Code, picks: &'static [Pick]) -> Entry {
    legacy2(code, Operation::Rearrange(Pattern::Fixed(picks)))
}

const fn vex_unpack(code: Code, picks: &'static [Pick]) -> Entry {
    vex2(code, Operation::Rearrange(Pattern::Fixed(picks)))
}

const fn shift(code: Code, picks: fn(u8) -> Option<[Pick; 8]>) -> Entry {
    Entry { code, sources: &[0], rest: Rest::Keep, operation: by_immediate(picks) }
}

const fn by_immediate(picks: fn(u8) -> Option<[Pick; 8]>) -> Operation {
    Operation::Rearrange(Pattern::ByImmediate(picks))
}

const fn permute(code: Code, sources: &'static [u32], control: u32, pick: fn(u8, [u32; 8]) -> Pick) -> Entry {
    Entry { code, sources, rest: Rest::Zero, operation: Operation::Rearrange(Pattern::ByControl { control, pick }) }
}

/// The first granule of the half that a granule lies in.
fn half(at: u8) -> u8 {
    at & 4
}

fn each(pick: impl Fn(u8) -> Pick) -> [Pick; 8] {
    [0, 1, 2, 3, 4, 5, 6, 7].map(pick)
}

/// Two bits of the immediate for each granule.
fn pshufd(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| A(half(at) + (immediate >> (2 * (at % 4)) & 3))))
}

fn shufps(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| {
        let from = half(at) + (immediate >> (2 * (at % 4)) & 3);
        if at % 4 < 2 { A(from) } else { B(from) }
    }))
}

/// A bit of the immediate for each double.
fn shufpd(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| {
        let from = half(at) + 2 * (immediate >> (at / 2) & 1) + at % 2;
        if at % 4 < 2 { A(from) } else { B(from) }
    }))
}

fn permilpd(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| A(half(at) + 2 * (immediate >> (at / 2) & 1) + at % 2)))
}

fn permute_doubles(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| A(2 * (immediate >> (at / 2 * 2) & 3) + at % 2)))
}

/// Four bits of the immediate for each half: which half of which argument, or zero.
fn permute_halves(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| {
        let control = immediate >> half(at);
        let from = 4 * (control & 1) + at % 4;
        match control & 0b1010 {
            0b0000 => A(from),
            0b0010 => B(from),
            _ => Zero,
        }
    }))
}

fn insert_half(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| if half(at) == 4 * (immediate & 1) { B(at % 4) } else { A(at) }))
}

fn extract_half(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| A(4 * (immediate & 1) + at % 4)))
}

fn blendps(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| if immediate >> at & 1 == 1 { B(at) } else { A(at) }))
}

fn blendpd(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| if immediate >> (at / 2) & 1 == 1 { B(at) } else { A(at) }))
}

/// A bit for each two bytes, the same for both halves: none if it tears a granule.
fn pblendw(immediate: u8) -> Option<[Pick; 8]> {
    let torn = (immediate ^ immediate >> 1) & 0b0101_0101 != 0;
    (!torn).then(|| each(|at| if immediate >> (2 * (at % 4)) & 1 == 1 { B(at) } else { A(at) }))
}

/// Which granule of the second argument goes where, and which granules become zero.
fn insertps(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| match at {
        _ if immediate >> at & 1 == 1 && at < 4 => Zero,
        _ if at == immediate >> 4 & 3 => B(immediate >> 6),
        _ => A(at),
    }))
}

fn pinsrd(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| if at == immediate & 3 { B(0) } else { A(at) }))
}

fn pinsrq(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| if at / 2 == immediate & 1 { B(at % 2) } else { A(at) }))
}

/// To a general register or memory; the register's upper half becomes zero.
fn pextrd(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| if at == 0 { A(immediate & 3) } else { Zero }))
}

fn pextrq(immediate: u8) -> Option<[Pick; 8]> {
    Some(each(|at| if at < 2 { A(2 * (immediate & 1) + at) } else { Zero }))
}

fn pslldq(bytes: u8) -> Option<[Pick; 8]> {
    let granules = whole_granules(bytes)?;
    Some(each(|at| if at % 4 < granules { Zero } else { A(at - granules) }))
}

fn psrldq(bytes: u8) -> Option<[Pick; 8]> {
    let granules = whole_granules(bytes)?;
    Some(each(|at| if at % 4 + granules > 3 { Zero } else { A(at + granules) }))
}

/// The first argument above the second, shifted down.
fn palignr(bytes: u8) -> Option<[Pick; 8]> {
    let granules = if bytes < 32 { bytes.is_multiple_of(4).then_some(bytes / 4)? } else { 8 };
    Some(each(|at| match at % 4 + granules {
        from @ 0..4 => B(half(at) + from),
        from @ 4..8 => A(half(at) + from - 4),
        _ => Zero,
    }))
}

/// Shifts by more than 15 bytes leave zero (Intel SDM, PSLLDQ).
fn whole_granules(bytes: u8) -> Option<u8> {
    (bytes.is_multiple_of(4) || bytes > 15).then_some(bytes.min(16) / 4)
}

fn permute_singles(at: u8, control: [u32; 8]) -> Pick {
    A(control[at as usize] as u8 & 7)
}

fn permute_singles_in_half(at: u8, control: [u32; 8]) -> Pick {
    A(half(at) + (control[at as usize] as u8 & 3))
}

/// The second bit of each double's control counts (Intel SDM, VPERMILPD).
fn permute_doubles_in_half(at: u8, control: [u32; 8]) -> Pick {
    A(half(at) + (control[at as usize & !1] as u8 & 2) + at % 2)
}
