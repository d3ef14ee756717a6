use super::*;
use proptest::prelude::*;

fn only(text: &str) -> Core {
    let mut cores = parse(text).expect("readable");
    assert_eq!(cores.len(), 1);
    cores.remove(0).unwrap_or_else(|refused| panic!("{text}: {:?}", refused.error))
}

/// `line:column: message` of what is wrong with the text.
fn complaint(text: &str) -> String {
    let error = match parse(text) {
        Err(error) => error,
        Ok(cores) => cores.into_iter().find_map(|core| core.err()).expect("something is wrong").error,
    };
    format!("{}:{}: {}", error.position.line, error.position.column, error.message)
}

#[test]
fn a_core_has_arguments_properties_and_a_body() {
    let core = only("(FPCore f (x (! :precision binary32 y)) :name \"n\" :cite (a b) :pre (< 0 x 1) (- x y)) ; end");
    assert_eq!(core.title(), "n");
    assert_eq!(core.symbol.as_deref(), Some("f"));
    assert_eq!(core.arguments[1].precision, Precision::Binary32);
    assert_eq!(core.pre.expect("a precondition").to_string(), "(< 0 x 1)");
    assert_eq!(core.body.to_string(), "(- x y)");
}

#[test]
fn errors_name_the_place() {
    assert!(complaint("(FPCore (x)\n (+ x z))").starts_with("2:7: nothing is called `z`"));
    assert!(complaint("(FPCore (x)\n (sqrt x x))").starts_with("2:2: `sqrt` takes 1 arguments, not 2"));
    assert!(complaint("(FPCore (x)\n (if x 1 2))").starts_with("2:6: here must be a condition"));
    assert!(complaint("(FPCore (x) (+ 1 (< x 2)))").starts_with("1:18: here must be a number"));
    assert!(complaint("(FPCore (x) :precision binary80 x)").contains("binary80"));
    assert!(complaint("(FPCore (x) (array x x))").contains("tensors"));
    assert!(complaint("(FPCore (x) (+ x 1]").starts_with("1:19: `]` where `)` must close"));
    assert!(complaint("(FPCore (x) x").starts_with("1:1: no `)`"));
    assert!(complaint("(FPCore (x x) x)").contains("two arguments"));
    assert!(complaint("(FPCore (x) (let ([PI 3]) x))").contains("here must be a name"));
}

#[test]
fn a_wrong_core_leaves_the_others_readable() {
    let cores = parse("(FPCore (x) :name \"bad\" y) (FPCore (x) x)").expect("readable");
    assert_eq!(cores[0].as_ref().err().map(|refused| refused.title.as_str()), Some("bad"));
    assert!(cores[1].is_ok());
}

#[test]
fn let_binds_at_once_and_let_star_in_turn() {
    assert!(complaint("(FPCore (x) (let ([a x] [b a]) b))").contains("`a`"));
    only("(FPCore (x) (let* ([a x] [b a]) b))");
    assert!(complaint("(FPCore (x) (+ (let ([a x]) a) a))").contains("`a`"));
    assert!(complaint("(FPCore (x) (while (< a 3) ([a 0 (+ a 1)] [b a b]) b))").contains("`a`"));
    only("(FPCore (x) (while* (< a 3) ([a 0 (+ a 1)] [b a b]) b))");
}

#[test]
fn nesting_without_end_is_refused() {
    assert!(complaint(&"(".repeat(100_000)).contains("levels"));
}

/// Well-formed bodies over x and y.
fn bodies() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["x", "y", "0.1", "1/3", "PI", "-2e3"]).prop_map(String::from);
    leaf.prop_recursive(5, 40, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(+ {a} {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(pow {a} {b})")),
            inner.clone().prop_map(|a| format!("(- {a})")),
            inner.clone().prop_map(|a| format!("(! :precision binary32 (exp {a}))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(if (and (< {a} {b} 3) (isnan x)) {a} {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("(let* ([z {a}] [x z]) {b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("(while (< k {a}) ([k 0 (+ k 1)] [y 1 {b}]) y)")),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_reads_back_as_the_same(body in bodies()) {
        let core = only(&format!("(FPCore (x y) :name \"a \\\"b\\\\\" :pre (< x y) {body})"));
        let printed = core.to_string();
        let again = only(&printed);
        prop_assert_eq!(&again.body, &core.body);
        prop_assert_eq!(again.to_string(), printed);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[()\\[\\]:;\"! a-z0-9./*+<=-]{0,80}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_broken_core_makes_the_parser_panic(body in bodies(), cut in 0usize..400, put in "[()\"\\[\\]x:! ]{0,3}") {
        let mut text = format!("(FPCore (x y) :pre (< x y) {body})");
        let cut = cut.min(text.len());
        text.replace_range(cut..(cut + put.len()).min(text.len()), &put);
        let _ = parse(&text);
    }
}
