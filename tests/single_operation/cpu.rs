//! Runs one guest instruction on the real CPU, from a given state to the state after it.

use fpgrind_ir::Place;
use std::arch::global_asm;
use std::mem::offset_of;

/// What an instruction may read and write, besides memory.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct State {
    /// The quarters of the zmm registers, the lowest one first. What the CPU has not of them stays as it is.
    pub vectors: [[u128; 4]; 32],
    pub masks: [u64; 8],
    pub fpu: Fpu,
    /// In hardware order. r15 is the test's own.
    pub general: [u64; 16],
    /// Of what the instruction finds only the arithmetic flags count.
    pub flags: u64,
    code: u64,
    landing: u64,
    host_rsp: u64,
    pub mxcsr: u32,
    host_mxcsr: u32,
}

/// The state of the x87 unit as fxsave64 writes it (Intel SDM volume 1, 10.5.1).
#[derive(Clone, Debug)]
#[repr(C, align(16))]
pub struct Fpu {
    pub control: u16,
    pub status: u16,
    /// A bit for each physical register that is not empty.
    pub tags: u8,
    reserved: u8,
    opcode: u16,
    pointers: [u64; 2],
    mxcsr: u32,
    mxcsr_mask: u32,
    /// From the top of the stack on; ten bytes each count.
    pub registers: [u128; 8],
    vectors: [u128; 16],
    rest: [u128; 6],
}

const CONTROL_DEFAULT: u16 = 0x37f;
const F80: u128 = (1 << 80) - 1;

impl Fpu {
    pub fn top(&self) -> u8 {
        (self.status >> 11 & 7) as u8
    }

    pub fn set_top(&mut self, top: u8) {
        self.status = self.status & !(7 << 11) | (top as u16 & 7) << 11;
    }

    pub fn is_empty(&self, index: u8) -> bool {
        self.tags >> ((self.top() + index) % 8) & 1 == 0
    }

    /// The bits of a register, whether or not it is empty.
    pub fn st(&self, index: u8) -> u128 {
        self.registers[index as usize % 8] & F80
    }

    /// A register by its number in hardware, which no push or pop changes.
    pub fn physical(&self, number: u8) -> u128 {
        self.st(number.wrapping_sub(self.top()) % 8)
    }
}

impl State {
    pub fn new() -> State {
        let fpu = Fpu {
            control: CONTROL_DEFAULT,
            status: 0,
            tags: 0,
            reserved: 0,
            opcode: 0,
            pointers: [0; 2],
            mxcsr: 0,
            mxcsr_mask: 0,
            registers: [0; 8],
            vectors: [0; 16],
            rest: [0; 6],
        };
        State {
            vectors: [[0; 4]; 32],
            masks: [0; 8],
            fpu,
            general: [0; 16],
            flags: 0,
            code: 0,
            landing: 0,
            host_rsp: 0,
            mxcsr: 0x1f80,
            host_mxcsr: 0,
        }
    }

    /// Sixteen bytes of a vector register from an offset on, with zeros behind its end.
    pub fn vector(&self, place: Place, number: u8) -> u128 {
        let quarters = &self.vectors[number as usize];
        let (quarter, shift) = (place.offset as usize / 16, 8 * (place.offset as u32 % 16));
        let above = quarters.get(quarter + 1).copied().unwrap_or(0);
        quarters[quarter] >> shift | above.checked_shl(128 - shift).unwrap_or(0)
    }

    /// What fxsave64 would write now.
    pub fn image(&self) -> [u8; 512] {
        let mut fpu = self.fpu.clone();
        fpu.mxcsr = self.mxcsr;
        fpu.vectors = std::array::from_fn(|number| self.vectors[number][0]);
        // SAFETY: both are 512 bytes without padding.
        unsafe { std::mem::transmute(fpu) }
    }
}

/// A routine that loads the state, runs the code and stores the state, with the instructions for this CPU's vectors.
macro_rules! routine {
    ($name:literal, $load:literal, $store:literal, $leave:literal) => {
        global_asm!(
            concat!(".globl ", $name),
            concat!($name, ":"),
            "push rbx; push rbp; push r12; push r13; push r14; push r15; sub rsp, 8",
            "mov r15, rdi",
            "mov [r15 + {host_rsp}], rsp",
            "stmxcsr [r15 + {host_mxcsr}]",
            "lea rax, [rip + 2f]; mov [r15 + {landing}], rax",
            // It loads MXCSR too, and the xmm registers, which are loaded again.
            "fxrstor64 [r15 + {fpu}]",
            $load,
            "push qword ptr [r15 + {flags}]; popfq",
            "mov rax, [r15 + {general}]; mov rcx, [r15 + {general} + 8]; mov rdx, [r15 + {general} + 16]",
            "mov rbx, [r15 + {general} + 24]; mov rsp, [r15 + {general} + 32]; mov rbp, [r15 + {general} + 40]",
            "mov rsi, [r15 + {general} + 48]; mov rdi, [r15 + {general} + 56]",
            ".irp n, 8, 9, 10, 11, 12, 13, 14",
            "mov r\\n, [r15 + {general} + 8 * \\n]",
            ".endr",
            "jmp [r15 + {code}]",
            "2:",
            "mov [r15 + {general}], rax; mov [r15 + {general} + 8], rcx; mov [r15 + {general} + 16], rdx",
            "mov [r15 + {general} + 24], rbx; mov [r15 + {general} + 32], rsp; mov [r15 + {general} + 40], rbp",
            "mov [r15 + {general} + 48], rsi; mov [r15 + {general} + 56], rdi",
            ".irp n, 8, 9, 10, 11, 12, 13, 14",
            "mov [r15 + {general} + 8 * \\n], r\\n",
            ".endr",
            "mov rsp, [r15 + {host_rsp}]",
            "pushfq; pop rax; mov [r15 + {flags}], rax; push 2; popfq",
            $store,
            "fxsave64 [r15 + {fpu}]",
            "fninit",
            $leave,
            "ldmxcsr [r15 + {host_mxcsr}]",
            "add rsp, 8; pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx",
            "ret",
            masks = const offset_of!(State, masks),
            fpu = const offset_of!(State, fpu),
            general = const offset_of!(State, general),
            host_rsp = const offset_of!(State, host_rsp),
            host_mxcsr = const offset_of!(State, host_mxcsr),
            flags = const offset_of!(State, flags),
            code = const offset_of!(State, code),
            landing = const offset_of!(State, landing),
        );
    };
}

routine!(
    "fpgrind_test_run_with_zmm",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
     vmovups zmm\\n, [r15 + 64 * \\n]
     .endr
     .irp n, 0, 1, 2, 3, 4, 5, 6, 7
     kmovq k\\n, [r15 + {masks} + 8 * \\n]
     .endr",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
     vmovups [r15 + 64 * \\n], zmm\\n
     .endr
     .irp n, 0, 1, 2, 3, 4, 5, 6, 7
     kmovq [r15 + {masks} + 8 * \\n], k\\n
     .endr",
    "vzeroupper"
);

routine!(
    "fpgrind_test_run_with_ymm",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
     vmovups ymm\\n, [r15 + 64 * \\n]
     .endr
     .set fpgrind_test_unused, {masks}",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
     vmovups [r15 + 64 * \\n], ymm\\n
     .endr",
    "vzeroupper"
);

routine!(
    "fpgrind_test_run_with_xmm",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
     movups xmm\\n, [r15 + 64 * \\n]
     .endr
     .set fpgrind_test_unused, {masks}",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
     movups [r15 + 64 * \\n], xmm\\n
     .endr",
    ""
);

type Routine = unsafe extern "C" fn(*mut State);

unsafe extern "C" {
    fn fpgrind_test_run_with_zmm(state: *mut State);
    fn fpgrind_test_run_with_ymm(state: *mut State);
    fn fpgrind_test_run_with_xmm(state: *mut State);
}

/// Bytes of the operand memory, which lies below 2 GiB so that it has a 32-bit absolute address too.
pub const MEMORY: usize = 4096;

/// A page to run code in, and one for memory operands.
pub struct Cpu {
    code: *mut u8,
    memory: *mut u8,
    routine: Routine,
}

impl Cpu {
    pub fn new() -> Cpu {
        let map = |protection, flags| {
            // SAFETY: a new anonymous mapping touches nothing that exists.
            let page = unsafe { libc::mmap(std::ptr::null_mut(), MEMORY, protection, flags, -1, 0) };
            assert_ne!(page, libc::MAP_FAILED, "mmap: {}", std::io::Error::last_os_error());
            page.cast::<u8>()
        };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        Cpu {
            code: map(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC, flags),
            memory: map(libc::PROT_READ | libc::PROT_WRITE, flags | libc::MAP_32BIT),
            routine: match () {
                _ if is_x86_feature_detected!("avx512bw") => fpgrind_test_run_with_zmm,
                _ if is_x86_feature_detected!("avx") => fpgrind_test_run_with_ymm,
                _ => fpgrind_test_run_with_xmm,
            },
        }
    }

    /// Where instructions must be encoded to run.
    pub fn code_address(&self) -> u64 {
        self.code as u64
    }

    pub fn memory_address(&self) -> u64 {
        self.memory as u64
    }

    pub fn memory(&mut self) -> &mut [u8; MEMORY] {
        // SAFETY: the page is ours alone, and lives as long as `self`.
        unsafe { &mut *self.memory.cast() }
    }

    /// Runs an instruction that goes on behind itself, writes no memory but the operand page, and not r15.
    pub fn run(&mut self, instruction: &[u8], before: &State) -> State {
        const ARITHMETIC_FLAGS: u64 = 0x8d5;
        let mut state = before.clone();
        state.code = self.code as u64;
        state.flags &= ARITHMETIC_FLAGS;
        state.fpu.mxcsr = state.mxcsr;
        // jmp [r15 + landing]
        let [a, b, c, d] = (offset_of!(State, landing) as u32).to_le_bytes();
        let back = [0x41, 0xff, 0xa7, a, b, c, d];
        // SAFETY: the page is writable and executable and holds an instruction of at most 15 bytes and a jump. The
        // assembly saves what the ABI asks for; the instruction keeps to the registers and memory named above.
        unsafe {
            std::ptr::copy_nonoverlapping(instruction.as_ptr(), self.code, instruction.len());
            std::ptr::copy_nonoverlapping(back.as_ptr(), self.code.add(instruction.len()), back.len());
            (self.routine)(&mut state);
        }
        state.mxcsr = state.fpu.mxcsr;
        state
    }
}

impl Drop for Cpu {
    fn drop(&mut self) {
        // SAFETY: the pages are ours alone, and nothing points to them any more.
        unsafe {
            libc::munmap(self.code.cast(), MEMORY);
            libc::munmap(self.memory.cast(), MEMORY);
        }
    }
}
