"""Invalid numbers, ids that would become equal, and indexes that do not match."""

from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import inf, nan

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw
from gainwise._common.validation import validate_integer, validate_real

BEYOND = 2**53 + 1
"""The first integer that is no float64."""
ROWS = [40, 10, 30, 20]
LABELS = pd.Series([1, 0, 0, 1], index=ROWS)
QUERIES = pd.Series(["b", "b", "a", "a"], index=ROWS)
JUDGMENTS = gw.Judgments(LABELS, qid=QUERIES)
TWO = gw.Judgments([0, 1], group=[2])


def evaluate(scores, judgments=TWO):
    return gw.evaluate("mrr", judgments, scores)


def weigh(weight):
    return gw.Judgments(LABELS, qid=QUERIES, weight=weight)


def weigh_rows(weight):
    return gw.Judgments(pd.Series([1, 1]), qid=[1, 0], weight=weight)


ARGUMENTS = {
    "labels": lambda values: gw.Judgments(values, group=[2]),
    "qid": lambda values: gw.Judgments([0, 1], qid=values),
    "scores": evaluate,
}
HUGE = {
    "list": [BEYOND, 0.5],
    "tuple": (BEYOND, 0.5),
    "beyond any float": [10**400, 0.5],
    "decimals": [Decimal(BEYOND), Decimal("0.5")],
    "fractions": [Fraction(BEYOND), 0.5],
    "int64": np.array([1, BEYOND]),
    "uint64": np.array([1, BEYOND], dtype=np.uint64),
    "objects": np.array([BEYOND, 0.5], dtype=object),
    "decimals among objects": np.array([Decimal(BEYOND), 1], dtype=object),
    "pandas": pd.Series([BEYOND, 0.5], dtype=object),
    "nullable pandas": pd.Series([BEYOND, 1], dtype="Int64"),
    "Arrow": pd.Series([BEYOND, 1], dtype=pd.ArrowDtype(pyarrow.int64())),
    "decimals of Arrow": pd.Series([Decimal(BEYOND), Decimal("0.5")], dtype=pd.ArrowDtype(pyarrow.decimal128(30, 1))),
    "polars": polars.Series([BEYOND, 1]),
    "decimals of polars": polars.Series([Decimal(BEYOND), Decimal("0.5")]),
    "polars Int128": polars.Series([2**65, 1], dtype=polars.Int128),
}
SCORES = pd.Series([2.0, 1.0, 2.0, 1.0], index=ROWS)
DUPLICATES = gw.Judgments(pd.Series([1, 0, 1], index=["q1", "q1", "q2"]), qid=[1, 1, 2])
NO_NUMBERS = (True, np.bool_(True), "3", None, [3], np.array([3]), 3j)
VALUES = [
    ("n", "0 and 1,", lambda: validate_real("n", 1.5, 0.0, 1.0)),
    ("n", "got nan", lambda: validate_real("n", nan, 0.0, 1.0)),
    ("n", "at least 0,", lambda: validate_real("n", -1, 0.0)),
    ("mode", "got 'json'", lambda: gw.show_config("json")),
    ("n", "NaN", lambda: validate_real("n", nan)),
    ("scores", "in row 0", lambda: evaluate([-BEYOND, 0.5])),
    ("scores", "in row 1", lambda: evaluate([-1, 2**63])),
    ("qid", "row 1. From", lambda: ARGUMENTS["qid"](np.array([5, 2.0**53]))),
    ("qid must be exact", "float32", lambda: ARGUMENTS["qid"](np.float32([5, 2**24]))),
    ("qid", "at row 1", lambda: ARGUMENTS["qid"](["a", nan])),
    ("weight", "2 of 2", lambda: weigh(pd.Series([1.0, 3.0]))),
    ("weight", "1 of 2", lambda: weigh(pd.Series([1, 3], index=["a", "c"]))),
    ("weight", "first is 'b'", lambda: weigh({"a": 1})),
    ("weight", "no entry", lambda: weigh({})),
    ("weight", "'a' more than", lambda: weigh(pd.Series([1, 2, 3], index=list("aab")))),
    ("weight", "first is 1:", lambda: gw.Judgments([0, 1], qid=[1, 2], weight={"1": 2, "2": 5})),
    ("group=", "numbers from 0", lambda: gw.Judgments([1, 0], group=[2], weight=pd.Series([1], index=["a"]))),
    ("weight.to_numpy()", "different orders", lambda: weigh_rows(pd.Series([1.0, 3.0]))),
    ("scores.to_numpy()", "index 40 (row", lambda: evaluate(SCORES.set_axis([0, 1, 2, 3]), JUDGMENTS)),
    ("scores", "index 20 (row", lambda: evaluate(SCORES.set_axis([40, 10, 30, 21]), JUDGMENTS)),
    ("scores", "40 more than", lambda: evaluate(SCORES.set_axis([40, 40, 30, 20]), JUDGMENTS)),
    ("scores", "'q1' more than", lambda: evaluate(SCORES[:3].set_axis(["q2", "q1", "q1"]), DUPLICATES)),
    ("scores", "3 entries", lambda: evaluate(SCORES[:3], JUDGMENTS)),
    ("qid", "does not match", lambda: gw.Judgments(LABELS, qid=QUERIES.reset_index(drop=True))),
]
CASES = [
    *(BadInput(f"int {n!r}", partial(validate_integer, "n", n, unit="m"), "n", TypeError, "m, at") for n in NO_NUMBERS),
    *(BadInput(f"real {n!r}", partial(validate_real, "n", n), "n", TypeError, "a number") for n in NO_NUMBERS),
    *(
        BadInput(f"{n}", partial(validate_integer, "n", n), "n", ValueError, "at least 1")
        for n in (0, 2.5, nan, inf, -inf)
    ),
    *(
        BadInput(f"huge {argument}, {kind}", partial(ARGUMENTS[argument], values), argument, ValueError, "in row")
        for argument in ("labels", "scores")
        for kind, values in HUGE.items()
    ),
    *(BadInput(f"{argument}: {words}", call, argument, ValueError, words) for argument, words, call in VALUES),
]


@bad_inputs(CASES)
def test_bad_inputs(case):
    case.check()


@pytest.mark.parametrize("value", [3, 3.0, np.int8(3), np.uint64(3), np.float32(3), np.float64(3)])
def test_numbers_of_all_kinds(value):
    for check, kind in ((validate_integer, int), (validate_real, float)):
        number = check("n", value)
        assert number == 3
        assert type(number) is kind


@pytest.mark.parametrize("scores", [[2**53, 0.5], [-(2**53), 0.5], [1e300, 0.5], [Decimal("Infinity"), 1], [inf, 1]])
def test_large_scores_that_floats_hold(scores):
    assert evaluate(scores).mean == {"mrr": 0.5 if scores[0] > 0 else 1.0}
