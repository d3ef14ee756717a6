//! The context: memory shared by the guest's emitted code and the supervisor.
//!
//! The guest reaches it through GS, the supervisor through its own mapping of the same memfd. It holds
//! what emitted code spills, the cursor of the event ring, the request that the guest makes of the supervisor, and the tables that
//! indirect branches look their targets up in.

use crate::shared::SharedMemory;
use std::mem::offset_of;
use std::sync::atomic::AtomicU32;

/// Guest registers are numbered as the hardware does: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
#[repr(C)]
pub struct Context {
    /// The context's own address in the guest, for the futex.
    pub address: u64,
    /// Guest registers that emitted code uses for a moment.
    pub spill: [u64; 4],
    /// Where the next record goes.
    pub cursor: u64,
    /// Minus the stack pointer whose return ends quiet mode. Adding rsp gives 0 there: a comparison without flags.
    pub quiet_end: u64,
    /// The code that runs when quiet mode ends.
    pub leave: u64,
    /// Where the function that runs quietly writes its results, if it does.
    pub out: [u64; 2],
    /// 1 while the guest waits for the supervisor; the futex of both.
    pub pending: AtomicU32,
    /// What the guest does when the request is answered: 0 goes to `resume`, 1 makes a system call and asks again.
    pub action: u32,
    /// The exit that made the request, an index into the translator's exits, and what it adds to it.
    pub exit: u64,
    pub argument: u64,
    pub resume: u64,
    /// Number and arguments of a system call that the supervisor wants made; the result.
    pub syscall: [u64; 7],
    pub syscall_result: u64,
    /// The guest's registers while it waits.
    pub gpr: [u64; 16],
    pub xmm: [[u64; 2]; 16],
}

/// Offsets for emitted code, as GS-relative displacements.
pub mod at {
    use super::*;
    pub const ADDRESS: i32 = offset_of!(Context, address) as i32;
    pub const CURSOR: i32 = offset_of!(Context, cursor) as i32;
    pub const QUIET_END: i32 = offset_of!(Context, quiet_end) as i32;
    pub const LEAVE: i32 = offset_of!(Context, leave) as i32;
    pub const PENDING: i32 = offset_of!(Context, pending) as i32;
    pub const ACTION: i32 = offset_of!(Context, action) as i32;
    pub const EXIT: i32 = offset_of!(Context, exit) as i32;
    pub const ARGUMENT: i32 = offset_of!(Context, argument) as i32;
    pub const RESUME: i32 = offset_of!(Context, resume) as i32;
    pub const SYSCALL_RESULT: i32 = offset_of!(Context, syscall_result) as i32;
    pub const fn spill(n: usize) -> i32 {
        offset_of!(Context, spill) as i32 + 8 * n as i32
    }
    pub const fn out(n: usize) -> i32 {
        offset_of!(Context, out) as i32 + 8 * n as i32
    }
    pub const fn syscall(n: usize) -> i32 {
        offset_of!(Context, syscall) as i32 + 8 * n as i32
    }
    pub const fn gpr(n: usize) -> i32 {
        offset_of!(Context, gpr) as i32 + 8 * n as i32
    }
    pub const fn xmm(n: usize) -> i32 {
        offset_of!(Context, xmm) as i32 + 16 * n as i32
    }
}

/// Code is translated for one of two modes. What runs quietly leaves no records.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mode {
    Quiet,
    Logged,
}

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
const TABLES_START: usize = 4096;
pub const CONTEXT_BYTES: usize = TABLES_START + 4 * TABLE_BYTES;

const _: () = assert!(size_of::<Context>() <= TABLES_START);

/// The offset of a table in the context.
pub fn table(mode: Mode, lookup: Lookup) -> i32 {
    (TABLES_START + (mode as usize * 2 + lookup as usize) * TABLE_BYTES) as i32
}

fn slot_offset(mode: Mode, lookup: Lookup, target: u64) -> usize {
    table(mode, lookup) as usize + 8 * (target as usize % TABLE_SLOTS)
}

/// The supervisor's view of a context.
pub struct ContextView(pub SharedMemory);

impl ContextView {
    /// The guest writes to the context only while it runs, and the supervisor only while the guest waits on `pending` (or
    /// is not there yet, or no more): so a raw pointer, and never two references at once.
    pub fn get(&self) -> *mut Context {
        self.0.pointer().cast()
    }

    /// Where the slot for a target leads.
    pub fn slot(&self, mode: Mode, lookup: Lookup, target: u64) -> u64 {
        let bytes = self.0.read(slot_offset(mode, lookup, target), 8);
        u64::from_le_bytes(bytes.try_into().expect("eight bytes were read"))
    }

    pub fn set_slot(&self, mode: Mode, lookup: Lookup, target: u64, entry: u64) {
        self.0.write_u64(slot_offset(mode, lookup, target), entry);
    }

    /// Makes every slot of a table lead to `entry`.
    pub fn fill_table(&self, mode: Mode, lookup: Lookup, entry: u64) {
        for slot in 0..TABLE_SLOTS as u64 {
            self.set_slot(mode, lookup, slot, entry);
        }
    }
}
