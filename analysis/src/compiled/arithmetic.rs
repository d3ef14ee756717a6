//! Formulas for floats that are nearly right: what `offset.rs` says, in the same order, for one or for four.
//!
//! They take the arguments' native values in registers 0, 1 and 14 and the result's in 2. They leave the distance in 6 and its magnitude in
//! 7, the doubt in 8, what weighs against the result in 0, and in 12 what the first argument is in the reals.

use super::routines::Maker;
use super::vectors::{A, B, C, Known};
use super::*;
use crate::offset::{DISTANCE, DOUBT, DOUBT_OF_SINGLES, LEAST, LEAST_SINGLE, SLACK, TERM, TERM_BESIDE_PRODUCT};
use crate::pair::U;

pub fn least(is_single: bool) -> f64 {
    if is_single { LEAST_SINGLE } else { LEAST }
}

pub fn doubt(is_single: bool) -> f64 {
    if is_single { DOUBT_OF_SINGLES } else { DOUBT }
}

impl<R: Real> Maker<R> {
    /// The operation, natively and in the reals; and what weighs against the result, as [`Done`](crate::offset::Done) has it: in 11 what its local
    /// error weighs, in 0 distance and doubt as well; the real in 9, its magnitude in 10.
    pub fn compute(&mut self, operator: Operator, ty: Type) {
        let is_single = ty == Type::F32;
        for (arg, to) in [A, B, C].into_iter().zip([0, 1, 14]).take(operator.arity()) {
            self.fetch(to, arg, Known::Native);
        }
        if operator == Operator::Sub {
            self.negative(1, 1);
        }
        self.native(operator, is_single);
        match operator {
            Operator::Add => self.add(false, is_single),
            Operator::Sub => self.add(true, is_single),
            Operator::Mul => self.mul(is_single),
            Operator::Div => self.div(is_single),
            Operator::Fma => self.fma(is_single),
            _ => self.sqrt(is_single),
        }
        self.copy(11, 0);
        self.plus(9, 2, 6);
        self.add_scaled(0, 7, DISTANCE);
        self.add_scaled(0, 8, doubt(is_single));
        self.magnitude(10, 9);
    }

    /// What the guest computes.
    fn native(&mut self, operator: Operator, is_single: bool) {
        if is_single {
            for (from, to) in [0, 1, 14].into_iter().zip([3, 4, 5]).take(operator.arity()) {
                self.narrow(to, from);
            }
            self.on_singles(operator, 3, 3, 4, 5);
            return self.widen(2, 3);
        }
        match operator {
            Operator::Add | Operator::Sub => self.plus(2, 0, 1),
            Operator::Mul => self.times(2, 0, 1),
            Operator::Div => self.over(2, 0, 1),
            Operator::Fma => {
                self.copy(2, 0);
                self.multiply_add(2, 1, 14);
            }
            _ => self.root(2, 0),
        }
    }

    fn add(&mut self, is_difference: bool, is_single: bool) {
        let (sum, rest) = if is_single { (14, 11) } else { (2, 5) };
        if is_single {
            self.plus(14, 0, 1);
        }
        self.rest_of_sum(5, sum, (0, 1), 4);
        if is_single {
            self.minus(4, 14, 2);
            self.plus(11, 4, 5);
            self.minus(4, 11, 4);
            self.minus(5, 5, 4);
            self.magnitude(10, 5);
        }
        self.fetch(12, A, Known::By);
        self.fetch(13, B, Known::By);
        if is_difference {
            self.negative(13, 13);
        }
        self.plus(4, 12, 13);
        self.plus(6, 4, rest);
        self.rest_of_sum(8, 4, (12, 13), 7);
        self.rest_of_sum(9, 6, (4, rest), 7);
        self.magnitude(8, 8);
        self.magnitude(9, 9);
        self.magnitude(7, 6);
        self.plus(8, 8, 9);
        if is_single {
            self.plus(8, 8, 10);
        }
        self.fetch(9, A, Known::Err);
        self.plus_known(9, 9, B, Known::Err);
        self.plus(8, 9, 8);
        self.scale(8, 8, SLACK);
        self.plus_known(12, 0, A, Known::By);
        self.magnitude(0, 12);
        self.scale(0, 0, TERM);
    }

    /// What the distances of two factors make of each other: into 9, and its first part into 4; what their doubts do, into 10.
    fn cross(&mut self) {
        self.plus_known(12, 0, A, Known::By);
        self.plus_known(13, 1, B, Known::By);
        self.times_known(4, 0, B, Known::By);
        self.fetch(9, A, Known::By);
        self.multiply_add(9, 13, 4);
        self.magnitude(10, 13);
        self.times_known(10, 10, A, Known::Err);
        self.magnitude(11, 12);
        self.add_product_known(10, 11, B, Known::Err);
    }

    fn mul(&mut self, is_single: bool) {
        match is_single {
            true => {
                self.times(5, 0, 1);
                self.minus(5, 5, 2);
            }
            false => {
                self.copy(5, 0);
                self.multiply_subtract(5, 1, 2);
            }
        }
        self.cross();
        self.plus(6, 5, 9);
        self.magnitude(9, 9);
        self.magnitude(7, 6);
        self.scale(8, 7, U);
        self.lesser(8, 8, 9);
        self.magnitude(4, 4);
        self.plus(4, 4, 9);
        self.add_scaled(8, 4, 2.0 * U);
        self.plus(8, 10, 8);
        self.scale(8, 8, SLACK);
        self.constant(0, least(is_single));
    }

    fn div(&mut self, is_single: bool) {
        self.copy(5, 0);
        self.subtract_product(5, 2, 1);
        self.fetch(4, A, Known::By);
        self.subtract_product_known(4, 2, B, Known::By);
        self.plus(9, 5, 4);
        self.plus_known(13, 1, B, Known::By);
        self.over(6, 9, 13);
        self.plus(10, 2, 6);
        self.magnitude(10, 10);
        self.fetch(8, A, Known::Err);
        self.add_product_known(8, 10, B, Known::Err);
        self.magnitude(4, 4);
        self.magnitude(9, 9);
        self.plus(4, 4, 9);
        self.add_scaled(8, 4, U);
        self.magnitude(13, 13);
        self.over(8, 8, 13);
        self.magnitude(7, 6);
        self.add_scaled(8, 7, 4.0 * U);
        self.scale(8, 8, SLACK);
        // Of what is near the least double nothing is known: infinity weighs more than all.
        self.magnitude(4, 0);
        self.constant(0, least(is_single));
        self.constant(5, LEAST);
        self.constant(15, f64::INFINITY);
        self.unless_greater(0, (4, 5), 15);
    }

    fn sqrt(&mut self, is_single: bool) {
        self.copy(5, 0);
        self.subtract_product(5, 2, 2);
        self.plus_known(9, 5, A, Known::By);
        self.plus(10, 2, 2);
        self.over(11, 9, 10);
        self.plus(13, 10, 11);
        self.over(6, 9, 13);
        self.over(4, 11, 10);
        self.times(4, 4, 4);
        self.constant(5, 4.0 * U);
        self.add_scaled(5, 4, 2.0);
        self.magnitude(7, 6);
        self.magnitude(13, 13);
        self.fetch(8, A, Known::Err);
        self.over(8, 8, 13);
        self.add_product(8, 7, 5);
        self.scale(8, 8, SLACK);
        self.constant(0, least(is_single));
    }

    fn fma(&mut self, is_single: bool) {
        self.times(4, 0, 1);
        self.copy(5, 0);
        self.multiply_subtract(5, 1, 4);
        self.plus(6, 4, 14);
        self.rest_of_sum(8, 6, (4, 14), 7);
        self.plus(5, 5, 8);
        self.minus(6, 6, 2);
        self.plus(15, 6, 5);
        self.cross();
        self.plus_known(11, 9, C, Known::By);
        self.plus(6, 11, 15);
        self.plus_known(10, 10, C, Known::Err);
        for value in [4, 9, 5, 15, 11] {
            self.magnitude(value, value);
        }
        self.magnitude(7, 6);
        self.plus(4, 4, 9);
        self.plus(5, 5, 15);
        self.plus(4, 4, 5);
        self.plus(11, 11, 7);
        self.plus(4, 4, 11);
        self.add_scaled(10, 4, 2.0 * U);
        self.scale(8, 10, SLACK);
        self.plus_known(1, 14, C, Known::By);
        self.magnitude(1, 1);
        self.constant(0, least(is_single));
        self.add_scaled(0, 1, TERM_BESIDE_PRODUCT);
    }
}
