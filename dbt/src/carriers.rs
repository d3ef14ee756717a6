//! General registers that carry floats from block to block.
//!
//! Integers are stored all the time, and logging them would cost every program. But where one block has left a float in a register
//! that calls preserve, what others nearby store from it is likely that float.

use crate::exits::Key;
use fpgrind_frontend_x86::carriers_left;
use fpgrind_ir::Block;
use rustc_hash::FxHashMap;

#[derive(Clone, Default)]
pub struct Carriers {
    /// By neighbourhood of code, a bit for each register.
    left: FxHashMap<u64, u16>,
    /// What blocks were described with, if that was anything: they may have to be described again, the same way.
    used: FxHashMap<Key, u16>,
}

/// Most functions are shorter.
const NEIGHBOURHOOD: u64 = 4096;

impl Carriers {
    /// Floats were left in some registers by these blocks, which begin here.
    pub fn note(&mut self, pc: u64, blocks: &[Block]) {
        let carriers = blocks.iter().fold(0, |carriers, block| carriers | carriers_left(block));
        if carriers != 0 {
            *self.left.entry(pc / NEIGHBOURHOOD).or_default() |= carriers;
        }
    }

    /// The registers that may carry floats into a block that is about to be described.
    pub fn around(&mut self, key: Key) -> u16 {
        let here = key.0 / NEIGHBOURHOOD;
        let near = [here.wrapping_sub(1), here, here + 1];
        let carriers = near.iter().filter_map(|place| self.left.get(place)).fold(0, |all, left| all | left);
        match carriers {
            0 => self.used.remove(&key),
            _ => self.used.insert(key, carriers),
        };
        carriers
    }

    /// Those that the block was described with.
    pub fn of_block(&self, key: Key) -> u16 {
        self.used.get(&key).copied().unwrap_or(0)
    }
}
