"""The figures that the regression guard keeps, how each is taken, and when it is worse.

Seconds say little on a machine that does other things, too. What is kept is as steady as can be: counts that do not
vary (judgements of the suite, operations, bytes of log), instructions of the supervisor as callgrind counts them (they
vary by about 1 %, with the addresses that the kernel chooses), peak memory, and, for the translated code itself, which
callgrind cannot follow, ratios to native runs taken in turns with it.
"""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import programs, rows
from .measure import ChildFailed, run
from .tools import ANALYSE, LOG, NATIVE, NONE


@dataclass(frozen=True)
class Kind:
    """A group of figures: whether more is better, and how much worse is no more than noise."""

    name: str
    more_is_better: bool
    tolerance: float

    def is_worse(self, now, before):
        return now < before * (1 - self.tolerance) if self.more_is_better else now > before * (1 + self.tolerance)

    def is_better(self, now, before):
        return self.is_worse(before, now)


# How many things are wrong with what fpgrind says about a benchmark; the seeds are fixed. The baseline has those with any.
MISSES = Kind("misses", False, 0)
# Shares and counts of what fpbench judged.
ACCURACY = Kind("accuracy", True, 0)
# How many operations the analysis followed.
OPERATIONS = Kind("operations", True, 0)
LOG_BYTES = Kind("log bytes", False, 0.01)
INSTRUCTIONS = Kind("instructions, millions", False, 0.03)
MEMORY = Kind("supervisor's peak memory, MB", False, 0.2)
RATIOS = Kind("CPU time in multiples of native", False, 0.3)
KINDS = [MISSES, ACCURACY, OPERATIONS, LOG_BYTES, INSTRUCTIONS, MEMORY, RATIOS]

# Programs and repeats whose analysis takes some hundred million instructions, far more than starting does.
ANALYSED = {
    "sum, double": 5,
    "Kahan sum, double": 2,
    "n-body": 3,
    "LU": 4,
    "quadratic roots": 4,
    "libm": 2,
    "Gram-Schmidt": 1,
}
# What translating costs; the last is the largest program that every machine has.
TRANSLATED = {"/bin/true": ["/bin/true"], "python": [programs.python(), "-c", "pass"]}
RATIO_PROGRAMS = ("sum, double", "n-body", "quadratic roots", "recursive fib")


class Guard:
    def __init__(self, fpgrind, fpbench, folder):
        self.fpgrind, self.fpbench, self.folder, self.out = fpgrind, fpbench, folder, folder / "report-guard"
        self.commands = {
            name: programs.command_of(programs.named(name), programs.build(programs.named(name), folder))
            for name in {*ANALYSED, *RATIO_PROGRAMS}
        }

    def take(self, kinds):
        """The figures of these kinds, by the kind's name and the figure's."""
        takers = [
            ([MISSES, ACCURACY], self.judgements),
            ([OPERATIONS, MEMORY], self.analyses),
            ([LOG_BYTES], self.log_bytes),
            ([INSTRUCTIONS], self.instructions),
            ([RATIOS], self.ratios),
        ]
        figures = {}
        for made, taker in takers:
            if any(kind in kinds for kind in made):
                figures.update(taker())
        return figures

    def judgements(self, *options):
        verdicts = self.folder / "verdicts.json"
        where = ["--json", verdicts, "--out", self.folder / "fpbench", "--fpgrind", self.fpgrind]
        run([self.fpbench, "run", *options, *where])
        judged = json.loads(verdicts.read_text())
        totals = judged["totals"]
        shares = {
            "precision": ("rightly_reported", "reported_wrong"),
            "recall": ("rightly_reported", "truly_wrong"),
            "maximum within half a bit": ("within_half_a_bit", "judged"),
            "error reproduced by the causes": ("reproduced", "with_causes"),
            "expression found": ("expression_found", "with_causes"),
            "decisions judged rightly": ("decisions_right", "judged"),
        }
        figures = {name: round(totals[part] / max(totals[whole], 1), 4) for name, (part, whole) in shares.items()}
        misses = {title_of(verdict): len(verdict["misses"]) for verdict in judged["verdicts"]}
        return {MISSES.name: misses, ACCURACY.name: {"benchmarks judged": totals["judged"], **figures}}

    def analyses(self):
        operations, memory = {}, {}
        for name, repeats in ANALYSED.items():
            # Ten times the work, because short runs end before their memory is looked at often enough.
            taken = run(ANALYSE.command(self.fpgrind, self.out, self.commands[name](10 * repeats)), watch_memory=True)
            operations[name] = json.loads((self.out / "report.json").read_text())["totals"]["operations"]
            memory[name] = round(taken.memory / (1 << 20), 1)
        return {OPERATIONS.name: operations, MEMORY.name: memory}

    def log_bytes(self):
        found = {}
        for name, repeats in ANALYSED.items():
            command = [self.fpgrind, "--mode", "log", "--", *map(str, self.commands[name](repeats))]
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            said = re.search(r"(\d+) bytes of log", done.stderr)
            if not said:
                raise ChildFailed(command, done.returncode, done.stderr)
            found[name] = int(said[1])
        return {LOG_BYTES.name: found}

    def instructions(self):
        jobs = {f"{name}, analyse": (ANALYSE, self.commands[name](repeats)) for name, repeats in ANALYSED.items()}
        for name, command in TRANSLATED.items():
            jobs[f"{name}, none"] = NONE, command
            jobs[f"{name}, log"] = LOG, command
        found = {}
        for name, (tool, command) in jobs.items():
            counts = self.folder / "callgrind"
            run([
                "valgrind", "--tool=callgrind", f"--callgrind-out-file={counts}",
                *tool.command(self.fpgrind, self.out, command),
            ])
            total = re.search(r"^(?:summary|totals): (\d+)", counts.read_text(), re.MULTILINE)
            found[name] = round(int(total[1]) / 1e6, 1)
        return {INSTRUCTIONS.name: found}

    def ratios(self):
        # Not of the analysis: it runs in the supervisor, where instructions are counted.
        tools = [NATIVE, NONE, LOG]
        found = {}
        for name in RATIO_PROGRAMS:
            costs = rows.measure(tools, self.fpgrind, self.folder, {t.name: self.commands[name] for t in tools}, print)
            for tool in tools[1:]:
                found[f"{name}, {tool.name}"] = round(costs[tool.name].cpu / costs[NATIVE.name].cpu, 2)
        return {RATIOS.name: found}


def title_of(verdict):
    return f"{verdict['file']} {verdict['variant']}{' Fortran' if verdict['fortran'] else ''}: {verdict['name']}"


def better_of(one, other, kind):
    """Of two takes of the figures of a kind the better each: noise makes things worse, rarely better."""
    best = max if kind.more_is_better else min
    return {name: best(figure, other.get(name, figure)) for name, figure in one.items()}
