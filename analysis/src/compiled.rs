//! Blocks that run often, as machine code.
//!
//! The code does what the engine does, instruction by instruction, in the common case: doubles without anything special about them are loaded,
//! added, multiplied and stored. Each piece of it looks first whether it is that case, and changes nothing before it knows. Whatever it
//! does not know how to do is left to the engine's own instruction, so that the code adds speed and no meaning.
//!
//! Code goes from record to record by itself, as long as there is code for them.
//!
//! While it runs, these registers stay what they are: rbx the operations, r12 the record, r13 the lanes, r14 the pages that were looked up last,
//! r15 what is known of the thread's registers; rbp is where the next node will be.

#[expect(clippy::useless_conversion, reason = "made by dynasm")]
mod arithmetic;
mod places;
mod routines;

pub use routines::Routines;
use routines::{COMPARE, ENGINE, ENTER, NEXT, READY, READY_SINGLE, number_of};

use crate::consume::Books;
use crate::lanes::{Compare, Facts, Granule, Instr, Lane, Logic, Number, Plain};
use crate::location::LocationId;
use crate::magic;
use crate::node::{Kept, Node, Slot};
use crate::operation::Operations;
use crate::program::Program;
use crate::real::Real;
use crate::run::Running;
use crate::shadow::Part;
use crate::spots::Spots;
use dynasmrt::x64::{Assembler, X64Relocation};
use dynasmrt::{AssemblyOffset, DynamicLabel, DynasmApi, DynasmLabelApi, ExecutableBuffer, VecAssembler, dynasm};
use fpgrind_ir::{BitOp, Operator, Type};
use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{null, null_mut};

/// Bytes of code that a block may have, and that there may be in all: blocks that come later are interpreted.
const MOST_OF_A_BLOCK: usize = 1 << 18;
const MOST: usize = 1 << 26;

/// The code of a program, once it has run often; and how often it has.
#[derive(Default)]
pub struct Code {
    runs: Cell<u32>,
    /// What the code has to do; nothing if there is no code.
    compiled: OnceCell<Option<Vec<Work>>>,
}

/// The code of all programs.
pub struct Arena {
    code: Option<Assembler>,
    /// Where that of each is, by the programs' numbers; zero if it has none.
    entries: Vec<u32>,
    /// Bytes of their records, at most.
    longest: usize,
}

/// Programs with larger numbers are interpreted.
const MOST_PROGRAMS: u32 = 1 << 22;

impl Arena {
    pub fn new() -> Arena {
        Arena { code: None, entries: Vec::new(), longest: 0 }
    }

    /// Nothing if there is no room.
    fn add(&mut self, number: u32, program: &Program, code: &[u8]) -> Option<()> {
        if number >= MOST_PROGRAMS {
            return None;
        }
        let all = match &mut self.code {
            Some(all) => all,
            none => {
                let all = none.insert(Assembler::new().ok()?);
                // Nothing begins at zero.
                dynasm!(all; .arch x64; int3);
                all
            }
        };
        dynasm!(all; .arch x64; .align 64);
        let start = all.offset();
        if start.0 + code.len() > MOST {
            return None;
        }
        all.extend(code);
        all.commit().ok()?;
        if self.entries.len() <= number as usize {
            self.entries.resize(number as usize + 1, 0);
        }
        self.entries[number as usize] = start.0 as u32;
        self.longest = self.longest.max(program.record);
        Some(())
    }

    /// The number will be another's.
    pub fn forget(&mut self, number: u32) {
        if let Some(entry) = self.entries.get_mut(number as usize) {
            *entry = 0;
        }
    }
}

/// What compiled code needs to go from a record to the next.
#[repr(C)]
pub struct Way {
    /// The last place at which a record may begin that is certainly whole.
    last: *const u8,
    base: *const u8,
    entries: *const u32,
    programs: usize,
    /// Records that were run.
    records: u64,
    /// What the engine needs.
    call: *mut (),
    /// No further.
    stop: bool,
}

impl Way {
    pub const NOWHERE: Way =
        Way { last: null(), base: null(), entries: null(), programs: 0, records: 0, call: null_mut(), stop: false };
}

/// Compiles a program if it has run often.
pub fn prepare<R: Real>(running: &mut Running<'_, R>, number: u32, program: &Program) {
    let code = &program.code;
    let runs = code.runs.get();
    if code.compiled.get().is_some() || running.books.compile_after.is_none_or(|after| runs < after) {
        code.runs.set(runs.saturating_add(1));
        return;
    }
    let books = &mut *running.books;
    code.compiled.get_or_init(|| {
        let (code, work) = Compiler::compile(program, &books.operations, &books.spots)?;
        books.make_room(program);
        books.code.add(number, program, &code).map(|()| work)
    });
}

/// Runs records that programs have code for, as many as there are before one without. How many bytes they are.
pub fn run<R: Real>(running: &mut Running<'_, R>, bytes: &[u8]) -> usize {
    let Books { operations, code: Arena { code, entries, longest }, .. } = &mut *running.books;
    let is_common = running.thread.mode.is_plain() && !operations.strays.wanted;
    let (Some(code), true, true) = (code, is_common, bytes.len() >= *longest) else { return 0 };
    let base = code.reader().lock().ptr(AssemblyOffset(0));
    let start = operations.routines.table[ENTER];
    operations.routines.way = Way {
        last: &raw const bytes[bytes.len() - *longest..] as *const u8,
        base,
        entries: entries.as_ptr(),
        programs: entries.len(),
        ..Way::NOWHERE
    };
    // SAFETY: what begins there is such a function.
    let enter: Enter<R> = unsafe { std::mem::transmute(start) };
    let lanes = std::mem::take(&mut running.books.lanes);
    let operations = &raw mut running.books.operations;
    let (recent, registers) = (running.process.memory.recent(), running.thread.registers.parts().as_mut_ptr());
    let mut call = Call { running, lanes, panic: None };
    let lanes_at = call.lanes.as_mut_ptr();
    // SAFETY: the code was made for the programs whose records these are, and reads and writes what the call borrows.
    let end = unsafe {
        (*operations).routines.way.call = (&raw mut call).cast();
        enter(operations, bytes.as_ptr(), lanes_at, recent.cast(), registers.cast())
    };
    let Call { running, lanes, panic } = call;
    running.books.totals.blocks += running.books.operations.routines.way.records;
    running.books.lanes = lanes;
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
    end as usize - bytes.as_ptr() as usize
}

type Enter<R> = unsafe extern "sysv64" fn(*mut Operations<R>, *const u8, *mut Lane, *const u8, *mut u8) -> *const u8;

/// What code has to do, and has the engine do if it is out of the ordinary.
pub struct Work {
    instr: *const Instr,
    program: *const Program,
    /// The tally of an operation, or the spot of a decision.
    of: *const (),
    at: LocationId,
}

/// What the engine needs to execute an instruction.
struct Call<'a, 'b, R> {
    running: &'a mut Running<'b, R>,
    lanes: Vec<Lane>,
    /// It cannot go through code of ours: it waits here until that has returned.
    panic: Option<Box<dyn Any + Send>>,
}

unsafe extern "sysv64" fn execute<R: Real>(call: *mut Call<'_, '_, R>, work: *const Work, record: *const u8) {
    // SAFETY: the code was called with the one, and made with the other, which lives as long as it does, and so does what it points to.
    let (call, instr, program) = unsafe { (&mut *call, (*work).instr.as_ref(), &*(*work).program) };
    // SAFETY: records of the program are that long.
    let record = unsafe { std::slice::from_raw_parts(record, program.record) };
    let instrs = instr.map_or(&program.lanes.instrs[..], std::slice::from_ref);
    call.do_carefully(|running, lanes| {
        for instr in instrs {
            instr.each_read(|lane| {
                if program.lanes.are_lean[lane as usize] {
                    lanes[lane as usize].unfold(&running.books.operations.nodes);
                }
            });
            running.execute_with_fma(instr, program, record, lanes);
        }
    });
}

unsafe extern "sysv64" fn make_room<R: Real>(call: *mut Call<'_, '_, R>) {
    // SAFETY: the code was called with it.
    unsafe { &mut *call }.do_carefully(|running, _| running.books.operations.nodes.make_room());
}

impl<'b, R: Real> Call<'_, 'b, R> {
    /// Nodes may be moved by it, and it may panic.
    fn do_carefully(&mut self, what: impl FnOnce(&mut Running<'b, R>, &mut [Lane])) {
        let Call { running, lanes, panic } = self;
        if panic.is_some() {
            return;
        }
        let before = running.books.operations.nodes.base;
        *panic = catch_unwind(AssertUnwindSafe(|| what(running, lanes))).err();
        let operations = &mut running.books.operations;
        operations.routines.way.stop = panic.is_some();
        if operations.nodes.base != before {
            lanes.iter_mut().for_each(|lane| lane.point_again(&operations.nodes));
        }
    }
}

struct Compiler<'a, R> {
    asm: VecAssembler<X64Relocation>,
    operations: &'a Operations<R>,
    spots: &'a Spots,
    program: &'a Program,
    /// Pieces that follow the rest: where the engine takes over, and where it gives back.
    engine: Vec<(DynamicLabel, DynamicLabel, *const Work)>,
    /// They stay where they are: there is room for all.
    work: Vec<Work>,
    /// An instruction reads beyond the record: no code for that.
    is_broken: bool,
}

/// Where fields are.
fn lane(number: Number, field: usize) -> i32 {
    (number as usize * size_of::<Lane>() + field) as i32
}

const LANE_BITS: i8 = offset_of!(Lane, bits) as i8;
const LANE_PART: i8 = offset_of!(Lane, part) as i8;
const LANE_WIDE: i8 = offset_of!(Lane, wide) as i8;
const LANE_SLOT: i8 = offset_of!(Lane, slot) as i8;
const LANE_WORD: i8 = offset_of!(Lane, word) as i8;
const LANE_FACTS: i8 = offset_of!(Lane, facts) as i8;
const LANE_OWN: i8 = offset_of!(Lane, own) as i8;
const _: () = assert!(size_of::<Lane>() <= i8::MAX as usize);

/// What two bytes of a node say of one that is an argument like others.
fn plain(ty: Type) -> i16 {
    const { assert!(offset_of!(Node, kept) == offset_of!(Node, ty) + 1) };
    ty as i16 | (Kept::Plain as i16) << 8
}

/// What four bytes of a lane say of an argument that is ready: whether it is wide, that it is ready, and how it is kept.
fn ready(slot: Slot, wide: bool) -> i32 {
    const {
        let wide = offset_of!(Lane, wide);
        assert!(offset_of!(Lane, is_plain) == wide + 1 && offset_of!(Lane, slot) == wide + 2);
        // Nodes begin with what is known of arguments.
        assert!(offset_of!(Node, near) == 0 && offset_of!(Facts, near) == 0);
        assert!(offset_of!(Node, influences) == offset_of!(Facts, influences));
    };
    wide as i32 | 1 << 8 | (slot.0 as i32) << 16
}

/// The kinds of parts, and where they say of what, as bytes have it.
const NONE: i32 = 0;
const CONSTANT: i32 = 1;
const SHADOW: i32 = 2;
const NUMBER: usize = 4;
const PART: usize = size_of::<Part>();

impl<'a, R: Real> Compiler<'a, R> {
    /// The code, wherever it may lie, and what it has to do; nothing if there can be none.
    fn compile(program: &'a Program, operations: &'a Operations<R>, spots: &'a Spots) -> Option<(Vec<u8>, Vec<Work>)> {
        let is_interpreted =
            |instr: &Instr| matches!(instr, Instr::Step(_) | Instr::Assemble(..) | Instr::TakeApart { .. });
        if !operations.routines.are_there() || program.changes_mode() {
            return None;
        }
        let room = program.lanes.instrs.len().max(1);
        let (asm, engine, work) = (VecAssembler::new(0), Vec::new(), Vec::with_capacity(room));
        let mut compiler = Compiler { asm, operations, spots, program, engine, work, is_broken: false };
        if program.lanes.instrs.iter().all(is_interpreted) {
            // All at once.
            let work = compiler.work(null(), null(), LocationId(0));
            compiler.call_routine(ENGINE, work);
        } else {
            program.lanes.instrs.iter().for_each(|instr| compiler.instr(instr));
        }
        if compiler.is_broken || compiler.asm.offset().0 > MOST_OF_A_BLOCK {
            return None;
        }
        compiler.leave();
        compiler.call_engine();
        Some((compiler.asm.finalize().ok()?, compiler.work))
    }

    fn labels<const N: usize>(&mut self) -> [DynamicLabel; N] {
        std::array::from_fn(|_| self.asm.new_dynamic_label())
    }

    /// Goes on to the next record.
    fn leave(&mut self) {
        let next = offset_of!(Operations<R>, routines.table) + NEXT * size_of::<*const u8>();
        dynasm!(self.asm; .arch x64; add r12, self.program.record as i32; jmp QWORD [rbx + next as i32]);
    }

    fn work(&mut self, instr: *const Instr, of: *const (), at: LocationId) -> *const Work {
        debug_assert!(self.work.len() < self.work.capacity());
        self.work.push(Work { instr, program: self.program, of, at });
        self.work.last().map_or(null(), |work| work)
    }

    fn instr(&mut self, instr: &Instr) {
        let (of, at): (*const (), _) = match instr {
            Instr::Doubles(plain) | Instr::Singles(plain) => {
                ((&raw const *self.operations.sites.tally(plain.site)).cast(), plain.at)
            }
            Instr::Logic(logic) => (null(), logic.at),
            Instr::Compare(compare) => ((&raw const *self.spots.spots[compare.spot]).cast(), LocationId(0)),
            _ => (null(), LocationId(0)),
        };
        let work = self.work(instr, of, at);
        let [slow, back] = self.labels();
        let is_known = match instr {
            Instr::Doubles(plain) => self.operation(plain, Type::F64, work),
            Instr::Singles(plain) => self.operation(plain, Type::F32, work),
            Instr::Compare(compare) => self.compare(compare, work),
            Instr::Logic(logic) => self.logic(logic, work),
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

    /// A mask may be on either side; it mostly is on the second.
    fn logic(&mut self, logic: &Logic, work: *const Work) -> bool {
        let operator = match logic.op {
            BitOp::Xor => Operator::Neg,
            BitOp::And => Operator::Abs,
            _ => return false,
        };
        let [[a, next_to_a], [b, _]] = logic.args;
        // All eight bytes must be in one lane each, those of the mask all there, and whoever wants the last four of the result wants them alone.
        let are_lean = &self.program.lanes.are_lean;
        let is_whole = |granule: Granule| !granule.upper && granule.room >= 8;
        let is_double = next_to_a.upper || next_to_a.lane == a.lane + 1;
        let is_there = !are_lean[b.lane as usize];
        if !is_whole(a) || !is_whole(b) || !is_there || !is_double || logic.wanted != 1 {
            return false;
        }
        match are_lean[a.lane as usize] {
            true => dynasm!(self.asm; .arch x64; mov r8, [r13 + lane(a.lane, LANE_FACTS as usize)]; mov r8, [r8]),
            false => dynasm!(self.asm; .arch x64; mov r8, [r13 + lane(a.lane, LANE_BITS as usize)]),
        }
        self.fetch_part(a.lane);
        dynasm!(self.asm
            ; .arch x64
            ; lea rsi, [r13 + lane(b.lane, 0)]
            ; lea rdx, [r13 + lane(logic.to, 0)]
        );
        self.call_routine(number_of(operator, Type::F64), work);
        true
    }

    fn compare(&mut self, compare: &Compare, work: *const Work) -> bool {
        let [a, b] = compare.args;
        dynasm!(self.asm; .arch x64; lea rdi, [r13 + lane(a, 0)]; lea rsi, [r13 + lane(b, 0)]);
        self.call_routine(COMPARE, work);
        true
    }
}

/// The operations that there are routines for, on doubles and singles. (The signs of singles are for the engine.)
const PLAIN: [Operator; 8] = {
    use Operator::*;
    [Add, Sub, Mul, Div, Sqrt, Fma, Neg, Abs]
};
