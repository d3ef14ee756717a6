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
mod quotient;

use crate::dd::DoubleDouble;
use crate::format::{self, Kind};
use crate::mode::{Direction, Target};
use crate::number::{Decimal, Number};
use crate::pair::Pair;
use crate::real::{Operand, Real};
use four::{Four, is_within_bounds};
use fpgrind_ir::{MAX_ARITY, Operator, Type};
use gmp_mpfr_sys::gmp::limb_t;
use gmp_mpfr_sys::mpfr::{self, mpfr_t, prec_t, rnd_t};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ffi::{CStr, CString, c_int, c_long};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// A real number with a significand of a fixed number of bits.
#[derive(Clone, Debug)]
pub struct Mpfr {
    /// All of it, but for the limbs if there are more.
    four: Four,
    /// Those. (A word: nodes are large, and few numbers have them.)
    more: Option<Box<Box<[limb_t]>>>,
}

const INLINE: usize = 4;
/// The precision of numbers that are added and multiplied by hand.
const FOUR: u32 = four::PRECISION;
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
        let Four { precision, sign, exponent: exp, .. } = self.four;
        // MPFR only reads an operand, whatever the type of the pointer in it.
        mpfr_t { prec: precision as prec_t, sign, exp, d: NonNull::from(self.limbs()).cast() }
    }

    /// The significand (MPFR manual, "Internals"): the highest limb is the last, and its first bit is set unless the number is zero or special.
    #[inline(always)]
    fn limbs(&self) -> &[limb_t] {
        match &self.more {
            None => &self.four.limbs[..limb_count(self.four.precision).min(INLINE)],
            Some(more) => more,
        }
    }

    fn limbs_mut(&mut self) -> &mut [limb_t] {
        match &mut self.more {
            None => &mut self.four.limbs[..limb_count(self.four.precision).min(INLINE)],
            Some(more) => more,
        }
    }

    /// Lets MPFR write the number. `write` must set it, and not keep or free it.
    fn set(&mut self, write: impl FnOnce(&mut mpfr_t)) {
        let mut raw = self.raw();
        raw.d = NonNull::from(self.limbs_mut()).cast();
        write(&mut raw);
        (self.four.sign, self.four.exponent) = (raw.sign, raw.exp);
    }
}

#[inline(always)]
fn limb_count(precision: u32) -> usize {
    (precision as usize).div_ceil(LIMB_BITS)
}

fn split(limbs: &[limb_t]) -> (limb_t, &[limb_t]) {
    limbs.split_last().map_or((0, limbs), |(top, rest)| (*top, rest))
}

impl Real for Mpfr {
    #[inline]
    fn zero(precision: u32) -> Mpfr {
        let precision = precision.clamp(MIN_PRECISION, MAX_PRECISION);
        let count = limb_count(precision);
        let four = Four { precision, sign: 1, exponent: EXPONENT_OF_ZERO, limbs: [0; INLINE] };
        Mpfr { four, more: (count > INLINE).then(|| Box::new(vec![0; count].into())) }
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
                if let [.., next, _] = self.limbs_mut() {
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
    fn become_result(&mut self, operator: Operator, [a, b, c]: [Operand<Mpfr>; 3], precision: u32, ty: Type) -> bool {
        let [mut x, mut y, mut z] = [const { MaybeUninit::uninit() }; 3];
        let [x, y] = [four_of(a, precision, &mut x), four_of(b, precision, &mut y)];
        let z = if operator == Operator::Fma { four_of(c, precision, &mut z) } else { x };
        if !self.becomes_by_hand(operator, Some(x), Some(y), Some(z)) {
            self.become_other_result(operator, a, b, c, precision);
        }
        self.is_steady(operator, [x, y, z].map(|four| four.exponent), ty)
    }

    /// Double-doubles have digits enough for that.
    fn sway(operator: Operator, args: &[&Mpfr], others: &[f64], result: &Mpfr, to: Target) -> Option<u64> {
        let near = |real: &Mpfr| DoubleDouble::from_mpfr(real, 0.0);
        let args: SmallVec<[DoubleDouble; MAX_ARITY]> = args.iter().map(|arg| near(arg)).collect();
        let args: SmallVec<[&DoubleDouble; MAX_ARITY]> = args.iter().collect();
        DoubleDouble::sway(operator, &args, others, &near(result), to)
    }

    fn compare(&self, other: &Mpfr) -> Option<Ordering> {
        if self.four.is_usual() && other.four.is_usual() {
            return Some(self.four.compare(&other.four));
        }
        if self.is_nan() || other.is_nan() {
            return None;
        }
        // SAFETY: as above.
        Some(unsafe { mpfr::cmp(&self.raw(), &other.raw()) }.cmp(&0))
    }

    #[inline(always)]
    fn is(&self, other: &Mpfr) -> bool {
        // Most differ here. (A zero may have any digits.)
        let begins_alike = self.four.limbs[3] == other.four.limbs[3] || !self.four.is_usual() || !other.four.is_usual();
        self.four.exponent == other.four.exponent
            && begins_alike
            && self.compare(other).is_some_and(|order| order.is_eq())
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
                let negative = self.four.sign < 0;
                return match () {
                    () if mpfr::nan_p(&raw) != 0 => format::nan(to.ty),
                    () if mpfr::inf_p(&raw) != 0 => format::infinity(to.ty, negative),
                    () => format::zero(to.ty, negative),
                };
            }
        }
        let (top, rest) = split(self.limbs());
        let (next, rest) = split(rest);
        let more = rest.iter().any(|limb| *limb != 0);
        format::encode(to, self.four.sign < 0, self.four.exponent, (top as u128) << 64 | next as u128, more)
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
        self.four.exponent == EXPONENT_OF_ZERO
            || (-MAX_EXPONENT..1024).contains(&self.four.exponent)
            || self.as_pair().is_some()
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
        self.four.precision
    }

    /// The operation, with as many digits as the first argument has.
    pub fn apply(operator: Operator, args: &[&Mpfr]) -> Mpfr {
        let mut result = Mpfr::zero(args.first().map_or(MIN_PRECISION, |arg| arg.precision()));
        let four = |number: usize| args.get(number).map(|arg| &arg.four);
        if !result.becomes_by_hand(operator, four(0), four(1), four(2)) {
            result.becomes(operator, args);
        }
        result
    }

    /// The result of a sum, a product or a quotient, if all has as many digits as are computed with by hand: says whether it has.
    #[inline(always)]
    fn becomes_by_hand(&mut self, operator: Operator, a: Option<&Four>, b: Option<&Four>, c: Option<&Four>) -> bool {
        let (Some(a), Some(b)) = (a, b) else { return false };
        if !a.is_usual() || !b.is_usual() {
            return false;
        }
        if self.more.is_some() {
            self.more = None;
        }
        match operator {
            Operator::Add => self.four.set_sum(a, b, b.sign),
            Operator::Sub => self.four.set_sum(a, b, -b.sign),
            Operator::Mul => self.four.set_product(a, b),
            Operator::Div => self.four.set_quotient(a, b),
            Operator::Fma if c.is_some_and(|c| c.is_usual() && self.four.set_product_and_sum(a, b, c)) => {}
            _ => return false,
        }
        self.keep_within_bounds();
        true
    }

    /// One by one the arguments are in registers.
    #[inline(never)]
    fn become_other_result(
        &mut self,
        operator: Operator,
        a: Operand<Mpfr>,
        b: Operand<Mpfr>,
        c: Operand<Mpfr>,
        precision: u32,
    ) {
        let [a, b, c] = [a, b, c].map(|arg| arg.real(precision));
        *self = Mpfr::zero(a.precision());
        self.becomes(operator, &[&*a, &*b, &*c][..operator.arity()]);
    }

    /// Is it a result such as [`Real::become_result`] says? Exponents tell: each argument moves by half of its last digit, and sums may be a quarter of what
    /// they are made of. Away from the ends of the format, that is (a sum of small numbers is none). Those of zero and of what is special are no normal number's,
    /// and nor is what stands for that of a subnormal double; and of what is special no normal number is made.
    #[inline(always)]
    fn is_steady(&self, operator: Operator, [a, b, c]: [mpfr::exp_t; 3], ty: Type) -> bool {
        let (least, greatest) = match ty {
            Type::F64 => (-1021, 1024),
            Type::F32 => (-125, 128),
            _ => return false,
        };
        let is_normal = |exponent: mpfr::exp_t| (least..greatest).contains(&exponent);
        let exponent = self.four.exponent;
        let reaches = |greatest: mpfr::exp_t| exponent >= greatest - 2;
        (least + 4..=greatest - 4).contains(&exponent)
            && match operator {
                Operator::Add | Operator::Sub => reaches(a.max(b)),
                Operator::Mul | Operator::Div => is_normal(a) && is_normal(b),
                Operator::Sqrt => is_normal(a),
                Operator::Fma => is_normal(a) && is_normal(b) && reaches((a + b).max(c)),
                _ => false,
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
        let limbs = self.limbs_mut();
        limbs.fill(0);
        if let Some(top) = limbs.last_mut() {
            *top = significand;
        }
        self.four.exponent = exponent;
        self.four.sign = if negative { -1 } else { 1 };
    }

    /// What [`Real::rounded`] does most, by hand.
    #[inline(always)]
    fn to_double(&self) -> f64 {
        if self.four.precision == FOUR && (-1021..=1024).contains(&self.four.exponent) {
            let [x, y, z, top] = self.four.limbs;
            // No branch: numbers are rounded up as often as not. An odd digit, or anything behind the middle, is carried.
            let (kept, rest) = (top >> 11, (x | y | z != 0) as u64);
            let up = (top & 0x7ff) + (kept & 1 | rest) > 0x400;
            let magnitude = (((self.four.exponent + 1021) as u64) << 52) + kept + up as u64;
            return f64::from_bits(magnitude | (((self.four.sign < 0) as u64) << 63));
        }
        self.to_unusual_double()
    }

    #[inline(never)]
    fn to_unusual_double(&self) -> f64 {
        // The exponents of normal doubles; rounding up from the greatest gives infinity, as it must.
        if (-1021..=1024).contains(&self.four.exponent) {
            let (top, rest) = split(self.limbs());
            let (kept, lost) = (top >> 11, top & 0x7ff);
            let tie = 0x400;
            let up = lost > tie || lost == tie && (kept & 1 == 1 || rest.iter().any(|limb| *limb != 0));
            // The significand's leading bit, and a carry out of it, add to the exponent.
            let magnitude = (((self.four.exponent + 1021) as u64) << 52) + kept + up as u64;
            return f64::from_bits(magnitude | (((self.four.sign < 0) as u64) << 63));
        }
        // SAFETY: as above.
        unsafe { mpfr::get_d(&self.raw(), RND) }
    }

    /// Gives up numbers beyond all formats.
    fn keep_within_bounds(&mut self) {
        // NaN, infinities and zeros are exponents beyond all others, so the common case is one comparison.
        // SAFETY: as above.
        if !is_within_bounds(self.four.exponent) && unsafe { mpfr::regular_p(&self.raw()) } != 0 {
            let (sign, is_huge) = (self.four.sign, self.four.exponent > 0);
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

/// An argument, all of it if it is not long; a double where there is room to become one.
#[inline(always)]
fn four_of<'a>(arg: Operand<'a, Mpfr>, precision: u32, room: &'a mut MaybeUninit<Four>) -> &'a Four {
    match arg {
        Operand::Real(real) => &real.four,
        Operand::Double(value) => room.write(Four::of_double(value, precision)),
    }
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
