//! Which code the user wants analysed.

use std::fmt::Debug;
use std::path::Path;

/// Code is told by the file that it was mapped from, if it was, and its address in that file's own addressing.
pub trait Selection: Debug + Sync {
    /// Is this code to be analysed?
    fn includes(&self, file: Option<&Path>, address: u64) -> bool;
    /// Is nothing analysed until code comes with which it begins?
    fn begins_outside(&self) -> bool;
    fn begins_with(&self, file: Option<&Path>, address: u64) -> bool;
    fn ends_with(&self, file: Option<&Path>, address: u64) -> bool;
}
