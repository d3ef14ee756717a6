//! Errors that no single operation is to blame for are taken apart into the roundings that make them up. What these come to is known here
//! exactly: the same sums are done again on integers, or in doubles that hold every bit.

mod common;

use common::report::{Report, analyse, analyse_command, number, text};
use serde_json::Value;

/// Both without a register for anything and with all of them.
const BUILDS: [&[&str]; 2] = [&["-O0"], &["-O2"]];

/// A program whose one wrong spot has no cause, built in these ways.
fn for_each_build(guest: &str, check: impl Fn(&Accumulated)) {
    for flags in BUILDS {
        check(&Accumulated::of(analyse(&format!("tests/guests/accumulated/{guest}"), flags)));
    }
}

struct Accumulated {
    report: Report,
    spot: Value,
}

impl Accumulated {
    fn of(report: Report) -> Accumulated {
        assert!(report.causes().is_empty(), "{}: {}", report.of, report.outcome.stderr);
        let [spot] = report.wrong_spots()[..] else { panic!("{}: one wrong spot expected", report.of) };
        let spot = spot.clone();
        let explained = number(&spot["accumulated"]["explained"]);
        assert!((explained - 1.0).abs() < 0.01, "{}: {spot:#}", report.of);
        Accumulated { report, spot }
    }

    fn contributions(&self) -> &[Value] {
        self.spot["accumulated"]["contributions"].as_array().map_or(&[], Vec::as_slice)
    }

    /// What an operation contributes.
    fn contribution(&self, operator: &str, line: u64) -> &Value {
        let is_it = |known: &&Value| known["operator"] == operator && known["site"]["line"] == line;
        let found = self.contributions().iter().find(is_it);
        found.unwrap_or_else(|| panic!("{}: {operator} at line {line} in {:#}", self.report.of, self.spot))
    }

    fn share(&self, operator: &str, line: u64) -> f64 {
        let contribution = self.contribution(operator, line);
        number(&contribution["share"]) + number(&contribution["inherited"])
    }

    fn assert_share(&self, operator: &str, line: u64, expected: f64) {
        let share = self.share(operator, line);
        assert!((share - expected).abs() < 1e-6, "{}: {share}, not {expected}: {:#}", self.report.of, self.spot);
    }

    fn assert_says(&self, words: &str) {
        // The terminal breaks lines.
        let said = self.report.outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(words), "{}: {said}", self.report.of);
    }
}

/// A sum of so many equal numbers, and its error, exactly: all of it is in units of 2^-60.
fn clock(step: f64, turns: u32) -> (f64, f64) {
    let units = |value: f64| {
        let scaled = value * 2f64.powi(60);
        assert_eq!(scaled, scaled.trunc());
        scaled as i128
    };
    let sum = (0..turns).fold(0.0, |sum, _| sum + step);
    (sum, (units(sum) - units(step) * i128::from(turns)) as f64 / 2f64.powi(60))
}

#[test]
fn a_clock_goes_wrong_in_its_additions() {
    for_each_build("clock.c", |found| {
        found.assert_share("add", 8, 1.0);
        let addition = found.contribution("add", 8);
        assert_eq!((&addition["executions"], &addition["carried"]), (&1_000_000.into(), &true.into()));
        assert_eq!(addition["beside"], Value::Array(vec![]));
        assert_eq!(found.contributions().len(), 1, "{:#}", found.spot);
        // It is shown ever more wrong, and it is the worst of these that counts, more or less.
        let [told, worst] = [&found.spot["accumulated"]["bits"], &found.spot["max_bits"]].map(number);
        assert!(told <= worst && told > worst - 1.0, "{told} {worst}");
        found.assert_says("of the error 100 % comes from the addition at clock.c:8 (executed 1,000,000 times;");
    });
}

#[test]
fn a_clock_goes_wrong_alike_in_all_reals() {
    let program = common::build("tests/guests/accumulated/clock.c", &["-O2"]);
    for real in ["dd", "mpfr"] {
        Accumulated::of(analyse_command(&[&program], &["--real", real])).assert_share("add", 8, 1.0);
    }
}

#[test]
fn a_sum_of_random_numbers_goes_wrong_in_its_additions() {
    for_each_build("random_sum.c", |found| {
        found.assert_share("add", 12, 1.0);
        found.assert_says("from the addition at random_sum.c:12 (executed 1,000,000 times;");
    });
}

#[test]
fn what_the_turns_of_a_recurrence_left_is_laid_on_the_loop() {
    for_each_build("interest.c", |found| {
        let addition = found.contribution("add", 9);
        assert_eq!(addition["carried"], true);
        let beside = addition["beside"][0].as_u64().expect("the product is rounded, too") as usize;
        assert_eq!(found.contributions()[beside]["operator"], "mul");
        assert!((found.share("add", 9) + found.share("mul", 8) - 1.0).abs() < 1e-6);
        found.assert_says("from earlier turns of the loop through the addition at interest.c:9 (executed 182,500 times), with the multiplication at interest.c:8");
    });
}

#[test]
fn each_of_two_clocks_has_its_own_share() {
    let ((tenths, tenths_error), (sevenths, sevenths_error)) = (clock(0.1, 100_000), clock(0.7, 60_000));
    let last = {
        let sum = tenths + sevenths;
        // The part that the last addition drops (Knuth's TwoSum).
        let other = sum - tenths;
        -((tenths - (sum - other)) + (sevenths - other))
    };
    let whole = tenths_error + sevenths_error + last;
    for_each_build("two_clocks.c", |found| {
        found.assert_share("add", 8, tenths_error / whole);
        found.assert_share("add", 10, sevenths_error / whole);
        found.assert_share("add", 11, last / whole);
    });
}

#[test]
fn of_a_sum_in_single_and_one_in_double_precision_the_former_is_to_blame() {
    for_each_build("two_formats.c", |found| {
        assert!(found.share("add", 9) > 0.99, "{:#}", found.spot);
        assert_eq!(found.contribution("add", 9)["precision"], "binary32");
        assert!(found.share("add", 11).abs() < 1e-6, "{:#}", found.spot);
    });
}

#[test]
fn products_and_sums_of_a_dot_product_are_told_apart() {
    let (x, y) = ([0.1f32, 0.2], [0.3f32, 0.4]);
    let (mut sum, mut of_products, mut of_sums) = (0f32, 0f64, 0f64);
    for i in 0..4000 {
        let (x, y) = (x[i % 2], y[i % 2]);
        let (product, exact) = (x * y, f64::from(x) * f64::from(y));
        of_products += f64::from(product) - exact;
        let next = sum + product;
        of_sums += f64::from(next) - (f64::from(sum) + f64::from(product));
        sum = next;
    }
    let whole = of_products + of_sums;
    for_each_build("dot.c", |found| {
        found.assert_share("mul", 10, of_products / whole);
        found.assert_share("add", 11, of_sums / whole);
        let roundings = found.contribution("add", 11)["roundings"].as_u64().expect("a number");
        assert!((2000..4000).contains(&roundings), "{:#}", found.spot);
        assert_eq!(found.contribution("add", 11)["inherited"], 0.0);
    });
}

#[test]
fn a_decision_goes_wrong_by_what_its_operand_has_gathered() {
    for_each_build("tenths.c", |found| {
        assert_eq!(text(&found.spot["kind"]), "branch");
        found.assert_share("add", 7, 1.0);
    });
}

#[test]
fn what_is_accurate_has_nothing_to_take_apart() {
    for flags in BUILDS {
        let report = analyse("tests/guests/accumulated/exact.c", flags);
        report.assert_clean();
        for spot in report.spots("output") {
            assert_eq!(spot["accumulated"], Value::Null, "{}: {spot:#}", report.of);
        }
    }
}
