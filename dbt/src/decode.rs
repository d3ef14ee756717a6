//! From guest bytes to a block of instructions and the way it ends.

use crate::context::Mode;
use crate::marks::Mark;
use iced_x86::{
    Code, Decoder, DecoderError, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};
use std::ops::Range;

/// Blocks are short anyway; the bound keeps records small and the analysis in step.
const MAX_INSTRUCTIONS: usize = 64;
/// How often a loop is run through in one block. More would write shorter records still, for loops that have become longer.
const MOST_TIMES: usize = 4;
/// Of a block that leaves no record: as many as the buffer for its bytes holds.
const MAX_QUIET_INSTRUCTIONS: usize = 128;
/// Most blocks have no more.
const USUAL_INSTRUCTIONS: usize = 16;
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
    /// A mark of fpgrind.h.
    Mark {
        mark: Mark,
        next: u64,
    },
    /// The instruction at this address is not one to translate.
    Native(u64),
}

#[derive(Debug)]
pub struct Decoded {
    /// With the branch that ends the block, except for `End::Native`. Those of an unrolled loop come again and again.
    pub instrs: Vec<Instruction>,
    pub bytes: Vec<u8>,
    /// Where in the bytes the displacements of RIP-relative operands are.
    pub rip_displacements: Vec<usize>,
    pub end: End,
    /// General registers that the instructions use, a bit each in hardware numbering.
    pub registers: u16,
}

impl Decoded {
    /// The bytes of an instruction.
    pub fn bytes_of(&self, index: usize) -> &[u8] {
        &self.bytes[self.range_of(index..index + 1)]
    }

    /// Where in the bytes an instruction begins.
    fn offset_of(&self, index: usize) -> usize {
        (self.instrs[index].ip() - self.instrs[0].ip()) as usize
    }

    /// Where in the bytes the instructions are that come one behind the other from one to another, without that.
    pub fn range_of(&self, indices: Range<usize>) -> Range<usize> {
        let Some(last) = indices.clone().next_back() else { return 0..0 };
        self.offset_of(indices.start)..self.offset_of(last) + self.instrs[last].len()
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

    /// Does the block branch back to itself?
    pub fn is_loop(&self) -> bool {
        let (Some(first), Some(last)) = (self.instrs.first(), self.instrs.last()) else { return false };
        let into = |target: u64| (first.ip()..=last.ip()).contains(&target);
        match self.end {
            End::Branch { taken, .. } => into(taken),
            End::TwoBranches { first, taken, .. } => into(first) || into(taken),
            _ => false,
        }
    }

    /// Is the instruction a branch back to the block's beginning, with more of the block behind it?
    pub fn goes_round(&self, index: usize) -> bool {
        index < self.body_len() && self.instrs[index].flow_control() == FlowControl::ConditionalBranch
    }

    /// A loop of one block is run through several times in one, if that is not too long. How many times.
    pub fn unroll(&mut self) -> usize {
        let (Some(first), Some(last), End::Branch { taken, .. }) = (self.instrs.first(), self.instrs.last(), self.end)
        else {
            return 1;
        };
        if taken != first.ip() || !last.is_jcc_short_or_near() {
            return 1;
        }
        let times = (MAX_INSTRUCTIONS / self.instrs.len()).min(MOST_TIMES);
        self.instrs = self.instrs.repeat(times.max(1));
        times.max(1)
    }

    /// Leaves so many instructions, at least one; the rest is another block.
    pub fn truncate(&mut self, count: usize) {
        let Some(cut) = self.instrs.get(count).map(Instruction::ip) else { return };
        let length = (cut - self.instrs[0].ip()) as usize;
        self.instrs.truncate(count);
        self.bytes.truncate(length);
        self.rip_displacements.retain(|at| *at < length);
        self.end = self.instrs.last().and_then(end_of).unwrap_or(End::Next(cut));
    }

    /// The fixed address of the pointer to where the block leads.
    pub fn pointer_branched_through(&self) -> Option<u64> {
        let through = matches!(self.end, End::IndirectJump | End::IndirectCall { .. });
        let branch = self.instrs.last().filter(|instr| through && instr.is_ip_rel_memory_operand())?;
        Some(branch.memory_displacement64())
    }

    /// Does it set the rounding mode, or the like, of SSE or the x87?
    pub fn sets_rounding(&self) -> bool {
        let sets = |instr: &Instruction| {
            matches!(
                instr.mnemonic(),
                Mnemonic::Ldmxcsr | Mnemonic::Vldmxcsr | Mnemonic::Fldcw | Mnemonic::Fldenv | Mnemonic::Fninit
            )
        };
        self.instrs.iter().any(sets)
    }

    /// The call that ends the block.
    pub fn call(&self) -> Option<u64> {
        match self.end {
            End::Call { .. } | End::IndirectCall { .. } => self.instrs.last().map(|instr| instr.ip()),
            _ => None,
        }
    }
}

/// Where the instructions in these bytes begin.
pub fn instruction_starts(pc: u64, bytes: &[u8]) -> impl Iterator<Item = u64> {
    Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE).into_iter().map(|instr| instr.ip())
}

/// What a write to memory means to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    AreNothing,
    /// It may change the instructions that follow, which must be looked at again. (Writes to the stack do not.)
    EndBlocks,
}

/// Decodes the block at `pc` from the bytes that lie there.
pub fn decode(pc: u64, bytes: &[u8], mode: Mode, writes: Writes, infos: &mut InstructionInfoFactory) -> Decoded {
    let mut decoder = Decoder::with_ip(64, bytes, pc, DecoderOptions::NONE);
    let mut block = Decoded {
        instrs: Vec::with_capacity(USUAL_INSTRUCTIONS),
        bytes: Vec::new(),
        rip_displacements: Vec::new(),
        end: End::Next(pc),
        registers: 0,
    };
    let most = if mode == Mode::Quiet { MAX_QUIET_INSTRUCTIONS } else { MAX_INSTRUCTIONS };
    while block.instrs.len() < most {
        let at = decoder.ip();
        let instr = decoder.decode();
        if decoder.last_error() == DecoderError::NoMoreBytes && !block.instrs.is_empty() {
            break;
        }
        if instr.is_invalid() || !translatable(&instr) {
            block.end = End::Native(at);
            break;
        }
        let next = instr.next_ip();
        let end = match Mark::of(&instr).filter(|_| mode != Mode::Quiet) {
            Some(mark) => Some(End::Mark { mark, next }),
            None => end_of(&instr),
        };
        let traps = matches!(instr.flow_control(), FlowControl::Interrupt | FlowControl::Exception);
        if mode != Mode::Quiet {
            let used = block.registers | registers_used(&instr, infos);
            if used.count_ones() > MAX_REGISTERS && !block.instrs.is_empty() {
                break;
            }
            block.registers = used;
        }
        if instr.is_ip_rel_memory_operand() {
            let offset = decoder.get_constant_offsets(&instr).displacement_offset();
            block.rip_displacements.push((at - pc) as usize + offset);
        }
        block.instrs.push(instr);
        block.end = match (block.end, end) {
            (End::Branch { taken: first, .. }, Some(End::Branch { taken, next })) => {
                End::TwoBranches { first, taken, next }
            }
            (_, end) => end.unwrap_or(End::Next(next)),
        };
        if writes == Writes::EndBlocks && writes_memory(block.instrs.last().expect("just pushed"), infos) {
            break;
        }
        if traps || end.is_some() && !(mode == Mode::Logged && is_first_of_two(&block, bytes)) {
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
        // If the transaction is aborted it goes on at the target: by a system call, say, or when translated code asks.
        FlowControl::XbeginXabortXend if is_xbegin(instr) => {
            Some(End::Branch { taken: instr.near_branch_target(), next })
        }
        // Copies raise the guest's signal; nothing useful need follow.
        FlowControl::Interrupt | FlowControl::XbeginXabortXend | FlowControl::Exception => None,
    }
}

pub fn is_xbegin(instr: &Instruction) -> bool {
    matches!(instr.code(), Code::Xbegin_rel16 | Code::Xbegin_rel32)
}

/// Not those that make system calls in a way of their own, branch far, or read or write GS, which is ours.
fn translatable(instr: &Instruction) -> bool {
    let control = match instr.flow_control() {
        FlowControl::Next => true,
        FlowControl::Exception | FlowControl::XbeginXabortXend => instr.code() != Code::Xbegin_rel16,
        FlowControl::Interrupt => matches!(instr.code(), Code::Int3 | Code::Int1) || is_int3(instr),
        FlowControl::Return => matches!(instr.code(), Code::Retnq | Code::Retnq_imm16),
        FlowControl::IndirectBranch => instr.code() == Code::Jmp_rm64,
        FlowControl::IndirectCall => instr.code() == Code::Call_rm64,
        FlowControl::Call => matches!(instr.code(), Code::Syscall | Code::Call_rel32_64),
        FlowControl::UnconditionalBranch => matches!(instr.code(), Code::Jmp_rel8_64 | Code::Jmp_rel32_64),
        FlowControl::ConditionalBranch => instr.op_count() == 1 && instr.op0_kind() == OpKind::NearBranch64,
    };
    control && instr.segment_prefix() != Register::GS && !names_gs(instr)
}

/// Does the instruction read or write the GS selector or base itself?
fn names_gs(instr: &Instruction) -> bool {
    match instr.mnemonic() {
        Mnemonic::Rdgsbase | Mnemonic::Wrgsbase | Mnemonic::Lgs => true,
        Mnemonic::Mov | Mnemonic::Push | Mnemonic::Pop => {
            instr.op0_register() == Register::GS || instr.op1_register() == Register::GS
        }
        _ => false,
    }
}

/// The form of int3 with a number.
fn is_int3(instr: &Instruction) -> bool {
    instr.code() == Code::Int_imm8 && instr.immediate8() == 3
}

fn writes_memory(instr: &Instruction, infos: &mut InstructionInfoFactory) -> bool {
    let written =
        |access| !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
    infos.info(instr).used_memory().iter().any(|memory| written(memory.access()) && memory.base() != Register::RSP)
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
        decode(0x1000, bytes, Mode::Logged, Writes::AreNothing, &mut InstructionInfoFactory::new())
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
    fn traps_end_a_block_and_invalid_bytes_are_left_to_the_cpu() {
        assert_eq!(decoded(&[0x90, 0x0f, 0x0b, 0x90]).end, End::Next(0x1003));
        assert_eq!(decoded(&[0xcc, 0x90]).end, End::Next(0x1001));
        assert_eq!(decoded(&[0x06]).end, End::Native(0x1000));
        assert_eq!(decoded(&[0xcd, 0x80]).end, End::Native(0x1000));
    }

    #[test]
    fn a_transaction_begins_like_a_branch() {
        let block = decoded(&[0xc7, 0xf8, 0x10, 0, 0, 0, 0x90]);
        assert_eq!(block.end, End::Branch { taken: 0x1016, next: 0x1006 });
    }

    #[test]
    fn a_block_is_cut_where_the_bytes_end() {
        let block = decoded(&[0x90, 0x48]);
        assert_eq!((block.instrs.len(), block.end), (1, End::Next(0x1001)));
        assert_eq!(decoded(&[0x48]).end, End::Native(0x1000));
    }

    #[test]
    fn implicit_registers_count_as_used() {
        // cpuid writes rax, rcx, rdx, rbx.
        assert_eq!(decoded(&[0x0f, 0xa2]).registers, 0b1111);
    }
}
