"""From how many documents on a second thread, a fourth, … pays for itself.

    python benchmarks/threads.py [--documents 30000 … 10000000] [--repeats 15] [--threads 1 2 4]

An evaluation takes no more threads than one for every `DOCUMENTS_PER_THREAD` documents, and fewer where these turn out
to be quicker; here neither holds, so that the figures can tell whether the limit stands in the right place.
"""

from __future__ import annotations

import argparse
import os

from panel import PANEL, ours
from shapes import make_shape
from sizes import calls, repeated
from timing import interleaved, machine, milliseconds, ratio

import gainsay as gs
from gainsay.evaluation import plan


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
    usual = plan.DOCUMENTS_PER_THREAD
    plan.DOCUMENTS_PER_THREAD = 1
    plan.Pace.threads = lambda self, most: most  # type: ignore[method-assign]
    jobs = arguments.threads
    print(f"{machine()}\n")
    print(f"Panel of ten, MSLR-like queries: time against one thread, medians of {arguments.repeats} interleaved runs. "
          f"In bold: the number that an evaluation takes by itself ({usual:,} documents a thread).\n")  # fmt: skip
    for ties in ("untied", "tied"):
        head = " | ".join(f"{n} threads" for n in jobs[1:])
        print(f"| {ties}: documents | {jobs[0]} thread | {head} |\n|---:|{'---:|' * len(jobs)}")
        for documents in arguments.documents:
            data = make_shape("MSLR-like", documents, ties)
            judgments = gs.Judgments(data.labels, group=data.sizes)
            seconds = interleaved(
                {str(n): repeated(ours(PANEL, judgments, data.scores[ties], n), calls(documents)) for n in jobs},
                arguments.repeats,
            )
            one = seconds[str(jobs[0])]
            usually = max(n for n in jobs if n <= max(1, min(cpus, documents // usual)))
            cells = [f"{milliseconds(one) / calls(documents):.2f} ms"]
            cells += [f"{ratio(seconds[str(n)], one):.2f}" for n in jobs[1:]]
            cells[jobs.index(usually)] = f"**{cells[jobs.index(usually)]}**"
            print(f"| {documents:,} | {' | '.join(cells)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
