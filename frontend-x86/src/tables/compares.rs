//! Comparisons: those that set the flags and those that leave a mask.

use super::{Entry, Operation, legacy2};
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
];
