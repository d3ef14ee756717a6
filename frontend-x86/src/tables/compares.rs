//! Comparisons: those that set the flags and those that leave a mask.

use super::{Entry, Operation, packed, row, scalar};
use fpgrind_ir::Type::{F16, F32, F64};
use iced_x86::Mnemonic::*;

pub const TABLE: &[Entry] = &[
    row(&[Comiss, Ucomiss, Vcomiss, Vucomiss], Operation::Compare { ty: F32 }),
    row(&[Comisd, Ucomisd, Vcomisd, Vucomisd], Operation::Compare { ty: F64 }),
    row(&[Vcomish, Vucomish], Operation::Compare { ty: F16 }),
    row(&[Cmpps, Vcmpps], Operation::Mask { lanes: packed(F32) }),
    row(&[Cmppd, Vcmppd], Operation::Mask { lanes: packed(F64) }),
    row(&[Cmpss, Vcmpss], Operation::Mask { lanes: scalar(F32) }),
    row(&[Cmpsd, Vcmpsd], Operation::Mask { lanes: scalar(F64) }),
    row(&[Vcmpph], Operation::Mask { lanes: packed(F16) }),
    row(&[Vcmpsh], Operation::Mask { lanes: scalar(F16) }),
    row(&[Movmskps, Vmovmskps], Operation::Signs { ty: F32 }),
    row(&[Movmskpd, Vmovmskpd], Operation::Signs { ty: F64 }),
];
