//! Moves: between registers, and from and to memory. They rename granules and compute nothing.

use super::{
    Entry, Halves, Operation, Pattern,
    Pick::{self, *},
    row,
};
use crate::registers::WHOLE;
use fpgrind_ir::Type::{B16, B32, B64};
use iced_x86::Mnemonic::{self, *};

const ALL: &[Pick] = &cycle([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
const LOW_EIGHT: &[Pick] = &[A(0), A(1), Zero, Zero];
const LOW_FOUR: &[Pick] = &[A(0), Zero, Zero, Zero];
const INTO_HIGH: &[Pick] = &[A(0), A(1), B(0), B(1)];
const HIGH_INTO_LOW: &[Pick] = &[B(2), B(3), A(2), A(3)];
const LOW_OF_DOUBLES: &[Pick] = &cycle([0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13]);
const EVEN_SINGLES: &[Pick] = &cycle([0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14]);
const ODD_SINGLES: &[Pick] = &cycle([1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15]);
const ONE_SINGLE: &[Pick] = &cycle([0]);
const ONE_DOUBLE: &[Pick] = &cycle([0, 1]);
const ONE_QUARTER: &[Pick] = &cycle([0, 1, 2, 3]);
const ONE_HALF: &[Pick] = &cycle([0, 1, 2, 3, 4, 5, 6, 7]);

pub const TABLE: &[Entry] = &[
    copy(&[Movaps, Movups, Movntps, Vmovaps, Vmovups, Vmovntps, Vmovdqa32, Vmovdqu32], ALL, 4),
    copy(
        &[
            Movapd, Movupd, Movntpd, Vmovapd, Vmovupd, Vmovntpd, Movdqa, Movdqu, Movntdq, Movntdqa, Lddqu, Vmovdqa,
            Vmovdqu, Vmovntdq, Vmovntdqa, Vlddqu, Vmovdqa64, Vmovdqu64,
        ],
        ALL,
        8,
    ),
    // Under a mask they move single bytes and pairs.
    copy(&[Vmovdqu8], ALL, 1),
    copy(&[Vmovdqu16], ALL, 2),
    row(&[Movss, Vmovss, Movntss], Operation::MoveLow { ty: B32 }),
    row(&[Movsd, Vmovsd, Movntsd], Operation::MoveLow { ty: B64 }),
    row(&[Vmovsh], Operation::MoveLow { ty: B16 }),
    copy(&[Movq, Vmovq], LOW_EIGHT, 8),
    copy(&[Movd, Vmovd], LOW_FOUR, 4),
    row(&[Vmovw], Operation::Halves(Halves::Move)),
    row(&[Vpbroadcastw], Operation::Halves(Halves::Broadcast)),
    row(&[Pinsrw, Vpinsrw], Operation::Halves(Halves::Insert)),
    row(&[Pextrw, Vpextrw], Operation::Halves(Halves::Extract)),
    part(&[Movlps, Movlpd, Vmovlps, Vmovlpd], false),
    part(&[Movhps, Movhpd, Vmovhps, Vmovhpd], true),
    copy(&[Movlhps, Vmovlhps], INTO_HIGH, 8),
    copy(&[Movhlps, Vmovhlps], HIGH_INTO_LOW, 8),
    copy(&[Movddup, Vmovddup], LOW_OF_DOUBLES, 8),
    copy(&[Movsldup, Vmovsldup], EVEN_SINGLES, 4),
    copy(&[Movshdup, Vmovshdup], ODD_SINGLES, 4),
    copy(&[Vbroadcastss, Vpbroadcastd], ONE_SINGLE, 4),
    copy(&[Vbroadcastsd, Vpbroadcastq], ONE_DOUBLE, 8),
    copy(&[Vbroadcastf32x2, Vbroadcasti32x2], ONE_DOUBLE, 4),
    copy(&[Vbroadcastf128, Vbroadcasti128, Vbroadcastf64x2, Vbroadcasti64x2], ONE_QUARTER, 8),
    copy(&[Vbroadcastf32x4, Vbroadcasti32x4], ONE_QUARTER, 4),
    copy(&[Vbroadcastf32x8, Vbroadcasti32x8], ONE_HALF, 4),
    copy(&[Vbroadcastf64x4, Vbroadcasti64x4], ONE_HALF, 8),
    row(&[Vmaskmovps, Vpmaskmovd], Operation::MaskedMove { ty: B32 }),
    row(&[Vmaskmovpd, Vpmaskmovq], Operation::MaskedMove { ty: B64 }),
    row(&[Vcompressps, Vpcompressd], Operation::Compress { ty: B32 }),
    row(&[Vcompresspd, Vpcompressq], Operation::Compress { ty: B64 }),
    row(&[Vexpandps, Vpexpandd], Operation::Expand { ty: B32 }),
    row(&[Vexpandpd, Vpexpandq], Operation::Expand { ty: B64 }),
    row(&[Vgatherdps, Vpgatherdd], Operation::Gather { ty: B32, index: B32 }),
    row(&[Vgatherqps, Vpgatherqd], Operation::Gather { ty: B32, index: B64 }),
    row(&[Vgatherdpd, Vpgatherdq], Operation::Gather { ty: B64, index: B32 }),
    row(&[Vgatherqpd, Vpgatherqq], Operation::Gather { ty: B64, index: B64 }),
    row(&[Vscatterdps, Vpscatterdd], Operation::Scatter { ty: B32, index: B32 }),
    row(&[Vscatterqps, Vpscatterqd], Operation::Scatter { ty: B32, index: B64 }),
    row(&[Vscatterdpd, Vpscatterdq], Operation::Scatter { ty: B64, index: B32 }),
    row(&[Vscatterqpd, Vpscatterqq], Operation::Scatter { ty: B64, index: B64 }),
];

/// Granules of the first argument, again and again.
const fn cycle<const N: usize>(granules: [u8; N]) -> [Pick; WHOLE] {
    let mut picks = [Zero; WHOLE];
    let mut at = 0;
    while at < WHOLE {
        picks[at] = A(granules[at % N]);
        at += 1;
    }
    picks
}

const fn copy(mnemonics: &'static [Mnemonic], picks: &'static [Pick], element: usize) -> Entry {
    row(mnemonics, Operation::Rearrange { pattern: Pattern::Fixed(picks), element })
}

const fn part(mnemonics: &'static [Mnemonic], upper: bool) -> Entry {
    row(mnemonics, Operation::Rearrange { pattern: Pattern::Part { upper }, element: 8 })
}
