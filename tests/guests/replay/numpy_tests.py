# Modules of numpy's own tests (NAME[:EXPRESSION], as pytest's -k has it); each test's outcome, without times.
import sys
import warnings

import numpy
import pytest

warnings.simplefilter("ignore")


class Outcomes:
    def __init__(self):
        self.count = {}

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            print(report.nodeid, report.when, report.outcome)
            self.count[report.outcome] = self.count.get(report.outcome, 0) + 1


outcomes = Outcomes()
folder = numpy.__path__[0]
for module in sys.argv[1:]:
    name, _, expression = module.partition(":")
    # -p no:cacheprovider leaves the folder alone; the terminal's own report has times in it.
    arguments = ["-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:warnings", f"{folder}/{name}.py"]
    pytest.main(arguments + (["-k", expression] if expression else []), plugins=[outcomes])
print(", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.count.items())))
