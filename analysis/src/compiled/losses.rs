//! Sums that lose digits, or whose arguments did: what `judge` in `lossy.rs` says of those that it has no more to do for than to count.
//!
//! For all others, and where a term compensates what the other lost, nothing has been changed, and Rust is asked.

use super::arithmetic::{Assembly, INFLUENCES, fetch_mask};
use super::encode::{ADD, ADD_SINGLE, At, Gpr, MUL, SUB, SUB_SINGLE, TO_DOUBLE, TO_SINGLE, Write, Xmm};
use super::literals::{Literal, number};
use super::routines::Maker;
use super::verdicts::{OF_A, OF_B};
use super::*;
use crate::compensation::{First, Found, NOW_AND_THEN, ONE_IN, PLACES, SURE};
use crate::findings::CauseKind;
use crate::influence::{Extended, FIRST, Influences, RECENT, Union};
use crate::sampling::{Logarithms, Looks};
use crate::site::{Tally, Wrong};

/// What Rust is asked in between, of what is in rsi and edx.
type Ask<R> = unsafe extern "sysv64" fn(*mut Operations<R>, u64, u32) -> i64;

/// The union of two sets of influences.
unsafe extern "sysv64" fn unite<R: Real>(operations: *mut Operations<R>, other: u64, set: u32) -> i64 {
    // SAFETY: code has the address of the one there is.
    unsafe { &mut *operations }.sets.union(Influences(set), Influences(other as u32)).0 as i64
}

/// A set of influences with one more.
unsafe extern "sysv64" fn extend<R: Real>(operations: *mut Operations<R>, site: u64, set: u32) -> i64 {
    // SAFETY: as above.
    unsafe { &mut *operations }.sets.with(Influences(set), site as u32).0 as i64
}

/// Does a node that is nothing in the reals repair a rounding? Less than nothing if that takes a look.
unsafe extern "sysv64" fn foresee<R: Real>(operations: *mut Operations<R>, node: u64, _: u32) -> i64 {
    // SAFETY: as above, and there it is.
    let (operations, node) = unsafe { (&mut *operations, &*(node as *const Node)) };
    operations.compensations.foresee(node.at, node.operator).map_or(-1, |is_one| is_one as i64)
}

/// On the stack: what functions of Rust may change and code still wants, which is general registers, the native result, the distance and the doubt; what such
/// a function has answered; and whether there is a doubt that passes.
const GENERAL: [Gpr; 9] = [0, 1, 2, RSI, 7, OF_A, OF_B, 10, 11];
const WANTED: [Xmm; 3] = [2, 6, 8];
const ANSWER: i8 = 8 * (GENERAL.len() + WANTED.len()) as i8;
const DOUBTFUL: i8 = ANSWER + 8;
const FRAME: i32 = DOUBTFUL as i32 + 16;
const RSI: Gpr = 6;
const RSP: Gpr = 4;

/// A field of what is known of an argument.
fn of(register: Gpr, field: usize) -> At {
    At { register, distance: field as i32 }
}

const BY: usize = offset_of!(Facts, near.offset.by);
const ERR: usize = offset_of!(Facts, near.offset.err);

/// Where tallies have what went wrong.
const fn wrong(field: usize) -> i32 {
    (offset_of!(Tally, wrong) + field) as i32
}

const LEFT: i32 = offset_of!(Tally, left) as i32;
const SKIP: i32 = offset_of!(Tally, doubts.skip) as i32;
/// Where more floats are tolerated, doubts are compared in another way.
pub const TOLERABLE: u64 = 1 << 20;

const LOOKS: i32 = wrong(offset_of!(Wrong, looks) + offset_of!(Looks, skip));

impl<R: Real> Maker<R> {
    /// All is as [`Maker::decide`] has it, in the end, too, and where it goes on to `ask`, or to `refuse` if there is no use in that.
    pub fn lose(&mut self, operator: Operator, ty: Type, ask: DynamicLabel, refuse: DynamicLabel) {
        let [give_up, right, judged] = self.asm.new_labels();
        self.arithmetic(ty).real();
        // Are distances as good as pairs?
        self.asm.load(3, of(OF_A, ERR));
        self.asm.avx(ADD, 3, 3, of(OF_B, ERR));
        self.asm.avx(MUL, 3, 3, number::<R>(Literal::HardlyMore));
        dynasm!(self.asm; .arch x64; vucomisd xmm3, xmm8; jb =>refuse);
        // What the arguments are natively, into xmm4 and xmm5; the doubles next to their reals, into xmm12 and xmm13; and what these make.
        self.asm.load(4, of(OF_A, 0));
        self.asm.load(5, of(OF_B, 0));
        self.asm.avx(ADD, 12, 4, of(OF_A, BY));
        self.asm.avx(ADD, 13, 5, of(OF_B, BY));
        match ty {
            Type::F32 => self.add_singles(operator, ask),
            _ => self.add_doubles(operator, ask),
        }
        self.count_floats_between(ty, ask);
        dynasm!(self.asm
            ; .arch x64
            // From here on rax is the tally, and r10 whether it went wrong.
            ; mov rax, [BYTE r11 + offset_of!(Work, of) as i8]
            ; mov rdx, [rbx + field::<R>(offset_of!(Operations<R>, tolerated))]
            ; xor r10d, r10d
            ; cmp rcx, rdx
            ; seta r10b
            ; sub rsp, FRAME
            ; mov QWORD [BYTE rsp + DOUBTFUL], 0
        );
        if self.settles {
            self.doubt_loss(ty, give_up);
        }
        // Does one term compensate what the other lost?
        for (real, native) in [(12, 4), (13, 5)] {
            let [differs] = self.asm.new_labels();
            dynasm!(self.asm; .arch x64; vucomisd Rx(real), xmm9; jne =>differs);
            let mut rounded = real;
            if ty == Type::F32 {
                self.asm.avx(TO_SINGLE, 1, real, real);
                self.asm.avx(TO_DOUBLE, 1, 1, 1);
                rounded = 1;
            }
            dynasm!(self.asm; .arch x64; vucomisd Rx(rounded), Rx(native); jne =>give_up; =>differs);
        }
        dynasm!(self.asm
            ; .arch x64
            ; test r10d, r10d
            ; jz =>right
            ; cmp QWORD [rax + LOOKS], 0
            ; je =>give_up
            ; cmp rcx, [rax + wrong(offset_of!(Wrong, most))]
            ; ja =>give_up
            ; jmp =>judged
            ; =>right
            ; cmp QWORD [rax + LEFT], 1
            ; jle =>give_up
            ; =>judged
        );
        self.influences_of_loss(give_up);
        self.count_loss();
        dynasm!(self.asm
            ; .arch x64
            ; mov eax, edx
            ; mov r10, [rbx + field::<R>(offset_of!(Operations<R>, nodes.cursor))]
            ; add rsp, FRAME
            // (No carry, and zero.)
            ; cmp eax, eax
            ; ret
            ; =>give_up
            ; add rsp, FRAME
            ; jmp =>ask
        );
    }

    /// What the doubles next to the terms make, into rcx, and the double next to the real, into rdx. Uses xmm0 and xmm3.
    fn add_doubles(&mut self, operator: Operator, ask: DynamicLabel) {
        self.asm.avx(if operator == Operator::Sub { SUB } else { ADD }, 0, 12, 13);
        dynasm!(self.asm
            ; .arch x64
            // Both must be numbers.
            ; vsubsd xmm3, xmm9, xmm9
            ; vaddsd xmm3, xmm3, xmm0
            ; vucomisd xmm3, xmm3
            ; jp =>ask
            ; vmovq rcx, xmm0
            ; vmovq rdx, xmm9
        );
    }

    /// The same of singles. The double next to a real tells which single is, unless it is near the middle between two.
    fn add_singles(&mut self, operator: Operator, ask: DynamicLabel) {
        const DIGITS_BELOW: i32 = 29;
        const LEAST: i32 = 1023 - 126;
        const COUNT: i32 = 253;
        dynasm!(self.asm; .arch x64; vxorpd xmm3, xmm3, xmm3);
        for (real, single) in [(12, 0), (13, 1), (9, 11)] {
            let [is_common] = self.asm.new_labels();
            dynasm!(self.asm
                ; .arch x64
                ; vmovq rax, Rx(real)
                ; mov ecx, eax
                ; and ecx, (1 << DIGITS_BELOW) - 1
                ; sub ecx, (1 << (DIGITS_BELOW - 1)) - 1
                ; cmp ecx, 2
                ; jbe =>ask
                ; shr rax, 52
                ; and eax, 0x7ff
                ; sub eax, LEAST
                ; cmp eax, COUNT
                ; jb =>is_common
                ; vucomisd Rx(real), xmm3
                ; jne =>ask
                ; jp =>ask
                ; =>is_common
            );
            self.asm.avx(TO_SINGLE, single, real, real);
        }
        self.asm.avx(if operator == Operator::Sub { SUB_SINGLE } else { ADD_SINGLE }, 0, 0, 1);
        dynasm!(self.asm; .arch x64; vmovd ecx, xmm0; vmovd edx, xmm11; shl rcx, 32; shl rdx, 32);
    }

    /// How many floats lie between those of which these are the bits, in rcx and rdx: into rcx. Uses rax.
    fn count_floats_between(&mut self, ty: Type, ask: DynamicLabel) {
        // Their places in the order of floats.
        for bits in [1, 2] {
            dynasm!(self.asm
                ; .arch x64
                ; mov rax, Rq(bits)
                ; sar rax, 63
                ; btr Rq(bits), 63
                ; xor Rq(bits), rax
                ; sub Rq(bits), rax
            );
        }
        dynasm!(self.asm
            ; .arch x64
            ; mov rax, rdx
            ; sub rax, rcx
            ; sub rcx, rdx
            ; cmovl rcx, rax
        );
        match ty {
            Type::F32 => dynasm!(self.asm; .arch x64; shr rcx, 32),
            // So many that they are not easily made a double.
            _ => dynasm!(self.asm; .arch x64; test rcx, rcx; js =>ask),
        }
    }

    /// Could the truth, as far as is known, be so far away that it went wrong? Then it must be a doubt that passes. Where nothing was ever wrong beyond doubt, it is
    /// none. Uses rdx, which is what is tolerated, xmm1 and xmm3.
    fn doubt_loss(&mut self, ty: Type, give_up: DynamicLabel) {
        let [off, unsettled, doubtful, sure] = self.asm.new_labels();
        dynasm!(self.asm
            ; .arch x64
            ; vxorpd xmm3, xmm3, xmm3
            ; vucomisd xmm8, xmm3
            ; je =>sure
            // It may be anything.
            ; vaddsd xmm3, xmm10, xmm10
            ; vucomisd xmm8, xmm3
            ; ja =>doubtful
            ; sub rdx, rcx
            ; jbe =>off
            ; vcvtsi2sd xmm3, xmm3, rdx
        );
        self.asm.avx(MUL, 1, 10, number::<R>(if ty == Type::F32 { Literal::UOfSingles } else { Literal::U }));
        dynasm!(self.asm; .arch x64; vmulsd xmm3, xmm3, xmm1; vucomisd xmm8, xmm3; jb =>sure; =>off);
        // Or is the double next to it beyond doubt?
        self.rest_of_sum(3, 9, (2, 6), 1);
        self.magnitude(3, 3);
        self.asm.avx(MUL, 3, 3, number::<R>(Literal::SlackOfPairs));
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm1, xmm8, xmm8
            ; vaddsd xmm3, xmm3, xmm1
            ; vaddsd xmm1, xmm9, xmm3
            ; vucomisd xmm1, xmm9
            ; jne =>unsettled
            ; vsubsd xmm1, xmm9, xmm3
            ; vucomisd xmm1, xmm9
            ; je =>sure
            ; =>unsettled
        );
        if ty == Type::F32 {
            // The single may be beyond doubt all the same.
            dynasm!(self.asm; .arch x64; jmp =>give_up);
        }
        dynasm!(self.asm
            ; .arch x64
            ; =>doubtful
        );
        self.check_doubt(give_up);
        dynasm!(self.asm
            ; .arch x64
            ; mov QWORD [BYTE rsp + DOUBTFUL], 1
            ; cmp QWORD [rax + wrong(offset_of!(Wrong, executions))], 0
            ; jne =>sure
            ; xor r10d, r10d
            ; =>sure
        );
    }

    /// What the terms are under the influence of, into edx. A repair is no cause of what it repairs.
    fn influences_of_loss(&mut self, give_up: DynamicLabel) {
        let [joined, other, united] = self.asm.new_labels();
        let may_repair = self.asm.new_labels::<2>();
        dynasm!(self.asm
            ; .arch x64
            ; mov edx, [Rq(OF_A) + INFLUENCES]
            ; mov esi, [Rq(OF_B) + INFLUENCES]
        );
        // Nothing is repaired of what is nothing beside the native result.
        self.magnitude(3, 2);
        self.asm.avx(MUL, 3, 3, number::<R>(Literal::Nothing));
        dynasm!(self.asm
            ; .arch x64
            ; vucomisd xmm3, xmm10
            ; jae =>joined
            ; vxorpd xmm7, xmm7, xmm7
            ; test edx, edx
            ; jz =>other
        );
        self.branch_if_may_repair(12, 4, may_repair[0]);
        dynasm!(self.asm; .arch x64; =>other; test esi, esi; jz =>joined);
        self.branch_if_may_repair(13, 5, may_repair[1]);
        dynasm!(self.asm
            ; .arch x64
            ; =>joined
            ; test esi, esi
            ; jz =>united
            ; cmp edx, esi
            ; je =>united
            ; test edx, edx
            ; cmovz edx, esi
            ; jz =>united
        );
        self.make_set(offset_of!(Operations<R>, sets.recent), unite::<R>);
        dynasm!(self.asm; .arch x64; jmp =>united; =>may_repair[0]);
        // If the other may be a repair, too, that is for Rust.
        let [alone] = self.asm.new_labels();
        dynasm!(self.asm; .arch x64; test esi, esi; jz =>alone);
        self.branch_if_may_repair(13, 5, give_up);
        dynasm!(self.asm; .arch x64; =>alone);
        self.branch_unless_repair(OF_A, (12, 4), joined, give_up);
        dynasm!(self.asm; .arch x64; xor edx, edx; jmp =>joined; =>may_repair[1]);
        self.branch_unless_repair(OF_B, (13, 5), joined, give_up);
        dynasm!(self.asm; .arch x64; xor esi, esi; jmp =>joined; =>united);
    }

    /// What two sets of influences, or a set and one more, make: of edx and esi, into edx. The table knows it if it was asked for not long ago. Uses rdi.
    fn make_set(&mut self, table: usize, otherwise: Ask<R>) {
        const { assert!(size_of::<Union>() == size_of::<Extended>()) };
        const { assert!(offset_of!(Union, of) == 0 && offset_of!(Extended, set) == 0) };
        const { assert!(offset_of!(Extended, candidate) == SECOND && offset_of!(Extended, is) == MADE) };
        const { assert!(offset_of!(Union, is) == MADE) };
        const SECOND: usize = size_of::<Influences>();
        const MADE: usize = 2 * SECOND;
        let entry = |of: usize| field::<R>(table + of);
        let [unknown, made] = self.asm.new_labels();
        dynasm!(self.asm
            ; .arch x64
            ; imul edi, edx, FIRST as i32
            ; add edi, esi
            ; and edi, RECENT as i32 - 1
            ; imul edi, edi, size_of::<Union>() as i32
            ; cmp [rbx + rdi + entry(0)], edx
            ; jne =>unknown
            ; cmp [rbx + rdi + entry(SECOND)], esi
            ; jne =>unknown
            ; mov edx, [rbx + rdi + entry(MADE)]
            ; jmp =>made
            ; =>unknown
        );
        self.ask(otherwise, RSI);
        dynasm!(self.asm; .arch x64; mov edx, [BYTE rsp + ANSWER]; =>made);
    }

    /// A term is zero, or in the reals much smaller than natively. (In xmm7 there is zero.)
    fn branch_if_may_repair(&mut self, real: Xmm, native: Xmm, to: DynamicLabel) {
        dynasm!(self.asm; .arch x64; vucomisd Rx(native), xmm7; je =>to);
        self.magnitude(1, real);
        self.magnitude(3, native);
        self.asm.avx(MUL, 3, 3, number::<R>(Literal::Repair));
        dynasm!(self.asm; .arch x64; vucomisd xmm3, xmm1; jae =>to);
    }

    /// A term that may be a repair is none.
    fn branch_unless_repair(
        &mut self,
        register: Gpr,
        (real, native): (Xmm, Xmm),
        to: DynamicLabel,
        give_up: DynamicLabel,
    ) {
        let [differs, nothing, is_one] = self.asm.new_labels();
        dynasm!(self.asm
            ; .arch x64
            ; cmp BYTE [Rq(register) + offset_of!(Node, is_settled) as i32], 0
            ; jne =>give_up
        );
        self.magnitude(0, real);
        self.asm.load(11, of(register, ERR));
        dynasm!(self.asm
            ; .arch x64
            ; vucomisd Rx(native), xmm7
            ; jne =>differs
            // Zero is one if it is not sure that it differs from nothing, or else if that is little.
            ; vaddsd xmm11, xmm11, xmm11
            ; vucomisd xmm0, xmm11
            ; jbe =>is_one
            ; jmp =>give_up
            ; =>differs
        );
        self.magnitude(3, native);
        self.asm.avx(MUL, 3, 3, number::<R>(Literal::Nothing));
        dynasm!(self.asm; .arch x64; vucomisd xmm3, xmm0; jae =>nothing);
        // Or is it not sure that it differs from nothing?
        dynasm!(self.asm; .arch x64; vucomisd xmm11, xmm7; je =>to);
        self.asm.load(14, of(register, BY));
        self.rest_of_sum(3, real, (native, 14), 1);
        self.magnitude(3, 3);
        self.asm.avx(MUL, 3, 3, number::<R>(Literal::FourU));
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm11, xmm11, xmm11
            ; vaddsd xmm3, xmm3, xmm11
            ; vucomisd xmm0, xmm3
            ; ja =>to
            ; =>nothing
        );
        // What is to be expected of the place?
        let [ask] = self.asm.new_labels();
        let found = |field: usize| (offset_of!(First, found) + field) as i8;
        dynasm!(self.asm
            ; .arch x64
            ; mov [rsp], rax
            ; mov [BYTE rsp + 8], rcx
            ; mov ecx, [Rq(register) + offset_of!(Node, at) as i32]
            ; mov eax, ecx
            ; and eax, PLACES as i32 - 1
            ; imul eax, eax, size_of::<First>() as i32
            ; add rax, [rbx + field::<R>(offset_of!(Operations<R>, compensations.first))]
            ; cmp [BYTE rax + offset_of!(First, at) as i8], ecx
            ; jne =>ask
            ; movzx ecx, BYTE [Rq(register) + offset_of!(Node, operator) as i32]
            ; cmp [BYTE rax + offset_of!(First, operator) as i8], cl
            ; jne =>ask
            ; cmp DWORD [BYTE rax + found(offset_of!(Found, looked_at))], SURE as i32
            ; jb =>ask
            ; mov ecx, [BYTE rax + found(offset_of!(Found, asked))]
            ; inc ecx
            ; test ecx, ONE_IN as i32 - 1
            ; jz =>ask
            ; mov [BYTE rax + found(offset_of!(Found, asked))], ecx
            ; mov ecx, [BYTE rax + found(offset_of!(Found, compensating))]
            ; shl rcx, NOW_AND_THEN.trailing_zeros() as i8
            ; mov eax, [BYTE rax + found(offset_of!(Found, looked_at))]
            ; cmp rcx, rax
            // (That leaves the flags alone.)
            ; mov rax, [rsp]
            ; mov rcx, [BYTE rsp + 8]
            ; jb =>to
            ; jmp =>is_one
            ; =>ask
            ; mov rax, [rsp]
            ; mov rcx, [BYTE rsp + 8]
        );
        self.ask(foresee::<R>, register);
        dynasm!(self.asm
            ; .arch x64
            ; cmp QWORD [BYTE rsp + ANSWER], 0
            ; jl =>give_up
            ; je =>to
            ; =>is_one
        );
    }

    /// Counts the execution, and adds the place to the influences in edx if it went wrong.
    fn count_loss(&mut self) {
        let [counted] = self.asm.new_labels();
        let bits = |field: usize| wrong(offset_of!(Wrong, bits) + field);
        dynasm!(self.asm
            ; .arch x64
            ; mov rsi, [BYTE rsp + DOUBTFUL]
            ; sub [rax + SKIP], rsi
            ; dec QWORD [rax + LEFT]
            ; test r10d, r10d
            ; jz =>counted
            ; dec QWORD [rax + LOOKS]
            ; inc QWORD [rax + wrong(offset_of!(Wrong, executions))]
            ; mov BYTE [rax + wrong(offset_of!(Wrong, kind))], CauseKind::Inaccurate as i8
            ; vxorpd xmm3, xmm3, xmm3
            ; vcvtsi2sd xmm3, xmm3, rcx
            ; vaddsd xmm3, xmm3, [rbx + number::<R>(Literal::One).distance]
            ; vmulsd xmm3, xmm3, [rax + bits(offset_of!(Logarithms, significand))]
            ; vmovq rcx, xmm3
            ; mov rsi, rcx
            ; shr rsi, 52
            ; sub rsi, 1023
            ; add [rax + bits(offset_of!(Logarithms, exponent))], rsi
            ; shl rcx, 12
            ; shr rcx, 12
            ; or rcx, [rbx + number::<R>(Literal::One).distance]
            ; mov [rax + bits(offset_of!(Logarithms, significand))], rcx
            ; mov esi, [BYTE r11 + offset_of!(Work, site) as i8]
        );
        self.make_set(offset_of!(Operations<R>, sets.recently_extended), extend::<R>);
        dynasm!(self.asm; .arch x64; =>counted);
    }

    /// What a sum of two doubles has lost.
    fn rest_of_sum(&mut self, rest: Xmm, sum: Xmm, terms: (Xmm, Xmm), free: Xmm) {
        self.arithmetic(Type::F64).rest_of_sum(rest, sum, terms, free);
    }

    fn magnitude(&mut self, to: Xmm, of: Xmm) {
        self.arithmetic(Type::F64).magnitude(to, of);
    }

    /// Asks Rust about what is in a register and in edx. All stays as it is.
    fn ask(&mut self, function: Ask<R>, about: Gpr) {
        let slot = |number: usize| 8 * number as i32;
        for (number, register) in GENERAL.into_iter().enumerate() {
            dynasm!(self.asm; .arch x64; mov [rsp + slot(number)], Rq(register));
        }
        for (number, register) in WANTED.into_iter().enumerate() {
            self.asm.store(register, At { register: RSP, distance: slot(GENERAL.len() + number) });
        }
        dynasm!(self.asm
            ; .arch x64
            ; mov rsi, Rq(about)
            ; lea rdi, [rbx + field::<R>(0)]
            ; mov rax, QWORD function as usize as i64
            ; call rax
            ; mov [BYTE rsp + ANSWER], rax
        );
        for (number, register) in GENERAL.into_iter().enumerate() {
            dynasm!(self.asm; .arch x64; mov Rq(register), [rsp + slot(number)]);
        }
        for (number, register) in WANTED.into_iter().enumerate() {
            self.asm.load(register, At { register: RSP, distance: slot(GENERAL.len() + number) });
        }
        fetch_mask::<R>(&mut self.asm);
    }
}
