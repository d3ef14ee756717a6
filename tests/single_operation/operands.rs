//! What instructions under test run on: random states and memory, and such that make sense for instructions which fault on
//! most others.

use super::cpu::{Cpu, MEMORY, State};
use super::encode::{BASE, GATHERED_REACH, INDEX, INDEX_VALUE, OPERAND};
pub use super::random::Random;
use iced_x86::{
    Code, CpuidFeature, EncodingKind, Instruction, MemorySize, Mnemonic, OpCodeOperandKind as Kind, Register,
};

pub const NEAREST: u32 = 0x1f80;
/// Rounding down, up and to zero; flush-to-zero with denormals-are-zeros (Intel SDM volume 1, figure 10-3).
pub const MODES: [u32; 5] =
    [NEAREST, NEAREST | 1 << 13, NEAREST | 2 << 13, NEAREST | 3 << 13, NEAREST | 1 << 15 | 1 << 6];

/// The x87's control word with all exceptions masked, to nearest, 64 bits of precision.
pub const FPU_NEAREST: u16 = 0x37f;

/// Where rsp points to in the operand memory.
const STACK: usize = 2048;
/// Memory from its beginning on that has random contents.
const FILLED: usize = 1024;
/// What xsave and xrstor are asked for: x87, SSE, AVX, and AVX-512's registers. In the layout that is not compacted all of it ends
/// below 2,696 bytes (Intel SDM volume 1, 13.5).
const SAVED: u64 = 0b1110_0111;

/// Whether an encoding is one of the x87's. (`fisttp` came with SSE3, `femms` with 3DNow!.)
pub fn is_x87(code: Code) -> bool {
    let x87 = [CpuidFeature::FPU, CpuidFeature::FPU287, CpuidFeature::FPU387];
    code.cpuid_features().iter().any(|feature| x87.contains(feature)) || code.mnemonic() == Mnemonic::Fisttp
}

/// Makes a state and memory to run the instructions from. Under the modes given, or others if they are not the usual ones.
pub fn prepare(cpu: &mut Cpu, program: &[Instruction], random: &mut Random, mxcsr: u32) -> State {
    let wide = program.iter().any(|instr| instr.encoding() == EncodingKind::EVEX);
    let memory = cpu.memory_address();
    let mut state = random.state(memory, wide);
    state.mxcsr = mxcsr;
    random.fill(&mut cpu.memory()[..FILLED]);
    random.fill(&mut cpu.memory()[STACK - 64..STACK + 64]);
    if program.iter().any(|instr| is_x87(instr.code())) {
        random.fpu(&mut state, mxcsr == NEAREST);
    }
    if let [instr] = program {
        prepare_one(cpu, instr, &mut state, random);
    }
    state
}

fn prepare_one(cpu: &mut Cpu, instr: &Instruction, state: &mut State, random: &mut Random) {
    let kinds = instr.op_code().op_kinds();
    let memory = cpu.memory_address();
    if kinds.iter().any(|kind| matches!(kind, Kind::seg_rSI | Kind::es_rDI | Kind::seg_rDI)) {
        state.general[1] = random.below(8) as u64;
        state.general[6] = memory + 512;
        state.general[7] = memory + 256;
    }
    let index = instr.memory_index();
    if index.is_vector_register() {
        random.fill(&mut cpu.memory()[FILLED..STACK]);
        let wide = kinds.iter().any(|kind| matches!(kind, Kind::mem_vsib64x | Kind::mem_vsib64y | Kind::mem_vsib64z));
        state.vectors[index.number()] = random.indices(wide);
    }
    let mxcsr = MODES[random.below(MODES.len())];
    let operand: &mut [u8] = &mut cpu.memory()[OPERAND..];
    match (instr.mnemonic(), instr.memory_size()) {
        (Mnemonic::Ldmxcsr | Mnemonic::Vldmxcsr, _) => operand[..4].copy_from_slice(&mxcsr.to_le_bytes()),
        (Mnemonic::Fldcw, _) => operand[..2].copy_from_slice(&random.fpu_control().to_le_bytes()),
        (_, MemorySize::Float80) => random.extended_at(operand),
        (_, MemorySize::Bcd) => {
            operand[..9].fill_with(|| (random.below(10) << 4 | random.below(10)) as u8);
            operand[9] = (random.below(2) << 7) as u8;
        }
        // Control, status and tag word, pointers; then the registers (Intel SDM volume 1, figures 8-9 to 8-12).
        (Mnemonic::Fldenv | Mnemonic::Frstor, size) => {
            let wide = matches!(size, MemorySize::FpuEnv28 | MemorySize::FpuState108);
            let (word, registers) = if wide { (4, 28) } else { (2, 14) };
            operand[..registers].fill(0);
            operand[..2].copy_from_slice(&random.fpu_control().to_le_bytes());
            operand[word..word + 2].copy_from_slice(&((random.below(8) as u16) << 11).to_le_bytes());
            operand[2 * word..2 * word + 2].copy_from_slice(&(random.next() as u16).to_le_bytes());
            (0..8).for_each(|number| random.extended_at(&mut operand[registers + 10 * number..]));
        }
        (Mnemonic::Fxrstor | Mnemonic::Fxrstor64 | Mnemonic::Xrstor | Mnemonic::Xrstor64, _) => {
            // An image as fxsave and xsave write it: control words, MXCSR at 24, x87 registers at 32, vectors at 160, and the
            // xsave header at 512: which components are there (Intel SDM volume 1, 10.5.1 and 13.4).
            operand[..160].fill(0);
            operand[..2].copy_from_slice(&random.fpu_control().to_le_bytes());
            operand[2..4].copy_from_slice(&((random.below(8) as u16) << 11).to_le_bytes());
            operand[4] = random.next() as u8;
            operand[24..28].copy_from_slice(&mxcsr.to_le_bytes());
            (0..8).for_each(|number| random.extended_at(&mut operand[32 + 16 * number..]));
            operand[512..576].fill(0);
            operand[512] = random.next() as u8 & SAVED as u8 & enabled() as u8;
            random.fill(&mut operand[576..2752]);
            state.general[0] = SAVED;
            state.general[2] = 0;
        }
        (Mnemonic::Xsave | Mnemonic::Xsave64 | Mnemonic::Xsavec | Mnemonic::Xsavec64 | Mnemonic::Xsaveopt, _)
        | (Mnemonic::Xsaveopt64, _) => {
            operand[512..576].fill(0);
            state.general[0] = SAVED;
            state.general[2] = 0;
        }
        _ => {}
    }
    // An instruction on MMX registers puts the top of the x87's stack at 0: it is there already.
    if (0..instr.op_count()).any(|operand| instr.op_register(operand).is_mm()) {
        state.fpu.set_top(0);
    }
    debug_assert!(instr.memory_base() != Register::R15 && instr.memory_index() != Register::R15);
}

/// The components that the kernel has enabled.
fn enabled() -> u32 {
    if !is_x86_feature_detected!("xsave") {
        return 3;
    }
    let low: u32;
    // SAFETY: reads a register; with XSAVE there is XGETBV.
    unsafe { std::arch::asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") _, options(nomem, nostack)) };
    low
}

impl Random {
    /// Numbers for 16 bytes: those of `vector`, or halves, or such that sums and products lie halfway between two floats.
    fn quarter(&mut self) -> u128 {
        match self.below(8) {
            0 => (0..8).fold(0, |bits, _| bits << 16 | self.half() as u128),
            1 => (0..4).fold(0, |bits, _| bits << 32 | self.near_power(23, 127) as u128),
            2 => (0..2).fold(0, |bits, _| bits << 64 | self.near_power(52, 1023) as u128),
            _ => self.vector(),
        }
    }

    /// A power of two times one, plus or minus a bit far below, at distances where the sum or the product of two such is halfway.
    fn near_power(&mut self, fraction_bits: u64, bias: u64) -> u64 {
        let precision = fraction_bits + 1;
        let below = [0, 0, precision / 2, precision / 2 + 1, fraction_bits][self.below(5)];
        let fraction = if below == 0 { 0 } else { 1 << (fraction_bits - below) };
        let down = [0, 0, 0, 1, precision, precision + 1, 2 * precision][self.below(7)];
        let magnitude = (bias.saturating_sub(down) << fraction_bits | fraction).saturating_sub(self.below(2) as u64);
        let sign = (bias + 1).ilog2() as u64 + 1 + fraction_bits;
        magnitude | (self.below(2) as u64) << sign
    }

    /// IEEE's half precision; read as bfloat16 it is something too.
    fn half(&mut self) -> u16 {
        const SPECIAL: [u16; 14] =
            [0, 1 << 15, 1, 0x83ff, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0xfd00, 0x7800, 0xf800];
        match self.below(4) {
            0 => SPECIAL[self.below(SPECIAL.len())],
            1 => self.next() as u16,
            2 => self.near_power(10, 15) as u16,
            _ => self.next() as u16 & 0x83ff | (15 - 5 + self.below(10) as u16) << 10,
        }
    }

    /// A number of the x87's format: ordinary, special, halfway, or any bits.
    fn extended(&mut self) -> u128 {
        const SPECIAL: [(u16, u64); 14] = [
            (0, 0),
            (0x8000, 0),
            (0, 1),
            (0x8000, u64::MAX >> 1),
            (1, 1 << 63),
            (0x7ffe, u64::MAX),
            (0x7fff, 1 << 63),
            (0xffff, 1 << 63),
            (0x7fff, 3 << 62),
            (0xffff, 3 << 62 | 0xbeef),
            (0x7fff, 1 << 63 | 1), // signalling
            (0, 1 << 63 | 5),      // a pseudo-denormal
            (0x4000, 1 << 62),     // an unnormal: an invalid operand
            (0x7fff, 1),           // a pseudo-NaN: likewise
        ];
        let sign = (self.below(2) as u16) << 15;
        let (high, significand) = match self.below(8) {
            0 => SPECIAL[self.below(SPECIAL.len())],
            1 => (self.next() as u16, self.next() | 1 << 63),
            2 => {
                let below = [0, 0, 32, 33, 63][self.below(5)];
                let down = [0, 0, 0, 1, 64, 65, 128][self.below(7)];
                (sign | (16383 - down), 1 << 63 | if below == 0 { 0 } else { 1 << (63 - below) })
            }
            // As a double or a single came to be here.
            3 => (sign | (16383 + 20 - self.below(40) as u16), 1 << 63 | self.next() & !0x7ff),
            4 => (sign | (16383 + 20 - self.below(40) as u16), 1 << 63 | self.next() & !0xff_ffff_ffff),
            // Small integers.
            5 => (sign | (16383 + 9), 1 << 63 | (self.below(512) as u64) << 54),
            _ => (sign | (16383 + 40 - self.below(80) as u16), 1 << 63 | self.next()),
        };
        (high as u128) << 64 | significand as u128
    }

    fn extended_at(&mut self, memory: &mut [u8]) {
        memory[..10].copy_from_slice(&self.extended().to_le_bytes()[..10]);
    }

    /// All exceptions masked, any rounding and precision.
    fn fpu_control(&mut self) -> u16 {
        FPU_NEAREST & !0xf00 | [0, 2, 3][self.below(3)] << 8 | (self.below(4) as u16) << 10
    }

    /// The x87's registers: a stack of some depth, its top anywhere.
    fn fpu(&mut self, state: &mut State, nearest: bool) {
        let fpu = &mut state.fpu;
        fpu.control = if nearest { FPU_NEAREST } else { self.fpu_control() };
        // Condition bits and sticky exceptions.
        fpu.status = self.next() as u16 & 0x473f;
        let top = self.below(8) as u8;
        fpu.set_top(top);
        fpu.registers = std::array::from_fn(|_| self.extended());
        // Never full: a program that pushes then has a bug, and the frontend does not expect it.
        let depth = [4, 5, 6, 7, 7, 4, 6, 2, 3, 5][self.below(10)];
        fpu.tags = (0..depth).fold(0, |tags, index| tags | 1 << ((top + index) % 8));
    }

    /// Numbers of elements within reach of a gather.
    fn indices(&mut self, wide: bool) -> [u128; 4] {
        let (bits, lanes) = if wide { (64, 2) } else { (32, 4) };
        std::array::from_fn(|_| {
            (0..lanes).fold(0u128, |vector, _| {
                let index = self.below(2 * GATHERED_REACH - 1) as i64 - GATHERED_REACH as i64 + 1;
                vector << bits | (index as u64 & (u64::MAX >> (64 - bits))) as u128
            })
        })
    }

    fn mask(&mut self) -> u64 {
        match self.below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => 1 << self.below(8),
            _ => self.next(),
        }
    }

    /// All that an instruction may find in registers. What only EVEX reaches is there all the same, but cheaper.
    fn state(&mut self, memory: u64, wide: bool) -> State {
        let mut state = State::new();
        for (number, vector) in state.vectors.iter_mut().enumerate() {
            for (quarter, bits) in vector.iter_mut().enumerate() {
                let reached = wide || number < 16 && quarter < 2;
                *bits = if reached { self.quarter() } else { (self.next() as u128) << 32 };
            }
        }
        state.masks = std::array::from_fn(|_| self.mask());
        state.general = std::array::from_fn(|_| self.vector() as u64);
        state.general[BASE.1] = memory;
        state.general[INDEX.1] = INDEX_VALUE;
        state.general[4] = memory + STACK as u64;
        state.flags = self.next();
        state
    }

    fn fill(&mut self, memory: &mut [u8]) {
        debug_assert!(memory.len() <= MEMORY && memory.len().is_multiple_of(16));
        for piece in memory.chunks_exact_mut(16) {
            piece.copy_from_slice(&self.quarter().to_le_bytes());
        }
    }
}
