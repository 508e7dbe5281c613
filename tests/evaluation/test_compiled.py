"""The compiled core compared with NumPy, bit by bit, and metrics that only NumPy evaluates."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.core import assert_same_bits, in_core, in_numpy

import gainwise as gw
from gainwise._kernel import config
from gainwise.ranking import compiled

pytestmark = pytest.mark.skipif(compiled.core() is None, reason="there is no compiled core")

INF = np.inf
IN_CORE = ["ndcg_linear", "ndcg_exp", "ndcg_power(gain_base=1.5)", "ndcg_jk", "ndcg_linear(discount=reciprocal)",
           "ndcg_exp(empty=skip)", "dcg_exp", "dcg_linear", "cg", "map", "map(denominator=R,empty=1)",
           "map(min_label=2)", "mrr", "mrr(min_label=3)", "precision", "precision(denominator=min_k_n)", "recall",
           "rbp", "rbp(p=0.5)", "rbp(gain=graded)"]  # fmt: skip
WITH_CUTOFF = ["hit", "hit(min_label=2)"]
IN_NUMPY = ["rprec", "err(max_label=3)", "map(ties=order,denominator=hits)", "hit"]
TIES = ("average", "order", "worst", "best")


SCORES = {
    "normal": lambda rng, size: rng.normal(size=size),
    "one decimal": lambda rng, size: rng.normal(size=size).round(1),
    "all equal": lambda rng, size: np.zeros(size) * rng.choice([-1.0, 1.0], size),  # includes -0.0
    "last bits": lambda rng, size: rng.choice([1.0, -3.0], size) * (1 + rng.integers(0, 3, size) * 2.0**-52),
    "far apart": lambda rng, size: rng.choice([1e308, -1e308, 5e-324, -5e-324, 0.0, INF], size),
}


@st.composite
def cases(draw):
    """Metrics, judgments and scores."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    longest = draw(st.sampled_from([1, 3, 10, 40, 130, 300, 1_500]))
    sizes = rng.integers(0, longest + 1, draw(st.integers(1, max(1, min(40, 4_000 // longest)))))
    sizes[rng.integers(len(sizes))] = longest
    documents = int(sizes.sum())
    levels = draw(st.sampled_from([1, 2, 5, 200, 100_000]))  # codes of one, two and four bytes
    labels = rng.integers(0, levels, documents) + (levels == 1)
    ladder = np.arange(levels) if levels > 200 and draw(st.booleans()) else np.zeros(0)
    sizes, labels = np.append(sizes, len(ladder)), np.append(labels, ladder)
    scores = draw(st.sampled_from(list(SCORES.values())))(rng, len(labels))
    scores[rng.random(len(scores)) < draw(st.sampled_from([0.0, 0.2, 1.0]))] = -INF
    with np.errstate(over="ignore"):
        scores = scores.astype(draw(st.sampled_from([np.float64, np.float32])))
    cutoffs = st.lists(st.sampled_from([1, 3, 7, 20, 400, None]), min_size=1, max_size=3, unique=True)
    metrics = []
    for name in draw(st.lists(st.sampled_from([*IN_CORE, *WITH_CUTOFF]), min_size=1, max_size=3, unique=True)):
        if "exp" in name or "power" in name:
            labels = np.minimum(labels, 60)  # Gains above 2^960 are rejected.
        metrics += [replace(metric, k=k) for metric in gw.parse_metrics(name) for k in draw(cutoffs)
                    if k is not None or name not in WITH_CUTOFF]  # fmt: skip
    options = {"ties": draw(st.sampled_from(TIES)), "scores": draw(st.sampled_from(["float64", "float32"]))}
    metrics = [replace(metric, **options) for metric in metrics] or list(gw.parse_metrics("mrr"))
    return metrics, gw.Judgments(labels, group=sizes), scores


def assert_core_equals_numpy(metrics, judgments, scores, threads=2):
    expected = in_numpy(metrics, judgments, scores)
    assert_same_bits(metrics, in_core(metrics, judgments, scores, threads), expected)


class TestSameBits:
    @settings(max_examples=80, deadline=None)
    @given(case=cases(), threads=st.sampled_from([1, 2, 5]))
    def test_any_metrics_and_scores(self, case, threads):
        assert_core_equals_numpy(*case, threads)

    def test_negative_labels(self):
        rng = np.random.default_rng(1)
        labels = np.minimum(rng.integers(-2, 3, 900), np.arange(900) % 300 // 9)  # Some queries have no positive label.
        judgments = gw.Judgments(labels, group=[9] * 100, negative_labels="allow")
        metrics = gw.parse_metrics("ndcg_linear@3", "ndcg_linear", "dcg_linear@5", "cg", "map")
        assert_core_equals_numpy(metrics, judgments, rng.integers(0, 5, 900).astype(float))

    def test_together_with_metrics_outside_the_core(self):
        rng = np.random.default_rng(3)
        judgments = gw.Judgments(rng.integers(0, 3, 3_000), group=[30] * 100)
        metrics = gw.parse_metrics("rprec", "ndcg_exp@3", "err(max_label=2)@5", "map", "mrr")
        scores = rng.normal(size=3_000).round(1)
        found = gw.evaluate(metrics, judgments, scores).per_query
        assert_same_bits(metrics, found, in_numpy(metrics, judgments, scores))


class TestOutsideTheCore:
    judgments = gw.Judgments([2, 0, 1, 0, 3, 1], group=[3, 3])
    scores = (1.0, 1.0, 2.0, 3.0, 2.0, 2.0)

    @pytest.mark.parametrize("name", IN_NUMPY)
    def test_metrics_without_a_formula(self, name):
        with pytest.raises(AssertionError, match="not in the core"):
            in_core([name], self.judgments, self.scores, 1)

    def test_precision_of_a_query_without_judged_documents(self, monkeypatch):
        monkeypatch.setattr(compiled, "core", lambda: None)
        judgments = gw.Judgments([np.nan, 1, 0], group=[1, 2], judged=[False, True, True])
        found = gw.evaluate("precision(denominator=min_k_n)@3", judgments, [3, 2, 1]).per_query
        np.testing.assert_array_equal(found, [[np.nan], [0.5]])

    def test_a_tie_at_the_end_next_to_a_longer_tie_of_another_query(self):
        judgments = gw.Judgments([0, 0, 0, 1] * 2, group=[4, 4])
        expected = [(1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, (1 / 2 + 1 / 3 + 1 / 4) / 3]
        found = in_numpy(gw.parse_metrics("mrr"), judgments, np.array([1.0] * 4 + [9.0, 1.0, 1.0, 1.0]))
        assert found[:, 0].tolist() == pytest.approx(expected, rel=1e-15)

    def test_custom_statistics_of_labels(self):
        class Strict(gw.RR):
            names = {"strict_outside_the_core": {}}

            def bind(self, judgments, cutoffs):
                return replace(super().bind(judgments, cutoffs), code=3)

        found = gw.evaluate([Strict(), gw.RR(min_label=3)], self.judgments, self.scores).per_query
        assert found[:, 0].tolist() == pytest.approx([0.0, 5 / 12])  # at rank 2 or 3 of three

    def test_too_many_labels_and_documents_for_a_key(self):
        with mock.patch.object(compiled, "MAX_KEY_BITS", 3):
            assert not compiled.can_rank(self.judgments.layout)
        assert compiled.can_rank(self.judgments.layout)


class TestSort:
    def test_numpys_sort_is_found(self):
        assert config.sort_addresses.__wrapped__()

    def test_a_function_that_does_not_sort_is_rejected(self):
        for dtype in (np.dtype(np.uint64), np.dtype(np.uint32)):
            assert not config._sorts(lambda numbers, length, array: 0, dtype)
