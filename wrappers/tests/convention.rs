//! The arguments of output calls are where the compiler puts them: a C program passes known doubles to functions that
//! write down their registers and stack, and we must find those doubles there.

use fpgrind_analysis::Number;
use fpgrind_analysis::log::{Origin, OutputArg};
use fpgrind_wrappers::{CallState, output, output_call};
use std::path::Path;
use std::process::Command;

/// `probe` stands for an output function: at its first instruction it saves all registers and hands them to `dump`,
/// which writes them, the stack above and the format to stdout.
const SOURCE: &str = r#"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { STACK = 2048, FORMAT = 256 };

void dump(uint64_t *state) { /* 8 doubles, 16 general registers */
    uint64_t rsp = state[8 + 4];
    uint64_t format = state[8 + 7];
    char text[FORMAT] = { 0 };
    strncpy(text, (char *)format, FORMAT - 1);
    fwrite(state, 8, 24, stdout);
    fwrite((void *)rsp, 1, STACK, stdout);
    fwrite(text, 1, FORMAT, stdout);
}

__asm__("probe:\n"
        "  push %r15\n push %r14\n push %r13\n push %r12\n push %r11\n push %r10\n push %r9\n push %r8\n"
        "  push %rdi\n push %rsi\n push %rbp\n"
        "  lea 88(%rsp), %r10\n push %r10\n" /* rsp as it was on entry: eleven pushes above */
        "  push %rbx\n push %rdx\n push %rcx\n push %rax\n"
        "  sub $64, %rsp\n"
        "  movsd %xmm0, (%rsp)\n movsd %xmm1, 8(%rsp)\n movsd %xmm2, 16(%rsp)\n movsd %xmm3, 24(%rsp)\n"
        "  movsd %xmm4, 32(%rsp)\n movsd %xmm5, 40(%rsp)\n movsd %xmm6, 48(%rsp)\n movsd %xmm7, 56(%rsp)\n"
        "  mov %rsp, %rdi\n mov %rsp, %rbp\n and $-16, %rsp\n call dump\n mov %rbp, %rsp\n"
        "  add $104, %rsp\n pop %rbp\n add $80, %rsp\n ret\n");
void probe(const char *format, ...);
void vprobe(const char *format, va_list list) __asm__("probe");

/* The list is used up to its second argument before it is passed on. */
static void forward(int skipped, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (skipped)
        (void)va_arg(list, double);
    vprobe(format, list);
    va_end(list);
}

#define FEW "%d %f %s %.*g\n", 7, 1.5, "text", 3, -2.25
#define MANY "%f%d%f%d%f%d%f%d%f%d%f%d%f%d%f%d%f%d%e%g", 0., 1, 1., 2, 2., 3, 3., 4, 4., 5, 5., 6, 6., 7, 7., 8, 8., 9, 9., 10.
#define LONG "%f%f%f%f%f%f%f%f%d%d%d%d%d%d%Lf%f%Lf%Lf%f", 0., 1., 2., 3., 4., 5., 6., 7., 1, 2, 3, 4, 5, 6, 1.L, 8., 2.L, 3.L, 9.
#define NUMBERED "%3$f %1$g %2$d", 1.25, 5, 3.75

int main(void) {
    volatile char room[4096]; /* so that there is that much stack to write out */
    room[0] = 0;
    probe(FEW); probe(MANY); probe(LONG); probe(NUMBERED);
    forward(0, FEW); forward(0, MANY); forward(0, LONG); forward(0, NUMBERED);
    forward(1, "%f %g\n", 0.5, 1.5, 2.5);
    return room[0];
}
"#;

const STACK: usize = 2048;
const FORMAT: usize = 256;

/// What one call left behind.
struct Call {
    state: CallState,
    stack: Vec<u8>,
    format: Vec<u8>,
}

impl Call {
    fn read(bytes: &[u8]) -> Call {
        let word = |i: usize| u64::from_le_bytes(bytes[8 * i..8 * i + 8].try_into().unwrap());
        let (stack, format) = bytes[24 * 8..].split_at(STACK);
        Call {
            state: CallState {
                xmm: std::array::from_fn(|i| word(i).into()),
                gpr: std::array::from_fn(|i| word(8 + i)),
            },
            stack: stack.to_vec(),
            format: format.to_vec(),
        }
    }

    fn memory(&self, address: u64, buffer: &mut [u8]) -> bool {
        let copy = |from: &[u8], base: u64, buffer: &mut [u8]| {
            let Some(offset) = address.checked_sub(base).map(|offset| offset as usize) else { return false };
            // Around the format is what we did not save; it is not part of the string.
            let available = from.len().saturating_sub(offset).min(buffer.len());
            buffer.fill(0);
            buffer[..available].copy_from_slice(&from[offset.min(from.len())..][..available]);
            available > 0
        };
        copy(&self.stack, self.state.gpr[4], buffer) || copy(&self.format, self.state.gpr[7], buffer)
    }

    fn arguments(&self, symbol: &str) -> Vec<OutputArg> {
        let function = output(symbol).unwrap();
        let memory = |address: u64, buffer: &mut [u8]| self.memory(address, buffer);
        assert!(self.state.return_address(&memory).is_some_and(|pc| pc != 0));
        output_call(&function, &self.state, &memory)
    }
}

#[test]
fn doubles_are_found_where_the_compiler_passes_them() {
    for optimisation in ["-O0", "-O2"] {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (source, program) = (dir.join("probe.c"), dir.join(format!("probe{optimisation}")));
        std::fs::write(&source, SOURCE).unwrap();
        let gcc =
            Command::new("gcc").arg(optimisation).arg(&source).arg("-o").arg(&program).output().expect("gcc runs");
        assert!(gcc.status.success(), "{}", String::from_utf8_lossy(&gcc.stderr));
        let output = Command::new(&program).output().expect("the probe runs");
        assert!(output.status.success());
        let calls: Vec<Call> = output.stdout.chunks_exact(24 * 8 + STACK + FORMAT).map(Call::read).collect();
        assert_eq!(calls.len(), 9);

        let count = |to: usize| (0..=to).map(|i| i as f64).collect::<Vec<_>>();
        let with_long_doubles = [count(7), vec![1.0, 8.0, 2.0, 3.0, 9.0]].concat();
        let expected = [vec![1.5, -2.25], count(10), with_long_doubles, vec![1.25, 3.75]];
        for (call, (symbol, expected)) in calls.iter().zip(
            expected
                .iter()
                .map(|values| ("printf", values.clone()))
                .chain(expected.iter().map(|values| ("vprintf", values.clone())))
                .chain([("vprintf", vec![1.5, 2.5])]),
        ) {
            let arguments = call.arguments(symbol);
            let values: Vec<f64> = arguments.iter().map(|arg| Number::new(arg.ty, arg.bits).to_f64()).collect();
            assert_eq!(values, expected, "{symbol} at {optimisation}");
            let in_registers =
                arguments.iter().filter(|argument| matches!(argument.origin, Origin::Register(_))).count();
            assert_eq!(in_registers, if symbol == "printf" { expected.len().min(8) } else { 0 });
        }
    }
}
