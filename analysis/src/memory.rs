//! Shadows of guest memory: pages of slots, one for each four bytes.
//!
//! Most floats take at least four bytes, so no two of them that lie in memory at once begin in the same four. A slot
//! therefore also says at which of them its float begins, and floats at any address fit without another table. Floats of two bytes lie at
//! even addresses: a slot that begins at the first of its four holds two of them. A store
//! removes what begins where it writes; what begins before it and reaches into it no longer agrees with the bits there.

use crate::shadow::{GRANULES, Part, Value};
use crate::trace::{Handle, Nodes};
use fpgrind_ir::{GRANULE, Type};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::cell::Cell;
use std::collections::hash_map::{Entry, OccupiedEntry};
use std::ops::Range;
use std::rc::Rc;

const SLOTS: usize = 1024;
const PAGE: u64 = (SLOTS * GRANULE) as u64;

/// How many pages there are in all memories together. Beyond the most that there may be new shadows are not kept: the bits still are right.
#[derive(Clone)]
pub struct Pages {
    count: Rc<Cell<usize>>,
    refused: Rc<Cell<u64>>,
    most: usize,
}

struct Page {
    parts: [Part; SLOTS],
    /// Where in its four bytes a slot's float begins.
    offsets: [u8; SLOTS],
    occupied: usize,
    pages: Pages,
}

/// The shadows of an address space. A copy shares the original's pages until one of the two writes to them.
#[derive(Clone)]
pub struct Memory {
    pages: FxHashMap<u64, Rc<Page>>,
    all: Pages,
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

impl Page {
    fn new(pages: &Pages) -> Rc<Page> {
        pages.count.update(|count| count + 1);
        Rc::new(Page { parts: [Part::None; SLOTS], offsets: [0; SLOTS], occupied: 0, pages: pages.clone() })
    }

    fn set(&mut self, slot: usize, offset: u8, part: Part) {
        self.occupied += !part.is_none() as usize;
        self.occupied -= !self.parts[slot].is_none() as usize;
        self.parts[slot] = part;
        self.offsets[slot] = offset;
    }

    fn holds_any(&self, slots: Range<usize>) -> bool {
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

impl Memory {
    pub fn new(all: &Pages) -> Memory {
        Memory { pages: FxHashMap::default(), all: all.clone() }
    }

    pub fn store<R>(&mut self, address: u64, ty: Type, value: &Value, nodes: &Nodes<R>) {
        let offset = (address % GRANULE as u64) as u8;
        if ty.bytes() < GRANULE {
            self.set_half(address, value.parts[0].halves()[0]);
            return;
        }
        let granules = ty.granules();
        let mut granule = 0;
        // An unaligned store reaches into one granule more.
        let touched = granules + (offset != 0) as usize;
        while granule < touched {
            let (number, first) = locate(address.wrapping_add((granule * GRANULE) as u64));
            let in_page = (touched - granule).min(SLOTS - first);
            let new = granule..(granule + in_page).min(granules).max(granule);
            let wanted =
                value.parts[new].iter().enumerate().any(|(i, part)| keeps(*part, granule + i, offset, ty, nodes));
            let page =
                if wanted { self.page_for_shadows(number) } else { self.page_with(number, first..first + in_page) };
            if let Some(page) = page {
                for slot in first..first + in_page {
                    let part = value
                        .parts
                        .get(granule)
                        .filter(|part| granule < granules && keeps(**part, granule, offset, ty, nodes));
                    match part {
                        Some(part) => page.set(slot, offset, *part),
                        None if granule < granules || page.offsets[slot] < offset => page.set(slot, 0, Part::None),
                        None => {}
                    }
                    granule += 1;
                }
            } else {
                granule += in_page;
            }
        }
        if offset == 2 && value.parts[..granules].iter().any(|part| part.is_of_halves()) {
            for (granule, part) in value.parts[..granules].iter().enumerate() {
                let at = address.wrapping_add((granule * GRANULE) as u64);
                let [lower, upper] = part.halves();
                self.set_half(at, lower);
                self.set_half(at.wrapping_add(2), upper);
            }
        }
    }

    /// Two bytes are written, whose shadow is this.
    fn set_half(&mut self, address: u64, node: Option<Handle>) {
        let (number, slot) = locate(address);
        let page = match node {
            Some(_) if address.is_multiple_of(2) => self.page_for_shadows(number),
            _ => self.page_with(number, slot..slot + 1),
        };
        let Some(page) = page else { return };
        let old = if page.offsets[slot] == 0 { page.parts[slot].halves() } else { [None, None] };
        let part = match address % GRANULE as u64 {
            0 => Part::of_halves(node, old[1]),
            2 => Part::of_halves(old[0], node),
            _ => Part::None,
        };
        page.set(slot, 0, part);
    }

    /// The shadow of two bytes as it stands.
    fn half(&self, address: u64) -> Option<Handle> {
        let (number, slot) = locate(address);
        let page = self.pages.get(&number).filter(|page| page.offsets[slot] == 0)?;
        match address % GRANULE as u64 {
            0 => page.parts[slot].halves()[0],
            2 => page.parts[slot].halves()[1],
            _ => None,
        }
    }

    /// The contents of memory whose bits were logged. Stale shadows are forgotten and counted.
    pub fn load<R>(&mut self, address: u64, ty: Type, bits: u128, stale: &mut u64, nodes: &Nodes<R>) -> Value {
        let mut value = Value::plain(bits);
        let offset = (address % GRANULE as u64) as u8;
        if ty.bytes() < GRANULE || offset == 2 {
            self.load_halves(address, ty, &mut value, nodes);
        }
        if ty.bytes() < GRANULE {
            return value;
        }
        let mut granule = 0;
        while granule < ty.granules() {
            let (number, first) = locate(address.wrapping_add((granule * GRANULE) as u64));
            let in_page = (ty.granules() - granule).min(SLOTS - first);
            if let Some(page) = self.pages.get(&number).filter(|page| page.occupied > 0) {
                let mut outdated = [false; GRANULES];
                for (i, outdated) in outdated.iter_mut().enumerate().take(in_page) {
                    let part = page.parts[first + i];
                    if !part.is_none() && page.offsets[first + i] == offset {
                        *outdated = !value.accept(granule + i, ty, part, nodes);
                    }
                }
                if outdated != [false; GRANULES] {
                    self.forget(number, first, &outdated);
                    *stale += outdated.iter().filter(|outdated| **outdated).count() as u64;
                }
            }
            granule += in_page;
        }
        value
    }

    /// The same, but what does not agree stays: the bits may not be those of memory.
    pub fn recall<R>(&self, address: u64, ty: Type, bits: u128, nodes: &Nodes<R>) -> Value {
        let mut value = Value::plain(bits);
        let offset = (address % GRANULE as u64) as u8;
        if ty.bytes() < GRANULE || offset == 2 {
            self.load_halves(address, ty, &mut value, nodes);
        }
        for granule in (0..ty.granules()).filter(|_| ty.bytes() >= GRANULE) {
            let (number, slot) = locate(address.wrapping_add((granule * GRANULE) as u64));
            if let Some(page) = self.pages.get(&number).filter(|page| page.offsets[slot] == offset)
                && !page.parts[slot].is_none()
            {
                value.accept(granule, ty, page.parts[slot], nodes);
            }
        }
        value
    }

    /// The floats of two bytes that lie between slots, or alone.
    fn load_halves<R>(&self, address: u64, ty: Type, value: &mut Value, nodes: &Nodes<R>) {
        for granule in 0..ty.granules() {
            let at = address.wrapping_add((granule * GRANULE) as u64);
            let upper = self.half(at.wrapping_add(2)).filter(|_| ty.bytes() >= GRANULE);
            let part = Part::of_halves(self.half(at), upper);
            if !part.is_none() {
                value.accept(granule, ty, part, nodes);
            }
        }
    }

    /// So many bytes were written by something unknown. The work is bounded as in a copy.
    pub fn clear(&mut self, address: u64, length: u64) {
        // Most memory has no floats in it.
        let page = address / PAGE;
        if address.saturating_add(length) / PAGE == page && self.pages.get(&page).is_none_or(|page| page.occupied == 0)
        {
            return;
        }
        for (number, slots) in self.pages_within(address, length) {
            let Some(page) = self.page_with(number, slots.clone()) else { continue };
            for slot in slots {
                if begin_of(number, slot, page).checked_sub(address).is_some_and(|distance| distance < length) {
                    page.set(slot, 0, Part::None);
                }
            }
        }
    }

    /// The floats that lie wholly in so many bytes, by their addresses, in no particular order.
    pub fn shadows_within<R>(&self, address: u64, length: u64, nodes: &Nodes<R>) -> Vec<(u64, Handle)> {
        let mut found = Vec::new();
        for (number, slots) in self.pages_within(address, length) {
            let page = &self.pages[&number];
            for slot in slots {
                let begins = begin_of(number, slot, page);
                let part = page.parts[slot];
                let whole = match part {
                    Part::Shadow(node) => Some((begins, node)),
                    _ => None,
                };
                let halves =
                    (0..).step_by(2).zip(part.halves()).filter_map(|(at, half)| Some((begins.wrapping_add(at), half?)));
                let inside = |(at, node): &(u64, Handle)| {
                    at.checked_sub(address).is_some_and(|d| d.saturating_add(nodes[*node].ty.bytes() as u64) <= length)
                };
                found.extend(whole.into_iter().chain(halves).filter(inside));
            }
        }
        found
    }

    /// As memmove. The work is bounded by the shadows that exist, whatever the length says.
    pub fn copy<R>(&mut self, to: u64, from: u64, length: u64, nodes: &Nodes<R>) {
        if to == from {
            return;
        }
        let mut moved = Vec::new();
        for (number, slots) in self.pages_within(from, length) {
            let page = &self.pages[&number];
            for slot in slots {
                let begins = begin_of(number, slot, page);
                let part = page.parts[slot];
                if part.is_of_halves() {
                    for (half, node) in part.halves().into_iter().enumerate() {
                        let begins = begins.wrapping_add(2 * half as u64);
                        if let Some(node) = node
                            && begins.checked_sub(from).is_some_and(|d| d.saturating_add(2) <= length)
                        {
                            moved.push((begins - from, Part::of_halves(Some(node), None)));
                        }
                    }
                } else if !part.is_none()
                    && begins.checked_sub(from).is_some_and(|d| d.saturating_add(part.bytes(nodes) as u64) <= length)
                {
                    moved.push((begins - from, part));
                }
            }
        }
        self.clear(to, length);
        for (distance, part) in moved {
            let address = to.wrapping_add(distance);
            if part.is_of_halves() {
                self.set_half(address, part.halves()[0]);
                continue;
            }
            let (number, slot) = locate(address);
            if let Some(page) = self.page_for_shadows(number) {
                page.set(slot, (address % GRANULE as u64) as u8, part);
            }
        }
    }

    /// The float at an address as it stands, if it has a shadow.
    pub fn shadow<R>(&self, address: u64, ty: Type, nodes: &Nodes<R>) -> Option<Handle> {
        let (number, slot) = locate(address);
        let page = self.pages.get(&number)?;
        let node = match page.parts[slot] {
            Part::Shadow(node) if page.offsets[slot] as u64 == address % GRANULE as u64 => Some(node),
            _ => self.half(address),
        };
        node.filter(|node| nodes[*node].ty == ty)
    }

    pub fn each_root(&self, root: &mut dyn FnMut(Handle)) {
        for page in self.pages.values().filter(|page| page.occupied > 0) {
            page.parts.iter().for_each(|part| part.each_root(root));
        }
    }

    fn forget(&mut self, number: u64, first: usize, which: &[bool]) {
        if let Some(page) = self.page_with(number, first..(first + which.len()).min(SLOTS)) {
            for (i, _) in which.iter().enumerate().filter(|(_, forget)| **forget) {
                page.set(first + i, 0, Part::None);
            }
        }
    }

    /// The page to put shadows into: none if there are too many.
    fn page_for_shadows(&mut self, number: u64) -> Option<&mut Page> {
        match self.pages.entry(number) {
            Entry::Vacant(vacant) => {
                if self.all.is_full() {
                    return None;
                }
                Rc::get_mut(vacant.insert(Page::new(&self.all)))
            }
            Entry::Occupied(page) => own(page, &self.all),
        }
    }

    /// The page if anything in these slots may have to go.
    fn page_with(&mut self, number: u64, slots: Range<usize>) -> Option<&mut Page> {
        if !self.pages.get(&number)?.holds_any(slots) {
            return None;
        }
        match self.pages.entry(number) {
            Entry::Vacant(_) => None,
            Entry::Occupied(page) => own(page, &self.all),
        }
    }

    /// Each page in the range that holds anything, and its slots in the range. Their order does not matter: slots move
    /// independently.
    fn pages_within(&self, address: u64, length: u64) -> SmallVec<[(u64, Range<usize>); 2]> {
        let Some(length) = length.checked_sub(1) else { return SmallVec::new() };
        let last = address.saturating_add(length);
        let (first_page, last_page) = (address / PAGE, last / PAGE);
        let within = |number: u64, page: &Page| {
            let from = if number == first_page { locate(address).1 } else { 0 };
            let to = if number == last_page { locate(last).1 } else { SLOTS - 1 };
            (page.occupied > 0).then_some((number, from..to + 1))
        };
        if last_page - first_page < self.pages.len() as u64 {
            (first_page..=last_page).filter_map(|number| within(number, self.pages.get(&number)?)).collect()
        } else {
            // Fewer pages exist than the range spans.
            let existing = self.pages.iter().filter(|(number, _)| (first_page..=last_page).contains(number));
            existing.filter_map(|(number, page)| within(*number, page)).collect()
        }
    }
}

/// A page to write to, copied if it is shared. If there is no room for a copy, it goes: shadows may be lost, never wrong.
fn own<'a>(mut page: OccupiedEntry<'a, u64, Rc<Page>>, all: &Pages) -> Option<&'a mut Page> {
    if Rc::get_mut(page.get_mut()).is_none() && all.is_full() {
        page.remove();
        return None;
    }
    Some(Rc::make_mut(page.into_mut()))
}

/// Where the float in a slot begins.
fn begin_of(number: u64, slot: usize, page: &Page) -> u64 {
    number * PAGE + (slot * GRANULE) as u64 + page.offsets[slot] as u64
}

/// The page of an address, and the slot in it.
fn locate(address: u64) -> (u64, usize) {
    (address / PAGE, (address % PAGE) as usize / GRANULE)
}

/// Is the part worth a slot, in a store at this distance from one? The zeros with which vector stores clear memory are not: that
/// they came from a constant is not worth a page of slots. Floats of two bytes have their places.
fn keeps<R>(part: Part, granule: usize, offset: u8, ty: Type, nodes: &Nodes<R>) -> bool {
    match part {
        Part::None => false,
        Part::Constant(bits) => bits != 0 || ty.bytes() <= 8,
        Part::Shadow(_) | Part::Halves(_) => {
            part.fits(ty.bytes() - granule * GRANULE, nodes) && (offset == 0 || !part.is_of_halves())
        }
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
