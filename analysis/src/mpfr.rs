//! Reals as MPFR numbers.
//!
//! This speaks to MPFR directly, through its custom interface, because the digits must not cost an allocation: up to 256 bits
//! they lie in the number itself. That halves the time of an addition.

mod complex;
mod four;
#[cfg(test)]
#[path = "mpfr/four_tests.rs"]
mod four_tests;
mod functions;
#[cfg(test)]
#[path = "mpfr/tests.rs"]
mod library_tests;

use crate::format::{self, Kind};
use crate::mode::{Direction, Target};
use crate::number::{Decimal, Number};
use crate::pair::Pair;
use crate::real::{Operand, Real};
use four::Four;
use fpgrind_ir::{MAX_ARITY, Operator, Type};
use gmp_mpfr_sys::gmp::limb_t;
use gmp_mpfr_sys::mpfr::{self, mpfr_t, prec_t, rnd_t};
use std::cmp::Ordering;
use std::ffi::{CStr, CString, c_int, c_long};
use std::ptr::NonNull;

/// A real number with a significand of a fixed number of bits.
#[derive(Clone, Debug)]
pub struct Mpfr {
    precision: u32,
    sign: c_int,
    /// MPFR's exponent: it also says whether this is NaN, an infinity or zero.
    exponent: mpfr::exp_t,
    limbs: Limbs,
}

#[derive(Clone, Debug)]
enum Limbs {
    Inline([limb_t; INLINE]),
    Heap(Box<[limb_t]>),
}

const INLINE: usize = 4;
/// The precision of numbers that are added and multiplied by hand.
const FOUR: u32 = 256;
const LIMB_BITS: usize = limb_t::BITS as usize;

/// Numbers beyond 2^32768 count as infinite, those below 2^-32768 as zero. No float format comes near, and without a
/// bound a loop that squares its value leads to numbers whose sine takes MPFR forever.
const MAX_EXPONENT: mpfr::exp_t = 32768;
/// What MPFR writes for zero (mpfr.h, `__MPFR_EXP_ZERO`).
const EXPONENT_OF_ZERO: mpfr::exp_t = -mpfr::exp_t::MAX;
const RND: rnd_t = rnd_t::RNDN;
/// A long double's 64 bits must fit, with room to spare.
const MIN_PRECISION: u32 = 128;
/// More than anybody needs, and what memory allows.
const MAX_PRECISION: u32 = 1 << 20;

impl Mpfr {
    /// The number as MPFR takes it, good for as long as `self` is borrowed.
    fn raw(&self) -> mpfr_t {
        let limbs = match &self.limbs {
            Limbs::Inline(limbs) => &limbs[..],
            Limbs::Heap(limbs) => limbs,
        };
        // MPFR only reads an operand, whatever the type of the pointer in it.
        mpfr_t { prec: self.precision as prec_t, sign: self.sign, exp: self.exponent, d: NonNull::from(limbs).cast() }
    }

    /// The significand: its highest 64 bits, of which the first is set unless the number is zero or special, and the
    /// others, lowest first (MPFR manual, "Internals").
    fn top_and_rest(&self) -> (limb_t, &[limb_t]) {
        match &self.limbs {
            Limbs::Inline(limbs) => split(&limbs[..self.limb_count()]),
            Limbs::Heap(limbs) => split(limbs),
        }
    }

    fn top_and_rest_mut(&mut self) -> (&mut limb_t, &mut [limb_t]) {
        let count = self.limb_count();
        let limbs = match &mut self.limbs {
            Limbs::Inline(limbs) => &mut limbs[..count],
            Limbs::Heap(limbs) => limbs,
        };
        let (rest, top) = limbs.split_at_mut(count - 1);
        (&mut top[0], rest)
    }

    fn limb_count(&self) -> usize {
        (self.precision as usize).div_ceil(LIMB_BITS)
    }

    /// Lets MPFR write the number. `write` must set it, and not keep or free it.
    fn set(&mut self, write: impl FnOnce(&mut mpfr_t)) {
        let limbs = match &mut self.limbs {
            Limbs::Inline(limbs) => &mut limbs[..],
            Limbs::Heap(limbs) => limbs,
        };
        let mut raw = mpfr_t {
            prec: self.precision as prec_t,
            sign: self.sign,
            exp: self.exponent,
            d: NonNull::from(limbs).cast(),
        };
        write(&mut raw);
        self.sign = raw.sign;
        self.exponent = raw.exp;
    }
}

fn split(limbs: &[limb_t]) -> (limb_t, &[limb_t]) {
    limbs.split_last().map_or((0, limbs), |(top, rest)| (*top, rest))
}

impl Real for Mpfr {
    fn zero(precision: u32) -> Mpfr {
        let precision = precision.clamp(MIN_PRECISION, MAX_PRECISION);
        let count = (precision as usize).div_ceil(LIMB_BITS);
        let limbs = if count <= INLINE { Limbs::Inline([0; INLINE]) } else { Limbs::Heap(vec![0; count].into()) };
        Mpfr { precision, sign: 1, exponent: EXPONENT_OF_ZERO, limbs }
    }

    fn assign(&mut self, ty: Type, bits: u128) {
        let field = bits as u64 >> 52 & 0x7ff;
        if ty == Type::F64 && field != 0 && field != 0x7ff {
            // The common case.
            self.set_finite(bits as u64 >> 63 == 1, field as mpfr::exp_t - 1022, (1 << 63) | (bits as u64) << 11);
            return;
        }
        let format::Decoded { negative, kind } = format::decode(ty, bits);
        let sign = if negative { -1 } else { 1 };
        match kind {
            Kind::Finite { exponent, significand } => {
                self.set_finite(negative, exponent as mpfr::exp_t, (significand >> 64) as limb_t);
                // Only the longest format has more digits than that.
                if let Some(next) = self.top_and_rest_mut().1.last_mut() {
                    *next = significand as limb_t;
                }
            }
            // SAFETY: the destination is a valid number that outlives the call; so it is for all calls below. copysign looks at a NaN's sign.
            Kind::Nan => self.set(|this| unsafe {
                mpfr::set_nan(this);
                this.sign = sign;
            }),
            Kind::Infinite => self.set(|this| unsafe { mpfr::set_inf(this, sign) }),
            Kind::Zero => self.set(|this| unsafe { mpfr::set_zero(this, sign) }),
        }
    }

    fn compute(operator: Operator, args: &[&Mpfr], _: u32) -> Mpfr {
        Mpfr::apply(operator, args)
    }

    #[inline(always)]
    fn become_result(&mut self, operator: Operator, args: [Operand<Mpfr>; 3], precision: u32) {
        let [a, b, c] = args;
        let result = match operator.arity() {
            2 => by_hand(operator, [four_of(a, precision), four_of(b, precision), None]),
            3 => by_hand(operator, [four_of(a, precision), four_of(b, precision), four_of(c, precision)]),
            _ => None,
        };
        match result {
            Some(result) => self.set_four(&result),
            None => self.become_other_result(operator, args, precision),
        }
    }

    fn compare(&self, other: &Mpfr) -> Option<Ordering> {
        if let (Some(a), Some(b)) = (self.four(), other.four()) {
            return Some(a.compare(&b));
        }
        if self.is_nan() || other.is_nan() {
            return None;
        }
        // SAFETY: as above.
        Some(unsafe { mpfr::cmp(&self.raw(), &other.raw()) }.cmp(&0))
    }

    fn is_nan(&self) -> bool {
        // SAFETY: as above.
        unsafe { mpfr::nan_p(&self.raw()) != 0 }
    }

    fn rounded(&self, to: Target) -> u128 {
        if to == const { Target::nearest(Type::F64) } {
            return self.to_double().to_bits() as u128;
        }
        let raw = self.raw();
        // SAFETY: as above.
        unsafe {
            if mpfr::regular_p(&raw) == 0 {
                let negative = self.sign < 0;
                return match () {
                    () if mpfr::nan_p(&raw) != 0 => format::nan(to.ty),
                    () if mpfr::inf_p(&raw) != 0 => format::infinity(to.ty, negative),
                    () => format::zero(to.ty, negative),
                };
            }
        }
        let (top, rest) = self.top_and_rest();
        let (next, rest) = split(rest);
        let more = rest.iter().any(|limb| *limb != 0);
        format::encode(to, self.sign < 0, self.exponent, (top as u128) << 64 | next as u128, more)
    }

    #[inline(always)]
    fn to_f64(&self) -> f64 {
        self.to_double()
    }

    fn to_mpfr(&self, _: u32) -> Mpfr {
        self.clone()
    }

    fn settled(value: Mpfr) -> Mpfr {
        value
    }

    /// The double next to it: the rest is not told.
    fn as_pair(&self) -> Option<Pair> {
        Some(Pair::double(self.to_f64())).filter(|pair| pair.hi.is_finite())
    }

    #[inline]
    fn is_within_pairs(&self) -> bool {
        // What is special has an exponent that no other number has.
        self.exponent == EXPONENT_OF_ZERO || (-MAX_EXPONENT..1024).contains(&self.exponent) || self.as_pair().is_some()
    }

    fn of_pair(pair: Pair, precision: u32) -> Mpfr {
        Mpfr::apply(Operator::Add, &[&Mpfr::exactly(precision, pair.hi), &Mpfr::exactly(precision, pair.lo)])
    }

    fn to_integer(&self, direction: Direction) -> Option<i128> {
        let round = match direction {
            // To even between two integers, as MXCSR's nearest is.
            Direction::Nearest => rnd_t::RNDN,
            Direction::Down => rnd_t::RNDD,
            Direction::Up => rnd_t::RNDU,
            Direction::Zero => rnd_t::RNDZ,
        };
        let raw = self.raw();
        // SAFETY: as above. A C long has 64 bits on the one platform there is.
        unsafe {
            if mpfr::fits_slong_p(&raw, round) != 0 {
                Some(mpfr::get_si(&raw, round) as i128)
            } else if mpfr::fits_ulong_p(&raw, round) != 0 {
                Some(mpfr::get_ui(&raw, round) as i128)
            } else {
                None
            }
        }
    }
}

impl Mpfr {
    pub fn precision(&self) -> u32 {
        self.precision
    }

    /// The operation, with as many digits as the first argument has.
    pub fn apply(operator: Operator, args: &[&Mpfr]) -> Mpfr {
        let mut result = Mpfr::zero(args.first().map_or(MIN_PRECISION, |arg| arg.precision));
        let four = |number: usize| args.get(number).and_then(|arg| arg.four());
        match by_hand(operator, [four(0), four(1), four(2)]) {
            Some(four) => result.set_four(&four),
            None => result.becomes(operator, args),
        }
        result
    }

    fn become_other_result(&mut self, operator: Operator, args: [Operand<Mpfr>; 3], precision: u32) {
        let [a, b, c] = args.map(|arg| arg.real(precision));
        if self.precision != a.precision {
            *self = Mpfr::zero(a.precision);
        }
        self.becomes(operator, &[&*a, &*b, &*c][..operator.arity()]);
    }

    /// Its digits, if they are so many, and it is neither zero nor special.
    #[inline(always)]
    fn four(&self) -> Option<Four> {
        match self.limbs {
            Limbs::Inline(limbs) if self.precision == FOUR && is_within_bounds(self.exponent) => {
                Some(Four { negative: self.sign < 0, exponent: self.exponent, limbs })
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn set_four(&mut self, four: &Four) {
        self.precision = FOUR;
        self.sign = if four.negative { -1 } else { 1 };
        self.exponent = four.exponent;
        match &mut self.limbs {
            Limbs::Inline(limbs) => *limbs = four.limbs,
            Limbs::Heap(_) => self.limbs = Limbs::Inline(four.limbs),
        }
    }

    /// The result of any operation, with as many digits as it has.
    fn becomes(&mut self, operator: Operator, args: &[&Mpfr]) {
        let raw: [mpfr_t; MAX_ARITY] = std::array::from_fn(|i| args.get(i).map_or(self.raw(), |arg| arg.raw()));
        let pointers = raw.each_ref().map(|raw| raw as *const mpfr_t);
        // SAFETY: the operands are borrowed for the whole call, the result is a number of its own, and every one of
        // these functions only reads its operands and writes its result.
        self.set(|r| unsafe {
            match (operator, &pointers[..args.len().min(MAX_ARITY)]) {
                (Operator::Add, &[a, b]) => mpfr::add(r, a, b, RND),
                (Operator::Sub, &[a, b]) => mpfr::sub(r, a, b, RND),
                (Operator::Mul, &[a, b]) => mpfr::mul(r, a, b, RND),
                (Operator::Div, &[a, b]) => mpfr::div(r, a, b, RND),
                (Operator::Neg, &[a]) => mpfr::neg(r, a, RND),
                (Operator::Abs, &[a]) => mpfr::abs(r, a, RND),
                (Operator::Min, &[a, b]) => mpfr::min(r, a, b, RND),
                (Operator::Max, &[a, b]) => mpfr::max(r, a, b, RND),
                (Operator::Sqrt, &[a]) => mpfr::sqrt(r, a, RND),
                (Operator::Cast, &[a]) => mpfr::set(r, a, RND),
                (Operator::Fma, &[a, b, c]) => mpfr::fma(r, a, b, c, RND),
                (Operator::Fms, &[a, b, c]) => mpfr::fms(r, a, b, c, RND),
                // Rounding to nearest is symmetric.
                (Operator::Fnma, &[a, b, c]) => {
                    mpfr::fms(r, a, b, c, RND);
                    mpfr::neg(r, r, RND)
                }
                (Operator::Fnms, &[a, b, c]) => {
                    mpfr::fma(r, a, b, c, RND);
                    mpfr::neg(r, r, RND)
                }
                (Operator::Cbrt, &[a]) => mpfr::cbrt(r, a, RND),
                (Operator::Hypot, &[a, b]) => mpfr::hypot(r, a, b, RND),
                (Operator::Exp, &[a]) => mpfr::exp(r, a, RND),
                (Operator::Exp2, &[a]) => mpfr::exp2(r, a, RND),
                (Operator::Exp10, &[a]) => mpfr::exp10(r, a, RND),
                (Operator::Expm1, &[a]) => mpfr::expm1(r, a, RND),
                (Operator::Log, &[a]) => mpfr::log(r, a, RND),
                (Operator::Log2, &[a]) => mpfr::log2(r, a, RND),
                (Operator::Log10, &[a]) => mpfr::log10(r, a, RND),
                (Operator::Log1p, &[a]) => mpfr::log1p(r, a, RND),
                (Operator::Pow, &[a, b]) => mpfr::pow(r, a, b, RND),
                (Operator::Sin, &[a]) => mpfr::sin(r, a, RND),
                (Operator::Cos, &[a]) => mpfr::cos(r, a, RND),
                (Operator::Tan, &[a]) => mpfr::tan(r, a, RND),
                (Operator::Asin, &[a]) => mpfr::asin(r, a, RND),
                (Operator::Acos, &[a]) => mpfr::acos(r, a, RND),
                (Operator::Atan, &[a]) => mpfr::atan(r, a, RND),
                (Operator::Atan2, &[a, b]) => mpfr::atan2(r, a, b, RND),
                (Operator::Sinh, &[a]) => mpfr::sinh(r, a, RND),
                (Operator::Cosh, &[a]) => mpfr::cosh(r, a, RND),
                (Operator::Tanh, &[a]) => mpfr::tanh(r, a, RND),
                (Operator::Asinh, &[a]) => mpfr::asinh(r, a, RND),
                (Operator::Acosh, &[a]) => mpfr::acosh(r, a, RND),
                (Operator::Atanh, &[a]) => mpfr::atanh(r, a, RND),
                (Operator::Erf, &[a]) => mpfr::erf(r, a, RND),
                (Operator::Erfc, &[a]) => mpfr::erfc(r, a, RND),
                (Operator::Tgamma, &[a]) => mpfr::gamma(r, a, RND),
                (Operator::Lgamma, &[a]) => mpfr::lgamma(r, &mut 0, a, RND),
                (Operator::Floor, &[a]) => mpfr::floor(r, a),
                (Operator::Ceil, &[a]) => mpfr::ceil(r, a),
                (Operator::Trunc, &[a]) => mpfr::trunc(r, a),
                (Operator::Nearbyint | Operator::RoundEven, &[a]) => mpfr::roundeven(r, a),
                (Operator::Round, &[a]) => mpfr::round(r, a),
                (Operator::Fmod, &[a, b]) => mpfr::fmod(r, a, b, RND),
                (Operator::Remainder, &[a, b]) => mpfr::remainder(r, a, b, RND),
                (Operator::Fdim, &[a, b]) => mpfr::dim(r, a, b, RND),
                (Operator::Copysign, &[a, b]) => mpfr::copysign(r, a, b, RND),
                (Operator::Logb, &[a]) => logb(r, a),
                (Operator::Scalef, &[a, b]) => scale(r, a, b, mpfr::floor),
                (Operator::Fscale, &[a, b]) => scale(r, a, b, mpfr::trunc),
                (Operator::Exp2m1, &[a]) => mpfr::exp2m1(r, a, RND),
                (Operator::Yl2x, &[y, x]) => {
                    mpfr::log2(r, x, RND);
                    mpfr::mul(r, r, y, RND)
                }
                (Operator::Yl2xp1, &[y, x]) => {
                    mpfr::log2p1(r, x, RND);
                    mpfr::mul(r, r, y, RND)
                }
                (operator, args) => functions::apply(operator, r, args),
            };
        });
        self.keep_within_bounds();
    }

    fn set_finite(&mut self, negative: bool, exponent: mpfr::exp_t, significand: limb_t) {
        let (top, rest) = self.top_and_rest_mut();
        *top = significand;
        rest.fill(0);
        self.exponent = exponent;
        self.sign = if negative { -1 } else { 1 };
    }

    /// What [`Real::rounded`] does most, by hand.
    #[inline(always)]
    fn to_double(&self) -> f64 {
        // The exponents of normal doubles; rounding up from the greatest gives infinity, as it must.
        if (-1021..=1024).contains(&self.exponent) {
            let (top, rest) = self.top_and_rest();
            let (kept, lost) = (top >> 11, top & 0x7ff);
            let tie = 0x400;
            let up = lost > tie || lost == tie && (kept & 1 == 1 || rest.iter().any(|limb| *limb != 0));
            // The significand's leading bit, and a carry out of it, add to the exponent.
            let magnitude = (((self.exponent + 1021) as u64) << 52) + kept + up as u64;
            return f64::from_bits(magnitude | (((self.sign < 0) as u64) << 63));
        }
        self.to_unusual_double()
    }

    fn to_unusual_double(&self) -> f64 {
        // SAFETY: as above.
        unsafe { mpfr::get_d(&self.raw(), RND) }
    }

    /// Gives up numbers beyond all formats.
    fn keep_within_bounds(&mut self) {
        // NaN, infinities and zeros are exponents beyond all others, so the common case is one comparison.
        // SAFETY: as above.
        if !is_within_bounds(self.exponent) && unsafe { mpfr::regular_p(&self.raw()) } != 0 {
            let (sign, is_huge) = (self.sign, self.exponent > 0);
            self.set(|this| unsafe {
                if is_huge {
                    mpfr::set_inf(this, sign)
                } else {
                    mpfr::set_zero(this, sign)
                };
            });
        }
    }
}

/// The digits of an argument, if they are so many as are computed with by hand.
#[inline(always)]
fn four_of(arg: Operand<Mpfr>, precision: u32) -> Option<Four> {
    match arg {
        Operand::Real(real) => real.four(),
        Operand::Double(value) if precision == FOUR => Four::of_double(value),
        Operand::Double(_) => None,
    }
}

/// The result of a sum or a product, unless it is beyond all formats.
#[inline(always)]
fn by_hand(operator: Operator, [a, b, c]: [Option<Four>; 3]) -> Option<Four> {
    let result = match operator {
        Operator::Add => a?.sum(&b?, false),
        Operator::Sub => a?.sum(&b?, true),
        Operator::Mul => Some(a?.product(&b?)),
        Operator::Fma => Some(a?.product_and_sum(&b?, &c?)?),
        _ => return None,
    };
    match result {
        Some(result) if is_within_bounds(result.exponent) => Some(result),
        Some(_) => None,
        None => Some(Four { negative: false, exponent: EXPONENT_OF_ZERO, limbs: [0; 4] }),
    }
}

/// Is it the exponent of a number that is not beyond all formats, and neither zero nor special?
#[inline(always)]
fn is_within_bounds(exponent: mpfr::exp_t) -> bool {
    (-MAX_EXPONENT..=MAX_EXPONENT).contains(&exponent)
}

/// floor(log2(|a|)).
///
/// # Safety
/// Both must be valid numbers.
unsafe fn logb(r: &mut mpfr_t, a: *const mpfr_t) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        if mpfr::regular_p(a) != 0 {
            return mpfr::set_si(r, (*a).exp - 1, RND);
        }
        if mpfr::zero_p(a) != 0 {
            mpfr::set_inf(r, -1);
            return 0;
        }
        mpfr::abs(r, a, RND)
    }
}

/// a * 2^b, b first made an integer.
///
/// # Safety
/// All must be valid numbers.
unsafe fn scale(
    r: &mut mpfr_t,
    a: *const mpfr_t,
    b: *const mpfr_t,
    integer: unsafe extern "C" fn(*mut mpfr_t, *const mpfr_t) -> c_int,
) -> c_int {
    // SAFETY: as the caller says.
    unsafe {
        integer(r, b);
        if mpfr::nan_p(r) != 0 || mpfr::inf_p(r) != 0 {
            mpfr::exp2(r, r, RND);
            return mpfr::mul(r, r, a, RND);
        }
        // Further away all is infinite or zero.
        let far = 4 * MAX_EXPONENT as c_long;
        let by = if mpfr::fits_slong_p(r, RND) != 0 {
            mpfr::get_si(r, RND).clamp(-far, far)
        } else {
            far * mpfr::sgn(r) as c_long
        };
        mpfr::mul_2si(r, a, by, RND)
    }
}

/// A finite number with so many decimal digits.
pub fn decimal(number: Number, digits: usize) -> Decimal {
    let real = Mpfr::exactly(MIN_PRECISION, number);
    let mut point = 0;
    // SAFETY: MPFR allocates a text that ends in NUL, which is copied and given back.
    let text = unsafe {
        let text = mpfr::get_str(std::ptr::null_mut(), &mut point, 10, digits.max(1), &real.raw(), RND);
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        mpfr::free_str(text);
        copy
    };
    let digits = text.trim_start_matches('-').to_string();
    Decimal::new(number.is_negative(), digits, point)
}

/// The number of a format that is next to a decimal.
pub fn read(decimal: &Decimal, ty: Type) -> Number {
    // Far more digits than any format: that this is rounded twice cannot be seen.
    let mut real = Mpfr::zero(512);
    let text =
        CString::new(format!("{}0.{}e{}", if decimal.negative { "-" } else { "" }, decimal.digits, decimal.point));
    if let Ok(text) = text {
        // SAFETY: a text that ends in NUL, and as above.
        real.set(|this| unsafe {
            mpfr::strtofr(this, text.as_ptr(), std::ptr::null_mut(), 10, RND);
        });
    }
    Number::new(ty, real.rounded(Target::nearest(ty)))
}

#[cfg(test)]
#[path = "mpfr_tests.rs"]
mod tests;
