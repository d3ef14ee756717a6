//! Large expressions with what occurs in them more than once said once: `(let* ([t1 (- x y)]) (* t1 t1))`.

use crate::json::postfix;
use fpgrind_analysis::Expr;
use fpgrind_ir::Type;
use rustc_hash::FxHashMap;

/// An expression of more operations is large.
const LARGE: usize = 15;

/// The body of a core over variables of these names, where a format holds.
pub fn body(expr: &Expr, names: &[&str], ty: Type) -> String {
    if operations(expr) <= LARGE {
        return expr.fpcore(names, ty);
    }
    let mut uses = FxHashMap::default();
    count_uses(expr, &mut uses);
    let mut sharing = Sharing { uses, bound: FxHashMap::default(), bindings: Vec::new(), variables: names.len() };
    let rest = sharing.without_shared(expr, true);
    let Sharing { bindings, .. } = sharing;
    if bindings.is_empty() {
        return expr.fpcore(names, ty);
    }
    let fresh = (1..).map(|number| format!("t{number}")).filter(|name| !names.contains(&name.as_str()));
    let names: Vec<String> = names.iter().map(|name| name.to_string()).chain(fresh.take(bindings.len())).collect();
    let own = names.iter().skip(names.len() - bindings.len());
    let lines: Vec<String> =
        own.zip(&bindings).map(|(name, value)| format!("[{name} {}]", value.fpcore(&names, ty))).collect();
    format!("(let* ({})\n  {})", lines.join("\n        "), rest.fpcore(&names, ty))
}

fn operations(expr: &Expr) -> usize {
    match expr {
        Expr::Op { args, .. } => 1 + args.iter().map(operations).sum::<usize>(),
        _ => 0,
    }
}

/// How often each operation is an argument, where equal ones are one. They are told apart by every bit, unlike numbers that are equal.
fn count_uses(expr: &Expr, uses: &mut FxHashMap<String, usize>) {
    if let Expr::Op { args, .. } = expr {
        let count = uses.entry(postfix::write(expr)).or_default();
        *count += 1;
        if *count == 1 {
            args.iter().for_each(|arg| count_uses(arg, uses));
        }
    }
}

struct Sharing {
    uses: FxHashMap<String, usize>,
    /// The variables that stand for what has been met.
    bound: FxHashMap<String, usize>,
    /// Their values, each over those before it.
    bindings: Vec<Expr>,
    variables: usize,
}

impl Sharing {
    fn without_shared(&mut self, expr: &Expr, is_root: bool) -> Expr {
        let Expr::Op { operator, ty, args } = expr else { return expr.clone() };
        let key = postfix::write(expr);
        if let Some(variable) = self.bound.get(&key) {
            return Expr::Var(*variable);
        }
        let args = args.iter().map(|arg| self.without_shared(arg, false)).collect();
        let value = Expr::Op { operator: *operator, ty: *ty, args };
        if is_root || self.uses.get(&key).is_none_or(|uses| *uses < 2) {
            return value;
        }
        let variable = self.variables + self.bindings.len();
        self.bindings.push(value);
        self.bound.insert(key, variable);
        Expr::Var(variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::op;
    use fpgrind_analysis::Number;
    use fpgrind_ir::Operator::{Add, Mul, Sqrt, Sub};

    fn x() -> Expr {
        Expr::Var(0)
    }

    /// ((((x - y)^2)^2)^2)^2, in which everything occurs twice.
    fn powers() -> Expr {
        (0..4).fold(op(Sub, vec![x(), Expr::Var(1)]), |base, _| op(Mul, vec![base.clone(), base]))
    }

    #[test]
    fn what_occurs_twice_in_a_large_expression_is_bound_once_and_in_order() {
        assert_eq!(
            body(&powers(), &["x", "t2"], Type::F64),
            "(let* ([t1 (- x t2)]\n        [t3 (* t1 t1)]\n        [t4 (* t3 t3)]\n        [t5 (* t4 t4)])\n  (* t5 t5))"
        );
    }

    #[test]
    fn what_occurs_only_within_something_shared_is_not_bound() {
        let inner = op(Sqrt, vec![op(Sqrt, vec![op(Sqrt, vec![x()])])]);
        let sum = (0..5).fold(inner.clone(), |sum, _| op(Add, vec![sum, inner.clone()]));
        let text = body(&sum, &["x"], Type::F64);
        assert!(text.starts_with("(let* ([t1 (sqrt (sqrt (sqrt x)))])\n  (+ "), "{text}");
    }

    #[test]
    fn small_expressions_and_those_that_share_nothing_are_left_as_they_are() {
        let small = op(Mul, vec![op(Sqrt, vec![x()]), op(Sqrt, vec![x()])]);
        assert_eq!(body(&small, &["x"], Type::F64), "(* (sqrt x) (sqrt x))");
        let long = (0..20).fold(x(), |expr, _| op(Sqrt, vec![expr]));
        assert_eq!(body(&long, &["x"], Type::F64), long.fpcore(&["x"], Type::F64));
    }

    #[test]
    fn formats_and_the_signs_of_zeros_keep_operations_apart() {
        let zero = |value: f64| Expr::Num(Number::from(value));
        let add = |ty, zero| Expr::Op { operator: Add, ty, args: vec![x(), zero] };
        let mut parts = vec![add(Type::F64, zero(0.0)), add(Type::F64, zero(-0.0)), add(Type::F32, zero(0.0))];
        parts.extend((0..16).map(|_| x()));
        let sum = parts.into_iter().reduce(|sum, part| op(Mul, vec![sum, part])).expect("has parts");
        assert!(!body(&sum, &["x"], Type::F64).contains("let*"));
        let single = add(Type::F32, zero(0.0));
        let twice = (0..16).fold(single.clone(), |sum, _| op(Mul, vec![sum, single.clone()]));
        let text = body(&twice, &["x"], Type::F64);
        assert!(text.starts_with("(let* ([t1 (! :precision binary32 (+ x 0))])"), "{text}");
    }
}
