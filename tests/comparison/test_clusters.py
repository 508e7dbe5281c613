"""Queries in clusters: errors and degrees of freedom of cluster means, and flags."""

import numpy as np
import pytest
from tests.comparison.populations import freedom_of, panel_of, skewness_of, variance_form
from tests.comparison.tables import verdict_of

import gainwise as gw
from gainwise.comparison.estimates import estimate


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
def test_errors_and_degrees_of_freedom_are_those_of_weighted_cluster_means(weighted):
    a, b, labels = values_of()
    n = len(a)
    weights = np.random.default_rng(1).random(n) if weighted else np.ones(n)
    estimated = estimate(panel_of({"a": a, "b": b}, weights=weights, clusters=labels))
    w = weights / weights.sum()
    for row, values in enumerate((a, b)):
        for k, j in ((0, 1), (0, 2), (1, 2)):
            difference = values[:, j] - values[:, k]
            own = [labels == label for label in np.unique(labels)]
            shares = np.array([w[rows].sum() for rows in own])
            means = np.array([w[rows] @ difference[rows] / w[rows].sum() for rows in own])
            assert estimated.error[row, k, j] == pytest.approx(np.sqrt(means @ variance_form(shares) @ means), rel=1e-9)
            assert estimated.skewness[row, k, j] == pytest.approx(skewness_of(means, shares), rel=1e-7)
            assert estimated.freedom == pytest.approx(freedom_of(shares), rel=1e-9)


def test_clusters_of_one_query_each_are_none():
    a, b, _ = values_of(2)
    one = verdict_of(a, b, draws=300).to_dict()
    other = verdict_of(a, b, draws=300, clusters=[f"q{i}" for i in range(len(a))]).to_dict()
    assert other.pop("clusters") == len(a)
    assert one.pop("clusters") is None
    for name in one:
        if name != "text":
            assert one[name] == other[name], name


@pytest.mark.parametrize(("clusters", "kind"), [(29, "unresolved"), (50, "unresolved"), (51, "genuine")])
def test_fewer_than_thirty_clusters_or_fifty_degrees_of_freedom_decide_nothing(clusters, kind):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(clusters), 10)
    ahead = np.stack([rng.normal(1, 0.01, len(labels)), np.zeros(len(labels))], axis=1)
    verdict = verdict_of(ahead, -ahead, clusters=labels)
    assert verdict.kind == kind
    assert np.isfinite(verdict.safe_regret_upper) == (kind == "genuine")
    few = {flag.code: flag.message for flag in verdict.flags if flag.code.startswith("few")}
    assert list(few) == {29: ["few clusters"], 50: ["few degrees of freedom"], 51: []}[clusters]
    assert all(word in few["few clusters"] for word in ("290", "29 clusters") if clusters == 29)
    assert all(word in verdict.text for word in ("sample has 50 clusters", "49 degrees of freedom") if clusters == 50)
    gate = gw.Comparison({"x": ahead[:, ::-1]}, ["A", "B"], clusters=labels).against("A")
    assert gate.decisions == {"B": "ship" if kind == "genuine" else "undecided"}
    assert verdict.shortage in gate.text
    assert f"{10 * clusters} queries in {clusters} clusters" in verdict.text


def test_one_large_cluster_is_flagged():
    a, b, _ = values_of(6)
    labels = np.arange(len(a))
    labels[: len(a) // 2] = 0
    flags = {flag.code: flag for flag in verdict_of(a, b, clusters=labels, draws=200).flags}
    assert {"uneven clusters", "few degrees of freedom"} <= set(flags)
