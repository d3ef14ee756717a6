//! `fpgrind.toml`: a project's options, in the folder where fpgrind is run. Keys are the names of the long options; what the command line
//! says comes first.

use crate::options::Options;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory};
use std::ffi::OsString;
use toml_edit::{Document, Item, Value};

pub const FILE: &str = "fpgrind.toml";

/// The words that the project's file adds to a command line. What is wrong is told in a sentence with the line.
pub fn words(given: &ArgMatches) -> Result<Vec<OsString>, String> {
    match std::fs::read_to_string(FILE) {
        Ok(text) => words_of(&text, given),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("{FILE} cannot be read: {error}")),
    }
}

fn words_of(text: &str, given: &ArgMatches) -> Result<Vec<OsString>, String> {
    let place = |offset: usize| format!("{FILE}:{}", 1 + text[..offset.min(text.len())].matches('\n').count());
    let document = Document::parse(text).map_err(|error| {
        let at = place(error.span().map_or(0, |span| span.start));
        format!("{at}: {}", error.message().lines().collect::<Vec<_>>().join("; "))
    })?;
    let mut words = Vec::new();
    for (name, item) in document.iter() {
        let key = document.key(name);
        let at = place(key.and_then(|key| key.span()).or(item.span()).map_or(0, |span| span.start));
        let command = Options::command();
        let option = command.get_arguments().find(|option| option.get_long() == Some(name) && is_setting(option));
        let Some(option) = option else {
            return Err(format!("{at}: there is no option \"{name}\"; `fpgrind --help` lists the options"));
        };
        let values = values(option, item).ok_or_else(|| format!("{at}: \"{name}\" wants {}", wanted(option)))?;
        let option_words: Vec<OsString> = values
            .into_iter()
            .map(|value| value.map_or(format!("--{name}"), |value| format!("--{name}={value}")).into())
            .collect();
        // Each is tried on its own, so that what is wrong has its line.
        let tried = [OsString::from("fpgrind")].into_iter().chain(option_words.clone()).chain(["program".into()]);
        Options::command().try_get_matches_from(tried).map_err(|error| {
            let rendered = error.render().to_string();
            let first = rendered.lines().next().unwrap_or_default();
            format!("{at}: {}", first.strip_prefix("error: ").unwrap_or(first))
        })?;
        if given.value_source(option.get_id().as_str()) != Some(ValueSource::CommandLine) {
            words.extend(option_words);
        }
    }
    Ok(words)
}

/// Those that only ask for something to be printed are not.
fn is_setting(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Set | ArgAction::SetTrue | ArgAction::Append)
}

fn wanted(option: &Arg) -> &'static str {
    match option.get_action() {
        ArgAction::SetTrue => "true or false",
        ArgAction::Append => "a text, or several in brackets",
        _ => "a text or a number",
    }
}

/// The values that an option is given, none for one that is just said. Nothing if the file has something else there.
fn values(option: &Arg, item: &Item) -> Option<Vec<Option<String>>> {
    match (option.get_action(), item.as_value()?) {
        (ArgAction::SetTrue, Value::Boolean(said)) => Some(if *said.value() { vec![None] } else { Vec::new() }),
        (ArgAction::SetTrue, _) => None,
        (ArgAction::Append, Value::Array(array)) => array.iter().map(|value| text(value).map(Some)).collect(),
        (_, value) => Some(vec![Some(text(value)?)]),
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        Value::Float(number) => Some(number.value().to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, line: &[&str]) -> Result<Vec<OsString>, String> {
        let line = ["fpgrind"].iter().chain(line).chain(&["program"]);
        words_of(text, &Options::command().try_get_matches_from(line).expect("a valid line"))
    }

    #[test]
    fn keys_are_the_long_options() {
        let text = "precision = 512 # bits\nthreshold = 7.5\nonly = [\"solve*\", \"file:a.c\"]\nquiet = true\ncheck = false\nout='r'\n";
        let expected = ["--precision=512", "--threshold=7.5", "--only=solve*", "--only=file:a.c", "--quiet", "--out=r"];
        assert_eq!(read(text, &[]).expect("valid"), expected);
        assert_eq!(read("", &[]).expect("valid"), [""; 0]);
    }

    #[test]
    fn the_command_line_comes_first() {
        let text = "precision = 512\nonly = \"solve\"\nexclude = \"main\"\n";
        assert_eq!(read(text, &["--precision", "256", "--only", "f"]).expect("valid"), ["--exclude=main"]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line_in_a_sentence() {
        for (text, line, said) in [
            ("\nprecison = 3\n", 2, "precison"),
            ("precision = 3\n", 1, "3"),
            ("quiet = 'yes'\n", 1, "true or false"),
            ("a = 1\n", 1, "\"a\""),
            ("quiet = true\n\nonly = [1, [2]]\n", 3, "brackets"),
            ("help = true\n", 1, "help"),
            ("command = 'ls'\n", 1, "command"),
            ("[out]\nx = 1\n", 1, "out"),
            ("quiet = true\nout = \n", 2, ""),
            ("mode = 'fast'\n", 1, "fast"),
        ] {
            let sentence = read(text, &[]).expect_err(text);
            let at = format!("fpgrind.toml:{line}: ");
            assert!(sentence.starts_with(&at) && sentence.contains(said) && !sentence.contains('\n'), "{sentence}");
        }
    }
}
