//! The functions of libm as C declares them, and what each means.

use crate::big::{Big, Complex, RND, mpfr_op};
use gmp_mpfr_sys::mpfr;

/// A number that a function is given or gives.
pub type Truth = fn(&[Big]) -> Vec<Big>;

/// What is compared with what a function gave.
pub enum Meaning {
    /// Each of its floats is this, on its arguments: a complex number is two.
    Is(Truth),
    /// This of ordinary arguments; of others only that the program sees no difference.
    Ordinarily(Truth),
    /// What the function gave is right: it is told by the bits.
    Moved,
    /// It hands on what it was given, or gives no float.
    NoFloat,
}
use Meaning::*;

/// The name of the double form; what it gives (x, z, i, l or v: a float, a complex number, an int, a long, nothing) and takes (L a long
/// double, p a pointer to a float, q one to an int); and what it means.
pub type Function = (&'static str, &'static str, Meaning);

macro_rules! one {
    ($f:ident) => {
        Is(|a| vec![mpfr_op!($f, a[0])])
    };
}
macro_rules! two {
    ($f:ident) => {
        Is(|a| vec![mpfr_op!($f, a[0], a[1])])
    };
}
/// Functions that round by themselves.
macro_rules! rounding {
    ($f:ident) => {
        Is(|a| {
            // SAFETY: valid numbers.
            vec![Big::of(|r| unsafe {
                mpfr::$f(r, a[0].raw());
            })]
        })
    };
}
macro_rules! ordered {
    ($f:ident, $n:expr) => {
        Ordinarily(|a| {
            // SAFETY: valid numbers.
            vec![Big::of(|r| unsafe {
                let (n, x) = match a {
                    [x] => ($n, x),
                    _ => (mpfr::get_si(a[0].raw(), RND), &a[1]),
                };
                mpfr::$f(r, n, x.raw(), RND);
            })]
        })
    };
}
macro_rules! complex {
    ($f:ident) => {
        Ordinarily(|a| {
            // An exponent may be an integer.
            let part = |z: &[Big], at: usize| z.get(at).map_or(Big::from_integer(0), copy);
            let numbers: Vec<Complex> = a.chunks(2).map(|z| Complex(part(z, 0), part(z, 1))).collect();
            let Complex(re, im) = complex!(@ $f, numbers);
            vec![re, im]
        })
    };
    (@ pow, $z:ident) => { $z[0].pow(&$z[1]) };
    (@ times, $z:ident) => { $z[0].times(&$z[1]) };
    (@ over, $z:ident) => { $z[0].over(&$z[1]) };
    (@ $f:ident, $z:ident) => { $z[0].$f() };
}
fn copy(x: &Big) -> Big {
    mpfr_op!(set, x)
}

/// The one of a pair that is greater, or lesser, in magnitude.
fn by_magnitude(a: &[Big], greater: bool, number: bool) -> Vec<Big> {
    // SAFETY: valid numbers.
    let (is_nan, order) = unsafe {
        let is_nan = |x: &Big| mpfr::nan_p(x.raw()) != 0;
        (a.iter().any(is_nan), mpfr::cmpabs(a[0].raw(), a[1].raw()))
    };
    vec![match (is_nan, order, greater) {
        (true, ..) if !number => mpfr_op!(add, a[0], a[1]),
        (true, _, true) | (_, 0, true) => mpfr_op!(max, a[0], a[1]),
        (true, _, false) | (_, 0, false) => mpfr_op!(min, a[0], a[1]),
        (_, order, greater) => copy(&a[usize::from((order > 0) != greater)]),
    }]
}

/// The extreme of a pair, or NaN if there is one.
fn extreme(a: &[Big], greater: bool) -> Vec<Big> {
    // SAFETY: valid numbers.
    let is_nan = unsafe { a.iter().any(|x| mpfr::nan_p(x.raw()) != 0) };
    vec![match (is_nan, greater) {
        (true, _) => mpfr_op!(add, a[0], a[1]),
        (_, true) => mpfr_op!(max, a[0], a[1]),
        (_, false) => mpfr_op!(min, a[0], a[1]),
    }]
}

fn lgamma(a: &[Big]) -> Vec<Big> {
    // SAFETY: a valid number.
    vec![Big::of(|r| unsafe {
        mpfr::lgamma(r, &mut 0, a[0].raw(), RND);
    })]
}

fn ldexp(a: &[Big]) -> Vec<Big> {
    vec![mpfr_op!(mul, a[0], mpfr_op!(exp2, a[1]))]
}

fn logb(a: &[Big]) -> Vec<Big> {
    // SAFETY: a valid number.
    vec![Big::of(|r| unsafe {
        match mpfr::regular_p(a[0].raw()) != 0 {
            true => drop(mpfr::set_si(r, (mpfr::get_exp(a[0].raw()) - 1) as _, RND)),
            false if mpfr::zero_p(a[0].raw()) != 0 => mpfr::set_inf(r, -1),
            false => drop(mpfr::abs(r, a[0].raw(), RND)),
        }
    })]
}

pub const FUNCTIONS: &[Function] = &[
    ("acos", "x:x", one!(acos)),
    ("asin", "x:x", one!(asin)),
    ("atan", "x:x", one!(atan)),
    ("atan2", "x:xx", two!(atan2)),
    ("cos", "x:x", one!(cos)),
    ("sin", "x:x", one!(sin)),
    ("tan", "x:x", one!(tan)),
    ("sincos", "v:xpp", Is(|a| vec![mpfr_op!(sin, a[0]), mpfr_op!(cos, a[0])])),
    ("acospi", "x:x", one!(acospi)),
    ("asinpi", "x:x", one!(asinpi)),
    ("atanpi", "x:x", one!(atanpi)),
    ("atan2pi", "x:xx", two!(atan2pi)),
    ("cospi", "x:x", one!(cospi)),
    ("sinpi", "x:x", one!(sinpi)),
    ("tanpi", "x:x", one!(tanpi)),
    ("acosh", "x:x", one!(acosh)),
    ("asinh", "x:x", one!(asinh)),
    ("atanh", "x:x", one!(atanh)),
    ("cosh", "x:x", one!(cosh)),
    ("sinh", "x:x", one!(sinh)),
    ("tanh", "x:x", one!(tanh)),
    ("exp", "x:x", one!(exp)),
    ("exp10", "x:x", one!(exp10)),
    ("pow10", "x:x", one!(exp10)),
    ("exp10m1", "x:x", one!(exp10m1)),
    ("exp2", "x:x", one!(exp2)),
    ("exp2m1", "x:x", one!(exp2m1)),
    ("expm1", "x:x", one!(expm1)),
    ("frexp", "x:xq", Moved),
    ("significand", "x:x", Moved),
    ("ilogb", "i:x", NoFloat),
    ("llogb", "l:x", NoFloat),
    ("ldexp", "x:xi", Is(ldexp)),
    ("scalbn", "x:xi", Is(ldexp)),
    ("scalbln", "x:xl", Is(ldexp)),
    ("scalb", "x:xx", Ordinarily(ldexp)),
    ("log", "x:x", one!(log)),
    ("log10", "x:x", one!(log10)),
    ("log10p1", "x:x", one!(log10p1)),
    ("log1p", "x:x", one!(log1p)),
    ("logp1", "x:x", one!(log1p)),
    ("log2", "x:x", one!(log2)),
    ("log2p1", "x:x", one!(log2p1)),
    ("logb", "x:x", Is(logb)),
    ("modf", "x:xp", Is(|a| vec![mpfr_op!(frac, a[0]), mpfr_op!(rint_trunc, a[0])])),
    ("cbrt", "x:x", one!(cbrt)),
    ("fabs", "x:x", one!(abs)),
    ("hypot", "x:xx", two!(hypot)),
    ("pow", "x:xx", two!(pow)),
    ("powr", "x:xx", two!(powr)),
    ("rsqrt", "x:x", one!(rec_sqrt)),
    ("sqrt", "x:x", one!(sqrt)),
    ("erf", "x:x", one!(erf)),
    ("erfc", "x:x", one!(erfc)),
    ("lgamma", "x:x", Is(lgamma)),
    ("gamma", "x:x", Is(lgamma)),
    ("lgamma_r", "x:xq", Is(lgamma)),
    ("tgamma", "x:x", one!(gamma)),
    ("ceil", "x:x", rounding!(ceil)),
    ("floor", "x:x", rounding!(floor)),
    ("trunc", "x:x", rounding!(trunc)),
    ("round", "x:x", rounding!(round)),
    ("roundeven", "x:x", rounding!(roundeven)),
    ("rint", "x:x", rounding!(roundeven)),
    ("nearbyint", "x:x", rounding!(roundeven)),
    ("lrint", "l:x", NoFloat),
    ("llrint", "l:x", NoFloat),
    ("lround", "l:x", NoFloat),
    ("llround", "l:x", NoFloat),
    ("fmod", "x:xx", two!(fmod)),
    ("remainder", "x:xx", two!(remainder)),
    ("drem", "x:xx", two!(remainder)),
    ("remquo", "x:xxq", two!(remainder)),
    ("copysign", "x:xx", two!(copysign)),
    ("nextafter", "x:xx", Moved),
    ("nexttoward", "x:xL", Moved),
    ("nextup", "x:x", Moved),
    ("nextdown", "x:x", Moved),
    ("fdim", "x:xx", two!(dim)),
    ("fmax", "x:xx", two!(max)),
    ("fmin", "x:xx", two!(min)),
    ("fmaximum", "x:xx", Is(|a| extreme(a, true))),
    ("fminimum", "x:xx", Is(|a| extreme(a, false))),
    ("fmaximum_num", "x:xx", two!(max)),
    ("fminimum_num", "x:xx", two!(min)),
    ("fmaximum_mag", "x:xx", Is(|a| by_magnitude(a, true, false))),
    ("fminimum_mag", "x:xx", Is(|a| by_magnitude(a, false, false))),
    ("fmaximum_mag_num", "x:xx", Is(|a| by_magnitude(a, true, true))),
    ("fminimum_mag_num", "x:xx", Is(|a| by_magnitude(a, false, true))),
    ("fmaxmag", "x:xx", Is(|a| by_magnitude(a, true, true))),
    ("fminmag", "x:xx", Is(|a| by_magnitude(a, false, true))),
    ("fma", "x:xxx", Is(|a| vec![mpfr_op!(fma, a[0], a[1], a[2])])),
    ("j0", "x:x", ordered!(jn, 0)),
    ("j1", "x:x", ordered!(jn, 1)),
    ("jn", "x:ix", ordered!(jn, 0)),
    ("y0", "x:x", ordered!(yn, 0)),
    ("y1", "x:x", ordered!(yn, 1)),
    ("yn", "x:ix", ordered!(yn, 0)),
    ("cacos", "z:z", complex!(acos)),
    ("casin", "z:z", complex!(asin)),
    ("catan", "z:z", complex!(atan)),
    ("ccos", "z:z", complex!(cos)),
    ("csin", "z:z", complex!(sin)),
    ("ctan", "z:z", complex!(tan)),
    ("cacosh", "z:z", complex!(acosh)),
    ("casinh", "z:z", complex!(asinh)),
    ("catanh", "z:z", complex!(atanh)),
    ("ccosh", "z:z", complex!(cosh)),
    ("csinh", "z:z", complex!(sinh)),
    ("ctanh", "z:z", complex!(tanh)),
    ("cexp", "z:z", complex!(exp)),
    ("clog", "z:z", complex!(log)),
    ("clog10", "z:z", complex!(log10)),
    ("csqrt", "z:z", complex!(sqrt)),
    ("cpow", "z:zz", complex!(pow)),
    ("cabs", "x:z", two!(hypot)),
    ("carg", "x:z", Is(|a| vec![mpfr_op!(atan2, a[1], a[0])])),
    ("creal", "x:z", NoFloat),
    ("cimag", "x:z", NoFloat),
    // Compilers' helpers: the format is in the middle of the name.
    ("__powi#f2", "x:xi", two!(pow)),
    ("__mul#c3", "z:xxxx", complex!(times)),
    ("__div#c3", "z:xxxx", complex!(over)),
    ("_gfortran_pow_r#_i4", "x:xi", two!(pow)),
    ("_gfortran_pow_r#_i8", "x:xl", two!(pow)),
    ("_gfortran_pow_c#_i4", "z:zi", complex!(pow)),
    ("_gfortran_pow_c#_i8", "z:zl", complex!(pow)),
];
