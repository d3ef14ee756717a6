//! Which value is shadowed by what.
//!
//! A shadow counts only where the native bits are those that it shadows. That one rule makes everything else safe: what
//! writes a place behind our back can cost a shadow and never makes one wrong. So the shadow of a long double travels even where only
//! its first bytes do, because it is copied in two moves: whoever uses it as that float compares all of its bits.

use crate::trace::{Leaf, Node, Term};
use fpgrind_ir::{GRANULE, Type};
use std::rc::Rc;

/// What is known about the float that begins at a granule.
pub enum Part<R> {
    /// Nothing: data without a history.
    None,
    /// These four bytes are written in the program.
    Constant(u32),
    /// A float that begins here. One of two bytes is the granule's lower half.
    Shadow(Rc<Node<R>>),
    /// Two floats of two bytes each, of which the upper has a shadow and the lower may have one.
    Halves(Rc<Halves<R>>),
}

pub struct Halves<R> {
    pub lower: Option<Rc<Node<R>>>,
    pub upper: Rc<Node<R>>,
}

impl<R> Clone for Part<R> {
    fn clone(&self) -> Part<R> {
        match self {
            Part::None => Part::None,
            Part::Constant(bits) => Part::Constant(*bits),
            Part::Shadow(node) => Part::Shadow(node.clone()),
            Part::Halves(halves) => Part::Halves(halves.clone()),
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
            Part::Constant(_) | Part::Halves(_) => GRANULE,
            Part::Shadow(node) => node.ty.bytes(),
        }
    }

    /// May it travel in a value of so many bytes?
    pub fn fits(&self, bytes: usize) -> bool {
        match self {
            Part::Shadow(node) => node.ty.bytes() <= bytes || node.ty.bytes() > 8,
            _ => true,
        }
    }

    /// Does it speak of floats of two bytes?
    pub fn is_of_halves(&self) -> bool {
        match self {
            Part::None | Part::Constant(_) => false,
            Part::Shadow(node) => node.ty.bytes() == 2,
            Part::Halves(_) => true,
        }
    }

    /// The floats of two bytes in a granule, the lower first.
    pub fn halves(&self) -> [Option<&Rc<Node<R>>>; 2] {
        match self {
            Part::Shadow(node) if node.ty.bytes() == 2 => [Some(node), None],
            Part::Halves(halves) => [halves.lower.as_ref(), Some(&halves.upper)],
            _ => [None, None],
        }
    }

    pub fn of_halves(lower: Option<Rc<Node<R>>>, upper: Option<Rc<Node<R>>>) -> Part<R> {
        match (lower, upper) {
            (lower, Some(upper)) => Part::Halves(Rc::new(Halves { lower, upper })),
            (Some(lower), None) => Part::Shadow(lower),
            (None, None) => Part::None,
        }
    }

    /// What is known about one half of a granule, as a value of its own.
    pub fn half(&self, upper: bool) -> Part<R> {
        match self {
            Part::Constant(bits) => Part::Constant(if upper { bits >> 16 } else { bits & 0xffff }),
            _ => self.halves()[upper as usize].cloned().map_or(Part::None, Part::Shadow),
        }
    }

    /// What is known about a granule of two values of two bytes each.
    pub fn join(lower: &Part<R>, upper: &Part<R>) -> Part<R> {
        match (lower, upper) {
            (Part::Constant(lower), Part::Constant(upper)) => Part::Constant(lower & 0xffff | upper << 16),
            _ => Part::of_halves(lower.halves()[0].cloned(), upper.halves()[0].cloned()),
        }
    }

    /// What of it shadows these bits, the first of them; so many bytes of them are known.
    fn agreeing_with(&self, bits: u128, bytes: usize) -> Part<R> {
        let agrees = match self {
            Part::None => true,
            Part::Constant(constant) => mask(bits ^ *constant as u128, bytes.min(GRANULE)) == 0,
            Part::Shadow(node) => mask(bits ^ node.bits.get(), bytes.min(node.ty.bytes())) == 0,
            Part::Halves(_) => {
                let [lower, upper] = self.halves();
                let agreeing = |half: Option<&Rc<Node<R>>>, bits: u128| {
                    half.filter(|half| mask(bits ^ half.bits.get(), 2) == 0).cloned()
                };
                let upper = if bytes < GRANULE { None } else { agreeing(upper, bits >> 16) };
                return Part::of_halves(agreeing(lower, bits), upper);
            }
        };
        if agrees { self.clone() } else { Part::None }
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
            Term::Leaf(leaf) if leaf.constant => Value::constant(leaf.bits(), leaf.ty),
            Term::Leaf(leaf) => Value::plain(leaf.bits()),
            Term::Node(node) => {
                let mut value = Value::plain(node.bits.get());
                value.parts[0] = Part::Shadow(node);
                value
            }
        }
    }

    /// The bytes beginning at a granule.
    pub fn bits_at(&self, granule: usize) -> u128 {
        self.bits >> (8 * GRANULE * granule)
    }

    /// The float that begins at a granule.
    pub fn term_at(&self, granule: usize, ty: Type) -> Term<R> {
        let bits = mask(self.bits_at(granule), ty.bytes());
        let parts = &self.parts[granule..];
        match &parts[0] {
            Part::Shadow(node) if node.ty == ty && node.bits.get() == bits => Term::Node(node.clone()),
            _ => {
                let constant = parts.iter().take(ty.granules()).all(|part| matches!(part, Part::Constant(_)));
                Term::Leaf(Leaf::new(ty, bits, constant))
            }
        }
    }

    /// Takes over into a granule what of a part agrees with the bits there; says whether none of it is stale.
    pub fn accept(&mut self, granule: usize, ty: Type, part: &Part<R>) -> bool {
        let bytes = ty.bytes().saturating_sub(GRANULE * granule);
        if !part.fits(bytes) {
            // Torn, not stale.
            return true;
        }
        // The common case.
        if let Part::Shadow(node) = part {
            let agrees = mask(self.bits_at(granule) ^ node.bits.get(), bytes.min(node.ty.bytes())) == 0;
            if agrees {
                self.parts[granule] = Part::Shadow(node.clone());
            }
            return agrees;
        }
        let agreeing = part.agreeing_with(self.bits_at(granule), bytes);
        let all = match (part, &agreeing) {
            // Of a part that reaches further than the value nothing more is known.
            (Part::Halves(of), Part::Halves(now)) => of.lower.is_some() == now.lower.is_some(),
            (Part::Halves(_), _) => bytes < GRANULE,
            (part, agreeing) => agreeing.is_none() == part.is_none(),
        };
        self.parts[granule] = agreeing;
        all
    }

    /// The bits of a type from a granule on, with what is known about them.
    pub fn extract(&self, granule: usize, ty: Type) -> Value<R> {
        let mut value = Value::plain(mask(self.bits_at(granule), ty.bytes()));
        for (part, source) in value.parts.iter_mut().zip(&self.parts[granule..]).take(ty.granules()) {
            part.clone_from(source);
        }
        value
    }

    /// The lower or the upper half of a granule.
    pub fn half(&self, granule: usize, upper: bool) -> Value<R> {
        let mut value = Value::plain(mask(self.bits_at(granule) >> if upper { 16 } else { 0 }, 2));
        value.parts[0] = self.parts[granule].half(upper);
        value
    }

    /// Values one after the other.
    pub fn concat<'a>(parts: impl Iterator<Item = (&'a Value<R>, Type)>) -> Value<R>
    where
        R: 'a,
    {
        let mut value = Value::plain(0);
        let mut at = 0;
        for (source, ty) in parts {
            value.bits |= source.bits << (8 * at);
            let granule = at / GRANULE;
            if ty.bytes() < GRANULE {
                let Some(part) = value.parts.get_mut(granule) else { break };
                *part = match at % GRANULE {
                    0 => source.parts[0].clone(),
                    _ => Part::join(part, &source.parts[0]),
                };
            } else {
                let sources = source.parts.iter().enumerate().take(ty.granules());
                for (part, (at, source)) in value.parts[granule..].iter_mut().zip(sources) {
                    if source.fits(ty.bytes() - GRANULE * at) {
                        part.clone_from(source);
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
