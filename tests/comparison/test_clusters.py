"""Queries in clusters: jackknife errors, effective sizes in clusters, and flags."""

from __future__ import annotations

import numpy as np
import pytest
from tests.comparison.populations import panel_of
from tests.comparison.tables import verdict_of

from gainwise.comparison.estimates import estimate
from gainwise.comparison.flags import compute_skewness


def values_of(seed=0, clusters=80, models=3):
    """Values of correlated queries in clusters of one to seven, and their labels, in random order."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, clusters)
    labels = np.repeat(np.arange(clusters), sizes)
    shared = rng.normal(0, 0.2, (clusters, 2, models))[labels]
    values = shared + rng.normal(0, 0.1, (len(labels), 2, models))
    order = rng.permutation(len(labels))
    return values[order, 0], values[order, 1], labels[order]


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_the_jackknife(weighted):
    a, b, labels = values_of()
    n = len(a)
    weights = np.random.default_rng(1).random(n) if weighted else np.ones(n)
    estimated = estimate(panel_of({"a": a, "b": b}, weights=weights, clusters=labels))
    w = weights / weights.sum()
    for row, values in enumerate((a, b)):
        for k, j in ((0, 1), (0, 2), (1, 2)):
            difference = values[:, j] - values[:, k]
            without = [labels != label for label in np.unique(labels)]
            means = [w[rest] @ difference[rest] / w[rest].sum() for rest in without]
            expected = np.sqrt(np.sum(np.square(means - w @ difference)))
            assert estimated.error[row, k, j] == pytest.approx(expected, rel=1e-9)


def test_clusters_of_one_query_each_are_none():
    a, b, _ = values_of(2)
    one = verdict_of(a, b, draws=300).to_dict()
    other = verdict_of(a, b, draws=300, clusters=[f"q{i}" for i in range(len(a))]).to_dict()
    assert other.pop("clusters") == len(a)
    assert one.pop("clusters") is None
    for name in one:
        if name != "text":
            assert one[name] == other[name], name


@pytest.mark.parametrize(("clusters", "kind"), [(29, "unresolved"), (30, "genuine")])
def test_fewer_than_thirty_clusters_decide_nothing(clusters, kind):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(clusters), 10)
    ahead = np.stack([rng.normal(1, 0.01, len(labels)), np.zeros(len(labels))], axis=1)
    verdict = verdict_of(ahead, -ahead, clusters=labels)
    assert verdict.kind == kind
    assert np.isfinite(verdict.safe_regret_upper) == (kind == "genuine")
    few = [flag.message for flag in verdict.flags if flag.code == "few clusters"]
    assert len(few) == (clusters < 30)
    assert all("290" in message and "29 clusters" in message for message in few)
    pairs = {flag.code for flag in verdict.flags if flag.code.endswith("pairs")}
    assert pairs == ({"thin pairs"} if kind == "genuine" else {"ignored pairs"})
    assert f"{10 * clusters} queries in {clusters} clusters" in verdict.text


def test_one_large_cluster_is_flagged():
    a, b, _ = values_of(6)
    labels = np.arange(len(a))
    labels[: len(a) // 2] = 0
    flags = {flag.code: flag for flag in verdict_of(a, b, clusters=labels, draws=200).flags}
    assert "about 4" in flags["uneven clusters"].message


def test_lopsidedness_is_that_of_cluster_sums():
    rng = np.random.default_rng(0)
    d = rng.exponential(size=60)
    panel = panel_of({"a": np.stack([np.zeros(60), d], axis=1)}, clusters=np.arange(60) // 3)
    sums = (d - d.mean()).reshape(20, 3).sum(axis=1)
    expected = abs((sums**3).sum()) / (sums**2).sum() ** 1.5
    assert compute_skewness(panel, estimate(panel))[0, 1] == pytest.approx(expected)
