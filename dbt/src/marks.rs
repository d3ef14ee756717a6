//! What a program tells by the macros of include/fpgrind.h: an instruction each that does nothing, with a displacement that no compiler pads with.

use crate::guest::Guest;
use crate::service::Service;
use fpgrind_analysis::log::{Conversion, Event, Origin, Output, OutputArg};
use fpgrind_ir::Type;
use fpgrind_wrappers::marked;
use iced_x86::{Code, Instruction, Register};
use std::sync::mpsc::channel;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Begin,
    End,
    /// The float at the address in rdi is a result.
    Output(Type),
    /// How wrong is the float at the address in rdi? The answer goes into rax.
    Error(Type),
}

const RAX: usize = 0;
const RDI: usize = 7;

/// "fpg" and a mark.
const MAGIC: u64 = 0x6670_6700;
const FORMATS: [Type; 3] = [Type::F32, Type::F64, Type::F80];

impl Mark {
    /// The mark that an instruction is.
    pub fn of(instr: &Instruction) -> Option<Mark> {
        let is_mark = instr.code() == Code::Nop_rm32
            && (instr.memory_base(), instr.memory_index()) == (Register::RAX, Register::None)
            && instr.memory_displacement64() & !0xff == MAGIC;
        let number = is_mark.then(|| instr.memory_displacement64() as usize & 0xff)?;
        let format = FORMATS.get(number & 15).copied();
        match (number >> 4, number & 15) {
            (0, 1) => Some(Mark::Begin),
            (0, 2) => Some(Mark::End),
            (1, _) => format.map(Mark::Output),
            (2, _) => format.map(Mark::Error),
            _ => None,
        }
    }
}

/// Does a program say in its file that it has regions?
pub fn has_regions(pid: i32) -> bool {
    use object::Object;
    let Ok(opened) = std::fs::File::open(format!("/proc/{pid}/exe")) else { return false };
    // SAFETY: if somebody truncates the file meanwhile we are killed, as the guest that executes it would be.
    let Ok(data) = (unsafe { memmap2::Mmap::map(&opened) }) else { return false };
    object::File::parse(&*data).is_ok_and(|file| file.section_by_name(".note.fpgrind").is_some())
}

impl Service {
    /// The guest stands at a mark, behind which is `next`.
    pub(crate) fn marked(&self, mark: Mark, next: u64) {
        let (Mark::Output(ty) | Mark::Error(ty)) = mark else { return };
        let address = self.context().gpr[RDI];
        let mut bytes = [0; 16];
        if !Guest::new(self.thread.tid).read(address, &mut bytes[..ty.bytes()]) {
            return;
        }
        let bits = u128::from_le_bytes(bytes);
        let arg = OutputArg { ty, bits, origin: Origin::Memory(address), argument: 0, conversion: Conversion::NONE };
        if let Mark::Output(_) = mark {
            return self.append(&Output { pc: next, function: marked(), args: vec![arg] }.encode());
        }
        self.hand_over();
        let (sender, answer) = channel();
        self.publisher.send(Event::Asked { thread: self.thread.number, of: arg, answer: sender });
        // Where nobody analyses, nobody answers.
        self.context().gpr[RAX] = answer.recv().unwrap_or(0.0).to_bits();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn mark(bytes: &[u8]) -> Option<Mark> {
        Mark::of(&Decoder::new(64, bytes, DecoderOptions::NONE).decode())
    }

    #[test]
    fn marks_are_told_from_what_pads() {
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 1, 0x67, 0x70, 0x66]), Some(Mark::Begin));
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 2, 0x67, 0x70, 0x66]), Some(Mark::End));
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 0x12, 0x67, 0x70, 0x66]), Some(Mark::Output(Type::F80)));
        assert_eq!(mark(&[0x0f, 0x1f, 0x80, 0x20, 0x67, 0x70, 0x66]), Some(Mark::Error(Type::F32)));
        for other in [
            &[0x0f, 0x1f, 0x80, 0, 0, 0, 0][..],
            &[0x0f, 0x1f, 0x80, 0, 0x67, 0x70, 0x66],
            &[0x0f, 0x1f, 0x80, 0x13, 0x67, 0x70, 0x66],
            &[0x0f, 0x1f, 0x83, 1, 0x67, 0x70, 0x66],
            &[0x66, 0x0f, 0x1f, 0x80, 1, 0x67, 0x70, 0x66],
            &[0x8b, 0x80, 1, 0x67, 0x70, 0x66],
            &[0x90],
        ] {
            assert_eq!(mark(other), None, "{other:x?}");
        }
    }
}
