"""From files to numbers: TREC runs and qrels, and tables of scores, against what else reads them.

    python benchmarks/files.py [--queries 1000] [--repeats 5] [--budget 60]

A thousand documents a query, a hundred of them judged. pytrec_eval, and gainsay with pyarrow and as if that were not
installed, begin with the same paths and end with the same four means, which are compared first.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytrec_eval
from timing import interleaved, machine, milliseconds, ratio

import gainsay as gs
from gainsay.data import read_scores

METRICS = {"ndcg": "ndcg_linear", "ndcg_cut_10": "ndcg_linear@10", "map": "map", "recip_rank": "mrr"}


def write_listings(folder: Path, queries: int, pool: int) -> tuple[Path, Path]:
    """Write a run and qrels whose ids are drawn from a pool; scores are untied but for chance."""
    rng = np.random.default_rng(0)
    run, qrels = folder / f"run-{pool}", folder / f"qrels-{pool}"
    with run.open("w") as retrieved, qrels.open("w") as judged:
        for query in range(queries):
            ids = rng.choice(pool, 1050, replace=False)
            scores = np.sort(rng.normal(size=1000))[::-1]
            retrieved.writelines(
                f"{query} Q0 DOC-{name:07d} {rank} {score:.6f} tag\n"
                for rank, (name, score) in enumerate(zip(ids[:1000], scores, strict=True), 1)
            )
            grades = rng.choice(5, 100, p=[0.5, 0.2, 0.15, 0.1, 0.05])
            judged.writelines(
                f"{query} 0 DOC-{name:07d} {grade}\n"
                for name, grade in zip(rng.choice(ids, 100, replace=False), grades, strict=True)
            )
    return run, qrels


def theirs(run: Path, qrels: Path) -> list[float]:
    """Return pytrec_eval's means, parsing included."""
    with run.open() as retrieved, qrels.open() as judged:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), {"ndcg", "ndcg_cut.10", "map",
                                                                                    "recip_rank"})  # fmt: skip
        found = evaluator.evaluate(pytrec_eval.parse_run(retrieved)).values()
    return [float(np.mean([values[name] for values in found])) for name in METRICS]


def ours(run: Path, qrels: Path) -> list[float]:
    """Return the same means."""
    return list(gs.evaluate_run(list(METRICS.values()), run, qrels, convention="trec_eval").mean.values())


def without_arrow(run: Path, qrels: Path) -> list[float]:
    """Return the same means, read line by line."""
    with mock.patch.dict(sys.modules, {"pyarrow": None, "pyarrow.csv": None, "pyarrow.compute": None}):
        return ours(run, qrels)


def listings(folder: Path, queries: int, repeats: int, budget: float) -> None:
    """Print the table of runs and qrels."""
    print("| run, qrels | pytrec_eval, ms | ours, ms | ratio | ours without pyarrow, ratio | apart |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, pool in (("few distinct ids", 20_000), ("nearly all ids distinct", 8_500 * queries)):
        paths = write_listings(folder, queries, pool)
        apart = np.max(np.abs(np.array(ours(*paths)) / np.array(theirs(*paths)) - 1))
        seconds = interleaved(
            {
                "theirs": lambda paths=paths: theirs(*paths),
                "ours": lambda paths=paths: ours(*paths),
                "without": lambda paths=paths: without_arrow(*paths),
            },
            repeats,
            budget,
        )
        print(f"| {queries:,} × 1,000, {name} | {milliseconds(seconds['theirs']):.0f} "
              f"| {milliseconds(seconds['ours']):.0f} | {ratio(seconds['ours'], seconds['theirs']):.2f} "
              f"| {ratio(seconds['without'], seconds['theirs']):.1f} | {apart:.0e} |", flush=True)  # fmt: skip


def tables(folder: Path, rows: int, repeats: int, budget: float) -> None:
    """Print the table of score files."""
    scores = np.random.default_rng(0).normal(size=(rows, 3))
    path = folder / "scores.csv"
    pd.DataFrame(scores, columns=["a", "b", "c"]).to_csv(path, index=False)
    packed = folder / "packed.csv"
    packed.write_bytes(gzip.compress(path.read_bytes(), 1))
    print(f"\n| column of {rows:,} rows of three | pandas, ms | ours, ms | ratio |\n|---|---:|---:|---:|")
    for name, file in (("CSV", path), ("CSV, gzip", packed)):
        assert read_scores(file, column="b").tobytes() == np.ascontiguousarray(scores[:, 1]).tobytes()
        kind = "gzip" if file == packed else None
        seconds = interleaved(
            {
                "theirs": lambda file=file, kind=kind: pd.read_csv(file, usecols=["b"], compression=kind),
                "ours": lambda file=file: read_scores(file, column="b"),
            },
            repeats,
            budget,
        )
        print(f"| {name} | {milliseconds(seconds['theirs']):.0f} | {milliseconds(seconds['ours']):.0f} "
              f"| {ratio(seconds['ours'], seconds['theirs']):.2f} |", flush=True)  # fmt: skip


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, default=60, help="seconds for a row, two rounds at the least")
    arguments = parser.parse_args()
    print(f"{machine('pyarrow', 'pytrec_eval-terrier')}\n")
    with tempfile.TemporaryDirectory() as folder:
        listings(Path(folder), arguments.queries, arguments.repeats, arguments.budget)
        tables(Path(folder), 1_000 * arguments.queries, arguments.repeats, arguments.budget)


if __name__ == "__main__":
    main()
