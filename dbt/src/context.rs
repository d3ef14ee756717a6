//! The context: what a guest thread's emitted code and the supervisor share.
//!
//! The guest reaches it through GS, the supervisor through its own mapping of the arena. It holds what emitted code spills,
//! the cursor of the ring, and the request that the thread makes of the supervisor. Behind it, in the guest, lie the
//! tables that indirect branches look their targets up in: a mapping that all threads of a space share. At the end comes the ring.

use crate::arena::{Arena, Kind, Piece};
use crate::ring::{CHUNKS, ChunkState, Ring};
use crate::stubs::WATCHED;
use crate::tables::TABLES_BYTES;
use fpgrind_ir::MAX_OUT;
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Guest registers are numbered as the hardware does: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
#[repr(C)]
pub struct Context {
    /// The guest's vector registers while it waits. First, because they must be aligned: the guest may have alignment checked.
    pub xmm: [[u64; 2]; 16],
    /// A vector register that emitted code uses for a moment.
    pub vector: [u64; 8],
    /// The context's own address in the guest, for the futex.
    pub address: u64,
    /// Guest registers that emitted code uses for a moment.
    pub spill: [u64; 4],
    /// Where the next record goes, relative to GS.
    pub cursor: u64,
    /// The state of the chunk in which that is, relative to GS.
    pub chunk: u64,
    pub chunks: [ChunkState; CHUNKS],
    /// Minus the stack pointer whose return ends quiet mode. Adding rsp gives 0 there: a comparison without flags.
    pub quiet_end: u64,
    /// The code that runs when quiet mode ends.
    pub leave: u64,
    /// What is wanted of the arguments of the function that runs quietly when it returns: where it writes its results, or how much memory
    /// it was to hand out.
    pub out: [u64; MAX_OUT as usize],
    /// 1 while the guest waits for the supervisor; the futex of both.
    pub pending: AtomicU32,
    /// Not 0 while the guest, or the service, sleeps until the other wakes it by the futex. Each sets it before the kernel looks at
    /// `pending` once more, so a change of that is seen by one or the other.
    pub guest_sleeps: AtomicU32,
    pub service_sleeps: AtomicU32,
    /// What the guest does when the request is answered: 0 goes to `resume`, 1 makes a system call and asks again.
    pub action: u32,
    /// Not 0: the guest may make no system calls of ours, because it forbade itself some. It spins instead of waiting.
    pub restricted: u32,
    /// Not 0: the guest asks when it comes out of a system call, because the code that it would go on in was retired.
    pub ask_behind_syscall: u32,
    /// The exit that made the request, an index into the translator's exits, and what it adds to it.
    pub exit: u64,
    pub argument: u64,
    pub resume: u64,
    /// Number and arguments of a system call that the supervisor wants made; the result.
    pub syscall: [u64; 7],
    pub syscall_result: u64,
    /// What the call left in r11: the guest's flags.
    pub syscall_flags: u64,
    /// Memory that such a call may point to.
    pub scratch: [u64; 4],
    /// The guest's general registers while it waits.
    pub gpr: [u64; 16],
}

/// Offsets for emitted code, as GS-relative displacements.
pub mod at {
    use super::*;
    pub const ADDRESS: i32 = offset_of!(Context, address) as i32;
    pub const CURSOR: i32 = offset_of!(Context, cursor) as i32;
    pub const CHUNK: i32 = offset_of!(Context, chunk) as i32;
    pub const fn chunk(n: usize) -> i32 {
        (offset_of!(Context, chunks) + n * size_of::<ChunkState>()) as i32
    }
    pub const QUIET_END: i32 = offset_of!(Context, quiet_end) as i32;
    pub const LEAVE: i32 = offset_of!(Context, leave) as i32;
    pub const PENDING: i32 = offset_of!(Context, pending) as i32;
    pub const GUEST_SLEEPS: i32 = offset_of!(Context, guest_sleeps) as i32;
    pub const SERVICE_SLEEPS: i32 = offset_of!(Context, service_sleeps) as i32;
    pub const ACTION: i32 = offset_of!(Context, action) as i32;
    pub const RESTRICTED: i32 = offset_of!(Context, restricted) as i32;
    pub const ASK_BEHIND_SYSCALL: i32 = offset_of!(Context, ask_behind_syscall) as i32;
    pub const EXIT: i32 = offset_of!(Context, exit) as i32;
    pub const ARGUMENT: i32 = offset_of!(Context, argument) as i32;
    pub const RESUME: i32 = offset_of!(Context, resume) as i32;
    pub const SYSCALL_RESULT: i32 = offset_of!(Context, syscall_result) as i32;
    pub const SYSCALL_FLAGS: i32 = offset_of!(Context, syscall_flags) as i32;
    /// A byte for each system call by the low half of its number: not 0 if the supervisor is told before it is made.
    pub const WATCHED: i32 = 64 << 10;
    /// A byte for each 64 KiB behind the context: not 0 where the ring has no room.
    pub const FULL: i32 = 32 << 10;
    pub const SCRATCH: i32 = offset_of!(Context, scratch) as i32;
    pub const fn spill(n: usize) -> i32 {
        offset_of!(Context, spill) as i32 + 8 * n as i32
    }
    pub const fn out(n: usize) -> i32 {
        offset_of!(Context, out) as i32 + 8 * n as i32
    }
    pub const fn syscall(n: usize) -> i32 {
        offset_of!(Context, syscall) as i32 + 8 * n as i32
    }
    pub const fn gpr(n: usize) -> i32 {
        offset_of!(Context, gpr) as i32 + 8 * n as i32
    }
    pub const VECTOR: i32 = offset_of!(Context, vector) as i32;
    pub const fn xmm(n: usize) -> i32 {
        offset_of!(Context, xmm) as i32 + 16 * n as i32
    }
}

/// Code is translated for one of these modes. Only what is logged leaves records, but for those of outputs and of how is rounded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    /// Inside a wrapped function, or nothing is logged at all.
    Quiet,
    Logged,
    /// The user did not select this code; where it comes to code that is selected, that is logged.
    Skipped,
    /// The user wants nothing logged yet, or no more; which code comes does not matter.
    Outside,
}

impl Mode {
    pub const ALL: [Mode; 4] = [Mode::Quiet, Mode::Logged, Mode::Skipped, Mode::Outside];
}

/// Where the tables lie behind the context.
pub const TABLES_START: usize = at::WATCHED as usize + (64 << 10);
pub const TABLES_END: usize = TABLES_START + TABLES_BYTES;

const _: () = assert!(size_of::<Context>() <= at::FULL as usize);

const ANSWERED: u32 = 0;
const ASKED: u32 = 1;
const ENDED: u32 = 2;

/// The supervisor's view of a thread's context and ring.
pub struct ThreadMemory {
    piece: Arc<Piece>,
    pub ring: Ring,
}

impl ThreadMemory {
    pub fn new(arena: &Arc<Arena>) -> Option<ThreadMemory> {
        let piece = Arc::new(arena.piece(Kind::Thread)?);
        for number in WATCHED {
            piece.write(at::WATCHED as usize + number as usize, &[1]);
        }
        let memory = ThreadMemory { ring: Ring::new(piece.clone()), piece };
        memory.context().address = memory.address();
        Some(memory)
    }

    /// The address in the guest: its GS.
    pub fn address(&self) -> u64 {
        self.piece.address()
    }

    /// The guest writes to the context only while it runs, and the supervisor only while the guest waits on `pending`, or stands in a
    /// ptrace stop, or is not there yet, or no more. Whoever calls this knows that it is so, and drops the reference before it ends
    /// being so.
    #[allow(clippy::mut_from_ref)]
    pub fn context(&self) -> &mut Context {
        // SAFETY: the piece is mapped, large enough and aligned; see above for who else writes.
        unsafe { &mut *self.piece.pointer().cast() }
    }

    /// For what is read or written while the guest runs.
    pub fn context_pointer(&self) -> *mut Context {
        self.piece.pointer().cast()
    }

    fn pending(&self) -> &AtomicU32 {
        self.word(at::PENDING)
    }

    /// One of the context's words that both sides look at any time.
    fn word(&self, at: i32) -> &AtomicU32 {
        // SAFETY: the offset is that of an aligned word in the context; an atomic may be shared.
        unsafe { &*self.piece.pointer().add(at as usize).cast() }
    }

    /// The thread is gone: whoever waits for it, wakes.
    pub fn thread_ended(&self) {
        self.pending().store(ENDED, Ordering::SeqCst);
        self.futex(libc::FUTEX_WAKE, u32::MAX >> 1);
    }

    /// True when the guest asks, which it may do `soon`; false when it has ended. What is to be done `meanwhile` is done whenever the
    /// guest has filled a chunk.
    pub fn wait(&self, soon: bool, meanwhile: impl Fn()) -> bool {
        // Requests come in bursts; sleeping and being woken costs more than a short look.
        for _ in 0..if soon { 4000 } else { 0 } {
            match self.pending().load(Ordering::Acquire) {
                ASKED => return true,
                ENDED => return false,
                _ => std::hint::spin_loop(),
            }
        }
        loop {
            let sleeps = self.word(at::SERVICE_SLEEPS);
            match self.pending().load(Ordering::Acquire) {
                ASKED => return true,
                ENDED => return false,
                value => {
                    sleeps.store(1, Ordering::SeqCst);
                    meanwhile();
                    self.futex_for(value, self.is_restricted().then_some(RESTRICTED_LOOK));
                    sleeps.store(0, Ordering::SeqCst);
                }
            }
        }
    }

    /// Lets the guest go on. If it has ended meanwhile, that stays.
    pub fn answer(&self) {
        let _ = self.pending().compare_exchange(ASKED, ANSWERED, Ordering::SeqCst, Ordering::SeqCst);
        if self.word(at::GUEST_SLEEPS).load(Ordering::SeqCst) != 0 {
            self.futex(libc::FUTEX_WAKE, u32::MAX >> 1);
        }
    }

    fn is_restricted(&self) -> bool {
        // SAFETY: as in `context`; only the supervisor writes it.
        unsafe { (&raw const (*self.piece.pointer().cast::<Context>()).restricted).read_volatile() != 0 }
    }

    fn futex_for(&self, value: u32, nanoseconds: Option<i64>) {
        let timeout = libc::timespec { tv_sec: 0, tv_nsec: nanoseconds.unwrap_or(0) };
        let timeout = nanoseconds.map_or(std::ptr::null(), |_| &raw const timeout);
        // SAFETY: the futex is a live, aligned word; the timeout lives until the call returns.
        unsafe { libc::syscall(libc::SYS_futex, self.pending(), libc::FUTEX_WAIT, value, timeout) };
    }

    fn futex(&self, operation: i32, value: u32) {
        let no_timeout: *const libc::timespec = std::ptr::null();
        // SAFETY: the futex is a live, aligned word.
        unsafe { libc::syscall(libc::SYS_futex, self.pending(), operation, value, no_timeout) };
    }
}

/// How often the supervisor looks whether a guest asks that cannot wake it.
const RESTRICTED_LOOK: i64 = 50_000;
