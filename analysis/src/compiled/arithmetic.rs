//! Operations on doubles and on the pairs that stand for them: what `pair.rs` and `plain.rs` say, in the same order.

use super::places::SHADOW;
use super::*;
use crate::influence::{FIRST, RECENT as UNIONS, Union};
use crate::pair::{LITTLE, SLACK, U, is_safe};
use crate::settle::{FREE, OPERATIONS};
use crate::site::{Extremes, Tally};

/// Numbers that the code needs in memory.
const ROUNDINGS: f64 = 8.0 * U;
const PRODUCT: f64 = 2.0 * U;
const BEYOND_LITTLE: f64 = 1.0 + LITTLE;
const FAR_BEYOND_LITTLE: f64 = 1.0 + 4.0 * LITTLE;
/// The distance of floats is at least this part of them.
const ULP: f64 = U;
/// A term that is less than that of what it natively is may repair it.
const REPAIR: f64 = 1.0 / 256.0;
pub const NUMBERS: [f64; 9] =
    [SLACK, ROUNDINGS, PRODUCT, LITTLE, BEYOND_LITTLE, FAR_BEYOND_LITTLE, ULP, REPAIR, f64::INFINITY];

/// An xmm register.
type Xmm = u8;

impl<R: Real> Compiler<'_, R> {
    fn number(&self, wanted: f64) -> DynamicLabel {
        let Constants { magnitude, numbers, .. } = self.constants;
        numbers.iter().find(|(number, _)| *number == wanted).map_or(magnitude, |(_, label)| *label)
    }

    fn fetch(&mut self, to: Xmm, from: Number, field: usize) {
        dynasm!(self.asm; .arch x64; vmovsd Rx(to), [r13 + lane(from, field)]);
    }

    fn scale(&mut self, value: Xmm, by: f64) {
        let by = self.number(by);
        dynasm!(self.asm; .arch x64; vmulsd Rx(value), Rx(value), [=>by]);
    }

    fn magnitude(&mut self, to: Xmm, of: Xmm) {
        let mask = self.constants.magnitude;
        dynasm!(self.asm; .arch x64; vandpd Rx(to), Rx(of), [=>mask]);
    }

    fn negate(&mut self, value: Xmm) {
        let mask = self.constants.sign;
        dynasm!(self.asm; .arch x64; vxorpd Rx(value), Rx(value), [=>mask]);
    }

    fn two_sum(&mut self, sum: Xmm, rest: Xmm, (a, b): (Xmm, Xmm), free: Xmm) {
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd Rx(sum), Rx(a), Rx(b)
            ; vsubsd Rx(free), Rx(sum), Rx(a)
            ; vsubsd Rx(rest), Rx(sum), Rx(free)
            ; vsubsd Rx(rest), Rx(a), Rx(rest)
            ; vsubsd Rx(free), Rx(b), Rx(free)
            ; vaddsd Rx(rest), Rx(rest), Rx(free)
        );
    }

    fn fast_two_sum(&mut self, sum: Xmm, rest: Xmm, (a, b): (Xmm, Xmm)) {
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd Rx(sum), Rx(a), Rx(b)
            ; vsubsd Rx(rest), Rx(sum), Rx(a)
            ; vsubsd Rx(rest), Rx(b), Rx(rest)
        );
    }

    /// Goes to `slow` unless it is safe. Uses rax.
    pub fn check_safe(&mut self, value: Xmm, slow: DynamicLabel) {
        // Exponents that are safe lie between these.
        const LEAST: i32 = 1023 - 900;
        const COUNT: i32 = 1900;
        const {
            let first = f64::from_bits((LEAST as u64) << 52);
            let last = f64::from_bits(((LEAST + COUNT) as u64) << 52);
            assert!(is_safe(first) && !is_safe(first / 2.0) && is_safe(last / 2.0) && !is_safe(last));
        };
        dynasm!(self.asm
            ; .arch x64
            ; vmovq rax, Rx(value)
            ; shr rax, 52
            ; and eax, 0x7ff
            ; sub eax, LEAST
            ; cmp eax, COUNT
            ; jae =>slow
        );
    }

    /// Adds what products of lower doubles may lose to a bound, unless the arguments are doubles. Uses rax and a register.
    fn add_underflow(&mut self, bound: Xmm, args: &[Number], free: Xmm) {
        self.fetch(free, args[0], LANE_LO);
        for (number, field) in args.iter().flat_map(|arg| [(*arg, LANE_LO), (*arg, LANE_ERR)]).skip(1) {
            dynasm!(self.asm; .arch x64; vmovsd xmm15, [r13 + lane(number, field)]; vorpd Rx(free), Rx(free), xmm15);
        }
        dynasm!(self.asm
            ; .arch x64
            ; vmovq rax, Rx(free)
            // A zero may have a sign.
            ; add rax, rax
            ; neg rax
            ; sbb eax, eax
            ; and eax, 8
            ; vmovq Rx(free), rax
            ; vaddsd Rx(bound), Rx(bound), Rx(free)
        );
    }

    /// (xmm0, xmm1) + (xmm2, xmm3), whose bounds' sum is in xmm15: the pair in xmm0 to xmm2, the double sum in xmm4.
    fn add_pairs(&mut self) {
        self.two_sum(4, 5, (0, 2), 6);
        self.two_sum(7, 8, (1, 3), 6);
        self.two_sum(9, 10, (5, 7), 6);
        self.fast_two_sum(11, 12, (4, 9));
        self.two_sum(13, 14, (8, 12), 6);
        self.fast_two_sum(0, 1, (11, 13));
        self.magnitude(10, 10);
        self.magnitude(14, 14);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm2, xmm15, xmm10
            ; vaddsd xmm2, xmm2, xmm14
        );
        self.scale(2, SLACK);
    }

    fn add(&mut self, a: Number, b: Number, is_difference: bool) {
        self.fetch(0, a, LANE_HI);
        self.fetch(1, a, LANE_LO);
        self.fetch(2, b, LANE_HI);
        self.fetch(3, b, LANE_LO);
        self.fetch(15, a, LANE_ERR);
        if is_difference {
            self.negate(2);
            self.negate(3);
        }
        dynasm!(self.asm; .arch x64; vaddsd xmm15, xmm15, [r13 + lane(b, LANE_ERR)]);
        self.add_pairs();
    }

    /// The pair in xmm0 to xmm2, the double product in xmm4.
    fn mul(&mut self, a: Number, b: Number, slow: DynamicLabel) {
        self.fetch(0, a, LANE_HI);
        self.fetch(1, a, LANE_LO);
        self.fetch(2, b, LANE_HI);
        self.fetch(3, b, LANE_LO);
        self.fetch(13, a, LANE_ERR);
        self.fetch(14, b, LANE_ERR);
        let [zero, done] = self.labels();
        dynasm!(self.asm; .arch x64; vmulsd xmm4, xmm0, xmm2);
        self.check_safe(4, zero);
        dynasm!(self.asm
            ; .arch x64
            ; vmovapd xmm5, xmm0
            ; vfmsub213sd xmm5, xmm2, xmm4
            ; vmulsd xmm6, xmm0, xmm3
            ; vmovapd xmm7, xmm1
            ; vfmadd213sd xmm7, xmm2, xmm6
        );
        self.two_sum(8, 9, (5, 7), 10);
        self.fast_two_sum(11, 12, (4, 8));
        // What the bounds of the arguments make of each other.
        self.magnitude(0, 0);
        self.magnitude(2, 2);
        dynasm!(self.asm
            ; .arch x64
            ; vmulsd xmm0, xmm0, xmm14
            ; vmulsd xmm2, xmm2, xmm13
            ; vaddsd xmm2, xmm0, xmm2
            ; vmulsd xmm13, xmm13, xmm14
            ; vaddsd xmm2, xmm2, xmm13
            ; vmulsd xmm1, xmm1, xmm3
        );
        self.magnitude(1, 1);
        self.scale(1, SLACK);
        self.magnitude(6, 6);
        self.magnitude(7, 7);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm2, xmm2, xmm1
            ; vaddsd xmm6, xmm6, xmm7
        );
        self.scale(6, PRODUCT);
        self.magnitude(9, 9);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm2, xmm2, xmm6
            ; vaddsd xmm2, xmm2, xmm9
        );
        self.scale(2, SLACK);
        self.add_underflow(2, &[a, b], 5);
        let infinity = self.number(f64::INFINITY);
        let [is_zero] = self.labels();
        dynasm!(self.asm
            ; .arch x64
            ; vmovapd xmm0, xmm11
            ; vmovapd xmm1, xmm12
            ; jmp =>done
            // A zero times anything.
            ; =>zero
            ; vxorpd xmm1, xmm1, xmm1
            ; vucomisd xmm4, xmm1
            ; jne =>slow
            ; jp =>slow
            ; vaddsd xmm5, xmm13, xmm14
            ; vmovsd xmm6, [=>infinity]
            ; vucomisd xmm6, xmm5
            ; jbe =>slow
            ; vorpd xmm0, xmm0, xmm13
            ; vmovq rax, xmm0
            ; add rax, rax
            ; jz =>is_zero
            ; vorpd xmm2, xmm2, xmm14
            ; vmovq rax, xmm2
            ; add rax, rax
            ; jnz =>slow
            ; =>is_zero
            ; vmovapd xmm0, xmm4
            ; vmovapd xmm2, xmm1
            ; =>done
        );
    }

    /// The pair in xmm0 to xmm2, the double quotient in xmm4.
    fn div(&mut self, a: Number, b: Number, slow: DynamicLabel) {
        self.fetch(0, a, LANE_HI);
        self.fetch(1, a, LANE_LO);
        self.fetch(2, b, LANE_HI);
        self.fetch(14, b, LANE_ERR);
        dynasm!(self.asm; .arch x64; vdivsd xmm4, xmm0, xmm2);
        self.check_safe(4, slow);
        self.check_safe(0, slow);
        self.magnitude(10, 2);
        dynasm!(self.asm; .arch x64; vmovapd xmm5, xmm10);
        self.scale(5, LITTLE);
        dynasm!(self.asm
            ; .arch x64
            ; vucomisd xmm14, xmm5
            ; jae =>slow
            ; vmovapd xmm5, xmm4
            ; vfnmadd213sd xmm5, xmm2, xmm0
            ; vmulsd xmm6, xmm4, [r13 + lane(b, LANE_LO)]
            ; vsubsd xmm7, xmm1, xmm6
            ; vaddsd xmm7, xmm5, xmm7
            ; vdivsd xmm7, xmm7, xmm2
        );
        self.fast_two_sum(8, 9, (4, 7));
        self.magnitude(1, 1);
        self.magnitude(6, 6);
        self.magnitude(7, 7);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm1, xmm1, xmm6
            ; vdivsd xmm1, xmm1, xmm10
            ; vaddsd xmm1, xmm7, xmm1
        );
        self.scale(1, ROUNDINGS);
        self.magnitude(5, 4);
        dynasm!(self.asm
            ; .arch x64
            ; vmulsd xmm5, xmm5, xmm14
            ; vaddsd xmm5, xmm5, [r13 + lane(a, LANE_ERR)]
            ; vdivsd xmm5, xmm5, xmm10
        );
        self.scale(5, FAR_BEYOND_LITTLE);
        dynasm!(self.asm; .arch x64; vaddsd xmm2, xmm1, xmm5);
        self.scale(2, SLACK);
        self.add_underflow(2, &[a, b], 5);
        dynasm!(self.asm; .arch x64; vmovapd xmm0, xmm8; vmovapd xmm1, xmm9);
    }

    /// The pair in xmm0 to xmm2, the double root in xmm4.
    fn sqrt(&mut self, a: Number, slow: DynamicLabel) {
        self.fetch(0, a, LANE_HI);
        self.fetch(1, a, LANE_LO);
        self.fetch(14, a, LANE_ERR);
        self.check_safe(0, slow);
        dynasm!(self.asm
            ; .arch x64
            ; vxorpd xmm5, xmm5, xmm5
            ; vucomisd xmm0, xmm5
            ; jbe =>slow
            ; vmovapd xmm5, xmm0
        );
        self.scale(5, LITTLE);
        dynasm!(self.asm
            ; .arch x64
            ; vucomisd xmm14, xmm5
            ; jae =>slow
            ; vsqrtsd xmm4, xmm0, xmm0
            ; vmovapd xmm5, xmm4
            ; vfnmadd213sd xmm5, xmm4, xmm0
            ; vaddsd xmm5, xmm5, xmm1
            ; vaddsd xmm6, xmm4, xmm4
            ; vdivsd xmm7, xmm5, xmm6
        );
        self.fast_two_sum(8, 9, (4, 7));
        self.magnitude(1, 1);
        self.magnitude(10, 7);
        dynasm!(self.asm
            ; .arch x64
            ; vdivsd xmm1, xmm1, xmm4
            ; vaddsd xmm1, xmm10, xmm1
        );
        self.scale(1, ROUNDINGS);
        dynasm!(self.asm
            ; .arch x64
            ; vmulsd xmm7, xmm7, xmm7
            ; vdivsd xmm7, xmm7, xmm4
            ; vaddsd xmm1, xmm1, xmm7
            ; vdivsd xmm14, xmm14, xmm6
        );
        self.scale(14, BEYOND_LITTLE);
        dynasm!(self.asm; .arch x64; vaddsd xmm2, xmm1, xmm14);
        self.scale(2, SLACK);
        self.add_underflow(2, &[a], 5);
        dynasm!(self.asm; .arch x64; vmovapd xmm0, xmm8; vmovapd xmm1, xmm9);
    }

    fn fma(&mut self, [a, b, c]: [Number; 3], slow: DynamicLabel) {
        self.mul(a, b, slow);
        self.fetch(3, c, LANE_LO);
        dynasm!(self.asm; .arch x64; vaddsd xmm15, xmm2, [r13 + lane(c, LANE_ERR)]);
        self.fetch(2, c, LANE_HI);
        self.add_pairs();
        self.native_fma([a, b, c], LANE_HI, 4);
    }

    fn native_fma(&mut self, [a, b, c]: [Number; 3], field: usize, to: Xmm) {
        self.fetch(to, a, field);
        self.fetch(5, b, field);
        dynasm!(self.asm; .arch x64; vfmadd213sd Rx(to), xmm5, [r13 + lane(c, field)]);
    }

    /// What the guest computed, into xmm3.
    fn native(&mut self, operator: Operator, args: [Number; 3]) {
        let [a, b, _] = args;
        let second = lane(b, LANE_BITS);
        self.fetch(3, a, LANE_BITS);
        match operator {
            Operator::Add => dynasm!(self.asm; .arch x64; vaddsd xmm3, xmm3, [r13 + second]),
            Operator::Sub => dynasm!(self.asm; .arch x64; vsubsd xmm3, xmm3, [r13 + second]),
            Operator::Mul => dynasm!(self.asm; .arch x64; vmulsd xmm3, xmm3, [r13 + second]),
            Operator::Div => dynasm!(self.asm; .arch x64; vdivsd xmm3, xmm3, [r13 + second]),
            Operator::Fma => self.native_fma(args, LANE_BITS, 3),
            _ => dynasm!(self.asm; .arch x64; vsqrtsd xmm3, xmm3, xmm3),
        }
    }

    pub fn doubles(&mut self, plain: &Plain, slow: DynamicLabel) -> bool {
        let Some(big) = R::BEYOND_PAIRS else { return false };
        let (operator, all) = (plain.operator, plain.args);
        let [a, b, c] = all;
        let args = &all[..operator.arity()];
        match operator {
            Operator::Add => self.add(a, b, false),
            Operator::Sub => self.add(a, b, true),
            Operator::Mul => self.mul(a, b, slow),
            Operator::Div => self.div(a, b, slow),
            Operator::Sqrt => self.sqrt(a, slow),
            Operator::Fma => self.fma([a, b, c], slow),
            _ => return false,
        }
        self.native(operator, all);
        self.errors(slow);
        self.influences(operator, args, slow);
        self.find_room(plain, big, slow);
        self.check_doubt(slow);
        self.make_node(plain, args);
        self.set_result(plain.to);
        self.keep_extremes(args);
        true
    }

    /// Total error into r8, local error into r10, which must be within what is tolerated.
    fn errors(&mut self, slow: DynamicLabel) {
        let tolerated = offset_of!(Operations<R>, tolerated) as i32;
        let [fine] = self.labels();
        dynasm!(self.asm
            ; .arch x64
            ; vucomisd xmm3, xmm3
            ; jp =>slow
            ; vmovq r8, xmm3
            ; vmovq rcx, xmm0
            ; vmovq r10, xmm4
            // Of one sign, so that distances are differences.
            ; mov rax, r8
            ; mov rdx, r10
            ; xor rax, rcx
            ; xor rdx, rcx
            ; or rax, rdx
            ; js =>slow
            ; sub r10, rcx
            ; mov rax, r10
            ; neg rax
            ; cmovns r10, rax
            ; cmp r10, [rbx + tolerated]
            ; ja =>slow
            ; sub r8, rcx
            ; mov rax, r8
            ; neg rax
            ; cmovns r8, rax
            ; cmp r8, [rbx + tolerated]
            ; jbe =>fine
            ; cmp BYTE [rbx + offset_of!(Operations<R>, strays.wanted) as i32], 0
            ; jne =>slow
            ; =>fine
        );
    }

    /// The local error must be tolerable beyond doubt, or the doubt one that passes. The tally is in rdi.
    fn check_doubt(&mut self, slow: DynamicLabel) {
        let tolerated = offset_of!(Operations<R>, tolerated) as i32;
        let [doubtful, not_zero, unsettled, fine] = self.labels();
        // Errors and doubts of half of what is tolerated are less together.
        let half = (self.operations.tolerated / 2).min(1 << 20);
        self.magnitude(5, 0);
        dynasm!(self.asm
            ; .arch x64
            ; cmp r10, half as i32
            ; jae =>doubtful
            ; mov rax, QWORD (half as f64 * ULP).to_bits() as i64
            ; vmovq xmm6, rax
            ; vmulsd xmm6, xmm6, xmm5
            ; vucomisd xmm6, xmm2
            ; ja =>fine
            ; =>doubtful
            ; vxorpd xmm7, xmm7, xmm7
            ; vucomisd xmm0, xmm7
            ; jne =>not_zero
            ; vucomisd xmm2, xmm7
            ; je =>fine
            ; =>not_zero
            // Infinite, or NaN.
            ; vmovq rax, xmm0
            ; shr rax, 52
            ; not eax
            ; test eax, 0x7ff
            ; jz =>slow
        );
        self.magnitude(6, 1);
        self.scale(6, SLACK);
        dynasm!(self.asm
            ; .arch x64
            ; vaddsd xmm7, xmm2, xmm2
            ; vaddsd xmm6, xmm6, xmm7
            ; vaddsd xmm7, xmm0, xmm6
            ; vucomisd xmm7, xmm0
            ; jne =>unsettled
            ; vsubsd xmm7, xmm0, xmm6
            ; vucomisd xmm7, xmm0
            ; je =>fine
            ; =>unsettled
        );
        self.scale(5, ULP);
        dynasm!(self.asm
            ; .arch x64
            ; vdivsd xmm5, xmm2, xmm5
            // What is too large for an integer becomes a large one without a sign.
            ; vcvttsd2si rax, xmm5
            ; inc rax
            ; add rax, r10
            ; cmp rax, [rbx + tolerated]
            ; jbe =>fine
        );
        if self.operations.settles {
            let skip = offset_of!(Tally, doubts.skip) as i32;
            dynasm!(self.asm
                ; .arch x64
                ; mov rax, [rbx + offset_of!(Operations<R>, count) as i32]
                ; shr rax, OPERATIONS.trailing_zeros() as i8
                ; add rax, FREE as i32
                ; cmp [rbx + offset_of!(Operations<R>, done_again) as i32], rax
                ; jb =>slow
                ; cmp QWORD [rdi + skip], 0
                ; je =>slow
                ; dec QWORD [rdi + skip]
            );
        }
        dynasm!(self.asm; .arch x64; =>fine);
    }

    /// The influences of the result into r9.
    fn influences(&mut self, operator: Operator, args: &[Number], slow: DynamicLabel) {
        let [done] = self.labels();
        let unions = offset_of!(Operations<R>, sets.recent);
        dynasm!(self.asm; .arch x64; mov r9d, [r13 + lane(args[0], LANE_INFLUENCES)]);
        for arg in &args[1..] {
            let [one, other] = self.labels();
            dynasm!(self.asm
                ; .arch x64
                ; mov eax, [r13 + lane(*arg, LANE_INFLUENCES)]
                ; cmp eax, r9d
                ; je =>one
                ; test eax, eax
                ; jz =>one
                ; test r9d, r9d
                ; jz =>other
                // Perhaps their union was asked for not long ago.
                ; imul edx, r9d, FIRST as i32
                ; add edx, eax
                ; and edx, UNIONS as i32 - 1
                ; imul edx, edx, size_of::<Union>() as i32
                ; cmp [rbx + rdx + (unions + offset_of!(Union, of)) as i32], r9d
                ; jne =>slow
                ; cmp [rbx + rdx + (unions + offset_of!(Union, of) + 4) as i32], eax
                ; jne =>slow
                ; mov eax, [rbx + rdx + (unions + offset_of!(Union, is)) as i32]
                ; =>other
                ; mov r9d, eax
                ; =>one
            );
        }
        if !matches!(operator, Operator::Add | Operator::Sub) {
            return;
        }
        dynasm!(self.asm; .arch x64; test r9d, r9d; jz =>done; vxorpd xmm7, xmm7, xmm7);
        for arg in args {
            // It may repair, or be repaired.
            self.fetch(5, *arg, LANE_HI);
            self.fetch(6, *arg, LANE_BITS);
            dynasm!(self.asm; .arch x64; vucomisd xmm0, xmm5; je =>slow; vucomisd xmm6, xmm7; je =>slow);
            self.magnitude(5, 5);
            self.magnitude(6, 6);
            self.scale(6, REPAIR);
            dynasm!(self.asm; .arch x64; vucomisd xmm5, xmm6; jbe =>slow);
        }
        dynasm!(self.asm; .arch x64; =>done);
    }

    /// The tally into rdi, the next node into rsi and its handle into rcx, how often the site was executed into r11.
    fn find_room(&mut self, plain: &Plain, big: usize, slow: DynamicLabel) {
        let tally: *const Tally = self.operations.sites.tally(plain.site);
        dynasm!(self.asm
            ; .arch x64
            ; mov rdx, [rbx + offset_of!(Operations<R>, nodes.cursor) as i32]
            ; cmp rdx, [rbx + offset_of!(Operations<R>, nodes.end) as i32]
            ; je =>slow
            ; lea rcx, [rdx + 1]
            ; imul rsi, rdx, size_of::<Node<R>>() as i32
            ; add rsi, [rbx + offset_of!(Operations<R>, nodes.base) as i32]
            ; cmp QWORD [rsi + (offset_of!(Node<R>, real) + big) as i32], 0
            ; jne =>slow
            ; mov rdi, QWORD tally as i64
            ; mov r11, [rdi + offset_of!(Tally, executions) as i32]
            ; inc r11
            ; cmp r11, [rdi + offset_of!(Tally, next) as i32]
            ; jae =>slow
        );
    }

    /// Books the execution: from here on it is done.
    fn make_node(&mut self, plain: &Plain, args: &[Number]) {
        let real = offset_of!(Node<R>, real);
        dynasm!(self.asm
            ; .arch x64
            ; mov [rdi + offset_of!(Tally, executions) as i32], r11
            ; mov [rbx + offset_of!(Operations<R>, nodes.cursor) as i32], rcx
            ; inc QWORD [rbx + offset_of!(Operations<R>, count) as i32]
            ; inc QWORD [rbx + offset_of!(Operations<R>, sites.executions) as i32]
            ; vmovsd [rsi + real as i32], xmm0
            ; vmovsd [rsi + (real + 8) as i32], xmm1
            ; vmovsd [rsi + (real + 16) as i32], xmm2
            ; mov [rsi + offset_of!(Node<R>, ulps) as i32], r8
            ; vmovsd [rsi + offset_of!(Node<R>, low) as i32], xmm3
            ; mov QWORD [rsi + offset_of!(Node<R>, slots) as i32], 0
            ; mov DWORD [rsi + offset_of!(Node<R>, at) as i32], plain.at.0 as i32
            ; mov [rsi + offset_of!(Node<R>, influences) as i32], r9d
            ; mov rax, [rbx + self.example(plain)]
            ; mov [rsi + offset_of!(Node<R>, operator) as i32], rax
        );
        for (number, arg) in args.iter().enumerate() {
            dynasm!(self.asm
                ; .arch x64
                ; mov rax, [r13 + lane(*arg, LANE_WORD)]
                ; movzx edx, WORD [r13 + lane(*arg, LANE_SLOT)]
                ; mov [rsi + (offset_of!(Node<R>, args) + 8 * number) as i32], rax
                ; mov [rsi + (offset_of!(Node<R>, slots) + size_of::<Slot>() * number) as i32], dx
            );
        }
    }

    fn set_result(&mut self, to: Number) {
        dynasm!(self.asm
            ; .arch x64
            ; vmovsd [r13 + lane(to, LANE_HI)], xmm0
            ; vmovsd [r13 + lane(to, LANE_LO)], xmm1
            ; vmovsd [r13 + lane(to, LANE_ERR)], xmm2
            ; vmovsd [r13 + lane(to, LANE_BITS)], xmm3
            ; mov [r13 + lane(to, LANE_ULPS)], r8
            ; mov [r13 + lane(to, LANE_INFLUENCES)], r9d
            ; mov [r13 + lane(to, LANE_WORD)], rcx
            ; mov WORD [r13 + lane(to, LANE_SLOT)], slot_code(Slot::Node)
            ; mov DWORD [r13 + lane(to, LANE_PART)], SHADOW
            ; mov [r13 + lane(to, LANE_PART + 4)], ecx
            ; mov BYTE [r13 + lane(to, LANE_WIDE)], 0
            ; mov BYTE [r13 + lane(to, LANE_IS_PLAIN)], 1
        );
    }

    /// The tally is in rdi, the node's handle in rcx.
    fn keep_extremes(&mut self, args: &[Number]) {
        for (number, arg) in args.iter().enumerate().take(2) {
            let [not_less, not_greater] = self.labels();
            let extremes = offset_of!(Tally, extremes) + number * size_of::<Extremes>();
            let at = |field: usize| (extremes + field) as i32;
            self.fetch(5, *arg, LANE_BITS);
            dynasm!(self.asm
                ; .arch x64
                ; vmovsd xmm6, [rdi + at(offset_of!(Extremes, least))]
                ; vucomisd xmm6, xmm5
                ; jbe =>not_less
                ; vmovsd [rdi + at(offset_of!(Extremes, least))], xmm5
                ; mov [rdi + at(offset_of!(Extremes, least_node))], ecx
                ; =>not_less
                ; vucomisd xmm5, [rdi + at(offset_of!(Extremes, greatest))]
                ; jbe =>not_greater
                ; vmovsd [rdi + at(offset_of!(Extremes, greatest))], xmm5
                ; mov [rdi + at(offset_of!(Extremes, greatest_node))], ecx
                ; =>not_greater
            );
        }
    }
}
