//! Logic on bits, and selection by a mask. Lane widths do not matter to logic, so the single, double and integer forms are
//! the same operation.

use super::{Entry, Operation, Rest, legacy2, vex2};
use fpgrind_ir::{
    BitOp::*,
    Type::{self, B32, B64},
};
use iced_x86::Code::{self, *};

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
    vex2(VEX_Vandps_xmm_xmm_xmmm128, Operation::Logic(And)),
    vex2(VEX_Vandps_ymm_ymm_ymmm256, Operation::Logic(And)),
    vex2(VEX_Vandpd_xmm_xmm_xmmm128, Operation::Logic(And)),
    vex2(VEX_Vandpd_ymm_ymm_ymmm256, Operation::Logic(And)),
    vex2(VEX_Vpand_xmm_xmm_xmmm128, Operation::Logic(And)),
    vex2(VEX_Vpand_ymm_ymm_ymmm256, Operation::Logic(And)),
    vex2(VEX_Vandnps_xmm_xmm_xmmm128, Operation::Logic(AndNot)),
    vex2(VEX_Vandnps_ymm_ymm_ymmm256, Operation::Logic(AndNot)),
    vex2(VEX_Vandnpd_xmm_xmm_xmmm128, Operation::Logic(AndNot)),
    vex2(VEX_Vandnpd_ymm_ymm_ymmm256, Operation::Logic(AndNot)),
    vex2(VEX_Vpandn_xmm_xmm_xmmm128, Operation::Logic(AndNot)),
    vex2(VEX_Vpandn_ymm_ymm_ymmm256, Operation::Logic(AndNot)),
    vex2(VEX_Vorps_xmm_xmm_xmmm128, Operation::Logic(Or)),
    vex2(VEX_Vorps_ymm_ymm_ymmm256, Operation::Logic(Or)),
    vex2(VEX_Vorpd_xmm_xmm_xmmm128, Operation::Logic(Or)),
    vex2(VEX_Vorpd_ymm_ymm_ymmm256, Operation::Logic(Or)),
    vex2(VEX_Vpor_xmm_xmm_xmmm128, Operation::Logic(Or)),
    vex2(VEX_Vpor_ymm_ymm_ymmm256, Operation::Logic(Or)),
    vex2(VEX_Vxorps_xmm_xmm_xmmm128, Operation::Logic(Xor)),
    vex2(VEX_Vxorps_ymm_ymm_ymmm256, Operation::Logic(Xor)),
    vex2(VEX_Vxorpd_xmm_xmm_xmmm128, Operation::Logic(Xor)),
    vex2(VEX_Vxorpd_ymm_ymm_ymmm256, Operation::Logic(Xor)),
    vex2(VEX_Vpxor_xmm_xmm_xmmm128, Operation::Logic(Xor)),
    vex2(VEX_Vpxor_ymm_ymm_ymmm256, Operation::Logic(Xor)),
    legacy2(Blendvps_xmm_xmmm128, Operation::Select { ty: B32 }),
    legacy2(Blendvpd_xmm_xmmm128, Operation::Select { ty: B64 }),
    select(VEX_Vblendvps_xmm_xmm_xmmm128_xmm, B32),
    select(VEX_Vblendvps_ymm_ymm_ymmm256_ymm, B32),
    select(VEX_Vblendvpd_xmm_xmm_xmmm128_xmm, B64),
    select(VEX_Vblendvpd_ymm_ymm_ymmm256_ymm, B64),
];

const fn select(code: Code, ty: Type) -> Entry {
    Entry { code, sources: &[1, 2, 3], rest: Rest::Zero, operation: Operation::Select { ty } }
}
