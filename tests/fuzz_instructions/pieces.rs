//! Sequences as they are put together: pieces of code with labels, and their assembly at an address.

use super::layout::{CONTROL, control};
use iced_x86::{Code, Encoder, Instruction, Register};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label(pub usize);

#[derive(Clone, Debug)]
pub enum Piece {
    Instr(Instruction),
    /// With prefix bytes in front that the encoder would not write.
    Prefixed(Vec<u8>, Instruction),
    /// A direct branch, after prefix bytes.
    Branch(Vec<u8>, Code, Label),
    /// `lea register, [rip + label]`, plus so many bytes.
    Address(Register, Label, u64),
    Label(Label),
    Bytes(Vec<u8>),
    /// Off to the end of the sequence.
    Finish,
}

/// What belongs together: leaving one out leaves a sequence.
#[derive(Clone, Debug, Default)]
pub struct Item {
    pub pieces: Vec<Piece>,
    /// Code behind the end of the sequence: called functions and the like.
    pub outside: Vec<Piece>,
}

/// Instructions run one after the other, more or less.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    pub items: Vec<Item>,
    pub aligned: bool,
}

impl Sequence {
    /// Instructions, as written down; loops run some of them more often.
    pub fn instructions(&self) -> usize {
        let pieces = self.items.iter().flat_map(|item| item.pieces.iter().chain(&item.outside));
        pieces.filter(|piece| !matches!(piece, Piece::Label(_))).count()
    }

    /// The bytes at this address, ending with a jump to `end`. Nothing if a branch is out of reach.
    pub fn assemble(&self, address: u64, end: u64) -> Option<Vec<u8>> {
        let finish = [Piece::Finish];
        let inside = self.items.iter().flat_map(|item| &item.pieces);
        let outside = self.items.iter().flat_map(|item| &item.outside);
        let pieces: Vec<&Piece> = inside.chain(&finish).chain(outside).collect();
        // Lengths do not depend on where labels are.
        let mut labels = Vec::new();
        let mut at = address;
        for piece in &pieces {
            if let Piece::Label(label) = piece {
                labels.push((*label, at));
            }
            at += encode(piece, at, |_| at, end)?.len() as u64;
        }
        let place = |label: Label| labels.iter().find(|(known, _)| *known == label).map_or(end, |(_, at)| *at);
        let mut bytes = Vec::new();
        for piece in &pieces {
            bytes.extend(encode(piece, address + bytes.len() as u64, place, end)?);
        }
        Some(bytes)
    }
}

fn encode(piece: &Piece, at: u64, place: impl Fn(Label) -> u64, end: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let instr = match piece {
        Piece::Label(_) => return Some(bytes),
        Piece::Bytes(raw) => return Some(raw.clone()),
        Piece::Instr(instr) => *instr,
        Piece::Prefixed(prefixes, instr) => {
            bytes.extend(prefixes);
            *instr
        }
        Piece::Branch(prefixes, code, label) => {
            bytes.extend(prefixes);
            Instruction::with_branch(*code, place(*label)).ok()?
        }
        Piece::Address(register, label, offset) => {
            let operand = iced_x86::MemoryOperand::with_base_displ(Register::RIP, (place(*label) + offset) as i64);
            Instruction::with2(Code::Lea_r64_m, *register, operand).ok()?
        }
        Piece::Finish => {
            return Some(match i32::try_from(end.wrapping_sub(at + 5) as i64) {
                Ok(near) => [&[0xe9][..], &near.to_le_bytes()].concat(),
                // jmp [CONTROL + SAVE]
                Err(_) => [&[0xff, 0x24, 0x25][..], &(CONTROL as i32 + control::SAVE).to_le_bytes()].concat(),
            });
        }
    };
    let mut encoder = Encoder::new(64);
    encoder.encode(&instr, at + bytes.len() as u64).ok()?;
    bytes.extend(encoder.take_buffer());
    Some(bytes)
}
