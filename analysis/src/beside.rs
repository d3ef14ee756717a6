//! What only some nodes have, by their numbers: a page of it as soon as one of them has.

/// Nodes that share a page.
pub const PAGE: usize = 256;

pub struct Sparse<T> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
    /// What a new page is full of.
    empty: fn() -> T,
}

impl<T> Sparse<T> {
    pub fn new(empty: fn() -> T) -> Sparse<T> {
        Sparse { pages: Vec::new(), empty }
    }

    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&T> {
        let page = self.pages.get(index / PAGE)?.as_ref()?;
        Some(&page[index % PAGE])
    }

    #[inline(always)]
    pub fn get_or_make(&mut self, index: usize) -> &mut T {
        let page = index / PAGE;
        if !matches!(self.pages.get(page), Some(Some(_))) {
            self.make_page(page);
        }
        &mut self.pages[page].get_or_insert_with(|| unreachable!())[index % PAGE]
    }

    /// A node gets another number.
    pub fn move_to(&mut self, at: usize, to: usize) {
        let empty = (self.empty)();
        let moved = std::mem::replace(self.get_or_make(at), empty);
        *self.get_or_make(to) = moved;
    }

    #[cold]
    fn make_page(&mut self, page: usize) {
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        self.pages[page] = Some(Box::new(std::array::from_fn(|_| (self.empty)())));
    }

    /// Forgets what those from this number on have, if it is the first of a page.
    pub fn truncate(&mut self, count: usize) {
        self.pages.truncate(count.div_ceil(PAGE));
    }
}
