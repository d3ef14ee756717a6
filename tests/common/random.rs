//! Random numbers, ordinary and special: what tests feed to instructions.

/// A small deterministic generator (xorshift64*), so that a failure comes back.
pub struct Random(u64);

// Each test file uses its own part of this.
#[allow(dead_code)]
impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit
    }

    pub fn double(&mut self) -> u64 {
        const SPECIAL: [u64; 14] = [
            0,
            1 << 63,
            1,                     // the smallest subnormal
            0x800f_ffff_ffff_ffff, // the largest, negative
            0x0010_0000_0000_0000, // the smallest normal
            0x7fef_ffff_ffff_ffff, // the largest number
            0x7ff0_0000_0000_0000,
            0xfff0_0000_0000_0000,
            0x7ff8_0000_0000_0000, // quiet NaNs
            0xfff8_dead_beef_0001,
            0x7ff0_0000_0000_0001, // signalling NaNs
            0xfff4_0000_2000_0000,
            0x41e0_0000_0000_0000, // 2^31
            0xc3e0_0000_0000_0000, // -2^63
        ];
        match self.below(4) {
            0 => SPECIAL[self.below(SPECIAL.len())],
            1 => self.next(),
            2 => (self.below(2001) as f64 - 1000.0).to_bits(),
            _ => {
                let exponent = 1023 - 40 + self.below(80) as u64;
                self.next() & 0x800f_ffff_ffff_ffff | exponent << 52
            }
        }
    }

    pub fn single(&mut self) -> u32 {
        const SPECIAL: [u32; 14] = [
            0,
            1 << 31,
            1,
            0x807f_ffff,
            0x0080_0000,
            0x7f7f_ffff,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0xffc0_beef,
            0x7f80_0001,
            0xffa0_0000,
            0x4f00_0000, // 2^31
            0xdf00_0000, // -2^63
        ];
        match self.below(4) {
            0 => SPECIAL[self.below(SPECIAL.len())],
            1 => self.next() as u32,
            2 => (self.below(2001) as f32 - 1000.0).to_bits(),
            _ => {
                let exponent = 127 - 20 + self.below(40) as u32;
                self.next() as u32 & 0x807f_ffff | exponent << 23
            }
        }
    }

    pub fn vector(&mut self) -> u128 {
        match self.below(3) {
            0 => (0..4).fold(0, |bits, _| bits << 32 | self.single() as u128),
            1 => (0..2).fold(0, |bits, _| bits << 64 | self.double() as u128),
            // Masks, as comparisons leave them and as signs are changed with.
            _ => (0..4).fold(0, |bits, _| {
                let granule = [0u32, u32::MAX, 1 << 31, u32::MAX >> 1, self.single()][self.below(5)];
                bits << 32 | granule as u128
            }),
        }
    }
}
