//! Benchmarks that fpgrind is judged by.
pub mod ast;
pub mod domains;
pub mod evaluate;
pub mod libm;
pub mod number;
pub mod operators;
pub mod parse;
pub mod print;
pub mod sexpr;
pub mod fold;
pub mod sample;
pub mod truth;
