//! Every form of address, aimed at memory that is there.

use super::generate::Generator;
use super::knowledge::RSP;
use super::layout::{ARENA, NEAR_BEFORE_CODE};
use super::pieces::Piece;
use iced_x86::{Code, Instruction, MemoryOperand, Mnemonic, OpCodeOperandKind as Kind, Register};

impl Generator<'_> {
    /// Makes a register hold a value.
    pub fn load(&mut self, number: usize, value: u64, pieces: &mut Vec<Piece>) {
        let wide = Register::RAX + number as u32;
        let load = if u32::try_from(value).is_ok() && self.random.below(2) == 0 {
            Instruction::with2(Code::Mov_r32_imm32, wide.full_register32(), value as u32)
        } else {
            Instruction::with2(Code::Mov_r64_imm64, wide, value)
        };
        pieces.push(Piece::Instr(load.expect("a register and an immediate fit mov")));
        self.knowledge.values[number] = Some(value);
    }

    /// What some instructions need in their implicit registers.
    pub fn prepare(&mut self, code: Code, pieces: &mut Vec<Piece>) {
        match code.mnemonic() {
            Mnemonic::Maskmovq | Mnemonic::Maskmovdqu | Mnemonic::Vmaskmovdqu => {
                let place = self.place(ARENA, 16, 16);
                self.load(7, place, pieces);
            }
            Mnemonic::Clzero => {
                let place = self.place(ARENA, 64, 64);
                self.load(0, place, pieces);
            }
            // Else most quotients would not fit.
            Mnemonic::Div | Mnemonic::Idiv if self.random.below(20) > 0 => {
                let value = self.random.below(100) as u64;
                self.load(0, value, pieces);
                self.load(2, 0, pieces);
            }
            _ => {}
        }
    }

    /// Sets the instruction's memory operand.
    pub fn address(
        &mut self,
        instr: &mut Instruction,
        size: usize,
        alignment: usize,
        pieces: &mut Vec<Piece>,
    ) -> Option<()> {
        let place = self.place(ARENA, size, alignment);
        if instr.memory_index().is_vector_register() {
            let base = self.register_near(place, pieces);
            instr.set_memory_base(Register::RAX + base as u32);
            instr.set_memory_displacement64(place.wrapping_sub(self.knowledge.values[base]?));
            instr.set_memory_displ_size(1);
            return Some(());
        }
        let form = self.random.below(10);
        let narrow = self.random.below(8) == 0;
        // No base, no index; the encoding has no RIP-relative form in some cases, which the encoder tells.
        match form {
            0 | 1 => {
                let near = self.code - NEAR_BEFORE_CODE;
                let place = self.place(near, size, alignment);
                let narrow = narrow && self.code < 1 << 31;
                instr.set_memory_base(if narrow { Register::EIP } else { Register::RIP });
                instr.set_memory_displacement64(place);
                instr.set_memory_displ_size(if narrow { 4 } else { 8 });
                return Some(());
            }
            2 => {
                instr.set_memory_displacement64(place);
                instr.set_memory_displ_size(if narrow { 4 } else { 8 });
                return Some(());
            }
            _ => {}
        }
        let mut rest = place;
        if form == 3 {
            instr.set_segment_prefix(Register::FS);
            rest = rest.wrapping_sub(self.knowledge.fs_base);
            if self.random.below(3) == 0 {
                instr.set_memory_displacement64(rest);
                instr.set_memory_displ_size(8);
                return i32::try_from(rest as i64).ok().map(|_| ());
            }
        }
        let register =
            |number: usize| if narrow { Register::EAX + number as u32 } else { Register::RAX + number as u32 };
        let part = |value: u64| if narrow { value as u32 as u64 } else { value };
        if form >= 6 {
            let index = self.known_index(pieces);
            let scale = 1u32 << self.random.below(4);
            let value = self.knowledge.values[index]?;
            instr.set_memory_index(register(index));
            instr.set_memory_index_scale(scale);
            rest = rest.wrapping_sub(part(value).wrapping_mul(scale as u64));
            self.reserved |= 1 << index;
        }
        if form != 9 {
            let base = self.register_near(rest, pieces);
            instr.set_memory_base(register(base));
            rest = rest.wrapping_sub(part(self.knowledge.values[base]?));
        }
        if narrow {
            rest = rest as i32 as u32 as u64;
            instr.set_memory_displacement64(rest);
            instr.set_memory_displ_size(4);
            // With FS the sum of 32 bits is what is added to its base.
            return (form != 3).then_some(());
        }
        instr.set_memory_displacement64(rest);
        let size = if form == 9 || self.random.below(3) == 0 { 8 } else { (rest != 0) as u32 };
        instr.set_memory_displ_size(size);
        i32::try_from(rest as i64).ok().map(|_| ())
    }

    /// A register that holds something within a displacement's reach of this address; one is loaded if none does.
    fn register_near(&mut self, address: u64, pieces: &mut Vec<Piece>) -> usize {
        let near = |value: &Option<u64>| value.is_some_and(|v| i32::try_from(address.wrapping_sub(v) as i64).is_ok());
        let known: Vec<usize> = (0..16).filter(|n| near(&self.knowledge.values[*n])).collect();
        if !known.is_empty() && self.random.below(4) > 0 {
            return known[self.random.below(known.len())];
        }
        let number = self.free_register();
        let distance = match self.random.below(3) {
            0 => 0,
            1 => self.random.below(128) as u64,
            _ => self.random.below(1 << 30) as u64,
        };
        let value =
            if self.random.below(2) == 0 { address.wrapping_sub(distance) } else { address.wrapping_add(distance) };
        self.load(number, value, pieces);
        number
    }

    /// A register with a known value, not too large; a small one is loaded if there is none.
    fn known_index(&mut self, pieces: &mut Vec<Piece>) -> usize {
        let fits = |value: &Option<u64>| value.is_some_and(|v| v < 1 << 28);
        let known: Vec<usize> = (0..16).filter(|n| *n != RSP && fits(&self.knowledge.values[*n])).collect();
        if !known.is_empty() && self.random.below(3) > 0 {
            return known[self.random.below(known.len())];
        }
        let number = self.free_register();
        let value = self.random.below(1000) as u64;
        self.load(number, value, pieces);
        number
    }

    /// A register that may be overwritten.
    pub fn free_register(&mut self) -> usize {
        loop {
            let number = self.random.below(16);
            if number != RSP && (self.reserved | self.held) >> number & 1 == 0 {
                return number;
            }
        }
    }

    /// A vector of small indices for a gather, made of general registers: no index leads out of the arena.
    pub fn vector_index(
        &mut self,
        instr: &mut Instruction,
        kind: Kind,
        vector: u32,
        pieces: &mut Vec<Piece>,
    ) -> Option<()> {
        let class = match kind {
            Kind::mem_vsib32x | Kind::mem_vsib64x => Register::XMM0,
            Kind::mem_vsib32y | Kind::mem_vsib64y => Register::YMM0,
            _ => Register::ZMM0,
        };
        let number = self.free_register();
        let value = self.random.below(16) as u64 * if self.aligned { 8 } else { 1 };
        self.load(number, value, pieces);
        let (low, wide) = (Register::XMM0 + vector, class + vector);
        let general = Register::RAX + number as u32;
        let broadcast = match class {
            Register::XMM0 => Code::VEX_Vpbroadcastq_xmm_xmmm64,
            Register::YMM0 => Code::VEX_Vpbroadcastq_ymm_xmmm64,
            _ => Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64,
        };
        let to_vector = if vector < 16 { Code::VEX_Vmovq_xmm_rm64 } else { Code::EVEX_Vmovq_xmm_rm64 };
        let broadcast = if vector < 16 || class == Register::ZMM0 {
            broadcast
        } else if class == Register::YMM0 {
            Code::EVEX_Vpbroadcastq_ymm_k1z_xmmm64
        } else {
            Code::EVEX_Vpbroadcastq_xmm_k1z_xmmm64
        };
        pieces.push(Piece::Instr(Instruction::with2(to_vector, low, general).ok()?));
        pieces.push(Piece::Instr(Instruction::with2(broadcast, wide, low).ok()?));
        instr.set_memory_index(wide);
        instr.set_memory_index_scale(1 << self.random.below(4));
        if instr.code().op_code().require_op_mask_register() {
            instr.set_op_mask(Register::K1 + self.random.below(7) as u32);
        }
        Some(())
    }
}

/// `mov dword [address], value`, at an absolute address.
pub fn store(address: u64, value: u32) -> Piece {
    let operand = MemoryOperand::with_displ(address, 8);
    Piece::Instr(Instruction::with2(Code::Mov_rm32_imm32, operand, value).expect("memory and an immediate fit mov"))
}
