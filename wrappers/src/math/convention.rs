//! Where a function finds its arguments and leaves its results: the System V ABI for AMD64, section 3.2.3, and for vector functions
//! the x86 Vector Function ABI, which passes vectors as other arguments of their size are passed.

use super::functions::{Give, Take};
use super::{Argument, At, Kind, Math, Outcome};
use crate::call::INTEGER_REGISTERS;
use fpgrind_ir::{MAX_OUT, Operator, Place, Reg, Type};

/// How a function works on vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    pub count: u8,
    /// Bytes of a vector register.
    pub width: u8,
    /// Pointers point to consecutive results, in a general register each; or else there is one for each lane, in vectors of so many
    /// bytes.
    pub pointers: Option<u8>,
}

impl Lanes {
    pub const SCALAR: Lanes = Lanes { count: 1, width: 16, pointers: None };
}

/// Vector registers that carry arguments.
const VECTORS: u8 = 8;

/// Where the next argument of each kind is.
struct Next {
    vector: u8,
    integer: usize,
    /// Above the stack pointer: the return address comes first.
    stack: u8,
}

/// The function that takes and gives this, in a format and so many lanes at once, and rounds its results to another format. Nothing if the
/// convention puts something where it is not looked for.
pub fn math(takes: &[Take], gives: &[Give], from: Type, to: Type, lanes: Lanes) -> Option<Math> {
    let mut math = Math::default();
    let mut next = Next { vector: 0, integer: 0, stack: 8 };
    // A complex number too long for registers is returned in memory, which the caller points to before all else.
    if to == Type::F128 && gives.iter().any(|give| matches!(give, Give::Complex(..))) {
        math.pointers.push((Place::gpr(next.integer()?), 8));
    }
    // Of each argument all lanes, one behind the other.
    for take in takes {
        match take {
            Take::X => next.vectors(&mut math, from, lanes)?,
            Take::Z => next.complex(&mut math, from)?,
            Take::Of(ty) => next.vectors(&mut math, *ty, Lanes::SCALAR)?,
            Take::ComplexOf(ty) => next.complex(&mut math, *ty)?,
            Take::Int | Take::Long => {
                let bytes = if *take == Take::Int { 4 } else { 8 };
                let at = At::Register(Place::gpr(next.integer()?));
                math.args.push(Argument { kind: Kind::Integer(bytes), at });
            }
            Take::Nothing => math.args.push(float(from, At::Zero)),
            Take::Pointer => match lanes.pointers {
                None => math.pointers.push((Place::gpr(next.integer()?), 8)),
                Some(width) => {
                    for _ in 0..(8 * lanes.count).div_ceil(width) {
                        math.pointers.push((Place::vec(next.vector()?, 0), width));
                    }
                }
            },
        }
    }
    let arguments = (math.args.len() / lanes.count as usize) as u8;
    for give in gives {
        for lane in 0..lanes.count {
            give.results(&mut math, to, lanes, lane, arguments)?;
        }
    }
    let pointers: u32 = math.pointers.iter().map(|(_, bytes)| u32::from(*bytes) / 8).sum();
    (pointers <= u32::from(MAX_OUT)).then_some(math)
}

fn float(ty: Type, at: At) -> Argument {
    Argument { kind: Kind::Float(ty), at }
}

impl Next {
    /// Floats of all lanes.
    fn vectors(&mut self, math: &mut Math, ty: Type, lanes: Lanes) -> Option<()> {
        if ty == Type::F80 {
            return self.on_stack(math, ty);
        }
        for lane in 0..lanes.count {
            let offset = lane * ty.bytes() as u8 % lanes.width;
            let register = if offset == 0 { self.vector()? } else { self.vector - 1 };
            math.args.push(float(ty, At::Register(Place::vec(register, offset))));
        }
        Some(())
    }

    fn on_stack(&mut self, math: &mut Math, ty: Type) -> Option<()> {
        math.args.push(float(ty, At::Stack(self.stack)));
        self.stack = self.stack.checked_add(16)?;
        Some(())
    }

    fn complex(&mut self, math: &mut Math, ty: Type) -> Option<()> {
        if ty == Type::F128 {
            for _ in 0..2 {
                self.on_stack(math, ty)?;
            }
            return Some(());
        }
        if ty != Type::F32 {
            self.vectors(math, ty, Lanes::SCALAR)?;
            return self.vectors(math, ty, Lanes::SCALAR);
        }
        let register = self.vector()?;
        math.args.extend([0, 4].map(|offset| float(ty, At::Register(Place::vec(register, offset)))));
        Some(())
    }

    fn vector(&mut self) -> Option<u8> {
        self.vector += 1;
        (self.vector <= VECTORS).then_some(self.vector - 1)
    }

    fn integer(&mut self) -> Option<u8> {
        self.integer += 1;
        INTEGER_REGISTERS.get(self.integer - 1).map(|register| *register as u8)
    }
}

impl Give {
    /// The results in one lane.
    fn results(self, math: &mut Math, ty: Type, lanes: Lanes, lane: u8, arguments: u8) -> Option<()> {
        let of = |numbers: &mut dyn Iterator<Item = u8>| numbers.map(|number| number * lanes.count + lane).collect();
        let mut give = |operator: Operator, numbers: &mut dyn Iterator<Item = u8>, ty: Type, at: Place| {
            let of: Vec<u8> = of(numbers);
            math.results.push(Outcome { operator, of, ty, at });
        };
        let bytes = ty.bytes() as u8;
        let returned = match ty {
            Type::F80 => Place::whole(Reg::X87(0)),
            _ => {
                let at = u16::from(lane) * u16::from(bytes);
                Place::vec((at / u16::from(lanes.width)) as u8, (at % u16::from(lanes.width)) as u8)
            }
        };
        let all = &mut (0..arguments);
        match self {
            Give::Float(operator) => give(operator, all, ty, returned),
            Give::On(operator, numbers) => give(operator, &mut numbers.iter().copied(), ty, returned),
            Give::Complex(re, im) if ty == Type::F128 => {
                let [real, imaginary] = [0, bytes].map(|offset| Place { reg: Reg::Out(0), offset });
                give(re, all, ty, real);
                give(im, &mut (0..arguments), ty, imaginary);
            }
            Give::Complex(re, im) => {
                let imaginary = match ty {
                    Type::F32 => Place::vec(0, 4),
                    Type::F80 => Place::whole(Reg::X87(1)),
                    _ => Place::vec(1, 0),
                };
                give(re, all, ty, returned);
                give(im, &mut (0..arguments), ty, imaginary);
            }
            Give::Integer(operator, bytes) => give(operator, all, Type::bits_of(bytes.into())?, Place::gpr(RAX)),
            Give::Written(pointer, operator) => {
                let at = match lanes.pointers {
                    None => Place { reg: Reg::Out(pointer), offset: lane * bytes },
                    Some(_) => Place::whole(Reg::Out(pointer * lanes.count + lane)),
                };
                give(operator, all, ty, at);
            }
        }
        Some(())
    }
}

const RAX: u8 = 0;
