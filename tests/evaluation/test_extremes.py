"""Weights and labels at both ends of the range of floats: right means, or a refusal."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gainsay as gs
from gainsay.data import simulate
from gainsay.experiment.choices import paired_loss
from gainsay.judgments import scaled_weights
from gainsay.training.bound import Panel
from gainsay.training.parts import Part, rounded

METRICS = ["mrr", "ndcg_linear", "ndcg_exp"]
SCORES = [2, 1, 1, 2, 2, 1]
"""Of three queries of two documents, of which the first is relevant: reciprocal ranks 1, 1/2, 1."""


def judged(weight):
    return gs.Judgments([1, 0] * 3, group=[2] * 3, weight=weight)


def exact_mean(weights, values):
    """The weighted mean in fractions, rounded once."""
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
    def test_the_mean_is_right(self, weight):
        per_query = [1, 1 / 2, 1]
        found = gs.evaluate("mrr", judged(weight), SCORES).mean["mrr"]
        assert found == pytest.approx(exact_mean(weight, per_query), rel=1e-15)
        by_document = gs.evaluate("mrr", judged(np.repeat(weight, 2)), SCORES).mean["mrr"]
        assert by_document == pytest.approx(exact_mean(weight, per_query), rel=1e-15)

    @given(
        st.lists(st.floats(0, 1.7e308), min_size=3, max_size=3).filter(any),
        st.lists(st.sampled_from([0.0, 5e-324, 1e-310, 1.0, 1e308]), min_size=3, max_size=3).filter(any),
    )
    def test_any_weights(self, one, other):
        for weight in (one, other):
            found = gs.evaluate("mrr", judged(weight), SCORES).mean["mrr"]
            assert found == pytest.approx(exact_mean(weight, [1, 1 / 2, 1]), rel=1e-14)

    @given(st.lists(st.floats(1e-30, 1e30), min_size=1, max_size=50), st.integers(0, 2**32))
    def test_ordinary_means_do_not_change_by_a_bit(self, weight, seed):
        values = np.random.default_rng(seed).random(len(weight))
        plain = np.array(weight)
        scaled, exponent = scaled_weights(plain)
        assert 0.5 <= scaled.max() < 1
        assert np.array_equal(np.ldexp(scaled, exponent), plain)
        assert (scaled * values).sum() / scaled.sum() == (plain * values).sum() / plain.sum()

    def test_means_of_documents_that_are_no_float(self):
        with pytest.raises(
            ValueError, match=r"weight is 4.9.*e-324 at most: .* multiply all weights by a power of two"
        ):
            judged([5e-324, 0, 5e-324, 5e-324, 0, 0])

    @pytest.mark.parametrize("weight", [[1e39, 1, 1], [1e-46, 1e-46, 0]])
    @pytest.mark.parametrize("mode", ["float32", "float32_mean"])
    def test_beyond_32_bits(self, weight, mode):
        with pytest.raises(ValueError, match=r"weight goes up to .*, which is beyond the 32-bit floats"):
            gs.evaluate(f"ndcg_exp(weights={mode})", judged(weight), SCORES).mean  # noqa: B018

    def test_sums_over_documents_beyond_32_bits(self):
        with pytest.raises(ValueError, match="beyond the 32-bit floats"):
            gs.evaluate("ndcg_exp(weights=float32_mean)", judged([3e38, 3e38, 1, 1, 1, 1]), SCORES).mean  # noqa: B018

    @pytest.mark.parametrize("weight", [[1e308, 1e308, 1], [5e-324, 5e-324, 0]])
    def test_parts_of_all_data(self, weight):
        labels, group = [1, 0] * 3, [2] * 3
        panel = Panel("mrr", None, "refuse", 1)
        whole = Part(panel, labels, group=group, weight=weight, whole=True).sums(SCORES)
        assert whole[0, 0] / whole[0, 1] == pytest.approx(exact_mean(weight, [1, 1 / 2, 1]), rel=1e-15)
        some = Part(panel, labels, group=group, weight=weight)
        with pytest.raises(ValueError, match=r"weight goes up to .*: sums over several parts of the data need weights"):
            some.exact_sums(SCORES)

    def test_parts_with_ordinary_weights_add_up_as_they_are(self):
        part = Part(Panel("mrr", None, "refuse", 1), [1, 0] * 3, group=[2] * 3, weight=[3.0, 6.0, 0.5])
        assert rounded(part.exact_sums(SCORES)).tolist() == [[3 + 3 + 0.5, 9.5]]

    @pytest.mark.parametrize("factor", [2.0**1000, 2.0**-1000])
    def test_comparisons_see_ratios_only(self, factor):
        rng = np.random.default_rng(0)
        labels, weight = rng.integers(0, 3, 400), rng.integers(1, 9, 40).astype(float)
        models = {"one": rng.normal(size=400), "other": rng.normal(size=400)}

        def compared(weight):
            return gs.compare(models, gs.Judgments(labels, group=[10] * 40, weight=weight), draws=1000)

        plain, scaled = compared(weight), compared(weight * factor)
        assert scaled.leaderboard.equals(plain.leaderboard)
        assert scaled.verdict.to_dict() == plain.verdict.to_dict()
        assert scaled.queries("one", "other")["pull"].equals(plain.queries("one", "other")["pull"])

    @pytest.mark.parametrize("factor", [2.0**1020, 2.0**-1060])
    def test_losses_see_ratios_only(self, factor):
        difference, weights = np.array([0.1, -0.2, 0.3, 0.05]), np.array([1.0, 2.0, 3.0, 4.0])
        assert paired_loss(difference, weights * factor, 0.05) == paired_loss(difference, weights, 0.05)

    @pytest.mark.parametrize("weight", [1e39, 1e-45, 5e-324, 1e308])
    @pytest.mark.parametrize("part", [0, 1, 2])
    def test_experiments_refuse_what_the_libraries_cannot_keep(self, weight, part):
        pytest.importorskip("lightgbm")
        pytest.importorskip("pyarrow")
        parts = list(simulate(30, seed=1, mean_length=5).split_queries(0.4, 0.3, 0.3, seed=1))
        weights = np.ones(len(parts[part].query_ids))
        weights[1] = weight
        parts[part] = replace(parts[part], weight=weights)
        name = ("train", "valid", "test")[part]
        with pytest.raises(
            ValueError, match=f"{name} has a weight of .*, and LightGBM and XGBoost keep weights as 32-bit"
        ):
            gs.Experiment([gs.Candidate("m", "lightgbm")], *parts)


class TestLabels:
    @pytest.mark.parametrize("top", [1e308, 1.7e308, 2.0**1023])
    @pytest.mark.parametrize(
        "metric", ["ndcg_linear", "ndcg_linear@2", "ndcg_jk", "rbp(gain=graded)", "ndcg_exp", "map"]
    )
    @pytest.mark.parametrize("scores", [range(40), [0] * 40], ids=["ranked", "tied"])
    def test_ratios_are_those_of_labels_scaled_down(self, top, metric, scores):
        labels = np.array([top, top / 2, top / 4, 0] * 10)
        found = gs.evaluate(metric, gs.Judgments(labels, group=[20, 20]), scores).mean
        scaled = labels if metric == "ndcg_exp" else labels / 2.0**1000
        assert np.isfinite(list(found.values())).all()
        if metric != "ndcg_exp":
            assert found == gs.evaluate(metric, gs.Judgments(scaled, group=[20, 20]), scores).mean

    @pytest.mark.parametrize("metric", ["dcg_linear", "cg", "dcg_jk@1"])
    def test_sums_that_would_overflow(self, metric):
        with pytest.raises(ValueError, match=r"overflows: a gain of 1e.308 is too large to be summed"):
            gs.evaluate(metric, gs.Judgments([1e308, 1e308], group=[2]), [1, 2])

    def test_huge_beside_tiny(self):
        with pytest.raises(ValueError, match=r"ndcg_linear cannot sum gains of 1e.308 and of 1e-310"):
            gs.evaluate("ndcg_linear", gs.Judgments([1e308, 1e-310], group=[2]), [1, 2])

    def test_small_labels_beside_huge_ones_keep_their_ratio(self):
        labels = [1e308, 0, 1, 2, 0]
        found = gs.evaluate("ndcg_linear", gs.Judgments(labels, group=[2, 3]), [1, 2, 3, 2, 1]).per_query
        assert found[1] == gs.evaluate("ndcg_linear", gs.Judgments([1, 2, 0], group=[3]), [3, 2, 1]).per_query[0]

    def test_tables_of_gains(self):
        gain = {0: 0, 1: 1e308, 2: 1.5e308}
        found = gs.evaluate(gs.NDCG(gain=gain), gs.Judgments([1, 2, 2], group=[3]), [3, 2, 1]).mean
        small = gs.evaluate(gs.NDCG(gain={0: 0, 1: 1, 2: 1.5}), gs.Judgments([1, 2, 2], group=[3]), [3, 2, 1]).mean
        assert list(found.values()) == pytest.approx(list(small.values()), rel=1e-15)
