//! Which value is shadowed by what.
//!
//! A shadow counts only where the native bits are those that it shadows. That one rule makes everything else safe: what
//! writes a place behind our back can cost a shadow and never makes one wrong. So the shadow of a long double travels even where only
//! its first bytes do, because it is copied in two moves: whoever uses it as that float compares all of its bits.

use crate::real::Real;
use crate::trace::{Handle, Leaf, Nodes, Term};
use fpgrind_ir::{GRANULE, Type};

/// What is known about the float that begins at a granule.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
pub enum Part {
    /// Nothing: data without a history.
    None,
    /// These four bytes are written in the program.
    Constant(u32),
    /// A float of four bytes or more that begins here.
    Shadow(Handle),
    /// Two floats of two bytes each, of which at least one has a shadow.
    Halves([Option<Handle>; 2]),
}

impl Part {
    pub fn is_none(self) -> bool {
        matches!(self, Part::None)
    }

    pub fn is_constant(self, bits: u32) -> bool {
        matches!(self, Part::Constant(constant) if constant == bits)
    }

    /// Of a float, as long as its format says.
    pub fn of_node<R: Real>(node: Handle, nodes: &Nodes<R>) -> Part {
        match nodes[node].ty.bytes() {
            2 => Part::Halves([Some(node), None]),
            _ => Part::Shadow(node),
        }
    }

    /// Bytes that the part speaks of.
    pub fn bytes<R>(self, nodes: &Nodes<R>) -> usize {
        match self {
            Part::None => 0,
            Part::Constant(_) | Part::Halves(_) => GRANULE,
            Part::Shadow(node) => nodes[node].ty.bytes(),
        }
    }

    /// May it travel in a value of so many bytes?
    #[inline]
    pub fn fits<R>(self, bytes: usize, nodes: &Nodes<R>) -> bool {
        match self {
            Part::Shadow(node) => nodes[node].ty.bytes() <= bytes || nodes[node].ty.bytes() > 8,
            _ => true,
        }
    }

    /// Does it speak of floats of two bytes?
    pub fn is_of_halves(self) -> bool {
        matches!(self, Part::Halves(_))
    }

    /// The floats of two bytes in a granule, the lower first.
    pub fn halves(self) -> [Option<Handle>; 2] {
        match self {
            Part::Halves(halves) => halves,
            _ => [None, None],
        }
    }

    pub fn of_halves(lower: Option<Handle>, upper: Option<Handle>) -> Part {
        match (lower, upper) {
            (None, None) => Part::None,
            halves => Part::Halves(halves.into()),
        }
    }

    /// What is known about one half of a granule, as a value of its own.
    pub fn half(self, upper: bool) -> Part {
        match self {
            Part::Constant(bits) => Part::Constant(if upper { bits >> 16 } else { bits & 0xffff }),
            _ => Part::of_halves(self.halves()[upper as usize], None),
        }
    }

    /// What is known about a granule of two values of two bytes each.
    pub fn join(lower: Part, upper: Part) -> Part {
        match (lower, upper) {
            (Part::Constant(lower), Part::Constant(upper)) => Part::Constant(lower & 0xffff | upper << 16),
            _ => Part::of_halves(lower.halves()[0], upper.halves()[0]),
        }
    }

    /// What of it shadows these bits, the first of them; so many bytes of them are known.
    fn agreeing_with<R>(self, bits: u128, bytes: usize, nodes: &Nodes<R>) -> Part {
        let agrees = match self {
            Part::None => true,
            Part::Constant(constant) => mask(bits ^ constant as u128, bytes.min(GRANULE)) == 0,
            Part::Shadow(node) => mask(bits ^ nodes.of(node).bits(), bytes.min(nodes[node].ty.bytes())) == 0,
            Part::Halves([lower, upper]) => {
                let agreeing =
                    |half: Option<Handle>, bits: u128| half.filter(|half| mask(bits ^ nodes.of(*half).bits(), 2) == 0);
                let upper = if bytes < GRANULE { None } else { agreeing(upper, bits >> 16) };
                return Part::of_halves(agreeing(lower, bits), upper);
            }
        };
        if agrees { self } else { Part::None }
    }

    /// Calls a function with each node that it leads to.
    pub fn each_root(&mut self, root: &mut dyn FnMut(&mut Handle)) {
        match self {
            Part::None | Part::Constant(_) => {}
            Part::Shadow(node) => root(node),
            Part::Halves(halves) => halves.iter_mut().flatten().for_each(root),
        }
    }
}

/// Of the longest values.
pub const GRANULES: usize = 4;

/// A value: the guest's bits, and for each granule what is known about a float that begins there.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    pub bits: u128,
    pub parts: [Part; GRANULES],
}

impl Value {
    pub fn plain(bits: u128) -> Value {
        Value { bits, parts: [Part::None; GRANULES] }
    }

    pub fn constant(bits: u128, ty: Type) -> Value {
        let mut value = Value::plain(bits);
        for granule in 0..ty.granules() {
            value.parts[granule] = Part::Constant(value.bits_at(granule) as u32);
        }
        value
    }

    pub fn of_term<R: Real>(term: Term, nodes: &Nodes<R>) -> Value {
        match term {
            Term::Leaf(leaf) if leaf.constant => Value::constant(leaf.bits(), leaf.ty),
            Term::Leaf(leaf) => Value::plain(leaf.bits()),
            Term::Node(node) => {
                let mut value = Value::plain(nodes.of(node).bits());
                value.parts[0] = Part::of_node(node, nodes);
                value
            }
        }
    }

    /// The bytes beginning at a granule.
    pub fn bits_at(&self, granule: usize) -> u128 {
        self.bits >> (8 * GRANULE * granule)
    }

    /// The float that begins at a granule.
    #[inline]
    pub fn term_at<R>(&self, granule: usize, ty: Type, nodes: &Nodes<R>) -> Term {
        let bits = mask(self.bits_at(granule), ty.bytes());
        let parts = &self.parts[granule..];
        let node = match parts[0] {
            Part::Shadow(node) => Some(node),
            part => part.halves()[0],
        };
        match node {
            Some(node) if nodes[node].ty == ty && nodes.of(node).bits() == bits => Term::Node(node),
            _ => {
                let constant = parts.iter().take(ty.granules()).all(|part| matches!(part, Part::Constant(_)));
                Term::Leaf(Leaf::new(ty, bits, constant))
            }
        }
    }

    /// Takes over into a granule what of a part agrees with the bits there; says whether none of it is stale.
    #[inline]
    pub fn accept<R>(&mut self, granule: usize, ty: Type, part: Part, nodes: &Nodes<R>) -> bool {
        let bytes = ty.bytes().saturating_sub(GRANULE * granule);
        if !part.fits(bytes, nodes) {
            // Torn, not stale.
            return true;
        }
        // The common case.
        if let Part::Shadow(node) = part {
            let agrees = mask(self.bits_at(granule) ^ nodes.of(node).bits(), bytes.min(nodes[node].ty.bytes())) == 0;
            if agrees {
                self.parts[granule] = part;
            }
            return agrees;
        }
        let agreeing = part.agreeing_with(self.bits_at(granule), bytes, nodes);
        let all = match (part, agreeing) {
            // Of a part that reaches further than the value nothing more is known.
            (Part::Halves([lower, upper]), agreeing) => {
                let now = agreeing.halves();
                match bytes < GRANULE {
                    true => lower == now[0] || upper.is_some(),
                    false => [lower, upper] == now,
                }
            }
            (part, agreeing) => agreeing.is_none() == part.is_none(),
        };
        self.parts[granule] = agreeing;
        all
    }

    /// The bits of a type from a granule on, with what is known about them.
    pub fn extract(&self, granule: usize, ty: Type) -> Value {
        let mut value = Value::plain(mask(self.bits_at(granule), ty.bytes()));
        for (part, source) in value.parts.iter_mut().zip(&self.parts[granule..]).take(ty.granules()) {
            *part = *source;
        }
        value
    }

    /// The lower or the upper half of a granule.
    pub fn half(&self, granule: usize, upper: bool) -> Value {
        let mut value = Value::plain(mask(self.bits_at(granule) >> if upper { 16 } else { 0 }, 2));
        value.parts[0] = self.parts[granule].half(upper);
        value
    }

    /// Values one after the other.
    pub fn concat<'a, R>(parts: impl Iterator<Item = (&'a Value, Type)>, nodes: &Nodes<R>) -> Value {
        let mut value = Value::plain(0);
        let mut at = 0;
        for (source, ty) in parts {
            value.bits |= source.bits << (8 * at);
            let granule = at / GRANULE;
            if ty.bytes() < GRANULE {
                let Some(part) = value.parts.get_mut(granule) else { break };
                *part = match at % GRANULE {
                    0 => source.parts[0],
                    _ => Part::join(*part, source.parts[0]),
                };
            } else {
                let sources = source.parts.iter().enumerate().take(ty.granules());
                for (part, (at, source)) in value.parts[granule..].iter_mut().zip(sources) {
                    if source.fits(ty.bytes() - GRANULE * at, nodes) {
                        *part = *source;
                    }
                }
            }
            at += ty.bytes();
        }
        value
    }
}

#[inline]
pub fn mask(bits: u128, bytes: usize) -> u128 {
    match bytes {
        // What is common costs no shift of 128 bits.
        8 => bits as u64 as u128,
        4 => bits as u32 as u128,
        16.. => bits,
        _ => bits & ((1 << (8 * bytes)) - 1),
    }
}
