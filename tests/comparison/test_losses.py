"""Queries that lose most against a baseline, compared with a search in plain Python."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest

import gainwise as gw
from gainwise.comparison.flags import UnjudgedDocuments, find_unjudged_flags

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 4, 480)
QID = np.repeat([f"q{place}" for place in range(40)], 12)
SCORES = {name: LABELS * taste + RNG.normal(size=480) for name, taste in (("old", 0.5), ("new", 0.6), ("third", 0.1))}
WEIGHTS = RNG.integers(1, 4, 40).astype(float)
TEXTS = {query: f"shoes {query}" for query in QID}


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
    assert table["text"].tolist() == [TEXTS[query] for _, query, _ in expected]
    np.testing.assert_allclose(table["loss"], [loss for loss, _, _ in expected])
    for row, (_, _, order) in zip(table.to_dict("records"), expected, strict=True):
        for name, places in order.items():
            assert row[f"documents {name}"] == " ".join(map(str, places))
            assert row[f"grades {name}"] == " ".join(map(str, LABELS[places]))


def test_queries_without_a_loss_are_left_out():
    assert 0 < len(compare().losses("old", most=40)) == len(find_by_hand(compare(), 40)) < 40


def test_a_loss_of_a_metric_that_is_better_if_lower():
    values = compare(metrics=("ndcg_linear@10",))
    table = values.losses("old", most=40)
    assert (table["difference ndcg_linear@10"] < 0).all()


def test_csv_has_one_row_per_query():
    table = compare().losses("old")
    assert pd.read_csv(io.StringIO(table.to_csv(index=False)))["grades new"].tolist() == table["grades new"].tolist()


def test_reports_contain_the_losses_of_the_first_candidate(tmp_path):
    comparison = compare(("old", "new", "third"), baseline="old")
    page = comparison.to_html(tmp_path / "r.html").read_text("utf-8")
    part = page[page.index('<details id="losses">') :].partition("</details>")[0]
    for query in comparison.losses("old", "new")["query"]:
        assert re.search(rf">{query}<", part)
    assert "that lose most against old" in comparison.to_markdown(full=True)
    assert '<details id="losses">' not in compare().to_html(tmp_path / "s.html").read_text("utf-8")


@pytest.mark.parametrize(("handling", "effect"), [("irrelevant", "too low"), ("drop", "too high")])
def test_more_unjudged_documents_than_the_baseline(handling, effect):
    unjudged = UnjudgedDocuments({"judged@10": {"old": 0.9, "a": 0.85, "b": 0.95}}, {}, {}, handling)
    (flag,) = find_unjudged_flags(unjudged, "old", ["a", "b"])
    assert flag.models == ("a", "old")
    assert flag.message.startswith("a retrieves more unjudged documents than old: judged@10 is 0.8500 and 0.9000.")
    assert effect in flag.message
