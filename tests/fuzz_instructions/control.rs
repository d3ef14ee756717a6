//! Branches: every kind, to every side, and all that leads into the middle of something.

use super::generate::Generator;
use super::knowledge::RSP;
use super::layout::NEAR_BEFORE_CODE;
use super::pieces::{Item, Label, Piece};
use iced_x86::{Code, Instruction, MemoryOperand, Register};

const SHORT: [Code; 16] = [
    Code::Jo_rel8_64,
    Code::Jno_rel8_64,
    Code::Jb_rel8_64,
    Code::Jae_rel8_64,
    Code::Je_rel8_64,
    Code::Jne_rel8_64,
    Code::Jbe_rel8_64,
    Code::Ja_rel8_64,
    Code::Js_rel8_64,
    Code::Jns_rel8_64,
    Code::Jp_rel8_64,
    Code::Jnp_rel8_64,
    Code::Jl_rel8_64,
    Code::Jge_rel8_64,
    Code::Jle_rel8_64,
    Code::Jg_rel8_64,
];
const NEAR: [Code; 16] = [
    Code::Jo_rel32_64,
    Code::Jno_rel32_64,
    Code::Jb_rel32_64,
    Code::Jae_rel32_64,
    Code::Je_rel32_64,
    Code::Jne_rel32_64,
    Code::Jbe_rel32_64,
    Code::Ja_rel32_64,
    Code::Js_rel32_64,
    Code::Jns_rel32_64,
    Code::Jp_rel32_64,
    Code::Jnp_rel32_64,
    Code::Jl_rel32_64,
    Code::Jge_rel32_64,
    Code::Jle_rel32_64,
    Code::Jg_rel32_64,
];
const COUNTING: [Code; 8] = [
    Code::Jrcxz_rel8_64,
    Code::Jecxz_rel8_64,
    Code::Loop_rel8_64_RCX,
    Code::Loop_rel8_64_ECX,
    Code::Loope_rel8_64_RCX,
    Code::Loope_rel8_64_ECX,
    Code::Loopne_rel8_64_RCX,
    Code::Loopne_rel8_64_ECX,
];
const RCX: usize = 1;
/// Where code pointers are kept for branches through memory: below everything that the sequence has on its stack.
const POINTER_BELOW_STACK: i64 = -0x300;

fn branch(code: Code, to: Label) -> Piece {
    Piece::Branch(Vec::new(), code, to)
}

fn instr(instr: Result<Instruction, iced_x86::IcedError>) -> Piece {
    Piece::Instr(instr.expect("operands fit"))
}

impl Generator<'_> {
    pub fn control(&mut self) -> Item {
        match self.random.below(11) {
            0 | 1 => self.skip(),
            2 => self.two_branches(),
            3 | 4 => self.repeat(),
            5 => self.call(),
            6 => self.indirect(),
            7 => self.push_and_return(),
            8 => self.call_next(),
            9 => self.middle_of_an_instruction(),
            _ => self.back_and_forth(),
        }
    }

    /// A branch over some code, taken or not.
    fn skip(&mut self) -> Item {
        let over = self.label();
        let mut pieces = Vec::new();
        match self.random.below(5) {
            0 => pieces.push(branch([Code::Jmp_rel8_64, Code::Jmp_rel32_64][self.random.below(2)], over)),
            1 => {
                if self.random.below(2) == 0 && self.held >> RCX & 1 == 0 {
                    let count = [0, 1, 2, 1 << 32][self.random.below(4)];
                    self.load(RCX, count, &mut pieces);
                }
                let code = COUNTING[self.random.below(COUNTING.len())];
                // REX.W changes nothing for these, nor do hints.
                let odd = [vec![], vec![0x48], vec![0x2e], vec![0x3e]][self.random.below(4)].clone();
                // An address-size prefix would have to be in front of REX, so there is none then.
                let narrow = format!("{code:?}").contains("ecx") || format!("{code:?}").contains("ECX");
                let odd = if narrow && odd == [0x48] { Vec::new() } else { odd };
                pieces.push(Piece::Branch(odd, code, over));
                self.knowledge.values[RCX] = None;
            }
            2 => {
                let hint = [0x2e, 0x3e, 0x48, 0xf2][self.random.below(4)];
                pieces.push(Piece::Branch(vec![hint], NEAR[self.random.below(16)], over));
            }
            3 => pieces.push(branch(SHORT[self.random.below(16)], over)),
            _ => pieces.push(branch(NEAR[self.random.below(16)], over)),
        }
        let there = self.knowledge.clone();
        // Short branches reach 127 bytes.
        pieces.extend(self.body(2));
        self.knowledge.meet(&there);
        pieces.push(Piece::Label(over));
        Item { pieces, outside: Vec::new() }
    }

    /// Two branches on the same flags.
    fn two_branches(&mut self) -> Item {
        let (first, second) = (self.label(), self.label());
        let codes = if self.random.below(2) == 0 { &SHORT } else { &NEAR };
        // Parity and zero, in all orders and senses: how floats are tested for equality.
        let (parity, zero) = (10 + self.random.below(2), 4 + self.random.below(2));
        let order = if self.random.below(2) == 0 { [parity, zero] } else { [zero, parity] };
        let mut pieces = vec![branch(codes[order[0]], first), branch(codes[order[1]], second)];
        let there = self.knowledge.clone();
        pieces.extend(self.body(1));
        pieces.push(Piece::Label(first));
        self.knowledge.meet(&there);
        pieces.extend(self.body(1));
        pieces.push(Piece::Label(second));
        self.knowledge.meet(&there);
        Item { pieces, outside: Vec::new() }
    }

    /// A loop of a few rounds, in the ways that there are to count.
    fn repeat(&mut self) -> Item {
        let top = self.label();
        let mut pieces = Vec::new();
        let counting = self.random.below(2) == 0;
        let counter = if counting { RCX } else { self.free_register() };
        let rounds = 1 + self.random.below(4) as u64;
        if self.held >> counter & 1 == 1 {
            return self.skip();
        }
        self.load(counter, rounds, &mut pieces);
        pieces.push(Piece::Label(top));
        self.knowledge.forget();
        self.held |= 1 << counter;
        pieces.extend(self.body(2));
        self.held &= !(1 << counter);
        if counting {
            let loops =
                [Code::Loop_rel8_64_RCX, Code::Loope_rel8_64_RCX, Code::Loopne_rel8_64_RCX, Code::Loop_rel8_64_ECX];
            pieces.push(branch(loops[self.random.below(4)], top));
        } else {
            pieces.push(instr(Instruction::with1(Code::Dec_rm64, Register::RAX + counter as u32)));
            pieces.push(branch([SHORT[5], NEAR[5], SHORT[15], NEAR[15]][self.random.below(4)], top));
        }
        self.knowledge.values[counter] = None;
        Item { pieces, outside: Vec::new() }
    }

    /// Puts a label's address into a register.
    fn address_of(&mut self, label: Label, pieces: &mut Vec<Piece>) -> Register {
        let number = self.free_register();
        self.knowledge.values[number] = None;
        let register = Register::RAX + number as u32;
        pieces.push(Piece::Address(register, label, 0));
        register
    }

    /// An operand of an indirect branch that leads to the label: a register, or memory.
    fn pointer_to(&mut self, label: Label, pieces: &mut Vec<Piece>, code: Code) {
        let register = self.address_of(label, pieces);
        let target = match self.random.below(3) {
            0 => Instruction::with1(code, register),
            1 => {
                let near = self.place(self.code - NEAR_BEFORE_CODE, 8, 8);
                let narrow = self.code < 1 << 31 && self.random.below(4) == 0;
                let base = if narrow { Register::EIP } else { Register::RIP };
                let operand = MemoryOperand::with_base_displ_size(base, near as i64, if narrow { 4 } else { 8 });
                pieces.push(instr(Instruction::with2(Code::Mov_rm64_r64, operand, register)));
                Instruction::with1(code, operand)
            }
            _ => {
                let operand = MemoryOperand::with_base_displ(Register::RSP, POINTER_BELOW_STACK);
                pieces.push(instr(Instruction::with2(Code::Mov_rm64_r64, operand, register)));
                let mut through = Instruction::new();
                through.set_code(code);
                through.set_op_kind(0, iced_x86::OpKind::Memory);
                self.stack_operand(&mut through, register, pieces);
                Ok(through)
            }
        };
        let prefixes =
            [vec![], vec![], vec![0x3e], vec![0xf2], vec![0x48], vec![0x66, 0x48]][self.random.below(6)].clone();
        let target = target.expect("operands fit");
        pieces.push(if prefixes.ends_with(&[0x48]) && has_rex(&target) {
            Piece::Instr(target)
        } else {
            Piece::Prefixed(prefixes, target)
        });
    }

    /// The pointer on the stack, addressed from the stack pointer or from elsewhere.
    fn stack_operand(&mut self, through: &mut Instruction, register: Register, pieces: &mut Vec<Piece>) {
        let Some(rsp) = self.knowledge.values[RSP] else {
            through.set_memory_base(Register::RSP);
            through.set_memory_displacement64(POINTER_BELOW_STACK as u64);
            through.set_memory_displ_size(8);
            return;
        };
        let place = rsp.wrapping_add(POINTER_BELOW_STACK as u64);
        match self.random.below(5) {
            0 => {
                through.set_memory_base(Register::RSP);
                through.set_memory_displacement64(POINTER_BELOW_STACK as u64);
                through.set_memory_displ_size(8);
            }
            1 => {
                through.set_memory_displacement64(place);
                through.set_memory_displ_size([4, 8][self.random.below(2)]);
            }
            2 => {
                through.set_segment_prefix(Register::FS);
                through.set_memory_displacement64(place.wrapping_sub(self.knowledge.fs_base));
                through.set_memory_displ_size(8);
            }
            3 => {
                // The register that held the pointer may hold its address now.
                self.load(register.number(), place - 8, pieces);
                through.set_memory_base(register.full_register32());
                through.set_memory_displacement64(8);
                through.set_memory_displ_size(4);
            }
            _ => {
                let index = self.random.below(16) as u64;
                self.load(register.number(), index, pieces);
                through.set_memory_base(Register::RSP);
                through.set_memory_index(register);
                through.set_memory_index_scale(8);
                through.set_memory_displacement64((POINTER_BELOW_STACK - 8 * index as i64) as u64);
                through.set_memory_displ_size(8);
            }
        }
    }

    /// A function behind the sequence is called, directly or not, and returns, in one way or another.
    fn call(&mut self) -> Item {
        let function = self.label();
        let mut pieces = Vec::new();
        let arguments = self.random.below(3);
        for _ in 0..arguments {
            pieces.push(instr(Instruction::with1(Code::Pushq_imm32, self.random.next() as i32)));
        }
        let rsp = self.knowledge.values[RSP];
        if !self.knowledge.move_stack(-8 * arguments as i64) {
            self.knowledge.values[RSP] = rsp;
            return self.skip();
        }
        match self.random.below(3) {
            0 => self.pointer_to(function, &mut pieces, Code::Call_rm64),
            1 => {
                // The last is how thread-local variables are asked for.
                const PREFIXES: [&[u8]; 4] = [&[0x48], &[0xf2], &[0x2e], &[0x66, 0x66, 0x48]];
                let prefixes = PREFIXES[self.random.below(PREFIXES.len())].to_vec();
                pieces.push(Piece::Branch(prefixes, Code::Call_rel32_64, function));
            }
            _ => pieces.push(branch(Code::Call_rel32_64, function)),
        }
        // Called again from elsewhere, it can rely on nothing.
        let again = arguments == 0 && self.random.below(3) == 0;
        if again {
            pieces.push(branch(Code::Call_rel32_64, function));
            self.knowledge.forget();
        }
        self.knowledge.move_stack(-8);
        let mut outside = vec![Piece::Label(function)];
        outside.extend(self.body(3));
        match self.random.below(6) {
            _ if arguments > 0 => outside.push(instr(Instruction::with1(Code::Retnq_imm16, 8 * arguments as i32))),
            0 => outside.push(Piece::Prefixed(vec![0xf3], Instruction::with(Code::Retnq))),
            1 => outside.push(instr(Instruction::with1(Code::Retnq_imm16, 0))),
            // Not with a return.
            2 => {
                let register = Register::RAX + self.free_register() as u32;
                self.knowledge.values[register.number()] = None;
                outside.push(instr(Instruction::with1(Code::Pop_r64, register)));
                outside.push(instr(Instruction::with1(Code::Jmp_rm64, register)));
            }
            // To elsewhere: over what follows the call, which is not always code.
            3 if !again => {
                let skipped: Vec<u8> = (0..1 + self.random.below(15)).map(|_| self.random.next() as u8).collect();
                let top = MemoryOperand::with_base(Register::RSP);
                outside.push(instr(Instruction::with2(Code::Add_rm64_imm8, top, skipped.len() as i32)));
                outside.push(Piece::Instr(Instruction::with(Code::Retnq)));
                pieces.push(Piece::Bytes(skipped));
            }
            _ => outside.push(Piece::Instr(Instruction::with(Code::Retnq))),
        }
        self.knowledge.values[RSP] = rsp;
        Item { pieces, outside }
    }

    fn indirect(&mut self) -> Item {
        let over = self.label();
        let mut pieces = Vec::new();
        self.pointer_to(over, &mut pieces, Code::Jmp_rm64);
        let there = self.knowledge.clone();
        pieces.extend(self.body(2));
        pieces.push(Piece::Label(over));
        self.knowledge.meet(&there);
        Item { pieces, outside: Vec::new() }
    }

    fn push_and_return(&mut self) -> Item {
        let over = self.label();
        let mut pieces = Vec::new();
        let register = self.address_of(over, &mut pieces);
        pieces.push(instr(Instruction::with1(Code::Push_r64, register)));
        pieces.push(Piece::Instr(Instruction::with(Code::Retnq)));
        let there = self.knowledge.clone();
        pieces.extend(self.body(1));
        pieces.push(Piece::Label(over));
        self.knowledge.meet(&there);
        Item { pieces, outside: Vec::new() }
    }

    /// How old code learns its own address.
    fn call_next(&mut self) -> Item {
        let next = self.label();
        let number = self.free_register();
        self.knowledge.values[number] = None;
        let pop = instr(Instruction::with1(Code::Pop_r64, Register::RAX + number as u32));
        Item { pieces: vec![branch(Code::Call_rel32_64, next), Piece::Label(next), pop], outside: Vec::new() }
    }

    /// A branch into an instruction, whose last bytes are others.
    fn middle_of_an_instruction(&mut self) -> Item {
        // In `mov r64, imm64`: inc ecx; rol bl, 1; sub esi, ebp; nop.
        const INNER: [u8; 8] = [0xff, 0xc1, 0xd0, 0xc3, 0x29, 0xee, 0x66, 0x90];
        let outer = self.label();
        let number = self.free_register();
        if self.held != 0 {
            return self.skip();
        }
        let target = self.label();
        let load = [0x48 | (number >> 3) as u8, 0xb8 | (number & 7) as u8];
        let pieces = vec![
            branch(SHORT[self.random.below(16)], target),
            Piece::Label(outer),
            Piece::Bytes(load.to_vec()),
            Piece::Label(target),
            Piece::Bytes(INNER.to_vec()),
        ];
        for changed in [number, 1, 3, 6] {
            self.knowledge.values[changed] = None;
        }
        Item { pieces, outside: Vec::new() }
    }

    /// Out behind the sequence and back.
    fn back_and_forth(&mut self) -> Item {
        let (out, back) = (self.label(), self.label());
        let there = self.knowledge.clone();
        let pieces = vec![branch(NEAR[self.random.below(16)], out), Piece::Label(back)];
        let mut outside = vec![Piece::Label(out)];
        outside.extend(self.body(2));
        outside.push(branch(Code::Jmp_rel32_64, back));
        self.knowledge.meet(&there);
        Item { pieces, outside }
    }
}

/// Is the instruction's first byte a prefix that would come before REX, or REX?
fn has_rex(instr: &Instruction) -> bool {
    let mut encoder = iced_x86::Encoder::new(64);
    encoder.encode(instr, 0).is_err() || matches!(encoder.take_buffer()[0], 0x40..=0x4f | 0x64..=0x67)
}
