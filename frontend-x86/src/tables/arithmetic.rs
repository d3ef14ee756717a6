//! Arithmetic on floats: operator x type x lanes.

use super::{Entry, Operation, legacy1, legacy2};
use fpgrind_ir::{
    Operator::{self, *},
    Type::{self, F32, F64},
};
use iced_x86::Code::{self, *};

pub const TABLE: &[Entry] = &[
    binary(Addss_xmm_xmmm32, Add, F32, 1),
    binary(Addsd_xmm_xmmm64, Add, F64, 1),
    binary(Addps_xmm_xmmm128, Add, F32, 4),
    binary(Addpd_xmm_xmmm128, Add, F64, 2),
    binary(Subss_xmm_xmmm32, Sub, F32, 1),
    binary(Subsd_xmm_xmmm64, Sub, F64, 1),
    binary(Subps_xmm_xmmm128, Sub, F32, 4),
    binary(Subpd_xmm_xmmm128, Sub, F64, 2),
    binary(Mulss_xmm_xmmm32, Mul, F32, 1),
    binary(Mulsd_xmm_xmmm64, Mul, F64, 1),
    binary(Mulps_xmm_xmmm128, Mul, F32, 4),
    binary(Mulpd_xmm_xmmm128, Mul, F64, 2),
    binary(Divss_xmm_xmmm32, Div, F32, 1),
    binary(Divsd_xmm_xmmm64, Div, F64, 1),
    binary(Divps_xmm_xmmm128, Div, F32, 4),
    binary(Divpd_xmm_xmmm128, Div, F64, 2),
    binary(Minss_xmm_xmmm32, Min, F32, 1),
    binary(Minsd_xmm_xmmm64, Min, F64, 1),
    binary(Minps_xmm_xmmm128, Min, F32, 4),
    binary(Minpd_xmm_xmmm128, Min, F64, 2),
    binary(Maxss_xmm_xmmm32, Max, F32, 1),
    binary(Maxsd_xmm_xmmm64, Max, F64, 1),
    binary(Maxps_xmm_xmmm128, Max, F32, 4),
    binary(Maxpd_xmm_xmmm128, Max, F64, 2),
    unary(Sqrtss_xmm_xmmm32, Sqrt, F32, 1),
    unary(Sqrtsd_xmm_xmmm64, Sqrt, F64, 1),
    unary(Sqrtps_xmm_xmmm128, Sqrt, F32, 4),
    unary(Sqrtpd_xmm_xmmm128, Sqrt, F64, 2),
    legacy2(Haddps_xmm_xmmm128, Operation::Horizontal { operator: Add, ty: F32 }),
    legacy2(Haddpd_xmm_xmmm128, Operation::Horizontal { operator: Add, ty: F64 }),
    legacy2(Hsubps_xmm_xmmm128, Operation::Horizontal { operator: Sub, ty: F32 }),
    legacy2(Hsubpd_xmm_xmmm128, Operation::Horizontal { operator: Sub, ty: F64 }),
    legacy2(Addsubps_xmm_xmmm128, Operation::AddSub { ty: F32 }),
    legacy2(Addsubpd_xmm_xmmm128, Operation::AddSub { ty: F64 }),
    // Approximations by table, which differ between processors (Intel SDM, RCPPS): results are taken as they come.
    legacy1(Rcpss_xmm_xmmm32, Operation::Opaque { granules: 1 }),
    legacy1(Rcpps_xmm_xmmm128, Operation::Opaque { granules: 4 }),
    legacy1(Rsqrtss_xmm_xmmm32, Operation::Opaque { granules: 1 }),
    legacy1(Rsqrtps_xmm_xmmm128, Operation::Opaque { granules: 4 }),
];

const fn binary(code: Code, operator: Operator, ty: Type, lanes: usize) -> Entry {
    legacy2(code, Operation::Apply { operator, ty, lanes })
}

const fn unary(code: Code, operator: Operator, ty: Type, lanes: usize) -> Entry {
    legacy1(code, Operation::Apply { operator, ty, lanes })
}
