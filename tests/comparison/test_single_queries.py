"""Queries that lose most against a baseline, and contradictory queries, compared with plain loops over queries."""

import numpy as np
import pytest

import gainwise as gw
from gainwise.comparison.flags import UnjudgedDocuments, find_unjudged_flags

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 4, 480)
QID = np.repeat([f"q{place}" for place in range(40)], 12)
SCORES = {name: LABELS * taste + RNG.normal(size=480) for name, taste in (("old", 0.5), ("new", 0.6), ("third", 0.1))}
WEIGHTS = RNG.integers(1, 4, 40).astype(float)
TEXTS = {query: f"shoes {query}" for query in QID[::24]}  # every second query


def compare(names=("old", "new"), metrics=("ndcg_linear@10", "ndcg_exp@10"), **options):
    judgments = gw.Judgments(LABELS, qid=QID, texts=TEXTS, weight=WEIGHTS)
    return gw.compare({name: SCORES[name] for name in names}, judgments, metrics, draws=200, **options)


def find_by_hand(comparison, most):
    """Return query, larger loss times weight, and both top tens, from scores and labels alone."""
    rows = []
    frame = comparison.frame()
    for place, query in enumerate(dict.fromkeys(QID)):
        by_model = {name: frame.loc[(query, name)] for name in ("old", "new")}
        loss = max(by_model["old"][metric] - by_model["new"][metric] for metric in comparison.primary)
        order = {name: np.flatnonzero(query == QID)[np.argsort(-SCORES[name][query == QID])][:10] for name in by_model}
        rows.append((loss * WEIGHTS[place], query, order))
    return [row for row in sorted(rows, key=lambda row: -row[0]) if row[0] > 0][:most]


def test_the_largest_losses_with_both_rankings():
    comparison = compare()
    table, expected = comparison.losses("old", most=7), find_by_hand(comparison, 7)
    assert table["query"].tolist() == [query for _, query, _ in expected]
    assert table["text"].tolist() == [TEXTS.get(query, "") for _, query, _ in expected]
    np.testing.assert_allclose(table["loss"], [loss for loss, _, _ in expected])
    for row, (_, _, order) in zip(table.to_dict("records"), expected, strict=True):
        for name, places in order.items():
            assert row[f"documents {name}"] == " ".join(map(str, places))
            assert row[f"grades {name}"] == " ".join(map(str, LABELS[places]))


def test_queries_without_a_loss_are_left_out():
    assert 0 < len(compare().losses("old", most=40)) == len(find_by_hand(compare(), 40)) < 40


@pytest.mark.parametrize(("handling", "effect"), [("irrelevant", "too low"), ("drop", "too high")])
def test_more_unjudged_documents_than_the_baseline(handling, effect):
    unjudged = UnjudgedDocuments({"judged@10": {"old": 0.9, "a": 0.85, "b": 0.95}}, {}, {}, handling)
    (flag,) = find_unjudged_flags(unjudged, "old", ["a", "b"])
    assert flag.models == ("a", "old")
    assert flag.message.startswith("a retrieves more unjudged documents than old: judged@10 is 0.8500 and 0.9000.")
    assert effect in flag.message


@pytest.fixture(scope="module")
def many(grouped):
    data = grouped(11, queries=200, not_retrieved=True)
    rng = np.random.default_rng(2)
    weights = rng.integers(0, 4, len(data.sizes)).astype(float)
    qid = np.repeat([f"q{number}" for number in range(len(data.sizes))], data.sizes)
    scores = {"A": data.scores, "B": rng.permutation(data.scores), "C": rng.normal(size=len(data.scores))}
    return gw.Judgments(data.labels, qid=qid, weight=weights), scores, data, weights


def by_hand(judgments, scores, data, weights, metrics, definitions, cutoff):
    """Return the rows of the table, one query at a time."""
    values = {model: gw.evaluate(metrics, judgments, scores[model]).per_query for model in "AB"}
    rows = []
    start = 0
    for query, size in enumerate(data.sizes):
        part = slice(start, start + size)
        start += size
        one, other = values["A"][query] - values["B"][query]
        if weights[query] == 0 or min(abs(one), abs(other)) < 1e-12 or (one > 0) == (other > 0):
            continue
        labels = data.labels[part].tolist()
        rows.append(
            {
                "query": f"q{query}",
                "contradiction strength": (1 if one > 0 else -1)
                * min(abs(one), abs(other))
                * weights[query]
                / np.mean(weights),
                f"difference {metrics[0]}": one,
                f"difference {metrics[1]}": other,
                "labels A": tuple(definitions.in_input_order(labels, scores["A"][part].tolist())[:cutoff]),
                "labels B": tuple(definitions.in_input_order(labels, scores["B"][part].tolist())[:cutoff]),
                "documents": size,
                "weight": weights[query],
            }
        )
    return sorted(rows, key=lambda row: -abs(row["contradiction strength"]))


@pytest.mark.parametrize(
    ("metrics", "cutoff"),
    [
        (["ndcg_jk@10", "ndcg_exp@10"], 10),
        (["ndcg_linear@3", "ndcg_exp@5"], 5),
        (["map", "ndcg_exp@5"], None),
        (["mrr", "precision@5"], None),
        (["ndcg_linear(ties=worst)@10", "ndcg_exp(ties=best)@10"], 10),
    ],
)
def test_every_row_is_that_of_a_loop_over_queries(many, definitions, metrics, cutoff):
    judgments, scores, data, weights = many
    expected = by_hand(judgments, scores, data, weights, metrics, definitions, cutoff)
    table = gw.compare(scores, judgments, metrics).queries("A", "B", most=1000)
    assert len(expected) > 3
    assert table.columns.tolist() == list(expected[0])
    found = table.set_index("query").to_dict("index")
    assert len(table) == len(expected)
    for row in expected:
        own = found[row.pop("query")]
        for column, value in row.items():
            assert own[column] == (value if column.startswith("labels") else pytest.approx(value, abs=1e-12))
    assert (table["contradiction strength"].abs().diff().dropna() <= 0).all()


def test_queries_left_out_of_the_comparison_do_not_shift_the_others():
    first, second = [5, 0, 0, 0, 0, 3, 3, 3, 3, 3], [3, 3, 3, 3, 3, 0, 0, 0, 0, 5]
    judgments = gw.Judgments([0, 0, 0, *first], qid=["nothing"] * 3 + ["contradiction"] * 10)
    scores = {"A": [3, 2, 1, *range(10, 0, -1)], "B": [3, 2, 1, 1, 5, 4, 3, 2, 10, 9, 8, 7, 6]}
    table = gw.compare(scores, judgments, ["ndcg_jk(empty=skip)", "ndcg_exp(empty=skip)"]).queries("A", "B")
    assert table["query"].tolist() == ["contradiction"]
    assert table.loc[0, "labels B"] == tuple(second)
