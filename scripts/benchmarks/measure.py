"""Runs a command and takes its time and peak memory."""

import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Taken:
    """What one run took. Times are in seconds, and of the tool and the program together; memory is in bytes."""

    wall: float
    cpu: float
    # Peaks of resident memory: of the process that was started, and of the largest that it started in turn.
    memory: int = 0
    child_memory: int = 0


def run(command, watch_memory=False):
    """Runs a command to its end, silently. Raises ChildFailed with its last words if it fails."""
    start = time.monotonic()
    process = subprocess.Popen(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    watch = MemoryWatch(process.pid) if watch_memory else None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    memory, child_memory = watch.end() if watch else (0, 0)
    if process.returncode != 0:
        raise ChildFailed(command, process.returncode, said.decode(errors="replace"))
    # What wait4(2) gives includes the descendants that were waited for: fpgrind waits for its guest.
    return Taken(wall, usage.ru_utime + usage.ru_stime, memory, child_memory)


class ChildFailed(Exception):
    def __init__(self, command, status, said):
        lines = said.strip().splitlines()
        super().__init__(f"{' '.join(map(str, command))} ended with {status}: {lines[-1] if lines else 'no message'}")


class MemoryWatch:
    """Reads the high-water marks (VmHWM in proc(5)) of a process and its children until it ends.

    ru_maxrss will not do: it is carried over exec(2), so that a small program seems as large as this Python.
    """

    INTERVAL = 0.01

    def __init__(self, pid):
        self.process = Path(f"/proc/{pid}")
        self.peak = self.child_peak = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.ended.wait(self.INTERVAL):
            self.peak = max(self.peak, peak_of(self.process))
            for child in children_of(self.process):
                self.child_peak = max(self.child_peak, peak_of(Path(f"/proc/{child}")))

    def end(self):
        self.ended.set()
        self.thread.join()
        return self.peak, self.child_peak


def peak_of(process):
    try:
        for line in (process / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # It has just ended.
    return 0


def children_of(process):
    try:
        return [child for task in (process / "task").iterdir() for child in (task / "children").read_text().split()]
    except OSError:
        return []
