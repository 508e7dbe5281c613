"""Weights and labels near both limits of the float range: the means are right, or an error is raised."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gainwise as gw
from gainwise.data import simulate
from gainwise.training.logged_metrics import LoggedMetrics, Partition

LABELS, GROUP = [1, 0] * 3, [2] * 3
SCORES = [2, 1, 1, 2, 2, 1]
PER_QUERY = [1, 1 / 2, 1]
"""The reciprocal ranks of three queries of two documents, of which the first is relevant."""


def mean_reciprocal_rank(weight):
    return gw.evaluate("mrr", gw.Judgments(LABELS, group=GROUP, weight=weight), SCORES).mean["mrr"]


def exact_mean(weights, values=PER_QUERY):
    """Return the weighted mean, computed in fractions and rounded once."""
    pairs = [(Fraction(weight), Fraction(value)) for weight, value in zip(weights, values, strict=True)]
    return float(sum(weight * value for weight, value in pairs) / sum(weight for weight, _ in pairs))


class TestWeights:
    @pytest.mark.parametrize(
        "weight",
        [
            [5e-324, 1e-323, 5e-324],
            [5e-324, 5e-324, 5e-324],
            [1e308, 1e308, 1e308],
            [1e308, 1.7e308, 0],
            [1e308, 1, 1e-308],
            [1e-310, 3e-310, 1e-311],
            [2.0**-1022, 2.0**-1060, 0],
        ],
    )
    def test_means(self, weight):
        assert mean_reciprocal_rank(weight) == pytest.approx(exact_mean(weight), rel=1e-15)
        assert mean_reciprocal_rank(np.repeat(weight, 2)) == pytest.approx(exact_mean(weight), rel=1e-15)

    @given(
        st.lists(st.floats(0, 1.7e308) | st.sampled_from([5e-324, 1e-310, 1.0, 1e308]), min_size=3, max_size=3).filter(
            any
        )
    )
    def test_any_weights(self, weight):
        assert mean_reciprocal_rank(weight) == pytest.approx(exact_mean(weight), rel=1e-14)

    @pytest.mark.parametrize("weight", [[1e308, 1e308, 1], [5e-324, 5e-324, 0]])
    def test_partitions(self, weight):
        panel = LoggedMetrics("mrr", None, "refuse", 1)
        whole = Partition(panel, LABELS, group=GROUP, weight=weight, whole=True).compute_sums(SCORES)
        assert whole[0, 0] / whole[0, 1] == pytest.approx(exact_mean(weight), rel=1e-15)
        with pytest.raises(ValueError, match="weight"):
            Partition(panel, LABELS, group=GROUP, weight=weight).compute_sums(SCORES)

    @pytest.mark.parametrize("factor", [2.0**1000, 2.0**-1000])
    def test_comparisons_depend_on_ratios_only(self, factor):
        rng = np.random.default_rng(0)
        labels, weight = rng.integers(0, 3, 400), rng.integers(1, 9, 40).astype(float)
        models = {"one": rng.normal(size=400), "other": rng.normal(size=400)}
        plain, scaled = (
            gw.compare(models, gw.Judgments(labels, group=[10] * 40, weight=weights), draws=1000)
            for weights in (weight, weight * factor)
        )
        assert scaled.leaderboard.equals(plain.leaderboard)
        assert scaled.verdict.to_dict() == plain.verdict.to_dict()
        assert scaled.queries("one", "other")["contradiction strength"].equals(
            plain.queries("one", "other")["contradiction strength"]
        )

    @pytest.mark.parametrize(
        ("name", "weight"), [("train", 1e39), ("valid", 1e-45), ("test", 5e-324), ("train", 1e308)]
    )
    def test_experiments_reject_weights_beyond_32_bits(self, name, weight):
        pytest.importorskip("lightgbm")
        pytest.importorskip("pyarrow")
        names = ["train", "valid", "test"]
        parts = dict(zip(names, simulate(30, seed=1, mean_length=5).split_queries(0.4, 0.3, 0.3, seed=1), strict=True))
        weights = np.ones(len(parts[name].query_ids))
        weights[1] = weight
        parts[name] = replace(parts[name], weight=weights)
        with pytest.raises(ValueError, match=f"{name} has a weight"):
            gw.Experiment([gw.Candidate("m", "lightgbm")], *parts.values())


@pytest.mark.parametrize("top", [1e280, 2.0**960])
@pytest.mark.parametrize("metric", ["ndcg_linear", "ndcg_linear@2", "ndcg_jk", "rbp(gain=graded)", "map"])
@pytest.mark.parametrize("scores", [range(40), [0] * 40], ids=["ranked", "tied"])
def test_values_of_huge_labels_equal_those_of_labels_scaled_down(top, metric, scores):
    labels = np.array([top, top / 2, top / 4, 0] * 10)
    mean = gw.evaluate(metric, gw.Judgments(labels, group=[20, 20]), scores).mean
    assert np.isfinite(list(mean.values())).all()
    assert mean == gw.evaluate(metric, gw.Judgments(labels / 2.0**900, group=[20, 20]), scores).mean
