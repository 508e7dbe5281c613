"""Values of every metric by simple arithmetic. `tests/oracles` covers everything else."""

import functools
import math
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from tests.metrics.one_query import value

import gainwise as gw

getcontext().prec = 60
NEVER = -math.inf
LOG3 = math.log2(3)
SQRT2 = math.sqrt(2)
AP_SUM = 1 / 2 + 2 / 3 + 3 / 5 + 4 / 6

CASES = [  # metric, labels, scores (None: ranked as listed), value
    ("dcg_linear", [3, 1, 2], None, 3 + 1 / LOG3 + 2 / 2),
    ("dcg_exp", [3, 1, 2], None, 7 + 1 / LOG3 + 3 / 2),
    ("dcg_exp", [3, 0, 1], [1, 1, 0], 7 / 2 + 7 / 2 / LOG3 + 1 / 2),
    ("dcg_jk", [3, 1, 2], None, 3 + 1 + 2 / LOG3),
    ("ndcg_linear@2", [3, 1, 2], None, (3 + 1 / LOG3) / (3 + 2 / LOG3)),
    ("ndcg_linear", [0.5, 1.5], None, (0.5 + 1.5 / LOG3) / (1.5 + 0.5 / LOG3)),
    ("ndcg_exp", [0.5, 1.5], None, (SQRT2 - 1 + (2 * SQRT2 - 1) / LOG3) / (2 * SQRT2 - 1 + (SQRT2 - 1) / LOG3)),
    ("ndcg_linear", [0, 1e280], None, 1 / LOG3),
    ("cg_exp", [3, 1, 2], None, 7 + 1 + 3),
    ("ndcg(gain=0/1/10)", [1, 2, 0], None, (1 + 10 / LOG3) / (10 + 1 / LOG3)),
    ("ndcg(gain=0>0/1.5>4)", [0, 1.5], None, 1 / LOG3),
    ("ndcg(gain=5/0/3)", [1, 2, 0], None, (3 / LOG3 + 5 / 2) / (5 + 3 / LOG3)),
    ("ndcg(gain=0>0/1>5/2>3)@1", [2, 1], None, 3 / 5),
    ("ndcg(gain=0/0/1,empty=1)", [1, 0, 1], None, 1),
    ("dcg_linear(discount=1/0.5/0.25/0.125)@4", [3, 0, 2, 1, 4], None, 3 + 2 * 0.25 + 0.125),
    ("map", [0, 1, 1, 0, 1, 1], None, AP_SUM / 4),
    ("map@3", [0, 1, 1, 0, 1, 1], None, (1 / 2 + 2 / 3) / 3),
    ("map(denominator=R)@3", [0, 1, 1, 0, 1, 1], None, (1 / 2 + 2 / 3) / 4),
    ("map(ties=order,denominator=hits)@3", [0, 1, 1, 0, 1, 1], None, (1 / 2 + 2 / 3) / 2),
    ("map(ties=order,denominator=hits)", [0, 1, 1], [2, 1, NEVER], 1 / 2 / 1),
    ("map(min_label=0)", [1, 2, 0], None, 1),
    ("map(min_label=9)", [1, 2, 0], None, 0),
    ("mrr", [0, 1, 1], None, 1 / 2),
    ("mrr@2", [0, 0, 1], None, 0),
    ("mrr(min_label=2)", [1, 1, 2], None, 1 / 3),
    ("precision@10", [0, 1, 1], None, 2 / 10),
    ("precision(denominator=min_k_n)@10", [0, 1, 1], None, 2 / 3),
    ("precision(denominator=min_k_n)@10", [0, 1, 1], [2, 1, NEVER], 1 / 3),
    ("rprec", [0, 1, 1, 0, 2], None, 2 / 3),
    ("rprec(empty=1)", [0, 0], None, 1),
    ("rprec(min_label=2)", [0, 1, 1, 0, 2], None, 0),
    ("rprec", [0, 1, 1, 1], [2, 1, NEVER, NEVER], 1 / 3),
    ("recall@2", [0, 1, 0, 1, 1], None, 1 / 3),
    ("hit@2", [0, 1, 0], None, 1),
    ("hit@3", [1, 1, 0, 0], [0, 0, 0, 0], 1),
    ("rbp(p=0.1)", [0, 2, 0, 1], None, 0.9 * (0.1 + 0.1**3)),
    ("rbp(p=0.5)", [0, 1], [1, 1], 0.5 * (1 / 2 + 1 / 2 * 0.5)),
    ("rbp(p=0.5)", [1] * 60, None, 1 - 0.5**60),
    ("rbp(p=0.8,gain=graded)", [2, 0, 4], None, (1 - 0.8) * (2 / 4 + 0.8**2 * 4 / 4)),
    ("rbp(p=0.8,gain=graded,min_label=4)", [2, 0, 4], None, (1 - 0.8) * (2 / 4 + 0.8**2 * 4 / 4)),
    ("rbp(p=0.5,gain=graded)", [1, 4], [1, NEVER], 0.5 * 1 / 4),
    ("err(max_label=3)", [2, 3], None, 3 / 8 + 5 / 8 * 7 / 8 / 2),
    ("err(max_label=4)", [3], None, 7 / 16),
]


@pytest.mark.parametrize(("metric", "labels", "scores", "expected"), CASES)
def test_by_hand(metric, labels, scores, expected):
    assert value(metric, labels, scores) == pytest.approx(expected, rel=1e-15, abs=0)


def test_err_without_ties_above_its_cutoff():
    """The second metric ranks the documents below, which are tied."""
    metrics, judgments = ["err(max_label=3)@1", "rprec"], gw.Judgments([2, 1, 0], group=[3])
    assert gw.evaluate(metrics, judgments, [2, 1, 1]).per_query.tolist() == [[3 / 8, (1 + 1 / 2) / 2]]


@pytest.mark.parametrize(
    ("metric", "labels", "expected"),
    [
        ("ndcg_linear", [-2, 3], (-2 + 3 / LOG3) / (3 - 2 / LOG3)),
        ("ndcg_linear(empty=1)", [-2, 1, -9], 1),  # a query whose ideal is negative is empty
        ("dcg_linear", [-2, 1], -2 + 1 / LOG3),
        ("rbp(p=0.5,gain=graded)", [-1, 2], 0.5 * 0.5),
    ],
)
def test_negative_labels(metric, labels, expected):
    assert value(metric, labels, negative_labels="allow") == pytest.approx(expected, rel=1e-14, abs=0)


def exact_ndcg(labels, base, k=None):
    """NDCG with gain base^l - 1, in sums of 60 digits."""

    def dcg(ranking):
        return sum((base ** int(label) - 1) / Decimal(at + 2).ln() for at, label in enumerate(ranking[:k]))

    return float(dcg(labels) / dcg(sorted(labels, reverse=True)))


@pytest.mark.parametrize("base", ["1.5", "2"])
@pytest.mark.parametrize("top", [10, 53, 100, 959, 960])
@pytest.mark.parametrize("k", [None, 2])
def test_ndcg_of_huge_labels_is_exact(base, top, k):
    labels = [top - 1, 0, top, 1, top - 3, 0, 2]
    name = f"ndcg_power(gain_base={base})" + ("" if k is None else f"@{k}")
    rel = 1e-14 if base == "2" else 1e-13
    assert value(name, labels) == pytest.approx(exact_ndcg(labels, Decimal(base), k), rel=rel, abs=0)


def test_huge_labels_in_ties_and_next_to_label_0():
    assert value("ndcg_exp", [0, 960], [1, 1]) == pytest.approx((1 + 1 / LOG3) / 2, rel=1e-15, abs=0)
    assert value("ndcg_exp@1", [960, 0], [1, 2]) == 0
    assert value("ndcg_exp@1", [960, 0], [1, 1]) == 0.5


@pytest.mark.parametrize("top", [959, 960])
def test_labels_around_the_largest_exponent_have_the_exact_ratio(top):
    d, high, low = Fraction(1 / LOG3), Fraction(2**top - 1), Fraction(2 ** (top - 1) - 1)
    expected = float((low + d * high) / (high + d * low))
    assert value("ndcg_exp", [top, top - 1], [1, 2]) == pytest.approx(expected, rel=1e-15, abs=0)


@pytest.mark.parametrize("max_label", [50, 100, 1023])
@pytest.mark.parametrize("scores", [None, [0, 0, 0]], ids=["ranked", "tied"])
def test_low_grades_of_a_long_err_scale_keep_their_digits(max_label, scores):
    """The probabilities to stop are s, 0 and 3 s. In each of the six orders of a tie, both users stop once."""
    s = Fraction(1, 2**max_label)
    orders = [(s, 0, 3 * s)]
    if scores:
        orders = [(a, b, c) for a in (s, 0, 3 * s) for b in (s, 0, 3 * s) for c in (s, 0, 3 * s) if len({a, b, c}) == 3]
    total = sum(a + (1 - a) * b / 2 + (1 - a) * (1 - b) * c / 3 for a, b, c in orders)
    found = value(gw.ERR(max_label=max_label), [1, 0, 2], scores)
    assert found == pytest.approx(float(total / len(orders)), rel=1e-14, abs=0)


class TestJudged:
    @pytest.mark.parametrize(
        ("metric", "judged", "scores", "expected"),
        [
            ("judged@2", [True, False, True, False], [4, 3, 2, 1], 1 / 2),
            ("judged@10", [True, False, True, True], [3, 2, 1, NEVER], 2 / 3),
            ("judged@1", [True, False], [NEVER, 1], 0),
            ("judged@3", [True, False], [NEVER, NEVER], math.nan),
            ("judged(empty=0)@3", [True, False], [NEVER, NEVER], 0),
            ("judged(empty=1)@3", [True, False], [NEVER, NEVER], 1),
            ("judged(ties=order)@2", [True, False, True, False], [1, 1, 1, 1], 1 / 2),
            ("judged@2", [True, False, True, False], [1, 1, 1, 1], 2 / 4),
        ],
    )
    def test_by_hand(self, metric, judged, scores, expected):
        labels = [at % 2 if known else math.nan for at, known in enumerate(judged)]
        np.testing.assert_equal(value(metric, labels, scores, judged=judged), expected)

    def test_negative_labels_are_judgments(self):
        judged = [True, True, False]
        assert value("judged", [-1, 0, 0], judged=judged, negative_labels="zero") == 2 / 3

    def test_scattered_rows_and_weights(self):
        judgments = gw.Judgments([1, 0, 0, 1], qid=list("abab"), judged=[True, False, False, True], weight=[3, 1])
        result = gw.evaluate(["judged@1", "judged"], judgments, [2, 2, 1, 1])
        assert result.per_query.tolist() == [[1, 0.5], [0, 0.5]]
        assert result.mean == {"judged@1": 3 / 4, "judged": 1 / 2}

    def test_a_query_without_documents_is_empty(self):
        judgments = gw.Judgments([1, 0], group=[0, 2, 0], judged=[True, False])
        result = gw.evaluate(["judged", "judged(empty=0)", "judged(empty=1,ties=order)"], judgments, [2, 1])
        empty = [math.nan, 0, 1]
        np.testing.assert_equal(result.per_query, [empty, [0.5, 0.5, 0.5], empty])


class TestTiesInERR:
    """Ties of thousands of documents, in exact fractions."""

    @pytest.mark.parametrize("k", [1, 3, 10])
    @pytest.mark.parametrize("lengths", [[1, 1], [3, 1, 2], [500, 300, 150, 40, 10], [52_000, 48_000]])
    def test_against_a_recursion_over_places(self, lengths, k):
        """The state is the number of documents left of each grade."""

        @functools.cache
        def expected(left, rank):
            if rank > k or not sum(left):
                return Fraction(0)
            total = Fraction(0)
            for grade, count in enumerate(left):
                if count:
                    stop = Fraction(2**grade - 1, 2**4)
                    rest = (*left[:grade], count - 1, *left[grade + 1 :])
                    total += Fraction(count, sum(left)) * (stop / rank + (1 - stop) * expected(rest, rank + 1))
            return total

        labels = np.repeat(np.arange(len(lengths)), lengths)
        found = value(gw.ERR(max_label=4, k=k), labels, np.zeros(len(labels)))
        assert found == pytest.approx(float(expected(tuple(lengths), 1)), rel=4e-15, abs=0)

    def test_a_run_too_long_to_average_has_a_worst_case(self):
        found = value("err(max_label=1,ties=worst)", [0, 1] * 5000, [0] * 10_000)
        assert found == pytest.approx(sum(0.5**i / (5000 + i) for i in range(1, 60)), rel=1e-12, abs=0)

    @pytest.mark.parametrize(("score", "rest"), [(0.0, [0, 0]), (-math.inf, [0, 1])], ids=["equal", "not retrieved"])
    def test_a_long_run_whose_order_does_not_matter(self, score, rest):
        found = value("err(max_label=1)", [0, 1, *rest * 5000], [2, 2, *[score] * 10_000])
        assert found == pytest.approx((1 / 2 + 1 / 2 / 2) / 2, rel=1e-15, abs=0)
