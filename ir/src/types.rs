//! Types of values and places in the machine's register file.

/// Bytes in a granule, the unit in which bits and their shadows move.
pub const GRANULE: usize = 4;

/// The NaN, an `F80`, that is read from an empty register of the x87, and that a push onto a full one leaves, while the exceptions for that
/// are masked (Intel SDM volume 1, "Stack Overflow or Underflow Exception").
pub const X87_INDEFINITE: u128 = 0xffff_c000_0000_0000_0000;

/// The type of a value. `B` types are opaque bits: any floats inside keep their shadows, but
/// no arithmetic is defined on them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// IEEE's half precision.
    F16,
    /// The upper half of a single.
    Bf16,
    F32,
    F64,
    /// The x87's format: ten bytes, of which the significand has eight.
    F80,
    /// IEEE's quadruple precision. No instruction knows it: compilers' libraries compute with it.
    F128,
    B16,
    B32,
    B64,
    B128,
    /// The outcome of a scalar comparison, as left in the flags.
    Flags,
    /// The state of the x87 unit at a moment. See [`Op::Image`](crate::Op::Image).
    Image,
}

impl Type {
    pub const ALL: [Type; 12] = [
        Type::F16,
        Type::Bf16,
        Type::F32,
        Type::F64,
        Type::F80,
        Type::F128,
        Type::B16,
        Type::B32,
        Type::B64,
        Type::B128,
        Type::Flags,
        Type::Image,
    ];

    /// Bytes of native bits; flags and images have none that could be moved.
    pub fn bytes(self) -> usize {
        match self {
            Type::F16 | Type::Bf16 | Type::B16 => 2,
            Type::F32 | Type::B32 => 4,
            Type::F64 | Type::B64 => 8,
            Type::F80 => 10,
            Type::F128 | Type::B128 => 16,
            Type::Flags | Type::Image => 0,
        }
    }

    /// Granules that the bytes reach into.
    pub fn granules(self) -> usize {
        self.bytes().div_ceil(GRANULE)
    }

    pub fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::Bf16 | Type::F32 | Type::F64 | Type::F80 | Type::F128)
    }

    /// The opaque type of so many bytes.
    pub fn bits_of(bytes: usize) -> Option<Type> {
        match bytes {
            2 => Some(Type::B16),
            4 => Some(Type::B32),
            8 => Some(Type::B64),
            16 => Some(Type::B128),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Type::F16 => "f16",
            Type::Bf16 => "bf16",
            Type::F32 => "f32",
            Type::F64 => "f64",
            Type::F80 => "f80",
            Type::F128 => "f128",
            Type::B16 => "b16",
            Type::B32 => "b32",
            Type::B64 => "b64",
            Type::B128 => "b128",
            Type::Flags => "flags",
            Type::Image => "image",
        }
    }
}

/// Pointers to results that a function can have: a sine and a cosine for each of sixteen lanes.
pub const MAX_OUT: u8 = 32;

/// A register that may hold, carry or address floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Reg {
    /// General registers in their hardware numbering: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8 to 15.
    Gpr(u8),
    /// Vector registers; `Vec(3)` is zmm3, whose lowest quarter is xmm3.
    Vec(u8),
    /// AVX-512's mask registers, k0 to k7: a bit for each lane.
    Mask(u8),
    /// The x87's registers, counted from the one that is on top of the stack when the block is entered: `X87(1)` is what
    /// st(1) is then, whatever it is called later in the block.
    X87(u8),
    /// The base of the FS segment: thread-local addresses start there.
    FsBase,
    /// Rounding mode, flush-to-zero and denormals-are-zero of SSE arithmetic.
    Mxcsr,
    /// The x87's control word: rounding mode and precision.
    X87Control,
    /// Not of the machine: a general register and a multiple of another, added. Most addresses need no more to be known of the two.
    Sum { base: u8, index: u8, scale: u8 },
    /// Not of the machine: the memory operand of an instruction under a mask, as the instruction sees it. Lanes that are masked out are
    /// not read, because that might fault; they are zero. An embedded broadcast has been done.
    Operand,
    /// Not of the machine: what of a wrapped function's arguments is wanted when it returns and their registers hold something else. Pointers to
    /// its results, numbered in the order of its arguments; or its first integers.
    Out(u8),
}

pub(crate) const GPR_NAMES: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

impl Reg {
    /// In whole granules.
    pub fn bytes(self) -> usize {
        match self {
            Reg::Gpr(_) | Reg::FsBase | Reg::Out(_) | Reg::Mask(_) | Reg::Sum { .. } => 8,
            Reg::Vec(_) | Reg::Operand => 64,
            Reg::X87(_) => 12,
            Reg::Mxcsr | Reg::X87Control => 4,
        }
    }

    /// A number within the machine.
    pub fn exists(self) -> bool {
        match self {
            Reg::Gpr(n) => n < 16,
            Reg::Vec(n) => n < 32,
            Reg::Mask(n) | Reg::X87(n) => n < 8,
            Reg::Sum { base, index, scale } => base < 16 && index < 16 && matches!(scale, 1 | 2 | 4 | 8),
            Reg::Out(n) => n < MAX_OUT,
            Reg::FsBase | Reg::Mxcsr | Reg::X87Control | Reg::Operand => true,
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
    pub fn whole(reg: Reg) -> Place {
        Place { reg, offset: 0 }
    }

    pub fn gpr(number: u8) -> Place {
        Place::whole(Reg::Gpr(number))
    }

    pub fn vec(number: u8, offset: u8) -> Place {
        Place { reg: Reg::Vec(number), offset }
    }
}
