//! The smallest executable: program headers and their bytes (System V ABI, chapter 4 and 5).

pub struct Segment {
    pub address: u64,
    pub bytes: Vec<u8>,
    /// PF_R, PF_W, PF_X.
    pub flags: u32,
}

pub const READ: u32 = 4;
pub const WRITE: u32 = 2;
pub const EXECUTE: u32 = 1;

const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const PAGE: usize = 4096;

/// A static executable of these segments, each of which begins at a page.
pub fn executable(entry: u64, segments: &[Segment]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    for half in [2u16, 62] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1u32.to_le_bytes());
    for word in [entry, HEADER as u64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    for half in [HEADER as u16, PROGRAM_HEADER as u16, segments.len() as u16, 64, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    let mut offset = (HEADER + segments.len() * PROGRAM_HEADER).next_multiple_of(PAGE);
    for segment in segments {
        let size = segment.bytes.len() as u64;
        file.extend(1u32.to_le_bytes());
        file.extend(segment.flags.to_le_bytes());
        for word in [offset as u64, segment.address, segment.address, size, size, PAGE as u64] {
            file.extend(word.to_le_bytes());
        }
        offset = (offset + segment.bytes.len()).next_multiple_of(PAGE);
    }
    for segment in segments {
        file.resize(file.len().next_multiple_of(PAGE), 0);
        file.extend(&segment.bytes);
    }
    file
}
