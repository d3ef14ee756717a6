//! Files that the guest has mapped to be written: what it stores there it shows. The kernel writes it when it likes; it is looked at when the
//! guest asks for that, gives the mapping up, or ends.

use crate::guest::Guest;
use crate::service::Service;
use fpgrind_wrappers::mapped;
use std::ops::Range;
use std::sync::PoisonError;

/// A mapping, and the call that made it: that is where its contents are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedFile {
    memory: Range<u64>,
    /// In the file.
    offset: u64,
    pc: u64,
}

impl MappedFile {
    /// Where a piece of memory and the mapping meet, and where that is in the file.
    fn within(&self, memory: &Range<u64>) -> Option<(Range<u64>, u64)> {
        let common = self.memory.start.max(memory.start)..self.memory.end.min(memory.end);
        let offset = self.offset.wrapping_add(common.start.wrapping_sub(self.memory.start));
        (!common.is_empty()).then_some((common, offset))
    }

    /// What is left of it without a piece of memory.
    fn without(&self, memory: &Range<u64>) -> Vec<MappedFile> {
        let left =
            [self.memory.start..self.memory.end.min(memory.start), self.memory.start.max(memory.end)..self.memory.end];
        let piece =
            |left: Range<u64>| self.within(&left).map(|(memory, offset)| MappedFile { memory, offset, ..self.clone() });
        left.into_iter().filter_map(piece).collect()
    }
}

impl Service {
    /// A file has been mapped so that what is stored there gets into it.
    pub(crate) fn map_file(&self, memory: Range<u64>, offset: u64, next: u64) {
        let guest = Guest::new(self.thread.tid);
        let pc = self.caller(&self.context().gpr, Some(next), &guest);
        self.thread.process.mapped_files().push(MappedFile { memory, offset, pc });
    }

    /// What is mapped in this memory is shown as it is now.
    pub(crate) fn show_mapped(&self, memory: Range<u64>) {
        let shown: Vec<_> = {
            let files = self.thread.process.mapped_files();
            files.iter().filter_map(|file| Some((file.within(&memory)?, file.pc))).collect()
        };
        let guest = Guest::new(self.thread.tid);
        for ((memory, offset), pc) in shown {
            self.show_bytes_from(offset, &guest, &[(memory.start, memory.end - memory.start)], mapped(), || pc);
        }
    }

    /// This memory is shown, and then is no longer the file's.
    pub(crate) fn unmap_files(&self, memory: Range<u64>) {
        self.show_mapped(memory.clone());
        let mut files = self.thread.process.mapped_files();
        if !files.is_empty() {
            *files = files.iter().flat_map(|file| file.without(&memory)).collect();
        }
    }
}

impl crate::thread::Process {
    fn mapped_files(&self) -> std::sync::MutexGuard<'_, Vec<MappedFile>> {
        self.mapped_files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_can_lose_its_midst() {
        let file = MappedFile { memory: 0x1000..0x5000, offset: 0x8000, pc: 7 };
        assert_eq!(file.within(&(0x2000..0x9000)), Some((0x2000..0x5000, 0x9000)));
        assert_eq!(file.within(&(0x5000..0x9000)), None);
        let left = [(0x1000..0x2000, 0x8000), (0x3000..0x5000, 0xa000)];
        assert_eq!(file.without(&(0x2000..0x3000)), left.map(|(memory, offset)| MappedFile { memory, offset, pc: 7 }));
        assert_eq!(file.without(&(0..u64::MAX)), []);
        assert_eq!(file.without(&(0x6000..0x7000)), [file]);
    }
}
