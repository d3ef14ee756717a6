//! Where code is: in a file, at an address of that file's own, wherever the file is mapped.
//!
//! One library lies at other addresses in other processes, and one address holds one library after another. What is found
//! must be told of the code, not of where it happened to lie.

use crate::log::Module;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::PathBuf;

/// A place in a program's code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// Index into [`crate::Findings::files`]; nothing where the code came from no file.
    pub file: Option<u32>,
    /// In the file's own addressing; without a file, the address at which the code lay.
    pub address: u64,
    /// Where it lay when it was first met.
    pub pc: u64,
}

impl Location {
    /// Code that came from no file, or nobody knows from which.
    pub fn outside_files(pc: u64) -> Location {
        Location { file: None, address: pc, pc }
    }
}

/// A location by its number: what traces hold of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocationId(pub u32);

/// All locations met so far, each once, and the files that they are in.
#[derive(Default)]
pub struct Locations {
    locations: Vec<Location>,
    numbers: FxHashMap<(Option<u32>, u64), LocationId>,
    pub files: Vec<PathBuf>,
    file_numbers: FxHashMap<PathBuf, u32>,
    /// What was mapped as code, each piece of a file once: where it lay first.
    pub modules: Vec<Module>,
    /// The pieces by file and addresses in it.
    pieces: FxHashSet<(u32, u64, u64)>,
}

impl Locations {
    /// Two locations of the same code are one, wherever it lay.
    pub fn number(&mut self, location: Location) -> LocationId {
        *self.numbers.entry((location.file, location.address)).or_insert_with(|| {
            self.locations.push(location);
            LocationId(self.locations.len() as u32 - 1)
        })
    }

    pub fn get(&self, number: LocationId) -> Location {
        self.locations[number.0 as usize]
    }

    /// The number of the file that a module shows.
    fn file_of(&mut self, module: &Module) -> u32 {
        let file = *self.file_numbers.entry(module.path.clone()).or_insert_with(|| {
            self.files.push(module.path.clone());
            self.files.len() as u32 - 1
        });
        let piece = (file, module.start.wrapping_sub(module.bias), module.end.wrapping_sub(module.bias));
        if self.pieces.insert(piece) {
            self.modules.push(module.clone());
        }
        file
    }
}

/// The files that are mapped into an address space as code.
#[derive(Clone, Default)]
pub struct Mappings {
    /// By address; they do not overlap.
    mapped: Vec<Mapped>,
}

#[derive(Clone, Copy)]
struct Mapped {
    start: u64,
    end: u64,
    bias: u64,
    file: u32,
}

impl Mappings {
    /// Puts a module in the place of what was there.
    pub fn map(&mut self, module: &Module, locations: &mut Locations) {
        let Module { start, end, bias, .. } = *module;
        self.unmap(start, end);
        if start < end {
            let at = self.mapped.partition_point(|other| other.start < start);
            self.mapped.insert(at, Mapped { start, end, bias, file: locations.file_of(module) });
        }
    }

    /// Of a module that lies partly in the range the rest remains.
    pub fn unmap(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let rest = |mapped: &Mapped| {
            let before = Mapped { end: mapped.end.min(start), ..*mapped };
            let behind = Mapped { start: mapped.start.max(end), ..*mapped };
            [before, behind].into_iter().filter(|piece| piece.start < piece.end)
        };
        self.mapped = self.mapped.iter().flat_map(rest).collect();
    }

    pub fn instruction(&self, pc: u64) -> Location {
        self.locate(pc, pc)
    }

    /// Where a call returns to. The byte before belongs to the call, while at the address itself another file may begin.
    pub fn return_address(&self, pc: u64) -> Location {
        self.locate(pc, pc.wrapping_sub(1))
    }

    fn locate(&self, pc: u64, probe: u64) -> Location {
        let at = self.mapped.partition_point(|mapped| mapped.end <= probe);
        match self.mapped.get(at).filter(|mapped| mapped.start <= probe) {
            Some(mapped) => Location { file: Some(mapped.file), address: pc.wrapping_sub(mapped.bias), pc },
            None => Location::outside_files(pc),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str, start: u64, end: u64, bias: u64) -> Module {
        Module { path: path.into(), start, end, bias }
    }

    /// The file's name and the address in it.
    fn found(mappings: &Mappings, locations: &Locations, pc: u64) -> (String, u64) {
        let location = mappings.instruction(pc);
        let file = location.file.map(|file| locations.files[file as usize].display().to_string());
        (file.unwrap_or_default(), location.address)
    }

    #[test]
    fn what_was_mapped_last_is_what_is_there_and_the_rest_of_what_it_covers_remains() {
        let (mut mappings, mut locations) = (Mappings::default(), Locations::default());
        mappings.map(&module("a", 0x1000, 0x5000, 0x1000), &mut locations);
        mappings.map(&module("b", 0x2000, 0x3000, 0), &mut locations);
        mappings.map(&module("c", 0x4800, 0x6000, 0x4000), &mut locations);
        let found = |pc| found(&mappings, &locations, pc);
        assert_eq!(found(0xfff), ("".into(), 0xfff));
        assert_eq!(found(0x1000), ("a".into(), 0));
        assert_eq!(found(0x1fff), ("a".into(), 0xfff));
        assert_eq!(found(0x2000), ("b".into(), 0x2000));
        assert_eq!(found(0x3000), ("a".into(), 0x2000));
        assert_eq!(found(0x4800), ("c".into(), 0x800));
        assert_eq!(found(0x6000), ("".into(), 0x6000));
    }

    #[test]
    fn what_was_unmapped_is_in_no_file() {
        let (mut mappings, mut locations) = (Mappings::default(), Locations::default());
        mappings.map(&module("a", 0x1000, 0x5000, 0x1000), &mut locations);
        mappings.unmap(0x2000, 0x3000);
        mappings.unmap(0x4000, 0x4000);
        let found = |pc| found(&mappings, &locations, pc);
        assert_eq!(found(0x1fff), ("a".into(), 0xfff));
        assert_eq!(found(0x2000), ("".into(), 0x2000));
        assert_eq!(found(0x3000), ("a".into(), 0x2000));
        assert_eq!(found(0x4000), ("a".into(), 0x3000));
    }

    #[test]
    fn a_call_at_the_end_of_a_file_returns_to_that_file() {
        let (mut mappings, mut locations) = (Mappings::default(), Locations::default());
        mappings.map(&module("a", 0x1000, 0x2000, 0x1000), &mut locations);
        mappings.map(&module("b", 0x2000, 0x3000, 0x2000), &mut locations);
        let [a, b] = [mappings.return_address(0x2000), mappings.instruction(0x2000)];
        assert_eq!((a.file, a.address), (Some(0), 0x1000));
        assert_eq!((b.file, b.address), (Some(1), 0));
    }

    #[test]
    fn absurd_ranges_are_no_trouble() {
        let (mut mappings, mut locations) = (Mappings::default(), Locations::default());
        mappings.map(&module("a", 0x2000, 0x1000, u64::MAX), &mut locations);
        mappings.map(&module("b", 0, u64::MAX, u64::MAX), &mut locations);
        assert_eq!(found(&mappings, &locations, 0x1000), ("b".into(), 0x1001));
        mappings.unmap(0x5000, 0x3000);
        assert_eq!(mappings.return_address(0).address, 0);
    }
}
