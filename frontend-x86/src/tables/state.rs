//! Instructions that change how SSE computes, or all vector registers at once.

use super::{Entry, Operation, Rest, legacy1};
use iced_x86::Code::{self, *};

pub const TABLE: &[Entry] = &[
    set_mxcsr(Ldmxcsr_m32),
    set_mxcsr(VEX_Vldmxcsr_m32),
    restore(Fxrstor_m512byte),
    restore(Fxrstor64_m512byte),
    restore(Xrstor_mem),
    restore(Xrstor64_mem),
    legacy1(VEX_Vzeroupper, Operation::ZeroVectors { from: 4 }),
    legacy1(VEX_Vzeroall, Operation::ZeroVectors { from: 0 }),
];

const fn set_mxcsr(code: Code) -> Entry {
    Entry { code, sources: &[0], rest: Rest::Keep, operation: Operation::SetMxcsr }
}

const fn restore(code: Code) -> Entry {
    legacy1(code, Operation::RestoreState)
}
