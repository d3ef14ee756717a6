//! Memory that system calls read or write. Their instructions are not seen, so the calls themselves are told of.

use iced_x86::{Code, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

/// What a system call passes between memory and the kernel, by the general registers that say where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub direction: Direction,
    pub memory: Memory,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The kernel writes to memory.
    In,
    /// The program shows what is in memory to others.
    Out,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Buffer {
        start: u8,
        len: u8,
    },
    /// An array of so many `struct iovec`.
    Pieces {
        array: u8,
        count: u8,
    },
    /// A `struct msghdr`, which has such an array.
    Message {
        header: u8,
    },
}

const RDX: u8 = 2;
const RSI: u8 = 6;
const RDI: u8 = 7;

const BUFFER: Memory = Memory::Buffer { start: RSI, len: RDX };
const PIECES: Memory = Memory::Pieces { array: RSI, count: RDX };
const MESSAGE: Memory = Memory::Message { header: RSI };

/// System calls by their numbers, which are Linux's for x86-64.
const TRANSFERS: &[(u32, Direction, Memory)] = &[
    (0, Direction::In, BUFFER),                                    // read
    (1, Direction::Out, BUFFER),                                   // write
    (17, Direction::In, BUFFER),                                   // pread64
    (18, Direction::Out, BUFFER),                                  // pwrite64
    (19, Direction::In, PIECES),                                   // readv
    (20, Direction::Out, PIECES),                                  // writev
    (44, Direction::Out, BUFFER),                                  // sendto
    (45, Direction::In, BUFFER),                                   // recvfrom
    (46, Direction::Out, MESSAGE),                                 // sendmsg
    (47, Direction::In, MESSAGE),                                  // recvmsg
    (295, Direction::In, PIECES),                                  // preadv
    (296, Direction::Out, PIECES),                                 // pwritev
    (318, Direction::In, Memory::Buffer { start: RDI, len: RSI }), // getrandom
    (327, Direction::In, PIECES),                                  // preadv2
    (328, Direction::Out, PIECES),                                 // pwritev2
];

/// What the system call transfers that is the last of these instructions. Code that is compiled names the call just before it makes
/// it; one whose number is not known there is left alone.
pub fn transfer(instrs: &[Instruction]) -> Option<Transfer> {
    let (last, before) = instrs.split_last()?;
    if last.code() != Code::Syscall {
        return None;
    }
    let mut info = InstructionInfoFactory::new();
    let sets = before.iter().rev().find(|instr| writes_rax(&mut info, instr))?;
    let number = match (sets.mnemonic(), sets.op0_register(), sets.op1_register()) {
        (Mnemonic::Xor | Mnemonic::Sub, Register::EAX, Register::EAX) => 0,
        (Mnemonic::Mov, Register::EAX | Register::RAX, Register::None) if sets.op1_kind() != OpKind::Memory => {
            sets.immediate(1) as u32
        }
        _ => return None,
    };
    let (_, direction, memory) = TRANSFERS.iter().find(|(known, ..)| *known == number)?;
    Some(Transfer { direction: *direction, memory: *memory })
}

/// The general registers with the address and the length of a buffer that the system call fills, if the last of these instructions
/// is one that does.
pub fn filled_by_kernel(instrs: &[Instruction]) -> Option<(u8, u8)> {
    match transfer(instrs)? {
        Transfer { direction: Direction::In, memory: Memory::Buffer { start, len } } => Some((start, len)),
        _ => None,
    }
}

fn writes_rax(info: &mut InstructionInfoFactory, instr: &Instruction) -> bool {
    info.info(instr).used_registers().iter().any(|used| {
        used.register().full_register() == Register::RAX
            && !matches!(used.access(), OpAccess::Read | OpAccess::CondRead)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn decoded(bytes: &[u8]) -> Vec<Instruction> {
        Decoder::new(64, bytes, DecoderOptions::NONE).into_iter().collect()
    }

    fn filled(bytes: &[u8]) -> Option<(u8, u8)> {
        filled_by_kernel(&decoded(bytes))
    }

    #[test]
    fn calls_that_read_are_known_by_the_number_that_is_set_before_them() {
        assert_eq!(filled(&[0x31, 0xc0, 0x0f, 0x05]), Some((RSI, RDX)), "xor eax, eax; syscall");
        assert_eq!(filled(&[0xb8, 17, 0, 0, 0, 0x90, 0x0f, 0x05]), Some((RSI, RDX)), "mov eax, 17; nop; syscall");
        assert_eq!(filled(&[0xb8, 0x3e, 1, 0, 0, 0x0f, 0x05]), Some((RDI, RSI)), "mov eax, 318; syscall");
    }

    #[test]
    fn other_calls_and_those_of_unknown_number_are_left_alone() {
        assert_eq!(filled(&[0xb8, 1, 0, 0, 0, 0x0f, 0x05]), None, "write");
        assert_eq!(filled(&[0x31, 0xc0, 0x89, 0xf8, 0x0f, 0x05]), None, "xor eax, eax; mov eax, edi; syscall");
        assert_eq!(filled(&[0x31, 0xc0, 0x8b, 0x07, 0x0f, 0x05]), None, "xor eax, eax; mov eax, [rdi]; syscall");
        assert_eq!(filled(&[0x0f, 0x05]), None);
        assert_eq!(filled(&[0x31, 0xc0]), None, "no call");
    }

    #[test]
    fn calls_that_write_tell_what() {
        let of = |number: u8| transfer(&decoded(&[0xb8, number, 0, 0, 0, 0x0f, 0x05]));
        assert_eq!(of(1), Some(Transfer { direction: Direction::Out, memory: BUFFER }));
        assert_eq!(of(20), Some(Transfer { direction: Direction::Out, memory: PIECES }));
        assert_eq!(of(46), Some(Transfer { direction: Direction::Out, memory: MESSAGE }));
        assert_eq!(of(2), None, "open");
    }
}
