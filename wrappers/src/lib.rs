//! What library functions mean.
//!
//! The translator sees every function as code. Of some it must know more: that `exp` is one operation and not two
//! hundred instructions, that `memcpy` takes shadows along, that `printf` shows numbers to somebody. This crate
//! maps a symbol's name to that knowledge, and reads the arguments of output functions out of a call. It
//! knows nothing of processes: registers come as numbers, memory through a function.

mod call;
mod changes;
mod format;
mod fortran;
mod math;
mod mpi;
mod named;
mod outputs;
mod quiet;

pub use call::{CallState, Memory};
pub use changes::{AllocatedAt, Change, change, moves_elements};
pub use math::{Argument, At, Kind, Math, Outcome, is_extension, is_reserved, math};
pub use named::Named;
pub use outputs::{
    Format, OUTPUT_NAMES, OutputFunction, Passing, Shows, bytes_shown, foreign_output, mapped, marked, output,
    output_call, written,
};
pub use quiet::{
    is_go_runtime_function, is_math_module, is_quiet_module, is_runtime_function, is_runtime_module, is_static_writer,
};

/// What a function is to the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapper {
    /// Operations on floats, computed by their real counterparts; its own instructions are not looked at.
    Math(&'static Math),
    /// Memory is copied, overwritten or handed out, and shadows with it.
    Change(Change),
    /// Floats are shown to the outside: a spot.
    Output(OutputFunction),
}

/// The wrapper for a symbol, by its name as symbol tables spell it: `exp`, `exp@@GLIBC_2.29`, `__exp_fma`. Names are
/// all that is looked at: whether a `log` is the library's and not the program's own, the caller knows from the
/// module. For a [`foreign_output`] its name is enough.
pub fn wrapper(symbol: &str) -> Option<Wrapper> {
    math(symbol)
        .map(Wrapper::Math)
        .or_else(|| change(symbol).map(Wrapper::Change))
        .or_else(|| output(symbol).or_else(|| foreign_output(symbol)).map(Wrapper::Output))
}

/// A symbol's name without its version: `exp@@GLIBC_2.29` is `exp`.
fn unversioned(symbol: &str) -> &str {
    symbol.split('@').next().unwrap_or(symbol)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_wrapper_is_found_by_its_symbol() {
        assert!(matches!(wrapper("pow@@GLIBC_2.29"), Some(Wrapper::Math(_))));
        assert!(matches!(wrapper("memcpy@@GLIBC_2.14"), Some(Wrapper::Change(_))));
        assert!(matches!(wrapper("printf@GLIBC_2.2.5"), Some(Wrapper::Output(_))));
        for unknown in ["", "@", "main", "__", "_IO_", "free", "scanf"] {
            assert_eq!(wrapper(unknown), None, "{unknown}");
        }
    }
}
