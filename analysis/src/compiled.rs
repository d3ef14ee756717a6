//! Blocks that run often, as machine code.
//!
//! The code does what the engine does, instruction by instruction, in the common case: doubles without anything special about them are loaded,
//! added, multiplied and stored. Each piece of it looks first whether it is that case, and changes nothing before it knows. Whatever it
//! does not know how to do is left to the engine's own instruction, so that the code adds speed and no meaning.
//!
//! Operations are written out (`stretch.rs`, `arithmetic.rs`), loads and stores that lie near each other go together (`groups.rs`), what is long and rare
//! is called (`routines.rs`, `verdicts.rs`, `losses.rs`).
//! Code goes from record to record by itself, as long as there is code for them.
//!
//! While it runs, these registers stay what they are: rbx the numbers beside the operations (`literals.rs`), r12 the record, r13 the lanes, r14 the pages
//! that were looked up last, r15 what is known of the thread's registers; rbp is where the next node will be, and in stretches r10 is its number.

mod arithmetic;
mod encode;
#[expect(clippy::useless_conversion, reason = "made by dynasm")]
mod groups;
mod literals;
#[expect(clippy::useless_conversion, reason = "made by dynasm")]
mod losses;
mod places;
mod routines;
#[expect(clippy::useless_conversion, reason = "made by dynasm")]
mod stretch;
#[expect(clippy::useless_conversion, reason = "made by dynasm")]
mod verdicts;

use arithmetic::Assembly;
use encode::{At, Gpr, Write, keep_together, near};
use groups::Apart;
use literals::field;
pub use routines::Routines;
use routines::{ABS, BEGIN_CALL, END_CALL, ENGINE, ENTER, NEG, NEXT, READY, READY_SINGLE};
use stretch::{Stretch, Undecided, execute_one};

use crate::calls::{Entry, Return};
use crate::consume::Books;
use crate::lanes::{Compare, Facts, Granule, Input, Instr, Lane, Lanes, Logic, Number, Plain};
use crate::location::LocationId;
use crate::magic;
use crate::node::{INLINE, Kept, Node, Slot};
use crate::offset::Offset;
use crate::operation::Operations;
use crate::pair::Pair;
use crate::plain::{Known, Plain as Format};
use crate::program::Program;
use crate::real::Real;
use crate::run::Running;
use crate::shadow::Part;
use crate::spots::Spots;
use crate::trace::Nodes;
use dynasmrt::x64::{Assembler, X64Relocation};
use dynasmrt::{AssemblyOffset, DynamicLabel, DynasmApi, DynasmLabelApi, ExecutableBuffer, VecAssembler, dynasm};
use fpgrind_ir::{BitOp, GRANULE, Operator, Type};
use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{null, null_mut};
use std::rc::Rc;

/// Bytes of code that a block may have, and that there may be in all: blocks that come later are interpreted.
const MOST_OF_A_BLOCK: usize = 1 << 18;
const MOST: usize = 1 << 26;

/// The code of a program, once it has run often; and how often it has.
#[derive(Default)]
pub struct Code {
    runs: Cell<u32>,
    /// What the code has to do; nothing if there is no code.
    compiled: OnceCell<Option<Job>>,
}

/// What the code of a program knows the addresses of.
struct Job {
    _work: Vec<Work>,
    _stretches: Vec<Rc<Stretch>>,
}

/// The code of all programs.
pub struct Arena {
    code: Option<Assembler>,
    /// Where that of each is, by the programs' numbers; zero if it has none.
    entries: Vec<u32>,
    /// Bytes of their records, at most.
    longest: usize,
    /// The operations that code knows the distance of.
    operations: *const (),
}

/// Programs with larger numbers are interpreted.
const MOST_PROGRAMS: u32 = 1 << 22;

impl Arena {
    pub fn new() -> Arena {
        Arena { code: None, entries: Vec::new(), longest: 0, operations: null() }
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
}

impl Way {
    pub const NOWHERE: Way =
        Way { last: null(), base: null(), entries: null(), programs: 0, records: 0, call: null_mut() };
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
    let at = (&raw const books.operations).cast();
    if books.code.operations.is_null() {
        books.code.operations = at;
    }
    code.compiled.get_or_init(|| {
        if !std::ptr::eq(books.code.operations, at) {
            return None;
        }
        let (code, job) = Compiler::compile(number, program, &books.operations, &books.spots)?;
        books.make_room(program);
        books.code.add(number, program, &code).map(|()| job)
    });
}

/// Runs records that programs have code for, as many as there are before one without. How many bytes they are.
pub fn run<R: Real>(running: &mut Running<'_, R>, bytes: &[u8]) -> usize {
    let Books { operations, code: Arena { code, entries, longest, operations: known }, .. } = &mut *running.books;
    let is_known = std::ptr::eq(*known, (&raw const *operations).cast());
    let is_common = is_known && running.thread.mode.is_plain() && !operations.strays.wanted;
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
#[repr(C)]
struct Work {
    /// The tally of an operation, the spot of a decision, or how a call begins or ends.
    of: *const (),
    /// Where an operation is booked.
    site: u32,
    /// Bytes of a record.
    record: usize,
    program: *const Program,
    instrs: Range<usize>,
    /// Null outside of stretches. The operations of it that come before, those whose results are read, and lanes that are to be unfolded.
    stretch: *const Stretch,
    before: usize,
    reads: Vec<usize>,
    unfolds: Vec<Number>,
    at: LocationId,
}

impl Work {
    /// # Safety
    /// There is one, of that program.
    unsafe fn record<'a>(&self, at: *const u8) -> &'a [u8] {
        // SAFETY: records of the program are that long.
        unsafe { std::slice::from_raw_parts(at, self.record) }
    }
}

/// What the engine needs to execute an instruction.
struct Call<'a, 'b, R> {
    running: &'a mut Running<'b, R>,
    lanes: Vec<Lane>,
    /// It cannot go through code of ours: it waits here until that has returned.
    panic: Option<Box<dyn Any + Send>>,
}

/// What code has Rust do with the work of a record. Says whether that was all of a stretch.
type Help<R> = unsafe extern "sysv64" fn(*mut Call<'_, '_, R>, *const Work, *const u8) -> bool;

/// Has the engine do it.
unsafe extern "sysv64" fn execute<R: Real>(call: *mut Call<'_, '_, R>, work: *const Work, record: *const u8) -> bool {
    // SAFETY: the code was called with the one, and made with the other, which lives as long as it does, and so does what it points to.
    let (call, work, program) = unsafe { (&mut *call, &*work, &*(*work).program) };
    // SAFETY: as above.
    let (record, stretch) = unsafe { (work.record(record), work.stretch.as_ref()) };
    call.do_carefully(|running, lanes| match stretch {
        Some(stretch) => stretch.execute(work, running, program, record, lanes),
        None if !R::HAS_PAIRS => {
            // SAFETY: there is no compiled code where the CPU does not have it.
            unsafe { running.run_some_with_fma(&program.lanes.instrs[work.instrs.clone()], program, record, lanes) };
            false
        }
        None => {
            work.instrs.clone().for_each(|number| execute_one(number, running, program, record, lanes));
            false
        }
    })
}

/// A library function is called.
#[target_feature(enable = "avx,avx2,fma,bmi1,bmi2")]
unsafe extern "sysv64" fn begin_call<R: Real>(
    call: *mut Call<'_, '_, R>,
    work: *const Work,
    record: *const u8,
) -> bool {
    // SAFETY: as above, and that is what the work is of.
    let (call, entry, record) = unsafe { (&mut *call, &*(*work).of.cast::<Entry>(), (*work).record(record)) };
    call.do_carefully(|running, _| {
        running.enter(entry, record);
        false
    })
}

/// It has returned.
#[target_feature(enable = "avx,avx2,fma,bmi1,bmi2")]
unsafe extern "sysv64" fn end_call<R: Real>(call: *mut Call<'_, '_, R>, work: *const Work, record: *const u8) -> bool {
    // SAFETY: as above.
    let (call, result, record) = unsafe { (&mut *call, &*(*work).of.cast::<Return>(), (*work).record(record)) };
    call.do_carefully(|running, _| {
        running.leave(result, record);
        false
    })
}

/// What code has Rust say of a sum or product that is not simply fine: what is known of the arguments, the native result, and how far from that the real
/// is. The influences of the result; or less than nothing if the engine must do it.
type Judge<R> = unsafe extern "sysv64" fn(
    *mut Call<'_, '_, R>,
    *const Work,
    *const Facts,
    *const Facts,
    *const Facts,
    f64,
    f64,
    f64,
) -> i64;

unsafe extern "sysv64" fn judge<F: Format, R: Real>(
    call: *mut Call<'_, '_, R>,
    work: *const Work,
    a: *const Facts,
    b: *const Facts,
    c: *const Facts,
    native: f64,
    by: f64,
    err: f64,
) -> i64 {
    // SAFETY: as above; and the facts are those of lanes or nodes.
    let (call, work, program, facts) = unsafe { (&mut *call, &*work, &*(*work).program, [a, b, c].map(|at| read(at))) };
    let mut influences = None;
    call.do_carefully(|running, _| {
        let operations = &mut running.books.operations;
        let known = Known {
            args: facts.map(|facts| facts.near),
            influences: facts.map(|facts| facts.influences),
            nodes: [a, b, c].map(|facts| operations.nodes.node_at(facts)),
            result: Offset { by, err },
        };
        if let Instr::Doubles(plain) | Instr::Singles(plain) = &program.lanes.instrs[work.instrs.start]
            && known.is_enough(plain.operator)
        {
            let native = F::next_to(Pair::double(native));
            // Those before are not counted yet.
            operations.count += work.before as u64;
            influences = operations.influences_of::<F>(plain.operator, native, plain.site, &known);
            operations.count -= work.before as u64;
        }
        false
    });
    influences.map_or(-1, |influences| influences.0 as i64)
}

/// As compiled code has just written them.
///
/// # Safety
/// There they are.
unsafe fn read(facts: *const Facts) -> Facts {
    // SAFETY: as said.
    let facts = unsafe { &*facts };
    Facts { near: facts.near.piecewise(), influences: facts.influences }
}

/// Makes room for nodes.
unsafe extern "sysv64" fn make_room<R: Real>(call: *mut Call<'_, '_, R>, _: *const Work, _: *const u8) -> bool {
    // SAFETY: as above.
    unsafe { &mut *call }.do_carefully(|running, _| {
        running.books.operations.nodes.make_room(stretch::MOST);
        false
    })
}

impl<'b, R: Real> Call<'_, 'b, R> {
    /// Nodes may be moved by it, and it may panic: then nothing is left of the way. (Inlined: what it is to do would be copied, as one piece, right after it
    /// was written piece by piece.)
    #[inline(always)]
    fn do_carefully(&mut self, what: impl FnOnce(&mut Running<'b, R>, &mut [Lane]) -> bool) -> bool {
        let Call { running, lanes, panic } = self;
        if panic.is_some() {
            return true;
        }
        let before = running.books.operations.nodes.base;
        // It does not come with what the CPU would wait for: a byte where a pointer may be.
        let mut done = true;
        let caught = catch_unwind(AssertUnwindSafe(|| done = what(running, lanes)));
        let operations = &mut running.books.operations;
        if operations.nodes.base != before {
            point_again(lanes, &operations.nodes);
        }
        if let Err(cause) = caught {
            operations.routines.way.last = null();
            *panic = Some(cause);
        }
        done
    }
}

#[cold]
fn point_again<R: Real>(lanes: &mut [Lane], nodes: &Nodes<R>) {
    lanes.iter_mut().for_each(|lane| lane.point_again(nodes));
}

struct Compiler<'a, R> {
    asm: VecAssembler<X64Relocation>,
    operations: &'a Operations<R>,
    spots: &'a Spots,
    program: &'a Program,
    /// Pieces that follow the rest.
    helped: Vec<Helped>,
    undecided: Vec<Undecided>,
    apart: Vec<Apart>,
    /// They stay where they are: there is room for all.
    work: Vec<Work>,
    stretches: Vec<Rc<Stretch>>,
    /// The stretch and the instruction that is being written.
    within: Option<Rc<Stretch>>,
    number: usize,
    /// Where the double is that a lane begins with, if the record has it.
    in_record: Vec<Option<At>>,
    /// An instruction reads beyond the record: no code for that.
    is_broken: bool,
}

/// Where Rust takes over, what it does, and where it gives back: behind the stretch, or where it was called.
struct Helped {
    routine: usize,
    from: DynamicLabel,
    work: *const Work,
    done: DynamicLabel,
    back: DynamicLabel,
    /// The result, if it is one: who comes next may want it where compiled operations leave it.
    made: Option<At>,
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
fn plain<R: Real>(ty: Type) -> i16 {
    const { assert!(offset_of!(Node, kept) == offset_of!(Node, ty) + 1) };
    let kept = if R::HAS_PAIRS { Kept::Plain } else { Kept::Real };
    ty as i16 | (kept as i16) << 8
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
    fn compile(
        number: u32,
        program: &'a Program,
        operations: &'a Operations<R>,
        spots: &'a Spots,
    ) -> Option<(Vec<u8>, Job)> {
        if !operations.routines.are_there() || program.changes_mode() {
            return None;
        }
        let instrs = &program.lanes.instrs;
        let mut compiler = Compiler {
            asm: VecAssembler::new(0),
            operations,
            spots,
            program,
            helped: Vec::new(),
            undecided: Vec::new(),
            apart: Vec::new(),
            // Of each instruction, and of each stretch.
            work: Vec::with_capacity(2 * instrs.len()),
            stretches: Vec::new(),
            within: None,
            number: 0,
            in_record: in_record(&program.lanes),
            is_broken: false,
        };
        let [start] = compiler.asm.new_labels();
        dynasm!(compiler.asm; .arch x64; =>start);
        let mut next = 0;
        while next < instrs.len() {
            next = match Stretch::at::<R>(next, instrs) {
                Some(stretch) => {
                    let end = stretch.instrs.end;
                    compiler.stretch(stretch);
                    end
                }
                None => compiler.odd(next),
            };
            if compiler.is_broken || compiler.asm.offset().0 > MOST_OF_A_BLOCK {
                return None;
            }
        }
        compiler.leave(number, start);
        compiler.decide();
        compiler.one_by_one();
        compiler.call_rust();
        let Compiler { asm, work, stretches, .. } = compiler;
        Some((asm.finalize().ok()?, Job { _work: work, _stretches: stretches }))
    }

    /// Goes on to the next record, which often is one of this block.
    fn leave(&mut self, number: u32, start: DynamicLabel) {
        let next = offset_of!(Operations<R>, routines.table) + NEXT * size_of::<*const u8>();
        let way = offset_of!(Operations<R>, routines.way);
        let [other] = self.asm.new_labels();
        dynasm!(self.asm
            ; .arch x64
            ; add r12, self.program.record as i32
            ; mov rax, [rbx + field::<R>(offset_of!(Operations<R>, nodes.cursor))]
            ; cmp r12, [rbx + field::<R>(way + offset_of!(Way, last))]
            ; ja =>other
            ; cmp DWORD [r12], number as i32
            ; jne =>other
            ; cmp rax, [rbx + field::<R>(offset_of!(Operations<R>, nodes.enough))]
            ; jae =>other
            ; inc QWORD [rbx + field::<R>(way + offset_of!(Way, records))]
            ; jmp =>start
            ; =>other
            ; jmp QWORD [rbx + field::<R>(next)]
        );
    }

    fn works_on(&self, instrs: Range<usize>) -> Work {
        Work {
            of: null(),
            site: 0,
            record: self.program.record,
            program: self.program,
            instrs,
            stretch: null(),
            before: 0,
            reads: Vec::new(),
            unfolds: Vec::new(),
            at: LocationId(0),
        }
    }

    fn work(&mut self, work: Work) -> *const Work {
        debug_assert!(self.work.len() < self.work.capacity());
        self.work.push(work);
        self.work.last().map_or(null(), |work| work)
    }

    /// Instructions that are in no stretch. Where the next begins.
    fn odd(&mut self, first: usize) -> usize {
        let instrs = &self.program.lanes.instrs;
        if let Instr::Logic(logic) = &instrs[first] {
            let work = self.work(Work { at: logic.at, ..self.works_on(first..first + 1) });
            if self.logic(logic, work) {
                return first + 1;
            }
        }
        let (routine, of) = match &instrs[first] {
            Instr::Enter(entry) => (BEGIN_CALL, (&raw const **entry).cast()),
            Instr::Leave(result) => (END_CALL, (&raw const **result).cast()),
            _ => (ENGINE, null()),
        };
        if routine != ENGINE {
            let work = self.work(Work { of, ..self.works_on(first..first + 1) });
            self.call_routine(routine, work);
            return first + 1;
        }
        let has_own = |instr: &Instr| matches!(instr, Instr::Logic(_) | Instr::Enter(_) | Instr::Leave(_));
        let is_odd = |number: &usize| {
            Stretch::at::<R>(*number, instrs).is_none() && !has_own(&instrs[*number]) || *number == first
        };
        let end = (first..instrs.len()).take_while(is_odd).last().map_or(first, |last| last) + 1;
        let work = self.work(self.works_on(first..end));
        self.call_routine(ENGINE, work);
        end
    }

    /// Where Rust does it.
    fn call_rust(&mut self) {
        for Helped { routine, from, work, done, back, made } in std::mem::take(&mut self.helped) {
            dynasm!(self.asm; .arch x64; =>from);
            self.call_routine(routine, work);
            dynasm!(self.asm; .arch x64; jc =>done);
            if let Some(node) = made {
                self.asm.load(2, node.further(offset_of!(Node, near.native)));
                self.asm.load(6, node.further(offset_of!(Node, near.offset.by)));
                self.asm.load(8, node.further(offset_of!(Node, near.offset.err)));
            }
            dynasm!(self.asm; .arch x64; jmp =>back);
        }
    }

    /// Calls a routine, which goes on here.
    fn call_routine(&mut self, number: usize, work: *const Work) {
        let at = offset_of!(Operations<R>, routines.table) + number * size_of::<*const u8>();
        dynasm!(self.asm; .arch x64; mov r11, QWORD work as i64);
        keep_together(&mut self.asm, 6);
        near!(self.asm; call QWORD [rbx + field::<R>(at)]);
    }

    /// A mask may be on either side; it mostly is on the second.
    fn logic(&mut self, logic: &Logic, work: *const Work) -> bool {
        let routine = match logic.op {
            BitOp::Xor if R::HAS_PAIRS => NEG,
            BitOp::And if R::HAS_PAIRS => ABS,
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
        self.call_routine(routine, work);
        true
    }
}

/// Of each lane, where the record has the double that it begins with, if it has.
fn in_record(lanes: &Lanes) -> Vec<Option<At>> {
    /// r12.
    const RECORD: Gpr = 12;
    let mut places = vec![None; lanes.count];
    for instr in &lanes.instrs {
        let (Instr::Load(_, input) | Instr::Live(_, input) | Instr::LoadDouble(_, input) | Instr::LiveDouble(_, input)) =
            instr
        else {
            continue;
        };
        let Input { slot, bytes, wanted, to } = *input;
        for granule in (0..bytes as usize / GRANULE).filter(|granule| wanted >> granule & 1 == 1) {
            let (at, rest) = (GRANULE * granule, bytes as usize - GRANULE * granule);
            if rest >= size_of::<f64>() {
                places[to as usize + granule] = Some(At { register: RECORD, distance: slot as i32 + at as i32 });
            }
        }
    }
    places
}

/// The operations that there is code for, on doubles and singles.
const PLAIN: [Operator; 6] = {
    use Operator::*;
    [Add, Sub, Mul, Div, Sqrt, Fma]
};
