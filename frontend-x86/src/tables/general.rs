//! Floats travel through general registers too. A write of 32 bits zeroes the upper half of the register (Intel SDM
//! volume 1, "General-Purpose Registers in 64-Bit Mode").

use super::{Entry, General, Operation, row};
use iced_x86::Mnemonic::*;

pub const TABLE: &[Entry] = &[
    row(&[Mov, Movnti], Operation::General(General::Move)),
    row(&[Push], Operation::General(General::Push)),
    row(&[Pop], Operation::General(General::Pop)),
    row(&[Xchg], Operation::General(General::Exchange)),
    row(
        &[
            Cmova, Cmovae, Cmovb, Cmovbe, Cmove, Cmovg, Cmovge, Cmovl, Cmovle, Cmovne, Cmovno, Cmovnp, Cmovns, Cmovo,
            Cmovp, Cmovs,
        ],
        Operation::General(General::ConditionalMove),
    ),
    row(&[Movsb], Operation::General(General::MoveString { bytes: 1 })),
    row(&[Movsw], Operation::General(General::MoveString { bytes: 2 })),
    row(&[Movsq], Operation::General(General::MoveString { bytes: 8 })),
    row(&[Stosb], Operation::General(General::StoreString { bytes: 1 })),
    row(&[Stosw], Operation::General(General::StoreString { bytes: 2 })),
    row(&[Stosd], Operation::General(General::StoreString { bytes: 4 })),
    row(&[Stosq], Operation::General(General::StoreString { bytes: 8 })),
];
