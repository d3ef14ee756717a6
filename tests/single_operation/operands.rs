//! What instructions under test run on: random states and memory.

use super::cpu::{MEMORY, State};
use super::forms::{BASE, INDEX, INDEX_VALUE};
pub use super::random::Random;

impl Random {
    pub fn state(&mut self, memory: u64) -> State {
        let mut state = State::new();
        state.vectors = std::array::from_fn(|_| [self.vector(), self.vector()]);
        state.general = std::array::from_fn(|_| self.vector() as u64);
        state.general[BASE.1] = memory;
        state.general[INDEX.1] = INDEX_VALUE;
        state
    }

    pub fn fill(&mut self, memory: &mut [u8; MEMORY]) {
        for piece in memory[..1024].chunks_exact_mut(16) {
            piece.copy_from_slice(&self.vector().to_le_bytes());
        }
    }
}
