"""Runs modules of CPython's own test package and prints each test's outcome, without times or order."""

import importlib
import io
import logging
import sys
import unittest


class Outcomes(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.lines = []

    def note(self, test, outcome):
        self.lines.append(f"{test.id()}: {outcome}")

    def addSuccess(self, test):
        self.note(test, "ok")

    def addSkip(self, test, reason):
        self.note(test, "skipped")

    def addExpectedFailure(self, test, error):
        self.note(test, "expected failure")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.note(test, "FAILED")

    def addError(self, test, error):
        super().addError(test, error)
        self.note(test, "ERROR")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.note(subtest, "FAILED")


def without(suite, names):
    """The tests of a suite, but not those that measure time: translated code may be slower."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from without(test, names)
        elif test.id().rsplit(".", 1)[-1] not in names:
            yield test


TIMED = {"test_search_anchor_at_beginning"}
# asyncio tells of tasks that took long.
logging.getLogger("asyncio").setLevel(logging.ERROR)
outcomes = Outcomes()
real_output = sys.stdout
for name in sys.argv[1:]:
    sys.stdout = io.StringIO()
    module = importlib.import_module("test." + name)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    unittest.TestSuite(without(suite, TIMED)).run(outcomes)
    sys.stdout = real_output
for line in sorted(outcomes.lines):
    print(line)
print(len(outcomes.lines), "tests")
