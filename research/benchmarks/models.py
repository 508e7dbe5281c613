"""Measure the CPU time of comparing many models: `compare`, the verdict, JSON and the HTML report.

    python research/benchmarks/models.py [--models 100 250 500 1000] [--queries 1000]

The errors of the models are strongly correlated in one population and independent in the other. Targets on one thread:
10 s for `compare` and the verdict of 1,000 models, 3 s for the verdict of 500, 1 s for the JSON of 100 models on 30
queries.
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


def simulate(models: int, queries: int, shared: float) -> tuple[dict[str, np.ndarray], gw.Judgments]:
    """Return scores and judgments. `shared` is the weight of the common error of all models."""
    rng = np.random.default_rng(0)
    labels = rng.choice(5, size=queries * DOCUMENTS, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    common = rng.normal(size=len(labels))
    scores = {}
    for n in range(models):
        error = shared * common + (1 - shared) * rng.normal(size=len(labels))
        scores[f"model {n}"] = rng.uniform(0.5, 1.0) * labels + error
    return scores, gw.Judgments(labels, group=[DOCUMENTS] * queries)


def measure(models: int, queries: int, shared: float) -> list[float]:
    """Return the CPU seconds of `compare`, the verdict, JSON and the HTML report."""
    scores, judgments = simulate(models, queries, shared)
    times = [time.process_time()]
    comparison = gw.compare(scores, judgments, ["ndcg_linear@10", "ndcg_exp@10"])
    times.append(time.process_time())
    comparison.verdict  # noqa: B018 - computed on first access
    times.append(time.process_time())
    comparison.to_json()
    times.append(time.process_time())
    with tempfile.TemporaryDirectory() as folder:
        comparison.to_html(Path(folder) / "report.html")
    times.append(time.process_time())
    return np.diff(times).tolist()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="+", default=[100, 250, 500, 1000])
    parser.add_argument("--queries", type=int, default=1000)
    arguments = parser.parse_args()
    print(f"{describe_machine()}\n\nCPU seconds, {DOCUMENTS} documents per query\n")
    print("| models | queries | errors | `compare` | verdict | JSON | HTML report |")
    print("|---:|---:|---|---:|---:|---:|---:|")
    measure(3, 30, 0.8)  # Imports and first calls are not measured.
    settings = [(models, arguments.queries, shared) for models in arguments.models for shared in (0.8, 0.0)]
    for models, queries, shared in [(100, 30, 0.8), *settings]:
        seconds = " | ".join(f"{value:.2f}" for value in measure(models, queries, shared))
        print(f"| {models:,} | {queries:,} | {'correlated' if shared else 'independent'} | {seconds} |", flush=True)


if __name__ == "__main__":
    main()
