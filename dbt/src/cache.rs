//! The code cache: zones of memory for translations, each within reach of the code that it holds translations of.
//!
//! A copied instruction keeps its RIP-relative operand as a 32-bit displacement, and links between blocks are 32-bit
//! branches; so a translation must lie within 2 GiB of its source. Executable and libraries are further apart than that, and
//! each neighbourhood gets a zone: a second mapping of a piece of the arena.

use crate::arena::{Arena, Kind, Piece};
use std::sync::Arc;

pub const ZONE_BYTES: u64 = Kind::Zone.bytes() as u64;

/// How far a zone's ends may lie from code that it serves: less than 2 GiB, with room for the code's data.
const REACH: u64 = 3 << 29;

/// Room that a zone must have for a batch of translations: more than any takes.
pub const BATCH_ROOM: u64 = 192 << 10;

/// Bytes of a zone whose pages are made together.
const PAGES_AT_ONCE: u64 = 128 << 10;

pub struct Zone {
    /// In the guest.
    pub start: u64,
    piece: Piece,
    used: u64,
    /// Bytes of common code at its start.
    common: u64,
    pub stubs: crate::stubs::Stubs,
    /// Of the translations in it.
    pub generation: u64,
}

impl Zone {
    pub fn next_free(&self) -> u64 {
        self.start + self.used
    }

    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.start + ZONE_BYTES).contains(&address)
    }

    /// Where translations can lie.
    pub fn translations(&self) -> std::ops::Range<u64> {
        self.start + self.common..self.start + ZONE_BYTES
    }

    pub fn reaches(&self, address: u64) -> bool {
        self.start.abs_diff(address) < REACH && (self.start + ZONE_BYTES).abs_diff(address) < REACH
    }

    /// The system call that maps the zone where the guest has it.
    pub fn mapping(&self) -> [u64; 7] {
        self.piece.map_at(self.start)
    }
}

/// Where there is room for translations of some code.
pub enum Room {
    /// In this zone.
    In(usize),
    /// In this zone, which holds translations of an old generation that no thread runs any more: they must be forgotten first.
    InRetired(usize),
    /// Nowhere before the generation ends: the zone is full.
    Full,
    /// In a zone to be made.
    InNew,
}

/// The zones of a space. When one is full a new generation begins, in other memory; that of the old is used again when no thread can
/// be in it any more.
pub struct CodeCache {
    arena: Arc<Arena>,
    pub zones: Vec<Zone>,
    /// Bytes of a zone that may be used.
    capacity: u64,
    pub generation: u64,
}

impl CodeCache {
    /// `bytes`, if given, limits the zones that serve one neighbourhood, of two generations, together.
    pub fn new(arena: Arc<Arena>, bytes: Option<u64>) -> CodeCache {
        let capacity = bytes.map_or(ZONE_BYTES, |bytes| (bytes / 2).clamp(2 * BATCH_ROOM, ZONE_BYTES));
        CodeCache { arena, zones: Vec::new(), capacity, generation: 0 }
    }

    /// The same contents in other memory.
    pub fn copy(&self) -> Option<CodeCache> {
        let zones = self.zones.iter().map(|zone| {
            let piece = zone.piece.copy(zone.used as usize)?;
            Some(Zone { piece, ..*zone })
        });
        Some(CodeCache { arena: self.arena.clone(), zones: zones.collect::<Option<_>>()?, ..*self })
    }

    /// `left` says whether no thread can be in translations of a generation any more.
    pub fn room_for(&self, pc: u64, left: impl Fn(u64) -> bool) -> Room {
        let mut near = self.zones.iter().enumerate().filter(|(_, zone)| zone.reaches(pc));
        if let Some((index, zone)) = near.clone().find(|(_, zone)| zone.generation == self.generation) {
            return if zone.used + BATCH_ROOM <= self.capacity { Room::In(index) } else { Room::Full };
        }
        near.find(|(_, zone)| left(zone.generation)).map_or(Room::InNew, |(index, _)| Room::InRetired(index))
    }

    /// A zone whose translations are forgotten serves the present generation.
    pub fn renew(&mut self, index: usize) {
        let zone = &mut self.zones[index];
        zone.used = zone.common;
        zone.generation = self.generation;
    }

    pub fn piece(&self) -> Option<Piece> {
        self.arena.piece(Kind::Zone)
    }

    /// A zone of a piece that the guest has mapped at `start`, with the common code in it.
    pub fn add_zone(&mut self, start: u64, piece: Piece) -> usize {
        let (code, stubs) = crate::stubs::assemble(start);
        let index = self.zones.len();
        self.zones.push(Zone { start, piece, used: 0, common: 0, stubs, generation: self.generation });
        self.append(index, &code);
        self.zones[index].common = self.zones[index].used;
        index
    }

    pub fn zone_at(&self, address: u64) -> Option<&Zone> {
        self.zones.iter().find(|zone| zone.contains(address))
    }

    pub fn index_of_zone_at(&self, address: u64) -> Option<usize> {
        self.zones.iter().position(|zone| zone.contains(address))
    }

    /// Where the next so many bytes of a zone go, if there is room for them.
    pub fn next_free_in(&self, zone: usize, bytes: u64) -> Option<u64> {
        let zone = &self.zones[zone];
        (zone.used + bytes <= ZONE_BYTES).then(|| zone.next_free())
    }

    /// Appends code to a zone; the code was assembled for `next_free`.
    pub fn append(&mut self, zone: usize, code: &[u8]) {
        let zone = &mut self.zones[zone];
        let used = (zone.used + code.len() as u64).next_multiple_of(16);
        if used.div_ceil(PAGES_AT_ONCE) > zone.used.div_ceil(PAGES_AT_ONCE) {
            zone.piece.populate((used - used % PAGES_AT_ONCE) as usize, PAGES_AT_ONCE as usize);
        }
        zone.piece.write(zone.used as usize, code);
        zone.used = used;
    }

    /// Writes the aligned eight bytes at `address` in one store.
    pub fn write_u64(&self, address: u64, value: u64) {
        if let Some(zone) = self.zone_at(address) {
            zone.piece.write_u64((address - zone.start) as usize, value);
        }
    }

    /// Makes the 32-bit branch displacement at `site` lead to `target`. Displacements are emitted within aligned eight bytes
    /// and written with them in one store, so that a running guest sees the old or the new.
    pub fn patch_branch(&self, site: u64, target: u64) {
        let Some(zone) = self.zone_at(site) else { return };
        let offset = (site - zone.start) as usize;
        let aligned = offset & !7;
        let mut word = zone.piece.read_u64(aligned).to_le_bytes();
        let displacement = target.wrapping_sub(site + 4) as i32;
        word[offset - aligned..][..4].copy_from_slice(&displacement.to_le_bytes());
        zone.piece.write_u64(aligned, u64::from_le_bytes(word));
    }
}

/// Where to put a zone for code at `pc`: a gap in the guest's address space, given the mappings in ascending order. Far
/// from the code rather than near, where the heap and further libraries will want to be, and below rather than above, where the heap grows.
pub fn place_zone(pc: u64, mappings: impl Iterator<Item = (u64, u64)>) -> Option<u64> {
    const LOWEST: u64 = 1 << 20;
    const HIGHEST: u64 = 0x7fff_ffff_f000;
    let mut taken: Vec<(u64, u64)> = mappings.collect();
    taken.push((HIGHEST, u64::MAX));
    let mut gaps = Vec::new();
    let mut end = LOWEST;
    for (start, stop) in taken {
        if start > end {
            gaps.push((end, start));
        }
        end = end.max(stop);
    }
    let low = pc.saturating_sub(REACH - ZONE_BYTES);
    let high = pc.saturating_add(REACH - 2 * ZONE_BYTES);
    let fits =
        |start: u64| start.is_multiple_of(4096) && gaps.iter().any(|(a, b)| *a <= start && start + ZONE_BYTES <= *b);
    let below = (low..pc).step_by(ZONE_BYTES as usize).map(|a| a & !0xfff);
    let above = (pc..high).rev().step_by(ZONE_BYTES as usize).map(|a| a & !0xfff);
    below.chain(above).find(|start| fits(*start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_lies_in_a_gap_within_reach() {
        let mappings = [(0x5555_5555_4000, 0x5555_5556_0000), (0x7fff_f7d0_0000, 0x7fff_f7ff_f000)];
        for pc in [0x5555_5555_5000, 0x7fff_f7e0_0000, 0x40_1000] {
            let start = place_zone(pc, mappings.into_iter()).unwrap();
            assert!(start.abs_diff(pc) < REACH && (start + ZONE_BYTES).abs_diff(pc) < REACH, "{start:#x} for {pc:#x}");
            assert!(mappings.iter().all(|(a, b)| start + ZONE_BYTES <= *a || *b <= start));
        }
    }

    #[test]
    fn no_gap_is_said_so() {
        assert_eq!(place_zone(0x40_0000, [(0, 0x7fff_ffff_f000)].into_iter()), None);
    }
}
