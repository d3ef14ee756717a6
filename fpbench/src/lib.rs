//! Benchmarks that fpgrind is judged by, and the judge.
//!
//! A benchmark is an FPCore. `parse` reads it, `sample` chooses its inputs, `truth` computes by MPFR what is true on them, `emit_c`
//! and `emit_fortran` write it as a program, `batch` compiles and runs that under fpgrind, `judge` compares, `table` prints.
//! Nothing here uses the analysis' own code: a judge that shares the defendant's arithmetic proves nothing.

pub mod ast;
pub mod batch;
pub mod bench;
pub mod domains;
pub mod emit_c;
pub mod emit_fortran;
pub mod evaluate;
pub mod findings;
pub mod fold;
pub mod judge;
pub mod libm;
pub mod matching;
pub mod number;
pub mod operators;
pub mod parse;
pub mod print;
pub mod sample;
pub mod sexpr;
pub mod shape;
pub mod table;
pub mod truth;
