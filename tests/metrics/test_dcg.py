"""DCG, NDCG and CG: worked values, huge and fractional and negative labels, gain tables."""

from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from tests.metrics.one_query import value

import gainsay as gs

getcontext().prec = 60

LOG3 = math.log2(3)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("dcg_linear", 3 + 1 / LOG3 + 2 / 2),
        ("dcg_exp", 7 + 1 / LOG3 + 3 / 2),
        ("dcg_jk", 3 + 1 + 2 / LOG3),
        ("dcg_exp@2", 7 + 1 / LOG3),
        ("ndcg_linear@2", (3 + 1 / LOG3) / (3 + 2 / LOG3)),  # the ideal is that of all documents
        ("ndcg_linear@9", (3 + 1 / LOG3 + 2 / 2) / (3 + 2 / LOG3 + 1 / 2)),
        ("cg@2", 3 + 1),
        ("cg_exp", 7 + 1 + 3),
    ],
)
def test_worked_values(metric, expected):
    assert value(metric, [3, 1, 2]) == pytest.approx(expected, rel=1e-15, abs=0)


def test_ties_share_the_mean_gain():
    assert value("dcg_exp", [3, 0, 1], [1, 1, 0]) == pytest.approx(7 / 2 + 7 / 2 / LOG3 + 1 / 2, rel=1e-15, abs=0)


def test_dcg_of_an_empty_query():
    assert value(gs.DCG(gain="linear", empty="skip"), [0, 0]) != value(gs.DCG(gain="linear"), [0, 0]) == 0


@pytest.mark.parametrize("ties", ["average", "order", "worst", "best"])
@pytest.mark.parametrize("k", [None, 1, 4])
@pytest.mark.parametrize("discount", ["log2", "jk", "reciprocal"])
def test_linear_equals_exponential_on_binary_labels(grouped, discount, k, ties):
    data = grouped(8, grades=2)
    linear, exponential = (gs.NDCG(gain=gain, discount=discount, k=k, ties=ties) for gain in ("linear", "exponential"))
    values = gs.evaluate([linear, exponential], data.judgments, data.scores).per_query
    assert np.array_equal(values[:, 0], values[:, 1])


def exact_ndcg_exp(labels, k=None):
    """NDCG with gain 2^l - 1, gains as fractions of integers and sums with 60 digits."""

    def dcg(ranking):
        return sum(
            (Decimal(2 ** int(label) - 1) * Decimal(2).ln() / Decimal(rank + 1).ln())
            for rank, label in enumerate(ranking[:k], start=1)
        )

    return float(dcg(labels) / dcg(sorted(labels, reverse=True)))


class TestHugeLabels:
    @pytest.mark.parametrize("top", [10, 31, 32, 53, 100, 959, 960, 961, 1000, 1023, 1024, 1075, 5000])
    @pytest.mark.parametrize("k", [None, 2])
    def test_ndcg_exp_is_finite_and_exact(self, top, k):
        labels = [top - 1, 0, top, 1, top - 3, 0, 2]
        metric = gs.NDCG(gain="exponential", k=k)
        assert value(metric, labels) == pytest.approx(exact_ndcg_exp(labels, k), rel=1e-14, abs=0)

    @pytest.mark.parametrize("top", [100, 960, 961, 5000])
    def test_ties(self, top):
        half = Fraction(1, 2)
        expected = float(half) * (1 + 1 / LOG3)  # labels 0 and top share both ranks; the ideal is 2^top - 1
        assert value("ndcg_exp", [0, top], [1, 1]) == pytest.approx(expected, rel=1e-15, abs=0)

    def test_documents_that_were_not_retrieved(self):
        assert value("ndcg_exp", [0, 2000, 2000], [2, 1, -np.inf]) == pytest.approx(
            (1 / LOG3) / (1 + 1 / LOG3), rel=1e-15, abs=0
        )

    def test_queries_of_low_labels_beside_one_of_huge_labels(self):
        judgments = gs.Judgments([1, 3, 0, 2000, 1999, 0, 0], group=[3, 2, 2])
        found = gs.evaluate("ndcg_exp", judgments, [3, 2, 1, 1, 2, 2, 1]).per_query[:, 0]
        low, huge = (1 + 7 / LOG3) / (7 + 1 / LOG3), (1 / 2 + 1 / LOG3) / (1 + 1 / 2 / LOG3)
        np.testing.assert_allclose(found, [low, huge, 0], rtol=1e-14)

    def test_fractions_beside_huge_labels_keep_full_precision(self):
        judgments = gs.Judgments([1e-9, 2e-9, 2000], group=[2, 1])
        found = gs.evaluate("ndcg_exp", judgments, [2, 1, 1]).per_query[0, 0]
        low, high = math.expm1(1e-9 * math.log(2)), math.expm1(2e-9 * math.log(2))
        assert found == pytest.approx((low + high / LOG3) / (high + low / LOG3), rel=1e-14, abs=0)

    def test_a_million_documents_of_the_largest_unscaled_label_do_not_overflow(self):
        labels = np.full(1_000_000, 960)
        assert value("ndcg_exp@100", labels, np.zeros(len(labels))) == pytest.approx(1, rel=1e-15, abs=0)

    def test_linear_gain(self):
        assert value("ndcg_linear", [0, 1e300]) == pytest.approx(1 / LOG3, rel=1e-15, abs=0)

    @pytest.mark.parametrize("name", ["dcg_exp", "cg_exp"])
    def test_no_ratio_overflows(self, name):
        with pytest.raises(ValueError, match=rf"{name} overflows: 2\^1000 - 1 .* take ndcg_exp"):
            value(name, [1000, 0])


@pytest.mark.parametrize(
    ("name", "low", "high", "rel"),
    [("ndcg_linear", 0.5, 1.5, 1e-15), ("ndcg_exp", math.sqrt(2) - 1, 2 * math.sqrt(2) - 1, 1e-14)],
)
def test_fractional_labels(name, low, high, rel):
    expected = (low + high / LOG3) / (high + low / LOG3)
    assert value(name, [0.5, 1.5]) == pytest.approx(expected, rel=rel, abs=0)


class TestNegativeLabels:
    def test_linear_gain_may_leave_0_and_1(self):
        expected = (-2 + 3 / LOG3) / (3 - 2 / LOG3)
        assert value("ndcg_linear", [-2, 3], negative_labels="allow") == pytest.approx(expected, rel=1e-14, abs=0)

    def test_query_whose_ideal_is_negative_is_empty(self):
        assert value(gs.NDCG(gain="linear", empty=1), [-2, 1, -9], negative_labels="allow") == 1.0

    def test_dcg_counts_them(self):
        assert value("dcg_linear", [-2, 1], negative_labels="allow") == pytest.approx(-2 + 1 / LOG3, rel=1e-15, abs=0)

    def test_exponential_gain_refuses_them(self):
        expected = r"ndcg_exp cannot take negative labels \(the lowest is -2\).*negative_labels='zero'"
        with pytest.raises(ValueError, match=expected):
            value("ndcg_exp", [-2, 1], negative_labels="allow")

    def test_zero_policy(self):
        assert value("ndcg_exp", [-2, 1, 3], negative_labels="zero") == value("ndcg_exp", [0, 1, 3])


class TestGainTables:
    @pytest.mark.parametrize(
        ("gain", "labels", "expected"),
        [
            ((0, 1, 10), [1, 2, 0], (1 + 10 / LOG3) / (10 + 1 / LOG3)),
            ({0: 0, 1.5: 4}, [0, 1.5], 1 / LOG3),
            ((5, 0, 3), [1, 2, 0], (3 / LOG3 + 5 / 2) / (5 + 3 / LOG3)),  # gains fall with the label
        ],
    )
    def test_by_hand(self, gain, labels, expected):
        assert value(gs.NDCG(gain=gain), labels) == pytest.approx(expected, rel=1e-15, abs=0)

    @pytest.mark.parametrize(
        ("gain", "labels"), [((5, 0, 3), [0, 2, 1]), ((1, 2), [0, 0]), ((0, 2, 2), [1, 2, 1, 2, 0])]
    )
    def test_the_best_order_gives_one(self, gain, labels):
        assert value(gs.NDCG(gain=gain), labels) == 1.0

    def test_table_of_powers_is_exponential_gain(self, grouped):
        data = grouped(4)
        metrics = [gs.NDCG(gain=[2**label - 1 for label in range(5)]), gs.NDCG(gain="exponential")]
        values = gs.evaluate(metrics, data.judgments, data.scores).per_query
        assert np.array_equal(values[:, 0], values[:, 1])

    def test_query_without_gain_is_empty(self):
        assert value(gs.NDCG(gain=(0, 0, 1), empty=1), [1, 0, 1]) == 1.0

    def test_table_of_the_caller_may_change_afterwards(self):
        table = [0, 1, 10]
        metric = gs.NDCG(gain=table)
        table[1] = 99
        assert metric.gain == (0.0, 1.0, 10.0)


class TestCumulatedGain:
    @pytest.mark.parametrize("k", [1, 3, None])
    def test_is_dcg_without_a_discount(self, grouped, k):
        data = grouped(4)
        metrics = [gs.CG(k=k), gs.DCG(gain="linear", discount="none", k=k)]
        values = gs.evaluate(metrics, data.judgments, data.scores).per_query
        assert np.array_equal(values[:, 0], values[:, 1])

    def test_takes_no_discount(self):
        with pytest.raises(ValueError, match="cumulated gain has no discount, got discount='log2'; take DCG"):
            gs.CG(discount="log2")


def test_gain_has_no_default():
    with pytest.raises(TypeError, match="gain"):
        gs.NDCG()
