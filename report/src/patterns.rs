//! Patterns that name code: `function:solve*`, `file:src/*.c`, `module:libm.so*`.
//!
//! In a pattern `*` stands for anything and `?` for one character. A function fits with or without its parameters, a file or module by its
//! name or by the end of its path: as many folders as the pattern has.

use std::path::Path;

pub fn function_fits(pattern: &str, function: &str) -> bool {
    let bare = function.split('(').next().unwrap_or(function);
    glob(pattern, function) || glob(pattern, bare)
}

pub fn path_fits(pattern: &str, path: &Path) -> bool {
    let whole = path.to_string_lossy();
    let parts = pattern.matches('/').count() + 1;
    let end = whole.rmatch_indices('/').nth(parts - 1).map_or(&*whole, |(at, _)| &whole[at + 1..]);
    glob(pattern, &whole) || glob(pattern, end)
}

/// Whether a text fits a pattern: what the last `*` covers grows until the rest fits.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, covered)) => {
                    star = Some((at, covered + 1));
                    (p, t) = (at + 1, covered + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|rest| *rest == '*')
}
