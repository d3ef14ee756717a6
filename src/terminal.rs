//! What is known of the terminal that stderr may be.

use clap::ValueEnum;
use fpgrind_report::Look;
use std::io::IsTerminal;

/// A line where nothing tells how wide it may be.
const USUAL_WIDTH: usize = 80;
/// Neither narrower nor wider lines can be read.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=160;

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// On a terminal, unless NO_COLOR is set; CLICOLOR_FORCE asks for it anywhere
    Auto,
    Always,
    Never,
}

/// How to write to stderr, or to something that is no terminal.
pub fn look(colour: Colour, is_stderr: bool) -> Look {
    let is_terminal = is_stderr && is_terminal();
    let width = if is_terminal { width() } else { None };
    let width = width.unwrap_or(USUAL_WIDTH).clamp(*WIDTHS.start(), *WIDTHS.end());
    Look { width, colour: colour.is_wanted(is_terminal, |name| std::env::var(name).ok()) }
}

/// Is stderr a terminal that can move its cursor?
pub fn is_terminal() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|kind| kind != "dumb")
}

impl Colour {
    /// The usual rules: <https://no-color.org>, <https://bixense.com/clicolors>.
    fn is_wanted(self, is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let is_on = |name: &str| is_set(name) && variable(name).is_some_and(|value| value != "0");
        match self {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto if is_set("NO_COLOR") => false,
            Colour::Auto if is_on("CLICOLOR_FORCE") => true,
            Colour::Auto => is_terminal && (!is_set("CLICOLOR") || is_on("CLICOLOR")),
        }
    }
}

/// Columns of the terminal, if it says so.
pub fn width() -> Option<usize> {
    // SAFETY: the structure is plain numbers, and the call fills it or fails.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        (libc::ioctl(libc::STDERR_FILENO, libc::TIOCGWINSZ, &mut size) == 0).then_some(size)
    };
    size.map(|size| size.ws_col.into()).filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_by_the_usual_rules() {
        let wanted = |colour: Colour, is_terminal, set: &[(&str, &str)]| {
            colour.is_wanted(is_terminal, |name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
            })
        };
        use Colour::{Always, Auto, Never};
        assert!(wanted(Auto, true, &[]) && !wanted(Auto, false, &[]));
        assert!(!wanted(Auto, true, &[("NO_COLOR", "1")]) && wanted(Auto, true, &[("NO_COLOR", "")]));
        assert!(wanted(Auto, false, &[("CLICOLOR_FORCE", "1")]) && !wanted(Auto, false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!wanted(Auto, true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        assert!(!wanted(Auto, true, &[("CLICOLOR", "0")]) && wanted(Auto, true, &[("CLICOLOR", "1")]));
        assert!(wanted(Always, false, &[("NO_COLOR", "1")]) && !wanted(Never, true, &[("CLICOLOR_FORCE", "1")]));
    }
}
