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
}

impl Known {
    pub const fn offset(self) -> i8 {
        match self {
            Known::Native => offset_of!(Facts, near.native) as i8,
            Known::By => offset_of!(Facts, near.offset.by) as i8,
            Known::Err => offset_of!(Facts, near.offset.err) as i8,
        }
    }
}

/// Doubles of four arguments at a time lie here, from rbx: what is known of each, one kind after another.
pub fn four<R>(arg: Arg, known: Known) -> i32 {
    (offset_of!(Operations<R>, routines.fours) + 32 * (3 * arg.0 + known.offset() as usize / 8)) as i32
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
    /// Adds a product.
    add_product vfmadd231sd vfmadd231pd;
    /// Subtracts a product.
    subtract_product vfnmadd231sd vfnmadd231pd;
    /// Multiplies, and adds the last.
    multiply_add vfmadd213sd vfmadd213pd;
    /// Multiplies, and subtracts the last.
    multiply_subtract vfmsub213sd vfmsub213pd;
}

instructions_with_known! {
    plus_known vaddsd vaddpd;
    minus_known vsubsd vsubpd;
    times_known vmulsd vmulpd;
    add_product_known vfmadd231sd vfmadd231pd;
    subtract_product_known vfnmadd231sd vfnmadd231pd;
}

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
            true => dynasm!(self.asm; .arch x64; vandpd Ry(to), Ry(of), [=>mask]),
            false => dynasm!(self.asm; .arch x64; vandpd Rx(to), Rx(of), [=>mask]),
        }
    }

    pub fn negative(&mut self, to: Vector, of: Vector) {
        let mask = self.number(-0.0);
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vxorpd Ry(to), Ry(of), [=>mask]),
            false => dynasm!(self.asm; .arch x64; vxorpd Rx(to), Rx(of), [=>mask]),
        }
    }

    pub fn constant(&mut self, to: Vector, number: f64) {
        let number = self.number(number);
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vmovupd Ry(to), [=>number]),
            false => dynasm!(self.asm; .arch x64; vmovsd Rx(to), [=>number]),
        }
    }

    pub fn scale(&mut self, to: Vector, value: Vector, by: f64) {
        let by = self.number(by);
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vmulpd Ry(to), Ry(value), [=>by]),
            false => dynasm!(self.asm; .arch x64; vmulsd Rx(to), Rx(value), [=>by]),
        }
    }

    /// Adds a multiple of a value.
    pub fn add_scaled(&mut self, to: Vector, value: Vector, by: f64) {
        let by = self.number(by);
        match self.is_packed {
            true => dynasm!(self.asm; .arch x64; vfmadd231pd Ry(to), Ry(value), [=>by]),
            false => dynasm!(self.asm; .arch x64; vfmadd231sd Rx(to), Rx(value), [=>by]),
        }
    }

    /// Becomes another unless a value is greater than a limit.
    pub fn unless_greater(&mut self, to: Vector, (value, limit): (Vector, Vector), other: Vector) {
        const GREATER: i8 = 0x1e;
        match self.is_packed {
            true => dynasm!(self.asm
                ; .arch x64
                ; vcmppd Ry(value), Ry(value), Ry(limit), GREATER
                ; vblendvpd Ry(to), Ry(other), Ry(to), Ry(value)
            ),
            false => dynasm!(self.asm
                ; .arch x64
                ; vcmpsd Rx(value), Rx(value), Rx(limit), GREATER
                ; vblendvpd Rx(to), Rx(other), Rx(to), Rx(value)
            ),
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
