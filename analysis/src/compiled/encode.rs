//! Instructions whose operands are known only when code is made, in as few bytes as they can have: dynasm writes the longest form of them. Blocks are
//! long and straight, and their code is fetched and decoded all the time.

use super::*;
use std::sync::LazyLock;

/// An xmm register, and a general one.
pub type Xmm = u8;
pub type Gpr = u8;

/// Where what is known of an argument is, or any other memory.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub register: Gpr,
    pub distance: i32,
}

impl At {
    pub fn further(self, by: usize) -> At {
        At { distance: self.distance + by as i32, ..self }
    }
}

/// The last operand: a register, or memory.
#[derive(Clone, Copy)]
pub enum Operand {
    Register(Xmm),
    Memory(At),
}

impl From<Xmm> for Operand {
    fn from(register: Xmm) -> Operand {
        Operand::Register(register)
    }
}

impl From<At> for Operand {
    fn from(at: At) -> Operand {
        Operand::Memory(at)
    }
}

/// An instruction: its prefix, the map of its opcode and whether that is W1, as a VEX prefix has them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Avx {
    prefix: u8,
    map: u8,
    wide: u8,
    opcode: u8,
}

const fn of(prefix: u8, opcode: u8) -> Avx {
    Avx { prefix, map: 1, wide: 0, opcode }
}

const fn fused(opcode: u8) -> Avx {
    Avx { prefix: PACKED, map: 2, wide: 1, opcode }
}

const PACKED: u8 = 1;
const SINGLE: u8 = 2;
const DOUBLE: u8 = 3;

/// On doubles.
pub const ADD: Avx = of(DOUBLE, 0x58);
pub const SUB: Avx = of(DOUBLE, 0x5c);
pub const MUL: Avx = of(DOUBLE, 0x59);
pub const DIV: Avx = of(DOUBLE, 0x5e);
pub const MIN: Avx = of(DOUBLE, 0x5d);
pub const SQRT: Avx = of(DOUBLE, 0x51);
/// The first times the second plus the third, and the like: numbers as in the instructions' names.
pub const FMADD132: Avx = fused(0x99);
pub const FMADD213: Avx = fused(0xa9);
pub const FMADD231: Avx = fused(0xb9);
pub const FMSUB132: Avx = fused(0x9b);
pub const FMSUB213: Avx = fused(0xab);
pub const FNMADD132: Avx = fused(0x9d);
pub const FNMADD231: Avx = fused(0xbd);
/// On singles.
pub const ADD_SINGLE: Avx = of(SINGLE, 0x58);
pub const SUB_SINGLE: Avx = of(SINGLE, 0x5c);
pub const MUL_SINGLE: Avx = of(SINGLE, 0x59);
pub const DIV_SINGLE: Avx = of(SINGLE, 0x5e);
pub const SQRT_SINGLE: Avx = of(SINGLE, 0x51);
pub const FMADD213_SINGLE: Avx = Avx { wide: 0, ..fused(0xa9) };
pub const TO_DOUBLE: Avx = of(SINGLE, 0x5a);
pub const TO_SINGLE: Avx = of(DOUBLE, 0x5a);
/// On pairs of doubles.
pub const ADD_PAIRS: Avx = of(PACKED, 0x58);
pub const SUB_PAIRS: Avx = of(PACKED, 0x5c);
pub const AND: Avx = of(PACKED, 0x54);
pub const OR: Avx = of(PACKED, 0x56);
pub const XOR: Avx = of(PACKED, 0x57);
/// Pairs of the first of both, and of the second.
pub const FIRST: Avx = of(PACKED, 0x14);
pub const SECOND: Avx = of(PACKED, 0x15);
/// These have no second operand.
const LOAD: Avx = of(DOUBLE, 0x10);
const LOAD_PAIR: Avx = of(PACKED, 0x10);
const STORE: Avx = of(DOUBLE, 0x11);
const COPY: Avx = of(PACKED, 0x28);

/// Which may have their last two operands the other way round. (If both are NaN that shows, and nobody looks.)
const COMMUTE: [Avx; 6] = [ADD, MUL, ADD_PAIRS, AND, OR, XOR];

/// An instruction on a general register and memory.
#[derive(Clone, Copy)]
pub struct General {
    wide: bool,
    opcode: u8,
}

pub const FETCH: General = General { wide: false, opcode: 0x8b };
pub const FETCH_WIDE: General = General { wide: true, opcode: 0x8b };
pub const JOIN: General = General { wide: false, opcode: 0x0b };

/// What writes them.
pub trait Write: DynasmApi {
    fn avx(&mut self, instruction: Avx, to: Xmm, a: Xmm, b: impl Into<Operand>) {
        let Avx { prefix, map, wide, opcode } = instruction;
        let (mut a, mut b) = (a, b.into());
        if let Operand::Register(last) = b
            && last >= 8
            && a < 8
            && COMMUTE.contains(&instruction)
        {
            (a, b) = (last, Operand::Register(a));
        }
        let last = match b {
            Operand::Register(last) => last,
            Operand::Memory(At { register, .. }) => register,
        };
        // Upper bits of registers' numbers are inverted, as is the second operand.
        let upper = |register: u8| (!register >> 3) & 1;
        let rest = wide << 7 | (!a & 15) << 3 | prefix;
        if upper(last) == 1 && map == 1 && wide == 0 {
            self.push(0xc5);
            self.push(upper(to) << 7 | rest);
        } else {
            self.push(0xc4);
            self.push(upper(to) << 7 | 1 << 6 | upper(last) << 5 | map);
            self.push(rest);
        }
        self.push(opcode);
        match b {
            Operand::Register(last) => self.push(3 << 6 | (to & 7) << 3 | last & 7),
            Operand::Memory(at) => self.memory(to, at),
        }
    }

    fn general(&mut self, General { wide, opcode }: General, to: Gpr, from: At) {
        let rex = 0x40 | (wide as u8) << 3 | to >> 3 << 2 | from.register >> 3;
        if rex != 0x40 {
            self.push(rex);
        }
        self.push(opcode);
        self.memory(to, from);
    }

    /// What says where in memory an operand is.
    fn memory(&mut self, to: u8, at: At) {
        let At { register, distance } = at;
        let short = i8::try_from(distance).ok();
        let mode = match short {
            // (With rbp and r13 that means something else.)
            Some(0) if register & 7 != 5 => 0,
            Some(_) => 1,
            None => 2,
        };
        self.push(mode << 6 | (to & 7) << 3 | register & 7);
        // rsp and r12 are indices of nothing.
        if register & 7 == 4 {
            self.push(0x24);
        }
        match (mode, short) {
            (0, _) => {}
            (_, Some(distance)) => self.push_i8(distance),
            _ => self.push_i32(distance),
        }
    }

    fn copy(&mut self, to: Xmm, from: Xmm) {
        self.avx(COPY, to, 0, from);
    }

    fn load(&mut self, to: Xmm, from: At) {
        self.avx(LOAD, to, 0, from);
    }

    fn load_pair(&mut self, to: Xmm, from: At) {
        self.avx(LOAD_PAIR, to, 0, from);
    }

    fn store(&mut self, from: Xmm, to: At) {
        self.avx(STORE, from, 0, to);
    }
}

impl<A: DynasmApi> Write for A {}

/// Pads, so that a branch which takes so many bytes, with the comparison before it, lies within thirty-two: Intel's CPUs of the Skylake family, whose
/// erratum SKX102 that is, decode others each time. For others it would be one more instruction.
pub fn keep_together(asm: &mut impl DynasmApi, bytes: usize) {
    static IS_INTEL: LazyLock<bool> = LazyLock::new(|| {
        let vendor = std::arch::x86_64::__cpuid(0);
        [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).concat() == b"GenuineIntel"
    });
    if *IS_INTEL {
        pad(asm, bytes);
    }
}

fn pad(asm: &mut impl DynasmApi, bytes: usize) {
    const LINE: usize = 32;
    const NOPS: [&[u8]; 9] = [
        &[0x90],
        &[0x66, 0x90],
        &[0x0f, 0x1f, 0x00],
        &[0x0f, 0x1f, 0x40, 0x00],
        &[0x0f, 0x1f, 0x44, 0x00, 0x00],
        &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
        &[0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00],
        &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
        &[0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00],
    ];
    let at = asm.offset().0 % LINE;
    let mut room = if at + bytes < LINE { 0 } else { LINE - at };
    while room > 0 {
        let nop = NOPS[room.min(NOPS.len()) - 1];
        asm.extend(nop);
        room -= nop.len();
    }
}

/// An instruction on memory at some distance from a register, with as few bytes for that as it takes.
macro_rules! near {
    ($asm:expr; $op:tt $to:tt, [$base:tt + $at:expr]) => {
        match i8::try_from($at) {
            Ok(at) => dynasm!($asm; .arch x64; $op $to, [BYTE $base + at]),
            Err(_) => dynasm!($asm; .arch x64; $op $to, [$base + $at]),
        }
    };
    ($asm:expr; $op:tt [$base:tt + $at:expr], $from:tt) => {
        match i8::try_from($at) {
            Ok(at) => dynasm!($asm; .arch x64; $op [BYTE $base + at], $from),
            Err(_) => dynasm!($asm; .arch x64; $op [$base + $at], $from),
        }
    };
    ($asm:expr; $op:tt $size:tt [$base:tt + $at:expr], $from:expr) => {
        match i8::try_from($at) {
            Ok(at) => dynasm!($asm; .arch x64; $op $size [BYTE $base + at], $from),
            Err(_) => dynasm!($asm; .arch x64; $op $size [$base + $at], $from),
        }
    };
    ($asm:expr; $op:tt $size:tt [$base:tt + $at:expr]) => {
        match i8::try_from($at) {
            Ok(at) => dynasm!($asm; .arch x64; $op $size [BYTE $base + at]),
            Err(_) => dynasm!($asm; .arch x64; $op $size [$base + $at]),
        }
    };
}
pub(super) use near;

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
