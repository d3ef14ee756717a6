//! Stretches: instructions of a block, one after the other, whose code is written for them.
//!
//! The nodes of a stretch lie next to each other, and there is room for all of them before it begins. So where each result is, and by what number it is
//! called, is known beforehand, and lanes of results need not be filled. The cursor and the count of operations move at the end. What
//! is out of the ordinary is for the engine, which puts its result where it is expected; if it could not, it does the rest of the stretch, too.

use super::arithmetic::{Arithmetic, Assembly, fetch_mask};
use super::encode::{At, FETCH, FETCH_WIDE, Gpr, JOIN, Write, keep_together, near};
use super::routines::{AHEAD, COMPARE, ROOM, decide, write_kind};
use super::*;
use crate::lanes::Lanes;
use crate::site::Tally;
use crate::trace::Handle;
use std::rc::Rc;

/// Operations that one has, at most.
pub const MOST: usize = 32;

/// It stays where it is: code knows the address.
pub struct Stretch {
    pub instrs: Range<usize>,
    /// The instructions that are operations, and their results.
    pub results: Vec<(usize, Number)>,
}

/// Where the next nodes will be, and where what is known of arguments is that are not among them.
const NODES: Gpr = 5;
const LANES: Gpr = 13;
const FACTS: [Gpr; 3] = [8, 9, 1];

impl Stretch {
    /// Can it be in one?
    fn takes<R: Real>(instr: &Instr) -> bool {
        match instr {
            // Reals that are no pairs are for the engine.
            Instr::Doubles(_) | Instr::Singles(_) | Instr::Compare(_) => R::HAS_PAIRS,
            Instr::Double(_) | Instr::Single(_) => true,
            Instr::LoadDouble(..) | Instr::LiveDouble(..) | Instr::Load(..) | Instr::Live(..) => true,
            Instr::Const { .. } | Instr::Fresh(_) | Instr::Put { .. } | Instr::Drop { .. } => true,
            Instr::Store { .. } | Instr::StoreDouble { .. } => true,
            Instr::Copy(..) | Instr::Join(..) | Instr::Logic(_) | Instr::Assemble(..) | Instr::Step(_) => false,
            Instr::Enter(_) | Instr::Leave(_) | Instr::TakeApart { .. } => false,
        }
    }

    /// The one that begins at an instruction; nothing if none does.
    pub fn at<R: Real>(first: usize, instrs: &[Instr]) -> Option<Stretch> {
        let mut stretch = Stretch { instrs: first..first, results: Vec::new() };
        for (number, instr) in instrs.iter().enumerate().skip(first).take_while(|(_, instr)| Stretch::takes::<R>(instr))
        {
            if let Instr::Doubles(plain) | Instr::Singles(plain) = instr {
                if stretch.results.len() == MOST {
                    break;
                }
                stretch.results.push((number, plain.to));
            }
            stretch.instrs.end = number + 1;
        }
        (!stretch.instrs.is_empty()).then_some(stretch)
    }

    /// Operations before an instruction.
    pub fn before(&self, instr: usize) -> usize {
        self.results.partition_point(|(number, _)| *number < instr)
    }

    /// The result that is in a lane before an instruction.
    pub fn result(&self, lane: Number, instr: usize) -> Option<usize> {
        self.results[..self.before(instr)].iter().position(|(_, to)| *to == lane)
    }

    /// What an instruction reads of results, and of lanes that compiled code fills in part.
    fn read_by(&self, number: usize, lanes: &Lanes) -> (Vec<usize>, Vec<Number>) {
        let (mut results, mut unfolds) = (Vec::new(), Vec::new());
        lanes.instrs[number].each_read(|lane| {
            results.extend(self.result(lane, number));
            unfolds.extend(lanes.are_lean[lane as usize].then_some(lane));
        });
        (results, unfolds)
    }

    /// Has the engine do an instruction. Says whether that has done the rest, too.
    pub fn execute<R: Real>(
        &self,
        work: &Work,
        running: &mut Running<'_, R>,
        program: &Program,
        record: &[u8],
        lanes: &mut [Lane],
    ) -> bool {
        let (number, before) = (work.instrs.start, work.before);
        let first = running.books.operations.begin_at(before);
        // What else there is to such a lane is unfolded.
        let fill = |lanes: &mut [Lane], result: usize| {
            let lane = &mut lanes[self.results[result].1 as usize];
            (lane.slot, lane.word) = first.further(result).as_arg();
        };
        for result in &work.reads {
            fill(lanes, *result);
        }
        for lane in &work.unfolds {
            lanes[*lane as usize].unfold(&running.books.operations.nodes);
        }
        running.execute_with_fma(&program.lanes.instrs[number], program, record, lanes);
        let expected = self.results.get(before).filter(|(instr, _)| *instr == number);
        let done = before + expected.is_some() as usize;
        let is_there = expected.is_none_or(|(_, to)| lanes[*to as usize].node() == Some(first.further(before)));
        if is_there && running.books.operations.nodes.next() == first.further(done) {
            running.books.operations.take_back(done);
            return false;
        }
        (0..before).for_each(|result| fill(lanes, result));
        for number in number + 1..self.instrs.end {
            execute_one(number, running, program, record, lanes);
        }
        true
    }
}

/// Has the engine do an instruction outside of stretches.
pub fn execute_one<R: Real>(
    number: usize,
    running: &mut Running<'_, R>,
    program: &Program,
    record: &[u8],
    lanes: &mut [Lane],
) {
    let instr = &program.lanes.instrs[number];
    instr.each_read(|lane| {
        if program.lanes.are_lean[lane as usize] {
            lanes[lane as usize].unfold(&running.books.operations.nodes);
        }
    });
    running.execute_with_fma(instr, program, record, lanes);
}

impl<R: Real> Operations<R> {
    /// So many operations of a stretch have been done that are not counted yet. The first one's node.
    fn begin_at(&mut self, before: usize) -> Handle {
        let first = self.nodes.next();
        self.nodes.cursor += before;
        self.count += before as u64;
        first
    }

    fn take_back(&mut self, done: usize) {
        self.nodes.cursor -= done;
        self.count -= done as u64;
    }
}

impl<R: Real> Compiler<'_, R> {
    pub fn stretch(&mut self, stretch: Stretch) {
        let stretch = Rc::new(stretch);
        let at: *const Stretch = &*stretch;
        let [end] = self.asm.new_labels();
        let count = stretch.results.len();
        if count > 0 {
            let work = self.work(Work { stretch: at, ..self.works_on(stretch.instrs.clone()) });
            let [full, roomy] = self.asm.new_labels();
            dynasm!(self.asm
                ; .arch x64
                ; mov r10, [rbx + field::<R>(offset_of!(Operations<R>, nodes.cursor))]
                ; lea rax, [r10 + count as i32]
                ; cmp rax, [rbx + field::<R>(offset_of!(Operations<R>, nodes.end))]
                ; ja =>full
                ; =>roomy
            );
            self.helped.push(Helped { routine: ROOM, from: full, work, done: end, back: roomy, made: None });
        }
        fetch_mask::<R>(&mut self.asm);
        self.within = Some(stretch.clone());
        let mut next = stretch.instrs.start;
        while next < stretch.instrs.end {
            let number = next;
            self.number = number;
            let grouped = self.group(&stretch, number, end);
            next += grouped.max(1);
            if grouped > 0 {
                continue;
            }
            let instr = &self.program.lanes.instrs[number];
            let work = self.work_in(&stretch, number);
            let [slow, back] = self.asm.new_labels();
            match instr {
                Instr::Doubles(plain) => self.operation(plain, Type::F64, work, slow),
                Instr::Singles(plain) => self.operation(plain, Type::F32, work, slow),
                Instr::Compare(compare) => self.compare(compare, work, slow),
                Instr::LoadDouble(addr, input) => self.load_double(addr, input, work),
                Instr::LiveDouble(first, input) => self.live_double(*first, input, work),
                Instr::Double(lane) => self.ready(*lane, READY, work),
                Instr::Single(lane) => self.ready(*lane, READY_SINGLE, work),
                Instr::Load(addr, input) => self.load(addr, input, slow),
                Instr::Live(first, input) => self.live(*first, input, slow),
                Instr::Const { bits, wide, to } => self.constant(*bits, *wide, *to),
                Instr::Fresh(input) => self.fresh(input),
                Instr::Put { first, from } => self.put(*first, from),
                Instr::Drop { first, count } => self.drop(*first, *count),
                Instr::Store { addr, ty, from } => self.store(addr, *ty, from, slow),
                Instr::StoreDouble { addr, from } => self.store(addr, Type::F64, &[*from, 0], slow),
                _ => self.is_broken = true,
            }
            dynasm!(self.asm; .arch x64; =>back);
            let made = instr.is_operation().then(|| At { register: NODES, distance: node(stretch.before(number)) });
            self.helped.push(Helped { routine: ENGINE, from: slow, work, done: end, back, made });
        }
        if count > 0 {
            self.fill_lanes(&stretch);
            dynasm!(self.asm
                ; .arch x64
                ; add QWORD [rbx + field::<R>(offset_of!(Operations<R>, nodes.cursor))], count as i32
                ; add QWORD [rbx + field::<R>(offset_of!(Operations<R>, count))], count as i32
                ; add rbp, (count * size_of::<Node>()) as i32
            );
        }
        dynasm!(self.asm; .arch x64; =>end);
        self.within = None;
        self.stretches.push(stretch);
    }

    /// What an instruction of it has the engine do if it is out of the ordinary.
    pub fn work_in(&mut self, stretch: &Stretch, number: usize) -> *const Work {
        let (of, site, at): (*const (), _, _) = match &self.program.lanes.instrs[number] {
            Instr::Doubles(plain) | Instr::Singles(plain) => {
                ((&raw const *self.operations.sites.tally(plain.site)).cast(), plain.site as u32, plain.at)
            }
            Instr::Compare(compare) => ((&raw const *self.spots.spots[compare.spot]).cast(), 0, LocationId(0)),
            _ => (null(), 0, LocationId(0)),
        };
        let (before, (reads, unfolds)) = (stretch.before(number), stretch.read_by(number, &self.program.lanes));
        let work = self.works_on(number..number + 1);
        self.work(Work { stretch, before, reads, unfolds, of, site, at, ..work })
    }

    /// Those of results that are wanted behind the stretch.
    fn fill_lanes(&mut self, stretch: &Stretch) {
        let mut wanted = vec![false; self.program.lanes.count];
        let later = &self.program.lanes.instrs[stretch.instrs.end..];
        later.iter().for_each(|instr| instr.each_read(|lane| wanted[lane as usize] = true));
        for (result, (_, to)) in stretch.results.iter().enumerate().filter(|(_, (_, to))| wanted[*to as usize]) {
            self.handle(result);
            dynasm!(self.asm
                ; .arch x64
                ; mov [r13 + lane(*to, LANE_WORD as usize)], rax
                ; lea rax, [rbp + node(result)]
                ; mov [r13 + lane(*to, LANE_FACTS as usize)], rax
                ; mov DWORD [r13 + lane(*to, LANE_WIDE as usize)], ready(Slot::NODE, false)
            );
        }
    }

    /// The number of a result's node into rax.
    pub fn handle(&mut self, result: usize) {
        near!(self.asm; lea rax, [r10 + result as i32 + 1]);
    }

    /// The result that a lane has here, if it is one of this stretch.
    pub fn result(&self, lane: Number) -> Option<usize> {
        self.within.as_ref()?.result(lane, self.number)
    }

    /// And its type.
    pub fn result_of_type(&self, lane: Number) -> Option<(usize, Type)> {
        let result = self.result(lane)?;
        let (instr, _) = self.within.as_ref()?.results[result];
        let is_single = matches!(self.program.lanes.instrs[instr], Instr::Singles(_));
        Some((result, if is_single { Type::F32 } else { Type::F64 }))
    }

    /// Is a lane the result of the operation right before a sum or product? Then what is known of it still is where [`Arithmetic`] has left it.
    fn is_left(&self, lane: Number) -> bool {
        let Some(within) = &self.within else { return false };
        let instrs = &self.program.lanes.instrs;
        let is_simple = |plain: &Plain| matches!(plain.operator, Operator::Add | Operator::Sub | Operator::Mul);
        let takes = |instr: &Instr| matches!(instr, Instr::Doubles(plain) | Instr::Singles(plain) if is_simple(plain));
        let before = self.result(lane).map(|result| within.results[result].0 + 1);
        before == Some(self.number) && takes(&instrs[self.number])
    }

    /// Where what is known of an argument is.
    fn facts(&mut self, number: Number, register: Gpr) -> At {
        match self.result(number) {
            Some(result) => At { register: NODES, distance: node(result) },
            None => {
                let at = At { register: LANES, distance: lane(number, LANE_FACTS as usize) };
                self.asm.general(FETCH_WIDE, register, at);
                At { register, distance: 0 }
            }
        }
    }

    /// Puts the address into the register that it is expected in.
    fn point_to(&mut self, args: &[At]) {
        for (at, register) in args.iter().zip(FACTS).filter(|(at, register)| at.register != *register) {
            dynasm!(self.asm; .arch x64; lea Rq(register), [Rq(at.register) + at.distance]);
        }
    }

    fn operation(&mut self, plain: &Plain, ty: Type, work: *const Work, slow: DynamicLabel) {
        let (operator, arity) = (plain.operator, plain.operator.arity());
        let result = self.within.as_ref().map_or(0, |stretch| stretch.before(self.number));
        let to = node(result);
        let node = At { register: NODES, distance: to };
        let mut args = [At { register: FACTS[0], distance: 0 }; 3];
        let mut natives = args;
        let mut are_left = [false; 3];
        for number in 0..arity {
            let arg = plain.args[number];
            args[number] = self.facts(arg, FACTS[number]);
            natives[number] = self.in_record[arg as usize].filter(|_| ty == Type::F64).unwrap_or(args[number]);
            are_left[number] = self.is_left(arg);
        }
        let is_single = ty == Type::F32;
        Arithmetic { asm: &mut self.asm, args, natives, are_left, is_single, reals: PhantomData::<R> }
            .operation(operator);
        // It must be fine beyond doubt, and under no influence, or there is more to decide.
        let [undecided, decided, counted, due] = self.asm.new_labels();
        dynasm!(self.asm
            ; .arch x64
            ; vucomisd xmm7, xmm8
        );
        keep_together(&mut self.asm, 6);
        dynasm!(self.asm; .arch x64; jbe =>undecided);
        let influences = |at: At| at.further(offset_of!(Facts, influences));
        self.asm.general(FETCH, 0, influences(args[0]));
        for at in &args[1..arity] {
            self.asm.general(JOIN, 0, influences(*at));
        }
        if arity == 1 {
            dynasm!(self.asm; .arch x64; test eax, eax);
        }
        keep_together(&mut self.asm, 6);
        let tally: *const Tally = self.operations.sites.tally(plain.site);
        dynasm!(self.asm
            ; .arch x64
            ; jnz =>undecided
            ; =>decided
        );
        let operations: *const Operations<R> = self.operations;
        let left = tally.addr() as i64 + offset_of!(Tally, left) as i64;
        match i32::try_from(left - operations.addr() as i64 + field::<R>(0) as i64) {
            // They mostly lie near each other.
            Ok(left) => {
                keep_together(&mut self.asm, 14);
                dynasm!(self.asm; .arch x64; dec QWORD [rbx + left]);
            }
            Err(_) => {
                dynasm!(self.asm; .arch x64; mov rcx, QWORD left);
                keep_together(&mut self.asm, 9);
                dynasm!(self.asm; .arch x64; dec QWORD [rcx]);
            }
        }
        dynasm!(self.asm; .arch x64; jle =>due; =>counted);
        // One by one: who wants the first shall not wait for the others.
        self.asm.store(2, node.further(offset_of!(Node, near.native)));
        self.asm.store(6, node.further(offset_of!(Node, near.offset.by)));
        self.asm.store(8, node.further(offset_of!(Node, near.offset.err)));
        near!(self.asm; mov [rbp + to + offset_of!(Node, influences) as i32], eax);
        near!(self.asm; mov DWORD [rbp + to + offset_of!(Node, at) as i32], plain.at.0 as i32);
        self.make_arguments(plain, ty, to);
        dynasm!(self.asm; .arch x64; prefetchw [rbp + to + AHEAD]);
        let later = Undecided { operator, ty, args, result, work, left, undecided, decided, counted, due, slow };
        self.undecided.push(later);
    }

    /// What a node says of its arguments, and of the operation.
    fn make_arguments(&mut self, plain: &Plain, ty: Type, to: i32) {
        let mut slots = [Slot::NONE; INLINE];
        let args = &plain.args[..plain.operator.arity()];
        for (slot, arg) in slots.iter_mut().zip(args) {
            *slot = self.result(*arg).map_or(Slot::NONE, |_| Slot::NODE);
        }
        write_kind(&mut self.asm, plain.operator, ty, slots, to);
        for (number, arg) in args.iter().enumerate() {
            match self.result(*arg) {
                Some(result) => self.handle(result),
                None => {
                    dynasm!(self.asm
                        ; .arch x64
                        ; movzx ecx, BYTE [r13 + lane(*arg, LANE_SLOT as usize)]
                        ; mov rax, [r13 + lane(*arg, LANE_WORD as usize)]
                    );
                    near!(self.asm; mov [rbp + to + (offset_of!(Node, slots) + number) as i32], cl);
                }
            }
            near!(self.asm; mov [rbp + to + (offset_of!(Node, args) + 8 * number) as i32], rax);
        }
    }

    /// Behind the rest: what is to be done for operations that are not simply fine.
    pub fn decide(&mut self) {
        for later in std::mem::take(&mut self.undecided) {
            let Undecided { operator, ty, args, result, work, left, undecided, decided, counted, due, slow } = later;
            dynasm!(self.asm; .arch x64; =>undecided);
            self.point_to(&args[..operator.arity()]);
            dynasm!(self.asm; .arch x64; mov edi, result as i32);
            self.call_routine(decide(operator, ty), work);
            dynasm!(self.asm
                ; .arch x64
                ; jc =>slow
                ; jne =>decided
                ; jmp =>counted
                ; =>due
                // This one is for the engine to count.
                ; mov rcx, QWORD left
                ; inc QWORD [rcx]
                ; jmp =>slow
            );
        }
    }

    fn compare(&mut self, compare: &Compare, work: *const Work, slow: DynamicLabel) {
        let [a, b] = compare.args;
        let args = [self.facts(a, FACTS[0]), self.facts(b, FACTS[1])];
        self.point_to(&args);
        self.call_routine(COMPARE, work);
        dynasm!(self.asm; .arch x64; jc =>slow);
    }
}

/// Where a result's node is, from where the stretch's begin.
fn node(result: usize) -> i32 {
    (result * size_of::<Node>()) as i32
}

/// An operation that may not be simply fine.
pub struct Undecided {
    operator: Operator,
    ty: Type,
    args: [At; 3],
    result: usize,
    work: *const Work,
    /// Where the tally says how far the next look is.
    left: i64,
    undecided: DynamicLabel,
    decided: DynamicLabel,
    counted: DynamicLabel,
    due: DynamicLabel,
    slow: DynamicLabel,
}
