//! Memory shared with the guest: a memfd that both processes map.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

pub struct SharedMemory {
    file: OwnedFd,
    pointer: *mut u8,
    len: usize,
}

// SAFETY: the pointer is to a mapping that lives as long as the value; who may write where and when is a matter between
// the supervisor's service and the guest (see Context), not of Rust threads: only the service thread writes.
unsafe impl Send for SharedMemory {}
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    pub fn new(name: &CStr, len: usize) -> io::Result<SharedMemory> {
        // SAFETY: plain system calls; results are checked. Pages are only made when touched.
        unsafe {
            let fd = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            let file = OwnedFd::from_raw_fd(fd);
            if libc::ftruncate(fd, len as libc::off_t) != 0 {
                return Err(io::Error::last_os_error());
            }
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
            let pointer = libc::mmap(std::ptr::null_mut(), len, protection, flags, fd, 0);
            if pointer == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            Ok(SharedMemory { file, pointer: pointer.cast(), len })
        }
    }

    pub fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    pub fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset.checked_add(bytes.len()).is_some_and(|end| end <= self.len));
        // SAFETY: within the mapping, as just checked.
        unsafe { self.pointer.add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    /// One store, so that the guest sees the old value or the new.
    pub fn write_u64(&self, offset: usize, value: u64) {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.len);
        // SAFETY: within the mapping and aligned, as just checked.
        unsafe { self.pointer.add(offset).cast::<u64>().write_volatile(value) }
    }

    pub fn read(&self, offset: usize, len: usize) -> Vec<u8> {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.len));
        let mut bytes = vec![0; len];
        // SAFETY: within the mapping, as just checked. The guest may change the bytes meanwhile; whatever is read is taken as data.
        unsafe { self.pointer.add(offset).copy_to_nonoverlapping(bytes.as_mut_ptr(), len) }
        bytes
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, not used after this.
        unsafe { libc::munmap(self.pointer.cast(), self.len) };
    }
}
