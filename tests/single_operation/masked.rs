//! The memory operand of an instruction under a mask, as the instruction sees it: `Reg::Operand`.

use super::record::Moment;
use iced_x86::{Instruction, Mnemonic, Register};

/// Sixteen bytes of it from an offset on. The i-th element in memory is there if the i-th bit of the mask is set; an element that is
/// broadcast is there in every place whose bit is set.
pub fn operand(instr: &Instruction, moment: &Moment, offset: u8) -> u128 {
    let size = instr.memory_size();
    let (width, count) = match instr.is_broadcast() {
        true => (size.size(), broadcast_bytes(instr) / size.size()),
        false => (size.element_size(), size.element_count()),
    };
    let address = address(instr, moment);
    let mask = mask(instr, moment, width);
    let mut bytes = [0; 64];
    for element in (0..count).filter(|element| mask >> element & 1 == 1) {
        let from = if instr.is_broadcast() { 0 } else { element * width };
        bytes[element * width..][..width].copy_from_slice(moment.slice(address + from as u64, width));
    }
    u128::from_le_bytes(bytes[offset as usize..][..16].try_into().unwrap())
}

/// Bytes of the operand once the broadcast is done: those that it has without one.
fn broadcast_bytes(instr: &Instruction) -> usize {
    instr.op_code().memory_size().size()
}

fn mask(instr: &Instruction, moment: &Moment, width: usize) -> u64 {
    if instr.has_op_mask() {
        return moment.state.masks[instr.op_mask().number()];
    }
    match instr.mnemonic() {
        // Their mask is in the signs of a vector's elements: the first source.
        Mnemonic::Vmaskmovps | Mnemonic::Vmaskmovpd | Mnemonic::Vpmaskmovd | Mnemonic::Vpmaskmovq => {
            let vector = moment.state.vectors[instr.op1_register().number()].map(u128::to_le_bytes);
            let signs = vector.as_flattened().chunks(width).map(|element| element[width - 1] >> 7);
            signs.enumerate().fold(0, |mask, (element, sign)| mask | (sign as u64) << element)
        }
        _ => u64::MAX,
    }
}

/// Where the operand is. The test uses no segment and no addresses of 32 bits.
pub fn address(instr: &Instruction, moment: &Moment) -> u64 {
    let register = |register: Register| match register {
        Register::None => 0,
        _ => moment.state.general[register.number()],
    };
    if instr.is_ip_rel_memory_operand() {
        return instr.ip_rel_memory_address();
    }
    register(instr.memory_base())
        .wrapping_add(register(instr.memory_index()).wrapping_mul(instr.memory_index_scale() as u64))
        .wrapping_add(instr.memory_displacement64())
}
