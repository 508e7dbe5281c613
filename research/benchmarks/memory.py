"""Measure the memory of an evaluator of ten metrics: its peaks, and the part that remains allocated.

    python research/benchmarks/memory.py [--documents 1000000 10000000]

Each figure is the peak of a separate process, measured by GNU time if it is installed, otherwise by the kernel. The
peak of a process that only makes the data (9 bytes per document) is subtracted.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tracemalloc

from datasets import SHAPES, make_shape
from evaluators import TEN_METRICS
from timing import describe_machine

import gainwise as gw

STAGES = ("data", "evaluator", "evaluation")


def run_stages(last: str, shape: str, documents: int, ties: str, threads: int) -> None:
    """Do the work up to a stage. Each measured process calls this function."""
    data = make_shape(shape, documents, ties)
    if last == "data":
        return
    evaluator = gw.Evaluator(TEN_METRICS, gw.Judgments(data.labels, group=data.sizes), n_jobs=threads)
    if last == "evaluation":
        for _ in range(3):
            evaluator(data.scores[ties])


def measure_peak(*arguments: str, script: str = __file__) -> int:
    """Return the peak memory, in bytes, of a process that does the work up to a stage."""
    command = [sys.executable, script, "--stage", *arguments]
    gnu_time = shutil.which("time", path="/usr/bin:/bin")
    if gnu_time is not None:
        process = subprocess.run([gnu_time, "-v", *command], capture_output=True, text=True, check=True)
        match = re.search(r"Maximum resident set size \(kbytes\): (\d+)", process.stderr)
        if match is None:
            raise ValueError(f"{gnu_time} -v does not print the maximum resident set size:\n{process.stderr}")
        return 1024 * int(match[1])
    process_id = os.posix_spawn(command[0], command, os.environ)
    _, status, usage = os.wait4(process_id, 0)
    if status:
        raise subprocess.CalledProcessError(status, command)
    return 1024 * usage.ru_maxrss


def measure_allocated(shape: str, documents: int) -> float:
    """Return the bytes that judgments and evaluator allocate, in addition to the caller's arrays."""
    data = make_shape(shape, documents)
    tracemalloc.start()
    evaluator = gw.Evaluator(TEN_METRICS, gw.Judgments(data.labels, group=data.sizes))
    allocated = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del evaluator
    return allocated


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--stage", nargs=4, metavar=("STAGE", "SHAPE", "DOCUMENTS", "TIES"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        last, shape, documents, ties = arguments.stage
        run_stages(last, shape, int(documents), ties, arguments.threads)
        return
    method = "/usr/bin/time -v" if shutil.which("time", path="/usr/bin:/bin") else "the kernel (ru_maxrss)"
    print(f"{describe_machine()}\n")
    print(f"Peak memory in addition to a process that only makes the data, measured by {method}. Three evaluations, "
          f"{arguments.threads} threads.\n")  # fmt: skip
    print("| documents | queries | scores | data only | evaluator, peak | evaluation, peak | bytes per document | "
          "permanent bytes per document |\n|---:|---|---|---:|---:|---:|---:|---:|")  # fmt: skip
    for documents in arguments.documents:
        for shape in SHAPES:
            allocated = measure_allocated(shape, documents) / documents
            for ties in ("untied", "tied"):
                data, evaluator, evaluation = (measure_peak(name, shape, str(documents), ties) for name in STAGES)
                cells = [f"{documents:,}", shape, ties, f"{data / 2**20:.0f} MiB",
                         f"+{(evaluator - data) / 2**20:.0f} MiB", f"+{(evaluation - data) / 2**20:.0f} MiB",
                         f"{(evaluation - data) / documents:.1f}", f"{allocated:.1f}"]  # fmt: skip
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
