//! Sine, cosine and tangent: of what is left of an angle after multiples of pi/2048, and of the multiple.

use super::reduction::{nearest, rest, rest_quickly};
use super::tables::{SINES, TABLES, Tables};
use super::twofold::{Twofold, fast_two_sum, two_product};
use super::{Approximation, U2};

/// Angles are known well enough below that.
const FAR: f64 = (1 << 22) as f64;

/// sin(r) and cos(r) - 1 for |r| <= pi/4096 = 2^-10.3, each as an upper double and a rest.
///
/// Of the sine, r^3/6 is two doubles; r^5/120, 2^-48 of it, and what follows are not. It is within 48u^2 of itself.
/// Of cos(r) - 1, r^2/2 is two doubles; r^4/24 is not, nor is what follows: 4u of 2^-45.7 makes it right within 640u^2. What is left out is smaller.
#[inline(always)]
fn of_rest(r: Twofold, tables: &Tables) -> [Twofold; 2] {
    let (h, of) = (r.hi, &tables.factorials);
    let square = two_product(h, h);
    let cube = two_product(square.hi, h);
    // What the cube has lost, and 3 r^2 r.lo.
    let of_cube = h.mul_add(square.lo, (3.0 * square.hi).mul_add(r.lo, cube.lo));
    let third = two_product(cube.hi, -of[3].hi);
    let of_third = of_cube.mul_add(-of[3].hi, cube.hi.mul_add(-of[3].lo, third.lo));
    let w = square.hi;
    let odd = (cube.hi * w) * w.mul_add(-of[7].hi, of[5].hi);
    let even = (w * w) * w.mul_add(-of[6].hi, of[4].hi);
    let sine = fast_two_sum(h, third.hi);
    // Beside what the cube has of it, r.lo counts as its products with the derivatives.
    let cosine_less_one = Twofold { hi: -0.5 * w, lo: even - sine.hi.mul_add(r.lo, 0.5 * square.lo) };
    let rest = (sine.lo + even.mul_add(r.lo, r.lo)) + (of_third + odd);
    [Twofold { hi: sine.hi, lo: rest }, cosine_less_one]
}

/// An angle: sine and cosine of a multiple, and those of the rest.
struct Turn {
    multiple: [Twofold; 2],
    rest: [Twofold; 2],
    doubt: f64,
}

impl Turn {
    #[inline(always)]
    fn new(x: Twofold) -> Option<Turn> {
        if x.hi.abs() >= FAR {
            return None;
        }
        let tables = &*TABLES;
        let (count, number) = nearest(x.hi * (2.0 * SINES as f64 * std::f64::consts::FRAC_1_PI));
        let within = number as usize % SINES;
        // Next to a multiple of a quarter the rest is all that there is of one of them.
        let quickly = if within == 0 { None } else { rest_quickly(x, count, &tables.step_of_sines) };
        let (r, doubt) = match quickly {
            Some(known) => known,
            None if number == 0 => (x, 0.0),
            None => rest(x, count, &tables.exact_step_of_sines),
        };
        let (a, b) = (tables.sines[within], tables.sines[SINES - within]);
        let multiple = match number >> SINES.trailing_zeros() & 3 {
            0 => [a, b],
            1 => [b, -a],
            2 => [-a, -b],
            _ => [-b, a],
        };
        Some(Turn { multiple, rest: of_rest(r, tables), doubt })
    }

    #[inline(always)]
    fn sine(&self) -> Approximation {
        let [a, b] = self.multiple;
        turned(a, b, self.rest, self.doubt)
    }

    #[inline(always)]
    fn cosine(&self) -> Approximation {
        let [a, b] = self.multiple;
        turned(b, -a, self.rest, self.doubt)
    }
}

/// `a cos(r) + b sin(r)`, where a and b are sine and cosine of an angle. The second term is at most two thirds of the first, or the first is zero.
///
/// The upper doubles of both products are exact with their lower ones, which with the rests are sums of five: of what is at most 2^-45.7 a they are
/// rounded by six times 160u^2 a; the cosine is wrong by 640u^2, the sine by 48u^2 and another five roundings of 16u^2, b by u^2.
#[inline(always)]
fn turned(a: Twofold, b: Twofold, [sine, cosine_less_one]: [Twofold; 2], doubt: f64) -> Approximation {
    let by_sine = two_product(b.hi, sine.hi);
    let of_sine = b.hi.mul_add(sine.lo, b.lo.mul_add(sine.hi, by_sine.lo));
    let by_cosine = two_product(a.hi, cosine_less_one.hi);
    let of_cosine = a.hi.mul_add(cosine_less_one.lo, a.lo.mul_add(cosine_less_one.hi, by_cosine.lo));
    if a.hi == 0.0 {
        let value = fast_two_sum(by_sine.hi, of_sine);
        return Approximation { value, err: 160.0 * U2 * by_sine.hi.abs() + doubt * 1.01 };
    }
    let first = fast_two_sum(a.hi, by_sine.hi);
    let sum = fast_two_sum(first.hi, by_cosine.hi);
    let value = fast_two_sum(sum.hi, (first.lo + sum.lo) + ((a.lo + of_sine) + of_cosine));
    Approximation { value, err: U2 * (160.0 * by_sine.hi.abs() + 2048.0 * a.hi.abs()) + doubt * 1.01 }
}

#[inline]
#[target_feature(enable = "fma")]
pub fn sin(x: Twofold) -> Option<Approximation> {
    Some(Turn::new(x)?.sine())
}

#[inline]
#[target_feature(enable = "fma")]
pub fn cos(x: Twofold) -> Option<Approximation> {
    Some(Turn::new(x)?.cosine())
}

#[inline]
#[target_feature(enable = "fma")]
pub fn tan(x: Twofold) -> Option<Approximation> {
    let turn = Turn::new(x)?;
    let (sine, cosine) = (turn.sine(), turn.cosine());
    let value = sine.value / cosine.value;
    let parts = sine.err / sine.value.hi.abs() + cosine.err / cosine.value.hi.abs();
    Some(Approximation { value, err: value.hi.abs() * (1.01 * parts + 16.0 * U2) })
}
