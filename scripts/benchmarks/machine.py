"""The machine that figures were taken on, in words: figures without it mean little."""

import os
import platform
import subprocess
from datetime import date


def describe():
    with open("/proc/cpuinfo") as cpuinfo:
        models = [line.split(":", 1)[1].strip() for line in cpuinfo if line.startswith("model name")]
    with open("/proc/meminfo") as meminfo:
        gigabytes = int(meminfo.readline().split()[1]) / 1024 / 1024
    compiler = subprocess.run(["gcc", "--version"], stdout=subprocess.PIPE, text=True).stdout.splitlines()[0]
    model = models[0] if models else platform.machine()
    system = f"Linux {platform.release()}, {compiler}, {date.today().isoformat()}"
    return f"{len(models)} x {model}, {gigabytes:.0f} GB, {system}"


def load():
    """How many processes wanted to run in the last minute. What was there at the start was measured, too."""
    return f"load {os.getloadavg()[0]:.1f}"
