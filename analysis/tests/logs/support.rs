//! Logs written by hand: blocks in the IR's text form, records as lists of fields.

use fpgrind_analysis::log::{Conversion, Event, Origin, Output, OutputArg};
use fpgrind_analysis::{Analysis, Cause, Config, Findings, RealKind, Shadow};
use fpgrind_ir::{Block, GuestInstr, Op, Place, Stmt, Type, parse_block};

/// Where the guest's output call returns to.
pub const PRINT: u64 = 0x500000;

/// The same log analysed with MPFR and with double-doubles, interpreted and compiled: the answers must be the same.
pub struct Analyses([Analysis; 4]);

impl Analyses {
    fn new() -> Analyses {
        let way = |real, compile_after| Analysis::new(Config { real, compile_after, ..Config::default() });
        let [mpfr, auto] = [RealKind::Mpfr, RealKind::Auto];
        Analyses([way(mpfr, None), way(mpfr, Some(0)), way(auto, None), way(auto, Some(0))])
    }

    pub fn event(&mut self, event: Event<'_>) {
        self.0.each_mut().into_iter().for_each(|analysis| analysis.event(event.clone()));
    }

    pub fn operations(&self) -> u64 {
        same(self.0.each_ref().map(|analysis| analysis.operations()))
    }

    pub fn register(&self, thread: u32, place: Place, ty: Type) -> Option<Shadow> {
        same(self.0.each_ref().map(|analysis| analysis.register(thread, place, ty)))
    }

    pub fn memory(&self, process: u32, address: u64, ty: Type) -> Option<Shadow> {
        same(self.0.each_ref().map(|analysis| analysis.memory(process, address, ty)))
    }

    pub fn finish(self) -> Findings {
        let found = self.0.map(Analysis::finish);
        // NaN is not equal to itself, but looks the same.
        same(found.each_ref().map(|findings| format!("{findings:#?}")));
        let [findings, ..] = found;
        findings
    }
}

fn same<T: PartialEq + std::fmt::Debug>([one, others @ ..]: [T; 4]) -> T {
    assert_eq!([&one; 3], others.each_ref());
    one
}

pub struct Log {
    pub analysis: Analyses,
    /// Whose the blocks and the records are that come next: at first the one process's, and its one thread's.
    pub process: u32,
    pub thread: u32,
    blocks: Vec<(usize, Vec<u8>)>,
    /// All that was fed as records so far.
    pub bytes: Vec<u8>,
}

impl Log {
    pub fn new() -> Log {
        let mut analysis = Analyses::new();
        one_thread().into_iter().for_each(|event| analysis.event(event));
        analysis.event(Event::OutputFunction(1, "printf".into()));
        Log { analysis, process: 0, thread: 0, blocks: Vec::new(), bytes: Vec::new() }
    }

    /// Announces a block; its number.
    pub fn block(&mut self, text: &str) -> u32 {
        let block = parse_block(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let block = one_operation_an_instruction(block);
        fpgrind_ir::verify(&block).unwrap_or_else(|error| panic!("{error}\n{text}"));
        self.blocks.push((block.record as usize, Vec::new()));
        let number = self.blocks.len() as u32;
        self.analysis.event(Event::Block { process: self.process, number, block });
        number
    }

    /// Runs a block with these fields in its record: slot and bits.
    pub fn run(&mut self, number: u32, fields: &[(usize, u64)]) {
        let mut record = vec![0; self.blocks[number as usize - 1].0];
        record[..4].copy_from_slice(&number.to_le_bytes());
        for (slot, bits) in fields {
            let end = (slot + 8).min(record.len());
            record[*slot..end].copy_from_slice(&bits.to_le_bytes()[..end - slot]);
        }
        self.records(&record);
    }

    /// Prints the double in xmm0.
    pub fn print(&mut self, value: f64) {
        self.print_at(PRINT, value);
    }

    /// The same by a call that returns to `pc`.
    pub fn print_at(&mut self, pc: u64, value: f64) {
        let (bits, origin) = (value.to_bits() as u128, Origin::Register(0));
        self.print_arg(pc, OutputArg { ty: Type::F64, bits, origin, argument: 0, conversion: Conversion::new("%f") });
    }

    /// Prints the long double at an address.
    pub fn print_long(&mut self, address: u64, bits: u128) {
        let origin = Origin::Memory(address);
        self.print_arg(
            PRINT,
            OutputArg { ty: Type::F80, bits, origin, argument: 0, conversion: Conversion::new("%Lf") },
        );
    }

    fn print_arg(&mut self, pc: u64, arg: OutputArg) {
        self.records(&Output { pc, function: 1, args: vec![arg] }.encode());
    }

    pub fn records(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.analysis.event(Event::Records { thread: self.thread, bytes });
    }

    pub fn finish(self) -> Findings {
        let findings = self.analysis.finish();
        assert_eq!(findings.totals.corrupt_records, 0);
        assert_eq!(findings.check_failures, []);
        findings
    }
}

/// A process 0 begins, with a thread 0.
pub fn one_thread() -> [Event<'static>; 2] {
    [Event::Process { process: 0, forked_from: None }, Event::Thread { thread: 0, process: 0, cloned_from: None }]
}

/// A cause's expression as the user sees it.
pub fn infix(cause: &Cause) -> String {
    let names: Vec<&str> = cause.variables.iter().map(|variable| variable.name.as_str()).collect();
    cause.expr.infix(&names)
}

/// The causes' expressions.
pub fn causes(findings: &Findings) -> Vec<String> {
    findings.causes.iter().map(infix).collect()
}

/// Gives each operation an address of its own, as instructions have. Texts may put several under one instruction for brevity.
fn one_operation_an_instruction(block: Block) -> Block {
    let mut spread = Block { record: block.record, ..Block::default() };
    let mut operations = 0;
    for (at, stmt) in block.stmts.iter().enumerate() {
        let begins = at == 0 || block.stmts[at - 1].instr != stmt.instr;
        let operates = matches!(stmt.op, Op::Apply { .. } | Op::Bitwise { .. });
        operations = if begins { operates as u64 } else { operations + operates as u64 };
        if begins || operates && operations > 1 {
            let pc = block.pc_of(stmt) + 0x10000 * operations.saturating_sub(1);
            spread.instrs.push(GuestInstr { pc, len: 1 });
        }
        let instr = spread.instrs.len() as u16 - 1;
        spread.stmts.push(Stmt { instr, ..stmt.clone() });
    }
    spread
}
