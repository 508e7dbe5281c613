"""Compare metrics of random queries with their definitions in plain Python, over all orders of tied documents."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
from tests.fuzz.core import assert_same_bits
from tests.fuzz.trials import run_trials
from tests.oracles import definitions

import gainwise as gw
from gainwise.evaluation import groups
from gainwise.ranking import compiled

MAX_DOCUMENTS = 7
"""A query of 7 tied documents has 5,040 orders."""


def make_queries(rng: random.Random) -> list[tuple[list[float], list[float]]]:
    """Return labels and scores of queries with few distinct scores, some of them infinite or not retrieved."""
    grades, queries = rng.choice([(0, 1), (0, 1, 2, 3, 4), (0, 0, 0, 1)]), []
    for _ in range(rng.randint(1, 12)):
        size, distinct = rng.randint(1, MAX_DOCUMENTS), rng.randint(1, MAX_DOCUMENTS)
        values = [rng.choice([rng.gauss(0, 1), 0.0, -0.0, 1e-300, 1e300, np.inf, -np.inf]) for _ in range(distinct)]
        queries.append(([float(rng.choice(grades)) for _ in range(size)], [rng.choice(values) for _ in range(size)]))
    return queries


def compute_expected(
    name: str, ties: str, k: int | None, queries: Sequence[tuple[list[float], list[float]]]
) -> list[float]:
    """Return the value of each query by the definition in plain Python."""
    definition = definitions.METRICS[name]
    if ties == "average":
        return [definitions.expectation(definition, labels, scores, k) for labels, scores in queries]
    rank = definitions.RANKINGS[ties]
    return [definition(rank(labels, scores), labels, k) for labels, scores in queries]


def check(seed: int) -> None:
    """Evaluate a few metrics in one call, with the core and with NumPy. Rows of queries are interleaved."""
    rng = random.Random(seed)
    queries = make_queries(rng)
    metrics: list[Any] = []
    expected = []
    while len(metrics) < 4:
        name, ties = rng.choice(list(definitions.METRICS)), rng.choice(["average", *definitions.RANKINGS])
        k = rng.choice([None, *range(1, MAX_DOCUMENTS + 2)])
        (metric,) = gw.parse_metrics(name)
        if "ties=" in name and ties == "average":
            continue
        metric = replace(metric, k=k, ties=ties)
        if metric not in metrics:
            metrics.append(metric)
            expected.append(compute_expected(name, ties, k, queries))
    owners = [place for place, (labels, _) in enumerate(queries) for _ in labels]
    rows = [(label, score) for labels, scores in queries for label, score in zip(labels, scores, strict=True)]
    # The order within a query stays the same, because it decides ties under some policies.
    places: list[list[int]] = [[row for row, owner in enumerate(owners) if owner == place] for place in set(owners)]
    mixed = owners.copy()
    rng.shuffle(mixed)
    order = [places[owner].pop(0) for owner in mixed]
    labels, scores = (np.array([rows[row][part] for row in order]) for part in (0, 1))
    judgments = gw.Judgments(labels, qid=mixed)
    with mock.patch.object(groups, "COMPILED_PER_THREAD", 1):
        values = gw.evaluate(metrics, judgments, scores, n_jobs=rng.choice([1, 2])).per_query
    with mock.patch.object(compiled, "core", return_value=None):
        assert_same_bits(metrics, values, gw.evaluate(metrics, judgments, scores, n_jobs=1).per_query)
    by_id = np.array(expected).T[judgments.query_ids]
    np.testing.assert_allclose(values, by_id, rtol=1e-12, atol=1e-16, err_msg=str(list(map(str, metrics))))


if __name__ == "__main__":
    run_trials("metrics", check)
