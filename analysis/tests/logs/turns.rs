//! Loops over arrays that run long enough for compiled code: all ways to run them give the same shadows.

use crate::support::Log;
use fpgrind_ir::Type;
use std::fmt::Write;

/// So many executions of a site are looked at one by one; what comes then is left to compiled code.
const LOOKED_AT: usize = 1024;
const A: u64 = 0x10000;
const B: u64 = 0x20000;
const LANES: usize = 4;

/// Four turns of a loop over two arrays, turn by turn: `step` says what is done with %a and %b, from value %0 on, and stores the value %n.
fn turns(ty: &str, bytes: usize, steps: &[&str]) -> String {
    let mut text =
        String::from("block 0x1000 record 128 {\n  0x1000 4:\n    v0: b64 = live rdi #8\n    v1: b64 = live rsi #16\n");
    let mut next = 2;
    for lane in 0..LANES {
        let (a, b, at) = (next, next + 1, bytes * lane);
        writeln!(text, "    v{a}: {ty} = load [v0+{at:#x}] #{}", 32 + at).unwrap();
        writeln!(text, "    v{b}: {ty} = load [v1+{at:#x}] #{}", 80 + at).unwrap();
        next += 2;
        for step in steps {
            let step = step.replace("%a", &format!("v{a}")).replace("%b", &format!("v{b}"));
            writeln!(text, "    v{next}: {ty} = {}", step.replace("%last", &format!("v{}", next - 1))).unwrap();
            next += 1;
        }
        writeln!(text, "    store [v0+{at:#x}], v{}", next - 1).unwrap();
    }
    text + "}"
}

/// What a turn does, and what comes of it natively.
type Way<F> = (&'static [&'static str], fn(F, F) -> F);

/// Numbers between one and two, the same in each run.
struct Numbers(u64);

impl Iterator for Numbers {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        Some(f64::from_bits(1023 << 52 | self.0 >> 12))
    }
}

/// Runs such a loop on numbers given as bits: what is stored must be as it natively is, and hardly wrong, whoever analyses it.
fn run_loop(ty: Type, steps: &[&str], native: impl Fn(u64, u64) -> u64, mut next: impl FnMut() -> u64) {
    let mut log = Log::new();
    let bytes = ty.bytes();
    let block = log.block(&turns(if ty == Type::F32 { "f32" } else { "f64" }, bytes, steps));
    let mut values: [u64; LANES] = std::array::from_fn(|_| next());
    for run in 0..2 * LOOKED_AT {
        let others: [u64; LANES] = std::array::from_fn(|_| next());
        let mut fields = vec![(8, A), (16, B)];
        for lane in 0..LANES {
            fields.push((32 + bytes * lane, values[lane]));
            fields.push((80 + bytes * lane, others[lane]));
        }
        // Fields are eight bytes long: those that lie higher come later.
        fields.sort();
        log.run(block, &fields);
        for lane in 0..LANES {
            values[lane] = native(values[lane], others[lane]);
            if run % 100 == 0 || run > LOOKED_AT {
                let shadow = log.analysis.memory(0, A + (bytes * lane) as u64, ty).expect("a shadow");
                assert_eq!(shadow.native as u64, values[lane], "{steps:?}");
                assert!(shadow.bits < 5.0, "{steps:?} {run}: {shadow:?}");
            }
        }
    }
    log.finish();
}

#[test]
fn doubles_have_the_same_shadows_compiled_or_not() {
    let ways: [Way<f64>; 6] = [
        (&["add %a, %b", "mul %last, %b", "div %last, %a", "sqrt %last"], |a, b| ((a + b) * b / a).sqrt()),
        (&["mul %a, %b", "add %last, %b", "sqrt %last"], |a, b| (a * b + b).sqrt()),
        (&["fma %a, %b, %b", "div %last, %b"], |a, b| a.mul_add(b, b) / b),
        (&["sub %a, %b", "mul %last, %last", "add %last, %b"], |a, b| (a - b) * (a - b) + b),
        (&["div %a, %b", "sqrt %last", "add %last, %a", "div %last, %b"], |a, b| ((a / b).sqrt() + a) / b),
        // Zeros beyond doubt.
        (&["sub %b, %b", "mul %last, %a", "add %last, %a"], |a, _| a),
    ];
    for (steps, native) in ways {
        let native = |a, b| native(f64::from_bits(a), f64::from_bits(b)).to_bits();
        let mut numbers = Numbers(1);
        run_loop(Type::F64, steps, native, || numbers.next().unwrap().to_bits());
    }
}

#[test]
fn singles_have_the_same_shadows_compiled_or_not() {
    let ways: [Way<f32>; 3] = [
        (&["add %a, %b", "mul %last, %b", "div %last, %a", "sqrt %last"], |a, b| ((a + b) * b / a).sqrt()),
        (&["fma %a, %b, %b", "div %last, %b"], |a, b| a.mul_add(b, b) / b),
        (&["sub %a, %b", "mul %last, %last", "add %last, %b"], |a, b| (a - b) * (a - b) + b),
    ];
    for (steps, native) in ways {
        let native = |a, b| native(f32::from_bits(a as u32), f32::from_bits(b as u32)).to_bits() as u64;
        let mut numbers = Numbers(2);
        run_loop(Type::F32, steps, native, || (numbers.next().unwrap() as f32).to_bits() as u64);
    }
}

#[test]
fn a_load_finds_what_was_stored_before_it_wherever_that_is() {
    let mut log = Log::new();
    // In each turn a number with an error goes from one array to the next element of the other.
    let mut text =
        String::from("block 0x1000 record 128 {\n  0x1000 4:\n    v0: b64 = live rdi #8\n    v1: b64 = live rsi #16\n");
    for lane in 0..LANES {
        let (first, at) = (2 + 2 * lane, 8 * lane);
        writeln!(text, "    v{first}: f64 = load [v1+{at:#x}] #{}", 32 + at).unwrap();
        writeln!(text, "    v{}: f64 = mul v{first}, v{first}", first + 1).unwrap();
        writeln!(text, "    store [v0+{at:#x}], v{}", first + 1).unwrap();
    }
    let block = log.block(&(text + "}"));
    let (mut numbers, mut handed_on, mut inexact) = (Numbers(3), 0, 0);
    for run in 0..2 * LOOKED_AT as u64 {
        // What is stored in a turn is loaded in the next; or not, if the arrays are apart, or one begins where the other ends.
        let shift = [8, 0x1000, 16, 32, 64][run as usize % 5];
        let from = A + 0x8000 * (run % 3);
        let mut memory: [f64; 12] = std::array::from_fn(|_| numbers.next().unwrap());
        let (mut fields, mut squares) = (vec![(8, from + shift), (16, from)], Vec::new());
        for lane in 0..LANES {
            let loaded = memory[lane];
            fields.push((32 + 8 * lane, loaded.to_bits()));
            squares.push(loaded * loaded);
            if let Some(place) = memory.get_mut(lane + shift as usize / 8) {
                *place = loaded * loaded;
            }
        }
        // Nothing is known of what is loaded but what this record has stored.
        log.run(block, &fields);
        for (lane, square) in squares.iter().enumerate() {
            let shadow = log.analysis.memory(0, from + shift + 8 * lane as u64, Type::F64).expect("a shadow");
            assert_eq!(f64::from_bits(shadow.native as u64), *square);
            // A square of a square is wrong by what it is made of, mostly; of a number that nothing is known of, it is right.
            let is_exact = shadow.native == shadow.rounded;
            match lane < shift as usize / 8 {
                true => assert!(is_exact, "{run} {lane} {shadow:?}"),
                false if run >= LOOKED_AT as u64 => {
                    (handed_on, inexact) = (handed_on + 1, inexact + !is_exact as usize)
                }
                false => {}
            }
        }
    }
    assert!(handed_on > 500 && 3 * inexact > handed_on, "{inexact} of {handed_on}");
    log.finish();
}
