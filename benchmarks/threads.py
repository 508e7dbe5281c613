"""From how many documents on a second thread, a fourth, … pays for itself.

    python benchmarks/threads.py [--documents 30000 … 10000000] [--repeats 15] [--threads 1 2 4]

An evaluation takes no more threads than one for so many documents (in NumPy `DOCUMENTS_PER_THREAD`, in the compiled
core `COMPILED_PER_THREAD`), and fewer where these turn out to be quicker; here neither holds, so that the figures can
tell whether the limits stand in the right place.
"""

from __future__ import annotations

import argparse
import os

from panel import PANEL, PATHS, ours, threads_as_asked
from shapes import make_shape
from sizes import calls, repeated
from timing import EXTRAPOLATED, interleaved, machine, milliseconds, on_cores, ratio, serial_share

import gainsay as gs
from gainsay.evaluation import groups

USUAL = {"NumPy": groups.DOCUMENTS_PER_THREAD, "compiled": groups.COMPILED_PER_THREAD}


def main() -> None:
    """Print the report."""
    cpus = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--documents", type=int, nargs="+", default=[30_000, 100_000, 200_000, 300_000, 600_000, 1_000_000, 10_000_000]
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[n for n in (1, 2, 4, 8, 16) if n <= cpus])
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    print(f"{machine()}\n")
    print(f"Panel of ten, MSLR-like queries: time against one thread, medians of {arguments.repeats} interleaved runs. "
          "In bold: the number that an evaluation takes by itself "
          f"({', '.join(f'{USUAL[path]:,} documents a thread: {path}' for path in PATHS)}). The serial share is what "
          f"fits; 16 and 64 cores are extrapolated by it: {EXTRAPOLATED}.\n")  # fmt: skip
    with threads_as_asked():
        for ties in ("untied", "tied"):
            print("\n".join(table(ties, arguments.documents, arguments.threads, arguments.repeats)), flush=True)


def table(ties: str, sizes: list[int], jobs: list[int], repeats: int) -> list[str]:
    """Return the lines of the table of either path on scores of one kind."""
    head = [f"{ties}: documents", "path", f"{jobs[0]} thread", *(f"{n} threads" for n in jobs[1:]),
            "serial share", "16 cores", "64 cores"]  # fmt: skip
    lines = [f"| {' | '.join(head)} |", "|---:|---|" + "---:|" * (len(head) - 2)]
    for documents in sizes:
        data = make_shape("MSLR-like", documents, ties)
        times = calls(documents)
        judgments = gs.Judgments(data.labels, group=data.sizes)
        work = {(path, n): repeated(ours(PANEL, judgments, data.scores[ties], n, path), times)
                for path in PATHS for n in jobs}  # fmt: skip
        seconds = interleaved(work, repeats, budget=30.0)
        for path in PATHS:
            taken = {n: seconds[path, n] for n in jobs}
            one = milliseconds(taken[jobs[0]]) / times
            usually = max(n for n in jobs if n <= max(1, documents // USUAL[path]))
            cells = [f"{one:.2f} ms", *(f"{ratio(taken[n], taken[jobs[0]]):.2f}" for n in jobs[1:])]
            cells[jobs.index(usually)] = f"**{cells[jobs.index(usually)]}**"
            if len(jobs) > 1 and jobs[0] == 1:
                share = serial_share(taken)
                cells += [f"{share:.2f}", *(f"{on_cores(one, share, n):.2f} ms" for n in (16, 64))]
            lines.append(f"| {documents:,} | {path} | {' | '.join(cells)} |")
    return [*lines, ""]


if __name__ == "__main__":
    main()
