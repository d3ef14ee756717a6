//! Instructions that change how SSE computes, or all vector registers at once.

use super::{Entry, Operation, row};
use iced_x86::Mnemonic::*;

pub const TABLE: &[Entry] = &[
    row(&[Ldmxcsr, Vldmxcsr], Operation::SetMxcsr),
    row(&[Fxsave, Fxsave64, Xsave, Xsave64, Xsavec, Xsavec64, Xsaveopt, Xsaveopt64], Operation::SaveState),
    row(&[Fxrstor, Fxrstor64, Xrstor, Xrstor64], Operation::RestoreState),
    row(&[Vzeroupper], Operation::ZeroVectors { from: 4 }),
    row(&[Vzeroall], Operation::ZeroVectors { from: 0 }),
];
