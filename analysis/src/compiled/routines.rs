//! What compiled blocks have in common. There is much of it, so it is there once, and stays in the caches.
//!
//! A routine that finds that it is not the common case has changed nothing, and has the engine do it, or says so. Of what it is to do there is a
//! description in r11 ([`Work`]).

use super::arithmetic::{Assembly, fetch_mask};
use super::encode::{keep_together, near};
use super::literals::{Literal, Literals, field, literals, number};
use super::losses::TOLERABLE;
use super::*;
use crate::engine;
use crate::offset;
use crate::pages::{PAGE, RECENT, Recent};
use fpgrind_ir::GRANULE;
use std::ptr::null;

/// The routines' numbers: first what is to be decided about operations on doubles, then on singles.
pub const LOAD: usize = 2 * PLAIN.len();
pub const FILL: usize = LOAD + 1;
pub const READY: usize = FILL + 1;
pub const READY_SINGLE: usize = READY + 1;
pub const NEG: usize = READY_SINGLE + 1;
pub const ABS: usize = NEG + 1;
/// Decisions of the program.
pub const COMPARE: usize = ABS + 1;
/// Has the engine do it.
pub const ENGINE: usize = COMPARE + 1;
/// Calls of library functions begin and end.
pub const BEGIN_CALL: usize = ENGINE + 1;
pub const END_CALL: usize = BEGIN_CALL + 1;
/// Makes room for nodes.
pub const ROOM: usize = END_CALL + 1;
/// Where Rust calls it, and where blocks lead to.
pub const ENTER: usize = ROOM + 1;
pub const NEXT: usize = ENTER + 1;
const COUNT: usize = NEXT + 1;

/// What is to be decided about an operation on floats of a type.
pub fn decide(operator: Operator, ty: Type) -> usize {
    let operation = PLAIN.iter().position(|plain| *plain == operator).unwrap_or(0);
    operation + if ty == Type::F32 { PLAIN.len() } else { 0 }
}

/// Where each begins. They belong to operations, at whose side they lie.
#[repr(C)]
pub struct Routines {
    pub table: [*const u8; COUNT],
    pub literals: Literals,
    pub way: Way,
    code: Option<ExecutableBuffer>,
}

impl Routines {
    /// None where the CPU cannot run them, or too little is tolerated for operations on distances.
    pub fn new<R: Real>(tolerated: u64, settles: bool) -> Routines {
        let can_be = engine::has_fma() && (!R::HAS_PAIRS || tolerated >= offset::LOCAL);
        let made = can_be.then(|| Maker::<R>::make(settles, tolerated < TOLERABLE)).flatten();
        let table = made.as_ref().map_or([null(); COUNT], |(code, starts)| starts.map(|start| code.ptr(start)));
        Routines { table, literals: literals(), way: Way::NOWHERE, code: made.map(|(code, _)| code) }
    }

    pub fn are_there(&self) -> bool {
        self.code.is_some()
    }
}

/// Writes what nodes of an operation have in common, into the one so far from where the next nodes are. Uses rax.
pub fn write_kind(asm: &mut impl DynasmApi, operator: Operator, ty: Type, slots: [Slot; INLINE], to: i32) {
    const AT: usize = offset_of!(Node, operator);
    const { assert!(AT + 8 == size_of::<Node>() && size_of::<Operator>() + size_of::<Type>() + INLINE + 2 == 8) };
    let node = Node { slots, ..Node::of_kind(operator, ty) };
    // SAFETY: the last eight bytes are fields of a byte or two, without a gap.
    let kind = unsafe { (&raw const node).byte_add(AT).cast::<i64>().read() };
    dynasm!(asm; .arch x64; mov rax, QWORD kind);
    near!(asm; mov [rbp + to + AT as i32], rax);
}

/// Nodes are that long.
pub const NODE_SHIFT: i8 = size_of::<Node>().trailing_zeros() as i8;

/// Nodes are in no cache when their turn comes: that many bytes ahead they are asked for.
pub const AHEAD: i32 = 1024;

/// Where the next node will be, into rbp.
pub fn find_room<R: Real>(asm: &mut impl DynasmLabelApi<Relocation = X64Relocation>) {
    dynasm!(asm
        ; .arch x64
        ; mov rbp, [rbx + field::<R>(offset_of!(Operations<R>, nodes.cursor))]
        ; shl rbp, NODE_SHIFT
        ; add rbp, [rbx + field::<R>(offset_of!(Operations<R>, nodes.base))]
    );
}

/// What is done with slots.
#[derive(Clone, Copy, PartialEq)]
pub enum Access {
    Read,
    Write,
}

/// The slots of so many bytes at the address in rax, if that is simple: where their parts begin into r9; and to write to them, their page into rdx.
pub fn slots(
    asm: &mut impl DynasmLabelApi<Relocation = X64Relocation>,
    access: Access,
    bytes: usize,
    slow: DynamicLabel,
) {
    const { assert!(RECENT == 1 << 8 && size_of::<Recent>().is_power_of_two()) };
    // A slot is as many times as long as what it speaks of.
    const { assert!(PART == 3 * GRANULE) };
    let number = match access {
        Access::Read => offset_of!(Recent, to_read),
        Access::Write => offset_of!(Recent, to_write),
    };
    // What is aligned lies in one page. Vectors often are not.
    let alignment = if bytes <= 8 { bytes } else { GRANULE };
    keep_together(asm, 8);
    dynasm!(asm; .arch x64; test al, alignment as i8 - 1; jnz =>slow);
    if bytes > alignment {
        dynasm!(asm; .arch x64; mov ecx, eax; and ecx, PAGE as i32 - 1; cmp ecx, PAGE as i32 - bytes as i32; ja =>slow);
    }
    dynasm!(asm
        ; .arch x64
        ; lea r9, [rax + 2 * rax]
        ; shr rax, PAGE.trailing_zeros() as i8
        ; movzx edx, al
        ; shl edx, size_of::<Recent>().trailing_zeros() as i8
    );
    keep_together(asm, 11);
    dynasm!(asm
        ; .arch x64
        ; cmp [BYTE r14 + rdx + number as i8], rax
        ; jne =>slow
        ; add r9, [BYTE r14 + rdx + offset_of!(Recent, parts) as i8]
    );
    if access == Access::Write {
        dynasm!(asm; .arch x64; mov rdx, [BYTE r14 + rdx + offset_of!(Recent, writable) as i8]);
    }
}

pub struct Maker<R> {
    pub asm: Assembler,
    pub settles: bool,
    /// What goes wrong is judged here; else Rust does it.
    pub judges: bool,
    reals: PhantomData<R>,
}

impl<R: Real> Maker<R> {
    fn make(settles: bool, judges: bool) -> Option<(ExecutableBuffer, [AssemblyOffset; COUNT])> {
        let mut maker = Maker { asm: Assembler::new().ok()?, settles, judges, reals: PhantomData::<R> };
        let [slow] = maker.asm.new_labels();
        let starts = std::array::from_fn(|number| {
            dynasm!(maker.asm; .arch x64; .align 64);
            let start = maker.asm.offset();
            match number {
                LOAD => maker.load(slow),
                FILL => maker.fill(slow),
                READY => maker.ready(Type::F64, slow),
                READY_SINGLE => maker.ready(Type::F32, slow),
                NEG => maker.change_sign(Operator::Neg, slow),
                ABS => maker.change_sign(Operator::Abs, slow),
                COMPARE => maker.compare(),
                ENGINE => {
                    dynasm!(maker.asm; .arch x64; =>slow);
                    maker.call(super::execute::<R>);
                }
                BEGIN_CALL => maker.call(super::begin_call::<R>),
                END_CALL => maker.call(super::end_call::<R>),
                ROOM => maker.call(super::make_room::<R>),
                ENTER => maker.enter(),
                NEXT => maker.next(),
                _ => {
                    let ty = if number < PLAIN.len() { Type::F64 } else { Type::F32 };
                    maker.decide(PLAIN[number % PLAIN.len()], ty);
                }
            }
            start
        });
        Some((maker.asm.finalize().ok()?, starts))
    }

    /// Comes from Rust, and goes on to the first record.
    fn enter(&mut self) {
        dynasm!(self.asm
            ; .arch x64
            ; push rbx
            ; push rbp
            ; push r12
            ; push r13
            ; push r14
            ; push r15
            ; sub rsp, 8
            ; lea rbx, [rdi - field::<R>(0)]
            ; mov r12, rsi
            ; mov r13, rdx
            ; mov r14, rcx
            ; mov r15, r8
        );
        find_room::<R>(&mut self.asm);
        self.next();
    }

    /// To the code of the record at r12, if there is any, or back to Rust.
    fn next(&mut self) {
        let [back] = self.asm.new_labels();
        let way = offset_of!(Operations<R>, routines.way);
        let way = |part: usize| field::<R>(way + part);
        dynasm!(self.asm
            ; .arch x64
            ; cmp r12, [rbx + way(offset_of!(Way, last))]
            ; ja =>back
            ; mov eax, [r12]
            ; cmp rax, [rbx + way(offset_of!(Way, programs))]
            ; jae =>back
            ; mov rcx, [rbx + way(offset_of!(Way, entries))]
            ; mov eax, [rcx + 4 * rax]
            ; test eax, eax
            ; jz =>back
            ; mov rcx, [rbx + field::<R>(offset_of!(Operations<R>, nodes.cursor))]
            ; cmp rcx, [rbx + field::<R>(offset_of!(Operations<R>, nodes.enough))]
            ; jae =>back
            ; inc QWORD [rbx + way(offset_of!(Way, records))]
            ; add rax, [rbx + way(offset_of!(Way, base))]
            ; jmp rax
            ; =>back
            ; mov rax, r12
            ; add rsp, 8
            ; pop r15
            ; pop r14
            ; pop r13
            ; pop r12
            ; pop rbp
            ; pop rbx
            ; ret
        );
    }

    /// Has Rust do the work at r11. What it says is in the carry flag.
    fn call(&mut self, function: Help<R>) {
        dynasm!(self.asm
            ; .arch x64
            ; sub rsp, 8
            ; mov rdi, [rbx + field::<R>(offset_of!(Operations<R>, routines.way.call))]
            ; mov rsi, r11
            ; mov rdx, r12
            ; mov rax, QWORD function as usize as i64
            ; call rax
            ; add rsp, 8
        );
        find_room::<R>(&mut self.asm);
        fetch_mask::<R>(&mut self.asm);
        dynasm!(self.asm; .arch x64; mov r10, [rbx + field::<R>(offset_of!(Operations<R>, nodes.cursor))]; neg al; ret);
    }

    /// Sees to it that the next node is a free one.
    fn check_room(&mut self) {
        let [roomy] = self.asm.new_labels();
        dynasm!(self.asm
            ; .arch x64
            ; mov rax, [rbx + field::<R>(offset_of!(Operations<R>, nodes.cursor))]
            ; prefetchw [rbp + AHEAD]
            ; cmp rax, [rbx + field::<R>(offset_of!(Operations<R>, nodes.end))]
            ; jne =>roomy
        );
        self.make_room();
        dynasm!(self.asm; .arch x64; =>roomy);
    }

    /// Has a free node found.
    fn make_room(&mut self) {
        let function: Help<R> = super::make_room::<R>;
        dynasm!(self.asm
            ; .arch x64
            ; push rdi
            ; push rsi
            ; push rdx
            ; push r10
            ; push r11
            ; mov rdi, [rbx + field::<R>(offset_of!(Operations<R>, routines.way.call))]
            ; mov rax, QWORD function as usize as i64
            ; call rax
            ; pop r11
            ; pop r10
            ; pop rdx
            ; pop rsi
            ; pop rdi
        );
        find_room::<R>(&mut self.asm);
    }

    /// The double in r8, of which what is known is in rax, without its sign, or with the other, into the lane at rdx, if the lane at rsi is the
    /// mask for that.
    fn change_sign(&mut self, operator: Operator, slow: DynamicLabel) {
        let [other, known] = self.asm.new_labels();
        let cursor = offset_of!(Operations<R>, nodes.cursor);
        let sign = i64::MIN;
        dynasm!(self.asm; .arch x64; mov rdi, rax);
        self.check_room();
        dynasm!(self.asm; .arch x64; mov rax, rdi);
        match operator {
            Operator::Neg => {
                dynasm!(self.asm; .arch x64; mov r9, QWORD sign; mov r10, QWORD magic::LEAST.to_bits() as i64)
            }
            _ => dynasm!(self.asm; .arch x64; mov r9, QWORD !sign; mov r10, QWORD f64::INFINITY.to_bits() as i64),
        }
        dynasm!(self.asm
            ; .arch x64
            ; cmp [BYTE rsi + LANE_BITS], r9
            ; jne =>slow
            // No magic number, and no NaN.
            ; mov rcx, r8
            ; btr rcx, 63
            ; cmp rcx, r10
            ; jae =>slow
            ; mov rsi, r8
        );
        match operator {
            Operator::Neg => dynasm!(self.asm; .arch x64; xor rsi, r9),
            _ => dynasm!(self.asm; .arch x64; and rsi, r9),
        }
        let nothing: *const Facts = Facts::NONE;
        dynasm!(self.asm
            ; .arch x64
            ; mov r10, rdx
            ; mov r9d, Slot::NODE.0 as i32
            ; mov rcx, rax
            ; shr rcx, 32
            ; cmp eax, SHADOW
            ; jne =>other
        );
        self.find_shadow(Type::F64, slow);
        if operator == Operator::Abs {
            // The sign must be the same in the reals beyond doubt.
            dynasm!(self.asm
                ; .arch x64
                ; vmovq xmm1, r8
                ; vandpd xmm1, xmm1, [rbx + number::<R>(Literal::Magnitude).distance]
                ; vmovsd xmm0, [BYTE rdx + offset_of!(Facts, near.offset.by) as i8]
                ; vandpd xmm0, xmm0, [rbx + number::<R>(Literal::Magnitude).distance]
                ; vaddsd xmm0, xmm0, [BYTE rdx + offset_of!(Facts, near.offset.err) as i8]
                ; vucomisd xmm1, xmm0
                ; jbe =>slow
            );
        }
        dynasm!(self.asm
            ; .arch x64
            ; jmp =>known
            ; =>other
            ; test eax, eax
            ; jnz =>slow
            ; mov r9d, Slot::leaf(Type::F64, false).0 as i32
            ; mov rcx, r8
            ; mov rdx, QWORD nothing as i64
            ; =>known
            // What is known of it is at rdx, how it is kept in r9 and rcx, the result in rsi. The distance changes its sign as the number does.
            ; vmovsd xmm0, [BYTE rdx + offset_of!(Facts, near.offset.by) as i8]
            ; vmovsd xmm1, [BYTE rdx + offset_of!(Facts, near.offset.err) as i8]
            ; xor r8, rsi
            ; vmovq xmm3, r8
            ; vxorpd xmm0, xmm0, xmm3
            ; mov [rbp + offset_of!(Node, args) as i32], rcx
            ; mov eax, [BYTE rdx + offset_of!(Facts, influences) as i8]
            ; mov ecx, [BYTE r11 + offset_of!(Work, at) as i8]
            ; mov [rbp + offset_of!(Node, influences) as i32], eax
            ; mov [rbp + offset_of!(Node, at) as i32], ecx
        );
        write_kind(&mut self.asm, operator, Type::F64, [Slot::NONE; INLINE], 0);
        dynasm!(self.asm
            ; .arch x64
            ; mov [rbp + offset_of!(Node, slots) as i32], r9b
            ; vmovq xmm2, rsi
            ; vunpcklpd xmm2, xmm2, xmm0
            ; vmovupd [rbp + offset_of!(Node, near.native) as i32], xmm2
            ; vmovsd [rbp + offset_of!(Node, near.offset.err) as i32], xmm1
            ; inc QWORD [rbx + field::<R>(offset_of!(Operations<R>, count))]
            ; mov rax, [rbx + field::<R>(cursor)]
            ; inc rax
            ; mov [rbx + field::<R>(cursor)], rax
            ; shl rax, 32
            ; or rax, SHADOW
            ; mov [BYTE r10 + LANE_BITS], rsi
            ; mov [BYTE r10 + LANE_PART], rax
            ; mov BYTE [BYTE r10 + LANE_WIDE], 0
            ; add rbp, size_of::<Node>() as i32
            ; ret
        );
    }

    /// The double in r8, whose address is in rax, becomes the lane at rdi.
    fn load(&mut self, slow: DynamicLabel) {
        slots(&mut self.asm, Access::Read, 8, slow);
        self.fill(slow);
    }

    /// The double in r8, of which what is known is at r9, becomes the lane at rdi, ready to be an argument.
    fn fill(&mut self, slow: DynamicLabel) {
        let [other, leaf] = self.asm.new_labels();
        dynasm!(self.asm; .arch x64; mov rax, [r9]);
        keep_together(&mut self.asm, 11);
        dynasm!(self.asm
            ; .arch x64
            ; cmp eax, SHADOW
            ; jne =>other
            ; mov ecx, [BYTE r9 + NUMBER as i8]
        );
        self.find_shadow(Type::F64, slow);
        if !R::HAS_PAIRS {
            // The engine wants all of it.
            dynasm!(self.asm
                ; .arch x64
                ; mov [BYTE rdi + LANE_BITS], r8
                ; mov [BYTE rdi + LANE_PART], rax
            );
        }
        self.set_shadow();
        dynasm!(self.asm
            ; .arch x64
            ; =>other
            ; mov esi, ready(Slot::leaf(Type::F64, false), false)
        );
        keep_together(&mut self.asm, 8);
        dynasm!(self.asm
            ; .arch x64
            ; test eax, eax
            ; jz =>leaf
            // Two constants that are these eight bytes, and no magic number.
            ; cmp eax, CONSTANT
            ; jne =>slow
            ; cmp eax, [BYTE r9 + PART as i8]
            ; jne =>slow
            ; mov rcx, rax
            ; shr rcx, 32
            ; mov edx, [BYTE r9 + (PART + NUMBER) as i8]
            ; shl rdx, 32
            ; or rdx, rcx
            ; cmp rdx, r8
            ; jne =>slow
        );
        self.check_magic(slow);
        dynasm!(self.asm
            ; .arch x64
            ; mov esi, ready(Slot::leaf(Type::F64, true), true)
            ; =>leaf
            ; mov [BYTE rdi + LANE_BITS], r8
            ; mov [BYTE rdi + LANE_PART], rax
        );
        self.set_leaf(Type::F64);
    }

    /// The float of a type that the lane at rdi begins with becomes ready to be an argument.
    fn ready(&mut self, ty: Type, slow: DynamicLabel) {
        let [other, leaf] = self.asm.new_labels();
        let is_single = ty == Type::F32;
        match is_single {
            true => dynasm!(self.asm; .arch x64; mov r8d, [BYTE rdi + LANE_BITS]),
            false => dynasm!(self.asm; .arch x64; mov r8, [BYTE rdi + LANE_BITS]),
        }
        dynasm!(self.asm
            ; .arch x64
            ; mov rax, [BYTE rdi + LANE_PART]
        );
        keep_together(&mut self.asm, 11);
        dynasm!(self.asm
            ; .arch x64
            ; cmp eax, SHADOW
            ; jne =>other
            ; mov rcx, rax
            ; shr rcx, 32
        );
        self.find_shadow(ty, slow);
        self.set_shadow();
        dynasm!(self.asm
            ; .arch x64
            ; =>other
            ; mov rdx, r8
            ; mov esi, ready(Slot::leaf(ty, false), false)
            ; test eax, eax
            ; jz =>leaf
            ; cmp eax, CONSTANT
            ; jne =>slow
        );
        match is_single {
            true => dynasm!(self.asm; .arch x64; vmovd xmm0, r8d; vcvtss2sd xmm0, xmm0, xmm0; vmovq rdx, xmm0),
            false => dynasm!(self.asm; .arch x64; cmp BYTE [BYTE rdi + LANE_WIDE], 0; je =>slow),
        }
        self.check_magic(slow);
        dynasm!(self.asm
            ; .arch x64
            // What is beside it is as constant as it was.
            ; movzx esi, BYTE [BYTE rdi + LANE_WIDE]
            ; or esi, ready(Slot::leaf(ty, true), false)
            ; =>leaf
        );
        self.set_leaf(ty);
    }

    /// The constant that is the double in rdx must be no magic number. Uses rcx and rsi.
    fn check_magic(&mut self, slow: DynamicLabel) {
        dynasm!(self.asm
            ; .arch x64
            ; mov rcx, rdx
            ; btr rcx, 63
            ; mov rsi, QWORD magic::LEAST.to_bits() as i64
            ; cmp rcx, rsi
            ; jae =>slow
        );
    }

    /// The float in r8 without a history becomes the argument; how it is kept is in esi. Returns.
    fn set_leaf(&mut self, ty: Type) {
        const { assert!(LANE_OWN == 0 && offset_of!(Facts, near.native) == 0) };
        dynasm!(self.asm
            ; .arch x64
            ; mov [BYTE rdi + LANE_WIDE], esi
            ; mov [BYTE rdi + LANE_WORD], r8
            ; mov [BYTE rdi + LANE_FACTS], rdi
        );
        match ty {
            Type::F32 => dynasm!(self.asm; .arch x64; vmovd xmm0, r8d; vcvtss2sd xmm0, xmm0, xmm0),
            _ => dynasm!(self.asm; .arch x64; vmovq xmm0, r8),
        }
        // With what it is off by, which is nothing: both are read at once, and then the CPU would wait.
        dynasm!(self.asm; .arch x64; vmovupd [rdi], xmm0);
        keep_together(&mut self.asm, 1);
        dynasm!(self.asm; .arch x64; ret);
    }

    /// The node whose handle is in ecx into rdx: it must be the float in r8, and an argument like others.
    fn find_shadow(&mut self, ty: Type, slow: DynamicLabel) {
        dynasm!(self.asm
            ; .arch x64
            // Handles begin at one.
            ; lea rdx, [rcx - 1]
            ; shl rdx, NODE_SHIFT
            ; add rdx, [rbx + field::<R>(offset_of!(Operations<R>, nodes.base))]
        );
        match ty {
            Type::F32 => {
                // Two different singles are different doubles.
                dynasm!(self.asm; .arch x64; vmovd xmm0, r8d; vcvtss2sd xmm0, xmm0, xmm0; vmovq rsi, xmm0);
                keep_together(&mut self.asm, 9);
                dynasm!(self.asm; .arch x64; cmp [rdx], rsi);
            }
            _ => {
                keep_together(&mut self.asm, 9);
                dynasm!(self.asm; .arch x64; cmp [rdx], r8);
            }
        }
        dynasm!(self.asm
            ; .arch x64
            ; jne =>slow
            ; cmp WORD [BYTE rdx + offset_of!(Node, ty) as i8], plain::<R>(ty)
        );
        keep_together(&mut self.asm, 6);
        dynasm!(self.asm; .arch x64; jne =>slow);
    }

    /// The node at rdx, with the handle in rcx, becomes the argument. Returns.
    fn set_shadow(&mut self) {
        dynasm!(self.asm
            ; .arch x64
            ; mov [BYTE rdi + LANE_WORD], rcx
            ; mov DWORD [BYTE rdi + LANE_WIDE], ready(Slot::NODE, false)
            ; mov [BYTE rdi + LANE_FACTS], rdx
        );
        keep_together(&mut self.asm, 1);
        dynasm!(self.asm; .arch x64; ret);
    }
}
