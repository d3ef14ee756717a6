//! Logic on bits. Lane widths do not matter to it, so the single, double and integer forms are the same operation.

use super::{Entry, Operation, legacy2};
use fpgrind_ir::BitOp::*;
use iced_x86::Code::*;

pub const TABLE: &[Entry] = &[
    legacy2(Andps_xmm_xmmm128, Operation::Logic(And)),
    legacy2(Andpd_xmm_xmmm128, Operation::Logic(And)),
    legacy2(Pand_xmm_xmmm128, Operation::Logic(And)),
    legacy2(Andnps_xmm_xmmm128, Operation::Logic(AndNot)),
    legacy2(Andnpd_xmm_xmmm128, Operation::Logic(AndNot)),
    legacy2(Pandn_xmm_xmmm128, Operation::Logic(AndNot)),
    legacy2(Orps_xmm_xmmm128, Operation::Logic(Or)),
    legacy2(Orpd_xmm_xmmm128, Operation::Logic(Or)),
    legacy2(Por_xmm_xmmm128, Operation::Logic(Or)),
    legacy2(Xorps_xmm_xmmm128, Operation::Logic(Xor)),
    legacy2(Xorpd_xmm_xmmm128, Operation::Logic(Xor)),
    legacy2(Pxor_xmm_xmmm128, Operation::Logic(Xor)),
];
