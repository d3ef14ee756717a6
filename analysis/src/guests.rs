//! The guest's processes and threads, and what the analysis knows of each.

use crate::heap::Heap;
use crate::location::{Locations, Mappings};
use crate::log::Module;
use crate::memory::{Memory, Pages};
use crate::mode::Mode;
use crate::registers::Registers;
use crate::trace::Term;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;

/// An address space.
pub struct Process<R> {
    pub memory: Memory<R>,
    pub mappings: Mappings,
    pub saved: Saved<R>,
    pub heap: Heap,
}

/// Registers that were saved to memory as a whole, by where: the newest of them.
pub struct Saved<R>(VecDeque<(u64, Registers<R>)>);

/// Contexts that a process switches between, or signals that are being handled, at once.
const MAX_SAVED: usize = 64;

impl<R> Saved<R> {
    pub fn save(&mut self, address: u64, registers: &Registers<R>) {
        self.0.retain(|(other, _)| *other != address);
        if self.0.len() >= MAX_SAVED {
            self.0.pop_front();
        }
        self.0.push_back((address, registers.clone()));
    }

    pub fn get(&self, address: u64) -> Option<&Registers<R>> {
        self.0.iter().rev().find(|(other, _)| *other == address).map(|(_, registers)| registers)
    }
}

impl<R> Clone for Saved<R> {
    fn clone(&self) -> Saved<R> {
        Saved(self.0.clone())
    }
}

pub struct Thread<R> {
    process: u32,
    pub registers: Registers<R>,
    pub mode: Mode,
    /// A wrapped function that has been entered, until its last result is known.
    pub call: Option<Call<R>>,
}

pub struct Call<R> {
    /// One for each lane, of a vector function.
    pub args: Vec<Term<R>>,
    /// The call's last byte.
    pub pc: u64,
}

/// All that live, by their numbers.
pub struct Guests<R> {
    processes: FxHashMap<u32, Process<R>>,
    threads: FxHashMap<u32, Thread<R>>,
    pages: Pages,
    /// How many there were.
    pub processes_begun: u64,
    pub threads_begun: u64,
}

/// A number that means nothing, or means something already.
#[derive(Debug)]
pub struct Unknown;

impl<R> Guests<R> {
    pub fn new() -> Guests<R> {
        Guests {
            processes: FxHashMap::default(),
            threads: FxHashMap::default(),
            pages: Pages::default(),
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
                saved: maker.saved.clone(),
                heap: maker.heap.clone(),
            },
            None => Process {
                memory: Memory::new(&self.pages),
                mappings: Mappings::default(),
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
                Thread { process, registers: registers.clone(), mode: *mode, call: None }
            }
            None => Thread { process, registers: Registers::new(), mode: Mode::default(), call: None },
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
        self.processes.get_mut(&process).ok_or(Unknown)?.mappings.map(module, locations);
        Ok(())
    }

    pub fn unmap(&mut self, process: u32, start: u64, end: u64) -> Result<(), Unknown> {
        let process = self.processes.get_mut(&process).ok_or(Unknown)?;
        process.mappings.unmap(start, end);
        process.memory.clear(start, end.saturating_sub(start));
        Ok(())
    }

    pub fn overwrite(&mut self, process: u32, start: u64, end: u64) -> Result<(), Unknown> {
        let memory = &mut self.processes.get_mut(&process).ok_or(Unknown)?.memory;
        memory.clear(start, end.saturating_sub(start));
        Ok(())
    }

    pub fn remap(&mut self, process: u32, from: Range<u64>, to: u64) -> Result<(), Unknown> {
        let memory = &mut self.processes.get_mut(&process).ok_or(Unknown)?.memory;
        let length = from.end.saturating_sub(from.start);
        memory.copy(to, from.start, length);
        memory.clear(from.start, length);
        Ok(())
    }

    pub fn process(&self, number: u32) -> Option<&Process<R>> {
        self.processes.get(&number)
    }

    pub fn thread(&self, number: u32) -> Option<&Thread<R>> {
        self.threads.get(&number)
    }

    /// A thread with the address space that it runs in.
    pub fn running(&mut self, thread: u32) -> Option<(&mut Thread<R>, &mut Process<R>)> {
        let thread = self.threads.get_mut(&thread)?;
        let process = self.processes.get_mut(&thread.process)?;
        Some((thread, process))
    }
}
