//! Operations on floats that are nearly right: what `offset.rs` says, in the same order.
//!
//! Written into the code of a block, because most of what an operation has to do depends on where its arguments are.

use super::encode::*;
use super::literals::{Literal, number};
use super::*;

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
    asm.load_pair(15, number::<R>(Literal::Magnitude));
}

/// Writes an operation on arguments. While it is done, what the guest has is in xmm0, xmm1 and xmm14, and what it computes in xmm2. It leaves the
/// distance in xmm6, its doubt in xmm8; what the local error weighs beside the result in xmm0; and in xmm7 how much doubt the native result outweighs.
pub struct Arithmetic<'a, A, R> {
    pub asm: &'a mut A,
    /// Where what is known of the arguments is, and what the guest has: that may lie elsewhere, too, and be known there long before.
    pub args: [At; 3],
    pub natives: [At; 3],
    /// Which of them are what the operation right before has left, so that they need not come from memory.
    pub are_left: [bool; 3],
    pub is_single: bool,
    pub reals: PhantomData<R>,
}

impl<A: Assembly, R: Real> Arithmetic<'_, A, R> {
    pub fn operation(&mut self, operator: Operator) {
        for (number, to) in [0, 1, 14].into_iter().enumerate().take(operator.arity()) {
            let native = if self.are_left[number] { Operand::Register(2) } else { self.natives[number].into() };
            self.fetch(to, native);
        }
        match operator {
            Operator::Add | Operator::Sub if !self.is_single => self.sum_of_doubles(operator == Operator::Sub),
            _ => {
                self.compute(operator);
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
        self.magnitude(10, 2);
        self.avx(FMSUB132, 10, 0, self.of_type(Literal::Margin, Literal::MarginOfSingles));
        self.avx(FNMADD132, 7, 10, self.of_type(Literal::Distance, Literal::DistanceOfSingles));
    }

    /// One of two numbers for doubles and for singles.
    fn of_type(&self, of_doubles: Literal, of_singles: Literal) -> At {
        number::<R>(if self.is_single { of_singles } else { of_doubles })
    }

    /// The double next to the real into xmm9, and how large that is into xmm10.
    pub fn real(&mut self) {
        self.avx(ADD, 9, 2, 6);
        self.magnitude(10, 9);
    }

    pub fn avx(&mut self, instruction: Avx, to: Xmm, a: Xmm, b: impl Into<Operand>) {
        self.asm.avx(instruction, to, a, b);
    }

    pub fn by(&self, arg: usize) -> Operand {
        match self.are_left[arg] {
            true => Operand::Register(6),
            false => self.args[arg].further(offset_of!(Facts, near.offset.by)).into(),
        }
    }

    fn err(&self, arg: usize) -> Operand {
        match self.are_left[arg] {
            true => Operand::Register(8),
            false => self.args[arg].further(offset_of!(Facts, near.offset.err)).into(),
        }
    }

    fn fetch(&mut self, to: Xmm, from: Operand) {
        match from {
            Operand::Register(from) => self.asm.copy(to, from),
            Operand::Memory(at) => self.asm.load(to, at),
        }
    }

    pub fn magnitude(&mut self, to: Xmm, of: Xmm) {
        self.avx(AND, to, 15, of);
    }

    fn negate(&mut self, value: Xmm) {
        self.avx(XOR, value, value, number::<R>(Literal::Sign));
    }

    /// What a sum of two doubles has lost.
    pub fn rest_of_sum(&mut self, rest: Xmm, sum: Xmm, (a, b): (Xmm, Xmm), free: Xmm) {
        self.avx(SUB, free, sum, a);
        self.avx(SUB, rest, sum, free);
        self.avx(SUB, rest, a, rest);
        self.avx(SUB, free, b, free);
        self.avx(ADD, rest, rest, free);
    }

    fn least(&self) -> At {
        self.of_type(Literal::Least, Literal::LeastSingle)
    }

    /// What the guest computes, as a double.
    fn compute(&mut self, operator: Operator) {
        if !self.is_single {
            match operator {
                Operator::Mul => self.avx(MUL, 2, 0, 1),
                Operator::Div => self.avx(DIV, 2, 0, 1),
                Operator::Fma => {
                    self.asm.copy(2, 0);
                    self.avx(FMADD213, 2, 1, 14);
                }
                _ => self.avx(SQRT, 2, 0, 0),
            }
            return;
        }
        for (from, to) in [0, 1, 14].into_iter().zip([3, 4, 5]).take(operator.arity()) {
            self.avx(TO_SINGLE, to, from, from);
        }
        match operator {
            Operator::Add => self.avx(ADD_SINGLE, 3, 3, 4),
            Operator::Sub => self.avx(SUB_SINGLE, 3, 3, 4),
            Operator::Mul => self.avx(MUL_SINGLE, 3, 3, 4),
            Operator::Div => self.avx(DIV_SINGLE, 3, 3, 4),
            Operator::Fma => self.avx(FMADD213_SINGLE, 3, 4, 5),
            _ => self.avx(SQRT_SINGLE, 3, 3, 3),
        }
        self.avx(TO_DOUBLE, 2, 3, 3);
    }

    /// What the guest has does not wait for what it is off by: loops carry both, and the one is known long before the other.
    fn sum_of_doubles(&mut self, is_difference: bool) {
        match is_difference {
            false => self.avx(ADD, 2, 0, 1),
            true => self.avx(SUB, 2, 0, 1),
        }
        self.avx(SUB, 7, 2, 0);
        self.avx(SUB, 5, 2, 7);
        self.avx(SUB, 5, 0, 5);
        match is_difference {
            false => {
                self.avx(SUB, 7, 1, 7);
                self.avx(ADD, 5, 5, 7);
            }
            true => {
                self.avx(ADD, 7, 1, 7);
                self.avx(SUB, 5, 5, 7);
            }
        }
        self.sum_of_distances(is_difference, 5);
    }

    fn sum_of_singles(&mut self, is_difference: bool) {
        if is_difference {
            self.negate(1);
        }
        self.avx(ADD, 14, 0, 1);
        self.rest_of_sum(5, 14, (0, 1), 4);
        // A double nearly always has all of the sum of two singles.
        self.avx(SUB, 4, 14, 2);
        self.avx(ADD, 11, 4, 5);
        self.avx(SUB, 10, 11, 4);
        self.avx(SUB, 10, 5, 10);
        self.magnitude(10, 10);
        self.sum_of_distances(is_difference, 11);
    }

    /// What is handed on, and then the rest of the native sum. What these two sums lose, and of singles what is in xmm10, adds to the doubts.
    fn sum_of_distances(&mut self, is_difference: bool, rest: Xmm) {
        self.fetch(12, self.by(0));
        self.fetch(13, self.by(1));
        match self.err(0) {
            Operand::Register(err) => self.avx(ADD, 9, err, self.err(1)),
            Operand::Memory(err) => {
                self.fetch(9, self.err(1));
                self.avx(ADD, 9, 9, err);
            }
        }
        // What the local error weighs.
        self.avx(ADD, 0, 0, 12);
        self.magnitude(0, 0);
        self.avx(MUL, 0, 0, self.of_type(Literal::Term, Literal::TermOfSingles));
        if is_difference {
            self.negate(13);
        }
        self.avx(ADD, 4, 12, 13);
        self.avx(ADD, 6, 4, rest);
        // Both at once.
        self.avx(FIRST, 12, 12, 4);
        self.avx(FIRST, 13, 13, rest);
        self.avx(FIRST, 3, 4, 6);
        self.avx(SUB_PAIRS, 7, 3, 12);
        self.avx(SUB_PAIRS, 8, 3, 7);
        self.avx(SUB_PAIRS, 8, 12, 8);
        self.avx(SUB_PAIRS, 7, 13, 7);
        self.avx(ADD_PAIRS, 8, 8, 7);
        self.magnitude(8, 8);
        self.avx(SECOND, 7, 8, 8);
        self.avx(ADD, 8, 8, 7);
        if self.is_single {
            self.avx(ADD, 9, 9, 10);
        }
        let slack = number::<R>(Literal::Slack);
        self.avx(MUL, 4, 9, slack);
        self.avx(FMADD132, 8, 4, slack);
        self.magnitude(7, 6);
    }

    /// What the distances of two factors make of each other: into xmm9, and its first part into xmm4; what their doubts do, into xmm10.
    fn cross(&mut self) {
        self.avx(ADD, 12, 0, self.by(0));
        self.avx(ADD, 13, 1, self.by(1));
        self.avx(MUL, 4, 0, self.by(1));
        self.fetch(9, self.by(0));
        self.avx(FMADD213, 9, 13, 4);
        self.magnitude(10, 13);
        self.avx(ADD, 10, 10, self.err(1));
        self.avx(MUL, 10, 10, self.err(0));
        self.magnitude(11, 12);
        self.avx(FMADD231, 10, 11, self.err(1));
    }

    fn mul(&mut self) {
        match self.is_single {
            true => {
                self.avx(MUL, 5, 0, 1);
                self.avx(SUB, 5, 5, 2);
            }
            false => {
                self.asm.copy(5, 0);
                self.avx(FMSUB213, 5, 1, 2);
            }
        }
        self.cross();
        self.avx(ADD, 6, 5, 9);
        self.magnitude(5, 9);
        self.magnitude(4, 4);
        self.avx(ADD, 4, 4, 5);
        self.avx(FMADD231, 10, 4, number::<R>(Literal::TwoU));
        self.avx(MUL, 8, 10, number::<R>(Literal::Slack));
        self.magnitude(7, 6);
        self.avx(MUL, 4, 7, number::<R>(Literal::U));
        self.avx(MIN, 4, 4, 5);
        self.avx(FMADD231, 8, 4, number::<R>(Literal::Slack));
        self.asm.load(0, self.least());
    }

    /// Of a dividend that may have lost something the weight is no number, so that nothing outweighs it.
    fn div(&mut self) {
        self.asm.copy(5, 0);
        self.avx(FNMADD231, 5, 2, 1);
        self.fetch(4, self.by(0));
        self.avx(FNMADD231, 4, 2, self.by(1));
        self.avx(ADD, 9, 5, 4);
        self.avx(ADD, 13, 1, self.by(1));
        self.avx(DIV, 6, 9, 13);
        self.avx(ADD, 10, 2, 6);
        self.magnitude(10, 10);
        self.fetch(8, self.err(0));
        self.avx(FMADD231, 8, 10, self.err(1));
        self.magnitude(4, 4);
        self.magnitude(9, 9);
        self.avx(ADD, 4, 4, 9);
        self.avx(FMADD231, 8, 4, number::<R>(Literal::U));
        self.magnitude(13, 13);
        self.avx(DIV, 8, 8, 13);
        self.magnitude(7, 6);
        self.avx(FMADD231, 8, 7, number::<R>(Literal::FourU));
        self.avx(MUL, 8, 8, number::<R>(Literal::Slack));
        self.magnitude(0, 0);
        // All bits are set where it is not larger.
        let least = number::<R>(Literal::LeastDividend).distance;
        dynasm!(self.asm; .arch x64; vcmpsd xmm5, xmm0, [rbx + least], NOT_GREATER);
        self.asm.load(0, self.least());
        self.avx(OR, 0, 0, 5);
    }

    fn sqrt(&mut self) {
        self.asm.copy(5, 0);
        self.avx(FNMADD231, 5, 2, 2);
        self.avx(ADD, 9, 5, self.by(0));
        self.avx(ADD, 10, 2, 2);
        self.avx(DIV, 11, 9, 10);
        self.avx(ADD, 13, 10, 11);
        self.avx(DIV, 6, 9, 13);
        self.avx(DIV, 4, 11, 10);
        self.avx(MUL, 4, 4, 4);
        self.asm.load(5, number::<R>(Literal::FourU));
        self.avx(FMADD231, 5, 4, number::<R>(Literal::Two));
        self.magnitude(7, 6);
        self.magnitude(13, 13);
        self.fetch(8, self.err(0));
        self.avx(DIV, 8, 8, 13);
        self.avx(FMADD231, 8, 7, 5);
        self.avx(MUL, 8, 8, number::<R>(Literal::Slack));
        self.asm.load(0, self.least());
    }

    fn fma(&mut self) {
        self.avx(MUL, 4, 0, 1);
        self.asm.copy(5, 0);
        self.avx(FMSUB213, 5, 1, 4);
        self.avx(ADD, 6, 4, 14);
        self.rest_of_sum(8, 6, (4, 14), 7);
        self.avx(ADD, 5, 5, 8);
        self.avx(SUB, 6, 6, 2);
        self.avx(ADD, 3, 6, 5);
        self.cross();
        self.avx(ADD, 11, 9, self.by(2));
        self.avx(ADD, 6, 11, 3);
        self.avx(ADD, 10, 10, self.err(2));
        for value in [4, 9, 5, 3, 11] {
            self.magnitude(value, value);
        }
        self.magnitude(7, 6);
        self.avx(ADD, 4, 4, 9);
        self.avx(ADD, 5, 5, 3);
        self.avx(ADD, 4, 4, 5);
        self.avx(ADD, 4, 4, 11);
        self.avx(MUL, 8, 10, number::<R>(Literal::Slack));
        self.avx(FMADD231, 8, 4, number::<R>(Literal::TwoUAndSlack));
        self.avx(FMADD231, 8, 7, number::<R>(Literal::TwoUAndSlack));
        self.avx(ADD, 1, 14, self.by(2));
        self.magnitude(1, 1);
        self.asm.load(0, self.least());
        self.avx(FMADD231, 0, 1, self.of_type(Literal::TermBesideProduct, Literal::TermBesideProductOfSingles));
    }
}

/// What vcmpsd asks: is it not greater, or no number?
const NOT_GREATER: i8 = 0x1a;

pub fn doubt(is_single: bool) -> Literal {
    if is_single { Literal::DoubtOfSingles } else { Literal::Doubt }
}
