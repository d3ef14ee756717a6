//! Runs a block's shadow program on one record.

use crate::bitwise;
use crate::consume::Analysis;
use crate::findings::CheckFailure;
use crate::memory::Memory;
use crate::native::{self, Direction, MXCSR_DEFAULT};
use crate::operation::{Request, each};
use crate::program::{Destination, Index, Program, Step};
use crate::real::Real;
use crate::shadow::{Part, Registers, Value};
use crate::site::SiteKey;
use crate::spots::Visit;
use crate::trace::{Args, Term};
use fpgrind_ir::{Addr, Cond, GRANULE, Operator, Outcome, Slot, Type};

/// What the analysis knows of a guest thread.
pub struct Thread<R> {
    pub registers: Registers<R>,
    pub memory: Memory<R>,
    mxcsr: u32,
    /// A wrapped function that has been entered, until its last result is known.
    call: Option<Call<R>>,
    /// The values of the block being run.
    frame: Vec<Value<R>>,
}

struct Call<R> {
    ty: Type,
    args: Args<R>,
    pc: u64,
}

/// Disagreements kept: each is a bug, and a few show it.
const MAX_CHECK_FAILURES: usize = 100;

impl<R> Thread<R> {
    pub fn new() -> Thread<R> {
        Thread {
            registers: Registers::new(),
            memory: Memory::new(),
            mxcsr: MXCSR_DEFAULT,
            call: None,
            frame: Vec::new(),
        }
    }

    fn term(&self, index: Index, ty: Type) -> Term<R> {
        self.frame[index].term_at(0, ty)
    }

    fn word(&self, index: Index) -> u64 {
        self.frame[index].bits as u64
    }

    fn address(&self, addr: &Addr) -> u64 {
        let part = |value: Option<fpgrind_ir::Value>| value.map_or(0, |value| self.word(value.index()));
        let index = addr.index.map_or(0, |(value, scale)| self.word(value.index()).wrapping_mul(scale as u64));
        part(addr.segment).wrapping_add(part(addr.base)).wrapping_add(index).wrapping_add(addr.disp as u64)
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

impl<R: Real> Analysis<R> {
    pub(crate) fn run(&mut self, program: &Program, record: &[u8]) {
        if self.thread.frame.len() < program.steps.len() {
            self.thread.frame.resize_with(program.steps.len(), || Value::plain(0));
        }
        for (index, step) in program.steps.iter().enumerate() {
            self.step(index, step, record);
        }
    }

    /// Does a step; what it defines becomes the value with this number.
    fn step(&mut self, index: Index, step: &Step, record: &[u8]) {
        let thread = &mut self.thread;
        match step {
            Step::Nothing => {}
            Step::Live { place, ty, slot } => {
                let bits = logged(record, *slot, *ty);
                self.thread.frame[index] = thread.registers.live(*place, *ty, bits, &mut self.totals.stale_shadows);
            }
            Step::Fresh { ty, slot } => self.thread.frame[index] = Value::plain(logged(record, *slot, *ty)),
            Step::Load { addr, ty, slot } => {
                let address = thread.address(addr);
                let bits = logged(record, *slot, *ty);
                self.thread.frame[index] = thread.memory.load(address, *ty, bits, &mut self.totals.stale_shadows);
            }
            Step::Const { bits, ty } => self.thread.frame[index] = Value::constant(*bits, *ty),
            Step::Extract { from, granule, ty } => {
                self.thread.frame[index] = extract(&thread.frame[*from], *granule, *ty)
            }
            Step::Concat { parts } => self.thread.frame[index] = concat(&thread.frame, parts),
            Step::Bitwise { op, ty, args: [a, b], pc } => {
                let (operations, mxcsr) = (&mut self.operations, thread.mxcsr);
                let operate = |operator: Operator, term: Term<R>| operations.change_sign(operator, term, *pc, mxcsr);
                self.thread.frame[index] = bitwise::apply(*op, *ty, [&thread.frame[*a], &thread.frame[*b]], operate);
            }
            Step::Select { mask, ty, args: [a, b] } => {
                let highest = thread.frame[*mask].bits >> (8 * ty.bytes() - 1) & 1;
                let chosen = if highest == 1 { *b } else { *a };
                self.thread.frame[index] = extract(&thread.frame[chosen], 0, *ty);
            }
            Step::Apply { operator, from, ty, args, pc, site } => {
                let (pc, mxcsr) = (*pc, thread.mxcsr);
                let mut args: Args<R> = args.iter().map(|arg| thread.term(*arg, *from)).collect();
                let bits = each(&args, Term::bits);
                let native = self.operations.native(*operator, *from, *ty, &bits[..args.len()], mxcsr);
                let (operator, negated) = operator.traced();
                for (arg, _) in args.iter_mut().zip(negated).filter(|(_, negated)| *negated) {
                    *arg = self.operations.change_sign(Operator::Neg, arg.clone(), pc, mxcsr);
                }
                let request = Request { operator, ty: *ty, args, native, pc, site: *site, mxcsr };
                self.thread.frame[index] = Value::of_term(self.operations.operate(request));
            }
            Step::Mask { relation, ty, args, spot } => {
                let holds = self.decide(*spot, *ty, *args, |outcome| relation.holds(outcome));
                let ones = if *ty == Type::F32 { u32::MAX as u128 } else { u64::MAX as u128 };
                self.thread.frame[index] = Value::plain(if holds { ones } else { 0 });
            }
            Step::Branch { cond, ty, args, spot } => {
                // A NaN sets the flag of equality as well; the test for parity beside this one has decided then.
                let unordered = || {
                    let [a, b] = args.map(|arg| thread.frame[arg].bits as u64);
                    native::compare(*ty, a, b, thread.mxcsr) == Outcome::Unordered
                };
                if !(matches!(cond, Cond::Equal | Cond::NotEqual) && unordered()) {
                    self.decide(*spot, *ty, *args, |outcome| cond.holds(outcome));
                }
            }
            Step::ToInt { value, ty, rounding, bytes, spot } => {
                let term = thread.term(*value, *ty);
                self.spots.execute(*spot);
                if let Term::Node(node) = &term {
                    let direction = Direction::of(*rounding, thread.mxcsr);
                    let native = native::to_integer(*ty, node.bits, direction, *bytes, thread.mxcsr);
                    let correct = native::fit(node.real.to_i64(direction), *bytes);
                    let (wrong, influences) = (native != correct, node.influences);
                    let visit = Visit { wrong, culprit: &term, shown: &term, influences };
                    self.spots.visit(*spot, visit, &mut self.operations.sets);
                }
            }
            Step::Put { place, ty, value } => {
                thread.registers.put(*place, *ty, &thread.frame[*value]);
            }
            Step::Drop { place, bytes } => {
                thread.registers.forget(*place, *bytes);
            }
            Step::Store { addr, ty, value } => {
                let address = thread.address(addr);
                thread.memory.store(address, *ty, &thread.frame[*value]);
            }
            Step::SetMxcsr { value } => {
                thread.mxcsr = thread.word(*value) as u32;
            }
            Step::Copy { dst, src, len } => {
                let (dst, src, len) = (thread.word(*dst), thread.word(*src), thread.word(*len));
                thread.memory.copy(dst, src, len);
            }
            Step::Enter { ty, args, caller } => {
                let args = args.iter().map(|arg| thread.term(*arg, *ty)).collect();
                // The call ends where it returns to: one byte before is inside it.
                let pc = thread.word(*caller).wrapping_sub(1);
                thread.call = Some(Call { ty: *ty, args, pc });
            }
            Step::Leave { operator, result, ty, to, last } => {
                let value = self.result(*operator, self.thread.word(*result), *ty, *last);
                let thread = &mut self.thread;
                match to {
                    Destination::Register(place) => thread.registers.put(*place, *ty, &value),
                    Destination::Memory(addr) => thread.memory.store(thread.address(addr), *ty, &value),
                }
                thread.frame[*result] = value;
            }
            Step::Check { value, ty, slot, pc } => {
                let native = logged(record, *slot, *ty);
                let predicted = thread.frame[*value].bits;
                self.totals.checks += 1;
                if native != predicted && self.check_failures.len() < MAX_CHECK_FAILURES {
                    self.check_failures.push(CheckFailure { pc: *pc, native, predicted });
                }
            }
        }
    }

    /// What a wrapped function computed: the operator on the arguments of the call, or plain bits if it cannot be that.
    fn result(&mut self, operator: Operator, native: u64, ty: Type, last: bool) -> Value<R> {
        let call = self.thread.call.as_ref().filter(|call| call.ty == ty && call.args.len() == operator.arity());
        let call = call.map(|call| (call.args.iter().cloned().collect::<Args<R>>(), call.pc));
        if last {
            self.thread.call = None;
        }
        let Some((args, pc)) = call else {
            self.totals.corrupt_records += 1;
            return Value::plain(native as u128);
        };
        if !self.operations.is_plausible(operator, ty, &args, native) {
            self.totals.misnamed_calls += 1;
            return Value::plain(native as u128);
        }
        let site = Some(self.operations.sites.number(SiteKey { pc, operator, ty }));
        let request = Request { operator, ty, args, native, pc, site, mxcsr: self.thread.mxcsr };
        Value::of_term(self.operations.operate(request))
    }

    /// A decision on a comparison: which way it went natively.
    fn decide(&mut self, spot: usize, ty: Type, args: [Index; 2], holds: impl Fn(fpgrind_ir::Outcome) -> bool) -> bool {
        let [a, b] = args.map(|arg| self.thread.term(arg, ty));
        let native = holds(native::compare(ty, a.bits(), b.bits(), self.thread.mxcsr));
        self.spots.execute(spot);
        if let (Term::Leaf(_), Term::Leaf(_)) = (&a, &b) {
            return native;
        }
        if native != holds(self.operations.compare(&a, &b)) {
            let culprit = if b.ulps() > a.ulps() { &b } else { &a };
            let influences = self.operations.sets.union(a.influences(), b.influences());
            let visit = Visit { wrong: true, culprit, shown: &a, influences };
            self.spots.visit(spot, visit, &mut self.operations.sets);
        }
        native
    }
}

fn extract<R>(from: &Value<R>, granule: usize, ty: Type) -> Value<R> {
    let shifted = from.bits >> (8 * GRANULE * granule);
    let bits = if ty.bytes() < 16 { shifted & ((1 << (8 * ty.bytes())) - 1) } else { shifted };
    let mut value = Value::plain(bits);
    for (part, source) in value.parts.iter_mut().zip(&from.parts[granule..]).take(ty.granules()) {
        part.clone_from(source);
    }
    value
}

fn concat<R>(frame: &[Value<R>], parts: &[(Index, Type)]) -> Value<R> {
    let mut value = Value::plain(0);
    let mut granule = 0;
    for (index, ty) in parts {
        let source = &frame[*index];
        value.bits |= source.bits << (8 * GRANULE * granule);
        for (part, source) in value.parts[granule..].iter_mut().zip(&source.parts).take(ty.granules()) {
            *part = if let Part::Shadow(node) = source
                && node.ty.granules() > ty.granules()
            {
                Part::None
            } else {
                source.clone()
            };
        }
        granule += ty.granules();
    }
    value
}
