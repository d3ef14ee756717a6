//! Functions of complex numbers, by MPC: each part is rounded correctly.

use super::RND;
use fpgrind_ir::Operator;
use gmp_mpfr_sys::mpc::{self, mpc_t, rnd_t};
use gmp_mpfr_sys::mpfr::{self, mpfr_t};
use std::ffi::c_int;
use std::mem::MaybeUninit;

/// Both parts to nearest.
const BOTH: rnd_t = mpc::RNDNN;

/// A number that MPC may move about in memory, as it does.
struct Complex(mpc_t);

impl Complex {
    fn new(precision: mpfr::prec_t) -> Complex {
        let mut number = MaybeUninit::uninit();
        // SAFETY: initialised here, and cleared when dropped.
        unsafe {
            mpc::init2(number.as_mut_ptr(), precision);
            Complex(number.assume_init())
        }
    }
}

impl Drop for Complex {
    fn drop(&mut self) {
        // SAFETY: initialised by `new`, the one way to make one.
        unsafe { mpc::clear(&mut self.0) };
    }
}

enum Part {
    Real,
    Imaginary,
}

/// A part of a function of one or two complex numbers, each given by its parts; NaN if there is no such function.
///
/// # Safety
/// All must be valid numbers.
pub unsafe fn apply(operator: Operator, r: &mut mpfr_t, args: &[*const mpfr_t]) -> c_int {
    // SAFETY: as the caller says. MPC only reads its operands, here copies of the structures whose digits they share.
    unsafe {
        let number = |re: *const mpfr_t, im: *const mpfr_t| mpc_t { re: *re, im: *im };
        let mut result = Complex::new(r.prec);
        let to = &mut result.0;
        let part = match *args {
            [re, im] => of_one(operator, to, &number(re, im)),
            [re, im, re2, im2] => of_two(operator, to, &number(re, im), &number(re2, im2)),
            _ => None,
        };
        match part {
            Some(Part::Real) => mpfr::set(r, &to.re, RND),
            Some(Part::Imaginary) => mpfr::set(r, &to.im, RND),
            None => {
                mpfr::set_nan(r);
                0
            }
        }
    }
}

type Function = unsafe extern "C" fn(*mut mpc_t, *const mpc_t, rnd_t) -> c_int;

unsafe fn of_one(operator: Operator, to: &mut mpc_t, z: &mpc_t) -> Option<Part> {
    use Part::{Imaginary, Real};
    let (part, function): (Part, Function) = match operator {
        Operator::ReSqrt => (Real, mpc::sqrt),
        Operator::ImSqrt => (Imaginary, mpc::sqrt),
        Operator::ReExp => (Real, mpc::exp),
        Operator::ImExp => (Imaginary, mpc::exp),
        Operator::ReLog => (Real, mpc::log),
        Operator::ImLog => (Imaginary, mpc::log),
        Operator::ReLog10 => (Real, mpc::log10),
        Operator::ImLog10 => (Imaginary, mpc::log10),
        Operator::ReSin => (Real, mpc::sin),
        Operator::ImSin => (Imaginary, mpc::sin),
        Operator::ReCos => (Real, mpc::cos),
        Operator::ImCos => (Imaginary, mpc::cos),
        Operator::ReTan => (Real, mpc::tan),
        Operator::ImTan => (Imaginary, mpc::tan),
        Operator::ReAsin => (Real, mpc::asin),
        Operator::ImAsin => (Imaginary, mpc::asin),
        Operator::ReAcos => (Real, mpc::acos),
        Operator::ImAcos => (Imaginary, mpc::acos),
        Operator::ReAtan => (Real, mpc::atan),
        Operator::ImAtan => (Imaginary, mpc::atan),
        Operator::ReSinh => (Real, mpc::sinh),
        Operator::ImSinh => (Imaginary, mpc::sinh),
        Operator::ReCosh => (Real, mpc::cosh),
        Operator::ImCosh => (Imaginary, mpc::cosh),
        Operator::ReTanh => (Real, mpc::tanh),
        Operator::ImTanh => (Imaginary, mpc::tanh),
        Operator::ReAsinh => (Real, mpc::asinh),
        Operator::ImAsinh => (Imaginary, mpc::asinh),
        Operator::ReAcosh => (Real, mpc::acosh),
        Operator::ImAcosh => (Imaginary, mpc::acosh),
        Operator::ReAtanh => (Real, mpc::atanh),
        Operator::ImAtanh => (Imaginary, mpc::atanh),
        _ => return None,
    };
    // SAFETY: as the caller says.
    unsafe { function(to, z, BOTH) };
    Some(part)
}

unsafe fn of_two(operator: Operator, to: &mut mpc_t, z: &mpc_t, w: &mpc_t) -> Option<Part> {
    use Part::{Imaginary, Real};
    // SAFETY: as the caller says.
    unsafe {
        Some(match operator {
            Operator::ReMul | Operator::ImMul => {
                mpc::mul(to, z, w, BOTH);
                if operator == Operator::ReMul { Real } else { Imaginary }
            }
            Operator::ReDiv | Operator::ImDiv => {
                mpc::div(to, z, w, BOTH);
                if operator == Operator::ReDiv { Real } else { Imaginary }
            }
            Operator::RePow | Operator::ImPow => {
                pow(to, z, w);
                if operator == Operator::RePow { Real } else { Imaginary }
            }
            _ => return None,
        })
    }
}

/// z^w. MPC looks for exact results, and for extreme exponents does so for hours; then it is the exponential of w log z, with digits
/// to spare for the largest w that does not lead beyond all numbers.
unsafe fn pow(to: &mut mpc_t, z: &mpc_t, w: &mpc_t) {
    const MODERATE: mpfr::exp_t = 40;
    const SPARE: mpfr::prec_t = 128;
    // SAFETY: as the caller says.
    unsafe {
        let is_moderate = |part: &mpfr_t| mpfr::regular_p(part) == 0 || mpfr::get_exp(part).abs() <= MODERATE;
        if [&z.re, &z.im, &w.re, &w.im].into_iter().all(is_moderate) {
            mpc::pow(to, z, w, BOTH);
            return;
        }
        let mut power = Complex::new(to.re.prec + SPARE);
        mpc::log(&mut power.0, z, BOTH);
        let log: *const mpc_t = &power.0;
        mpc::mul(&mut power.0, log, w, BOTH);
        mpc::exp(to, &power.0, BOTH);
    }
}
