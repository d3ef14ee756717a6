//! What the block says of a single instruction, against what the CPU did.

use super::cpu::MEMORY;
use super::dropped::{may_drop, may_drop_part};
use super::floats::{Direction, Number};
use super::operands::is_x87;
use super::record::{Evaluation, Moment, truncate};
use super::run::Run;
use fpgrind_frontend_x86::lifted;
use fpgrind_ir::{Block, Cond, Guard, Op, Outcome, Place, Reg, Rounding, Stmt, Test, Type, Value};
use iced_x86::{Code, EncodingKind, Instruction, MemorySize, Mnemonic, OpKind, Register, RflagsBits};
use std::sync::OnceLock;

const DENORMALS_ARE_ZEROS: u32 = 1 << 6;

/// What the block says was written.
struct Said {
    /// By granule.
    vectors: [[bool; 16]; 32],
    /// By number at the block's entry.
    fpu: [bool; 8],
    fpu_dropped: [bool; 8],
    memory: Box<[bool; MEMORY]>,
    turn: u8,
    everything: bool,
}

impl Said {
    fn wrote(&mut self, place: Place, bytes: usize) {
        match place.reg {
            Reg::Vec(number) => {
                self.vectors[number as usize][place.offset as usize / 4..][..bytes.div_ceil(4)].fill(true)
            }
            Reg::X87(number) => self.fpu[number as usize] = true,
            _ => {}
        }
    }
}

pub fn check_one(run: &Run, block: &Block, evaluation: &Evaluation, what: &str) {
    let instr = &run.instrs[0];
    if refused(run) {
        return;
    }
    let (before, after) = (run.before(), run.after());
    let bytes_of = |value: &Value| block.type_of(*value).unwrap().bytes();
    let bits_of = |value: &Value| evaluation.values[value.index()];
    let mut said = Said {
        vectors: [[false; 16]; 32],
        fpu: [false; 8],
        fpu_dropped: [false; 8],
        memory: Box::new([false; MEMORY]),
        turn: 0,
        everything: false,
    };
    // Decisions and conversions so far: they come lane by lane.
    let (mut masks, mut integers) = (0, 0);
    for (stmt, happens) in block.stmts.iter().zip(&evaluation.happens) {
        let lane = |counted: &mut usize| {
            *counted += 1;
            match stmt.guard {
                Some(Guard { test: Test::Bit(bit), .. }) => bit as usize,
                _ => *counted - 1,
            }
        };
        match &stmt.op {
            Op::Mask { .. } if *happens != Some(true) => drop(lane(&mut masks)),
            Op::ToInt { .. } if *happens != Some(true) => drop(lane(&mut integers)),
            _ if *happens == Some(false) => {}
            Op::Drop { place, bytes } => {
                let emptied = matches!(place.reg, Reg::X87(number) if is_empty_after(run, number));
                let allowed = may_drop(instr, block) || may_drop_part(instr, *place, *bytes as usize, after) || emptied;
                assert!(allowed, "{what}: dropped a result");
                said.wrote(*place, *bytes as usize);
                if let Reg::X87(number) = place.reg {
                    said.fpu_dropped[number as usize] = true;
                }
            }
            Op::Put { place, value } => {
                said.wrote(*place, bytes_of(value));
                if let (Some(bits), true) = (bits_of(value), *happens == Some(true)) {
                    let native = truncate(place_after(run, *place), bytes_of(value));
                    assert_eq!(bits, native, "{what}: put in {place}");
                }
            }
            Op::Store { addr, value } => {
                let address = evaluation.address(block, addr);
                let at = after.offset(address);
                said.memory[at..at + bytes_of(value)].fill(true);
                if let (Some(bits), true) = (bits_of(value), *happens == Some(true)) {
                    let native = truncate(load(after, address, bytes_of(value)), bytes_of(value));
                    // What a scatter writes may be overwritten by its next element.
                    if !instr.memory_index().is_vector_register() {
                        assert_eq!(bits, native, "{what}: stored");
                    }
                }
            }
            Op::Copy { dst, len, unit, .. } | Op::Forget { dst, len, unit } => {
                if let (Some(dst), Some(len)) = (bits_of(dst), bits_of(len)) {
                    let at = after.offset(dst as u64);
                    said.memory[at..at + len as usize * *unit as usize].fill(true);
                }
            }
            Op::Save { addr } => {
                let at = after.offset(evaluation.address(block, addr));
                said.memory[at..].fill(true);
            }
            Op::Restore { .. } => said.everything = true,
            Op::Turn { by } => said.turn = *by,
            Op::Compare { args } => check_flags(run, block, evaluation, args, what),
            Op::Mask { relation, args } => {
                let lane = lane(&mut masks);
                let [a, b] = args.map(|arg| number(run, block, evaluation, arg));
                if let (Some(a), Some(b), Some(native)) = (a, b, native_mask(run, lane)) {
                    assert_eq!(relation.holds(a.compare(b)), native, "{what}: {relation:?} in lane {lane}");
                }
            }
            Op::ToInt { value, rounding, bytes, signed } => {
                let lane = lane(&mut integers);
                let native = native_integer(run, lane, *bytes as usize);
                if let (Some(number), Some(native)) = (number(run, block, evaluation, *value), native) {
                    let direction = direction(run, block.type_of(*value).unwrap(), *rounding);
                    let predicted = number.to_integer(direction, *bytes, *signed);
                    assert_eq!(predicted, native, "{what}: conversion of lane {lane} to an integer");
                }
            }
            _ => {}
        }
    }
    if !said.everything {
        check_silence(run, &said, what);
    }
    let stores_float = stores_float(instr) && !may_drop(instr, block);
    for at in (0..MEMORY).filter(|&at| before.memory[at] != after.memory[at]) {
        assert!(said.memory[at] || !stores_float, "{what}: byte {at} of memory changed, and the block does not say so");
    }
}

/// Nothing changed that the block does not say.
fn check_silence(run: &Run, said: &Said, what: &str) {
    let (before, after) = (&run.before().state, &run.after().state);
    let (registers, granules) = known_vectors();
    for number in (0..registers).filter(|&number| before.vectors[number as usize] != after.vectors[number as usize]) {
        for granule in 0..granules {
            let place = Place::vec(number, 4 * granule);
            let changed = before.vector(place, number) as u32 != after.vector(place, number) as u32;
            let said = said.vectors[number as usize][granule as usize];
            assert!(!changed || said, "{what}: {place} changed, and the block does not say so");
        }
    }
    // MMX registers are the x87's too. They are not followed: what they write costs a shadow when it is looked at.
    let is_mmx = |operand| run.instrs[0].op_register(operand).is_mm();
    if (0..run.instrs[0].op_count()).any(is_mmx) || said.fpu_dropped == [true; 8] || !x87_is_known() {
        return;
    }
    let top = before.fpu.top();
    for number in 0..8u8 {
        let physical = (top + number) % 8;
        let changed = before.fpu.physical(physical) != after.fpu.physical(physical);
        let said = said.fpu[number as usize];
        assert!(!changed || said, "{what}: what was st({number}) changed, and the block does not say so");
    }
    if loads_top(&run.instrs[0]) {
        return;
    }
    assert_eq!((top + said.turn) % 8, after.fpu.top(), "{what}: the top of the x87's stack");
}

/// Did an instruction not do what it is there for, and push nothing, because its argument is out of range (Intel SDM, FPTAN)? The
/// block says what happens if it is not; the shadows that it then leaves in the wrong registers do not agree with their bits.
fn refused(run: &Run) -> bool {
    let pushes = matches!(run.instrs[0].mnemonic(), Mnemonic::Fptan | Mnemonic::Fsincos);
    pushes && run.before().state.fpu.top() == run.after().state.fpu.top()
}

/// Instructions that put the top of the stack where an image in memory, or nothing but themselves says. No block can say where that
/// is from where it was: the next image tells.
pub fn loads_top(instr: &Instruction) -> bool {
    use Mnemonic::*;
    matches!(instr.mnemonic(), Fldenv | Frstor | Fninit | Fnsave | Fxrstor | Fxrstor64 | Xrstor | Xrstor64)
}

/// The vector registers that the frontend knows, and granules of each: all if it lifts anything that reaches them.
fn known_vectors() -> (u8, u8) {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    let all = *KNOWN.get_or_init(|| lifts_any(|code| code.op_code().encoding() == EncodingKind::EVEX));
    if all { (32, 16) } else { (16, 8) }
}

/// The same of the x87's registers.
fn x87_is_known() -> bool {
    static KNOWN: OnceLock<bool> = OnceLock::new();
    *KNOWN.get_or_init(|| lifts_any(is_x87))
}

fn lifts_any(kind: impl Fn(Code) -> bool) -> bool {
    Code::values().any(|code| kind(code) && lifted(code))
}

/// What a place holds after the run. The x87's registers are named by where they were before it.
pub fn place_after(run: &Run, place: Place) -> u128 {
    match place.reg {
        Reg::X87(number) => {
            let physical = (run.before().state.fpu.top() + number) % 8;
            run.after().state.fpu.physical(physical) >> (8 * place.offset as u32)
        }
        _ => run.after().place(place),
    }
}

/// Whether what was st(number) is empty after the run: popped, or freed.
fn is_empty_after(run: &Run, number: u8) -> bool {
    let physical = (run.before().state.fpu.top() + number) % 8;
    run.after().state.fpu.tags >> physical & 1 == 0
}

pub fn load(moment: &Moment, address: u64, bytes: usize) -> u128 {
    let mut buffer = [0; 16];
    buffer[..bytes].copy_from_slice(moment.slice(address, bytes));
    u128::from_le_bytes(buffer)
}

/// Does the instruction store floats, or a vector that may hold them? Integers are stored without being followed.
pub fn stores_float(instr: &Instruction) -> bool {
    if instr.op0_kind() != OpKind::Memory {
        return false;
    }
    let from_vector = instr.op1_kind() == OpKind::Register && instr.op1_register().is_vector_register();
    let floats = [MemorySize::Float16, MemorySize::BFloat16, MemorySize::Float32, MemorySize::Float64];
    let element = instr.memory_size().element_type();
    let is_stored = instr.op_count() > 1 || format!("{:?}", instr.mnemonic()).starts_with("Fst");
    from_vector || is_stored && (floats.contains(&element) || element == MemorySize::Float80)
}

fn number(run: &Run, block: &Block, evaluation: &Evaluation, value: Value) -> Option<Number> {
    let daz = run.before().state.mxcsr & DENORMALS_ARE_ZEROS != 0;
    Some(Number::new(block.type_of(value)?, evaluation.values[value.index()]?, daz))
}

pub fn direction(run: &Run, ty: Type, rounding: Rounding) -> Direction {
    let state = &run.before().state;
    match rounding {
        Rounding::Current if ty == Type::F80 => Direction::of(state.fpu.control as u32 >> 10),
        Rounding::Current => Direction::of(state.mxcsr >> 13),
        Rounding::Nearest => Direction::Nearest,
        Rounding::Down => Direction::Down,
        Rounding::Up => Direction::Up,
        Rounding::Truncate => Direction::Zero,
    }
}

fn check_flags(run: &Run, block: &Block, evaluation: &Evaluation, args: &[Value; 2], what: &str) {
    let [Some(a), Some(b)] = args.map(|arg| number(run, block, evaluation, arg)) else { return };
    let after = &run.after().state;
    let in_flags = run.instrs[0].rflags_modified() & RflagsBits::ZF != 0;
    // The x87's condition bits C0, C2 and C3 stand for carry, parity and zero (Intel SDM, FCOM and FCOMI).
    let bits = if in_flags {
        [0, 2, 6].map(|bit| after.flags >> bit & 1 == 1)
    } else {
        [8, 10, 14].map(|bit| after.fpu.status >> bit & 1 == 1)
    };
    for cond in Cond::ALL {
        assert_eq!(cond.holds(a.compare(b)), holds(cond, bits, a.compare(b)), "{what}: {cond:?} of {a:?} and {b:?}");
    }
}

/// A condition on carry, parity and zero.
fn holds(cond: Cond, [carry, parity, zero]: [bool; 3], outcome: Outcome) -> bool {
    match cond {
        Cond::Above => !carry && !zero,
        Cond::AboveEqual => !carry,
        Cond::Below => carry,
        Cond::BelowEqual => carry || zero,
        Cond::Equal => zero,
        Cond::NotEqual => !zero,
        Cond::Parity => parity,
        Cond::NotParity => !parity,
        // On no flags of the CPU's: made of the x87's bits by programs.
        _ => cond.holds(outcome),
    }
}

/// A lane of a mask register that a comparison has written; lanes that its own mask leaves out are zero.
fn native_mask(run: &Run, lane: usize) -> Option<bool> {
    let instr = &run.instrs[0];
    let under = match instr.op_mask() {
        Register::None => u64::MAX,
        mask => run.before().state.masks[mask.number()],
    };
    let written = instr.op0_register().is_k() && under >> lane & 1 == 1;
    written.then(|| run.after().state.masks[instr.op0_register().number()] >> lane & 1 == 1)
}

/// The integer that a conversion has left: in a general register, in a lane that was not masked out, or in memory.
fn native_integer(run: &Run, lane: usize, bytes: usize) -> Option<u64> {
    let (instr, after) = (&run.instrs[0], run.after());
    let register = instr.op0_register();
    let bits = match instr.op0_kind() {
        OpKind::Register if register.is_gpr() => after.state.general[register.number()] as u128,
        OpKind::Register if register.is_vector_register() => {
            let under = if instr.has_op_mask() { run.before().state.masks[instr.op_mask().number()] } else { u64::MAX };
            if under >> lane & 1 == 0 {
                return None;
            }
            let quarter = after.state.vectors[register.number()][lane * bytes / 16];
            quarter >> (8 * (lane * bytes % 16))
        }
        OpKind::Memory => load(after, super::masked::address(instr, run.before()), bytes),
        _ => return None,
    };
    Some(truncate(bits, bytes) as u64)
}

/// Whether a statement writes a place or memory.
pub fn is_result(stmt: &Stmt) -> bool {
    matches!(stmt.op, Op::Put { .. } | Op::Store { .. })
}
