//! Whatever a report contains, it can be made again from its JSON.

use super::read;
use crate::fixtures::*;
use crate::{Format, Frame, Report, render};
use fpgrind_analysis::{
    Accumulation, Carried, Cause, CauseKind, CheckFailure, Contribution, Effect, Expr, Location, Number, Ranges,
    Sample, Spot, SpotKind, Step, Variable,
};
use fpgrind_ir::{Cond, Operator, Type};
use proptest::prelude::*;
use proptest::sample::select;

const FORMATS: [Type; 5] = [Type::F16, Type::Bf16, Type::F32, Type::F64, Type::F80];

fn number(ty: Type) -> impl Strategy<Value = Number> {
    let double = any::<f64>().prop_map(move |value| Number::from(value).to(ty));
    // Long doubles that are no doubles.
    let long = (1u64..1 << 10, 0x3c00u128..0x43ff)
        .prop_map(|(low, exponent)| Number::new(Type::F80, exponent << 64 | 1 << 63 | u128::from(low)));
    (double, long, any::<bool>()).prop_map(
        move |(double, long, use_long)| {
            if use_long && ty == Type::F80 { long } else { double }
        },
    )
}

fn expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        (0usize..2).prop_map(Expr::Var),
        select(FORMATS.to_vec()).prop_flat_map(number).prop_map(Expr::Num),
    ];
    leaf.prop_recursive(6, 40, 4, |inner| {
        (select(Operator::ALL.to_vec()), select(FORMATS.to_vec()), proptest::collection::vec(inner, 4)).prop_map(
            |(operator, ty, mut args)| {
                args.truncate(operator.arity());
                Expr::Op { operator, ty, args }
            },
        )
    })
}

fn ranges() -> impl Strategy<Value = Ranges> {
    proptest::collection::vec(any::<f64>(), 0..5).prop_map(|values| {
        let mut ranges = Ranges::default();
        values.into_iter().for_each(|value| _ = ranges.include(value));
        ranges
    })
}

/// Some places are unknown altogether, others known by symbol or by line.
fn location() -> impl Strategy<Value = Location> {
    (0u64..64).prop_map(|number| match number % 4 {
        0 => Location::outside_files(0x7000_0000 + number),
        _ => Location { file: Some(0), address: number, pc: 0x5555_0000 + number },
    })
}

fn variable(name: &str) -> impl Strategy<Value = Variable> + use<> {
    let name = name.to_string();
    (ranges(), ranges(), select(FORMATS.to_vec()).prop_flat_map(number)).prop_map(move |(seen, erroneous, worst)| {
        let carried =
            Carried { location: at(MAIN), operator: Operator::Add, executions: Some(9), term: Some("z*z".into()) };
        Variable {
            name: name.clone(),
            seen,
            erroneous,
            worst,
            stands_for: Some("j0(y)".into()),
            carried: Some(carried),
        }
    })
}

fn a_cause() -> impl Strategy<Value = Cause> {
    let kinds = select(CauseKind::ALL.to_vec());
    let of_format = select(FORMATS.to_vec()).prop_flat_map(|ty| (Just(ty), number(ty), number(ty)));
    let bits = (0.0..64.0, 0.0..64.0, 0.0..64.0);
    let seen = (proptest::collection::vec((any::<f64>(), any::<f64>(), 0.0..64.0), 0..5), 0usize..30);
    let reaches = select(vec![vec![], vec![1, 0]]);
    (location(), expr(), [variable("x"), variable("y")], kinds, of_format, bits, reaches, seen).prop_map(
        |(
            location,
            expr,
            variables,
            kind,
            (ty, computed, correct),
            (max_bits, average_bits, reproduced_bits),
            reaches,
            (seen, steps),
        )| {
            // Values have the formats of their variables.
            let sample = |(x, y, bits): (f64, f64, f64)| Sample {
                inputs: [x, y].iter().zip(&variables).map(|(v, of)| Number::from(*v).to(of.worst.ty)).collect(),
                bits,
            };
            let samples = seen.into_iter().map(sample).collect();
            let steps =
                vec![
                    Step { location: Some(location), computed, correct, bits: max_bits, local_bits: average_bits };
                    steps
                ];
            let variables = variables.into();
            let measured = Cause { max_bits, average_bits, reproduced_bits, computed, correct, ..cause() };
            Cause { location, expr, variables, kind, ty, reaches, samples, steps, ..measured }
        },
    )
}

fn spot() -> impl Strategy<Value = Spot> {
    let output = SpotKind::Output { function: "fprintf".into(), argument: 3, conversion: "%.3e".into() };
    let kinds =
        select(vec![output, SpotKind::Branch { cond: Cond::Above }, SpotKind::Mask, SpotKind::ToInt, SpotKind::Escape]);
    let of_format = select(FORMATS.to_vec()).prop_flat_map(|ty| (number(ty), number(ty)));
    let causes = select(vec![vec![], vec![0], vec![1, 0]]);
    let effects = proptest::option::of(select(Effect::ALL.to_vec()));
    (
        location(),
        kinds,
        (0u64..3, proptest::option::of(any::<u64>())),
        of_format,
        proptest::option::of(expr()),
        location(),
        (causes, effects),
    )
        .prop_map(|(location, kind, (wrong, offset), (computed, correct), expr, accumulated, (causes, effect))| {
            let accumulated_in = vec![accumulated];
            let part =
                Contribution { location: accumulated, inherited: 0.25, beside: vec![0], ..contribution(0, 0.75) };
            let accumulated = expr.is_some().then(|| Accumulation { others: -0.125, ..self::accumulated(vec![part]) });
            Spot {
                kind,
                computed,
                correct,
                expr,
                accumulated,
                accumulated_in,
                causes,
                effect,
                location,
                offset,
                ..printed(0, 3, wrong, 7.5)
            }
        })
}

fn report() -> impl Strategy<Value = Report> {
    let failure =
        (location(), any::<u128>()).prop_map(|(location, native)| CheckFailure { location, native, predicted: 1 });
    ([a_cause(), a_cause()], [spot(), spot()], proptest::collection::vec(failure, 0..2), ".*").prop_map(
        |(causes, spots, check_failures, odd)| {
            let mut report = plotter();
            report.run.notes = vec![odd];
            report.findings.causes = causes.into();
            report.findings.spots = spots.into();
            report.findings.check_failures = check_failures;
            for number in 0..64 {
                let location = Location { file: Some(0), address: number, pc: 0x5555_0000 + number };
                let mut site = site(location, "f", "plot.c", number as u32);
                if number % 4 == 1 {
                    (site.file, site.line, site.column, site.function_offset) = (None, None, None, Some(number));
                }
                if number % 4 == 2 {
                    let outer = Frame { function: Some("g".into()), line: Some(7), ..Frame::default() };
                    (site.inlined_into, site.inlines) = (vec![outer.clone(), Frame::default()], vec![outer]);
                }
                report.sites.instructions.insert(location, site.clone());
                report.sites.returns.insert(location, site);
            }
            report
        },
    )
}

proptest! {
    #[test]
    fn every_format_made_again_is_the_same(report in report()) {
        let json = render(&report, Format::Json).expect("renders");
        let again = read(&json).expect("reads back");
        for format in Format::ALL {
            prop_assert_eq!(render(&report, format).expect("renders"), render(&again, format).expect("renders"));
        }
    }
}

#[test]
fn what_is_no_report_is_refused_with_a_reason() {
    let json = render(&plotter(), Format::Json).expect("renders");
    let refusals = [
        ("{}".to_string(), "version"),
        ("[]".to_string(), ""),
        (json.replace("\"version\": 3", "\"version\": 99"), "version 99"),
        (json.replace("\"operator\": \"sub\"", "\"operator\": \"frob\""), "frob"),
        (json.replace("\"kind\": \"branch\"", "\"kind\": \"twig\""), "twig"),
        (json.replace("\"binary64\"", "\"binary65\""), "binary65"),
        (json.replace("0x401136", "401136"), "hexadecimal"),
        (json.replace("$0 $0", "$0 $9"), "$9"),
        (json.replace("\"worst\": 0.2499", "\"worst\": \"much\""), "much"),
        (json.replace("\"worst\": 0.2499", "\"worst\": []"), "number"),
        (json.replacen("\"reaches\": [\n        0", "\"reaches\": [\n        7", 1), "not there"),
        (json[..json.len() / 2].to_string(), "at line"),
    ];
    for (text, reason) in refusals {
        assert_ne!(text, json);
        match read(&text) {
            Err(problem) => assert!(problem.contains(reason) && !problem.contains('\n'), "{problem} for {reason}"),
            Ok(_) => panic!("{reason}: must be refused"),
        }
    }
}
