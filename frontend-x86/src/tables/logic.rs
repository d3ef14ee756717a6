//! Logic on bits, and selection by a mask. Lane widths matter to logic only under a mask, so the single, double and integer forms are
//! the same operation.

use super::{Entry, Operation, row};
use fpgrind_ir::{
    BitOp::{self, And, AndNot, Or, Xor},
    Type::{B32, B64, F32, F64},
};
use iced_x86::Mnemonic::{self, *};

pub const TABLE: &[Entry] = &[
    logic(&[Andps, Vandps, Vpandd], And, 4),
    logic(&[Andpd, Vandpd, Pand, Vpand, Vpandq], And, 8),
    logic(&[Andnps, Vandnps, Vpandnd], AndNot, 4),
    logic(&[Andnpd, Vandnpd, Pandn, Vpandn, Vpandnq], AndNot, 8),
    logic(&[Orps, Vorps, Vpord], Or, 4),
    logic(&[Orpd, Vorpd, Por, Vpor, Vporq], Or, 8),
    logic(&[Xorps, Vxorps, Vpxord], Xor, 4),
    logic(&[Xorpd, Vxorpd, Pxor, Vpxor, Vpxorq], Xor, 8),
    row(&[Vpternlogd], Operation::Ternary { element: 4 }),
    row(&[Vpternlogq], Operation::Ternary { element: 8 }),
    row(&[Blendvps, Vblendvps], Operation::Select { ty: B32 }),
    row(&[Blendvpd, Vblendvpd], Operation::Select { ty: B64 }),
    row(&[Vblendmps, Vpblendmd], Operation::Blend { ty: B32 }),
    row(&[Vblendmpd, Vpblendmq], Operation::Blend { ty: B64 }),
    row(&[Paddd, Vpaddd, Psubd, Vpsubd], Operation::Exponents { ty: F32 }),
    row(&[Paddq, Vpaddq, Psubq, Vpsubq], Operation::Exponents { ty: F64 }),
];

const fn logic(mnemonics: &'static [Mnemonic], op: BitOp, element: usize) -> Entry {
    row(mnemonics, Operation::Logic { op, element })
}
