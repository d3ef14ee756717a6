//! An instruction in one of its forms.

use super::forms::{Extra, Form, Masking, Registers, Shape};
use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, EncodingKind, Instruction, OpCodeOperandKind as Kind, OpKind, Register,
    RoundingControl,
};

/// The general register that holds the address of the operand memory, and the index of an indexed operand.
pub const BASE: (Register, usize) = (Register::RDI, 7);
pub const INDEX: (Register, usize) = (Register::RSI, 6);
pub const INDEX_VALUE: u64 = 3;
/// Where in the operand memory every memory operand is.
pub const OPERAND: usize = 64;
/// Where a gather's is if its index is zero.
pub const GATHERED: usize = 1024;
/// Indices of gathers are less than this, and more than its negative.
pub const GATHERED_REACH: usize = 100;

/// Whether a decoder of 64-bit code ever gives this. Some are two instructions in one (`finit` is `wait` and `fninit`), some are not of this
/// mode, or of other CPUs.
pub fn is_decoded(code: Code) -> bool {
    let info = code.op_code();
    info.is_instruction() && info.mode64() && !info.fwait() && info.decoder_option() == DecoderOptions::NONE
}

/// An instruction in this form, decoded, with its bytes. Nothing if the encoding has no such form.
pub fn instruction(
    code: Code,
    form: Form,
    registers: Registers,
    immediate: u64,
    ip: u64,
    memory: u64,
) -> Option<(Instruction, Vec<u8>)> {
    let info = code.op_code();
    let fpu = info.op_kinds().contains(&Kind::sti_opcode);
    let in_place = matches!(form.shape, Shape::FirstInPlace | Shape::SecondInPlace);
    if in_place && info.op_count() < 3 && !fpu {
        return None;
    }
    if (in_place || form.shape == Shape::OneRegister)
        && (info.requires_unique_reg_nums() || info.requires_unique_dest_reg_num())
    {
        return None;
    }
    let mut instr = Instruction::new();
    instr.set_code(code);
    let (mut memory_operands, mut choices) = (0, 0);
    for operand in 0..info.op_count() {
        let kind = info.op_kind(operand);
        let number = registers[operand as usize % registers.len()];
        let operand_is = |instr: &mut Instruction, kind: OpKind| instr.set_op_kind(operand, kind);
        if set_immediate(&mut instr, operand, kind, immediate) {
            continue;
        }
        match kind {
            Kind::br64_1 | Kind::br64_4 => {
                operand_is(&mut instr, OpKind::NearBranch64);
                continue;
            }
            Kind::seg_rSI => {
                operand_is(&mut instr, OpKind::MemorySegRSI);
                continue;
            }
            Kind::es_rDI => {
                operand_is(&mut instr, OpKind::MemoryESRDI);
                continue;
            }
            Kind::seg_rDI => {
                operand_is(&mut instr, OpKind::MemorySegRDI);
                continue;
            }
            _ => {}
        }
        let number = match (kind, form.shape) {
            (Kind::sti_opcode, Shape::FirstInPlace) => 0,
            (Kind::sti_opcode, Shape::SecondInPlace) => 7,
            _ => number,
        };
        let (register, can_be_memory) = register(code, kind, number);
        choices += can_be_memory as u32;
        if can_be_memory && form.shape.in_memory() {
            memory_operands += 1;
            operand_is(&mut instr, OpKind::Memory);
            set_memory(&mut instr, form.shape, kind, memory);
        } else if register == Register::None {
            return None;
        } else {
            operand_is(&mut instr, OpKind::Register);
            instr.set_op_register(operand, register);
        }
    }
    // An encoding without a choice has its one form; `vzeroupper` has no operands at all.
    if form.shape.in_memory() != (memory_operands == 1) || (choices == 0 && form.shape.in_memory()) {
        return None;
    }
    // An offset is an absolute address. Memory is merged under a mask, never zeroed.
    if info.op_kinds().contains(&Kind::mem_offs) && form.shape != Shape::Literal
        || form.masking == Masking::Zero && instr.op0_kind() == OpKind::Memory
    {
        return None;
    }
    if form.masking != Masking::None {
        instr.set_op_mask(Register::K0 + form.mask());
        instr.set_zeroing_masking(form.masking == Masking::Zero);
    }
    match form.extra {
        Extra::None => {}
        Extra::Broadcast => instr.set_is_broadcast(true),
        Extra::Rounding(control) => instr.set_rounding_control(control),
        Extra::SuppressExceptions => instr.set_suppress_all_exceptions(true),
        Extra::Repeat => instr.set_has_rep_prefix(true),
    }
    let (decoded, bytes) = encode(&mut instr, form, ip);
    check(&decoded, &instr, form);
    Some((decoded, bytes))
}

fn encode(instr: &mut Instruction, form: Form, ip: u64) -> (Instruction, Vec<u8>) {
    let code = instr.code();
    let encode = |instr: &Instruction| {
        let mut encoder = Encoder::new(64);
        encoder.encode(instr, ip).unwrap_or_else(|error| panic!("{code:?} {form:?}: {error}"));
        encoder.take_buffer()
    };
    let is_branch = instr.op0_kind() == OpKind::NearBranch64;
    if is_branch {
        instr.set_near_branch64(ip);
        // Wherever it goes, it goes on behind itself.
        let length = encode(instr).len() as u64;
        instr.set_near_branch64(ip + length);
    }
    let bytes = encode(instr);
    (Decoder::with_ip(64, &bytes, ip, DecoderOptions::NONE).decode(), bytes)
}

/// It was encoded as meant.
fn check(decoded: &Instruction, meant: &Instruction, form: Form) {
    let code = meant.code();
    assert_eq!(decoded.code(), code, "{form:?} was encoded as something else");
    let parts = |instr: &Instruction| {
        let operands: Vec<(OpKind, Register)> =
            (0..instr.op_count()).map(|operand| (instr.op_kind(operand), instr.op_register(operand))).collect();
        let address = (instr.memory_base(), instr.memory_index(), instr.memory_displacement64());
        let mask = (instr.op_mask(), instr.zeroing_masking());
        (operands, address, mask, instr.is_broadcast(), instr.rounding_control(), instr.suppress_all_exceptions())
    };
    let (mut decoded, meant) = (parts(decoded), parts(meant));
    // Rounding by itself suppresses exceptions, and may be said to.
    if decoded.4 != RoundingControl::None {
        decoded.5 = meant.5;
    }
    assert_eq!(decoded, meant, "{code:?} {form:?} was encoded otherwise");
}

/// The register of this kind, if it is one, and whether memory can take its place.
fn register(code: Code, kind: Kind, number: u32) -> (Register, bool) {
    let vectors = if code.op_code().encoding() == EncodingKind::EVEX { 32 } else { 16 };
    let (vector, general, eighth) = (number % vectors, number % 16, number % 8);
    let byte = match general {
        0..4 => Register::AL + general,
        4..8 => Register::SPL + (general - 4),
        _ => Register::R8L + (general - 8),
    };
    match kind {
        Kind::xmm_reg | Kind::xmm_rm | Kind::xmm_vvvv | Kind::xmm_is4 | Kind::xmm_is5 => {
            (Register::XMM0 + vector, false)
        }
        Kind::ymm_reg | Kind::ymm_rm | Kind::ymm_vvvv | Kind::ymm_is4 | Kind::ymm_is5 => {
            (Register::YMM0 + vector, false)
        }
        Kind::zmm_reg | Kind::zmm_rm | Kind::zmm_vvvv => (Register::ZMM0 + vector, false),
        // The first of four.
        Kind::xmmp3_vvvv => (Register::XMM0 + (vector & !3), false),
        Kind::zmmp3_vvvv => (Register::ZMM0 + (vector & !3), false),
        Kind::xmm_or_mem => (Register::XMM0 + vector, true),
        Kind::ymm_or_mem => (Register::YMM0 + vector, true),
        Kind::zmm_or_mem => (Register::ZMM0 + vector, true),
        Kind::k_reg | Kind::k_rm | Kind::k_vvvv => (Register::K0 + eighth, false),
        Kind::kp1_reg => (Register::K0 + (eighth & !1), false),
        Kind::k_or_mem => (Register::K0 + eighth, true),
        Kind::mm_reg | Kind::mm_rm => (Register::MM0 + eighth, false),
        Kind::mm_or_mem => (Register::MM0 + eighth, true),
        Kind::st0 => (Register::ST0, false),
        Kind::sti_opcode => (Register::ST0 + eighth, false),
        Kind::r8_reg | Kind::r8_opcode => (byte, false),
        Kind::r8_or_mem => (byte, true),
        Kind::r16_reg | Kind::r16_rm | Kind::r16_opcode => (Register::AX + general, false),
        Kind::r16_or_mem => (Register::AX + general, true),
        Kind::r32_reg | Kind::r32_rm | Kind::r32_opcode | Kind::r32_vvvv => (Register::EAX + general, false),
        Kind::r32_or_mem => (Register::EAX + general, true),
        Kind::r64_reg | Kind::r64_rm | Kind::r64_opcode | Kind::r64_vvvv => (Register::RAX + general, false),
        Kind::r64_or_mem => (Register::RAX + general, true),
        Kind::al => (Register::AL, false),
        Kind::cl => (Register::CL, false),
        Kind::ax => (Register::AX, false),
        Kind::dx => (Register::DX, false),
        Kind::eax => (Register::EAX, false),
        Kind::rax => (Register::RAX, false),
        Kind::mem
        | Kind::mem_offs
        | Kind::mem_vsib32x
        | Kind::mem_vsib64x
        | Kind::mem_vsib32y
        | Kind::mem_vsib64y
        | Kind::mem_vsib32z
        | Kind::mem_vsib64z => (Register::None, true),
        _ => panic!("{code:?} has an operand of a kind that the test does not know: {kind:?}"),
    }
}

/// False if the operand is no immediate.
fn set_immediate(instr: &mut Instruction, operand: u32, kind: Kind, value: u64) -> bool {
    // A second immediate, of `extrq` and `insertq`, is a byte of its own.
    let second = (0..operand).any(|earlier| instr.op_kind(earlier) == OpKind::Immediate8);
    match kind {
        Kind::imm8 if second => {
            instr.set_op_kind(operand, OpKind::Immediate8_2nd);
            instr.set_immediate8_2nd(value as u8);
        }
        Kind::imm8 | Kind::imm4_m2z | Kind::imm8_const_1 => {
            instr.set_op_kind(operand, OpKind::Immediate8);
            instr.set_immediate8(match kind {
                Kind::imm8 => value as u8,
                Kind::imm4_m2z => value as u8 & 3,
                _ => 1,
            });
        }
        Kind::imm8sex16 => {
            instr.set_op_kind(operand, OpKind::Immediate8to16);
            instr.set_immediate8to16(value as i8 as i16);
        }
        Kind::imm8sex32 => {
            instr.set_op_kind(operand, OpKind::Immediate8to32);
            instr.set_immediate8to32(value as i8 as i32);
        }
        Kind::imm8sex64 => {
            instr.set_op_kind(operand, OpKind::Immediate8to64);
            instr.set_immediate8to64(value as i8 as i64);
        }
        Kind::imm16 => {
            instr.set_op_kind(operand, OpKind::Immediate16);
            instr.set_immediate16(value as u16);
        }
        Kind::imm32 => {
            instr.set_op_kind(operand, OpKind::Immediate32);
            instr.set_immediate32(value as u32);
        }
        Kind::imm32sex64 => {
            instr.set_op_kind(operand, OpKind::Immediate32to64);
            instr.set_immediate32to64(value as i32 as i64);
        }
        Kind::imm64 => {
            instr.set_op_kind(operand, OpKind::Immediate64);
            instr.set_immediate64(value);
        }
        _ => return false,
    }
    true
}

fn set_memory(instr: &mut Instruction, shape: Shape, kind: Kind, memory: u64) {
    if let Some(index) = vector_index(instr.code(), shape, kind) {
        instr.set_memory_index(index);
        instr.set_memory_index_scale(match shape {
            Shape::Indexed => 4,
            Shape::Literal => 2,
            _ => 8,
        });
        let base = if shape == Shape::Literal { memory } else { 0 };
        if shape != Shape::Literal {
            instr.set_memory_base(BASE.0);
        }
        instr.set_memory_displacement64(base + GATHERED as u64);
        instr.set_memory_displ_size(8);
        return;
    }
    match shape {
        Shape::Indexed => {
            instr.set_memory_base(BASE.0);
            instr.set_memory_index(INDEX.0);
            instr.set_memory_index_scale(8);
            instr.set_memory_displacement64(OPERAND as u64 - 8 * INDEX_VALUE);
            instr.set_memory_displ_size(1);
        }
        Shape::Literal => {
            instr.set_memory_displacement64(memory + OPERAND as u64);
            instr.set_memory_displ_size(8);
        }
        _ => {
            instr.set_memory_base(BASE.0);
            instr.set_memory_displacement64(OPERAND as u64);
            instr.set_memory_displ_size(1);
        }
    }
}

/// The index register of a gather or scatter: none that another operand uses.
fn vector_index(code: Code, shape: Shape, kind: Kind) -> Option<Register> {
    let first = match kind {
        Kind::mem_vsib32x | Kind::mem_vsib64x => Register::XMM0,
        Kind::mem_vsib32y | Kind::mem_vsib64y => Register::YMM0,
        Kind::mem_vsib32z | Kind::mem_vsib64z => Register::ZMM0,
        _ => return None,
    };
    let high = if code.op_code().encoding() == EncodingKind::EVEX { 21 } else { 14 };
    Some(first + if shape == Shape::Indexed { high } else { 5 })
}
