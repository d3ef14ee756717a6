//! Every option, its help and its limits.

use crate::project;
use crate::terminal::Colour;
use clap::error::ErrorKind;
use clap::{ArgAction, CommandFactory, Parser, ValueEnum};
use fpgrind_analysis::{Config, RealKind};
use fpgrind_dbt::Follow;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  fpgrind ./simulation input.dat        what loses the digits that the results lack?
  fpgrind --out report ./simulation     with the full report in ./report/
  fpgrind --precision 1000 ./solver     against reals of 1000 bits
  fpgrind python3 model.py --fast       any program, with options of its own
  fpgrind dump-ir ./solver main         how fpgrind reads a function (a program of that name: ./dump-ir)
  fpgrind isa                           which instructions fpgrind understands
  fpgrind report DIR --format fpcore    a report's formats again (`fpgrind report --help` lists them)
  fpgrind diff OLD NEW                  what is new or worse in one report than in another
  fpgrind help                          more on reading a report, fixing, Fortran, Python, limits, and on each option

Options can also stand in a file fpgrind.toml in the working directory: `precision = 512`, `only = [\"solve*\"]`.

The program's input, output and exit status are its own; fpgrind speaks at the end, on stderr.
Exit status: the program's; 100 if that is 0 and --fail-on finds too much error; 125 if fpgrind itself fails, 126 if the program cannot be run, 127 if it is not found.";

/// Finds the expressions behind a program's inaccurate floating-point results.
#[derive(Parser, Debug)]
#[command(
    version,
    disable_help_flag = true,
    after_help = EXAMPLES,
    override_usage = "fpgrind [OPTIONS] [--] PROGRAM [ARGS...]"
)]
pub struct Options {
    /// How much to do
    #[arg(long, value_enum, default_value_t = Mode::Analyse)]
    pub mode: Mode,

    /// What stands for the reals: MPFR, double-double, or double-double with MPFR where that leaves a doubt
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Reals::Auto)]
    pub real: Reals,

    /// Bits of MPFR's numbers, 64 to 100000
    #[arg(long, value_name = "BITS", default_value_t = Config::default().precision)]
    #[arg(allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(64..=100_000))]
    pub precision: u32,

    /// Bits of error from which an operation or a result is called inaccurate
    ///
    /// `fpgrind help local-error` says what is measured. 5 bits are one and a half decimal digits; less than that is in the nature of floating-point
    /// arithmetic, and is seldom worth mending.
    #[arg(long, value_name = "BITS", default_value_t = Config::default().threshold)]
    #[arg(allow_negative_numbers = true, value_parser = bits_of_error)]
    pub threshold: f64,

    /// Levels of operations shown in an expression, 1 to 100
    ///
    /// Deeper expressions show more of where a value came from. What is behind the last level is a variable.
    #[arg(long, value_name = "N", default_value_t = Config::default().max_depth as u16)]
    #[arg(allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub max_depth: u16,

    /// Analyse only code that fits, such as `solve*`, `file:*.f90` or `module:libvendor.so*`; the rest runs fast
    ///
    /// A pattern is the name of a function, or `file:` or `module:` and the name or the end of the path of a source file, or of a program or library; without
    /// `function:`, `file:` or `module:` it may be any of them. `*` stands for anything, `?` for a character. Several options add up.
    /// Code that the compiler inlined belongs to its own function and to the one that it is inlined into.
    ///
    /// What is not selected runs at the speed of --mode none. What it computes is taken for right; what it moves is known again where it is printed, if it has
    /// digits enough not to be mistaken.
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,

    /// Leave code out that fits
    ///
    /// Patterns are those of --only, and go before them.
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,

    /// Analyse nothing before a function that fits is entered
    ///
    /// For the thread that enters it and those that it makes from then on. Patterns are those of --only; a function that is inlined everywhere is never entered.
    #[arg(long, value_name = "PATTERN")]
    pub start_at: Vec<String>,

    /// Analyse nothing more when a function that fits is entered
    ///
    /// Until one that --start-at names is entered again. Numbers printed later are still looked at.
    #[arg(long, value_name = "PATTERN")]
    pub stop_at: Vec<String>,

    /// Memory that the analysis may take, with K, M or G: when it is short, histories and expressions are cut
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "2G")]
    pub memory: u64,

    /// Child processes to look into: none, those forked until they execute another program, or all
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = FollowChildren::Fork)]
    pub follow_children: FollowChildren,

    /// Compile nothing of the analysis: slower, for the comparison
    #[arg(long, hide = true)]
    pub no_compile: bool,

    /// Folder for the report [default: ./fpgrind-PROGRAM.PID]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write report.json to a file as well; - is stdout, after what the program prints
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Write the summary to a file instead of stderr
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,

    /// Say nothing unless something fails
    #[arg(long)]
    pub quiet: bool,

    /// Say everything that is in report.txt, and what was done
    #[arg(long, conflicts_with = "quiet")]
    pub verbose: bool,

    /// Colour in the summary: on terminals, by the rules of NO_COLOR and CLICOLOR_FORCE, or always or never
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,

    /// Compare what fpgrind computes with what the program did, operation by operation
    #[arg(long)]
    pub check: bool,

    /// Exit with status 100 if the program succeeds but an output loses more bits than this
    ///
    /// For continuous integration. A status of the program's own that is not 0 stands.
    #[arg(long, value_name = "BITS", allow_negative_numbers = true, value_parser = bits_of_error)]
    pub fail_on: Option<f64>,

    /// Speak also of operations that lose digits and reach no result
    ///
    /// A cause is an operation that loses digits which a result, a decision or a conversion lacks. What loses digits without that has harmed nobody in this run: it is
    /// told behind the causes, as reaching no result that was seen.
    #[arg(long)]
    pub all_causes: bool,

    /// File of causes not to speak of: a line each, such as `function:csqrt file:plot.c`
    ///
    /// `fpgrind report --gen-suppressions DIR` writes entries for the causes of a report. Suppressed causes are counted, and entries that fit nothing are named.
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,

    /// Analyse the instructions of the mathematical library too, instead of taking its functions for single operations
    #[arg(long)]
    pub no_wrap: bool,

    /// Take functions for single operations that a file names, a line each: `k0(double) -> double = black box`
    #[arg(long, value_name = "FILE")]
    pub wrap: Option<PathBuf>,

    /// Size of the code cache, with K or M if need be: for tests of what happens when it is full
    #[arg(long, value_name = "BYTES", value_parser = bytes, hide = true)]
    pub cache_size: Option<u64>,

    /// Say how often the program had to ask for translations, and how long that took: for benchmarks
    #[arg(long, hide = true)]
    pub statistics: bool,

    /// Print this help
    #[arg(long, short, action = ArgAction::HelpShort)]
    help: Option<bool>,

    // With trailing_var_arg, everything from the program's name on is the program's, options included.
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, hide = true)]
    pub command: Vec<OsString>,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Find the causes of inaccurate results
    Analyse,
    /// Log what would be analysed, and discard it
    Log,
    /// Run the program in translation only
    None,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reals {
    /// Double-double, and MPFR where that leaves a doubt
    Auto,
    /// Double-double: some 106 bits
    Dd,
    /// MPFR, with as many bits as --precision says
    Mpfr,
}

impl From<Reals> for RealKind {
    fn from(reals: Reals) -> RealKind {
        match reals {
            Reals::Auto => RealKind::Auto,
            Reals::Dd => RealKind::DoubleDouble,
            Reals::Mpfr => RealKind::Mpfr,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowChildren {
    /// Children run natively
    None,
    /// Those forked, until they execute another program
    Fork,
    /// Also the programs that they execute
    All,
}

impl From<FollowChildren> for Follow {
    fn from(follow: FollowChildren) -> Follow {
        match follow {
            FollowChildren::None => Follow::None,
            FollowChildren::Fork => Follow::Fork,
            FollowChildren::All => Follow::All,
        }
    }
}

impl Options {
    /// The options of this process, or what to print and the status to exit with.
    pub fn read() -> Result<Options, Misuse> {
        Options::try_parse().map_err(|error| Misuse::of(error, "fpgrind"))
    }

    /// With what the project's file says beside the command line.
    pub fn with_project(self) -> Result<Options, String> {
        let mut line: Vec<OsString> = std::env::args_os().collect();
        let given = Options::command().try_get_matches_from(&line).map_err(|error| error.to_string())?;
        let words = project::words(&given)?;
        if words.is_empty() {
            return Ok(self);
        }
        line.splice(1..1, words);
        Options::try_parse_from(line).map_err(|error| error.to_string())
    }

    pub fn analysis(&self) -> Config {
        let real = self.real.into();
        Config {
            real,
            precision: self.precision,
            threshold: self.threshold,
            max_depth: self.max_depth.into(),
            memory: usize::try_from(self.memory).unwrap_or(usize::MAX),
            all_causes: self.all_causes,
            compile_after: Config::default().compile_after.filter(|_| !self.no_compile),
        }
    }
}

/// Why there is nothing to run.
#[derive(Debug)]
pub enum Misuse {
    /// Not a misuse at all: help or version, to print on stdout.
    Asked(String),
    /// One sentence.
    Wrong(String),
}

impl Misuse {
    /// What clap has to say of a command's arguments.
    pub fn of(error: clap::Error, command: &str) -> Misuse {
        match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Misuse::Asked(error.render().to_string()),
            ErrorKind::MissingRequiredArgument if command == "fpgrind" => {
                Misuse::Wrong("no program to run was named; `fpgrind --help` shows examples".into())
            }
            ErrorKind::MissingRequiredArgument => {
                Misuse::Wrong(format!("`{command}` needs to be told of what; `{command} --help` says how"))
            }
            // clap explains at length; its first line is the part that says what is wrong.
            _ => {
                let rendered = error.render().to_string();
                let first = rendered.lines().next().unwrap_or_default();
                let problem = first.strip_prefix("error: ").unwrap_or(first);
                Misuse::Wrong(format!("{problem}; `{command} --help` lists the options"))
            }
        }
    }
}

pub fn bits_of_error(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(bits) if (0.0..=64.0).contains(&bits) => Ok(bits),
        _ => Err("it must be a number from 0 to 64".into()),
    }
}

/// `65536`, `64K`, `1M`.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30)];
    let unit = units.iter().find_map(|(letter, unit)| Some((text.strip_suffix(*letter)?, *unit)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    let number: Option<u64> = digits.parse().ok().filter(|_| digits.bytes().all(|digit| digit.is_ascii_digit()));
    let bytes = number.and_then(|number| number.checked_mul(unit)).filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| "it must be a number of bytes, such as 65536, 64K, 1M or 2G".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, Misuse> {
        Options::try_parse_from(std::iter::once(&"fpgrind").chain(arguments))
            .map_err(|error| Misuse::of(error, "fpgrind"))
    }

    fn sentence(arguments: &[&str]) -> String {
        match parse(arguments) {
            Err(Misuse::Wrong(sentence)) => sentence,
            other => panic!("{arguments:?} must be refused, but gave {other:?}"),
        }
    }

    #[test]
    fn everything_from_the_programs_name_on_is_the_programs() {
        let options = parse(&["--quiet", "prog", "--check", "-x", "--", "--out", "y"]).expect("valid");
        assert_eq!(options.command, ["prog", "--check", "-x", "--", "--out", "y"]);
        assert!(options.quiet && !options.check && options.out.is_none());
    }

    #[test]
    fn a_double_dash_ends_the_options() {
        assert_eq!(
            parse(&["--check", "--", "--odd-name", "--quiet"]).expect("valid").command,
            ["--odd-name", "--quiet"]
        );
    }

    #[test]
    fn an_unknown_option_is_named_in_one_sentence() {
        let sentence = sentence(&["--frobnicate", "prog"]);
        assert!(sentence.contains("--frobnicate") && !sentence.contains('\n'), "{sentence}");
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_the_range() {
        for precision in ["0", "63", "100001", "1000000000", "-1", "many"] {
            let sentence = sentence(&["--precision", precision, "prog"]);
            assert!(sentence.contains("precision") && !sentence.contains('\n'), "{sentence}");
        }
        for (option, value) in [("--threshold", "nan"), ("--threshold", "-1"), ("--max-depth", "0"), ("--mode", "fast")]
        {
            assert!(!sentence(&[option, value, "prog"]).contains('\n'));
        }
    }

    #[test]
    fn forked_children_are_followed_unless_told_otherwise() {
        let followed = |arguments: &[&str]| Follow::from(parse(arguments).expect("valid").follow_children);
        assert_eq!(followed(&["prog"]), Follow::default());
        assert_eq!(followed(&["--follow-children", "fork", "prog"]), Follow::Fork);
        assert_eq!(followed(&["--follow-children=none", "prog"]), Follow::None);
        assert_eq!(followed(&["--follow-children", "all", "prog"]), Follow::All);
        let sentence = sentence(&["--follow-children", "some", "prog"]);
        assert!(sentence.contains("--follow-children") && !sentence.contains('\n'), "{sentence}");
    }

    #[test]
    fn sizes_are_in_bytes_or_larger_units() {
        let size = |text| parse(&["--cache-size", text, "prog"]).expect("valid").cache_size;
        assert_eq!([size("4096"), size("64K"), size("1M")], [Some(4096), Some(64 << 10), Some(1 << 20)]);
        assert_eq!(parse(&["prog"]).expect("valid").cache_size, None);
        assert_eq!(parse(&["prog"]).expect("valid").memory, 2 << 30);
        assert_eq!(parse(&["--memory", "3G", "prog"]).expect("valid").memory, 3 << 30);
        for wrong in ["", "K", "0", "1T", "-1", "+1", "1.5M", "99999999999999999999", "18446744073709551615K"] {
            assert!(!sentence(&["--cache-size", wrong, "prog"]).contains('\n'));
        }
    }

    #[test]
    fn help_is_short_and_has_examples() {
        let Err(Misuse::Asked(help)) = parse(&["--help"]) else { panic!("--help prints help") };
        assert!(help.contains("fpgrind ./simulation") && help.lines().count() < 50, "{help}");
        assert!(help.contains("--follow-children") && !help.contains("--cache-size"), "{help}");
    }

    #[test]
    fn no_program_is_a_misuse() {
        assert!(sentence(&[]).contains("no program"));
        assert!(sentence(&["--quiet"]).contains("no program"));
    }
}
