//! Single-operation truth: every lifted instruction, in every form, on random and special operands, runs on the real CPU,
//! and its lifted block runs through the analysis. The bits must agree everywhere, and on exact inputs the real of every
//! correctly rounded operation must round to what the CPU computed.
//!
//! The record that the analysis gets is written here from the machine's states, as the emitted code would write it.

#[path = "single_operation/cpu.rs"]
mod cpu;
#[path = "single_operation/dropped.rs"]
mod dropped;
#[path = "single_operation/forms.rs"]
mod forms;
#[path = "single_operation/operands.rs"]
mod operands;
#[path = "common/random.rs"]
mod random;
#[path = "single_operation/record.rs"]
mod record;
#[path = "single_operation/run.rs"]
mod run;

use cpu::{Cpu, State};
use dropped::{may_drop, may_drop_part};
use forms::{Form, OPERAND, immediates, instruction, name};
use fpgrind_analysis::Analysis;
use fpgrind_analysis::native::{Direction, compare, to_integer};
use fpgrind_frontend_x86::lifted;
use fpgrind_ir::{Block, Cond, Op, Operator, Place, Reg, Stmt, Type, Value};
use iced_x86::{Code, Instruction, OpKind};
use operands::Random;
use record::{Moment, address};
use run::Run;

const NEAREST: u32 = 0x1f80;
/// Rounding down, up and to zero; flush-to-zero with denormals-are-zeros (Intel SDM volume 1, figure 10-3).
const MODES: [u32; 5] = [NEAREST, NEAREST | 1 << 13, NEAREST | 2 << 13, NEAREST | 3 << 13, NEAREST | 1 << 15 | 1 << 6];

/// Makes the state fit to be run from, for instructions that fault on most others.
fn prepare(cpu: &mut Cpu, code: Code, random: &mut Random, mxcsr: u32) -> State {
    let mut state = random.state(cpu.memory_address());
    random.fill(cpu.memory());
    state.mxcsr = mxcsr;
    let name = format!("{code:?}");
    let operand = &mut cpu.memory()[OPERAND..];
    if name.contains("mxcsr") {
        operand[..4].copy_from_slice(&MODES[random.below(MODES.len())].to_le_bytes());
    } else if name.contains("rstor") {
        // An image as fxsave and xsave write it: control words, MXCSR at 24, registers at 160, and an empty xsave header
        // at 512 (Intel SDM volume 1, 10.5.1 and 13.4). Asked for: x87 and SSE.
        operand[..160].fill(0);
        operand[..2].copy_from_slice(&0x37fu16.to_le_bytes());
        operand[24..28].copy_from_slice(&mxcsr.to_le_bytes());
        operand[512..576].fill(0);
        state.general[0] = 3;
        state.general[2] = 0;
    }
    state
}

/// What the block says of a single instruction, against what the CPU did.
fn check_one(run: &Run, block: &Block, what: &str) {
    let instr = &run.instrs[0];
    let (before, after) = (run.before(), run.after());
    let values = moved_values(block, run);
    let logged: Vec<u128> = values.iter().map(|bits| bits.unwrap_or(0)).collect();
    let bytes_of = |value: &Value| block.type_of(*value).unwrap().bytes();

    let mut vectors = [[false; 8]; 16];
    let mut stored = [false; cpu::MEMORY];
    for stmt in &block.stmts {
        match &stmt.op {
            Op::Drop { place, bytes } => {
                let allowed = may_drop(instr) || may_drop_part(instr, *place, *bytes as usize, after);
                assert!(allowed, "{what}: dropped a result");
                mark(&mut vectors, *place, *bytes as usize);
            }
            Op::Put { place, value } => {
                mark(&mut vectors, *place, bytes_of(value));
                if let Some(bits) = values[value.index()] {
                    assert_eq!(bits, truncate(after.place(*place), bytes_of(value)), "{what}: put in {place}");
                }
            }
            Op::Store { addr, value } => {
                let address = address(addr, &logged);
                let at = (address - after.memory_address) as usize;
                stored[at..at + bytes_of(value)].fill(true);
                // A single instruction stores nothing that it computes.
                assert_eq!(
                    values[value.index()],
                    Some(truncate(after.load(address), bytes_of(value))),
                    "{what}: stored"
                );
            }
            Op::Compare { args: [a, b] } => {
                let (ty, bits) = (block.type_of(*a).unwrap(), [a, b].map(|arg| logged[arg.index()] as u64));
                let outcome = compare(ty, bits[0], bits[1], before.state.mxcsr);
                for cond in Cond::ALL {
                    assert_eq!(cond.holds(outcome), holds(cond, after.state.flags), "{what}: {cond:?} of {bits:x?}");
                }
            }
            Op::ToInt { value, rounding, bytes, .. } if instr.op0_register().is_gpr() => {
                let (ty, direction) = (block.type_of(*value).unwrap(), Direction::of(*rounding, before.state.mxcsr));
                let predicted = to_integer(ty, logged[value.index()] as u64, direction, *bytes, before.state.mxcsr);
                let native = after.state.general[instr.op0_register().number()];
                let native = if *bytes == 4 { native as i32 as i64 } else { native as i64 };
                assert_eq!(predicted, native, "{what}: conversion to an integer");
            }
            _ => {}
        }
    }
    for (number, written) in vectors.iter().enumerate() {
        for (granule, written) in written.iter().enumerate() {
            let place = Place::vec(number as u8, 4 * granule as u8);
            let silently = before.place(place) as u32 != after.place(place) as u32 && !written;
            assert!(!silently, "{what}: {place} changed, and the block does not say so");
        }
    }
    // Integers are stored without being followed.
    let stores_vector = stores_vector(instr);
    for at in (0..cpu::MEMORY).filter(|&at| before.memory[at] != after.memory[at]) {
        assert!(stored[at] || !stores_vector, "{what}: byte {at} of memory changed, and the block does not say so");
    }
}

fn stores_vector(instr: &Instruction) -> bool {
    let from_vector = instr.op1_kind() == OpKind::Register && instr.op1_register().is_vector_register();
    instr.op0_kind() == OpKind::Memory && from_vector
}

/// The bits of each value that is logged, constant or moved; nothing for what is computed.
fn moved_values(block: &Block, run: &Run) -> Vec<Option<u128>> {
    let record = record::write(2, block, &run.moments);
    let mut values: Vec<Option<u128>> = Vec::new();
    for stmt in &block.stmts {
        let value = match &stmt.op {
            Op::Const { bits } => Some(*bits),
            Op::Extract { from, granule } => values[from.index()].map(|bits| bits >> (32 * *granule as u32)),
            Op::Concat { parts } => parts.iter().rev().try_fold(0, |bits: u128, part| {
                let width = 8 * block.type_of(*part).unwrap().bytes() as u32;
                Some(bits << (width % 128) | values[part.index()]?)
            }),
            op => op.slot().map(|slot| {
                let mut bytes = [0; 16];
                let length = block.logged_bytes(stmt).unwrap();
                bytes[..length].copy_from_slice(&record[slot.0 as usize..][..length]);
                u128::from_le_bytes(bytes)
            }),
        };
        values.push(value.map(|bits| truncate(bits, stmt.ty.map_or(0, |ty| ty.bytes()))));
    }
    values
}

fn truncate(bits: u128, bytes: usize) -> u128 {
    if bytes == 16 { bits } else { bits & ((1 << (8 * bytes)) - 1) }
}

fn mark(vectors: &mut [[bool; 8]; 16], place: Place, bytes: usize) {
    if let Reg::Vec(number) = place.reg {
        vectors[number as usize][place.offset as usize / 4..][..bytes / 4].fill(true);
    }
}

/// A condition on the CPU's flags: carry is bit 0, parity 2, zero 6.
fn holds(cond: Cond, flags: u64) -> bool {
    let [carry, parity, zero] = [0, 2, 6].map(|bit| flags >> bit & 1 == 1);
    match cond {
        Cond::Above => !carry && !zero,
        Cond::AboveEqual => !carry,
        Cond::Below => carry,
        Cond::BelowEqual => carry || zero,
        Cond::Equal => zero,
        Cond::NotEqual => !zero,
        Cond::Parity => parity,
        Cond::NotParity => !parity,
        Cond::OrderedLess => carry && !parity,
        Cond::NotOrderedLess => !carry || parity,
        Cond::OrderedEqual => zero && !parity,
        Cond::NotOrderedEqual => !zero || parity,
    }
}

/// The bits of a place after the run.
fn native(moment: &Moment, place: Place, ty: Type) -> u64 {
    truncate(moment.place(place), ty.bytes()) as u64
}

fn is_nan(ty: Type, bits: u64) -> bool {
    if ty == Type::F32 { f32::from_bits(bits as u32).is_nan() } else { f64::from_bits(bits).is_nan() }
}

/// Results of correctly rounded operations: the real rounds to what the CPU has. How many there were.
fn check_reals(run: &Run, block: &Block, analysis: &Analysis, what: &str) -> usize {
    let mut checked = 0;
    for stmt in &block.stmts {
        let Op::Put { place, value } = stmt.op else { continue };
        let Op::Apply { operator, .. } = block.stmts[value.index()].op else { continue };
        let ty = block.type_of(value).unwrap();
        let native = native(run.after(), place, ty);
        let shadow = analysis.register(0, place, ty).unwrap_or_else(|| panic!("{what}: no shadow in {place}"));
        assert_eq!(shadow.native, native, "{what}: native bits of {place}");
        let rounds = matches!(
            operator,
            Operator::Add
                | Operator::Sub
                | Operator::Mul
                | Operator::Div
                | Operator::Sqrt
                | Operator::Cast
                | Operator::Fma
                | Operator::Fms
                | Operator::Fnma
                | Operator::Fnms
                | Operator::Floor
                | Operator::Ceil
                | Operator::Trunc
                | Operator::Nearbyint
                | Operator::RoundEven
        );
        if rounds {
            let agree = shadow.rounded == native || is_nan(ty, shadow.rounded) && is_nan(ty, native);
            assert!(agree, "{what}: {operator:?} into {place}: real {:#x}, native {native:#x}", shadow.rounded);
            checked += 1;
        }
    }
    checked
}

#[test]
fn every_lifted_form_does_what_the_cpu_does() {
    let mut cpu = Cpu::new();
    let (mut forms, mut cases, mut reals, mut checks) = (0, 0, 0, 0);
    let codes: Vec<Code> = Code::values().filter(|code| lifted(*code)).collect();
    for &code in &codes {
        let forms_before = forms;
        for form in Form::ALL {
            let mut random = Random::new(code as u64 * 16 + form as u64);
            let immediates = immediates(code);
            let rounds = (240 / immediates.len()).max(3);
            let mut exists = false;
            for &immediate in &immediates {
                let (ip, memory) = (cpu.code_address(), cpu.memory_address());
                let Some(program) = instruction(code, form, form.registers(), immediate, ip, memory) else { continue };
                exists = true;
                for round in 0..rounds {
                    // Most under the default mode, where reals can be compared; some under the others.
                    let mxcsr = if round % 3 == 2 { MODES[random.below(MODES.len())] } else { NEAREST };
                    let state = prepare(&mut cpu, code, &mut random, mxcsr);
                    let run = Run::new(&mut cpu, std::slice::from_ref(&program), state);
                    let block = run.lift(form == Form::Literal);
                    let what = format!("{code:?} {form:?} imm {immediate:#x} mxcsr {mxcsr:#x} round {round}\n{block}");
                    check_one(&run, &block, &what);
                    let analysis = run.analyse(&block);
                    if mxcsr == NEAREST {
                        reals += check_reals(&run, &block, &analysis, &what);
                    }
                    let findings = analysis.finish();
                    assert_eq!(findings.check_failures, [], "{what}");
                    assert_eq!(findings.totals.corrupt_records, 0, "{what}");
                    checks += findings.totals.checks;
                    cases += 1;
                }
            }
            forms += exists as u32;
        }
        assert!(forms > forms_before, "{code:?} was not run in any form");
    }
    println!("{} encodings in {forms} forms: {cases} cases, {checks} results and {reals} reals compared", codes.len());
    assert!(reals > cases / 20 && checks as usize > cases / 2, "the comparisons did not happen");
}

/// A permutation by a register is followed if the register's contents are constant, which takes an instruction before it.
#[test]
fn permutations_by_a_constant_register_do_what_the_cpu_does() {
    let mut cpu = Cpu::new();
    let mut random = Random::new(2);
    let (ip, memory) = (cpu.code_address(), cpu.memory_address());
    const CONTROL: u32 = 1;
    for (code, registers) in [
        (Code::VEX_Vpermps_ymm_ymm_ymmm256, [2, CONTROL, 3, 0]),
        (Code::VEX_Vpermd_ymm_ymm_ymmm256, [2, CONTROL, 3, 0]),
        (Code::VEX_Vpermilps_ymm_ymm_ymmm256, [2, 3, CONTROL, 0]),
        (Code::VEX_Vpermilpd_ymm_ymm_ymmm256, [2, 3, CONTROL, 0]),
        (Code::VEX_Vpermilps_xmm_xmm_xmmm128, [2, 3, CONTROL, 0]),
        (Code::VEX_Vpermilpd_xmm_xmm_xmmm128, [2, 3, CONTROL, 0]),
    ] {
        let load = Code::VEX_Vmovups_ymm_ymmm256;
        let program = [
            instruction(load, Form::Literal, [CONTROL; 4], 0, ip, memory).unwrap(),
            instruction(code, Form::Registers, registers, 0, ip, memory).unwrap(),
        ];
        for _ in 0..500 {
            let state = prepare(&mut cpu, code, &mut random, NEAREST);
            let run = Run::new(&mut cpu, &program, state);
            let block = run.lift(true);
            let lost = |stmt: &Stmt| matches!(stmt.op, Op::Drop { place: Place { reg: Reg::Vec(2), offset: 0 }, .. });
            assert!(!block.stmts.iter().any(lost), "{code:?} was dropped\n{block}");
            let findings = run.analyse(&block).finish();
            assert_eq!(findings.check_failures, [], "{code:?}\n{block}");
            assert!(findings.totals.checks > 0);
        }
    }
}

/// Sequences: what the frontend knows of registers from one instruction to the next is true.
#[test]
fn sequences_of_lifted_instructions_do_what_the_cpu_does() {
    let mut cpu = Cpu::new();
    let mut random = Random::new(1);
    let (ip, memory) = (cpu.code_address(), cpu.memory_address());
    let changes_mode = |code: &Code| format!("{code:?}").contains("mxcsr") || format!("{code:?}").contains("rstor");
    let codes: Vec<Code> = Code::values().filter(|code| lifted(*code) && !changes_mode(code)).collect();
    let forms = [Form::Registers, Form::Registers, Form::Based, Form::Indexed];
    // Few, so that instructions meet each other's results.
    const REGISTERS: [u32; 4] = [1, 2, 3, 9];
    let mut shadows = [0; 3];
    for round in 0..20_000 {
        let mut program = Vec::new();
        while program.len() < 2 + round % 8 {
            let code = codes[random.below(codes.len())];
            let immediate = random.next() & if name(code).starts_with("cmp") { 7 } else { u64::MAX };
            let registers = std::array::from_fn(|_| REGISTERS[random.below(4)]);
            let form = forms[random.below(forms.len())];
            program.extend(instruction(code, form, registers, immediate, ip, memory));
        }
        let mode = MODES[random.below(MODES.len())];
        let state = prepare(&mut cpu, Code::Nopd, &mut random, mode);
        let run = Run::new(&mut cpu, &program, state);
        let block = run.lift(false);
        let listing: Vec<String> = run.instrs.iter().map(|instr| instr.to_string()).collect();
        let what = format!("round {round}: {}\n{block}", listing.join("; "));
        let analysis = run.analyse(&block);

        let after = run.after();
        // A float that was torn by a move of less than itself may still be there: it is told from its bits when it is read.
        let mut whole_puts = Vec::new();
        for stmt in &block.stmts {
            if let Op::Put { place, value } = stmt.op {
                let end = place.offset as usize + block.type_of(value).unwrap().bytes();
                whole_puts.extend((place.offset..end as u8).step_by(4).map(|offset| (Place { offset, ..place }, end)));
            }
        }
        for ty in [Type::F32, Type::F64] {
            for &(place, end) in &whole_puts {
                if place.offset as usize + ty.bytes() > end {
                    continue;
                }
                if let Some(shadow) = analysis.register(0, place, ty) {
                    assert_eq!(shadow.native, native(after, place, ty), "{place} after {what}");
                    shadows[matches!(place.reg, Reg::Gpr(_)) as usize] += 1;
                }
            }
            // Integer stores are not followed, so they leave shadows behind that no longer agree.
            let stores_integer = |instr: &Instruction| instr.op0_kind() == OpKind::Memory && !stores_vector(instr);
            if run.instrs.iter().any(stores_integer) {
                continue;
            }
            for address in (memory..memory + 256).step_by(4) {
                if let Some(shadow) = analysis.memory(0, address, ty) {
                    let bits = after.load(address) as u64;
                    let bits = if ty == Type::F32 { bits & 0xffff_ffff } else { bits };
                    assert_eq!(shadow.native, bits, "memory at {address:#x} after {what}");
                    shadows[2] += 1;
                }
            }
        }
        let findings = analysis.finish();
        assert_eq!(findings.check_failures, [], "{what}");
        assert_eq!(findings.totals.corrupt_records, 0, "{what}");
    }
    println!(
        "shadows compared: {} in vector registers, {} in general registers, {} in memory",
        shadows[0], shadows[1], shadows[2]
    );
    assert!(shadows.iter().all(|&count| count > 100), "{shadows:?}");
}
