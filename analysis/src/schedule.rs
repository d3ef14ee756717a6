//! In which order a block's instructions are best done.
//!
//! A loop's turns in one record, and the coordinates of a point, are operations of a kind that do not need one another: next to each other, compiled
//! code does four of them at once (`compiled/groups.rs`). So inputs come first, then operations, those of a kind together, then outputs. What
//! is found does not depend on who runs the block: all run it in this order.
//!
//! A load that was behind a store may come before it only if they are apart. Where the block alone does not tell, that is asked of each record.

use crate::lanes::{Address, Instr, Number, Word};
use fpgrind_ir::{Operator, Type};
use rustc_hash::FxHashMap;

/// Instructions that are looked at, at most: each is compared with all before it.
const MOST: usize = 512;
/// Questions of a record, at most.
const QUESTIONS: usize = 6;

/// Another order.
pub struct Schedule {
    /// The instructions' numbers.
    pub order: Vec<usize>,
    /// It holds if these are apart.
    pub apart: Vec<Apart>,
}

/// Bytes from a place on, and from another.
pub struct Apart {
    pub first: Address,
    pub second: Address,
    /// They overlap if the first is less than that beyond the second.
    pub reach: u64,
}

impl Schedule {
    /// Nothing if the order is good as it is.
    pub fn new(instrs: &[Instr]) -> Option<Schedule> {
        if instrs.len() > MOST {
            return None;
        }
        let mut questions = Questions::default();
        let mut order = Vec::with_capacity(instrs.len());
        let mut start = 0;
        while start < instrs.len() {
            let length = instrs[start..].iter().take_while(|instr| !is_barrier(instr)).count();
            order.extend(segment(&instrs[start..start + length], &mut questions).into_iter().map(|at| start + at));
            start += length;
            if start < instrs.len() {
                order.push(start);
                start += 1;
            }
        }
        let apart = questions.apart()?;
        let is_better = in_groups(order.iter().map(|at| &instrs[*at])) > in_groups(instrs.iter());
        is_better.then_some(Schedule { order, apart })
    }
}

/// Whatever is before it stays before it, and what is behind it behind.
fn is_barrier(instr: &Instr) -> bool {
    matches!(
        instr,
        Instr::Compare(_)
            | Instr::Step(_)
            | Instr::Assemble(..)
            | Instr::TakeApart { .. }
            | Instr::Enter(_)
            | Instr::Leave(_)
    )
}

/// How many instructions from here on can be done at once, if so many can at most.
pub fn together<'a>(instrs: impl Iterator<Item = &'a Instr>, most: usize) -> usize {
    let mut results: Vec<Number> = Vec::new();
    let mut kind = None;
    for instr in instrs.take(most) {
        let Some((plain, ty)) = instr.plain() else { break };
        let is_alike = *kind.get_or_insert((plain.operator, ty)) == (plain.operator, ty);
        if !is_alike || plain.args.iter().any(|arg| results.contains(arg)) {
            break;
        }
        results.push(plain.to);
    }
    results.len().max(1)
}

/// Operations that have company.
fn in_groups<'a>(instrs: impl Iterator<Item = &'a Instr> + Clone) -> usize {
    let (mut at, mut count) = (0, 0);
    let all = instrs.clone().count();
    while at < all {
        let together = together(instrs.clone().skip(at), crate::compiled::FOUR);
        count += if together > 1 { together } else { 0 };
        at += together;
    }
    count
}

/// The order of instructions without a barrier.
fn segment(instrs: &[Instr], questions: &mut Questions) -> Vec<usize> {
    let mut needs: Vec<Vec<usize>> = Vec::with_capacity(instrs.len());
    for (at, instr) in instrs.iter().enumerate() {
        let before = instrs[..at].iter().enumerate();
        needs.push(before.filter(|(_, earlier)| stays_behind(earlier, instr, questions)).map(|(at, _)| at).collect());
    }
    let mut is_done = vec![false; instrs.len()];
    let mut order = Vec::with_capacity(instrs.len());
    while order.len() < instrs.len() {
        let ready: Vec<usize> =
            (0..instrs.len()).filter(|at| !is_done[*at] && needs[*at].iter().all(|need| is_done[*need])).collect();
        let chosen = choose(instrs, &ready);
        chosen.iter().for_each(|at| is_done[*at] = true);
        order.extend(chosen);
    }
    order
}

/// Inputs first, then the operations of which there are most of a kind, then outputs.
fn choose(instrs: &[Instr], ready: &[usize]) -> Vec<usize> {
    let is_output = |at: &usize| {
        matches!(instrs[*at], Instr::Store { .. } | Instr::StoreDouble { .. } | Instr::Put { .. } | Instr::Drop { .. })
    };
    let inputs: Vec<usize> =
        ready.iter().copied().filter(|at| instrs[*at].plain().is_none() && !is_output(at)).collect();
    if !inputs.is_empty() {
        return inputs;
    }
    let mut kinds: Vec<((Operator, Type), Vec<usize>)> = Vec::new();
    for at in ready {
        let Some((plain, ty)) = instrs[*at].plain() else { continue };
        match kinds.iter_mut().find(|(kind, _)| *kind == (plain.operator, ty)) {
            Some((_, all)) => all.push(*at),
            None => kinds.push(((plain.operator, ty), vec![*at])),
        }
    }
    let mut best: Option<Vec<usize>> = None;
    for (_, all) in kinds {
        if best.as_ref().is_none_or(|best| all.len() > best.len()) {
            best = Some(all);
        }
    }
    best.unwrap_or_else(|| ready.first().copied().into_iter().collect())
}

/// Does one need what an earlier one does, or spoil what that needs?
fn stays_behind(earlier: &Instr, later: &Instr, questions: &mut Questions) -> bool {
    let mut is_needed = false;
    let writes = |instr: &Instr, lane: Number| instr.written().is_some_and(|range| range.contains(&lane));
    later.each_read(|lane| is_needed |= writes(earlier, lane));
    earlier.each_read(|lane| is_needed |= writes(later, lane));
    if let (Some(a), Some(b)) = (earlier.written(), later.written()) {
        is_needed |= a.start < b.end && b.start < a.end;
    }
    is_needed || registers_meet(earlier, later) || memory_meets(earlier, later, questions)
}

fn registers_meet(earlier: &Instr, later: &Instr) -> bool {
    let is_write = |instr: &Instr| matches!(instr, Instr::Put { .. } | Instr::Drop { .. });
    let is_read = |instr: &Instr| matches!(instr, Instr::Live(..) | Instr::LiveDouble(..));
    is_write(earlier) && (is_write(later) || is_read(later)) || is_read(earlier) && is_write(later)
}

/// Where an instruction reads or writes memory, and how many bytes.
fn access(instr: &Instr) -> Option<(&Address, u64, bool)> {
    match instr {
        Instr::Load(addr, input) | Instr::LoadDouble(addr, input) => Some((addr, input.bytes as u64, false)),
        Instr::Store { addr, ty, .. } => Some((addr, ty.bytes() as u64, true)),
        Instr::StoreDouble { addr, .. } => Some((addr, 8, true)),
        _ => None,
    }
}

fn memory_meets(earlier: &Instr, later: &Instr, questions: &mut Questions) -> bool {
    let (Some((a, of_a, a_writes)), Some((b, of_b, b_writes))) = (access(earlier), access(later)) else { return false };
    if !a_writes && !b_writes {
        return false;
    }
    let ((base_a, disp_a), (base_b, disp_b)) = (Base::of(a), Base::of(b));
    if base_a == base_b && base_a.is_logged() {
        // One is less than its length behind the other.
        let behind = disp_b.wrapping_sub(disp_a);
        return behind < of_a || behind.wrapping_neg() < of_b;
    }
    // Stores keep their order, and so does what they overwrite: only a load may pass.
    let may_pass = a_writes && !b_writes && base_a.is_logged() && base_b.is_logged();
    !(may_pass && questions.ask((base_a, disp_a, of_a), (base_b, disp_b, of_b)))
}

/// An address without its distance.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Base {
    words: [Word; 3],
    narrow: bool,
    scale: u64,
}

impl Base {
    fn of(addr: &Address) -> (Base, u64) {
        match addr {
            Address::Logged(slot, disp) => {
                (Base { words: [Word::None, Word::Logged(*slot), Word::None], narrow: false, scale: 0 }, *disp)
            }
            Address::Sum(sum) => {
                let words = [sum.segment, sum.base, sum.index];
                (Base { words, narrow: sum.narrow, scale: sum.scale }, sum.disp)
            }
        }
    }

    /// Does the record tell, before anything was done?
    fn is_logged(&self) -> bool {
        self.words.iter().all(|word| matches!(word, Word::None | Word::Logged(_) | Word::LoggedShort(_)))
    }

    fn at(&self, disp: u64) -> Address {
        let [segment, base, index] = self.words;
        Address::sum(crate::lanes::Sum { segment, base, index, narrow: self.narrow, scale: self.scale, disp })
    }
}

/// From where to where something is, from a base.
#[derive(Clone, Copy)]
struct Extent {
    least: i64,
    end: i64,
}

impl Extent {
    fn with(self, disp: u64, bytes: u64) -> Extent {
        Extent { least: self.least.min(disp as i64), end: self.end.max((disp as i64).saturating_add(bytes as i64)) }
    }
}

/// What stores and loads are taken to be apart.
#[derive(Default)]
struct Questions(FxHashMap<(Base, Base), [Extent; 2]>);

impl Questions {
    /// Takes a store and a load to be apart, if there are not too many questions.
    fn ask(&mut self, (store, at, bytes): (Base, u64, u64), (load, from, length): (Base, u64, u64)) -> bool {
        if self.0.len() == QUESTIONS && !self.0.contains_key(&(store, load)) {
            return false;
        }
        let none = Extent { least: i64::MAX, end: i64::MIN };
        let [stored, loaded] = self.0.entry((store, load)).or_insert([none; 2]);
        (*stored, *loaded) = (stored.with(at, bytes), loaded.with(from, length));
        true
    }

    /// As they are asked; nothing if one cannot be.
    fn apart(self) -> Option<Vec<Apart>> {
        let mut all: Vec<Apart> = Vec::with_capacity(self.0.len());
        for ((store, load), [stored, loaded]) in self.0 {
            // They overlap if the load's base is beyond the store's by more than stored.least - loaded.end and less than stored.end - loaded.least.
            let lengths = stored.end.checked_sub(stored.least)?.checked_add(loaded.end.checked_sub(loaded.least)?)?;
            let reach = lengths.checked_sub(1)? as u64;
            let beyond = loaded.end.checked_sub(stored.least)?.checked_sub(1)?;
            all.push(Apart { first: load.at(beyond as u64), second: store.at(0), reach });
        }
        // Hash tables have an order of their own.
        all.sort_by_key(|apart| (apart.reach, format!("{:?}{:?}", apart.first, apart.second)));
        Some(all)
    }
}
