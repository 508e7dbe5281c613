"""The difference of two models by grade and rank, compared with plain loops, permutations and arithmetic."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

import gainwise as gw
from gainwise.comparison.attribution import Attribution

pytestmark = pytest.mark.slow

ROUNDING = 1e-12
TABLE = {0: 0.5, 1: 0.0, 2: 3.0, 3: 7.0, 4: 20.0}
FIVE_FIRST = "5 0 0 0 0 3 3 3 3 3"
FIVE_LAST = "3 3 3 3 3 0 0 0 0 5"


def linear(label):
    return label


def exponential(label):
    return 2.0**label - 1


def log2(rank):
    return 1 / math.log2(rank + 1)


def jk(rank):
    return 1 / max(1.0, math.log2(rank))


FAMILY = {
    "ndcg_linear": (linear, log2, True),
    "ndcg_exp": (exponential, log2, True),
    "ndcg_jk": (linear, jk, True),
    "ndcg_exp(discount=reciprocal)": (exponential, lambda rank: 1 / rank, True),
    "ndcg(gain=0>0.5/1>0/2>3/3>7/4>20)": (TABLE.get, log2, True),
    "dcg_exp": (exponential, log2, False),
    "dcg_jk": (linear, jk, False),
    "cg": (linear, lambda rank: 1.0, False),
}
METRICS = [f"{name}{cutoff}" for name in FAMILY for cutoff in ("", "@1", "@3", "@10")]


def with_ties(metric, ties):
    name, at, cutoff = metric.partition("@")
    name = f"{name[:-1]},ties={ties})" if name.endswith(")") else f"{name}(ties={ties})"
    return name + at + cutoff


def parse(metric):
    name, _, cutoff = metric.partition("@")
    return (*FAMILY[name], int(cutoff) if cutoff else None)


def ranks_of_documents(scores, ties, labels):
    """Return the possible ranks of each document, which are equally likely. Missing documents have none."""
    order = {
        "average": lambda d: 0,
        "order": lambda d: d,
        "worst": lambda d: (labels[d], d),
        "best": lambda d: (-labels[d], d),
    }[ties]
    keys = [(-scores[d], order(d)) for d in range(len(scores))]
    found = []
    for own in range(len(keys)):
        before = sum(key < keys[own] for key in keys)
        equal = sum(key == keys[own] for key in keys)
        found.append(range(before + 1, before + equal + 1) if scores[own] > -math.inf else ())
    return found


def by_hand(judgments, scores, metric, ties="average", weights=None):
    """Return the contribution of each (label, rank) to the mean, by loops over documents and ranks."""
    gain, discount, ratio, k = parse(metric)
    weights = [1.0] * judgments.queries if weights is None else weights
    added = defaultdict(float)
    start = 0
    for size, weight in zip(judgments.sizes.tolist(), weights, strict=True):
        labels = judgments.labels[start : start + size].tolist()
        own = scores[start : start + size].tolist()
        start += size
        ideal = sum(g * discount(r) for r, g in enumerate(sorted(map(gain, labels), reverse=True), 1) if r <= (k or r))
        for label, ranks in zip(labels, ranks_of_documents(own, ties, labels), strict=True):
            for rank in ranks:
                if rank <= (k or rank) and ideal > 0:
                    worth = gain(label) * discount(rank) / len(ranks)
                    added[label, rank] += weight / sum(weights) * worth / (ideal if ratio else 1.0)
    return added


def cells_by_hand(judgments, scores, metric, bands, **options):
    """Return the contributions of model A minus model B, by grade and band of ranks."""
    levels = judgments.levels.tolist()
    cells = np.zeros((len(levels), len(bands)))
    for model, sign in (("A", 1), ("B", -1)):
        for (label, rank), worth in by_hand(judgments, scores[model], metric, **options).items():
            cells[levels.index(label), np.searchsorted(bands, rank, side="right") - 1] += sign * worth
    return cells


def two_models(grouped, seed=0, *, weighted=True, **options):
    data = grouped(seed, **options)
    weights = np.random.default_rng(seed).integers(0, 4, len(data.sizes)).astype(float) if weighted else None
    judgments = gw.Judgments(data.labels, group=data.sizes, weight=weights)
    # The other model has correlated scores with as many ties.
    rng = np.random.default_rng(seed + 1)
    other = np.where(rng.random(len(data.scores)) < 0.5, data.scores, rng.permutation(data.scores))
    return judgments, {"A": data.scores, "B": other}, weights


def attribution(judgments, scores, metrics, **options) -> Attribution:
    return gw.compare(scores, judgments, metrics).attribution(*scores, **options)


def article(metrics=("ndcg_jk", "ndcg_exp"), **options):
    judgments = gw.Judgments([5, 3, 3, 3, 3, 3, 0, 0, 0, 0], group=[10])
    scores = {FIVE_FIRST: [10, 5, 4, 3, 2, 1, 9, 8, 7, 6], FIVE_LAST: [1, 10, 9, 8, 7, 6, 5, 4, 3, 2]}
    return attribution(judgments, scores, list(metrics), **options)


class TestCells:
    @pytest.mark.parametrize("ties", ["average", "order", "worst", "best"])
    @pytest.mark.parametrize("metric", METRICS)
    def test_are_those_of_a_loop_over_documents(self, grouped, metric, ties):
        judgments, scores, weights = two_models(grouped, 3, not_retrieved=True)
        named = with_ties(metric, ties)
        table = attribution(judgments, scores, named).grades_by_ranks.loc[str(gw.parse_metrics(named)[0])]
        bands = [first for first in (1, 2, 4, 6, 11) if first <= (parse(metric)[3] or 25)]
        expected = cells_by_hand(judgments, scores, metric, bands, ties=ties, weights=weights)
        np.testing.assert_allclose(table, expected, rtol=0, atol=ROUNDING * max(1.0, np.abs(expected).max()))

    def test_scores_that_differ_beyond_32_bits_only_are_tied_where_the_metric_says_so(self):
        scores = {"up": [1.0 + 1e-12, 1.0], "down": [1.0, 1.0 + 1e-12]}
        why = attribution(gw.Judgments([1, 0], group=[2]), scores, ["ndcg_linear", "ndcg_linear(scores=float32)"])
        assert why.difference["ndcg_linear"] == pytest.approx(1 - 1 / math.log2(3))
        assert not why.grades_by_ranks.loc["ndcg_linear(scores=float32)"].to_numpy().any()


class TestSums:
    @pytest.mark.parametrize("ties", ["average", "order", "worst", "best"])
    @pytest.mark.parametrize("seed", range(3))
    def test_rows_and_columns_give_the_difference_of_the_metrics_own_means(self, grouped, seed, ties):
        judgments, scores, _ = two_models(grouped, seed, queries=150, longest=40, not_retrieved=seed == 2)
        metrics = [with_ties(metric, ties) for metric in METRICS]
        metrics += ["ndcg_exp(empty=1)@5", "ndcg_linear(scores=float32)@7", "ndcg_jk(base=3)", "dcg_exp(base=10)"]
        why = attribution(judgments, scores, metrics)
        means = [gw.evaluate(metrics, judgments, scores[model]).mean for model in "AB"]
        assert len(why.metrics) == len(metrics)
        for metric in why.metrics:
            difference = means[0][metric] - means[1][metric]
            table = why.grades_by_ranks.loc[metric]
            close = {"rel": 0, "abs": ROUNDING * max(1.0, abs(means[0][metric]))}
            assert why.difference[metric] == pytest.approx(difference, **close)
            assert table.sum(axis=1).sum() == pytest.approx(difference, **close)
            assert table.sum(axis=0).sum() == pytest.approx(difference, **close)

    def test_a_metric_that_was_not_compared_and_skips_queries_has_its_own_mean(self, grouped):
        judgments, scores, _ = two_models(grouped, 4)
        comparison = gw.compare(scores, judgments, ["map", "mrr"])
        name = "ndcg_linear(empty=skip)@10"
        why = comparison.attribution("A", "B", name)
        own, other = (gw.evaluate(name, judgments, scores[model]).mean[name] for model in "AB")
        assert why.difference[name] == pytest.approx(own - other, abs=ROUNDING)
        assert why.grades_by_ranks.to_numpy().sum() == pytest.approx(own - other, abs=ROUNDING)

    def test_a_compared_metric_keeps_its_definition(self, grouped):
        """A notebook may define another metric with the same name later."""
        judgments, scores, _ = two_models(grouped, 4)
        comparison, _ = (
            gw.compare(scores, judgments, [gw.NDCG(gain="linear", discount=lambda k, p=p: k**-p, name="ndcg_cell")])
            for p in (0.5, 2.0)
        )
        means = comparison.leaderboard["ndcg_cell"]
        difference = comparison.attribution("A", "B", ["ndcg_cell"]).difference["ndcg_cell"]
        assert difference == pytest.approx(means["A"] - means["B"], abs=ROUNDING)


class TestWorkedExample:
    def test_two_published_rankings_on_which_the_definitions_disagree(self):
        why = article()
        assert why.difference["ndcg_jk"] == pytest.approx(0.73 - 0.88, abs=0.01)
        assert why.difference["ndcg_exp"] == pytest.approx(0.89 - 0.63, abs=0.01)
        assert why.difference["ndcg_jk"] < 0 < why.difference["ndcg_exp"]

    def test_its_cells(self):
        table = article().grades_by_ranks.loc["ndcg_exp"]
        three, five = 2**3 - 1, 2**5 - 1
        ideal = five + three * sum(log2(rank) for rank in range(2, 7))
        assert table.columns.tolist() == ["1", "2-3", "4-5", "6+"]
        assert table.index.tolist() == [0, 3, 5]
        np.testing.assert_allclose(table.loc[0], 0, atol=0)
        np.testing.assert_allclose(table.loc[5], np.array([five, 0, 0, -five * log2(10)]) / ideal, rtol=1e-14)
        expected = [-1, -log2(2) - log2(3), -log2(4) - log2(5), sum(map(log2, range(6, 11)))]
        np.testing.assert_allclose(table.loc[3], three / ideal * np.array(expected), rtol=1e-14)


class TestLabels:
    def test_large_ones_give_the_exact_ratio(self):
        labels = [960, 959, 10, 960, 957, 0]
        scores = {"A": [6, 5, 4, 3, 2, 1], "B": [1, 2, 3, 6, 5, 4]}
        why = attribution(gw.Judgments(labels, group=[6]), scores, "ndcg_exp@3")
        gains = {label: 2**label - 1 for label in labels}
        discounts = [Fraction(log2(rank)) for rank in (1, 2, 3)]
        ideal = sum(gains[label] * d for label, d in zip([960, 960, 959], discounts, strict=True))
        expected = defaultdict(float)
        for ranking, sign in (([960, 959, 10], 1), ([960, 957, 0], -1)):
            for place, label in enumerate(ranking):
                expected[label, min(place, 1)] += sign * float(gains[label] * discounts[place] / ideal)
        for label, cells in why.grades_by_ranks.loc["ndcg_exp@3"].iterrows():
            assert cells.tolist() == pytest.approx([expected[label, 0], expected[label, 1]], abs=1e-15)

    def test_below_0_are_a_grade(self, grouped):
        judgments, scores, _ = two_models(grouped, 2, weighted=False)
        judgments = gw.Judgments(judgments.labels - 1, group=judgments.sizes, negative_labels="allow")
        why = attribution(judgments, scores, ["ndcg_linear@10", "ndcg_jk@10"])
        assert np.isfinite(why.grades_by_ranks.to_numpy()).all()
        assert why.grades_by_ranks.loc[("ndcg_linear@10", -1)].any()
        own, other = (gw.evaluate("ndcg_linear@10", judgments, scores[m]).mean["ndcg_linear@10"] for m in "AB")
        table = why.grades_by_ranks.loc["ndcg_linear@10"]
        assert table.to_numpy().sum() == pytest.approx(own - other, abs=ROUNDING)

    def test_amounts_have_no_exponential_gain(self):
        rng = np.random.default_rng(2)
        judgments = gw.Judgments(rng.integers(0, 5, 60) * 1000.0, group=[6] * 10)
        comparison = gw.compare({"A": rng.random(60), "B": rng.random(60)}, judgments, ["ndcg_linear@3", "map"])
        assert "exponential gain" not in comparison.sensitivity().table["choice"].tolist()
        assert "ndcg_exp" not in comparison.to_json()

    def test_of_which_there_are_more_go_into_ten_ranges_of_equally_many(self):
        rng = np.random.default_rng(1)
        labels = np.concatenate([np.zeros(500), np.arange(1, 50)])[rng.permutation(549)]
        judgments = gw.Judgments(labels, group=[61] * 9)
        scores = {name: rng.integers(0, 30, 549).astype(float) for name in "AB"}
        why = attribution(judgments, scores, "ndcg_linear@10")
        table = why.grades_by_ranks.loc["ndcg_linear@10"]
        assert table.index.tolist() == [f"{low} to {low + 4}" for low in range(0, 50, 5)]
        assert why.top_grade == "45 to 49"
        by_label = cells_by_hand(judgments, scores, "ndcg_linear@10", [1, 2, 4, 6])
        np.testing.assert_allclose(table, by_label.reshape(10, 5, 4).sum(axis=1), atol=ROUNDING)


@pytest.mark.parametrize(
    ("metrics", "names"),
    [
        (["ndcg_exp@4"], ["1", "2-3", "4"]),
        (["ndcg_exp@10", "ndcg_linear@15"], ["1", "2-3", "4-5", "6-10", "11-15"]),
        (["ndcg_exp@10", "ndcg_linear"], ["1", "2-3", "4-5", "6-10", "11+"]),
    ],
)
def test_bands_end_at_the_deepest_cutoff(metrics, names):
    labels = np.arange(40) % 4
    why = attribution(gw.Judgments(labels, group=[40]), {"A": labels, "B": -labels}, metrics)
    assert why.grades_by_ranks.columns.tolist() == names


def test_the_text_names_grades_that_contribute_only():
    """A and B have the same scores. C has one document of grade 1 at rank 1 instead of 2: 1 - 1/log2(3) = 0.3691."""
    judgments = gw.Judgments([1, 0], group=[2])
    comparison = gw.compare({"A": [1, 2], "B": [1, 2], "C": [2, 1]}, judgments, ["ndcg_linear@2", "map"], draws=200)
    assert "ndcg_linear@2: +0.0000, no grade contributes" in comparison.attribution("A", "B").text
    text = comparison.attribution("C", "A").text
    assert text.count("from grade 1 at rank") == 2
    assert "ndcg_linear@2: +0.3691, most: +1.0000 from grade 1 at rank 1, -0.6309 from grade 1 at rank 2" in text
