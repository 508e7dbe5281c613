"""Metrics on a column of the judgments, against the same metrics on judgments that have this column as labels."""

import pickle
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import gainwise as gw
from gainwise.ranking import compiled

COLUMNS = {
    "revenue": lambda rng, n: np.round(rng.exponential(20, n) * (rng.random(n) < 0.3), 2),
    "clicked": lambda rng, n: rng.integers(0, 2, n),
    "grade": lambda rng, n: rng.integers(0, 5, n),
    "editors": lambda rng, n: np.where(rng.random(n) < 0.5, np.nan, rng.integers(0, 4, n)),
}
WITHOUT_GAINS = ["cg", "dcg_linear", "ndcg_linear", "ndcg_jk", "map(min_label=2)", "mrr", "rprec", "rbp(gain=graded)"]
OF_GRADES = ["ndcg_exp", "dcg_exp", "err(max_label=4)", "map(denominator=R)", "recall", "hit", "precision"]


def own_share(labels, scores):
    return labels[scores.argmax()] / (1 + labels.max())


def relabel(judgments, column, **options):
    """Return judgments with a column as labels. Documents without a value are not judged."""
    labels = judgments.columns[column]
    judged = None if not np.isnan(labels).any() else ~np.isnan(labels)
    return gw.Judgments(labels, judged=judged, **options)


def make(seed):
    """Return the arguments of judgments with columns, and scores with ties."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0 if seed % 3 else 1, 9, rng.integers(1, 12))
    sizes[rng.integers(len(sizes))] += 2
    documents = int(sizes.sum())
    kind = seed % 4
    options = {"group": sizes} if kind < 2 else {"qid": np.repeat(np.arange(len(sizes)), sizes)}
    if kind == 3:
        options["qid"] = rng.permutation(options["qid"])
    if kind in (1, 3):
        options["weight"] = rng.integers(1, 9, documents if kind == 3 else len(options["group"])) / 4
    columns = {name: draw(rng, documents) for name, draw in COLUMNS.items()}
    columns["editors"][rng.integers(documents)] = 1.0
    if kind == 1 and len(sizes) == documents:
        del options["weight"]
    scores = rng.normal(size=documents).round(rng.integers(0, 3)).astype(rng.choice(["float32", "float64"]))
    scores[rng.random(documents) < 0.1 * (seed % 2)] = -np.inf
    return rng.integers(0, 4, documents), options, columns, scores


def vary(seed, metrics):
    """Return the metrics with options that change from seed to seed."""
    rng = np.random.default_rng(seed)
    for metric in gw.parse_metrics(metrics):
        if isinstance(metric, type(gw.metric("own_share", own_share))):
            yield metric
            continue
        yield replace(
            metric,
            k=rng.choice([1, 2, 5, None]),
            ties=str(rng.choice(["average", "order", "worst", "best"])),
            empty=rng.choice([0, 1]) if seed % 5 else "skip",
            scores=str(rng.choice(["float64", "float32"])),
            weights=str(rng.choice(["query", "float32", "ignore"])),
        )


@pytest.mark.parametrize(
    "start", [0, *(pytest.param(start, marks=pytest.mark.nightly) for start in range(50, 500, 50))]
)
def test_metrics_on_a_column_equal_those_on_labels(start):
    """500 random datasets with all policies, cutoffs and weights, missing values and ties, bit by bit."""
    gw.metric("own_share", own_share)
    for seed in range(start, start + 50):
        labels, options, columns, scores = make(seed)
        judgments = gw.Judgments(labels, columns=columns, **options)
        unjudged = "drop" if seed % 7 == 0 else "irrelevant"
        plain = [(name, metric) for name in columns for metric in vary(seed, [*WITHOUT_GAINS, "own_share"])]
        plain += [(name, metric) for name in ("clicked", "grade", "editors") for metric in vary(seed, OF_GRADES)]
        plain = list(dict.fromkeys(plain))
        own = [replace(metric, column=name) for name, metric in plain]
        result = gw.evaluate([*own, "ndcg_exp@3"], judgments, scores, unjudged=unjudged)
        assert result.per_query[:, -1:].tolist() == gw.evaluate("ndcg_exp@3", judgments, scores).per_query.tolist()
        for name in columns:
            places = [place for place, (column, _) in enumerate(plain) if column == name]
            relabeled = relabel(judgments, name, **options)
            handling = unjudged if relabeled.judged is not None else "irrelevant"
            expected = gw.evaluate([plain[place][1] for place in places], relabeled, scores, unjudged=handling)
            np.testing.assert_array_equal(result.per_query[:, places], expected.per_query)
            means = list(result.mean.values())
            np.testing.assert_array_equal([means[place] for place in places], list(expected.mean.values()))


def test_without_the_compiled_core():
    for seed in range(20):
        labels, options, columns, scores = make(seed)
        judgments = gw.Judgments(labels, columns=columns, **options)
        metrics = [f"{name}(column={column})" for column in columns for name in ("cg", "map", "mrr", "ndcg_linear")]
        result = gw.evaluate(metrics, judgments, scores)
        with mock.patch.object(compiled, "core", return_value=None):
            in_numpy = gw.evaluate(metrics, judgments, scores)
        np.testing.assert_array_equal(result.per_query, in_numpy.per_query)


def test_a_query_without_any_value_is_left_out():
    judgments = gw.Judgments(
        [1, 0, 1, 0, 0, 1], group=[2, 2, 2], columns={"sold": [np.nan, np.nan, 0, 0, 0, np.nan]}, weight=[5, 1, 3]
    )
    result = gw.evaluate(["hit(column=sold,empty=1)@1", "hit@1"], judgments, [2, 1, 2, 1, 1, 2])
    np.testing.assert_array_equal(result.per_query, [[np.nan, 1], [1, 1], [1, 1]])
    assert result.mean["hit(empty=1,column=sold)@1"] == 1


def test_the_share_of_documents_with_a_value():
    judgments = gw.Judgments([1, 0, 1], group=[3], columns={"editors": [2, np.nan, 0]})
    assert gw.evaluate("judged(column=editors)@2", judgments, [3, 2, 1]).per_query.tolist() == [[0.5]]


def test_functions_receive_columns():
    def compute_profit(labels, scores, price, cost):
        best = scores.argmax()
        return labels[best] * (price[best] - cost[best])

    profit = gw.metric("profit_of_best", compute_profit, columns=["price", "cost"])
    columns = {"price": [5, 3, 9, 4], "cost": [1, 1, 2, np.nan], "clicked": [0, 1, 0, 0]}
    judgments = gw.Judgments([2, 0, 1, 0], qid=list("abab"), columns=columns)
    result = gw.evaluate([profit, "profit_of_best(column=clicked)"], judgments, [3, 2, 1, 1])
    assert result.per_query.tolist() == [[8, 0], [0, 2]]


def test_columns_of_series_and_frames_are_aligned():
    frame = pd.DataFrame({"query": list("aab"), "label": [0, 1, 2], "price": [7.0, 0.0, 1.0]}, index=[4, 2, 9])
    price = frame["price"].sample(3, random_state=1)
    aligned = gw.Judgments(frame["label"], qid=frame["query"], columns={"price": price})
    assert aligned.columns["price"].tolist() == [7, 0, 1]
    read = gw.Judgments.from_frame(frame, columns=["price"])
    assert gw.evaluate("cg(column=price)@1", read, [2, 1, 3]).per_query.tolist() == [[7], [1]]


def test_negative_values():
    columns = {"margin": [-3.0, 2.0, np.nan]}
    kept = gw.Judgments([1, 0, 0], group=[3], columns=columns, negative_labels="allow")
    zero = gw.Judgments([1, 0, 0], group=[3], columns=columns, negative_labels="zero")
    means = [gw.evaluate("cg(column=margin)", judgments, [3, 2, 1]).mean for judgments in (kept, zero)]
    assert [list(mean.values()) for mean in means] == [[-1], [2]]


def test_pickled_judgments():
    judgments = gw.Judgments([1, 0], group=[2], columns={"price": [1, 5]})
    before = gw.evaluate("cg(column=price)@1", judgments, [2, 1]).mean
    assert gw.evaluate("cg(column=price)@1", pickle.loads(pickle.dumps(judgments)), [2, 1]).mean == before
    assert "price" in repr(judgments)
    assert "price" in judgments._repr_html_()


def test_gains_in_a_column_are_reported():
    judgments = gw.Judgments([1, 0, 2, 0], group=[4], columns={"amount": [0, 1, 10, 100]})
    with pytest.warns(gw.GainLabelsWarning, match="column 'amount'"):
        gw.evaluate(["ndcg_exp", "ndcg_exp(column=amount)"], judgments, [1, 2, 3, 4])
