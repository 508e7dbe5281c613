"""What `import gainsay` and first uses take beyond `import numpy`, and what costs it.

    python benchmarks/importing.py [--repeats 15]

Fresh interpreters take turns, with compiled bytecode on disk as it is after the first import, whatever
PYTHONDONTWRITEBYTECODE says here.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from functools import partial
from statistics import median

from timing import against_target, interleaved, machine, milliseconds

LIMIT = 60.0
"""Milliseconds."""

SHOWN = 8
"""Modules."""


ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def started(code: str, *options: str) -> str:
    """Run code in a fresh interpreter; return what it wrote to stderr."""
    command = [sys.executable, *options, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT).stderr


def own_costs() -> dict[str, float]:
    """Return the milliseconds of each module that evaluating loads beyond NumPy, those that it imports not counted."""
    code = "import numpy, sys; print('here', file=sys.stderr); import gainsay; gainsay.evaluate"
    lines = started(code, "-X", "importtime").splitlines()
    found = {}
    for line in lines[lines.index("here") + 1 :]:
        own, _, name = line.removeprefix("import time:").split("|")
        found[name.strip()] = int(own) / 1e3
    return found


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    codes = {name: f"import {name}" for name in ("numpy", "numpy, gainsay", "pandas", "numpy, gainsay.data")}
    codes["numpy, gainsay; gainsay.evaluate"] = "import numpy, gainsay; gainsay.evaluate"
    seconds = interleaved({name: partial(started, code) for name, code in codes.items()}, arguments.repeats)
    numpy = seconds["numpy"]
    beyond = {
        name: 1e3 * median(a - b for a, b in zip(taken, numpy, strict=True)) for name, taken in seconds.items()
    }  # fmt: skip
    print(f"{machine()}\n")
    print(f"Whole interpreters, medians of {arguments.repeats} interleaved runs\n")
    print("| import | ms | beyond numpy, ms |\n|---|---:|---:|")
    for name, taken in seconds.items():
        print(f"| {name} | {milliseconds(taken):.0f} | {beyond[name]:.0f} |")
    print(f"\nimport gainsay beyond import numpy: {against_target(beyond['numpy, gainsay'], LIMIT, 0)} ms\n")
    runs = [own_costs() for _ in range(arguments.repeats)]
    costs = {name: median(run.get(name, 0.0) for run in runs) for name in runs[0]}
    dearest = sorted(costs, key=costs.__getitem__, reverse=True)[:SHOWN]
    print(f"To evaluate: {len(costs)} modules, {sum(costs.values()):.0f} ms under -X importtime; the dearest: "
          + ", ".join(f"{name} {costs[name]:.1f}" for name in dearest))  # fmt: skip


if __name__ == "__main__":
    main()
