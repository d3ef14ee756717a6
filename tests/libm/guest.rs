//! A generated program that calls every function on its arguments, natively and under fpgrind.

use crate::big::Big;
use crate::common::{native, run, scratch};
use crate::functions::FUNCTIONS;
use crate::random::Random;
use fpgrind_analysis::log::Event;
use fpgrind_analysis::{Analysis, Config, Findings, Shadow};
use fpgrind_dbt::{End, Logging, Options, program};
use fpgrind_ir::Type;
use object::{Object, ObjectSymbol};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Copy)]
pub struct Format {
    pub ty: Type,
    pub suffix: &'static str,
    name: &'static str,
    /// GCC's name of the machine mode.
    mode: &'static str,
}

impl Format {
    pub const DOUBLE: Format = Format { ty: Type::F64, suffix: "", name: "double", mode: "d" };
    pub const FLOAT: Format = Format { ty: Type::F32, suffix: "f", name: "float", mode: "s" };
    pub const LONG_DOUBLE: Format = Format { ty: Type::F80, suffix: "l", name: "long double", mode: "x" };

    pub const FLOAT128: Format = Format { ty: Type::F128, suffix: "f128", name: "_Float128", mode: "t" };

    /// Is it neither zero nor infinite, nor NaN or subnormal?
    pub fn is_normal(self, bits: u128) -> bool {
        match self.ty {
            Type::F32 => f32::from_bits(bits as u32).is_normal(),
            Type::F64 => f64::from_bits(bits as u64).is_normal(),
            Type::F128 => !matches!(bits >> 112 & 0x7fff, 0 | 0x7fff),
            _ => !matches!(bits >> 64 & 0x7fff, 0 | 0x7fff),
        }
    }

    /// A function's name in this format.
    pub fn name(self, function: &str) -> String {
        let number = format!("{}", self.ty.bytes());
        match function.strip_suffix("_r") {
            _ if function.starts_with("_gfortran") => function.replace('#', &number),
            _ if function.starts_with('_') => function.replace('#', self.mode),
            Some(stem) => format!("{stem}{}_r", self.suffix),
            None => format!("{function}{}", self.suffix),
        }
    }
}

/// How the program gets at a function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// By a pointer that it asks the dynamic linker for.
    Pointer,
    /// By name: through the PLT, or directly in a static program.
    Linked,
}

/// A call: of which function, on what, and where its results go.
pub struct Case {
    pub function: usize,
    /// Floats of a format, or integers.
    pub args: Vec<(Type, u128)>,
    pub is_ordinary: bool,
    pub slots: Range<usize>,
}

impl Case {
    pub fn numbers(&self) -> Vec<Big> {
        let number = |&(ty, bits): &(Type, u128)| match ty {
            Type::B64 => Big::from_integer(bits as i64),
            _ => Big::from_bits(ty, bits),
        };
        self.args.iter().map(number).collect()
    }

    pub fn shown(&self) -> String {
        let args = self.args.iter().map(|&(ty, bits)| match ty {
            Type::B64 => (bits as i64).to_string(),
            _ => format!("{:?}", fpgrind_analysis::Number::new(ty, bits).to_f64()),
        });
        format!("({})", args.collect::<Vec<_>>().join(", "))
    }
}

/// What came of a run.
pub struct Guest {
    pub format: Format,
    pub cases: Vec<Case>,
    /// Functions that this libm does not have.
    pub missing: BTreeSet<usize>,
    pub shadows: Vec<Option<Shadow>>,
    pub findings: Findings,
    results: Vec<u8>,
}

const ORDINARY: usize = 40;
const SPECIAL: usize = 60;

impl Guest {
    pub fn run(format: Format, reached: Reached, flags: &[&str]) -> Guest {
        let folder = scratch(&format!(
            "libm-{}{}",
            format.name.replace(' ', "-"),
            if reached == Reached::Linked { "-linked" } else { "" }.to_owned() + &flags.concat()
        ));
        let (cases, input) = cases(format);
        let slots = cases.last().map_or(0, |case| case.slots.end);
        let [source, program, arguments] = ["guest.c", "guest", "arguments"].map(|name| folder.join(name));
        std::fs::write(&source, text(format, reached, cases.len(), slots)).expect("the folder is writable");
        std::fs::write(&arguments, &input).expect("the folder is writable");
        let mut gcc = Command::new("gcc");
        gcc.args(["-O1", "-g", "-no-pie", "-fno-builtin", "-w", "-D_GNU_SOURCE"]).arg(&source).arg("-o").arg(&program);
        gcc.args(flags).args(["-Wl,--no-as-needed", "-lm", "-ldl"]);
        let built = run(gcc, b"");
        assert_eq!(built.status, 0, "{}", built.stderr);

        let command = |results: &str| [program.clone(), arguments.clone(), folder.join(results)];
        let natively = run(native(&command("natively")), b"");
        assert_eq!(natively.status, 0, "{natively:?}");
        let address = address_of(&program, "out");
        let places: Vec<_> = (0..slots as u64).map(|slot| (address + 16 * slot, format.ty)).collect();
        let (shadows, findings) = analyse(&command("here"), &places);
        let [results, here] =
            ["natively", "here"].map(|name| std::fs::read(folder.join(name)).expect("it was written"));
        let missing = natively.stdout.lines().filter_map(|line| line.parse().ok()).collect();
        let guest = Guest { format, cases, missing, shadows, findings, results };
        guest.compare(&here);
        guest
    }

    /// The bits of a result.
    pub fn native(&self, slot: usize) -> u128 {
        let bytes = self.results[16 * slot..16 * slot + 16].first_chunk().expect("sixteen bytes");
        u128::from_le_bytes(*bytes) & (u128::MAX >> (128 - 8 * self.format.ty.bytes()))
    }

    /// The program must not see a difference: not in a result, not in errno, not in the exception flags.
    fn compare(&self, here: &[u8]) {
        assert_eq!(self.results.len(), here.len());
        if self.results != here {
            let at = self.results.iter().zip(here).position(|(a, b)| a != b).expect("they differ");
            let slots = 16 * self.shadows.len();
            let case = match at.checked_sub(slots) {
                Some(meta) => self.cases.get(meta / 8),
                None => self.cases.iter().find(|case| case.slots.contains(&(at / 16))),
            };
            let case = case.expect("it is one of the cases");
            panic!("{}{} differs from what it gives natively", FUNCTIONS[case.function].0, case.shown());
        }
    }
}

/// Runs a program under fpgrind; the shadows that the floats at these places have at its end, and what was found.
pub fn analyse(command: &[PathBuf], places: &[(u64, Type)]) -> (Vec<Option<Shadow>>, Findings) {
    let program = program::resolve(command.iter().map(|word| word.clone().into_os_string()).collect())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut analysis = Analysis::new(Config { threshold: 0.0, ..Config::default() });
    let mut shadows = Vec::new();
    let logging = Logging { check: true, discard: false, inside_math: false, named: None, selection: None };
    let options = Options { logging: Some(logging), ..Options::default() };
    let ran = fpgrind_dbt::run(&program, &options, |event| {
        // When the process ends its shadows go with it.
        if let Event::ProcessEnded(process) = event {
            shadows = places.iter().map(|(address, ty)| analysis.memory(process, *address, *ty)).collect();
        }
        analysis.event(event);
    });
    assert_eq!(ran.unwrap_or_else(|error| panic!("{error}")).end, End::Exited(0));
    (shadows, analysis.finish())
}

/// The address of a variable of a program.
pub fn address_of(program: &Path, name: &str) -> u64 {
    let data = std::fs::read(program).expect("it was built");
    let file = object::File::parse(&*data).expect("an ELF file");
    file.symbol_by_name(name).map(|symbol| symbol.address()).expect("the program has such a symbol")
}

/// The functions that a library has.
pub fn symbols(library: &Path) -> BTreeSet<String> {
    let data = std::fs::read(library).expect("it can be read");
    let file = object::File::parse(&*data).expect("an ELF file");
    let defined = file.dynamic_symbols().filter(|symbol| !symbol.is_undefined() && symbol.address() != 0);
    defined.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect()
}

/// The file that programs get when they are linked with libm.
pub fn libm() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
    let mapped = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let libc = mapped.filter(|path| path.contains("libc.so")).map(Path::new).next().expect("libc is mapped");
    libc.with_file_name("libm.so.6")
}

// Arguments.

fn special(format: Format, random: &mut Random) -> u128 {
    let least = Big::from_integer(1);
    let of = |value: f64| Big::from_bits(Type::F64, value.to_bits().into()).to_bits(format.ty);
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        10.0,
        1e-300,
        -1e-30,
        1e-10,
        1e10,
        1e22,
        1e300,
        -745.2,
        709.8,
        88.8,
        f64::MAX,
        f64::MIN_POSITIVE,
        f32::MAX as f64,
        5e-324,
        1e-40,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        std::f64::consts::PI,
        171.5,
        -170.5,
        4503599627370497.5,
        2147483648.5,
        0.999999999,
        1.0000001,
    ];
    of(values[random.below(values.len())]).or_else(|| least.to_bits(format.ty)).expect("one is a float")
}

/// A float of moderate size, with all its digits.
pub fn ordinary(format: Format, random: &mut Random) -> u128 {
    let exponent = random.below(12) as i64 - 7;
    let sign = (random.next() & 1) as u128;
    let digits = random.next();
    match format.ty {
        Type::F32 => sign << 31 | ((exponent + 127) as u128) << 23 | (digits >> 41) as u128,
        Type::F64 => sign << 63 | ((exponent + 1023) as u128) << 52 | (digits >> 12) as u128,
        Type::F128 => {
            sign << 127 | ((exponent + 16383) as u128) << 112 | u128::from(digits) << 48 | u128::from(digits) >> 16
        }
        _ => sign << 79 | ((exponent + 16383) as u128) << 64 | (digits | 1 << 63) as u128,
    }
}

fn cases(format: Format) -> (Vec<Case>, Vec<u8>) {
    let mut random = Random::new(format.ty.bytes() as u64);
    let (mut cases, mut input, mut slot) = (Vec::new(), Vec::new(), 0);
    for (function, (name, signature, _)) in FUNCTIONS.iter().enumerate() {
        let (gives, takes) = signature.split_once(':').expect("a signature");
        let results = match gives {
            "v" => 0,
            "z" => 2,
            _ => 1,
        } + takes.matches('p').count();
        for number in 0..ORDINARY + SPECIAL {
            let is_ordinary = number < ORDINARY;
            let mut float = |format: Format| {
                let mixed = random.below(4) == 0;
                (
                    format.ty,
                    if is_ordinary || mixed { ordinary(format, &mut random) } else { special(format, &mut random) },
                )
            };
            let mut args = Vec::new();
            for take in takes.chars() {
                match take {
                    'x' => args.push(float(format)),
                    'z' => args.extend([float(format), float(format)]),
                    'L' => args.push(float(Format::LONG_DOUBLE)),
                    'i' | 'l' => {
                        let integer = if is_ordinary { number as i64 % 40 - 5 } else { number as i64 * 331 - 9000 };
                        args.push((Type::B64, integer as u64 as u128));
                    }
                    _ => {}
                }
            }
            // It wants an integer as a float.
            if *name == "scalb" {
                args[1].1 = Big::from_integer(number as i64 - 30).to_bits(format.ty).expect("a float");
            }
            args.iter().for_each(|(_, bits)| input.extend(bits.to_le_bytes()));
            cases.push(Case { function, args, is_ordinary, slots: slot..slot + results });
            slot += results;
        }
    }
    (cases, input)
}

// The program.

fn text(format: Format, reached: Reached, cases: usize, slots: usize) -> String {
    let linked = if reached == Reached::Linked { symbols(&libm()) } else { BTreeSet::new() };
    let real = format.name;
    let mut text = format!(
        r#"
#include <complex.h>
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>

typedef {real} real;
typedef {real} _Complex cplx;
typedef union {{ real x; long double L; int i; long l; unsigned char bytes[16]; }} slot;
static slot *in;
slot out[{slots}] __attribute__((aligned(16)));
static struct {{ int error, flags; }} meta[{cases}];
static slot *result = out;
static int done;
#ifdef STATICALLY
static const int statically = 1;
#else
static const int statically = 0;
#endif

static void begin(void) {{
    errno = 0;
    feclearexcept(FE_ALL_EXCEPT);
}}
static void end(void) {{
    meta[done].error = errno;
    meta[done++].flags = fetestexcept(FE_ALL_EXCEPT);
}}
"#
    );
    let mut calls = String::new();
    for (number, (name, signature, _)) in FUNCTIONS.iter().enumerate() {
        let (gives, takes) = signature.split_once(':').expect("a signature");
        let name = format.name(name);
        // The linker does not find this one any more: old programs do.
        let is_linked = linked.contains(&name) && !name.starts_with("pow10") || name.starts_with("__");
        let found = match reached {
            Reached::Pointer => format!("dlsym(RTLD_DEFAULT, \"{name}\")"),
            Reached::Linked if is_linked => format!("linked{number}"),
            Reached::Linked => "0".to_owned(),
        };
        function(&mut text, number, &name, &found, gives, takes);
        let _ = writeln!(calls, "    f{number}();");
    }
    let _ = write!(
        text,
        r#"
int main(int argc, char **argv) {{
    FILE *file = fopen(argv[1], "rb");
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    in = aligned_alloc(16, size);
    const char *helpers[] = {{ "libgcc_s.so.1", "libgfortran.so.5" }};
    for (int i = 0; i < 2 && !statically; i++) dlopen(helpers[i], RTLD_NOW | RTLD_GLOBAL);
    if (fread(in, 1, size, file) != size) return 2;
{calls}
    file = fopen(argv[2], "wb");
    fwrite(out, 1, sizeof out, file);
    fwrite(meta, 1, sizeof meta, file);
    return fclose(file);
}}
"#
    );
    text
}

/// A function that calls one of libm's on all its arguments.
fn function(text: &mut String, number: usize, name: &str, found: &str, gives: &str, takes: &str) {
    let (mut types, mut loads, mut args, mut used, mut pointers) = (vec![], String::new(), vec![], 0, 0);
    let returned = match gives {
        "v" => 0,
        "z" => 2,
        _ => 1,
    };
    for (at, take) in takes.chars().enumerate() {
        let (ty, value) = match take {
            'x' => ("real", format!("in[{used}].x")),
            'z' => ("cplx", format!("__builtin_complex(in[{used}].x, in[{}].x)", used + 1)),
            'L' => ("long double", format!("in[{used}].L")),
            'i' => ("int", format!("in[{used}].i")),
            'l' => ("long", format!("in[{used}].l")),
            'p' => ("real *", format!("&result[{}].x", returned + pointers)),
            _ => ("int *", "&ignored".to_owned()),
        };
        pointers += usize::from(take == 'p');
        used += if take == 'z' { 2 } else { usize::from("xLil".contains(take)) };
        types.push(ty);
        let _ = write!(loads, "{ty} a{at} = {value}; ");
        args.push(format!("a{at}"));
    }
    let (ty, stores) = match gives {
        "x" => ("real", "result[0].x = r;"),
        "z" => ("cplx", "result[0].x = __real__ r; result[1].x = __imag__ r;"),
        "i" => ("int", "result[0].l = r;"),
        "l" => ("long", "result[0].l = r;"),
        _ => ("void", ""),
    };
    let call = if found.starts_with("linked") { found } else { "f" };
    let keep = if gives == "v" { String::new() } else { format!("{ty} r = ") };
    let results = returned + pointers;
    let count = ORDINARY + SPECIAL;
    let (types, args) = (types.join(", "), args.join(", "));
    let text_of = format!(
        r#"
static void f{number}(void) {{
    extern {ty} linked{number}({types}) __asm__("{name}");
    {ty} (*f)({types}) = {found};
    if (!f) printf("{number}\n");
    for (int i = 0; i < {count}; i++) {{
        int ignored;
        {loads}
        if (f) {{ begin(); {keep}{call}({args}); {stores} end(); }} else done++;
        in += {used}; result += {results};
    }}
}}
"#
    );
    text.push_str(&text_of);
}
