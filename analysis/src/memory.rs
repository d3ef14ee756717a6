//! Shadows of guest memory: pages of slots, one for each four bytes.
//!
//! A float takes at least four bytes, so no two floats that lie in memory at once begin in the same four. A slot
//! therefore also says at which of them its float begins, and floats at any address fit without another table. A store
//! removes what begins where it writes; what begins before it and reaches into it no longer agrees with the bits there.

use crate::shadow::{Part, Value};
use crate::trace::Node;
use fpgrind_ir::{GRANULE, Type};
use rustc_hash::FxHashMap;
use std::rc::Rc;

const SLOTS: usize = 1024;
const PAGE: u64 = (SLOTS * GRANULE) as u64;
/// One GiB of guest memory with floats in it. Beyond that new shadows are not kept: the bits still are right.
const MAX_PAGES: usize = 1 << 18;

struct Page<R> {
    parts: Box<[Part<R>]>,
    /// Where in its four bytes a slot's float begins.
    offsets: [u8; SLOTS],
    occupied: usize,
}

pub struct Memory<R> {
    pages: FxHashMap<u64, Page<R>>,
}

impl<R> Page<R> {
    fn new() -> Page<R> {
        let parts = std::iter::repeat_with(|| Part::None).take(SLOTS).collect();
        Page { parts, offsets: [0; SLOTS], occupied: 0 }
    }

    fn set(&mut self, slot: usize, offset: u8, part: Part<R>) {
        self.occupied += !part.is_none() as usize;
        self.occupied -= !self.parts[slot].is_none() as usize;
        self.parts[slot] = part;
        self.offsets[slot] = offset;
    }
}

impl<R> Memory<R> {
    pub fn new() -> Memory<R> {
        Memory { pages: FxHashMap::default() }
    }

    pub fn store(&mut self, address: u64, ty: Type, value: &Value<R>) {
        let offset = (address % GRANULE as u64) as u8;
        let granules = ty.granules();
        let mut granule = 0;
        // An unaligned store reaches into one granule more.
        let touched = granules + (offset != 0) as usize;
        while granule < touched {
            let (number, first) = locate(address.wrapping_add((granule * GRANULE) as u64));
            let in_page = (touched - granule).min(SLOTS - first);
            let new = granule..(granule + in_page).min(granules).max(granule);
            let wanted = value.parts[new].iter().enumerate().any(|(i, part)| keeps(part, granule + i, ty));
            if let Some(page) = self.page(number, wanted) {
                for slot in first..first + in_page {
                    let part = value.parts.get(granule).filter(|part| granule < granules && keeps(part, granule, ty));
                    match part {
                        Some(part) => page.set(slot, offset, part.clone()),
                        None if granule < granules || page.offsets[slot] < offset => page.set(slot, 0, Part::None),
                        None => {}
                    }
                    granule += 1;
                }
            } else {
                granule += in_page;
            }
        }
    }

    /// The contents of memory whose bits were logged. Stale shadows are forgotten and counted.
    pub fn load(&mut self, address: u64, ty: Type, bits: u128, stale: &mut u64) -> Value<R> {
        let mut value = Value::plain(bits);
        let offset = (address % GRANULE as u64) as u8;
        let mut granule = 0;
        while granule < ty.granules() {
            let (number, first) = locate(address.wrapping_add((granule * GRANULE) as u64));
            let in_page = (ty.granules() - granule).min(SLOTS - first);
            if let Some(page) = self.pages.get_mut(&number).filter(|page| page.occupied > 0) {
                for slot in first..first + in_page {
                    if !page.parts[slot].is_none()
                        && page.offsets[slot] == offset
                        && value.accept(granule, ty, &page.parts[slot])
                    {
                        page.set(slot, 0, Part::None);
                        *stale += 1;
                    }
                    granule += 1;
                }
            } else {
                granule += in_page;
            }
        }
        value
    }

    /// As memmove. The work is bounded by the shadows that exist, whatever the length says.
    pub fn copy(&mut self, to: u64, from: u64, length: u64) {
        if to == from {
            return;
        }
        let mut moved = Vec::new();
        self.for_each_page(from, length, |page, start, first, last| {
            for slot in first..=last {
                let distance = start + (slot * GRANULE) as u64 + page.offsets[slot] as u64;
                let part = &page.parts[slot];
                if !part.is_none()
                    && distance.checked_sub(from).is_some_and(|d| d.saturating_add(part.bytes() as u64) <= length)
                {
                    moved.push((distance - from, part.clone()));
                }
            }
        });
        self.for_each_page(to, length, |page, start, first, last| {
            for slot in first..=last {
                let begins = start + (slot * GRANULE) as u64 + page.offsets[slot] as u64;
                if begins.checked_sub(to).is_some_and(|distance| distance < length) {
                    page.set(slot, 0, Part::None);
                }
            }
        });
        for (distance, part) in moved {
            let address = to.wrapping_add(distance);
            let (number, slot) = locate(address);
            if let Some(page) = self.page(number, true) {
                page.set(slot, (address % GRANULE as u64) as u8, part);
            }
        }
    }

    /// The float at an address as it stands, if it has a shadow.
    pub fn shadow(&self, address: u64, ty: Type) -> Option<&Rc<Node<R>>> {
        let (number, slot) = locate(address);
        let page = self.pages.get(&number)?;
        match &page.parts[slot] {
            Part::Shadow(node) if node.ty == ty && page.offsets[slot] as u64 == address % GRANULE as u64 => Some(node),
            _ => None,
        }
    }

    fn page(&mut self, number: u64, wanted: bool) -> Option<&mut Page<R>> {
        if wanted && self.pages.len() < MAX_PAGES {
            return Some(self.pages.entry(number).or_insert_with(Page::new));
        }
        self.pages.get_mut(&number)
    }

    /// Calls `f` with each page in the range that holds anything, its address, and the first and last slot in the range.
    fn for_each_page(&mut self, address: u64, length: u64, mut f: impl FnMut(&mut Page<R>, u64, usize, usize)) {
        let Some(length) = length.checked_sub(1) else { return };
        let last = address.saturating_add(length);
        let (first_page, last_page) = (address / PAGE, last / PAGE);
        let mut visit = |number: u64, page: &mut Page<R>| {
            let from = if number == first_page { locate(address).1 } else { 0 };
            let to = if number == last_page { locate(last).1 } else { SLOTS - 1 };
            if page.occupied > 0 {
                f(page, number * PAGE, from, to);
            }
        };
        if last_page - first_page < self.pages.len() as u64 {
            for number in first_page..=last_page {
                if let Some(page) = self.pages.get_mut(&number) {
                    visit(number, page);
                }
            }
        } else {
            // Fewer pages exist than the range spans. Their order does not matter: slots move independently.
            for (number, page) in &mut self.pages {
                if (first_page..=last_page).contains(number) {
                    visit(*number, page);
                }
            }
        }
    }
}

/// The page of an address, and the slot in it.
fn locate(address: u64) -> (u64, usize) {
    (address / PAGE, (address % PAGE) as usize / GRANULE)
}

/// Is the part worth a slot? A torn float is not, and neither are the zeros with which vector stores clear memory: that
/// they came from a constant is not worth a page of slots.
fn keeps<R>(part: &Part<R>, granule: usize, ty: Type) -> bool {
    match part {
        Part::None => false,
        Part::Constant(bits) => *bits != 0 || ty.bytes() <= 8,
        Part::Shadow(_) => granule * GRANULE + part.bytes() <= ty.bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::influence::Influences;
    use crate::mpfr::Mpfr;
    use crate::real::Real;
    use crate::trace::{Args, Term};
    use fpgrind_ir::Operator;

    fn shadowed(value: f64) -> Value<Mpfr> {
        Value::of_term(Term::Node(Rc::new(Node {
            operator: Operator::Add,
            ty: Type::F64,
            depth: 1,
            influences: Influences::NONE,
            pc: 0,
            bits: value.to_bits(),
            real: Mpfr::exactly(64, value),
            rounded: value.to_bits(),
            ulps: 0,
            args: Args::none(),
        })))
    }

    fn has(memory: &mut Memory<Mpfr>, address: u64, value: f64) -> bool {
        let loaded = memory.load(address, Type::F64, value.to_bits() as u128, &mut 0);
        matches!(loaded.term_at(0, Type::F64), Term::Node(_))
    }

    #[test]
    fn a_float_is_found_where_it_was_stored_at_any_alignment_and_across_pages() {
        for address in [0x1000, 0x1004, 0x1001, 0x1ffa, 0x1ffc, 0x1ffe, u64::MAX - 3] {
            let mut memory = Memory::new();
            memory.store(address, Type::F64, &shadowed(1.5));
            assert!(has(&mut memory, address, 1.5), "{address:#x}");
            assert!(!has(&mut memory, address.wrapping_add(4), 1.5));
            assert!(!has(&mut memory, address ^ 1, 1.5));
        }
    }

    #[test]
    fn changed_bits_are_stale_once_and_then_forgotten() {
        let mut memory = Memory::new();
        memory.store(0x1000, Type::F64, &shadowed(1.5));
        let mut stale = 0;
        memory.load(0x1000, Type::F64, 7, &mut stale);
        memory.load(0x1000, Type::F64, 7, &mut stale);
        assert_eq!(stale, 1);
        assert!(!has(&mut memory, 0x1000, 1.5));
    }

    #[test]
    fn an_overlapping_store_removes_what_it_overwrites_and_nothing_else() {
        let mut memory = Memory::new();
        memory.store(0x1002, Type::F64, &shadowed(1.5));
        memory.store(0x100a, Type::F64, &shadowed(2.5));
        memory.store(0x0ffa, Type::F64, &shadowed(0.5));
        memory.store(0x1002, Type::F64, &Value::plain(1.5f64.to_bits() as u128));
        assert!(has(&mut memory, 0x0ffa, 0.5));
        assert!(!has(&mut memory, 0x1002, 1.5));
        assert!(has(&mut memory, 0x100a, 2.5));
    }

    #[test]
    fn a_copy_moves_shadows_even_onto_itself_and_to_another_alignment() {
        let mut memory = Memory::new();
        for i in 0..1000u64 {
            memory.store(0x10000 + 8 * i, Type::F64, &shadowed(i as f64));
        }
        memory.copy(0x10000 + 8, 0x10000, 8000);
        assert!((0..1000).all(|i| has(&mut memory, 0x10008 + 8 * i, i as f64)));
        memory.copy(0x20003, 0x10008, 8000);
        assert!((0..1000).all(|i| has(&mut memory, 0x20003 + 8 * i, i as f64)));
        memory.copy(0x20003, 0x90000, 16);
        assert!(!has(&mut memory, 0x20003, 0.0) && !has(&mut memory, 0x2000b, 1.0) && has(&mut memory, 0x20013, 2.0));
    }

    #[test]
    fn absurd_lengths_cost_nothing() {
        let mut memory = Memory::new();
        memory.store(0x1000, Type::F64, &shadowed(1.5));
        memory.copy(0x7000_0000_0000, 0, u64::MAX);
        assert!(has(&mut memory, 0x7000_0000_1000, 1.5));
        memory.copy(0, u64::MAX - 100, u64::MAX);
        memory.copy(0, 0x5000, 0);
    }
}
