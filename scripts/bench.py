#!/usr/bin/env python3
"""What fpgrind costs: every mode against the native run, and against its peers where they are installed.

Usage: scripts/bench.py FPGRIND [--only NAME] [--translation | --log | --long OPERATIONS] [--json FILE]

Ratios are of the cost of the same work in the same run of this script: one more repeat of the program's work, start-up
and translation subtracted, median of several pairs of runs taken in turns. What starting costs is shown by itself.
"""

import argparse
import dataclasses
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import machine, programs, rows
from benchmarks.growth import Growth
from benchmarks.measure import ChildFailed, run
from benchmarks.tools import ANALYSE, CLANG, CLANG_NATIVE, INTERPRETED, LOG, LONG, MPFR, NATIVE, NONE, NSAN, TOOLS, VALGRIND

MEGABYTE = 1 << 20
# With no more operations than that in a repeat, something else than operations takes the time.
FEW = 100


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage: ")[1].splitlines()[0])
    parser.add_argument("fpgrind")
    parser.add_argument("--only", help="only programs with this in their name, and no growth")
    parser.add_argument("--translation", action="store_true", help="only translation without logging, and no growth")
    parser.add_argument("--log", action="store_true", help="only what logging costs in programs that compute with floats")
    parser.add_argument("--long", type=float, metavar="OPERATIONS", help="only an analysis of so many operations, within 2 GiB")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    fpgrind = os.path.abspath(options.fpgrind)
    if not os.access(fpgrind, os.X_OK):
        sys.exit(f"There is no fpgrind at {fpgrind}; `make build` builds it.")

    start = time.monotonic()
    print(f"{machine.describe()}; at the start {machine.load()}")
    if options.long:
        with tempfile.TemporaryDirectory() as folder:
            print_long(fpgrind, Path(folder), round(options.long))
        return
    for missing, what in missing_peers():
        print(f"{missing} is not installed, so {what}; `make bench-tools` installs it.")
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        if options.log:
            print_logging(fpgrind, folder, options.only)
            return
        tools = [tool for tool in TOOLS if tool.is_there() and (not options.translation or tool in (NATIVE, NONE))]
        costs = measure_programs(fpgrind, folder, tools, options.only)
        print_costs(costs, tools)
        print_summary(costs)
        print_translation(costs)
        print_requests(fpgrind)
        if not options.only and not options.translation:
            print_growth(Growth(fpgrind, folder))
    if options.json:
        figures = {name: {tool: dataclasses.asdict(c) for tool, c in row.items()} for name, row in costs.items()}
        document = {"machine": machine.describe(), "costs": figures}
        Path(options.json).write_text(json.dumps(document, indent=1) + "\n")
    print(f"\n{time.monotonic() - start:.0f} s; at the end {machine.load()}")


def missing_peers():
    absences = {
        "valgrind": "it is not compared with",
        CLANG: "NSan is not compared with",
        "gfortran": "nothing in Fortran is run",
    }
    return [(name, what) for name, what in absences.items() if not shutil.which(name)]


def measure_programs(fpgrind, folder, tools, only):
    """Costs by program and tool."""
    jobs = {}
    for program in programs.COMPILED:
        if only and only not in program.name:
            continue
        commands = {}
        for tool in tools:
            binary = programs.build(program, folder, tool.compiler)
            if binary:
                commands[tool.name] = programs.command_of(program, binary)
        if commands:
            jobs[program.name] = commands
    for name, command in programs.interpreted_and_installed(folder).items():
        if not only or only in name:
            # A compiler does little to floats, and takes long enough without being analysed.
            fit = [NATIVE, NONE, VALGRIND] if name == "C compiler" else [tool for tool in tools if tool not in (INTERPRETED, MPFR)]
            jobs[name] = {tool.name: command for tool in tools if tool in fit and not tool.compiler}

    costs = {}
    for number, (name, commands) in enumerate(jobs.items(), 1):
        progress(f"{number} of {len(jobs)}: {name}")
        costs[name] = rows.measure(tools, fpgrind, folder, commands, complain)
    progress("")
    return costs


def complain(failure):
    print(f"Not measured: {failure}")


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def print_costs(costs, tools):
    shown = [tool for tool in tools if tool not in (NATIVE, CLANG_NATIVE)]
    names = [tool.name for tool in shown]

    for title, figure in (("CPU time", "cpu"), ("Wall-clock time", "wall")):
        print(f"\n{title} in multiples of the native run's (of clang's native run for nsan); of the analysis also ns an operation and the supervisor's peak MB")
        table(["", "native/repeat", *names, "ns/op", "MB"], [
            [
                name,
                duration(getattr(row[NATIVE.name], figure)),
                *(shown_or_dash(times, ratio(row, tool, figure)) for tool in shown),
                shown_or_dash(nanoseconds, per_operation(row, figure)),
                f"{row[ANALYSE.name].memory / MEGABYTE:.0f}" if ANALYSE.name in row else "-",
            ]
            for name, row in costs.items() if NATIVE.name in row
        ])

    print("\nNanoseconds of CPU time an operation; operations are those that the analysis counts")
    lines = []
    for name, row in costs.items():
        operations = next((cost.operations for cost in row.values() if cost.operations is not None), None)
        if operations is None:
            continue
        if operations > FEW:
            each = [nanoseconds(row[t].cpu / operations) if t in row else "-" for t in (NATIVE.name, *names)]
            lines.append([name, f"{operations:,.0f}", *each])
        else:
            lines.append([name, f"{operations:,.0f}", *["-" for _ in (NATIVE.name, *names)]])
    table(["", "ops/repeat", NATIVE.name, *names], lines)

    print("\nPeak resident memory in MB; for fpgrind, of the supervisor + of the program")
    table(["", NATIVE.name, *names], [
        [name, *(memory(row[t]) if t in row else "-" for t in (NATIVE.name, *names))] for name, row in costs.items()
    ])


def ratio(row, tool, figure):
    """A tool's cost in multiples of what it is compared with; None where one of them is not known."""
    cost, baseline = row.get(tool.name), row.get(tool.baseline)
    if not cost or not baseline or getattr(baseline, figure) <= 0:
        return None
    return getattr(cost, figure) / getattr(baseline, figure)


def per_operation(row, figure):
    """Seconds of an operation under the analysis; None where there are hardly any."""
    cost = row.get(ANALYSE.name)
    return getattr(cost, figure) / cost.operations if cost and cost.operations and cost.operations > FEW else None


def shown_or_dash(show, value):
    return "-" if value is None else show(value)


def print_summary(costs):
    """The analysis over all programs that compute with floats, and where the peer that is recompiled costs less."""
    floats = {name: row for name, row in costs.items() if per_operation(row, "cpu") is not None}
    if not floats:
        return
    for title, figure in (("CPU time", "cpu"), ("wall-clock time", "wall")):
        print(f"\nOver the programs that compute with floats, geometric means of {title} in multiples of the native run's")
        for tool, what in ((ANALYSE, "analysis, --real auto"), (INTERPRETED, "the same, interpreted"), (MPFR, "analysis, --real mpfr"), (NSAN, "NSan")):
            ratios = [found for row in floats.values() if (found := ratio(row, tool, figure)) is not None and found > 0]
            if ratios:
                print(f"  {what}: {times(statistics.geometric_mean(ratios))} over {len(ratios)} programs")
        compared = {
            name: pair
            for name, row in floats.items()
            if None not in (pair := (ratio(row, ANALYSE, figure), ratio(row, NSAN, figure)))
        }
        if compared:
            faster = [f"{name} ({times(nsan)}, analysis {times(ours)})" for name, (ours, nsan) in compared.items() if nsan < ours]
            print(f"  NSan is faster on {len(faster)} of {len(compared)}{': ' if faster else ''}{'; '.join(faster)}")


def print_long(fpgrind, folder, operations):
    """One analysis that takes long: its memory must stay what it may be."""
    dot = programs.named("dot")
    command = programs.command_of(dot, programs.build(dot, folder))
    repeats = max(1, operations // (2 * dot.size))
    out = folder / "report"
    taken = run(LONG.command(fpgrind, out, command(repeats)), watch_memory=True)
    report = json.loads((out / "report.json").read_text())
    counted = report["totals"]["operations"]
    print(f"dot, {counted:,} operations with --memory 2G: {taken.wall:,.1f} s of wall-clock time, "
          f"{nanoseconds(taken.cpu / counted)} ns of CPU time an operation, "
          f"peak memory {memory(taken)} MB (supervisor + program)")
    for note in report["notes"]:
        print(f"  {note}")


def print_translation(costs):
    """What translation costs by itself: without logging, start-up subtracted."""
    ratios = {
        name: row[NONE.name].cpu / row[NATIVE.name].cpu
        for name, row in costs.items()
        if NONE.name in row and NATIVE.name in row and min(row[NONE.name].cpu, row[NATIVE.name].cpu) > 0
    }
    if ratios:
        mean = statistics.geometric_mean(ratios.values())
        worst = max(ratios, key=ratios.get)
        print(f"\nTranslation without logging, geometric mean over {len(ratios)} programs: {times(mean)} the native CPU time")
        print(f"  at most {times(ratios[worst])}: {worst}")


def print_logging(fpgrind, folder, only):
    """What it costs to write the log, which is then discarded."""
    print("\nLogging without analysis: CPU time in multiples of the native run's, and bytes of log")
    lines, ratios = [], []
    for program in programs.COMPILED:
        if program.name == "recursive fib" or only and only not in program.name:
            continue
        progress(program.name)
        command_of = programs.command_of(program, programs.build(program, folder))
        cost = rows.measure([NATIVE, LOG], fpgrind, folder, {NATIVE.name: command_of, LOG.name: command_of}, complain, 5)
        ratio = cost[LOG.name].cpu / cost[NATIVE.name].cpu
        ratios.append(ratio)
        analysed = logged_and_operations(fpgrind, folder, command_of)
        operations, logged = (two - one for one, two in zip(*analysed))
        native = cost[NATIVE.name].cpu / operations
        lines.append([program.name, times(ratio), nanoseconds(native), nanoseconds(ratio * native), f"{logged / operations:.1f}"])
    progress("")
    table(["", "log", "native ns/op", "log ns/op", "bytes/op"], lines)
    print(f"  geometric mean over {len(ratios)} programs: {times(statistics.geometric_mean(ratios))} the native CPU time")


def logged_and_operations(fpgrind, folder, command_of):
    """Operations and bytes of log in a run with one repeat, and in one with two."""
    for repeats in (1, 2):
        command, out = [str(word) for word in command_of(repeats)], folder / "report"
        subprocess.run([fpgrind, "--quiet", "--out", str(out), "--", *command], check=True, stdout=subprocess.DEVNULL)
        operations = json.loads((out / "report.json").read_text())["totals"]["operations"]
        run = subprocess.run([fpgrind, "--mode", "log", "--", *command], check=True, capture_output=True, text=True)
        yield operations, int(re.search(r"(\d+) bytes of log", run.stderr)[1])


def print_requests(fpgrind):
    """How often a program has to ask for translations while it starts, and how long that takes."""
    print("\nRequests of a whole run, translation without logging: how many, and the time that answering them took")
    for command in (["/bin/true"], ["/usr/bin/python3", "-c", "pass"]):
        if os.access(command[0], os.X_OK):
            run = [fpgrind, "--mode", "none", "--statistics", "--", *command]
            said = subprocess.run(run, capture_output=True, text=True, check=True).stderr
            print(f"  {' '.join(command)}: {said.removeprefix('fpgrind: ').strip()}")


def print_growth(growth):
    for title, count_name, found in (
        ("operations (dot products)", "operations", growth.operations()),
        ("distinct operations", "sites", growth.sites()),
        ("values in memory (a stencil, 40 steps)", "values", growth.values()),
    ):
        print(f"\nWith the number of {title}, whole runs: ns of CPU time an operation, peak MB")
        names = list(found[0][1])
        lines = [[f"{count:,}", *(each_and_memory(row.get(name)) for name in names)] for count, row in found]
        table([count_name, *names], lines)

    print("\nWith the number of threads, each with the same work: wall-clock ns for an operation of each thread")
    found = growth.threads()
    table(["threads", *names, "analysed"], [
        [str(count), *(nanoseconds(row[name] * 1e-9) for name in names), f"{share:.0%}"]
        for count, row, share, _ in found
    ])
    for note in sorted({note for _, _, _, notes in found for note in notes}):
        print(f"  {note}")

    print("\nStarting: wall-clock ms")
    found = growth.start()
    table(["", *found[0][1]], [[name, *(f"{wall * 1000:.1f}" for wall in row.values())] for name, row in found])


def table(head, lines):
    widths = [max(len(line[column]) for line in [head, *lines]) for column in range(len(head))]
    for first, *others in [head, *lines]:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:]))]
        print("  " + "  ".join(cells))
    sys.stdout.flush()


def times(ratio):
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:,.0f}x"


def nanoseconds(seconds):
    each = seconds * 1e9
    return f"{each:.2f}" if each < 10 else f"{each:,.0f}"


def duration(seconds):
    return f"{seconds * 1e6:,.1f} us" if seconds < 0.01 else f"{seconds * 1e3:,.1f} ms"


def memory(cost):
    own = f"{cost.memory / MEGABYTE:.1f}"
    return f"{own} + {cost.child_memory / MEGABYTE:.1f}" if cost.child_memory else own


def each_and_memory(figures):
    if figures is None:
        return "-"
    each, own, child = figures
    # A run may be over before its memory is looked at.
    peak = f"{(own + child) / MEGABYTE:.1f} MB" if own else "-"
    return f"{nanoseconds(each * 1e-9)} ns, {peak}"


if __name__ == "__main__":
    try:
        main()
    except (programs.BuildFailed, ChildFailed) as failure:
        sys.exit(str(failure))
