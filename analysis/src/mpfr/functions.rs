//! The functions that only libraries have.

use super::{MAX_EXPONENT, RND, complex};
use fpgrind_ir::Operator;
use gmp_mpfr_sys::mpfr::{self, mpfr_t};
use std::ffi::{c_int, c_long};

/// The operator on its arguments, or NaN if there is no such thing.
///
/// # Safety
/// All must be valid numbers.
pub unsafe fn apply(operator: Operator, r: &mut mpfr_t, args: &[*const mpfr_t]) -> c_int {
    // SAFETY: as the caller says, here and below.
    unsafe {
        match (operator, args) {
            (Operator::Maximum, &[a, b]) => extreme(r, a, b, mpfr::max),
            (Operator::Minimum, &[a, b]) => extreme(r, a, b, mpfr::min),
            (Operator::MaxMag, &[a, b]) => of_magnitude(r, a, b, 1, mpfr::max),
            (Operator::MinMag, &[a, b]) => of_magnitude(r, a, b, -1, mpfr::min),
            (Operator::MaximumMag, &[a, b]) if !is_nan(a, b) => of_magnitude(r, a, b, 1, mpfr::max),
            (Operator::MinimumMag, &[a, b]) if !is_nan(a, b) => of_magnitude(r, a, b, -1, mpfr::min),
            (Operator::Fraction, &[a]) => mpfr::frac(r, a, RND),
            (Operator::Frexp, &[a]) => mpfr::frexp(&mut 0, r, a, RND),
            // Between reals there is no next one.
            (Operator::Nextafter, &[a, _]) => mpfr::set(r, a, RND),
            (Operator::Ldexp, &[a, b]) => ldexp(r, a, b),
            (Operator::Rsqrt, &[a]) => mpfr::rec_sqrt(r, a, RND),
            (Operator::Powr, &[a, b]) => mpfr::powr(r, a, b, RND),
            (Operator::Rootn, &[a, n]) if mpfr::integer_p(n) != 0 => mpfr::rootn_si(r, a, integer(n), RND),
            (Operator::Compound, &[a, n]) if mpfr::integer_p(n) != 0 => mpfr::compound_si(r, a, integer(n), RND),
            (Operator::Exp10m1, &[a]) => mpfr::exp10m1(r, a, RND),
            (Operator::Log2p1, &[a]) => mpfr::log2p1(r, a, RND),
            (Operator::Log10p1, &[a]) => mpfr::log10p1(r, a, RND),
            (Operator::Sinpi, &[a]) => mpfr::sinpi(r, a, RND),
            (Operator::Cospi, &[a]) => mpfr::cospi(r, a, RND),
            (Operator::Tanpi, &[a]) => mpfr::tanpi(r, a, RND),
            (Operator::Asinpi, &[a]) => mpfr::asinpi(r, a, RND),
            (Operator::Acospi, &[a]) => mpfr::acospi(r, a, RND),
            (Operator::Atanpi, &[a]) => mpfr::atanpi(r, a, RND),
            (Operator::Atan2pi, &[a, b]) => mpfr::atan2pi(r, a, b, RND),
            (Operator::J0, &[a]) => bessel(r, 0, a, mpfr::jn),
            (Operator::J1, &[a]) => bessel(r, 1, a, mpfr::jn),
            (Operator::Jn, &[n, a]) if mpfr::integer_p(n) != 0 => bessel(r, integer(n), a, mpfr::jn),
            (Operator::Y0, &[a]) => bessel(r, 0, a, mpfr::yn),
            (Operator::Y1, &[a]) => bessel(r, 1, a, mpfr::yn),
            (Operator::Yn, &[n, a]) if mpfr::integer_p(n) != 0 => bessel(r, integer(n), a, mpfr::yn),
            (operator, args) => complex::apply(operator, r, args),
        }
    }
}

type Binary = unsafe extern "C" fn(*mut mpfr_t, *const mpfr_t, *const mpfr_t, mpfr::rnd_t) -> c_int;
type OfOrder = unsafe extern "C" fn(*mut mpfr_t, c_long, *const mpfr_t, mpfr::rnd_t) -> c_int;

unsafe fn is_nan(a: *const mpfr_t, b: *const mpfr_t) -> bool {
    unsafe { mpfr::nan_p(a) != 0 || mpfr::nan_p(b) != 0 }
}

unsafe fn nan(r: &mut mpfr_t) -> c_int {
    unsafe { mpfr::set_nan(r) };
    0
}

/// What MPFR calls the extreme prefers numbers to NaN.
unsafe fn extreme(r: &mut mpfr_t, a: *const mpfr_t, b: *const mpfr_t, of: Binary) -> c_int {
    unsafe { if is_nan(a, b) { nan(r) } else { of(r, a, b, RND) } }
}

/// The one whose magnitude is greater (1) or lesser (-1); if there is none such, the greater or lesser.
unsafe fn of_magnitude(r: &mut mpfr_t, a: *const mpfr_t, b: *const mpfr_t, sign: c_int, equal: Binary) -> c_int {
    unsafe {
        if is_nan(a, b) {
            return equal(r, a, b, RND);
        }
        match (sign * mpfr::cmpabs(a, b)).signum() {
            1 => mpfr::set(r, a, RND),
            -1 => mpfr::set(r, b, RND),
            _ => equal(r, a, b, RND),
        }
    }
}

/// An integer, or one so far away that it makes no difference.
unsafe fn integer(n: *const mpfr_t) -> c_long {
    unsafe { mpfr::get_si(n, RND) }
}

/// a * 2^b.
unsafe fn ldexp(r: &mut mpfr_t, a: *const mpfr_t, b: *const mpfr_t) -> c_int {
    unsafe {
        if mpfr::integer_p(b) == 0 {
            mpfr::exp2(r, b, RND);
            return mpfr::mul(r, r, a, RND);
        }
        // Further away all is infinite or zero.
        let far = 4 * MAX_EXPONENT as c_long;
        mpfr::mul_2si(r, a, integer(b).clamp(-far, far), RND)
    }
}

/// A Bessel function, where MPFR computes it in reasonable time: for a large order it sums a series, with as many terms, and as many bits, as
/// the order or the argument is large. No real is better than one that takes hours.
unsafe fn bessel(r: &mut mpfr_t, order: c_long, a: *const mpfr_t, function: OfOrder) -> c_int {
    /// Orders, and exponents of arguments, for which the series does; and those for which there is another way.
    const SERIES: (c_long, c_long) = (1000, 12);
    const ASYMPTOTIC: (c_long, c_long) = (8, 64);
    // Of a negative order it is that of the positive one, negated if that is odd. MPFR knows the other way for positive orders only.
    let positive = order.saturating_abs();
    unsafe {
        let exponent = if mpfr::regular_p(a) != 0 { mpfr::get_exp(a) as c_long } else { 0 };
        let is_within = |(orders, exponents)| positive <= orders && exponent <= exponents;
        if !is_within(SERIES) && !is_within(ASYMPTOTIC) {
            return nan(r);
        }
        let inexact = function(r, positive, a, RND);
        if order < 0 && order % 2 != 0 {
            mpfr::neg(r, r, RND);
            return -inexact;
        }
        inexact
    }
}
