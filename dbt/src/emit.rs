//! What is emitted for a block: the guest's own instructions, the stores that write its record, and its ways out.

use crate::asm::Asm;
use crate::context::{Lookup, Mode, at, table};
use crate::decode::{Decoded, End};
use crate::exits::{Exit, Key};
use crate::modules::Function;
use crate::stubs::Stubs;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use fpgrind_ir::{Block, Op, Reg, Stmt, Type, When};
use fpgrind_wrappers::Wrapper;
use iced_x86::{Code, Instruction, Mnemonic, OpKind, Register};

/// A direct branch out of a block: the displacement to fill in, and the exit to take until its target is translated.
pub struct Link {
    pub site: u64,
    pub target: Key,
    pub stub: u64,
}

/// Code being emitted into a zone, and what has to be known of it when it is in place.
pub struct Emitter {
    pub asm: Asm,
    pub stubs: Stubs,
    /// The exits that the code has, and the number of the first.
    pub exits: Vec<Exit>,
    first_exit: i32,
    /// Where translations begin.
    pub entries: Vec<(Key, u64)>,
    pub links: Vec<Link>,
    /// Return addresses of calls, and where a return to them enters.
    pub returns: Vec<(Key, u64)>,
    /// Where translations of system calls go on, and what guest code that is.
    pub continuations: Vec<(u64, Key)>,
    /// Quiet mode ends in this guest at some return, so returns must look.
    pub logging: bool,
    cold: Vec<Cold>,
}

/// Code that is seldom run, put behind the rest.
enum Cold {
    /// An unlinked branch asks for its target.
    Link { site: u64, target: Key },
    /// The rest of a call: the guest's return address takes the place of ours, then on to the target.
    Call { label: DynamicLabel, return_address: u64, target: Key },
    IndirectCall { label: DynamicLabel, return_address: u64, mode: Mode },
    RingFull { label: DynamicLabel, resume: u64 },
    LeaveQuiet { label: DynamicLabel },
}

/// The record that a block writes.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    pub number: u32,
    pub block: &'a Block,
}

/// The records of a wrapped function: at its entry and at its return.
#[derive(Default)]
pub struct WrapperRecords {
    pub enter: Option<(u32, Block)>,
    pub leave: Option<(u32, Block)>,
}

/// Two registers that hold the ring's cursor and what is on its way into the ring.
#[derive(Clone, Copy)]
struct Scratch {
    cursor: u8,
    value: u8,
}

const RCX: u8 = 1;
const RSP: u8 = 4;
const GPR64: [Register; 16] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RBX,
    Register::RSP,
    Register::RBP,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

impl Emitter {
    pub fn new(start: u64, stubs: Stubs, first_exit: i32, logging: bool) -> Emitter {
        Emitter {
            asm: Asm::new(start),
            stubs,
            exits: Vec::new(),
            first_exit,
            entries: Vec::new(),
            links: Vec::new(),
            returns: Vec::new(),
            continuations: Vec::new(),
            logging,
            cold: Vec::new(),
        }
    }

    /// Translated code for this place begins here.
    pub fn entry(&mut self, key: Key) {
        self.entries.push((key, self.asm.here()));
    }

    /// The block's instructions up to the one that ends it, with their record.
    pub fn body(&mut self, decoded: &Decoded, record: Option<Record>) {
        let count = decoded.instrs.len() - decoded.has_terminator() as usize;
        let scratch = record.map(|record| self.begin_record(record, decoded.registers));
        for index in 0..decoded.instrs.len() {
            if let (Some(record), Some(scratch)) = (record, scratch) {
                self.log(record.block, index, When::Before, scratch, &decoded.instrs);
            }
            if index < count {
                self.copy(decoded, index);
                if let (Some(record), Some(scratch)) = (record, scratch) {
                    self.log(record.block, index, When::After, scratch, &decoded.instrs);
                }
            }
        }
        if let (Some(record), Some(scratch)) = (record, scratch) {
            self.end_record(record, scratch);
        }
    }

    /// A record on its own, not woven into a block: it tells of the moment before `instr`.
    fn record(&mut self, record: Record, instr: Instruction) {
        let scratch = self.begin_record(record, 0);
        for when in [When::Before, When::After] {
            self.log(record.block, 0, when, scratch, &[instr]);
        }
        self.end_record(record, scratch);
    }

    fn copy(&mut self, decoded: &Decoded, index: usize) {
        let instr = &decoded.instrs[index];
        let bytes = decoded.bytes_of(index);
        let at = decoded.rip_displacements[index] as usize;
        if at == 0 {
            self.asm.ops.extend(bytes.iter());
            return;
        }
        let next = self.asm.here() + bytes.len() as u64;
        let displacement = instr.memory_displacement64().wrapping_sub(next) as i32;
        let mut copy = bytes.to_vec();
        copy[at..at + 4].copy_from_slice(&displacement.to_le_bytes());
        self.asm.ops.extend(copy.iter());
    }

    /// Room is checked by one byte of the cursor, which is 0 as long as there is some: see the ring.
    fn begin_record(&mut self, record: Record, used: u16) -> Scratch {
        let resume = self.asm.here();
        let full = self.asm.ops.new_dynamic_label();
        let mut unused = (0..16u8).filter(|n| *n != RSP && used & (1 << n) == 0).collect::<Vec<_>>();
        unused.sort_by_key(|n| *n != RCX);
        let scratch = Scratch { cursor: unused[0], value: unused[1] };
        dynasm!(self.asm.ops
            ; .arch x64
            ; gs mov [at::spill(0)], rcx
            ; gs movzx ecx, BYTE [at::CURSOR + 3]
            ; jrcxz >room
            ; jmp =>full
            ; room:
        );
        if scratch.cursor != RCX {
            dynasm!(self.asm.ops
                ; .arch x64
                ; gs mov rcx, [at::spill(0)]
                ; gs mov [at::spill(0)], Rq(scratch.cursor)
            );
        }
        dynasm!(self.asm.ops; .arch x64; gs mov Rq(scratch.cursor), [at::CURSOR]);
        if needs_value_register(record.block) {
            dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(1)], Rq(scratch.value));
        }
        dynasm!(self.asm.ops; .arch x64; mov QWORD [Rq(scratch.cursor)], record.number as i32);
        self.cold.push(Cold::RingFull { label: full, resume });
        scratch
    }

    fn end_record(&mut self, record: Record, scratch: Scratch) {
        if needs_value_register(record.block) {
            dynasm!(self.asm.ops; .arch x64; gs mov Rq(scratch.value), [at::spill(1)]);
        }
        dynasm!(self.asm.ops
            ; .arch x64
            ; lea Rq(scratch.cursor), [Rq(scratch.cursor) + record.block.record as i32]
            ; gs mov [at::CURSOR], Rq(scratch.cursor)
            ; gs mov Rq(scratch.cursor), [at::spill(0)]
        );
    }

    fn log(&mut self, block: &Block, index: usize, when: When, scratch: Scratch, instrs: &[Instruction]) {
        let due = |stmt: &&Stmt| stmt.instr as usize == index && stmt.when == when;
        for stmt in block.stmts.iter().filter(due) {
            self.log_value(block, stmt, scratch, &instrs[index]);
        }
    }

    fn log_value(&mut self, block: &Block, stmt: &Stmt, scratch: Scratch, instr: &Instruction) {
        let Some(slot) = stmt.op.slot() else { return };
        let (slot, cursor, value) = (slot.0 as i32, scratch.cursor, scratch.value);
        let ops = &mut self.asm.ops;
        let (place, ty) = match &stmt.op {
            Op::Live { place, .. } | Op::Fresh { place, .. } => (*place, stmt.ty),
            Op::Check { place, value, .. } => (*place, block.type_of(*value)),
            Op::Load { .. } => return self.log_memory(stmt.ty, slot, scratch, instr),
            _ => return,
        };
        match (place.reg, place.offset, ty.map_or(0, Type::bytes)) {
            (Reg::Gpr(n), _, 8) => dynasm!(ops; .arch x64; mov [Rq(cursor) + slot], Rq(n)),
            (Reg::Gpr(n), _, _) => dynasm!(ops; .arch x64; mov [Rq(cursor) + slot], Rd(n)),
            (Reg::Vec(n), 0, 16) => dynasm!(ops; .arch x64; movups [Rq(cursor) + slot], Rx(n)),
            (Reg::Vec(n), 0, 8) => dynasm!(ops; .arch x64; movlps [Rq(cursor) + slot], Rx(n)),
            (Reg::Vec(n), 0, _) => dynasm!(ops; .arch x64; movss [Rq(cursor) + slot], Rx(n)),
            (Reg::Vec(n), _, _) => dynasm!(ops; .arch x64; movhps [Rq(cursor) + slot], Rx(n)),
            (Reg::Mxcsr, ..) => dynasm!(ops; .arch x64; stmxcsr [Rq(cursor) + slot]),
            (Reg::FsBase, ..) => dynasm!(ops; .arch x64; rdfsbase Rq(value); mov [Rq(cursor) + slot], Rq(value)),
        }
    }

    fn log_memory(&mut self, ty: Option<Type>, slot: i32, scratch: Scratch, instr: &Instruction) {
        let (cursor, value) = (scratch.cursor, scratch.value);
        let bytes = ty.map_or(0, Type::bytes);
        if bytes == 4 {
            self.asm.load_operand(GPR64[value as usize].full_register32(), instr, 0);
            dynasm!(self.asm.ops; .arch x64; mov [Rq(cursor) + slot], Rd(value));
        }
        for offset in (0..bytes as i32 / 8).map(|n| 8 * n) {
            self.asm.load_operand(GPR64[value as usize], instr, offset as i64);
            dynasm!(self.asm.ops; .arch x64; mov [Rq(cursor) + slot + offset], Rq(value));
        }
    }

    /// The way out of a block. Code for `falls_to` follows directly, if it is given, and needs no branch.
    pub fn end(&mut self, decoded: &Decoded, mode: Mode, falls_to: Option<u64>) {
        let next = match decoded.end {
            End::Next(next) => next,
            End::Jump(target) => target,
            End::Branch { taken, next } => {
                self.conditional(decoded.instrs.last().expect("a branch"), (taken, mode));
                next
            }
            End::Call { target, next } => {
                let label = self.asm.ops.new_dynamic_label();
                dynasm!(self.asm.ops; .arch x64; call =>label);
                self.return_entry((next, mode));
                self.cold.push(Cold::Call { label, return_address: next, target: (target, mode) });
                next
            }
            End::IndirectCall { next } => {
                self.load_target(decoded.instrs.last().expect("a call"));
                let label = self.asm.ops.new_dynamic_label();
                dynasm!(self.asm.ops; .arch x64; call =>label);
                self.return_entry((next, mode));
                self.cold.push(Cold::IndirectCall { label, return_address: next, mode });
                next
            }
            End::IndirectJump => {
                self.load_target(decoded.instrs.last().expect("a jump"));
                return self.look_up(mode);
            }
            End::Return { extra } => return self.guest_return(mode, extra),
            End::Syscall { next } => {
                dynasm!(self.asm.ops; .arch x64; lea r11, [>after]);
                self.asm.jump(self.stubs.syscall);
                self.continuations.push((self.asm.here(), (next, mode)));
                dynasm!(self.asm.ops; .arch x64; after:);
                self.guest_rcx(next);
                next
            }
            End::Native(pc) => {
                return self.ask(|_| Exit::Native { pc });
            }
        };
        if falls_to != Some(next) {
            self.jump_to((next, mode));
        }
    }

    /// `syscall` leaves the address behind it in rcx.
    fn guest_rcx(&mut self, next: u64) {
        dynasm!(self.asm.ops; .arch x64; mov rcx, QWORD next as i64);
    }

    pub fn behind_syscall(&mut self, next: Key) {
        self.guest_rcx(next.0);
        self.jump_to(next);
    }

    /// Asks the supervisor, with all registers the guest's. The exit may want to know the address behind the asking.
    fn ask(&mut self, exit: impl FnOnce(u64) -> Exit) {
        let number = self.first_exit + self.exits.len() as i32;
        dynasm!(self.asm.ops; .arch x64; gs mov QWORD [at::EXIT], number);
        self.asm.jump(self.stubs.request);
        self.exits.push(exit(self.asm.here()));
    }

    pub fn jump_to(&mut self, target: Key) {
        let site = self.asm.patchable_branch(&[0xe9]);
        self.cold.push(Cold::Link { site, target });
    }

    fn conditional(&mut self, instr: &Instruction, taken: Key) {
        let opcode = match instr.mnemonic() {
            // These have no form with a wide displacement. Their own short one leads over a jump.
            Mnemonic::Jrcxz | Mnemonic::Jecxz | Mnemonic::Loop | Mnemonic::Loope | Mnemonic::Loopne => None,
            _ => Some([0x0f, 0x80 | instr.condition_code() as u8 - 1]),
        };
        if let Some(opcode) = opcode {
            let site = self.asm.patchable_branch(&opcode);
            self.cold.push(Cold::Link { site, target: taken });
            return;
        }
        let mut short = *instr;
        let here = self.asm.here();
        short.set_near_branch64(here + instr.len() as u64 + 2);
        self.asm.encode(&short);
        dynasm!(self.asm.ops; .arch x64; jmp BYTE >not_taken);
        self.jump_to(taken);
        dynasm!(self.asm.ops; .arch x64; not_taken:);
    }

    /// Spills rcx and rdx and loads rcx with the target of an indirect branch.
    fn load_target(&mut self, instr: &Instruction) {
        dynasm!(self.asm.ops
            ; .arch x64
            ; gs mov [at::spill(0)], rcx
            ; gs mov [at::spill(1)], rdx
        );
        if instr.op0_kind() == OpKind::Memory {
            self.asm.load_operand(Register::RCX, instr, 0);
        } else {
            let register = instr.op0_register().number() as u8;
            dynasm!(self.asm.ops; .arch x64; mov rcx, Rq(register));
        }
    }

    /// Goes where the table says for the target in rcx. The entry there checks that it is the right one.
    fn look_up(&mut self, mode: Mode) {
        dynasm!(self.asm.ops
            ; .arch x64
            ; movzx edx, cx
            ; gs jmp QWORD [rdx * 8 + table(mode, Lookup::Jump)]
        );
    }

    /// A return: to our address for the guest's return address, through a real `ret`, which the CPU predicts.
    pub fn guest_return(&mut self, mode: Mode, extra: u16) {
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(0)], rcx);
        if mode == Mode::Quiet && self.logging {
            let label = self.asm.ops.new_dynamic_label();
            dynasm!(self.asm.ops
                ; .arch x64
                ; gs mov rcx, [at::QUIET_END]
                ; lea rcx, [rcx + rsp]
                ; jrcxz >leave
                ; jmp BYTE >stay
                ; leave:
                ; jmp =>label
                ; stay:
            );
            self.cold.push(Cold::LeaveQuiet { label });
        }
        dynasm!(self.asm.ops
            ; .arch x64
            ; gs mov [at::spill(1)], rdx
            ; mov rcx, [rsp]
        );
        if extra == 0 {
            dynasm!(self.asm.ops
                ; .arch x64
                ; movzx edx, cx
                ; gs mov rdx, [rdx * 8 + table(mode, Lookup::Return)]
                ; mov [rsp], rdx
                ; ret
            );
        } else {
            dynasm!(self.asm.ops; .arch x64; lea rsp, [rsp + 8 + extra as i32]);
            self.look_up(mode);
        }
    }

    /// Where a table leads: checks that the target in rcx is this one, restores the registers. `otherwise` is emitted
    /// for other targets, which have the same slot: rcx is the target, rcx and rdx are still spilled.
    fn table_entry(&mut self, target: u64, otherwise: impl FnOnce(&mut Emitter)) {
        dynasm!(self.asm.ops
            ; .arch x64
            ; mov rdx, QWORD target.wrapping_neg() as i64
            ; lea rcx, [rcx + rdx]
            ; jrcxz >right
            ; not rdx
            ; lea rcx, [rcx + rdx + 1]
        );
        otherwise(self);
        dynasm!(self.asm.ops
            ; .arch x64
            ; right:
            ; gs mov rcx, [at::spill(0)]
            ; gs mov rdx, [at::spill(1)]
        );
    }

    /// The code right behind a call: a return that finds it through the table comes here. The slot below the stack
    /// pointer gets back what the guest had there. Of calls that share a slot, one has it; returns to the others go
    /// through the table of jumps.
    fn return_entry(&mut self, target: Key) {
        self.returns.push((target, self.asm.here()));
        dynasm!(self.asm.ops; .arch x64; mov [rsp - 8], rcx);
        self.table_entry(target.0, |emitter| emitter.look_up(target.1));
    }

    /// An entry for the table of jumps. Entries that share a slot form a chain: `next` is the one that has it now.
    pub fn jump_entry(&mut self, target: Key, next: u64) {
        self.table_entry(target.0, |emitter| {
            // It may be in another zone, out of a displacement's reach.
            dynasm!(emitter.asm.ops; .arch x64; jmp QWORD [>next]; .align 8; next:; .u64 next);
        });
        self.jump_to(target);
    }

    /// A wrapped function's entry in logged mode: what is to be known of the call is told, then the function runs quietly. When it
    /// returns, what is to be known of the result is told.
    pub fn wrapped(&mut self, pc: u64, function: Function, records: &WrapperRecords) {
        let leave = self.asm.here();
        if let Some((number, block)) = &records.leave {
            self.record(Record { number: *number, block }, top_of_stack());
        }
        if let Function::Resolver(wrapper) = function {
            self.ask(|resume| Exit::Resolved { function: wrapper, resume });
        }
        self.guest_return(Mode::Logged, 0);

        self.entries.push(((pc, Mode::Logged), self.asm.here()));
        if let Some((number, block)) = &records.enter {
            self.record(Record { number: *number, block }, top_of_stack());
        }
        if let Function::Wrapped(Wrapper::Output(function)) = function {
            self.ask(|resume| Exit::Output { function, resume });
        }
        self.enter_quiet(leave);
        self.jump_to((pc, Mode::Quiet));
    }

    /// Quiet mode begins: it ends with the return from the function being entered, at `leave`.
    fn enter_quiet(&mut self, leave: u64) {
        dynasm!(self.asm.ops
            ; .arch x64
            ; gs mov [at::spill(0)], rcx
            // minus rsp, without flags
            ; lea rcx, [rsp - 1]
            ; not rcx
            ; gs mov [at::QUIET_END], rcx
            ; mov rcx, QWORD leave as i64
            ; gs mov [at::LEAVE], rcx
            ; gs mov rcx, [at::spill(0)]
        );
    }

    /// Emits what was put off. Afterwards the code is complete but for its links.
    pub fn finish_cold(&mut self) {
        while let Some(cold) = self.cold.pop() {
            match cold {
                Cold::Link { site, target } => {
                    let stub = self.asm.here();
                    self.ask(|_| Exit::Link { target });
                    self.links.push(Link { site, target, stub });
                }
                Cold::Call { label, return_address, target } => {
                    dynasm!(self.asm.ops; .arch x64; =>label);
                    self.push_return_address(return_address, |emitter| emitter.jump_to(target));
                }
                Cold::IndirectCall { label, return_address, mode } => {
                    dynasm!(self.asm.ops; .arch x64; =>label);
                    self.push_return_address(return_address, |emitter| emitter.look_up(mode));
                }
                Cold::RingFull { label, resume } => {
                    dynasm!(self.asm.ops; .arch x64; =>label; gs mov rcx, [at::spill(0)]);
                    self.ask(|_| Exit::RingFull { resume });
                }
                Cold::LeaveQuiet { label } => dynasm!(self.asm.ops
                    ; .arch x64
                    ; =>label
                    ; gs mov [at::QUIET_END], rcx
                    ; gs mov rcx, [at::spill(0)]
                    ; gs jmp QWORD [at::LEAVE]
                ),
            }
        }
    }

    /// Puts the guest's return address where the call has just pushed ours, with one store of eight bytes, and goes on.
    fn push_return_address(&mut self, address: u64, go_on: impl FnOnce(&mut Emitter)) {
        if let Ok(address) = i32::try_from(address) {
            dynasm!(self.asm.ops; .arch x64; mov QWORD [rsp], address);
            return go_on(self);
        }
        let constant = self.asm.ops.new_dynamic_label();
        dynasm!(self.asm.ops; .arch x64; lea rsp, [rsp + 8]; push QWORD [=>constant]);
        go_on(self);
        dynasm!(self.asm.ops; .arch x64; .align 8; =>constant; .u64 address);
    }
}

fn needs_value_register(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.op {
        Op::Load { .. } => true,
        Op::Live { place, .. } | Op::Fresh { place, .. } => place.reg == Reg::FsBase,
        _ => false,
    })
}

/// `mov rax, [rsp]`: stands for the moment a function is entered, its return address on top of the stack.
fn top_of_stack() -> Instruction {
    let operand = iced_x86::MemoryOperand::with_base(Register::RSP);
    Instruction::with2(Code::Mov_r64_rm64, Register::RAX, operand).expect("a register and a memory operand fit mov")
}
