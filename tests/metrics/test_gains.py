"""Gains and discounts: formulas, tables, mappings, and functions of the user."""

import itertools
import math
import pickle
from decimal import Decimal, getcontext
from functools import partial

import numpy as np
import pytest

import gainwise as gw
from gainwise.metrics.dcg import discounts, exponential, power

getcontext().prec = 60

LABELS = [3, 0, 2, 1, 4, 0, 2, 1, 1, 0]
SIZES = [5, 3, 2]
JUDGMENTS = gw.Judgments(LABELS, group=SIZES)
SCORES = [1, 2, 3, 3, 5, 4, 4, 0, 1, 2]


@pytest.mark.parametrize("discount", ["log2", "jk"])
def test_binary_gain_is_that_of_labels_0_and_1(discount):
    relevant = gw.Judgments(np.array(LABELS) > 0, group=SIZES)
    names = [f"{name}(gain={{}},discount={discount})@{k}" for name in ("ndcg", "dcg") for k in (1, 3, 10)]
    binary = gw.evaluate([name.format("binary") for name in names], JUDGMENTS, SCORES).per_query
    assert np.array_equal(binary, gw.evaluate([name.format("linear") for name in names], relevant, SCORES).per_query)


def burges(labels):
    return 2.0**labels - 1


def squared(labels):
    return labels**2


def peaked(labels):
    return np.where(labels == 1, 5.0, labels)


def shelves(ranks):
    """Four products per shelf. Each shelf is seen half as often as the one before."""
    return 0.5 ** ((ranks - 1) // 4)


def halving(ranks):
    return 0.5**ranks


def logarithmic(ranks):
    return 1 / np.log2(ranks + 1)


def per_query(*metrics):
    return gw.evaluate(metrics, JUDGMENTS, SCORES).per_query.T


class TestFormulas:
    @pytest.mark.parametrize("label", [1e-12, 1e-3, 0.25, 0.5, 0.999, 1.5, 3.3, 30.7])
    def test_exponential_gain_keeps_its_digits(self, label):
        expected = float(Decimal(2) ** Decimal(label) - 1)
        found = exponential(np.array([label, *range(54)]))
        assert found[0] == pytest.approx(expected, rel=1e-15, abs=0)
        assert found[1:].tolist() == [2**whole - 1 for whole in range(54)]

    @pytest.mark.parametrize("base", [1 + 2**-52, 1 + 1e-12, 1.001, 1.25, 1.5, 1.9999, 2.5, 4.0, 1e6])
    @pytest.mark.parametrize("label", [1e-6, 0.5, 1.5, 2.0, 4.0, 31.0])
    def test_power_gain_keeps_its_digits(self, base, label):
        expected = (Decimal(base) ** Decimal(label) - 1) / (Decimal(base) - 1)
        found = power(np.array([label, 0, 1]), base)
        assert found[0] == pytest.approx(float(expected), rel=4e-15, abs=0)
        assert found[1:].tolist() == [0, 1]

    @pytest.mark.parametrize("name", ["ndcg_power", "dcg_power"])
    @pytest.mark.parametrize(("base", "canonical"), [(1, "linear"), (2, "exp"), (np.float64(2), "exp")])
    def test_power_gains_of_base_1_and_2_go_by_their_names(self, name, base, canonical):
        (metric,) = gw.parse_metrics(f"{name}(gain_base={base},ties=worst)@5")
        (other,) = gw.parse_metrics(f"{name.replace('power', canonical)}(ties=worst)@5")
        assert (metric, hash(metric), str(metric)) == (other, hash(other), str(other))

    @pytest.mark.parametrize(
        ("name", "base", "formula"),
        [
            ("log2", 2, lambda r: 1 / math.log2(r + 1)),
            ("log", 10, lambda r: 1 / math.log10(r + 1)),
            ("log", math.e, lambda r: 1 / math.log(r + 1)),
            ("jk", 2, lambda r: 1 / max(1, math.log2(r))),
            ("jk", 10, lambda r: 1 / max(1, math.log10(r))),
            ("jk", 2.5, lambda r: 1 / max(1, math.log(r) / math.log(2.5))),
            ("reciprocal", 2, lambda r: 1 / r),
            ("none", 2, lambda r: 1),
        ],
    )
    def test_discounts(self, name, base, formula):
        found = discounts(name, base, 5000)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, [formula(r) for r in range(1, 5001)], rtol=3e-16 if base == 2 else 1e-15)
        assert np.array_equal(found[:37], discounts(name, base, 37))
        assert (np.diff(found) <= 0).all()

    def test_log2_is_the_logarithm_of_base_2(self):
        assert gw.NDCG(gain="linear", discount="log", base=2) == gw.NDCG(gain="linear")
        assert gw.NDCG(gain="linear", base=10) == gw.NDCG(gain="linear", discount="log", base=10)


@pytest.mark.parametrize("kind", [gw.NDCG, gw.DCG])
@pytest.mark.parametrize("k", [1, 3, None])
def test_built_in_gains_and_discounts_in_other_forms(kind, k):
    gains = (burges, (0, 1, 3, 7, 15), {4: 15, 3: 7, 2: 3, 1: 1, 0: 0, 9: -5})
    others = [kind(gain="exponential", discount=form, k=k) for form in (logarithmic, discounts("log2", 2, 5))]
    expected, *found = per_query(kind(gain="exponential", k=k), *(kind(gain=gain, k=k) for gain in gains), *others)
    assert all(np.array_equal(values, expected) for values in found)


class TestFunctions:
    @pytest.mark.parametrize("k", [1, 3, None])
    @pytest.mark.parametrize("gain", [squared, peaked])
    @pytest.mark.parametrize("discount", [shelves, halving, (1, 0.9, 0.9, 0.25, 0)])
    def test_against_all_orders(self, definitions, gain, discount, k):
        def gain_of(label):
            return float(gain(np.array([label]))[0])

        def discount_of(rank):
            return discount[rank - 1] if isinstance(discount, tuple) else float(discount(np.array([rank]))[0])

        ndcg = partial(definitions.ndcg, gain=gain_of, discount=discount_of)
        ends = np.cumsum([0, *SIZES])
        expected = [definitions.expectation(ndcg, LABELS[a:b], SCORES[a:b], k) for a, b in itertools.pairwise(ends)]
        np.testing.assert_allclose(per_query(gw.NDCG(gain=gain, discount=discount, k=k))[0], expected, rtol=1e-13)

    @pytest.mark.parametrize(
        ("metric", "name"),
        [
            (gw.NDCG(gain=squared, k=10), "ndcg(gain=squared)@10"),
            (gw.DCG(gain="linear", discount=shelves), "dcg_linear(discount=shelves)"),
            (gw.DCG(gain=squared, discount="none"), "dcg(gain=squared,discount=none)"),
            (gw.NDCG(gain="linear", discount=[1, 0.5, 0.25], k=3), "ndcg_linear(discount=1/0.5/0.25)@3"),
            (gw.NDCG(gain="exponential", discount=[1], k=1), "ndcg_exp(discount=1)@1"),
            (gw.NDCG(gain=lambda labels: labels * 3, name="tripled", k=5), "tripled@5"),
            (gw.NDCG(gain=squared, discount=shelves, name="shop", empty=1), "shop(empty=1)"),
            (gw.NDCG(gain="linear", discount=partial(np.power, 0.9), name="patient"), "patient"),
        ],
    )
    def test_names_read_back(self, metric, name):
        assert str(metric) == name
        assert gw.parse_metrics(name) == (metric,)
        assert hash(gw.parse_metrics(name)[0]) == hash(metric)
        if name not in ("tripled@5", "patient"):
            assert pickle.loads(pickle.dumps(metric)) == metric
