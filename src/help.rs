//! `fpgrind help TOPIC|OPTION`, the man page and the shells' completions: all from the definitions that `--help` is made from.

use crate::options::Options;
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;
use std::ffi::OsString;
use std::fmt::Write;

pub const NAME: &str = "help";
pub const COMPLETIONS: &str = "completions";
/// For `make install`.
pub const MAN: &str = "manpage";

struct Topic {
    name: &'static str,
    about: &'static str,
    text: &'static str,
}

const TOPICS: [Topic; 7] = [
    Topic { name: "reading", about: "what a report says", text: include_str!("help/reading.txt") },
    Topic { name: "local-error", about: "why an operation is blamed", text: include_str!("help/local-error.txt") },
    Topic { name: "compensation", about: "sums that repair themselves", text: include_str!("help/compensation.txt") },
    Topic { name: "herbie", about: "from a cause to a better expression", text: include_str!("help/herbie.txt") },
    Topic { name: "fortran", about: "programs in Fortran", text: include_str!("help/fortran.txt") },
    Topic { name: "python", about: "programs in Python", text: include_str!("help/python.txt") },
    Topic { name: "limits", about: "what fpgrind does not see", text: include_str!("help/limits.txt") },
];

/// What `fpgrind help` has to say.
pub fn tell(arguments: &[OsString]) -> Result<String, String> {
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().to_lowercase()).collect();
    // `fpgrind help local error` is as good as `local-error`.
    let wanted = words.join("-");
    if wanted.is_empty() {
        return Ok(contents());
    }
    let name = wanted.trim_start_matches('-');
    if let Some(topic) = topic(name).filter(|_| !wanted.starts_with("--")) {
        return Ok(topic.text.into());
    }
    let command = Options::command();
    let option = command.get_arguments().find(|option| option.get_long() == Some(name));
    option
        .map(about_option)
        .ok_or_else(|| format!("there is no help on \"{}\"; `fpgrind help` lists what there is", words.join(" ")))
}

/// By its name, or a word of it: `reading a report`, `fixing with herbie`.
fn topic(wanted: &str) -> Option<&'static Topic> {
    let is = |topic: &&Topic| wanted == topic.name || wanted.split('-').any(|word| word == topic.name);
    TOPICS.iter().find(is)
}

fn contents() -> String {
    let mut text = String::from("fpgrind help TOPIC explains one of\n\n");
    for Topic { name, about, .. } in &TOPICS {
        let _ = writeln!(text, "  {name:<14} {about}");
    }
    text.push_str("\nfpgrind help OPTION says more of an option:\n\n ");
    let command = Options::command();
    for name in command.get_arguments().filter(|option| !option.is_hide_set()).filter_map(Arg::get_long) {
        let line = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
        text.push_str(if line + name.len() > 76 { "\n  " } else { " " });
        text.push_str(name);
    }
    text.push('\n');
    text
}

fn about_option(option: &Arg) -> String {
    let name = option.get_long().unwrap_or_default();
    let takes_values = option.get_action().takes_values();
    let value = option.get_value_names().filter(|_| takes_values).and_then(|names| names.first());
    let mut text = format!("--{name}{}\n", value.map_or(String::new(), |value| format!(" {value}")));
    let about = option.get_long_help().or(option.get_help()).map(ToString::to_string).unwrap_or_default();
    about.split("\n\n").for_each(|paragraph| text.push_str(&format!("\n{}\n", wrapped(paragraph))));
    let possible = option.get_possible_values();
    if takes_values && !possible.is_empty() {
        text.push('\n');
        for value in possible {
            let about = value.get_help().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {:<10} {about}", value.get_name());
        }
    }
    let defaults: Vec<_> = option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_values && !defaults.is_empty() {
        let _ = writeln!(text, "\nIf it is not given: {}", defaults.join(" "));
    }
    text
}

/// A paragraph in lines of fewer than 80 characters.
fn wrapped(paragraph: &str) -> String {
    let mut text = String::new();
    let mut length = 0;
    for word in paragraph.split_whitespace() {
        let width = word.chars().count();
        let fits = length + 1 + width < 80;
        if length > 0 {
            text.push(if fits { ' ' } else { '\n' });
        }
        length = if length > 0 && fits { length + 1 + width } else { width };
        text.push_str(word);
    }
    text
}

/// The commands beside that of running a program, for the man page and completions.
fn described() -> Command {
    Options::command()
        .mut_arg("command", |argument| argument.hide(false).value_hint(clap::ValueHint::CommandWithArguments))
}

pub fn completions(arguments: &[OsString]) -> Result<String, String> {
    let shell = match arguments {
        [shell] => shell.to_str(),
        _ => None,
    };
    let shell = match shell {
        Some("bash") => Shell::Bash,
        Some("zsh") => Shell::Zsh,
        Some("fish") => Shell::Fish,
        _ => return Err("completions are there for bash, zsh or fish: say `fpgrind completions bash`".into()),
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut described(), "fpgrind", &mut script);
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// The man page, in roff.
pub fn man() -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    let man = clap_mangen::Man::new(described());
    let mut page = Vec::new();
    man.render_title(&mut page).map_err(failed)?;
    man.render_name_section(&mut page).map_err(failed)?;
    man.render_synopsis_section(&mut page).map_err(failed)?;
    man.render_options_section(&mut page).map_err(failed)?;
    man.render_extra_section(&mut page).map_err(failed)?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    for Topic { about, text, .. } in &TOPICS {
        let _ = write!(page, ".SH \"{}\"\n.nf\n", about.to_uppercase());
        for line in text.lines() {
            // A line that begins with a dot or a quote would be a command of roff's.
            let line = line.replace('\\', "\\e").replace('-', "\\-");
            let _ = writeln!(page, "{}{line}", if line.starts_with(['.', '\'']) { "\\&" } else { "" });
        }
        page.push_str(".fi\n");
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(words: &[&str]) -> Result<String, String> {
        tell(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn every_topic_and_every_option_has_help() {
        let contents = help(&[]).expect("contents");
        for topic in &TOPICS {
            assert!(contents.contains(topic.name) && help(&[topic.name]).expect(topic.name).len() > 300);
            assert!(topic.text.lines().all(|line| line.chars().count() < 80), "{}: a long line", topic.name);
        }
        for option in Options::command().get_arguments().filter_map(Arg::get_long) {
            for name in [option.to_string(), format!("--{option}")] {
                let text = help(&[&name]).expect(option);
                assert!(text.starts_with(&format!("--{option}")) && text.lines().count() > 2, "{text}");
                assert!(text.lines().all(|line| line.chars().count() < 100), "{text}");
            }
        }
    }

    #[test]
    fn topics_are_found_by_what_people_say() {
        for (words, begins) in [
            (&["reading", "a", "report"][..], "Reading a report"),
            (&["local", "error"], "Local error"),
            (&["local-error"], "Local error"),
            (&["fixing", "with", "Herbie"], "Fixing with Herbie"),
            (&["Fortran"], "Fortran"),
        ] {
            assert!(help(words).expect("a topic").starts_with(begins), "{words:?}");
        }
        assert!(help(&["nonsense"]).is_err_and(|sentence| sentence.contains("nonsense") && !sentence.contains('\n')));
    }

    #[test]
    fn the_man_page_and_completions_have_every_option_that_help_has() {
        let texts = [man().expect("a page").replace("\\-", "-")]
            .into_iter()
            .chain(["bash", "zsh", "fish"].map(|shell| completions(&[shell.into()]).expect(shell)));
        let command = Options::command();
        for (number, text) in texts.enumerate() {
            for option in command.get_arguments().filter(|option| !option.is_hide_set()).filter_map(Arg::get_long) {
                assert!(text.contains(option), "text {number} lacks {option}");
            }
        }
        assert!(completions(&["tcsh".into()]).is_err());
    }
}
