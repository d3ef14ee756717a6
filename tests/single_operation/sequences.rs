//! Sequences: what the frontend knows of registers from one instruction to the next is true.

use super::check::{place_after, stores_float};
use super::cpu::Cpu;
use super::encode::{instruction, is_decoded};
use super::features::lacking;
use super::forms::{Form, forms, name};
use super::operands::{MODES, Random, is_x87, prepare};
use super::record::truncate;
use super::run::Run;
use fpgrind_frontend_x86::lifted;
use fpgrind_ir::{Block, Op, Place, Reg, Type};
use iced_x86::{Code, EncodingKind, FlowControl, Instruction, Mnemonic, OpCodeOperandKind as Kind, OpKind};

/// Few, so that instructions meet each other's results.
const REGISTERS: [u32; 4] = [1, 2, 3, 9];

/// Instructions that need a state of their own to run, which those before them do not leave: images of registers, indices that
/// stay within memory. The stack pointer moves, but never far in a short sequence.
fn needs_a_state(code: Code) -> bool {
    let name = name(code);
    let image = ["mxcsr", "rstor", "save", "fldcw", "fldenv"].iter().any(|part| name.contains(part));
    let addressed = |kind: &Kind| {
        let vector = format!("{kind:?}").contains("vsib");
        vector || matches!(kind, Kind::seg_rSI | Kind::es_rDI | Kind::seg_rDI)
    };
    let leaves =
        code.flow_control() != FlowControl::Next || matches!(code.mnemonic(), Mnemonic::Leave | Mnemonic::Enter);
    image || leaves || code.op_code().op_kinds().iter().any(addressed)
}

/// Integer stores are not followed, so they leave shadows behind that no longer agree.
fn stores_integer(instr: &Instruction) -> bool {
    instr.op0_kind() == OpKind::Memory && !stores_float(instr) || instr.is_stack_instruction()
}

#[test]
fn sequences_of_lifted_instructions_do_what_the_cpu_does() {
    let mut cpu = Cpu::new();
    let mut random = Random::new(1);
    let usable = |code: &Code| lifted(*code) && is_decoded(*code) && !needs_a_state(*code) && lacking(*code).is_empty();
    let codes: Vec<Code> = Code::values().filter(usable).collect();
    // A third of the sequences mixes in the x87, a third EVEX, so that instructions of a kind meet.
    let is_evex = |code: &Code| code.op_code().encoding() == EncodingKind::EVEX;
    let evex: Vec<Code> = codes.iter().copied().filter(is_evex).collect();
    let x87: Vec<Code> = codes.iter().copied().filter(|code| is_x87(*code)).collect();
    let others: Vec<Code> = codes.iter().copied().filter(|code| !evex.contains(code) && !x87.contains(code)).collect();
    let mut shadows = [0; 3];
    for round in 0..30_000 {
        let mixed = [&others, &evex, &x87][round % 3];
        let mut program = Vec::new();
        while program.len() < 2 + round % 8 {
            let codes = if mixed.is_empty() || random.below(3) == 0 { &others } else { mixed };
            let code = codes[random.below(codes.len())];
            program.extend(random_instruction(&cpu, &mut random, code));
        }
        let mode = MODES[random.below(MODES.len())];
        let instrs: Vec<Instruction> = program.iter().map(|(instr, _)| *instr).collect();
        let state = prepare(&mut cpu, &instrs, &mut random, mode);
        let run = Run::new(&mut cpu, &program, state);
        if run.stack_fault() {
            continue;
        }
        let block = run.lift(false);
        let listing: Vec<String> = run.instrs.iter().map(|instr| instr.to_string()).collect();
        let what = format!("round {round}: {}\n{block}", listing.join("; "));
        check_sequence(&run, &block, &what, &mut shadows);
    }
    println!(
        "shadows compared: {} in vector registers, {} in general registers, {} in memory",
        shadows[0], shadows[1], shadows[2]
    );
    assert!(shadows.iter().all(|&count| count > 100), "{shadows:?}");
}

/// In a form that is not literal: what lies in memory may have been stored by the sequence. Addresses are made of registers
/// that no operand is.
fn random_instruction(cpu: &Cpu, random: &mut Random, code: Code) -> Option<(Instruction, Vec<u8>)> {
    let forms: Vec<Form> = forms(code).into_iter().filter(|form| !form.is_literal()).collect();
    let form = forms[random.below(forms.len())];
    let immediate = random.next() & if name(code).starts_with("cmp") { 7 } else { u64::MAX };
    let unique = code.op_code().requires_unique_reg_nums() || code.op_code().requires_unique_dest_reg_num();
    let registers = if unique { [1, 2, 3, 9] } else { std::array::from_fn(|_| REGISTERS[random.below(4)]) };
    instruction(code, form, registers, immediate, cpu.code_address(), cpu.memory_address())
}

fn check_sequence(run: &Run, block: &Block, what: &str, shadows: &mut [usize; 3]) {
    let analysis = run.analyse(block, &run.evaluate(block));
    let after = run.after();
    // A float that was torn by a move of less than itself may still be there: it is told from its bits when it is read.
    let mut whole_puts = Vec::new();
    for stmt in &block.stmts {
        if let Op::Put { place: place @ Place { reg: Reg::Vec(_) | Reg::Gpr(_), .. }, value } = stmt.op {
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
                let native = truncate(place_after(run, place), ty.bytes());
                assert_eq!(shadow.native, native, "{place} after {what}");
                shadows[matches!(place.reg, Reg::Gpr(_)) as usize] += 1;
            }
        }
        if run.instrs.iter().any(stores_integer) {
            continue;
        }
        let memory = after.memory_address;
        for address in (memory..memory + 256).step_by(4) {
            if let Some(shadow) = analysis.memory(0, address, ty) {
                let native = truncate(after.load(address), ty.bytes());
                assert_eq!(shadow.native, native, "memory at {address:#x} after {what}");
                shadows[2] += 1;
            }
        }
    }
    let findings = analysis.finish();
    assert_eq!(findings.check_failures, [], "{what}");
    assert_eq!(findings.totals.corrupt_records, 0, "{what}");
}
