//! Code that may change without notice (writable, or seen through another mapping that is) is compared with what was translated
//! whenever it is entered.

use super::{Cold, Emitter, Interrupted};
use crate::context::at;
use crate::decode::Decoded;
use crate::exits::Key;
use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

impl Emitter {
    /// Asks unless the source is what it was. Loads are aligned, because the guest may have alignment checked.
    pub fn verify(&mut self, decoded: &Decoded, key: Key) {
        self.mark(Interrupted::At { pc: key.0, spilled: [None, None] });
        let changed = self.asm.ops.new_dynamic_label();
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(0)], rcx);
        self.mark(Interrupted::Between);
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(1)], rdx);
        let mut bytes = &decoded.bytes[..];
        let mut address = key.0;
        while !bytes.is_empty() {
            let aligned = 1 << address.trailing_zeros().min(3);
            let size = [8, 4, 2, 1].into_iter().find(|size| *size <= aligned.min(bytes.len())).unwrap_or(1);
            let (word, rest) = bytes.split_at(size);
            let mut expected = [0; 8];
            expected[..size].copy_from_slice(word);
            self.compare(address, size, u64::from_le_bytes(expected));
            dynasm!(self.asm.ops; .arch x64; jrcxz >same; jmp =>changed; same:);
            (bytes, address) = (rest, address + size as u64);
        }
        self.restore_spilled();
        self.cold.push(Cold::Changed { label: changed, key });
    }

    /// Makes rcx 0 if the memory holds what is expected. Destroys rdx.
    fn compare(&mut self, address: u64, size: usize, expected: u64) {
        // Zones are made within reach of the code they serve.
        let here = self.asm.here();
        let displacement = |length: u64| address.wrapping_sub(here + length) as i32;
        let ops = &mut self.asm.ops;
        match size {
            8 => {
                // mov rcx, [rip + d]
                ops.extend(&[0x48, 0x8b, 0x0d]);
                ops.push_i32(displacement(7));
                dynasm!(ops; .arch x64; mov rdx, QWORD expected.wrapping_neg() as i64; lea rcx, [rcx + rdx]);
                return;
            }
            4 => ops.extend(&[0x8b, 0x0d]),
            2 => ops.extend(&[0x0f, 0xb7, 0x0d]),
            _ => ops.extend(&[0x0f, 0xb6, 0x0d]),
        }
        ops.push_i32(displacement(if size == 4 { 6 } else { 7 }));
        dynasm!(ops; .arch x64; lea ecx, [rcx + (expected as i32).wrapping_neg()]);
    }

    /// Gives rcx and rdx back.
    pub(super) fn restore_spilled(&mut self) {
        dynasm!(self.asm.ops; .arch x64; gs mov rcx, [at::spill(0)]; gs mov rdx, [at::spill(1)]);
    }
}
