"""XGBoost's built-in ndcg, map and pre against ours under `convention="xgboost"`.

A Booster without trees evaluates the base margin of its matrix, in 32 bits, so any ranking can be given. `eval_set`
prints built-in metrics with 17 digits, so they compare in full.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import gainsay as gs

xgb = pytest.importorskip("xgboost")

CUTOFFS = (1, 2, 3, 5, 10, 32)
LINEAR = pytest.mark.skipif(xgb.__version__ < "3", reason="the built-in ndcg of XGBoost 2 does not know ndcg_exp_gain")


def matrix(labels, sizes, scores, weight=None):
    data = xgb.DMatrix(np.zeros((len(labels), 1)), labels, nthread=1)
    data.set_group(sizes)
    data.set_base_margin(np.asarray(scores, dtype=np.float32))
    if weight is not None:
        data.set_weight(weight)
    return data


def printed(data, names, **options):
    """The text in which a Booster without trees reports its metrics."""
    booster = xgb.Booster({"objective": "rank:ndcg", "eval_metric": names, "nthread": 1, **options}, [data])
    return booster.eval_set([(data, "data")])


def built_in(data, names, **options):
    """The values of XGBoost's metrics, by name."""
    text = printed(data, names, **options)
    return {name: float(value) for name, value in re.findall(r"\tdata-([^:]+):(\S+)", text)}


def ours(judgments, scores, names):
    """The values of ours; `-` behind a cutoff means, as for XGBoost, that empty queries count as 0."""
    read = [re.sub(r"(\w+)@(\d+)-$", r"\1(empty=0)@\2", name) for name in names]
    values = gs.evaluate(gs.parse_metrics(read, convention="xgboost"), judgments, scores).mean.values()
    return dict(zip(names, values, strict=True))


def named(*metrics, suffix=""):
    return [f"{metric}@{k}{suffix}" for metric in metrics for k in CUTOFFS]


def test_library_evaluates_exactly_the_scores_given(grouped):
    data = grouped(1)
    margins = matrix(data.labels, data.sizes, data.scores)
    predicted = xgb.Booster({"objective": "rank:ndcg"}, [margins]).predict(margins, output_margin=True)
    assert np.array_equal(predicted, data.scores.astype(np.float32))


def test_library_prints_all_digits(grouped):
    data = grouped(1)
    text = printed(matrix(data.labels, data.sizes, data.scores), ["ndcg@5"])
    assert len(text.rpartition(".")[2]) >= 15


@pytest.mark.parametrize("exponential", [True, pytest.param(False, marks=LINEAR)], ids=["exponential", "linear"])
@pytest.mark.parametrize("suffix", ["", "-"], ids=["empty is 1", "empty is 0"])
@pytest.mark.parametrize("seed", range(4))
def test_ndcg(grouped, seed, suffix, exponential):
    data = grouped(seed)
    expected = built_in(
        matrix(data.labels, data.sizes, data.scores), named("ndcg", suffix=suffix), ndcg_exp_gain=exponential
    )
    gain = "ndcg_exp" if exponential else "ndcg_linear"
    found = ours(data.judgments, data.scores, named(gain, suffix=suffix))
    assert list(found.values()) == pytest.approx(list(expected.values()), rel=1e-12, abs=0)


@pytest.mark.parametrize("suffix", ["", "-"], ids=["empty is 1", "empty is 0"])
@pytest.mark.parametrize("seed", range(4))
def test_map_and_pre(grouped, seed, suffix):
    data = grouped(seed, grades=2)
    expected = built_in(matrix(data.labels, data.sizes, data.scores), named("map", "pre", suffix=suffix))
    found = ours(data.judgments, data.scores, named("map", "precision", suffix=suffix))
    assert list(found.values()) == pytest.approx(list(expected.values()), rel=1e-12, abs=0)


def test_each_query_alone(grouped):
    data = grouped(33, queries=40, grades=2)
    metrics = gs.parse_metrics(named("ndcg", "map", "precision"), convention="xgboost")
    per_query = gs.evaluate(metrics, data.judgments, data.scores).per_query
    expected = [
        list(built_in(matrix(labels, [len(labels)], scores), named("ndcg", "map", "pre")).values())
        for labels, scores in data.queries()
    ]
    np.testing.assert_allclose(per_query, expected, rtol=1e-12)


def test_scores_that_only_64_bits_tell_apart_are_ties(grouped):
    data = grouped(9)
    rng = np.random.default_rng(9)
    scores = np.where(rng.random(len(data.scores)) < 0.5, data.scores, np.nextafter(data.scores, 9))
    expected = built_in(matrix(data.labels, data.sizes, scores), named("ndcg"))
    assert ours(data.judgments, scores, named("ndcg")) == pytest.approx(expected, rel=1e-12, abs=0)


def test_labels_up_to_31(grouped):
    data = grouped(3, grades=32)
    expected = built_in(matrix(data.labels, data.sizes, data.scores), named("ndcg"))
    assert ours(data.judgments, data.scores, named("ndcg")) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("seed", range(4))
def test_query_weights(grouped, seed):
    data = grouped(seed + 100, grades=2, every_nth_empty=None)
    data.labels[np.cumsum(data.sizes) - 1] = 1  # no empty query, where the library slips
    weight = np.random.default_rng(seed).uniform(0.1, 3, len(data.sizes))
    expected = built_in(matrix(data.labels, data.sizes, data.scores, weight), named("ndcg", "map", "pre"))
    judgments = gs.Judgments(data.labels, group=data.sizes, weight=weight)
    found = ours(judgments, data.scores, named("ndcg", "map", "precision"))
    assert list(found.values()) == pytest.approx(list(expected.values()), rel=1e-12, abs=0)


@pytest.mark.parametrize("name", ["ndcg", "map", "pre"])
def test_without_a_cutoff_the_library_cuts_at_32(name):
    labels = np.zeros(40)
    labels[[0, 35]] = 1
    scores = -np.arange(40.0)
    values = built_in(matrix(labels, [40], scores), [name, f"{name}@32", f"{name}@40"])
    assert values[name] == values[f"{name}@32"] != values[f"{name}@40"]
    (metric,) = gs.parse_metrics({"pre": "precision"}.get(name, name), convention="xgboost")
    found = gs.evaluate(metric, gs.Judgments(labels, group=[40]), scores).mean[str(metric)]
    assert found == pytest.approx(values[name], rel=1e-12, abs=0)


class TestWeightOfEmptyQueries:
    """Weights 0.25 and 2: one query ranked 0 1, one without relevant documents, which counts as 1."""

    labels, sizes, scores, weight = [0.0, 1.0, 0.0, 0.0], [2, 2], [2.0, 1.0, 2.0, 1.0], [0.25, 2.0]
    worst_order = 1 / np.log2(3)

    def test_ours_is_the_weighted_mean(self):
        judgments = gs.Judgments(self.labels, group=self.sizes, weight=self.weight)
        found = ours(judgments, self.scores, ["ndcg@2"])["ndcg@2"]
        assert found == pytest.approx((0.25 * self.worst_order + 2 * 1) / (0.25 + 2), rel=1e-15, abs=0)

    def test_the_library_adds_one_instead_of_the_weight(self):
        found = built_in(matrix(self.labels, self.sizes, self.scores, self.weight), ["ndcg@2"])["ndcg@2"]
        assert found == pytest.approx((0.25 * self.worst_order + 1) / (0.25 + 2), rel=1e-12, abs=0)

    def test_the_library_aborts_where_that_exceeds_one(self):
        data = matrix(self.labels, self.sizes, self.scores, [0.1, 0.2])
        with pytest.raises(xgb.core.XGBoostError, match="Invalid output score"):
            printed(data, ["ndcg@2"])
