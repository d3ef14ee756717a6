//! Loads and stores whose elements lie where other registers say: gathers, scatters, masked moves, compression and expansion.

use super::Lowering;
use super::moves::index_register;
use crate::builder::Source;
use crate::operands::{Operand, address, address_without_index, at, operand, register, source};
use fpgrind_ir::{Addr, BitOp, Guard, Op, Reg, Rule, Test, Type, Value};
use iced_x86::OpKind;

impl Lowering<'_> {
    /// The addresses of the elements that a vector of indices names.
    fn scattered(&mut self, index: Type, count: usize) -> Option<Vec<Addr>> {
        let addr = address_without_index(self.builder, self.instr)?;
        let indices = self.builder.read_lanes(index_register(self.instr.memory_index())?, index, count);
        let scale = self.instr.memory_index_scale() as u8;
        Some(indices.into_iter().map(|index| Addr { index: Some((index, scale)), ..addr }).collect())
    }

    /// An element is moved where the highest bit of a lane of this register is set.
    fn guards_of_vector(&mut self, number: u32, ty: Type, count: usize) -> Option<Vec<Guard>> {
        let control = source(self.builder, self.instr, number, self.options)?;
        let highest = 8 * ty.bytes() as u8 - 1;
        let lanes = self.builder.read_lanes(control, ty, count);
        Some(lanes.into_iter().map(|mask| Guard { mask, test: Test::Bit(highest) }).collect())
    }

    /// Which elements a gather or scatter moves. Both kinds of masks are cleared by the instruction, element by element.
    fn guards(&mut self, ty: Type, count: usize) -> Option<Vec<Guard>> {
        if let Some(number) = self.form.mask {
            let mask = self.builder.mask(number);
            return Some((0..count).map(|lane| Guard { mask, test: Test::Bit(lane as u8) }).collect());
        }
        self.guards_of_vector(2, ty, count)
    }

    /// Elements that were loaded where their guards let them, and else are `otherwise`'s, or zero.
    fn loaded(
        &mut self,
        ty: Type,
        addrs: &[Addr],
        guards: &[Guard],
        otherwise: Option<Reg>,
    ) -> Option<Vec<Option<Value>>> {
        let count = addrs.len();
        let old = match otherwise {
            Some(reg) => self.builder.read_lanes(Source::Register(reg), ty, count),
            None => vec![self.builder.constant(ty, 0); count],
        };
        let left = self.left(ty, count)?;
        let mut results = Vec::new();
        for (lane, &bits) in left.iter().enumerate() {
            let (guard, addr) = (guards[lane], addrs[lane]);
            let value = self.builder.guarded(Some(guard), |builder| builder.value(ty, Op::Recall { addr, bits }));
            let Test::Bit(bit) = guard.test else { return None };
            let op = Op::Pick { control: guard.mask, rule: Rule::Bit(bit), from: vec![old[lane], value] };
            results.push(Some(self.builder.value(ty, op)));
        }
        Some(results)
    }

    pub(super) fn gather(&mut self, ty: Type, index: Type) -> Option<()> {
        let count = self.form.bytes / ty.bytes().max(index.bytes());
        let destination = register(self.instr.op0_register())?;
        let addrs = self.scattered(index, count)?;
        let guards = self.guards(ty, count)?;
        let results = self.loaded(ty, &addrs, &guards, Some(destination))?;
        let mask = self.form.mask.take();
        self.write_lanes(&results, ty.bytes(), false)?;
        match (mask, register(self.instr.op_register(2))) {
            (Some(mask), _) => self.builder.forget(Reg::Mask(mask)),
            (None, Some(Reg::Vec(number))) => self.zero(number, 0..crate::registers::WHOLE),
            _ => {}
        }
        Some(())
    }

    pub(super) fn scatter(&mut self, ty: Type, index: Type) -> Option<()> {
        let count = self.form.bytes / ty.bytes().max(index.bytes());
        let addrs = self.scattered(index, count)?;
        let guards = self.guards(ty, count)?;
        let from = Source::Register(register(self.instr.op1_register())?);
        let values = self.builder.read_lanes(from, ty, count);
        for ((addr, guard), value) in addrs.into_iter().zip(guards).zip(values) {
            self.builder.guarded(Some(guard), |builder| builder.effect(Op::Store { addr, value }));
        }
        self.builder.forget(Reg::Mask(self.form.mask?));
        Some(())
    }

    pub(super) fn masked_move(&mut self, ty: Type) -> Option<()> {
        let count = self.form.bytes / ty.bytes();
        let addr = address(self.builder, self.instr)?;
        let guards = self.guards_of_vector(1, ty, count)?;
        let addrs: Vec<Addr> = (0..count).map(|lane| at(addr, ty.bytes() * lane)).collect();
        if self.instr.op0_kind() != OpKind::Memory {
            let results = self.loaded(ty, &addrs, &guards, None)?;
            return self.write_lanes(&results, ty.bytes(), false);
        }
        let from = Source::Register(register(self.instr.op2_register())?);
        let values = self.builder.read_lanes(from, ty, count);
        for ((addr, guard), value) in addrs.into_iter().zip(guards).zip(values) {
            self.builder.guarded(Some(guard), |builder| builder.effect(Op::Store { addr, value }));
        }
        Some(())
    }

    /// The lanes whose bits are set, side by side.
    pub(super) fn compress(&mut self, ty: Type) -> Option<()> {
        let count = self.form.bytes / ty.bytes();
        let from = Source::Register(register(self.instr.op1_register())?);
        let lanes = self.builder.read_lanes(from, ty, count);
        let Some(mask) = self.form.mask.take() else {
            return self.write_lanes(&lanes.into_iter().map(Some).collect::<Vec<_>>(), ty.bytes(), false);
        };
        let control = self.builder.mask(mask);
        let nth = |lane: usize, otherwise: Value| Op::Pick {
            control,
            rule: Rule::Nth(lane as u8),
            from: lanes.iter().copied().chain([otherwise]).collect(),
        };
        match operand(self.builder, self.instr, 0)? {
            Operand::Register(Reg::Vec(number)) => {
                let old = self.expanded_otherwise(Reg::Vec(number), ty, count);
                let results: Vec<Option<Value>> =
                    (0..count).map(|lane| Some(self.builder.value(ty, nth(lane, old[lane])))).collect();
                self.write_lanes(&results, ty.bytes(), false)
            }
            Operand::Memory { addr, .. } => {
                // Bits that belong to no lane do not count.
                let lanes_mask = self.builder.constant(Type::B64, (1 << count) - 1);
                let op = Op::Bitwise { op: BitOp::And, args: [control, lanes_mask] };
                let mask = self.builder.value(Type::B64, op);
                for lane in 0..count {
                    let value = self.builder.value(ty, nth(lane, lanes[0]));
                    let guard = Guard { mask, test: Test::MoreThan(lane as u8) };
                    let addr = at(addr, ty.bytes() * lane);
                    self.builder.guarded(Some(guard), |builder| builder.effect(Op::Store { addr, value }));
                }
                Some(())
            }
            _ => None,
        }
    }

    /// What the lanes become that get nothing.
    fn expanded_otherwise(&mut self, reg: Reg, ty: Type, count: usize) -> Vec<Value> {
        if self.form.zeroing {
            vec![self.builder.constant(ty, 0); count]
        } else {
            self.builder.read_lanes(Source::Register(reg), ty, count)
        }
    }

    /// Neighbouring elements to the lanes whose bits are set.
    pub(super) fn expand(&mut self, ty: Type) -> Option<()> {
        let count = self.form.bytes / ty.bytes();
        let destination = register(self.instr.op0_register())?;
        let mask = self.form.mask.take();
        let old = self.expanded_otherwise(destination, ty, count);
        let control = match mask {
            Some(mask) => self.builder.mask(mask),
            None => self.builder.constant(Type::B64, u64::MAX as u128),
        };
        // What each lane may take: the source's lanes, or those of memory, where the bits that arrived may have come from.
        let candidates: Vec<Vec<Value>> = match operand(self.builder, self.instr, 1)? {
            Operand::Register(reg) => vec![self.builder.read_lanes(Source::Register(reg), ty, count); count],
            Operand::Memory { addr, .. } => {
                let left = self.left(ty, count)?;
                let recall = |lowering: &mut Self, bits: Value, element: usize| {
                    let addr = at(addr, ty.bytes() * element);
                    lowering.builder.value(ty, Op::Recall { addr, bits })
                };
                left.into_iter()
                    .enumerate()
                    .map(|(lane, bits)| (0..=lane).map(|element| recall(self, bits, element)).collect())
                    .collect()
            }
            Operand::Immediate(_) => return None,
        };
        let mut results = Vec::new();
        for (lane, mut from) in candidates.into_iter().enumerate() {
            from.push(old[lane]);
            let op = Op::Pick { control, rule: Rule::Rank(lane as u8), from };
            results.push(Some(self.builder.value(ty, op)));
        }
        self.write_lanes(&results, ty.bytes(), false)
    }
}
