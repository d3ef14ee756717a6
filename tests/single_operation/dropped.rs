//! What a block may drop although its instruction is lifted. All else must be followed.

use super::check::loads_top;
use super::forms::name;
use super::record::Moment;
use fpgrind_frontend_x86::{Coverage, coverage};
use fpgrind_ir::{Block, Op, Place, Reg};
use iced_x86::{Instruction, Mnemonic};

/// Instructions whose results are not followed: those that the frontend says so of, and a few forms.
pub fn may_drop(instr: &Instruction, block: &Block) -> bool {
    let (name, immediate) = (name(instr.code()), instr.immediate8());
    let name = name.trim_start_matches('v');
    // Moves by less than a granule.
    let torn = match () {
        _ if name.starts_with("pslldq") || name.starts_with("psrldq") => immediate < 16 && immediate % 4 != 0,
        _ if name.starts_with("palignr") => immediate < 32 && immediate % 4 != 0,
        _ if name.starts_with("pblendw") => (0..4).any(|granule| matches!(immediate >> (2 * granule) & 3, 1 | 2)),
        _ => false,
    };
    let by_control = name.starts_with("perm") && !name.ends_with("imm8");
    // Integers are not followed: what a conversion makes of floats, and what `fbld` reads.
    let integers = block.stmts.iter().any(|stmt| matches!(stmt.op, Op::ToInt { .. }));
    let integers = integers || instr.mnemonic() == Mnemonic::Fbld;
    coverage(instr.code()) != Coverage::Lifted || torn || by_control || integers || loads_top(instr)
}

/// May this be dropped although the rest of the result is followed? What a scalar instruction carries along above its result,
/// and an upper part that is zero.
pub fn may_drop_part(instr: &Instruction, place: Place, bytes: usize, after: &Moment) -> bool {
    let Reg::Vec(number) = place.reg else { return false };
    let mnemonic = format!("{:?}", instr.mnemonic());
    let result = match () {
        _ if mnemonic.starts_with('V') && mnemonic.ends_with("sh") => 4,
        _ if mnemonic.starts_with('V') && mnemonic.ends_with("ss") => 4,
        _ if mnemonic.starts_with('V') && mnemonic.ends_with("sd") => 8,
        _ => 16,
    };
    // What lies above sixteen bytes may be dropped if it is zero.
    let bytes_after = after.state.vectors[number as usize].map(u128::to_le_bytes);
    let end = place.offset as usize + bytes;
    let upper_is_zero =
        bytes_after.as_flattened()[..end].iter().skip(place.offset.max(16) as usize).all(|byte| *byte == 0);
    place.offset >= result && upper_is_zero
}
