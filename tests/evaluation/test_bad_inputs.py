"""Invalid scores, arguments, weights, labels, and runs: one row per check. Messages name the row and the query."""

import numpy as np
import pandas as pd
import polars
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw
from gainwise.data import write_run

NAN, INF = np.nan, np.inf
JUDGMENTS = gw.Judgments([0, 1, 2, 0, 1], qid=["a", "a", "b", "b", "b"])
QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"x": 1}, "q3": {"y": 1}}
PYTERRIER = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "label": [2, 0], "rating": 1})


def scores(values, words, error=ValueError, judgments=JUDGMENTS):
    name = f"scores {values!r}"[:40]
    return BadInput(name, lambda: gw.evaluate("mrr", judgments, values), "scores", error, words)


def evaluate(argument, words, metric, judgments, values=(1, 2), error=ValueError, **options):
    """Evaluate a metric and return its mean, which is computed on first use."""
    call = lambda: gw.evaluate(metric, judgments, values, **options).mean  # noqa: E731
    return BadInput(f"{argument} {metric} {words}", call, argument, error, words)


def run(run, argument, words, error=ValueError):
    """A run that can be neither evaluated nor written."""
    return BadInput(f"{argument} {words}", lambda use: use(run), argument, error, words)


def listing(run, qrels, argument, words, error=ValueError, **options):
    """A run that cannot be evaluated on these qrels."""
    call = lambda: gw.evaluate_run("mrr", run, qrels, **options)  # noqa: E731
    return BadInput(f"run {argument} {words}", call, argument, error, words)


def weighted(weight):
    return gw.Judgments([1, 0] * 3, group=[2] * 3, weight=weight)


def times(unit):
    return np.array([np.timedelta64(1, "D"), unit, *[np.timedelta64(1, "D")] * 3], dtype=object)


def frame(query, document, scores):
    return pd.DataFrame({"query": query, "document": document, "score": scores})


CASES = [
    scores([1, 2, 3, NAN, NAN], "2 NaN among"),
    scores([1, 2, 3, NAN, NAN], "3 (query b)"),
    scores([1, 2, NAN, 4], "2 (query 7)", judgments=gw.Judgments([0, 1, 2, 0], qid=[7, 8, 7, 8])),
    scores([-INF, 2, 3, NAN, 1], "1 NaN"),
    scores(pd.array([1, None, 3, 4, 5], dtype="Int64"), "row 1"),
    scores(np.ma.masked_equal([-999, 0.4, 0.3, 0.2, 0.1], -999), "row 0"),
    *(scores(np.zeros(count), f"{count} entries") for count in (0, 4, 6)),
    *(scores(np.zeros(shape), "scores.ravel()") for shape in ((5, 1), (1, 5))),
    scores(np.zeros((5, 2)), "scores[:, 1]"),
    scores((value for value in range(5)), "got generator", TypeError),
    scores({"a": 1}, "got dict", TypeError),
    scores({1, 2, 3, 4, 5}, "got set", TypeError),
    scores(None, "got NoneType", TypeError),
    scores(np.array(1.0), "got shape ()"),
    scores(np.zeros((5, 3)), "(5, 3)."),
    *(scores(values, "must be numbers", TypeError) for values in ([*"abcde"], [1j] * 5, [1, 2, 3, 4, "x"], [{}] * 5)),
    *(
        scores(times(unit), "row 0", TypeError)  # NumPy would drop the unit, and a day would be less than 23 hours.
        for unit in (np.timedelta64(23, "h"), np.datetime64("2020-01-01"))
    ),
    evaluate("judgments", "list", "mrr", [0, 1], error=TypeError),
    *(evaluate("n_jobs", f"got {n!r}", "mrr", JUDGMENTS, range(5), n_jobs=n) for n in (0, -1, 1.5)),
    *(evaluate("n_jobs", f"got {n!r}", "mrr", JUDGMENTS, range(5), TypeError, n_jobs=n) for n in ("2", True)),
    *(
        BadInput(f"identify {number!r}", lambda n=number: gw.identify(n, JUDGMENTS, range(5)), "number", error, words)
        for number, error, words in [
            ("NaN", ValueError, "finite"),
            (np.nan, ValueError, "finite"),
            ("", ValueError, "finite"),
            ("train's map@3: 0.5 valid's map@3: 0.6", ValueError, "one value"),
            (None, TypeError, "NoneType"),
            ({"map": True}, TypeError, "bool"),
        ]
    ),
    BadInput("identify NaN", lambda: gw.identify(0.5, JUDGMENTS, [1, 2, NAN, 4, 5]), "scores", ValueError, "row 2"),
    BadInput("identify scores", lambda: gw.identify(0.5, JUDGMENTS, [1, 2]), "scores", ValueError, "2 for 5"),
    BadInput("swapped", lambda: gw.identify(0.5, range(5), JUDGMENTS), "wrong order", TypeError, "identify(number,"),
    BadInput("data", lambda: gw.identify(1, JUDGMENTS, range(5), data={"a": (1, 2)}), "data", TypeError, "Judgments"),
    BadInput(
        "data alone", lambda: gw.identify(1, JUDGMENTS, range(5), data={"a": JUDGMENTS}), "data", TypeError, "pair"
    ),
    BadInput(
        "scores as data", lambda: gw.identify(1, JUDGMENTS, range(5), data={"a": range(5)}), "data", TypeError, "pair"
    ),
    BadInput("number last", lambda: gw.identify(JUDGMENTS, 0.5, [1]), "number is", TypeError, "identify(number,"),
    BadInput("list of data", lambda: gw.identify(1, JUDGMENTS, range(5), data=[]), "data must", TypeError, "map names"),
    BadInput(
        "nested numbers",
        lambda: gw.identify({"valid": {"map": 1}}, JUDGMENTS, range(5)),
        "number['valid']",
        TypeError,
        "got dict",
    ),
    BadInput(
        "frame of scores",
        lambda: gw.explain(JUDGMENTS, pd.DataFrame({"s": range(5)})),
        "scores",
        ValueError,
        "scores['s']",
    ),
    BadInput(
        "polars of scores",
        lambda: gw.identify(1, JUDGMENTS, polars.DataFrame({"s": range(5)})),
        "scores",
        ValueError,
        "scores['s']",
    ),
    BadInput("swapped in explain", lambda: gw.explain(range(5), JUDGMENTS), "scores is", TypeError, "explain(labels,"),
    BadInput("explain group", lambda: gw.explain(JUDGMENTS, range(5), group=[5]), "group", TypeError, "contain them"),
    *(
        BadInput(f"explain k={k}", lambda k=k: gw.explain([1], [1], k=k), "k", ValueError, "whole")
        for k in (0, -1, 1.5)
    ),
    *(
        evaluate("weight", "32-bit floats", f"ndcg_exp(weights={mode})", weighted(weight), range(6))
        for weight in ([1e39, 1, 1], [1e-46, 1e-46, 0])
        for mode in ("float32", "float32_mean")
    ),
    evaluate("weight", "32-bit", "ndcg_exp(weights=float32_mean)", weighted([3e38, 3e38, 1, 1, 1, 1]), range(6)),
    *(
        evaluate("labels", "label 1e+308", metric, gw.Judgments([1e308, 1e308], group=[2]))
        for metric in ("ndcg_linear", "cg", "dcg_jk@1")
    ),
    listing({"q8": {"a": 1.0}}, QRELS, "'q8'", "'q2' and 'q3'"),
    listing({"q1": {"a": -INF}}, QRELS, "'a'", "-inf"),
    listing({"q": {"a": 1.0}}, {"q": {"a": -1}}, "labels", "(query q)", negative_labels="refuse"),
    listing({"q1": {"a": 1.0}}, QRELS, "unjudged", "got 'keep'", unjudged="keep"),
    listing({"1": {"a": 1.0}}, PYTERRIER, "qrels", "'label' and 'rating'"),
]
RUNS = [
    run({}, "run", "empty"),
    run({"q1": {}}, "run", "empty"),
    run({"q1": {"a": NAN}}, "'a' of query", "1 NaN"),
    run({"1": ["a", "b"]}, "query '1'", "list", TypeError),
    run({"1": {"a": "1.5", "b": "2"}}, "score", "must be numbers", TypeError),
    run({"1": {"a": 1j}}, "score", "must be numbers", TypeError),
    run({"1": {"a": 2**53, "b": 2**53 + 1}}, "9007199254740993", "row 1"),
    run({1: {"a": 1.0}, "1": {"b": 2.0}}, "queries", "1 and '1'"),
    run({b"1": {"a": 1.0}, "1": {"b": 2.0}}, "queries", "b'1' and '1'"),
    run(frame([1, "1"], ["a", "b"], [1.0, 2.0]), "queries", "1 and '1'"),
    run({"1": {1: 1.0, "1": 2.0}}, "document '1'", "more than once"),
    run(frame(["1", "1"], ["a", "a"], [1, 2]), "document 'a'", "more than once"),
    run({None: {"a": 1.0}, "1": {"a": 2.0}}, "no query", "row 0"),
    run(frame(["q", None], ["a", "b"], [2.0, 1.0]), "no query", "row 1"),
    run(frame(["q", "q"], ["a", None], [2.0, 1.0]), "no document", "row 1"),
    run(pd.DataFrame({"query": ["q1"], "score": [1.0]}), "run", "column 'document'"),
    run(pd.DataFrame({"query": ["1"], "document": ["a"]}), "run", "column 'score'"),
    run(["1"], "run", "mapping", TypeError),
]


@bad_inputs(CASES)
def test_bad_inputs(case):
    case.check()


@bad_inputs(RUNS)
def test_bad_runs(case, tmp_path):
    case.check(lambda run: gw.evaluate_run("map", run, {"1": {"a": 1, "b": 0}, **QRELS}))
    case.check(lambda run: write_run(run, tmp_path / "run.txt"))
    assert not (tmp_path / "run.txt").exists()
