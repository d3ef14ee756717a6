//! A thin layer over dynasm's assembler: it knows the address that the code will have in the guest.

use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, VecAssembler, dynasm};
use iced_x86::{Code, ConditionCode, Encoder, IcedError, Instruction, MemoryOperand, Register};

/// The CS override, which near branches ignore: it takes room without being an instruction of its own.
const MEANINGLESS_PREFIX: u8 = 0x2e;
/// `nop dword [rax + rax + 0]` with prefixes: the longest that all CPUs decode at once.
const LONG_NOP: [u8; 9] = [0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0];
/// Most batches are not longer.
const USUAL_BYTES: usize = 4096;
const NOPS: [&[u8]; 9] = [
    &[0x90],
    &[0x66, 0x90],
    &[0x0f, 0x1f, 0x00],
    &[0x0f, 0x1f, 0x40, 0],
    &[0x0f, 0x1f, 0x44, 0, 0],
    &[0x66, 0x0f, 0x1f, 0x44, 0, 0],
    &[0x0f, 0x1f, 0x80, 0, 0, 0, 0],
    &[0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
    &LONG_NOP,
];

pub struct Asm {
    pub ops: VecAssembler<X64Relocation>,
    base: u64,
    /// For what dynasm does not know, which is AVX-512, and for operands that come from the guest.
    encoder: Encoder,
}

/// The memory operand of a guest instruction, displaced by `extra` bytes.
pub fn operand_of(guest: &Instruction, extra: i64) -> MemoryOperand {
    let base = guest.memory_base();
    // iced: where there is no base, 8 and 4 ask for 64-bit and 32-bit addresses; else 1 asks for the shortest displacement.
    let size = match base {
        Register::None => guest.memory_displ_size(),
        Register::RIP => 8,
        _ => 1,
    };
    let displacement = guest.memory_displacement64() as i64 + extra;
    let (index, scale) = (guest.memory_index(), guest.memory_index_scale());
    MemoryOperand::new(base, index, scale, displacement, size, false, guest.segment_prefix())
}

impl Asm {
    pub fn new(base: u64) -> Asm {
        // Labels are only referred to relative to where they are used, so dynasm need not know the address.
        Asm { ops: VecAssembler::new(0), base, encoder: Encoder::new(64) }
    }

    /// Begins anew at another address. What was emitted must have been taken with `finish`.
    pub fn restart(&mut self, base: u64) {
        self.base = base;
        self.ops.reserve_ops(USUAL_BYTES);
    }

    /// The guest address of what is emitted next.
    pub fn here(&self) -> u64 {
        self.base + self.ops.offset().0 as u64
    }

    /// A jump to an address in the same zone.
    pub fn jump(&mut self, target: u64) {
        let displacement = target.wrapping_sub(self.here() + 5) as i32;
        self.ops.push(0xe9);
        self.ops.push_i32(displacement);
    }

    /// A branch to a label by any condition.
    pub fn branch(&mut self, condition: ConditionCode, to: DynamicLabel) {
        macro_rules! branch {
            ($($code:ident $branch:ident),*) => {
                match condition {
                    $(ConditionCode::$code => dynasm!(self.ops; .arch x64; $branch =>to),)*
                    ConditionCode::None => dynasm!(self.ops; .arch x64; jmp =>to),
                }
            };
        }
        branch!(
            o jo, no jno, b jb, ae jae, e je, ne jne, be jbe, a ja, s js, ns jns, p jp, np jnp, l jl, ge jge, le jle, g jg
        );
    }

    /// Emits nops until the address is `like` modulo a power of two.
    pub fn align_like(&mut self, like: u64, modulus: u64) {
        let mut missing = (like.wrapping_sub(self.here()) % modulus) as usize;
        while missing > 0 {
            let nop = NOPS[missing.min(NOPS.len()) - 1];
            self.ops.extend(nop);
            missing -= nop.len();
        }
    }

    /// A near branch with a 32-bit displacement to be filled in later: opcode bytes, then the displacement, which lies
    /// within aligned eight bytes so that it can be changed in one store. Returns the displacement's address.
    pub fn patchable_branch(&mut self, opcode: &[u8]) -> u64 {
        while (self.here() + opcode.len() as u64) % 8 > 4 {
            self.ops.push(MEANINGLESS_PREFIX);
        }
        self.ops.extend(opcode);
        let site = self.here();
        self.ops.push_i32(0);
        site
    }

    /// `mov register, [operand]` with the memory operand of a guest instruction, displaced by `extra` bytes.
    pub fn load_operand(&mut self, register: Register, guest: &Instruction, extra: i64) {
        self.load(register, operand_of(guest, extra));
    }

    pub fn load(&mut self, register: Register, from: MemoryOperand) {
        let code = if register.size() == 4 { Code::Mov_r32_rm32 } else { Code::Mov_r64_rm64 };
        self.emit(Instruction::with2(code, register, from));
    }

    /// Two bytes; the rest of the register becomes zero.
    pub fn load_word(&mut self, register: Register, from: MemoryOperand) {
        self.emit(Instruction::with2(Code::Movzx_r32_rm16, register.full_register32(), from));
    }

    /// Emits what iced has made. An instruction has the operands that its code asks for, or this is a mistake of ours.
    pub fn emit(&mut self, instruction: Result<Instruction, IcedError>) {
        self.encode(&instruction.expect("the operands fit the instruction"));
    }

    pub fn encode(&mut self, instruction: &Instruction) {
        let here = self.here();
        // It cannot fail: the operands come from an instruction that was encoded, and zones lie within reach.
        let encoded = self.encoder.encode(instruction, here);
        debug_assert!(encoded.is_ok(), "{instruction}: {encoded:?}");
        let mut bytes = self.encoder.take_buffer();
        if encoded.is_ok() {
            self.ops.extend(bytes.iter());
        }
        bytes.clear();
        self.encoder.set_buffer(bytes);
    }

    pub fn finish(&mut self) -> Vec<u8> {
        self.ops.take().expect("labels are defined where they are used")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn decoded(bytes: &[u8], at: u64) -> Instruction {
        Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode()
    }

    /// The load of a branch's operand has the same operand.
    fn assert_loads(bytes: &[u8]) {
        let guest = decoded(bytes, 0x5000);
        let mut asm = Asm::new(0x10_0000);
        asm.load_operand(Register::RCX, &guest, 0);
        let load = decoded(&asm.finish(), 0x10_0000);
        assert_eq!(load.code(), Code::Mov_r64_rm64, "{guest}");
        let operand = |i: &Instruction| {
            (i.memory_base(), i.memory_index(), i.memory_index_scale(), i.memory_displacement64(), i.segment_prefix())
        };
        assert_eq!(operand(&load), operand(&guest), "{guest}");
        let narrow = |i: &Instruction| i.memory_displ_size() == 4;
        assert!(load.memory_base() != Register::None || narrow(&load) == narrow(&guest), "{guest}");
    }

    #[test]
    fn every_form_of_address_is_loaded_from() {
        assert_loads(&[0xff, 0x24, 0x25, 0x00, 0x10, 0x00, 0x00]);
        assert_loads(&[0xff, 0x24, 0x25, 0x00, 0x10, 0x00, 0xf0]);
        assert_loads(&[0x67, 0xff, 0x24, 0x25, 0x00, 0x10, 0x00, 0x10]);
        assert_loads(&[0x67, 0xff, 0x24, 0x25, 0x00, 0x10, 0x00, 0x90]);
        assert_loads(&[0xff, 0x24, 0xc5, 0x00, 0x10, 0x00, 0x10]);
        assert_loads(&[0x67, 0xff, 0x24, 0xc5, 0x00, 0x10, 0x00, 0x90]);
        assert_loads(&[0xff, 0x25, 0x00, 0x10, 0x00, 0x00]);
        assert_loads(&[0x67, 0xff, 0x25, 0x00, 0x10, 0x00, 0x00]);
        assert_loads(&[0x67, 0xff, 0x60, 0xf8]);
        assert_loads(&[0x64, 0xff, 0x24, 0x25, 0xf8, 0xff, 0xff, 0xff]);
        assert_loads(&[0xff, 0x64, 0xc8, 0xf8]);
        assert_loads(&[0xff, 0x65, 0x00]);
        assert_loads(&[0xff, 0x24, 0x24]);
    }
}
