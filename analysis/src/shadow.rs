//! Which value is shadowed by what: values at run time, and the registers between blocks.
//!
//! A shadow counts only where the native bits are those that it shadows. That one rule makes everything else safe: what
//! writes a place behind our back can cost a shadow and never makes one wrong.

use crate::trace::{Leaf, Node, Term};
use fpgrind_ir::{GRANULE, Place, Reg, Type};
use std::rc::Rc;

/// What is known about the float that begins at a granule.
pub enum Part<R> {
    /// Nothing: data without a history.
    None,
    /// These four bytes are written in the program.
    Constant(u32),
    Shadow(Rc<Node<R>>),
}

impl<R> Clone for Part<R> {
    fn clone(&self) -> Part<R> {
        match self {
            Part::None => Part::None,
            Part::Constant(bits) => Part::Constant(*bits),
            Part::Shadow(node) => Part::Shadow(node.clone()),
        }
    }
}

impl<R> Part<R> {
    pub fn is_none(&self) -> bool {
        matches!(self, Part::None)
    }

    /// Bytes that the part speaks of.
    pub fn bytes(&self) -> usize {
        match self {
            Part::None => 0,
            Part::Constant(_) => GRANULE,
            Part::Shadow(node) => node.ty.bytes(),
        }
    }

    /// Does it shadow the first of these bits?
    fn agrees_with(&self, bits: u64) -> bool {
        match self {
            Part::None => true,
            Part::Constant(constant) => *constant == bits as u32,
            Part::Shadow(node) => node.bits == mask(bits, node.ty.bytes()),
        }
    }
}

/// Of the longest values.
pub const GRANULES: usize = 4;

/// A value: the guest's bits, and for each granule what is known about a float that begins there.
pub struct Value<R> {
    pub bits: u128,
    pub parts: [Part<R>; GRANULES],
}

impl<R> Value<R> {
    pub fn plain(bits: u128) -> Value<R> {
        Value { bits, parts: [const { Part::None }; GRANULES] }
    }

    pub fn constant(bits: u128, ty: Type) -> Value<R> {
        let mut value = Value::plain(bits);
        for granule in 0..ty.granules() {
            value.parts[granule] = Part::Constant(value.bits_at(granule) as u32);
        }
        value
    }

    pub fn of_term(term: Term<R>) -> Value<R> {
        match term {
            Term::Leaf(Leaf { bits, ty, constant: true }) => Value::constant(bits as u128, ty),
            Term::Leaf(leaf) => Value::plain(leaf.bits as u128),
            Term::Node(node) => {
                let mut value = Value::plain(node.bits as u128);
                value.parts[0] = Part::Shadow(node);
                value
            }
        }
    }

    /// Up to eight bytes beginning at a granule.
    pub fn bits_at(&self, granule: usize) -> u64 {
        (self.bits >> (8 * GRANULE * granule)) as u64
    }

    /// The float that begins at a granule.
    pub fn term_at(&self, granule: usize, ty: Type) -> Term<R> {
        let bits = mask(self.bits_at(granule), ty.bytes());
        let parts = &self.parts[granule..];
        match &parts[0] {
            Part::Shadow(node) if node.ty == ty && node.bits == bits => Term::Node(node.clone()),
            _ => {
                let constant = parts.iter().take(ty.granules()).all(|part| matches!(part, Part::Constant(_)));
                Term::Leaf(Leaf { bits, ty, constant })
            }
        }
    }

    /// Takes a part over into a granule if it agrees with the bits there; says whether it was stale. A float
    /// that reaches beyond the end of the value is torn, not stale.
    pub fn accept(&mut self, granule: usize, ty: Type, part: &Part<R>) -> bool {
        if GRANULE * granule + part.bytes() > ty.bytes() {
            return false;
        }
        let agrees = part.agrees_with(self.bits_at(granule));
        if agrees {
            self.parts[granule] = part.clone();
        }
        !agrees
    }
}

pub fn mask(bits: u64, bytes: usize) -> u64 {
    if bytes >= 8 { bits } else { bits & ((1 << (8 * bytes)) - 1) }
}

const VECTORS: usize = 16;
const GENERAL: usize = 16;
const VECTOR_GRANULES: usize = 8;
const GENERAL_GRANULES: usize = 2;

/// The registers of a guest thread, as far as they hold or carry floats.
pub struct Registers<R> {
    parts: Vec<Part<R>>,
}

impl<R> Clone for Registers<R> {
    fn clone(&self) -> Registers<R> {
        Registers { parts: self.parts.clone() }
    }
}

impl<R> Registers<R> {
    pub fn new() -> Registers<R> {
        let count = VECTORS * VECTOR_GRANULES + GENERAL * GENERAL_GRANULES;
        Registers { parts: std::iter::repeat_with(|| Part::None).take(count).collect() }
    }

    /// The contents of a place whose bits were logged. Stale shadows are forgotten and counted.
    pub fn live(&mut self, place: Place, ty: Type, bits: u128, stale: &mut u64) -> Value<R> {
        let mut value = Value::plain(bits);
        for (granule, part) in self.range(place, ty.bytes()).iter_mut().enumerate() {
            if !part.is_none() && value.accept(granule, ty, part) {
                *part = Part::None;
                *stale += 1;
            }
        }
        value
    }

    pub fn put(&mut self, place: Place, ty: Type, value: &Value<R>) {
        for (part, new) in self.range(place, ty.bytes()).iter_mut().zip(&value.parts) {
            part.clone_from(new);
        }
    }

    pub fn forget(&mut self, place: Place, bytes: usize) {
        self.range(place, bytes).fill_with(|| Part::None);
    }

    /// The float in a place as it stands, if it has a shadow.
    pub fn shadow(&self, place: Place, ty: Type) -> Option<&Rc<Node<R>>> {
        let index = index(place)?;
        match self.parts.get(index)? {
            Part::Shadow(node) if node.ty == ty => Some(node),
            _ => None,
        }
    }

    /// The granules of a place: none where the register cannot hold floats.
    fn range(&mut self, place: Place, bytes: usize) -> &mut [Part<R>] {
        let Some(start) = index(place) else { return &mut [] };
        let within = place.reg.bytes().saturating_sub(place.offset as usize) / GRANULE;
        let count = bytes.div_ceil(GRANULE).min(within);
        self.parts.get_mut(start..start + count).unwrap_or(&mut [])
    }
}

fn index(place: Place) -> Option<usize> {
    let granule = place.offset as usize / GRANULE;
    match place.reg {
        Reg::Vec(number) if place.reg.exists() => Some(number as usize * VECTOR_GRANULES + granule),
        Reg::Gpr(number) if place.reg.exists() => {
            Some(VECTORS * VECTOR_GRANULES + number as usize * GENERAL_GRANULES + granule)
        }
        _ => None,
    }
}
