//! The tables that indirect branches look their targets up in.
//!
//! All threads of a space share them; each has them mapped behind its context, where emitted code reaches them through GS.

use crate::arena::{Arena, Kind, Piece};
use crate::context::{Mode, TABLES_START};
use std::sync::Arc;

/// How an indirect branch looks its target up. Returns have a table of their own: its entries lie behind the calls
/// returned to, where the CPU's return predictor expects them, and they put the guest's return address back
/// below the stack pointer, which only a return may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookup {
    Jump,
    Return,
}

/// Slots of a table; the index is the low 16 bits of the target, which takes one flag-free instruction.
pub const TABLE_SLOTS: usize = 1 << 16;
const TABLE_BYTES: usize = TABLE_SLOTS * 8;
pub const TABLES_BYTES: usize = 2 * Mode::ALL.len() * TABLE_BYTES;

const _: () = assert!(TABLES_BYTES == Kind::Tables.bytes());

/// The offset of a table from a thread's context.
pub fn table(mode: Mode, lookup: Lookup) -> i32 {
    (TABLES_START + start(mode, lookup)) as i32
}

fn start(mode: Mode, lookup: Lookup) -> usize {
    (mode as usize * 2 + lookup as usize) * TABLE_BYTES
}

fn slot(mode: Mode, lookup: Lookup, target: u64) -> usize {
    start(mode, lookup) + 8 * (target as usize % TABLE_SLOTS)
}

pub struct Tables(Piece);

impl Tables {
    pub fn new(arena: &Arc<Arena>) -> Option<Tables> {
        arena.piece(Kind::Tables).map(Tables)
    }

    pub fn copy(&self) -> Option<Tables> {
        self.0.copy(TABLES_BYTES).map(Tables)
    }

    /// The system call that maps the tables behind the context at this address.
    pub fn map_behind(&self, context: u64) -> [u64; 7] {
        self.0.map_at(context + TABLES_START as u64)
    }

    /// Where the slot for a target leads.
    pub fn get(&self, mode: Mode, lookup: Lookup, target: u64) -> u64 {
        self.0.read_u64(slot(mode, lookup, target))
    }

    pub fn set(&self, mode: Mode, lookup: Lookup, target: u64, entry: u64) {
        self.0.write_u64(slot(mode, lookup, target), entry);
    }

    /// Makes every slot of a table lead to `entry`.
    pub fn fill(&self, mode: Mode, lookup: Lookup, entry: u64) {
        for slot in 0..TABLE_SLOTS as u64 {
            self.set(mode, lookup, slot, entry);
        }
    }
}
