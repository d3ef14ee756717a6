//! A generated program: sequences with the states they start from, as an executable, and what it wrote.

use super::driver::driver;
use super::elf::{EXECUTE, READ, Segment, WRITE, executable};
use super::knowledge::Knowledge;
use super::layout::{CODES, CONTROL, CONTROL_SIZE, INPUT, PAGE, PAGES, Record, TABLE};
use super::machine::{State, XsaveArea};
use super::pieces::Sequence;
use super::random::Random;

/// Each sequence runs so often: the first time it is being translated, later it runs linked.
pub const ROUNDS: usize = 2;

/// A sequence and the states that it is run from.
#[derive(Clone)]
pub struct Case {
    pub sequence: Sequence,
    /// Which code it belongs to.
    pub code: u64,
    pub states: Vec<State>,
    /// It crosses the end of a page so many bytes after its beginning.
    pub straddle: Option<u64>,
}

impl Case {
    pub fn new(sequence: Sequence, code: u64, known: &Knowledge, random: &mut Random, area: &XsaveArea) -> Case {
        let unmasked = random.below(40) == 0;
        let states = (0..ROUNDS).map(|_| {
            let mut state = State::random(random, area, sequence.aligned, unmasked);
            for (register, known) in state.general.iter_mut().zip(known.values) {
                *register = known.unwrap_or(*register);
            }
            state
        });
        let states = states.collect();
        let straddle = (random.below(6) == 0).then(|| 1 + random.below(64) as u64);
        Case { sequence, code, states, straddle }
    }
}

/// The contents of the pages that sequences find, the same for all.
pub struct Memory(Vec<u8>);

impl Memory {
    pub fn new(random: &mut Random) -> Memory {
        Memory((0..PAGES.len() * PAGE / 16).flat_map(|_| random.vector().to_le_bytes()).collect())
    }
}

pub struct Program {
    pub file: Vec<u8>,
    /// The address and the bytes of each sequence.
    pub placed: Vec<(u64, Vec<u8>)>,
}

impl Program {
    /// The byte of a sequence at this address.
    pub fn byte(&self, address: u64) -> Option<u8> {
        let (at, bytes) = self.placed.iter().find(|(at, bytes)| (*at..at + bytes.len() as u64).contains(&address))?;
        bytes.get((address - at) as usize).copied()
    }
}

/// The program for these cases, with each run repeated so often; nothing if one of them cannot be assembled.
pub fn program(cases: &[Case], repetitions: usize, memory: &Memory, area: &XsaveArea) -> Option<Program> {
    let driver = driver(cases.len() * ROUNDS, repetitions, area);
    let mut texts = [driver.code, Vec::new()];
    let mut placed = Vec::new();
    for case in cases {
        let text = &mut texts[(case.code == CODES[1]) as usize];
        if let Some(before) = case.straddle {
            let end = (text.len() as u64 + before).next_multiple_of(PAGE as u64);
            text.resize((end - before) as usize, 0xcc);
        }
        let at = case.code + text.len() as u64;
        let bytes = case.sequence.assemble(at, driver.save)?;
        text.extend(&bytes);
        placed.push((at, bytes));
    }
    let mut input = memory.0.clone();
    let mut state_at = (TABLE + 16 * (cases.len() * ROUNDS) as u64).next_multiple_of(64);
    let mut states = Vec::new();
    for round in 0..ROUNDS {
        for (case, (at, _)) in cases.iter().zip(&placed) {
            input.extend(at.to_le_bytes());
            input.extend(state_at.to_le_bytes());
            let state = case.states[round].bytes();
            state_at += state.len() as u64;
            states.extend(state);
        }
    }
    input.resize(input.len().next_multiple_of(64), 0);
    input.extend(states);
    let mut segments = vec![
        Segment { address: CONTROL, bytes: vec![0; CONTROL_SIZE], flags: READ | WRITE },
        Segment { address: INPUT, bytes: input, flags: READ },
    ];
    segments.extend(PAGES.map(|address| Segment { address, bytes: vec![0; PAGE], flags: READ | WRITE }));
    let texts = CODES.into_iter().zip(texts).filter(|(_, text)| !text.is_empty());
    segments.extend(texts.map(|(address, bytes)| Segment { address, bytes, flags: READ | EXECUTE }));
    // Program headers are in the order of addresses.
    segments.sort_by_key(|segment| segment.address);
    Some(Program { file: executable(CODES[0], &segments), placed })
}

/// What a program wrote of one run of one sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Outcome<'a>(&'a [u8], usize);

/// What may differ in XSAVE areas: the last x87 instruction (see `packages`), and which components the CPU holds to be in use.
pub const IGNORED: [std::ops::Range<usize>; 2] = [6..24, 512..520];

/// The pc among a ucontext's registers.
const CONTEXT_RIP: usize = 16;

/// Differences that are shown.
const SHOWN: usize = 24;

/// The runs in an output, with what may differ blotted out.
pub struct Output {
    bytes: Vec<u8>,
    record: Record,
}

impl Output {
    pub fn new(mut bytes: Vec<u8>, area: &XsaveArea) -> Output {
        let record = Record::new(area);
        for written in bytes.chunks_exact_mut(record.written()) {
            for start in [Record::XSAVE, record.context_xsave()] {
                for range in IGNORED {
                    written[start + range.start..start + range.end].fill(0);
                }
            }
        }
        Output { bytes, record }
    }

    /// By sequence and round.
    pub fn run(&self, number: usize) -> Option<Outcome<'_>> {
        let size = self.record.written();
        Some(Outcome(self.bytes.get(number * size..(number + 1) * size)?, self.record.size()))
    }
}

impl Outcome<'_> {
    pub fn signal(&self) -> i32 {
        self.word(Record::SIGNAL) as i32
    }

    /// Where the handler was told that the signal was raised.
    pub fn pc(&self) -> u64 {
        self.word(Record::CONTEXT + 8 * CONTEXT_RIP)
    }

    pub fn word(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.0[offset..offset + 8].try_into().expect("eight bytes"))
    }

    /// Where two outcomes differ, in words, at the first few places.
    pub fn differences(&self, other: &Outcome) -> Vec<String> {
        let words = (0..self.0.len()).step_by(8).filter(|at| self.word(*at) != other.word(*at));
        words
            .take(SHOWN)
            .map(|at| format!("{}: {:#x} natively, {:#x}", self.name(at), self.word(at), other.word(at)))
            .collect()
    }

    fn name(&self, at: usize) -> String {
        const NAMES: [&str; 20] = [
            "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
            "r15", "flags", "signal", "si_code", "si_addr",
        ];
        const CONTEXT: [&str; 23] = [
            "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx",
            "rsp", "rip", "eflags", "csgsfs", "err", "trapno", "oldmask", "cr2",
        ];
        match at {
            _ if at < 160 => NAMES[at / 8].to_string(),
            _ if at < Record::CONTEXT + Record::CONTEXT_SIZE => {
                format!("handler's {}", CONTEXT[(at - Record::CONTEXT) / 8])
            }
            _ if at < Record::XSAVE => "nothing".to_string(),
            _ if at < self.1 => {
                let area = (self.1 - Record::XSAVE) / 2;
                let offset = at - Record::XSAVE;
                format!("{}XSAVE area + {:#x}", if offset < area { "" } else { "handler's " }, offset % area)
            }
            _ => format!("memory at {:#x}", PAGES[(at - self.1) / PAGE] + ((at - self.1) % PAGE) as u64),
        }
    }
}
