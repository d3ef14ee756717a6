//! The code that every generated program has: it sets a state, jumps to a sequence, writes what came of it, and goes on with the
//! next. A handler notes what a signal's frame shows and ends the sequence.

// dynasm's own.
#![allow(clippy::useless_conversion)]

use super::layout::{CODES, CONTROL, FS_BASE, INPUT, PAGE, PAGES, Record, STATE_XSAVE, TABLE, control};
use super::machine::XsaveArea;
use super::program::IGNORED;
use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynasmApi, DynasmLabelApi, VecAssembler, dynasm};

pub struct Driver {
    pub code: Vec<u8>,
    /// Where sequences go when they end.
    pub save: u64,
}

const fn at(offset: i32) -> i32 {
    CONTROL as i32 + offset
}

const fn record(offset: usize) -> i32 {
    at(control::RECORD) + offset as i32
}

const SIGNALS: [i32; 5] = [libc::SIGSEGV, libc::SIGFPE, libc::SIGILL, libc::SIGBUS, libc::SIGTRAP];
const SA_RESTORER: i32 = 0x0400_0000;
const ARCH_SET_FS: i32 = 0x1002;
/// Registers in a signal frame's ucontext, the saved pc among them, the pointer to the XSAVE area behind them.
const CONTEXT_REGISTERS: i32 = 40;
const CONTEXT_RIP: i32 = CONTEXT_REGISTERS + 16 * 8;
const CONTEXT_FPSTATE: i32 = CONTEXT_REGISTERS + 23 * 8;
const INFO_CODE: i32 = 8;
const INFO_ADDRESS: i32 = 16;

/// A second signal in one sequence, or a write that did not write all.
const CONFUSED: i32 = 99;

/// How often a timer interrupts a program whose runs are repeated, in microseconds. Delivering a signal under a tracer takes some hundred on a
/// busy machine; a timer as fast as that would leave the program no time.
const TICK: i32 = if cfg!(debug_assertions) { 3000 } else { 1000 };

/// The driver, at the beginning of the code, for so many runs. If they are repeated, a timer interrupts them, and all repetitions must
/// leave the same: if one does not, that is what is written.
pub fn driver(runs: usize, repetitions: usize, area: &XsaveArea) -> Driver {
    let layout = Record::new(area);
    let code = CODES[0];
    let components = area.mask as i32;
    let mut ops = VecAssembler::<X64Relocation>::new(code as usize);
    let [save, run] = [ops.new_dynamic_label(), ops.new_dynamic_label()];
    dynasm!(ops
        ; .arch x64
        ; mov rsp, at(control::STACK_TOP)
        ; lea rax, [=>save]
        ; mov [at(control::SAVE)], rax
        ; lea rax, [>handler]
        ; mov [at(control::ACTION)], rax
        ; mov QWORD [at(control::ACTION + 8)], libc::SA_SIGINFO | libc::SA_ONSTACK | SA_RESTORER
        ; lea rax, [>restorer]
        ; mov [at(control::ACTION + 16)], rax
        ; mov QWORD [at(control::ALTERNATE)], at(control::HANDLER_STACK)
        ; mov QWORD [at(control::ALTERNATE + 16)], control::HANDLER_STACK_SIZE
        ; mov eax, libc::SYS_sigaltstack as i32
        ; mov edi, at(control::ALTERNATE)
        ; xor esi, esi
        ; syscall
    );
    for signal in SIGNALS {
        dynasm!(ops
            ; .arch x64
            ; mov eax, libc::SYS_rt_sigaction as i32
            ; mov edi, signal
            ; mov esi, at(control::ACTION)
            ; xor edx, edx
            ; mov r10d, 8
            ; syscall
        );
    }
    if repetitions > 1 {
        dynasm!(ops
            ; .arch x64
            ; lea rax, [>tick]
            ; mov [at(control::ACTION)], rax
            ; mov eax, libc::SYS_rt_sigaction as i32
            ; mov edi, libc::SIGALRM
            ; mov esi, at(control::ACTION)
            ; xor edx, edx
            ; mov r10d, 8
            ; syscall
            ; mov QWORD [at(control::TIMER + 8)], TICK
            ; mov QWORD [at(control::TIMER + 24)], TICK
            ; mov eax, libc::SYS_setitimer as i32
            ; mov edi, libc::ITIMER_REAL
            ; mov esi, at(control::TIMER)
            ; xor edx, edx
            ; syscall
        );
    }
    dynasm!(ops
        ; .arch x64
        ; next:
        ; mov rbx, [at(control::INDEX)]
        ; cmp rbx, runs as i32
        ; jne =>run
        ; xor edi, edi
        ; mov eax, libc::SYS_exit_group as i32
        ; syscall
        ; =>run
        ; mov rbx, [at(control::INDEX)]
        ; cld
        ; mov esi, INPUT as i32
    );
    for page in PAGES {
        dynasm!(ops; .arch x64; mov rdi, QWORD page as i64; mov ecx, PAGE as i32 / 8; rep movsq);
    }
    dynasm!(ops
        ; .arch x64
        ; xor eax, eax
        ; mov edi, record(0)
        ; mov ecx, layout.size() as i32 / 8
        ; rep stosq
        ; cmp QWORD [at(control::REPETITION)], 0
        ; jne >has_fs
        ; mov eax, libc::SYS_arch_prctl as i32
        ; mov edi, ARCH_SET_FS
        ; mov esi, FS_BASE as i32
        ; syscall
        ; has_fs:
        ; mov r14, rbx
        ; shl r14, 4
        ; mov rax, [r14 + TABLE as i32]
        ; mov [at(control::TARGET)], rax
        ; mov r15, [r14 + TABLE as i32 + 8]
        ; mov rsi, r15
        ; mov edi, at(control::REGISTERS)
        ; mov ecx, 17
        ; rep movsq
        ; mov eax, components
        ; xor edx, edx
        ; xrstor64 [r15 + STATE_XSAVE as i32]
        ; push QWORD [at(control::REGISTERS + 128)]
        ; popfq
    );
    for n in (0..16u8).filter(|n| *n != 4).chain([4]) {
        dynasm!(ops; .arch x64; mov Rq(n), [at(control::REGISTERS) + 8 * n as i32]);
    }
    dynasm!(ops; .arch x64; jmp QWORD [at(control::TARGET)]; =>save);
    let save_address = code + ops.offset().0 as u64;
    for n in 0..16u8 {
        dynasm!(ops; .arch x64; mov [record(Record::GENERAL) + 8 * n as i32], Rq(n));
    }
    dynasm!(ops
        ; .arch x64
        ; mov rsp, at(control::STACK_TOP)
        ; pushfq
        ; pop QWORD [record(Record::FLAGS)]
        ; push 2
        ; popfq
        ; mov eax, components
        ; xor edx, edx
        ; xsave64 [record(Record::XSAVE)]
    );
    for at in IGNORED.into_iter().flat_map(|range| range.step_by(2)) {
        dynasm!(ops; .arch x64; mov WORD [record(Record::XSAVE + at)], 0);
    }
    let pages = PAGES.map(|page| (page, PAGE));
    let written: Vec<(u64, usize)> = [(record(0) as u64, layout.size())].into_iter().chain(pages).collect();
    if repetitions > 1 {
        dynasm!(ops; .arch x64; cmp QWORD [at(control::REPETITION)], 0; mov edi, at(control::FIRST); jne >compare);
        for &(address, size) in &written {
            dynasm!(ops; .arch x64; mov rsi, QWORD address as i64; mov ecx, size as i32 / 8; rep movsq);
        }
        dynasm!(ops; .arch x64; jmp >repeat; compare:);
        for &(address, size) in &written {
            dynasm!(ops; .arch x64; mov rsi, QWORD address as i64; mov ecx, size as i32 / 8; repe cmpsq; jne >write);
        }
        dynasm!(ops
            ; .arch x64
            ; repeat:
            ; inc QWORD [at(control::REPETITION)]
            ; cmp QWORD [at(control::REPETITION)], repetitions as i32
            ; jne =>run
            ; write:
            ; mov QWORD [at(control::REPETITION)], 0
        );
    }
    for (n, (address, size)) in written.into_iter().enumerate() {
        let vector = at(control::VECTOR) + 16 * n as i32;
        dynasm!(ops
            ; .arch x64
            ; mov rax, QWORD address as i64
            ; mov [vector], rax
            ; mov QWORD [vector + 8], size as i32
        );
    }
    dynasm!(ops
        ; .arch x64
        ; mov eax, libc::SYS_writev as i32
        ; mov edi, 1
        ; mov esi, at(control::VECTOR)
        ; mov edx, 1 + PAGES.len() as i32
        ; syscall
        ; cmp rax, layout.written() as i32
        ; jne >confused
        ; inc QWORD [at(control::INDEX)]
        ; jmp <next
        ; confused:
        ; mov edi, CONFUSED
        ; mov eax, libc::SYS_exit_group as i32
        ; syscall

        ; handler:
        ; cmp QWORD [record(Record::SIGNAL)], 0
        ; jne <confused
        ; mov [record(Record::SIGNAL)], rdi
        ; movsxd rax, [rsi + INFO_CODE]
        ; mov [record(Record::CODE)], rax
        ; mov rax, [rsi + INFO_ADDRESS]
        ; mov [record(Record::ADDRESS)], rax
        ; mov r8, rdx
        ; lea rsi, [r8 + CONTEXT_REGISTERS]
        ; mov edi, record(Record::CONTEXT)
        ; mov ecx, Record::CONTEXT_SIZE as i32 / 8
        ; rep movsq
        ; mov rsi, [r8 + CONTEXT_FPSTATE]
        ; mov edi, record(layout.context_xsave())
        ; mov ecx, area.size as i32 / 8
        ; rep movsq
        ; lea rax, [=>save]
        ; mov [r8 + CONTEXT_RIP], rax
        ; ret
        // It is told where it interrupted the program, which must be the program's own code.
        ; tick:
        ; mov rax, [rdx + CONTEXT_RIP]
        ; mov rcx, QWORD -(CODES[0] as i64)
        ; add rcx, rax
        ; shr rcx, 24
        ; jz >own
        ; mov rcx, QWORD -(CODES[1] as i64)
        ; add rcx, rax
        ; shr rcx, 24
        ; jz >own
        ; mov [record(Record::ADDRESS)], rax
        ; own:
        ; ret
        ; restorer:
        ; mov eax, libc::SYS_rt_sigreturn as i32
        ; syscall
    );
    Driver { code: ops.finalize().expect("labels are defined where they are used"), save: save_address }
}
