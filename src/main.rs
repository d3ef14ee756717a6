//! The command line: reads the options, runs the program, says what was found, and ends as the program ended.

mod diff;
mod dump_ir;
mod ending;
mod help;
mod isa;
mod options;
mod output;
mod progress;
mod project;
mod reports;
mod run;
mod selection;
mod terminal;

use ending::Failure;
use options::{Misuse, Options};
use output::{print, say};

fn main() {
    let options = match Options::read() {
        Ok(options) => options,
        Err(Misuse::Asked(text)) => {
            print(&text);
            return;
        }
        Err(Misuse::Wrong(sentence)) => fail(Failure::own(sentence)),
    };
    let told = match options.command.split_first() {
        Some((name, arguments)) if name == dump_ir::NAME => Some(well(dump_ir::dump(arguments))),
        Some((name, arguments)) if name == isa::NAME => Some(well(isa::tell(arguments))),
        Some((name, arguments)) if name == help::NAME => Some(well(help::tell(arguments))),
        Some((name, arguments)) if name == help::COMPLETIONS => Some(well(help::completions(arguments))),
        Some((name, [])) if name == help::MAN => Some(well(help::man())),
        Some((name, _)) if name == reports::NAME => Some(reports::tell(&options.command).map(|text| (text, 0))),
        Some((name, _)) if name == diff::NAME => Some(diff::tell(&options.command)),
        _ => None,
    };
    match told {
        Some(Ok((text, status))) => {
            print(&text);
            std::process::exit(status)
        }
        Some(Err(Misuse::Asked(text))) => return print(&text),
        Some(Err(Misuse::Wrong(sentence))) => fail(Failure::own(sentence)),
        None => {}
    }
    let options = match options.with_project() {
        Ok(options) => options,
        Err(sentence) => fail(Failure::own(sentence)),
    };
    match run::run(&options) {
        Ok(end) => ending::end_like(&end),
        Err(failure) => fail(failure),
    }
}

fn fail(failure: Failure) -> ! {
    say(&failure.sentence);
    std::process::exit(failure.status)
}

/// What a command has to say, with the status of success.
fn well(told: Result<String, String>) -> Result<(String, i32), Misuse> {
    told.map(|text| (text, 0)).map_err(Misuse::Wrong)
}
