//! Single-operation truth: every lifted instruction, in every form, on random and special operands, runs on the real CPU,
//! and its lifted block runs through the analysis. The bits must agree everywhere, and on exact inputs the real of every
//! correctly rounded operation must round to what the CPU computed.
//!
//! The record that the analysis gets is written here from the machine's states, as the emitted code would write it. Which
//! encodings there are is asked of iced, and which are lifted of the frontend: there is no list of instructions.

#[path = "single_operation/check.rs"]
mod check;
#[path = "single_operation/cpu.rs"]
mod cpu;
#[path = "single_operation/dropped.rs"]
mod dropped;
#[path = "single_operation/encode.rs"]
mod encode;
#[path = "single_operation/features.rs"]
mod features;
#[path = "single_operation/floats.rs"]
mod floats;
#[path = "single_operation/forms.rs"]
mod forms;
#[path = "single_operation/harness.rs"]
mod harness;
#[path = "single_operation/masked.rs"]
mod masked;
#[path = "single_operation/operands.rs"]
mod operands;
#[path = "common/random.rs"]
mod random;
#[path = "single_operation/reals.rs"]
mod reals;
#[path = "single_operation/record.rs"]
mod record;
#[path = "single_operation/run.rs"]
mod run;
#[path = "single_operation/sequences.rs"]
mod sequences;

use cpu::Cpu;
use encode::{instruction, is_decoded};
use features::lacking;
use forms::{Extra, Form, Masking, Shape, forms, immediates};
use fpgrind_frontend_x86::{Coverage, coverage, lifted};
use fpgrind_ir::{Op, Place, Reg, Stmt};
use iced_x86::{Code, CpuidFeature, EncodingKind};
use operands::{MODES, NEAREST, Random, prepare};
use run::Run;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What was done.
#[derive(Default)]
struct Counts {
    forms: usize,
    cases: usize,
    checks: u64,
    reals: usize,
    /// Encodings that this CPU does not have, and what it lacks.
    not_run: usize,
    lacking: BTreeSet<String>,
    failed: Vec<Code>,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.forms += other.forms;
        self.cases += other.cases;
        self.checks += other.checks;
        self.reals += other.reals;
        self.not_run += other.not_run;
        self.lacking.extend(other.lacking);
        self.failed.extend(other.failed);
    }
}

/// The immediates that a form is tried with, and how often with each. An encoding with many forms is tried less in each of them,
/// with all of its immediates only in the first.
fn trials(code: Code, form: Form, random: &mut Random) -> (Vec<u64>, usize) {
    let mut immediates = immediates(code);
    if code.op_code().encoding() != EncodingKind::EVEX {
        let rounds = (144 / immediates.len()).max(2);
        return (immediates, rounds);
    }
    let first = form.shape == Shape::Registers && form.extra == Extra::None && form.masking != Masking::Merge;
    if !first && immediates.len() > 8 {
        immediates = (0..8).map(|_| immediates[random.below(immediates.len())]).collect();
    }
    let rounds = (18 / immediates.len()).max(1);
    (immediates, rounds)
}

/// Runs an encoding in all of its forms.
fn check_encoding(cpu: &mut Cpu, code: Code, without_analysis: bool) -> Counts {
    let mut counts = Counts::default();
    let lacking: Vec<CpuidFeature> = lacking(code);
    if !lacking.is_empty() {
        counts.not_run = 1;
        counts.lacking.extend(lacking.iter().map(|feature| format!("{feature:?}")));
    }
    for (index, form) in forms(code).into_iter().enumerate() {
        let mut random = Random::new(code as u64 * 64 + index as u64);
        let (immediates, rounds) = trials(code, form, &mut random);
        let mut exists = false;
        for &immediate in &immediates {
            let (ip, memory) = (cpu.code_address(), cpu.memory_address());
            let Some(program) = instruction(code, form, form.registers(code), immediate, ip, memory) else { continue };
            exists = true;
            if !lacking.is_empty() {
                run::check_lifts(&program.0, &format!("{code:?} {form:?} imm {immediate:#x}"));
                continue;
            }
            for round in 0..rounds {
                // Most under the default mode, where reals can be compared; some under the others.
                let mxcsr = if random.below(3) == 2 { MODES[random.below(MODES.len())] } else { NEAREST };
                let state = prepare(cpu, &[program.0], &mut random, mxcsr);
                let run = Run::new(cpu, std::slice::from_ref(&program), state);
                let block = run.lift(form.is_literal());
                let what = format!(
                    "{} ({code:?} {form:?}) imm {immediate:#x} mxcsr {mxcsr:#x} fcw {:#x} round {round}\n{block}",
                    program.0,
                    run.before().state.fpu.control
                );
                let evaluation = run.evaluate(&block);
                check::check_one(&run, &block, &evaluation, &what);
                counts.cases += 1;
                if without_analysis {
                    continue;
                }
                let analysis = run.analyse(&block, &evaluation);
                counts.reals += reals::check_reals(&run, &block, &evaluation, &analysis, &what);
                let findings = analysis.finish();
                assert_eq!(findings.check_failures, [], "{what}");
                assert_eq!(findings.totals.corrupt_records, 0, "{what}");
                counts.checks += findings.totals.checks;
            }
        }
        counts.forms += exists as usize;
    }
    assert!(counts.forms > 0, "{code:?} was not run in any form");
    counts
}

#[test]
fn every_lifted_form_does_what_the_cpu_does() {
    // For those who lift: FPGRIND_ONLY asks for the encodings whose name begins so, FPGRIND_WITHOUT_ANALYSIS only for what the block
    // says of them.
    let only = std::env::var("FPGRIND_ONLY").unwrap_or_default();
    let without_analysis = std::env::var_os("FPGRIND_WITHOUT_ANALYSIS").is_some();
    let wanted = |code: &Code| lifted(*code) && is_decoded(*code) && format!("{code:?}").starts_with(&only);
    let codes: Vec<Code> = Code::values().filter(wanted).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut cpu, mut counts) = (Cpu::new(), Counts::default());
        while let Some(code) = codes.get(next.fetch_add(1, Ordering::Relaxed)) {
            // One that fails does not keep the others from being looked at.
            let checked = AssertUnwindSafe(|| check_encoding(&mut cpu, *code, without_analysis));
            match catch_unwind(checked) {
                Ok(more) => counts.add(more),
                Err(_) => counts.failed.push(*code),
            }
        }
        counts
    };
    let mut counts = Counts::default();
    std::thread::scope(|scope| {
        let workers = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            counts.add(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    let Counts { forms, cases, checks, reals, not_run, lacking, failed } = counts;
    let lacking: Vec<String> = lacking.into_iter().collect();
    print!("{} encodings in {forms} forms: {cases} cases, {checks} results and {reals} reals compared", codes.len());
    println!(
        "; {not_run} encodings not run here: the CPU lacks {}",
        match lacking.join(", ") {
            none if none.is_empty() => "nothing".into(),
            some => some,
        }
    );
    assert!(failed.is_empty(), "{} encodings failed: {failed:?}", failed.len());
    if only.is_empty() && !without_analysis {
        assert!(reals > cases / 20 && checks as usize > cases / 2, "the comparisons did not happen");
    }
}

/// What the frontend says of each encoding agrees with what it does.
#[test]
fn coverage_is_as_lifted() {
    for code in Code::values().filter(|code| lifted(*code)) {
        assert_ne!(coverage(code), Coverage::Missing, "{code:?} is lifted");
    }
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
        if !lacking(code).is_empty() {
            continue;
        }
        let program = [
            instruction(load, Form::plain(Shape::Literal), [CONTROL; 4], 0, ip, memory).unwrap(),
            instruction(code, Form::plain(Shape::Registers), registers, 0, ip, memory).unwrap(),
        ];
        for _ in 0..500 {
            let state = prepare(&mut cpu, &[program[0].0, program[1].0], &mut random, NEAREST);
            let run = Run::new(&mut cpu, &program, state);
            let block = run.lift(true);
            let lost = |stmt: &Stmt| matches!(stmt.op, Op::Drop { place: Place { reg: Reg::Vec(2), offset: 0 }, .. });
            assert!(!block.stmts.iter().any(lost), "{code:?} was dropped\n{block}");
            let findings = run.analyse(&block, &run.evaluate(&block)).finish();
            assert_eq!(findings.check_failures, [], "{code:?}\n{block}");
            assert!(findings.totals.checks > 0);
        }
    }
}
