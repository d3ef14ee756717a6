//! Values out of granules: how what lies side by side in a register becomes one value, or the fewest.

use super::{Builder, opaque};
use crate::registers::Granule;
use fpgrind_ir::{Op, Place, Reg, Type, Value};

impl Builder {
    /// One value of this type out of known granules.
    pub fn assemble(&mut self, granules: &[Granule], ty: Type) -> Value {
        if let Some(bits) = self.constant_bits(granules) {
            return self.constant(ty, bits);
        }
        match granules[0] {
            Granule::Part { value, index } if self.run(granules) == granules.len() => {
                if index == 0 && self.has_type(value, ty) { value } else { self.extract(value, index, ty) }
            }
            _ => {
                let parts = self.pieces(granules).into_iter().map(|(_, value)| value).collect();
                self.value(ty, Op::Concat { parts })
            }
        }
    }

    pub(super) fn extract(&mut self, from: Value, granule: u8, ty: Type) -> Value {
        if let Some(value) = self.extracts.get(&(from, granule, ty)) {
            return *value;
        }
        let value = self.value(ty, Op::Extract { from, granule });
        self.extracts.insert((from, granule, ty), value);
        value
    }

    /// Is the value of this type, or can it be? What was logged as opaque bits takes the type of its first reader.
    fn has_type(&mut self, value: Value, wanted: Type) -> bool {
        let stmt = &mut self.block.stmts[value.index()];
        let Some(ty) = stmt.ty else { return false };
        if ty == wanted {
            if !ty.is_float() {
                self.pinned.insert(value);
            }
            return true;
        }
        let of_register = |place: &Place| matches!(place.reg, Reg::Vec(_));
        let undecided = match &stmt.op {
            Op::Load { .. } => true,
            Op::Live { place, .. } | Op::Fresh { place, .. } => of_register(place),
            _ => false,
        };
        let retyped = undecided
            && !ty.is_float()
            && wanted.is_float()
            && ty.bytes() == wanted.bytes()
            && !self.pinned.contains(&value);
        if retyped {
            stmt.ty = Some(wanted);
        }
        retyped
    }

    /// The granules as the fewest values, each with the granule where it begins. Unknown and untouched ones are left
    /// out.
    pub fn pieces(&mut self, granules: &[Granule]) -> Vec<(usize, Value)> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while at < granules.len() {
            let rest = &granules[at..];
            let Granule::Part { value, index } = rest[0] else {
                at += 1;
                continue;
            };
            // Parts of values are cut so that a piece lies at a multiple of its own size.
            let fits = |size: usize, run: usize| run >= size && at.is_multiple_of(size);
            let constants = rest.iter().take_while(|granule| self.constant_bits(&[**granule]).is_some()).count();
            let run = self.run(rest);
            let whole = self.block.type_of(value).map_or(0, |ty| ty.granules());
            let (size, piece) = if constants > 0 {
                let size = [4, 2, 1].into_iter().find(|&size| fits(size, constants)).unwrap_or(1);
                let bits = self.constant_bits(&rest[..size]).unwrap_or(0);
                (size, self.constant(opaque(size), bits))
            } else if run == whole {
                (whole, value)
            } else {
                let size = [2, 1].into_iter().find(|&size| fits(size, run)).unwrap_or(1);
                (size, self.extract(value, index, opaque(size)))
            };
            pieces.push((at, piece));
            at += size;
        }
        pieces
    }

    /// How many granules from the first on follow each other in one value.
    fn run(&self, granules: &[Granule]) -> usize {
        let Granule::Part { value: first, index: start } = granules[0] else { return 0 };
        (start..)
            .zip(granules)
            .take_while(|(expected, granule)| **granule == Granule::Part { value: first, index: *expected })
            .count()
    }

    /// The bits of granules that are all constant.
    pub fn constant_bits(&self, granules: &[Granule]) -> Option<u128> {
        let mut bits = 0;
        for (at, granule) in granules.iter().enumerate() {
            let Granule::Part { value, index } = *granule else { return None };
            let Op::Const { bits: whole } = self.block.stmts[value.index()].op else { return None };
            bits |= (whole >> (32 * index as u32) & 0xffff_ffff) << (32 * at as u32);
        }
        Some(bits)
    }
}
