//! Writes the record that the emitted code would have written, from the states before and after each instruction, and says what
//! each value is that is logged, constant or only moved.

use super::cpu::{MEMORY, State};
use super::masked;
use fpgrind_ir::{Addr, Block, Op, Place, Reg, Type, Value, When};
use iced_x86::Instruction;

/// The NaN that instructions find in an empty x87 register (Intel SDM volume 1, 8.5.1.1).
const INDEFINITE: u128 = 0xffff << 64 | 3 << 62;

/// The machine at an instruction boundary.
#[derive(Clone)]
pub struct Moment {
    pub state: State,
    pub memory: [u8; MEMORY],
    pub memory_address: u64,
}

impl Moment {
    /// What lies from a place to the end of its register, but not more than sixteen bytes of it.
    pub fn place(&self, place: Place) -> u128 {
        let bits = match place.reg {
            Reg::Vec(number) => return self.state.vector(place, number),
            Reg::Gpr(number) => self.state.general[number as usize] as u128,
            Reg::Mask(number) => self.state.masks[number as usize] as u128,
            Reg::Mxcsr => self.state.mxcsr as u128,
            Reg::Sum { base, index, scale } => {
                let [base, index] = [base, index].map(|number| self.state.general[number as usize]);
                base.wrapping_add(index.wrapping_mul(scale as u64)) as u128
            }
            Reg::X87Control => self.state.fpu.control as u128,
            reg => panic!("{reg} is not to be read off the machine: no instruction of the test needs that"),
        };
        bits >> (8 * place.offset as u32)
    }

    /// Sixteen bytes of memory; less is asked for by those who need less.
    pub fn load(&self, address: u64) -> u128 {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(self.slice(address, 16));
        u128::from_le_bytes(bytes)
    }

    pub fn slice(&self, address: u64, length: usize) -> &[u8] {
        let at = self.offset(address);
        self.memory.get(at..at + length).unwrap_or_else(|| panic!("{length} bytes at {at:#x} of the operand memory"))
    }

    pub fn offset(&self, address: u64) -> usize {
        address.checked_sub(self.memory_address).expect("an address below the operand memory") as usize
    }
}

/// What a block logs and moves in a run.
pub struct Evaluation {
    /// The bits of each value that is logged, constant or moved; nothing for what is computed, or does not take place.
    pub values: Vec<Option<u128>>,
    /// Whether each statement takes place: its guard holds. Nothing if the guard's mask is computed.
    pub happens: Vec<Option<bool>>,
    pub record: Vec<u8>,
}

impl Evaluation {
    /// `moments[i]` is the machine before instruction `i`, the last one that after all of them.
    pub fn new(number: u32, block: &Block, instrs: &[Instruction], moments: &[Moment]) -> Evaluation {
        let mut evaluation =
            Evaluation { values: Vec::new(), happens: Vec::new(), record: vec![0; block.record as usize] };
        if block.record > 0 {
            evaluation.record[..4].copy_from_slice(&number.to_le_bytes());
        }
        for stmt in &block.stmts {
            let moment = &moments[stmt.instr as usize + (stmt.when == When::After) as usize];
            let instr = instrs.get(stmt.instr as usize);
            if let (Op::Image { slot, .. }, true) = (&stmt.op, block.record > 0) {
                evaluation.record[slot.0 as usize..][..512].copy_from_slice(&moment.state.image());
            }
            let bits = match &stmt.op {
                Op::Live { place, .. } | Op::Fresh { place, .. } | Op::Check { place, .. } => Some(match place.reg {
                    Reg::Operand => masked::operand(instr.expect("an instruction"), moment, place.offset),
                    _ => moment.place(*place),
                }),
                Op::Load { addr, .. } => Some(evaluation.load(block, moment, addr, stmt.ty)),
                Op::St { image, index, .. } => {
                    let taken = &block.stmts[image.index()];
                    let moment = &moments[taken.instr as usize + (taken.when == When::After) as usize];
                    let fpu = &moment.state.fpu;
                    Some(if fpu.is_empty(*index) { INDEFINITE } else { fpu.st(*index) })
                }
                op => evaluation.moved(block, op),
            };
            if let (Some(slot), Some(bits), true) = (stmt.op.slot(), bits, block.record > 0) {
                let length = block.logged_bytes(stmt).unwrap();
                evaluation.record[slot.0 as usize..][..length].copy_from_slice(&bits.to_le_bytes()[..length]);
            }
            let bytes = stmt.ty.map_or(0, |ty| ty.bytes());
            let happens = stmt.guard.map_or(Some(true), |guard| {
                evaluation.values[guard.mask.index()].map(|mask| guard.test.holds(mask as u64))
            });
            evaluation.values.push(bits.filter(|_| happens == Some(true)).map(|bits| truncate(bits, bytes)));
            evaluation.happens.push(happens);
        }
        evaluation
    }

    /// A value that only moves others.
    fn moved(&self, block: &Block, op: &Op) -> Option<u128> {
        let bits = |value: &Value| self.values[value.index()];
        match op {
            Op::Const { bits } => Some(*bits),
            Op::Extract { from, granule } => Some(bits(from)? >> (32 * *granule as u32)),
            Op::Half { from, granule, upper } => Some(bits(from)? >> (32 * *granule as u32 + 16 * *upper as u32)),
            Op::Concat { parts } => parts.iter().rev().try_fold(0, |above: u128, part| {
                let width = 8 * block.type_of(*part).unwrap().bytes() as u32;
                Some(above.checked_shl(width).unwrap_or(0) | bits(part)?)
            }),
            Op::Bitwise { op, args: [a, b] } => Some(op.apply(bits(a)?, bits(b)?)),
            Op::Pick { control, rule, from } => bits(&from[rule.pick(bits(control)? as u64, from.len())]),
            Op::Recall { bits: value, .. } | Op::Among { bits: value, .. } | Op::Rescale { bits: value, .. } => {
                bits(value)
            }
            Op::Apply { result: Some(result), .. } => bits(result),
            _ => None,
        }
    }

    fn load(&self, block: &Block, moment: &Moment, addr: &Addr, ty: Option<Type>) -> u128 {
        let mut bytes = [0; 16];
        let length = ty.map_or(0, |ty| ty.bytes());
        bytes[..length].copy_from_slice(moment.slice(self.address(block, addr), length));
        u128::from_le_bytes(bytes)
    }

    pub fn address(&self, block: &Block, addr: &Addr) -> u64 {
        let bits = |value: Value| self.values[value.index()].expect("an address is made of logged values") as u64;
        let part = |value: Option<Value>| value.map_or(0, bits);
        let index = addr.index.map_or(0, |(value, scale)| {
            let index = match block.type_of(value) {
                Some(Type::B32) => bits(value) as i32 as u64,
                _ => bits(value),
            };
            index.wrapping_mul(scale as u64)
        });
        part(addr.segment).wrapping_add(part(addr.base)).wrapping_add(index).wrapping_add(addr.disp as u64)
    }
}

pub fn truncate(bits: u128, bytes: usize) -> u128 {
    if bytes == 16 { bits } else { bits & ((1 << (8 * bytes)) - 1) }
}
