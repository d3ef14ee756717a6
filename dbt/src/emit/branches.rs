//! The ways out of a block: links, lookups, calls, returns, system calls.

use super::{Cold, Emitter, Interrupted, Record, TableEntry, top_of_stack};
use crate::context::{Mode, at};
use crate::decode::{Decoded, End};
use crate::exits::{Exit, Key};
use crate::marks::Mark;
use crate::tables::{Lookup, table};
use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};
use fpgrind_frontend_x86::{Direction, Memory, filled_by_kernel, transfer};
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// rcx and rdx, while the target of an indirect branch is looked up.
const TARGET_SPILLED: [Option<u8>; 2] = [Some(1), Some(2)];

impl Emitter {
    /// The way out of a block. Code for `falls_to` follows directly, if it is given, and needs no branch.
    pub fn end(&mut self, decoded: &Decoded, mode: Mode, falls_to: Option<u64>) {
        let pc = match decoded.end {
            End::Next(pc) | End::Native(pc) => pc,
            _ => decoded.instrs.get(decoded.body_len()).map_or(0, |instr| instr.ip()),
        };
        self.mark(Interrupted::At { pc, spilled: [None, None] });
        self.leave_block(decoded, pc, mode, falls_to);
        self.mark(Interrupted::Between);
    }

    fn leave_block(&mut self, decoded: &Decoded, pc: u64, mode: Mode, falls_to: Option<u64>) {
        let next = match decoded.end {
            End::Next(next) => next,
            End::Jump(target) => target,
            End::Branch { taken, next } => {
                self.conditional(decoded, decoded.body_len(), (taken, mode));
                next
            }
            End::TwoBranches { first, taken, next } => {
                for (index, target) in (decoded.body_len()..).zip([first, taken]) {
                    self.conditional(decoded, index, (target, mode));
                }
                next
            }
            End::Call { target, next } => {
                let label = self.asm.ops.new_dynamic_label();
                dynasm!(self.asm.ops; .arch x64; call =>label);
                self.mark(Interrupted::Between);
                self.return_entry((next, mode));
                self.cold.push(Cold::Call { label, return_address: next, target: (target, mode) });
                next
            }
            End::IndirectCall { next } => {
                self.load_target(decoded.instrs.last().expect("a call"));
                let label = self.asm.ops.new_dynamic_label();
                dynasm!(self.asm.ops; .arch x64; call =>label);
                self.mark(Interrupted::Between);
                self.return_entry((next, mode));
                self.cold.push(Cold::IndirectCall { label, return_address: next, mode });
                next
            }
            End::IndirectJump => {
                self.load_target(decoded.instrs.last().expect("a jump"));
                return self.look_up(mode);
            }
            End::Return { extra } => return self.guest_return(pc, mode, extra),
            End::Syscall { next } => {
                if mode != Mode::Quiet
                    && filled_by_kernel(&decoded.instrs).is_none()
                    && let Some(transfer) = transfer(&decoded.instrs)
                    && (mode == Mode::Logged || transfer.direction == Direction::Out)
                {
                    self.mark(Interrupted::Between);
                    let skip = self.asm.ops.new_dynamic_label();
                    if let Memory::Buffer { len, .. } = transfer.memory {
                        self.unless_floats_fit(None, len, skip);
                    }
                    self.ask(|resume| Exit::Transfer { transfer, next, resume });
                    dynasm!(self.asm.ops; .arch x64; =>skip);
                    self.mark(Interrupted::At { pc, spilled: [None, None] });
                }
                dynasm!(self.asm.ops; .arch x64; lea r11, [>after]);
                self.asm.jump(self.stubs.syscall);
                self.continuations.push((self.asm.here(), (next, mode)));
                self.mark(Interrupted::Between);
                dynasm!(self.asm.ops; .arch x64; after:);
                self.guest_rcx(next);
                next
            }
            End::Mark { mark, next } => {
                self.mark(Interrupted::Between);
                match mark {
                    Mark::Begin if mode == Mode::Outside => return self.go_on_in(Mode::Logged, next),
                    Mark::End if mode != Mode::Outside => return self.go_on_in(Mode::Outside, next),
                    Mark::Begin | Mark::End => return self.jump_to((next, mode)),
                    Mark::Output(_) | Mark::Error(_) => self.ask(|resume| Exit::Marked { mark, next, resume }),
                }
                next
            }
            End::Native(pc) => {
                return self.ask(|_| Exit::Native { pc });
            }
        };
        if falls_to != Some(next) {
            self.jump_to((next, mode));
        }
    }

    /// The way out of a block behind which what is logged changes.
    fn go_on_in(&mut self, mode: Mode, next: u64) {
        self.record(&Record::of_gap(next), top_of_stack());
        self.jump_to((next, mode));
    }

    /// The way out of a block whose last instruction is translated elsewhere.
    pub fn go_on_at(&mut self, last: Key) {
        self.mark(Interrupted::At { pc: last.0, spilled: [None, None] });
        self.jump_to(last);
        self.mark(Interrupted::Between);
    }

    /// `syscall` leaves the address behind it in rcx.
    fn guest_rcx(&mut self, next: u64) {
        dynasm!(self.asm.ops; .arch x64; mov rcx, QWORD next as i64);
    }

    pub fn behind_syscall(&mut self, next: Key) {
        self.guest_rcx(next.0);
        self.jump_to(next);
    }

    pub fn jump_to(&mut self, target: Key) {
        let site = self.asm.patchable_branch(&[0xe9]);
        self.cold.push(Cold::Link { site, target });
    }

    fn conditional(&mut self, decoded: &Decoded, index: usize, taken: Key) {
        let instr = &decoded.instrs[index];
        let opcode = match instr.mnemonic() {
            // These have no form with a wide displacement. Their own short one leads over a jump; they are copied with all
            // their prefixes, and a displacement of two bytes.
            Mnemonic::Jrcxz | Mnemonic::Jecxz | Mnemonic::Loop | Mnemonic::Loope | Mnemonic::Loopne => None,
            Mnemonic::Xbegin => Some([0xc7, 0xf8]),
            _ => Some([0x0f, 0x80 + (instr.condition_code() as u8 - 1)]),
        };
        if let Some(opcode) = opcode {
            let site = self.asm.patchable_branch(&opcode);
            self.cold.push(Cold::Link { site, target: taken });
            return;
        }
        if let [prefixes_and_opcode @ .., _] = decoded.bytes_of(index) {
            self.asm.ops.extend(prefixes_and_opcode);
            self.asm.ops.push_i8(2);
        }
        // A loop has counted by now, and must not count again.
        self.mark(Interrupted::At { pc: instr.next_ip(), spilled: [None, None] });
        dynasm!(self.asm.ops; .arch x64; jmp BYTE >not_taken);
        self.mark(Interrupted::At { pc: taken.0, spilled: [None, None] });
        self.jump_to(taken);
        dynasm!(self.asm.ops; .arch x64; not_taken:);
        self.mark(Interrupted::At { pc: instr.next_ip(), spilled: [None, None] });
    }

    /// Spills rcx and rdx and loads rcx with the target of an indirect branch.
    fn load_target(&mut self, instr: &Instruction) {
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(0)], rcx);
        self.mark(Interrupted::Between);
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(1)], rdx);
        self.mark(Interrupted::Faulting { pc: instr.ip(), spilled: TARGET_SPILLED });
        if instr.op0_kind() == OpKind::Memory {
            self.asm.load_operand(Register::RCX, instr, 0);
        } else {
            let register = instr.op0_register().number() as u8;
            dynasm!(self.asm.ops; .arch x64; mov rcx, Rq(register));
        }
    }

    /// Goes where the table says for the target in rcx. The entry there checks that it is the right one.
    pub(super) fn look_up(&mut self, mode: Mode) {
        dynasm!(self.asm.ops
            ; .arch x64
            ; movzx edx, cx
            ; gs jmp QWORD [rdx * 8 + table(mode, Lookup::Jump)]
        );
    }

    /// A return: to our address for the guest's return address, through a real `ret`, which the CPU predicts.
    pub fn guest_return(&mut self, pc: u64, mode: Mode, extra: u16) {
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(0)], rcx);
        self.mark(Interrupted::Between);
        if mode == Mode::Quiet && self.logging {
            let label = self.asm.ops.new_dynamic_label();
            dynasm!(self.asm.ops
                ; .arch x64
                ; gs mov rcx, [at::QUIET_END]
                ; lea rcx, [rcx + rsp]
                ; jrcxz >leave
                ; jmp BYTE >stay
                ; leave:
                ; jmp =>label
                ; stay:
            );
            self.cold.push(Cold::LeaveQuiet { label });
        }
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(1)], rdx);
        self.mark(Interrupted::Faulting { pc, spilled: TARGET_SPILLED });
        dynasm!(self.asm.ops; .arch x64; mov rcx, [rsp]);
        self.mark(Interrupted::Between);
        if extra == 0 {
            dynasm!(self.asm.ops
                ; .arch x64
                ; movzx edx, cx
                ; gs mov rdx, [rdx * 8 + table(mode, Lookup::Return)]
                ; mov [rsp], rdx
                ; ret
            );
        } else {
            dynasm!(self.asm.ops; .arch x64; lea rsp, [rsp + 8 + extra as i32]);
            self.look_up(mode);
        }
    }

    /// Where a table leads: checks that the target in rcx is this one, restores the registers. `otherwise` is emitted
    /// for other targets, which have the same slot: rcx is the target, rcx and rdx are still spilled.
    fn table_entry(&mut self, target: u64, otherwise: impl FnOnce(&mut Emitter)) {
        dynasm!(self.asm.ops
            ; .arch x64
            ; mov rdx, QWORD target.wrapping_neg() as i64
            ; lea rcx, [rcx + rdx]
            ; jrcxz >right
            ; not rdx
            ; lea rcx, [rcx + rdx + 1]
        );
        otherwise(self);
        dynasm!(self.asm.ops
            ; .arch x64
            ; right:
            ; gs mov rcx, [at::spill(0)]
            ; gs mov rdx, [at::spill(1)]
        );
    }

    /// The code right behind a call: a return that finds it through the table comes here. The slot below the stack
    /// pointer gets back what the guest had there. Entries that share a slot form a chain, at whose end is the table of jumps.
    fn return_entry(&mut self, target: Key) {
        let entry = self.asm.here();
        self.returns.push(target);
        dynasm!(self.asm.ops; .arch x64; mov [rsp - 8], rcx);
        let label = self.asm.ops.new_dynamic_label();
        self.table_entry(target.0, |emitter| dynasm!(emitter.asm.ops; .arch x64; jmp =>label));
        self.cold.push(Cold::OtherReturn { label, than: target, entry });
    }

    /// An entry for the table of jumps.
    pub fn jump_entry(&mut self, target: Key) {
        let entry = self.asm.here();
        self.table_entry(target.0, |emitter| {
            // The other may be in another zone, out of a displacement's reach.
            dynasm!(emitter.asm.ops; .arch x64; jmp QWORD [>other]; .align 8; other:);
            let otherwise = emitter.asm.here();
            emitter.table_entries.push(TableEntry { target, lookup: Lookup::Jump, entry, otherwise });
            dynasm!(emitter.asm.ops; .arch x64; .u64 0);
        });
        self.jump_to(target);
    }

    /// Puts the guest's return address where the call has just pushed ours, with one store of eight bytes, and goes on.
    pub(super) fn push_return_address(&mut self, address: u64, go_on: impl FnOnce(&mut Emitter)) {
        if let Ok(address) = i32::try_from(address) {
            dynasm!(self.asm.ops; .arch x64; mov QWORD [rsp], address);
            return go_on(self);
        }
        let constant = self.asm.ops.new_dynamic_label();
        dynasm!(self.asm.ops; .arch x64; lea rsp, [rsp + 8]; push QWORD [=>constant]);
        go_on(self);
        dynasm!(self.asm.ops; .arch x64; .align 8; =>constant; .u64 address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::{Writes, decode};
    use crate::stubs::Stubs;
    use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory};

    #[test]
    fn a_loop_that_has_counted_is_behind_the_guest() {
        // loop, loope, loopne back to a nop
        for opcode in [0xe2, 0xe1, 0xe0] {
            let bytes = [0x90, opcode, 0xfd];
            let decoded = decode(0x1000, &bytes, Mode::Quiet, Writes::AreNothing, &mut InstructionInfoFactory::new());
            let mut emitter = Emitter::new(0x70_0000, Stubs::default(), 0, false);
            emitter.marks = Some(Vec::new());
            emitter.body(&decoded, None);
            emitter.end(&decoded, Mode::Quiet, None);
            emitter.finish_cold();
            let marks = emitter.marks.take().unwrap_or_default();
            let code = emitter.asm.finish();
            let stands = |at: u64| marks.iter().rev().find(|(from, _)| *from <= at).map(|(_, mark)| *mark);
            // The nop, the loop, the jump over the way back, the way back, the way on.
            let pcs = [0x1000, 0x1001, 0x1003, 0x1000, 0x1003];
            let emitted = Decoder::with_ip(64, &code, 0x70_0000, DecoderOptions::NONE).into_iter();
            for (instr, pc) in emitted.zip(pcs) {
                assert_eq!(stands(instr.ip()), Some(Interrupted::At { pc, spilled: [None, None] }), "{instr}");
            }
        }
    }
}
