//! Up to four operations of a kind at once, none of which needs the result of another.
//!
//! A node begins with thirty-two bytes that are all an operation asks of an argument, so the arguments of four operations are four loads and a
//! transposition, and four results are a transposition and four stores. If anything about one of the four is out of the ordinary, nothing is
//! done, and each is done alone.

use super::routines::{AHEAD, Maker, NODE_SHIFT, example};
use super::vectors::{Arg, Known, four};
use super::*;
use crate::offset::REPAIR;
use crate::site::{Sites, Tally};

/// Operations in a group, at most; what a group has fewer are its first again, and lead nowhere.
pub const FOUR: usize = 4;

/// What such a routine is to do.
#[repr(C)]
pub struct Group {
    /// Where the lanes of the arguments are, from r13, and those of the results.
    args: [[u32; FOUR]; 3],
    to: [u32; FOUR],
    /// The second half of eight bytes of each node.
    at: [[u32; 2]; FOUR],
    /// Sites, and how often each is executed.
    tallies: [*const Tally; FOUR],
    times: [u64; FOUR],
    sites: u64,
    count: u64,
    /// How often it is left out, and will be when it next fails: what goes wrong once often does again.
    skip: u32,
    patience: u32,
}

/// A group that failed is left out so often, and twice as often each time, up to so often.
const LEAST_SKIPPED: u32 = 4;
const MOST_SKIPPED: u32 = 256;

impl Group {
    /// The operations are of a kind; `nowhere` is a lane that nobody reads.
    pub fn new(plains: &[&Plain], nowhere: Number, sites: &Sites) -> Group {
        let nth = |number: usize| plains.get(number).copied().unwrap_or(plains[0]);
        let to = |number: usize| plains.get(number).map_or(nowhere, |plain| plain.to);
        let mut distinct: Vec<(usize, u64)> = Vec::new();
        for plain in plains {
            match distinct.iter_mut().find(|(site, _)| *site == plain.site) {
                Some((_, times)) => *times += 1,
                None => distinct.push((plain.site, 1)),
            }
        }
        let site = |number: usize| distinct.get(number).copied().unwrap_or((distinct[0].0, 0));
        Group {
            args: std::array::from_fn(|arg| std::array::from_fn(|number| lane(nth(number).args[arg], 0) as u32)),
            to: std::array::from_fn(|number| lane(to(number), 0) as u32),
            at: std::array::from_fn(|number| [0, nth(number).at.0]),
            tallies: std::array::from_fn(|number| &raw const *sites.tally(site(number).0)),
            times: std::array::from_fn(|number| site(number).1),
            sites: distinct.len() as u64,
            count: plains.len() as u64,
            skip: 0,
            patience: LEAST_SKIPPED,
        }
    }
}

/// The half of eight bytes that they are.
const INFLUENCES: f64 = f64::from_bits(u32::MAX as u64);

const ARGS: i32 = offset_of!(Group, args) as i32;
const TO: i32 = offset_of!(Group, to) as i32;
const NODE: i32 = size_of::<Node>() as i32;

impl<R: Real> Maker<R> {
    /// The group at r11. Leaves in eax whether it was done.
    pub fn group(&mut self, operator: Operator, ty: Type) {
        self.is_packed = true;
        let [failed, fine, unusual, skipped, several, nothing_due, count_all, counted] = self.labels();
        let (cursor, end) = (offset_of!(Operations<R>, nodes.cursor), offset_of!(Operations<R>, nodes.end));
        let (executions, next) = (offset_of!(Tally, executions) as i8, offset_of!(Tally, next) as i8);
        let (tallies, times) = (offset_of!(Group, tallies) as i32, offset_of!(Group, times) as i32);
        let (skip, patience) = (offset_of!(Group, skip) as i32, offset_of!(Group, patience) as i32);
        let (count, sites) = (offset_of!(Group, count) as i32, offset_of!(Group, sites) as i32);
        // There must be room for four, and nothing to look at.
        dynasm!(self.asm
            ; .arch x64
            ; cmp DWORD [r11 + skip], 0
            ; jne =>skipped
            ; mov r10, [rbx + cursor as i32]
            ; lea rax, [r10 + FOUR as i32]
            ; cmp rax, [rbx + end as i32]
            ; ja =>failed
            ; mov r9, [r11 + tallies]
            ; mov r8, [BYTE r9 + executions]
            ; add r8, [r11 + times]
            ; cmp r8, [BYTE r9 + next]
            ; jae =>failed
            ; cmp QWORD [r11 + sites], 1
            ; jne =>several
            ; =>nothing_due
            ; prefetchw [rbp + AHEAD]
            ; prefetchw [rbp + AHEAD + NODE]
            ; prefetchw [rbp + AHEAD + 2 * NODE]
            ; prefetchw [rbp + AHEAD + 3 * NODE]
        );
        for arg in 0..operator.arity() {
            self.gather(Arg(arg));
        }
        let all = self.number(-0.0);
        let influences = self.number(INFLUENCES);
        dynasm!(self.asm; .arch x64; vptest ymm15, [rbx + influences]; setnz r8b);
        self.compute(operator, ty);
        self.is_greater(5, 10, 0);
        let [odd, influenced, united] = self.labels();
        dynasm!(self.asm
            ; .arch x64
            ; vtestpd ymm5, [rbx + all]
            ; jnc =>odd
            ; =>fine
            ; vxorpd ymm12, ymm12, ymm12
            ; test r8b, r8b
            ; jnz =>influenced
            ; =>united
            ; mov r8, [BYTE r9 + executions]
            ; add r8, [r11 + times]
            ; cmp QWORD [r11 + sites], 1
            ; jne =>count_all
            ; =>counted
            ; mov [BYTE r9 + executions], r8
            ; mov rax, [r11 + count]
            ; add [rbx + cursor as i32], rax
            ; add [rbx + offset_of!(Operations<R>, count) as i32], rax
            ; mov DWORD [r11 + patience], LEAST_SKIPPED as i32
        );
        self.make_nodes(operator, ty);
        self.set_results();
        dynasm!(self.asm
            ; .arch x64
            ; mov rax, [r11 + count]
            ; shl rax, NODE_SHIFT
            ; add rbp, rax
            ; mov eax, 1
            ; ret
            ; =>several
        );
        for number in 1..FOUR as i32 {
            dynasm!(self.asm
                ; .arch x64
                ; mov rdi, [r11 + tallies + 8 * number]
                ; mov rax, [BYTE rdi + executions]
                ; add rax, [r11 + times + 8 * number]
                ; cmp rax, [BYTE rdi + next]
                ; jae =>failed
            );
        }
        dynasm!(self.asm; .arch x64; jmp =>nothing_due; =>influenced);
        self.unite_influences(operator, unusual);
        dynasm!(self.asm; .arch x64; jmp =>united; =>count_all);
        for number in 1..FOUR as i32 {
            dynasm!(self.asm
                ; .arch x64
                ; mov rdi, [r11 + tallies + 8 * number]
                ; mov rax, [r11 + times + 8 * number]
                ; add [BYTE rdi + executions], rax
            );
        }
        dynasm!(self.asm
            ; .arch x64
            // Those that are not there are the first, no times.
            ; mov r8, [BYTE r9 + executions]
            ; add r8, [r11 + times]
            ; jmp =>counted
            ; =>odd
        );
        self.accept_zeros(operator, fine);
        dynasm!(self.asm
            ; .arch x64
            ; =>unusual
            ; mov eax, [r11 + patience]
            ; mov [r11 + skip], eax
            ; add eax, eax
            ; cmp eax, MOST_SKIPPED as i32
            ; ja =>skipped
            ; mov [r11 + patience], eax
            ; =>skipped
            ; dec DWORD [r11 + skip]
            ; =>failed
            ; xor eax, eax
            ; ret
        );
        self.is_packed = false;
    }

    /// What is known of an argument of each to where formulas look for it; all influences come together in 15.
    fn gather(&mut self, arg: Arg) {
        for number in 0..FOUR {
            let at = ARGS + (4 * (FOUR * arg.0 + number)) as i32;
            dynasm!(self.asm
                ; .arch x64
                ; mov eax, [r11 + at]
                ; mov rcx, [r13 + rax + LANE_FACTS as i32]
                ; vmovupd Ry(number as u8), [rcx]
            );
        }
        dynasm!(self.asm
            ; .arch x64
            ; vunpcklpd ymm4, ymm0, ymm1
            ; vunpckhpd ymm5, ymm0, ymm1
            ; vunpcklpd ymm6, ymm2, ymm3
            ; vunpckhpd ymm7, ymm2, ymm3
            ; vperm2f128 ymm0, ymm4, ymm6, 0x20
            ; vperm2f128 ymm1, ymm5, ymm7, 0x20
            ; vperm2f128 ymm2, ymm4, ymm6, 0x31
            ; vperm2f128 ymm3, ymm5, ymm7, 0x31
            ; vmovupd [rbx + four::<R>(arg, Known::Native)], ymm0
            ; vmovupd [rbx + four::<R>(arg, Known::By)], ymm1
            ; vmovupd [rbx + four::<R>(arg, Known::Err)], ymm2
            ; vmovupd [rbx + four::<R>(arg, Known::Influences)], ymm3
        );
        match arg.0 {
            0 => dynasm!(self.asm; .arch x64; vmovapd ymm15, ymm3),
            _ => dynasm!(self.asm; .arch x64; vorpd ymm15, ymm15, ymm3),
        }
    }

    /// Goes to `fine` if those that are not are zero beyond doubt.
    fn accept_zeros(&mut self, operator: Operator, fine: DynamicLabel) {
        let all = self.number(-0.0);
        dynasm!(self.asm; .arch x64; vxorpd ymm4, ymm4, ymm4);
        match operator {
            Operator::Add | Operator::Sub => {
                dynasm!(self.asm; .arch x64; vorpd ymm15, ymm2, ymm6; vorpd ymm15, ymm15, ymm8);
                self.is_equal(15, 15, 4);
            }
            Operator::Mul => {
                for (arg, to) in [(Arg(0), 13), (Arg(1), 15)] {
                    self.fetch(to, arg, Known::Native);
                    for known in [Known::By, Known::Err] {
                        self.fetch(7, arg, known);
                        dynasm!(self.asm; .arch x64; vorpd Ry(to), Ry(to), ymm7);
                    }
                    self.is_equal(to, to, 4);
                }
                self.is_equal(7, 2, 4);
                dynasm!(self.asm
                    ; .arch x64
                    ; vorpd ymm15, ymm15, ymm13
                    ; vandpd ymm15, ymm15, ymm7
                    ; vandnpd ymm6, ymm15, ymm6
                    ; vandnpd ymm8, ymm15, ymm8
                );
            }
            _ => return,
        }
        dynasm!(self.asm; .arch x64; vorpd ymm5, ymm5, ymm15; vtestpd ymm5, [rbx + all]; jc =>fine);
    }

    /// The influences of each into 12, if one of its arguments has none, or all have the same; and none of a sum's may repair, or be repaired.
    fn unite_influences(&mut self, operator: Operator, unusual: DynamicLabel) {
        let (all, mask) = (self.number(-0.0), self.number(INFLUENCES));
        self.fetch(12, Arg(0), Known::Influences);
        dynasm!(self.asm; .arch x64; vandpd ymm12, ymm12, [rbx + mask]; vxorpd ymm15, ymm15, ymm15);
        for arg in 1..operator.arity() {
            self.fetch(13, Arg(arg), Known::Influences);
            dynasm!(self.asm
                ; .arch x64
                ; vandpd ymm13, ymm13, [rbx + mask]
                ; vpcmpeqq ymm14, ymm12, ymm13
                ; vpcmpeqq ymm4, ymm12, ymm15
                ; vorpd ymm14, ymm14, ymm4
                ; vpcmpeqq ymm4, ymm13, ymm15
                ; vorpd ymm14, ymm14, ymm4
                ; vtestpd ymm14, [rbx + all]
                ; jnc =>unusual
                ; vorpd ymm12, ymm12, ymm13
            );
        }
        if !matches!(operator, Operator::Add | Operator::Sub) {
            return;
        }
        for arg in [Arg(0), Arg(1)] {
            self.fetch(4, arg, Known::Native);
            self.plus_known(5, 4, arg, Known::By);
            self.is_equal(14, 5, 9);
            self.is_equal(13, 4, 15);
            dynasm!(self.asm; .arch x64; vorpd ymm14, ymm14, ymm13);
            self.magnitude(5, 5);
            self.magnitude(4, 4);
            self.scale(4, 4, REPAIR);
            self.is_greater(4, 5, 4);
            dynasm!(self.asm
                ; .arch x64
                ; vandnpd ymm14, ymm14, ymm4
                ; vtestpd ymm14, [rbx + all]
                ; jnc =>unusual
            );
        }
    }

    fn make_nodes(&mut self, operator: Operator, ty: Type) {
        dynasm!(self.asm
            ; .arch x64
            ; vorpd ymm5, ymm12, [r11 + offset_of!(Group, at) as i32]
            ; vunpcklpd ymm0, ymm2, ymm6
            ; vunpckhpd ymm1, ymm2, ymm6
            ; vunpcklpd ymm3, ymm8, ymm5
            ; vunpckhpd ymm4, ymm8, ymm5
            ; vperm2f128 ymm6, ymm0, ymm3, 0x20
            ; vperm2f128 ymm7, ymm1, ymm4, 0x20
            ; vperm2f128 ymm8, ymm0, ymm3, 0x31
            ; vperm2f128 ymm9, ymm1, ymm4, 0x31
            ; vmovapd [rbp], ymm6
            ; vmovapd [rbp + NODE], ymm7
            ; vmovapd [rbp + 2 * NODE], ymm8
            ; vmovapd [rbp + 3 * NODE], ymm9
            ; mov r9, [rbx + example::<R>(operator, ty)]
        );
        for number in 0..FOUR {
            let node = NODE * number as i32;
            dynasm!(self.asm; .arch x64; mov [rbp + node + offset_of!(Node, operator) as i32], r9);
            for arg in 0..operator.arity() {
                let at = ARGS + (4 * (FOUR * arg + number)) as i32;
                dynasm!(self.asm
                    ; .arch x64
                    ; mov eax, [r11 + at]
                    ; mov rcx, [r13 + rax + LANE_WORD as i32]
                    ; movzx edx, BYTE [r13 + rax + LANE_SLOT as i32]
                    ; mov [rbp + node + (offset_of!(Node, args) + 8 * arg) as i32], rcx
                    ; mov [rbp + node + (offset_of!(Node, slots) + arg) as i32], dl
                );
            }
        }
    }

    /// The handles follow the one in r10.
    fn set_results(&mut self) {
        for number in 0..FOUR as i32 {
            dynasm!(self.asm
                ; .arch x64
                ; mov eax, [r11 + TO + 4 * number]
                ; lea rcx, [r10 + (number + 1)]
                ; lea rdx, [rbp + NODE * number]
                ; mov [r13 + rax + LANE_WORD as i32], rcx
                ; mov [r13 + rax + LANE_FACTS as i32], rdx
                ; mov DWORD [r13 + rax + LANE_WIDE as i32], ready(Slot::NODE, false)
            );
        }
    }
}
