"""Tables of invalid candidates, experiments, TOML files, labels of queries and selected models."""

import time
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from tests import custom_metrics
from tests.bad_inputs import BadInput, bad_inputs
from tests.experiment.helpers import SIMULATED, ByPickle, run, write_toml

import gainwise as gw
from gainwise.data import simulate
from gainwise.experiment import Candidate, Experiment, grid, k_folds


def rows(kind, call, table):
    """Return a case per row: the input of the call, the argument and words of the message, and the exception."""
    filled = [(*row, ValueError)[:4] for row in table]
    return [
        BadInput(f"{kind}: {argument} {words}", partial(call, given), argument, exception, words)
        for given, argument, words, exception in filled
    ]


ROUNDS_AND_THREADS = {"num_boost_round": [0, 10**12], "early_stopping_rounds": [-1, 10**12], "threads": [0, 10**6]}
CANDIDATE_VALUES = {**ROUNDS_AND_THREADS, "seed": [1.5, -1, 2**31]}
VALUES = {
    **ROUNDS_AND_THREADS,
    "seed": [-1, 2**31],
    "alpha": [0.5, -0.1],
    "margin": [-0.1],
    "draws": [10**12],
    "stop_by": ["balance", "ndcg_exp@5"],
    "repeats": [2, 0, 1001, 2.5],
}


def values(table):
    """Return a row for every invalid value, which one model validates for Python, TOML and `experiment.json`."""
    return [({key: it}, key, f"got {it!r}") for key, invalid in table.items() for it in invalid]


CANDIDATES = [
    *values(CANDIDATE_VALUES),
    ({"name": " "}, "name", "blank"),
    ({"name": "\ud800"}, "name", ""),
    ({"library": "lightgmb"}, "library", "got 'lightgmb'"),
    ({"library": "catboost"}, "library", "'lightgbm' or 'xgboost'"),
    ({"training_gain": "exponental"}, "training_gain", "mean 'exponential'"),
    ({"training_gain": float("inf")}, "training_gain", "base of at"),
    ({"params": {"objective": "rank_xendcg"}, "training_gain": "linear"}, "training_gain", "'rank_xendcg'"),
    ({"num_boost_round": True}, "num_boost_round", "got True"),
    ({"params": {"max_bin": None}}, "params.max_bin", "None", TypeError),
    ({"params": {"sigmoid": float("nan")}}, "params.sigmoid", "finite"),
    ({"params": {3: 1}}, "params", "got 3"),
]
GRIDS = [
    ({"params": [("max_bin", 3)]}, "params", "got list", TypeError),
    ({"params": {"max_bin": []}}, "params.max_bin", "no value"),
    ({"params": {f"p{place}": list(range(10)) for place in range(6)}}, "1000000 candidates", "100000"),
]


def one(library="lightgbm", **params):
    return {"candidates": [Candidate("one", library, params)]}


def with_folds(change):
    """Arguments of an experiment on folds, made from the three parts."""
    return lambda parts: {"train": None, "valid": None, "test": None, **change(list(parts))}


def weighted(data, *values):
    return replace(data, weight=np.resize(np.array(values, float), len(data.query_ids)))


def named(data, *names):
    return replace(data, features=data.features[:, : len(names)], feature_names=names)


def unimportable(name, module=None):
    def metric(labels, scores):
        return 0.0

    if module:
        metric.__module__, metric.__qualname__ = module, name
    return gw.metric(name, metric)


def redefined():
    first = gw.metric("anew", custom_metrics.gap)
    gw.metric("anew", custom_metrics.gap, higher_is_better=False)
    return first


RANDOM = [Candidate("A", "lightgbm", {"feature_fraction": 0.6}), Candidate("B", "xgboost", {"subsample": 0.7})]
EXPERIMENTS = [
    ({"candidates": []}, "candidates", "empty"),
    ({"candidates": Candidate("a", "lightgbm")}, "candidates", "got Candidate", TypeError),
    ({"candidates": ["lightgbm"]}, "candidates[0]", "got str", TypeError),
    ({"candidates": [Candidate("a", "lightgbm"), Candidate("a", "xgboost")]}, "candidates", "when printed"),
    ({"candidates": [Candidate("a", "lightgbm"), Candidate("a ", "xgboost")]}, "'a '", "when printed"),
    ({"candidates": grid("a", "xgboost", {"max_bin": [3, 5, 3]})}, "candidates", "max_bin=3' at 2"),
    (one(num_leafs=3), "params.num_leafs", "mean 'num_leaves'"),
    (one(num_leaves=15, num_leaf=4), "params.num_leaf", "one parameter of"),
    (one(label_gain=[0, 1]), "'label_gain'", "training_gain"),
    (one(n_estimators=9), "'n_estimators'", "num_boost_round"),
    (one(app="lambdarank"), "'app'", "objective"),
    (one(metrics="ndcg"), "'metrics'", "The experiment"),
    (one(boosting="DART"), "params.boosting", "not be 'dart'"),
    (one("xgboost", n_jobs=2), "'n_jobs'", "threads"),
    (one("xgboost", booster="dart"), "params.booster", "'dart'"),
    (one("xgboost", booster="gblinear"), "params.booster", "'gblinear'"),
    (one("xgboost", rate_drop=0.1), "params.rate_drop", "not be"),
    (one("xgboost", objective="reg:squarederror", lambdarank_unbiased=True), "params.lambdarank_unbiased", "XGBoost"),
    ({"valid": None}, "valid is", "missing"),
    ({"train": None, "valid": None, "test": None}, "train, valid and test", "are missing"),
    ({"test": np.zeros(3)}, "test", "got ndarray", TypeError),
    ({"directory": __file__}, "directory", "got the file", NotADirectoryError),
    ({"metrics": "ndcg@10"}, "ndcg@10", "ambiguous"),
    ({"primary": ["mrr"]}, "primary", "two different metrics"),
    ({"primary": ["mrr", "map"]}, "primary", "'map'"),
    ({"draws": 3}, "draws", "at least"),
    ({"stop_by": 3}, "stop_by", "must be"),
    ({"metrics": "err(max_label=2,ties=order)"}, "valid", "max_label"),
    (lambda parts: {"test": named(parts.test, "a", "b", "c")}, "test", "got 3"),
    (
        lambda parts: {"metrics": ["ndcg_exp@10", "mrr(weights=ignore)"], "test": weighted(parts.test, 1, 2)},
        "test: mrr(weights=ignore)",
        "ignores",
    ),
    (lambda parts: {"folds": list(parts)}, "folds", "not both"),
    (with_folds(lambda folds: {"folds": folds[:2]}), "folds", "got 2"),
    (with_folds(lambda folds: {"folds": folds[0]}), "folds", "single one", TypeError),
    ({"metrics": "mrr(empty=skip,min_label=9)"}, "min_label=9", "No query has"),
    (lambda parts: {"valid": parts.train}, "of valid have all", "in train"),
    (lambda parts: {"test": parts.train}, "of test have all", "in train"),
    (lambda parts: {"test": parts.valid}, "of test have all", "in valid"),
    (
        with_folds(lambda folds: {"folds": [folds[1], folds[0].take_queries(range(25)), *folds[1:]]}),
        "of fold 3 have all",
        "in fold 1",
    ),
    (with_folds(lambda folds: {"folds": [weighted(folds[0], 1), *folds[1:]]}), "fold 2", "no weight"),
    (with_folds(lambda folds: {"folds": folds, "repeats": {"finalists": 3}}), "finalists", "with folds"),
    (
        with_folds(lambda folds: {"folds": folds, "segments": [str(place % 51) for place in range(100)]}),
        "segments",
        "distinct labels",
    ),
]
REPEATS = [
    *values({key: its for key, its in VALUES.items() if key != "threads"}),
    ({"repeats": {"finalists": 1}}, "repeats.finalists", "got 1"),
    ({"repeats": {"finalist": 5}}, "repeats.finalist", "mean 'finalists'"),
    ({"repeats": {"keep": 5}}, "repeats.finalists", "missing"),
    ({"repeats": {"finalists": 5, "baseline": "Z"}}, "repeats.baseline", "'Z'"),
    ({"repeats": 3, "vary": "data"}, "vary", "got 'data'"),
    ({"vary": "queries"}, "vary", "without repeats"),
    ({"seed": int("9" * 400)}, "seed", "2147483647"),
]


LABELS = [
    ({"clusters": {"nobody": "x"}}, "clusters", "25 of 25"),
    ({"clusters": ["x"] * 24}, "clusters", "24 labels"),
    ({"clusters": pd.array([*["x"] * 24, pd.NA])}, "clusters", "is missing"),
    ({"clusters": [*["x"] * 24, ""]}, "clusters", "is missing"),
    ({"segments": {"kind": {"nobody": "x"}}}, "segments 'kind'", "25 of 25"),
]


def data(text, more=""):
    return f"[data]\n{text}\n[[candidates]]\nname = 'lgb'\nlibrary = 'lightgbm'\n{more}"


def top(text):
    return f"{text}\n{data(SIMULATED)}"


def candidate(text):
    return data(SIMULATED, f"[[candidates]]\nname = 'x'\nlibrary = 'lightgbm'\n{text}")


def simulated(text):
    return data(f"simulate = {{queries = 30, seed = 1, {text}}}")


FILES = [
    ("x = [", "", "of document"),
    (top("metrcs = ['mrr']"), "metrcs", "mean 'metrics'"),
    (top("metrics = ['ndgc_exp@10']"), "metrics", "mean 'ndcg_exp@10'"),
    (top("repeats = {finalists = 3, baseline = 'x'}"), "repeats.baseline", "'x'"),
    (data("").partition("[[")[2].join(("[[", "")), "data", "missing"),
    (f"[data]\n{SIMULATED}", "candidates", "is missing"),
    (f"[data]\n{SIMULATED}\n[candidates]\nname = 'x'", "candidates", "valid list"),
    (data(""), "data", "none of them"),
    (data(f"{SIMULATED}\nfolds = ['a', 'b', 'c']"), "data", "folds and simulate"),
    (data("train = 'a'\nvalid = 'b'"), "data", "train and valid"),
    (data("format = 'lettor'\nfolds = ['a', 'b', 'c']"), "data.format", "'lightgbm' or 'table'"),
    (data("train = 'a'\nvalid = 'b'\ntest = 'c'"), "data.train[0]", "be a file", FileNotFoundError),
    (data("folds = ['a', 'b', 'c']\nk_folds = 3"), "data", "folds and k_folds"),
    (data("folds = ['a', 'b', 'c']\ncolumns = ['x']"), "columns", "requires format"),
    (data("folds = ['a', 'b', 'c']\nfeatures = 3\nformat = 'table'"), "features", "must not have"),
    (data("simulate = {queries = 30, seed = 1, split = [0.6, 0.2, 0.2]}\ngroups = 'user'"), "'user'", "no key"),
    (data("files = 'a'"), "data", "got files"),
    (data("files = 'a'\nsplit = {by = 't', at = ['1', '2']}"), "data.split", "format = 'table'"),
    (data("files = 'a'\nformat = 'table'\nsplit = {by = 't', at = ['1']}"), "data.split.at", "at least 2"),
    (data("files = 'a'\nk_folds = 3\nsplit = {by = 't', at = ['1', '2']}"), "data", "k_folds and split"),
    (data("files = []\nk_folds = 3"), "data.files", "at least 1"),
    (data("files = 'a'\nk_folds = 2"), "data.k_folds", "got 2"),
    (data(f"{SIMULATED}\nfeatures = 3"), "data", "features and simulate"),
    (data(f"{SIMULATED}\nseed = 3"), "data", "requires k_folds"),
    (data("simulate = {queries = 30, seed = 1}"), "data", "either simulate.split"),
    (data("simulate = {queries = 30, split = [0.6, 0.2, 0.2]}"), "data.simulate.seed", "is missing"),
    (data("simulate = {queries = 3, seed = 1}\nk_folds = 5"), "data.k_folds", "3 queries"),
    (simulated("split = [0.6, 0.2, 0.3]"), "data.simulate", "fractions"),
    (simulated("split = [0.6, 0.2, 0.2], mean_length = inf"), "data.simulate.mean_length", "finite"),
    (candidate("params = {}\nsede = 3"), "candidates[1].sede", "mean 'seed'"),
    (simulated("signl = 2.0"), "data.simulate.signl", "mean 'signal'"),
    (top("alpha = 0.7"), "alpha", "must be less"),
    (top("threads = 0"), "threads", "must be at"),
    (candidate("params = 3"), "candidates[1].params", "must be a"),
    (candidate("[[candidates]]\nname = 'y'\nlibrary = 'lgb'"), "candidates[2].library", "must be 'lightgbm'"),
    (candidate("params = {num_leavs = 3}"), "candidates[1].params.num_leavs", "mean 'num_leaves'"),
    (candidate("[[candidates]]\nname = 'y'"), "candidates[2].library", "is missing"),
    (candidate("[[candidates]]\nname = 'x'\nlibrary = 'xgboost'"), "candidates", "'x' at 1"),
    (simulated("k_folds = 3"), "data.simulate.k_folds", "not a known"),
]


def made(change, make, parts, folder):
    return make(**(change(parts) if callable(change) else change))


def kept(metric, make, parts, folder):
    return make(folder / "run", metrics=[metric(), "mrr"])


LASTING = [
    (lambda: unimportable("inner"), "inner", "later run"),
    (lambda: unimportable("flat", "__main__"), "flat", "later run"),
    (lambda: gw.NDCG(gain=lambda labels: labels, name="by_lambda"), "by_lambda", "later run"),
    (redefined, "anew", "the metric again"),
]
CALLS = [
    *rows("Candidate", lambda it, *_: Candidate(**{"name": "a", "library": "lightgbm", **it}), CANDIDATES),
    *rows("grid", lambda it, *_: grid("g", "lightgbm", **it), GRIDS),
    *rows("Experiment", made, [*EXPERIMENTS, *LABELS]),
    *rows("Experiment", lambda it, *rest: made({"candidates": RANDOM, **it}, *rest), REPEATS),
    *rows("metric", kept, LASTING),
    *rows("run", lambda it, make, *_: run(make(**one()), **it), [
        ({"jobs": 0}, "jobs", "at least 1"),
        ({"executor": "threads"}, "executor", "got str", TypeError),
        ({"jobs": 2, "executor": ByPickle()}, "jobs=2", "an executor"),
    ]),
    *rows("k_folds", lambda it, *_: k_folds(simulate(2, seed=1), it), [(3, "2 queries", "3 folds")]),
    *rows("repeats", lambda it, make, *_: make(repeats=it), [
        ("two", "repeats", "'two'"), ({"finalists": 3, "keep": "x"}, "repeats.keep", "'x'"),
    ]),
    *rows("load", lambda it, *given: Experiment.load(given[-1]), [(None, "", "no experiment", FileNotFoundError)]),
]  # fmt: skip


@bad_inputs(CALLS)
def test_calls(case, make, parts, tmp_path):
    case.check(make, parts, tmp_path)
    assert not (tmp_path / "run").exists()


@bad_inputs(rows("toml", lambda text, folder: Experiment.from_toml(write_toml(folder, text)), FILES))
def test_toml(case, tmp_path):
    started = time.monotonic()
    message = case.check(tmp_path)
    assert message.startswith(f"{tmp_path / 'experiment.toml'}: ")
    assert len(message) - len(str(tmp_path)) < 560
    assert time.monotonic() - started < 10


MODELS = [
    (("done", "lgb gain=liner", {}), "'lgb gain=liner'", "'lgb gain=linear'?) (models:", KeyError),
    (("done", "xgb gain=linear", {"fold": "fold 1"}), "fold", "got 'fold 1'"),
    (("done", "xgb gain=linear", {"refit": True}), "refit(data)", "not trained on"),
    (("done", None, {"refit": True, "stop_by": 3}), "refit=True", "stop_by, repeat or"),
    (("done", "xgb gain=linear", {"stop_by": "ndcg_exp@5"}), "stop_by", "mean 'ndcg_exp@10'"),
    (("done", "xgb gain=linear", {"stop_by": 13}), "stop_by", "1 to 12"),
    (("folded", "xgb", {}), "fold='fold 1'", "with refit(data)"),
    (("repeated", "A", {"repeat": 4}), "repeat", "1 to 3"),
    (("repeated", "A", {"repeat": "full"}), "repeat", "got 'full'"),
]


def load_model(given, request):
    experiment, name, options = given
    return request.getfixturevalue(experiment).result.load_model(name, **options)


@bad_inputs(rows("load_model", load_model, MODELS))
def test_load_model(case, request):
    case.check(request)
