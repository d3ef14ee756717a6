//! Operations on floats that are nearly right: what `offset.rs` says, in the same order.
//!
//! Written into the code of a block, because most of what an operation has to do depends on where its arguments are.

use super::literals::{Literal, literal};
use super::*;

/// An xmm register, and a general one.
pub type Xmm = u8;
pub type Gpr = u8;

/// Where what is known of an argument is.
#[derive(Clone, Copy)]
pub struct At {
    pub register: Gpr,
    pub distance: i32,
}

const BY: i32 = offset_of!(Facts, near.offset.by) as i32;
const ERR: i32 = offset_of!(Facts, near.offset.err) as i32;
pub const INFLUENCES: i32 = offset_of!(Facts, influences) as i32;

/// What all kinds of assemblers can do.
pub trait Assembly: DynasmLabelApi<Relocation = X64Relocation> {
    fn label(&mut self) -> DynamicLabel;

    fn new_labels<const N: usize>(&mut self) -> [DynamicLabel; N] {
        std::array::from_fn(|_| self.label())
    }
}

impl Assembly for VecAssembler<X64Relocation> {
    fn label(&mut self) -> DynamicLabel {
        self.new_dynamic_label()
    }
}

impl Assembly for Assembler {
    fn label(&mut self) -> DynamicLabel {
        self.new_dynamic_label()
    }
}

/// The mask of magnitudes, which is asked for most often, is in xmm15 while a stretch runs.
pub fn fetch_mask<R: Real>(asm: &mut impl DynasmApi) {
    dynasm!(asm; .arch x64; vmovupd xmm15, [rbx + literal::<R>(Literal::Magnitude)]);
}

/// Writes an operation on arguments. While it is done, what the guest has is in xmm0, xmm1 and xmm14, and what it computes in xmm2. It leaves the
/// distance in xmm6, its doubt in xmm8; the double next to the real in xmm9 and how large that is in xmm10; and what the local error weighs beside it in
/// xmm0, and the same with distance and doubt in xmm7.
pub struct Arithmetic<'a, A, R> {
    pub asm: &'a mut A,
    pub args: [At; 3],
    pub is_single: bool,
    pub reals: PhantomData<R>,
}

impl<A: Assembly, R: Real> Arithmetic<'_, A, R> {
    pub fn operation(&mut self, operator: Operator) {
        match operator {
            Operator::Add | Operator::Sub if !self.is_single => self.sum_of_doubles(operator == Operator::Sub),
            _ => {
                for (number, to) in [0, 1, 14].into_iter().enumerate().take(operator.arity()) {
                    self.fetch(to, number);
                }
                if operator == Operator::Sub {
                    dynasm!(self.asm; .arch x64; vxorpd xmm1, xmm1, [rbx + literal::<R>(Literal::Sign)]);
                }
                self.native(operator);
                match operator {
                    Operator::Add => self.sum_of_singles(false),
                    Operator::Sub => self.sum_of_singles(true),
                    Operator::Mul => self.mul(),
                    Operator::Div => self.div(),
                    Operator::Fma => self.fma(),
                    _ => self.sqrt(),
                }
            }
        }
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm9, xmm2, xmm6
            ; vfmadd132sd xmm7, xmm0, [rbx + literal::<R>(Literal::Distance)]
        );
        self.add_scaled(7, 8, doubt(self.is_single));
        self.magnitude(10, 9);
    }

    fn by(&self, arg: usize) -> (Gpr, i32) {
        (self.args[arg].register, self.args[arg].distance + BY)
    }

    fn err(&self, arg: usize) -> (Gpr, i32) {
        (self.args[arg].register, self.args[arg].distance + ERR)
    }

    /// What the guest has, as a double.
    pub fn fetch(&mut self, to: Xmm, arg: usize) {
        const { assert!(offset_of!(Facts, near.native) == 0) };
        let At { register, distance } = self.args[arg];
        dynasm!(self.asm; .arch x64; vmovsd Rx(to), [Rq(register) + distance]);
    }

    fn fetch_by(&mut self, to: Xmm, arg: usize) {
        let (register, distance) = self.by(arg);
        dynasm!(self.asm; .arch x64; vmovsd Rx(to), [Rq(register) + distance]);
    }

    fn fetch_err(&mut self, to: Xmm, arg: usize) {
        let (register, distance) = self.err(arg);
        dynasm!(self.asm; .arch x64; vmovsd Rx(to), [Rq(register) + distance]);
    }

    /// A sum with what an argument is off by.
    pub fn add_by(&mut self, to: Xmm, native: Xmm, arg: usize) {
        let (register, distance) = self.by(arg);
        dynasm!(self.asm; .arch x64; vaddsd Rx(to), Rx(native), [Rq(register) + distance]);
    }

    fn add_err(&mut self, to: Xmm, arg: usize) {
        let (register, distance) = self.err(arg);
        dynasm!(self.asm; .arch x64; vaddsd Rx(to), Rx(to), [Rq(register) + distance]);
    }

    pub fn magnitude(&mut self, to: Xmm, of: Xmm) {
        dynasm!(self.asm; .arch x64; vandpd Rx(to), Rx(of), xmm15);
    }

    fn constant(&mut self, to: Xmm, number: Literal) {
        dynasm!(self.asm; .arch x64; vmovsd Rx(to), [rbx + literal::<R>(number)]);
    }

    pub fn scale(&mut self, to: Xmm, value: Xmm, by: Literal) {
        dynasm!(self.asm; .arch x64; vmulsd Rx(to), Rx(value), [rbx + literal::<R>(by)]);
    }

    /// Adds a multiple of a value.
    fn add_scaled(&mut self, to: Xmm, value: Xmm, by: Literal) {
        dynasm!(self.asm; .arch x64; vfmadd231sd Rx(to), Rx(value), [rbx + literal::<R>(by)]);
    }

    /// What a sum of two doubles has lost.
    fn rest_of_sum(&mut self, rest: Xmm, sum: Xmm, (a, b): (Xmm, Xmm), free: Xmm) {
        dynasm!(self.asm
            ; .arch x64
            ; vsubsd Rx(free), Rx(sum), Rx(a)
            ; vsubsd Rx(rest), Rx(sum), Rx(free)
            ; vsubsd Rx(rest), Rx(a), Rx(rest)
            ; vsubsd Rx(free), Rx(b), Rx(free)
            ; vaddsd Rx(rest), Rx(rest), Rx(free)
        );
    }

    fn least(&self) -> Literal {
        if self.is_single { Literal::LeastSingle } else { Literal::Least }
    }

    /// What the guest computes, as a double.
    fn native(&mut self, operator: Operator) {
        if !self.is_single {
            match operator {
                Operator::Mul => dynasm!(self.asm; .arch x64; vmulsd xmm2, xmm0, xmm1),
                Operator::Div => dynasm!(self.asm; .arch x64; vdivsd xmm2, xmm0, xmm1),
                Operator::Fma => dynasm!(self.asm; .arch x64; vmovapd xmm2, xmm0; vfmadd213sd xmm2, xmm1, xmm14),
                _ => dynasm!(self.asm; .arch x64; vsqrtsd xmm2, xmm0, xmm0),
            }
            return;
        }
        for (from, to) in [0, 1, 14].into_iter().zip([3, 4, 5]).take(operator.arity()) {
            dynasm!(self.asm; .arch x64; vcvtsd2ss Rx(to), Rx(from), Rx(from));
        }
        match operator {
            Operator::Add | Operator::Sub => dynasm!(self.asm; .arch x64; vaddss xmm3, xmm3, xmm4),
            Operator::Mul => dynasm!(self.asm; .arch x64; vmulss xmm3, xmm3, xmm4),
            Operator::Div => dynasm!(self.asm; .arch x64; vdivss xmm3, xmm3, xmm4),
            Operator::Fma => dynasm!(self.asm; .arch x64; vfmadd213ss xmm3, xmm4, xmm5),
            _ => dynasm!(self.asm; .arch x64; vsqrtss xmm3, xmm3, xmm3),
        }
        dynasm!(self.asm; .arch x64; vcvtss2sd xmm2, xmm3, xmm3);
    }

    /// What the guest has and what it is off by lie next to each other, and are added in the same way: both at once.
    fn sum_of_doubles(&mut self, is_difference: bool) {
        const { assert!(offset_of!(Facts, near.native) == 0 && BY == 8) };
        let [a, b, _] = self.args;
        dynasm!(self.asm
            ; .arch x64
            ; vmovupd xmm0, [Rq(a.register) + a.distance]
            ; vmovupd xmm1, [Rq(b.register) + b.distance]
        );
        if is_difference {
            dynasm!(self.asm; .arch x64; vxorpd xmm1, xmm1, [rbx + literal::<R>(Literal::Sign)]);
        }
        dynasm!(self.asm
            ; .arch x64
            ; vaddpd xmm2, xmm0, xmm1
            ; vsubpd xmm7, xmm2, xmm0
            ; vsubpd xmm5, xmm2, xmm7
            ; vsubpd xmm5, xmm0, xmm5
            ; vsubpd xmm7, xmm1, xmm7
            ; vaddpd xmm5, xmm5, xmm7
            ; vunpckhpd xmm4, xmm2, xmm2
            ; vunpckhpd xmm8, xmm5, xmm5
            ; vaddsd xmm6, xmm4, xmm5
        );
        self.rest_of_sum(9, 6, (4, 5), 7);
        self.end_of_sum();
    }

    fn sum_of_singles(&mut self, is_difference: bool) {
        dynasm!(self.asm; .arch x64; vaddsd xmm14, xmm0, xmm1);
        self.rest_of_sum(5, 14, (0, 1), 4);
        dynasm!(self.asm
            ; .arch x64
            ; vsubsd xmm4, xmm14, xmm2
            ; vaddsd xmm11, xmm4, xmm5
            ; vsubsd xmm4, xmm11, xmm4
            ; vsubsd xmm5, xmm5, xmm4
        );
        self.magnitude(10, 5);
        self.fetch_by(12, 0);
        self.fetch_by(13, 1);
        if is_difference {
            dynasm!(self.asm; .arch x64; vxorpd xmm13, xmm13, [rbx + literal::<R>(Literal::Sign)]);
        }
        dynasm!(self.asm; .arch x64; vaddsd xmm4, xmm12, xmm13; vaddsd xmm6, xmm4, xmm11);
        self.rest_of_sum(8, 4, (12, 13), 7);
        self.rest_of_sum(9, 6, (4, 11), 7);
        self.end_of_sum();
    }

    /// What was lost of the distance, in xmm8 and at last xmm9, and of a sum of singles in xmm10, adds to the doubts.
    fn end_of_sum(&mut self) {
        self.magnitude(8, 8);
        self.fetch_err(4, 0);
        self.add_err(4, 1);
        dynasm!(self.asm; .arch x64; vaddsd xmm8, xmm4, xmm8);
        if self.is_single {
            dynasm!(self.asm; .arch x64; vaddsd xmm8, xmm8, xmm10);
        }
        self.scale(8, 8, Literal::Slack);
        self.magnitude(9, 9);
        self.add_scaled(8, 9, Literal::Slack);
        self.magnitude(7, 6);
        self.add_by(0, 0, 0);
        self.magnitude(0, 0);
        self.scale(0, 0, Literal::Term);
    }

    /// What the distances of two factors make of each other: into xmm9, and its first part into xmm4; what their doubts do, into xmm10.
    fn cross(&mut self) {
        let ((by, of_by), (err_a, of_err_a), (err_b, of_err_b)) = (self.by(1), self.err(0), self.err(1));
        self.add_by(12, 0, 0);
        self.add_by(13, 1, 1);
        dynasm!(self.asm; .arch x64; vmulsd xmm4, xmm0, [Rq(by) + of_by]);
        self.fetch_by(9, 0);
        dynasm!(self.asm; .arch x64; vfmadd213sd xmm9, xmm13, xmm4);
        self.magnitude(10, 13);
        dynasm!(self.asm; .arch x64; vmulsd xmm10, xmm10, [Rq(err_a) + of_err_a]);
        self.magnitude(11, 12);
        dynasm!(self.asm; .arch x64; vfmadd231sd xmm10, xmm11, [Rq(err_b) + of_err_b]);
    }

    fn mul(&mut self) {
        match self.is_single {
            true => dynasm!(self.asm; .arch x64; vmulsd xmm5, xmm0, xmm1; vsubsd xmm5, xmm5, xmm2),
            false => dynasm!(self.asm; .arch x64; vmovapd xmm5, xmm0; vfmsub213sd xmm5, xmm1, xmm2),
        }
        self.cross();
        dynasm!(self.asm; .arch x64; vaddsd xmm6, xmm5, xmm9);
        self.magnitude(9, 9);
        self.magnitude(4, 4);
        dynasm!(self.asm; .arch x64; vaddsd xmm4, xmm4, xmm9);
        self.add_scaled(10, 4, Literal::TwoU);
        self.scale(8, 10, Literal::Slack);
        self.magnitude(7, 6);
        self.scale(4, 7, Literal::U);
        dynasm!(self.asm; .arch x64; vminsd xmm4, xmm4, xmm9);
        self.add_scaled(8, 4, Literal::Slack);
        self.constant(0, self.least());
    }

    /// Of a dividend that may have lost something the weight is no number, so that nothing outweighs it.
    fn div(&mut self) {
        let ((by, of_by), (err, of_err)) = (self.by(1), self.err(1));
        dynasm!(self.asm; .arch x64; vmovapd xmm5, xmm0; vfnmadd231sd xmm5, xmm2, xmm1);
        self.fetch_by(4, 0);
        dynasm!(self.asm; .arch x64; vfnmadd231sd xmm4, xmm2, [Rq(by) + of_by]; vaddsd xmm9, xmm5, xmm4);
        self.add_by(13, 1, 1);
        dynasm!(self.asm; .arch x64; vdivsd xmm6, xmm9, xmm13; vaddsd xmm10, xmm2, xmm6);
        self.magnitude(10, 10);
        self.fetch_err(8, 0);
        dynasm!(self.asm; .arch x64; vfmadd231sd xmm8, xmm10, [Rq(err) + of_err]);
        self.magnitude(4, 4);
        self.magnitude(9, 9);
        dynasm!(self.asm; .arch x64; vaddsd xmm4, xmm4, xmm9);
        self.add_scaled(8, 4, Literal::U);
        self.magnitude(13, 13);
        dynasm!(self.asm; .arch x64; vdivsd xmm8, xmm8, xmm13);
        self.magnitude(7, 6);
        self.add_scaled(8, 7, Literal::FourU);
        self.scale(8, 8, Literal::Slack);
        self.magnitude(0, 0);
        // All bits are set where it is not larger.
        dynasm!(self.asm; .arch x64; vcmpsd xmm5, xmm0, [rbx + literal::<R>(Literal::Least)], NOT_GREATER);
        self.constant(0, self.least());
        dynasm!(self.asm; .arch x64; vorpd xmm0, xmm0, xmm5);
    }

    fn sqrt(&mut self) {
        dynasm!(self.asm; .arch x64; vmovapd xmm5, xmm0; vfnmadd231sd xmm5, xmm2, xmm2);
        self.add_by(9, 5, 0);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm10, xmm2, xmm2
            ; vdivsd xmm11, xmm9, xmm10
            ; vaddsd xmm13, xmm10, xmm11
            ; vdivsd xmm6, xmm9, xmm13
            ; vdivsd xmm4, xmm11, xmm10
            ; vmulsd xmm4, xmm4, xmm4
        );
        self.constant(5, Literal::FourU);
        self.add_scaled(5, 4, Literal::Two);
        self.magnitude(7, 6);
        self.magnitude(13, 13);
        self.fetch_err(8, 0);
        dynasm!(self.asm; .arch x64; vdivsd xmm8, xmm8, xmm13; vfmadd231sd xmm8, xmm7, xmm5);
        self.scale(8, 8, Literal::Slack);
        self.constant(0, self.least());
    }

    fn fma(&mut self) {
        dynasm!(self.asm
            ; .arch x64
            ; vmulsd xmm4, xmm0, xmm1
            ; vmovapd xmm5, xmm0
            ; vfmsub213sd xmm5, xmm1, xmm4
            ; vaddsd xmm6, xmm4, xmm14
        );
        self.rest_of_sum(8, 6, (4, 14), 7);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm5, xmm5, xmm8
            ; vsubsd xmm6, xmm6, xmm2
            ; vaddsd xmm3, xmm6, xmm5
        );
        self.cross();
        self.add_by(11, 9, 2);
        dynasm!(self.asm; .arch x64; vaddsd xmm6, xmm11, xmm3);
        self.add_err(10, 2);
        for value in [4, 9, 5, 3, 11] {
            self.magnitude(value, value);
        }
        self.magnitude(7, 6);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm4, xmm4, xmm9
            ; vaddsd xmm5, xmm5, xmm3
            ; vaddsd xmm4, xmm4, xmm5
            ; vaddsd xmm4, xmm4, xmm11
        );
        self.scale(8, 10, Literal::Slack);
        self.add_scaled(8, 4, Literal::TwoUAndSlack);
        self.add_scaled(8, 7, Literal::TwoUAndSlack);
        self.add_by(1, 14, 2);
        self.magnitude(1, 1);
        self.constant(0, self.least());
        self.add_scaled(0, 1, Literal::TermBesideProduct);
    }
}

/// What vcmpsd asks: is it not greater, or no number?
const NOT_GREATER: i8 = 0x1a;

pub fn doubt(is_single: bool) -> Literal {
    if is_single { Literal::DoubtOfSingles } else { Literal::Doubt }
}
