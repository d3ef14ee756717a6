//! From guest bytes to a block of instructions and the way it ends.

use crate::context::Mode;
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register,
};

/// Blocks are short anyway; the bound keeps records small and the analysis in step.
const MAX_INSTRUCTIONS: usize = 64;
/// Emitted code that logs needs two registers which the block leaves alone; the stack pointer is never one.
const MAX_REGISTERS: u32 = 13;

/// How control leaves a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Runs into the next instruction: the block was cut.
    Next(u64),
    Jump(u64),
    /// The last instruction branches to `taken` or runs on to `next`.
    Branch {
        taken: u64,
        next: u64,
    },
    /// The last two instructions branch on the same flags: so compilers test floats for equality, with `jp` and `jne`. Both belong to
    /// one comparison, which is in the block.
    TwoBranches {
        first: u64,
        taken: u64,
        next: u64,
    },
    Call {
        target: u64,
        next: u64,
    },
    IndirectJump,
    IndirectCall {
        next: u64,
    },
    /// Pops so many bytes besides the return address.
    Return {
        extra: u16,
    },
    Syscall {
        next: u64,
    },
    /// The instruction at this address is not one to translate.
    Native(u64),
}

#[derive(Debug)]
pub struct Decoded {
    /// With the branch that ends the block, except for `End::Native`.
    pub instrs: Vec<Instruction>,
    /// Displacement offsets of RIP-relative operands, by instruction; 0 for the others.
    pub rip_displacements: Vec<u8>,
    pub bytes: Vec<u8>,
    pub end: End,
    /// General registers that the instructions use, a bit each in hardware numbering.
    pub registers: u16,
}

impl Decoded {
    /// The bytes of an instruction.
    pub fn bytes_of(&self, index: usize) -> &[u8] {
        let instr = &self.instrs[index];
        let offset = (instr.ip() - self.instrs[0].ip()) as usize;
        &self.bytes[offset..offset + instr.len()]
    }

    /// How many instructions of the block come before those that end it.
    pub fn body_len(&self) -> usize {
        let ends = match self.end {
            End::Next(_) | End::Native(_) => 0,
            End::TwoBranches { .. } => 2,
            _ => 1,
        };
        self.instrs.len() - ends
    }
}

/// Decodes the block at `pc` from the bytes that lie there.
pub fn decode(pc: u64, bytes: &[u8], mode: Mode, infos: &mut InstructionInfoFactory) -> Decoded {
    let mut decoder = Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE);
    let mut block = Decoded {
        instrs: Vec::new(),
        rip_displacements: Vec::new(),
        bytes: Vec::new(),
        end: End::Next(pc),
        registers: 0,
    };
    while block.instrs.len() < MAX_INSTRUCTIONS {
        let at = decoder.ip();
        let instr = decoder.decode();
        if instr.is_invalid() || !translatable(&instr) {
            block.end = End::Native(at);
            break;
        }
        let next = instr.next_ip();
        let end = end_of(&instr);
        if mode == Mode::Logged {
            let used = block.registers | registers_used(&instr, infos);
            if used.count_ones() > MAX_REGISTERS && !block.instrs.is_empty() {
                break;
            }
            block.registers = used;
        }
        let displacement = if instr.is_ip_rel_memory_operand() {
            decoder.get_constant_offsets(&instr).displacement_offset() as u8
        } else {
            0
        };
        block.instrs.push(instr);
        block.rip_displacements.push(displacement);
        block.end = match (block.end, end) {
            (End::Branch { taken: first, .. }, Some(End::Branch { taken, next })) => {
                End::TwoBranches { first, taken, next }
            }
            (_, end) => end.unwrap_or(End::Next(next)),
        };
        if end.is_some() && !is_first_of_two(&block, bytes) {
            break;
        }
    }
    let length = block.instrs.last().map_or(0, |last| last.next_ip() - pc) as usize;
    block.bytes = bytes[..length].to_vec();
    block
}

/// Does the block end with the first of two branches that test floats for equality?
fn is_first_of_two(block: &Decoded, bytes: &[u8]) -> bool {
    let (End::Branch { next, .. }, Some(last)) = (block.end, block.instrs.last()) else { return false };
    let rest = &bytes[(next - block.instrs[0].ip()) as usize..];
    let next = Decoder::with_ip(64, rest, next, DecoderOptions::NONE).decode();
    let tests_parity = |instr: &Instruction| matches!(instr.mnemonic(), Mnemonic::Jp | Mnemonic::Jnp);
    let tests_equality = |instr: &Instruction| matches!(instr.mnemonic(), Mnemonic::Je | Mnemonic::Jne);
    translatable(&next) && (tests_parity(last) && tests_equality(&next) || tests_equality(last) && tests_parity(&next))
}

fn end_of(instr: &Instruction) -> Option<End> {
    let next = instr.next_ip();
    match instr.flow_control() {
        FlowControl::Next => None,
        FlowControl::UnconditionalBranch => Some(End::Jump(instr.near_branch_target())),
        FlowControl::ConditionalBranch => Some(End::Branch { taken: instr.near_branch_target(), next }),
        FlowControl::IndirectBranch => Some(End::IndirectJump),
        FlowControl::IndirectCall => Some(End::IndirectCall { next }),
        FlowControl::Return => Some(End::Return { extra: if instr.op_count() == 1 { instr.immediate16() } else { 0 } }),
        FlowControl::Call if instr.code() == Code::Syscall => Some(End::Syscall { next }),
        FlowControl::Call => Some(End::Call { target: instr.near_branch_target(), next }),
        // `translatable` has kept these out.
        FlowControl::Interrupt | FlowControl::XbeginXabortXend | FlowControl::Exception => {
            Some(End::Native(instr.ip()))
        }
    }
}

/// Instructions that run natively or not at all: traps, whose signal must show the guest's own pc, far and transactional branches,
/// and what reads or writes GS, which is ours.
fn translatable(instr: &Instruction) -> bool {
    let control = match instr.flow_control() {
        FlowControl::Next => true,
        FlowControl::Interrupt | FlowControl::XbeginXabortXend | FlowControl::Exception => false,
        FlowControl::Return => matches!(instr.code(), Code::Retnq | Code::Retnq_imm16),
        FlowControl::IndirectBranch => instr.code() == Code::Jmp_rm64,
        FlowControl::IndirectCall => instr.code() == Code::Call_rm64,
        FlowControl::Call => matches!(instr.code(), Code::Syscall | Code::Call_rel32_64),
        FlowControl::UnconditionalBranch => matches!(instr.code(), Code::Jmp_rel8_64 | Code::Jmp_rel32_64),
        FlowControl::ConditionalBranch => instr.op_count() == 1 && instr.op0_kind() == OpKind::NearBranch64,
    };
    let base =
        matches!(instr.code(), Code::Rdgsbase_r32 | Code::Rdgsbase_r64 | Code::Wrgsbase_r32 | Code::Wrgsbase_r64);
    let selector =
        (0..instr.op_count()).any(|op| instr.op_kind(op) == OpKind::Register && instr.op_register(op) == Register::GS);
    control && !base && !selector && instr.segment_prefix() != Register::GS
}

/// The general registers that an instruction reads or writes, implicitly or not.
fn registers_used(instr: &Instruction, infos: &mut InstructionInfoFactory) -> u16 {
    let info = infos.info(instr);
    let memory = info.used_memory().iter().flat_map(|memory| [memory.base(), memory.index()]);
    info.used_registers()
        .iter()
        .map(|used| used.register())
        .chain(memory)
        .fold(0, |set, register| set | gpr_bit(register))
}

fn gpr_bit(register: Register) -> u16 {
    if register.is_gpr() { 1 << register.full_register().number() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Decoded {
        decode(0x1000, bytes, Mode::Logged, &mut InstructionInfoFactory::new())
    }

    #[test]
    fn a_block_ends_with_its_branch() {
        let block = decoded(&[0x90, 0x74, 0x10, 0x90]);
        assert_eq!(block.instrs.len(), 2);
        assert_eq!(block.end, End::Branch { taken: 0x1013, next: 0x1003 });
    }

    #[test]
    fn the_two_branches_of_an_equality_test_end_one_block() {
        // ucomisd xmm0, xmm1; jp; jne
        let block = decoded(&[0x66, 0x0f, 0x2e, 0xc1, 0x7a, 0x10, 0x75, 0x20, 0x90]);
        assert_eq!((block.instrs.len(), block.body_len()), (3, 1));
        assert_eq!(block.end, End::TwoBranches { first: 0x1016, taken: 0x1028, next: 0x1008 });
        // cmp; je; jl
        assert_eq!(decoded(&[0x39, 0xc8, 0x74, 0x10, 0x7c, 0x20]).instrs.len(), 2);
    }

    #[test]
    fn a_system_call_is_not_a_call() {
        assert_eq!(decoded(&[0x0f, 0x05]).end, End::Syscall { next: 0x1002 });
    }

    #[test]
    fn traps_and_invalid_bytes_are_left_to_the_cpu() {
        assert_eq!(decoded(&[0x90, 0x0f, 0x0b]).end, End::Native(0x1001));
        assert_eq!(decoded(&[0x06]).end, End::Native(0x1000));
    }

    #[test]
    fn a_block_is_cut_where_the_bytes_end() {
        let block = decoded(&[0x90, 0x48]);
        assert_eq!((block.instrs.len(), block.end), (1, End::Native(0x1001)));
    }

    #[test]
    fn implicit_registers_count_as_used() {
        // cpuid writes rax, rcx, rdx, rbx.
        assert_eq!(decoded(&[0x0f, 0xa2]).registers, 0b1111);
    }
}
