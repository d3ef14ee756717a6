//! Comparisons: those that set the flags and those that leave a mask.

use super::{Entry, Operation, legacy2, vex2, vex2_scalar};
use fpgrind_ir::Type::{F32, F64};
use iced_x86::Code::*;

pub const TABLE: &[Entry] = &[
    legacy2(Comiss_xmm_xmmm32, Operation::Compare { ty: F32 }),
    legacy2(Comisd_xmm_xmmm64, Operation::Compare { ty: F64 }),
    legacy2(Ucomiss_xmm_xmmm32, Operation::Compare { ty: F32 }),
    legacy2(Ucomisd_xmm_xmmm64, Operation::Compare { ty: F64 }),
    legacy2(Cmpss_xmm_xmmm32_imm8, Operation::Mask { ty: F32, lanes: 1 }),
    legacy2(Cmpsd_xmm_xmmm64_imm8, Operation::Mask { ty: F64, lanes: 1 }),
    legacy2(Cmpps_xmm_xmmm128_imm8, Operation::Mask { ty: F32, lanes: 4 }),
    legacy2(Cmppd_xmm_xmmm128_imm8, Operation::Mask { ty: F64, lanes: 2 }),
    legacy2(VEX_Vcomiss_xmm_xmmm32, Operation::Compare { ty: F32 }),
    legacy2(VEX_Vcomisd_xmm_xmmm64, Operation::Compare { ty: F64 }),
    legacy2(VEX_Vucomiss_xmm_xmmm32, Operation::Compare { ty: F32 }),
    legacy2(VEX_Vucomisd_xmm_xmmm64, Operation::Compare { ty: F64 }),
    vex2_scalar(VEX_Vcmpss_xmm_xmm_xmmm32_imm8, Operation::Mask { ty: F32, lanes: 1 }),
    vex2_scalar(VEX_Vcmpsd_xmm_xmm_xmmm64_imm8, Operation::Mask { ty: F64, lanes: 1 }),
    vex2(VEX_Vcmpps_xmm_xmm_xmmm128_imm8, Operation::Mask { ty: F32, lanes: 4 }),
    vex2(VEX_Vcmppd_xmm_xmm_xmmm128_imm8, Operation::Mask { ty: F64, lanes: 2 }),
    vex2(VEX_Vcmpps_ymm_ymm_ymmm256_imm8, Operation::Mask { ty: F32, lanes: 8 }),
    vex2(VEX_Vcmppd_ymm_ymm_ymmm256_imm8, Operation::Mask { ty: F64, lanes: 4 }),
];
