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

    /// Makes more, until there are so many, of what happens to be there: zeros, or what was made before and forgotten. It is not touched for that.
    ///
    /// # Safety
    /// All bits zero are a `T`.
    #[inline]
    pub unsafe fn extend(&mut self, len: usize) {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes so many, numbered from a number on.
    fn extend(space: &mut Space<u64>, len: usize, number: u64) {
        let before = space.len();
        // SAFETY: they are numbers.
        unsafe { space.extend(len) };
        space[before..].iter_mut().zip(number..).for_each(|(made, number)| *made = number);
    }

    #[test]
    fn what_is_there_moves_when_there_is_no_more_room() {
        for is_large in [false, true] {
            let mut space = Space::new(1000, is_large);
            extend(&mut space, 1000, 0);
            let start = space.as_ptr();
            extend(&mut space, 1001, 1000);
            assert_ne!(space.as_ptr(), start);
            extend(&mut space, 1_000_000, 1001);
            assert!(space.iter().copied().eq(0..1_000_000));
            assert!(space.start.addr().get().is_multiple_of(LARGE));
        }
    }

    #[test]
    fn fewer_than_there_are_make_no_difference() {
        let mut space = Space::new(10, false);
        extend(&mut space, 5, 0);
        extend(&mut space, 3, 100);
        space.truncate(7);
        assert_eq!(*space, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn behind_where_it_was_cut_things_are_fresh() {
        let many = 3 * LARGE / size_of::<u64>();
        let mut space = Space::new(many, false);
        extend(&mut space, many, 0);
        space.truncate(10);
        assert_eq!(space.len(), 10);
        extend(&mut space, many, 1_000_000_000);
        assert!(space[..10].iter().copied().eq(0..10));
        assert!(space[10..].iter().copied().eq(1_000_000_000..1_000_000_000 + many as u64 - 10));
    }

    #[test]
    fn room_that_cannot_be_had_is_less_room() {
        let most = usize::MAX / 128;
        for room in [most, usize::MAX] {
            let mut space = Space::new(room, false);
            assert!(space.room < most);
            extend(&mut space, 1000, 0);
            assert!(space.iter().copied().eq(0..1000));
        }
    }

    #[test]
    fn no_room_at_all_is_room_for_one() {
        let mut space = Space::new(0, false);
        extend(&mut space, 3, 7);
        assert_eq!(*space, [7, 8, 9]);
    }
}
