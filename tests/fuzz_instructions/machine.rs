//! Machine states to start from, with everything that this CPU has: an XSAVE area holds it (Intel SDM volume 1, chapter 13).

use super::layout::{ARENA, STACK_TOP, STATE_FLAGS, STATE_XSAVE};
use super::random::Random;
use std::arch::asm;
use std::arch::x86_64::__cpuid_count;

/// x87, SSE, AVX, and AVX-512's masks and registers. Protection keys are left alone.
const COMPONENTS: u64 = 0b1110_0111;

/// How this CPU lays out its XSAVE area.
#[derive(Clone, Debug)]
pub struct XsaveArea {
    pub mask: u64,
    pub size: usize,
    /// Offset and size of each component from AVX on.
    components: Vec<(u32, usize, usize)>,
    may_be_unused: u64,
}

impl XsaveArea {
    pub fn of_this_cpu() -> XsaveArea {
        assert!(is_x86_feature_detected!("xsave"), "sequences start from an XSAVE area");
        let (low, high): (u32, u32);
        // SAFETY: reads a register; XSAVE is there, and then so is XGETBV.
        unsafe { asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack)) };
        let mask = (low as u64 | (high as u64) << 32) & COMPONENTS;
        let components: Vec<_> = (2..8u32)
            .filter(|n| mask >> n & 1 == 1)
            .map(|n| {
                let leaf = __cpuid_count(0xd, n);
                (n, leaf.ebx as usize, leaf.eax as usize)
            })
            .collect();
        let size = components.iter().map(|(_, offset, size)| offset + size).fold(576, usize::max);
        XsaveArea { mask, size, components, may_be_unused: may_be_unused() }
    }
}

/// FCW that masks everything, MXCSR that does.
const FCW: u16 = 0x37f;
const MXCSR: u32 = 0x1f80;

pub const CARRY: u64 = 1;
pub const DIRECTION: u64 = 1 << 10;
pub const ALIGNMENT: u64 = 1 << 18;
/// The flags that a program can set at will, but for those above: PF, AF, ZF, SF, OF, ID.
pub const PLAIN_FLAGS: u64 = CARRY | 1 << 2 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 11 | 1 << 21;

/// A state to start from.
#[derive(Clone)]
pub struct State {
    pub general: [u64; 16],
    pub flags: u64,
    pub xsave: Vec<u8>,
}

impl State {
    /// General registers are numbers, some of them addresses.
    pub fn random(random: &mut Random, area: &XsaveArea, aligned: bool, unmasked: bool) -> State {
        let mut general = std::array::from_fn(|_| match random.below(4) {
            0 => random.next(),
            1 => random.below(64) as u64,
            2 => ARENA + random.below(2048) as u64,
            _ => random.vector() as u64,
        });
        general[4] = STACK_TOP;
        let mut flags = 2 | random.next() & PLAIN_FLAGS;
        if random.below(10) == 0 {
            flags |= DIRECTION;
        }
        if aligned {
            flags |= ALIGNMENT;
        }
        State { general, flags, xsave: xsave(random, area, unmasked) }
    }

    /// As the driver reads it.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.general.iter().flat_map(|register| register.to_le_bytes()).collect();
        debug_assert_eq!(bytes.len(), STATE_FLAGS);
        bytes.extend(self.flags.to_le_bytes());
        bytes.resize(STATE_XSAVE, 0);
        bytes.extend(&self.xsave);
        bytes.resize(bytes.len().next_multiple_of(64), 0);
        bytes
    }
}

fn xsave(random: &mut Random, area: &XsaveArea, unmasked: bool) -> Vec<u8> {
    let mut bytes = vec![0; area.size];
    // Precision and rounding of x87, condition bits and top of stack, tags; rounding, flushing and sticky flags of SSE.
    let mut fcw = FCW & !0xf00 | [0, 2, 3][random.below(3)] << 8 | (random.below(4) as u16) << 10;
    let mut fsw = random.next() as u16 & 0x7f7f;
    let mut mxcsr = MXCSR | (random.below(4) as u32) << 13;
    mxcsr |= [0, 0, 1 << 15, 1 << 6, 1 << 15 | 1 << 6][random.below(5)] | random.below(64) as u32;
    if unmasked {
        fcw &= !(random.below(64) as u16);
        fsw &= !0x7f;
        mxcsr &= !((random.below(64) as u32) << 7 | 0x3f);
    }
    bytes[0..2].copy_from_slice(&fcw.to_le_bytes());
    bytes[2..4].copy_from_slice(&fsw.to_le_bytes());
    bytes[4] = [0, random.next() as u8, 0xff][random.below(3)];
    bytes[24..28].copy_from_slice(&mxcsr.to_le_bytes());
    bytes[28..32].copy_from_slice(&0xffffu32.to_le_bytes());
    for register in bytes[32..160].chunks_exact_mut(16) {
        register[..10].copy_from_slice(&extended(random));
    }
    let mut vectors = |bytes: &mut [u8]| {
        for piece in bytes.chunks_exact_mut(8) {
            piece.copy_from_slice(&(random.vector() as u64).to_le_bytes());
        }
    };
    vectors(&mut bytes[160..416]);
    for (_, offset, size) in &area.components {
        vectors(&mut bytes[*offset..offset + size]);
    }
    // Sometimes upper halves are as after VZEROUPPER, or there are no masks.
    let optional = area.components.iter().filter(|_| random.below(3) == 0).fold(0, |set, (n, ..)| set | 1u64 << n);
    bytes[512..520].copy_from_slice(&(area.mask & !(optional & area.may_be_unused)).to_le_bytes());
    bytes
}

/// The component with the upper halves of the first sixteen registers.
const AVX: u32 = 2;

/// The components that sequences may begin without. On an AMD EPYC (family 25, model 17) in a virtual machine (Linux 6.18) upper halves that were zero came
/// back, in one of five runs of a translated sequence, as what they had been before the sequence's state was loaded; natively that was not
/// seen, nor was it found out who forgets them. So they are in use there.
fn may_be_unused() -> u64 {
    let vendor = __cpuid_count(0, 0);
    let is_amd =
        [vendor.ebx, vendor.edx, vendor.ecx] == [b"Auth", b"enti", b"cAMD"].map(|text| u32::from_le_bytes(*text));
    if is_amd { !(1 << AVX) } else { u64::MAX }
}

/// An 80-bit number: ordinary, special, or any bits.
fn extended(random: &mut Random) -> [u8; 10] {
    let (mantissa, exponent) = match random.below(4) {
        0 => (random.next(), random.next() as u16),
        1 => (1 << 63 | random.next() << 30, 16383 + random.below(80) as u16 - 40),
        2 => (1 << 63 | random.next(), (random.below(2) as u16) << 15 | (16383 + random.below(20) as u16)),
        _ => ([0, 1 << 63, 3 << 62, 1][random.below(4)], [0, 0x7fff, 0xffff, 0x8000, 1][random.below(5)]),
    };
    let mut bytes = [0; 10];
    bytes[..8].copy_from_slice(&u64::to_le_bytes(mantissa));
    bytes[8..].copy_from_slice(&exponent.to_le_bytes());
    bytes
}
