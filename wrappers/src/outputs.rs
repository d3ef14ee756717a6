//! Functions that show floats to the outside, and which floats a call of one shows. An output is an output whichever library prints
//! it.

use crate::call::{VarArgs, read_u128};
use crate::format::{self, Kind};
use crate::fortran::{self, Item};
use crate::mpi::{self, Message};
use crate::{CallState, Memory, unversioned};
use fpgrind_analysis::log::{Conversion, Origin, OutputArg};
use fpgrind_ir::Type;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputFunction {
    /// Index into [`OUTPUT_NAMES`]: several functions, such as one and its fortified form, have one name.
    pub number: u32,
    pub shows: Shows,
}

/// What a call shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// What a format asks for.
    Format(Format),
    /// The floats of this type that it is given by value, so many.
    Values(Type, u8),
    /// A float of this type that its first argument points to.
    Pointed(Type),
    /// What is in memory, as it is: at the address in this argument, so many bytes as this other says, times a third if there is one.
    Bytes { start: u8, size: u8, count: Option<u8> },
    /// The same of elements of a type of MPI's.
    Message(Message),
    /// Something that a Fortran program writes.
    Fortran(Item),
    /// Nothing yet: it looks at floats to find out how much room they will take.
    Nothing,
}

/// A format and what it formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Which integer argument is the format, from 0. The arguments to print come behind it.
    pub argument: u8,
    pub passing: Passing,
    /// Of `wchar_t`.
    pub wide: bool,
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
    "FPGRIND_OUTPUT",
    "printf",
    "fprintf",
    "dprintf",
    "sprintf",
    "snprintf",
    "asprintf",
    "obstack_printf",
    "vprintf",
    "vfprintf",
    "vdprintf",
    "vsprintf",
    "vsnprintf",
    "vasprintf",
    "obstack_vprintf",
    "wprintf",
    "fwprintf",
    "swprintf",
    "vwprintf",
    "vfwprintf",
    "vswprintf",
    "syslog",
    "vsyslog",
    "warn",
    "warnx",
    "vwarn",
    "vwarnx",
    "err",
    "errx",
    "verr",
    "verrx",
    "error",
    "strfrom",
    "ecvt",
    "fcvt",
    "gcvt",
    "operator<<",
    "to_chars",
    "write",
    "str",
    "print",
    "fmt",
    "fwrite",
    "ostream::write",
    "FormatFloat",
    "println",
    "toString",
    "mmap",
    "MPI_Send",
    "MPI_Bsend",
    "MPI_Ssend",
    "MPI_Rsend",
    "MPI_Isend",
    "MPI_Ibsend",
    "MPI_Issend",
    "MPI_Irsend",
    "MPI_Sendrecv",
    "MPI_Send_init",
    "MPI_Put",
    "MPI_Gather",
    "MPI_Allgather",
    "MPI_Alltoall",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_File_write",
    "MPI_File_write_all",
    "MPI_File_write_shared",
    "MPI_File_write_at",
    "MPI_File_write_at_all",
    "MPI_Isend",
    "MPI_Allreduce",
    "MPI_File_write_at",
];

/// The number of what a program marks as a result, by FPGRIND_OUTPUT.
pub fn marked() -> u32 {
    OUTPUT_NAMES.iter().position(|name| *name == "FPGRIND_OUTPUT").map_or(u32::MAX, |number| number as u32)
}

/// The number of what system calls write.
pub fn written() -> u32 {
    number_of("write")
}

/// The number of what is stored in files that are mapped.
pub fn mapped() -> u32 {
    number_of("mmap")
}

fn number_of(name: &str) -> u32 {
    OUTPUT_NAMES.iter().position(|known| *known == name).map_or(u32::MAX, |number| number as u32)
}

/// The number of each function's format argument, by the function's name, plain and fortified. The fortified forms,
/// `__NAME_chk`, have a flag before the format, and a buffer's size where there is a buffer (Linux Standard Base 5.0).
const FORMATS: &[(&str, u8, u8)] = &[
    ("printf", 0, 1),
    ("fprintf", 1, 2),
    ("dprintf", 1, 2),
    ("sprintf", 1, 3),
    ("snprintf", 2, 4),
    ("asprintf", 1, 2),
    ("obstack_printf", 1, 2),
    ("wprintf", 0, 1),
    ("fwprintf", 1, 2),
    ("swprintf", 2, 4),
    ("syslog", 1, 2),
    ("warn", 0, 0),
    ("warnx", 0, 0),
    ("err", 1, 1),
    ("errx", 1, 1),
    ("error", 2, 2),
];

/// Functions of the C library that take one float.
const VALUES: &[(&str, &str, Type)] = &[
    ("strfromd", "strfrom", Type::F64),
    ("strfromf", "strfrom", Type::F32),
    ("strfroml", "strfrom", Type::F80),
    ("strfromf32", "strfrom", Type::F32),
    ("strfromf64", "strfrom", Type::F64),
    ("strfromf32x", "strfrom", Type::F64),
    ("strfromf64x", "strfrom", Type::F80),
    ("strfromf128", "strfrom", Type::F128),
    ("ecvt", "ecvt", Type::F64),
    ("fcvt", "fcvt", Type::F64),
    ("gcvt", "gcvt", Type::F64),
    ("ecvt_r", "ecvt", Type::F64),
    ("fcvt_r", "fcvt", Type::F64),
    ("qecvt", "ecvt", Type::F80),
    ("qfcvt", "fcvt", Type::F80),
    ("qgcvt", "gcvt", Type::F80),
    ("qecvt_r", "ecvt", Type::F80),
    ("qfcvt_r", "fcvt", Type::F80),
];

const FWRITE: Shows = Shows::Bytes { start: 0, size: 1, count: Some(2) };
const STREAM_WRITE: Shows = Shows::Bytes { start: 1, size: 2, count: None };

/// Functions of other libraries, whose symbols nobody else uses.
const OTHERS: &[(&str, &str, Shows)] = &[
    ("_gfortran_transfer_real_write", "write", Shows::Fortran(Item::Real)),
    ("_gfortran_transfer_complex_write", "write", Shows::Fortran(Item::Complex)),
    ("_gfortran_transfer_array_write", "write", Shows::Fortran(Item::Array)),
    ("_gfortran_transfer_real128_write", "write", Shows::Fortran(Item::Real)),
    ("_gfortran_transfer_complex128_write", "write", Shows::Fortran(Item::Complex)),
    ("quadmath_snprintf", "snprintf", Shows::Format(Format { argument: 2, passing: Passing::Variadic, wide: false })),
    ("_ZNSo5writeEPKcl", "ostream::write", STREAM_WRITE),
    ("_ZNSt3__113basic_ostreamIcNS_11char_traitsIcEEE5writeEPKcl", "ostream::write", STREAM_WRITE),
    // Python: repr, str, format, % and print come here.
    ("PyOS_double_to_string", "str", Shows::Values(Type::F64, 1)),
    // Go since 1.17: fmt and strconv come here, with the number in the first vector register, and println there.
    ("strconv.genericFtoa", "FormatFloat", Shows::Values(Type::F64, 1)),
    ("runtime.printfloat", "println", Shows::Values(Type::F64, 1)),
    // V8: toString, toFixed and their like.
    ("_ZN2v84base13DoubleToAsciiEdNS0_8DtoaModeEiNS0_6VectorIcEEPiS4_S4_", "toString", Shows::Values(Type::F64, 1)),
    ("_ZN2v88internal13DoubleToAsciiEdNS0_8DtoaModeEiNS0_6VectorIcEEPiS4_S4_", "toString", Shows::Values(Type::F64, 1)),
    // R: a vector is looked at first, then each number is written.
    ("Rf_EncodeReal", "print", Shows::Values(Type::F64, 1)),
    ("Rf_EncodeReal0", "print", Shows::Values(Type::F64, 1)),
    ("Rf_EncodeReal2", "print", Shows::Values(Type::F64, 1)),
    ("Rf_EncodeComplex", "print", Shows::Values(Type::F64, 2)),
    ("Rf_formatReal", "print", Shows::Nothing),
    ("formatRealS", "print", Shows::Nothing),
    ("Rf_formatComplex", "print", Shows::Nothing),
    ("formatComplexS", "print", Shows::Nothing),
];

/// Members of C++'s output streams and functions beside them that take one float, up to the letter of its type in the mangled name:
/// libstdc++'s for `char` and `wchar_t`, then libc++'s.
const MANGLED: &[(&str, &str)] = &[
    ("_ZNSolsE", "operator<<"),
    ("_ZNSo9_M_insertI", "operator<<"),
    ("_ZNSt13basic_ostreamIwSt11char_traitsIwEElsE", "operator<<"),
    ("_ZNSt13basic_ostreamIwSt11char_traitsIwEE9_M_insertI", "operator<<"),
    ("_ZSt8to_charsPcS_", "to_chars"),
    ("_ZNSt3__113basic_ostreamIcNS_11char_traitsIcEEElsE", "operator<<"),
    ("_ZNSt3__113basic_ostreamIwNS_11char_traitsIwEEElsE", "operator<<"),
    ("_ZNSt3__18to_charsEPcS0_", "to_chars"),
];

fn named(name: &str, shows: Shows) -> Option<OutputFunction> {
    let number = OUTPUT_NAMES.iter().position(|known| *known == name)? as u32;
    Some(OutputFunction { number, shows })
}

/// The output function of the C library with this symbol.
pub fn output(symbol: &str) -> Option<OutputFunction> {
    let symbol = unversioned(symbol);
    if let Some((_, name, ty)) = VALUES.iter().find(|(known, ..)| *known == symbol) {
        return named(name, Shows::Values(*ty, 1));
    }
    if ["fwrite", "fwrite_unlocked", "_IO_fwrite"].contains(&symbol) {
        return named("fwrite", FWRITE);
    }
    // glibc calls some of them by inner names as well: `_IO_printf`, `__fprintf`, `___vsnprintf`.
    let inner = symbol.strip_prefix("_IO_").unwrap_or_else(|| symbol.trim_start_matches('_'));
    let (name, fortified) = match inner.strip_suffix("_chk") {
        Some(name) if symbol != inner => (name, true),
        _ => (inner, false),
    };
    let (base, passing) = match (name.strip_prefix('v'), name) {
        (Some(base), _) => (base, Passing::VaList),
        (None, "obstack_vprintf") => ("obstack_printf", Passing::VaList),
        (None, name) => (name, Passing::Variadic),
    };
    let (_, plain, checked) = FORMATS.iter().find(|(known, ..)| *known == base)?;
    let argument = if fortified { *checked } else { *plain };
    named(name, Shows::Format(Format { argument, passing, wide: base.ends_with("wprintf") }))
}

/// The output function of another library with this symbol. No program has such a symbol that means something else.
pub fn foreign_output(symbol: &str) -> Option<OutputFunction> {
    let symbol = unversioned(symbol);
    if let Some((_, name, shows)) = OTHERS.iter().find(|(known, ..)| *known == symbol) {
        return named(name, *shows);
    }
    if let Some(ty) = rust_formatter(symbol) {
        return named("fmt", Shows::Pointed(ty));
    }
    if let Some((name, message)) = mpi::message_of(symbol) {
        return named(name, Shows::Message(message));
    }
    if let Some(ty) = numpy_formatter(symbol) {
        return named("str", Shows::Pointed(ty));
    }
    let (rest, name) = MANGLED.iter().find_map(|(prefix, name)| Some((symbol.strip_prefix(prefix)?, name)))?;
    let ty = match rest.bytes().next()? {
        b'f' => Type::F32,
        b'd' => Type::F64,
        b'e' => Type::F80,
        b'g' => Type::F128,
        _ => return None,
    };
    named(name, Shows::Values(ty, 1))
}

/// The type of float that a function of Rust's `core` formats: `<f64 as Display>::fmt`, by either way of mangling names.
fn rust_formatter(symbol: &str) -> Option<Type> {
    let letter = if symbol.starts_with("_RNvX") {
        let (_, implementation) = symbol.split_once("_4core3fmt5float")?;
        let (letter, of_trait) = implementation.split_at_checked(1)?;
        (of_trait.starts_with("NtB") && of_trait.ends_with("3fmt")).then_some(letter)?
    } else {
        let (_, implementation) = symbol.strip_prefix("_ZN4core3fmt5float")?.split_once("$u20$for$u20$f")?;
        let (width, rest) = implementation.split_at_checked(2)?;
        rest.starts_with("$GT$3fmt17h").then_some(if width == "64" { "d" } else { "f" })?
    };
    match letter {
        "d" => Some(Type::F64),
        "f" => Some(Type::F32),
        _ => None,
    }
}

/// The type of float that a function of numpy formats, an array's element or a scalar: `Dragon4_Positional_Double_opt`.
fn numpy_formatter(symbol: &str) -> Option<Type> {
    let (_, ty) = symbol.strip_prefix("Dragon4_")?.split_once('_')?;
    match ty.strip_suffix("_opt").unwrap_or(ty) {
        "Float" => Some(Type::F32),
        "Double" => Some(Type::F64),
        "LongDouble" => Some(Type::F80),
        _ => None,
    }
}

/// The floats that a call of an output function shows. What cannot be read is left out.
pub fn output_call(function: &OutputFunction, call: &CallState, memory: &Memory) -> Vec<OutputArg> {
    match function.shows {
        Shows::Format(format) => {
            let text = call.integer(format.argument, memory).map(|address| read_format(address, format.wide, memory));
            text.map_or(Vec::new(), |text| arguments(&text, format, call, memory))
        }
        Shows::Values(ty, count) => (0..count).map_while(|number| value(ty, number, call, memory)).collect(),
        Shows::Pointed(ty) => {
            let pointed = || {
                let address = call.integer(0, memory)?;
                let (bits, origin) = (read_u128(memory, address, ty.bytes())?, Origin::Memory(address));
                Some(OutputArg { ty, bits, origin, argument: 0, conversion: Conversion::NONE })
            };
            pointed().into_iter().collect()
        }
        Shows::Fortran(item) => fortran::shown(item, call, memory),
        Shows::Bytes { .. } | Shows::Message(_) | Shows::Nothing => Vec::new(),
    }
}

/// The memory whose contents a call shows as they are: its address and length.
pub fn bytes_shown(function: &OutputFunction, call: &CallState, memory: &Memory) -> Option<(u64, u64)> {
    let argument = |number| call.integer(number, memory);
    let (start, size, count) = match function.shows {
        Shows::Bytes { start, size, count } => (start, argument(size)?, count.map_or(Some(1), argument)?),
        Shows::Message(Message { start, count, datatype }) => {
            let count = u64::try_from(argument(count)? as i32).ok()?;
            (start, mpi::element_size(argument(datatype)?, memory)?, count)
        }
        _ => return None,
    };
    Some((argument(start)?, size.checked_mul(count)?))
}

/// A float that is given by value.
fn value(ty: Type, number: u8, call: &CallState, memory: &Memory) -> Option<OutputArg> {
    let (bits, origin) = match ty {
        Type::F80 => VarArgs::of_call(call, 0, memory).long_double()?,
        _ => {
            let bits = *call.xmm.get(number as usize)? & (u128::MAX >> (128 - 8 * ty.bytes()));
            (bits, Origin::Register(number))
        }
    };
    Some(OutputArg { ty, bits, origin, argument: number.into(), conversion: Conversion::default() })
}

/// The floats among the arguments of a call with this format, as far as they can be read.
pub fn arguments(text: &[u8], format: Format, call: &CallState, memory: &Memory) -> Vec<OutputArg> {
    let behind_format = format.argument + 1;
    let list = match format.passing {
        Passing::Variadic => Some(VarArgs::of_call(call, behind_format, memory)),
        Passing::VaList => call.integer(behind_format, memory).and_then(|address| VarArgs::of_va_list(address, memory)),
    };
    let mut found = Vec::new();
    let Some(mut list) = list else { return found };
    for format::Argument { kind, conversion } in format::parse(text) {
        let float = match kind {
            Kind::Integer => {
                list.skip_integer();
                continue;
            }
            Kind::LongDouble => list.long_double().map(|(bits, origin)| (Type::F80, bits, origin)),
            Kind::Double => list.float(Type::F64).map(|(bits, origin)| (Type::F64, bits, origin)),
            Kind::Quad => list.float(Type::F128).map(|(bits, origin)| (Type::F128, bits, origin)),
        };
        let Some((ty, bits, origin)) = float else { break };
        found.push(OutputArg { ty, bits, origin, argument: found.len() as u32, conversion });
    }
    found
}

const MAX_FORMAT: usize = 64 << 10;
/// Divides a page, so that a piece never reaches into a page that the string does not.
const PIECE: u64 = 256;

/// The characters from an address up to a NUL, to memory that cannot be read, or to [`MAX_FORMAT`]. Wide ones that are not ASCII mean
/// nothing in a format, and become spaces.
fn read_format(mut address: u64, wide: bool, memory: &Memory) -> Vec<u8> {
    let mut string = Vec::new();
    if wide && !address.is_multiple_of(4) {
        return string;
    }
    while string.len() < MAX_FORMAT {
        let mut piece = [0; PIECE as usize];
        let piece = &mut piece[..(PIECE - address % PIECE) as usize];
        if !memory(address, piece) {
            break;
        }
        let characters: Vec<u8> = match wide {
            true => piece.chunks_exact(4).map(narrow).collect(),
            false => piece.to_vec(),
        };
        match characters.iter().position(|byte| *byte == 0) {
            Some(end) => {
                string.extend(&characters[..end]);
                break;
            }
            None => string.extend(characters),
        }
        address = address.wrapping_add(piece.len() as u64);
    }
    string.truncate(MAX_FORMAT);
    string
}

fn narrow(character: &[u8]) -> u8 {
    match character {
        [low, 0, 0, 0] => *low,
        _ => b' ',
    }
}

#[cfg(test)]
#[path = "outputs_tests.rs"]
mod tests;
