//! The guest's processes and threads, and what the analysis knows of each.

use crate::callers::Callers;
use crate::heap::Heap;
use crate::location::{Locations, Mappings};
use crate::log::Module;
use crate::memory::{Memory, Pages, Shared};
use crate::mode::Mode;
use crate::registers::Registers;
use crate::trace::{Handle, Nodes, Slot, Term};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::ops::Range;

/// An address space.
pub struct Process {
    pub memory: Memory,
    pub mappings: Mappings,
    /// By addresses in those.
    pub callers: Callers,
    pub saved: Saved,
    pub heap: Heap,
}

/// Registers that were saved to memory as a whole, by where: the newest of them.
#[derive(Clone)]
pub struct Saved(VecDeque<(u64, Registers)>);

/// Contexts that a process switches between, or signals that are being handled, at once.
const MAX_SAVED: usize = 64;

impl Saved {
    pub fn save(&mut self, address: u64, registers: &Registers) {
        self.0.retain(|(other, _)| *other != address);
        if self.0.len() >= MAX_SAVED {
            self.0.pop_front();
        }
        self.0.push_back((address, registers.clone()));
    }

    pub fn get(&self, address: u64) -> Option<&Registers> {
        self.0.iter().rev().find(|(other, _)| *other == address).map(|(_, registers)| registers)
    }
}

pub struct Thread {
    process: u32,
    pub registers: Registers,
    pub mode: Mode,
    pub call: Call,
}

/// As many doubles may be the arguments of a function that is nothing out of the ordinary.
pub const DOUBLES: usize = 2;

/// A wrapped function that has been entered, until its last result is known.
#[derive(Default)]
pub struct Call {
    pub is_open: bool,
    /// One for each lane, of a vector function.
    pub args: SmallVec<[Term; 4]>,
    /// Or, of a function of one or two doubles: as nodes keep their arguments.
    pub slots: [Slot; DOUBLES],
    pub words: [u64; DOUBLES],
    /// The call's last byte.
    pub pc: u64,
}

impl Call {
    /// A call that will return to this address has begun; its arguments are to follow.
    #[inline(always)]
    pub fn open(&mut self, caller: u64) {
        self.forget_args();
        // The call ends where it returns to: one byte before is inside it.
        (self.is_open, self.pc) = (true, caller.wrapping_sub(1));
    }

    /// Its arguments are nobody's any more.
    #[inline(always)]
    pub fn close(&mut self) {
        self.forget_args();
        self.is_open = false;
    }

    #[inline(always)]
    fn forget_args(&mut self) {
        self.args.clear();
        self.slots = [Slot::NONE; DOUBLES];
    }

    /// An argument, however it is kept.
    pub fn arg(&self, number: usize) -> Option<Term> {
        let double = || Term::of_arg(*self.slots.get(number)?, self.words[number]);
        self.args.get(number).copied().or_else(double)
    }

    fn each_root(&mut self, root: &mut dyn FnMut(&mut Handle)) {
        for arg in &mut self.args {
            if let Term::Node(node) = arg {
                root(node);
            }
        }
        for (slot, word) in self.slots.iter_mut().zip(&mut self.words) {
            if let Some(mut node) = Handle::of_arg(*slot, *word) {
                root(&mut node);
                (*slot, *word) = node.as_arg();
            }
        }
    }
}

/// All that live, by their numbers.
pub struct Guests {
    processes: FxHashMap<u32, Process>,
    threads: FxHashMap<u32, Thread>,
    pages: Pages,
    /// How many there were.
    pub processes_begun: u64,
    pub threads_begun: u64,
}

/// A number that means nothing, or means something already.
#[derive(Debug)]
pub struct Unknown;

impl Guests {
    /// With so many bytes for what is known of their memories.
    pub fn new(bytes: usize) -> Guests {
        Guests {
            processes: FxHashMap::default(),
            threads: FxHashMap::default(),
            pages: Pages::new(bytes),
            processes_begun: 0,
            threads_begun: 0,
        }
    }

    /// Begins a process. A fork starts with a copy of all that its maker's process has; with nothing, if nobody knows the maker.
    pub fn begin_process(&mut self, number: u32, forked_from: Option<u32>) -> Result<(), Unknown> {
        if self.processes.contains_key(&number) {
            return Err(Unknown);
        }
        let maker = forked_from.and_then(|maker| self.processes.get(&self.threads.get(&maker)?.process));
        let is_strange = forked_from.is_some() && maker.is_none();
        let process = match maker {
            Some(maker) => Process {
                memory: maker.memory.clone(),
                mappings: maker.mappings.clone(),
                callers: Callers::default(),
                saved: maker.saved.clone(),
                heap: maker.heap.clone(),
            },
            None => Process {
                memory: Memory::new(&self.pages),
                mappings: Mappings::default(),
                callers: Callers::default(),
                saved: Saved(VecDeque::new()),
                heap: Heap::default(),
            },
        };
        self.processes.insert(number, process);
        self.processes_begun += 1;
        if is_strange { Err(Unknown) } else { Ok(()) }
    }

    /// Begins a thread. One that another made starts with its maker's registers; with none, if nobody knows the maker.
    pub fn begin_thread(&mut self, number: u32, process: u32, cloned_from: Option<u32>) -> Result<(), Unknown> {
        if self.threads.contains_key(&number) || !self.processes.contains_key(&process) {
            return Err(Unknown);
        }
        let maker = cloned_from.and_then(|maker| self.threads.get(&maker));
        let is_strange = cloned_from.is_some() && maker.is_none();
        let thread = match maker {
            Some(Thread { registers, mode, .. }) => {
                Thread { process, registers: registers.clone(), mode: *mode, call: Call::default() }
            }
            None => Thread { process, registers: Registers::new(), mode: Mode::default(), call: Call::default() },
        };
        self.threads.insert(number, thread);
        self.threads_begun += 1;
        if is_strange { Err(Unknown) } else { Ok(()) }
    }

    pub fn end_thread(&mut self, number: u32) -> Result<(), Unknown> {
        self.threads.remove(&number).map(drop).ok_or(Unknown)
    }

    /// Its threads end with it.
    pub fn end_process(&mut self, number: u32) -> Result<(), Unknown> {
        self.threads.retain(|_, thread| thread.process != number);
        self.processes.remove(&number).map(drop).ok_or(Unknown)
    }

    pub fn map(&mut self, process: u32, module: &Module, locations: &mut Locations) -> Result<(), Unknown> {
        let process = self.processes.get_mut(&process).ok_or(Unknown)?;
        process.mappings.map(module, locations);
        process.callers.forget();
        Ok(())
    }

    pub fn unmap(&mut self, process: u32, start: u64, end: u64) -> Result<(), Unknown> {
        let process = self.processes.get_mut(&process).ok_or(Unknown)?;
        process.mappings.unmap(start, end);
        process.callers.forget();
        process.memory.clear(start, end.saturating_sub(start));
        Ok(())
    }

    pub fn overwrite(&mut self, process: u32, start: u64, end: u64) -> Result<(), Unknown> {
        let memory = &mut self.processes.get_mut(&process).ok_or(Unknown)?.memory;
        memory.clear(start, end.saturating_sub(start));
        Ok(())
    }

    pub fn remap<R>(&mut self, process: u32, from: Range<u64>, to: u64, nodes: &Nodes<R>) -> Result<(), Unknown> {
        let memory = &mut self.processes.get_mut(&process).ok_or(Unknown)?.memory;
        let length = from.end.saturating_sub(from.start);
        memory.copy(to, from.start, length, nodes);
        memory.clear(from.start, length);
        Ok(())
    }

    /// How often a float in memory was given up because there were too many.
    pub fn refused(&self) -> u64 {
        self.pages.refused()
    }

    /// Calls a function with each node that shadows something.
    pub fn each_root(&mut self, root: &mut dyn FnMut(&mut Handle)) {
        let mut shared = Shared::default();
        for process in self.processes.values_mut() {
            process.memory.each_root(root, &mut shared);
            process.saved.0.iter_mut().for_each(|(_, registers)| registers.each_root(root));
        }
        for thread in self.threads.values_mut() {
            thread.registers.each_root(root);
            thread.call.each_root(root);
        }
    }

    pub fn process(&self, number: u32) -> Option<&Process> {
        self.processes.get(&number)
    }

    pub fn thread(&self, number: u32) -> Option<&Thread> {
        self.threads.get(&number)
    }

    /// A thread with the address space that it runs in.
    pub fn running(&mut self, thread: u32) -> Option<(&mut Thread, &mut Process)> {
        let thread = self.threads.get_mut(&thread)?;
        let process = self.processes.get_mut(&thread.process)?;
        Some((thread, process))
    }
}
