//! Random blocks that the verifier accepts, for the tests that say what holds for every block.

use fpgrind_ir::*;
use proptest::prelude::*;

/// Blocks without slots: as a frontend makes them.
pub fn blocks() -> impl Strategy<Value = Block> {
    (1..6u16, prop::collection::vec(any::<[u8; 6]>(), 0..40)).prop_map(|(instrs, choices)| {
        let mut maker = Maker { block: Block::default(), instr: 0 };
        for number in 0..instrs {
            maker.block.instrs.push(GuestInstr { pc: 0x401000 + 4 * number as u64, len: 4 });
        }
        for choice in choices {
            maker.instr = (maker.instr + (choice[0] % 4 == 0) as u16).min(instrs - 1);
            maker.statement(choice);
        }
        maker.block
    })
}

/// Turns random bytes into statements that are right where they stand.
struct Maker {
    block: Block,
    instr: u16,
}

impl Maker {
    fn push(&mut self, ty: impl Into<Option<Type>>, op: Op) -> Value {
        self.block.push(self.instr, When::Before, ty.into(), op)
    }

    /// A value of the type defined so far, or a new constant.
    fn value(&mut self, ty: Type, choice: u8) -> Value {
        let known: Vec<usize> =
            (0..self.block.stmts.len()).filter(|&index| self.block.stmts[index].ty == Some(ty)).collect();
        match known.len() {
            0 => self.push(ty, Op::Const { bits: choice as u128 }),
            count => Value(known[choice as usize % count] as u32),
        }
    }

    fn addr(&mut self, [parts, a, b, c]: [u8; 4]) -> Addr {
        Addr {
            segment: (parts & 1 != 0).then(|| self.value(Type::B64, a)),
            base: (parts & 2 != 0).then(|| self.value(Type::B64, b)),
            index: (parts & 4 != 0).then(|| (self.value(Type::B64, c), 1 << (c % 4))),
            disp: match parts >> 6 {
                0 => 0,
                1 => a as i64,
                2 => -(b as i64),
                _ => i64::MIN + c as i64,
            },
        }
    }

    fn statement(&mut self, [_, kind, a, b, c, d]: [u8; 6]) {
        let float = [Type::F32, Type::F64][a as usize % 2];
        let any_float = [Type::F16, Type::Bf16, Type::F32, Type::F64, Type::F80][a as usize % 5];
        let bits = [Type::B32, Type::B64, Type::B128][a as usize % 3];
        let any = [Type::F32, Type::F64, Type::B32, Type::B64, Type::B128][a as usize % 5];
        let rounding = Rounding::ALL[b as usize % 5];
        let after = if d % 2 == 0 { When::Before } else { When::After };
        let slot = Slot::UNASSIGNED;
        let operator = Operator::ALL[c as usize % Operator::ALL.len()];
        match kind % 30 {
            0 => drop(self.push(any, Op::Live { place: place(any, b), slot })),
            1 => drop(self.block.push(self.instr, after, Some(any), Op::Fresh { place: place(any, b), slot })),
            2 => {
                let addr = self.addr([b, c, d, a]);
                self.push(any, Op::Load { addr, slot });
            }
            3 => drop(self.push(any, Op::Const { bits: u128::MAX >> (128 - 8 * any.bytes()) >> (b % 32) })),
            4 => {
                let from = self.value(Type::B128, b);
                self.push(any, Op::Extract { from, granule: c % (5 - any.granules() as u8) });
            }
            5 => {
                let parts = (0..any.granules()).map(|n| self.value(Type::B32, b.wrapping_add(n as u8))).collect();
                self.push(any, Op::Concat { parts });
            }
            6 => {
                let args = [self.value(bits, b), self.value(bits, c)];
                self.push(bits, Op::Bitwise { op: BitOp::ALL[d as usize % 4], args });
                let (rule, count) = match b % 4 {
                    0 => (Rule::Bit(c % 64), 2),
                    1 => (Rule::Index(c % 64), 1 << (d % 5)),
                    2 => (Rule::Nth(c % 64), 1 + d % 17),
                    _ => (Rule::Rank(c % 16), 2 + c % 16 + d % 4),
                };
                let control = self.value(Type::B64, d);
                let from = (0..count).map(|n| self.value(any, b.wrapping_add(n))).collect();
                self.push(any, Op::Pick { control, rule, from });
            }
            7 => {
                let from = match (operator, float) {
                    (Operator::Cast, Type::F32) => Type::F64,
                    (Operator::Cast, _) => Type::F32,
                    _ => float,
                };
                let args = (0..operator.arity()).map(|n| self.value(from, d.wrapping_add(n as u8))).collect();
                let result = (d % 3 == 0).then(|| self.value(float, c));
                self.push(float, Op::Apply { operator, args, rounding, result });
            }
            8 => {
                let args = [self.value(float, b), self.value(float, c)];
                self.push(Type::Flags, Op::Compare { args });
            }
            9 => {
                let args = [self.value(float, b), self.value(float, c)];
                let relation = Relation::ALL[d as usize % 16];
                self.push(Type::bits_of(float.bytes()), Op::Mask { relation, args });
            }
            10 => {
                let args = [self.value(float, b), self.value(float, c)];
                let flags = self.push(Type::Flags, Op::Compare { args });
                self.push(None, Op::Branch { flags, cond: Cond::ALL[d as usize % 12] });
            }
            11 => {
                let value = self.value(any_float, b);
                self.push(None, Op::ToInt { value, rounding, bytes: [2, 4, 8][d as usize % 3], signed: c % 2 == 0 });
            }
            12 => {
                let value = self.value(any, c);
                self.push(None, Op::Put { place: place(any, b), value });
            }
            13 => drop(self.push(None, Op::Drop { place: Place::vec(b % 16, 4 * (c % 4)), bytes: 4 })),
            14 => {
                let value = self.value(any, a);
                let addr = self.addr([b, c, d, a]);
                self.push(None, Op::Store { addr, value });
            }
            15 => {
                let value = self.value(Type::B32, b);
                self.push(None, Op::SetMxcsr { value });
                self.push(None, Op::Lose { value });
                self.push(None, Op::Escape { value });
            }
            16 => {
                let [dst, src, len] = [b, c, d].map(|choice| self.value(Type::B64, choice));
                self.push(None, Op::Copy { dst, src, len, unit: 1 << (a % 4) });
                self.push(None, Op::Forget { dst, len, unit: 1 << (b % 4) });
                self.push(
                    None,
                    Op::Allocate {
                        at: dst,
                        size: len,
                        count: (a % 2 == 0).then_some(src),
                        old: (b % 2 == 0).then_some(src),
                    },
                );
            }
            17 => {
                let args = (0..operator.arity()).map(|n| self.value(float, d.wrapping_add(n as u8))).collect();
                let caller = self.value(Type::B64, c);
                self.push(None, Op::Enter { args, caller });
            }
            18 => {
                let result = self.value(float, b);
                let of = (0..operator.arity() as u8).collect();
                self.push(None, Op::Leave { operator, of, result, place: place(float, c) });
            }
            19 => {
                let result = self.value(float, b);
                let addr = self.addr([b, c, d, a]);
                let of = (0..operator.arity() as u8).rev().collect();
                self.push(None, Op::LeaveInMemory { operator, of, result, addr });
            }
            20 => {
                let image = self.block.push(self.instr, after, Some(Type::Image), Op::Image { turned: b % 8, slot });
                let value = self.push(Type::F80, Op::St { image, index: c % 8, live: d % 2 == 0 });
                self.push(None, Op::Put { place: Place::whole(Reg::X87(d % 8)), value });
                self.push(None, Op::CheckSt { value, image, index: d % 8 });
            }
            21 => {
                let addr = self.addr([b, c, d, a]);
                let bits = self.value(any, a);
                self.push(any, Op::Recall { addr, bits });
            }
            22 => {
                let from = self.value(Type::B128, b);
                let half = [Type::F16, Type::Bf16, Type::B16][a as usize % 3];
                let half = self.push(half, Op::Half { from, granule: c % 4, upper: d % 2 == 0 });
                self.push(Type::B32, Op::Concat { parts: vec![half; 2] });
            }
            23 => {
                let bits = self.value(any, b);
                let of = (0..c % 5).map(|n| self.value(any, n)).chain([bits]).collect();
                self.push(any, Op::Among { bits, of });
            }
            24 => {
                let (bits, of) = (self.value(any_float, b), self.value(any_float, c));
                self.push(any_float, Op::Rescale { bits, of });
            }
            25 => {
                let value = self.value([Type::B16, Type::B32, Type::B64][b as usize % 3], c);
                self.push(any_float, Op::FromInt { value, bytes: [2, 4, 8][d as usize % 3] });
            }
            26 => {
                let (value, mask) = (self.value(any, a), self.value(Type::B64, b));
                let addr = self.addr([b, c, d, a]);
                let test = if d % 2 == 0 { Test::Bit(c % 64) } else { Test::MoreThan(c % 64) };
                self.push(None, Op::Store { addr, value });
                self.block.stmts.last_mut().unwrap().guard = Some(Guard { mask, test });
            }
            27 => {
                let value = self.value(Type::B16, b);
                self.push(None, Op::SetX87Control { value });
                self.push(None, Op::Turn { by: c % 8 });
            }
            28 => {
                let addr = self.addr([b, c, d, a]);
                self.push(None, if a % 2 == 0 { Op::Save { addr } } else { Op::Restore { addr } });
            }
            _ => {
                let value = self.value(any, b);
                self.block.push(self.instr, after, None, Op::Check { value, place: place(any, c), slot });
            }
        }
    }
}

/// A place from which one store can log a value of the type.
fn place(ty: Type, choice: u8) -> Place {
    let number = choice % 16;
    match (ty, choice / 16) {
        (Type::B64, 0) => Place::whole(Reg::Mask(number % 8)),
        (Type::B128, 0) => Place { reg: Reg::Operand, offset: 16 * (number % 4) },
        (Type::B128, 1..4) => Place::vec(number, 16 * (choice / 16)),
        (Type::B32, 0..4) => Place { reg: Reg::Mxcsr, offset: 0 },
        (Type::B64, 8) => Place::whole(Reg::Sum { base: number, index: 15 - number, scale: 1 << (number % 4) }),
        (Type::B64, 1) => Place { reg: Reg::FsBase, offset: 0 },
        (Type::B64, 2..4) => Place { reg: Reg::Out(number % 3), offset: 0 },
        (Type::B32 | Type::B64, 4..12) => Place::gpr(number),
        (Type::F64 | Type::B64, 12..) => Place::vec(number, 8),
        _ => Place::vec(number, 0),
    }
}
