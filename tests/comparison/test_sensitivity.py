"""Choices that reverse pairs of models, compared with plain loops and a separate implementation."""

import itertools
import json

import numpy as np
import pytest

import gainwise as gw
from gainwise.comparison.sensitivity import estimate_share

pytestmark = pytest.mark.slow

JUDGED = gw.Judgments(np.random.default_rng(1).choice(4, size=240), group=[6] * 40, weight=np.arange(40) % 3)


def reverses(first, second, pairs):
    """Return the share of pairs of two lists of means that are in opposite order."""
    return np.mean([(first[a] - first[b]) * (second[a] - second[b]) < 0 for a, b in pairs])


def draw_scores(count, seed=0):
    rng = np.random.default_rng(seed)
    return [JUDGED.labels + rng.normal(0, 2, 240) for _ in range(count)]


def share_of(sensitivity, choice):
    return sensitivity.table.set_index("choice").loc[choice]


@pytest.mark.parametrize(
    ("choice", "metric"),
    [
        ("exponential gain", "ndcg_exp@3"),
        ("Järvelin & Kekäläinen's discount", "ndcg_jk@3"),
        ("cutoff 5", "ndcg_linear@5"),
        ("map", "map"),
        ("precision@2", "precision@2"),
        ("ties in the order of the data", "ndcg_linear(ties=order)@3"),
    ],
)
def test_shares_of_models_and_recipes_against_loops_over_pairs(choice, metric):
    scores = [np.round(one) for one in draw_scores(9)]
    models = {"a": scores[0], "recipe": scores[1:4], "b": scores[4], "c": scores[5], "two": scores[6:9]}
    comparison = gw.compare(models, JUDGED, ["ndcg_linear@3", "precision@2"], draws=200)
    found = share_of(comparison.sensitivity(), choice)
    first, second = ([gw.evaluate(it, JUDGED, one).mean[it] for one in scores] for it in ("ndcg_linear@3", metric))
    members = [[0], [1, 2, 3], [4], [5], [6, 7, 8]]
    pairs = [list(itertools.product(one, two)) for one, two in itertools.combinations(members, 2)]
    assert found["reversed"] == pytest.approx(np.mean([reverses(first, second, own) for own in pairs]))
    assert found["reversed_pairs"] == 36 * reverses(first, second, list(itertools.combinations(range(9), 2)))
    means = [[np.mean([values[place] for place in own]) for own in members] for values in (first, second)]
    conflicts = [
        min(abs(one[a] - one[b]) for one in means)
        for a, b in itertools.combinations(range(5), 2)
        if (means[0][a] - means[0][b]) * (means[1][a] - means[1][b]) < 0
    ]
    assert found["largest"] == pytest.approx(max(conflicts, default=0))
    assert found["winner"] == list(models)[int(np.argmax(means[1]))]
    repeat = share_of(comparison.sensitivity(), "one repeat per model")
    order = [next(mean for mean, own in zip(means[0], members, strict=True) if place in own) for place in range(9)]
    assert repeat["reversed"] == pytest.approx(np.mean([reverses(first, order, own) for own in pairs]))


def test_halves_are_halves_of_clusters():
    """Two clusters have only one split."""
    clusters, values = np.repeat([0, 1], 30), np.random.default_rng(2).random((60, 5))
    found = gw.Comparison({"x": values, "y": -values}, list("abcde"), clusters=clusters, draws=200).sensitivity()
    halves = [values[clusters == side].mean(axis=0) for side in (0, 1)]
    expected = reverses(*halves, list(itertools.combinations(range(5), 2)))
    assert share_of(found, "the other half of the queries")["reversed"] == pytest.approx(expected)
    assert share_of(found, "y")["reversed"] == 1
    assert share_of(found, "y")["winner"] == "abcde"[int(values.mean(axis=0).argmin())]


def test_the_interval_is_that_of_wilson_with_the_jackknife_variance():
    rng = np.random.default_rng(4)
    matrix = np.triu(rng.random((7, 7)) < 0.3, 1).astype(float)
    matrix += matrix.T
    share, lower, upper = estimate_share(matrix, 0.05)
    assert share == pytest.approx(matrix[np.triu_indices(7, 1)].mean())
    left_out = [np.delete(np.delete(matrix, k, 0), k, 1)[np.triu_indices(6, 1)].mean() for k in range(7)]
    variance = 6 / 7 * np.sum((np.array(left_out) - np.mean(left_out)) ** 2)
    size, t = share * (1 - share) / variance, 2.446912
    for end in (lower, upper):  # Wilson's interval: |share - end| = t · sqrt(end (1 - end) / size)
        assert abs(share - end) == pytest.approx(t * np.sqrt(end * (1 - end) / size), rel=1e-5)
    assert np.isnan(estimate_share(np.eye(2), 0.05)[1])


@pytest.mark.parametrize(("models", "queries", "small"), [(5, 30, False), (5, 29, True), (4, 30, True)])
def test_choices_of_a_small_sample_are_not_ranked(models, queries, small):
    rng = np.random.default_rng(3)
    judgments = gw.Judgments(rng.choice(4, size=6 * queries), group=[6] * queries)
    scores = {f"m{number}": rng.random(6 * queries) for number in range(models)}
    sensitivity = gw.compare(scores, judgments, ["ndcg_linear@3"], draws=200).sensitivity()
    assert sensitivity.table["reversed"].any()
    assert ("requires at least 30 queries and 5 models" in sensitivity.headline) == small
    assert "too small" not in sensitivity.headline  # It may be the number of models.
    if models == 5:
        row = sensitivity.table.loc[sensitivity.table["choice"] == "exponential gain"].iloc[0]
        ends = f"{100 * row['lower']:.1f} to {100 * row['upper']:.1f} % of the pairs (95 %)"
        assert f"The exponential gain reverses {ends}." in sensitivity.text.replace("\u00a0", " ")
    assert sensitivity.headline in sensitivity.text
    halves = sensitivity.table.set_index("choice").loc["the other half of the queries"]
    assert 0 < halves["winner_changes"] < 1
    assert f"the other half of the queries ({100 * halves['winner_changes']:.1f} % of the draws)" in sensitivity.text


def test_the_gain_of_labels_0_and_1_is_no_choice():
    rng = np.random.default_rng(3)
    judgments = gw.Judgments(rng.choice(2, size=240), group=[6] * 40)
    sensitivity = gw.compare({f"m{place}": rng.random(240) for place in range(5)}, judgments, draws=200).sensitivity()
    assert "gain" not in set(sensitivity.table["kind"]) | set(sensitivity.text.split())


@pytest.mark.parametrize("year", [19, 20])
def test_headline_of_trec_runs(trec_dl, year):
    runs = {path.name[:-7]: path for path in sorted((trec_dl / f"dl{year}").glob("*.txt.gz"))}
    comparison = gw.compare_runs(runs, trec_dl / f"qrels.dl{year}-passage.txt", ["ndcg_linear@10"], draws=200)
    found = comparison.sensitivity()
    by_gain = max(row["reversed"] for row in found.table.to_dict("records") if row["kind"] == "gain")
    assert found.headline.startswith(f"The gain reverses {100 * by_gain:.1f} % of the pairs of models, and ")


MASKED = gw.Judgments([2, 1, 0, 0] * 40, group=[4] * 40, judged=[True, True, True, False] * 40)
FEW_WEIGHTS = gw.Judgments([2, 1, 0, 0] * 40, group=[4] * 40, weight=[1, *[0] * 38, 1])
OWN = gw.metric("top_label", lambda labels, scores: float(labels[np.argmax(scores)]))
KINDS = {"gain", "discount", "cutoff", "ties", "unjudged", "metric", "queries"}


@pytest.mark.parametrize(
    ("metric", "judgments", "kinds"),
    [
        ("map", MASKED, KINDS - {"gain", "discount", "cutoff"}),
        (OWN, MASKED, {"metric", "queries"}),
        ("ndcg_jk@3", FEW_WEIGHTS, KINDS - {"discount", "unjudged"}),
    ],
)
def test_choices_are_those_that_the_metric_has(metric, judgments, kinds):
    models = {f"m{seed}": np.random.default_rng(seed).random(160) for seed in range(6)}
    found = gw.compare(models, judgments, [metric, "mrr"], draws=200).sensitivity()
    assert set(found.table["kind"]) == kinds
    assert found.table.index.tolist() == list(range(len(found.table)))
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["models"] == list(found.models)
    first = max(found.table.to_dict("records"), key=lambda row: row["reversed"])
    largest = f"reverses {100 * first['reversed']:.1f} % of the pairs of models"
    assert (largest in found.headline) == (found.queries >= 30)
    assert ("The gain reverses" in found.headline) <= ("gain" in kinds)


def test_equal_models_have_no_order_that_a_choice_can_change():
    """The halves have uneven weights, so that sums of equal values differ by rounding."""
    values = np.repeat(np.random.default_rng(0).random((201, 1)), 3, axis=1)
    comparison = gw.Comparison({"map": values, "mrr": values}, list("abc"), weights=np.linspace(0.1, 1, 201))
    sensitivity = comparison.sensitivity()
    assert not sensitivity.table[["reversed", "winner_changes", "largest"]].any(axis=None)
    assert sensitivity.text.endswith("The winner, a, is the same under every choice.")


def test_a_tie_under_another_metric_does_not_change_the_winner():
    values = np.random.default_rng(0).random((60, 1)) + np.array([0.0, 0.1])
    tied = np.full((60, 2), 0.5)
    sensitivity = gw.Comparison({"map": values, "mrr": tied}, ["a", "b"]).sensitivity()
    found = share_of(sensitivity, "mrr")
    assert (found["winner"], found["winner_changes"]) == ("b", 0)
