//! Instructions on one double or on four, by what is being made: formulas are written once for both.

use super::routines::Maker;
use super::*;

/// A vector register.
pub type Vector = u8;
/// A general one.
pub type Gpr = u8;

/// An argument of an operation, by its number.
#[derive(Clone, Copy)]
pub struct Arg(pub usize);

pub const A: Arg = Arg(0);
pub const B: Arg = Arg(1);
pub const C: Arg = Arg(2);

/// What is known of one double each is at these registers.
pub const FACTS: [Gpr; 3] = [8, 9, 1];

/// What is known of an argument: fields of [`Facts`].
#[derive(Clone, Copy)]
pub enum Known {
    Native,
    By,
    Err,
    /// In the first half of eight bytes.
    Influences,
}

impl Known {
    pub const fn offset(self) -> i8 {
        match self {
            Known::Native => offset_of!(Facts, near.native) as i8,
            Known::By => offset_of!(Facts, near.offset.by) as i8,
            Known::Err => offset_of!(Facts, near.offset.err) as i8,
            Known::Influences => offset_of!(Facts, influences) as i8,
        }
    }
}

/// Doubles of four arguments at a time lie here, from rbx: what is known of each, one kind after another.
pub fn four<R>(arg: Arg, known: Known) -> i32 {
    (offset_of!(Operations<R>, routines.fours.0) + 32 * (4 * arg.0 + known.offset() as usize / 8)) as i32
}

macro_rules! instructions {
    ($($(#[$doc:meta])* $name:ident $single:ident $packed:ident;)*) => {
        impl<R: Real> Maker<R> {
            $(
                $(#[$doc])*
                pub fn $name(&mut self, to: Vector, a: Vector, b: Vector) {
                    match self.is_packed {
                        true => dynasm!(self.asm; .arch x64; $packed Ry(to), Ry(a), Ry(b)),
                        false => dynasm!(self.asm; .arch x64; $single Rx(to), Rx(a), Rx(b)),
                    }
                }
            )*
        }
    };
}

/// The same with what is known of an argument.
macro_rules! instructions_with_known {
    ($($name:ident $single:ident $packed:ident;)*) => {
        impl<R: Real> Maker<R> {
            $(
                pub fn $name(&mut self, to: Vector, a: Vector, arg: Arg, known: Known) {
                    let (facts, field) = (FACTS[arg.0], known.offset());
                    match self.is_packed {
                        true => dynasm!(self.asm; .arch x64; $packed Ry(to), Ry(a), [rbx + four::<R>(arg, known)]),
                        false => dynasm!(self.asm; .arch x64; $single Rx(to), Rx(a), [BYTE Rq(facts) + field]),
                    }
                }
            )*
        }
    };
}

instructions! {
    plus vaddsd vaddpd;
    minus vsubsd vsubpd;
    times vmulsd vmulpd;
    over vdivsd vdivpd;
    /// The second if they do not compare.
    lesser vminsd vminpd;
}

instructions_with_known! {
    plus_known vaddsd vaddpd;
    minus_known vsubsd vsubpd;
    times_known vmulsd vmulpd;
}

/// Fused operations, and what is written into their encodings; one is added for a single double (SDM volume 2, VFMADD and its like).
#[derive(Clone, Copy)]
#[repr(u8)]
enum Fused {
    AddProduct = 0xb8,
    SubtractProduct = 0xbc,
    MultiplyAdd = 0xa8,
    MultiplySubtract = 0xaa,
}

/// The last operand of an instruction.
#[derive(Clone, Copy)]
enum Last {
    Vector(Vector),
    /// At a register, so far from it.
    At(Gpr, i32),
}

const RBX: Gpr = 3;

impl<R: Real> Maker<R> {
    /// An instruction with three operands, by its encoding. (dynasm, as of 5.1, encodes fused operations on packed doubles as on packed singles, and the
    /// operands of comparisons in the wrong order.)
    fn encode(&mut self, map: u8, is_wide: bool, opcode: u8, to: Vector, a: Vector, last: Last) {
        let (rm, is_vector) = match last {
            Last::Vector(vector) => (vector, true),
            Last::At(base, _) => (base, false),
        };
        let mode = if is_vector { 0b11 } else { 0b10 };
        self.asm.push(0xc4);
        self.asm.push((!to >> 3 & 1) << 7 | 1 << 6 | (!rm >> 3 & 1) << 5 | map);
        self.asm.push((is_wide as u8) << 7 | (!a & 0xf) << 3 | (self.is_packed as u8) << 2 | 1);
        self.asm.push(opcode);
        self.asm.push(mode << 6 | (to & 7) << 3 | rm & 7);
        if let Last::At(_, disp) = last {
            self.asm.push_i32(disp);
        }
    }

    fn fused(&mut self, what: Fused, to: Vector, a: Vector, last: Last) {
        self.encode(2, true, what as u8 + !self.is_packed as u8, to, a, last);
    }

    fn known(&self, arg: Arg, known: Known) -> Last {
        match self.is_packed {
            true => Last::At(RBX, four::<R>(arg, known)),
            false => Last::At(FACTS[arg.0], known.offset() as i32),
        }
    }

    /// Adds a product.
    pub fn add_product(&mut self, to: Vector, a: Vector, b: Vector) {
        self.fused(Fused::AddProduct, to, a, Last::Vector(b));
    }

    pub fn add_product_known(&mut self, to: Vector, a: Vector, arg: Arg, known: Known) {
        let known = self.known(arg, known);
        self.fused(Fused::AddProduct, to, a, known);
    }

    /// Subtracts a product.
    pub fn subtract_product(&mut self, to: Vector, a: Vector, b: Vector) {
        self.fused(Fused::SubtractProduct, to, a, Last::Vector(b));
    }

    pub fn subtract_product_known(&mut self, to: Vector, a: Vector, arg: Arg, known: Known) {
        let known = self.known(arg, known);
        self.fused(Fused::SubtractProduct, to, a, known);
    }

    /// Multiplies, and adds the last.
    pub fn multiply_add(&mut self, to: Vector, a: Vector, b: Vector) {
        self.fused(Fused::MultiplyAdd, to, a, Last::Vector(b));
    }

    /// Multiplies, and subtracts the last.
    pub fn multiply_subtract(&mut self, to: Vector, a: Vector, b: Vector) {
        self.fused(Fused::MultiplySubtract, to, a, Last::Vector(b));
    }

    /// Adds a multiple of a value.
    pub fn add_scaled(&mut self, to: Vector, value: Vector, by: f64) {
        let by = self.number(by);
        self.fused(Fused::AddProduct, to, value, Last::At(RBX, by));
    }

    /// Where a value is greater than another, or where they are equal: all bits are set there.
    pub fn is_greater(&mut self, to: Vector, a: Vector, b: Vector) {
        self.encode(1, false, COMPARISON, to, a, Last::Vector(b));
        self.asm.push(GREATER);
    }

    pub fn is_equal(&mut self, to: Vector, a: Vector, b: Vector) {
        self.encode(1, false, COMPARISON, to, a, Last::Vector(b));
        self.asm.push(EQUAL);
    }
}

/// VCMPPD and its predicates (SDM volume 2, table 3-1).
const COMPARISON: u8 = 0xc2;
const GREATER: u8 = 0x1e;
const EQUAL: u8 = 0;

impl<R: Real> Maker<R> {
    /// What is known of an argument.
    pub fn fetch(&mut self, to: Vector, arg: Arg, known: Known) {
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vmovupd Ry(to), [rbx + four::<R>(arg, known)]),
            false => dynasm!(self.asm; .arch x64; vmovsd Rx(to), [BYTE Rq(FACTS[arg.0]) + known.offset()]),
        }
    }

    pub fn copy(&mut self, to: Vector, from: Vector) {
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vmovapd Ry(to), Ry(from)),
            false => dynasm!(self.asm; .arch x64; vmovapd Rx(to), Rx(from)),
        }
    }

    pub fn root(&mut self, to: Vector, of: Vector) {
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vsqrtpd Ry(to), Ry(of)),
            false => dynasm!(self.asm; .arch x64; vsqrtsd Rx(to), Rx(of), Rx(of)),
        }
    }

    pub fn magnitude(&mut self, to: Vector, of: Vector) {
        let mask = self.number(f64::from_bits(!(1 << 63)));
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vandpd Ry(to), Ry(of), [rbx + mask]),
            false => dynasm!(self.asm; .arch x64; vandpd Rx(to), Rx(of), [rbx + mask]),
        }
    }

    pub fn negative(&mut self, to: Vector, of: Vector) {
        let mask = self.number(-0.0);
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vxorpd Ry(to), Ry(of), [rbx + mask]),
            false => dynasm!(self.asm; .arch x64; vxorpd Rx(to), Rx(of), [rbx + mask]),
        }
    }

    pub fn constant(&mut self, to: Vector, number: f64) {
        let number = self.number(number);
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vmovupd Ry(to), [rbx + number]),
            false => dynasm!(self.asm; .arch x64; vmovsd Rx(to), [rbx + number]),
        }
    }

    pub fn scale(&mut self, to: Vector, value: Vector, by: f64) {
        let by = self.number(by);
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vmulpd Ry(to), Ry(value), [rbx + by]),
            false => dynasm!(self.asm; .arch x64; vmulsd Rx(to), Rx(value), [rbx + by]),
        }
    }

    /// Becomes another unless a value is greater than a limit.
    pub fn unless_greater(&mut self, to: Vector, (value, limit): (Vector, Vector), other: Vector) {
        self.is_greater(value, value, limit);
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vblendvpd Ry(to), Ry(other), Ry(to), Ry(value)),
            false => dynasm!(self.asm; .arch x64; vblendvpd Rx(to), Rx(other), Rx(to), Rx(value)),
        }
    }

    /// What a sum of two doubles has lost.
    pub fn rest_of_sum(&mut self, rest: Vector, sum: Vector, (a, b): (Vector, Vector), free: Vector) {
        self.minus(free, sum, a);
        self.minus(rest, sum, free);
        self.minus(rest, a, rest);
        self.minus(free, b, free);
        self.plus(rest, rest, free);
    }

    /// To singles, and back.
    pub fn narrow(&mut self, to: Vector, from: Vector) {
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vcvtpd2ps Rx(to), Ry(from)),
            false => dynasm!(self.asm; .arch x64; vcvtsd2ss Rx(to), Rx(from), Rx(from)),
        }
    }

    pub fn widen(&mut self, to: Vector, from: Vector) {
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vcvtps2pd Ry(to), Rx(from)),
            false => dynasm!(self.asm; .arch x64; vcvtss2sd Rx(to), Rx(from), Rx(from)),
        }
    }

    /// Operations on singles.
    pub fn on_singles(&mut self, operator: Operator, to: Vector, a: Vector, b: Vector, c: Vector) {
        match (operator, self.is_packed) {
            (Operator::Add | Operator::Sub, true) => dynasm!(self.asm; .arch x64; vaddps Rx(to), Rx(a), Rx(b)),
            (Operator::Add | Operator::Sub, false) => dynasm!(self.asm; .arch x64; vaddss Rx(to), Rx(a), Rx(b)),
            (Operator::Mul, true) => dynasm!(self.asm; .arch x64; vmulps Rx(to), Rx(a), Rx(b)),
            (Operator::Mul, false) => dynasm!(self.asm; .arch x64; vmulss Rx(to), Rx(a), Rx(b)),
            (Operator::Div, true) => dynasm!(self.asm; .arch x64; vdivps Rx(to), Rx(a), Rx(b)),
            (Operator::Div, false) => dynasm!(self.asm; .arch x64; vdivss Rx(to), Rx(a), Rx(b)),
            (Operator::Fma, true) => {
                dynasm!(self.asm; .arch x64; vmovaps Rx(to), Rx(a); vfmadd213ps Rx(to), Rx(b), Rx(c))
            }
            (Operator::Fma, false) => {
                dynasm!(self.asm; .arch x64; vmovaps Rx(to), Rx(a); vfmadd213ss Rx(to), Rx(b), Rx(c))
            }
            (_, true) => dynasm!(self.asm; .arch x64; vsqrtps Rx(to), Rx(a)),
            (_, false) => dynasm!(self.asm; .arch x64; vsqrtss Rx(to), Rx(a), Rx(a)),
        }
    }
}
