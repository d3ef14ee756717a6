"""Measures one program under every tool: what one more repeat of its work costs, start-up subtracted."""

import json
import statistics
from dataclasses import dataclass

from .measure import ChildFailed, run

RUNS = 3


@dataclass
class Cost:
    """Of one repeat of the work: seconds. Of a whole run: bytes, and how many repeats it did."""

    wall: float
    cpu: float
    memory: int
    child_memory: int
    repeats: int
    # Floating-point operations in one repeat, where the tool tells.
    operations: float | None = None


class Subject:
    """A program under a tool."""

    def __init__(self, tool, fpgrind, folder, command_of):
        self.tool, self.fpgrind, self.command_of = tool, fpgrind, command_of
        self.out = folder / f"report-{tool.name}"
        self.taken = []
        self.repeats, self.peak, self.operations = self.calibrate()

    def run(self, repeats, watch_memory=False):
        return run(self.tool.command(self.fpgrind, self.out, self.command_of(repeats)), watch_memory)

    def reported_operations(self):
        if not self.tool.reports:
            return None
        return json.loads((self.out / "report.json").read_text())["totals"]["operations"]

    def calibrate(self):
        """As many repeats as take about as long as the tool's runs shall; their peak memory; operations in one repeat."""
        once = self.run(1).cpu
        operations_once = self.reported_operations()
        # Where starting takes long, it varies by as much as little work takes.
        target = max(self.tool.seconds, once / 2)
        repeats = 2
        while True:
            taken = self.run(repeats, watch_memory=True)
            work = taken.cpu - once
            if work > target / 2:
                break
            repeats = 1 + round((repeats - 1) * min(max(target / max(work, 1e-4), 2), 50))
        operations = self.reported_operations()
        if operations is not None:
            operations = (operations - operations_once) / (repeats - 1)
        return repeats, taken, operations

    def take(self):
        self.taken.append((self.run(1), self.run(self.repeats)))

    def cost(self):
        def each(figure):
            return statistics.median(figure(many) - figure(one) for one, many in self.taken) / (self.repeats - 1)

        return Cost(
            each(lambda taken: taken.wall),
            each(lambda taken: taken.cpu),
            self.peak.memory,
            self.peak.child_memory,
            self.repeats,
            self.operations,
        )


def measure(tools, fpgrind, folder, commands, complain, runs=RUNS):
    """The costs by the tool's name. The tools take turns, so that a machine that slows down slows all of them."""
    subjects = {}
    for tool in tools:
        if tool.name in commands:
            try:
                subjects[tool.name] = Subject(tool, fpgrind, folder, commands[tool.name])
            except ChildFailed as failure:
                complain(failure)
    for _ in range(runs):
        for subject in subjects.values():
            subject.take()
    return {name: subject.cost() for name, subject in subjects.items()}
