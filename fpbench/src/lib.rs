//! Benchmarks that fpgrind is judged by.
pub mod ast;
pub mod domains;
pub mod emit_c;
pub mod emit_fortran;
pub mod evaluate;
pub mod fold;
pub mod libm;
pub mod number;
pub mod operators;
pub mod parse;
pub mod print;
pub mod sample;
pub mod sexpr;
pub mod shape;
pub mod truth;
