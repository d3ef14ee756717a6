//! Memory that the guest's allocator has handed out. Whoever gets some finds it new: what was known of the floats that lay there before is
//! forgotten, so that bits which happen to be the same do not bring a freed number's history back.

use crate::guests::Process;
use crate::trace::Nodes;
use rustc_hash::FxHashMap;

/// The bytes handed out, by where. Releases are not seen: an address that is handed out again takes the place of what it was.
#[derive(Clone, Default)]
pub struct Heap(FxHashMap<u64, u64>);

/// Above that all are forgotten. Memory of unknown length that moves is taken to have been as long as it becomes.
const MAX_KNOWN: usize = 1 << 20;

impl Process {
    /// So many bytes are handed out, holding what was at `old` (if that is not null). Nothing is at null: there was no memory.
    pub fn allocate<R>(&mut self, at: u64, old: u64, bytes: u64, nodes: &Nodes<R>) {
        if at == 0 {
            return;
        }
        let Heap(known) = &mut self.heap;
        let held = if old == 0 { 0 } else { known.remove(&old).unwrap_or(bytes).min(bytes) };
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(at, bytes);
        if held > 0 {
            self.memory.copy(at, old, held, nodes);
        }
        self.memory.clear(at.saturating_add(held), bytes - held);
    }
}
