"""The programs that are measured, and how they are compiled.

Each is run as `program SIZE REPEATS` and does its work REPEATS times over, so that a run can be made long enough to
time under a tool of any speed, and so that start-up can be subtracted.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "fpbench" / "programs"


@dataclass(frozen=True)
class Program:
    name: str
    source: str
    size: int
    flags: str = "-O2"
    # More arguments, after SIZE and REPEATS.
    arguments: tuple = ()


FLOATS = "-DREAL=float"
COMPILED = [
    Program("sum, float", "sum.c", 20000, f"-O2 {FLOATS}"),
    Program("sum, double", "sum.c", 20000),
    Program("Kahan sum, float", "kahan_sum.c", 5000, f"-O2 {FLOATS}"),
    Program("Kahan sum, double", "kahan_sum.c", 5000),
    Program("dot", "dot.c", 10000),
    Program("daxpy", "daxpy.c", 10000, "-O2 -fno-tree-vectorize"),
    Program("matmul, scalar", "matmul.c", 24, "-O2 -fno-tree-vectorize"),
    Program("matmul, SSE2", "matmul.c", 24, "-O3"),
    Program("matmul, AVX2", "matmul.c", 24, "-O3 -mavx2 -mfma"),
    Program("n-body", "nbody.c", 50),
    Program("LU", "lu.c", 32),
    Program("FFT", "fft.c", 512),
    Program("stencil", "stencil.c", 64),
    Program("Gauss-Seidel", "relaxation.c", 48),
    Program("Cholesky", "cholesky.c", 32),
    Program("rank-two update", "rank_two.c", 40),
    Program("spectral norm", "spectral_norm.c", 32),
    Program("quadratic roots", "quadratic.c", 1500),
    Program("libm", "libm.c", 300),
    Program("Gram-Schmidt", "gram_schmidt.c", 20),
    Program("Runge-Kutta, Fortran", "runge_kutta.f90", 100),
    Program("recursive fib", "fib.c", 20),
]
# Not a row of the table: for the growth with the number of threads.
THREADS = Program("threads", "threads.c", 10000)


def named(name):
    return next(program for program in COMPILED if program.name == name)


def compiler_of(program):
    return "gfortran" if program.source.endswith(".f90") else "gcc"


def build(program, folder, compiler=None):
    """Compiles a program into a folder. None where that compiler is not for it, or not installed with all it needs."""
    own = compiler_of(program)
    if compiler and own != "gcc":
        return None
    command = (compiler or own).split()
    if not shutil.which(command[0]):
        return None
    name = "".join(letter if letter.isalnum() else "-" for letter in f"{program.name} {compiler or own}")
    binary = Path(folder) / name
    command += ["-g", *program.flags.split(), SOURCES / program.source, "-o", binary, "-lm", "-pthread"]
    failed = subprocess.run(command).returncode != 0
    if failed and not compiler:
        raise BuildFailed(f"{own} cannot compile {program.source}.")
    return None if failed else binary


class BuildFailed(Exception):
    pass


def command_of(program, binary):
    """A function from the number of repeats to the command."""
    return lambda repeats: [binary, program.size, repeats, *program.arguments]


def interpreted_and_installed(folder):
    """Programs that are on the machine already, by name: functions from the number of repeats to the command."""
    text = Path(folder) / "text"
    # Compresses about as well as text does.
    text.write_text("".join(f"{i * i % 9973} {i ^ (i >> 3)}\n" for i in range(10_000)))
    programs = {
        "python loop": lambda repeats: [python(), SOURCES / "loop.py", 2000, repeats],
        "python calls": lambda repeats: [python(), SOURCES / "calls.py", 500, repeats],
        "perl loop": lambda repeats: ["/usr/bin/perl", SOURCES / "loop.pl", 2000, repeats],
    }
    for packer, suffix in (("gzip", ".gz"), ("xz", ".xz")):
        if not shutil.which(packer):
            continue
        subprocess.run([packer, "-k", "-f", text], check=True)
        packed = f"{text}{suffix}"
        programs[packer] = lambda repeats, packer=packer: [packer, "-c", *[text] * repeats]
        programs[f"{packer} -d"] = lambda repeats, packer=packer, packed=packed: [packer, "-dc", *[packed] * repeats]
    compiler = gcc_part("cc1")
    if compiler:
        programs["C compiler"] = lambda repeats: [
            compiler, "-O2", "-quiet", many_functions(repeats, folder), "-o", "/dev/null"
        ]
    return programs


def gcc_part(name):
    """The path of a program that gcc runs; None if there is none."""
    if not shutil.which("gcc"):
        return None
    path = subprocess.run(["gcc", f"-print-prog-name={name}"], capture_output=True, text=True).stdout.strip()
    # gcc answers with the bare name when it has no such program.
    return path if Path(path).is_absolute() else None


def many_functions(times, folder):
    """A C file, preprocessed, with the same functions so many times over."""
    source = Path(folder) / f"functions{times}.i"
    if not source.exists():
        text = (SOURCES / "functions.c").read_text()
        source.write_text("".join(text.replace("NUMBER", str(number)) for number in range(times)))
    return source


def python():
    # What is first on the path may be a script that starts the interpreter.
    return "/usr/bin/python3" if Path("/usr/bin/python3").exists() else shutil.which("python3")


def many_sites(sites, folder):
    """A program with so many distinct operations; `program PASSES` executes each of them so many times."""
    # Functions of a hundred lines at most, because compilers are slow on long ones.
    lines = range(sites // 2)
    functions = [lines[first : first + 100] for first in range(0, len(lines), 100)]
    text = ["#include <stdio.h>", "#include <stdlib.h>", "static double x[64];"]
    for number, places in enumerate(functions):
        text += [f"__attribute__((noinline)) static void part{number}(void)", "{"]
        # A multiplication and an addition whose results stay bounded.
        text += [f"    x[{i % 64}] = 0.5 * x[{(i * 7 + 3) % 64}] + {1 + i % 1000 / 7!r};" for i in places]
        text.append("}")
    text += ["int main(int argc, char **argv)", "{", "    long passes = argc > 1 ? atol(argv[1]) : 1;"]
    text.append("    for (long i = 0; i < passes; i++) {")
    text += [f"        part{number}();" for number in range(len(functions))]
    text += ["    }", '    printf("%.17g\\n", x[0]);', "    return 0;", "}"]
    source, binary = Path(folder) / f"sites{sites}.c", Path(folder) / f"sites{sites}"
    source.write_text("\n".join(text) + "\n")
    if subprocess.run(["gcc", "-O1", "-g", source, "-o", binary]).returncode != 0:
        raise BuildFailed(f"gcc cannot compile {source.name}.")
    return binary
