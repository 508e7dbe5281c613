"""Losses and other custom metrics in all results of a comparison.

The oracle of a loss is a gain with the opposite sign. All decisions must be the same to the last digit, and all numbers
in units of the metric must have the opposite sign.
"""

import numpy as np
import pandas as pd
import pytest
from tests.comparison.tables import leaderboard_table, pairs_table, verdict_of
from tests.custom_metrics import Halved

import gainwise as gw
from gainwise.data import simulate
from gainwise.report.plots import plot_curves

MODELS = ["m10", "m2", "other", "twin"]


def rank_found(labels, scores):
    """Rank of the first relevant document, or the number of documents plus one."""
    found = np.flatnonzero(labels[np.argsort(-scores, kind="stable")] >= 2)
    return found[0] + 1 if len(found) else len(labels) + 1


FOUND = gw.metric("rank_found", rank_found, higher_is_better=False)
TURNED = gw.metric("rank_found_turned", lambda labels, scores: -rank_found(labels, scores))
HALF = Halved(gain="exponential", k=10)


def drawn(seed, ties=False):
    """Values of two metrics with weights, queries that one metric skips, and two identical models."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(160, 1))
    first, second = (base + 0.4 * rng.normal(size=(160, 3)) + rng.normal(0, 0.08, 3) for _ in range(2))
    if ties:
        first, second = first.round(), second.round()
    first, second = (np.concatenate([values, values[:, :1]], axis=1) for values in (first, second))
    second[::9] = np.nan
    return first, second, rng.integers(0, 4, 160).astype(float)


def turned_columns(table, metric):
    """Return a table of pairs with the opposite signs for one metric."""
    table = table.copy()
    for prefix in ("", "common "):
        if f"{prefix}difference {metric}" in table:
            lower, upper = table[f"{prefix}lower {metric}"], table[f"{prefix}upper {metric}"]
            table[f"{prefix}difference {metric}"] *= -1
            table[f"{prefix}lower {metric}"], table[f"{prefix}upper {metric}"] = -upper, -lower
    return table


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("margin", [0.0, 0.1])
@pytest.mark.parametrize("ties", [False, True])
class TestMirror:
    def test_verdict(self, seed, margin, ties):
        first, second, weights = drawn(seed, ties)
        options = {"models": MODELS, "weights": weights, "margin": margin, "draws": 400, "names": ("x", "y")}
        loss = verdict_of(-first, second, losses=["x"], **options).to_dict()
        gain = verdict_of(first, second, **options).to_dict()
        assert loss.pop("lower_is_better") == ["x"]
        assert gain.pop("lower_is_better") == []
        assert loss.pop("text") != gain.pop("text")
        means = loss["means"].pop("x")
        assert {name: -mean for name, mean in means.items()} == gain["means"].pop("x")
        for verdict in (loss, gain):
            verdict["flags"] = [flag["code"] for flag in verdict["flags"]]
        assert loss == gain

    def test_leaderboard(self, seed, margin, ties):
        first, second, weights = drawn(seed, ties)
        ranges = {"x": (-3.5, np.inf)} if margin else {}
        gain = leaderboard_table({"x": first, "y": second}, MODELS, weights, draws=400, ranges=ranges)
        ranges = {"x": (-np.inf, 3.5)} if margin else {}
        loss = leaderboard_table({"x": -first, "y": second}, MODELS, weights, draws=400, ranges=ranges, losses=["x"])
        own = gain["metric"] == "x"
        lower, upper = gain.loc[own, "lower"].copy(), gain.loc[own, "upper"].copy()
        gain.loc[own, "mean"] *= -1
        gain.loc[own, "lower"], gain.loc[own, "upper"] = -upper, -lower
        pd.testing.assert_frame_equal(loss, gain, check_exact=True)
        assert (np.diff(loss.loc[own, "mean"]) >= -1e-12).all()

    def test_pairs(self, seed, margin, ties):
        first, second, weights = drawn(seed, ties)
        values = {"x": first, "y": second, "z": second[:, ::-1]}
        losses = {"x": -first, "y": second, "z": -second[:, ::-1]}
        found = pairs_table(losses, MODELS, weights, draws=400, losses=["x", "z"])
        expected = turned_columns(turned_columns(pairs_table(values, MODELS, weights, draws=400), "x"), "z")
        pd.testing.assert_frame_equal(found, expected, check_exact=True)


class TestDirectionOfValues:
    VALUES = np.random.default_rng(0).random((60, 2))

    def test_goes_by_the_name_of_a_loss(self):
        found = gw.Comparison({"rank_found": self.VALUES, "anything": self.VALUES}, ["a", "b"], draws=400)
        assert found.lower_is_better == ("rank_found",)
        assert found.winners["rank_found"] != found.winners["anything"]

    def test_goes_by_the_metric_of_an_unknown_name(self):
        found = gw.Comparison({"of old": self.VALUES, "mrr": self.VALUES}, ["a", "b"], metrics={"of old": FOUND})
        assert found.lower_is_better == ("of old",)


@pytest.fixture(scope="module")
def data():
    return simulate(150, seed=8, mean_length=18)


@pytest.fixture(scope="module")
def scores(data):
    rng = np.random.default_rng(3)
    noise = {"sharp": 1.0, "fair": 1.4, "vague": 2.5, "blind": 6.0}
    return {name: data.labels + rng.normal(size=len(data.labels)) * size for name, size in noise.items()}


@pytest.fixture(scope="module")
def loss(data, scores):
    return gw.compare(scores, data.judgments(), [FOUND, "ndcg_exp@10", "mrr"], draws=400)


@pytest.fixture(scope="module")
def gain(data, scores):
    return gw.compare(scores, data.judgments(), [TURNED, "ndcg_exp@10", "mrr"], draws=400)


class TestComparison:
    def test_means_are_those_of_numpy(self, data, scores, loss):
        ends = np.cumsum(data.group)
        for model, own in scores.items():
            per_query = [rank_found(data.labels[a:b], own[a:b]) for a, b in zip(ends - data.group, ends, strict=True)]
            assert loss.leaderboard.loc[model, "rank_found"] == pytest.approx(np.mean(per_query), rel=1e-14)
        means = loss.leaderboard["rank_found"]
        assert means.tolist() == sorted(means)
        assert loss.winners["rank_found"] == means.idxmin() != means.idxmax()

    def test_the_same_queries_contradict(self, loss, gain):
        one, other = loss.queries("sharp", "vague", 99), gain.queries("sharp", "vague", 99)
        assert len(one) > 3
        assert one["difference rank_found"].tolist() == (-other["difference rank_found_turned"]).tolist()
        shared = [name for name in one if "rank_found" not in name]
        pd.testing.assert_frame_equal(one[shared], other[shared], check_exact=True)
        assert (np.sign(one["difference rank_found"]) == np.sign(one["difference ndcg_exp@10"])).all()


class TestSplit:
    def test_a_metric_that_is_counted_half_has_one_number(self, data, scores):
        found = gw.compare(scores, data.judgments(), [HALF, "ndcg_exp@10"], draws=400)
        whole, half = found.leaderboard["ndcg_exp@10"], found.leaderboard["halved_exp@10"]
        np.testing.assert_allclose(half, whole / 2, rtol=1e-14)
        why = found.attribution("sharp", "vague")
        assert why.metrics == ("ndcg_exp@10",)
        cells = why.grades_by_ranks.loc["ndcg_exp@10"].to_numpy().sum()
        assert cells == pytest.approx(whole["sharp"] - whole["vague"], rel=1e-12)
        assert found.to_markdown()
        assert gw.compare(scores, data.judgments(), [HALF, "map"], draws=400).to_markdown()

    def test_a_gain_of_ones_own(self, data, scores):
        own = gw.NDCG(gain=(0, 1, 4, 9, 16), k=10)
        found = gw.compare(scores, data.judgments(), [own, "mrr"], draws=400)
        why = found.attribution("sharp", "vague")
        difference = found.leaderboard.loc["sharp", str(own)] - found.leaderboard.loc["vague", str(own)]
        assert why.difference[str(own)] == pytest.approx(difference, rel=1e-12)


class TestCurves:
    CURVES = pd.concat(
        pd.DataFrame({"candidate": "c", "round": [1, 2, 3, 4], "metric": metric, "value": value})
        for metric, value in {"ndcg": [0.1, 0.3, 0.2, 0.25], "rank": [4.0, 3.0, 2.0, 2.5]}.items()
    )

    def test_the_curve_of_a_loss_is_drawn_below_its_best(self):
        ax = plot_curves(self.CURVES, ("ndcg", "rank"), lower_is_better=["rank"]).ax
        line = next(line for line in ax.lines if line.get_label() == "rank")
        assert line.get_ydata().tolist() == [-2.0, -1.0, 0.0, -0.5]
        assert ax.get_ylabel() == "distance from its own best"
