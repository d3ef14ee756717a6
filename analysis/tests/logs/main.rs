//! The analysis from the outside: logs written by hand, and what must come of them.

mod corrupted_logs;
mod known_answers;
mod support;
mod wide;
