//! What a block leaves behind, and what is claimed of it.

use super::{Builder, VECTORS, opaque};
use crate::registers::{General, Granule, QUARTER, Vector, WHOLE};
use fpgrind_ir::{Block, Op, Place, Reg, Slot, When};

impl Builder {
    /// Claims, to be checked, that the vector registers hold what the present instruction is said to have put there.
    pub fn check_changes(&mut self) {
        for number in 0..VECTORS as u8 {
            let granules = self.vectors[number as usize].granules;
            let known =
                |mask: u16| (0..WHOLE).all(|g| mask & 1 << g == 0 || matches!(granules[g], Granule::Part { .. }));
            let changed = self.changed[number as usize];
            // The lowest quarter is checked as the doubles that it mostly is; singles that no store can log alone, together.
            let mut one_value = |range: std::ops::Range<usize>| self.pieces(&granules[range]).len() == 1;
            let mut shapes = Vec::new();
            if changed & 0b1111 == 0b1111 && known(0b1111) && (one_value(0..4) || !one_value(0..2) || !one_value(2..4))
            {
                shapes.push((0, 4));
            } else {
                if changed & 0b0011 != 0 && changed & 0b0011 != 0b0001 && known(0b0011) {
                    shapes.push((0, 2));
                } else if changed & 0b0001 != 0 && known(0b0001) {
                    shapes.push((0, 1));
                }
                if changed & 0b1100 != 0 && known(0b1100) {
                    shapes.push((2, 2));
                }
            }
            for first in [4, 8, 12] {
                if changed >> first & 0b1111 != 0 && known(0b1111 << first) {
                    shapes.push((first, QUARTER));
                }
            }
            for (first, count) in shapes {
                let value = match self.pieces(&granules[first..first + count])[..] {
                    [(_, value)] => value,
                    _ => self.assemble(&granules[first..first + count], opaque(count)),
                };
                let op = Op::Check { value, place: Place::vec(number, 4 * first as u8), slot: Slot::UNASSIGNED };
                self.push(When::After, None, op);
            }
        }
    }

    /// The registers were loaded from where they had been saved: all are as at the beginning of a block.
    pub fn registers_restored(&mut self) {
        self.vectors = [Vector::UNTOUCHED; VECTORS];
    }

    /// Leaves behind what the registers hold for the blocks that follow.
    pub fn finish(mut self) -> Block {
        self.leave_registers();
        crate::x87::finish(&mut self);
        self.block
    }

    /// Says what the registers hold, as if the block ended here.
    pub fn leave_registers(&mut self) {
        for number in 0..VECTORS as u8 {
            let Vector { granules, written } = self.vectors[number as usize];
            // A newly made float has no shadow: dropping the old one says the same as logging it would. Neither has an upper
            // part that is zero, as most instructions of AVX leave it and vzeroupper all at once.
            let zeroed: [bool; WHOLE] = std::array::from_fn(|g| self.constant_bits(&granules[g..g + 1]) == Some(0));
            let zero_from = WHOLE - zeroed.iter().rev().take_while(|zeroed| **zeroed).count();
            let upper = zero_from.next_multiple_of(QUARTER).max(QUARTER);
            let fresh: [bool; WHOLE] =
                std::array::from_fn(|g| written[g] && (g >= upper || self.is_fresh(granules[g])));
            let kept: [Granule; WHOLE] =
                std::array::from_fn(|g| if written[g] && !fresh[g] { granules[g] } else { Granule::Unknown });
            for (at, value) in self.pieces(&kept) {
                self.effect(Op::Put { place: Place::vec(number, 4 * at as u8), value });
            }
            let mut at = 0;
            while at < WHOLE {
                let run = fresh[at..].iter().take_while(|fresh| **fresh).count();
                if run > 0 {
                    self.effect(Op::Drop { place: Place::vec(number, 4 * at as u8), bytes: 4 * run as u8 });
                }
                at += run.max(1);
            }
        }
        for number in 0..16u8 {
            let General { granules, may_be_float, .. } = self.generals[number as usize];
            if may_be_float {
                for (at, value) in self.pieces(&granules) {
                    self.effect(Op::Put { place: Place { reg: Reg::Gpr(number), offset: 4 * at as u8 }, value });
                }
            }
        }
        self.vectors.iter_mut().for_each(|vector| vector.written = [false; WHOLE]);
    }
}
