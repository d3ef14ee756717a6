//! The event ring: where the guest writes its records.
//!
//! One chunk of memory. The chunk ends at an address whose byte 3 goes from 0 to 1, so emitted code knows by one byte of
//! its cursor whether there is room, without touching flags. Behind the end there is slack for the record that crosses it. When the
//! chunk is full the guest asks, and the supervisor takes the records out.

use crate::context::ContextView;
use crate::shared::SharedMemory;

const CHUNK: usize = 2 << 20;
/// More than the largest record of a block (4096 bytes) and the largest output record together.
const SLACK: usize = 64 << 10;
pub const RING_BYTES: usize = CHUNK + SLACK;

/// The chunk's end in the guest; byte 3 of the addresses before it is 0.
const END: u64 = 0x2a80_0100_0000;
pub const RING_START: u64 = END - CHUNK as u64;

pub struct Ring(pub SharedMemory);

impl Ring {
    /// Takes out what was written since the last time. The cursor is in memory that the guest can write to.
    pub fn take(&self, context: &ContextView) -> Vec<u8> {
        // SAFETY: the context is mapped; the guest waits or is gone.
        let cursor = unsafe { &mut (*context.get()).cursor };
        let written = cursor.wrapping_sub(RING_START).min(RING_BYTES as u64) as usize;
        *cursor = RING_START;
        self.0.read(0, written)
    }

    /// Writes a record as the guest would, while it waits.
    pub fn append(&self, context: &ContextView, record: &[u8]) {
        // SAFETY: as above.
        let cursor = unsafe { &mut (*context.get()).cursor };
        let at = cursor.wrapping_sub(RING_START);
        if at as usize <= CHUNK && record.len() <= SLACK / 2 {
            self.0.write(at as usize, record);
            *cursor += record.len() as u64;
        }
    }

    pub fn is_full(&self, context: &ContextView) -> bool {
        // SAFETY: as above.
        unsafe { (*context.get()).cursor >= END }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_three_of_the_cursor_tells_whether_there_is_room() {
        for (address, byte) in [(RING_START, 0), (END - 1, 0), (END, 1), (RING_START + RING_BYTES as u64 - 1, 1)] {
            assert_eq!(address.to_le_bytes()[3], byte);
        }
    }
}
