//! Memory that the kernel writes on behalf of a system call. Its instructions are not seen, so the call itself is told of.

use iced_x86::{Code, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register};

const RDX: u8 = 2;
const RSI: u8 = 6;
const RDI: u8 = 7;

/// System calls that fill one buffer: their numbers, and the general registers that say where it is and how long (syscall(2); the
/// numbers are Linux's for x86-64).
const FILLING: &[(u32, u8, u8)] = &[
    (0, RSI, RDX),   // read
    (17, RSI, RDX),  // pread64
    (45, RSI, RDX),  // recvfrom
    (318, RDI, RSI), // getrandom
];

/// The general registers with the address and the length of the buffer that a system call fills, if the last of these instructions
/// is one that does. Code that is compiled names the call just before it makes it.
pub fn filled_by_kernel(instrs: &[Instruction]) -> Option<(u8, u8)> {
    let (last, before) = instrs.split_last()?;
    if last.code() != Code::Syscall {
        return None;
    }
    let mut info = InstructionInfoFactory::new();
    let sets = before.iter().rev().find(|instr| writes_rax(&mut info, instr))?;
    let number = match (sets.mnemonic(), sets.op0_register(), sets.op1_register()) {
        (Mnemonic::Xor | Mnemonic::Sub, Register::EAX, Register::EAX) => 0,
        (Mnemonic::Mov, Register::EAX | Register::RAX, Register::None)
            if sets.op1_kind() != iced_x86::OpKind::Memory =>
        {
            sets.immediate(1) as u32
        }
        _ => return None,
    };
    FILLING.iter().find(|(known, ..)| *known == number).map(|(_, dst, len)| (*dst, *len))
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

    fn filled(bytes: &[u8]) -> Option<(u8, u8)> {
        filled_by_kernel(&Decoder::new(64, bytes, DecoderOptions::NONE).into_iter().collect::<Vec<_>>())
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
}
