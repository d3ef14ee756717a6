//! Instructions that need something before them or after them, and those that fault.

use super::addresses::store;
use super::generate::Generator;
use super::knowledge::RSP;
use super::layout::{ARENA, NOWHERE};
use super::machine::{ALIGNMENT, DIRECTION, PLAIN_FLAGS};
use super::pieces::{Item, Piece};
use iced_x86::{Code, Instruction, MemoryOperand, Register};

/// Images of the FPU's state go here: the largest has 2,696 bytes.
const IMAGE: u64 = ARENA + 0x200;
const XSAVE_HEADER: u64 = 512;

/// Saving, restoring, and where in the image the last x87 instruction is told of: its address, which is another in the code cache,
/// its opcode and its operand. AMD's CPUs lose all that, natively, when the kernel switches threads. So a sequence overwrites it.
const IMAGES: [(Code, Code, std::ops::Range<u64>); 8] = [
    (Code::Fnstenv_m28byte, Code::Fldenv_m28byte, 12..28),
    (Code::Fnstenv_m14byte, Code::Fldenv_m14byte, 6..14),
    (Code::Fnsave_m108byte, Code::Frstor_m108byte, 12..28),
    (Code::Fnsave_m94byte, Code::Frstor_m94byte, 6..14),
    (Code::Fxsave_m512byte, Code::Fxrstor_m512byte, 6..24),
    (Code::Fxsave64_m512byte, Code::Fxrstor64_m512byte, 6..24),
    (Code::Xsave_mem, Code::Xrstor_mem, 6..24),
    (Code::Xsave64_mem, Code::Xrstor64_mem, 6..24),
];

fn on_image(code: Code) -> Piece {
    let mut instr = Instruction::new();
    instr.set_code(code);
    instr.set_op_kind(0, iced_x86::OpKind::Memory);
    instr.set_memory_displacement64(IMAGE);
    instr.set_memory_displ_size(8);
    Piece::Instr(instr)
}

fn alone(code: Code) -> Piece {
    Piece::Instr(Instruction::with(code))
}

impl Generator<'_> {
    pub fn package(&mut self) -> Vec<Piece> {
        match self.random.below(10) {
            0 => self.system_call(),
            1 | 9 => self.flags(),
            2 => self.control_words(),
            3 => self.saved_state(),
            4 => self.question(),
            5 => self.frame(),
            6 if self.rdfsbase => self.fs_base(),
            7 => self.odd_bytes(),
            _ => self.stack(),
        }
    }

    fn flags(&mut self) -> Vec<Piece> {
        let alignment = if self.aligned { ALIGNMENT } else { 0 };
        let direction = if self.random.below(4) == 0 { DIRECTION } else { 0 };
        let flags = self.random.next() & PLAIN_FLAGS | alignment | direction | 2;
        let push = Instruction::with1(Code::Pushq_imm32, flags as i32).expect("push takes an immediate");
        match self.random.below(3) {
            0 => vec![alone(Code::Pushfq), alone(Code::Popfq)],
            // The narrow one pops two bytes; the other six stay for a moment.
            1 if !self.aligned => {
                let rest = MemoryOperand::with_base_displ(Register::RSP, 6);
                let drop = Instruction::with2(Code::Lea_r64_m, Register::RSP, rest).expect("lea");
                vec![Piece::Instr(push), alone(Code::Popfw), Piece::Instr(drop)]
            }
            _ => vec![Piece::Instr(push), alone(Code::Popfq)],
        }
    }

    /// Rounding, precision and flushing, with everything masked.
    fn control_words(&mut self) -> Vec<Piece> {
        if self.random.below(2) == 0 {
            let word = 0x7f | [0, 2, 3][self.random.below(3)] << 8 | (self.random.below(4) as u32) << 10;
            return vec![store(IMAGE, word), on_image(Code::Fldcw_m2byte)];
        }
        let word = 0x1f80 | (self.random.below(8) as u32) << 13 | [0, 1 << 6][self.random.below(2)];
        let code = [Code::Ldmxcsr_m32, Code::VEX_Vldmxcsr_m32][self.random.below(2)];
        vec![store(IMAGE, word), on_image(code)]
    }

    fn saved_state(&mut self) -> Vec<Piece> {
        let (save, restore, volatile) = IMAGES[self.random.below(IMAGES.len())].clone();
        let mut pieces = Vec::new();
        let extended = matches!(save, Code::Xsave_mem | Code::Xsave64_mem);
        // Asked for: x87, SSE and AVX, or a part.
        let mask = if self.random.below(2) == 0 { 7 } else { self.random.below(8) };
        if extended {
            // The header must be empty.
            pieces.extend((0..16).map(|n| store(IMAGE + XSAVE_HEADER + 4 * n, 0)));
            self.load(0, mask as u64, &mut pieces);
            self.load(2, 0, &mut pieces);
        }
        pieces.push(on_image(save));
        for at in volatile.step_by(2) {
            let operand = MemoryOperand::with_displ(IMAGE + at, 8);
            pieces.push(Piece::Instr(Instruction::with2(Code::Mov_rm16_imm16, operand, 0u32).expect("mov")));
        }
        if extended {
            // Which components are in use, the CPU finds out when the kernel switches threads.
            pieces.push(store(IMAGE + XSAVE_HEADER, mask as u32));
        }
        if self.random.below(2) == 0 {
            let middle = if extended { Vec::new() } else { self.odd_bytes() };
            pieces.extend(middle);
            pieces.push(on_image(restore));
        }
        pieces
    }

    /// A system call that only fails: one that there is not, or one that the translator has to hear of, with nothing to do. The
    /// kernel looks at 32 bits of its number.
    fn system_call(&mut self) -> Vec<Piece> {
        const NONE: u64 = 12_345;
        let mut pieces = Vec::new();
        let calls = [NONE, libc::SYS_munmap as u64, libc::SYS_mremap as u64, libc::SYS_arch_prctl as u64];
        let number = calls[self.random.below(calls.len())] | self.random.next() << 32;
        for (register, value) in [(7, 0), (6, 0), (2, 0), (10, 0), (0, number)] {
            self.load(register, value, &mut pieces);
        }
        pieces.push(alone(Code::Syscall));
        for register in [0, 1, 11] {
            self.knowledge.values[register] = None;
        }
        pieces
    }

    /// Leaves that do not depend on the CPU's number, and XCR0.
    fn question(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let code = [Code::Cpuid, Code::Xgetbv][self.random.below(2)];
        let leaf = [0, 7, 0x8000_0000][self.random.below(3)];
        self.load(0, leaf, &mut pieces);
        self.load(1, 0, &mut pieces);
        self.finish(Instruction::with(code), pieces).unwrap_or_default()
    }

    /// `enter` and `leave`.
    fn frame(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let Some(rsp) = self.knowledge.values[RSP] else { return pieces };
        self.load(5, rsp, &mut pieces);
        let (size, level) = (8 * self.random.below(8) as i32, self.random.below(4) as i32);
        let enter = Instruction::with2(Code::Enterq_imm16_imm8, size, level).expect("enter takes two immediates");
        pieces.push(Piece::Instr(enter));
        self.knowledge.values[5] = Some(rsp - 8);
        self.knowledge.values[RSP] = Some(rsp - 8 - (8 * level + size) as u64);
        self.held |= 1 << 5;
        pieces.extend(self.body(2));
        self.held &= !(1 << 5);
        pieces.push(alone(Code::Leaveq));
        self.knowledge.values[5] = Some(rsp);
        self.knowledge.values[RSP] = Some(rsp);
        pieces
    }

    fn fs_base(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let number = self.free_register();
        let base = ARENA + self.random.below(4096) as u64 / 64 * 64;
        self.load(number, base, &mut pieces);
        let wide = self.random.below(2) == 0;
        let (code, class) =
            if wide { (Code::Wrfsbase_r64, Register::RAX) } else { (Code::Wrfsbase_r32, Register::EAX) };
        let write = Instruction::with1(code, class + number as u32).expect("wrfsbase takes a register");
        pieces.push(Piece::Instr(write));
        self.knowledge.fs_base = base;
        pieces
    }

    /// Long no-ops, landing pads, and prefixes in abundance.
    fn odd_bytes(&mut self) -> Vec<Piece> {
        const BYTES: [&[u8]; 14] = [
            &[0x66, 0x90],
            &[0x0f, 0x1f, 0x44, 0, 0],
            &[0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
            &[0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
            &[0xf3, 0x0f, 0x1e, 0xfa],
            &[0xf3, 0x0f, 0x1e, 0xfb],
            &[0xf3, 0x90],
            &[0x48, 0x90],
            &[0x48, 0x66, 0x90],
            &[0x2e, 0x2e, 0x2e, 0x2e, 0x90],
            &[0xf2, 0x66, 0x0f, 0x1f, 0xc0],
            &[0x4f, 0x0f, 0x1f, 0xc0],
            &[0x67, 0x0f, 0x1f, 0],
            &[0x9b],
        ];
        vec![Piece::Bytes(BYTES[self.random.below(BYTES.len())].to_vec())]
    }

    /// A value through the stack, and some below it.
    fn stack(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let from = Register::RAX + self.gpr();
        let to = self.free_register();
        let push = Instruction::with1(Code::Push_r64, from).expect("push takes a register");
        let pop = Instruction::with1(Code::Pop_r64, Register::RAX + to as u32).expect("pop takes a register");
        let depth = -8 * (1 + self.random.below(16) as i64);
        let below = MemoryOperand::with_base_displ(Register::RSP, depth);
        let red_zone = Instruction::with2(Code::Mov_rm64_r64, below, from).expect("mov");
        pieces.extend([Piece::Instr(red_zone), Piece::Instr(push)]);
        self.knowledge.values[to] = None;
        pieces.push(Piece::Instr(pop));
        pieces
    }

    /// Something that raises a signal.
    pub fn fault(&mut self) -> Item {
        let privileged = self.repertoire.privileged.len();
        if privileged > 0 && self.random.below(4) == 0 {
            let code = self.repertoire.privileged[self.random.below(privileged)];
            let pieces = (0..10).find_map(|_| self.instruction(code)).unwrap_or_default();
            return Item { pieces, outside: Vec::new() };
        }
        let to = |address: u64| MemoryOperand::with_displ(address, 8);
        let register = Register::RAX + self.free_register() as u32;
        let mut pieces = Vec::new();
        let fault = match self.random.below(12) {
            0 => Ok(Instruction::with(Code::Ud2)),
            1 => Ok(Instruction::with(Code::Hlt)),
            2 => Ok(Instruction::with(Code::Int3)),
            3 => {
                self.load(3, 0, &mut pieces);
                Instruction::with1(Code::Div_rm64, Register::RBX)
            }
            4 => Instruction::with2(Code::Mov_r64_rm64, register, to(NOWHERE)),
            5 => Instruction::with2(Code::Movups_xmmm128_xmm, to(NOWHERE + 4090), Register::XMM5),
            6 => Instruction::with2(Code::Movaps_xmm_xmmm128, Register::XMM3, to(ARENA + 0x408)),
            7 => Instruction::with2(Code::Addsd_xmm_xmmm64, Register::XMM7, to(NOWHERE)),
            8 => {
                // Not canonical.
                self.load(6, 1 << 60, &mut pieces);
                Instruction::with2(Code::Mov_rm8_r8, MemoryOperand::with_base(Register::RSI), Register::BL)
            }
            9 => {
                self.load(1, NOWHERE, &mut pieces);
                Instruction::with1([Code::Jmp_rm64, Code::Call_rm64][self.random.below(2)], Register::RCX)
            }
            10 => {
                let code = [Code::Jmp_rm64, Code::Call_rm64, Code::Push_rm64][self.random.below(3)];
                Instruction::with1(code, to(NOWHERE + 8))
            }
            _ => {
                self.load(4, NOWHERE + 64, &mut pieces);
                Ok(Instruction::with([Code::Retnq, Code::Pushfq, Code::Leaveq][self.random.below(3)]))
            }
        };
        pieces.push(Piece::Instr(fault.expect("operands fit")));
        Item { pieces, outside: Vec::new() }
    }
}
