//! A thread at work: runs a block's shadow program on one record, and looks at what the thread prints.

use crate::bitwise;
use crate::consume::Books;
use crate::findings::{CheckFailure, SpotKind};
use crate::format;
use crate::guests::{Process, Thread};
use crate::location::LocationId;
use crate::log::{Bytes, Origin, Output, OutputArg};
use crate::mode::{Mode, Target};
use crate::native;
use crate::operation::{Operations, Request, each};
use crate::program::{Address, Destination, Index, Step};
use crate::real::Real;
use crate::shadow::{Part, Value, mask};
use crate::spots::{Spots, Visit};
use crate::trace::{Args, Nodes, Term};
use fpgrind_ir::{Cond, Operator, Outcome, Rounding, Slot, Type};

pub(crate) struct Running<'a, R> {
    pub thread: &'a mut Thread,
    pub process: &'a mut Process,
    pub books: &'a mut Books<R>,
}

/// The values of a block, by number.
pub struct Frame {
    pub values: Vec<Value>,
}

/// Disagreements kept: each is a bug, and a few show it.
const MAX_CHECK_FAILURES: usize = 100;

impl Frame {
    pub fn new() -> Frame {
        Frame { values: Vec::new() }
    }

    fn term<R>(&self, index: Index, ty: Type, nodes: &Nodes<R>) -> Term {
        self.values[index].term_at(0, ty, nodes)
    }

    fn word(&self, index: Index) -> u64 {
        self.values[index].bits as u64
    }

    fn address(&self, addr: &Address) -> u64 {
        let part = |value: Option<Index>| value.map_or(0, |value| self.word(value));
        let index = addr.index.as_ref().map_or(0, |scaled| {
            let index = self.word(scaled.index);
            let index = if scaled.narrow { index as i32 as u64 } else { index };
            index.wrapping_mul(scaled.scale)
        });
        part(addr.segment).wrapping_add(part(addr.base)).wrapping_add(index).wrapping_add(addr.disp)
    }
}

/// The logged bits at a slot. The verifier has seen that they lie within the record.
fn logged(record: &[u8], slot: Slot, ty: Type) -> u128 {
    let at = slot.0 as usize;
    let mut bytes = [0; 16];
    if let Some(field) = record.get(at..at + ty.bytes()) {
        bytes[..field.len()].copy_from_slice(field);
    }
    u128::from_le_bytes(bytes)
}

impl<R: Real> Running<'_, R> {
    /// Does a step, unless it has a guard that is against it.
    pub fn step_if_due(&mut self, index: Index, step: &Step, record: &[u8]) {
        let mut step = step;
        if let Step::Guarded { mask, test, step: guarded } = step {
            let frame = &mut self.books.frame;
            frame.values[index] = Value::plain(0);
            if !test.holds(frame.word(*mask)) {
                return;
            }
            step = guarded;
        }
        self.step(index, step, record);
    }

    /// A float that is shown, by where it is and its bits.
    pub fn shown(&mut self, arg: &OutputArg) -> Term {
        let Running { thread, process, books } = self;
        let (stale, operations) = (&mut books.totals.stale_shadows, &books.operations);
        let value = match (arg.origin, arg.origin.place()) {
            (Origin::Memory(address), _) => process.memory.load(address, arg.ty, arg.bits, stale, &operations.nodes),
            (_, Some(place)) => thread.registers.live(place, arg.ty, arg.bits, stale, &operations.nodes),
            (_, None) => Value::plain(arg.bits),
        };
        let term = match value.term_at(0, arg.ty, &operations.nodes) {
            Term::Leaf(leaf) => operations.strays.find(arg.ty, arg.bits).map_or(Term::Leaf(leaf), Term::Node),
            node => node,
        };
        books.operations.look_again(term);
        term
    }

    /// The floats that a call of an output function prints.
    pub fn output(&mut self, output: Output) {
        let function = self.books.output_functions.get(&output.function).cloned();
        let function = function.unwrap_or_else(|| "an output function".into());
        let at = self.books.locations.number(self.process.mappings.return_address(output.pc));
        for arg in &output.args {
            let term = self.shown(arg);
            let books = &mut *self.books;
            let (argument, conversion) = (arg.argument, arg.conversion.text());
            let kind = SpotKind::Output { function: function.clone(), argument, conversion };
            let spot = books.spots.number(at, kind);
            leave(spot, term, &mut books.spots, &mut books.operations);
        }
    }

    /// Memory that is written out as it is: the floats in it whose shadows still are those of these bytes.
    pub fn bytes(&mut self, written: &Bytes) {
        let Running { process, books, .. } = self;
        let function = books.output_functions.get(&written.function).cloned();
        let function = function.unwrap_or_else(|| "an output function".into());
        let mut spot = None;
        let mut shadows =
            process.memory.shadows_within(written.address, written.bytes.len() as u64, &books.operations.nodes);
        shadows.sort_unstable_by_key(|(address, _)| *address);
        for (address, handle) in shadows {
            books.operations.look_again(Term::Node(handle));
            let nodes = &books.operations.nodes;
            let node = nodes.of(handle);
            let at = (address - written.address) as usize;
            let mut bits = [0; 16];
            let Some(bytes) = written.bytes.get(at..at + node.ty.bytes()) else { continue };
            bits[..bytes.len()].copy_from_slice(bytes);
            if u128::from_le_bytes(bits) != node.bits() {
                continue;
            }
            let spot = *spot.get_or_insert_with(|| {
                let at = books.locations.number(process.mappings.return_address(written.pc));
                let kind = SpotKind::Output { function: function.clone(), argument: 0, conversion: String::new() };
                books.spots.number(at, kind)
            });
            if leave(spot, Term::Node(handle), &mut books.spots, &mut books.operations) {
                books.spots.spots[spot].offset = Some(written.offset.wrapping_add(at as u64));
            }
        }
    }

    /// Does a step; what it defines becomes the value with this number.
    fn step(&mut self, index: Index, step: &Step, record: &[u8]) {
        let Running { thread, process, books } = self;
        let Books { frame, operations, spots, totals, .. } = &mut **books;
        match step {
            // A guard has been looked at; there is no second one.
            Step::Nothing | Step::Guarded { .. } => {}
            Step::Live { place, ty, slot } => {
                let bits = logged(record, *slot, *ty);
                frame.values[index] =
                    thread.registers.live(*place, *ty, bits, &mut totals.stale_shadows, &operations.nodes);
            }
            Step::Fresh { ty, slot } => frame.values[index] = Value::plain(logged(record, *slot, *ty)),
            Step::Load { addr, ty, slot } => {
                let address = frame.address(addr);
                let bits = logged(record, *slot, *ty);
                frame.values[index] =
                    process.memory.load(address, *ty, bits, &mut totals.stale_shadows, &operations.nodes);
            }
            Step::Const { bits, ty } => frame.values[index] = Value::constant(*bits, *ty),
            Step::Image { turned, slot } => {
                // The control word, the status word and the tags come first.
                let words = logged(record, *slot, Type::B64);
                thread.mode.control = words as u16;
                thread.registers.set_top(top_of(words).wrapping_sub(*turned));
                frame.values[index] = Value::plain(words);
            }
            Step::St { image, slot, index: number, live } => {
                let bits = logged(record, *slot, Type::F80);
                let words = frame.values[*image].bits;
                let number = top_of(words).wrapping_add(*number);
                frame.values[index] = match live {
                    _ if is_empty(words, number) => Value::plain(fpgrind_ir::X87_INDEFINITE),
                    true => thread.registers.x87(number, bits, &mut totals.stale_shadows, &operations.nodes),
                    false => Value::plain(bits),
                };
            }
            Step::Recall { addr, ty, bits } => {
                let bits = frame.values[*bits].bits;
                frame.values[index] = process.memory.recall(frame.address(addr), *ty, bits, &operations.nodes);
            }
            Step::Extract { from, granule, ty } => {
                frame.values[index] = frame.values[*from].extract(*granule, *ty);
            }
            Step::Advance { from, by } => {
                frame.values[index] = Value::plain(frame.word(*from).wrapping_add(*by).into())
            }
            Step::Half { from, granule, upper } => {
                frame.values[index] = frame.values[*from].half(*granule, *upper);
            }
            Step::Concat { parts } => {
                frame.values[index] =
                    Value::concat(parts.iter().map(|(part, ty)| (&frame.values[*part], *ty)), &operations.nodes);
            }
            Step::Bitwise { op, ty, args: [a, b], at } => {
                let lost = &mut totals.lost_shadows;
                let mut changes = bitwise::Changes { operations, at: *at, mode: thread.mode, lost };
                let args = [&frame.values[*a], &frame.values[*b]];
                frame.values[index] = bitwise::apply(*op, *ty, args, &mut changes);
            }
            Step::Pick { control, rule, ty, from } => {
                // The verifier has seen that there are as many as the rule may ask for.
                let picked = from.get(rule.pick(frame.word(*control), from.len()));
                frame.values[index] = match picked {
                    Some(picked) => frame.values[*picked].extract(0, *ty),
                    None => Value::plain(0),
                };
            }
            Step::Among { bits, ty, of } => {
                let bits = frame.values[*bits].bits;
                let same = of.iter().map(|value| &frame.values[*value]).find(|value| value.bits == bits);
                frame.values[index] = same.map_or(Value::plain(bits), |value| value.extract(0, *ty));
            }
            Step::Rescale { bits, of, ty, at } => {
                let (bits, of) = (frame.values[*bits].bits, frame.term(*of, *ty, &operations.nodes));
                let rescaled = operations.rescale(of, bits, *at, thread.mode);
                frame.values[index] = Value::of_term(rescaled, &operations.nodes);
            }
            Step::FromInt { value, bytes, ty } => {
                let value = &frame.values[*value];
                let unused = 64 - 8 * (*bytes).clamp(1, 8) as u32;
                let integer = (value.bits as u64 as i64) << unused >> unused;
                let direction = thread.mode.direction(*ty, *ty);
                let bits = format::from_integer(integer, Target { direction, ..Target::nearest(*ty) });
                frame.values[index] = Value::plain(bits);
            }
            Step::Apply { operator, from, ty, args, rounding, result, at, site, .. } => {
                let rounding = if *operator == Operator::RoundEven { Rounding::Nearest } else { *rounding };
                let mode = thread.mode.with(rounding);
                let args = args.iter().map(|arg| frame.term(*arg, *from, &operations.nodes)).collect();
                let result = result.map(|result| frame.values[result].bits);
                let applied = Applied { operator: *operator, from: *from, ty: *ty, at: *at, site: *site };
                frame.values[index] = apply(operations, applied, args, result, mode);
            }
            Step::Mask { relation, ty, args, spot } => {
                let terms = args.map(|arg| frame.term(arg, *ty, &operations.nodes));
                let holds = self.decide(*spot, *ty, terms, |outcome| relation.holds(outcome));
                let ones = mask(u128::MAX, ty.bytes());
                self.books.frame.values[index] = Value::plain(if holds { ones } else { 0 });
            }
            Step::Branch { cond, ty, args, spot } => {
                let terms = args.map(|arg| frame.term(arg, *ty, &operations.nodes));
                self.branch(*spot, *cond, *ty, terms);
            }
            Step::ToInt { value, ty, rounding, bytes, signed, spot } => {
                let term = frame.term(*value, *ty, &operations.nodes);
                spots.execute(*spot);
                if let Term::Node(node) = term {
                    let node = operations.nodes.of(node);
                    let Mode { mxcsr, .. } = thread.mode;
                    let direction = thread.mode.with(*rounding).direction(*ty, *ty);
                    let native = native::to_integer(*ty, node.bits(), direction, *bytes, *signed, mxcsr);
                    let influences = node.influences;
                    let correct = native::fit(operations.integer_next_to(term, direction), *bytes, *signed);
                    let wrong = native != correct;
                    let visit = Visit { wrong, culprit: term, shown: term, influences };
                    spots.visit(*spot, visit, &mut operations.sets, &operations.nodes);
                }
            }
            Step::Lose { value } => {
                let parts = frame.values[*value].parts.iter();
                let shadows = parts.filter(|part| matches!(part, Part::Shadow(_) | Part::Halves(_)));
                totals.lost_shadows += shadows.count() as u64;
            }
            Step::Escape { value, spot } => {
                for part in frame.values[*value].parts {
                    let Part::Shadow(node) = part else { continue };
                    operations.look_again(Term::Node(node));
                    leave(*spot, Term::Node(node), spots, operations);
                }
            }
            Step::Put { place, ty, value } => {
                thread.registers.put(*place, *ty, &frame.values[*value]);
            }
            Step::Drop { place, bytes } => {
                thread.registers.forget(*place, *bytes);
            }
            Step::Store { addr, ty, value } => {
                process.memory.store(frame.address(addr), *ty, &frame.values[*value], &operations.nodes);
            }
            Step::SetMxcsr { value } => {
                thread.mode.mxcsr = frame.word(*value) as u32;
            }
            Step::SetX87Control { value } => {
                thread.mode.control = frame.word(*value) as u16;
            }
            Step::Turn { by } => {
                thread.registers.turn(*by);
            }
            Step::Save { addr } => {
                process.saved.save(frame.address(addr), &thread.registers);
            }
            Step::Restore { addr } => {
                if let Some(saved) = process.saved.get(frame.address(addr)) {
                    thread.registers.restore(saved);
                }
            }
            Step::Forget { dst, len, unit } => {
                let bytes = frame.word(*len).saturating_mul(*unit as u64);
                process.memory.clear(frame.word(*dst), bytes);
            }
            Step::Copy { dst, src, len, unit } => {
                let bytes = frame.word(*len).saturating_mul(*unit as u64);
                process.memory.copy(frame.word(*dst), frame.word(*src), bytes, &operations.nodes);
            }
            Step::Allocate { at, size, count, old } => {
                let bytes = frame.word(*size).saturating_mul(count.map_or(1, |count| frame.word(count)));
                process.allocate(frame.word(*at), old.map_or(0, |old| frame.word(old)), bytes, &operations.nodes);
            }
            Step::Enter { args, caller } => {
                thread.call.open(frame.word(*caller));
                thread.call.args.extend(args.iter().map(|(arg, ty)| frame.term(*arg, *ty, &operations.nodes)));
            }
            Step::Leave { operator, of, result, ty, to, last } => {
                let native = mask(frame.values[*result].bits, ty.bytes());
                let value = self.result(*operator, of, native, *ty, *last);
                let Books { frame, operations, .. } = &mut *self.books;
                match to {
                    Destination::Register(place) => self.thread.registers.put(*place, *ty, &value),
                    Destination::Memory(addr) => {
                        self.process.memory.store(frame.address(addr), *ty, &value, &operations.nodes)
                    }
                }
                frame.values[*result] = value;
            }
            Step::Check { value, ty, slot, image, at } => {
                let native = logged(record, *slot, *ty);
                let predicted = frame.values[*value].bits;
                // A program that has pushed onto a full stack of the x87, or popped an empty one, has NaNs in it that are not foreseen;
                // an exception that is not masked leaves the result unwritten until it is dealt with. And fsincos pushes nothing if its argument is
                // beyond its range: in an empty register is whatever was there before.
                let is_meaningless = |(image, index): (Index, u8)| {
                    let words = frame.values[image].bits;
                    has_faulted(words) || is_empty(words, top_of(words).wrapping_add(index))
                };
                if image.is_some_and(is_meaningless) {
                    return;
                }
                totals.checks += 1;
                if native != predicted && books.check_failures.len() < MAX_CHECK_FAILURES {
                    let location = books.locations.get(*at);
                    books.check_failures.push(CheckFailure { location, native, predicted });
                }
            }
        }
    }

    /// What a wrapped function computed: the operator on the arguments of the call, or plain bits if it cannot be that.
    #[inline(never)]
    pub fn result(&mut self, operator: Operator, of: &[u8], native: u128, ty: Type, last: bool) -> Value {
        let Running { thread, process, books } = self;
        let call = &mut thread.call;
        let args = of.iter().map(|number| call.arg(*number as usize));
        let args = args.collect::<Option<Args>>().filter(|_| call.is_open);
        if last {
            call.close();
        }
        let Some(args) = args else {
            books.totals.corrupt_records += 1;
            return Value::plain(native);
        };
        let at = books.locations.number(process.mappings.instruction(call.pc));
        if !ty.is_float() {
            self.integer(operator, &args, native, ty, at);
            return Value::plain(native);
        }
        if let ([arg, ..], true) = (&args[..], operator.is_relative()) {
            let moved = match operator {
                _ if books.operations.nodes.ty(*arg) != ty => return Value::plain(native),
                Operator::Nextafter => books.operations.step(*arg, native, at, thread.mode),
                _ => books.operations.rescale(*arg, native, at, thread.mode),
            };
            return Value::of_term(moved, &books.operations.nodes);
        }
        // The function hands on what it was given.
        if let (Operator::Cast, [arg]) = (operator, &args[..])
            && books.operations.nodes.ty(*arg) == ty
            && books.operations.nodes.bits(*arg) == native
        {
            return Value::of_term(*arg, &books.operations.nodes);
        }
        if let Operator::Opaque(_) = operator {
            let result = books.operations.opaque(operator, ty, args, native, at);
            return Value::of_term(result, &books.operations.nodes);
        }
        let request = Request { operator, ty, args, native, at, site: None, mode: thread.mode, called: true };
        let Some(result) = books.operations.call(request) else {
            books.totals.misnamed_calls += 1;
            return Value::plain(native);
        };
        Value::of_term(result, &books.operations.nodes)
    }

    /// A wrapped function has made an integer of floats.
    fn integer(&mut self, operator: Operator, args: &[Term], native: u128, ty: Type, at: LocationId) {
        let Books { operations, spots, .. } = &mut *self.books;
        let spot = spots.number(at, SpotKind::ToInt);
        spots.execute(spot);
        let Some(term @ Term::Node(node)) = args.first().copied() else { return };
        let unused = 128 - 8 * ty.bytes() as u32;
        let native = (native as i128) << unused >> unused;
        // What has no integer gets one that says so: which one, differs from function to function.
        let correct = operations.integer(operator, args, self.thread.mode).unwrap_or(native);
        let influences = operations.nodes[node].influences;
        let visit = Visit { wrong: native != correct, culprit: term, shown: term, influences };
        spots.visit(spot, visit, &mut operations.sets, &operations.nodes);
    }

    #[inline(always)]
    pub fn branch(&mut self, spot: usize, cond: Cond, ty: Type, [a, b]: [Term; 2]) {
        // A NaN sets the flag of equality as well; the test for parity beside this one has decided then.
        let bits = |term: Term| self.books.operations.nodes.bits(term);
        let is_unordered = || native::compare(ty, bits(a), bits(b), self.thread.mode.mxcsr) == Outcome::Unordered;
        if !(matches!(cond, Cond::Equal | Cond::NotEqual) && is_unordered()) {
            self.decide(spot, ty, [a, b], |outcome| cond.holds(outcome));
        }
    }

    /// A decision on a comparison: which way it went natively.
    #[inline(never)]
    fn decide(&mut self, spot: usize, ty: Type, [a, b]: [Term; 2], holds: impl Fn(Outcome) -> bool) -> bool {
        let Books { operations, spots, .. } = &mut *self.books;
        let [left, right] = [a, b].map(|term| operations.nodes.bits(term));
        let native = holds(native::compare(ty, left, right, self.thread.mode.mxcsr));
        spots.execute(spot);
        if let (Term::Leaf(_), Term::Leaf(_)) = (a, b) {
            return native;
        }
        if spots.spots[spot].choice.is_watched() {
            spots.spots[spot].choice.watch([a, b], native, &operations.nodes);
        }
        if native != holds(operations.compare(a, b, &mut spots.spots[spot].doubts)) {
            spots.differ(spot, [a, b], native, holds, operations);
        }
        native
    }
}

/// A float leaves the world of floats as it is. Is it the one that is shown?
fn leave<R: Real>(spot: usize, term: Term, spots: &mut Spots, operations: &mut Operations<R>) -> bool {
    spots.execute(spot);
    let (ulps, influences) = (operations.nodes.ulps(term), operations.nodes.influences(term));
    let visit = Visit { wrong: operations.is_error(ulps), culprit: term, shown: term, influences };
    spots.visit(spot, visit, &mut operations.sets, &operations.nodes)
}

/// An operation on floats of one format.
pub struct Applied {
    pub operator: Operator,
    pub from: Type,
    pub ty: Type,
    pub at: LocationId,
    pub site: Option<usize>,
}

/// Its result, of which the bits may be known.
pub fn apply<R: Real>(
    operations: &mut Operations<R>,
    applied: Applied,
    mut args: Args,
    result: Option<u128>,
    mode: Mode,
) -> Value {
    let Applied { operator, from, ty, at, site } = applied;
    let bits = each(&args, |arg| operations.nodes.bits(arg));
    let bits = &bits[..args.len()];
    let native = match result {
        Some(result) => mask(result, ty.bytes()),
        None => operations.native(operator, from, ty, bits, mode),
    };
    if ty == Type::F80 && !native::is_complete(operator, bits) {
        return Value::plain(native);
    }
    let (operator, negated) = operator.traced();
    for (arg, _) in args.iter_mut().zip(negated).filter(|(_, negated)| *negated) {
        *arg = operations.change_sign(Operator::Neg, *arg, at, mode);
    }
    let result = operations.operate(Request { operator, ty, args, native, at, site, mode, called: false });
    Value::of_term(result, &operations.nodes)
}

/// The top of the x87's stack, out of an image's first eight bytes.
fn top_of(words: u128) -> u8 {
    (words >> (16 + 11)) as u8 & 7
}

/// Has the x87's stack overflowed or underflowed since the program last cleared the flag for that, or is an exception pending (SDM
/// volume 1, 8.1.3.3)?
fn has_faulted(words: u128) -> bool {
    words >> (16 + 6) & 0b11 != 0
}

/// Is a register of the x87 empty? An image has a bit for each, by its own number, that is set if it is not (SDM, FXSAVE).
fn is_empty(words: u128, number: u8) -> bool {
    words >> (32 + (number & 7)) & 1 == 0
}
