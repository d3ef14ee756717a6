//! General registers: parts of addresses, and carriers of floats.

use super::{Builder, Source};
use crate::registers::{General, Granule};
use fpgrind_ir::{Op, Place, Reg, Slot, Type, Value};

impl Builder {
    /// The contents of a general register as part of an address.
    pub fn address_part(&mut self, number: u8) -> Value {
        let general = self.generals[number as usize];
        if let Some(value) = general.logged {
            return value;
        }
        let (place, slot) = (Place::gpr(number), Slot::UNASSIGNED);
        let untouched = general.granules == [Granule::Untouched; 2];
        let value = self.value(Type::B64, if untouched { Op::Live { place, slot } } else { Op::Fresh { place, slot } });
        self.generals[number as usize].logged = Some(value);
        value
    }

    /// What a base and an index add to an address: in one value, unless both are known already.
    pub fn address_parts(&mut self, base: u8, index: u8, scale: u8) -> (Value, Option<(Value, u8)>) {
        if let (Some(base), Some(index)) = (self.generals[base as usize].logged, self.generals[index as usize].logged) {
            return (base, Some((index, scale)));
        }
        let reg = Reg::Sum { base, index, scale };
        if let Some((_, value)) = self.sums.iter().find(|(sum, _)| *sum == reg) {
            return (*value, None);
        }
        let value = self.value(Type::B64, Op::Live { place: Place::whole(reg), slot: Slot::UNASSIGNED });
        self.sums.push((reg, value));
        (value, None)
    }

    /// A constant is added to a general register. What is known of addresses with it in them stays known.
    pub fn advance(&mut self, number: u8, by: u64) {
        let logged = self.generals[number as usize].logged;
        let sums = std::mem::take(&mut self.sums);
        self.forget(Reg::Gpr(number));
        self.generals[number as usize].logged = logged.map(|value| self.advanced(value, by));
        for (sum, value) in sums {
            let Reg::Sum { base, index, scale } = sum else { continue };
            let times = u64::from(base == number) + if index == number { scale.into() } else { 0 };
            let value = if times == 0 { value } else { self.advanced(value, by.wrapping_mul(times)) };
            self.sums.push((sum, value));
        }
    }

    fn advanced(&mut self, value: Value, by: u64) -> Value {
        let (from, by) = match self.block.stmts[value.index()].op {
            Op::Advance { from, by: before } => (from, before.wrapping_add(by)),
            _ => (value, by),
        };
        if by == 0 { from } else { self.value(Type::B64, Op::Advance { from, by }) }
    }

    /// A general register changes.
    pub(super) fn set_general(&mut self, number: u8, general: General) {
        self.generals[number as usize] = general;
        self.sums.retain(|(sum, _)| !matches!(sum, Reg::Sum { base, index, .. } if [*base, *index].contains(&number)));
    }

    pub fn fs_base(&mut self) -> Value {
        if let Some(value) = self.fs_base {
            return value;
        }
        let place = Place { reg: Reg::FsBase, offset: 0 };
        let value = self.value(Type::B64, Op::Live { place, slot: Slot::UNASSIGNED });
        self.fs_base = Some(value);
        value
    }

    pub fn forget_fs_base(&mut self) {
        self.fs_base = None;
    }

    /// A general register takes these contents, which came from `source`.
    pub fn write_general(&mut self, number: u8, granules: [Granule; 2], source: Source) {
        let (logged, may_be_float) = match source {
            Source::Register(Reg::Vec(_)) => (None, true),
            Source::Register(Reg::Gpr(from)) => {
                let from = self.generals[from as usize];
                let whole_copy = granules == from.granules;
                (from.logged.filter(|_| whole_copy), from.may_be_float)
            }
            Source::Granules(_) => (None, self.loads >> number & 1 == 1),
            _ => (None, false),
        };
        let derived = match source {
            Source::Register(Reg::Gpr(from)) => self.generals[from as usize].derived,
            _ => None,
        };
        self.set_general(number, General { granules, logged, may_be_float, derived });
    }

    /// The float of so many bytes in a general register, if it came from a vector register.
    pub fn float_in_general(&mut self, number: u8, bytes: usize) -> Option<Value> {
        let ty = if bytes == 4 { Type::F32 } else { Type::F64 };
        let General { granules, may_be_float, .. } = self.generals[number as usize];
        let known = granules[..ty.granules()].iter().all(|granule| matches!(granule, Granule::Part { .. }));
        (may_be_float && known).then(|| self.assemble(&granules[..ty.granules()], ty))
    }

    pub fn exchange_generals(&mut self, a: u8, b: u8) {
        let [of_a, of_b] = [a, b].map(|number| self.generals[number as usize]);
        self.set_general(a, of_b);
        self.set_general(b, of_a);
        // What is untouched was in the other one.
        for number in [a, b] {
            if self.generals[number as usize].granules.contains(&Granule::Untouched) {
                self.forget(Reg::Gpr(number));
            }
        }
    }
}
