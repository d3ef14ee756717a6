//! Types of values and places in the machine's register file.

/// Bytes in a granule, the unit in which bits and their shadows move.
pub const GRANULE: usize = 4;

/// The type of a value. `B` types are opaque bits: any floats inside keep their shadows, but
/// no arithmetic is defined on them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    F32,
    F64,
    B32,
    B64,
    B128,
    /// The outcome of a scalar comparison, as left in the flags.
    Flags,
}

impl Type {
    pub const ALL: [Type; 6] = [Type::F32, Type::F64, Type::B32, Type::B64, Type::B128, Type::Flags];

    /// Bytes of native bits; flags have none.
    pub fn bytes(self) -> usize {
        match self {
            Type::F32 | Type::B32 => 4,
            Type::F64 | Type::B64 => 8,
            Type::B128 => 16,
            Type::Flags => 0,
        }
    }

    pub fn granules(self) -> usize {
        self.bytes() / GRANULE
    }

    pub fn is_float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }

    /// The opaque type of so many bytes.
    pub fn bits_of(bytes: usize) -> Option<Type> {
        match bytes {
            4 => Some(Type::B32),
            8 => Some(Type::B64),
            16 => Some(Type::B128),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::B32 => "b32",
            Type::B64 => "b64",
            Type::B128 => "b128",
            Type::Flags => "flags",
        }
    }
}

/// A register that may hold, carry or address floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Reg {
    /// General registers in their hardware numbering: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8 to 15.
    Gpr(u8),
    /// Vector registers; `Vec(3)` is ymm3, whose lower half is xmm3.
    Vec(u8),
    /// The base of the FS segment: thread-local addresses start there.
    FsBase,
    /// Rounding mode, flush-to-zero and denormals-are-zero of SSE arithmetic.
    Mxcsr,
    /// Not of the machine: the pointers to its results, 0 and 1, that a wrapped function was given as its first integer
    /// arguments. When it returns, their registers hold something else.
    Out(u8),
}

pub(crate) const GPR_NAMES: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

impl Reg {
    pub fn bytes(self) -> usize {
        match self {
            Reg::Gpr(_) | Reg::FsBase | Reg::Out(_) => 8,
            Reg::Vec(_) => 32,
            Reg::Mxcsr => 4,
        }
    }

    /// A number within the machine.
    pub fn exists(self) -> bool {
        match self {
            Reg::Gpr(n) | Reg::Vec(n) => n < 16,
            Reg::Out(n) => n < 2,
            Reg::FsBase | Reg::Mxcsr => true,
        }
    }
}

/// Where in the register file a value lies: a register and a byte offset in it, a multiple of [`GRANULE`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Place {
    pub reg: Reg,
    pub offset: u8,
}

impl Place {
    pub fn gpr(number: u8) -> Place {
        Place { reg: Reg::Gpr(number), offset: 0 }
    }

    pub fn vec(number: u8, offset: u8) -> Place {
        Place { reg: Reg::Vec(number), offset }
    }
}
