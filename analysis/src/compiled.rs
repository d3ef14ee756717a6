//! Blocks that run often, as machine code.
//!
//! The code does what the engine does, instruction by instruction, in the common case: doubles without anything special about them are loaded,
//! added, multiplied and stored. Each piece of it looks first whether it is that case, and changes nothing before it knows. Whatever it
//! does not know how to do is left to the engine's own instruction, so that the code adds speed and no meaning.
//!
//! While it runs, these registers stay what they are: rbx the operations, r12 the record, r13 the lanes, r14 the pages that were looked up last,
//! r15 what is known of the thread's registers; rbp is where the next node will be.

#[expect(clippy::useless_conversion, reason = "made by dynasm")]
mod arithmetic;
mod places;
mod routines;

pub use routines::Routines;
use routines::{ENGINE, READY, READY_SINGLE, find_room, number_of};

use crate::dd::DoubleDouble;
use crate::lanes::{Facts, Instr, Lane, Number, Plain};
use crate::location::LocationId;
use crate::magic;
use crate::operation::Operations;
use crate::program::Program;
use crate::real::Real;
use crate::run::Running;
use crate::shadow::Part;
use crate::site::Tally;
use crate::trace::{Node, Slot};
use dynasmrt::x64::{Assembler, X64Relocation};
use dynasmrt::{AssemblyOffset, DynamicLabel, DynasmApi, DynasmLabelApi, ExecutableBuffer, VecAssembler, dynasm};
use fpgrind_ir::{Operator, Type};
use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null;

/// Bytes of code that a block may have, and that there may be in all: blocks that come later are interpreted.
const MOST_OF_A_BLOCK: usize = 1 << 18;
const MOST: usize = 1 << 26;

/// The code of a program, once it has run often; and how often it has.
#[derive(Default)]
pub struct Code {
    runs: Cell<u32>,
    compiled: OnceCell<Option<Compiled>>,
}

struct Compiled {
    /// Where among all code.
    at: AssemblyOffset,
    _work: Vec<Box<Work>>,
}

/// The code of all programs.
pub struct Arena {
    code: Option<Assembler>,
    base: *const u8,
}

impl Arena {
    pub fn new() -> Arena {
        Arena { code: None, base: std::ptr::null() }
    }

    /// Nothing if there is no room.
    fn add(&mut self, code: &[u8]) -> Option<AssemblyOffset> {
        let all = match &mut self.code {
            Some(all) => all,
            none => none.insert(Assembler::new().ok()?),
        };
        dynasm!(all; .arch x64; .align 64);
        let start = all.offset();
        if start.0 + code.len() > MOST {
            return None;
        }
        all.extend(code);
        all.commit().ok()?;
        self.base = all.reader().lock().ptr(AssemblyOffset(0));
        Some(start)
    }
}

/// Runs a program's code on a record, if it has any. Says whether it has.
pub fn run<R: Real>(running: &mut Running<'_, R>, program: &Program, record: &[u8], lanes: &mut [Lane]) -> bool {
    let code = &program.code;
    let Some(compiled) = code.compiled.get() else {
        let runs = code.runs.get();
        code.runs.set(runs.saturating_add(1));
        let is_due = running.books.compile_after.is_some_and(|after| runs >= after);
        return is_due && {
            let books = &mut *running.books;
            code.compiled.get_or_init(|| {
                let (code, work) = Compiler::compile(program, &books.operations)?;
                Some(Compiled { at: books.code.add(&code)?, _work: work })
            });
            run(running, program, record, lanes)
        };
    };
    let is_common = running.thread.mode.is_plain() && !running.books.operations.strays.wanted;
    let Some(start) = compiled.as_ref().filter(|_| is_common) else { return false };
    // SAFETY: what begins there is such a function.
    let entry: Entry<R> = unsafe { std::mem::transmute(running.books.code.base.add(start.at.0)) };
    let operations = &raw mut running.books.operations;
    let (recent, registers) = (running.process.memory.recent(), running.thread.registers.parts().as_mut_ptr());
    let (record_at, lanes_at) = (record.as_ptr(), lanes.as_mut_ptr());
    let mut call = Call { running, lanes, panic: None };
    // SAFETY: the code was made for this program, whose records are that long, and reads and writes what the call borrows.
    unsafe {
        (*operations).routines.call = (&raw mut call).cast();
        entry(operations, record_at, lanes_at, recent.cast(), registers.cast());
    }
    if let Some(panic) = call.panic {
        resume_unwind(panic);
    }
    true
}

type Entry<R> = unsafe extern "sysv64" fn(*mut Operations<R>, *const u8, *mut Lane, *const u8, *mut u8);

/// What code has to do, and has the engine do if it is out of the ordinary.
pub struct Work {
    instr: *const Instr,
    program: *const Program,
    /// Of an operation.
    tally: *const Tally,
    at: LocationId,
}

/// What the engine needs to execute an instruction.
struct Call<'a, 'b, R> {
    running: &'a mut Running<'b, R>,
    lanes: &'a mut [Lane],
    /// It cannot go through code of ours: it waits here until that has returned.
    panic: Option<Box<dyn Any + Send>>,
}

unsafe extern "sysv64" fn execute<R: Real>(call: *mut Call<'_, '_, R>, work: *const Work, record: *const u8) {
    // SAFETY: the code was called with the one, and made with the other, which lives as long as it does, and so do what it points to.
    let (call, instr, program) = unsafe { (&mut *call, &*(*work).instr, &*(*work).program) };
    // SAFETY: records of the program are that long.
    let record = unsafe { std::slice::from_raw_parts(record, program.record) };
    let Call { running, lanes, panic } = call;
    if panic.is_none() {
        let before = running.books.operations.nodes.base;
        let done = catch_unwind(AssertUnwindSafe(|| running.execute_with_fma(instr, program, record, lanes)));
        *panic = done.err();
        let nodes = &running.books.operations.nodes;
        if nodes.base != before {
            lanes.iter_mut().for_each(|lane| lane.point_again(nodes));
        }
    }
}

struct Compiler<'a, R> {
    asm: VecAssembler<X64Relocation>,
    operations: &'a Operations<R>,
    program: &'a Program,
    /// Pieces that follow the rest: where the engine takes over, and where it gives back.
    engine: Vec<(DynamicLabel, DynamicLabel, *const Work)>,
    work: Vec<Box<Work>>,
    /// An instruction reads beyond the record: no code for that.
    is_broken: bool,
}

/// Where fields are.
fn lane(number: Number, field: usize) -> i32 {
    (number as usize * size_of::<Lane>() + field) as i32
}

/// As bytes have it.
fn slot_code(slot: Slot) -> i16 {
    let (tag, ty) = match slot {
        Slot::None => (0, None),
        Slot::Node => (1, None),
        Slot::Data(ty) => (2, Some(ty)),
        Slot::Number(ty) => (3, Some(ty)),
    };
    tag | (ty.map_or(0, |ty| ty as u8 as i16) << 8)
}

const LANE_BITS: i8 = offset_of!(Lane, bits) as i8;
const LANE_PART: i8 = offset_of!(Lane, part) as i8;
const LANE_WIDE: i8 = offset_of!(Lane, wide) as i8;
const LANE_SLOT: i8 = offset_of!(Lane, slot) as i8;
const LANE_WORD: i8 = offset_of!(Lane, word) as i8;
const LANE_FACTS: i8 = offset_of!(Lane, facts) as i8;
const LANE_NUMBER: i8 = LANE_PART + NUMBER as i8;
const _: () = assert!(size_of::<Lane>() <= i8::MAX as usize && size_of::<Option<Type>>() == 1);

/// What four bytes of a lane say of an argument that is ready: whether it is wide, that it is ready, and how it is kept.
fn ready(slot: Slot, wide: bool) -> i32 {
    const {
        let wide = offset_of!(Lane, wide);
        assert!(offset_of!(Lane, is_plain) == wide + 1 && offset_of!(Lane, slot) == wide + 2);
        // Nodes begin with what is known of arguments.
        assert!(offset_of!(Node<DoubleDouble>, kept) == 0);
        assert!(offset_of!(Node<DoubleDouble>, influences) == offset_of!(Facts, influences));
    };
    wide as i32 | 1 << 8 | (slot_code(slot) as i32) << 16
}

/// The kinds of parts, and where they say of what, as bytes have it.
const NONE: i32 = 0;
const CONSTANT: i32 = 1;
const SHADOW: i32 = 2;
const NUMBER: usize = 4;
const PART: usize = size_of::<Part>();

impl<'a, R: Real> Compiler<'a, R> {
    /// The code, wherever it may lie, and what it has to do; nothing if there is nothing to gain.
    fn compile(program: &'a Program, operations: &'a Operations<R>) -> Option<(Vec<u8>, Vec<Box<Work>>)> {
        let is_worth = |instr: &Instr| matches!(instr, Instr::Doubles(_) | Instr::Singles(_));
        let can_be = operations.routines.are_there() && !program.changes_mode();
        if !can_be || !program.lanes.instrs.iter().any(is_worth) {
            return None;
        }
        let (asm, engine, work) = (VecAssembler::new(0), Vec::new(), Vec::new());
        let mut compiler = Compiler { asm, operations, program, engine, work, is_broken: false };
        compiler.enter();
        for instr in &program.lanes.instrs {
            compiler.instr(instr);
            if compiler.is_broken || compiler.asm.offset().0 > MOST_OF_A_BLOCK {
                return None;
            }
        }
        compiler.leave();
        compiler.call_engine();
        Some((compiler.asm.finalize().ok()?, compiler.work))
    }

    fn labels<const N: usize>(&mut self) -> [DynamicLabel; N] {
        std::array::from_fn(|_| self.asm.new_dynamic_label())
    }

    fn enter(&mut self) {
        dynasm!(self.asm
            ; .arch x64
            ; push rbx
            ; push rbp
            ; push r12
            ; push r13
            ; push r14
            ; push r15
            ; sub rsp, 8
            ; mov rbx, rdi
            ; mov r12, rsi
            ; mov r13, rdx
            ; mov r14, rcx
            ; mov r15, r8
        );
        find_room::<R>(&mut self.asm);
    }

    fn leave(&mut self) {
        dynasm!(self.asm
            ; .arch x64
            ; add rsp, 8
            ; pop r15
            ; pop r14
            ; pop r13
            ; pop r12
            ; pop rbp
            ; pop rbx
            ; ret
        );
    }

    fn instr(&mut self, instr: &Instr) {
        let (tally, at): (*const Tally, _) = match instr {
            Instr::Doubles(plain) | Instr::Singles(plain) => (self.operations.sites.tally(plain.site), plain.at),
            _ => (null(), LocationId(0)),
        };
        self.work.push(Box::new(Work { instr, program: self.program, tally, at }));
        let work: *const Work = &**self.work.last().unwrap_or_else(|| unreachable!("one was pushed"));
        let [slow, back] = self.labels();
        let is_known = match instr {
            Instr::Doubles(plain) => self.operation(plain, Type::F64, work),
            Instr::Singles(plain) => self.operation(plain, Type::F32, work),
            Instr::LoadDouble(addr, input) => self.load_double(addr, input, work),
            Instr::LiveDouble(first, input) => self.live_double(*first, input, work),
            Instr::Double(lane) => self.ready(*lane, READY, work),
            Instr::Single(lane) => self.ready(*lane, READY_SINGLE, work),
            Instr::Load(addr, input) => self.load(addr, input, slow),
            Instr::Live(first, input) => self.live(*first, input, slow),
            Instr::Const { bits, wide, to } => self.constant(*bits, *wide, *to),
            Instr::Fresh(input) => self.fresh(input),
            Instr::Put { first, from } => self.put(*first, from),
            Instr::Drop { first, count } => self.drop(*first, *count),
            Instr::Store { addr, ty, from } => self.store(addr, *ty, from, slow),
            Instr::StoreDouble { addr, from } => self.store(addr, Type::F64, &[*from, 0], slow),
            _ => false,
        };
        if is_known {
            dynasm!(self.asm; .arch x64; =>back);
            self.engine.push((slow, back, work));
        } else {
            dynasm!(self.asm; .arch x64; =>slow);
            self.call_routine(ENGINE, work);
        }
    }

    fn call_engine(&mut self) {
        for (slow, back, work) in std::mem::take(&mut self.engine) {
            dynasm!(self.asm; .arch x64; =>slow);
            self.call_routine(ENGINE, work);
            dynasm!(self.asm; .arch x64; jmp =>back);
        }
    }

    /// Calls a routine, which goes on here.
    fn call_routine(&mut self, number: usize, work: *const Work) {
        let at = offset_of!(Operations<R>, routines.table) + number * size_of::<*const u8>();
        dynasm!(self.asm; .arch x64; mov r11, QWORD work as i64; call QWORD [rbx + at as i32]);
    }

    fn operation(&mut self, plain: &Plain, ty: Type, work: *const Work) -> bool {
        let [a, b, c] = plain.args;
        dynasm!(self.asm
            ; .arch x64
            ; lea rdi, [r13 + lane(a, 0)]
            ; lea rsi, [r13 + lane(b, 0)]
            ; lea rdx, [r13 + lane(plain.to, 0)]
        );
        if plain.operator.arity() == 3 {
            dynasm!(self.asm; .arch x64; lea r10, [r13 + lane(c, 0)]);
        }
        self.call_routine(number_of(plain.operator, ty), work);
        true
    }
}

/// The operations that there are routines for, on doubles and singles.
const PLAIN: [Operator; 6] =
    [Operator::Add, Operator::Sub, Operator::Mul, Operator::Div, Operator::Sqrt, Operator::Fma];
