//! Functions that show floats to the outside, and which floats a call of one shows.

use crate::call::VarArgs;
use crate::format::{self, Kind};
use crate::{CallState, Memory, unversioned};
use fpgrind_analysis::log::OutputArg;
use fpgrind_ir::Type;

/// An output function of the printf family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFunction {
    /// Index into [`OUTPUT_NAMES`]: a function and its fortified form have one name.
    pub number: u32,
    /// Which integer argument is the format, from 0. The arguments to print come behind it.
    pub format: u8,
    pub passing: Passing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// As `...`.
    Variadic,
    /// As one `va_list`.
    VaList,
}

impl OutputFunction {
    /// The name as the user knows it.
    pub fn name(self) -> &'static str {
        OUTPUT_NAMES.get(self.number as usize).copied().unwrap_or("output")
    }
}

/// The names of the output functions, by number.
pub const OUTPUT_NAMES: &[&str] = &[
    "printf",
    "fprintf",
    "dprintf",
    "sprintf",
    "snprintf",
    "asprintf",
    "vprintf",
    "vfprintf",
    "vdprintf",
    "vsprintf",
    "vsnprintf",
    "vasprintf",
];

/// The number of each function's format argument, by the function's name, plain and fortified. The fortified forms,
/// `__NAME_chk`, have a flag before the format, and a buffer's size where there is a buffer (Linux Standard Base 5.0).
const FORMATS: &[(&str, u8, u8)] = &[
    ("printf", 0, 1),
    ("fprintf", 1, 2),
    ("dprintf", 1, 2),
    ("sprintf", 1, 3),
    ("snprintf", 2, 4),
    ("asprintf", 1, 2),
];

/// The output function with this symbol.
pub fn output(symbol: &str) -> Option<OutputFunction> {
    // glibc calls some of them by inner names as well: `_IO_printf`, `__fprintf`, `___vsnprintf`.
    let symbol = unversioned(symbol);
    let inner = symbol.strip_prefix("_IO_").unwrap_or_else(|| symbol.trim_start_matches('_'));
    let (name, fortified) = match inner.strip_suffix("_chk") {
        Some(name) if symbol != inner => (name, true),
        _ => (inner, false),
    };
    let number = OUTPUT_NAMES.iter().position(|known| *known == name)? as u32;
    let (base, passing) = match name.strip_prefix('v') {
        Some(base) => (base, Passing::VaList),
        None => (name, Passing::Variadic),
    };
    let (_, plain, checked) = FORMATS.iter().find(|(known, ..)| *known == base)?;
    Some(OutputFunction { number, format: if fortified { *checked } else { *plain }, passing })
}

/// What a call of an output function shows: the call's return address and the floats. What cannot be read is left out;
/// a return address that cannot be read is 0.
pub fn output_call(function: &OutputFunction, call: &CallState, memory: &Memory) -> (u64, Vec<OutputArg>) {
    let return_address = call.return_address(memory).unwrap_or(0);
    let format = call.integer(function.format, memory).map(|address| read_string(address, memory));
    let args = format.map_or(Vec::new(), |format| arguments(&format, function, call, memory));
    (return_address, args)
}

/// The floats among the arguments of a call with this format, as far as they can be read.
pub fn arguments(format: &[u8], function: &OutputFunction, call: &CallState, memory: &Memory) -> Vec<OutputArg> {
    let behind_format = function.format + 1;
    let list = match function.passing {
        Passing::Variadic => Some(VarArgs::of_call(call, behind_format, memory)),
        Passing::VaList => call.integer(behind_format, memory).and_then(|address| VarArgs::of_va_list(address, memory)),
    };
    let mut found = Vec::new();
    let Some(mut list) = list else { return found };
    for argument in format::parse(format) {
        match argument.kind {
            Kind::Integer => list.skip_integer(),
            Kind::LongDouble => {
                let Some((bits, origin)) = list.long_double() else { break };
                found.push(OutputArg { ty: Type::F80, bits, origin, conversion: argument.conversion });
            }
            Kind::Double => {
                let Some((bits, origin)) = list.double() else { break };
                found.push(OutputArg { ty: Type::F64, bits: bits.into(), origin, conversion: argument.conversion });
            }
        }
    }
    found
}

const MAX_FORMAT: usize = 64 << 10;
/// Divides a page, so that a piece never reaches into a page that the string does not.
const PIECE: u64 = 256;

/// The bytes from an address up to a NUL, to memory that cannot be read, or to [`MAX_FORMAT`].
fn read_string(mut address: u64, memory: &Memory) -> Vec<u8> {
    let mut string = Vec::new();
    while string.len() < MAX_FORMAT {
        let mut piece = [0; PIECE as usize];
        let piece = &mut piece[..(PIECE - address % PIECE) as usize];
        if !memory(address, piece) {
            break;
        }
        match piece.iter().position(|byte| *byte == 0) {
            Some(end) => {
                string.extend(&piece[..end]);
                break;
            }
            None => string.extend(&*piece),
        }
        address = address.wrapping_add(piece.len() as u64);
    }
    string.truncate(MAX_FORMAT);
    string
}

#[cfg(test)]
#[path = "outputs_tests.rs"]
mod tests;
