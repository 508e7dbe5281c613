"""Invalid labels, queries, weights and frames."""

from functools import partial
from math import inf, nan

import numpy as np
import pandas as pd
import polars
import pyarrow
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw

LABELS = [3, 0, 1, 2, 0]
DATES = np.array(["2024-01-01", "2024-01-01", "NaT", "2024-01-02", "NaT"], dtype="datetime64[D]")
COLUMNS = {"polars": polars.Series, "pyarrow": pyarrow.array}

CLICKED = gw.Judgments([1], group=[1], columns={"clicked": [1]})
LOSS = gw.Judgments([1], group=[1], columns={"margin": [-2]}, negative_labels="allow")
RUN, QRELS = {"q": {"a": 1.0}}, {"q": {"a": 1}}

VALUES = [  # words, what the message mentions, options of Judgments (LABELS if no labels are among them)
    ("6 documents", "group", {"group": [3, 3]}),
    ("0 documents", "group", {"group": []}),
    ("did you mean", "qid=", {"group": [1, 1, 1, 2, 2]}),
    ("entry 1", "group", {"group": [6, -1]}),
    ("got nan", "group", {"group": [nan, 5]}),
    ("in row 1", "2**53", {"group": [1, 1e19]}),
    ("(1, 2)", "group.ravel()", {"group": [[3, 2]]}),
    ("row 2", "qid is missing for 2 of 5", {"qid": [1, 1, nan, 2, nan]}),
    ("row 2", "qid is missing for 2 of 5", {"qid": pd.array([1, 1, None, 2, None], dtype="Int64")}),
    ("row 2", "qid is missing for 2 of 5", {"qid": DATES}),
    ("row 2", "qid is missing for 1 of 3", {"labels": [0, 1, 1], "qid": np.ma.masked_equal([1, 1, 9], 9)}),
    ("2 entries", "np.repeat(", {"qid": [3, 2]}),
    ("6 entries", "qid", {"qid": [1] * 6}),
    ("(5, 1)", "qid", {"qid": [[1], [1], [1], [2], [2]]}),
    ("got neither", "group=[len(labels)]", {}),
    ("got both", "group=[len(labels)]", {"group": [5], "qid": [1] * 5}),
    ("nan at row", "(query b)", {"labels": [0, nan, 1, nan], "qid": list("abab")}),
    ("among 4", "(query a)", {"labels": [0, 1, inf, 1], "qid": list("abab")}),
    ("-1.0 at row", "(query b)", {"labels": [0, -1, 2, -0.5], "qid": list("abab")}),
    ("negative_labels='zero'", "negative_labels='allow'", {"labels": [-1, 0], "group": [2]}),
    ("at row 1", "1 such label", {"labels": [0, -1, 0], "group": [3]}),
    ("at row 0", "2 such labels", {"labels": [-2, -1, 0], "group": [3]}),
    ("at least one", "labels", {"labels": [], "group": []}),
    ("one-dimensional", "labels.ravel()", {"labels": [[0], [1]], "group": [2]}),
    ("different lengths", "labels", {"labels": [[1], [2, 3]], "group": [2]}),
    ("nan at row", "judged=", {"labels": pd.array([1, None], dtype="Int64"), "group": [2]}),
    ("row 0", "labels", {"labels": np.ma.masked_equal([99, 3, 1, 2], 99), "group": [4]}),
    ("'allow'", "negative_labels", {"group": [5], "negative_labels": "alow"}),
    ("got None", "negative_labels", {"group": [5], "negative_labels": None}),
    ("3 entries", "per query (2)", {"group": [3, 2], "weight": [1, 2, 3]}),
    ("entry 1", "weight", {"group": [3, 2], "weight": [1, -2]}),
    ("entry 0", "weight", {"group": [3, 2], "weight": [nan, 1]}),
    ("every query", "weight", {"group": [3, 2], "weight": [0, 0]}),
    ("one-dimensional", "weight", {"group": [3, 2], "weight": [[1, 2]]}),
    ("1 entries", "judged", {"labels": [1, 3], "group": [2], "judged": [True]}),
    ("every document", "judged", {"labels": [1, 3], "group": [2], "judged": [False, False]}),
    ("3.0 at row", "judged=True", {"labels": [1, 3], "group": [2], "judged": [True, False]}),
    ("at row 1", "labels", {"labels": [nan, nan], "group": [2], "judged": [False, True]}),
]
VALUES += [
    ("1 entries", "columns['a']", {"group": [5], "columns": {"a": [1]}}),
    ("row 1 (query", "columns['a']", {"group": [5], "columns": {"a": [1, -1, 0, nan, 2]}}),
    ("at row 4", "columns['a']", {"group": [5], "columns": {"a": [1, 1, 0, nan, inf]}}),
    ("all are NaN", "columns['a']", {"group": [5], "columns": {"a": [nan] * 5}}),
    ("letters, digits", "'a b'", {"group": [5], "columns": {"a b": [0] * 5}}),
]
TYPES = [
    ("got generator", "labels", {"labels": (label for label in [1, 0]), "group": [2]}),
    ("got dict", "labels", {"labels": {"a": 1}, "group": [1]}),
    ("got set", "group", {"group": {5}}),
    ("got NoneType", "labels", {"labels": None, "group": [5]}),
    ("numbers", "columns['a']", {"group": [5], "columns": {"a": list("abcde")}}),
    ("got list", "columns", {"group": [5], "columns": [1, 2]}),
    ("got 3", "column", {"group": [5], "columns": {3: [0] * 5}}),
    ("numbers", "group", {"group": ["a", "b"]}),
    ("numbers", "weight", {"group": [3, 2], "weight": ["a", "b"]}),
    ("numbers", "labels", {"labels": ["a", "b"], "group": [2]}),
    ("numbers", "labels", {"labels": [np.datetime64("2024-01-01"), 1], "group": [2]}),
    ("row 1", "the text '3'", {"labels": np.array([1, "3"], dtype=object), "group": [2]}),
    ("int64", "judged", {"labels": [1, 3], "group": [2], "judged": [1, 0]}),
    ("True or False", "judged", {"labels": [1, 3], "group": [2], "judged": [True, None]}),
]
NULLS = [
    ("at row 1", "labels", "labels", [0, None, 1, 0, 1]),
    ("at row 1", "labels", "labels", [True, None, False, True, True]),
    ("at row 0", "labels", "labels", [None] * 5),
    ("at row 1", "qid is missing", "qid", ["a", None, "b", "b", "b"]),
    ("entry 1", "group", "group", [2, None, 3]),
    ("entry 1", "weight", "weight", [1.0, None]),
]
CALLS = [
    (ValueError, "no columns", "column", lambda: gw.evaluate("map(column=clicked)", gw.Judgments([1], group=[1]), [1])),
    (ValueError, "mean 'clicked'", "column", lambda: gw.evaluate("map(column=click)", CLICKED, [1])),
    (ValueError, "no columns", "'revenue'", lambda: gw.evaluate_run("cg(column=revenue)", RUN, QRELS)),
    (ValueError, "negative labels", "negative_labels='zero'", lambda: gw.evaluate("dcg_exp(column=margin)", LOSS, [1])),
    (ValueError, "labels alone", "judged=", lambda: evaluate([1, 2], unjudged="drop")),
    (ValueError, "mean 'drop'", "unjudged", lambda: evaluate([1, 2], unjudged="dropp")),
    *((ValueError, "row 1 (query", "scores", lambda of=of: evaluate(of([1.5, None]))) for of in COLUMNS.values()),
    *((ValueError, "row 1 (query", "scores", lambda of=of: evaluate(of([1, None]))) for of in COLUMNS.values()),
]


def make(labels=LABELS, **options):
    return gw.Judgments(labels, **options)


def make_from_column(column, argument, values):
    options = {"qid": list("aabbb")} if argument == "labels" else {} if argument != "weight" else {"group": [2, 3]}
    return make(**options, **{argument: column(values)})


def evaluate(scores, **options):
    return gw.evaluate("mrr", gw.Judgments([1, 0], group=[2]), scores, **options)


CASES = [
    *(
        BadInput(f"{argument}: {words}", partial(make, **given), argument, error, words)
        for error, rows in ((ValueError, VALUES), (TypeError, TYPES))
        for words, argument, given in rows
    ),
    *(
        BadInput(
            f"{library} {name} {values}", partial(make_from_column, column, name, values), argument, ValueError, words
        )
        for library, column in COLUMNS.items()
        for words, argument, name, values in NULLS
    ),
    *(BadInput(f"{argument}: {words}", call, argument, error, words) for error, words, argument, call in CALLS),
]


@bad_inputs(CASES)
def test_bad_inputs(case):
    case.check()
