//! Out of translated code, into the guest's own.

use super::Emitter;
use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

const ARCH_SET_GS: i32 = 0x1001;
const RSP: usize = 4;

impl Emitter {
    /// Gives GS back and goes on natively with these registers. Nothing is reached through GS any more, so the values are here.
    pub fn go_native(&mut self, registers: &[u64; 16], pc: u64) {
        let values = [(); 16].map(|()| self.asm.ops.new_dynamic_label());
        dynasm!(self.asm.ops
            ; .arch x64
            ; mov edi, ARCH_SET_GS
            ; mov esi, 0
            ; mov eax, libc::SYS_arch_prctl as i32
            ; syscall
        );
        for number in (0..16u8).filter(|number| *number as usize != RSP) {
            dynasm!(self.asm.ops; .arch x64; mov Rq(number), [=>values[number as usize]]);
        }
        dynasm!(self.asm.ops; .arch x64; jmp QWORD [=>values[RSP]]; .align 8);
        for (number, label) in values.into_iter().enumerate() {
            let value = if number == RSP { pc } else { registers[number] };
            dynasm!(self.asm.ops; .arch x64; =>label; .u64 value);
        }
    }
}
