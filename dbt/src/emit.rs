//! What is emitted for a block: the guest's own instructions, the stores that write its record, and its ways out.

mod branches;
mod fields;
mod leaving;
mod record;
#[cfg(test)]
mod record_tests;
mod vectors;
mod volatile;

pub use record::{Record, ShorterRecord};

use crate::asm::Asm;
use crate::blocks::Link;
use crate::context::{Mode, at};
use crate::decode::Decoded;
use crate::exits::{Exit, Key};
use crate::modules::Function;
use crate::stubs::Stubs;
use crate::tables::Lookup;
use crate::wrapping::{ARGUMENTS, kept_arguments};
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};
use fpgrind_ir::{Place, Reg, When};
use fpgrind_wrappers::{AllocatedAt, Change, Shows, Wrapper};
use iced_x86::{Code, FlowControl, Instruction, Register};
use record::Scratch;
use std::ops::Range;

/// Code that a table is to lead to for a target.
pub struct TableEntry {
    pub target: Key,
    pub lookup: Lookup,
    pub entry: u64,
    /// Entries that share a slot form a chain: here the address of the one that has had it is to be put.
    pub otherwise: u64,
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
    /// Direct branches, and where they lead.
    pub links: Vec<(Key, Link)>,
    /// Return addresses of calls.
    pub returns: Vec<Key>,
    pub table_entries: Vec<TableEntry>,
    /// Where translations of system calls go on, and what guest code that is.
    pub continuations: Vec<(u64, Key)>,
    /// Where quiet mode ends, and for which wrapped function, called in which mode.
    pub leaves: Vec<(u64, Key)>,
    /// What it means to the guest if it is interrupted here, from each address up to the next, if somebody wants to know.
    pub marks: Option<Vec<(u64, Interrupted)>>,
    /// Quiet mode ends in this guest at some return, so returns must look.
    pub logging: bool,
    cold: Vec<Cold>,
}

/// Where the guest stands when emitted code is interrupted by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// Nowhere: it must run on, a few instructions, to where it stands somewhere.
    Between,
    /// Before the instruction at `pc`. Register `spilled[n]`, if any, is in the context's spill slot `n`.
    At { pc: u64, spilled: [Option<u8>; 2] },
    /// The same if the instruction here is the one that faulted; else between.
    Faulting { pc: u64, spilled: [Option<u8>; 2] },
}

/// Code that is seldom run, put behind the rest.
enum Cold {
    /// An unlinked branch asks for its target.
    Link {
        site: u64,
        target: Key,
    },
    /// The rest of a call: the guest's return address takes the place of ours, then on to the target.
    Call {
        label: DynamicLabel,
        return_address: u64,
        target: Key,
    },
    IndirectCall {
        label: DynamicLabel,
        return_address: u64,
        mode: Mode,
    },
    /// A return to an address that shares the slot with this one.
    OtherReturn {
        label: DynamicLabel,
        than: Key,
        entry: u64,
    },
    /// No room for a record: what begins at `resume` begins again with the next chunk.
    RingFull {
        label: DynamicLabel,
        resume: DynamicLabel,
    },
    /// A loop is left before it was run through as often as its record has room for.
    LeaveLoop {
        label: DynamicLabel,
        record: ShorterRecord,
        scratch: Scratch,
        target: Key,
    },
    /// The source of a block is no longer what was translated.
    Changed {
        label: DynamicLabel,
        key: Key,
    },
    LeaveQuiet {
        label: DynamicLabel,
    },
}

/// The records of a wrapped function: at its entry and at its return.
#[derive(Default)]
pub struct WrapperRecords {
    pub enter: Option<Record>,
    pub leave: Option<Record>,
}

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
            table_entries: Vec::new(),
            continuations: Vec::new(),
            leaves: Vec::new(),
            marks: None,
            logging,
            cold: Vec::new(),
        }
    }

    /// Begins anew, when all that the emitter had has been taken from it: its memory is used again.
    pub fn restart(mut self, start: u64, stubs: Stubs, first_exit: i32) -> Emitter {
        self.asm.restart(start);
        (self.stubs, self.first_exit) = (stubs, first_exit);
        self
    }

    /// Loops lie in the cache as they lie in the guest, where a compiler has aligned them. So do blocks that are not fallen into; into
    /// others a nop leads if a compiler would have put one there.
    pub fn align(&mut self, decoded: &Decoded, pc: u64, starts_chain: bool) {
        if decoded.is_loop() {
            self.asm.align_like(pc, 32);
        } else if starts_chain || pc.is_multiple_of(16) {
            self.asm.align_like(pc, 16);
        }
    }

    /// Translated code for this place begins here.
    pub fn entry(&mut self, key: Key) {
        self.entries.push((key, self.asm.here()));
    }

    /// The block's instructions up to the one that ends it, with their record.
    pub fn body(&mut self, decoded: &Decoded, record: Option<&Record>) {
        let count = decoded.body_len();
        if record.is_none() && self.marks.is_none() {
            self.copy(decoded, 0..count);
            decoded.instrs[..count].last().into_iter().for_each(|last| self.keep_apart(last));
            return;
        }
        self.mark(Interrupted::Between);
        let first = decoded.instrs.first().map(Instruction::ip);
        let scratch = record.map(|record| self.begin_record(record, decoded.registers, &decoded.instrs, first));
        let spilled = scratch.map_or([None, None], |scratch| scratch.spilled());
        let mut shorter = record.into_iter().flat_map(|record| &record.shorter);
        for (index, instr) in decoded.instrs.iter().enumerate() {
            if index <= count {
                self.mark(Interrupted::At { pc: instr.ip(), spilled });
            }
            if let (Some(record), Some(scratch)) = (record, scratch) {
                self.log(&record.block, index, When::Before, scratch, &decoded.instrs);
            }
            if decoded.goes_round(index)
                && let (Some(scratch), Some(left)) = (scratch, shorter.next())
            {
                self.go_round(instr, *left, scratch);
            } else if index < count {
                self.copy(decoded, index..index + 1);
                self.mark(Interrupted::At { pc: instr.next_ip(), spilled });
                self.keep_apart(instr);
                if let (Some(record), Some(scratch)) = (record, scratch) {
                    self.log(&record.block, index, When::After, scratch, &decoded.instrs);
                    self.mark(Interrupted::At { pc: instr.next_ip(), spilled });
                }
            }
        }
        if let (Some(record), Some(scratch)) = (record, scratch) {
            let last = decoded.instrs.get(count).map(Instruction::ip);
            let end = last.or(decoded.instrs.last().map(Instruction::next_ip));
            self.end_record(record.block.record, scratch, end);
        }
    }

    fn mark(&mut self, interrupted: Interrupted) {
        let here = self.asm.here();
        if let Some(marks) = &mut self.marks {
            marks.push((here, interrupted));
        }
    }

    /// Copies instructions. What they reach relative to their own address is as much further away as the copy is.
    fn copy(&mut self, decoded: &Decoded, indices: Range<usize>) {
        let Some(first) = decoded.instrs.get(indices.start) else { return };
        let Range { start, end } = decoded.range_of(indices);
        let further = first.ip().wrapping_sub(self.asm.here()) as i32;
        let mut copied = start;
        for at in decoded.rip_displacements.iter().copied().filter(|at| (start..end).contains(at)) {
            let displacement = decoded.bytes[at..].first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
            self.asm.ops.extend(&decoded.bytes[copied..at]);
            self.asm.ops.push_i32(displacement.wrapping_add(further));
            copied = at + 4;
        }
        self.asm.ops.extend(&decoded.bytes[copied..end]);
    }

    /// The signal of a trap comes behind the instruction, which must not be where another block begins.
    fn keep_apart(&mut self, instr: &Instruction) {
        if instr.flow_control() == FlowControl::Interrupt {
            self.asm.ops.push(0x90);
        }
    }

    /// Asks the supervisor, with all registers the guest's. The exit may want to know the address behind the asking.
    fn ask(&mut self, exit: impl FnOnce(u64) -> Exit) {
        let number = self.first_exit + self.exits.len() as i32;
        // Its upper half is always 0.
        dynasm!(self.asm.ops; .arch x64; gs mov DWORD [at::EXIT], number);
        self.asm.jump(self.stubs.request);
        self.exits.push(exit(self.asm.here()));
    }

    /// A wrapped function's entry: what is to be known of the call is told, then the function runs quietly. When it
    /// returns, what is to be known of the result is told. The entry comes first: a block that ends in a jump to the
    /// function may fall into it.
    pub fn wrapped(&mut self, (pc, mode): Key, function: Function, records: &WrapperRecords) {
        let leave = self.asm.ops.new_dynamic_label();
        self.entry((pc, mode));
        if let Some(record) = &records.enter {
            self.record(record, top_of_stack());
        }
        if let Function::Wrapped(Wrapper::Output(function)) = function {
            let skip = self.asm.ops.new_dynamic_label();
            if let Shows::Bytes { size, count, .. } = function.shows {
                let register = |argument: u8| ARGUMENTS[argument as usize % ARGUMENTS.len()];
                self.unless_floats_fit(count.map(|_| register(size)), register(count.unwrap_or(size)), skip);
            }
            self.ask(|resume| Exit::Output { function, resume });
            dynasm!(self.asm.ops; .arch x64; =>skip);
        }
        self.keep(&kept_arguments(function));
        self.enter_quiet(leave);
        self.jump_to((pc, Mode::Quiet));

        dynasm!(self.asm.ops; .arch x64; =>leave);
        self.leaves.push((self.asm.here(), (pc, mode)));
        if let Some(record) = &records.leave {
            let skip = self.asm.ops.new_dynamic_label();
            if writes_only_if_it_succeeds(function) {
                self.unless_zero_is_returned(skip);
            }
            self.record(record, top_of_stack());
            dynasm!(self.asm.ops; .arch x64; =>skip);
        }
        if let Function::Resolver(wrapper) = function {
            self.ask(|resume| Exit::Resolved { function: wrapper, resume });
        }
        self.guest_return(pc, mode, 0);
    }

    /// Code that goes on in another mode.
    pub fn cross(&mut self, here: Key, gap: &Record, there: Key) {
        self.entry(here);
        self.record(gap, top_of_stack());
        self.jump_to(there);
    }

    /// Asking takes long. Of what is written most is text, and most text is not a multiple of four bytes long: then it is no array of floats.
    /// So many bytes are written as a register says; times another's, if that is given: elements that are no bytes are asked about.
    pub(super) fn unless_floats_fit(&mut self, size: Option<u8>, count: u8, skip: DynamicLabel) {
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(0)], rcx);
        if let Some(size) = size {
            dynasm!(self.asm.ops; .arch x64; lea rcx, [Rq(size) - 1]; jrcxz >bytes; jmp >zero; bytes:);
        }
        // The lowest two bits, without flags.
        dynasm!(self.asm.ops
            ; .arch x64
            ; lea rcx, [Rq(count) * 8]
            ; lea rcx, [rcx * 8]
            ; movzx ecx, cl
        );
        self.unless_zero(skip);
    }

    /// What a function has not written need not be there to be read.
    fn unless_zero_is_returned(&mut self, skip: DynamicLabel) {
        dynasm!(self.asm.ops; .arch x64; gs mov [at::spill(0)], rcx; mov ecx, eax);
        self.unless_zero(skip);
    }

    /// Skips what follows unless rcx, whose guest value is spilled, is 0. (Who is not to skip in any case jumps to `zero`.)
    fn unless_zero(&mut self, skip: DynamicLabel) {
        dynasm!(self.asm.ops
            ; .arch x64
            ; jrcxz >zero
            ; gs mov rcx, [at::spill(0)]
            ; jmp =>skip
            ; zero:
            ; gs mov rcx, [at::spill(0)]
        );
    }

    /// Arguments of the call that are wanted when it returns: so many bytes of each register, one behind the other.
    fn keep(&mut self, arguments: &[(Place, u8)]) {
        let mut number = 0;
        for (place, bytes) in arguments {
            match place.reg {
                Reg::Vec(register) => self.store_vector(register, *bytes, at::out(number)),
                Reg::Gpr(register) => dynasm!(self.asm.ops; .arch x64; gs mov [at::out(number)], Rq(register)),
                _ => {}
            }
            number += *bytes as usize / 8;
        }
    }

    /// Quiet mode begins: it ends with the return from the function being entered, at `leave`.
    fn enter_quiet(&mut self, leave: DynamicLabel) {
        dynasm!(self.asm.ops
            ; .arch x64
            ; gs mov [at::spill(0)], rcx
            // minus rsp, without flags
            ; lea rcx, [rsp - 1]
            ; not rcx
            ; gs mov [at::QUIET_END], rcx
            ; lea rcx, [=>leave]
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
                    self.links.push((target, Link { site, stub }));
                }
                Cold::Call { label, return_address, target } => {
                    dynasm!(self.asm.ops; .arch x64; =>label);
                    self.push_return_address(return_address, |emitter| emitter.jump_to(target));
                }
                Cold::IndirectCall { label, return_address, mode } => {
                    dynasm!(self.asm.ops; .arch x64; =>label);
                    self.push_return_address(return_address, |emitter| emitter.look_up(mode));
                }
                Cold::OtherReturn { label, than, entry } => {
                    dynasm!(self.asm.ops; .arch x64; =>label; jmp QWORD [>before]; .align 8; before:);
                    let otherwise = self.asm.here();
                    self.table_entries.push(TableEntry { target: than, lookup: Lookup::Return, entry, otherwise });
                    let end = self.stubs.miss(than.1, Lookup::Return);
                    dynasm!(self.asm.ops; .arch x64; .u64 end);
                }
                Cold::RingFull { label, resume } => {
                    dynasm!(self.asm.ops; .arch x64; =>label; lea rcx, [=>resume]; gs mov [at::RESUME], rcx);
                    self.asm.jump(self.stubs.next_chunk);
                }
                Cold::LeaveLoop { label, record, scratch, target } => {
                    dynasm!(self.asm.ops; .arch x64; =>label; gs mov DWORD [Rq(scratch.cursor)], record.number as i32);
                    self.end_record(record.length, scratch, None);
                    self.jump_to(target);
                }
                Cold::Changed { label, key } => {
                    dynasm!(self.asm.ops; .arch x64; =>label);
                    self.restore_spilled();
                    self.ask(|_| Exit::Changed { key });
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
}

fn writes_only_if_it_succeeds(function: Function) -> bool {
    let Function::Wrapped(Wrapper::Change(Change::Allocate { place, .. })) = function else { return false };
    place == AllocatedAt::Written
}

/// `cmp rax, [rsp]`: stands for the moment a function is entered, its return address on top of the stack.
fn top_of_stack() -> Instruction {
    let operand = iced_x86::MemoryOperand::with_base(Register::RSP);
    Instruction::with2(Code::Cmp_r64_rm64, Register::RAX, operand).expect("a register and a memory operand fit cmp")
}
