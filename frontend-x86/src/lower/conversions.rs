//! Conversions between formats, to integers and from them.

use super::Lowering;
use super::arithmetic::rounding_of;
use crate::operands::{Operand, operand};
use crate::tables::Lanes;
use fpgrind_ir::{Op, Operator, Rounding, Type, Value};
use iced_x86::{Mnemonic, OpKind};

impl Lowering<'_> {
    pub(super) fn cast(&mut self, from: Type, to: Type, scalar: bool) -> Option<()> {
        let count = if scalar { 1 } else { self.form.bytes / from.bytes().max(to.bytes()) };
        let args = self.arguments(1, from.bytes())?;
        let rounding = match self.instr.mnemonic() {
            Mnemonic::Vcvtps2ph => rounding_of(self.instr.immediate8()),
            _ if to == Type::Bf16 => Rounding::Nearest,
            _ => self.form.rounding,
        };
        // What is narrowed to two bytes is taken from the CPU where it lies in a register.
        let left = if to.bytes() == 2 { self.left(to, count) } else { None };
        let results = self.lanewise(&args, from, count, |builder, lane, args| {
            let result = left.as_ref().map(|left| left[lane]);
            builder.value(to, Op::Apply { operator: Operator::Cast, args, rounding, result })
        });
        self.write_lanes(&results, to.bytes(), scalar)
    }

    /// From memory; one element alone serves all lanes.
    pub(super) fn cast_every_second(&mut self, from: Type, to: Type, odd: bool) -> Option<()> {
        let count = self.form.bytes / to.bytes();
        let one = matches!(operand(self.builder, self.instr, 1)?, Operand::Memory { bytes: 2, .. });
        let arg = self.arguments(1, from.bytes())?[0];
        let mut results = Vec::new();
        for lane in 0..count {
            let element = if one { 0 } else { 2 * lane + odd as usize };
            let args = vec![self.builder.read_lane(arg, element, from)];
            let op = Op::Apply { operator: Operator::Cast, args, rounding: self.form.rounding, result: None };
            results.push(Some(self.builder.value(to, op)));
        }
        self.write_lanes(&results, to.bytes(), false)
    }

    pub(super) fn cast_two(&mut self, from: Type, to: Type) -> Option<()> {
        let count = self.form.bytes / to.bytes();
        // The mask is one of the results' lanes: memory, which is the second argument, is read as a whole.
        let args = [2, 1].map(|number| crate::operands::source(self.builder, self.instr, number, self.options));
        let left = self.left(to, count)?;
        let mut results = Vec::new();
        for (half, arg) in args.into_iter().enumerate() {
            for (lane, value) in self.builder.read_lanes(arg?, from, count / 2).into_iter().enumerate() {
                let lane = half * count / 2 + lane;
                let guard = self.form.guard(self.builder, lane);
                let (args, result) = (vec![value], Some(left[lane]));
                let op = Op::Apply { operator: Operator::Cast, args, rounding: Rounding::Nearest, result };
                results.push(Some(self.builder.guarded(guard, |builder| builder.value(to, op))));
            }
        }
        self.write_lanes(&results, to.bytes(), false)
    }

    pub(super) fn integers(&mut self, lanes: Lanes, bytes: u8, rounding: Rounding, signed: bool) -> Option<()> {
        let general = self.instr.op0_register().is_gpr();
        let bytes = if general { self.instr.op0_register().size() as u8 } else { bytes };
        let rounding = match (rounding, self.form.rounding) {
            (Rounding::Current, embedded) => embedded,
            (rounding, _) => rounding,
        };
        let count = if lanes.scalar { 1 } else { self.form.bytes / lanes.ty.bytes().max(bytes as usize) };
        let arg = self.arguments(1, lanes.ty.bytes())?[0];
        for (lane, value) in self.builder.read_lanes(arg, lanes.ty, count).into_iter().enumerate() {
            let guard = self.form.guard(self.builder, lane);
            self.builder.guarded(guard, |builder| builder.effect(Op::ToInt { value, rounding, bytes, signed }));
        }
        self.write_lanes(&vec![None; count], bytes as usize, false)
    }

    /// So many lanes of something that has no history, made of elements of so many bytes.
    pub(super) fn leaf(&mut self, lanes: Lanes, of: usize) -> Option<()> {
        let count = if lanes.scalar { 1 } else { self.form.bytes / lanes.ty.bytes().max(of) };
        let results: Vec<Option<Value>> = vec![None; count];
        let in_memory = self.instr.op0_kind() == OpKind::Memory;
        (!in_memory).then(|| self.write_lanes(&results, lanes.ty.bytes(), lanes.scalar))?
    }
}
