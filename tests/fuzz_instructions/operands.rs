//! From an encoding to an instruction with random operands, which is safe to run where it stands.

use super::excluded::SELECTORS;
use super::generate::Generator;
use super::knowledge::RSP;
use super::layout::{ARENA, PAGE};
use super::pieces::Piece;
use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, EncodingKind, Instruction, MemorySize, Mnemonic, OpCodeOperandKind as Kind,
    OpKind, Register,
};

/// Operands stay so far away from the ends of their page.
const MARGIN: usize = 0x180;

impl Generator<'_> {
    /// An instruction of this encoding, after moves that make its addresses right. Nothing if these random operands do
    /// not make one; others may.
    pub fn instruction(&mut self, code: Code) -> Option<Vec<Piece>> {
        let before = self.knowledge.clone();
        let pieces = self.try_instruction(code);
        if pieces.is_none() {
            self.knowledge = before;
        }
        pieces
    }

    fn try_instruction(&mut self, code: Code) -> Option<Vec<Piece>> {
        let info = code.op_code();
        let mut instr = Instruction::new();
        instr.set_code(code);
        let mut pieces = Vec::new();
        self.reserved = 0;
        self.prepare(code, &mut pieces);
        let mut memory = None;
        for operand in 0..info.op_count() {
            self.operand(&mut instr, operand, info.op_kind(operand), &mut memory, &mut pieces)?;
        }
        if info.can_use_op_mask_register() && self.random.below(2) == 0 {
            instr.set_op_mask(Register::K1 + self.random.below(7) as u32);
            instr.set_zeroing_masking(info.can_use_zeroing_masking() && memory.is_none() && self.random.below(2) == 0);
        }
        if let (Some(_), true, Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc) =
            (memory, instr.op1_kind() == OpKind::Register, code.mnemonic())
        {
            // The bit's number moves the address.
            let number = instr.op1_register().number();
            let value = self.random.below(512) as u64;
            self.load(number, value, &mut pieces);
            self.reserved |= 1 << number;
        }
        if info.can_use_lock_prefix() && memory == Some(0) && self.random.below(2) == 0 {
            instr.set_has_lock_prefix(true);
        }
        if memory.is_some() {
            let (size, alignment) = self.extent(&instr);
            self.address(&mut instr, size, alignment, &mut pieces)?;
        }
        let repeats = [info.can_use_rep_prefix(), info.can_use_repne_prefix()];
        if repeats.contains(&true) && self.random.below(3) > 0 {
            let repne = repeats[1] && (!repeats[0] || self.random.below(2) == 0);
            if repne {
                instr.set_has_repne_prefix(true)
            } else {
                instr.set_has_rep_prefix(true)
            }
            let count = self.random.below(9) as u64;
            self.load(1, count, &mut pieces);
        }
        self.finish(instr, pieces)
    }

    /// The instruction behind what was to come before it, if it can be encoded as meant and run.
    pub fn finish(&mut self, instr: Instruction, mut pieces: Vec<Piece>) -> Option<Vec<Piece>> {
        let mut encoder = Encoder::new(64);
        encoder.encode(&instr, self.code).ok()?;
        let bytes = encoder.take_buffer();
        let decoded = Decoder::with_ip(64, &bytes, self.code, DecoderOptions::NONE).decode();
        if decoded.code() != instr.code() || !self.knowledge.execute(&decoded, &mut self.infos) {
            return None;
        }
        // A prefix that says what is so anyway, or nothing at all.
        let legacy = instr.op_code().encoding() == EncodingKind::Legacy;
        let ignored = [0x2e, 0x36, 0x3e, 0x26][self.random.below(4)];
        let plain = legacy && !instr.has_segment_prefix() && !matches!(bytes[0], 0x64..=0x67 | 0xf0 | 0xf2 | 0xf3);
        pieces.push(match self.random.below(24) {
            0 if plain => Piece::Prefixed(vec![ignored], instr),
            // A REX prefix that another prefix follows is ignored.
            1 if plain => Piece::Prefixed(vec![0x48, ignored], instr),
            _ => Piece::Instr(instr),
        });
        Some(pieces)
    }

    fn operand(
        &mut self,
        instr: &mut Instruction,
        operand: u32,
        kind: Kind,
        memory: &mut Option<u32>,
        pieces: &mut Vec<Piece>,
    ) -> Option<()> {
        let vectors = if instr.code().op_code().encoding() == EncodingKind::EVEX { 32 } else { 16 };
        let gpr = self.gpr();
        let vector = self.random.below(vectors) as u32;
        let eight = self.random.below(8) as u32;
        let register = match kind {
            Kind::r8_or_mem | Kind::r8_reg | Kind::r8_opcode => Register::AL + self.random.below(20) as u32,
            Kind::r16_or_mem | Kind::r16_reg | Kind::r16_reg_mem | Kind::r16_rm | Kind::r16_opcode => {
                Register::AX + gpr
            }
            Kind::r32_or_mem
            | Kind::r32_or_mem_mpx
            | Kind::r32_reg
            | Kind::r32_reg_mem
            | Kind::r32_rm
            | Kind::r32_opcode
            | Kind::r32_vvvv => Register::EAX + gpr,
            Kind::r64_or_mem
            | Kind::r64_or_mem_mpx
            | Kind::r64_reg
            | Kind::r64_reg_mem
            | Kind::r64_rm
            | Kind::r64_opcode
            | Kind::r64_vvvv => Register::RAX + gpr,
            Kind::mm_or_mem | Kind::mm_reg | Kind::mm_rm => Register::MM0 + eight,
            Kind::xmm_or_mem | Kind::xmm_reg | Kind::xmm_rm | Kind::xmm_vvvv | Kind::xmm_is4 | Kind::xmm_is5 => {
                Register::XMM0 + vector
            }
            Kind::xmmp3_vvvv => Register::XMM0 + (vector & !3),
            Kind::ymm_or_mem | Kind::ymm_reg | Kind::ymm_rm | Kind::ymm_vvvv | Kind::ymm_is4 | Kind::ymm_is5 => {
                Register::YMM0 + vector
            }
            Kind::zmm_or_mem | Kind::zmm_reg | Kind::zmm_rm | Kind::zmm_vvvv => Register::ZMM0 + vector,
            Kind::zmmp3_vvvv => Register::ZMM0 + (vector & !3),
            Kind::k_or_mem | Kind::k_reg | Kind::k_rm | Kind::k_vvvv => Register::K0 + eight,
            Kind::kp1_reg => Register::K0 + (eight & !1),
            Kind::bnd_reg | Kind::bnd_or_mem_mpx => Register::BND0 + eight % 4,
            Kind::cr_reg => Register::CR0 + [0, 2, 3, 4, 8][eight as usize % 5],
            Kind::dr_reg => Register::DR0 + eight,
            Kind::tr_reg => return None,
            Kind::seg_reg => SELECTORS[self.random.below(SELECTORS.len())],
            Kind::es => Register::ES,
            Kind::cs => Register::CS,
            Kind::ss => Register::SS,
            Kind::ds => Register::DS,
            Kind::fs => Register::FS,
            Kind::gs => Register::GS,
            Kind::al => Register::AL,
            Kind::cl => Register::CL,
            Kind::ax => Register::AX,
            Kind::dx => Register::DX,
            Kind::eax => Register::EAX,
            Kind::rax => Register::RAX,
            Kind::st0 => Register::ST0,
            Kind::sti_opcode => Register::ST0 + eight,
            Kind::mem | Kind::mem_mpx | Kind::mem_mib => Register::None,
            Kind::mem_offs => return self.offset_operand(instr, operand),
            Kind::mem_vsib32x
            | Kind::mem_vsib64x
            | Kind::mem_vsib32y
            | Kind::mem_vsib64y
            | Kind::mem_vsib32z
            | Kind::mem_vsib64z => {
                *memory = Some(operand);
                instr.set_op_kind(operand, OpKind::Memory);
                return self.vector_index(instr, kind, vector, pieces);
            }
            Kind::seg_rSI | Kind::es_rDI | Kind::seg_rDI | Kind::seg_rBX_al => {
                self.string_operand(instr, operand, kind, pieces);
                return Some(());
            }
            _ => return self.immediate(instr, operand, kind),
        };
        let can_be_memory = matches!(
            kind,
            Kind::r8_or_mem
                | Kind::r16_or_mem
                | Kind::r32_or_mem
                | Kind::r32_or_mem_mpx
                | Kind::r64_or_mem
                | Kind::r64_or_mem_mpx
                | Kind::mm_or_mem
                | Kind::xmm_or_mem
                | Kind::ymm_or_mem
                | Kind::zmm_or_mem
                | Kind::bnd_or_mem_mpx
                | Kind::k_or_mem
        );
        if register == Register::None || can_be_memory && self.random.below(2) == 0 {
            *memory = Some(operand);
            instr.set_op_kind(operand, OpKind::Memory);
        } else {
            instr.set_op_kind(operand, OpKind::Register);
            instr.set_op_register(operand, register);
        }
        Some(())
    }

    fn immediate(&mut self, instr: &mut Instruction, operand: u32, kind: Kind) -> Option<()> {
        let value = if self.random.below(2) == 0 { self.random.next() } else { self.random.below(300) as u64 };
        let (kind, value) = match kind {
            Kind::imm8 => (OpKind::Immediate8, value & 0xff),
            Kind::imm4_m2z => (OpKind::Immediate8, value & 3),
            Kind::imm8_const_1 => (OpKind::Immediate8, 1),
            Kind::imm8sex16 => (OpKind::Immediate8to16, value as i8 as u64),
            Kind::imm8sex32 => (OpKind::Immediate8to32, value as i8 as u64),
            Kind::imm8sex64 => (OpKind::Immediate8to64, value as i8 as u64),
            Kind::imm16 => (OpKind::Immediate16, value & 0xffff),
            Kind::imm32 => (OpKind::Immediate32, value as u32 as u64),
            Kind::imm32sex64 => (OpKind::Immediate32to64, value as i32 as u64),
            Kind::imm64 => (OpKind::Immediate64, value),
            _ => return None,
        };
        // A second immediate, of `extrq` and `insertq`, is a byte of its own.
        let second = (0..operand).any(|earlier| instr.op_kind(earlier) == OpKind::Immediate8);
        instr.set_op_kind(operand, if second { OpKind::Immediate8_2nd } else { kind });
        match kind {
            _ if second => instr.set_immediate8_2nd(value as u8),
            OpKind::Immediate64 => instr.set_immediate64(value),
            OpKind::Immediate8to64 | OpKind::Immediate32to64 => instr.set_immediate32to64(value as i64),
            _ => instr.set_immediate32(value as u32),
        }
        Some(())
    }

    /// How large a memory operand is, and which alignment it gets: what it needs, and sometimes less.
    fn extent(&mut self, instr: &Instruction) -> (usize, usize) {
        let size = match instr.memory_size() {
            MemorySize::Unknown => 64,
            size => size.size().max(1),
        };
        let legacy = instr.op_code().encoding() == EncodingKind::Legacy;
        let picky = instr.mnemonic() == Mnemonic::Cmpxchg16b
            || size >= 16 && legacy
            || matches!(
                instr.mnemonic(),
                Mnemonic::Vmovaps
                    | Mnemonic::Vmovapd
                    | Mnemonic::Vmovdqa
                    | Mnemonic::Vmovntdq
                    | Mnemonic::Vmovntdqa
                    | Mnemonic::Vmovntps
                    | Mnemonic::Vmovntpd
                    | Mnemonic::Vmovdqa32
                    | Mnemonic::Vmovdqa64
            );
        let loose = !self.aligned && self.random.below(if picky { 200 } else { 2 }) == 0;
        (size, if loose { 1 } else { size.next_power_of_two().clamp(8, 64) })
    }

    /// An address on a page, so far from its ends that an operand of this size fits.
    pub fn place(&mut self, page: u64, size: usize, alignment: usize) -> u64 {
        let room = PAGE - 2 * MARGIN - size;
        let offset = MARGIN + self.random.below(room) / alignment * alignment;
        page + offset.next_multiple_of(alignment) as u64
    }

    /// `mov al, [moffs64]` and its kin.
    fn offset_operand(&mut self, instr: &mut Instruction, operand: u32) -> Option<()> {
        let place = self.place(ARENA, 8, 8);
        instr.set_op_kind(operand, OpKind::Memory);
        instr.set_memory_displacement64(place);
        instr.set_memory_displ_size(if self.random.below(4) == 0 { 4 } else { 8 });
        Some(())
    }

    fn string_operand(&mut self, instr: &mut Instruction, operand: u32, kind: Kind, pieces: &mut Vec<Piece>) {
        let place = self.place(ARENA, 64, 8);
        // The width of addresses is one for the whole instruction.
        let narrow = if operand == 0 { self.random.below(4) == 0 } else { is_narrow(instr.op_kind(0)) };
        let (number, narrow_kind, wide_kind) = match kind {
            Kind::seg_rSI => (6, OpKind::MemorySegESI, OpKind::MemorySegRSI),
            Kind::es_rDI => (7, OpKind::MemoryESEDI, OpKind::MemoryESRDI),
            Kind::seg_rDI => (7, OpKind::MemorySegEDI, OpKind::MemorySegRDI),
            _ => {
                // xlatb
                self.load(3, place, pieces);
                instr.set_op_kind(operand, OpKind::Memory);
                instr.set_memory_base(Register::RBX);
                instr.set_memory_index(Register::AL);
                return;
            }
        };
        let from_fs = kind == Kind::seg_rSI && !narrow && self.random.below(6) == 0;
        if from_fs {
            instr.set_segment_prefix(Register::FS);
        }
        let base = if from_fs { self.knowledge.fs_base } else { 0 };
        self.load(number, place.wrapping_sub(base), pieces);
        instr.set_op_kind(operand, if narrow { narrow_kind } else { wide_kind });
    }

    /// A general register: seldom the stack pointer.
    pub fn gpr(&mut self) -> u32 {
        let number = self.random.below(16);
        if number == RSP && self.random.below(4) > 0 { 0 } else { number as u32 }
    }
}

fn is_narrow(kind: OpKind) -> bool {
    matches!(kind, OpKind::MemorySegESI | OpKind::MemoryESEDI | OpKind::MemorySegEDI)
}
