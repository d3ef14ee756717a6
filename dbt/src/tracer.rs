//! The tracer: hears of the guests' signals, children and ends through ptrace.
//!
//! It runs on the thread that launched the guest, because ptrace wants that. Translation does not pass through here.

use crate::arena::Arena;
use crate::context::{Mode, ThreadMemory};
use crate::launch::{self, Launched, registers, set_registers};
use crate::log::Publisher;
use crate::service::{Service, Statistics};
use crate::signals::{Signal, set_general, unblock};
use crate::storms::Progress;
use crate::thread::{Making, Process, Space, Thread};
use crate::{Follow, Options};
use fpgrind_analysis::log::Event;
use fpgrind_ir::MAX_OUT;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::thread::Scope;
use std::time::Duration;

/// How the guest ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Killed(i32),
}

/// What happened beside the translated execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Children that were not followed.
    pub processes: u64,
    /// Threads for which there was no memory.
    pub threads: u64,
    /// Programs that were executed and not followed.
    pub execs: u64,
}

/// A thread of a guest, in the kernel's sense.
#[derive(Default)]
pub struct Task {
    /// Nothing if it runs natively.
    pub thread: Option<Arc<Thread>>,
    /// Signals that were taken from the kernel and could not be delivered yet.
    pub undelivered: VecDeque<Signal>,
    /// What it blocked itself before all signals were blocked for it, because some wait here. It must not see that, nor pass it on: meanwhile
    /// it stops at system calls.
    pub blocked: Option<u64>,
    pub progress: Progress,
    /// Signals that were given back to the kernel because they are blocked, and what is known of them.
    pub sent_again: Vec<Signal>,
}

pub struct Tracer<'scope, 'env> {
    pub scope: &'scope Scope<'scope, 'env>,
    pub options: &'env Options,
    pub arena: Arc<Arena>,
    pub publisher: Publisher,
    pub statistics: Arc<Statistics>,
    pub tasks: FxHashMap<i32, Task>,
    /// Tasks that have been made and have not appeared yet.
    expected: FxHashMap<i32, Option<Birth>>,
    /// Tasks that have appeared before their makers said so.
    early: FxHashSet<i32>,
    processes: u32,
    threads: u32,
    seen: Seen,
}

/// What is to be known of the making of a task, by a thread that runs translated code. The maker goes on, and may make others.
struct Birth {
    maker: Arc<Thread>,
    making: Making,
    /// The maker's registers, which are the new one's.
    gpr: [u64; 16],
    restricted: u32,
    /// The maker's quiet mode: where it ends, the code for that, and where its results go.
    quiet: (u64, u64, [u64; MAX_OUT as usize]),
    /// What the maker blocks, if all signals are blocked for it. The new one blocks what its maker does.
    blocked: Option<u64>,
}

impl Birth {
    /// The maker stands in the system call.
    fn of(task: &Task) -> Option<Birth> {
        let maker = task.thread.as_ref()?;
        let making = maker.making.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let context = maker.memory.context();
        Some(Birth {
            maker: maker.clone(),
            making,
            gpr: context.gpr,
            restricted: context.restricted,
            quiet: (context.quiet_end, context.leave, context.out),
            blocked: task.blocked,
        })
    }

    /// The guest's registers behind the system call; where the new task stands they are those of our code.
    fn registers(&self, tid: i32) -> Option<libc::user_regs_struct> {
        let mut regs = registers(tid).ok()?;
        let flags = regs.r11;
        set_general(&mut regs, &self.gpr);
        (regs.rax, regs.rcx, regs.r11, regs.orig_rax) = (0, self.making.next.0, flags, u64::MAX);
        Some(regs)
    }
}

/// A stop at a system call (ptrace(2), PTRACE_O_TRACESYSGOOD).
const AT_SYSTEM_CALL: i32 = libc::SIGTRAP | 0x80;
/// How often tasks are looked at that wait for an answer, or run on, before their signals can be delivered.
const LOOK_AGAIN: Duration = Duration::from_micros(200);

impl<'scope, 'env> Tracer<'scope, 'env> {
    pub fn new(
        scope: &'scope Scope<'scope, 'env>,
        options: &'env Options,
        arena: Arc<Arena>,
        publisher: Publisher,
        statistics: Arc<Statistics>,
    ) -> Tracer<'scope, 'env> {
        Tracer {
            scope,
            options,
            arena,
            publisher,
            statistics,
            tasks: FxHashMap::default(),
            expected: FxHashMap::default(),
            early: FxHashSet::default(),
            processes: 0,
            threads: 0,
            seen: Seen::default(),
        }
    }

    /// Waits until the guest and all that came of it have ended. How the guest itself ended.
    pub fn trace(mut self, main: i32) -> (End, Seen) {
        let mut end = End::Killed(libc::SIGKILL);
        while let Some((tid, status)) = self.next_event() {
            let mut event = Some((tid, status));
            // Handling one stop may meet another.
            while let Some((tid, status)) = event.take() {
                if let Some(ended) = ended(status) {
                    self.forget(tid);
                    if tid == main {
                        end = ended;
                    }
                } else if libc::WIFSTOPPED(status) {
                    event = self.stopped(tid, status);
                }
            }
        }
        let left: Vec<i32> = self.tasks.keys().copied().collect();
        left.into_iter().for_each(|tid| self.forget(tid));
        (end, self.seen)
    }

    fn next_event(&mut self) -> Option<(i32, i32)> {
        loop {
            let postponed: Vec<i32> =
                self.tasks.iter().filter(|(_, task)| !task.undelivered.is_empty()).map(|(tid, _)| *tid).collect();
            if postponed.is_empty() {
                return wait(-1);
            }
            match look() {
                Look::Event(tid, status) => return Some((tid, status)),
                Look::Nobody => return None,
                Look::Nothing => {}
            }
            std::thread::sleep(LOOK_AGAIN);
            for tid in postponed {
                if self.tasks.get(&tid).and_then(|task| task.thread.as_ref()).is_none_or(|thread| !is_busy(thread)) {
                    // SAFETY: a ptrace call on a task of ours. It stops, and its signals are delivered.
                    unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0) };
                }
            }
        }
    }

    /// A task stands in a ptrace stop. The next event, if one came while it was handled.
    fn stopped(&mut self, tid: i32, status: i32) -> Option<(i32, i32)> {
        if !self.tasks.contains_key(&tid) {
            match self.expected.remove(&tid) {
                Some(birth) => self.begin(tid, birth),
                None => drop(self.early.insert(tid)),
            }
            return None;
        }
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            0 if signal == AT_SYSTEM_CALL => self.at_system_call(tid),
            0 => return self.deliver(tid, signal),
            // A group stop: the task stays stopped, and we go on listening (ptrace(2), group-stop).
            libc::PTRACE_EVENT_STOP
                if matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) =>
            {
                self.resume(tid, libc::PTRACE_LISTEN, 0)
            }
            libc::PTRACE_EVENT_STOP => return self.deliver_postponed(tid),
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                let made = event_message(tid) as i32;
                let birth = self.tasks.get(&tid).and_then(Birth::of);
                if self.early.remove(&made) {
                    self.begin(made, birth);
                } else {
                    self.expected.insert(made, birth);
                }
                self.resume(tid, libc::PTRACE_CONT, 0);
            }
            libc::PTRACE_EVENT_EXEC => self.executed(tid),
            _ => self.resume(tid, libc::PTRACE_CONT, 0),
        }
        None
    }

    /// If the task is gone meanwhile, the next wait tells.
    pub fn resume(&self, tid: i32, request: libc::c_uint, signal: i32) {
        let goes_on = request == libc::PTRACE_CONT;
        let watched = goes_on && self.tasks.get(&tid).is_some_and(|task| task.blocked.is_some());
        let request = if watched { libc::PTRACE_SYSCALL } else { request };
        // SAFETY: a ptrace call on a stopped task.
        unsafe { libc::ptrace(request, tid, 0, signal) };
    }

    /// A task has ended, or has become another program.
    fn forget(&mut self, tid: i32) {
        if let Some(thread) = self.tasks.remove(&tid).and_then(|task| task.thread) {
            thread.memory.thread_ended();
        }
        self.early.remove(&tid);
    }

    /// A new task stands behind the system call that made it.
    fn begin(&mut self, tid: i32, birth: Option<Birth>) {
        let mut task = Task::default();
        if let Some(birth) = birth {
            unblock(tid, birth.blocked);
            task.thread = self.translated(tid, &birth);
            if task.thread.is_none()
                && let Some(regs) = birth.registers(tid)
            {
                // It has no context of its own, so it goes on natively: its memory is that of a native process, return addresses
                // included.
                let next = birth.making.next.0;
                let _ = set_registers(tid, &libc::user_regs_struct { rip: next, gs_base: 0, ..regs });
            }
        }
        self.tasks.insert(tid, task);
        self.resume(tid, libc::PTRACE_CONT, 0);
    }

    /// Prepares a new task to run translated code. Nothing if it is not to, or cannot.
    fn translated(&mut self, tid: i32, birth: &Birth) -> Option<Arc<Thread>> {
        let Birth { maker, making, .. } = birth;
        if !making.shares_memory && self.options.follow == Follow::None {
            self.seen.processes += 1;
            return None;
        }
        let Some(memory) = ThreadMemory::new(&self.arena) else {
            *if making.shares_memory { &mut self.seen.threads } else { &mut self.seen.processes } += 1;
            return None;
        };
        let stubs = maker.process.space().stubs(|_| true)?;
        let regs = birth.registers(tid)?;
        let process = if making.shares_memory {
            maker.process.clone()
        } else {
            let overhead = maker.process.overhead.load(Ordering::Relaxed);
            self.process(maker.process.space(), overhead, Some(maker.number))
        };
        let context = memory.context();
        context.restricted = birth.restricted;
        let mut start = making.next;
        if making.keeps_stack {
            (context.quiet_end, context.leave, context.out) = birth.quiet;
        } else if start.1 == Mode::Quiet {
            // Quiet mode ends at a place on the maker's stack.
            start.1 = process.space().lock().first_mode();
        }
        let regs = libc::user_regs_struct { rip: stubs.start, gs_base: memory.address(), ..regs };
        // If it was killed meanwhile, the next wait tells.
        let _ = set_registers(tid, &regs);
        Some(self.thread(tid, process, memory, start, Some(maker)))
    }

    /// The task executed another program: everything else of it is gone.
    fn executed(&mut self, tid: i32) {
        let former = event_message(tid) as i32;
        self.forget(former);
        self.forget(tid);
        self.tasks.insert(tid, Task::default());
        if self.options.follow == Follow::All
            && let Ok(launched) = launch::attach(tid, &self.arena, self.options, &self.publisher)
        {
            self.launched(launched);
            return;
        }
        self.seen.execs += 1;
        self.resume(tid, libc::PTRACE_CONT, 0);
    }

    /// A program stands before its first instruction, ready to ask for its translation.
    pub fn launched(&mut self, launched: Launched) {
        let Launched { tid, space, memory, start, overhead } = launched;
        let process = self.process(Arc::new(space), overhead, None);
        let thread = self.thread(tid, process, memory, start, None);
        self.tasks.insert(tid, Task { thread: Some(thread), ..Task::default() });
        self.resume(tid, libc::PTRACE_CONT, 0);
    }

    fn process(&mut self, space: Arc<Space>, overhead: u64, forked_from: Option<u32>) -> Arc<Process> {
        let number = self.processes;
        self.processes += 1;
        self.publisher.send(Event::Process { process: number, forked_from });
        Arc::new(Process::new(number, space, overhead))
    }

    /// A thread, and the service that answers it.
    fn thread(
        &mut self,
        tid: i32,
        process: Arc<Process>,
        memory: ThreadMemory,
        start: crate::exits::Key,
        maker: Option<&Arc<Thread>>,
    ) -> Arc<Thread> {
        let number = self.threads;
        self.threads += 1;
        let cloned_from = maker.map(|maker| maker.number);
        self.publisher.send(Event::Thread { thread: number, process: process.number, cloned_from });
        let thread = Arc::new(Thread::new(tid, number, process.clone(), memory, start));
        // Until it asks it is in common code only; but what it keeps of its maker's quiet mode is of the maker's generation.
        thread.enters(maker.map_or(0, |maker| maker.generation()));
        process.add_resident(thread.clone());
        let service = Service {
            thread: thread.clone(),
            publisher: self.publisher.clone(),
            statistics: self.statistics.clone(),
            unwinder: Default::default(),
        };
        self.scope.spawn(move || service.serve());
        thread
    }
}

/// Does the thread wait for an answer, or make a system call for us?
pub fn is_busy(thread: &Thread) -> bool {
    let context = thread.memory.context_pointer();
    // SAFETY: both are words of their own, and any value that they have had is as good.
    unsafe { (*context).pending.load(Ordering::SeqCst) == 1 || (&raw const (*context).action).read_volatile() != 0 }
}

fn event_message(tid: i32) -> u64 {
    let mut message = 0u64;
    // SAFETY: the kernel fills our word.
    unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, tid, 0, &raw mut message) };
    message
}

/// Whom to wait for: tasks of any kind, but only those that this thread launched and traces. The process may have other children, and
/// other threads that wait for them.
const OURS: i32 = libc::__WALL | libc::__WNOTHREAD;

/// The next event of a task, or of any.
pub fn wait(tid: i32) -> Option<(i32, i32)> {
    loop {
        let mut status = 0;
        // SAFETY: a plain system call.
        let who = unsafe { libc::waitpid(tid, &mut status, OURS) };
        if who > 0 {
            return Some((who, status));
        }
        if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return None;
        }
    }
}

enum Look {
    Event(i32, i32),
    Nothing,
    Nobody,
}

fn look() -> Look {
    let mut status = 0;
    // SAFETY: a plain system call.
    match unsafe { libc::waitpid(-1, &mut status, OURS | libc::WNOHANG) } {
        0 => Look::Nothing,
        who if who > 0 => Look::Event(who, status),
        _ => Look::Nobody,
    }
}

fn ended(status: i32) -> Option<End> {
    if libc::WIFSIGNALED(status) {
        Some(End::Killed(libc::WTERMSIG(status)))
    } else {
        libc::WIFEXITED(status).then(|| End::Exited(libc::WEXITSTATUS(status)))
    }
}
