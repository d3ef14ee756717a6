//! What fpgrind must say about small programs whose troubles are known, however they are compiled.

mod common;

use common::BUILDS;
use common::report::{Report, analyse, number, range, text};

/// Runs the judgement on every build of a program.
fn for_each_build(source: &str, judge: impl Fn(&Report)) {
    for flags in BUILDS {
        judge(&analyse(source, flags));
    }
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        judge(&analyse(source, &["-O3", "-march=x86-64-v3"]));
    }
    let avx512 = ["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"];
    if avx512.iter().all(|feature| has(feature)) {
        judge(&analyse(source, &["-O3", "-march=x86-64-v4", "-mprefer-vector-width=512"]));
    }
}

/// Is the feature in the first list of them that the kernel shows?
fn has(feature: &str) -> bool {
    let shown = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = shown.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    flags.split_whitespace().any(|flag| flag == feature)
}

#[test]
fn long_doubles_are_judged_in_their_own_format() {
    for_each_build("tests/guests/formats/long_double.c", |report| {
        let cause = report.only_cause("(- (+ x 0.7) x)");
        // Of 64 bits of significand a sum near 1e18 has four left for what was added.
        assert!((55.0..64.0).contains(&number(&cause["max_bits"])), "{}: {cause:#}", report.of);
        let fpcore = std::fs::read_to_string(report.folder.join("causes.fpcore")).expect("causes.fpcore is written");
        assert!(fpcore.contains(":precision binary80"), "{fpcore}");
    });
}

#[test]
fn doubles_computed_by_the_x87_lose_their_digits_there() {
    let report = analyse("tests/guests/formats/x87_double.c", &["-O2", "-mfpmath=387"]);
    assert!(!report.causes().is_empty(), "{}", report.outcome.stderr);
    let worst = report.causes().iter().map(|cause| number(&cause["max_bits"])).fold(0.0, f64::max);
    assert!(worst > 40.0, "{}", report.outcome.stderr);
}

#[test]
fn a_number_flushed_to_zero_is_called_so() {
    for flags in [&["-O0"], &["-O2"]] {
        let report = analyse("tests/guests/formats/flush.c", flags);
        let [cause] = report.causes() else { panic!("{}: {}", report.of, report.outcome.stderr) };
        assert_eq!(cause["kind"], "flushed", "{}: {cause:#}", report.of);
        assert!(report.outcome.stderr.contains("flushes"), "{}", report.outcome.stderr);
    }
}

#[test]
fn numbers_beyond_their_format_and_operations_without_a_result_have_names() {
    for_each_build("tests/guests/exceptions.c", |report| {
        let kinds: Vec<(&str, &str)> =
            report.causes().iter().map(|cause| (text(&cause["site"]["function"]), text(&cause["kind"]))).collect();
        for (function, kind) in
            [("length", "overflow"), ("share", "underflow"), ("logarithm", "domain"), ("quotient", "invalid")]
        {
            assert!(kinds.contains(&(function, kind)), "{}: {kinds:?}", report.of);
        }
        assert_eq!(kinds.len(), 4, "{}: {kinds:?}", report.of);
        assert!(report.outcome.stderr.contains("by overflow"), "{}", report.outcome.stderr);
    });
}

#[test]
fn rounding_by_a_magic_number_and_upwards_are_clean() {
    for_each_build("tests/guests/formats/magic.c", Report::assert_clean);
    for flags in [&["-O0", "-frounding-math"], &["-O2", "-frounding-math"]] {
        analyse("tests/guests/formats/upwards.c", flags).assert_clean();
    }
}

#[test]
fn the_difference_of_square_roots_is_the_only_cause_with_the_range_that_hurts() {
    for_each_build("tests/guests/sqrt_difference.c", |report| {
        let cause = report.only_cause("(- (sqrt (+ x 1)) (sqrt x))");
        let [variable] = cause["variables"].as_array().expect("variables").as_slice() else { panic!("{cause}") };
        let (seen, erroneous) = (range(variable, "seen"), range(variable, "erroneous"));
        assert_eq!(seen.0, 1.0, "{}", report.of);
        // Half the bits of x+1 and x agree at x, so the fifth bit goes somewhere below a thousand.
        assert!((4.0..1000.0).contains(&erroneous.0) && erroneous.1 > 5e14, "{}: {erroneous:?}", report.of);
        assert!(number(&cause["max_bits"]) > 40.0, "{}", report.of);
        assert!(text(&cause["site"]["file"]).ends_with("sqrt_difference.c"), "{}: {}", report.of, cause["site"]);
    });
}

#[test]
fn a_cause_is_followed_through_functions_structs_and_the_heap() {
    for_each_build("tests/guests/through_memory.c", |report| {
        let cause = report.only_cause("(- (+ x 1) x)");
        assert_eq!(cause["site"]["function"], "distance", "{}", report.of);
        let erroneous = range(&cause["variables"][0], "erroneous");
        assert!(erroneous.0 > 1.1 && erroneous.1 == 1e16, "{}: {erroneous:?}", report.of);
        assert_eq!(number(&cause["correct"]), 1.0, "{}", report.of);
    });
}

#[test]
fn baz_is_a_problem_near_113_and_nowhere_else() {
    for_each_build("tests/guests/baz.c", |report| {
        let z = "(/ 1 (- x 113))";
        let cause = report.only_cause(&format!("(- (+ {z} 3.141592653589793) {z})"));
        let variable = &cause["variables"][0];
        let (seen, erroneous) = (range(variable, "seen"), range(variable, "erroneous"));
        // Not all executions before the first bad one are remembered, but their extremes are.
        assert!(seen.0 < 112.0 && seen.1 > 113.4, "{}: {seen:?}", report.of);
        assert!(erroneous.0 > 112.9 && erroneous.1 < 113.1, "{}: {erroneous:?}", report.of);
    });
}

#[test]
fn the_loop_that_runs_once_too_often_is_a_branch_that_goes_the_other_way_once() {
    for_each_build("tests/guests/pid.c", |report| {
        assert!(report.outcome.stdout.starts_with("51 steps"), "{}", report.outcome.stdout);
        let wrong: Vec<_> = report.spots("branch").filter(|spot| spot["wrong"] != 0).collect();
        let [branch] = wrong.as_slice() else { panic!("{}: one wrong branch expected: {wrong:#?}", report.of) };
        assert_eq!((&branch["wrong"], &branch["site"]["line"]), (&1.into(), &9.into()), "{}: {branch:#}", report.of);
        assert!(text(&branch["site"]["file"]).ends_with("pid.c"), "{}", report.of);
    });
}

#[test]
fn the_quadratic_formula_cancels_in_its_numerator() {
    for_each_build("tests/guests/quadratic.c", |report| {
        let cause = report.only_cause("(- (sqrt (- (* b b) (* (* 4 a) c))) b)");
        assert!(number(&cause["max_bits"]) > 20.0, "{}", report.of);
    });
}

#[test]
fn normalising_a_zero_vector_is_an_invalid_division_with_zeros_as_example() {
    for_each_build("tests/guests/gram_schmidt.c", |report| {
        assert!(!report.causes().is_empty(), "{}: {}", report.of, report.outcome.stderr);
        for cause in report.causes() {
            assert_eq!(
                (text(&cause["kind"]), text(&cause["operator"])),
                ("invalid", "div"),
                "{}: {cause:#}",
                report.of
            );
            let variables = cause["variables"].as_array().expect("variables");
            assert!(
                !variables.is_empty() && variables.iter().all(|v| number(&v["worst"]) == 0.0),
                "{}: {cause:#}",
                report.of
            );
            assert!(!cause["reaches"].as_array().expect("reaches").is_empty(), "{}: {cause:#}", report.of);
        }
        assert!(report.spots("output").all(|spot| spot["wrong"] != 0), "every output is NaN: {}", report.of);
    });
}

#[test]
fn kahans_sum_is_clean() {
    for_each_build("tests/guests/kahan.c", Report::assert_clean);
}

#[test]
fn neumaiers_sum_is_clean() {
    for_each_build("tests/guests/neumaier.c", Report::assert_clean);
}

#[test]
fn a_naive_sum_is_an_inaccurate_output_that_no_single_operation_causes() {
    for_each_build("tests/guests/naive_sum.c", |report| {
        assert!(report.causes().is_empty(), "{}: {}", report.of, report.outcome.stderr);
        let outputs: Vec<_> = report.spots("output").collect();
        let [output] = outputs.as_slice() else { panic!("{}: one output expected: {outputs:#?}", report.of) };
        assert_eq!(output["wrong"], 1, "{}", report.of);
        assert!((number(&output["correct"]) - 100000.0).abs() < 1.0, "{}: {output:#}", report.of);
        let accumulated = output["accumulated_in"].as_array().expect("accumulated_in");
        assert!(accumulated.iter().any(|site| site["line"] == 9), "{}: {accumulated:#?}", report.of);
    });
}

#[test]
fn bit_tricks_selections_and_min_max_are_clean() {
    for_each_build("tests/guests/bit_tricks.c", Report::assert_clean);
}

#[test]
fn a_program_without_floats_is_said_to_have_none() {
    for_each_build("tests/guests/no_floats.c", |report| {
        assert_eq!(report.json["totals"]["operations"], 0, "{}", report.of);
        assert!(report.outcome.stderr.contains("no floating-point"), "{}: {}", report.of, report.outcome.stderr);
    });
}

#[test]
fn the_plotters_square_root_is_named_with_its_line_and_what_it_reaches() {
    for_each_build("examples/plotter.c", |report| {
        let causes = report.causes_like("(- (sqrt (+ (* x x) (* y y))) x)");
        let [cause] = causes.as_slice() else { panic!("{}: {}", report.of, report.outcome.stderr) };
        assert_eq!(
            (text(&cause["site"]["function"]), &cause["site"]["line"]),
            ("complex_sqrt", &25.into()),
            "{}",
            report.of
        );
        let reached: Vec<_> = cause["reaches"]
            .as_array()
            .expect("reaches")
            .iter()
            .map(|i| &report.json["spots"][i.as_u64().unwrap_or(0) as usize])
            .collect();
        assert!(
            reached.iter().any(|spot| spot["kind"] == "output" && spot["function"] == "printf"),
            "{}: {reached:#?}",
            report.of
        );
        let fpcore = std::fs::read_to_string(report.folder.join("causes.fpcore")).expect("causes.fpcore is written");
        assert!(fpcore.contains("(FPCore (") && fpcore.contains("plotter.c:25"), "{fpcore}");
        assert!(report.outcome.stderr.contains("plotter.c:25"), "{}", report.outcome.stderr);
    });
}

/// Computed with mpmath at 300 bits from the formula in the plotter's first lines, to 14 digits.
const PLOTTER_TRUTH: [f64; 9] = [
    -3.132242816199,
    -3.1308140674799,
    -3.1293450416904,
    -3.1281091657545,
    -3.1272857292307,
    -3.1268265591706,
    -3.1265949249601,
    -3.1264830149053,
    1.8178769168291,
];

#[test]
fn the_repaired_plotter_is_clean_and_right() {
    for_each_build("examples/plotter_fixed.c", |report| {
        report.assert_clean();
        let printed = report.outcome.stdout.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        let printed: Vec<f64> = printed.collect();
        assert_eq!(printed.len(), PLOTTER_TRUTH.len(), "{}", report.outcome.stdout);
        for (printed, truth) in printed.iter().zip(PLOTTER_TRUTH) {
            assert!((printed - truth).abs() <= 1e-13, "{printed} is not {truth}");
        }
    });
}

#[test]
fn what_a_large_expression_has_again_and_again_its_core_says_once() {
    for_each_build("tests/guests/report/seventh.c", |report| {
        // What the core evaluates to is compared with the claims of every report.
        let cores = std::fs::read_to_string(report.folder.join("causes.fpcore")).expect("causes.fpcore is written");
        assert!(cores.contains(" (let* ([t1 (* "), "{}: {cores}", report.of);
        assert!(report.causes().iter().all(|cause| !text(&cause["fpcore"]).contains("let*")), "{}", report.of);
    });
}

#[test]
fn a_sine_and_a_cosine_computed_by_one_call_are_two_operations() {
    for_each_build("tests/guests/sincos.c", |report| {
        let causes = report.causes_like("(- 1 (cos x))");
        assert_eq!((causes.len(), report.causes().len()), (2, 2), "{}: {}", report.of, report.outcome.stderr);
        for (function, least) in [("print", 1e-9), ("print_single", 1e-4)] {
            let cause = causes.iter().find(|cause| cause["site"]["function"] == function);
            let cause = cause.unwrap_or_else(|| panic!("{}: none in {function}", report.of));
            let [variable] = cause["variables"].as_array().expect("variables").as_slice() else { panic!("{cause}") };
            let (seen, erroneous) = (range(variable, "seen"), range(variable, "erroneous"));
            assert!(seen.0 > least && seen.1 == 1.0, "{}: {seen:?}", report.of);
            assert!(erroneous.0 < 3.0 * least && erroneous.1 < 0.2, "{}: {erroneous:?}", report.of);
        }
    });
}

#[test]
fn a_programs_own_functions_are_not_the_librarys_of_the_same_names() {
    for_each_build("tests/guests/own_names.c", |report| {
        let functions: Vec<&str> = report.causes().iter().map(|cause| text(&cause["site"]["function"])).collect();
        assert!(functions.contains(&"gamma") && functions.contains(&"y1"), "{}: {functions:?}", report.of);
    });
}

#[test]
fn a_library_function_that_is_jumped_to_runs_and_is_seen() {
    for_each_build("tests/guests/tail_call.c", |report| {
        assert_eq!(report.outcome.stdout, "1\n2\n3\n", "{}", report.of);
        // The compiler may unroll the loop, and make three calls of one.
        let seen: u64 = report.spots("output").filter_map(|spot| spot["count"].as_u64()).sum();
        assert_eq!(seen, 3, "{}", report.of);
    });
}

#[test]
fn expressions_are_the_same_up_to_renaming_and_no_further() {
    let same = common::expression::same;
    assert!(same("(- (sqrt (+ x 1)) (sqrt x))", "(- (sqrt (+ 1 a)) (sqrt a))"));
    assert!(same("(- (sqrt b) b)", "(+ (- z) (sqrt z))"));
    assert!(!same("(- x y)", "(- a a)") && !same("(- x x)", "(- a b)"));
    assert!(!same("(- x 1)", "(- 1 x)") && !same("(+ x 1)", "(+ x 2)"));
}
