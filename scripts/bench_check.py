#!/usr/bin/env python3
"""Fails when fpgrind got worse, in what it finds or in what it costs, than the committed baseline says.

Usage: scripts/bench_check.py FPGRIND FPBENCH [--fast | --rewrite]

--fast compares only what a slice of the benchmarks shows, in seconds.
--rewrite makes today's figures the baseline; commit it with the change that moved them, and say why.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks import machine
from benchmarks.guard import INSTRUCTIONS, KINDS, MEMORY, MISSES, RATIOS, Guard, better_of
from benchmarks.measure import ChildFailed

BASELINE = Path(__file__).resolve().parents[1] / "bench" / "baseline.json"


def main():
    parser = argparse.ArgumentParser(usage="scripts/bench_check.py FPGRIND FPBENCH [--fast | --rewrite]")
    parser.add_argument("fpgrind", type=os.path.abspath)
    parser.add_argument("fpbench", type=os.path.abspath)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--rewrite", action="store_true")
    options = parser.parse_args()

    for path in (options.fpgrind, options.fpbench):
        if not os.access(path, os.X_OK):
            sys.exit(f"There is no {path}; `make build-all` builds it.")
    kinds = [MISSES] if options.fast else list(KINDS)
    if INSTRUCTIONS in kinds and not shutil.which("valgrind"):
        if options.rewrite:
            sys.exit("valgrind is not installed, which counts instructions; `make bench-tools` installs it.")
        print("valgrind is not installed, so instructions are not compared; `make bench-tools` installs it.")
        kinds.remove(INSTRUCTIONS)
    if not shutil.which("gfortran"):
        print("gfortran is not installed, so fewer benchmarks are judged; `make bench-tools` installs it.")

    with tempfile.TemporaryDirectory() as folder:
        guard = Guard(options.fpgrind, options.fpbench, Path(folder))
        figures = guard.judgements("--quick") if options.fast else guard.take(kinds)
        if options.rewrite:
            # The fast slice judges some in Fortran that the whole does not.
            misses = {**guard.judgements("--quick")[MISSES.name], **figures[MISSES.name]}
            figures[MISSES.name] = {name: misses[name] for name in misses if misses[name]}
            BASELINE.parent.mkdir(exist_ok=True)
            BASELINE.write_text(json.dumps({"machine": machine.describe(), **figures}, indent=2) + "\n")
            print(f"{BASELINE} holds today's figures.")
            return
        try:
            baseline = json.loads(BASELINE.read_text())
        except (OSError, ValueError) as problem:
            sys.exit(f"{BASELINE} cannot be read ({problem}); `make bench-baseline` writes it.")
        # What depends on the moment may be worse once; only what is worse twice is worse.
        noisy = [kind for kind in (MEMORY, RATIOS) if kind in worsened(kinds, figures, baseline)]
        if noisy:
            again = guard.take(noisy)
            for kind in noisy:
                figures[kind.name] = better_of(figures[kind.name], again[kind.name], kind)

    print(f"now:      {machine.describe()}; {machine.load()}")
    print(f"baseline: {baseline.get('machine')}")
    failures = compare(kinds, figures, baseline)
    if failures:
        sys.exit(
            f"\nWorse than in {BASELINE}: {failures}. If that is the price of something, "
            "`make bench-baseline` accepts it: say in the commit what for."
        )
    print("\nNothing is worse than the baseline.")


def pairs(kind, figures, baseline):
    """The kind's figures: name, now, before. What only one side has is None on the other."""
    now, before = figures[kind.name], baseline.get(kind.name, {})
    if kind is MISSES:
        # The baseline leaves out what is right; what is not judged today has no say.
        return [(name, now[name], before.get(name, 0)) for name in now if now[name] or name in before]
    return [(name, now.get(name), before.get(name)) for name in {**now, **before}]


def worsened(kinds, figures, baseline):
    def has_worse(kind):
        taken = [pair for pair in pairs(kind, figures, baseline) if None not in pair]
        return any(kind.is_worse(now, before) for _, now, before in taken)

    return [kind for kind in kinds if has_worse(kind)]


def compare(kinds, figures, baseline):
    """Prints every figure beside its baseline; the number of those that are worse."""
    failures = 0
    for kind in kinds:
        good = "more" if kind.more_is_better else "less"
        print(f"\n{kind.name} ({good} is better, noise up to {kind.tolerance:.0%})")
        for name, now, before in pairs(kind, figures, baseline):
            if now is None:
                # A figure that is not taken any more hides what it guarded.
                verdict, failures = "  WORSE: not taken any more", failures + 1
            elif before is None:
                verdict = "  new: not in the baseline"
            elif kind.is_worse(now, before):
                verdict, failures = "  WORSE", failures + 1
            else:
                verdict = "  better, which `make bench-baseline` keeps" if kind.is_better(now, before) else ""
            print(f"  {shown(now):>11} was {shown(before):>11}  {name}{verdict}")
    return failures


def shown(figure):
    return "-" if figure is None else f"{figure:,}"


if __name__ == "__main__":
    try:
        main()
    except ChildFailed as failure:
        sys.exit(str(failure))
