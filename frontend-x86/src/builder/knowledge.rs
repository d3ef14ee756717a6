//! What is known of where a granule came from: whether there can be a float in it.

use super::Builder;
use crate::registers::Granule;
use fpgrind_ir::{Op, Reg, Type, Value};

impl Builder {
    /// Can there be a shadow in this granule of a vector register? Not in a constant, or in what is newly made. What comes from a
    /// general register may be a float that was kept there over a call.
    pub fn may_carry_float(&self, granule: Granule) -> bool {
        match granule {
            Granule::Untouched => true,
            Granule::Unknown => false,
            Granule::Part { value, .. } => self.value_may_carry_float(value, true),
        }
    }

    /// Is there likely one in this granule of a general register? Only if the block itself put it there: most are integers.
    pub fn likely_carries_float(&self, granule: Granule) -> bool {
        matches!(granule, Granule::Part { value, .. } if self.value_may_carry_float(value, false))
    }

    pub(super) fn value_may_carry_float(&self, value: Value, from_general: bool) -> bool {
        match &self.block.stmts[value.index()].op {
            Op::Const { .. } | Op::Fresh { .. } | Op::Advance { .. } => false,
            Op::Live { place, .. } => from_general || matches!(place.reg, Reg::Vec(_)),
            Op::Extract { from, .. } | Op::Half { from, .. } => self.value_may_carry_float(*from, from_general),
            Op::Concat { parts } => parts.iter().any(|&part| self.value_may_carry_float(part, from_general)),
            _ => true,
        }
    }

    pub(super) fn is_fresh(&self, granule: Granule) -> bool {
        matches!(self.origin(granule), None | Some(Op::Fresh { .. })) && granule != Granule::Untouched
    }

    /// Is it what a general register held when the block was entered?
    pub fn is_entered(&self, granule: Granule) -> bool {
        granule == Granule::Untouched
            || matches!(self.origin(granule), Some(Op::Live { place, .. }) if matches!(place.reg, Reg::Gpr(_)))
    }

    /// Did a comparison make it?
    pub fn is_mask(&self, granule: Granule) -> bool {
        matches!(self.origin(granule), Some(Op::Mask { .. }))
    }

    /// The operation that made a granule.
    pub(super) fn origin(&self, granule: Granule) -> Option<&Op> {
        let Granule::Part { mut value, .. } = granule else { return None };
        while let Op::Extract { from, .. } | Op::Half { from, .. } = self.block.stmts[value.index()].op {
            value = from;
        }
        Some(&self.block.stmts[value.index()].op)
    }

    /// The value that begins at a granule, if it is a float that the block has computed.
    pub fn computed_float(&self, granule: Granule, ty: Type) -> Option<Value> {
        let Granule::Part { value, index: 0 } = granule else { return None };
        let computed = matches!(self.block.stmts[value.index()].op, Op::Apply { .. } | Op::Pick { .. });
        (computed && self.type_of(value) == ty).then_some(value)
    }

    /// An instruction that is not followed computes with the register: floats that the block knows to be in it end there, if it is for good as
    /// integers.
    pub fn lose(&mut self, reg: Reg, for_good: bool) {
        let values: Vec<Value> = match reg {
            Reg::Gpr(number) if self.generals[number as usize].may_be_float => {
                let granules = self.generals[number as usize].granules;
                let values = self.pieces(&granules).into_iter().map(|(_, value)| value);
                // What another block has left is not logged to be counted only.
                values.filter(|value| self.value_may_carry_float(*value, false)).collect()
            }
            Reg::Vec(number) => {
                let granules = self.vectors[number as usize].granules;
                let float = |granule: &Granule| {
                    [Type::F32, Type::F64].into_iter().find_map(|ty| self.computed_float(*granule, ty))
                };
                granules.iter().filter_map(float).collect()
            }
            _ => return,
        };
        for value in values {
            self.effect(Op::Lose { value });
            if for_good {
                let said = self.escape(value);
                self.confirm(&[said].into());
            }
        }
    }
}
