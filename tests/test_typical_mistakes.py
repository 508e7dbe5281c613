"""Typical mistakes across packages: one row per call, exception and words of the message."""

import numpy as np
import pandas as pd
import pytest

import gainwise as gw
from gainwise.data import read_letor, read_scores, simulate

DATA = simulate(12, seed=1, mean_length=6, features=3)
X, Y, GROUP = DATA.features, DATA.labels, DATA.group
JUDGED = DATA.judgments()
SCORES = {"a": X[:, 0], "b": X[:, 1]}
FRAME = pd.DataFrame({"query": DATA.qid, "label": Y, **SCORES})


def compare(models=SCORES, judgments=JUDGED, *arguments, **options):
    return gw.compare(models, judgments, *arguments, **options)


def table(frame=FRAME, scores=("a", "b"), **options):
    return gw.compare_table(frame, list(scores), **options)


MISTAKES = {
    "comparison": [
        (lambda: gw.compare(JUDGED, SCORES), TypeError, "compare(models, judgments)"),
        (lambda: compare({}), ValueError, "models"),
        (lambda: compare(judgments=gw.Judgments(Y, qid=range(len(Y)))).against("a", 0.1), ValueError, "--query"),
        (lambda: compare(judgments=gw.Judgments(0 * Y, group=GROUP)).against("a", 0.1), ValueError, "--label"),
        (lambda: compare({**SCORES, "b": X[:-1, 1]}), ValueError, "'b'"),
        (lambda: compare(judgments=Y), TypeError, "Judgments"),
        (lambda: compare(baseline="c"), ValueError, "'c'"),
        (lambda: compare(alpha=95), ValueError, "alpha"),
        (lambda: compare(margin=-0.1), ValueError, "margin"),
        (lambda: compare().against("c"), ValueError, "'c'"),
        (lambda: compare().attribution("a", "A"), ValueError, "'A'"),
        (lambda: compare(segments=["x"]), ValueError, "segments"),
        (lambda: table(query="qid"), ValueError, "Name the column with query="),
        (lambda: compare().plan(1.0, claim="pair"), ValueError, "difference"),
        (lambda: table(scores=["a", "c"]), ValueError, "'c'"),
        (lambda: table(scores=["a", "label"]), ValueError, "label"),
        (lambda: table(FRAME.assign(label=None)), ValueError, "label"),
        (
            lambda: table(FRAME.assign(a=FRAME["a"].astype(object).replace(FRAME["a"][3], pd.NA))),
            ValueError,
            "at row 3",
        ),
    ],
    "files and plans": [
        (lambda: read_letor("missing.txt"), FileNotFoundError, "missing.txt"),
        (lambda: read_letor("table.csv"), ValueError, "table.csv"),
        (lambda: read_scores("table.csv"), ValueError, "column"),
        (lambda: gw.evaluate_run("mrr", "table.csv", "table.csv"), ValueError, "'document'"),
        (lambda: gw.plan(-0.1, query=1), ValueError, "difference"),
    ],
}


@pytest.mark.parametrize(
    ("call", "exception", "words"),
    [pytest.param(*row, id=f"{job} {number}") for job, rows in MISTAKES.items() for number, row in enumerate(rows)],
)
def test_typical_mistakes(tmp_path, monkeypatch, call, exception, words):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("table.csv", index=False)
    with pytest.raises(exception) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (
            lambda scores: np.where(np.arange(len(scores)) < 2, np.inf, scores),
            "a has 2 infinite scores, which rank first",
        ),
        (lambda scores: scores > 0, "a has only the scores 0 and 1, like predicted classes"),
        (lambda scores: np.zeros(len(scores)), None),
        (lambda scores: np.where(scores > 0, -np.inf, 1.0), None),
    ],
)
def test_scores_that_may_be_mistakes_are_in_the_report(change, note):
    comparison = table(FRAME.assign(a=change(SCORES["a"])))
    assert comparison.notes == (() if note is None else (note,))
    assert note is None or f"{note}." in comparison.to_markdown()


def test_ranks_of_two_documents_are_no_classes():
    pairs = FRAME.groupby("query").head(2)
    ranks = pairs.groupby("query")["a"].rank()
    assert table(pairs.assign(a=ranks)).notes == ()
