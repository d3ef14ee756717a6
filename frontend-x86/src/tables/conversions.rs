//! Conversions between float formats, to integers (where floats end) and from them (where they begin).

use super::{Entry, Operation, legacy1, legacy1_zeroing, vex1, vex1_scalar};
use fpgrind_ir::{
    Rounding::{self, Current, Truncate},
    Type::{self, F32, F64},
};
use iced_x86::Code::{self, *};

pub const TABLE: &[Entry] = &[
    legacy1(Cvtss2sd_xmm_xmmm32, Operation::Cast { from: F32, to: F64, lanes: 1 }),
    legacy1(Cvtsd2ss_xmm_xmmm64, Operation::Cast { from: F64, to: F32, lanes: 1 }),
    legacy1(Cvtps2pd_xmm_xmmm64, Operation::Cast { from: F32, to: F64, lanes: 2 }),
    legacy1_zeroing(Cvtpd2ps_xmm_xmmm128, Operation::Cast { from: F64, to: F32, lanes: 2 }),
    to_int(Cvttss2si_r32_xmmm32, F32, 1, 4, Truncate),
    to_int(Cvttss2si_r64_xmmm32, F32, 1, 8, Truncate),
    to_int(Cvttsd2si_r32_xmmm64, F64, 1, 4, Truncate),
    to_int(Cvttsd2si_r64_xmmm64, F64, 1, 8, Truncate),
    to_int(Cvtss2si_r32_xmmm32, F32, 1, 4, Current),
    to_int(Cvtss2si_r64_xmmm32, F32, 1, 8, Current),
    to_int(Cvtsd2si_r32_xmmm64, F64, 1, 4, Current),
    to_int(Cvtsd2si_r64_xmmm64, F64, 1, 8, Current),
    to_int(Cvttps2dq_xmm_xmmm128, F32, 4, 4, Truncate),
    to_int(Cvttpd2dq_xmm_xmmm128, F64, 2, 4, Truncate),
    to_int(Cvtps2dq_xmm_xmmm128, F32, 4, 4, Current),
    to_int(Cvtpd2dq_xmm_xmmm128, F64, 2, 4, Current),
    legacy1(Cvtsi2ss_xmm_rm32, Operation::Opaque { granules: 1 }),
    legacy1(Cvtsi2ss_xmm_rm64, Operation::Opaque { granules: 1 }),
    legacy1(Cvtsi2sd_xmm_rm32, Operation::Opaque { granules: 2 }),
    legacy1(Cvtsi2sd_xmm_rm64, Operation::Opaque { granules: 2 }),
    legacy1(Cvtdq2ps_xmm_xmmm128, Operation::Opaque { granules: 4 }),
    legacy1(Cvtdq2pd_xmm_xmmm64, Operation::Opaque { granules: 4 }),
    legacy1(Cvtpi2ps_xmm_mmm64, Operation::Opaque { granules: 2 }),
    legacy1(Cvtpi2pd_xmm_mmm64, Operation::Opaque { granules: 4 }),
    vex1_scalar(VEX_Vcvtss2sd_xmm_xmm_xmmm32, Operation::Cast { from: F32, to: F64, lanes: 1 }),
    vex1_scalar(VEX_Vcvtsd2ss_xmm_xmm_xmmm64, Operation::Cast { from: F64, to: F32, lanes: 1 }),
    vex1(VEX_Vcvtps2pd_xmm_xmmm64, Operation::Cast { from: F32, to: F64, lanes: 2 }),
    vex1(VEX_Vcvtps2pd_ymm_xmmm128, Operation::Cast { from: F32, to: F64, lanes: 4 }),
    vex1(VEX_Vcvtpd2ps_xmm_xmmm128, Operation::Cast { from: F64, to: F32, lanes: 2 }),
    vex1(VEX_Vcvtpd2ps_xmm_ymmm256, Operation::Cast { from: F64, to: F32, lanes: 4 }),
    vex_to_int(VEX_Vcvttss2si_r32_xmmm32, F32, 1, 4, Truncate),
    vex_to_int(VEX_Vcvttss2si_r64_xmmm32, F32, 1, 8, Truncate),
    vex_to_int(VEX_Vcvttsd2si_r32_xmmm64, F64, 1, 4, Truncate),
    vex_to_int(VEX_Vcvttsd2si_r64_xmmm64, F64, 1, 8, Truncate),
    vex_to_int(VEX_Vcvttps2dq_xmm_xmmm128, F32, 4, 4, Truncate),
    vex_to_int(VEX_Vcvttps2dq_ymm_ymmm256, F32, 8, 4, Truncate),
    vex_to_int(VEX_Vcvttpd2dq_xmm_xmmm128, F64, 2, 4, Truncate),
    vex_to_int(VEX_Vcvttpd2dq_xmm_ymmm256, F64, 4, 4, Truncate),
    vex_to_int(VEX_Vcvtss2si_r32_xmmm32, F32, 1, 4, Current),
    vex_to_int(VEX_Vcvtss2si_r64_xmmm32, F32, 1, 8, Current),
    vex_to_int(VEX_Vcvtsd2si_r32_xmmm64, F64, 1, 4, Current),
    vex_to_int(VEX_Vcvtsd2si_r64_xmmm64, F64, 1, 8, Current),
    vex_to_int(VEX_Vcvtps2dq_xmm_xmmm128, F32, 4, 4, Current),
    vex_to_int(VEX_Vcvtps2dq_ymm_ymmm256, F32, 8, 4, Current),
    vex_to_int(VEX_Vcvtpd2dq_xmm_xmmm128, F64, 2, 4, Current),
    vex_to_int(VEX_Vcvtpd2dq_xmm_ymmm256, F64, 4, 4, Current),
    vex1_scalar(VEX_Vcvtsi2ss_xmm_xmm_rm32, Operation::Opaque { granules: 1 }),
    vex1_scalar(VEX_Vcvtsi2ss_xmm_xmm_rm64, Operation::Opaque { granules: 1 }),
    vex1_scalar(VEX_Vcvtsi2sd_xmm_xmm_rm32, Operation::Opaque { granules: 2 }),
    vex1_scalar(VEX_Vcvtsi2sd_xmm_xmm_rm64, Operation::Opaque { granules: 2 }),
    vex1(VEX_Vcvtdq2ps_xmm_xmmm128, Operation::Opaque { granules: 4 }),
    vex1(VEX_Vcvtdq2ps_ymm_ymmm256, Operation::Opaque { granules: 8 }),
    vex1(VEX_Vcvtdq2pd_xmm_xmmm64, Operation::Opaque { granules: 4 }),
    vex1(VEX_Vcvtdq2pd_ymm_xmmm128, Operation::Opaque { granules: 8 }),
];

/// Of a vector destination the part above the integers becomes zero; a general register is lost as a whole.
const fn to_int(code: Code, ty: Type, lanes: usize, bytes: u8, rounding: Rounding) -> Entry {
    legacy1_zeroing(code, Operation::ToInt { ty, lanes, bytes, rounding })
}

const fn vex_to_int(code: Code, ty: Type, lanes: usize, bytes: u8, rounding: Rounding) -> Entry {
    vex1(code, Operation::ToInt { ty, lanes, bytes, rounding })
}
