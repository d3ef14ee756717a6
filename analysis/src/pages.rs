//! Pages of slots, by number, and how many of them there may be.

use crate::shadow::Part;
use fpgrind_ir::GRANULE;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::ops::Range;
use std::ptr::null_mut;
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

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Slots {
    pub parts: [Part; SLOTS],
    /// Where in its four bytes a slot's float begins.
    pub offsets: [u8; SLOTS],
    /// Something was put here.
    pub is_used: bool,
    /// Some float may begin between slots.
    pub has_offsets: bool,
}

impl Slots {
    const EMPTY: Slots = Slots { parts: [Part::None; SLOTS], offsets: [0; SLOTS], is_used: false, has_offsets: false };

    #[inline(always)]
    pub fn set(&mut self, slot: usize, offset: u8, part: Part) {
        self.is_used |= !part.is_none();
        self.parts[slot] = part;
        self.offsets[slot] = offset;
        self.has_offsets |= offset != 0;
    }

    pub fn holds_any(&self, slots: Range<usize>) -> bool {
        self.is_used && self.parts[slots].iter().any(|part| !part.is_none())
    }
}

/// What is known of a page that does not exist.
static NOTHING: Slots = Slots::EMPTY;

struct Page {
    slots: Slots,
    pages: Pages,
}

impl Page {
    fn new(pages: &Pages) -> Rc<Page> {
        pages.count.update(|count| count + 1);
        Rc::new(Page { slots: Slots::EMPTY, pages: pages.clone() })
    }
}

impl Clone for Page {
    fn clone(&self) -> Page {
        self.pages.count.update(|count| count + 1);
        Page { slots: self.slots, pages: self.pages.clone() }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.pages.count.update(|count| count - 1);
    }
}

/// What has become of pages that several address spaces share.
#[derive(Default)]
pub struct Shared(FxHashMap<*const Page, (Rc<Page>, Rc<Page>)>);

/// The pages of an address space.
pub struct Directory {
    places: FxHashMap<u64, usize>,
    pages: Vec<Option<Rc<Page>>>,
    free: Vec<usize>,
    /// What was looked up last: programs come back to a few pages again and again.
    recent: [Cell<Recent>; RECENT],
    all: Pages,
}

pub const RECENT: usize = 256;
/// No address has this page.
const NOBODY: u64 = u64::MAX;

/// Where a page is.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Recent {
    number: u64,
    place: Option<u32>,
    /// Its slots; others, with nothing in them, if it does not exist.
    readable: *const Slots,
    /// Null if it does not exist, or is shared with another address space.
    pub writable: *mut Slots,
    /// For compiled code: the number again, if no float in it begins between slots, and it may be read, or written to.
    pub to_read: u64,
    pub to_write: u64,
    /// And where the part of the address zero would be.
    pub parts: usize,
}

impl Recent {
    const NOBODY: Recent = Recent {
        number: NOBODY,
        place: None,
        readable: &NOTHING,
        writable: null_mut(),
        to_read: NOBODY,
        to_write: NOBODY,
        parts: 0,
    };

    /// What compiled code wants to know.
    fn with_parts(mut self) -> Recent {
        // SAFETY: it points to slots.
        let has_offsets = unsafe { (*self.readable).has_offsets };
        self.to_read = if has_offsets { NOBODY } else { self.number };
        self.to_write = if self.writable.is_null() { NOBODY } else { self.to_read };
        let before = self.number.wrapping_mul(SLOTS as u64) as usize;
        self.parts = self.readable.addr().wrapping_sub(before.wrapping_mul(size_of::<Part>()));
        self
    }
}

const _: () = assert!(std::mem::offset_of!(Slots, parts) == 0);

/// A copy shares the original's pages until one of the two writes to them.
impl Clone for Directory {
    fn clone(&self) -> Directory {
        self.recent.iter().for_each(|recent| recent.set(Recent::NOBODY));
        Directory {
            places: self.places.clone(),
            pages: self.pages.clone(),
            free: self.free.clone(),
            recent: self.recent.clone(),
            all: self.all.clone(),
        }
    }
}

impl Directory {
    pub fn new(all: &Pages) -> Directory {
        Directory {
            places: FxHashMap::default(),
            pages: Vec::new(),
            free: Vec::new(),
            recent: [const { Cell::new(Recent::NOBODY) }; RECENT],
            all: all.clone(),
        }
    }

    /// What was looked up last, at its number modulo [`RECENT`].
    pub fn recent(&self) -> *const Recent {
        self.recent.as_ptr().cast()
    }

    #[inline(always)]
    fn place(&self, number: u64) -> Option<usize> {
        let recent = self.recent[number as usize % RECENT].get();
        let recent = if recent.number == number { recent } else { self.look_up(number) };
        recent.place.map(|place| place as usize)
    }

    #[inline(never)]
    fn look_up(&self, number: u64) -> Recent {
        let mut recent = Recent { number, ..Recent::NOBODY };
        if let Some(place) = self.places.get(&number)
            && let Some(page) = &self.pages[*place]
        {
            let slots = (&raw const page.slots).cast_mut();
            let writable = if Rc::strong_count(page) == 1 { slots } else { null_mut() };
            recent = Recent { place: Some(*place as u32), readable: slots, writable, ..recent };
        }
        let recent = recent.with_parts();
        self.recent[number as usize % RECENT].set(recent);
        recent
    }

    /// Floats that begin between slots have been put into a page.
    pub fn has_got_offsets(&mut self, number: u64) {
        self.look_up(number);
    }

    #[inline(always)]
    pub fn get(&self, number: u64) -> Option<&Slots> {
        // Field by field: as a whole it is copied first, which takes longer than all else here.
        let recent = self.recent[number as usize % RECENT].as_ptr();
        // SAFETY: nobody writes to it meanwhile. A page stays where it is for as long as this is borrowed, and compiled code finds it so, too.
        unsafe {
            if (*recent).number == number {
                return (*recent).place.map(|_| &*(*recent).readable);
            }
        }
        self.pages.get(self.place(number)?)?.as_deref().map(|page| &page.slots)
    }

    /// The page to put shadows into: none if there are too many.
    #[inline(always)]
    pub fn get_or_make(&mut self, number: u64) -> Option<&mut Slots> {
        match self.place(number) {
            Some(_) => self.get_mut(number),
            None => self.make(number),
        }
    }

    fn make(&mut self, number: u64) -> Option<&mut Slots> {
        if self.all.is_full() {
            return None;
        }
        let place = self.free.pop().unwrap_or(self.pages.len());
        if place == self.pages.len() {
            self.pages.push(None);
        }
        self.places.insert(number, place);
        self.pages[place] = Some(Page::new(&self.all));
        self.look_up(number);
        self.get_mut(number)
    }

    /// A page to write to, if that is needed.
    #[inline(always)]
    pub fn get_mut_if(&mut self, number: u64, is_needed: impl Fn(&Slots) -> bool) -> Option<&mut Slots> {
        if is_needed(self.get(number)?) { self.get_mut(number) } else { None }
    }

    /// A page to write to, copied if it is shared. If there is no room for a copy, it goes: shadows may be lost, never wrong.
    #[inline(always)]
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Slots> {
        let place = self.place(number)?;
        if self.recent[number as usize % RECENT].get().writable.is_null() {
            self.unshare(number, place);
        }
        Rc::get_mut(self.pages[place].as_mut()?).map(|page| &mut page.slots)
    }

    #[cold]
    fn unshare(&mut self, number: u64, place: usize) {
        let is_shared = self.pages[place].as_ref().is_some_and(|page| Rc::strong_count(page) > 1);
        if is_shared && self.all.is_full() {
            self.pages[place] = None;
            self.places.remove(&number);
            self.free.push(place);
        } else if let Some(page) = &mut self.pages[place] {
            Rc::make_mut(page);
        }
        self.look_up(number);
    }

    /// Changes all pages with something in them, those that others share once, and for all.
    pub fn change_all(&mut self, shared: &mut Shared, mut change: impl FnMut(&mut Slots)) {
        for page in self.pages.iter_mut().flatten().filter(|page| page.slots.is_used) {
            if let Some(page) = Rc::get_mut(page) {
                change(&mut page.slots);
                continue;
            }
            let changed = shared.0.entry(Rc::as_ptr(page)).or_insert_with(|| {
                let mut changed = Page::clone(page);
                change(&mut changed.slots);
                // The original must be there as long as others look for it.
                (page.clone(), Rc::new(changed))
            });
            *page = changed.1.clone();
            self.recent.iter().for_each(|recent| recent.set(Recent::NOBODY));
        }
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &Slots)> {
        self.places.iter().filter_map(|(number, place)| Some((*number, &self.pages[*place].as_deref()?.slots)))
    }
}
