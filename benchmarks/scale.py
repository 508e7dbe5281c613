"""What an evaluation over a cluster costs: time and memory per document, bytes per partition, and merging them.

    python benchmarks/scale.py [--documents 1000000 10000000] [--partitions 10000] [--workers 2]

Times of single tasks are CPU times of one thread, so that other work on the machine disturbs them little. The merge of
10,000 partitions is done for real, on results of the size that a billion documents give; the cluster's own overhead is
measured on as many partitions of one query each.
"""

from __future__ import annotations

import argparse
import os
import pickle
import time
import tracemalloc
from collections import deque
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import dask
import numpy as np
from panel import PANEL
from shapes import Data, make_data
from timing import machine

import gainsay as gs
from gainsay.dask.evaluation import PartitionSums, _add_partitions, _sum_partition, predict_stages
from gainsay.data import simulate
from gainsay.training.bound_metrics import BoundMetrics, Partition

if TYPE_CHECKING:
    from collections.abc import Callable

BILLION = 1_000_000_000
QUERY = 100
"""Documents of a query, about, in the data set that is measured and in the billion."""


class Cost(NamedTuple):
    """Figures per document: nanoseconds of one thread, bytes."""

    task: float
    evaluation: float
    held: float
    peak: float


def cpu_nanoseconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median CPU time of a call."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return 1e9 * median(seconds)


def partition_task(data: Data, scores: np.ndarray[Any, Any], qid: np.ndarray[Any, Any] | None) -> PartitionSums:
    """Do what a worker does for one partition."""
    grouping = {"group": data.sizes} if qid is None else {"qid": qid}
    return _sum_partition(BoundMetrics(PANEL, None, "refuse", 1), 0, None, scores, labels=data.labels, **grouping)


def measure(documents: int, repeats: int) -> Cost:
    """Measure one partition of this size."""
    data = make_data(documents)
    n, scores = len(data.labels), data.scores["untied"]
    part = Partition(BoundMetrics(PANEL, None, "refuse", 1), data.labels, group=data.sizes)
    evaluation = cpu_nanoseconds(lambda: part.evaluate(scores), repeats)
    task = cpu_nanoseconds(lambda: partition_task(data, scores, None), repeats)
    tracemalloc.start()
    evaluator = gs.Evaluator(PANEL, gs.Judgments(data.labels, group=data.sizes), n_jobs=1)
    held = tracemalloc.get_traced_memory()[0]
    del evaluator
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    partition_task(data, scores, None)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return Cost(task / n, evaluation / n, held / n, peak / n)


def sent(documents: int) -> tuple[int, int]:
    """Return the bytes that a partition of this size sends, with groups and with query ids."""
    data = make_data(documents)
    qid = np.repeat(np.arange(len(data.sizes)), data.sizes)
    with_group, with_qid = (partition_task(data, data.scores["untied"], ids) for ids in (None, qid))
    return len(pickle.dumps(with_group)), len(pickle.dumps(with_qid))


def merge(partitions: int, queries: int, has_ids: bool) -> tuple[float, int]:
    """Add the results of partitions with so many queries each. Return the CPU seconds and the bytes that are sent."""
    data = make_data(queries * QUERY)
    template = partition_task(data, data.scores["untied"], None)
    numbers = range(0, partitions * queries, queries)
    if has_ids:
        parts = [template._replace(query_ids=np.arange(start, start + queries)) for start in numbers]
    else:
        parts = [template] * partitions
    sent_bytes = sum(len(pickle.dumps(part)) for part in parts)
    return cpu_nanoseconds(lambda: _add_partitions(parts, has_ids), 1) / 1e9, sent_bytes


def overhead(partitions: int, workers: int) -> tuple[float, float]:
    """Return the seconds that a cluster takes for so many partitions of one query, and those of a twentieth of them."""
    import distributed

    from gainsay.dask import evaluate

    labels, scores, group = np.array([1.0, 0.0]), np.array([0.5, 0.7]), np.array([2])
    found = []
    with (
        distributed.LocalCluster(workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
    ):
        for count in (partitions // 20, partitions):
            start = time.perf_counter()
            evaluate(PANEL, [labels] * count, [scores] * count, group=[group] * count)
            found.append(time.perf_counter() - start)
    return found[1], found[0]


def staged(documents: int, rounds: int = 100) -> dict[str, tuple[float, float]]:
    """Return, by library, the seconds to predict once, and to predict after each round on the way."""
    import lightgbm as lgb
    import xgboost as xgb

    data = simulate(documents // QUERY, seed=1, features=100, mean_length=QUERY)
    few = data.take_queries(np.arange(200))
    boosters = {
        "LightGBM": lgb.train(
            {"objective": "lambdarank", "verbose": -1}, lgb.Dataset(few.features, few.labels, group=few.group), rounds
        ),
        "XGBoost": xgb.train(
            {"objective": "rank:ndcg", "max_depth": 5, "nthread": 1},
            xgb.DMatrix(few.features, label=few.labels, qid=few.qid),
            rounds,
        ),
    }
    once = {
        "LightGBM": lambda: boosters["LightGBM"].predict(data.features, num_threads=1),
        "XGBoost": lambda: boosters["XGBoost"].predict(xgb.DMatrix(data.features, nthread=1)),
    }
    found = {}
    for name, booster in boosters.items():
        numbers = tuple(range(1, rounds + 1))
        all_rounds = cpu_nanoseconds(
            lambda booster=booster, numbers=numbers: deque(predict_stages(booster, numbers, data.features), maxlen=0),
            3,
        )
        found[name] = (cpu_nanoseconds(once[name], 3) / 1e9, all_rounds / 1e9)
    return found


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{machine()}, dask {dask.__version__}; load {os.getloadavg()[0]:.1f}\n\npanel: {', '.join(PANEL)}\n")

    print("One partition, one thread, per document:")
    print("| documents | task ns | of which evaluation ns | bound bytes | peak bytes |\n|---:|---:|---:|---:|---:|")
    for documents in arguments.documents:
        cost = measure(documents, arguments.repeats if documents < 5_000_000 else 3)
        print(f"| {documents:,} | {cost.task:.0f} | {cost.evaluation:.0f} | {cost.held:.1f} | {cost.peak:.1f} |")

    in_partition = BILLION // arguments.partitions
    with_group, with_qid = sent(in_partition)
    print(f"\nA partition of {in_partition:,} documents sends {with_group:,} bytes with group, {with_qid:,} with qid.")

    print(f"\nMerging {arguments.partitions:,} partitions, {BILLION:,} documents in all:")
    print("| | CPU s | bytes sent |\n|---|---:|---:|")
    for name, has_ids in (("group", False), ("qid", True)):
        seconds, sent_bytes = merge(arguments.partitions, in_partition // QUERY, has_ids)
        print(f"| {name} | {seconds:.2f} | {sent_bytes:,} |")

    print("\nPredicting 100,000 documents of 100 features with 100 rounds, one thread:")
    for name, (once, stages) in staged(100_000).items():
        print(f"{name}: once {once:.2f} s, after each round {stages:.2f} s ({stages / once:.1f} times as long)")

    full, part = overhead(arguments.partitions, arguments.workers)
    print(
        f"\nDask's own cost, {arguments.workers} workers: {arguments.partitions:,} partitions of one query take "
        f"{full:.1f} s, {arguments.partitions // 20:,} take {part:.1f} s."
    )


if __name__ == "__main__":
    main()
