//! Shadows of guest memory: pages of slots, one for each four bytes.
//!
//! Most floats take at least four bytes, so no two of them that lie in memory at once begin in the same four. A slot
//! therefore also says at which of them its float begins, and floats at any address fit without another table. Floats of two bytes lie at
//! even addresses: a slot that begins at the first of its four holds two of them. A store
//! removes what begins where it writes; what begins before it and reaches into it no longer agrees with the bits there.

pub use crate::pages::Pages;
pub use crate::pages::Shared;
use crate::pages::{Directory, PAGE, Recent, SLOTS, Slots};
use crate::shadow::{GRANULES, Part, Value};
use crate::trace::{Handle, Nodes};
use fpgrind_ir::{GRANULE, Type};
use smallvec::SmallVec;
use std::ops::Range;

/// The shadows of an address space. A copy shares the original's pages until one of the two writes to them.
#[derive(Clone)]
pub struct Memory {
    pages: Directory,
}

impl Memory {
    pub fn new(all: &Pages) -> Memory {
        Memory { pages: Directory::new(all) }
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
                if wanted { self.pages.get_or_make(number) } else { self.page_with(number, first..first + in_page) };
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
                if offset != 0 {
                    self.pages.has_got_offsets(number);
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

    /// The same where that is simple: all slots are in one page, and nothing begins between them. Says whether it was.
    #[inline(always)]
    pub fn store_within_page<R>(&mut self, address: u64, ty: Type, parts: &[Part; GRANULES], nodes: &Nodes<R>) -> bool {
        let (number, first) = locate(address);
        let (granules, bytes) = (ty.granules(), ty.bytes());
        if !address.is_multiple_of(GRANULE as u64) || first + granules > SLOTS {
            return false;
        }
        let keeps = |granule: usize| keeps(parts[granule], granule, 0, ty, nodes);
        let is_wanted = match bytes {
            // The common case.
            8 => keeps(0) || keeps(1),
            _ => (0..granules).any(keeps),
        };
        let page =
            if is_wanted { self.pages.get_or_make(number) } else { self.pages.get_mut_if(number, |page| page.is_used) };
        if let Some(page) = page {
            for (granule, part) in parts.iter().enumerate().take(granules) {
                page.set(first + granule, 0, if keeps(granule) { *part } else { Part::None });
            }
        }
        true
    }

    /// The same of a double that has a shadow.
    #[inline(always)]
    pub fn store_double(&mut self, address: u64, part: Part) -> bool {
        let (number, first) = locate(address);
        let is_simple = address.is_multiple_of(GRANULE as u64) && first + 1 < SLOTS;
        if is_simple && let Some(page) = self.pages.get_or_make(number) {
            page.set(first, 0, part);
            page.set(first + 1, 0, Part::None);
        }
        is_simple
    }

    pub fn recent(&self) -> *const Recent {
        self.pages.recent()
    }

    /// What begins in each of so many bytes' granules; none if they have no shadows, nothing if that is not simple.
    #[inline(always)]
    pub fn parts_within_page(&self, address: u64, bytes: usize) -> Option<&[Part]> {
        let (number, first) = locate(address);
        let slots = first..first + bytes / GRANULE;
        if !address.is_multiple_of(GRANULE as u64) || slots.end > SLOTS {
            return None;
        }
        let Some(page) = self.pages.get(number).filter(|page| page.is_used) else { return Some(&[]) };
        // What text was cleared with may begin anywhere; it is seldom what is loaded.
        let is_simple = !page.has_offsets || page.offsets[slots.clone()].iter().all(|offset| *offset == 0);
        is_simple.then(|| &page.parts[slots])
    }

    /// Two bytes are written, whose shadow is this.
    fn set_half(&mut self, address: u64, node: Option<Handle>) {
        let (number, slot) = locate(address);
        let page = match node {
            Some(_) if address.is_multiple_of(2) => self.pages.get_or_make(number),
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
        let page = self.pages.get(number).filter(|page| page.offsets[slot] == 0)?;
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
            if let Some(page) = self.pages.get(number).filter(|page| page.is_used) {
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
            if let Some(page) = self.pages.get(number).filter(|page| page.offsets[slot] == offset)
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
        if address.saturating_add(length) / PAGE == page && self.pages.get(page).is_none_or(|page| !page.is_used) {
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
            let Some(page) = self.pages.get(number) else { continue };
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
            let Some(page) = self.pages.get(number) else { continue };
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
            let ((number, slot), offset) = (locate(address), (address % GRANULE as u64) as u8);
            if let Some(page) = self.pages.get_or_make(number) {
                page.set(slot, offset, part);
                if offset != 0 {
                    self.pages.has_got_offsets(number);
                }
            }
        }
    }

    /// The float at an address as it stands, if it has a shadow.
    pub fn shadow<R>(&self, address: u64, ty: Type, nodes: &Nodes<R>) -> Option<Handle> {
        let (number, slot) = locate(address);
        let page = self.pages.get(number)?;
        let node = match page.parts[slot] {
            Part::Shadow(node) if page.offsets[slot] as u64 == address % GRANULE as u64 => Some(node),
            _ => self.half(address),
        };
        node.filter(|node| nodes[*node].ty == ty)
    }

    /// Pages that several memories share are asked once.
    pub fn each_root(&mut self, root: &mut dyn FnMut(&mut Handle), shared: &mut Shared) {
        self.pages.change_all(shared, |page| page.parts.iter_mut().for_each(|part| part.each_root(root)));
    }

    fn forget(&mut self, number: u64, first: usize, which: &[bool]) {
        if let Some(page) = self.page_with(number, first..(first + which.len()).min(SLOTS)) {
            for (i, _) in which.iter().enumerate().filter(|(_, forget)| **forget) {
                page.set(first + i, 0, Part::None);
            }
        }
    }

    /// The page if anything in these slots may have to go.
    fn page_with(&mut self, number: u64, slots: Range<usize>) -> Option<&mut Slots> {
        self.pages.get_mut_if(number, |page| page.holds_any(slots.clone()))
    }

    /// Each page in the range that holds anything, and its slots in the range. Their order does not matter: slots move
    /// independently.
    fn pages_within(&self, address: u64, length: u64) -> SmallVec<[(u64, Range<usize>); 2]> {
        let Some(length) = length.checked_sub(1) else { return SmallVec::new() };
        let last = address.saturating_add(length);
        let (first_page, last_page) = (address / PAGE, last / PAGE);
        let within = |number: u64, page: &Slots| {
            let from = if number == first_page { locate(address).1 } else { 0 };
            let to = if number == last_page { locate(last).1 } else { SLOTS - 1 };
            (page.is_used).then_some((number, from..to + 1))
        };
        if last_page - first_page < self.pages.len() as u64 {
            (first_page..=last_page).filter_map(|number| within(number, self.pages.get(number)?)).collect()
        } else {
            // Fewer pages exist than the range spans.
            let existing = self.pages.iter().filter(|(number, _)| (first_page..=last_page).contains(number));
            existing.filter_map(|(number, page)| within(number, page)).collect()
        }
    }
}

/// Where the float in a slot begins.
fn begin_of(number: u64, slot: usize, page: &Slots) -> u64 {
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
