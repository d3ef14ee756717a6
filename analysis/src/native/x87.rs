//! The x87's arithmetic: the very instructions, under the guest's control word. NaN rules, precision control and the odd encodings
//! come for free.

use crate::mode::Mode;
use fpgrind_ir::{Operator, Rounding, Type};
use std::arch::asm;

/// A long double in memory, where the x87 loads it from; ten bytes count.
type Memory = [u128; 1];

/// Runs x87 instructions that begin and end with an empty stack.
///
/// Sound because compiled code for x86-64 keeps nothing in the x87: its registers are empty (System V ABI, 3.2.1), are declared as
/// clobbered, and the control word is put back.
macro_rules! under_control {
    ($control:expr, [$($instruction:literal),*], $($operand:tt)*) => {{
        // Exceptions stay masked whatever the guest says: a trap would be ours.
        let guest: u16 = $control | 0x3f;
        let mut ours: u16 = 0;
        // SAFETY: the instructions read and write the memory that they are given, and see above.
        unsafe {
            asm!(
                "fnstcw [{ours}]",
                "fldcw [{guest}]",
                $($instruction,)*
                "fnclex",
                "fldcw [{ours}]",
                ours = in(reg) &mut ours,
                guest = in(reg) &guest,
                $($operand)*,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
    }};
}

macro_rules! unary {
    ($control:expr, $a:expr, $($instruction:literal),*) => {{
        let (a, mut r): (Memory, Memory) = ([$a], [0]);
        under_control!(
            $control,
            ["fld tbyte ptr [{a}]", $($instruction,)* "fstp tbyte ptr [{r}]"],
            a = in(reg) &a, r = in(reg) &mut r
        );
        r[0]
    }};
}

/// The first argument is loaded first: it lies below the second.
macro_rules! binary {
    ($control:expr, $a:expr, $b:expr, $($instruction:literal),*) => {{
        let (a, b, mut r): (Memory, Memory, Memory) = ([$a], [$b], [0]);
        under_control!(
            $control,
            ["fld tbyte ptr [{a}]", "fld tbyte ptr [{b}]", $($instruction,)* "fstp tbyte ptr [{r}]"],
            a = in(reg) &a, b = in(reg) &b, r = in(reg) &mut r
        );
        r[0]
    }};
}

/// The status word after a remainder.
macro_rules! remainder {
    ($a:expr, $b:expr, $instruction:literal) => {{
        let (a, b): (Memory, Memory) = ([$a], [$b]);
        let status: u16;
        under_control!(
            crate::mode::CONTROL_DEFAULT,
            ["fld tbyte ptr [{b}]", "fld tbyte ptr [{a}]", $instruction, "fnstsw ax", "fstp st(0)", "fstp st(0)"],
            a = in(reg) &a, b = in(reg) &b, out("ax") status
        );
        status
    }};
}

pub fn apply(operator: Operator, from: Type, ty: Type, args: &[u128], control: u16) -> Option<u128> {
    if from != ty {
        let [a] = args else { return None };
        return if operator == Operator::Cast { cast(from, ty, *a, control) } else { None };
    }
    const SIGN: u128 = 1 << 79;
    let with = |rounding| Mode { control, ..Mode::default() }.with(rounding).control;
    Some(match (operator, args) {
        (Operator::Add, [a, b]) => binary!(control, *a, *b, "faddp"),
        (Operator::Sub, [a, b]) => binary!(control, *a, *b, "fsubp"),
        (Operator::Mul, [a, b]) => binary!(control, *a, *b, "fmulp"),
        (Operator::Div, [a, b]) => binary!(control, *a, *b, "fdivp"),
        (Operator::Sqrt, [a]) => unary!(control, *a, "fsqrt"),
        (Operator::Neg, [a]) => unary!(control, *a, "fchs"),
        (Operator::Abs, [a]) => unary!(control, *a, "fabs"),
        (Operator::Copysign, [a, b]) => a & !SIGN | b & SIGN,
        (Operator::Nearbyint, [a]) => unary!(control, *a, "frndint"),
        (Operator::RoundEven, [a]) => unary!(with(Rounding::Nearest), *a, "frndint"),
        (Operator::Floor, [a]) => unary!(with(Rounding::Down), *a, "frndint"),
        (Operator::Ceil, [a]) => unary!(with(Rounding::Up), *a, "frndint"),
        (Operator::Trunc, [a]) => unary!(with(Rounding::Truncate), *a, "frndint"),
        (Operator::Logb, [a]) => unary!(control, *a, "fxtract", "fstp st(0)"),
        (Operator::Exp2m1, [a]) => unary!(control, *a, "f2xm1"),
        // Beyond their range these leave their argument. See `is_complete`.
        (Operator::Sin, [a]) => unary!(control, *a, "fsin"),
        (Operator::Cos, [a]) => unary!(control, *a, "fcos"),
        (Operator::Tan, [a]) if is_reducible(*a) => unary!(control, *a, "fptan", "fstp st(0)"),
        (Operator::Tan, [a]) => *a,
        // The dividend, or what is scaled, is on top.
        (Operator::Fmod, [a, b]) => binary!(control, *b, *a, "fprem", "fstp st(1)"),
        (Operator::Remainder, [a, b]) => binary!(control, *b, *a, "fprem1", "fstp st(1)"),
        (Operator::Fscale, [a, b]) => binary!(control, *b, *a, "fscale", "fstp st(1)"),
        (Operator::Atan2, [y, x]) => binary!(control, *y, *x, "fpatan"),
        (Operator::Yl2x, [y, x]) => binary!(control, *y, *x, "fyl2x"),
        (Operator::Yl2xp1, [y, x]) => binary!(control, *y, *x, "fyl2xp1"),
        _ => return None,
    })
}

fn cast(from: Type, ty: Type, bits: u128, control: u16) -> Option<u128> {
    let (a, mut r): (Memory, Memory) = ([bits], [0]);
    macro_rules! through {
        ($load:literal, $store:literal) => {
            under_control!(control, [$load, $store], a = in(reg) &a, r = in(reg) &mut r)
        };
    }
    match (from, ty) {
        (Type::F32, Type::F80) => through!("fld dword ptr [{a}]", "fstp tbyte ptr [{r}]"),
        (Type::F64, Type::F80) => through!("fld qword ptr [{a}]", "fstp tbyte ptr [{r}]"),
        (Type::F80, Type::F32) => through!("fld tbyte ptr [{a}]", "fstp dword ptr [{r}]"),
        (Type::F80, Type::F64) => through!("fld tbyte ptr [{a}]", "fstp qword ptr [{r}]"),
        _ => return None,
    }
    Some(r[0])
}

/// Does the instruction do all that its operator means? Sines and the like refuse arguments from 2^63 on, and a remainder is found in
/// several steps if the quotient is large; C2 says so (SDM, FPREM).
pub fn is_complete(operator: Operator, args: &[u128]) -> bool {
    match (operator, args) {
        (Operator::Sin | Operator::Cos | Operator::Tan, [a]) => is_reducible(*a),
        (Operator::Fmod, [a, b]) => remainder!(*a, *b, "fprem") & C2 == 0,
        (Operator::Remainder, [a, b]) => remainder!(*a, *b, "fprem1") & C2 == 0,
        _ => true,
    }
}

const C2: u16 = 1 << 10;

/// Less than 2^63 in magnitude, or no number.
fn is_reducible(bits: u128) -> bool {
    let exponent = bits >> 64 & 0x7fff;
    exponent < 0x3fff + 63 || exponent == 0x7fff
}

#[cfg(test)]
#[path = "x87_tests.rs"]
mod tests;
