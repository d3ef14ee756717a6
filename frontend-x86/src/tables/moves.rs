//! Moves: between registers, and from and to memory. They rename granules and compute nothing.

use super::{
    Entry, Operation, Pattern,
    Pick::{self, *},
    legacy1, legacy2, vex1, vex1_scalar, vex2,
};
use iced_x86::Code::{self, *};

const ALL: &[Pick] = &[A(0), A(1), A(2), A(3), A(4), A(5), A(6), A(7)];
const LOW_EIGHT: &[Pick] = &[A(0), A(1), Zero, Zero];
const LOW_FOUR: &[Pick] = &[A(0), Zero, Zero, Zero];
const HIGH_TO_MEMORY: &[Pick] = &[A(2), A(3)];
const INTO_LOW: &[Pick] = &[B(0), B(1), A(2), A(3)];
const INTO_HIGH: &[Pick] = &[A(0), A(1), B(0), B(1)];
const HIGH_INTO_LOW: &[Pick] = &[B(2), B(3), A(2), A(3)];
const LOW_OF_DOUBLES: &[Pick] = &[A(0), A(1), A(0), A(1), A(4), A(5), A(4), A(5)];
const EVEN_SINGLES: &[Pick] = &[A(0), A(0), A(2), A(2), A(4), A(4), A(6), A(6)];
const ODD_SINGLES: &[Pick] = &[A(1), A(1), A(3), A(3), A(5), A(5), A(7), A(7)];
const ONE_SINGLE: &[Pick] = &[A(0); 8];
const ONE_DOUBLE: &[Pick] = &[A(0), A(1), A(0), A(1), A(0), A(1), A(0), A(1)];
const ONE_HALF: &[Pick] = &[A(0), A(1), A(2), A(3), A(0), A(1), A(2), A(3)];

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
    merge(Movhlps_xmm_xmm, HIGH_INTO_LOW),
    copy(Movddup_xmm_xmmm64, LOW_OF_DOUBLES),
    copy(Movsldup_xmm_xmmm128, EVEN_SINGLES),
    copy(Movshdup_xmm_xmmm128, ODD_SINGLES),
    vex_copy(VEX_Vmovaps_xmm_xmmm128, ALL),
    vex_copy(VEX_Vmovaps_xmmm128_xmm, ALL),
    vex_copy(VEX_Vmovaps_ymm_ymmm256, ALL),
    vex_copy(VEX_Vmovaps_ymmm256_ymm, ALL),
    vex_copy(VEX_Vmovapd_xmm_xmmm128, ALL),
    vex_copy(VEX_Vmovapd_xmmm128_xmm, ALL),
    vex_copy(VEX_Vmovapd_ymm_ymmm256, ALL),
    vex_copy(VEX_Vmovapd_ymmm256_ymm, ALL),
    vex_copy(VEX_Vmovups_xmm_xmmm128, ALL),
    vex_copy(VEX_Vmovups_xmmm128_xmm, ALL),
    vex_copy(VEX_Vmovups_ymm_ymmm256, ALL),
    vex_copy(VEX_Vmovups_ymmm256_ymm, ALL),
    vex_copy(VEX_Vmovupd_xmm_xmmm128, ALL),
    vex_copy(VEX_Vmovupd_xmmm128_xmm, ALL),
    vex_copy(VEX_Vmovupd_ymm_ymmm256, ALL),
    vex_copy(VEX_Vmovupd_ymmm256_ymm, ALL),
    vex_copy(VEX_Vmovdqa_xmm_xmmm128, ALL),
    vex_copy(VEX_Vmovdqa_xmmm128_xmm, ALL),
    vex_copy(VEX_Vmovdqa_ymm_ymmm256, ALL),
    vex_copy(VEX_Vmovdqa_ymmm256_ymm, ALL),
    vex_copy(VEX_Vmovdqu_xmm_xmmm128, ALL),
    vex_copy(VEX_Vmovdqu_xmmm128_xmm, ALL),
    vex_copy(VEX_Vmovdqu_ymm_ymmm256, ALL),
    vex_copy(VEX_Vmovdqu_ymmm256_ymm, ALL),
    vex_copy(VEX_Vlddqu_xmm_m128, ALL),
    vex_copy(VEX_Vmovntdqa_xmm_m128, ALL),
    vex_copy(VEX_Vmovntps_m128_xmm, ALL),
    vex_copy(VEX_Vmovntpd_m128_xmm, ALL),
    vex_copy(VEX_Vmovntdq_m128_xmm, ALL),
    vex_copy(VEX_Vlddqu_ymm_m256, ALL),
    vex_copy(VEX_Vmovntdqa_ymm_m256, ALL),
    vex_copy(VEX_Vmovntps_m256_ymm, ALL),
    vex_copy(VEX_Vmovntpd_m256_ymm, ALL),
    vex_copy(VEX_Vmovntdq_m256_ymm, ALL),
    vex_copy_low(VEX_Vmovss_xmm_xmm_xmm, &[A(0)]),
    vex_copy_low(VEX_Vmovss_xmm_xmm_xmm_0F11, &[A(0)]),
    vex_copy(VEX_Vmovss_xmm_m32, LOW_FOUR),
    vex_copy(VEX_Vmovss_m32_xmm, LOW_FOUR),
    vex_copy_low(VEX_Vmovsd_xmm_xmm_xmm, &[A(0), A(1)]),
    vex_copy_low(VEX_Vmovsd_xmm_xmm_xmm_0F11, &[A(0), A(1)]),
    vex_copy(VEX_Vmovsd_xmm_m64, LOW_EIGHT),
    vex_copy(VEX_Vmovsd_m64_xmm, LOW_EIGHT),
    vex_copy(VEX_Vmovq_xmm_xmmm64, LOW_EIGHT),
    vex_copy(VEX_Vmovq_xmmm64_xmm, LOW_EIGHT),
    vex_copy(VEX_Vmovq_xmm_rm64, LOW_EIGHT),
    vex_copy(VEX_Vmovq_rm64_xmm, LOW_EIGHT),
    vex_copy(VEX_Vmovd_xmm_rm32, LOW_FOUR),
    vex_copy(VEX_Vmovd_rm32_xmm, LOW_FOUR),
    vex_merge(VEX_Vmovlps_xmm_xmm_m64, INTO_LOW),
    vex_copy(VEX_Vmovlps_m64_xmm, LOW_EIGHT),
    vex_merge(VEX_Vmovhps_xmm_xmm_m64, INTO_HIGH),
    vex_copy(VEX_Vmovhps_m64_xmm, HIGH_TO_MEMORY),
    vex_merge(VEX_Vmovlpd_xmm_xmm_m64, INTO_LOW),
    vex_copy(VEX_Vmovlpd_m64_xmm, LOW_EIGHT),
    vex_merge(VEX_Vmovhpd_xmm_xmm_m64, INTO_HIGH),
    vex_copy(VEX_Vmovhpd_m64_xmm, HIGH_TO_MEMORY),
    vex_merge(VEX_Vmovlhps_xmm_xmm_xmm, INTO_HIGH),
    vex_merge(VEX_Vmovhlps_xmm_xmm_xmm, HIGH_INTO_LOW),
    vex_copy(VEX_Vmovddup_xmm_xmmm64, LOW_OF_DOUBLES),
    vex_copy(VEX_Vmovddup_ymm_ymmm256, LOW_OF_DOUBLES),
    vex_copy(VEX_Vmovsldup_xmm_xmmm128, EVEN_SINGLES),
    vex_copy(VEX_Vmovsldup_ymm_ymmm256, EVEN_SINGLES),
    vex_copy(VEX_Vmovshdup_xmm_xmmm128, ODD_SINGLES),
    vex_copy(VEX_Vmovshdup_ymm_ymmm256, ODD_SINGLES),
    vex_copy(VEX_Vbroadcastss_xmm_m32, ONE_SINGLE),
    vex_copy(VEX_Vbroadcastss_xmm_xmm, ONE_SINGLE),
    vex_copy(VEX_Vbroadcastss_ymm_m32, ONE_SINGLE),
    vex_copy(VEX_Vbroadcastss_ymm_xmm, ONE_SINGLE),
    vex_copy(VEX_Vbroadcastsd_ymm_m64, ONE_DOUBLE),
    vex_copy(VEX_Vbroadcastsd_ymm_xmm, ONE_DOUBLE),
    vex_copy(VEX_Vbroadcastf128_ymm_m128, ONE_HALF),
    vex_copy(VEX_Vbroadcasti128_ymm_m128, ONE_HALF),
    vex_copy(VEX_Vpbroadcastd_xmm_xmmm32, ONE_SINGLE),
    vex_copy(VEX_Vpbroadcastd_ymm_xmmm32, ONE_SINGLE),
    vex_copy(VEX_Vpbroadcastq_xmm_xmmm64, ONE_DOUBLE),
    vex_copy(VEX_Vpbroadcastq_ymm_xmmm64, ONE_DOUBLE),
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

const fn vex_copy(code: Code, picks: &'static [Pick]) -> Entry {
    vex1(code, Operation::Rearrange(Pattern::Fixed(picks)))
}

const fn vex_merge(code: Code, picks: &'static [Pick]) -> Entry {
    vex2(code, Operation::Rearrange(Pattern::Fixed(picks)))
}

/// The upper part comes from another operand, which compilers choose to be the same: a plain copy of a scalar.
const fn vex_copy_low(code: Code, picks: &'static [Pick]) -> Entry {
    vex1_scalar(code, Operation::Rearrange(Pattern::Fixed(picks)))
}
