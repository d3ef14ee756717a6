//! Operations that may be out of the ordinary: zeros, doubts that pass, results under influences. And decisions of the program.
//!
//! What is known of the arguments is at r8, r9 and rcx, and r11 says what it is ([`Work`]). The carry flag tells that the engine must do it; nothing has
//! been changed then.

use super::arithmetic::{Arithmetic, INFLUENCES, doubt, fetch_mask};
use super::encode::{ADD, At, MUL, Write};
use super::literals::{Literal, number};
use super::routines::Maker;
use super::*;
use crate::choice::Choice;
use crate::influence::{FIRST, RECENT as UNIONS, Union};
use crate::settle::{FREE, OPERATIONS};
use crate::site::Tally;
use crate::spots::SpotState;

pub const OF_A: u8 = 8;
pub const OF_B: u8 = 9;
const OF_C: u8 = 1;

/// Below the stack: what is known of the third argument.
const THIRD: i32 = 8;

const ARGUMENTS: [At; 3] =
    [At { register: OF_A, distance: 0 }, At { register: OF_B, distance: 0 }, At { register: OF_C, distance: 0 }];

impl<R: Real> Maker<R> {
    pub fn arithmetic(&mut self, ty: Type) -> Arithmetic<'_, Assembler, R> {
        let (args, natives, is_single) = (ARGUMENTS, ARGUMENTS, ty == Type::F32);
        let are_left = [false; 3];
        Arithmetic { asm: &mut self.asm, args, natives, are_left, is_single, reals: PhantomData }
    }

    /// An operation that is not fine beyond doubt, or whose arguments have influences. It is as [`Arithmetic`] leaves it, and in rdi there is how many
    /// operations have been done that are not counted. The influences of the result go into eax. The zero flag tells that the execution is counted at its
    /// site.
    pub fn decide(&mut self, operator: Operator, ty: Type) {
        let [fine, fail] = self.asm.new_labels();
        let is_sum = matches!(operator, Operator::Add | Operator::Sub);
        if operator.arity() == 3 {
            dynasm!(self.asm; .arch x64; mov [rsp - THIRD], Rq(OF_C));
        }
        dynasm!(self.asm
            ; .arch x64
            ; mov rax, [BYTE r11 + offset_of!(Work, of) as i8]
            ; cmp QWORD [rax + offset_of!(Tally, left) as i32], 1
            ; jle =>fail
        );
        self.arithmetic(ty).real();
        if is_sum {
            self.check_repairs(ty, fail);
        }
        dynasm!(self.asm; .arch x64; vucomisd xmm7, xmm8; ja =>fine);
        match operator {
            Operator::Add | Operator::Sub => self.check_zero_sum(fine),
            Operator::Mul => self.check_zero_product(fine),
            _ => {}
        }
        let margin = if ty == Type::F32 { Literal::MarginOfSingles } else { Literal::Margin };
        self.asm.avx(MUL, 5, 10, number::<R>(margin));
        dynasm!(self.asm; .arch x64; vucomisd xmm5, xmm0; jbe =>fail);
        self.asm.avx(MUL, 5, 8, number::<R>(doubt(ty == Type::F32)));
        dynasm!(self.asm; .arch x64; vucomisd xmm10, xmm5; ja =>fail);
        self.check_doubt(fail);
        self.influences(operator, fail);
        if self.settles {
            let skip = offset_of!(Tally, doubts.skip) as i32;
            dynasm!(self.asm; .arch x64; mov rcx, [BYTE r11 + offset_of!(Work, of) as i8]; dec QWORD [rcx + skip]);
        }
        // (No carry, and not zero.)
        dynasm!(self.asm; .arch x64; test rsp, rsp; ret; =>fine);
        self.influences(operator, fail);
        dynasm!(self.asm; .arch x64; test rsp, rsp; ret; =>fail);
        let [ask, refuse] = self.asm.new_labels();
        if is_sum && self.judges {
            self.lose(operator, ty, ask, refuse);
        }
        dynasm!(self.asm; .arch x64; =>ask);
        if is_sum || matches!(operator, Operator::Mul | Operator::Fma) {
            self.judge(operator, ty);
        }
        dynasm!(self.asm; .arch x64; =>refuse; stc; ret);
    }

    /// Has Rust judge a sum or product.
    fn judge(&mut self, operator: Operator, ty: Type) {
        let function: Judge<R> = if ty == Type::F32 { judge::<f32, R> } else { judge::<f64, R> };
        let (nothing, [fail]): (*const Facts, _) = (Facts::NONE, self.asm.new_labels());
        dynasm!(self.asm
            ; .arch x64
            ; mov rdx, Rq(OF_A)
            ; mov rcx, Rq(OF_B)
        );
        match operator.arity() {
            3 => dynasm!(self.asm; .arch x64; mov r8, [rsp - THIRD]),
            // Of nothing.
            _ => dynasm!(self.asm; .arch x64; mov r8, QWORD nothing as i64),
        }
        dynasm!(self.asm
            ; .arch x64
            ; sub rsp, 40
            ; vmovsd [rsp], xmm2
            ; vmovsd [rsp + 8], xmm6
            ; vmovsd [rsp + 16], xmm8
            ; mov rdi, [rbx + field::<R>(offset_of!(Operations<R>, routines.way.call))]
            ; mov rsi, r11
            ; vmovapd xmm0, xmm2
            ; vmovapd xmm1, xmm6
            ; vmovapd xmm2, xmm8
            ; mov rax, QWORD function as usize as i64
            ; call rax
            ; vmovsd xmm2, [rsp]
            ; vmovsd xmm6, [rsp + 8]
            ; vmovsd xmm8, [rsp + 16]
            ; add rsp, 40
        );
        fetch_mask::<R>(&mut self.asm);
        dynasm!(self.asm
            ; .arch x64
            ; mov r10, [rbx + field::<R>(offset_of!(Operations<R>, nodes.cursor))]
            // The carry flag is its sign.
            ; bt rax, 63
            ; jc =>fail
            ; cmp eax, eax
            ; ret
            ; =>fail
            ; stc
            ; ret
        );
    }

    /// Goes to `fine` if a factor is zero beyond doubt. Uses rax.
    fn check_zero_product(&mut self, fine: DynamicLabel) {
        let [is_zero, other] = self.asm.new_labels();
        let (by, err) = (offset_of!(Facts, near.offset.by) as i8, offset_of!(Facts, near.offset.err) as i8);
        dynasm!(self.asm; .arch x64; vmovq rax, xmm2; add rax, rax; jnz =>other);
        for facts in [OF_A, OF_B] {
            dynasm!(self.asm
                ; .arch x64
                ; mov rax, [Rq(facts)]
                ; or rax, [BYTE Rq(facts) + by]
                ; or rax, [BYTE Rq(facts) + err]
                ; add rax, rax
                ; jz =>is_zero
            );
        }
        dynasm!(self.asm
            ; .arch x64
            ; jmp =>other
            ; =>is_zero
            ; vxorpd xmm6, xmm6, xmm6
            ; vxorpd xmm8, xmm8, xmm8
            ; jmp =>fine
            ; =>other
        );
    }

    /// Goes to `fine` if a sum is zero beyond doubt. Uses rax.
    fn check_zero_sum(&mut self, fine: DynamicLabel) {
        dynasm!(self.asm
            ; .arch x64
            ; vorpd xmm5, xmm2, xmm6
            ; vorpd xmm5, xmm5, xmm8
            ; vmovq rax, xmm5
            ; add rax, rax
            ; jz =>fine
        );
    }

    /// It must be a doubt that passes. Leaves the tally in rax.
    pub fn check_doubt(&mut self, fail: DynamicLabel) {
        if !self.settles {
            return;
        }
        dynasm!(self.asm
            ; .arch x64
            ; mov rax, [rbx + field::<R>(offset_of!(Operations<R>, count))]
            ; add rax, rdi
            ; shr rax, OPERATIONS.trailing_zeros() as i8
            ; add rax, FREE as i32
            ; cmp [rbx + field::<R>(offset_of!(Operations<R>, done_again))], rax
            ; jb =>fail
            ; mov rax, [BYTE r11 + offset_of!(Work, of) as i8]
            ; cmp QWORD [rax + offset_of!(Tally, doubts.skip) as i32], 0
            ; je =>fail
        );
    }

    /// The influences of the result into eax.
    fn influences(&mut self, operator: Operator, fail: DynamicLabel) {
        let unions = offset_of!(Operations<R>, sets.recent);
        dynasm!(self.asm; .arch x64; mov eax, [Rq(OF_A) + INFLUENCES]);
        for number in 1..operator.arity() {
            let [one, other] = self.asm.new_labels();
            match number {
                1 => dynasm!(self.asm; .arch x64; mov ecx, [Rq(OF_B) + INFLUENCES]),
                _ => dynasm!(self.asm; .arch x64; mov rcx, [rsp - THIRD]; mov ecx, [rcx + INFLUENCES]),
            }
            dynasm!(self.asm
                ; .arch x64
                ; cmp ecx, eax
                ; je =>one
                ; test ecx, ecx
                ; jz =>one
                ; test eax, eax
                ; jz =>other
                // Perhaps their union was asked for not long ago.
                ; imul edx, eax, FIRST as i32
                ; add edx, ecx
                ; and edx, UNIONS as i32 - 1
                ; imul edx, edx, size_of::<Union>() as i32
                ; cmp [rbx + rdx + field::<R>(unions + offset_of!(Union, of))], eax
                ; jne =>fail
                ; cmp [rbx + rdx + field::<R>(unions + offset_of!(Union, of) + 4)], ecx
                ; jne =>fail
                ; mov ecx, [rbx + rdx + field::<R>(unions + offset_of!(Union, is))]
                ; =>other
                ; mov eax, ecx
                ; =>one
            );
        }
    }

    /// A term that is under an influence, or has one beside it, must neither repair nor be repaired. Leaves xmm7 alone.
    fn check_repairs(&mut self, ty: Type, fail: DynamicLabel) {
        let [none] = self.asm.new_labels();
        dynasm!(self.asm
            ; .arch x64
            ; mov eax, [Rq(OF_A) + INFLUENCES]
            ; or eax, [Rq(OF_B) + INFLUENCES]
            ; jz =>none
            ; vxorpd xmm3, xmm3, xmm3
        );
        let mut arithmetic = self.arithmetic(ty);
        for (arg, native, real) in [(0, 4, 12), (1, 5, 13)] {
            arithmetic.asm.load(native, ARGUMENTS[arg]);
            arithmetic.avx(ADD, real, native, arithmetic.by(arg));
            dynasm!(arithmetic.asm
                ; .arch x64
                ; vucomisd Rx(real), xmm9
                ; je =>fail
                ; vucomisd Rx(native), xmm3
                ; je =>fail
            );
            arithmetic.magnitude(real, real);
            arithmetic.magnitude(native, native);
            arithmetic.avx(MUL, native, native, number::<R>(Literal::Repair));
            dynasm!(arithmetic.asm; .arch x64; vucomisd Rx(real), Rx(native); jbe =>fail);
        }
        dynasm!(self.asm; .arch x64; =>none);
    }

    /// A decision on two floats, if it is beyond doubt that it goes the same way in the reals.
    pub fn compare(&mut self) {
        let (count, left) = (offset_of!(SpotState, count), offset_of!(SpotState, choice) + Choice::LEFT);
        let (by, err) = (offset_of!(Facts, near.offset.by) as i8, offset_of!(Facts, near.offset.err) as i8);
        let [agrees, fail] = self.asm.new_labels();
        dynasm!(self.asm
            ; .arch x64
            ; vmovsd xmm0, [Rq(OF_A)]
            ; vsubsd xmm0, xmm0, [Rq(OF_B)]
            ; vmovsd xmm2, [BYTE Rq(OF_A) + by]
            ; vmovsd xmm3, [BYTE Rq(OF_B) + by]
            ; vmovsd xmm4, [BYTE Rq(OF_A) + err]
            ; vaddsd xmm4, xmm4, [BYTE Rq(OF_B) + err]
        );
        for value in [0, 2, 3] {
            self.arithmetic(Type::F64).magnitude(value, value);
        }
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm2, xmm2, xmm3
            ; vaddsd xmm2, xmm2, xmm4
            ; vmulsd xmm2, xmm2, [rbx + number::<R>(Literal::Slack).distance]
            ; vucomisd xmm0, xmm2
            ; ja =>agrees
            ; jp =>fail
            // Both are what they natively are.
            ; vxorpd xmm3, xmm3, xmm3
            ; vucomisd xmm2, xmm3
            ; jne =>fail
            ; =>agrees
            ; mov rcx, [BYTE r11 + offset_of!(Work, of) as i8]
            ; cmp WORD [rcx + left as i32], 0
            ; jne =>fail
            ; cmp QWORD [rcx + count as i32], 0
            ; je =>fail
            ; inc QWORD [rcx + count as i32]
            ; clc
            ; ret
            ; =>fail
            ; stc
            ; ret
        );
    }
}
