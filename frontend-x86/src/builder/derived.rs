//! What general registers, and places in memory that the block has stored them to, hold of floats' bits.

use super::Builder;
use crate::escape::{Cell, Derived, Left, left_in};
use crate::registers::Granule;
use fpgrind_ir::{Op, Reg, Type, Value, When};
use std::collections::BTreeSet;

/// Digits behind the first one.
const SINGLE: u32 = 23;
const DOUBLE: u32 = 52;

/// A float's bits that integer code computes with, and the statement that says so.
#[derive(Clone, Copy)]
pub struct Escape {
    of: Value,
    said: Value,
    for_good: bool,
}

impl Builder {
    /// The bits of floats in a general register. What came in from another block is not logged for that: there are digits, but no float is named.
    pub fn bits_of_floats(&mut self, number: u8) -> Option<Derived> {
        let general = self.generals[number as usize];
        if let Some(index) = general.derived {
            return Some(self.derived[index as usize].clone());
        }
        if !general.may_be_float {
            return None;
        }
        let mut derived = Derived { digits: self.digits(number), ..Derived::default() };
        if !general.granules.contains(&Granule::Untouched) {
            derived.floats.extend(self.floats_in(number));
            if derived.floats.is_empty() {
                return None;
            }
        }
        Some(derived)
    }

    /// Another block has left floats.
    pub fn enter_floats(&mut self, left: &Left) {
        for (number, general) in self.generals.iter_mut().enumerate() {
            general.may_be_float |= left.registers >> number & 1 == 1;
        }
        self.spills.extend(left.cells.iter().map(|cell| (*cell, None)));
    }

    /// Where floats are that others may find.
    pub fn floats_left(&self) -> Left {
        let bits = self.generals.iter().enumerate().map(|(number, general)| u16::from(general.may_be_float) << number);
        let is_whole = |derived: &Option<u16>| derived.is_none_or(|index| self.derived[index as usize].whole);
        let cells = self.spills.iter().filter(|(_, derived)| is_whole(derived)).map(|(cell, _)| *cell);
        Left { registers: bits.sum(), cells: left_in(cells) }
    }

    /// The floats that another block may have left in a general register: logged now.
    pub fn entered_floats(&mut self, number: u8) -> Vec<Value> {
        self.log(Reg::Gpr(number), 0b11, Granule::Untouched);
        self.floats_in(number)
    }

    /// Of the float that a general register holds: a single's upper half is zero.
    fn digits(&self, number: u8) -> u32 {
        let upper = self.constant_bits(&self.generals[number as usize].granules[1..]);
        if upper == Some(0) { SINGLE } else { DOUBLE }
    }

    fn floats_in(&mut self, number: u8) -> Vec<Value> {
        let pieces = self.pieces(&self.generals[number as usize].granules.clone());
        pieces.into_iter().map(|(_, value)| value).filter(|value| self.value_may_carry_float(*value, true)).collect()
    }

    /// The float of this type whose bits a general register holds, changed perhaps, if it is one.
    pub fn only_float(&mut self, number: u8, ty: Type) -> Option<Value> {
        let mut floats: Vec<Value> = self.bits_of_floats(number)?.floats.into_iter().collect();
        if floats.is_empty() {
            floats = self.entered_floats(number);
        }
        match floats[..] {
            [value] if self.type_of(value) == ty => Some(value),
            [value] if self.type_of(value).bytes() == ty.bytes() => Some(self.extract(value, 0, ty)),
            _ => None,
        }
    }

    /// Integer code computes with these bits: said once for all that it does with them, and perhaps taken back, until it is confirmed.
    pub fn escape(&mut self, value: Value) -> Value {
        if let Some(known) = self.escapes.iter().find(|known| known.of == value) {
            return known.said;
        }
        let said = self.push(When::Before, None, Op::Escape { value });
        self.escapes.push(Escape { of: value, said, for_good: false });
        said
    }

    /// What has escaped is an integer for good.
    pub fn confirm(&mut self, escapes: &BTreeSet<Value>) {
        self.escapes.iter_mut().for_each(|escape| escape.for_good |= escapes.contains(&escape.said));
    }

    /// What escapes from here on is said again: a loop begins anew.
    pub fn begin_turn(&mut self) {
        self.escapes.clear();
    }

    /// A general register holds this now.
    pub fn derive(&mut self, number: u8, derived: Derived) {
        self.generals[number as usize].derived = Some(self.derived.len() as u16);
        self.derived.push(derived);
    }

    /// What a general register holds is moved to where floats are.
    pub fn becomes_float(&mut self, number: u8) {
        self.take_back(self.generals[number as usize].derived);
    }

    /// Nothing has escaped after all: a statement that defines something, which nobody uses, is dead.
    fn take_back(&mut self, derived: Option<u16>) {
        let Some(index) = derived else { return };
        let escapes = std::mem::take(&mut self.derived[index as usize].escapes);
        for escape in self.escapes.extract_if(.., |escape| !escape.for_good && escapes.contains(&escape.said)) {
            let stmt = &mut self.block.stmts[escape.said.index()];
            (stmt.ty, stmt.op) = (Some(Type::B32), Op::Const { bits: 0 });
        }
    }

    /// A register is stored.
    pub fn spill(&mut self, cell: Cell, reg: Reg) {
        self.overwrite(cell);
        match reg {
            Reg::Vec(_) => self.spills.push((cell, None)),
            Reg::Gpr(number) => {
                let general = self.generals[number as usize];
                if general.derived.is_some() || general.may_be_float {
                    self.spills.push((cell, general.derived));
                }
            }
            _ => {}
        }
    }

    pub fn overwrite(&mut self, cell: Cell) {
        self.spills.retain(|(known, _)| *known != cell);
    }

    /// A general register is loaded from a place that the block has stored a float to, or what was made of one.
    pub fn reload(&mut self, number: u8, cell: Cell) {
        match self.spills.iter().find(|(known, _)| *known == cell) {
            Some((_, None)) => {
                let digits = self.digits(number);
                let floats = self.floats_in(number).into_iter().collect();
                self.derive(number, Derived { floats, digits, whole: true, ..Derived::default() });
            }
            Some((_, derived)) => self.generals[number as usize].derived = *derived,
            None => {}
        }
    }

    /// What was stored is loaded to where floats are.
    pub fn spill_becomes_float(&mut self, cell: Cell) {
        if let Some((_, derived)) = self.spills.iter().find(|(known, _)| *known == cell) {
            self.take_back(*derived);
        }
    }
}
