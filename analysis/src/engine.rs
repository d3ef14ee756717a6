//! Runs a block's shadow program on one record.

use crate::bitwise;
use crate::consume::Books;
use crate::error;
use crate::lanes::{Address, Compare, Granule, Input, Instr, Lane, Number, Plain, Sum, Word};
use crate::plain;
use crate::program::Program;
use crate::real::Real;
use crate::run::{Applied, Running, apply};
use crate::shadow::{GRANULES, Part, Value};
use crate::trace::{Args, Nodes};
use fpgrind_ir::{GRANULE, Operator, Type};

/// Has the CPU what the engine is compiled for, beside what all have?
pub fn has_fma() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
}

/// The bytes at a slot, zeros where the record has fewer. The verifier has seen that it has not.
#[inline(always)]
pub fn logged<const N: usize>(record: &[u8], slot: usize) -> [u8; N] {
    record.get(slot..slot + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
}

/// The bytes of a value from a granule on, eight if it has as many.
#[inline(always)]
fn window(record: &[u8], input: &Input, granule: usize) -> u64 {
    let slot = input.slot as usize + GRANULE * granule;
    match input.bytes as usize - GRANULE * granule {
        8.. => u64::from_le_bytes(logged(record, slot)),
        _ => u32::from_le_bytes(logged(record, slot)) as u64,
    }
}

#[inline(always)]
fn word(word: Word, record: &[u8], lanes: &[Lane]) -> u64 {
    match word {
        Word::None => 0,
        Word::Logged(slot) => u64::from_le_bytes(logged(record, slot as usize)),
        Word::LoggedShort(slot) => u32::from_le_bytes(logged(record, slot as usize)) as u64,
        Word::Lane(lane) => lanes[lane as usize].bits,
        Word::LaneShort(lane) => lanes[lane as usize].bits as u32 as u64,
    }
}

#[inline(always)]
fn address(addr: &Address, record: &[u8], lanes: &[Lane]) -> u64 {
    match addr {
        Address::Logged(slot, disp) => u64::from_le_bytes(logged(record, *slot as usize)).wrapping_add(*disp),
        Address::Sum(sum) => address_of(sum, record, lanes),
    }
}

fn address_of(sum: &Sum, record: &[u8], lanes: &[Lane]) -> u64 {
    let index = word(sum.index, record, lanes);
    let index = if sum.narrow { index as i32 as u64 } else { index };
    word(sum.segment, record, lanes)
        .wrapping_add(word(sum.base, record, lanes))
        .wrapping_add(index.wrapping_mul(sum.scale))
        .wrapping_add(sum.disp)
}

/// The part if it is about these bytes, of which there are so many, and no longer than they are. Says whether it is out of date.
#[inline(always)]
fn accept<R>(part: Part, bits: u64, room: usize, nodes: &Nodes<R>) -> (Part, bool) {
    match part {
        Part::None => (Part::None, false),
        Part::Shadow(node) => {
            let bytes = nodes[node].ty.bytes();
            match () {
                // Torn, not stale.
                () if bytes > room && bytes <= 8 => (Part::None, false),
                () if nodes.of(node).begins_with(bits, bytes.min(room)) => (part, false),
                () => (Part::None, true),
            }
        }
        Part::Constant(constant) if constant == bits as u32 => (part, false),
        Part::Constant(_) => (Part::None, true),
        Part::Halves(_) => accept_halves(part, bits, room, nodes),
    }
}

#[cold]
fn accept_halves<R>(part: Part, bits: u64, room: usize, nodes: &Nodes<R>) -> (Part, bool) {
    let mut value = Value::plain(bits as u128);
    let all = value.accept(0, if room < 8 { Type::B32 } else { Type::B64 }, part, nodes);
    (value.parts[0], !all)
}

impl<R: Real> Running<'_, R> {
    pub fn run(&mut self, program: &Program, record: &[u8]) {
        if self.books.has_fma {
            // SAFETY: the CPU has what the function asks for.
            unsafe { self.run_with_fma(program, record) };
        } else {
            self.run_anywhere(program, record);
        }
    }

    #[target_feature(enable = "avx,avx2,fma,bmi1,bmi2")]
    fn run_with_fma(&mut self, program: &Program, record: &[u8]) {
        self.run_anywhere(program, record);
    }

    #[inline(always)]
    fn run_anywhere(&mut self, program: &Program, record: &[u8]) {
        self.books.make_room(program);
        // Steps have the rest of the books.
        let mut lanes = std::mem::take(&mut self.books.lanes);
        for instr in &program.lanes.instrs {
            self.execute(instr, program, record, &mut lanes);
        }
        self.books.lanes = lanes;
    }

    /// Some of the instructions, for compiled code. Most are operations, to which this is the short way.
    #[target_feature(enable = "avx,avx2,fma,bmi1,bmi2")]
    pub fn run_some_with_fma(&mut self, instrs: &[Instr], program: &Program, record: &[u8], lanes: &mut [Lane]) {
        for instr in instrs {
            match instr {
                Instr::Doubles(plain) => self.plain::<f64>(plain, lanes),
                _ => self.execute_with_fma(instr, program, record, lanes),
            }
        }
    }

    #[inline(always)]
    fn execute(&mut self, instr: &Instr, program: &Program, record: &[u8], lanes: &mut [Lane]) {
        match instr {
            Instr::Doubles(plain) => self.plain::<f64>(plain, lanes),
            Instr::Singles(plain) => self.plain::<f32>(plain, lanes),
            Instr::Logic(logic) => {
                if self.sign_of_double(logic, lanes) {
                    return;
                }
                let Books { operations, totals, .. } = &mut *self.books;
                let args = logic.args.each_ref().map(|granules| assemble(granules, lanes, &operations.nodes));
                let (mode, lost) = (self.thread.mode, &mut totals.lost_shadows);
                let mut changes = bitwise::Changes { operations, at: logic.at, mode, lost };
                let value = bitwise::apply(logic.op, Type::B64, args.each_ref(), &mut changes);
                take_apart(&value, logic.wanted, &mut lanes[logic.to as usize..]);
            }
            Instr::Compare(compare) => {
                if !self.compare_leaves(compare, lanes) {
                    let nodes = &self.books.operations.nodes;
                    let terms = compare.args.map(|lane| plain::term(&lanes[lane as usize], compare.ty, nodes));
                    self.branch(compare.spot, compare.cond, compare.ty, terms);
                }
            }
            Instr::Double(lane) => lanes[*lane as usize].prepare::<f64, R>(&self.books.operations.nodes),
            Instr::Single(lane) => lanes[*lane as usize].prepare::<f32, R>(&self.books.operations.nodes),
            Instr::LoadDouble(addr, input) => {
                let address = address(addr, record, lanes);
                self.load_double(address, input, record, lanes);
            }
            Instr::Load(addr, input) => {
                let address = address(addr, record, lanes);
                self.load(address, input, record, lanes);
            }
            Instr::LiveDouble(first, input) => self.live_double(*first, input, record, lanes),
            Instr::Live(first, input) => self.live(*first, input, record, lanes),
            Instr::Fresh(input) => {
                for granule in wanted(input.wanted) {
                    let bits = window(record, input, granule);
                    lanes[input.to as usize + granule].set(bits, Part::None, false);
                }
            }
            Instr::Const { bits, wide, to } => {
                lanes[*to as usize].set(*bits, Part::Constant(*bits as u32), *wide);
            }
            Instr::Copy(from, to) => {
                let Lane { bits, part, wide, .. } = lanes[*from as usize];
                lanes[*to as usize].set(bits, part, wide);
            }
            Instr::Join(granules, to) => join(granules, *to, lanes, &self.books.operations.nodes),
            Instr::Put { first, from } => {
                let parts = self.thread.registers.parts();
                for (part, lane) in parts[*first..].iter_mut().zip(from) {
                    *part = lanes[*lane as usize].part;
                }
            }
            Instr::Drop { first, count } => {
                self.thread.registers.parts()[*first..first + count].fill(Part::None);
            }
            Instr::Store { addr, ty, from } => {
                let address = address(addr, record, lanes);
                let part = |granule: usize| lanes[from[granule] as usize].part;
                let parts = [part(0), part(1), part(2), part(3)];
                let nodes = &self.books.operations.nodes;
                if !self.process.memory.store_within_page(address, *ty, &parts, nodes) {
                    self.process.memory.store(address, *ty, &Value { bits: 0, parts }, nodes);
                }
            }
            Instr::StoreDouble { addr, from } => {
                let address = address(addr, record, lanes);
                let part = lanes[*from as usize].part;
                if !self.process.memory.store_double(address, part) {
                    let parts = [part, Part::None, Part::None, Part::None];
                    let nodes = &self.books.operations.nodes;
                    self.process.memory.store(address, Type::F64, &Value { bits: 0, parts }, nodes);
                }
            }
            Instr::Assemble(value, granules) => {
                let nodes = &self.books.operations.nodes;
                self.books.frame.values[*value] = assemble(granules, lanes, nodes);
            }
            Instr::Step(index) => self.step_if_due(*index, &program.steps[*index], record),
            Instr::Enter(entry) => self.enter(entry, record),
            Instr::Leave(result) => self.leave(result, record),
            Instr::TakeApart { value, wanted: mask, to } => {
                take_apart(&self.books.frame.values[*value], *mask, &mut lanes[*to as usize..]);
            }
        }
    }

    /// The same, for compiled code.
    pub fn execute_with_fma(&mut self, instr: &Instr, program: &Program, record: &[u8], lanes: &mut [Lane]) {
        #[target_feature(enable = "avx,avx2,fma,bmi1,bmi2")]
        fn doubles<R: Real>(running: &mut Running<'_, R>, plain: &Plain, lanes: &mut [Lane]) {
            running.plain::<f64>(plain, lanes);
        }
        #[target_feature(enable = "avx,avx2,fma,bmi1,bmi2")]
        fn singles<R: Real>(running: &mut Running<'_, R>, plain: &Plain, lanes: &mut [Lane]) {
            running.plain::<f32>(plain, lanes);
        }
        #[target_feature(enable = "avx,avx2,fma,bmi1,bmi2")]
        fn execute<R: Real>(
            running: &mut Running<'_, R>,
            instr: &Instr,
            program: &Program,
            record: &[u8],
            lanes: &mut [Lane],
        ) {
            running.execute(instr, program, record, lanes);
        }
        // SAFETY: there is no compiled code where the CPU does not have it.
        unsafe {
            match instr {
                // Most come here because they lose digits.
                Instr::Doubles(plain) => doubles(self, plain, lanes),
                Instr::Singles(plain) => singles(self, plain, lanes),
                _ => execute(self, instr, program, record, lanes),
            }
        }
    }

    #[inline(always)]
    fn plain<F: plain::Plain>(&mut self, plain: &Plain, lanes: &mut [Lane]) {
        let operations = &mut self.books.operations;
        let (mode, [a, b, c]) = (self.thread.mode, plain.args.map(Some));
        // Each has code of its own.
        let is_done = match plain.operator {
            _ if !mode.is_plain() => false,
            Operator::Add => operations.plain::<F>(Operator::Add, lanes, [a, b, None], plain, mode),
            Operator::Sub => operations.plain::<F>(Operator::Sub, lanes, [a, b, None], plain, mode),
            Operator::Mul => operations.plain::<F>(Operator::Mul, lanes, [a, b, None], plain, mode),
            Operator::Div => operations.plain::<F>(Operator::Div, lanes, [a, b, None], plain, mode),
            Operator::Fma => operations.plain::<F>(Operator::Fma, lanes, [a, b, c], plain, mode),
            _ => operations.plain::<F>(Operator::Sqrt, lanes, [a, None, None], plain, mode),
        };
        if !is_done {
            self.out_of_the_ordinary::<F>(plain, lanes);
        }
    }

    #[cold]
    fn out_of_the_ordinary<F: plain::Plain>(&mut self, plain: &Plain, lanes: &mut [Lane]) {
        let (&Plain { operator, at, site, .. }, ty) = (plain, F::TARGET.ty);
        let operations = &mut self.books.operations;
        let args = plain.args.iter().take(operator.arity());
        let args: Args = args.map(|lane| plain::term(&lanes[*lane as usize], ty, &operations.nodes)).collect();
        let applied = Applied { operator, from: ty, ty, at, site: Some(site) };
        let value = apply(operations, applied, args, None, self.thread.mode);
        let lane = &mut lanes[plain.to as usize];
        lane.set(value.bits as u64, value.parts[0], false);
        lane.prepare::<F, R>(&self.books.operations.nodes);
    }

    /// If neither float has a history, there is nothing to it but that it is counted.
    #[inline(always)]
    fn compare_leaves(&mut self, compare: &Compare, lanes: &[Lane]) -> bool {
        let [a, b] = compare.args.map(|lane| &lanes[lane as usize]);
        let is_node = |lane: &Lane| matches!(lane.part, Part::Shadow(_));
        let is_nan = |lane: &Lane| error::is_nan(compare.ty, lane.bits as u128);
        if is_node(a) || is_node(b) || is_nan(a) || is_nan(b) {
            return false;
        }
        self.books.spots.execute(compare.spot);
        true
    }

    /// The common case: a double that is an argument.
    #[inline(always)]
    fn live_double(&mut self, first: usize, input: &Input, record: &[u8], lanes: &mut [Lane]) {
        let bits = u64::from_le_bytes(logged(record, input.slot as usize));
        let nodes = &self.books.operations.nodes;
        let part = self.thread.registers.parts()[first];
        if let Part::Shadow(node) = part
            && nodes.of(node).is_double(bits)
        {
            let lane = &mut lanes[input.to as usize];
            lane.set(bits, part, false);
            return lane.prepare_node(node, nodes);
        }
        self.live(first, input, record, lanes);
        lanes[input.to as usize].prepare::<f64, R>(&self.books.operations.nodes);
    }

    #[inline(always)]
    fn live(&mut self, first: usize, input: &Input, record: &[u8], lanes: &mut [Lane]) {
        let parts = self.thread.registers.parts();
        for granule in wanted(input.wanted) {
            let bits = window(record, input, granule);
            let room = input.bytes as usize - GRANULE * granule;
            let (part, is_stale) = accept(parts[first + granule], bits, room, &self.books.operations.nodes);
            if is_stale {
                parts[first + granule] = part;
                self.books.totals.stale_shadows += 1;
            }
            let wide = is_constant(part) && room >= 8 && parts[first + granule + 1].is_constant((bits >> 32) as u32);
            lanes[input.to as usize + granule].set(bits, part, wide);
        }
    }

    #[inline(always)]
    fn load_double(&mut self, address: u64, input: &Input, record: &[u8], lanes: &mut [Lane]) {
        let bits = u64::from_le_bytes(logged(record, input.slot as usize));
        let nodes = &self.books.operations.nodes;
        let lane = &mut lanes[input.to as usize];
        match self.process.memory.parts_within_page(address, 8) {
            Some([part @ Part::Shadow(node), ..]) if nodes.of(*node).is_double(bits) => {
                lane.set(bits, *part, false);
                lane.prepare_node(*node, nodes);
            }
            Some([Part::None, ..] | []) => {
                lane.set(bits, Part::None, false);
                lane.prepare::<f64, R>(nodes);
            }
            _ => {
                self.load(address, input, record, lanes);
                lanes[input.to as usize].prepare::<f64, R>(&self.books.operations.nodes);
            }
        }
    }

    fn load(&mut self, address: u64, input: &Input, record: &[u8], lanes: &mut [Lane]) {
        let Some(parts) = self.process.memory.parts_within_page(address, input.bytes as usize) else {
            return self.load_anywhere(address, input, record, lanes);
        };
        let mut any_stale = false;
        for granule in wanted(input.wanted) {
            let bits = window(record, input, granule);
            let room = input.bytes as usize - GRANULE * granule;
            let found = parts.get(granule).copied().unwrap_or(Part::None);
            let (part, is_stale) = accept(found, bits, room, &self.books.operations.nodes);
            any_stale |= is_stale;
            let next = parts.get(granule + 1).copied().unwrap_or(Part::None);
            let wide = is_constant(part) && room >= 8 && next.is_constant((bits >> 32) as u32);
            lanes[input.to as usize + granule].set(bits, part, wide);
        }
        if any_stale {
            self.load_anywhere(address, input, record, lanes);
        }
    }

    /// The same at any address, and forgets what is out of date.
    #[cold]
    fn load_anywhere(&mut self, address: u64, input: &Input, record: &[u8], lanes: &mut [Lane]) {
        let slot = input.slot as usize;
        let (ty, bits) = match input.bytes {
            16 => (Type::B128, u128::from_le_bytes(logged(record, slot))),
            8 => (Type::B64, u64::from_le_bytes(logged(record, slot)) as u128),
            _ => (Type::B32, u32::from_le_bytes(logged(record, slot)) as u128),
        };
        let (stale, nodes) = (&mut self.books.totals.stale_shadows, &self.books.operations.nodes);
        let value = self.process.memory.load(address, ty, bits, stale, nodes);
        take_apart(&value, input.wanted, &mut lanes[input.to as usize..]);
    }
}

fn is_constant(part: Part) -> bool {
    matches!(part, Part::Constant(_))
}

/// The bits that are set, in order.
#[inline(always)]
fn wanted(mut mask: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let granule = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (granule < GRANULES).then_some(granule)
    })
}

fn take_apart(value: &Value, mask: u8, lanes: &mut [Lane]) {
    for granule in wanted(mask) {
        let wide = value.parts.get(granule + 1).is_some_and(|part| is_constant(*part));
        lanes[granule].set(value.bits_at(granule) as u64, value.parts[granule], wide);
    }
}

#[inline(always)]
pub fn granule_of<R>(granule: &Granule, lanes: &[Lane], nodes: &Nodes<R>) -> (u32, Part) {
    let lane = &lanes[granule.lane as usize];
    match granule.upper {
        true => ((lane.bits >> 32) as u32, Part::None),
        false if lane.part.fits(granule.room as usize, nodes) => (lane.bits as u32, lane.part),
        false => (lane.bits as u32, Part::None),
    }
}

fn join<R>(granules: &[Granule; 2], to: Number, lanes: &mut [Lane], nodes: &Nodes<R>) {
    let [(low, part), (high, next)] = granules.each_ref().map(|granule| granule_of(granule, lanes, nodes));
    lanes[to as usize].set(low as u64 | (high as u64) << 32, part, is_constant(next));
}

fn assemble<R>(granules: &[Granule], lanes: &[Lane], nodes: &Nodes<R>) -> Value {
    let mut value = Value::plain(0);
    for (number, granule) in granules.iter().enumerate() {
        let (bits, part) = granule_of(granule, lanes, nodes);
        value.bits |= (bits as u128) << (8 * GRANULE * number);
        value.parts[number] = part;
    }
    value
}
