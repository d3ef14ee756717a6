//! Moves: between registers, and from and to memory. They rename granules and compute nothing.

use super::{
    Entry, Operation, Pattern,
    Pick::{self, *},
    legacy1, legacy2,
};
use iced_x86::Code::{self, *};

const ALL: &[Pick] = &[A(0), A(1), A(2), A(3)];
const LOW_EIGHT: &[Pick] = &[A(0), A(1), Zero, Zero];
const LOW_FOUR: &[Pick] = &[A(0), Zero, Zero, Zero];
const HIGH_TO_MEMORY: &[Pick] = &[A(2), A(3)];
const INTO_LOW: &[Pick] = &[B(0), B(1), A(2), A(3)];
const INTO_HIGH: &[Pick] = &[A(0), A(1), B(0), B(1)];

pub const TABLE: &[Entry] = &[
    copy(Movaps_xmm_xmmm128, ALL),
    copy(Movaps_xmmm128_xmm, ALL),
    copy(Movapd_xmm_xmmm128, ALL),
    copy(Movapd_xmmm128_xmm, ALL),
    copy(Movups_xmm_xmmm128, ALL),
    copy(Movups_xmmm128_xmm, ALL),
    copy(Movupd_xmm_xmmm128, ALL),
    copy(Movupd_xmmm128_xmm, ALL),
    copy(Movdqa_xmm_xmmm128, ALL),
    copy(Movdqa_xmmm128_xmm, ALL),
    copy(Movdqu_xmm_xmmm128, ALL),
    copy(Movdqu_xmmm128_xmm, ALL),
    copy(Lddqu_xmm_m128, ALL),
    copy(Movntdqa_xmm_m128, ALL),
    copy(Movntps_m128_xmm, ALL),
    copy(Movntpd_m128_xmm, ALL),
    copy(Movntdq_m128_xmm, ALL),
    legacy2(Movss_xmm_xmmm32, Operation::MoveLow { granules: 1 }),
    legacy2(Movss_xmmm32_xmm, Operation::MoveLow { granules: 1 }),
    legacy2(Movsd_xmm_xmmm64, Operation::MoveLow { granules: 2 }),
    legacy2(Movsd_xmmm64_xmm, Operation::MoveLow { granules: 2 }),
    copy(Movq_xmm_xmmm64, LOW_EIGHT),
    copy(Movq_xmmm64_xmm, LOW_EIGHT),
    copy(Movq_xmm_rm64, LOW_EIGHT),
    copy(Movq_rm64_xmm, LOW_EIGHT),
    copy(Movd_xmm_rm32, LOW_FOUR),
    copy(Movd_rm32_xmm, LOW_FOUR),
    merge(Movlps_xmm_m64, INTO_LOW),
    merge(Movlpd_xmm_m64, INTO_LOW),
    copy(Movlps_m64_xmm, LOW_EIGHT),
    copy(Movlpd_m64_xmm, LOW_EIGHT),
    merge(Movhps_xmm_m64, INTO_HIGH),
    merge(Movhpd_xmm_m64, INTO_HIGH),
    copy(Movhps_m64_xmm, HIGH_TO_MEMORY),
    copy(Movhpd_m64_xmm, HIGH_TO_MEMORY),
    merge(Movlhps_xmm_xmm, INTO_HIGH),
    merge(Movhlps_xmm_xmm, &[B(2), B(3), A(2), A(3)]),
    copy(Movddup_xmm_xmmm64, &[A(0), A(1), A(0), A(1)]),
    copy(Movsldup_xmm_xmmm128, &[A(0), A(0), A(2), A(2)]),
    copy(Movshdup_xmm_xmmm128, &[A(1), A(1), A(3), A(3)]),
    // Floats travel through general registers too. A write of 32 bits zeroes the upper half of the register (Intel SDM
    // volume 1, "General-Purpose Registers in 64-Bit Mode").
    copy(Mov_r64_rm64, LOW_EIGHT),
    copy(Mov_rm64_r64, LOW_EIGHT),
    copy(Mov_r32_rm32, LOW_FOUR),
    copy(Mov_rm32_r32, LOW_FOUR),
    copy(Mov_r64_imm64, LOW_EIGHT),
    copy(Mov_rm64_imm32, LOW_EIGHT),
    copy(Mov_r32_imm32, LOW_FOUR),
    copy(Mov_rm32_imm32, LOW_FOUR),
    copy(Movnti_m64_r64, LOW_EIGHT),
    copy(Movnti_m32_r32, LOW_FOUR),
];

const fn copy(code: Code, picks: &'static [Pick]) -> Entry {
    legacy1(code, Operation::Rearrange(Pattern::Fixed(picks)))
}

const fn merge(code: Code, picks: &'static [Pick]) -> Entry {
    legacy2(code, Operation::Rearrange(Pattern::Fixed(picks)))
}
