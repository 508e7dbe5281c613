"""Time the HTML report of many models on many queries, and measure its size.

    python research/benchmarks/report.py [--queries 30000] [--models 30]

The targets are 15 s and 0.6 MB.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from timing import describe_machine

import gainwise as gw

DOCUMENTS = 20


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=30_000)
    parser.add_argument("--models", type=int, default=30)
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    labels = rng.choice(5, size=arguments.queries * DOCUMENTS, p=[0.52, 0.32, 0.13, 0.02, 0.01])
    judgments = gw.Judgments(labels, group=np.full(arguments.queries, DOCUMENTS))
    models = {
        f"model {n}": labels * rng.uniform(0.3, 1.0) + rng.normal(size=len(labels)) for n in range(arguments.models)
    }
    times = [time.perf_counter()]
    comparison = gw.compare(models, judgments)
    times.append(time.perf_counter())
    comparison.leaderboard, comparison.pairs, comparison.verdict  # noqa: B018 - computed on first access
    times.append(time.perf_counter())
    with tempfile.TemporaryDirectory() as folder:
        size = comparison.to_html(Path(folder) / "report.html").stat().st_size
    times.append(time.perf_counter())
    evaluation, verdict, report = np.diff(times)
    print(
        f"{describe_machine()}\n\n{arguments.models} models, {arguments.queries:,} queries of {DOCUMENTS} documents\n"
    )
    print("| | |\n|---|---:|")
    print(f"| `compare` | {evaluation:.1f} s |\n| leaderboard, pairs and verdict | {verdict:.1f} s |")
    print(f"| HTML report (target: 15 s) | {report:.1f} s |\n| file size (target: 0.6 MB) | {size / 1e6:.2f} MB |")


if __name__ == "__main__":
    main()
