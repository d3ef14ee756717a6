//! The arena: all memory that the guests and the supervisor share.
//!
//! It is one memfd, sparse and large, which the supervisor and every guest process map whole; a guest maps it at a fixed address.
//! Pieces of it are handed out: a thread's context and ring are used right where they lie in that window; the code cache's zones
//! and the tables of indirect branches are second mappings of pieces, made with mremap (old size 0 duplicates a shared mapping:
//! mremap(2)). So no descriptor stays open in a guest, and a forked child has everything mapped that it needs.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the window lies in the guest: far from where Linux puts programs, libraries, heaps and stacks, and where sanitisers'
/// shadow memory leaves a hole.
pub const WINDOW: u64 = 0x2a00_0000_0000;

const MIB: usize = 1 << 20;

/// What pieces are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A thread's context and ring.
    Thread,
    /// The tables of a space.
    Tables,
    /// A zone of a space's code cache.
    Zone,
}

const KINDS: [Kind; 3] = [Kind::Thread, Kind::Tables, Kind::Zone];

impl Kind {
    pub const fn bytes(self) -> usize {
        match self {
            Kind::Thread => 7 * MIB,
            Kind::Tables => 4 * MIB,
            Kind::Zone => 64 * MIB,
        }
    }
}

/// How many pieces of each kind there are, largest first: the smaller ones are for users whose address space is limited.
const LAYOUTS: [[usize; 3]; 3] = [[4096, 1024, 1024], [256, 64, 32], [24, 8, 4]];

pub struct Arena {
    file: OwnedFd,
    pointer: *mut u8,
    counts: [usize; 3],
    pools: Mutex<[Pool; 3]>,
}

#[derive(Default)]
struct Pool {
    used: usize,
    free: Vec<usize>,
}

// SAFETY: the pointer is to a mapping that lives as long as the value. Who may write where and when is a matter between supervisor
// and guest (see Context); pieces do not overlap.
unsafe impl Send for Arena {}
unsafe impl Sync for Arena {}

impl Arena {
    pub fn new() -> io::Result<Arc<Arena>> {
        let mut error = io::Error::from_raw_os_error(libc::ENOMEM);
        for counts in LAYOUTS {
            match Arena::with(counts) {
                Ok(arena) => return Ok(Arc::new(arena)),
                Err(failed) => error = failed,
            }
        }
        Err(error)
    }

    fn with(counts: [usize; 3]) -> io::Result<Arena> {
        let len = KINDS.into_iter().zip(counts).map(|(kind, count)| kind.bytes() * count).sum();
        // SAFETY: plain system calls; results are checked. Pages are only made when touched.
        unsafe {
            let fd = libc::memfd_create(c"fpgrind".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let file = OwnedFd::from_raw_fd(fd);
            if libc::ftruncate(fd, len as libc::off_t) != 0 {
                return Err(io::Error::last_os_error());
            }
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
            let pointer = libc::mmap(std::ptr::null_mut(), len, protection, flags, fd, 0);
            if pointer == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            Ok(Arena { file, pointer: pointer.cast(), counts, pools: Mutex::default() })
        }
    }

    pub fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    pub fn len(&self) -> usize {
        KINDS.into_iter().zip(self.counts).map(|(kind, count)| kind.bytes() * count).sum()
    }

    /// A piece, all zeros; nothing if there are no more.
    pub fn piece(self: &Arc<Arena>, kind: Kind) -> Option<Piece> {
        let mut pools = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let pool = &mut pools[kind as usize];
        let index = pool.free.pop().or_else(|| {
            let next = pool.used;
            pool.used += 1;
            (next < self.counts[kind as usize]).then_some(next)
        })?;
        let before: usize =
            KINDS.into_iter().zip(self.counts).take(kind as usize).map(|(kind, count)| kind.bytes() * count).sum();
        Some(Piece { arena: self.clone(), kind, index, offset: before + index * kind.bytes() })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `with`, not used after this.
        unsafe { libc::munmap(self.pointer.cast(), self.len()) };
    }
}

/// A part of the arena. Its memory is given back when it is dropped.
pub struct Piece {
    arena: Arc<Arena>,
    kind: Kind,
    index: usize,
    offset: usize,
}

impl Piece {
    /// Where the piece is seen through the window.
    pub fn address(&self) -> u64 {
        WINDOW + self.offset as u64
    }

    /// The system call that maps the piece a second time, at this address.
    pub fn map_at(&self, address: u64) -> [u64; 7] {
        let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as u64;
        [libc::SYS_mremap as u64, self.address(), 0, self.kind.bytes() as u64, flags, address, 0]
    }

    pub fn pointer(&self) -> *mut u8 {
        // SAFETY: within the mapping.
        unsafe { self.arena.pointer.add(self.offset) }
    }

    pub fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset.checked_add(bytes.len()).is_some_and(|end| end <= self.kind.bytes()));
        // SAFETY: within the piece, as just checked.
        unsafe { self.pointer().add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    /// Makes the pages of a part at once: faulting for each costs more. If it fails they are made when they are touched.
    pub fn populate(&self, offset: usize, len: usize) {
        let len = len.min(self.kind.bytes().saturating_sub(offset));
        // SAFETY: within the piece. The contents stay as they are.
        unsafe { libc::madvise(self.pointer().add(offset).cast(), len, libc::MADV_POPULATE_WRITE) };
    }

    /// One store, so that the guest sees the old value or the new.
    pub fn write_u64(&self, offset: usize, value: u64) {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.kind.bytes());
        // SAFETY: within the piece and aligned, as just checked.
        unsafe { self.pointer().add(offset).cast::<u64>().write_volatile(value) }
    }

    pub fn read_u64(&self, offset: usize) -> u64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.kind.bytes());
        // SAFETY: as above.
        unsafe { self.pointer().add(offset).cast::<u64>().read_volatile() }
    }

    /// Appends bytes of the piece to a buffer.
    pub fn read_into(&self, offset: usize, len: usize, buffer: &mut Vec<u8>) {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.kind.bytes()));
        buffer.reserve(len);
        // SAFETY: within the piece, as just checked, and within what was reserved. The guest may change the bytes meanwhile; whatever
        // is read is taken as data.
        unsafe {
            let end = buffer.as_mut_ptr().add(buffer.len());
            self.pointer().add(offset).copy_to_nonoverlapping(end, len);
            buffer.set_len(buffer.len() + len);
        }
    }

    /// Another piece of the same kind whose first `len` bytes are the same.
    pub fn copy(&self, len: usize) -> Option<Piece> {
        let copy = self.arena.piece(self.kind)?;
        assert!(len <= self.kind.bytes());
        // SAFETY: both pieces are that long, and they do not overlap.
        unsafe { copy.pointer().copy_from_nonoverlapping(self.pointer(), len) };
        Some(copy)
    }

    /// Gives the memory back; what is read afterwards is zeros.
    pub fn clear(&self) {
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        // SAFETY: the range is within our own file.
        unsafe {
            libc::fallocate(self.arena.fd(), mode, self.offset as libc::off_t, self.kind.bytes() as libc::off_t);
        }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.clear();
        let mut pools = self.arena.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools[self.kind as usize].free.push(self.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(piece: &Piece, len: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        piece.read_into(0, len, &mut bytes);
        bytes
    }

    #[test]
    fn pieces_are_apart_and_come_back_empty() {
        let arena = Arena::new().unwrap();
        let [a, b] = [Kind::Thread, Kind::Thread].map(|kind| arena.piece(kind).unwrap());
        a.write(0, b"some bytes");
        assert_eq!(read(&b, 4), [0; 4]);
        let copy = a.copy(10).unwrap();
        let address = a.address();
        drop(a);
        let again = arena.piece(Kind::Thread).unwrap();
        assert_eq!((again.address(), read(&again, 10)), (address, vec![0; 10]));
        assert_eq!(read(&copy, 10), b"some bytes");
    }

    #[test]
    fn a_kind_is_used_up_without_touching_another() {
        let arena = Arc::new(Arena::with([1, 1, 1]).unwrap());
        let pieces = KINDS.map(|kind| arena.piece(kind).unwrap());
        assert!(KINDS.iter().all(|kind| arena.piece(*kind).is_none()));
        assert_eq!(pieces[2].address() + Kind::Zone.bytes() as u64, WINDOW + arena.len() as u64);
    }
}
