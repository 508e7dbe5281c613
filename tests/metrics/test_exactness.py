"""Numbers that are exact: label 0 is worth nothing, powers of two have whole logarithms, large runs do not overflow."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.metrics.one_query import value

import gainsay as gs
from gainsay.metrics.discounts import discounts
from gainsay.metrics.names import KNOWN_ELSEWHERE


@pytest.mark.parametrize("top", [960, 961, 1000, 5000])
@pytest.mark.parametrize("scores", [[1, 2], [1, 1]])
def test_a_document_of_label_0_adds_nothing_however_high_the_others(top, scores):
    """Where 2^l overflows, gains are scaled; the gain of label 0 is 0 nonetheless, not 2^-top."""
    assert value("ndcg_exp@1", [top, 0], scores) == (0.0 if scores == [1, 2] else 0.5)


@pytest.mark.parametrize("top", [959, 960, 961, 962])
def test_labels_about_the_largest_exponent_have_the_exact_ratio(top):
    """Gains g of label top and h of top - 1, discount d of rank 2: the worse first gives (h + d g) / (g + d h)."""
    d = Fraction(1 / math.log2(3))
    high, low = Fraction(2**top - 1), Fraction(2 ** (top - 1) - 1)
    expected = float((low + d * high) / (high + d * low))
    assert value("ndcg_exp", [top, top - 1], [1, 2]) == pytest.approx(expected, rel=1e-15, abs=0)


@pytest.mark.parametrize("power", range(1, 16))
def test_logarithms_of_powers_of_two_are_whole(power):
    ranks = 2**power
    assert discounts("log2", 2.0, ranks)[ranks - 2] == 1 / power
    assert discounts("jk", 2.0, ranks)[ranks - 1] == 1 / power


@pytest.mark.parametrize(("discount", "shift"), [("log2", 1), ("jk", 0)])
def test_binary_logarithms_are_as_good_as_those_of_the_c_library(discount, shift):
    expected = [1 / max(1.0, math.log2(rank + shift)) for rank in range(1, 5001)]
    np.testing.assert_allclose(discounts(discount, 2.0, 5000), expected, rtol=3e-16, atol=0)


@pytest.mark.parametrize("discount", ["log2", "log", "jk", "reciprocal", "none"])
def test_discounts_are_doubles(discount):
    assert discounts(discount, 3.0, 4).dtype == np.float64


OTHER_NAMES = {
    "average precision": ({"ap"}, "map"),
    "reciprocal rank": ({"rr", "recip_rank"}, "mrr"),
    "precision": ({"p", "pre"}, "precision"),
    "R-precision": ({"r_precision"}, "rprec"),
    "graded average precision": ({"graded_ap"}, "gap"),
    "success": ({"success", "hit_rate"}, "hit"),
    "NDCG of linear gain": ({"ndcg_cut", "ndcg_lin"}, "ndcg_linear"),
    "NDCG of exponential gain": ({"ndcg2", "ndcg_exponential", "ndcg_burges"}, "ndcg_exp"),
    "NDCG of 2002": ({"ndcg1"}, "ndcg_jk"),
}


def test_names_of_other_programs_lead_to_metrics_that_exist():
    """trec_eval's ndcg_cut has linear gain; the literature numbers Järvelin & Kekäläinen's first and Burges' second."""
    expected = {other: name for others, name in OTHER_NAMES.values() for other in others}
    assert expected == KNOWN_ELSEWHERE
    gs.parse_metrics(*set(expected.values()))


@pytest.mark.parametrize("gain", [3, 1.5, None, object])
def test_a_gain_that_is_no_gain(gain):
    with pytest.raises(TypeError, match="gain must be 'linear', 'exponential', 'power', a table"):
        gs.DCG(gain=gain)


@pytest.mark.parametrize("cutoff", [1, 7, 600, 1999])
def test_precision_per_hit_in_a_run_of_thousands(cutoff):
    """t documents of one score, r relevant, m places: given h hits, place i is one with h/m, after (i-1)(h-1)/(m-1)."""
    t, r, m = 2000, 700, cutoff
    total, expected = math.comb(t, m), Fraction(0)
    reciprocals = sum((Fraction(1, i) for i in range(1, m + 1)), Fraction(0))
    for h in range(max(1, m - (t - r)), min(m, r) + 1):
        others = Fraction(h - 1, m - 1) * (m - reciprocals) if m > 1 else 0
        expected += Fraction(math.comb(r, h) * math.comb(t - r, m - h), total) * (reciprocals + others) / m
    found = value(gs.AP(denominator="hits", k=m), [1] * r + [0] * (t - r), [0.0] * t)
    assert found == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("name", ["ndcg_exp(ties=worst)@5", "mrr@5", "err(max_label=4)@5", "rbp(p=0.5)@5"])
def test_a_metric_without_its_cutoff_is_otherwise_the_same(name):
    (metric,) = gs.parse_metrics(name)
    assert str(metric.without_cutoff()) == name.removesuffix("@5")
    assert metric.k == 5


def test_one_number_as_a_gain_is_a_table_of_one_entry():
    (metric,) = gs.parse_metrics("dcg(gain=7)@2")
    assert metric == gs.DCG(gain=(7.0,), k=2)
    with pytest.raises(ValueError, match="gain has no entry for label 1; it has entries for 0"):
        gs.evaluate([metric], gs.Judgments([0, 1], group=[2]), [1, 2])
