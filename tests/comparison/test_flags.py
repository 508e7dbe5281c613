"""The reservations of a verdict, word for word, at the numbers where they begin and end."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from gainsay._common.words import listed
from gainsay.comparison.estimates import estimate
from gainsay.comparison.flags import LOPSIDED, Flag, lopsidedness, may_be_lopsided
from gainsay.comparison.inputs import Panel
from gainsay.comparison.verdict import Verdict


def flags_of(linear, exponential, **options):
    """Flags by code."""
    return {flag.code: flag for flag in Verdict.from_values(linear, exponential, draws=200, **options).flags}


def distinct(queries, models, seed=0):
    """Values of models that differ on every query, no two means alike."""
    return np.random.default_rng(seed).random((queries, models)) + np.arange(models)


@pytest.mark.parametrize(
    ("names", "options", "expected"),
    [
        (["a"], {}, "a"),
        (["a", "b"], {}, "a and b"),
        (["a", "b", "c"], {}, "a, b and c"),
        (["a", "b"], {"word": "or"}, "a or b"),
        (list("abcdef"), {}, "a, b, c, d, e and f"),
        (list("abcdefg"), {}, "a, b, c, d, e, f and 1 more"),
        (list("abc"), {"most": 3}, "a, b and c"),
        (list("abcd"), {"most": 2, "word": "or"}, "a, b or 2 more"),
    ],
)
def test_lists_in_words(names, options, expected):
    assert listed(names, **options) == listed(tuple(names), **options) == expected


def test_a_flag_prints_its_message():
    assert str(Flag("code", "What is meant.", ("a",))) == "What is meant."


def test_a_flag_as_a_dict():
    flag = Flag("thin pairs", "What is meant.", ("a", "b"), (("a", "b"),))
    assert flag.to_dict() == {
        "code": "thin pairs",
        "message": "What is meant.",
        "models": ["a", "b"],
        "pairs": [["a", "b"]],
    }


def test_one_model():
    found = flags_of(distinct(1, 1), distinct(1, 1), models=["only"])
    assert found == {"one model": Flag("one model", "There is one model only, so nothing is compared.", ("only",))}


@pytest.mark.parametrize(
    ("queries", "size"), [(1, "1 query"), (2, "2 queries"), (29, "29 queries"), (30, None), (31, None)]
)
def test_few_queries_are_less_than_thirty(queries, size):
    flag = flags_of(distinct(queries, 2), distinct(queries, 2, seed=1)).get("few queries")
    says = f"There is evidence from {size} only: below 30 nothing is decided."
    assert flag == (None if size is None else Flag("few queries", says))


HEAVY = (
    "The heaviest 1 % of the queries carry {} % of the weight, and all {} are worth about {}: of heavy queries that "
    "the sample misses no number here knows. Better sample queries by their traffic and let each weigh 1."
)


def test_uneven_weights_are_worth_less_than_half_their_queries():
    """Of n weights, c of them 1 and the others near 0, (Σw)²/Σw² is c."""
    values = distinct(100, 2), distinct(100, 2, seed=1)
    for counting, expected in ((49, True), (51, False)):
        weights = np.where(np.arange(100) < counting, 1.0, 1e-9)
        flag = flags_of(*values, weights=weights).get("uneven weights")
        assert flag == (Flag("uneven weights", HEAVY.format(2, 100, counting)) if expected else None)


@pytest.mark.parametrize(("share", "flagged"), [(0.099, False), (0.101, True)])
def test_weights_are_heavy_where_a_hundredth_carries_a_tenth(share, flagged):
    """Twelve of 1,200 queries carry that share of the weight; together they are worth far more than half of 1,200."""
    values = distinct(1200, 2), distinct(1200, 2, seed=1)
    weights = np.where(np.arange(1200) % 100 == 7, share / 12, (1 - share) / 1188)
    worth = 1 / (share**2 / 12 + (1 - share) ** 2 / 1188)
    assert worth > 600
    flag = flags_of(*values, weights=weights).get("uneven weights")
    assert flag == (Flag("uneven weights", HEAVY.format(10, "1,200", f"{worth:,.0f}")) if flagged else None)


def test_the_heaviest_hundredth_of_few_queries_is_a_part_of_one():
    """Half of the heaviest of 50, which has 15 % of the weight: with the whole of it this would be flagged."""
    values = distinct(50, 2), distinct(50, 2, seed=1)
    assert "uneven weights" not in flags_of(*values, weights=np.r_[0.15, np.full(49, 0.85 / 49)])


def test_tied_winners_are_named_for_the_metric_they_tie_under():
    one = distinct(40, 3)
    one[:, 1] = one[::-1, 2]
    found = flags_of(one, distinct(40, 3, seed=1), models=["a", "b", "c"], metric_names=["x", "y"])
    says = "b and c share the highest mean x; b stands for them, by name."
    assert found["tied winners"] == Flag("tied winners", says, ("b", "c"))


@pytest.mark.parametrize(
    ("models", "named"),
    [
        (2, "model 1 and model 2"),
        (3, "model 1 and model 2, model 1 and model 3 as well as model 2 and model 3"),
        (4, "6 of 6 pairs of models"),
    ],
)
def test_more_than_three_pairs_are_counted_and_fewer_named(models, named):
    same = np.repeat(distinct(40, 1), models, axis=1)
    flag = flags_of(same, same)["identical models"]
    names = tuple(f"model {number}" for number in range(1, models + 1))
    unseen = "they may differ on up to 7.2 % of all queries (95 % confidence)"  # 0.928 ** 40 = 0.05
    assert flag.message == f"{named} never differ: what holds for the one holds for the other, though {unseen}."
    assert flag.models == names
    assert flag.pairs == tuple((a, b) for at, a in enumerate(names) for b in names[at + 1 :])


@pytest.mark.parametrize(
    ("differing", "code", "says"),
    [
        (0, "ignored pairs", "differ on fewer than 30 queries under a metric, which then decides nothing between them"),
        (
            29,
            "ignored pairs",
            "differ on fewer than 30 queries under a metric, which then decides nothing between them",
        ),
        (30, "thin pairs", "differ on fewer than 100 queries under a metric: what it says of them is rough"),
        (99, "thin pairs", "differ on fewer than 100 queries under a metric: what it says of them is rough"),
        (100, None, None),
    ],
)
def test_pairs_that_differ_on_few_queries_under_one_metric(differing, code, says):
    first = np.zeros((150, 2))
    first[:differing, 1] = np.random.default_rng(0).random(differing) + 0.1
    found = flags_of(first, distinct(150, 2), models=["a", "b"])
    about_pairs = [flag for name, flag in found.items() if name.endswith(("pairs", "models"))]
    pair = ("a", "b")
    assert about_pairs == ([] if code is None else [Flag(code, f"a and b {says}.", pair, (pair,))])


class TestLopsidedPairs:
    """On few queries one model is far ahead, on all others slightly behind."""

    def values(self, queries, share, seed=0):
        rng = np.random.default_rng(seed)
        base = rng.uniform(0.2, 0.8, (queries, 1))
        difference = np.where(np.arange(queries)[:, None] < share * queries, -0.5, 0.5 * share / (1 - share))
        return np.hstack([base, base + difference + 1e-4 * rng.normal(size=(queries, 1))])

    @pytest.mark.parametrize(
        ("queries", "share", "flagged"), [(200, 0.03, True), (200, 0.3, False), (3000, 0.03, False)]
    )
    def test_are_flagged(self, queries, share, flagged):
        found = flags_of(self.values(queries, share), distinct(queries, 2), models=["a", "b"])
        assert ("lopsided pairs" in found) == flagged
        if flagged:
            assert found["lopsided pairs"].pairs == (("a", "b"),)
            assert "a and b owe their difference under a metric to few queries" in found["lopsided pairs"].message

    @pytest.mark.parametrize("weights", [None, np.full(500, 1 / 500)])
    def test_skewness_is_that_of_scipy(self, weights):
        values = np.stack([self.values(500, 0.1).T, distinct(500, 2).T])
        expected = np.abs(scipy.stats.skew(values[:, 1] - values[:, 0], axis=1)).max() / np.sqrt(500)
        found = lopsidedness(Panel(("x", "y"), ("a", "b"), values, weights))
        np.testing.assert_allclose(found, [[0, expected], [expected, 0]], rtol=1e-9)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_pairs_that_are_passed_over_are_not_lopsided(self, weighted):
        rng = np.random.default_rng(3)
        values = rng.random((2, 6, 4000))
        values[0, 5] = values[0, 4] - 0.5 * (np.arange(4000) < 2)  # these two differ on two queries only
        weights = rng.dirichlet(np.full(4000, 500.0)) if weighted else None
        panel = Panel(("x", "y"), tuple("abcdef"), values, weights)
        among = may_be_lopsided(panel, estimate(panel))
        whole, some = lopsidedness(panel), lopsidedness(panel, among)
        assert not among.all()
        assert (whole > LOPSIDED)[4, 5]
        np.testing.assert_array_equal(some > LOPSIDED, whole > LOPSIDED)
        np.testing.assert_array_equal(some[among], whole[among])

    def test_a_constant_difference_has_none(self):
        base = distinct(100, 1)
        values = np.stack([np.hstack([base, base + 0.25]).T] * 2)
        assert not lopsidedness(Panel(("x", "y"), ("a", "b"), values, None)).any()
