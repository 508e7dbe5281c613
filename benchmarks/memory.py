"""Peak memory of binding and evaluating the panel of ten, and what stays bound, per document.

    python benchmarks/memory.py [--documents 1000000 10000000]

Each figure is the peak of a process of its own, by GNU time where it is installed, else by the kernel's resource usage.
The process that only makes the data (9 bytes per document) is subtracted.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tracemalloc

from panel import PANEL
from shapes import SHAPES, make_shape
from timing import machine

import gainsay as gs

STAGES = ("data", "bound", "evaluated")


def stage(name: str, shape: str, documents: int, ties: str, threads: int) -> None:
    """Do the work up to a stage; this is what the processes that are measured do."""
    data = make_shape(shape, documents, ties)
    if name == "data":
        return
    evaluator = gs.Evaluator(PANEL, gs.Judgments(data.labels, group=data.sizes), n_jobs=threads)
    if name == "evaluated":
        for _ in range(3):
            evaluator(data.scores[ties])


def peak(*arguments: str, script: str = __file__) -> int:
    """Return the peak memory, in bytes, of a process that does the work up to a stage."""
    command = [sys.executable, script, "--stage", *arguments]
    timer = shutil.which("time", path="/usr/bin:/bin")
    if timer is not None:
        done = subprocess.run([timer, "-v", *command], capture_output=True, text=True, check=True)
        found = re.search(r"Maximum resident set size \(kbytes\): (\d+)", done.stderr)
        if found is None:
            raise ValueError(f"{timer} -v says nothing of the resident set:\n{done.stderr}")
        return 1024 * int(found[1])
    process = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    if status:
        raise subprocess.CalledProcessError(status, command)
    return 1024 * usage.ru_maxrss


def held(shape: str, documents: int) -> float:
    """Return the bytes that judgments and a bound panel hold, the caller's arrays not counted."""
    data = make_shape(shape, documents)
    tracemalloc.start()
    evaluator = gs.Evaluator(PANEL, gs.Judgments(data.labels, group=data.sizes))
    found = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del evaluator
    return found


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--stage", nargs=4, metavar=("STAGE", "SHAPE", "DOCUMENTS", "TIES"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        name, shape, documents, ties = arguments.stage
        stage(name, shape, int(documents), ties, arguments.threads)
        return
    by = "/usr/bin/time -v" if shutil.which("time", path="/usr/bin:/bin") else "the kernel's ru_maxrss"
    print(f"{machine()}\n")
    print(f"Peak of a process beyond one that only makes the data, by {by}; three evaluations, {arguments.threads} "
          "threads\n")  # fmt: skip
    print("| documents | queries | scores | data alone | binding, peak | and evaluating, peak | bytes per document | "
          "held bytes per document |\n|---:|---|---|---:|---:|---:|---:|---:|")  # fmt: skip
    for documents in arguments.documents:
        for shape in SHAPES:
            stays = held(shape, documents) / documents
            for ties in ("untied", "tied"):
                peaks = [peak(name, shape, str(documents), ties) for name in STAGES]
                data, bound, evaluated = peaks
                cells = [f"{documents:,}", shape, ties, f"{data / 2**20:.0f} MiB", f"+{(bound - data) / 2**20:.0f} MiB",
                         f"+{(evaluated - data) / 2**20:.0f} MiB", f"{(evaluated - data) / documents:.1f}",
                         f"{stays:.1f}"]  # fmt: skip
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
