//! What compiled blocks have in common: the operations, and filling lanes. There is much of it, so it is there once, and stays in the caches.
//!
//! A routine sets the carry flag if it is not the common case. It has changed nothing then.

use super::arithmetic::NUMBERS;
use super::*;
use crate::engine;
use crate::pages::{PAGE, RECENT, Recent, Slots};
use fpgrind_ir::GRANULE;
use std::marker::PhantomData;
use std::ptr::null;

/// The routines' numbers: first those of the operations on doubles, then on singles.
pub const LOAD: usize = 2 * PLAIN.len();
pub const FILL: usize = LOAD + 1;
pub const READY: usize = FILL + 1;
pub const READY_SINGLE: usize = READY + 1;
const COUNT: usize = READY_SINGLE + 1;

/// The number of an operation on floats of a type.
pub fn number_of(operator: Operator, ty: Type) -> usize {
    let operation = PLAIN.iter().position(|plain| *plain == operator).unwrap_or(0);
    operation + if ty == Type::F32 { PLAIN.len() } else { 0 }
}

/// Where each begins. They belong to operations, at whose side they lie.
pub struct Routines<R> {
    pub table: [*const u8; COUNT],
    /// What the results of each operation look like.
    pub examples: [Node<R>; 2 * PLAIN.len()],
    code: Option<ExecutableBuffer>,
}

impl<R: Real> Routines<R> {
    /// None where the CPU cannot run them, or reals are not made for them.
    pub fn new(tolerated: u64, settles: bool) -> Routines<R> {
        let examples = std::array::from_fn(|number| {
            let ty = if number < PLAIN.len() { Type::F64 } else { Type::F32 };
            Node::example(PLAIN[number % PLAIN.len()], ty)
        });
        let made =
            R::BEYOND_PAIRS.filter(|_| engine::has_fma()).and_then(|big| Maker::<R>::make(big, tolerated, settles));
        let table = made.as_ref().map_or([null(); COUNT], |(code, starts)| starts.map(|start| code.ptr(start)));
        Routines { table, examples, code: made.map(|(code, _)| code) }
    }

    pub fn are_there(&self) -> bool {
        self.code.is_some()
    }
}

/// Where the last eight bytes of such an operation's nodes are to be had, from rbx.
pub fn example<R: Real>(operator: Operator, ty: Type) -> i32 {
    let node = offset_of!(Operations<R>, routines.examples) + number_of(operator, ty) * size_of::<Node<R>>();
    (node + offset_of!(Node<R>, operator)) as i32
}

/// The slots of so many bytes at the address in rax, if that is simple: their page, as `field` has it, into rdx, and where their parts begin
/// into r9.
pub fn slots(
    asm: &mut impl DynasmLabelApi<Relocation = X64Relocation>,
    field: usize,
    bytes: usize,
    slow: DynamicLabel,
) {
    let last = PAGE as i32 - bytes as i32;
    dynasm!(asm
        ; .arch x64
        ; mov ecx, eax
        ; and ecx, PAGE as i32 - 1
        ; test al, GRANULE as i8 - 1
        ; jnz =>slow
        ; cmp ecx, last
        ; ja =>slow
        ; shr rax, PAGE.trailing_zeros() as i8
        ; mov edx, eax
        ; and edx, RECENT as i32 - 1
        ; imul edx, edx, size_of::<Recent>() as i32
        ; cmp [r14 + rdx + offset_of!(Recent, number) as i32], rax
        ; jne =>slow
        ; mov rdx, [r14 + rdx + field as i32]
        // A slot is as many times as long as what it speaks of.
        ; lea ecx, [rcx + 2 * rcx]
        ; lea r9, [rdx + rcx + offset_of!(Slots, parts) as i32]
    );
    const { assert!(PART == 3 * GRANULE) };
    if field == offset_of!(Recent, writable) {
        dynasm!(asm; .arch x64; test rdx, rdx; jz =>slow);
    }
    dynasm!(asm; .arch x64; cmp BYTE [rdx + offset_of!(Slots, has_offsets) as i32], 0; jne =>slow);
}

pub struct Maker<R> {
    pub asm: Assembler,
    pub tolerated: u64,
    pub settles: bool,
    /// Masks of sixteen bytes: all but the sign, the sign.
    pub magnitude: DynamicLabel,
    pub sign: DynamicLabel,
    numbers: Vec<(f64, DynamicLabel)>,
    reals: PhantomData<R>,
}

impl<R: Real> Maker<R> {
    fn make(big: usize, tolerated: u64, settles: bool) -> Option<(ExecutableBuffer, [AssemblyOffset; COUNT])> {
        let mut asm = Assembler::new().ok()?;
        let (magnitude, sign) = (asm.new_dynamic_label(), asm.new_dynamic_label());
        let numbers = NUMBERS.map(|number| (number, asm.new_dynamic_label())).to_vec();
        let mut maker = Maker { asm, tolerated, settles, magnitude, sign, numbers, reals: PhantomData::<R> };
        let starts = std::array::from_fn(|number| {
            dynasm!(maker.asm; .arch x64; .align 64);
            let start = maker.asm.offset();
            let [slow] = maker.labels();
            match number {
                LOAD => maker.load(big, slow),
                FILL => maker.fill(big, slow),
                READY => maker.ready(Type::F64, big, slow),
                READY_SINGLE => maker.ready(Type::F32, big, slow),
                _ if number < PLAIN.len() => maker.operation(PLAIN[number], Type::F64, big, slow),
                _ => maker.operation(PLAIN[number - PLAIN.len()], Type::F32, big, slow),
            }
            dynasm!(maker.asm; .arch x64; =>slow; stc; ret);
            start
        });
        maker.lay_down_numbers();
        Some((maker.asm.finalize().ok()?, starts))
    }

    pub fn labels<const N: usize>(&mut self) -> [DynamicLabel; N] {
        std::array::from_fn(|_| self.asm.new_dynamic_label())
    }

    /// Where a number lies.
    pub fn number(&mut self, wanted: f64) -> DynamicLabel {
        if let Some((_, label)) = self.numbers.iter().find(|(number, _)| *number == wanted) {
            return *label;
        }
        let [label] = self.labels();
        self.numbers.push((wanted, label));
        label
    }

    fn lay_down_numbers(&mut self) {
        let (magnitude, sign) = (self.magnitude, self.sign);
        dynasm!(self.asm
            ; .arch x64
            ; .align 16
            ; =>magnitude
            ; .u64 !(1 << 63)
            ; .u64 0
            ; =>sign
            ; .u64 1 << 63
            ; .u64 0
        );
        for (number, label) in std::mem::take(&mut self.numbers) {
            dynasm!(self.asm; .arch x64; =>label; .u64 number.to_bits());
        }
    }

    /// The double in r8, whose address is in rax, becomes the lane at rdi.
    fn load(&mut self, big: usize, slow: DynamicLabel) {
        slots(&mut self.asm, offset_of!(Recent, readable), 8, slow);
        self.fill(big, slow);
    }

    /// The double in r8, of which what is known is at r9, becomes the lane at rdi, ready to be an argument.
    fn fill(&mut self, big: usize, slow: DynamicLabel) {
        let [shadow, leaf] = self.labels();
        dynasm!(self.asm
            ; .arch x64
            ; mov eax, [r9]
            ; mov ecx, [BYTE r9 + NUMBER as i8]
            ; cmp eax, SHADOW
            ; je =>shadow
            ; mov rdx, r8
            ; mov esi, slot_code(Slot::Data(Type::F64)) as i32
            ; test eax, eax
            ; jz =>leaf
            // Two constants that are these eight bytes, and no magic number.
            ; cmp eax, CONSTANT
            ; jne =>slow
            ; cmp eax, [BYTE r9 + PART as i8]
            ; jne =>slow
            ; mov edx, [BYTE r9 + (PART + NUMBER) as i8]
            ; shl rdx, 32
            ; or rdx, rcx
            ; cmp rdx, r8
            ; jne =>slow
        );
        self.check_magic(Type::F64, slow);
        dynasm!(self.asm
            ; .arch x64
            ; =>leaf
            ; mov [BYTE rdi + LANE_PART], eax
            ; mov [BYTE rdi + LANE_NUMBER], r8d
            // Nothing is zero, and constants are one.
            ; mov [BYTE rdi + LANE_WIDE], al
            ; mov [BYTE rdi + LANE_BITS], r8
        );
        self.set_leaf();
        dynasm!(self.asm; .arch x64; =>shadow);
        self.find_shadow(Type::F64, slow);
        dynasm!(self.asm
            ; .arch x64
            ; mov [BYTE rdi + LANE_BITS], r8
            ; mov DWORD [BYTE rdi + LANE_PART], SHADOW
            ; mov [BYTE rdi + LANE_NUMBER], ecx
            ; mov BYTE [BYTE rdi + LANE_WIDE], 0
        );
        self.set_shadow(big, slow);
    }

    /// The float of a type that the lane at rdi begins with becomes ready to be an argument.
    fn ready(&mut self, ty: Type, big: usize, slow: DynamicLabel) {
        let [shadow, leaf] = self.labels();
        let is_single = ty == Type::F32;
        match is_single {
            true => dynasm!(self.asm; .arch x64; mov r8d, [BYTE rdi + LANE_BITS]),
            false => dynasm!(self.asm; .arch x64; mov r8, [BYTE rdi + LANE_BITS]),
        }
        dynasm!(self.asm
            ; .arch x64
            ; mov eax, [BYTE rdi + LANE_PART]
            ; mov ecx, [BYTE rdi + LANE_NUMBER]
            ; cmp eax, SHADOW
            ; je =>shadow
            ; mov rdx, r8
        );
        if is_single {
            dynasm!(self.asm; .arch x64; vmovd xmm0, r8d; vcvtss2sd xmm0, xmm0, xmm0; vmovq rdx, xmm0);
        }
        dynasm!(self.asm
            ; .arch x64
            ; mov esi, slot_code(Slot::Data(ty)) as i32
            ; test eax, eax
            ; jz =>leaf
            ; cmp eax, CONSTANT
            ; jne =>slow
        );
        if !is_single {
            dynasm!(self.asm; .arch x64; cmp BYTE [BYTE rdi + LANE_WIDE], 0; je =>slow);
        }
        self.check_magic(ty, slow);
        dynasm!(self.asm; .arch x64; =>leaf);
        self.set_leaf();
        dynasm!(self.asm; .arch x64; =>shadow);
        self.find_shadow(ty, slow);
        self.set_shadow(big, slow);
    }

    /// The constant of a type, which is the double in rdx, must be no magic number. How it is kept goes into esi.
    fn check_magic(&mut self, ty: Type, slow: DynamicLabel) {
        dynasm!(self.asm
            ; .arch x64
            ; mov r9, rdx
            ; btr r9, 63
            ; mov rsi, QWORD magic::LEAST.to_bits() as i64
            ; cmp r9, rsi
            ; jae =>slow
            ; mov esi, slot_code(Slot::Number(ty)) as i32
        );
    }

    /// The float in r8 without a history, which is the double in rdx, becomes the argument; how it is kept is in esi. Returns.
    fn set_leaf(&mut self) {
        dynasm!(self.asm
            ; .arch x64
            ; xor eax, eax
            ; mov [BYTE rdi + LANE_HI], rdx
            ; mov [BYTE rdi + LANE_LO], rax
            ; mov [BYTE rdi + LANE_ERR], rax
            ; mov [BYTE rdi + LANE_ULPS], rax
            ; mov [BYTE rdi + LANE_INFLUENCES], eax
            ; mov [BYTE rdi + LANE_SLOT], si
            ; mov [BYTE rdi + LANE_WORD], r8
            ; mov BYTE [BYTE rdi + LANE_IS_PLAIN], 1
            ; clc
            ; ret
        );
    }

    /// The node whose handle is in ecx into rdx: it must be the float in r8, and an argument like others.
    fn find_shadow(&mut self, ty: Type, slow: DynamicLabel) {
        let size = size_of::<Node<R>>();
        dynasm!(self.asm
            ; .arch x64
            ; imul rdx, rcx, size as i32
            // Handles begin at one.
            ; add rdx, [rbx + offset_of!(Operations<R>, nodes.base) as i32]
            ; sub rdx, size as i32
            ; cmp [rdx + offset_of!(Node<R>, low) as i32], r8
            ; jne =>slow
            ; cmp BYTE [rdx + offset_of!(Node<R>, plain) as i32], ty as i8
            ; jne =>slow
        );
    }

    /// The node at rdx, with the handle in ecx, becomes the argument. Returns.
    fn set_shadow(&mut self, big: usize, slow: DynamicLabel) {
        let real = offset_of!(Node<R>, real);
        let [has_doubles] = self.labels();
        dynasm!(self.asm
            ; .arch x64
            // One by one, as they were written: what is written by halves is not soon read as a whole.
            ; vmovsd xmm0, [rdx + real as i32]
            ; vmovsd xmm1, [rdx + (real + 8) as i32]
            ; cmp QWORD [rdx + (real + big) as i32], 0
            ; je =>has_doubles
        );
        // The doubles still stand for it, unless they are out of their depth.
        self.check_safe(0, slow);
        dynasm!(self.asm
            ; .arch x64
            ; =>has_doubles
            ; mov rax, [rdx + (real + 16) as i32]
            ; mov rsi, [rdx + offset_of!(Node<R>, ulps) as i32]
            ; mov edx, [rdx + offset_of!(Node<R>, influences) as i32]
            ; vmovsd [BYTE rdi + LANE_HI], xmm0
            ; vmovsd [BYTE rdi + LANE_LO], xmm1
            ; mov [BYTE rdi + LANE_ERR], rax
            ; mov [BYTE rdi + LANE_ULPS], rsi
            ; mov [BYTE rdi + LANE_INFLUENCES], edx
            ; mov [BYTE rdi + LANE_WORD], rcx
            ; mov WORD [BYTE rdi + LANE_SLOT], slot_code(Slot::Node)
            ; mov BYTE [BYTE rdi + LANE_IS_PLAIN], 1
            ; clc
            ; ret
        );
    }
}
