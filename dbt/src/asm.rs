//! A thin layer over dynasm's assembler: it knows the address that the code will have in the guest.

use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynasmApi, VecAssembler};
use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};

pub struct Asm {
    pub ops: VecAssembler<X64Relocation>,
    base: u64,
}

impl Asm {
    pub fn new(base: u64) -> Asm {
        Asm { ops: VecAssembler::new(base as usize), base }
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

    /// A near branch with a 32-bit displacement to be filled in later: opcode bytes, then the displacement, which lies
    /// within aligned eight bytes so that it can be changed in one store. Returns the displacement's address.
    pub fn patchable_branch(&mut self, opcode: &[u8]) -> u64 {
        while (self.here() + opcode.len() as u64) % 8 > 4 {
            self.ops.push(0x90);
        }
        self.ops.extend(opcode);
        let site = self.here();
        self.ops.push_i32(0);
        site
    }

    /// `mov register, [operand]` with the memory operand of a guest instruction, displaced by `extra` bytes.
    pub fn load_operand(&mut self, register: Register, guest: &Instruction, extra: i64) {
        let base = guest.memory_base();
        let displacement = guest.memory_displacement64() as i64 + extra;
        // iced: 8 asks for a 32-bit displacement where there is no base, 1 for the shortest that fits.
        let size = if matches!(base, Register::RIP | Register::None) { 8 } else { 1 };
        let operand = MemoryOperand::new(
            base,
            guest.memory_index(),
            guest.memory_index_scale(),
            displacement,
            size,
            false,
            guest.segment_prefix(),
        );
        let code = if register.size() == 4 { Code::Mov_r32_rm32 } else { Code::Mov_r64_rm64 };
        let load = Instruction::with2(code, register, operand).expect("a register and a memory operand fit mov");
        self.encode(&load);
    }

    pub fn encode(&mut self, instruction: &Instruction) {
        let mut encoder = Encoder::new(64);
        // It cannot fail: the operands come from an instruction that was encoded, and zones lie within reach.
        if encoder.encode(instruction, self.here()).is_ok() {
            self.ops.extend(encoder.take_buffer().iter());
        }
    }

    pub fn finish(self) -> Vec<u8> {
        self.ops.finalize().expect("labels are defined where they are used")
    }
}
