//! The guest as the supervisor sees it: threads, the processes they belong to, and the spaces in which these run translated code.

use crate::context::ThreadMemory;
use crate::exits::Key;
use crate::mapped::MappedFile;
use crate::stubs::Stubs;
use crate::translate::Translator;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// A thread that runs translated code.
pub struct Thread {
    pub tid: i32,
    /// Its number in the log.
    pub number: u32,
    pub process: Arc<Process>,
    pub memory: ThreadMemory,
    /// Where it begins.
    pub start: Key,
    /// The generation of translations that it runs, or an older one: it may be in code of this and later ones, not of earlier ones.
    generation: AtomicU64,
    /// The translation that its last handler returned to.
    pub returned_to: AtomicU64,
    /// The process or thread that it is about to make.
    pub making: Mutex<Option<Making>>,
    /// Where it goes on behind the system call that it was found in when the code there was retired.
    pub behind_syscall: Mutex<Option<Key>>,
}

/// What a thread that makes another one tells of it.
#[derive(Clone, Copy, Debug)]
pub struct Making {
    /// The maker's memory is the new one's as well.
    pub shares_memory: bool,
    /// The new one's stack is the maker's, or a copy of it.
    pub keeps_stack: bool,
    /// Where both go on.
    pub next: Key,
}

impl Thread {
    pub fn new(tid: i32, number: u32, process: Arc<Process>, memory: ThreadMemory, start: Key) -> Thread {
        Thread {
            tid,
            number,
            process,
            memory,
            start,
            generation: AtomicU64::new(0),
            returned_to: AtomicU64::new(0),
            making: Mutex::new(None),
            behind_syscall: Mutex::new(None),
        }
    }

    /// From its next instruction on it runs translations of this generation.
    pub fn enters(&self, generation: u64) {
        self.generation.store(generation, Ordering::SeqCst);
    }

    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }
}

/// A guest process: an address space.
pub struct Process {
    /// Its number in the log.
    pub number: u32,
    space: Mutex<Arc<Space>>,
    /// Held for reading while one of its threads adds to the space, for writing while code is changed.
    pub code_changes: RwLock<()>,
    /// Bytes of its address space that we use.
    pub overhead: AtomicU64,
    /// Where it last had its heap end (brk(2)).
    pub heap_end: AtomicU64,
    /// What it stores there gets into files. (Not what a fork stores in its maker's mappings.)
    pub mapped_files: Mutex<Vec<MappedFile>>,
}

impl Process {
    pub fn new(number: u32, space: Arc<Space>, overhead: u64) -> Process {
        Process {
            number,
            space: Mutex::new(space),
            code_changes: RwLock::new(()),
            overhead: AtomicU64::new(overhead),
            heap_end: AtomicU64::new(0),
            mapped_files: Mutex::default(),
        }
    }

    pub fn space(&self) -> Arc<Space> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a thread to the space that the process is in at this moment.
    pub fn add_resident(&self, thread: Arc<Thread>) {
        self.with_residents(|residents| residents.push(thread));
    }

    /// Removes a thread that has ended. True if it was the last of the process.
    pub fn remove_resident(&self, thread: &Arc<Thread>) -> bool {
        self.with_residents(|residents| {
            residents.retain(|resident| !Arc::ptr_eq(resident, thread));
            residents.iter().all(|resident| resident.process.number != self.number)
        })
    }

    fn with_residents<T>(&self, action: impl FnOnce(&mut Vec<Arc<Thread>>) -> T) -> T {
        loop {
            let space = self.space();
            let mut translator = space.lock();
            // The process moves out only while the translator of the old space is locked.
            if Arc::ptr_eq(&space, &self.space()) {
                return action(&mut translator.residents);
            }
        }
    }

    pub fn set_space(&self, space: Arc<Space>) {
        *self.space.lock().unwrap_or_else(PoisonError::into_inner) = space;
    }
}

/// Translated code, and all that is known of it. A forked child runs in its parent's space as long as the code of both is the same:
/// the first of them that changes its code moves to a copy.
pub struct Space {
    translator: Mutex<Translator>,
    /// The zones' common code. Known without the translator, which may be waiting.
    stubs: RwLock<Vec<Stubs>>,
}

impl Space {
    pub fn new(translator: Translator) -> Space {
        let stubs = translator.cache.zones.iter().map(|zone| zone.stubs).collect();
        Space { translator: Mutex::new(translator), stubs: RwLock::new(stubs) }
    }

    /// The translator is never held while a guest is waited for: the tracer wants it too.
    /// If the thread that had it has panicked the guest is being killed, and nothing matters any more.
    pub fn lock(&self) -> MutexGuard<'_, Translator> {
        self.translator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn stubs(&self, which: impl Fn(&Stubs) -> bool) -> Option<Stubs> {
        self.stubs.read().unwrap_or_else(PoisonError::into_inner).iter().copied().find(which)
    }

    pub fn add_stubs(&self, stubs: Stubs) {
        self.stubs.write().unwrap_or_else(PoisonError::into_inner).push(stubs);
    }
}
