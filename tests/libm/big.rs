//! Reals of far more digits than fpgrind's, and complex numbers of them: the truth that shadows are compared with. What they have in common with
//! fpgrind's own is MPFR's elementary functions; functions of complex numbers are put together from those.

use fpgrind_ir::Type;
use gmp_mpfr_sys::mpfr::{self, mpfr_t, rnd_t};
use std::mem::MaybeUninit;

const PRECISION: mpfr::prec_t = 2000;
pub const RND: rnd_t = rnd_t::RNDN;

pub struct Big(pub mpfr_t);

impl Drop for Big {
    fn drop(&mut self) {
        // SAFETY: initialised by `new`, the one way to make one.
        unsafe { mpfr::clear(&mut self.0) };
    }
}

impl Big {
    pub fn new() -> Big {
        let mut number = MaybeUninit::uninit();
        // SAFETY: initialised here, and cleared when dropped.
        unsafe {
            mpfr::init2(number.as_mut_ptr(), PRECISION);
            Big(number.assume_init())
        }
    }

    /// What a function leaves in a new number.
    pub fn of(write: impl FnOnce(*mut mpfr_t)) -> Big {
        let mut number = Big::new();
        write(&mut number.0);
        number
    }

    /// The same of a function of numbers.
    pub fn apply(write: impl FnOnce(*mut mpfr_t, &[*const mpfr_t]), args: &[*const mpfr_t]) -> Big {
        Big::of(|r| write(r, args))
    }

    pub fn raw(&self) -> *const mpfr_t {
        &self.0
    }

    pub fn from_integer(value: i64) -> Big {
        // SAFETY: a valid number, as all below are.
        Big::of(|r| unsafe {
            mpfr::set_si(r, value, RND);
        })
    }

    pub fn from_bits(ty: Type, bits: u128) -> Big {
        let is_negative = bits >> (8 * ty.bytes() - 1) & 1 == 1;
        let mut number = Big::of(|r| unsafe {
            match ty {
                Type::F32 => mpfr::set_flt(r, f32::from_bits(bits as u32), RND),
                Type::F64 => mpfr::set_d(r, f64::from_bits(bits as u64), RND),
                Type::F128 => {
                    let (fraction, exponent) = (bits & ((1 << 112) - 1), (bits >> 112) as i64 & 0x7fff);
                    let significand = fraction | u128::from(exponent != 0) << 112;
                    match (exponent, fraction) {
                        (0x7fff, 0) => mpfr::set_inf(r, 1),
                        (0x7fff, _) => mpfr::set_nan(r),
                        _ => {
                            mpfr::set_ui(r, (significand >> 64) as u64, RND);
                            mpfr::mul_2ui(r, r, 64, RND);
                            mpfr::add_ui(r, r, significand as u64, RND);
                            mpfr::mul_2si(r, r, (exponent.max(1) - 16383 - 112) as _, RND);
                        }
                    }
                    0
                }
                _ => {
                    let (significand, exponent) = (bits as u64, (bits >> 64) as i64 & 0x7fff);
                    let sign = if bits >> 79 & 1 == 1 { -1 } else { 1 };
                    match (exponent, significand) {
                        (0x7fff, 0x8000_0000_0000_0000) => mpfr::set_inf(r, sign),
                        (0x7fff, _) => mpfr::set_nan(r),
                        (_, 0) => mpfr::set_zero(r, sign),
                        _ => {
                            mpfr::set_ui_2exp(r, significand, (exponent.max(1) - 16383 - 63) as _, RND);
                            mpfr::setsign(r, r, (sign < 0) as _, RND);
                        }
                    }
                    0
                }
            };
        });
        // A NaN has a sign as well.
        number.0.sign = if is_negative { -1 } else { 1 };
        number
    }

    /// The nearest float; nothing for a longer one than a double that is so small that rounding it here would need more care.
    pub fn to_bits(&self, ty: Type) -> Option<u128> {
        unsafe {
            let (digits, limbs) = match ty {
                Type::F32 => return Some(mpfr::get_flt(self.raw(), RND).to_bits().into()),
                Type::F64 => return Some(mpfr::get_d(self.raw(), RND).to_bits().into()),
                Type::F128 => (113, 2),
                _ => (64, 1),
            };
            // The exponent lies behind the digits that are written out: of _Float128's all but the first.
            let stored = if ty == Type::F128 { 112 } else { 64 };
            let sign = u128::from(mpfr::signbit(self.raw()) != 0) << (stored + 15);
            let infinite = 0x7fff << stored | if ty == Type::F128 { 0 } else { 1u128 << 63 };
            if mpfr::nan_p(self.raw()) != 0 {
                return Some(infinite | 1 << (digits - 2));
            }
            if mpfr::zero_p(self.raw()) != 0 {
                return Some(sign);
            }
            let rounded = Big::of(|r| {
                mpfr::set(r, self.raw(), RND);
                mpfr::prec_round(r, digits, RND);
            });
            if mpfr::inf_p(rounded.raw()) != 0 || mpfr::get_exp(rounded.raw()) > 16384 {
                return Some(sign | infinite);
            }
            let exponent = mpfr::get_exp(rounded.raw()) + 16382;
            let limb = |number: usize| u128::from(*rounded.0.d.as_ptr().add(number));
            let significand = match limbs {
                1 => limb(0),
                _ => (limb(1) << 64 | limb(0)) >> 15 & ((1 << 112) - 1),
            };
            (exponent > 0).then_some(sign | (exponent as u128) << stored | significand)
        }
    }
}

/// An operation of MPFR on one number or two.
macro_rules! mpfr_op {
    ($f:ident, $($arg:expr),*) => {
        $crate::big::Big::apply(|r, args| {
            let mut args = args.iter().copied();
            // SAFETY: as many numbers as the function takes, and valid.
            unsafe { gmp_mpfr_sys::mpfr::$f(r, $({ stringify!($arg); args.next().unwrap_or(r) },)* $crate::big::RND) };
        }, &[$(($arg).raw()),*])
    };
}
pub(crate) use mpfr_op;

/// A complex number.
pub struct Complex(pub Big, pub Big);

impl Complex {
    fn real(value: i64) -> Complex {
        Complex(Big::from_integer(value), Big::from_integer(0))
    }

    fn plus(&self, o: &Complex) -> Complex {
        Complex(mpfr_op!(add, self.0, o.0), mpfr_op!(add, self.1, o.1))
    }

    fn minus(&self, o: &Complex) -> Complex {
        Complex(mpfr_op!(sub, self.0, o.0), mpfr_op!(sub, self.1, o.1))
    }

    pub fn times(&self, o: &Complex) -> Complex {
        let product = |a: &Big, b: &Big| mpfr_op!(mul, a, b);
        let re = mpfr_op!(sub, product(&self.0, &o.0), product(&self.1, &o.1));
        Complex(re, mpfr_op!(add, product(&self.0, &o.1), product(&self.1, &o.0)))
    }

    pub fn over(&self, o: &Complex) -> Complex {
        let squared = mpfr_op!(add, mpfr_op!(sqr, o.0), mpfr_op!(sqr, o.1));
        let conjugate = Complex(mpfr_op!(set, o.0), mpfr_op!(neg, o.1));
        let product = self.times(&conjugate);
        Complex(mpfr_op!(div, product.0, squared), mpfr_op!(div, product.1, squared))
    }

    /// Times i.
    fn turned(&self) -> Complex {
        Complex(mpfr_op!(neg, self.1), mpfr_op!(set, self.0))
    }

    /// Times -i.
    fn turned_back(&self) -> Complex {
        Complex(mpfr_op!(set, self.1), mpfr_op!(neg, self.0))
    }

    fn halved(&self) -> Complex {
        self.over(&Complex::real(2))
    }

    pub fn exp(&self) -> Complex {
        let e = mpfr_op!(exp, self.0);
        Complex(mpfr_op!(mul, e, mpfr_op!(cos, self.1)), mpfr_op!(mul, e, mpfr_op!(sin, self.1)))
    }

    pub fn log(&self) -> Complex {
        Complex(mpfr_op!(log, mpfr_op!(hypot, self.0, self.1)), mpfr_op!(atan2, self.1, self.0))
    }

    pub fn log10(&self) -> Complex {
        let ten = Complex::real(10).log();
        self.log().over(&ten)
    }

    pub fn sqrt(&self) -> Complex {
        self.log().halved().exp()
    }

    pub fn pow(&self, o: &Complex) -> Complex {
        o.times(&self.log()).exp()
    }

    pub fn sinh(&self) -> Complex {
        self.exp().minus(&Complex::real(0).minus(self).exp()).halved()
    }

    pub fn cosh(&self) -> Complex {
        self.exp().plus(&Complex::real(0).minus(self).exp()).halved()
    }

    pub fn tanh(&self) -> Complex {
        self.sinh().over(&self.cosh())
    }

    pub fn asinh(&self) -> Complex {
        let root = self.times(self).plus(&Complex::real(1)).sqrt();
        self.plus(&root).log()
    }

    pub fn acosh(&self) -> Complex {
        let one = Complex::real(1);
        self.plus(&self.plus(&one).sqrt().times(&self.minus(&one).sqrt())).log()
    }

    pub fn atanh(&self) -> Complex {
        let one = Complex::real(1);
        one.plus(self).log().minus(&one.minus(self).log()).halved()
    }

    pub fn sin(&self) -> Complex {
        self.turned().sinh().turned_back()
    }

    pub fn cos(&self) -> Complex {
        self.turned().cosh()
    }

    pub fn tan(&self) -> Complex {
        self.turned().tanh().turned_back()
    }

    pub fn asin(&self) -> Complex {
        self.turned().asinh().turned_back()
    }

    pub fn acos(&self) -> Complex {
        // SAFETY: a valid number.
        let pi = Big::of(|r| unsafe {
            mpfr::const_pi(r, RND);
        });
        let quarter = Complex(pi, Big::from_integer(0)).halved();
        quarter.minus(&self.asin())
    }

    pub fn atan(&self) -> Complex {
        self.turned().atanh().turned_back()
    }
}
