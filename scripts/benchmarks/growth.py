"""How the cost grows with operations, distinct ones, values in memory and threads; and what starting costs."""

import json
import statistics

from . import programs
from .measure import run
from .tools import MODES, NATIVE, VALGRIND

GROWN = [NATIVE, *MODES]
SITES = (10, 1_000, 10_000)
# Of the stencil's grid, of which there are two.
SIDES = (16, 64, 128)
STEPS = 40
START_RUNS = 10


class Growth:
    def __init__(self, fpgrind, folder):
        self.fpgrind, self.folder, self.out = fpgrind, folder, folder / "report-growth"

    def run(self, tool, command, watch_memory=True):
        return run(tool.command(self.fpgrind, self.out, command), watch_memory)

    def report(self):
        return json.loads((self.out / "report.json").read_text())

    def operations(self):
        """Dot products: (operations, tool) -> nanoseconds of CPU time an operation, peak bytes."""
        dot = programs.named("dot")
        command = programs.command_of(dot, programs.build(dot, self.folder))
        rows = []
        for power in range(6, 10):
            # A multiplication and an addition for each element.
            repeats = 10**power // (2 * dot.size)
            row = {}
            for tool in GROWN:
                if 10**power <= tool.most:
                    taken = self.run(tool, command(repeats))
                    row[tool.name] = taken.cpu * 1e9 / 10**power, taken.memory, taken.child_memory
            rows.append((10**power, row))
        return rows

    def threads(self):
        """The same work in each thread: (threads, tool) -> wall-clock ns an operation; the share that was analysed."""
        binary, size = programs.build(programs.THREADS, self.folder), programs.THREADS.size
        rows = []
        for threads in (1, 2):
            row, share, notes = {}, 0, []
            for tool in GROWN:
                repeats = round(tool.most / 25 / (2 * size))
                taken = self.run(tool, [binary, size, repeats, threads])
                row[tool.name] = taken.wall * 1e9 / (2 * size * repeats)
                if tool.reports:
                    report = self.report()
                    # Setting the vectors up is three operations an element.
                    share = report["totals"]["operations"] / (threads * size * (2 * repeats + 3))
                    notes = report["notes"]
            rows.append((threads, row, share, notes))
        return rows

    def sites(self):
        """Operations spread over more and more distinct ones: (sites, tool) -> nanoseconds an operation, peak bytes."""
        rows = []
        for sites in SITES:
            binary = programs.many_sites(sites, self.folder)
            row = {}
            for tool in GROWN:
                operations = tool.most / 10
                taken = self.run(tool, [binary, round(operations / sites)])
                row[tool.name] = taken.cpu * 1e9 / operations, taken.memory, taken.child_memory
            rows.append((sites, row))
        return rows

    def values(self):
        """The same steps on smaller and larger grids: (values, tool) -> nanoseconds an operation, peak bytes."""
        binary = programs.build(programs.named("stencil"), self.folder)
        rows = []
        for side in SIDES:
            # Three additions and a multiplication for each point inside.
            operations = 4 * (side - 2) ** 2 * STEPS
            row = {}
            for tool in GROWN:
                taken = self.run(tool, [binary, side, STEPS])
                row[tool.name] = taken.cpu * 1e9 / operations, taken.memory, taken.child_memory
            rows.append((2 * side**2, row))
        return rows

    def start(self):
        """Wall-clock seconds of programs that do nothing."""
        tools = [tool for tool in (*GROWN, VALGRIND) if tool.is_there()]
        rows = []
        for command in (["/bin/true"], [programs.python(), "-c", "pass"]):
            walls = {tool.name: [] for tool in tools}
            for _ in range(START_RUNS):
                for tool in tools:
                    walls[tool.name].append(self.run(tool, command, watch_memory=False).wall)
            rows.append((" ".join(command), {name: statistics.median(taken) for name, taken in walls.items()}))
        return rows
