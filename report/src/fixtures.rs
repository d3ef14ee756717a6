//! Findings built by hand, for the tests of what is made from them.

use crate::{Frame, Report, RunInfo, Site, Sites};
use fpgrind_analysis::log::Module;
use fpgrind_analysis::{
    Accumulation, Cause, CauseKind, Contribution, Effect, Expr, Findings, Location, Ranges, Sample, Spot, SpotKind,
    Step, Totals, Variable,
};
use fpgrind_ir::{Cond, Operator, Type};

pub const CSQRT: u64 = 0x40_1136;
pub const MAIN: u64 = 0x40_1200;

pub fn op(operator: Operator, args: Vec<Expr>) -> Expr {
    Expr::Op { operator, ty: Type::F64, args }
}

/// sqrt(x*x + y*y) - x
pub fn csqrt() -> Expr {
    let square = |i| op(Operator::Mul, vec![Expr::Var(i), Expr::Var(i)]);
    let norm = op(Operator::Sqrt, vec![op(Operator::Add, vec![square(0), square(1)])]);
    op(Operator::Sub, vec![norm, Expr::Var(0)])
}

/// The place of an address in the one file that there is.
pub fn at(pc: u64) -> Location {
    Location { file: Some(0), address: pc & 0xffff, pc }
}

pub fn site(location: Location, function: &str, file: &str, line: u32) -> Site {
    Site {
        pc: location.pc,
        module: Some("/home/ada/plot".into()),
        address: location.address,
        function: Some(function.into()),
        function_offset: None,
        file: Some(format!("/home/ada/src/{file}").into()),
        line: Some(line),
        column: Some(9),
        ..Site::default()
    }
}

/// A place in `root`, which is inlined into `main`.
pub fn frames() -> Vec<Frame> {
    let frame = |function: &str, line, column| Frame {
        function: Some(function.into()),
        file: Some("/home/ada/src/plot.c".into()),
        line: Some(line),
        column,
    };
    vec![frame("root", 31, Some(12)), frame("main", 50, None)]
}

pub fn positive(low: f64, high: f64) -> Ranges {
    Ranges { positive: Some((low, high)), ..Ranges::default() }
}

pub fn both(low: f64, high: f64, near: f64) -> Ranges {
    Ranges { negative: Some((low, -near)), zero: true, positive: Some((near, high)), nan: false }
}

pub fn printed(pc: u64, count: u64, wrong: u64, max_bits: f64) -> Spot {
    Spot {
        location: at(pc),
        kind: SpotKind::Output { function: "printf".into(), argument: 0, conversion: "%f".into() },
        count,
        wrong,
        max_bits,
        average_bits: max_bits / 2.0,
        computed: 1.0.into(),
        correct: 2.0.into(),
        offset: None,
        expr: None,
        accumulated: None,
        accumulated_in: vec![],
        causes: vec![],
        effect: None,
    }
}

/// An addition that has so large a share in an error.
pub fn contribution(pc: u64, share: f64) -> Contribution {
    Contribution {
        location: at(pc),
        operator: Operator::Add,
        ty: Type::F64,
        executions: 1_000_000,
        roundings: 10_000,
        share,
        inherited: 0.0,
        carried: false,
        beside: vec![],
    }
}

pub fn accumulated(contributions: Vec<Contribution>) -> Accumulation {
    Accumulation { bits: 20.1, contributions, others: 0.0 }
}

pub fn branch(pc: u64, count: u64, wrong: u64) -> Spot {
    let effect = (wrong > 0).then_some(Effect::Results);
    Spot { kind: SpotKind::Branch { cond: Cond::Above }, effect, ..printed(pc, count, wrong, 1.0) }
}

pub fn cause() -> Cause {
    Cause {
        location: at(CSQRT),
        operator: Operator::Sub,
        ty: Type::F64,
        expr: csqrt(),
        variables: vec![
            Variable {
                name: "x".into(),
                seen: both(-1.0, 0.25, 1e-6),
                erroneous: positive(1.2e-4, 0.25),
                worst: 0.2499.into(),
                stands_for: None,
                carried: None,
            },
            Variable {
                name: "y".into(),
                seen: both(-2.0, 2.0, 1e-9),
                erroneous: both(-8.7e-9, 8.7e-9, 3.1e-12),
                worst: 3.1e-12.into(),
                stands_for: None,
                carried: None,
            },
        ],
        kind: CauseKind::Inaccurate,
        executions: 65_536,
        erroneous: 4_096,
        max_bits: 53.0,
        average_bits: 31.4,
        computed: 0.0.into(),
        correct: 1.92256903e-23.into(),
        reproduced_bits: 53.0,
        reaches: vec![0, 1],
        samples: vec![sample(0.2499, 3.1e-12, 53.0), sample(1.2e-4, -8.7e-9, 12.5), sample(-0.5, 0.0, 0.0)],
        // x x mul y y mul add sqrt x sub
        steps: vec![
            step(0.2499, 0.2499, 0.0, 0.0),
            step(0.2499, 0.2499, 0.0, 0.0),
            step(0.06245001, 0.06245001, 0.0, 0.0),
            step(3.1e-12, 3.1e-12, 0.0, 0.0),
            step(3.1e-12, 3.1e-12, 0.0, 0.0),
            step(9.61e-24, 9.61e-24, 0.0, 0.0),
            step(0.06245001, 0.06245001, 0.0, 0.0),
            step(0.2499, 0.2499f64.next_up(), 1.0, 0.0),
            step(0.2499, 0.2499, 0.0, 0.0),
            step(0.0, 1.92256903e-23, 53.0, 0.0),
        ],
    }
}

fn sample(x: f64, y: f64, bits: f64) -> Sample {
    Sample { inputs: vec![x.into(), y.into()], bits }
}

fn step(computed: f64, correct: f64, bits: f64, local_bits: f64) -> Step {
    Step { location: None, computed: computed.into(), correct: correct.into(), bits, local_bits }
}

/// The example of the design: a plotter with a textbook complex square root.
pub fn plotter() -> Report {
    let findings = Findings {
        causes: vec![cause()],
        spots: vec![
            Spot { causes: vec![0], ..printed(MAIN + 0x61, 65_536, 300, 62.0) },
            Spot { causes: vec![0], ..branch(MAIN + 0x40, 65_536, 12) },
        ],
        totals: Totals { processes: 1, threads: 1, operations: 61_204_118, blocks: 1_000_000, ..Totals::default() },
        files: vec!["/home/ada/plot".into()],
        modules: vec![Module { path: "/home/ada/plot".into(), start: 0x40_1000, end: 0x40_2000, bias: 0x40_0000 }],
        check_failures: vec![],
    };
    let mut sites = Sites::default();
    sites.instructions.insert(at(CSQRT), site(at(CSQRT), "csqrt", "plot.c", 24));
    sites.instructions.insert(at(MAIN + 0x40), site(at(MAIN + 0x40), "main", "plot.c", 40));
    sites.returns.insert(at(MAIN + 0x61), site(at(MAIN + 0x61), "main", "plot.c", 61));
    let run = RunInfo {
        program: "./plot".into(),
        args: vec!["out.ppm".into()],
        directory: Some("/home/ada".into()),
        seconds: 4.1,
        threshold: 5.0,
        out: Some("fpgrind-plot.4711".into()),
        ..RunInfo::default()
    };
    Report { run, findings, sites, ..Report::default() }
}

/// A program with these spots and no causes, in a file sum.c: the last byte of an address is its line.
pub fn without_causes(spots: Vec<Spot>) -> Report {
    let mut report = Report::default();
    report.run.seconds = 0.3;
    report.run.threshold = 5.0;
    report.findings.totals.operations = 1_000_000;
    for spot in &spots {
        for location in spot.accumulated_in.iter().chain([&spot.location]) {
            let site = site(*location, "main", "sum.c", (location.pc & 0xff) as u32);
            report.sites.instructions.insert(*location, site.clone());
            report.sites.returns.insert(*location, site);
        }
    }
    report.findings.spots = spots;
    report
}
