//! Runs a program under the translator, with as much analysis as was asked for, and says what was found.

use crate::ending::{FPGRIND_FAILED, Failure, INACCURATE};
use crate::options::{Mode, Options};
use crate::output::{Copy, Summary, default_folder, prepare_folder, say};
use crate::progress::{self, Progress};
use crate::selection::{self, Selected};
use fpgrind_analysis::Analysis;
use fpgrind_analysis::log::Event;
use fpgrind_dbt::program::{self, Program};
use fpgrind_dbt::{End, Logging, Run, Selection};
use fpgrind_report::{Format, Report, RunInfo, Suppressions};
use fpgrind_wrappers::Named;
use std::path::PathBuf;
use std::time::Instant;

/// Runs the program that the options name to its end. Nothing is started unless what the report needs is there.
pub fn run(options: &Options) -> Result<End, Failure> {
    let program = program::resolve(options.command.clone())
        .map_err(|error| Failure { sentence: error.to_string(), status: error.exit_status() })?;
    let named = read_named(options).map_err(Failure::own)?;
    let selected = selection::of(options);
    if options.mode != Mode::Analyse
        && (options.fail_on.is_some() || options.suppressions.is_some() || options.json.is_some())
    {
        return Err(Failure::own("--fail-on, --suppressions and --json need an analysis; leave --mode out".into()));
    }
    let mut summary = Summary::open(options.log.as_deref(), options.quiet).map_err(Failure::own)?;
    match options.mode {
        Mode::Analyse => analyse(&program, options, named, selected, &mut summary),
        Mode::Log => {
            let selection = selected.map(|selected| selected as &dyn Selection);
            let logging =
                Logging { check: options.check, discard: true, inside_math: options.no_wrap, named, selection };
            let run = translate(&program, options, Some(logging), |_| {})?;
            summary.write(&remarks_of(&run));
            summary.write(&format!("fpgrind: {} bytes of log were written and discarded\n", run.logged));
            Ok(run.end)
        }
        Mode::None => {
            // What ran natively matters to an analysis, of which there is none.
            translate(&program, options, None, |_| {}).map(|run| run.end)
        }
    }
}

fn analyse(
    program: &Program,
    options: &Options,
    named: Option<&'static Named>,
    selected: Option<&'static Selected>,
    summary: &mut Summary,
) -> Result<End, Failure> {
    let folder = match &options.out {
        Some(folder) => prepare_folder(folder).map(|()| folder.clone()).map_err(Failure::own)?,
        None => default_folder(program.path.as_os_str()),
    };
    let mut json = options.json.as_deref().map(Copy::open).transpose().map_err(Failure::own)?;
    let suppressions = options.suppressions.as_deref().map(Suppressions::load).transpose().map_err(Failure::own)?;
    let started = Instant::now();
    let mut analysis = Analysis::new(options.analysis());
    let selection = selected.map(|selected| selected as &dyn Selection);
    let logging = Logging { check: options.check, discard: false, inside_math: options.no_wrap, named, selection };
    // Where the summary is not wanted, or not on the terminal, neither is this.
    let progress = matches!(summary, Summary::Stderr).then(Progress::start).flatten();
    let mut run = translate(program, options, Some(logging), |event| {
        let bytes = if let Event::Records { bytes, .. } = &event { bytes.len() } else { 0 };
        analysis.event(event);
        if let Some(progress) = &progress {
            progress.analysed(bytes, &analysis);
        }
    })?;
    run.remarks.extend(unseen(options, named));
    run.remarks.extend(selected.into_iter().flat_map(|selected| selected.0.remarks()));
    let findings = analysis.finish();
    drop(progress);
    let info = RunInfo {
        program: program.path.to_string_lossy().into_owned(),
        args: program.argv.iter().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect(),
        directory: std::env::current_dir().ok(),
        seconds: started.elapsed().as_secs_f64(),
        notes: run.remarks,
        check: options.check,
        threshold: options.threshold,
        out: Some(folder.clone()),
    };
    let mut report = Report::new(findings, info);
    if let Some(suppressions) = suppressions {
        suppressions.apply(&mut report);
    }
    let report = write_report(folder, report);
    if let Some(json) = &mut json {
        json.write(fpgrind_report::render(&report, Format::Json));
    }
    let look = summary.look(options.color);
    summary.write(&fpgrind_report::summary(&report, look, options.verbose));
    Ok(judged(run.end, &report, options))
}

/// How to end where the report has something against success. The program's own failure says more, and stands.
fn judged(end: End, report: &Report, options: &Options) -> End {
    let mut status = 0;
    if let Some((limit, found)) =
        options.fail_on.and_then(|limit| Some((limit, fpgrind_report::exceeding(report, limit)?)))
    {
        say(&format!("{found}: failing as --fail-on {limit} asks"));
        status = INACCURATE;
    }
    if !report.findings.check_failures.is_empty() {
        // A bug of fpgrind, which the summary describes. It must not pass for success.
        say("--check found that fpgrind computed other values than the program did; this is a bug in fpgrind");
        status = FPGRIND_FAILED;
    }
    match end {
        End::Exited(0) => End::Exited(status),
        other => other,
    }
}

/// What the file of `--wrap` says, for as long as the process runs.
fn read_named(options: &Options) -> Result<Option<&'static Named>, String> {
    let Some(path) = &options.wrap else { return Ok(None) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{} cannot be read: {error}; --wrap wants a file of text", path.display()))?;
    let named = Named::parse(&text).map_err(|problem| format!("{}, {problem}", path.display()))?;
    Ok(Some(Box::leak(Box::new(named))))
}

/// A name that nothing bears is most likely misspelt.
fn unseen(options: &Options, named: Option<&Named>) -> Option<String> {
    let unseen = named?.unseen();
    let file = options.wrap.as_ref()?.display();
    (!unseen.is_empty())
        .then(|| format!("no function of the program is called {}, as {file} has it", unseen.join(" or ")))
}

fn translate(
    program: &Program,
    options: &Options,
    logging: Option<Logging>,
    consumer: impl FnMut(Event<'_>),
) -> Result<Run, Failure> {
    let run_options = fpgrind_dbt::Options {
        logging,
        follow: options.follow_children.into(),
        cache_bytes: options.cache_size,
        gauge: Some(&progress::GAUGE),
    };
    let run = fpgrind_dbt::run(program, &run_options, consumer).map_err(|error| Failure::own(error.to_string()))?;
    if options.statistics {
        say(&format!("{} requests, {:.6} s", run.requests, run.asking.as_secs_f64()));
    }
    Ok(run)
}

/// Writes the report's files. If that fails the summary must still be shown, without promising a folder.
fn write_report(folder: PathBuf, mut report: Report) -> Report {
    if let Err(error) = fpgrind_report::write(&folder, &report) {
        say(&format!("no report could be written into {}: {error}; name a folder with --out", folder.display()));
        report.run.out = None;
    }
    report
}

fn remarks_of(run: &Run) -> String {
    run.remarks.iter().map(|remark| format!("fpgrind: {remark}\n")).collect()
}
