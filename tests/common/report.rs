//! A guest program's report, with the questions that tests ask of it.

use super::{FPGRIND, Outcome, build, expression, fpgrind, native, run, schema, scratch};
use fpbench::domains::{Native, Native64};
use fpbench::truth::{bits_of_error, truth};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

pub struct Report {
    /// Which program, how built: to be shown when a test fails.
    pub of: String,
    pub json: Value,
    pub outcome: Outcome,
    /// The folder with the report's files.
    pub folder: PathBuf,
}

/// Builds a C file, runs it natively and under fpgrind with --check, and asserts what must be true of every run: the
/// program prints and ends as it does natively, and fpgrind computed what the program did.
pub fn analyse(source: &str, flags: &[&str]) -> Report {
    let of = format!("{source} {}", flags.join(" "));
    analyse_as(of, &[build(source, flags)], &[])
}

/// The same of a command.
pub fn analyse_command<S: AsRef<OsStr>>(command: &[S], options: &[&str]) -> Report {
    let words: Vec<_> = command.iter().map(|word| word.as_ref().to_string_lossy()).collect();
    analyse_as(words.join(" "), command, options)
}

fn analyse_as<S: AsRef<OsStr>>(of: String, command: &[S], options: &[&str]) -> Report {
    let mut called = of.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    called = called[called.len().saturating_sub(150)..].into();
    let folder = scratch(&called);
    let out = folder.to_str().expect("test paths are UTF-8");
    let mut analysed = fpgrind(&[&["--check", "--out", out], options].concat(), command);
    let mut plain = native(command);
    // Programs that write files write them here.
    analysed.current_dir(&folder);
    plain.current_dir(&folder);
    let (outcome, natively) = (run(analysed, b""), run(plain, b""));
    assert_eq!((&outcome.stdout, outcome.status), (&natively.stdout, natively.status), "{of}: {}", outcome.stderr);
    let text = std::fs::read_to_string(folder.join("report.json"))
        .unwrap_or_else(|error| panic!("{of} left no report.json: {error}; it said: {}", outcome.stderr));
    let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{of}: report.json: {error}"));
    assert_eq!(json["check_failures"], Value::Array(vec![]), "{of}");
    assert_eq!(json["totals"]["corrupt_records"], 0, "{of}");
    let report = Report { of, json, outcome, folder };
    report.assert_claims_hold();
    report.assert_can_be_made_again();
    report
}

impl Report {
    pub fn causes(&self) -> &[Value] {
        self.json["causes"].as_array().map_or(&[], Vec::as_slice)
    }

    /// causes.fpcore is read back, and each core, evaluated at the worst inputs that the report names, shows the error it claims.
    fn assert_claims_hold(&self) {
        let text = std::fs::read_to_string(self.folder.join("causes.fpcore")).expect("causes.fpcore is written");
        let cores = fpbench::parse::parse(&text).unwrap_or_else(|error| panic!("{}: {error:?} in {text}", self.of));
        let inaccurate: Vec<&Value> = self.causes().iter().filter(|cause| has_core(cause)).collect();
        assert_eq!(cores.len(), inaccurate.len(), "{}: {text}", self.of);
        for (core, cause) in cores.into_iter().zip(inaccurate) {
            let claimed = number(&cause["reproduced_bits"]);
            let core = match core {
                Ok(core) => core,
                // The harness knows two formats. Of others the report itself has evaluated its expression.
                Err(error) if ["binary80", "binary128"].iter().any(|name| format!("{error:?}").contains(name)) => {
                    assert!(claimed > 5.0, "{}: {claimed} bits claimed: {cause:#}", self.of);
                    continue;
                }
                Err(error) => panic!("{}: a core is refused: {error:?} in {text}", self.of),
            };
            let values = cause["variables"].as_array().expect("variables").iter().map(|v| number(&v["worst"]));
            let inputs: Vec<Native64> =
                core.arguments.iter().zip(values).map(|(arg, value)| Native::input(value, arg.precision)).collect();
            let truth = truth(&core, &inputs, core.precision, 10_000).expect("a straight line ends");
            let shown = bits_of_error(truth.native, truth.correct, core.precision);
            assert!(shown > 5.0 || claimed < 5.0, "{}: {shown} bits shown, {claimed} claimed: {cause:#}", self.of);
        }
    }

    /// report.json is as its schema says, and has in it what the other files show.
    fn assert_can_be_made_again(&self) {
        let schema = serde_json::from_str(include_str!("../../docs/report.schema.json")).expect("the schema is JSON");
        assert_eq!(schema::violations(&schema, &self.json), Vec::<String>::new(), "{}", self.of);
        let files = [
            ("text", "report.txt"),
            ("json", "report.json"),
            ("fpcore", "causes.fpcore"),
            ("sarif", "report.sarif"),
            ("html", "report.html"),
        ];
        for (format, file) in files {
            let mut again = Command::new(FPGRIND);
            again.args(["report", "--format", format]).arg(&self.folder);
            let again = run(again, b"");
            let written = std::fs::read_to_string(self.folder.join(file)).expect("all files are written");
            assert_eq!((again.stdout, again.stderr.as_str(), again.status), (written, "", 0), "{}: {file}", self.of);
        }
    }

    /// The causes whose expression is this one, in FPCore's notation, up to renaming.
    pub fn causes_like(&self, expected: &str) -> Vec<&Value> {
        self.causes().iter().filter(|cause| expression::same(expected, text(&cause["fpcore"]))).collect()
    }

    /// The one cause there is, which must have this expression.
    pub fn only_cause(&self, expected: &str) -> &Value {
        let [cause] = self.causes() else { panic!("{}: one cause expected in {}", self.of, self.outcome.stderr) };
        assert!(
            expression::same(expected, text(&cause["fpcore"])),
            "{}: {} expected, not {}",
            self.of,
            expected,
            cause["fpcore"]
        );
        cause
    }

    pub fn spots<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.json["spots"].as_array().into_iter().flatten().filter(move |spot| spot["kind"] == kind)
    }

    /// Spots of all kinds where something was wrong.
    pub fn wrong_spots(&self) -> Vec<&Value> {
        let spots = self.json["spots"].as_array().into_iter().flatten();
        spots.filter(|spot| spot["wrong"].as_u64() != Some(0)).collect()
    }

    pub fn assert_clean(&self) {
        assert!(self.causes().is_empty(), "{}: {}", self.of, self.outcome.stderr);
        assert!(self.wrong_spots().is_empty(), "{}: {:#?}", self.of, self.wrong_spots());
        assert!(self.json["totals"]["operations"].as_u64() > Some(0), "{}: nothing was analysed", self.of);
    }
}

/// The values of a cause's variable, `seen` or `erroneous`, from the least to the greatest.
pub fn range(variable: &Value, which: &str) -> (f64, f64) {
    let ranges = &variable[which];
    let ends = ["negative", "positive"].iter().filter_map(|sign| ranges[sign].as_array()).flatten().map(number);
    let zero = (ranges["zero"] == true).then_some(0.0);
    ends.chain(zero).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)))
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| text(value).parse().expect("NaN and infinities are strings"))
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Is there something to rewrite?
fn has_core(cause: &Value) -> bool {
    !["invalid", "domain", "flushed"].contains(&text(&cause["kind"]))
}
