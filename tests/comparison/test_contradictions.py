"""Contradictory queries, compared with plain loops over queries."""

from __future__ import annotations

import numpy as np
import pytest

import gainwise as gw


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
