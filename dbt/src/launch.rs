//! Launching the guest: fork, ptrace, exec, and before its first instruction the mappings that emitted code needs.
//!
//! The descriptor of the arena is inherited through the exec, or opened through /proc by a program that a guest executes; the arena is
//! mapped by injected system calls, and the descriptor closed again. The guest finds its descriptors as it would natively.

use crate::Options;
use crate::arena::{Arena, WINDOW};
use crate::cache::{CodeCache, ZONE_BYTES, place_zone};
use crate::context::ThreadMemory;
use crate::exits::Key;
use crate::guest::Guest;
use crate::log::Publisher;
use crate::program::Program;
use crate::tables::Tables;
use crate::thread::Space;
use crate::tracer::wait;
use crate::translate::Translator;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

#[derive(Debug)]
pub enum LaunchError {
    /// A system call on the way failed: what we were doing.
    Os(&'static str, io::Error),
    /// The kernel does not let us trace.
    PtraceForbidden(io::Error),
    /// exec failed in the child.
    Exec(io::Error),
    /// The guest was gone before its first instruction.
    Died,
    /// No address range within reach of the program's code is free.
    NoRoom,
    /// The program's mappings cannot be read.
    NoProc,
    /// An executed program is not one for this machine's 64 bits.
    NotForUs,
    /// A thread of ours panicked, and has said so.
    Internal,
}

impl std::fmt::Display for LaunchError {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            LaunchError::Os(doing, error) => write!(f, "could not {doing}: {error}"),
            LaunchError::PtraceForbidden(error) => write!(
                f,
                "the kernel forbids tracing the program ({error}); allow ptrace (sysctl kernel.yama.ptrace_scope=0, or run the container with --cap-add=SYS_PTRACE)"
            ),
            LaunchError::Exec(error) => write!(f, "could not execute the program: {error}"),
            LaunchError::Died => write!(f, "the program was killed before its first instruction"),
            LaunchError::NoProc => write!(
                f,
                "/proc does not show the program's memory, which fpgrind must know of; mount it (mount -t proc proc /proc)"
            ),
            LaunchError::NotForUs => write!(f, "the program is not a 64-bit one"),
            LaunchError::Internal => {
                write!(f, "fpgrind failed while it ran the program, which was killed; please report this")
            }
            LaunchError::NoRoom => {
                write!(f, "found no free addresses near the program's code; raise its address space limit (ulimit -v)")
            }
        }
    }
}

impl std::error::Error for LaunchError {}

/// A program that stands before its first instruction and will ask for its translation.
pub struct Launched {
    pub tid: i32,
    pub space: Space,
    pub memory: ThreadMemory,
    pub start: Key,
    /// Bytes of its address space that we use.
    pub overhead: u64,
}

/// Starts a program.
pub fn launch(
    program: &Program,
    arena: &Arc<Arena>,
    options: &Options,
    publisher: &Publisher,
) -> Result<Launched, LaunchError> {
    let pid = start(program, arena.fd())?;
    let prepared = prepare(pid, Descriptor::Inherited(arena.fd()), arena, options, publisher);
    if prepared.is_err() {
        // SAFETY: a plain system call; the child is ours.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        let _ = wait(pid);
    }
    prepared
}

/// Takes up a program that a guest has just executed. If that fails the program can run on natively.
pub fn attach(tid: i32, arena: &Arc<Arena>, options: &Options, publisher: &Publisher) -> Result<Launched, LaunchError> {
    const USER64_CS: u64 = 0x33;
    if registers(tid)?.cs != USER64_CS {
        return Err(LaunchError::NotForUs);
    }
    prepare(tid, Descriptor::Ours(arena.fd()), arena, options, publisher)
}

/// Forks, has the child wait until it is traced, and brings it to the stop behind its exec.
fn start(program: &Program, inherit: RawFd) -> Result<i32, LaunchError> {
    let c_string =
        |s: &OsStr| CString::new(s.as_bytes()).map_err(|_| LaunchError::Exec(io::ErrorKind::InvalidInput.into()));
    let path = c_string(program.path.as_os_str())?;
    let argv = program.argv.iter().map(|arg| c_string(arg)).collect::<Result<Vec<_>, _>>()?;
    let mut pointers: Vec<_> = argv.iter().map(|arg| arg.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let mut pipe = [0; 2];
    // SAFETY: system calls on our own data. Between fork and exec the child makes only async-signal-safe calls.
    unsafe {
        if libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0, pipe.as_mut_ptr()) != 0 {
            return Err(LaunchError::Os("make a socket pair", io::Error::last_os_error()));
        }
        let [ours, childs] = pipe;
        let pid = libc::fork();
        if pid < 0 {
            return Err(LaunchError::Os("fork", io::Error::last_os_error()));
        }
        if pid == 0 {
            let mut go = 0u8;
            if libc::read(childs, (&raw mut go).cast(), 1) == 1 {
                libc::fcntl(inherit, libc::F_SETFD, 0);
                crate::dispositions::restore();
                libc::execv(path.as_ptr(), pointers.as_ptr());
                let error = *libc::__errno_location();
                libc::write(childs, (&raw const error).cast(), 4);
            }
            libc::_exit(127);
        }
        libc::close(childs);
        let result = trace(pid, ours);
        libc::close(ours);
        if result.is_err() {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
        }
        result.map(|()| pid)
    }
}

/// Seizes the child, lets it exec, and waits for the stop behind the exec. With PTRACE_SEIZE, unlike TRACEME, group stops stay what
/// they are.
fn trace(pid: i32, socket: RawFd) -> Result<(), LaunchError> {
    let options = libc::PTRACE_O_EXITKILL
        | libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE;
    // SAFETY: system calls on our own child.
    unsafe {
        if libc::ptrace(libc::PTRACE_SEIZE, pid, 0, options) != 0 {
            return Err(LaunchError::PtraceForbidden(io::Error::last_os_error()));
        }
        libc::write(socket, [1u8].as_ptr().cast(), 1);
        loop {
            let (_, status) = wait(pid).ok_or(LaunchError::Died)?;
            if libc::WIFSTOPPED(status) {
                if status >> 16 == libc::PTRACE_EVENT_EXEC {
                    return Ok(());
                }
                let signal = if status >> 16 == 0 { libc::WSTOPSIG(status) } else { 0 };
                libc::ptrace(libc::PTRACE_CONT, pid, 0, signal);
                continue;
            }
            let mut error = 0i32;
            let told = libc::recv(socket, (&raw mut error).cast(), 4, libc::MSG_DONTWAIT);
            return Err(if told == 4 {
                LaunchError::Exec(io::Error::from_raw_os_error(error))
            } else {
                LaunchError::Died
            });
        }
    }
}

/// How a program gets at the arena.
enum Descriptor {
    /// It has this one.
    Inherited(RawFd),
    /// It opens this one of ours.
    Ours(RawFd),
}

fn prepare(
    tid: i32,
    descriptor: Descriptor,
    arena: &Arc<Arena>,
    options: &Options,
    publisher: &Publisher,
) -> Result<Launched, LaunchError> {
    let no_memory = || LaunchError::Os("find room in shared memory", io::ErrorKind::OutOfMemory.into());
    let mut guest = Guest::new(tid);
    let mut injector = Injector::new(tid)?;
    let entry = injector.entry;
    let mappings = guest.mappings();
    let zone = if mappings.iter().any(|mapping| mapping.contains(entry)) {
        place_zone(entry, mappings.iter().map(|m| (m.start, m.end))).ok_or(LaunchError::NoRoom)
    } else {
        Err(LaunchError::NoProc)
    };
    let prepared = zone.and_then(|zone| {
        let memory = ThreadMemory::new(arena).ok_or_else(no_memory)?;
        let mut cache = CodeCache::new(arena.clone(), options.cache_bytes);
        let piece = cache.piece().ok_or_else(no_memory)?;
        let tables = Tables::new(arena).ok_or_else(no_memory)?;
        let overhead = arena.len() as u64 + ZONE_BYTES;
        raise_memory_limit(tid, overhead);
        injector.map_arena(descriptor, arena.len())?;
        injector.call("map the code cache", piece.map_at(zone))?;
        cache.add_zone(zone, piece);
        guest.forget_mappings();
        let translator = Translator::new(guest, tables, cache, options.logging, publisher.clone());
        let start = (entry, translator.first_mode());
        Ok(Launched { tid, space: Space::new(translator), memory, start, overhead })
    });
    match prepared {
        Ok(launched) => {
            let stubs = launched.space.stubs(|_| true).ok_or(LaunchError::NoRoom)?;
            injector.finish(stubs.start, launched.memory.address())?;
            Ok(launched)
        }
        Err(error) => {
            // It can still run as it is.
            injector.finish(entry, 0)?;
            Err(error)
        }
    }
}

/// Gives a process whose address space is limited so much more of it.
pub fn raise_memory_limit(tid: i32, bytes: u64) {
    // SAFETY: the kernel fills and reads our structures.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::prlimit(tid, libc::RLIMIT_AS, std::ptr::null(), &mut limit) != 0
            || limit.rlim_cur == libc::RLIM_INFINITY
        {
            return;
        }
        let raised = |limit: u64| if limit == libc::RLIM_INFINITY { limit } else { limit.saturating_add(bytes) };
        let more = libc::rlimit { rlim_cur: raised(limit.rlim_cur), rlim_max: raised(limit.rlim_max) };
        if libc::prlimit(tid, libc::RLIMIT_AS, &more, std::ptr::null_mut()) != 0 {
            // Only the privileged may raise the hard limit.
            let more = libc::rlimit { rlim_cur: raised(limit.rlim_cur).min(limit.rlim_max), ..limit };
            libc::prlimit(tid, libc::RLIMIT_AS, &more, std::ptr::null_mut());
        }
    }
}

/// Makes system calls in a guest that has just executed, by means of a `syscall` put over its first instruction.
struct Injector {
    pid: i32,
    entry: u64,
    registers: libc::user_regs_struct,
    text: i64,
}

impl Injector {
    fn new(pid: i32) -> Result<Injector, LaunchError> {
        let entry = registers(pid)?.rip;
        // SAFETY: ptrace calls on a stopped child.
        let text = unsafe {
            let text = libc::ptrace(libc::PTRACE_PEEKTEXT, pid, entry, 0);
            // nop; syscall
            let patched = text & !0xff_ffff | 0x05_0f_90;
            libc::ptrace(libc::PTRACE_POKETEXT, pid, entry, patched);
            text
        };
        // The result of execve still overwrites rax at the first resume; the nop takes that.
        step(pid)?;
        let mut registers = registers(pid)?;
        registers.rip = entry;
        Ok(Injector { pid, entry, registers, text })
    }

    fn call(&mut self, doing: &'static str, call: [u64; 7]) -> Result<u64, LaunchError> {
        let mut regs = self.registers;
        regs.rip = self.entry + 1;
        [regs.rax, regs.rdi, regs.rsi, regs.rdx, regs.r10, regs.r8, regs.r9] = call;
        set_registers(self.pid, &regs)?;
        step(self.pid)?;
        let result = registers(self.pid)?.rax;
        let error = (result as i64).wrapping_neg();
        if (1..4096).contains(&error) {
            return Err(LaunchError::Os(doing, io::Error::from_raw_os_error(error as i32)));
        }
        Ok(result)
    }

    fn map_arena(&mut self, descriptor: Descriptor, len: usize) -> Result<(), LaunchError> {
        let fd = match descriptor {
            Descriptor::Inherited(fd) => fd as u64,
            Descriptor::Ours(fd) => self.open(&format!("/proc/{}/fd/{fd}\0", std::process::id()))?,
        };
        let protection = (libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC) as u64;
        let flags = (libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE) as u64;
        let call = [libc::SYS_mmap as u64, WINDOW, len as u64, protection, flags, fd, 0];
        let mapped = self.call("map shared memory into the program", call);
        self.call("close a descriptor", [libc::SYS_close as u64, fd, 0, 0, 0, 0, 0])?;
        mapped?;
        let advice = [libc::SYS_madvise as u64, WINDOW, len as u64, libc::MADV_DONTDUMP as u64, 0, 0, 0];
        self.call("keep shared memory out of core dumps", advice).map(drop)
    }

    /// Opens a file, whose name lies below the stack for a moment.
    fn open(&mut self, path: &str) -> Result<u64, LaunchError> {
        let guest = Guest::new(self.pid);
        let place = self.registers.rsp - 256;
        let mut before = vec![0; path.len()];
        guest.read(place, &mut before);
        guest.write(place, path.as_bytes());
        let flags = (libc::O_RDWR | libc::O_CLOEXEC) as u64;
        let opened = self
            .call("open shared memory", [libc::SYS_openat as u64, libc::AT_FDCWD as i64 as u64, place, flags, 0, 0, 0]);
        guest.write(place, &before);
        opened
    }

    /// Puts the guest's first instruction back and its registers as exec left them, but for where it goes and GS.
    fn finish(self, start: u64, gs: u64) -> Result<(), LaunchError> {
        // SAFETY: a ptrace call on a stopped child.
        unsafe { libc::ptrace(libc::PTRACE_POKETEXT, self.pid, self.entry, self.text) };
        set_registers(self.pid, &libc::user_regs_struct { rip: start, gs_base: gs, ..self.registers })
    }
}

pub fn registers(pid: i32) -> Result<libc::user_regs_struct, LaunchError> {
    // SAFETY: the kernel fills the structure, of which any bits are valid.
    unsafe {
        let mut regs = std::mem::zeroed();
        match libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut regs) {
            0 => Ok(regs),
            _ => Err(LaunchError::Os("read the program's registers", io::Error::last_os_error())),
        }
    }
}

pub fn set_registers(pid: i32, regs: &libc::user_regs_struct) -> Result<(), LaunchError> {
    // SAFETY: the kernel reads the structure.
    match unsafe { libc::ptrace(libc::PTRACE_SETREGS, pid, 0, &raw const *regs) } {
        0 => Ok(()),
        _ => Err(LaunchError::Os("set the program's registers", io::Error::last_os_error())),
    }
}

/// One instruction. A signal that comes in between is put back, to be delivered when the guest runs.
fn step(pid: i32) -> Result<(), LaunchError> {
    let mut put_back = Vec::new();
    loop {
        // SAFETY: ptrace calls on a stopped child.
        unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, pid, 0, 0) };
        let (_, status) = wait(pid).ok_or(LaunchError::Died)?;
        if !libc::WIFSTOPPED(status) {
            return Err(LaunchError::Died);
        }
        match libc::WSTOPSIG(status) {
            libc::SIGTRAP => break,
            signal => put_back.push(signal),
        }
    }
    for signal in put_back {
        // SAFETY: a plain system call.
        unsafe { libc::kill(pid, signal) };
    }
    Ok(())
}
