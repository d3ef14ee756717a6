//! The common case of a wrapped function: it takes one or two doubles in vector registers and returns one.
//!
//! The blocks at its entry and at its return are one instruction each, which does what their steps (`run.rs`) would do.

use crate::callers::Caller;
use crate::engine::logged;
use crate::lanes::Instr;
use crate::program::{Destination, Index, Step};
use crate::real::Real;
use crate::registers::Registers;
use crate::run::Running;
use crate::shadow::Part;
use crate::site::SiteKey;
use crate::trace::{Leaf, Term};
use fpgrind_ir::{Operator, Place, Reg, Type};
use smallvec::SmallVec;

/// A double in a register: where the record has its bits, and the number of what is known of it.
struct Double {
    place: Place,
    first: usize,
    slot: u16,
}

pub struct Entry {
    args: SmallVec<[Double; 2]>,
    /// Where the record has the address to which the function will return.
    caller: u16,
}

pub struct Return {
    operator: Operator,
    /// The numbers of its arguments among those of the call.
    of: SmallVec<[u8; 2]>,
    result: Double,
}

/// The instruction that does it all, if the steps are those of such a function.
pub fn whole(steps: &[Step]) -> Option<Instr> {
    let is_input = |step: &Step| matches!(step, Step::Live { .. } | Step::Load { .. } | Step::Fresh { .. });
    let (last, inputs) = steps.split_last()?;
    if !inputs.iter().all(is_input) {
        return None;
    }
    match last {
        Step::Enter { args, caller } if (1..=2).contains(&args.len()) => {
            let Step::Load { ty: Type::B64, slot, .. } = steps[*caller] else { return None };
            let args = args.iter().map(|(arg, _)| live_double(steps, *arg));
            Some(Instr::Enter(Box::new(Entry { args: args.collect::<Option<_>>()?, caller: slot.0 })))
        }
        Step::Leave { operator, of, result, ty: Type::F64, to: Destination::Register(place), last: true } => {
            let Step::Fresh { ty: Type::F64, slot } = steps[*result] else { return None };
            let result = double(*place, slot.0)?;
            let of = SmallVec::from_slice(of);
            let is_one = inputs.len() == 1 && !operator.is_relative();
            is_one.then(|| Instr::Leave(Box::new(Return { operator: *operator, of, result })))
        }
        _ => None,
    }
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
        for arg in &entry.args {
            let bits = u64::from_le_bytes(logged(record, arg.slot as usize));
            let nodes = &self.books.operations.nodes;
            let term = match self.thread.registers.parts()[arg.first] {
                Part::Shadow(node) if nodes[node].is_double(bits) => Term::Node(node),
                Part::None => Term::Leaf(Leaf::new(Type::F64, bits as u128, false)),
                _ => {
                    let stale = &mut self.books.totals.stale_shadows;
                    let value = self.thread.registers.live(arg.place, Type::F64, bits.into(), stale, nodes);
                    value.term_at(0, Type::F64, nodes)
                }
            };
            self.thread.call.args.push(term);
        }
    }

    #[inline(always)]
    pub fn leave(&mut self, Return { operator, of, result }: &Return, record: &[u8]) {
        let native = u64::from_le_bytes(logged(record, result.slot as usize));
        let parts = match self.result_of_doubles(*operator, of, native) {
            Some(part) => {
                self.thread.call.close();
                [part, Part::None]
            }
            None => {
                let value = self.result(*operator, of, native.into(), Type::F64, true);
                [value.parts[0], value.parts[1]]
            }
        };
        self.thread.registers.parts()[result.first..result.first + 2].copy_from_slice(&parts);
    }

    /// If nothing sets the call apart.
    #[inline(always)]
    fn result_of_doubles(&mut self, operator: Operator, of: &[u8], native: u64) -> Option<Part> {
        let Running { thread, process, books } = self;
        let call = &thread.call;
        if !call.is_open || !thread.mode.is_plain() {
            return None;
        }
        let mut args = [Term::Leaf(Leaf::new(Type::F64, 0, false)); 2];
        for (arg, number) in args.iter_mut().zip(of) {
            *arg = *call.args.get(*number as usize)?;
        }
        let args = args.get(..of.len())?;
        let Caller { at, site } = process.callers.get(call.pc, operator, || {
            let at = books.locations.number(process.mappings.instruction(call.pc));
            Caller { at, site: books.operations.sites.number(SiteKey { at, operator, ty: Type::F64 }) }
        });
        books.operations.call_of_doubles(operator, args, native, (at, site)).map(Part::Shadow)
    }
}
