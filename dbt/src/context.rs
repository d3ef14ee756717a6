//! The context: what a guest thread's emitted code and the supervisor share.
//!
//! The guest reaches it through GS, the supervisor through its own mapping of the arena. It holds what emitted code spills,
//! the cursor of the event ring, and the request that the thread makes of the supervisor. Behind it, in the guest, lie the
//! tables that indirect branches look their targets up in: a mapping that all threads of a space share. At the end comes the ring, in chunks.

use crate::arena::{Arena, Kind, Piece};
use crate::stubs::WATCHED;
use crate::tables::TABLES_BYTES;
use fpgrind_ir::MAX_RECORD;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

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
    /// Minus the stack pointer whose return ends quiet mode. Adding rsp gives 0 there: a comparison without flags.
    pub quiet_end: u64,
    /// The code that runs when quiet mode ends.
    pub leave: u64,
    /// The first arguments of the function that runs quietly, as far as they are wanted when it returns.
    pub out: [u64; 3],
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

/// Code is translated for one of two modes. What runs quietly leaves no records.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    Quiet,
    Logged,
}

/// Where the tables lie behind the context.
pub const TABLES_START: usize = at::WATCHED as usize + (64 << 10);
/// Behind the tables lie chunks of the ring, which the guest fills one after the other. Emitted code looks up whether there is room where
/// its cursor stands, in a table with a byte for each 64 KiB: not 0 in the last ones of a chunk, which are its slack.
const CHUNKS_START: usize = 4 << 20;
const CHUNK_BYTES: usize = 2 << 20;
const CHUNKS: usize = 6;
const GRAIN: usize = 1 << 16;
/// For the record that crosses the end: the largest of a block, or the largest that tells of an output.
const SLACK: usize = GRAIN;
pub const MAX_OUTPUT: usize = 48 << 10;

const _: () = assert!(size_of::<Context>() <= at::FULL as usize);
const _: () = assert!(TABLES_START + TABLES_BYTES <= CHUNKS_START && MAX_RECORD <= SLACK && MAX_OUTPUT <= SLACK);
const _: () = assert!(CHUNKS_START + CHUNKS * CHUNK_BYTES <= Kind::Thread.bytes());

fn start_of(chunk: usize) -> usize {
    CHUNKS_START + chunk * CHUNK_BYTES
}

const ANSWERED: u32 = 0;
const ASKED: u32 = 1;
const ENDED: u32 = 2;

/// The supervisor's view of a thread's context and ring.
pub struct ThreadMemory(Arc<Memory>);

struct Memory {
    piece: Piece,
    chunks: Mutex<Chunks>,
    freed: Condvar,
}

struct Chunks {
    /// The one that the guest fills.
    current: usize,
    free: Vec<usize>,
}

/// A chunk that the guest has filled. It will not write to it again (unless it writes to memory that it knows nothing of) before this
/// is dropped.
pub struct Chunk {
    memory: Arc<Memory>,
    number: usize,
    len: usize,
}

impl Chunk {
    /// For whoever does not look at what is in it, only at how much it is.
    pub fn in_place(&self) -> &[u8] {
        // SAFETY: the chunk lies within the piece, which lives as long as this, and all bytes are initialised. A guest that goes wild
        // could write to it, from outside of this program; then what is read is anything.
        unsafe { std::slice::from_raw_parts(self.memory.piece.pointer().add(start_of(self.number)), self.len) }
    }

    pub fn read_into(&self, buffer: &mut Vec<u8>) {
        self.memory.piece.read_into(start_of(self.number), self.len, buffer);
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.memory.chunks.lock().unwrap_or_else(PoisonError::into_inner).free.push(self.number);
        self.memory.freed.notify_all();
    }
}

impl ThreadMemory {
    pub fn new(arena: &Arc<Arena>) -> Option<ThreadMemory> {
        let piece = arena.piece(Kind::Thread)?;
        for number in WATCHED {
            piece.write(at::WATCHED as usize + number as usize, &[1]);
        }
        for chunk in 0..CHUNKS {
            let slack = start_of(chunk + 1) - SLACK;
            piece.write(at::FULL as usize + slack / GRAIN, &[1]);
        }
        let chunks = Mutex::new(Chunks { current: 0, free: (1..CHUNKS).rev().collect() });
        let memory = ThreadMemory(Arc::new(Memory { piece, chunks, freed: Condvar::new() }));
        memory.context().address = memory.address();
        memory.context().cursor = start_of(0) as u64;
        Some(memory)
    }

    /// The address in the guest: its GS.
    pub fn address(&self) -> u64 {
        self.0.piece.address()
    }

    /// The guest writes to the context only while it runs, and the supervisor only while the guest waits on `pending`, or stands in a
    /// ptrace stop, or is not there yet, or no more. Whoever calls this knows that it is so, and drops the reference before it ends
    /// being so.
    #[allow(clippy::mut_from_ref)]
    pub fn context(&self) -> &mut Context {
        // SAFETY: the piece is mapped, large enough and aligned; see above for who else writes.
        unsafe { &mut *self.0.piece.pointer().cast() }
    }

    /// For what is read or written while the guest runs.
    pub fn context_pointer(&self) -> *mut Context {
        self.0.piece.pointer().cast()
    }

    /// Where the guest's chunk begins, and how much of it is written. The cursor is in memory that the guest can write to.
    fn written(&self, chunks: &Chunks) -> (usize, usize) {
        let start = start_of(chunks.current);
        (start, self.context().cursor.wrapping_sub(start as u64).min(CHUNK_BYTES as u64) as usize)
    }

    /// Puts what was written to the ring since the last time into an empty buffer.
    pub fn take_records(&self, buffer: &mut Vec<u8>) {
        let (start, len) = self.written(&self.chunks());
        self.context().cursor = start as u64;
        self.0.piece.read_into(start, len, buffer);
    }

    /// Takes the chunk that the guest has filled; it gets another one. Waits for one if need be.
    pub fn take_chunk(&self) -> Chunk {
        let lock = self.chunks();
        let (_, len) = self.written(&lock);
        let none = |chunks: &mut Chunks| chunks.free.is_empty();
        let mut chunks = self.0.freed.wait_while(lock, none).unwrap_or_else(PoisonError::into_inner);
        let number = chunks.current;
        chunks.current = chunks.free.pop().expect("it was waited for");
        self.context().cursor = start_of(chunks.current) as u64;
        Chunk { memory: self.0.clone(), number, len }
    }

    fn chunks(&self) -> MutexGuard<'_, Chunks> {
        self.0.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a record as the guest would, while it waits.
    pub fn append_record(&self, record: &[u8]) {
        let (start, len) = self.written(&self.chunks());
        if len <= CHUNK_BYTES - SLACK && record.len() <= MAX_OUTPUT {
            self.0.piece.write(start + len, record);
            self.context().cursor += record.len() as u64;
        }
    }

    pub fn has_records(&self) -> bool {
        self.written(&self.chunks()).1 != 0
    }

    pub fn ring_is_full(&self) -> bool {
        self.written(&self.chunks()).1 >= CHUNK_BYTES - SLACK
    }

    fn pending(&self) -> &AtomicU32 {
        self.word(at::PENDING)
    }

    /// One of the context's words that both sides look at any time.
    fn word(&self, at: i32) -> &AtomicU32 {
        // SAFETY: the offset is that of an aligned word in the context; an atomic may be shared.
        unsafe { &*self.0.piece.pointer().add(at as usize).cast() }
    }

    /// The thread is gone: whoever waits for it, wakes.
    pub fn thread_ended(&self) {
        self.pending().store(ENDED, Ordering::SeqCst);
        self.futex(libc::FUTEX_WAKE, u32::MAX >> 1);
    }

    /// True when the guest asks, which it may do `soon`; false when it has ended.
    pub fn wait(&self, soon: bool) -> bool {
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
        unsafe { (&raw const (*self.0.piece.pointer().cast::<Context>()).restricted).read_volatile() != 0 }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_in_a_chunk_up_to_its_slack() {
        let memory = ThreadMemory::new(&Arena::new().unwrap()).unwrap();
        let full = |cursor: usize| {
            memory.0.piece.read_u64(at::FULL as usize + cursor / GRAIN / 8 * 8).to_le_bytes()[cursor / GRAIN % 8]
        };
        for chunk in 0..CHUNKS {
            let (start, end) = (start_of(chunk), start_of(chunk + 1));
            assert_eq!([start, end - SLACK - 1, end - SLACK, end - 1].map(full), [0, 0, 1, 1]);
        }
    }

    #[test]
    fn a_chunk_is_filled_again_when_it_was_dropped() {
        let memory = ThreadMemory::new(&Arena::new().unwrap()).unwrap();
        memory.append_record(&[1, 2, 3]);
        let first = memory.take_chunk();
        let mut bytes = Vec::new();
        first.read_into(&mut bytes);
        assert_eq!((bytes, memory.has_records()), (vec![1, 2, 3], false));
        let number = first.number;
        let others: Vec<_> = (2..CHUNKS).map(|_| memory.take_chunk()).collect();
        assert!(memory.chunks().free.is_empty() && others.iter().all(|chunk| chunk.number != number));
        drop(first);
        let _last = memory.take_chunk();
        assert_eq!(memory.chunks().current, number);
    }

    #[test]
    fn records_are_taken_once_and_a_wild_cursor_does_no_harm() {
        let memory = ThreadMemory::new(&Arena::new().unwrap()).unwrap();
        let taken = || {
            let mut buffer = Vec::new();
            memory.take_records(&mut buffer);
            buffer
        };
        memory.append_record(&[1, 2, 3]);
        assert_eq!(taken(), [1, 2, 3]);
        assert!(taken().is_empty());
        memory.context().cursor = u64::MAX;
        memory.append_record(&[1, 2, 3]);
        assert_eq!(taken().len(), CHUNK_BYTES);
    }
}
