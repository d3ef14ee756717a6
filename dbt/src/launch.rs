//! Launching the guest: fork, ptrace, exec, and before its first instruction the mappings that emitted code needs.
//!
//! Descriptors of the shared memory are inherited through the exec, mapped by injected system calls and closed again; the
//! guest finds its descriptors as it would natively.

use crate::cache::{CACHE_BYTES, CodeCache, ZONE_BYTES, place_zone};
use crate::context::{CONTEXT_BYTES, ContextView};
use crate::guest::Guest;
use crate::program::Program;
use crate::ring::{RING_BYTES, RING_START, Ring};
use crate::shared::SharedMemory;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;

/// Where the context and the window onto the code cache lie in the guest: far from where Linux puts programs, libraries, heaps and
/// stacks, and where sanitisers' shadow memory leaves a hole.
const CONTEXT_ADDRESS: u64 = 0x2a00_0000_0000;
const WINDOW_ADDRESS: u64 = 0x2b00_0000_0000;

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

/// A guest that stands before its first instruction and will ask for its translation.
pub struct Launched {
    pub guest: Guest,
    pub context: ContextView,
    pub ring: Ring,
    pub cache: CodeCache,
    /// The guest pc of its first instruction.
    pub entry: u64,
}

pub fn launch(program: &Program) -> Result<Launched, LaunchError> {
    let memory = |name, len| SharedMemory::new(name, len).map_err(|error| LaunchError::Os("make shared memory", error));
    let context = memory(c"fpgrind-context", CONTEXT_BYTES)?;
    let ring = memory(c"fpgrind-ring", RING_BYTES)?;
    let cache = memory(c"fpgrind-cache", CACHE_BYTES)?;
    let pid = start(program, &[context.fd(), ring.fd(), cache.fd()])?;
    let inherited = [context.fd(), ring.fd(), cache.fd()];
    let prepared =
        prepare(pid, inherited, ContextView(context), Ring(ring), CodeCache { memory: cache, zones: Vec::new() });
    if prepared.is_err() {
        // SAFETY: a plain system call; the child is ours.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        let _ = wait(pid);
    }
    prepared
}

/// Forks, has the child wait until it is traced, and brings it to the stop behind its exec.
fn start(program: &Program, inherit: &[RawFd]) -> Result<i32, LaunchError> {
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
                for fd in inherit {
                    libc::fcntl(*fd, libc::F_SETFD, 0);
                }
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
            let status = wait(pid).ok_or(LaunchError::Died)?;
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

fn prepare(
    pid: i32,
    fds: [RawFd; 3],
    context: ContextView,
    ring: Ring,
    mut cache: CodeCache,
) -> Result<Launched, LaunchError> {
    let mut guest = Guest::new(pid);
    let mut injector = Injector::new(pid)?;
    let entry = injector.entry;
    let [context_fd, ring_fd, cache_fd] = fds;
    let rw = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    let rx = (libc::PROT_READ | libc::PROT_EXEC) as u64;
    let start = place_zone(entry, guest.mappings().iter().map(|m| (m.start, m.end))).ok_or(LaunchError::NoRoom)?;
    injector.map(CONTEXT_ADDRESS, CONTEXT_BYTES, rw, context_fd)?;
    injector.map(RING_START, RING_BYTES, rw, ring_fd)?;
    injector.map(WINDOW_ADDRESS, CACHE_BYTES, rx, cache_fd)?;
    injector.call("map the code cache", zone_call(0, start))?;
    for fd in fds {
        injector.call("close a descriptor", [libc::SYS_close as u64, fd as u64, 0, 0, 0, 0, 0])?;
    }
    cache.add_zone(start);
    // SAFETY: the context is mapped, and the guest stopped.
    unsafe {
        (*context.get()).address = CONTEXT_ADDRESS;
        (*context.get()).cursor = RING_START;
    }
    injector.finish(cache.zones[0].stubs.start, CONTEXT_ADDRESS)?;
    guest.forget_mappings();
    Ok(Launched { guest, context, ring, cache, entry })
}

/// The system call that makes a zone at `start` of a piece of the code cache.
pub fn zone_call(offset: usize, start: u64) -> [u64; 7] {
    let flags = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as u64;
    [libc::SYS_mremap as u64, WINDOW_ADDRESS + offset as u64, 0, ZONE_BYTES, flags, start, 0]
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

    fn map(&mut self, address: u64, len: usize, protection: u64, fd: RawFd) -> Result<(), LaunchError> {
        let flags = (libc::MAP_SHARED | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE) as u64;
        let call = [libc::SYS_mmap as u64, address, len as u64, protection, flags, fd as u64, 0];
        self.call("map shared memory into the program", call).map(drop)
    }

    /// Puts the guest's first instruction back and its registers as exec left them, but for where it goes and GS.
    fn finish(self, start: u64, gs: u64) -> Result<(), LaunchError> {
        // SAFETY: a ptrace call on a stopped child.
        unsafe { libc::ptrace(libc::PTRACE_POKETEXT, self.pid, self.entry, self.text) };
        set_registers(self.pid, &libc::user_regs_struct { rip: start, gs_base: gs, ..self.registers })?;
        // SAFETY: as above.
        unsafe { libc::ptrace(libc::PTRACE_CONT, self.pid, 0, 0) };
        Ok(())
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
        let status = wait(pid).ok_or(LaunchError::Died)?;
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

fn wait(pid: i32) -> Option<i32> {
    let mut status = 0;
    // SAFETY: a plain system call.
    (unsafe { libc::waitpid(pid, &mut status, libc::__WALL) } == pid).then_some(status)
}
