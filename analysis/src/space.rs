//! Room for as many things of a kind as there are likely to be, side by side: address space at first, which becomes memory where things are made, in
//! large pages if that is asked for. So nothing is moved when there are more. (With a page of the usual size for each thirty operations, and what
//! was there moved now and then, programs that touch much took a quarter longer.)

use libc::{
    MADV_DONTNEED, MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_FAILED, MAP_NORESERVE, MAP_PRIVATE, PROT_READ, PROT_WRITE,
};
use std::alloc::{Layout, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, null_mut};
use std::slice::{from_raw_parts, from_raw_parts_mut};

/// Nothing in it is ever dropped.
pub struct Space<T> {
    start: NonNull<T>,
    len: usize,
    room: usize,
    is_large: bool,
    /// What was mapped: it begins somewhere before the first large page.
    mapped: NonNull<u8>,
    bytes: usize,
}

/// Large pages begin at multiples of that.
const LARGE: usize = 1 << 21;

impl<T> Space<T> {
    /// For so many; with more it moves. In large pages, if nearly all of it is going to be used.
    pub fn new(room: usize, is_large: bool) -> Space<T> {
        const { assert!(size_of::<T>() > 0 && align_of::<T>() <= LARGE) };
        // Address space may be short, too (`ulimit -v`): then there is less, and it moves when there are more.
        let rooms = std::iter::successors(Some(room.max(1)), |room| (*room > 1).then_some(room / 2));
        let mapped = |room| map::<T>(room).map(|(start, bytes)| (room, start, bytes));
        let Some((room, mapped, bytes)) = { rooms }.find_map(mapped) else {
            handle_alloc_error(Layout::new::<T>());
        };
        // SAFETY: so much more was mapped than there is to be room for.
        let start = unsafe { mapped.add(mapped.align_offset(LARGE)) };
        if is_large {
            // SAFETY: that changes nothing but what pages there will be.
            unsafe { libc::madvise(start.as_ptr().cast(), bytes - LARGE, MADV_HUGEPAGE) };
        }
        Space { start: start.cast(), len: 0, room, is_large, mapped, bytes }
    }

    /// Makes more, until there are so many.
    #[inline]
    pub fn extend(&mut self, len: usize, mut with: impl FnMut() -> T) {
        if len > self.room {
            self.move_to_more(len);
        }
        for at in self.len..len {
            // SAFETY: there is room.
            unsafe { self.start.add(at).write(with()) };
        }
        self.len = self.len.max(len);
    }

    /// The same with what happens to be there: zeros, or what was made before and forgotten. It is not touched for that.
    ///
    /// # Safety
    /// All bits zero are a `T`.
    pub unsafe fn extend_as_it_is(&mut self, len: usize) {
        if len > self.room {
            self.move_to_more(len);
        }
        self.len = self.len.max(len);
    }

    #[cold]
    fn move_to_more(&mut self, room: usize) {
        let mut other = Space::new(room.max(2 * self.room), self.is_large);
        if other.room < room {
            handle_alloc_error(Layout::new::<T>());
        }
        // SAFETY: there is room for more than that, and they are not used where they were again.
        unsafe { other.start.copy_from_nonoverlapping(self.start, self.len) };
        other.len = self.len;
        *self = other;
    }

    /// Forgets those behind so many, and gives their memory back.
    pub fn truncate(&mut self, len: usize) {
        if len < self.len {
            let (from, end) = ((len * size_of::<T>()).next_multiple_of(LARGE), self.len * size_of::<T>());
            if from < end {
                // SAFETY: that is part of what was mapped, and nobody's any longer.
                unsafe { libc::madvise(self.start.as_ptr().byte_add(from).cast(), end - from, MADV_DONTNEED) };
            }
            self.len = len;
        }
    }
}

/// Address space for so many and a large page more, and how many bytes that is.
fn map<T>(room: usize) -> Option<(NonNull<u8>, usize)> {
    let bytes = room.checked_mul(size_of::<T>())?.checked_add(LARGE)?;
    let (protection, flags) = (PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    // SAFETY: new memory, wherever there is some.
    let start = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
    NonNull::new(start.cast::<u8>()).filter(|_| start != MAP_FAILED).map(|start| (start, bytes))
}

impl<T> Deref for Space<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: so many were made.
        unsafe { from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Space<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T> Drop for Space<T> {
    fn drop(&mut self) {
        // SAFETY: it was mapped so, and nobody has it any longer.
        unsafe { libc::munmap(self.mapped.as_ptr().cast(), self.bytes) };
    }
}
