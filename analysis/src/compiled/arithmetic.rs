//! Operations on doubles and on the pairs that stand for them: what `pair.rs` and `plain.rs` say, in the same order.

use super::routines::{Maker, example};
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
const ULP_OF_SINGLES: f64 = f32::EPSILON as f64 / 2.0;
/// A term that is less than that of what it natively is may repair it.
const REPAIR: f64 = 1.0 / 256.0;
pub const NUMBERS: [f64; 9] =
    [SLACK, ROUNDINGS, PRODUCT, LITTLE, BEYOND_LITTLE, FAR_BEYOND_LITTLE, ULP, REPAIR, f64::INFINITY];

/// Where the arguments are.
const A: Gpr = 7;
const B: Gpr = 6;
const C: Gpr = 11;

/// Below the stack: the third argument, and the local error.
const THIRD: i32 = 16;
const LOCAL: i32 = 8;

/// An xmm register, and a general one.
type Xmm = u8;
type Gpr = u8;

impl<R: Real> Maker<R> {
    fn fetch(&mut self, to: Xmm, from: Gpr, field: i8) {
        dynasm!(self.asm; .arch x64; vmovsd Rx(to), [BYTE Rq(from) + field]);
    }

    /// What the guest has, as a double.
    fn fetch_native(&mut self, to: Xmm, from: Gpr, ty: Type) {
        match ty {
            Type::F32 => dynasm!(self.asm
                ; .arch x64
                ; vmovss Rx(to), [BYTE Rq(from) + LANE_BITS]
                ; vcvtss2sd Rx(to), Rx(to), Rx(to)
            ),
            _ => self.fetch(to, from, LANE_BITS),
        }
    }

    fn scale(&mut self, value: Xmm, by: f64) {
        let by = self.number(by);
        dynasm!(self.asm; .arch x64; vmulsd Rx(value), Rx(value), [=>by]);
    }

    fn magnitude(&mut self, to: Xmm, of: Xmm) {
        let mask = self.magnitude;
        dynasm!(self.asm; .arch x64; vandpd Rx(to), Rx(of), [=>mask]);
    }

    fn negate(&mut self, value: Xmm) {
        let mask = self.sign;
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
    pub(super) fn check_safe(&mut self, value: Xmm, slow: DynamicLabel) {
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
    fn add_underflow(&mut self, bound: Xmm, args: &[Gpr], free: Xmm) {
        self.fetch(free, args[0], LANE_LO);
        for (number, field) in args.iter().flat_map(|arg| [(*arg, LANE_LO), (*arg, LANE_ERR)]).skip(1) {
            dynasm!(self.asm; .arch x64; vmovsd xmm15, [BYTE Rq(number) + field]; vorpd Rx(free), Rx(free), xmm15);
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

    fn add(&mut self, a: Gpr, b: Gpr, is_difference: bool) {
        self.fetch(0, a, LANE_HI);
        self.fetch(1, a, LANE_LO);
        self.fetch(2, b, LANE_HI);
        self.fetch(3, b, LANE_LO);
        self.fetch(15, a, LANE_ERR);
        if is_difference {
            self.negate(2);
            self.negate(3);
        }
        dynasm!(self.asm; .arch x64; vaddsd xmm15, xmm15, [BYTE Rq(b) + LANE_ERR]);
        self.add_pairs();
    }

    /// The pair in xmm0 to xmm2, the double product in xmm4.
    fn mul(&mut self, a: Gpr, b: Gpr, slow: DynamicLabel) {
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
    fn div(&mut self, a: Gpr, b: Gpr, slow: DynamicLabel) {
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
            ; vmulsd xmm6, xmm4, [BYTE Rq(b) + LANE_LO]
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
            ; vaddsd xmm5, xmm5, [BYTE Rq(a) + LANE_ERR]
            ; vdivsd xmm5, xmm5, xmm10
        );
        self.scale(5, FAR_BEYOND_LITTLE);
        dynasm!(self.asm; .arch x64; vaddsd xmm2, xmm1, xmm5);
        self.scale(2, SLACK);
        self.add_underflow(2, &[a, b], 5);
        dynasm!(self.asm; .arch x64; vmovapd xmm0, xmm8; vmovapd xmm1, xmm9);
    }

    /// The pair in xmm0 to xmm2, the double root in xmm4.
    fn sqrt(&mut self, a: Gpr, slow: DynamicLabel) {
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

    fn fma(&mut self, [a, b, c]: [Gpr; 3], slow: DynamicLabel) {
        self.mul(a, b, slow);
        self.fetch(3, c, LANE_LO);
        dynasm!(self.asm; .arch x64; vaddsd xmm15, xmm2, [BYTE Rq(c) + LANE_ERR]);
        self.fetch(2, c, LANE_HI);
        self.add_pairs();
        self.apply_doubles(Operator::Fma, LANE_HI, 4);
    }

    /// The operation on doubles that are fields of the arguments.
    fn apply_doubles(&mut self, operator: Operator, field: i8, to: Xmm) {
        self.fetch(to, A, field);
        match operator {
            Operator::Add => dynasm!(self.asm; .arch x64; vaddsd Rx(to), Rx(to), [BYTE Rq(B) + field]),
            Operator::Sub => dynasm!(self.asm; .arch x64; vsubsd Rx(to), Rx(to), [BYTE Rq(B) + field]),
            Operator::Mul => dynasm!(self.asm; .arch x64; vmulsd Rx(to), Rx(to), [BYTE Rq(B) + field]),
            Operator::Div => dynasm!(self.asm; .arch x64; vdivsd Rx(to), Rx(to), [BYTE Rq(B) + field]),
            Operator::Fma => {
                self.fetch(5, B, field);
                dynasm!(self.asm; .arch x64; vfmadd213sd Rx(to), xmm5, [BYTE Rq(C) + field]);
            }
            _ => dynasm!(self.asm; .arch x64; vsqrtsd Rx(to), Rx(to), Rx(to)),
        }
    }

    /// The operation on the singles in xmm4 to xmm6, into xmm4.
    fn apply_singles(&mut self, operator: Operator) {
        match operator {
            Operator::Add => dynasm!(self.asm; .arch x64; vaddss xmm4, xmm4, xmm5),
            Operator::Sub => dynasm!(self.asm; .arch x64; vsubss xmm4, xmm4, xmm5),
            Operator::Mul => dynasm!(self.asm; .arch x64; vmulss xmm4, xmm4, xmm5),
            Operator::Div => dynasm!(self.asm; .arch x64; vdivss xmm4, xmm4, xmm5),
            Operator::Fma => dynasm!(self.asm; .arch x64; vfmadd213ss xmm4, xmm5, xmm6),
            _ => dynasm!(self.asm; .arch x64; vsqrtss xmm4, xmm4, xmm4),
        }
    }

    /// The operation on floats in the lanes at rdi, rsi and r11, into that at rdx; the site's tally is at r10.
    pub fn operation(&mut self, operator: Operator, ty: Type, big: usize, slow: DynamicLabel) {
        let arity = operator.arity();
        if arity == 3 {
            dynasm!(self.asm; .arch x64; mov [rsp - THIRD], r11);
        }
        match operator {
            Operator::Add => self.add(A, B, false),
            Operator::Sub => self.add(A, B, true),
            Operator::Mul => self.mul(A, B, slow),
            Operator::Div => self.div(A, B, slow),
            Operator::Fma => self.fma([A, B, C], slow),
            _ => self.sqrt(A, slow),
        }
        if ty == Type::F32 {
            self.errors_of_singles(operator, slow);
        } else {
            self.apply_doubles(operator, LANE_BITS, 3);
            self.errors(slow);
        }
        self.influences(operator, ty, slow);
        self.find_room(big, slow);
        if ty == Type::F32 {
            self.check_doubt_of_singles(slow);
        } else {
            self.check_doubt(slow);
        }
        self.make_node(operator, ty);
        self.set_result();
        self.keep_extremes(arity.min(2), ty);
        if arity == 3 {
            dynasm!(self.asm; .arch x64; mov rsi, [rsp - THIRD]);
            self.keep_argument(B, 2);
        }
        dynasm!(self.asm; .arch x64; clc; ret);
    }

    /// Goes to `slow` if a double does not tell which single is next to it. Uses rax and rcx.
    fn check_tie(&mut self, value: Xmm, slow: DynamicLabel) {
        let [common, told] = self.labels();
        dynasm!(self.asm
            ; .arch x64
            ; vmovq rax, Rx(value)
            ; mov rcx, rax
            ; shr rcx, 52
            ; and ecx, 0x7ff
            ; sub ecx, 1023 - 126
            ; cmp ecx, 253
            ; jb =>common
            ; add rax, rax
            ; jz =>told
            ; jmp =>slow
            ; =>common
            ; and eax, (1 << 29) - 1
            ; sub eax, (1 << 28) - 2
            ; cmp eax, 4
            ; jbe =>slow
            ; =>told
        );
    }

    /// As of doubles, the native result into xmm3 as well.
    fn errors_of_singles(&mut self, operator: Operator, slow: DynamicLabel) {
        let [known] = self.labels();
        let args = &[A, B, C][..operator.arity()];
        self.check_tie(0, slow);
        for (to, arg) in (4..).zip(args) {
            dynasm!(self.asm; .arch x64; vmovss Rx(to), [BYTE Rq(*arg) + LANE_BITS]);
        }
        self.apply_singles(operator);
        dynasm!(self.asm; .arch x64; vmovaps xmm3, xmm4; mov rax, [BYTE rdi + LANE_ULPS]);
        for arg in &args[1..] {
            dynasm!(self.asm; .arch x64; or rax, [BYTE Rq(*arg) + LANE_ULPS]);
        }
        dynasm!(self.asm; .arch x64; test rax, rax; jz =>known);
        for (to, arg) in (4..).zip(args) {
            self.fetch(to, *arg, LANE_HI);
            self.check_tie(to, slow);
            dynasm!(self.asm; .arch x64; vcvtsd2ss Rx(to), Rx(to), Rx(to));
        }
        self.apply_singles(operator);
        dynasm!(self.asm
            ; .arch x64
            ; =>known
            ; vucomiss xmm3, xmm3
            ; jp =>slow
            ; vcvtsd2ss xmm7, xmm0, xmm0
            ; vmovd r8d, xmm3
            ; vmovd ecx, xmm7
            ; vmovd r9d, xmm4
            ; movsxd r8, r8d
            ; movsxd rcx, ecx
            ; movsxd r9, r9d
        );
        self.distances(Type::F32, slow);
        dynasm!(self.asm
            ; .arch x64
            // Without what may have been beside it.
            ; vmovd eax, xmm3
            ; vmovq xmm3, rax
        );
    }

    /// As of doubles, but that doubts are left to the engine: they are rare.
    fn check_doubt_of_singles(&mut self, slow: DynamicLabel) {
        let [fine] = self.labels();
        self.check_little_doubt(ULP_OF_SINGLES, fine);
        dynasm!(self.asm
            ; .arch x64
            // Nothing is in doubt about what is exact.
            ; vxorpd xmm7, xmm7, xmm7
            ; vucomisd xmm2, xmm7
            ; jne =>slow
            ; jp =>slow
            ; =>fine
        );
    }

    /// Total error into r8, local error onto the stack; it must be within what is tolerated.
    fn errors(&mut self, slow: DynamicLabel) {
        dynasm!(self.asm; .arch x64; vmovq r8, xmm3; vmovq rcx, xmm0; vmovq r9, xmm4);
        self.distances(Type::F64, slow);
    }

    /// The same of the bits of the native result in r8, of that on rounded arguments in r9, and of the right one in rcx.
    fn distances(&mut self, ty: Type, slow: DynamicLabel) {
        let tolerated = offset_of!(Operations<R>, tolerated) as i32;
        let [fine] = self.labels();
        dynasm!(self.asm
            ; .arch x64
            // Of one sign, so that distances are differences.
            ; mov rax, r8
            ; mov r11, r9
            ; xor rax, rcx
            ; xor r11, rcx
            ; or rax, r11
            ; js =>slow
            ; sub r9, rcx
            ; mov rax, r9
            ; neg rax
            ; cmovns r9, rax
            ; cmp r9, [rbx + tolerated]
            ; ja =>slow
            ; mov [rsp - LOCAL], r9
            ; sub r8, rcx
            ; mov rax, r8
            ; neg rax
            ; cmovns r8, rax
            ; cmp r8, [rbx + tolerated]
            ; jbe =>fine
        );
        if ty == Type::F64 {
            // It may be NaN.
            dynasm!(self.asm; .arch x64; vucomisd xmm3, xmm3; jp =>slow);
        }
        dynasm!(self.asm
            ; .arch x64
            ; cmp BYTE [rbx + offset_of!(Operations<R>, strays.wanted) as i32], 0
            ; jne =>slow
            ; =>fine
        );
    }

    /// Goes to `fine` if local error and doubt are less than half of what is tolerated each. The magnitude goes into xmm5.
    fn check_little_doubt(&mut self, ulp: f64, fine: DynamicLabel) {
        let [doubtful] = self.labels();
        let half = (self.tolerated / 2).min(1 << 20);
        let limit = self.number(half as f64 * ulp);
        self.magnitude(5, 0);
        dynasm!(self.asm
            ; .arch x64
            ; cmp QWORD [rsp - LOCAL], half as i32
            ; jae =>doubtful
            ; vmulsd xmm6, xmm5, [=>limit]
            ; vucomisd xmm6, xmm2
            ; ja =>fine
            ; =>doubtful
        );
    }

    /// The local error must be tolerable beyond doubt, or the doubt one that passes.
    fn check_doubt(&mut self, slow: DynamicLabel) {
        let tolerated = offset_of!(Operations<R>, tolerated) as i32;
        let [not_zero, unsettled, fine] = self.labels();
        self.check_little_doubt(ULP, fine);
        dynasm!(self.asm
            ; .arch x64
            ; vxorpd xmm7, xmm7, xmm7
            ; vucomisd xmm0, xmm7
            ; jp =>slow
            ; jne =>not_zero
            ; vucomisd xmm2, xmm7
            ; jp =>not_zero
            ; je =>fine
            ; =>not_zero
            // Infinite.
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
            // Nobody knows how far.
            ; jp =>unsettled
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
            ; add rax, [rsp - LOCAL]
            ; cmp rax, [rbx + tolerated]
            ; jbe =>fine
        );
        if self.settles {
            let skip = offset_of!(Tally, doubts.skip) as i32;
            dynasm!(self.asm
                ; .arch x64
                ; mov rax, [rbx + offset_of!(Operations<R>, count) as i32]
                ; shr rax, OPERATIONS.trailing_zeros() as i8
                ; add rax, FREE as i32
                ; cmp [rbx + offset_of!(Operations<R>, done_again) as i32], rax
                ; jb =>slow
                ; cmp QWORD [r10 + skip], 0
                ; je =>slow
                ; dec QWORD [r10 + skip]
            );
        }
        dynasm!(self.asm; .arch x64; =>fine);
    }

    /// The influences of the result into r9.
    fn influences(&mut self, operator: Operator, ty: Type, slow: DynamicLabel) {
        let [done] = self.labels();
        let unions = offset_of!(Operations<R>, sets.recent);
        dynasm!(self.asm; .arch x64; mov r9d, [BYTE rdi + LANE_INFLUENCES]);
        for number in 1..operator.arity() {
            let [one, other] = self.labels();
            match number {
                1 => dynasm!(self.asm; .arch x64; mov eax, [BYTE rsi + LANE_INFLUENCES]),
                _ => dynasm!(self.asm; .arch x64; mov r11, [rsp - THIRD]; mov eax, [BYTE r11 + LANE_INFLUENCES]),
            }
            dynasm!(self.asm
                ; .arch x64
                ; cmp eax, r9d
                ; je =>one
                ; test eax, eax
                ; jz =>one
                ; test r9d, r9d
                ; jz =>other
                // Perhaps their union was asked for not long ago.
                ; imul ecx, r9d, FIRST as i32
                ; add ecx, eax
                ; and ecx, UNIONS as i32 - 1
                ; imul ecx, ecx, size_of::<Union>() as i32
                ; cmp [rbx + rcx + (unions + offset_of!(Union, of)) as i32], r9d
                ; jne =>slow
                ; cmp [rbx + rcx + (unions + offset_of!(Union, of) + 4) as i32], eax
                ; jne =>slow
                ; mov eax, [rbx + rcx + (unions + offset_of!(Union, is)) as i32]
                ; =>other
                ; mov r9d, eax
                ; =>one
            );
        }
        if !matches!(operator, Operator::Add | Operator::Sub) {
            return;
        }
        dynasm!(self.asm; .arch x64; test r9d, r9d; jz =>done; vxorpd xmm7, xmm7, xmm7);
        for arg in [A, B] {
            // It may repair, or be repaired.
            self.fetch(5, arg, LANE_HI);
            self.fetch_native(6, arg, ty);
            dynasm!(self.asm; .arch x64; vucomisd xmm0, xmm5; je =>slow; vucomisd xmm6, xmm7; je =>slow);
            self.magnitude(5, 5);
            self.magnitude(6, 6);
            self.scale(6, REPAIR);
            dynasm!(self.asm; .arch x64; vucomisd xmm5, xmm6; jbe =>slow);
        }
        dynasm!(self.asm; .arch x64; =>done);
    }

    /// The next node into r11 and its handle into rcx.
    fn find_room(&mut self, big: usize, slow: DynamicLabel) {
        dynasm!(self.asm
            ; .arch x64
            ; mov rax, [rbx + offset_of!(Operations<R>, nodes.cursor) as i32]
            ; cmp rax, [rbx + offset_of!(Operations<R>, nodes.end) as i32]
            ; je =>slow
            ; lea rcx, [rax + 1]
            ; imul r11, rax, size_of::<Node<R>>() as i32
            ; add r11, [rbx + offset_of!(Operations<R>, nodes.base) as i32]
            ; cmp QWORD [r11 + (offset_of!(Node<R>, real) + big) as i32], 0
            ; jne =>slow
            ; mov rax, [r10 + offset_of!(Tally, executions) as i32]
            ; inc rax
            ; cmp rax, [r10 + offset_of!(Tally, next) as i32]
            ; jae =>slow
        );
    }

    /// Books the execution: from here on it is done.
    fn make_node(&mut self, operator: Operator, ty: Type) {
        let real = offset_of!(Node<R>, real);
        dynasm!(self.asm
            ; .arch x64
            ; inc QWORD [r10 + offset_of!(Tally, executions) as i32]
            ; mov [rbx + offset_of!(Operations<R>, nodes.cursor) as i32], rcx
            ; inc QWORD [rbx + offset_of!(Operations<R>, count) as i32]
            ; vmovsd [r11 + real as i32], xmm0
            ; vmovsd [r11 + (real + 8) as i32], xmm1
            ; vmovsd [r11 + (real + 16) as i32], xmm2
            ; mov [r11 + offset_of!(Node<R>, ulps) as i32], r8
            ; vmovsd [r11 + offset_of!(Node<R>, low) as i32], xmm3
            ; mov QWORD [r11 + offset_of!(Node<R>, slots) as i32], 0
            ; mov eax, [r10 + offset_of!(Tally, at) as i32]
            ; mov [r11 + offset_of!(Node<R>, at) as i32], eax
            ; mov [r11 + offset_of!(Node<R>, influences) as i32], r9d
            ; mov rax, [rbx + example::<R>(operator, ty)]
            ; mov [r11 + offset_of!(Node<R>, operator) as i32], rax
        );
        for (number, arg) in [A, B].into_iter().enumerate().take(operator.arity()) {
            self.keep_argument(arg, number);
        }
    }

    fn keep_argument(&mut self, arg: Gpr, number: usize) {
        dynasm!(self.asm
            ; .arch x64
            ; mov rax, [BYTE Rq(arg) + LANE_WORD]
            ; mov [r11 + (offset_of!(Node<R>, args) + 8 * number) as i32], rax
            ; movzx eax, WORD [BYTE Rq(arg) + LANE_SLOT]
            ; mov [r11 + (offset_of!(Node<R>, slots) + size_of::<Slot>() * number) as i32], ax
        );
    }

    fn set_result(&mut self) {
        dynasm!(self.asm
            ; .arch x64
            ; vmovsd [BYTE rdx + LANE_HI], xmm0
            ; vmovsd [BYTE rdx + LANE_LO], xmm1
            ; vmovsd [BYTE rdx + LANE_ERR], xmm2
            ; vmovsd [BYTE rdx + LANE_BITS], xmm3
            ; mov [BYTE rdx + LANE_ULPS], r8
            ; mov [BYTE rdx + LANE_INFLUENCES], r9d
            ; mov [BYTE rdx + LANE_WORD], rcx
            ; mov WORD [BYTE rdx + LANE_SLOT], slot_code(Slot::Node)
            ; mov DWORD [BYTE rdx + LANE_PART], SHADOW
            ; mov [BYTE rdx + LANE_NUMBER], ecx
            ; mov BYTE [BYTE rdx + LANE_WIDE], 0
            ; mov BYTE [BYTE rdx + LANE_IS_PLAIN], 1
        );
    }

    /// Of so many arguments.
    fn keep_extremes(&mut self, arity: usize, ty: Type) {
        for (number, arg) in [A, B].into_iter().enumerate().take(arity) {
            let [not_less, not_greater] = self.labels();
            let extremes = offset_of!(Tally, extremes) + number * size_of::<Extremes>();
            let at = |field: usize| (extremes + field) as i32;
            self.fetch_native(5, arg, ty);
            dynasm!(self.asm
                ; .arch x64
                ; vmovsd xmm6, [r10 + at(offset_of!(Extremes, least))]
                ; vucomisd xmm6, xmm5
                ; jbe =>not_less
                ; vmovsd [r10 + at(offset_of!(Extremes, least))], xmm5
                ; mov [r10 + at(offset_of!(Extremes, least_node))], ecx
                ; =>not_less
                ; vucomisd xmm5, [r10 + at(offset_of!(Extremes, greatest))]
                ; jbe =>not_greater
                ; vmovsd [r10 + at(offset_of!(Extremes, greatest))], xmm5
                ; mov [r10 + at(offset_of!(Extremes, greatest_node))], ecx
                ; =>not_greater
            );
        }
    }
}
