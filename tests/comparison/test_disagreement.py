"""The largest possible disagreement of two NDCGs, compared with an enumeration of all rankings."""

import itertools
import json

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import gainwise as gw
from gainwise.comparison import disagreement
from gainwise.comparison.disagreement import find_bound

GAINS = [
    (("linear", "exponential"), (lambda label: label, lambda label: 2.0**label - 1)),
    ((1.5, (0, 2, 3, 3, 9)), (lambda label: (1.5**label - 1) / 0.5, lambda label: [0, 2, 3, 3, 9][label])),
]
DISCOUNTS = {
    "log2": lambda rank: 1 / np.log2(rank + 1),
    (1.0, 0.5, 0.5, 0.1): lambda rank: [1, 0.5, 0.5, 0.1][rank - 1],
}


def values_of_all_rankings(labels, gain, discount, k):
    depth = min(k, len(labels))
    weights = [discount(rank) for rank in range(1, depth + 1)]
    gains = [float(gain(label)) for label in labels]
    ideal = np.sort(gains)[::-1][:depth] @ weights
    orders = itertools.permutations(gains, depth)
    return np.array([np.dot(order, weights) / ideal if ideal else 0.0 for order in orders])


@pytest.mark.parametrize(("gains", "functions"), GAINS, ids=["names", "base and table"])
@pytest.mark.parametrize("discount", list(DISCOUNTS), ids=["log2", "table"])
def test_bounds_of_single_queries_against_enumeration(gains, functions, discount):
    rng = np.random.default_rng(len(gains))
    for _ in range(50):
        labels = rng.choice(5, size=rng.integers(1, 7))
        k = int(rng.integers(1, 5))
        first, second = (values_of_all_rankings(labels, gain, DISCOUNTS[discount], k) for gain in functions)
        bound = gw.disagreement_bound(gw.Judgments(labels, group=[len(labels)]), k, gains, discount=discount)
        excess = list(bound.one_ranking.values())
        np.testing.assert_allclose(excess, [(first - second).max(), (second - first).max()], rtol=0, atol=1e-12)
        conflict = np.minimum(first[:, None] - first, second - second[:, None]).max()
        assert bound.two_rankings >= conflict - 1e-12
        assert bound.per_query["two_rankings"][0] == pytest.approx(bound.two_rankings, abs=1e-6)


def test_means_over_weighted_queries():
    rng = np.random.default_rng(3)
    labels, sizes = [rng.choice(5, size=size) for size in (6, 5, 2, 4)], [6, 5, 2, 4]
    labels[2][:] = 0  # a query without relevant documents
    weight = np.array([3.0, 1.0, 2.0, 0.0])
    bound = gw.disagreement_bound(gw.Judgments(np.concatenate(labels), group=sizes, weight=weight), k=10)
    alone = [gw.disagreement_bound(gw.Judgments(one, group=[len(one)]), k=10) for one in labels]
    for metric, value in bound.one_ranking.items():
        assert value == pytest.approx(np.average([one.one_ranking[metric] for one in alone], weights=weight), rel=1e-12)
    assert bound.two_rankings >= np.average([one.two_rankings for one in alone], weights=weight) - 1e-12

    # One t for all queries: the minimum of the formula.
    def mean_spread(t):
        return np.average([spread(one, t) for one in labels], weights=weight)

    least = minimize_scalar(mean_spread, bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    assert bound.two_rankings == pytest.approx(least.fun, abs=1e-8)
    assert (bound.queries, len(bound.per_query)) == (3, 4)
    possible = [one.two_rankings > 1e-6 for one in alone]
    assert bound.possible == sum(possible[:3]) == sum(possible) - 1


def spread(labels, t):
    """Return the spread of one query by the formula of the docstring."""
    weights = 1 / np.log2(np.arange(2, len(labels) + 2))
    scaled = [gains / max(np.sort(gains)[::-1] @ weights, 1e-300) for gains in (labels * 1.0, 2.0**labels - 1)]
    mixed = np.sort(t * scaled[0] - (1 - t) * scaled[1])
    return mixed[::-1] @ weights - mixed @ weights


@pytest.mark.filterwarnings("ignore::gainwise.GainLabelsWarning")
def test_labels_0_and_1_and_many_distinct_labels():
    rng = np.random.default_rng(4)
    binary = gw.disagreement_bound(gw.Judgments(rng.integers(0, 2, 50), group=[10] * 5))
    assert (binary.two_rankings, binary.possible, binary.same_number) == (pytest.approx(0, abs=1e-12), 0, True)
    assert str(binary).endswith("are the same number for every ranking. There are 5 queries.")
    assert str(gw.disagreement_bound(gw.Judgments([1, 0], group=[2]))).endswith("There is 1 query.")
    labels = np.concatenate([np.linspace(0, 4, 100), rng.integers(0, 5, 6)])  # more labels than documents in a query
    many = gw.disagreement_bound(gw.Judgments(labels, group=[2] * 50 + [6]))
    alone = gw.disagreement_bound(gw.Judgments(labels[100:], group=[6]))
    assert many.per_query["two_rankings"].iloc[-1] == pytest.approx(alone.two_rankings, abs=1e-6)
    assert many.per_query["excess ndcg_exp@10"].iloc[-1] == pytest.approx(alone.one_ranking["ndcg_exp@10"], abs=1e-12)
    judgments = gw.Judgments([800, 799, 1, 0], group=[4])
    alone = gw.disagreement_bound(judgments).two_rankings
    beyond = gw.disagreement_bound(gw.Judgments([800, 799, 1, 0, 960, 0], group=[4, 2]))  # a label of another query
    assert beyond.per_query["two_rankings"][0] == pytest.approx(alone, abs=1e-6)
    huge = gw.disagreement_bound(judgments, k=1)
    assert huge.one_ranking == pytest.approx({"ndcg_linear@1": 799 / 800 - 0.5, "ndcg_exp@1": 0})


def test_qrels_allow_documents_that_nobody_judged():
    """A ranking may consist of documents without labels. Both NDCGs are 0 then, and 1 at best."""
    qrels = {"q": {"a": 1, "b": 3}}
    linear, exponential = np.array([3, 1]) @ [1, 1 / np.log2(3)], np.array([7, 1]) @ [1, 1 / np.log2(3)]
    bound = gw.disagreement_bound(qrels, k=2)
    assert bound.one_ranking["ndcg_linear@2"] == pytest.approx(1 / linear - 1 / exponential)
    assert bound.one_ranking["ndcg_exp@2"] == pytest.approx(7 / exponential - 3 / linear)


@pytest.mark.parametrize(
    ("year", "expected", "possible"), [(19, (0.208, 0.045, 0.1266), (43, 43)), (20, (0.197, 0.048, 0.1224), (51, 54))]
)
def test_trec_deep_learning(trec_dl, year, expected, possible):
    """Values of a separate implementation."""
    bound = gw.disagreement_bound(trec_dl / f"qrels.dl{year}-passage.txt")
    values = (*bound.one_ranking.values(), bound.two_rankings)
    assert [round(value, digits) for value, digits in zip(values, (3, 3, 4), strict=True)] == list(expected)
    assert (bound.possible, bound.queries) == possible
    json.dumps(bound.to_dict(), allow_nan=False)


def test_a_report_states_a_small_bound():
    labels = np.tile([2, 1, 0, 0, 0, 0], 40)  # one excellent document on every query
    labels[::6] = np.where(np.arange(40) % 20, 0, 2)
    judgments = gw.Judgments(labels, group=[6] * 40)
    scores = {name: np.random.default_rng(seed).random(240) for seed, name in enumerate("ab")}
    bound = gw.disagreement_bound(judgments)
    assert bound.is_negligible
    assert bound.conclusion in bound.text
    assert gw.compare(scores, judgments).content.same_number == [bound.conclusion]
    assert gw.compare(scores, gw.Judgments(np.tile([4, 1, 0, 2, 0, 0], 40), group=[6] * 40)).content.same_number == []


@pytest.mark.filterwarnings("ignore::gainwise.GainLabelsWarning")
@pytest.mark.parametrize("labels", [np.tile([2, 1, 0, 0, 0, 0], 40), np.linspace(0, 2, 240)], ids=["few", "distinct"])
def test_a_report_has_no_bound_beyond_its_limit(labels, monkeypatch):
    """Few labels are counted by query, others one by one."""
    judgments, metrics = gw.Judgments(labels, group=[6] * 40), gw.parse_metrics(["ndcg_linear@10", "ndcg_exp@10"])
    cells = 120 if len(set(labels)) == 3 else 240
    monkeypatch.setattr(disagreement, "MAX_REPORT_CELLS", cells)
    assert find_bound(judgments, metrics).two_rankings == gw.disagreement_bound(judgments).two_rankings
    monkeypatch.setattr(disagreement, "MAX_REPORT_CELLS", cells - 1)
    assert find_bound(judgments, metrics) is None
