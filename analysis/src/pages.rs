//! Pages of slots, by number, and how many of them there may be.

use crate::shadow::Part;
use fpgrind_ir::GRANULE;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

pub const SLOTS: usize = 1024;
pub const PAGE: u64 = (SLOTS * GRANULE) as u64;

/// How many pages there are in all memories together. Beyond the most that there may be new shadows are not kept: the bits still are right.
#[derive(Clone)]
pub struct Pages {
    pub count: Rc<Cell<usize>>,
    refused: Rc<Cell<u64>>,
    pub most: usize,
}

impl Pages {
    /// In so many bytes.
    pub fn new(bytes: usize) -> Pages {
        Pages { count: Rc::default(), refused: Rc::default(), most: (bytes / size_of::<Page>()).max(1) }
    }

    /// How often there was no room.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    fn is_full(&self) -> bool {
        let is_full = self.count.get() >= self.most;
        self.refused.update(|refused| refused + is_full as u64);
        is_full
    }
}

pub struct Page {
    pub parts: [Part; SLOTS],
    /// Where in its four bytes a slot's float begins.
    pub offsets: [u8; SLOTS],
    pub occupied: usize,
    /// Some float may begin between slots.
    pub has_offsets: bool,
    pages: Pages,
}

impl Page {
    fn new(pages: &Pages) -> Rc<Page> {
        pages.count.update(|count| count + 1);
        let pages = pages.clone();
        Rc::new(Page { parts: [Part::None; SLOTS], offsets: [0; SLOTS], occupied: 0, has_offsets: false, pages })
    }

    #[inline(always)]
    pub fn set(&mut self, slot: usize, offset: u8, part: Part) {
        self.occupied += !part.is_none() as usize;
        self.occupied -= !self.parts[slot].is_none() as usize;
        self.parts[slot] = part;
        self.offsets[slot] = offset;
        self.has_offsets |= offset != 0;
    }

    pub fn holds_any(&self, slots: Range<usize>) -> bool {
        self.occupied > 0 && self.parts[slots].iter().any(|part| !part.is_none())
    }
}

impl Clone for Page {
    fn clone(&self) -> Page {
        self.pages.count.update(|count| count + 1);
        Page { pages: self.pages.clone(), ..*self }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.pages.count.update(|count| count - 1);
    }
}

/// The pages of an address space. A copy shares the original's until one of the two writes to them.
#[derive(Clone)]
pub struct Directory {
    places: FxHashMap<u64, usize>,
    pages: Vec<Option<Rc<Page>>>,
    free: Vec<usize>,
    /// What was looked up last: programs come back to a few pages again and again.
    recent: [Cell<(u64, Option<usize>)>; RECENT],
    all: Pages,
}

const RECENT: usize = 64;
/// No address has this page.
const NOBODY: u64 = u64::MAX;

impl Directory {
    pub fn new(all: &Pages) -> Directory {
        Directory {
            places: FxHashMap::default(),
            pages: Vec::new(),
            free: Vec::new(),
            recent: [const { Cell::new((NOBODY, None)) }; RECENT],
            all: all.clone(),
        }
    }

    #[inline(always)]
    fn place(&self, number: u64) -> Option<usize> {
        let recent = &self.recent[number as usize % RECENT];
        let (last, place) = recent.get();
        if last == number {
            return place;
        }
        let place = self.look_up(number);
        recent.set((number, place));
        place
    }

    #[inline(never)]
    fn look_up(&self, number: u64) -> Option<usize> {
        self.places.get(&number).copied()
    }

    #[inline(always)]
    pub fn get(&self, number: u64) -> Option<&Page> {
        self.pages.get(self.place(number)?)?.as_deref()
    }

    /// The page to put shadows into: none if there are too many.
    #[inline(always)]
    pub fn get_or_make(&mut self, number: u64) -> Option<&mut Page> {
        match self.place(number) {
            Some(_) => self.get_mut(number),
            None => self.make(number),
        }
    }

    fn make(&mut self, number: u64) -> Option<&mut Page> {
        if self.all.is_full() {
            return None;
        }
        let place = self.free.pop().unwrap_or(self.pages.len());
        if place == self.pages.len() {
            self.pages.push(None);
        }
        self.places.insert(number, place);
        self.recent[number as usize % RECENT].set((number, Some(place)));
        Rc::get_mut(self.pages[place].insert(Page::new(&self.all)))
    }

    /// A page to write to, if that is needed.
    #[inline(always)]
    pub fn get_mut_if(&mut self, number: u64, is_needed: impl Fn(&Page) -> bool) -> Option<&mut Page> {
        if is_needed(self.get(number)?) { self.get_mut(number) } else { None }
    }

    /// A page to write to, copied if it is shared. If there is no room for a copy, it goes: shadows may be lost, never wrong.
    #[inline(always)]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Page> {
        let place = self.place(number)?;
        if Rc::get_mut(self.pages[place].as_mut()?).is_none() {
            self.unshare(number, place);
        }
        Rc::get_mut(self.pages[place].as_mut()?)
    }

    #[cold]
    fn unshare(&mut self, number: u64, place: usize) {
        if self.all.is_full() {
            self.pages[place] = None;
            self.places.remove(&number);
            self.free.push(place);
            self.recent[number as usize % RECENT].set((number, None));
        } else if let Some(page) = &mut self.pages[place] {
            Rc::make_mut(page);
        }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &Page)> {
        self.places.iter().filter_map(|(number, place)| Some((*number, self.pages[*place].as_deref()?)))
    }
}
