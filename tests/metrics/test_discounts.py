"""Discounts by rank, and the identities between them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gainsay as gs
from gainsay.metrics.discounts import NAMED, discounts

RANKS = range(1, 21)


@pytest.mark.parametrize(
    ("name", "base", "formula"),
    [
        ("log2", 2, lambda r: 1 / math.log2(r + 1)),
        ("log", 10, lambda r: 1 / math.log10(r + 1)),
        ("log", math.e, lambda r: 1 / math.log(r + 1)),
        ("jk", 2, lambda r: 1 / max(1, math.log2(r))),
        ("jk", 10, lambda r: 1 / max(1, math.log10(r))),
        ("reciprocal", 2, lambda r: 1 / r),
        ("none", 2, lambda r: 1),
    ],
)
def test_formulas(name, base, formula):
    np.testing.assert_allclose(discounts(name, base, 20), [formula(r) for r in RANKS], rtol=1e-15)


@pytest.mark.parametrize("base", [2, 3, 10, 2.5])
def test_jk_does_not_discount_ranks_up_to_the_base(base):
    undiscounted = math.floor(base)
    assert discounts("jk", base, undiscounted).tolist() == [1] * undiscounted


@pytest.mark.parametrize("base", [2, 3, 10, 2.5])
def test_jk_discounts_ranks_beyond_the_base(base):
    assert (discounts("jk", base, 30)[math.floor(base) :] < 1).all()


@pytest.mark.parametrize("name", NAMED)
def test_deeper_ranks_are_never_worth_more(name):
    assert (np.diff(discounts(name, 2, 1000)) <= 0).all()


@pytest.mark.parametrize("name", NAMED)
def test_first_ranks_do_not_depend_on_the_depth(name):
    assert np.array_equal(discounts(name, 2, 1000)[:37], discounts(name, 2, 37))


class TestBaseOfTheLogarithm:
    judgments = gs.Judgments([3, 2, 0, 1, 4, 0, 2], group=[7])
    scores = (7, 6, 5, 4, 3, 2, 1)

    def value(self, metric):
        return gs.evaluate([metric], self.judgments, self.scores).per_query[0, 0]

    @pytest.mark.parametrize("base", [1.5, 3, 10, math.e])
    @pytest.mark.parametrize("gain", ["linear", "exponential"])
    def test_cancels_in_ndcg_with_log(self, gain, base):
        found = self.value(gs.NDCG(gain=gain, discount="log", base=base))
        assert found == pytest.approx(self.value(gs.NDCG(gain=gain)), rel=1e-14, abs=0)

    def test_does_not_cancel_in_dcg(self):
        found = self.value(gs.DCG(gain="linear", discount="log", base=10))
        assert found == pytest.approx(self.value(gs.DCG(gain="linear")) * math.log2(10), rel=1e-14, abs=0)

    def test_does_not_cancel_in_ndcg_with_jk(self):
        found = self.value(gs.NDCG(gain="linear", discount="jk", base=10))
        assert abs(found - self.value(gs.NDCG(gain="linear", discount="jk"))) > 0.01

    def test_log_to_base_2_is_log2(self):
        assert gs.NDCG(gain="linear", discount="log", base=2) == gs.NDCG(gain="linear")

    def test_log2_to_another_base_is_log(self):
        assert gs.NDCG(gain="linear", base=10) == gs.NDCG(gain="linear", discount="log", base=10)


class TestErrors:
    @pytest.mark.parametrize("discount", ["reciprocal", "none"])
    def test_base_without_a_logarithm(self, discount):
        with pytest.raises(ValueError, match=f"base=3 has no meaning for discount='{discount}'"):
            gs.DCG(gain="linear", discount=discount, base=3)

    @pytest.mark.parametrize("base", [0.5, 0, -2, np.nan])
    def test_base_below_one(self, base):
        with pytest.raises(ValueError, match="base must be at least 1"):
            gs.DCG(gain="linear", base=base)

    def test_infinite_base(self):
        with pytest.raises(ValueError, match="base must be finite"):
            gs.parse_metrics("ndcg_linear(base=inf)@5")

    def test_base_one(self):
        with pytest.raises(ValueError, match="base must be above 1"):
            gs.DCG(gain="linear", base=1)

    def test_unknown_discount(self):
        with pytest.raises(ValueError, match=r"discount must be one of .* did you mean 'reciprocal'"):
            gs.DCG(gain="linear", discount="reciprocl")
