"""Measure an evaluation on a cluster: time and memory per document, bytes per partition, and time to add partitions.

    python research/benchmarks/scale.py [--documents 1000000 10000000] [--partitions 10000] [--workers 2]

Times of single tasks are CPU times of one thread, which hardly depend on other work on the machine. The results of
10,000 partitions have the same size as for a billion documents. Dask's overhead is measured on 10,000 partitions of one
query.
"""

from __future__ import annotations

import argparse
import pickle
import time
import tracemalloc
from collections import deque
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from datasets import Data, make_data
from evaluators import TEN_METRICS
from timing import describe_machine

import gainwise as gw
from gainwise.dask import PartitionSums, _add_partitions, _sum_partition, predict_stages
from gainwise.data import simulate
from gainwise.training.logged_metrics import LoggedMetrics, Partition

if TYPE_CHECKING:
    from collections.abc import Callable

BILLION = 1_000_000_000
DOCUMENTS_PER_QUERY = 100
"""On average."""


class Measurements(NamedTuple):
    """Nanoseconds of one thread and bytes of memory per document."""

    task: float
    evaluation: float
    evaluator: float
    peak: float


def measure_cpu_time(function: Callable[[], object], repeats: int) -> float:
    """Return the median CPU time of a call in seconds."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return median(seconds)


def sum_partition(data: Data, scores: np.ndarray[Any, Any], qid: np.ndarray[Any, Any] | None) -> PartitionSums:
    """Evaluate one partition, as a worker does."""
    grouping = {"group": data.sizes} if qid is None else {"qid": qid}
    return _sum_partition(
        LoggedMetrics(TEN_METRICS, None, "refuse", 1), 0, None, scores, labels=data.labels, **grouping
    )


def measure_partition(documents: int, repeats: int) -> Measurements:
    """Measure one partition of this size."""
    data = make_data(documents)
    n, scores = len(data.labels), data.scores["untied"]
    partition = Partition(LoggedMetrics(TEN_METRICS, None, "refuse", 1), data.labels, group=data.sizes)
    evaluation = 1e9 * measure_cpu_time(lambda: partition.evaluate(scores), repeats)
    task = 1e9 * measure_cpu_time(lambda: sum_partition(data, scores, None), repeats)
    tracemalloc.start()
    evaluator = gw.Evaluator(TEN_METRICS, gw.Judgments(data.labels, group=data.sizes), n_jobs=1)
    allocated = tracemalloc.get_traced_memory()[0]
    del evaluator
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    sum_partition(data, scores, None)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return Measurements(task / n, evaluation / n, allocated / n, peak / n)


def measure_messages(documents: int) -> tuple[int, int]:
    """Return the bytes that a partition of this size sends, with `group` and with `qid`."""
    data = make_data(documents)
    qid = np.repeat(np.arange(len(data.sizes)), data.sizes)
    with_group, with_qid = (sum_partition(data, data.scores["untied"], ids) for ids in (None, qid))
    return len(pickle.dumps(with_group)), len(pickle.dumps(with_qid))


def add_partitions(partitions: int, queries: int, has_ids: bool) -> tuple[float, int]:
    """Add the results of partitions with this number of queries each. Return the CPU seconds and the bytes sent."""
    data = make_data(queries * DOCUMENTS_PER_QUERY)
    template = sum_partition(data, data.scores["untied"], None)
    starts = range(0, partitions * queries, queries)
    if has_ids:
        parts = [template._replace(query_ids=np.arange(start, start + queries)) for start in starts]
    else:
        parts = [template] * partitions
    size = sum(len(pickle.dumps(part)) for part in parts)
    return measure_cpu_time(lambda: _add_partitions(parts, has_ids), 1), size


def measure_overhead(partitions: list[int], workers: int) -> list[float]:
    """Return the seconds that a cluster takes for each number of partitions of one query."""
    import distributed

    from gainwise.dask import evaluate

    labels, scores, group = np.array([1.0, 0.0]), np.array([0.5, 0.7]), np.array([2])
    seconds = []
    with (
        distributed.LocalCluster(workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
    ):
        for count in partitions:
            start = time.perf_counter()
            evaluate(TEN_METRICS, [labels] * count, [scores] * count, group=[group] * count)
            seconds.append(time.perf_counter() - start)
    return seconds


def measure_predictions(documents: int, rounds: int = 100) -> dict[str, tuple[float, float]]:
    """Return the seconds of each library to predict with all rounds, and to predict after each round."""
    import lightgbm as lgb
    import xgboost as xgb

    data = simulate(documents // DOCUMENTS_PER_QUERY, seed=1, features=100, mean_length=DOCUMENTS_PER_QUERY)
    small = data.take_queries(np.arange(200))
    boosters = {
        "LightGBM": lgb.train(
            {"objective": "lambdarank", "verbose": -1},
            lgb.Dataset(small.features, small.labels, group=small.group),
            rounds,
        ),
        "XGBoost": xgb.train(
            {"objective": "rank:ndcg", "max_depth": 5, "nthread": 1},
            xgb.DMatrix(small.features, label=small.labels, qid=small.qid),
            rounds,
        ),
    }
    predictions = {
        "LightGBM": lambda: boosters["LightGBM"].predict(data.features, num_threads=1),
        "XGBoost": lambda: boosters["XGBoost"].predict(xgb.DMatrix(data.features, nthread=1)),
    }
    numbers = tuple(range(1, rounds + 1))
    seconds = {}
    for name, booster in boosters.items():
        each_round = measure_cpu_time(
            lambda booster=booster: deque(predict_stages(booster, numbers, data.features), maxlen=0), 3
        )
        seconds[name] = (measure_cpu_time(predictions[name], 3), each_round)
    return seconds


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{describe_machine('dask')}\n\nTen metrics: {', '.join(TEN_METRICS)}\n")

    print("One partition, one thread, per document:")
    print("| documents | task, ns | evaluation only, ns | evaluator, bytes | peak, bytes |\n|---:|---:|---:|---:|---:|")
    for documents in arguments.documents:
        result = measure_partition(documents, arguments.repeats if documents < 5_000_000 else 3)
        cells = f"{result.task:.0f} | {result.evaluation:.0f} | {result.evaluator:.1f} | {result.peak:.1f}"
        print(f"| {documents:,} | {cells} |")

    documents = BILLION // arguments.partitions
    with_group, with_qid = measure_messages(documents)
    print(f"\nA partition of {documents:,} documents sends {with_group:,} bytes with group, {with_qid:,} with qid.")

    print(f"\nAdding {arguments.partitions:,} partitions with {BILLION:,} documents in total:")
    print("| | CPU s | bytes sent |\n|---|---:|---:|")
    for name, has_ids in (("group", False), ("qid", True)):
        seconds, size = add_partitions(arguments.partitions, documents // DOCUMENTS_PER_QUERY, has_ids)
        print(f"| {name} | {seconds:.2f} | {size:,} |")

    print("\nPredicting 100,000 documents of 100 features with 100 rounds, one thread:")
    for name, (once, each_round) in measure_predictions(100_000).items():
        ratio = each_round / once
        print(f"{name}: once {once:.2f} s, after each round {each_round:.2f} s ({ratio:.1f} times as long)")

    partitions = [arguments.partitions // 20, arguments.partitions]
    fewer, all_partitions = measure_overhead(partitions, arguments.workers)
    print(
        f"\nDask's overhead, {arguments.workers} workers: {partitions[1]:,} partitions of one query take "
        f"{all_partitions:.1f} s, {partitions[0]:,} take {fewer:.1f} s."
    )


if __name__ == "__main__":
    main()
