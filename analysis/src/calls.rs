//! The common case of a wrapped function: it takes one or two doubles in vector registers and returns doubles.
//!
//! The block at its entry is one instruction, and that at its return is one for each result, which do what the steps (`run.rs`) would do.

use crate::callers::Caller;
use crate::engine::logged;
use crate::guests::DOUBLES;
use crate::lanes::Instr;
use crate::program::{Address, Destination, Index, Step};
use crate::real::Real;
use crate::registers::Registers;
use crate::run::Running;
use crate::shadow::{Part, Value};
use crate::site::SiteKey;
use crate::trace::{Handle, Slot, Term};
use fpgrind_ir::{Operator, Place, Reg, Type};

/// A double in a register: where the record has its bits, and the number of what is known of it.
struct Double {
    place: Place,
    first: usize,
    slot: u16,
}

pub struct Entry {
    args: [Option<Double>; DOUBLES],
    /// Where the record has the address to which the function will return.
    caller: u16,
}

/// One of the results, and what it is.
pub struct Return {
    operator: Operator,
    /// The numbers of its arguments among those of the call.
    of: Box<[u8]>,
    /// The same, if they are doubles, and there is one, or two.
    of_doubles: [u8; DOUBLES],
    arity: u8,
    /// Where the record has its bits.
    slot: u16,
    to: To,
    last: bool,
}

enum To {
    /// The number of what is known of a register.
    Register(usize),
    /// Where the record has an address, and how far from there.
    Memory(u16, u64),
}

/// The instructions that do it all, if the steps are those of such a function.
pub fn whole(steps: &[Step]) -> Option<Vec<Instr>> {
    let is_call = |step: &&Step| !matches!(step, Step::Live { .. } | Step::Load { .. } | Step::Fresh { .. });
    let instrs: Option<Vec<Instr>> = steps.iter().filter(is_call).map(|step| instr(steps, step)).collect();
    instrs.filter(|instrs| !instrs.is_empty())
}

fn instr(steps: &[Step], step: &Step) -> Option<Instr> {
    match step {
        Step::Enter { args, caller } if (1..=2).contains(&args.len()) => {
            let Step::Load { ty: Type::B64, slot, .. } = steps[*caller] else { return None };
            let mut doubles = [const { None }; DOUBLES];
            for (double, (arg, _)) in doubles.iter_mut().zip(args) {
                *double = Some(live_double(steps, *arg)?);
            }
            Some(Instr::Enter(Box::new(Entry { args: doubles, caller: slot.0 })))
        }
        Step::Leave { operator, of, result, ty: Type::F64, to, last } if !operator.is_relative() => {
            let (slot, to) = match (&steps[*result], to) {
                (Step::Fresh { ty: Type::F64, slot }, Destination::Register(place)) => {
                    (slot, To::Register(double(*place, slot.0)?.first))
                }
                (Step::Load { ty: Type::F64, slot, .. }, Destination::Memory(addr)) => (slot, memory(steps, addr)?),
                _ => return None,
            };
            let mut of_doubles = [0; DOUBLES];
            of_doubles.iter_mut().zip(of).for_each(|(number, of)| *number = *of);
            let (of, arity) = (of[..].into(), of.len() as u8);
            let result = Return { operator: *operator, of, of_doubles, arity, slot: slot.0, to, last: *last };
            Some(Instr::Leave(Box::new(result)))
        }
        _ => None,
    }
}

/// What a pointer that was an argument leads to.
fn memory(steps: &[Step], addr: &Address) -> Option<To> {
    let Address { segment: None, base: Some(base), index: None, disp } = addr else { return None };
    let Step::Live { ty: Type::B64, slot, .. } = steps[*base] else { return None };
    Some(To::Memory(slot.0, *disp))
}

fn live_double(steps: &[Step], value: Index) -> Option<Double> {
    let Step::Live { place, ty: Type::F64, slot } = steps[value] else { return None };
    double(place, slot.0)
}

fn double(place: Place, slot: u16) -> Option<Double> {
    let first = Registers::fixed(place, 8).filter(|parts| parts.len() == 2)?.start;
    matches!(place.reg, Reg::Vec(_)).then_some(Double { place, first, slot })
}

impl<R: Real> Running<'_, R> {
    #[inline(always)]
    pub fn enter(&mut self, entry: &Entry, record: &[u8]) {
        self.thread.call.open(u64::from_le_bytes(logged(record, entry.caller as usize)));
        for (number, arg) in entry.args.iter().flatten().enumerate() {
            let bits = u64::from_le_bytes(logged(record, arg.slot as usize));
            let nodes = &self.books.operations.nodes;
            let parts = self.thread.registers.parts();
            let part = parts[arg.first];
            let (slot, word) = if let Part::Shadow(node) = part
                && nodes.of(node).is_double(bits)
            {
                node.as_arg()
            } else if part.is_none() {
                (Slot::leaf(Type::F64, false), bits)
            } else if part.is_constant(bits as u32) && parts[arg.first + 1].is_constant((bits >> 32) as u32) {
                (Slot::leaf(Type::F64, true), bits)
            } else {
                let stale = &mut self.books.totals.stale_shadows;
                let value = self.thread.registers.live(arg.place, Type::F64, bits.into(), stale, nodes);
                match value.term_at(0, Type::F64, nodes) {
                    Term::Node(node) => node.as_arg(),
                    Term::Leaf(leaf) => (Slot::leaf(Type::F64, leaf.constant), bits),
                }
            };
            (self.thread.call.slots[number], self.thread.call.words[number]) = (slot, word);
        }
    }

    #[inline(always)]
    pub fn leave(&mut self, result: &Return, record: &[u8]) {
        let native = u64::from_le_bytes(logged(record, result.slot as usize));
        // Each has code of its own.
        let [x, y] = result.of_doubles;
        let quickly = match result.arity {
            1 => self.result_of_doubles(result, [x], native),
            2 => self.result_of_doubles(result, [x, y], native),
            _ => None,
        };
        let [part, next] = match quickly {
            Some(node) => {
                if result.last {
                    self.thread.call.close();
                }
                [Part::Shadow(node), Part::None]
            }
            None => {
                let value = self.result(result.operator, &result.of, native.into(), Type::F64, result.last);
                [value.parts[0], value.parts[1]]
            }
        };
        match result.to {
            To::Register(first) => {
                let parts = self.thread.registers.parts();
                (parts[first], parts[first + 1]) = (part, next);
            }
            To::Memory(slot, disp) => {
                let address = u64::from_le_bytes(logged(record, slot as usize)).wrapping_add(disp);
                let memory = &mut self.process.memory;
                if !matches!(part, Part::Shadow(_)) || !memory.store_double(address, part) {
                    let value = Value { bits: native.into(), parts: [part, next, Part::None, Part::None] };
                    memory.store(address, Type::F64, &value, &self.books.operations.nodes);
                }
            }
        }
    }

    /// If nothing sets the call apart.
    #[inline(always)]
    fn result_of_doubles<const N: usize>(&mut self, result: &Return, of: [u8; N], native: u64) -> Option<Handle> {
        let Running { thread, process, books } = self;
        let (call, operator) = (&thread.call, result.operator);
        if !call.is_open || !thread.mode.is_plain() {
            return None;
        }
        let mut args = [(Slot::NONE, 0); N];
        for (arg, number) in args.iter_mut().zip(of) {
            *arg = (*call.slots.get(number as usize)?, call.words[number as usize]);
        }
        let Caller { at, site } = process.callers.get(call.pc, operator, || {
            let at = books.locations.number(process.mappings.instruction(call.pc));
            Caller { at, site: books.operations.sites.number(SiteKey { at, operator, ty: Type::F64 }) }
        });
        books.operations.call_of_doubles(operator, args, native, (at, site))
    }
}
