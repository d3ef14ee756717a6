//! Random sequences.

use super::excluded::{excluded, needs_a_package};
use super::knowledge::{Knowledge, RSP};
use super::layout::{ARENA, STACK_TOP};
use super::pieces::{Item, Label, Piece, Sequence};
use super::random::Random;
use iced_x86::{Code, EncodingKind, InstructionInfoFactory, OpCodeOperandKind};

/// Items of a sequence, at most.
const ITEMS: usize = 24;
/// In some, to have blocks that are cut because they are long.
const MANY_ITEMS: usize = 150;

/// Encodings, in groups that get equal shares. Each is gone through in a random order, so that all come up equally often.
#[derive(Clone)]
pub struct Repertoire {
    groups: Vec<Vec<Code>>,
    next: Vec<usize>,
    pub privileged: Vec<Code>,
}

impl Repertoire {
    pub fn new(codes: &[Code], privileged: &[Code], random: &mut Random) -> Repertoire {
        let mut groups = vec![Vec::new(); 4];
        for &code in codes {
            groups[group(code)].push(code);
        }
        groups.retain(|group| !group.is_empty());
        for group in &mut groups {
            for n in (1..group.len()).rev() {
                group.swap(n, random.below(n + 1));
            }
        }
        Repertoire { next: vec![0; groups.len()], groups, privileged: privileged.to_vec() }
    }

    fn next(&mut self, random: &mut Random) -> Code {
        // Integers twice as often as the others.
        let group = random.below(self.groups.len() + 1).saturating_sub(1);
        self.next[group] += 1;
        self.groups[group][self.next[group] % self.groups[group].len()]
    }
}

/// Integers; x87 and MMX; SSE; what is encoded with VEX, EVEX or XOP.
fn group(code: Code) -> usize {
    let info = code.op_code();
    let has = |kinds: &[OpCodeOperandKind]| info.op_kinds().iter().any(|kind| kinds.contains(kind));
    match () {
        _ if info.encoding() != EncodingKind::Legacy => 3,
        _ if has(&[OpCodeOperandKind::xmm_reg, OpCodeOperandKind::xmm_rm, OpCodeOperandKind::xmm_or_mem]) => 2,
        _ if code.cpuid_features().iter().any(|feature| format!("{feature:?}").starts_with("FPU"))
            || has(&[OpCodeOperandKind::mm_reg, OpCodeOperandKind::mm_rm, OpCodeOperandKind::mm_or_mem]) =>
        {
            1
        }
        _ => 0,
    }
}

/// The encodings that a program may contain anywhere, if the CPU has them.
pub fn candidates() -> impl Iterator<Item = Code> {
    Code::values().filter(|code| excluded(*code).is_none() && !needs_a_package(*code))
}

pub struct Generator<'a> {
    pub random: &'a mut Random,
    pub infos: InstructionInfoFactory,
    pub repertoire: &'a mut Repertoire,
    pub knowledge: Knowledge,
    /// Where the code will be, more or less.
    pub code: u64,
    /// All addresses are to be aligned, because the flag that asks for it is set.
    pub aligned: bool,
    pub rdfsbase: bool,
    /// Registers that the instruction being made needs as they are, and those that code around it does.
    pub reserved: u16,
    pub held: u16,
    pub labels: usize,
    /// Items may leave the stack pointer elsewhere.
    pub free_stack: bool,
}

impl<'a> Generator<'a> {
    pub fn new(random: &'a mut Random, repertoire: &'a mut Repertoire, code: u64, rdfsbase: bool) -> Generator<'a> {
        Generator {
            random,
            infos: InstructionInfoFactory::new(),
            repertoire,
            knowledge: Knowledge::new([None; 16]),
            code,
            aligned: false,
            rdfsbase,
            reserved: 0,
            held: 0,
            labels: 0,
            free_stack: true,
        }
    }

    /// A sequence, and the registers that have to hold given values at its start.
    pub fn sequence(&mut self) -> (Sequence, Knowledge) {
        self.aligned = self.random.below(8) == 0;
        // Few stacks are not aligned, but they work.
        let skew = if !self.aligned && self.random.below(10) == 0 { self.random.below(8) as u64 } else { 0 };
        let mut values = [None; 16];
        for (number, value) in values.iter_mut().enumerate() {
            *value = match self.random.below(4) {
                _ if number == RSP => Some(STACK_TOP + skew),
                0 => Some(ARENA + self.random.below(4096) as u64),
                1 => Some(self.random.below(256) as u64),
                _ => None,
            };
        }
        self.knowledge = Knowledge::new(values);
        let start = self.knowledge.clone();
        let most = if self.random.below(20) == 0 { MANY_ITEMS } else { ITEMS };
        let count = 1 + self.random.below(most);
        let faults = (self.random.below(20) == 0).then(|| self.random.below(count));
        let mut items = Vec::new();
        for n in 0..count {
            items.push(self.item());
            if faults == Some(n) {
                items.push(self.fault());
            }
        }
        (Sequence { items, aligned: self.aligned }, start)
    }

    /// One instruction with what it needs, as a sequence.
    pub fn lone(&mut self, code: Code) -> Option<Sequence> {
        self.aligned = false;
        self.knowledge = Knowledge::new([None; 16]);
        self.knowledge.values[RSP] = Some(STACK_TOP);
        // Most operands that do not fit together find others that do.
        let pieces = (0..50).find_map(|_| self.instruction(code))?;
        let items = vec![Item { pieces, outside: Vec::new() }];
        Some(Sequence { items, aligned: false })
    }

    fn item(&mut self) -> Item {
        match self.random.below(10) {
            0 | 1 => self.control(),
            2 => Item { pieces: self.package(), outside: Vec::new() },
            _ => Item { pieces: self.plain(), outside: Vec::new() },
        }
    }

    /// An instruction out of the repertoire that leaves the registers that are held alone.
    pub fn plain(&mut self) -> Vec<Piece> {
        loop {
            let code = self.repertoire.next(self.random);
            let before = self.knowledge.clone();
            let Some(pieces) = self.instruction(code) else { continue };
            let changed = |n: usize| self.held >> n & 1 == 1 && self.knowledge.values[n] != before.values[n];
            let moved = self.knowledge.values[RSP] != before.values[RSP] && (!self.free_stack || self.aligned);
            if !moved && !(0..16).any(changed) && !self.writes_held(&pieces) {
                return pieces;
            }
            self.knowledge = before;
        }
    }

    /// Held registers need not be known.
    fn writes_held(&mut self, pieces: &[Piece]) -> bool {
        pieces.iter().any(|piece| {
            let (Piece::Instr(instr) | Piece::Prefixed(_, instr)) = piece else { return false };
            let mut all = Knowledge::new([Some(0); 16]);
            all.values[RSP] = None;
            all.execute(instr, &mut self.infos);
            (0..16).any(|n| self.held >> n & 1 == 1 && all.values[n].is_none())
        })
    }

    /// A few instructions that leave the stack as it is.
    pub fn body(&mut self, most: usize) -> Vec<Piece> {
        let free_stack = std::mem::replace(&mut self.free_stack, false);
        let count = 1 + self.random.below(most);
        let pieces = (0..count).flat_map(|_| self.plain()).collect();
        self.free_stack = free_stack;
        pieces
    }

    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }
}
