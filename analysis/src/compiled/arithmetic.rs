//! Operations on floats that are nearly right: what `offset.rs` and `plain.rs` say, in the same order.

use super::routines::{Maker, example};
use super::*;
use crate::choice::Choice;
use crate::influence::{FIRST, RECENT as UNIONS, Union};
use crate::offset::{DISTANCE, DOUBT, DOUBT_OF_SINGLES, LEAST, LEAST_SINGLE, REPAIR, SLACK, TERM, TERM_BESIDE_PRODUCT};
use crate::pair::U;
use crate::settle::{FREE, OPERATIONS};
use crate::site::Tally;
use crate::spots::SpotState;

/// Where the arguments' lanes are, and what is known of the arguments.
const A: Gpr = 7;
const B: Gpr = 6;
const C: Gpr = 10;
const OF_A: Gpr = 8;
const OF_B: Gpr = 9;
const OF_C: Gpr = 1;
const LANES: [Gpr; 3] = [A, B, C];
const FACTS: [Gpr; 3] = [OF_A, OF_B, OF_C];

/// Below the stack: what is known of the third argument.
const THIRD: i32 = 8;

/// An xmm register, and a general one.
type Xmm = u8;
type Gpr = u8;

const BY: i8 = offset_of!(Facts, near.offset.by) as i8;
const ERR: i8 = offset_of!(Facts, near.offset.err) as i8;
const INFLUENCES: i8 = offset_of!(Facts, influences) as i8;

impl<R: Real> Maker<R> {
    /// What the guest has, as a double.
    fn fetch(&mut self, to: Xmm, facts: Gpr) {
        const { assert!(offset_of!(Facts, near.native) == 0) };
        dynasm!(self.asm; .arch x64; vmovsd Rx(to), [Rq(facts)]);
    }

    /// A sum with what an argument is off by.
    fn add_offset(&mut self, to: Xmm, native: Xmm, facts: Gpr) {
        dynasm!(self.asm; .arch x64; vaddsd Rx(to), Rx(native), [BYTE Rq(facts) + BY]);
    }

    fn magnitude(&mut self, to: Xmm, of: Xmm) {
        let mask = self.magnitude;
        dynasm!(self.asm; .arch x64; vandpd Rx(to), Rx(of), [=>mask]);
    }

    fn constant(&mut self, to: Xmm, number: f64) {
        let number = self.number(number);
        dynasm!(self.asm; .arch x64; vmovsd Rx(to), [=>number]);
    }

    fn scale(&mut self, to: Xmm, value: Xmm, by: f64) {
        let by = self.number(by);
        dynasm!(self.asm; .arch x64; vmulsd Rx(to), Rx(value), [=>by]);
    }

    /// Adds a multiple of a value.
    fn add_scaled(&mut self, to: Xmm, value: Xmm, by: f64) {
        let by = self.number(by);
        dynasm!(self.asm; .arch x64; vfmadd231sd Rx(to), Rx(value), [=>by]);
    }

    /// What a sum of two doubles has lost.
    fn rest_of_sum(&mut self, rest: Xmm, sum: Xmm, (a, b): (Xmm, Xmm), free: Xmm) {
        dynasm!(self.asm
            ; .arch x64
            ; vsubsd Rx(free), Rx(sum), Rx(a)
            ; vsubsd Rx(rest), Rx(sum), Rx(free)
            ; vsubsd Rx(rest), Rx(a), Rx(rest)
            ; vsubsd Rx(free), Rx(b), Rx(free)
            ; vaddsd Rx(rest), Rx(rest), Rx(free)
        );
    }

    /// What the guest computes: as a double into xmm2; singles into xmm3 as well.
    fn native(&mut self, operator: Operator, ty: Type) {
        if ty == Type::F64 {
            match operator {
                Operator::Add | Operator::Sub => dynasm!(self.asm; .arch x64; vaddsd xmm2, xmm0, xmm1),
                Operator::Mul => dynasm!(self.asm; .arch x64; vmulsd xmm2, xmm0, xmm1),
                Operator::Div => dynasm!(self.asm; .arch x64; vdivsd xmm2, xmm0, xmm1),
                Operator::Fma => dynasm!(self.asm; .arch x64; vmovapd xmm2, xmm0; vfmadd213sd xmm2, xmm1, xmm14),
                _ => dynasm!(self.asm; .arch x64; vsqrtsd xmm2, xmm0, xmm0),
            }
            return;
        }
        for (from, to) in [0, 1, 14].into_iter().zip([3, 4, 5]).take(operator.arity()) {
            dynasm!(self.asm; .arch x64; vcvtsd2ss Rx(to), Rx(from), Rx(from));
        }
        match operator {
            Operator::Add | Operator::Sub => dynasm!(self.asm; .arch x64; vaddss xmm3, xmm3, xmm4),
            Operator::Mul => dynasm!(self.asm; .arch x64; vmulss xmm3, xmm3, xmm4),
            Operator::Div => dynasm!(self.asm; .arch x64; vdivss xmm3, xmm3, xmm4),
            Operator::Fma => dynasm!(self.asm; .arch x64; vfmadd213ss xmm3, xmm4, xmm5),
            _ => dynasm!(self.asm; .arch x64; vsqrtss xmm3, xmm3, xmm3),
        }
        dynasm!(self.asm; .arch x64; vcvtss2sd xmm2, xmm3, xmm3);
    }

    /// The operations take the arguments' native values in xmm0, xmm1 and xmm14 and the result's in xmm2. They leave the distance in xmm6 and its
    /// magnitude in xmm7, the doubt in xmm8, what weighs against the result in xmm0, and in xmm12 what the first argument is in the reals.
    fn add(&mut self, is_difference: bool, is_single: bool) {
        let (sum, rest) = if is_single { (14, 11) } else { (2, 5) };
        if is_single {
            dynasm!(self.asm; .arch x64; vaddsd xmm14, xmm0, xmm1);
        }
        self.rest_of_sum(5, sum, (0, 1), 4);
        if is_single {
            dynasm!(self.asm
                ; .arch x64
                ; vsubsd xmm4, xmm14, xmm2
                ; vaddsd xmm11, xmm4, xmm5
                ; vsubsd xmm4, xmm11, xmm4
                ; vsubsd xmm5, xmm5, xmm4
            );
            self.magnitude(10, 5);
        }
        dynasm!(self.asm; .arch x64; vmovsd xmm12, [BYTE Rq(OF_A) + BY]; vmovsd xmm13, [BYTE Rq(OF_B) + BY]);
        if is_difference {
            let sign = self.sign;
            dynasm!(self.asm; .arch x64; vxorpd xmm13, xmm13, [=>sign]);
        }
        dynasm!(self.asm; .arch x64; vaddsd xmm4, xmm12, xmm13; vaddsd xmm6, xmm4, Rx(rest));
        self.rest_of_sum(8, 4, (12, 13), 7);
        self.rest_of_sum(9, 6, (4, rest), 7);
        self.magnitude(8, 8);
        self.magnitude(9, 9);
        self.magnitude(7, 6);
        dynasm!(self.asm; .arch x64; vaddsd xmm8, xmm8, xmm9);
        if is_single {
            dynasm!(self.asm; .arch x64; vaddsd xmm8, xmm8, xmm10);
        }
        dynasm!(self.asm
            ; .arch x64
            ; vmovsd xmm9, [BYTE Rq(OF_A) + ERR]
            ; vaddsd xmm9, xmm9, [BYTE Rq(OF_B) + ERR]
            ; vaddsd xmm8, xmm9, xmm8
        );
        self.scale(8, 8, SLACK);
        self.add_offset(12, 0, OF_A);
        self.magnitude(0, 12);
        self.scale(0, 0, TERM);
    }

    /// What the distances of two factors make of each other: into xmm9, and its first part into xmm4; what their doubts do, into xmm10.
    fn cross(&mut self) {
        self.add_offset(12, 0, OF_A);
        self.add_offset(13, 1, OF_B);
        dynasm!(self.asm
            ; .arch x64
            ; vmulsd xmm4, xmm0, [BYTE Rq(OF_B) + BY]
            ; vmovsd xmm9, [BYTE Rq(OF_A) + BY]
            ; vfmadd213sd xmm9, xmm13, xmm4
        );
        self.magnitude(10, 13);
        dynasm!(self.asm; .arch x64; vmulsd xmm10, xmm10, [BYTE Rq(OF_A) + ERR]);
        self.magnitude(11, 12);
        dynasm!(self.asm; .arch x64; vfmadd231sd xmm10, xmm11, [BYTE Rq(OF_B) + ERR]);
    }

    fn mul(&mut self, is_single: bool) {
        match is_single {
            true => dynasm!(self.asm; .arch x64; vmulsd xmm5, xmm0, xmm1; vsubsd xmm5, xmm5, xmm2),
            false => dynasm!(self.asm; .arch x64; vmovapd xmm5, xmm0; vfmsub213sd xmm5, xmm1, xmm2),
        }
        self.cross();
        dynasm!(self.asm; .arch x64; vaddsd xmm6, xmm5, xmm9);
        self.magnitude(9, 9);
        self.magnitude(7, 6);
        self.scale(8, 7, U);
        dynasm!(self.asm; .arch x64; vminsd xmm8, xmm8, xmm9);
        self.magnitude(4, 4);
        dynasm!(self.asm; .arch x64; vaddsd xmm4, xmm4, xmm9);
        self.add_scaled(8, 4, 2.0 * U);
        dynasm!(self.asm; .arch x64; vaddsd xmm8, xmm10, xmm8);
        self.scale(8, 8, SLACK);
        self.constant(0, least(is_single));
    }

    fn div(&mut self, is_single: bool, slow: DynamicLabel) {
        dynasm!(self.asm
            ; .arch x64
            ; vmovapd xmm5, xmm0
            ; vfnmadd231sd xmm5, xmm2, xmm1
            ; vmovsd xmm4, [BYTE Rq(OF_A) + BY]
            ; vfnmadd231sd xmm4, xmm2, [BYTE Rq(OF_B) + BY]
            ; vaddsd xmm9, xmm5, xmm4
        );
        self.add_offset(13, 1, OF_B);
        dynasm!(self.asm; .arch x64; vdivsd xmm6, xmm9, xmm13; vaddsd xmm10, xmm2, xmm6);
        self.magnitude(10, 10);
        dynasm!(self.asm
            ; .arch x64
            ; vmovsd xmm8, [BYTE Rq(OF_A) + ERR]
            ; vfmadd231sd xmm8, xmm10, [BYTE Rq(OF_B) + ERR]
        );
        self.magnitude(4, 4);
        self.magnitude(9, 9);
        dynasm!(self.asm; .arch x64; vaddsd xmm4, xmm4, xmm9);
        self.add_scaled(8, 4, U);
        self.magnitude(13, 13);
        dynasm!(self.asm; .arch x64; vdivsd xmm8, xmm8, xmm13);
        self.magnitude(7, 6);
        self.add_scaled(8, 7, 4.0 * U);
        self.scale(8, 8, SLACK);
        self.magnitude(0, 0);
        let limit = self.number(LEAST);
        dynasm!(self.asm; .arch x64; vucomisd xmm0, [=>limit]; jbe =>slow);
        self.constant(0, least(is_single));
    }

    fn sqrt(&mut self, is_single: bool) {
        dynasm!(self.asm
            ; .arch x64
            ; vmovapd xmm5, xmm0
            ; vfnmadd231sd xmm5, xmm2, xmm2
        );
        self.add_offset(9, 5, OF_A);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm10, xmm2, xmm2
            ; vdivsd xmm11, xmm9, xmm10
            ; vaddsd xmm13, xmm10, xmm11
            ; vdivsd xmm6, xmm9, xmm13
            ; vdivsd xmm4, xmm11, xmm10
            ; vmulsd xmm4, xmm4, xmm4
        );
        self.constant(5, 4.0 * U);
        self.add_scaled(5, 4, 2.0);
        self.magnitude(7, 6);
        self.magnitude(13, 13);
        dynasm!(self.asm
            ; .arch x64
            ; vmovsd xmm8, [BYTE Rq(OF_A) + ERR]
            ; vdivsd xmm8, xmm8, xmm13
            ; vfmadd231sd xmm8, xmm7, xmm5
        );
        self.scale(8, 8, SLACK);
        self.constant(0, least(is_single));
    }

    fn fma(&mut self, is_single: bool) {
        dynasm!(self.asm
            ; .arch x64
            ; vmulsd xmm4, xmm0, xmm1
            ; vmovapd xmm5, xmm0
            ; vfmsub213sd xmm5, xmm1, xmm4
            ; vaddsd xmm6, xmm4, xmm14
        );
        self.rest_of_sum(8, 6, (4, 14), 7);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm5, xmm5, xmm8
            ; vsubsd xmm6, xmm6, xmm2
            ; vaddsd xmm15, xmm6, xmm5
        );
        self.cross();
        self.add_offset(11, 9, OF_C);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm6, xmm11, xmm15
            ; vaddsd xmm10, xmm10, [BYTE Rq(OF_C) + ERR]
        );
        for value in [4, 9, 5, 15, 11] {
            self.magnitude(value, value);
        }
        self.magnitude(7, 6);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm4, xmm4, xmm9
            ; vaddsd xmm5, xmm5, xmm15
            ; vaddsd xmm4, xmm4, xmm5
            ; vaddsd xmm11, xmm11, xmm7
            ; vaddsd xmm4, xmm4, xmm11
        );
        self.add_scaled(10, 4, 2.0 * U);
        self.scale(8, 10, SLACK);
        self.add_offset(1, 14, OF_C);
        self.magnitude(1, 1);
        self.constant(0, least(is_single));
        self.add_scaled(0, 1, TERM_BESIDE_PRODUCT);
    }

    /// The operation on floats in the lanes at rdi, rsi and r10, into that at rdx; what it is, at r11.
    pub fn operation(&mut self, operator: Operator, ty: Type, slow: DynamicLabel) {
        let (arity, is_single) = (operator.arity(), ty == Type::F32);
        self.check_room();
        for (lane, facts) in LANES.into_iter().zip(FACTS).take(arity) {
            dynasm!(self.asm; .arch x64; mov Rq(facts), [BYTE Rq(lane) + LANE_FACTS]);
        }
        for (facts, to) in FACTS.into_iter().zip([0, 1, 14]).take(arity) {
            self.fetch(to, facts);
        }
        if operator == Operator::Sub {
            let sign = self.sign;
            dynasm!(self.asm; .arch x64; vxorpd xmm1, xmm1, [=>sign]);
        }
        self.native(operator, ty);
        match operator {
            Operator::Add => self.add(false, is_single),
            Operator::Sub => self.add(true, is_single),
            Operator::Mul => self.mul(is_single),
            Operator::Div => self.div(is_single, slow),
            Operator::Fma => self.fma(is_single),
            _ => self.sqrt(is_single),
        }
        // It must be fine beyond doubt.
        let doubt = if is_single { DOUBT_OF_SINGLES } else { DOUBT };
        dynasm!(self.asm; .arch x64; vmovapd xmm11, xmm0; vaddsd xmm9, xmm2, xmm6);
        self.add_scaled(0, 7, DISTANCE);
        self.add_scaled(0, 8, doubt);
        self.magnitude(10, 9);
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
        self.scale(5, 8, doubt);
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
        for facts in [OF_A, OF_B] {
            self.fetch(5, facts);
            dynasm!(self.asm
                ; .arch x64
                ; vmovsd xmm15, [BYTE Rq(facts) + BY]
                ; vorpd xmm5, xmm5, xmm15
                ; vmovsd xmm15, [BYTE Rq(facts) + ERR]
                ; vorpd xmm5, xmm5, xmm15
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
        self.fetch(0, OF_A);
        self.fetch(1, OF_B);
        dynasm!(self.asm
            ; .arch x64
            ; vsubsd xmm0, xmm0, xmm1
            ; vmovsd xmm2, [BYTE Rq(OF_A) + BY]
            ; vmovsd xmm3, [BYTE Rq(OF_B) + BY]
            ; vmovsd xmm4, [BYTE Rq(OF_A) + ERR]
            ; vaddsd xmm4, xmm4, [BYTE Rq(OF_B) + ERR]
        );
        for value in [0, 2, 3] {
            self.magnitude(value, value);
        }
        dynasm!(self.asm; .arch x64; vaddsd xmm2, xmm2, xmm3; vaddsd xmm2, xmm2, xmm4);
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
            self.fetch(4, OF_A);
            self.fetch(5, OF_B);
            self.add_offset(13, 5, OF_B);
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

fn least(is_single: bool) -> f64 {
    if is_single { LEAST_SINGLE } else { LEAST }
}
