//! Arithmetic on floats.

use super::{Entry, Lanes, Operation, packed, row, scalar};
use fpgrind_ir::{
    Operator::{self, Add, Div, Max, Min, Mul, Sqrt, Sub},
    Type::{self, F16, F32, F64},
};
use iced_x86::Mnemonic::{self, *};

pub const TABLE: &[Entry] = &[
    apply(&[Addps, Vaddps], Add, packed(F32)),
    apply(&[Addpd, Vaddpd], Add, packed(F64)),
    apply(&[Addss, Vaddss], Add, scalar(F32)),
    apply(&[Addsd, Vaddsd], Add, scalar(F64)),
    logged(&[Vaddph], Add, packed(F16)),
    logged(&[Vaddsh], Add, scalar(F16)),
    apply(&[Subps, Vsubps], Sub, packed(F32)),
    apply(&[Subpd, Vsubpd], Sub, packed(F64)),
    apply(&[Subss, Vsubss], Sub, scalar(F32)),
    apply(&[Subsd, Vsubsd], Sub, scalar(F64)),
    logged(&[Vsubph], Sub, packed(F16)),
    logged(&[Vsubsh], Sub, scalar(F16)),
    apply(&[Mulps, Vmulps], Mul, packed(F32)),
    apply(&[Mulpd, Vmulpd], Mul, packed(F64)),
    apply(&[Mulss, Vmulss], Mul, scalar(F32)),
    apply(&[Mulsd, Vmulsd], Mul, scalar(F64)),
    logged(&[Vmulph], Mul, packed(F16)),
    logged(&[Vmulsh], Mul, scalar(F16)),
    apply(&[Divps, Vdivps], Div, packed(F32)),
    apply(&[Divpd, Vdivpd], Div, packed(F64)),
    apply(&[Divss, Vdivss], Div, scalar(F32)),
    apply(&[Divsd, Vdivsd], Div, scalar(F64)),
    logged(&[Vdivph], Div, packed(F16)),
    logged(&[Vdivsh], Div, scalar(F16)),
    apply(&[Minps, Vminps], Min, packed(F32)),
    apply(&[Minpd, Vminpd], Min, packed(F64)),
    apply(&[Minss, Vminss], Min, scalar(F32)),
    apply(&[Minsd, Vminsd], Min, scalar(F64)),
    logged(&[Vminph], Min, packed(F16)),
    logged(&[Vminsh], Min, scalar(F16)),
    apply(&[Maxps, Vmaxps], Max, packed(F32)),
    apply(&[Maxpd, Vmaxpd], Max, packed(F64)),
    apply(&[Maxss, Vmaxss], Max, scalar(F32)),
    apply(&[Maxsd, Vmaxsd], Max, scalar(F64)),
    logged(&[Vmaxph], Max, packed(F16)),
    logged(&[Vmaxsh], Max, scalar(F16)),
    apply(&[Sqrtps, Vsqrtps], Sqrt, packed(F32)),
    apply(&[Sqrtpd, Vsqrtpd], Sqrt, packed(F64)),
    apply(&[Sqrtss, Vsqrtss], Sqrt, scalar(F32)),
    apply(&[Sqrtsd, Vsqrtsd], Sqrt, scalar(F64)),
    logged(&[Vsqrtph], Sqrt, packed(F16)),
    logged(&[Vsqrtsh], Sqrt, scalar(F16)),
    row(&[Haddps, Vhaddps], Operation::Horizontal { operator: Add, ty: F32 }),
    row(&[Haddpd, Vhaddpd], Operation::Horizontal { operator: Add, ty: F64 }),
    row(&[Hsubps, Vhsubps], Operation::Horizontal { operator: Sub, ty: F32 }),
    row(&[Hsubpd, Vhsubpd], Operation::Horizontal { operator: Sub, ty: F64 }),
    row(&[Addsubps, Vaddsubps], Operation::Alternate { even: Sub, odd: Add, ty: F32 }),
    row(&[Addsubpd, Vaddsubpd], Operation::Alternate { even: Sub, odd: Add, ty: F64 }),
    row(&[Dpps, Vdpps], Operation::DotProduct { ty: F32 }),
    row(&[Dppd, Vdppd], Operation::DotProduct { ty: F64 }),
    row(&[Roundps, Vroundps], Operation::Round { lanes: packed(F32) }),
    row(&[Roundpd, Vroundpd], Operation::Round { lanes: packed(F64) }),
    row(&[Roundss, Vroundss], Operation::Round { lanes: scalar(F32) }),
    row(&[Roundsd, Vroundsd], Operation::Round { lanes: scalar(F64) }),
    approximation(
        &[Rcpps, Vrcpps, Vrsqrtps, Rsqrtps, Vrcp14ps, Vrsqrt14ps, Vrcp28ps, Vrsqrt28ps, Vexp2ps],
        packed(F32),
    ),
    approximation(&[Vrcp14pd, Vrsqrt14pd, Vrcp28pd, Vrsqrt28pd, Vexp2pd], packed(F64)),
    approximation(&[Rcpss, Vrcpss, Rsqrtss, Vrsqrtss, Vrcp14ss, Vrsqrt14ss, Vrcp28ss, Vrsqrt28ss], scalar(F32)),
    approximation(&[Vrcp14sd, Vrsqrt14sd, Vrcp28sd, Vrsqrt28sd], scalar(F64)),
    approximation(&[Vrcpph, Vrsqrtph], packed(F16)),
    approximation(&[Vrcpsh, Vrsqrtsh], scalar(F16)),
];

const fn apply(mnemonics: &'static [Mnemonic], operator: Operator, lanes: Lanes) -> Entry {
    row(mnemonics, Operation::Apply { operator, lanes })
}

const fn logged(mnemonics: &'static [Mnemonic], operator: Operator, lanes: Lanes) -> Entry {
    row(mnemonics, Operation::ApplyLogged { operator, lanes })
}

/// By table, and different between processors (Intel SDM, RCPPS). Programs refine them by a step of Newton's method, which
/// is judged from what it is given: a quotient that is wrong in its last 40 bits would be a cause of nothing.
const fn approximation(mnemonics: &'static [Mnemonic], lanes: Lanes) -> Entry {
    let of = bytes(lanes.ty);
    row(mnemonics, Operation::Leaf { lanes, of, why: "an approximation, which programs refine: taken as it comes" })
}

const fn bytes(ty: Type) -> usize {
    match ty {
        F16 => 2,
        F32 => 4,
        _ => 8,
    }
}
