"""Time evaluations from files: TREC runs and qrels compared with pytrec_eval, score tables compared with pandas.

    python research/benchmarks/files.py [--queries 1000] [--repeats 5] [--budget 60]

Queries have 1,000 documents, 100 of them judged. pytrec_eval and gainwise read the same files and compute the same four
means. The script compares the means first.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytrec_eval
from timing import compute_milliseconds, compute_ratio, describe_machine, time_interleaved

import gainwise as gw
from gainwise.data import read_scores

METRICS = {"ndcg": "ndcg_linear", "ndcg_cut_10": "ndcg_linear@10", "map": "map", "recip_rank": "mrr"}


def write_run_and_qrels(folder: Path, queries: int, pool: int) -> tuple[Path, Path]:
    """Write a run and qrels with document ids from a pool of this size. Scores are rarely tied."""
    rng = np.random.default_rng(0)
    run, qrels = folder / f"run-{pool}", folder / f"qrels-{pool}"
    with run.open("w") as run_file, qrels.open("w") as qrels_file:
        for query in range(queries):
            ids = rng.choice(pool, 1050, replace=False)
            scores = np.sort(rng.normal(size=1000))[::-1]
            run_file.writelines(
                f"{query} Q0 DOC-{name:07d} {rank} {score:.6f} tag\n"
                for rank, (name, score) in enumerate(zip(ids[:1000], scores, strict=True), 1)
            )
            grades = rng.choice(5, 100, p=[0.5, 0.2, 0.15, 0.1, 0.05])
            qrels_file.writelines(
                f"{query} 0 DOC-{name:07d} {grade}\n"
                for name, grade in zip(rng.choice(ids, 100, replace=False), grades, strict=True)
            )
    return run, qrels


def evaluate_pytrec_eval(run: Path, qrels: Path) -> list[float]:
    """Return pytrec_eval's means."""
    measures = {"ndcg", "ndcg_cut.10", "map", "recip_rank"}
    with run.open() as run_file, qrels.open() as qrels_file:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(qrels_file), measures)
        by_query = evaluator.evaluate(pytrec_eval.parse_run(run_file)).values()
    return [float(np.mean([values[name] for values in by_query])) for name in METRICS]


def evaluate_gainwise(run: Path, qrels: Path) -> list[float]:
    """Return gainwise's means."""
    return list(gw.evaluate_run(list(METRICS.values()), run, qrels, convention="trec_eval").mean.values())


def print_runs(folder: Path, queries: int, repeats: int, budget: float) -> None:
    """Print the table of runs and qrels."""
    print("| run and qrels | pytrec_eval, ms | gainwise, ms | ratio | relative difference |")
    print("|---|---:|---:|---:|---:|")
    for name, pool in (("few distinct ids", 20_000), ("nearly all ids distinct", 8_500 * queries)):
        paths = write_run_and_qrels(folder, queries, pool)
        difference = np.max(np.abs(np.array(evaluate_gainwise(*paths)) / np.array(evaluate_pytrec_eval(*paths)) - 1))
        pytrec, gainwise = time_interleaved(
            {
                "pytrec_eval": partial(evaluate_pytrec_eval, *paths),
                "gainwise": partial(evaluate_gainwise, *paths),
            },
            repeats,
            budget,
        ).values()
        print(f"| {queries:,} × 1,000, {name} | {compute_milliseconds(pytrec):.0f} "
              f"| {compute_milliseconds(gainwise):.0f} | {compute_ratio(gainwise, pytrec):.2f} "
              f"| {difference:.0e} |", flush=True)  # fmt: skip


def print_tables(folder: Path, rows: int, repeats: int, budget: float) -> None:
    """Print the table of score files."""
    scores = np.random.default_rng(0).normal(size=(rows, 3))
    path = folder / "scores.csv"
    pd.DataFrame(scores, columns=["a", "b", "c"]).to_csv(path, index=False)
    compressed = folder / "compressed.csv"
    compressed.write_bytes(gzip.compress(path.read_bytes(), 1))
    print(f"\n| one of three columns, {rows:,} rows | pandas, ms | gainwise, ms | ratio |\n|---|---:|---:|---:|")
    for name, file, compression in (("CSV", path, None), ("CSV, gzip", compressed, "gzip")):
        assert read_scores(file, column="b").tobytes() == np.ascontiguousarray(scores[:, 1]).tobytes()
        pandas, gainwise = time_interleaved(
            {
                "pandas": partial(pd.read_csv, file, usecols=["b"], compression=compression),
                "gainwise": partial(read_scores, file, column="b"),
            },
            repeats,
            budget,
        ).values()
        print(f"| {name} | {compute_milliseconds(pandas):.0f} | {compute_milliseconds(gainwise):.0f} "
              f"| {compute_ratio(gainwise, pandas):.2f} |", flush=True)  # fmt: skip


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, default=60, help="seconds per row, but at least two rounds")
    arguments = parser.parse_args()
    print(f"{describe_machine('pytrec_eval-terrier')}\n")
    with tempfile.TemporaryDirectory() as folder:
        print_runs(Path(folder), arguments.queries, arguments.repeats, arguments.budget)
        print_tables(Path(folder), 1_000 * arguments.queries, arguments.repeats, arguments.budget)


if __name__ == "__main__":
    main()
