//! Functions that the user says the meaning of, in a file: a line each.
//!
//! ```text
//! # libspecial's Bessel function is one operation, whatever it computes inside.
//! bessel_k0(double) -> double = black box
//! fast_hypot(float, float) -> float = hypot
//! solver+0x4a10 = sin
//! ```
//!
//! Before the equals sign is a function, by its symbol or by a file's name and the address in the file; what it takes and returns, as in
//! C. Behind it is an operation that the analysis knows, or `black box`: what it returns is then right by definition, and in expressions there is a
//! call of it. Where the types are left out it is what the C library's function of
//! that name is: so a stripped program's printf can be told as well.

use crate::math::{Give, Kind, Lanes, Math, Take, convention};
use crate::{Wrapper, unversioned, wrapper};
use fpgrind_ir::{BlackBox, MAX_ARITY, Operator, Type};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a file says.
#[derive(Debug, Default)]
pub struct Named {
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    place: Place,
    wrapper: Wrapper,
    /// Such a function was there.
    seen: AtomicBool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Symbol(String),
    /// The name of a file, and the address in it.
    Address(String, u64),
}

impl Named {
    /// Reads a file's text. The sentence says in which line what is wrong.
    pub fn parse(text: &str) -> Result<Named, String> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let entries = lines.enumerate().filter(|(_, line)| !line.is_empty()).map(|(number, line)| {
            let (place, wrapper) = entry(line).map_err(|problem| format!("line {}: {problem}", number + 1))?;
            Ok(Entry { place, wrapper, seen: AtomicBool::new(false) })
        });
        Ok(Named { entries: entries.collect::<Result<_, String>>()? })
    }

    /// What the function with this symbol is.
    pub fn symbol(&self, symbol: &str) -> Option<Wrapper> {
        let symbol = unversioned(symbol);
        self.find(|place| matches!(place, Place::Symbol(name) if name == symbol))
    }

    /// The addresses in a file of which something is said.
    pub fn addresses<'a>(&'a self, file: &'a Path) -> impl Iterator<Item = (u64, Wrapper)> + 'a {
        let name = file.file_name().and_then(|name| name.to_str());
        self.entries.iter().filter_map(move |entry| match &entry.place {
            Place::Address(file, address) if Some(file.as_str()) == name => {
                entry.seen.store(true, Ordering::Relaxed);
                Some((*address, entry.wrapper))
            }
            _ => None,
        })
    }

    /// Those that were looked for in vain, as the file has them.
    pub fn unseen(&self) -> Vec<String> {
        let unseen = self.entries.iter().filter(|entry| !entry.seen.load(Ordering::Relaxed));
        let shown = unseen.map(|entry| match &entry.place {
            Place::Symbol(name) => name.clone(),
            Place::Address(file, address) => format!("{file}+{address:#x}"),
        });
        shown.collect()
    }

    fn find(&self, is: impl Fn(&Place) -> bool) -> Option<Wrapper> {
        let entry = self.entries.iter().find(|entry| is(&entry.place))?;
        entry.seen.store(true, Ordering::Relaxed);
        Some(entry.wrapper)
    }
}

fn entry(line: &str) -> Result<(Place, Wrapper), String> {
    let (function, operation) =
        line.split_once('=').ok_or("a function, an equals sign and an operation are expected")?;
    let (function, operation) = (function.trim(), operation.trim());
    let (name, signature) = match function.split_once('(') {
        Some((name, signature)) => (name.trim(), Some(signature)),
        None => (function, None),
    };
    let place = place(name)?;
    let wrapper = match signature {
        Some(signature) => Wrapper::Math(Box::leak(Box::new(described(shown_name(&place), signature, operation)?))),
        None => wrapper(operation).ok_or_else(|| {
            format!("fpgrind knows no function `{operation}`; name the types, as in {name}(double) -> double")
        })?,
    };
    Ok((place, wrapper))
}

fn place(name: &str) -> Result<Place, String> {
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(format!("`{name}` is no function's name"));
    }
    let Some((file, address)) = name.rsplit_once('+') else { return Ok(Place::Symbol(name.to_owned())) };
    let address = address.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let address =
        address.ok_or_else(|| format!("behind the plus sign of `{name}` an address such as 0x4a10 is expected"))?;
    Ok(Place::Address(file.to_owned(), address))
}

/// What the function is called in expressions.
fn shown_name(place: &Place) -> String {
    let name = match place {
        Place::Symbol(name) => name.clone(),
        Place::Address(file, address) => format!("{file}_{address:x}"),
    };
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// `double, int*) -> double`, and what that is.
fn described(name: String, signature: &str, operation: &str) -> Result<Math, String> {
    let (takes, gives) = signature.split_once(')').ok_or("the types of the arguments end in a parenthesis")?;
    let gives = gives.trim().strip_prefix("->").ok_or("behind the arguments `-> TYPE` is expected")?.trim();
    let takes = takes.split(',').map(str::trim).filter(|ty| !matches!(*ty, "" | "void"));
    let takes = takes.map(argument).collect::<Result<Vec<Take>, String>>()?;
    let returned = if gives == "void" { None } else { Some(argument(gives)?) };
    let (to, is_complex) = match returned {
        Some(Take::Of(ty)) => (Some(ty), false),
        Some(Take::ComplexOf(ty)) => (Some(ty), true),
        None => (None, false),
        Some(_) => return Err(format!("a function that returns {gives} gives no float")),
    };
    let odd = || "there are more arguments than registers hold".to_owned();
    let args = convention::math(&takes, &[], Type::F64, Type::F64, Lanes::SCALAR).ok_or_else(odd)?.args;
    let of = operands(&args.iter().map(|arg| arg.kind).collect::<Vec<_>>());
    let is_box = operation == "black box";
    let operator = |name: &str| {
        let known = match is_box {
            true => BlackBox::new(name, of.len()).map(Operator::Opaque).ok_or("there are too many black boxes"),
            false => Operator::ALL.iter().copied().find(|op| op.name() == name).ok_or("no such operation is known"),
        };
        let known = known.map_err(|problem| format!("{problem}: `{name}`"))?;
        let takes = known.arity();
        let fits = takes == of.len() && takes <= MAX_ARITY;
        if fits { Ok(known) } else { Err(format!("{name} takes {takes} numbers, and the function has {}", of.len())) }
    };
    if of.len() > MAX_ARITY {
        return Err(format!("the function has {} floats, and expressions at most {MAX_ARITY} arguments", of.len()));
    }
    let operation = if is_box { name.as_str() } else { operation };
    let gives = match (to, is_complex) {
        (None, _) if is_box => vec![],
        (None, _) => return Err("a function that returns nothing can only be a black box".to_owned()),
        (Some(_), false) => vec![Give::Float(operator(operation)?)],
        (Some(_), true) => {
            vec![Give::Complex(operator(&format!("re_{operation}"))?, operator(&format!("im_{operation}"))?)]
        }
    };
    let mut math =
        convention::math(&takes, &gives, Type::F64, to.unwrap_or(Type::F64), Lanes::SCALAR).ok_or_else(odd)?;
    math.results.iter_mut().for_each(|result| result.of = of.clone());
    Ok(math)
}

/// Which arguments are an operation's: all numbers, or only the floats if there are too many.
fn operands(kinds: &[Kind]) -> Vec<u8> {
    let all = (0..kinds.len() as u8).collect::<Vec<u8>>();
    match all.len() <= MAX_ARITY {
        true => all,
        false => all.into_iter().filter(|at| matches!(kinds[*at as usize], Kind::Float(_))).collect(),
    }
}

fn argument(ty: &str) -> Result<Take, String> {
    let words: Vec<&str> = ty.split_whitespace().filter(|word| !matches!(*word, "const" | "signed")).collect();
    let words = words.join(" ");
    Ok(match words.as_str() {
        "float" => Take::Of(Type::F32),
        "double" => Take::Of(Type::F64),
        "long double" => Take::Of(Type::F80),
        "float complex" | "complex float" => Take::ComplexOf(Type::F32),
        "double complex" | "complex double" => Take::ComplexOf(Type::F64),
        "long double complex" | "complex long double" => Take::ComplexOf(Type::F80),
        "int" => Take::Int,
        "long" | "long long" => Take::Long,
        other if other == "pointer" || other.ends_with('*') => Take::Pointer,
        _ => {
            return Err(format!(
                "`{ty}` is no type here; they are float, double, long double, each also complex, int, long and pointer"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math;

    fn math_of(line: &str) -> &'static Math {
        let named = Named::parse(line).unwrap_or_else(|problem| panic!("{line}: {problem}"));
        match named.entries[..] {
            [Entry { wrapper: Wrapper::Math(math), .. }] => math,
            _ => panic!("{line}"),
        }
    }

    #[test]
    fn a_line_says_what_a_function_takes_and_is() {
        assert_eq!(Some(math_of("f(double) -> double = sin")), math("sin"));
        assert_eq!(Some(math_of("f(float, float) -> float = hypot")), math("hypotf"));
        assert_eq!(Some(math_of("f(long double complex) -> long double complex = csqrt")), math("csqrtl"));
        assert_eq!(Some(math_of("f(int, double) -> double = jn  # of the second kind")), math("jn"));
        assert_eq!(Some(math_of("solver+0x4a10 = powf")), math("powf"));
        let output = Named::parse("solver+0x4a20 = __printf_chk").expect("valid");
        assert!(matches!(output.entries[0].wrapper, Wrapper::Output(_)));
    }

    #[test]
    fn a_black_box_is_called_by_its_name() {
        let dot = math_of("cblas_ddot(int, const double*, int, double *, int) -> double = black box");
        assert_eq!((dot.results[0].operator.name(), dot.results[0].of.len()), ("cblas_ddot", 3));
        assert_eq!(dot.pointers.len(), 2);
        let many = math_of("g(int, int, int, int, float) -> float = black box");
        assert_eq!((&many.results[0].of[..], many.args[4].kind), (&[4][..], Kind::Float(Type::F32)));
        assert_eq!(math_of("libk.so+0x10(double) -> double = black box").results[0].operator.name(), "libk_so_10");
        assert!(math_of("h(pointer) -> void = black box").results.is_empty());
        assert_eq!(math_of("c(double complex) -> double complex = black box").results[1].operator.name(), "im_c");
    }

    #[test]
    fn functions_are_found_by_symbol_or_by_file_and_address() {
        let named = Named::parse("# ours\n\nf(double) -> double = sin\nlibk.so+0x10 = cos\n").expect("valid");
        assert_eq!(named.unseen(), ["f", "libk.so+0x10"]);
        assert!(named.symbol("f@@VERSION_2").is_some() && named.symbol("g").is_none());
        assert_eq!(named.unseen(), ["libk.so+0x10"]);
        assert_eq!(named.addresses(Path::new("/usr/lib/libk.so")).map(|(at, _)| at).collect::<Vec<_>>(), [0x10]);
        assert_eq!(named.addresses(Path::new("/usr/lib/libj.so")).count(), 0);
        assert!(named.unseen().is_empty());
    }

    #[test]
    fn a_bad_line_is_named_with_what_is_wrong_with_it() {
        for (line, problem) in [
            ("f(double) -> double", "an equals sign"),
            ("f(double) = sin", "-> TYPE"),
            ("f(double -> double = sin", "parenthesis"),
            ("f(quad) -> double = sin", "`quad` is no type"),
            ("f(double) -> double = sine", "no such operation is known: `sine`"),
            ("f(double) -> double = pow", "pow takes 2 numbers, and the function has 1"),
            ("f = sine", "knows no function `sine`"),
            ("f+12 = sin", "an address such as 0x4a10"),
            ("a b = sin", "no function's name"),
            (" = sin", "no function's name"),
            ("f(double) -> int = black box", "gives no float"),
            ("f(double) -> void = sin", "only be a black box"),
            ("f(double,double,double,double,double) -> double = black box", "at most 4"),
            ("f(int,int,int,int,int,int,int) -> double = black box", "more arguments than registers"),
        ] {
            let sentence = Named::parse(&format!("\n{line}\n")).expect_err(line);
            assert!(sentence.starts_with("line 2: ") && sentence.contains(problem), "{line}: {sentence}");
        }
    }
}
