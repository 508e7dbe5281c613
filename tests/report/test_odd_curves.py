"""Curves with rounds that have no value, or stand twice; and labels of any length in the file of queries."""

import csv

import numpy as np
import pandas as pd
import pytest

import gainsay as gs
from gainsay.report.rounds import best_rounds


def curves(first, second):
    parts = [
        pd.DataFrame({"candidate": "c", "round": range(1, len(values) + 1), "metric": metric, "value": values})
        for metric, values in (("a", first), ("b", second))
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("losses", [(), ("a",)])
def test_a_round_without_value_is_never_the_best(losses):
    sign = -1 if losses else 1
    table = curves([sign * 0.1, np.nan, sign * 0.5, sign * 0.3], [0.9, 0.95, 0.2, 0.1])
    (row,) = best_rounds(table, ("a", "b"), losses).to_dict("records")
    assert (row["round a"], row["best a"], row["round b"]) == (3, sign * 0.5, 2)
    assert np.isnan(row["loss a"])
    assert row["loss b"] == pytest.approx(0.75)


def test_reports_say_where_a_loss_is_not_known(tmp_path):
    table = curves([0.1, np.nan, 0.5, 0.3], [0.9, 0.95, np.nan, 0.1])  # each has no value where the other is best
    values = np.random.default_rng(0).random((40, 2))
    comparison = gs.Comparison({"a": values, "b": values[::-1]}, ["A", "B"], curves=table, draws=200)
    text = comparison.to_markdown()
    assert "rounds 3 and 2, where not both metrics have a value" in text
    assert "unbounded" not in text.partition("## Best rounds")[2].partition("## Method")[0]
    assert "has no value at the other's best round" in comparison.plot.curves().alt
    assert "where not both metrics have a value" in comparison.to_html(tmp_path / "report.html").read_text("utf-8")


def test_a_round_that_stands_twice_is_refused():
    table = curves([0.1, 0.2], [0.3, 0.4])
    with pytest.raises(ValueError, match="curves have round 1 of a more than once"):
        best_rounds(pd.concat([table, table]), ("a", "b"))


def test_labels_in_the_file_of_queries_are_whole(tmp_path):
    grades = [1234567.0, 0.3000000001, 0.3]
    scores = {"A": [1, 3, 2, 3, 2, 1], "B": [3, 1, 2, 1, 2, 3]}
    judgments = gs.Judgments([*grades, 1, 2, 0], group=[3, 3])
    metrics = ["ndcg_linear@3", gs.metric("turned_by_hand", lambda labels, scores: -labels[np.argmax(scores)])]
    path = gs.compare(scores, judgments, metrics, draws=200).to_html(tmp_path / "report.html", queries=0)
    with path.with_name("report.queries.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert "0.3000000001 0.3 1234567" in [row["labels A"] for row in rows]
