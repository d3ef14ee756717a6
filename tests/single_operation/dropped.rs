//! What a block may drop although its instruction is lifted. All else must be followed.

use super::forms::name;
use super::record::Moment;
use fpgrind_frontend_x86::lifted;
use fpgrind_ir::{Place, Reg};
use iced_x86::{Code, Instruction};

/// What the frontend makes of an encoding. To be replaced by the frontend's own word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(dead_code)]
pub enum Coverage {
    Lifted,
    /// Its results are taken as they come.
    Leaf(&'static str),
    Dropped(&'static str),
    Irrelevant,
    Missing,
}

pub fn coverage(code: Code) -> Coverage {
    let name = name(code);
    let name = name.trim_start_matches('v');
    let leaves =
        ["cvtsi2", "cvtdq2", "cvtpi2", "cvtpd2dq", "cvtps2dq", "cvttpd2dq", "cvttps2dq", "rcp", "rsqrt", "fbld"];
    match () {
        _ if leaves.iter().any(|prefix| name.starts_with(prefix)) => Coverage::Leaf("made of integers, or approximate"),
        _ if name.contains("rstor") => Coverage::Dropped("all registers at once"),
        _ if lifted(code) => Coverage::Lifted,
        _ => Coverage::Missing,
    }
}

/// Instructions whose results are not followed: those that the frontend says so of, and a few forms.
pub fn may_drop(instr: &Instruction) -> bool {
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
    coverage(instr.code()) != Coverage::Lifted || torn || by_control
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
    let upper_is_zero = after.state.vectors[number as usize][1..].iter().all(|quarter| *quarter == 0);
    let end = place.offset as usize + bytes;
    place.offset >= result && (end <= 16 || upper_is_zero)
}
