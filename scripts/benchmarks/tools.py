"""What a program is run under: natively, under fpgrind in each of its modes, and under its peers. One line each."""

import shutil
from dataclasses import dataclass


@dataclass(frozen=True)
class Tool:
    name: str
    # What comes before the program; {fpgrind} and {out}, a folder for a report, are filled in.
    prefix: tuple = ()
    # How the program is compiled for it; None: as it would be anyway.
    compiler: str | None = None
    # The tool whose runs its own are compared with.
    baseline: str = "native"
    # Has to be there.
    needs: str | None = None
    # Writes {out}/report.json, which tells the number of operations.
    reports: bool = False
    # As many operations as it does in seconds.
    most: float = 1e9
    # The work of a run takes about so many seconds of CPU time. Start-up and translation are subtracted, so it can be short.
    seconds: float = 0.25

    def command(self, fpgrind, out, program):
        return [word.format(fpgrind=fpgrind, out=out) for word in self.prefix] + program

    def is_there(self):
        return self.needs is None or shutil.which(self.needs) is not None


# Clang from 19 on has NSan; Debian 12 and 13 have this one.
CLANG = "clang-19"
# Clang contracts a * b + c by itself; NSan would then compute a fused operation in quadruple precision, in software.
CLANG_COMMAND = f"{CLANG} -ffp-contract=off"

NATIVE = Tool("native")
NONE = Tool("none", ("{fpgrind}", "--mode", "none", "--quiet", "--"))
LOG = Tool("log", ("{fpgrind}", "--mode", "log", "--quiet", "--"))
ANALYSIS = ("{fpgrind}", "--mode", "analyse", "--quiet", "--out", "{out}")
# Double-doubles with MPFR behind them, which is the default; the same, with nothing of the analysis compiled; and MPFR alone.
# The analysis looks at much once, so that short runs cost more an operation than long ones.
ANALYSE = Tool("analyse", (*ANALYSIS, "--real", "auto", "--"), reports=True, most=1e7, seconds=1)
INTERPRETED = Tool("interpreted", (*ANALYSIS, "--no-compile", "--"), reports=True, most=1e7)
MPFR = Tool("mpfr", (*ANALYSIS, "--real", "mpfr", "--"), reports=True, most=1e7)
# For a run of any length, within the memory that there is by default.
LONG = Tool("long", (*ANALYSIS, "--memory", "2G", "--"), reports=True)
VALGRIND = Tool("valgrind", ("valgrind", "--tool=none", "-q"), needs="valgrind")
CLANG_NATIVE = Tool("clang", compiler=CLANG_COMMAND, baseline="clang", needs=CLANG)
# Its arithmetic, without the warnings, each of which looks up a stack of source lines; the first would end the program.
QUIET_NSAN = ("env", "NSAN_OPTIONS=halt_on_error=0:disable_warnings=1")
NSAN = Tool("nsan", QUIET_NSAN, compiler=f"{CLANG_COMMAND} -fsanitize=numerical", baseline="clang", needs=CLANG)

MODES = [NONE, LOG, ANALYSE]
TOOLS = [NATIVE, *MODES, INTERPRETED, MPFR, VALGRIND, CLANG_NATIVE, NSAN]
