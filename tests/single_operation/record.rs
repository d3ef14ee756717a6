//! Writes the record that the emitted code would have written, from the states before and after each instruction.

use super::cpu::{MEMORY, State};
use fpgrind_ir::{Addr, Block, Op, Place, Reg, Value, When};

/// The machine at an instruction boundary.
#[derive(Clone)]
pub struct Moment {
    pub state: State,
    pub memory: [u8; MEMORY],
    pub memory_address: u64,
}

impl Moment {
    /// What lies from a place to the end of its register.
    /// But not more than sixteen bytes of it.
    pub fn place(&self, place: Place) -> u128 {
        let bits = match place.reg {
            Reg::Vec(number) => {
                let [low, high] = self.state.vectors[number as usize];
                let shift = 8 * (place.offset as u32 % 16);
                let above = if place.offset < 16 { high } else { 0 };
                let bits = if place.offset < 16 { low } else { high };
                return bits >> shift | above.checked_shl(128 - shift).unwrap_or(0);
            }
            Reg::Gpr(number) => self.state.general[number as usize] as u128,
            Reg::Mxcsr => self.state.mxcsr as u128,
            _ => panic!("no instruction of the test is thread-local or a call"),
        };
        bits >> (8 * place.offset as u32)
    }

    /// Sixteen bytes of memory; less is asked for by those who need less.
    pub fn load(&self, address: u64) -> u128 {
        let at = address.checked_sub(self.memory_address).expect("an address below the operand memory") as usize;
        u128::from_le_bytes(self.memory[at..at + 16].try_into().unwrap())
    }
}

/// `moments[i]` is the machine before instruction `i`, the last one that after all of them.
pub fn write(number: u32, block: &Block, moments: &[Moment]) -> Vec<u8> {
    let mut record = vec![0; block.record as usize];
    if record.is_empty() {
        return record;
    }
    record[..4].copy_from_slice(&number.to_le_bytes());
    // The logged value of each statement: addresses are made of them.
    let mut logged = vec![0u128; block.stmts.len()];
    for (index, stmt) in block.stmts.iter().enumerate() {
        let moment = &moments[stmt.instr as usize + (stmt.when == When::After) as usize];
        let bits = match &stmt.op {
            Op::Live { place, .. } | Op::Fresh { place, .. } | Op::Check { place, .. } => moment.place(*place),
            Op::Load { addr, .. } => moment.load(address(addr, &logged)),
            _ => continue,
        };
        logged[index] = bits;
        let bytes = block.logged_bytes(stmt).unwrap();
        let at = stmt.op.slot().unwrap().0 as usize;
        record[at..at + bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
    }
    record
}

pub fn address(addr: &Addr, logged: &[u128]) -> u64 {
    let part = |value: Option<Value>| value.map_or(0, |value| logged[value.index()] as u64);
    let index = addr.index.map_or(0, |(value, scale)| (logged[value.index()] as u64).wrapping_mul(scale as u64));
    part(addr.segment).wrapping_add(part(addr.base)).wrapping_add(index).wrapping_add(addr.disp as u64)
}
