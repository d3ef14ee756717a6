//! Logs of all kinds: of blocks written by hand, the same with words exchanged, and random ones; with events and records that make sense or do not.

use fpgrind_analysis::Analysis;
use fpgrind_analysis::log::{self, Bytes, Conversion, Event, Module, Origin, Output, OutputArg};
use fpgrind_ir::{Block, Type, assign_slots, parse_block};
use proptest::prelude::*;
use proptest::sample::Index;
use std::fmt;
use std::sync::{LazyLock, mpsc};

/// Files with blocks in the IR's text form.
const WRITTEN: &[&str] = &[
    include_str!("../logs/allocation.rs"),
    include_str!("../logs/corrupted_logs.rs"),
    include_str!("../logs/gaps.rs"),
    include_str!("../logs/guests.rs"),
    include_str!("../logs/known_answers.rs"),
    include_str!("../logs/lanes.rs"),
    include_str!("../logs/modes.rs"),
    include_str!("../logs/shadows.rs"),
    include_str!("../logs/sums.rs"),
    include_str!("../logs/wide.rs"),
    include_str!("../logs/x87.rs"),
];

/// The blocks in them.
static TEXTS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let blocks = WRITTEN.iter().flat_map(|file| {
        let begins = file.match_indices("block 0x").map(|(at, _)| at);
        begins.filter_map(|at| Some(&file[at..at + file[at..].find("\n}")? + 2]))
    });
    let blocks: Vec<&str> = blocks.filter(|text| parse_block(text).is_ok()).collect();
    assert!(blocks.len() > 40, "only {} blocks are found", blocks.len());
    blocks
});

/// Numbers of processes, threads and blocks are small, so that they meet.
const FEW: u32 = 4;

#[derive(Clone, Debug)]
enum Entry {
    Process { process: u32, forked_from: Option<u32> },
    Thread { thread: u32, process: u32, cloned_from: Option<u32> },
    ThreadEnded(u32),
    ProcessEnded(u32),
    Module { process: u32, module: Module },
    Unmapped { process: u32, start: u64, end: u64 },
    Overwritten { process: u32, start: u64, end: u64 },
    Moved { process: u32, start: u64, end: u64, to: u64 },
    Block { process: u32, number: u32, block: Written },
    OutputFunction(u32, String),
    Asked { thread: u32, of: OutputArg },
    Records { thread: u32, records: Vec<Record>, cut: Option<Index> },
}

/// A block that is shown as text.
#[derive(Clone)]
struct Written(Block);

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[derive(Clone, Debug)]
enum Record {
    /// Of a block that was announced, filled with these words over and over.
    Of {
        block: Index,
        words: Vec<u64>,
    },
    Whole(Vec<u8>),
}

#[derive(Clone, Debug)]
pub struct Log {
    entries: Vec<Entry>,
}

impl Log {
    /// Feeds it all. The words of records differ a little from round to round.
    pub fn feed(&self, analysis: &mut Analysis, round: u64) {
        let mut lengths: Vec<(u32, usize)> = Vec::new();
        for entry in &self.entries {
            let event = match entry.clone() {
                Entry::Process { process, forked_from } => Event::Process { process, forked_from },
                Entry::Thread { thread, process, cloned_from } => Event::Thread { thread, process, cloned_from },
                Entry::ThreadEnded(thread) => Event::ThreadEnded(thread),
                Entry::ProcessEnded(process) => Event::ProcessEnded(process),
                Entry::Module { process, module } => Event::Module { process, module },
                Entry::Unmapped { process, start, end } => Event::Unmapped { process, start, end },
                Entry::Overwritten { process, start, end } => Event::Overwritten { process, start, end },
                Entry::Moved { process, start, end, to } => Event::Moved { process, start, end, to },
                Entry::OutputFunction(number, name) => Event::OutputFunction(number, name),
                Entry::Asked { thread, of } => Event::Asked { thread, of, answer: mpsc::channel().0 },
                Entry::Block { process, number, block: Written(block) } => {
                    lengths.retain(|(other, _)| *other != number);
                    lengths.push((number, block.record as usize));
                    Event::Block { process, number, block }
                }
                Entry::Records { thread, records, cut } => {
                    // What cannot be read costs the rest of its chunk: mostly each record is one.
                    let records: Vec<Vec<u8>> = records.iter().map(|record| record.bytes(&lengths, round)).collect();
                    let chunks = match cut {
                        Some(cut) => {
                            let mut bytes = records.concat();
                            bytes.truncate(cut.index(bytes.len().max(1)));
                            vec![bytes]
                        }
                        None => records,
                    };
                    for bytes in &chunks {
                        analysis.event(Event::Records { thread, bytes });
                    }
                    continue;
                }
            };
            analysis.event(event);
        }
    }

    /// Places that something may be known of: statements, and where outputs return to.
    pub fn places(&self) -> usize {
        let of = |entry: &Entry| match entry {
            Entry::Block { block: Written(block), .. } => block.stmts.len(),
            Entry::Records { records, .. } => records.len() * MAX_ARGS,
            _ => 1,
        };
        self.entries.iter().map(of).sum()
    }

    /// Statements that are executed, about.
    pub fn steps(&self) -> usize {
        let most = self
            .entries
            .iter()
            .map(|entry| if let Entry::Block { block: Written(block), .. } = entry { block.stmts.len() } else { 1 });
        let records =
            self.entries.iter().map(|entry| if let Entry::Records { records, .. } = entry { records.len() } else { 1 });
        most.max().unwrap_or(1) * records.sum::<usize>()
    }

    /// No more than so many bytes of records.
    pub fn bytes(&self) -> u64 {
        let of = |entry: &Entry| if let Entry::Records { records, .. } = entry { records.len() << 16 } else { 0 };
        self.entries.iter().map(of).sum::<usize>() as u64
    }
}

impl Record {
    fn bytes(&self, lengths: &[(u32, usize)], round: u64) -> Vec<u8> {
        let (block, words) = match self {
            Record::Whole(bytes) => return bytes.clone(),
            Record::Of { .. } if lengths.is_empty() => return Vec::new(),
            Record::Of { block, words } => (block, words),
        };
        let (number, length) = lengths[block.index(lengths.len())];
        let header = [number, 0].map(u32::to_le_bytes).concat();
        // A little more in floats, and addresses on the next page.
        let words = words.iter().cycle().map(|word| word.wrapping_add(round.wrapping_mul(0x1008)).to_le_bytes());
        header.into_iter().chain(words.flatten()).take(length).collect()
    }
}

/// Mostly of those that there are from the beginning.
fn few() -> impl Strategy<Value = u32> {
    prop_oneof![30 => 0u32..2, 10 => 0..FEW, 1 => any::<u32>()]
}

/// Addresses that meet, and absurd ones.
fn address() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => (0u64..0x3000).prop_map(|offset| 0x40_0000 + offset),
        1 => any::<u64>(),
        1 => (0u64..64).prop_map(|below| u64::MAX - below),
        1 => 0u64..64,
    ]
}

/// Bits that matter: addresses, lengths, and floats of all kinds.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => address(),
        3 => any::<f64>().prop_map(f64::to_bits),
        3 => (-4i32..4).prop_map(|i| f64::from(i).to_bits()),
        2 => (-50i32..50).prop_map(|i| (10f64.powi(i) / 3.0).to_bits()),
        1 => [any::<f32>(), any::<f32>()].prop_map(|[a, b]| u64::from(a.to_bits()) << 32 | u64::from(b.to_bits())),
        1 => any::<u64>(),
    ]
}

/// As it was written, with words of it exchanged for words of others, or random; also such as the verifier would refuse.
fn block() -> impl Strategy<Value = Block> {
    let written = any::<Index>().prop_map(|which| parse_block(TEXTS[which.index(TEXTS.len())]).expect("it was parsed"));
    let exchanged = prop::collection::vec(any::<(Index, Index)>(), 1..4);
    let mutated = (any::<[Index; 2]>(), exchanged).prop_map(|(which, exchanged)| {
        let [text, other] = which.map(|which| TEXTS[which.index(TEXTS.len())]);
        let mut words: Vec<&str> = text.split_inclusive(' ').collect();
        let others: Vec<&str> = other.split_inclusive(' ').collect();
        for (at, from) in exchanged {
            let at = at.index(words.len());
            words[at] = others[from.index(others.len())];
        }
        // If it is no block any more, it is what it was.
        parse_block(&words.concat()).unwrap_or_else(|_| parse_block(text).expect("it was parsed"))
    });
    let random = crate::blocks::blocks().prop_map(assign_slots);
    let twisted = (written.clone(), any::<Index>(), any::<u16>()).prop_map(|(mut block, which, by)| {
        // Statements that follow one another otherwise, or a record of another length.
        let at = which.index(block.stmts.len().max(1));
        match by % 4 {
            0 => block.record = by,
            1 => block.stmts.rotate_left(at),
            2 => block.stmts.truncate(at),
            _ => block.instrs.truncate(at % 4),
        }
        block
    });
    prop_oneof![4 => written, 2 => mutated, 4 => random, 1 => twisted]
}

/// Floats in one record of an output.
const MAX_ARGS: usize = 4;

fn output_arg() -> impl Strategy<Value = OutputArg> {
    let ty = prop_oneof![Just(Type::F32), Just(Type::F64), Just(Type::F80), Just(Type::F128)];
    let origin = prop_oneof![(0u8..40).prop_map(Origin::Register), address().prop_map(Origin::Memory)];
    (ty, word(), word(), origin, 0u32..3, "%[.0-9]{0,9}[a-z]?").prop_map(
        |(ty, low, high, origin, argument, conversion)| {
            let bits = u128::from(high) << 64 | u128::from(low);
            let bits = bits & (u128::MAX >> (128 - 8 * ty.bytes()));
            OutputArg { ty, bits, origin, argument, conversion: Conversion::new(&conversion) }
        },
    )
}

fn record() -> impl Strategy<Value = Record> {
    let of =
        (any::<Index>(), prop::collection::vec(word(), 1..12)).prop_map(|(block, words)| Record::Of { block, words });
    let output = || {
        (address(), 0u32..3, prop::collection::vec(output_arg(), 0..MAX_ARGS))
            .prop_map(|(pc, function, args)| Output { pc, function, args }.encode())
    };
    let bytes = || {
        (address(), 0u32..3, address(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..200))
            .prop_map(|(pc, function, address, offset, bytes)| Bytes { pc, function, address, offset, bytes }.encode())
    };
    let flipped = (prop_oneof![output(), bytes()], any::<Index>(), any::<u8>()).prop_map(|(mut record, at, value)| {
        let at = at.index(record.len());
        record[at] = value;
        record
    });
    let garbage = prop::collection::vec(any::<u8>(), 0..64);
    let whole = prop_oneof![10 => output(), 10 => bytes(), 6 => Just(log::gap().to_vec()), 1 => flipped, 1 => garbage];
    prop_oneof![12 => of, 2 => whole.prop_map(Record::Whole)]
}

fn entry() -> impl Strategy<Value = Entry> {
    let range = || {
        (address(), prop_oneof![0u64..0x2000, any::<u64>()])
            .prop_map(|(start, length)| (start, start.wrapping_add(length)))
    };
    let maker = || prop::option::of(few());
    let path = prop_oneof![Just("/bin/a"), Just("/lib/b.so"), Just("")];
    prop_oneof![
        2 => (few(), maker()).prop_map(|(process, forked_from)| Entry::Process { process, forked_from }),
        2 => (few(), few(), maker()).prop_map(|(thread, process, cloned_from)| Entry::Thread { thread, process, cloned_from }),
        1 => (1..FEW).prop_map(Entry::ThreadEnded),
        1 => prop_oneof![9 => 1..FEW, 1 => Just(0)].prop_map(Entry::ProcessEnded),
        2 => (few(), path, range(), address()).prop_map(|(process, path, (start, end), bias)| {
            Entry::Module { process, module: Module { path: path.into(), start, end, bias } }
        }),
        1 => (few(), range()).prop_map(|(process, (start, end))| Entry::Unmapped { process, start, end }),
        1 => (few(), range()).prop_map(|(process, (start, end))| Entry::Overwritten { process, start, end }),
        1 => (few(), range(), address()).prop_map(|(process, (start, end), to)| Entry::Moved { process, start, end, to }),
        8 => (few(), prop_oneof![30 => 1u32..20, 1 => Just(log::OUTPUT), 1 => Just(log::GAP), 1 => any::<u32>()], block())
            .prop_map(|(process, number, block)| Entry::Block { process, number, block: Written(block) }),
        1 => (0u32..3, "[a-z]{0,8}").prop_map(|(number, name)| Entry::OutputFunction(number, name)),
        1 => (few(), output_arg()).prop_map(|(thread, of)| Entry::Asked { thread, of }),
        20 => (few(), prop::collection::vec(record(), 1..40), prop::option::weighted(0.1, any::<Index>()))
            .prop_map(|(thread, records, cut)| Entry::Records { thread, records, cut }),
    ]
}

/// Of so many entries at most, after those that let one thread begin.
pub fn log(most: usize) -> impl Strategy<Value = Log> {
    prop::collection::vec(entry(), 1..most).prop_map(|others| {
        // One may end the process: the next round begins it again.
        let begin = [
            Entry::Process { process: 0, forked_from: None },
            Entry::Thread { thread: 0, process: 0, cloned_from: None },
            Entry::Thread { thread: 1, process: 0, cloned_from: Some(0) },
        ];
        Log { entries: begin.into_iter().chain(others).collect() }
    })
}
