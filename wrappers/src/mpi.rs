//! Messages of MPI: what a process sends to others it shows.

use crate::Memory;
use crate::call::read_u64;

/// What a function sends: so many elements of a type, both named by the number of the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    pub start: u8,
    pub count: u8,
    pub datatype: u8,
}

const fn message(start: u8) -> Message {
    Message { start, count: start + 1, datatype: start + 2 }
}

/// Functions whose data begin with this argument. Where a process only receives by them, or sends what is in place already,
/// the buffer is nothing that could be read.
const FUNCTIONS: &[(&str, Message)] = &[
    ("MPI_Send", message(0)),
    ("MPI_Bsend", message(0)),
    ("MPI_Ssend", message(0)),
    ("MPI_Rsend", message(0)),
    ("MPI_Isend", message(0)),
    ("MPI_Ibsend", message(0)),
    ("MPI_Issend", message(0)),
    ("MPI_Irsend", message(0)),
    ("MPI_Sendrecv", message(0)),
    ("MPI_Send_init", message(0)),
    ("MPI_Put", message(0)),
    ("MPI_Gather", message(0)),
    ("MPI_Allgather", message(0)),
    ("MPI_Alltoall", message(0)),
    ("MPI_Reduce", Message { start: 0, count: 2, datatype: 3 }),
    ("MPI_Allreduce", Message { start: 0, count: 2, datatype: 3 }),
    ("MPI_File_write", message(1)),
    ("MPI_File_write_all", message(1)),
    ("MPI_File_write_shared", message(1)),
    ("MPI_File_write_at", message(2)),
    ("MPI_File_write_at_all", message(2)),
];

/// The name of the function with this symbol, and what it sends. Programs call `MPI_Send`; what stands between them and it calls `PMPI_Send`.
pub fn message_of(symbol: &str) -> Option<(&'static str, Message)> {
    let name = symbol.strip_prefix("PMPI_").map_or(symbol, |_| &symbol[1..]);
    FUNCTIONS.iter().find(|(known, _)| *known == name).copied()
}

/// MPICH's handles are integers, and a basic type's has its size in it (mpi.h, MPI_DOUBLE and others).
const MPICH_BASIC: u64 = 0x4c;
/// Open MPI's point to a `struct opal_datatype_t`: flags, a size, and bounds (opal/datatype/opal_datatype.h).
const OPEN_MPI_FLAGS: u64 = 16;
const OPEN_MPI_SIZE: u64 = 24;
const OPEN_MPI_LOWER: u64 = 48;
const OPEN_MPI_UPPER: u64 = 56;
const OPEN_MPI_CONTIGUOUS: u64 = 0x10;
/// Longer than any type that is not an array of another.
const MAX_SIZE: u64 = 1 << 20;

/// Bytes of an element, if elements lie one behind the other without gaps.
pub fn element_size(datatype: u64, memory: &Memory) -> Option<u64> {
    let size = if let Ok(handle) = u32::try_from(datatype) {
        (u64::from(handle >> 24) == MPICH_BASIC).then_some(u64::from(handle) >> 8 & 0xff)?
    } else {
        let field = |offset: u64| read_u64(memory, datatype.wrapping_add(offset));
        let [flags, size, lower, upper] =
            [field(OPEN_MPI_FLAGS)?, field(OPEN_MPI_SIZE)?, field(OPEN_MPI_LOWER)?, field(OPEN_MPI_UPPER)?];
        (flags & OPEN_MPI_CONTIGUOUS != 0 && upper.wrapping_sub(lower) == size).then_some(size)?
    };
    (1..=MAX_SIZE).contains(&size).then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_as_long_as_its_elements() {
        let nothing = |_: u64, _: &mut [u8]| false;
        assert_eq!(element_size(0x4c00_080b, &nothing), Some(8), "MPICH's MPI_DOUBLE");
        assert_eq!(element_size(0x8c00_0000, &nothing), None, "a type that the program has made");
        let words = [0u64, 0, 0x10, 8, 0, 8, 0, 8];
        let memory = move |address: u64, buffer: &mut [u8]| {
            let word = words.get((address.wrapping_sub(0x7f00_0000_0000) / 8) as usize);
            word.map(|word| buffer.copy_from_slice(&word.to_le_bytes())).is_some()
        };
        assert_eq!(element_size(0x7f00_0000_0000, &memory), Some(8), "Open MPI's");
        assert_eq!(element_size(0x7f00_0000_1000, &memory), None);
    }

    #[test]
    fn functions_are_known_by_both_their_names() {
        assert_eq!(message_of("MPI_Isend"), Some(("MPI_Isend", message(0))));
        assert_eq!(message_of("PMPI_Allreduce"), Some(("MPI_Allreduce", Message { start: 0, count: 2, datatype: 3 })));
        assert_eq!(message_of("MPI_File_write_at"), Some(("MPI_File_write_at", message(2))));
        for other in ["MPI_Recv", "MPI_", "Send", "MPI_Bcast"] {
            assert_eq!(message_of(other), None, "{other}");
        }
    }
}
