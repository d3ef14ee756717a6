//! An operation on floats that are nearly right: does what `plain.rs` does there, or has the engine do it.

use super::arithmetic::doubt;
use super::routines::{Maker, example};
use super::vectors::{A, B, FACTS, Gpr, Known};
use super::*;
use crate::choice::Choice;
use crate::influence::{FIRST, RECENT as UNIONS, Union};
use crate::offset::{REPAIR, SLACK};
use crate::settle::{FREE, OPERATIONS};
use crate::site::Tally;
use crate::spots::SpotState;

/// Where the arguments' lanes are.
const LANES: [Gpr; 3] = [7, 6, 10];
const OF_A: Gpr = FACTS[0];
const OF_B: Gpr = FACTS[1];
const OF_C: Gpr = FACTS[2];

/// Below the stack: what is known of the third argument.
const THIRD: i32 = 8;

const INFLUENCES: i8 = offset_of!(Facts, influences) as i8;

impl<R: Real> Maker<R> {
    /// The operation on floats in the lanes at rdi, rsi and r10, into that at rdx; what it is, at r11.
    pub fn operation(&mut self, operator: Operator, ty: Type, slow: DynamicLabel) {
        let arity = operator.arity();
        self.check_room();
        for (lane, facts) in LANES.into_iter().zip(FACTS).take(arity) {
            dynasm!(self.asm; .arch x64; mov Rq(facts), [BYTE Rq(lane) + LANE_FACTS]);
        }
        self.compute(operator, ty);
        // It must be fine beyond doubt.
        let [doubtful, fine, influenced, booked, counted] = self.labels();
        dynasm!(self.asm; .arch x64; vucomisd xmm10, xmm0; jbe =>doubtful; =>fine);
        dynasm!(self.asm; .arch x64; mov eax, [BYTE Rq(OF_A) + INFLUENCES]);
        for facts in &FACTS[1..arity] {
            dynasm!(self.asm; .arch x64; or eax, [BYTE Rq(*facts) + INFLUENCES]);
        }
        dynasm!(self.asm; .arch x64; jnz =>influenced; =>booked);
        self.count(slow);
        dynasm!(self.asm; .arch x64; =>counted);
        self.make_node(operator, ty);
        self.set_result();
        dynasm!(self.asm; .arch x64; add rbp, size_of::<Node>() as i32; ret; =>influenced);
        self.influences(operator, slow);
        dynasm!(self.asm; .arch x64; jmp =>booked; =>doubtful);
        match operator {
            Operator::Add | Operator::Sub => self.check_zero_sum(fine),
            Operator::Mul => self.check_zero_product(fine),
            _ => {}
        }
        dynasm!(self.asm; .arch x64; vucomisd xmm10, xmm11; jbe =>slow);
        self.scale(5, 8, doubt(ty == Type::F32));
        dynasm!(self.asm; .arch x64; vucomisd xmm10, xmm5; ja =>slow);
        self.check_doubt(slow);
        self.influences(operator, slow);
        self.count(slow);
        if self.settles {
            let skip = offset_of!(Tally, doubts.skip) as i32;
            dynasm!(self.asm; .arch x64; dec QWORD [rcx + skip]);
        }
        dynasm!(self.asm; .arch x64; jmp =>counted);
    }

    /// Goes to `fine` if a factor is zero beyond doubt. Uses rax.
    fn check_zero_product(&mut self, fine: DynamicLabel) {
        let [is_zero, other] = self.labels();
        dynasm!(self.asm; .arch x64; vmovq rax, xmm2; add rax, rax; jnz =>other);
        for arg in [A, B] {
            self.fetch(5, arg, Known::Native);
            for known in [Known::By, Known::Err] {
                self.fetch(15, arg, known);
                dynasm!(self.asm; .arch x64; vorpd xmm5, xmm5, xmm15);
            }
            dynasm!(self.asm
                ; .arch x64
                ; vmovq rax, xmm5
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

    /// It must be a doubt that passes.
    fn check_doubt(&mut self, slow: DynamicLabel) {
        if !self.settles {
            return;
        }
        dynasm!(self.asm
            ; .arch x64
            ; mov rax, [rbx + offset_of!(Operations<R>, count) as i32]
            ; shr rax, OPERATIONS.trailing_zeros() as i8
            ; add rax, FREE as i32
            ; cmp [rbx + offset_of!(Operations<R>, done_again) as i32], rax
            ; jb =>slow
            ; mov rax, [BYTE r11 + offset_of!(Work, of) as i8]
            ; cmp QWORD [rax + offset_of!(Tally, doubts.skip) as i32], 0
            ; je =>slow
        );
    }

    /// The decision on floats in the lanes at rdi and rsi, if it is beyond doubt that it goes the same way in the reals.
    pub fn compare(&mut self, slow: DynamicLabel) {
        let (count, left) = (offset_of!(SpotState, count), offset_of!(SpotState, choice) + Choice::LEFT);
        let [agrees] = self.labels();
        for (lane, facts) in LANES.into_iter().zip(FACTS).take(2) {
            dynasm!(self.asm; .arch x64; mov Rq(facts), [BYTE Rq(lane) + LANE_FACTS]);
        }
        self.fetch(0, A, Known::Native);
        self.minus_known(0, 0, B, Known::Native);
        self.fetch(2, A, Known::By);
        self.fetch(3, B, Known::By);
        self.fetch(4, A, Known::Err);
        self.plus_known(4, 4, B, Known::Err);
        for value in [0, 2, 3] {
            self.magnitude(value, value);
        }
        self.plus(2, 2, 3);
        self.plus(2, 2, 4);
        self.scale(2, 2, SLACK);
        dynasm!(self.asm
            ; .arch x64
            ; vucomisd xmm0, xmm2
            ; ja =>agrees
            ; jp =>slow
            // Both are what they natively are.
            ; vxorpd xmm3, xmm3, xmm3
            ; vucomisd xmm2, xmm3
            ; jne =>slow
            ; =>agrees
            ; mov rcx, [BYTE r11 + offset_of!(Work, of) as i8]
            ; cmp WORD [rcx + left as i32], 0
            ; jne =>slow
            ; cmp QWORD [rcx + count as i32], 0
            ; je =>slow
            ; inc QWORD [rcx + count as i32]
            ; ret
        );
    }

    /// The influences of the result into eax.
    fn influences(&mut self, operator: Operator, slow: DynamicLabel) {
        let is_sum = matches!(operator, Operator::Add | Operator::Sub);
        if is_sum {
            self.fetch(4, A, Known::Native);
            self.fetch(5, B, Known::Native);
            self.plus_known(13, 5, B, Known::By);
        }
        if operator.arity() == 3 {
            dynasm!(self.asm; .arch x64; mov [rsp - THIRD], Rq(OF_C));
        }
        let unions = offset_of!(Operations<R>, sets.recent);
        dynasm!(self.asm; .arch x64; mov eax, [BYTE Rq(OF_A) + INFLUENCES]);
        for number in 1..operator.arity() {
            let [one, other] = self.labels();
            match number {
                1 => dynasm!(self.asm; .arch x64; mov ecx, [BYTE Rq(OF_B) + INFLUENCES]),
                _ => dynasm!(self.asm; .arch x64; mov rcx, [rsp - THIRD]; mov ecx, [BYTE rcx + INFLUENCES]),
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
                ; imul r8d, eax, FIRST as i32
                ; add r8d, ecx
                ; and r8d, UNIONS as i32 - 1
                ; imul r8d, r8d, size_of::<Union>() as i32
                ; cmp [rbx + r8 + (unions + offset_of!(Union, of)) as i32], eax
                ; jne =>slow
                ; cmp [rbx + r8 + (unions + offset_of!(Union, of) + 4) as i32], ecx
                ; jne =>slow
                ; mov ecx, [rbx + r8 + (unions + offset_of!(Union, is)) as i32]
                ; =>other
                ; mov eax, ecx
                ; =>one
            );
        }
        if !is_sum {
            return;
        }
        let [none] = self.labels();
        dynasm!(self.asm; .arch x64; test eax, eax; jz =>none; vxorpd xmm7, xmm7, xmm7);
        for (real, native) in [(12, 4), (13, 5)] {
            // It may repair, or be repaired.
            dynasm!(self.asm
                ; .arch x64
                ; vucomisd Rx(real), xmm9
                ; je =>slow
                ; vucomisd Rx(native), xmm7
                ; je =>slow
            );
            self.magnitude(real, real);
            self.magnitude(native, native);
            self.scale(native, native, REPAIR);
            dynasm!(self.asm; .arch x64; vucomisd Rx(real), Rx(native); jbe =>slow);
        }
        dynasm!(self.asm; .arch x64; =>none);
    }

    /// Counts the execution, unless there is more to do; from here on it is done. The node's handle goes into r9.
    fn count(&mut self, slow: DynamicLabel) {
        let cursor = offset_of!(Operations<R>, nodes.cursor) as i32;
        dynasm!(self.asm
            ; .arch x64
            ; mov rcx, [BYTE r11 + offset_of!(Work, of) as i8]
            ; mov r9, [rbx + cursor]
            ; mov r8, [BYTE rcx + offset_of!(Tally, executions) as i8]
            ; inc r8
            ; cmp r8, [BYTE rcx + offset_of!(Tally, next) as i8]
            ; jae =>slow
            ; mov [BYTE rcx + offset_of!(Tally, executions) as i8], r8
            ; inc r9
            ; mov [rbx + cursor], r9
            ; inc QWORD [rbx + offset_of!(Operations<R>, count) as i32]
        );
    }

    fn make_node(&mut self, operator: Operator, ty: Type) {
        dynasm!(self.asm
            ; .arch x64
            ; vmovsd [rbp + offset_of!(Node, near.native) as i32], xmm2
            ; vmovsd [rbp + offset_of!(Node, near.offset.by) as i32], xmm6
            ; vmovsd [rbp + offset_of!(Node, near.offset.err) as i32], xmm8
            ; mov ecx, [BYTE r11 + offset_of!(Work, at) as i8]
            ; mov [rbp + offset_of!(Node, influences) as i32], eax
            ; mov [rbp + offset_of!(Node, at) as i32], ecx
            ; mov rcx, [rbx + example::<R>(operator, ty)]
            ; mov [rbp + offset_of!(Node, operator) as i32], rcx
        );
        for (number, lane) in LANES.into_iter().enumerate().take(operator.arity()) {
            dynasm!(self.asm
                ; .arch x64
                ; mov rax, [BYTE Rq(lane) + LANE_WORD]
                ; movzx ecx, BYTE [BYTE Rq(lane) + LANE_SLOT]
                ; mov [rbp + (offset_of!(Node, args) + 8 * number) as i32], rax
                ; mov [rbp + (offset_of!(Node, slots) + number) as i32], cl
            );
        }
    }

    fn set_result(&mut self) {
        dynasm!(self.asm
            ; .arch x64
            ; mov [BYTE rdx + LANE_WORD], r9
            ; mov [BYTE rdx + LANE_FACTS], rbp
            ; mov DWORD [BYTE rdx + LANE_WIDE], ready(Slot::NODE, false)
        );
    }
}
