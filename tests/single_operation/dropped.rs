//! What a block may drop although its instruction is lifted. All else must be followed.

use super::forms::name;
use super::record::Moment;
use fpgrind_ir::Place;
use iced_x86::Instruction;

/// Instructions whose results are not followed: made from integers, by approximation, or all registers at once.
pub fn may_drop(instr: &Instruction) -> bool {
    let (name, immediate) = (name(instr.code()), instr.immediate8());
    let name = name.trim_start_matches('v');
    let prefixes = ["cvtsi2", "cvtdq2", "cvtpi2", "cvtpd2dq", "cvtps2dq", "cvttpd2dq", "cvttps2dq", "rcp", "rsqrt"];
    // Moves by less than a granule.
    let torn = match () {
        _ if name.starts_with("pslldq") || name.starts_with("psrldq") => immediate < 16 && immediate % 4 != 0,
        _ if name.starts_with("palignr") => immediate < 32 && immediate % 4 != 0,
        _ if name.starts_with("pblendw") => (0..4).any(|granule| matches!(immediate >> (2 * granule) & 3, 1 | 2)),
        _ => false,
    };
    let by_control = name.starts_with("perm") && !name.ends_with("imm8");
    prefixes.iter().any(|prefix| name.starts_with(prefix)) || name.contains("rstor") || torn || by_control
}

/// May this be dropped although the rest of the result is followed? What a scalar instruction carries along above its result,
/// and an upper half that is zero.
pub fn may_drop_part(instr: &Instruction, place: Place, bytes: usize, after: &Moment) -> bool {
    let mnemonic = format!("{:?}", instr.mnemonic());
    let result = match () {
        _ if mnemonic.starts_with('V') && mnemonic.ends_with("ss") => 4,
        _ if mnemonic.starts_with('V') && mnemonic.ends_with("sd") => 8,
        _ => 16,
    };
    let upper_is_zero = after.place(Place { offset: 16, ..place }) == 0;
    let end = place.offset as usize + bytes;
    place.offset >= result && (end <= 16 || upper_is_zero)
}
