//! Reads printf formats: which arguments does a format take, and of what kind?
//!
//! The language is that of C23 7.23.6.1 and of glibc's manual, section Formatted Output. What is no
//! conversion there takes no argument here, as in glibc.

use fpgrind_analysis::log::Conversion;

/// How an argument is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An integer of any width, a character or a pointer.
    Integer,
    Double,
    LongDouble,
    /// libquadmath's.
    Quad,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    pub kind: Kind,
    /// A float's, without flags and width: `%.3f`.
    pub conversion: Conversion,
}

/// More arguments than any sensible call has; what comes after is not looked at.
pub(crate) const MAX_ARGUMENTS: usize = 64;

/// The arguments that a format takes, in the order in which they are passed.
pub fn parse(format: &[u8]) -> Vec<Argument> {
    let mut reader = Reader { rest: format, arguments: Vec::new() };
    while let Some(percent) = reader.rest.iter().position(|byte| *byte == b'%') {
        reader.rest = &reader.rest[percent + 1..];
        reader.directive();
    }
    // An argument that a numbered format passes over is taken to be an integer, as glibc does.
    reader.arguments.into_iter().map(|argument| argument.unwrap_or(INTEGER)).collect()
}

const INTEGER: Argument = Argument { kind: Kind::Integer, conversion: Conversion::NONE };

struct Reader<'a> {
    rest: &'a [u8],
    arguments: Vec<Option<Argument>>,
}

impl Reader<'_> {
    /// What follows a percent sign.
    fn directive(&mut self) {
        let position = self.position();
        self.skip_any_of(b"-+ #0'I");
        self.width();
        let before_precision = self.rest;
        if self.take(b'.') {
            self.width();
        }
        let precision = match before_precision {
            [b'.', b'*', ..] => &before_precision[..2],
            _ => &before_precision[..before_precision.len() - self.rest.len()],
        };
        let length = self.length();
        let Some((&conversion, rest)) = self.rest.split_first() else { return };
        let kind = match conversion {
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => length,
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B' | b'c' | b'C' | b's' | b'S' | b'p' | b'n' => {
                Kind::Integer
            }
            // `%%` and `%m` take no argument.
            b'%' | b'm' => {
                self.rest = rest;
                return;
            }
            // No conversion. The byte stays: it may be text, and a NUL or percent sign must not be missed.
            _ => return,
        };
        self.rest = rest;
        let argument = match kind {
            Kind::Integer => INTEGER,
            _ => {
                let length: &[u8] = match kind {
                    Kind::LongDouble => b"L",
                    Kind::Quad => b"Q",
                    _ => b"",
                };
                let text = [b"%", precision, length, &[conversion]].concat();
                Argument { kind, conversion: Conversion::new(&String::from_utf8_lossy(&text)) }
            }
        };
        self.argument(position, argument);
    }

    /// Digits of a width or precision, or the star that takes one from the arguments.
    fn width(&mut self) {
        if self.take(b'*') {
            let position = self.position();
            self.argument(position, INTEGER);
        } else {
            self.skip_any_of(b"0123456789");
        }
    }

    /// What a floating-point conversion takes: `ll`, `q` and `L` make it one of long double (glibc treats the three alike), `Q` one of
    /// _Float128 (libquadmath).
    fn length(&mut self) -> Kind {
        let (mut long, mut quad) = (0, false);
        loop {
            match self.rest.first() {
                Some(b'l') => long += 1,
                Some(b'L' | b'q') => long = 2,
                Some(b'Q') => quad = true,
                Some(b'h' | b'j' | b'z' | b'Z' | b't') => {}
                // C23's w8 to w64 and wf8 to wf64.
                Some(b'w') => {
                    self.rest = &self.rest[1..];
                    self.take(b'f');
                    self.skip_any_of(b"0123456789");
                    continue;
                }
                _ if quad => return Kind::Quad,
                _ if long >= 2 => return Kind::LongDouble,
                _ => return Kind::Double,
            }
            self.rest = &self.rest[1..];
        }
    }

    /// `2$`, if that comes next. Otherwise nothing is consumed: digits may be a width.
    fn position(&mut self) -> Option<usize> {
        let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || self.rest.get(digits) != Some(&b'$') {
            return None;
        }
        let number = std::str::from_utf8(&self.rest[..digits]).ok()?.parse().unwrap_or(usize::MAX);
        self.rest = &self.rest[digits + 1..];
        Some(number)
    }

    fn argument(&mut self, position: Option<usize>, argument: Argument) {
        let Some(index) = position.unwrap_or(self.arguments.len() + 1).checked_sub(1) else { return };
        if index >= MAX_ARGUMENTS {
            return;
        }
        if index >= self.arguments.len() {
            self.arguments.resize(index + 1, None);
        }
        // An argument used twice is one argument: what it was first is what it is.
        self.arguments[index].get_or_insert(argument);
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn skip_any_of(&mut self, set: &[u8]) {
        let count = self.rest.iter().take_while(|byte| set.contains(byte)).count();
        self.rest = &self.rest[count..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The arguments as letters: a conversion for integers and doubles, `L` before one for long doubles.
    fn kinds(format: &str) -> String {
        parse(format.as_bytes())
            .iter()
            .map(|argument| match argument.kind {
                Kind::Integer => "i".to_string(),
                _ => argument.conversion.text().trim_start_matches(['%', '.', '*', '0', '2', '5']).to_string(),
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn conversions_take_the_arguments_that_c_says() {
        assert_eq!(kinds("no conversions, 100%% sure: %m"), "");
        assert_eq!(kinds("%d %i %o %u %x %X %b %c %C %s %S %p %n"), ["i"; 13].join(" "));
        assert_eq!(kinds("%a%A%e%E%f%F%g%G"), "a A e E f F g G");
        assert_eq!(kinds("%hhd %hd %ld %lld %qd %jd %zd %Zd %td %w32d %wf64x %lc %ls"), ["i"; 13].join(" "));
        assert_eq!(kinds("%lf %Lf %llg %qe %.20Qg"), "f Lf Lg Le Qg");
    }

    #[test]
    fn flags_widths_and_precisions_are_passed_over() {
        assert_eq!(kinds("%-+ #0'12.5f|%.f|%5g|%'.2f|%I5d"), "f f g f i");
        assert_eq!(kinds("%*.*f %*d %.*e"), "i i f i i i e");
    }

    #[test]
    fn numbered_arguments_come_in_the_order_of_their_numbers() {
        assert_eq!(kinds("%2$f %1$d"), "i f");
        assert_eq!(kinds("%1$*3$.*2$f"), "f i i");
        assert_eq!(kinds("%3$g"), "i i g");
        assert_eq!(kinds("%1$f %1$g %1$e"), "f");
    }

    #[test]
    fn what_is_no_conversion_takes_no_argument() {
        assert_eq!(kinds("%"), "");
        assert_eq!(kinds("%5"), "");
        assert_eq!(kinds("%y %f"), "f");
        assert_eq!(kinds("%.-5f %g"), "g");
        assert_eq!(kinds("%0$f %g"), "g");
        assert_eq!(kinds("%99999999999999999999$f"), "");
        assert_eq!(parse(&b"%f".repeat(1000)).len(), MAX_ARGUMENTS);
    }

    /// One directive, built with what it must be read as.
    fn directive() -> impl Strategy<Value = (String, Vec<Argument>)> {
        let star = INTEGER;
        let width = move || {
            prop_oneof![
                Just((String::new(), vec![])),
                (1u32..5000).prop_map(|n| (n.to_string(), vec![])),
                Just(("*".to_string(), vec![star])),
            ]
        };
        let precision = prop_oneof![
            Just((String::new(), vec![])),
            width().prop_map(|(text, arguments)| (format!(".{text}"), arguments)),
        ];
        let conversion = prop_oneof![
            (prop::sample::select(vec!["", "l", "h"]), prop::sample::select(b"aAeEfFgG".to_vec()))
                .prop_map(|(length, letter)| (length, letter, Some(Kind::Double))),
            (prop::sample::select(vec!["L", "ll", "q"]), prop::sample::select(b"aAeEfFgG".to_vec()))
                .prop_map(|(length, letter)| (length, letter, Some(Kind::LongDouble))),
            (
                prop::sample::select(vec!["", "hh", "h", "l", "ll", "q", "j", "z", "t", "L"]),
                prop::sample::select(b"diouxXcCsSpn".to_vec())
            )
                .prop_map(|(length, letter)| (length, letter, Some(Kind::Integer))),
            prop::sample::select(b"%m".to_vec()).prop_map(|letter| ("", letter, None)),
        ];
        ("[^%\0]{0,5}", "[-+ #0']{0,3}", width(), precision, conversion).prop_map(
            |(text, flags, width, precision, (length, letter, kind))| {
                let directive = format!("{text}%{flags}{}{}{length}{}", width.0, precision.0, letter as char);
                let own = kind.map(|kind| match kind {
                    Kind::Integer => INTEGER,
                    _ => {
                        let length = if kind == Kind::LongDouble { "L" } else { "" };
                        let text = format!("%{}{length}{}", precision.0, letter as char);
                        Argument { kind, conversion: Conversion::new(&text) }
                    }
                });
                (directive, width.1.into_iter().chain(precision.1).chain(own).collect())
            },
        )
    }

    proptest! {
        #[test]
        fn a_format_takes_the_arguments_of_its_directives_in_order(
            directives in prop::collection::vec(directive(), 0..20)
        ) {
            let format: String = directives.iter().map(|(text, _)| text.as_str()).collect();
            let expected: Vec<Argument> = directives.into_iter().flat_map(|(_, arguments)| arguments).collect();
            prop_assert_eq!(parse(format.as_bytes()), expected);
        }

        #[test]
        fn any_bytes_are_read_without_trouble(
            format in prop::collection::vec(prop_oneof![Just(b'%'), any::<u8>()], 0..200)
        ) {
            prop_assert!(parse(&format).len() <= MAX_ARGUMENTS);
        }

        #[test]
        fn numbering_the_arguments_in_order_changes_nothing(
            letters in prop::collection::vec(prop::sample::select(b"dsfgLe".to_vec()), 0..30)
        ) {
            let text = |letter: u8| if letter == b'L' { "Lf".to_string() } else { (letter as char).to_string() };
            let plain: String = letters.iter().map(|letter| format!("%{}", text(*letter))).collect();
            let numbered: String =
                letters.iter().enumerate().rev().map(|(i, letter)| format!("%{}${}", i + 1, text(*letter))).collect();
            prop_assert_eq!(parse(plain.as_bytes()), parse(numbered.as_bytes()));
        }
    }
}
