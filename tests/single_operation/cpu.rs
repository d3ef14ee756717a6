//! Runs one guest instruction on the real CPU, from a given state to the state after it.

use std::arch::global_asm;

/// What an instruction may read and write, besides memory.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct State {
    /// The halves of the ymm registers, the lower one first.
    pub vectors: [[u128; 2]; 16],
    /// In hardware order. rsp and r15 are the test's own.
    pub general: [u64; 16],
    /// Only what the instruction left; not what it found.
    pub flags: u64,
    code: u64,
    pub mxcsr: u32,
    host_mxcsr: u32,
}

impl State {
    pub fn new() -> State {
        State { vectors: [[0; 2]; 16], general: [0; 16], flags: 0, code: 0, mxcsr: 0x1f80, host_mxcsr: 0 }
    }
}

global_asm!(
    ".globl fpgrind_test_run_instruction",
    "fpgrind_test_run_instruction:",
    "push rbx; push rbp; push r12; push r13; push r14; push r15; sub rsp, 8",
    "mov r15, rdi",
    "stmxcsr [r15 + {host_mxcsr}]",
    "ldmxcsr [r15 + {mxcsr}]",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "vmovups ymm\\n, [r15 + 32 * \\n]",
    ".endr",
    "mov rax, [r15 + {general}]; mov rcx, [r15 + {general} + 8]; mov rdx, [r15 + {general} + 16]; mov rbx, [r15 + {general} + 24]",
    "mov rbp, [r15 + {general} + 40]; mov rsi, [r15 + {general} + 48]; mov rdi, [r15 + {general} + 56]",
    ".irp n, 8, 9, 10, 11, 12, 13, 14",
    "mov r\\n, [r15 + {general} + 8 * \\n]",
    ".endr",
    "call [r15 + {code}]",
    "mov [r15 + {general}], rax; mov [r15 + {general} + 8], rcx; mov [r15 + {general} + 16], rdx; mov [r15 + {general} + 24], rbx",
    "mov [r15 + {general} + 40], rbp; mov [r15 + {general} + 48], rsi; mov [r15 + {general} + 56], rdi",
    ".irp n, 8, 9, 10, 11, 12, 13, 14",
    "mov [r15 + {general} + 8 * \\n], r\\n",
    ".endr",
    "pushfq; pop rax; mov [r15 + {flags}], rax",
    ".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "vmovups [r15 + 32 * \\n], ymm\\n",
    ".endr",
    "vzeroupper",
    "stmxcsr [r15 + {mxcsr}]",
    "ldmxcsr [r15 + {host_mxcsr}]",
    // Instructions on MMX registers leave the x87 tags full.
    "emms",
    "add rsp, 8; pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx",
    "ret",
    general = const std::mem::offset_of!(State, general),
    host_mxcsr = const std::mem::offset_of!(State, host_mxcsr),
    mxcsr = const std::mem::offset_of!(State, mxcsr),
    flags = const std::mem::offset_of!(State, flags),
    code = const std::mem::offset_of!(State, code),
);

unsafe extern "C" {
    fn fpgrind_test_run_instruction(state: *mut State);
}

/// Bytes of the operand memory, which lies below 4 GiB so that it has a 32-bit absolute address too.
pub const MEMORY: usize = 4096;

/// A page to run code in, and one for memory operands.
pub struct Cpu {
    code: *mut u8,
    memory: *mut u8,
}

impl Cpu {
    pub fn new() -> Cpu {
        assert!(
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            "the instructions under test need a CPU with AVX2 and FMA"
        );
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

    /// Runs an instruction that writes no memory but the operand page, and neither rsp nor r15.
    pub fn run(&mut self, instruction: &[u8], before: &State) -> State {
        const RET: u8 = 0xc3;
        let mut state = before.clone();
        state.code = self.code as u64;
        // SAFETY: the page is writable and executable and holds an instruction of at most 15 bytes and a return. The
        // assembly saves what the ABI asks for; the instruction keeps to the registers and memory named above.
        unsafe {
            std::ptr::copy_nonoverlapping(instruction.as_ptr(), self.code, instruction.len());
            self.code.add(instruction.len()).write(RET);
            fpgrind_test_run_instruction(&mut state);
        }
        state
    }
}
