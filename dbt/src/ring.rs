//! The ring: where a guest thread writes its log, and how the log gets out of there.
//!
//! It is a circle of chunks. One that is full the guest hands over, by saying where its records end, and goes on in the next
//! if that is free, all without asking; whoever reads a chunk makes it free again. The chunks together are smaller than a core's
//! second-level cache: what a thread logs in a second would otherwise pass through memory, which takes longer than all the rest.

use crate::arena::{Kind, Piece};
use crate::context::{Context, at};
use fpgrind_ir::MAX_RECORD;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Where the chunks lie behind the context. Emitted code looks up whether there is room where its cursor stands, in a table with a
/// byte for each 64 KiB: not 0 in the last ones of a chunk, which are its slack.
const CHUNKS_START: usize = 5 << 20;
const CHUNK_BYTES: usize = ROOM + SLACK;
pub const CHUNKS: usize = 3;
const ROOM: usize = 512 << 10;
const GRAIN: usize = 1 << 16;
/// A guest that waits for a free chunk goes on when no more are out: whoever reads has one left to go on with, and to wake a guest takes both of them as long as
/// a thousand operations.
const FEW_OUT: usize = 1;
/// For the record that crosses the end: the largest of a block, or the largest that tells of an output.
const SLACK: usize = GRAIN;
pub const MAX_OUTPUT: usize = 48 << 10;

const _: () = assert!(crate::context::TABLES_END <= CHUNKS_START && MAX_RECORD <= SLACK && MAX_OUTPUT <= SLACK);
const _: () = assert!(CHUNKS_START + CHUNKS * CHUNK_BYTES <= Kind::Thread.bytes());

/// What guest and supervisor tell each other of a chunk. All are offsets from the context.
#[repr(C)]
pub struct ChunkState {
    /// Where its records end, if the guest has handed it over; 0 when it is free.
    end: AtomicU64,
    start: u64,
    /// The state of the chunk that comes after it.
    next: u64,
}

/// Offsets in a chunk's state, for emitted code.
pub const END: i32 = offset_of!(ChunkState, end) as i32;
pub const START: i32 = offset_of!(ChunkState, start) as i32;
pub const NEXT: i32 = offset_of!(ChunkState, next) as i32;

fn start_of(chunk: usize) -> usize {
    CHUNKS_START + chunk * CHUNK_BYTES
}

/// The supervisor's view of a thread's ring.
pub struct Ring(Arc<Shared>);

struct Shared {
    piece: Arc<Piece>,
    taken: Mutex<Taken>,
    freed: Condvar,
}

struct Taken {
    /// The chunk after the last that was taken: the one that the guest fills, or has filled.
    next: usize,
    /// Chunks that were taken and not given back.
    out: usize,
}

/// A chunk that the guest has filled. It will not write to it again (unless it writes to memory that it knows nothing of) before this
/// is dropped.
pub struct Chunk {
    ring: Arc<Shared>,
    number: usize,
    pub len: usize,
}

impl Chunk {
    pub fn read_into(&self, buffer: &mut Vec<u8>) {
        self.ring.piece.read_into(start_of(self.number), self.len, buffer);
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let mut taken = self.ring.lock();
        taken.out -= 1;
        self.ring.state(self.number).end.store(0, Ordering::Release);
        if taken.out <= FEW_OUT {
            self.ring.freed.notify_all();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn context(&self) -> *mut Context {
        self.piece.pointer().cast()
    }

    fn state(&self, chunk: usize) -> &ChunkState {
        // SAFETY: the context lies at the beginning of the piece. Both sides change only the atomic in a state.
        unsafe { &(&(*self.context()).chunks)[chunk] }
    }

    /// How much of a chunk is written if its records end there. Guests can write to the memory that this comes from.
    fn len(chunk: usize, end: u64) -> usize {
        end.wrapping_sub(start_of(chunk) as u64).min(CHUNK_BYTES as u64) as usize
    }
}

/// Cursor and current chunk are the guest's while it runs. What reads or writes them here is for when it waits, or is no more.
impl Ring {
    pub fn new(piece: Arc<Piece>) -> Ring {
        let ring =
            Ring(Arc::new(Shared { piece, taken: Mutex::new(Taken { next: 0, out: 0 }), freed: Condvar::new() }));
        for chunk in 0..CHUNKS {
            ring.0.piece.write(at::FULL as usize + (start_of(chunk) + ROOM) / GRAIN, &[1]);
            let state = ChunkState {
                end: AtomicU64::new(0),
                start: start_of(chunk) as u64,
                next: at::chunk((chunk + 1) % CHUNKS) as u64,
            };
            // SAFETY: the piece is new, and nobody else has seen it.
            unsafe { (&raw mut (*ring.0.context()).chunks[chunk]).write(state) };
        }
        ring.fill(0);
        ring
    }

    /// The guest is to go on at the beginning of this chunk.
    fn fill(&self, chunk: usize) {
        // SAFETY: the guest waits.
        unsafe {
            (&raw mut (*self.0.context()).chunk).write(at::chunk(chunk) as u64);
            (&raw mut (*self.0.context()).cursor).write(start_of(chunk) as u64);
        }
    }

    /// The next chunk that the guest has handed over.
    pub fn take(&self) -> Option<Chunk> {
        let mut taken = self.0.lock();
        let number = taken.next;
        // All of them may be out: then this one is, too.
        let end =
            Some(self.0.state(number).end.load(Ordering::Acquire)).filter(|end| *end != 0 && taken.out < CHUNKS)?;
        *taken = Taken { next: (number + 1) % CHUNKS, out: taken.out + 1 };
        Some(Chunk { ring: self.0.clone(), number, len: Shared::len(number, end) })
    }

    /// The guest has handed over its chunk, and the next was not free. All that it has filled are taken; it goes on when most are given back.
    pub fn make_room(&self) {
        let many_out = |taken: &mut Taken| taken.out > FEW_OUT;
        let taken = self.0.freed.wait_while(self.0.lock(), many_out).unwrap_or_else(PoisonError::into_inner);
        self.fill(taken.next);
    }

    /// The chunk that the guest fills, when all that it has filled are taken, and how much of it is written.
    fn rest(&self) -> (usize, usize) {
        let chunk = self.0.lock().next;
        // SAFETY: the guest waits.
        let cursor = unsafe { (&raw const (*self.0.context()).cursor).read() };
        (chunk, Shared::len(chunk, cursor))
    }

    /// Puts what is in the chunk that the guest fills into an empty buffer.
    pub fn take_rest(&self, buffer: &mut Vec<u8>) {
        let (chunk, len) = self.rest();
        self.0.piece.read_into(start_of(chunk), len, buffer);
        self.fill(chunk);
    }

    pub fn has_rest(&self) -> bool {
        self.rest().1 != 0
    }

    /// Writes a record as the guest would; false if there is no room for it.
    pub fn append(&self, record: &[u8]) -> bool {
        let (chunk, len) = self.rest();
        let fits = len < ROOM && record.len() <= MAX_OUTPUT;
        if fits {
            self.0.piece.write(start_of(chunk) + len, record);
            // SAFETY: the guest waits.
            unsafe { (&raw mut (*self.0.context()).cursor).write((start_of(chunk) + len + record.len()) as u64) };
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Arena;

    fn ring() -> Ring {
        Ring::new(Arc::new(Arena::new().unwrap().piece(Kind::Thread).unwrap()))
    }

    /// What the guest does when its chunk is full; false if there is no other.
    fn next_chunk(ring: &Ring) -> bool {
        // SAFETY: there is no guest.
        let context = unsafe { &mut *ring.0.context() };
        let number = |state: u64| (state as usize - at::chunk(0) as usize) / size_of::<ChunkState>();
        let current = number(context.chunk);
        context.chunks[current].end.store(context.cursor, Ordering::Release);
        let next = context.chunks[current].next;
        let free = context.chunks[number(next)].end.load(Ordering::Acquire) == 0;
        if free {
            (context.chunk, context.cursor) = (next, context.chunks[number(next)].start);
        }
        free
    }

    #[test]
    fn there_is_room_in_a_chunk_up_to_its_slack() {
        let ring = ring();
        let full = |cursor: usize| {
            ring.0.piece.read_u64(at::FULL as usize + cursor / GRAIN / 8 * 8).to_le_bytes()[cursor / GRAIN % 8]
        };
        for chunk in 0..CHUNKS {
            let (start, end) = (start_of(chunk), start_of(chunk + 1));
            assert_eq!([start, end - SLACK - 1, end - SLACK, end - 1].map(full), [0, 0, 1, 1]);
        }
    }

    #[test]
    fn chunks_are_taken_in_order_and_filled_again_when_they_are_dropped() {
        let ring = ring();
        assert!(ring.take().is_none());
        let mut chunks = Vec::new();
        for number in 0..CHUNKS {
            assert!(ring.append(&[number as u8, 2, 3]));
            // After the last comes the first, which is still out.
            assert_eq!(next_chunk(&ring), number + 1 < CHUNKS);
            let chunk = ring.take().expect("one was handed over");
            let mut bytes = Vec::new();
            chunk.read_into(&mut bytes);
            assert_eq!((chunk.number, bytes), (number, vec![number as u8, 2, 3]));
            assert!(ring.take().is_none());
            chunks.push(chunk);
        }
        let reader = std::thread::spawn(move || drop(chunks));
        ring.make_room();
        assert!(!ring.has_rest() && ring.rest().0 == 0);
        reader.join().unwrap();
        assert!(ring.take().is_none());
    }

    #[test]
    fn the_rest_is_taken_once_and_a_wild_cursor_does_no_harm() {
        let ring = ring();
        let taken = || {
            let mut buffer = Vec::new();
            ring.take_rest(&mut buffer);
            buffer
        };
        assert!(ring.append(&[1, 2, 3]));
        assert_eq!(taken(), [1, 2, 3]);
        assert!(taken().is_empty());
        // SAFETY: there is no guest.
        unsafe { (*ring.0.context()).cursor = u64::MAX };
        assert!(!ring.append(&[1, 2, 3]));
        assert_eq!(taken().len(), CHUNK_BYTES);
        assert!(!ring.append(&[0; MAX_OUTPUT + 1]));
    }
}
