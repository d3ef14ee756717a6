//! The code cache: zones of memory for translations, each within reach of the code that it holds translations of.
//!
//! A copied instruction keeps its RIP-relative operand as a 32-bit displacement, and links between blocks are 32-bit
//! branches; so a translation must lie within 2 GiB of its source. Executable and libraries are further apart than that, and
//! each neighbourhood gets a zone. All zones are pieces of one memfd. The guest has a window onto the whole of it; a zone is
//! a second mapping of a piece of the window, made with mremap (old size 0 duplicates a shared mapping: mremap(2)), so that no
//! descriptor stays open in the guest.

use crate::shared::SharedMemory;

pub const ZONE_BYTES: u64 = 64 << 20;
const MAX_ZONES: usize = 16;
pub const CACHE_BYTES: usize = ZONE_BYTES as usize * MAX_ZONES;

/// How far a zone's ends may lie from code that it serves: less than 2 GiB, with room for the code's data.
const REACH: u64 = 3 << 29;

pub struct Zone {
    /// In the guest.
    pub start: u64,
    /// Where in the memfd.
    offset: usize,
    used: u64,
    /// Bytes of common code at its start.
    common: u64,
    pub stubs: crate::stubs::Stubs,
}

impl Zone {
    pub fn next_free(&self) -> u64 {
        self.start + self.used
    }

    pub fn contains(&self, address: u64) -> bool {
        (self.start..self.start + ZONE_BYTES).contains(&address)
    }

    pub fn room(&self) -> u64 {
        ZONE_BYTES - self.used
    }

    pub fn reaches(&self, address: u64) -> bool {
        self.start.abs_diff(address) < REACH && (self.start + ZONE_BYTES).abs_diff(address) < REACH
    }
}

pub struct CodeCache {
    pub memory: SharedMemory,
    pub zones: Vec<Zone>,
}

impl CodeCache {
    pub fn zone_for(&self, pc: u64) -> Option<usize> {
        self.zones.iter().position(|zone| zone.reaches(pc))
    }

    /// The memfd offset of the next zone, if there may be one more.
    pub fn next_offset(&self) -> Option<usize> {
        (self.zones.len() < MAX_ZONES).then(|| self.zones.len() * ZONE_BYTES as usize)
    }

    /// A zone that the guest has mapped at `start`, with the common code in it.
    pub fn add_zone(&mut self, start: u64) -> usize {
        let (code, stubs) = crate::stubs::assemble(start);
        let index = self.zones.len();
        self.zones.push(Zone { start, offset: index * ZONE_BYTES as usize, used: 0, common: 0, stubs });
        self.append(index, &code);
        self.zones[index].common = self.zones[index].used;
        index
    }

    /// Forgets everything but the common code.
    pub fn clear(&mut self) {
        for zone in &mut self.zones {
            zone.used = zone.common;
        }
    }

    /// Appends code to a zone; the code was assembled for `next_free`.
    pub fn append(&mut self, zone: usize, code: &[u8]) {
        let zone = &mut self.zones[zone];
        self.memory.write(zone.offset + zone.used as usize, code);
        zone.used = (zone.used + code.len() as u64).next_multiple_of(16);
    }

    /// Makes the 32-bit branch displacement at `site` lead to `target`. Displacements are emitted within aligned eight bytes
    /// and written with them in one store, so that a running guest sees the old or the new.
    pub fn patch_branch(&self, site: u64, target: u64) {
        let Some(zone) = self.zones.iter().find(|zone| (zone.start..zone.start + zone.used).contains(&site)) else {
            return;
        };
        let offset = zone.offset + (site - zone.start) as usize;
        let aligned = offset & !7;
        let mut word: [u8; 8] = self.memory.read(aligned, 8).try_into().expect("eight bytes were read");
        let displacement = target.wrapping_sub(site + 4) as i32;
        word[offset - aligned..][..4].copy_from_slice(&displacement.to_le_bytes());
        self.memory.write_u64(aligned, u64::from_le_bytes(word));
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
    let high = pc + REACH - 2 * ZONE_BYTES;
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
