//! How text looks where it is shown: how wide a line may be, and whether there is colour.

/// The place where text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Characters in a line, where that can be kept.
    pub width: usize,
    pub colour: bool,
}

/// What a part of a text is.
#[derive(Clone, Copy)]
pub enum Part {
    /// Bad news, good news, and what the user should know besides.
    Bad,
    Good,
    Note,
    /// An expression.
    Main,
    /// A place in the program, or a file to look at.
    Place,
    /// What may be passed over.
    Aside,
}

impl Part {
    /// Parameters of "select graphic rendition" (ECMA-48, 8.3.117). Those that all terminals have, in colours that are the user's.
    fn rendition(self) -> &'static str {
        match self {
            Part::Bad => "1;31",
            Part::Good => "1;32",
            Part::Note => "33",
            Part::Main => "1",
            Part::Place => "36",
            Part::Aside => "2",
        }
    }
}

impl Look {
    /// In files.
    pub const PLAIN: Look = Look { width: 110, colour: false };

    pub fn paint(self, part: Part, text: &str) -> String {
        if self.colour { format!("\x1b[{}m{text}\x1b[0m", part.rendition()) } else { text.to_string() }
    }

    pub fn fits(self, line: &str) -> bool {
        visible(line) <= self.width
    }

    /// Breaks the lines that are too long between words; what goes on begins further in.
    pub fn wrap(self, text: &str) -> String {
        text.split_inclusive('\n')
            .map(|line| if self.fits(line.trim_end()) { line.into() } else { self.broken(line) })
            .collect()
    }

    fn broken(self, line: &str) -> String {
        let words = words(line.trim_end());
        let margin = line.len() - line.trim_start().len();
        // Behind the number of a cause its expression begins.
        let is_numbered = line.trim_start().trim_start_matches("\x1b[1m").starts_with(|c: char| c.is_ascii_digit());
        let deep = if is_numbered { 5 } else { margin };
        let mut lines = vec![" ".repeat(margin)];
        let mut is_first = true;
        for (blanks, word) in words {
            let Some(last) = lines.last_mut() else { break };
            let blanks = if is_first { 0 } else { blanks };
            if !is_first && visible(last) + blanks + visible(word) > self.width {
                lines.push(format!("{}{word}", " ".repeat(deep + 2)));
            } else {
                *last += &" ".repeat(blanks);
                *last += word;
            }
            is_first = false;
        }
        lines.join("\n") + "\n"
    }
}

/// The words, each with the blanks before it. A range in brackets is one word, and so is a name with its value: `x in [1, 2]`, `y = 3`.
fn words(line: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        let word = rest.trim_start_matches(' ');
        let blanks = rest.len() - word.len();
        if word.is_empty() {
            return words;
        }
        let mut end = 0;
        loop {
            end += word[end..].find(' ').unwrap_or(word.len() - end);
            let (said, next) = (&word[..end], word[end..].trim_start_matches(' '));
            let is_open = said.matches('[').count() > said.matches(']').count() + said.matches("\x1b[").count();
            let is_named =
                next.starts_with("= ") || next.starts_with("in [") || said.ends_with(" =") || said.ends_with(" in");
            if next.is_empty() || !(is_open || is_named) {
                break;
            }
            end = word.len() - next.len();
        }
        words.push((blanks, &word[..end]));
        rest = &word[end..];
    }
}

/// Characters that take room.
fn visible(text: &str) -> usize {
    let mut is_escape = false;
    let takes_room = |c: char| {
        let was_escape = is_escape || c == '\x1b';
        is_escape = if is_escape { c != 'm' } else { c == '\x1b' };
        !was_escape
    };
    text.chars().map(takes_room).filter(|takes| *takes).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_between_words_and_go_on_further_in() {
        let look = Look { width: 30, colour: false };
        let text = "  1  a + b\n     when x in [1.25, 2.75] and y in [-3, 4] or z = 5     (seen: all)\nend\n";
        let expected =
            "  1  a + b\n     when x in [1.25, 2.75]\n       and y in [-3, 4] or\n       z = 5     (seen: all)\nend\n";
        assert_eq!(look.wrap(text), expected);
        // What has no blank cannot be broken.
        let path = format!("details: {}\n", "x".repeat(40));
        assert_eq!(look.wrap(&path), format!("details:\n  {}\n", "x".repeat(40)));
        assert_eq!(
            look.wrap(&format!(" 12  {} + b + c\n", "x".repeat(22))),
            format!(" 12  {} +\n       b + c\n", "x".repeat(22))
        );
    }

    #[test]
    fn colours_take_no_room() {
        let look = Look { width: 10, colour: true };
        let painted = format!("{} {}\n", look.paint(Part::Bad, "12345"), look.paint(Part::Aside, "6789"));
        assert_eq!(painted, "\x1b[1;31m12345\x1b[0m \x1b[2m6789\x1b[0m\n");
        assert_eq!(look.wrap(&painted), painted);
        assert_eq!(Look { colour: false, ..look }.paint(Part::Bad, "x"), "x");
        let long = format!("{} bb cc", look.paint(Part::Main, "a[1, 2]"));
        assert_eq!(look.wrap(&long), "\x1b[1ma[1, 2]\x1b[0m bb\n  cc\n");
    }
}
