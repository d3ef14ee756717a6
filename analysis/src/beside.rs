//! What only some nodes have, by their numbers: there is a page of it as soon as one of them has.

use crate::space::Space;
use std::mem::MaybeUninit;
use std::slice::from_raw_parts_mut;

/// Nodes that share a page.
pub const PAGE: usize = 64;

pub struct Sparse<T> {
    pages: Space<MaybeUninit<[T; PAGE]>>,
    /// Those of them that are there; and how many are before the first that is not, in nodes.
    are_there: Vec<bool>,
    whole: usize,
}

impl<T: Default> Sparse<T> {
    /// With room for those of so many nodes; in large pages, if nearly all have one.
    pub fn new(nodes: usize, have_all: bool) -> Sparse<T> {
        Sparse { pages: Space::new(nodes.div_ceil(PAGE), have_all), are_there: Vec::new(), whole: 0 }
    }

    #[inline(always)]
    pub fn get_or_make(&mut self, index: usize) -> &mut T {
        if index >= self.whole && !self.is_there(index) {
            self.make_page(index / PAGE);
        }
        // SAFETY: it is there.
        unsafe { &mut *self.first_mut().add(index) }
    }

    /// What all before this one have, and what it has itself; there are pages for all of them.
    #[inline(always)]
    pub fn before_and(&mut self, index: usize) -> (&[T], &mut T) {
        while index >= self.whole {
            self.make_page(self.whole / PAGE);
        }
        // SAFETY: so many are there.
        let all = unsafe { from_raw_parts_mut(self.first_mut(), self.whole) };
        let (before, rest) = all.split_at_mut(index);
        (before, &mut rest[0])
    }

    /// A node gets another number.
    pub fn move_to(&mut self, at: usize, to: usize) {
        let moved = std::mem::take(self.get_or_make(at));
        *self.get_or_make(to) = moved;
    }

    #[cold]
    fn make_page(&mut self, page: usize) {
        if self.pages.len() <= page {
            // SAFETY: any bits are what may be uninitialised.
            unsafe { self.pages.extend(page + 1) };
            self.are_there.resize(page + 1, false);
        }
        let first: *mut T = self.pages[page].as_mut_ptr().cast();
        for number in 0..PAGE {
            // SAFETY: so many there are in a page.
            unsafe { first.add(number).write(T::default()) };
        }
        self.are_there[page] = true;
        self.count_whole();
    }
}

impl<T> Sparse<T> {
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&T> {
        let is_there = index < self.whole || self.is_there(index);
        // SAFETY: as above.
        is_there.then(|| unsafe { &*self.pages.as_ptr().cast::<T>().add(index) })
    }

    #[inline(always)]
    fn first_mut(&mut self) -> *mut T {
        self.pages.as_mut_ptr().cast()
    }

    #[inline]
    fn is_there(&self, index: usize) -> bool {
        self.are_there.get(index / PAGE).is_some_and(|is_there| *is_there)
    }

    fn count_whole(&mut self) {
        let from = self.whole / PAGE;
        self.whole += PAGE * self.are_there[from..].iter().take_while(|is_there| **is_there).count();
    }

    /// Forgets what those from this number on have, if it is the first of a page.
    pub fn truncate(&mut self, count: usize) {
        let pages = count.div_ceil(PAGE);
        self.pages.truncate(pages);
        self.are_there.truncate(pages);
        self.whole = self.whole.min(PAGE * self.are_there.len());
    }
}
