//! The analysis from the outside: logs written by hand, and what must come of them.

mod allocation;
mod corrupted_logs;
mod gaps;
mod guests;
mod known_answers;
mod lanes;
mod modes;
mod shadows;
mod sums;
mod support;
mod turns;
mod wide;
mod x87;
