//! Every form of an encoding that the test runs: which registers, which kind of address.

use iced_x86::{Code, Decoder, DecoderOptions, Encoder, Instruction, OpCodeOperandKind, OpKind, Register};

/// The register of each operand, if it has one.
pub type Registers = [u32; 4];

/// Where the operand that can be either is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Registers,
    /// The destination is the first source too, or the second one.
    FirstInPlace,
    SecondInPlace,
    OneRegister,
    HighRegisters,
    Based,
    Indexed,
    /// At an absolute address, in memory that counts as constant.
    Literal,
}

impl Form {
    pub const ALL: [Form; 8] = [
        Form::Registers,
        Form::FirstInPlace,
        Form::SecondInPlace,
        Form::OneRegister,
        Form::HighRegisters,
        Form::Based,
        Form::Indexed,
        Form::Literal,
    ];

    fn in_memory(self) -> bool {
        matches!(self, Form::Based | Form::Indexed | Form::Literal)
    }

    /// The registers that the operands use.
    pub fn registers(self) -> Registers {
        match self {
            Form::OneRegister => [3, 3, 3, 3],
            Form::HighRegisters => [9, 12, 10, 13],
            Form::FirstInPlace => [2, 2, 1, 3],
            Form::SecondInPlace => [2, 1, 2, 2],
            _ => [2, 1, 3, 8],
        }
    }
}

/// The general register that holds the address of the operand memory, and the index of an indexed operand.
pub const BASE: (Register, usize) = (Register::RDI, 7);
pub const INDEX: (Register, usize) = (Register::RSI, 6);
pub const INDEX_VALUE: u64 = 3;
/// Where in the operand memory every memory operand is.
pub const OPERAND: usize = 64;

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
    if matches!(form, Form::FirstInPlace | Form::SecondInPlace) && info.op_count() < 3 {
        return None;
    }
    let mut instr = Instruction::new();
    instr.set_code(code);
    let (mut memory_operands, mut choices) = (0, 0);
    for operand in 0..info.op_count() {
        let kind = info.op_kind(operand);
        let number = registers[operand as usize % registers.len()];
        let (register, either) = match kind {
            OpCodeOperandKind::xmm_reg
            | OpCodeOperandKind::xmm_rm
            | OpCodeOperandKind::xmm_vvvv
            | OpCodeOperandKind::xmm_is4 => (Some(Register::XMM0 + number), false),
            OpCodeOperandKind::ymm_reg
            | OpCodeOperandKind::ymm_rm
            | OpCodeOperandKind::ymm_vvvv
            | OpCodeOperandKind::ymm_is4 => (Some(Register::YMM0 + number), false),
            OpCodeOperandKind::xmm_or_mem => (Some(Register::XMM0 + number), true),
            OpCodeOperandKind::ymm_or_mem => (Some(Register::YMM0 + number), true),
            OpCodeOperandKind::r32_reg | OpCodeOperandKind::r32_opcode => (Some(Register::EAX + number), false),
            OpCodeOperandKind::r64_reg | OpCodeOperandKind::r64_opcode => (Some(Register::RAX + number), false),
            OpCodeOperandKind::r32_or_mem => (Some(Register::EAX + number), true),
            OpCodeOperandKind::r64_or_mem => (Some(Register::RAX + number), true),
            OpCodeOperandKind::mm_or_mem => (Some(Register::MM1), true),
            OpCodeOperandKind::mem => (None, true),
            OpCodeOperandKind::imm8 => {
                instr.set_op_kind(operand, OpKind::Immediate8);
                instr.set_immediate8(immediate as u8);
                continue;
            }
            OpCodeOperandKind::imm32 => {
                instr.set_op_kind(operand, OpKind::Immediate32);
                instr.set_immediate32(immediate as u32);
                continue;
            }
            OpCodeOperandKind::imm32sex64 => {
                instr.set_op_kind(operand, OpKind::Immediate32to64);
                instr.set_immediate32to64(immediate as i32 as i64);
                continue;
            }
            OpCodeOperandKind::imm64 => {
                instr.set_op_kind(operand, OpKind::Immediate64);
                instr.set_immediate64(immediate);
                continue;
            }
            _ => panic!("{code:?} has an operand that the test does not know: {kind:?}"),
        };
        choices += either as u32;
        if either && form.in_memory() {
            memory_operands += 1;
            instr.set_op_kind(operand, OpKind::Memory);
            set_memory(&mut instr, form, memory);
        } else {
            instr.set_op_kind(operand, OpKind::Register);
            instr.set_op_register(operand, register?);
        }
    }
    // An encoding without a choice has its one form; `vzeroupper` has no operands at all.
    if form.in_memory() != (memory_operands == 1) || (choices == 0 && form.in_memory()) {
        return None;
    }
    let mut encoder = Encoder::new(64);
    encoder.encode(&instr, ip).unwrap_or_else(|error| panic!("{code:?} {form:?}: {error}"));
    let bytes = encoder.take_buffer();
    let decoded = Decoder::with_ip(64, &bytes, ip, DecoderOptions::NONE).decode();
    assert_eq!(decoded.code(), code, "{form:?} was encoded as something else");
    Some((decoded, bytes))
}

fn set_memory(instr: &mut Instruction, form: Form, memory: u64) {
    match form {
        Form::Indexed => {
            instr.set_memory_base(BASE.0);
            instr.set_memory_index(INDEX.0);
            instr.set_memory_index_scale(8);
            instr.set_memory_displacement64(OPERAND as u64 - 8 * INDEX_VALUE);
            instr.set_memory_displ_size(1);
        }
        Form::Literal => {
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

/// The name of an encoding without the way in which it is encoded.
pub fn name(code: Code) -> String {
    format!("{code:?}").trim_start_matches("VEX_").to_lowercase()
}

/// Immediates worth trying: all that there are, if they are few.
pub fn immediates(code: Code) -> Vec<u64> {
    let name = name(code);
    match () {
        _ if name.starts_with("cmp") => (0..8).collect(),
        _ if name.starts_with("vcmp") => (0..32).collect(),
        _ if name.contains("round") => (0..16).collect(),
        _ if name.ends_with("imm8") => (0..256).collect(),
        _ => vec![0x3ff0_0000_8000_0001],
    }
}
