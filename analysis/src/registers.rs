//! The registers of a guest thread between blocks, as far as they hold or carry floats.

use crate::gaps::is_telling;
use crate::shadow::{Part, Value};
use crate::trace::{Handle, Nodes};
use fpgrind_ir::{GRANULE, Place, Reg, Type};
use std::ops::Range;

const VECTORS: usize = 32;
const GENERAL: usize = 16;
/// A register of the x87 holds one float, so it has one part.
const X87: usize = 8;
const VECTOR_GRANULES: usize = 16;
const GENERAL_GRANULES: usize = 2;

/// Where each kind begins.
const FIRST_GENERAL: usize = VECTORS * VECTOR_GRANULES;
const FIRST_X87: usize = FIRST_GENERAL + GENERAL * GENERAL_GRANULES;
const COUNT: usize = FIRST_X87 + X87;

#[derive(Clone)]
pub struct Registers {
    parts: Vec<Part>,
    /// The x87 register that was on top of the stack when the block was entered, by its place in the machine.
    top: u8,
}

impl Registers {
    pub fn new() -> Registers {
        Registers { parts: vec![Part::None; COUNT], top: 0 }
    }

    /// The contents of a place whose bits were logged. Stale shadows are forgotten and counted.
    pub fn live<R>(&mut self, place: Place, ty: Type, bits: u128, stale: &mut u64, nodes: &Nodes<R>) -> Value {
        let mut value = Value::plain(bits);
        for (granule, part) in self.range(place, ty.bytes()).iter_mut().enumerate() {
            if !part.is_none() && !value.accept(granule, ty, *part, nodes) {
                *part = value.parts[granule];
                *stale += 1;
            }
        }
        value
    }

    pub fn put(&mut self, place: Place, ty: Type, value: &Value) {
        let parts = self.range(place, ty.bytes());
        if ty.bytes() < GRANULE
            && let [part] = parts
            && !part.is_none()
        {
            // What is beside it stays.
            *part = Part::join(value.parts[0], part.half(true));
            return;
        }
        for (part, new) in parts.iter_mut().zip(&value.parts) {
            *part = *new;
        }
    }

    pub fn forget(&mut self, place: Place, bytes: usize) {
        self.range(place, bytes).fill(Part::None);
    }

    /// Registers may have been written unseen: what bits alone do not tell from another number is forgotten.
    pub fn distrust<R>(&mut self, nodes: &Nodes<R>) {
        let in_doubt = |part: &&mut Part| match part {
            Part::Shadow(node) => !is_telling(nodes[*node].ty, nodes.of(*node).bits()),
            Part::Halves(_) | Part::Constant(_) => true,
            Part::None => false,
        };
        self.parts.iter_mut().filter(in_doubt).for_each(|part| *part = Part::None);
    }

    /// The float in a place as it stands, if it has a shadow.
    pub fn shadow<R>(&self, place: Place, ty: Type, nodes: &Nodes<R>) -> Option<Handle> {
        let node = match self.parts.get(self.numbers(place, ty.bytes())?.start)? {
            Part::Shadow(node) => Some(*node),
            part => part.halves()[0],
        };
        node.filter(|node| nodes[*node].ty == ty)
    }

    pub fn each_root(&mut self, root: &mut dyn FnMut(&mut Handle)) {
        self.parts.iter_mut().for_each(|part| part.each_root(root));
    }

    /// The top of the x87's stack is this register of the machine.
    pub fn set_top(&mut self, top: u8) {
        self.top = top & 7;
    }

    pub fn turn(&mut self, by: u8) {
        self.set_top(self.top.wrapping_add(by));
    }

    /// What an x87 register of the machine holds, whose bits were logged.
    pub fn x87<R>(&mut self, number: u8, bits: u128, stale: &mut u64, nodes: &Nodes<R>) -> Value {
        let mut value = Value::plain(bits);
        let part = &mut self.parts[FIRST_X87 + (number & 7) as usize];
        if !part.is_none() && !value.accept(0, Type::F80, *part, nodes) {
            *part = Part::None;
            *stale += 1;
        }
        value
    }

    /// What the vector and x87 registers hold becomes what they held then.
    pub fn restore(&mut self, saved: &Registers) {
        self.parts[..FIRST_GENERAL].copy_from_slice(&saved.parts[..FIRST_GENERAL]);
        self.parts[FIRST_X87..].copy_from_slice(&saved.parts[FIRST_X87..]);
        self.top = saved.top;
    }

    /// The numbers of a place's parts, where they are always the same.
    pub fn fixed(place: Place, bytes: usize) -> Option<Range<usize>> {
        let granule = place.offset as usize / GRANULE;
        let first = match place.reg {
            _ if !place.reg.exists() => return None,
            Reg::Vec(number) => number as usize * VECTOR_GRANULES,
            Reg::Gpr(number) => FIRST_GENERAL + number as usize * GENERAL_GRANULES,
            _ => return None,
        };
        let within = place.reg.bytes().saturating_sub(place.offset as usize) / GRANULE;
        Some(first + granule..first + granule + bytes.div_ceil(GRANULE).min(within))
    }

    /// All parts, by their numbers.
    #[inline(always)]
    pub fn parts(&mut self) -> &mut [Part] {
        &mut self.parts
    }

    /// The granules of a place: none where the register cannot hold floats.
    fn range(&mut self, place: Place, bytes: usize) -> &mut [Part] {
        let numbers = self.numbers(place, bytes).unwrap_or_default();
        self.parts.get_mut(numbers).unwrap_or(&mut [])
    }

    fn numbers(&self, place: Place, bytes: usize) -> Option<Range<usize>> {
        match place.reg {
            Reg::X87(number) if place.reg.exists() && place.offset == 0 => {
                let first = FIRST_X87 + (self.top.wrapping_add(number) & 7) as usize;
                Some(first..first + 1)
            }
            _ => Registers::fixed(place, bytes),
        }
    }
}
