//! Random sequences of instructions, with random registers and memory, run natively and translated: registers, flags and memory
//! must be the same afterwards, and so must be what a handler sees if one of them faults.
//!
//! What the CPU has is asked of the CPU: each encoding that iced knows runs once natively, and those that raise SIGILL are
//! left out. `cargo test` runs a fixed slice; FPGRIND_FUZZ_INSTRUCTIONS and FPGRIND_FUZZ_SEED ask for more, or for other ones.

#[path = "fuzz_instructions/addresses.rs"]
mod addresses;
#[path = "fuzz_instructions/compare.rs"]
mod compare;
#[path = "fuzz_instructions/control.rs"]
mod control;
#[path = "fuzz_instructions/driver.rs"]
mod driver;
#[path = "fuzz_instructions/elf.rs"]
mod elf;
#[path = "fuzz_instructions/excluded.rs"]
mod excluded;
#[path = "fuzz_instructions/generate.rs"]
mod generate;
#[path = "fuzz_instructions/knowledge.rs"]
mod knowledge;
#[path = "fuzz_instructions/layout.rs"]
mod layout;
#[path = "fuzz_instructions/machine.rs"]
mod machine;
#[path = "fuzz_instructions/operands.rs"]
mod operands;
#[path = "fuzz_instructions/packages.rs"]
mod packages;
#[path = "fuzz_instructions/pieces.rs"]
mod pieces;
#[path = "fuzz_instructions/program.rs"]
mod program;
#[path = "common/random.rs"]
mod random;

use compare::{Runner, Way};
use generate::{Generator, Repertoire, candidates};
use iced_x86::Code;
use layout::CODES;
use machine::XsaveArea;
use program::{Case, Memory, Outcome, ROUNDS, program};
use random::Random;
use std::path::Path;
use std::sync::OnceLock;

/// Sequences in one program.
const SEQUENCES: usize = 150;
/// Sequences with traps that are run, of a program's.
const TRAPS: usize = 4;
/// Instructions in the slice that every `cargo test` runs.
const SLICE: u64 = 50_000;
/// How often each run is repeated where a timer interrupts them; of all instructions, one in so many is.
const REPETITIONS: usize = 200;
const REPEATED_SHARE: u64 = 20;
/// The opcode of `hlt`.
const HLT: u8 = 0xf4;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn first_seed() -> u64 {
    number("FPGRIND_FUZZ_SEED", 1)
}

fn runner(name: &str) -> Runner {
    // Runs with other seeds may be under way.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", first_seed()));
    std::fs::create_dir_all(&folder).expect("cargo's directory for tests is writable");
    Runner { area: XsaveArea::of_this_cpu(), folder, repetitions: 1, fpgrind: env!("CARGO_BIN_EXE_fpgrind") }
}

/// The encodings that this CPU has.
struct Encodings {
    /// Those that run, at least with some operands.
    running: Vec<Code>,
    /// Those that never do, because they are not for programs.
    privileged: Vec<Code>,
}

/// Every try of an encoding that the CPU has not raises SIGILL.
fn of_this_cpu(runner: &Runner) -> Encodings {
    const TRIES: usize = 4;
    let mut random = Random::new(1);
    let memory = Memory::new(&mut random);
    let candidates: Vec<Code> = candidates().collect();
    let mut everything = Repertoire::new(&candidates, &[], &mut random);
    let mut encodings = Encodings { running: Vec::new(), privileged: Vec::new() };
    for codes in candidates.chunks(500) {
        let mut cases = Vec::new();
        for &code in codes.iter().flat_map(|code| [code; TRIES]) {
            let mut generator = Generator::new(&mut random, &mut everything, CODES[0], false);
            let sequence = generator.lone(code).unwrap_or_else(|| panic!("{code:?}: no operands fit"));
            cases.push(Case::new(
                sequence,
                CODES[0],
                &knowledge::Knowledge::new([None; 16]),
                &mut random,
                &runner.area,
            ));
        }
        let program = program(&cases, 1, &memory, &runner.area).expect("single instructions can be assembled");
        let ended = runner.run(&program.file, Way::Natively);
        assert_eq!(ended.status, "Some(0) None", "probing the CPU: {}", ended.errors);
        for (n, &code) in codes.iter().enumerate() {
            let tries =
                (0..ROUNDS).flat_map(|round| (0..TRIES).map(move |t| round * codes.len() * TRIES + n * TRIES + t));
            let signals: Vec<i32> = tries.filter_map(|run| ended.output.run(run)).map(|run| run.signal()).collect();
            if signals.contains(&0) {
                encodings.running.push(code);
            } else if signals.iter().any(|signal| *signal != libc::SIGILL) {
                encodings.privileged.push(code);
            }
        }
    }
    encodings
}

/// Random sequences, sorted by the signals that they raise natively.
struct Batch {
    seed: u64,
    memory: Memory,
    quiet: Vec<Case>,
    faulting: Vec<Case>,
    /// Those that meet an instruction which is there to raise a signal.
    trapping: Vec<Case>,
}

fn batch(runner: &Runner, repertoire: &mut Repertoire, rdfsbase: bool, seed: u64) -> Batch {
    let mut random = Random::new(seed);
    let memory = Memory::new(&mut random);
    let mut cases = Vec::new();
    while cases.len() < SEQUENCES {
        let code = CODES[random.below(2)];
        let mut generator = Generator::new(&mut random, repertoire, code, rdfsbase);
        let (sequence, known) = generator.sequence();
        // A short branch may be out of reach.
        if sequence.assemble(code, code).is_some() {
            cases.push(Case::new(sequence, code, &known, &mut random, &runner.area));
        }
    }
    let whole = program(&cases, 1, &memory, &runner.area).expect("each can be assembled");
    let ended = runner.run(&whole.file, Way::Natively);
    assert_eq!(ended.status, "Some(0) None", "seed {seed}: natively: {}", ended.errors);
    let mut batch = Batch { seed, memory, quiet: Vec::new(), faulting: Vec::new(), trapping: Vec::new() };
    let count = cases.len();
    for (n, case) in cases.into_iter().enumerate() {
        let runs: Vec<_> = (0..ROUNDS).filter_map(|round| ended.output.run(round * count + n)).collect();
        let traps = |run: &Outcome| match run.signal() {
            libc::SIGILL | libc::SIGTRAP => true,
            libc::SIGSEGV => whole.byte(run.pc()) == Some(HLT),
            _ => false,
        };
        let kind = match () {
            _ if runs.iter().any(traps) => &mut batch.trapping,
            _ if runs.iter().any(|run| run.signal() != 0) => &mut batch.faulting,
            _ => &mut batch.quiet,
        };
        kind.push(case);
    }
    batch
}

/// How many instructions were run, each time in every way.
fn fuzz(name: &str, repetitions: usize, check: impl Fn(&Runner, &Batch) -> usize) {
    let mut runner = runner(name);
    static ENCODINGS: OnceLock<Encodings> = OnceLock::new();
    let codes = ENCODINGS.get_or_init(|| of_this_cpu(&runner));
    runner.repetitions = repetitions;
    // What is repeated sets FS only once.
    let rdfsbase = repetitions == 1 && codes.running.contains(&Code::Rdfsbase_r64);
    let mut repertoire = Repertoire::new(&codes.running, &codes.privileged, &mut Random::new(1));
    let wanted = number("FPGRIND_FUZZ_INSTRUCTIONS", SLICE) / if repetitions == 1 { 1 } else { REPEATED_SHARE };
    let mut seed = first_seed();
    let (mut generated, mut compared) = (0, 0);
    while generated < wanted {
        let batch = batch(&runner, &mut repertoire, rdfsbase, seed);
        let all = [&batch.quiet, &batch.faulting, &batch.trapping];
        generated += all.map(|cases| instructions(cases)).iter().sum::<usize>() as u64;
        compared += check(&runner, &batch);
        seed += 1;
    }
    println!(
        "{} encodings, {} privileged ones; of {generated} instructions {compared} were compared",
        codes.running.len(),
        codes.privileged.len()
    );
}

fn instructions(cases: &[Case]) -> usize {
    cases.iter().map(|case| case.sequence.instructions() * ROUNDS).sum()
}

#[test]
fn sequences_compute_what_they_compute_natively() {
    fuzz("fuzz-instructions", 1, |runner, batch| {
        for way in [Way::Translated, Way::Logged, Way::Analysed] {
            runner.assert_same(&batch.quiet, &batch.memory, way, &format!("seed {}", batch.seed));
        }
        instructions(&batch.quiet)
    });
}

#[test]
fn faulting_sequences_show_their_handlers_what_they_show_natively() {
    fuzz("fuzz-faults", 1, |runner, batch| {
        let what = format!("seed {}", batch.seed);
        for way in [Way::Translated, Way::Analysed] {
            runner.assert_same(&batch.faulting, &batch.memory, way, &what);
            // After a trap the guest may go on natively, so each of these begins anew, which takes its time.
            for case in batch.trapping.chunks(1).take(TRAPS) {
                runner.assert_same(case, &batch.memory, way, &what);
            }
        }
        instructions(&batch.faulting) + instructions(&batch.trapping[..TRAPS.min(batch.trapping.len())])
    });
}

#[test]
fn sequences_compute_the_same_when_signals_interrupt_them() {
    fuzz("fuzz-signals", REPETITIONS, |runner, batch| {
        for way in [Way::Translated, Way::Logged] {
            runner.assert_same(&batch.quiet, &batch.memory, way, &format!("seed {}", batch.seed));
        }
        instructions(&batch.quiet)
    });
}
