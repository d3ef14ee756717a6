//! The command line: reads the options, runs the program, says what was found, and ends as the program ended.

mod dump_ir;
mod ending;
mod options;
mod output;
mod run;

use ending::{FPGRIND_FAILED, Failure};
use options::{Misuse, Options};
use output::{print, say};

fn main() {
    let options = match Options::read() {
        Ok(options) => options,
        Err(Misuse::Asked(text)) => {
            print(&text);
            return;
        }
        Err(Misuse::Wrong(sentence)) => fail(Failure { sentence, status: FPGRIND_FAILED }),
    };
    if options.command.first().is_some_and(|name| name == dump_ir::NAME) {
        match dump_ir::dump(&options.command[1..]) {
            Ok(text) => return print(&text),
            Err(sentence) => fail(Failure::own(sentence)),
        }
    }
    match run::run(&options) {
        Ok(end) => ending::end_like(&end),
        Err(failure) => fail(failure),
    }
}

fn fail(failure: Failure) -> ! {
    say(&failure.sentence);
    std::process::exit(failure.status)
}
