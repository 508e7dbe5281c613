"""Measure the time of `import gainwise` and of its first evaluation, in addition to `import numpy`.

    python research/benchmarks/import_time.py [--repeats 15]

Each measurement starts a new interpreter. Compiled bytecode is on disk, as after a first import. The script ignores
PYTHONDONTWRITEBYTECODE.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from functools import partial
from statistics import median

from timing import compute_milliseconds, describe_machine, format_target, time_interleaved

TARGET = 60.0
"""Milliseconds."""

MODULES_SHOWN = 8
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def run_interpreter(code: str, *options: str) -> str:
    """Run code in a new interpreter and return its output to stderr."""
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT).stderr


def measure_modules() -> dict[str, float]:
    """Return the milliseconds of each module that an evaluation imports after NumPy, without nested imports."""
    code = "import numpy, sys; print('here', file=sys.stderr); import gainwise; gainwise.evaluate"
    lines = run_interpreter(code, "-X", "importtime").splitlines()
    times = {}
    for line in lines[lines.index("here") + 1 :]:
        microseconds, _, name = line.removeprefix("import time:").split("|")
        times[name.strip()] = int(microseconds) / 1e3
    return times


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    codes = {name: f"import {name}" for name in ("numpy", "numpy, gainwise", "pandas", "numpy, gainwise.data")}
    codes["numpy, gainwise; gainwise.evaluate"] = "import numpy, gainwise; gainwise.evaluate"
    functions = {name: partial(run_interpreter, code) for name, code in codes.items()}
    seconds = time_interleaved(functions, arguments.repeats)
    additional = {
        name: 1e3 * median(total - numpy for total, numpy in zip(values, seconds["numpy"], strict=True))
        for name, values in seconds.items()
    }
    print(f"{describe_machine()}\n")
    print(f"New interpreters, medians of {arguments.repeats} interleaved runs\n")
    print("| import | ms | in addition to numpy, ms |\n|---|---:|---:|")
    for name, values in seconds.items():
        print(f"| {name} | {compute_milliseconds(values):.0f} | {additional[name]:.0f} |")
    print(f"\n`import gainwise` after `import numpy`, ms: {format_target(additional['numpy, gainwise'], TARGET, 0)}\n")
    runs = [measure_modules() for _ in range(arguments.repeats)]
    times = {name: median(run.get(name, 0.0) for run in runs) for name in runs[0]}
    slowest = sorted(times, key=times.__getitem__, reverse=True)[:MODULES_SHOWN]
    print(f"An evaluation imports {len(times)} modules in {sum(times.values()):.0f} ms (with -X importtime). The "
          "slowest, in ms: " + ", ".join(f"{name} {times[name]:.1f}" for name in slowest))  # fmt: skip


if __name__ == "__main__":
    main()
