#!/usr/bin/env python3
"""What translation costs: native time against `fpgrind --mode none`, and `valgrind --tool=none` where it is installed.

Usage: scripts/bench.py FPGRIND

Ratios are of CPU time (user and system, of the program and of the tool together), start-up of the tool not subtracted: the programs run
long enough for it not to matter, and it is shown by itself, in wall-clock time. Each number is the median of several runs, taken
in turns, so that a machine that slows down slows all of them.
"""

import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 5
HERE = Path(__file__).resolve().parent


def describe_machine():
    with open("/proc/cpuinfo") as cpuinfo:
        models = [line.split(":", 1)[1].strip() for line in cpuinfo if line.startswith("model name")]
    model = models[0] if models else platform.machine()
    return f"{len(models)} x {model}, Linux {platform.release()}"


def run(command, stdin):
    """Runs a command; its wall-clock and CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with open(stdin, "rb") as source:
        done = subprocess.run(command, stdin=source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wall = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} exited with {done.returncode}: {done.stderr.decode(errors='replace')}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def medians(tools, command, stdin, runs):
    """For each tool the median wall-clock and CPU seconds."""
    times = {name: [] for name in tools}
    for _ in range(runs):
        for name, prefix in tools.items():
            times[name].append(run(prefix + command, stdin))
    return {name: [statistics.median(column) for column in zip(*taken)] for name, taken in times.items()}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/bench.py FPGRIND")
    tools = {"native": [], "fpgrind": [os.path.abspath(sys.argv[1]), "--mode", "none", "--"]}
    if shutil.which("valgrind"):
        tools["valgrind"] = ["valgrind", "--tool=none", "-q"]

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name in ("nbody", "fib"):
            subprocess.run(["gcc", "-O2", HERE / "bench" / f"{name}.c", "-o", folder / name, "-lm"], check=True)
        # Text that compresses about as well as text does.
        data = folder / "data"
        data.write_text("".join(f"{i * i % 9973} {i ^ (i >> 3)}\n" for i in range(1_500_000)))
        programs = {
            "n-body": [folder / "nbody", "8000000"],
            "recursive fib": [folder / "fib", "40"],
            "gzip": ["gzip", "-c"],
        }

        others = [name for name in tools if name != "native"]
        print(describe_machine())
        print(f"CPU time, median of {RUNS} runs\n")
        print(f"{'':16}{'native':>10}" + "".join(f"{name:>12}" for name in others))
        for program, command in programs.items():
            cpu = {name: taken[1] for name, taken in medians(tools, command, data, RUNS).items()}
            ratios = "".join(f"{cpu[name] / cpu['native']:>11.2f}x" for name in others)
            print(f"{program:16}{cpu['native']:>8.2f} s{ratios}", flush=True)
        wall = {name: taken[0] for name, taken in medians(tools, ["/bin/true"], os.devnull, 4 * RUNS).items()}
        started = "".join(f"{wall[name] * 1000:>9.1f} ms" for name in others)
        print(f"{'/bin/true, wall':16}{wall['native'] * 1000:>7.1f} ms{started}")


main()
