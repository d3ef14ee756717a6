//! Code that every zone begins with: how the guest asks the supervisor, and how it makes system calls.
//!
//! Emitted code has no stack of its own and may not disturb the guest's flags, registers or red zone. So it spills to the
//! context through GS, branches on rcx with jrcxz, computes with lea and mov, and asks through a futex in the
//! context, because a signal the guest could block or catch (see docs/ARCHITECTURE.md).

use crate::asm::Asm;
use crate::context::{Mode, at};
use crate::exits::Exits;
use crate::ring::{END, NEXT, START};
use crate::tables::{Lookup, table};
use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

/// Addresses in the guest of a zone's common code.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stubs {
    /// Asks the supervisor; the exit's number is in the context, all registers are the guest's.
    pub request: u64,
    /// In it: from here on the request is made and the guest's registers are in the context.
    pub asked: u64,
    /// Makes the guest's system call and goes to the address in r11.
    pub syscall: u64,
    /// The address behind the `syscall` instruction in it.
    pub behind_syscall: u64,
    /// Behind the jump by which the guest goes on from there.
    pub syscall_left: u64,
    /// Where that code ends.
    pub syscall_end: u64,
    /// Goes on in the next chunk of the ring, at the address in the context where requests have theirs; guest rcx is spilled.
    pub next_chunk: u64,
    /// What the tables' empty slots lead to; the target is in rcx, guest rcx and rdx are spilled.
    jump_miss: [u64; Mode::ALL.len()],
    return_miss: [u64; Mode::ALL.len()],
    /// Where the guest begins. The first instruction there does nothing, so that it can be stepped over.
    pub start: u64,
    end: u64,
}

impl Stubs {
    /// Is the address in this common code?
    pub fn contains(&self, address: u64) -> bool {
        (self.request..self.end).contains(&address)
    }

    /// Is the address in a request that has been made? The guest's registers are then in the context.
    pub fn in_request(&self, address: u64) -> bool {
        (self.asked..self.syscall).contains(&address)
    }

    pub fn miss(&self, mode: Mode, lookup: Lookup) -> u64 {
        match lookup {
            Lookup::Jump => self.jump_miss[mode as usize],
            Lookup::Return => self.return_miss[mode as usize],
        }
    }
}

/// System calls that the supervisor hears of before they are made: those that change which code is where, make processes or
/// threads, return from signal handlers, set GS, restrict what calls may be made, tell or limit how much memory there is, or
/// show what was stored in the memory of files.
pub const WATCHED: [i64; 21] = [
    libc::SYS_mmap,
    libc::SYS_rt_sigreturn,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_brk,
    libc::SYS_mremap,
    libc::SYS_pkey_mprotect,
    libc::SYS_shmat,
    libc::SYS_clone,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_clone3,
    libc::SYS_arch_prctl,
    libc::SYS_prctl,
    libc::SYS_seccomp,
    libc::SYS_setrlimit,
    libc::SYS_getrlimit,
    libc::SYS_prlimit64,
    libc::SYS_mlockall,
    libc::SYS_msync,
    libc::SYS_exit_group,
];

/// What malloc asks mmap for, in rdx and r10: private memory to read and write, not at a fixed address. It changes no code, and is
/// too frequent to be told of. (The sum is that of nothing else, as long as the protection is below 8.)
const PLAIN_MEMORY: i32 = PROTECTION + 8 * FLAGS;
const PROTECTION: i32 = libc::PROT_READ | libc::PROT_WRITE;
const FLAGS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

const FUTEX_WAIT: i32 = libc::FUTEX_WAIT;
const FUTEX_WAKE: i32 = libc::FUTEX_WAKE;
const EVERYONE: i32 = i32::MAX;
/// Looks for an answer before the guest sleeps: some 100 us.
const SPINS: i32 = 4000;

/// The common code of a zone that begins at `start`.
pub fn assemble(start: u64) -> (Vec<u8>, Stubs) {
    let mut asm = Asm::new(start);
    let mut stubs = Stubs { request: start, ..Stubs::default() };
    stubs.asked = request(&mut asm);
    stubs.syscall = asm.here();
    (stubs.behind_syscall, stubs.syscall_left) = syscall(&mut asm, stubs.request);
    stubs.syscall_end = asm.here();
    stubs.next_chunk = asm.here();
    next_chunk(&mut asm, stubs.request);
    for mode in Mode::ALL {
        stubs.return_miss[mode as usize] = asm.here();
        // The return wrote this stub's address over the guest's return address before popping it.
        // A return to what is no call's return address finds it in the table of jumps.
        dynasm!(asm.ops
            ; .arch x64
            ; mov [rsp - 8], rcx
            ; movzx edx, cx
            ; gs jmp QWORD [rdx * 8 + table(mode, Lookup::Jump)]
        );
        stubs.jump_miss[mode as usize] = asm.here();
        dynasm!(asm.ops
            ; .arch x64
            ; gs mov [at::ARGUMENT], rcx
            ; gs mov rcx, [at::spill(0)]
            ; gs mov rdx, [at::spill(1)]
            ; gs mov QWORD [at::EXIT], Exits::miss(mode)
        );
        asm.jump(stubs.request);
    }
    stubs.start = asm.here();
    dynasm!(asm.ops; .arch x64; nop; gs mov QWORD [at::EXIT], Exits::START);
    asm.jump(stubs.request);
    stubs.end = asm.here();
    (asm.finish(), stubs)
}

fn request(asm: &mut Asm) -> u64 {
    for n in (0..16u8).filter(|n| *n != 4) {
        dynasm!(asm.ops; .arch x64; gs mov [at::gpr(n as usize)], Rq(n));
    }
    dynasm!(asm.ops; .arch x64; gs mov [at::gpr(4)], rsp);
    for n in 0..16u8 {
        dynasm!(asm.ops; .arch x64; gs movups [at::xmm(n as usize)], Rx(n));
    }
    dynasm!(asm.ops
        ; .arch x64
        ; ask:
        ; gs mov DWORD [at::PENDING], 1
    );
    let asked = asm.here();
    dynasm!(asm.ops
        ; .arch x64
        // A guest that may make no system calls of ours spins until the supervisor looks.
        ; gs mov ecx, [at::RESTRICTED]
        ; jrcxz >wake
        ; look:
        ; gs mov ecx, [at::PENDING]
        ; jrcxz >seen
        ; pause
        ; jmp <look
        ; seen:
        ; jmp >answered
        ; wake:
        // A service that does not sleep need not be woken. (It says so before it looks for the last time.)
        ; mfence
        ; gs mov ecx, [at::SERVICE_SLEEPS]
        ; jrcxz >look_for_answer
    );
    wake_service(asm);
    dynasm!(asm.ops
        ; .arch x64
        // Most answers come sooner than a sleeping thread is woken. Until there is room in the ring it takes longer.
        ; look_for_answer:
        ; gs mov rcx, [at::EXIT]
        ; lea rcx, [rcx - Exits::RING_FULL]
        ; jrcxz >wait
        ; mov r10d, SPINS
        ; spin:
        ; gs mov ecx, [at::PENDING]
        ; jrcxz >answered
        ; pause
        ; lea r10d, [r10 - 1]
        ; mov ecx, r10d
        ; jrcxz >wait
        ; jmp <spin
        ; wait:
        ; gs mov DWORD [at::GUEST_SLEEPS], 0
        ; gs mov ecx, [at::PENDING]
        ; jrcxz >answered
        ; gs mov DWORD [at::GUEST_SLEEPS], 1
        ; gs mov rdi, [at::ADDRESS]
        ; lea rdi, [rdi + at::PENDING]
        ; mov esi, FUTEX_WAIT
        ; mov edx, 1
        ; mov r10d, 0
        ; mov eax, libc::SYS_futex as i32
        ; syscall
        ; jmp <wait
        ; answered:
        ; gs mov ecx, [at::ACTION]
        ; jrcxz >resume
        ; gs mov rax, [at::syscall(0)]
        ; gs mov rdi, [at::syscall(1)]
        ; gs mov rsi, [at::syscall(2)]
        ; gs mov rdx, [at::syscall(3)]
        ; gs mov r10, [at::syscall(4)]
        ; gs mov r8, [at::syscall(5)]
        ; gs mov r9, [at::syscall(6)]
        ; syscall
        ; gs mov [at::SYSCALL_RESULT], rax
        ; gs mov [at::SYSCALL_FLAGS], r11
        ; jmp <ask
        ; resume:
    );
    for n in (0..16u8).filter(|n| *n != 4) {
        dynasm!(asm.ops; .arch x64; gs mov Rq(n), [at::gpr(n as usize)]);
    }
    dynasm!(asm.ops; .arch x64; gs jmp QWORD [at::RESUME]);
    asked
}

/// Clobbers rax, rcx, rdx, rsi, rdi and r11.
fn wake_service(asm: &mut Asm) {
    dynasm!(asm.ops
        ; .arch x64
        ; gs mov rdi, [at::ADDRESS]
        ; lea rdi, [rdi + at::PENDING]
        ; mov esi, FUTEX_WAKE
        ; mov edx, EVERYONE
        ; mov eax, libc::SYS_futex as i32
        ; syscall
    );
}

/// rcx and r11 are the call's to clobber, and so ours until it is made. The translation goes on at the address in r11, and
/// puts the guest's next pc into rcx, where the kernel left the stub's.
fn syscall(asm: &mut Asm, request: u64) -> (u64, u64) {
    dynasm!(asm.ops
        ; .arch x64
        ; gs mov [at::spill(0)], r11
        ; movzx ecx, ax
        ; gs movzx ecx, BYTE [rcx + at::WATCHED]
        ; jrcxz >make
        ; jmp >watched
        ; make:
        ; syscall
    );
    let behind = asm.here();
    dynasm!(asm.ops
        ; .arch x64
        ; gs mov ecx, [at::ASK_BEHIND_SYSCALL]
        ; jrcxz >go_on
        ; gs mov QWORD [at::EXIT], Exits::BEHIND_SYSCALL
    );
    asm.jump(request);
    dynasm!(asm.ops
        ; .arch x64
        ; go_on:
        ; gs jmp QWORD [at::spill(0)]
    );
    let left = asm.here();
    dynasm!(asm.ops
        ; .arch x64
        ; watched:
        ; lea ecx, [rax - libc::SYS_mmap as i32]
        ; jrcxz >mmap
        ; jmp >tell
        ; mmap:
        ; lea rcx, [rdx + r10 * 8 - PLAIN_MEMORY]
        ; jrcxz <make
        ; tell:
        // A first request tells the supervisor; it resumes the guest behind it, at `make`.
        ; gs mov [at::ARGUMENT], r11
        ; lea rcx, [<make]
        ; gs mov [at::RESUME], rcx
        ; gs mov QWORD [at::EXIT], Exits::SYSCALL
    );
    asm.jump(request);
    (behind, left)
}

/// The chunk is handed over by its end, which is written behind all that is in it. The supervisor finds it whenever it looks; it is woken
/// if it sleeps.
fn next_chunk(asm: &mut Asm, request: u64) {
    dynasm!(asm.ops
        ; .arch x64
        ; gs mov [at::spill(1)], rdx
        ; gs mov rdx, [at::CHUNK]
        ; gs mov rcx, [at::CURSOR]
        ; gs mov [rdx + END], rcx
        ; gs mov rdx, [rdx + NEXT]
        ; gs mov rcx, [rdx + END]
        ; jrcxz >free
        ; gs mov QWORD [at::EXIT], Exits::RING_FULL
        ; gs mov rcx, [at::spill(0)]
        ; gs mov rdx, [at::spill(1)]
    );
    asm.jump(request);
    dynasm!(asm.ops
        ; .arch x64
        ; free:
        ; gs mov [at::CHUNK], rdx
        ; gs mov rcx, [rdx + START]
        ; gs mov [at::CURSOR], rcx
        ; gs mov ecx, [at::SERVICE_SLEEPS]
        ; jrcxz >go_on
        ; gs mov ecx, [at::RESTRICTED]
        ; jrcxz >wake
        ; go_on:
        ; gs mov rcx, [at::spill(0)]
        ; gs mov rdx, [at::spill(1)]
        ; gs jmp QWORD [at::RESUME]
        ; wake:
        ; gs mov [at::gpr(0)], rax
        ; gs mov [at::gpr(6)], rsi
        ; gs mov [at::gpr(7)], rdi
        ; gs mov [at::gpr(11)], r11
    );
    wake_service(asm);
    dynasm!(asm.ops
        ; .arch x64
        ; gs mov rax, [at::gpr(0)]
        ; gs mov rsi, [at::gpr(6)]
        ; gs mov rdi, [at::gpr(7)]
        ; gs mov r11, [at::gpr(11)]
        ; jmp <go_on
    );
}
