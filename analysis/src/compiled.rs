//! Blocks that run often, as machine code.
//!
//! The code does what the engine does, instruction by instruction, in the common case: doubles without anything special about them are loaded,
//! added, multiplied and stored. Each piece of it looks first whether it is that case, and changes nothing before it knows. Whatever it
//! does not know how to do is left to the engine's own instruction, so that the code adds speed and no meaning.
//!
//! While it runs, these registers stay what they are: rbx the operations, r12 the record, r13 the lanes, r14 the pages that were looked up last,
//! r15 what is known of the thread's registers, rbp the [`Call`].

mod arithmetic;
mod places;

use crate::lanes::{Instr, Lane, Number, Plain};
use crate::operation::Operations;
use crate::program::Program;
use crate::real::Real;
use crate::run::Running;
use crate::trace::{Node, Slot};
use dynasmrt::x64::Assembler;
use dynasmrt::{AssemblyOffset, DynamicLabel, DynasmApi, DynasmLabelApi, ExecutableBuffer, dynasm};
use fpgrind_ir::{Operator, Type};
use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::mem::offset_of;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs after which a block is worth the while.
const OFTEN: u32 = 64;
/// Bytes of code that a block may have.
const MOST_CODE: usize = 1 << 18;

/// The code of a program, once it has run often; and how often it has.
#[derive(Default)]
pub struct Code {
    runs: Cell<u32>,
    compiled: OnceCell<Option<Compiled>>,
}

struct Compiled {
    buffer: ExecutableBuffer,
    entry: AssemblyOffset,
}

/// Runs a program's code on a record, if it has any. Says whether it has.
pub fn run<R: Real>(running: &mut Running<'_, R>, program: &Program, record: &[u8], lanes: &mut [Lane]) -> bool {
    let code = &program.code;
    let Some(compiled) = code.compiled.get() else {
        code.runs.update(|runs| runs + 1);
        if code.runs.get() > OFTEN {
            let has_fma = running.books.has_fma;
            code.compiled
                .get_or_init(|| Compiler::<R>::compile(program, &running.books.operations).filter(|_| has_fma));
        }
        return false;
    };
    let Some(compiled) = compiled.as_ref().filter(|_| running.thread.mode.is_plain()) else { return false };
    let entry: Entry<R> = {
        // SAFETY: what begins there is such a function.
        unsafe { std::mem::transmute(compiled.buffer.ptr(compiled.entry)) }
    };
    let operations = &raw mut running.books.operations;
    let (recent, registers) = (running.process.memory.recent(), running.thread.registers.parts().as_mut_ptr());
    let (record_at, lanes_at) = (record.as_ptr(), lanes.as_mut_ptr());
    let mut call = Call { running, program, record, lanes, panic: None };
    // SAFETY: the code was made for this program, whose records are that long, and reads and writes what the call borrows.
    unsafe { entry(operations, record_at, lanes_at, recent.cast(), registers.cast(), (&raw mut call).cast()) };
    if let Some(panic) = call.panic {
        resume_unwind(panic);
    }
    true
}

type Entry<R> = unsafe extern "sysv64" fn(
    *mut Operations<R>,
    *const u8,
    *mut Lane,
    *const u8,
    *mut u8,
    *mut Call<'static, 'static, R>,
);

/// What the engine needs to execute an instruction.
struct Call<'a, 'b, R> {
    running: &'a mut Running<'b, R>,
    program: &'a Program,
    record: &'a [u8],
    lanes: &'a mut [Lane],
    /// It cannot go through code of ours: it waits here until that has returned.
    panic: Option<Box<dyn Any + Send>>,
}

unsafe extern "sysv64" fn execute<R: Real>(call: *mut Call<'_, '_, R>, instr: *const Instr) {
    // SAFETY: the code was called with the one, and made with the other, which lives as long as it does.
    let (call, instr) = unsafe { (&mut *call, &*instr) };
    let Call { running, program, record, lanes, panic } = call;
    if panic.is_none() {
        let done = catch_unwind(AssertUnwindSafe(|| running.execute_with_fma(instr, program, record, lanes)));
        *panic = done.err();
    }
}

/// Numbers that the code reads.
#[derive(Clone, Copy)]
struct Constants {
    /// Masks of sixteen bytes: all but the sign, the sign.
    magnitude: DynamicLabel,
    sign: DynamicLabel,
    numbers: [(f64, DynamicLabel); arithmetic::NUMBERS.len()],
}

struct Compiler<'a, R> {
    asm: Assembler,
    operations: &'a Operations<R>,
    constants: Constants,
    /// Pieces that follow the rest: where the engine takes over, and where it gives back.
    engine: Vec<(DynamicLabel, DynamicLabel, *const Instr)>,
    record: usize,
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

const LANE_BITS: usize = offset_of!(Lane, bits);
const LANE_PART: usize = offset_of!(Lane, part);
const LANE_WIDE: usize = offset_of!(Lane, wide);
const LANE_IS_PLAIN: usize = offset_of!(Lane, is_plain);
const LANE_HI: usize = offset_of!(Lane, float.real.hi);
const LANE_LO: usize = offset_of!(Lane, float.real.lo);
const LANE_ERR: usize = offset_of!(Lane, float.real.err);
const LANE_ULPS: usize = offset_of!(Lane, float.ulps);
const LANE_INFLUENCES: usize = offset_of!(Lane, float.influences);
const LANE_SLOT: usize = offset_of!(Lane, float.slot);
const LANE_WORD: usize = offset_of!(Lane, float.word);

impl<'a, R: Real> Compiler<'a, R> {
    /// Nothing if there is nothing to gain, or no memory.
    fn compile(program: &Program, operations: &'a Operations<R>) -> Option<Compiled> {
        let is_worth = |instr: &Instr| matches!(instr, Instr::Doubles(_));
        if !R::HAS_PAIRS || program.changes_mode() || !program.lanes.instrs.iter().any(is_worth) {
            return None;
        }
        let mut asm = Assembler::new().ok()?;
        let mut label = || asm.new_dynamic_label();
        let (magnitude, sign) = (label(), label());
        let constants = Constants { magnitude, sign, numbers: arithmetic::NUMBERS.map(|number| (number, label())) };
        let (record, engine) = (program.record, Vec::new());
        let mut compiler = Compiler { asm, operations, constants, engine, record, is_broken: false };
        let entry = compiler.asm.offset();
        compiler.enter();
        for instr in &program.lanes.instrs {
            compiler.instr(instr);
            if compiler.is_broken || compiler.asm.offset().0 > MOST_CODE {
                return None;
            }
        }
        compiler.leave();
        compiler.call_engine();
        compiler.lay_down_constants();
        Some(Compiled { buffer: compiler.asm.finalize().ok()?, entry })
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
            ; mov rbp, r9
        );
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
        let [slow] = self.labels();
        let is_known = match instr {
            Instr::Doubles(plain) => self.doubles(plain, slow),
            Instr::LoadDouble(addr, input) => self.load_double(addr, input, slow),
            Instr::Load(addr, input) => self.load(addr, input, slow),
            Instr::Live(first, input) => self.live(*first, input, slow),
            Instr::LiveDouble(first, input) => self.live_double(*first, input, slow),
            Instr::Double(lane) => self.double(*lane, slow),
            Instr::Const { bits, wide, to } => self.constant(*bits, *wide, *to),
            Instr::Fresh(input) => self.fresh(input),
            Instr::Put { first, from } => self.put(*first, from),
            Instr::Drop { first, count } => self.drop(*first, *count),
            Instr::Store { addr, ty, from } => self.store(addr, *ty, from, slow),
            Instr::StoreDouble { addr, from } => self.store_double(addr, *from, slow),
            _ => false,
        };
        if is_known {
            let [back] = self.labels();
            dynasm!(self.asm; .arch x64; =>back);
            self.engine.push((slow, back, instr));
        } else {
            dynasm!(self.asm; .arch x64; =>slow);
            self.call(instr);
        }
    }

    fn call(&mut self, instr: *const Instr) {
        let function: unsafe extern "sysv64" fn(*mut Call<'_, '_, R>, *const Instr) = execute::<R>;
        dynasm!(self.asm
            ; .arch x64
            ; mov rdi, rbp
            ; mov rsi, QWORD instr as i64
            ; mov rax, QWORD function as usize as i64
            ; call rax
        );
    }

    fn call_engine(&mut self) {
        for (slow, back, instr) in std::mem::take(&mut self.engine) {
            dynasm!(self.asm; .arch x64; =>slow);
            self.call(instr);
            dynasm!(self.asm; .arch x64; jmp =>back);
        }
    }

    fn lay_down_constants(&mut self) {
        let Constants { magnitude, sign, numbers } = self.constants;
        dynasm!(self.asm
            ; .arch x64
            ; .align 16
            ; =>magnitude
            ; .u64 !(1 << 63)
            ; .u64 0
            ; =>sign
            ; .u64 1 << 63
            ; .u64 0
        );
        for (number, label) in numbers {
            dynasm!(self.asm; .arch x64; =>label; .u64 number.to_bits());
        }
    }

    /// Where the last eight bytes of such an operation's nodes are to be had, from rbx.
    fn example(&self, plain: &Plain) -> i32 {
        let number = PLAIN.iter().position(|operator| *operator == plain.operator).unwrap_or(0);
        let node = offset_of!(Operations<R>, examples) + number * size_of::<Node<R>>();
        (node + offset_of!(Node<R>, operator)) as i32
    }
}

/// The operations that there is code for, on doubles.
const PLAIN: [Operator; 6] =
    [Operator::Add, Operator::Sub, Operator::Mul, Operator::Div, Operator::Sqrt, Operator::Fma];

/// What the results of each look like.
pub type Examples<R> = [Node<R>; PLAIN.len()];

pub fn examples<R: Real>() -> Examples<R> {
    PLAIN.map(|operator| Node::example(operator, Type::F64))
}
