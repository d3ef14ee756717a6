//! What computes and compares, lane by lane.

use super::Lowering;
use crate::builder::{Builder, Source};
use crate::operands::register;
use crate::registers::Granule;
use crate::tables::{Lanes, Order};
use fpgrind_ir::{Op, Operator, Reg, Relation, Rounding, Rule, Type, Value};

impl Lowering<'_> {
    pub(super) fn apply(&mut self, operator: Operator, lanes: Lanes, logged: bool) -> Option<()> {
        let (ty, count) = (lanes.ty, self.count(lanes));
        let args = self.arguments(operator.arity() as u32, ty.bytes())?;
        let left = if logged { Some(self.left(ty, count)?) } else { None };
        let rounding = self.form.rounding;
        let results = self.lanewise(&args, ty, count, |builder, lane, args| {
            let result = left.as_ref().map(|left| left[lane]);
            builder.value(ty, Op::Apply { operator, args, rounding, result })
        });
        self.write_lanes(&results, ty.bytes(), lanes.scalar)
    }

    pub(super) fn fused(&mut self, operators: [Operator; 2], lanes: Lanes, Order(order): Order) -> Option<()> {
        let (ty, count) = (lanes.ty, self.count(lanes));
        let args: Vec<Source> = order.iter().map(|&number| self.argument(number, ty.bytes())).collect::<Option<_>>()?;
        let left = if ty == Type::F16 { Some(self.left(ty, count)?) } else { None };
        let rounding = self.form.rounding;
        let results = self.lanewise(&args, ty, count, |builder, lane, args| {
            let result = left.as_ref().map(|left| left[lane]);
            builder.value(ty, Op::Apply { operator: operators[lane % 2], args, rounding, result })
        });
        self.write_lanes(&results, ty.bytes(), lanes.scalar)
    }

    pub(super) fn alternate(&mut self, operators: [Operator; 2], ty: Type) -> Option<()> {
        let args = self.arguments(2, ty.bytes())?;
        let count = self.form.bytes / ty.bytes();
        let results = self
            .lanewise(&args, ty, count, |builder, lane, args| builder.value(ty, computed(operators[lane % 2], args)));
        self.write_lanes(&results, ty.bytes(), false)
    }

    /// Quarters do not mix: each takes the pairs of one argument, then those of the other.
    pub(super) fn horizontal(&mut self, operator: Operator, ty: Type) -> Option<()> {
        let (count, in_quarter) = (self.form.bytes / ty.bytes(), 16 / ty.bytes());
        let args = self.arguments(2, ty.bytes())?;
        let args: Vec<Vec<Value>> = args.iter().map(|&arg| self.builder.read_lanes(arg, ty, count)).collect();
        let mut results = Vec::new();
        for first in (0..count).step_by(in_quarter) {
            for pair in args.iter().flat_map(|arg| arg[first..first + in_quarter].chunks(2)) {
                results.push(Some(self.builder.value(ty, computed(operator, pair.to_vec()))));
            }
        }
        self.write_lanes(&results, ty.bytes(), false)
    }

    /// Quarter by quarter: the products that the immediate's upper bits name are summed in pairs; its lower bits say where the sum goes
    /// (Intel SDM, DPPS). What is not named counts as zero.
    pub(super) fn dot_product(&mut self, ty: Type) -> Option<()> {
        let (count, in_quarter) = (self.form.bytes / ty.bytes(), 16 / ty.bytes());
        let immediate = self.instr.immediate8();
        let args = self.arguments(2, ty.bytes())?;
        let args: Vec<Vec<Value>> = args.iter().map(|&arg| self.builder.read_lanes(arg, ty, count)).collect();
        let left = self.left(ty, count)?;
        let zero = self.builder.constant(ty, 0);
        let mut results = Vec::new();
        for first in (0..count).step_by(in_quarter) {
            let goes = |lane: usize| immediate >> lane & 1 == 1;
            let native = (0..in_quarter).find(|&lane| goes(lane)).map(|lane| left[first + lane]);
            let mut terms: Vec<Op> = Vec::new();
            for pair in [0..in_quarter / 2, in_quarter / 2..in_quarter] {
                let products: Vec<Op> = pair
                    .filter(|lane| immediate >> (4 + lane) & 1 == 1)
                    .map(|lane| computed(Operator::Mul, vec![args[0][first + lane], args[1][first + lane]]))
                    .collect();
                terms.extend(self.sum(ty, products));
            }
            // Adding a zero is not nothing: it makes a negative zero positive.
            if terms.len() == 1 {
                let product = self.builder.value(ty, terms.remove(0));
                terms.push(computed(Operator::Add, vec![product, zero]));
            }
            // The sum's bits are the CPU's.
            let sum = match self.sum(ty, terms) {
                Some(Op::Apply { operator, args, .. }) => {
                    self.builder.value(ty, Op::Apply { operator, args, rounding: Rounding::Current, result: native })
                }
                _ => zero,
            };
            for lane in 0..in_quarter {
                // Where it is a NaN its sign may differ between the lanes (as observed).
                let copy = Op::Among { bits: left[first + lane], of: vec![sum] };
                results.push(Some(if goes(lane) { self.builder.value(ty, copy) } else { zero }));
            }
        }
        self.write_lanes(&results, ty.bytes(), false)
    }

    /// One operation whose result is the sum of at most two.
    fn sum(&mut self, ty: Type, terms: Vec<Op>) -> Option<Op> {
        let mut terms = terms.into_iter();
        let first = terms.next()?;
        let Some(second) = terms.next() else { return Some(first) };
        let args = [first, second].map(|op| self.builder.value(ty, op)).to_vec();
        Some(computed(Operator::Add, args))
    }

    /// Two steps, the odd elements first; each rounds to nearest, whatever MXCSR says (Intel SDM, VDPBF16PS).
    pub(super) fn dot_product_of_halves(&mut self) -> Option<()> {
        let count = self.form.bytes / 4;
        let args = self.arguments(2, 4)?;
        let args = [args[0], args[1]].map(|arg| self.builder.read_lanes(arg, Type::Bf16, 2 * count));
        let sums = self.builder.read_lanes(Source::Register(register(self.instr.op0_register())?), Type::F32, count);
        let left = self.left(Type::F32, count)?;
        let mut results = Vec::new();
        for lane in 0..count {
            let guard = self.form.guard(self.builder, lane);
            let (args, sum, left) = (&args, sums[lane], left[lane]);
            results.push(Some(self.builder.guarded(guard, |builder| {
                let mut step = |element: usize, sum: Value, result: Option<Value>| {
                    let [a, b] = [0, 1].map(|arg| {
                        let args = vec![args[arg][element]];
                        builder.value(Type::F32, computed(Operator::Cast, args))
                    });
                    let args = vec![a, b, sum];
                    let op = Op::Apply { operator: Operator::Fma, args, rounding: Rounding::Nearest, result };
                    builder.value(Type::F32, op)
                };
                let odd = step(2 * lane + 1, sum, None);
                step(2 * lane, odd, Some(left))
            })));
        }
        self.write_lanes(&results, 4, false)
    }

    /// (a + bi)(c + di), and perhaps the destination. Each part is a product and a fused product, rounded each; a sum is fused twice (Intel SDM,
    /// VFMADDCPH). With the conjugate of the second argument the signs of d change.
    pub(super) fn complex(&mut self, conjugate: bool, accumulate: bool, scalar: bool) -> Option<()> {
        let ty = Type::F16;
        let pairs = if scalar { 1 } else { self.form.bytes / 4 };
        let args = self.arguments(2, 4)?;
        let args = [args[0], args[1]].map(|arg| self.builder.read_lanes(arg, ty, 2 * pairs));
        let destination = Source::Register(register(self.instr.op0_register())?);
        let sums = if accumulate { Some(self.builder.read_lanes(destination, ty, 2 * pairs)) } else { None };
        let left = self.left(ty, 2 * pairs)?;
        let rounding = self.form.rounding;
        let mut results = Vec::new();
        for pair in 0..pairs {
            let guard = self.form.guard(self.builder, pair);
            let [[a, b], [c, d]] = [0, 1].map(|arg: usize| [0, 1].map(|part| args[arg][2 * pair + part]));
            // Real: ac - bd; imaginary: bc + ad.
            let (minus, plus) = (Operator::Fnma, Operator::Fma);
            let parts = [
                ([a, c], [b, d], if conjugate { plus } else { minus }),
                ([b, c], [a, d], if conjugate { minus } else { plus }),
            ];
            for (part, (first, second, operator)) in parts.into_iter().enumerate() {
                let (sum, left) = (sums.as_ref().map(|sums| sums[2 * pair + part]), left[2 * pair + part]);
                results.push(Some(self.builder.guarded(guard, |builder| {
                    let op = |operator, args, result| Op::Apply { operator, args, rounding, result };
                    let product = match sum {
                        Some(sum) => builder.value(ty, op(plus, vec![first[0], first[1], sum], None)),
                        None => builder.value(ty, op(Operator::Mul, first.to_vec(), None)),
                    };
                    builder.value(ty, op(operator, vec![second[0], second[1], product], Some(left)))
                })));
            }
        }
        // The mask has a bit for each pair.
        let pairs = self.granules_of_lanes(&results, 2, None);
        let pairs = self.elements(&pairs, 4)?;
        self.write_lanes(&pairs, 4, scalar)
    }

    pub(super) fn round(&mut self, lanes: Lanes) -> Option<()> {
        let operator = rounding_operator(self.instr.immediate8());
        let args = self.arguments(1, lanes.ty.bytes())?;
        let count = self.count(lanes);
        let results =
            self.lanewise(&args, lanes.ty, count, |builder, _, args| builder.value(lanes.ty, computed(operator, args)));
        self.write_lanes(&results, lanes.ty.bytes(), lanes.scalar)
    }

    /// The upper four bits of the immediate are how many binary digits are kept behind the point.
    pub(super) fn round_scaled(&mut self, lanes: Lanes, remainder: bool) -> Option<()> {
        let (ty, count) = (lanes.ty, self.count(lanes));
        let immediate = self.instr.immediate8();
        let (operator, digits) = (rounding_operator(immediate), (immediate >> 4) as i32);
        let args = self.arguments(1, ty.bytes())?;
        let left = self.left(ty, count)?;
        let [scale, back] = [digits, -digits].map(|exponent| self.builder.constant(ty, power_of_two(ty, exponent)));
        // The immediate says how the remainder is rounded, too.
        let rounding = rounding_of(immediate);
        let apply = |builder: &mut Builder, operator, args, result| {
            builder.value(ty, Op::Apply { operator, args, rounding, result })
        };
        let results = self.lanewise(&args, ty, count, |builder, lane, args| {
            let native = Some(left[lane]);
            let of_rounded = native.filter(|_| !remainder);
            let rounded = if digits == 0 {
                apply(builder, operator, args.clone(), of_rounded)
            } else {
                let scaled = apply(builder, Operator::Mul, vec![args[0], scale], None);
                let rounded = apply(builder, operator, vec![scaled], None);
                apply(builder, Operator::Mul, vec![rounded, back], of_rounded)
            };
            if remainder { apply(builder, Operator::Sub, vec![args[0], rounded], native) } else { rounded }
        });
        self.write_lanes(&results, ty.bytes(), lanes.scalar)
    }

    pub(super) fn mantissa(&mut self, lanes: Lanes) -> Option<()> {
        let (ty, count) = (lanes.ty, self.count(lanes));
        let args = self.arguments(1, ty.bytes())?;
        let left = self.left(ty, count)?;
        let results = self.lanewise(&args, ty, count, |builder, lane, args| {
            builder.value(ty, Op::Rescale { bits: left[lane], of: args[0] })
        });
        self.write_lanes(&results, ty.bytes(), lanes.scalar)
    }

    pub(super) fn one_of(&mut self, lanes: Lanes, arguments: u32) -> Option<()> {
        let (ty, count) = (lanes.ty, self.count(lanes));
        // Of three the last is a table.
        let numbers = if arguments == 3 { [1, 0] } else { [1, 2] };
        let args: Vec<Source> =
            numbers.iter().map(|&number| self.argument(number, ty.bytes())).collect::<Option<_>>()?;
        let left = self.left(ty, count)?;
        let results = self.lanewise(&args, ty, count, |builder, lane, args| {
            let mut of = args.clone();
            for arg in args {
                of.push(builder.value(ty, computed(Operator::Neg, vec![arg])));
            }
            builder.value(ty, Op::Among { bits: left[lane], of })
        });
        self.write_lanes(&results, ty.bytes(), lanes.scalar)
    }

    pub(super) fn mask(&mut self, lanes: Lanes) -> Option<()> {
        // Legacy encodings look at three bits of the immediate, others at five, of which the fifth changes only which NaNs
        // raise an exception (Intel SDM, CMPPS).
        let bits = if self.form.legacy { 7 } else { 15 };
        let relation = Relation::ALL[self.instr.immediate8() as usize & bits];
        let mask_type = Type::bits_of(lanes.ty.bytes())?;
        let args = self.arguments(2, lanes.ty.bytes())?;
        let count = self.count(lanes);
        let results = self.lanewise(&args, lanes.ty, count, |builder, _, args| {
            builder.value(mask_type, Op::Mask { relation, args: [args[0], args[1]] })
        });
        self.write_lanes(&results, lanes.ty.bytes(), lanes.scalar)
    }

    pub(super) fn compare(&mut self, ty: Type) -> Option<()> {
        let args = self.arguments(2, ty.bytes())?;
        let args = [args[0], args[1]].map(|arg| self.builder.read_lane(arg, 0, ty));
        self.builder.flags = Some(self.builder.value(Type::Flags, Op::Compare { args }));
        Some(())
    }

    /// Whether floats are negative. Masks that comparisons left are no floats, but then nothing is known of them.
    pub(super) fn signs(&mut self, ty: Type) -> Option<()> {
        let from = self.arguments(1, ty.bytes())?[0];
        let count = if self.instr.op1_register().is_ymm() { 32 } else { 16 } / ty.bytes();
        let is_mask =
            |builder: &Builder, granule: Granule| !builder.may_carry_float(granule) || builder.is_mask(granule);
        let granules = self.builder.peek(from);
        if !granules[..count * ty.granules()].iter().all(|&granule| is_mask(self.builder, granule)) {
            let zero = self.builder.constant(ty, 0);
            let mask_type = Type::bits_of(ty.bytes())?;
            for value in self.builder.read_lanes(from, ty, count) {
                self.builder.value(mask_type, Op::Mask { relation: Relation::Less, args: [value, zero] });
            }
        }
        if let Some(reg) = register(self.instr.op0_register()) {
            self.builder.forget(reg);
        }
        Some(())
    }

    pub(super) fn select(&mut self, ty: Type) -> Option<()> {
        let args = if self.form.legacy {
            let mut args = self.arguments(2, ty.bytes())?;
            args.push(Source::Register(Reg::Vec(0)));
            args
        } else {
            self.arguments(3, ty.bytes())?
        };
        let count = self.form.bytes / ty.bytes();
        let highest = Rule::Bit(8 * ty.bytes() as u8 - 1);
        let results = self.lanewise(&args, ty, count, |builder, _, args| {
            builder.value(ty, Op::Pick { control: args[2], rule: highest, from: args[..2].to_vec() })
        });
        self.write_lanes(&results, ty.bytes(), false)
    }

    /// Integers are added to floats to change their exponents. Where no float is known to be among the arguments they are
    /// integers, and not worth logging.
    pub(super) fn exponents(&mut self, ty: Type) -> Option<()> {
        if self.form.mask.is_some() || !self.instr.op0_register().is_vector_register() {
            return None;
        }
        let count = self.form.bytes / ty.bytes();
        let first = self.form.operands.checked_sub(2)?;
        let floats = |lowering: &mut Self, number: u32| {
            let reg = register(lowering.instr.op_register(number))?;
            let granules = lowering.builder.peek(Source::Register(reg));
            let lanes = granules.chunks(ty.granules()).take(count);
            Some(lanes.map(|lane| lowering.builder.computed_float(lane[0], ty)).collect::<Vec<_>>())
        };
        let [a, b] = [first, first + 1].map(|number| floats(self, number).unwrap_or_else(|| vec![None; count]));
        let of: Vec<Option<Value>> = a.into_iter().zip(b).map(|(a, b)| a.or(b)).collect();
        if of.iter().all(Option::is_none) {
            return None;
        }
        let left = self.left(ty, count)?;
        let results: Vec<Option<Value>> = of
            .into_iter()
            .zip(left)
            .map(|(of, bits)| Some(self.builder.value(ty, Op::Rescale { bits, of: of? })))
            .collect();
        self.write_lanes(&results, ty.bytes(), false)
    }
}

/// The operator as MXCSR says; what comes out can be computed again.
pub(super) fn computed(operator: Operator, args: Vec<Value>) -> Op {
    Op::Apply { operator, args, rounding: Rounding::Current, result: None }
}

/// Bit 2 of an immediate says that MXCSR decides, else bits 0 and 1 do (Intel SDM, ROUNDPD, VCVTPS2PH).
pub(super) fn rounding_of(immediate: u8) -> Rounding {
    match immediate & 7 {
        0 => Rounding::Nearest,
        1 => Rounding::Down,
        2 => Rounding::Up,
        3 => Rounding::Truncate,
        _ => Rounding::Current,
    }
}

fn rounding_operator(immediate: u8) -> Operator {
    match rounding_of(immediate) {
        Rounding::Nearest => Operator::RoundEven,
        Rounding::Down => Operator::Floor,
        Rounding::Up => Operator::Ceil,
        Rounding::Truncate => Operator::Trunc,
        Rounding::Current => Operator::Nearbyint,
    }
}

/// The bits of a power of two with a small exponent.
fn power_of_two(ty: Type, exponent: i32) -> u128 {
    let (bias, fraction) = match ty {
        Type::F16 => (15, 10),
        Type::F32 => (127, 23),
        _ => (1023, 52),
    };
    match exponent + bias {
        // Below the normal numbers of half precision.
        biased @ ..=0 => 1 << (fraction - 1 + biased),
        biased => (biased as u128) << fraction,
    }
}
